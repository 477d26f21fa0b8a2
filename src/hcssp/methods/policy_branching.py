r"""Exact deterministic policies by branching on what the relaxation leaves undecided.

**Problem.** A C-SSP or HC-SSP with one or several constraints; wanted is the best deterministic policy.

**Method.** The Lagrangian dual of a region of policies is carried by two or more policies that disagree
somewhere. Branch there: force the action of one of them, or forbid it; maximise the dual anew in both
children, best-first. Incumbents come from the feasible policies that the duals meet and from repairing
the infeasible ones.

**Guarantee.** The bound of every region is a certified Lagrangian value, so the interval is proven at every
instant; regions are disjoint and finite in number, so the search ends with a proof.

**References.** Lawler 1972; Murty 1968; Hong and Williams 2021; Schmalz and Trevizan 2024.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Any, Generic

import numpy as np

from hcssp.contract.ending import Reason
from hcssp.contract.memory import Problem
from hcssp.contract.progress import Progress
from hcssp.contract.proof import Infeasible
from hcssp.contract.solver import Context
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.ascent import Dual, ascend, maximise
from hcssp.dual.flat_oracle import Evaluation
from hcssp.dual.oracle import CLEARLY_VISITED, Oracle, V
from hcssp.dual.stochastic import optimum_of
from hcssp.errors import ImproperPolicy, OutOfPrecision
from hcssp.methods.best_first import BestFirst
from hcssp.methods.open_duals import DEFAULT_CAPACITY, OpenDuals
from hcssp.methods.reporter import Reporter
from hcssp.numerics import OPTIMALITY_TOLERANCE, relative_gap
from hcssp.proofs.search_record import SearchRecord, write_down
from hcssp.ssp.region import Region

logger = logging.getLogger(__name__)

ROOT_ROUNDS = 12
NODE_ROUNDS = 4
IMPROVE_EVERY = 16
"""So many switches improve each policy that carries the dual of the root, and that of every so-manieth node:
improving policies costs as much as a node."""


@dataclass(frozen=True)
class PolicyBranching:
    """The exact method; stop criteria decide how far it goes.

    Parameters
    ----------
    evaluation
        How policies of a flat problem are evaluated, see :class:`hcssp.dual.flat_oracle.FlatOracle`.
    oracle
        Makes the oracle of a problem, for one whose shape allows better than ours; None chooses.
    """

    evaluation: Evaluation = "auto"
    oracle: Callable[[Problem], Oracle[Any]] | None = None
    name = "exact"

    def iterate(self, problem: Problem, context: Context | None = None) -> Iterator[Progress]:
        """Yield progress after every solved multiplier of the root and every node."""
        began = time.perf_counter()
        given = context or Context()
        if self.oracle is not None:
            oracle = self.oracle(problem)
        else:
            oracle = given.memory.oracle(problem, self.evaluation)
        yield from branch(
            problem, oracle, began, given.known_cost, given.record, given.node_memory, given.prices
        )


@dataclass(frozen=True)
class _Node:
    """An open region: its number in the record, and the prices that gave its bound."""

    region: Region
    prices: FloatArray
    bound: float
    number: int = SearchRecord.root


def prove(oracle: Oracle[V]) -> tuple[float, float, IntArray | None]:
    """The best policy of `oracle`: the proven interval around its cost, and its rows if there is one."""
    search: BestFirst[_Node, V] = BestFirst()
    *_, last = _branch(oracle, search, Reporter(None, oracle, search, time.perf_counter()))
    found = search.incumbent
    return last.lower_bound, last.upper_bound, None if found is None else oracle.lift(found)


def branch(
    problem: Problem,
    oracle: Oracle[V],
    began: float | None = None,
    known_cost: float = inf,
    record: SearchRecord | None = None,
    node_memory: float | None = None,
    prices: FloatArray | None = None,
) -> Iterator[Progress]:
    """Branch and bound over the policies of `oracle`, from the dual of all of them.

    This is the method itself, for a problem of any shape: see :mod:`hcssp.dual.oracle` for an oracle of
    one's own.

    Parameters
    ----------
    problem, oracle
        The problem, and its oracle.
    began
        When the clock was started, by ``time.perf_counter()``; None for now.
    known_cost
        The cost of a feasible policy that is known already. If nothing is better, the search ends
        "proved" without an incumbent of its own.
    record
        Where the regions and what is learnt about them are written down, for a certificate.
    node_memory
        Bytes for the policies that open nodes have met; None for :data:`DEFAULT_CAPACITY`.
    prices
        One for each constraint, near the answer; None if nothing is known of them.
    """
    search: BestFirst[_Node, V] = BestFirst(upper_bound=known_cost)
    started = time.perf_counter() if began is None else began
    capacity = DEFAULT_CAPACITY if node_memory is None else node_memory
    reporter = Reporter(problem, oracle, search, started)
    yield from _branch(oracle, search, reporter, record, capacity, prices)


def _branch(
    oracle: Oracle[V],
    search: BestFirst[_Node, V],
    reporter: Reporter[V],
    record: SearchRecord | None = None,
    capacity: float = DEFAULT_CAPACITY,
    prices: FloatArray | None = None,
) -> Iterator[Progress]:
    root: Dual[V] = Dual()
    record = SearchRecord() if record is None else record
    record.begin(oracle)
    # What has no bound, or one that is kept in any case, has no price.
    start = None if prices is None else np.where(np.isfinite(oracle.bounds), prices, 0.0)
    for root in ascend(oracle, Region(), start=start):
        write_down(record, record.root, root)
        reporter.iterations += 1
        reporter.prices = root.prices
        _offer(oracle, reporter, root, 0)
        if root.converged:
            reporter.stochastic = optimum_of(root, oracle)
        yield reporter.snapshot(root.bound)
    if root.infeasible:
        yield reporter.snapshot(inf, Reason.INFEASIBLE, Infeasible(root.infeasibility))
        return
    # Only now: to some, what the dual has met is good enough, and improving it takes as long again.
    _offer(oracle, reporter, root, ROOT_ROUNDS)
    branching = _Branching(oracle, search, reporter, record, root, OpenDuals(capacity))
    search.push(oracle.round_up(root.bound), _Node(Region(), root.prices, root.bound))
    branching.duals.put(record.root, root)
    yield reporter.snapshot(search.lower_bound)
    while len(search):
        if search.next_bound >= search.cutoff:
            break
        # While nothing feasible is known, dive; then always the node that holds the bound back.
        waiting, node = search.pop(newest=search.upper_bound == inf)
        reporter.iterations += 1
        try:
            branching.expand(waiting, node)
        except (OutOfPrecision, ImproperPolicy, MemoryError) as error:
            # What was proven about the region still holds; its parts are not looked at.
            logger.info("a region is left as it is: %s", error)
            search.prune(waiting)
        yield reporter.snapshot(search.lower_bound)
    if search.upper_bound == inf and search.pruned_bound < inf:
        yield reporter.snapshot(search.pruned_bound, Reason.ROUNDING)
    elif search.upper_bound == inf:
        yield reporter.snapshot(inf, Reason.INFEASIBLE, Infeasible())
    elif relative_gap(search.lower_bound, search.upper_bound) > OPTIMALITY_TOLERANCE:
        yield reporter.snapshot(search.lower_bound, Reason.ROUNDING)
    else:
        yield reporter.snapshot(search.lower_bound, Reason.PROVED)


@dataclass
class _Branching(Generic[V]):
    """What it takes to split a node."""

    oracle: Oracle[V]
    search: BestFirst[_Node, V]
    reporter: Reporter[V]
    record: SearchRecord
    root: Dual[V]
    duals: OpenDuals[V]
    _expanded: int = 0
    _next_settling: int = 0

    def expand(self, waiting: float, node: _Node) -> None:
        """Split a node that was open with the bound `waiting`, and open its parts."""
        oracle, search = self.oracle, self.search
        parent = self._dual_of(node)
        waiting = self._settle(waiting, node, parent)
        if waiting >= search.cutoff:
            search.prune(waiting)
            return
        row = undecided_row(parent)
        if row is None:
            # The support is one policy: nothing of the region is below its bound.
            search.prune(waiting)
            return
        rounds = 0 if self.reporter.iterations % IMPROVE_EVERY else NODE_ROUNDS
        children: list[tuple[float, _Node, Dual[V]]] = []
        numbers = self.record.split(node.number, row)
        for region, number in zip(split(oracle, node.region, row), numbers, strict=True):
            # The node's policies lie in its region; only what is new can exclude them.
            new = Region(region.forbidden - node.region.forbidden)
            known = [v for v in parent.vertices if v.lies_in(new, oracle.row_state)]
            dual = maximise(oracle, region, known, start=parent.prices, cutoff=search.cutoff)
            write_down(self.record, number, dual)
            if dual.infeasible:
                continue
            _offer(oracle, self.reporter, dual, rounds)
            bound = oracle.round_up(max(dual.bound, node.bound))
            prices = dual.prices if dual.bound > -inf else parent.prices
            children.append((bound, _Node(region, prices, max(dual.bound, node.bound), number), dual))
        for bound, child, dual in sorted(children, key=lambda each: -each[0]):
            if bound < search.cutoff:
                self.duals.put(child.number, dual)
            search.push(bound, child)

    def _settle(self, waiting: float, node: _Node, parent: Dual[V]) -> float:
        """The node's bound after the oracle was asked to settle it at once, now and then or where it can."""
        self._expanded += 1
        if self._expanded < self._next_settling or parent.bound == -inf:
            return waiting
        settled = self.oracle.settle(
            node.region, parent.prices, parent.bound, self.search.cutoff, self._expanded
        )
        if settled is not None:
            if settled.vertex is not None:
                self.reporter.offer(settled.vertex)
            waiting = max(waiting, settled.bound)
        if waiting < self.search.cutoff:
            self._next_settling = 2 * self._expanded
        return waiting

    def _dual_of(self, node: _Node) -> Dual[V]:
        """The dual of an open node; made again, from its prices, if it had to be dropped."""
        dual = self.duals.take(node.number)
        if dual is not None:
            return dual
        known = [v for v in self.root.vertices if v.lies_in(node.region, self.oracle.row_state)]
        return maximise(self.oracle, node.region, known, start=node.prices, cutoff=self.search.cutoff)


