"""Commands about a saved plan or a certificate: ``evaluate``, ``check``, ``simulate``, ``robust``, ``why``.

Each reads the problem and the plan, asks one question of the library, and prints the answer. The exit code is
0 if the plan keeps its bounds (``check``: if the proof holds), else 1.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from hcssp.cli.arguments import UsageError, add, add_output, add_problem, deviation, place, whole
from hcssp.cli.parser import Command
from hcssp.cli.plans import plan_heading, read_plan, verified
from hcssp.cli.problems import load_problem, reading, settings_of, title_of, with_bounds, written
from hcssp.cli.running import NO_PLAN, SOLVED
from hcssp.cli.terminal import answer

if TYPE_CHECKING:
    from fractions import Fraction

    from hcssp.checker import Certificate
    from hcssp.cli.running import Interruption
    from hcssp.contract.plan import Plan, ProcedurePlan
    from hcssp.contract.progress import StopCriterion
    from hcssp.evaluation.robustness import Influence
    from hcssp.procedure import HCSSP
    from hcssp.reports.plan_text import Style

_MOST_NUMBERS = 200_000_000
"""The most numbers that all simulated runs together may keep: costs, and the executions of each activity."""


def _print_about(
    arguments: argparse.Namespace,
    plan: Plan,
    document: Callable[[], dict[str, Any]],
    words: Callable[[Style], str],
) -> None:
    """Print the answer to a question about a plan; its JSON begins with the files and the bounds."""
    answer(arguments, lambda: plan_heading(arguments, plan) | document(), words)


def _add_evaluate(parser: argparse.ArgumentParser) -> None:
    add_problem(parser)
    add(parser, "plan", "--bounds-of", "--certificate", "--exact", "--feasibility-tolerance")
    add_output(parser)


def _evaluate(arguments: argparse.Namespace, interruption: Interruption) -> int:
    from hcssp.numerics import Tolerances
    from hcssp.reports.verdict_text import evaluation_document, evaluation_in_words

    with reading(arguments, interruption) as (printer, problem):
        printer.note(f"evaluating {arguments.plan}")
        tolerances = Tolerances(feasibility=arguments.feasibility_tolerance)
        plan = read_plan(arguments, arguments.plan, problem, tolerances)
        checked = verified(plan, arguments.certificate, arguments.exact)
    if checked is None:
        return NO_PLAN
    solved = checked.as_procedure()
    title = f"{arguments.plan}, a plan for {title_of(arguments)}"
    _print_about(
        arguments,
        solved,
        lambda: evaluation_document(solved),
        lambda style: evaluation_in_words(title, solved, style),
    )
    return SOLVED if solved.keeps_bounds() else NO_PLAN


EVALUATE = Command(
    """\
Recompute exactly what a saved plan costs, by code that no solver uses, and say whether it keeps the bounds
of the problem. If the plan was made for other bounds, both are printed. Nothing that the plan's file claims
is used; what it says was proven is printed as a claim, unless a certificate proves it.

