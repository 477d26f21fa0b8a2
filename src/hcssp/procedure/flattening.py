"""One C-SSP that is equivalent to the whole procedure.

Flat states are the event states first (see :mod:`hcssp.procedure.model`), then every activity's
non-goal states, activity after activity; an activity's goals are the event states they lead to. Flat
rows are the choices at the event states first, then every activity's rows, so that a flat row is the
activity's offset plus its local row. Choices cost nothing, but for limits; the rows of an activity cost what
the constraints count of them. A deterministic policy of the flat problem is a hierarchical policy, and the
other way round, with the same expected costs.

Everything but `cssp` is cheap: the flat arrays are made when they are first used.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.arrays import index_type, joined_spans
from hcssp.cssp.labels import LazyLabels, SelectedLabels
from hcssp.cssp.model import CSSP, FloatArray, IntArray, SparseMatrix
from hcssp.cssp.transition_costs import TransitionCosts
from hcssp.errors import InvalidProblem
from hcssp.procedure.model import HCSSP, Outcome, entry_distribution, goal_event_states


class EventWay(NamedTuple):
    """A way that an event row may go.

    Attributes
    ----------
    probability
        That it does.
    runs
        The activity that is run; None for none.
    starts, shares
        The activity's own states that it begins in and the shares in which it does, or the event state that
        it leads to.
    """

    probability: float
    runs: int | None
    starts: IntArray
    shares: FloatArray


class Flattening:
    """The flat problem's layout, and the flat problem itself.

    Attributes
    ----------
    problem
        The hierarchical problem.
    event_states
        Pairs of an event and its entry label, sorted by event; they are the first flat states.
    start, end
        The flat states where the procedure begins and where it is over.
    event_row_start
        Flat rows ``event_row_start[s]:event_row_start[s + 1]`` belong to event state ``s``.
    event_row_choice
        The choice (an index into ``problem.choices``) that each event row stands for.
    state_offset, row_offset
        The first flat state and row of each activity; the last entries are the totals.
    """

    def __init__(self, problem: HCSSP) -> None:
        self.problem = problem
        self.event_states, violations = problem.entered_states
        if violations:
            raise InvalidProblem(violations)
        self._position = {state: index for index, state in enumerate(self.event_states)}
        self._goals: dict[int, tuple[list[int], list[int]]] = {}
        self.start = self._position[problem.start, None]
        self.end = self._position[problem.end, None]
        choices = [problem.choices_at(event) for event, _ in self.event_states]
        self.event_row_start: IntArray = np.cumsum([0, *map(len, choices)], dtype=np.int64)
        self.event_row_choice: IntArray = np.array([c for each in choices for c in each], dtype=np.int64)
        sizes = [a.cssp.num_states - int(np.count_nonzero(a.cssp.goals)) for a in problem.activities]
        rows = [activity.cssp.num_rows for activity in problem.activities]
        self.state_offset: IntArray = np.cumsum([self.num_event_states, *sizes], dtype=np.int64)
        self.row_offset: IntArray = np.cumsum([self.num_event_rows, *rows], dtype=np.int64)

    def under(self, bounds: FloatArray) -> Flattening:
        """The layout of the same problem under other bounds, one for each constraint."""
        names = self.problem.constraint_names
        return self.problem.with_bounds(dict(zip(names, bounds.tolist(), strict=True))).flattening

    @property
    def num_event_states(self) -> int:
        return len(self.event_states)

    @property
    def num_event_rows(self) -> int:
        return int(self.event_row_start[-1])

    @property
    def num_states(self) -> int:
        return int(self.state_offset[-1])

    @property
    def num_rows(self) -> int:
        return int(self.row_offset[-1])

    @cached_property
    def separable(self) -> bool:
        """Whether only budgets tie the activities together: none can end in two ways that matter later."""
        return all(entry is None for _, entry in self.event_states) and not any(
            len(outcome.events) > 1 for outcome in self.problem.activity_outcome
        )

    def rows_of(self, activity: int) -> slice:
        """The flat rows of an activity."""
        return slice(*self.row_offset[activity : activity + 2].tolist())

    def row_name(self, row: int) -> str:
        """A flat row, for people."""
        state = int(np.searchsorted(self.row_start, row, side="right")) - 1
        label, action = self.state_labels[state], self.action_labels[row]
        return f"state {label!r}, action {action!r} (flat row {row})"

    def event_state(self, event: int, entry: Hashable | None = None) -> int:
        """The flat state of an event entered with the label `entry`; all entries to the end are one."""
        return self._position[event, None if event == self.problem.end else entry]

    def is_entered(self, event: int) -> bool:
        """Whether an event can be entered at all: by an activity none of whose goals is reached it is not."""
        return event in self._entered

    @cached_property
    def _entered(self) -> frozenset[int]:
        return frozenset(event for event, _ in self.event_states)

    def flat_state(self, activity: int) -> IntArray:
        """From an activity's local states to flat states; a goal is the event state it leads to.

        A goal that cannot be reached, and so leads to no event state, is -1.
        """
        cssp = self.problem.activities[activity].cssp
        flat: IntArray = np.cumsum(~cssp.goals, dtype=np.int64) + (self.state_offset[activity] - 1)
        goals, states = self._goal_states(activity)
        flat[goals] = states
        return flat

    def exits(self, activity: int) -> list[tuple[int, int]]:
        """The goals of an activity that can be reached, each with the event state that it leads to."""
        goals = sorted(zip(*self._goal_states(activity), strict=True))
        return [(goal, state) for goal, state in goals if state >= 0]

    def after(self, runs: int | None, start: int) -> set[int]:
        """The event states that a way may lead to: those of the activity's exits, or the one it begins in."""
        return {start} if runs is None else {state for _, state in self.exits(runs)}

    def _goal_states(self, activity: int) -> tuple[list[int], list[int]]:
        """An activity's goals, and the event states that they are."""
        if activity not in self._goals:
            entered = goal_event_states(self.problem, activity)
            states = [self._position.get(each, -1) for each in entered.values()]
            self._goals[activity] = list(entered), states
        return self._goals[activity]

    @cached_property
    def event_transitions(self) -> SparseMatrix:
        """The transitions of the event rows: shape ``(num_event_rows, num_states)``."""
        rows: list[IntArray] = []
        columns: list[IntArray] = []
        values: list[FloatArray] = []
        for row, ways in enumerate(self.event_ways()):
            for probability, runs, starts, shares in ways:
                states = starts if runs is None else self.flat_state(runs)[starts]
                rows.append(np.full(len(states), row, dtype=np.int64))
                columns.append(states)
                values.append(probability * shares)
        if not rows:
            return csr_array((0, self.num_states))
        where = (np.concatenate(rows), np.concatenate(columns))
        shape = (self.num_event_rows, self.num_states)
        transitions = csr_array((np.concatenate(values), where), shape=shape)
        transitions.eliminate_zeros()
        return transitions

    def event_ways(self) -> Iterator[list[EventWay]]:
        """For each event row the ways that it may go, one for each outcome."""
        for event, entry in self.event_states:
            for choice in self.problem.choices_at(event):
                yield [self.event_way(outcome, entry) for outcome in self.problem.choices[choice].outcomes]

    def event_way(self, outcome: Outcome, entry: Hashable | None) -> EventWay:
        """The way of one outcome of a choice at an event that was entered with the label `entry`."""
        if outcome.runs is not None:
            begins = entry_distribution(self.problem.activities[outcome.runs], entry)
            return EventWay(outcome.probability, outcome.runs, *begins)
        state = np.array([self.event_state(outcome.event, entry)], dtype=np.int64)
        return EventWay(outcome.probability, None, state, np.ones(1))

    @cached_property
    def event_costs(self) -> FloatArray:
        """The flat costs of the event rows, which are nothing but for limits; see `HCSSP.choice_costs`."""
        return self.problem.choice_costs[:, self.event_row_choice]

    def activity_transitions(self, activity: int, rows: IntArray | None = None) -> SparseMatrix:
        """The transitions of an activity's rows, all or those given, to flat states."""
        data, columns, pointers = self.activity_entries(activity, rows)
        flat = csr_array((data, columns, pointers), shape=(len(pointers) - 1, self.num_states))
        flat.sum_duplicates()
        return flat

    def activity_entries(
        self, activity: int, rows: IntArray | None = None
    ) -> tuple[FloatArray, IntArray, IntArray]:
        """As :meth:`activity_transitions`: probabilities, flat states, and where the rows begin.

        Where several exits lead to one event, a row may name its state more than once.
        """
        matrix = self.problem.activities[activity].cssp.transitions
        if rows is None:
            data, local, pointers = matrix.data.copy(), matrix.indices, matrix.indptr.copy()
        else:
            lengths = matrix.indptr[rows + 1] - matrix.indptr[rows]
            entries, begins = joined_spans(matrix.indptr[rows], lengths)
            pointers = np.append(begins, len(entries))
            data, local = matrix.data[entries], matrix.indices[entries]
        # A goal that cannot be reached has no flat state; the rows that mention it are never used.
        states = np.maximum(self.flat_state(activity), 0).astype(index_type(self.num_states))
        return data, states[local], pointers

    def activity_costs(self, activity: int, rows: IntArray | None = None) -> FloatArray:
        """The flat costs of an activity's rows: the primary, then one for each constraint."""
        costs = self.problem.activities[activity].cssp.costs
        return self.counted_costs(activity, costs if rows is None else costs[:, rows])

    def counted_costs(self, activity: int, own: FloatArray) -> FloatArray:
        """Costs of an activity, one column each, as flat costs."""
        flat = np.zeros((1 + self.problem.num_constraints, own.shape[1]))
        flat[0] = own[0]
        for index, constraint in enumerate(self.problem.constraints):
            if activity in constraint.counts:
                flat[1 + index] = own[constraint.counts[activity]]
        return flat

    def activity_transition_costs(
        self, activity: int, rows: IntArray | None = None
    ) -> TransitionCosts | None:
        """The flat costs of single transitions of an activity's rows, all or those given."""
        paid = self.problem.activities[activity].cssp.transition_costs
        if paid is not None and rows is not None:
            paid = paid.take(rows)
        if paid is not None:
            paid = paid.paying(self.counted_costs(activity, paid.costs))
        return None if paid is None else paid.to(np.maximum(self.flat_state(activity), 0))

    @cached_property
    def row_start(self) -> IntArray:
        """Flat rows ``row_start[s]:row_start[s + 1]`` belong to flat state ``s``."""
        starts = [self.event_row_start]
        for index, activity in enumerate(self.problem.activities):
            ends = activity.cssp.row_start[1:][~activity.cssp.goals]
            starts.append(self.row_offset[index] + ends)
        return np.concatenate(starts)

    @cached_property
    def cssp(self) -> CSSP:
        """The flat problem: the primary cost and one cost for each constraint, called by its name."""
        return self.assembled()

    def assembled(self, rows: IntArray | None = None) -> CSSP:
        """The flat problem, made again and not kept; with all rows, or those given alone, ascending."""
        every = range(self.problem.num_activities)
        own: list[IntArray | None] = [None for _ in every]
        events, event_costs = self.event_transitions, self.event_costs
        row_start, offsets = self.row_start, self.row_offset
        actions = self.action_labels
        if rows is not None:
            row_start, offsets = np.searchsorted(rows, row_start), np.searchsorted(rows, offsets)
            own = [rows[slice(*offsets[k : k + 2].tolist())] - self.row_offset[k] for k in every]
            chosen = rows[: offsets[0]]
            events, event_costs = events[chosen], event_costs[:, chosen]
            actions = SelectedLabels(actions, rows)
        # Copies, because adding up works in place.
        first = (events.data.copy(), events.indices.copy(), events.indptr)
        blocks = [first, *(self.activity_entries(index, own[index]) for index in every)]
        goals = np.zeros(self.num_states, dtype=np.bool_)
        goals[self.end] = True
        return CSSP.unchecked(
            transitions=stack_entries(blocks, self.num_states),
            row_start=row_start,
            costs=np.hstack([event_costs, *(self.activity_costs(index, own[index]) for index in every)]),
            initial=self.initial,
            goals=goals,
            cost_names=self.cost_names,
            bounds=self.problem.bounds,
            state_labels=self.state_labels,
            action_labels=actions,
            transition_costs=TransitionCosts.stacked(
                (int(offsets[index]), self.activity_transition_costs(index, own[index])) for index in every
            ),
        )

    @property
    def cost_names(self) -> tuple[str, ...]:
        """The primary cost's name, then the constraints'."""
        return (self.problem.primary_name, *(constraint.name for constraint in self.problem.constraints))

    @property
    def state_labels(self) -> Sequence[Hashable]:
        """An event's name, or a pair of an activity's name and its own label; see the class."""
        return FlatStateLabels(self)

    @property
    def action_labels(self) -> Sequence[Hashable]:
        """A choice's name, or the label of an activity's action; see the class."""
        return FlatActionLabels(self)

    @property
    def initial(self) -> FloatArray:
        """The flat initial distribution: the procedure begins at its start."""
        initial = np.zeros(self.num_states)
        initial[self.start] = 1.0
        return initial


