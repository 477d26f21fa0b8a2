"""All plans of an activity that are nearly the best at a price, each with certain lower bounds on its costs.

A region of plans is split as in Lawler's and Murty's enumeration: its best plan is one answer, and whatever
else is in it leaves that plan in some state that it comes to. Regions whose certified bound is beyond the
limit are not looked into. Small activities have few such plans; where there are too many, nothing is said.

References: Lawler 1972; Murty 1968.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from hcssp.dual.activity_curve import ActivityPlan
from hcssp.dual.activity_planner import ActivityPlanner

MAX_PLANS = 64
"""An activity with more plans that are nearly the best is left to the search."""

MAX_REGIONS = 256
"""After so many regions the activity is left to the search as well."""

MAX_STATES = 200
"""So is one with more states: it would have more of them."""


class NearBest(NamedTuple):
    """A plan that is nearly the best.

    Attributes
    ----------
    plan
        The plan.
    cost, use
        No more than what it costs, and than what it uses of the counted cost.
    """

    plan: ActivityPlan
    cost: float
    use: float


class Class(NamedTuple):
    """Some plans of the activity: a single one, or those of a region that are all beyond the limit.

    Attributes
    ----------
    forbidden
        The rows that they do not take.
    cheapest, sparing
        Of a single plan those under the primary and the counted cost: the same but where it never goes.
    best
        Of those that are beyond the limit the best one; None if there is none at all, or they are one plan.
    """

    forbidden: frozenset[int]
    cheapest: ActivityPlan | None = None
    sparing: ActivityPlan | None = None
    best: ActivityPlan | None = None


class NearBestPlans(NamedTuple):
    """All plans below a limit.

    Attributes
    ----------
    plans
        The plans.
    complete_to
        A limit up to which they are the same; not below the one that was given.
    tree
        How all plans were split in classes, in preorder: a row that is taken in its state, or else is not; -1
        for a class.
    classes
        The classes, in that order.
    """

    plans: list[NearBest]
    complete_to: float
    tree: list[int]
    classes: list[Class]


def near_best_plans(
    planner: ActivityPlanner,
    forbidden: frozenset[int],
    index: int | None,
    price: float,
    limit: float,
    looks: float = inf,
) -> NearBestPlans | None:
    """The plans without `forbidden` rows that cost less than `limit` at a price; None if there are too many.

    Those that differ only where they never go are one.

    Parameters
    ----------
    planner, forbidden
        The activity, and the region that is meant.
    index
        The counted cost; None if nothing is counted.
    price
        Of a unit of it.
    limit
        Of the primary cost plus `price` times the counted one.
    looks
        How many regions may be looked at, :data:`MAX_REGIONS` at most.
    """
    balance = planner.balance
    if balance.num_live > MAX_STATES:
        return None
    weights, use = np.zeros(planner.num_costs), np.zeros(planner.num_costs)
    weights[0] = 1.0
    if index is not None:
        weights[index], use[index] = price, 1.0
    primary = np.eye(planner.num_costs)[0]
    found: list[NearBest] = []
    waiting: list[tuple[frozenset[int], ActivityPlan | None]] = [(forbidden, None)]
    looked, complete_to = 0, inf
    tree: list[int] = []
    classes: list[Class] = []
    while waiting:
        # The last one that waits is the part without the row that was branched on last.
        region, near = waiting.pop()
        looked += 1
        if looked > min(looks, MAX_REGIONS):
            return None
        answer = planner.plan_afresh(weights, region, near)
        if answer is None or answer[1] >= limit:
            complete_to = complete_to if answer is None else min(complete_to, answer[1])
            tree.append(-1)
            classes.append(Class(region, best=None if answer is None else answer[0]))
            continue
        if len(found) >= MAX_PLANS:
            return None
        plan = answer[0]
        only = set(region)
        for state in np.flatnonzero(plan.reached).tolist():
            rows = range(int(balance.row_start[state]), int(balance.row_start[state + 1]))
            own = int(plan.rows[state])
            if any(row != own and row not in only for row in rows):
                waiting.append((frozenset(only | {own}), plan))
                tree.append(own)
            only.update(row for row in rows if row != own)
        alone = frozenset(only)
        cost = planner.plan_afresh(primary, alone, plan)
        spent = None if index is None else planner.plan_afresh(use, alone, plan)
        if cost is None or (index is not None and spent is None):
            return None
        found.append(NearBest(plan, max(cost[1], 0.0), 0.0 if spent is None else max(spent[1], 0.0)))
        tree.append(-1)
        classes.append(Class(alone, cost[0], None if spent is None else spent[0]))
    return NearBestPlans(found, complete_to, tree, classes)
