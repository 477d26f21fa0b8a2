"""The duals of a search's open nodes, kept within a budget of memory.

An open node is a region, its prices and its bound: a few numbers, which are kept in any case. What its dual
met on the way, whole policies, only saves work when its turn comes. So they are kept as long as nodes leave
room for them; beyond that, the duals that were put away first are dropped, and solved again from the prices
when their turn comes.

>>> shelf: OpenDuals = OpenDuals(capacity=0)
>>> shelf.put(7, Dual())
>>> shelf.take(7) is None
True
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic

from hcssp.dual.ascent import Dual
from hcssp.dual.vertex import V

DEFAULT_CAPACITY = 2**30
"""Bytes, if nobody says otherwise."""

SHARE_OF_LIMIT = 0.5
"""Of a limit on the memory of the whole process, so much is for the duals of open nodes."""

OVERHEAD = 1_000
HELD = 200
"""Bytes that a dual takes besides its policies, and for each of them or their parts that it refers to."""

NODE = 1_500
"""Bytes that an open node takes, with its place in the queue and the record; more if very many rows are
forbidden in its region."""


class OpenDuals(Generic[V]):
    """Keeps duals by what identifies their node, and drops the oldest when they take too much memory.

    Parameters
    ----------
    capacity
        In bytes. A policy that several duals have met is counted once, and so is an activity's plan that is
        part of several policies.

    Attributes
    ----------
    occupied
        Bytes that are taken.
    num_nodes
        How many nodes are open; what they take is not left for duals.
    """

    def __init__(self, capacity: float = DEFAULT_CAPACITY) -> None:
        self._capacity = capacity
        self._duals: OrderedDict[Hashable, Dual[V]] = OrderedDict()
        # By identity: how often a policy, or a part of one, is held, and how large it was when it came last.
        self._held: dict[int, tuple[int, int]] = {}
        self.occupied = 0
        self.num_nodes = 0

    def put(self, node: Hashable, dual: Dual[V]) -> None:
        """Keep the dual of a node, if there is room."""
        self.take(node)
        self._duals[node] = dual
        self.occupied += OVERHEAD
        for vertex in dual.vertices:
            for part in vertex.parts:
                count, before = self._held.get(id(part), (0, 0))
                # What was asked for in between has made it larger.
                size = part.nbytes
                self.occupied += HELD + size - before
                self._held[id(part)] = count + 1, size
        while self.occupied + NODE * self.num_nodes > self._capacity and self._duals:
            oldest = next(iter(self._duals))
            self.take(oldest)

    def take(self, node: Hashable) -> Dual[V] | None:
        """The dual of a node, which is not kept any longer; None if it was dropped."""
        dual = self._duals.pop(node, None)
        if dual is None:
            return None
        self.occupied -= OVERHEAD
        for vertex in dual.vertices:
            for part in vertex.parts:
                count, size = self._held.pop(id(part))
                self.occupied -= HELD
                if count == 1:
                    self.occupied -= size
                else:
                    self._held[id(part)] = count - 1, size
        return dual