def split(oracle: Oracle[V], region: Region, row: int) -> tuple[Region, Region]:
    """Two disjoint halves of a region: the row's state uses it, or it does not."""
    return region.force(row, oracle.row_start, oracle.row_state), region.forbid([row])


def undecided_row(dual: Dual[V]) -> int | None:
    """The row to branch on: where the support disagrees and goes most often.

    Both halves then exclude a policy of the support. None if that is a single policy: it is the optimum of
    the region.
    """
    support = sorted(zip(dual.mixture, dual.support, strict=True), key=lambda pair: -pair[0])
    best, chosen = 0.0, None
    for index, (_, first) in enumerate(support):
        for _, second in support[index + 1 :]:
            visits = np.where(first.rows != second.rows, np.minimum(first.visits, second.visits), 0.0)
            most = int(np.argmax(visits))
            if visits[most] <= CLEARLY_VISITED:
                # However seldom: what is paid there may be as dear as it is rare.
                visits = np.where(first.reached & second.reached, visits, 0.0)
                most = int(np.argmax(visits))
            if visits[most] > best:
                best, chosen = float(visits[most]), int(first.rows[most])
    return chosen


def _offer(oracle: Oracle[V], reporter: Reporter[V], dual: Dual[V], rounds: int) -> None:
    """Offer every policy the dual has met, and feasible ones near its support."""
    for vertex in dual.vertices:
        reporter.offer(vertex)
    if dual.converged and rounds:
        for vertex in dual.support:
            better = oracle.improve(vertex, rounds)
            if better is not None:
                reporter.offer(better)
        mixed = oracle.between(dual.support)
        if mixed is not None:
            reporter.offer(mixed)
            better = oracle.improve(mixed, rounds)
            if better is not None:
                reporter.offer(better)
