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
from hcssp.cssp.model import IntArray
from hcssp.dual.ascent import Dual, ascend, maximise
from hcssp.dual.flat_oracle import Evaluation
from hcssp.dual.oracle import Oracle, V
from hcssp.dual.stochastic import optimum_of
from hcssp.methods.best_first import BestFirst
from hcssp.methods.reporter import Reporter
from hcssp.ssp.region import Region

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
        yield from branch(problem, oracle, began, given.known_cost)


@dataclass(frozen=True)
class _Node(Generic[V]):
    region: Region
    dual: Dual[V]


def prove(oracle: Oracle[V]) -> tuple[float, float, IntArray | None]:
    """The best policy of `oracle`: the proven interval around its cost, and its rows if there is one."""
    search: BestFirst[_Node[V], V] = BestFirst()
    *_, last = _branch(oracle, search, Reporter(None, oracle, search, time.perf_counter()))
    found = search.incumbent
    return last.lower_bound, last.upper_bound, None if found is None else oracle.lift(found)


def branch(
    problem: Problem, oracle: Oracle[V], began: float | None = None, known_cost: float = inf
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
    """
    search: BestFirst[_Node[V], V] = BestFirst(upper_bound=known_cost)
    started = time.perf_counter() if began is None else began
    yield from _branch(oracle, search, Reporter(problem, oracle, search, started))


def _branch(oracle: Oracle[V], search: BestFirst[_Node[V], V], reporter: Reporter[V]) -> Iterator[Progress]:
    root: Dual[V] = Dual()
    for root in ascend(oracle, Region()):
        reporter.iterations += 1
        reporter.prices = root.prices
        _offer(oracle, reporter, root, ROOT_ROUNDS)
        yield reporter.snapshot(root.bound)
    if root.infeasible:
        yield reporter.snapshot(inf, Reason.INFEASIBLE, Infeasible(root.infeasibility))
        return
    reporter.stochastic = optimum_of(root, oracle)
    search.push(oracle.round_up(root.bound), _Node(Region(), root))
    yield reporter.snapshot(search.lower_bound)
    while len(search):
        if search.next_bound >= search.cutoff:
            break
        # While nothing feasible is known, dive; then always the node that holds the bound back.
        waiting, node = search.pop(newest=search.upper_bound == inf)
        reporter.iterations += 1
        rounds = 0 if reporter.iterations % IMPROVE_EVERY else NODE_ROUNDS
        regions = split(oracle, node.region, node.dual)
        children: list[tuple[float, _Node[V]]] = []
        for region in regions:
            # The node's policies lie in its region; only what is new can exclude them.
            new = Region(region.forbidden - node.region.forbidden)
            known = [v for v in node.dual.vertices if v.lies_in(new, oracle.row_state)]
            dual = maximise(oracle, region, known, start=node.dual.prices, cutoff=search.cutoff)
            if dual.infeasible:
                continue
            _offer(oracle, reporter, dual, rounds)
            bound = oracle.round_up(max(dual.bound, node.dual.bound))
            children.append((bound, _Node(region, dual)))
        if not regions:
            # The support is one policy: nothing of the region is below its bound.
            search.prune(waiting)
        for bound, child in sorted(children, key=lambda pair: -pair[0]):
            search.push(bound, child)
        yield reporter.snapshot(search.lower_bound)
    if search.upper_bound == inf and search.pruned_bound < inf:
        yield reporter.snapshot(search.pruned_bound, Reason.ROUNDING)
    elif search.upper_bound == inf:
        yield reporter.snapshot(inf, Reason.INFEASIBLE, Infeasible())
    else:
        yield reporter.snapshot(search.lower_bound, Reason.PROVED)


def split(oracle: Oracle[V], region: Region, dual: Dual[V]) -> tuple[Region, ...]:
    """Two disjoint halves of a region that both exclude a policy of the relaxation's support.

    None if the support is a single policy: then it is the optimum of the region.
    """
    row = undecided_row(dual)
    if row is None:
        return ()
    return region.force(row, oracle.row_start, oracle.row_state), region.forbid([row])


def undecided_row(dual: Dual[V]) -> int | None:
    """The row to branch on: where the support disagrees and goes most often."""
    support = sorted(zip(dual.mixture, dual.support, strict=True), key=lambda pair: -pair[0])
    best, chosen = 0.0, None
    for index, (_, first) in enumerate(support):
        for _, second in support[index + 1 :]:
            differ = np.flatnonzero((first.rows != second.rows) & first.reached & second.reached)
            if len(differ) == 0:
                continue
            visits = np.minimum(first.visits[differ], second.visits[differ])
            most = int(np.argmax(visits))
            if visits[most] > best:
                best, chosen = float(visits[most]), int(first.rows[differ[most]])
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
