"""The models and activities of a problem file: from the document to C-SSPs.

An activity is a model of its own, a grid or a table, or refers to a shared model or to another activity's;
the nearest start and goal on the way to the model count. Or it is a procedure. It may change numbers of the
model: ``{model: hall, slip: 0.3}`` is the hall with another slip. What the activity says replaces what the
model says and is read by the same reader, so that errors are reported where they stand.

A grid is a room given by its size and rectangles, or drawn as a map. :class:`~hcssp.cssp.grid.GridWorld`
knows the rules of a room; here its violations get their lines.

Capacities are named where costs are. A negative use gives back, which costs cannot do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum, prod
from pathlib import Path
from typing import Any

import numpy as np

from hcssp.cssp.grid import DIRECTIONS, Cell, Drawing, GridWorld, Hazard, Rectangle, drawn_hazards, read_map
from hcssp.cssp.model import CSSP, FloatArray
from hcssp.cssp.preprocessing import with_giving_up
from hcssp.cssp.product import Capacity, Uses
from hcssp.cssp.validation import unknown_cost
from hcssp.errors import InvalidProblem, Located, did_you_mean, listed
from hcssp.files.problem_file.document import (
    Entries,
    Field,
    Limits,
    Scalar,
    Unreadable,
    find_beside,
    read_beside,
)
from hcssp.files.problem_file.format import (
    GRID,
    OTHER_NUMBERS,
    TABLE,
    Activity,
    DrawnGrid,
    ListedGrid,
    Model,
    Problem,
    Rectangles,
    Sides,
    Target,
)
from hcssp.files.problem_file.tables import SUFFIXES as MODEL_SUFFIXES
from hcssp.files.problem_file.tables import (
    TableModel,
    label_text,
    read_csv_table,
    read_drn_table,
    read_model_table,
    read_table,
    state_label,
)
from hcssp.numerics import PROBABILITY_TOLERANCE
from hcssp.procedure import HCSSP
from hcssp.procedure.nesting import OTHER_EXIT, procedure_exits


@dataclass(frozen=True, eq=False)
class Carried:
    """What the capacities of a document are, and what its activities use of them.

    Attributes
    ----------
    capacities
        What there is.
    uses
        By the identity of what is solved: how much of each capacity its rows use, and what giving up costs.
    """

    capacities: tuple[Capacity, ...] = ()
    uses: dict[int, tuple[Uses | FloatArray, Mapping[str, float] | None]] = field(default_factory=dict)

    @classmethod
    def read(cls, problem: Problem) -> Carried:
        """The capacities that a document names."""
        found = []
        for name, part in (problem.capacities or {}).items():
            if part is None or part.at_most is None:
                continue
            if part.used > part.at_most:
                part.where("used").wrong(f"{part.used:g} is more than the capacity of {part.at_most:g}")
            used = min(part.used, part.at_most)
            found.append(Capacity(name, part.at_most, part.step, part.probability, used))
        return cls(tuple(found))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(capacity.name for capacity in self.capacities)

    @property
    def num_levels(self) -> int:
        """How many states there are for every state of an activity."""
        return prod(capacity.num_levels for capacity in self.capacities)

    def over(self, problem: HCSSP, document: Field) -> HCSSP | None:
        """The problem with its capacities; None, and the mistakes noted, if it cannot have them."""
        if not self.capacities:
            return problem
        used: dict[str, Uses | FloatArray] = {}
        prices: dict[str, Mapping[str, float]] = {}
        for activity in problem.activities:
            if id(activity.cssp) in self.uses:
                used[activity.name], price = self.uses[id(activity.cssp)]
                if price is not None:
                    prices[activity.name] = price
            else:
                # What an activity of another file uses are its costs of these names.
                used[activity.name] = Uses.of_costs(activity.cssp, self.names)
        from hcssp.procedure.product import with_capacities

        try:
            return with_capacities(problem, self.capacities, used, prices)
        except InvalidProblem as error:
            for violation in error.violations:
                document.at("capacities").wrong(violation)
            return None


@dataclass(frozen=True, eq=False)
class Aim:
    """A start or a goal, its probability as a start, and its place in the file."""

    target: Target
    probability: float
    field: Field


@dataclass(frozen=True)
class Ends:
    """The cells or states where an activity starts and ends, and their places in the file."""

    starts: dict[Any, float]
    goals: tuple[Any, ...]
    places: Places


def starts_of(part: Model) -> list[Aim] | None:
    """The start of a model, or several with their probabilities; None if it says none, or nothing sound."""
    if not isinstance(part.start, list):
        return None if part.start is None else [Aim(part.start, 1.0, part.where("start"))]
    aims = [
        Aim(each.at, each.probability, each.where("at"))
        for each in part.start
        if each is not None and each.at is not None and each.probability is not None
    ]
    if len(aims) < len(part.start):
        return None
    total = fsum(aim.probability for aim in aims)
    if abs(total - 1.0) > PROBABILITY_TOLERANCE:
        part.where("start").wrong(f"the probabilities sum to {total:.10g}, not 1")
    return aims


def goals_of(part: Model) -> list[Aim] | None:
    """The goals of a model; None if it says none, or nothing sound."""
    if not isinstance(part.goal, list):
        return None if part.goal is None else [Aim(part.goal, 1.0, part.where("goal"))]
    return [
        Aim(target, 1.0, part.where("goal", number))
        for number, target in enumerate(part.goal)
        if target is not None
    ]


def ends_of(model: GridModel | TableModel, start: list[Aim] | None, goal: list[Aim] | None) -> Ends | None:
    """Where an activity starts and ends; as the model says where it says nothing.

    None, and the mistakes noted, if there is no such place.
    """
    found = {aim: model.find(aim.target, aim.field) for aim in (*(start or ()), *(goal or ()))}
    if not all(found.values()):
        return None
    starts: dict[Any, float] = {}
    goals: dict[Any, None] = {}
    places: Places = {}
    for aim in start or ():
        for place in found[aim]:
            if isinstance(place, str):
                aim.field.wrong(f"{place!r} is an exit, where an activity ends; start in a cell")
                return None
            if place not in starts:
                places["start", len(starts)] = aim.field
            starts[place] = starts.get(place, 0.0) + aim.probability / len(found[aim])
    for aim in goal or ():
        for place in found[aim]:
            if place not in goals:
                places["goal", len(goals)] = aim.field
            goals[place] = None
    if start is None:
        starts = dict.fromkeys(model.starts, 1.0 / len(model.starts))
    return Ends(starts, model.goals if goal is None else tuple(goals), places)


_SAME = {"slip": "intended", "intended": "slip"}
"""Keys that say the same thing: one takes the place of the other."""


def changes_model(part: Model) -> bool:
    """Whether an activity changes the model that it refers to."""
    return any(key in part.place for key in OTHER_NUMBERS)


def with_other_numbers(model: Model, changes: Iterable[Model]) -> Model | None:
    """A model as the activities that refer to it change it; None, and the mistakes noted, if it cannot be.

    Parameters
    ----------
    model
        A grid or a table.
    changes
        What refers to it, and gives some of :data:`~hcssp.files.problem_file.format.OTHER_NUMBERS`; the
        nearest first.
    """
    kind = "table" if "table" in model.place else "grid"
    possible = {"grid": OTHER_NUMBERS[:-1], "table": OTHER_NUMBERS[-1:]}[kind] if kind in model.place else ()
    node = model.place.at(kind).node
    place = model.place
    for part in reversed([*changes]):
        place = part.place
        for key in (key for key in OTHER_NUMBERS if key in place):
            if key not in possible or not isinstance(node, Entries):
                place.at(key).wrong(_impossible(kind, possible))
                return None
            node = _merged(node, place.at(key).node) if kind == "table" else _replaced(node, key, place)
    if kind == "table":
        return model.having(table=TABLE.read(replace(place, node=node, way=(place.way, "actions"))))
    return model.having(grid=GRID.read(replace(place, node=node)))


def _impossible(kind: str, possible: tuple[str, ...]) -> str:
    if not possible:
        return "the model is a table in a file, whose numbers stand there; write another file"
    return f"the model is a {kind}, of which {listed(possible)} may be changed"


def _replaced(grid: Entries, key: str, place: Field) -> Entries:
    """A grid in which a key has another value; of a map's hazards, those that are named."""
    value = place.at(key)
    before = grid.entries.get(key)
    node = value.node
    if key == "hazards" and isinstance(before, Entries) and isinstance(node, Entries):
        node = _joined(before, node)
    entries = {name: each for name, each in grid.entries.items() if name != _SAME.get(key)}
    return Entries({**entries, key: node}, {**grid.key_lines, key: value.line}, grid.line)


