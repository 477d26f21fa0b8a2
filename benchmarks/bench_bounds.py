"""Several bounds at once: what a second and a third cost, and the two floors beside another commit.

The example with two floors (5,704 states, two bounds) is proved to 1e-6, here and, given a worktree of
another commit, there. A small campus is proved to 1e-4 under one, two and three bounds; the ratio to one
bound is what counts.

    git worktree add /tmp/before ae8785b
    python benchmarks/bench_bounds.py --before /tmp/before
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from measuring import announce, figure, number, parser, run_apart, run_benchmark, table, verdict

FLOORS = Path(__file__).resolve().parent.parent / "examples" / "two_floors" / "two-floors.yaml"
FLOORS_GAP = 1e-6
FASTER_AIM = 20  # times
CAMPUS_GAP = 1e-4
CAMPUS_BOUNDS = {"damage": 15.0, "smoke": 2.0, "energy": 8.0}
RATIO_AIM = 5  # three bounds to one


def measure_floors(cap: float) -> dict[str, Any]:
    """Solve the two floors."""
    import hcssp
    from hcssp import Gap, MaxRuntime, PolicyBranching, solve

    problem = hcssp.load(FLOORS) if hasattr(hcssp, "load") else hcssp.load_problem(FLOORS).problem
    return _proof(problem, PolicyBranching(), [Gap(FLOORS_GAP), MaxRuntime(cap)], solve)


def measure_campus(bounds: int, cap: float) -> dict[str, Any]:
    """Solve a small campus under the first of its bounds."""
    from hcssp import Gap, MaxRuntime, PolicyBranching, solve
    from hcssp.scenarios.domains.campus import campus

    problem = campus(**dict(list(CAMPUS_BOUNDS.items())[:bounds]))
    return _proof(problem, PolicyBranching(), [Gap(CAMPUS_GAP), MaxRuntime(cap)], solve)


def _proof(problem: Any, method: Any, stop: list[Any], solve: Any) -> dict[str, Any]:
    began, spent = time.perf_counter(), time.process_time()
    plan = solve(problem, method, stop=stop)
    return {
        "seconds": time.perf_counter() - began,
        "processor_seconds": time.process_time() - spent,
        "nodes": plan.iterations,
        "gap": figure(plan.gap),
    }


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """The floors, here and there; then the campus."""
    announce("two floors")
    here = run_apart("bench_bounds", "measure_floors", {"cap": arguments.cap}, arguments.cap)
    there = None
    if arguments.before is not None:
        announce("two floors, before")
        there = run_apart(
            "bench_bounds", "measure_floors", {"cap": arguments.cap}, arguments.cap, arguments.before
        )
    rows = [
        (
            name,
            number(each["seconds"]),
            number(each["processor_seconds"]),
            str(each["nodes"]),
            number(each["gap"]),
        )
        for name, each in (("here", here), ("before", there))
        if each is not None
    ]
    header = ("two floors", "seconds", "of the processor", "nodes", "gap")
    print(table(f"Two floors, two bounds, to {FLOORS_GAP:g}", header, rows))
    if here is not None and there is not None:
        faster = there["processor_seconds"] / here["processor_seconds"]
        print(f"\n{faster:.1f} times faster than before; {verdict(faster, FASTER_AIM, at_least=True)}")
    campus = []
    for bounds in range(1, len(CAMPUS_BOUNDS) + 1):
        announce(f"the campus under {bounds} bounds")
        asked = {"bounds": bounds, "cap": arguments.cap}
        campus.append(run_apart("bench_bounds", "measure_campus", asked, arguments.cap))
    one = None if campus[0] is None else campus[0]["processor_seconds"]
    rows = []
    for index, each in enumerate(campus):
        ratio = None if each is None or one is None else each["processor_seconds"] / one
        told = ", ".join(f"{name} {bound:g}" for name, bound in list(CAMPUS_BOUNDS.items())[: index + 1])
        took = None if each is None else each["processor_seconds"]
        rows.append((told, number(took), number(ratio), verdict(ratio, RATIO_AIM) if index else ""))
    header = ("bounds", "seconds of the processor", "times one bound", "aim")
    print(table(f"A small campus, to {CAMPUS_GAP:g}", header, rows))
    return {"floors": {"here": here, "before": there}, "campus": campus}


def main() -> None:
    """Parse the options and measure."""
    options = parser("Several bounds at once.")
    options.add_argument("--before", type=Path, metavar="WORKTREE", help="another commit to compare with")
    options.add_argument("--cap", type=float, default=120.0, help="seconds for each problem")
    run_benchmark("bench_bounds", options.parse_args(), measure)


if __name__ == "__main__":
    main()
