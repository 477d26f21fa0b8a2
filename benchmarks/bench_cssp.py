"""A single C-SSP: the dual, policy branching, and HiGHS on the linear program, in factorisations.

Three problems: one room of the evacuation (its first activity), a grid of 100 x 100 cells with hazards, and a
racetrack. For each the time of the dual to convergence, of policy branching to a gap of 1e-6, and of the
fastest of HiGHS's methods on the linear program, also divided by the time of one sparse LU of the system of
the best policy found, in the same run.

    python benchmarks/bench_cssp.py --only room --lp-cap 30
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
from timing_highs import add_arguments, best, cells, run_methods, time_linear_program

PROBLEMS = ("room", "grid", "racetrack")
GAP = 1e-6
FASTER_AIM = 20
REPEATS = 3  # of the dual, which is fast
FACTORISATIONS = 9


def make_problem(name: str) -> Any:
    """The problem under a bound between the least and the unconstrained value, so that it binds."""
    if name == "room":
        from hcssp.scenarios.domains.evacuation import evacuation

        return evacuation().activities[0].cssp.with_bounds(damage=2.0)
    if name == "grid":
        from hazard_grid import hazard_grid

        return hazard_grid(100, 100)
    from hcssp.scenarios.domains.racetrack import racetrack

    return racetrack()


def measure_ours(name: str, cap: float) -> dict[str, Any]:
    """Time the dual and policy branching, then a factorisation for the best policy's system."""
    import numpy as np

    from hcssp.contract.progress import Gap, MaxRuntime
    from hcssp.cssp.preprocessing import prepare
    from hcssp.dual.ascent import maximise
    from hcssp.dual.flat import FlatOracle
    from hcssp.methods.policy_branching import PolicyBranching
    from hcssp.solving.solve import solve
    from hcssp.ssp.balance import Balance
    from hcssp.ssp.scalar_problem import Region

    problem = make_problem(name)
    duals = []
    while len(duals) < REPEATS:
        began = time.perf_counter()
        # Each time from nothing: the oracle keeps what it has learnt.
        dual = maximise(FlatOracle(problem), Region())
        duals.append(time.perf_counter() - began)

    began = time.perf_counter()
    result = solve(problem, PolicyBranching(), [Gap(GAP), MaxRuntime(cap)])
    branching = time.perf_counter() - began

    prepared = prepare(problem)
    oracle = FlatOracle(problem)
    balance = Balance(prepared.problem)
    # The last policy that carries the dual keeps the bound; it serves where branching has found none.
    policy = dual.support[-1].rows
    if result.found_policy is not None:
        policy = _live_rows(prepared, balance, result.policy.rows)
    factorisations = time_factorisations([balance.matrix[policy]], FACTORISATIONS)

    fastest = oracle.minimise(np.array([1.0, 0.0]), Region())
    least = oracle.minimise(np.array([0.0, 1.0]), Region())
    return {
        "states": problem.num_states,
        "rows": problem.num_rows,
        "cost": problem.cost_names[1],
        "bound": float(problem.bounds[0]),
        "least": max(0.0, least.bound),
        "unconstrained": float(fastest.point.costs[1]),
        "dual_seconds": median(duals),
        "dual_value": dual.bound,
        "dual_converged": dual.converged,
        "branching_seconds": branching,
        "branching_nodes": result.iterations,
        "branching_gap": figure(result.gap),
        "branching_stopped_by": str(result.ending.reason),
        "upper_bound": figure(result.upper_bound),
        "factorisation_seconds": median(factorisations),
    }


def _live_rows(prepared: Any, balance: Any, rows: Any) -> Any:
    """A policy of the original problem as one row for each live state of the prepared one."""
    import numpy as np

    number_of = np.full(prepared.original.num_rows, -1)
    number_of[prepared.rows] = np.arange(prepared.problem.num_rows)
    return number_of[rows[prepared.states[balance.live]]]


def measure_highs(name: str, method: str, cap: float) -> dict[str, Any]:
    """Time one of HiGHS's methods on the linear program."""
    return time_linear_program(make_problem(name), method, cap)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure the wanted problems and print the table."""
    figures: dict[str, Any] = {}
    for name in arguments.only or PROBLEMS:
        announce(f"{name}: the dual, and policy branching (at most {arguments.cap:g} s)")
        ours = run_apart("bench_cssp", "measure_ours", {"name": name, "cap": arguments.cap})
        programs = run_methods("bench_cssp", {"name": name}, arguments.lp_method, arguments.lp_cap)
        figures[name] = {"ours": ours, "highs": programs}
        print(_report(name, ours, programs, arguments), flush=True)
    print(_summary(figures, arguments), flush=True)
    return {"problems": figures, "cap": arguments.cap, "lp_cap": arguments.lp_cap}


def _report(name: str, ours: Any, programs: dict[str, Any], arguments: argparse.Namespace) -> str:
    unit = ours["factorisation_seconds"]
    capped = ours["branching_stopped_by"] == "time limit"
    nodes = f"{ours['branching_nodes']:,} nodes, gap {number(ours['branching_gap'], '.2g')}"
    if capped:
        nodes += f"; stopped at {arguments.cap:g} s"
    rows = [
        ["one sparse LU", number(unit), "1", ""],
        [
            "the dual",
            number(ours["dual_seconds"]),
            f"{ours['dual_seconds'] / unit:.1f}",
            f"{ours['dual_value']:.9g}",
        ],
        [
            f"policy branching to {GAP:g}",
            number(ours["branching_seconds"], exceeded=capped),
            number(ours["branching_seconds"] / unit, ",.0f", exceeded=capped),
            f"{number(ours['upper_bound'], '.9g')}; {nodes}",
        ],
    ]
    rows += [[f"HiGHS, {method}", *cells(answer, unit)] for method, answer in programs.items()]
    title = (
        f"{name}: {ours['states']:,} states, {ours['rows']:,} rows; {ours['cost']} at most {ours['bound']:g} "
        f"(least {ours['least']:.3g}, unconstrained {ours['unconstrained']:.3g})"
    )
    return table(title, ["", "seconds", "in LUs", "value"], rows)


def _summary(figures: dict[str, Any], arguments: argparse.Namespace) -> str:
    rows = []
    for name, measured in figures.items():
        dual = measured["ours"]["dual_seconds"]
        highs = best(measured["highs"], arguments.lp_cap)
        ratio = None if highs.seconds is None else highs.seconds / dual
        rows.append(
            [
                name,
                number(dual),
                f"{number(highs.seconds, exceeded=highs.exceeded)} ({highs.method})",
                number(ratio, ".1f", exceeded=highs.exceeded),
                verdict(ratio, FASTER_AIM, at_least=True, exceeded=highs.exceeded),
            ]
        )
    title = "How many times faster the dual is than HiGHS's best method"
    return table(title, ["", "dual, s", "HiGHS, s", "times faster", "aim"], rows)


def main() -> None:
    """Read the options and measure."""
    options = parser("One C-SSP: the dual, policy branching and HiGHS, in factorisations.")
    options.add_argument("--only", action="append", choices=PROBLEMS, help="a problem; may be repeated")
    options.add_argument(
        "--cap", type=float, default=120.0, help="seconds for policy branching (default: 120)"
    )
    add_arguments(options)
    run_benchmark("bench_cssp", options.parse_args(), measure)


if __name__ == "__main__":
    main()
