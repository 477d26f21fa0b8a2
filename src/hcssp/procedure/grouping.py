r"""A procedure whose activities are tied together by budgets alone: those that exits tie are taken as one.

Where an activity can end in several ways that matter later, its policy decides how often the next activities
are run, and where they start: the paper's :math:`\Gamma^T_E = \Gamma^I_{E'}`. No budget separates such
activities. But a part of the procedure that is entered in one way and left in one way
(:mod:`hcssp.procedure.one_way_parts`) is an activity to whoever looks at it from outside: it starts in one
distribution whatever the others do, it has policies and expected costs, and how often it is run is decided by
the choices outside of it. It is a C-SSP itself, cut out of the flat problem. A *group* is the smallest such
part that holds an activity with several exits or several entries. With a group in the place of its members
every event is entered in one state, and its policies are those of the original, with the same costs.

In the worst case everything is one group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.labels import SelectedLabels
from hcssp.cssp.model import CSSP, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.reachability import reachable
from hcssp.procedure.elements import Activity, Choice, Constraint, Outcome
from hcssp.procedure.entries import entry_distribution
from hcssp.procedure.model import HCSSP
from hcssp.procedure.one_way_parts import OneWayPart, in_order, one_way_parts
from hcssp.procedure.policy import ProcedurePolicy

BEGIN = "begin"
"""What is chosen where a group takes the place of an event: nothing else is left to choose there."""

TOGETHER = " + "
"""Between the names of the activities of a group."""


@dataclass(frozen=True, eq=False)
class Grouping:
    """A procedure without exits that matter, and the one that it was made of.

    Attributes
    ----------
    problem, original
        The procedure with groups for activities, and the one as it was stated.
    members
        For each activity of `problem`, the activities of `original` that it stands for; none before one that
        leads to it, but for ways that lead back.
    owners
        For each group of several activities, which of its members each of its states belongs to, by its
        position; -1 for event states. None for an activity that is alone.
    """

    problem: HCSSP
    original: HCSSP
    members: tuple[tuple[int, ...], ...]
    owners: tuple[IntArray | None, ...]
    _events: tuple[int, ...]
    _rows: tuple[int, ...]
    _cuts: tuple[_Cut, ...]

    def lift(self, policy: ProcedurePolicy) -> ProcedurePolicy:
        """A policy of `problem` as one of `original`."""
        rows = np.full(self.original.flattening.num_states, NO_ROW, dtype=np.int64)
        for (event, _), choice in policy.choices.items():
            rows[self._events[event]] = self._rows[choice]
        for cut, local in zip(self._cuts, policy.activities, strict=True):
            taken = np.flatnonzero(local != NO_ROW)
            rows[cut.states[taken]] = cut.rows[local[taken]]
        return ProcedurePolicy(self.original, rows)


@dataclass(frozen=True, eq=False)
class _Cut:
    """An activity of the new procedure, and where its states and rows are in the flat original."""

    activity: Activity
    counts: Mapping[int, int]
    members: tuple[int, ...]
    states: IntArray
    rows: IntArray


def grouped(problem: HCSSP) -> Grouping:
    """The same procedure with groups in the place of the activities that exits tie together."""
    return _Maker(problem).make()


class _Maker:
    """Everything that is needed on the way."""

    def __init__(self, problem: HCSSP) -> None:
        self._problem = problem
        self._flattening = problem.flattening
        self._num_places = self._flattening.num_event_states
        self._doors: list[set[int]] = [set() for _ in problem.activities]
        self._exits: list[set[int]] = [set() for _ in problem.activities]
        successors = self._successors()
        self._parts: dict[int, OneWayPart] = {}
        order = in_order(successors, self._flattening.start)
        self._rank = {node: rank for rank, node in enumerate(order)}
        tied = [
            k for k in range(problem.num_activities) if len(self._exits[k]) > 1 or len(self._doors[k]) > 1
        ]
        is_place = [node < self._num_places for node in range(len(successors))]
        seeds = [self._num_places + activity for activity in tied]
        flat = self._flattening
        for part in one_way_parts(successors, is_place, flat.start, flat.end, seeds):
            self._parts[part.first] = part
        self._cuts: list[_Cut] = []
        self._choices: list[Choice] = []
        self._rows: list[int] = []

    def make(self) -> Grouping:
        problem, flattening = self._problem, self._flattening
        inner = {node for part in self._parts.values() for node in part.nodes if node != part.first}
        events = [state for state in range(self._num_places) if state not in inner]
        place = {state: event for event, state in enumerate(events)}
        for state in events:
            part = self._parts.get(state)
            if part is not None:
                runs = self._add(self._group(part, {state: 1.0}))
                self._choices.append(Choice(place[state], BEGIN, (Outcome(1.0, place[part.after], runs),)))
                self._rows.append(NO_ROW)
                continue
            for row in range(*flattening.event_row_start[state : state + 2].tolist()):
                choice = problem.choices[int(flattening.event_row_choice[row])]
                outcomes = tuple(self._outcome(outcome, state, place) for outcome in choice.outcomes)
                self._choices.append(Choice(place[state], choice.name, outcomes))
                self._rows.append(row)
        new = problem.restricted(
            events=tuple(self._name(state) for state in events),
            start=place[flattening.start],
            end=place[flattening.end],
            activities=tuple(cut.activity for cut in self._cuts),
            choices=tuple(self._choices),
            constraints=tuple(self._constraint(j) for j in range(problem.num_constraints)),
        )
        members = tuple(cut.members for cut in self._cuts)
        owners = tuple(self._owners(cut) for cut in self._cuts)
        return Grouping(new, problem, members, owners, tuple(events), tuple(self._rows), tuple(self._cuts))

    def _successors(self) -> list[set[int]]:
        """The graph of event states and, behind them, activities; notes doors and exits on the way."""
        flattening, problem = self._flattening, self._problem
        successors: list[set[int]] = [set() for _ in range(self._num_places + problem.num_activities)]
        for state, (event, entry) in enumerate(flattening.event_states):
            for choice in problem.choices_at(event):
                for outcome in problem.choices[choice].outcomes:
                    if outcome.runs is None:
                        successors[state].add(flattening.event_state(outcome.event, entry))
                    else:
                        successors[state].add(self._num_places + outcome.runs)
                        self._doors[outcome.runs].add(state)
        for activity, doors in enumerate(self._doors):
            if doors:
                flat, goals = flattening.flat_state(activity), problem.activities[activity].cssp.goals
                # What never ends is as good as what ends at last: nobody may run it.
                self._exits[activity] = set(flat[goals & (flat >= 0)].tolist()) or {flattening.end}
                successors[self._num_places + activity] = self._exits[activity]
        return successors

    def _outcome(self, outcome: Outcome, state: int, place: Mapping[int, int]) -> Outcome:
        """The same outcome of a choice that is made in an event state outside of all groups."""
        flattening = self._flattening
        entry = flattening.event_states[state][1]
        if outcome.runs is None:
            return Outcome(outcome.probability, place[flattening.event_state(outcome.event, entry)])
        activity = self._problem.activities[outcome.runs]
        part = self._parts.get(self._num_places + outcome.runs)
        if part is not None:
            after = part.after
        else:
            (after,) = self._exits[outcome.runs]
            if entry is None and self._is_plain(outcome.runs):
                return Outcome(outcome.probability, place[after], self._add(self._alone(outcome.runs)))
            part = OneWayPart(outcome.runs, after, frozenset([self._num_places + outcome.runs]))
        local, chances = entry_distribution(activity, entry)
        begins = dict(zip(flattening.flat_state(outcome.runs)[local].tolist(), chances.tolist(), strict=True))
        return Outcome(outcome.probability, place[after], self._add(self._group(part, begins)))

    def _is_plain(self, activity: int) -> bool:
        """Whether an activity hands nothing over, as the new procedure sees it."""
        goals = np.count_nonzero(self._problem.activities[activity].cssp.goals)
        return bool(goals == 1) or self._exits[activity] == {self._flattening.end}

    def _add(self, cut: _Cut) -> int:
        self._cuts.append(cut)
        return len(self._cuts) - 1

    def _alone(self, activity: int) -> _Cut:
        """An activity that stays as it is."""
        flattening, kept = self._flattening, self._problem.activities[activity]
        counts = {
            j: each.counts[activity]
            for j, each in enumerate(self._problem.constraints)
            if activity in each.counts
        }
        first = int(flattening.row_offset[activity])
        rows = np.arange(first, int(flattening.row_offset[activity + 1]))
        return _Cut(kept, counts, (activity,), flattening.flat_state(activity), rows)

    def _group(self, part: OneWayPart, begins: Mapping[int, float]) -> _Cut:
        """The group that begins in some flat states, with these probabilities."""
        inside = sorted(part.nodes, key=self._rank.__getitem__)
        members = tuple(node - self._num_places for node in inside if node >= self._num_places)
        name = TOGETHER.join(self._problem.activities[each].name for each in members)
        cssp, states, rows = _cut_out(self._flat, begins, part.after)
        used = np.flatnonzero(cssp.costs[1:].any(axis=1)).tolist()
        return _Cut(Activity(name, cssp), {j: 1 + j for j in used}, members, states, rows)

    def _owners(self, cut: _Cut) -> IntArray | None:
        if len(cut.members) == 1:
            return None
        activity = np.searchsorted(self._flattening.state_offset, cut.states, side="right") - 1
        position = np.full(self._problem.num_activities + 1, -1, dtype=np.int64)
        position[list(cut.members)] = np.arange(len(cut.members))
        owners: IntArray = position[activity]
        return owners

    @cached_property
    def _flat(self) -> CSSP:
        return self._flattening.assembled()

    def _constraint(self, index: int) -> Constraint:
        constraint = self._problem.constraints[index]
        counts = {k: cut.counts[index] for k, cut in enumerate(self._cuts) if index in cut.counts}
        per = constraint.per
        if per is not None:
            # What is lost by choices inside a group is a cost of the group.
            chosen = [NO_ROW if row == NO_ROW else self._choice_of(row) for row in self._rows]
            losses = {c: per.losses[old] for c, old in enumerate(chosen) if old in per.losses}
            per = replace(per, losses=losses)
        return replace(constraint, counts=counts, per=per)

    def _choice_of(self, row: int) -> int:
        return int(self._flattening.event_row_choice[row])

    def _name(self, state: int) -> str:
        event, entry = self._flattening.event_states[state]
        name = self._problem.events[event]
        return name if entry is None else f"{name} ({entry})"


def _cut_out(flat: CSSP, begins: Mapping[int, float], after: int) -> tuple[CSSP, IntArray, IntArray]:
    """A part of the flat problem as a C-SSP that ends in one state, and the flat states and rows it has."""
    initial = np.zeros(flat.num_states)
    initial[list(begins)] = list(begins.values())
    onwards = np.ones(flat.num_rows, dtype=np.bool_)
    onwards[flat.row_start[after] : flat.row_start[after + 1]] = False
    reached = reachable(flat.derive(initial=initial), onwards)
    reached[after] = True
    states = np.flatnonzero(reached)
    rows = np.flatnonzero(onwards & np.repeat(reached, np.diff(flat.row_start)))
    lengths = np.where(states == after, 0, np.diff(flat.row_start)[states])
    problem = CSSP.unchecked(
        transitions=csr_array(csr_array(flat.transitions[rows])[:, states]),
        row_start=np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)]),
        costs=flat.costs[:, rows],
        initial=initial[states],
        goals=states == after,
        cost_names=flat.cost_names,
        bounds=np.full(len(flat.bounds), np.inf),
        state_labels=SelectedLabels(flat.state_labels, states),
        action_labels=SelectedLabels(flat.action_labels, rows),
    )
    return problem, states, rows
