"""A problem as an environment of Gymnasium, to follow plans in and to compare what was learnt there with.

Observations are the numbers of states, those of the flat problem for a procedure; actions are numbers of
labels, which mean the same everywhere. A step is paid with its *expected* costs: a problem keeps no others.

- ``reward`` is the negative primary cost of the step, or what a problem that maximises has of its reward;
- ``info["costs"]`` are all its costs by name, ``info["spent"]`` their sums since the episode began;
- ``info["action_mask"]`` says which actions there are, as ``env.action_space.sample(mask)`` wants it;
- ``info["state"]`` is the state's label, ``info["available"]`` whether the state had the last action.

An action that a state does not have changes nothing and is paid as a refusal, since most learning code cannot
help trying. An episode terminates in a goal and is never truncated: Gymnasium's own ``TimeLimit`` does that.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache
from typing import Any

import numpy as np

from hcssp.contract.plan import Plan
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.transition_costs import outcomes_of_rows
from hcssp.errors import ImproperPolicy, InvalidProblem
from hcssp.evaluation.simulation import MAX_STEPS, Simulation, require_positive
from hcssp.evaluation.steps import draw_starts
from hcssp.exchange.extras import extra
from hcssp.procedure.model import HCSSP

PURPOSE = "making a problem an environment"

Behaviour = Callable[[int, dict[str, Any]], int]
"""What to do: from an observation and its info to an action."""


class EpisodeOfProblem:
    """What an environment needs to know of a problem, and the episode under way.

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
        self.problem: CSSP = problem.flattening.cssp if isinstance(problem, HCSSP) else problem
        numbers: dict[Hashable, int] = {}
        codes = [numbers.setdefault(label, len(numbers)) for label in self.problem.action_labels]
        self.actions: tuple[Hashable, ...] = tuple(numbers)
        self._action_of_row: IntArray = np.array(codes, dtype=np.int64)
        dearest = float(self.problem.costs[0].max(initial=0.0))
        self.refusal = (dearest or 1.0) if refusal is None else float(refusal)
        if not self.refusal >= 0.0:
            raise InvalidProblem([f"refusal is {refusal}; it must be 0 or more"])
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
        """Take an action: what it costs, and whether the state had it."""
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
        """What a step of these costs is worth to whoever learns."""
        if self._rewards is None or not available:
            return -float(costs[0])
        return float(self._rewards @ costs)

    @property
    def over(self) -> bool:
        return bool(self.problem.goals[self.state])

    def info(self, costs: FloatArray | None = None, available: bool = True) -> dict[str, Any]:
        """What is told with an observation, made anew each time."""
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
            told = self.episode.info(costs, available)
            reward = self.episode.reward(costs, available)
            return self.episode.state, reward, self.episode.over, False, told

        def render(self) -> str | None:
            if self.render_mode is None:
                return None
            return str(self.episode.problem.state_labels[self.episode.state])

    return ProblemEnvironment


def to_gymnasium(
    problem: CSSP | HCSSP, *, refusal: float | None = None, render_mode: str | None = None
) -> Any:
    """Make a ``gymnasium.Env`` of a problem; see the module for what it tells.

    Parameters
    ----------
    problem
        A C-SSP, or a procedure.
    refusal
        The primary cost of trying an action that the state does not have; by default that of the dearest
        step, or 1 if all are free.
    render_mode
        ``"ansi"`` renders the state's label.

    Raises
    ------
    MissingDependency
        If Gymnasium is not installed.
    """
    return _environment_class()(problem, refusal, render_mode)


def record_episodes(
    environment: Any,
    behaviour: Plan | Behaviour,
    episodes: int = 1000,
    seed: int = 0,
    max_steps: int = MAX_STEPS,
) -> Simulation:
    """Follow a plan, or what was learnt, in an environment, and keep what each episode costs.

    Parameters
    ----------
    environment
        What :func:`to_gymnasium` made, perhaps wrapped.
    behaviour
        A plan for the environment's problem, or a function from an observation and its info to an action.
    episodes
        How many.
    seed
        Names the episodes for good.
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
    inner: EpisodeOfProblem = environment.unwrapped.episode
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
            [
                f"the plan is for a problem of {len(rows)} states, but the environment has "
                f"{inner.problem.num_states}; give a plan for the problem that the environment was made of"
            ]
        )

    def act(observation: int, info: dict[str, Any]) -> int:
        row = int(rows[observation])
        if row == NO_ROW:
            raise ImproperPolicy(f"the plan does nothing in state {info['state']!r}, which an episode enters")
        return inner.action_of(row)

    return act
