"""The exact method on several processes.

**Method.** The search begins in one process, since most searches end before a second process is ready. Then
it lends open nodes to workers. A worker expands the nodes below them for a short time, best-first, and
returns the regions that it split, the bounds that it proved, and the nodes that are still open. Meanwhile
this process expands nodes, too, unless the workers are those of a cluster: so two processes are hardly ever
slower than one. Nodes are lent only if they return before the time limit, since a lent node holds the bound
back.

**Guarantee.** The bound is the least of the open nodes, of the lent ones (at what was proven when they were
lent) and of whatever was pruned. It holds at every instant, and a worker that dies takes nothing with it. The
costs of a policy are computed here, whichever process found it.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any
from uuid import uuid4

from hcssp.contract.solver import Context, Memory, Problem
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.ascent import maximise
from hcssp.methods.best_first import BestFirst
from hcssp.methods.incumbents import Reporter
from hcssp.methods.policy_branching import Node, OpenDuals, PolicyBranching, PolicySearch
from hcssp.proofs.search_record import SearchRecord
from hcssp.ssp.scalar_problem import Region
from hcssp.threads import single_threaded_algebra
from hcssp.workers import LostWorker, Shared, Task, Workers, kept

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ParallelParameters:
    """When nodes are lent, how many at a time, and for how long.

    Attributes
    ----------
    alone_seconds, alone_nodes
        No node is lent before the search has taken this processor time and this many nodes are open, or if
        less than `alone_seconds` are left until the time limit. A worker first has to learn what this process
        has learnt, which may take as long.
    scarce_nodes, scarce_seconds
        While fewer open nodes than `scarce_nodes` for each worker wait, orders are this short, so that all
        workers soon have something to do.
    least_seconds, most_seconds, seconds_per_worker
        The duration of other orders. It grows with the number of workers: an answer takes about a millisecond
        to read, which must not add up to more than a tenth of the time.
    nodes_per_root, most_roots
        The number of regions of an order is such that a worker can expand this many nodes of each, since it
        has to solve the dual of the region again; it is at most `most_roots`.
    most_losses
        A node that was lost with its worker more often is pruned: it may be the cause.
    poll_seconds
        Progress is reported at least this often.
    """

    alone_seconds: float = 5.0
    alone_nodes: int = 4
    scarce_nodes: int = 2
    scarce_seconds: float = 0.05
    least_seconds: float = 0.2
    most_seconds: float = 5.0
    seconds_per_worker: float = 0.01
    nodes_per_root: int = 10
    most_roots: int = 16
    most_losses: int = 3
    poll_seconds: float = 0.25

    def order_seconds(self, workers: int, num_open: int, node_seconds: float = 0.0) -> float:
        """How long a worker works on an order.

        >>> rule = ParallelParameters()
        >>> rule.order_seconds(2, 3), rule.order_seconds(2, 100), rule.order_seconds(64, 1000)
        (0.05, 0.2, 0.64)
        >>> rule.order_seconds(2, 100, node_seconds=0.1)
        1.0

        Parameters
        ----------
        workers, num_open
            The number of workers, and of open nodes that wait.
        node_seconds
            The mean time to expand a node.
        """
        if num_open < self.scarce_nodes * workers:
            return self.scarce_seconds
        wanted = (self.least_seconds, self.seconds_per_worker * workers, self.nodes_per_root * node_seconds)
        return min(max(wanted), self.most_seconds)

    def num_roots(self, workers: int, num_open: int, node_seconds: float) -> int:
        """The number of regions of an order.

        >>> rule = ParallelParameters()
        >>> rule.num_roots(2, 100, 0.1), rule.num_roots(2, 100, 0.005), rule.num_roots(2, 3, 0.005)
        (1, 4, 1)
        """
        nodes = self.order_seconds(workers, num_open, node_seconds) / max(node_seconds, 1e-6)
        fair = min(num_open // (2 * workers), int(nodes / self.nodes_per_root), self.most_roots)
        return max(1, fair)


DEFAULT_PARAMETERS = ParallelParameters()
"""The parameters of every parallel search."""


@dataclass(frozen=True)
class Setting:
    """The common part of all orders of a search.

    Attributes
    ----------
    ticket
        Identifies the search.
    method
        With its parameters; `node_memory` is that of one worker.
    prices
        The multipliers of the root, from which a worker begins to learn.
    """

    ticket: str
    method: PolicyBranching
    prices: FloatArray = field(repr=False)


@dataclass(frozen=True)
class Order:
    """The task of a worker.

    Attributes
    ----------
    roots
        The open nodes to begin with, each with its bound; they are numbered from 0.
    known_cost
        The incumbent's cost.
    expanded
        The number of nodes that the whole search has expanded.
    seconds
        After which the worker returns.
    """

    roots: tuple[tuple[float, Node], ...]
    known_cost: float
    expanded: int
    seconds: float


@dataclass(frozen=True)
class Findings:
    """The result of a worker.

    Attributes
    ----------
    record
        The split regions and their bounds; the first regions are the roots of the order.
    open_nodes
        The nodes that are open, with their bounds; their numbers are those of `record`.
    pruned_bound
        The least bound of all that was pruned.
    cost, rows
        A policy of the problem that is better than the incumbent, if one was found.
    iterations, seconds
        The number of nodes, and the time that they took.
    """

    record: SearchRecord
    open_nodes: tuple[tuple[float, Node], ...]
    pruned_bound: float
    cost: float
    rows: IntArray | None
    iterations: int
    seconds: float


class ParallelSearch(PolicySearch[Any]):
    """A run of the exact method that lends nodes to workers.

    Parameters
    ----------
    method
        The exact method.
    problem, context, began
        As for :class:`~hcssp.methods.policy_branching.PolicySearch`.
    workers
        The workers.
    """

    def __init__(
        self, method: PolicyBranching, problem: Problem, context: Context, workers: Workers, began: float
    ) -> None:
        oracle = method.oracle_of(problem, context.memory)
        super().__init__(oracle, problem, context, method.parameters, began)
        self._method, self._problem, self._workers = method, problem, workers
        self._rule = DEFAULT_PARAMETERS
        self._began = time.process_time()
        self._lent: dict[Task, list[tuple[float, Node]]] = {}
        self._losses: Counter[int] = Counter()
        self._starting: list[Future[Any]] | None = None
        self._worked = (0, 0.0)

    def branch(self) -> Iterator[None]:
        """As alone, with the help of workers once the search has taken a while."""
        queue, workers, shared, setting = self.queue, self._workers, None, None
        try:
            while min(queue.next_bound, queue.lent_bound) < queue.cutoff:
                if self._has_helpers():
                    if shared is None or setting is None:
                        shared, setting = workers.share(self._problem), self._setting()
                        self.reporter.workers = workers.count
                    self._lend(shared, setting)
                # The workers of a cluster are many, and must not wait while a node is expanded here.
                expands = queue.next_bound < queue.cutoff and (workers.takes_part or not self._lent)
                wait = 0.0 if expands else self._rule.poll_seconds
                task = workers.next_done(wait) if self._lent else None
                if task is not None:
                    self._take_back(task)
                elif expands:
                    self.step()
                lent = sum(len(nodes) for nodes in self._lent.values())
                self.reporter.open_nodes = len(queue) + lent
                yield
        finally:
            for task in self._lent:
                workers.abandon(task)

    def _has_helpers(self) -> bool:
        """Whether nodes can be lent; processes are started when the search has taken long enough."""
        if self._starting is None:
            rule, taken = self._rule, time.process_time() - self._began
            # A worker that is started shortly before the time limit returns nothing in time.
            is_long = taken >= rule.alone_seconds <= self._seconds_left()
            if not is_long or len(self.queue) < rule.alone_nodes or not self._workers.helpers:
                return False
            self._starting = self._workers.warm_up(be_ready, self._workers.helpers)
        return all(call.done() for call in self._starting)

    def _seconds_left(self) -> float:
        """The seconds until the time limit."""
        return self.context.time_limit - self.reporter.seconds

    def _setting(self) -> Setting:
        share = self.parameters.node_memory / max(1, self._workers.count)
        parameters = replace(self.parameters, node_memory=share)
        return Setting(uuid4().hex, replace(self._method, parameters=parameters), self.root.prices)

    def _lend(self, shared: Shared, setting: Setting) -> None:
        """Lend open nodes to every worker that has none, those of the least bounds first."""
        queue, workers, rule = self.queue, self._workers, self._rule
        node_seconds = self._worked[1] / max(1, self._worked[0])
        # If this process takes part, it keeps its share.
        kept_here = rule.alone_nodes if workers.takes_part else 0
        while (
            len(self._lent) < workers.helpers and len(queue) > kept_here and queue.next_bound < queue.cutoff
        ):
            size = workers.count, len(queue), node_seconds
            seconds = rule.order_seconds(*size)
            if 2.0 * seconds > self._seconds_left():
                # Lent nodes hold the bound back, so they must return before the time limit.
                return
            nodes = [queue.pop()]
            # Nothing that is taken is below this; it holds the bound back while the others are taken.
            queue.lend(self, nodes[0][0])
            count = 1 if self._losses[nodes[0][1].number] else rule.num_roots(*size)
            while len(nodes) < count and queue.next_bound < queue.cutoff:
                nodes.append(queue.pop())
            roots = []
            for number, (bound, node) in enumerate(nodes):
                self.duals.take(node.region)
                roots.append((bound, replace(node, number=number)))
            order = Order(tuple(roots), queue.upper_bound, self.expanded, seconds)
            task = workers.submit(work_on, shared, setting, order, retries=0)
            self._lent[task] = nodes
            queue.lend(task, nodes[0][0])
            queue.return_from(self)

    def _take_back(self, task: Task) -> None:
        """Open the nodes that a worker left open, or those that it was lent if it died."""
        queue, nodes = self.queue, self._lent.pop(task)
        try:
            findings: Findings = task.result()
        except LostWorker as error:
            logger.info("%d nodes are open again: %s", len(nodes), error)
            queue.return_from(task)
            for bound, node in nodes:
                self._losses[node.number] += 1
                if self._losses[node.number] > self._rule.most_losses:
                    count = self._losses[node.number]
                    logger.warning("a region is left as it is: %d workers have died over it", count)
                    queue.prune(bound)
                else:
                    queue.push(bound, node)
            return
        if findings.rows is not None and findings.cost < queue.upper_bound:
            self.reporter.offer_policy(findings.rows)
        self.reporter.iterations += findings.iterations
        self.expanded += findings.iterations
        self._worked = self._worked[0] + findings.iterations, self._worked[1] + findings.seconds
        here = self.record.graft([node.number for _, node in nodes], findings.record)
        queue.return_from(task)
        for bound, node in findings.open_nodes:
            queue.push(bound, replace(node, number=here[node.number]))
        if findings.pruned_bound < inf:
            queue.prune(findings.pruned_bound)


def be_ready() -> None:
    """Do nothing; a process that has run it has imported the code for its work."""


@single_threaded_algebra()
def work_on(problem: Problem, setting: Setting, order: Order) -> Findings:
    """Expand the nodes below the roots of an order, best-first, until its time is up."""
    began = time.perf_counter()
    search: PolicySearch[Any] = kept("search", lambda: _begun(problem, setting), version=setting.ticket)
    queue: BestFirst[Node, Any] = BestFirst(upper_bound=order.known_cost)
    search.queue, search.reporter = queue, Reporter(problem, search.oracle, queue, began)
    search.record = SearchRecord.of_parts(search.oracle, len(order.roots))
    search.expanded = max(search.expanded, order.expanded)
    for bound, node in order.roots:
        queue.push(bound, node)
    for _ in search.branch():
        if time.perf_counter() - began >= order.seconds:
            break
    found = queue.incumbent
    return Findings(
        search.record,
        tuple(queue),
        queue.pruned_bound,
        inf if found is None else queue.upper_bound,
        None if found is None else search.oracle.lift(found),
        search.reporter.iterations,
        time.perf_counter() - began,
    )


def _begun(problem: Problem, setting: Setting) -> PolicySearch[Any]:
    """The state of a worker between orders: the oracle, and the dual of all policies."""
    memory: Memory = kept("memory", Memory)
    oracle = setting.method.oracle_of(problem, memory)
    search: PolicySearch[Any] = PolicySearch(oracle, problem, None, setting.method.parameters)
    search.root = maximise(oracle, Region(), start=setting.prices)
    search.duals = OpenDuals(setting.method.parameters.node_memory)
    return search
