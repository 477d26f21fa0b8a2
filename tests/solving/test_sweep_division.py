from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcssp.solving.expected_times import ExpectedTimes
from hcssp.solving.sweep_division import Division, Share
from volume import examples


def blocks_of(sizes: list[int]) -> list[list[int]]:
    firsts = [sum(sizes[:index]) for index in range(len(sizes))]
    return [list(range(first, first + size)) for first, size in zip(firsts, sizes, strict=True)]


@settings(max_examples=examples(200))
@given(data=st.data())
def test_every_point_is_given_out_once(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(0, 9), max_size=5))
    blocks = blocks_of(sizes)
    at_once = data.draw(st.integers(1, 4))
    times = ExpectedTimes((max(1, sum(sizes)),))
    division = Division(blocks, at_once, times, last=data.draw(st.integers(0, 12)))
    hands: list[Share | None] = [None] * data.draw(st.integers(1, 4))
    given_out: list[int] = []
    resting: set[int] = set()
    while len(resting) < len(hands):
        hand = data.draw(st.sampled_from([each for each in range(len(hands)) if each not in resting]))
        for place in () if (done := hands[hand]) is None else done.places:
            times.took(place, data.draw(st.sampled_from([0.1, 1.0, 5.0])))
        share = hands[hand] = division.following(hands[hand])
        if share is None:
            resting.add(hand)
            continue
        assert 1 <= len(share.places) <= at_once
        assert sum(bool(set(share.places) & set(block)) for block in blocks) == 1
        given_out += share.places
    assert sorted(given_out) == list(range(sum(sizes)))


def test_two_take_a_half_each_between_blocks() -> None:
    division = Division(blocks_of([8, 8, 8, 8]), 1)
    first, second = division.following(None), division.following(None)
    assert first is not None
    assert second is not None
    assert (first.places, second.places) == ((0,), (16,))
    assert (first.rest, second.rest) == (list(range(1, 16)), list(range(17, 32)))


@pytest.mark.parametrize(("sizes", "taken"), [([9], 5), ([6, 3], 6), ([8, 1], 5), ([1, 8], 5), ([2], 1)])
def test_a_block_is_divided_where_none_begins_near_the_middle(sizes: list[int], taken: int) -> None:
    division = Division(blocks_of(sizes), 1)
    assert division.following(None) is not None
    second = division.following(None)
    assert second is not None
    assert second.places == (taken,)


def test_whoever_is_done_helps_the_one_who_has_most_left() -> None:
    division = Division(blocks_of([4, 12]), 1)
    slow = division.following(None)
    quick = division.following(None)
    assert slow is not None
    assert quick is not None
    while quick is not None and quick.rest:
        quick = division.following(quick)
    helped = division.following(quick)
    assert helped is not None
    assert helped.places[0] > slow.places[0] + 1
    assert not set(helped.rest) & set(slow.rest)


def test_the_last_few_begin_with_those_that_will_take_long() -> None:
    times = ExpectedTimes((2, 6))
    division = Division(blocks_of([6, 6]), 1, times, last=5)
    one, other = division.following(None), division.following(None)
    assert one is not None
    assert other is not None
    assert (one.places, other.places) == ((0,), (6,))
    for place in range(6):
        times.took(place, 9.0 if place == 4 else 1.0)
        one = division.following(one)
    # Beside the one that took long, and not next in line.
    assert one is not None
    assert one.places == (10,)
    times.took(10, 1.0)
    times.took(6, 1.0)
    other = division.following(other)
    assert other is not None
    assert other.places in {(9,), (11,)}


@pytest.mark.parametrize(("seconds", "expected"), [(1.5, 1), (4.0, 5)])
def test_whoever_knows_a_block_stays_unless_another_takes_much_longer(seconds: float, expected: int) -> None:
    class Told(ExpectedTimes):
        def of(self, place: int) -> float:
            return seconds if place == 5 else 1.0

    division = Division(blocks_of([4, 4]), 1, Told((2, 4)), last=8)
    one, other = division.following(None), division.following(None)
    assert one is not None
    assert other is not None
    following = division.following(one)
    assert following is not None
    assert following.places == (expected,)
    assert expected not in following.rest
