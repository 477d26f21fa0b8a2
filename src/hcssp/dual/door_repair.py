"""Good incumbents where activities have doors: switches that change how an activity ends, too.

A switch in one activity changes its own costs and, by its exits, how often what follows is executed. As
long as everything else stays as it is, both are linear in the activity's values, so that the switches to
try are found as in :mod:`hcssp.dual.repair`. After every switch that is made, the whole plan is evaluated
anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.door_planner import DoorPlan
from hcssp.dual.doors_vertex import DoorsVertex
from hcssp.dual.repair import Part, improve
from hcssp.errors import ImproperPolicy
from hcssp.numerics import is_feasible


@dataclass(eq=False)
class DoorPart(Part):
    """An activity as it stands in a plan of the whole.

    Attributes
    ----------
    flow
        How often it begins in each of its live states, in expectation.
    folding
        What a unit of each of its own costs, and of the probability of each exit, costs the whole.
    """

    flow: FloatArray = field(default_factory=lambda: np.zeros(0))
    folding: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))

    def take(self, rows: IntArray, values: FloatArray) -> None:
        self.rows, self.values, self.changed = rows, values, True

    def _estimate(self, num_constraints: int) -> FloatArray:
        balance = self.balance
        reduced = (balance.costs.T - balance.matrix @ self.values) @ self.folding
        effects: FloatArray = self.visits[balance.row_state][:, np.newaxis] * reduced
        return effects

    def _change(self, values: FloatArray) -> FloatArray:
        change: FloatArray = self.flow @ (values - self.values) @ self.folding
        return change


def improved(vertex: DoorsVertex, bounds: FloatArray, rounds: int) -> DoorsVertex | None:
    """A feasible plan near `vertex`, by at most so many switches; None if none was found."""
    best = vertex if is_feasible(vertex.costs, bounds) else None
    for _ in range(rounds):
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
            if best is not None and vertex.costs[0] >= best.costs[0]:
                break
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
            flow=flow,
            folding=folding,
        )
    return parts
