"""The state spaces of ``bench_implicit.py``: a large slippery grid, and the racetrack at a larger scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hcssp import ImplicitCSSP

BLOCK = 10


def slippery_grid(size: int, *, slip: float = 0.1, bound: float = 5.0, seed: int = 1) -> ImplicitCSSP:
    """A grid of `size` x `size` cells with walls and hazards; start and goal lie 200 steps apart.

    A step slips to either side with half of `slip`. The heuristic is the straight-line distance, divided by
    what a step comes closer at most in expectation: distances are convex, so slipping never helps.
    """
    import numpy as np

    from hcssp import ImplicitCSSP, TransitionBatch

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

    The heuristic: so many steps of a king it is to the finish along the track, and so fast one can be after
    each step, which slips. Who crashes begins again, so nowhere is it worse than that.
    """
    import numpy as np

    from hcssp import ImplicitCSSP, TransitionBatch
    from hcssp.scenarios.racetrack import ACCELERATIONS, TRACK

    wall, rough, finish = 0, 2, 3
    codes = {"#": wall, ".": 1, "S": 1, ":": rough, "F": finish}
    lines = TRACK.strip().splitlines()
    sketch = np.array([[codes[character] for character in line] for line in lines])
    ground = np.kron(sketch, np.ones((scale, scale), dtype=np.int64))
    height, width = ground.shape
    line = next(row for row, text in enumerate(lines) if "S" in text)
    start = np.array([lines[line].index("S") * scale + scale // 2, line * scale + scale // 2, 0, 0])
    over = np.array([-1, -1, 0, 0])
    distance = _kings_steps(ground != wall, ground == finish)
    longest = int(distance[distance < np.inf].max())
    fewest = _expected_steps(longest, max_speed, slip)
    again = 1.0 + fewest[int(distance[start[1], start[0]]), 0]

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

    def to_come(states: Any) -> Any:
        inside = states[:, 0] >= 0
        cells = np.where(inside[:, None], states[:, :2], start[:2])
        steps = fewest[distance[cells[:, 1], cells[:, 0]].astype(int), np.abs(states[:, 2:]).max(axis=1)]
        return np.where(inside, np.minimum(steps, again), 0.0) * (1.0 - 1e-12)

    return ImplicitCSSP.in_batches(
        tuple(start.tolist()),
        transitions,
        lambda states: states[:, 0] < 0,
        to_come,
        ACCELERATIONS,
        ("time", "wear"),
        {"wear": bound},
        name=f"racetrack of scale {scale}",
    )


def _expected_steps(longest: int, max_speed: int, slip: float) -> Any:
    """For each distance and speed, the expected steps straight ahead; gaining speed fails with `slip`."""
    import numpy as np

    steps = np.zeros((longest + 1, max_speed + 1))
    for left in range(1, longest + 1):
        for speed in range(max_speed + 1):
            faster = min(speed + 1, max_speed)
            gained = 1.0 + (1.0 - slip) * steps[max(left - faster, 0), faster]
            # At a standstill one tries until it succeeds.
            steps[left, speed] = (
                gained / (1.0 - slip) if speed == 0 else gained + slip * steps[max(left - speed, 0), speed]
            )
    return steps


def _kings_steps(free: Any, goals: Any) -> Any:
    """For each cell the fewest steps of a king along free cells to a goal."""
    import numpy as np

    distance = np.where(goals, 0.0, np.inf)
    padded = np.full((free.shape[0] + 2, free.shape[1] + 2), np.inf)
    while True:
        padded[1:-1, 1:-1] = distance
        near = np.min(
            [
                padded[1 + down : -1 + down or None, 1 + across : -1 + across or None]
                for down in (-1, 0, 1)
                for across in (-1, 0, 1)
            ],
            axis=0,
        )
        closer = free & (near + 1.0 < distance)
        if not closer.any():
            return distance
        distance[closer] = near[closer] + 1.0
