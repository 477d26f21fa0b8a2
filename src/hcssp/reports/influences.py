"""The figures that a plan is most sensitive to, in words and as places on the map of a page."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

from hcssp.contract.plan import ProcedurePlan
from hcssp.evaluation.nature import Influence
from hcssp.evaluation.robustness import influences
from hcssp.procedure import HCSSP
from hcssp.procedure.aim import Aim
from hcssp.reports.figures import short
from hcssp.reports.measures import Measure

MOST = 8
"""Figures that are told for each cost; more rings than these hide the map."""

_CELL = re.compile(r"\((-?\d+), (-?\d+)\)")


def influence_in_words(influence: Influence, measure: Measure) -> str:
    """What would change by how much if a figure were one percent of itself larger.

    >>> burnt = Influence("hall", "run", "fire", 0.1, 0.02)
    >>> print(influence_in_words(burnt, Measure("damage", "expected damage")))
    +0.02  the 10% of reaching fire from hall, run
    """
    change = changed_by(influence, measure)
    if influence.action == "":
        return f"{change}  {influence.state}: {influence.figure:g}"
    where = f"{place_name(influence.state)}, {place_name(influence.action)}"
    if influence.successor is None:
        return f"{change}  the cost {measure.rounded(influence.figure)} in {where}"
    odds = f"{100.0 * influence.figure:.3g}%"
    return f"{change}  the {odds} of reaching {place_name(influence.successor)} from {where}"


def changed_by(influence: Influence, measure: Measure) -> str:
    """By how much a cost changes, with its sign; of a probability, in percent."""
    return f"{100.0 * influence.change:+.4g}%" if measure.is_probability else f"{influence.change:+.4g}"


def place_name(label: Hashable) -> str:
    """What to call an event, or a state of an activity."""
    if isinstance(label, tuple) and len(label) == 2 and isinstance(label[0], str):
        return f"{label[0]} {label[1]}"
    return str(label)


def influence_data(plan: ProcedurePlan) -> dict[str, list[dict[str, Any]]]:
    """For each cost the strongest influences: in words, and where on the map."""
    problem = plan.problem
    found = influences(problem, plan.policy, most=MOST)
    return {
        name: [
            {
                "words": influence_in_words(each, Measure.of(problem, name)),
                "change": short(each.change),
                **_where(problem, each.state),
            }
            for each in strongest
        ]
        for name, strongest in zip(Aim.of(problem).names, found, strict=True)
    }


def _where(problem: HCSSP, label: Hashable) -> dict[str, Any]:
    """The activity and the cell of a state, if it lies on a grid."""
    if not (isinstance(label, tuple) and len(label) == 2):
        return {}
    index = next((at for at, each in enumerate(problem.activities) if each.name == label[0]), None)
    cell = _CELL.match(str(label[1]))
    if index is None or cell is None or problem.world(index) is None:
        return {}
    return {"activity": index, "cell": [int(cell[1]), int(cell[2])]}
