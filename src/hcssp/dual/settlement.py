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
FIRST_PART = 0.125
WIDER = 8.0
LAST_SHARE = 4.0
"""The first cutoff is above the bound by this share of it, or by such a part of what is open if that is more;
while nothing is below it, it grows by this factor, up to the last share: what needs more is left to the
search."""

SAME_DIGITS = 12
"""Activities whose executions agree to so many digits are executed equally often: as the least of them."""

SLACK = 1.0 + 1e-6
"""Plans are looked for a little beyond what the cutoff allows, so that rounding leaves none out."""


class Uses(NamedTuple):
    """Activities that are alike and executed equally often.

    Attributes
    ----------
    slot
        Theirs, see :class:`~hcssp.dual.alike_activities.Slots`.
    activities
        The activities.
    executions
        How often each is executed, at least.
    own
        Their own cost that is counted; None if none is.
    least
        What an execution costs at least, at the price.
    """

    slot: int
    activities: tuple[int, ...]
    executions: float
    own: int | None
    least: float


class OneBudget:
    """A region in which all that is left to choose is plans of small activities, under one bound.

    Attributes
    ----------
    choices
        The choices at the events.
    price, budget
        Of the one bound.
    uses
        The activities that are executed.
    looks
        How many more regions of activities may be looked at.
    """

    looks = inf

    def __init__(
        self,
        oracle: ProcedureOracle,
        slots: Slots,
        choices: IntArray,
        uses: list[Uses],
        constraint: int,
        price: float,
    ) -> None:
        self._oracle, self._slots = oracle, slots
        self.choices, self.uses, self.price = choices, uses, price
        self.budget = float(tolerated(oracle.bounds)[constraint])
        self._level = (
            sum(len(each.activities) * each.executions * each.least for each in uses) - price * self.budget
        )
        self._known: list[NearBestPlans | None] = [None] * len(uses)

    @classmethod
    def of(cls, oracle: ProcedureOracle, region: Region, prices: FloatArray) -> OneBudget | None:
        """What a region is in this sense, at `prices`; None if it is not of that kind."""
        bounded = np.flatnonzero(np.isfinite(oracle.bounds))
        if len(bounded) != 1:
            return None
        constraint = int(bounded[0])
        slots, procedure = oracle.alike.slots(region), oracle.procedure
        allowed = Region(slots.choices).allowed(procedure.num_rows) if slots.choices else None
        choices = procedure.only_choices(allowed)
        if choices is None:
            return None
        price = float(prices[constraint])
        uses = _uses(oracle, slots, procedure.executions_at_least(choices), constraint, price)
        return None if uses is None else cls(oracle, slots, choices, uses, constraint, price)

    def plans_below(self, goal: float) -> list[NearBestPlans] | None:
        """For each of the uses the plans that a policy which costs less than `goal` may have.

        None if there are none, or they are too many, or take too many looks.
        """
        gap = SLACK * (goal - self._level)
        found: list[NearBestPlans] = []
        for position, each in enumerate(self.uses):
            limit = SLACK * each.least + gap / each.executions
            known = self._known[position]
            if known is None or limit > known.complete_to:
                planner, forbidden = (
                    self._oracle.planners[each.activities[0]],
                    self._slots.forbidden[each.slot],
                )
                known = near_best_plans(planner, forbidden, each.own, self.price, limit, self.looks)
                if known is None or not known.plans:
                    return None
                self.looks -= len(known.plans) + len(known.classes)
                self._known[position] = known
            found.append(known)
        return found


def settle(
    oracle: ProcedureOracle,
    region: Region,
    prices: FloatArray,
    bound: float,
    cutoff: float,
    looks: float = inf,
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
    looks
        How many regions of activities may be looked at.
    """
    whole = OneBudget.of(oracle, region, prices) if -inf < bound < cutoff else None
    if whole is None:
        return None
    whole.looks = looks
    best, vertex = bound, None
    above = max(FIRST_SHARE * abs(bound), FIRST_PART * (cutoff - bound) if cutoff < inf else 0.0)
    while above <= LAST_SHARE * abs(bound):
        goal = min(cutoff, bound + above)
        found = whole.plans_below(goal)
        if found is None:
            break
        plans = [each.plans for each in found]
        kinds = [
            Kind(
                len(each.activities),
                each.executions * np.array([plan.cost for plan in own]),
                each.executions * np.array([plan.use for plan in own]),
            )
            for each, own in zip(whole.uses, plans, strict=True)
        ]
        spread = spread_budget(kinds, whole.budget, whole.price, goal)
        if spread is None:
            break
        best = max(best, spread.bound)
        if spread.counts is not None:
            vertex = _vertex(oracle, whole, plans, spread.counts)
        if goal == cutoff or spread.bound < goal:
            break
        above *= WIDER
    return Settlement(best, vertex) if best > bound or vertex is not None else None


def _uses(
    oracle: ProcedureOracle, slots: Slots, executions: FloatArray, constraint: int, price: float
) -> list[Uses] | None:
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
        found.append(Uses(slot, tuple(activities), least, index, max(answer[1], 0.0)))
    return found


def _vertex(
    oracle: ProcedureOracle, whole: OneBudget, plans: list[list[NearBest]], counts: list[IntArray]
) -> ProcedureVertex:
    """The policy in which so many uses of each kind have each plan."""
    chosen: list[ActivityPlan | None] = [None] * len(oracle.planners)
    for each, own, taken in zip(whole.uses, plans, counts, strict=True):
        numbers = np.repeat(np.arange(len(own)), taken).tolist()
        for activity, number in zip(each.activities, numbers, strict=True):
            chosen[activity] = own[number].plan
    executions = oracle.procedure.executions(whole.choices)
    return ProcedureVertex(
        oracle, whole.choices, executions, tuple(chosen), oracle.totals(executions, chosen)
    )
