"""The evacuation of a burning building: how soon a plan is there, certified, and proven best.

A *unit* is the time of one sparse LU (scipy's ``splu``, as it comes) of each of the fourteen activities'
systems under its fastest policy, the median of several in the same run. Every bound is solved in a process
of its own, from a cold start: building the model is counted, starting Python and importing are not, but
both are told.

    python benchmarks/bench_evacuation.py --only evacuation --bound 2 --skip highs
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from measuring import (
    announce,
    figure,
    median,
    number,
    parser,
    peak_memory,
    run_apart,
    run_benchmark,
    table,
    time_factorisations,
    verdict,
)
from timing_highs import add_arguments, best, cells, run_methods, time_linear_program

BOUNDS = {
    "evacuation": (0.01, 0.1, 1.0, 2.0, 5.0, 8.0, 10.0),
    "evacuation-text": (0.05, 0.5, 3.0, 12.0, 30.0),
}
GAPS = (5e-3, 1e-4, 1e-6)
FIRST_PLAN_AIM = 7  # units, to the first gap
PROOF_AIM = 50  # units, to the last
MEMORY_AIM = 500  # MB
COMMAND_AIM = 3.0  # seconds
FASTER_AIM = 200  # times HiGHS
COMPARED_BOUND = 2.0
FACTORISATIONS = 7
COMMANDS = 3
RUNS = 3  # of each bound, of which the median counts
COMPARED = 5  # runs to compare with HiGHS, of which the median counts: fractions of a second are noisy
PARTS = ("bounds", "command", "highs")


def measure_bound(scenario: str, bound: float, cap: float) -> dict[str, Any]:
    """Solve one bound from a cold start, noting when each gap is reached; then measure the unit."""
    began = time.perf_counter()
    from hcssp.contract.progress import Gap, MaxRuntime
    from hcssp.methods.policy_branching import PolicyBranching
    from hcssp.scenarios.scenario import find_scenario
    from hcssp.solving.solve import solve

    imports = time.perf_counter() - began

    reached: list[dict[str, Any]] = []

    def note(progress: Any) -> None:
        while len(reached) < len(GAPS) and progress.gap <= GAPS[len(reached)]:
            reached.append({"seconds": time.perf_counter() - began, "nodes": progress.iterations})

    began = time.perf_counter()
    problem = find_scenario(scenario).make().with_bounds(damage=bound)
    building = time.perf_counter() - began
    result = solve(problem, PolicyBranching(), [Gap(GAPS[-1]), MaxRuntime(cap)], note)
    total = time.perf_counter() - began
    memory = peak_memory()
    return {
        "import_seconds": imports,
        "building_seconds": building,
        "reached": reached + [None] * (len(GAPS) - len(reached)),
        "total_seconds": total,
        "nodes": result.iterations,
        "status": str(result.status),
        "stopped_by": str(result.ending.reason),
        "lower_bound": figure(result.lower_bound),
        "upper_bound": figure(result.upper_bound),
        "gap": figure(result.gap),
        "peak_memory_mb": memory,
        # Measured last, so that finding the fastest policies can help nothing above.
        "unit_seconds": unit_seconds(problem),
    }


def unit_seconds(problem: Any) -> list[float]:
    """Several measurements of the unit."""
    import numpy as np

    from hcssp.cssp.preprocessing import prepare
    from hcssp.ssp.balance import Balance
    from hcssp.ssp.policy_iteration import PolicyIteration

    systems = []
    for activity in problem.activities:
        balance = Balance(prepare(activity.cssp).problem)
        weights = np.zeros(len(activity.cssp.cost_names))
        weights[0] = 1.0
        fastest = PolicyIteration(balance).minimise(weights)
        systems.append(balance.matrix[fastest.rows])
    return time_factorisations(systems, FACTORISATIONS)


def measure_highs(method: str, cap: float) -> dict[str, Any]:
    """Time one of HiGHS's methods on the linear program of the flattened problem."""
    from hcssp.scenarios.domains.evacuation import evacuation

    return time_linear_program(evacuation(COMPARED_BOUND).flattening.cssp, method, cap)


