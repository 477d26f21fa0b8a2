"""What the library finds wrong with a grid or a map is told with the line and field of the file."""

from __future__ import annotations

import pytest

from hcssp.errors import InvalidProblem
from hcssp.files.problem_file.loading import load_text

LISTED = """
format: hcssp-problem
version: 1
costs: [time, damage]
activities:
  cross:
    grid:
      width: 5
      height: 4
      walls:
        - [3, 1, 1, 2]
        - [1, 3, 2, 1]
      hazards:
        - at: [[2, 1, 1, 1], [4, 4, 1, 1]]
          costs: {damage: 5}
        - {at: [5, 1, 1, 1], costs: {time: 2}}
      slip: {left: 0.1, right: 0.2}
      step_cost: {time: 1}
      places: {door: [0, 1], bed: [1, 1]}
    start: door
    goal:
      - [6, 4]
      - [5, 3]
"""
DRAWN = """
format: hcssp-problem
version: 1
costs: [time, damage]
activities:
  cross:
    grid:
      map:
        - "######"
        - S.~..#
        - "#.A..G"
        - "######"
      hazards: {"~": {damage: 5}}
      places: {table: A, door: [0, 2]}
"""


def told(text: str, *changes: tuple[str, str]) -> list[str]:
    for change, to in changes:
        assert text.count(change) == 1, change
        text = text.replace(change, to)
    with pytest.raises(InvalidProblem) as caught:
        load_text(text)
    return [violation.removeprefix("problem:") for violation in caught.value.violations]


@pytest.mark.parametrize("text", [LISTED, DRAWN])
def test_the_files_that_are_changed_are_valid(text: str) -> None:
    assert load_text(text).activities[0].cssp.world is not None


PATH = "activities.cross"
INSIDE = "does not lie inside; columns go from 1 to 5 and rows from 1 to 4"


@pytest.mark.parametrize(
    ("change", "to", "says"),
    [
        ("[1, 3, 2, 1]", "[1, 3, 6, 1]", f"12: {PATH}.grid.walls[1]: the rectangle [1, 3, 6, 1] {INSIDE}"),
        (
            "[4, 4, 1, 1]",
            "[4, 4, 1, 2]",
            f"14: {PATH}.grid.hazards[0].at[1]: the rectangle [4, 4, 1, 2] {INSIDE}",
        ),
        (
            "[5, 1, 1, 1]",
            "[6, 1, 1, 1]",
            f"16: {PATH}.grid.hazards[1].at: the rectangle [6, 1, 1, 1] {INSIDE}",
        ),
        (
            "{time: 2}",
            "{tiem: 2}",
            f"16: {PATH}.grid.hazards[1].costs.tiem: there is no cost 'tiem'; did you mean 'time'?",
        ),
        (
            "step_cost: {time: 1}",
            "step_cost: {smoke: 1}",
            f"18: {PATH}.grid.step_cost.smoke: there is no cost 'smoke'; the costs are 'time', 'damage'",
        ),
        (
            "left: 0.1",
            "left: 0.9",
            f"17: {PATH}.grid.slip: left and right sum to 1.1, which is more than 1",
        ),
        (
            "bed: [1, 1]",
            "bed: [3, 2]",
            f"19: {PATH}.grid.places.bed: [3, 2] lies in the wall [3, 1, 1, 2]; move one of them",
        ),
        (
            "- [5, 3]",
            "- [6, 5]",
            f"23: {PATH}.goal[1]: [6, 5] is a corner of the wall around the grid, where no step leads",
        ),
        ("- [5, 3]", "- [5, 3, 1]", f"23: {PATH}.goal[1]: [5, 3, 1] is not a cell; write [column, row]"),
        (
            "- [5, 3]",
            "- bath",
            f"23: {PATH}.goal[1]: there is no place 'bath' in the grid; available: 'door', 'bed'",
        ),
    ],
)
def test_a_mistake_in_a_listed_grid(change: str, to: str, says: str) -> None:
    assert told(LISTED, (change, to)) == [says]


def test_all_mistakes_of_a_room_are_told_together() -> None:
    found = told(
        LISTED,
        ("[1, 3, 2, 1]", "[1, 3, 6, 1]"),
        ("{time: 2}", "{tiem: 2}"),
        ("left: 0.1", "left: 0.9"),
        ("bed: [1, 1]", "bed: [3, 2]"),
        ("step_cost: {time: 1}", "step_cost: x"),
    )
    assert [violation.split(":")[0] for violation in found] == ["12", "16", "17", "18", "19"]


GIVEN_BACK = "only a capacity can be given back"


def test_a_cost_that_is_wrong_twice_is_told_twice() -> None:
    assert told(LISTED, ("{time: 2}", "{tiem: -2}")) == [
        f"16: {PATH}.grid.hazards[1].costs.tiem: -2 is not a cost: a number from 0 to 1e+100; {GIVEN_BACK}",
        f"16: {PATH}.grid.hazards[1].costs.tiem: there is no cost 'tiem'; did you mean 'time'?",
    ]


def test_all_aims_are_looked_at() -> None:
    found = told(LISTED, ("start: door", "start: dor"), ("- [5, 3]", "- bath"))
    assert [violation.split(":")[0] for violation in found] == ["20", "23"]


@pytest.mark.parametrize(
    ("change", "to", "says"),
    [
        ("S.~..#", "S.~..", f"10: {PATH}.grid.map: this line of the map has 5 characters, but the first"),
        ("S.~..#", "S?~..#", f"10: {PATH}.grid.map: '?' in the map has no meaning; it must be '#', '.', 'S'"),
        (
            "{damage: 5}",
            "{damgae: 5}",
            f"13: {PATH}.grid.hazards.~.damgae: there is no cost 'damgae'; did you mean 'damage'?",
        ),
        ("table: A", "table: B", f"11: {PATH}.grid.map: 'A' in the map has no meaning"),
        (
            "door: [0, 2]",
            "door: [0, 0]",
            f"14: {PATH}.grid.places.door: [0, 0] is a corner of the wall around the grid",
        ),
        ("door: [0, 2]", "door: B", f"14: {PATH}.grid.places.door: 'B' does not occur in the map"),
        ("S.~..#", "'S.~ .#'", f"10: {PATH}.grid.map: a line of the map has a space in it"),
        ("- S.~..#", "- 7", f"10: {PATH}.grid.map[1]: 7 is not a line of the map; put it in quotes"),
        (
            '- "#.A..G"\n        - "######"',
            '- "#.A..#"\n        - "#####G"',
            f"6: {PATH}: goal[0]: [5, 3] is a corner of the wall around the grid",
        ),
    ],
)
def test_a_mistake_in_a_drawn_grid(change: str, to: str, says: str) -> None:
    (violation,) = told(DRAWN, (change, to))
    assert violation.startswith(says)
