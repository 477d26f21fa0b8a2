"""The state spaces of ``bench_implicit.py``: a large slippery grid, and the racetrack at a larger scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hcssp import ImplicitCSSP
    from hcssp.heuristics import TableHeuristic

BLOCK = 10
WALL, ROUGH, FINISH = 0, 2, 3


def slippery_grid(size: int, *, slip: float = 0.1, bound: float = 5.0, seed: int = 1) -> ImplicitCSSP:
    """A grid of `size` x `size` cells with walls and hazards; start and goal lie 200 steps apart.

    A step slips to either side with half of `slip`. The heuristic is the straight-line distance, divided by
    what a step comes closer at most in expectation: distances are convex, so slipping never helps.
    """
    import numpy as np

    from hcssp import ImplicitCSSP
    from hcssp.cssp import TransitionBatch

    rng = np.random.default_rng(seed)
    blocks = size // BLOCK
    wall, hazard = np.zeros((2, size, size), dtype=bool)
    kind = rng.random((blocks, blocks))
    left, top = rng.integers(0, 5, (2, blocks, blocks))
    width, height = rng.integers(2, 6, (2, blocks, blocks))
    for across in range(blocks):
        for down in range(blocks):
            x, y = BLOCK * across + left[across, down], BLOCK * down + top[across, down]
            wide, high = width[across, down], height[across, down]
            if kind[across, down] < 0.2:
                wall[x + 1 : x + wide, y + 1 : y + high] = True
            elif kind[across, down] < 0.8:
                hazard[x : x + wide, y : y + high] = True
    start = np.array([size // 2 - 100, size // 2])
    goal = start + np.array([200, 0])
    wall[tuple(start)] = wall[tuple(goal)] = False
    steps = np.array([[0, -1], [1, 0], [0, 1], [-1, 0]])
    moves = steps[[[action, (action - 1) % 4, (action + 1) % 4] for action in range(4)]]
    chances = np.array([1.0 - slip, slip / 2, slip / 2])

    def transitions(cells: Any) -> TransitionBatch:
        count = len(cells)
        here = cells[:, None, None, :]
        there = here + moves
        x, y = np.clip(there[..., 0], 0, size - 1), np.clip(there[..., 1], 0, size - 1)
        blocked = wall[x, y] | (x != there[..., 0]) | (y != there[..., 1])
        return TransitionBatch(
            states=np.repeat(np.arange(count), 4),
            actions=np.tile(np.arange(4), count),
            costs=np.stack((np.ones(4 * count), np.repeat(hazard[cells[:, 0], cells[:, 1]] * 1.0, 4))),
            rows=np.repeat(np.arange(4 * count), 3),
            successors=np.where(blocked[..., None], here, there).reshape(-1, 2),
            probabilities=np.tile(chances, 4 * count),
        )

    return ImplicitCSSP.in_batches(
        tuple(start.tolist()),
        transitions,
        lambda cells: (cells == goal).all(axis=1),
        lambda cells: np.linalg.norm(cells - goal, axis=1) / (1.0 - slip),
        ("north", "east", "south", "west"),
        ("time", "damage"),
        {"damage": bound},
        name=f"grid of {size} x {size}",
    )


def large_racetrack(scale: int, max_speed: int = 4, *, slip: float = 0.1, bound: float = 6.0) -> ImplicitCSSP:
    """The racetrack of ``hcssp.scenarios.racetrack`` at a larger scale, its states as functions.

    The heuristic looks at each direction by itself (:func:`one_direction`): in that direction the car has a
    speed, in the other it may jump as far as it likes within its limit.
    """
    import numpy as np

    from hcssp import ImplicitCSSP
    from hcssp.cssp import TransitionBatch
    from hcssp.heuristics import highest
    from hcssp.scenarios.domains.racetrack import ACCELERATIONS, TRACK

    wall, rough, finish = WALL, ROUGH, FINISH
    codes = {"#": wall, ".": 1, "S": 1, ":": rough, "F": finish}
    lines = TRACK.strip().splitlines()
    sketch = np.array([[codes[character] for character in line] for line in lines])
    ground = np.kron(sketch, np.ones((scale, scale), dtype=np.int64))
    height, width = ground.shape
    line = next(row for row, text in enumerate(lines) if "S" in text)
    start = np.array([lines[line].index("S") * scale + scale // 2, line * scale + scale // 2, 0, 0])
    over = np.array([-1, -1, 0, 0])
    directions = [one_direction(ground, start, axis, max_speed, slip) for axis in (0, 1)]
    sizes = " and ".join(str(each.num_states) for each in directions)

    def moved(place: Any, velocity: Any) -> Any:
        finished, crashed = np.zeros((2, len(place)), dtype=bool)
        # Two looks for each cell of the longer side see every cell of the line.
        looks = 2 * np.maximum(np.abs(velocity).max(axis=1), 1)
        for look in range(1, 2 * max_speed + 1):
            line = (2 * velocity * look + looks[:, None]) // (2 * looks[:, None])
            across, along = (place + line).T
            outside = (across < 0) | (across >= width) | (along < 0) | (along >= height)
            met = ground[np.clip(along, 0, height - 1), np.clip(across, 0, width - 1)]
            met = np.where(outside, wall, met)
            looking = look <= looks
            finished |= looking & (met == finish) & ~crashed
            crashed |= looking & (met == wall) & ~finished
        after = np.concatenate((place + velocity, velocity), axis=1)
        after[crashed] = start
        after[finished] = over
        return after

    def transitions(states: Any) -> TransitionBatch:
        count, actions = len(states), len(ACCELERATIONS)
        faster = np.clip(states[:, None, 2:] + np.array(ACCELERATIONS), -max_speed, max_speed)
        intended = moved(np.repeat(states[:, :2], actions, axis=0), faster.reshape(-1, 2))
        slipped = np.repeat(moved(states[:, :2], states[:, 2:]), actions, axis=0)
        rows = count * actions
        wear = np.repeat(ground[states[:, 1], states[:, 0]] == rough, actions) * 1.0
        return TransitionBatch(
            states=np.repeat(np.arange(count), actions),
            actions=np.tile(np.arange(actions), count),
            costs=np.stack((np.ones(rows), wear)),
            rows=np.tile(np.arange(rows), 2),
            successors=np.concatenate((intended, slipped)),
            probabilities=np.repeat((1.0 - slip, slip), rows),
        )

    return ImplicitCSSP.in_batches(
        tuple(start.tolist()),
        transitions,
        lambda states: states[:, 0] < 0,
        highest(*directions),
        ACCELERATIONS,
        ("time", "wear"),
        {"wear": bound},
        name=f"racetrack of scale {scale}",
        description=f"led by small problems of {sizes} states",
    )


def one_direction(ground: Any, start: Any, axis: int, max_speed: int, slip: float) -> TableHeuristic:
    """The racetrack with a speed in one direction alone: what is to come at least of time and wear.

    In the other direction cells are taken together to blocks as long as the largest step, and a step leads
    at most to the next block, whatever the speed was. A block is rough if one can stand only on rough ground
    in it. One may crash at will, and finishes if the finish may be met. A step is two here: first the speed
    is chosen, which fails with `slip`, then the block.

    Parameters
    ----------
    ground
        What every cell is, by row and column.
    start
        Where the car starts: column, row, and no speed.
    axis
        0 for the direction across the columns, 1 across the rows.
    max_speed, slip
        The limit of the speed, and how often an acceleration fails.
    """
    import numpy as np

    from hcssp.cssp import ImplicitCSSP, TransitionBatch
    from hcssp.heuristics import expected_costs

    cells = ground if axis == 0 else ground.T
    missing = -len(cells) % max_speed
    cells = np.concatenate((cells, np.full((missing, cells.shape[1]), WALL)))
    blocks = cells.reshape(-1, max_speed, cells.shape[1])
    standing = (blocks != WALL) & (blocks != FINISH)
    open_block = np.pad(standing.any(axis=1), ((1, 1), (max_speed, max_speed)))
    rough_block = ~(standing & (blocks != ROUGH)).any(axis=1)
    finish = np.pad((blocks == FINISH).any(axis=1), ((1, 1), (0, 0)))
    near_finish = finish[:-2] | finish[1:-1] | finish[2:]
    finishes_before = np.cumsum(near_finish, axis=1)
    last = cells.shape[1] - 1
    over = np.array([-1, -1, 0, 0])
    again = np.array([start[axis], start[1 - axis] // max_speed, 0, 0])

    def transitions(states: Any) -> TransitionBatch:
        place, block, speed, moving = states.T
        owners, costs, rows, successors, chances, count = [], [], [], [], [], 0

        def add(own: Any, paid: Any, *outcomes: tuple[Any, float]) -> None:
            nonlocal count
            owners.append(own)
            costs.append(np.broadcast_to(paid, (2, len(own))))
            for reached, chance in outcomes:
                rows.append(count + np.arange(len(own)))
                successors.append(np.broadcast_to(reached, (len(own), 4)))
                chances.append(np.full(len(own), chance))
            count += len(own)

        choosing, going = np.flatnonzero(moving == 0), np.flatnonzero(moving)
        here = states[choosing] + [0, 0, 0, 1]
        paid = np.stack((np.ones(len(choosing)), rough_block[block[choosing], place[choosing]]))
        for change in (-1, 0, 1):
            faster = here.copy()
            faster[:, 2] = np.clip(faster[:, 2] + change, -max_speed, max_speed)
            add(choosing, paid, (faster, 1.0 - slip), (here, slip))
        for change in (-1, 0, 1):
            there = place + speed
            free = going[open_block[block + change + 1, there + max_speed][going]]
            add(free, 0.0, (np.stack((there, block + change, speed, 0 * speed), axis=1)[free], 1.0))
        ends = np.clip(np.stack((place, place + speed)), 0, last)
        met = finishes_before[block, ends.max(axis=0)] > finishes_before[block, ends.min(axis=0) - 1]
        add(going[met[going]], 0.0, (over, 1.0))
        add(going, 0.0, (again, 1.0))
        owner = np.concatenate(owners)
        return TransitionBatch(
            owner,
            np.concatenate([np.full(len(own), number) for number, own in enumerate(owners)]),
            np.concatenate(costs, axis=1),
            np.concatenate(rows),
            np.concatenate(successors),
            np.concatenate(chances),
        )

    def project(states: Any) -> Any:
        small = np.stack(
            (states[:, axis], states[:, 1 - axis] // max_speed, states[:, 2 + axis], 0 * states[:, 0]), axis=1
        )
        return np.where(states[:, :1] < 0, over, small)

    names = ("slower", "as fast", "faster", "block before", "same block", "next block", "finish", "crash")
    small = ImplicitCSSP.in_batches(
        tuple(again.tolist()),
        transitions,
        lambda states: states[:, 0] < 0,
        action_names=names,
        cost_names=("time", "wear"),
    )
    return expected_costs(small.enumerated(), project)
