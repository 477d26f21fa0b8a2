"""Reading a grid from an ASCII map.

The legend: ``#`` is a wall, ``.`` free, ``S`` a start, ``G`` a goal, and any other character a hazard or a
place that the caller names. If the outermost characters are all walls, starts, goals or places, they are the
wall ring with its openings; otherwise the map shows the interior alone, and the ring around it is closed.

>>> drawing = read_map('''
... #####
... S.~.#
... #.~.G
... #####
... ''', {"~"})
>>> drawing.width, drawing.height, drawing.starts, drawing.goals
(3, 2, ((0, 1),), ((4, 2),))
>>> drawing.hazards
{'~': ((2, 1, 1, 2),)}
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from hcssp.cssp.validation import capped
from hcssp.errors import InvalidProblem, Located

Cell = tuple[int, int]
"""Column and row."""

Rectangle = tuple[int, int, int, int]
"""Column and row of the top-left cell, width and height."""

WALL, FREE, START, GOAL = "#", ".", "S", "G"
_MOST_VIOLATIONS = 10


@dataclass(frozen=True)
class Drawing:
    """What an ASCII map shows; cells count from the wall ring, which is column 0 and row 0."""

    width: int
    height: int
    walls: tuple[Rectangle, ...]
    hazards: dict[str, tuple[Rectangle, ...]]
    starts: tuple[Cell, ...]
    goals: tuple[Cell, ...]
    places: dict[str, tuple[Cell, ...]] = field(default_factory=dict)


def read_map(
    text: str | Sequence[str], hazards: Collection[str] = (), places: Collection[str] = ()
) -> Drawing:
    """Read an ASCII map.

    Parameters
    ----------
    text
        The map, or its lines; space around it and around each line does not matter.
    hazards, places
        The characters that draw hazards and places.

    Raises
    ------
    InvalidProblem
        If lines differ in length or a character has no meaning. Each violation knows the line, counted
        from 0 in what was given.
    """
    given = [line.strip() for line in (text.split("\n") if isinstance(text, str) else text)]
    drawn = [number for number, line in enumerate(given) if line]
    if not drawn:
        raise InvalidProblem(["the map is empty"])
    lines = given[drawn[0] : drawn[-1] + 1]
    found = list(capped(_violations(lines, drawn[0], {*hazards, *places}), _MOST_VIOLATIONS))
    if found:
        raise InvalidProblem(found)
    ring = {*lines[0], *lines[-1], *(line[0] for line in lines), *(line[-1] for line in lines)}
    if min(len(lines), len(lines[0])) < 3 or not ring <= {WALL, START, GOAL, *places}:
        closed = WALL * (len(lines[0]) + 2)
        lines = [closed, *(WALL + line + WALL for line in lines), closed]
    height, width = len(lines) - 2, len(lines[0]) - 2
    interior = [line[1:-1] for line in lines[1:-1]]
    hazardous = sorted(set("".join(interior)) & set(hazards))
    return Drawing(
        width=width,
        height=height,
        walls=_rectangles(interior, WALL),
        hazards={letter: _rectangles(interior, letter) for letter in hazardous},
        starts=_cells(lines, START),
        goals=_cells(lines, GOAL),
        places={letter: _cells(lines, letter) for letter in places},
    )


def _violations(lines: list[str], before: int, named: set[str]) -> Iterator[Located]:
    known = {WALL, FREE, START, GOAL, *named}
    for number, line in enumerate(lines):
        unknown = set(line) - known
        place = f"line {number + 1}"
        if len(line) != len(lines[0]):
            told = f"this line of the map has {len(line)} characters, but the first has {len(lines[0])}"
        elif unknown:
            told = (
                f"{min(unknown)!r} in the map has no meaning; it must be '#', '.', 'S', 'G', "
                "a hazard or a place of the grid"
            )
            place += f", character {line.index(min(unknown)) + 1}"
        else:
            continue
        yield Located((before + number,), told, place)


def _cells(lines: list[str], letter: str) -> tuple[Cell, ...]:
    return tuple(
        (column, row)
        for row, line in enumerate(lines)
        if letter in line
        for column, character in enumerate(line)
        if character == letter
    )


def _rectangles(interior: list[str], letter: str) -> tuple[Rectangle, ...]:
    """Cover the cells drawn as `letter` with disjoint rectangles: runs, joined with equal runs below."""
    closed: list[Rectangle] = []
    # From the column and width of a run to the row where its rectangle began.
    open_runs: dict[tuple[int, int], int] = {}
    for row, line in enumerate([*interior, ""], start=1):
        runs = _runs(line, letter)
        for (column, width), top in list(open_runs.items()):
            if (column, width) not in runs:
                closed.append((column, top, width, row - top))
                del open_runs[column, width]
        for run in runs:
            open_runs.setdefault(run, row)
    return tuple(closed)


def _runs(line: str, letter: str) -> set[tuple[int, int]]:
    runs = set()
    column = 0
    while (column := line.find(letter, column)) >= 0:
        end = column
        while end < len(line) and line[end] == letter:
            end += 1
        runs.add((column + 1, end - column))
        column = end
    return runs
