"""What it takes to split a region of policies: its dual, the row to branch on, the duals of both halves.

A search (:mod:`hcssp.methods.policy_branching`) decides which node comes next; here one node is expanded.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import floor, inf
from typing import Generic

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.ascent import Dual, lagrangian_bound, maximise
from hcssp.dual.oracle import Oracle
from hcssp.dual.precision import CUTOFF_SHARE
from hcssp.dual.repair import noticed_at
from hcssp.dual.vertex import CLEARLY_VISITED, V
from hcssp.errors import ImproperPolicy, OutOfPrecision
from hcssp.methods.best_first import BestFirst
from hcssp.methods.open_duals import OpenDuals
from hcssp.methods.reporter import Reporter
from hcssp.numerics import is_feasible
from hcssp.proofs.search_record import SearchRecord, write_down
from hcssp.ssp.region import Region

logger = logging.getLogger(__name__)

NODE_ROUNDS = 4
IMPROVE_FIRST, IMPROVE_EVERY = 5, 16
MAX_IMPROVE_EVERY = 256
"""So many switches improve each policy that carries the dual of every so-manieth node: improving policies
costs as much as many nodes. It is done first a few nodes after the root, whose policies were improved. Where
it leads to nothing better, twice as many nodes pass before it is tried again, up to the maximum."""

GUIDED_FIRST = 64
NEARLY_AS_GOOD, MOST_OPEN = 2.0, 0.5
"""A search that another one guides is mostly short, and improves policies that late in turn. Out of turn it
does in the region that holds the bound back, where a policy that keeps the bounds is at most so many times as
far above that bound as the best one that is known, and this is no further than such a share of what was open
at the root: there a few switches seldom lead to nothing. If they do, twice as many nodes pass as before."""


@dataclass(frozen=True)
class Node:
    """An open region.

    Attributes
    ----------
    region
        The policies that are meant.
    prices
        Those that gave its bound, or are said to be good.
    bound
        What is proven about it, before it is rounded up to what a policy can cost.
    number
        Its number in the record.
    proven
        Whether its own dual was solved; if not, the bound is that of a region which holds it.
    """

    region: Region
    prices: FloatArray
    bound: float
    number: int = SearchRecord.root
    proven: bool = True


@dataclass
class Branching(Generic[V]):
    """A search at work on its nodes.

    Attributes
    ----------
    oracle, search, reporter, record
        Whose policies are searched, the open nodes, who tells of it, and where it is written down.
    root
        The dual of all policies, or of whatever is at hand: what it met is a start for others.
    duals
        Those of open nodes.
    expanded, next_settling
        How many nodes were looked at, and when the oracle is asked next to settle one at once; ``inf`` for
        never.
    next_improving, pause
        When policies are improved next, and how many nodes pass from one time to the next.
    symmetry
        Whether identical parts of a procedure may exchange their plans.
    guided, next_promising, promising_pause
        Whether the search began with what another one knew; then when policies may be improved out of turn
        again, counted in nodes that were looked at, and how many pass from one time to the next.
    """

    oracle: Oracle[V]
    search: BestFirst[Node, V]
    reporter: Reporter[V]
    record: SearchRecord
    root: Dual[V]
    duals: OpenDuals[V]
    expanded: int = 0
    next_settling: float = 0
    next_improving: int = 0
    pause: int = IMPROVE_EVERY
    symmetry: bool = True
    guided: bool = False
    next_promising: int = 0
    promising_pause: int = 1

    def __post_init__(self) -> None:
        first = GUIDED_FIRST if self.guided else IMPROVE_FIRST
        self.next_improving = self.reporter.iterations + first
        self.search.rounding = self.oracle.exchange_rounding if self.symmetry else 0.0

    def begin(self) -> Node:
        """The node of all policies, but for choices that make them too dear at the prices of the root."""
        oracle, root, cutoff = self.oracle, self.root, self.search.cutoff
        region, number = Region(), self.record.root
        weights = np.append(1.0, root.prices)
        precision = CUTOFF_SHARE * (cutoff - root.bound) / abs(cutoff) if cutoff < inf and cutoff else 0.0
        for row in oracle.choice_rows if precision > 0.0 and root.converged else ():
            state = oracle.row_state[row]
            if row in region.forbidden or any(vertex.rows[state] == row for vertex in root.support):
                continue
            orbit = self._exchangeable(region, row)
            used, avoided = split(oracle, region, orbit)
            least = oracle.approximate(weights, used, precision, root.support[0])
            value = inf if least is None else lagrangian_bound(least.bound, root.prices, oracle.bounds)
            if value < cutoff:
                continue
            numbers = self.record.split_orbit(number, orbit)
            if least is None:
                self.record.empty(numbers[0])
            else:
                self.record.bounded(numbers[0], value, root.prices)
                self.search.prune(value)
            region, number = avoided, numbers[1]
        kept = tuple(vertex for vertex in root.vertices if vertex.lies_in(region, oracle.row_state))
        self.duals.put(region, replace(root, vertices=kept))
        return Node(region, root.prices, root.bound, number)

    def run(self) -> Iterator[None]:
        """Expand nodes, one a step, until none is left that could hold anything better."""
        search = self.search
        while len(search) and search.next_bound < search.cutoff:
            # While nothing feasible is known, dive; then always the node that holds the bound back.
            waiting, node = search.pop(newest=search.upper_bound == inf)
            self.duals.num_nodes = len(search)
            self.reporter.iterations += 1
            try:
                if node.proven:
                    self.expand(waiting, node)
                else:
                    self.prove(waiting, node)
            except (OutOfPrecision, ImproperPolicy) as error:
                # What was proven about the region still holds; its parts are not looked at.
                logger.info("a region is left as it is: %s", error)
                search.prune(waiting)
            yield

    def prove(self, waiting: float, node: Node) -> None:
        """Solve the dual of a node of which nothing but its region is known, and open it again."""
        # Nothing is split, and so there is nothing new to improve.
        self.next_improving += 1
        solved = self._solved(waiting, node)
        if solved is None:
            return
        bound, proven, dual = solved
        if bound < self.search.cutoff:
            self.duals.put(node.region, dual)
        self.search.push(bound, proven)

    def expand(self, waiting: float, node: Node) -> None:
        """Split a node that was open with the bound `waiting`, and open its parts."""
        oracle, search = self.oracle, self.search
        parent = self.duals.take(node.region)
        if parent is None:
            # Its dual was dropped, or another process has it. What it proves now may be more than before.
            solved = self._solved(waiting, node)
            if solved is None:
                return
            waiting, node, parent = solved
        waiting = self._settle(waiting, node, parent)
        if self.guided and waiting < search.cutoff:
            self._improve(parent)
        if waiting >= search.cutoff:
            search.prune(waiting)
            return
        row = undecided_row(parent)
        for vertex in parent.support:
            vertex.release()
        if row is None:
            # The support is one policy: nothing of the region is below its bound.
            search.prune(waiting)
            return
        rounds = NODE_ROUNDS if self.reporter.iterations >= self.next_improving else 0
        cost = search.upper_bound
        children: list[tuple[float, Node, Dual[V]]] = []
        orbit, count = self._orbit(node.region, row, parent)
        numbers = self.record.split_orbit(node.number, orbit, count)
        parts = split(oracle, node.region, orbit, count)
        for region, number in zip(parts, numbers, strict=True):
            # The node's policies lie in its region; only what is new can exclude them.
            new = Region(region.forbidden - node.region.forbidden)
            known = [v for v in parent.vertices if v.lies_in(new, oracle.row_state)]
            dual = maximise(
                oracle, region, known, start=parent.prices, cutoff=search.cutoff, proven=parent.bound
            )
            write_down(self.record, number, dual)
            if dual.infeasible:
                continue
            offer(oracle, self.reporter, dual, rounds)
            bound = oracle.round_up(max(dual.bound, node.bound))
            prices = dual.prices if dual.bound > -inf else parent.prices
            children.append((bound, Node(region, prices, max(dual.bound, node.bound), number), dual))
        if rounds:
            is_better = search.upper_bound < cost and search.upper_bound <= noticed_at(cost, waiting)
            self.pause = IMPROVE_EVERY if is_better else min(2 * self.pause, MAX_IMPROVE_EVERY)
            self.next_improving = self.reporter.iterations + self.pause
        for bound, child, dual in sorted(children, key=lambda each: -each[0]):
            if bound < search.cutoff:
                self.duals.put(child.region, dual)
            search.push(bound, child)

    def _orbit(self, region: Region, row: int, dual: Dual[V]) -> tuple[list[int], int]:
        """The rows that a row can be exchanged for, and how many of them are to be used on one side.

        That is one, unless the policies of the support disagree on how many of them are used.
        """
        orbit = self._exchangeable(region, row)
        if len(orbit) == 1:
            return orbit, 1
        states = self.oracle.row_state[orbit]
        used = [np.count_nonzero(vertex.rows_of(states) == orbit) for vertex in dual.support]
        count = 1 + floor(sum(share * each for share, each in zip(dual.mixture, used, strict=True)))
        return orbit, count if count <= max(used) else 1

    def _exchangeable(self, region: Region, row: int) -> list[int]:
        """The rows that a row can be exchanged for, itself first."""
        return self.oracle.orbit(region, row) if self.symmetry else [row]

    def _improve(self, dual: Dual[V]) -> None:
        """Improve the policies that carry the dual of the region that holds the bound back, if promising."""
        oracle, cost, expanded = self.oracle, self.search.upper_bound, self.expanded
        left = cost - dual.bound
        if expanded < self.next_promising or not dual.converged:
            return
        if not left <= MOST_OPEN * (cost - self.root.bound) < inf:
            return
        kept = (vertex.costs[0] for vertex in dual.support if is_feasible(vertex.costs, oracle.bounds))
        if min(kept, default=inf) - dual.bound > NEARLY_AS_GOOD * left:
            return
        offer_improved(oracle, self.reporter, dual.support, NODE_ROUNDS, dual.bound)
        is_better = self.search.upper_bound <= noticed_at(cost, dual.bound)
        self.promising_pause = 1 if is_better else 2 * self.promising_pause
        self.next_promising = expanded + self.promising_pause

    def _settle(self, waiting: float, node: Node, parent: Dual[V]) -> float:
        """The node's bound after the oracle was asked to settle it at once, now and then or where it can."""
        self.expanded += 1
        if self.expanded < self.next_settling or parent.bound == -inf:
            return waiting
        # What is just below the best plan is told as well: it would be dropped, but all of it was counted.
        limit = self.search.upper_bound
        settled = self.oracle.settle(node.region, parent.prices, parent.bound, limit, self.expanded)
        if settled is not None:
            if settled.vertex is not None:
                self.reporter.offer(settled.vertex)
            if settled.bound > waiting:
                waiting = self.oracle.round_up(settled.bound)
                self.record.settled(node.number, settled.bound, parent.prices)
        if waiting < self.search.cutoff:
            self.next_settling = 2 * self.expanded
        return waiting

    def _solved(self, waiting: float, node: Node) -> tuple[float, Node, Dual[V]] | None:
        """The dual of an open node, solved from its prices, and the node with the bound that this proves.

        None if the region holds no policy that keeps the bounds.
        """
        oracle = self.oracle
        # Prices that were found elsewhere are good ones, or policies from afar do not help either.
        vertices = self.root.vertices if node.proven else ()
        known = [v for v in vertices if v.lies_in(node.region, oracle.row_state)]
        dual = maximise(oracle, node.region, known, start=node.prices, cutoff=self.search.cutoff)
        write_down(self.record, node.number, dual)
        if dual.infeasible:
            return None
        offer(oracle, self.reporter, dual, 0)
        bound = max(dual.bound, node.bound)
        prices = dual.prices if dual.bound > -inf else node.prices
        proven = replace(node, prices=prices, bound=bound, proven=True)
        return max(waiting, oracle.round_up(bound)), proven, dual


