"""What problem files mean."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hcssp.cssp.grid import GridWorld, Hazard
from hcssp.files.fingerprint import fingerprint
from hcssp.files.problem_file.loading import HCSSP, load, load_text

HERE = Path(__file__).parent


def grid(body: str, ends: str = "", costs: str = "[time, damage]") -> GridWorld:
    head = f"format: hcssp-problem\nversion: 1\ncosts: {costs}\nactivities:\n  cross:\n    grid:\n"
    indented = "".join(f"      {line}\n" for line in body.strip("\n").split("\n"))
    loaded = load_text(head + indented + "".join(f"    {line}\n" for line in ends.split("\n") if line))
    world = loaded.activities[0].cssp.world
    assert world is not None
    return world


def assert_same(one: GridWorld, other: GridWorld) -> None:
    ours, theirs = one.to_cssp(), other.to_cssp()
    assert (ours.transitions != theirs.transitions).nnz == 0
    np.testing.assert_array_equal(ours.costs, theirs.costs)
    np.testing.assert_array_equal(ours.initial, theirs.initial)
    np.testing.assert_array_equal(ours.goals, theirs.goals)
    assert list(ours.state_labels) == list(theirs.state_labels)


@pytest.fixture(scope="module")
def loaded() -> HCSSP:
    return load(HERE / "valid.yaml")


def test_a_whole_file(loaded: HCSSP) -> None:
    assert loaded.name == "two rooms and a lift"
    assert loaded.description.startswith("A hall")
    problem = loaded
    assert problem.events == ("begin", "at-lift", "at-slide", "below", "out")
    assert [activity.name for activity in problem.activities] == ["cross", "return", "ride", "leave", "slide"]
    assert (problem.start, problem.end) == (0, 4)
    assert [(o.probability, o.event, o.runs) for o in problem.choices[1].outcomes] == [
        (0.8, 3, 2),
        (0.2, 2, 1),
    ]
    assert {c.name: c.at_most for c in problem.constraints} == {"damage": 4.0, "energy": 30.0, "lift": 5.0}
    assert problem.constraints[0].counts == dict.fromkeys(range(5), 1)
    assert problem.constraints[2].counts == {2: 2}
    assert {activity.name: activity.room for activity in problem.activities} == {
        "cross": "hall",
        "return": "hall",
        "ride": "ride",
        "leave": "cellar",
        "slide": "slide",
    }
    assert loaded.positions == {"hall": (0, 0)}
    assert [each.name for each in problem.activities if each.cssp.world is None] == ["ride", "slide"]


def test_a_reference_takes_the_nearest_start_and_goal(loaded: HCSSP) -> None:
    cross, back = loaded.activities[0].cssp.world, loaded.activities[1].cssp.world
    assert cross is not None
    assert back is not None
    assert (cross.starts, cross.goals) == ({(0, 1): 1.0}, ((6, 4),))
    assert (back.starts, back.goals) == ({(6, 4): 1.0}, ((3, 5),))


def test_activities_that_agree_share_their_arrays() -> None:
    text = (HERE / "valid.yaml").read_text(encoding="utf-8")
    text = text.replace("start: [6, 4], goal: [3, 5]}", "}")
    activities = load_text(text, HERE).activities
    assert activities[0].cssp is activities[1].cssp


def test_a_grid_by_rectangles() -> None:
    body = """
width: 4
height: 3
walls: [2, 2, 1, 1]
hazards:
  - {at: [[3, 1, 1, 2], [1, 3, 2, 1]], costs: {damage: 5, time: 1}}
  - {at: [4, 1, 1, 1], costs: {damage: 1}}
slip: {left: 0.1, right: 0.2}
step_cost: 2
"""
    fire = {"damage": 5.0, "time": 1.0}
    expected = GridWorld(
        width=4,
        height=3,
        start={(0, 1): 0.25, (1, 1): 0.75},
        goal=[(5, 3), (2, 4)],
        walls=[(2, 2, 1, 1)],
        hazards=[Hazard(3, 1, 1, 2, fire), Hazard(1, 3, 2, 1, fire), Hazard(4, 1, 1, 1, {"damage": 1.0})],
        slip=(0.1, 0.2),
        step_cost=2.0,
        cost_names=("time", "damage"),
    )
    start = "start: [{at: [0, 1], probability: 0.25}, {at: [1, 1], probability: 0.75}]"
    assert_same(grid(body, f"{start}\ngoal: [[5, 3], [2, 4]]"), expected)


MAP = """
map: |
  ######
  S.~..#
  #.#..G
  ######
