"""The part of the format that is about numbers and grids; see :mod:`hcssp.files.problem_file.format`."""

from __future__ import annotations

from dataclasses import dataclass

from hcssp.files.problem_file.forms import letter, list_of, map_of, text
from hcssp.files.problem_file.number_forms import number, numbers, whole
from hcssp.files.problem_file.records import AnyOf, NotBeside, Part, optional, record, required

LARGEST_COST = 1e100
"""So that sums of costs do not overflow."""

Costs = dict[str, float | None]
Exits = dict[str, float | None]
CostsAndExits = dict[str, float | Exits | None]
Rectangles = tuple[int, ...] | list[tuple[int, ...] | None]
PROBABILITY = number("a probability between 0 and 1", 0, 1).defined("probability")
COST = number(f"a cost: a number from 0 to {LARGEST_COST:g}", 0, LARGEST_COST).defined("cost")
AMOUNT = number(COST.what, -LARGEST_COST, LARGEST_COST).defined(
    "amount", f"A cost from 0 to {LARGEST_COST:g}, or less than 0 if a capacity is given back."
)
AMOUNTS = map_of("a mapping from costs to numbers", AMOUNT).defined(
    "amounts", "From costs and capacities to numbers; what is not named is 0."
)
COSTS = map_of("a mapping from costs to numbers", COST).defined(
    "costs", "From costs to numbers; a cost that is not named is 0."
)
EXITS = map_of(
    "a mapping from exits to probabilities",
    PROBABILITY,
    empty="no exit is named; name one, or leave the key out",
).defined("exits", "From exits, which end the activity, to the probabilities that a step ends there.")
HAZARD = map_of("a mapping from costs to numbers", AMOUNT, special={"exit": AMOUNT | EXITS}).defined(
    "drawnHazard", "What every step from there costs, and in which exits it may end."
)
CELL = numbers("a cell [column, row]", 2).defined(
    "cell", "[column, row]; the wall around a grid is column 0 and row 0, and one beyond the last ones."
)
RECTANGLE = "a rectangle [column, row, width, height]"
RECTANGLES = (
    list_of("rectangles", numbers(RECTANGLE, 4)) | numbers(f"{RECTANGLE}, or a list of them", 4)
).defined("rectangles", "[column, row, width, height], or a list of such rectangles.")


@dataclass(frozen=True)
class Sides(Part):
    """The probabilities of slipping to either side."""

    left: float | None = required(PROBABILITY)
    right: float | None = required(PROBABILITY)


SIZE = whole("a whole number of at least 1", 1, 10**15)
SLIP = (record("a probability for each side", Sides) | PROBABILITY).defined(
    "slip", "The probability that a step slips to a side, half of it to either; or one for each."
)
STEP_COST = (AMOUNTS | COST).defined(
    "stepCost", "What every step costs: a number of the first cost, or costs by name. By default 1."
)
INTENDED = "The probability that a step goes as intended; 1 - slip."
SLIP_ONCE = NotBeside("slip", ("intended",), "slip and intended say the same thing; keep one of them")


EXIT = "In which exits any step may end, with what probabilities."


@dataclass(frozen=True)
class HazardArea(Part):
    """Rectangles, what every step from there costs besides, and in which exits it may end."""

    rules = (AnyOf(("costs", "exit"), "the key 'costs' is missing, or 'exit'"),)

    at: Rectangles | None = required(RECTANGLES)
    costs: Costs | None = optional(AMOUNTS)
    exit: Exits | None = optional(EXITS)


LISTED_HAZARDS = list_of(
    "a list of hazards",
    record("a hazard, {at: [column, row, width, height], costs: {...}}", HazardArea),
)
DRAWN_HAZARDS = map_of("a mapping from letters of the map to costs", HAZARD, keys=letter("a hazard")).defined(
    "drawnHazards", "From letters of the map to the costs of every step from there, and its exits."
)


@dataclass(frozen=True)
class ListedGrid(Part):
    """A room by its size and rectangles."""

    rules = (SLIP_ONCE,)

    width: int | None = required(SIZE)
    height: int | None = required(SIZE)
    hazards: list[HazardArea | None] | None = optional(LISTED_HAZARDS)
    slip: float | Sides = optional(SLIP, 0.0)
    intended: float | None = optional(PROBABILITY, description=INTENDED)
    step_cost: float | Costs = optional(STEP_COST, 1.0)
    exit: Exits | None = optional(EXITS, description=EXIT)
    places: dict[str, tuple[int, ...] | None] | None = optional(
        map_of("a mapping from names to cells", CELL), description="Names for cells."
    )
    walls: Rectangles | None = optional(RECTANGLES)


@dataclass(frozen=True)
class DrawnGrid(Part):
    """A room by its map."""

    rules = (SLIP_ONCE,)

    map: str | list[str | None] | None = required(
        list_of("a map", text("a line of the map"), empty="the map is empty")
        | text("a map: a text of several lines after |, or a list of texts"),
        "'#' wall, '.' free, 'S' start, 'G' goal, and the letters of hazards and places.",
    )
    hazards: dict[str, CostsAndExits | None] | None = optional(DRAWN_HAZARDS)
    slip: float | Sides = optional(SLIP, 0.0)
    intended: float | None = optional(PROBABILITY, description=INTENDED)
    step_cost: float | Costs = optional(STEP_COST, 1.0)
    exit: Exits | None = optional(EXITS, description=EXIT)
    places: dict[str, tuple[int, ...] | str | None] | None = optional(
        map_of("a mapping from names to cells", CELL | letter("a place")),
        description="Names for cells, or for the cells that a letter draws.",
    )


GRID = record("a grid", DrawnGrid, known_by="map") | record("a grid", ListedGrid)
