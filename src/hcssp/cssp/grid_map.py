"""Reading a grid from an ASCII map.

The legend: ``#`` is a wall, ``.`` free, ``S`` a start, ``G`` a goal, and any other character a hazard
named by the caller. If the outermost characters are all ``#``, ``S`` or ``G``, they are the wall ring
with its openings; otherwise the map shows the interior alone, and the ring around it is closed.

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

from collections.abc import Container
from dataclasses import dataclass

from hcssp.errors import InvalidProblem

Cell = tuple[int, int]
"""Column and row."""

Rectangle = tuple[int, int, int, int]
"""Column and row of the top-left cell, width and height."""

WALL, FREE, START, GOAL = "#", ".", "S", "G"


@dataclass(frozen=True)
class Drawing:
    """What an ASCII map shows; cells count from the wall ring, which is column 0 and row 0."""

    width: int
    height: int
    walls: tuple[Rectangle, ...]
    hazards: dict[str, tuple[Rectangle, ...]]
    starts: tuple[Cell, ...]
    goals: tuple[Cell, ...]


def read_map(text: str, hazards: Container[str] = ()) -> Drawing:
    """Read an ASCII map whose hazards are drawn with the characters `hazards`.

    Raises
    ------
    InvalidProblem
        If lines differ in length or a character has no meaning; all places are named.
    """
    lines = [line.strip() for line in text.strip().splitlines()]
    _check(lines, hazards)
    ring = {*lines[0], *lines[-1], *(line[0] for line in lines), *(line[-1] for line in lines)}
    if min(len(lines), len(lines[0])) < 3 or not ring <= {WALL, START, GOAL}:
        closed = WALL * (len(lines[0]) + 2)
        lines = [closed, *(WALL + line + WALL for line in lines), closed]
    height, width = len(lines) - 2, len(lines[0]) - 2
    interior = [line[1:-1] for line in lines[1:-1]]
    drawn = sorted(set("".join(interior)) - {WALL, FREE, START, GOAL})
    return Drawing(
        width=width,
        height=height,
        walls=_rectangles(interior, WALL),
        hazards={letter: _rectangles(interior, letter) for letter in drawn},
        starts=_cells(lines, START),
        goals=_cells(lines, GOAL),
    )


def _check(lines: list[str], hazards: Container[str]) -> None:
    if not lines:
        raise InvalidProblem(["the map is empty"])
    violations = [
        f"line {number} of the map has {len(line)} characters, but the first has {len(lines[0])}: {line!r}"
        for number, line in enumerate(lines, start=1)
        if len(line) != len(lines[0])
    ]
    violations += [
        f"line {number}, character {position} of the map: {character!r} has no meaning; "
        "it must be '#', '.', 'S', 'G' or named among the hazards"
        for number, line in enumerate(lines, start=1)
        for position, character in enumerate(line, start=1)
        if character not in (WALL, FREE, START, GOAL) and character not in hazards
    ]
    if violations:
        raise InvalidProblem(violations)


def _cells(lines: list[str], letter: str) -> tuple[Cell, ...]:
    return tuple(
        (column, row)
        for row, line in enumerate(lines)
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
