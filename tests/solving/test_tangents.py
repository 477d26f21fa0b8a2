"""The stochastic curve between two bounds, on curves that are known."""

from __future__ import annotations

from math import inf

import pytest

from hcssp.solving import trade_off
from hcssp.solving.trade_off import Tangent, pieces_of, tangents_between


@pytest.mark.parametrize("kink", [1.0, 1e-4, 1e-8])
def test_a_curve_that_jumps_at_nothing_is_not_halved_for_ever(
    kink: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Down to next to nothing all pieces are found, and there is an end to it."""
    asked: list[float] = []

    def tangent(oracle: object, index: int, bound: float, known: object) -> Tangent:
        asked.append(bound)
        if bound == 0.0:
            return Tangent(bound, 12.0, inf, True, ())
        steep = bound < kink
        return Tangent(bound, 10.0 - bound / kink if steep else 9.0, 1.0 / kink if steep else 0.0, True, ())

    monkeypatch.setattr(trade_off, "_tangent", tangent)
    found: dict[float, Tangent] = {}
    tangents_between(None, 0, [0.0, 4.0], found)  # type: ignore[arg-type]
    assert len(asked) <= 14
    assert min(bound for bound in asked if bound) >= 0.5e-3 * 1e-15 * 4.0
    points, prices = pieces_of(found)
    assert [0.0, 12.0] in points.tolist()
    assert points[-2:].ravel() == pytest.approx([kink, 9.0, 4.0, 9.0])
    assert prices[-2:] == pytest.approx([1.0 / kink, 0.0])


def test_a_curve_that_goes_on_to_nothing_is_asked_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def tangent(oracle: object, index: int, bound: float, known: object) -> Tangent:
        asked.append(bound)
        return Tangent(bound, 10.0 - bound, inf if bound == 0.0 else 1.0, True, ())

    monkeypatch.setattr(trade_off, "_tangent", tangent)
    found: dict[float, Tangent] = {}
    tangents_between(None, 0, [0.0, 4.0], found)  # type: ignore[arg-type]
    assert asked == [4.0, 0.0]
    assert pieces_of(found)[0].tolist() == [[0.0, 10.0], [4.0, 6.0]]


def test_a_tangent_that_is_too_low_makes_no_dent_in_the_curve() -> None:
    """What the others prove there counts: the curve stays convex, and its prices fall."""
    known = [Tangent(bound, 10.0 - 2.0 * bound, 2.0, True, ()) for bound in (0.0, 2.0)]
    known += [Tangent(1.0, 3.0, 0.0, False, ()), Tangent(4.0, 6.0, 0.0, True, ())]
    points, prices = pieces_of({each.bound: each for each in known})
    assert points.tolist() == [[0.0, 10.0], [2.0, 6.0], [4.0, 6.0]]
    assert prices.tolist() == [2.0, 0.0]
