"""The campus: many uses of few rooms, solved to a gap of 1e-3, and three bounds beside one.

Each problem is solved in a process of its own. The unit is one sparse LU factorisation of each *distinct*
room. Told are the states, the time until the gap is certified, in units and beside that of the smaller one,
and the peak memory. Bounds are shares of what the plan without bounds costs, which is found first, untimed.

    python benchmarks/bench_campus.py --share 0.3
"""

from __future__ import annotations

import argparse
import time
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

GAP = 1e-3
SIZES = {
    "1e5 states": {"buildings": 2, "floors": 4, "rooms": 2, "size": 50},
    "1e6 states": {"buildings": 8, "floors": 10, "rooms": 2, "size": 50},
}
UNITS_AIM, GROWTH_AIM, MEMORY_AIM = 30, 3, 4000
SHARES = (0.8, 0.5, 0.3)
FACTORISATIONS = 5
THREE_GAP, THREE_AIM = 1e-4, 5
THREE_SHARE = 0.6


def measure_campus(parameters: dict[str, int], share: float, cap: float) -> dict[str, Any]:
    """Solve one campus under a share of the damage that the fastest plan does."""
    import numpy as np

    from hcssp.scenarios.domains.campus import campus
    from hcssp.solving.solve import solve

    free = campus(damage=np.inf, **parameters)
    damage = share * solve(free).cost("damage")
    answer = _timed(lambda: campus(damage=damage, **parameters), GAP, cap)
    # Measured last, so that finding the fastest policies can help nothing above.
    return {**answer, "damage": damage, "unit_seconds": _unit_seconds(free)}


def measure_bounds(count: int, cap: float) -> dict[str, Any]:
    """Solve the small campus under one or three bounds."""
    import numpy as np

    from hcssp.scenarios.domains.campus import COSTS, campus
    from hcssp.solving.solve import solve

    # What one way spares the other spends: all three are scarce if each is a share of its dearest plan.
    most = dict.fromkeys(COSTS[1:], 0.0)
    for bounds in ({}, {"damage": 5.0}):
        plan = solve(campus(**{"damage": np.inf, **bounds}))
        most = {name: max(most[name], plan.cost(name)) for name in most}
    wanted = {name: THREE_SHARE * most[name] for name in COSTS[1 : 1 + count]}
    return _timed(lambda: campus(**wanted), THREE_GAP, cap)


def _timed(make: Any, gap: float, cap: float) -> dict[str, Any]:
    from hcssp.contract.progress import Gap, MaxRuntime
    from hcssp.solving.solve import solve

    reached: list[float] = []

    def note(progress: Any) -> None:
        if not reached and progress.gap <= gap:
            reached.append(time.perf_counter() - began)

    began = time.perf_counter()
    problem = make()
    result = solve(problem, None, [Gap(gap), MaxRuntime(cap)], note)
    return {
        "states": problem.flattening.num_states,
        "uses": len(problem.uses),
        "distinct": len({id(activity.cssp) for activity in problem.activities}),
        "seconds": reached[0] if reached else None,
        "nodes": result.iterations,
        "status": str(result.status),
        "gap": figure(result.gap),
        "peak_memory_mb": peak_memory(),
    }


def _unit_seconds(problem: Any) -> list[float]:
    """Several measurements of the unit."""
    import numpy as np

    from hcssp.cssp.preprocessing import prepare
    from hcssp.ssp.balance import Balance
    from hcssp.ssp.policy_iteration import PolicyIteration

    systems = []
    for cssp in {id(activity.cssp): activity.cssp for activity in problem.activities}.values():
        balance = Balance(prepare(cssp).problem)
        weights = np.eye(len(cssp.cost_names))[0]
        systems.append(balance.matrix[PolicyIteration(balance).minimise(weights).rows])
    return time_factorisations(systems, FACTORISATIONS)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure both sizes under every share, then one and three bounds, and print the tables."""
    sizes = {name: SIZES[name] for name in arguments.only or SIZES}
    measured: dict[str, dict[str, Any] | None] = {}
    rows = []
    for share in arguments.share or SHARES:
        smaller = None
        for name, parameters in sizes.items():
            announce(f"{name}, {share:g} of the damage (at most {arguments.cap:g} s)")
            wanted = {"parameters": parameters, "share": share, "cap": arguments.cap}
            answer = run_apart("bench_campus", "measure_campus", wanted, timeout=4.0 * arguments.cap)
            measured[f"{name}, {share:g}"] = answer
            rows.append(_row(f"{name}, {share:g}", answer, smaller, arguments.cap))
            smaller = None if answer is None else answer["seconds"]
    header = ["", "states", "uses", "rooms", "seconds", "units", "aim", "growth", "aim", "nodes", "MB", "aim"]
    print(table(f"The campus to a gap of {GAP:g}", header, rows), flush=True)
    bounds = {
        count: run_apart("bench_campus", "measure_bounds", {"count": count, "cap": 60}) for count in (1, 3)
    }
    seconds = [None if each is None else each["seconds"] for each in bounds.values()]
    ratio = seconds[1] / seconds[0] if seconds[0] and seconds[1] else None
    lines = [
        [f"{count} bounds", number(seconds[index]), f"{answer['nodes']:,}" if answer else "-"]
        for index, (count, answer) in enumerate(bounds.items())
    ]
    lines.append(["ratio", number(ratio), verdict(ratio, THREE_AIM)])
    print(table(f"The small campus to a gap of {THREE_GAP:g}", ["", "seconds", "nodes"], lines), flush=True)
    return {"campus": measured, "bounds": bounds, "gap": GAP, "cap": arguments.cap}


def _row(name: str, answer: dict[str, Any] | None, smaller: float | None, cap: float) -> list[str]:
    if answer is None:
        return [name, *["-"] * 3, number(cap, exceeded=True), *["-"] * 7]
    exceeded = answer["seconds"] is None
    seconds = cap if exceeded else answer["seconds"]
    units = seconds / median(answer["unit_seconds"])
    growth = None if smaller is None else seconds / smaller
    return [
        name,
        f"{answer['states']:,}",
        f"{answer['uses']:,}",
        f"{answer['distinct']:,}",
        number(seconds, exceeded=exceeded),
        number(units, exceeded=exceeded),
        verdict(units, UNITS_AIM, exceeded=exceeded) if smaller is None else "",
        number(growth, exceeded=exceeded),
        "" if growth is None else verdict(growth, GROWTH_AIM, exceeded=exceeded),
        f"{answer['nodes']:,}",
        f"{answer['peak_memory_mb']:,.0f}",
        verdict(answer["peak_memory_mb"], MEMORY_AIM),
    ]


def main() -> None:
    """Read the options and measure."""
    options = parser("Many uses of few rooms.")
    options.add_argument("--only", action="append", choices=SIZES, help="may be repeated")
    options.add_argument("--share", action="append", type=float, help="of the damage; may be repeated")
    options.add_argument("--cap", type=float, default=120.0, help="seconds for each search (default: 120)")
    run_benchmark("bench_campus", options.parse_args(), measure)


if __name__ == "__main__":
    main()
