"""Oracles of problems in which a bound of 0 takes out whatever costs some of what it counts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from copy import copy
from typing import Self

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.oracle import Oracle
from hcssp.dual.vertex import V


def zero_bounds(bounds: FloatArray) -> tuple[int, ...]:
    """The constraints that allow nothing at all.

    A policy keeps such a bound if and only if it never goes where something of the cost is paid. So the rows
    that cost some of it are taken out of the problem, and the bound need not be looked at any more.
    """
    return tuple(np.flatnonzero(bounds == 0.0).tolist())


def without(bounds: FloatArray, constraints: Iterable[int]) -> FloatArray:
    """The bounds, but none on the given constraints."""
    lifted = bounds.copy()
    lifted[list(constraints)] = np.inf
    return lifted


class AffordableOracle(Oracle[V]):
    """An oracle that takes out the rows that cost some of what a bound of 0 allows nothing of.

    If others of them are 0, the problem under other bounds is another one: there is one oracle for each such
    set, and what it learns is shared by all that :meth:`under` makes of it. A subclass calls
    :meth:`_leave_out` before it reads its problem and this constructor once it knows its rows, and gives
    :meth:`_alike`.
    """

    _affordable: bool
    _zeros: tuple[int, ...]
    _others: dict[tuple[int, ...], Self]

    def __init__(self, bounds: FloatArray, row_start: IntArray) -> None:
        super().__init__(bounds, row_start)
        self._bounds = without(bounds, self._zeros)

    def _leave_out(self: Self, bounds: FloatArray, affordable: bool) -> None:
        """Note the constraints whose costs are taken out: those with a bound of 0, if that is wanted."""
        self._affordable = affordable
        self._zeros = zero_bounds(bounds) if affordable else ()
        self._others = {self._zeros: self}

    @abstractmethod
    def _alike(self, bounds: FloatArray) -> Self:
        """An oracle of the same kind for the problem under other bounds."""

    def under(self, bounds: FloatArray) -> Self:
        zeros = zero_bounds(bounds) if self._affordable else ()
        if zeros not in self._others:
            self._others[zeros] = self._alike(bounds)
        other = copy(self._others[zeros])
        other._bounds, other._asked_bounds = without(bounds, zeros), bounds
        other._others = self._others
        return other
