"""A drawing of a directed graph in layers, top to bottom, in the manner of Sugiyama, Tagawa and Toda (1981).

Edges that close a cycle are set aside; the others lead downwards, a layer or more. Long edges pass through
placeholders. The order within the layers is improved by sweeps that put every node near the mean of its
neighbours, and the order with the fewest crossings is kept. Then every node moves as near to its neighbours
as the order and the widths allow: for each layer that is an isotonic regression, which is solved exactly.

>>> drawing = layered([(40.0, 20.0)] * 3, [(0, 1), (0, 2), (1, 2)])
>>> [place.y for place in drawing.places]
[10.0, 60.0, 110.0]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

Point = tuple[float, float]
_SWEEPS = 12
_PLACEHOLDER = 8.0


@dataclass(frozen=True)
class Place:
    """The middle of a node."""

    x: float
    y: float


@dataclass(frozen=True)
class LayeredDrawing:
    """Where everything goes.

    Attributes
    ----------
    places
        The middle of each node.
    ways
        The points that each edge passes, both ends included; an edge that closes a cycle has only those.
    closing
        Which edges close a cycle.
    width, height
        The size of the drawing.
    """

    places: tuple[Place, ...]
    ways: tuple[tuple[Point, ...], ...]
    closing: tuple[bool, ...]
    width: float
    height: float


def layered(
    sizes: Sequence[tuple[float, float]],
    edges: Sequence[tuple[int, int]],
    gap: tuple[float, float] = (24.0, 30.0),
) -> LayeredDrawing:
    """Draw a graph.

    Parameters
    ----------
    sizes
        The width and height of each node.
    edges
        Pairs of nodes. Those with no edge into them stand in the first layer.
    gap
        The space between neighbours of a layer, and between layers.
    """
    closing = _closing(len(sizes), edges)
    forward = [(edge, *pair) for edge, pair in enumerate(edges) if not closing[edge]]
    layer = _layers(len(sizes), [(tail, head) for _, tail, head in forward])
    widths = [width for width, _ in sizes]
    links: list[tuple[int, int]] = []
    chains: dict[int, list[int]] = {}
    for edge, tail, head in forward:
        chain = [tail]
        for level in range(layer[tail] + 1, layer[head]):
            layer.append(level)
            widths.append(_PLACEHOLDER)
            chain.append(len(layer) - 1)
        chain.append(head)
        chains[edge] = chain
        links += pairwise(chain)
    rows = _ordered(layer, links)
    middles = _middles(rows, links, widths, gap[0])
    heights = [max((sizes[node][1] for node in row if node < len(sizes)), default=0.0) for row in rows]
    tops = np.cumsum([0.0, *(height + gap[1] for height in heights)])
    levels = [float(tops[level] + heights[level] / 2) for level in range(len(rows))]
    places = [Place(middles[node], levels[layer[node]]) for node in range(len(layer))]
    ways = []
    for edge, (tail, head) in enumerate(edges):
        passed = chains.get(edge, [tail, head])
        ways.append(tuple((places[node].x, places[node].y) for node in passed))
    width = max((middles[node] + widths[node] / 2 for node in range(len(layer))), default=0.0)
    height = float(tops[-1] - gap[1]) if rows else 0.0
    return LayeredDrawing(tuple(places[: len(sizes)]), tuple(ways), tuple(closing), width, height)


def _closing(count: int, edges: Sequence[tuple[int, int]]) -> list[bool]:
    """Which edges lead back to a node that a depth-first search is still below."""
    leaving: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for edge, (tail, head) in enumerate(edges):
        leaving[tail].append((edge, head))
    closing = [False] * len(edges)
    seen, below = [False] * count, [False] * count
    for root in range(count):
        if seen[root]:
            continue
        seen[root] = below[root] = True
        stack = [(root, iter(leaving[root]))]
        while stack:
            node, rest = stack[-1]
            step = next(rest, None)
            if step is None:
                below[node] = False
                stack.pop()
                continue
            edge, head = step
            if below[head]:
                closing[edge] = True
            elif not seen[head]:
                seen[head] = below[head] = True
                stack.append((head, iter(leaving[head])))
    return closing


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The longest way to each node; a node with successors only far below moves down to them."""
    layer = [0] * count
    for _ in range(count):
        moved = False
        for tail, head in edges:
            if layer[head] <= layer[tail]:
                layer[head] = layer[tail] + 1
                moved = True
        if not moved:
            break
    leaving: dict[int, list[int]] = {}
    entered = {head for _, head in edges}
    for tail, head in edges:
        leaving.setdefault(tail, []).append(head)
    for node in sorted(leaving, key=lambda each: -layer[each]):
        if node in entered and len(leaving[node]) == 1:
            layer[node] = layer[leaving[node][0]] - 1
    return layer


