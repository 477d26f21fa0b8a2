"""The format of problem files, said once: the reader and the JSON Schema both come from these records.

``docs/file-format.md`` explains it with examples. What a record cannot say (whether names exist, rectangles
lie inside, probabilities sum to one) is found when the problem is made of it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf
from typing import ClassVar, get_args

from hcssp.files.problem_file.document import Field
from hcssp.files.problem_file.schema import (
    Definitions,
    Form,
    Part,
    Rule,
    at_least_one,
    bound,
    exactly_one,
    fixed,
    letter,
    list_of,
    map_of,
    name_text,
    not_beside,
    nothing,
    number,
    numbers,
    only_beside,
    optional,
    parameter,
    parameter_name,
    record,
    required,
    text,
    whole,
)
from hcssp.procedure.model import Choices

LARGEST_COST = 1e100
"""So that sums of costs do not overflow."""


Rectangles = tuple[int, ...] | list[tuple[int, ...] | None]

PROBABILITY = number("a probability between 0 and 1", 0, 1).defined("probability")

COST = number(f"a cost: a number from 0 to {LARGEST_COST:g}", 0, LARGEST_COST).defined("cost")

_ANY_AMOUNT = number(COST.what, -LARGEST_COST, LARGEST_COST)


def _take_amount(field: Field) -> float | None:
    """A cost, or less than 0 if the key of the field is a capacity."""
    value = _ANY_AMOUNT.take(field)
    if value is None or value >= 0.0 or (field.way and field.way[1] in field.parameters.capacities):
        return value
    given = field.value
    shown = field.parameters.described(given) if isinstance(given, str) else field.shown
    field.wrong(f"{shown} is not {COST.what}; only a capacity can be given back")
    return None


AMOUNT = replace(_ANY_AMOUNT, take=_take_amount).defined(
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
    "drawnHazard", "The cost of every step from there, and the exits in which it may end."
)

CELL = numbers("a cell [column, row]", 2).defined(
    "cell", "[column, row]; the wall around a grid is column 0 and row 0, and one beyond the last ones."
)

RECTANGLE = "a rectangle [column, row, width, height]"

RECTANGLES = (
    list_of("rectangles", numbers(RECTANGLE, 4)) | numbers(f"{RECTANGLE}, or a list of them", 4)
).defined("rectangles", "[column, row, width, height], or a list of such rectangles.")


class Sides(Part):
    """The probabilities of slipping to either side."""

    left = required(PROBABILITY)
    right = required(PROBABILITY)


SIZE = whole("a whole number of at least 1", 1, 10**15)

SLIP = (record("a probability for each side", Sides) | PROBABILITY).defined(
    "slip", "The probability that a step slips to a side, half of it to either; or one for each."
)

STEP_COST = (AMOUNTS | COST).defined(
    "stepCost", "The cost of every step: a number of the first cost, or costs by name; 1 by default."
)

INTENDED = "The probability that a step goes as intended; 1 - slip."

SLIP_ONCE = not_beside("slip", ("intended",), "slip and intended say the same thing; keep one of them")

EXIT = "From exits in which any step may end to their probabilities."


class HazardArea(Part):
    """Rectangles, what every step from there costs besides, and in which exits it may end."""

    rules = (at_least_one(("costs", "exit"), "the key 'costs' is missing, or 'exit'"),)

    at = required(RECTANGLES)
    costs = optional(AMOUNTS)
    exit = optional(EXITS)


LISTED_HAZARDS = list_of(
    "a list of hazards",
    record("a hazard, {at: [column, row, width, height], costs: {...}}", HazardArea),
)

DRAWN_HAZARDS = map_of("a mapping from letters of the map to costs", HAZARD, keys=letter("a hazard")).defined(
    "drawnHazards", "From letters of the map to the costs of every step from there, and its exits."
)


class _Grid(Part):
    """What rooms by size and rooms by map have in common."""

    rules = (SLIP_ONCE,)

    slip = optional(SLIP, 0.0)
    intended = optional(PROBABILITY, description=INTENDED)
    step_cost = optional(STEP_COST, 1.0)
    exit = optional(EXITS, description=EXIT)


class ListedGrid(_Grid):
    """A room by its size and rectangles."""

    width = required(SIZE)
    height = required(SIZE)
    hazards = optional(LISTED_HAZARDS)
    places = optional(map_of("a mapping from names to cells", CELL), description="Names for cells.")
    walls = optional(RECTANGLES)


class DrawnGrid(_Grid):
    """A room by its map."""

    map = required(
        list_of("a map", text("a line of the map"), empty="the map is empty")
        | text("a map: a text of several lines after |, or a list of texts"),
        "'#' wall, '.' free, 'S' start, 'G' goal, and the letters of hazards and places.",
    )
    hazards = optional(DRAWN_HAZARDS)
    places = optional(
        map_of("a mapping from names to cells", CELL | letter("a place")),
        description="Names for cells, or for the cells that a letter draws.",
    )


GRID = record("a grid", DrawnGrid, known_by="map") | record("a grid", ListedGrid)


FORMAT, VERSION = "hcssp-problem", 1


Target = tuple[int, ...] | str
"""A cell, or the name of a place or a state."""

COST_NAMES = list_of(
    "a list of costs, the one to minimise first",
    name_text("the name of a cost"),
    empty="the list of costs is empty; name at least the one to minimise",
    twice="the cost {!r} is named twice",
).defined("costNames", "The cost to minimise, then the others, which constraints can count.")


def _target(what: str) -> Form[Target]:
    cell = numbers(f"{what}: write a cell [column, row], or a name")
    name = name_text(f"{what}: a cell [column, row], or the name of a place or state")
    about = "A cell, or the name of a place of the grid or of a state of the table."
    return (cell | name).defined("target", about)


class Action(Part):
    """Where an action leads and what it costs."""

    to = required(
        map_of("states", PROBABILITY, empty="it leads nowhere; give it at least one next state")
        | name_text("a state, or a mapping from states to probabilities")
    )
    costs = optional(AMOUNTS)
    arrival_costs = optional(
        map_of("a mapping from next states to costs", AMOUNTS),
        description="Additional costs if a next state is reached.",
    )


TABLE_SUFFIXES = (".csv", ".drn", ".umb", ".prism", ".nm", ".pm", ".jani")
"""What the names of tables and models beside a problem file end in."""


def _file(what: str, called: str, suffixes: tuple[str, ...]) -> Form[str]:
    """The name of a file that ends in one of these, in small letters or capitals."""
    letters = ("".join(f"[{each}{each.upper()}]" for each in suffix[1:]) for suffix in suffixes)
    endings = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}"

    def problem(file: str) -> str | None:
        known = file.lower().endswith(suffixes)
        return None if known else f"{file!r} is not {called}; its name must end in {endings}"

    return text(what, problem, pattern=rf"\.({'|'.join(letters)})$")


Table = dict[str, dict[str, Action | None] | None]

ACTIONS = map_of(
    "a mapping from actions to where they lead",
    record("where an action leads, {to: ..., costs: {...}}", Action),
)

TABLE = map_of(
    "a mapping from states to their actions",
    nothing({}) | ACTIONS,
    empty="the table is empty; give at least one state with an action",
).defined("table", "From states to actions to their next states and costs.")


class PossibleStart(Part):
    """One of several starts."""

    at = required(_target("a start"))
    probability = required(PROBABILITY)


START = list_of(
    "starts",
    record("a start with its probability", PossibleStart),
    empty="the list of starts is empty; give at least one",
) | _target("a start")

GOAL = list_of(
    "goals", _target("a goal"), empty="the list of goals is empty; give at least one", never="a number"
) | _target("a goal")

CONSTANTS_OF_A_FILE = only_beside(("constants",), "file", "only a model in a file has constants")

POSITION_OF_A_GRID = not_beside("position", ("table", "file"), "only a grid has a position on a map")


class Model(Part):
    """A grid or a table, and where activities in it start and end."""

    rules: ClassVar[tuple[Rule, ...]] = (
        exactly_one(("grid", "table", "file"), "its model is missing"),
        POSITION_OF_A_GRID,
        CONSTANTS_OF_A_FILE,
    )

    grid = optional(GRID)
    table = optional(TABLE)
    file = optional(
        _file("the name of a table or a model", "a table that can be read", TABLE_SUFFIXES),
        description="A table (CSV, DRN) or a model (PRISM, JANI, UMB) inside the problem file's folder.",
    )
    constants = optional(
        map_of("a mapping from constants to numbers", number("a number")),
        description="The undefined constants of a model in PRISM or JANI.",
    )
    costs = optional(COST_NAMES)
    position = optional(
        numbers("a position [column, row]", 2, whole(least=-(10**6), most=10**6)),
        description="The cell of the top-left wall of a grid on a map of the whole building.",
    )
    start = optional(START)
    goal = optional(GOAL)
    give_up = optional(
        COSTS, description="The penalty for ending the activity in a dead end, where no goal can be reached."
    )
    description = optional(text())


OTHER_NUMBERS = ("slip", "intended", "step_cost", "hazards", "exit", "actions")
"""The keys with which an activity changes the grid or the table that it refers to."""


class Activity(Model):
    """A model of its own, a shared one or another activity's, perhaps with other ends; or a procedure."""

    rules: ClassVar[tuple[Rule, ...]] = (
        exactly_one(("grid", "table", "file", "model", "procedure"), "its model is missing"),
        POSITION_OF_A_GRID,
        CONSTANTS_OF_A_FILE,
        *(
            not_beside(key, ("procedure",), f"a procedure has no {key} of its own; say it inside")
            for key in ("costs", "start", "goal", "give_up", "entries", "hands_over")
        ),
        *(
            not_beside(key, ("model",), f"the {key} belongs to the model that is referred to; say it there")
            for key in ("costs", "position")
        ),
        SLIP_ONCE,
        only_beside(
            OTHER_NUMBERS,
            "model",
            "this changes a model that is referred to; say it in the grid or table itself",
        ),
    )

    model = optional(name_text("the name of a model or an activity"))
    procedure = optional(
        name_text("the name of a procedure"),
        description="The procedure that this activity is, one of 'procedures'.",
    )
    entries = optional(
        map_of("a mapping from exits to states", _target("a state")),
        description="From the exits of the previous activity to the states in which this one starts.",
    )
    hands_over = optional(
        map_of("a mapping from exits to labels", name_text("a label")),
        description="From goals to the labels that they pass on; other goals pass on none.",
    )
    slip = optional(SLIP, description="Replaces the slip of the model's grid.")
    intended = optional(PROBABILITY, description="Replaces that of the model's grid.")
    step_cost = optional(STEP_COST, description="Replaces that of the model's grid.")
    hazards = optional(
        LISTED_HAZARDS | DRAWN_HAZARDS,
        description="Replaces those of the model's grid; other letters are unchanged.",
    )
    exit = optional(EXITS, description="Replaces those of the model's grid.")
    actions = optional(
        TABLE,
        description="Replaces those of the model's table; other actions are unchanged.",
    )


