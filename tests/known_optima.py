"""Small problems whose optima are known in closed form: every solver must agree with them."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from hazard_grid import symmetric_grid
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.procedure import HCSSP
from small_procedures import drone, forking, retrying


@dataclass(frozen=True)
class Known:
    """A problem and its optimum.

    Attributes
    ----------
    problem
        The problem.
    optimum
        Over deterministic policies; ``inf`` if none keeps the bounds.
    stochastic
        Over randomised policies; ``inf`` if none keeps the bounds.
    least
        Where nothing is feasible: the least achievable value of the offending cost, if it is a single one.
    """

    problem: CSSP | HCSSP
    optimum: float
    stochastic: float
    least: float | None = None


def roads(**bounds: float) -> CSSP:
    """Three roads out: (time, damage, fuel) of (10, 0, 4), (6, 2, 3) and (4, 6, 8)."""
    plan = CSSPBuilder(cost_names=("time", "damage", "fuel"), bounds=bounds)
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "round", to=out, costs=(10.0, 0.0, 4.0))
    plan.add_action(here, "through", to=out, costs=(6.0, 2.0, 3.0))
    plan.add_action(here, "dash", to=out, costs=(4.0, 6.0, 8.0))
    return plan.build()


def attempts(success: float) -> CSSP:
    """Try until it succeeds; nothing else is counted."""
    plan = CSSPBuilder(cost_names=("tries",))
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "try", to={out: success, here: 1.0 - success}, costs=1.0)
    return plan.build()


def start_in_goal(bound: float) -> CSSP:
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": bound})
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "walk", to=out, costs=(1.0, 1.0))
    plan.set_initial(out)
    return plan.build()


def two_starts(bound: float) -> CSSP:
    """Begin near (0.25), far (0.5) or outside (0.25); run (time 2, damage 4) or walk (time 6) from either."""
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": bound})
    near, far, out = plan.add_state("near"), plan.add_state("far"), plan.add_goal("out")
    for state in (near, far):
        plan.add_action(state, "walk", to=out, costs=(6.0, 0.0))
        plan.add_action(state, "run", to=out, costs=(2.0, 4.0))
    plan.set_initial({near: 0.25, far: 0.5, out: 0.25})
    return plan.build()


def knapsack(bound: float) -> CSSP:
    """Four rooms in a row; hurrying in them saves 8, 5, 4, 1 of 10 and costs damage 4, 3, 3, 1."""
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": bound})
    rooms = [*(plan.add_state(f"room-{index}") for index in range(4)), plan.add_goal("out")]
    for index, (saved, damage) in enumerate(((8.0, 4.0), (5.0, 3.0), (4.0, 3.0), (1.0, 1.0))):
        plan.add_action(rooms[index], "walk", to=rooms[index + 1], costs=(10.0, 0.0))
        plan.add_action(rooms[index], "hurry", to=rooms[index + 1], costs=(10.0 - saved, damage))
    return plan.build()


def free_circle(bound: float) -> CSSP:
    """Going round is free, leaving is not: 5 on the left, 3 and damage 2 on the right."""
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": bound})
    left, right, out = plan.add_state("left"), plan.add_state("right"), plan.add_goal("out")
    plan.add_action(left, "wait", to=left)
    plan.add_action(left, "cross", to=right)
    plan.add_action(right, "cross", to=left)
    plan.add_action(left, "leave", to=out, costs=(5.0, 0.0))
    plan.add_action(right, "leave", to=out, costs=(3.0, 2.0))
    return plan.build()


def trap(bound: float) -> CSSP:
    """The fast way may end in a pit, which no figure can pay for; of two goals the nearer is dangerous."""
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": bound})
    edge, pit = plan.add_state("edge"), plan.add_state("pit")
    near, far = plan.add_goal("near"), plan.add_goal("far")
    plan.add_action(edge, "jump", to={near: 0.9, pit: 0.1}, costs=(1.0, 0.0))
    plan.add_action(edge, "climb", to={near: 0.5, edge: 0.5}, costs=(2.0, 1.0))
    plan.add_action(edge, "walk", to=far, costs=(7.0, 0.0))
    plan.add_action(pit, "wait", to=pit, costs=(0.0, 0.0))
    return plan.build()


def loud_or_bold(bound: float) -> CSSP:
    """Every policy spends 2 of one thing and nothing of the other; only a mixture can share."""
    plan = CSSPBuilder(cost_names=("time", "noise", "risk"), bounds={"noise": bound, "risk": bound})
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "loud", to={out: 0.5, here: 0.5}, costs=(1.0, 1.0, 0.0))
    plan.add_action(here, "bold", to={out: 0.5, here: 0.5}, costs=(1.0, 0.0, 1.0))
    return plan.build()


KNOWN = {
    "one bound between two roads": Known(roads(damage=4.0), 6.0, 5.0),
    "a bound that is met exactly": Known(roads(damage=2.0), 6.0, 6.0),
    "a slack bound": Known(roads(damage=100.0), 4.0, 4.0),
    "bounds of inf": Known(roads(damage=inf, fuel=inf), 4.0, 4.0),
    "a bound of 0": Known(roads(damage=0.0), 10.0, 10.0),
    "a bound of -1": Known(roads(damage=-1.0), inf, inf, least=0.0),
    "two bounds": Known(roads(damage=4.0, fuel=3.5), 6.0, 5.8),
    "two bounds, one unbearable": Known(roads(damage=100.0, fuel=2.0), inf, inf, least=3.0),
    "two bounds, unbearable together": Known(roads(damage=1.0, fuel=3.2), inf, inf),
    "no constraint at all": Known(attempts(0.125), 8.0, 8.0),
    "a start in the goal": Known(start_in_goal(0.0), 0.0, 0.0),
    "several starts": Known(two_starts(2.5), 2.5, 2.0),
    "several starts, the smaller share": Known(two_starts(1.5), 3.5, 3.0),
    "several starts, all of them": Known(two_starts(3.0), 1.5, 1.5),
    "a knapsack": Known(knapsack(6.0), 31.0, 40.0 - 8.0 - 2.0 * 5.0 / 3.0),
    "a larger knapsack": Known(knapsack(7.5), 27.0, 27.0 - 0.5 * 4.0 / 3.0),
    "a circle without cost": Known(free_circle(2.0), 3.0, 3.0),
    "a circle without cost, in safety": Known(free_circle(1.0), 5.0, 4.0),
    "a trap": Known(trap(1.0), 7.0, 5.5),
    "a trap, with damage to spare": Known(trap(2.0), 4.0, 4.0),
    "only a mixture is feasible": Known(loud_or_bold(1.0), inf, 2.0),
    "not even a mixture is feasible": Known(loud_or_bold(0.9), inf, inf),
    "mirrored ways": Known(symmetric_grid(4, bound=0.5), 7.0, 6.5),
    "a retry, in safety": Known(retrying(), 6.75, 6.5),
    "a retry, one dash": Known(retrying().with_bounds({"damage": 8.0}), 5.75, 5.75),
    "a retry, the dearer dash": Known(retrying().with_bounds({"damage": 10.0}), 5.5, 5.5),
    "a retry, but not at last": Known(
        retrying().with_bounds({"damage": 17.0, "damage-at-last": 7.0}), 5.5, 4.625
    ),
    "a retry that may not hurt at all": Known(retrying().with_bounds({"damage": 0.0}), 6.75, 6.75),
    "a retry under a bound of -1": Known(retrying().with_bounds({"damage": -1.0}), inf, inf, least=0.0),
    "several exits": Known(forking(), 5.0, 3.0),
    "several exits, fast": Known(forking().with_bounds({"damage": 2.0}), 1.0, 1.0),
    "an event for each exit": Known(drone(0.15), 25.4, 22.9),
    "an event for each exit, and both may be low": Known(drone(0.2), 20.9, 20.9),
    "an event for each exit, and one is never reached": Known(drone(0.0), 32.0, 32.0),
}
