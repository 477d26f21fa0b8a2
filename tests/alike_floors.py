"""Procedures with floors that are alike, one after the other."""

from __future__ import annotations

import numpy as np

from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from small_procedures import slow_or_fast


def floors(kinds: str, damage: float = np.inf, again: bool = False) -> HCSSP:
    """Floor by floor: by a room of its kind, or by the lift, from which one may come to the stairs."""
    plan = ProcedureBuilder("floors")
    landings = [plan.add_event(f"floor-{index}") for index in range(len(kinds) + 1)]
    rooms = {"a": slow_or_fast(5.0, 3.0), "b": slow_or_fast(7.0, 2.5)}
    ride, stairs = slow_or_fast(4.0, 2.0), slow_or_fast(3.0, 1.0)
    used = []
    for index, kind in enumerate(kinds):
        here, there, below = landings[index], landings[index + 1], plan.add_event(f"stairs-{index}")
        room, up, down = (
            plan.add_activity(f"{name}-{index}", problem)
            for name, problem in (("room", rooms[kind]), ("ride", ride), ("down", stairs))
        )
        used += [room, up, down]
        plan.add_choice(here, "across", to=[Outcome(1.0, there, room)])
        plan.add_choice(here, "lift", to=[Outcome(0.75, there, up), Outcome(0.25, below)])
        plan.add_choice(below, "down", to=[Outcome(1.0, there, down)])
        if again:
            plan.add_choice(below, "again", to=[Outcome(1.0, here)])
    plan.add_constraint("damage", at_most=damage, counts=dict.fromkeys(used, "damage"))
    return plan.build(start=landings[0], end=landings[-1])


def two_buildings(kinds: str) -> HCSSP:
    """Twice the same floors, each behind a gate, or around them."""
    plan = ProcedureBuilder("buildings")
    gates = [plan.add_event(f"gate-{index}") for index in range(3)]
    building, around = floors(kinds), slow_or_fast(20.0, 19.0)
    used = []
    for index in range(2):
        inside = plan.add_activity(f"building-{index}", building)
        outside = plan.add_activity(f"around-{index}", around)
        used += [inside, outside]
        plan.add_choice(gates[index], "through", to=[Outcome(1.0, gates[index + 1], inside)])
        plan.add_choice(gates[index], "around", to=[Outcome(1.0, gates[index + 1], outside)])
    plan.add_constraint("damage", at_most=np.inf, counts=dict.fromkeys(used, "damage"))
    return plan.build(start=gates[0], end=gates[-1])
