"""``solve``: run any solver until a stop criterion holds, and check its claims.

The solver is a generator of progress. This function consumes it, keeps the trace, turns Ctrl-C at any instant
into an ordinary stop, evaluates the incumbent by code that no solver uses, and freezes the plan.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from hcssp.contract.plan import Plan
from hcssp.contract.progress import (
    Gap,
    Policies,
    Progress,
    Stop,
    StopCriterion,
    criteria_of,
    first_ending,
    memory_limit_of,
    time_limit_of,
)
from hcssp.contract.proof import Ending, Infeasible, Interval, Proof, Reason, Trace, TracePoint
from hcssp.contract.solver import Context, Memory, Problem, Solver, as_chosen_by, same_but_for_bounds
from hcssp.cssp.model import FloatArray, RewardInterval, refuse_implicit
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.cssp.reachability import almost_sure, reachable
from hcssp.deadline import OutOfTime, until
from hcssp.errors import InvalidOption, InvalidPlan, InvalidProblem, UnsupportedProblem
from hcssp.evaluation.exact import Evaluation, evaluate
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.numerics import (
    CLAIM_TOLERANCE,
    DEFAULT_TOLERANCES,
    FEASIBILITY_TOLERANCE,
    PRUNE_TOLERANCE,
    Tolerances,
)
from hcssp.procedure.model import HCSSP, refuse_parts
from hcssp.procedure.policy import ProcedurePolicy
from hcssp.procedure.validation import explaining_dead_ends
from hcssp.proofs.search_record import SearchRecord
from hcssp.threads import single_threaded_algebra

if TYPE_CHECKING:
    from hcssp.cssp.expansion import ExpandedCSSP, Expansion
    from hcssp.cssp.implicit import ImplicitCSSP
    from hcssp.workers import Workers


class UnsoundResult(RuntimeError):
    """A solver's claim does not survive the independent evaluation: a bug, never a user's mistake."""


@dataclass
class Findings:
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
        cls,
        problem: Problem | ImplicitCSSP,
        start: Plan | None,
        tolerances: Tolerances,
        memory: Memory,
        policies: Policies = "deterministic",
    ) -> Findings:
        """The start from an earlier plan: its policy, evaluated again, and its bounds."""
        if problem.implicit is None:
            return cls._begun(problem, start, tolerances, policies)
        implicit = problem.implicit
        expansion = memory.expansion(implicit)
        known = None if start is None else _continued(implicit, start, expansion)
        findings = cls._begun(expansion.part_of(implicit), known, tolerances, policies)
        findings.implicit = implicit
        return findings

    @classmethod
    def _begun(
        cls, problem: Problem, start: Plan | None, tolerances: Tolerances, policies: Policies
    ) -> Findings:
        if start is None:
            return cls(problem, tolerances)
        if not same_but_for_bounds(problem, start.problem):
            raise InvalidProblem(["the plan to start with is one for another problem; give one for this"])
        # A bound proven under a weaker tolerance is valid under a stricter one.
        stricter = tolerances.feasibility <= start.tolerances.feasibility
        known = start.under(problem) if stricter else replace(start.under(problem), proof=Interval())
        if start.policies != policies:
            if policies == "deterministic" and known.policy.is_randomised:
                return cls(problem, tolerances)
            # Bounds on deterministic policies are not valid for randomised ones.
            known = replace(known, proof=Interval(), policies=policies)
        known = replace(known, tolerances=tolerances).evaluated()
        if not known.keeps_bounds() or _mixes_choices(known.found_policy, known.evaluation):
            return cls(problem, tolerances)
        progress = Progress(
            lower_bound=known.lower_bound,
            upper_bound=known.upper_bound,
            incumbent=known.found_policy,
            budgets=known.budgets or None,
            improved=0.0,
            reward=known.reward,
        )
        trace = [TracePoint(0.0, known.lower_bound, known.upper_bound)]
        return cls(problem, tolerances, progress, trace, known)

    def settle(self, part: ExpandedCSSP) -> None:
        """The search of an implicit problem has ended, and this is the part that was expanded."""
        from hcssp.cssp.expansion import lifted

        self.problem = part
        found = self.progress.incumbent
        if isinstance(found, DeterministicPolicy):
            self.progress = replace(self.progress, incumbent=lifted(found, part))

    def add(self, step: Progress) -> None:
        """Add the next snapshot of the solver."""
        last = self.progress
        better = step.upper_bound < last.upper_bound
        # A solver may report its own incumbent although it was given a better one.
        own = better or step.incumbent is last.incumbent
        self.progress = replace(
            step,
            lower_bound=max(step.lower_bound, last.lower_bound),
            upper_bound=min(step.upper_bound, last.upper_bound),
            incumbent=step.incumbent if better else last.incumbent,
            budgets=step.budgets if own and step.budgets is not None else last.budgets,
            prices=step.prices if step.prices is not None else last.prices,
            stochastic=step.stochastic or last.stochastic,
            infeasible=step.infeasible or last.infeasible,
            reward=last.reward,
            improved=step.seconds if better else last.improved,
        )
        self.progress = replace(self.progress, reward=self._reward(better))
        point = TracePoint(step.seconds, self.progress.lower_bound, self.progress.upper_bound)
        if not self.trace or self.trace[-1][1:] != point[1:]:
            self.trace.append(point)

    def _reward(self, better: bool) -> RewardInterval | None:
        """The reward and its bound, from costs, which are the missed reward plus a margin."""
        reward, found, last = self.problem.reward, self.progress.incumbent, self.progress.reward
        if reward is None or found is None:
            return None
        value = -inf if last is None else last.value
        if better or last is None:
            evaluation = evaluate(found.problem, found)
            value = reward.value({name: evaluation.cost(name) for name in reward.weights})
        return reward.proven(value, self.progress.lower_bound)

    def conclude(self, method: Solver, ending: Ending, memory: Memory) -> Plan:
        """The plan, once the solver's claims have survived the independent evaluation."""
        problem, progress, optimality = self.problem, self.progress, self.tolerances.optimality
        policy = progress.incumbent
        if policy is not None and policy.problem is not problem and self.searched is not problem:
            policy = policy.under(problem)
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
                "the solver reports that no plan is feasible without a proof; it must set Progress.infeasible"
            )
        return Plan(
            problem=problem,
            found_policy=policy,
            evaluation=evaluation,
            proof=proof,
            ending=ending,
            kept=self.start is not None and evaluation is not None and cost >= self.start.upper_bound,
            prices=_by_name(problem, progress.prices),
            budgets=progress.budgets or {},
            allocation=progress.allocation,
            trace=Trace(self.trace),
            stochastic=progress.stochastic,
            policies=_policies_of(method),
            method=method.name,
            seconds=progress.seconds,
            iterations=progress.iterations,
            tolerances=self.tolerances,
            memory=memory,
            record=self.search,
        )

    def _refuted(self, claimed: Infeasible, ending: Ending) -> tuple[Proof, Ending]:
        """Infeasibility with its reason: the graph decides whether no policy ends."""
        if claimed.weights is not None:
            same = self.searched is self.problem
            return claimed if same else _infeasible(claimed, self.problem), ending
        if not _can_end(self.problem):
            return replace(claimed, ends=False), ending
        if not np.isfinite(self.problem.bounds).any():
            # Without bounds every policy that ends is feasible, and there is one.
            lost = "some policies end, but too late for the method to compute their costs"
            return Interval(), Ending(Reason.ROUNDING, lost)
        return claimed, ending

    def _check(self, evaluation: Evaluation, cost: float, ending: Ending) -> None:
        """A policy that breaks its budget, or a bound that is not one, is the worst bug we can have."""
        progress, start = self.progress, self.start
        broken = evaluation.violations(self.tolerances.feasibility)
        if broken:
            raise UnsoundResult(f"the policy breaks its bounds: {broken}")
        if _mixes_choices(progress.incumbent, evaluation):
            raise UnsoundResult("the policy makes several choices at an event; the problem asks for one")
        # The difference of small costs may be the rounding error of a step cost.
        allowed = CLAIM_TOLERANCE * (abs(cost) + _largest_cost(self.problem))
        if abs(cost - progress.upper_bound) > allowed:
            raise UnsoundResult(f"the policy costs {cost}, not {progress.upper_bound} as the solver reports")
        if progress.infeasible is not None or ending.reason is Reason.INFEASIBLE:
            raise UnsoundResult(
                f"the solver reports that no plan is feasible, but a policy of cost {cost} is"
            )
        if progress.lower_bound > cost + allowed:
            if start is not None and start.lower_bound >= progress.lower_bound:
                raise InvalidPlan(
                    [
                        f"the plan's lower bound {start.lower_bound} is not true: a plan of cost {cost} "
                        "keeps the same bounds; start without it"
                    ]
                )
            raise UnsoundResult(
                f"the lower bound {progress.lower_bound} is above a feasible policy's cost {cost}"
            )


