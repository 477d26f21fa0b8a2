"""Some states of an expansion at a time: their rows and transitions, as arrays to compute with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.cssp.spans import first_in_each, joined_spans

if TYPE_CHECKING:
    from hcssp.cssp.expansion import Expansion


class Gathered:
    """The rows of some expanded states, and their transitions, side by side.

    Attributes
    ----------
    rows
        The rows, state by state.
    begins
        Where the rows of each state begin among them; a state without rows must not be among the states.
    starts, lengths, successors, probabilities
        Where the transitions of each row begin, how many they are, and what they are.
    """

    def __init__(
        self, expansion: Expansion, states: IntArray, probabilities: FloatArray | None = None
    ) -> None:
        counts = expansion.rows_of_state[states]
        self.counts: IntArray = counts
        self.rows, self.begins = joined_spans(expansion.first_row[states], counts)
        self.lengths: IntArray = expansion.entries_of_row[self.rows]
        entries, self.starts = joined_spans(expansion.first_entry[self.rows], self.lengths)
        self.successors: IntArray = expansion.successor[entries]
        shares = expansion.probability if probabilities is None else probabilities
        self.probabilities: FloatArray = shares[entries]

    def expected(self, values: FloatArray) -> FloatArray:
        """For each row, the expected value of the next state."""
        if not len(self.rows):
            return np.zeros(0)
        expected: FloatArray = np.add.reduceat(self.probabilities * values[self.successors], self.starts)
        return expected

    def least(self, options: FloatArray) -> tuple[FloatArray, IntArray]:
        """For each state the least of its rows' options, and the position of the first row that has it."""
        least = np.minimum.reduceat(options, self.begins)
        return least, first_in_each(options == np.repeat(least, self.counts), self.begins)
