r"""The event states' part of a statement: a small shortest path problem over events, made to hold exactly.

An activity with one exit costs what its potential says at its entry. One with several exits offers a choice:
to leave by an exit for the difference of its potential between entry and exit. Where no event comes again,
the values follow from the end backwards, in rational numbers that are rounded down.

Otherwise every outcome that runs an activity with several exits is a node of its own whose rows are the
exits, and the values of all nodes are found by policy iteration, with the steps of
:mod:`hcssp.ssp.restoration`. If they do not hold in rational numbers, every row is given a slack that grows
until they do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter
from math import inf, nextafter
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array, eye_array
from scipy.sparse.linalg import splu

from hcssp.checker.arithmetic import GRAIN, UNIT, grains
from hcssp.checker.checking import Uses, Verifier, level
from hcssp.checker.format import Statement
from hcssp.checker.layout import Layout
from hcssp.cssp.model import BoolArray, FloatArray
from hcssp.ssp.restoration import Restoration, RestorationParameters, Rows

MARGINS = (0.0, *(2.0**power for power in range(0, 40, 3)))
"""The slack that every row is given until the values hold, as a multiple of its rounding."""

ITERATION = RestorationParameters(free=1e-17, tight=1.0, solves=200)
"""Policy iteration from values that are LOST times the largest cost: all rows count as almost tight."""

SETTLED = 1e-13
"""Policy iteration ends when no value changes by more than this share of itself."""

LOST = 1e4
"""A dead end is worth this many times the largest value, so that no choice that leads there seems cheap."""

ONE = 1 << GRAIN
"""Costs-to-go are counted in this part of one, so that no double is rounded."""

Number = int | Fraction
"""An exact cost-to-go or cost, in multiples of ``2 ** -GRAIN``: a double is an integer then."""

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
        """The least cost-to-go after the outcome, times its probability."""
        follows = min((events[to] - exit_level for to, exit_level in self.exits), default=0)
        return self.probability * follows + self.entry

    def costs(self) -> list[tuple[int, float]]:
        """The event states it may lead to, and the approximate cost of the activity until there."""
        chance = self.probability
        return [
            (to, float((self.entry - chance * exit_level) / (chance * ONE))) for to, exit_level in self.exits
        ]


class _Choice(NamedTuple):
    """A choice at an event state, and its own cost."""

    state: int
    outcomes: tuple[_Outcome, ...]
    cost: Number

    def gain(self, events: Sequence[Number]) -> Number:
        """What it costs and the potential rises by in expectation; as the checker has it, but quicker."""
        before = events[self.state] - self.cost
        return sum(each.after(events) - each.probability * before for each in self.outcomes)

    def value(self, events: Sequence[Number]) -> float:
        """The least cost-to-go when the choice is made."""
        total = sum(each.probability for each in self.outcomes)
        return _double_below(sum(each.after(events) for each in self.outcomes) + total * self.cost, total)


def parts_of(verifier: Verifier, statement: Statement) -> Uses:
    """What each activity uses."""
    parts: Uses = defaultdict(list)
    for activity, number, share in statement.uses:
        parts[activity].append((verifier.potentials[number], share.as_integer_ratio()))
    return parts


def event_values(
    verifier: Verifier,
    region: BoolArray,
    parts: Uses,
    weights: Sequence[float],
    ends: Ends | None = None,
    given: tuple[float, ...] = (),
) -> tuple[float, ...] | None:
    """The potential of every event state, as high as it goes, that holds where `region` is forbidden.

    Parameters
    ----------
    verifier
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
        for row, each in enumerate(verifier.layout.event_rows)
        if not region[row] and (ends is None or not _may_get_lost(each[2], verifier, region, ends))
    ]
    flattening, choices = verifier.layout.flattening, _choices(verifier, allowed, parts, weights)
    end, num_events = flattening.end, flattening.num_event_states
    if given and given[end] <= 0.0 and _hold(choices, given):
        return given
    found = _backwards(choices, num_events, end)
    return _iterated(choices, num_events, end) if found is None else found


