"""A policy of a hierarchy: choices at the events, and a plan for every activity."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.dual.activity_curve import ActivityPlan
from hcssp.dual.vertex import Vertex
from hcssp.ssp.potential import ROUNDINGS
from hcssp.ssp.region import Region

if TYPE_CHECKING:
    from hcssp.dual.procedure_oracle import ProcedureOracle


class ProcedureVertex(Vertex):
    """Choices at the events and a plan for every activity; the flat arrays are made when asked for.

    Attributes
    ----------
    choices
        An event row for each event state, -1 at the end.
    executions
        Expected executions of each activity.
    plans
        A plan for each activity; None where its region has none, or where none is executed nor known.
    """

    def __init__(
        self,
        oracle: ProcedureOracle,
        choices: IntArray,
        executions: FloatArray,
        plans: tuple[ActivityPlan | None, ...],
        costs: FloatArray,
    ) -> None:
        self.costs = costs
        self.choices = choices
        self.executions = executions
        self.plans = plans
        self._oracle = oracle

    @property
    def parts(self) -> tuple[Vertex | ActivityPlan, ...]:
        # Activities that are alike share their plans, and each plan counts once.
        return self, *(plan for plan in dict.fromkeys(self.plans) if plan is not None)

    def release(self) -> None:
        # As long as the whole problem, and put together from the plans in no time.
        for name in ("rows", "reached", "visits"):
            vars(self).pop(name, None)

    def lies_in(self, region: Region, row_state: IntArray) -> bool:
        # Block by block: most plans avoid a forbidden row, and then no visits need be known.
        slots = self._oracle.alike.slots(region)
        if slots.choices:
            taken = slots.choices.intersection(self.choices.tolist())
            visits = self._oracle.procedure.visits(self.choices)
            if any(visits[row_state[row]] > 0.0 for row in taken):
                return False
        for index, forbidden in slots.parts.items():
            plan = self.plans[index]
            if plan is None or self.executions[index] <= 0.0:
                continue
            if self._oracle.planners[index].uses_any(plan, forbidden):
                return False
        return True

    @cached_property
    def rows(self) -> IntArray:
        oracle = self._oracle
        rows = np.full(oracle.state_offset[-1], NO_ROW, dtype=np.int64)
        rows[: len(self.choices)] = self.choices
        for index, plan in enumerate(self.plans):
            if plan is not None:
                first, last = oracle.state_offset[index], oracle.state_offset[index + 1]
                rows[first:last] = plan.rows + oracle.row_offset[index]
        return rows

    @property
    def rounding(self) -> FloatArray:
        return self._added_rounding(lambda plan: plan.rounding)

    @property
    def rounding_at_most(self) -> FloatArray:
        return self._added_rounding(lambda plan: plan.rounding_at_most)

    def _added_rounding(self, of: Callable[[ActivityPlan], FloatArray]) -> FloatArray:
        """How far each cost may be off, given how far those of a plan may be."""
        rounding: FloatArray = 8.0 * ROUNDINGS * float(self.executions.sum()) * self.costs
        for index, plan in enumerate(self.plans):
            if plan is not None and self.executions[index] > 0.0:
                own = self.executions[index] * of(plan)
                rounding[0] += own[0]
                for constraint, cost in self._oracle.counts[index]:
                    rounding[1 + constraint] += own[cost]
        return rounding

    @cached_property
    def reached(self) -> BoolArray:
        oracle = self._oracle
        reached = np.zeros(oracle.state_offset[-1], dtype=np.bool_)
        reached[: len(self.choices)] = oracle.procedure.visits(self.choices) > 0.0
        for index, plan in enumerate(self.plans):
            if plan is not None and self.executions[index] > 0.0:
                first, last = oracle.state_offset[index], oracle.state_offset[index + 1]
                reached[first:last] = plan.reached
        return reached

    @cached_property
    def visits(self) -> FloatArray:
        oracle = self._oracle
        visits = np.zeros(oracle.state_offset[-1])
        visits[: len(self.choices)] = oracle.procedure.visits(self.choices)
        for index, plan in enumerate(self.plans):
            if plan is not None and self.executions[index] > 0.0:
                first, last = oracle.state_offset[index], oracle.state_offset[index + 1]
                visits[first:last] = self.executions[index] * plan.visits
        return visits

    def parting_choices(self, other: Self) -> IntArray:
        return np.flatnonzero(self.choices != other.choices)

    def parting(self, other: Self) -> IntArray:
        # Most plans are shared, and then need not be compared.
        states = [self.parting_choices(other)]
        for index, (own, others) in enumerate(zip(self.plans, other.plans, strict=True)):
            if own is not others and own is not None and others is not None:
                states.append(np.flatnonzero(own.rows != others.rows) + self._oracle.state_offset[index])
        return np.concatenate(states)

    def rows_of(self, states: IntArray) -> IntArray:
        oracle = self._oracle
        rows = np.full(len(states), NO_ROW, dtype=np.int64)
        for index, here in self._owners(states):
            plan = self.plans[index]
            if index < 0:
                rows[here] = self.choices[states[here]]
            elif plan is not None:
                rows[here] = plan.rows[states[here] - oracle.state_offset[index]] + oracle.row_offset[index]
        return rows

    def visits_of(self, states: IntArray) -> FloatArray:
        oracle = self._oracle
        visits = np.zeros(len(states))
        for index, here in self._owners(states):
            plan = self.plans[index]
            if index < 0:
                visits[here] = oracle.procedure.visits(self.choices)[states[here]]
            elif plan is not None and self.executions[index] > 0.0:
                own = plan.visits[states[here] - oracle.state_offset[index]]
                visits[here] = self.executions[index] * own
        return visits

    def _owners(self, states: IntArray) -> Iterator[tuple[int, BoolArray]]:
        """The activities that some decision states belong to, -1 for the events, and which of them do."""
        owners = np.searchsorted(self._oracle.state_offset, states, side="right") - 1
        for index in np.unique(owners).tolist():
            yield index, owners == index

    def switching_costs(self, states: IntArray, rows: IntArray) -> FloatArray:
        oracle = self._oracle
        changes = np.full((len(states), len(self.costs)), np.nan)
        for index, here in self._owners(states):
            plan = self.plans[index] if index >= 0 else None
            if plan is None:
                continue
            balance = oracle.planners[index].balance
            own_rows = rows[here] - int(oracle.row_offset[index])
            own = balance.costs.take(own_rows, axis=1).T - balance.times(own_rows, plan.values)
            changes[here] = 0.0
            changes[here, 0] = own[:, 0]
            for constraint, cost in oracle.counts[index]:
                changes[here, 1 + constraint] += own[:, cost]
        return changes
