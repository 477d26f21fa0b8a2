r"""The exact method: branch and bound over deterministic policies, bounded by the Lagrangian dual.

**Problem.** A C-SSP or HC-SSP with one or several constraints; wanted is the best deterministic policy.

**Method.** The Lagrangian dual of a region of policies is a mixture of policies that disagree in some state.
Branch there: one child uses the action of one of them, the other child forbids it. Solve the dual of both
children, and continue with the open region of the least bound. Incumbents are the feasible policies that the
duals find, and those that local search finds near them. :meth:`PolicySearch.run` is the loop.

**Guarantee.** The bound of every region is a certified Lagrangian value, so the interval is proven at every
instant. Regions are disjoint and finite in number, so the search ends with a proof.

**References.** Lawler 1972; Murty 1968; Hong and Williams 2021; Schmalz and Trevizan 2024.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import floor, inf
from typing import Any, Generic, get_args

import numpy as np

from hcssp.contract.progress import Progress
from hcssp.contract.proof import Infeasible, Reason
from hcssp.contract.solver import Context, Memory, Problem
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.ascent import DEFAULT_PARAMETERS, Dual, ascend, lagrangian_bound, maximise, optimum_of
from hcssp.dual.flat import Evaluation
from hcssp.dual.local_search import noticed_at
from hcssp.dual.oracle import CLEARLY_VISITED, Oracle, V
from hcssp.errors import ImproperPolicy, OutOfPrecision, UnknownName
from hcssp.methods.best_first import BestFirst
from hcssp.methods.incumbents import Reporter, refuted
from hcssp.numerics import OPTIMALITY_TOLERANCE, relative_gap
from hcssp.procedure.model import HCSSP, Choices
from hcssp.proofs.search_record import SearchRecord, write_down
from hcssp.ssp.scalar_problem import Region

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SearchParameters:
    """Parameters of the exact method. None of them affects what is proven, only how fast.

    Attributes
    ----------
    root_rounds, node_rounds
        Rounds of local search on each policy that carries the dual of the root, and of a later node.
    first_interval, interval, longest_interval
        Local search takes as long as many nodes, so it runs at some nodes only: first this many nodes after
        the root, then every `interval` nodes. While it finds nothing better the interval doubles, up to the
        longest.
    symmetry
        Whether identical parts of a procedure are exchanged for one another. A certificate cannot show that,
        so the search that it rests on does without.
    enumeration
        Whether regions in which only plans of small activities are left to choose are solved at once, as a
        multiple-choice knapsack.
    node_memory
        Bytes for the duals of open nodes; a dual beyond that is dropped, and solved again when needed.
    memory_share
        If the memory of the process is limited, the share of that limit which replaces `node_memory`.
    """

    root_rounds: int = 12
    node_rounds: int = 4
    first_interval: int = 5
    interval: int = 16
    longest_interval: int = 256
    symmetry: bool = True
    enumeration: bool = True
    node_memory: float = 2.0**30
    memory_share: float = 0.5


@dataclass(frozen=True)
class PolicyBranching:
    """The exact method; stop criteria decide how far it goes.

    Parameters
    ----------
    evaluation
        How policies of a flat problem are evaluated, see :class:`hcssp.dual.flat.FlatOracle`.
    oracle
        Makes the oracle of a problem, for a problem whose shape allows a better one; None chooses.
    choices
        ``"per event"`` for one choice for each event, as in the paper
        (:mod:`hcssp.methods.choices_per_event`), or ``"per state"``. By default what the problem says, see
        :meth:`hcssp.HCSSP.choosing`.
    parameters
        Of the search.
    """

    evaluation: Evaluation = "auto"
    oracle: Callable[[Problem], Oracle[Any]] | None = None
    choices: Choices | None = None
    parameters: SearchParameters = SearchParameters()
    name = "exact"
    uses_workers = True

    def __post_init__(self) -> None:
        if self.choices is not None and self.choices not in get_args(Choices):
            raise UnknownName("way to choose", self.choices, get_args(Choices))

    def iterate(self, problem: Problem, context: Context | None = None) -> Iterator[Progress]:
        """Yield progress after every solved multiplier of the root and every node."""
        began = time.perf_counter()
        context = context or Context()
        if isinstance(problem, HCSSP) and self.choosing(problem).limits_choices:
            from hcssp.methods.choices_per_event import one_choice_per_event

            def search(part: HCSSP, known_cost: float) -> Iterator[Progress]:
                own = Context(known_cost, memory_limit=context.memory_limit, wanted_gap=context.wanted_gap)
                return replace(self, choices=None).iterate(part, own)

            yield from one_choice_per_event(problem, search, context.wanted_gap)
        elif context.workers is None:
            oracle = self.oracle_of(problem, context.memory)
            yield from PolicySearch(oracle, problem, context, self.parameters, began).run()
        else:
            from hcssp.methods.parallel_search import ParallelSearch

            yield from ParallelSearch(self, problem, context, context.workers, began).run()

    def choosing(self, problem: HCSSP) -> HCSSP:
        """The problem for the plans that this method looks for."""
        return problem if self.choices is None else problem.choosing(self.choices)

    def oracle_of(self, problem: Problem, memory: Memory) -> Oracle[Any]:
        """The oracle of `problem`: the caller's own, or the one that `memory` keeps."""
        return memory.oracle(problem, self.evaluation) if self.oracle is None else self.oracle(problem)


