"""The states of a cell are drawn together."""

from __future__ import annotations

import numpy as np

from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.grid import DIRECTIONS, GridWorld, PlacedGrid
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.product import Capacity, with_levels
from hcssp.reports.rooms import visited_cells


def test_visits_add_up_and_the_most_visited_state_points() -> None:
    room = GridWorld(2, 1, (1, 1), (2, 1)).to_cssp()
    carried = with_levels(room, [Capacity("battery", at_most=2.0)], np.ones((1, 4)), {"time": 3.0})
    rows = np.full(carried.num_states, NO_ROW, dtype=np.int64)
    visits = np.zeros(carried.num_states)
    for level, (heading, often) in enumerate(((0, 0.25), (1, 0.5), (0, 4.0))):
        rows[level], visits[level] = carried.row_start[level] + heading, often
    assert carried.action_labels[int(rows[2])] == "give up"
    cells, headings, total = visited_cells(carried.world, carried, rows, visits)
    assert cells.tolist() == [[1, 1]]
    assert [DIRECTIONS[heading] for heading in headings] == ["east"]
    assert total.tolist() == [0.75]


def test_without_levels_every_state_is_a_cell() -> None:
    room = GridWorld(2, 1, (1, 1), (2, 1)).to_cssp()
    cells, headings, total = visited_cells(room.world, room, np.array([1, NO_ROW]), np.array([2.0, 1.0]))
    assert (cells.tolist(), headings.tolist(), total.tolist()) == ([[1, 1]], [1], [2.0])


def test_an_action_without_a_direction_points_where_it_likely_leads() -> None:
    way = CSSPBuilder(cost_names=("time",))
    for label in ("here", "below", "waiting"):
        way.add_state(label)
    way.add_goal("over")
    way.add_action("here", "jump", to={"below": 0.7, "waiting": 0.3})
    way.add_action("below", "end", to="over")
    way.add_action("waiting", "wait", to={"waiting": 0.9, "over": 0.1})
    problem = way.build()
    places = np.array([[1, 1], [1, 3], [2, 1], [2, 3]])
    world = PlacedGrid.on(GridWorld(2, 3, (1, 1), (2, 3)), places)
    rows = np.array([0, 1, 2, NO_ROW])
    cells, headings, total = visited_cells(world, problem, rows, np.ones(4))
    # What ends is no move, nor is waiting.
    assert (cells.tolist(), headings.tolist(), total.tolist()) == ([[1, 1]], [2], [1.0])
