"""A rover on another planet: science stops, terrain that slips, drilling that fails and is tried again.

The rover drives from stop to stop across one map, whose rocks, sand and slopes are random. Sand costs
energy, slopes are a risk, and every move may slip to a side; in a dust storm, which may come up before a
drive, it slips more. At a stop the rover drills for a sample, scans the ground or drives on. Drilling may
fail, and then it may be repeated any number of times: the procedure has cycles. Hours are
minimised; the energy, the risk and the science that is missed are bounded.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated

import numpy as np

from hcssp.cssp.grid import Cell, GridWorld, Hazard, Rectangle
from hcssp.cssp.model import CSSP
from hcssp.procedure import HCSSP, Outcome
from hcssp.scenarios.scenario import Mission, Range, Size, scenario, single_state

HOURS, ENERGY, RISK, MISSED = "hours", "energy", "risk", "missed"
COSTS = (HOURS, ENERGY, RISK, MISSED)
MAP = "crater"


ABOUT = "rover", "science stops on rough ground, with retries: hours, energy, risk, and what is missed"


@scenario(
    *ABOUT,
    Size(1_132, 17, 3),
    lengths=("width", "height"),
    small={"stops": 1, "width": 10, "height": 6},
    large={"stops": 6, "width": 60, "height": 20, "energy": 220.0, "missed": 2.0},
)
def rover(
    *,
    stops: Annotated[int, Range("how many places are worth a sample", 1, 40)] = 3,
    width: Annotated[int, Range("the cells of the map from west to east", 10, 400)] = 18,
    height: Annotated[int, Range("the cells from north to south", 6, 400)] = 8,
    seed: Annotated[int, Range("where rocks, sand and slopes are", 0)] = 0,
    slip: Annotated[float, Range("the probability that a move slips to a side", 0, 0.9)] = 0.1,
    dust: Annotated[float, Range("the probability of a dust storm before a drive", 0, 1)] = 0.2,
    failure: Annotated[float, Range("the probability that drilling fails", 0, 0.95)] = 0.3,
    energy: Annotated[float, Range("the energy allowed", 0)] = 75.0,
    risk: Annotated[float, Range("the risk allowed", 0)] = 0.1,
    missed: Annotated[float, Range("the samples that may be missed", 0)] = 1.0,
) -> HCSSP:
    """The mission as a problem.

    Raises
    ------
    InvalidProblem
        If a parameter has a value that is not allowed.
    """
    ground = _Ground(width, height, seed, stops)
    plan = Mission(*ABOUT, {MAP: (0, 0)})
    names = [*(f"stop-{number}" for number in range(1, stops + 1)), "base"]
    leaving = [plan.add_event("landing"), *(plan.add_event(f"{name}-done") for name in names[:-1])]
    reached = [plan.add_event(name) for name in names]
    drilling, scanning, driving_on = _science(3.0, 4.0, 0.0), _science(1.0, 1.0, 0.6), _science(0.0, 0.0, 1.0)
    for name, here, there, way in zip(names, leaving, reached, pairwise(ground.places), strict=True):
        clear, dusty = ground.drive(*way, slip), ground.drive(*way, min(0.9, 3.0 * slip))
        outcomes = [
            Outcome(1.0 - dust, there, runs=plan.add(f"drive-to-{name}", clear, MAP)),
            Outcome(dust, there, runs=plan.add(f"drive-to-{name}-in-dust", dusty, MAP)),
        ]
        plan.add_choice(here, "drive", to=outcomes)
    for name, here, done in zip(names, reached, leaving[1:], strict=False):
        drilled = plan.add_event(f"{name}-drilled")
        plan.run(here, "drill", f"drill-at-{name}", drilling, drilled)
        plan.run(here, "scan", f"scan-at-{name}", scanning, done)
        plan.run(here, "drive on", f"pass-{name}", driving_on, done)
        tried = [Outcome(1.0 - failure, done), Outcome(failure, here)]
        plan.add_choice(drilled, "look at the sample", to=tried)
    plan.under({ENERGY: energy, RISK: risk, MISSED: missed})
    return plan.build(start=leaving[0], end=reached[-1])


class _Ground:
    """The map: rocks cannot be entered, sand costs energy, slopes are a risk."""

    def __init__(self, width: int, height: int, seed: int, stops: int) -> None:
        rng = np.random.default_rng(seed)
        self._width, self._height = width, height
        columns = np.linspace(1, width, stops + 2).round().astype(int).tolist()
        # The stops lie in turn in the north and in the south.
        rows = [1 + height // 4 if number % 2 else height - height // 4 for number in range(stops + 2)]
        self.places: list[Cell] = list(zip(columns, rows, strict=True))
        count = max(3, width * height // 40)
        self._rocks: list[Rectangle] = []
        for rock in self._areas(rng, count, 1, 2):
            # Rocks that touch neither each other nor the rim leave every place within reach.
            if self._is_free(rock):
                self._rocks.append(rock)
        sand = self._areas(rng, count, 3, 4)
        slopes = self._areas(rng, count, 2, 3)
        self._hazards = [
            *(Hazard(*area, {ENERGY: 1.5}) for area in sand),
            *(Hazard(*area, {RISK: 0.01}) for area in slopes),
        ]

    def drive(self, start: Cell, goal: Cell, slip: float) -> CSSP:
        """The way from a place to another."""
        return GridWorld(
            width=self._width,
            height=self._height,
            start=start,
            goal=goal,
            walls=self._rocks,
            hazards=self._hazards,
            slip=slip,
            step_cost={HOURS: 0.5, ENERGY: 1.0},
            cost_names=COSTS,
        ).to_cssp()

    def _areas(self, rng: np.random.Generator, count: int, least: int, most: int) -> list[Rectangle]:
        found = []
        for _ in range(count):
            across, down = (int(size) for size in rng.integers(least, most + 1, 2))
            column = int(rng.integers(1, self._width - across + 2))
            row = int(rng.integers(1, self._height - down + 2))
            found.append((column, row, across, down))
        return found

    def _is_free(self, rock: Rectangle) -> bool:
        column, row, width, height = rock
        inside = column > 1 and row > 1 and column + width <= self._width and row + height <= self._height
        apart = all(
            column + width < left or left + across < column or row + height < top or top + down < row
            for left, top, across, down in self._rocks
        )
        there = (
            column <= place[0] < column + width and row <= place[1] < row + height for place in self.places
        )
        return inside and apart and not any(there)


def _science(hours: float, energy: float, missed: float) -> CSSP:
    """The work at a stop: careful, or fast, which costs more energy."""
    ways = {"carefully": {HOURS: hours, ENERGY: energy, MISSED: missed}}
    if hours > 0.0:
        ways["in haste"] = {HOURS: hours / 2, ENERGY: 2.0 * energy, MISSED: missed}
    return single_state(COSTS, ways, "at work", "done")
