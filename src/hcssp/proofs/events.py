r"""The event states' part of a statement: a small shortest path problem over events, made to hold exactly.

An activity with one exit costs what its potential says at its entry. One with several exits offers a choice:
to leave by an exit for the difference of its potential between entry and exit. Where no event comes again,
the values follow from the end backwards, in rational numbers that are rounded down.

Otherwise every outcome that runs an activity is a node of its own whose rows are the exits, and the values of
all nodes are found by policy iteration. If they do not quite hold in rational numbers, every choice is made
cheaper by a margin that grows until they do. Nodes between which one can go to and fro for nothing have one
value; they are one node, or a margin would make going round worth while.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter
from math import inf, nextafter
from typing import NamedTuple

import numpy as np

from hcssp.checker.check import Evidence
from hcssp.checker.format import Statement
from hcssp.checker.layout import Layout, Way
from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.cssp.reachability import free_groups
from hcssp.ssp.mending import FREE

MARGINS = (0.0, 2.0**-50, 2.0**-47, 2.0**-43, 2.0**-37, 2.0**-30, 2.0**-23)
"""What every choice is made cheaper by until the values hold, relative to the largest value."""

LOST = 1e4
"""A dead end is worth this many times the largest value, so that no choice that leads there seems cheap."""

MAX_ITERATIONS = 200
MAX_SWEEPS = 4

Parts = list[tuple[int, Fraction]]
"""The stored potentials that an activity uses, and how much of each."""

Ends = Callable[[int, BoolArray], BoolArray]
"""From which states an activity, given its forbidden rows, can be ended almost surely."""


class _Outcome(NamedTuple):
    """An outcome of a choice: to one of the event states in `exits`, each at a cost.

    If there is no exit, `otherwise` is what is to come.
    """

    probability: Fraction
    exits: tuple[tuple[int, Fraction], ...]
    otherwise: Fraction
    runs: bool

    def after(self, events: Sequence[Fraction]) -> Fraction:
        """What is to come after the outcome, at least."""
        return min((events[to] + cost for to, cost in self.exits), default=self.otherwise)


class _Choice(NamedTuple):
    """A choice at an event state, and what it costs itself."""

    state: int
    outcomes: tuple[_Outcome, ...]
    cost: Fraction

    def gain(self, events: Sequence[Fraction]) -> Fraction:
        """What it costs and the potential rises by in expectation; as the checker has it, but quicker."""
        before = events[self.state] - self.cost
        gains = (each.probability * (each.after(events) - before) for each in self.outcomes)
        return sum(gains, Fraction(0))

    def value(self, events: Sequence[Fraction]) -> Fraction:
        """What is to come when the choice is made, at least."""
        after = sum((each.probability * each.after(events) for each in self.outcomes), Fraction(0))
        return self.cost + after / sum(each.probability for each in self.outcomes)


class _Row(NamedTuple):
    """A row of a node; `choice` tells what is chosen at an event state from the exit of an activity."""

    node: int
    cost: float
    to: tuple[tuple[int, float], ...]
    choice: bool


def parts_of(layout: Layout, statement: Statement) -> list[Parts]:
    """What each activity uses."""
    parts: list[Parts] = [[] for _ in layout.blocks]
    for activity, number, share in statement.uses:
        parts[activity].append((number, Fraction(share)))
    return parts


def event_values(
    evidence: Evidence,
    region: BoolArray,
    parts: Sequence[Parts],
    weights: Sequence[Fraction],
    ends: Ends,
    given: tuple[float, ...] = (),
) -> tuple[float, ...] | None:
    """The potential of every event state, as high as it goes, that holds where `region` is forbidden.

    Parameters
    ----------
    evidence
        The stored potentials.
    region
        The forbidden flat rows.
    parts
        What each activity uses.
    weights
        Those of the whole problem's costs.
    ends
        From which states an activity can be ended almost surely without some of its rows.
    given
        Values that are taken if they hold.

    Returns
    -------
    tuple or None
        None if none was found.
    """
    allowed = [
        row
        for row, each in enumerate(evidence.layout.event_rows)
        if not region[row] and not _may_get_lost(each[2], evidence, region, ends)
    ]
    flattening, choices = evidence.layout.flattening, _choices(evidence, allowed, parts, weights)
    end, num_events = flattening.end, flattening.num_event_states
    if given and given[end] <= 0.0 and _hold(choices, given):
        return given
    costs = [cost for choice in choices for each in choice.outcomes for _, cost in each.exits]
    costs += [choice.cost for choice in choices]
    dearest = max((abs(float(cost)) for cost in costs), default=0.0)
    found = _backwards(choices, num_events, end, LOST * (1.0 + dearest))
    if found is not None:
        return found
    # An exit that nobody should take has a cost far below zero, which says nothing about the others.
    largest = max((float(cost) for cost in costs if cost > 0), default=dearest)
    nodes, rows = _rows(choices, num_events)
    rows += _ways_out(rows, nodes, end, LOST * (1.0 + dearest))
    group = _groups(rows, nodes, FREE * largest)
    for margin in MARGINS:
        values = _solved(rows, group, end, margin * largest)
        events = None if values is None else _lowered(choices, num_events, end, values, group)
        if events is not None:
            return events
    zeros = (0.0,) * num_events
    return zeros if _hold(choices, zeros) else None


def _choices(
    evidence: Evidence, rows: Iterable[int], parts: Sequence[Parts], weights: Sequence[Fraction]
) -> list[_Choice]:
    """The choices, with what they cost and their activities cost between entry and exit."""
    found = []
    for row in rows:
        state, costs, ways = evidence.layout.event_rows[row]
        outcomes = []
        starts: dict[int, list[Way]] = {}
        for way in ways:
            if way.activity is None:
                to = ((way.start, Fraction(0)),)
                outcomes.append(_Outcome(Fraction(way.probability), to, Fraction(0), False))
            else:
                starts.setdefault(way.activity, []).append(way)
        for activity, entries in starts.items():
            own, probability = parts[activity], Fraction(sum(way.probability for way in entries))
            levels = (way.probability * _level(evidence, own, way.start) for way in entries)
            entry = sum(levels, Fraction(0)) / probability
            exits = [
                (to, entry - _level(evidence, own, goal)) for goal, to in evidence.layout.exits[activity]
            ]
            outcomes.append(_Outcome(probability, tuple(exits), entry, True))
        paid = sum((weights[number] * cost for number, cost in costs), Fraction(0))
        found.append(_Choice(state, tuple(outcomes), paid))
    return found


def _level(evidence: Evidence, parts: Parts, state: int) -> Fraction:
    """The potential of an activity in one of its states."""
    levels = (share * Fraction(evidence.potentials[n].values.item(state)) for n, share in parts)
    return sum(levels, Fraction(0))


def _backwards(
    choices: Sequence[_Choice], num_events: int, end: int, lost: float
) -> tuple[float, ...] | None:
    """The values from the end backwards; None if one may come to an event again."""
    after: dict[int, list[_Choice]] = {}
    for choice in choices:
        after.setdefault(choice.state, []).append(choice)
    graph = {
        state: {to for choice in own for each in choice.outcomes for to, _ in each.exits}
        for state, own in after.items()
    }
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError:
        return None
    events = [Fraction(lost)] * num_events
    events[end] = Fraction(0)
    for state in order:
        if state in after and state != end:
            events[state] = Fraction(rounded_down(min(choice.value(events) for choice in after[state])))
    return tuple(float(value) for value in events)


def _hold(choices: Iterable[_Choice], values: Iterable[float]) -> bool:
    """Whether values of the event states hold for all `choices`."""
    events = [Fraction(value) for value in values]
    return all(choice.gain(events) >= 0 for choice in choices)


def _may_get_lost(ways: Sequence[Way], evidence: Evidence, region: BoolArray, ends: Ends) -> bool:
    """Whether a choice may start an activity that cannot be ended almost surely without these rows."""
    for activity in {way.activity for way in ways if way.activity is not None}:
        ending = ends(activity, region[evidence.layout.flattening.rows_of(activity)])
        if not all(ending[way.start] for way in ways if way.activity == activity):
            return True
    return False


def _rows(choices: Sequence[_Choice], num_events: int) -> tuple[int, list[_Row]]:
    """How many nodes there are, the event states first, and their rows."""
    nodes, found = num_events, []
    for choice in choices:
        total = float(sum(each.probability for each in choice.outcomes))
        to = []
        for each in choice.outcomes:
            share = float(each.probability) / total
            if not each.runs:
                to.append((each.exits[0][0], share))
                continue
            found += [_Row(nodes, float(cost), ((target, 1.0),), choice=False) for target, cost in each.exits]
            to.append((nodes, share))
            nodes += 1
        found.append(_Row(choice.state, float(choice.cost), tuple(to), choice=True))
    return nodes, found


def _ways_out(rows: Sequence[_Row], nodes: int, end: int, cost: float) -> list[_Row]:
    """A dear row to the end from every node from which it is not reached almost surely."""
    alive, kept = set(range(nodes)), list(rows)
    while True:
        reached, grows = {end}, True
        while grows:
            fresh = {row.node for row in kept if any(node in reached for node, _ in row.to)} - reached
            reached |= fresh
            grows = bool(fresh)
        if reached >= alive:
            break
        alive &= reached
        kept = [row for row in kept if row.node in alive and all(node in alive for node, _ in row.to)]
    return [_Row(node, cost, ((end, 1.0),), choice=True) for node in range(nodes) if node not in alive]


def _groups(rows: Sequence[_Row], nodes: int, nothing: float) -> IntArray:
    """Numbers of groups of nodes between which one can go to and fro for nothing."""
    free = np.array([abs(row.cost) <= nothing for row in rows], dtype=np.bool_)
    arrows = [(number, row.node, head) for number, row in enumerate(rows) for head, _ in row.to]
    columns = np.array(arrows, dtype=np.int64).reshape(-1, 3).T
    return free_groups(nodes, columns[0], columns[1], columns[2], free)[0]


def _solved(rows: Sequence[_Row], group: IntArray, end: int, margin: float) -> FloatArray | None:
    """The least expected cost of every node if every choice costs `margin` less; None if that fails."""
    count = int(group.max()) + 1
    leaving = [row for row in rows if any(group[head] != group[row.node] for head, _ in row.to)]
    moves = np.zeros((len(leaving), count))
    for number, row in enumerate(leaving):
        for head, probability in row.to:
            moves[number, group[head]] += probability
    costs = np.array([row.cost - margin * row.choice for row in leaving])
    owner = np.array([group[row.node] for row in leaving], dtype=np.int64)
    values = _policy_iteration(moves, costs, owner, int(group[end]))
    return None if values is None else values[group]


def _policy_iteration(moves: FloatArray, costs: FloatArray, owner: IntArray, end: int) -> FloatArray | None:
    """The least expected cost of every node, if the end is reached almost surely from all of them."""
    nodes = moves.shape[1]
    chosen = np.full(nodes, -1, dtype=np.int64)
    attached = np.arange(nodes) == end
    while True:
        # From the end backwards, so that the first policy is proper.
        found = np.flatnonzero(~attached[owner] & (moves[:, attached] > 0.0).any(axis=1))
        if len(found) == 0:
            break
        chosen[owner[found]] = found
        attached[owner[found]] = True
    live = np.flatnonzero(chosen >= 0)
    values = np.zeros(nodes)
    for _ in range(MAX_ITERATIONS):
        used = chosen[live]
        try:
            values[live] = np.linalg.solve(np.eye(len(live)) - moves[np.ix_(used, live)], costs[used])
        except np.linalg.LinAlgError:
            return None
        gains = costs + moves @ values - values[owner]
        better = np.flatnonzero((gains < -1e-12 * (1.0 + np.abs(values[owner]))) & (owner != end))
        if len(better) == 0:
            break
        better = better[np.argsort(-gains[better], kind="stable")]
        chosen[owner[better]] = better
    return values


def _lowered(
    choices: Sequence[_Choice], num_events: int, end: int, values: FloatArray, group: IntArray
) -> tuple[float, ...] | None:
    """The event states' values, lowered where rounding asks for it; None if it goes on asking."""
    members = [np.flatnonzero(group[:num_events] == each).tolist() for each in group[:num_events]]
    events = [Fraction(value) for value in values[:num_events].tolist()]
    for state in members[end]:
        events[state] = Fraction(0)
    for _ in range(MAX_SWEEPS):
        holding = True
        for choice in reversed(choices):
            gain = choice.gain(events)
            if gain >= 0:
                continue
            own = members[choice.state]
            # What comes back at once is lowered with the state itself.
            leaving = sum(each.probability for each in choice.outcomes if _leaves(each, own))
            if leaving == 0:
                return None
            lowered = Fraction(rounded_down(events[choice.state] + gain / leaving))
            for member in own:
                events[member] = lowered
            holding = False
        if holding:
            return tuple(float(value) for value in events)
    return None


def _leaves(outcome: _Outcome, members: Sequence[int]) -> bool:
    """Whether an outcome may lead to an event state that is not among `members`."""
    return any(target not in members for target, _ in outcome.exits)


def rounded_down(number: Fraction) -> float:
    """The largest double that is not above `number`."""
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else nextafter(nearest, -inf)
