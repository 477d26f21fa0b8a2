"""Verdicts about saved plans and certificates, for people and for programs.

An evaluated plan (``hcssp evaluate``), a checked certificate (``hcssp check``), and one that was written
(``hcssp solve --certificate``).
"""

from __future__ import annotations

from math import inf, isfinite, nextafter
from pathlib import Path
from shlex import quote
from typing import Any

from hcssp.checker import Certificate, Verdict
from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.contract.proof import FileClaim
from hcssp.numerics import OPTIMALITY_TOLERANCE, relative_gap
from hcssp.procedure import HCSSP
from hcssp.procedure.description import Aim
from hcssp.reports.figures import (
    Measure,
    an_expected,
    between,
    in_unit,
    plain,
    rounded,
    rounded_down,
    rounded_up,
)
from hcssp.reports.plan_text import (
    Style,
    bound_lines,
    plan_blocks,
    plan_figures,
    proven_lines,
    verification_of,
    verified_document,
    worse_than,
)

_TOLD_MORE = 1e-9
"""A certificate that proves less than the search printed, by a larger share than this, is said to."""


def evaluation_document(plan: ProcedurePlan) -> dict[str, Any]:
    """What ``hcssp evaluate --json`` prints about a plan."""
    evaluation, claim, aim = plan.costs, plan.claim or FileClaim(), Aim.of(plan.problem)
    figures = plan_figures(plan)
    for constraint in figures["constraints"].values():
        # Prices belong to a search, not to a plan.
        del constraint["price"]
    return {
        "keeps_bounds": plan.keeps_bounds(),
        "cost": plain(float(evaluation.costs[0])),
        **({"reward": plain(aim.total(evaluation.costs))} if aim.greatest else {}),
        **figures,
        "violations": evaluation.violations(plan.tolerances.feasibility),
        "residual": plain(evaluation.residual),
        "claimed": {
            "method": plan.method,
            "cost": plain(claim.upper_bound),
            "lower_bound": plain(claim.lower_bound),
        },
        "verified": verified_document(plan),
    }


def evaluation_in_words(title: str, plan: ProcedurePlan, style: Style) -> str:
    """What ``hcssp evaluate`` prints for people; `title` names the plan and its problem."""
    problem, evaluation = plan.problem, plan.costs
    aim = Aim.of(problem)
    primary, cost = problem.called(aim.name), aim.total(evaluation.costs)
    heading = f"{title}: expected {primary} {rounded(cost, 6)}"
    blocks = [style.strong(heading), *plan_blocks(plan, style)]
    blocks.append(style.strong("Bounds") + "\n" + bound_lines(plan, judged=True))
    blocks.append(style.strong("Claims of the file") + "\n" + _claims(plan))
    if verification_of(plan) is not None:
        blocks.append("\n  ".join([style.strong("Verified"), *proven_lines(plan)]))
    blocks.append(
        "The plan keeps the bounds." if plan.keeps_bounds() else "The plan does NOT keep the bounds."
    )
    return "\n\n".join(blocks)


def _claims(plan: ProcedurePlan) -> str:
    """The claims of the file about these bounds, next to the true figures."""
    aim, claim = Aim.of(plan.problem), plan.claim or FileClaim()
    lines = []
    if isfinite(claim.upper_bound):
        # A file that says anything else is refused.
        own = aim.total(plan.costs.costs) if aim.greatest else claim.upper_bound
        lines.append(
            f"  expected {aim.name} {in_unit(plan.problem, aim.name, rounded(own, 6))}, which is correct"
        )
    if isfinite(claim.lower_bound):
        checked = "a claim, not checked here" if verification_of(plan) is None else "see below"
        least = in_unit(plan.problem, aim.name, worse_than(aim, claim.lower_bound))
        lines.append(
            f"  no plan that keeps these bounds has {an_expected(aim.name)} {least},\n"
            f"  by the method {plan.method!r} ({checked})"
        )
    return "\n".join(lines) or "  nothing about these bounds"


def _status(problem: HCSSP, verdict: Verdict) -> str:
    if verdict.lower_bound == inf:
        return "infeasible"
    gap = relative_gap(verdict.lower_bound, verdict.upper_bound)
    if problem.reward is not None and verdict.costs:
        gap = problem.reward.proven(problem.reward.value(_costs(problem, verdict)), verdict.lower_bound).gap
    if gap <= OPTIMALITY_TOLERANCE:
        return "optimal"
    return "unknown" if verdict.upper_bound == inf else "feasible"


def _costs(problem: HCSSP, verdict: Verdict) -> dict[str, float]:
    """At most what the plan's costs are, by name: rational numbers, rounded upwards."""
    names = [problem.primary_name, *problem.constraint_names]
    nearest = {name: (cost, float(cost)) for name, cost in zip(names, verdict.costs, strict=False)}
    return {name: near if near >= cost else nextafter(near, inf) for name, (cost, near) in nearest.items()}


