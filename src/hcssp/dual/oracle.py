r"""What every constrained search asks of a problem: the best policy under weights, within a region.

For multipliers :math:`\lambda \ge 0` the Lagrangian :math:`L(\lambda) = \min_\pi f(\pi) + \lambda (g(\pi) -
\Delta)` is an unconstrained SSP. An :class:`Oracle` solves it, in whatever way the problem's shape allows:
a flat C-SSP by policy iteration, a hierarchy by composing its activities. The dual, the k-best enumeration
and policy branching are written once, on top of this.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import NamedTuple, Self

from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.ssp.region import Region

REACHED = 1e-13
"""A state with fewer expected visits counts as never reached: it cannot move a cost by a tolerance."""


class Vertex(ABC):
    """A deterministic policy and its exact expected costs: a vertex of the relaxation.

    Attributes
    ----------
    costs
        Expected costs, the primary first, then one for each constraint.
    """

    costs: FloatArray

    @property
    @abstractmethod
    def rows(self) -> IntArray:
        """One row for each decision state of the oracle."""

    @property
    @abstractmethod
    def visits(self) -> FloatArray:
        """Expected visits of each decision state."""

    @property
    def reached(self) -> BoolArray:
        """Which decision states the policy visits with a probability that matters."""
        return self.visits > REACHED

    def lies_in(self, region: Region, row_state: IntArray) -> bool:
        """Whether the policy avoids the region's forbidden rows wherever it goes."""
        for row in region.forbidden:
            state = row_state[row]
            if self.rows[state] == row and self.visits[state] > REACHED:
                return False
        return True


class Minimum(NamedTuple):
    """The best policy under some weights, and a certified lower bound on its weighted cost."""

    vertex: Vertex
    bound: float


class Oracle(ABC):
    """A problem that can be minimised under weights.

    A decision state ``s`` owns the rows ``row_start[s]:row_start[s + 1]``.
    """

    _bounds: FloatArray

    @property
    def bounds(self) -> FloatArray:
        """One upper bound for each constraint; ``inf`` where there is none."""
        return self._bounds

    @property
    @abstractmethod
    def row_start(self) -> IntArray:
        """The first row of each decision state, and the number of rows."""

    @property
    @abstractmethod
    def row_state(self) -> IntArray:
        """The decision state of each row."""

    @abstractmethod
    def minimise(self, weights: FloatArray, region: Region, near: Vertex | None = None) -> Minimum | None:
        """The best policy of `region` under `weights` (primary first), or None if it has no proper one."""

    def approximate(
        self, weights: FloatArray, region: Region, precision: float, near: Vertex | None = None
    ) -> Minimum | None:
        """As :meth:`minimise`, but the bound may be below the policy's weighted cost.

        By `precision` at most, relative to one plus the cost; if that is ``inf``, nothing is planned of which
        anything is known.
        """
        return self.minimise(weights, region, near)

    def improve(self, vertex: Vertex, rounds: int) -> Vertex | None:
        """A feasible policy near `vertex`: repaired if that breaks a bound, bettered if not; None if none."""
        return None

    def under(self, bounds: FloatArray) -> Self:
        """The same problem under other bounds; all that was learnt is shared."""
        other = copy(self)
        other._bounds = bounds
        return other

    def round_up(self, bound: float) -> float:
        """The least cost not below `bound` that a deterministic policy can have, where that is known."""
        return bound

    def lift(self, vertex: Vertex) -> IntArray:
        """The policy as one row for each state of the user's (flat) problem."""
        return vertex.rows
