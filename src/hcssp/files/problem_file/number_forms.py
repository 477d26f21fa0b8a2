"""Forms of numbers in a document: written out, or as arithmetic on parameters."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isfinite

from hcssp.files.problem_file.expressions import (
    LONGEST,
    PATTERN,
    ExpressionError,
    is_word,
    looks_like_expression,
)
from hcssp.files.problem_file.forms import KINDS, Definitions, Form, Schema
from hcssp.files.problem_file.tree import Field, Scalar
from hcssp.files.problem_file.written_numbers import exact_number

WRITTEN: Schema = {"type": "string", "pattern": PATTERN, "maxLength": LONGEST}
"""Arithmetic: a fraction, a percentage, a parameter, or what is computed from them."""


def number(what: str, least: float = -inf, most: float = inf) -> Form[float]:
    """A finite number between `least` and `most`; arithmetic is a text that means one."""

    def take(field: Field) -> float | None:
        given = field.value
        if isinstance(given, int | float) and isfinite(given) and least <= given <= most:
            return float(given)
        if isinstance(given, str):
            value = _computed(field, what)
            if value is not None and not least <= value <= most:
                field.wrong(f"{field.parameters.told(given)} is not {what}")
                return None
            return None if value is None else float(value)
        field.expected(what)
        return None

    limits = {name: each for name, each in (("minimum", least), ("maximum", most)) if isfinite(each)}
    plain = {"type": "number", **limits}
    return Form(what, ("a number", "a text"), take, lambda _: {"anyOf": [plain, WRITTEN]}, _looks_computed)


def _computed(field: Field, what: str) -> Fraction | None:
    """The exact value of a text that is arithmetic; None, and the mistake noted, if it is not or has none."""
    text = str(field.value)
    # Where there are no parameters a word is a word, and not one that is missing.
    if not looks_like_expression(text) or (is_word(text) and not field.parameters.values):
        field.expected(what)
        return None
    try:
        return field.parameters.evaluate(text)
    except ExpressionError as error:
        field.wrong(f"{field.shown} is not {what}: {error}")
        return None


def _looks_computed(field: Field) -> bool:
    text = field.value
    if not isinstance(text, str):
        return True
    return looks_like_expression(text) and (not is_word(text) or text.strip() in field.parameters.values)


def parameter() -> Form[Fraction | str]:
    """The default of a parameter: a number exactly as it is written, or arithmetic."""
    what = "a number, or arithmetic on parameters before it"

    def take(field: Field) -> Fraction | str | None:
        if isinstance(field.value, str) and looks_like_expression(field.value):
            return field.value
        number = isinstance(field.value, int | float) and isinstance(field.node, Scalar)
        exact = exact_number(field.node.source) if number and isinstance(field.node, Scalar) else None
        if exact is None:
            field.expected(what)
        return exact

    schema = {"anyOf": [{"type": "number"}, WRITTEN]}
    return Form(what, ("a number", "a text"), take, lambda _: schema, _looks_computed)


def bound(what: str) -> Form[float]:
    """A finite number, or a word for none."""
    finite, words = number(what), ("inf", ".inf")

    def take(field: Field) -> float | None:
        if field.value == inf and isinstance(field.node, Scalar) and "i" not in field.node.source.lower():
            field.wrong(f"{field.shown} is too large for a number; write inf for a bound that is none")
            return None
        return inf if field.value == inf or field.value in words else finite.read(field)

    return Form(what, KINDS, take, lambda _: {"anyOf": [{"type": "number"}, WRITTEN, {"enum": [*words]}]})


def whole(what: str = "a whole number", least: int = -(10**9), most: int = 10**9) -> Form[int]:
    """A whole number between `least` and `most`."""

    def take(field: Field) -> int | None:
        value = field.value
        if isinstance(value, str):
            computed = _computed(field, what)
            if computed is not None and (computed.denominator != 1 or not least <= computed <= most):
                field.wrong(f"{field.parameters.told(value)} is not {what}")
                return None
            return None if computed is None else int(computed)
        if isinstance(value, int | float) and least <= value <= most and value == int(value):
            return int(value)
        field.expected(what)
        return None

    schema = {"anyOf": [{"type": "integer", "minimum": least, "maximum": most}, WRITTEN]}
    return Form(what, ("a number", "a text"), take, lambda _: schema, _looks_computed)


WHOLE = whole()


def numbers(what: str, count: int | None = None, number: Form[int] = WHOLE) -> Form[tuple[int, ...]]:
    """A list of whole numbers: exactly `count`, or at least two if that is None."""

    def take(field: Field) -> tuple[int, ...] | None:
        items = field.items()
        if len(items) != (count or max(len(items), 2)):
            field.wrong(f"a list of {len(items)} is not {what}")
            return None
        found = [number.read(item) for item in items]
        known = tuple(each for each in found if each is not None)
        return known if len(known) == len(items) else None

    def schema(definitions: Definitions) -> Schema:
        lengths = {"minItems": count or 2} | ({"maxItems": count} if count else {})
        return {"type": "array", **lengths, "items": definitions.of(number)}

    return Form(what, ("a list",), take, schema)
