r"""The racetrack: position and velocity, nine accelerations, rough ground, and walls to crash into.

A state is ``(column, row, speed right, speed down)``. An action changes each speed by -1, 0 or 1, within
the limit; with probability `slip` it has no effect. The car then moves along the straight line to its new
position. If the line meets the finish first the race is over; if it meets a wall first the car has
crashed and stands at the start again, with zero velocity. Every step takes one unit of time; every step
taken from rough ground costs one unit of wear.

The track goes down from the start, round a wide bend, up again and round a second bend to the finish.
Rough ground lies inside the bends, where the fast line is. It is drawn coarsely and each character
stands for ``scale`` x ``scale`` cells; states that cannot be reached are dropped.

>>> problem = racetrack(scale=2, max_speed=2)
>>> problem.cost_names, problem.state_labels[-1]
(('time', 'wear'), 'finish')
>>> problem.state_labels[int(problem.initial.argmax())]
(3, 3, 0, 0)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.arrays import tidy
from hcssp.cssp.grid import GridWorld, PlacedGrid
from hcssp.cssp.labels import JoinedLabels, RepeatedNames, TupleLabels
from hcssp.cssp.model import CSSP, IntArray
from hcssp.cssp.preprocessing import prepare
from hcssp.cssp.validation import validated
from hcssp.errors import InvalidProblem
from hcssp.parameters import Parameter
from hcssp.procedure import HCSSP
from hcssp.scenarios.scenario import Scenario, Size, register

TRACK = """
######################
#S....:###############
#......:##############
###:....##############
####....####.....:####
####...:###:......:###
####...:###:..##:..###
####....:::...##:..###
####:........###...###
#####:......:###...FF#
######:...:#####...FF#
######################
"""
"""``S`` start, ``F`` finish, ``.`` track, ``:`` rough ground, ``#`` wall."""

_WALL, _TRACK, _ROUGH, _FINISH = range(4)
_CODES = {"#": _WALL, ".": _TRACK, "S": _TRACK, ":": _ROUGH, "F": _FINISH}
ACCELERATIONS = tuple((right, down) for down in (-1, 0, 1) for right in (-1, 0, 1))


def racetrack(*, scale: int = 3, max_speed: int = 4, slip: float = 0.1, bound: float = 1.0) -> CSSP:
    """The racetrack as a problem.

    Parameters
    ----------
    scale
        How many cells a character of :data:`TRACK` is wide and high.
    max_speed
        The limit of either speed, in either direction.
    slip
        The probability that an acceleration has no effect.
    bound
        The most wear that is expected to be suffered.

    Raises
    ------
    InvalidProblem
        If `scale` or `max_speed` is less than 1, or `slip` is not a probability below 1.
    """
    found = []
    if scale < 1:
        found.append(f"the scale of the racetrack is {scale}; it must be at least 1")
    if max_speed < 1:
        found.append(f"the maximal speed on the racetrack is {max_speed}; it must be at least 1")
    if not 0.0 <= slip < 1.0:
        found.append(f"the slip on the racetrack is {slip}; it must be at least 0 and less than 1")
    if found:
        raise InvalidProblem(found)

    lines = TRACK.strip().splitlines()
    sketch = np.array([[_CODES[character] for character in line] for line in lines])
    ground = np.kron(sketch, np.ones((scale, scale), dtype=np.int64))
    rows, columns = np.nonzero((ground == _TRACK) | (ground == _ROUGH))
    speeds = np.arange(-max_speed, max_speed + 1)
    velocities = np.array([(right, down) for down in speeds for right in speeds])

    destination = _destinations(ground, columns, rows, velocities, scale)
    num_cells, num_velocities = destination.shape
    finish = num_cells * num_velocities
    # For each velocity and acceleration the velocity after it, within the limit.
    changed = np.clip(velocities[:, np.newaxis] + np.array(ACCELERATIONS), -max_speed, max_speed) + max_speed
    after = changed[:, :, 1] * len(speeds) + changed[:, :, 0]
    intended = destination[:, after]
    slipped = np.broadcast_to(destination[:, :, np.newaxis], intended.shape)
    num_rows = intended.size
    transitions = csr_array(
        (
            np.tile((1.0 - slip, slip), num_rows),
            np.stack((intended.ravel(), slipped.ravel()), axis=1).ravel(),
            np.arange(0, 2 * num_rows + 1, 2),
        ),
        shape=(num_rows, finish + 1),
    )
    tidy(transitions)
    per_cell = num_velocities * len(ACCELERATIONS)
    wear = np.repeat((ground[rows, columns] == _ROUGH).astype(np.float64), per_cell)
    row_start = np.append(np.arange(finish + 1) * len(ACCELERATIONS), num_rows)
    labels = np.column_stack(
        (
            np.repeat(columns, num_velocities),
            np.repeat(rows, num_velocities),
            np.tile(velocities, (num_cells, 1)),
        )
    )
    everything = CSSP.unchecked(
        transitions=transitions,
        row_start=row_start,
        costs=np.stack((np.ones(num_rows), wear)),
        initial=(np.arange(finish + 1) == _start(columns, rows, velocities, scale)).astype(np.float64),
        goals=np.arange(finish + 1) == finish,
        cost_names=("time", "wear"),
        bounds=np.array([bound]),
        state_labels=JoinedLabels(TupleLabels(labels), ("finish",)),
        action_labels=RepeatedNames(ACCELERATIONS, np.tile(np.arange(len(ACCELERATIONS)), finish)),
    )
    reached = validated(prepare(everything).problem)
    return reached.derive(world=_drawn(reached, scale, bound))


