"""Nature as a player who chooses the probabilities of a policy's rows, each within a share of itself.

For given values the worst distribution of a row puts as much as it may on the dearest of its ways to turn
out. Policy iteration alternates that with the exact evaluation of the chain that results; see
:mod:`hcssp.evaluation.robustness`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.absorption import Absorbed, absorb
from hcssp.cssp.model import FloatArray, IntArray, SparseMatrix
from hcssp.errors import CostOverflow, OutOfPrecision
from hcssp.evaluation.chain import InducedChain
from hcssp.evaluation.uncertain_rows import UncertainRows
from hcssp.numerics import ROUNDING
from hcssp.procedure.aim import Aim

MAX_ITERATIONS = 1_000

GAIN_ROUNDING = 4.0 * ROUNDING
"""Nature moves probability from one successor to another only if that gains more than this share of what is
moved: less is rounding."""

SETTLED = 1e-13
"""The iteration ends once no value rises by more than this share of itself."""

LARGEST_SHARE = 1.0 - 2.0**-10
"""Shares are looked for below one, where every probability stays positive."""

SHARE_PRECISION = 1e-3
"""How precisely the largest bearable share is found, relative to itself."""

LEAST_SHARE = 1e-9
"""A share that is smaller is told as nought: the plan uses its bound up."""


@dataclass(frozen=True)
class Influence:
    """What a small error of one figure does to a cost.

    Attributes
    ----------
    state, action
        The row whose figure it is.
    successor
        Whose probability it is; None if it is the cost of the row itself.
    figure
        The probability, or the cost.
    change
        How much the expected cost grows, to first order, if the figure is larger by one percent of itself.
    """

    state: Hashable
    action: Hashable
    successor: Hashable | None
    figure: float
    change: float


class Nature:
    """The player who chooses the probabilities of a policy's rows.

    Parameters
    ----------
    chain, inner, ways
        The policy's chain, the states that it leaves again, and how its rows can turn out there.
    limits
        By the positions of costs that are limits, what each execution is allowed.
    num_event_states
        How many of the states are events, at which nothing is spent but what choices lose.
    action
        What people call the action that the policy takes in a state.
    aim
        What is told of the costs.
    """

    def __init__(
        self,
        chain: InducedChain,
        inner: IntArray,
        ways: UncertainRows,
        limits: Mapping[int, float],
        num_event_states: int,
        action: Callable[[int], Hashable],
        aim: Aim,
    ) -> None:
        self._chain = chain
        self._ways = ways
        # Executions are counted after the costs, and a limit is what is spent less so much for each of them.
        self._told: FloatArray = np.hstack([aim.matrix, np.zeros((len(aim.names), len(limits)))])
        for place, (position, limit) in enumerate(limits.items(), len(chain.costs)):
            self._told[aim.matrix[:, position] != 0.0, place] = -limit
        # What depends on the outcome: costs of single transitions, and executions.
        self._by_outcome: FloatArray = np.vstack([ways.paid, *(ways.executions[each] for each in limits)])
        # What nature would have large: every cost, and the negative of a reward.
        self._wanted: FloatArray = self._told.copy()
        if aim.greatest:
            self._wanted[0] *= -1.0
        self._action = action
        self._inner = inner
        self._row, self._heads, self._nominal = ways.row, ways.heads, ways.nominal
        # What depends on the outcome is not paid in the row; nor is what a choice loses.
        self._stated: FloatArray = np.vstack([chain.costs, np.zeros((len(limits), chain.problem.num_states))])
        self._stated[:, inner[ways.differs]] = 0.0
        self._stated[list(limits), :num_event_states] = 0.0
        # What the flat problem adds to both sides of a limit, so that it is told as it is there.
        self._added = np.zeros(len(aim.names))
        if limits:
            told = aim.matrix @ self._solved(self._nominal, chain.costs).totals
            self._added = np.where(aim.matrix[:, list(limits)].any(axis=1), told - self.expected(), 0.0)

    def expected(self) -> FloatArray:
        """What is told of the costs if no probability is wrong."""
        every = np.arange(len(self._stated))
        totals: FloatArray = self._told @ self._evaluate(self._nominal, every).totals + self._added
        return totals

    def worst(self, cost: int, share: float) -> float:
        """The largest expectation of a cost within a share; of a reward, of its negative."""
        made_of = np.flatnonzero(self._wanted[cost])
        weights = self._wanted[cost, made_of]
        paid = self._paid_on_the_way(self._wanted[cost])
        chosen, largest = self._nominal, -inf
        value = np.zeros(self._chain.problem.num_states)
        for iteration in range(MAX_ITERATIONS):
            found = self._evaluate(chosen, made_of)
            largest = max(largest, float(weights @ found.totals + self._added[cost]))
            if share == 0.0:
                return largest
            values = found.values @ weights
            risen = values - value[self._inner] > SETTLED * np.abs(values)
            if iteration and not risen.any():
                return largest
            value[self._inner] = values
            # Relative to the value of its own state, a successor that stays there gains nothing: only what
            # leaves counts, however small its probability.
            own, after = value[self._inner[self._row]], value[self._heads]
            gains = after - own + paid
            dearest = self._dearest(gains, share)
            moved = dearest - chosen
            leaving = np.where(self._heads == self._inner[self._row], 0.0, np.abs(after) + np.abs(own))
            better = self._means(moved, gains) > GAIN_ROUNDING * self._means(np.abs(moved), leaving)
            if not better.any():
                return largest
            chosen = np.where(better[self._row], dearest, chosen)
        raise OutOfPrecision(f"the worst case was not found within {MAX_ITERATIONS} iterations")

    def bearable(self, cost: int, limit: float, known: tuple[float, float]) -> float:
        """The largest share within which a cost stays within its limit; `known` is a share and its worst."""
        if self.worst(cost, 0.0) > limit:
            return 0.0
        share, worst = known
        low, high = (share, LARGEST_SHARE) if worst <= limit else (0.0, share)
        if high == LARGEST_SHARE and self._worst_or_more(cost, high) <= limit:
            return inf
        while high - low > SHARE_PRECISION * high:
            if high <= LEAST_SHARE:
                return 0.0
            # By factors as long as not even the order of magnitude is known.
            is_close = low > 0.25 * high
            middle = 0.5 * (low + high) if is_close else sqrt(max(low, 0.25 * LEAST_SHARE) * high)
            low, high = (middle, high) if self._worst_or_more(cost, middle) <= limit else (low, middle)
        return low

    def _worst_or_more(self, cost: int, share: float) -> float:
        """The worst case, or ``inf`` where that is beyond any number."""
        try:
            return self.worst(cost, share)
        except CostOverflow:
            return inf

    def influences(self, most: int) -> tuple[tuple[Influence, ...], ...]:
        """For each cost the figures whose errors change it most."""
        stated = self._stated[:, self._inner].copy()
        # That something happens for certain is no figure of the model.
        stated[list(self._ways.counted)] = 0.0
        costs = self._told @ stated
        found = self._evaluate(self._nominal, np.arange(len(self._stated)))
        value = np.zeros((self._chain.problem.num_states, len(costs)))
        value[self._inner] = found.values @ self._told.T
        probabilities = self._nominal
        chancy = probabilities < 1.0
        told = []
        for cost, own in enumerate(costs):
            after = value[self._heads, cost] + self._paid_on_the_way(self._told[cost])
            mean = self._means(probabilities, after)[self._row]
            changes = np.zeros(len(probabilities))
            odds = probabilities[chancy] / (1.0 - probabilities[chancy])
            changes[chancy] = found.visits[self._row[chancy]] * odds * (after - mean)[chancy]
            every = np.concatenate([changes, found.visits * own]) / 100.0
            strongest = np.argsort(-np.abs(every), kind="stable")[:most]
            told.append(tuple(self._influence(int(n), own, every) for n in strongest if every[n] != 0.0))
        return tuple(told)

    def _influence(self, number: int, costs: FloatArray, changes: FloatArray) -> Influence:
        """The figure `number`: first come the probabilities, then the costs of the rows."""
        labels, change = self._chain.problem.state_labels, float(changes[number])
        if number >= len(self._heads):
            row = number - len(self._heads)
            figure, successor = float(costs[row]), None
        else:
            row = int(self._row[number])
            figure, successor = float(self._nominal[number]), self._ways.name(number)
        state = int(self._inner[row])
        return Influence(labels[state], self._action(state), successor, figure, change)

    def _means(self, probabilities: FloatArray, after: FloatArray) -> FloatArray:
        """The mean of what comes after each row."""
        return np.bincount(self._row, probabilities * after, len(self._inner)).astype(np.float64)

    def _dearest(self, after: FloatArray, share: float) -> FloatArray:
        """The distribution of each row that puts as much as it may on the dearest successors.

        Each successor keeps ``1 - share`` of its probability, and what is left of one, the share, is given
        away: at most twice its part of it to any successor. So no small probability is a difference of
        large ones.
        """
        order = np.lexsort((-after, self._row))
        most = np.minimum(2.0 * self._nominal, 1.0)
        given = np.zeros(len(order))
        left = np.ones(len(self._inner))
        first = np.searchsorted(self._row[order], np.arange(len(self._inner) + 1))
        for rank in range(int(np.diff(first).max(initial=0))):
            rows = np.flatnonzero(np.diff(first) > rank)
            places = order[first[rows] + rank]
            given[places] = np.minimum(most[places], left[rows])
            left[rows] -= given[places]
        chosen: FloatArray = (1.0 - share) * self._nominal + share * given
        return chosen

    def _paid_on_the_way(self, weights: FloatArray) -> FloatArray:
        """What each outcome costs by itself, of a sum of costs."""
        paid: FloatArray = weights @ self._by_outcome
        return paid

    def _evaluate(self, probabilities: FloatArray, which: IntArray) -> Absorbed:
        """The chain with these probabilities, until it is absorbed, and some of its costs."""
        costs = self._stated[which]
        for place, cost in enumerate(which.tolist()):
            costs[place, self._inner] += self._means(probabilities, self._by_outcome[cost])
        return self._solved(probabilities, costs)

    def _solved(self, probabilities: FloatArray, costs: FloatArray) -> Absorbed:
        """The chain with these probabilities and costs, until it is absorbed."""
        size = self._chain.problem.num_states
        heads = (self._inner[self._row], self._heads)
        transitions: SparseMatrix = csr_array((probabilities, heads), shape=(size, size))
        try:
            return absorb(transitions, self._inner, self._chain.problem.initial, costs[:, self._inner])
        except OverflowError as error:
            raise CostOverflow(
                "the policy's expected costs are too large for double precision if probabilities are so wrong"
            ) from error
