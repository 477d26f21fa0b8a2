"""The rooms of a problem as one drawing: walls, hazards, and where a plan goes. Lengths are cells.

Rooms whose positions are known stand as they stand, the others in lines. Every visited cell is shaded by its
expected visits and has the arrow of the activity that passes it most often. A sheet with more cells than can
be seen is drawn in blocks of cells: a block has the shade and the arrow of its busiest cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import ceil, hypot, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from hcssp.contract.plan import ProcedurePlan
from hcssp.cssp.grid import GridWorld
from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.procedure import HCSSP
from hcssp.reports.figures import given
from hcssp.reports.notebook.markup import Markup, element, number, shortened
from hcssp.reports.notebook.signs import BANDS, arrow, circle, star
from hcssp.reports.notebook.svg import filled, hatched, picture
from hcssp.reports.placement import Panel, place, sheet_size
from hcssp.reports.rooms import Passage, passages

MOST_ACTIVITIES = 40
_MOST_BLOCKS = 40_000
_MOST_TAGS = 40
_MOST_HAZARDS = 200
_WIDTH, _HEIGHT, _CELL = 880.0, 760.0, 28.0
_ARROW_PIXELS = 6.5


def drawn_activities(problem: HCSSP, plan: ProcedurePlan | None = None) -> tuple[list[int], int]:
    """The activities on grids that a map shows, the likeliest if there are very many; how many it does not.

    Of what a plan never executes only the rooms that have a place on the map are shown.
    """
    grids = [index for index in range(problem.num_activities) if problem.world(index) is not None]
    if plan is not None:
        executions = [share.expected_executions for share in plan.costs.activities]
        rooms = [activity.room for activity in problem.activities]
        grids = [index for index in grids if executions[index] > 0.0 or rooms[index] in problem.positions]
        grids.sort(key=lambda index: -executions[index])
    return sorted(grids[:MOST_ACTIVITIES]), len(grids[MOST_ACTIVITIES:])


def room_map(problem: HCSSP, plan: ProcedurePlan | None = None) -> Markup | None:
    """The map, with where `plan` goes if one is given; None if there are no rooms."""
    shown, _ = drawn_activities(problem, plan)
    if not shown:
        return None
    panels = place(problem, shown)
    across, down = sheet_size(panels)
    pixels = min(_WIDTH / across, _HEIGHT / down, _CELL)
    block = ceil(sqrt(across * down / _MOST_BLOCKS))
    stride = ceil(_ARROW_PIXELS / pixels)
    visited = {} if plan is None else {passage.name: passage for passage in passages(plan)}
    rooms = [_Room(problem, panel, visited) for panel in panels]
    edge = 1.0 + 0.01 * max(across, down)
    # Neighbours share a wall, so that no room may be drawn over another one's openings.
    walls = [*(room.walls(block) for room in rooms), *(room.openings(block) for room in rooms)]
    shades = [room.shades(block) for room in rooms]
    layers = [
        *(room.floor(block) for room in rooms),
        # Cells in openings are shaded; a block of several cells would hide the wall beside them.
        *([*walls, *shades] if block == 1 else [*shades, *walls]),
        *(room.arrows(stride) for room in rooms),
        # The only room needs no name.
        *(room.title(pixels) for room in rooms if len(rooms) > 1),
        *_hover(rooms),
        *_marks(problem, plan, panels, pixels),
    ]
    box = (-edge, -edge, across + 2 * edge, down + 2 * edge)
    label = "A map of the rooms" + ("" if plan is None else " with where the plan goes")
    return picture(box, (pixels * box[2], pixels * box[3]), label, *layers)


@dataclass(frozen=True, eq=False)
class _Room:
    """A panel, and what is known of its cells."""

    problem: HCSSP
    panel: Panel
    visited: Mapping[str, Passage]

    @cached_property
    def worlds(self) -> list[GridWorld]:
        found = (self.problem.world(index) for index in self.panel.activities)
        return [world for world in found if world is not None]

    @property
    def passages(self) -> list[Passage]:
        names = (self.problem.activities[index].name for index in self.panel.activities)
        return [self.visited[name] for name in names if name in self.visited]

    @cached_property
    def free(self) -> BoolArray:
        """Which cells can be entered in some activity."""
        free: BoolArray = np.logical_or.reduce([world.free for world in self.worlds])
        return free

    def floor(self, block: int) -> Markup:
        """What walls and shades are drawn upon."""
        (left, top), width, height = self.panel.corner, self.panel.width, self.panel.height
        place = {"x": left, "y": top, "width": width, "height": height}
        face = _path("hazard", filled(self._hazardous(block), left, top, block))
        return element("g", {}, element("rect", {"class": "floor", **place}), face)

    def walls(self, block: int) -> Markup:
        """The ring around the room, and the walls within."""
        (left, top), width, height = self.panel.corner, self.panel.width, self.panel.height
        inner = ~self.free
        inner[[0, -1]] = inner[:, [0, -1]] = False
        ring = (
            f"M{left} {top}h{width}v{height}h{-width}z"
            f"M{left + 1} {top + 1}v{height - 2}h{width - 2}v{2 - height}z"
        )
        # A block is a wall if most of it is; a wall's only cell in it must not close a passage.
        share = _blocks(inner, block, np.mean)
        return _path("wall", ring + filled(share >= 0.5, left, top, block))

    def openings(self, block: int) -> Markup:
        """Where one can pass through the ring."""
        left, top = self.panel.corner
        ring = self.free.copy()
        ring[1:-1, 1:-1] = False
        spread = (block - 1) / 2
        squares = (
            f"M{number(left + column - spread)} {number(top + row - spread)}h{block}v{block}h{-block}z"
            for row, column in np.argwhere(ring).tolist()
        )
        return _path("floor", "".join(squares))

    def shades(self, block: int) -> Markup:
        """How often the plan is where, above which the hazards stay visible."""
        left, top = self.panel.corner
        seen = _blocks(self.traffic[0], block, np.max)
        bands = (
            _path(f"heat heat-{band}", filled((seen < above) & (seen >= least), left, top, block))
            for band, (above, least) in enumerate(pairwise((np.inf, *BANDS)))
        )
        return element("g", {}, *bands, _path("hatch", hatched(self._hazardous(block), left, top, block)))

    def _hazardous(self, block: int) -> BoolArray:
        hazardous = np.zeros(self.free.shape, dtype=np.bool_)
        for world in self.worlds:
            for hazard in world.hazards:
                column, row, width, height = hazard.rectangle
                hazardous[row : row + height, column : column + width] = True
        found: BoolArray = _blocks(hazardous & self.free, block, np.max)
        return found

    @cached_property
    def traffic(self) -> tuple[FloatArray, IntArray]:
        """For each cell the visits of all activities, and the heading of the busiest."""
        shape = (self.panel.height, self.panel.width)
        visits, most = np.zeros(shape), np.zeros(shape)
        headings = np.full(shape, -1, dtype=np.int64)
        for passage in self.passages:
            columns, rows = passage.cells.T
            visits[rows, columns] += passage.visits
            busier = passage.visits > most[rows, columns]
            most[rows[busier], columns[busier]] = passage.visits[busier]
            headings[rows[busier], columns[busier]] = passage.headings[busier]
        return visits, headings

    def arrows(self, stride: int) -> Markup:
        """The arrow of each cell, or of the busiest cell of each square of `stride` by `stride`."""
        visits, headings = self.traffic
        rows, columns = np.nonzero((visits >= BANDS[-1]) & (headings >= 0))
        order = np.argsort(visits[rows, columns], kind="stable")
        # The busiest of a square comes last, and so has it.
        busiest = {
            (row // stride, column // stride): (row, column)
            for row, column in zip(rows[order].tolist(), columns[order].tolist(), strict=True)
        }
        left, top = self.panel.corner
        drawn: list[list[str]] = [[] for _ in BANDS]
        for (down, across), (row, column) in sorted(busiest.items()):
            band = next(at for at, least in enumerate(BANDS) if visits[row, column] >= least)
            middle = (left + (across + 0.5) * stride, top + (down + 0.5) * stride)
            drawn[band].append(arrow(middle, int(headings[row, column]), band, stride))
        return element(
            "g", {"class": "arrows"},
            *(
                element("path", {"class": f"arrow-{band}", "d": "".join(paths)})
                for band, paths in enumerate(drawn)
                if paths
            ),
        )  # fmt: skip

    def title(self, pixels: float) -> Markup:
        """The name: large and pale in a room that stands on the map, else above it."""
        (left, top), width, height = self.panel.corner, self.panel.width, self.panel.height
        name, on_map = shortened(self.panel.title), self.panel.on_map
        size = min(width / (0.65 * len(name) + 1), height / 3, (44.0 if on_map else 13.0) / pixels)
        line = top + height * 0.6 if on_map else top - 0.6 * size
        place = {"x": left + width / 2, "y": line, "style": f"font-size:{number(size)}px"}
        return element("text", {"class": "room" if on_map else "room beside", **place}, name)


def _blocks(cells: npt.NDArray[Any], block: int, what: Callable[..., Any]) -> npt.NDArray[Any]:
    """The maximum or the mean of each block of cells."""
    if block == 1:
        return cells
    height, width = (-(-length // block) for length in cells.shape)
    padded = np.zeros((height * block, width * block), dtype=cells.dtype)
    padded[: cells.shape[0], : cells.shape[1]] = cells
    found: npt.NDArray[Any] = what(padded.reshape(height, block, width, block), axis=(1, 3))
    return found


def _path(kind: str, drawn: str) -> Markup:
    """A path, if there is anything of it."""
    return element("path", {"class": kind, "d": drawn}) if drawn else Markup()


def _hover(rooms: Sequence[_Room]) -> Iterator[Markup]:
    """What a hazard costs, told where the pointer rests on it."""
    places = [(room, hazard) for room in rooms for hazard in room.worlds[0].hazards]
    for room, hazard in places if len(places) <= _MOST_HAZARDS else ():
        column, row, width, height = hazard.rectangle
        costs = ", ".join(f"{name} {given(cost)}" for name, cost in hazard.costs.items())
        place = {"x": room.panel.corner[0] + column, "y": room.panel.corner[1] + row}
        told = element("title", {}, f"hazard: {costs} a step")
        yield element("rect", {"class": "hover", **place, "width": width, "height": height}, told)


def _marks(
    problem: HCSSP, plan: ProcedurePlan | None, panels: Sequence[Panel], pixels: float
) -> Iterator[Markup]:
    """A circle where the whole begins, a star where it ends, and the events at the openings."""
    tags: dict[tuple[float, float], list[str]] = {}
    size = max(0.22, 5.0 / pixels)
    for panel in panels:
        for index in panel.activities:
            world = problem.world(index)
            if world is None or (plan is not None and not plan.costs.activities[index].expected_executions):
                continue
            begin = problem.choices[int(problem.activity_choice[index])].event
            outcome = problem.activity_outcome[index]
            left, top = panel.corner
            goals: dict[int, list[tuple[float, float]]] = {event: [] for event in outcome.events}
            for column, row in world.goals:
                goals[outcome.event_after((column, row))].append((left + column + 0.5, top + row + 0.5))
            starts = [(left + column + 0.5, top + row + 0.5) for column, row in world.starts]
            if begin == problem.start:
                yield from (circle(*start, size) for start in starts)
            yield from (star(*goal, 1.45 * size) for goal in goals.get(problem.end, []))
            openings = [*goals.items(), (begin, starts if begin == problem.start else [])]
            for event, cells in openings:
                if len(cells) == 1:
                    near = next((known for known in tags if _distance(known, cells[0]) <= 2.0), cells[0])
                    names = tags.setdefault(near, [])
                    names += [] if problem.events[event] in names else [problem.events[event]]
    if len(problem.events) > 2 and len(tags) <= _MOST_TAGS:
        for (x, y), names in tags.items():
            for line, name in enumerate(names[:2]):
                above = y - (10.0 + 12.0 * line) / pixels
                style = f"font-size:{number(11.0 / pixels)}px"
                yield element("text", {"class": "tag", "x": x, "y": above, "style": style}, shortened(name))


def _distance(first: tuple[float, float], second: tuple[float, float]) -> float:
    return hypot(first[0] - second[0], first[1] - second[1])
