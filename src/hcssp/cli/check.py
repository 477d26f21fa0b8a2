"""``hcssp check``: whether a certificate proves what it claims, by code that no solver uses."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hcssp.cli.arguments import add_output_arguments, add_problem_arguments
from hcssp.cli.exit_codes import NO_PLAN, SOLVED
from hcssp.cli.problems import load_problem, title_of, with_bounds
from hcssp.cli.progress import notes_on
from hcssp.cli.terminal import style_of

if TYPE_CHECKING:
    from hcssp.checker import Certificate, Verdict
    from hcssp.cli.interruption import Interruption
    from hcssp.procedure import HCSSP
    from hcssp.reports.measures import Measure
    from hcssp.reports.plan_words import Style

HELP = "verify a proof that a plan is the best, or that there is none"
DESCRIPTION = """\
Verify what a certificate claims about a problem: that no plan costs less, that its plan keeps the bounds and
costs no more, or that no plan keeps them. The bounds are those it was made for; name them to insist on them.
No solver is asked: a small program checks inequalities, in double precision that errs on the safe side and
in integers where that does not suffice, or in integers throughout (--exact).

Exit code 0 if it is verified, 1 if not, 2 if it is no certificate for this problem under these bounds."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hcssp check``."""
    add_problem_arguments(parser)
    parser.add_argument("certificate", type=Path, metavar="CERTIFICATE", help="the proof to be verified")
    parser.add_argument(
        "--exact", action="store_true", help="decide everything in integers, which takes some 50 times longer"
    )
    add_output_arguments(parser)


def run(arguments: argparse.Namespace, interruption: Interruption) -> int:
    """Check, print, and answer with the exit code."""
    import json

    with notes_on(arguments, interruption) as printer:
        printer.note(f"reading {arguments.problem}")
        problem = load_problem(arguments)
        printer.note(f"checking {arguments.certificate}")
        problem, certificate, verdict = _checked(arguments, problem)
    if arguments.json:
        print(json.dumps(_document(arguments, problem, certificate, verdict), allow_nan=False))
    else:
        print(_words(arguments, problem, certificate, verdict, style_of(sys.stdout)))
    return NO_PLAN if isinstance(verdict, str) else SOLVED


def _checked(arguments: argparse.Namespace, problem: HCSSP) -> tuple[HCSSP, Certificate, Verdict | str]:
    """The problem under the bounds that are meant, the certificate, and what is verified or why not."""
    from hcssp.checker import check
    from hcssp.errors import InvalidCertificate, NotProven
    from hcssp.files.certificate import load_certificate

    certificate = load_certificate(arguments.certificate)
    names = [constraint.name for constraint in problem.constraints]
    # If there are more or fewer bounds than constraints, it is for another problem; the checker says so.
    problem = problem.with_bounds(dict(zip(names, certificate.bounds, strict=False)))
    problem = with_bounds(problem, arguments.bound)
    try:
        return problem, certificate, check(problem, certificate, exact=arguments.exact)
    except InvalidCertificate as error:
        raise InvalidCertificate(f"{arguments.certificate}: {error}") from error
    except NotProven as error:
        return problem, certificate, str(error)


def _status(verdict: Verdict) -> str:
    from math import inf

    from hcssp.numerics import OPTIMALITY_TOLERANCE, relative_gap

    if verdict.lower_bound == inf:
        return "infeasible"
    if relative_gap(verdict.lower_bound, verdict.upper_bound) <= OPTIMALITY_TOLERANCE:
        return "optimal"
    return "unknown" if verdict.upper_bound == inf else "feasible"


def _costs(problem: HCSSP, verdict: Verdict) -> dict[str, float]:
    """At most what the plan's costs are, by name: rational numbers, rounded upwards."""
    from math import inf, nextafter

    names = [problem.primary_name, *problem.constraint_names]
    nearest = {name: (cost, float(cost)) for name, cost in zip(names, verdict.costs, strict=False)}
    return {name: near if near >= cost else nextafter(near, inf) for name, (cost, near) in nearest.items()}


def _document(
    arguments: argparse.Namespace, problem: HCSSP, certificate: Certificate, verdict: Verdict | str
) -> dict[str, Any]:
    from hcssp.reports.figures import plain

    answer = {
        "problem": arguments.problem,
        "certificate": str(arguments.certificate),
        "bounds": {constraint.name: plain(constraint.at_most) for constraint in problem.constraints},
        "arithmetic": "integers" if arguments.exact else "double precision and integers",
        "leaves": len(certificate.leaves),
        "potentials": len(certificate.potentials),
    }
    if isinstance(verdict, str):
        return {**answer, "verified": False, "reason": verdict}
    return {
        **answer,
        "verified": True,
        "status": _status(verdict),
        "lower_bound": plain(verdict.lower_bound),
        "upper_bound": plain(verdict.upper_bound),
        "holds_for_randomised_policies": verdict.randomised,
        "costs": _costs(problem, verdict),
        "rows_decided_in_integers": verdict.num_exact,
    }


def _at_most(measure: Measure, cost: float) -> str:
    """A cost that is no more than told."""
    from hcssp.reports.figures import rounded_up

    figure = f"{rounded_up(100.0 * cost, 6)}%" if measure.is_probability else rounded_up(cost, 6)
    return f"{measure.name} {figure}"


def _words(
    arguments: argparse.Namespace,
    problem: HCSSP,
    certificate: Certificate,
    verdict: Verdict | str,
    style: Style,
) -> str:
    from math import isfinite

    from hcssp.procedure.aim import Aim
    from hcssp.reports.figures import rounded, rounded_down, rounded_up
    from hcssp.reports.measures import Measure

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
    title = f"{arguments.certificate}, a proof about {title_of(arguments)}{under}"
    if isinstance(verdict, str):
        return f"{style.strong(f'{title}: NOT verified')}\n  {verdict}"
    primary, status = measures[aim.name].name, _status(verdict)
    lines = [style.strong(f"{title}: verified")]
    if status == "infeasible":
        lines.append("  no plan keeps these bounds" if bounds else "  no plan reaches the end with certainty")
    else:
        kept = "no plan that keeps these bounds" if bounds else "no plan"
        if verdict.randomised:
            kept += ", not even one that draws lots,"
        limit = aim.limit(verdict.lower_bound)
        worse = f"above {rounded_up(limit, 6)}" if aim.greatest else f"below {rounded_down(limit, 6)}"
        lines.append(f"  {kept} has an expected {primary} {worse}")
    if verdict.costs:
        costs = _costs(problem, verdict)
        used = "".join(f", {_at_most(measures[name], costs[name])}" for name in aim.others)
        # Costs are known from above; a reward, which is a sum of some, only to these digits.
        about, least = rounded(aim.value(costs), 6), rounded_up(costs[problem.primary_name], 6)
        has = f"about {about}" if aim.greatest else f"at most {least}"
        lines.append(f"  its plan has an expected {primary} of {has}{used}")
    if status == "optimal":
        lines.append("  so that its plan is optimal")
    rows = "all rows in integers" if arguments.exact else f"{verdict.num_exact} rows in integers"
    leaves = "1 leaf" if len(certificate.leaves) == 1 else f"{len(certificate.leaves)} leaves"
    lines.append(f"  {leaves}, {len(certificate.potentials)} potentials, {rows}")
    return "\n".join(lines)
