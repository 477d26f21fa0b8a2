r"""Routing among moving obstacles: a water taxi crosses a harbour in which ferries go to and fro.

Every basin is a grid of its own, with quays and ferries. A ferry is two cells long and goes along its line
from quay to quay and back; at every step it may be late and stay where it is. The taxi steps, drifts to a
side by chance, or waits; a taxi that meets a ferry has collided, and the trip is over. Between two basins the
taxi chooses: through the old lock, which may be shut and is then waited for, or around through the canal. The
probability of a collision is bounded, by default with 0.01.

A basin is a :class:`MovingGrid`, a grid on which something moves by chance. A state is a cell and a *mode*,
which says where everything else is. The modes change by a Markov chain
:math:`M`, which do not depend on the actions:

.. math:: P(c', m' \mid c, m, a) = P(c' \mid c, a)\, M(m' \mid m).

A step that arrives in cell :math:`c'` in mode :math:`m'` may end in an exit, such as a collision, with a
probability of its own. All modes of the goal's cell are one goal, so that what comes after it knows nothing
of the modes.

>>> lane = GridWorld(width=3, height=1, start=(1, 1), goal=(3, 1), cost_names=("time", "risk"))
>>> gate = Modes(("open", "shut"), np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([1.0, 0.0]))
>>> squeezed = np.array([[0.0, 0.0], [0.0, 0.1], [0.0, 0.0]])
>>> shut = MovingGrid(lane, gate, exits={"squeezed": squeezed}, wait={"time": 1.0}).to_cssp()
>>> shut.num_states, list(shut.state_labels)[-2:]
(6, ['goal', 'squeezed'])
>>> east = shut.row_start[shut.state_index["(1, 1), open"]] + DIRECTIONS.index("east")
>>> shut.transitions[[east]].toarray().round(3).tolist()
[[0.0, 0.0, 0.5, 0.45, 0.0, 0.05]]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Annotated

import numpy as np
from scipy.sparse import csr_array, eye_array, kron, vstack

from hcssp.cssp.arrays import tidy
from hcssp.cssp.grid import DIRECTIONS, GridWorld, Hazard, PlacedGrid
from hcssp.cssp.labels import JoinedLabels, RepeatedNames, TupleLabels
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.product import LevelLabels
from hcssp.cssp.validation import bound_array, validated
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.scenarios.scenario import Range, Size, scenario, single_state

MINUTES, COLLISION = "minutes", "collision"
COSTS = (MINUTES, COLLISION)
COLLIDED = "collided"
RECOVERY = 240.0
"""Minutes until help arrives after a collision."""


ABOUT = "routing", "a water taxi among ferries, with a collision in at most one trip of a hundred"


@scenario(
    *ABOUT,
    Size(2_528, 5, 1),
    lengths=("width", "height"),
    small={"basins": 1, "ferries": 1},
    large={"basins": 4, "width": 10, "height": 7},
)
def routing(
    *,
    basins: Annotated[int, Range("how many basins are crossed", 1, 20)] = 2,
    width: Annotated[int, Range("the cells from the west of a basin to the east", 5, 60)] = 7,
    height: Annotated[int, Range("the cells from its north to its south", 5, 60)] = 5,
    ferries: Annotated[int, Range("how many ferries there are in a basin", 0, 3)] = 2,
    late: Annotated[float, Range("the probability that a ferry does not move in a step", 0, 0.9)] = 0.2,
    drift: Annotated[float, Range("the probability that the taxi drifts to a side", 0, 0.9)] = 0.1,
    shut: Annotated[float, Range("the probability that a lock is shut", 0, 1)] = 0.3,
    bound: Annotated[float, Range("the probability of a collision that is allowed", 0, 1)] = 0.01,
) -> HCSSP:
    """The harbour as a problem.

    Raises
    ------
    InvalidProblem
        If a parameter has a value that is not allowed.
    """
    plan = ProcedureBuilder(*ABOUT)
    entered = [plan.add_event(f"basin-{number + 1}") for number in range(basins)]
    lost, over = plan.add_event("adrift"), plan.add_event("landed")
    counts = {}
    for number, here in enumerate(entered):
        crossing = plan.add_activity(
            f"cross-{number + 1}", _basin(width, height, ferries, late, drift, number), f"basin {number + 1}"
        )
        counts[crossing] = COLLISION
        behind = over if number + 1 == basins else plan.add_event(f"gate-{number + 1}")
        plan.add_choice(here, "cross", to=[Outcome(1.0, behind, runs=crossing, exits={COLLIDED: lost})])
        if number + 1 < basins:
            ahead = entered[number + 1]
            waiting = plan.add_activity(
                f"wait-at-lock-{number + 1}",
                single_state(COSTS, {"go on": {MINUTES: 8.0}}, "here", "there", 0.25),
            )
            canal = plan.add_activity(
                f"canal-{number + 1}", single_state(COSTS, {"go on": {MINUTES: 3.0}}, "here", "there")
            )
            opened = Outcome(1.0 - shut, ahead)
            closed = Outcome(shut, ahead, runs=waiting)
            plan.add_choice(behind, "lock", to=[opened, closed])
            plan.add_choice(behind, "canal", to=[Outcome(1.0, ahead, runs=canal)])
    towed = plan.add_activity(
        "tow", single_state(COSTS, {"tow": {MINUTES: RECOVERY, COLLISION: 1.0}}, "adrift", "ashore")
    )
    counts[towed] = COLLISION
    plan.add_choice(lost, "call for help", to=[Outcome(1.0, over, runs=towed)])
    # After a collision one is towed home, so that no run counts twice.
    plan.add_constraint(COLLISION, at_most=bound, counts=counts, probability_of="a collision")
    return plan.build(start=entered[0], end=over)


def _basin(width: int, height: int, ferries: int, late: float, drift: float, number: int) -> CSSP:
    """A basin from its western gate to its eastern one; the ferries' lines are crossed on the way."""
    # Neighbouring basins are mirror images, so that the gates of one fit to those of the next.
    low, high = 1 + height // 4, height - height // 4
    start, goal = ((0, low), (width + 1, high)) if number % 2 == 0 else ((0, high), (width + 1, low))
    island = (width // 2 + 1, height // 2 + 1, 1, 1)
    columns = [_line(width, ferries, each) for each in range(ferries)]
    world = GridWorld(
        width=width,
        height=height,
        start=start,
        goal=goal,
        walls=[island],
        # They cost nothing by themselves: a picture shows where the ferries go.
        hazards=[Hazard(column, 1, 1, height, {}) for column in columns],
        slip=drift,
        cost_names=COSTS,
    )
    lanes = [_Ferry(column, height, late) for column in columns]
    change: FloatArray = np.ones((1, 1))
    initial: FloatArray = np.ones(1)
    for lane in lanes:
        change = np.kron(change, lane.change).astype(np.float64)
        initial = np.kron(initial, np.full(len(lane.places), 1.0 / len(lane.places))).astype(np.float64)
    names = tuple(", ".join(parts) or "no ferry" for parts in product(*(lane.names for lane in lanes)))
    met = np.zeros((len(world.cells), len(names)), dtype=np.bool_)
    for mode, tops in enumerate(product(*(lane.places for lane in lanes))):
        for lane, top in zip(lanes, tops, strict=True):
            across, down = world.cells.T
            met[:, mode] |= (across == lane.column) & ((down == top) | (down == top + 1))
    return MovingGrid(
        world,
        Modes(names, change, initial),
        exits={COLLIDED: met.astype(np.float64)},
        wait={MINUTES: 1.0},
    ).to_cssp()


def _line(width: int, ferries: int, each: int) -> int:
    """The column of a ferry's line: they are spread over the basin, and none runs over the island."""
    column = 1 + (each + 1) * width // (ferries + 1)
    return column + 1 if column == width // 2 + 1 else column


class _Ferry:
    """A ferry on its line: to the south and back again, two cells long."""

    def __init__(self, column: int, height: int, late: float) -> None:
        self.column = column
        southwards = [*range(1, height)]
        northwards = southwards[-2:0:-1]
        self.places = southwards + northwards
        self.names = [
            *(f"ferry in {column} at {top} southwards" for top in southwards),
            *(f"ferry in {column} at {top} northwards" for top in northwards),
        ]
        count = len(self.places)
        self.change: FloatArray = late * np.eye(count) + (1.0 - late) * np.roll(np.eye(count), 1, axis=1)


GOAL = "goal"


@dataclass(frozen=True, eq=False)
class Modes:
    """What moves by itself.

    Attributes
    ----------
    names
        The names of the modes.
    change
        The probability of each next mode, a row for each mode.
    initial
        The probability of each mode at the beginning.
    """

    names: tuple[str, ...]
    change: FloatArray
    initial: FloatArray

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False)
class MovingGrid:
    """A grid and the modes of what moves on it; :meth:`to_cssp` gives the problem.

    Attributes
    ----------
    world
        Walls, hazards and steps that do not depend on the mode; it has one goal and no exits of its own.
    modes
        What moves.
    exits
        The probability that arriving in a cell in a mode ends in an exit, by its name: ``[cell, mode]``,
        with cells as in ``world.cells``.
    wait
        The costs of staying for a step, by name.
    """

    world: GridWorld
    modes: Modes
    exits: Mapping[str, FloatArray]
    wait: Mapping[str, float]

    def to_cssp(self) -> CSSP:
        """The problem: states are cells with modes, then the goal, then the exits."""
        names = self.world.cost_names
        count, num_cells = len(self.modes), len(self.world.cells)
        grid = self.world.to_cssp()
        inside = ~grid.goals
        acting = np.flatnonzero(inside)
        actions = (*DIRECTIONS, "wait")
        stays = csr_array(eye_array(num_cells))[acting]
        order = np.arange(len(acting) * len(actions)).reshape(len(actions), -1).T.ravel()
        steps = np.arange(len(acting)) * len(DIRECTIONS)
        moves = vstack([*(grid.transitions[steps + each] for each in range(4)), stays]).tocsr()[order]
        parts = [kron(moves, self.modes.change[[mode]], format="csr") for mode in range(count)]
        # Modes came first, then cells and actions; a state's rows are wanted together.
        rows = np.arange(count * len(order)).reshape(count, len(acting), len(actions))
        transitions = vstack(parts).tocsr()[rows.transpose(1, 0, 2).ravel()] @ self._arriving(acting)
        costs = np.stack([self._step_costs(name, acting, actions) for name in names])
        exits = tuple(self.exits)
        num_states = len(acting) * count + 1 + len(exits)
        ends = np.arange(num_states) >= len(acting) * count
        initial = np.zeros(num_states)
        initial[: len(acting) * count] = np.outer(grid.initial[acting], self.modes.initial).ravel()
        tidy(transitions)
        cells = self.world.cells
        ends_at = np.repeat(cells[~inside], 1 + len(exits), axis=0)
        places = np.vstack([np.repeat(cells[acting], count, axis=0), ends_at])
        found: list[str] = []
        problem = CSSP.unchecked(
            transitions=transitions,
            row_start=np.minimum(np.arange(num_states + 1) * len(actions), transitions.shape[0]),
            costs=costs,
            initial=initial,
            goals=ends,
            cost_names=names,
            bounds=bound_array(self.world.bounds, names, found),
            state_labels=JoinedLabels(
                LevelLabels(TupleLabels(self.world.cells[acting]), self.modes.names), (GOAL, *exits)
            ),
            action_labels=RepeatedNames(actions, np.tile(np.arange(len(actions)), len(acting) * count)),
            world=PlacedGrid.on(replace(self.world, exits=dict.fromkeys(exits, 0.0)), places),
        )
        return validated(problem)

    def _arriving(self, acting: IntArray) -> csr_array:
        """From cells with modes to states: a collision happens on arrival, and the goal has no modes."""
        count, num_cells = len(self.modes), len(self.world.cells)
        goal = len(acting) * count
        state = np.full((num_cells, count), goal, dtype=np.int64)
        state[acting] = np.arange(goal).reshape(-1, count)
        caught = [np.asarray(chance, dtype=np.float64).ravel() for chance in self.exits.values()]
        arrivals = np.arange(num_cells * count)
        exits = [np.full(len(arrivals), goal + 1 + each, dtype=np.int64) for each in range(len(caught))]
        stays = 1.0 - np.sum(caught, axis=0)
        matrix = csr_array(
            (
                np.concatenate([stays, *caught]),
                (np.tile(arrivals, 1 + len(caught)), np.concatenate([state.ravel(), *exits])),
            ),
            shape=(num_cells * count, goal + 1 + len(caught)),
        )
        matrix.eliminate_zeros()
        return matrix

    def _step_costs(self, name: str, acting: IntArray, actions: Sequence[str]) -> FloatArray:
        columns, lines = self.world.cells[acting].T
        still = self.world.cell_costs(name)[lines, columns]
        here = np.repeat(still[:, np.newaxis], len(self.modes), axis=1)
        paid = np.repeat(here[:, :, np.newaxis], len(actions), axis=2)
        paid[:, :, -1] += self.wait.get(name, 0.0) - self.world.step_costs.get(name, 0.0)
        return paid.ravel()
