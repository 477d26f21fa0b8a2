"""Values of event states; test_builder and test_assembly have whole proofs."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import nextafter

import numpy as np

from hcssp.proofs.events import MARGINS, ONE, _Choice, _lowered, _Outcome, rounded_down


def test_margins_begin_with_none_and_grow_and_stay_small() -> None:
    assert MARGINS[0] == 0.0
    assert all(before < after for before, after in pairwise(MARGINS))
    # What a margin takes away from the bound is lost, for as many choices as there are in a row.
    assert MARGINS[-1] < 1e-6


def choice(cost: Fraction, *outcomes: tuple[Fraction, int]) -> _Choice:
    """A choice at the first event state; outcomes that run nothing."""
    ways = tuple(_Outcome(chance, ((to, 0),)) for chance, to in outcomes)
    return _Choice(0, ways, cost * ONE)


def test_values_that_are_too_high_are_lowered_as_little_as_possible() -> None:
    # Nine times in ten it is to be tried again: a tenth of a third for each time.
    third, apart = Fraction(1, 3), np.arange(2)
    again = choice(third / 10, (Fraction(9, 10), 0), (Fraction(1, 10), 1))
    for tried in (again, choice(third, (Fraction(1), 1))):
        lowered = _lowered([tried], 2, 1, np.array([0.5, 0.0]), apart)
        assert lowered == (rounded_down(third), 0.0)
        assert Fraction(lowered[0]) < third < Fraction(nextafter(lowered[0], 1.0))


def test_no_value_is_low_enough_where_going_round_pays() -> None:
    around = choice(Fraction(-1), (Fraction(1), 0))
    assert _lowered([around], 2, 1, np.array([0.5, 0.0]), np.arange(2)) is None
