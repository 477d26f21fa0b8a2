"""An order of the states in which the system of a policy that hardly goes in circles does not fill in.

Most of what is planned goes forward: clocks, stages, tracks. What comes back, after a crash or a failure,
comes back to few states. Without those *hubs* there are no circles, or short ones. Then states in the order
in which they are passed, hubs last, make a system that is nearly triangular. Eliminated in that order it
fills in next to nothing, where an ordering that looks at entries alone takes many times as long. Sets of
states that lead to one another, and are too large to be eliminated as they stand, are ordered by themselves:
as long as they are not most of the states, that is soon done. The system is an M-matrix that is diagonally
dominant by rows, so that no order loses digits.

>>> from scipy.sparse import csr_array
>>> crash = csr_array([[1.0, -1.0, 0.0], [-0.1, 1.0, -0.9], [-0.2, 0.0, 1.0]])
>>> order = flow_order(crash, max_fill=0.0)
>>> order.states.tolist(), order.hubs.tolist()
([1, 2, 0], [0])
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hcssp.cssp.factorisation import eliminate
from hcssp.cssp.model import BoolArray, IntArray, SparseMatrix

Labels = npt.NDArray[Any]
"""Whole numbers, as narrow as a matrix has them."""

MAX_HUBS = 8
"""So many states are taken out at most; each may add a whole line to the factors."""

MAX_FILL = 4.0
"""What sets of states that lead to one another may add to the factors if they are eliminated as they stand,
as a multiple of the system's entries."""

STANDING_OUT = 8.0
"""A state that is entered from so many times as many others as is usual is a hub, beyond doubt."""

SHRINKING = 0.9
"""Unless the largest of these sets shrinks to this share when hubs are taken out, no more of them are."""

SMALL_SET = 32
"""So few states that lead to one another are eliminated as they stand."""

MAX_SHARE = 0.25
"""Larger sets with more than this share of the states are ordered about as fast as all states are."""


class FlowOrder(NamedTuple):
    """An order to eliminate in.

    Attributes
    ----------
    states
        All of them.
    hubs
        Those at the end that most circles go through; some order of a similar policy is found at once with
        them.
    """

    states: IntArray
    hubs: IntArray


def flow_order(
    system: SparseMatrix, hubs: IntArray | None = None, max_fill: float = MAX_FILL
) -> FlowOrder | None:
    """The order of a policy's system; None if it goes in too many circles for one.

    Parameters
    ----------
    system
        CSR, square, with an entry from each state to itself.
    hubs
        Of the order of a similar policy.
    max_fill
        As :data:`MAX_FILL`.
    """
    count = system.shape[0]
    own = np.repeat(np.arange(count, dtype=system.indices.dtype), np.diff(system.indptr))
    is_hub = np.zeros(count, dtype=np.bool_)
    if hubs is not None:
        is_hub[hubs] = True
    before, inside = count, np.zeros(count, dtype=np.int64)
    # Without the hubs that were taken out last.
    fewer: tuple[BoolArray, Labels, Labels, Labels] | None = None
    while True:
        # A hub that nothing leads to is on no circle.
        heads = np.where(is_hub[system.indices], own, system.indices) if is_hub.any() else system.indices
        graph = csr_array((system.data, heads, system.indptr), shape=system.shape)
        _, label = connected_components(graph, directed=True, connection="strong")
        sizes = np.bincount(label)
        if float(sizes @ sizes) - count <= max_fill * system.nnz:
            break
        largest = int(sizes.max())
        in_vain = largest > SHRINKING * before and is_hub.any()
        if np.count_nonzero(is_hub) == MAX_HUBS or in_vain:
            if in_vain and fewer is not None:
                is_hub, heads, label, sizes = fewer
            if float(sizes[sizes > SMALL_SET].sum()) > MAX_SHARE * count:
                return None
            inside = _places_inside(system, label, sizes)
            break
        before, fewer = largest, (is_hub.copy(), heads, label, sizes)
        within = (label == np.argmax(sizes))[own] & (label[own] == label[heads]) & (own != heads)
        entered = np.bincount(heads[within], minlength=count)
        usual = np.count_nonzero(within) / largest
        if largest > max(SMALL_SET, MAX_SHARE * count) and entered.max() <= STANDING_OUT * usual:
            # As on a grid: no few states break the circles that most of the others are on.
            return None
        often = np.argsort(-entered, kind="stable")[: MAX_HUBS - np.count_nonzero(is_hub)]
        # At least one; more if they stand out, since one of several hubs breaks few circles.
        stands_out = entered[often] > STANDING_OUT * usual
        stands_out[0] = True
        is_hub[often[stands_out]] = True
    if np.any(label[own] < label[heads]):
        # Sets are numbered from the last one on; should that ever change, this is no order.
        return None
    last = np.flatnonzero(is_hub)
    order = np.lexsort((inside, -label))
    return FlowOrder(np.concatenate([order[~is_hub[order]], last]), last)


def _places_inside(system: SparseMatrix, label: Labels, sizes: Labels) -> IntArray:
    """An order of the states of each large set among themselves that keeps its factors sparse.

    Parameters
    ----------
    system
        CSR.
    label, sizes
        The set of each state, and how many states each set has.
    """
    places = np.zeros(len(label), dtype=np.int64)
    states = np.flatnonzero((sizes > SMALL_SET)[label])
    part = system[states]
    number = np.zeros(len(label), dtype=part.indices.dtype)
    number[states] = np.arange(len(states))
    own = np.repeat(states, np.diff(part.indptr))
    # Steps to other sets count for nothing; with twice the diagonal no set without a way out is singular.
    kept = np.where(label[own] == label[part.indices], part.data, 0.0)
    kept[own == part.indices] *= 2.0
    sets = csr_array((kept, number[part.indices], part.indptr), shape=(len(states), len(states)))
    sets.eliminate_zeros()
    sets.sort_indices()
    places[states] = eliminate(sets).perm_c
    return places
