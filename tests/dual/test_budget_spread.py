from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import inf

import numpy as np
import pytest

from hcssp.dual.budget_spread import Kind, _Labels, spread_budget
from volume import some


def random_kinds(rng: np.random.Generator) -> list[Kind]:
    """A few kinds with ties, free options and uses of nothing."""
    kinds = []
    for _ in range(rng.integers(1, 4)):
        options = int(rng.integers(1, 4))
        costs = rng.choice([0.0, 1.0, 2.0, rng.random()], options)
        uses = rng.choice([0.0, 1.0, rng.random(), rng.random()], options)
        kinds.append(Kind(int(rng.integers(1, 5)), costs, uses))
    return kinds


def brute_force(kinds: list[Kind], budget: float) -> float:
    """The least cost within the budget, over all ways to count the options of all kinds."""
    ways = []
    for kind in kinds:
        chosen = [list(each) for each in combinations_with_replacement(range(len(kind.costs)), kind.number)]
        ways.append([(kind.costs[each].sum(), kind.uses[each].sum()) for each in chosen])
    return min(
        (
            sum(c for c, _ in way)
            for way in product(*ways)
            if sum(u for _, u in way) <= budget * (1.0 + 1e-13)
        ),
        default=inf,
    )


@pytest.mark.parametrize("most", [50_000, 3])
@pytest.mark.parametrize("first", some(range(0, 200, 50), 3))
def test_it_agrees_with_all_ways(first: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hcssp.dual.budget_spread.MAX_LABELS", most)
    proved = 0
    for seed in range(first, first + 50):
        rng = np.random.default_rng(seed)
        kinds = random_kinds(rng)
        budget, price = (
            float(rng.choice([0.0, 1.0, 3.0 * rng.random()])),
            float(rng.choice([0.0, 1.0, rng.random()])),
        )
        truth = brute_force(kinds, budget)
        cutoff = float(rng.choice([100.0, 0.8 * min(truth, 50.0), truth if truth < inf else 7.0]))
        spread = spread_budget(kinds, budget, price, cutoff)
        assert spread is not None
        assert spread.bound <= min(truth, cutoff) + 1e-12
        if spread.counts is not None:
            assert [int(each.sum()) for each in spread.counts] == [kind.number for kind in kinds]
            cost = sum(float(n @ kind.costs) for n, kind in zip(spread.counts, kinds, strict=True))
            use = sum(float(n @ kind.uses) for n, kind in zip(spread.counts, kinds, strict=True))
            assert use <= budget * (1.0 + 1e-12)
            assert cost >= truth - 1e-12
            if most > 3:
                assert cost == pytest.approx(truth, abs=1e-12)
        if most > 3:
            # With room for all labels, what is not found is not there.
            assert spread.bound == pytest.approx(min(truth, cutoff), abs=1e-11)
        proved += spread.bound >= min(truth, cutoff) - 1e-9
    assert proved >= 10


def test_a_thousand_alike_are_counted() -> None:
    kinds = [Kind(1_000, np.array([1.0, 2.0]), np.array([1.0, 0.0]))]
    spread = spread_budget(kinds, 325.5, 1.0, 1e4)
    assert spread is not None
    assert spread.counts is not None
    assert spread.counts[0].tolist() == [325, 675]
    assert 1675.0 - 1e-6 < spread.bound <= 1675.0


def test_too_many_ways_are_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hcssp.dual.budget_spread.MAX_TABLE", 10)
    assert spread_budget([Kind(20, np.array([1.0, 2.0]), np.array([1.0, 0.0]))], 6.5, 1.0, 100.0) is None
    monkeypatch.setattr("hcssp.dual.budget_spread.MAX_TABLE", 100)
    monkeypatch.setattr("hcssp.dual.budget_spread.MAX_ALL_LABELS", 15)
    assert spread_budget([Kind(20, np.array([1.0, 2.0]), np.array([1.0, 0.0]))], 6.5, 1.0, 100.0) is None


def test_what_is_cheaper_than_the_cutoff_by_less_than_rounding_is_found() -> None:
    # The only way costs 0.9, which is the level of the price itself: nothing is left between them.
    kind = Kind(3, np.array([0.3]), np.array([1.0]))
    cutoff = float(np.nextafter(0.3 + 0.3 + 0.3, 1.0))
    found = spread_budget([kind], 3.0, 0.5, cutoff)
    assert found is not None
    assert found.bound < cutoff
    assert found.counts is not None


@pytest.mark.parametrize("first", some(range(0, 40, 10), 2))
def test_the_bound_holds_in_rational_numbers_and_loses_nothing_to_speak_of(first: int) -> None:
    for seed in range(first, first + 10):
        rng = np.random.default_rng(seed)
        # All digits of every number are used, so that every sum is rounded.
        numbers = rng.integers(1, 2**53, (3, 2, 3))
        kinds = [Kind(int(rng.integers(1, 8)), *(each * 2.0**-53)) for each in numbers]
        ways = [
            [
                tuple(int(count @ own) for own in each)
                for count in np.array(
                    [
                        (i, j, kind.number - i - j)
                        for i in range(kind.number + 1)
                        for j in range(kind.number + 1 - i)
                    ],
                    dtype=object,
                )
            ]
            for kind, each in zip(kinds, numbers.astype(object), strict=True)
        ]
        every = [[sum(part) for part in zip(*way, strict=True)] for way in product(*ways)]
        # The budget is the use of some way, rounded up: that way keeps it.
        some_use = int(rng.choice(np.array([use for _, use in every], dtype=object)))
        budget = float(some_use) * 2.0**-53
        while int(budget * 2.0**53) < some_use:
            budget = float(np.nextafter(budget, inf))
        truth = min(cost for cost, use in every if use <= int(budget * 2.0**53))
        for price in (0.0, 0.5, 2.0):
            for cutoff in (1e3, float(np.nextafter(truth * 2.0**-53, inf))):
                found = spread_budget(kinds, budget, price, cutoff)
                assert found is not None
                assert Fraction(found.bound) <= Fraction(truth, 2**53)
                assert found.bound == pytest.approx(truth * 2.0**-53, rel=1e-12)
                assert found.counts is not None


def test_what_is_as_dear_as_the_cutoff_is_of_no_interest() -> None:
    kinds = [Kind(3, np.array([1.0, 4.0]), np.array([2.0, 0.0]))]
    # One of them may be used, so that the others cost 9 in all.
    for price in (0.0, 1.5, 100.0):
        found = spread_budget(kinds, 2.0, price, 8.0)
        assert found is not None
        assert found.bound == 8.0
    # Beyond the least use there is no way at all.
    assert spread_budget([Kind(2, np.array([1.0]), np.array([3.0]))], 5.0, 1.0, 50.0) == (50.0, None)


def test_an_option_that_hardly_fits_leaves_room_for_the_others() -> None:
    # One of the dear options fits, and two are looked at; the cheap option fits beside neither.
    kinds = [Kind(6, np.array([0.0, 5.0, 0.5]), np.array([1.0, 0.0, 0.9]))]
    found = spread_budget(kinds, 5.0, 0.0, 5.9)
    assert found is not None
    assert found.bound == pytest.approx(5.0)
    assert found.counts is not None
    assert found.counts[0].tolist() == [5, 1, 0]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 10, 50])