def _merged(table: Entries, changes: object) -> Entries:
    """A table with some actions of some states replaced, or new ones."""
    if not isinstance(changes, Entries):
        return table
    states = dict(table.entries)
    for state, actions in changes.entries.items():
        before = states.get(state)
        both = isinstance(before, Entries) and isinstance(actions, Entries)
        states[state] = _joined(before, actions) if both else actions  # type: ignore[arg-type]
    return Entries(states, {**table.key_lines, **changes.key_lines}, table.line)


def _joined(first: Entries, second: Entries) -> Entries:
    return Entries({**first.entries, **second.entries}, {**first.key_lines, **second.key_lines}, second.line)


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
            places[at[:length]].at(*at[length:]).wrong(violation.message)
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
            why = f"{drawn_as!r} cannot draw a place; take one character that means nothing else"
            grid.where("places", name).wrong(why)
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
            why = "a line of the map has a space in it; begin the map with | to keep its lines apart"
            where.findings.add(number, where.path, why)
            return None
    try:
        return read_map(lines, hazards, places)
    except InvalidProblem as error:
        for violation in error.violations:
            if isinstance(violation, Located):
                where.findings.add(numbers[int(violation.at[0])], where.path, violation.message)
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
        why = f"there is an exit {name!r} as well; give the place another name"
        grid.where("places", name).wrong(why)
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


