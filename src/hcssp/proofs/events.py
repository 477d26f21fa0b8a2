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

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter
from math import inf, nextafter
from typing import NamedTuple

import numpy as np

from hcssp.checker.arithmetic import GRAIN, grains
from hcssp.checker.checking import Evidence, Uses, level
from hcssp.checker.format import Statement
from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.cssp.reachability import free_groups
from hcssp.ssp.mending import FREE

MARGINS = (0.0, 2.0**-50, 2.0**-47, 2.0**-43, 2.0**-37, 2.0**-30, 2.0**-23)
"""What every choice is made cheaper by until the values hold, relative to the largest value."""

LOST = 1e4
"""A dead end is worth this many times the largest value, so that no choice that leads there seems cheap."""

ONE = 1 << GRAIN
"""What is to come is counted in this part of one, so that no double is rounded."""

MAX_ITERATIONS = 200
MAX_SWEEPS = 4

Number = int | Fraction
"""Exactly what is to come or has to be paid, in multiples of ``2 ** -GRAIN``: a double is an integer then."""

Ends = Callable[[int, BoolArray], BoolArray]
"""From which states an activity, given its forbidden rows, can be ended almost surely."""


class _Outcome(NamedTuple):
    """An outcome of a choice, which leads to one of several event states, or runs an activity.

    `entry` is the activity's potential where it is entered, times the probability; `exits` are the event
    states it may lead to, each with the potential of the exit.
    """

    probability: Number
    exits: tuple[tuple[int, Number], ...]
    entry: Number = 0
    runs: bool = False

    def after(self, events: Sequence[Number]) -> Number:
        """What is to come after the outcome, at least, times its probability."""
        follows = min((events[to] - exit_level for to, exit_level in self.exits), default=0)
        return self.probability * follows + self.entry

    def costs(self) -> list[tuple[int, float]]:
        """The event states it may lead to, and what the activity costs until there, nearly."""
        chance = self.probability
        return [
            (to, float((self.entry - chance * exit_level) / (chance * ONE))) for to, exit_level in self.exits
        ]


class _Choice(NamedTuple):
    """A choice at an event state, and what it costs itself."""

    state: int
    outcomes: tuple[_Outcome, ...]
    cost: Number

    def gain(self, events: Sequence[Number]) -> Number:
        """What it costs and the potential rises by in expectation; as the checker has it, but quicker."""
        before = events[self.state] - self.cost
        return sum(each.after(events) - each.probability * before for each in self.outcomes)

    def value(self, events: Sequence[Number]) -> float:
        """What is to come when the choice is made, at least."""
        total = sum(each.probability for each in self.outcomes)
        return _double_below(sum(each.after(events) for each in self.outcomes) + total * self.cost, total)


class _Row(NamedTuple):
    """A row of a node; `choice` tells what is chosen at an event state from the exit of an activity."""

    node: int
    cost: float
    to: tuple[tuple[int, float], ...]
    choice: bool


def parts_of(evidence: Evidence, statement: Statement) -> Uses:
    """What each activity uses."""
    parts: Uses = defaultdict(list)
    for activity, number, share in statement.uses:
        parts[activity].append((evidence.potentials[number], share.as_integer_ratio()))
    return parts


def event_values(
    evidence: Evidence,
    region: BoolArray,
    parts: Uses,
    weights: Sequence[float],
    ends: Ends | None = None,
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
        From which states an activity can be ended almost surely without some of its rows; None: from all.
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
        if not region[row] and (ends is None or not _may_get_lost(each[2], evidence, region, ends))
    ]
    flattening, choices = evidence.layout.flattening, _choices(evidence, allowed, parts, weights)
    end, num_events = flattening.end, flattening.num_event_states
    if given and given[end] <= 0.0 and _hold(choices, given):
        return given
    found = _backwards(choices, num_events, end)
    if found is not None:
        return found
    costs = _costs(choices)
    lost = LOST * (1.0 + max(map(abs, costs), default=0.0))
    # An exit that nobody should take has a cost far below zero, which says nothing about the others.
    largest = max((cost for cost in costs if cost > 0.0), default=max(map(abs, costs), default=0.0))
    nodes, rows = _rows(choices, num_events)
    rows += _ways_out(rows, nodes, end, lost)
    group = _groups(rows, nodes, FREE * largest)
    for margin in MARGINS:
        values = _solved(rows, group, end, margin * largest)
        events = None if values is None else _lowered(choices, num_events, end, values, group)
        if events is not None:
            return events
    zeros = (0.0,) * num_events
    return zeros if _hold(choices, zeros) else None


