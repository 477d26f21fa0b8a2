"""Levels that are carried in the state: what is allowed, where it leads, what it is called and drawn as."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from hcssp import CSSPBuilder
from hcssp.cssp.grid import GridWorld, PlacedGrid
from hcssp.cssp.model import CSSP
from hcssp.cssp.product import Capacity, base_of, level_label, used_in, with_levels
from hcssp.cssp.validation import violations
from hcssp.errors import InvalidProblem


@pytest.mark.parametrize(
    ("use", "steps"), [(0.0, 0), (1.0, 2), (0.9, 2), (1.1, 3), (1.0 + 1e-12, 2), (-1.0, -2), (-0.9, -1)]
)
def test_uses_are_rounded_up_and_gifts_down(use: float, steps: int) -> None:
    assert Capacity("water", at_most=3.0, step=0.5).steps(np.array([use])).tolist() == [steps]


def test_a_capacity_has_whole_steps() -> None:
    capacity = Capacity("water", at_most=1.7, step=0.5)
    assert (capacity.last, capacity.num_levels) == (3, 4)
    assert [capacity.level_text(level) for level in range(4)] == [
        "water 0",
        "water 0.5",
        "water 1",
        "water 1.5",
    ]
    # 0.3 / 0.1 is a little less than three.
    assert Capacity("water", at_most=0.3, step=0.1).last == 3
    assert Capacity("water", at_most=1.0, probability=0.1).level_text(2) == "water above 1"


def tap() -> tuple[CSSP, np.ndarray]:
    way = CSSPBuilder(cost_names=("time",))
    here, out = way.add_state("here"), way.add_goal("out")
    way.add_action(here, "drink", to={here: 0.5, out: 0.5}, costs=1.0)
    way.add_action(here, "fill", to=here, costs=2.0)
    way.set_initial(here)
    return way.build(), np.array([[1.0, -2.0], [0.0, 3.0]])


def rows(problem: CSSP, label: str) -> dict[str, list[str]]:
    """Where the actions of a state lead."""
    state = problem.state_index[label]
    labels, action_labels = problem.state_labels, problem.action_labels
    return {
        str(action_labels[row]): [labels[reached] for reached in problem.transitions[[row]].indices.tolist()]
        for row in range(int(problem.row_start[state]), int(problem.row_start[state + 1]))
    }


def test_two_capacities_at_once() -> None:
    problem, uses = tap()
    capacities = [Capacity("water", at_most=2.0), Capacity("effort", at_most=4.0, probability=0.5)]
    carried = with_levels(problem, capacities, uses)
    assert violations(carried) == []
    assert carried.num_states == 2 * 3 * 6
    assert carried.cost_names == ("time", "effort above 4")
    assert rows(carried, "here, water 1, effort 0") == {
        "drink": ["here, water 2, effort 0", "out, water 2, effort 0"],
        "fill": ["here, water 0, effort 3"],
    }
    # Nothing is left to drink; filling exceeds the effort, which may be.
    assert rows(carried, "here, water 2, effort 2") == {"fill": ["here, water 0, effort above 4"]}
    last = int(carried.row_start[carried.state_index["here, water 2, effort 2"]])
    assert carried.costs[:, last].tolist() == [2.0, 1.0]
    again = int(carried.row_start[carried.state_index["here, water 2, effort above 4"]])
    assert carried.costs[:, again].tolist() == [2.0, 0.0]


def test_giving_up_keeps_what_has_been_used() -> None:
    problem, uses = tap()
    carried = with_levels(problem, [Capacity("effort", at_most=2.0)], uses[1:] + 1.0, {"time": 9.0})
    assert violations(carried) == []
    assert rows(carried, "here, effort 1") == {"drink": ["here, effort 2", "out, effort 2"]}
    assert rows(carried, "here, effort 2") == {"give up": ["out, effort 2"]}


def test_a_grid_keeps_its_cells() -> None:
    room = GridWorld(2, 1, (1, 1), (2, 1), exits={"lost": 0.1}).to_cssp()
    carried = with_levels(room, [Capacity("battery", at_most=2.0)], np.ones((1, room.num_rows)))
    assert isinstance(carried.world, PlacedGrid)
    assert carried.world.cells.tolist() == [[1, 1]] * 3 + [[2, 1]] * 3
    assert list(carried.state_labels)[-3:] == ["lost, battery 0", "lost, battery 1", "lost, battery 2"]


def test_a_label_is_a_text_that_knows_its_cell_and_amounts() -> None:
    room = GridWorld(2, 1, (1, 1), (2, 1)).to_cssp()
    capacities = [Capacity("battery", at_most=4.0, used=2.0), Capacity("water", 1.0, 0.5, probability=0.1)]
    carried = with_levels(room, capacities, np.ones((2, room.num_rows)))
    (begin,) = np.flatnonzero(carried.initial)
    label = carried.state_labels[int(begin)]
    assert label == "(1, 1), battery 2, water 0"
    assert (base_of(label), used_in(label)) == ((1, 1), {"battery": 2.0, "water": 0.0})
    assert label.at({"water": 0.3}) == "(1, 1), battery 2, water 0.5"
    assert used_in(label.at({"water": 7.0})) == {"battery": 2.0, "water": np.inf}
    # Processes hand labels around, and texts carried on top of them keep what they know.
    again = pickle.loads(pickle.dumps(level_label(label, "late")))
    assert again == "(1, 1), battery 2, water 0, late"
    assert (base_of(again), used_in(again)) == ((1, 1), used_in(label))
    with pytest.raises(InvalidProblem, match=r"5\.0 is used at the beginning; give a number from 0 to 4"):
        Capacity("battery", at_most=4.0, used=5.0)