def _mixes_choices(policy: object, evaluation: Evaluation | None) -> bool:
    """Whether a policy makes several choices at an event where its problem asks for one."""
    if evaluation is None or not isinstance(policy, ProcedurePolicy) or not policy.problem.limits_choices:
        return False
    states, made = policy.problem.flattening.event_states, policy.choices
    reached = {state for state, visits in zip(states, evaluation.visits, strict=False) if visits > 0.0}
    chosen = {(state[0], made[state]) for state in reached & made.keys()}
    return len(chosen) > len({event for event, _ in chosen})


def _continued(problem: ImplicitCSSP, start: Plan, expansion: Expansion) -> Plan:
    """A plan from an earlier run as one of the part that is expanded now; it grows by where the plan goes."""
    from hcssp.cssp.expansion import ExpandedCSSP, lifted, under_bounds_of

    policy, part = start.found_policy, start.problem
    if not isinstance(policy, DeterministicPolicy):
        raise InvalidProblem(["the plan to start with is one for another problem; give one for this"])
    source = part.source if isinstance(part, ExpandedCSSP) else None
    if source is None or source.space is not problem.space or not start.memory.knows(expansion):
        policy, start = expansion.follow(policy.actions()), replace(start, proof=Interval())
    bounds = dict(zip(problem.constraint_names, start.problem.bounds.tolist(), strict=True))
    now = under_bounds_of(expansion.part(), problem.with_bounds(bounds))
    return replace(start, problem=now, found_policy=lifted(policy, now), evaluation=None)


