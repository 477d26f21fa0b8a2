r"""Procedures that are made from another one and whose policies are policies of that one.

- :class:`Part`: some events, choices and activities of a procedure, in its order. `without_dead_ends` is
  the part without activities that cannot end, choices that may run one, and events where nothing else is left
  to choose.
- :class:`Grouping`: a procedure whose activities are tied together by budgets alone.

Where an activity can end in several ways that matter later, its policy decides how often the next activities
are run, and where they start: the paper's :math:`\Gamma^T_E = \Gamma^I_{E'}`. No budget separates such
activities. But a part of the procedure that is entered in one way and left in one way
(:func:`one_way_parts`) acts as one activity: it starts in one distribution whatever the others do,
it has policies and expected costs, and how often it is run is decided by
the choices outside of it. It is a C-SSP itself, cut out of the flat problem. A *group* is the smallest such
part that holds an activity with several exits or several entries. With a group in the place of its members
every event is entered in one state, and its policies are those of the original, with the same costs.

In the worst case everything is one group.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import and_

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.labels import SelectedLabels
from hcssp.cssp.model import CSSP, BoolArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.preprocessing import prepare
from hcssp.cssp.reachability import almost_sure, reachable
from hcssp.errors import DeadEnd
from hcssp.procedure.model import (
    HCSSP,
    Activity,
    Choice,
    Constraint,
    Outcome,
    entry_distribution,
    reached_events,
)
from hcssp.procedure.policy import ProcedurePolicy
from hcssp.procedure.validation import search_for_end


@dataclass(frozen=True, eq=False)
class Part:
    """A procedure that is a part of another.

    Attributes
    ----------
    problem, original
        The part, and the whole.
    events, choices, activities
        Which of the whole's there are, in its order.
    """

    problem: HCSSP
    original: HCSSP
    events: tuple[int, ...]
    choices: tuple[int, ...]
    activities: tuple[int, ...]

    def lift(self, policy: ProcedurePolicy) -> ProcedurePolicy:
        """A policy of the part as one of the whole; elsewhere it has nothing to do."""
        choices = {
            (self.events[event], entry): self.choices[choice]
            for (event, entry), choice in policy.choices.items()
        }
        rows = [
            np.full(activity.cssp.num_states, NO_ROW, dtype=np.int64) for activity in self.original.activities
        ]
        for index, local in zip(self.activities, policy.activities, strict=True):
            rows[index] = local
        return ProcedurePolicy.compose(self.original, choices, rows)


def part_of(problem: HCSSP, choices: BoolArray, *, only_likely: bool = False) -> Part:
    """What of a procedure can be reached from its start by some of its choices.

    Parameters
    ----------
    problem
        The whole.
    choices
        Which of its choices the part has, where they can be reached.
    only_likely
        Whether to leave out outcomes of probability zero, and what only they lead to.
    """
    outcomes = [
        [each for each in choice.outcomes if not only_likely or each.probability > 0.0]
        for choice in problem.choices
    ]
    chosen = np.flatnonzero(choices).tolist()
    reached = reached_events(
        problem, ((problem.choices[c].event, each) for c in chosen for each in outcomes[c])
    )
    reached[problem.end] = True
    kept = [c for c in chosen if reached[problem.choices[c].event]]
    activities = sorted({each.runs for c in kept for each in outcomes[c] if each.runs is not None})
    new_event, new_choice, new_activity = (
        {each: new for new, each in enumerate(every)}
        for every in (np.flatnonzero(reached).tolist(), kept, activities)
    )
    part = problem.derive(
        events=tuple(problem.events[event] for event in new_event),
        start=new_event[problem.start],
        end=new_event[problem.end],
        activities=tuple(problem.activities[activity] for activity in activities),
        choices=tuple(
            replace(
                problem.choices[c],
                event=new_event[problem.choices[c].event],
                outcomes=tuple(each.renumbered(new_event, new_activity) for each in outcomes[c]),
            )
            for c in kept
        ),
        constraints=tuple(_counting(each, new_choice, new_activity) for each in problem.constraints),
    )
    return Part(part, problem, tuple(new_event), tuple(kept), tuple(activities))


def _counting(
    constraint: Constraint, choices: Mapping[int, int], activities: Mapping[int, int]
) -> Constraint:
    """A constraint on the choices and activities that are left, which have other numbers."""
    counts = {activities[each]: cost for each, cost in constraint.counts.items() if each in activities}
    per = constraint.per
    if per is not None:
        per = replace(per, losses={choices[c]: loss for c, loss in per.losses.items() if c in choices})
    return replace(constraint, counts=counts, per=per)


def without_dead_ends(problem: HCSSP) -> Part | None:
    """The procedure without activities that cannot end and choices that may run one; None if all can.

    Parameters
    ----------
    problem
        A procedure in which every event is entered in one state, so that every activity begins as it says.

    Raises
    ------
    DeadEnd
        If no policy ends without them; it names a state in which one may be trapped.
    """
    certain = np.array([_can_end(activity.cssp) for activity in problem.activities], dtype=np.bool_)
    if certain.all():
        return None
    kept = _choices_that_end(problem, certain)
    if kept is None:
        first = problem.activities[int(np.flatnonzero(~certain)[0])]
        try:
            prepare(first.cssp)
        except DeadEnd as error:
            located = DeadEnd(f"activity {first.name!r}, {error}")
            located.trapped = error.trapped
            raise located from error
        raise RuntimeError(f"activity {first.name!r} can end after all")
    return part_of(problem, kept, only_likely=True)


def _can_end(cssp: CSSP) -> bool:
    """Whether some policy reaches a goal almost surely from wherever the activity begins."""
    found = almost_sure(cssp, within=reachable(cssp))
    return bool(found.states[cssp.initial > 0.0].all())


def _choices_that_end(problem: HCSSP, certain: BoolArray) -> BoolArray | None:
    """The choices after which the end can still be reached with certainty; None if it never can."""
    allowed = np.array(
        [
            all(o.runs is None or certain[o.runs] for o in choice.outcomes if o.probability > 0.0)
            for choice in problem.choices
        ],
        dtype=np.bool_,
    )
    found = search_for_end(problem).almost_sure(rows=allowed)
    return found.rows if found.states[problem.start] else None


@dataclass(frozen=True)
class OneWayPart:
    """Nodes that are entered at one of them only, and left to one place only.

    Attributes
    ----------
    first
        Where it is entered.
    after
        The place that follows it.
    nodes
        What belongs to it, the first among them.
    """

    first: int
    after: int
    nodes: frozenset[int]


def one_way_parts(
    successors: Sequence[Collection[int]],
    is_place: Sequence[bool],
    start: int,
    end: int,
    seeds: Iterable[int],
) -> list[OneWayPart]:
    """The smallest disjoint parts with one way in and one way out that hold the `seeds`.

    The graph has places (event states) and steps between them (activities). A part is entered at its first
    node only and followed by one place only, and everything between belongs to it. It begins at a place, or
    with a step that leads away from one place alone.

    >>> diamond = [[1], [2, 3], [4], [4], [5], []]
    >>> (part,) = one_way_parts(diamond, is_place=[True] * 6, start=0, end=5, seeds=[1])
    >>> part.first, part.after, sorted(part.nodes)
    (1, 4, [1, 2, 3])

    Parameters
    ----------
    successors
        Of each node.
    is_place
        Which nodes are places.
    start, end
        The places where everything begins and ends; the end has no successors.
    seeds
        What must belong to a part; the end is none of them, and what is never reached needs none.
    """
    graph = _Graph(successors, is_place, start, end)
    parts: list[OneWayPart] = []
    for seed in seeds:
        if seed not in graph.reached or any(seed in part.nodes for part in parts):
            continue
        part = graph.smallest_part({seed})
        touched = [other for other in parts if other.nodes & part.nodes]
        while touched:
            parts = [other for other in parts if other not in touched]
            part = graph.smallest_part(part.nodes.union(*(other.nodes for other in touched)))
            touched = [other for other in parts if other.nodes & part.nodes]
        parts.append(part)
    return parts


def in_order(successors: Sequence[Collection[int]], start: int) -> list[int]:
    """The nodes that can be reached: none before one that leads to it, but for ways that lead back."""
    return _postorder([sorted(each, reverse=True) for each in successors], start)[::-1]


class _Graph:
    """The nodes that can be reached from the start, and their dominators and post-dominators."""

    def __init__(
        self, successors: Sequence[Collection[int]], is_place: Sequence[bool], start: int, end: int
    ) -> None:
        self._successors, self._is_place, self._end = successors, is_place, end
        self.reached = _reachable(successors, start)
        self._predecessors: list[set[int]] = [set() for _ in successors]
        for node in self.reached:
            for other in successors[node]:
                self._predecessors[other].add(node)
        backwards = [set(each) for each in self._predecessors]
        # A node that never reaches the end counts as if it did: its part holds all that follows.
        backwards[end] |= self.reached - _reachable(self._predecessors, end)
        self._before = Dominators(successors, start)
        self._behind = Dominators(backwards, end)

    def smallest_part(self, seeds: Collection[int]) -> OneWayPart:
        nodes = set(seeds)
        while True:
            first = self._before.last(nodes)
            while not self._can_begin(first):
                first = self._before.before(first)
            after = self._behind.last(nodes | {first})
            while after != self._end and (after in nodes or after == first or not self._is_place[after]):
                after = self._behind.before(after)
            inside = _reachable(self._successors, first, but=after)
            if not nodes <= inside:
                # Some are reached only through the place that was to follow.
                nodes.add(after)
            elif inside <= nodes:
                back = {before for node in inside - {first} for before in self._predecessors[node]} - inside
                if not back:
                    return OneWayPart(first, after, frozenset(nodes))
                nodes |= back
            nodes |= inside

    def _can_begin(self, node: int) -> bool:
        return self._is_place[node] or len(self._predecessors[node]) == 1


class Dominators:
    """The dominators of each node that a root leads to, as bits: the nodes that every path from there passes.

    Bits follow an order in which no node comes before all that lead to it, so that the last bit of a set is
    the end of the chain.
    """

    def __init__(self, successors: Sequence[Collection[int]], root: int) -> None:
        self._order = _postorder(successors, root)[::-1]
        place = {node: index for index, node in enumerate(self._order)}
        before: dict[int, list[int]] = {node: [] for node in self._order}
        for node in self._order:
            for other in successors[node]:
                before[other].append(node)
        every = (1 << len(self._order)) - 1
        self._passed = dict.fromkeys(self._order, every) | {root: 1}
        changed = True
        while changed:
            changed = False
            for node in self._order[1:]:
                passed = self._common(before[node]) | 1 << place[node]
                changed |= passed != self._passed[node]
                self._passed[node] = passed

    def __contains__(self, node: int) -> bool:
        return node in self._passed

    def last(self, nodes: Iterable[int]) -> int:
        """The last node that every way to any of these passes; one of them itself if it is that."""
        return self._order[self._common(nodes).bit_length() - 1]

    def before(self, node: int) -> int:
        """The last node that every way to `node` passes before it; the root itself before the root."""
        passed = self._passed[node]
        return self._order[max((passed ^ 1 << passed.bit_length() - 1).bit_length() - 1, 0)]

    def _common(self, nodes: Iterable[int]) -> int:
        return reduce(and_, map(self._passed.__getitem__, nodes))


def _reachable(successors: Sequence[Collection[int]], first: int, but: int = -1) -> set[int]:
    """The nodes that can be reached from one, itself among them, without passing another."""
    found, waiting = {first}, [first]
    while waiting:
        for node in successors[waiting.pop()]:
            if node not in found and node != but:
                found.add(node)
                waiting.append(node)
    return found


def _postorder(successors: Sequence[Collection[int]], root: int) -> list[int]:
    """The nodes that can be reached, each after those that were found through it."""
    order: list[int] = []
    seen = {root}
    waiting = [(root, iter(successors[root]))]
    while waiting:
        node, rest = waiting[-1]
        for other in rest:
            if other not in seen:
                seen.add(other)
                waiting.append((other, iter(successors[other])))
                break
        else:
            waiting.pop()
            order.append(node)
    return order


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
        self._entered_in: list[set[int]] = [set() for _ in problem.activities]
        self._exits: list[set[int]] = [set() for _ in problem.activities]
        successors = self._successors()
        self._parts: dict[int, OneWayPart] = {}
        order = in_order(successors, self._flattening.start)
        self._rank = {node: rank for rank, node in enumerate(order)}
        tied = [
            k
            for k in range(problem.num_activities)
            if len(self._exits[k]) > 1 or len(self._entered_in[k]) > 1
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
        new = problem.derive(
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
        """The graph of event states, then activities; also collects where activities are entered and left."""
        flattening, problem = self._flattening, self._problem
        successors: list[set[int]] = [set() for _ in range(self._num_places + problem.num_activities)]
        for state, (event, entry) in enumerate(flattening.event_states):
            for choice in problem.choices_at(event):
                for outcome in problem.choices[choice].outcomes:
                    if outcome.runs is None:
                        successors[state].add(flattening.event_state(outcome.event, entry))
                    else:
                        successors[state].add(self._num_places + outcome.runs)
                        self._entered_in[outcome.runs].add(state)
        for activity, entries in enumerate(self._entered_in):
            if entries:
                flat, goals = flattening.flat_state(activity), problem.activities[activity].cssp.goals
                # An activity that never ends must not be run, so that any exit will do.
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