def _choices(verifier: Verifier, rows: Iterable[int], parts: Uses, weights: Sequence[float]) -> list[_Choice]:
    """The choices, with what they cost and the potentials of their activities at entry and exit."""
    found, prices = [], [grains(weight) for weight in weights]
    for row in rows:
        state, costs, ways = verifier.layout.event_rows[row]
        outcomes = [_Outcome(chance, ((start, 0),)) for chance, run, start in ways if run is None]
        starts: dict[int, list[tuple[int, int]]] = {}
        for chance, run, start in ways:
            if run is not None:
                starts.setdefault(run, []).append((chance, start))
        for activity, entries in starts.items():
            own, probability = parts[activity], sum(chance for chance, _ in entries)
            entry = sum(chance * level(own, start) for chance, start in entries)
            exits = tuple((to, level(own, goal)) for goal, to in verifier.layout.exits[activity])
            outcomes.append(_Outcome(probability, exits, entry, runs=True))
        found.append(_Choice(state, tuple(outcomes), sum(prices[n] * cost for n, cost in costs)))
    return found


def _costs(choices: Iterable[_Choice]) -> list[float]:
    """What the choices cost, and the activities that they run between entry and exit, nearly."""
    costs = [float(choice.cost / ONE) for choice in choices]
    return costs + [cost for choice in choices for each in choice.outcomes for _, cost in each.costs()]


def _backwards(choices: Sequence[_Choice], num_events: int, end: int) -> tuple[float, ...] | None:
    """The values from the end backwards; None if an event may recur."""
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
    ways: Sequence[tuple[int, int | None, int]], verifier: Verifier, region: BoolArray, ends: Ends
) -> bool:
    """Whether a choice may start an activity that cannot be ended almost surely without these rows."""
    for activity in {run for _, run, _ in ways if run is not None}:
        ending = ends(activity, region[verifier.layout.flattening.rows_of(activity)])
        if not all(ending[start] for _, run, start in ways if run == activity):
            return True
    return False


def _iterated(choices: Sequence[_Choice], num_events: int, end: int) -> tuple[float, ...] | None:
    """The values where an event may come again: by policy iteration, with a margin that makes them hold."""
    largest = max(map(abs, _costs(choices)), default=0.0) or 1.0
    rows, num_nodes = _rows(choices, num_events, end)

    def missing(values: FloatArray, margin: float) -> FloatArray:
        tails, heads = values[rows.state[rows.step_row]], values[rows.heads]
        moves = rows.probabilities * (heads - tails)
        sizes = rows.probabilities * (np.abs(heads) + np.abs(tails))
        size = np.abs(rows.costs) + np.bincount(rows.step_row, sizes, len(rows.costs))
        return 8.0 * UNIT * margin * size - (rows.costs + np.bincount(rows.step_row, moves, len(rows.costs)))

    # A node from which the end is not reached keeps this value, so that nothing that leads there is cheap.
    values = np.full(num_nodes, LOST * largest)
    values[end] = 0.0
    restoration = Restoration(rows, values, missing, ITERATION)
    for _ in range(ITERATION.solves):
        before = restoration.values
        if not restoration.solve(0.0, raises=True):
            return None
        if np.all(np.abs(restoration.values - before) <= SETTLED * np.abs(before)):
            break
    for margin in MARGINS:
        restoration.solve(margin, raises=True)
        found = restoration.values[:num_events]
        # Rounding may leave a positive value in place of 0, and no margin relative to it makes it hold.
        rounded = np.where(np.abs(found) <= UNIT * largest, np.minimum(found, 0.0), found)
        for candidate in (found.tolist(), rounded.tolist()):
            if candidate[end] <= 0.0 and _hold(choices, candidate):
                return tuple(candidate)
    zeros = (0.0,) * num_events
    return zeros if _hold(choices, zeros) else None


def _rows(choices: Sequence[_Choice], num_events: int, end: int) -> tuple[Rows, int]:
    """The choices as rows of event states, and the number of nodes.

    An outcome that runs an activity with several exits is a node of its own, with a row for each exit.
    """
    owners: list[int] = []
    costs: list[float] = []
    steps: list[tuple[int, int, float]] = []
    num_nodes = num_events
    for choice in choices:
        total, cost, row = sum(each.probability for each in choice.outcomes), choice.cost / ONE, len(owners)
        owners.append(choice.state)
        costs.append(0.0)
        for outcome in choice.outcomes:
            share, exits = float(outcome.probability / total), outcome.costs()
            if len(exits) == 1:
                ((head, paid),) = exits
                cost += share * paid
            else:
                head, num_nodes = num_nodes, num_nodes + 1
                steps += [(len(owners) + number, to, 1.0) for number, (to, _) in enumerate(exits)]
                owners += [head] * len(exits)
                costs += [paid for _, paid in exits]
            steps.append((row, head, share))
        costs[row] = float(cost)
    step_row, heads, shares = zip(*sorted(steps), strict=True) if steps else ((), (), ())
    return Rows(
        allowed=np.ones(len(owners), dtype=np.bool_),
        costs=np.array(costs),
        state=np.array(owners, dtype=np.int64),
        step_row=np.array(step_row, dtype=np.int64),
        heads=np.array(heads, dtype=np.int64),
        probabilities=np.array(shares, dtype=np.float64),
        goals=np.arange(num_nodes) == end,
    ), num_nodes