def _can_end(problem: Problem) -> bool:
    """Whether some policy reaches the end almost surely; a question about the graph alone."""
    flat = problem.flat
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
    return max((float(part.costs[0].max(initial=0.0)) for part in problem.cssps), default=0.0)


def _by_name(problem: Problem, prices: Any) -> dict[str, float] | None:
    if prices is None:
        return None
    # Under a bound of 0, actions with such a cost are removed, so the bound has no multiplier.
    return {
        name: float(price)
        for name, price, bound in zip(problem.constraint_names, prices, problem.bounds, strict=True)
        if bound != 0.0
    }


LATER, LONGER = 0.5, 1.03
"""Seconds and factor by which the deadline inside a step exceeds the time limit: a solver that ends between
two steps has proven more."""


def solve(
    problem: Problem | ImplicitCSSP,
    method: Solver | str | None = None,
    stop: Stop | None = None,
    on_progress: Callable[[Progress], object] | None = None,
    *,
    time_limit: float | None = None,
    gap: float | None = None,
    start: Plan | None = None,
    memory: Memory | None = None,
    like: Plan | None = None,
    tolerances: Tolerances | None = None,
    executor: object | None = None,
    record: SearchRecord | None = None,
    policies: Policies | None = None,
) -> Plan:
    """Solve `problem` until a criterion of `stop` holds or the method is complete.

    Parameters
    ----------
    problem
        A C-SSP or an HC-SSP; or an implicit C-SSP, of which the plan's problem is the part that was expanded.
    method
        A method with its parameters, such as ``BudgetAllocation(iterations=10)``, or its name: ``"exact"``,
        ``"budget-allocation"``, ``"anytime"``, ``"milp"`` or ``"lp"``. By default the exact method, for an
        implicit problem heuristic search.
    stop
        A criterion or several; the first that holds gives the reason. If neither `stop` nor `gap` is given,
        the search stops at the relative gap at which a plan is called optimal; with an empty list it stops
        when the method is complete.
    on_progress
        Called with every snapshot.
    time_limit, gap
        Stop after this many seconds, or at this relative gap: short for ``MaxRuntime(time_limit)`` and
        ``Gap(gap)``, in addition to `stop`.
    start
        A plan to begin with: its policy is the first incumbent if it keeps the bounds, an interval that was
        proven or verified under the same bounds stays valid, and its prices and its memory are reused. The
        claim of a file (:attr:`Plan.claim`) is not used.
    memory
        Results of earlier searches for the same problem.
    like
        A plan for a similar problem, such as the problem before a change: its prices, and the regions that
        its search has split, are tried first.
    tolerances
        The tolerances of bounds and of optimality.
    executor
        Executes tasks in parallel: :func:`hcssp.open_workers`, a Dask client, or any executor of
        :mod:`concurrent.futures`. It stays open. By default the search runs in this process.
    record
        The record of regions, which may be read during the search. A record with regions, such as
        :func:`hcssp.extend.load_search` reads from a file, is continued; their bounds are proven again.
    policies
        The policies among which to find the best: ``"deterministic"`` or ``"randomised"`` ones. By
        default those of the method; without a method, deterministic ones.

    Raises
    ------
    InvalidOption
        If `method`, `stop`, `time_limit` or `gap` cannot be used; the message has the remedy.
    UnknownName
        If there is no method with this name.

    Returns
    -------
    Plan
        The proof, and the best policy with its independent evaluation. After Ctrl-C, or without memory, it
        has the incumbent.
    """
    began = time.perf_counter()
    tolerances = tolerances or DEFAULT_TOLERANCES
    if problem.implicit is None:
        refuse_parts(problem)
    else:
        problem = problem.implicit
    solver = _solver(method, problem, policies)
    if isinstance(problem, HCSSP):
        problem = as_chosen_by(solver, problem)
    if getattr(solver, "needs_all_states", True):
        refuse_implicit(problem, f"the method {solver.name!r}")
    if stop is None and gap is None:
        gap = tolerances.optimality
    criteria = criteria_of(stop, time_limit, gap)
    if memory is None:
        memory = Memory() if start is None else start.memory
    workers = None if executor is None else _workers_for(solver, executor)
    known = Findings.begun(problem, start, tolerances, memory, _policies_of(solver))
    context = Context(
        known.progress.upper_bound,
        time_limit_of(criteria),
        memory,
        memory_limit=memory_limit_of(criteria),
        workers=workers,
        wanted_gap=_wanted_gap(criteria, tolerances),
        prices=_prices_of(problem, start, like),
        guide=None if like is None else like.record,
        record=SearchRecord() if record is None else record,
    )
    known.search = context.record
    search = _Search(problem, solver, context, known, criteria, on_progress, began)
    try:
        return search.plan()
    except KeyboardInterrupt:
        # It may come at any instant, also while the plan is evaluated. A second one gets through.
        search.interrupt()
        return search.plan()


