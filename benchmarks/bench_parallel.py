"""What two processes gain: on searches of seconds and of about a minute, on a curve, and on a sweep.

Each is done by one process and by two (`--jobs 2`), a fresh start each. The seconds count what a user waits
for, processes that are started included. "Processor" is the time that all of them spent, divided by that of
one alone: what is above 1 was lost on the way, whoever else is using the machine. Every process finds modules
compiled, as those of an installed package are.

Processors of one machine share memory and heat, and slow each other down: "apart" is how much more gets done
by as many processes that have nothing to do with each other, each of which does all of it alone, at the same
time. Nothing that is divided can be faster than that.

    python benchmarks/bench_parallel.py --jobs 2
    python benchmarks/bench_parallel.py --only 46 --repeats 1
    python benchmarks/bench_parallel.py --only curve --only sweep --repeats 1
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from measuring import announce, figure, median, number, parser, run_apart, run_benchmark, table, verdict

SEARCHES: dict[str, dict[str, Any]] = {
    "evacuation, damage at most 3.4": {"bound": 3.4},
    "26 stages, 4 budgets": {"count": 26, "actions": 4, "constraints": 4, "seed": 1, "tightness": 0.6},
    "30 stages, 4 budgets": {"count": 30, "actions": 4, "constraints": 4, "seed": 1, "tightness": 0.6},
    "46 stages, 4 budgets": {"count": 46, "actions": 4, "constraints": 4, "seed": 1, "tightness": 0.6},
}
CURVE = "curve of the evacuation, 21 points"
SWEEP = "sweep of the evacuation, 32 points"
GAP, CURVE_GAP = 1e-6, 1e-4
SEARCH_AIM, CURVE_AIM = 1.6, 1.8


def measure_search(name: str, jobs: int, cap: float) -> dict[str, Any]:
    """Prove one problem by so many processes."""
    from hazard_grid import stages
    from hcssp import Gap, MaxRuntime, open_workers, solve
    from hcssp.scenarios import evacuation

    parameters = SEARCHES[name]
    problem = evacuation(**parameters) if "bound" in parameters else stages(**parameters)
    began = time.perf_counter()
    if jobs == 1:
        plan = solve(problem, stop=[Gap(GAP), MaxRuntime(cap)])
    else:
        with open_workers(jobs=jobs) as workers:
            plan = solve(problem, stop=[Gap(GAP), MaxRuntime(cap)], executor=workers)
    return {
        "seconds": time.perf_counter() - began,
        "processor_seconds": _processor_seconds(),
        "nodes": plan.iterations,
        "done": bool(plan.gap <= GAP) or str(plan.status) == "infeasible",
        "optimum": figure(plan.upper_bound),
    }


def measure_curve(name: str, jobs: int, cap: float) -> dict[str, Any]:
    """Trace one curve by so many processes."""
    from hcssp import open_workers, trade_off
    from hcssp.scenarios import evacuation

    problem, bounds = evacuation(), [1.0 + 0.2 * step for step in range(21)]
    began = time.perf_counter()
    if jobs == 1:
        curve = trade_off(problem, "damage", bounds, CURVE_GAP, cap)
    else:
        with open_workers(jobs=jobs) as workers:
            curve = trade_off(problem, "damage", bounds, CURVE_GAP, cap, executor=workers)
    return {
        "seconds": time.perf_counter() - began,
        "processor_seconds": _processor_seconds(),
        "nodes": sum(point.plan.iterations for point in curve.points),
        "done": all(point.gap <= CURVE_GAP for point in curve.points),
        "optimum": figure(curve.points[-1].upper_bound),
    }


def measure_sweep(name: str, jobs: int, cap: float) -> dict[str, Any]:
    """Sweep over four likelihoods of a step and eight bounds by so many processes."""
    from hcssp import sweep

    began = time.perf_counter()
    found = sweep(
        "evacuation",
        {"intended": [0.86, 0.88, 0.9, 0.92]},
        {"damage": [1.5 + 0.5 * step for step in range(8)]},
        gap=CURVE_GAP,
        time_limit=cap,
        jobs=jobs,
    )
    return {
        "seconds": time.perf_counter() - began,
        "processor_seconds": _processor_seconds(),
        "nodes": sum(point.iterations for point in found.points),
        "done": all(point.is_done(CURVE_GAP) for point in found.points),
        "optimum": figure(found.points[-1].upper_bound),
    }


def _processor_seconds() -> float:
    """What this process and those that it has started, and ended, have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Searches, then the curve and the sweep, each by one process and by several."""
    if not sys.dont_write_bytecode:
        return _measure(arguments)
    # Where nothing that is compiled may be left behind, it is kept aside for as long as this takes.
    with tempfile.TemporaryDirectory() as compiled:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = compiled
        return _measure(arguments)


def _measure(arguments: argparse.Namespace) -> dict[str, Any]:
    wanted = [(name, "measure_search", SEARCH_AIM) for name in SEARCHES] + [
        (CURVE, "measure_curve", CURVE_AIM),
        (SWEEP, "measure_sweep", CURVE_AIM),
    ]
    rows, figures = [], {}
    for name, function, aim in wanted:
        if arguments.only and not any(each in name or each in function for each in arguments.only):
            continue
        answers: dict[str, list[dict[str, Any]]] = {"one": [], "several": [], "apart": []}
        # In turn, since a machine may be faster at one time than at another.
        for repeat in range(arguments.repeats):
            announce(f"{name}, {repeat + 1} of {arguments.repeats}")
            answers["one"] += _answers(function, name, 1, arguments.cap)
            answers["several"] += _answers(function, name, arguments.jobs, arguments.cap)
            answers["apart"] += _answers(function, name, 1, arguments.cap, copies=arguments.jobs)
        figures[name] = answers
        rows.append(_row(name, answers, arguments.jobs, aim))
    several = f"{arguments.jobs} processes"
    header = ["", "one process", several, "times faster", "apart", "processor", "nodes", "aim"]
    print(table(f"Seconds to prove it, by one process and by {arguments.jobs}", header, rows))
    return figures


def _answers(function: str, name: str, jobs: int, cap: float, copies: int = 1) -> list[dict[str, Any]]:
    """What so many copies of a measurement found at the same time; none if one of them was not done."""
    options = {"name": name, "jobs": jobs, "cap": cap}
    with ThreadPoolExecutor(copies) as pool:
        started = [pool.submit(run_apart, "bench_parallel", function, options, cap) for _ in range(copies)]
        found = [each.result() for each in started]
    done = [each for each in found if each is not None and each["done"]]
    return done if len(done) == copies else []


def _row(name: str, answers: dict[str, list[dict[str, Any]]], jobs: int, aim: float) -> list[str]:
    if not all(answers.values()):
        return [name, *(["-"] * 6), verdict(None, aim, at_least=True)]
    alone, together, apart = (
        median(each["seconds"] for each in answers[kind]) for kind in ("one", "several", "apart")
    )
    spent = [median(each["processor_seconds"] for each in answers[kind]) for kind in ("one", "several")]
    nodes = f"{answers['one'][0]['nodes']}, {answers['several'][0]['nodes']}"
    return [
        name,
        number(alone),
        number(together),
        number(alone / together),
        number(jobs * alone / apart),
        number(spent[1] / spent[0]),
        nodes,
        verdict(alone / together, aim, at_least=True),
    ]


def main() -> None:
    """Run the benchmark."""
    options = parser(__doc__.split("\n", 1)[0])
    options.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (default: 2)")
    options.add_argument("--repeats", type=int, default=3, metavar="N", help="runs of each (default: 3)")
    options.add_argument("--cap", type=float, default=300.0, metavar="S", help="seconds for one run")
    options.add_argument("--only", action="append", metavar="NAME", help="only what has this in its name")
    run_benchmark("bench_parallel", options.parse_args(), measure)


if __name__ == "__main__":
    main()
