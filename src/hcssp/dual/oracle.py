r"""The interface between searches and problems: the best policy under weights, within a region.

For multipliers :math:`\lambda \ge 0` the Lagrangian :math:`L(\lambda) = \min_\pi f(\pi) + \lambda (g(\pi) -
\Delta)` is an unconstrained SSP. An :class:`Oracle` solves it in the way that suits the problem's shape: a
flat C-SSP by policy iteration, a hierarchy by composing its activities. The dual, the k-best enumeration and
policy branching are written once, on top of this interface.

A problem of another shape can be searched once it has an oracle. This is a menu from which one dish is taken,
with a price and a number of calories:

>>> class Dish(PolicyPoint):
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
...         self, weights: FloatArray, region: Region, precision: float = 0.0, near: Dish | None = None
...     ) -> Minimum[Dish] | None:
...         values = np.where(region.allowed(len(self._dishes)), self._dishes @ weights, np.inf)
...         row = int(np.argmin(values))
...         if values[row] == np.inf:
...             return None
...         return Minimum(Dish(self._dishes[row], row), float(values[row]))
>>> menu = Menu(np.array([[10.0, 0.0], [6.0, 2.0], [4.0, 6.0]]), bounds=np.array([4.0]))

The dual and policy branching need nothing else. Between the second dish and the third, which has too many
calories, a calorie is worth half a unit of the price:

>>> from hcssp.dual.ascent import maximise
>>> from hcssp.methods.policy_branching import prove
>>> dual = maximise(menu, Region())
>>> round(dual.bound, 6), dual.prices.round(6).tolist()
(5.0, [0.5])
>>> lower_bound, upper_bound, rows = prove(menu)
>>> round(lower_bound, 6), upper_bound, rows.tolist()
(6.0, 6.0, [1])

Under other bounds it is the same problem, and its results are kept:

>>> prove(menu.under(np.array([1.0])))[1]
10.0

An oracle that can do more offers it as :attr:`Oracle.strategies`: a record of objects that make a search
faster or its incumbents better. Each is None if the oracle lacks it. A search without them ends with the same
optimum.

Oracles of problems in which a bound of 0 takes out whatever costs some of what it counts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.ssp.potential import ROUNDINGS
from hcssp.ssp.scalar_problem import Region

if TYPE_CHECKING:
    from hcssp.dual.prediction import Breakpoint


CLEARLY_VISITED = 1e-9
"""A state with more expected visits is visited. Below, they may be rounding, and the graph decides."""


RECORD_BYTES, ARRAY_BYTES = 500, 112
"""The memory of an object besides its arrays, and of an array besides its numbers."""


def own_bytes(record: object) -> int:
    """The memory that a record takes, about: itself and its arrays, also those that it keeps by key."""
    # Called for every policy of every open node, so in one pass.
    total = RECORD_BYTES
    for value in vars(record).values():
        if isinstance(value, np.ndarray):
            total += ARRAY_BYTES + value.nbytes
        elif type(value) is dict:
            total += sum(ARRAY_BYTES + each.nbytes for each in value.values() if isinstance(each, np.ndarray))
    return total


class PolicyPoint(ABC):
    """A deterministic policy and its exact expected costs: a vertex of the relaxation.

    A subclass gives its `costs`, `rows` and `visits`; the latter two may be computed on demand.

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
        """How far each cost may be off, by an estimate; by default a negligible amount.

        Where that matters, costs are computed again, with more care.
        """
        return np.zeros(len(self.costs))

    @property
    def nbytes(self) -> int:
        """The memory that the policy's own arrays take, about; it may grow, as some are made on demand."""
        return own_bytes(self)

    @property
    def parts(self) -> tuple[Any, ...]:
        """The objects that use memory, each with its `nbytes`: the policy, and shared ones."""
        return (self,)

    def release(self) -> None:  # noqa: B027 - most have nothing to give back
        """Give back arrays that are quickly made again."""

    @property
    def reached(self) -> BoolArray:
        """Which decision states the policy visits, however seldom; a subclass that can asks the graph."""
        return self.visits > 0.0

    def parting(self, other: Self) -> IntArray:
        """The decision states in which another policy takes another row, visited or not."""
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


