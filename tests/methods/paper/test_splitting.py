from __future__ import annotations

import numpy as np

from hcssp.methods.paper import Box, BudgetParameters
from hcssp.methods.paper.algorithms import halve_longest_edge

SHORTEST_EDGE = BudgetParameters().shortest_edge


def ends(boxes: tuple[Box, ...]) -> list[tuple[list[float], list[float]]]:
    return [(box.lower.tolist(), box.upper.tolist()) for box in boxes]


def test_the_longest_edge_is_halved_as_it_is() -> None:
    root = Box(np.array([0.0, 1.0, 0.0]), np.array([2.0, 6.0, 3.0]))
    halves = halve_longest_edge(root, root, SHORTEST_EDGE)
    assert ends(halves) == [
        ([0.0, 1.0, 0.0], [2.0, 3.5, 3.0]),
        ([0.0, 3.5, 0.0], [2.0, 6.0, 3.0]),
    ]
    # Now the third is the longest of both halves.
    assert ends(halve_longest_edge(halves[0], root, SHORTEST_EDGE))[0] == ([0.0, 1.0, 0.0], [2.0, 3.5, 1.5])


def test_the_first_of_several_longest_edges_is_halved() -> None:
    root = Box(np.zeros(2), np.full(2, 4.0))
    assert ends(halve_longest_edge(root, root, SHORTEST_EDGE))[0] == ([0.0, 0.0], [2.0, 4.0])


def test_lengths_go_towards_zero_and_end_at_the_documented_share() -> None:
    root = Box(np.zeros(2), np.array([1.0, 1000.0]))
    box, count = root, 0
    while True:
        halves = halve_longest_edge(box, root, SHORTEST_EDGE)
        if not halves:
            break
        # Always the half away from zero, where doubles are coarsest.
        box, count = halves[1], count + 1
    assert count == 2 * 30
    assert np.all(box.lengths <= SHORTEST_EDGE * root.lengths)
    assert np.all(box.lengths > 0.4 * SHORTEST_EDGE * root.lengths)


def test_nothing_is_left_of_a_box_without_length() -> None:
    # A bound below zero gives an activity an upper limit below its lower one.
    root = Box(np.zeros(2), np.array([0.0, -3.0]))
    assert halve_longest_edge(root, root, SHORTEST_EDGE) == ()
    empty = Box(np.zeros(0), np.zeros(0))
    assert halve_longest_edge(empty, empty, SHORTEST_EDGE) == ()
