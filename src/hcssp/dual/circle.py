r"""Events and activities that lead back to themselves, solved together by policy iteration in blocks.

**Problem.** A part of a procedure in which what follows an exit may come back to it, under weights and with
known values for all that lies outside. Wanted is the best choice at each of its events and the best plan of
each of its activities.

**Method.** For given plans the part is a small Markov chain over its events, and one solve gives their
values. With these values at the exits each activity is planned anew, from its last plan, and each event
chooses anew; and so on until nothing changes. That is policy iteration, with every improvement of an
activity made at once. It begins with plans that end, found on the graph or known from before, and switches
only for an improvement beyond the tolerance of ties, so that its plans go on to end.

**Guarantee.** The values of all states of the part are one potential for it, and what is told comes from
the one certificate (:mod:`hcssp.ssp.potential`), whatever the iteration did.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import LinAlgError, solve
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.reachability import AlmostSure, Backwards
from hcssp.dual.door_layout import Component, DoorLayout
from hcssp.dual.door_planner import DoorPlan, DoorPlanner
from hcssp.dual.event_rows import EventRows
from hcssp.errors import ImproperPolicy, OutOfPrecision
from hcssp.ssp.potential import Certifier, Steps, levels_of
from hcssp.ssp.scalar_problem import tie, tie_of

MAX_ITERATIONS = 1_000


class Circle:
    """One component of a layout that leads back to itself.

    Parameters
    ----------
    component, layout, events, planners
        What it is a part of.
    problem
        The prepared flat problem; its arrays are copied as far as they concern this part.
    """

    def __init__(
        self,
        component: Component,
        layout: DoorLayout,
        events: EventRows,
        planners: Sequence[DoorPlanner | None],
        problem: CSSP,
    ) -> None:
        self._layout, self.events = layout, events
        self.planners = {a: planner for a in component.activities if (planner := planners[a]) is not None}
        spans = [(event, event + 1) for event in component.events]
        spans += [(layout.state_offset[a], layout.state_offset[a + 1]) for a in component.activities]
        self._states: IntArray = np.concatenate([np.arange(*span) for span in spans])
        counts = problem.row_start[self._states + 1] - problem.row_start[self._states]
        self._rows: IntArray = np.concatenate(
            [np.arange(problem.row_start[first], problem.row_start[last]) for first, last in spans]
        )
        self.owners: IntArray = np.repeat(np.arange(len(self._states)), counts)
        # The places of each part among the states and rows of this one.
        self.event_place = {event: place for place, event in enumerate(component.events)}
        sizes = [int(layout.state_offset[a + 1] - layout.state_offset[a]) for a in component.activities]
        firsts = np.cumsum([len(component.events), *sizes])[:-1].tolist()
        row_sizes = [int(layout.row_offset[a + 1] - layout.row_offset[a]) for a in component.activities]
        event_rows = len(self._rows) - sum(row_sizes)
        row_firsts = np.cumsum([event_rows, *row_sizes])[:-1].tolist()
        self.span = {
            a: slice(first, first + size)
            for a, first, size in zip(component.activities, firsts, sizes, strict=True)
        }
        self.row_span = {
            a: slice(first, first + size)
            for a, first, size in zip(component.activities, row_firsts, row_sizes, strict=True)
        }
        self._event_rows: IntArray = self._rows[:event_rows]
        self._arrange(problem)
        self._last: tuple[IntArray, dict[int, DoorPlan]] | None = None

    def _arrange(self, problem: CSSP) -> None:
        """The part as a problem of its own, whose one goal is all that lies outside."""
        size = len(self._states)
        place = np.full(problem.num_states, size, dtype=np.int64)
        place[self._states] = np.arange(size)
        transitions = csr_array(problem.transitions[self._rows])
        transitions.eliminate_zeros()
        leaves = place[transitions.indices] == size
        self._outside: IntArray = np.unique(transitions.indices[leaves]).astype(np.int64)
        row = np.repeat(np.arange(len(self._rows)), np.diff(transitions.indptr))
        where = row[leaves], np.searchsorted(self._outside, transitions.indices[leaves])
        self._leaving = csr_array(
            (transitions.data[leaves], where), shape=(len(self._rows), len(self._outside))
        )
        inner = csr_array(
            (transitions.data, place[transitions.indices], transitions.indptr),
            shape=(len(self._rows), size + 1),
        )
        inner.sum_duplicates()
        self._costs: FloatArray = problem.costs[:, self._rows]
        goals = np.arange(size + 1) == size
        row_start = np.append(np.searchsorted(self.owners, np.arange(size + 1)), len(self._rows))
        own = CSSP.unchecked(
            transitions=inner,
            row_start=row_start,
            costs=self._costs,
            initial=np.where(goals, 0.0, 1.0 / size),
            goals=goals,
            cost_names=problem.cost_names,
            bounds=problem.bounds,
            state_labels=range(size + 1),
            action_labels=range(len(self._rows)),
        )
        self._search = Backwards(inner, self.owners, goals)
        terms = len(self._costs) + int(np.max(np.diff(self._leaving.indptr), initial=0))
        self._certifier = Certifier(Steps.of(own), own.initial[~goals], terms)

    def solve(
        self,
        weights: FloatArray,
        forbidden: Sequence[frozenset[int]],
        values: FloatArray,
        levels: list[FloatArray | None],
        plans: list[DoorPlan | None],
        choices: IntArray,
    ) -> None:
        """Find what is best here; `values`, `levels`, `plans` and `choices` of this part are filled in.

        Parameters
        ----------
        weights
            Of the whole problem's costs.
        forbidden
            Rows of the events, then those of each activity.
        values, levels
            Of the event states, and of the doors of all activities; known for all that lies outside.
        plans, choices
            Of the activities and the event states.
        """
        outside = self._outside_values(values, levels)
        sure = self._sure(forbidden, outside)
        if not sure.states[:-1].any():
            return
        run = _Iteration(self, weights, sure, values, levels)
        run.improve()
        self._last = run.choices, run.plans
        cost = weights @ self._costs
        known = np.isfinite(outside)
        cost = cost + self._leaving[:, known] @ outside[known]
        potential = run.potential()
        potential[~sure.states[:-1]] = 0.0
        certificate = self._certifier.certify(cost, potential, ~sure.rows)
        proven = levels_of(certificate, slice(None))
        proven[~sure.states[:-1]] = np.inf
        for event, place in self.event_place.items():
            values[event] = proven[place]
            choices[event] = run.choices[place]
        for activity, planner in self.planners.items():
            if activity in run.plans:
                plans[activity] = run.plans[activity]
                levels[activity] = proven[self.span[activity]][planner.block.doors]

    def _outside_values(self, values: FloatArray, levels: Sequence[FloatArray | None]) -> FloatArray:
        """What the states outside are worth that this part leads to."""
        layout = self._layout
        found = np.full(len(self._outside), np.inf)
        for index, state in enumerate(self._outside.tolist()):
            if state < layout.num_events:
                found[index] = values[state]
                continue
            activity = int(np.searchsorted(layout.state_offset, state, side="right")) - 1
            block, level = layout.blocks[activity], levels[activity]
            if block is not None and level is not None:
                door = np.searchsorted(block.doors, state - layout.state_offset[activity])
                found[index] = level[door]
        return found

    def _sure(self, forbidden: Sequence[frozenset[int]], outside: FloatArray) -> AlmostSure:
        """Where this part is left with certainty by allowed rows, to where the end is reached."""
        allowed = np.ones(len(self._rows), dtype=np.bool_)
        if forbidden[0]:
            allowed[: len(self._event_rows)] = ~np.isin(self._event_rows, list(forbidden[0]))
        for activity, span in self.row_span.items():
            if forbidden[activity + 1]:
                allowed[span.start + np.array(sorted(forbidden[activity + 1]))] = False
        closed = ~np.isfinite(outside)
        if closed.any():
            allowed &= np.diff(csr_array(self._leaving[:, closed]).indptr) == 0
        if allowed.all():
            return AlmostSure(np.ones(len(self._states) + 1, dtype=np.bool_), allowed)
        return self._search.almost_sure(allowed)

    def rows_of(self, place: int, sure: AlmostSure) -> list[int]:
        """The rows of the event at a place that keep it sure to end."""
        first, last = np.searchsorted(self.owners, [place, place + 1])
        rows: list[int] = self._rows[first:last][sure.rows[first:last]].tolist()
        return rows

    def start(self, sure: AlmostSure) -> tuple[IntArray, dict[int, DoorPlan]]:
        """Choices and plans that end wherever it is possible: the last ones if they will do."""
        if self._last is not None:
            choices, plans = self._last
            if self._lies_in(choices, plans, sure):
                return choices, plans
        rows = np.full(len(self._states), NO_ROW, dtype=np.int64)
        # Assigned from the last to the first, so that the first of a state's rows stays.
        closer = np.flatnonzero(self._search.approaching(sure.rows))[::-1]
        rows[self.owners[closer]] = closer
        events = rows[: len(self.event_place)]
        choices = np.where(events == NO_ROW, NO_ROW, self._rows[events])
        found: dict[int, DoorPlan] = {}
        for activity, planner in self.planners.items():
            span, first = self.span[activity], self.row_span[activity].start
            own, alive = rows[span] - first, sure.states[span]
            if not alive[planner.block.doors].any():
                continue
            dead = None
            if not alive.all():
                dead = ~alive
                # Never entered: any rows that end serve there.
                own = np.where(alive, own, planner.solver.proper_policy(planner.balance.costs[0]))
            values = planner.system.values(own)
            found[activity] = DoorPlan(own, values, planner.balance.initial @ values, dead)
        return choices, found

    def _lies_in(self, choices: IntArray, plans: dict[int, DoorPlan], sure: AlmostSure) -> bool:
        if not sure.states.all() or (choices == NO_ROW).any() or len(plans) < len(self.planners):
            return False
        places = np.searchsorted(self._event_rows, choices)
        return bool(sure.rows[places].all()) and all(
            plan.dead is None and sure.rows[self.row_span[activity]][plan.rows].all()
            for activity, plan in plans.items()
        )


class _Iteration:
    """One run of policy iteration over a circle.

    Parameters
    ----------
    circle
        The part.
    weights
        Of the whole problem's costs.
    sure
        Where it ends, and the rows that keep it so.
    values, levels
        What lies outside is worth.

    Attributes
    ----------
    choices
        A row for each event of the circle.
    plans
        By activity.
    """

    def __init__(
        self,
        circle: Circle,
        weights: FloatArray,
        sure: AlmostSure,
        values: FloatArray,
        levels: Sequence[FloatArray | None],
    ) -> None:
        self._circle, self._weights, self._sure = circle, weights, sure
        self._prices = circle.events.prices(weights)
        self._values, self._levels = values.copy(), list(levels)
        choices, plans = circle.start(sure)
        self.choices, self.plans = choices.copy(), dict(plans)
        alive = [event for event, place in circle.event_place.items() if sure.states[place]]
        self._alive = {event: place for place, event in enumerate(alive)}

    def improve(self) -> None:
        """Plan and choose anew until nothing changes."""
        for _ in range(MAX_ITERATIONS):
            self._evaluate()
            changed = self._plan()
            if not self._choose() and not changed:
                return
        raise OutOfPrecision(f"a circle of events was not solved within {MAX_ITERATIONS} iterations")

    def potential(self) -> FloatArray:
        """The values of all states of the circle, of those that are dead too."""
        circle = self._circle
        values = np.zeros(len(self._sure.states) - 1)
        for event in self._alive:
            values[circle.event_place[event]] = self._values[event]
        for activity, plan in self.plans.items():
            values[circle.span[activity]] = self._to_go(activity, plan, slice(None))
        return values

    def _evaluate(self) -> None:
        """The values of the events under the present choices and plans, by one solve."""
        size = len(self._alive)
        system, costs = np.eye(size), np.zeros(size)
        for event, place in self._alive.items():
            inside, cost, leaving = self._step(event)
            leaving += inside.sum() - inside[place]
            if not leaving > 0.0:
                raise ImproperPolicy("the choices do not reach the end almost surely")
            # Counted from one departure to the next, so that no digits are lost on what repeats itself.
            inside[place] = 0.0
            system[place] -= inside / leaving
            costs[place] = cost / leaving
        try:
            found = solve(system, costs)
        except LinAlgError as error:
            raise ImproperPolicy("the choices do not reach the end almost surely") from error
        self._values[list(self._alive)] = np.maximum(found, 0.0)

    def _step(self, event: int) -> tuple[FloatArray, float, float]:
        """Where the choice at an event leads: chances of events here, what is outside, its chance."""
        circle, weights = self._circle, self._weights
        row = int(self.choices[circle.event_place[event]])
        inside, cost, outside = np.zeros(len(self._alive)), float(self._prices[row]), 0.0
        moves = circle.events.rows[row]
        reached = list(zip(moves.events.tolist(), moves.event_chances.tolist(), strict=True))
        for activity, doors, shares in moves.entered:
            level = self._levels[activity]
            if activity in self.plans:
                block = circle.planners[activity].block
                from_doors = self.plans[activity].entered(row, block.doors[doors], shares)
                cost += float(from_doors[: block.num_costs] @ weights)
                chances = from_doors[block.num_costs :] if len(block.exits) > 1 else shares.sum(keepdims=True)
                reached += zip(block.exits.tolist(), chances.tolist(), strict=True)
            elif level is not None:
                cost += float(shares @ level[doors])
                outside += float(shares.sum())
        for after, chance in reached:
            if after in self._alive:
                inside[self._alive[after]] += chance
            elif np.isfinite(self._values[after]):
                # A plan avoids what does not end; what is left of its chance is rounding.
                cost += chance * float(self._values[after])
                outside += chance
        return inside, cost, outside

    def _plan(self) -> bool:
        """Plan every activity with the values of the events at its exits; says whether a plan has changed."""
        changed = False
        for activity, plan in self.plans.items():
            planner = self._circle.planners[activity]
            after = self._values[planner.block.exits]
            allowed = self._sure.rows[self._circle.row_span[activity]]
            optimum = planner.optimum(
                self._weights, after - after.min(), None if allowed.all() else allowed, plan
            )
            if optimum is None:
                raise ImproperPolicy("an activity that can be ended has no plan")
            # Which states are dead is decided on the graph, before the first plan.
            found = DoorPlan(optimum.rows, optimum.values, optimum.costs, plan.dead)
            rows = np.where(self._improved(activity, plan, found), found.rows, plan.rows)
            if np.array_equal(rows, plan.rows):
                continue
            changed = True
            if not np.array_equal(rows, found.rows):
                values = planner.system.values(rows)
                found = DoorPlan(rows, values, planner.balance.initial @ values, plan.dead)
            self.plans[activity] = found
        return changed

    def _improved(self, activity: int, plan: DoorPlan, found: DoorPlan) -> BoolArray:
        """The states of an activity from which the plan `found` costs less than `plan`, beyond ties.

        Only their rows may change: a plan that is as good may return to the event that it started from.
        """
        alive = slice(None) if plan.dead is None else ~plan.dead
        before, after = (self._to_go(activity, each, slice(None))[alive] for each in (plan, found))
        improved = np.zeros(len(plan.rows), dtype=np.bool_)
        improved[alive] = after < before - tie(before)
        return improved

    def _choose(self) -> bool:
        """Choose anew where that is better; says whether a choice has changed."""
        circle = self._circle
        levels = self._levels
        for activity, plan in self.plans.items():
            levels[activity] = self._to_go(activity, plan, circle.planners[activity].block.doors)
        found = {}
        for event in self._alive:
            place = circle.event_place[event]
            best = self._values[event] - tie_of(float(self._values[event]))
            for row in circle.rows_of(place, self._sure):
                value = circle.events.value(row, self._prices, self._values, levels)
                if value < best:
                    best, found[place] = value, row
        changed = {place: row for place, row in found.items() if row != self.choices[place]}
        for place, row in changed.items():
            self.choices[place] = row
        for activity in self.plans:
            levels[activity] = None
        return bool(changed)

    def _to_go(self, activity: int, plan: DoorPlan, states: IntArray | slice) -> FloatArray:
        """The weighted costs to go from some live states of an activity."""
        block = self._circle.planners[activity].block
        own, after = plan.values[states], self._values[block.exits]
        to_go: FloatArray = own[:, : block.num_costs] @ self._weights
        if len(block.exits) == 1:
            to_go = to_go + after[0]
        else:
            to_go = to_go + own[:, block.num_costs :] @ np.where(np.isfinite(after), after, 0.0)
        if plan.dead is not None:
            to_go[plan.dead[states]] = np.inf
        return to_go
