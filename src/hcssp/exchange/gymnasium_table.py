"""The tables of Gymnasium's toy-text environments, as problems with costs of one's own.

FrozenLake, CliffWalking and Taxi keep all their transitions in ``env.unwrapped.P``: for each state and action
a list of probability, next state, reward, and whether the episode ends there. :func:`from_gymnasium` makes a
:class:`~hcssp.cssp.model.CSSP` of it. States and actions keep the environment's numbers, so that
``env.step(plan.action(observation))`` follows a plan in the environment itself.

An episode ends in a goal: a lake's far shore is one, and so is a hole in the ice. What falling in costs is
for the user to say, as a cost that is paid there and bounded:

>>> from types import SimpleNamespace
>>> ice = {0: {0: [(0.9, 1, 1.0, True), (0.1, 2, 0.0, True)], 1: [(0.5, 1, 1.0, True), (0.5, 0, 0.0, False)]}}
>>> env = SimpleNamespace(unwrapped=SimpleNamespace(P=ice, initial_state_distrib=[1.0, 0.0, 0.0]))
>>> problem = from_gymnasium(
...     env,
...     costs={"steps": 1, "falls": lambda step: step.terminated and step.reward == 0},
...     bounds={"falls": 0.05},
... )
>>> problem.cost_names, problem.costs.tolist()
(('steps', 'falls'), [[1.0, 1.0], [0.1, 0.0]])
>>> problem.goals.tolist(), problem.state_labels
([False, True, True], (0, 1, 2))
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np

from hcssp.cssp.assembly import Assembly
from hcssp.cssp.model import CSSP
from hcssp.errors import InvalidProblem, UnsupportedProblem


class TableStep(NamedTuple):
    """One entry of an environment's table: what can happen when an action is taken in a state.

    Attributes
    ----------
    state, action, next_state
        The environment's numbers.
    reward
        What the environment pays for it.
    terminated
        Whether the episode ends with it.
    tile
        The letter on the map where it leads, such as ``"H"`` for a hole; empty if states are no tiles.
    """

    state: int
    action: int
    next_state: int
    reward: float
    terminated: bool
    tile: str


StepCost = float | Mapping[str, float] | Callable[[TableStep], float]
"""What each step costs; by the letter of the tile where it leads, 0 for others; or a function of the step."""

ENDED = "ended"
"""A state in which episodes end by some steps and go on by others is two; the end is ``(ENDED, state)``."""


def from_gymnasium(
    environment: Any,
    costs: Mapping[str, StepCost],
    *,
    bounds: Mapping[str, float] | None = None,
    initial: int | Mapping[int, float] | None = None,
) -> CSSP:
    """Make a C-SSP of an environment that has its transitions in a table.

    Parameters
    ----------
    environment
        What ``gymnasium.make`` gives, such as that of ``FrozenLake-v1``. A limit on the steps of an episode
        is no part of the table and is left out.
    costs
        From names to what a step costs, the primary cost first.
    bounds
        Upper bounds on secondary costs, by name.
    initial
        Where an episode begins: a state, or probabilities of several; by default as the environment says.

    Raises
    ------
    UnsupportedProblem
        If the environment has no table.
    InvalidProblem
        With all violations, if what is made of it is not a problem.
    """
    table, begin = _table(environment), _initial(environment, initial)
    priced = _Priced(environment, costs)
    going_on = _visited(table, begin)
    assembly = Assembly(tuple(costs))
    numbers: dict[tuple[int, bool], int] = {}

    def number(state: int, ended: bool) -> int:
        if (state, ended) not in numbers:
            label: Hashable = (ENDED, state) if ended and state in going_on else state
            numbers[state, ended] = assembly.add_state(label)
        return numbers[state, ended]

    for state in going_on:
        number(state, False)
    for state in going_on:
        for action, entries in table[state].items():
            place = f"state {state!r}, action {action!r}"
            steps = [
                TableStep(state, int(action), int(after), float(reward), bool(ended), priced.tile(int(after)))
                for probability, after, reward, ended in entries
                if probability > 0.0
            ]
            row = assembly.add_row(number(state, False), int(action), [0.0] * len(costs))
            arrival: list[float] = []
            for step in steps:
                arrival += assembly.cost_vector(f"{place}, next state {step.next_state}", priced(step))
            assembly.add_transitions(
                [row] * len(steps),
                [number(step.next_state, step.terminated) for step in steps],
                [float(entry[0]) for entry in entries if entry[0] > 0.0],
                arrival,
            )
    goals = [index for (_, ended), index in numbers.items() if ended]
    distribution = {number(state, False): probability for state, probability in begin.items()}
    built = assembly.build(distribution, goals, bounds)
    groups: dict[str, list[Hashable]] = {}
    for (state, _), index in numbers.items():
        if letter := priced.tile(state):
            groups.setdefault(letter, []).append(built.state_labels[index])
    return built.derive(groups=groups)


class _Priced:
    """What the user says that steps cost."""

    def __init__(self, environment: Any, costs: Mapping[str, StepCost]) -> None:
        self._costs = costs
        description = getattr(environment.unwrapped, "desc", None)
        self._tiles = () if description is None else np.asarray(description).ravel().tolist()
        # Taxi has a map, too, but its states say more than where the taxi is.
        if len(self._tiles) != _num_states(environment):
            self._tiles = ()
        for name, cost in costs.items():
            if isinstance(cost, Mapping) and not self._tiles:
                raise InvalidProblem(
                    [
                        f"the cost {name!r} is given by letters, but the environment's states are no tiles "
                        "of a map; give a function of the step"
                    ]
                )

    def tile(self, state: int) -> str:
        if not self._tiles:
            return ""
        letter = self._tiles[state]
        return letter.decode() if isinstance(letter, bytes) else str(letter)

    def __call__(self, step: TableStep) -> dict[str, float]:
        return {name: self._one(cost, step) for name, cost in self._costs.items()}

    def _one(self, cost: StepCost, step: TableStep) -> float:
        if isinstance(cost, Mapping):
            return cost.get(step.tile, 0.0)
        return cost(step) if callable(cost) else cost


def _table(environment: Any) -> Mapping[int, Mapping[int, Any]]:
    table = getattr(getattr(environment, "unwrapped", None), "P", None)
    if not isinstance(table, Mapping):
        raise UnsupportedProblem(
            f"{environment!r} has no table of its transitions (env.unwrapped.P); those of FrozenLake, "
            "CliffWalking and Taxi have one. Of other worlds make a problem with hcssp.explore"
        )
    return table


def _num_states(environment: Any) -> int:
    return len(environment.unwrapped.initial_state_distrib)


def _initial(environment: Any, initial: int | Mapping[int, float] | None) -> dict[int, float]:
    """Where an episode can begin."""
    if isinstance(initial, Mapping):
        given = {int(state): float(probability) for state, probability in initial.items()}
    elif initial is not None:
        given = {int(initial): 1.0}
    else:
        distribution = np.asarray(environment.unwrapped.initial_state_distrib, dtype=np.float64)
        return {state: float(distribution[state]) for state in np.flatnonzero(distribution > 0.0).tolist()}
    unknown = [state for state in given if state not in environment.unwrapped.P]
    if unknown:
        known = f"its states are 0 to {len(environment.unwrapped.P) - 1}"
        raise InvalidProblem([f"initial: the environment has no state {state}; {known}" for state in unknown])
    return given


def _visited(table: Mapping[int, Mapping[int, Any]], begin: Mapping[int, float]) -> list[int]:
    """The states in which an episode can go on, in the order in which they are met."""
    found = dict.fromkeys(begin)
    queue = list(found)
    for state in queue:
        for entries in table[state].values():
            for probability, after, _, ended in entries:
                if probability > 0.0 and not ended and int(after) not in found:
                    found[int(after)] = None
                    queue.append(int(after))
    return queue
