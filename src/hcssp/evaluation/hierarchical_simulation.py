"""Monte Carlo simulation of a whole procedure: its events, its choices and every step of its activities.

Problem: what happens when a hierarchical policy is followed, run by run; and a check of the exact
evaluation by a method that solves no equations.

Method: all runs walk at once. At an event an outcome of the chosen choice is drawn, then the state in
which its activity starts; within an activity the next state. Costs and executions are counted on the way.

Guarantee: the means are unbiased if no run was cut off; their standard errors are given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.errors import InvalidProblem
from hcssp.evaluation.chain import induced_chain
from hcssp.hierarchy import HCSSP, Flattening, HierarchicalPolicy, policy_chain
from hcssp.hierarchy.entries import entry_distribution

_NOTHING_RUN = -1


@dataclass(frozen=True, eq=False)
class HierarchicalSimulation:
    """What happened, run by run.

    Attributes
    ----------
    cost_names
        The primary cost's name, then the constraints'.
    activity_names
        The activities' names.
    costs
        The costs of each run, one line a run.
    executions
        How often each activity was executed in each run, one line a run.
    finished
        Which runs reached the end within the steps allowed; if not all did, the means are too low.
    """

    cost_names: tuple[str, ...]
    activity_names: tuple[str, ...]
    costs: FloatArray
    executions: IntArray
    finished: BoolArray

    @property
    def means(self) -> FloatArray:
        """The mean of each cost over the runs."""
        return np.asarray(self.costs.mean(axis=0))

    @property
    def standard_errors(self) -> FloatArray:
        """The standard error of each mean cost."""
        return _standard_errors(self.costs)

    @property
    def mean_executions(self) -> FloatArray:
        """The mean number of executions of each activity."""
        return np.asarray(self.executions.mean(axis=0))

    @property
    def executions_standard_errors(self) -> FloatArray:
        """The standard error of each mean number of executions."""
        return _standard_errors(self.executions)


def simulate_hierarchical(
    problem: HCSSP | Flattening,
    policy: HierarchicalPolicy,
    *,
    runs: int = 1000,
    seed: int = 0,
    max_steps: int = 1_000_000,
) -> HierarchicalSimulation:
    """Follow `policy` from the start to the end, `runs` times.

    Parameters
    ----------
    problem
        The hierarchical problem, or its flattening where it is at hand.
    policy
        What to follow.
    runs
        How many times, at least twice.
    seed
        The same seed gives the same runs.
    max_steps
        A run that has made so many steps, choices included, is cut off.

    Raises
    ------
    ImproperPolicy
        If the end is not reached almost surely.
    InvalidProblem
        If the policy does not fit the problem, or there are too few runs for a standard error.
    """
    if runs < 2:
        raise InvalidProblem([f"runs is {runs}; a standard error needs at least 2"])
    flattening = problem if isinstance(problem, Flattening) else Flattening(problem)
    rows = policy.to_flat(flattening)
    chain, only_policy = policy_chain(flattening, rows)
    induced = induced_chain(chain, only_policy)
    induced.require_proper()
    steps = _steps(flattening, rows)
    generator = np.random.default_rng(seed)
    costs = np.zeros((runs, len(chain.cost_names)))
    executions = np.zeros((runs, flattening.problem.num_activities), dtype=np.int64)
    walking = np.arange(runs)
    states = np.full(runs, flattening.start)
    for _ in range(max_steps):
        under_way = states != flattening.end
        walking, states = walking[under_way], states[under_way]
        if not len(walking):
            break
        costs[walking] += induced.costs[:, states].T
        taken = steps.draw(states, generator)
        states = steps.state[taken]
        ran = steps.activity[taken]
        begins = ran != _NOTHING_RUN
        executions[walking[begins], ran[begins]] += 1
    finished = np.ones(runs, dtype=np.bool_)
    finished[walking[states != flattening.end]] = False
    names = tuple(activity.name for activity in flattening.problem.activities)
    return HierarchicalSimulation(chain.cost_names, names, costs, executions, finished)


@dataclass(frozen=True, eq=False)
class _Steps:
    """Everything that can happen next, state by state.

    Attributes
    ----------
    start
        Steps ``start[s]:start[s + 1]`` are those that can happen in state ``s``.
    cumulated
        The probabilities of all steps before each, those of other states included.
    state, activity
        Where each step leads, and the activity that begins with it, if one does.
    """

    start: IntArray
    cumulated: FloatArray
    state: IntArray
    activity: IntArray

    def draw(self, states: IntArray, generator: np.random.Generator) -> IntArray:
        """One step for each of `states`."""
        first, last = self.start[states], self.start[states + 1]
        low, high = self.cumulated[first], self.cumulated[last]
        wanted = low + generator.random(len(states)) * (high - low)
        drawn = np.searchsorted(self.cumulated, wanted, side="right") - 1
        # Rounding may carry a number drawn near the edge over to the neighbouring state's steps.
        return np.clip(drawn, first, last - 1)


def _steps(flattening: Flattening, rows: IntArray) -> _Steps:
    """What a policy's choices and actions can lead to."""
    counts = np.zeros(flattening.num_states, dtype=np.int64)
    probabilities: list[FloatArray] = []
    states: list[IntArray] = []
    activities: list[IntArray] = []
    for state, (_, entry) in enumerate(flattening.event_states):
        if rows[state] == NO_ROW:
            continue
        for outcome in flattening.problem.choices[int(flattening.event_row_choice[rows[state]])].outcomes:
            if outcome.runs is None:
                entered = np.array([flattening.event_state(outcome.event, entry)])
                chances = np.ones(1)
            else:
                local, chances = entry_distribution(flattening.problem.activities[outcome.runs].cssp, entry)
                entered = flattening.flat_state(outcome.runs)[local]
            counts[state] += len(entered)
            probabilities.append(outcome.probability * chances)
            states.append(entered)
            run = _NOTHING_RUN if outcome.runs is None else outcome.runs
            activities.append(np.full(len(entered), run))
    for activity in range(flattening.problem.num_activities):
        first, last = flattening.state_offset[activity : activity + 2]
        acting = np.flatnonzero(rows[first:last] != NO_ROW)
        transitions = flattening.activity_transitions(
            activity, rows[first + acting] - flattening.row_offset[activity]
        )
        counts[first + acting] = np.diff(transitions.indptr)
        probabilities.append(transitions.data)
        states.append(transitions.indices)
        activities.append(np.full(transitions.nnz, _NOTHING_RUN))
    return _Steps(
        start=np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)]),
        cumulated=np.cumsum(np.concatenate([np.zeros(1), *probabilities])),
        state=np.concatenate(states).astype(np.int64),
        activity=np.concatenate(activities),
    )


def _standard_errors(samples: FloatArray | IntArray) -> FloatArray:
    return np.asarray(samples.std(axis=0, ddof=1) / np.sqrt(len(samples)))
