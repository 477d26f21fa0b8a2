r"""The oracle of a hierarchy: activities planned one by one, the procedure on top of their values.

For given multipliers the hierarchy decomposes: every activity is an unconstrained SSP under its own weights,
and the procedure is a small SSP over events whose costs are the activities' values. What is known about an
activity's budget curve bounds its value from both sides; only those that are executed and leave too much open
are planned again. Identical activities are looked up, and planned, once.

The decision states are those of the flat problem: events first, then the activities' live states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.dual.activity_planner import (
    ActivityPlanner,
    ActivityPlanners,
    loose_activities,
    spreads_of,
)
from hcssp.dual.enumeration import Enumeration
from hcssp.dual.event_chain import ProcedureSolver
from hcssp.dual.local_search import ProcedureLocalSearch
from hcssp.dual.oracle import AffordableOracle, KnownPotential, Minimum, Oracle, Strategies
from hcssp.dual.plan_point import KnownPolicies, ProcedurePoint
from hcssp.dual.potentials import ProcedurePotentials
from hcssp.dual.prediction import Breakpoint, breakpoint_of_plans
from hcssp.dual.symmetry import Groups, IdenticalActivities, Symmetry
from hcssp.dual.value_cache import DEFAULT_PARAMETERS, ActivityPlan, ValueBounds
from hcssp.procedure.flattening import Flattening
from hcssp.ssp.potential import ROUNDINGS
from hcssp.ssp.scalar_problem import Region
from hcssp.threads import MIN_STATES_FOR_THREADS, parallel_map

Question = Callable[[ActivityPlanner, FloatArray, frozenset[int]], ValueBounds | None]
"""A question to a planner: weights, and forbidden rows."""

REFINE: Question = partial(ActivityPlanner.lookup, refine=True)


class ProcedureOracle(AffordableOracle[ProcedurePoint]):
    """Minimises a separable HC-SSP under weights.

    Parameters
    ----------
    flattening
        The layout of a problem in which every event is entered in one state.
    affordable
        Whether to remove the rows with a cost whose bound is 0, see
        :func:`~hcssp.dual.oracle.zero_bounds`.
    like
        The oracle of a problem with some of the same activities: their planners are shared.
    """

    def __init__(
        self, flattening: Flattening, *, affordable: bool = False, like: ProcedureOracle | None = None
    ) -> None:
        problem = flattening.problem
        self.flattening = flattening
        self._leave_out(problem.bounds, affordable)
        self.procedure = ProcedureSolver(flattening)
        # Choices cost something only if a limit of a use counts them.
        self.choice_costs = flattening.event_costs if flattening.event_costs.any() else None
        self.counts = [
            [(j, c.counts[k]) for j, c in enumerate(problem.constraints) if k in c.counts]
            for k in range(problem.num_activities)
        ]
        self._activities: ActivityPlanners = ActivityPlanners(
            problem.activities, self.counts, self._zeros, None if like is None else like.activities
        )
        self.planners = self._activities.every
        sizes = [planner.balance.num_live for planner in self.planners]
        rows = [planner.balance.num_rows for planner in self.planners]
        self.state_offset: IntArray = np.cumsum([self.procedure.num_states, *sizes], dtype=np.int64)
        self.row_offset: IntArray = np.cumsum([self.procedure.num_rows, *rows], dtype=np.int64)
        self.alike = IdenticalActivities(self.planners, self.counts, self.row_offset)
        # For each activity the matrix from its own costs to those of the problem.
        self.spreads = spreads_of(
            [planner.num_costs for planner in self.planners], self.counts, len(problem.bounds)
        )
        starts = [self.procedure.row_start[:-1]]
        for planner, offset in zip(self.planners, self.row_offset[:-1], strict=True):
            starts.append(planner.row_start[:-1] + offset)
        super().__init__(problem.bounds, np.append(np.concatenate(starts), self.row_offset[-1]))
        self._count_bounded()
        dead_ends = [planner.dead_end for planner in self.planners]
        impossible = np.array([each is not None for each in dead_ends], dtype=np.bool_)
        if not self._zeros and impossible.any() and not self.procedure.can_do_without(impossible):
            raise next(each for each in dead_ends if each is not None)

    def under(self, bounds: FloatArray) -> ProcedureOracle:
        other = super().under(bounds)
        other._count_bounded()
        return other

    def _count_bounded(self) -> None:
        """Let activities expect weights of those costs only that a finite bound counts."""
        self.planners = self._activities.counting(np.isfinite(self._bounds))
        self._is_priced = all(planner.priced for planner in self.planners)

    def minimise(
        self, weights: FloatArray, region: Region, precision: float = 0.0, near: ProcedurePoint | None = None
    ) -> Minimum[ProcedurePoint] | None:
        groups, refined = self.alike.within(region), set[int]()
        question: Question
        known = self._each(ActivityPlanner.lookup, groups, weights, range(len(groups.activities)))
        while True:
            found = self._compose(known, groups, weights)
            if found is None or precision == np.inf:
                return found
            executions = groups.executions(found.point.executions)
            # The first answers of activities that count several costs are coarse.
            coarse = [
                group
                for group, bounds in enumerate(known)
                if bounds is not None
                and not (bounds.exact or group in refined or executions[group] == 0.0)
                and not self.planners[groups.activities[group]].priced
            ]
            if coarse:
                refined.update(coarse)
                question, wanted = REFINE, coarse
            else:
                tolerance = max(precision, DEFAULT_PARAMETERS.tolerance) * found.bound
                wanted = loose_activities(known, executions, tolerance, as_few=not self._is_priced)
                question = ActivityPlanner.plan
                if not wanted:
                    return found
            for group, bounds in zip(wanted, self._each(question, groups, weights, wanted), strict=True):
                known[group] = bounds

    def _each(
        self, question: Question, groups: Groups, weights: FloatArray, wanted: Sequence[int]
    ) -> list[ValueBounds | None]:
        """What is asked about the groups that are `wanted`, several at once where that pays."""

        def ask(group: int) -> ValueBounds | None:
            activity = groups.activities[group]
            own = self.own_weights(activity, weights)
            return question(self.planners[activity], own, groups.forbidden[group])

        if self._activities.num_states <= MIN_STATES_FOR_THREADS:
            return [ask(group) for group in wanted]
        # Only one thread at a time may ask a planner.
        by_planner: dict[int, list[int]] = {}
        for group in wanted:
            by_planner.setdefault(id(self.planners[groups.activities[group]].solver), []).append(group)
        answers = parallel_map(
            lambda turn: [(group, ask(group)) for group in turn],
            list(by_planner.values()),
            self._activities.num_states,
        )
        answer = dict(chain.from_iterable(answers))
        return [answer[group] for group in wanted]

    def own_weights(self, activity: int, weights: FloatArray) -> FloatArray:
        """The weights of an activity's own costs that the problem's `weights` amount to."""
        own: FloatArray = self.spreads[activity] @ weights
        return own

    def totals(self, executions: FloatArray, plans: Sequence[ActivityPlan | None]) -> FloatArray:
        """The whole procedure's expected costs: the primary, then one for each constraint."""
        return self._add_up(executions, plans, range(len(plans)))

    def _add_up(
        self, executions: FloatArray, plans: Sequence[ActivityPlan | None], activities: Sequence[int]
    ) -> FloatArray:
        """As :meth:`totals`, of plans for activities like the given ones."""
        costs = [0.0] * (1 + len(self._bounds))
        for times, plan, activity in zip(executions.tolist(), plans, activities, strict=True):
            if plan is None or times == 0.0:
                continue
            own_costs = plan.costs.tolist()
            costs[0] += times * own_costs[0]
            for constraint, own in self.counts[activity]:
                costs[1 + constraint] += times * own_costs[own]
        return np.array(costs)

    def with_choices(self, costs: FloatArray, choices: IntArray) -> FloatArray:
        """The costs of the activities and of the choices, which cost something if a limit counts them."""
        if self.choice_costs is None:
            return costs
        made = np.flatnonzero(choices >= 0)
        visits: FloatArray = self.procedure.visits(choices)[made]
        total: FloatArray = costs + self.choice_costs[:, choices[made]] @ visits
        return total

    def row_costs(self, values: FloatArray, weights: FloatArray) -> FloatArray:
        """The cost of each choice under `weights`, if the activities cost `values`."""
        row_costs: FloatArray = self.procedure.runs @ values
        if self.choice_costs is not None:
            # A little less, so that no rounding makes it more than it is.
            row_costs += weights @ self.choice_costs * (1.0 - 4.0 * len(weights) * ROUNDINGS)
        return row_costs

    def _compose(
        self, known: list[ValueBounds | None], groups: Groups, weights: FloatArray
    ) -> Minimum[ProcedurePoint] | None:
        """The best choices if every activity costs its lower bound."""
        procedure = self.procedure
        impossible = np.array([each is None for each in known], dtype=np.bool_)
        # A bound that rounding has made negative would be a gain, in a cycle without end.
        bounds = np.array([0.0 if each is None else max(0.0, each.lower) for each in known])
        row_costs = self.row_costs(bounds[groups.of], weights)
        if impossible.any():
            row_costs[procedure.rows_that_run(impossible[groups.of])] = np.inf
        allowed = Region(groups.choices).allowed(procedure.num_rows) if groups.choices else None
        answer = procedure.minimise(row_costs, allowed)
        if answer is None:
            return None
        choices, bound = answer
        executions = procedure.executions(choices)
        plans = [None if each is None else each.plan for each in known]
        costs = self._add_up(groups.executions(executions), plans, groups.activities)
        costs = self.with_choices(costs, choices)
        every = tuple(plans[group] for group in groups.of.tolist())
        point = ProcedurePoint(self, choices, executions, every, costs)
        return Minimum(point, bound)

    @property
    def strategies(self) -> Strategies[ProcedurePoint]:
        return Strategies(
            local_search=ProcedureLocalSearch(self),
            prediction=ProcedurePrediction(self) if self._is_priced else None,
            known_policies=ProcedureKnowledge(self),
            symmetry=self._symmetry,
            enumeration=None if self.choice_costs is not None else Enumeration(self),
            correspondence=ProcedureCorrespondence(self),
            potentials=ProcedurePotentials(self),
        )

    @cached_property
    def _symmetry(self) -> Symmetry | None:
        found = Symmetry(self.flattening, self.alike.groups, self.row_offset)
        return found if found.rounding else None

    @property
    def zeros(self) -> tuple[int, ...]:
        """The constraints that allow nothing, whose costs are taken out of the problem."""
        return self._zeros

    @property
    def activities(self) -> ActivityPlanners:
        """The planners of all activities."""
        return self._activities

    def _alike(self, bounds: FloatArray) -> ProcedureOracle:
        return ProcedureOracle(self.flattening.under(bounds), affordable=self._affordable)

    def release(self) -> None:
        for oracle in self._others.values():
            for planner in oracle.planners:
                planner.system.release()

    @cached_property
    def activity_numbers(self) -> dict[str, int]:
        """The number of each activity, by its name."""
        return {each.name: index for index, each in enumerate(self.flattening.problem.activities)}

    @cached_property
    def choice_rows(self) -> dict[tuple[str, str], int]:
        """The row of each choice, by the names of its event and its own."""
        problem, chosen = self.flattening.problem, self.flattening.event_row_choice.tolist()
        return {
            (problem.events[problem.choices[choice].event], problem.choices[choice].name): row
            for row, choice in enumerate(chosen)
        }

    def point_of(self, choices: IntArray, plans: tuple[ActivityPlan | None, ...]) -> ProcedurePoint | None:
        """The policy of these choices and plans with its costs; None if it does not end or lacks a plan."""
        if not self.procedure.ends(choices):
            return None
        executions = self.procedure.executions(choices)
        if any(plan is None for plan, times in zip(plans, executions.tolist(), strict=True) if times > 0.0):
            return None
        costs = self.with_choices(self.totals(executions, plans), choices)
        return ProcedurePoint(self, choices, executions, plans, costs)

    def potential_of(
        self, activity: int, plan: ActivityPlan | float, weights: FloatArray, forbidden: frozenset[int]
    ) -> KnownPotential:
        """The potential of the best plan of an activity without its own `forbidden` rows, or its number."""
        first, planner = int(self.row_offset[activity]), self.planners[activity]
        rows = frozenset(first + row for row in forbidden)
        if isinstance(plan, float):
            return KnownPotential(activity, weights, rows, plan)
        return KnownPotential(activity, weights, rows, lambda: planner.values_of(plan, weights))

    def lift(self, point: ProcedurePoint) -> IntArray:
        flattening = self.flattening
        rows = np.full(flattening.num_states, NO_ROW, dtype=np.int64)
        rows[: self.procedure.num_states] = point.choices
        for index, (planner, plan) in enumerate(zip(self.planners, point.plans, strict=True)):
            if plan is None or point.executions[index] <= 0.0:
                continue
            cssp = flattening.problem.activities[index].cssp
            lifted = planner.lift(plan)[~cssp.goals]
            first = flattening.state_offset[index]
            rows[first : first + len(lifted)] = np.where(
                lifted == NO_ROW, NO_ROW, lifted + flattening.row_offset[index]
            )
        return rows


