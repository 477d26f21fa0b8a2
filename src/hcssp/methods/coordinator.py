"""One search on many workers: the coordinator owns the open nodes, the incumbent and the bound.

**Method.** It begins alone, until there are a few nodes and the workers are there. Then they are given
regions, as forbidden rows and prices, expand what is under them for a moment
(:mod:`hcssp.methods.subtrees`), and hand back what is left open.

**Guarantee.** The bound is the least of the nodes that wait, of those that workers have, at what was proven
when they went, and of whatever was dropped: it holds at every instant, and a worker that dies takes nothing
along. What a policy costs is computed here, whoever found it. Regions are disjoint and cover everything, so
the search ends with the proof that one process would have found, and its record with a certificate.

A worker answers after a moment that grows with their number: with :data:`SECONDS_PER_WORKER` for each of
them, the coordinator is busy for about a tenth of its time if it takes a millisecond for an answer.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any
from uuid import uuid4

from hcssp.contract.memory import Problem
from hcssp.contract.progress import Progress
from hcssp.dual.flat_oracle import Evaluation
from hcssp.methods.best_first import BestFirst
from hcssp.methods.branching import Branching, Node
from hcssp.methods.reporter import Reporter
from hcssp.methods.subtrees import Findings, OpenNode, Order, Root, Search, be_ready, work_on
from hcssp.workers import Shared, Task, Workers
from hcssp.workers.losses import LostWorker

logger = logging.getLogger(__name__)

NODES_ALONE = 4
ALONE_SECONDS = 0.3
"""Workers are called once so many nodes are open, and the search has taken so long: many are over before a
process could have been started."""

STARTING_SECONDS = 10.0
"""So long at most the search goes on alone while processes are started; then it waits for them."""

NODES_PER_WORKER = 2
SCARCE_SECONDS = 0.05
"""While fewer nodes than so many wait for each worker, all answer at once: what they leave is for others."""

LEAST_SECONDS, MOST_SECONDS = 0.2, 5.0
SECONDS_PER_WORKER = 0.01
"""How long a worker goes on by itself otherwise: the more of them there are, the longer."""

NODES_PER_ROOT, MOST_ROOTS = 10, 16
"""A worker is given as many regions as it can expand so many nodes of each: the dual of a region that it has
not made itself is solved anew, and pays off under it. It is not given more regions than the latter."""

MOST_LOSSES = 3
"""A node that was lost more often, with its worker, is left as it is: it may be what kills them."""

LOOK_EVERY = 0.25
"""Seconds after which the coordinator tells of its progress, even if nobody has answered."""


@dataclass
class Coordinator:
    """Spreads a search over workers.

    Parameters
    ----------
    problem
        The problem, under the bounds of the search.
    workers
        Who works.
    evaluation, make_oracle
        Those of the method.
    node_memory
        Bytes for what open nodes have met, for all workers together.
    """

    problem: Problem
    workers: Workers
    evaluation: Evaluation
    make_oracle: Any | None
    node_memory: float
    _lent: dict[Task, tuple[OpenNode, ...]] = field(default_factory=dict)
    _worked: tuple[int, float] = (0, 0.0)

    @property
    def _node_seconds(self) -> float:
        """What a node has taken the workers on average."""
        nodes, seconds = self._worked
        return seconds / nodes if nodes else 0.0

    def run(self, branching: Branching[Any]) -> Generator[Progress, None, BestFirst[Any, Any]]:
        """Finish a search that has begun, telling its progress; the answer is the state that it ended in."""
        reporter, alone = branching.reporter, branching.search
        called: list[Future[Any]] | None = None
        for _ in branching.run():
            yield reporter.snapshot(alone.lower_bound)
            if called is None and len(alone) >= NODES_ALONE and reporter.seconds >= ALONE_SECONDS:
                called = self.workers.warm_up(be_ready)
            # Until they are there, as much is done here as they would do.
            if called is None or len(alone) < NODES_ALONE:
                continue
            if all(call.done() for call in called) or reporter.seconds >= ALONE_SECONDS + STARTING_SECONDS:
                break
        if not len(alone) or alone.next_bound >= alone.cutoff:
            return alone
        queue = alone.handed_over(_handed_over)
        reporter.search = queue
        search = Search(
            uuid4().hex,
            self.evaluation,
            self.make_oracle,
            branching.root.prices,
            self.node_memory / max(1, self.workers.count),
        )
        shared = self.workers.share(self.problem)
        try:
            while min(queue.next_bound, queue.lent_bound) < queue.cutoff:
                self._give(queue, branching, shared, search)
                task = self.workers.next_done(LOOK_EVERY)
                if task is not None:
                    self._take(task, queue, branching)
                reporter.workers = self.workers.count
                reporter.open_nodes = len(queue) + sum(len(nodes) for nodes in self._lent.values())
                yield reporter.snapshot(queue.lower_bound)
        finally:
            for task in self._lent:
                self.workers.abandon(task)
        return queue

    def _give(
        self, queue: BestFirst[OpenNode, Any], branching: Branching[Any], shared: Shared, search: Search
    ) -> None:
        """Give every worker that has nothing to do some of the open nodes."""
        count = max(1, self.workers.count)
        # While there is plenty, one order more than there are workers waits for the first who is done.
        spare = 1 if len(queue) >= 4 * count else 0
        while len(self._lent) < count + spare and queue.next_bound < queue.cutoff:
            nodes = _bundle(queue, count, self._node_seconds)
            order = Order(
                tuple(self._root(branching, node) for node in nodes),
                queue.upper_bound,
                branching.reporter.iterations,
                branching.expanded,
                slice_seconds(count, len(queue), self._node_seconds),
            )
            task = self.workers.submit(work_on, shared, search, order, retries=0)
            self._lent[task] = nodes
            queue.lend(task, min(node.waiting for node in nodes))

    def _root(self, branching: Branching[Any], node: OpenNode) -> Root:
        region = branching.record.region(node.number)
        return Root(region.forbidden, node.prices, node.bound, node.proven, node.waiting)

    def _take(self, task: Task, queue: BestFirst[OpenNode, Any], branching: Branching[Any]) -> None:
        """Take back what a worker was given, or what has become of it."""
        nodes = self._lent.pop(task)
        try:
            findings: Findings = task.result()
        except LostWorker as error:
            logger.info("%d nodes go back: %s", len(nodes), error)
            queue.return_from(task)
            for node in nodes:
                _put_back(queue, node)
            return
        reporter: Reporter[Any] = branching.reporter
        if findings.rows is not None and findings.cost < queue.upper_bound:
            reporter.offer_policy(findings.rows)
        reporter.iterations += findings.iterations
        branching.expanded += findings.iterations
        self._worked = self._worked[0] + findings.iterations, self._worked[1] + findings.seconds
        here = branching.record.graft([node.number for node in nodes], findings.record)
        queue.return_from(task)
        for left in findings.open_nodes:
            queue.push(left.waiting, replace(left, number=here[left.number]))
        if findings.pruned_bound < inf:
            queue.prune(findings.pruned_bound)


def slice_seconds(workers: int, num_open: int, node_seconds: float = 0.0) -> float:
    """How long a worker goes on by itself.

    >>> slice_seconds(2, 3), slice_seconds(2, 100), slice_seconds(64, 1000), slice_seconds(1000, 10**6)
    (0.05, 0.2, 0.64, 5.0)
    >>> slice_seconds(2, 100, node_seconds=0.1)
    1.0

    Parameters
    ----------
    workers, num_open
        How many there are, and how many nodes wait for them.
    node_seconds
        What a node takes on average.
    """
    if num_open < NODES_PER_WORKER * workers:
        return SCARCE_SECONDS
    wanted = max(LEAST_SECONDS, SECONDS_PER_WORKER * workers, NODES_PER_ROOT * node_seconds)
    return min(wanted, MOST_SECONDS)


def num_roots(workers: int, num_open: int, node_seconds: float) -> int:
    """How many regions one worker is given at a time.

    >>> num_roots(2, 100, 0.1), num_roots(2, 100, 0.005), num_roots(2, 3, 0.005), num_roots(2, 100, 0.0)
    (1, 4, 1, 16)

    Parameters
    ----------
    workers, num_open, node_seconds
        As for :func:`slice_seconds`.
    """
    nodes = slice_seconds(workers, num_open, node_seconds) / max(node_seconds, 1e-6)
    fair = min(num_open // (2 * workers), int(nodes / NODES_PER_ROOT), MOST_ROOTS)
    return max(1, fair)


def _handed_over(waiting: float, node: Node) -> OpenNode:
    return OpenNode(node.number, node.prices, node.bound, node.proven, waiting)


def _bundle(queue: BestFirst[OpenNode, Any], count: int, node_seconds: float) -> tuple[OpenNode, ...]:
    """The nodes that hold the bound back, as many as one worker should have; a suspect goes alone."""
    return tuple(queue.take(num_roots(count, len(queue), node_seconds), alone=lambda node: node.losses > 0))


def _put_back(queue: BestFirst[OpenNode, Any], node: OpenNode) -> None:
    if node.losses >= MOST_LOSSES:
        logger.warning("a region is left as it is: %d workers have died over it", node.losses + 1)
        queue.prune(node.waiting)
    else:
        queue.push(node.waiting, replace(node, losses=node.losses + 1))
