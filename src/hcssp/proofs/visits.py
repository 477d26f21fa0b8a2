"""How often the event states of a procedure are come to, at least, where nothing is left to choose.

The beginnings of all runs are added up, step by step: where a choice is the only one, each visit of its state
is one of the states that it certainly leads to, with its probability. Every sum is exact and rounded down, so
that no number is ever above what follows from the others, which is what the checker asks for; the more
steps, the nearer to the truth. A procedure that comes back again and again takes too many of them. It begins
with the solution of the equations instead, made a little smaller at every step until it is not above what
follows from it either.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.sparse import csc_array, eye_array
from scipy.sparse.linalg import splu

from hcssp.checker.layout import Layout
from hcssp.cssp.model import BoolArray
from hcssp.proofs.events import rounded_down

MAX_SWEEPS = 40
"""So often all event states are gone through."""

DAMPINGS = (2.0**-48, 2.0**-42, 2.0**-36, 2.0**-30)
"""Every step of the equations is made less likely by so much, until their solution holds in spite of
rounding."""

Sources = dict[int, list[tuple[int, Fraction]]]
"""For an event state those that certainly lead to it, and with what probability."""


def certain_visits(layout: Layout, region: BoolArray) -> tuple[float, ...]:
    """Numbers that no policy without the rows of `region` comes to the event states less often than.

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
            more = rounded_down(_come(state, start, sources, visits))
            changed |= more > visits[state]
            visits[state] = more
        if not changed:
            break
        if sweep == 1:
            # Some event state comes again.
            visits = [max(pair) for pair in zip(visits, _solved(order, start, sources, visits), strict=True)]
    return tuple(visits)


def _certain_steps(layout: Layout, region: BoolArray) -> tuple[list[int], Sources]:
    """The event states that are certainly come to, sooner ones first, and what leads to them."""
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


def _come(state: int, start: int, sources: Sources, visits: list[float]) -> Fraction:
    """How often a state is come to if the others are as often as `visits` says."""
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
        if all(found[state] <= _come(state, start, sources, found) for state in order):
            return found
    return visits
