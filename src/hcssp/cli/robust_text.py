"""The worst case of a plan for people and for programs."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from hcssp.reports.figures import plain
from hcssp.reports.influences import influence_in_words, place_name
from hcssp.reports.measures import Measure
from hcssp.reports.plan_words import Style, aligned

if TYPE_CHECKING:
    from hcssp.evaluation.robustness import Robustness
    from hcssp.procedure import HCSSP


def robustness_document(found: Robustness) -> dict[str, Any]:
    """The worst case as a JSON object."""
    costs = {}
    for index, name in enumerate(found.cost_names):
        costs[name] = {
            "expected": plain(float(found.expected[index])),
            "worst": plain(float(found.worst[index])),
            "at_most": plain(float(found.bounds[index - 1])) if index else None,
            "influences": [
                {
                    "state": place_name(each.state),
                    "action": place_name(each.action),
                    "successor": None if each.successor is None else place_name(each.successor),
                    "figure": each.figure,
                    "change": plain(each.change),
                }
                for each in found.influences[index]
            ],
        }
        if found.parameters:
            costs[name]["parameters"] = [
                {"name": str(each.state), "value": each.figure, "change": plain(each.change)}
                for each in found.parameters[index]
            ]
        if index:
            # JSON knows no infinity: every share below one is borne.
            costs[name]["bearable"] = min(float(found.bearable[index - 1]), 1.0)
    return {"within": found.within, "keeps_bounds": found.keeps_bounds(), "costs": costs}


def robustness_in_words(title: str, found: Robustness, problem: HCSSP, style: Style) -> str:
    """What ``hcssp robust`` prints for people."""
    share = _percent(found.within)
    measures = [Measure.of(problem, name) for name in found.cost_names]
    rows = [["", "expected", "worst case", "at most"]]
    for index, measure in enumerate(measures):
        bound = measure.given(float(found.bounds[index - 1])) if index else ""
        figures = (float(found.expected[index]), float(found.worst[index]))
        rows.append([measure.name, *map(measure.rounded, figures), bound])
    blocks = [
        style.strong(title),
        style.strong(f"If every probability may be wrong by {share} of itself") + "\n" + aligned(rows),
    ]
    verdicts = [
        f"  {measure.name}: {_verdict(float(bearable))}"
        for measure, bearable in zip(measures[1:], found.bearable, strict=True)
    ]
    if verdicts:
        blocks.append(style.strong("Bounds") + "\n" + "\n".join(verdicts))
    parameters = found.parameters or ((),) * len(measures)
    for measure, own, influences in zip(measures, parameters, found.influences, strict=True):
        if influences or own:
            heading = style.strong(f"What {measure.name} is most sensitive to")
            lines = [f"  {influence_in_words(each, measure)}" for each in (*own, *influences)]
            blocks.append(heading + " (change if the figure were 1% larger)\n" + "\n".join(lines))
    return "\n\n".join(blocks)


def _verdict(bearable: float) -> str:
    if bearable == inf:
        return "kept, however wrong the probabilities are"
    if bearable == 0.0:
        return "used up: no error is borne"
    return f"kept as long as no probability is wrong by more than {_percent(bearable)} of itself"


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g}%"
