"""Beginning a search with the regions that another one ended with.

A search over a problem that differs in a few numbers ends with much the same regions: their prices are good
ones, and a single look at each often shows that it holds nothing better than the plan that is known. Any
partition will do, so nothing depends on how alike the two problems are but the time it takes: a split on
something that is no longer there is left out, and so are those on all that has changed if it was split
elsewhere now.

Where nothing has become cheaper and no bound looser, as when a hazard has grown, what was proven of a region
still holds, and there is nothing to look at if that is enough.

The region of which least was proven held the best plan: a policy of it is near the best one here, too.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray
from hcssp.dual.ascent import Dual, lagrangian_bound, maximise
from hcssp.dual.oracle import Oracle
from hcssp.errors import OutOfPrecision
from hcssp.methods.branching import Node, offer, split
from hcssp.methods.reporter import Reporter
from hcssp.numerics import excess
from hcssp.proofs.search_record import Claim, SearchRecord
from hcssp.ssp.region import Region

logger = logging.getLogger(__name__)

MOST_REGIONS = 5_000
"""A search that has split more is not followed: what is alike about two problems does not go that far."""

TRIED = 8
"""So many of the regions are looked at before all of them are taken."""

MOST_OPEN, MOST_OPEN_UNCHANGED = 0.05, 0.75
"""They are taken if no more than this share of what is missing, to the best plan or to the gap that is
wanted, is missing in these, in the mean; more of it if they are about what has not changed, where looking at
them costs next to nothing."""

LOOK_PRECISION = 0.1
"""A look at a region leaves no more than this share open of what is missing."""

FIRST_ROUNDS = 12
"""So many switches improve a policy of the region that held the best plan."""

NO_BETTER = 1e-3
"""None does where all but this share of what is missing is proven, and no policy that is better by no more
takes the place of the plan that is known."""


class Leaf(NamedTuple):
    """A region that another search ended with.

    Attributes
    ----------
    node
        The same here, of which no more is proven than of all policies.
    claim
        What was learnt about it there; None if nothing was.
    """

    node: Node
    claim: Claim | None

    @property
    def before(self) -> float:
        """What was proven of it there."""
        return inf if self.claim is None else self.claim.bound


def is_guide(guide: SearchRecord | None, oracle: Oracle[Any]) -> bool:
    """Whether another search has split regions, first of all on something that is there here as well."""
    if guide is None or guide.oracle is None or len(guide) == 1 or guide.exchanges:
        return False
    return oracle.same_row(guide.row(guide.root), guide.oracle) is not None


def begin_with(
    guide: SearchRecord, oracle: Oracle[Any], record: SearchRecord, root: Dual[Any], reporter: Reporter[Any]
) -> list[Node]:
    """The regions that another search ended with, if a look at a few of them shows that they are good ones.

    Parameters
    ----------
    guide
        What the other search has written down.
    oracle, record
        The problem, and where the splits are written down again.
    root
        The dual of all policies.
    reporter
        Hears of the policies that are met.
    """
    if guide.oracle is None or not 1 < len(guide) <= MOST_REGIONS:
        return []
    splits = SearchRecord()
    leaves = replayed(guide, oracle, splits, root)
    # Where rows were exchanged, the regions here are larger than those that something was proven of.
    holds = not guide.exchanges and oracle.is_stricter(guide.oracle)
    if holds and _leave_little(leaves, reporter.search.enough, root.bound):
        return _taken_over(leaves, splits, record, root)
    looks = _Looks(oracle, root, reporter)
    if guide.exchanges or not looks.are_good(leaves, NO_BETTER):
        _find_plan(oracle, leaves[0].node, root, reporter)
        looks = _Looks(oracle, root, reporter)
    if guide.exchanges:
        # A search of its own exchanges what is alike again; one by one, these regions are many times as many.
        return []
    if not looks.are_good(leaves, MOST_OPEN):
        splits = SearchRecord()
        fewer = replayed(guide, oracle, splits, root, unchanged=True)
        if len(fewer) == len(leaves) or not looks.are_good(fewer, MOST_OPEN_UNCHANGED):
            return []
        leaves = fewer
    numbers, nodes = record.graft([record.root], splits), []
    for node, _ in leaves:
        bound, number = looks.bound(node), numbers[node.number]
        if bound == inf:
            record.empty(number)
        else:
            record.bounded(number, bound, node.prices)
            nodes.append(replace(node, number=number, bound=max(root.bound, bound)))
    return nodes


def _leave_little(leaves: Sequence[Leaf], enough: float, least: float) -> bool:
    """Whether what was proven of some regions is enough, if it holds where all policies cost `least`."""
    if len(leaves) == 1 or not 0.0 < enough - least < inf or any(leaf.claim is None for leaf in leaves):
        return False
    left = sum(max(0.0, enough - leaf.before) for leaf in leaves)
    return left <= MOST_OPEN * (enough - least) * len(leaves)


def _taken_over(
    leaves: Sequence[Leaf], splits: SearchRecord, record: SearchRecord, root: Dual[Any]
) -> list[Node]:
    """Regions of which all that was learnt still holds, written down again."""
    numbers, nodes = record.graft([record.root], splits), []
    for node, claim in leaves:
        if claim is None:
            raise ValueError("nothing was learnt about a region")
        record.learn(numbers[node.number], claim)
        if claim.bound < inf:
            nodes.append(replace(node, number=numbers[node.number], bound=max(root.bound, claim.bound)))
    return nodes


def _find_plan(oracle: Oracle[Any], node: Node, root: Dual[Any], reporter: Reporter[Any]) -> None:
    """Offer policies near the best one of a region, if it may hold a better one than those known."""
    dual = maximise(oracle, node.region, start=node.prices, cutoff=reporter.search.cutoff)
    offer(oracle, reporter, dual, 0)
    enough = reporter.search.enough
    if dual.converged and not dual.bound >= enough - NO_BETTER * (enough - root.bound):
        nearest = min(dual.support, key=lambda vertex: excess(vertex.costs, oracle.bounds))
        better = oracle.improve(nearest, FIRST_ROUNDS, reporter.search.upper_bound, dual.bound)
        if better is not None:
            reporter.offer(better)


class _Looks:
    """What single looks at regions show, at the prices that their nodes have.

    Parameters
    ----------
    oracle, root
        The problem, and the dual of all policies.
    reporter
        Hears of the policies that are met.
    """

    def __init__(self, oracle: Oracle[Any], root: Dual[Any], reporter: Reporter[Any]) -> None:
        self._oracle = oracle
        self._reporter = reporter
        self._enough = reporter.search.enough
        self._missing = self._enough - root.bound
        # The plan that is known is kept for as long as others gain next to nothing.
        self._noticed = self._enough - NO_BETTER * self._missing if self._missing < inf else inf
        self._known: dict[Region, float] = {}

    def are_good(self, leaves: Sequence[Leaf], most_open: float) -> bool:
        """Whether little enough is missing in some regions, to judge by a few of them."""
        if len(leaves) == 1 or not 0.0 < self._missing < inf or self._enough <= 0.0:
            return False
        tried = leaves[:: -(-len(leaves) // TRIED)]
        left = most_open * self._missing * len(tried)
        for node, _ in tried:
            left -= max(0.0, self._enough - self.bound(node))
            if left < 0.0:
                return False
        return True

    def bound(self, node: Node) -> float:
        """What is shown of a node's region; ``inf`` if it holds no policy that ends."""
        if node.region not in self._known:
            self._known[node.region] = self._look(node)
        return self._known[node.region]

    def _look(self, node: Node) -> float:
        oracle, precision = self._oracle, LOOK_PRECISION * self._missing / self._enough
        try:
            least = oracle.approximate(np.append(1.0, node.prices), node.region, precision)
        except OutOfPrecision as error:
            logger.info("nothing is seen of a region: %s", error)
            return -inf
        if least is None:
            return inf
        if least.vertex.costs[0] < self._noticed:
            self._reporter.offer(least.vertex)
        return lagrangian_bound(least.bound, node.prices, oracle.bounds)


