r"""Does a potential hold on a row? In integers, and in double precision that errs on the safe side.

A row of state :math:`s` with probabilities :math:`p_t`, divided by their sum :math:`S`, and costs :math:`c_i`
holds under weights :math:`w` for a potential :math:`U` if

.. math:: R = S \sum_i w_i c_i + \sum_t p_t (U(t) - U(s)) \ge 0.

Probabilities and costs mean the shortest decimals that are read as these doubles; weights and potentials are
the doubles. :func:`holds` decides in integers. A :func:`slack` not below its error proves the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from hcssp.checker.layout import Block

UNIT = 2.0**-53  # the largest relative error of one rounding, and of a decimal's double
MODERATE = 2.0**300  # numbers between this and its inverse keep all products clear of over- and underflow


def decimal(number: float) -> Fraction:
    """What a number of the problem means: 0.05 is one twentieth."""
    return Fraction(repr(float(number)))


def integers(numbers: Iterable[Fraction]) -> tuple[Any, int]:
    """The numbers as an array of Python's integers, and what to divide them all by."""
    fractions = list(numbers)
    divisor = lcm(*{number.denominator for number in fractions})
    array = np.empty(len(fractions), dtype=object)
    array[:] = [number.numerator * (divisor // number.denominator) for number in fractions]
    return array, divisor


def decimal_integers(numbers: FloatArray) -> tuple[Any, int]:
    """As :func:`integers`, for numbers of the problem; equal ones are converted once."""
    different, places = np.unique(numbers, return_inverse=True)
    array, divisor = integers(decimal(number) for number in different.tolist())
    return array[places.reshape(numbers.shape)], divisor


def holds(block: Block, weights: FloatArray, values: FloatArray, rows: IntArray) -> BoolArray:
    """Whether the potential `values` holds on each of `rows`, of which there is one at least."""
    lengths = np.diff(block.pointers)[rows]
    begins = np.cumsum(lengths) - lengths
    entries = np.repeat(block.pointers[rows] - begins, lengths) + np.arange(lengths.sum())
    states, places = np.unique([block.entry_state[entries], block.successors[entries]], return_inverse=True)
    before, after = places.reshape(2, -1)
    probabilities, costs, cost_divisor = block.exact[0][entries], *block.exact[1:]
    prices, price_divisor = integers(map(Fraction, weights.tolist()))
    levels, level_divisor = integers(map(Fraction, values[states].tolist()))
    steps = probabilities * (levels[after] - levels[before])
    paid = sum(price * costs[cost][rows] for cost, price in enumerate(prices))
    # R times all divisors; that of the probabilities is common to both terms.
    scaled = np.add.reduceat(probabilities, begins) * paid * level_divisor
    scaled += np.add.reduceat(steps, begins) * (cost_divisor * price_divisor)
    return np.asarray(scaled >= 0, dtype=np.bool_)


def slack(block: Block, weights: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The slack R of every row in double precision, and its largest error (docs/certificates.md)."""
    if not (block.is_moderate and is_moderate(weights) and is_moderate(values)):
        return np.zeros(block.num_rows), np.full(block.num_rows, np.inf)
    steps = (values[block.successors] - values[block.entry_state]) * block.probabilities
    computed = np.bincount(block.entry_row, steps, block.num_rows) + block.totals * (weights @ block.costs)
    paid = block.totals * (np.abs(weights) @ block.costs)
    sizes = np.bincount(block.entry_row, np.abs(steps), block.num_rows) + paid
    return computed, block.error_factor * sizes


def is_moderate(numbers: FloatArray) -> bool:
    """Whether every number is zero, or neither huge nor tiny."""
    sizes = np.abs(numbers)
    return bool(np.all((sizes == 0.0) | ((sizes >= 1.0 / MODERATE) & (sizes <= MODERATE))))
