r"""The oracle of a hierarchy: activities planned one by one, the procedure on top of their values.

For given multipliers the hierarchy decomposes: every activity is an unconstrained SSP under its own weights,
and the procedure is a small SSP over events whose costs are the activities' values. What is known about an
activity's budget curve bounds its value from both sides; only those that are executed and leave too much open
are planned anew.

The decision states are those of the flat problem: events first, then the activities' live states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import cached_property

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.dual.activity_curve import ActivityPlan, Bracket
from hcssp.dual.activity_planner import ActivityPlanner
from hcssp.dual.event_solver import ProcedureSolver
from hcssp.dual.flat_oracle import free_rows
from hcssp.dual.oracle import Minimum, Oracle, Vertex, without, zero_bounds
from hcssp.dual.repair import Part, improve
from hcssp.parallel import Answer, parallel_map
from hcssp.procedure.flattening import Flattening
from hcssp.ssp.policy_iteration import ScalarOptimum
from hcssp.ssp.potential import ROUNDINGS
from hcssp.ssp.region import Region

MAX_SPLITS = 1_000
"""Of so many regions the forbidden rows are kept block by block; then they are split anew."""

PLAN_TOLERANCE = 1e-11
"""Plans whose costs differ by less than this share of the bound cannot be told apart; nothing is planned for
the sake of less."""


class ProcedureOracle(Oracle["ProcedureVertex"]):
    """Minimises a separable HC-SSP under weights.

    Parameters
    ----------
    flattening
        The layout of a problem in which every event is entered in one state.
    affordable
        Whether to take out the rows that cost some of what a bound of 0 allows nothing of, see
        :func:`~hcssp.dual.oracle.zero_bounds`.
    """

    def __init__(self, flattening: Flattening, *, affordable: bool = False) -> None:
        problem = flattening.problem
        self.flattening = flattening
        self._affordable = affordable
        self._zeros = zero_bounds(problem.bounds) if affordable else ()
        self._others: dict[tuple[int, ...], ProcedureOracle] = {self._zeros: self}
        self.procedure = ProcedureSolver(flattening)
        self._splits: dict[Region, list[frozenset[int]]] = {}
        self.counts = [
            [(j, c.counts[k]) for j, c in enumerate(problem.constraints) if k in c.counts]
            for k in range(problem.num_activities)
        ]
        self.planners = self._each(self._planner, range(problem.num_activities))
        sizes = [planner.balance.num_live for planner in self.planners]
        rows = [planner.balance.num_rows for planner in self.planners]
        self.state_offset: IntArray = np.cumsum([self.procedure.num_states, *sizes], dtype=np.int64)
        self.row_offset: IntArray = np.cumsum([self.procedure.num_rows, *rows], dtype=np.int64)
        starts = [self.procedure.row_start[:-1]]
        for planner, offset in zip(self.planners, self.row_offset[:-1], strict=True):
            starts.append(planner.row_start[:-1] + offset)
        super().__init__(problem.bounds, np.append(np.concatenate(starts), self.row_offset[-1]))
        self._bounds = without(problem.bounds, self._zeros)
        dead_ends = [planner.dead_end for planner in self.planners]
        impossible = np.array([each is not None for each in dead_ends], dtype=np.bool_)
        if not self._zeros and impossible.any() and not self.procedure.can_do_without(impossible):
            raise next(each for each in dead_ends if each is not None)

    def minimise(
        self, weights: FloatArray, region: Region, near: ProcedureVertex | None = None
    ) -> Minimum[ProcedureVertex] | None:
        return self.approximate(weights, region, 0.0, near)

    def approximate(
        self, weights: FloatArray, region: Region, precision: float, near: ProcedureVertex | None = None
    ) -> Minimum[ProcedureVertex] | None:
        forbidden = self.split(region)
        plain = weights.tolist()

        def look_up(index: int) -> Bracket | None:
            planner = self.planners[index]
            if planner.priced and plain[0] == 1.0:
                return planner.bracket_at(self._price(index, plain), forbidden[index + 1])
            return plan(index)

        def plan(index: int) -> Bracket | None:
            own = self.own_weights(index, weights)
            answer = self.planners[index].plan(own, forbidden[index + 1])
            if answer is None:
                return None
            best, bound = answer
            return Bracket(best, float(own @ best.costs), bound, True)

        known = self._each(look_up, range(len(self.planners)))
        while True:
            found = self._compose(known, forbidden[0])
            if found is None:
                return None
            if precision == np.inf:
                return found
            tolerance = max(precision, PLAN_TOLERANCE) * found.bound
            loose = _loose_activities(known, found.vertex.executions, tolerance)
            if not loose:
                return found
            for index, bracket in zip(loose, self._each(plan, loose), strict=True):
                known[index] = bracket

    def _planner(self, activity: int) -> ActivityPlanner:
        cssp = self.flattening.problem.activities[activity].cssp
        # What a bound of nought counts is taken out, so no price is ever put on it.
        none = frozenset(index for constraint, index in self.counts[activity] if constraint in self._zeros)
        counted = frozenset(index for _, index in self.counts[activity]) - none
        return ActivityPlanner(cssp, counted, free_rows(cssp, tuple(index - 1 for index in none)))

    def _each(self, ask: Callable[[int], Answer], activities: Iterable[int]) -> list[Answer]:
        return parallel_map(ask, activities, self.flattening.num_states)

    def _price(self, activity: int, weights: list[float]) -> float:
        """The price of an activity's one counted cost that the problem's `weights` amount to."""
        counted = self.planners[activity].counted
        return sum(weights[1 + constraint] for constraint, index in self.counts[activity] if index in counted)

    def own_weights(self, activity: int, weights: FloatArray) -> FloatArray:
        """The weights of an activity's own costs that the problem's `weights` amount to."""
        own = np.zeros(self.planners[activity].num_costs)
        own[0] = weights[0]
        for constraint, index in self.counts[activity]:
            own[index] += weights[1 + constraint]
        return own

    def split(self, region: Region) -> list[frozenset[int]]:
        """The forbidden rows of the procedure, then those of each activity, in their own numbering."""
        known = self._splits.get(region)
        if known is not None:
            return known
        parts: list[set[int]] = [set() for _ in range(len(self.planners) + 1)]
        for row in region.forbidden:
            block = int(np.searchsorted(self.row_offset, row, side="right"))
            parts[block].add(row - (int(self.row_offset[block - 1]) if block else 0))
        if len(self._splits) > MAX_SPLITS:
            self._splits.clear()
        self._splits[region] = [frozenset(part) for part in parts]
        return self._splits[region]

    def totals(self, executions: FloatArray, plans: Sequence[ActivityPlan | None]) -> FloatArray:
        """The whole procedure's expected costs: the primary, then one for each constraint."""
        costs = np.zeros(1 + len(self._bounds))
        for index, plan in enumerate(plans):
            if plan is None or executions[index] == 0.0:
                continue
            costs[0] += executions[index] * plan.costs[0]
            for constraint, own in self.counts[index]:
                costs[1 + constraint] += executions[index] * plan.costs[own]
        return costs

    def _compose(
        self, known: list[Bracket | None], forbidden: frozenset[int]
    ) -> Minimum[ProcedureVertex] | None:
        """The best choices if every activity costs what it does at least."""
        procedure = self.procedure
        impossible = np.array([each is None for each in known], dtype=np.bool_)
        # A bound that rounding has made negative would be a gain, in a cycle without end.
        row_costs = procedure.runs @ np.array(
            [0.0 if each is None else max(0.0, each.bound) for each in known]
        )
        if impossible.any():
            row_costs[procedure.rows_that_run(impossible)] = np.inf
        allowed = Region(forbidden).allowed(procedure.num_rows) if forbidden else None
        answer = procedure.minimise(row_costs, allowed)
        if answer is None:
            return None
        choices, bound = answer
        executions = procedure.executions(choices)
        plans = tuple(None if each is None else each.plan for each in known)
        vertex = ProcedureVertex(self, choices, executions, plans, self.totals(executions, plans))
        return Minimum(vertex, bound)

    def under(self, bounds: FloatArray) -> ProcedureOracle:
        zeros = zero_bounds(bounds) if self._affordable else ()
        if zeros not in self._others:
            names = self.flattening.problem.constraint_names
            limited = self.flattening.problem.with_bounds(dict(zip(names, bounds.tolist(), strict=True)))
            self._others[zeros] = ProcedureOracle(limited.flattening, affordable=True)
        other = copy(self._others[zeros])
        other._bounds, other._asked_bounds = without(bounds, zeros), bounds
        other._others = self._others
        return other

    def release(self) -> None:
        for oracle in self._others.values():
            for planner in oracle.planners:
                planner.system.release()

    def improve(self, vertex: ProcedureVertex, rounds: int) -> ProcedureVertex | None:
        parts: dict[int, Part] = {}
        for index, plan in enumerate(vertex.plans):
            executions = float(vertex.executions[index])
            if plan is not None and executions > 0.0:
                planner, counts = self.planners[index], self.counts[index]
                parts[index] = Part(
                    planner.balance, planner.system, counts, executions, plan.rows, plan.values, plan.visits
                )
        if improve(list(parts.values()), vertex.costs, self._bounds, rounds) is None:
            return None
        plans = list(vertex.plans)
        for index, part in parts.items():
            if part.changed:
                optimum = ScalarOptimum(part.rows, part.values, part.balance.initial @ part.values, -np.inf)
                plans[index] = ActivityPlan(optimum, part.system)
        costs = self.totals(vertex.executions, plans)
        return ProcedureVertex(self, vertex.choices, vertex.executions, tuple(plans), costs)

    def lift(self, vertex: ProcedureVertex) -> IntArray:
        flattening = self.flattening
        rows = np.full(flattening.num_states, NO_ROW, dtype=np.int64)
        rows[: self.procedure.num_states] = vertex.choices
        for index, (planner, plan) in enumerate(zip(self.planners, vertex.plans, strict=True)):
            if plan is None or vertex.executions[index] <= 0.0:
                continue
            cssp = flattening.problem.activities[index].cssp
            lifted = planner.lift(plan)[~cssp.goals]
            first = flattening.state_offset[index]
            rows[first : first + len(lifted)] = np.where(
                lifted == NO_ROW, NO_ROW, lifted + flattening.row_offset[index]
            )
        return rows


