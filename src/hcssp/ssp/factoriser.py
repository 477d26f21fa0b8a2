"""Factors of policies' systems, in an order of elimination that keeps them sparse.

The systems are M-matrices, which need no pivoting. Where steps are short, their patterns are nearly
symmetric, and an ordering for symmetric matrices halves the fill of the usual one. Along a line or a corridor
one ordering serves all policies. Where a policy has few cycles, states are eliminated in the order of the
flow, see :mod:`hcssp.ssp.flow_order`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hcssp.cssp.factorisation import OrderedFactors, eliminate
from hcssp.cssp.model import FloatArray, IntArray, SparseMatrix
from hcssp.ssp.balance import Balance
from hcssp.ssp.flow_order import flow_order

MIN_STATES_TO_ORDER = 100
"""Fewer states are factorised in no time, in whatever order."""

MAX_CIRCLING = 2
"""If so many more policies went in circles than not, the order of the flow is not looked for any more."""


class Factors:
    """The factors of one policy's system ``A``.

    Parameters
    ----------
    lu
        The factors of the transpose of ``A``.
    flows
        Whether states were eliminated in the order of the flow, see :mod:`hcssp.ssp.flow_order`.
    """

    def __init__(self, lu: Any = None, flows: bool = False) -> None:
        self._lu = lu
        self.flows = flows

    @classmethod
    def of(cls, system: SparseMatrix) -> Factors:
        """The factors of a system, in the order of its flow if it has one.

        Raises
        ------
        RuntimeError
            If it is singular.
        """
        flow = flow_order(system) if system.shape[0] > MIN_STATES_TO_ORDER else None
        return (
            cls(eliminate(system)) if flow is None else cls(OrderedFactors(system, flow.states), flows=True)
        )

    def solve(self, right: FloatArray) -> FloatArray:
        """``x`` with ``A x = right``."""
        solution: FloatArray = self._lu.solve(right, trans="T")
        return solution

    def solve_transposed(self, right: FloatArray) -> FloatArray:
        """``x`` with ``x A = right``."""
        solution: FloatArray = self._lu.solve(right, trans="N")
        return solution


class Factoriser:
    """Factorises the systems of one problem's policies.

    Parameters
    ----------
    balance
        The problem.
    order
        The states in an order that serves every policy, see :meth:`~hcssp.cssp.fill.Layers.narrow_order`;
        None if there is none.
    """

    def __init__(self, balance: Balance, order: IntArray | None = None) -> None:
        self._balance = balance
        self._always = order
        self._hubs: IntArray = np.empty(0, dtype=np.int64)
        self._num_flowing = self._num_circling = 0

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
        if len(rows) > MIN_STATES_TO_ORDER and self._num_circling <= self._num_flowing + MAX_CIRCLING:
            flow = flow_order(system, self._hubs)
            if flow is not None:
                self._hubs = flow.hubs
                self._num_flowing += 1
                return Factors(OrderedFactors(system, flow.states), flows=True)
            self._num_circling += 1
        return Factors(eliminate(system))