def replayed(
    guide: SearchRecord, oracle: Oracle[Any], record: SearchRecord, root: Dual[Any], unchanged: bool = False
) -> list[Leaf]:
    """The leaves of another search as regions of `oracle`, those first of which least was proven.

    Parameters
    ----------
    guide
        What the other search has written down.
    oracle, record
        The problem, and where the splits are written down again.
    root
        The dual of all policies.
    unchanged
        Whether splits on what is not the same are left out.
    """
    known = guide.oracle
    if known is None:
        raise ValueError("nothing was written down")
    bounded = np.isfinite(oracle.bounds)
    found: list[Leaf] = []
    waiting = [(guide.root, Region(), record.root)]
    while waiting:
        theirs, region, number = waiting.pop()
        children = guide.children(theirs)
        if not children:
            claim = guide.claim(theirs)
            weights = None if claim is None else claim.weights
            priced = weights is not None and weights[0] == 1.0 and len(weights) == 1 + len(root.prices)
            near = np.where(bounded, weights[1:], 0.0) if weights is not None and priced else root.prices
            node = Node(region, near, root.bound, number, proven=False)
            found.append(Leaf(node, claim))
            continue
        row = oracle.same_row(guide.row(theirs), known, unchanged)
        if row is None or row in region.forbidden:
            # What cannot be used is avoided.
            waiting.append((children[1], region, number))
            continue
        numbers = record.split(number, row)
        waiting += zip(children, split(oracle, region, [row]), numbers, strict=True)
    return sorted(found, key=lambda leaf: leaf.before)


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
