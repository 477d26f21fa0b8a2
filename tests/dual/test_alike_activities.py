from __future__ import annotations

import numpy as np
import pytest

from hcssp.cssp.identical_problems import are_alike
from hcssp.dual.activity_planner import ActivityPlanner
from hcssp.dual.alike_activities import AlikeActivities, first_alike
from hcssp.ssp.region import Region
from small_procedures import risky_room

COUNTED = frozenset([1])


def three_alike() -> AlikeActivities:
    """Rows 0 and 1 are choices; then three rooms with one planner, the last of which counts elsewhere."""
    planner = ActivityPlanner(risky_room(), COUNTED)
    rows = planner.balance.num_rows
    counts = [[(0, 1)], [(0, 1)], [(1, 1)]]
    return AlikeActivities([planner] * 3, counts, 2 + rows * np.arange(4))


def test_what_counts_the_same_is_one_slot() -> None:
    slots = three_alike().slots(Region())
    assert slots.activities == (0, 2)
    assert slots.of.tolist() == [0, 0, 1]
    assert slots.executions(np.array([0.5, 1.0, 4.0])).tolist() == [1.5, 4.0]


def test_forbidden_rows_tell_activities_apart() -> None:
    slots = three_alike().slots(Region().forbid([1, 3]))
    assert slots.choices == {1}
    assert slots.parts == {0: {1}}
    assert slots.activities == (0, 2, 0)
    assert slots.forbidden == (frozenset(), frozenset(), {1})
    assert slots.of.tolist() == [2, 0, 1]


def test_the_same_forbidden_rows_do_not() -> None:
    alike = three_alike()
    slots = alike.slots(Region().forbid([3, 5]))
    # Nobody is left without forbidden rows, so that nothing is looked up for them.
    assert slots.activities == (0, 2)
    assert slots.forbidden == ({1}, frozenset())
    assert slots.of.tolist() == [0, 0, 1]


def test_too_many_splits_are_dropped_and_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hcssp.dual.alike_activities.MAX_SPLITS", 1)
    alike = three_alike()
    for _ in range(2):
        for row, parts in ((1, {}), (2, {0: {0}}), (5, {1: {1}}), (7, {2: {1}})):
            assert alike.slots(Region().forbid([row])).parts == parts
            assert len(alike._known) <= 1


@pytest.mark.parametrize("most_compared", [0, 8])
def test_equal_arrays_are_found_whatever_they_are_called(
    most_compared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By digests as by comparing them."""
    monkeypatch.setattr("hcssp.dual.alike_activities.MOST_COMPARED", most_compared)
    room = risky_room()
    renamed = room.derive(cost_names=("minutes", "harm"))
    dearer = room.derive(costs=2.0 * room.costs)
    assert first_alike([room, dearer, renamed, room, dearer], [COUNTED] * 5) == [0, 1, 0, 0, 1]
    assert first_alike([room, room], [COUNTED, frozenset()]) == [0, 1]
    # One that counts in two ways stands beside others that count in one of them.
    cheaper = room.derive(costs=0.5 * room.costs)
    ways = [COUNTED, COUNTED, frozenset(), frozenset()]
    assert first_alike([room, dearer, cheaper, room], ways) == [0, 1, 2, 3]


def test_one_other_number_makes_another_problem() -> None:
    room = risky_room()
    assert are_alike(room, room)
    assert are_alike(room, room.derive(cost_names=("minutes", "harm")))
    dearer, likelier = room.costs.copy(), room.transitions.copy()
    dearer[1, 1] += 1.0
    likelier.data = np.array([1.0, 0.25, 0.75])
    for changes in ({"costs": dearer}, {"transitions": likelier}, {"initial": np.array([0.0, 1.0])}):
        other = room.derive(**changes)
        assert not are_alike(room, other)
        assert not are_alike(other, room)
