"""Where a problem in PPDDL begins: in one situation, or in one of several by chance."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from hcssp.errors import InvalidProblem
from hcssp.exchange.ppddl_effects import Effects, together
from hcssp.exchange.ppddl_grounding import Situation, Vocabulary, written


def begun(words: Vocabulary, chances: Sequence[Any]) -> dict[Situation, float]:
    """The situations in which a problem may begin, with their probabilities.

    Parameters
    ----------
    words
        What is certain in the beginning, and the objects.
    chances
        What is not, as effects that are independent of each other.

    Raises
    ------
    InvalidProblem
        If a number has no value in one of them, or an atom is said to be true and false.
    """
    effects = Effects(words)
    certain = words.initial
    found: dict[Situation, Fraction] = {}
    for happening in together([effects.effect(each, {})(certain) for each in chances]):
        stated = {*happening.added, *certain.atoms}
        violations = [f"{written(atom)} is true and false" for atom in happening.deleted if atom in stated]
        given = {*words.given, *(change.what for change in happening.changes)}
        violations += [
            f"{written(what)} has no value if chance does not draw one"
            for what in words.place
            if what not in given
        ]
        if violations:
            raise InvalidProblem(f"{each} in :init" for each in violations)
        situation = effects.after(certain, happening)
        found[situation] = found.get(situation, Fraction(0)) + happening.probability
    return {situation: float(probability) for situation, probability in found.items()}
