"""Factors of a procedure's chain of events: dense where it is small, sparse where it is not."""

from __future__ import annotations

from typing import Any, Protocol

from scipy.linalg.lapack import dgetrf, dgetrs
from scipy.sparse import csc_array

from hcssp.cssp.factorisation import factorise
from hcssp.cssp.model import FloatArray, SparseMatrix
from hcssp.errors import ImproperPolicy

ENDLESS = "the choices do not reach the end almost surely"


class ChainFactors(Protocol):
    """The factorised system of a chain that ends: the identity, less where its states lead."""

    def solve(self, right: FloatArray) -> FloatArray:
        """The solution for a right-hand side."""

    def solve_transposed(self, right: FloatArray) -> FloatArray:
        """The solution of the transposed system."""


class NoFactors:
    """Where nothing is chosen, since the procedure ends where it starts: a system without equations."""

    def solve(self, right: FloatArray) -> FloatArray:
        return right

    def solve_transposed(self, right: FloatArray) -> FloatArray:
        return right


class DenseFactors:
    """By LAPACK."""

    def __init__(self, system: FloatArray) -> None:
        self._factors, self._pivots, singular = dgetrf(system)
        if singular:
            raise ImproperPolicy(ENDLESS)

    def solve(self, right: FloatArray) -> FloatArray:
        found: FloatArray = dgetrs(self._factors, self._pivots, right)[0]
        return found

    def solve_transposed(self, right: FloatArray) -> FloatArray:
        found: FloatArray = dgetrs(self._factors, self._pivots, right, trans=1)[0]
        return found


class SparseFactors:
    """By SuperLU."""

    def __init__(self, system: SparseMatrix) -> None:
        try:
            self._factors: Any = factorise(csc_array(system))
        except RuntimeError as error:
            raise ImproperPolicy(ENDLESS) from error

    def solve(self, right: FloatArray) -> FloatArray:
        found: FloatArray = self._factors.solve(right)
        return found

    def solve_transposed(self, right: FloatArray) -> FloatArray:
        found: FloatArray = self._factors.solve(right, trans="T")
        return found
