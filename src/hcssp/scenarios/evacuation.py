"""The evacuation scenario: a robot leaves a burning building of six rooms.

The scenario of the evaluation in Hong and Williams, *Hierarchical Constrained Stochastic Shortest Path
Planning via Cost Budget Allocation*, with its six rooms, fourteen activities and two doors. Every step
takes a unit of time, every step from a burning cell does 50 damage, and the expected damage until the
exit is bounded. The flat problem has 18,644 states, which is the paper's own figure.

There are two sets of parameters. The paper's text gives a probability of 0.85 that a step goes as
intended and 0.1 that a door is locked, but its table of results was computed with 0.9 and 0.01: with
those the optima over stochastic policies are the table's "MILP" objectives, with the text's every figure
is far off. :func:`evacuation` is the one that reproduces the table, :func:`evacuation_text` the other.

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

from dataclasses import replace

from hcssp.cssp.grid import GridWorld
from hcssp.procedure import HCSSP
from hcssp.scenarios.building import Building, Crossing, Door, Room

# Rooms stand two by three; hazards are (column, row, width, height), cells count from 1 at the top left.
# fmt: off
ROOMS = {
    #           place   width x height  hazards
    "NW": Room((0, 0),     39, 34,      ((8, 2, 8, 2), (24, 3, 8, 3), (10, 7, 5, 2))),
    "NE": Room((1, 0),     40, 34,      ((8, 2, 9, 3), (11, 7, 10, 2))),
    "W":  Room((0, 1),     39, 34,      ((20, 2, 12, 2), (4, 4, 6, 2), (29, 6, 5, 2))),
    "E":  Room((1, 1),     40, 34,      ((6, 2, 6, 2), (15, 5, 8, 2))),
    "SW": Room((0, 2),     39, 33,      ((25, 3, 9, 2), (6, 6, 11, 2))),
    "SE": Room((1, 2),     40, 33,      ((4, 2, 7, 3),)),
}

# In the paper's order. An opening is a cell of the wall around the room: column 0 or row 0, or one beyond
# the last. The robot's first cell and the exit are openings too.
CROSSINGS = (
    #         activity                    room  start     goal      from event       to event
    Crossing("go-to-NE",                 "NW", (0, 1),   (40, 4),  "start",         "hallway-NW-NE"),
    Crossing("cross-NE",                 "NE", (0, 4),   (37, 35), "hallway-NW-NE", "hallway-NE-E"),
    Crossing("cross-E-to-W",             "E",  (37, 0),  (0, 4),   "hallway-NE-E",  "hallway-E-W"),
    Crossing("cross-E-to-SE",            "E",  (37, 0),  (37, 35), "hallway-NE-E",  "hallway-E-SE"),
    Crossing("cross-SE",                 "SE", (36, 0),  (0, 4),   "hallway-E-SE",  "hallway-SE-SW"),
    Crossing("leave-from-SE",            "SW", (40, 4),  (10, 34), "hallway-SE-SW", "exit"),
    Crossing("go-from-E-to-door-2",      "W",  (40, 4),  (10, 35), "hallway-E-W",   "at-door-2"),
    Crossing("go-to-door-1",             "NW", (0, 1),   (10, 35), "start",         "at-door-1"),
    Crossing("go-from-door-1-to-E",      "W",  (10, 0),  (40, 4),  "door-1-open",   "hallway-W-E"),
    Crossing("return-from-door-1-to-NE", "NW", (10, 35), (40, 4),  "door-1-locked", "hallway-NW-NE"),
    Crossing("go-from-door-1-to-door-2", "W",  (10, 0),  (10, 35), "door-1-open",   "at-door-2"),
    Crossing("cross-E-from-W-to-SE",     "E",  (0, 4),   (36, 35), "hallway-W-E",   "hallway-E-SE"),
    Crossing("return-from-door-2-to-E",  "W",  (10, 35), (40, 4),  "door-2-locked", "hallway-W-E"),
    Crossing("leave-from-door-2",        "SW", (10, 0),  (10, 34), "door-2-open",   "exit"),
)

DOORS = (
    #     door      tried at     opens into     or turns out to be
    Door("door-1", "at-door-1", "door-1-open", "door-1-locked"),
    Door("door-2", "at-door-2", "door-2-open", "door-2-locked"),
)

EVENTS = (
    "start",                                                                       # the paper's s
    "hallway-NW-NE", "hallway-NE-E", "hallway-E-W", "hallway-E-SE", "hallway-SE-SW",   # t1 to t5
    "at-door-1", "door-1-open",                                                    # t6, t7
    "hallway-W-E",                                                                 # t8
    "at-door-2", "door-2-open", "door-2-locked",                                   # t9 to t11
    "door-1-locked",                                                               # t12
    "exit",                                                                        # g
)
# fmt: on

TABLE = Building(
    ROOMS,
    CROSSINGS,
    DOORS,
    EVENTS,
    intended=0.9,
    locked=0.01,
    name="evacuation",
    description="six burning rooms, with the parameters behind the paper's table",
)
"""The building with the parameters that the paper's table was computed with."""

