"""Problems that are never enumerated: how much of them is expanded, and how long enumerating them takes.

A slippery grid of 3000 x 3000 cells whose goal lies 200 steps away, led by the straight-line distance, and
the racetrack with 10^6 reachable states, led by two smaller ones that are solved at every price, both to a
gap of 1e-3. The states of the small problems do not count as expanded; how many they are is told. Enumerating
is asked of the same functions; of the grid a third of the width and height is enumerated, which is a ninth of
the cells, and that times nine counts.

    .venv/bin/python benchmarks/bench_implicit.py --only grid
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from implicit_spaces import large_racetrack, slippery_grid
from measuring import announce, figure, number, parser, run_apart, run_benchmark, table, verdict

GAP = 1e-3
SIZE, SHARE = 3000, 3
SCALE = 13
MOST_EXPANDED = {"grid": 0.02, "racetrack": 0.10}
LEAST_FASTER = 20.0


def space(kind: str, size: int) -> Any:
    """The problem of a kind at a size."""
    return slippery_grid(size) if kind == "grid" else large_racetrack(size)


def measure_search(kind: str, size: int, cap: float) -> dict[str, Any]:
    """Solve it as it is; making the functions, and the small problems that lead it, is counted apart."""
    from hcssp import Gap, MaxRuntime, solve

    began = time.process_time()
    problem = space(kind, size)
    making = time.process_time() - began
    began = time.process_time()
    plan = solve(problem, stop=[Gap(GAP), MaxRuntime(cap)])
    return {
        "seconds": time.process_time() - began,
        "making": making,
        "led_by": problem.description,
        "solved": bool(plan.gap <= GAP),
        "expanded": plan.problem.num_expanded,
        "lower_bound": figure(plan.lower_bound),
        "upper_bound": figure(plan.upper_bound),
    }


def measure_enumeration(kind: str, size: int) -> dict[str, Any]:
    """List all its states, rows and transitions, by batches; nothing is solved."""
    problem = space(kind, size)
    began = time.process_time()
    whole = problem.enumerated(max_states=20_000_000)
    return {"seconds": time.process_time() - began, "states": whole.num_states}


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Both problems, searched and enumerated."""
    rows, figures = [], {}
    for kind, size, listed, times in (
        ("grid", SIZE, SIZE // SHARE, SHARE**2),
        ("racetrack", SCALE, SCALE, 1),
    ):
        if arguments.only and kind not in arguments.only:
            continue
        announce(f"{kind}, searched")
        asked = {"kind": kind, "size": size, "cap": arguments.cap}
        found = run_apart("bench_implicit", "measure_search", asked, 2 * arguments.cap)
        announce(f"{kind}, enumerated")
        whole = run_apart("bench_implicit", "measure_enumeration", {"kind": kind, "size": listed})
        figures[kind] = {"search": found, "enumeration": whole, "times": times}
        if found is None or whole is None:
            continue
        share = found["expanded"] / (whole["states"] * times)
        faster = whole["seconds"] * times / found["seconds"]
        rows.append(
            (
                kind,
                number(found["seconds"]),
                "yes" if found["solved"] else "no",
                f"{100 * share:.2f}%",
                verdict(100 * share, 100 * MOST_EXPANDED[kind]),
                number(whole["seconds"] * times),
                number(faster, ".1f"),
                verdict(faster, LEAST_FASTER, at_least=True) if kind == "grid" else "",
            )
        )
    header = ("problem", "seconds", "solved", "expanded", "aim", "enumerating", "times faster", "aim")
    print(table(f"Implicit problems, to a gap of {GAP:g}", header, rows))
    for kind, each in figures.items():
        found = each["search"]
        if found is not None and found["led_by"]:
            print(f"The {kind} is {found['led_by']}, which are made in {number(found['making'])} s.")
    return figures


def main() -> None:
    """Parse the options and measure."""
    options = parser("Problems that are never enumerated.")
    options.add_argument("--only", action="append", choices=("grid", "racetrack"), help="only this problem")
    options.add_argument("--cap", type=float, default=300.0, help="seconds for each search")
    run_benchmark("bench_implicit", options.parse_args(), measure)


if __name__ == "__main__":
    main()
