r"""Does a potential hold on a row? In integers, and in double precision that errs on the safe side.

A row of state :math:`s` with probabilities :math:`p_t`, divided by their sum :math:`S`, and costs :math:`c_i`
holds under weights :math:`w` for a potential :math:`U` if
:math:`R = S \sum_i w_i c_i + \sum_t p_t (U(t) - U(s)) \ge 0`. Probabilities and costs mean the shortest
decimals that are read as these doubles; weights and potentials are the doubles. :func:`holds` decides in
integers. A :func:`slack` not below its error proves the same.
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
GRAIN = 2148  # every product of two doubles is a multiple of 2 ** -GRAIN


def grains(number: float, share: tuple[int, int] = (1, 1)) -> int:
    """A double times a share, which is another as a ratio, as a multiple of ``2 ** -GRAIN``: no rounding."""
    numerator, divisor = number.as_integer_ratio()
    return numerator * share[0] << GRAIN + 1 - (divisor * share[1]).bit_length()


def decimal(number: float) -> Fraction:
    """What a number of the problem means: 0.05 is one twentieth."""
    return Fraction(repr(float(number)))


def integers(numbers: Iterable[Fraction]) -> tuple[Any, int]:
    """The numbers as an array of Python's integers, and what to divide them all by."""
    fractions = list(numbers)
    divisor = lcm(*{each.denominator for each in fractions})
    return np.array([each.numerator * (divisor // each.denominator) for each in fractions], object), divisor


def spans(begins: IntArray, lengths: IntArray) -> IntArray:
    """The integers from each of `begins`, as many as `lengths` says, one span after the other."""
    return np.repeat(begins - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())


def holds(block: Block, weights: FloatArray, values: FloatArray, rows: IntArray) -> BoolArray:
    """Whether the potential `values` holds on each of `rows`, of which there is one at least."""
    lengths = np.diff(block.pointers)[rows]
    begins, entries = np.cumsum(lengths) - lengths, spans(block.pointers[rows], lengths)
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
    if not (block.is_moderate and is_moderate(np.concatenate((values, weights)))):
        return np.zeros(block.num_rows), np.full(block.num_rows, np.inf)
    rows, states, successors, probabilities = block.columns
    steps = values.take(successors)
    steps -= values.take(states)
    steps *= probabilities
    computed, sizes = np.add.reduce(steps), np.add.reduce(np.abs(steps, out=steps))
    if len(rows) > block.num_rows:
        computed, sizes = (np.bincount(rows, each, block.num_rows) for each in (computed, sizes))
    computed += weights @ block.dues
    sizes += np.abs(weights) @ block.dues
    return computed, block.error_factor * sizes


def is_moderate(numbers: FloatArray) -> bool:
    """Whether every number is zero, or neither huge nor tiny."""
    sizes = np.abs(numbers)
    return bool(np.count_nonzero((sizes >= 1.0 / MODERATE) & (sizes <= MODERATE)) == np.count_nonzero(sizes))