TEXT = replace(
    TABLE,
    intended=0.85,
    locked=0.1,
    name="evacuation-text",
    description="the same rooms, with the parameters of the paper's text",
)
"""The building with the parameters of the paper's text."""

DEFAULT_BOUND = 2.0
"""The damage allowed if nothing is said: one of the seven bounds of the paper's table."""


def evacuation(bound: float = DEFAULT_BOUND, scale: int = 1) -> HCSSP:
    """The scenario with the parameters that the paper's table was computed with.

    Parameters
    ----------
    bound
        The damage that is allowed, in expectation over the whole way.
    scale
        Multiplies every length, so that the number of states grows with its square.
    """
    return TABLE.scaled(scale).procedure(bound)


def evacuation_text(bound: float = DEFAULT_BOUND, scale: int = 1) -> HCSSP:
    """The scenario with the parameters of the paper's text; see :func:`evacuation`."""
    return TEXT.scaled(scale).procedure(bound)


def evacuation_rooms(scale: int = 1) -> dict[str, GridWorld]:
    """The grid world of each activity, for pictures: ``TABLE.corners()`` says where its room stands."""
    return TABLE.scaled(scale).grids()


# fmt: off
SMALL = Building(
    rooms={
        #          place   width x height  hazards
        "W":  Room((0, 0),     4, 3,       ((2, 2, 2, 1),)),
        "E":  Room((1, 0),     3, 3,       ((2, 1, 1, 2),)),
        "SW": Room((0, 1),     4, 2,       ((2, 1, 1, 1),)),
    },
    crossings=(
        #         activity             room  start   goal    from event     to event
        Crossing("go-to-door",         "W",  (0, 2), (3, 4), "start",       "at-door"),
        Crossing("go-to-E",            "W",  (0, 2), (5, 2), "start",       "hallway"),
        Crossing("return-to-E",        "W",  (3, 4), (5, 2), "door-locked", "hallway"),
        Crossing("leave-through-E",    "E",  (0, 2), (4, 2), "hallway",     "exit"),
        Crossing("leave-through-door", "SW", (3, 0), (0, 1), "door-open",   "exit"),
    ),
    doors=(Door("door", "at-door", "door-open", "door-locked"),),
    events=("start", "at-door", "door-open", "door-locked", "hallway", "exit"),
    intended=0.8,
    locked=0.2,
    damage=5.0,
    name="small-building",
    description="three small rooms and a door, for tests and first steps",
)
# fmt: on
"""Three small rooms and a door, for tests and first steps."""


def small_building(bound: float = DEFAULT_BOUND) -> HCSSP:
    """A procedure like :func:`evacuation`, of three small rooms and one door.

    >>> problem = small_building(bound=1.0)
    >>> problem.num_activities, sum(activity.cssp.num_states for activity in problem.activities)
    (5, 63)
    """
    return SMALL.procedure(bound)
