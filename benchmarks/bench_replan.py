"""Planning the evacuation anew after the hazards of one room have changed: with what is known, and without.

In each of the six rooms the hazards move, grow by a cell, are one more or one less; the changed problem is
solved to the same gap by ``plan.replan`` and by ``solve``, in one process, timed by the processor's clock.
Changes after which the plan is still the best, and those after which another one is, are told apart.

    python benchmarks/bench_replan.py --only NE --change moved
    python benchmarks/bench_replan.py --bound 0.01 --bound 0.1 --bound 1 --bound 2 --bound 5
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from measuring import announce, median, number, parser, run_apart, run_benchmark, table, verdict

Hazards = tuple[tuple[int, int, int, int], ...]

ROOMS = ("NW", "NE", "W", "E", "SW", "SE")
CHANGES: dict[str, Callable[[Hazards], Hazards]] = {
    "moved": lambda hazards: tuple((x + 1, y + 1, width, height) for x, y, width, height in hazards),
    "moved aside": lambda hazards: tuple((x + 2, y, width, height) for x, y, width, height in hazards),
    "grown": lambda hazards: tuple((x, y, width + 1, height + 1) for x, y, width, height in hazards),
    "one more": lambda hazards: (*hazards, (hazards[0][0] + 3, hazards[0][1] + 3, 3, 3)),
    "one less": lambda hazards: hazards[:-1],
}
GAP = 1e-6
BOUND = 2.0
AIM = 10.0


def measure_room(room: str, change: str, bound: float) -> dict[str, Any]:
    """Processor seconds of both, and whether the plan is still the best."""
    from dataclasses import replace

    # What is imported for replanning is not counted, as what is for planning is not.
    import hcssp.solving.replan  # noqa: F401
    from hcssp import Gap, evaluate, solve
    from hcssp.cssp.grid import Hazard
    from hcssp.scenarios.domains.evacuation import evacuation
    from hcssp.solving.replan import carried_over

    problem = evacuation(bound)
    plan = solve(problem, stop=Gap(GAP))
    worlds = {each.name: each.cssp.world for each in problem.activities if each.room == room}
    known = next(iter(worlds.values())).hazards
    rectangles, costs = CHANGES[change](tuple(hazard.rectangle for hazard in known)), known[0].costs
    changed = problem.with_activities(
        {
            name: replace(world, hazards=[Hazard(*each, costs) for each in rectangles]).to_cssp()
            for name, world in worlds.items()
        }
    )
    began = time.process_time()
    anew = solve(changed, stop=Gap(GAP))
    middle = time.process_time()
    again = plan.replan(problem=changed, stop=Gap(GAP))
    ended = time.process_time()
    before = evaluate(changed, carried_over(plan.policy, changed))
    return {
        "anew": middle - began,
        "again": ended - middle,
        "stays": before.keeps_bounds() and float(before.costs[0]) <= anew.upper_bound * (1.0 + GAP),
        "gap": max(anew.gap, again.gap),
        "difference": abs(anew.upper_bound - again.upper_bound) / anew.upper_bound,
    }


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure the wanted rooms under every bound and print the tables."""
    figures = {f"damage {bound:g}": measure_bound(arguments, bound) for bound in arguments.bound or [BOUND]}
    if len(figures) > 1:
        rows = []
        for name, some in figures.items():
            every = [ratios_of(some, stays) for stays in (True, False, None)]
            rows.append((name, *(number(median(ratios)) if ratios else "" for ratios in every)))
        header = ("bound", "plan still the best", "another is", "all")
        print(table("Times faster, in the median", header, rows))
    return figures


def ratios_of(figures: dict[str, Any], stays: bool | None) -> list[float]:
    """How many times faster; where the plan stays, where another is best, or of all."""
    return [each["anew"] / each["again"] for each in figures.values() if stays in (None, each["stays"])]


def measure_bound(arguments: argparse.Namespace, bound: float) -> dict[str, Any]:
    """Measure the wanted rooms under one bound and print the table."""
    figures: dict[str, Any] = {}
    for room in arguments.only or ROOMS:
        for change in arguments.change or CHANGES:
            announce(f"hazards of {room} {change}, damage {bound:g}")
            figures[f"{room} {change}"] = run_apart(
                "bench_replan", "measure_room", {"room": room, "change": change, "bound": bound}
            )
    rows = []
    for stays in (True, False):
        some = {name: each for name, each in figures.items() if each["stays"] == stays}
        if not some:
            continue
        ratios, word = ratios_of(figures, stays), "yes" if stays else "no"
        rows += [
            (name, word, number(each["anew"]), number(each["again"]), number(ratio))
            for (name, each), ratio in zip(some.items(), ratios, strict=True)
        ]
        aim = verdict(median(ratios), AIM, at_least=True)
        rows.append(("median", word, "", "", f"{number(median(ratios))} ({aim})"))
    header = ("hazards", "plan still the best", "anew, s", "from what is known, s", "times faster")
    ratios = ratios_of(figures, None)
    aim = verdict(median(ratios), AIM, at_least=True)
    rows.append(("median of all", "", "", "", f"{number(median(ratios))} ({aim})"))
    title = f"The evacuation under damage {bound:g} after one room's hazards have changed, to {GAP:g}"
    print(table(title, header, rows))
    return figures


def main() -> None:
    """Parse the options and measure."""
    options = parser("The evacuation after one room's hazards have changed.")
    options.add_argument("--only", action="append", choices=ROOMS, help="one room; may be repeated")
    options.add_argument("--change", action="append", choices=CHANGES, help="one change; may be repeated")
    options.add_argument(
        "--bound",
        type=float,
        action="append",
        help=f"the damage allowed; {BOUND:g} by default; may be repeated",
    )
    run_benchmark("bench_replan", options.parse_args(), measure)


if __name__ == "__main__":
    main()