def time_command(threads: str) -> dict[str, Any]:
    """Time the command as a shell would run it, several times, with what it answered last.

    Parameters
    ----------
    threads
        "as they come": what a user's shell has, whatever the benchmark was started with; or "one".
    """
    installed = Path(sys.executable).parent / "hcssp"
    program = [str(installed)] if installed.exists() else [sys.executable, "-m", "hcssp"]
    command = [*program, "solve", "evacuation", "--bound", "damage=2", "--gap", "1e-4", "--json"]
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    if threads == "one":
        environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    seconds = []
    for _ in range(COMMANDS):
        began = time.perf_counter()
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, env=environment
        )
        seconds.append(time.perf_counter() - began)
    answer = json.loads(done.stdout)
    return {"seconds": seconds, "gap": answer["gap"], "upper_bound": answer["upper_bound"]}


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure the wanted parts and print their tables."""
    figures: dict[str, Any] = {"cap": arguments.cap, "lp_cap": arguments.lp_cap}
    skipped = set(arguments.skip)
    if "bounds" not in skipped:
        figures["bounds"] = _bounds(arguments)
        figures["unit_seconds"] = _unit(figures["bounds"])
        print(_bounds_table(figures["bounds"], figures["unit_seconds"], arguments), flush=True)
    if "command" not in skipped:
        announce("the command")
        figures["command"] = {threads: time_command(threads) for threads in ("as they come", "one")}
        print(_command_table(figures["command"]), flush=True)
    if "highs" not in skipped:
        announce(f"evacuation, damage {COMPARED_BOUND:g}, to compare with")
        compared = _median_of(
            [_solve_apart("evacuation", COMPARED_BOUND, arguments.cap) for _ in range(COMPARED)]
        )
        announce("the flattened problem")
        figures["highs"] = run_methods("bench_evacuation", {}, arguments.lp_method, arguments.lp_cap)
        print(_highs_table(figures["highs"], compared, arguments), flush=True)
    return figures


def _bounds(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    measured = []
    for scenario, bounds in BOUNDS.items():
        if arguments.only and scenario not in arguments.only:
            continue
        for bound in arguments.bound or bounds:
            announce(f"{scenario}, damage {bound:g} (at most {arguments.cap:g} s)")
            runs = [_solve_apart(scenario, bound, arguments.cap) for _ in range(RUNS)]
            measured.append(_median_of(runs))
    return measured


def _solve_apart(scenario: str, bound: float, cap: float) -> dict[str, Any]:
    wanted = {"scenario": scenario, "bound": bound, "cap": cap}
    answer = run_apart("bench_evacuation", "measure_bound", wanted)
    return {"scenario": scenario, "bound": bound, **(answer or {})}


def _median_of(solved: list[dict[str, Any]]) -> dict[str, Any]:
    """One of several runs of the same bound, with the median of their times to each gap."""
    reached: list[dict[str, Any] | None] = []
    for at in zip(*(each["reached"] for each in solved), strict=True):
        every = all(one is not None for one in at)
        reached.append({**at[0], "seconds": median(one["seconds"] for one in at)} if every else None)
    units = [seconds for each in solved for seconds in each["unit_seconds"]]
    return {**solved[0], "reached": reached, "unit_seconds": units}


def _unit(measured: list[dict[str, Any]]) -> float:
    return median(seconds for each in measured for seconds in each["unit_seconds"])


def _bounds_table(measured: list[dict[str, Any]], unit: float, arguments: argparse.Namespace) -> str:
    every = [seconds for each in measured for seconds in each["unit_seconds"]]
    rows = []
    for each in measured:
        units = [None if at is None else at["seconds"] / unit for at in each["reached"]]
        proof = each["reached"][-1]
        rows.append(
            [
                f"{each['scenario']} {each['bound']:g}",
                number(each["upper_bound"], ".7g"),
                number(each["gap"], ".1e"),
                *(_or_more(value, arguments.cap / unit) for value in units),
                number(arguments.cap, exceeded=True) if proof is None else number(proof["seconds"]),
                f"{each['nodes']:,}",
                f"{each['peak_memory_mb']:.0f}",
                verdict(units[0], FIRST_PLAN_AIM),
                verdict(units[-1], PROOF_AIM),
                verdict(each["peak_memory_mb"], MEMORY_AIM),
            ]
        )
    startup = median(each["startup_seconds"] for each in measured)
    imports = median(each["import_seconds"] for each in measured)
    building = median(each["building_seconds"] for each in measured)
    title = (
        f"Units until a gap is certified; a unit is {unit:.4f} s "
        f"(from {min(every):.4f} to {max(every):.4f} in {len(every)} measurements)\n"
        f"Counted: building the model ({building:.3f} s). "
        f"Not counted: starting Python ({startup:.2f} s) and importing ({imports:.2f} s)."
    )
    header = ["damage at most", "time", "gap", "to 0.5%", "to 1e-4", "to 1e-6", "s to 1e-6", "nodes", "MB"]
    return table(title, [*header, "aim to 0.5%", "aim to 1e-6", "aim, MB"], rows)


def _or_more(units: float | None, most: float) -> str:
    return number(most, ".0f", exceeded=True) if units is None else number(units, ".1f")


def _command_table(commands: dict[str, Any]) -> str:
    rows = []
    for threads, command in commands.items():
        seconds = median(command["seconds"])
        rows.append(
            [
                threads,
                number(seconds),
                number(max(command["seconds"])),
                number(command["gap"], ".1e"),
                verdict(seconds, COMMAND_AIM) if threads == "as they come" else "",
            ]
        )
    title = (
        "hcssp solve evacuation --bound damage=2 --gap 1e-4 --json, from the shell\n"
        f"Everything is counted; the median of {COMMANDS}."
    )
    return table(title, ["threads of the BLAS", "seconds", "slowest", "gap", "aim, s"], rows)


def _highs_table(programs: dict[str, Any], ours: dict[str, Any], arguments: argparse.Namespace) -> str:
    rows = [[f"HiGHS, {method}", *cells(answer), "", ""] for method, answer in programs.items()]
    highs = best(programs, arguments.lp_cap)
    for gap, at in zip(GAPS, ours["reached"], strict=True):
        label = f"certified to {gap:g}"
        if at is None:
            rows.append([label, number(arguments.cap, exceeded=True), "", "-", ""])
            continue
        ratio = None if highs.seconds is None else highs.seconds / at["seconds"]
        # The aim is about the first certified plan; the others are told for comparison.
        aim = verdict(ratio, FASTER_AIM, at_least=True, exceeded=highs.exceeded) if gap == GAPS[0] else ""
        rows.append([label, number(at["seconds"]), "", number(ratio, ".1f", exceeded=highs.exceeded), aim])
    title = (
        f"HiGHS on the flattened problem at damage {COMPARED_BOUND:g}, and how much faster a plan is there"
    )
    return table(title, ["", "seconds", "value", "times faster", "aim"], rows)


def main() -> None:
    """Read the options and measure."""
    options = parser("The evacuation: how soon a plan is there, certified, and proven best.")
    options.add_argument("--only", action="append", choices=list(BOUNDS), help="a scenario; may be repeated")
    options.add_argument("--bound", action="append", type=float, help="a bound; may be repeated")
    options.add_argument("--skip", action="append", default=[], choices=PARTS, help="may be repeated")
    options.add_argument("--cap", type=float, default=120.0, help="seconds for each bound (default: 120)")
    add_arguments(options)
    run_benchmark("bench_evacuation", options.parse_args(), measure)


if __name__ == "__main__":
    main()