class _Search:
    """A search and the plan that is made of it; wherever that is interrupted, :meth:`plan` can go on.

    Parameters
    ----------
    problem, method, context
        The problem, the method, and the information at the start.
    known
        Earlier results, to which all new results are added.
    criteria, on_progress
        As for :func:`solve`.
    began
        When the time began, by ``time.perf_counter()``.
    """

    def __init__(
        self,
        problem: Problem | ImplicitCSSP,
        method: Solver,
        context: Context,
        known: Findings,
        criteria: Sequence[StopCriterion],
        on_progress: Callable[[Progress], object] | None,
        began: float,
    ) -> None:
        self._problem = problem
        self._method = method
        self._context = context
        self._known = known
        self._criteria = criteria
        self._on_progress = on_progress
        self._deadline = began + LONGER * context.time_limit + LATER
        self._ending: Ending | None = None
        self._steps: Iterator[Progress] = iter(())
        self._plan: Plan | None = None

    @single_threaded_algebra()
    def plan(self) -> Plan:
        """Search, unless that is over, and conclude."""
        if self._ending is None:
            # In a separate context, so that its deadline ends with it.
            self._ending = copy_context().run(self._run)
        if self._plan is None:
            self._plan = self._concluded(self._ending)
        return self._plan

    def interrupt(self) -> None:
        """The search is over, and nothing more is to be proven."""
        self._ending = Ending(Reason.INTERRUPTED)
        if self._plan is not None:
            self._plan = replace(self._plan, ending=self._ending)
        self._close()

    def _run(self) -> Ending:
        known, ending = self._known, None
        if known.progress.incumbent is not None:
            ending = first_ending(self._criteria, known.progress)
        try:
            if ending is None:
                self._steps = self._method.iterate(known.searched, self._context)
            with explaining_dead_ends(self._problem), until(self._deadline):
                for step in self._steps:
                    known.add(step)
                    if self._on_progress is not None:
                        self._on_progress(known.progress)
                    ending = step.ending or first_ending(self._criteria, known.progress)
                    if ending is not None:
                        break
        except OutOfTime:
            ending = Ending(Reason.TIME_LIMIT)
        except MemoryError as error:
            ending = Ending(Reason.MEMORY, str(error))
        finally:
            self._close()
        return ending or Ending(Reason.EXHAUSTED)

    def _close(self) -> None:
        close = getattr(self._steps, "close", None)
        if close is not None:
            close()
        if self._context.workers is not None:
            self._context.workers.close()

    def _concluded(self, ending: Ending) -> Plan:
        """The plan of the best policy found, evaluated."""
        known, memory, tolerances = self._known, self._context.memory, self._known.tolerances
        ending = _honest(ending, known.progress.gap, self._criteria, tolerances)
        if known.implicit is not None:
            from hcssp.cssp.expansion import settled_part

            known.settle(settled_part(memory.expansion(known.implicit), known.implicit))
        plan = known.conclude(self._method, ending, memory)
        if ending.reason not in (Reason.ROUNDING, Reason.FAILED) or plan.policies == "randomised":
            return plan
        from hcssp.solving.proving import decided

        with until(self._deadline):
            return decided(plan, _wanted_gap(self._criteria, tolerances))


