"""Policies between two that carry the dual: some decisions of the one, the rest of the other.

Where many decisions are changed at the same price, one policy of the support spares too much and the other
spends too much. So it is with many uses of few definitions in a procedure, and with stages that resemble one
another in a flat problem. What is wanted lies between. The decisions in which the two differ are taken over
one after the other, as many as the bounds bear; how many is found by bisection. The one that was too much is
passed over, and what is left of the bounds is spent on those after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from hcssp.cssp.model import FloatArray
from hcssp.dual.vertex import V
from hcssp.numerics import tolerated

MAX_TRIES = 40
"""So many policies between two are evaluated."""

Item = TypeVar("Item")


def cross(
    kept: V,
    items: Sequence[Item],
    mixed: Callable[[list[Item]], V | None],
    bounds: FloatArray,
    max_tries: int = MAX_TRIES,
) -> V | None:
    """A policy that keeps the bounds and costs less than `kept`; None if none was found.

    Parameters
    ----------
    kept
        A policy that keeps the bounds.
    items
        Decisions of one that does not, in which the two differ: those that matter most come first.
    mixed
        The policy `kept` with some of these decisions instead; None if there is no such policy.
    bounds
        One for each constraint.
    max_tries
        So many policies are evaluated at most.
    """
    limits = tolerated(bounds)
    taken: list[Item] = []
    best, tries = None, 0
    cost = float(kept.costs[0])
    rest = list(items)
    while rest and tries < max_tries:
        low, high = 0, len(rest) + 1
        while high - low > 1 and tries < max_tries:
            # All at once is asked for last: that is the policy that does not keep the bounds.
            middle = (low + high) // 2
            tries += 1
            vertex = mixed([*taken, *rest[:middle]])
            if vertex is not None and bool(np.all(vertex.costs[1:] <= limits)):
                low = middle
                if float(vertex.costs[0]) < cost:
                    best, cost = vertex, float(vertex.costs[0])
            else:
                high = middle
        taken.extend(rest[:low])
        rest = rest[low + 1 :]
    return best


def crossings(support: tuple[V, ...], bounds: FloatArray, towards: Callable[[V, V], V | None]) -> V | None:
    """The cheapest policy that leads from one of the support that keeps the bounds towards one that does not.

    Parameters
    ----------
    support
        The policies that carry a dual.
    bounds
        One for each constraint.
    towards
        A policy between two, the first of which keeps the bounds; None if it finds none.
    """
    limits = tolerated(bounds)
    keeping = [vertex for vertex in support if bool(np.all(vertex.costs[1:] <= limits))]
    breaking = [vertex for vertex in support if not bool(np.all(vertex.costs[1:] <= limits))]
    found = [towards(kept, broken) for kept in keeping for broken in breaking]
    cheaper = [each for each in found if each is not None]
    return min(cheaper, key=lambda each: float(each.costs[0]), default=None)