def _drawn(problem: CSSP, scale: int, bound: float) -> PlacedGrid:
    """The track for pictures: every state lies in the cell where the car is."""
    lines = [
        "".join(scale * each for each in line) for line in TRACK.strip().splitlines() for _ in range(scale)
    ]
    world = GridWorld.from_map(
        "\n".join(lines).replace("F", "G"),
        {":": {"wear": 1.0}},
        cost_names=problem.cost_names,
        bounds={"wear": bound},
    )
    labels: list[Any] = list(problem.state_labels)
    start, finish = labels[int(problem.initial.argmax())][:2], world.goals[0]
    places = np.array([finish if each == "finish" else each[:2] for each in labels])
    return PlacedGrid.on(replace(world, start=(int(start[0]), int(start[1]))), places)


def _start(columns: IntArray, rows: IntArray, velocities: IntArray, scale: int) -> int:
    """The state that stands in the middle of the start."""
    row, line = next((row, line) for row, line in enumerate(TRACK.strip().splitlines()) if "S" in line)
    column = line.index("S") * scale + scale // 2
    cell = np.flatnonzero((columns == column) & (rows == row * scale + scale // 2))
    return int(cell[0]) * len(velocities) + len(velocities) // 2


def _destinations(
    ground: IntArray, columns: IntArray, rows: IntArray, velocities: IntArray, scale: int
) -> IntArray:
    """The state reached from each cell by moving with each velocity."""
    number = np.full(ground.shape, -1, dtype=np.int64)
    number[rows, columns] = np.arange(len(columns))
    finish = len(columns) * len(velocities)
    start = _start(columns, rows, velocities, scale)
    destination = np.empty((len(columns), len(velocities)), dtype=np.int64)
    height, width = ground.shape
    for index, (right, down) in enumerate(velocities.tolist()):
        finished = np.zeros(len(columns), dtype=np.bool_)
        crashed = np.zeros(len(columns), dtype=np.bool_)
        # Two looks for each cell of the longer side see every cell of the line.
        looks = 2 * max(abs(right), abs(down), 1)
        for look in range(1, looks + 1):
            across = columns + (2 * right * look + looks) // (2 * looks)
            along = rows + (2 * down * look + looks) // (2 * looks)
            outside = (across < 0) | (across >= width) | (along < 0) | (along >= height)
            met = np.where(
                outside, _WALL, ground[np.clip(along, 0, height - 1), np.clip(across, 0, width - 1)]
            )
            finished |= (met == _FINISH) & ~crashed
            crashed |= (met == _WALL) & ~finished
        there = number[np.clip(rows + down, 0, height - 1), np.clip(columns + right, 0, width - 1)]
        destination[:, index] = there * len(velocities) + index
        destination[crashed, index] = start
        destination[finished, index] = finish
    return destination


def _scaled(scale: int, **settings: int | float) -> HCSSP:
    track = racetrack(scale=scale, **{"max_speed": 2, **settings})  # type: ignore[arg-type]
    return track.derive(name="racetrack", description=_DESCRIPTION).procedure


_DESCRIPTION = "a car with a speed, rough ground and walls to crash into"
_PARAMETERS = (
    Parameter("max_speed", 2, "the limit of either speed", 1, 9),
    Parameter("slip", 0.1, "the probability that an acceleration has no effect", 0, 0.9),
    Parameter("bound", 1.0, "the wear allowed", 0),
)

register(
    Scenario(
        "racetrack",
        _DESCRIPTION,
        _scaled,
        _PARAMETERS,
        Size(1_219, 1, 1),
        {"max_speed": 1},
        {"scale": 2, "max_speed": 3, "bound": 0.5},
    )
)
