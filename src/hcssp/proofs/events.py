r"""The event states' part of a statement: a small shortest path problem over events, made to hold exactly.

An activity with one exit costs what its potential says at its entry. One with several exits offers a choice:
to leave by an exit for the difference of its potential between entry and exit. So every outcome that runs an
activity is a node of its own whose rows are the exits, and the values of all nodes are found by policy
iteration. If they do not quite hold in rational numbers, every choice is made cheaper by a margin that grows
until they do. Nodes between which one can go to and fro for nothing have one value; they are one node, or a
margin would make going round worth while.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from math import inf, nextafter
from typing import NamedTuple

import numpy as np

from hcssp.checker.check import Evidence, Parts
from hcssp.checker.layout import Way
from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.proofs.feasibility import FREE, free_groups

MARGINS = (0.0, 2.0**-50, 2.0**-47, 2.0**-43, 2.0**-37, 2.0**-30, 2.0**-23)
"""What every choice is made cheaper by until the values hold, relative to the largest value."""

LOST = 1e4
"""A dead end is worth this many times the largest value, so that no choice that leads there seems cheap."""

MAX_ITERATIONS = 200
MAX_SWEEPS = 4

Ends = Callable[[int, BoolArray], BoolArray]
"""From which states an activity, given its forbidden rows, can be ended almost surely."""


class _Row(NamedTuple):
    """A row of a node; `choice` tells what is chosen at an event state from the exit of an activity."""

    node: int
    cost: float
    to: tuple[tuple[int, float], ...]
    choice: bool


def event_values(
    evidence: Evidence,
    region: BoolArray,
    parts: Sequence[Parts],
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
    ends
        From which states an activity can be ended almost surely without some of its rows.
    given
        Values that are taken if they hold.

    Returns
    -------
    tuple or None
        None if none was found.
    """
    choices = [
        row
        for row, (_, ways) in enumerate(evidence.layout.event_rows)
        if not region[row] and not _may_get_lost(ways, evidence, region, ends)
    ]
    end = evidence.layout.flattening.end
    if given and given[end] <= 0.0 and _hold(evidence, choices, parts, given):
        return given
    nodes, rows = _rows(evidence, choices, parts)
    dearest = max((abs(row.cost) for row in rows), default=0.0)
    # An exit that nobody should take has a cost far below zero, which says nothing about the others.
    largest = max((row.cost for row in rows if row.cost > 0.0), default=dearest)
    rows += _ways_out(rows, nodes, end, LOST * (1.0 + dearest))
    group = _groups(rows, nodes, FREE * largest)
    for margin in MARGINS:
        values = _solved(rows, group, end, margin * largest)
        events = None if values is None else _lowered(evidence, choices, parts, values, group)
        if events is not None:
            return events
    zeros = (0.0,) * evidence.layout.flattening.num_event_states
    return zeros if _hold(evidence, choices, parts, zeros) else None


def _hold(
    evidence: Evidence, choices: Iterable[int], parts: Sequence[Parts], values: Iterable[float]
) -> bool:
    """Whether values of the event states hold for all `choices`."""
    events = [Fraction(value) for value in values]
    return all(evidence.gain(row, events, parts) >= 0 for row in choices)


def _may_get_lost(ways: Iterable[Way], evidence: Evidence, region: BoolArray, ends: Ends) -> bool:
    """Whether a choice may start an activity that cannot be ended almost surely without these rows."""
    for way in ways:
        if way.activity is not None:
            ending = ends(way.activity, region[evidence.layout.rows_of(way.activity)])
            if not all(ending[start] for start, _ in way.starts):
                return True
    return False


def _rows(evidence: Evidence, choices: Sequence[int], parts: Sequence[Parts]) -> tuple[int, list[_Row]]:
    """How many nodes there are, the event states first, and their rows."""
    layout = evidence.layout
    nodes, found = layout.flattening.num_event_states, []
    for choice in choices:
        state, ways = layout.event_rows[choice]
        total = float(sum(way.probability for way in ways))
        to = []
        for probability, activity, starts in ways:
            if activity is None:
                to.append((starts[0][0], float(probability) / total))
                continue
            own = parts[activity]
            entry = sum(float(share * evidence.level(own, start)) for start, share in starts)
            for goal, target in layout.exits[activity]:
                cost = entry - float(evidence.level(own, goal))
                found.append(_Row(nodes, cost, ((target, 1.0),), choice=False))
            to.append((nodes, float(probability) / total))
            nodes += 1
        found.append(_Row(state, 0.0, tuple(to), choice=True))
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
    evidence: Evidence, choices: Sequence[int], parts: Sequence[Parts], values: FloatArray, group: IntArray
) -> tuple[float, ...] | None:
    """The event states' values, lowered where rounding asks for it; None if it goes on asking."""
    num_events = evidence.layout.flattening.num_event_states
    members = [np.flatnonzero(group[:num_events] == each).tolist() for each in group[:num_events]]
    events = [Fraction(value) for value in values[:num_events].tolist()]
    for state in members[evidence.layout.flattening.end]:
        events[state] = Fraction(0)
    for _ in range(MAX_SWEEPS):
        holding = True
        for row in reversed(choices):
            gain = evidence.gain(row, events, parts)
            if gain >= 0:
                continue
            state, ways = evidence.layout.event_rows[row]
            # What comes back at once is lowered with the state itself.
            leaving = sum(way.probability for way in ways if _leaves(evidence, way, members[state]))
            if leaving == 0:
                return None
            lowered = Fraction(rounded_down(events[state] + gain / leaving))
            for member in members[state]:
                events[member] = lowered
            holding = False
        if holding:
            return tuple(float(value) for value in events)
    return None


def _leaves(evidence: Evidence, way: Way, members: Sequence[int]) -> bool:
    """Whether an outcome may lead to an event state that is not among `members`."""
    if way.activity is None:
        return way.starts[0][0] not in members
    return any(target not in members for _, target in evidence.layout.exits[way.activity])


def rounded_down(number: Fraction) -> float:
    """The largest double that is not above `number`."""
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else nextafter(nearest, -inf)
