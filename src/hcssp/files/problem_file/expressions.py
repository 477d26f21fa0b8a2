"""Arithmetic on named parameters, as problem files write it: ``1 - slip``, ``2 * (a + b) / 3``.

A small parser of our own reads it; nothing is ever executed. Decimals, fractions and percentages are taken
for exactly what is written, the arithmetic is that of fractions, and what comes out is rounded once.

>>> evaluate("1 - slip", {"slip": Fraction("0.1")})
Fraction(9, 10)
>>> evaluate("2 * (a + b) / 3", {"a": Fraction(1, 2), "b": Fraction(1, 10)})
Fraction(2, 5)
>>> evaluate("1 - slop", {"slip": Fraction(1)})
Traceback (most recent call last):
    ...
hcssp.files.problem_file.expressions.ExpressionError: there is no parameter 'slop'; did you mean 'slip'?
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from hcssp.errors import did_you_mean
from hcssp.files.problem_file.written_numbers import DECIMAL, LARGEST

NAME = r"[A-Za-z_][A-Za-z0-9_]*"
"""What a parameter may be called: a word that no arithmetic can be mistaken for."""

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
_TOKEN = re.compile(rf" *(?:({_NUMBER})|({NAME})|([-+*/()%]))")


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


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    at = 0
    stripped = text.rstrip()
    while at < len(stripped):
        found = _TOKEN.match(stripped, at)
        if found is None:
            raise ExpressionError(
                f"{stripped[at:].strip()[:1]!r} is no part of a number, a name or + - * / ( ) %"
            )
        tokens.append(found[0].strip())
        at = found.end()
    return tokens


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