class Outcome(Part):
    """Where a choice may lead."""

    to = required(
        map_of(
            "exits",
            name_text("the name of an event"),
            empty="no exit is named; name the event that each exit of the activity leads to",
        )
        | name_text("the name of an event, or a mapping from exits to events"),
        "The event that is reached, or one for each exit of the activity.",
    )
    runs = optional(name_text("the name of an activity"), description="The activity that is run on the way.")
    probability = optional(PROBABILITY)


Choice = Outcome | list[Outcome | None]

OUTCOME = record("an outcome, {to: an event, runs: an activity}", Outcome)

CHOICE = (
    list_of("outcomes", record(OUTCOME.what, Outcome, besides=("probability",)), least=2)
    | list_of("outcomes", OUTCOME, most=1, empty="there are no outcomes; say where the choice leads")
    | OUTCOME
).defined("choice", "One outcome, or several with their probabilities.")


class Procedure(Part):
    """Which activity runs when."""

    start = required(name_text("the name of an event"))
    end = required(name_text("the name of an event"))
    events = required(
        map_of(
            "a mapping from events to choices",
            nothing({}) | map_of("a mapping from choices to outcomes", CHOICE),
        ),
        "From events to their choices; the end has none.",
    )
    choices = optional(
        fixed("{} is not known; write " + " or ".join(map(repr, get_args(Choices))), *get_args(Choices)),
        description="Whether the choice at an event may depend on the state in which it is entered. By "
        "default 'per state': it may; 'per event' makes one choice.",
    )


