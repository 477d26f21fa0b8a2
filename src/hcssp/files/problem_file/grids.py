"""A grid of a problem file: a room by its size and rectangles, or drawn as a map.

What makes a room sound is known to :class:`~hcssp.cssp.grid.GridWorld`; here its violations get their lines.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hcssp.cssp.grid import DIRECTIONS, Cell, Drawing, GridWorld, Hazard, Rectangle, drawn_hazards, read_map
from hcssp.cssp.model import CSSP, FloatArray
from hcssp.errors import InvalidProblem, Located, did_you_mean
from hcssp.files.problem_file.format import Target
from hcssp.files.problem_file.grid_format import DrawnGrid, ListedGrid, Rectangles, Sides
from hcssp.files.problem_file.source import Limits
from hcssp.files.problem_file.tree import Field, Scalar

TRANSITIONS_OF_A_CELL = 16

Places = dict[tuple[str | int, ...], Field]
"""Where the file says the parts of a grid."""


@dataclass(frozen=True, eq=False)
class GridModel:
    """A room without a start and a goal: these are the activity's.

    Attributes
    ----------
    room
        The grid, which starts and ends nowhere.
    places
        Cells by the names that the file gives them.
    starts, goals
        The cells that a map draws as ``S`` and ``G``; empty if it draws none.
    capacities
        The last of the room's costs, which are only used up.
    """

    room: GridWorld
    places: Mapping[str, tuple[Cell, ...]] = field(default_factory=dict)
    starts: tuple[Cell, ...] = ()
    goals: tuple[Cell, ...] = ()
    capacities: tuple[str, ...] = ()

    @property
    def cost_names(self) -> tuple[str, ...]:
        return real_costs(self.room.cost_names, self.capacities)

    @property
    def identity(self) -> tuple[Hashable, ...]:
        """What two models share if they make the same of the same start and goal: a grid is only itself."""
        return (id(self),)

    @property
    def num_states(self) -> int:
        """How many states there are at most."""
        return self.room.width * self.room.height

    @property
    def num_transitions(self) -> int:
        """How many transitions there are at most."""
        return TRANSITIONS_OF_A_CELL * self.num_states

    @property
    def ends_by_itself(self) -> bool:
        """Whether an activity need not say where it ends."""
        return bool(self.goals or self.room.exit_names)

    def find(self, target: Target, where: Field) -> tuple[Cell | str, ...]:
        """The cells of a target, or the exit; none, and a mistake noted, if there is no such place."""
        if isinstance(target, str):
            if target in self.room.exit_names:
                return (target,)
            if target not in self.places:
                known = did_you_mean(target, [*self.places, *self.room.exit_names])
                where.wrong(f"there is no place {target!r} in the grid; {known}")
            return self.places.get(target, ())
        if len(target) != 2:
            where.wrong(f"{list(target)} is not a cell; write [column, row]")
            return ()
        column, row = target
        return ((column, row),)

    def exits(self, goals: tuple[Cell | str, ...]) -> dict[str, tuple[Hashable, ...]]:
        """What outcomes may call the ends of an activity, and the labels that are meant."""
        named = {"G": self.goals, **self.places} if self.goals else self.places
        found: dict[str, tuple[Hashable, ...]] = {name: (name,) for name in self.room.exit_names}
        found |= {name: tuple(cell for cell in cells if cell in goals) for name, cells in named.items()}
        found |= {str(goal): (goal,) for goal in goals if not isinstance(goal, str)}
        return {name: labels for name, labels in found.items() if labels}

    def made(self, starts: Mapping[Cell, float], goals: tuple[Cell | str, ...]) -> CSSP:
        """The room with a start and a goal, validated; what is only used up costs nothing."""
        # An exit is a goal anyway; naming it among the goals changes nothing.
        cells = tuple(goal for goal in goals if not isinstance(goal, str))
        world = replace(self.room, start=starts, goal=cells)
        step_cost = world.step_cost if isinstance(world.step_cost, float) else self._paid(world.step_cost)
        hazards = tuple(replace(hazard, costs=self._paid(hazard.costs)) for hazard in world.hazards)
        return (
            replace(world, step_cost=step_cost, hazards=hazards, cost_names=self.cost_names)
            .to_cssp()
            # Pictures and files show the room as it is stated, with what it uses of capacities.
            .derive(groups=dict(self.places), world=world)
        )

    def uses(self, cssp: CSSP, names: Sequence[str]) -> FloatArray:
        """How much of each capacity the rows of what was made use, or give back if negative."""
        acting = np.flatnonzero(~cssp.goals)
        world = replace(self.room, start={}, goal=())
        labels = np.array([cssp.state_labels[state] for state in acting.tolist()], dtype=np.int64)
        columns, rows = labels.reshape(-1, 2).T
        used = [world.cell_costs(name)[rows, columns] for name in names]
        return np.repeat(np.array(used), len(DIRECTIONS), axis=1)

    def _paid(self, costs: Mapping[str, float]) -> dict[str, float]:
        """Costs without what is only used up; what is given back makes them no less."""
        return {name: max(cost, 0.0) for name, cost in costs.items() if name in self.cost_names}


def real_costs(names: tuple[str, ...], capacities: tuple[str, ...]) -> tuple[str, ...]:
    """The costs without what is only used up."""
    return tuple(name for name in names if name not in capacities)


def note_violations(error: InvalidProblem, places: Places, otherwise: Field) -> None:
    """Note what a grid says about itself, each violation where the file says what is wrong."""
    for violation in error.violations:
        at = violation.at if isinstance(violation, Located) else ()
        length = next((length for length in range(len(at), 0, -1) if at[:length] in places), 0)
        if isinstance(violation, Located) and length:
            places[at[:length]].at(*at[length:]).wrong(violation.told)
        else:
            otherwise.wrong(violation)


def read_grid(grid: ListedGrid | DrawnGrid, cost_names: tuple[str, ...], limits: Limits) -> GridModel | None:
    """A grid; None, and the mistakes noted, if it cannot be made."""
    if isinstance(grid, DrawnGrid):
        return _drawn(grid, cost_names)
    return _listed(grid, cost_names, limits)


def _listed(grid: ListedGrid, cost_names: tuple[str, ...], limits: Limits) -> GridModel | None:
    """A grid by its size and rectangles."""
    width, height = grid.width, grid.height
    if width is None or height is None:
        return None
    if width * height > limits.states:
        cells = f"{width} x {height} = {width * height:,} cells"
        grid.where("width").wrong(f"the grid has {cells}; at most {limits.states:,} are allowed")
        return None
    places: Places = {}
    walls = _rectangles(grid.walls, grid.where("walls"))
    places |= {("walls", number): where for number, (_, where) in enumerate(walls)}
    hazards: list[Hazard] = []
    for area in grid.hazards or ():
        if area is not None:
            costs, exits = _known(area.costs or {}), _known(area.exit or {})
            for rectangle, where in _rectangles(area.at, area.where("at")):
                places["hazards", len(hazards)] = where
                places["hazards", len(hazards), "costs"] = area.where("costs")
                places["hazards", len(hazards), "exits"] = area.where("exit")
                hazards.append(Hazard(*rectangle, costs, exits))
    named = {name: ((cell[0], cell[1]),) for name, cell in (grid.places or {}).items() if cell is not None}
    drawing = Drawing(width, height, tuple(wall for wall, _ in walls), {}, (), ())
    return _model(grid, drawing, hazards, cost_names, named, places)


def _drawn(grid: DrawnGrid, cost_names: tuple[str, ...]) -> GridModel | None:
    """A grid by its map, where hazards and places may be letters."""
    legend: dict[str, dict[str, float]] = {}
    exits: dict[str, dict[str, float]] = {}
    for letter, given in (grid.hazards or {}).items():
        # A cost may be called "exit", too: then it has a number.
        numbers = {name: value for name, value in (given or {}).items() if not isinstance(value, dict)}
        legend[letter] = _known(numbers)
        failing = (given or {}).get("exit")
        exits[letter] = _known(failing) if isinstance(failing, dict) else {}
    letters: dict[str, str] = {}
    for name, drawn_as in (grid.places or {}).items():
        if isinstance(drawn_as, str) and drawn_as in legend:
            told = f"{drawn_as!r} cannot draw a place; take one character that means nothing else"
            grid.where("places", name).wrong(told)
        elif isinstance(drawn_as, str):
            letters[name] = drawn_as
    drawing = _drawing(grid, [*legend], [*letters.values()])
    if drawing is None:
        return None
    named: dict[str, tuple[Cell, ...]] = {}
    for name, place in (grid.places or {}).items():
        if isinstance(place, tuple):
            named[name] = ((place[0], place[1]),)
        elif name in letters:
            named[name] = drawing.places[letters[name]]
            if not named[name]:
                grid.where("places", name).wrong(f"{place!r} does not occur in the map")
    letter_of = [letter for letter, rectangles in drawing.hazards.items() for _ in rectangles]
    places: Places = {}
    for number, letter in enumerate(letter_of):
        places["hazards", number, "costs"] = grid.where("hazards", letter)
        places["hazards", number, "exits"] = grid.where("hazards", letter, "exit")
    return _model(grid, drawing, drawn_hazards(drawing, legend, exits), cost_names, named, places)


def _drawing(grid: DrawnGrid, hazards: Collection[str], places: Collection[str]) -> Drawing | None:
    """What the map shows; None, and the mistakes noted, if it cannot be read."""
    where = grid.where("map")
    if isinstance(grid.map, str):
        lines = grid.map.split("\n")
        first = where.node.first_line if isinstance(where.node, Scalar) else where.line
        numbers = [first + index for index in range(len(lines))]
    else:
        lines = [line for line in grid.map or () if line is not None]
        numbers = [item.line for item in where.items()]
    if len(lines) < len(numbers) or not lines:
        return None
    for number, line in zip(numbers, lines, strict=True):
        if " " in line.strip():
            told = "a line of the map has a space in it; begin the map with | to keep its lines apart"
            where.findings.add(number, where.path, told)
            return None
    try:
        return read_map(lines, hazards, places)
    except InvalidProblem as error:
        for violation in error.violations:
            if isinstance(violation, Located):
                where.findings.add(numbers[int(violation.at[0])], where.path, violation.told)
            else:
                where.wrong(violation)
        return None


def _model(
    grid: ListedGrid | DrawnGrid,
    drawing: Drawing,
    hazards: Sequence[Hazard],
    cost_names: tuple[str, ...],
    named: Mapping[str, tuple[Cell, ...]],
    places: Places,
) -> GridModel | None:
    """The model of a room that has been drawn or listed; None, and the mistakes noted, if it is not sound."""
    places |= {(key,): grid.where(key) for key in ("slip", "step_cost")}
    places["exits",] = grid.where("exit")
    cells: list[Cell] = []
    for name, each in named.items():
        places |= {("goal", len(cells) + number): grid.where("places", name) for number in range(len(each))}
        cells += each
    try:
        room = GridWorld(
            drawing.width,
            drawing.height,
            start={},
            # What has a name must be a cell that can be entered, as a goal must.
            goal=tuple(cells),
            walls=drawing.walls,
            hazards=hazards,
            slip=_slip(grid),
            step_cost=grid.step_cost if isinstance(grid.step_cost, float) else _known(grid.step_cost),
            cost_names=cost_names,
            exits=_known(grid.exit or {}),
        )
    except InvalidProblem as error:
        note_violations(error, places, grid.place)
        return None
    for name in set(room.exit_names) & set(named):
        told = f"there is an exit {name!r} as well; give the place another name"
        grid.where("places", name).wrong(told)
    return GridModel(replace(room, goal=()), named, drawing.starts, drawing.goals)


def _slip(grid: ListedGrid | DrawnGrid) -> float | tuple[float, float]:
    if grid.intended is not None:
        # The same subtraction as in the library's own scenarios, so that the figures are the same, too.
        return 1.0 - grid.intended
    if isinstance(grid.slip, Sides):
        return (grid.slip.left or 0.0, grid.slip.right or 0.0)
    return grid.slip


def _rectangles(given: Rectangles | None, where: Field) -> list[tuple[Rectangle, Field]]:
    """Rectangles with their places."""
    several = isinstance(given, list)
    found = []
    for number, each in enumerate(given if isinstance(given, list) else [given]):
        if each is not None:
            column, row, width, height = each
            found.append(((column, row, width, height), where.at(number) if several else where))
    return found


def _known(costs: Mapping[str, float | None]) -> dict[str, float]:
    """Numbers by name, also those that are wrong: whether there is such a cost is another question."""
    return {name: cost or 0.0 for name, cost in costs.items()}
