r"""What every constrained search asks of a problem: the best policy under weights, within a region.

For multipliers :math:`\lambda \ge 0` the Lagrangian :math:`L(\lambda) = \min_\pi f(\pi) + \lambda (g(\pi) -
\Delta)` is an unconstrained SSP. An :class:`Oracle` solves it, in whatever way the problem's shape allows:
a flat C-SSP by policy iteration, a hierarchy by composing its activities. The dual, the k-best enumeration
and policy branching are written once, on top of this.

A problem of another shape becomes one that can be searched by an oracle of its own. This is a menu of which
one takes one dish, with a price and a number of calories:

>>> class Dish(Vertex):
...     def __init__(self, costs: FloatArray, row: int) -> None:
...         self.costs = costs
...         self._row = row
...
...     @property
...     def rows(self) -> IntArray:
...         return np.array([self._row])
...
...     @property
...     def visits(self) -> FloatArray:
...         return np.ones(1)
>>> class Menu(Oracle[Dish]):
...     def __init__(self, dishes: FloatArray, bounds: FloatArray) -> None:
...         super().__init__(bounds, row_start=np.array([0, len(dishes)]))
...         self._dishes = dishes
...
...     def minimise(
...         self, weights: FloatArray, region: Region, near: Dish | None = None
...     ) -> Minimum[Dish] | None:
...         values = np.where(region.allowed(len(self._dishes)), self._dishes @ weights, np.inf)
...         row = int(np.argmin(values))
...         if values[row] == np.inf:
...             return None
...         return Minimum(Dish(self._dishes[row], row), float(values[row]))
>>> menu = Menu(np.array([[10.0, 0.0], [6.0, 2.0], [4.0, 6.0]]), bounds=np.array([4.0]))

That is all the dual and policy branching need. Between the second dish and the third, which is too much, a
calorie is worth half a unit of the price:

>>> from hcssp.dual.ascent import maximise
>>> from hcssp.methods.policy_branching import prove
>>> dual = maximise(menu, Region())
>>> round(dual.bound, 6), dual.prices.round(6).tolist()
(5.0, [0.5])
>>> lower_bound, upper_bound, rows = prove(menu)
>>> round(lower_bound, 6), upper_bound, rows.tolist()
(6.0, 6.0, [1])

Under other bounds it is the same problem, and what was learnt is kept:

>>> prove(menu.under(np.array([1.0])))[1]
10.0
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.foresight import TurningPoint
from hcssp.dual.vertex import V, Vertex
from hcssp.ssp.region import Region

V_co = TypeVar("V_co", bound=Vertex, covariant=True)


class Minimum(NamedTuple, Generic[V]):
    """The best policy under some weights, and a certified lower bound on its weighted cost."""

    vertex: V
    bound: float


class KnownBest(Protocol[V_co]):
    """A policy that is known, and need not be put together yet."""

    @property
    def costs(self) -> FloatArray:
        """Its expected costs."""

    def vertex(self) -> V_co:
        """The policy itself."""


class KnownVertices(Protocol[V_co]):
    """Policies of a region that are known."""

    def best(self, weights: FloatArray) -> KnownBest[V_co] | None:
        """The best of them under some weights; None if there is none."""


class Settlement(NamedTuple, Generic[V]):
    """What is known about a region that was settled at once.

    Attributes
    ----------
    bound
        No policy of it that keeps the bounds costs less.
    vertex
        A policy that costs about that, if one was found.
    """

    bound: float
    vertex: V | None


class Oracle(ABC, Generic[V]):
    """A problem that can be minimised under weights, with its own kind of vertices.

    A decision state ``s`` owns the rows ``row_start[s]:row_start[s + 1]``; a policy takes one of them. Rows
    and states are numbered by the oracle, and only :meth:`lift` leads from them to the user's problem.

    A subclass must give :meth:`minimise`, and call this constructor. Where it can do better than the
    defaults, it also gives :meth:`approximate`, :meth:`improve`, :meth:`round_up` and :meth:`lift`. The
    module's documentation has an example.

    An oracle may keep what it learns. It is not meant to be asked by two threads at once, nor are those that
    :meth:`under` has made of it.

    Parameters
    ----------
    bounds
        One upper bound for each constraint; ``inf`` where there is none.
    row_start
        The first row of each decision state, and the number of rows.
    """

    def __init__(self, bounds: FloatArray, row_start: IntArray) -> None:
        self._bounds = self._asked_bounds = bounds
        self._row_start = row_start
        counts = np.diff(row_start)
        self._row_state: IntArray = np.repeat(np.arange(len(counts)), counts)

    @property
    def bounds(self) -> FloatArray:
        """One upper bound for each constraint; ``inf`` where there is none."""
        return self._bounds

    @property
    def asked_bounds(self) -> FloatArray:
        """The bounds that were asked for; those that are kept in any case are not among :attr:`bounds`."""
        return self._asked_bounds

    @property
    def row_start(self) -> IntArray:
        """The first row of each decision state, and the number of rows."""
        return self._row_start

    @property
    def row_state(self) -> IntArray:
        """The decision state of each row."""
        return self._row_state

    @abstractmethod
    def minimise(self, weights: FloatArray, region: Region, near: V | None = None) -> Minimum[V] | None:
        """The best policy of `region` under `weights`, or None if it has no proper one.

        Parameters
        ----------
        weights
            One non-negative weight for each cost, the primary first. That of the primary may be zero.
        region
            The policies that are meant: those that avoid its forbidden rows.
        near
            A policy that is probably close to the answer; it need not lie in the region.

        Returns
        -------
        Minimum
            The policy with its exact costs, and a bound that no policy of the region is below, whatever the
            rounding: every lower bound of a search rests on it.
        """

    def approximate(
        self, weights: FloatArray, region: Region, precision: float, near: V | None = None
    ) -> Minimum[V] | None:
        """As :meth:`minimise`, but the bound may be below the policy's weighted cost.

        By `precision` at most, relative to the cost; if that is ``inf``, nothing is planned of which
        anything is known.
        """
        return self.minimise(weights, region, near)

    def settle(
        self, region: Region, prices: FloatArray, bound: float, cutoff: float, expanded: int
    ) -> Settlement[V] | None:
        """The best policy of a region at once, where its shape allows it; by default it does not: None.

        Parameters
        ----------
        region
            The policies that are meant.
        prices, bound
            The multipliers of the region's dual, and the bound that they gave.
        cutoff
            Policies that cost this much are of no interest.
        expanded
            How many regions the search has split so far.
        """
        return None

    def known_policies(self, region: Region) -> KnownVertices[V] | None:
        """A quick way to the best policy *known* in a region, under any weights.

        By default None: there is no such way. It is a first look, see :mod:`hcssp.dual.known_model`.
        """
        return None

    @property
    def foresees(self) -> bool:
        """Whether :meth:`foresee` is quickly answered."""
        return False

    def foresee(
        self, vertex: V, prices: FloatArray, region: Region, index: int, excess: float
    ) -> TurningPoint | None:
        """Where another policy is best that is on the other side of a bound, about.

        By default None: it is not known. It is a guess that saves solves, see :mod:`hcssp.dual.foresight`.

        Parameters
        ----------
        vertex, prices, region
            The best policy of a region, and the multipliers at which it is.
        index
            The constraint whose multiplier is moved.
        excess
            By how much the policy breaks its bound; below zero if it keeps it.
        """
        return None

    @property
    def exchange_rounding(self) -> float:
        """By how much the costs of policies may differ that :meth:`orbit` takes for equal, relatively."""
        return 0.0

    @property
    def choice_rows(self) -> range:
        """The rows of a few decisions that matter much, which are worth to be looked at one by one."""
        return range(0)

    def orbit(self, region: Region, row: int) -> list[int]:
        """Rows of different states such that what a policy of a region does there can be permuted.

        However it is permuted, another policy of the region does that, at equal costs. The first is the row
        itself; by default it is the only one. See :mod:`hcssp.dual.exchangeable`.
        """
        return [row]

    def release(self) -> None:
        """Give back the memory of what is quickly made again, such as factors: a search has ended.

        By default nothing. Answers stay the same.
        """
        return

    def improve(self, vertex: V, rounds: int, known_cost: float = np.inf, least: float = -np.inf) -> V | None:
        """A feasible policy near `vertex`, repaired if that breaks a bound and cheaper if not; None if none.

        Parameters
        ----------
        vertex
            Any policy of this oracle.
        rounds
            How much may be tried.
        known_cost, least
            What the best policy that is known costs, and what all cost at least: what will not become
            noticeably better may be given up.
        """
        return None

    def between(self, support: tuple[V, ...]) -> V | None:
        """A feasible policy made of decisions of several that carry a dual; None if there is none.

        By default None: see :mod:`hcssp.dual.crossing` for where it matters.
        """
        return None

    def under(self, bounds: FloatArray) -> Self:
        """The same problem under other bounds; all that was learnt is shared.

        This is how to solve again after a bound was changed, and how the trade-off curve is drawn. The
        number of bounds stays the same; ``inf`` lifts one.
        """
        other = copy(self)
        other._bounds = other._asked_bounds = bounds
        return other

    def same_row(self, row: int, of: Oracle[Any], unchanged: bool = False) -> int | None:
        """The row that stands for the same action in the same place as a row of another oracle.

        By default None: it is not known. If only what is `unchanged` is meant, it is None as well where the
        action may lead elsewhere or cost something else, now or later in the same activity.
        """
        return None

    def is_stricter(self, than: Oracle[Any]) -> bool:
        """Whether it has the rows of another oracle, of which none costs less, and no bound above its bounds.

        What was proven about a region there then holds here. By default False: it is not known.
        """
        return False

    def round_up(self, bound: float) -> float:
        """The least cost not below `bound` that a deterministic policy can have, where that is known."""
        return bound

    def lift(self, vertex: V) -> IntArray:
        """The policy as one row for each state of the user's (flat) problem."""
        return vertex.rows