def rounded_down(number: Fraction) -> float:
    """The largest double that is not above `number`."""
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else nextafter(nearest, -inf)


def _double_below(number: Number, divisor: Number) -> float:
    """The largest double that is not above a number divided by another."""
    nearest = float(number / (divisor * ONE))
    return nearest if grains(nearest) * divisor <= number else nextafter(nearest, -inf)


MAX_SWEEPS = 40
"""So often all event states are gone through."""

DAMPINGS = (2.0**-48, 2.0**-42, 2.0**-36, 2.0**-30)
"""Every step of the equations is made less likely by so much, until their solution holds in spite of
rounding."""

Sources = dict[int, list[tuple[int, Fraction]]]
"""For an event state those that certainly lead to it, and with what probability."""


def certain_visits(layout: Layout, region: BoolArray) -> tuple[float, ...]:
    """Numbers of visits of the event states that every policy without the rows of `region` reaches.

    Parameters
    ----------
    layout
        The problem.
    region
        The forbidden flat rows.
    """
    start = layout.flattening.start
    visits = [0.0] * layout.flattening.num_event_states
    order, sources = _certain_steps(layout, region)
    for sweep in range(MAX_SWEEPS if order else 0):
        changed = False
        for state in order:
            more = rounded_down(_visited(state, start, sources, visits))
            changed |= more > visits[state]
            visits[state] = more
        if not changed:
            break
        if sweep == 1:
            # Some event state comes again.
            visits = [max(pair) for pair in zip(visits, _solved(order, start, sources, visits), strict=True)]
    return tuple(visits)


def _certain_steps(layout: Layout, region: BoolArray) -> tuple[list[int], Sources]:
    """The event states that are certainly reached, sooner ones first, and what leads to them."""
    follows: dict[int, list[int]] = {}
    sources: Sources = {}
    ending = layout.flat.almost_sure(~region)[0]
    for state, probability, _, _, after in layout.decided(region):
        if len(after) == 1 and ending[state]:
            follows.setdefault(state, []).extend(after)
            sources.setdefault(after.pop(), []).append((state, probability))
    start = layout.flattening.start
    order = [start] if ending[start] else []
    known = {*order}
    for state in order:
        new = [event for event in dict.fromkeys(follows.get(state, ())) if event not in known]
        known.update(new)
        order += new
    return order, sources


def _visited(state: int, start: int, sources: Sources, visits: list[float]) -> Fraction:
    """How often a state is visited if the others are visited as often as `visits` says."""
    into = (Fraction(visits[source]) * chance for source, chance in sources.get(state, ()))
    return sum(into, Fraction(state == start))


def _solved(order: list[int], start: int, sources: Sources, visits: list[float]) -> list[float]:
    """Visits that are nearly as many as the equations say, and not above what follows from them."""
    place = {state: number for number, state in enumerate(order)}
    steps = [
        (place[state], place[source], float(chance))
        for state in order
        for source, chance in sources.get(state, ())
        if source in place
    ]
    into, out, chances = np.array(steps).T
    shape = len(order), len(order)
    matrix = csc_array((chances, (into.astype(np.int64), out.astype(np.int64))), shape=shape)
    first = np.zeros(len(order))
    first[place[start]] = 1.0
    for damping in DAMPINGS:
        solution = splu(csc_array(eye_array(len(order)) - (1.0 - damping) * matrix)).solve(first)
        found = visits.copy()
        for state, times in zip(order, solution.tolist(), strict=True):
            found[state] = max(times, 0.0)
        if all(found[state] <= _visited(state, start, sources, found) for state in order):
            return found
    return visits