def stack_entries(blocks: Sequence[tuple[FloatArray, IntArray, IntArray]], num_columns: int) -> SparseMatrix:
    """Rows one below the other, given as entries, columns and where they begin; equal columns add up."""
    offsets = np.cumsum([0, *(len(data) for data, _, _ in blocks)])
    narrow = index_type(max(int(offsets[-1]), num_columns))
    pointers = [each[1:] + offset for (_, _, each), offset in zip(blocks, offsets[:-1], strict=True)]
    data = np.concatenate([data for data, _, _ in blocks])
    indices = np.concatenate([columns for _, columns, _ in blocks]).astype(narrow, copy=False)
    indptr = np.concatenate([np.zeros(1, dtype=np.int64), *pointers]).astype(narrow, copy=False)
    stacked = csr_array((data, indices, indptr), shape=(len(indptr) - 1, num_columns))
    stacked.sum_duplicates()
    return stacked


class FlatStateLabels(LazyLabels):
    """An event's name, ``("event", name, entry label)``, or a pair of an activity's name and its label."""

    def __init__(self, flattening: Flattening) -> None:
        self._flattening = flattening

    def __len__(self) -> int:
        return self._flattening.num_states

    @cached_property
    def _local_states(self) -> list[IntArray]:
        return [np.flatnonzero(~activity.cssp.goals) for activity in self._flattening.problem.activities]

    def _label(self, position: int) -> Hashable:
        flattening, index = self._flattening, position
        if index < flattening.num_event_states:
            event, entry = flattening.event_states[index]
            name = flattening.problem.events[event]
            return name if entry is None else ("event", name, entry)
        number = bisect_right(flattening.state_offset, index) - 1
        activity = flattening.problem.activities[number]
        local = self._local_states[number][index - flattening.state_offset[number]]
        return (activity.name, activity.cssp.state_labels[int(local)])


class FlatActionLabels(LazyLabels):
    """A choice's name, or the label of an activity's action."""

    def __init__(self, flattening: Flattening) -> None:
        self._flattening = flattening

    def __len__(self) -> int:
        return self._flattening.num_rows

    def _label(self, position: int) -> Hashable:
        flattening, index = self._flattening, position
        if index < flattening.num_event_rows:
            return flattening.problem.choices[int(flattening.event_row_choice[index])].name
        number = bisect_right(flattening.row_offset, index) - 1
        cssp = flattening.problem.activities[number].cssp
        return cssp.action_labels[index - int(flattening.row_offset[number])]
