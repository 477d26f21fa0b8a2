"""A few runs of a plan from beginning to end, step by step, to be looked at.

The means of many runs come from :mod:`hcssp.evaluation.procedure_simulation`; here the way counts. A run
is a list of legs, one for each execution of an activity; an event takes no step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hcssp.cssp.grid import GridWorld
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.evaluation.steps import Walk, steps_of
from hcssp.procedure import Flattening, ProcedurePolicy, policy_chain
from hcssp.procedure.aim import Aim
from hcssp.reports.figures import short

MAX_STEPS = 20_000
_STEPS = {(0, -1): "0", (1, 0): "1", (0, 1): "2", (-1, 0): "3", (0, 0): "4"}


@dataclass(frozen=True, eq=False)
class Run:
    """One run.

    Attributes
    ----------
    states
        The flat states that are passed, events included; the last is the end unless the run was cut off.
    costs
        What leaving each of them costs, one line a state; nothing for the last.
    finished
        Whether it reached the end.
    """

    states: IntArray
    costs: FloatArray
    finished: bool

    @property
    def totals(self) -> FloatArray:
        """The sum of each cost."""
        return np.asarray(self.costs.sum(axis=0))


def draw_runs(policy: ProcedurePolicy, count: int, seed: int = 0, max_steps: int = MAX_STEPS) -> list[Run]:
    """Follow `policy` `count` times; the same seed gives the same runs.

    Parameters
    ----------
    policy
        What to follow; it should reach the end almost surely.
    count
        How many runs.
    seed
        Names the runs for good.
    max_steps
        Where a run is cut off.
    """
    flattening = policy.problem.flattening
    chain, only_policy = policy_chain(policy)
    steps = steps_of(chain, only_policy)
    walk = Walk(chain, steps, np.full(count, flattening.start), np.random.default_rng(seed))
    states = np.full(count, flattening.start)
    passed = [states]
    paid = []
    for under_way, taken in walk.go(max_steps):
        states, costs = states.copy(), np.zeros((count, len(chain.costs)))
        states[under_way] = steps.state[taken]
        costs[under_way] = steps.costs(chain, taken).T
        passed.append(states)
        paid.append(costs)
    ways = np.array(passed)
    # A line for every state on the way; the last one is left by no step.
    spent = np.array([*paid, np.zeros((count, len(chain.costs)))])
    runs = []
    for run in range(count):
        ended = np.flatnonzero(ways[:, run] == flattening.end)
        way = ways[: ended[0] + 1 if len(ended) else len(ways), run]
        runs.append(Run(way, spent[: len(way), run], bool(len(ended))))
    return runs


def run_data(flattening: Flattening, run: Run) -> dict[str, Any]:
    """A run for a page: its legs, what every step costs, and the sums.

    A leg through a grid is its first cell and a digit for each step: a position in
    :data:`hcssp.cssp.grid.DIRECTIONS`, or 4 for staying; one through a table only its number of steps.
    """
    legs: list[dict[str, Any]] = []
    events: list[int] = []
    is_event = run.states < flattening.num_event_states
    edges = np.flatnonzero(np.diff(np.concatenate([[True], is_event, [True]]).astype(np.int8)))
    first_events = run.states[: edges[0]] if len(edges) else run.states
    before = [int(flattening.event_states[state][0]) for state in first_events]
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        following = edges[edges > end][0] if np.any(edges > end) else len(run.states)
        events = [int(flattening.event_states[state][0]) for state in run.states[end:following]]
        legs.append(_leg(flattening, run.states[begin:end], run.states[end : end + 1], events))
    aim = Aim.of(flattening.problem)
    acting = run.costs[~is_event] @ aim.matrix.T
    return {
        "before": before,
        "legs": legs,
        "costs": _run_lengths(acting),
        "totals": [short(total) for total in aim.told(run.totals)],
        "finished": run.finished,
    }


def _leg(flattening: Flattening, states: IntArray, reached: IntArray, events: list[int]) -> dict[str, Any]:
    activity = int(np.searchsorted(flattening.state_offset, states[0], side="right")) - 1
    cssp = flattening.problem.activities[activity].cssp
    local = np.flatnonzero(~cssp.goals)[states - flattening.state_offset[activity]]
    leg: dict[str, Any] = {"activity": activity, "events": events, "steps": len(states)}
    world = cssp.world
    if world is not None:
        cells = world.cells[local]
        if len(reached):
            cells = np.vstack([cells, _goal_cell(flattening, activity, world, cells[-1], int(reached[0]))])
        moves = np.clip(np.diff(cells, axis=0), -1, 1).tolist()
        leg["cell"] = cells[0].tolist()
        leg["moves"] = "".join(_STEPS[column, row] for column, row in moves)
    return leg


def _goal_cell(
    flattening: Flattening, activity: int, world: GridWorld, last: IntArray, reached: int
) -> IntArray:
    """The goal that a leg ended in: of those that lead to the event that was reached, the nearest.

    An exit is no cell; whoever leaves by one does so where it stands.
    """
    goals = flattening.problem.activities[activity].cssp.goals
    fitting = np.flatnonzero(goals & (flattening.flat_state(activity) == reached))
    cells = world.cells[fitting[fitting < len(world.cells)]]
    distances = np.abs(cells - last).sum(axis=1)
    if not len(cells) or (world.exit_names and distances.min() > 1):
        return last
    nearest: IntArray = cells[np.argmin(distances)]
    return nearest


def _run_lengths(costs: FloatArray) -> list[list[float | int | None]]:
    """Equal neighbours together: a count, then the costs."""
    if not len(costs):
        return []
    changes = np.flatnonzero(np.any(np.diff(costs, axis=0) != 0.0, axis=1)) + 1
    starts = np.concatenate([[0], changes])
    counts = np.diff(np.concatenate([starts, [len(costs)]]))
    return [
        [int(count), *(short(cost) for cost in costs[start])]
        for start, count in zip(starts, counts, strict=True)
    ]
