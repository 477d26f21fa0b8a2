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
from hcssp.cssp.transition_costs import TransitionCosts


def decimal(number: float) -> Fraction:
    """What a number of the problem means: 0.05 is one twentieth."""
    return Fraction(repr(float(number)))


def exactly(numbers: FloatArray) -> tuple[Any, int]:
    """An array of a problem's numbers as one of Python's integers, and what to divide them all by."""
    different, places = np.unique(numbers, return_inverse=True)
    whole, divisor = integers(map(decimal, different))
    return whole[places.reshape(numbers.shape)], divisor


def sum_of_decimals(first: FloatArray, second: FloatArray) -> FloatArray:
    """The sums of a problem's numbers, each the double nearest to the sum of what the two mean.

    >>> sum_of_decimals(np.array([0.1]), np.array([0.2])).tolist()
    [0.3]
    """
    sums: FloatArray = first + second
    # Adding zero does not round.
    for place in np.argwhere((first != 0.0) & (second != 0.0) & np.isfinite(sums)).tolist():
        at = tuple(place)
        sums[at] = float(decimal(first[at]) + decimal(second[at]))
    return sums


def integers(numbers: Iterable[Fraction]) -> tuple[Any, int]:
    """The numbers as an array of Python's integers, and what to divide them all by."""
    fractions = list(numbers)
    divisor = lcm(*{each.denominator for each in fractions})
    return np.array([each.numerator * (divisor // each.denominator) for each in fractions], object), divisor


def mean_costs(given: TransitionCosts) -> dict[int, list[Fraction]]:
    """The expected costs of the rows whose costs depend on the state that is reached."""
    outcomes: dict[int, list[tuple[Fraction, list[Fraction]]]] = {}
    for row, chance, *paid in np.vstack((given.rows, given.probabilities, given.costs)).T.tolist():
        outcomes.setdefault(int(row), []).append((decimal(chance), [decimal(cost) for cost in paid]))
    return {
        row: [
            sum((chance * paid[cost] for chance, paid in own), Fraction(0)) / sum(chance for chance, _ in own)
            for cost in range(len(given.costs))
        ]
        for row, own in outcomes.items()
    }
