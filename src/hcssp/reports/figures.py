"""Figures for people and for JSON: bounds are rounded so that what is told stays true, and nothing is NaN.

A figure has as many digits as it needs to be told apart from those beside it: four decimals, or four digits
that mean something if it is smaller than one, and more where it would look the same as its bound.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import floor, isfinite, log10

import numpy as np

from hcssp.numerics import tolerated

DIGITS = 4
_MOST_DIGITS = 12
"""More than these are noise of double precision."""

_SAME = 1e-9
"""Figures that differ by no more than this share are told as one."""

_LARGE, _SMALL = 1e15, 1e-9
"""Beyond these a figure is told with a power of ten."""

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

    >>> rounded(0.0000123456), rounded(1.99998), rounded(2.0), rounded(1e100)
    ('0.00001235', '2.0000', '2', '1e+100')
    """
    if value == 0.0 or not isfinite(value):
        return "0" if value == 0.0 else str(value)
    if not _SMALL <= abs(value) < _LARGE:
        return f"{value:.{digits}g}"
    if value == int(value):
        return str(int(value))
    text = f"{value:.{_decimals(value, digits)}f}"
    # Zeros behind the usual decimals say nothing.
    most = len(text) - text.index(".") - 1
    kept = len(text.rstrip("0")) - text.index(".") - 1
    return text[: len(text) - most + max(digits, kept)]


def in_table(value: float | None) -> str:
    """A figure of a table: four decimals unless it needs more, so that they stand below one another.

    >>> in_table(2.0), in_table(0.000012), in_table(None), in_table(1e99)
    ('2.0000', '0.000012', '-', '1e+99')
    """
    if value is None:
        return "-"
    text = rounded(value)
    return f"{value:.{DIGITS}f}" if text.lstrip("-").isdigit() else text


def distinct(value: float, *others: float, digits: int = DIGITS) -> str:
    """A computed figure with enough digits not to look like any of `others` that it is not.

    >>> distinct(1.99998, 2.0), distinct(0.0098, 0.01), distinct(2.0 - 1e-12, 2.0)
    ('1.99998', '0.0098', '2')
    >>> distinct(2.5, float("inf"))
    '2.5000'
    """
    for other in others:
        if value == other or (isfinite(other) and abs(value - other) <= _SAME * abs(other)):
            return given(other)
    for enough in range(digits, _MOST_DIGITS):
        text = rounded(value, enough)
        if float(text) not in others:
            return text
    return rounded(value, _MOST_DIGITS)


def between(lower: float, upper: float) -> str:
    """A proven interval: one figure if both ends round to it, else ends rounded away from each other.

    >>> between(1.0 - 1e-12, 1.0), between(-1e-12, 0.0)
    ('of 1', 'of 0')
    >>> between(27.75, 28.25), between(0.00012345, 0.00012399)
    ('between 27.750000 and 28.250000', 'between 0.000123449 and 0.000123990')
    """
    if upper == 0.0 and abs(lower) < _SAME:
        return "of 0"
    digits = 6
    low, high = rounded(lower, digits), rounded(upper, digits)
    if float(low) == float(high):
        # Trailing zeros say how far a round figure is known.
        return f"of {high if abs(upper - lower) <= _SAME * abs(upper) else max(low, high, key=len)}"
    return f"between {rounded_down(lower, digits)} and {rounded_up(upper, digits)}"


def given(value: float) -> str:
    """A figure that somebody gave, such as a bound or a probability, as it was given.

    >>> given(0.99), given(2.0)
    ('0.99', '2')
    """
    return f"{value:.9g}"


def rounded_down(value: float, digits: int = DIGITS) -> str:
    """A lower bound with few decimals, never above `value`; what rounding leaves below 0 is 0, as costs are.

    >>> rounded_down(144.91259)
    '144.9125'
    >>> rounded_down(1.23456789e30)
    '1.23456e+30'
    """
    return _directed(0.0 if -_SMALL < value < 0.0 else value, digits, ROUND_FLOOR)


def rounded_up(value: float, digits: int = DIGITS) -> str:
    """An upper bound with few decimals, never below `value`.

    >>> rounded_up(144.91251), rounded_up(0.0000987654)
    ('144.9126', '0.00009877')
    """
    return _directed(value, digits, ROUND_CEILING)


def percent(share: float) -> str:
    """A share as a percentage, never too small.

    >>> percent(0.05234), percent(0.0000123), percent(1.0)
    ('5.24%', '0.0013%', '100%')
    """
    if share == 0.0:
        return "0%"
    if not _SMALL <= 100 * share < _LARGE:
        return f"{100 * share:.2g}%"
    text = _directed(100 * share, 2, ROUND_CEILING)
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}%"


def times(count: float) -> str:
    """How often, in words.

    >>> times(1.0), times(0.0099)
    ('once', '0.0099 times')
    """
    return "once" if abs(count - 1.0) < 1e-9 else f"{rounded(count)} times"


def used(cost: float, bound: float, digits: int = DIGITS) -> str:
    """What is used of a bound, told apart from the bound unless it is the whole of it.

    >>> used(0.009996, 0.01), used(2.0, 2.0), used(1.99999, 2.0)
    ('0.009996', '2', '1.99999')
    """
    # A bound that is kept, but for rounding, is not exceeded by what rounding leaves.
    return given(bound) if not breaks(cost, bound) and cost >= bound else distinct(cost, bound, digits=digits)


def breaks(cost: float, bound: float) -> bool:
    """Whether a cost exceeds a bound by more than is tolerated."""
    return cost > float(tolerated(np.array(bound)))


def _decimals(value: float, digits: int) -> int:
    """So many decimals that a small figure keeps as many digits that mean something."""
    return max(digits, digits - 1 - floor(log10(abs(value))))


def _directed(value: float, digits: int, direction: str) -> str:
    exact = Decimal(value)
    if value != 0.0 and not _SMALL <= abs(value) < _LARGE:
        coarse = exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits - 1), direction, _EVERY_DIGIT)
        return f"{coarse.normalize():e}"
    decimals = digits if value == 0.0 else _decimals(value, digits)
    return f"{exact.quantize(Decimal(1).scaleb(-decimals), direction, _EVERY_DIGIT):f}"