@dataclass(frozen=True, eq=False)
class LoadedActivity:
    """An activity as the file describes it.

    Attributes
    ----------
    field
        Where it stands.
    problem
        What is solved.
    room
        The shared model, or the activity, whose model it is.
    exits
        What outcomes may call the ends of the activity, and the labels that are meant.
    position
        Where the room lies on a map of them all; None if that is not said.
    entries
        Where it starts when another activity hands over a label, if not in its state of that label.
    hands_over
        From the labels of goals to what they hand over, if not their own labels.
    """

    field: Field
    problem: CSSP | HCSSP
    room: str
    exits: Mapping[str, tuple[Hashable, ...]]
    position: Cell | None
    entries: Mapping[Hashable, Hashable] | None = None
    hands_over: Mapping[Hashable, Hashable] | None = None

    @property
    def cost_names(self) -> tuple[str, ...]:
        """The costs that constraints can count, after the one to minimise."""
        return self.problem.cost_names


@dataclass(frozen=True, eq=False)
class _Spec:
    """A model or an activity before references are followed."""

    name: str
    part: Model
    model: GridModel | TableModel | None
    start: list[Aim] | None
    goal: list[Aim] | None
    broken: bool

    @property
    def refers_to(self) -> str | None:
        return self.part.model if isinstance(self.part, Activity) else None

    @property
    def procedure(self) -> str | None:
        """The procedure that an activity is, if it is one."""
        return self.part.procedure if isinstance(self.part, Activity) else None


_Parts = Mapping[str, Activity | None] | None


_Specs = Mapping[str, _Spec | None]


Loaded = dict[str, LoadedActivity]
"""Activities by name."""


