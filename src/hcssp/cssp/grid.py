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

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, hstack

from hcssp.cssp.labels import JoinedLabels, RepeatedNames, TupleLabels
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray, SparseMatrix
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy
from hcssp.cssp.validation import bound_array, capped, unknown_cost, violations
from hcssp.errors import InvalidProblem, Located
from hcssp.numerics import PROBABILITY_TOLERANCE

Cell = tuple[int, int]
"""Column and row."""

Rectangle = tuple[int, int, int, int]
"""Column and row of the top-left cell, width and height."""

WALL, FREE, START, GOAL = "#", ".", "S", "G"
_MOST_VIOLATIONS = 10


@dataclass(frozen=True)
class Drawing:
    """The content of an ASCII map; cells count from the wall ring, which is column 0 and row 0."""

    width: int
    height: int
    walls: tuple[Rectangle, ...]
    hazards: dict[str, tuple[Rectangle, ...]]
    starts: tuple[Cell, ...]
    goals: tuple[Cell, ...]
    places: dict[str, tuple[Cell, ...]] = field(default_factory=dict)


def read_map(
    text: str | Sequence[str], hazards: Collection[str] = (), places: Collection[str] = ()
) -> Drawing:
    """Read an ASCII map.

    The legend: ``#`` is a wall, ``.`` free, ``S`` a start, ``G`` a goal, and any other character a hazard or
    a place that the caller names. If the outermost characters are all walls, starts, goals or places, they
    are the wall ring with its openings; otherwise the map shows the interior alone, and the ring around it is
    closed.

    >>> drawing = read_map('''
    ... #####
    ... S.~.#
    ... #.~.G
    ... #####
    ... ''', {"~"})
    >>> drawing.width, drawing.height, drawing.starts, drawing.goals
    (3, 2, ((0, 1),), ((4, 2),))
    >>> drawing.hazards
    {'~': ((2, 1, 1, 2),)}

    Parameters
    ----------
    text
        The map, or its lines; space around it and around each line does not matter.
    hazards, places
        The characters that draw hazards and places.

    Raises
    ------
    InvalidProblem
        If lines differ in length or a character has no meaning. Each violation knows the line, counted
        from 0 in what was given.
    """
    given = [line.strip() for line in (text.split("\n") if isinstance(text, str) else text)]
    drawn = [number for number, line in enumerate(given) if line]
    if not drawn:
        raise InvalidProblem(["the map is empty"])
    lines = given[drawn[0] : drawn[-1] + 1]
    found = list(capped(_violations(lines, drawn[0], {*hazards, *places}), _MOST_VIOLATIONS))
    if found:
        raise InvalidProblem(found)
    ring = {*lines[0], *lines[-1], *(line[0] for line in lines), *(line[-1] for line in lines)}
    if min(len(lines), len(lines[0])) < 3 or not ring <= {WALL, START, GOAL, *places}:
        closed = WALL * (len(lines[0]) + 2)
        lines = [closed, *(WALL + line + WALL for line in lines), closed]
    height, width = len(lines) - 2, len(lines[0]) - 2
    interior = [line[1:-1] for line in lines[1:-1]]
    hazardous = sorted(set("".join(interior)) & set(hazards))
    return Drawing(
        width=width,
        height=height,
        walls=_rectangles(interior, WALL),
        hazards={letter: _rectangles(interior, letter) for letter in hazardous},
        starts=_cells(lines, START),
        goals=_cells(lines, GOAL),
        places={letter: _cells(lines, letter) for letter in places},
    )


def _violations(lines: list[str], before: int, named: set[str]) -> Iterator[Located]:
    known = {WALL, FREE, START, GOAL, *named}
    for number, line in enumerate(lines):
        unknown = set(line) - known
        place = f"line {number + 1}"
        if len(line) != len(lines[0]):
            text = f"this line of the map has {len(line)} characters, but the first has {len(lines[0])}"
        elif unknown:
            text = (
                f"{min(unknown)!r} in the map has no meaning; it must be '#', '.', 'S', 'G', "
                "a hazard or a place of the grid"
            )
            place += f", character {line.index(min(unknown)) + 1}"
        else:
            continue
        yield Located((before + number,), text, place)


def _cells(lines: list[str], letter: str) -> tuple[Cell, ...]:
    return tuple(
        (column, row)
        for row, line in enumerate(lines)
        if letter in line
        for column, character in enumerate(line)
        if character == letter
    )


def _rectangles(interior: list[str], letter: str) -> tuple[Rectangle, ...]:
    """Cover the cells drawn as `letter` with disjoint rectangles: runs, joined with equal runs below."""
    closed: list[Rectangle] = []
    # From the column and width of a run to the row where its rectangle began.
    open_runs: dict[tuple[int, int], int] = {}
    for row, line in enumerate([*interior, ""], start=1):
        runs = _runs(line, letter)
        for (column, width), top in list(open_runs.items()):
            if (column, width) not in runs:
                closed.append((column, top, width, row - top))
                del open_runs[column, width]
        for run in runs:
            open_runs.setdefault(run, row)
    return tuple(closed)