def _ordered(layer: Sequence[int], links: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The nodes of each layer, in an order with few crossings."""
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for node, level in enumerate(layer):
        rows[level].append(node)
    above, below = _neighbours(len(layer), links)
    best, fewest = [list(row) for row in rows], _crossings(rows, below)
    for sweep in range(_SWEEPS):
        downwards = sweep % 2 == 0
        order = range(1, len(rows)) if downwards else range(len(rows) - 2, -1, -1)
        for level in order:
            fixed = {node: place for place, node in enumerate(rows[level - 1 if downwards else level + 1])}
            near = above if downwards else below
            own = {node: place for place, node in enumerate(rows[level])}
            rows[level].sort(key=lambda node: _mean([fixed[n] for n in near[node]], own[node]))
        crossings = _crossings(rows, below)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def _neighbours(count: int, links: Sequence[tuple[int, int]]) -> tuple[list[list[int]], list[list[int]]]:
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for tail, head in links:
        below[tail].append(head)
        above[head].append(tail)
    return above, below


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _crossings(rows: Sequence[Sequence[int]], below: Sequence[Sequence[int]]) -> int:
    total = 0
    for row, following in pairwise(rows):
        place = {node: position for position, node in enumerate(following)}
        ends = [sorted(place[head] for head in below[node]) for node in row]
        flat = [head for each in ends for head in each]
        total += sum(flat[i] > flat[j] for i in range(len(flat)) for j in range(i + 1, len(flat)))
    return total


def _middles(
    rows: Sequence[Sequence[int]], links: Sequence[tuple[int, int]], widths: Sequence[float], gap: float
) -> list[float]:
    """The horizontal middle of every node, the leftmost edge at zero."""
    above, below = _neighbours(len(widths), links)
    middles = [0.0] * len(widths)
    for row in rows:
        for node, middle in zip(row, _spread([0.0] * len(row), row, widths, gap), strict=True):
            middles[node] = middle
    for sweep in range(2 * _SWEEPS + 1):
        # The last sweep goes down: whatever has one way into it stands straight below.
        downwards = sweep % 2 == 0
        near = above if downwards else below
        for row in rows if downwards else reversed(rows):
            wanted = [_mean([middles[other] for other in near[node]], middles[node]) for node in row]
            for node, middle in zip(row, _spread(wanted, row, widths, gap), strict=True):
                middles[node] = middle
    left = min((middles[node] - widths[node] / 2 for row in rows for node in row), default=0.0)
    return [middle - left for middle in middles]


def _spread(wanted: Sequence[float], row: Sequence[int], widths: Sequence[float], gap: float) -> list[float]:
    """The places nearest to those wanted that keep the order and the distances: pool adjacent violators."""
    offsets = [0.0]
    for left, right in pairwise(row):
        offsets.append(offsets[-1] + (widths[left] + widths[right]) / 2 + gap)
    blocks: list[tuple[float, int]] = []
    for wish, offset in zip(wanted, offsets, strict=True):
        total, count = wish - offset, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / count:
            total, count = total + blocks[-1][0], count + blocks[-1][1]
            blocks.pop()
        blocks.append((total, count))
    moved = [total / count for total, count in blocks for _ in range(count)]
    return [move + offset for move, offset in zip(moved, offsets, strict=True)]
