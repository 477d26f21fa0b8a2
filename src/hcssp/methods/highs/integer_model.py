r"""Dolgov and Durfee's integer program, as arrays for HiGHS.

Variables: the flow :math:`x(s, a)` of every row, then a binary :math:`y(s, a)` for each. Constraints: what
leaves a state is what enters it; the bounds; :math:`x(s, a) \le M(s, a) y(s, a)`; one binary a state; and, of
every policy that is not wanted, not all binaries at once.
"""

from __future__ import annotations

from math import inf

import numpy as np
from scipy.sparse import block_array, csr_array, diags_array

from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.methods.highs.relaxation import cost_sizes
from hcssp.methods.highs.running import Model
from hcssp.numerics import allowance
from hcssp.ssp.balance import balance_matrix

_ROOM = 1e-7


def integer_model(problem: CSSP, limits: FloatArray, excluded: list[IntArray]) -> Model:
    """The integer program of a prepared problem.

    Parameters
    ----------
    problem
        A prepared problem.
    limits
        The largest flow of each row.
    excluded
        The rows used by each policy that is not wanted.
    """
    bounded = np.flatnonzero(np.isfinite(problem.bounds))
    acting = np.flatnonzero(~problem.goals)
    count = problem.num_rows
    start = problem.initial[acting]
    # Presolve may lose a policy that meets a bound or a limit exactly. With a little room it does not, and
    # a policy that is let in for it is found out by its exact evaluation.
    allowed = problem.bounds[bounded] + allowance(problem.bounds[bounded], _ROOM)
    limits = limits * (1.0 + _ROOM)
    sizes = cost_sizes(problem)
    own = csr_array(
        (np.ones(count), problem.row_state, np.arange(count + 1)), shape=(count, problem.num_states)
    )
    lengths = np.array([len(used) for used in excluded], dtype=np.int64)
    exclusions = csr_array(
        (
            np.ones(int(lengths.sum())),
            (
                np.concatenate([*excluded, np.zeros(0, dtype=np.int64)]),
                np.repeat(np.arange(len(lengths)), lengths),
            ),
        ),
        shape=(count, len(lengths)),
    )
    secondary = csr_array((problem.costs[1 + bounded] / sizes[1 + bounded, np.newaxis]).T)
    columns = block_array(
        [
            [balance_matrix(problem), secondary, diags_array(np.ones(count)), None, None],
            [None, None, diags_array(-limits), own[:, acting], exclusions],
        ],
        format="csr",
    )
    return Model(
        costs=np.concatenate([problem.costs[0], np.zeros(count)]),
        upper=np.concatenate([limits, np.ones(count)]),
        columns=csr_array(columns),
        row_lower=np.concatenate(
            [start, np.full(len(bounded) + count, -inf), np.ones(len(acting)), np.full(len(lengths), -inf)]
        ),
        row_upper=np.concatenate(
            [start, allowed / sizes[1 + bounded], np.zeros(count), np.ones(len(acting)), lengths - 1.0]
        ),
        integer=np.repeat([False, True], count),
    )
