"""Where an activity starts and ends: what the file says, and the places of the model that are meant."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import Any

from hcssp.files.problem_file.format import Model, Target
from hcssp.files.problem_file.grids import GridModel, Places
from hcssp.files.problem_file.tables import TableModel
from hcssp.files.problem_file.tree import Field
from hcssp.numerics import PROBABILITY_TOLERANCE


@dataclass(frozen=True, eq=False)
class Aim:
    """A start or a goal, how probable it is as a start, and where the file says so."""

    target: Target
    probability: float
    field: Field


@dataclass(frozen=True)
class Ends:
    """The cells or states where an activity starts and ends, and where the file says so."""

    starts: dict[Any, float]
    goals: tuple[Any, ...]
    places: Places


def starts_of(part: Model) -> list[Aim] | None:
    """The start of a model, or several with their probabilities; None if it says none, or nothing sound."""
    if not isinstance(part.start, list):
        return None if part.start is None else [Aim(part.start, 1.0, part.where("start"))]
    aims = [
        Aim(each.at, each.probability, each.where("at"))
        for each in part.start
        if each is not None and each.at is not None and each.probability is not None
    ]
    if len(aims) < len(part.start):
        return None
    total = fsum(aim.probability for aim in aims)
    if abs(total - 1.0) > PROBABILITY_TOLERANCE:
        part.where("start").wrong(f"the probabilities sum to {total:.10g}, not 1")
    return aims


def goals_of(part: Model) -> list[Aim] | None:
    """The goals of a model; None if it says none, or nothing sound."""
    if not isinstance(part.goal, list):
        return None if part.goal is None else [Aim(part.goal, 1.0, part.where("goal"))]
    return [
        Aim(target, 1.0, part.where("goal", number))
        for number, target in enumerate(part.goal)
        if target is not None
    ]


def ends_of(model: GridModel | TableModel, start: list[Aim] | None, goal: list[Aim] | None) -> Ends | None:
    """Where an activity starts and ends; as the model says where it says nothing.

    None, and the mistakes noted, if there is no such place.
    """
    found = {aim: model.find(aim.target, aim.field) for aim in (*(start or ()), *(goal or ()))}
    if not all(found.values()):
        return None
    starts: dict[Any, float] = {}
    goals: dict[Any, None] = {}
    places: Places = {}
    for aim in start or ():
        for place in found[aim]:
            if isinstance(place, str):
                aim.field.wrong(f"{place!r} is an exit, where an activity ends; start in a cell")
                return None
            if place not in starts:
                places["start", len(starts)] = aim.field
            starts[place] = starts.get(place, 0.0) + aim.probability / len(found[aim])
    for aim in goal or ():
        for place in found[aim]:
            if place not in goals:
                places["goal", len(goals)] = aim.field
            goals[place] = None
    if start is None:
        starts = dict.fromkeys(model.starts, 1.0 / len(model.starts))
    return Ends(starts, model.goals if goal is None else tuple(goals), places)
