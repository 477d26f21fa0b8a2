"""A policy as an oracle answers with it: its costs, where it goes, and what it does there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self, TypeVar

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.ssp.potential import ROUNDINGS
from hcssp.ssp.region import Region

CLEARLY_VISITED = 1e-9
"""A state with more expected visits is visited. Below, they may be rounding, and the graph is asked."""


RECORD_BYTES, ARRAY_BYTES = 500, 112
"""What an object with its attributes takes besides its arrays, and an array besides its numbers."""


def own_bytes(record: object) -> int:
    """The memory that a record takes, about: itself and its arrays, also those that it keeps by key."""
    kept = list(vars(record).values())
    kept += [value for each in kept if isinstance(each, dict) for value in each.values()]
    arrays = [value for value in kept if isinstance(value, np.ndarray)]
    return RECORD_BYTES + sum(ARRAY_BYTES + array.nbytes for array in arrays)


class Vertex(ABC):
    """A deterministic policy and its exact expected costs: a vertex of the relaxation.

    A subclass gives its `costs`, `rows` and `visits`; the latter two may be computed when they are asked for.

    Attributes
    ----------
    costs
        Expected costs, the primary first, then one for each constraint.
    """

    costs: FloatArray

    @property
    @abstractmethod
    def rows(self) -> IntArray:
        """One row for each decision state of the oracle; -1 where the policy has none."""

    @property
    @abstractmethod
    def visits(self) -> FloatArray:
        """Expected visits of each decision state."""

    @property
    def rounding(self) -> FloatArray:
        """How far each cost may be off, by an estimate; by default nothing to speak of.

        Where that matters, costs are computed anew, with more care.
        """
        return np.zeros(len(self.costs))

    @property
    def rounding_at_most(self) -> FloatArray:
        """No less than :attr:`rounding`, where that takes less time than to tell it precisely."""
        return self.rounding

    @property
    def nbytes(self) -> int:
        """The memory that the policy's own arrays take, about; it may grow when they are asked for."""
        return own_bytes(self)

    @property
    def parts(self) -> tuple[Any, ...]:
        """What takes memory, each with its `nbytes`: the policy itself, and what it may share with others."""
        return (self,)

    def release(self) -> None:  # noqa: B027 - most have nothing to give back
        """Give back arrays that are quickly made again."""

    @property
    def reached(self) -> BoolArray:
        """Which decision states the policy visits, however seldom; a subclass that can asks the graph."""
        return self.visits > 0.0

    def parting(self, other: Self) -> IntArray:
        """The decision states in which another policy takes another row, whoever goes there."""
        return np.flatnonzero(self.rows != other.rows)

    def parting_choices(self, other: Self) -> IntArray:
        """Those of them that belong to a few choices, which are made before all else; by default none."""
        return np.zeros(0, dtype=np.int64)

    def rows_of(self, states: IntArray) -> IntArray:
        """The rows that the policy takes in some decision states."""
        return self.rows[states]

    def visits_of(self, states: IntArray) -> FloatArray:
        """The expected visits of some decision states."""
        return self.visits[states]

    def switching_costs(self, states: IntArray, rows: IntArray) -> FloatArray | None:
        """By how much each cost changes whenever the policy takes `rows` in `states` instead of its own.

        One line for each state, ``nan`` where it is not known. By default None: it is known nowhere.
        """
        return None

    def goes_to(self, state: int) -> bool:
        """Whether the policy visits a decision state, however seldom."""
        return bool(self.visits[state] > CLEARLY_VISITED or self.reached[state])

    def lies_in(self, region: Region, row_state: IntArray) -> bool:
        """Whether the policy avoids the region's forbidden rows wherever it goes."""
        for row in region.forbidden:
            state = row_state[row]
            if self.rows[state] == row and self.goes_to(state):
                return False
        return True


V = TypeVar("V", bound=Vertex)


def estimated_rounding(values: FloatArray, costs: FloatArray, departures: float) -> FloatArray:
    """How far costs from the start may be off: an estimate.

    A linear solve is precise relative to its largest answer, and loses a little with every step.

    Parameters
    ----------
    values
        Costs to go, one column a cost.
    costs
        Those from the start.
    departures
        How often a state is left, in expectation.
    """
    largest = values.max(axis=0, initial=0.0)
    rounding: FloatArray = 8.0 * ROUNDINGS * np.maximum(largest, departures * costs)
    return rounding
