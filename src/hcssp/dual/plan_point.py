"""A policy of a procedure as an oracle returns it: choices at the events, and a plan for every activity.

The decision states of both oracles of procedures are laid out in the same way: the events first, then the
live states of one activity after the other. What is known of a policy is known block by block, so that a
search seldom needs the arrays of the whole problem.

The policies of a procedure that known plans of its activities amount to, and the best of them at once.

Every combination of known plans is a policy. Under given weights the best plan of each activity is a product
of a few numbers, and the best choices are those of a small problem: microseconds, where planning takes far
longer. Nothing is proven by it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

import numpy as np

from hcssp.cssp.arrays import distinct, first_in_each
from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.dual.event_chain import EventChain
from hcssp.dual.oracle import PolicyPoint, estimated_rounding
from hcssp.dual.value_cache import ActivityPlan
from hcssp.errors import ImproperPolicy
from hcssp.ssp.potential import ROUNDINGS
from hcssp.ssp.scalar_problem import Region

if TYPE_CHECKING:
    from hcssp.dual.activity_planner import MultiExitPlanner
    from hcssp.dual.multi_exit import MultiExitLayout
    from hcssp.dual.procedure import ProcedureOracle
    from hcssp.dual.symmetry import Groups
    from hcssp.dual.value_cache import ActivityPlan


MAX_ROUNDING = 1e-9
"""What linear solves may leave of a probability that is zero."""


class Layout(Protocol):
    """Where the states and rows of the activities are."""

    @property
    def state_offset(self) -> IntArray:
        """The first state of each activity, and the number of states."""

    @property
    def row_offset(self) -> IntArray:
        """The first row of each activity, and the number of rows."""


class PlanPoint(PolicyPoint):
    """Choices at the events and a plan for every activity; flat arrays are made on demand.

    A subclass knows how often activities are executed, and what happens in them.

    Parameters
    ----------
    layout
        Where the states and rows of the activities are.
    choices
        An event row for each event state, -1 where there is none.
    plans
        A plan for each activity; None where its region has none, or where none is executed nor known.
    executions
        Expected executions of each activity.
    event_visits
        Expected visits of each event state.
    """

    def __init__(
        self,
        layout: Layout,
        choices: IntArray,
        plans: tuple[ActivityPlan | None, ...],
        executions: FloatArray,
        event_visits: FloatArray,
    ) -> None:
        self._layout = layout
        self.plans = plans
        self.choices = choices
        self.executions = executions
        self.event_visits = event_visits

    def plan_of(self, activity: int) -> ActivityPlan:
        """The plan of an activity that is executed."""
        plan = self.plans[activity]
        if plan is None:
            raise RuntimeError(f"activity {activity} is run without a plan")
        return plan

    @abstractmethod
    def visits_in(self, activity: int) -> FloatArray:
        """Expected visits of the live states of an activity that is executed."""

    @abstractmethod
    def reached_in(self, activity: int) -> BoolArray:
        """The live states of an activity that is executed which are reached, however seldom."""

    def enters(self, activity: int, state: int) -> bool:
        """Whether a live state of an activity that is executed is reached, however seldom."""
        return bool(self.reached_in(activity)[state])

    @abstractmethod
    def switching_costs_in(self, activity: int, rows: IntArray) -> FloatArray:
        """By how much each cost changes whenever an activity with a plan takes one of its own `rows`."""

    @property
    def parts(self) -> tuple[PolicyPoint | ActivityPlan | EventChain, ...]:
        # Identical activities share their plans, and each plan counts once.
        return self, *(plan for plan in dict.fromkeys(self.plans) if plan is not None)

    def release(self) -> None:
        for name in ("rows", "reached", "visits", "entered", "event_costs"):
            vars(self).pop(name, None)

    @cached_property
    def rows(self) -> IntArray:
        rows = np.full(self._layout.state_offset[-1], NO_ROW, dtype=np.int64)
        rows[: len(self.choices)] = self.choices
        for activity, plan in enumerate(self.plans):
            if plan is not None:
                rows[self._span(activity)] = plan.rows + self._layout.row_offset[activity]
        return rows

    @cached_property
    def visits(self) -> FloatArray:
        visits = np.zeros(self._layout.state_offset[-1])
        visits[: len(self.choices)] = self.event_visits
        for activity in self._executed():
            visits[self._span(activity)] = self.visits_in(activity)
        return visits

    @cached_property
    def reached(self) -> BoolArray:
        reached = np.zeros(self._layout.state_offset[-1], dtype=np.bool_)
        reached[: len(self.choices)] = self.event_visits > 0.0
        for activity in self._executed():
            reached[self._span(activity)] = self.reached_in(activity)
        return reached

    def goes_to(self, state: int) -> bool:
        activity = self._owner(state)
        if activity < 0:
            return bool(self.event_visits[state] > 0.0)
        if self.plans[activity] is None or not self.executions[activity] > 0.0:
            return False
        return self.enters(activity, int(state - self._layout.state_offset[activity]))

    def lies_in(self, region: Region, row_state: IntArray) -> bool:
        # Most plans avoid a forbidden row, and then no visits need be known.
        for row in region.forbidden:
            state = int(row_state[row])
            activity = self._owner(state)
            if activity < 0:
                taken = self.choices[state]
            else:
                plan = self.plans[activity]
                if plan is None:
                    continue
                place = state - self._layout.state_offset[activity]
                taken = plan.rows[place] + self._layout.row_offset[activity]
            if taken == row and self.goes_to(state):
                return False
        return True

    def parting_choices(self, other: Self) -> IntArray:
        return np.flatnonzero(self.choices != other.choices)

    def parting(self, other: Self) -> IntArray:
        # Most plans are shared, and then need not be compared.
        states = [self.parting_choices(other)]
        for activity, (own, others) in enumerate(zip(self.plans, other.plans, strict=True)):
            if own is not others and own is not None and others is not None:
                states.append(np.flatnonzero(own.rows != others.rows) + self._layout.state_offset[activity])
        return np.concatenate(states)

    def rows_of(self, states: IntArray) -> IntArray:
        rows = np.full(len(states), NO_ROW, dtype=np.int64)
        for activity, here, places in self._by_owner(states):
            if activity < 0:
                rows[here] = self.choices[places]
            elif (plan := self.plans[activity]) is not None:
                rows[here] = plan.rows[places] + self._layout.row_offset[activity]
        return rows

    def visits_of(self, states: IntArray) -> FloatArray:
        visits = np.zeros(len(states))
        for activity, here, places in self._by_owner(states):
            if activity < 0:
                visits[here] = self.event_visits[places]
            elif self.plans[activity] is not None and self.executions[activity] > 0.0:
                visits[here] = self.visits_in(activity)[places]
        return visits

    def switching_costs(self, states: IntArray, rows: IntArray) -> FloatArray | None:
        changes = np.full((len(states), len(self.costs)), np.nan)
        for activity, here, _ in self._by_owner(states):
            if activity >= 0 and self.plans[activity] is not None:
                own_rows = rows[here] - int(self._layout.row_offset[activity])
                changes[here] = self.switching_costs_in(activity, own_rows)
        return changes

    def _executed(self) -> list[int]:
        """The activities that are executed and have a plan."""
        executed = np.flatnonzero(self.executions > 0.0).tolist()
        return [activity for activity in executed if self.plans[activity] is not None]

    def _span(self, activity: int) -> slice:
        offset = self._layout.state_offset
        return slice(int(offset[activity]), int(offset[activity + 1]))

    def _owner(self, state: int) -> int:
        """The activity of a decision state; -1 for an event."""
        return int(np.searchsorted(self._layout.state_offset, state, side="right")) - 1

    def _by_owner(self, states: IntArray) -> Iterator[tuple[int, BoolArray, IntArray]]:
        """The activities of some states, -1 for events: which states are theirs, and where in them."""
        owners = np.searchsorted(self._layout.state_offset, states, side="right") - 1
        for activity in distinct(owners).tolist():
            here = owners == activity
            first = 0 if activity < 0 else self._layout.state_offset[activity]
            yield activity, here, states[here] - first


class ProcedurePoint(PlanPoint):
    """A policy of a procedure whose activities have one entrance and one exit each.

    Parameters
    ----------
    oracle
        The oracle of the procedure.
    choices, executions, plans, costs
        An event row for each event state, -1 at the end; the executions and the plan of each activity; and
        the costs of all.
    """

    def __init__(
        self,
        oracle: ProcedureOracle,
        choices: IntArray,
        executions: FloatArray,
        plans: tuple[ActivityPlan | None, ...],
        costs: FloatArray,
    ) -> None:
        super().__init__(oracle, choices, plans, executions, oracle.procedure.visits(choices))
        self.costs = costs
        self._oracle = oracle

    def visits_in(self, activity: int) -> FloatArray:
        visits: FloatArray = self.executions[activity] * self.plan_of(activity).visits
        return visits

    def reached_in(self, activity: int) -> BoolArray:
        return self.plan_of(activity).reached

    def enters(self, activity: int, state: int) -> bool:
        return self.plan_of(activity).enters(state)

    def switching_costs_in(self, activity: int, rows: IntArray) -> FloatArray:
        balance = self._oracle.planners[activity].balance
        own = balance.costs.take(rows, axis=1).T - balance.times(rows, self.plan_of(activity).values)
        changes: FloatArray = own @ self._oracle.spreads[activity]
        return changes

    @property
    def rounding(self) -> FloatArray:
        rounding: FloatArray = 8.0 * ROUNDINGS * float(self.executions.sum()) * self.costs
        for activity in self._executed():
            own = self.executions[activity] * self.plan_of(activity).rounding
            rounding += own @ self._oracle.spreads[activity]
        return rounding


class Entry(NamedTuple):
    """Live states in which an activity begins, and how often or with which probabilities."""

    activity: int
    states: IntArray
    shares: FloatArray


class MultiExitPoint(PlanPoint):
    """A policy of a procedure whose activities may have several entrances and exits.

    The procedure is a Markov chain over its events: an activity leads from where it is entered to the states
    behind its exits, with the probabilities of its plan.

    Parameters
    ----------
    layout, planners
        The parts of the procedure, and the planners of its activities.
    choices
        An event row for each event state, -1 at the end and where there is none.
    plans
        A plan for each activity; None where its region has none.

    Raises
    ------
    ImproperPolicy
        If the plans and choices do not end almost surely.
    """

    def __init__(
        self,
        layout: MultiExitLayout,
        planners: Sequence[MultiExitPlanner],
        choices: IntArray,
        plans: tuple[ActivityPlan | None, ...],
    ) -> None:
        super().__init__(layout, choices, plans, np.zeros(len(plans)), np.zeros(layout.num_events))
        self._parts, self._planners = layout, planners
        self._reached: dict[int, BoolArray] = {}
        first_costs, begins = self._step(layout.begin)
        steps = self._steps(begins)
        self._chain = EventChain.of({state: chances for state, (_, chances) in steps.items()}, begins)
        self._chain_costs = self._costs_of(steps, self._chain)
        self.costs = first_costs + self._chain.visits @ self._chain_costs
        for activity, _, times in self._entered():
            self.executions[activity] += times.sum()
        events = self._chain.states < layout.num_events
        # A reached event is visited, although a solve may give it almost no visits.
        smallest = np.finfo(np.float64).tiny
        self.event_visits[self._chain.states[events]] = np.maximum(self._chain.visits[events], smallest)

    @property
    def parts(self) -> tuple[PolicyPoint | ActivityPlan | EventChain, ...]:
        return *super().parts, self._chain

    def executed(self, activity: int) -> tuple[ActivityPlan, MultiExitPlanner]:
        """The plan of an activity, and its planner."""
        return self.plan_of(activity), self._planners[activity]

    def with_plans(self, plans: tuple[ActivityPlan | None, ...]) -> MultiExitPoint:
        """The same choices with other plans."""
        return MultiExitPoint(self._parts, self._planners, self.choices, plans)

    def goes_on_from(self, state: int) -> bool:
        """Whether the policy has a choice in an event state, or an action where an activity is entered."""
        if state < self._parts.num_events:
            return state == self._parts.end or bool(self.choices[state] != NO_ROW)
        activity = self._owner(state)
        plan = self.plans[activity]
        if plan is None or plan.dead is None:
            return plan is not None
        return not plan.dead[state - self._parts.state_offset[activity]]

    @cached_property
    def entered(self) -> dict[int, FloatArray]:
        """For each activity that is executed, how often it begins in each of its live states."""
        found: dict[int, FloatArray] = {}
        for activity, states, times in self._entered():
            if activity not in found:
                found[activity] = np.zeros(self._planners[activity].balance.num_live)
            found[activity][states] += times
        return found

    def visits_in(self, activity: int) -> FloatArray:
        plan, planner = self.executed(activity)
        visits: FloatArray = planner.system.visits(plan.rows, self.entered[activity])
        return visits

    def reached_in(self, activity: int) -> BoolArray:
        if activity not in self._reached:
            plan, planner = self.executed(activity)
            begins = np.zeros(planner.balance.num_live, dtype=np.bool_)
            for entered, states, _ in self._entered():
                if entered == activity:
                    begins[states] = True
            self._reached[activity] = planner.balance.reached(plan.rows, begins)
        return self._reached[activity]

    @property
    def rounding(self) -> FloatArray:
        values = np.vstack([self._chain.values(self._chain_costs), self.costs])
        return estimated_rounding(values, self.costs, float(self.visits.sum()))

    @cached_property
    def event_costs(self) -> FloatArray:
        """The expected cost-to-go of each event state, and of the places after exits; nan if unknown."""
        layout = self._parts
        begins = [int(state) for state in layout.behind_exits if self.goes_on_from(state)]
        begins += np.flatnonzero(self.choices != NO_ROW).tolist()
        steps = self._steps(begins)
        chain = EventChain.of({state: chances for state, (_, chances) in steps.items()}, {})
        size = max(layout.num_events, int(layout.behind_exits.max(initial=0)) + 1)
        costs = np.full((size, layout.num_costs), np.nan)
        costs[layout.end] = 0.0
        costs[chain.states] = np.maximum(chain.values(self._costs_of(steps, chain)), 0.0)
        return costs

    def values_to_go(self, weights: FloatArray) -> FloatArray:
        """The weighted costs to go from every decision state; nan where nothing is known."""
        layout = self._parts
        values = np.full(layout.state_offset[-1], np.nan)
        behind = self.event_costs @ weights
        values[: layout.num_events] = behind[: layout.num_events]
        for activity, (plan, planner) in enumerate(zip(self.plans, self._planners, strict=True)):
            if plan is None:
                continue
            block = planner.block
            after = behind[block.exits]
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
            values[self._span(activity)] = own
        return values

    def switching_costs(self, states: IntArray, rows: IntArray) -> FloatArray | None:
        try:
            return super().switching_costs(states, rows)
        except ImproperPolicy:
            # The choices that are not met do not end.
            return None

    def switching_costs_in(self, activity: int, rows: IntArray) -> FloatArray:
        plan, planner = self.executed(activity)
        block, balance = planner.block, planner.balance
        own = balance.costs.take(rows, axis=1).T - balance.times(rows, plan.values)
        changes: FloatArray = own[:, : block.num_costs]
        if len(block.exits) > 1:
            # An exit behind which nothing is known is one that both policies avoid.
            changes = changes + own[:, block.num_costs :] @ np.nan_to_num(self.event_costs[block.exits])
        return changes

    def _steps(self, begins: Iterable[int]) -> dict[int, tuple[FloatArray, dict[int, float]]]:
        """For each state of the chain that is reached from some: its cost, and the next state."""
        steps: dict[int, tuple[FloatArray, dict[int, float]]] = {}
        waiting = list(begins)
        while waiting:
            state = waiting.pop()
            if state != self._parts.end and state not in steps:
                steps[state] = self._step_from(state)
                waiting += steps[state][1]
        return steps

    def _step_from(self, state: int) -> tuple[FloatArray, dict[int, float]]:
        """The cost of an event until the next one, or of an activity from its entry on."""
        if state < self._parts.num_events:
            return self._step(int(self.choices[state]))
        activity = self._owner(state)
        plan, planner = self.executed(activity)
        values = plan.values[state - self._parts.state_offset[activity]]
        chances: dict[int, float] = {}
        self._leave(planner, values, 1.0, chances)
        return values[: self._parts.num_costs], self._open(chances)

    def _step(self, row: int) -> tuple[FloatArray, dict[int, float]]:
        """The cost of an event row until the next event, and the next event."""
        events, event_chances, entered = self._parts.event_rows[row]
        costs: FloatArray = self._parts.event_costs[:, row].copy()
        chances = dict(zip(events.tolist(), event_chances.tolist(), strict=True))
        for activity, states, shares in entered:
            plan, planner = self.executed(activity)
            values = plan.entered(row, states, shares)
            costs += values[: len(costs)]
            self._leave(planner, values, float(shares.sum()), chances)
        return costs, self._open(chances)

    def _leave(
        self, planner: MultiExitPlanner, values: FloatArray, entered: float, chances: dict[int, float]
    ) -> None:
        """Add the probabilities of an activity's exits, given its values and how often it is entered."""
        block = planner.block
        ends = values[block.num_costs :].tolist() if len(block.exits) > 1 else [entered]
        for state, chance in zip(block.exits.tolist(), ends, strict=True):
            if chance > 0.0:
                chances[state] = chances.get(state, 0.0) + chance

    def _open(self, chances: dict[int, float]) -> dict[int, float]:
        """Without what the policy avoids: what is left of its probability is rounding."""
        closed = [state for state in chances if not self.goes_on_from(state)]
        if sum(chances.pop(state) for state in closed) > MAX_ROUNDING:
            raise ImproperPolicy("the plan leads to an event without a choice")
        return chances

    def _costs_of(
        self, steps: dict[int, tuple[FloatArray, dict[int, float]]], chain: EventChain
    ) -> FloatArray:
        costs = [steps[state][0] for state in chain.states.tolist()]
        return np.array(costs).reshape(len(costs), self._parts.num_costs)

    def _entered(self) -> Iterator[Entry]:
        """Where activities begin, and how often."""
        layout = self._parts
        yield from layout.event_rows[layout.begin].entered
        for state, times in zip(self._chain.states.tolist(), self._chain.visits.tolist(), strict=True):
            if state < layout.num_events:
                for activity, states, shares in layout.event_rows[self.choices[state]].entered:
                    yield Entry(activity, states, times * shares)
            else:
                activity = self._owner(state)
                place = np.array([state - layout.state_offset[activity]])
                yield Entry(activity, place, np.array([times]))


