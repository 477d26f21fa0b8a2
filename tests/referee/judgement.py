"""What a method says about a problem, held against the truth in rational numbers, without slack.

Every snapshot of a run is judged, not only its end. What is wrong is a :class:`Finding`; its kind says which
promise was broken. A finding of the kind "open" breaks none: the search ended without a proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite, nextafter

from hcssp.checker import check
from hcssp.contract.plan import Plan
from hcssp.contract.progress import Policy, Progress
from hcssp.contract.proof import Reason, Status
from hcssp.contract.solver import Solver
from hcssp.cssp.model import CSSP
from hcssp.errors import DeadEnd
from hcssp.methods.anytime import Anytime
from hcssp.methods.highs.linear_program import LinearProgram
from hcssp.methods.highs.mixed_integer import MixedInteger
from hcssp.methods.paper import BudgetAllocation
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.methods.randomised import RandomisedDual
from hcssp.numerics import OPTIMALITY_TOLERANCE, allowance
from hcssp.procedure.model import HCSSP
from hcssp.solving.proving import ENUMERATED
from hcssp.solving.solve import solve
from hcssp.solving.trade_off import trade_off
from referee.exact_policies import Costs, EveryPolicy, ExactProblem, round_up
from referee.wild_problems import Case

EVALUATION_TOLERANCE = Fraction(1, 10**9)
"""How far a policy's reported cost may be from its exact one, relatively, unless it owns up to more."""

MOST_STEPS = 600
"""No search through a few hundred policies has an excuse for more snapshots."""

MOST_BOXES = 60
"""The paper's method may go on splitting boxes where its activities are known up to a gap."""

MOST_HALVINGS = 15
"""The paper's own halvings move its bounds little by little, and each takes as long as the last."""

METHODS: dict[str, Solver] = {
    "exact": PolicyBranching(),
    "flattened": PolicyBranching(),
    "anytime": Anytime(),
    "budgets": BudgetAllocation(iterations=0),
    "budgets to the end": BudgetAllocation(iterations=inf),
    "budgets as published": BudgetAllocation(iterations=inf, mode="published"),
    "milp": MixedInteger(),
    "lp": LinearProgram(),
    "dual": RandomisedDual(),
}
"""By the name that findings give them; "flattened" is the exact method on a procedure's flat problem."""

COMPLETE = {"exact", "flattened", "anytime", "budgets to the end"}
"""Methods that are to end with a proof."""

CURVE = "curve"
"""In the place of a method: the trade-off curve."""

OPEN = "open"

LAST_DIGITS = "last digits"
PROVEN = 1e-5
"""A certificate proves what a plan says, but for this share of it."""

A_FEW_ROUNDINGS = 1e-14
"""A bound that is too high by no more than this, relatively, is wrong, too, but of a kind of its own."""


class TookTooLong(Exception):
    """Raised by whoever sets a limit of time."""


@dataclass(frozen=True)
class Finding:
    """Something that a method should not have said, or not have left unsaid.

    Attributes
    ----------
    case, method
        Which problem, which method.
    kind
        The promise that was broken.
    detail
        What was said, and what is true.
    """

    case: str
    method: str
    kind: str
    detail: str

    @property
    def is_wrong(self) -> bool:
        """Whether something false was said, or nothing where there is an answer."""
        return self.kind != OPEN

    def __str__(self) -> str:
        return f"{self.case}, {self.method}: {self.kind}: {self.detail}"


@dataclass(frozen=True)
class Said:
    """The kind and the detail of a finding, before it is known whose it is."""

    kind: str
    detail: str


def judge(case: Case, method: str, steps: int = MOST_STEPS) -> list[Finding]:
    """All that is wrong with what `method` says about the problem of `case` within so many steps."""
    try:
        said = list(_curve(case) if method == CURVE else _run(case, method, steps))
    except TookTooLong:
        said = [Said("slow", "no answer within the limit of time")]
    except DeadEnd as refusal:
        # The documented refusal of a problem without any policy that ends.
        said = [Said("refused", f"DeadEnd: {refusal}")] if case.truth.policies else []
    except Exception as error:  # noqa: BLE001 - whatever escapes for a valid problem is a finding
        said = [Said("exception", f"{type(error).__name__}: {error}")]
    return [Finding(case.name, method, each.kind, each.detail) for each in said]


