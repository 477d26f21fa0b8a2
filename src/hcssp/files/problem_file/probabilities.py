"""The bounds on probabilities of a problem file: ``crash: {probability: {of: crashed, at_most: 1%}}``."""

from __future__ import annotations

from collections.abc import Hashable

from hcssp.errors import HcsspError
from hcssp.files.problem_file.format import BoundedProbability, Problem
from hcssp.files.problem_file.tables import state_label
from hcssp.procedure import HCSSP
from hcssp.procedure.probabilities import What, with_probability


def with_probabilities(read: Problem, problem: HCSSP) -> HCSSP:
    """The problem with the bounds on probabilities that the document states; mistakes are noted."""
    for name, constraint in (read.constraints or {}).items():
        stated = constraint.probability if isinstance(constraint, BoundedProbability) else None
        if stated is None or stated.of is None:
            continue
        try:
            problem = with_probability(problem, name, of=_what(stated.of), at_most=stated.at_most)
        except HcsspError as error:
            read.where("constraints", name, "probability", "of").wrong(str(error))
    return problem


def _what(of: str | dict[str, tuple[int, ...] | str | None]) -> What:
    """What is meant: a name, or from activities to states."""
    if isinstance(of, str):
        return of
    return {name: _label(target) for name, target in of.items() if target is not None}


def _label(target: tuple[int, ...] | str) -> Hashable:
    return state_label(target) if isinstance(target, str) else target
