"""``solve``: run any solver until a stop criterion holds, and check what it claims.

The solver is a generator of progress. This function consumes it, keeps the trace, turns Ctrl-C into an
ordinary stop, evaluates the incumbent by code that shares nothing with the solver, and freezes the plan.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from hcssp.contract.ending import Ending, Reason
from hcssp.contract.memory import Memory, Problem, same_but_for_bounds
from hcssp.contract.plan import Plan
from hcssp.contract.progress import Policy, Progress
from hcssp.contract.proof import Infeasible, Interval, Proof
from hcssp.contract.solver import Context, Solver
from hcssp.contract.stop import (
    Gap,
    StopCriterion,
    criteria_of,
    first_ending,
    memory_limit_of,
    time_limit_of,
)
from hcssp.contract.trace import Trace, TracePoint
from hcssp.cssp.expansion import ExpandedCSSP, Expansion, lifted, under_bounds_of
from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.cssp.model import FloatArray
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.cssp.priced_part import settled_part
from hcssp.cssp.reachability import almost_sure, reachable
from hcssp.deadline import OutOfTime, until
from hcssp.errors import InvalidPlan, InvalidProblem, UnsupportedProblem
from hcssp.evaluation.exact import Evaluation, evaluate
from hcssp.methods.open_duals import SHARE_OF_LIMIT
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.numerics import (
    CLAIM_TOLERANCE,
    DEFAULT_TOLERANCES,
    FEASIBILITY_TOLERANCE,
    PRUNE_TOLERANCE,
    Tolerances,
)
from hcssp.procedure.dead_ends import explaining_dead_ends
from hcssp.procedure.model import HCSSP
from hcssp.proofs.search_record import SearchRecord
from hcssp.threads import single_threaded_algebra

if TYPE_CHECKING:
    from hcssp.workers import Workers

LATER, LONGER = 0.5, 1.03
"""Work inside a step is given up so many seconds, and so many times, later than the time limit: a solver that
ends by itself between two steps knows more."""


class UnsoundResult(RuntimeError):
    """A solver's claim does not survive the independent evaluation: a bug, never a user's mistake."""


@single_threaded_algebra()
def solve(
    problem: Problem | ImplicitCSSP,
    solver: Solver | None = None,
    stop: StopCriterion | Iterable[StopCriterion] | None = None,
    on_progress: Callable[[Progress], object] | None = None,
    *,
    start: Plan | None = None,
    memory: Memory | None = None,
    like: Plan | None = None,
    tolerances: Tolerances = DEFAULT_TOLERANCES,
    executor: Any | None = None,
    record: SearchRecord | None = None,
) -> Plan:
    """Solve `problem` until a criterion of `stop` holds or the solver has nothing left to do.

    Parameters
    ----------
    problem
        A C-SSP or an HC-SSP; or an implicit C-SSP, of which the plan's problem is the part that was expanded.
    solver
        Its parameters, such as ``BudgetAllocation(iterations=10)``; by default the exact method, for an
        implicit problem heuristic search.
    stop
        A criterion or several; the first that holds gives the reason. By default a relative gap at which a
        plan is called optimal; an empty list goes on to the solver's own end.
    on_progress
        Called with every snapshot.
    start
        A plan to begin with: its policy is the first incumbent if it keeps the bounds, what was proven or
        verified under the same bounds is taken over, its prices are the first to be tried, and what was
        learnt is kept. What a file merely claims
        (:attr:`Plan.claim`) is not.
    memory
        What was learnt about the same problem before.
    like
        A plan for a similar problem, such as the same before the world changed: its prices, and the regions
        that its search has split, are the first to be tried.
    tolerances
        What counts as keeping a bound, and what as optimal.
    executor
        Who does the work side by side: :func:`hcssp.open_workers`, a Dask client, or any executor of
        :mod:`concurrent.futures`. It stays open. By default this process does it alone.
    record
        Where the search writes down its regions, for who looks at them while it goes on. One with regions,
        such as :func:`hcssp.load_search` reads from a file, is gone on from; what is known of them is proven
        anew.

    Returns
    -------
    Plan
        What is proven, and the best policy with its independent evaluation. Ctrl-C returns the incumbent.
    """
    began = time.perf_counter()
    if isinstance(problem, ExpandedCSSP):
        problem = problem.unexpanded()
    method = solver or _method_for(problem)
    criteria = criteria_of(Gap(tolerances.optimality) if stop is None else stop)
    if memory is None:
        memory = Memory() if start is None else start.memory
    workers = None if executor is None else _workers_for(method, executor)
    known = _Record.begun(problem, start, tolerances, memory)
    limit = memory_limit_of(criteria)
    context = Context(
        known.progress.upper_bound,
        time_limit_of(criteria),
        memory,
        node_memory=SHARE_OF_LIMIT * limit if limit < inf else None,
        memory_limit=limit,
        workers=workers,
        wanted_gap=_wanted_gap(criteria, tolerances),
        prices=_prices_of(problem, start, like),
        guide=None if like is None else like.record,
        record=SearchRecord() if record is None else record,
    )
    known.search = context.record
    ending = None if known.progress.incumbent is None else first_ending(criteria, known.progress)
    steps = method.iterate(known.searched, context) if ending is None else iter(())
    try:
        with explaining_dead_ends(problem), until(began + LONGER * context.time_limit + LATER):
            for step in steps:
                known.add(step)
                if on_progress is not None:
                    on_progress(known.progress)
                ending = step.ending or first_ending(criteria, known.progress)
                if ending is not None:
                    break
    except KeyboardInterrupt:
        ending = Ending(Reason.INTERRUPTED)
    except OutOfTime:
        ending = Ending(Reason.TIME_LIMIT)
    finally:
        close = getattr(steps, "close", None)
        if close is not None:
            close()
        if workers is not None:
            workers.close()
    ending = _honest(ending or Ending(Reason.EXHAUSTED), known.progress.gap, criteria, tolerances)
    if isinstance(problem, ImplicitCSSP):
        known.settle(settled_part(memory.expansion(problem), problem))
    return known.conclude(method.name, ending, memory)


def _method_for(problem: Problem | ImplicitCSSP) -> Solver:
    if not isinstance(problem, ImplicitCSSP):
        return PolicyBranching()
    from hcssp.methods.heuristic_search import HeuristicSearch

    return HeuristicSearch()


def _workers_for(method: Solver, executor: Any) -> Workers:
    """The workers that an executor stands for, for a method that has something to do for them."""
    if not getattr(method, "uses_workers", False):
        raise UnsupportedProblem(
            f"the method {method.name!r} does its work in one process; leave the executor out, or use 'exact'"
        )
    from hcssp.workers import open_workers

    return open_workers(executor=executor)


def _prices_of(problem: Problem | ImplicitCSSP, *plans: Plan | None) -> FloatArray | None:
    """The prices that a plan came with, to begin with; None unless all of them are known."""
    for plan in plans:
        if plan is not None and plan.prices is not None:
            known = zip(problem.constraint_names, problem.bounds, strict=True)
            prices = np.array([plan.prices.get(name, 0.0 if bound == 0.0 else inf) for name, bound in known])
            if np.isfinite(prices).all():
                return prices
    return None


def _honest(ending: Ending, gap: float, criteria: Iterable[StopCriterion], tolerances: Tolerances) -> Ending:
    """No search ends with a complete proof while its gap is above what was asked for.

    A method that has looked at everything may still be left with what rounding hides from it.
    """
    if ending.reason is not Reason.PROVED:
        return ending
    asked = _wanted_gap(criteria, tolerances)
    if gap <= max(asked, 2.0 * PRUNE_TOLERANCE):
        return ending
    return Ending(Reason.ROUNDING, ending.detail)


def _wanted_gap(criteria: Iterable[StopCriterion], tolerances: Tolerances) -> float:
    return min((each.relative for each in criteria if isinstance(each, Gap)), default=tolerances.optimality)


def resolve(
    plan: Plan,
    bounds: Mapping[str, float] | None = None,
    *,
    solver: Solver | None = None,
    stop: StopCriterion | Iterable[StopCriterion] | None = None,
    on_progress: Callable[[Progress], object] | None = None,
    tolerances: Tolerances | None = None,
    **named: float,
) -> Plan:
    """Solve the problem of `plan` under other bounds, with all that was learnt; see :func:`solve`.

    >>> from hcssp.scenarios import small_building
    >>> plan = solve(small_building(bound=2.0))
    >>> stricter = resolve(plan, damage=1.0)
    >>> round(plan.upper_bound, 4), round(stricter.upper_bound, 4)
    (27.7191, 46.6619)
    """
    return solve(
        plan.problem.with_bounds(bounds, **named),
        solver,
        stop,
        on_progress,
        start=plan if plan.found else None,
        memory=plan.memory,
        tolerances=tolerances or plan.tolerances,
    )


@dataclass
class _Record:
    """What has been proven so far; it only tightens."""

    problem: Problem
    tolerances: Tolerances
    progress: Progress = field(default_factory=Progress)
    trace: list[TracePoint] = field(default_factory=list)
    start: Plan | None = None
    search: SearchRecord = field(default_factory=SearchRecord)
    implicit: ImplicitCSSP | None = None

    @cached_property
    def searched(self) -> Any:
        """The problem that the method is given: under bounds that turn its tolerance into the wanted one."""
        problem = self.implicit or self.problem
        if self.tolerances.feasibility == FEASIBILITY_TOLERANCE:
            return problem
        bounds = self.tolerances.shifted(problem.bounds).tolist()
        return problem.with_bounds(dict(zip(problem.constraint_names, bounds, strict=True)))

    @classmethod
    def begun(
        cls, problem: Problem | ImplicitCSSP, start: Plan | None, tolerances: Tolerances, memory: Memory
    ) -> _Record:
        """What a plan from an earlier run is worth here: its policy, evaluated anew, and its bounds."""
        if isinstance(problem, ImplicitCSSP):
            expansion = memory.expansion(problem)
            known = None if start is None else continued(problem, start, expansion)
            record = cls._begun(expansion.part_of(problem), known, tolerances)
            record.implicit = problem
            return record
        return cls._begun(problem, start, tolerances)

    def settle(self, part: ExpandedCSSP) -> None:
        """The search of an implicit problem has ended, and this is the part that was expanded."""
        self.problem = part
        found = self.progress.incumbent
        if isinstance(found, DeterministicPolicy):
            self.progress = replace(self.progress, incumbent=lifted(found, part))

    @classmethod
    def _begun(cls, problem: Problem, start: Plan | None, tolerances: Tolerances) -> _Record:
        if start is None:
            return cls(problem, tolerances)
        if not same_but_for_bounds(problem, start.problem):
            raise InvalidProblem(["the plan to start with is one for another problem; give one for this"])
        # What was proven for what counted as feasible then holds for whatever is stricter.
        stricter = tolerances.feasibility <= start.tolerances.feasibility
        known = start.under(problem) if stricter else replace(start.under(problem), proof=Interval())
        known = replace(known, tolerances=tolerances).evaluated()
        if not known.keeps_bounds():
            return cls(problem, tolerances)
        progress = Progress(
            lower_bound=known.lower_bound,
            upper_bound=known.upper_bound,
            incumbent=known.found_policy,
            budgets=known.budgets or None,
            improved=0.0,
        )
        trace = [TracePoint(0.0, known.lower_bound, known.upper_bound)]
        return cls(problem, tolerances, progress, trace, known)

    def add(self, step: Progress) -> None:
        last = self.progress
        better = step.upper_bound < last.upper_bound
        # A solver that was given a better incumbent goes on to tell of its own, worse one.
        own = better or step.incumbent is last.incumbent
        self.progress = replace(
            step,
            lower_bound=max(step.lower_bound, last.lower_bound),
            upper_bound=min(step.upper_bound, last.upper_bound),
            incumbent=step.incumbent if better else last.incumbent,
            budgets=step.budgets if own and step.budgets is not None else last.budgets,
            prices=step.prices if step.prices is not None else last.prices,
            stochastic=step.stochastic or last.stochastic,
            randomised=step.randomised or last.randomised,
            infeasible=step.infeasible or last.infeasible,
            improved=step.seconds if better else last.improved,
        )
        point = TracePoint(step.seconds, self.progress.lower_bound, self.progress.upper_bound)
        if not self.trace or self.trace[-1][1:] != point[1:]:
            self.trace.append(point)

    def conclude(self, method: str, ending: Ending, memory: Memory) -> Plan:
        """The plan, once the solver's claims have survived the independent evaluation."""
        problem, progress, optimality = self.problem, self.progress, self.tolerances.optimality
        policy = progress.incumbent
        if policy is not None and policy.problem is not problem and self.searched is not problem:
            policy = _under(policy, problem)
        evaluation: Evaluation | None = None
        # The plan keeps what was learnt; the factors of its last policies would lie beside those made here.
        memory.release()
        self.search.release()
        proof: Proof = Interval(progress.lower_bound)
        if policy is not None:
            evaluation = evaluate(problem, policy)
            cost = float(evaluation.costs[0])
            self._check(evaluation, cost, ending)
            proof = Interval(min(float(progress.lower_bound), cost), cost, optimality)
        elif progress.infeasible is not None:
            proof, ending = self._refuted(progress.infeasible, ending)
        elif ending.reason is Reason.INFEASIBLE:
            raise UnsoundResult(
                "nothing is feasible, says the solver, but it gives no proof; it must set Progress.infeasible"
            )
        return Plan(
            problem=problem,
            found_policy=policy,
            evaluation=evaluation,
            proof=proof,
            ending=ending,
            prices=_by_name(problem, progress.prices),
            budgets=progress.budgets or {},
            trace=Trace(self.trace),
            stochastic=progress.stochastic,
            randomised=progress.randomised,
            method=method,
            seconds=progress.seconds,
            iterations=progress.iterations,
            tolerances=self.tolerances,
            memory=memory,
            record=self.search,
        )

    def _refuted(self, claimed: Infeasible, ending: Ending) -> tuple[Proof, Ending]:
        """That there is no plan, and why: the graph says whether it is for want of one that ends."""
        if claimed.weights is not None:
            same = self.searched is self.problem
            return claimed if same else _infeasible(claimed, self.problem), ending
        if not _can_end(self.problem):
            return replace(claimed, ends=False), ending
        if not np.isfinite(self.problem.bounds).any():
            # A policy that ends is all that is asked for, and there is one.
            lost = "there are policies that end, but so late that the method loses them"
            return Interval(), Ending(Reason.ROUNDING, lost)
        return claimed, ending

    def _check(self, evaluation: Evaluation, cost: float, ending: Ending) -> None:
        """A policy that breaks its budget, or a bound that is not one, is the worst bug we can have."""
        progress, start = self.progress, self.start
        broken = evaluation.violations(self.tolerances.feasibility)
        if broken:
            raise UnsoundResult(f"the policy breaks its bounds: {broken}")
        # A cost of nothing may be a rounding error of what a step costs.
        allowed = CLAIM_TOLERANCE * (abs(cost) + _largest_cost(self.problem))
        if abs(cost - progress.upper_bound) > allowed:
            raise UnsoundResult(f"the policy costs {cost}, not {progress.upper_bound} as the solver says")
        if progress.infeasible is not None or ending.reason is Reason.INFEASIBLE:
            raise UnsoundResult(f"nothing is feasible, says the solver, but a policy of cost {cost} is")
        if progress.lower_bound > cost + allowed:
            if start is not None and start.lower_bound >= progress.lower_bound:
                raise InvalidPlan(
                    [
                        f"the plan's lower bound {start.lower_bound} is not true: a plan of cost {cost} "
                        "keeps the same bounds; begin without it"
                    ]
                )
            raise UnsoundResult(
                f"the lower bound {progress.lower_bound} is above a feasible policy's cost {cost}"
            )


