"""Procedures made by hand, small enough to know everything about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder, ProcedurePolicy


def risky_room() -> CSSP:
    """Two states: walk round (3 time) or dash through, which works half of the time (1 time, 4 damage)."""
    return CSSP(
        transitions=csr_array(np.array([[0.0, 1.0], [0.5, 0.5]])),
        row_start=np.array([0, 2, 2]),
        costs=np.array([[3.0, 1.0], [0.0, 4.0]]),
        initial=np.array([1.0, 0.0]),
        goals=np.array([False, True]),
        cost_names=("time", "damage"),
        bounds=np.array([np.inf]),
        state_labels=("in", "out"),
        action_labels=("round", "dash"),
    )


def slow_or_fast(slow: float, fast: float) -> CSSP:
    """One decision: slowly, or fast and with damage."""
    ride = CSSPBuilder(cost_names=("time", "damage"))
    inside, out = ride.add_state("inside"), ride.add_goal("out")
    ride.add_action(inside, "slowly", to=out, costs={"time": slow})
    ride.add_action(inside, "fast", to=out, costs={"time": fast, "damage": slow - fast + 0.5})
    ride.set_initial(inside)
    return ride.build()


def fork(exits: Sequence[str] = ("left", "right")) -> CSSP:
    """From "fork" go to one of two exits: surely and slowly to the first, or fast and by chance to either."""
    return CSSP(
        transitions=csr_array(np.array([[0.0, 1.0, 0.0], [0.0, 0.25, 0.75]])),
        row_start=np.array([0, 2, 2, 2]),
        costs=np.array([[5.0, 1.0], [0.0, 2.0]]),
        initial=np.array([1.0, 0.0, 0.0]),
        goals=np.array([False, True, True]),
        cost_names=("time", "damage"),
        bounds=np.array([np.inf]),
        state_labels=("fork", *exits),
        action_labels=("surely", "fast"),
    )


def corridor(labels: Sequence[str] = ("left", "right", "end")) -> CSSP:
    """From the first state one step (10 time) to the last, from the second one step (1 time, 1 damage)."""
    return CSSP(
        transitions=csr_array(np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])),
        row_start=np.array([0, 1, 2, 2]),
        costs=np.array([[10.0, 1.0], [0.0, 1.0]]),
        initial=np.array([1.0, 0.0, 0.0]),
        goals=np.array([False, False, True]),
        cost_names=("time", "damage"),
        bounds=np.array([np.inf]),
        state_labels=tuple(labels),
        action_labels=("walk", "run"),
    )


def retrying() -> HCSSP:
    """Cross a room; with probability 0.2 go back to the start, otherwise leave through another room."""
    plan = ProcedureBuilder()
    start, hall, out = plan.add_event("start"), plan.add_event("hall"), plan.add_event("out")
    cross = plan.add_activity("cross", risky_room())
    leave = plan.add_activity("leave", risky_room())
    plan.add_choice(hall, "leave", to=[Outcome(0.8, out, runs=leave), Outcome(0.2, start)])
    plan.add_choice(start, "cross", to=[Outcome(1.0, hall, runs=cross)])
    plan.add_constraint("damage", at_most=2.0, counts={cross: "damage", leave: "damage"})
    plan.add_constraint("damage-at-last", at_most=np.inf, counts={leave: "damage"})
    return plan.build(start=start, end=out)


def dash_last() -> ProcedurePolicy:
    """Walk round in the first room of :func:`retrying`, dash through the last."""
    return ProcedurePolicy.compose(
        retrying(), {(0, None): 0, (1, None): 1}, (np.array([0, -1]), np.array([1, -1]))
    )


def forking() -> HCSSP:
    """A fork whose exit is the entry of what follows; on the right one may also leave at once, for free."""
    plan = ProcedureBuilder()
    start, hall, out = plan.add_event("start"), plan.add_event("hall"), plan.add_event("out")
    choose = plan.add_activity("choose", fork())
    walk = plan.add_activity("walk", corridor())
    plan.add_choice(start, "choose", to=[Outcome(1.0, hall, runs=choose)])
    plan.add_choice(hall, "walk", to=[Outcome(1.0, out, runs=walk)])
    plan.add_choice(hall, "wait", to=[Outcome(0.5, hall), Outcome(0.5, out)])
    plan.add_constraint("damage", at_most=1.0, counts={choose: "damage", walk: "damage"})
    return plan.build(start=start, end=out)


def passing_through() -> ProcedurePolicy:
    """A fork, taken to the right, where the corridor after it begins in its goal."""
    plan = ProcedureBuilder()
    start, hall, out = (plan.add_event(name) for name in ("start", "hall", "out"))
    choose = plan.add_activity("choose", fork())
    walk = plan.add_activity("walk", corridor(("left", "other", "right")))
    plan.add_choice(start, "choose", to=[Outcome(1.0, hall, runs=choose)])
    plan.add_choice(hall, "walk", to=[Outcome(1.0, out, runs=walk)])
    choices = {(0, None): 0, (1, "left"): 1, (1, "right"): 1}
    problem = plan.build(start=start, end=out)
    return ProcedurePolicy.compose(problem, choices, (np.array([1, -1, -1]), np.array([0, -1, -1])))


def fork_in_the_middle(limit: float = 3.0) -> HCSSP:
    """A room, then a fork and the corridor behind it or a detour round both, then a room."""
    plan = ProcedureBuilder()
    start, near, hall, far, out = (plan.add_event(name) for name in ("start", "near", "hall", "far", "out"))
    first, last = plan.add_activity("first", risky_room()), plan.add_activity("last", risky_room())
    choose, walk = plan.add_activity("choose", fork()), plan.add_activity("walk", corridor())
    detour = plan.add_activity("detour", risky_room())
    plan.add_choice(start, "go", to=[Outcome(1.0, near, runs=first)])
    plan.add_choice(near, "through", to=[Outcome(0.5, hall, runs=choose), Outcome(0.5, far)])
    plan.add_choice(near, "round", to=[Outcome(1.0, far, runs=detour)])
    plan.add_choice(hall, "walk", to=[Outcome(1.0, far, runs=walk)])
    plan.add_choice(far, "go", to=[Outcome(1.0, out, runs=last)])
    counted = dict.fromkeys((first, last, choose, walk, detour), "damage")
    plan.add_constraint("damage", at_most=limit, counts=counted)
    return plan.build(start=start, end=out)


def flight() -> CSSP:
    """From the depot to the waypoint: fast and low, which crashes one time in ten, or slowly and surely."""
    built = CSSPBuilder(cost_names=("time", "crash"))
    depot = built.add_state("depot")
    waypoint, crashed = built.add_goal("waypoint"), built.add_goal("crashed")
    built.add_action(depot, "low", to={waypoint: 0.9, crashed: 0.1}, costs={"time": 10, "crash": 0.1})
    built.add_action(depot, "high", to=waypoint, costs={"time": 16})
    built.set_initial(depot)
    return built.build()


def drone(at_most: float = 0.15) -> HCSSP:
    """Two flights, each of whose exits leads to an event of its own: the next flight, or a long walk home.

    Low and low takes 20.9 and crashes with probability 0.19, low and high 25.4 and 0.1, high and low 27 and
    0.1, high and high 32 and never.
    """
    plan = ProcedureBuilder(name="drone")
    depot, on_the_way, lost, home = (plan.add_event(name) for name in ("depot", "on the way", "lost", "home"))
    first, second = plan.add_activity("first leg", flight()), plan.add_activity("second leg", flight())
    walk = plan.add_activity("walk home", corridor(("here", "there", "end")))
    exits = {"waypoint": on_the_way, "crashed": lost}
    plan.add_choice(depot, "fly", to=[Outcome(1.0, on_the_way, runs=first, exits=exits)])
    plan.add_choice(on_the_way, "fly", to=[Outcome(1.0, home, runs=second, exits={"crashed": lost})])
    plan.add_choice(lost, "walk", to=[Outcome(1.0, home, runs=walk)])
    plan.add_constraint("crash", at_most=at_most, counts={first: "crash", second: "crash"})
    return plan.build(start=depot, end=home)


def with_a_pit(time: float, trap: bool = False) -> CSSP:
    """Out in one step, or perhaps into a pit."""
    built = CSSPBuilder(cost_names=("time", "damage"))
    inside, pit, out = built.add_state("in"), built.add_state("pit"), built.add_goal("out")
    built.add_action(
        inside, "go", to={out: 0.9, pit: 0.1} if trap else out, costs={"time": time, "damage": 1}
    )
    return built.build()


def jump_or_walk(walk: bool = True) -> HCSSP:
    """Jumping may end in a pit, at once or from the ledge; walking does not, if it can be done."""
    procedure = ProcedureBuilder()
    start, ledge, end = (procedure.add_event(name) for name in ("start", "ledge", "end"))
    jump = procedure.add_activity("jump", with_a_pit(1.0, trap=True))
    climb = procedure.add_activity("climb", with_a_pit(2.0))
    leap = procedure.add_activity("leap", with_a_pit(1.0, trap=True))
    on_foot = procedure.add_activity("walk", with_a_pit(5.0, trap=not walk))
    procedure.add_choice(start, "jump", to=[Outcome(1.0, end, runs=jump)])
    procedure.add_choice(start, "climb", to=[Outcome(1.0, ledge, runs=climb)])
    procedure.add_choice(ledge, "leap", to=[Outcome(1.0, end, runs=leap)])
    procedure.add_choice(start, "walk", to=[Outcome(0.0, ledge), Outcome(1.0, end, runs=on_foot)])
    counted = dict.fromkeys((jump, climb, leap, on_foot), "damage")
    procedure.add_constraint("damage", at_most=2.0, counts=counted)
    procedure.add_constraint("leaping", at_most=1.0, counts={leap: "damage"})
    return procedure.build(start=start, end=end)
