"""The evacuation with hallways that have two ends, of which the plan of the room before decides one.

Rooms, hazards and doors are those of the scenario. Where two rooms meet in a hallway, its opening in either
wall is replaced by two, some cells to either side; the one by which a room is left is the one by which the
next is entered, since both have the same label. So a room's plan decides how the next one begins.
"""

from __future__ import annotations

from dataclasses import replace

from hcssp.cssp.grid import Cell, GridWorld
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.scenarios.domains.evacuation import evacuation

ENDS = ("first", "second")
APART = 3  # cells, from where the single opening was


def evacuation_by_two_ends(bound: float, scale: int = 1) -> HCSSP:
    """The procedure; its hallway events are entered at the end that the room before was left by."""
    single = evacuation(scale=scale)
    plan = ProcedureBuilder(f"{single.name} by two ends")
    events = [plan.add_event(name) for name in single.events]
    activities = {}
    for choice in single.choices:
        outcomes = []
        for outcome in choice.outcomes:
            runs = None
            if outcome.runs is not None:
                activity = single.activities[outcome.runs]
                between = single.events[choice.event], single.events[outcome.event]
                world, labels = _crossing(activity.cssp.world, *between, scale)
                cssp = world.to_cssp()
                named = tuple(labels.get(label, label) for label in cssp.state_labels)
                runs = plan.add_activity(activity.name, cssp.derive(state_labels=named), activity.room)
                activities[runs] = "damage"
            outcomes.append(Outcome(outcome.probability, events[outcome.event], runs=runs))
        plan.add_choice(events[choice.event], choice.name, to=outcomes)
    plan.add_constraint("damage", at_most=bound, counts=activities)
    return plan.build(start=events[single.start], end=events[single.end])


def _crossing(grid: GridWorld, leaves: str, reaches: str, scale: int) -> tuple[GridWorld, dict[Cell, str]]:
    """The room with two openings for each hallway, and what these are called."""
    labels: dict[Cell, str] = {}
    starts, goals = dict(grid.starts), tuple(grid.goals)
    if leaves.startswith("hallway"):
        ends = _ends(grid, next(iter(starts)), scale)
        labels |= {cell: f"{leaves}, {end} end" for cell, end in zip(ends, ENDS, strict=True)}
        starts = dict.fromkeys(ends, 0.5)
    if reaches.startswith("hallway"):
        goals = _ends(grid, goals[0], scale)
        labels |= {cell: f"{reaches}, {end} end" for cell, end in zip(goals, ENDS, strict=True)}
    return replace(grid, start=starts, goal=goals), labels


def _ends(grid: GridWorld, opening: Cell, scale: int) -> tuple[Cell, Cell]:
    """The two openings in place of one, along its wall."""
    column, row = opening
    if column in (0, grid.width + 1):
        return (column, row - APART * scale), (column, row + APART * scale)
    return (column - APART * scale, row), (column + APART * scale, row)
