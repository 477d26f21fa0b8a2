"""Values of event states; test_builder and test_assembly have whole proofs."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from hcssp.checker.arithmetic import UNIT
from hcssp.proofs.events import MARGINS, ONE, _Choice, _iterated, _Outcome


def test_margins_begin_with_none_and_grow_and_stay_small() -> None:
    assert MARGINS[0] == 0.0
    assert all(before < after for before, after in pairwise(MARGINS))
    # What a margin takes away from the bound is lost, for as many choices as there are in a row.
    assert 8.0 * UNIT * MARGINS[-1] < 1e-3


def choice(cost: Fraction, *outcomes: tuple[Fraction, int]) -> _Choice:
    """A choice at the first event state; outcomes that run nothing."""
    ways = tuple(_Outcome(chance, ((to, 0),)) for chance, to in outcomes)
    return _Choice(0, ways, cost * ONE)


def test_values_where_an_event_comes_again_are_as_high_as_they_go() -> None:
    # Nine times in ten it is to be tried again: a tenth of a third for each time.
    third = Fraction(1, 3)
    again = choice(third / 10, (Fraction(9, 10), 0), (Fraction(1, 10), 1))
    found = _iterated([again, choice(Fraction(1), (Fraction(1), 1))], 2, 1)
    assert found is not None
    assert found[1] == 0.0
    assert Fraction(found[0]) <= third <= Fraction(found[0]) * (1 + Fraction(1, 10**13))


def test_an_event_from_which_the_end_is_not_reached_is_expensive() -> None:
    lost = _Choice(2, (_Outcome(Fraction(1), ((2, 0),)),), ONE)
    found = _iterated(
        [choice(Fraction(5), (Fraction(1), 1)), choice(Fraction(1), (Fraction(1), 2)), lost], 3, 1
    )
    assert found is not None
    assert found[0] == pytest.approx(5.0, rel=1e-12)
    assert found[2] > 1e3


def test_no_values_hold_where_a_cycle_has_a_negative_cost() -> None:
    assert _iterated([choice(Fraction(-1), (Fraction(1), 0))], 2, 1) is None


@pytest.mark.parametrize("cost", [24.480413110334144, 9.085224760990384, 1.0 / 3.0, 1e9 / 7.0, 6.75])
def test_events_that_are_worth_nothing_may_recur_beside_expensive_ones(cost: float) -> None:
    """Rounding leaves tiny values at the free events between which one may go back and forth."""

    def at(state: int, *outcomes: tuple[float, int], entry: float = 0.0) -> _Choice:
        ways = tuple(_Outcome(Fraction(chance), ((to, 0),), Fraction(entry) * ONE) for chance, to in outcomes)
        return _Choice(state, ways, 0)

    start, hall, stairs, end = range(4)
    choices = [
        at(start, (1.0, hall), entry=cost),
        at(hall, (0.5, stairs), (0.5, end)),
        at(hall, (1.0, start)),
        at(stairs, (1.0, end), (4.0, hall)),
    ]
    found = _iterated(choices, 4, end)
    assert found is not None
    assert cost * (1.0 - 1e-12) <= found[start] <= cost
    assert all(value <= 0.0 for value in found[1:])
