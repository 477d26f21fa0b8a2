"""``hcssp solve MODEL --property ...``: whether a model has a policy for several objectives, with proofs."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hcssp.cli.arguments import UsageError
from hcssp.cli.running import INTERRUPTED, NO_PLAN, SOLVED

if TYPE_CHECKING:
    from hcssp.cli.running import Interruption
    from hcssp.contract.progress import Policies
    from hcssp.exchange.objectives import Decided, Reduced
    from hcssp.exchange.properties import Query

    Found = dict[Policies, tuple[Decided, float]]


def run(arguments: argparse.Namespace, interruption: Interruption) -> int:
    """Decide the property for both kinds of policies, or for the one that was asked for."""
    from hcssp.exchange.objectives import decide, reduced
    from hcssp.exchange.storm import LANGUAGES, read_symbolic

    path = Path(arguments.problem)
    if path.suffix not in LANGUAGES:
        known = ", ".join(LANGUAGES)
        raise UsageError(f"--property: {arguments.problem} is no model with properties; give one of {known}")
    query, constants = _query(arguments, path)
    kinds: tuple[Policies, ...] = ("randomised", "deterministic")
    if arguments.policies is not None:
        kinds = (arguments.policies,)
    found: Found = {}
    try:
        interruption.begin()
        if arguments.time_limit is not None:
            interruption.allow(arguments.time_limit)
        model = read_symbolic(
            path,
            LANGUAGES[path.suffix],
            constants,
            query.expressions,
            whole=True,
            max_states=arguments.max_states,
        )
        interruption.allow(inf)
        question = reduced(model, query)
        if len(question.open) > 1:
            return _print_front(arguments, question, model.num_states, interruption)
        for kind in kinds:
            if interruption.requested:
                # The search has ended, and its answer is kept.
                break
            began = time.perf_counter()
            before = found.get("randomised")
            answer = decide(question, kind, arguments.time_limit, None if before is None else before[0])
            found[kind] = answer, time.perf_counter() - began
    except KeyboardInterrupt:
        why = f"{path} was not read within the time limit" if interruption.expired else "interrupted"
        print(f"hcssp: {why}; the property is undecided", file=sys.stderr)
        if arguments.json:
            undecided = {"property": query.name or None, "verdict": "undecided", "message": why}
            print(json.dumps({"problem": arguments.problem, **undecided}))
        return NO_PLAN if interruption.expired else INTERRUPTED
    finally:
        interruption.end()
    if arguments.json:
        print(json.dumps(_document(arguments, question, model.num_states, found), allow_nan=False))
    else:
        print(_text(arguments, question, model.num_states, found))
    if interruption.requested:
        return INTERRUPTED
    decided = all(answer.achievable is not None for answer, _ in found.values())
    return SOLVED if decided else NO_PLAN


def _print_front(
    arguments: argparse.Namespace, question: Reduced, states: int, interruption: Interruption
) -> int:
    """Print the answer to a Pareto query."""
    from fractions import Fraction

    import numpy as np

    from hcssp.exchange.objectives import verdict
    from hcssp.exchange.pareto import GAP, pareto_front

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
            "states": states,
            "verdict": answer,
            "points": points,
            "bounds": bounds,
            "gap": front.gap if front.gap < inf else None,
        }
        print(json.dumps(document, allow_nan=False))
    else:
        print(f"{arguments.problem}: {states:,} states\n" + "\n".join(f"  {text}" for text in texts))
        found = f"{len(points)} Pareto points" if points else answer
        print(f"\nRandomised policies: {found}")
        for point in points:
            print("  " + "  ".join(f"{value:.10g}" for value in point))
        if points:
            print(
                "Mixtures of their policies reach everything between them. The values were verified in "
                f"rational\nnumbers, and certificates in integers: {len(front.bounds)} weighted sums, by "
                f"which no policy is better\nby more than {front.gap:.2g} of the range of values."
            )
    if interruption.requested:
        return INTERRUPTED
    return SOLVED if front.gap <= wanted else NO_PLAN


def _query(arguments: argparse.Namespace, path: Path) -> tuple[Query, dict[str, str]]:
    """The property that is asked for, and the constants that are given of the model."""
    from hcssp.exchange.properties import parse_properties, stated_constants
    from hcssp.exchange.storm import jani_properties, written_constants
    from hcssp.files.atomic import read_text

    given = dict(written_constants(str(path), ",".join(arguments.constants or ()) or None))
    asked, props = arguments.property, arguments.props
    text, named, own = asked or "", None, {}
    if path.suffix != ".jani":
        own = {name: value for name, value in stated_constants(read_text(path)).items() if value}
    if props is not None:
        text, named = read_text(props), asked
    if props is None and path.suffix == ".jani" and re.fullmatch(r"[^\[\]]+", text):
        text, named = jani_properties(path), asked
    queries = parse_properties(text, own | given, named)
    if len(queries) > 1:
        names = ", ".join(repr(each.name) for each in queries)
        told = f"{props} has several properties; name one by --property: {names}"
        raise UsageError(told if props else f"--property: there are {len(queries)} properties; give one")
    inner = stated_constants(text).keys()
    return queries[0], {name: value for name, value in given.items() if name not in inner}


def _values(question: Reduced, answer: Decided) -> list[tuple[str, float]]:
    """What the policy reaches of each objective, as it was verified."""
    return [
        (objective.text, float(question.value(place, cost)))
        for place, (objective, cost) in enumerate(zip(question.query.objectives, answer.costs, strict=True))
    ]


def _best(question: Reduced, answer: Decided) -> float | None:
    place = question.optimised
    return None if place is None or answer.best is None else float(question.value(place, answer.best))


def _text(
    arguments: argparse.Namespace,
    question: Reduced,
    states: int,
    found: dict[Policies, tuple[Decided, float]],
) -> str:
    from hcssp.exchange.objectives import verdict

    name = question.query.name
    lines = [f"{arguments.problem}{f', property {name}' if name else ''}: {states:,} states"]
    lines += [f"  {each.text}" for each in question.query.objectives]
    for kind, (answer, seconds) in found.items():
        lines.append(f"\n{kind.capitalize()} policies: {verdict(answer)} ({seconds:.1f} s)")
        if answer.achievable:
            lines.append("  proof: a policy; its values were verified in rational numbers")
            lines += [f"  {value:.10g} for {text}" for text, value in _values(question, answer)]
            best = _best(question, answer)
            if best is not None:
                lines.append(f"  none is better than {best:.10g}; its certificate was checked in integers")
        elif answer.achievable is False:
            lines.append("  proof: weights and potentials of a certificate, which was checked in integers")
        else:
            lines.append(f"  nothing was proven; the search ended because {answer.plan.ending.in_words}")
    optima = [value for answer, _ in found.values() if (value := _best(question, answer)) is not None]
    if len(optima) > 1:
        lines.append(f"\nTo be deterministic costs {abs(optima[1] - optima[0]):.6g}.")
    if len(question.query.objectives) == 1 and question.optimised is None:
        lines.append("\nThe question was whether there is such a policy, not whether all policies are such.")
    if "deterministic" in found:
        lines.append("\nDeterministic policies may remember which targets were reached.")
    return "\n".join(lines)


def _document(
    arguments: argparse.Namespace,
    question: Reduced,
    states: int,
    found: dict[Policies, tuple[Decided, float]],
) -> dict[str, Any]:
    from hcssp.exchange.objectives import verdict

    return {
        "problem": arguments.problem,
        "property": question.query.name or None,
        "objectives": [each.text for each in question.query.objectives],
        "states": states,
        **{
            kind: {
                "verdict": verdict(answer),
                "values": [value for _, value in _values(question, answer)] if answer.costs else None,
                "best": _best(question, answer),
                "stopped_by": str(answer.plan.ending.reason),
                "seconds": seconds,
            }
            for kind, (answer, seconds) in found.items()
        },
    }
