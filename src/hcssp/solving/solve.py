"""``solve``: run any solver until a stop criterion holds, and check what it claims.

The solver is a generator of progress. This function consumes it, keeps the trace, turns Ctrl-C into an
ordinary stop, evaluates the incumbent by code that shares nothing with the solver, and freezes the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hcssp.contract.ending import Ending, Reason
from hcssp.contract.memory import Memory, Problem, same_but_for_bounds
from hcssp.contract.plan import Plan
from hcssp.contract.progress import Progress
from hcssp.contract.proof import Interval, Proof
from hcssp.contract.solver import Context, Solver
from hcssp.contract.stop import Gap, StopCriterion, criteria_of, first_ending, time_limit_of
from hcssp.contract.trace import Trace, TracePoint
from hcssp.errors import InvalidPlan, InvalidProblem
from hcssp.evaluation.exact import Evaluation, evaluate
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.numerics import OPTIMALITY_TOLERANCE

CLAIM_TOLERANCE = 1e-7
"""A solver's claims and the independent evaluation of its policy may differ by this, relative to one plus
the cost: two linear solves of the same policy differ by rounding, a wrong policy by far more."""


class UnsoundResult(RuntimeError):
    """A solver's claim does not survive the independent evaluation: a bug, never a user's mistake."""


def solve(
    problem: Problem,
    solver: Solver | None = None,
    stop: StopCriterion | Iterable[StopCriterion] | None = None,
    on_progress: Callable[[Progress], object] | None = None,
    *,
    start: Plan | None = None,
    memory: Memory | None = None,
) -> Plan:
    """Solve `problem` until a criterion of `stop` holds or the solver has nothing left to do.

    Parameters
    ----------
    problem
        A C-SSP or an HC-SSP.
    solver
        Its parameters, such as ``BudgetAllocation(iterations=10)``; by default the exact method.
    stop
        A criterion or several; the first that holds gives the reason. By default a relative gap at which a
        plan is called optimal; an empty list goes on to the solver's own end.
    on_progress
        Called with every snapshot.
    start
        A plan to begin with: its policy is the first incumbent if it keeps the bounds, what was proven
        under the same bounds is taken over, and so is what was learnt.
    memory
        What was learnt about the same problem before.

    Returns
    -------
    Plan
        What is proven, and the best policy with its independent evaluation. Ctrl-C returns the incumbent.
    """
    method: Solver = PolicyBranching() if solver is None else solver
    criteria = criteria_of(Gap(OPTIMALITY_TOLERANCE) if stop is None else stop)
    if memory is None:
        memory = Memory() if start is None else start.memory
    record = _Record.begun(problem, start)
    context = Context(record.progress.upper_bound, time_limit_of(criteria), memory)
    ending = None if record.progress.incumbent is None else first_ending(criteria, record.progress)
    steps = method.iterate(problem, context) if ending is None else iter(())
    try:
        for step in steps:
            record.add(step)
            if on_progress is not None:
                on_progress(record.progress)
            ending = step.ending or first_ending(criteria, record.progress)
            if ending is not None:
                break
    except KeyboardInterrupt:
        ending = Ending(Reason.INTERRUPTED)
    finally:
        close = getattr(steps, "close", None)
        if close is not None:
            close()
    return record.conclude(problem, method.name, ending or Ending(Reason.EXHAUSTED), memory)


def resolve(
    plan: Plan,
    bounds: Mapping[str, float] | None = None,
    *,
    solver: Solver | None = None,
    stop: StopCriterion | Iterable[StopCriterion] | None = None,
    on_progress: Callable[[Progress], object] | None = None,
    **named: float,
) -> Plan:
    """Solve the problem of `plan` under other bounds, with all that was learnt; see :func:`solve`.

    >>> from hcssp.scenarios import small_building
    >>> plan = solve(small_building(bound=2.0))
    >>> stricter = resolve(plan, damage=1.0)
    >>> round(plan.upper_bound, 4), round(stricter.upper_bound, 4)
    (27.7191, 46.6619)
    """
    problem = plan.problem.with_bounds(bounds, **named)
    return solve(problem, solver, stop, on_progress, start=plan if plan.found else None, memory=plan.memory)


@dataclass
class _Record:
    """What has been proven so far; it only tightens."""

    progress: Progress = field(default_factory=Progress)
    trace: list[TracePoint] = field(default_factory=list)
    start: Plan | None = None

    @classmethod
    def begun(cls, problem: Problem, start: Plan | None) -> _Record:
        """What a plan from an earlier run is worth here: its policy, evaluated anew, and its bounds."""
        if start is None:
            return cls()
        if not same_but_for_bounds(problem, start.problem):
            raise InvalidProblem(["the plan to start with is one for another problem; give one for this"])
        known = start.under(problem).evaluated()
        if known.evaluation is None or not known.evaluation.keeps_bounds():
            return cls()
        progress = Progress(
            lower_bound=known.lower_bound,
            upper_bound=known.upper_bound,
            incumbent=known.found_policy,
            budgets=known.budgets or None,
            improved=0.0,
        )
        return cls(progress, [TracePoint(0.0, known.lower_bound, known.upper_bound)], known)

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

    def conclude(self, problem: Problem, method: str, ending: Ending, memory: Memory) -> Plan:
        """The plan, once the solver's claims have survived the independent evaluation."""
        progress = self.progress
        evaluation: Evaluation | None = None
        # The plan keeps what was learnt; the factors of its last policies would lie beside those made here.
        memory.release()
        proof: Proof = Interval(progress.lower_bound)
        if progress.incumbent is not None:
            evaluation = evaluate(problem, progress.incumbent)
            cost = float(evaluation.costs[0])
            self._check(evaluation, cost, ending)
            proof = Interval(min(float(progress.lower_bound), cost), cost)
        elif progress.infeasible is not None:
            proof = progress.infeasible
        elif ending.reason is Reason.INFEASIBLE:
            raise UnsoundResult(
                "nothing is feasible, says the solver, but it gives no proof; it must set Progress.infeasible"
            )
        return Plan(
            problem=problem,
            found_policy=progress.incumbent,
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
            memory=memory,
        )

    def _check(self, evaluation: Evaluation, cost: float, ending: Ending) -> None:
        """A policy that breaks its budget, or a bound that is not one, is the worst bug we can have."""
        progress, start = self.progress, self.start
        if not evaluation.keeps_bounds():
            raise UnsoundResult(f"the policy breaks its bounds: {evaluation.violations()}")
        allowed = CLAIM_TOLERANCE * (1.0 + abs(cost))
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


def _by_name(problem: Problem, prices: Any) -> dict[str, float] | None:
    if prices is None:
        return None
    return {name: float(price) for name, price in zip(problem.constraint_names, prices, strict=True)}
