r"""A grid world: a room with walls, hazards and openings, where every step may slip to either side.

Cells are ``(column, row)``. The interior is columns ``1..width`` and rows ``1..height``, row 1 at the
top, and a ring of wall surrounds it (column 0 or ``width + 1``, row 0 or ``height + 1``). A start or a
goal in the ring is an opening. The states are the free interior cells and the openings.

A step goes as intended or slips 90 degrees to a side; a step into a wall stays where it is. Every step
costs `step_cost`, and a step taken *from* a hazardous cell costs what the hazard says besides; where
hazards overlap their costs add up. A step may also fail: with the probabilities of `exits`, and those of the
hazards where it is taken, it ends in an exit, which is a goal of the problem and called by its name.

>>> room = GridWorld(width=3, height=2, start=(0, 1), goal=(4, 2), slip=0.2,
...                  hazards=[Hazard(2, 1, 1, 1, {"damage": 50.0})], bounds={"damage": 5.0})
>>> problem = room.to_cssp()
>>> problem.num_states, problem.num_rows, problem.cost_names
(8, 28, ('time', 'damage'))
>>> east = problem.state_index[0, 1] * 4 + 1
>>> problem.action_labels[east], problem.transitions[[east]].toarray().round(3).tolist()
('east', [[0.2, 0.8, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]])

The same room as a map:

>>> drawn = GridWorld.from_map('''
... #####
... S.~.#
... #...G
... #####
... ''', hazards={"~": {"damage": 50.0}}, slip=0.2)
>>> (drawn.to_cssp().transitions != problem.transitions).nnz
0
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hcssp.cssp.grid_exits import exit_names, exit_probabilities, exit_violations, with_exits
from hcssp.cssp.grid_map import Cell, Drawing, Rectangle, read_map
from hcssp.cssp.grid_steps import DIRECTIONS, step_transitions
from hcssp.cssp.labels import JoinedLabels, RepeatedNames, TupleLabels
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray, SparseMatrix
from hcssp.cssp.validation import bound_array, unknown_cost, violations
from hcssp.errors import InvalidProblem, Located


@dataclass(frozen=True)
class Hazard:
    """A rectangle of interior cells, and what every step from one of them costs besides.

    With the probabilities of `exits` such a step ends in an exit, by name, and not in a cell.
    """

    column: int
    row: int
    width: int
    height: int
    costs: Mapping[str, float]
    exits: Mapping[str, float] = field(default_factory=dict)

    @property
    def rectangle(self) -> Rectangle:
        return self.column, self.row, self.width, self.height


def drawn_hazards(
    drawing: Drawing,
    legend: Mapping[str, Mapping[str, float]],
    exits: Mapping[str, Mapping[str, float]] | None = None,
) -> tuple[Hazard, ...]:
    """The hazards of a map, whose characters have the costs of `legend` and lead to `exits`."""
    return tuple(
        Hazard(*rectangle, legend.get(letter, {}), (exits or {}).get(letter, {}))
        for letter, rectangles in drawing.hazards.items()
        for rectangle in rectangles
    )


@dataclass(frozen=True, eq=False)
class GridWorld:
    """A grid world, kept for pictures; :meth:`to_cssp` gives the problem.

    Attributes
    ----------
    width, height
        The size of the interior.
    start
        A cell, or a mapping from cells to initial probabilities.
    goal
        A cell or several.
    walls
        Rectangles ``(column, row, width, height)`` of interior cells.
    hazards
        Rectangles of interior cells with the costs of every step from them.
    slip
        The probability of slipping, half of it to either side; or a pair, to the left and right.
    step_cost
        The primary cost of every step; or several costs of it, by name.
    cost_names
        The primary cost, then the secondary ones. By default "time" and what the steps and hazards name.
    bounds
        Upper bounds on secondary costs, by name.
    exits
        With what probability any step ends in an exit, by name.
    """

    width: int
    height: int
    start: Cell | Mapping[Cell, float]
    goal: Cell | Sequence[Cell]
    walls: Sequence[Rectangle] = ()
    hazards: Sequence[Hazard] = ()
    slip: float | tuple[float, float] = 0.0
    step_cost: float | Mapping[str, float] = 1.0
    cost_names: tuple[str, ...] = ()
    bounds: Mapping[str, float] = field(default_factory=dict)
    exits: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.cost_names:
            steps = self.step_cost if isinstance(self.step_cost, Mapping) else ()
            named = (*steps, *(name for hazard in self.hazards for name in hazard.costs))
            object.__setattr__(self, "cost_names", tuple(dict.fromkeys(["time", *named])))
        found = list(self._violations())
        if found:
            raise InvalidProblem(found)

    @classmethod
    def from_map(
        cls,
        text: str,
        hazards: Mapping[str, Mapping[str, float]] | None = None,
        *,
        slip: float | tuple[float, float] = 0.0,
        step_cost: float | Mapping[str, float] = 1.0,
        cost_names: tuple[str, ...] = (),
        bounds: Mapping[str, float] | None = None,
        exits: Mapping[str, float] | None = None,
        hazard_exits: Mapping[str, Mapping[str, float]] | None = None,
    ) -> GridWorld:
        """A grid world from an ASCII map; see :mod:`hcssp.cssp.grid_map` for the legend.

        Parameters
        ----------
        text
            The map. Several ``S`` are equally probable starts, several ``G`` are all goals.
        hazards
            From characters of the map to the costs of every step from there.
        slip, step_cost, cost_names, bounds, exits
            As in the class.
        hazard_exits
            From characters of the map to the exits in which the steps from there may end, with probabilities.
        """
        legend, failing = hazards or {}, hazard_exits or {}
        drawing = read_map(text, {*legend, *failing})
        missing = [
            f"the map has no {what}; draw at least one {letter!r}"
            for what, letter, cells in (("start", "S", drawing.starts), ("goal", "G", drawing.goals))
            if not cells
        ]
        if missing:
            raise InvalidProblem(missing)
        return cls(
            width=drawing.width,
            height=drawing.height,
            start={cell: 1.0 / len(drawing.starts) for cell in drawing.starts},
            goal=drawing.goals,
            walls=drawing.walls,
            hazards=drawn_hazards(drawing, legend, failing),
            slip=slip,
            step_cost=step_cost,
            cost_names=cost_names,
            bounds=bounds or {},
            exits=exits or {},
        )

    @cached_property
    def starts(self) -> Mapping[Cell, float]:
        """The initial cells with their probabilities."""
        return self.start if isinstance(self.start, Mapping) else {self.start: 1.0}

    @cached_property
    def goals(self) -> tuple[Cell, ...]:
        """The goal cells."""
        first = self.goal[0] if len(self.goal) else ()
        # One cell is a pair of numbers, several are a sequence of pairs.
        return tuple(self.goal) if isinstance(first, tuple) else (self.goal,)  # type: ignore[arg-type, return-value]

    @cached_property
    def free(self) -> BoolArray:
        """Which cells can be entered: ``free[row, column]``, the wall ring included."""
        free = np.zeros((self.height + 2, self.width + 2), dtype=np.bool_)
        free[1:-1, 1:-1] = True
        for column, row, width, height in self.walls:
            free[row : row + height, column : column + width] = False
        for column, row in (*self.starts, *self.goals):
            free[row, column] = True
        return free

    @cached_property
    def cells(self) -> IntArray:
        """The column and row of every state but the exits, which follow them, shape ``(num_cells, 2)``."""
        rows, columns = np.nonzero(self.free)
        return np.column_stack((columns, rows)).astype(np.int64)

    @cached_property
    def exit_names(self) -> tuple[str, ...]:
        """The exits, which are the last states."""
        return exit_names(self.exits, self.hazards)

    @property
    def step_costs(self) -> Mapping[str, float]:
        """What every step costs, by name."""
        if isinstance(self.step_cost, Mapping):
            return self.step_cost
        return {self.cost_names[0]: self.step_cost}

    def cell_costs(self, name: str) -> FloatArray:
        """What a step from each cell costs, ``[row, column]``, the wall ring included."""
        costs = np.full(self.free.shape, self.step_costs.get(name, 0.0), dtype=np.float64)
        for hazard in self.hazards:
            column, row, width, height = hazard.rectangle
            costs[row : row + height, column : column + width] += hazard.costs.get(name, 0.0)
        return costs

    def to_cssp(self) -> CSSP:
        """The problem: labels are cells and directions, and the names of exits.

        Raises
        ------
        InvalidProblem
            If probabilities, costs or bounds break a rule.
        """
        cells, states, exits = self.cells, self._states, self.exit_names
        num_states = len(cells) + len(exits)
        goals = np.arange(num_states) >= len(cells)
        goals[[states[row + 1, column + 1] for column, row in self.goals]] = True
        initial = np.zeros(num_states)
        for (column, row), probability in self.starts.items():
            initial[states[row + 1, column + 1]] += probability
        acting = np.flatnonzero(~goals)
        row_start = np.zeros(num_states + 1, dtype=np.int64)
        np.cumsum(np.where(goals, 0, len(DIRECTIONS)), out=row_start[1:])
        columns, rows = cells[acting].T
        costs = np.array([self.cell_costs(name)[rows, columns] for name in self.cost_names])
        transitions: SparseMatrix = step_transitions(cells, states, acting, *self._slips)
        labels: Sequence[Hashable] = TupleLabels(cells)
        if exits:
            chances = exit_probabilities(self.free.shape, self.exits, self.hazards)[:, rows, columns].T
            transitions = with_exits(transitions, np.repeat(chances, len(DIRECTIONS), axis=0))
            labels = JoinedLabels(labels, exits)
        found: list[str] = []
        problem = CSSP.unchecked(
            transitions=transitions,
            row_start=row_start,
            costs=np.repeat(costs, len(DIRECTIONS), axis=1),
            initial=initial,
            goals=goals,
            cost_names=self.cost_names,
            bounds=bound_array(self.bounds, self.cost_names, found),
            state_labels=labels,
            action_labels=RepeatedNames(DIRECTIONS, np.tile(np.arange(len(DIRECTIONS)), len(acting))),
            world=self,
        )
        found += violations(problem)
        if found:
            raise InvalidProblem(found)
        return problem

    @cached_property
    def _states(self) -> IntArray:
        """The number of each cell's state, -1 in walls; one cell wider all around than the ring."""
        states = np.full((self.height + 4, self.width + 4), -1, dtype=np.int64)
        states[1:-1, 1:-1][self.free] = np.arange(np.count_nonzero(self.free))
        return states

    @property
    def _slips(self) -> tuple[float, float]:
        """The probabilities of slipping to the left and to the right."""
        return self.slip if isinstance(self.slip, tuple) else (self.slip / 2, self.slip / 2)

    def _violations(self) -> Iterator[str]:
        """What breaks a rule, each with the way to it from here."""
        if self.width < 1 or self.height < 1:
            yield f"the grid is {self.width} wide and {self.height} high; both must be at least 1"
            return
        left, right = self._slips
        if not (left >= 0.0 and right >= 0.0 and left + right <= 1.0):
            two = isinstance(self.slip, tuple) and min(left, right) >= 0.0
            told = f"left and right sum to {left + right:.10g}, which is more than 1"
            yield Located(("slip",), told if two else f"{self.slip} is not a probability between 0 and 1")
        yield from self._rectangles_outside("walls", self.walls)
        outside = [*self._rectangles_outside("hazards", [hazard.rectangle for hazard in self.hazards])]
        yield from outside
        if self.exit_names and not outside:
            yield from exit_violations(self.exits, self.hazards, (self.height + 2, self.width + 2))
        costs: dict[tuple[str | int, ...], Mapping[str, float]] = {("step_cost",): self.step_costs}
        costs |= {("hazards", number, "costs"): hazard.costs for number, hazard in enumerate(self.hazards)}
        for at, named in costs.items():
            for name in named:
                if name not in self.cost_names:
                    yield Located((*at, name), unknown_cost(name, self.cost_names))
        for what, cells, several in (
            ("start", tuple(self.starts), isinstance(self.start, Mapping)),
            ("goal", self.goals, self.goals != (self.goal,)),
        ):
            for number, cell in enumerate(cells):
                problem = self._cell_problem(cell)
                if problem is not None:
                    yield Located((what, number) if several else (what,), problem)

    def _rectangles_outside(self, what: str, rectangles: Sequence[Rectangle]) -> Iterator[Located]:
        # All at once, since a map may be drawn with very many walls.
        array = np.array(rectangles, dtype=np.int64).reshape(-1, 4)
        column, row, width, height = array.T
        across = (column >= 1) & (width >= 1) & (column + width <= self.width + 1)
        down = (row >= 1) & (height >= 1) & (row + height <= self.height + 1)
        for number in np.flatnonzero(~(across & down)).tolist():
            yield Located(
                (what, number),
                f"the rectangle {array[number].tolist()} does not lie inside; columns go from 1 to "
                f"{self.width} and rows from 1 to {self.height}",
            )

    def _cell_problem(self, cell: Cell) -> str | None:
        """Why a cell cannot be a start or a goal, if so."""
        column, row = cell
        shown = f"[{column}, {row}]"
        right, bottom = self.width + 1, self.height + 1
        if not (0 <= column <= right and 0 <= row <= bottom):
            return (
                f"{shown} lies outside of the grid; columns go from 0 to {right} and rows from 0 to "
                f"{bottom}, the wall around it included"
            )
        if column in (0, right) and row in (0, bottom):
            return f"{shown} is a corner of the wall around the grid, where no step leads"
        walls = np.array(self.walls, dtype=np.int64).reshape(-1, 4)
        inside = (walls[:, 0] <= column) & (column < walls[:, 0] + walls[:, 2])
        inside &= (walls[:, 1] <= row) & (row < walls[:, 1] + walls[:, 3])
        if inside.any():
            return f"{shown} lies in the wall {walls[inside.argmax()].tolist()}; move one of them"
        return None
