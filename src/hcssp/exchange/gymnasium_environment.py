"""A problem as an environment of Gymnasium, to follow plans in and to compare learnt policies with.

Observations are the numbers of states, those of the flat problem for a procedure; actions are numbers of
labels, which mean the same everywhere. A step is paid with its *expected* costs: a problem keeps no others.

- ``reward`` is the negative primary cost of the step, or what a problem that maximises has of its reward;
- ``info["costs"]`` are all its costs by name, ``info["spent"]`` their sums since the episode began;
- ``info["action_mask"]`` says which actions there are, as ``env.action_space.sample(mask)`` wants it;
- ``info["state"]`` is the state's label, ``info["available"]`` whether the state had the last action.

An action that a state does not have changes nothing and is paid as a refusal, since most learning code cannot
help trying. An episode terminates in a goal and is never truncated: Gymnasium's own ``TimeLimit`` does that.

The tables of Gymnasium's toy-text environments, as problems with additional costs.

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
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hcssp.contract.plan import Plan
from hcssp.cssp.builder import Assembly
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.transition_costs import outcomes_of_rows
from hcssp.errors import ImproperPolicy, InvalidProblem, UnsupportedProblem
from hcssp.evaluation.simulation import MAX_STEPS, Simulation, draw_starts, require_positive
from hcssp.exchange.models import extra
from hcssp.procedure.model import HCSSP

if TYPE_CHECKING:
    from gymnasium import Env


class TableStep(NamedTuple):
    """One entry of an environment's table: what can happen when an action is taken in a state.

    Attributes
    ----------
    state, action, next_state
        The environment's numbers.
    reward
        The reward of the environment for it.
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
"""The cost of each step; by the letter of the reached tile, 0 for others; or a function of the step."""


ENDED = "ended"
"""A state in which episodes end by some steps and go on by others is two; the end is ``(ENDED, state)``."""


