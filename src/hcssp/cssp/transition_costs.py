r"""Costs of single transitions, :math:`C(s, a, s')`.

Solvers need the expected cost of a row alone, which is what :attr:`CSSP.costs <hcssp.cssp.model.CSSP.costs>`
holds. What a single run spends depends on the state that is reached: simulation, capacities and execution
read it here. Only rows whose outcomes cost differently are listed, so that most problems have none.

An outcome is a state that is reached, with a probability and costs. A row may have two outcomes that reach
the same state at different costs; its transition probability is then the sum of both.

>>> paid = TransitionCosts.of([0, 0, 1], [1, 2, 1], [0.9, 0.1, 1.0], [[1.0, 1.0, 5.0], [0.0, 10.0, 0.0]])
>>> paid.rows.tolist(), paid.states.tolist(), paid.costs.tolist()
([0, 0], [1, 2], [[1.0, 1.0], [0.0, 10.0]])
>>> paid.take(np.array([1, 0])).rows.tolist()
[1, 1]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import fsum, nan
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from hcssp.cssp.arrays import FloatArray, IntArray, decimal, frozen, joined_spans

if TYPE_CHECKING:
    from hcssp.cssp.model import CSSP


@dataclass(frozen=True, eq=False)
class TransitionCosts:
    """The outcomes of all rows in which costs depend on the state that is reached.

    Attributes
    ----------
    rows
        The row of each outcome, ascending.
    states
        The state that each outcome reaches.
    probabilities
        The probability of each outcome; those of a row sum to one.
    costs
        Shape ``(num_costs, num_outcomes)``: the costs of each outcome, in full.
    """

    rows: IntArray
    states: IntArray
    probabilities: FloatArray
    costs: FloatArray

    def __post_init__(self) -> None:
        for name, kind in (("rows", np.int64), ("states", np.int64), ("probabilities", np.float64)):
            object.__setattr__(self, name, frozen(np.asarray(getattr(self, name), dtype=kind)))
        costs = np.atleast_2d(np.asarray(self.costs, dtype=np.float64))
        object.__setattr__(self, "costs", frozen(costs))

    @classmethod
    def of(
        cls,
        rows: npt.ArrayLike,
        states: npt.ArrayLike,
        probabilities: npt.ArrayLike,
        costs: npt.ArrayLike,
    ) -> Self | None:
        """The outcomes of the rows that need them, in order; None if no row does.

        Impossible outcomes are left out, and equal ones become one.

        Parameters
        ----------
        rows, states, probabilities, costs
            As the attributes, in any order, also of rows whose outcomes all cost the same.
        """
        given = cls(*map(np.asarray, (rows, states, probabilities, costs)))
        given = given._picked(np.flatnonzero(given.probabilities != 0.0))
        given = given._picked(np.lexsort((*given.costs[::-1], given.states, given.rows)))
        if not len(given.rows):
            return None
        begins = np.flatnonzero(np.diff(given.rows, prepend=given.rows[0] - 1))
        first = np.repeat(begins, np.diff(begins, append=len(given.rows)))
        differs = np.logical_or.reduceat((given.costs != given.costs[:, first]).any(axis=0), begins)
        given = given._picked(np.flatnonzero(np.repeat(differs, np.diff(begins, append=len(given.rows)))))
        if not len(given.rows):
            return None
        keys = np.vstack((given.rows, given.states, given.costs))
        new = np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))
        merged = given._picked(np.flatnonzero(new))
        sums = np.add.reduceat(given.probabilities, np.flatnonzero(new))
        return cls(merged.rows, merged.states, sums, merged.costs)

    @classmethod
    def stacked(cls, blocks: Iterable[tuple[int, TransitionCosts | None]]) -> Self | None:
        """Blocks of rows one below the other, each given with the number of its first row."""
        found = [(first, block) for first, block in blocks if block is not None]
        if not found:
            return None
        return cls.of(
            np.concatenate([first + block.rows for first, block in found]),
            np.concatenate([block.states for _, block in found]),
            np.concatenate([block.probabilities for _, block in found]),
            np.hstack([block.costs for _, block in found]),
        )

    def _picked(self, entries: IntArray) -> Self:
        return type(self)(
            self.rows[entries], self.states[entries], self.probabilities[entries], self.costs[:, entries]
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TransitionCosts):
            return NotImplemented
        parts = ("rows", "states", "probabilities", "costs")
        return all(np.array_equal(getattr(self, part), getattr(other, part)) for part in parts)

    __hash__ = None  # type: ignore[assignment]

    def spans(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """The first outcome of each of `rows`, and how many it has: 0 where all cost the same."""
        first = np.searchsorted(self.rows, rows, side="left")
        return first, np.searchsorted(self.rows, rows, side="right") - first

    def take(self, rows: IntArray) -> Self | None:
        """The outcomes of the rows `rows`, numbered by their place there; an unknown row has none."""
        first, lengths = self.spans(rows)
        entries, _ = joined_spans(first, lengths)
        picked = self._picked(entries)
        return self.of(
            np.repeat(np.arange(len(rows)), lengths), picked.states, picked.probabilities, picked.costs
        )

    def to(self, states: IntArray) -> Self | None:
        """The same where state ``s`` is called ``states[s]``."""
        return self.of(self.rows, states[self.states], self.probabilities, self.costs)

    def paying(self, costs: FloatArray) -> Self | None:
        """The same with other costs of each outcome."""
        return self.of(self.rows, self.states, self.probabilities, costs)

    def given(self, row: int, state: int) -> FloatArray | None:
        """What `row` costs if it reaches `state`; None if it always costs the same.

        Where two outcomes reach the state it is their mean: which of them it was cannot be observed.
        """
        (first,), (length,) = self.spans(np.array([row]))
        span = np.arange(first, first + length)
        span = span[self.states[span] == state]
        if not len(span):
            return None
        weights = self.probabilities[span] / self.probabilities[span].sum()
        found: FloatArray = self.costs[:, span[0]] if len(span) == 1 else self.costs[:, span] @ weights
        return found

    def expected(self) -> tuple[IntArray, FloatArray]:
        """The rows that are listed, and the expected costs of each, shape ``(num_costs, len(rows))``."""
        rows, begins = np.unique(self.rows, return_index=True)
        least, most = (each.reduceat(self.costs, begins, axis=1) for each in (np.minimum, np.maximum))
        shares = np.split(self.costs * self.probabilities, begins[1:], axis=1)
        # Rounded once, so that it does not depend on the order; what all outcomes cost is not rounded at all.
        mean = np.array([[_sum(cost) for cost in each.tolist()] for each in shares]).T
        return rows, np.where(least == most, least, mean)

    def exact_means(self) -> dict[int, list[Fraction]]:
        """The expected costs of the rows that are listed, of what their numbers mean."""
        outcomes: dict[int, list[tuple[Fraction, list[Fraction]]]] = {}
        for row, chance, *paid in np.vstack((self.rows, self.probabilities, self.costs)).T.tolist():
            outcomes.setdefault(int(row), []).append((decimal(chance), [decimal(cost) for cost in paid]))
        return {
            row: [
                sum((chance * paid[cost] for chance, paid in own), Fraction(0))
                / sum(chance for chance, _ in own)
                for cost in range(len(self.costs))
            ]
            for row, own in outcomes.items()
        }


class Outcomes(NamedTuple):
    """Everything that some rows may lead to, one row after the other.

    Attributes
    ----------
    lengths
        How many outcomes each row has.
    states, probabilities
        Of each outcome.
    entry
        The place of each outcome in the :class:`TransitionCosts`; -1 where it costs what its row costs.
    """

    lengths: IntArray
    states: IntArray
    probabilities: FloatArray
    entry: IntArray

    def possible(self) -> Outcomes:
        """The same without outcomes of probability 0."""
        kept = self.probabilities != 0.0
        if kept.all():
            return self
        rows = np.repeat(np.arange(len(self.lengths)), self.lengths)[kept]
        lengths = np.bincount(rows, minlength=len(self.lengths))
        return Outcomes(lengths, self.states[kept], self.probabilities[kept], self.entry[kept])

    def costs(self, rows: IntArray, expected: FloatArray, paid: TransitionCosts | None) -> FloatArray:
        """The costs of each outcome.

        Parameters
        ----------
        rows
            The rows that the outcomes belong to, as given to :func:`outcomes`.
        expected
            The expected costs of all rows of the problem.
        paid
            The costs of single transitions.
        """
        found: FloatArray = expected[:, np.repeat(rows, self.lengths)]
        if paid is not None:
            listed = self.entry >= 0
            found[:, listed] = paid.costs[:, self.entry[listed]]
        return found


def outcomes(transitions: Any, rows: IntArray, paid: TransitionCosts | None) -> Outcomes:
    """The outcomes of `rows`: those of `paid` where it lists them, else the transitions.

    Parameters
    ----------
    transitions
        The transitions of all rows, a CSR matrix.
    rows
        The rows; they may repeat.
    paid
        The costs of single transitions; None if no row needs them.
    """
    first = transitions.indptr[rows].astype(np.int64)
    lengths = transitions.indptr[rows + 1].astype(np.int64) - first
    if paid is None:
        entries, _ = joined_spans(first, lengths)
        states = transitions.indices[entries].astype(np.int64)
        return Outcomes(lengths, states, transitions.data[entries], np.full(len(entries), -1))
    own_first, own_lengths = paid.spans(rows)
    differs = own_lengths > 0
    lengths = np.where(differs, own_lengths, lengths)
    entries, _ = joined_spans(np.where(differs, own_first, first), lengths)
    listed = np.repeat(differs, lengths)
    states, probabilities = np.empty(len(entries), dtype=np.int64), np.empty(len(entries))
    states[listed], states[~listed] = paid.states[entries[listed]], transitions.indices[entries[~listed]]
    probabilities[listed] = paid.probabilities[entries[listed]]
    probabilities[~listed] = transitions.data[entries[~listed]]
    return Outcomes(lengths, states, probabilities, np.where(listed, entries, -1))


def outcomes_of_rows(problem: CSSP, rows: IntArray) -> Outcomes:
    """The outcomes of some rows of a problem."""
    return outcomes(problem.transitions, rows, problem.transition_costs)


def _sum(numbers: list[float]) -> float:
    """Their sum, rounded once; not a number where some of them are no costs."""
    try:
        return fsum(numbers)
    except (OverflowError, ValueError):
        return nan