Exit code 0 if it keeps them, 1 if not or if the certificate does not prove what it claims, 2 if it is no plan
for this problem, or no certificate for this plan.""",
    _add_evaluate,
    _evaluate,
)


def _add_check(parser: argparse.ArgumentParser) -> None:
    add_problem(parser)
    parser.add_argument("certificate", type=Path, metavar="CERTIFICATE", help="the proof to be verified")
    add(parser, "--exact")
    add_output(parser)


def _check(arguments: argparse.Namespace, interruption: Interruption) -> int:
    from hcssp.checker import Verdict, check
    from hcssp.errors import InvalidCertificate, NotProven
    from hcssp.files.certificate import load_certificate
    from hcssp.reports.verdict_text import check_document, check_in_words

    with reading(arguments, interruption) as (printer, unbounded):
        printer.note(f"checking {arguments.certificate}")
        certificate, problem = (
            load_certificate(arguments.certificate),
            with_bounds(unbounded, arguments.bound),
        )
        verdict: Verdict | str
        try:
            verdict = check(problem, certificate, exact=arguments.exact)
        except InvalidCertificate as error:
            remedy = _remedy(problem, certificate)
            raise InvalidCertificate(f"{arguments.certificate}: {error}{remedy}") from error
        except NotProven as error:
            verdict = str(error)
    heading = {"problem": arguments.problem, "certificate": str(arguments.certificate)}
    title = f"{arguments.certificate}, a proof about {title_of(arguments)}"
    answer(
        arguments,
        lambda: heading | check_document(problem, certificate, verdict, arguments.exact),
        lambda style: check_in_words(title, problem, certificate, verdict, arguments.exact, style),
    )
    return NO_PLAN if isinstance(verdict, str) else SOLVED


def _remedy(problem: HCSSP, certificate: Certificate) -> str:
    """How to check a certificate under the bounds it was made for; empty if those are the problem's."""
    made_for = zip(problem.constraint_names, map(float, certificate.bounds), strict=False)
    judged_by = dict(zip(problem.constraint_names, problem.bounds.tolist(), strict=True))
    other = [
        f"--bound {quote(f'{name}={written(bound)}')}" for name, bound in made_for if bound != judged_by[name]
    ]
    return f"; to check it under its own bounds, add {' '.join(other)}" if other else ""


CHECK = Command(
    """\
Verify what a certificate claims about a problem: that no plan costs less, that its plan keeps the bounds and
costs no more, or that no plan keeps them. The bounds are those of the problem; a certificate that was made
for other bounds says nothing about it and is refused.
No solver is asked: a small program checks inequalities, in double precision that errs on the safe side and
in integers where that does not suffice, or in integers throughout (--exact).

Exit code 0 if it is verified, 1 if not, 2 if it is no certificate for this problem under these bounds.""",
    _add_check,
    _check,
)


def _add_simulate(parser: argparse.ArgumentParser) -> None:
    add_problem(parser)
    add(parser, "plan", "--bounds-of", "--seed")
    parser.add_argument(
        "--runs", type=whole("count", 1), default=100_000, metavar="N", help="how many runs (default: 100000)"
    )
    add_output(parser)


def _simulate(arguments: argparse.Namespace, interruption: Interruption) -> int:
    from hcssp.evaluation.simulation import narrate_procedure, simulate
    from hcssp.reports.results_text import simulation_document, simulation_in_words

    with reading(arguments, interruption) as (printer, unbounded):
        plan = read_plan(arguments, arguments.plan, unbounded).as_procedure()
        problem, text = plan.problem, f"following {arguments.plan} {arguments.runs:,} times"
        most = _MOST_NUMBERS // (2 + problem.num_constraints + problem.num_activities)
        if arguments.runs > most:
            message = f"--runs {arguments.runs:,}: they do not fit into memory; give at most {most:,}"
            raise UsageError(message)
        printer.note(text)
        count = printer.counter(arguments.runs, text)
        runs = simulate(plan.policy.problem, plan.policy, arguments.runs, arguments.seed, on_progress=count)
        legs = list(narrate_procedure(plan.policy, seed=arguments.seed))
    often = "once" if arguments.runs == 1 else f"{arguments.runs:,} times"
    title = f"{arguments.plan}, a plan for {title_of(arguments)}, followed {often}"
    _print_about(
        arguments,
        plan,
        lambda: simulation_document(runs, plan.costs, legs, problem),
        lambda style: simulation_in_words(title, runs, plan.costs, legs, style, problem),
    )
    return SOLVED if plan.keeps_bounds() else NO_PLAN


SIMULATE = Command(
    """\
Follow a saved plan many times, with random outcomes: means with 95% confidence intervals beside the exact
expectations, percentiles, the chance that a run exceeds each bound, and one run in words. A bound is kept in
expectation; single runs may exceed it.

Exit code 0 if the plan keeps the bounds in expectation, 1 if not.""",
    _add_simulate,
    _simulate,
)


