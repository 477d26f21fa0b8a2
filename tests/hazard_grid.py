"""Problems to measure with: a large random grid with hazards, a symmetric grid, and stages.

:func:`hazard_grid` scatters walls and hazards over a grid of any size, the same for the same seed. The
robot crosses it from corner to corner, quickly through the hazards or slowly around them.

:func:`symmetric_grid` has very many policies of equal costs. No step slips, and every shortest way
from corner to corner crosses the antidiagonal in exactly one cell. Those cells come in mirrored pairs:
the nearer to the middle, the more damage and the less delay. So all ways through a pair are equal, there
are thousands of them through the middle, and the bound excludes exactly these.

:func:`stages` are passed one after the other by one of several actions each. Their searches are long for
their size.

>>> hazard_grid(width=20, height=10, seed=1).cost_names
('time', 'damage')
>>> symmetric_grid(8).num_states
64
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.grid import GridWorld, Hazard, Rectangle
from hcssp.cssp.model import CSSP
from hcssp.errors import InvalidProblem

_BLOCK = 10


def hazard_grid_world(
    width: int = 100,
    height: int = 100,
    seed: int = 0,
    *,
    slip: float = 0.1,
    damage: float = 1.0,
    bound: float = 2.0,
) -> GridWorld:
    """A grid with scattered walls and hazards.

    Every block of 10 x 10 cells may have one wall, which keeps away from the block's border, so that the
    free cells are always connected; or one hazard, or nothing.

    Parameters
    ----------
    width, height
        The size of the interior. The start is the top left cell, the goal the bottom right one.
    seed
        The same seed gives the same grid.
    slip
        The probability of slipping to a side.
    damage
        What every step from a hazardous cell costs.
    bound
        The most damage that is expected to be suffered.
    """
    rng = np.random.default_rng(seed)
    walls: list[Rectangle] = []
    hazards: list[Hazard] = []
    for top in range(1, height + 1, _BLOCK):
        for left in range(1, width + 1, _BLOCK):
            across, down = min(_BLOCK, width + 1 - left), min(_BLOCK, height + 1 - top)
            what = rng.random()
            if what < 0.25 and min(across, down) >= 3:
                walls.append(_inside(rng, left + 1, top + 1, across - 2, down - 2))
            elif what < 0.85:
                rectangle = _inside(rng, left, top, across, down)
                hazards.append(Hazard(*rectangle, {"damage": damage}))
    return GridWorld(
        width=width,
        height=height,
        start=(1, 1),
        goal=(width, height),
        walls=[wall for wall in walls if not _covers(wall, (1, 1)) and not _covers(wall, (width, height))],
        hazards=hazards,
        slip=slip,
        cost_names=("time", "damage"),
        bounds={"damage": bound},
    )


def hazard_grid(
    width: int = 100,
    height: int = 100,
    seed: int = 0,
    *,
    slip: float = 0.1,
    damage: float = 1.0,
    bound: float = 2.0,
) -> CSSP:
    """The problem of :func:`hazard_grid_world`."""
    return hazard_grid_world(width, height, seed, slip=slip, damage=damage, bound=bound).to_cssp()


def symmetric_grid(size: int = 8, *, slip: float = 0.0, bound: float = 4.0) -> CSSP:
    """A square grid whose policies are equal in masses.

    With ``size=8`` a shortest way takes 14 steps. The pairs of cells on the antidiagonal, from the
    middle outwards, cost damage 6, 3, 1, 0 and delay 0, 1, 3, 6: so the choices are (14, 6) in 2450
    ways, (15, 3) in 882, (17, 1) in 98 and (20, 0) in 2. Under the bound 4 the optimum is 15, and the
    optimum over randomised policies is ``14 + 2/3``.

    Parameters
    ----------
    size
        An even number of cells from side to side.
    slip
        The probability of slipping to a side.
    bound
        The most damage that is expected to be suffered.
    """
    if size < 2 or size % 2:
        raise InvalidProblem([f"the size of a symmetric grid is {size}; it must be even and at least 2"])
    hazards = []
    half = size // 2
    for column in range(1, size + 1):
        # 0 in the two middle columns, half - 1 in the outermost.
        outwards = max(half - column, column - half - 1)
        inwards = half - 1 - outwards
        costs = {
            "damage": inwards * (inwards + 1) / 2,
            "time": outwards * (outwards + 1) / 2,
        }
        hazards.append(Hazard(column, size + 1 - column, 1, 1, costs))
    return GridWorld(
        width=size,
        height=size,
        start=(1, 1),
        goal=(size, size),
        hazards=hazards,
        slip=slip,
        cost_names=("time", "damage"),
        bounds={"damage": bound},
    ).to_cssp()


def _inside(rng: np.random.Generator, left: int, top: int, across: int, down: int) -> Rectangle:
    """A random rectangle inside another one."""
    width, height = int(rng.integers(1, across + 1)), int(rng.integers(1, down + 1))
    column = left + int(rng.integers(0, across - width + 1))
    row = top + int(rng.integers(0, down - height + 1))
    return column, row, width, height


def _covers(rectangle: Rectangle, cell: tuple[int, int]) -> bool:
    column, row, width, height = rectangle
    return column <= cell[0] < column + width and row <= cell[1] < row + height


def stages(
    count: int, actions: int = 3, constraints: int = 2, seed: int = 0, *, tightness: float = 0.5
) -> CSSP:
    """Random stages in a row.

    Parameters
    ----------
    count, actions
        How many stages, and actions in each.
    constraints
        How many secondary costs are bounded.
    seed
        The same seed gives the same problem.
    tightness
        The bounds lie so far between the least that can be kept and the average; below 0 nothing keeps them.
    """
    rng = np.random.default_rng(seed)
    stage = np.repeat(np.arange(count), actions)
    skipped = np.where(stage + 2 <= count, rng.uniform(0.0, 0.2, len(stage)), 0.0)
    rows = np.arange(len(stage))
    successors = np.concatenate([stage + 1, np.minimum(stage + 2, count)])
    chances = np.concatenate([1.0 - skipped, skipped])
    transitions = csr_array((chances, (np.tile(rows, 2), successors)), (len(rows), count + 1))
    costs = np.vstack([rng.uniform(1.0, 10.0, len(rows)), rng.uniform(0.0, 10.0, (constraints, len(rows)))])
    least = costs[1:].reshape(constraints, count, actions).min(axis=2).sum(axis=1)
    average = costs[1:].sum(axis=1) / actions
    return CSSP(
        transitions=transitions,
        row_start=np.append(np.arange(0, len(rows) + 1, actions), len(rows)),
        costs=costs,
        initial=np.eye(1, count + 1)[0],
        goals=np.arange(count + 1) == count,
        cost_names=("time", *(f"budget {number}" for number in range(constraints))),
        bounds=0.9 * (least + tightness * (average - least)),
    )
