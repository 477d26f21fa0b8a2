from __future__ import annotations

import pytest

from hcssp.cssp.grid import read_map
from hcssp.errors import InvalidProblem, Located


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
