r"""A policy as arrows on the map of its grid world.

``#`` is a wall and ``G`` a goal; an arrow is where the policy heads, a double arrow the same from a
hazardous cell; where the policy says nothing, ``·`` is free and ``~`` hazardous.

>>> from hcssp.cssp.grid import GridWorld
>>> from hcssp.cssp.policy import DeterministicPolicy, NO_ROW
>>> import numpy as np
>>> world = GridWorld.from_map("S~G\n...", hazards={"~": {"damage": 1.0}})
>>> problem = world.to_cssp()
>>> rows = np.array([1, 5, NO_ROW, NO_ROW, NO_ROW, NO_ROW])  # east, east
>>> print(render_policy(world, DeterministicPolicy(problem, rows)))
#####
#→⇒G#
#···#
#####
"""

from __future__ import annotations

import numpy as np

from hcssp.cssp.grid import GridWorld
from hcssp.cssp.grid_steps import DIRECTIONS
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy

_ARROWS = dict(zip(DIRECTIONS, "↑→↓←", strict=True))
_HAZARDOUS_ARROWS = dict(zip(DIRECTIONS, "⇑⇒⇓⇐", strict=True))


def render_policy(grid: GridWorld, policy: DeterministicPolicy) -> str:
    """Draw `policy` on the map of `grid`.

    Parameters
    ----------
    grid
        The grid world.
    policy
        A policy of the problem made from it, or of one whose states still carry its cells as labels.
    """
    problem = policy.problem
    hazardous = np.zeros(grid.free.shape, dtype=np.bool_)
    for hazard in grid.hazards:
        column, row, width, height = hazard.rectangle
        hazardous[row : row + height, column : column + width] = True
    canvas = np.where(grid.free, np.where(hazardous, "~", "·"), "#")
    for state in np.flatnonzero(policy.rows != NO_ROW).tolist():
        label, action = problem.state_labels[state], problem.action_labels[int(policy.rows[state])]
        # States and actions that are not of the grid (giving up, say) have no arrow.
        if isinstance(label, tuple) and isinstance(action, str) and action in _ARROWS:
            column, row = label
            arrows = _HAZARDOUS_ARROWS if hazardous[row, column] else _ARROWS
            canvas[row, column] = arrows[action]
    for column, row in grid.goals:
        canvas[row, column] = "G"
    return "\n".join("".join(line) for line in canvas.tolist())
