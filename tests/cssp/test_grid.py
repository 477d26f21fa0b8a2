from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcssp.cssp import CSSP, NO_ROW, DeterministicPolicy, GridWorld, Hazard, prepare, render_policy
from hcssp.cssp.grid import DIRECTIONS, read_map
from hcssp.errors import InvalidProblem, Located
from volume import examples

STEPS = {"north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0)}


def room(**changes: Any) -> GridWorld:
    arguments: dict[str, Any] = {
        "width": 4,
        "height": 3,
        "start": (0, 1),
        "goal": (5, 3),
        "walls": [(2, 2, 1, 2)],
        "hazards": [Hazard(3, 1, 2, 2, {"damage": 50.0}), Hazard(4, 2, 1, 1, {"damage": 5.0, "time": 2.0})],
        "slip": 0.2,
        "bounds": {"damage": 10.0},
    }
    return GridWorld(**{**arguments, **changes})


def distribution(problem: CSSP, cell: tuple[int, int], action: str) -> dict[Any, float]:
    row = int(problem.row_start[problem.state_index[cell]]) + DIRECTIONS.index(action)
    assert problem.action_labels[row] == action
    entries = problem.transitions[[row]].tocoo()
    return {
        problem.state_labels[state]: pytest.approx(probability)
        for state, probability in zip(entries.col, entries.data, strict=True)
    }


def test_states_are_free_cells_and_own_openings() -> None:
    problem = room().to_cssp()
    assert problem.num_states == 4 * 3 - 2 + 2
    assert set(problem.state_labels) == {
        (column, row)
        for column in range(1, 5)
        for row in range(1, 4)
        if (column, row) not in {(2, 2), (2, 3)}
    } | {(0, 1), (5, 3)}
    assert problem.state_labels[int(np.flatnonzero(problem.goals)[0])] == (5, 3)
    assert problem.initial[problem.state_index[0, 1]] == 1.0
    assert problem.num_rows == 4 * 11


def test_steps_slip_to_either_side_and_walls_hold() -> None:
    problem = room().to_cssp()
    assert distribution(problem, (3, 2), "north") == {(3, 1): 0.8, (4, 2): 0.1, (3, 2): 0.1}
    assert distribution(problem, (3, 2), "west") == {(3, 2): 0.8, (3, 1): 0.1, (3, 3): 0.1}
    assert distribution(problem, (0, 1), "east") == {(1, 1): 0.8, (0, 1): 0.2}
    assert distribution(problem, (0, 1), "west") == {(0, 1): 1.0}
    assert distribution(problem, (4, 3), "east") == {(5, 3): 0.8, (4, 2): 0.1, (4, 3): 0.1}


def test_slips_to_the_left_and_right_may_differ() -> None:
    problem = room(slip=(0.1, 0.3)).to_cssp()
    assert distribution(problem, (3, 2), "north") == {(3, 1): 0.6, (4, 2): 0.3, (3, 2): 0.1}
    assert distribution(problem, (3, 2), "south") == {(3, 3): 0.6, (4, 2): 0.1, (3, 2): 0.3}


def test_steps_from_hazards_cost_what_they_say_and_overlaps_add_up() -> None:
    problem = room().to_cssp()

    def costs(cell: tuple[int, int]) -> list[float]:
        return problem.costs[:, problem.row_start[problem.state_index[cell]]].tolist()

    assert problem.cost_names == ("time", "damage")
    assert costs((1, 1)) == [1.0, 0.0]
    assert costs((3, 1)) == [1.0, 50.0]
    assert costs((4, 2)) == [3.0, 55.0]
    assert problem.bounds.tolist() == [10.0]


def test_several_starts_and_goals() -> None:
    problem = room(start={(0, 1): 0.25, (1, 3): 0.75}, goal=[(5, 3), (4, 4)]).to_cssp()
    assert problem.initial[problem.state_index[1, 3]] == 0.75
    assert sorted(problem.state_labels[state] for state in np.flatnonzero(problem.goals)) == [(4, 4), (5, 3)]


def test_names_without_a_hazard() -> None:
    assert room(hazards=(), bounds={}).cost_names == ("time",)
    problem = room(hazards=(), cost_names=("steps", "damage"), step_cost=2.0).to_cssp()
    assert problem.costs[:, 0].tolist() == [2.0, 0.0]


def test_rectangles_and_maps_agree() -> None:
    drawn = GridWorld.from_map(
        """
        ######
        S..xx#
        #.#xy#
        #.#..G
        ######
        """,
        hazards={"x": {"damage": 50.0}, "y": {"damage": 55.0, "time": 2.0}},
        slip=0.2,
        bounds={"damage": 10.0},
    ).to_cssp()
    problem = room().to_cssp()
    assert list(drawn.state_labels) == list(problem.state_labels)
    assert (drawn.transitions != problem.transitions).nnz == 0
    assert np.array_equal(drawn.costs, problem.costs)
    assert np.array_equal(drawn.initial, problem.initial)
    assert np.array_equal(drawn.goals, problem.goals)


def test_whole_numbers_are_costs_as_well() -> None:
    whole = room(step_cost={"time": 1, "damage": 0}, hazards=[Hazard(3, 1, 2, 2, {"damage": 50.5})]).to_cssp()
    assert np.max(whole.costs[1]) == 50.5


def test_several_starts_of_a_map_are_equally_probable() -> None:
    assert GridWorld.from_map("S.S\n.SS\n..G").starts[3, 1] == 0.25


@settings(max_examples=examples(50))
@given(st.data())
def test_every_transition_is_what_walking_gives(data: st.DataObject) -> None:
    width, height = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    inside = st.tuples(st.integers(1, width), st.integers(1, height))
    walls = data.draw(st.sets(inside, max_size=6))
    start, goal = data.draw(inside), data.draw(inside)
    walls -= {start, goal}
    left, right = data.draw(st.sampled_from([(0.0, 0.0), (0.1, 0.1), (0.5, 0.5), (0.25, 0.0)]))
    world = GridWorld(width, height, start, goal, walls=[(*cell, 1, 1) for cell in walls], slip=(left, right))
    problem = world.to_cssp()
    assert problem.transitions.has_canonical_format
    cells = set(problem.state_labels)
    for cell in cells - {goal}:
        for position, action in enumerate(DIRECTIONS):
            expected: dict[Any, float] = {}
            sides = ((0, 1 - left - right), (-1, left), (1, right))
            for turn, probability in sides:
                across, down = STEPS[DIRECTIONS[(position + turn) % 4]]
                reached = (cell[0] + across, cell[1] + down)
                reached = reached if reached in cells else cell
                expected[reached] = expected.get(reached, 0.0) + probability
            expected = {cell: probability for cell, probability in expected.items() if probability > 0}
            assert distribution(problem, cell, action) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"width": 0}, "the grid is 0 wide and 3 high; both must be at least 1"),
        ({"slip": 1.2}, "slip: 1.2 is not a probability between 0 and 1"),
        ({"slip": (0.6, 0.6)}, "slip: left and right sum to 1.2, which is more than 1"),
        ({"slip": (-0.1, 0.6)}, "slip: (-0.1, 0.6) is not a probability between 0 and 1"),
        ({"slip": float("nan")}, "slip: nan is not a probability between 0 and 1"),
        (
            {"walls": [(1, 1, 1, 1), (4, 1, 2, 1)]},
            "walls[1]: the rectangle [4, 1, 2, 1] does not lie inside; columns go from 1 to 4 and rows from "
            "1 to 3",
        ),
        (
            {"hazards": [Hazard(1, 0, 2, 1, {"damage": 1.0})]},
            "hazards[0]: the rectangle [1, 0, 2, 1] does not lie inside; columns go from 1 to 4 and rows "
            "from 1 to 3",
        ),
        (
            {"cost_names": ("time",)},
            "hazards[1].costs.damage: there is no cost 'damage'; the costs are 'time'",
        ),
        (
            {"step_cost": {"tiem": 1.0}, "cost_names": ("time", "damage")},
            "step_cost.tiem: there is no cost 'tiem'; did you mean 'time'?",
        ),
        (
            {"start": (6, 1)},
            "start: [6, 1] lies outside of the grid; columns go from 0 to 5 and rows from 0 to 4, the wall "
            "around it included",
        ),
        (
            {"start": {(0, 0): 1.0}},
            "start[0]: [0, 0] is a corner of the wall around the grid, where no step leads",
        ),
        ({"goal": (2, 3)}, "goal: [2, 3] lies in the wall [2, 2, 1, 2]; move one of them"),
        ({"goal": [(5, 3), (2, 3)]}, "goal[1]: [2, 3] lies in the wall [2, 2, 1, 2]; move one of them"),
    ],
)
def test_mistakes_of_the_grid(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(InvalidProblem) as raised:
        room(**changes)
    assert expected in raised.value.violations


def test_a_violation_knows_the_way_to_what_is_wrong() -> None:
    with pytest.raises(InvalidProblem) as raised:
        room(cost_names=("time",), walls=[(9, 9, 1, 1)], goal=[(7, 7)], bounds={})
    located = [violation for violation in raised.value.violations if isinstance(violation, Located)]
    assert [violation.at for violation in located] == [
        ("walls", 0),
        ("hazards", 0, "costs", "damage"),
        ("hazards", 1, "costs", "damage"),
        ("goal", 0),
    ]
    assert located[1].message == "there is no cost 'damage'; the costs are 'time'"


def test_numbers_of_numpy_are_shown_as_numbers() -> None:
    with pytest.raises(InvalidProblem, match=r"walls\[0\]: the rectangle \[9, 1, 1, 1\] does not"):
        room(walls=[tuple(np.array([9, 1, 1, 1]))])


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"start": {(0, 1): 0.5}}, "the initial probabilities sum to 0.5, not 1"),
        ({"goal": ()}, "there is no goal; mark at least one state as a goal"),
        (
            {"bounds": {"noise": 1.0}},
            "bound on 'noise': no such secondary cost; the secondary costs are 'damage'",
        ),
        (
            {"step_cost": -1.0, "hazards": (), "bounds": {}},
            "state (0, 1), action 'north': the cost 'time' is -1.0; costs must be finite and not negative",
        ),
    ],
)
def test_mistakes_of_the_problem(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(InvalidProblem) as raised:
        room(**changes).to_cssp()
    assert expected in raised.value.violations


def test_a_map_needs_a_start_and_a_goal() -> None:
    with pytest.raises(InvalidProblem) as raised:
        GridWorld.from_map("...\n...")
    assert raised.value.violations == (
        "the map has no start; draw at least one 'S'",
        "the map has no goal; draw at least one 'G'",
    )


def failing(**changes: Any) -> GridWorld:
    """A corridor whose second cell is dangerous."""
    given: dict[str, Any] = {
        "hazards": [Hazard(2, 1, 1, 1, {"damage": 1.0}, {"crashed": 0.5})],
        "exits": {"broken": 0.1},
        **changes,
    }
    return GridWorld(3, 1, (1, 1), (3, 1), **given)


def test_a_step_may_end_in_an_exit() -> None:
    world = failing()
    problem = world.to_cssp()
    assert list(problem.state_labels) == [(1, 1), (2, 1), (3, 1), "broken", "crashed"]
    assert world.exit_names == ("broken", "crashed")
    assert problem.goals.tolist() == [False, False, True, True, True]
    east = problem.transitions[[1, 5]].toarray()
    assert east == pytest.approx(np.array([[0.0, 0.9, 0.0, 0.1, 0.0], [0.0, 0.0, 0.4, 0.1, 0.5]]))
    assert len(world.cells) == 3


def test_a_cell_may_be_left_by_an_exit_alone() -> None:
    problem = failing(hazards=[Hazard(2, 1, 1, 1, {}, {"crashed": 1.0})], exits={}).to_cssp()
    rows = range(int(problem.row_start[1]), int(problem.row_start[2]))
    assert problem.transitions[rows].toarray().tolist() == [[0.0, 0.0, 0.0, 1.0]] * 4


def test_a_map_has_exits_too() -> None:
    drawn = GridWorld.from_map(
        "S~G", hazards={"~": {"damage": 1.0}}, hazard_exits={"~": {"crashed": 0.5}}, exits={"broken": 0.1}
    )
    assert drawn.to_cssp() == failing().to_cssp()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"exits": {"broken": 1.5}}, "exits.broken: 1.5 is not a probability between 0 and 1"),
        ({"exits": {"broken": float("nan")}}, "exits.broken: nan is not a probability between 0 and 1"),
        (
            {"hazards": [Hazard(2, 1, 1, 1, {}, {"crashed": -0.1})]},
            "hazards[0].exits.crashed: -0.1 is not a probability between 0 and 1",
        ),
        (
            {"exits": {"broken": 0.75}},
            "hazards[0].exits: the probabilities of the exits at [2, 1] sum to 1.25, which is more than 1",
        ),
        (
            {"exits": {"broken": 0.75, "lost": 0.5}, "hazards": []},
            "exits: the probabilities of the exits at [0, 0] sum to 1.25, which is more than 1",
        ),
    ],
)
def test_mistakes_about_exits(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(InvalidProblem) as raised:
        failing(**changes)
    assert raised.value.violations == (expected,)


MAP = """
#######
S..~..#
#.###.G
#..~..#
#######
"""


def test_arrows_where_the_policy_acts() -> None:
    world = GridWorld.from_map(MAP, hazards={"~": {"damage": 1.0}})
    problem = world.to_cssp()
    rows = np.full(problem.num_states, NO_ROW)
    way = {(0, 1): "east", (1, 1): "east", (2, 1): "east", (3, 1): "east", (4, 1): "east", (5, 1): "south"}
    for cell, action in {**way, (5, 2): "east", (5, 3): "north", (3, 3): "west"}.items():
        state = problem.state_index[cell]
        rows[state] = problem.row_start[state] + DIRECTIONS.index(action)
    assert render_policy(world, DeterministicPolicy(problem, rows)).splitlines() == [
        "#######",
        "→→→⇒→↓#",
        "#·###→G",
        "#··⇐·↑#",
        "#######",
    ]


def test_a_reduced_problem_draws_on_the_same_map() -> None:
    world = GridWorld.from_map("S.G#.\n", slip=0.0)
    reduced = prepare(world.to_cssp()).problem
    assert reduced.num_states == 3
    rows = np.array([1, 5, NO_ROW])
    assert render_policy(world, DeterministicPolicy(reduced, rows)).splitlines() == [
        "#######",
        "#→→G#·#",
        "#######",
    ]


def test_a_map_with_its_ring_counts_from_the_ring() -> None:
    drawing = read_map(
        """
        ####G#
        S..#.#
        #..#.#
        ######
        """
    )
    assert (drawing.width, drawing.height) == (4, 2)
    assert drawing.starts == ((0, 1),)
    assert drawing.goals == ((4, 0),)
    assert drawing.walls == ((3, 1, 1, 2),)


def test_a_map_without_a_ring_gets_one() -> None:
    drawing = read_map("S..\n..G")
    assert (drawing.width, drawing.height) == (3, 2)
    assert drawing.starts == ((1, 1),)
    assert drawing.goals == ((3, 2),)
    assert drawing.walls == ()


def test_hazards_are_covered_by_disjoint_rectangles() -> None:
    drawing = read_map("S.~~.\n..~~~\n^.~~G", {"~", "^"})
    assert drawing.hazards["^"] == ((1, 3, 1, 1),)
    covered = sorted(
        (column + right, row + down)
        for column, row, width, height in drawing.hazards["~"]
        for right in range(width)
        for down in range(height)
    )
    assert covered == [(3, 1), (3, 2), (3, 3), (4, 1), (4, 2), (4, 3), (5, 2)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  \n", ["the map is empty"]),
        ("S..\n.G", ["line 2: this line of the map has 2 characters, but the first has 3"]),
        (
            "\nS.?\n!.G",
            [
                "line 1, character 3: '?' in the map has no meaning; "
                "it must be '#', '.', 'S', 'G', a hazard or a place of the grid",
                "line 2, character 1: '!' in the map has no meaning; "
                "it must be '#', '.', 'S', 'G', a hazard or a place of the grid",
            ],
        ),
        ("S.\n" + 12 * "?G\n", ["... and 2 more of this kind"]),
    ],
)
def test_mistakes_name_line_and_character(text: str, expected: list[str]) -> None:
    with pytest.raises(InvalidProblem) as raised:
        read_map(text)
    assert list(raised.value.violations)[-len(expected) :] == expected


def test_a_mistake_knows_its_line_in_what_was_given() -> None:
    with pytest.raises(InvalidProblem) as raised:
        read_map(["", "  ", "S..", "..", "..G", ""])
    (violation,) = raised.value.violations
    assert isinstance(violation, Located)
    assert violation.at == (3,)


def test_places_are_openings_in_the_ring_and_free_inside() -> None:
    drawing = read_map("##A##\nS.B.#\n#~..A\n#####", {"~"}, {"A", "B", "C"})
    assert (drawing.width, drawing.height, drawing.walls) == (3, 2, ())
    assert drawing.places == {"A": ((2, 0), (4, 2)), "B": ((2, 1),), "C": ()}
    assert drawing.hazards == {"~": ((1, 2, 1, 1),)}
    alone = read_map("A..\n..B", places="AB")
    assert alone.places == {"A": ((1, 1),), "B": ((3, 2),)}
