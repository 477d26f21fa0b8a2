"""``hcssp evaluate``: what a saved plan costs, exactly, and whether it keeps the bounds."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from hcssp.cli.arguments import (
    add_certificate_arguments,
    add_output_arguments,
    add_plan_arguments,
    add_problem_arguments,
    add_tolerance_argument,
)
from hcssp.cli.exit_codes import NO_PLAN, SOLVED
from hcssp.cli.plans import plan_heading, read_plan, verified
from hcssp.cli.problems import load_problem, title_of
from hcssp.cli.progress import notes_on
from hcssp.cli.terminal import style_of

if TYPE_CHECKING:
    from hcssp.cli.interruption import Interruption
    from hcssp.contract.plan import ProcedurePlan
    from hcssp.reports.plan_words import Style

HELP = "recompute what a saved plan costs, and whether it keeps the bounds"
DESCRIPTION = """\
Recompute exactly what a saved plan costs, by code that no solver uses, and say whether it keeps the bounds
of the problem. If the plan was made for other bounds, both are printed. Nothing that the plan's file claims
is used; what it says was proven is printed as a claim, unless a certificate proves it.

Exit code 0 if it keeps them, 1 if not or if the certificate does not prove what it claims, 2 if it is no plan
for this problem, or no certificate for this plan."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hcssp evaluate``."""
    add_problem_arguments(parser)
    add_plan_arguments(parser)
    add_certificate_arguments(parser)
    add_tolerance_argument(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace, interruption: Interruption) -> int:
    """Evaluate, print, and answer with the exit code."""
    import json

    from hcssp.numerics import Tolerances

    with notes_on(arguments, interruption) as printer:
        printer.note(f"reading {arguments.problem}")
        problem = load_problem(arguments)
        printer.note(f"evaluating {arguments.plan}")
        tolerances = Tolerances(feasibility=arguments.feasibility_tolerance)
        plan = read_plan(arguments, arguments.plan, problem, tolerances)
        checked = verified(plan, arguments.certificate, arguments.exact)
    if checked is None:
        return NO_PLAN
    solved = checked.as_procedure()
    if arguments.json:
        print(json.dumps(_document(arguments, solved), allow_nan=False))
    else:
        print(_words(arguments, solved, style_of(sys.stdout)))
    return SOLVED if solved.keeps_bounds() else NO_PLAN


def _document(arguments: argparse.Namespace, plan: ProcedurePlan) -> dict[str, Any]:
    from hcssp.contract.proof import FileClaim
    from hcssp.procedure.aim import Aim
    from hcssp.reports.figures import plain
    from hcssp.reports.summary import plan_figures, verified_document

    evaluation, claim, aim = plan.costs, plan.claim or FileClaim(), Aim.of(plan.problem)
    figures = plan_figures(plan)
    for constraint in figures["constraints"].values():
        # Prices belong to a search, not to a plan.
        del constraint["price"]
    return {
        **plan_heading(arguments, plan),
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


def _words(arguments: argparse.Namespace, plan: ProcedurePlan, style: Style) -> str:
    from hcssp.procedure.aim import Aim
    from hcssp.procedure.units import called
    from hcssp.reports.figures import rounded
    from hcssp.reports.measures import Measure
    from hcssp.reports.plan_words import plan_blocks
    from hcssp.reports.words import verification_of, what_is_proven

    problem, evaluation = plan.problem, plan.costs
    aim = Aim.of(problem)
    primary, cost = called(problem, aim.name), aim.total(evaluation.costs)
    title = f"{arguments.plan}, a plan for {title_of(arguments)}: expected {primary} {rounded(cost, 6)}"
    blocks = [style.strong(title), *plan_blocks(plan, style)]
    lines = []
    violations = evaluation.violations(plan.tolerances.feasibility)
    for constraint in problem.constraints:
        name = constraint.name
        if name not in aim.others:
            continue
        verdict = f"broken, by {violations[name]:.6g}" if name in violations else "kept"
        told_as = Measure.of(problem, name)
        word = "" if told_as.is_probability else " expected"
        expected = f"{told_as.used(evaluation.cost(name), constraint.at_most, digits=6)}{word}"
        allowed = f"at most {told_as.given(constraint.at_most)} allowed"
        made_for = (plan.made_for or {}).get(name, constraint.at_most)
        if made_for != constraint.at_most:
            allowed += f" (the plan was made for {told_as.given(made_for)})"
        lines.append(f"  {told_as.name}: {expected}, {allowed}: {verdict}")
    blocks.append(style.strong("Bounds") + "\n" + ("\n".join(lines) or "  there are none"))
    blocks.append(style.strong("The file says") + "\n" + _claims(plan))
    if verification_of(plan) is not None:
        blocks.append(style.strong("Verified") + f"\n  {what_is_proven(plan)}")
    blocks.append("The plan keeps the bounds." if not violations else "The plan does NOT keep the bounds.")
    return "\n\n".join(blocks)


def _claims(plan: ProcedurePlan) -> str:
    """What the file says about these bounds, beside what is true."""
    from math import isfinite

    from hcssp.contract.proof import FileClaim
    from hcssp.procedure.aim import Aim
    from hcssp.procedure.units import called
    from hcssp.reports.figures import rounded, rounded_down, rounded_up
    from hcssp.reports.words import verification_of

    aim, claim = Aim.of(plan.problem), plan.claim or FileClaim()
    primary = called(plan.problem, aim.name)
    lines = []
    if isfinite(claim.upper_bound):
        # A file that says anything else is refused.
        own = aim.total(plan.costs.costs) if aim.greatest else claim.upper_bound
        lines.append(f"  expected {primary} {rounded(own, 6)}, which is so")
    if isfinite(claim.lower_bound):
        limit = aim.limit(claim.lower_bound)
        worse = f"above {rounded_up(limit, 6)}" if aim.greatest else f"below {rounded_down(limit, 6)}"
        checked = "a claim, not checked here" if verification_of(plan) is None else "see below"
        lines.append(
            f"  no plan that keeps these bounds has an expected {primary} {worse}, by the method "
            f"{plan.method!r} ({checked})"
        )
    return "\n".join(lines) or "  nothing about these bounds"