class Patience:
    """A stop criterion that holds after so many snapshots, whatever a method counts as an iteration."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def __call__(self, progress: Progress) -> Reason | None:
        self._left -= 1
        return Reason.ITERATIONS if self._left < 0 else None


def _run(case: Case, method: str, steps: int) -> Iterator[Said]:
    problem = case.problem
    if method == "flattened" and isinstance(problem, HCSSP):
        problem = problem.flattening.cssp
    if method.startswith("budgets"):
        steps = min(steps, MOST_HALVINGS if method == "budgets as published" else MOST_BOXES)
    told: list[Progress] = []
    plan = solve(problem, METHODS[method], stop=Patience(steps), on_progress=told.append)
    referee = Referee(problem, case.truth, case.bounds)
    yield from referee.snapshots(told)
    yield from referee.plan(plan, complete=method in COMPLETE)
    if method in ("exact", "budgets to the end") and case.family.startswith(("nested", "cycles")):
        yield from referee.certificate(plan)


def _curve(case: Case) -> Iterator[Said]:
    """The curve over the first bound, asked on the values of some policies and a hair below the least."""
    values = sorted({policy.costs[1] for policy in case.truth.policies})
    chosen = {round_up(value) for value in (*values[:2], *values[-1:])}
    if values and values[0] > 0:
        chosen.add(nextafter(round_up(values[0]), -inf))
    chosen |= {bound for bound in case.bounds[:1] if isfinite(bound)}
    if not chosen:
        return
    curve = trade_off(case.problem, case.problem.constraint_names[0], sorted(chosen), gap=1e-6)
    for point in curve.points:
        referee = Referee(point.plan.problem, case.truth, [point.bound, *case.bounds[1:]])
        for said in referee.plan(point.plan, complete=False):
            yield Said(said.kind, f"at {point.bound!r}: {said.detail}")
        optimum, value = referee.optimum, float(point.stochastic)
        if optimum is not None and value > -inf and (value == inf or Fraction(value) > optimum):
            yield _too_high("stochastic", value, optimum)


class Referee:
    """Judges claims about one problem under given bounds.

    Parameters
    ----------
    problem
        What the claims are about.
    truth
        All its policies.
    bounds
        The bounds that count.
    """

    def __init__(self, problem: CSSP | HCSSP, truth: EveryPolicy, bounds: Sequence[float]) -> None:
        self._exact = ExactProblem.of(problem)
        self._bounds = bounds
        self._allowed = [
            Fraction(0) if not isfinite(each) else Fraction(each)
            for each in allowance(problem.bounds).tolist()
        ]
        self._can_end = bool(truth.policies)
        best = truth.optimum(bounds)
        self.optimum = None if best is None else best.costs[0]
        self._known: dict[int, Costs | None] = {}

    def snapshots(self, told: Sequence[Progress]) -> Iterator[Said]:
        """What is wrong with the snapshots of a run; the first of each kind."""
        kinds = set()
        low, high = -inf, inf
        for step in told:
            for said in self._interval(step.lower_bound, step.upper_bound, step.incumbent):
                if said.kind not in kinds:
                    kinds.add(said.kind)
                    yield Said(said.kind, f"on the way: {said.detail}")
            if (step.lower_bound < low or step.upper_bound > high) and "widened" not in kinds:
                kinds.add("widened")
                yield Said("widened", f"[{low!r}, {high!r}] to [{step.lower_bound!r}, {step.upper_bound!r}]")
            low, high = step.lower_bound, step.upper_bound
            if step.infeasible is not None and self.optimum is not None and "infeasible" not in kinds:
                kinds.add("infeasible")
                yield Said(
                    "infeasible", f"on the way, but a policy of {_shown(self.optimum)} keeps the bounds"
                )

    def plan(self, plan: Plan, *, complete: bool) -> Iterator[Said]:
        """What is wrong with a plan."""
        yield from self._interval(plan.lower_bound, plan.upper_bound, plan.found_policy, plan)
        if plan.status is Status.INFEASIBLE:
            if self.optimum is not None:
                yield Said("infeasible", f"but a policy of {_shown(self.optimum)} keeps the bounds exactly")
            return
        if not self._can_end and not plan.found:
            # However it is put that no policy ends, nothing is left to be proved.
            return
        if plan.ending.reason is Reason.INFEASIBLE:
            yield Said("ending", f"infeasible beside the status {plan.status}")
        if plan.ending.reason is Reason.PROVED and plan.status is not Status.OPTIMAL:
            yield Said("ending", f"proved beside [{plan.lower_bound!r}, {plan.upper_bound!r}]")
        if plan.status is Status.OPTIMAL:
            within = 1 + Fraction(OPTIMALITY_TOLERANCE) + 2 * EVALUATION_TOLERANCE
            if self.optimum is not None and Fraction(plan.upper_bound) > within * self.optimum:
                yield Said("optimal", f"{plan.upper_bound!r}, but {_shown(self.optimum)} is possible")
        elif complete:
            yield Said(OPEN, f"{plan.status} ({plan.ending}) [{plan.lower_bound!r}, {plan.upper_bound!r}]")
        stochastic = plan.stochastic
        if stochastic is not None and self.optimum is not None:
            value = float(stochastic.value)
            if value == inf or Fraction(value) > self.optimum:
                yield _too_high("stochastic", value, self.optimum)

    def certificate(self, plan: Plan) -> Iterator[Said]:
        """What is wrong with the proof of a plan, checked in integers."""
        if not self._can_end:
            return
        verdict = check(plan.problem, plan.certificate, exact=True)
        low = verdict.lower_bound
        if self.optimum is not None and (low == inf or Fraction(low) > self.optimum):
            yield Said("certificate", f"it proves {low!r}, but {_shown(self.optimum)} is possible")
            return
        # Everything but the last digits is proven, unless it was found by enumeration in rational numbers.
        if plan.status is Status.OPTIMAL and low < plan.lower_bound * (1.0 - PROVEN):
            found = f"it proves {low!r} only, and the plan says {plan.lower_bound!r}"
        elif plan.status is Status.INFEASIBLE and low < inf:
            found = f"it proves {low!r} only, and the plan says that there is none"
        else:
            return
        # A certificate of budget allocation rests on a second search, which rounding may end.
        searched = plan if plan.method == "exact" else solve(plan.problem)
        if searched.ending.detail != ENUMERATED:
            is_open = searched is not plan and searched.ending.reason is Reason.ROUNDING
            yield Said(OPEN if is_open else "certificate", found)

    def _interval(
        self, lower_bound: float, upper_bound: float, policy: Policy | None, plan: Plan | None = None
    ) -> Iterator[Said]:
        low, high = float(lower_bound), float(upper_bound)
        optimum = self.optimum
        if optimum is not None and low > -inf and (low == inf or Fraction(low) > optimum):
            yield _too_high("lower bound", low, optimum)
        if low > high:
            yield Said("contradiction", f"[{low!r}, {high!r}]")
        if policy is None:
            if high < inf:
                yield Said("upper bound", f"{high!r} without a policy")
            return
        if policy.is_randomised:
            # All that is known here are deterministic policies; only the lower bound is about them, too.
            return
        costs = self._costs_of(policy)
        if costs is None:
            yield Said("improper", f"the policy {policy.rows.tolist()} may never end")
            return
        told = [high] if plan is None or plan.evaluation is None else plan.evaluation.costs.tolist()
        residual = 0.0 if plan is None or plan.evaluation is None else plan.evaluation.residual
        error = max(EVALUATION_TOLERANCE, 2 * Fraction(float(residual)))
        for index, (cost, truly) in enumerate(zip(told, costs, strict=False)):
            if not isfinite(cost) or abs(Fraction(cost) - truly) > error * truly:
                yield Said("upper bound", f"cost {index} is told as {cost!r} and is {_shown(truly)}")
        for index, (cost, bound, more) in enumerate(
            zip(costs[1:], self._bounds, self._allowed, strict=True), start=1
        ):
            if bound < inf and cost > Fraction(bound) + more:
                yield Said("broken bound", f"cost {index} is {_shown(cost)} of at most {bound!r}")

    def _costs_of(self, policy: Policy) -> Costs | None:
        """The exact costs of a policy; None if it may not end."""
        key = id(policy)
        if key not in self._known:
            self._known[key] = self._exact.costs_of(policy.rows.tolist())
        return self._known[key]


def _too_high(kind: str, value: float, optimum: Fraction) -> Said:
    """What is wrong with a bound above the optimum; by how much decides whether it is mere rounding."""
    excess = inf if value == inf or optimum == 0 else float(Fraction(value) / optimum - 1)
    told = f"{value!r} is above {_shown(optimum)} (by {excess:.1e}, relatively)"
    return Said(LAST_DIGITS if excess <= A_FEW_ROUNDINGS else kind, told)


def _shown(number: Fraction) -> str:
    """An exact number, to seventeen digits."""
    return f"{float(number):.17g}"
