r"""The campus scenario: procedures inside procedures, from a campus through buildings and floors to rooms.

A robot crosses a campus, one building after the other. It goes through a building, whose gate may be locked,
or around it across the yard. Inside it goes down floor by floor, across them or by the lift, which may be
slow. On a floor it goes through the western rooms, between which doors may be locked, or the eastern ones,
where more burns. Every step takes time; fires do damage, smoke is breathed, and rides cost energy. There are
few floor plans and many floors: every floor has separate choices, but results for a room are used for all
identical rooms.

>>> print(str(campus()).partition("\nconstraint")[0])
procedure: 3 events, 6 activities, 3 constraints; minimise time
gate-1
  choose through
    0.95: run building-1 (procedure building, 669 states), reach gate-2
      choose through
        0.95: run building-2 (procedure building, 669 states), reach far-side, the end
        0.05: run turn-away-2 (66 states), reach far-side, the end
      choose around
        run around-2 (66 states), reach far-side, the end
    0.05: run turn-away-1 (66 states), reach gate-2 (see above)
  choose around
    run around-1 (66 states), reach gate-2 (see above)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import Annotated

import numpy as np

from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.grid import Cell, GridWorld, Hazard
from hcssp.cssp.model import CSSP
from hcssp.parameters import settings_of
from hcssp.procedure import HCSSP, Outcome
from hcssp.scenarios.scenario import Mission, Range, Scenario, Size, parameters_of, register

COSTS = ("time", "damage", "smoke", "energy")
COUNTED = dict.fromkeys(COSTS[1:], inf)
"""Outer constraints can count all costs of a procedure."""
DEFAULT_DAMAGE = 20.0
"""The damage allowed if nothing is said."""


@dataclass(frozen=True)
class Campus:
    """The parameters of a campus; a yard is twice as wide as a room and half as deep."""

    buildings: Annotated[int, Range("how many buildings are crossed", 1)] = 2
    floors: Annotated[int, Range("the floors of each", 1)] = 2
    rooms: Annotated[int, Range("the rooms on either side of a floor", 1)] = 2
    size: Annotated[int, Range("the cells along a side of a room", 4)] = 8
    floor_plans: Annotated[int, Range("how many different floors there are", 1)] = 2
    seed: Annotated[int, Range("where fires and smoke are", 0)] = 0
    slip: Annotated[float, Range("the probability that a step slips to a side", 0, 1)] = 0.1
    locked: Annotated[float, Range("the probability that a door is locked", 0, 1)] = 0.1
    gate_locked: Annotated[float, Range("the probability that a gate is locked", 0, 1)] = 0.05
    slow: Annotated[float, Range("the probability that the lift is slow", 0, 1)] = 0.25

    def problem(self, damage: float, smoke: float, energy: float) -> HCSSP:
        """The campus under these bounds."""
        plan = Mission("campus", "buildings of floors of rooms, with a choice of ways at every level")
        gates = [plan.add_event(f"gate-{index + 1}") for index in range(self.buildings)]
        gates.append(plan.add_event("far-side"))
        for number, (here, there) in enumerate(pairwise(gates), 1):
            inside = Outcome(1.0 - self.gate_locked, there, plan.add(f"building-{number}", self.building))
            turned = Outcome(self.gate_locked, there, plan.add(f"turn-away-{number}", self.yard))
            plan.add_choice(here, "through", to=[inside, turned])
            around = plan.add(f"around-{number}", self.yard)
            plan.add_choice(here, "around", to=[Outcome(1.0, there, around)])
        bounds = {"damage": damage, "smoke": smoke, "energy": energy}
        return plan.under(bounds).build(start=gates[0], end=gates[-1])

    @cached_property
    def building(self) -> HCSSP:
        """Down floor by floor, across each of them or by the lift."""
        plan = Mission("building")
        landings = [plan.add_event(f"floor-{number}") for number in range(self.floors, 0, -1)]
        landings.append(plan.add_event("street"))
        for above, (here, there) in enumerate(pairwise(landings)):
            number = self.floors - above
            crossed = plan.add(f"floor-{number}", self.floor(number % self.floor_plans))
            plan.add_choice(here, "stairs", to=[Outcome(1.0, there, crossed)])
            quickly = Outcome(1.0 - self.slow, there, plan.add(f"lift-{number}", self.lift))
            slowly = Outcome(self.slow, there, plan.add(f"slow-lift-{number}", self.slow_lift))
            plan.add_choice(here, "lift", to=[quickly, slowly])
        return plan.under(COUNTED).build(start=landings[0], end=landings[-1])

    def floor(self, kind: int) -> HCSSP:
        """Through the western rooms, with doors between them, or through the eastern ones."""
        return self._floors[kind]

    @cached_property
    def _floors(self) -> list[HCSSP]:
        return [self._floor(kind) for kind in range(self.floor_plans)]

    def _floor(self, kind: int) -> HCSSP:
        plan = Mission(f"floor {kind + 1}")
        landing, stairs = plan.add_event("landing"), plan.add_event("stairs")
        west = [landing, *(plan.add_event(f"west-{index}") for index in range(2, self.rooms + 1)), stairs]
        east = [landing, *(plan.add_event(f"east-{index}") for index in range(2, self.rooms + 1)), stairs]
        left, right, middle = (0, self.size // 2), (self.size + 1, self.size // 2), (self.size // 2, 0)
        for index in range(self.rooms):
            quiet, burning = self._room(kind, fires=1), self._room(kind, fires=3)
            there = plan.add(f"west-{index + 1}", quiet(left, right))
            if index + 1 < self.rooms:
                # Behind each western room but the last there is a door; if it is locked, one crosses over.
                door = plan.add_event(f"door-{index + 1}")
                back = plan.add(f"cross-over-{index + 1}", quiet(right, middle))
                plan.add_choice(west[index], "west", to=[Outcome(1.0, door, there)])
                locked = Outcome(self.locked, east[index + 1], back)
                plan.add_choice(door, "try", to=[Outcome(1.0 - self.locked, west[index + 1]), locked])
            else:
                plan.add_choice(west[index], "west", to=[Outcome(1.0, stairs, there)])
            by = plan.add(f"east-{index + 1}", burning(left, right))
            plan.add_choice(east[index], "east", to=[Outcome(1.0, east[index + 1], by)])
        return plan.under(COUNTED).build(start=landing, end=stairs)

    def _room(self, kind: int, fires: int) -> _Room:
        return self._rooms[kind, fires]

    @cached_property
    def _rooms(self) -> dict[tuple[int, int], _Room]:
        return {
            (kind, fires): _Room(self, self.size, self.size, kind, fires)
            for kind in range(self.floor_plans)
            for fires in (1, 3)
        }

    @cached_property
    def yard(self) -> CSSP:
        """The way around a building: through mud, so that it takes somewhat longer than the way inside."""
        width, height, mud = 2 * self.size, max(4, self.size // 2), 0.6 * self.floors * self.rooms
        room = _Room(self, width, height, self.floor_plans, 1, mud)
        return room((0, height // 2), (width + 1, height // 2))

    @cached_property
    def lift(self) -> CSSP:
        """A ride, as fast as one pays for it."""
        return self._ride(1.0)

    @cached_property
    def slow_lift(self) -> CSSP:
        """A ride that takes three times as long."""
        return self._ride(3.0)

    def _ride(self, slowness: float) -> CSSP:
        ride = CSSPBuilder(cost_names=COSTS)
        waiting, inside, out = ride.add_state("waiting"), ride.add_state("inside"), ride.add_goal("out")
        way = slowness * self.rooms * self.size
        wait = {"time": way / 3, "smoke": slowness / 2}
        ride.add_action(waiting, "wait", to={inside: 0.5, waiting: 0.5}, costs=wait)
        ride.add_action(inside, "gently", to=out, costs={"time": way / 2, "energy": 1.0})
        ride.add_action(inside, "fast", to=out, costs={"time": way / 4, "energy": 4.0})
        ride.set_initial(waiting)
        return ride.build()


class _Room:
    """A room whose fires and smoke are random; ways through it that agree share their problem."""

    def __init__(
        self, campus: Campus, width: int, height: int, kind: int, fires: int, step_cost: float = 1.0
    ) -> None:
        rng = np.random.default_rng([campus.seed, kind, fires])
        # A way through a fire or smoke harms about as much whatever the size.
        dose = 8.0 / campus.size
        areas = [("damage", dose, width // 4, 2 * height // 3)] * fires
        areas += [("smoke", dose, width // 3, height // 3)]
        hazards = []
        for cost, amount, wide, high in areas:
            column = int(rng.integers(1, width - wide + 2))
            row = int(rng.integers(1, height - high + 2))
            hazards.append(Hazard(column, row, wide, high, {cost: amount}))
        # Every way states again where it starts and ends.
        self._grid = GridWorld(
            width,
            height,
            (0, 1),
            (width + 1, 1),
            hazards=hazards,
            slip=campus.slip,
            step_cost=step_cost,
            cost_names=COSTS,
        )
        self._ways: dict[tuple[Cell, Cell], CSSP] = {}

    def __call__(self, start: Cell, goal: Cell) -> CSSP:
        """The way from an opening to another."""
        if (start, goal) not in self._ways:
            self._ways[start, goal] = replace(self._grid, start=start, goal=goal).to_cssp()
        return self._ways[start, goal]


_PARAMETERS = parameters_of(Campus)


def campus(
    damage: float = DEFAULT_DAMAGE, smoke: float = inf, energy: float = inf, **parameters: int | float
) -> HCSSP:
    """Buildings of floors of rooms.

    Parameters
    ----------
    damage, smoke, energy
        The bound on each expected sum over the whole way.
    parameters
        Those of :class:`Campus`: how many of what, how large, and how probable.

    Raises
    ------
    UnknownName, InvalidProblem
        If there is no such parameter, or it cannot be set so.
    """
    return Campus(**settings_of(_PARAMETERS, parameters)).problem(damage, smoke, energy)  # type: ignore[arg-type]


def _scaled(scale: int, *, size: int = Campus.size, **settings: int | float) -> HCSSP:
    return campus(size=size * scale, **settings)


register(
    Scenario(
        "campus",
        "buildings of floors of rooms: procedures inside procedures",
        _scaled,
        _PARAMETERS,
        Size(1_599, 32, 3),
        {"buildings": 1},
        {"buildings": 10, "floors": 5, "size": 12},
    )
)
