"""``hcssp evaluate``: what a saved plan costs, exactly, and whether it keeps its bounds."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hcssp.cli.arguments import add_output_arguments, add_problem_arguments
from hcssp.cli.exit_codes import NO_PLAN, SOLVED
from hcssp.cli.plans import read_plan
from hcssp.cli.problems import load_problem
from hcssp.cli.progress import ProgressPrinter, Talk
from hcssp.cli.rounding import rounded_down
from hcssp.cli.terminal import Style

if TYPE_CHECKING:
    from hcssp.cli.interruption import Interruption
    from hcssp.contract.result import Result
    from hcssp.evaluation.hierarchical import HierarchicalEvaluation
    from hcssp.execution import Plan

HELP = "recompute what a saved plan costs, and whether it keeps its bounds"
DESCRIPTION = """\
Recompute exactly what a saved plan costs, by code that no solver uses, and say whether it keeps
its bounds: those it was made for, unless others are given. Nothing that the file claims is used.

Exit code 0 if it keeps them, 1 if not, 2 if it is no plan for this problem."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hcssp evaluate``."""
    add_problem_arguments(parser)
    parser.add_argument("plan", type=Path, metavar="PLAN", help="a plan that hcssp solve --out saved")
    add_output_arguments(parser)


def run(arguments: argparse.Namespace, interruption: Interruption) -> int:
    """Evaluate, print, and answer with the exit code."""
    import json

    talk = Talk.suited_to(sys.stderr, quiet=arguments.quiet, verbose=arguments.verbose)
    printer = ProgressPrinter(sys.stderr, talk)
    interruption.begin()
    try:
        printer.note(f"reading {arguments.problem}")
        problem = load_problem(arguments.problem, arguments.scale).problem
        printer.note(f"evaluating {arguments.plan}")
        plan, evaluation = read_plan(arguments.plan, problem, arguments.bound)
    finally:
        printer.close()
    interruption.end()
    if arguments.json:
        print(json.dumps(_document(arguments, plan, evaluation), allow_nan=False))
    else:
        print(_words(arguments, plan, evaluation, Style.of(sys.stdout)))
    return SOLVED if evaluation.keeps_bounds() else NO_PLAN


def as_result(plan: Plan, evaluation: HierarchicalEvaluation) -> Result:
    """The plan as if a solver had just found it."""
    from hcssp.contract.result import Result

    return Result(
        upper_bound=float(evaluation.costs[0]),
        evaluation=evaluation,
        found_policy=plan.policy,
        details=plan.budgets,
    )


def _document(
    arguments: argparse.Namespace, plan: Plan, evaluation: HierarchicalEvaluation
) -> dict[str, Any]:
    from hcssp.cli.document import figure, plan_figures

    figures = plan_figures(plan.problem, as_result(plan, evaluation))
    for constraint in figures["constraints"].values():
        # Prices belong to a search, not to a plan.
        del constraint["price"]
    return {
        "problem": arguments.problem,
        "plan": str(arguments.plan),
        "keeps_bounds": evaluation.keeps_bounds(),
        "cost": figure(float(evaluation.costs[0])),
        **figures,
        "violations": evaluation.violations(),
        "residual": figure(evaluation.residual),
        "claimed": {
            "method": plan.method,
            "cost": figure(plan.upper_bound),
            "lower_bound": figure(plan.lower_bound),
        },
    }


def _words(
    arguments: argparse.Namespace, plan: Plan, evaluation: HierarchicalEvaluation, style: Style
) -> str:
    from hcssp.cli.words import plan_blocks

    problem = plan.problem
    primary, cost = problem.primary_name, float(evaluation.costs[0])
    title = f"{arguments.plan}, a plan for {arguments.problem}: expected {primary} {cost:.6f}"
    blocks = [style.strong(title), *plan_blocks(problem, as_result(plan, evaluation), style)]
    lines = []
    violations = evaluation.violations()
    for constraint in problem.constraints:
        name = constraint.name
        verdict = f"broken, by {violations[name]:.6g}" if name in violations else "kept"
        expected = f"{evaluation.cost(name):.6f} expected"
        lines.append(f"  {name}: {expected}, at most {constraint.at_most:g} allowed: {verdict}")
    blocks.append(style.strong("Bounds") + "\n" + ("\n".join(lines) or "  there are none"))
    blocks.append(style.strong("The file says") + "\n" + _claims(plan, cost))
    blocks.append("The plan keeps its bounds." if not violations else "The plan does NOT keep its bounds.")
    return "\n\n".join(blocks)


def _claims(plan: Plan, cost: float) -> str:
    """What the file says, beside what is true."""
    from math import isfinite

    primary = plan.problem.primary_name
    lines = []
    if isfinite(plan.upper_bound):
        agrees = abs(plan.upper_bound - cost) <= 1e-6 * max(1.0, abs(cost))
        lines.append(f"  expected {primary} {plan.upper_bound:.6f}, which is {'' if agrees else 'NOT '}so")
    if isfinite(plan.lower_bound):
        least = rounded_down(plan.lower_bound, 6)
        lines.append(
            f"  no plan that keeps these bounds has an expected {primary} below {least} "
            f"(proven by the method {plan.method!r}, not checked here)"
        )
    return "\n".join(lines) or "  nothing about these bounds"
