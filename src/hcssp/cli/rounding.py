"""Figures for people that stay true: a lower bound is rounded down, an upper bound up."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal


def rounded_down(value: float, digits: int) -> str:
    """The lower bound `value` with so many decimals.

    >>> rounded_down(144.91259, 4)
    '144.9125'
    """
    return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_FLOOR))


def rounded_up(value: float, digits: int) -> str:
    """The upper bound `value` with so many decimals.

    >>> rounded_up(144.91251, 4)
    '144.9126'
    """
    return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_CEILING))
