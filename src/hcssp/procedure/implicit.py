r"""A procedure some of whose activities are never enumerated.

`ProcedureBuilder.build_implicit` makes one where activities are :class:`~hcssp.cssp.implicit.ImplicitCSSP`.
It is itself an implicit problem, flat, and all that takes those takes it. Its states have the labels of a
flattened procedure: an event by its name, and a state of an activity by the pair of the activity's name and
its own label.

**Problem.** A procedure runs implicit problems among others. The result is one state space equivalent to
the whole, as :mod:`hcssp.procedure.flattening` does, and expands only the states that are queried.

**Method.** The *outline* has a stand-in for every implicit activity: it begins, and ends in an exit of its
choice. A flat state of the outline is a state here; where its transitions lead to the beginning of a
stand-in they lead to the first states of the activity instead, and a goal of the activity is the event
state of the outline that it leads to. So a state is a pair: 0 and a flat state of the outline, or the number
of an activity, counted from 1, and the number of a state that was met in it. Functions of an activity that
take many states at once get many at once.

**Heuristics.** In the outline, each activity is replaced by one step that costs the activity's heuristic at
its start. Value iteration from zero gives lower bounds :math:`V_k` on the expected costs of every policy,
whenever it stops, since an activity costs at least its heuristic, and no exit has a lower value than the best
exit. In an activity, the heuristic is the activity's heuristic plus the least :math:`V_k` of the event states
that it may lead to. It is consistent if the heuristics of the activities are, because value iteration from
below never exceeds its next iterate.

>>> from hcssp.procedure.builder import ProcedureBuilder
>>> from hcssp.procedure.model import Outcome
>>> def walk(length):
...     return ImplicitCSSP(0, lambda place: ("step",), lambda place, action: {place + 1: 0.5, place: 0.5},
...                         lambda place, action: 1.0, lambda place: place >= length,
...                         lambda place: 2.0 * max(length - place, 0), cost_names=("minutes",))
>>> trip = ProcedureBuilder("trip")
>>> home, inn, there = (trip.add_event(name) for name in ("home", "inn", "there"))
>>> first, second = trip.add_activity("uphill", walk(3)), trip.add_activity("downhill", walk(2))
>>> trip.add_choice(home, "go", to=[Outcome(1.0, inn, runs=first)])
>>> trip.add_choice(inn, "go on", to=[Outcome(1.0, there, runs=second)])
>>> problem = trip.build_implicit(start=home, end=there)
>>> problem
<ImplicitProcedure trip: 3 events, 2 activities; minutes>
>>> sorted(map(str, problem.enumerated().state_labels))[:3]
["('downhill', 0)", "('downhill', 1)", "('uphill', 0)"]
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np

from hcssp.cssp.arrays import joined_spans
from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.cssp.labels import LazyLabels
from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.cssp.state_space import ActionCodes, GrowingArray, RowNumbers, TransitionBatch, sorted_batch
from hcssp.cssp.transition_costs import outcomes_of_rows
from hcssp.errors import InvalidProblem
from hcssp.heuristics import ExpectedCosts
from hcssp.procedure.model import HCSSP
from hcssp.procedure.nesting import OTHER_EXIT


class Inner:
    """One implicit activity: the states that were met in it, and where its goals lead.

    Parameters
    ----------
    problem
        The activity's problem.
    counted
        For each cost of the procedure, which of the activity's costs counts there; -1 for none.
    event_states
        From the labels of goals to flat event states of the outline.
    otherwise
        Where all other goals lead.
    """

    def __init__(
        self,
        problem: ImplicitCSSP,
        counted: Sequence[int],
        event_states: Mapping[Hashable, int],
        otherwise: int,
    ) -> None:
        self.problem = problem
        self.numbers = problem.space.numbers()
        self._counted, self._event_states, self._otherwise = list(counted), event_states, otherwise
        # Of each state that was met: the event state that it leads to, -1 where it is no goal.
        self._leads_to = GrowingArray(np.int64)
        states, probabilities = problem.space.initial
        self.initial: tuple[IntArray, FloatArray] = self.numbers.of(states), np.array(probabilities)

    @property
    def exits(self) -> list[int]:
        """All event states that it may lead to."""
        return [*self._event_states.values(), self._otherwise]

    def numbered(self, states: Any) -> IntArray:
        """The numbers of some states, which may be new."""
        return self.numbers.of(states)

    def leads_to(self, numbers: IntArray) -> IntArray:
        """The event state that each state leads to, being a goal; -1 where it is none."""
        known = len(self._leads_to)
        if known < len(self.numbers):
            new = np.arange(known, len(self.numbers))
            goals = self.problem.space.goals(self.numbers.states(new))
            reached = np.where(goals, self._otherwise, -1)
            if self._event_states:
                for place in np.flatnonzero(goals).tolist():
                    label = self.numbers.label(int(new[place]))
                    reached[place] = self._event_states.get(label, self._otherwise)
            self._leads_to.append(reached)
        found: IntArray = self._leads_to.view[numbers]
        return found

    def costs(self, own: FloatArray) -> FloatArray:
        """The activity's costs, one axis for them, as costs of the procedure."""
        padded = np.concatenate((own, np.zeros((1, own.shape[1]))))
        flat: FloatArray = padded[self._counted]
        return flat

    def heuristics(self, numbers: IntArray) -> FloatArray:
        """What its heuristic says about some of its states, as costs of the procedure."""
        known = self.problem.space.heuristics(self.numbers.states(numbers))
        own = np.zeros((len(self.problem.cost_names), len(numbers))) if known is None else known
        return self.costs(own)

    def at_its_start(self) -> FloatArray:
        """A lower bound on its costs from its initial states, for each cost of the procedure."""
        states, probabilities = self.initial
        least: FloatArray = self.heuristics(states) @ probabilities
        return least


