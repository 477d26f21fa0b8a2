"""Figures for people and for JSON: bounds are rounded to the safe side, and nothing is NaN.

A figure has as many digits as it needs to differ from those beside it: four decimals, or four digits
that mean something if it is smaller than one, and more where it would look the same as its bound.

Figures of a cost or a probability, as people read them: a probability is a percentage.

>>> from hcssp.procedure.product import with_probability
>>> from hcssp.scenarios import small_building
>>> building = with_probability(small_building(), "locked out", of="door-locked", at_most=0.25)
>>> measure = Measure.of(building, "locked out")
>>> measure.expected, measure.given(0.25), measure.used(0.2, 0.25)
('probability of door-locked', '25%', '20%')
>>> damage = Measure.of(building, "damage")
>>> damage.expected, damage.given(0.25), damage.used(0.2, 0.25)
('expected damage', '0.25', '0.2000')
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import floor, isfinite, log10
from typing import Any

import numpy as np

from hcssp.files.shapes import document as document
from hcssp.files.shapes import plain as plain
from hcssp.numerics import tolerated
from hcssp.procedure import HCSSP
from hcssp.procedure.description import expected

DIGITS = 4


_MOST_DIGITS = 12
"""More than these are noise of double precision."""


_MOST_IN_TABLE = 6
"""Significant digits of a figure in a table."""


_TRACE = "< 1e-9"
"""A smaller figure of a table, or probability, that is not zero."""


_LEAST_DECIMAL = 1e-6
"""A smaller figure is written with a power of ten in a table, where zeros would make a column wide."""


_SAME = 1e-9
"""Figures that differ by no more than this share are printed as one."""


_LARGE, _SMALL = 1e15, 1e-9
"""Beyond these a figure is printed with a power of ten."""


_EVERY_DIGIT = Context(prec=400)
"""Enough for the largest number there is; with fewer digits, rounding a large one is an error."""


def csv_text(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Rows as CSV; unknown and infinite values are empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(document(row) for row in rows)
    return text.getvalue()


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
    # Zeros after the usual decimals carry no information.
    most = len(text) - text.index(".") - 1
    kept = len(text.rstrip("0")) - text.index(".") - 1
    return text[: len(text) - most + max(digits, kept)]


def in_table(value: float | None) -> str:
    """A figure of a table: four decimals unless it needs more, and at most six significant digits.

    >>> in_table(2.0), in_table(0.000012), in_table(None), in_table(1e99)
    ('2.0000', '0.000012', '-', '1e+99')
    >>> in_table(144.62237), in_table(1234567.8)
    ('144.622', '1234570')
    >>> in_table(0.000000010948), in_table(5.9e-30)
    ('1.095e-08', '< 1e-9')
    """
    if value is None:
        return "-"
    if 0.0 < value < _LEAST_DECIMAL:
        return _TRACE if value < _SMALL else f"{value:.{DIGITS}g}"
    if isfinite(value) and 100.0 <= abs(value) < _LARGE:
        # Six digits that mean something, of whatever size.
        few = float(f"{value:.{_MOST_IN_TABLE}g}")
        return f"{few:.{max(0, _table_digits(few))}f}"
    text = rounded(value)
    return f"{value:.{DIGITS}f}" if text.lstrip("-").isdigit() else text


def table_down(value: float) -> str:
    """A lower bound in a table: :func:`rounded_down` to at most six significant digits.

    >>> table_down(144.91259), table_down(27.71919), table_down(1234567.8)
    ('144.912', '27.7191', '1234560')
    """
    return rounded_down(value, _table_digits(value))


def table_up(value: float) -> str:
    """An upper bound in a table: :func:`rounded_up` to at most six significant digits.

    >>> table_up(144.91251), table_up(27.71911)
    ('144.913', '27.7192')
    """
    return rounded_up(value, _table_digits(value))


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
        # Trailing zeros show the precision of a round figure.
        return f"of {high if abs(upper - lower) <= _SAME * abs(upper) else max(low, high, key=len)}"
    return f"between {rounded_down(lower, digits)} and {rounded_up(upper, digits)}"


def an_expected(name: str) -> str:
    """An expected cost in a sentence, without its unit: "an expected time", "expected minutes"."""
    return f"{'' if name.endswith('s') else 'an '}expected {name}"


def in_unit(problem: HCSSP, name: str, figure: str) -> str:
    """A figure with the unit of its cost, if it has one: "of 318.8 s"."""
    return f"{figure} {problem.unit_of(name)}".rstrip()


def given(value: float, digits: int = 9) -> str:
    """A figure that was given, such as a bound or a probability, as it was given.

    >>> given(0.99), given(2.0)
    ('0.99', '2')
    """
    return f"{value:.{digits}g}"


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
    """How often, as a text.

    >>> times(1.0), times(0.0099)
    ('once', '0.0099 times')
    """
    return "once" if abs(count - 1.0) < 1e-9 else f"{rounded(count)} times"


def used(cost: float, bound: float, digits: int = DIGITS) -> str:
    """What is used of a bound, different from the bound unless it is the whole of it.

    >>> used(0.009996, 0.01), used(2.0, 2.0), used(1.99999, 2.0)
    ('0.009996', '2', '1.99999')
    """
    # A bound that is kept, but for rounding, is not exceeded by what rounding leaves.
    return given(bound) if not breaks(cost, bound) and cost >= bound else distinct(cost, bound, digits=digits)


def breaks(cost: float, bound: float) -> bool:
    """Whether a cost exceeds a bound by more than is tolerated."""
    return cost > float(tolerated(np.array(bound)))


def _decimals(value: float, digits: int) -> int:
    """The number of decimals with which a small figure keeps its significant digits."""
    return max(digits, digits - 1 - floor(log10(abs(value))))


def _table_digits(value: float) -> int:
    """The decimals of a figure in a table; below zero, whole tens are counted."""
    small = not isfinite(value) or abs(value) < 100.0
    return DIGITS if small else _MOST_IN_TABLE - 1 - floor(log10(abs(value)))


def _directed(value: float, digits: int, direction: str) -> str:
    exact = Decimal(value)
    if value != 0.0 and not _SMALL <= abs(value) < _LARGE:
        coarse = exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits - 1), direction, _EVERY_DIGIT)
        return f"{coarse.normalize():e}"
    decimals = digits if value == 0.0 else _decimals(value, digits)
    return f"{exact.quantize(Decimal(1).scaleb(-decimals), direction, _EVERY_DIGIT):f}"


@dataclass(frozen=True)
class Measure:
    """The texts for a cost or a constraint.

    Attributes
    ----------
    name
        What to call it, with its unit.
    expected
        The word for a plan's amount of it.
    is_probability
        Whether it is a probability.
    """

    name: str
    expected: str
    is_probability: bool = False

    @classmethod
    def of(cls, problem: HCSSP, name: str) -> Measure:
        """That of the primary cost or a constraint of a problem."""
        return cls(problem.called(name), expected(problem, name), bool(problem.probability_of(name)))

    def given(self, value: float, digits: int = 9) -> str:
        """A figure that was given, such as a bound."""
        return self._with_percent(given(self._scaled(value), digits))

    def rounded(self, value: float) -> str:
        """A computed figure."""
        if self._is_trace(value):
            return _TRACE
        return self._with_percent(rounded(self._scaled(value)))

    def in_table(self, value: float | None) -> str:
        """A figure of a table."""
        if value is None or not isfinite(value) or not self.is_probability:
            return in_table(value)
        return self.rounded(value)

    def used(self, cost: float, bound: float, digits: int = DIGITS) -> str:
        """What is used of a bound, different from the bound unless it is the whole of it."""
        if self._is_trace(cost) and cost < bound:
            return _TRACE
        return self._with_percent(used(self._scaled(cost), self._scaled(bound), digits))

    def _is_trace(self, value: float) -> bool:
        return self.is_probability and 0.0 < value < _SMALL

    def _scaled(self, value: float) -> float:
        return 100.0 * value if self.is_probability else value

    def _with_percent(self, text: str) -> str:
        if not self.is_probability:
            return text
        # Zeros behind the decimals of a percentage say nothing.
        short = text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text
        return f"{short}%"