@dataclass(frozen=True, eq=False)
class _Followed:
    """Where references lead: the model, the nearest start, goal and price, and the numbers that change it."""

    model: _Spec
    start: list[Aim] | None
    goal: list[Aim] | None
    giving_up: Model
    changes: tuple[Model, ...]

    @classmethod
    def itself(cls, spec: _Spec) -> _Followed:
        changes = (spec.part,) if changes_model(spec.part) else ()
        return cls(spec, spec.start, spec.goal, spec.part, changes)

    def from_(self, spec: _Spec) -> _Followed:
        """The same, from one reference before."""
        return _Followed(
            self.model,
            spec.start or self.start,
            spec.goal or self.goal,
            self.giving_up if spec.part.give_up is None else spec.part,
            (spec.part, *self.changes) if changes_model(spec.part) else self.changes,
        )


class ActivityReader:
    """Makes the activities of one document.

    Parameters
    ----------
    problem
        The document.
    cost_names
        The costs, unless a model names its own.
    folder
        Where tables lie.
    limits
        How large all activities together may be.
    """

    def __init__(self, problem: Problem, cost_names: tuple[str, ...], folder: Path, limits: Limits) -> None:
        self.carried = Carried.read(problem)
        self._cost_names = cost_names
        self._folder = folder
        self._limits = limits
        self._states_left = limits.states
        self._transitions_left = limits.transitions
        self._used_as_goals: dict[TableModel, set[int]] = {}
        # Activities that agree in model, start and goal share their arrays.
        self._made: dict[tuple[object, ...], CSSP] = {}
        # Where the references of each model and activity lead; None if to nothing.
        self._ends: dict[_Spec, _Followed | None] = {}
        # Models with other numbers, by the model and the activities that change it.
        self._variants: dict[tuple[int, ...], GridModel | TableModel | None] = {}
        self._models = self._specs(problem.models or {})

    def read(self, activities: _Parts, procedures: Callable[[str, Field], HCSSP | None]) -> Loaded:
        """All activities of a procedure that are sound; what is wrong with the others is noted.

        Parameters
        ----------
        activities
            What the document says about them.
        procedures
            The procedure of that name, for activities that are one; None, and mistakes noted, if it is not
            sound.
        """
        specs = self._specs(activities or {})
        found = {
            name: self._used(spec, procedures) if spec and spec.procedure else self._resolved(spec, specs)
            for name, spec in specs.items()
        }
        return {name: activity for name, activity in found.items() if activity is not None}

    def finish(self) -> None:
        """Note what is wrong with tables, once it is known how all activities end."""
        for table, goals in self._used_as_goals.items():
            for state, note_mistake in table.unlisted.items():
                if state not in goals:
                    note_mistake()

    def _used(self, spec: _Spec, procedures: Callable[[str, Field], HCSSP | None]) -> LoadedActivity | None:
        """An activity that is a procedure."""
        where = spec.part.where("procedure")
        problem = None if spec.broken or spec.procedure is None else procedures(spec.procedure, where)
        if problem is None:
            return None
        transitions = sum(each.cssp.transitions.nnz for each in problem.activities)
        if not self._fits(spec.part.place, problem.flattening.num_states, transitions):
            return None
        exits = {label_text(label): (label,) for label in (*procedure_exits(problem), OTHER_EXIT)}
        return LoadedActivity(spec.part.place, problem, spec.name, exits, _position(spec.part))

    def _specs(self, parts: Mapping[str, Model | None]) -> dict[str, _Spec | None]:
        return {name: None if part is None else self._spec(name, part) for name, part in parts.items()}

    def _spec(self, name: str, part: Model) -> _Spec:
        findings = part.place.findings
        before = len(findings)
        model = self._model(part)
        start, goal = starts_of(part), goals_of(part)
        return _Spec(name, part, model, start, goal, not part.sound or len(findings) > before)

    def _model(self, part: Model) -> GridModel | TableModel | None:
        if sum(kind in part.place for kind in ("grid", "table", "file", "model", "procedure")) != 1:
            return None
        costs = self._cost_names
        if part.costs is not None:
            costs = tuple(name for name in part.costs if name is not None)
        capacities = tuple(name for name in self.carried.names if name not in costs)
        model = self._read_model(part, (*costs, *capacities))
        return None if model is None else replace(model, capacities=capacities)

    def _read_model(self, part: Model, costs: tuple[str, ...]) -> GridModel | TableModel | None:
        if part.grid is not None:
            return read_grid(part.grid, costs, self._limits)
        if part.table is not None:
            return read_table(part.table, part.where("table"), costs)
        if part.file is None:
            return None
        if part.file.lower().endswith(MODEL_SUFFIXES):
            return self._read_model_file(part, part.file, costs)
        if part.constants:
            part.where("constants").wrong("a table has no constants; only models of PRISM and JANI do")
        findings = part.place.findings
        try:
            file, text = read_beside(self._folder, part.file, self._limits)
        except Unreadable as error:
            part.where("file").wrong(str(error))
            return None

        def wrong(line: int, path: str, message: str) -> None:
            findings.add(line, path, message, file)

        most = self._limits.transitions
        if part.file.lower().endswith(".csv"):
            return read_csv_table(text, costs, wrong, most, part.place.parameters)
        return read_drn_table(text, costs, wrong, most)

    def _read_model_file(self, part: Model, name: str, costs: tuple[str, ...]) -> TableModel | None:
        where = part.where("file")
        try:
            path = find_beside(self._folder, name)
        except Unreadable as error:
            where.wrong(str(error))
            return None
        constants = {name: value for name, value in (part.constants or {}).items() if value is not None}
        return read_model_table(path, costs, constants, where.wrong)

    def _resolved(self, spec: _Spec | None, specs: _Specs) -> LoadedActivity | None:
        """Follow references to the model, and give it the nearest start and goal."""
        if spec is None:
            return None
        followed = self._followed(spec, specs)
        if followed is None:
            return None
        at, start, goal, giving_up = followed.model, followed.start, followed.goal, followed.giving_up
        changes = list(followed.changes)
        model = at.model
        if spec.broken or at.broken or model is None:
            return None
        if changes:
            model = self._changed(at, changes)
            if model is None:
                return None
        missing = {
            "start": start is None and not model.starts,
            "goal": goal is None and not model.ends_by_itself,
        }
        for what in (what for what, is_missing in missing.items() if is_missing):
            spec.part.place.wrong(f"the key {what!r} is missing, here and in the model")
        levels = self.carried.num_levels
        if any(missing.values()) or not self._fits(
            spec.part.place, levels * model.num_states, levels * model.num_transitions
        ):
            return None
        ends = ends_of(model, start, goal)
        if ends is None:
            return None
        if isinstance(model, TableModel):
            self._used_as_goals.setdefault(model, set()).update(ends.goals)
        price = _price(giving_up, model.cost_names)
        priced = None if price is None else tuple(price.items())
        key = (model.identity, tuple(ends.starts.items()), ends.goals, priced)
        try:
            if key not in self._made:
                cssp = model.made(ends.starts, ends.goals)
                if self.carried.capacities:
                    # Where one must give up depends on what is left, and that is not known yet.
                    self.carried.uses[id(cssp)] = model.uses(cssp, self.carried.names), price
                elif price is not None:
                    cssp = with_giving_up(cssp, price)
                self._made[key] = cssp
        except InvalidProblem as error:
            note_violations(error, ends.places, spec.part.place)
            return None
        entries, exits = _entries(spec.part, model, self._made[key]), model.exits(ends.goals)
        handed, position = _hands_over(spec.part, exits), _position(at.part)
        return LoadedActivity(spec.part.place, self._made[key], at.name, exits, position, entries, handed)

    def _followed(self, spec: _Spec, specs: _Specs) -> _Followed | None:
        """Where the references of `spec` lead; None, and the mistake noted, if to nothing or in a circle.

        What lies on the way is followed with it, so that a long chain is walked once and not from every link.
        """
        way: list[_Spec] = []
        at = spec
        while at not in self._ends:
            way.append(at)
            self._ends[at] = None
            if at.refers_to is None or at.broken:
                self._ends[at] = _Followed.itself(at)
                break
            found = self._referred(at, at.refers_to, specs)
            if found is None:
                break
            if found in self._ends and self._ends[found] is None and found in way:
                why = f"the references go in a circle, back to {at.refers_to!r}; end them in a model"
                at.part.where("model").wrong(why)
                break
            at = found
        known = self._ends[at]
        for link in reversed(way):
            if link is not at:
                known = self._ends[link] = None if known is None else known.from_(link)
        return self._ends[spec]

    def _changed(self, spec: _Spec, changes: list[Model]) -> GridModel | TableModel | None:
        """The model of `spec` with the numbers of the activities that refer to it, the nearest first."""
        key = (id(spec), *map(id, changes))
        if key not in self._variants:
            findings = spec.part.place.findings
            before = len(findings)
            changed = with_other_numbers(spec.part, changes)
            model = None if changed is None else self._model(changed)
            self._variants[key] = model if len(findings) == before else None
        return self._variants[key]

    def _referred(self, spec: _Spec, name: str, specs: _Specs) -> _Spec | None:
        """What a reference leads to; None, and the mistake noted, if to nothing."""
        if name in self._models:
            return self._models[name]
        if name not in specs:
            names = [*self._models, *specs]
            why = f"there is no model or activity {name!r}; {did_you_mean(name, names)}"
            spec.part.where("model").wrong(why)
        return specs.get(name)

    def _fits(self, field: Field, num_states: int, num_transitions: int) -> bool:
        self._states_left -= num_states
        self._transitions_left -= num_transitions
        if self._states_left >= 0 and self._transitions_left >= 0:
            return True
        limits = self._limits
        field.wrong(
            f"with this activity the problem has more than the {limits.states:,} states or "
            f"{limits.transitions:,} transitions that are allowed"
        )
        return False


