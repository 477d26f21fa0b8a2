"""Dominated rows: another row of their state does the same and costs no more.

A car at its top speed that accelerates moves like one that does not, so the state has two rows that are one.
To a search they are two alternatives: where one is forbidden, the other takes its place at no cost, and
whatever was proven about the one is proven again about the other. A policy that takes a dominated row can
take the other instead: it has the same transitions with the same probabilities, and no cost is higher.

>>> from hcssp.cssp.builder import CSSPBuilder
>>> plan = CSSPBuilder(cost_names=("time", "wear"))
>>> here, out = plan.add_state("here"), plan.add_goal("out")
>>> for action, wear in (("faster", 2.0), ("on", 1.0), ("still on", 1.0)):
...     _ = plan.add_action(here, action, to=out, costs={"time": 1.0, "wear": wear})
>>> dominating_rows(plan.build()).tolist()
[1, -1, 1]
"""

from __future__ import annotations

import numpy as np

from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray

UNDOMINATED = -1


def dominating_rows(problem: CSSP) -> IntArray:
    """For each row one that dominates it and is not dominated itself; -1 if there is none.

    Of equal rows, the first is not dominated. Rows are compared number by number. With several secondary
    costs, some dominated rows may be missed.
    """
    matrix, costs, state = problem.transitions, problem.costs, problem.row_state
    dominating = np.full(problem.num_rows, UNDOMINATED, dtype=np.int64)
    lengths, keys = np.diff(matrix.indptr), _keys(problem)
    few = _in_company(keys, state)
    # Equal rows have equal keys, and become neighbours; the entries decide.
    order = few[np.lexsort((*costs[::-1, few], keys[few], lengths[few], state[few]))]
    while len(order) > 1:
        first, second = order[:-1], order[1:]
        alike = (state[first] == state[second]) & (lengths[first] == lengths[second])
        alike &= (costs[:, first] <= costs[:, second]).all(axis=0)
        pairs = np.flatnonzero(alike)
        pairs = pairs[_equal_entries(problem, first[pairs], second[pairs])]
        if len(pairs) == 0:
            break
        dominating[second[pairs]] = first[pairs]
        order = order[dominating[order] == UNDOMINATED]
    rows = np.flatnonzero(dominating != UNDOMINATED)
    while len(rows := rows[dominating[dominating[rows]] != UNDOMINATED]):
        dominating[rows] = dominating[dominating[rows]]
    return dominating


def _keys(problem: CSSP) -> FloatArray:
    """A number for each row, the same for rows with the same entries."""
    matrix = problem.transitions
    row = np.repeat(np.arange(problem.num_rows), np.diff(matrix.indptr))
    numbers = np.sin(1.0 + matrix.indices) * matrix.data
    return np.bincount(row, numbers, problem.num_rows).astype(np.float64)


def _in_company(keys: FloatArray, state: IntArray) -> IntArray:
    """The rows whose key another row of their state has, too, and perhaps some more."""
    largest = float(np.max(np.abs(keys), initial=0.0))
    # One number for both, in which most rows are in order already.
    joined = state + 0.25 * keys / largest if 0.0 < largest < np.inf else state.astype(np.float64)
    order = np.argsort(joined, kind="stable")
    same = joined[order[1:]] == joined[order[:-1]]
    with_another = np.zeros(len(keys), dtype=np.bool_)
    with_another[order[1:][same]] = True
    with_another[order[:-1][same]] = True
    return np.flatnonzero(with_another)


def _equal_entries(problem: CSSP, first: IntArray, second: IntArray) -> BoolArray:
    """For each pair of rows of equal length, whether they lead to the same states with the same odds."""
    matrix = problem.transitions
    begins, lengths = matrix.indptr[first], np.diff(matrix.indptr)[first]
    pair = np.repeat(np.arange(len(first)), lengths)
    place = np.arange(len(pair)) - (np.cumsum(lengths) - lengths)[pair]
    here, there = begins[pair] + place, matrix.indptr[second][pair] + place
    differs = (matrix.indices[here] != matrix.indices[there]) | (matrix.data[here] != matrix.data[there])
    equal: BoolArray = np.bincount(pair[differs], minlength=len(first)) == 0
    return equal
