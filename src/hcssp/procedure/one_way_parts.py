"""Parts of a procedure with one way in and one way out.

The graph has places (event states) and steps between them (activities). Some of its nodes must be looked at
together with all that depends on them. The smallest parts that do are looked for: a part is entered at its
first node only, it is followed by one place only, and everything that lies between belongs to it. It begins
at a place, or with a step that leads away from one place alone.

>>> diamond = [[1], [2, 3], [4], [4], [5], []]
>>> (part,) = one_way_parts(diamond, is_place=[True] * 6, start=0, end=5, seeds=[1])
>>> part.first, part.after, sorted(part.nodes)
(1, 4, [1, 2, 3])

References
----------
Cooper, Harvey and Kennedy, *A simple, fast dominance algorithm*, 2001.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce


@dataclass(frozen=True)
class OneWayPart:
    """Nodes that are entered at one of them only, and left to one place only.

    Attributes
    ----------
    first
        Where it is entered.
    after
        The place that follows it.
    nodes
        What belongs to it, the first among them.
    """

    first: int
    after: int
    nodes: frozenset[int]


def one_way_parts(
    successors: Sequence[Collection[int]],
    is_place: Sequence[bool],
    start: int,
    end: int,
    seeds: Iterable[int],
) -> list[OneWayPart]:
    """The smallest disjoint parts with one way in and one way out that hold the `seeds`.

    Parameters
    ----------
    successors
        Of each node.
    is_place
        Which nodes are places.
    start, end
        The places where everything begins and ends; the end has no successors.
    seeds
        What must belong to a part; the end is none of them, and what is never reached needs none.
    """
    graph = _Graph(successors, is_place, start, end)
    parts: list[OneWayPart] = []
    for seed in seeds:
        if seed not in graph.reached or any(seed in part.nodes for part in parts):
            continue
        part = graph.smallest_part({seed})
        touched = [other for other in parts if other.nodes & part.nodes]
        while touched:
            parts = [other for other in parts if other not in touched]
            part = graph.smallest_part(part.nodes.union(*(other.nodes for other in touched)))
            touched = [other for other in parts if other.nodes & part.nodes]
        parts.append(part)
    return parts


def in_order(successors: Sequence[Collection[int]], start: int) -> list[int]:
    """The nodes that can be reached: none before one that leads to it, but for ways that lead back."""
    return _postorder([sorted(each, reverse=True) for each in successors], start)[::-1]


class _Graph:
    """The nodes that can be reached from the start, and who must be passed before and after each."""

    def __init__(
        self, successors: Sequence[Collection[int]], is_place: Sequence[bool], start: int, end: int
    ) -> None:
        self._successors, self._is_place, self._end = successors, is_place, end
        self.reached = _reachable(successors, start)
        self._predecessors: list[set[int]] = [set() for _ in successors]
        for node in self.reached:
            for other in successors[node]:
                self._predecessors[other].add(node)
        backwards = [set(each) for each in self._predecessors]
        # What never ends counts as if it ended: whatever it belongs to, it needs all that is to come.
        backwards[end] |= self.reached - _reachable(self._predecessors, end)
        self._before = _Dominators(successors, start)
        self._behind = _Dominators(backwards, end)

    def smallest_part(self, seeds: Collection[int]) -> OneWayPart:
        nodes = set(seeds)
        while True:
            first = self._before.common(nodes)
            while not self._can_begin(first):
                first = self._before.parent[first]
            after = self._behind.common(nodes | {first})
            while after != self._end and (after in nodes or after == first or not self._is_place[after]):
                after = self._behind.parent[after]
            inside = _reachable(self._successors, first, but=after)
            if not nodes <= inside:
                # Some are come to only by passing the place that was to follow.
                nodes.add(after)
            elif inside <= nodes:
                back = {before for node in inside - {first} for before in self._predecessors[node]} - inside
                if not back:
                    return OneWayPart(first, after, frozenset(nodes))
                nodes |= back
            nodes |= inside

    def _can_begin(self, node: int) -> bool:
        return self._is_place[node] or len(self._predecessors[node]) == 1


class _Dominators:
    """For each node that is reached from a root, the last one that every way to it passes."""

    def __init__(self, successors: Sequence[Collection[int]], root: int) -> None:
        order = _postorder(successors, root)
        place = {node: index for index, node in enumerate(order)}
        before: dict[int, list[int]] = {node: [] for node in order}
        for node in order:
            for other in successors[node]:
                before[other].append(node)
        self.parent = {root: root}
        self._place = place
        changed = True
        while changed:
            changed = False
            for node in reversed(order[:-1]):
                known = [other for other in before[node] if other in self.parent]
                found = reduce(self._meet, known)
                if self.parent.get(node) != found:
                    self.parent[node] = found
                    changed = True

    def common(self, nodes: Iterable[int]) -> int:
        """The last node that every way to any of these passes; one of them itself if it is that."""
        return reduce(self._meet, nodes)

    def _meet(self, one: int, other: int) -> int:
        place, parent = self._place, self.parent
        while one != other:
            while place[one] < place[other]:
                one = parent[one]
            while place[other] < place[one]:
                other = parent[other]
        return one


def _reachable(successors: Sequence[Collection[int]], first: int, but: int = -1) -> set[int]:
    """The nodes that can be reached from one, itself among them, without passing another."""
    found, waiting = {first}, [first]
    while waiting:
        for node in successors[waiting.pop()]:
            if node not in found and node != but:
                found.add(node)
                waiting.append(node)
    return found


def _postorder(successors: Sequence[Collection[int]], root: int) -> list[int]:
    """The nodes that can be reached, each after those that were found through it."""
    order: list[int] = []
    seen = {root}
    waiting = [(root, iter(successors[root]))]
    while waiting:
        node, rest = waiting[-1]
        for other in rest:
            if other not in seen:
                seen.add(other)
                waiting.append((other, iter(successors[other])))
                break
        else:
            waiting.pop()
            order.append(node)
    return order
