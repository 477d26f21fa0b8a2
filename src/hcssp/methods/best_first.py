"""The best-first queue of all searches, for boxes of budgets and for regions of policies.

A search keeps open nodes, each with a lower bound on what it holds, and an incumbent. The least bound of
the open nodes, of whatever was pruned, and the incumbent's cost is a bound on the optimum. Both ends of
the interval only tighten.

>>> search = BestFirst[str, str]()
>>> search.push(1.0, "left"); search.push(2.0, "right")
>>> search.offer(3.0, "plan")
True
>>> search.pop()
(1.0, 'left')
>>> search.push(2.5, "left-left")
>>> search.lower_bound, search.upper_bound
(2.0, 3.0)
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator
from itertools import count
from math import inf, isfinite
from typing import Generic, TypeVar

from hcssp.numerics import COST_ROUNDING, PRUNE_TOLERANCE, at_least

Node = TypeVar("Node")
Solution = TypeVar("Solution")


class BestFirst(Generic[Node, Solution]):
    """Open nodes by lower bound, the incumbent, and the proven interval.

    Parameters
    ----------
    lower_bound
        A bound known before the search began.
    upper_bound
        The cost of a solution known before; only better ones are looked for, and offered.
    wanted_gap
        The relative gap at which the search may stop.

    Attributes
    ----------
    pruned_bound
        The least bound of all that was pruned; ``inf`` if nothing was.
    rounding
        By how much the costs of what nodes hold may be below their bounds, relatively.
    upper_bound, incumbent
        The best cost known, and the solution that was offered with it.
    most
        Where a reward is maximised, the greatest one without bounds: costs are what is missed of it, and gaps
        are relative to the reward.
    """

    def __init__(self, lower_bound: float = -inf, upper_bound: float = inf, wanted_gap: float = 0.0) -> None:
        self._wanted_gap = wanted_gap
        self._heap: list[tuple[float, int, Node]] = []
        self._order = count()
        self._lent: dict[Hashable, float] = {}
        # The bound when a node was taken last, or before the search began.
        self._proven = lower_bound
        self.pruned_bound = inf
        self.rounding = 0.0
        self.most: float | None = None
        self.upper_bound = upper_bound
        self.incumbent: Solution | None = None

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def cutoff(self) -> float:
        """A node whose bound reaches this cannot hold anything better than the incumbent."""
        if not isfinite(self.upper_bound):
            return inf
        return self._below(PRUNE_TOLERANCE)

    @property
    def enough(self) -> float:
        """A bound that reaches this leaves no more open than is wanted; never above :attr:`cutoff`."""
        if not isfinite(self.upper_bound):
            return inf
        return min(self.cutoff, self._below(self._wanted_gap))

    def _below(self, gap: float) -> float:
        """A bound that leaves a relative gap; a difference within rounding is none."""
        size = abs(self.upper_bound if self.most is None else self.most - self.upper_bound)
        return self.upper_bound - max(gap * size, COST_ROUNDING * abs(self.upper_bound))

    @property
    def floor(self) -> float:
        """A lower bound on the incumbent's cost, despite rounding."""
        return at_least(self.upper_bound)

    @property
    def lower_bound(self) -> float:
        """The proven lower bound; it never decreases.

        The incumbent's cost is rounded, and so :attr:`floor` is all that it proves.
        While a node is being expanded, it is meaningless until all its children are pushed.
        """
        found = min(self.pruned_bound, self.next_bound, self.lent_bound)
        if isfinite(found):
            found -= self.rounding * abs(found)
        return max(self._proven, min(found, self.floor))

    @property
    def next_bound(self) -> float:
        """The bound of the node that comes next; ``inf`` if there is none."""
        return self._heap[0][0] if self._heap else inf

    @property
    def lent_bound(self) -> float:
        """The least bound of the nodes that others have; ``inf`` if they have none."""
        return min(self._lent.values(), default=inf)

    def lend(self, borrower: Hashable, bound: float) -> None:
        """Lend nodes that were taken and hold nothing below `bound` to a worker, until they come back."""
        self._lent[borrower] = bound

    def return_from(self, borrower: Hashable) -> None:
        """A lent node is back: it must be pushed, its children must be, or it must be pruned."""
        # The bound now stays valid for all nodes that come back.
        self._proven = self.lower_bound
        del self._lent[borrower]

    def push(self, bound: float, node: Node) -> None:
        """Open a node that holds nothing below `bound`; a hopeless one is pruned, an empty one forgotten."""
        if bound >= self.cutoff:
            self.prune(bound)
        else:
            heapq.heappush(self._heap, (bound, next(self._order), node))

    def pop(self, newest: bool = False) -> tuple[float, Node]:
        """Take the open node with the least bound, or the newest one, to dive for an incumbent.

        Its children must be pushed, or it must be pruned.
        """
        # All open nodes are here at this moment, so the bound stays valid.
        self._proven = self.lower_bound
        if newest:
            position = max(range(len(self._heap)), key=lambda index: self._heap[index][1])
            self._heap[0], self._heap[position] = self._heap[position], self._heap[0]
            bound, _, node = self._heap[0]
            self._heap[0] = self._heap[-1]
            self._heap.pop()
            heapq.heapify(self._heap)
        else:
            bound, _, node = heapq.heappop(self._heap)
        return bound, node

    def __iter__(self) -> Iterator[tuple[float, Node]]:
        """The open nodes with their bounds, in no order."""
        return ((bound, node) for bound, _, node in self._heap)

    def prune(self, bound: float) -> None:
        """Remember that something not below `bound` is left unexplored."""
        self.pruned_bound = min(self.pruned_bound, bound)

    def offer(self, cost: float, solution: Solution) -> bool:
        """Take a feasible solution as incumbent if it is better; return whether it was."""
        # A cost that was computed elsewhere is rounded in another way.
        if not cost < (self.floor if self.incumbent is None else self.upper_bound):
            return False
        self.upper_bound = cost
        self.incumbent = solution
        return True