class ProcedureSpace:
    """The state space of a procedure with implicit activities; see the module's text.

    Parameters
    ----------
    outline
        The procedure with stand-ins.
    inner
        The implicit activities, by their index in the outline.
    """

    def __init__(self, outline: HCSSP, inner: Mapping[int, Inner]) -> None:
        flattening = outline.flattening
        self._flat = flattening.cssp
        self._inner = dict(inner)
        self._name = {index: outline.activities[index].name for index in inner}
        self._activity = {name: index for index, name in self._name.items()}
        # From the flat state in which a stand-in begins to its activity.
        self._begins = {int(flattening.flat_state(index)[0]): index for index in inner}
        self._is_begin: BoolArray = np.zeros(self._flat.num_states, dtype=np.bool_)
        self._is_begin[list(self._begins)] = True
        self.initial: tuple[Any, list[float]] = (np.array([[0, flattening.start]]), [1.0])
        self._codes = ActionCodes()
        self.action_names = self._codes.names

    def numbers(self) -> PairNumbers:
        return PairNumbers(self)

    def beginning_in(self, label: Hashable) -> Self:
        other = copy(self)
        if isinstance(label, tuple) and len(label) == 2 and label[0] in self._activity:
            index = self._activity[label[0]]
            first, _ = self._inner[index].problem.space.beginning_in(label[1]).initial
            other.initial = self._pairs(index, self._inner[index].numbered(first)), [1.0]
            return other
        flat = self._flat.state_index.get(label)
        if flat is None or flat in self._begins:
            raise InvalidProblem([f"{label!r} is not a state; give an event, or an activity and its state"])
        other.initial = np.array([[0, flat]]), [1.0]
        return other

    def goals(self, states: IntArray) -> BoolArray:
        flat = states[:, 0] == 0
        goals = np.zeros(len(states), dtype=np.bool_)
        goals[flat] = self._flat.goals[states[flat, 1]]
        return goals

    def heuristics(self, states: IntArray) -> FloatArray:
        values = np.zeros((len(self._flat.costs), len(states)))
        for piece in np.unique(states[:, 0]).tolist():
            own = states[:, 0] == piece
            if piece == 0:
                values[:, own] = self._least[:, states[own, 1]]
            else:
                inner = self._inner[piece - 1]
                after = self._least[:, inner.exits].min(axis=1)
                values[:, own] = inner.heuristics(states[own, 1]) + after[:, np.newaxis]
        return values

    def together(self, weights: FloatArray, states: IntArray) -> FloatArray | None:
        """None: what an activity knows under prices is not asked, since prices come from the whole."""
        return None

    @cached_property
    def _least(self) -> FloatArray:
        """For each cost and flat state of the outline, a bound on the cost-to-go, by value iteration."""
        flat = self._flat
        costs = flat.costs.copy()
        for begin, index in self._begins.items():
            costs[:, flat.row_start[begin] : flat.row_start[begin + 1]] = self._inner[index].at_its_start()[
                :, np.newaxis
            ]
        expected = ExpectedCosts(flat)
        return np.array([expected.least(cost) for cost in costs])

    def transitions(self, states: IntArray) -> TransitionBatch:
        batches = []
        for piece in np.unique(states[:, 0]).tolist():
            place = np.flatnonzero(states[:, 0] == piece)
            asked = states[place, 1]
            batch = self._of_the_outline(asked) if piece == 0 else self._of_an_activity(piece, asked)
            batches.append((place, batch))
        parts, first_row = [], 0
        for place, batch in batches:
            owners = place[np.asarray(batch.states, dtype=np.int64)]
            rows = np.asarray(batch.rows, dtype=np.int64) + first_row
            first_row += len(owners)
            parts.append((owners, batch.actions, batch.costs, rows, batch.successors, batch.probabilities))
        columns = list(zip(*parts, strict=True))
        extra: FloatArray | None = None
        if any(batch.arrival_costs is not None for _, batch in batches):
            free = [np.zeros((len(self._flat.costs), len(each[3]))) for each in parts]
            extra = np.hstack(
                [
                    none if batch.arrival_costs is None else np.asarray(batch.arrival_costs)
                    for none, (_, batch) in zip(free, batches, strict=True)
                ]
            )
        return TransitionBatch(
            np.concatenate(columns[0]),
            np.concatenate(columns[1]),
            np.concatenate(columns[2], axis=1),
            np.concatenate(columns[3]),
            np.concatenate(columns[4]),
            np.concatenate(columns[5]),
            extra,
        )

    def _of_the_outline(self, states: IntArray) -> TransitionBatch:
        flat = self._flat
        counts = flat.row_start[states + 1] - flat.row_start[states]
        owners = np.repeat(np.arange(len(states)), counts)
        rows, _ = joined_spans(flat.row_start[states], counts)
        chosen = outcomes_of_rows(flat, rows)
        row, head, share = (
            np.repeat(np.arange(len(rows)), chosen.lengths),
            chosen.states,
            chosen.probabilities,
        )
        successors = np.stack((np.zeros(len(head), dtype=np.int64), head), axis=1)
        into = self._is_begin[head]
        found = [(row[~into], successors[~into], share[~into], chosen.entry[~into])]
        for place in np.flatnonzero(into).tolist():
            index = self._begins[int(head[place])]
            first, probabilities = self._inner[index].initial
            count, there = len(first), self._pairs(index, first)
            own = np.full(count, chosen.entry[place])
            found.append((np.full(count, row[place]), there, share[place] * probabilities, own))
        row, successors, share, entry = (np.concatenate(each) for each in zip(*found, strict=True))
        codes = [self._codes.of(flat.action_labels[each]) for each in rows.tolist()]
        costs, extra = flat.costs[:, rows], None
        if flat.transition_costs is not None:
            # Rows whose outcomes cost differently cost nothing but on arrival.
            extra = np.zeros((len(costs), len(row)))
            extra[:, entry >= 0] = flat.transition_costs.costs[:, entry[entry >= 0]]
            costs[:, row[entry >= 0]] = 0.0
        return TransitionBatch(owners, np.array(codes), costs, row, successors, share, extra)

    def _of_an_activity(self, piece: int, states: IntArray) -> TransitionBatch:
        inner = self._inner[piece - 1]
        space, names = inner.problem.space, inner.problem.cost_names
        labels = PairLabels(self, np.stack((np.full(len(states), piece), states), axis=1))
        own = space.transitions(inner.numbers.states(states))
        # Checked here, in the activity's own words, so that what follows can rely on it.
        batch = sorted_batch(own, labels, names, space.action_names)
        codes = np.array([self._codes.of(name) for name in space.action_names], dtype=np.int64)
        paid = batch.transition_costs
        return TransitionBatch(
            np.repeat(np.arange(len(states)), batch.counts),
            codes[batch.actions],
            inner.costs(batch.costs if paid is None else np.zeros(batch.costs.shape)),
            np.repeat(np.arange(len(batch.lengths)), batch.lengths),
            self._pairs(piece - 1, inner.numbered(batch.successors)),
            batch.probabilities,
            None if paid is None else inner.costs(paid),
        )

    def _pairs(self, index: int, numbers: IntArray) -> IntArray:
        """States of an activity as states here; a goal is the event state that it leads to."""
        reached = self._inner[index].leads_to(numbers)
        inside = reached < 0
        return np.stack((np.where(inside, index + 1, 0), np.where(inside, numbers, reached)), axis=1)

    def label(self, piece: int, number: int) -> Hashable:
        """The label of a state: as in the flat problem of a procedure."""
        if piece == 0:
            return self._flat.state_labels[number]
        return self._name[piece - 1], self._inner[piece - 1].numbers.label(number)

    def find(self, label: Hashable) -> tuple[int, int] | None:
        """The state of a label; None if it was never met."""
        if isinstance(label, tuple) and len(label) == 2 and label[0] in self._activity:
            index = self._activity[label[0]]
            number = self._inner[index].numbers.find(label[1])
            return None if number is None else (index + 1, number)
        flat = self._flat.state_index.get(label)
        return None if flat is None else (0, flat)


