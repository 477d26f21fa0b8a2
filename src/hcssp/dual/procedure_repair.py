"""Plans of a hierarchy near a given one: with actions switched in its activities, or crossed with another."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from hcssp.cssp.model import FloatArray
from hcssp.dual.activity_curve import ActivityPlan
from hcssp.dual.crossing import cross
from hcssp.dual.policy_part import Part
from hcssp.dual.procedure_vertex import ProcedureVertex
from hcssp.dual.repair import improve
from hcssp.ssp.policy_iteration import ScalarOptimum

if TYPE_CHECKING:
    from hcssp.dual.procedure_oracle import ProcedureOracle


def improved(
    oracle: ProcedureOracle,
    vertex: ProcedureVertex,
    bounds: FloatArray,
    rounds: int,
    known_cost: float = np.inf,
    least: float = -np.inf,
) -> ProcedureVertex | None:
    """A feasible plan near `vertex`, as :func:`hcssp.dual.repair.improve` makes it; None if none was met."""
    parts: dict[int, Part] = {}
    first: dict[tuple[Hashable, ...], Part] = {}
    for index, plan in enumerate(vertex.plans):
        executions = float(vertex.executions[index])
        if plan is not None and executions > 0.0:
            planner, counts = oracle.planners[index], oracle.counts[index]
            part = Part(
                planner.balance, planner.system, counts, executions, plan.rows, plan.values, plan.visits
            )
            parts[index] = part
            other = first.setdefault((id(plan), *counts), part)
            part.alike = None if other is part else other
    if improve(list(parts.values()), vertex.costs, bounds, rounds, known_cost, least) is None:
        return None
    plans = list(vertex.plans)
    for index, part in parts.items():
        if part.changed:
            optimum = ScalarOptimum(part.rows, part.values, part.balance.initial @ part.values, -np.inf)
            plans[index] = ActivityPlan(optimum, part.system)
    costs = oracle.with_choices(oracle.totals(vertex.executions, plans), vertex.choices)
    return ProcedureVertex(oracle, vertex.choices, vertex.executions, tuple(plans), costs)


def towards(
    oracle: ProcedureOracle, kept: ProcedureVertex, broken: ProcedureVertex, bounds: FloatArray
) -> ProcedureVertex | None:
    """A policy that keeps the bounds, with some choices and plans of one that does not; None if none is."""
    plans = zip(kept.plans, broken.plans, strict=True)
    items = [(True, event) for event in np.flatnonzero(kept.choices != broken.choices).tolist()]
    items += [(False, n) for n, (own, other) in enumerate(plans) if not (other is None or own is other)]

    def mixed(taken: list[tuple[bool, int]]) -> ProcedureVertex | None:
        choices = kept.choices.copy()
        # What only the other one executes may have no plan in this one.
        plans = [own or other for own, other in zip(kept.plans, broken.plans, strict=True)]
        for is_event, index in taken:
            if is_event:
                choices[index] = broken.choices[index]
            else:
                plans[index] = broken.plans[index]
        return oracle.vertex_of(choices, tuple(plans))

    return cross(kept, items, mixed, bounds)
