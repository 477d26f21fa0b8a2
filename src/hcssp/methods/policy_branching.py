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
from typing import TYPE_CHECKING, Any

import numpy as np

from hcssp.contract.ending import Reason
from hcssp.contract.memory import Problem
from hcssp.contract.progress import Progress
from hcssp.contract.proof import Infeasible
from hcssp.contract.solver import Context
from hcssp.cssp.implicit import refuse_implicit
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.ascent import Dual, ascend
from hcssp.dual.flat_oracle import Evaluation
from hcssp.dual.oracle import Oracle
from hcssp.dual.stochastic import optimum_of
from hcssp.dual.vertex import V
from hcssp.methods.best_first import BestFirst
from hcssp.methods.branching import NODE_ROUNDS, Branching, Node, offer
from hcssp.methods.open_duals import DEFAULT_CAPACITY, OpenDuals
from hcssp.methods.refutation import refuted
from hcssp.methods.replay import begin_with, is_guide, resumed
from hcssp.methods.reporter import Reporter
from hcssp.numerics import OPTIMALITY_TOLERANCE, relative_gap
from hcssp.proofs.search_record import SearchRecord, write_down
from hcssp.ssp.region import Region

if TYPE_CHECKING:
    from hcssp.methods.coordinator import Coordinator

ROOT_ROUNDS = 12
"""So many switches improve each policy that carries the dual of the root."""


@dataclass(frozen=True)
class PolicyBranching:
    """The exact method; stop criteria decide how far it goes.

    Parameters
    ----------
    evaluation
        How policies of a flat problem are evaluated, see :class:`hcssp.dual.flat_oracle.FlatOracle`.
    oracle
        Makes the oracle of a problem, for one whose shape allows better than ours; None chooses.
    counts
        Whether regions in which nothing but plans of alike activities is left to choose are settled at once,
        by counting; otherwise by branching, too.
    symmetry
        Whether identical parts of a procedure exchange their plans. A certificate cannot show that, so the
        search that it rests on does without.
    """

    evaluation: Evaluation = "auto"
    oracle: Callable[[Problem], Oracle[Any]] | None = None
    counts: bool = True
    symmetry: bool = True
    name = "exact"
    uses_workers = True

    def iterate(self, problem: Problem, context: Context | None = None) -> Iterator[Progress]:
        """Yield progress after every solved multiplier of the root and every node."""
        began = time.perf_counter()
        refuse_implicit(problem, f"the method {self.name!r}")
        given = context or Context()
        if self.oracle is not None:
            oracle = self.oracle(problem)
        else:
            oracle = given.memory.oracle(problem, self.evaluation)
        coordinator = None
        if given.workers is not None:
            from hcssp.methods.coordinator import Coordinator

            capacity = DEFAULT_CAPACITY if given.node_memory is None else given.node_memory
            coordinator = Coordinator(problem, given.workers, self.evaluation, self.oracle, capacity)
        yield from branch(
            problem,
            oracle,
            began,
            given.known_cost,
            given.record,
            given.node_memory,
            given.prices,
            coordinator,
            given.guide,
            self.counts,
            given.wanted_gap,
            self.symmetry,
        )


def prove(oracle: Oracle[V]) -> tuple[float, float, IntArray | None]:
    """The best policy of `oracle`: the proven interval around its cost, and its rows if there is one."""
    *_, (lower_bound, upper_bound, found) = proving(oracle)
    return lower_bound, upper_bound, None if found is None else oracle.lift(found)


def proving(oracle: Oracle[V]) -> Iterator[tuple[float, float, V | None]]:
    """As :func:`prove`, step by step: the interval so far, and the best policy known."""
    search: BestFirst[Node, V] = BestFirst()
    for step in _branch(oracle, search, Reporter(None, oracle, search, time.perf_counter())):
        yield step.lower_bound, step.upper_bound, search.incumbent


