"""The evacuation scenario: a robot leaves a burning building of six rooms.

The scenario of the evaluation in Hong and Williams, *Hierarchical Constrained Stochastic Shortest Path
Planning via Cost Budget Allocation*, with its six rooms, fourteen activities and two doors. Every step
takes a unit of time, every step from a burning cell does 50 damage, and the expected damage until the
exit is bounded. The flat problem has 18,644 states, which is the paper's own figure.

There are two sets of parameters. The paper's text gives a probability of 0.85 that a step goes as
intended and 0.1 that a door is locked, but its table of results was computed with 0.9 and 0.01: with
those the optima over stochastic policies are the table's "MILP" objectives, with the text's every figure
is far off. :func:`evacuation` is the one that reproduces the table, :func:`evacuation_text` the other.

The file ``starters/evacuation.yaml`` states both; ``starters/small-building.yaml`` is :func:`small_building`.

>>> print(evacuation(bound=2.0))
procedure: 14 events, 14 activities, 1 constraint; minimise time
start
  choose go-to-NE
    run go-to-NE (1,328 states), reach hallway-NW-NE
      choose cross-NE
        run cross-NE (1,362 states), reach hallway-NE-E
          choose cross-E-to-W
            run cross-E-to-W (1,362 states), reach hallway-E-W
              choose go-from-E-to-door-2
                run go-from-E-to-door-2 (1,328 states), reach at-door-2
                  choose open-door-2
                    0.99: reach door-2-open
                      choose leave-from-door-2
                        run leave-from-door-2 (1,289 states), reach exit, the end
                    0.01: reach door-2-locked
                      choose return-from-door-2-to-E
                        run return-from-door-2-to-E (1,328 states), reach hallway-W-E
                          choose cross-E-from-W-to-SE
                            run cross-E-from-W-to-SE (1,362 states), reach hallway-E-SE
                              choose cross-SE
                                run cross-SE (1,322 states), reach hallway-SE-SW
                                  choose leave-from-SE
                                    run leave-from-SE (1,289 states), reach exit, the end
          choose cross-E-to-SE
            run cross-E-to-SE (1,362 states), reach hallway-E-SE (see above)
  choose go-to-door-1
    run go-to-door-1 (1,328 states), reach at-door-1
      choose open-door-1
        0.99: reach door-1-open
          choose go-from-door-1-to-E
            run go-from-door-1-to-E (1,328 states), reach hallway-W-E (see above)
          choose go-from-door-1-to-door-2
            run go-from-door-1-to-door-2 (1,328 states), reach at-door-2 (see above)
        0.01: reach door-1-locked
          choose return-from-door-1-to-NE
            run return-from-door-1-to-NE (1,328 states), reach hallway-NW-NE (see above)
constraint damage <= 2: counts damage of go-to-NE, cross-NE, cross-E-to-W, cross-E-to-SE, cross-SE,
leave-from-SE, go-from-E-to-door-2, go-to-door-1, go-from-door-1-to-E, return-from-door-1-to-NE,
go-from-door-1-to-door-2, cross-E-from-W-to-SE, return-from-door-2-to-E, leave-from-door-2
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isqrt
from typing import NamedTuple

from hcssp.cssp.grid import Cell, GridWorld
from hcssp.errors import InvalidProblem
from hcssp.files.problem_file.loading import load
from hcssp.parameters import Parameter
from hcssp.procedure import HCSSP
from hcssp.scenarios.scenario import STARTERS, Scenario, Size, register
from hcssp.threads import parallel_map

DEFAULT_BOUND = 2.0
"""The damage allowed by default: one of the seven bounds of the paper's table."""

MOST_CELLS = 20_000_000
"""Cells of all activities together; more do not fit into the memory of most machines."""


def evacuation(bound: float = DEFAULT_BOUND, scale: int = 1) -> HCSSP:
    """The scenario with the parameters that the paper's table was computed with.

    Parameters
    ----------
    bound
        The damage that is allowed, in expectation over the whole way.
    scale
        Multiplies every length, so that the number of states grows with its square.
    """
    return TABLE.make(scale).with_bounds(damage=bound)