def from_gymnasium(
    environment: Env[Any, Any],
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
        is not a part of the table and is left out.
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
    """The costs of steps that the user gives."""

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
                    f"the cost {name!r} is given by letters, but the environment's states are no tiles "
                    "of a map; give a function of the step"
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


PURPOSE = "making a problem an environment"


Behaviour = Callable[[int, dict[str, Any]], int]
"""What to do: from an observation and its info to an action."""


class EpisodeOfProblem:
    """The data of a problem for an environment, and the current episode.

    Attributes
    ----------
    problem
        The problem, or the flat one of a procedure.
    actions
        The label of each action.
    refusal
        The primary cost of trying an action that the state does not have.
    """

    def __init__(self, problem: CSSP | HCSSP, refusal: float | None) -> None:
        self.problem: CSSP = problem.flat
        numbers: dict[Hashable, int] = {}
        codes = [numbers.setdefault(label, len(numbers)) for label in self.problem.action_labels]
        self.actions: tuple[Hashable, ...] = tuple(numbers)
        self._action_of_row: IntArray = np.array(codes, dtype=np.int64)
        largest = float(self.problem.costs[0].max(initial=0.0))
        self.refusal = (largest or 1.0) if refusal is None else float(refusal)
        if not self.refusal >= 0.0:
            raise InvalidProblem(f"refusal is {refusal}; it must be 0 or more")
        weights = {} if problem.reward is None else problem.reward.weights
        self._rewards: FloatArray | None = None
        if weights:
            self._rewards = np.array([weights.get(name, 0.0) for name in self.problem.cost_names])
        self.state = 0
        self.spent: FloatArray = np.zeros(len(self.problem.cost_names))

    def begin(self, generator: np.random.Generator) -> None:
        """Be in a first state, drawn as the problem says."""
        self.state = int(draw_starts(self.problem, generator.random(1))[0])
        self.spent = np.zeros_like(self.spent)

    def advance(self, action: int, generator: np.random.Generator) -> tuple[FloatArray, bool]:
        """Take an action; return its costs, and whether the state has it."""
        row = self.row(action)
        if row == NO_ROW:
            costs = np.zeros_like(self.spent)
            costs[0] = self.refusal
        else:
            rows = np.array([row])
            found = outcomes_of_rows(self.problem, rows)
            cumulated = np.cumsum(found.probabilities)
            drawn = np.searchsorted(cumulated, generator.random() * cumulated[-1], side="right")
            outcome = min(int(drawn), len(cumulated) - 1)
            costs = found.costs(rows, self.problem.costs, self.problem.transition_costs)[:, outcome]
            self.state = int(found.states[outcome])
        self.spent = self.spent + costs
        return costs, row != NO_ROW

    def row(self, action: int) -> int:
        """The row of an action in the present state; none if the state does not have it."""
        first, last = self._rows()
        found = np.flatnonzero(self._action_of_row[first:last] == action)
        return first + int(found[0]) if len(found) else NO_ROW

    def action_of(self, row: int) -> int:
        """The number of a row's action."""
        return int(self._action_of_row[row])

    def reward(self, costs: FloatArray, available: bool) -> float:
        """The reward of a step with these costs."""
        if self._rewards is None or not available:
            return -float(costs[0])
        return float(self._rewards @ costs)

    @property
    def over(self) -> bool:
        return bool(self.problem.goals[self.state])

    def info(self, costs: FloatArray | None = None, available: bool = True) -> dict[str, Any]:
        """The information with an observation, made again each time."""
        names = self.problem.cost_names
        mask = np.zeros(len(self.actions), dtype=np.int8)
        mask[self._action_of_row[slice(*self._rows())]] = 1
        paid = np.zeros_like(self.spent) if costs is None else costs
        return {
            "state": self.problem.state_labels[self.state],
            "costs": dict(zip(names, paid.tolist(), strict=True)),
            "spent": dict(zip(names, self.spent.tolist(), strict=True)),
            "action_mask": mask,
            "available": available,
        }

    def _rows(self) -> tuple[int, int]:
        row_start = self.problem.row_start
        return int(row_start[self.state]), int(row_start[self.state + 1])


@cache
def _environment_class() -> Any:
    """The class, made when Gymnasium is first needed, since it derives from one of Gymnasium's."""
    gymnasium = extra("gymnasium", "gymnasium", PURPOSE)

    class ProblemEnvironment(gymnasium.Env):  # type: ignore[misc,name-defined]
        metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

        def __init__(self, problem: CSSP | HCSSP, refusal: float | None, render_mode: str | None) -> None:
            self.episode = EpisodeOfProblem(problem, refusal)
            self.render_mode = render_mode
            self.observation_space = gymnasium.spaces.Discrete(self.episode.problem.num_states)
            self.action_space = gymnasium.spaces.Discrete(len(self.episode.actions))

        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[int, dict[str, Any]]:
            super().reset(seed=seed)
            self.episode.begin(self.np_random)
            return self.episode.state, self.episode.info()

        def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
            costs, available = self.episode.advance(int(action), self.np_random)
            message = self.episode.info(costs, available)
            reward = self.episode.reward(costs, available)
            return self.episode.state, reward, self.episode.over, False, message

        def render(self) -> str | None:
            if self.render_mode is None:
                return None
            return str(self.episode.problem.state_labels[self.episode.state])

    return ProblemEnvironment


def to_gymnasium(
    problem: CSSP | HCSSP, *, refusal: float | None = None, render_mode: str | None = None
) -> Env[int, int]:
    """Make a ``gymnasium.Env`` of a problem; see the module for its observations.

    Parameters
    ----------
    problem
        A C-SSP, or a procedure.
    refusal
        The primary cost of trying an action that the state does not have; by default that of the most
        expensive step, or 1 if all are free.
    render_mode
        ``"ansi"`` renders the state's label.

    Raises
    ------
    MissingDependency
        If Gymnasium is not installed.
    """
    made: Env[int, int] = _environment_class()(problem, refusal, render_mode)
    return made


def record_episodes(
    environment: Env[Any, Any],
    behaviour: Plan | Behaviour,
    episodes: int = 1000,
    seed: int = 0,
    max_steps: int = MAX_STEPS,
) -> Simulation:
    """Follow a plan or a learnt policy in an environment, and record the costs of each episode.

    Parameters
    ----------
    environment
        What :func:`to_gymnasium` made, perhaps wrapped.
    behaviour
        A plan for the environment's problem, or a function from an observation and its info to an action.
    episodes
        How many.
    seed
        The seed of the episodes, which makes them reproducible.
    max_steps
        After how many steps an episode is stopped; it then counts as one of infinite cost, as it does if a
        wrapper truncates it.

    Raises
    ------
    InvalidProblem
        If the plan is one for another problem, or a number is not positive.
    ImproperPolicy
        If an episode enters a state in which the plan does nothing.
    """
    require_positive(episodes=episodes, max_steps=max_steps)
    unwrapped: Any = environment.unwrapped
    inner: EpisodeOfProblem = unwrapped.episode
    act = _follow(inner, behaviour) if isinstance(behaviour, Plan) else behaviour
    names = inner.problem.cost_names
    totals = np.zeros((len(names), episodes))
    lengths = np.zeros(episodes, dtype=np.int64)
    truncated = np.zeros(episodes, dtype=np.bool_)
    for number in range(episodes):
        observation, info = environment.reset(seed=seed if number == 0 else None)
        over = inner.over
        while not over:
            if lengths[number] == max_steps:
                truncated[number] = True
                break
            observation, _, terminated, cut, info = environment.step(act(observation, info))
            lengths[number] += 1
            over = terminated or cut
            truncated[number] = cut and not terminated
        totals[:, number] = [info["spent"][name] for name in names]
    return Simulation(totals, lengths, truncated, names, inner.problem.bounds, seed)


def _follow(inner: EpisodeOfProblem, plan: Plan) -> Behaviour:
    rows = plan.policy.rows
    if len(rows) != inner.problem.num_states:
        raise InvalidProblem(
            f"the plan is for a problem of {len(rows)} states, but the environment has "
            f"{inner.problem.num_states}; give a plan for the problem that the environment was made of"
        )

    def act(observation: int, info: dict[str, Any]) -> int:
        row = int(rows[observation])
        if row == NO_ROW:
            raise ImproperPolicy(f"the plan does nothing in state {info['state']!r}, which an episode enters")
        return inner.action_of(row)

    return act
