"""Beginning a search with the regions that another one ended with.

A search over a problem that differs in a few numbers ends with much the same regions: their prices are good
ones, and a single look at each often shows that it holds nothing better than the plan that is known. Any
partition will do, so nothing depends on how alike the two problems are but the time it takes: a split on
something that is no longer there is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray
from hcssp.dual.ascent import Dual, ascend
from hcssp.dual.oracle import Oracle
from hcssp.methods.branching import Node, split
from hcssp.proofs.search_record import SearchRecord
from hcssp.ssp.region import Region

MOST_REGIONS = 5_000
"""A search that has split more is not followed: what is alike about two problems does not go that far."""


TRIED = 8
"""So many of the regions are looked at before all of them are taken."""


def begin_with(
    guide: SearchRecord, oracle: Oracle[Any], record: SearchRecord, root: Dual[Any], cutoff: float
) -> list[Node]:
    """The regions that another search ended with, if most of a few that are tried hold nothing better.

    Parameters
    ----------
    guide
        What the other search has written down.
    oracle, record
        The problem, and where the splits are written down again.
    root
        The dual of all policies.
    cutoff
        What is not below it is of no interest; ``inf`` if no plan is known, and then there is none to compare
        with.
    """
    if guide.oracle is None or not 1 < len(guide) <= MOST_REGIONS or cutoff == inf:
        return []
    nodes = replayed(guide, oracle, SearchRecord(), root.prices, root.bound)
    tried = nodes[:: max(1, len(nodes) // TRIED)]
    closed = sum(_is_closed(oracle, node, cutoff) for node in tried)
    if 2 * closed < len(tried):
        return []
    return replayed(guide, oracle, record, root.prices, root.bound)


def _is_closed(oracle: Oracle[Any], node: Node, cutoff: float) -> bool:
    """Whether a look at a region shows that it holds nothing below the cutoff."""
    first: Dual[Any] = next(ascend(oracle, node.region, start=node.prices, cutoff=cutoff), Dual())
    return first.infeasible or first.bound >= cutoff


def replayed(
    guide: SearchRecord, oracle: Oracle[Any], record: SearchRecord, prices: FloatArray, bound: float
) -> list[Node]:
    """The leaves of another search as regions of `oracle`, of which no more is proven than of them all.

    Parameters
    ----------
    guide
        What the other search has written down.
    oracle, record
        The problem, and where the splits are written down again.
    prices, bound
        Those of all policies together.
    """
    known = guide.oracle
    if known is None:
        raise ValueError("nothing was written down")
    found: list[Node] = []
    waiting = [(guide.root, Region(), record.root)]
    while waiting:
        theirs, region, number = waiting.pop()
        children = guide.children(theirs)
        if not children:
            claim = guide.claim(theirs)
            weights = None if claim is None else claim.weights
            priced = weights is not None and weights[0] == 1.0 and len(weights) == 1 + len(prices)
            near = np.array(weights[1:]) if weights is not None and priced else prices
            found.append(Node(region, near, bound, number, proven=False))
            continue
        row = oracle.same_row(guide.row(theirs), known)
        if row is None or row in region.forbidden:
            # What cannot be used is avoided.
            waiting.append((children[1], region, number))
            continue
        numbers = record.split(number, row)
        waiting += zip(children, split(oracle, region, row), numbers, strict=True)
    return found


def resumed(
    record: SearchRecord, leaves: Sequence[tuple[int, FloatArray | None]], root: Dual[Any], bounded: BoolArray
) -> list[Node]:
    """The leaves of an earlier search over the same problem, which goes on.

    Of them nothing is known but what holds for all policies; their weights are only a hint.

    Parameters
    ----------
    record, leaves
        What :meth:`~hcssp.proofs.search_record.SearchRecord.resume` has made of what the search wrote down.
    root
        The dual of all policies.
    bounded
        Which constraints have a bound, and so may have a price.
    """
    nodes = []
    for number, weights in leaves:
        prices = root.prices
        if weights is not None and len(weights) == 1 + len(bounded) and weights[0] > 0.0:
            hinted = np.where(bounded, weights[1:] / weights[0], 0.0)
            if np.isfinite(hinted).all() and (hinted >= 0.0).all():
                prices = hinted
        nodes.append(Node(record.region(number), prices, root.bound, number, proven=False))
    return nodes
