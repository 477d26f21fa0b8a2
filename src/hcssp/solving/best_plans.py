r"""The k best plans: different deterministic plans that keep the bounds, in the order of their cost.

**Problem.** The `k` deterministic policies of least cost that keep the bounds. Two policies are different if
they take different actions in a state that they reach.

**Method.** The exact method (:mod:`hcssp.methods.policy_branching`) on the flat problem, with two changes.
The cutoff is the cost of the k-th best policy found so far. A region whose dual is one policy is not pruned:
the rest of it splits into disjoint regions, one for each state that the policy reaches (the same actions in
earlier states, another one here), as in :mod:`hcssp.methods.anytime`. Reduced costs bound each of them before
its own dual is solved.

**Guarantee.** Regions cover all policies but those that were found, so the least bound of the open and pruned
regions is a lower bound on every plan that is not listed.

**References.** Lawler 1972; Murty 1968.
"""

from __future__ import annotations

import time
from bisect import insort
from collections.abc import Callable, Hashable, Iterator
from contextvars import copy_context
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from hcssp.contract.plan import Plan
from hcssp.contract.progress import Progress
from hcssp.contract.proof import Ending, Interval, Reason
from hcssp.contract.solver import Context, Problem
from hcssp.cssp.model import refuse_implicit
from hcssp.cssp.policy import NO_ROW
from hcssp.deadline import OutOfTime, until
from hcssp.display import Card
from hcssp.dual.ascent import Dual, lagrangian_bound
from hcssp.dual.flat import FlatOracle, FlatPoint
from hcssp.errors import InvalidOption
from hcssp.evaluation.chain import induced_chain
from hcssp.evaluation.exact import evaluate
from hcssp.methods.anytime import Rest
from hcssp.methods.best_first import BestFirst
from hcssp.methods.incumbents import Reporter
from hcssp.methods.policy_branching import Node, PolicySearch, SearchParameters
from hcssp.numerics import OPTIMALITY_TOLERANCE, relative_gap
from hcssp.procedure.model import refuse_choices_per_event, refuse_parts
from hcssp.procedure.validation import explaining_dead_ends
from hcssp.threads import single_threaded_algebra


@dataclass(frozen=True)
class BestPlans(Card):
    """Different plans that keep the bounds, the best one first.

    Attributes
    ----------
    plans
        The plans. The lower bound of each is that of the problem, so its gap says how much worse than the
        best plan it may be.
    others
        No other plan that keeps the bounds costs less; ``inf`` if there is no other.
    ending
        Why the search ended.
    """

    plans: tuple[Plan, ...]
    others: float
    ending: Ending

    def __len__(self) -> int:
        return len(self.plans)

    def __iter__(self) -> Iterator[Plan]:
        return iter(self.plans)

    def __getitem__(self, index: int) -> Plan:
        return self.plans[index]

    def __repr__(self) -> str:
        costs = ", ".join(f"{plan.upper_bound:.6g}" for plan in self.plans)
        return f"<BestPlans: {len(self)}, of costs {costs}; any other costs {self.others:.10g} or more>"

    @property
    def proven(self) -> int:
        """The number of plans, from the first on, whose rank is proven: no plan after them costs less."""
        gaps = [relative_gap(min(self.others, plan.upper_bound), plan.upper_bound) for plan in self.plans]
        return sum(gap <= OPTIMALITY_TOLERANCE for gap in gaps)

    def differences(self, index: int) -> dict[Hashable, tuple[Hashable, Hashable | None]]:
        """A place where a plan differs from the best one.

        Returns
        -------
        dict
            From the label of a state of the flat problem that the plan reaches to its action and that of the
            best plan, None if the best plan does not go there.
        """
        flat = self.plans[0].problem.flat
        best, other = (_reached_rows(self.plans[each]) for each in (0, index))
        label = flat.action_labels
        return {
            flat.state_labels[state]: (label[row], label[best[state]] if state in best else None)
            for state, row in other.items()
            if best.get(state) != row
        }


def _reached_rows(plan: Plan) -> dict[int, int]:
    """The row of every state of the flat problem that a plan reaches."""
    rows = plan.policy.rows
    reached = induced_chain(plan.problem, plan.policy).reached & (rows != NO_ROW)
    return {state: int(rows[state]) for state in np.flatnonzero(reached).tolist()}


