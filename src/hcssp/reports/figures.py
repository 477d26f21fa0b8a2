"""Figures for people and for JSON: bounds are rounded so that what is told stays true, and nothing is NaN."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import isfinite

DIGITS = 4
_EVERY_DIGIT = Context(prec=400)
"""Enough for the largest number there is; with fewer digits, rounding a large one is an error."""


def plain(value: float | None) -> float | None:
    """A number that JSON knows, or None: numpy's types become Python's, infinities nothing.

    >>> plain(float("inf")) is None
    True
    """
    return None if value is None or not isfinite(value) else float(value)


def short(value: float | None, digits: int = 6) -> float | None:
    """As :func:`plain`, with few significant digits, since every one of them is sent to the reader."""
    return None if value is None or not isfinite(value) else float(f"{float(value):.{digits}g}")


def rounded(value: float, digits: int = DIGITS) -> str:
    """A computed figure for people; a trace of something is not nothing, and nearly two is not two.

    >>> rounded(0.00001), rounded(1.99998), rounded(2.0)
    ('less than 0.0001', '2.0000', '2')
    """
    if 0.0 < value < 0.5 * 10.0**-digits:
        return f"less than {10.0**-digits:.{digits}f}"
    return str(int(value)) if value == int(value) else f"{value:.{digits}f}"


def given(value: float) -> str:
    """A figure that somebody gave, such as a bound or a probability, as it was given.

    >>> given(0.99), given(2.0)
    ('0.99', '2')
    """
    return f"{value:.9g}"


def rounded_down(value: float, digits: int = DIGITS) -> str:
    """A lower bound with few decimals, never above `value`.

    >>> rounded_down(144.91259)
    '144.9125'
    >>> rounded_down(1e30, 1)
    '1000000000000000019884624838656.0'
    """
    return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_FLOOR, _EVERY_DIGIT))


def rounded_up(value: float, digits: int = DIGITS) -> str:
    """An upper bound with few decimals, never below `value`.

    >>> rounded_up(144.91251)
    '144.9126'
    """
    return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_CEILING, _EVERY_DIGIT))


def times(count: float) -> str:
    """How often, in words.

    >>> times(1.0), times(0.0099)
    ('once', '0.0099 times')
    """
    return "once" if abs(count - 1.0) < 1e-9 else f"{rounded(count)} times"
