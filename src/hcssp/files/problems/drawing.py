"""The map of a grid, with named places beside the legend that :mod:`hcssp.cssp.grid_map` knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hcssp.cssp.grid_map import FREE, GOAL, START, WALL, Cell, Rectangle, read_map
from hcssp.files.reading.fields import Field
from hcssp.files.reading.tree import Scalar

MOST_FINDINGS_OF_A_MAP = 10


@dataclass(frozen=True)
class MapDrawing:
    """What a map shows; cells count from the wall around, which is column 0 and row 0."""

    width: int
    height: int
    walls: tuple[Rectangle, ...]
    hazards: dict[str, tuple[Rectangle, ...]]
    lines: tuple[str, ...]
    first: int

    def cells(self, letter: str) -> tuple[Cell, ...]:
        """Where a letter is drawn."""
        return tuple(
            (column, row)
            for row, line in enumerate(self.lines, start=self.first)
            if letter in line
            for column, character in enumerate(line, start=self.first)
            if character == letter
        )


def read_drawing(field: Field, hazards: Sequence[str], places: Sequence[str]) -> MapDrawing | None:
    """The map; None, and the mistakes noted, if it cannot be read.

    Parameters
    ----------
    field
        A text of several lines, or a list of texts, one for each line.
    hazards, places
        The letters that draw hazards and named places.
    """
    numbered = _lines(field)
    if numbered is None or not _sound(field, numbered, {*hazards, *places, WALL, FREE, START, GOAL}):
        return None
    lines = [line for _, line in numbered]
    # To the reader of maps a place is an opening in the outermost cells, and free inside.
    opening, free = (str.maketrans(dict.fromkeys(places, letter)) for letter in (START, FREE))
    bare = [
        line.translate(opening)
        if number in (0, len(lines) - 1)
        else line[0].translate(opening) + line[1:-1].translate(free) + line[1:][-1:].translate(opening)
        for number, line in enumerate(lines)
    ]
    drawing = read_map("\n".join(bare), hazards)
    ring_is_drawn = drawing.width == len(lines[0]) - 2
    return MapDrawing(
        drawing.width, drawing.height, drawing.walls, drawing.hazards, tuple(lines), 0 if ring_is_drawn else 1
    )


def _lines(field: Field) -> list[tuple[int, str]] | None:
    """The lines with their numbers in the file."""
    if field.is_list:
        lines = []
        for item in field.items("a map") or []:
            text = item.text("a line of the map")
            if text is None:
                return None
            lines.append((item.line, text.strip()))
    else:
        text = field.text("a map: a text of several lines after |, or a list of texts")
        if text is None or not isinstance(field.node, Scalar):
            return None
        lines = [
            (number, line.strip())
            for number, line in enumerate(text.split("\n"), start=field.node.first_line)
        ]
    while lines and not lines[0][1]:
        del lines[0]
    while lines and not lines[-1][1]:
        del lines[-1]
    if not lines:
        field.wrong("the map is empty")
        return None
    return lines


def _sound(field: Field, numbered: list[tuple[int, str]], known: set[str]) -> bool:
    """Whether all lines are equally long and every character means something."""
    _, top = numbered[0]
    found = 0
    for number, line in numbered:
        message = ""
        unknown = set(line) - known
        if len(line) != len(top):
            message = f"this line of the map has {len(line)} characters, but the first has {len(top)}"
        elif unknown:
            message = (
                f"{min(unknown)!r} in the map has no meaning; it must be '#', '.', 'S', 'G', "
                "a hazard or a place of the grid"
            )
            if " " in unknown:
                message = "a line of the map has a space in it; begin the map with | to keep its lines apart"
        if message:
            found += 1
            if found <= MOST_FINDINGS_OF_A_MAP:
                field.findings.add(number, field.path, message)
    return found == 0