def prove(oracle: Oracle[V]) -> tuple[float, float, IntArray | None]:
    """The best policy of `oracle`: the proven interval around its cost, and its rows if there is one."""
    search = PolicySearch(oracle)
    *_, last = search.run()
    found = search.queue.incumbent
    return last.lower_bound, last.upper_bound, None if found is None else oracle.lift(found)


@dataclass(frozen=True)
class Node:
    """An open region.

    Attributes
    ----------
    region
        The policies that it holds.
    prices
        The multipliers that gave its bound, or a guess of good ones.
    bound
        The proven lower bound, before it is rounded up to what a policy can cost.
    number
        Its number in the record.
    solved
        Whether its own dual was solved; otherwise the bound is that of a region that contains it.
    """

    region: Region
    prices: FloatArray = field(repr=False)
    bound: float
    number: int = SearchRecord.root
    solved: bool = True


class PolicySearch(Generic[V]):
    """One run of the exact method over the policies of an oracle.

    Parameters
    ----------
    oracle
        The oracle; see :mod:`hcssp.dual.oracle` for how to write one.
    problem
        The problem that its policies are lifted to; None if only the oracle is known.
    context
        Information at the start of the search, and its limits.
    parameters
        Of the search.
    began
        The start of the clock, by ``time.perf_counter()``; None for now.

    Attributes
    ----------
    queue
        The open nodes, the incumbent and the proven interval.
    reporter
        Accepts incumbents and makes snapshots.
    record
        The regions and their bounds, for a certificate.
    root
        The dual of all policies.
    duals
        The duals of open nodes.
    symmetry
        Exchanges identical parts of the problem; None if there are none, or it is not wanted.
    expanded
        The number of nodes that were expanded.
    """

    def __init__(
        self,
        oracle: Oracle[V],
        problem: Problem | None = None,
        context: Context | None = None,
        parameters: SearchParameters = SearchParameters(),
        began: float | None = None,
    ) -> None:
        context = context or Context(wanted_gap=0.0)
        self.oracle, self.context, self.parameters = oracle, context, parameters
        self.queue: BestFirst[Node, V] = BestFirst(
            upper_bound=context.known_cost, wanted_gap=context.wanted_gap
        )
        self.symmetry = oracle.strategies.symmetry if parameters.symmetry else None
        self.queue.rounding = 0.0 if self.symmetry is None else self.symmetry.rounding
        self.reporter = Reporter(problem, oracle, self.queue, began)
        self.record = context.record
        self.root: Dual[V] = Dual()
        limited = parameters.memory_share * context.memory_limit
        self.duals: OpenDuals[V] = OpenDuals(limited if limited < inf else parameters.node_memory)
        self.expanded = 0
        self._next_enumeration = 0.0 if parameters.enumeration else inf
        self._next_local_search = parameters.first_interval
        self._interval = parameters.interval

    def run(self) -> Iterator[Progress]:
        """The exact method, reporting progress."""
        queue, reporter = self.queue, self.reporter
        resumed = self.record.resume(self.oracle)
        for dual in self.root_duals():
            self.root = dual
            yield reporter.snapshot(dual.bound)
        if self.root.infeasible:
            yield reporter.snapshot(inf, Reason.INFEASIBLE, refuted(self.oracle, self.root))
            return
        nodes = self.earlier_nodes(resumed)
        yield reporter.snapshot(self.root.bound)
        for node in nodes or [self.root_node()]:
            queue.push(self.oracle.strategies.round_up(node.bound), node)
        yield reporter.snapshot(queue.lower_bound)
        for _ in self.branch():
            yield reporter.snapshot(queue.lower_bound)
        yield self.conclusion()

    def branch(self) -> Iterator[None]:
        """Expand nodes, one a step, until no open node can hold anything better than the incumbent."""
        while self.queue.next_bound < self.queue.cutoff:
            self.step()
            yield

    def step(self) -> None:
        """Expand the open node of the least bound; while no incumbent is known, the newest one."""
        is_first = self.queue.incumbent is None and self.queue.upper_bound == inf
        bound, node = self.queue.pop(newest=is_first)
        self.reporter.iterations += 1
        try:
            self.expand(bound, node)
        except (OutOfPrecision, ImproperPolicy) as error:
            # The bound of the region holds; its parts are not searched.
            logger.info("a region is left as it is: %s", error)
            self.queue.prune(bound)

    def expand(self, bound: float, node: Node) -> None:
        """Split a node that is open with a bound, or prune it."""
        queue, dual = self.queue, self.duals.take(node.region)
        if dual is None:
            # It was dropped for memory, or nothing but the region is known. The new bound may be higher.
            solved = self.solve(bound, node)
            if solved is None:
                return
            before, (bound, node, dual) = node, solved
            if not before.solved and bound > queue.next_bound:
                self.open(bound, node, dual)
                return
        bound = self.enumerate(bound, node, dual)
        row = undecided_row(dual) if bound < queue.cutoff else None
        for point in dual.support:
            point.release()
        if row is None:
            self.close(bound, node, dual)
        else:
            for child in self.children(bound, node, dual, row):
                self.open(*child)

    def close(self, bound: float, node: Node, dual: Dual[V]) -> None:
        """Prune a node: its bound reaches the cutoff, or its dual is one policy, which costs that bound."""
        self.queue.prune(bound)

    def children(
        self, bound: float, node: Node, dual: Dual[V], row: int
    ) -> list[tuple[float, Node, Dual[V]]]:
        """The two parts of a node that a row separates, with their bounds and duals; the better one last."""
        oracle, cutoff, cost = self.oracle, self.queue.cutoff, self.queue.upper_bound
        rounds = self.parameters.node_rounds if self.expanded >= self._next_local_search else 0
        found: list[tuple[float, Node, Dual[V]]] = []
        for region, number in self.split(node, row, dual):
            # The policies of the dual lie in the node's region; only newly forbidden rows can exclude them.
            new = Region(region.forbidden - node.region.forbidden)
            known = [each for each in dual.points if each.lies_in(new, oracle.row_state)]
            part = maximise(oracle, region, known, start=dual.prices, cutoff=cutoff, proven=dual.bound)
            write_down(self.record, number, part)
            if part.infeasible:
                continue
            self.offer(part, rounds)
            proven = max(part.bound, node.bound)
            prices = part.prices if part.bound > -inf else dual.prices
            found.append((oracle.strategies.round_up(proven), Node(region, prices, proven, number), part))
        if rounds:
            self._schedule_local_search(cost, bound)
        return sorted(found, key=lambda each: -each[0])

    def split(self, node: Node, row: int, dual: Dual[V]) -> list[tuple[Region, int]]:
        """The two parts of a node's region that a row separates, and their numbers in the record."""
        orbit, count = self._orbit(node.region, row, dual)
        numbers = self.record.split_orbit(node.number, orbit, count)
        regions = split_region(self.oracle, node.region, orbit, count)
        return list(zip(regions, numbers, strict=True))

    def open(self, bound: float, node: Node, dual: Dual[V]) -> None:
        """Push a node, and keep its dual if it is not pruned at once."""
        if bound < self.queue.cutoff:
            self.duals.put(node.region, dual, num_nodes=len(self.queue))
        self.queue.push(bound, node)

    def root_duals(self) -> Iterator[Dual[V]]:
        """The dual of all policies, after each of its multipliers."""
        oracle, reporter, prices = self.oracle, self.reporter, self.context.prices
        # A constraint without a bound, or with one that the oracle always keeps, has no multiplier.
        start = None if prices is None else np.where(np.isfinite(oracle.bounds), prices, 0.0)
        for dual in ascend(oracle, Region(), start=start):
            write_down(self.record, self.record.root, dual)
            reporter.iterations += 1
            reporter.prices = dual.prices
            self.offer(dual, 0)
            if dual.converged:
                reporter.stochastic = optimum_of(dual, oracle)
            yield dual

    def earlier_nodes(self, resumed: Sequence[tuple[int, FloatArray | None]]) -> list[Node]:
        """The regions of an earlier search to begin with, after local search at the root; or none.

        Parameters
        ----------
        resumed
            The leaves of a search over the same problem, with weights worth trying. Nothing is believed
            about them but the bound of the root.
        """
        if self.context.guide is not None and not resumed:
            from hcssp.methods.replay import replayed

            nodes = replayed(self.context.guide, self)
            if nodes:
                return nodes
        self.offer(self.root, self.parameters.root_rounds)
        return [self.unsolved(self.record.region(number), number, weights) for number, weights in resumed]

    def unsolved(self, region: Region, number: int, weights: FloatArray | None) -> Node:
        """A node of which only the region is known, with the weights of an earlier search if they fit."""
        prices, bounded = self.root.prices, np.isfinite(self.oracle.bounds)
        if weights is not None and len(weights) == 1 + len(bounded) and weights[0] > 0.0:
            hinted = np.where(bounded, weights[1:] / weights[0], 0.0)
            if np.isfinite(hinted).all() and (hinted >= 0.0).all():
                prices = hinted
        return Node(region, prices, self.root.bound, number, solved=False)

    def root_node(self) -> Node:
        """The node of all policies, without choices that cost too much at the multipliers of the root."""
        oracle, root, cutoff = self.oracle, self.root, self.queue.cutoff
        region, number = Region(), self.record.root
        weights = np.append(1.0, root.prices)
        share = DEFAULT_PARAMETERS.cutoff_share
        precision = share * (cutoff - root.bound) / abs(cutoff) if cutoff < inf and cutoff else 0.0
        is_open = root.converged and precision > 0.0
        for row in () if self.symmetry is None or not is_open else self.symmetry.choice_rows:
            state = oracle.row_state[row]
            if row in region.forbidden or any(point.rows[state] == row for point in root.support):
                continue
            orbit = self._identical(region, row)
            used, avoided = split_region(oracle, region, orbit)
            least = oracle.minimise(weights, used, precision, root.support[0])
            value = inf if least is None else lagrangian_bound(least.bound, root.prices, oracle.bounds)
            if value < cutoff:
                continue
            numbers = self.record.split_orbit(number, orbit)
            if least is None:
                self.record.empty(numbers[0])
            else:
                self.record.bounded(numbers[0], value, root.prices)
                self.queue.prune(value)
            region, number = avoided, numbers[1]
        kept = tuple(point for point in root.points if point.lies_in(region, oracle.row_state))
        self.duals.put(region, replace(root, points=kept))
        return Node(region, root.prices, root.bound, number)

    def solve(self, bound: float, node: Node) -> tuple[float, Node, Dual[V]] | None:
        """The bound, the node and its dual, solved from the node's multipliers; None if it is infeasible."""
        oracle = self.oracle
        known = [each for each in self.root.points if each.lies_in(node.region, oracle.row_state)]
        dual = maximise(oracle, node.region, known, start=node.prices, cutoff=self.queue.cutoff)
        write_down(self.record, node.number, dual)
        if dual.infeasible:
            return None
        self.offer(dual, 0)
        proven = max(dual.bound, node.bound)
        prices = dual.prices if dual.bound > -inf else node.prices
        solved = replace(node, prices=prices, bound=proven, solved=True)
        return max(bound, oracle.strategies.round_up(proven)), solved, dual

    def enumerate(self, bound: float, node: Node, dual: Dual[V]) -> float:
        """The bound of a node after the oracle was asked to enumerate its policies, at some nodes."""
        self.expanded += 1
        enumeration = self.oracle.strategies.enumeration
        if enumeration is None or self.expanded < self._next_enumeration:
            return bound
        if dual.bound == -inf or bound >= self.queue.cutoff:
            return bound
        # Policies up to the incumbent's cost are enumerated, so that the bound can reach it.
        limit = self.queue.upper_bound
        settled = enumeration.settle(node.region, dual.prices, dual.bound, limit, self.expanded)
        if settled is not None:
            if settled.point is not None:
                self.reporter.offer(settled.point)
            if settled.bound > bound:
                bound = self.oracle.strategies.round_up(settled.bound)
                self.record.settled(node.number, settled.bound, dual.prices)
        if bound < self.queue.cutoff:
            self._next_enumeration = 2 * self.expanded
        return bound

    def offer(self, dual: Dual[V], rounds: int) -> None:
        """Offer every policy that a dual has met, and those that local search finds near its support."""
        for point in dual.points:
            self.reporter.offer(point)
        local_search = self.oracle.strategies.local_search
        if local_search is None or not dual.converged or not rounds:
            return
        mixed = local_search.relink(dual.support)
        if mixed is not None:
            self.reporter.offer(mixed)
        for point in dual.support if mixed is None else (*dual.support, mixed):
            better = local_search.improve(point, rounds, self.queue.upper_bound, dual.bound)
            if better is not None:
                self.reporter.offer(better)

    def conclusion(self) -> Progress:
        """The last snapshot: no open node is left that can hold anything better."""
        queue, snapshot = self.queue, self.reporter.snapshot
        if queue.upper_bound == inf:
            if queue.pruned_bound < inf:
                return snapshot(queue.pruned_bound, Reason.ROUNDING)
            return snapshot(inf, Reason.INFEASIBLE, Infeasible())
        proved = relative_gap(queue.lower_bound, queue.upper_bound) <= OPTIMALITY_TOLERANCE
        return snapshot(queue.lower_bound, Reason.PROVED if proved else Reason.ROUNDING)

    def _schedule_local_search(self, cost: float, bound: float) -> None:
        """Set the next node of local search, by its result: the incumbent cost `cost` before."""
        found = self.queue.upper_bound
        is_better = found < cost and found <= noticed_at(cost, bound)
        interval, longest = self.parameters.interval, self.parameters.longest_interval
        self._interval = interval if is_better else min(2 * self._interval, longest)
        self._next_local_search = self.expanded + self._interval

    def _orbit(self, region: Region, row: int, dual: Dual[V]) -> tuple[list[int], int]:
        """The rows that a row can be exchanged for, and how many of them one child uses.

        That is one, unless the policies of the support disagree on how many of them are used.
        """
        orbit = self._identical(region, row)
        if len(orbit) == 1:
            return orbit, 1
        states = self.oracle.row_state[orbit]
        used = [np.count_nonzero(point.rows_of(states) == orbit) for point in dual.support]
        count = 1 + floor(sum(share * each for share, each in zip(dual.mixture, used, strict=True)))
        return orbit, count if count <= max(used) else 1

    def _identical(self, region: Region, row: int) -> list[int]:
        """The rows that a row can be exchanged for, itself first."""
        return [row] if self.symmetry is None else self.symmetry.orbit(region, row)


