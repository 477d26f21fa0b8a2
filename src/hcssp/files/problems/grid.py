"""A grid of a problem file: a room by its size and rectangles, or drawn as a map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hcssp.cssp.grid import GridWorld, Hazard
from hcssp.cssp.grid_map import Cell, Rectangle
from hcssp.errors import did_you_mean, listed
from hcssp.files.problems.drawing import MapDrawing, read_drawing
from hcssp.files.problems.targets import Aim
from hcssp.files.reading.fields import Field
from hcssp.files.reading.limits import Limits

TRANSITIONS_OF_A_CELL = 16
_SHARED = ("hazards", "slip", "intended", "step_cost", "places")


@dataclass(frozen=True, eq=False)
class GridModel:
    """A room without a start and a goal: these are the activity's.

    Attributes
    ----------
    width, height, walls, hazards, slip, step_cost, cost_names
        As in :class:`~hcssp.cssp.grid.GridWorld`.
    places
        Cells by the names that the file gives them.
    starts, goals
        The cells that a map draws as ``S`` and ``G``; empty if it draws none.
    """

    width: int
    height: int
    cost_names: tuple[str, ...]
    walls: tuple[Rectangle, ...] = ()
    hazards: tuple[Hazard, ...] = ()
    slip: float | tuple[float, float] = 0.0
    step_cost: float | Mapping[str, float] = 1.0
    places: Mapping[str, tuple[Cell, ...]] = field(default_factory=dict)
    starts: tuple[Cell, ...] = ()
    goals: tuple[Cell, ...] = ()

    @property
    def num_states(self) -> int:
        """How many states there are at most."""
        return self.width * self.height

    @property
    def num_transitions(self) -> int:
        """How many transitions there are at most."""
        return TRANSITIONS_OF_A_CELL * self.num_states

    def cells(self, aim: Aim) -> tuple[Cell, ...]:
        """The cells of a target; none, and a mistake noted, if it cannot be entered."""
        target, where = aim.target, aim.field
        if isinstance(target, str):
            if target not in self.places:
                where.wrong(
                    f"there is no place {target!r} in the grid; {did_you_mean(target, [*self.places])}"
                )
            return self.places.get(target, ())
        problem = self.cell_problem(target)
        if problem is not None:
            where.wrong(problem)
            return ()
        column, row = target
        return ((column, row),)

    def cell_problem(self, cell: tuple[int, ...]) -> str | None:
        """Why a cell cannot be a start or a goal, if so."""
        if len(cell) != 2:
            return f"{list(cell)} is not a cell; write [column, row]"
        column, row = cell
        right, bottom = self.width + 1, self.height + 1
        if not (0 <= column <= right and 0 <= row <= bottom):
            return (
                f"[{column}, {row}] lies outside of the grid; columns go from 0 to {right} and rows "
                f"from 0 to {bottom}, the wall around it included"
            )
        if column in (0, right) and row in (0, bottom):
            return f"[{column}, {row}] is a corner of the wall around the grid, where no step leads"
        for left, top, width, height in self.walls:
            if left <= column < left + width and top <= row < top + height:
                return f"[{column}, {row}] lies in the wall {[left, top, width, height]}; move one of them"
        return None

    def world(self, start: Mapping[Cell, float], goal: tuple[Cell, ...]) -> GridWorld:
        """The room with a start and a goal."""
        return GridWorld(
            width=self.width,
            height=self.height,
            start=dict(start),
            goal=goal,
            walls=self.walls,
            hazards=self.hazards,
            slip=self.slip,
            step_cost=self.step_cost,
            cost_names=self.cost_names,
        )


def read_grid(grid: Field, cost_names: tuple[str, ...], limits: Limits) -> GridModel | None:
    """A grid; None, and the mistakes noted, if it cannot be read."""
    drawn = grid.is_mapping and "map" in (grid.members("a grid") or {})
    required = ("map",) if drawn else ("width", "height")
    parts = grid.entries("a grid", required, _SHARED if drawn else (*_SHARED, "walls"))
    if parts is None:
        return None
    slip = _slip(parts)
    step_cost = _step_cost(parts, cost_names)
    model = _drawn(parts, cost_names) if drawn else _listed(parts, cost_names, limits)
    if model is None:
        return None
    return replace(model, slip=slip, step_cost=step_cost)


def _listed(parts: dict[str, Field], cost_names: tuple[str, ...], limits: Limits) -> GridModel | None:
    """A grid by its size and rectangles."""
    what = "a whole number of at least 1"
    sizes = [parts[key].whole(what, 1, 10**15) for key in ("width", "height") if key in parts]
    if len(sizes) < 2 or sizes[0] is None or sizes[1] is None:
        return None
    width, height = sizes[0], sizes[1]
    if width * height > limits.states:
        parts["width"].wrong(
            f"the grid has {width} x {height} = {width * height:,} cells; at most {limits.states:,} are "
            "allowed"
        )
        return None
    room = GridModel(width, height, cost_names)
    walls = tuple(_rectangles(parts["walls"], room)) if "walls" in parts else ()
    room = replace(room, walls=walls, hazards=_hazards(parts, room))
    return replace(room, places=_places(parts, room, None))


def _drawn(parts: dict[str, Field], cost_names: tuple[str, ...]) -> GridModel | None:
    """A grid by its map, where hazards are letters."""
    legend: dict[str, Mapping[str, float]] = {}
    if "hazards" in parts:
        for letter, member in (
            parts["hazards"].members("a mapping from letters of the map to costs") or {}
        ).items():
            if not _draws(letter):
                member.wrong(
                    f"{letter!r} cannot draw a hazard; take one character other than '#', '.', 'S', 'G'"
                )
                continue
            legend[letter] = read_costs(member, cost_names)
    letters: dict[str, str] = {}
    for name, member in (_place_members(parts)).items():
        drawn_as = None if member.is_list else member.text("a cell or a letter of the map")
        if drawn_as is not None:
            if not _draws(drawn_as) or drawn_as in legend:
                member.wrong(f"{drawn_as!r} cannot draw a place; take one character that means nothing else")
                continue
            letters[name] = drawn_as
    drawing = read_drawing(parts["map"], [*legend], [*letters.values()])
    if drawing is None:
        return None
    room = GridModel(
        width=drawing.width,
        height=drawing.height,
        cost_names=cost_names,
        walls=drawing.walls,
        hazards=tuple(
            Hazard(*rectangle, legend[letter])
            for letter, rectangles in drawing.hazards.items()
            for rectangle in rectangles
        ),
        starts=drawing.cells("S"),
        goals=drawing.cells("G"),
    )
    return replace(room, places=_places(parts, room, drawing))


def _draws(letter: str) -> bool:
    """Whether a text can draw something of its own in a map."""
    return len(letter) == 1 and letter not in "#.SG" and letter.isprintable() and not letter.isspace()


def _place_members(parts: dict[str, Field]) -> dict[str, Field]:
    return (parts["places"].members("a mapping from names to cells") or {}) if "places" in parts else {}


def _places(
    parts: dict[str, Field], room: GridModel, drawing: MapDrawing | None
) -> dict[str, tuple[Cell, ...]]:
    places: dict[str, tuple[Cell, ...]] = {}
    for name, member in _place_members(parts).items():
        if drawing is not None and isinstance(member.value, str):
            places[name] = drawing.cells(member.value)
            if not places[name]:
                member.wrong(f"{member.shown} does not occur in the map")
            continue
        cell = _whole_numbers(member, "a cell [column, row]", 2)
        if cell is not None:
            problem = room.cell_problem(tuple(cell))
            if problem is not None:
                member.wrong(problem)
            places[name] = ((cell[0], cell[1]),)
    return places


def _hazards(parts: dict[str, Field], room: GridModel) -> tuple[Hazard, ...]:
    hazards: list[Hazard] = []
    for item in (parts["hazards"].items("a list of hazards") or []) if "hazards" in parts else []:
        entries = item.entries("a hazard, {at: [column, row, width, height], costs: {...}}", ("at", "costs"))
        if entries is None or len(entries) < 2:
            continue
        costs = read_costs(entries["costs"], room.cost_names)
        hazards += [Hazard(*rectangle, costs) for rectangle in _rectangles(entries["at"], room)]
    return tuple(hazards)


def _rectangles(where: Field, room: GridModel) -> list[Rectangle]:
    """One rectangle or a list of them, all inside of the room."""
    what = "a rectangle [column, row, width, height], or a list of them"
    items = where.items(what)
    if items is None:
        return []
    if items and not any(item.is_list for item in items):
        items = [where]
    rectangles: list[Rectangle] = []
    for item in items:
        numbers = _whole_numbers(item, "a rectangle [column, row, width, height]", 4)
        if numbers is None:
            continue
        column, row, width, height = numbers
        if not (
            1 <= column < column + width <= room.width + 1 and 1 <= row < row + height <= room.height + 1
        ):
            item.wrong(
                f"the rectangle {[column, row, width, height]} does not lie inside; columns go from 1 to "
                f"{room.width} and rows from 1 to {room.height}"
            )
            continue
        rectangles.append((column, row, width, height))
    return rectangles


def _whole_numbers(where: Field, what: str, count: int) -> list[int] | None:
    items = where.items(what)
    if items is None:
        return None
    if len(items) != count:
        where.wrong(f"a list of {len(items)} is not {what}")
        return None
    numbers = [item.whole("a whole number", -(10**9), 10**9) for item in items]
    whole = [number for number in numbers if number is not None]
    return whole if len(whole) == count else None


def _slip(parts: dict[str, Field]) -> float | tuple[float, float]:
    if "intended" in parts:
        if "slip" in parts:
            parts["slip"].wrong("slip and intended say the same thing; keep one of them")
        # The same subtraction as in the library's own scenarios, so that the figures are the same, too.
        return 1.0 - (parts["intended"].probability() or 0.0)
    if "slip" not in parts:
        return 0.0
    slip = parts["slip"]
    if not slip.is_mapping:
        return slip.probability() or 0.0
    sides = slip.entries("a probability between 0 and 1, or {left: ..., right: ...}", ("left", "right")) or {}
    left, right = ((sides[side].probability() or 0.0) if side in sides else 0.0 for side in ("left", "right"))
    if left + right > 1.0:
        slip.wrong(f"left and right sum to {left + right:.10g}, which is more than 1")
    return (left, right)


def _step_cost(parts: dict[str, Field], cost_names: tuple[str, ...]) -> float | Mapping[str, float]:
    if "step_cost" not in parts:
        return 1.0
    if parts["step_cost"].is_mapping:
        return read_costs(parts["step_cost"], cost_names)
    return parts["step_cost"].cost() or 0.0


def read_costs(field: Field, cost_names: tuple[str, ...]) -> dict[str, float]:
    """Costs by name; those that are wrong are noted and left out."""
    costs: dict[str, float] = {}
    for name, member in (field.members("a mapping from costs to numbers") or {}).items():
        if name not in cost_names:
            guess = did_you_mean(name, cost_names)
            member.wrong(
                f"there is no cost {name!r}; "
                + (guess if guess.startswith("did") else f"the costs are {listed(cost_names)}")
            )
            continue
        cost = member.cost()
        if cost is not None:
            costs[name] = cost
    return costs
