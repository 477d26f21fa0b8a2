r"""A grid on which something moves by chance: ferries, storms, gusts of wind.

A state is a cell and a *mode*, which says where everything else is. The modes change by a Markov chain
:math:`M` of their own, whatever is done, and how much a step slips may depend on them:

.. math:: P(c', m' \mid c, m, a) = P_m(c' \mid c, a)\, M(m' \mid m).

Whoever then stands in cell :math:`c'` in mode :math:`m'` may at once be in an exit, such as a collision, with
a probability of its own. All modes of the goal's cell are one goal, so that what comes after it knows nothing
of the modes.

>>> lane = GridWorld(width=3, height=1, start=(1, 1), goal=(3, 1), cost_names=("time", "risk"))
>>> gate = Modes(("open", "shut"), np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([1.0, 0.0]))
>>> squeezed = np.array([[0.0, 0.0], [0.0, 0.1], [0.0, 0.0]])
>>> shut = MovingGrid(lane, gate, exits={"squeezed": squeezed}).to_cssp()
>>> shut.num_states, list(shut.state_labels)[-2:]
(6, ['goal', 'squeezed'])
>>> east = shut.row_start[shut.state_index["(1, 1), open"]] + DIRECTIONS.index("east")
>>> shut.transitions[[east]].toarray().round(3).tolist()
[[0.0, 0.0, 0.5, 0.45, 0.0, 0.05]]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, eye_array, kron, vstack

from hcssp.cssp.conversion import tidy
from hcssp.cssp.grid import DIRECTIONS, GridWorld
from hcssp.cssp.labels import JoinedLabels, RepeatedNames, TupleLabels
from hcssp.cssp.levels import LevelLabels, PlacedGrid
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.validation import bound_array, validated

GOAL = "goal"


@dataclass(frozen=True, eq=False)
class Modes:
    """What moves by itself.

    Attributes
    ----------
    names
        What people call the modes.
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