def _add_robust(parser: argparse.ArgumentParser) -> None:
    add_problem(parser)
    add(parser, "plan", "--bounds-of")
    parser.add_argument(
        "--within",
        type=deviation,
        default=0.1,
        metavar="SHARE",
        help="by which share of itself a probability may be wrong, such as 10%% or 0.1 (default: 10%%)",
    )
    parser.add_argument(
        "--most",
        type=whole("count", 1),
        default=5,
        metavar="N",
        help="how many influences are printed for each cost (default: 5)",
    )
    add_output(parser)


def _robust(arguments: argparse.Namespace, interruption: Interruption) -> int:
    from hcssp.evaluation.robustness import robustness
    from hcssp.reports.results_text import robustness_document, robustness_in_words

    with reading(arguments, interruption) as (printer, problem):
        plan = read_plan(arguments, arguments.plan, problem).as_procedure()
        printer.note(f"looking for the worst case of {arguments.plan}")
        found = robustness(plan.problem, plan.policy, arguments.within, most=arguments.most)
        if arguments.problem != "-":
            printer.note("changing each parameter by 1%")
            found = replace(found, parameters=_parameters(arguments, plan))
    title = f"{arguments.plan}, a plan for {title_of(arguments)}, with probabilities that may be wrong"
    _print_about(
        arguments,
        plan,
        lambda: robustness_document(found),
        lambda style: robustness_in_words(title, found, plan.problem, style),
    )
    return SOLVED if found.keeps_bounds() else NO_PLAN


def _parameters(arguments: argparse.Namespace, plan: ProcedurePlan) -> tuple[tuple[Influence, ...], ...]:
    """How the costs change with the parameters of the problem."""
    from hcssp.evaluation.robustness import parameter_influences
    from hcssp.files.named_problem import parameters_of

    given = settings_of(arguments.settings)

    def make(changed: Mapping[str, float | Fraction]) -> HCSSP:
        return load_problem(arguments, arguments.problem, {**given, **changed})

    found = parameter_influences(plan.policy, parameters_of(arguments.problem, given), make)
    return tuple(each[: arguments.most] for each in found)


ROBUST = Command(
    """\
If every probability of the problem may be wrong by a share of itself, each row on its own: the exact worst
case of every cost of a saved plan, the largest share under which it keeps each bound, and the probabilities
and costs that it is most sensitive to.

Exit code 0 if the plan keeps the bounds in the worst case, 1 if not.""",
    _add_robust,
    _robust,
)


def _add_why(parser: argparse.ArgumentParser) -> None:
    add_problem(parser)
    add(parser, "plan", "--bounds-of")
    add(parser, "--at", required=True)
    add(parser, "--gap", default=1e-6, help="stop each search at this gap (default: 1e-6)")
    add(parser, "--time-limit", help="stop the search for each alternative after S seconds")
    add_output(parser)


def _why(arguments: argparse.Namespace, interruption: Interruption) -> int:
    from hcssp.contract.progress import Gap, MaxRuntime
    from hcssp.reports.results_text import reasons_document, reasons_in_words
    from hcssp.solving.why import why

    criteria: list[StopCriterion] = [Gap(arguments.gap)]
    if arguments.time_limit is not None:
        criteria.append(MaxRuntime(arguments.time_limit))
    at = place(arguments.at)
    with reading(arguments, interruption) as (printer, problem):
        plan = read_plan(arguments, arguments.plan, problem)
        printer.note(f"comparing the alternatives at {at}")
        reasons = why(plan, at, stop=criteria)
    _print_about(
        arguments,
        plan,
        lambda: reasons_document(reasons),
        lambda style: reasons_in_words(reasons, style),
    )
    return SOLVED if plan.keeps_bounds() else NO_PLAN


WHY = Command(
    """\
What each alternative at an event or in a state would cost: if one deviated there once and then followed
the plan, exactly; and the best whole plan that keeps the bounds and always takes the alternative
there, with what is proven about it.

  hcssp why evacuation plan.json --at door-1-open
  hcssp why evacuation plan.json --at "cross-NE 3,4"

A place is an event, or an activity and one of its states. Where the choice at an event depends on how
it was entered, the label follows the event in the same way.

Exit code 0 if the plan keeps the bounds, 1 if not.""",
    _add_why,
    _why,
)
