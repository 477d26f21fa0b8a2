"""Ways to leave a grid other than by its goals: a step may end in an exit, such as a crash.

An exit is a state of its own behind those of the cells, and a goal. The probabilities with which the steps
from a cell end in exits add up over what lies there; with the rest a step goes as it would without them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array, hstack

from hcssp.cssp.grid_map import Rectangle
from hcssp.cssp.model import FloatArray, SparseMatrix
from hcssp.errors import Located
from hcssp.numerics import PROBABILITY_TOLERANCE


class Area(Protocol):
    """A rectangle of cells, and the exits in which the steps from there may end."""

    @property
    def exits(self) -> Mapping[str, float]: ...
    @property
    def rectangle(self) -> Rectangle: ...


def exit_names(exits: Mapping[str, float], areas: Sequence[Area]) -> tuple[str, ...]:
    """All exits of a grid, in the order in which they are named."""
    return tuple(dict.fromkeys([*exits, *(name for area in areas for name in area.exits)]))


def exit_probabilities(
    shape: tuple[int, ...], exits: Mapping[str, float], areas: Sequence[Area]
) -> FloatArray:
    """For each exit, the probability that a step ends there: ``[exit, row, column]``, the wall ring included.

    Parameters
    ----------
    shape
        The rows and columns, the wall ring included.
    exits
        The probabilities of every step, wherever it is taken.
    areas
        Those of the steps from some cells, besides.
    """
    names = exit_names(exits, areas)
    found = np.zeros((len(names), *shape))
    for position, name in enumerate(names):
        found[position] = exits.get(name, 0.0)
        for area in areas:
            column, row, width, height = area.rectangle
            found[position, row : row + height, column : column + width] += area.exits.get(name, 0.0)
    return found


def with_exits(transitions: SparseMatrix, probabilities: FloatArray) -> SparseMatrix:
    """Transitions to cells, and behind them to exits, of which `probabilities` has a column each."""
    # Three thirds may sum to a little more than one.
    staying = np.maximum(1.0 - probabilities.sum(axis=1), 0.0)
    data = transitions.data * np.repeat(staying, np.diff(transitions.indptr))
    inside = csr_array((data, transitions.indices, transitions.indptr), shape=transitions.shape)
    joined = csr_array(hstack([inside, csr_array(probabilities)]))
    joined.eliminate_zeros()
    joined.sort_indices()
    return joined


def exit_violations(
    exits: Mapping[str, float], areas: Sequence[Area], shape: tuple[int, ...]
) -> Iterator[Located]:
    """What is wrong with the exits of a grid whose rectangles lie inside."""
    named: dict[tuple[str | int, ...], Mapping[str, float]] = {("exits",): exits}
    named |= {("hazards", at, "exits"): area.exits for at, area in enumerate(areas)}
    sound = True
    for at, given in named.items():
        for name, probability in given.items():
            if not 0.0 <= probability <= 1.0:
                yield Located((*at, name), f"{probability} is not a probability between 0 and 1")
                sound = False
    if not sound:
        return
    total = exit_probabilities(shape, exits, areas).sum(axis=0)
    row, column = np.unravel_index(int(np.argmax(total)), total.shape)
    if total[row, column] > 1.0 + PROBABILITY_TOLERANCE:
        covering = [
            at
            for at, area in enumerate(areas)
            if area.exits
            and area.rectangle[0] <= column < area.rectangle[0] + area.rectangle[2]
            and area.rectangle[1] <= row < area.rectangle[1] + area.rectangle[3]
        ]
        place: tuple[str | int, ...] = ("hazards", covering[-1], "exits") if covering else ("exits",)
        told = f"the probabilities of the exits at [{column}, {row}] sum to {total[row, column]:.10g}"
        yield Located(place, f"{told}, which is more than 1")
