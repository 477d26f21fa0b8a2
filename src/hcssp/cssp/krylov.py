r"""Linear systems of well-mixed chains by products with their matrix: stabilised bi-conjugate gradients.

Where steps lead anywhere, a chain forgets in a few steps where it was, and its system :math:`I - P` is close
to the identity: a few dozen products with it give a solution, where factors would be dense.

Nothing is promised: a chain that takes long to forget is given up, for others to solve.

**Reference.** van der Vorst, *Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG*, 1992.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import daxpy, dscal

from hcssp.cssp.model import FloatArray, SparseMatrix
from hcssp.deadline import keep_time

MAX_PRODUCTS = 400
"""So many products with the matrix are made before a system is given up."""

MAX_STEPS = 60
"""After so many steps the residual is computed anew, since its updates drift."""

AHEAD = 0.5
"""By its updates the residual must be this much smaller than wanted, lest it be computed anew for nothing."""


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
    while products < MAX_PRODUCTS:
        residual = right - matrix @ solution
        products += 1
        left, enough = _largest(residual), tolerance * max(scale, _largest(solution))
        if left <= enough:
            return solution
        if not left < before:
            # Rounding, or no solution: sweeps would tell which, and others make them.
            return None
        before = left
        products += _descend(matrix, solution, residual, AHEAD * enough)
    return None


def _descend(matrix: SparseMatrix, solution: FloatArray, residual: FloatArray, enough: float) -> int:
    """Improve the solution and its residual, in place, until that is small by its updates; the products."""
    shadow, direction, product = residual.copy(), residual.copy(), residual
    weight, step, turn = float(shadow @ residual), 0.0, 0.0
    for steps in range(MAX_STEPS):
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
    return 2 * MAX_STEPS


def _largest(values: FloatArray) -> float:
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