def split_region(
    oracle: Oracle[V], region: Region, orbit: Sequence[int], count: int = 1
) -> tuple[Region, Region]:
    """Two disjoint parts of a region: the first `count` rows of an orbit are used, or the others are not.

    The others begin with the last of these rows. A policy that is in neither part costs as much as one that
    is, as :meth:`~hcssp.dual.oracle.Symmetry.orbit` promises: it uses `count` rows or more, or it uses fewer.
    """
    used = region
    for row in orbit[:count]:
        used = used.force(row, oracle.row_start, oracle.row_state)
    return used, region.forbid(orbit[count - 1 :])


def undecided_row(dual: Dual[V]) -> int | None:
    """The row to branch on: where the support disagrees and the decision changes bounded costs most.

    Both parts then exclude a policy of the support. None if the support is a single policy: it is the optimum
    of the region. Decisions with unknown effect, as at events, come first; among several, the most frequent
    one.
    """
    support = sorted(zip(dual.mixture, dual.support, strict=True), key=lambda pair: -pair[0])
    best, chosen = (False, 0.0), None
    for index, (_, first) in enumerate(support):
        for _, second in support[index + 1 :]:
            states, visits = _disagreement(first, second)
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


def _disagreement(first: V, second: V) -> tuple[IntArray, FloatArray]:
    """The states that two policies visit and take different rows in, and the visits of the rarer visitor."""
    # The states of a few choices come first; if there are any, the other states need not be compared.
    for parting in (first.parting_choices, first.parting):
        states = parting(second)
        visits = np.minimum(first.visits_of(states), second.visits_of(states))
        both = visits > CLEARLY_VISITED
        if both.any():
            break
    else:
        # However rare: a cost there may be as large as the visits are few.
        both = (visits > 0.0) & first.reached[states] & second.reached[states]
    return states[both], visits[both]


