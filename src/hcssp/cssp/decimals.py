"""What the doubles of a problem mean: the shortest decimals that are read as them, as ratios of integers.

>>> decimal(0.05)
Fraction(1, 20)
>>> integers([decimal(0.05), decimal(0.3)])
(array([1, 6], dtype=object), 20)
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from hcssp.cssp.model import FloatArray


def decimal(number: float) -> Fraction:
    """What a number of the problem means: 0.05 is one twentieth."""
    return Fraction(repr(float(number)))


def exactly(numbers: FloatArray) -> tuple[Any, int]:
    """An array of a problem's numbers as one of Python's integers, and what to divide them all by."""
    different, places = np.unique(numbers, return_inverse=True)
    whole, divisor = integers(map(decimal, different))
    return whole[places.reshape(numbers.shape)], divisor


def integers(numbers: Iterable[Fraction]) -> tuple[Any, int]:
    """The numbers as an array of Python's integers, and what to divide them all by."""
    fractions = list(numbers)
    divisor = lcm(*{each.denominator for each in fractions})
    return np.array([each.numerator * (divisor // each.denominator) for each in fractions], object), divisor