class PairNumbers(RowNumbers):
    """Numbers for the states of a procedure, which are pairs; see the module's text."""

    def __init__(self, space: ProcedureSpace) -> None:
        super().__init__(2)
        self._space = space

    def find(self, state: Hashable) -> int | None:
        """The number of the state of a label."""
        pair = self._space.find(state)
        return None if pair is None else super().find(pair)

    def label(self, number: int) -> Hashable:
        piece, own = self.states(np.array([number]))[0].tolist()
        return self._space.label(piece, own)

    def labels(self) -> Sequence[Hashable]:
        return PairLabels(self._space, self.states(np.arange(len(self))))


class PairLabels(LazyLabels):
    """The labels of pairs, made on demand."""

    def __init__(self, space: ProcedureSpace, pairs: IntArray) -> None:
        self._space, self._pairs = space, pairs

    def __len__(self) -> int:
        return len(self._pairs)

    def _label(self, index: int) -> Hashable:
        piece, number = self._pairs[index].tolist()
        return self._space.label(piece, number)


class ImplicitProcedure(ImplicitCSSP):
    """A procedure with implicit activities, as an equivalent implicit problem.

    Parameters
    ----------
    outline
        The procedure, with a stand-in (:func:`~hcssp.procedure.nesting.stand_in`) for every implicit
        activity.
    inner
        The implicit activities, by their index in the outline.
    exits
        For each of them, the events that single goals lead to, by the goals' labels.

    Attributes
    ----------
    outline
        The events, choices, activities and constraints, for those who draw or describe them.

    Raises
    ------
    InvalidProblem
        If it bounds each execution of a procedure, which cannot be ensured without enumerating it.
    """

    def __init__(
        self,
        outline: HCSSP,
        inner: Mapping[int, ImplicitCSSP],
        exits: Mapping[int, Mapping[Hashable, int]],
    ) -> None:
        limited = [
            f"constraint {each.name!r} holds for each execution of a procedure, which is not possible beside "
            "activities that are never enumerated; bound the sum over the whole procedure instead"
            for each in outline.constraints
            if each.per is not None
        ]
        if limited:
            raise InvalidProblem(limited)
        flattening = outline.flattening
        parts = {}
        for index, problem in inner.items():
            counted = [0, *(each.counts.get(index, -1) for each in outline.constraints)]
            reached = {label: flattening.event_state(event) for label, event in exits[index].items()}
            otherwise = flattening.event_state(outline.activity_outcome[index].event_after(OTHER_EXIT))
            parts[index] = Inner(problem, counted, reached, otherwise)
        self.outline = outline
        self._state(
            ProcedureSpace(outline, parts),
            flattening.cost_names,
            dict(zip(outline.constraint_names, outline.bounds.tolist(), strict=True)),
            all(problem.consistent for problem in inner.values()),
            max(problem.max_states for problem in inner.values()),
            outline.name,
            outline.description,
        )

    def __repr__(self) -> str:
        sizes = f"{self.outline.num_events} events, {self.outline.num_activities} activities"
        start = f"<ImplicitProcedure {self.name}:" if self.name else "<ImplicitProcedure:"
        return f"{start} {sizes}; {' and '.join(self.cost_names)}>"
