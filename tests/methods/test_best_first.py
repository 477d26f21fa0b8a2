from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcssp.methods.best_first import BestFirst
from hcssp.numerics import PRUNE_TOLERANCE


class Tree:
    """A random tree whose leaves are solutions or empty; every bound is below all solutions underneath."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.children: dict[int, list[int]] = {0: []}
        for node in range(1, int(rng.integers(2, 40))):
            self.children[int(rng.integers(0, node))].append(node)
            self.children[node] = []
        self.costs = rng.choice([3.0, 4.0, 4.0 + 1e-12, 5.5, 8.0, inf], size=len(self.children))
        slack = rng.choice([0.0, 0.0, 0.5, 3.0], size=len(self.children))
        self.bounds = [0.0] * len(self.children)
        for node in reversed(self.children):
            below = [self.bounds[child] for child in self.children[node]]
            self.bounds[node] = min(below, default=self.costs[node]) - slack[node]
        self.optimum = min(
            (self.costs[node] for node in self.children if not self.children[node]), default=inf
        )


@given(st.integers(0, 2**32 - 1), st.integers(0, 5))
def test_the_interval_holds_the_optimum_at_every_instant_and_only_tightens(seed: int, dives: int) -> None:
    tree = Tree(seed)
    search: BestFirst[int, int] = BestFirst()
    search.push(tree.bounds[0], 0)
    lower, upper = -inf, inf
    steps = 0
    while len(search):
        assert search.lower_bound <= search.next_bound
        bound, node = search.pop(newest=steps < dives)
        steps += 1
        assert bound == tree.bounds[node]
        if not tree.children[node] and tree.costs[node] < inf:
            better = tree.costs[node] < search.upper_bound
            assert search.offer(float(tree.costs[node]), node) == better
        for child in tree.children[node]:
            search.push(tree.bounds[child], child)
        assert search.lower_bound >= lower
        assert search.upper_bound <= upper
        lower, upper = search.lower_bound, search.upper_bound
        assert lower <= tree.optimum + 1e-9
        assert upper >= tree.optimum
    if tree.optimum == inf:
        assert search.incumbent is None
        assert search.lower_bound == inf
        return
    assert search.incumbent is not None
    assert tree.costs[search.incumbent] == search.upper_bound
    assert search.upper_bound == pytest.approx(tree.optimum, rel=PRUNE_TOLERANCE)
    assert search.lower_bound == pytest.approx(search.upper_bound, rel=2 * PRUNE_TOLERANCE)


def test_nodes_come_by_their_bounds_and_equals_in_their_order() -> None:
    search: BestFirst[str, None] = BestFirst()
    for bound, name in ((2.0, "c"), (1.0, "a"), (2.0, "d"), (1.0, "b")):
        search.push(bound, name)
    assert [search.pop() for _ in range(4)] == [(1.0, "a"), (1.0, "b"), (2.0, "c"), (2.0, "d")]


def test_a_search_with_nothing_in_it_is_exhausted() -> None:
    search: BestFirst[str, str] = BestFirst()
    assert (search.lower_bound, search.upper_bound, search.next_bound, len(search)) == (inf, inf, inf, 0)


def test_a_bound_known_beforehand_is_kept() -> None:
    search: BestFirst[str, str] = BestFirst(lower_bound=5.0)
    search.push(1.0, "a")
    assert search.lower_bound == 5.0


def test_a_hopeless_node_is_dropped_and_an_empty_one_forgotten() -> None:
    search: BestFirst[str, str] = BestFirst()
    search.offer(10.0, "plan")
    search.push(10.0 - 1e-10, "as good as the plan")
    search.push(11.0, "worse")
    search.push(inf, "empty")
    assert len(search) == 0
    # What was dropped might still have been that little better.
    assert search.lower_bound == 10.0 - 1e-10


def test_what_was_pruned_holds_the_bound_back() -> None:
    search: BestFirst[str, str] = BestFirst()
    search.push(3.0, "a")
    search.push(7.0, "b")
    bound, _ = search.pop()
    search.prune(bound)
    assert search.pruned_bound == 3.0
    search.offer(9.0, "plan")
    assert search.lower_bound == 3.0
    search.pop()
    assert search.lower_bound == 3.0


def test_looking_at_the_bound_changes_nothing() -> None:
    searches: list[BestFirst[str, str]] = [BestFirst(), BestFirst()]
    for index, search in enumerate(searches):
        search.push(1.0, "a")
        search.push(5.0, "b")
        search.pop()
        if index:
            # Too early: the children of "a" are not there yet.
            assert search.lower_bound == 5.0
        search.push(2.0, "a-a")
    assert [search.lower_bound for search in searches] == [2.0, 2.0]


def test_what_was_proven_when_a_node_was_taken_stays_proven() -> None:
    search: BestFirst[str, str] = BestFirst()
    search.push(3.0, "a")
    search.pop()
    # A child whose own bound came out lower, as rounding may have it, takes nothing back.
    search.push(2.5, "a-a")
    assert search.lower_bound == 3.0


def test_only_a_better_solution_becomes_the_incumbent() -> None:
    search: BestFirst[str, str] = BestFirst()
    assert search.offer(3.0, "first")
    assert not search.offer(3.0, "equal")
    assert not search.offer(inf, "none")
    assert search.offer(2.0, "better")
    assert (search.upper_bound, search.incumbent) == (2.0, "better")


def test_what_others_have_holds_the_bound_back() -> None:
    search: BestFirst[str, str] = BestFirst(upper_bound=10.0)
    for bound, node in ((1.0, "a"), (2.0, "b"), (3.0, "c"), (4.0, "d")):
        search.push(bound, node)
    assert search.pop() == (1.0, "a")
    search.lend("worker", 1.0)
    # What was taken before holds the bound back while more is taken.
    assert search.pop() == (2.0, "b")
    assert (search.lower_bound, search.next_bound, search.lent_bound) == (1.0, 3.0, 1.0)
    search.return_from("worker")
    for bound, node in ((2.5, "aa"), (2.0, "b")):
        search.push(bound, node)
    assert search.lower_bound == 2.0
    assert sorted(search) == [(2.0, "b"), (2.5, "aa"), (3.0, "c"), (4.0, "d")]
    search.lend("another", search.pop()[0])
    while len(search):
        search.pop()
    search.return_from("another")
    search.prune(2.25)
    assert search.lower_bound == 2.25


def test_no_bound_is_told_that_only_the_rounding_of_a_cost_could_prove() -> None:
    for cost in (3.0, 1e-9, 7e12):
        search: BestFirst[str, str] = BestFirst(upper_bound=cost)
        assert cost * (1.0 - 1e-11) <= search.floor <= cost * (1.0 - 1e-13)
        assert search.lower_bound == search.floor


def test_of_all_that_others_have_the_lowest_holds_the_bound_back() -> None:
    search: BestFirst[str, str] = BestFirst(upper_bound=10.0)
    for borrower, bound in (("a", 4.0), ("b", 2.0), ("c", 3.0)):
        search.lend(borrower, bound)
    assert (search.lent_bound, search.lower_bound) == (2.0, 2.0)
    search.return_from("b")
    assert (search.lent_bound, search.lower_bound) == (3.0, 3.0)


def test_the_newest_node_is_the_one_pushed_last_whatever_its_bound() -> None:
    search: BestFirst[str, None] = BestFirst()
    for bound, node in ((3.0, "c"), (1.0, "a"), (2.0, "b"), (5.0, "e"), (4.0, "d")):
        search.push(bound, node)
    assert search.pop(newest=True) == (4.0, "d")
    assert search.pop(newest=True) == (5.0, "e")
    assert search.pop() == (1.0, "a")
    assert search.pop(newest=True) == (2.0, "b")
    assert search.pop() == (3.0, "c")
    assert len(search) == 0


def test_what_is_within_a_billionth_of_the_incumbent_is_dropped_and_what_is_not_is_kept() -> None:
    search: BestFirst[str, None] = BestFirst(upper_bound=1.0)
    search.push(1.0 - 0.9e-9, "close")
    assert len(search) == 0
    assert search.pruned_bound == 1.0 - 0.9e-9
    search.push(1.0 - 1.1e-9, "open")
    assert len(search) == 1
    # What the incumbent's own cost proves is a little less than itself.
    assert search.floor == pytest.approx(1.0 - 1e-12, abs=1e-15)
    assert BestFirst[str, None]().floor == inf


def test_what_is_enough_leaves_the_wanted_gap_and_is_never_above_the_cutoff() -> None:
    search: BestFirst[str, str] = BestFirst(wanted_gap=0.01)
    assert search.enough == inf
    search.offer(200.0, "plan")
    assert search.enough == pytest.approx(198.0, rel=1e-15)
    exact: BestFirst[str, str] = BestFirst(upper_bound=200.0)
    assert exact.enough == exact.cutoff < 200.0