def _choices(evidence: Evidence, rows: Iterable[int], parts: Uses, weights: Sequence[float]) -> list[_Choice]:
    """The choices, with what they cost and the potentials of their activities at entry and exit."""
    found, prices = [], [grains(weight) for weight in weights]
    for row in rows:
        state, costs, ways = evidence.layout.event_rows[row]
        outcomes = [_Outcome(chance, ((start, 0),)) for chance, run, start in ways if run is None]
        starts: dict[int, list[tuple[int, int]]] = {}
        for chance, run, start in ways:
            if run is not None:
                starts.setdefault(run, []).append((chance, start))
        for activity, entries in starts.items():
            own, probability = parts[activity], sum(chance for chance, _ in entries)
            entry = sum(chance * level(own, start) for chance, start in entries)
            exits = tuple((to, level(own, goal)) for goal, to in evidence.layout.exits[activity])
            outcomes.append(_Outcome(probability, exits, entry, runs=True))
        found.append(_Choice(state, tuple(outcomes), sum(prices[n] * cost for n, cost in costs)))
    return found


def _costs(choices: Iterable[_Choice]) -> list[float]:
    """What the choices cost, and the activities that they run between entry and exit, nearly."""
    costs = [float(choice.cost / ONE) for choice in choices]
    return costs + [cost for choice in choices for each in choice.outcomes for _, cost in each.costs()]


def _backwards(choices: Sequence[_Choice], num_events: int, end: int) -> tuple[float, ...] | None:
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
    values = [0.0] * num_events
    if len(after.keys() | {end}) < num_events:
        values = [LOST * (1.0 + max(map(abs, _costs(choices)), default=0.0))] * num_events
        values[end] = 0.0
    events = [grains(value) for value in values]
    for state in order:
        if state in after and state != end:
            values[state] = min(choice.value(events) for choice in after[state])
            events[state] = grains(values[state])
    return tuple(values)


def _hold(choices: Iterable[_Choice], values: Iterable[float]) -> bool:
    """Whether values of the event states hold for all `choices`."""
    events = [grains(value) for value in values]
    return all(choice.gain(events) >= 0 for choice in choices)


def _may_get_lost(
    ways: Sequence[tuple[int, int | None, int]], evidence: Evidence, region: BoolArray, ends: Ends
) -> bool:
    """Whether a choice may start an activity that cannot be ended almost surely without these rows."""
    for activity in {run for _, run, _ in ways if run is not None}:
        ending = ends(activity, region[evidence.layout.flattening.rows_of(activity)])
        if not all(ending[start] for _, run, start in ways if run == activity):
            return True
    return False


def _rows(choices: Sequence[_Choice], num_events: int) -> tuple[int, list[_Row]]:
    """How many nodes there are, the event states first, and their rows."""
    nodes, found = num_events, []
    for choice in choices:
        total = sum(each.probability for each in choice.outcomes)
        to = []
        for each in choice.outcomes:
            share = float(each.probability / total)
            if not each.runs:
                to.append((each.exits[0][0], share))
                continue
            found += [_Row(nodes, cost, ((target, 1.0),), choice=False) for target, cost in each.costs()]
            to.append((nodes, share))
            nodes += 1
        found.append(_Row(choice.state, float(choice.cost / ONE), tuple(to), choice=True))
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
    events: list[Number] = [grains(value) for value in values[:num_events].tolist()]
    for state in members[end]:
        events[state] = 0
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
            lowered = grains(_double_below(events[choice.state] * leaving + gain, leaving))
            for member in own:
                events[member] = lowered
            holding = False
        if holding:
            return tuple(float(value / ONE) for value in events)
    return None


def _leaves(outcome: _Outcome, members: Sequence[int]) -> bool:
    """Whether an outcome may lead to an event state that is not among `members`."""
    return any(target not in members for target, _ in outcome.exits)


def rounded_down(number: Fraction) -> float:
    """The largest double that is not above `number`."""
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else nextafter(nearest, -inf)


def _double_below(number: Number, divisor: Number) -> float:
    """The largest double that is not above a number divided by another."""
    nearest = float(number / (divisor * ONE))
    return nearest if grains(nearest) * divisor <= number else nextafter(nearest, -inf)
