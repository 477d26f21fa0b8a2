"""The regions of a proof: all policies, split again and again, and the best that is proven about each.

What is proven about a region holds for its parts, too. Parts of a procedure that can be exchanged, see
:mod:`hcssp.dual.exchangeable`, may be split at once: only what the checker takes for such is.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from hcssp.checker.checking import leaf_regions
from hcssp.checker.format import Branching, Segment, Statement
from hcssp.checker.layout import Layout, Segments
from hcssp.cssp.model import BoolArray, IntArray
from hcssp.errors import NotProven

logger = logging.getLogger(__name__)

LEAF = -1
"""Where a certificate's tree branches no more."""


@dataclass
class _Node:
    """A region of policies: where it lies, and the best that is proven about it."""

    parent: int = -1
    forbidden: IntArray | None = None
    branching: Branching = LEAF
    children: tuple[int, ...] = ()
    statement: Statement | None = None
    bound: float = -inf


class RegionTree:
    """Keeps regions by number; that of all policies is 0.

    Parameters
    ----------
    layout
        The problem as the checker sees it.
    never
        The flat rows that are forbidden everywhere.

    Attributes
    ----------
    segments
        The parts of the procedure that may exchange their plans, as in a certificate.
    """

    def __init__(self, layout: Layout, never: BoolArray) -> None:
        self._layout, self._never = layout, never
        self._found, self.segments = Segments(layout, ()), tuple[Segment, ...]()
        # For each row the segments that it is in, and where.
        self._places: dict[int, dict[int, int]] = {}
        self._nodes = [_Node()]
        # What is known of a region of which nothing is proven: no cost is negative.
        prices = (1.0, *[0.0] * len(layout.bounds))
        self._nothing = Statement(prices, (0.0,) * layout.flattening.num_event_states, ())

    def exchange(self, segments: Sequence[Segment]) -> None:
        """Say which parts of the procedure may exchange their plans.

        Parameters
        ----------
        segments
            As in a certificate. If the checker does not take them for such, there are none.
        """
        try:
            self._found, self.segments = Segments(self._layout, segments), tuple(segments)
        except NotProven as error:
            logger.info("nothing is exchanged: %s", error)
        for number, (_, _, rows) in enumerate(self._found.found):
            for place, row in enumerate(rows.tolist()):
                self._places.setdefault(row, {})[number] = place

    def branch_alike(self, node: int, rows: Sequence[int], count: int) -> tuple[int, int] | None:
        """Split a region: so many of some flat rows are used, by those that come first, or fewer are.

        In the second part, the rows from the last of the first ones on are not used. None if the checker does
        not see that all these rows can be exchanged: see :meth:`exchange`.
        """
        for number, place in self._places.get(rows[0], {}).items():
            form, chosen = self._found.found[number][1], [number]
            for row in rows[1:]:
                places = self._places.get(row, {}).items()
                chosen += [n for n, at in places if at == place and self._found.found[n][1] == form][:1]
            if len(chosen) == len(rows):
                try:
                    return self.branch(node, (rows[0], count, *chosen))
                except NotProven:
                    continue
        return None

    def branch(self, node: int, branching: Branching) -> tuple[int, int]:
        """Split a region as a certificate's tree says it: a flat row is used in its state, or it is not."""
        row = branching[0] if isinstance(branching, tuple) else branching
        if not 0 <= row < self._layout.flattening.row_start[-1] or self._nodes[node].children:
            raise ValueError(f"node {node} cannot be branched on flat row {row}")
        region = self.forbidden(node)
        parts = [part & ~region for part in leaf_regions((branching, LEAF, LEAF), self._found, region)]
        children = len(self._nodes), len(self._nodes) + 1
        self._nodes += [_Node(node, np.flatnonzero(part)) for part in parts]
        self._nodes[node].branching, self._nodes[node].children = branching, children
        return children

    def forbidden(self, node: int) -> BoolArray:
        """The flat rows that a region forbids, with those that are forbidden everywhere."""
        region = self._never.copy()
        while node >= 0:
            if (forbidden := self._nodes[node].forbidden) is not None:
                region[forbidden] = True
            node = self._nodes[node].parent
        return region

    def keep(self, node: int, statement: Statement | None, bound: float) -> None:
        """Keep what is proven about a region, if that is more than before; None proves that it is empty."""
        if bound > self._nodes[node].bound:
            self._nodes[node].statement, self._nodes[node].bound = statement, bound

    def best(self, node: int) -> tuple[Statement | None, float]:
        """The best statement about a region or one that holds it, None if it is empty, and the bound."""
        found: tuple[Statement | None, float] = self._nothing, 0.0
        while node >= 0:
            if self._nodes[node].bound > found[1]:
                found = self._nodes[node].statement, self._nodes[node].bound
            node = self._nodes[node].parent
        return found

    def written(self) -> tuple[list[Branching], list[int]]:
        """The tree as a certificate has it, in preorder, and its leaves in that order."""
        tree: list[Branching] = []
        leaves: list[int] = []
        waiting = [0]
        while waiting:
            node = waiting.pop()
            tree.append(self._nodes[node].branching)
            if self._nodes[node].children:
                waiting += reversed(self._nodes[node].children)
            else:
                leaves.append(node)
        return tree, leaves
