r"""One certificate for every lower bound: a potential in, a number out that no rounding makes too high.

**Problem.** Non-negative costs :math:`c(s, a)` of rows, and values :math:`U(s)` of the states that some
solver computed in floating point. Wanted is a number that is certainly not above the least expected cost from
the start, over all proper policies of allowed rows.

**Theorem.** Let :math:`T(s, a, s')` be the probabilities to leave :math:`s` for another state, and
:math:`U = 0` in the goals. If for every allowed row

.. math:: c(s, a) + \sum_{s'} T(s, a, s')\,(U(s') - U(s)) \ge 0

then :math:`U` is at the start no more than the expected cost of any proper policy of allowed rows: along a
run, the sum of the costs so far plus :math:`U` of the present state never falls in expectation, and it ends
in a goal. A row that only stays has no terms and holds by itself; how long a row stays does not matter, since
staying changes neither side.

**Method.** The left side, the *slack*, is computed from differences of potentials, so that its rounding error
is relative to the differences and not to the potentials. With :math:`n` successors, :math:`k` costs that were
weighted and added, and the unit roundoff :math:`u = 2^{-53}`, it is at most

.. math:: (n + k + 6)\,u\,(1 + 2^{-20})\,(c(s, a) + \sum_{s'} T(s, a, s')\,(U(s') + U(s)))

and there with the size of the difference in place of the sum: one rounding for each difference, product and
addition, and some to spare. A row whose successors all have a potential not below its state's holds whatever
the rounding.

Where the slack is not certainly non-negative, feasibility is restored. Dividing it by :math:`1 + \epsilon`
covers a slack of :math:`-\epsilon c`; where that would cost too much, as on rows without cost, single states
are lowered instead (:mod:`hcssp.ssp.restoration`). Anything may be tried, since only the check counts.

**Guarantee.** The bound holds for whatever values are given. If they cannot be restored, it is that of a
division, however much that costs, or 0, which holds because no cost is negative.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray, states_of_rows
from hcssp.ssp.restoration import Rows, restored

UNIT_ROUNDOFF = 2.0**-53
"""Half the distance from one to the next double: what one rounding may lose, relatively."""

ROUNDINGS = UNIT_ROUNDOFF * (1.0 + 2.0**-20)
"""Times a number of roundings (below 2^30) it is what they may lose together, products of them included."""

SCALING_LOSS = 2.5e-10
"""The potential is divided, rather than lowered state by state, if that costs at most this share of it. A
quarter of what the dual leaves open anyway; no bound is wrong for it, only lower. Policies tie to a share of
the value, which on a way of some hundred steps is a tenth of this of the cost of each."""


@dataclass(frozen=True, eq=False)
class Certificate:
    """A proven lower bound, and the potential that proves it.

    Attributes
    ----------
    bound
        No proper policy of allowed rows has a smaller expected cost from the start.
    values, share
        One number for each state that is not a goal, and one for all: divided by ``1 + share``, without
        rounding, the values satisfy the theorem's inequality.
    """

    bound: float
    values: FloatArray
    share: float = 0.0


class Steps(NamedTuple):
    """What can happen: all steps of all rows to other states, row by row.

    Attributes
    ----------
    row_state
        The state of each row; states are numbered without the goals.
    row_start
        Steps ``row_start[r]:row_start[r + 1]`` are those of row ``r``.
    heads, probabilities
        Where each step leads, ``num_states`` for a goal, and how probable it is.
    """

    row_state: IntArray
    row_start: IntArray
    heads: IntArray
    probabilities: FloatArray

    @classmethod
    def of(cls, problem: CSSP) -> Steps:
        """The steps of a problem; its states are those that are no goals, in order."""
        transitions = problem.transitions
        state_of_row = states_of_rows(problem.row_start)
        live = np.cumsum(~problem.goals)
        number = np.where(problem.goals, live[-1], live - 1)
        row = np.repeat(np.arange(problem.num_rows), np.diff(transitions.indptr))
        leaves = (transitions.indices != state_of_row[row]) & (transitions.data > 0.0)
        counts = np.bincount(row[leaves], minlength=problem.num_rows)
        return cls(
            row_state=number[state_of_row],
            row_start=np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)]),
            heads=number[transitions.indices[leaves]],
            probabilities=np.asarray(transitions.data[leaves]),
        )


class Certifier:
    """Proves lower bounds for one problem under any non-negative row costs.

    >>> from hcssp.cssp.builder import CSSPBuilder
    >>> plan = CSSPBuilder(cost_names=("time",))
    >>> here, out = plan.add_state("here"), plan.add_goal("out")
    >>> _ = plan.add_action(here, "try", to={here: 0.5, out: 0.5}, costs=2.0)
    >>> _ = plan.add_action(here, "leave", to=out, costs=5.0)
    >>> problem = plan.build()
    >>> round(Certifier.of(problem).certify(problem.costs[0], np.array([4.0])).bound, 9)
    4.0
    >>> Certifier.of(problem).certify(problem.costs[0], np.array([4.5])).bound <= 4.0
    True

    Parameters
    ----------
    steps
        What can happen.
    initial
        The distribution of the first state, goals left out.
    num_costs
        How many costs are weighted and added to a row's cost.
    """

    def __init__(self, steps: Steps, initial: FloatArray, num_costs: int) -> None:
        self._initial = initial
        self._row_state, self._row_start = steps.row_state, steps.row_start
        self._heads = steps.heads
        self._probabilities = steps.probabilities
        lengths = np.diff(steps.row_start)
        self._moving = np.flatnonzero(lengths > 0)
        self._segments = steps.row_start[:-1][self._moving]
        self._tails = np.repeat(steps.row_state, lengths)
        self._rounding: FloatArray = (lengths[self._moving] + num_costs + 6) * ROUNDINGS

    @classmethod
    def of(cls, problem: CSSP) -> Certifier:
        """The certifier of a problem, under weights of its costs."""
        return cls(Steps.of(problem), problem.initial[~problem.goals], len(problem.costs))

    def certify(
        self,
        row_costs: FloatArray,
        values: FloatArray,
        forbidden: BoolArray | None = None,
        loss: float = 0.0,
    ) -> Certificate:
        """A certain lower bound on the least expected sum of `row_costs` until a goal.

        Parameters
        ----------
        row_costs
            One for each row, not negative.
        values
            Approximate least costs of the states, from wherever; the better, the tighter the bound.
        forbidden
            Rows that no policy of the region uses.
        loss
            The share of the bound that may be lost where that saves work.
        """
        trivial = Certificate(0.0, np.zeros(len(self._initial)))
        if not np.all(np.isfinite(values)):
            return trivial
        # Nothing is short at a potential of zero, because no cost is negative.
        values = np.maximum(values, 0.0)
        best = trivial
        for potential in chain([values], self._restored(row_costs, values, forbidden)):
            share = self._share(row_costs, potential, forbidden)
            if share < np.inf:
                found = divided(potential, share, self._initial)
                best = found if found.bound > best.bound else best
            if share <= max(loss, SCALING_LOSS):
                return found
        return best

    def _share(self, row_costs: FloatArray, values: FloatArray, forbidden: BoolArray | None) -> float:
        """The share of its cost that a row is short of at most."""
        slack = self.slack(row_costs, values, forbidden)
        short = np.flatnonzero(slack < 0.0)
        return largest_share(-slack[short], row_costs[short])

    def _restored(
        self, row_costs: FloatArray, values: FloatArray, forbidden: BoolArray | None
    ) -> Iterator[FloatArray]:
        """Values of the states, each more likely to hold than those before."""

        def missing(potential: FloatArray, margin: float) -> FloatArray:
            potential = np.append(np.maximum(potential[:-1], 0.0), 0.0)
            lacking = np.zeros(len(row_costs))
            differences, slack, error = self._terms(row_costs[self._moving], potential)
            falls = np.minimum.reduceat(differences, self._segments) < 0.0
            # Restored values are rounded, too, each by its own size: on a way of a million steps that is more
            # than the error of the differences.
            level = potential[self._row_state[self._moving]]
            error = error + 2.0 * ROUNDINGS * self._sums(self._probabilities) * level
            # The part that a division covers is not missing.
            covered = 0.5 * SCALING_LOSS * row_costs[self._moving]
            lacking[self._moving] = np.where(falls, 2.0 * margin * error - slack - covered, -slack)
            return lacking

        if len(self._moving):
            rows = Rows(
                allowed=np.ones(len(row_costs), dtype=np.bool_) if forbidden is None else ~forbidden,
                costs=row_costs,
                state=self._row_state,
                step_row=np.repeat(np.arange(len(row_costs)), np.diff(self._row_start)),
                heads=self._heads,
                probabilities=self._probabilities,
                goals=np.arange(len(values) + 1) == len(values),
            )
            for found in restored(rows, np.append(values, 0.0), missing):
                yield np.maximum(found[:-1], 0.0)

    def surcharges(
        self, row_costs: FloatArray, certificate: Certificate, forbidden: BoolArray | None = None
    ) -> FloatArray:
        """A lower bound on each row's contribution whenever it is taken; ``inf`` where it is forbidden."""
        share = certificate.share
        slack = self.slack(row_costs, certificate.values, forbidden) + share * row_costs
        return np.maximum(slack / (1.0 + share) * (1.0 - 4.0 * ROUNDINGS), 0.0)

    def slack(
        self, row_costs: FloatArray, potential: FloatArray, forbidden: BoolArray | None = None
    ) -> FloatArray:
        """For each row a lower bound on the slack of its inequality; ``inf`` where it is forbidden."""
        certain = row_costs.copy()
        if len(self._moving):
            differences, slack, error = self._terms(row_costs[self._moving], np.append(potential, 0.0))
            # The cost is not negative: without a step downwards nothing can be short.
            falls = np.minimum.reduceat(differences, self._segments) < 0.0
            certain[self._moving] = np.where(falls, slack - error, np.maximum(slack - error, 0.0))
        if forbidden is not None:
            certain[forbidden] = np.inf
        return certain

    def _terms(self, costs: FloatArray, potential: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The difference of each step, and for each row that moves its slack and what that may be off."""
        differences = potential[self._heads] - potential[self._tails]
        moves = self._probabilities * differences
        size = costs + self._sums(np.abs(moves))
        return differences, costs + self._sums(moves), self._rounding * size

    def _sums(self, steps: FloatArray) -> FloatArray:
        if not len(self._moving):
            return np.zeros(0)
        sums: FloatArray = np.add.reduceat(steps, self._segments)
        return sums


def divided(values: FloatArray, share: float, initial: FloatArray) -> Certificate:
    """The certificate of `values` that are short of no more than `share` times the cost in any row."""
    value = float(initial @ values) / (1.0 + share)
    return Certificate(max(value * (1.0 - (len(initial) + 4) * ROUNDINGS), 0.0), values, share)


def levels_of(certificate: Certificate, states: IntArray | slice) -> FloatArray:
    """Lower bounds on the least costs to go from single states that a certificate proves."""
    proven = certificate.values[states] / (1.0 + certificate.share)
    return np.maximum(proven * (1.0 - 4.0 * ROUNDINGS), 0.0)


def quick_shortfalls(
    reduced: FloatArray, values: FloatArray, row_state: IntArray, rounding: float
) -> tuple[IntArray, FloatArray]:
    """The rows that may be short, and by how much at most, from reduced costs that a solver has at hand.

    Coarser than the differences of :class:`Certifier`, because the rounding error of a reduced cost is
    relative to the values; where that is good enough, nothing else need be computed.

    Parameters
    ----------
    reduced
        The computed reduced cost of each row: its cost, plus the value after it, less the value of its state;
        ``inf`` where the row is forbidden.
    values
        Of the states, not negative.
    row_state
        The state of each row.
    rounding
        What a reduced cost may be off, relative to the sum of the sizes of its terms; below 0.01.
    """
    # Where the reduced cost is more than the largest value could make it off, there is nothing to look at.
    near = np.flatnonzero(reduced <= 2.1 * rounding * float(values.max(initial=0.0)))
    least = reduced[near]
    # The terms are not negative, so their sizes add up to the reduced cost and twice what is subtracted.
    certain = least - 1.01 * rounding * (np.abs(least) + 2.0 * values[row_state[near]])
    short = certain < 0.0
    return near[short], -certain[short]


def lowering(reduced: FloatArray, level: FloatArray, rounding: float) -> float:
    """How far values must be lowered, for each unit of length, until they certainly hold on every row.

    Where every policy ends, this restores feasibility, rows without cost included: a length is
    a number for each state that falls by at least one half in expectation, whatever row is taken, so a state
    that is further from the end is lowered by more, and every row gains.

    Parameters
    ----------
    reduced, rounding
        As for :func:`quick_shortfalls`, all finite.
    level
        The value of each row's state, not negative.
    """
    # Twice: once for the reduced cost, and once for rounding the values that come out of this.
    short = 2.02 * rounding * (np.abs(reduced) + 2.0 * level) - reduced
    return 2.0 * max(0.0, float(short.max(initial=0.0)))


def lowered(value: float, length: float, step: float) -> float:
    """A certain lower bound: a value, not negative, lowered by `step` for each unit of length."""
    # A value of zero holds by itself, and only helps the others.
    return max((value - step * (1.0 + 2.0**-20) * length) * (1.0 - 5.0 * ROUNDINGS), 0.0)


def largest_share(shortfalls: FloatArray, costs: FloatArray) -> float:
    """The largest shortfall relative to the cost beside it, rounded up; ``inf`` where there is no cost."""
    with np.errstate(divide="ignore", over="ignore"):
        shares = shortfalls / costs * (1.0 + 4.0 * UNIT_ROUNDOFF)
    return float(shares.max(initial=0.0))
