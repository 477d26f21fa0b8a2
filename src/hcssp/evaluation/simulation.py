r"""Monte Carlo simulation: the distribution of the costs of a policy over runs.

Problem: given a policy, the distribution of every cost of a run: its percentiles and the probability
that it exceeds a bound. The exact evaluation has only the means.

Method: all runs advance together, one step at a time, as arrays. The steps that are possible in a state are a
segment of long arrays (:class:`Steps`); one binary search in the cumulative probabilities draws the next step
of every run. A step costs what its transition costs, which may depend on the state that is reached. At an
event of a procedure, an outcome of the chosen choice is drawn together with the state in which its activity
starts.

Guarantee: the same seed gives the same runs. A run that has not ended after `max_steps`, or when all runs
together have made 100 million steps, is counted in
:attr:`Simulation.num_truncated`, logged as a warning, and enters every figure as a run of infinite cost,
since its total is only a lower bound.

>>> from hcssp.cssp.builder import CSSPBuilder
>>> from hcssp.cssp.policy import DeterministicPolicy
>>> plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": 3.0})
>>> here, out = plan.add_state("here"), plan.add_goal("out")
>>> _ = plan.add_action(here, "try", to={here: 0.5, out: 0.5}, costs=(1.0, 1.0))
>>> problem = plan.build()
>>> policy = DeterministicPolicy(problem, np.array([0, -1]))
>>> runs = simulate(problem, policy, runs=100_000, seed=1)
>>> round(runs.mean("time").value, 1), runs.percentile("time", 95)
(2.0, 5.0)
>>> round(runs.probability_of_exceeding("damage").value, 2)
0.13
>>> [(step.state, step.action) for step in narrate(problem, policy, seed=3)]
[('here', 'try'), ('here', 'try')]
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, cast, overload

import numpy as np

from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import DeterministicPolicy, RandomisedPolicy
from hcssp.cssp.transition_costs import outcomes_of_rows
from hcssp.display import Picture
from hcssp.errors import ImproperPolicy, InvalidProblem
from hcssp.evaluation.chain import InducedChain, induced_chain
from hcssp.numerics import tolerated
from hcssp.procedure.flattening import EventWay
from hcssp.procedure.model import HCSSP, Problem
from hcssp.procedure.policy import Policy, ProcedurePolicy

logger = logging.getLogger(__name__)

MAX_STEPS = 100_000
"""The default maximum number of steps of a run."""

MAX_MOVES = 100_000_000
"""All runs together make at most this many steps, which takes about ten seconds."""

NOTHING = -1
"""The step begins no activity."""


class Estimate(NamedTuple):
    """An estimate and its confidence interval."""

    value: float
    low: float
    high: float


class Step(NamedTuple):
    """One step of a narrated run, by name."""

    state: Hashable
    action: Hashable
    costs: Mapping[str, float]
    successor: Hashable


@dataclass(frozen=True, eq=False)
class Simulation(Picture):
    """The runs of a policy.

    Attributes
    ----------
    totals
        Shape ``(number of costs, number of runs)``: the sum of each cost over each run. That of a
        truncated run stops where the run was stopped.
    steps
        The length of each run.
    truncated
        The runs that had not ended after the most steps allowed.
    cost_names, bounds
        The costs' names, and the bound of each secondary one.
    seed
        The seed of the runs.
    """

    totals: FloatArray
    steps: IntArray
    truncated: BoolArray
    cost_names: tuple[str, ...]
    bounds: FloatArray
    seed: int

    @property
    def means(self) -> FloatArray:
        """The mean of each cost over the runs, as far as they were followed."""
        return np.asarray(self.totals.mean(axis=1))

    @property
    def standard_errors(self) -> FloatArray:
        """The standard error of each of the `means`; there must be at least two runs."""
        return np.asarray(self.totals.std(axis=1, ddof=1) / np.sqrt(self.num_runs))

    @property
    def num_runs(self) -> int:
        return len(self.steps)

    @property
    def num_truncated(self) -> int:
        """How many runs were stopped before their end; figures count their costs as infinite."""
        return int(np.count_nonzero(self.truncated))

    def mean(self, name: str, level: float = 0.95) -> Estimate:
        """The mean of a cost and its normal confidence interval; infinite if a run was truncated.

        Parameters
        ----------
        name
            The cost.
        level
            The probability with which such an interval holds the true mean.
        """
        totals = self._totals(name)
        if self.num_truncated:
            return Estimate(np.inf, float(np.mean(self.totals[self._index(name)])), np.inf)
        value = float(np.mean(totals))
        deviation = float(np.std(totals, ddof=1)) if len(totals) > 1 else np.inf
        half = _quantile(level) * deviation / float(np.sqrt(len(totals)))
        return Estimate(value, value - half, value + half)

    def percentile(self, name: str, percent: float) -> float:
        """The least total that at least `percent` of 100 runs do not exceed."""
        return float(np.percentile(self._totals(name), percent, method="inverted_cdf"))

    def probability_of_exceeding(
        self, name: str, bound: float | None = None, level: float = 0.95
    ) -> Estimate:
        """The share of runs that cost more than `bound`, and Wilson's confidence interval.

        Parameters
        ----------
        name
            The cost.
        bound
            By default the problem's bound on that cost.
        level
            The probability with which such an interval holds the true probability.
        """
        index = self._index(name)
        if bound is None:
            if index == 0:
                raise InvalidProblem(
                    [f"{name!r} is the primary cost and has no bound; give one to compare with"]
                )
            bound = float(self.bounds[index - 1])
        # A sum of many steps may miss a bound that it meets by a rounding error.
        broken = self._totals(name) > tolerated(np.array([bound])) if np.isfinite(bound) else np.zeros(1)
        share = float(np.mean(broken))
        quantile, count = _quantile(level), self.num_runs
        shrink = 1.0 + quantile**2 / count
        centre = (share + quantile**2 / (2 * count)) / shrink
        spread = float(np.sqrt(share * (1.0 - share) / count + quantile**2 / (4 * count**2)))
        half = quantile * spread / shrink
        return Estimate(share, max(0.0, centre - half), min(1.0, centre + half))

    def __repr__(self) -> str:
        shown = []
        for name, bound in zip(self.cost_names, (np.inf, *self.bounds), strict=True):
            value, _, high = self.mean(name)
            limit = f" of at most {bound:.6g}" if np.isfinite(bound) else ""
            shown.append(f"{name} {value:.6g} ± {high - value if np.isfinite(value) else np.inf:.2g}{limit}")
        return f"<{type(self).__name__} of {self.num_runs:,} runs: {', '.join(shown)}>"

    def _index(self, name: str) -> int:
        if name not in self.cost_names:
            known = ", ".join(repr(known) for known in self.cost_names)
            raise InvalidProblem([f"there is no cost {name!r}; the costs are {known}"])
        return self.cost_names.index(name)

    def _totals(self, name: str) -> FloatArray:
        return np.where(self.truncated, np.inf, self.totals[self._index(name)])


@dataclass(frozen=True, eq=False, repr=False)
class ProcedureSimulation(Simulation):
    """The runs of a procedure's policy; `steps` counts actions within activities and choices.

    Attributes
    ----------
    activity_names
        The activities' names.
    executions
        How often each activity was executed in each run, one line a run.
    """

    activity_names: tuple[str, ...]
    executions: IntArray

    @property
    def mean_executions(self) -> FloatArray:
        """The mean number of executions of each activity."""
        return np.asarray(self.executions.mean(axis=0))

    @property
    def executions_standard_errors(self) -> FloatArray:
        """The standard error of each mean number of executions; there must be at least two runs."""
        return np.asarray(self.executions.std(axis=0, ddof=1) / np.sqrt(self.num_runs))


class Action(NamedTuple):
    """An action of a narrated run, by name, and its costs."""

    state: Hashable
    action: Hashable
    costs: Mapping[str, float]


class Leg(NamedTuple):
    """The part of a narrated run from one event to the next.

    Attributes
    ----------
    event, entry
        The event, and the label of the state it was entered in, if that is not always the same.
    choice
        The choice there.
    activity, actions
        The activity that the outcome runs, if it runs one, and every action in it.
    reaches
        The event that is reached; None if the run was cut off before.
    """

    event: str
    entry: Hashable | None
    choice: str
    activity: str | None
    actions: tuple[Action, ...]
    reaches: str | None


@overload
def simulate(
    problem: HCSSP,
    policy: ProcedurePolicy,
    runs: int = ...,
    seed: int = ...,
    max_steps: int = ...,
    on_progress: Callable[[int], None] | None = ...,
    begin: int | None = ...,
) -> ProcedureSimulation: ...
@overload
def simulate(
    problem: Problem,
    policy: Policy,
    runs: int = ...,
    seed: int = ...,
    max_steps: int = ...,
    on_progress: Callable[[int], None] | None = ...,
) -> Simulation: ...
def simulate(
    problem: Problem,
    policy: Policy,
    runs: int = 10_000,
    seed: int = 0,
    max_steps: int = MAX_STEPS,
    on_progress: Callable[[int], None] | None = None,
    begin: int | None = None,
) -> Simulation:
    """Run `policy` many times.

    Parameters
    ----------
    problem, policy
        What is run: a C-SSP, or a procedure. A single problem's policy need not be proper; runs that
        never end are truncated.
    runs
        How many runs.
    seed
        The seed of the random numbers.
    max_steps
        After how many steps a run is stopped. All runs together make at most 100 million; with fewer runs,
        each may go on for longer.
    on_progress
        Called at every step of all runs with how many of them have ended before it.
    begin
        The state of a procedure's flattening in which every run begins; None for its start.

    Raises
    ------
    ImproperPolicy
        If a run enters a state where the policy has no action, or a procedure's policy does not reach the
        end almost surely.
    InvalidProblem
        If the policy does not fit the problem, or a number is not positive.
    """
    require_positive(runs=runs, max_steps=max_steps)
    walk = Walk(problem, policy, runs, seed)
    followed, executions = walk.problem, np.zeros((runs, len(problem.cssps)), dtype=np.int64)
    totals = np.zeros((len(followed.cost_names), runs))
    lengths = np.zeros(runs, dtype=np.int64)
    for under_way, taken in walk.go(max_steps):
        totals[:, under_way] += walk.costs(taken)
        lengths[under_way] += 1
        begun = walk.steps.begins[taken]
        executions[under_way[begun != NOTHING], begun[begun != NOTHING]] += 1
        if on_progress is not None:
            on_progress(runs - len(walk.runs))
    truncated = np.zeros(runs, dtype=np.bool_)
    truncated[walk.runs] = True
    if len(walk.runs):
        logger.warning(
            "%d of %d runs had not reached a goal after %d steps; their costs count as infinite",
            len(walk.runs),
            runs,
            int(lengths.max()),
        )
    record = (totals, lengths, truncated, followed.cost_names, followed.bounds, seed)
    if not isinstance(problem, HCSSP):
        return Simulation(*record)
    names = tuple(activity.name for activity in problem.activities)
    return ProcedureSimulation(*record, names, executions)


def narrate(
    problem: CSSP,
    policy: DeterministicPolicy | RandomisedPolicy,
    seed: int = 0,
    max_steps: int = MAX_STEPS,
) -> Iterator[Step]:
    """Follow one run step by step; it ends in a goal, or after `max_steps` with a warning in the log.

    Parameters
    ----------
    problem, policy, seed, max_steps
        As for :func:`simulate`.
    """
    require_positive(max_steps=max_steps)
    walk = Walk(problem, policy, 1, seed)
    labels = walk.problem.state_labels
    for _, step in walk.go(max_steps):
        state, row, reached = walk.only(step)
        action = walk.problem.action_labels[row]
        yield Step(labels[state], action, walk.named_costs(step), labels[reached])
    if len(walk.runs):
        logger.warning("the run had not reached a goal after %d steps", max_steps)


def narrate_procedure(policy: ProcedurePolicy, seed: int = 0, max_steps: int = MAX_STEPS) -> Iterator[Leg]:
    """Follow one run, event by event; it ends at the end, or is cut off after `max_steps`."""
    require_positive(max_steps=max_steps)
    hierarchy, flattening = policy.problem, policy.problem.flattening
    walk = Walk(hierarchy, policy, 1, seed)
    leg: Leg | None = None
    actions: list[Action] = []
    for _, step in walk.go(max_steps):
        state, row, reached = walk.only(step)
        action = walk.problem.action_labels[row]
        if state < flattening.num_event_states:
            event, entry = flattening.event_states[state]
            begun = int(walk.steps.begins[step][0])
            activity = None if begun == NOTHING else hierarchy.activities[begun].name
            leg = Leg(hierarchy.events[event], entry, str(action), activity, (), None)
        else:
            _, label = cast("tuple[str, Hashable]", flattening.state_labels[state])
            actions.append(Action(label, action, walk.named_costs(step)))
        if leg is not None and reached < flattening.num_event_states:
            event, _ = flattening.event_states[reached]
            yield leg._replace(actions=tuple(actions), reaches=hierarchy.events[event])
            leg, actions = None, []
    if leg is not None:
        yield leg._replace(actions=tuple(actions))


@dataclass(frozen=True, eq=False)
class Steps:
    """What can happen next, state by state.

    Attributes
    ----------
    start
        Steps ``start[s]:start[s + 1]`` are those that can happen in state ``s``.
    probabilities
        How probable each step is; those of a state sum to one.
    state
        Where each step leads.
    row
        The row that is taken with each step, of the chain.
    entry
        The place of each step in the costs of single transitions; -1 if it costs what its row costs.
    begins
        The activity that begins with each step; :data:`NOTHING` if none does.
    """

    start: IntArray
    probabilities: FloatArray = field(repr=False)
    state: IntArray = field(repr=False)
    row: IntArray = field(repr=False)
    entry: IntArray = field(repr=False)
    begins: IntArray = field(repr=False)
    _cumulated: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        running = np.cumsum(self.probabilities)
        before = np.concatenate([[0.0], running])[self.start[:-1]]
        object.__setattr__(self, "_cumulated", running - np.repeat(before, np.diff(self.start)))

    def draw(self, states: IntArray, chances: FloatArray) -> IntArray:
        """One step for each of `states`, each of which has some."""
        low, high = self.start[states], self.start[states + 1] - 1
        # The first step whose cumulated probability exceeds the chance; the last one where rounding
        # leaves the sum below it.
        while np.any(low < high):
            middle = (low + high) // 2
            above = self._cumulated[middle] > chances
            high = np.where(above, middle, high)
            low = np.where(above, low, np.minimum(middle + 1, high))
        return low

    def stuck(self, states: IntArray) -> IntArray:
        """Those of `states` in which nothing can happen."""
        stuck: IntArray = states[self.start[states] == self.start[states + 1]]
        return stuck


def steps_of(problem: Problem, chain: InducedChain) -> Steps:
    """What can happen next on the chain of a policy of `problem`.

    Choices are read from the procedure: on the chain two outcomes that lead to the same state are one.
    """
    counts: list[int] = []
    probabilities, states, begins = list[FloatArray](), list[IntArray](), list[IntArray]()
    for ways in _ways_of_choices(problem, chain) if isinstance(problem, HCSSP) else ():
        counts.append(sum(len(way.starts) for way in ways))
        for probability, runs, starts, shares in ways:
            probabilities.append(probability * shares)
            states.append(starts if runs is None else problem.procedure.flattening.flat_state(runs)[starts])
            begins.append(np.full(len(starts), NOTHING if runs is None else runs))
    inside = outcomes_of_rows(chain.problem, np.arange(len(counts), len(chain.rows))).possible()
    lengths = np.concatenate([np.array(counts, dtype=np.int64), inside.lengths])
    outside = sum(counts)
    return Steps(
        start=np.append(0, np.cumsum(lengths))[chain.problem.row_start],
        probabilities=np.repeat(chain.chances, lengths)
        * np.concatenate([*probabilities, inside.probabilities]),
        state=np.concatenate([*states, inside.states]).astype(np.int64),
        row=np.repeat(np.arange(len(chain.rows)), lengths),
        entry=np.concatenate([np.full(outside, -1), inside.entry]),
        begins=np.concatenate([*begins, np.full(len(inside.states), NOTHING)]),
    )


def _ways_of_choices(problem: HCSSP, chain: InducedChain) -> Iterator[list[EventWay]]:
    """For each row of the chain that is a choice, the ways that it may go."""
    flattening = problem.flattening
    chosen = chain.rows[chain.rows < flattening.num_event_rows]
    for row, choice in enumerate(flattening.event_row_choice[chosen].tolist()):
        _, entry = flattening.event_states[int(chain.problem.row_state[row])]
        outcomes = problem.choices[choice].outcomes
        yield [flattening.event_way(each, entry) for each in outcomes if each.probability > 0.0]


def draw_starts(problem: CSSP, chances: FloatArray) -> IntArray:
    """First states, one for each chance."""
    possible = np.flatnonzero(problem.initial > 0.0)
    cumulated = np.cumsum(problem.initial[possible])
    drawn = np.searchsorted(cumulated, chances * cumulated[-1], side="right")
    starts: IntArray = possible[np.minimum(drawn, len(possible) - 1)]
    return starts


class Walk:
    """Runs of a policy that advance together until each has ended.

    Parameters
    ----------
    problem, policy
        What is run; the policy of a procedure must reach its end almost surely.
    count, seed
        The number of runs, and what they are drawn with.

    Attributes
    ----------
    problem
        The flat problem with the rows that the policy takes.
    steps
        What can happen next.
    runs, states
        The runs that have not ended, and where they are.
    """

    def __init__(self, problem: Problem, policy: Policy, count: int, seed: int) -> None:
        chain = induced_chain(problem, policy)
        self.problem, self.steps = chain.problem, steps_of(problem, chain)
        self._generator = np.random.default_rng(seed)
        self.runs: IntArray = np.arange(count)
        if isinstance(problem, HCSSP):
            chain.require_proper()
            self.states: IntArray = np.full(count, problem.flattening.start)
        else:
            self.states = draw_starts(problem, self._generator.random(count))
        self._forget(self.problem.goals[self.states])

    def costs(self, taken: IntArray) -> FloatArray:
        """The costs of some steps, a column each: those of the outcomes, not the means of the actions."""
        costs: FloatArray = self.problem.costs[:, self.steps.row[taken]]
        if self.problem.transition_costs is not None:
            entry = self.steps.entry[taken]
            costs[:, entry >= 0] = self.problem.transition_costs.costs[:, entry[entry >= 0]]
        return costs

    def named_costs(self, step: IntArray) -> dict[str, float]:
        """The costs of the step of the only run, by name."""
        return dict(zip(self.problem.cost_names, self.costs(step)[:, 0].tolist(), strict=True))

    def only(self, step: IntArray) -> tuple[int, int, int]:
        """The state, the row and the next state of the step of the only run."""
        row = int(self.steps.row[step][0])
        return int(self.problem.row_state[row]), row, int(self.steps.state[step][0])

    def go(self, max_steps: int) -> Iterator[tuple[IntArray, IntArray]]:
        """Advance all runs by a step at a time: yields the runs that made one, and their steps.

        It ends after `max_steps`, or once all runs together have made :data:`MAX_MOVES`.

        Raises
        ------
        ImproperPolicy
            If a run enters a state that is no goal and in which nothing can happen.
        """
        moves = 0
        for _ in range(max_steps):
            moves += len(self.runs)
            if not len(self.runs) or moves > MAX_MOVES:
                return
            stuck = self.steps.stuck(self.states)
            if len(stuck):
                label = self.problem.state_labels[int(stuck[0])]
                raise ImproperPolicy(
                    f"the policy has no action in state {label!r}, which a run enters; give it one"
                )
            taken = self.steps.draw(self.states, self._generator.random(len(self.runs)))
            yield self.runs, taken
            self.states = self.steps.state[taken]
            self._forget(self.problem.goals[self.states])

    def _forget(self, ended: BoolArray) -> None:
        if ended.any():
            self.runs, self.states = self.runs[~ended], self.states[~ended]


def _quantile(level: float) -> float:
    if not 0.0 < level < 1.0:
        raise InvalidProblem([f"confidence level {level} is not between 0 and 1"])
    # Imported here: it takes longer than this whole module.
    from statistics import NormalDist

    return NormalDist().inv_cdf(0.5 + level / 2.0)


def require_positive(**numbers: int) -> None:
    """Raise :class:`InvalidProblem` unless all numbers are positive."""
    violations = [
        f"{name} is {number}; it must be positive" for name, number in numbers.items() if number < 1
    ]
    if violations:
        raise InvalidProblem(violations)