class Probability(Part):
    """An upper bound on the probability that something happens."""

    of = required(
        map_of("activities", _target("a state"), empty="no state is named; name one for each activity")
        | name_text("an event, a state, or a mapping from activities to states"),
        "The event that is reached, or the state, cell or exit that is entered; or one for each activity.",
    )
    at_most = optional(PROBABILITY, inf, "The bound; none by default.")


class BoundedProbability(Part):
    """A constraint on a probability."""

    probability = required(record("a probability, {of: an event or a state, at_most: a number}", Probability))


class Constraint(Part):
    """An upper bound on an expected sum over the whole procedure."""

    at_most = optional(bound("a bound: a finite number, or inf for none"), inf)
    counts = optional(
        map_of(
            "activities",
            name_text("the name of a cost"),
            empty="it counts nothing; say which cost of which activities it counts",
        )
        | name_text("a cost, or a mapping from activities to costs"),
        description="A cost, of all activities that have it; or from activities to costs. By default the "
        "cost that has the constraint's name.",
    )
    probability_of = optional(
        name_text("what it is the probability of"),
        description="For output: the event whose probability the sum is, if no run counts more than 1.",
    )


ACTIVITIES = map_of("a mapping from names to activities", record("an activity", Activity))

CONSTRAINT = "a constraint, {at_most: a number, counts: a cost}"


