r"""Heuristics for implicit problems, made from small ones: what is to come at least, of each cost.

An :class:`~hcssp.cssp.implicit.ImplicitCSSP` asks for numbers :math:`h_k(s)` that no policy's expected
:math:`k`-th cost to go from :math:`s` is below. Two sources:

**Shortest paths.** If one could choose which outcome happens, a shortest path would do: its cost is never
above an expected one. :func:`shortest_paths` computes it for all states of a problem that is small enough to
be enumerated.

**Projections.** A small problem that allows all that the large one does, for no more, serves the large one: a
coarser grid, a track without speeds, a household of which only one room is looked at. With `project`, a state
of the large problem has the heuristic of the state of the small one that it projects to. If every possible
step of the large problem projects to a possible step of the small one (or to none, within one state) that
costs no more of anything, its shortest paths are heuristics of the large one. Nobody can check that without
enumerating the large problem; ``consistent=True`` checks what is expanded.

>>> from hcssp.cssp.builder import CSSPBuilder
>>> small = CSSPBuilder(cost_names=("time", "damage"))
>>> far, near, out = small.add_state("far"), small.add_state("near"), small.add_goal("out")
>>> _ = small.add_action(far, "run", to={near: 0.9, far: 0.1}, costs={"time": 1.0, "damage": 1.0})
>>> _ = small.add_action(near, "run", to={out: 0.5, far: 0.5}, costs={"time": 2.0})
>>> rooms = shortest_paths(small.build())
>>> [round(value, 6) for value in rooms("far")]
[3.111111, 1.111111]
>>> halves = shortest_paths(small.build(), project=lambda cell: "far" if cell > 10 else "near")
>>> [round(value, 6) for value in halves(17)]
[3.0, 1.0]
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from hcssp.cssp.model import CSSP, FloatArray
from hcssp.cssp.state_numbers import RowNumbers
from hcssp.errors import InvalidProblem

ROUNDED_DOWN = 1.0 - 1e-12
"""Sums of costs are lowered by this factor, so that rounding makes none too high."""


class TableHeuristic:
    """A heuristic that looks up what is known of the states of a small problem.

    It is called with a state and answers with one number for each cost; :meth:`of` takes many states at once,
    as :meth:`ImplicitCSSP.in_batches <hcssp.cssp.implicit.ImplicitCSSP.in_batches>` does.

    Parameters
    ----------
    problem
        The small problem.
    values
        For each cost and state of it, what is to come at least.
    project
        From a state of the large problem to the label of one of the small one; for :meth:`of` from an array
        of states to an array with a row for each. None if they are the same.
    """

    def __init__(
        self, problem: CSSP, values: FloatArray, project: Callable[[Any], Any] | None = None
    ) -> None:
        self._problem = problem
        self._values = values
        self._project = project
        self._numbers: RowNumbers | None = None

    def __call__(self, state: Hashable) -> list[float]:
        label = state if self._project is None else self._project(state)
        number = self._problem.state_index.get(label)
        if number is None:
            raise InvalidProblem(
                [f"state {state!r} projects to {label!r}, which is no state of the small problem"]
            )
        small: list[float] = self._values[:, number].tolist()
        return small

    def of(self, states: Any) -> FloatArray:
        """What is to come at least, of each cost, from each of an array of states.

        Raises
        ------
        InvalidProblem
            If the labels of the small problem are not tuples of whole numbers, or there is none like that.
        """
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
                [f"a state projects to {tuple(missing)!r}, which is no state of the small problem"]
            )
        return self._values[:, found]


def shortest_paths(problem: CSSP, project: Callable[[Any], Any] | None = None) -> TableHeuristic:
    """The least costs to go if one could choose what happens; a heuristic for the problem and all it allows.

    Parameters
    ----------
    problem
        A problem that is enumerated; the costs have the order of the large one's.
    project
        From a state of the large problem to the label of one of this; None if they are the same.
    """
    return TableHeuristic(problem, _least(problem, project is None), project)


def _least(problem: CSSP, repeated: bool) -> FloatArray:
    """For each cost, shortest paths by sweeps from the goals; 0 where no goal can be reached.

    Parameters
    ----------
    problem
        The problem.
    repeated
        Whether a row that may stay is paid until it leaves. Not for a projection, of which only what is
        possible is known, and not how probable it is.
    """
    values = np.where(problem.goals, 0.0, np.inf) * np.ones((len(problem.costs), 1))
    if not problem.num_rows:
        return np.zeros(values.shape)
    transitions = problem.transitions
    row = np.repeat(np.arange(problem.num_rows), np.diff(transitions.indptr))
    leaves = (transitions.indices != problem.row_state[row]) & (transitions.data > 0.0)
    row, heads = row[leaves], transitions.indices[leaves]
    leaving = np.bincount(row, weights=transitions.data[leaves], minlength=problem.num_rows)
    moving, starts = np.unique(row, return_index=True)
    owner = problem.row_state[moving]
    begins = np.flatnonzero(np.diff(owner, prepend=-1))
    for cost, value in zip(problem.costs, values, strict=True):
        paid = cost[moving] / leaving[moving] if repeated else cost[moving]
        while len(moving):
            least = np.minimum.reduceat(paid + np.minimum.reduceat(value[heads], starts), begins)
            if not np.any(least < value[owner[begins]]):
                break
            value[owner[begins]] = np.minimum(least, value[owner[begins]])
    return np.where(np.isfinite(values), values * ROUNDED_DOWN, 0.0)


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