class _Best(BestFirst[Any, FlatPoint]):
    """Open nodes and the best `count` policies; the cutoff is the cost of the last of them."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count
        self.found: list[tuple[float, bytes, FlatPoint]] = []

    def offer(self, cost: float, solution: FlatPoint) -> bool:
        rows = np.where(solution.reached, solution.rows, -1).tobytes()
        if cost >= self.upper_bound or any(rows == each for _, each, _ in self.found):
            return False
        insort(self.found, (cost, rows, solution))
        del self.found[self._count :]
        self.incumbent = self.found[0][2]
        if len(self.found) == self._count:
            self.upper_bound = self.found[-1][0]
        return True


@dataclass(frozen=True)
class _Unsplit(Node):
    """A node whose region is made when it is expanded: of thousands, few are."""

    rest: Rest | None = field(default=None, repr=False)


class _Ranking(PolicySearch[FlatPoint]):
    """The exact method, continued beyond the best policy."""

    oracle: FlatOracle
    queue: _Best

    def __init__(self, problem: Problem, count: int) -> None:
        # Dominated actions and identical activities make other plans, too.
        oracle = FlatOracle(problem.flat, affordable=True)
        parameters = SearchParameters(symmetry=False, enumeration=False)
        super().__init__(oracle, problem, Context(wanted_gap=0.0), parameters)
        self.queue = _Best(count)
        self.reporter = Reporter(problem, oracle, self.queue)

    def expand(self, bound: float, node: Node) -> None:
        if isinstance(node, _Unsplit) and node.rest is not None:
            region = node.rest.split_off(self.oracle)
            node = Node(region, node.prices, node.bound, node.number, solved=False)
        super().expand(bound, node)

    def close(self, bound: float, node: Node, dual: Dual[FlatPoint]) -> None:
        """Split a region around the one policy of its dual, which has been offered."""
        if bound >= self.queue.cutoff or not dual.support:
            self.queue.prune(bound)
            return
        oracle, prices, point = self.oracle, dual.prices, dual.support[0]
        least, states, surcharges = oracle.deviations(point, np.append(1.0, prices), node.region)
        number = node.number
        for position, surcharge in enumerate(surcharges.tolist()):
            value = lagrangian_bound(least + surcharge, prices, oracle.bounds)
            proven = max(node.bound, value)
            row = int(point.rows[states[position]])
            number, other = self.record.split_orbit(number, [row])
            rest = Rest(node.region, point, states, position)
            child = _Unsplit(node.region, prices, proven, other, solved=False, rest=rest)
            self.queue.push(max(bound, oracle.strategies.round_up(proven)), child)


def best_plans(
    problem: Problem,
    count: int = 5,
    *,
    time_limit: float | None = None,
    on_progress: Callable[[Progress], object] | None = None,
) -> BestPlans:
    """The `count` best deterministic plans that keep the bounds, in the order of their cost.

    Parameters
    ----------
    problem
        A C-SSP or an HC-SSP.
    count
        How many plans; fewer are returned if there are no more.
    time_limit
        Seconds after which the best plans found so far are returned; :attr:`BestPlans.proven` says how many
        of them are in their place for certain.
    on_progress
        Called with every snapshot of the search, whose upper bound is the cost of the last plan.

    Raises
    ------
    InvalidOption
        If `count` is not a positive integer.
    UnsupportedProblem
        If the states of the problem are not enumerated.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InvalidOption(f"count={count!r}: give the number of plans, 1 or more")
    refuse_implicit(problem, "a list of the best plans")
    if problem.implicit is None:
        refuse_parts(problem)
        refuse_choices_per_event(problem, "a list of the best plans")
    began = time.perf_counter()
    deadline = inf if time_limit is None else began + time_limit
    with explaining_dead_ends(problem), single_threaded_algebra():
        search = _Ranking(problem, count)
        # In a separate context, so that the deadline ends with it.
        others, ending = copy_context().run(_run, search, deadline, on_progress)
    found = [problem.policy(search.oracle.lift(point)) for _, _, point in search.queue.found]
    evaluations = [evaluate(problem, policy) for policy in found]
    costs = [float(each.costs[0]) for each in evaluations]
    others = min(others, search.queue.floor)
    seconds = time.perf_counter() - began
    plans = [
        Plan(
            problem=problem,
            found_policy=policy,
            evaluation=evaluation,
            proof=Interval(min([others, *costs]), cost),
            ending=ending,
            method="exact",
            seconds=seconds,
            iterations=search.reporter.iterations,
        )
        for policy, evaluation, cost in zip(found, evaluations, costs, strict=True)
    ]
    return BestPlans(tuple(sorted(plans, key=lambda plan: plan.upper_bound)), others, ending)


def _run(
    search: _Ranking, deadline: float, on_progress: Callable[[Progress], object] | None
) -> tuple[float, Ending]:
    """A lower bound on all plans that the search has not found, and why it ended."""
    others = -inf
    ending = Ending(Reason.PROVED)
    try:
        with until(deadline):
            for progress in search.run():
                others = max(others, progress.lower_bound)
                if on_progress is not None:
                    on_progress(progress)
    except OutOfTime:
        ending = Ending(Reason.TIME_LIMIT)
    except KeyboardInterrupt:
        ending = Ending(Reason.INTERRUPTED)
    return others, ending
