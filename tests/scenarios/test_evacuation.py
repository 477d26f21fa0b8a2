"""The scenario against the facts that are known about it."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from hcssp.errors import InvalidProblem
from hcssp.files.problem_file.loading import load_parameters, load_text
from hcssp.procedure import HCSSP
from hcssp.scenarios.domains.evacuation import (
    SMALL,
    TABLE,
    TEXT,
    evacuation,
    evacuation_rooms,
    evacuation_text,
    small_building,
)
from hcssp.scenarios.scenario import Scenario

STATED = yaml.safe_load(TABLE.text())
CROSSINGS = STATED["activities"]


@pytest.fixture(scope="module")
def problem() -> HCSSP:
    return evacuation(bound=2.0)


def damage_cells(problem: HCSSP, activity: str) -> list[tuple[int, int]]:
    cssp = problem.activities[problem.activity_index(activity)].cssp
    costs = cssp.costs[cssp.cost_names.index("damage")]
    assert set(costs.tolist()) <= {0.0, 50.0}
    return sorted({cssp.state_labels[int(state)] for state in cssp.row_state[costs > 0]})


def test_the_flat_problem_has_the_papers_number_of_states(problem: HCSSP) -> None:
    flattening = problem.flattening
    assert flattening.num_states == 18_644
    assert flattening.num_event_states == 14
    assert flattening.num_rows == 4 * 18_630 + 16
    assert flattening.separable
    assert sum(activity.cssp.num_states for activity in problem.activities) == 18_644


def test_six_rooms_fourteen_activities_and_two_doors(problem: HCSSP) -> None:
    assert len(STATED["models"]) == len(problem.positions) == 6
    assert problem.num_activities == 14
    assert len({str(crossing) for crossing in CROSSINGS.values()}) == 14
    assert (problem.events[problem.start], problem.events[problem.end]) == ("start", "exit")
    several = [event for event in range(14) if len(problem.choices_at(event)) > 1]
    assert [problem.events[event] for event in several] == ["start", "hallway-NE-E", "door-1-open"]
    by_chance = [choice.name for choice in problem.choices if len(choice.outcomes) > 1]
    assert by_chance == ["open-door-1", "open-door-2"]


@pytest.mark.parametrize(
    ("room", "hazardous"),
    [("NW", 16 + 24 + 10), ("NE", 27 + 20), ("E", 12 + 16), ("W", 24 + 12 + 10), ("SE", 21), ("SW", 18 + 22)],
)
def test_hazardous_cells(problem: HCSSP, room: str, hazardous: int) -> None:
    crossings = [name for name, crossing in CROSSINGS.items() if crossing["model"] == room]
    assert crossings
    for name in crossings:
        assert len(damage_cells(problem, name)) == hazardous


def test_the_corners_of_a_hazard_are_where_they_belong(problem: HCSSP) -> None:
    assert damage_cells(problem, "cross-SE") == [
        (column, row) for column in range(4, 11) for row in range(2, 5)
    ]


def test_every_step_takes_one_unit_of_time(problem: HCSSP) -> None:
    for activity in problem.activities:
        assert (activity.cssp.costs[0] == 1.0).all()
        assert activity.cssp.cost_names == ("time", "damage")
    assert problem.constraints[0].counts == dict.fromkeys(range(14), 1)


@pytest.mark.parametrize(
    ("make", "intended", "locked"), [(evacuation, 0.9, 0.01), (evacuation_text, 0.85, 0.1)]
)
def test_both_sets_of_parameters(make: type[HCSSP], intended: float, locked: float) -> None:
    problem = make(bound=1.5)
    assert problem.bounds.tolist() == [1.5]
    cssp = problem.activities[0].cssp
    south = cssp.row_start[cssp.state_index[20, 20]] + 2
    assert cssp.action_labels[int(south)] == "south"
    transitions = cssp.transitions[[int(south)]].toarray()[0]
    side = (1 - intended) / 2
    assert transitions[cssp.state_index[20, 21]] == pytest.approx(intended)
    assert transitions[cssp.state_index[19, 20]] == pytest.approx(side)
    assert transitions[cssp.state_index[21, 20]] == pytest.approx(side)
    doors = [choice for choice in problem.choices if choice.name.startswith("open-door")]
    for choice in doors:
        opened, closed = choice.outcomes
        assert problem.events[opened.event].endswith("open")
        assert problem.events[closed.event].endswith("locked")
        assert (opened.probability, closed.probability) == (pytest.approx(1 - locked), locked)


def test_other_openings_are_walls(problem: HCSSP) -> None:
    cssp = problem.activities[problem.activity_index("go-to-door-1")].cssp
    assert (0, 1) in cssp.state_index
    assert (10, 35) in cssp.state_index
    assert (40, 4) not in cssp.state_index
    assert cssp.state_labels[int(np.argmax(cssp.initial))] == (0, 1)
    assert [cssp.state_labels[int(goal)] for goal in np.flatnonzero(cssp.goals)] == [(10, 35)]


def test_a_scaled_building_has_blocks_for_cells() -> None:
    problem = evacuation(scale=3)
    interior = 9 * (18_644 - 28)
    assert problem.flattening.num_states == interior + 14 + 14
    assert len(damage_cells(problem, "cross-SE")) == 9 * 21
    assert damage_cells(problem, "cross-SE")[0] == (10, 4)
    assert damage_cells(problem, "cross-SE")[-1] == (30, 12)


@pytest.mark.parametrize("scale", [1, 2, 5])
def test_openings_stay_in_the_wall_and_face_each_other(scale: int) -> None:
    building = evacuation(scale=scale)
    on_the_map = {}
    for choice in building.choices:
        outcome = choice.outcomes[0]
        if outcome.runs is None:
            continue
        activity = building.activities[outcome.runs]
        room, corner = activity.cssp.world, building.positions[activity.room]
        (start,), (goal,) = room.starts, room.goals
        for event, (column, row) in ((choice.event, start), (outcome.event, goal)):
            assert (column in (0, room.width + 1)) != (row in (0, room.height + 1))
            on_the_map.setdefault(building.events[event], set()).add((corner[0] + column, corner[1] + row))
    for same in ([f"at-door-{n}", f"door-{n}-open", f"door-{n}-locked"] for n in (1, 2)):
        assert len(set.union(*(on_the_map[event] for event in same))) == 1
    # The paper's way into room SE is a column off the way out of room E, for one of two activities.
    off = on_the_map.pop("hallway-E-SE")
    assert len(off) == 2
    assert all(len(cells) == 1 for cells in on_the_map.values())


@pytest.mark.parametrize("scale", [0, -1, 1.5])
def test_a_scale_must_be_a_whole_number(scale: int) -> None:
    with pytest.raises(InvalidProblem, match=r"scale .*: give a whole number of at least 1"):
        evacuation(scale=scale)


def test_rooms_can_be_drawn(problem: HCSSP) -> None:
    rooms = evacuation_rooms()
    assert list(rooms) == [activity.name for activity in problem.activities]
    assert [len(rooms[activity.name].cells) for activity in problem.activities] == [
        activity.cssp.num_states for activity in problem.activities
    ]
    assert problem.positions == {
        "NW": (0, 0),
        "NE": (40, 0),
        "W": (0, 35),
        "E": (40, 35),
        "SW": (0, 70),
        "SE": (40, 70),
    }


def test_the_small_building() -> None:
    problem = small_building(bound=1.0)
    assert problem.num_activities == 5
    assert problem.flattening.num_states == 6 + sum(a.cssp.num_states - 1 for a in problem.activities)
    assert problem.flattening.num_states < 100
    assert problem.positions == {"W": (0, 0), "E": (5, 0), "SW": (0, 4)}


@pytest.mark.parametrize("scenario", [TABLE, TEXT, SMALL])
def test_the_file_of_a_problem_states_it(scenario: Scenario) -> None:
    loaded = load_text(scenario.text())
    assert loaded == scenario.make()
    assert (loaded.name, loaded.description) == (scenario.name, scenario.description)
    assert {name: float(value) for name, value in load_parameters(scenario.starter_file).items()} == (
        {each.name: each.default for each in (TABLE if scenario is TEXT else scenario).parameters}
    )