V = TypeVar("V", bound=PolicyPoint)


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


V_co = TypeVar("V_co", bound=PolicyPoint, covariant=True)


V_contra = TypeVar("V_contra", bound=PolicyPoint, contravariant=True)


class Minimum(NamedTuple, Generic[V]):
    """The best policy under some weights, and a certified lower bound on its weighted cost."""

    point: V
    bound: float


class LocalSearch(Protocol[V]):
    """Finds feasible policies near given ones: incumbents, never bounds."""

    def improve(self, point: V, rounds: int, known_cost: float = np.inf, least: float = -np.inf) -> V | None:
        """A feasible policy near `point`: feasibility is restored, then the cost is lowered; None if none.

        Parameters
        ----------
        point
            Any policy of the oracle.
        rounds
            The maximum number of moves.
        known_cost, least
            The cost of the incumbent, and a lower bound on all costs. A policy that will not become
            noticeably better may be given up.
        """

    def relink(self, support: tuple[V, ...]) -> V | None:
        """A feasible policy that combines decisions of the policies that carry a dual; None if none."""


class Prediction(Protocol[V_contra]):
    """Predicts at which multiplier the best policy changes. A wrong prediction costs time only."""

    def breakpoint(
        self, point: V_contra, prices: FloatArray, region: Region, index: int, excess: float
    ) -> Breakpoint | None:
        """Where a policy on the other side of a bound becomes the best one; None if that is unknown.

        Parameters
        ----------
        point, prices, region
            The best policy of a region, and the multipliers at which it is the best.
        index
            The constraint whose multiplier is moved.
        excess
            By how much the policy breaks its bound; negative if it keeps it.
        """


class KnownBest(Protocol[V_co]):
    """A known policy that is assembled on demand."""

    @property
    def costs(self) -> FloatArray:
        """Its expected costs."""

    def point(self) -> V_co:
        """The policy itself."""


class KnownPoints(Protocol[V_co]):
    """The known policies of a region."""

    def best(self, weights: FloatArray) -> KnownBest[V_co] | None:
        """The best of them under some weights; None if there is none."""


class KnownPolicies(Protocol[V_co]):
    """Finds the best *known* policy of a region without planning, see :mod:`hcssp.dual.ascent`."""

    def within(self, region: Region) -> KnownPoints[V_co] | None:
        """The results for a region; None if no policy is known."""


class Symmetry(Protocol):
    """Exchanges decisions between identical parts of the problem, see :mod:`hcssp.dual.symmetry`."""

    @property
    def rounding(self) -> float:
        """By how much the costs of policies that :meth:`orbit` takes for equal may differ, relatively."""

    @property
    def choice_rows(self) -> range:
        """The rows of a few influential decisions, each of which is worth a look before the search."""

    def orbit(self, region: Region, row: int) -> list[int]:
        """Rows of different states such that what a policy of a region does there can be permuted.

        Every permutation is another policy of the region with equal costs. The first row is `row` itself.
        """


class Settlement(NamedTuple, Generic[V]):
    """The results for a region that was decided at once.

    Attributes
    ----------
    bound
        No policy of it that keeps the bounds costs less.
    point
        A policy that costs about that, if one was found.
    """

    bound: float
    point: V | None


class KnownPotential(NamedTuple):
    """A lower bound on the weighted cost-to-go from every state of an activity, without some rows.

    Attributes
    ----------
    activity
        The activity; None for the whole problem.
    weights
        Of the activity's own costs, the primary first.
    forbidden
        The rows of the oracle that the bound does not hold for.
    values
        Computes the values: one for each state of the activity or of the user's (flat) problem, ``nan`` where
        nothing is known. They may be off by rounding. A number instead is the value of all states from which
        no policy is proper, where the others have 0.
    """

    activity: int | None
    weights: FloatArray
    forbidden: frozenset[int]
    values: Callable[[], FloatArray] | float


