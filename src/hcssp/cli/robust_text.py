"""The worst case of a plan for people and for programs."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from hcssp.reports.figures import given, plain, rounded
from hcssp.reports.plan_words import Style, aligned

if TYPE_CHECKING:
    from collections.abc import Hashable

    from hcssp.evaluation.robustness import Influence, Robustness


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
                    "state": _name(each.state),
                    "action": _name(each.action),
                    "successor": None if each.successor is None else _name(each.successor),
                    "figure": each.figure,
                    "change": plain(each.change),
                }
                for each in found.influences[index]
            ],
        }
        if index:
            # JSON knows no infinity: every share below one is borne.
            costs[name]["bearable"] = min(float(found.bearable[index - 1]), 1.0)
    return {"within": found.within, "keeps_bounds": found.keeps_bounds(), "costs": costs}


def robustness_in_words(title: str, found: Robustness, style: Style) -> str:
    """What ``hcssp robust`` prints for people."""
    share = _percent(found.within)
    rows = [("", "expected", "worst case", "at most")]
    for index, name in enumerate(found.cost_names):
        bound = given(float(found.bounds[index - 1])) if index else ""
        rows.append((name, rounded(float(found.expected[index])), rounded(float(found.worst[index])), bound))
    blocks = [
        style.strong(title),
        style.strong(f"If every probability may be wrong by {share} of itself") + "\n" + aligned(rows),
    ]
    verdicts = [_verdict(found, index) for index in range(len(found.bounds))]
    if verdicts:
        blocks.append(style.strong("Bounds") + "\n" + "\n".join(verdicts))
    for name, influences in zip(found.cost_names, found.influences, strict=True):
        if influences:
            heading = style.strong(f"What {name} is most sensitive to")
            lines = [f"  {_told(each)}" for each in influences]
            blocks.append(heading + " (change if the figure were 1% larger)\n" + "\n".join(lines))
    return "\n\n".join(blocks)


def _verdict(found: Robustness, index: int) -> str:
    name, bearable = found.cost_names[1 + index], float(found.bearable[index])
    if bearable == inf:
        told = "kept, however wrong the probabilities are"
    elif bearable == 0.0:
        told = "used up: no error is borne"
    else:
        told = f"kept as long as no probability is wrong by more than {_percent(bearable)} of itself"
    return f"  {name}: {told}"


def _told(influence: Influence) -> str:
    where = f"{_name(influence.state)}, {_name(influence.action)}"
    change = f"{influence.change:+.4g}"
    if influence.successor is None:
        return f"{change}  the cost {rounded(influence.figure)} in {where}"
    odds = _percent(influence.figure)
    return f"{change}  the {odds} of coming to {_name(influence.successor)} from {where}"


def _name(label: Hashable) -> str:
    if isinstance(label, tuple) and len(label) == 2 and isinstance(label[0], str):
        return f"{label[0]} {label[1]}"
    return str(label)


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g}%"