def _entries(part: Model, model: GridModel | TableModel, cssp: CSSP) -> dict[Hashable, Hashable]:
    """Where an activity starts, by the labels that are handed over; what does not exist is noted."""
    found: dict[Hashable, Hashable] = {}
    for text, target in ((part.entries if isinstance(part, Activity) else None) or {}).items():
        where = part.where("entries", text)
        states = [] if target is None else [*model.find(target, where)]
        if len(states) > 1:
            where.wrong(f"{target!r} are {len(states)} states; name one")
        for state in states[:1]:
            found[state_label(text)] = cssp.state_labels[state] if isinstance(state, int) else state
    return found


def _hands_over(part: Model, exits: Mapping[str, tuple[Hashable, ...]]) -> dict[Hashable, Hashable]:
    """What an activity hands over, by the labels of its goals; a goal that does not exist is noted."""
    found: dict[Hashable, Hashable] = {}
    for text, label in ((part.hands_over if isinstance(part, Activity) else None) or {}).items():
        if text not in exits:
            part.where("hands_over", text).wrong(f"there is no goal {text!r}; {did_you_mean(text, [*exits])}")
        elif label is not None:
            found |= dict.fromkeys(exits[text], state_label(label))
    return found


def _position(part: Model) -> Cell | None:
    """Where the part says that its top-left corner lies on a map."""
    return None if part.position is None else (part.position[0], part.position[1])


def _price(part: Model, cost_names: tuple[str, ...]) -> dict[str, float] | None:
    """What giving up costs; None if that is not allowed. Costs that there are not are noted."""
    if part.give_up is None:
        return None
    for name in part.give_up:
        if name not in cost_names:
            part.where("give_up", name).wrong(unknown_cost(name, cost_names))
    return {name: cost or 0.0 for name, cost in part.give_up.items() if name in cost_names}
