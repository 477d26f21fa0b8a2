"""``hcssp solve MODEL --property ...``: whether a model has a policy for several objectives, with proofs."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from fractions import Fraction
from math import inf
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np

from hcssp.cli.arguments import UsageError
from hcssp.cli.running import INTERRUPTED, NO_PLAN, SOLVED
from hcssp.cli.session import Session, asked_again, settings_of
from hcssp.contract.progress import Policies
from hcssp.errors import NotProven
from hcssp.exchange.objectives import Decided, Proven, Reduced, decide, load_question, verdict, verified
from hcssp.exchange.pareto import GAP, pareto_front
from hcssp.exchange.storm import written_constants
from hcssp.files.certificate import load_certificate, save_certificate
from hcssp.files.named_problem import constants_of

if TYPE_CHECKING:
    from hcssp.cli.running import Interruption

Found = dict[Policies, tuple[Decided, float]]

_NOT_WITH_A_PROPERTY = (
    "bound", "probability", "maximise", "minimise", "goal", "costs", "domain", "give_up", "iterations",
    "mode", "choices", "likelihoods", "resume", "plot", "alternatives", "lagrangian", "activity",
    "allocation", "axes", "jobs", "scheduler",
)  # fmt: skip


def run(session: Session) -> int:
    """Decide the property for both kinds of policies, or for the one that was asked for."""
    arguments, interruption = session.arguments, session.interruption
    _check_options(session)
    kinds: tuple[Policies, ...] = ("randomised", "deterministic")
    if arguments.policies is not None:
        kinds = (arguments.policies,)
    found: Found = {}
    try:
        interruption.begin()
        if arguments.time_limit is not None:
            interruption.allow(arguments.time_limit)
        question = _question(session)
        interruption.allow(inf)
        if len(question.open) > 1:
            return _print_front(arguments, question, interruption)
        for kind in kinds:
            if interruption.requested:
                # The search has ended, and its answer is kept.
                break
            began = time.perf_counter()
            before = found.get("randomised")
            answer = decide(question, kind, arguments.time_limit, None if before is None else before[0])
            found[kind] = answer, time.perf_counter() - began
    except KeyboardInterrupt:
        path = arguments.problem
        why = f"{path} was not read within the time limit" if interruption.expired else "interrupted"
        print(f"hcssp: {why}; the property is undecided", file=sys.stderr)
        if arguments.json:
            print(json.dumps({"problem": path, "verdict": "undecided", "message": why}))
        return NO_PLAN if interruption.expired else INTERRUPTED
    finally:
        interruption.end()
    written = _saved(arguments, question, found)
    if arguments.json:
        print(json.dumps(_document(arguments, question, found), allow_nan=False))
    else:
        print("\n\n".join([_text(arguments, question, found), *written]))
    if interruption.requested:
        return INTERRUPTED
    decided = all(answer.achievable is not None for answer, _ in found.values())
    return SOLVED if decided else NO_PLAN


def _question(session: Session) -> Reduced:
    """The property that the command line asks about a model."""
    arguments = session.arguments
    given = dict(written_constants(arguments.problem, ",".join(arguments.constants) or None))
    return load_question(
        arguments.problem,
        arguments.property or "",
        props=arguments.props,
        constants=given | constants_of(settings_of(arguments)),
        max_states=arguments.max_states,
    )


def _check_options(session: Session) -> None:
    """Refuse options that a property excludes, and files that cannot be written."""
    arguments = session.arguments
    given = [f"--{name.replace('_', '-')}" for name in _NOT_WITH_A_PROPERTY if getattr(arguments, name)]
    given += [
        f"--{name}"
        for name, usual in (("method", "exact"), ("scale", 1))
        if getattr(arguments, name) != usual
    ]
    if given:
        raise UsageError(
            f"--property: {', '.join(given)} cannot be combined with it; leave one out. The property says "
            "what is bounded and optimised"
        )
    for option in ("out", "certificate"):
        if getattr(arguments, option) is not None and arguments.policies is None:
            kinds = "--policies randomised or --policies deterministic"
            raise UsageError(f"--{option}: each kind of policies has its own answer; add {kinds}")
    session.check_outputs("out", "certificate")


def _saved(arguments: argparse.Namespace, question: Reduced, found: Found) -> list[str]:
    """Save the policy and the certificate, and report their files."""
    said = []
    for answer, _ in found.values():
        if arguments.out is not None and answer.achievable:
            answer.plan.under(question.problem).save(arguments.out)
            said.append(f"The policy is saved in {arguments.out}.")
        if arguments.certificate is not None and answer.achievable is not None:
            save_certificate(arguments.certificate, answer.certificate or answer.plan.certificate)
            asked = asked_again(arguments, question.problem.procedure)
            said.append(
                f"The certificate is saved in {arguments.certificate}. Verify it: "
                f"hcssp check {asked} {quote(str(arguments.certificate))}"
            )
    return said


def check(session: Session) -> int:
    """``hcssp check`` of a certificate about a property."""
    arguments = session.arguments
    with session.working() as printer:
        printer.note(f"reading {arguments.problem}")
        question = _question(session)
        printer.note(f"checking {arguments.certificate}")
        proven: Proven | str
        try:
            proven = verified(question, load_certificate(arguments.certificate))
        except NotProven as error:
            proven = str(error)
    heading = {"problem": arguments.problem, "certificate": str(arguments.certificate)}
    session.answer(
        lambda: heading | _check_document(question, proven),
        lambda _: _check_text(arguments, question, proven),
        wrap=False,
    )
    return NO_PLAN if isinstance(proven, str) else SOLVED


def _check_document(question: Reduced, proven: Proven | str) -> dict[str, Any]:
    if isinstance(proven, str):
        return {"verified": False, "message": proven}
    return {
        "verified": True,
        "objectives": [each.text for each in question.query.objectives],
        "achievable": proven.achievable,
        "randomised": proven.randomised,
        "values": [value for _, value in _values(question, proven.costs)] or None,
        "best": _best(question, proven),
    }


def _check_text(arguments: argparse.Namespace, question: Reduced, proven: Proven | str) -> str:
    title = f"{arguments.certificate}, a proof about {arguments.problem}"
    if isinstance(proven, str):
        return f"{title}: not verified\n  {proven}"
    lines = [f"{title}: verified", *(f"  {each.text}" for each in question.query.objectives), ""]
    if not proven.achievable:
        kind = "" if proven.randomised else "deterministic "
        return "\n".join([*lines, f"Not achievable: no {kind}policy keeps these bounds."])
    kind = "randomised" if proven.randomised else "deterministic"
    lines.append(f"Achievable: the {kind} policy of the certificate keeps these bounds.")
    lines += [f"  {value:.10g} for {text}" for text, value in _values(question, proven.costs)]
    best = _best(question, proven)
    if best is not None:
        lines.append(f"  none is better than {best:.10g}")
    return "\n".join(lines)


def _print_front(arguments: argparse.Namespace, question: Reduced, interruption: Interruption) -> int:
    """Print the answer to a Pareto query."""
    for option in ("out", "certificate"):
        if getattr(arguments, option) is not None:
            raise UsageError(
                f"--{option}: a Pareto query has many policies; give bounds to all but one objective"
            )
    if arguments.policies == "deterministic":
        raise UsageError("--policies deterministic: a Pareto query is answered for randomised policies")
    wanted = GAP if arguments.gap is None else arguments.gap
    front = pareto_front(question, wanted, arguments.time_limit, lambda: not interruption.requested)
    texts = [each.text for each in question.query.objectives]
    points = [
        [float(question.value(place, cost)) for place, cost in enumerate(point)] for point in front.points
    ]
    answer = "points" if points or front.failed is None else verdict(front.failed)
    if arguments.json:
        large = [question.query.objectives[place].at_least for place in question.open]
        signs = np.where(large, -1.0, 1.0)
        begins = signs * [float(question.value(place, Fraction(0))) for place in question.open]
        bounds = [
            {"weights": (signs * weights).tolist(), "at_least": lower + float(weights @ begins)}
            for weights, lower in front.bounds
        ]
        document = {
            "problem": arguments.problem,
            "property": question.query.name or None,
            "objectives": texts,
            "states": question.num_states,
            "verdict": answer,
            "points": points,
            "bounds": bounds,
            "gap": front.gap if front.gap < inf else None,
        }
        print(json.dumps(document, allow_nan=False))
    else:
        print(
            f"{arguments.problem}: {question.num_states:,} states\n"
            + "\n".join(f"  {text}" for text in texts)
        )
        found = f"{len(points)} Pareto points" if points else answer
        print(f"\nRandomised policies: {found}")
        for point in points:
            print("  " + "  ".join(f"{value:.10g}" for value in point))
        if points:
            print(
                "Mixtures of their policies reach all points between them. The values were verified in "
                f"rational\nnumbers, and certificates in integers: {len(front.bounds)} weighted sums, by "
                f"which no policy is better\nby more than {front.gap:.2g} of the range of values."
            )
    if interruption.requested:
        return INTERRUPTED
    return SOLVED if front.gap <= wanted else NO_PLAN


def _values(question: Reduced, costs: Sequence[Fraction]) -> list[tuple[str, float]]:
    """The verified value of each objective under the policy; nothing without a policy."""
    return [
        (objective.text, float(question.value(place, cost)))
        for place, (objective, cost) in enumerate(zip(question.query.objectives, costs, strict=False))
    ]


def _best(question: Reduced, answer: Decided | Proven) -> float | None:
    place = question.optimised
    return None if place is None or answer.best is None else float(question.value(place, answer.best))


def _text(
    arguments: argparse.Namespace,
    question: Reduced,
    found: Found,
) -> str:
    name = question.query.name
    lines = [f"{arguments.problem}{f', property {name}' if name else ''}: {question.num_states:,} states"]
    lines += [f"  {each.text}" for each in question.query.objectives]
    for kind, (answer, seconds) in found.items():
        lines.append(f"\n{kind.capitalize()} policies: {verdict(answer)} ({seconds:.1f} s)")
        if answer.achievable:
            lines.append("  proof: a policy; its values were verified in rational numbers")
            lines += [f"  {value:.10g} for {text}" for text, value in _values(question, answer.costs)]
            best = _best(question, answer)
            if best is not None:
                lines.append(f"  none is better than {best:.10g}; its certificate was checked in integers")
        elif answer.achievable is False:
            lines.append("  proof: weights and potentials of a certificate, which was checked in integers")
        else:
            lines.append(f"  nothing was proven; the search ended because {answer.plan.ending.in_words}")
    optima = [value for answer, _ in found.values() if (value := _best(question, answer)) is not None]
    if len(optima) > 1:
        lines.append(f"\nDeterminism costs {abs(optima[1] - optima[0]):.6g}.")
    if len(question.query.objectives) == 1 and question.optimised is None:
        lines.append("\nThe question was whether there is such a policy, not whether all policies are such.")
    if "deterministic" in found:
        lines.append("\nDeterministic policies may remember which targets were reached.")
    return "\n".join(lines)


def _document(
    arguments: argparse.Namespace,
    question: Reduced,
    found: Found,
) -> dict[str, Any]:
    return {
        "problem": arguments.problem,
        "property": question.query.name or None,
        "objectives": [each.text for each in question.query.objectives],
        "states": question.num_states,
        **{
            kind: {
                "verdict": verdict(answer),
                "values": [value for _, value in _values(question, answer.costs)] or None,
                "best": _best(question, answer),
                "stopped_by": str(answer.plan.ending.reason),
                "seconds": seconds,
            }
            for kind, (answer, seconds) in found.items()
        },
    }
