from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from hcssp.cssp.model import CSSP
from hcssp.dual.activity_planner import ActivityPlanner
from hcssp.dual.twins import pair_up
from hcssp.scenarios.hazard_grid import hazard_grid
from hcssp.ssp.policy_iteration import PolicyIteration
from hcssp.ssp.policy_system import PolicySystem

NOWHERE: frozenset[int] = frozenset()
DAMAGE = frozenset({1})


@pytest.fixture(scope="module")
def room() -> CSSP:
    return hazard_grid(12, 12)


def with_other_damage(room: CSSP, times: float) -> CSSP:
    return replace(room, costs=room.costs * np.array([[1.0], [times]]))


def entered_elsewhere(room: CSSP) -> CSSP:
    initial = np.zeros_like(room.initial)
    initial[np.flatnonzero(~room.goals)[-1]] = 1.0
    return replace(room, initial=initial)


def planners_of(*rooms: CSSP) -> list[ActivityPlanner]:
    planners = [ActivityPlanner(room, DAMAGE) for room in rooms]
    pair_up(planners)
    return planners


@pytest.fixture
def worked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was done from scratch."""
    done: list[str] = []
    for owner, name in ((PolicyIteration, "_cold_start"), (PolicySystem, "_refer_to")):

        def noted(
            self: object, *given: object, was: object = getattr(owner, name), name: str = name
        ) -> object:
            done.append(name)
            return was(self, *given)  # type: ignore[operator]

        monkeypatch.setattr(owner, name, noted)
    return done


def test_a_room_with_other_hazards_begins_with_the_fastest_plan(room: CSSP, worked: list[str]) -> None:
    first, second = planners_of(room, with_other_damage(room, 3.0))
    first.plan_at(0.0, NOWHERE)
    worked.clear()
    plan, bound = second.plan_at(0.0, NOWHERE)
    assert worked == ["_refer_to"]
    alone, alone_bound = ActivityPlanner(with_other_damage(room, 3.0), DAMAGE).plan_at(0.0, NOWHERE)
    assert plan.costs == pytest.approx(alone.costs, rel=1e-12)
    assert bound == pytest.approx(alone_bound, rel=1e-12)


def test_once_hazards_have_a_price_it_does_not(room: CSSP, worked: list[str]) -> None:
    first, second = planners_of(room, with_other_damage(room, 3.0))
    first.plan_at(0.4, NOWHERE)
    worked.clear()
    plan, _ = second.plan_at(0.4, NOWHERE)
    assert "_cold_start" in worked
    alone, _ = ActivityPlanner(with_other_damage(room, 3.0), DAMAGE).plan_at(0.4, NOWHERE)
    assert plan.costs @ [1.0, 0.4] == pytest.approx(alone.costs @ [1.0, 0.4], rel=1e-12)


@pytest.mark.parametrize("price", [0.0, 0.4])
def test_a_room_that_is_entered_elsewhere_takes_plans_over(
    room: CSSP, price: float, worked: list[str]
) -> None:
    first, second = planners_of(room, entered_elsewhere(room))
    first.plan_at(price, NOWHERE)
    worked.clear()
    plan, bound = second.plan_at(price, NOWHERE)
    assert worked == []
    alone, alone_bound = ActivityPlanner(entered_elsewhere(room), DAMAGE).plan_at(price, NOWHERE)
    assert plan.costs @ [1.0, price] == pytest.approx(alone.costs @ [1.0, price], rel=1e-12)
    assert bound == pytest.approx(alone_bound, rel=1e-12)


def test_rooms_with_other_moves_or_counts_are_no_twins(room: CSSP) -> None:
    moves = room.transitions.copy()
    # As many moves that add up to as much, but in some row the other way round.
    first, last = next(
        (first, last)
        for first, last in pairwise(moves.indptr)
        if last - first > 1 and moves.data[first] != moves.data[last - 1]
    )
    moves.data[first:last] = moves.data[first:last][::-1].copy()
    assert planners_of(room, room)[1].twin is not None
    assert planners_of(room, replace(room, transitions=moves))[1].twin is None
    planners = [ActivityPlanner(room, DAMAGE), ActivityPlanner(room, NOWHERE)]
    pair_up(planners)
    assert planners[1].twin is None


def test_two_that_know_of_one_another_may_count_less(room: CSSP) -> None:
    first, second = planners_of(room, entered_elsewhere(room))
    pair_up([second, first])
    narrower = first.counting(NOWHERE)
    assert narrower.twin is second.counting(NOWHERE)
    assert narrower.twin.twin is narrower


def test_rooms_with_more_costs_are_no_twins(room: CSSP) -> None:
    """They may have the same moves, but what is to come of one says nothing of a cost that it has not."""
    more = room.derive(
        costs=np.vstack([room.costs, np.ones(room.num_rows)]),
        cost_names=("time", "damage", "fuel"),
        bounds=np.array([1.0, np.inf]),
    )
    for rooms in ((room, more), (more, room)):
        planners = planners_of(*rooms)
        assert [planner.twin for planner in planners] == [None, None]
        for planner in planners:
            answer = planner.plan_at(0.0, NOWHERE)
            assert answer is not None
            assert len(answer[0].costs) == planner.num_costs