def _policies_of(solver: Solver) -> Policies:
    """Among which policies a method looks for the best."""
    found: Policies = getattr(solver, "policies", "deterministic")
    return found


def _solver(
    method: Solver | str | None, problem: Problem | ImplicitCSSP, policies: Policies | None = None
) -> Solver:
    """The solver that a caller means: one, a name, or None for the default of the problem.

    Raises
    ------
    InvalidOption
        If it is none, or looks for the best among other policies than the wanted ones.
    """
    if policies not in (None, "deterministic", "randomised"):
        raise InvalidOption(f"policies={policies!r}: give 'deterministic' or 'randomised'")
    if policies is not None and method is not None:
        solver = _solver(method, problem)
        if _policies_of(solver) != policies:
            raise InvalidOption(
                f"policies={policies!r}: the method {solver.name!r} finds the best of the "
                f"{_policies_of(solver)} policies; leave one of both out"
            )
        return solver
    if method is None and policies == "randomised":
        from hcssp.methods.randomised import RandomisedDual

        return RandomisedDual()
    if method is None:
        if problem.implicit is None:
            return PolicyBranching()
        from hcssp.methods.heuristic_search import HeuristicSearch

        return HeuristicSearch()
    if isinstance(method, str):
        from hcssp.solving.registry import find_method

        return find_method(method).make()
    if isinstance(method, type):
        raise InvalidOption(f"method={method.__name__}: give an instance, such as {method.__name__}()")
    if not callable(getattr(method, "iterate", None)):
        raise InvalidOption(
            f"method={method!r}: give the name of a method, such as 'exact', or a solver, such as "
            "PolicyBranching()"
        )
    return method


def _workers_for(method: Solver, executor: object) -> Workers:
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