def branch(
    problem: Problem,
    oracle: Oracle[V],
    began: float | None = None,
    known_cost: float = inf,
    record: SearchRecord | None = None,
    node_memory: float | None = None,
    prices: FloatArray | None = None,
    coordinator: Coordinator | None = None,
    guide: SearchRecord | None = None,
    counts: bool = True,
    wanted_gap: float = 0.0,
    symmetry: bool = True,
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
        Where the regions and what is learnt about them are written down, for a certificate. If it has regions
        already, those of an earlier search, this one goes on from them; nothing is believed about them.
    node_memory
        Bytes for the policies that open nodes have met; None for :data:`DEFAULT_CAPACITY`.
    prices
        One for each constraint, near the answer; None if nothing is known of them.
    coordinator
        Spreads the search over workers; None if there are none.
    guide
        What a search over a similar problem wrote down: its regions are looked at first.
    counts, symmetry
        As for :class:`PolicyBranching`.
    wanted_gap
        The relative gap at which nobody wants to know more.
    """
    search: BestFirst[Node, V] = BestFirst(upper_bound=known_cost, wanted_gap=wanted_gap)
    started = time.perf_counter() if began is None else began
    capacity = DEFAULT_CAPACITY if node_memory is None else node_memory
    reporter = Reporter(problem, oracle, search, started)
    given = record, capacity, prices, coordinator, guide, counts, symmetry
    yield from _branch(oracle, search, reporter, *given)


def _branch(
    oracle: Oracle[V],
    search: BestFirst[Node, V],
    reporter: Reporter[V],
    record: SearchRecord | None = None,
    capacity: float = DEFAULT_CAPACITY,
    prices: FloatArray | None = None,
    coordinator: Coordinator | None = None,
    guide: SearchRecord | None = None,
    counts: bool = True,
    symmetry: bool = True,
) -> Iterator[Progress]:
    root: Dual[V] = Dual()
    record = SearchRecord() if record is None else record
    leaves = record.resume(oracle)
    # What has no bound, or one that is kept in any case, has no price.
    start = None if prices is None else np.where(np.isfinite(oracle.bounds), prices, 0.0)
    for root in ascend(oracle, Region(), start=start):
        write_down(record, record.root, root)
        reporter.iterations += 1
        reporter.prices = root.prices
        offer(oracle, reporter, root, 0)
        if root.converged:
            reporter.stochastic = optimum_of(root, oracle)
        yield reporter.snapshot(root.bound)
    if root.infeasible:
        yield reporter.snapshot(inf, Reason.INFEASIBLE, refuted(oracle, root))
        return
    guided = is_guide(guide, oracle)
    duals: OpenDuals[V] = OpenDuals(capacity)
    branching = Branching(oracle, search, reporter, record, root, duals, symmetry=symmetry, guided=guided)
    if not counts:
        branching.next_settling = inf
    nodes = resumed(record, leaves, root, np.isfinite(oracle.bounds))
    met = search.upper_bound
    if not nodes and guide is not None:
        nodes = begin_with(guide, oracle, record, root, reporter)
    if leaves or not (nodes or search.upper_bound < met):
        # Only now: to some, what the dual has met is good enough, and improving it takes as long again. Where
        # another search has led to a better policy, this one would lead there as well.
        offer(oracle, reporter, root, NODE_ROUNDS if guided else ROOT_ROUNDS)
    begins = not nodes
    for node in nodes or [Node(Region(), root.prices, root.bound)]:
        search.push(oracle.round_up(node.bound), node)
    yield reporter.snapshot(search.lower_bound)
    if begins and len(search):
        search.push(search.pop()[0], branching.begin())
    if coordinator is not None:
        search = yield from coordinator.run(branching)
    else:
        for _ in branching.run():
            yield reporter.snapshot(search.lower_bound)
    if search.upper_bound == inf and search.pruned_bound < inf:
        yield reporter.snapshot(search.pruned_bound, Reason.ROUNDING)
    elif search.upper_bound == inf:
        yield reporter.snapshot(inf, Reason.INFEASIBLE, Infeasible())
    elif relative_gap(search.lower_bound, search.upper_bound) > OPTIMALITY_TOLERANCE:
        yield reporter.snapshot(search.lower_bound, Reason.ROUNDING)
    else:
        yield reporter.snapshot(search.lower_bound, Reason.PROVED)