def test_merged_labels_are_below_all_that_they_stand_for(limit: int) -> None:
    # By rising use and falling cost, with some in between that are not kept.
    costs, uses = np.arange(30.0, 0.0, -1.0), np.arange(30.0)
    labels, kept = _Labels(costs, uses, costs, uses), np.arange(0, 30, 3)
    few, left = labels.few(kept, limit)
    assert len(few.costs) == min(limit, len(kept))
    for cost, use in zip(costs[kept], uses[kept], strict=True):
        assert np.any((few.costs <= cost) & (few.uses <= use))
    # What is remembered is the way of a label that is left.
    assert few.way_costs.tolist() == costs[left].tolist()
    assert few.way_uses.tolist() == uses[left].tolist()
    assert few.uses.tolist() == uses[left].tolist()
    if limit >= len(kept):
        assert few.costs.tolist() == costs[kept].tolist()
    assert float(few.costs.min()) == float(costs[kept].min())


@pytest.mark.parametrize(("kinds", "number"), [(1, 1), (5, 1), (1, 20), (5, 20)])
def test_roundings_of_all_uses_and_kinds_are_allowed_for(kinds: int, number: int) -> None:
    every = [Kind(number, np.ones(1), np.zeros(1))] * kinds
    found = spread_budget(every, 0.0, 1.0, 1e6)
    assert found is not None
    size = float(kinds * number)
    counted = (size - found.bound) / (size * 2.0**-53)
    # Four for each use and each kind, and some besides; the difference itself is rounded, too.
    expected = 4 * kinds * number + 4 * kinds
    assert expected + 60 <= counted <= expected + 70


@pytest.mark.parametrize("number", [1, 20])
def test_what_exceeds_the_budget_by_no_more_than_rounding_is_a_way(number: int) -> None:
    allowed = 4 * number + 64
    for roundings, kept in ((0, True), (allowed - 8, True), (allowed + 8, False), (10_000, False)):
        use = (1.0 + roundings * 2.0**-53) / number
        found = spread_budget([Kind(number, np.ones(1), np.array([use]))], 1.0, 0.0, 1e6)
        assert found is not None
        assert (found.counts is not None) is kept


def test_roundings_are_those_of_the_dearest_options() -> None:
    found = spread_budget([Kind(3, np.array([1.0, 1000.0]), np.zeros(2))], 0.0, 1.0, 1e6)
    assert found is not None
    # Sums may go through the dear option, though it is not taken in the end.
    assert 3.0 - found.bound >= 70 * 2.0**-53 * 3000.0
    assert 3.0 - found.bound <= 90 * 2.0**-53 * 3000.0


def test_where_there_is_nothing_to_spread_nothing_is_spent() -> None:
    spread = spread_budget([], budget=1.0, price=2.0, cutoff=5.0)
    assert spread is not None
    assert spread.counts == []
    assert -1e-9 < spread.bound <= 0.0
