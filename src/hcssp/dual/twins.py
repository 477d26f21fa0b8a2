"""Activities with the same moves: under weights that see no other difference, one plan is the best of all.

A room with other hazards is a twin as long as they have no price, the same room entered elsewhere always is.
A twin begins with what the first of its kind has found, which spares the way from shortest paths to the best
plan. That it is the best is found out as for any other plan, so nothing rests on it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hcssp.dual.activity_planner import ActivityPlanner
    from hcssp.ssp.balance import Balance


def pair_up(planners: Iterable[ActivityPlanner]) -> None:
    """Let each planner know of the first one with the same moves, if there is one before it."""
    first: dict[Hashable, ActivityPlanner] = {}
    for planner in planners:
        balance = planner.balance
        # Plans of one with other costs than these have values of other costs.
        key = planner.counted, len(balance.costs), *balance.seen_at_once
        other = first.setdefault(key, planner)
        if other is not planner and _have_same_moves(balance, other.balance):
            planner.twin = other


def _have_same_moves(one: Balance, other: Balance) -> bool:
    return (
        np.array_equal(one.row_start, other.row_start)
        and np.array_equal(one.matrix.indptr, other.matrix.indptr)
        and np.array_equal(one.matrix.indices, other.matrix.indices)
        and np.array_equal(one.matrix.data, other.matrix.data)
    )
