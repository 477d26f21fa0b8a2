"""Arithmetic on numbers and named parameters, as problem files write it: ``15%``, ``1 - slip``.

A small parser of our own reads it; nothing is ever executed. Decimals, fractions and percentages are taken
for exactly what is written, the arithmetic is that of fractions, and what comes out is rounded once, so that
three thirds sum to one.

>>> exact_number("0.1"), exact_number("2.5 %"), exact_number("3/20"), exact_number("inf")
(Fraction(1, 10), Fraction(1, 40), Fraction(3, 20), None)

>>> evaluate("1 - slip", {"slip": Fraction("0.1")})
Fraction(9, 10)
>>> evaluate("2 * (a + b) / 3", {"a": Fraction(1, 2), "b": Fraction(1, 10)})
Fraction(2, 5)
>>> evaluate("1 - slop", {"slip": Fraction(1)})
Traceback (most recent call last):
    ...
hcssp.files.problem_file.arithmetic.ExpressionError: there is no parameter 'slop'; did you mean 'slip'?

The parameters of a problem file: their defaults, and what the user sets instead.

A parameter may be computed from those before it. Files that a document uses see its parameters, and one that
they declare themselves has the value of the document around them: the same name is the same number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite

from hcssp.errors import InvalidProblem, UnknownName, did_you_mean
from hcssp.parameters import Number

DECIMAL = r"(?:\.[0-9]{1,40}|[0-9]{1,40}(?:\.[0-9]{0,40})?)"
"""Digits, perhaps with a point among them."""

LARGEST = 10**300
"""More than any number in a problem; what is larger could not be rounded to a double."""

NAME = r"[A-Za-z_][A-Za-z0-9_]*"
"""What a parameter may be called: a word that is no arithmetic."""


LONGEST = 500


DEEPEST = 40


MOST_BITS = 8192
"""Longer fractions come from no measurement, and multiplying them on and on would take all memory."""


_NUMBER = rf"{DECIMAL}(?:[eE][-+]?[0-9]{{1,3}})?"


_OPERAND = rf"(?: *[-+(])* *(?:{_NUMBER}|{NAME})(?: *[)%])*"


PATTERN = rf"^(?!inf$)(?! *[-+]?{_NUMBER} *$){_OPERAND}(?: *[-+*/]{_OPERAND})* *$"
"""What arithmetic looks like; a JSON Schema understands it, too. A plain number in quotes is none."""


_WRITTEN = re.compile(PATTERN)


_NAME = re.compile(NAME)


_TOKEN = re.compile(rf"({_NUMBER})|({NAME})|([-+*/()%])|([^ ])")


_NUMERAL = re.compile(rf"[-+]?(?:{_NUMBER}|{DECIMAL} ?%|{DECIMAL} ?/ ?{DECIMAL})")


class ExpressionError(Exception):
    """An expression that has no value; the message says why."""


def looks_like_expression(text: str) -> bool:
    """Whether a text may be arithmetic."""
    return len(text) <= LONGEST and _WRITTEN.fullmatch(text) is not None


def is_word(text: str) -> bool:
    """Whether a text is a single name, which may be something else than a parameter's."""
    return _NAME.fullmatch(text.strip()) is not None


def names_in(text: str) -> list[str]:
    """The names of an expression, each once, in the order in which they stand there."""
    return list(dict.fromkeys(found[2] for found in _TOKEN.finditer(text) if found[2]))


def evaluate(text: str, values: Mapping[str, Fraction]) -> Fraction:
    """The exact value of an expression.

    Parameters
    ----------
    text
        Numbers and names with ``+ - * /``, parentheses, and ``%`` behind what it divides by a hundred.
    values
        What the names stand for.

    Raises
    ------
    ExpressionError
        If it is none, names what there is not, divides by zero, or is too long, too deep or too large.
    """
    if len(text) > LONGEST:
        raise ExpressionError(f"it has more than {LONGEST} characters; name its parts as parameters")
    reader = _Reader(_tokens(text), values)
    value = reader.sum()
    if reader.next is not None:
        raise ExpressionError(f"there is an operator missing before {reader.next!r}")
    if abs(value) > LARGEST:
        raise ExpressionError("its value is too large for a number")
    return value


def exact_number(text: str) -> Fraction | None:
    """The number that a decimal, a percentage or a fraction means, exactly; None if the text is none."""
    try:
        return evaluate(text, {}) if _NUMERAL.fullmatch(text) else None
    except ExpressionError:
        return None


def _tokens(text: str) -> list[str]:
    found = [*_TOKEN.finditer(text)]
    for unknown in (each[4] for each in found if each[4]):
        raise ExpressionError(f"{unknown!r} is not a part of a number, a name or + - * / ( ) %")
    return [each[0] for each in found]


class _Reader:
    """Reads tokens one after the other: a sum of products of signed parts."""

    def __init__(self, tokens: list[str], values: Mapping[str, Fraction]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self._values = values

    @property
    def next(self) -> str | None:
        """The token that comes next; None at the end."""
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def sum(self) -> Fraction:
        value = self._product()
        while self.next in ("+", "-"):
            value = self._bounded(value + self._product() if self._take() == "+" else value - self._product())
        return value

    def _product(self) -> Fraction:
        value = self._signed()
        while self.next in ("*", "/"):
            divides = self._take() == "/"
            factor = self._signed()
            if divides and not factor:
                raise ExpressionError("it divides by zero")
            value = self._bounded(value / factor if divides else value * factor)
        return value

    def _signed(self) -> Fraction:
        sign = 1
        while self.next in ("+", "-"):
            sign = -sign if self._take() == "-" else sign
        value = self._part()
        while self.next == "%":
            self._take()
            value = self._bounded(value / 100)
        return sign * value

    def _part(self) -> Fraction:
        token = self._take()
        if token == "(":
            self._depth += 1
            if self._depth > DEEPEST:
                raise ExpressionError(f"its parentheses are more than {DEEPEST} deep")
            value = self.sum()
            if self.next != ")":
                raise ExpressionError("a parenthesis is not closed")
            self._take()
            self._depth -= 1
            return value
        if token[:1].isalpha() or token[:1] == "_":
            if token not in self._values:
                known = [*self._values]
                guess = did_you_mean(token, known) if known else "declare it under 'parameters'"
                raise ExpressionError(f"there is no parameter {token!r}; {guess}")
            return self._values[token]
        if not token[:1].isdigit() and token[:1] != ".":
            raise ExpressionError(f"there is nothing before {token!r}")
        return self._bounded(Fraction(token))

    def _take(self) -> str:
        token = self.next
        if token is None:
            raise ExpressionError("it ends too early")
        self._at += 1
        return token

    def _bounded(self, value: Fraction) -> Fraction:
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > MOST_BITS:
            raise ExpressionError("its value has too many digits to be computed exactly")
        return value


_RESERVED = ("inf", "nan")


@dataclass(frozen=True)
class Parameters:
    """What a document says before everything else.

    Attributes
    ----------
    values
        The values that names stand for.
    capacities
        The costs that can be less than 0, because a capacity is given back.
    """

    values: Mapping[str, Fraction] = field(default_factory=dict)
    capacities: frozenset[str] = frozenset()

    def evaluate(self, text: str) -> Fraction:
        """The exact value of an expression.

        Raises
        ------
        ExpressionError
            If it has none; the message says why.
        """
        return evaluate(text, self.values)

    def described(self, text: str) -> str:
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