def check_document(
    problem: HCSSP, certificate: Certificate, verdict: Verdict | str, exact: bool
) -> dict[str, Any]:
    """The JSON of ``hcssp check --json``; `verdict` is the verified claim, or the reason for a refusal."""
    answer = {
        "bounds": {constraint.name: plain(constraint.at_most) for constraint in problem.constraints},
        "arithmetic": "integers" if exact else "double precision and integers",
        "leaves": len(certificate.leaves),
        "potentials": len(certificate.potentials),
    }
    if isinstance(verdict, str):
        return {**answer, "verified": False, "reason": verdict}
    return {
        **answer,
        "verified": True,
        "status": _status(problem, verdict),
        "lower_bound": plain(verdict.lower_bound),
        "upper_bound": plain(verdict.upper_bound),
        "holds_for_randomised_policies": verdict.randomised,
        "costs": _costs(problem, verdict),
        "rows_decided_in_integers": verdict.num_exact,
    }


def _at_most(measure: Measure, cost: float) -> str:
    """A cost, rounded up."""
    figure = f"{rounded_up(100.0 * cost, 6)}%" if measure.is_probability else rounded_up(cost, 6)
    return f"{measure.name} {figure}"


def check_in_words(
    title: str, problem: HCSSP, certificate: Certificate, verdict: Verdict | str, exact: bool, style: Style
) -> str:
    """What ``hcssp check`` prints for people; `title` names the certificate and its problem."""
    aim = Aim.of(problem)
    measures = {
        name: Measure.of(problem, name)
        for name in (aim.name, problem.primary_name, *problem.constraint_names)
    }
    bounds = [
        f"{measures[each.name].name} at most {measures[each.name].given(each.at_most)}"
        for each in problem.constraints
        if isfinite(each.at_most)
    ]
    under = f" under {', '.join(bounds)}" if bounds else ""
    title += under
    if isinstance(verdict, str):
        return f"{style.strong(f'{title}: NOT verified')}\n  {verdict}"
    primary, status = an_expected(aim.name), _status(problem, verdict)
    lines = [style.strong(f"{title}: verified")]
    if status == "infeasible":
        lines.append("  no plan keeps these bounds" if bounds else "  no plan reaches the end with certainty")
    else:
        kept = "no plan that keeps these bounds" if bounds else "no plan"
        if verdict.randomised:
            kept += ", not even a randomised one,"
        least = worse_than(aim, verdict.lower_bound)
        lines.append(f"  {kept} has {primary} {in_unit(problem, aim.name, least)}")
    if verdict.costs:
        costs = _costs(problem, verdict)
        used = "".join(f", {_at_most(measures[name], costs[name])}" for name in aim.others)
        # Costs are known from above; a reward, which is a sum of some, only to these digits.
        about, least = rounded(aim.value(costs), 6), rounded_up(costs[problem.primary_name], 6)
        has = f"about {about}" if aim.greatest else f"at most {least}"
        lines.append(f"  its plan has {primary} of {in_unit(problem, aim.name, has)}{used}")
    if status == "optimal":
        lines.append("  therefore its plan is optimal")
    rows = "all rows in integers" if exact else f"{verdict.num_exact} rows in integers"
    leaves = "1 leaf" if len(certificate.leaves) == 1 else f"{len(certificate.leaves)} leaves"
    lines.append(f"  {leaves}, {len(certificate.potentials)} potentials, {rows}")
    return "\n".join(lines)


def certificate_document(path: Path, interval: tuple[float, float] | None) -> dict[str, Any] | None:
    """The file of a certificate and its claim; None if there is none."""
    if interval is None:
        return None
    lower, upper = interval
    return {
        "file": str(path),
        "lower_bound": plain(lower),
        "upper_bound": plain(upper),
        "infeasible": lower == inf,
    }


def certificate_in_words(path: Path, interval: tuple[float, float] | None, plan: Plan, asked: str) -> str:
    """What a certificate proves, and how to check it.

    Parameters
    ----------
    path, interval
        Where it is, and the interval that it proves; None if there is none.
    plan
        What the search found.
    asked
        The problem on a command line.
    """
    if interval is None:
        return f"No certificate is written to {path}: nothing was proven."
    problem, searched, (lower, upper) = plan.problem.procedure, plan.lower_bound, interval
    aim = Aim.of(problem)
    primary = an_expected(aim.name)
    if lower == inf:
        proven = "no plan keeps the bounds"
    elif isfinite(upper) and not aim.greatest:
        figure = in_unit(problem, aim.name, between(lower, upper))
        proven = f"the best {plan.policies} plan has {primary} {figure}"
    else:
        least = in_unit(problem, aim.name, worse_than(aim, lower))
        proven = f"no plan that keeps the bounds has {primary} {least}"
    lines = [f"The certificate {path} proves: {proven}."]
    if searched > lower + _TOLD_MORE * abs(lower):
        limit = aim.limit(searched)
        more = "that there is none"
        if isfinite(limit):
            more = rounded_up(limit, 6) if aim.greatest else rounded_down(limit, 6)
        lines.append(f"The search found more, {more}; that is not in the certificate.")
    lines.append(f"Verify it: hcssp check {asked} {quote(str(path))}")
    return "\n".join(lines)