@dataclass(frozen=True)
class Leaving:
    """An action, possible everywhere, that ends in an exit at a price."""

    action: str
    exit: str
    costs: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class MovingGrid:
    """A grid and the modes of what moves on it; :meth:`to_cssp` gives the problem.

    Attributes
    ----------
    world
        Walls, hazards and steps that do not depend on the mode; it has one goal and no exits of its own.
    modes
        What moves.
    costs
        What every step costs besides, by the cost's name: ``[cell, mode]``, cells as ``world.cells`` has
        them.
    exits
        With what probability whoever arrives in a cell in a mode is in an exit, by its name: ``[cell,
        mode]``.
    wait
        What it costs to stay for a step, by name; None if one cannot.
    leaving
        What ends the activity from anywhere.
    slips
        How much steps slip in each mode; by default as much as in `world`.
    """

    world: GridWorld
    modes: Modes
    costs: Mapping[str, FloatArray] = field(default_factory=dict)
    exits: Mapping[str, FloatArray] = field(default_factory=dict)
    wait: Mapping[str, float] | None = None
    leaving: Sequence[Leaving] = ()
    slips: Sequence[float] = ()

    def to_cssp(self) -> CSSP:
        """The problem: states are cells with modes, then the goal, then the exits."""
        names = self.world.cost_names
        count, num_cells = len(self.modes), len(self.world.cells)
        grids = [replace(self.world, slip=slip).to_cssp() for slip in self.slips] or [self.world.to_cssp()]
        inside = ~grids[0].goals
        acting = np.flatnonzero(inside)
        actions = [*DIRECTIONS, *(["wait"] if self.wait is not None else [])]
        stays = csr_array(eye_array(num_cells))[acting]
        order = np.arange(len(acting) * len(actions)).reshape(len(actions), -1).T.ravel()
        parts = []
        for mode in range(count):
            steps = grids[mode % len(grids)].transitions
            by_action = [steps[np.arange(len(acting)) * len(DIRECTIONS) + each] for each in range(4)]
            moves = vstack([*by_action, *([stays] if self.wait is not None else [])]).tocsr()[order]
            parts.append(kron(moves, self.modes.change[[mode]], format="csr"))
        # Modes came first, then cells and actions; a state's rows are wanted together.
        rows = np.arange(count * len(order)).reshape(count, len(acting), len(actions))
        transitions = vstack(parts).tocsr()[rows.transpose(1, 0, 2).ravel()] @ self._arriving(acting)
        costs = np.stack([self._step_costs(name, acting, actions) for name in names])
        transitions, costs, labels = self._with_leaving(transitions, costs, actions, len(acting) * count)
        num_states = len(acting) * count + 1 + len(self.exit_names)
        ends = np.arange(num_states) >= len(acting) * count
        initial = np.zeros(num_states)
        initial[: len(acting) * count] = np.outer(grids[0].initial[acting], self.modes.initial).ravel()
        tidy(transitions)
        cells = self.world.cells
        ends_at = np.repeat(cells[~inside], 1 + len(self.exit_names), axis=0)
        places = np.vstack([np.repeat(cells[acting], count, axis=0), ends_at])
        found: list[str] = []
        problem = CSSP.unchecked(
            transitions=transitions,
            row_start=np.minimum(np.arange(num_states + 1) * len(labels), transitions.shape[0]),
            costs=costs,
            initial=initial,
            goals=ends,
            cost_names=names,
            bounds=bound_array(self.world.bounds, names, found),
            state_labels=JoinedLabels(
                LevelLabels(TupleLabels(self.world.cells[acting]), self.modes.names), (GOAL, *self.exit_names)
            ),
            action_labels=RepeatedNames(tuple(labels), np.tile(np.arange(len(labels)), len(acting) * count)),
            world=PlacedGrid.on(replace(self.world, exits=dict.fromkeys(self.exit_names, 0.0)), places),
        )
        return validated(problem)

    @cached_property
    def exit_names(self) -> tuple[str, ...]:
        """The exits, in which there is no cell."""
        return tuple(dict.fromkeys([*self.exits, *(each.exit for each in self.leaving)]))

    def _arriving(self, acting: IntArray) -> csr_array:
        """From cells with modes to states: a collision happens on arrival, and the goal has no modes."""
        count, num_cells = len(self.modes), len(self.world.cells)
        goal = len(acting) * count
        state = np.full((num_cells, count), goal, dtype=np.int64)
        state[acting] = np.arange(goal).reshape(-1, count)
        caught = [np.asarray(chance, dtype=np.float64).ravel() for chance in self.exits.values()]
        stays = 1.0 - np.sum(caught, axis=0) if caught else np.ones(num_cells * count)
        arrivals = np.arange(num_cells * count)
        positions = [goal + 1 + self.exit_names.index(name) for name in self.exits]
        exits = [np.full(len(arrivals), position, dtype=np.int64) for position in positions]
        matrix = csr_array(
            (
                np.concatenate([stays, *caught]),
                (np.tile(arrivals, 1 + len(caught)), np.concatenate([state.ravel(), *exits])),
            ),
            shape=(num_cells * count, goal + 1 + len(self.exit_names)),
        )
        matrix.eliminate_zeros()
        return matrix

    def _step_costs(self, name: str, acting: IntArray, actions: Sequence[str]) -> FloatArray:
        columns, lines = self.world.cells[acting].T
        still = self.world.cell_costs(name)[lines, columns]
        here = np.repeat(still[:, np.newaxis], len(self.modes), axis=1)
        if name in self.costs:
            here = here + self.costs[name][acting]
        paid = np.repeat(here[:, :, np.newaxis], len(actions), axis=2)
        if self.wait is not None:
            step = self.world.step_costs.get(name, 0.0)
            paid[:, :, -1] += self.wait.get(name, 0.0) - step
        return paid.ravel()

    def _with_leaving(
        self, transitions: csr_array, costs: FloatArray, actions: list[str], num_inside: int
    ) -> tuple[csr_array, FloatArray, list[str]]:
        """The rows with those that leave from anywhere, behind the others of their state."""
        goal = num_inside
        for number, leaving in enumerate(self.leaving):
            width = len(actions) + number
            head = np.full(num_inside, goal + 1 + self.exit_names.index(leaving.exit))
            away = csr_array(
                (np.ones(num_inside), head, np.arange(num_inside + 1)),
                shape=(num_inside, transitions.shape[1]),
            )
            price = np.array([leaving.costs.get(name, 0.0) for name in self.world.cost_names])
            order = np.hstack(
                [
                    np.arange(num_inside * width).reshape(num_inside, width),
                    num_inside * width + np.arange(num_inside)[:, np.newaxis],
                ]
            ).ravel()
            transitions = vstack([transitions, away]).tocsr()[order]
            costs = np.hstack([costs, np.repeat(price[:, np.newaxis], num_inside, axis=1)])[:, order]
        return transitions, costs, [*actions, *(each.action for each in self.leaving)]