def _runs(line: str, letter: str) -> set[tuple[int, int]]:
    runs = set()
    column = 0
    while (column := line.find(letter, column)) >= 0:
        end = column
        while end < len(line) and line[end] == letter:
            end += 1
        runs.add((column + 1, end - column))
        column = end
    return runs


@dataclass(frozen=True)
class Hazard:
    """A rectangle of interior cells, and the additional costs of every step from one of them.

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
        The primary cost, then the secondary ones. By default "time" and the names in steps and hazards.
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
        """A grid world from an ASCII map; see :func:`read_map` for the legend.

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
        """The exits that are not cells, in the order in which they are named; they are the last states."""
        return tuple(
            dict.fromkeys([*self.exits, *(name for hazard in self.hazards for name in hazard.exits)])
        )

    @cached_property
    def exit_probabilities(self) -> FloatArray:
        """The probability that a step ends in each exit: ``[exit, row, column]``, the wall ring included.

        Those of a cell's hazards add up; the rest is a step as without them.
        """
        found = np.zeros((len(self.exit_names), self.height + 2, self.width + 2))
        for position, name in enumerate(self.exit_names):
            found[position] = self.exits.get(name, 0.0)
            for hazard in self.hazards:
                column, row, width, height = hazard.rectangle
                found[position, row : row + height, column : column + width] += hazard.exits.get(name, 0.0)
        return found

    @property
    def step_costs(self) -> Mapping[str, float]:
        """The costs of every step, by name."""
        if isinstance(self.step_cost, Mapping):
            return self.step_cost
        return {self.cost_names[0]: self.step_cost}

    def cell_costs(self, name: str) -> FloatArray:
        """The costs of a step from each cell, ``[row, column]``, the wall ring included."""
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
            chances = self.exit_probabilities[:, rows, columns].T
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
            text = f"left and right sum to {left + right:.10g}, which is more than 1"
            yield Located(("slip",), text if two else f"{self.slip} is not a probability between 0 and 1")
        yield from self._rectangles_outside("walls", self.walls)
        outside = [*self._rectangles_outside("hazards", [hazard.rectangle for hazard in self.hazards])]
        yield from outside
        if self.exit_names and not outside:
            yield from self._exit_violations()
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

    def _exit_violations(self) -> Iterator[Located]:
        """What is wrong with the exits if all rectangles lie inside."""
        named: dict[tuple[str | int, ...], Mapping[str, float]] = {("exits",): self.exits}
        named |= {("hazards", at, "exits"): hazard.exits for at, hazard in enumerate(self.hazards)}
        wrong = [
            Located((*at, name), f"{probability} is not a probability between 0 and 1")
            for at, given in named.items()
            for name, probability in given.items()
            if not 0.0 <= probability <= 1.0
        ]
        yield from wrong
        total = self.exit_probabilities.sum(axis=0)
        row, column = np.unravel_index(int(np.argmax(total)), total.shape)
        if wrong or total[row, column] <= 1.0 + PROBABILITY_TOLERANCE:
            return
        covering = [
            at
            for at, hazard in enumerate(self.hazards)
            if hazard.exits
            and hazard.column <= column < hazard.column + hazard.width
            and hazard.row <= row < hazard.row + hazard.height
        ]
        place: tuple[str | int, ...] = ("hazards", covering[-1], "exits") if covering else ("exits",)
        text = f"the probabilities of the exits at [{column}, {row}] sum to {total[row, column]:.10g}"
        yield Located(place, f"{text}, which is more than 1")

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


@dataclass(frozen=True, eq=False)
class PlacedGrid(GridWorld):
    """A grid world for the pictures of a problem with any number of states in a cell.

    >>> room = GridWorld(width=2, height=1, start=(1, 1), goal=(2, 1))
    >>> placed = PlacedGrid.on(room, np.array([[1, 1], [2, 1], [1, 1]]))
    >>> placed.cells.tolist(), placed.width
    ([[1, 1], [2, 1], [1, 1]], 2)
    """

    places: IntArray = field(kw_only=True)

    @classmethod
    def on(cls, world: GridWorld, places: IntArray) -> PlacedGrid:
        """The same grid with a cell, its column and row, for every state of a problem.

        States for which there is none are exits of the grid, and lie where its goal does.
        """
        given = {each.name: getattr(world, each.name) for each in fields(GridWorld)}
        return cls(**given, places=np.asarray(places, dtype=np.int64))

    @cached_property
    def cells(self) -> IntArray:
        """The column and row of every state."""
        return self.places


# Steps: where each of the four directions leads from every cell.

