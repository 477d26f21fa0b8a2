"""The policy and the visits of a grid activity as one byte a cell, in base64, for a page's script.

A byte is zero where the policy never goes, and otherwise ``4 * level + heading``: the heading a position in
:data:`hcssp.cssp.grid.DIRECTIONS`, the level from 1 to 63 the visits of one execution on a logarithmic
scale, so that six powers of ten below the busiest cell are still told apart. Equal activities of different
plans share one entry of the :class:`CellPool`.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import numpy as np

from hcssp.cssp.grid import GridWorld
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.reports.cell_visits import visited_cells
from hcssp.reports.figures import short

LEVELS = 63
DECADES = 6.0


def levels(visits: FloatArray, most: float) -> IntArray:
    """The visits as levels, 0 for none; ``most`` has the highest.

    >>> levels(np.array([0.0, 1e-9, 0.001, 1.0]), 1.0).tolist()
    [0, 1, 32, 63]
    """
    found = np.zeros(len(visits), dtype=np.int64)
    some = visits > 0.0
    below = -np.log10(visits[some] / most)
    found[some] = np.clip(np.rint(LEVELS - below * (LEVELS - 1) / DECADES), 1, LEVELS)
    return found


class CellPool:
    """The encoded grids of a page, each of them once."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self._known: dict[tuple[str, float | None, int], int] = {}

    def add(self, world: GridWorld, cssp: CSSP, rows: IntArray, visits: FloatArray) -> int:
        """Encode an activity, and tell the entry's number.

        Parameters
        ----------
        world, cssp
            The grid, and the problem made from it.
        rows
            The policy: a row of `cssp` for each state.
        visits
            The expected visits to each state in one execution.
        """
        visited, headings, often = visited_cells(world, cssp, rows, visits)
        most = float(often.max()) if len(often) else 0.0
        canvas = np.zeros((world.height + 2, world.width + 2), dtype=np.uint8)
        columns, lines = visited.T
        canvas[lines, columns] = 4 * levels(often, most) + headings
        cells, highest = b64encode(canvas.tobytes()).decode("ascii"), short(most)
        key = (cells, highest, world.width)
        if key not in self._known:
            self._known[key] = len(self.entries)
            self.entries.append({"width": world.width + 2, "most": highest, "cells": cells})
        return self._known[key]