class Potentials(Protocol):
    """Provides the data for a certificate, see :mod:`hcssp.proofs.assembly`."""

    def problem_row(self, row: int) -> int:
        """The row of the user's (flat) problem that a row of the oracle is."""

    def within(
        self, path: Sequence[frozenset[int]], weights: FloatArray, fresh: bool
    ) -> Sequence[tuple[KnownPotential, float]] | None:
        """Potentials of a region, each with its share; None if no policy of the region is proper.

        It is either one potential of the whole problem, or several of activities. The potentials of an
        activity, times their shares, have its weights at most; an activity without any costs nothing.

        Parameters
        ----------
        path
            The rows that each split forbids on the way from all policies to the region.
        weights
            One for each cost, the primary first.
        fresh
            Whether to plan for these weights instead of using results at other weights.
        """


class PlanClasses(NamedTuple):
    """The plans of an activity, divided into classes.

    Attributes
    ----------
    activity
        The activity.
    tree
        How all plans are divided, in preorder: a row of the oracle that is taken, or else is not; -1 for a
        class.
    classes
        For each class, potentials of the primary cost, of the priced costs, and of both; None where nothing
        is known.
    """

    activity: int
    tree: tuple[int, ...]
    classes: tuple[tuple[KnownPotential | None, ...], ...]


class Enumeration(Protocol[V]):
    """Settles a region without branching, by a multiple-choice knapsack over the plans of its parts."""

    def plan_classes(self, region: Region, prices: FloatArray, bound: float) -> list[PlanClasses] | None:
        """The executed activities of a region with their classes of plans, which prove a settled bound.

        Parameters
        ----------
        region, prices
            As in :meth:`settle`.
        bound
            The bound that was settled.

        Returns
        -------
        list or None
            None if there are too many classes.
        """

    def settle(
        self, region: Region, prices: FloatArray, bound: float, cutoff: float, expanded: int
    ) -> Settlement[V] | None:
        """The best policy of a region; None if its shape or size does not allow it.

        Parameters
        ----------
        region
            The policies in question.
        prices, bound
            The multipliers of the region's dual, and the bound that they gave.
        cutoff
            Policies of this cost or more are of no interest.
        expanded
            The number of regions that the search has split so far.
        """


class Correspondence(Protocol):
    """Compares the problem with another: the results that a new search can reuse from an earlier one."""

    def same_row(self, row: int, of: Oracle[Any]) -> int | None:
        """The row of the same action in the same place as a row of another oracle; None if there is none."""


class RoundingUp(Protocol):
    """Knows which costs deterministic policies can have."""

    def round_up(self, bound: float) -> float:
        """The least possible cost of a deterministic policy that is not below `bound`."""


@dataclass(frozen=True)
class Strategies(Generic[V]):
    """The accelerations that an oracle offers; None for those it lacks."""

    local_search: LocalSearch[V] | None = None
    prediction: Prediction[V] | None = None
    known_policies: KnownPolicies[V] | None = None
    symmetry: Symmetry | None = None
    enumeration: Enumeration[V] | None = None
    correspondence: Correspondence | None = None
    rounding_up: RoundingUp | None = None
    potentials: Potentials | None = None

    def round_up(self, bound: float) -> float:
        """The bound, rounded up to a cost that a deterministic policy can have where those are known."""
        return bound if self.rounding_up is None else self.rounding_up.round_up(bound)


