"""Several exits: the evacuation whose hallways have two ends, beside the one with single openings.

Which end of a hallway is entered is decided by the plan of the room before (``doors_building.py``), so that
what follows an activity depends on its plan. Both buildings are solved to a gap of 1e-6, each in a process
of its own; told is how many times longer two ends take. Building the model counts, starting Python and
importing do not.

    python benchmarks/bench_doors.py --only 2
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from measuring import announce, figure, median, number, parser, run_apart, run_benchmark, table, verdict

BOUNDS = (1.0, 2.0, 5.0)
GAP = 1e-6
RATIO_AIM = 5  # times the building with single openings
REPEATS = 3


def measure_building(ends: int, bound: float, cap: float) -> dict[str, Any]:
    """Build and solve the evacuation with hallways of one or two ends."""
    from doors_building import evacuation_by_two_ends

    from hcssp.contract.progress import Gap, MaxRuntime
    from hcssp.methods.policy_branching import PolicyBranching
    from hcssp.scenarios.domains.evacuation import evacuation
    from hcssp.solving.solve import solve

    began = time.perf_counter()
    problem = evacuation(bound) if ends == 1 else evacuation_by_two_ends(bound)
    result = solve(problem, PolicyBranching(), [Gap(GAP), MaxRuntime(cap)])
    return {
        "states": problem.flattening.num_states,
        "seconds": time.perf_counter() - began,
        "nodes": result.iterations,
        "upper_bound": figure(result.upper_bound),
        "gap": figure(result.gap),
    }


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure the wanted bounds and print the table."""
    measured = {}
    rows = []
    for bound in arguments.only or BOUNDS:
        announce(f"damage {bound:g} (at most {arguments.cap:g} s each)")
        one, two = (_repeatedly(ends, bound, arguments.cap) for ends in (1, 2))
        measured[bound] = {"one end": one, "two ends": two}
        if one is None or two is None:
            rows.append([f"damage {bound:g}", *["-"] * 4, f"more than {arguments.cap:g} s", "open"])
            continue
        ratio = two["seconds"] / one["seconds"]
        nodes = f"{one['nodes']:,}", f"{two['nodes']:,}"
        seconds = number(one["seconds"]), number(two["seconds"])
        rows.append([f"damage {bound:g}", *nodes, *seconds, number(ratio), verdict(ratio, RATIO_AIM)])
    header = ["", "nodes, one end", "two", "seconds, one end", "two", "ratio", "aim"]
    print(
        table(f"The evacuation by hallways of one and two ends, to a gap of {GAP:g}", header, rows),
        flush=True,
    )
    return {"bounds": measured, "gap": GAP}


def _repeatedly(ends: int, bound: float, cap: float) -> dict[str, Any] | None:
    """The median of several runs; None if the gap was not reached."""
    wanted = {"ends": ends, "bound": bound, "cap": cap}
    answers = [
        run_apart("bench_doors", "measure_building", wanted, timeout=2.0 * cap) for _ in range(REPEATS)
    ]
    found = [each for each in answers if each is not None and each["gap"] is not None and each["gap"] <= GAP]
    if len(found) < len(answers):
        return None
    return {**found[-1], "seconds": median(each["seconds"] for each in found)}


def main() -> None:
    """Read the options and measure."""
    options = parser("What several exits cost, beside single ones.")
    options.add_argument("--only", action="append", type=float, metavar="DAMAGE", help="may be repeated")
    options.add_argument("--cap", type=float, default=120.0, help="seconds for each run (default: 120)")
    run_benchmark("bench_doors", options.parse_args(), measure)


if __name__ == "__main__":
    main()
