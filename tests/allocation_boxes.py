"""Boxes of budget allocations for tests, and which of all solutions lie in them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enumerated_solutions import Solutions
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP, BoolArray
from hcssp.methods.paper import Box, Instance, find_mode
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder


def lying_in(box: Box, instance: Instance, solutions: Solutions) -> BoolArray:
    """Which feasible solutions use, activity by activity, no less and no more than the box says."""
    inside = solutions.feasible(instance.bounds)
    for edge, (activity, index) in enumerate(instance.edges):
        use = solutions.usage[:, activity, index]
        inside &= np.isnan(use) | ((use >= box.lower[edge]) & (use <= box.upper[edge]))
    return inside


def efficient(instance: Instance, solutions: Solutions) -> BoolArray:
    """Which solutions run only plans that no other plan of the same activity betters."""
    needed = np.ones(len(solutions.costs), dtype=np.bool_)
    for activity, budget in enumerate(instance.activities):
        own = solutions.usage[:, activity, [0, *budget.counted]]
        plans = np.unique(own[~np.isnan(own[:, 0])], axis=0)
        for plan in plans:
            if np.any(np.all(plans <= plan + 1e-9, axis=1) & np.any(plans < plan - 1e-8, axis=1)):
                needed &= ~np.all(own == plan, axis=1)
    return needed


def random_boxes(instance: Instance, seed: int, count: int = 3) -> list[Box]:
    """The box to begin with, and `count` within it, most of whose edges are narrower."""
    rng = np.random.default_rng(seed)
    root = find_mode("sharp").initial_box(instance)
    boxes = [root]
    for _ in range(count):
        ends = np.sort(
            rng.uniform(root.lower, np.maximum(root.lower, root.upper), (2, len(root.lower))), axis=0
        )
        narrow = rng.random(len(root.lower)) < 0.6
        boxes.append(Box(np.where(narrow, ends[0], root.lower), np.where(narrow, ends[1], root.upper)))
    return boxes


def ways(*options: tuple[float, float]) -> CSSP:
    """A single step out, in one of several ways: pairs of time and damage."""
    plan = CSSPBuilder(cost_names=("time", "damage"))
    inside, out = plan.add_state("in"), plan.add_goal("out")
    for index, (time, damage) in enumerate(options):
        plan.add_action(inside, f"way-{index}", to=out, costs={"time": time, "damage": damage})
    plan.set_initial(inside)
    return plan.build()


def in_a_row(rooms: Sequence[CSSP], damage: float, *, detour: float | None = None) -> HCSSP:
    """Rooms one after the other under a bound on their damage; perhaps a harmless detour round them all."""
    plan = ProcedureBuilder()
    events = [plan.add_event(f"event-{index}") for index in range(len(rooms) + 1)]
    counts = {}
    for index, room in enumerate(rooms):
        activity = plan.add_activity(f"room-{index}", room)
        counts[activity] = "damage"
        plan.add_choice(events[index], "cross", to=[Outcome(1.0, events[index + 1], runs=activity)])
    if detour is not None:
        activity = plan.add_activity("detour", ways((detour, 0.0)))
        plan.add_choice(events[0], "detour", to=[Outcome(1.0, events[-1], runs=activity)])
    plan.add_constraint("damage", at_most=damage, counts=counts)
    return plan.build(start=events[0], end=events[-1])


THREE_WAYS = ((10.0, 0.0), (6.0, 3.0), (1.0, 4.0))
"""Time and damage; the second way lies above the line between the others, where no dual finds it."""
