"""Whether the plan of an earlier search is still the best one after a few numbers have changed.

An earlier search over a similar problem ended with a partition of the policies into regions, and multipliers
for each. Any partition will do for a proof. So the bound of every region at its old multipliers, one solve
each, often shows that no region holds anything noticeably better than the plan that is known.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from hcssp.dual.ascent import lagrangian_bound
from hcssp.errors import OutOfPrecision
from hcssp.methods.policy_branching import Node, PolicySearch, split_region
from hcssp.proofs.search_record import SearchRecord
from hcssp.ssp.scalar_problem import Region

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReplayParameters:
    """When the regions of an earlier search are taken over.

    Attributes
    ----------
    max_regions
        An earlier search that has split more is not followed.
    open_share
        The regions are taken if the bounds of all of them leave open no more than this share, in the mean, of
        what the root leaves open.
    precision
        A bound is solved to this share of what the root leaves open.
    """

    max_regions: int = 5_000
    open_share: float = 0.05
    precision: float = 0.1


DEFAULT_PARAMETERS = ReplayParameters()
"""The parameters of every search."""


def replayed(guide: SearchRecord, search: PolicySearch[Any]) -> list[Node]:
    """The regions of an earlier search, if they prove that the plan that is known is nearly the best.

    Parameters
    ----------
    guide
        The record of the earlier search.
    search
        The search that begins; its record takes the regions over if they are good.
    """
    root, enough = search.root, search.queue.enough
    missing = enough - root.bound
    # Where rows were exchanged, the regions that were proven are larger in number than those recorded.
    if (
        guide.exchanges
        or not 1 < len(guide) <= DEFAULT_PARAMETERS.max_regions
        or not 0.0 < missing < inf
        or enough <= 0.0
    ):
        return []
    splits = SearchRecord()
    leaves = _translated(guide, search, splits)
    allowed = DEFAULT_PARAMETERS.open_share * missing * len(leaves)
    bounds: list[float] = []
    for node in leaves:
        bounds.append(_bound(search, node, DEFAULT_PARAMETERS.precision * missing / enough))
        allowed -= max(0.0, enough - bounds[-1])
        if allowed < 0.0 or len(leaves) == 1:
            return []
    record, nodes = search.record, []
    numbers = record.graft([record.root], splits)
    for node, bound in zip(leaves, bounds, strict=True):
        number = numbers[node.number]
        if bound == inf:
            record.empty(number)
        else:
            record.bounded(number, bound, node.prices)
            nodes.append(replace(node, number=number, bound=max(root.bound, bound)))
    return nodes


def _translated(guide: SearchRecord, search: PolicySearch[Any], splits: SearchRecord) -> list[Node]:
    """The leaves of another search as regions of this one, those first of which least was proven.

    A split on an action that is no longer there is left out: what cannot be used is avoided.
    """
    oracle, known = search.oracle, guide.oracle
    correspondence = oracle.strategies.correspondence
    if known is None or correspondence is None:
        return []
    found: list[tuple[float, Node]] = []
    waiting = [(guide.root, Region(), splits.root)]
    while waiting:
        theirs, region, number = waiting.pop()
        children = guide.children(theirs)
        if not children:
            claim = guide.claim(theirs)
            node = search.unsolved(region, number, None if claim is None else claim.weights)
            found.append((inf if claim is None else claim.bound, node))
            continue
        row = correspondence.same_row(guide.row(theirs), known)
        if row is None or row in region.forbidden:
            waiting.append((children[1], region, number))
            continue
        numbers = splits.split(number, row)
        waiting += zip(children, split_region(oracle, region, [row]), numbers, strict=True)
    return [node for _, node in sorted(found, key=lambda each: each[0])]


def _bound(search: PolicySearch[Any], node: Node, precision: float) -> float:
    """The Lagrangian bound of a node's region at its multipliers; ``inf`` if it has no proper policy."""
    try:
        least = search.oracle.minimise(np.append(1.0, node.prices), node.region, precision)
    except OutOfPrecision as error:
        logger.info("no bound of a region: %s", error)
        return -inf
    if least is None:
        return inf
    search.reporter.offer(least.point)
    return lagrangian_bound(least.bound, node.prices, search.oracle.bounds)
