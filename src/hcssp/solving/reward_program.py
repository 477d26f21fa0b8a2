"""A potential for rewards as a linear program: slow, and complete.

Policy iteration (:mod:`hcssp.solving.greatest_reward`) finds the same within seconds where this takes hours.
What is left for the program are procedures whose choices cannot be made to cost nothing one after the other,
and what comes to no end in double precision. Its answer is not believed, either.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array, hstack, vstack

from hcssp.cssp.model import BoolArray, FloatArray, SparseMatrix

LP_TOLERANCE = 1e-10


def least_potential(
    falls: SparseMatrix, least: FloatArray, of_choices: BoolArray, goal: int, margin: float
) -> FloatArray | None:
    """The least potential that falls by at least so much along each row; None if there is none.

    Parameters
    ----------
    falls
        Times the potential: how far it falls along each row.
    least
        How far it has to.
    of_choices
        Rows along which it must not fall by more than three times the margin.
    goal
        Where it is 0.
    margin
        What it falls by beyond the least.
    """
    num_groups = falls.shape[1]
    matrix, limits = -falls, -(least + margin)
    if of_choices.any():
        matrix = vstack([matrix, falls[of_choices]], format="csr")
        limits = np.concatenate([limits, np.full(int(of_choices.sum()), 3.0 * margin)])
    return _solved(np.ones(num_groups), csr_array(matrix), limits, _free_but(goal, num_groups))


def what_rows_lack(falls: SparseMatrix, least: FloatArray, goal: int) -> FloatArray | None:
    """What each row lacks under the potential that lacks least in all; None if that cannot be told."""
    num_rows, num_groups = falls.shape
    matrix = hstack([-falls, -eye_array(num_rows)], format="csr")
    objective = np.concatenate([np.zeros(num_groups), np.ones(num_rows)])
    missing = np.column_stack([np.zeros(num_rows), np.full(num_rows, np.inf)])
    found = _solved(objective, matrix, -least, np.vstack([_free_but(goal, num_groups), missing]))
    return None if found is None else found[num_groups:]


def _free_but(goal: int, num_groups: int) -> FloatArray:
    """The least and the greatest value of each group: any, but for 0 at the goal."""
    limits = np.tile([-np.inf, np.inf], (num_groups, 1))
    limits[goal] = 0.0
    return limits


def _solved(
    objective: FloatArray, matrix: SparseMatrix, limits: FloatArray, box: FloatArray
) -> FloatArray | None:
    from scipy.optimize import linprog

    solve: Any = linprog
    options = {"primal_feasibility_tolerance": LP_TOLERANCE, "dual_feasibility_tolerance": LP_TOLERANCE}
    answer = solve(objective, A_ub=matrix, b_ub=limits, bounds=box, method="highs", options=options)
    return np.asarray(answer.x, dtype=np.float64) if answer.status == 0 else None
