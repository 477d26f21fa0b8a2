"""Good incumbents where activities have doors: switches that change how an activity ends, too.

A switch in one activity changes its own costs and, by its exits, how often what follows is executed. As
long as everything else stays as it is, both are linear in the activity's values, so that the switches to
try are found as in :mod:`hcssp.dual.repair`. After every switch that is made, the whole plan is evaluated
anew.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.door_planner import DoorPlan
from hcssp.dual.doors_vertex import DoorsVertex
from hcssp.dual.policy_part import Part
from hcssp.dual.repair import LATER_STEPS, improve, noticed_at
from hcssp.errors import ImproperPolicy
from hcssp.numerics import is_feasible


@dataclass(eq=False, kw_only=True)
class DoorPart(Part):
    """An activity as it stands in a plan of the whole.

    Attributes
    ----------
    plan
        The activity's plan before anything is switched.
    flow
        How often it begins in each of its live states, in expectation.
    folding
        What a unit of each of its own costs, and of the probability of each exit, costs the whole.
    """

    plan: DoorPlan
    flow: FloatArray
    folding: FloatArray

    def take(self, rows: IntArray, values: FloatArray) -> None:
        self.rows, self.values, self.changed = rows, values, True

    def _estimate(self, num_constraints: int) -> FloatArray:
        balance = self.balance
        reduced = self.plan.reduced(balance) @ self.folding
        effects: FloatArray = self.visits[balance.row_state][:, np.newaxis] * reduced
        return effects

    def _change(self, values: FloatArray) -> FloatArray:
        change: FloatArray = self.flow @ (values - self.values) @ self.folding
        return change


def improved(
    vertex: DoorsVertex, bounds: FloatArray, rounds: int, known_cost: float = np.inf, least: float = -np.inf
) -> DoorsVertex | None:
    """A feasible plan near `vertex`, as :func:`hcssp.dual.repair.improve` makes it; None if none was met."""
    best = vertex if is_feasible(vertex.costs, bounds) else None
    for left in range(rounds, 0, -1):
        before = float(vertex.costs[0])
        parts = _parts(vertex)
        improve(list(parts.values()), vertex.costs, bounds, rounds=1)
        plans = list(vertex.plans)
        for activity, part in parts.items():
            if part.changed:
                costs = part.balance.initial @ part.values
                plans[activity] = DoorPlan(part.rows, part.values, costs)
        if not any(part.changed for part in parts.values()):
            break
        try:
            vertex = vertex.with_plans(tuple(plans))
        except ImproperPolicy:
            break
        if is_feasible(vertex.costs, bounds):
            cost = float(vertex.costs[0])
            if best is not None and cost >= best.costs[0]:
                break
            is_slow = cost - LATER_STEPS * (left - 1) * (before - cost) > noticed_at(
                min(known_cost, cost), least
            )
            if best is not None and is_slow:
                return vertex
            best = vertex
        elif best is not None:
            break
    return best


def _parts(vertex: DoorsVertex) -> dict[int, DoorPart]:
    """The activities that the plan executes and that may be changed."""
    parts: dict[int, DoorPart] = {}
    num_constraints = len(vertex.costs) - 1
    counts = [(index, 1 + index) for index in range(num_constraints)]
    after = vertex.event_costs
    for activity, flow in vertex.entered.items():
        plan, planner = vertex.executed(activity)
        block = planner.block
        # Where an exit must not be taken, a switch might take it.
        closed = [event for event in block.exits.tolist() if not vertex.goes_on_from(event)]
        if closed or plan.dead is not None:
            continue
        folding = np.eye(block.num_costs)
        if len(block.exits) > 1:
            folding = np.vstack([folding, after[block.exits]])
        visits = planner.system.visits(plan.rows, flow)
        parts[activity] = DoorPart(
            planner.balance,
            planner.system,
            counts,
            1.0,
            plan.rows,
            plan.values,
            visits,
            plan=plan,
            flow=flow,
            folding=folding,
        )
    return parts