DIRECTIONS = ("north", "east", "south", "west")
"""The actions in every cell, clockwise, so that a neighbour in the list is a side."""

_STEPS = ((0, -1), (1, 0), (0, 1), (-1, 0))
# States are numbered row by row, so neighbours in this order (4 is the cell itself) have increasing
# numbers, and the transition matrix is born sorted.
_IN_ORDER = (0, 3, 4, 1, 2)


def step_transitions(
    cells: IntArray, states: IntArray, acting: IntArray, left: float, right: float
) -> csr_array:
    """Transitions of the states `acting`, four rows each.

    Parameters
    ----------
    cells
        The column and row of every state.
    states
        The number of each cell's state, -1 in walls; one cell wider all around than the wall ring.
    acting
        The states that are no goals.
    left, right
        The probabilities of slipping to either side.
    """
    columns, rows = cells[acting].T
    neighbours = [states[rows + 1 + down, columns + 1 + across] for across, down in _STEPS]
    open_to = [neighbour >= 0 for neighbour in neighbours]
    # For each action, three neighbours and the cell itself; entries of zero are left out below.
    indices = np.empty((len(acting), 4, 4), dtype=np.int32)
    data = np.empty((len(acting), 4, 4))
    for action in range(4):
        chance = {action: 1.0 - left - right, (action - 1) % 4: left, (action + 1) % 4: right}
        slots = [direction for direction in _IN_ORDER if direction == 4 or direction in chance]
        stays = np.zeros(len(acting))
        for slot, direction in enumerate(slots):
            if direction != 4:
                indices[:, action, slot] = neighbours[direction]
                data[:, action, slot] = chance[direction] * open_to[direction]
                stays += chance[direction] * ~open_to[direction]
        own = slots.index(4)
        indices[:, action, own] = acting
        data[:, action, own] = stays
    possible = data > 0.0
    starts = np.zeros(4 * len(acting) + 1, dtype=np.int32)
    np.cumsum(sum(possible[:, :, slot].ravel() for slot in range(4)), dtype=np.int32, out=starts[1:])
    shape = (4 * len(acting), len(cells))
    return csr_array((data[possible], indices[possible], starts), shape=shape)


def with_exits(transitions: SparseMatrix, probabilities: FloatArray) -> SparseMatrix:
    """Transitions to cells, and behind them to exits, of which `probabilities` has a column each."""
    # Three thirds may sum to a little more than one.
    staying = np.maximum(1.0 - probabilities.sum(axis=1), 0.0)
    data = transitions.data * np.repeat(staying, np.diff(transitions.indptr))
    inside = csr_array((data, transitions.indices, transitions.indptr), shape=transitions.shape)
    joined = csr_array(hstack([inside, csr_array(probabilities)]))
    joined.eliminate_zeros()
    joined.sort_indices()
    return joined


_ARROWS = dict(zip(DIRECTIONS, "↑→↓←", strict=True))
_HAZARDOUS_ARROWS = dict(zip(DIRECTIONS, "⇑⇒⇓⇐", strict=True))


def render_policy(grid: GridWorld, policy: DeterministicPolicy) -> str:
    r"""Draw `policy` as arrows on the map of `grid`.

    ``#`` is a wall and ``G`` a goal; an arrow is where the policy heads, a double arrow the same from a
    hazardous cell; in states without an action, ``·`` is free and ``~`` hazardous.

    >>> from hcssp.cssp.policy import DeterministicPolicy, NO_ROW
    >>> world = GridWorld.from_map("S~G\n...", hazards={"~": {"damage": 1.0}})
    >>> problem = world.to_cssp()
    >>> rows = np.array([1, 5, NO_ROW, NO_ROW, NO_ROW, NO_ROW])  # east, east
    >>> print(render_policy(world, DeterministicPolicy(problem, rows)))
    #####
    #→⇒G#
    #···#
    #####

    Parameters
    ----------
    grid
        The grid world.
    policy
        A policy of the problem made from it, or of one whose states still carry its cells as labels.
    """
    problem = policy.problem
    hazardous = np.zeros(grid.free.shape, dtype=np.bool_)
    for hazard in grid.hazards:
        column, row, width, height = hazard.rectangle
        hazardous[row : row + height, column : column + width] = True
    canvas = np.where(grid.free, np.where(hazardous, "~", "·"), "#")
    for state in np.flatnonzero(policy.rows != NO_ROW).tolist():
        label, action = problem.state_labels[state], problem.action_labels[int(policy.rows[state])]
        # States and actions that are not of the grid (giving up, say) have no arrow.
        if isinstance(label, tuple) and isinstance(action, str) and action in _ARROWS:
            column, row = label
            arrows = _HAZARDOUS_ARROWS if hazardous[row, column] else _ARROWS
            canvas[row, column] = arrows[action]
    for column, row in grid.goals:
        canvas[row, column] = "G"
    return "\n".join("".join(line) for line in canvas.tolist())
