"""Procedures with odd activities."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.procedure import Outcome, ProcedureBuilder
from hcssp.solving.solve import solve
from reproductions.asking import BOTH, one_state, run_once, verdicts


def check_an_activity_that_starts_in_its_goal() -> list[str]:
    plan = CSSPBuilder(cost_names=("time", "damage"))
    hall, door = plan.add_state("hall"), plan.add_goal("door")
    plan.add_action(hall, "go", to=door, costs={"time": 1, "damage": 1})
    plan.set_initial(door)
    problem = run_once(plan.build(), damage=1.0)
    return verdicts([("in the goal", problem)], (*BOTH, "flattened", "budgets", "milp", "curve"))


def trap(goals: Sequence[str]) -> CSSP:
    """A room that is never left, whatever its goals."""
    plan = CSSPBuilder(cost_names=("time", "damage"))
    here = plan.add_state("in")
    for goal in goals:
        plan.add_goal(goal)
    plan.add_action(here, "turn", to=here, costs={"time": 1})
    return plan.build()


def check_an_activity_without_a_reachable_goal() -> list[str]:
    found = []
    for goals, other_way in product((("left", "right"), ("left",)), (False, True)):
        plan = ProcedureBuilder()
        start, middle, end = (plan.add_event(name) for name in ("start", "middle", "end"))
        stuck = plan.add_activity("trap", trap(goals))
        plan.add_choice(start, "trap", to=[Outcome(1.0, middle, runs=stuck)])
        plan.add_choice(middle, "on", to=[Outcome(1.0, end)])
        if other_way:
            round_it = plan.add_activity("round it", one_state({"go": (1.0, (7.0, 0.0))}))
            plan.add_choice(start, "round it", to=[Outcome(1.0, end, runs=round_it)])
        plan.add_constraint("damage", at_most=1.0, counts={stuck: "damage"})
        problem = plan.build(start=start, end=end)
        found += verdicts([(f"trap {goals} {other_way}", problem)], (*BOTH, "budgets", "curve"))
    return found


def check_an_activity_that_need_not_run_and_may_not_end() -> list[str]:
    def room(time: float, falls: bool) -> CSSP:
        plan = CSSPBuilder(cost_names=("time", "damage"))
        here, _, out = plan.add_state("in"), plan.add_state("pit"), plan.add_goal("out")
        to = {out: 0.875, "pit": 0.125} if falls else out
        plan.add_action(here, "go", to=to, costs={"time": time, "damage": 1})
        return plan.build()

    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    jump, walk = plan.add_activity("jump", room(1.0, True)), plan.add_activity("walk", room(5.0, False))
    plan.add_choice(start, "jump", to=[Outcome(1.0, end, runs=jump)])
    plan.add_choice(start, "walk", to=[Outcome(1.0, end, runs=walk)])
    plan.add_constraint("damage", at_most=2.0, counts={jump: "damage", walk: "damage"})
    return verdicts(
        [("pit", plan.build(start=start, end=end))], (*BOTH, "budgets", "budgets to the end", "curve")
    )


def check_two_outcomes_to_one_event() -> list[str]:
    """Whoever follows a plan can go on when two outcomes lead to the same event."""
    room = one_state({"go": (1.0, (1.0,))})
    wrong = []
    for second_runs in (False, True):
        plan = ProcedureBuilder()
        start, hall, end = (plan.add_event(name) for name in ("start", "hall", "end"))
        cross = plan.add_activity("cross", room)
        again = plan.add_activity("again", room) if second_runs else None
        plan.add_choice(start, "try", to=[Outcome(0.5, hall), Outcome(0.5, hall, runs=again)])
        plan.add_choice(hall, "cross", to=[Outcome(1.0, end, runs=cross)])
        run = solve(plan.build(start=start, end=end)).start()
        run.step()
        decision = run.step(outcome="hall") if second_runs else run.step()
        if "cross" not in str(decision):
            wrong.append(f"after an outcome to the hall: {decision}")
    return wrong
