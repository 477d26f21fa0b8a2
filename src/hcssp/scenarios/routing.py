"""Routing among moving obstacles: a water taxi crosses a harbour in which ferries go to and fro.

Every basin is a grid of its own, with quays and ferries. A ferry is two cells long and goes along its line
from quay to quay and back; at every step it may be late and stay where it is. The taxi steps, drifts to a
side by chance, or waits; whoever meets a ferry has collided, and the trip is over. Between two basins the
taxi chooses: through the old lock, which may be shut and is then waited for, or around through the canal. The
probability of a collision is bounded, by default with 0.01.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.grid import GridWorld, Hazard
from hcssp.cssp.model import CSSP, FloatArray
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.scenarios.dials import Dial, turned
from hcssp.scenarios.moving_grid import Modes, MovingGrid
from hcssp.scenarios.scenario import Scenario, Size, with_lengths

MINUTES, COLLISION = "minutes", "collision"
COSTS = (MINUTES, COLLISION)
COLLIDED = "collided"
RECOVERY = 240.0
"""Minutes after which help has come to a taxi that has collided."""

DIALS = (
    Dial("basins", 2, "how many basins are crossed", 1, 20),
    Dial("width", 7, "the cells from the west of a basin to the east", 5, 60),
    Dial("height", 5, "the cells from its north to its south", 5, 60),
    Dial("ferries", 2, "how many ferries there are in a basin", 0, 3),
    Dial("late", 0.2, "the probability that a ferry does not move in a step", 0, 0.9),
    Dial("drift", 0.1, "the probability that the taxi drifts to a side", 0, 0.9),
    Dial("shut", 0.3, "the probability that a lock is shut", 0, 1),
    Dial("bound", 0.01, "the probability of a collision that is allowed", 0, 1),
)


def routing(
    *,
    basins: int = 2,
    width: int = 7,
    height: int = 5,
    ferries: int = 2,
    late: float = 0.2,
    drift: float = 0.1,
    shut: float = 0.3,
    bound: float = 0.01,
) -> HCSSP:
    """The harbour as a problem.

    Parameters
    ----------
    basins
        How many basins are crossed, one after the other, with a lock or a canal between them.
    width, height
        The cells of each.
    ferries
        How many ferries there are in each; the states grow with the power of their number.
    late, drift, shut
        The probabilities that a ferry does not move in a step, that the taxi drifts to a side, and that a
        lock is shut.
    bound
        The probability of a collision that is allowed.

    Raises
    ------
    InvalidProblem
        If a dial is set to what it cannot be.
    """
    turned(DIALS, locals())
    plan = ProcedureBuilder("routing", SCENARIO.description)
    entered = [plan.add_event(f"basin-{number + 1}") for number in range(basins)]
    lost, over = plan.add_event("adrift"), plan.add_event("landed")
    counts = {}
    for number, here in enumerate(entered):
        crossing = plan.add_activity(
            f"cross-{number + 1}", _basin(width, height, ferries, late, drift, number), f"basin {number + 1}"
        )
        counts[crossing] = COLLISION
        behind = over if number + 1 == basins else plan.add_event(f"gate-{number + 1}")
        plan.add_choice(here, "cross", to=[Outcome(1.0, behind, runs=crossing, exits={COLLIDED: lost})])
        if number + 1 < basins:
            ahead = entered[number + 1]
            waiting = plan.add_activity(f"wait-at-lock-{number + 1}", _passage(8.0, 0.25))
            canal = plan.add_activity(f"canal-{number + 1}", _passage(3.0, 1.0))
            opened = Outcome(1.0 - shut, ahead)
            closed = Outcome(shut, ahead, runs=waiting)
            plan.add_choice(behind, "lock", to=[opened, closed])
            plan.add_choice(behind, "canal", to=[Outcome(1.0, ahead, runs=canal)])
    towed = plan.add_activity("tow", _tow())
    counts[towed] = COLLISION
    plan.add_choice(lost, "call for help", to=[Outcome(1.0, over, runs=towed)])
    # After a collision one is towed home, so that no run counts twice.
    plan.add_constraint(COLLISION, at_most=bound, counts=counts, probability_of="a collision")
    return plan.build(start=entered[0], end=over)


def _basin(width: int, height: int, ferries: int, late: float, drift: float, number: int) -> CSSP:
    """A basin from its western gate to its eastern one; the ferries' lines are crossed on the way."""
    # Neighbouring basins are mirror images, so that the gates of one fit to those of the next.
    low, high = 1 + height // 4, height - height // 4
    start, goal = ((0, low), (width + 1, high)) if number % 2 == 0 else ((0, high), (width + 1, low))
    island = (width // 2 + 1, height // 2 + 1, 1, 1)
    columns = [_line(width, ferries, each) for each in range(ferries)]
    world = GridWorld(
        width=width,
        height=height,
        start=start,
        goal=goal,
        walls=[island],
        # They cost nothing by themselves: a picture shows where the ferries go.
        hazards=[Hazard(column, 1, 1, height, {}) for column in columns],
        slip=drift,
        cost_names=COSTS,
    )
    lanes = [_Ferry(column, height, late) for column in columns]
    change: FloatArray = np.ones((1, 1))
    initial: FloatArray = np.ones(1)
    for lane in lanes:
        change = np.kron(change, lane.change).astype(np.float64)
        initial = np.kron(initial, np.full(len(lane.places), 1.0 / len(lane.places))).astype(np.float64)
    names = tuple(", ".join(parts) or "no ferry" for parts in product(*(lane.names for lane in lanes)))
    met = np.zeros((len(world.cells), len(names)), dtype=np.bool_)
    for mode, tops in enumerate(product(*(lane.places for lane in lanes))):
        for lane, top in zip(lanes, tops, strict=True):
            across, down = world.cells.T
            met[:, mode] |= (across == lane.column) & ((down == top) | (down == top + 1))
    return MovingGrid(
        world,
        Modes(names, change, initial),
        exits={COLLIDED: met.astype(np.float64)},
        wait={MINUTES: 1.0},
    ).to_cssp()


def _line(width: int, ferries: int, each: int) -> int:
    """The column of a ferry's line: they are spread over the basin, and none runs over the island."""
    column = 1 + (each + 1) * width // (ferries + 1)
    return column + 1 if column == width // 2 + 1 else column


class _Ferry:
    """A ferry on its line: to the south and back again, two cells long."""

    def __init__(self, column: int, height: int, late: float) -> None:
        self.column = column
        southwards = [*range(1, height)]
        northwards = southwards[-2:0:-1]
        self.places = southwards + northwards
        self.names = [
            *(f"ferry in {column} at {top} southwards" for top in southwards),
            *(f"ferry in {column} at {top} northwards" for top in northwards),
        ]
        count = len(self.places)
        self.change: FloatArray = late * np.eye(count) + (1.0 - late) * np.roll(np.eye(count), 1, axis=1)


def _passage(minutes: float, done: float) -> CSSP:
    """A time to spend: each turn of it ends the passage with probability `done`."""
    way = CSSPBuilder(cost_names=COSTS)
    here, there = way.add_state("here"), way.add_goal("there")
    to = {there: 1.0} if done == 1.0 else {there: done, here: 1.0 - done}
    way.add_action(here, "go on", to=to, costs={MINUTES: minutes})
    return way.build()


def _tow() -> CSSP:
    way = CSSPBuilder(cost_names=COSTS)
    here, there = way.add_state("adrift"), way.add_goal("ashore")
    way.add_action(here, "tow", to=there, costs={MINUTES: RECOVERY, COLLISION: 1.0})
    return way.build()


SCENARIO = Scenario(
    "routing",
    "a water taxi among ferries, with a collision in at most one trip of a hundred",
    with_lengths(routing, DIALS, "width", "height"),
    DIALS,
    Size(2_528, 5, 1),
    {"basins": 1, "ferries": 1},
    {"basins": 4, "width": 10, "height": 7},
    starter={"basins": 1, "ferries": 1},
)
"""For the list of problems."""
