r"""Linear systems of chains by products with their matrix: stabilised bi-conjugate gradients.

Where steps lead anywhere, factors of the system :math:`I - P` are dense. There a chain forgets in a few steps
where it was, and a few dozen products with its matrix give a solution. Each product is followed by a
Gauss-Seidel sweep in the order of the distance to the goals: a chain that heads for its goals is solved by a
few sweeps, whatever its size.

A chain that takes long to forget is given up, and the caller factorises it.

**Reference.** van der Vorst, *Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG*, 1992.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.linalg.blas import daxpy, dscal
from scipy.sparse import csc_array, csr_array, tril
from scipy.sparse.csgraph import breadth_first_order

from hcssp.cssp.factorisation import EVALUATION, factorise
from hcssp.cssp.model import BoolArray, FloatArray, IntArray, SparseMatrix
from hcssp.deadline import keep_time
from hcssp.numerics import EXACT


def solve_by_products(
    matrix: SparseMatrix, right: FloatArray, start: FloatArray, tolerance: float
) -> FloatArray | None:
    """``x`` with ``matrix @ x = right``; None if that takes too long.

    >>> from scipy.sparse import csr_array
    >>> matrix = csr_array(np.array([[1.0, -0.5], [-0.25, 1.0]]))
    >>> solve_by_products(matrix, np.array([1.0, 0.0]), np.zeros(2), 1e-14).round(9).tolist()
    [1.142857143, 0.285714286]

    Parameters
    ----------
    matrix
        Close to the identity.
    right, start
        The right-hand side, and something near the solution.
    tolerance
        How large the residual may be, relative to the largest number of the solution and the right-hand side.
    """
    solution = start.copy()
    scale = _largest(right)
    products, before = 0, np.inf
    while products < EVALUATION.max_products:
        residual = right - matrix @ solution
        products += 1
        left, enough = _largest(residual), tolerance * max(scale, _largest(solution))
        if left <= enough:
            return solution
        if not left < before:
            # Rounding, or no solution: the caller decides which.
            return None
        before = left
        products += _descend(matrix, solution, residual, EVALUATION.ahead * enough)
    return None


def _descend(matrix: SparseMatrix, solution: FloatArray, residual: FloatArray, enough: float) -> int:
    """Improve the solution and its residual, in place, until that is small by its updates; the products."""
    shadow, direction, product = residual.copy(), residual.copy(), residual
    weight, step, turn = float(shadow @ residual), 0.0, 0.0
    for steps in range(EVALUATION.max_steps):
        keep_time()
        if steps:
            if _largest(residual) <= enough or not turn:
                return 2 * steps
            after = float(shadow @ residual)
            factor = after / weight * (step / turn) if weight else 0.0
            # In place, as all that follows: new arrays would take as long as what is done with them.
            daxpy(product, direction, a=-turn)
            dscal(factor, direction)
            daxpy(residual, direction)
            weight = after
        product = matrix @ direction
        along = float(shadow @ product)
        step = weight / along if along else 0.0
        daxpy(product, residual, a=-step)
        pushed = matrix @ residual
        size = float(pushed @ pushed)
        turn = float(pushed @ residual) / size if size else 0.0
        daxpy(direction, solution, a=step)
        daxpy(residual, solution, a=turn)
        daxpy(pushed, residual, a=-turn)
    return 2 * EVALUATION.max_steps


def _largest(values: FloatArray) -> float:
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


class Products:
    """In place of factors that would be dense: products with a system, preconditioned by Gauss-Seidel.

    Parameters
    ----------
    system
        CSR, the identity less the probabilities among inner states.
    order
        The states, those near a goal first; None makes no sweeps, which is twice as fast where steps lead
        anywhere.

    Raises
    ------
    RuntimeError
        If a state is never left.
    """

    def __init__(self, system: SparseMatrix, order: IntArray | None) -> None:
        self._order: IntArray | slice = slice(None) if order is None else order
        moved, self._sweep = csr_array(system), None
        if order is not None:
            moved = csr_array(moved[order][:, order])
            # The transpose of a CSR matrix is the same arrays read as CSC.
            lower = csc_array(tril(moved, format="csr").T)
            self._sweep = factorise(lower, "NATURAL", diag_pivot_thresh=0.0)
        self._systems: dict[str, csr_array] = {"T": moved}

    def solve(
        self,
        right: FloatArray,
        trans: Literal["N", "T"] = "N",
        start: FloatArray | None = None,
        tolerance: float = EXACT,
    ) -> FloatArray:
        """``x`` with ``x @ system = right``, transposed ``system @ x = right``; nan where it is too slow.

        Parameters
        ----------
        right
            One or several right-hand sides, one column each.
        trans
            Which of the systems.
        start
            Something near the solution; None if nothing is known.
        tolerance
            Of the residual, relative to the solution.
        """
        if not len(right):
            return right.copy()
        if trans not in self._systems:
            self._systems[trans] = csr_array(self._systems["T"].T)
        swept = _Swept(self._systems[trans], self._sweep, trans)
        found = np.full(right.shape, np.nan)
        near = np.zeros(right.shape) if start is None else start
        columns = (each[self._order].reshape(len(right), -1).T for each in (right, near))
        for column, begin, solution in zip(*columns, found.reshape(len(right), -1).T, strict=True):
            solved = solve_by_products(swept, swept.sweep(column), begin, tolerance)
            if solved is None:
                break
            solution[self._order] = solved
        return found


@dataclass(frozen=True, eq=False)
class _Swept:
    """A product with a matrix, followed by a sweep if there are factors for it."""

    matrix: csr_array
    factors: Any
    trans: Literal["N", "T"]

    def __matmul__(self, right: FloatArray) -> FloatArray:
        return self.sweep(self.matrix @ right)

    def sweep(self, right: FloatArray) -> FloatArray:
        right = np.ascontiguousarray(right)
        return right if self.factors is None else np.asarray(self.factors.solve(right, trans=self.trans))


def by_distance(jumps: SparseMatrix, ends: BoolArray) -> IntArray:
    """The states in the order of the number of jumps to one of `ends`."""
    count = jumps.shape[0]
    into = csr_array(jumps.T)
    # One node more, the end, from which a search goes backwards.
    heads = np.concatenate([into.indices, np.flatnonzero(ends)])
    pointers = np.append(into.indptr, len(heads))
    order, _ = breadth_first_order(csr_array((np.ones(len(heads)), heads, pointers), (count + 1,) * 2), count)
    return order[1:].astype(np.int64)