hazards: {"~": {damage: 5}}
"""


def test_a_map_is_what_the_library_makes_of_it() -> None:
    expected = GridWorld.from_map("######\nS.~..#\n#.#..G\n######", hazards={"~": {"damage": 5.0}})
    assert_same(grid(MAP), expected)
    lines = MAP.replace("map: |\n", "map:\n").replace("  ######", '  - "######"').replace("  S", "  - S")
    assert_same(grid(lines.replace("  #.#..G", "  - '#.#..G'")), expected)


def test_places_of_a_map_are_openings_or_free_cells() -> None:
    body = """
map: |
  ##A###
  A.~B.#
  #.#..G
  ######
hazards: {"~": {damage: 5}}
places: {door: A, table: B, exit: [5, 1]}
"""
    world = grid(body, "start: door\ngoal: [table, exit]")
    assert world.starts == {(2, 0): 0.5, (0, 1): 0.5}
    assert world.goals == ((3, 1), (5, 1))
    assert world.free.sum() == 7 + 3


def test_places_of_a_map_without_its_wall() -> None:
    world = grid("map: |\n  A..\n  ..B\nplaces: {here: A, there: B}", "start: here\ngoal: there")
    assert (world.width, world.height, world.starts, world.goals) == (3, 2, {(1, 1): 1.0}, ((3, 2),))


def test_intended_is_the_rest_of_slip() -> None:
    body = "width: 3\nheight: 2\nintended: 0.9"
    assert grid(body, "start: [1, 1]\ngoal: [3, 2]").slip == 1.0 - 0.9


def test_every_step_may_cost_several_things() -> None:
    body = "width: 3\nheight: 2\nstep_cost: {time: 2, battery: 0.5}"
    world = grid(body, "start: [0, 1]\ngoal: [3, 2]", "[time, battery]")
    assert world.to_cssp().costs[:, 0].tolist() == [2.0, 0.5]


def test_a_model_may_have_its_own_costs() -> None:
    text = """
format: hcssp-problem
version: 1
costs: [time, damage]
activities:
  walk: {grid: {width: 2, height: 1}, costs: [minutes, smoke], start: [1, 1], goal: [2, 1]}
constraints:
  health: {at_most: .inf, counts: {walk: smoke}}
  lungs: {at_most: inf, counts: smoke}
"""
    problem = load_text(text)
    assert problem.activities[0].cssp.cost_names == ("minutes", "smoke")
    assert problem.bounds.tolist() == [np.inf, np.inf]


def test_yaml_1_2_decides_what_a_plain_value_is() -> None:
    text = """
format: hcssp-problem
version: 1
costs: [time]
activities:
  no: {table: {on: {off: {to: yes, costs: {time: 1e-3}}}}, start: on, goal: yes}
"""
    cssp = load_text(text).activities[0].cssp
    assert cssp.state_labels == ("on", "yes")
    assert cssp.costs.tolist() == [[0.001]]


def test_several_goals_hand_over_to_what_follows() -> None:
    text = """
format: hcssp-problem
version: 1
costs: [time]
activities:
  enter:
    grid: {width: 3, height: 1}
    start: [2, 1]
    goal: [[1, 1], [3, 1]]
  leave:
    table:
      (1, 1): {crawl: {to: out, costs: {time: 5}}}
      (3, 1): {walk: {to: out, costs: {time: 1}}}
    start: (1, 1)
    goal: out
procedure:
  start: begin
  end: over
  events:
    begin: {enter: {runs: enter, to: inside}}
    inside: {leave: {runs: leave, to: over}}
"""
    from hcssp.procedure import Flattening

    assert [entry for _, entry in Flattening(load_text(text)).event_states if entry] == [
        (1, 1),
        (3, 1),
    ]


def test_carriage_returns_and_a_byte_order_mark_do_no_harm(tmp_path: Path) -> None:
    text = (HERE / "valid.yaml").read_text(encoding="utf-8").replace("file: slide.csv", "model: ride")
    text = text.replace("start: top, goal: bottom", "start: inside")
    path = tmp_path / "mine.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert fingerprint(load(path)) == fingerprint(load_text(text))


def test_the_name_of_a_file_without_a_name(tmp_path: Path) -> None:
    path = tmp_path / "hut.json"
    path.write_text(
        '{"format": "hcssp-problem", "version": 1, "costs": ["time"], "activities": {"a":\n\t\t'
        '{"grid": {"width": 2, "height": 1}, "start": [1, 1], "goal": [2, 1]}}}',
        encoding="utf-8",
    )
    assert load(path).name == "hut"
