"""Exact decisions: whether a potential is feasible on rows, and whether a knapsack has no solution."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hcssp.cssp.arrays import integers, joined_spans
from hcssp.cssp.model import FloatArray, IntArray

if TYPE_CHECKING:
    from hcssp.checker.layout import Block

UNIT = 2.0**-53  # the largest relative error of one rounding, and of a decimal's double
MAX_ROUNDINGS = 2.0**40  # of a row that double precision may decide
MODERATE = 2.0**300  # numbers between this and its inverse keep all products clear of over- and underflow
MAX_SUMS = 1 << 23  # of a knapsack; with more of them at once, nothing is proven
GRAIN = 2148  # every product of two doubles is a multiple of 2 ** -GRAIN
SUM_BITS = 61  # what a knapsack adds up stays below 2 ** SUM_BITS, within 64 bits


def grains(number: float, share: tuple[int, int] = (1, 1)) -> int:
    """A double times a share, which is another as a ratio, as a multiple of ``2 ** -GRAIN``: no rounding."""
    numerator, divisor = number.as_integer_ratio()
    return numerator * share[0] << GRAIN + 1 - (divisor * share[1]).bit_length()


def excess(block: Block, weights: FloatArray, values: FloatArray, rows: IntArray) -> tuple[Any, Any]:
    """R = S w c + sum of p (U(t) - U(s)) on each of `rows`, and S: integers, each up to a common factor."""
    lengths = np.diff(block.pointers)[rows]
    entries, begins = joined_spans(block.pointers[rows], lengths)
    states, places = np.unique([block.entry_state[entries], block.successors[entries]], return_inverse=True)
    before, after = places.reshape(2, -1)
    probabilities, costs, cost_divisor = block.exact[0][entries], *block.exact[1:]
    prices, price_divisor = integers(map(Fraction, weights.tolist()))
    levels, level_divisor = integers(map(Fraction, values[states].tolist()))
    steps = np.add.reduceat(probabilities * (levels[after] - levels[before]), begins)
    paid = sum(price * costs[cost][rows] for cost, price in enumerate(prices))
    totals = np.add.reduceat(probabilities, begins)
    # R times all divisors; that of the probabilities is common to both terms.
    return totals * paid * level_divisor + steps * (cost_divisor * price_divisor), totals


def slack(block: Block, weights: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """R of every row in double precision, and its largest error; see "Double precision" in the docs."""
    if not (block.is_moderate and is_moderate(np.concatenate((values, weights)))):
        return np.zeros(block.num_rows), np.full(block.num_rows, np.inf)
    steps = block.probabilities * (values.take(block.successors) - values.take(block.entry_state))
    computed, sizes = (np.add.reduceat(each, block.pointers[:-1]) for each in (steps, np.abs(steps)))
    computed += weights @ block.dues
    sizes += np.abs(weights) @ block.dues
    return computed, block.error_factor * sizes


def is_moderate(numbers: FloatArray) -> bool:
    """Whether every number is zero, or neither huge nor tiny."""
    sizes = np.abs(numbers)
    return bool(np.count_nonzero((sizes >= 1.0 / MODERATE) & (sizes <= MODERATE)) == np.count_nonzero(sizes))


def knapsack_unit(total: Fraction, num_parts: int) -> Fraction:
    """A power of two such that `num_parts` times `total`, a positive number, has at most SUM_BITS bits."""
    bits = total.numerator.bit_length() - total.denominator.bit_length() + 1 + num_parts.bit_length()
    return Fraction(2) ** (bits - SUM_BITS)


def knapsack_is_empty(aim: int, budget: int, parts: Sequence[IntArray]) -> bool:
    """Whether no choice of one class in each part costs less than `aim` within the budget.

    The rows of a part are its classes: cost, use, and their sum, each at least. No number is negative, and
    none is above ``aim + budget``, which times the number of parts has at most SUM_BITS bits.
    """
    sums = [np.maximum(own[:, 0] + own[:, 1], own[:, 2]) for own in parts]
    rest = sum(int(both.min()) for both in sums)
    costs, uses, room = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), aim + budget - rest
    for own, both in zip(parts, sums, strict=True):
        own, rest = own[both - both.min() < room], rest - int(both.min())
        if len(costs) * len(own) > MAX_SUMS:
            return False
        costs, uses = (np.add.outer(each, own[:, n]).ravel() for n, each in enumerate((costs, uses)))
        order = np.lexsort((costs, uses))
        kept = order[np.diff(np.minimum.accumulate(np.append(aim, costs[order]))) < 0]
        kept = kept[(uses[kept] <= budget) & (costs[kept] + uses[kept] + rest < aim + budget)]
        costs, uses = costs[kept], uses[kept]
    return len(costs) == 0
