"""Flat problems proved to 1e-6, and random sparse ones solved to 1e-3: beside another commit.

Racetracks, grids, and problems of other fields (`flat_problems.py`), timed by the processor's clock. Given a
worktree of another commit, the same problems are solved there, for as long as it is allowed; where it does
not get there, "times faster" is a lower bound.

    git worktree add /tmp/before ae8785b
    python benchmarks/bench_flat_search.py --before /tmp/before --only "racetrack 1,218"
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import flat_problems
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
    verdict,
)

GAP = 1e-6
ROUGH_GAP = 1e-3
SCENARIOS = {
    "racetrack 1,218": ("hcssp.scenarios:racetrack", {"scale": 1, "max_speed": 2, "bound": 0.2}),
    "racetrack 10,311": ("hcssp.scenarios:racetrack", {"scale": 2, "max_speed": 3, "bound": 0.5}),
    "racetrack 37,730": ("hcssp.scenarios:racetrack", {}),
    "grid 100 x 100": ("hazard_grid:hazard_grid", {"width": 100, "height": 100}),
}
AIMS = {"racetrack 37,730": 5.0, "grid 100 x 100": 3.0}  # times faster
SECONDS = {"racetrack 1,218": 1.0, "racetrack 10,311": 2.0, **dict.fromkeys(flat_problems.GRIDS, 0.3)}
NAMES = (*SCENARIOS, *flat_problems.GRIDS, *flat_problems.MAKERS)
RANDOM_SIZES = (1_000, 10_000, 100_000)
SEEDS = (0, 1, 2, 3, 4)  # some of these problems are proved at once, and some take a few nodes
GROWTH_AIM = 1.3


def measure_proof(name: str, cap: float) -> dict[str, Any]:
    """Solve a problem by its name; making it is not counted."""
    from importlib import import_module

    from hcssp import Gap, MaxRuntime, PolicyBranching, solve

    if name in SCENARIOS:
        maker, parameters = SCENARIOS[name]
        module, _, name_in_it = maker.partition(":")
        problem = getattr(import_module(module), name_in_it)(**parameters)
    else:
        problem = flat_problems.problem_of(name)
    began = time.process_time()
    plan = solve(problem, PolicyBranching(), [Gap(GAP), MaxRuntime(cap)])
    return {
        "seconds": time.process_time() - began,
        "states": problem.num_states,
        "nodes": plan.iterations,
        "proved": bool(plan.gap <= GAP),
        "lower_bound": float(plan.lower_bound),
        "upper_bound": figure(float(plan.upper_bound)),
    }


def measure_random(count: int, seed: int, cap: float) -> dict[str, Any]:
    """Solve a random sparse problem roughly: four actions in each state, three successors each."""
    import numpy as np
    from scipy.sparse import csr_array

    from hcssp import Gap, MaxRuntime, PolicyBranching, solve
    from hcssp.cssp.model import CSSP

    rng = np.random.default_rng(seed)
    rows = 4 * count
    heads = rng.integers(0, count + 1, (rows, 3))
    heads[::4, 0] = count
    pointers = np.arange(0, 3 * rows + 1, 3)
    odds = rng.dirichlet(np.ones(3), rows).ravel()
    transitions = csr_array((odds, heads.ravel(), pointers), shape=(rows, count + 1))
    transitions.sum_duplicates()
    costs = np.stack([rng.uniform(1.0, 10.0, rows), rng.uniform(0.0, 1.0, rows)])
    row_start = np.append(np.arange(0, rows + 1, 4), rows)
    ends = [
        flat_problems.least_use(transitions, row_start, costs, weights)
        for weights in ((0.01, 1.0), (1.0, 0.0))
    ]
    problem = CSSP(
        transitions=transitions,
        row_start=row_start,
        costs=costs,
        initial=np.eye(1, count + 1)[0],
        goals=np.arange(count + 1) == count,
        cost_names=("time", "risk"),
        bounds=np.array([0.5 * (ends[0] + ends[1])]),
    )
    began = time.process_time()
    plan = solve(problem, PolicyBranching(), [Gap(ROUGH_GAP), MaxRuntime(cap)])
    return {
        "seconds": time.process_time() - began,
        "solved": bool(plan.gap <= ROUGH_GAP),
        "memory": peak_memory(),
    }


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """All problems, here and there."""
    rows, figures, faster = [], [], []
    for name in arguments.only or NAMES:
        asked = {"name": name, "cap": arguments.cap}
        announce(name)
        here = run_apart("bench_flat_search", "measure_proof", asked, arguments.cap)
        there = None
        if arguments.before is not None:
            announce(f"{name}, before")
            there = run_apart("bench_flat_search", "measure_proof", asked, arguments.cap, arguments.before)
        figures.append({"name": name, "here": here, "before": there})
        took = None if here is None or not here["proved"] else here["seconds"]
        old = None if there is None else there["seconds"]
        times = None if took is None or old is None else old / took
        if times is not None and name in flat_problems.MAKERS:
            faster.append(times)
        late = there is not None and not there["proved"]
        aim = verdict(took, SECONDS[name]) if name in SECONDS else ""
        if name in AIMS and there is not None:
            aim = verdict(times, AIMS[name], at_least=True)
        nodes = "" if here is None else f"{here['nodes']:,}"
        shown = number(here["seconds"], exceeded=took is None) if here is not None else "-"
        rows.append((name, nodes, shown, number(old, exceeded=late), number(times, ".1f"), aim))
    header = ("problem", "nodes", "seconds", "before", "times faster", "aim")
    print(table(f"Flat problems, proved to {GAP:g}", header, rows))
    if faster:
        print(f"Problems of other fields: {median(faster):.1f} times faster in the median")
    random = {} if arguments.only else _measure_random(arguments.cap)
    return {"problems": figures, "random": random}


def _measure_random(cap: float) -> dict[str, Any]:
    from itertools import pairwise
    from math import log

    found: dict[str, Any] = {}
    rows, seconds = [], []
    for count in RANDOM_SIZES:
        announce(f"random, {count:,} states")
        each = [
            run_apart("bench_flat_search", "measure_random", {"count": count, "seed": seed, "cap": cap}, cap)
            for seed in SEEDS
        ]
        found[str(count)] = each
        # Whatever takes too long is beyond the others.
        took = [answer["seconds"] if answer and answer["solved"] else float("inf") for answer in each]
        seconds.append(median(took))
        memory = max((answer["memory"] for answer in each if answer), default=None)
        rows.append((f"{count:,}", number(figure(seconds[-1])), number(figure(max(took))), number(memory)))
    header = ("states", "seconds", "at most", "peak memory")
    print(table(f"Random sparse problems, to {ROUGH_GAP:g}: in the median of {len(SEEDS)}", header, rows))
    steps = [
        (f"from {sizes[0]:,} to {sizes[1]:,}", log(times[1] / times[0]) / log(sizes[1] / sizes[0]))
        for sizes, times in zip(pairwise(RANDOM_SIZES), pairwise(seconds), strict=True)
        if max(times) < float("inf")
    ]
    for words, growth in steps:
        print(f"Time grows {words} states with the power {number(growth)}: {verdict(growth, GROWTH_AIM)}")
    return found


def main() -> None:
    """Parse the options and measure."""
    options = parser("Flat problems, proved.")
    options.add_argument("--only", action="append", choices=NAMES, help="only this problem; may be repeated")
    options.add_argument("--before", type=Path, metavar="WORKTREE", help="another commit to compare with")
    options.add_argument("--cap", type=float, default=60.0, help="seconds for each problem")
    run_benchmark("bench_flat_search", options.parse_args(), measure)


if __name__ == "__main__":
    main()