def split(oracle: Oracle[V], region: Region, orbit: Sequence[int], count: int = 1) -> tuple[Region, Region]:
    """Two disjoint parts of a region: the first `count` rows of an orbit are used, or the others are not.

    Of the others there is one more than rows are left. A policy that is in neither part is worth as much as
    one that is, as :meth:`Oracle.orbit` promises: it uses so many rows or more, or it uses fewer.
    """
    used = region
    for row in orbit[:count]:
        used = used.force(row, oracle.row_start, oracle.row_state)
    return used, region.forbid(orbit[count - 1 :])


def undecided_row(dual: Dual[V]) -> int | None:
    """The row to branch on: where the support disagrees and the decision moves most of what is bounded.

    Both halves then exclude a policy of the support. None if that is a single policy: it is the optimum of
    the region. Where it is not known what a decision moves, as at events, it comes first, and of several
    the one that is made most often.
    """
    support = sorted(zip(dual.mixture, dual.support, strict=True), key=lambda pair: -pair[0])
    best, chosen = (False, 0.0), None
    for index, (_, first) in enumerate(support):
        for _, second in support[index + 1 :]:
            states, visits = _parting(first, second)
            if not len(states):
                continue
            if len(support) == 2 and len(states) == 1:
                # There is nothing to choose from.
                return int(first.rows_of(states)[0])
            moved = _moved(first, second, states, dual.prices)
            is_open = np.isnan(moved) | (moved == 0.0).all()
            score = np.where(is_open, visits, moved)
            if is_open.any():
                score[~is_open] = 0.0
            most = int(np.argmax(score))
            if (is_open.any(), score[most]) > best:
                best = bool(is_open.any()), float(score[most])
                chosen = int(first.rows_of(states[most : most + 1])[0])
    return chosen