def continued(problem: ImplicitCSSP, start: Plan, expansion: Expansion) -> Plan:
    """A plan from an earlier run as one of the part that is expanded now; it grows by where the plan goes."""
    policy, part = start.found_policy, start.problem
    if not isinstance(policy, DeterministicPolicy):
        raise InvalidProblem(["the plan to start with is one for another problem; give one for this"])
    source = part.source if isinstance(part, ExpandedCSSP) else None
    if source is None or source.space is not problem.space or not start.memory.knows(expansion):
        policy, start = expansion.follow(policy.actions()), replace(start, proof=Interval())
    bounds = dict(zip(problem.constraint_names, start.problem.bounds.tolist(), strict=True))
    now = under_bounds_of(expansion.part(), problem.with_bounds(bounds))
    return replace(start, problem=now, found_policy=lifted(policy, now), evaluation=None)


def _under(policy: Policy, problem: Any) -> Policy:
    return policy.under(problem)


def _can_end(problem: Problem) -> bool:
    """Whether some policy reaches the end almost surely; a question about the graph alone."""
    flat = problem.flattening.cssp if isinstance(problem, HCSSP) else problem
    certain = almost_sure(flat, within=reachable(flat))
    return bool(certain.states[flat.initial > 0.0].all())


def _infeasible(proof: Infeasible, problem: Problem) -> Infeasible:
    """The proof in terms of the bounds themselves, whatever the method made of their tolerance."""
    refuted = proof.weights
    if refuted is None:
        return proof
    used = refuted.weights > 0.0
    allowed = float(refuted.weights[used] @ problem.bounds[used])
    return replace(proof, weights=replace(refuted, allowed=allowed))


def _largest_cost(problem: Problem) -> float:
    """The largest primary cost of any step."""
    parts = [each.cssp for each in problem.activities] if isinstance(problem, HCSSP) else [problem]
    return max((float(part.costs[0].max(initial=0.0)) for part in parts), default=0.0)


def _by_name(problem: Problem, prices: Any) -> dict[str, float] | None:
    if prices is None:
        return None
    # Where nothing is allowed, whatever costs any is taken out: no multiplier says what more would be worth.
    return {
        name: float(price)
        for name, price, bound in zip(problem.constraint_names, prices, problem.bounds, strict=True)
        if bound != 0.0
    }