class UsedProcedure(Part):
    """A procedure that activities can be, with activities of its own; or a problem file that holds one."""

    rules: ClassVar[tuple[Rule, ...]] = (
        exactly_one(("activities", "file"), "its activities are missing"),
        *(
            not_beside(key, ("file",), f"the {key} of this procedure are in the file; say it there")
            for key in ("procedure", "constraints")
        ),
    )

    activities = optional(ACTIVITIES)
    procedure = optional(record("a procedure", Procedure))
    constraints = optional(
        map_of("a mapping from names to constraints", record(CONSTRAINT, Constraint)),
        description="The sums that outer constraints can count. By default every cost, under its name.",
    )
    file = optional(
        _file("the name of a problem file", "a problem file", (".yaml", ".yml", ".json")),
        description="A problem file inside this one's folder.",
    )
    description = optional(text())


class WrittenCapacity(Part):
    """How much of something may be used in any single run."""

    at_most = required(number("an amount: a number of at least 0", 0, LARGEST_COST))
    step = optional(
        number("a step: a positive number", 1e-100, LARGEST_COST),
        1.0,
        "The step of counting: uses are rounded up to whole steps; 1 by default.",
    )
    probability = optional(PROBABILITY, 0.0, "The probability that a run may exceed it; 0 by default.")
    used = optional(
        number("an amount: a number of at least 0", 0, LARGEST_COST),
        0.0,
        "The amount used when the procedure begins; 0 by default.",
    )


CAPACITIES = map_of(
    "a mapping from names to capacities",
    record("a capacity, {at_most: a number, step: a number}", WrittenCapacity),
)

LINE = list_of(
    "coordinates", number("a coordinate: a number", -1e9, 1e9), empty="a line without points"
).defined("line", "A point [x, y] or a line [x, y, x, y, ...], with y upwards.")

LINES = map_of("a mapping from names to lines", LINE)


class Floor(Part):
    """One level of a drawing of the site."""

    walls = optional(list_of("lines", LINE))
    doors = optional(LINES)
    lifts = optional(LINES)
    places = optional(LINES)
    paths = optional(LINES, description="From models or activities to the lines that they follow.")


PARAMETERS = map_of("a mapping from names to numbers", parameter(), keys=parameter_name())


class Problem(Part):
    """A hierarchical constrained stochastic shortest path problem."""

    format = required(fixed(f"{{}} is not a problem file; write 'format: {FORMAT}'", FORMAT))
    version = required(fixed(f"version {{}} cannot be read; this hcssp reads version {VERSION}", VERSION))
    name = optional(name_text("a name"))
    description = optional(text())
    parameters = optional(
        PARAMETERS,
        description="Numbers by name, which arithmetic such as '1 - slip' may use wherever a number stands.",
    )
    costs = required(COST_NAMES)
    maximise = optional(
        name_text("the name of a cost"),
        description="The cost that is a reward to maximise, instead of minimising the first cost.",
    )
    units = optional(
        map_of("a mapping from costs to units", name_text("a unit")),
        description="The units of costs, for texts and pictures.",
    )
    capacities = optional(CAPACITIES, description="Amounts that no run may exceed, such as a battery.")
    models = optional(
        map_of("a mapping from names to models", record("a model", Model)),
        description="Models that several activities share, such as rooms.",
    )
    procedures = optional(
        map_of("a mapping from names to procedures", record("a procedure", UsedProcedure)),
        description="Procedures that activities can be.",
    )
    activities = required(ACTIVITIES)
    procedure = optional(record("a procedure", Procedure))
    constraints = optional(
        map_of(
            "a mapping from names to constraints",
            record("a bound on a probability", BoundedProbability, known_by="probability")
            | record(CONSTRAINT, Constraint, besides=("at_most",)),
        )
    )
    drawing = optional(
        map_of("a mapping from levels to drawings", record("the drawing of a level", Floor)),
        description="For reports: a drawing of a site whose activities are not grids, level by level.",
    )


PROBLEM = record("a problem, a mapping with the key 'format'", Problem)


def schema_text() -> str:
    """The JSON Schema of problem files, for editors and other programs.

    The reader finds more than a schema can, and says where. What the reader accepts the schema accepts.
    """
    definitions = Definitions()
    about = "YAML and JSON files have the same schema; docs/file-format.md explains it."
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"hcssp problem file, version {VERSION}",
        "description": f"{PROBLEM.description} {about}",
        **PROBLEM.schema(definitions),
        "$defs": definitions.schemas,
    }
    return json.dumps(schema, indent=2) + "\n"