def _parting(first: V, second: V) -> tuple[IntArray, FloatArray]:
    """The states where two policies take different rows and both go, and how often the rarer one does."""
    # Those of a few choices come first, and then nothing need be known about the others.
    for parting in (first.parting_choices, first.parting):
        states = parting(second)
        visits = np.minimum(first.visits_of(states), second.visits_of(states))
        both = visits > CLEARLY_VISITED
        if both.any():
            break
    else:
        # However seldom: what is paid there may be as dear as it is rare.
        both = (visits > 0.0) & first.reached[states] & second.reached[states]
    return states[both], visits[both]


def _moved(first: V, second: V, states: IntArray, prices: FloatArray) -> FloatArray:
    """How much of what is priced the two policies' decisions in some states move; ``nan`` if not known."""
    moved = np.zeros(len(states))
    for one, other in ((first, second), (second, first)):
        changes = one.switching_costs(states, other.rows_of(states))
        if changes is None:
            return np.full(len(states), np.nan)
        moved += one.visits_of(states) * (np.abs(changes[:, 1:]) @ prices)
    return moved


def offer(oracle: Oracle[V], reporter: Reporter[V], dual: Dual[V], rounds: int) -> None:
    """Offer every policy the dual has met, and feasible ones near its support."""
    for vertex in dual.vertices:
        reporter.offer(vertex)
    if not dual.converged or not rounds:
        return
    mixed = oracle.between(dual.support)
    if mixed is not None:
        reporter.offer(mixed)
    policies = dual.support if mixed is None else (*dual.support, mixed)
    offer_improved(oracle, reporter, policies, rounds, dual.bound)


def offer_improved(
    oracle: Oracle[V], reporter: Reporter[V], policies: Sequence[V], rounds: int, least: float
) -> None:
    """Offer feasible policies near some, of which none is below `least`, by at most so many switches."""
    for vertex in policies:
        better = oracle.improve(vertex, rounds, reporter.search.upper_bound, least)
        if better is not None:
            reporter.offer(better)
