"""Factors of policies' systems: what was found for one policy serves the next, as long as it does.

The systems are M-matrices, which need no pivoting. Where a step does not lead far, their patterns are nearly
symmetric, and an ordering for symmetric matrices halves the fill of the usual one. Finding it may take longer
than the elimination. Policies of one problem resemble one another, so in a large problem the ordering of one
serves the next, unless its graph says that factors would be less sparse, see :mod:`hcssp.cssp.fill_order`.
Along a line or a corridor one ordering serves them all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hcssp.cssp.factorisation import OrderedFactors, eliminate
from hcssp.cssp.fill_order import fill_in_order
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.ssp.balance import Balance

MIN_STATES_TO_KEEP_ORDERING = 20_000
"""With fewer live states, an ordering is found about as fast as it is applied."""

MAX_FILL = 2.0
"""An ordering is found anew once factors have this many times the entries they had for its own policy."""


class Factors:
    """The factors of one policy's system ``A``.

    Parameters
    ----------
    lu
        The factors of the transpose of ``A``.
    """

    def __init__(self, lu: Any = None) -> None:
        self._lu = lu

    def solve(self, right: FloatArray) -> FloatArray:
        """``x`` with ``A x = right``."""
        solution: FloatArray = self._lu.solve(right, trans="T")
        return solution

    def solve_transposed(self, right: FloatArray) -> FloatArray:
        """``x`` with ``x A = right``."""
        solution: FloatArray = self._lu.solve(right, trans="N")
        return solution


class Factoriser:
    """Factorises the systems of one problem's policies, with the ordering of an earlier one if it serves.

    Parameters
    ----------
    balance
        The problem.
    order
        The states in an order that serves every policy, see :func:`~hcssp.cssp.fill.narrow_order`; None if
        there is none.
    """

    def __init__(self, balance: Balance, order: IntArray | None = None) -> None:
        self._balance = balance
        self._always = order
        self._order: IntArray | None = None
        self._place: IntArray = np.empty(0, dtype=np.int32)
        self._fill = 0

    def factorise(self, rows: IntArray) -> Factors:
        """The factors of the policy `rows`, one for each live state.

        Raises
        ------
        RuntimeError
            If the system is singular.
        """
        system = self._balance.matrix[rows]
        if self._always is not None:
            return Factors(OrderedFactors(system, self._always))
        if self._order is None or fill_in_order(system, self._place) > MAX_FILL * self._fill:
            lu = eliminate(system)
            if len(rows) > MIN_STATES_TO_KEEP_ORDERING:
                self._order = np.argsort(lu.perm_c)
                self._place = lu.perm_c
                self._fill = lu.nnz
            return Factors(lu)
        factors = OrderedFactors(system, self._order)
        if factors.nnz > MAX_FILL * self._fill:
            self._order = None
        return Factors(factors)