def _moved(first: V, second: V, states: IntArray, prices: FloatArray) -> FloatArray:
    """How much of the priced costs the two policies' decisions in some states move; ``nan`` if not known."""
    moved = np.zeros(len(states))
    for one, other in ((first, second), (second, first)):
        changes = one.switching_costs(states, other.rows_of(states))
        if changes is None:
            return np.full(len(states), np.nan)
        moved += one.visits_of(states) * (np.abs(changes[:, 1:]) @ prices)
    return moved


DUAL_BYTES, REFERENCE_BYTES, NODE_BYTES = 1_000, 200, 1_500
"""Memory of a dual without its policies, of each reference to a policy or its parts, and of an open node."""


class OpenDuals(Generic[V]):
    """The duals of open nodes, within a budget of memory.

    An open node is a region, multipliers and a bound: a few numbers. The policies that its dual has met only
    save work when the node is expanded. They are kept while there is room; beyond that the older half of the
    duals is dropped, and those are solved again from the multipliers when needed. Memory is measured again
    once the number of duals may have grown by half.

    Parameters
    ----------
    capacity
        In bytes.

    Examples
    --------
    >>> duals: OpenDuals = OpenDuals(capacity=0)
    >>> duals.put(Region(), Dual())
    >>> duals.take(Region()) is None
    True
    """

    def __init__(self, capacity: float = SearchParameters.node_memory) -> None:
        self._capacity = capacity
        self._duals: OrderedDict[Region, Dual[V]] = OrderedDict()
        self._unmeasured = 0

    @property
    def occupied(self) -> int:
        """Bytes that the duals take, about.

        A policy that several duals have met is counted once, and so is an activity's plan that is part of
        several policies.
        """
        parts = [part for dual in self._duals.values() for point in dual.points for part in point.parts]
        taken: int = sum(part.nbytes for part in {id(part): part for part in parts}.values())
        return DUAL_BYTES * len(self._duals) + REFERENCE_BYTES * len(parts) + taken

    def put(self, region: Region, dual: Dual[V], num_nodes: int = 0) -> None:
        """Keep the dual of a region, if there is room beside `num_nodes` open nodes."""
        self._duals[region] = dual
        self._unmeasured += 1
        if 2 * self._unmeasured < len(self._duals):
            return
        self._unmeasured = 0
        while self._duals and self.occupied + NODE_BYTES * num_nodes > self._capacity:
            for _ in range((1 + len(self._duals)) // 2):
                self._duals.popitem(last=False)

    def take(self, region: Region) -> Dual[V] | None:
        """Remove the dual of a region and return it; None if it was dropped."""
        return self._duals.pop(region, None)
