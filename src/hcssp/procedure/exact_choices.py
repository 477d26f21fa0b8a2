"""The choices of a procedure in rational numbers, as the checker of proofs reads them.

Probabilities of outcomes and of where an activity begins are divided by their sums, so that they sum to one
exactly; those of a choice are integers, up to a common factor.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from hcssp.cssp.decimals import decimal, integers
from hcssp.procedure.flattening import Flattening

Way = tuple[int, int | None, int]
"""A chance, up to a common factor; the activity that is run and the state it begins in, or None and the event
state that is led to."""


class ExactChoice(NamedTuple):
    """A choice at an event state.

    Attributes
    ----------
    state
        The event state.
    costs
        Pairs of a cost, the primary being 0, and how much of it the choice costs, if it is not nothing.
    ways
        The ways it may go; none has the chance 0.
    """

    state: int
    costs: list[tuple[int, Fraction]]
    ways: list[Way]


def exact_choices(flattening: Flattening) -> Iterator[ExactChoice]:
    """The choices of all event states, in the order of the flat rows that they are."""
    rows = np.diff(flattening.event_row_start)
    states = np.repeat(np.arange(flattening.num_event_states), rows).tolist()
    told = zip(states, flattening.event_costs.T.tolist(), flattening.event_ways(), strict=True)
    for state, paid, outcomes in told:
        chances: list[Fraction] = []
        ways: list[tuple[int | None, int]] = []
        for probability, runs, starts, doubles in outcomes:
            shares = [decimal(share) for share in doubles]
            chances += [decimal(probability) * share / sum(shares) for share in shares]
            ways += [(runs, start) for start in starts.tolist()]
        whole = zip(integers(chances)[0].tolist(), ways, strict=True)
        costs = [(number, decimal(cost)) for number, cost in enumerate(paid) if cost]
        yield ExactChoice(state, costs, [(chance, *way) for chance, way in whole if chance])
