from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from hcssp.reports.procedure_graph import layered
from volume import some


def graph(seed: int) -> tuple[list[tuple[float, float]], list[tuple[int, int]]]:
    generator = np.random.default_rng(seed)
    count = int(generator.integers(2, 14))
    sizes = [(float(generator.uniform(10, 120)), float(generator.uniform(10, 40))) for _ in range(count)]
    edges = [(0, node) for node in range(1, count) if generator.random() < 0.3]
    for _ in range(2 * count):
        tail, head = generator.integers(0, count, 2).tolist()
        edges.append((tail, head))
    return sizes, edges


@pytest.mark.parametrize("seed", some(range(20)))
def test_nodes_never_overlap_and_lie_inside(seed: int) -> None:
    sizes, edges = graph(seed)
    drawing = layered(sizes, edges)
    boxes = [
        (place.x - width / 2, place.y - height / 2, place.x + width / 2, place.y + height / 2)
        for place, (width, height) in zip(drawing.places, sizes, strict=True)
    ]
    for left, top, right, bottom in boxes:
        assert left >= -1e-9
        assert top >= -1e-9
        assert right <= drawing.width + 1e-9
        assert bottom <= drawing.height + 1e-9
    for one, other in combinations(boxes, 2):
        beside = one[2] <= other[0] + 1e-6 or other[2] <= one[0] + 1e-6
        above = one[3] <= other[1] + 1e-6 or other[3] <= one[1] + 1e-6
        assert beside or above


@pytest.mark.parametrize("seed", some(range(20)))
def test_edges_lead_downwards_unless_they_close_a_cycle(seed: int) -> None:
    sizes, edges = graph(seed)
    drawing = layered(sizes, edges)
    for (tail, head), way, closing in zip(edges, drawing.ways, drawing.closing, strict=True):
        assert way[0] == (drawing.places[tail].x, drawing.places[tail].y)
        assert way[-1] == (drawing.places[head].x, drawing.places[head].y)
        heights = [y for _, y in way]
        if not closing:
            assert heights == sorted(set(heights))
    # What is left without the closing edges has no cycle: layers order it, so that much suffices.
    assert all(closing for (tail, head), closing in zip(edges, drawing.closing, strict=True) if tail == head)


def test_a_tree_has_no_crossings_and_chains_are_straight() -> None:
    drawing = layered([(40.0, 20.0)] * 4, [(0, 1), (1, 2), (2, 3)])
    assert len({place.x for place in drawing.places}) == 1
    tree = layered([(40.0, 20.0)] * 5, [(0, 2), (0, 1), (2, 4), (1, 3)])
    assert (tree.places[1].x < tree.places[2].x) == (tree.places[3].x < tree.places[4].x)


def test_an_empty_graph_is_empty() -> None:
    drawing = layered([], [])
    assert (drawing.width, drawing.height, drawing.places) == (0.0, 0.0, ())
