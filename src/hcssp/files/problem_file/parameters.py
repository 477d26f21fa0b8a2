"""The parameters of a problem file: their defaults, and what the user sets instead.

A parameter may be computed from those before it. Files that a document uses see its parameters, and one that
they declare themselves has the value of the document around them: the same name is the same number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite

from hcssp.errors import InvalidProblem, UnknownName
from hcssp.files.problem_file.expressions import NAME, ExpressionError, evaluate, names_in
from hcssp.files.problem_file.written_numbers import LARGEST, exact_number
from hcssp.scenarios.dials import Number

_RESERVED = ("inf", "nan")


@dataclass(frozen=True)
class Parameters:
    """The values that names stand for.

    Attributes
    ----------
    values
        By name.
    """

    values: Mapping[str, Fraction] = field(default_factory=dict)

    def evaluate(self, text: str) -> Fraction:
        """The exact value of an expression.

        Raises
        ------
        ExpressionError
            If it has none; the message says why.
        """
        return evaluate(text, self.values)

    def told(self, text: str) -> str:
        """What an expression is, for a message: ``'1 - slip' (-0.2 with slip = 1.2)``."""
        value = float(self.evaluate(text))
        given = " and ".join(f"{name} = {float(self.values[name]):g}" for name in names_in(text))
        if text.strip() in self.values:
            return f"the parameter {given}"
        return f"{text!r} ({value:g} with {given})" if given else repr(text)


NO_PARAMETERS = Parameters()
"""Those of a document that has none."""


@dataclass(frozen=True)
class Settings:
    """What the user sets, and which parameters the documents declare, those inside of others included.

    Attributes
    ----------
    values
        What is set, exactly.
    declared
        The names that have been met.
    """

    values: Mapping[str, Fraction] = field(default_factory=dict)
    declared: set[str] = field(default_factory=set)

    @classmethod
    def given(cls, parameters: Mapping[str, Number] | None) -> Settings:
        """The settings that a caller gives.

        Raises
        ------
        InvalidProblem
            If a value is not a finite number.
        """
        values: dict[str, Fraction] = {}
        found: list[str] = []
        for name, value in (parameters or {}).items():
            exact = exactly(value)
            if exact is None:
                found.append(f"the parameter {name!r} is set to {value!r}; give a finite number")
            else:
                values[name] = exact
        if found:
            raise InvalidProblem(found)
        return cls(values)

    def check(self) -> None:
        """Refuse what is set and declared nowhere.

        Raises
        ------
        UnknownName
            If something is.
        """
        for name in self.values:
            if name not in self.declared:
                raise UnknownName("parameter", name, self.declared)


def exactly(value: Number) -> Fraction | None:
    """A number as a fraction; None if it is not finite. A float is the decimal that it is printed as.

    >>> exactly(0.1), exactly(3), exactly(float("inf"))
    (Fraction(1, 10), Fraction(3, 1), None)
    """
    if isinstance(value, float):
        return exact_number(repr(float(value))) if isfinite(value) else None
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        return None
    exact = Fraction(value)
    return exact if abs(exact) <= LARGEST else None


def parameter_problem(name: str) -> str | None:
    """Why a name cannot be a parameter's, if so."""
    if re.fullmatch(NAME, name) and name not in _RESERVED and len(name) <= 100:
        return None
    return f"{name[:60]!r} cannot name a parameter; take letters, digits and _, such as 'slip_left'"


def computed(
    declared: Iterable[tuple[str, str | Fraction]], around: Parameters, settings: Settings
) -> tuple[Parameters, dict[str, str]]:
    """The values of the parameters of a document, and what is wrong with those that have none.

    Parameters
    ----------
    declared
        Names with their defaults, numbers or expressions, in their order.
    around
        Those of the document that uses this one.
    settings
        What the user sets.
    """
    values = {**around.values}
    wrong: dict[str, str] = {}
    for name, default in declared:
        settings.declared.add(name)
        if name in settings.values:
            values[name] = settings.values[name]
        elif name not in around.values:
            try:
                values[name] = evaluate(default, values) if isinstance(default, str) else default
            except ExpressionError as error:
                wrong[name] = str(error)
    return Parameters(values), wrong