class ProcedurePrediction:
    """Predicts breakpoints from those of the executed activities, see :mod:`hcssp.dual.prediction`.

    Parameters
    ----------
    oracle
        The oracle of a procedure whose activities count one cost each.
    """

    def __init__(self, oracle: ProcedureOracle) -> None:
        self._oracle = oracle

    def breakpoint(
        self, point: ProcedurePoint, prices: FloatArray, region: Region, index: int, excess: float
    ) -> Breakpoint | None:
        """As :meth:`hcssp.dual.oracle.Prediction.breakpoint`."""
        groups, falls = self._oracle.alike.within(region), excess < 0.0
        times = groups.executions(point.executions).tolist()
        executed = []
        for group, activity in enumerate(groups.activities):
            plan = point.plans[activity]
            if plan is not None and times[group] > 0.0:
                executed += [
                    (times[group], plan.changes(cost, falls), groups.forbidden[group])
                    for constraint, cost in self._oracle.counts[activity]
                    if constraint == index
                ]
        return breakpoint_of_plans(executed, float(prices[index]), excess)


class ProcedureKnowledge:
    """Combines known plans of activities, see :mod:`hcssp.dual.plan_point`.

    Parameters
    ----------
    oracle
        The oracle of the procedure.
    """

    def __init__(self, oracle: ProcedureOracle) -> None:
        self._oracle = oracle

    def within(self, region: Region) -> KnownPolicies | None:
        """As :meth:`hcssp.dual.oracle.KnownPolicies.within`."""
        oracle = self._oracle
        groups = oracle.alike.within(region)
        plans, costs = [], []
        for activity, forbidden in zip(groups.activities, groups.forbidden, strict=True):
            own, own_costs = oracle.planners[activity].known_plans(forbidden)
            if not own:
                return None
            plans.append(own)
            costs.append(own_costs @ oracle.spreads[activity])
        return KnownPolicies(oracle, groups, plans, costs)


