"""Planning the evacuation anew after the hazards of one room have moved: with what is known, and without.

For each of the six rooms its hazards move by a cell; the changed problem is solved to the same gap by
``plan.replan`` and by ``solve``, in one process, timed by the processor's clock. Rooms that the plan
does not cross, and those that it does, are told apart: where it does, another plan is the best.

    python benchmarks/bench_replan.py --only NE
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from measuring import announce, median, number, parser, run_apart, run_benchmark, table, verdict

ROOMS = ("NW", "NE", "W", "E", "SW", "SE")
SHIFTS = ((1, 1), (2, 0))
GAP = 1e-6
BOUND = 2.0
AIM = 10.0


def measure_room(room: str, shift: tuple[int, int]) -> dict[str, Any]:
    """Processor seconds of both, and whether the plan crosses the room more than once in a hundred runs."""
    from dataclasses import replace

    # What is imported for replanning is not counted, as what is for planning is not.
    import hcssp.solving.replan  # noqa: F401
    from hcssp import Gap, solve
    from hcssp.scenarios.evacuation import TABLE

    plan = solve(TABLE.procedure(BOUND), stop=Gap(GAP))
    known = TABLE.rooms[room]
    moved = tuple((x + shift[0], y + shift[1], width, height) for x, y, width, height in known.hazards)
    changed = replace(TABLE, rooms={**TABLE.rooms, room: replace(known, hazards=moved)}).procedure(BOUND)
    began = time.process_time()
    anew = solve(changed, stop=Gap(GAP))
    middle = time.process_time()
    again = plan.replan(problem=changed, stop=Gap(GAP))
    ended = time.process_time()
    executed = [
        each.expected_executions
        for each, activity in zip(plan.evaluation.activities, plan.problem.activities, strict=True)
        if activity.room == room
    ]
    return {
        "anew": middle - began,
        "again": ended - middle,
        "crossed": sum(executed) > 0.02,
        "gap": max(anew.gap, again.gap),
    }


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure the wanted rooms and print the table."""
    figures: dict[str, Any] = {}
    for room in arguments.only or ROOMS:
        for shift in SHIFTS:
            announce(f"hazards of {room} moved by {shift}")
            figures[f"{room} {shift}"] = run_apart(
                "bench_replan", "measure_room", {"room": room, "shift": list(shift)}
            )
    rows = []
    for crossed in (False, True):
        some = {name: each for name, each in figures.items() if each["crossed"] == crossed}
        if not some:
            continue
        ratios = [each["anew"] / each["again"] for each in some.values()]
        rows += [
            (name, "yes" if crossed else "no", number(each["anew"]), number(each["again"]), number(ratio))
            for (name, each), ratio in zip(some.items(), ratios, strict=True)
        ]
        aim = verdict(median(ratios), AIM, at_least=True)
        rows.append(("median", "yes" if crossed else "no", "", "", f"{number(median(ratios))} ({aim})"))
    header = ("room", "crossed by the plan", "anew, s", "from what is known, s", "times faster")
    print(table(f"The evacuation after one room's hazards have moved, to {GAP:g}", header, rows))
    return figures


def main() -> None:
    """Parse the options and measure."""
    options = parser("The evacuation after one room's hazards have moved.")
    options.add_argument("--only", action="append", choices=ROOMS, help="one room; may be repeated")
    run_benchmark("bench_replan", options.parse_args(), measure)


if __name__ == "__main__":
    main()
