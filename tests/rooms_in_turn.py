"""Small rooms one after the other, under one bound: what is left to choose is how to cross each of them."""

from __future__ import annotations

from hcssp.cssp import CSSP, CSSPBuilder
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder


def step(options: list[tuple[float, float]], slip: float = 0.0, dead_end: bool = False) -> CSSP:
    """One state to leave, with a time and a damage for each way; each fails with probability `slip`.

    With a dead end, one can also wait there for ever.
    """
    way = CSSPBuilder(cost_names=("time", "damage"))
    here, there = way.add_state("here"), way.add_goal("there")
    for number, (time, damage) in enumerate(options):
        way.add_action(
            here,
            str(number),
            to={there: 1.0 - slip, here: slip} if slip else there,
            costs={"time": time, "damage": damage},
        )
    if dead_end:
        way.add_action(here, "wait", to=here, costs={"time": 0.5})
    way.set_initial(here)
    return way.build()


def steps(rooms: list[CSSP], bound: float, chances: list[float], retry: float = 0.0) -> HCSSP:
    """Rooms one after the other; each is needed with some chance, and the last may lead back to the first."""
    plan = ProcedureBuilder()
    events = [plan.add_event(str(number)) for number in range(len(rooms) + 1)]
    runs = [plan.add_activity(f"room {number}", room) for number, room in enumerate(rooms)]
    for number, (activity, chance) in enumerate(zip(runs, chances, strict=True)):
        back = retry if number == len(rooms) - 1 else 0.0
        outcomes = [Outcome(chance * (1.0 - back), events[number + 1], runs=activity)]
        if chance < 1.0:
            outcomes.append(Outcome((1.0 - chance) * (1.0 - back), events[number + 1]))
        if back:
            outcomes.append(Outcome(back, events[0]))
        plan.add_choice(events[number], "go", to=outcomes)
    plan.add_constraint("damage", at_most=bound, counts=dict.fromkeys(runs, "damage"))
    return plan.build(start=events[0], end=events[-1])