class ProcedureCorrespondence:
    """Finds the rows of another procedure by the names of events, choices and activities.

    Parameters
    ----------
    oracle
        The oracle of the procedure.
    """

    def __init__(self, oracle: ProcedureOracle) -> None:
        self._oracle = oracle

    def same_row(self, row: int, of: Oracle[Any]) -> int | None:
        """As :meth:`hcssp.dual.oracle.Correspondence.same_row`."""
        if not isinstance(of, ProcedureOracle):
            return None
        oracle = self._oracle
        mine, theirs = oracle.flattening.problem, of.flattening.problem
        block = int(np.searchsorted(of.row_offset, row, side="right")) - 1
        if block < 0:
            choice = theirs.choices[int(of.flattening.event_row_choice[row])]
            return oracle.choice_rows.get((theirs.events[choice.event], choice.name))
        activity = oracle.activity_numbers.get(theirs.activities[block].name)
        if activity is None:
            return None
        local = row - int(of.row_offset[block])
        planner, other = oracle.planners[activity], of.planners[block]
        if planner is not other:
            ours, other_rows = mine.activities[activity].cssp, theirs.activities[block].cssp
            if not np.array_equal(ours.row_start, other_rows.row_start):
                return None
            found = planner.prepared_row(int(other.prepared.rows[local]))
            if found is None:
                return None
            local = found
        return int(oracle.row_offset[activity]) + local