def _loose_activities(known: Sequence[Bracket | None], executions: FloatArray, tolerance: float) -> list[int]:
    """The activities to plan anew before bound and policy are within `tolerance`; none if they are.

    What lies between them stems from the activities that the policy executes, each as often as it does.
    """
    slack = {
        index: float(executions[index]) * (bracket.value - bracket.bound)
        for index, bracket in enumerate(known)
        if bracket is not None and not bracket.final and executions[index] > 0.0
    }
    if sum(slack.values()) <= tolerance or not slack:
        return []
    share = min(max(slack.values()), tolerance / len(slack))
    return [index for index, each in slack.items() if each >= share]


class ProcedureVertex(Vertex):
    """Choices at the events and a plan for every activity; the flat arrays are made when asked for.

    Attributes
    ----------
    choices
        An event row for each event state, -1 at the end.
    executions
        Expected executions of each activity.
    plans
        A plan for each activity; None where its region has none.
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

    def lies_in(self, region: Region, row_state: IntArray) -> bool:
        # Block by block: most plans avoid a forbidden row, and then no visits need be known.
        choices, *parts = self._oracle.split(region)
        if not choices.isdisjoint(self.choices.tolist()) and not super().lies_in(region, row_state):
            return False
        for index, forbidden in enumerate(parts):
            plan = self.plans[index]
            if not forbidden or plan is None or self.executions[index] <= 0.0:
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
        rounding: FloatArray = 8.0 * ROUNDINGS * float(self.executions.sum()) * self.costs
        for index, plan in enumerate(self.plans):
            if plan is not None and self.executions[index] > 0.0:
                own = self.executions[index] * plan.rounding
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
