"""A region of a procedure settled at once: when nothing is left to choose but plans of small activities.

Branching tells equal activities apart, one by one, and their permutations are as many as they look. If the
choices at the events are fixed and one bound is left, the procedure is one budget over its activities
(:mod:`hcssp.dual.budget_spread`): each is executed so often, has a few plans that are nearly the best at
the dual's price (:mod:`hcssp.dual.near_best`), and those that are alike are counted.

Every plan that is not among the few makes the whole as dear as the cutoff, by the Lagrangian bound; of the
others, costs, uses and executions are taken from below. So the bound holds for all policies of the region.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.activity_curve import ActivityPlan
from hcssp.dual.budget_spread import Kind, spread_budget
from hcssp.dual.near_best import MAX_STATES, NearBest, NearBestPlans, near_best_plans
from hcssp.dual.oracle import Settlement
from hcssp.dual.procedure_vertex import ProcedureVertex
from hcssp.numerics import tolerated
from hcssp.ssp.region import Region

if TYPE_CHECKING:
    from hcssp.dual.alike_activities import Slots
    from hcssp.dual.procedure_oracle import ProcedureOracle

FIRST_SHARE = 1e-5
WIDER = 8.0
LAST_SHARE = 4.0
"""The first cutoff is above the bound by this share; while nothing is below it, the share grows by this
factor, up to the last: what needs more is left to the search."""

SAME_DIGITS = 12
"""Activities whose executions agree to so many digits are executed equally often: as the least of them."""

SLACK = 1.0 + 1e-6
"""Plans are looked for a little beyond what the cutoff allows, so that rounding leaves none out."""


class _Uses(NamedTuple):
    """Activities that are alike and executed equally often."""

    slot: int
    activities: tuple[int, ...]
    executions: float
    own: int | None
    least: float


def settle(
    oracle: ProcedureOracle, region: Region, prices: FloatArray, bound: float, cutoff: float
) -> Settlement[ProcedureVertex] | None:
    """Settle a region; None if it is not of that kind, or nothing more was found out.

    Parameters
    ----------
    oracle, region
        The policies that are meant.
    prices, bound
        The best multipliers, and the bound at them.
    cutoff
        Policies that cost this much are of no interest.
    """
    bounded = np.flatnonzero(np.isfinite(oracle.bounds))
    if len(bounded) != 1 or not -inf < bound < cutoff:
        return None
    constraint = int(bounded[0])
    price, budget = float(prices[constraint]), float(tolerated(oracle.bounds)[constraint])
    slots = oracle.alike.slots(region)
    procedure = oracle.procedure
    allowed = Region(slots.choices).allowed(procedure.num_rows) if slots.choices else None
    choices = procedure.only_choices(allowed)
    if choices is None:
        return None
    uses = _uses(oracle, slots, procedure.executions_at_least(choices), constraint, price)
    if uses is None:
        return None
    level = sum(len(each.activities) * each.executions * each.least for each in uses) - price * budget
    best, share, vertex = bound, FIRST_SHARE, None
    known: list[NearBestPlans | None] = [None] * len(uses)
    while share <= LAST_SHARE:
        goal = min(cutoff, bound + share * abs(bound))
        if not _find_plans(oracle, slots, uses, price, SLACK * (goal - level), known):
            break
        plans = [[] if found is None else found.plans for found in known]
        kinds = [
            Kind(
                len(each.activities),
                each.executions * np.array([plan.cost for plan in own]),
                each.executions * np.array([plan.use for plan in own]),
            )
            for each, own in zip(uses, plans, strict=True)
        ]
        spread = spread_budget(kinds, budget, price, goal)
        if spread is None:
            break
        best = max(best, spread.bound)
        if spread.counts is not None:
            vertex = _vertex(oracle, choices, uses, plans, spread.counts)
        if goal == cutoff or spread.bound < goal:
            break
        share *= WIDER
    return Settlement(best, vertex) if best > bound or vertex is not None else None


def _uses(
    oracle: ProcedureOracle, slots: Slots, executions: FloatArray, constraint: int, price: float
) -> list[_Uses] | None:
    """The activities that are executed, those that are alike together; None if one is too large."""
    groups: dict[tuple[int, str], list[int]] = {}
    for activity in np.flatnonzero(executions > 0.0).tolist():
        if oracle.planners[activity].balance.num_live > MAX_STATES:
            return None
        key = int(slots.of[activity]), f"{executions[activity]:.{SAME_DIGITS}g}"
        groups.setdefault(key, []).append(activity)
    found = []
    for (slot, _), activities in groups.items():
        planner = oracle.planners[activities[0]]
        index = next((own for j, own in oracle.counts[activities[0]] if j == constraint), None)
        weights = np.zeros(planner.num_costs)
        weights[0] = 1.0
        if index is not None:
            weights[index] = price
        answer = planner.plan(weights, slots.forbidden[slot])
        if answer is None:
            return None
        least = float(executions[activities].min())
        found.append(_Uses(slot, tuple(activities), least, index, max(answer[1], 0.0)))
    return found


def _find_plans(
    oracle: ProcedureOracle,
    slots: Slots,
    uses: list[_Uses],
    price: float,
    gap: float,
    known: list[NearBestPlans | None],
) -> bool:
    """Let `known` be the plans that a policy within the gap may have; False if they are too many."""
    for position, each in enumerate(uses):
        planner, limit = oracle.planners[each.activities[0]], SLACK * each.least + gap / each.executions
        found = known[position]
        if found is not None and limit <= found.complete_to:
            continue
        plans = near_best_plans(planner, slots.forbidden[each.slot], each.own, price, limit)
        if plans is None or not plans.plans:
            return False
        known[position] = plans
    return True


def _vertex(
    oracle: ProcedureOracle,
    choices: IntArray,
    uses: list[_Uses],
    plans: list[list[NearBest]],
    counts: list[IntArray],
) -> ProcedureVertex:
    """The policy in which so many uses of each kind have each plan."""
    chosen: list[ActivityPlan | None] = [None] * len(oracle.planners)
    for each, own, taken in zip(uses, plans, counts, strict=True):
        numbers = np.repeat(np.arange(len(own)), taken).tolist()
        for activity, number in zip(each.activities, numbers, strict=True):
            chosen[activity] = own[number].plan
    executions = oracle.procedure.executions(choices)
    return ProcedureVertex(oracle, choices, executions, tuple(chosen), oracle.totals(executions, chosen))
