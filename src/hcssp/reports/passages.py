"""Where a plan's activities go in their rooms: cells, headings and expected visits, ready to be drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hcssp.contract.plan import ProcedurePlan
from hcssp.cssp.grid import GridWorld
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW


@dataclass(frozen=True, eq=False)
class Passage:
    """An activity that a plan runs.

    Attributes
    ----------
    name, room, grid
        The activity, its room, and its grid world.
    executions, each
        How often it is executed, and what one execution costs, by the cost's name; both in expectation.
    cells
        The column and row of every cell that is visited.
    headings
        The direction taken there, as a position in :data:`hcssp.cssp.grid.DIRECTIONS`.
    visits
        The expected number of visits to it, over all executions.
    """

    name: str
    room: str
    grid: GridWorld
    executions: float
    each: Mapping[str, float]
    cells: IntArray
    headings: IntArray
    visits: FloatArray

    def where_busiest(self, others: Sequence[Passage]) -> Passage:
        """The cells that no other passage of the same room visits more often."""
        visits = np.zeros((self.grid.height + 2, self.grid.width + 2))
        for other in others:
            columns, rows = other.cells.T
            np.maximum.at(visits, (rows, columns), other.visits)
        columns, rows = self.cells.T
        kept = self.visits >= visits[rows, columns]
        return replace(self, cells=self.cells[kept], headings=self.headings[kept], visits=self.visits[kept])


def passages(plan: ProcedurePlan) -> list[Passage]:
    """The activities on grids that the plan runs, in the problem's order."""
    problem, policy, evaluation = plan.problem, plan.policy, plan.costs
    flattening = problem.flattening
    found = []
    for index, activity in enumerate(problem.activities):
        share = evaluation.activities[index]
        grid = problem.world(index)
        if grid is None or not share.expected_executions > 0.0:
            continue
        visits = np.zeros(activity.cssp.num_states)
        first, last = flattening.state_offset[index : index + 2]
        visits[~activity.cssp.goals] = evaluation.visits[first:last]
        rows = policy.activities[index]
        visited = np.flatnonzero((visits > 0.0) & (rows != NO_ROW))
        found.append(
            Passage(
                name=activity.name,
                room=activity.room,
                grid=grid,
                executions=share.expected_executions,
                each={
                    problem.primary_name: share.cost / share.expected_executions,
                    **{name: used / share.expected_executions for name, used in share.usage.items()},
                },
                cells=grid.cells[visited],
                headings=rows[visited] - activity.cssp.row_start[visited],
                visits=visits[visited],
            )
        )
    return found
