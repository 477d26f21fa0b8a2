r"""Heuristics for implicit problems, made from small ones: lower bounds on the cost-to-go.

An :class:`~hcssp.cssp.implicit.ImplicitCSSP` asks for numbers :math:`h_k(s)` that no policy's expected
:math:`k`-th cost to go from :math:`s` is below. Two sources:

**Shortest paths.** If one could choose which outcome happens, a shortest path would do: its cost is never
above an expected one. :func:`shortest_paths` computes it for all states of a problem that is small enough to
be enumerated.

**Projections.** A small problem that allows all that the large one does, for no more, serves the large one: a
coarser grid, a track without speeds, a household of which only one room is looked at. With `project`, a state
of the large problem has the heuristic of the state of the small one that it projects to. If every possible
step of the large problem projects to a possible step of the small one (or to none, within one state) that
costs no more of anything, its shortest paths are heuristics of the large one. If the small one also has the
same chances, so are its :func:`expected_costs`, which are higher. This cannot be checked without enumerating
the large problem; ``consistent=True`` checks what is expanded.

**Under prices.** The policy that saves most time is not the one that saves most damage, so
:math:`h_0 + \sum_k \lambda_k h_k` promises less than the best policy at prices :math:`\lambda` pays. What is
made here knows better: :meth:`TableHeuristic.together` solves the small problem under the prices that the
search tries, if the heuristic object is passed, not its method :meth:`~TableHeuristic.of`.
For several projections, :func:`highest` takes the maximum of their values.

**Rounding.** Costs are not negative, so a sum of :math:`m` terms is off by a factor of at most
:math:`1 + m \varepsilon`, and so much more after each sweep. The values are lowered by as much as all steps
of a path, or all sweeps together, may have raised them; see :data:`ROUNDING`.

>>> from hcssp.cssp.builder import CSSPBuilder
>>> small = CSSPBuilder(cost_names=("time", "damage"))
>>> far, near, out = small.add_state("far"), small.add_state("near"), small.add_goal("out")
>>> _ = small.add_action(far, "run", to={near: 0.9, far: 0.1}, costs={"time": 1.0, "damage": 1.0})
>>> _ = small.add_action(near, "run", to={out: 0.5, far: 0.5}, costs={"time": 2.0})
>>> _ = small.add_action(near, "walk", to=out, costs={"time": 7.0})
>>> rooms = shortest_paths(small.build())
>>> [round(value, 6) for value in rooms("far")]
[3.111111, 1.111111]
>>> halves = shortest_paths(small.build(), project=lambda cell: "far" if cell > 10 else "near")
>>> [round(value, 6) for value in halves(17)]
[3.0, 1.0]

Running takes 6.2 in expectation and costs 2.2 of damage; walking saves damage, but no policy saves both:

>>> rooms = expected_costs(small.build())
>>> [round(value, 6) for value in rooms("far")]
[6.222222, 1.111111]
>>> rooms.together(np.array([1.0, 1.0]), ["far"]).round(6).tolist()
[8.444444]
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.reachability import almost_sure, path_lengths
from hcssp.cssp.state_space import RowNumbers
from hcssp.errors import InvalidProblem

ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
"""For each term of a sum and each sweep, values are lowered by this share. A probability is divided once,
multiplied once and added once, each time to half a unit in the last place: this is more than twice that."""

MAX_VALUE_ITERATIONS = 20_000
VALUE_ITERATION_TOLERANCE = 1e-12
"""Value iteration ends after this number of sweeps, or once no value rises by this share of the largest."""


class ShortestPaths:
    """The least cost of a path to a goal.

    Parameters
    ----------
    problem
        The problem.
    repeated
        Whether a row that may stay is paid until it leaves. Not for a projection, of which only what is
        possible is known, and not how probable it is.
    """

    def __init__(self, problem: CSSP, repeated: bool) -> None:
        self._goals, transitions = problem.goals, problem.transitions
        row = np.repeat(np.arange(problem.num_rows), np.diff(transitions.indptr))
        leaves = (transitions.indices != problem.row_state[row]) & (transitions.data > 0.0)
        self._row, self._heads = row[leaves], transitions.indices[leaves]
        self._tails = problem.row_state[self._row]
        leaving = np.bincount(self._row, weights=transitions.data[leaves], minlength=problem.num_rows)
        self._leaving: FloatArray = leaving[self._row] if repeated else np.ones(len(self._row))
        self._terms = problem.num_states + int(np.diff(transitions.indptr).max(initial=0))

    def least(self, row_costs: FloatArray) -> FloatArray:
        """For each state the cost of the shortest path; 0 where there is none."""
        found = path_lengths(self._tails, self._heads, self._goals, row_costs[self._row] / self._leaving)
        return np.where(np.isfinite(found), found * max(1.0 - ROUNDING * self._terms, 0.0), 0.0)


class ExpectedCosts:
    """The least expected cost until a goal, but for what value iteration from nothing has not found yet.

    Every sweep gives numbers that no policy is below, and that promise no more than a step and what they
    promise after it, so it may end whenever it likes. It ends when they have settled wherever a goal can be
    reached with certainty; elsewhere they grow for ever. How long a row stays in its state is not waited for:
    it costs as much more.

    Parameters
    ----------
    problem
        The problem.
    """

    def __init__(self, problem: CSSP) -> None:
        counts = np.where(problem.goals, 0, np.diff(problem.row_start))
        # The states with most rows come first, and the first rows of all states before the second ones: so
        # the least of each state's rows is found by comparing long pieces, five times as fast as one by one.
        self._order = np.argsort(-counts, kind="stable")
        place = np.empty(len(counts), dtype=np.int64)
        place[self._order] = np.arange(len(counts))
        ordered, starts = counts[self._order], problem.row_start[:-1][self._order]
        self._having = [int(np.count_nonzero(ordered > rank)) for rank in range(int(counts.max(initial=0)))]
        pieces = [starts[:number] + rank for rank, number in enumerate(self._having)]
        self._rows = np.concatenate([np.zeros(0, dtype=np.int64), *pieces])
        owner = place[problem.row_state[self._rows]]
        steps = problem.transitions[self._rows].tocoo()
        heads = place[steps.col]
        stays = heads == owner[steps.row]
        leaving = np.bincount(steps.row[~stays], weights=steps.data[~stays], minlength=len(self._rows))
        # A row that never leaves is paid again with every sweep.
        used = ~stays | (leaving == 0.0)[steps.row]
        self._leaving: FloatArray = np.where(leaving > 0.0, leaving, 1.0)
        row = steps.row[used]
        self._matrix = csr_array(
            (steps.data[used] / self._leaving[row], (row, heads[used])),
            shape=(len(self._rows), problem.num_states),
        )
        self._certain = almost_sure(problem).states[self._order]
        self._stuck = ~problem.goals[self._order] & (ordered == 0)
        self._terms = 2 + int(np.diff(self._matrix.indptr).max(initial=0))

    def least(self, row_costs: FloatArray) -> FloatArray:
        """For each state a lower bound on the expected costs; finite also where no policy ends."""
        value = np.zeros(len(self._order))
        if not len(self._rows):
            return value
        paid = row_costs[self._rows] / self._leaving
        acting = slice(0, self._having[0])
        certain = self._certain[acting]
        sweeps = 0
        for sweeps in range(1, MAX_VALUE_ITERATIONS + 1):
            least = self._least_rows(paid + self._matrix @ value)
            rise = float(np.max(least - value[acting], where=certain, initial=0.0))
            np.maximum(value[acting], least, out=value[acting])
            # Where nothing can be done any number is right: no policy ends.
            value[self._stuck] = sweeps * float(paid.max())
            if rise <= VALUE_ITERATION_TOLERANCE * float(np.max(least, where=certain, initial=0.0)):
                break
        found = np.empty(len(value))
        found[self._order] = value * max(1.0 - ROUNDING * self._terms * sweeps, 0.0)
        return found

    def _least_rows(self, options: FloatArray) -> FloatArray:
        """The least option of each state that has rows."""
        least: FloatArray = options[: self._having[0]].copy()
        begin = self._having[0]
        for number in self._having[1:]:
            np.minimum(least[:number], options[begin : begin + number], out=least[:number])
            begin += number
        return least


MAX_KEPT = 16
"""The number of weight vectors for which the cost-to-go of the small problem is kept, the last ones."""


class PricedHeuristic(Protocol):
    """A heuristic for weighted costs; :class:`TableHeuristic` is one, and users may write others."""

    def __call__(self, state: Any) -> Any:
        """Lower bounds on each cost-to-go by itself: of one state, or of an array of states."""

    def together(self, weights: FloatArray, states: Any) -> FloatArray:
        """For each of `states`, a lower bound on the weighted cost-to-go under `weights`.

        No policy that ends has a smaller expected sum of its costs to go, each times its weight.

        Parameters
        ----------
        weights
            One for each cost, the primary first; not negative.
        states
            A list of states, or an array of them for a problem in batches.
        """


class TableHeuristic:
    """A heuristic that looks up the values of the states of a small problem.

    It is called with a state and answers with one number for each cost, or with an array of states, one a
    row of whole numbers, and answers with one column for each: it serves both kinds of implicit problems.

    Parameters
    ----------
    problem
        The small problem.
    values
        For each cost and state of it, a lower bound on the cost-to-go.
    project
        From a state of the large problem to the label of one of the small one; for arrays from an array of
        states to an array with a row for each. None if they are the same.
    under
        From the cost of each row of the small problem to lower bounds on the cost-to-go of its states, for
        answers under prices. None if nothing is known but `values`.
    """

    def __init__(
        self,
        problem: CSSP,
        values: FloatArray,
        project: Callable[[Any], Any] | None = None,
        under: Callable[[FloatArray], FloatArray] | None = None,
    ) -> None:
        self._problem = problem
        self._values = values
        self._project = project
        self._under = under
        self._kept: dict[bytes, FloatArray] = {}
        self._numbers: RowNumbers | None = None

    @property
    def num_states(self) -> int:
        """How many states the small problem has."""
        return self._problem.num_states

    def __call__(self, state: Any) -> Any:
        if isinstance(state, np.ndarray):
            return self.of(state)
        small: list[float] = self._values[:, self._found_one(state)].tolist()
        return small

    def of(self, states: Any) -> FloatArray:
        """Lower bounds on each cost-to-go from each of an array of states.

        Raises
        ------
        InvalidProblem
            If the labels of the small problem are not tuples of whole numbers, or there is none like that.
        """
        return self._values[:, self._found(states)]

    def together(self, weights: FloatArray, states: Any) -> FloatArray:
        """As :meth:`PricedHeuristic.together`: the small problem is solved under the weights."""
        key = weights.tobytes()
        known = self._kept.pop(key, None)
        if known is None:
            known = weights @ self._values
            if self._under is not None:
                known = np.maximum(known, self._under(weights @ self._problem.costs))
        self._kept[key] = known
        while len(self._kept) > MAX_KEPT:
            del self._kept[next(iter(self._kept))]
        if isinstance(states, np.ndarray):
            return known[self._found(states)]
        return known[[self._found_one(state) for state in states]]

    def _found_one(self, state: Hashable) -> int:
        label = state if self._project is None else self._project(state)
        number = self._problem.state_index.get(label)
        if number is None:
            raise InvalidProblem(
                [f"state {state!r} projects to {label!r}, which is not a state of the small problem"]
            )
        return number

    def _found(self, states: Any) -> IntArray:
        labels = np.asarray(states if self._project is None else self._project(states), dtype=np.int64)
        labels = labels.reshape(len(states), -1)
        if self._numbers is None:
            self._numbers = _numbered(self._problem, labels.shape[1])
        known = len(self._numbers)
        found = self._numbers.of(labels)
        if len(self._numbers) > known:
            missing = labels[int(np.argmax(found >= known))].tolist()
            self._numbers = None
            raise InvalidProblem(
                [f"a state projects to {tuple(missing)!r}, which is not a state of the small problem"]
            )
        return found


class HighestHeuristic:
    """The maximum of several heuristics; see :func:`highest`."""

    def __init__(self, heuristics: Sequence[PricedHeuristic]) -> None:
        self._heuristics = tuple(heuristics)

    def __call__(self, state: Any) -> Any:
        highest: FloatArray = np.max([np.asarray(each(state)) for each in self._heuristics], axis=0)
        return highest if isinstance(state, np.ndarray) else highest.tolist()

    def together(self, weights: FloatArray, states: Any) -> FloatArray:
        """As :meth:`PricedHeuristic.together`."""
        highest: FloatArray = np.max([each.together(weights, states) for each in self._heuristics], axis=0)
        return highest


def shortest_paths(problem: CSSP, project: Callable[[Any], Any] | None = None) -> TableHeuristic:
    """The least costs to go if one could choose what happens; a heuristic for the problem and all it allows.

    Parameters
    ----------
    problem
        A problem that is enumerated; the costs have the order of the large one's.
    project
        From a state of the large problem to the label of one of this; None if they are the same.
    """
    paths = ShortestPaths(problem, repeated=project is None)
    values = np.array([paths.least(cost) for cost in problem.costs])
    return TableHeuristic(problem, values, project, paths.least)


def expected_costs(problem: CSSP, project: Callable[[Any], Any] | None = None) -> TableHeuristic:
    """The least expected costs to go; a heuristic for the problem and all it allows with the same chances.

    Parameters
    ----------
    problem
        A problem that is enumerated; the costs have the order of the large one's.
    project
        From a state of the large problem to the label of one of this; None if they are the same. Whatever
        can be done in a state of the large problem can then be done where it projects to, in one step or
        several, for no more of any cost: it leads with the same probabilities to where its next states
        project to, and goals project to goals. How probable it is to stay in a state counts as well.
    """
    expected = ExpectedCosts(problem)
    values = np.array([expected.least(cost) for cost in problem.costs])
    return TableHeuristic(problem, values, project, expected.least)


def highest(*heuristics: PricedHeuristic) -> HighestHeuristic:
    """The maximum of several heuristics, for each cost and for weighted costs.

    Parameters
    ----------
    heuristics
        At least one, each for all the costs of the large problem.

    Raises
    ------
    InvalidProblem
        If there is none.
    """
    if not heuristics:
        raise InvalidProblem(["highest() needs at least one heuristic; give some, or none to the problem"])
    return HighestHeuristic(heuristics)


def _numbered(problem: CSSP, width: int) -> RowNumbers:
    """The labels of a problem, numbered as its states are."""
    numbers = RowNumbers(width)
    try:
        labels = np.array(list(problem.state_labels), dtype=np.int64)
        numbers.of(labels.reshape(problem.num_states, width))
    except (TypeError, ValueError) as error:
        raise InvalidProblem(
            [f"the labels of the small problem are not tuples of {width} whole numbers; ask state by state"]
        ) from error
    return numbers
