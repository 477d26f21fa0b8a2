"""A plan of a procedure whose activities have doors: a choice at every event and plans."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import fsum, inf

import numpy as np
from scipy.sparse import csc_array, eye_array

from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.dual.door_planner import DoorPlan, DoorPlanner
from hcssp.dual.event_factors import ENDLESS, ChainFactors, DenseFactors, SparseFactors
from hcssp.dual.event_rows import EventRows
from hcssp.dual.vertex import Vertex, estimated_rounding
from hcssp.errors import ImproperPolicy

MAX_ROUNDING = 1e-9
"""What linear solves may leave of a probability that is nought."""


MAX_DENSE_EVENTS = 200
"""With more events the chain of a plan is factorised as a sparse matrix."""


class DoorsVertex(Vertex):
    """Choices at the event states and a plan for every activity; the flat arrays are made when asked for.

    Parameters
    ----------
    events
        What the event rows lead to.
    planners
        Those of the activities; None for one without live states.
    choices
        An event row for each event state, -1 at the end and where there is none.
    plans
        A plan for each activity; None where its region has none.
    live
        The states of the prepared problem that are decision states.
    """

    def __init__(
        self,
        events: EventRows,
        planners: Sequence[DoorPlanner | None],
        choices: IntArray,
        plans: tuple[DoorPlan | None, ...],
        live: IntArray,
    ) -> None:
        self.choices = choices
        self.plans = plans
        self._events = events
        self._planners = planners
        self._live = live
        self._reached: dict[int, BoolArray] = {}
        self._chain = _Chain(events, choices, plans)
        self.costs = self._chain.visits @ self._chain.costs

    @cached_property
    def rows(self) -> IntArray:
        layout = self._events.layout
        rows = np.full(layout.state_offset[-1], NO_ROW, dtype=np.int64)
        rows[: layout.num_events] = self.choices
        for activity, plan in enumerate(self.plans):
            if plan is not None:
                first, last = layout.state_offset[activity], layout.state_offset[activity + 1]
                rows[first:last] = plan.rows + layout.row_offset[activity]
        return rows[self._live]

    @cached_property
    def visits(self) -> FloatArray:
        layout = self._events.layout
        visits = np.zeros(layout.state_offset[-1])
        visits[self._chain.states] = self._chain.visits
        for activity, flow in self.entered.items():
            first, last = layout.state_offset[activity], layout.state_offset[activity + 1]
            plan, planner = self.executed(activity)
            visits[first:last] = planner.system.visits(plan.rows, flow)
        return visits[self._live]

    @cached_property
    def entered(self) -> dict[int, FloatArray]:
        """For each activity that is executed, how often it begins in each of its live states."""
        chain = self._chain
        found: dict[int, FloatArray] = {}
        for state, visits in zip(chain.states.tolist(), chain.visits.tolist(), strict=True):
            for activity, doors, chances in self._events.rows[self.choices[state]].entered:
                _, planner = self.executed(activity)
                if activity not in found:
                    found[activity] = np.zeros(planner.balance.num_live)
                found[activity][planner.block.doors[doors]] += visits * chances
        return found

    @cached_property
    def executions(self) -> FloatArray:
        """How often each activity is executed, in expectation."""
        executions = np.zeros(self._events.layout.num_activities)
        for state, visits in zip(self._chain.states.tolist(), self._chain.visits.tolist(), strict=True):
            for activity, _, chances in self._events.rows[self.choices[state]].entered:
                executions[activity] += visits * float(chances.sum())
        return executions

    @cached_property
    def reached(self) -> BoolArray:
        layout = self._events.layout
        reached = np.zeros(layout.state_offset[-1], dtype=np.bool_)
        reached[self._chain.states] = True
        for activity in np.flatnonzero(self.executions).tolist():
            first, last = layout.state_offset[activity], layout.state_offset[activity + 1]
            reached[first:last] = self._reached_in(activity)
        return reached[self._live]

    def goes_to(self, state: int) -> bool:
        # Of the activity alone that is asked about: most questions of a search are about one.
        layout = self._events.layout
        place = int(self._live[state])
        activity = int(np.searchsorted(layout.state_offset, place, side="right")) - 1
        if activity < 0:
            return place in self._chain.states
        first = int(layout.state_offset[activity])
        return self.executions[activity] > 0.0 and bool(self._reached_in(activity)[place - first])

    def _reached_in(self, activity: int) -> BoolArray:
        """The live states of an executed activity that the plan enters, however seldom."""
        if activity not in self._reached:
            plan, planner = self.executed(activity)
            begins = np.zeros(planner.balance.num_live, dtype=np.bool_)
            for state in self._chain.states.tolist():
                for entered, doors, _ in self._events.rows[self.choices[state]].entered:
                    if entered == activity:
                        begins[planner.block.doors[doors]] = True
            self._reached[activity] = planner.balance.reached(plan.rows, begins)
        return self._reached[activity]

    @property
    def rounding(self) -> FloatArray:
        return estimated_rounding(self._chain.values(), self.costs, float(self.visits.sum()))

    @property
    def rounding_at_most(self) -> FloatArray:
        # All that is paid, at the least that a departure costs in any activity.
        most = 0.0
        for activity in np.flatnonzero(self.executions).tolist():
            _, planner = self.executed(activity)
            paid = np.full(len(planner.balance.costs), inf)
            paid[0] = self.costs[0]
            most = max(most, planner.balance.departures_at_most(paid))
        if most == inf:
            return self.rounding
        return estimated_rounding(self._chain.values(), self.costs, float(self._chain.visits.sum()) + most)

    @property
    def parts(self) -> tuple[Vertex | DoorPlan, ...]:
        return self, *(plan for plan in self.plans if plan is not None)

    @cached_property
    def event_costs(self) -> FloatArray:
        """The expected costs to go from each event state; nan where there is no choice."""
        layout = self._events.layout
        everywhere = _Chain(self._events, self.choices, self.plans, everywhere=True)
        costs = np.full((layout.num_events, layout.num_costs), np.nan)
        costs[layout.end] = 0.0
        costs[everywhere.states] = everywhere.values()
        return costs

    def values_to_go(self, weights: FloatArray) -> FloatArray:
        """The weighted costs to go from every state of the prepared problem; nan where nothing is known."""
        layout = self._events.layout
        values = np.full(layout.state_offset[-1], np.nan)
        values[: layout.num_events] = self.event_costs @ weights
        for activity, plan in enumerate(self.plans):
            block = layout.blocks[activity]
            if plan is None or block is None:
                continue
            first, last = layout.state_offset[activity], layout.state_offset[activity + 1]
            after = values[block.exits]
            own = plan.values[:, : block.num_costs] @ weights
            if len(block.exits) == 1:
                own += after[0]
            else:
                chances = plan.values[:, block.num_costs :]
                known = np.isfinite(after)
                own += chances[:, known] @ after[known]
                own[chances[:, ~known].any(axis=1)] = np.nan
            if plan.dead is not None:
                own[plan.dead] = np.nan
            values[first:last] = own
        return values

    def switching_costs(self, states: IntArray, rows: IntArray) -> FloatArray | None:
        layout = self._events.layout
        try:
            after = self.event_costs
        except ImproperPolicy:
            return None
        changes = np.full((len(states), layout.num_costs), np.nan)
        places = self._live[states]
        owners = np.searchsorted(layout.state_offset, places, side="right") - 1
        for activity in np.unique(owners[owners >= 0]).tolist():
            plan, planner = self.executed(activity)
            here, block = owners == activity, planner.block
            own_rows = rows[here] - int(layout.row_offset[activity])
            balance = planner.balance
            own = balance.costs.take(own_rows, axis=1).T - balance.times(own_rows, plan.values)
            changes[here] = own[:, : block.num_costs]
            if len(block.exits) > 1:
                # An exit behind which nothing is known is one that both policies avoid.
                changes[here] += own[:, block.num_costs :] @ np.nan_to_num(after[block.exits])
        return changes

    def with_plans(self, plans: tuple[DoorPlan | None, ...]) -> DoorsVertex:
        """The same choices with other plans."""
        return DoorsVertex(self._events, self._planners, self.choices, plans, self._live)

    def goes_on_from(self, event: int) -> bool:
        """Whether there is a choice at an event state, or it is the end."""
        return event == self._events.layout.end or bool(self.choices[event] != NO_ROW)

    def executed(self, activity: int) -> tuple[DoorPlan, DoorPlanner]:
        """The plan of an activity, and its planner."""
        plan, planner = self.plans[activity], self._planners[activity]
        if plan is None or planner is None:
            raise RuntimeError(f"activity {activity} is run without a plan")
        return plan, planner


class _Chain:
    """The Markov chain over the events that a plan goes to, or over all that it has a choice for.

    Attributes
    ----------
    states
        The event states with a choice, the end not among them.
    costs
        What each costs until the next event.
    visits
        How often each is visited.
    """

    def __init__(
        self,
        events: EventRows,
        choices: IntArray,
        plans: Sequence[DoorPlan | None],
        everywhere: bool = False,
    ) -> None:
        layout = events.layout
        steps: dict[int, tuple[FloatArray, dict[int, float]]] = {}
        begins = choices != NO_ROW if everywhere else layout.begins > 0.0
        waiting = np.flatnonzero(begins).tolist()
        while waiting:
            state = waiting.pop()
            if state == layout.end or state in steps:
                continue
            steps[state] = events.step(int(choices[state]), plans)
            chances = steps[state][1]
            # A plan avoids an event without a choice; what is left of its chance is rounding.
            closed = [after for after in chances if after != layout.end and choices[after] == NO_ROW]
            if sum(chances.pop(after) for after in closed) > MAX_ROUNDING:
                raise ImproperPolicy("the plan leads to an event without a choice")
            if not everywhere:
                waiting += chances
        self.states: IntArray = np.array(sorted(steps), dtype=np.int64)
        self.costs: FloatArray = np.zeros((len(steps), layout.num_costs))
        self.visits: FloatArray = np.zeros(len(steps))
        self._leaving: FloatArray = np.ones(len(steps))
        if not steps:
            return
        place = {state: index for index, state in enumerate(self.states.tolist())}
        entries: list[tuple[int, int, float]] = []
        for state, index in place.items():
            self.costs[index], chances = steps[state]
            others = {after: chance for after, chance in chances.items() if after != state}
            self._leaving[index] = fsum(others.values())
            entries += [(index, place[after], each) for after, each in others.items() if after in place]
        if not self._leaving.all():
            raise ImproperPolicy(ENDLESS)
        self._factors = _factors(len(steps), entries, self._leaving)
        # Counted from one departure to the next, so that no digits are lost on what repeats itself.
        departures = self._factors.solve_transposed(layout.begins[self.states])
        self.visits = np.maximum(departures, 0.0) / self._leaving

    def values(self) -> FloatArray:
        """The expected costs to go from each state."""
        if not len(self.states):
            return self.costs
        return np.maximum(self._factors.solve(self.costs / self._leaving[:, np.newaxis]), 0.0)


def _factors(size: int, entries: Sequence[tuple[int, int, float]], leaving: FloatArray) -> ChainFactors:
    """The factorised system of a chain: dense for as long as that is quicker."""
    tails, heads, moves = zip(*entries, strict=True) if entries else ((), (), ())
    shares = np.array(moves) / leaving[list(tails)]
    if size <= MAX_DENSE_EVENTS:
        system = np.eye(size)
        system[list(tails), list(heads)] -= shares
        return DenseFactors(system)
    return SparseFactors(eye_array(size) - csc_array((shares, (tails, heads)), shape=(size, size)))
