"""The regions of a proof: all policies, split again and again, and the best that is proven about each.

What is proven about a region holds for its parts, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from hcssp.checker.checking import leaf_regions
from hcssp.checker.format import Statement
from hcssp.checker.layout import Layout
from hcssp.cssp.model import BoolArray, IntArray

LEAF = -1
"""Where a certificate's tree branches no more."""


@dataclass
class _Node:
    """A region of policies: where it lies, and the best that is proven about it."""

    parent: int = -1
    forbidden: IntArray | None = None
    branching: int = LEAF
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
    """

    def __init__(self, layout: Layout, never: BoolArray) -> None:
        self._layout, self._never = layout, never
        self._nodes = [_Node()]
        # What is known of a region of which nothing is proven: no cost is negative.
        prices = (1.0, *[0.0] * len(layout.bounds))
        self._nothing = Statement(prices, (0.0,) * layout.flattening.num_event_states, ())

    def branch(self, node: int, row: int) -> tuple[int, int]:
        """Split a region as a certificate's tree says it: a flat row is used in its state, or it is not."""
        row_start = self._layout.flattening.row_start
        if not 0 <= row < row_start[-1] or self._nodes[node].children:
            raise ValueError(f"node {node} cannot be branched on flat row {row}")
        region = self.forbidden(node)
        parts = [part & ~region for part in leaf_regions((row, LEAF, LEAF), row_start, region)]
        children = len(self._nodes), len(self._nodes) + 1
        self._nodes += [_Node(node, np.flatnonzero(part)) for part in parts]
        self._nodes[node].branching, self._nodes[node].children = row, children
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

    def written(self) -> tuple[list[int], list[int]]:
        """The tree as a certificate has it, in preorder, and its leaves in that order."""
        tree: list[int] = []
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
