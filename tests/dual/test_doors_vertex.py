"""The chain of a plan over events: visits and costs as they are by hand, and none that does not end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hcssp.dual.doors_vertex import _Chain
from hcssp.errors import ImproperPolicy

END = 3


def chain_of(
    moves: dict[int, dict[int, float]],
    *,
    everywhere: bool = False,
    unit: float = 1.0,
    begins: tuple[float, ...] = (0.5, 0.5, 0.0, 0.0),
) -> _Chain:
    """Three events and an end; each event costs as much as its number and one, and ten times that."""
    layout = SimpleNamespace(end=END, begins=np.array(begins), num_costs=2)
    events: Any = SimpleNamespace(
        layout=layout, step=lambda row, plans: (np.array([1.0, 10.0]) * (row + 1) * unit, dict(moves[row]))
    )
    choices = np.array([state if state in moves else -1 for state in range(4)])
    return _Chain(events, choices, (), everywhere=everywhere)


@pytest.fixture(params=["dense", "sparse"], autouse=True)
def _kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "sparse":
        monkeypatch.setattr("hcssp.dual.doors_vertex.MAX_DENSE_EVENTS", 0)


def test_visits_and_values_are_those_by_hand() -> None:
    # From 0 to 1, which stays for half of the time, and comes back with a quarter; 2 is never met.
    chain = chain_of({0: {1: 1.0}, 1: {1: 0.5, 0: 0.25, END: 0.25}, 2: {END: 1.0}})
    assert chain.states.tolist() == [0, 1]
    assert chain.visits == pytest.approx([1.5, 4.0])
    assert chain.costs.tolist() == [[1.0, 10.0], [2.0, 20.0]]
    assert chain.values() == pytest.approx(np.array([[10.0, 100.0], [9.0, 90.0]]))
    everywhere = chain_of({0: {1: 1.0}, 1: {1: 0.5, 0: 0.25, END: 0.25}, 2: {0: 1.0}}, everywhere=True)
    assert everywhere.states.tolist() == [0, 1, 2]
    assert everywhere.values()[2] == pytest.approx([13.0, 130.0])


def test_what_costs_little_is_worth_little() -> None:
    chain = chain_of({0: {1: 0.5, END: 0.5}, 1: {END: 1.0}}, unit=0.01)
    assert chain.values() == pytest.approx(np.array([[0.02, 0.2], [0.02, 0.2]]))
    assert chain.visits == pytest.approx([0.5, 0.75])


def test_what_is_left_of_a_chance_is_no_way_and_a_chance_is_one() -> None:
    leaking = chain_of({0: {END: 1.0, 2: 1e-10}, 1: {END: 1.0}})
    assert leaking.states.tolist() == [0, 1]
    with pytest.raises(ImproperPolicy, match="without a choice"):
        chain_of({0: {END: 0.9, 2: 0.1}, 1: {END: 1.0}})


@pytest.mark.parametrize(
    "moves",
    [
        {0: {1: 1.0}, 1: {1: 1.0}},
        {0: {END: 1.0}, 1: {1: 1.0}},
        {0: {1: 1.0}, 1: {0: 1.0}},
        {0: {1: 0.5, END: 0.5}, 1: {2: 1.0}, 2: {1: 1.0}},
    ],
)
def test_choices_that_do_not_end_are_refused(moves: dict[int, dict[int, float]]) -> None:
    with pytest.raises(ImproperPolicy, match="do not reach the end"):
        chain_of(moves)


def test_what_begins_at_the_end_is_over() -> None:
    chain = chain_of({0: {END: 1.0}}, begins=(0.0, 0.0, 0.0, 1.0))
    assert chain.visits.shape == (0,)
    assert chain.costs.shape == chain.values().shape == (0, 2)