def evacuation_text(bound: float = DEFAULT_BOUND, scale: int = 1) -> HCSSP:
    """The scenario with the parameters of the paper's text; see :func:`evacuation`."""
    return TEXT.make(scale).with_bounds(damage=bound)


def evacuation_rooms(scale: int = 1) -> dict[str, GridWorld]:
    """The grid world of each activity, for pictures; ``evacuation().positions`` places the rooms."""
    return {each.name: _world(each.cssp.world) for each in evacuation(scale=scale).activities}


def small_building(bound: float = DEFAULT_BOUND) -> HCSSP:
    """A procedure like :func:`evacuation`, of three small rooms and one door.

    >>> problem = small_building(bound=1.0)
    >>> problem.num_activities, sum(activity.cssp.num_states for activity in problem.activities)
    (5, 63)
    """
    return SMALL.make().with_bounds(damage=bound)


def scaled(problem: HCSSP, scale: int) -> HCSSP:
    """A procedure in rooms with every length multiplied: a cell becomes a block of cells.

    Raises
    ------
    InvalidProblem
        If the scale is not a whole number of at least one, or too large.
    """
    if scale != int(scale) or scale < 1:
        raise InvalidProblem(f"scale {scale}: give a whole number of at least 1")
    worlds = [_world(activity.cssp.world) for activity in problem.activities]
    cells = sum(world.width * world.height for world in worlds)
    if scale * scale * cells > MOST_CELLS:
        most = isqrt(MOST_CELLS // cells)
        message = f"scale {scale}: the rooms would have {scale * scale * cells:,} cells; give at most {most}"
        raise InvalidProblem(message)
    if scale == 1:
        return problem
    larger = [_scaled_room(world, scale) for world in worlds]
    cssps = parallel_map(GridWorld.to_cssp, larger, scale * scale * cells)
    names = [activity.name for activity in problem.activities]
    changed = problem.with_activities(dict(zip(names, cssps, strict=True)))
    # Neighbouring rooms share a wall, which is one cell thick at every scale.
    columns, rows = (sorted(set(places)) for places in zip(*problem.positions.values(), strict=True))
    positions = {
        room: (
            scale * (column - columns.index(column)) + columns.index(column),
            scale * (row - rows.index(row)) + rows.index(row),
        )
        for room, (column, row) in problem.positions.items()
    }
    return changed.named(problem.name, problem.description, positions)


def _scaled_room(room: GridWorld, scale: int) -> GridWorld:
    hazards = [
        replace(
            hazard,
            column=scale * (hazard.column - 1) + 1,
            row=scale * (hazard.row - 1) + 1,
            width=scale * hazard.width,
            height=scale * hazard.height,
        )
        for hazard in room.hazards
    ]

    def opening(cell: Cell) -> Cell:
        """Where an opening is in the larger room: in the same wall, as far along it."""
        column, row = cell
        return (
            scale * room.width + 1 if column == room.width + 1 else scale * column,
            scale * room.height + 1 if row == room.height + 1 else scale * row,
        )

    return replace(
        room,
        width=scale * room.width,
        height=scale * room.height,
        start={opening(cell): chance for cell, chance in room.starts.items()},
        goal=tuple(map(opening, room.goals)),
        hazards=hazards,
    )


def _world(world: object) -> GridWorld:
    if not isinstance(world, GridWorld):
        raise InvalidProblem("only a problem in rooms can be scaled")
    return world


def _registered(
    name: str, description: str, size: Size, large: int, file: str, defaults: Mapping[str, float]
) -> Scenario:
    """Register the problem of a file under a name and with other defaults of its parameters."""
    parameters = (
        Parameter("intended", defaults["intended"], "the probability that a step goes where intended", 0, 1),
        Parameter("locked", defaults["locked"], "the probability that a door is locked", 0, 1),
        Parameter("damage", defaults["damage"], "the damage of every step from a burning cell", 0),
    )

    def build(scale: int, **settings: float) -> HCSSP:
        problem = load(STARTERS / file, parameters={**defaults, **settings})
        # Messages name the activities of a built-in problem, not the lines of its file.
        sources = dict.fromkeys((activity.name for activity in problem.activities), "")
        return scaled(problem.named(name, description, sources=sources), scale)

    made = Scenario(name, description, build, parameters, size, {}, {"scale": large}, states=file)
    register(made)
    return made


TABLE = _registered(
    "evacuation",
    "six burning rooms, with the parameters behind the paper's table",
    Size(18_644, 14, 1),
    4,
    "evacuation.yaml",
    {"intended": 0.9, "locked": 0.01, "damage": 50.0},
)
TEXT = _registered(
    "evacuation-text",
    "the same rooms, with the parameters of the paper's text",
    Size(18_644, 14, 1),
    4,
    "evacuation.yaml",
    {"intended": 0.85, "locked": 0.1, "damage": 50.0},
)
SMALL = _registered(
    "small-building",
    "three small rooms and a door, for tests and first steps",
    Size(64, 5, 1),
    8,
    "small-building.yaml",
    {"intended": 0.8, "locked": 0.2, "damage": 5.0},
)


SHARES = (0.1, 0.2, 0.5)
"""The shares of the MILP's time after which the method's gap was published."""


class PublishedGap(NamedTuple):
    """The gap of the authors' method, as a fraction, and when the plan behind it was found."""

    gap: float
    seconds: float


class PublishedRow(NamedTuple):
    """One row of the table; a gap is None where the method had no plan yet."""

    bound: float
    objective: float
    seconds: float
    gaps: tuple[PublishedGap | None, ...]


# fmt: off
_TABLE = (
    # bound  MILP    seconds   gap in % and seconds at 10%, at 20% and at 50% of the MILP's time
    (0.01,  145.71,  404.95,  ((0.00, 25.77), (0.00, 25.77), (0.00, 25.77))),
    (0.1,   145.64,  203.35,  (None,          (0.05, 24.27), (0.05, 24.27))),
    (1.0,   145.11,  211.27,  (None,          (0.07, 39.20), (0.07, 39.20))),
    (2.0,   144.70,  127.31,  (None,          (0.35, 21.95), (0.35, 38.05))),
    (5.0,   143.48,  143.48,  (None,          (1.19, 21.85), (1.19, 21.85))),
    (8.0,   142.68,  135.75,  (None,          (1.74, 21.56), (0.45, 27.69))),
    (10.0,  142.18,  336.44,  ((0.04, 21.88), (0.04, 21.88), (0.04, 21.88))),
)
# fmt: on

LIKELIHOODS = {
    "go-to-NE": 1.0,
    "cross-NE": 1.0,
    "cross-E-to-W": 1.0,
    "cross-E-to-SE": 1.0,
    "cross-SE": 1.0,
    "leave-from-SE": 1.0,
    "go-from-E-to-door-2": 1.0,
    "go-to-door-1": 1.0,
    "go-from-door-1-to-E": 0.99,
    "return-from-door-1-to-NE": 0.01,
    "go-from-door-1-to-door-2": 0.99,
    "cross-E-from-W-to-SE": 0.99,
    "return-from-door-2-to-E": 0.0099,
    "leave-from-door-2": 0.9801,
}
"""The likelihoods of the activities in the authors' program. The paper asks for the least ones: 0.01 for six
of those that are 1 here, and a hundredth of the last three."""

PUBLISHED = tuple(
    PublishedRow(
        bound,
        objective,
        seconds,
        tuple(None if found is None else PublishedGap(found[0] / 100, found[1]) for found in gaps),
    )
    for bound, objective, seconds, gaps in _TABLE
)
"""The seven rows, by increasing bound."""
