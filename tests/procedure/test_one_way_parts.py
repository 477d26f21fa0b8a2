"""Parts with one way in and one way out, against a search among all of them."""

from __future__ import annotations

import numpy as np
import pytest

from hcssp.procedure.one_way_parts import OneWayPart, one_way_parts

Graph = list[list[int]]


def random_graph(seed: int) -> tuple[Graph, list[bool]]:
    """Up to 9 nodes, some of them steps; the last is the end, and ways may lead back or nowhere."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(4, 10))
    graph = [[] for _ in range(size)]
    for node in range(size - 1):
        count = int(rng.integers(1, 3))
        ahead = rng.integers(node + 1, size, count)
        back = rng.integers(0, size, count)
        graph[node] = sorted({int(each) for each in np.where(rng.random(count) < 0.8, ahead, back)})
    is_place = (rng.random(size) < 0.6).tolist()
    is_place[0] = is_place[-1] = True
    return graph, is_place


def between(graph: Graph, first: int, after: int) -> set[int]:
    found, waiting = {first}, [first]
    while waiting:
        for node in graph[waiting.pop()]:
            if node != after and node not in found:
                found.add(node)
                waiting.append(node)
    return found


def is_part(graph: Graph, is_place: list[bool], reached: set[int], nodes: set[int], first: int) -> bool:
    """Whether nothing enters the nodes but by their first one."""
    before = {node: {other for other in reached if node in graph[other]} for node in reached}
    if any(before[node] - nodes for node in nodes - {first}):
        return False
    return is_place[first] or (len(before[first]) == 1 and not before[first] & nodes)


def smallest(graph: Graph, is_place: list[bool], seed: int) -> set[int]:
    """The nodes of the smallest part that holds the seed, looked for among all pairs of ends."""
    end = len(graph) - 1
    reached = between(graph, 0, -1)
    ending = {node for node in reached if end in between(graph, node, -1)}
    found = []
    for first in reached - {end}:
        for after in reached - {first}:
            nodes = between(graph, first, after)
            # What never ends needs all that is to come.
            is_left = is_place[after] and end not in nodes and (after == end or nodes <= ending)
            if seed in nodes and is_left and is_part(graph, is_place, reached, nodes, first):
                found.append(nodes)
    return min(found, key=len)


@pytest.mark.parametrize("seed", range(40))
def test_a_part_of_one_seed_is_the_smallest_there_is(seed: int) -> None:
    graph, is_place = random_graph(seed)
    reached = between(graph, 0, -1)
    for node in reached - {len(graph) - 1}:
        if len(graph) - 1 not in reached:
            continue
        (part,) = one_way_parts(graph, is_place, 0, len(graph) - 1, [node])
        assert part.nodes == between(graph, part.first, part.after)
        assert len(part.nodes) == len(smallest(graph, is_place, node))


@pytest.mark.parametrize("seed", range(40))
def test_parts_of_several_seeds_are_parts_and_do_not_overlap(seed: int) -> None:
    graph, is_place = random_graph(seed)
    reached = between(graph, 0, -1)
    end = len(graph) - 1
    if end not in reached:
        return
    seeds = [node for node in reached - {end} if node % 2]
    parts = one_way_parts(graph, is_place, 0, end, seeds)
    assert set(seeds) <= set().union(*(part.nodes for part in parts))
    assert sum(len(part.nodes) for part in parts) == len(set().union(*(part.nodes for part in parts)))
    for part in parts:
        assert is_part(graph, is_place, reached, set(part.nodes), part.first)
        assert is_place[part.after]


def test_what_is_never_reached_needs_no_part() -> None:
    assert one_way_parts([[2], [2], []], [True] * 3, 0, 2, [1]) == []


def test_a_way_back_into_a_part_belongs_to_it() -> None:
    # 1 forks to 2 and 3, which meet in 4; from there one may go back to 3.
    graph = [[1], [2, 3], [4], [4], [5, 3], []]
    assert one_way_parts(graph, [True] * 6, 0, 5, [1]) == [OneWayPart(1, 5, frozenset({1, 2, 3, 4}))]
