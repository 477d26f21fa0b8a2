"""What a worker does for a search: it expands the nodes under some regions for a while, and tells the rest.

An order is a few numbers for each region: forbidden rows, prices, bounds. The worker has the problem, makes
an oracle of it, and keeps that, with all it has learnt, for the next order of the same search. Its answer is
the record of what it split and proved, the nodes that are still open, and a better policy if it met one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Any

from hcssp.contract.memory import Memory, Problem
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.ascent import maximise
from hcssp.dual.flat_oracle import Evaluation
from hcssp.dual.oracle import Oracle
from hcssp.methods.best_first import BestFirst
from hcssp.methods.branching import Branching, Node
from hcssp.methods.open_duals import OpenDuals
from hcssp.methods.reporter import Reporter
from hcssp.proofs.search_record import SearchRecord
from hcssp.ssp.region import Region
from hcssp.threads import single_threaded_algebra
from hcssp.workers.at_work import kept, replace_kept


@dataclass(frozen=True)
class Search:
    """What all orders of a search have in common.

    Attributes
    ----------
    ticket
        Tells searches apart.
    evaluation, make_oracle
        Those of the method.
    prices
        Of the root: where a worker begins to learn.
    node_memory
        Bytes for what the nodes of one worker have met.
    """

    ticket: str
    evaluation: Evaluation
    make_oracle: Callable[[Problem], Oracle[Any]] | None
    prices: FloatArray = field(repr=False)
    node_memory: float


@dataclass(frozen=True)
class Root:
    """A region to begin with.

    Attributes
    ----------
    forbidden
        The oracle's rows that its policies avoid.
    prices, bound, proven
        As those of a :class:`~hcssp.methods.branching.Node`.
    waiting
        The bound that it is open with.
    """

    forbidden: frozenset[int]
    prices: FloatArray
    bound: float
    proven: bool
    waiting: float


@dataclass(frozen=True)
class Order:
    """What to do.

    Attributes
    ----------
    roots
        Where to begin.
    known_cost
        That of the best policy known: only better ones are wanted.
    iterations, expanded
        How far the whole search is.
    seconds
        After which the worker is to answer.
    """

    roots: tuple[Root, ...]
    known_cost: float
    iterations: int
    expanded: int
    seconds: float


@dataclass(frozen=True)
class OpenNode:
    """A node that was left open.

    Attributes
    ----------
    number
        Its number in the record that it belongs to.
    prices, bound, proven, waiting
        As those of a :class:`Root`.
    losses
        How often a worker was lost over it.
    """

    number: int
    prices: FloatArray
    bound: float
    proven: bool
    waiting: float
    losses: int = 0


@dataclass(frozen=True)
class Findings:
    """What came of it.

    Attributes
    ----------
    record
        What was split and proven; its first regions are the roots of the order.
    open_nodes
        What is left to do.
    pruned_bound
        Nothing that was pruned is below this.
    cost, rows
        A policy of the problem that is better than what was known, if one was met.
    iterations, seconds
        How many nodes were looked at, and how long that took.
    """

    record: SearchRecord
    open_nodes: tuple[OpenNode, ...]
    pruned_bound: float
    cost: float
    rows: IntArray | None
    iterations: int
    seconds: float


def be_ready() -> None:
    """Nothing; whoever is asked for it has imported what work needs."""


@single_threaded_algebra()
def work_on(problem: Problem, search: Search, order: Order) -> Findings:
    """Expand what is under the roots of an order, best-first, until its time is up."""
    began = time.perf_counter()
    desk = replace_kept("search", search.ticket, lambda: _desk(problem, search))
    oracle = desk.oracle
    record = SearchRecord.of_parts(oracle, len(order.roots))
    queue: BestFirst[Node, Any] = BestFirst(upper_bound=order.known_cost)
    reporter = Reporter(problem, oracle, queue, began)
    reporter.iterations = order.iterations
    desk.search, desk.reporter, desk.record = queue, reporter, record
    desk.expanded = max(desk.expanded, order.expanded)
    for number, root in enumerate(order.roots):
        node = Node(Region(root.forbidden), root.prices, root.bound, number, root.proven)
        queue.push(root.waiting, node)
    for _ in desk.run():
        if time.perf_counter() - began >= order.seconds:
            break
    found = queue.incumbent
    return Findings(
        record,
        tuple(
            OpenNode(node.number, node.prices, node.bound, node.proven, waiting) for waiting, node in queue
        ),
        queue.pruned_bound,
        inf if found is None else queue.upper_bound,
        None if found is None else oracle.lift(found),
        reporter.iterations - order.iterations,
        time.perf_counter() - began,
    )


def _desk(problem: Problem, search: Search) -> Branching[Any]:
    """Whatever a worker needs for its first order, and keeps for the others."""
    if search.make_oracle is not None:
        oracle = search.make_oracle(problem)
    else:
        memory: Memory = kept("memory", Memory)
        oracle = memory.oracle(problem, search.evaluation)
    # All policies together come first: what is known about them is where regions begin.
    root = maximise(oracle, Region(), start=search.prices)
    queue: BestFirst[Node, Any] = BestFirst()
    reporter = Reporter(problem, oracle, queue, time.perf_counter())
    duals: OpenDuals[Any] = OpenDuals(search.node_memory)
    return Branching(oracle, queue, reporter, SearchRecord(oracle), root, duals)
