"""The evacuation with hallways that have two ends, of which the plan of the room before decides one.

Rooms, hazards and doors are those of the scenario. Where two rooms meet in a hallway, its opening in either
wall is replaced by two, some cells to either side; the one by which a room is left is the one by which the
next is entered, since both have the same label. So a room's plan decides how the next one begins.
"""

from __future__ import annotations

from dataclasses import replace

from hcssp.cssp.grid import Cell, GridWorld
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.scenarios.building import DAMAGE, Building, Crossing
from hcssp.scenarios.evacuation import TABLE

ENDS = ("first", "second")
APART = 3  # cells, from where the single opening was


def evacuation_by_two_ends(bound: float, scale: int = 1, building: Building = TABLE) -> HCSSP:
    """The procedure; its hallway events are entered at the end that the room before was left by."""
    building = building.scaled(scale)
    plan = ProcedureBuilder(f"{building.name} by two ends")
    events = {name: plan.add_event(name) for name in building.events}
    grids = building.grids()
    activities = []
    for crossing in building.crossings:
        problem, labels = _crossing(grids[crossing.name], crossing, scale)
        cssp = problem.to_cssp()
        named = tuple(labels.get(label, label) for label in cssp.state_labels)
        activities.append(plan.add_activity(crossing.name, cssp.derive(state_labels=named), crossing.room))
        outcome = Outcome(1.0, events[crossing.reaches], runs=activities[-1])
        plan.add_choice(events[crossing.leaves], crossing.name, to=[outcome])
    for door in building.doors:
        outcomes = [
            Outcome(1.0 - building.locked, events[door.opened]),
            Outcome(building.locked, events[door.locked]),
        ]
        plan.add_choice(events[door.at], f"open-{door.name}", to=outcomes)
    plan.add_constraint(DAMAGE, at_most=bound, counts=dict.fromkeys(activities, DAMAGE))
    return plan.build(start=events[building.events[0]], end=events[building.events[-1]])


def _crossing(grid: GridWorld, crossing: Crossing, scale: int) -> tuple[GridWorld, dict[Cell, str]]:
    """The room with two openings for each hallway, and what these are called."""
    labels: dict[Cell, str] = {}
    start: Cell | dict[Cell, float] = crossing.start
    goal: Cell | tuple[Cell, ...] = crossing.goal
    if crossing.leaves.startswith("hallway"):
        ends = _ends(grid, crossing.start, scale)
        labels |= {cell: f"{crossing.leaves}, {end} end" for cell, end in zip(ends, ENDS, strict=True)}
        start = dict.fromkeys(ends, 0.5)
    if crossing.reaches.startswith("hallway"):
        goal = _ends(grid, crossing.goal, scale)
        labels |= {cell: f"{crossing.reaches}, {end} end" for cell, end in zip(goal, ENDS, strict=True)}
    return replace(grid, start=start, goal=goal), labels


def _ends(grid: GridWorld, opening: Cell, scale: int) -> tuple[Cell, Cell]:
    """The two openings in place of one, along its wall."""
    column, row = opening
    if column in (0, grid.width + 1):
        return (column, row - APART * scale), (column, row + APART * scale)
    return (column - APART * scale, row), (column + APART * scale, row)
