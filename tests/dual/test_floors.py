"""What is known at some prices, at all others: no more than concavity allows, and no less."""

from __future__ import annotations

import numpy as np
import pytest

from hcssp.cssp.model import FloatArray
from hcssp.dual.floors import Floors

POLICIES = np.array([[[9.0, 0.0], [4.0, 2.0], [1.0, 7.0]], [[3.0, 3.0], [5.0, 1.0], [0.0, 8.0]]])
"""Of each of two states, what three policies cost and use."""


def least(price: float) -> FloatArray:
    return (POLICIES @ [1.0, price]).min(axis=1)


def floors_at(*prices: float) -> Floors:
    floors = Floors()
    for price in prices:
        floors.add(np.array([1.0, price]), least(price))
    return floors


@pytest.mark.parametrize("prices", [(0.5,), (0.5, 2.0), (2.0, 0.5, 1.0), (4.0, 3.0, 0.25, 0.0)])
@pytest.mark.parametrize("price", [0.0, 0.1, 0.5, 0.75, 1.0, 1.5, 2.5, 3.5, 9.0])
def test_with_one_price_it_is_the_highest_chord(prices: tuple[float, ...], price: float) -> None:
    expected = np.zeros(2)
    for low in prices:
        if low <= price:
            expected = np.maximum(expected, least(low))
        elif price <= low:
            expected = np.maximum(expected, least(low) * (price / low) if min(prices) > price else 0.0)
        for high in prices:
            if low < price < high:
                share = (price - low) / (high - low)
                expected = np.maximum(expected, (1.0 - share) * least(low) + share * least(high))
    found = floors_at(*prices).at(np.array([1.0, price]))
    assert found == pytest.approx(expected, rel=1e-14)
    assert np.all(found <= least(price) * (1.0 + 1e-14))


def test_what_costs_without_end_at_one_price_does_no_harm_at_another() -> None:
    floors = Floors()
    floors.add(np.array([1.0, 1.0]), np.array([2.0, 3.0]))
    floors.add(np.array([1.0, 2.0]), np.array([4.0, np.inf]))
    assert floors.at(np.array([1.0, 1.0])).tolist() == [2.0, 3.0]
    assert floors.at(np.array([1.0, 1.5])).tolist() == [3.0, np.inf]
    assert floors.at(np.array([1.0, 2.0])).tolist() == [4.0, np.inf]


def test_the_nearest_prices_on_either_side_are_looked_at() -> None:
    # Chords from afar are lower: of five prices on a side the nearest ones count.
    prices = (0.1, 0.2, 0.3, 0.4, 0.5, 2.0, 4.0, 6.0, 8.0, 10.0)
    found = floors_at(*prices).at(np.array([1.0, 1.0]))
    assert found.tolist() == floors_at(0.5, 2.0).at(np.array([1.0, 1.0])).tolist()


def test_at_the_price_itself_the_highest_is_taken_state_by_state() -> None:
    floors = Floors()
    for values in ([1.0, 5.0], [4.0, 2.0], [3.0, 3.0]):
        floors.add(np.array([1.0, 2.0]), np.array(values))
    assert floors.at(np.array([1.0, 2.0])).tolist() == [4.0, 5.0]


def test_of_many_at_one_price_the_latest_count() -> None:
    # They are of smaller regions, and higher.
    floors = floors_at(1.0)
    for number in range(5):
        floors.add(np.array([1.0, 1.0]), least(1.0) + number, frozenset(range(number + 1)))
    floors.add(np.array([1.0, 3.0]), least(3.0) + 8.0, frozenset({0}))
    found = floors.at(np.array([1.0, 1.5]), frozenset(range(9)))
    assert found == pytest.approx(0.75 * (least(1.0) + 4.0) + 0.25 * (least(3.0) + 8.0))


def test_with_several_prices_what_is_known_is_scaled_until_it_is_below() -> None:
    floors = Floors()
    floors.add(np.array([1.0, 2.0, 4.0]), np.array([8.0, 1.0]))
    floors.add(np.array([1.0, 1.0, 0.0]), np.array([3.0, 3.0]))
    # Half of the first, as much of the second.
    assert floors.at(np.array([1.0, 1.5, 2.0])).tolist() == [4.0, 3.0]
    # Never more than the whole, however high the prices are.
    assert floors.at(np.array([1.0, 5.0, 9.0])).tolist() == [8.0, 3.0]
    # A weight of nought asks for nothing where it was nought before.
    assert floors.at(np.array([1.0, 2.0, 0.0])).tolist() == [3.0, 3.0]
    # What costs something is nothing where that is free.
    assert floors.at(np.array([1.0, 0.0, 0.0])).tolist() == [0.0, 0.0]


def test_one_potential_is_enough() -> None:
    floors = Floors()
    floors.add(np.array([1.0, 2.0, 4.0]), np.array([8.0, 1.0, 3.0]))
    assert floors.at(np.array([1.0, 1.0, 3.0])).tolist() == [4.0, 0.5, 1.5]


def test_what_holds_in_a_region_is_known_in_that_very_region() -> None:
    floors = floors_at(1.0)
    floors.add(np.array([1.0, 1.0]), least(1.0) + 2.0, frozenset({5}))
    assert floors.at(np.array([1.0, 1.0]), frozenset({5})).tolist() == (least(1.0) + 2.0).tolist()
    assert floors.at(np.array([1.0, 1.0]), frozenset({6})).tolist() == least(1.0).tolist()
    assert floors.at(np.array([1.0, 1.0])).tolist() == least(1.0).tolist()
