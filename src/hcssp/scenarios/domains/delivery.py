"""Delivery by drone: wind, a battery, a place to charge, and a drone that may be lost.

The drone flies from the depot over a ridge to a customer. Before each leg the wind turns out calm or strong,
and in strong wind it drifts more. Near the power lines every step may end in a crash. Every step uses the
battery, a capacity: no run ever uses more than it holds, so what is left is a part of the state, and where no
goal is within reach any more the drone comes down and is lost, too, as after a crash. On the ridge it may
charge, fully or quickly. It lands steeply or gently. Minutes are minimised, and the probability of losing the
drone is bounded.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.grid import GridWorld, Hazard
from hcssp.cssp.model import CSSP
from hcssp.cssp.product import Capacity
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.procedure.product import with_capacities
from hcssp.scenarios.scenario import Range, Size, scenario, single_state

MINUTES, LOSS, BATTERY = "minutes", "loss", "battery"
COSTS = (MINUTES, LOSS)
CRASHED = "crashed"
PRICE_OF_A_LOSS = 100.0
"""Minutes until another drone has done it."""


ABOUT = "delivery", "a drone with wind, a battery, a charging stop, and a chance of being lost"


@scenario(
    *ABOUT,
    Size(3_341, 7, 1),
    lengths=("width", "height", "battery"),
    small={"width": 4, "height": 3, "battery": 18},
    large={"width": 16, "height": 8, "battery": 64},
)
def delivery(
    *,
    width: Annotated[int, Range("the cells along a leg", 4, 60)] = 7,
    height: Annotated[int, Range("the cells across it", 3, 60)] = 4,
    battery: Annotated[int, Range("the steps that a full battery lasts", 4, 500)] = 26,
    windy: Annotated[float, Range("the probability of a strong wind before a leg", 0, 1)] = 0.3,
    drift: Annotated[
        float, Range("the probability of drifting to a side in a calm; in a wind three times that", 0, 0.3)
    ] = 0.1,
    crash: Annotated[
        float, Range("the probability that a step near the lines ends in a crash", 0, 0.5)
    ] = 0.003,
    loss: Annotated[float, Range("the probability of losing the drone that is allowed", 0, 1)] = 0.02,
) -> HCSSP:
    """The delivery as a problem.

    Raises
    ------
    InvalidProblem
        If a parameter has a value that is not allowed.
    """
    rooms = {"to the ridge": (0, 0), "to the customer": (width + 1, 0)}
    plan = ProcedureBuilder(*ABOUT, rooms)
    depot, ridge, ready = plan.add_event("depot"), plan.add_event("ridge"), plan.add_event("ready")
    customer, lost, over = plan.add_event("customer"), plan.add_event("lost"), plan.add_event("over")
    legs = []
    for here, there, room in ((depot, ridge, "to the ridge"), (ready, customer, "to the customer")):
        outcomes = []
        for chance, name, drifting in ((1.0 - windy, "calm", drift), (windy, "wind", 3.0 * drift)):
            flown = _leg(width, height, drifting, crash)
            leg = plan.add_activity(f"fly {room} in {name}".replace(" ", "-"), flown, room)
            legs.append(leg)
            outcomes.append(Outcome(chance, there, runs=leg, exits={CRASHED: lost}))
        plan.add_choice(here, "fly", to=outcomes)
    charging = plan.add_activity("charge", _charging(battery))
    plan.add_choice(ridge, "charge", to=[Outcome(1.0, ready, runs=charging)])
    plan.add_choice(ridge, "fly on", to=[Outcome(1.0, ready)])
    landing = plan.add_activity("land", _landing(crash))
    plan.add_choice(customer, "land", to=[Outcome(1.0, over, runs=landing, exits={CRASHED: lost})])
    wreck = plan.add_activity(
        "send-another",
        single_state(
            COSTS, {"send another": {MINUTES: PRICE_OF_A_LOSS, LOSS: 1.0}}, "drone lost", "delivered"
        ),
    )
    plan.add_choice(lost, "send another", to=[Outcome(1.0, over, runs=wreck)])
    plan.add_constraint(LOSS, at_most=loss, counts={wreck: LOSS}, probability_of="losing the drone")
    problem = plan.build(start=depot, end=over)
    free: dict[str, float] = {}
    flying = [problem.activities[leg].name for leg in (*legs, landing)]
    # Minutes in the air use the battery, and charging gives back.
    uses = {each.name: each.cssp.costs[:1] for each in problem.activities}
    uses["charge"] = np.array([[-float(battery), -_quick(battery)]])
    uses["send-another"] = np.zeros((1, 1))
    capacity = Capacity(BATTERY, float(battery))
    return with_capacities(
        problem,
        [capacity],
        uses,
        # A drone with an empty battery is lost as after a crash.
        give_up=dict.fromkeys(flying, free),
        give_up_to=dict.fromkeys(flying, CRASHED),
    )


def _leg(width: int, height: int, drift: float, crash: float) -> CSSP:
    """A leg; the power lines cross it in the middle, but for its southernmost row."""
    lines = Hazard(1 + width // 3, 1, max(1, width // 3), height - 1, {}, exits={CRASHED: crash})
    return GridWorld(
        width=width,
        height=height,
        start=(0, 1),
        goal=(width + 1, 1),
        hazards=[lines],
        slip=drift,
        step_cost=1.0,
        cost_names=COSTS,
    ).to_cssp()


def _charging(battery: int) -> CSSP:
    charger = CSSPBuilder(cost_names=COSTS)
    docked, charged = charger.add_state("docked"), charger.add_goal("charged")
    full, quick = float(battery), _quick(battery)
    charger.add_action(docked, "full charge", to=charged, costs={MINUTES: 0.6 * full})
    charger.add_action(docked, "quick charge", to=charged, costs={MINUTES: 0.5 * quick})
    return charger.build()


def _quick(battery: int) -> float:
    return float(max(1, battery // 3))


def _landing(crash: float) -> CSSP:
    pad = CSSPBuilder(cost_names=COSTS)
    above, again = pad.add_state("above the pad"), pad.add_state("climbing again")
    landed, crashed = pad.add_goal("landed"), pad.add_goal(CRASHED)
    steep = {landed: 0.9 - crash, again: 0.1, crashed: crash}
    pad.add_action(above, "steeply", to=steep, costs={MINUTES: 1.0})
    pad.add_action(above, "gently", to={landed: 0.9, again: 0.1}, costs={MINUTES: 2.0})
    pad.add_action(again, "climb", to=above, costs={MINUTES: 1.0})
    return pad.build()
