r"""An aircraft among thunderstorms: airways, weather that drifts and grows, holding, diverting, an alternate.

The route has legs, from fix to fix. Before each leg the radar shows whether a storm is about; then the crew
chooses the airway, which is short and where the weather is, or the detour around most of it. A leg is a grid
of its own: the aircraft flies along it and may shift its track, hold, or divert. Meanwhile the storm drifts
north or south, grows and dissolves by chance. Every minute inside of it is exposure, in its core three times
as much. At the destination the runway may be closed; then the crew holds until it opens, as long as the fuel
lasts, or goes to the alternate. Fuel is minimised; the expected exposure is bounded, and so is the
probability that the flight does not land where the passengers wanted to go.
"""

from __future__ import annotations

import numpy as np

from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.grid import GridWorld, Hazard
from hcssp.cssp.model import CSSP
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.scenarios.dials import Dial, turned
from hcssp.scenarios.moving_grid import Leaving, Modes, MovingGrid
from hcssp.scenarios.scenario import Scenario, Size, with_lengths

FUEL, EXPOSURE, DIVERSION = "fuel", "exposure", "diversion"
COSTS = (FUEL, EXPOSURE, DIVERSION)
DIVERTED = "diverted"
CORE = 3.0
"""The exposure of a minute in a storm's core; outside of the core it is 1."""
TO_ALTERNATE = 40.0
"""The fuel to the alternate, from wherever one is, and what the delay is worth."""

DIALS = (
    Dial("legs", 2, "how many legs the route has", 1, 50),
    Dial("length", 8, "the cells along a leg", 4, 100),
    Dial("tracks", 5, "how many tracks there are side by side", 3, 30),
    Dial("storm", 0.5, "the probability that the radar shows a storm ahead of a leg", 0, 1),
    Dial("drift", 0.3, "the probability that a storm moves by a track in a minute", 0, 0.8),
    Dial("growth", 0.2, "the probability that it grows or shrinks in a minute", 0, 0.5),
    Dial("gusts", 0.1, "the probability that the aircraft is blown to a neighbouring track", 0, 0.5),
    Dial("closed", 0.2, "the probability that the runway is closed", 0, 1),
    Dial("exposure", 1.5, "the exposure allowed, in minutes", 0),
    Dial("diversion", 0.05, "the probability of a diversion that is allowed", 0, 1),
)


def aircraft(
    *,
    legs: int = 2,
    length: int = 8,
    tracks: int = 5,
    storm: float = 0.5,
    drift: float = 0.3,
    growth: float = 0.2,
    gusts: float = 0.1,
    closed: float = 0.2,
    exposure: float = 1.5,
    diversion: float = 0.05,
) -> HCSSP:
    """The flight as a problem.

    Parameters
    ----------
    legs
        How many legs the route has.
    length, tracks
        The cells along a leg, and across it.
    storm, closed
        The probabilities that the radar shows a storm ahead of a leg, and that the runway is closed.
    drift, growth
        The probabilities that in a minute a storm moves by a track, and that it grows or shrinks.
    gusts
        The probability that the aircraft is blown to a neighbouring track.
    exposure
        The expected minutes in weather that are allowed.
    diversion
        The probability of a diversion that is allowed.

    Raises
    ------
    InvalidProblem
        If a dial is set to what it cannot be.
    """
    turned(DIALS, locals())
    plan = ProcedureBuilder("aircraft", SCENARIO.description)
    fixes = [plan.add_event("departure"), *(plan.add_event(f"fix-{number}") for number in range(1, legs))]
    arrival, landed = plan.add_event("arrival"), plan.add_event("landed")
    diverting = plan.add_event("diverting")
    air = _Airspace(length, tracks, drift, growth, gusts)
    quiet, stormy, around = air.airway(large=False), air.airway(large=True), air.detour()
    run = []

    def fly(name: str, leg: CSSP, to: int) -> Outcome:
        activity = plan.add_activity(name, leg)
        run.append(activity)
        return Outcome(1.0, to, runs=activity, exits={DIVERTED: diverting})

    for number, here in enumerate(fixes, 1):
        there = fixes[number] if number < legs else arrival
        calm, rough = plan.add_event(f"calm-{number}"), plan.add_event(f"rough-{number}")
        seen = [Outcome(1.0 - storm, calm), Outcome(storm, rough)]
        plan.add_choice(here, "look at the radar", to=seen)
        for event, weather, leg in ((calm, "calm", quiet), (rough, "rough", stormy)):
            plan.add_choice(event, "airway", to=[fly(f"airway-{number}-{weather}", leg, there)])
            plan.add_choice(event, "detour", to=[fly(f"detour-{number}-{weather}", around, there)])
    wait = plan.add_event("runway-closed")
    runway = [Outcome(1.0 - closed, landed), Outcome(closed, wait)]
    plan.add_choice(arrival, "approach", to=runway)
    holding = plan.add_activity("hold", _holding())
    plan.add_choice(wait, "hold", to=[Outcome(1.0, landed, runs=holding, exits={DIVERTED: diverting})])
    plan.add_choice(wait, "divert", to=[Outcome(1.0, diverting)])
    alternate = plan.add_activity("alternate", _alternate())
    plan.add_choice(diverting, "land at the alternate", to=[Outcome(1.0, landed, runs=alternate)])
    run += [holding, alternate]
    plan.add_constraint(EXPOSURE, at_most=exposure, counts=dict.fromkeys(run, EXPOSURE))
    # A flight that diverts is over, so that no run counts twice.
    counts = dict.fromkeys(run, DIVERSION)
    plan.add_constraint(DIVERSION, at_most=diversion, counts=counts, probability_of="a diversion")
    return plan.build(start=fixes[0], end=landed)


