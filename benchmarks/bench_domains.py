"""The built-in problems of all domains in their large settings: time to a gap of 1e-3, nodes and states.

A *unit* is the time of one sparse LU (scipy's ``splu``, as it comes) of the flat problem's system under its
cheapest policy, in the same run. Every problem is solved in a process of its own, from a cold start; building
it is told apart. ``--small`` takes the small settings instead.

    python benchmarks/bench_domains.py --only rover --only aircraft --cap 30
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
    run_apart,
    run_benchmark,
    table,
    time_factorisations,
    verdict,
)

GAP = 1e-3
AIM = 30.0  # seconds
FACTORISATIONS = 3
DOMAINS = (
    "aircraft",
    "campus",
    "delivery",
    "elevators",
    "patient",
    "racetrack",
    "random",
    "rover",
    "routing",
    "search-and-rescue",
)


def measure_domain(name: str, small: bool, cap: float) -> dict[str, Any]:
    """Make a problem by its name and solve it; then time the unit."""
    from hcssp import Gap, MaxRuntime, PolicyBranching, solve
    from hcssp.scenarios.scenario import find_scenario

    scenario = find_scenario(name)
    began = time.perf_counter()
    problem = scenario.make(**(scenario.small if small else scenario.large))
    built = time.perf_counter()
    plan = solve(problem, PolicyBranching(), [Gap(GAP), MaxRuntime(cap)])
    seconds = time.perf_counter() - built
    return {
        "building_seconds": built - began,
        "seconds": seconds,
        "states": problem.flattening.num_states,
        "activities": problem.num_activities,
        "nodes": plan.iterations,
        "gap": figure(float(plan.gap)),
        "status": plan.status.value,
        "unit": median(_factorise(problem)),
    }


def _factorise(problem: Any) -> list[float]:
    import numpy as np

    from hcssp.cssp.preprocessing import prepare
    from hcssp.ssp.balance import Balance
    from hcssp.ssp.policy_iteration import PolicyIteration

    flat = prepare(problem.flattening.cssp).problem
    balance = Balance(flat)
    cheapest = PolicyIteration(balance).minimise(np.eye(1, len(flat.cost_names))[0])
    return time_factorisations([balance.matrix[cheapest.rows]], FACTORISATIONS)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """All domains, one after the other."""
    rows, figures = [], {}
    for name in arguments.only or DOMAINS:
        announce(name)
        asked = {"name": name, "small": arguments.small, "cap": arguments.cap}
        found = run_apart("bench_domains", "measure_domain", asked, 4.0 * arguments.cap)
        figures[name] = found
        if found is None:
            rows.append((name, "", "", "", "", "", "-", ""))
            continue
        proved = found["gap"] is not None and found["gap"] <= GAP
        taken = found["seconds"]
        rows.append(
            (
                name,
                f"{found['states']:,}",
                f"{found['nodes']:,}",
                number(found["gap"], ".1e"),
                number(found["building_seconds"]),
                number(taken, exceeded=not proved),
                number(taken / found["unit"], ".0f", exceeded=not proved),
                verdict(taken if proved else None, AIM),
            )
        )
    header = ("problem", "states", "nodes", "gap", "building s", "seconds", "units", "aim")
    print(table(f"Domains, to a gap of {GAP:g}", header, rows))
    return {"domains": figures}


def main() -> None:
    """Parse the options and measure."""
    options = parser("Problems of all domains.")
    options.add_argument("--only", action="append", choices=DOMAINS, help="only this one; may be repeated")
    options.add_argument("--small", action="store_true", help="the small settings")
    options.add_argument("--cap", type=float, default=60.0, help="seconds for each problem")
    run_benchmark("bench_domains", options.parse_args(), measure)


if __name__ == "__main__":
    main()
