"""Bounds that are used up exactly."""

from __future__ import annotations

from itertools import product

from hcssp.contract.proof import Status
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.methods.paper import BudgetAllocation
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.procedure import Outcome, ProcedureBuilder
from hcssp.solving.solve import solve
from reproductions.asking import one_state, verdicts


def check_a_bound_used_up_beside_a_large_cost() -> list[str]:
    p = 2.0**-20
    slow, fast = 9.710966807925574e-07, 0.00043699350635665083
    problem = one_state(
        {"slow": (p, (2, slow)), "fast": (p, (0, fast)), "jump": (1.0, (1, 91487040.37812607))},
        damage=slow / p,
    )
    return verdicts([("used up", problem)])


def walk_or_run(energy: float, fast: float, success: float, bound: float) -> CSSP:
    return one_state(
        {"walk": (1.0, (1.0, 0.0, energy)), "run": (success, (fast, 0.75, 3.0))}, damage=0.0, energy=bound
    )


def check_one_of_two_bounds_is_zero() -> list[str]:
    cases = [
        (energy, fast, success, bound)
        for energy, fast, success in product((4.0, 100.0, 1e5), (0.0, 0.5), (1.0, 0.25))
        for bound in (energy, energy + 1.0)
    ]
    return verdicts((f"zero {case}", walk_or_run(*case)) for case in cases)


def three_bounds(last: float) -> CSSP:
    """Three policies that end, each of which breaks a bound, one of them by little."""
    plan = CSSPBuilder(cost_names=("time", "a", "b", "c"), bounds={"a": 4.0, "b": 2.0, "c": last})
    first, second, out = plan.add_state("first"), plan.add_state("second"), plan.add_goal("out")
    plan.add_action(first, "stay", to=first, costs=(5.0, 5.0, 1.0, 5.0))
    plan.add_action(first, "leave", to=out, costs=(4.0, 1.0, 2.0, 2.0))
    plan.add_action(first, "on", to=second, costs=(2.0, 2.0, 1.0, 5.0))
    plan.add_action(second, "out", to=out, costs=(1.0, 2.0, 1.0, 3.0))
    plan.add_action(second, "slowly", to=out, costs=(6.0, 5.0, 1.0, 1.0))
    return plan.build()


def check_several_bounds_barely_infeasible() -> list[str]:
    bounds = (1.999998, 2.0 * (1 - 2e-9), 2.0 * (1 - 1e-8), 1.9, 2.0)
    return verdicts((f"barely {bound!r}", three_bounds(bound)) for bound in bounds)


def check_a_risk_of_one_in_a_billion() -> list[str]:
    """A bound below one is kept to as many digits as any other."""
    wrong = []
    for bound in (1e-9, 1e-6, 1e-3):
        problem = one_state({"safe": (1.0, (10, 0.0)), "fast": (1.0, (1, 1.9 * bound))}, damage=bound)
        plan = solve(problem)
        if plan.upper_bound != 10.0 or plan.status is not Status.OPTIMAL:
            wrong.append(f"damage at most {bound}: {plan.status} {plan.upper_bound}, not 10")
    return wrong


def check_a_bound_below_zero_cannot_be_kept() -> list[str]:
    """However little it is below, and however seldom the activity runs that it counts."""
    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    room = one_state({"walk": (1.0, (52.5, 0.0)), "run": (1.0, (1.0, 1e-9))})
    rarely = plan.add_activity("rarely", room)
    plan.add_choice(start, "go", to=[Outcome(1 / 16, end, runs=rarely), Outcome(15 / 16, end)])
    plan.add_constraint("damage", at_most=-1e-10, counts={rarely: "damage"})
    problem = plan.build(start=start, end=end)
    plans = {solver.name: solve(problem, solver) for solver in (PolicyBranching(), BudgetAllocation())}
    return [f"{name}: {each.status}" for name, each in plans.items() if each.status is not Status.INFEASIBLE]