class _Airspace:
    """The grids of the legs. A storm lies across the middle of a leg, in one of its tracks."""

    def __init__(self, length: int, tracks: int, drift: float, growth: float, gusts: float) -> None:
        self._length, self._tracks = length, tracks
        self._drift, self._growth, self._gusts = drift, growth, gusts

    def airway(self, *, large: bool) -> CSSP:
        """The short way, through the weather."""
        return self._leg(self._length, first=1 + self._length // 3, large=large)

    def detour(self) -> CSSP:
        """A way half as long again, at whose beginning only the outskirts of a small storm are met."""
        return self._leg(self._length + self._length // 2, first=1, large=False)

    def _leg(self, length: int, first: int, *, large: bool) -> CSSP:
        """A leg; the storm covers a third of the short way, from column `first` on."""
        middle = (self._tracks + 1) // 2
        last = first + max(2, self._length // 3)
        world = GridWorld(
            width=length,
            height=self._tracks,
            start=(0, middle),
            goal=(length + 1, middle),
            slip=self._gusts,
            # It costs nothing by itself: a picture shows where the storm moves.
            hazards=[Hazard(first, 1, last - first, self._tracks, {})],
            cost_names=COSTS,
        )
        # A mode is the storm's track and its size: 0 has only a core, 1 reaches a track to either side.
        sizes = 2
        tracks = np.arange(1, self._tracks + 1)
        columns, lines = world.cells.T
        apart = np.abs(lines[:, np.newaxis] - np.repeat(tracks, sizes)[np.newaxis])
        size = np.tile(np.arange(sizes), self._tracks)[np.newaxis]
        inside = ((columns >= first) & (columns < last))[:, np.newaxis] & (apart <= size)
        exposure = np.where(inside, np.where(apart == 0, CORE, 1.0), 0.0)
        moving = _walk(self._tracks, self._drift)
        growing = _walk(sizes, self._growth)
        initial = np.zeros((self._tracks, sizes))
        initial[middle - 1, 1 if large else 0] = 1.0
        names = tuple(f"{kind} in track {track}" for track in tracks for kind in ("cell", "front"))
        modes = Modes(names, np.kron(moving, growing), initial.ravel())
        return MovingGrid(
            world,
            modes,
            costs={EXPOSURE: exposure},
            wait={FUEL: 1.0},
            leaving=[Leaving("divert", DIVERTED, {})],
        ).to_cssp()


def _walk(count: int, moves: float) -> np.ndarray:
    """A chain that goes up or down by one with probability `moves`; at its ends it stays instead."""
    chain = (1.0 - moves) * np.eye(count)
    for here in range(count):
        for there in (here - 1, here + 1):
            chain[here, min(max(there, 0), count - 1)] += moves / 2
    return chain


def _holding() -> CSSP:
    """Turns over the fix until the runway opens, or until there is just enough fuel for the alternate."""
    hold = CSSPBuilder(cost_names=COSTS)
    states = [hold.add_state(f"turn {number}") for number in range(1, 6)]
    opened, diverted = hold.add_goal("opened"), hold.add_goal(DIVERTED)
    for number, here in enumerate(states):
        then = states[number + 1] if number + 1 < len(states) else diverted
        hold.add_action(here, "wide turn", to={opened: 0.45, then: 0.55}, costs={FUEL: 4.0})
        hold.add_action(here, "tight turn", to={opened: 0.3, then: 0.7}, costs={FUEL: 2.5, EXPOSURE: 0.2})
        hold.add_action(here, "divert", to=diverted)
    return hold.build()


def _alternate() -> CSSP:
    way = CSSPBuilder(cost_names=COSTS)
    here, there = way.add_state("on the way to the alternate"), way.add_goal("landed at the alternate")
    way.add_action(here, "direct", to=there, costs={FUEL: TO_ALTERNATE, EXPOSURE: 0.5, DIVERSION: 1.0})
    way.add_action(here, "around weather", to=there, costs={FUEL: TO_ALTERNATE + 6.0, DIVERSION: 1.0})
    return way.build()


SCENARIO = Scenario(
    "aircraft",
    "a flight among thunderstorms: airways or detours, hold, divert, an alternate",
    with_lengths(aircraft, DIALS, "length", "tracks"),
    DIALS,
    Size(4_096, 10, 2),
    {"legs": 1, "length": 6, "tracks": 3},
    {"legs": 6, "length": 12, "exposure": 6.0},
    starter={"legs": 1, "length": 4, "tracks": 3},
)
"""For the list of problems."""