class KnownPolicies:
    """The results for a region at one moment.

    Parameters
    ----------
    oracle, groups
        The procedure, and the activities of the region.
    plans, costs
        The known plans of each group, at least one, and what they cost the whole problem, a row each.
    """

    def __init__(
        self,
        oracle: ProcedureOracle,
        groups: Groups,
        plans: list[list[ActivityPlan]],
        costs: list[FloatArray],
    ) -> None:
        self._oracle, self._groups, self._plans = oracle, groups, plans
        self._costs = np.concatenate(costs)
        counts = [len(each) for each in costs]
        self._owner = np.repeat(np.arange(len(counts)), counts)
        self._starts: IntArray = np.cumsum([0, *counts[:-1]])
        rows = oracle.procedure.num_rows
        self._allowed = Region(groups.choices).allowed(rows) if groups.choices else None

    def best(self, weights: FloatArray) -> KnownPolicy | None:
        """The best known policy under some weights; None if there is none."""
        values = self._costs @ weights
        least = np.minimum.reduceat(values, self._starts)
        oracle = self._oracle
        answer = oracle.procedure.minimise(oracle.row_costs(least[self._groups.of], weights), self._allowed)
        if answer is None:
            return None
        choices = answer[0]
        chosen = first_in_each(values == least[self._owner], self._starts)
        executions = self._groups.executions(oracle.procedure.executions(choices))
        costs = oracle.with_choices(executions @ self._costs[chosen], choices)
        return KnownPolicy(self, choices, chosen, costs)

    def made(self, choices: IntArray, chosen: IntArray, costs: FloatArray) -> ProcedurePoint:
        """The policy of some choices, and of those of all plans that are chosen."""
        places = (chosen - self._starts).tolist()
        plans = [each[place] for each, place in zip(self._plans, places, strict=True)]
        executions = self._oracle.procedure.executions(choices)
        every = tuple(plans[group] for group in self._groups.of.tolist())
        return ProcedurePoint(self._oracle, choices, executions, every, costs)


class KnownPolicy(NamedTuple):
    """A policy that is not put together yet."""

    known: KnownPolicies
    choices: IntArray
    chosen: IntArray
    costs: FloatArray

    def point(self) -> ProcedurePoint:
        """The policy itself."""
        return self.known.made(self.choices, self.chosen, self.costs)