class Oracle(ABC, Generic[V]):
    """A problem that can be minimised under weights, with its own kind of policy points.

    A decision state ``s`` owns the rows ``row_start[s]:row_start[s + 1]``; a policy takes one of them. Rows
    and states are numbered by the oracle, and only :meth:`lift` leads from them to the user's problem.

    A subclass implements :meth:`minimise` and calls this constructor. It may override :meth:`lift`,
    :meth:`release` and :attr:`strategies`. The module's documentation has an example.

    An oracle may keep what it learns. Only one thread at a time may call it or an oracle that :meth:`under`
    has derived from it.

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
        """The requested bounds; one that every policy keeps by construction is ``inf`` in :attr:`bounds`."""
        return self._asked_bounds

    @property
    def row_start(self) -> IntArray:
        """The first row of each decision state, and the number of rows."""
        return self._row_start

    @property
    def row_state(self) -> IntArray:
        """The decision state of each row."""
        return self._row_state

    @property
    def strategies(self) -> Strategies[V]:
        """The accelerations that the oracle offers; by default none."""
        return Strategies()

    @abstractmethod
    def minimise(
        self, weights: FloatArray, region: Region, precision: float = 0.0, near: V | None = None
    ) -> Minimum[V] | None:
        """The best policy of `region` under `weights`, or None if the region has no proper policy.

        Parameters
        ----------
        weights
            One non-negative weight for each cost, the primary first. That of the primary may be zero.
        region
            The policies in question: those that avoid its forbidden rows.
        precision
            The bound may be below the policy's weighted cost by this much, relative to the cost. With ``inf``
            nothing is planned for which any plan is known.
        near
            A policy that is probably close to the answer; it need not lie in the region.

        Returns
        -------
        Minimum
            The policy with its exact costs, and a lower bound on the weighted cost of every policy of the
            region, whatever the rounding: every lower bound of a search rests on it.
        """

    def under(self, bounds: FloatArray) -> Self:
        """The same problem under other bounds; all that was learnt is shared.

        This is how to solve again after a bound was changed, and how the trade-off curve is drawn. The
        number of bounds stays the same; ``inf`` removes one.
        """
        other = copy(self)
        other._bounds = other._asked_bounds = bounds
        return other

    def lift(self, point: V) -> IntArray:
        """The policy as one row for each state of the user's (flat) problem."""
        return point.rows

    def release(self) -> None:
        """Release memory that is quickly filled again, such as factors, when a search has ended.

        Answers stay the same.
        """


def zero_bounds(bounds: FloatArray) -> tuple[int, ...]:
    """The constraints that allow nothing at all.

    A policy keeps such a bound if and only if it never goes where something of the cost is paid. So the rows
    that cost some of it are taken out of the problem, and the bound need not be looked at any more.
    """
    return tuple(np.flatnonzero(bounds == 0.0).tolist())


def without(bounds: FloatArray, constraints: Iterable[int]) -> FloatArray:
    """The bounds, but none on the given constraints."""
    lifted = bounds.copy()
    lifted[list(constraints)] = np.inf
    return lifted


class AffordableOracle(Oracle[V]):
    """An oracle that removes the rows with a cost whose bound is 0.

    If others of them are 0, the problem under other bounds is another one: there is one oracle for each such
    set, and what it learns is shared by all that :meth:`under` makes of it. A subclass calls
    :meth:`_leave_out` before it reads its problem and this constructor once it knows its rows, and gives
    :meth:`_alike`.
    """

    _affordable: bool
    _zeros: tuple[int, ...]
    _others: dict[tuple[int, ...], Self]

    def __init__(self, bounds: FloatArray, row_start: IntArray) -> None:
        super().__init__(bounds, row_start)
        self._bounds = without(bounds, self._zeros)

    def _leave_out(self: Self, bounds: FloatArray, affordable: bool) -> None:
        """Note the constraints whose costs are taken out: those with a bound of 0, if that is wanted."""
        self._affordable = affordable
        self._zeros = zero_bounds(bounds) if affordable else ()
        self._others = {self._zeros: self}

    @abstractmethod
    def _alike(self, bounds: FloatArray) -> Self:
        """An oracle of the same kind for the problem under other bounds."""

    def under(self, bounds: FloatArray) -> Self:
        zeros = zero_bounds(bounds) if self._affordable else ()
        if zeros not in self._others:
            self._others[zeros] = self._alike(bounds)
        other = copy(self._others[zeros])
        other._bounds, other._asked_bounds = without(bounds, zeros), bounds
        other._others = self._others
        return other
