r"""The oracle of a hierarchy: activities planned one by one, the procedure on top of their values.

For given multipliers the hierarchy decomposes: every activity is an unconstrained SSP under its own weights,
and the procedure is a small SSP over events whose costs are the activities' values. What is known about an
activity's budget curve bounds its value from both sides; only those that are executed and leave too much open
are planned anew. Activities that are alike are looked up, and planned, once.

The decision states are those of the flat problem: events first, then the activities' live states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.dual.activity_curve import ActivityPlan, Bracket
from hcssp.dual.activity_planners import ActivityPlanners
from hcssp.dual.affordable_oracle import AffordableOracle
from hcssp.dual.alike_activities import AlikeActivities, Slots
from hcssp.dual.crossing import crossings
from hcssp.dual.event_solver import ProcedureSolver
from hcssp.dual.exchangeable import Exchangeable
from hcssp.dual.foresight import TurningPoint, turning_point_of
from hcssp.dual.known_policies import KnownPolicies
from hcssp.dual.loose_slots import loose_slots
from hcssp.dual.oracle import Minimum, Oracle, Settlement
from hcssp.dual.procedure_repair import improved, towards
from hcssp.dual.procedure_vertex import ProcedureVertex
from hcssp.dual.settlement import settle
from hcssp.parallel import MIN_STATES_FOR_THREADS, Answer, parallel_map
from hcssp.procedure.flattening import Flattening
from hcssp.ssp.potential import ROUNDINGS
from hcssp.ssp.region import Region

LOOKS = 8
"""To settle a region at once, so many regions of an activity may be looked at, in the mean over all of them;
or one for each region that the search has split, which is less work than splitting it."""

PLAN_TOLERANCE = 1e-11
"""Plans whose costs differ by less than this share of the bound cannot be told apart; nothing is planned for
the sake of less."""


class ProcedureOracle(AffordableOracle[ProcedureVertex]):
    """Minimises a separable HC-SSP under weights.

    Parameters
    ----------
    flattening
        The layout of a problem in which every event is entered in one state.
    affordable
        Whether to take out the rows that cost some of what a bound of 0 allows nothing of, see
        :func:`~hcssp.dual.affordable_oracle.zero_bounds`.
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
        self._choice_costs = flattening.event_costs if flattening.event_costs.any() else None
        self.counts = [
            [(j, c.counts[k]) for j, c in enumerate(problem.constraints) if k in c.counts]
            for k in range(problem.num_activities)
        ]
        self._activities: ActivityPlanners = ActivityPlanners(
            problem.activities, self.counts, self._zeros, None if like is None else like._activities
        )
        self.planners = self._activities.every
        sizes = [planner.balance.num_live for planner in self.planners]
        rows = [planner.balance.num_rows for planner in self.planners]
        self.state_offset: IntArray = np.cumsum([self.procedure.num_states, *sizes], dtype=np.int64)
        self.row_offset: IntArray = np.cumsum([self.procedure.num_rows, *rows], dtype=np.int64)
        self.alike = AlikeActivities(self.planners, self.counts, self.row_offset)
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
        self._is_bounded: BoolArray = np.isfinite(self._bounds)
        self.planners, self._spreads, self._is_priced = self._activities.counting(self._is_bounded)

    def minimise(
        self, weights: FloatArray, region: Region, near: ProcedureVertex | None = None
    ) -> Minimum[ProcedureVertex] | None:
        return self.approximate(weights, region, 0.0, near)

    def approximate(
        self, weights: FloatArray, region: Region, precision: float, near: ProcedureVertex | None = None
    ) -> Minimum[ProcedureVertex] | None:
        slots = self.alike.slots(region)
        plain = weights.tolist()
        is_usual = plain[0] == 1.0 and not weights[1:][~self._is_bounded].any()
        # Where several costs are counted, bounds take longer to look up than plans, and can wait.
        is_glance = precision == np.inf and not self._is_priced

        def look_up(slot: int) -> Bracket | None:
            activity = slots.activities[slot]
            planner = self.planners[activity]
            if planner.priced and is_usual:
                return planner.bracket_at(self.price(activity, plain), slots.forbidden[slot])
            own = self.own_weights(activity, weights)
            if is_glance:
                return planner.glance(own, slots.forbidden[slot])
            return planner.bracket(own, slots.forbidden[slot])

        def plan(slot: int) -> Bracket | None:
            activity = slots.activities[slot]
            own = self.own_weights(activity, weights)
            answer = self.planners[activity].plan(own, slots.forbidden[slot])
            if answer is None:
                return None
            best, bound = answer
            return Bracket(best, float(own @ best.costs), bound, True)

        def look_closely(slot: int) -> Bracket | None:
            activity = slots.activities[slot]
            own = self.own_weights(activity, weights)
            return self.planners[activity].bracket(own, slots.forbidden[slot], closely=True)

        seen: set[int] = set()
        known = self._each(look_up, slots, range(len(slots.activities)))
        while True:
            found = self._compose(known, slots, weights, is_glance)
            if found is None:
                return None
            if precision == np.inf:
                return found
            executions = slots.executions(found.vertex.executions)
            tolerance = max(precision, PLAN_TOLERANCE) * found.bound
            loose = loose_slots(known, executions, tolerance, as_few=not self._is_priced)
            if not loose:
                return found
            fresh = [slot for slot in loose if not self.planners[slots.activities[slot]].priced]
            fresh = [slot for slot in fresh if slot not in seen]
            seen.update(fresh)
            ask, turn = (look_closely, fresh) if fresh else (plan, loose)
            for slot, bracket in zip(turn, self._each(ask, slots, turn), strict=True):
                known[slot] = bracket

    def _each(self, ask: Callable[[int], Answer], slots: Slots, wanted: Sequence[int]) -> list[Answer]:
        """The answers for the slots that are `wanted`, several at once where that pays."""
        if self._activities.num_states <= MIN_STATES_FOR_THREADS:
            return [ask(slot) for slot in wanted]
        # Only one thread at a time may ask a planner.
        by_planner: dict[int, list[int]] = {}
        for slot in wanted:
            by_planner.setdefault(id(self.planners[slots.activities[slot]].solver), []).append(slot)
        turns = list(by_planner.values())
        answers = parallel_map(lambda turn: [ask(slot) for slot in turn], turns, self._activities.num_states)
        answer = {
            slot: each
            for turn, found in zip(turns, answers, strict=True)
            for slot, each in zip(turn, found, strict=True)
        }
        return [answer[slot] for slot in wanted]

    def price(self, activity: int, weights: list[float]) -> float:
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
        if self._choice_costs is None:
            return costs
        made = np.flatnonzero(choices >= 0)
        visits: FloatArray = self.procedure.visits(choices)[made]
        total: FloatArray = costs + self._choice_costs[:, choices[made]] @ visits
        return total

    def row_costs(self, values: FloatArray, weights: FloatArray) -> FloatArray:
        """What each choice costs under `weights`, if the activities cost `values`."""
        row_costs: FloatArray = self.procedure.runs @ values
        if self._choice_costs is not None:
            # A little less, so that no rounding makes it more than it is.
            row_costs += weights @ self._choice_costs * (1.0 - 4.0 * len(weights) * ROUNDINGS)
        return row_costs

    def _compose(
        self, known: list[Bracket | None], slots: Slots, weights: FloatArray, by_plans: bool = False
    ) -> Minimum[ProcedureVertex] | None:
        """The best choices if every activity costs what it does at least; or, unbounded, by known plans."""
        procedure = self.procedure
        impossible = np.array([each is None for each in known], dtype=np.bool_)
        # A bound that rounding has made negative would be a gain, in a cycle without end.
        bounds = np.array(
            [0.0 if each is None else each.value if by_plans else max(0.0, each.bound) for each in known]
        )
        row_costs = self.row_costs(bounds[slots.of], weights)
        if impossible.any():
            row_costs[procedure.rows_that_run(impossible[slots.of])] = np.inf
        allowed = Region(slots.choices).allowed(procedure.num_rows) if slots.choices else None
        answer = procedure.minimise(row_costs, allowed)
        if answer is None:
            return None
        choices, bound = answer
        executions = procedure.executions(choices)
        plans = [None if each is None else each.plan for each in known]
        costs = self._add_up(slots.executions(executions), plans, slots.activities)
        costs = self.with_choices(costs, choices)
        every = tuple(plans[slot] for slot in slots.of.tolist())
        vertex = ProcedureVertex(self, choices, executions, every, costs)
        return Minimum(vertex, 0.0 if by_plans else bound)

    def settle(
        self, region: Region, prices: FloatArray, bound: float, cutoff: float, expanded: int
    ) -> Settlement[ProcedureVertex] | None:
        looks = LOOKS * len(self.planners)
        if self._choice_costs is not None or 1 < expanded < looks:
            return None
        return settle(self, region, prices, bound, cutoff, max(looks, expanded))

    @cached_property
    def _exchangeable(self) -> Exchangeable:
        return Exchangeable(self.flattening, self.alike.groups, self.row_offset)

    @property
    def choice_rows(self) -> range:
        # Looking at them plans what is never executed otherwise; what is decided lets more be exchanged.
        return range(self.procedure.num_rows if self._exchangeable.rounding else 0)

    @property
    def exchange_rounding(self) -> float:
        return self._exchangeable.rounding

    def orbit(self, region: Region, row: int) -> list[int]:
        return self._exchangeable.orbit(region, row)

    @property
    def foresees(self) -> bool:
        return self._is_priced

    def foresee(
        self, vertex: ProcedureVertex, prices: FloatArray, region: Region, index: int, excess: float
    ) -> TurningPoint | None:
        slots, falls = self.alike.slots(region), excess < 0.0
        times = slots.executions(vertex.executions).tolist()
        executed = []
        for slot, activity in enumerate(slots.activities):
            plan = vertex.plans[activity]
            if plan is not None and times[slot] > 0.0:
                executed += [
                    (times[slot], plan.turns(cost, falls), slots.forbidden[slot])
                    for constraint, cost in self.counts[activity]
                    if constraint == index
                ]
        return turning_point_of(executed, float(prices[index]), excess)

    def known_policies(self, region: Region) -> KnownPolicies | None:
        slots = self.alike.slots(region)
        plans, costs = [], []
        for activity, forbidden in zip(slots.activities, slots.forbidden, strict=True):
            own, points = self.planners[activity].known_points(forbidden)
            if not own:
                return None
            plans.append(own)
            costs.append(points @ self._spreads[activity])
        return KnownPolicies(self, slots, plans, costs)

    def _alike(self, bounds: FloatArray) -> ProcedureOracle:
        return ProcedureOracle(self.flattening.under(bounds), affordable=self._affordable)

    def release(self) -> None:
        for oracle in self._others.values():
            for planner in oracle.planners:
                planner.system.release()

    def same_row(self, row: int, of: Oracle[Any], unchanged: bool = False) -> int | None:
        if not isinstance(of, ProcedureOracle):
            return None
        mine, theirs = self.flattening.problem, of.flattening.problem
        block = int(np.searchsorted(of.row_offset, row, side="right")) - 1
        if block < 0:
            choice = theirs.choices[int(of.flattening.event_row_choice[row])]
            return self._choice_rows.get((theirs.events[choice.event], choice.name))
        activity = self._activity_numbers.get(theirs.activities[block].name)
        if activity is None:
            return None
        local = row - int(of.row_offset[block])
        planner, other = self.planners[activity], of.planners[block]
        if planner is not other:
            if unchanged or not np.array_equal(
                mine.activities[activity].cssp.row_start, theirs.activities[block].cssp.row_start
            ):
                return None
            found = planner.prepared_row(int(other.prepared.rows[local]))
            if found is None:
                return None
            local = found
        return int(self.row_offset[activity]) + local

    def is_stricter(self, than: Oracle[Any]) -> bool:
        if not isinstance(than, ProcedureOracle):
            return False
        mine, theirs = self.flattening.problem, than.flattening.problem
        return (
            (mine.events, mine.start, mine.end, mine.choices)
            == (theirs.events, theirs.start, theirs.end, theirs.choices)
            and (self.counts, self._zeros) == (than.counts, than._zeros)
            # What a limit of a use lets choices cost is not compared.
            and self._choice_costs is None is than._choice_costs
            and self.asked_bounds.shape == than.asked_bounds.shape
            and bool((self.asked_bounds <= than.asked_bounds).all())
            and self._activities.are_dearer(than._activities)
        )

    @cached_property
    def _activity_numbers(self) -> dict[str, int]:
        return {each.name: index for index, each in enumerate(self.flattening.problem.activities)}

    @cached_property
    def _choice_rows(self) -> dict[tuple[str, str], int]:
        """The row of each choice, by the names of its event and its own."""
        problem, chosen = self.flattening.problem, self.flattening.event_row_choice.tolist()
        return {
            (problem.events[problem.choices[choice].event], problem.choices[choice].name): row
            for row, choice in enumerate(chosen)
        }

    def improve(
        self, vertex: ProcedureVertex, rounds: int, known_cost: float = np.inf, least: float = -np.inf
    ) -> ProcedureVertex | None:
        return improved(self, vertex, self._bounds, rounds, known_cost, least)

    def between(self, support: tuple[ProcedureVertex, ...]) -> ProcedureVertex | None:
        return crossings(
            support, self._bounds, lambda kept, broken: towards(self, kept, broken, self._bounds)
        )

    def vertex_of(self, choices: IntArray, plans: tuple[ActivityPlan | None, ...]) -> ProcedureVertex | None:
        """The policy of these choices and plans with its costs; None if it does not end or lacks a plan."""
        if not self.procedure.ends(choices):
            return None
        executions = self.procedure.executions(choices)
        if any(plan is None for plan, times in zip(plans, executions.tolist(), strict=True) if times > 0.0):
            return None
        costs = self.with_choices(self.totals(executions, plans), choices)
        return ProcedureVertex(self, choices, executions, plans, costs)

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
