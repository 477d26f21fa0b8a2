"""What a search has told so far; the plan that is made of it is checked by code that no solver uses."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from hcssp.contract.ending import Ending, Reason
from hcssp.contract.memory import Memory, Problem, same_but_for_bounds
from hcssp.contract.plan import Plan
from hcssp.contract.progress import Policy, Progress
from hcssp.contract.proof import Infeasible, Interval, Proof
from hcssp.contract.trace import Trace, TracePoint
from hcssp.cssp.expansion import ExpandedCSSP, Expansion, lifted, under_bounds_of
from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.cssp.reachability import almost_sure, reachable
from hcssp.cssp.reward import RewardInterval
from hcssp.errors import InvalidPlan, InvalidProblem
from hcssp.evaluation.exact import evaluate
from hcssp.evaluation.records import Evaluation
from hcssp.numerics import CLAIM_TOLERANCE, FEASIBILITY_TOLERANCE, Tolerances
from hcssp.procedure.model import HCSSP
from hcssp.proofs.search_record import SearchRecord


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
        cls, problem: Problem | ImplicitCSSP, start: Plan | None, tolerances: Tolerances, memory: Memory
    ) -> Findings:
        """What a plan from an earlier run is worth here: its policy, evaluated anew, and its bounds."""
        if isinstance(problem, ImplicitCSSP):
            expansion = memory.expansion(problem)
            known = None if start is None else _continued(problem, start, expansion)
            findings = cls._begun(expansion.part_of(problem), known, tolerances)
            findings.implicit = problem
            return findings
        return cls._begun(problem, start, tolerances)

    @classmethod
    def _begun(cls, problem: Problem, start: Plan | None, tolerances: Tolerances) -> Findings:
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
            reward=known.reward,
        )
        trace = [TracePoint(0.0, known.lower_bound, known.upper_bound)]
        return cls(problem, tolerances, progress, trace, known)

    def settle(self, part: ExpandedCSSP) -> None:
        """The search of an implicit problem has ended, and this is the part that was expanded."""
        self.problem = part
        found = self.progress.incumbent
        if isinstance(found, DeterministicPolicy):
            self.progress = replace(self.progress, incumbent=lifted(found, part))

    def add(self, step: Progress) -> None:
        """What the solver tells next."""
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
            reward=last.reward,
            improved=step.seconds if better else last.improved,
        )
        self.progress = replace(self.progress, reward=self._reward(better))
        point = TracePoint(step.seconds, self.progress.lower_bound, self.progress.upper_bound)
        if not self.trace or self.trace[-1][1:] != point[1:]:
            self.trace.append(point)

    def _reward(self, better: bool) -> RewardInterval | None:
        """What is proven about the reward; costs are what is missed of it, and stored with a margin."""
        reward, found, last = self.problem.reward, self.progress.incumbent, self.progress.reward
        if reward is None or found is None:
            return None
        value = -inf if last is None else last.value
        if better or last is None:
            evaluation = evaluate(found.problem, found)
            value = reward.value({name: evaluation.cost(name) for name in reward.weights})
        return reward.proven(value, self.progress.lower_bound)

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


def _continued(problem: ImplicitCSSP, start: Plan, expansion: Expansion) -> Plan:
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
