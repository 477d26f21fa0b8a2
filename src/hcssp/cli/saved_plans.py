"""Commands about a saved plan or a certificate: ``evaluate``, ``check``, ``simulate``, ``robust``, ``why``.

Each reads the problem and the plan, asks one question of the library, and prints the answer. The exit code is
0 if the plan keeps its bounds (``check``: if the proof holds), else 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from shlex import quote
from typing import Any

from hcssp.checker import Certificate, Verdict
from hcssp.checker import check as verify
from hcssp.cli.arguments import UsageError
from hcssp.cli.running import NO_PLAN, SOLVED
from hcssp.cli.session import Session, load_problem, settings_of, with_bounds, written
from hcssp.contract.plan import Plan
from hcssp.contract.progress import Gap, MaxRuntime, StopCriterion
from hcssp.errors import InvalidCertificate, NotProven
from hcssp.evaluation.robustness import parameter_influences, robustness
from hcssp.evaluation.simulation import narrate_procedure
from hcssp.evaluation.simulation import simulate as follow
from hcssp.files.certificate import load_certificate
from hcssp.files.named_problem import parameters_of
from hcssp.numerics import Tolerances
from hcssp.procedure import HCSSP
from hcssp.reports.plan_text import Style
from hcssp.reports.results_text import (
    reasons_document,
    reasons_in_words,
    robustness_document,
    robustness_in_words,
    simulation_document,
    simulation_in_words,
)
from hcssp.reports.verdict_text import (
    check_document,
    check_in_words,
    evaluation_document,
    evaluation_in_words,
)
from hcssp.solving.why import why as compare

_MOST_NUMBERS = 200_000_000
"""The most numbers that all simulated runs together may keep: costs, and the executions of each activity."""


def _answer(
    session: Session, plan: Plan, document: Callable[[], dict[str, Any]], words: Callable[[Style], str]
) -> int:
    """Print the answer to a question about a plan; its JSON begins with the files and the bounds."""
    session.answer(lambda: session.plan_heading(plan) | document(), words)
    return SOLVED if plan.keeps_bounds() else NO_PLAN


def _title(session: Session, after: str = "") -> str:
    return f"{session.arguments.plan}, a plan for {session.title}{after}"


def evaluate(session: Session) -> int:
    """``hcssp evaluate``."""
    with session.working() as printer:
        problem = session.read()
        printer.note(f"evaluating {session.arguments.plan}")
        tolerances = Tolerances(feasibility=session.arguments.feasibility_tolerance)
        checked = session.verified(session.read_plan(problem, tolerances))
    if checked is None:
        return NO_PLAN
    plan = checked.as_procedure()
    return _answer(
        session,
        plan,
        lambda: evaluation_document(plan),
        lambda style: evaluation_in_words(_title(session), plan, style),
    )


def check(session: Session) -> int:
    """``hcssp check``."""
    arguments = session.arguments
    if arguments.props is not None or arguments.property is not None:
        from hcssp.cli import properties

        return properties.check(session)
    with session.working() as printer:
        unbounded = session.read()
        printer.note(f"checking {arguments.certificate}")
        certificate = load_certificate(arguments.certificate)
        problem = with_bounds(unbounded, arguments.bound)
        verdict: Verdict | str
        try:
            verdict = verify(problem, certificate, exact=arguments.exact)
        except InvalidCertificate as error:
            remedy = _remedy(problem, certificate)
            raise InvalidCertificate(f"{arguments.certificate}: {error}{remedy}") from error
        except NotProven as error:
            verdict = str(error)
    heading = {"problem": arguments.problem, "certificate": str(arguments.certificate)}
    title = f"{arguments.certificate}, a proof about {session.title}"
    session.answer(
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


def simulate(session: Session) -> int:
    """``hcssp simulate``."""
    arguments = session.arguments
    with session.working() as printer:
        plan = session.read_plan(session.read()).as_procedure()
        problem, text = plan.problem, f"following {arguments.plan} {arguments.runs:,} times"
        most = _MOST_NUMBERS // (2 + problem.num_constraints + problem.num_activities)
        if arguments.runs > most:
            raise UsageError(f"--runs {arguments.runs:,}: they do not fit into memory; give at most {most:,}")
        printer.note(text)
        count = printer.counter(arguments.runs, text)
        runs = follow(problem, plan.policy, arguments.runs, arguments.seed, on_progress=count)
        legs = list(narrate_procedure(plan.policy, seed=arguments.seed))
    title = _title(session, f", followed {'once' if arguments.runs == 1 else f'{arguments.runs:,} times'}")
    return _answer(
        session,
        plan,
        lambda: simulation_document(runs, plan.costs, legs, problem),
        lambda style: simulation_in_words(title, runs, plan.costs, legs, style, problem),
    )


def robust(session: Session) -> int:
    """``hcssp robust``."""
    arguments = session.arguments
    with session.working() as printer:
        plan = session.read_plan(session.read()).as_procedure()
        printer.note(f"looking for the worst case of {arguments.plan}")
        found = robustness(plan.problem, plan.policy, arguments.within, most=arguments.most)
        if arguments.problem != "-":
            printer.note("changing each parameter by 1%")
            given = settings_of(arguments)

            def make(changed: Mapping[str, float | Fraction]) -> HCSSP:
                return load_problem(arguments, arguments.problem, {**given, **changed})

            changes = parameter_influences(plan.policy, parameters_of(arguments.problem, given), make)
            found = replace(found, parameters=tuple(each[: arguments.most] for each in changes))
    title = _title(session, ", with probabilities that may be wrong")
    _answer(
        session,
        plan,
        lambda: robustness_document(found),
        lambda style: robustness_in_words(title, found, plan.problem, style),
    )
    return SOLVED if found.keeps_bounds() else NO_PLAN


def why(session: Session) -> int:
    """``hcssp why``."""
    arguments = session.arguments
    criteria: list[StopCriterion] = [Gap(arguments.gap)]
    if arguments.time_limit is not None:
        criteria.append(MaxRuntime(arguments.time_limit))
    place = " ".join(arguments.at)
    if not place:
        raise UsageError("--at: name an event, or an activity and its state")
    with session.working() as printer:
        plan = session.read_plan(session.read())
        printer.note(f"comparing the alternatives at {place}")
        reasons = compare(plan, place, stop=criteria)
    return _answer(
        session, plan, lambda: reasons_document(reasons), lambda style: reasons_in_words(reasons, style)
    )
