"""The same problems in other units: what is best, what is proven and what is left open must not change."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from brute_force import brute_force
from brute_force_procedures import brute_force as brute_force_procedure
from hcssp.contract.plan import Plan
from hcssp.cssp.model import CSSP
from hcssp.evaluation.exact import evaluate
from hcssp.procedure.model import HCSSP
from hcssp.solving.solve import solve
from known_optima import knapsack, roads, two_starts
from random_problems import random_cssp
from random_procedures import random_procedure
from volume import some

Problem = CSSP | HCSSP

FACTORS = (1e-12, 1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9, 1e12)
COSTS = {"primary": 0, "secondary": 1}
NAMES = [f"{cost} {factor}" for cost in COSTS for factor in FACTORS]
"""Which cost is meant, and the factor."""

SAME_GAP = 2e-9
"""Gaps are the same if they differ by no more than what pruning leaves open."""


@cache
def problems() -> dict[str, Problem]:
    """Single problems and procedures with one bound and with several; some cannot be kept."""
    return {
        "roads": roads(damage=4.0, fuel=7.0),
        "knapsack": knapsack(5.0),
        "two starts": two_starts(1.5),
        **{f"random {seed}": random_cssp(seed, max_states=5) for seed in some(range(3000, 3006), 2)},
        **{
            f"procedure {seed}": random_procedure(seed, cycles=seed % 2 == 0, several_exits=seed % 3 == 0)
            for seed in some(range(3000, 3005), 2)
        },
    }


@cache
def plan_of(name: str) -> Plan:
    """The plan in the problem's own units."""
    return solve(problems()[name], stop=())


@cache
def has_unique_optimum(name: str) -> bool:
    """Whether the second best policy that keeps the bounds is dearer by more than rounding."""
    problem = problems()[name]
    every = brute_force_procedure(problem) if isinstance(problem, HCSSP) else brute_force(problem)
    kept = every.costs[(every.costs[:, 1:] <= problem.bounds * (1.0 + 1e-9)).all(axis=1), 0]
    return len(kept) > 0 and bool(np.sum(kept <= kept.min() * (1.0 + 1e-6)) == 1)


def in_other_units(problem: Problem, index: int, factor: float) -> Problem:
    """The problem with one cost and its bound times `factor`; a procedure's activities all count alike."""
    if isinstance(problem, CSSP):
        return _scaled(problem, index, factor)
    activities = tuple(
        replace(activity, cssp=_scaled(activity.cssp, index, factor)) for activity in problem.activities
    )
    constraints = tuple(
        replace(each, at_most=each.at_most * factor) if index in each.counts.values() else each
        for each in problem.constraints
    )
    return replace(problem, activities=activities, constraints=constraints)


def _scaled(problem: CSSP, index: int, factor: float) -> CSSP:
    costs, bounds = problem.costs.copy(), problem.bounds.copy()
    costs[index] *= factor
    if index:
        bounds[index - 1] *= factor
    return problem.derive(costs=costs, bounds=bounds)


def check_units(name: str) -> list[str]:
    """Every problem whose answer changes if a cost is counted in other units."""
    cost, _, factor = name.partition(" ")
    wrong = []
    for each, problem in problems().items():
        plan = solve(in_other_units(problem, COSTS[cost], float(factor)), stop=())
        wrong += [f"{each}: {difference}" for difference in _differences(each, plan)]
    return wrong


def _differences(name: str, plan: Plan) -> list[str]:
    before = plan_of(name)
    told = (plan.status, plan.ending.reason)
    if told != (before.status, before.ending.reason):
        return [f"{told}, not {(before.status, before.ending.reason)}"]
    if not before.found:
        return []
    wrong = []
    if not abs(plan.gap - before.gap) <= SAME_GAP:
        wrong.append(f"a gap of {plan.gap}, not {before.gap}")
    problem, rows = problems()[name], plan.policy.rows
    policy = problem.policy(rows)
    evaluation = evaluate(problem, policy)
    cost, goes = float(evaluation.costs[0]), evaluation.visits > 0.0
    # Ties may fall either way, but only ties.
    if abs(cost - before.upper_bound) > 1e-12 * before.upper_bound:
        wrong.append(f"a policy of {cost}, not {before.upper_bound}")
    elif has_unique_optimum(name) and not np.array_equal(rows[goes], before.policy.rows[goes]):
        wrong.append(f"the policy {rows.tolist()}, not {before.policy.rows.tolist()}")
    return wrong
