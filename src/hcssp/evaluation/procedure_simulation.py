"""Monte Carlo simulation of a whole procedure: its events, its choices and every step of its activities.

Problem: what happens when a procedure's policy is followed, run by run; and a check of the exact
evaluation by a method that solves no equations.

Method: all runs walk at once (:mod:`hcssp.evaluation.steps`). At an event an outcome of the chosen choice is
drawn together with the state in which its activity starts; within an activity the next state. Costs and
executions are counted on the way.

Guarantee: as for :func:`hcssp.evaluation.simulation.simulate`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.transition_costs import outcomes_of_rows
from hcssp.evaluation.chain import induced_chain
from hcssp.evaluation.simulation import MAX_STEPS, Simulation, require_positive, truncated_runs
from hcssp.evaluation.steps import Steps, Walk
from hcssp.procedure import Flattening, ProcedurePolicy, policy_chain
from hcssp.procedure.entries import entry_distribution

_NOTHING = -1


@dataclass(frozen=True, eq=False)
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
    """An action of a narrated run, by name, and what it cost."""

    state: Hashable
    action: Hashable
    costs: Mapping[str, float]


class Leg(NamedTuple):
    """What a narrated run does from one event to the next.

    Attributes
    ----------
    event, entry
        The event, and the label of the state it was entered in, if that is not always the same.
    choice
        What is chosen there.
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


def simulate_procedure(policy: ProcedurePolicy, runs: int, seed: int, max_steps: int) -> ProcedureSimulation:
    """Follow `policy` from the start to the end, `runs` times; see :func:`hcssp.evaluation.simulate`."""
    require_positive(runs=runs, max_steps=max_steps)
    path = _Path(policy)
    count = path.flattening.problem.num_activities
    walk = path.walk(runs, seed)
    totals = np.zeros((len(path.chain.cost_names), runs))
    lengths = np.zeros(runs, dtype=np.int64)
    executions = np.zeros((runs, count), dtype=np.int64)
    for under_way, taken in walk.go(max_steps):
        totals[:, under_way] += path.steps.costs(path.chain, taken)
        lengths[under_way] += 1
        begun = path.begins[taken]
        begins = begun != _NOTHING
        executions[under_way[begins], begun[begins]] += 1
    truncated = truncated_runs(walk, lengths)
    names = tuple(activity.name for activity in path.flattening.problem.activities)
    chain = path.chain
    return ProcedureSimulation(
        totals, lengths, truncated, chain.cost_names, chain.bounds, seed, names, executions
    )


def narrate_procedure(policy: ProcedurePolicy, seed: int = 0, max_steps: int = MAX_STEPS) -> Iterator[Leg]:
    """Tell one run, event by event; it ends at the end, or is cut off after `max_steps`."""
    require_positive(max_steps=max_steps)
    path = _Path(policy)
    flattening = path.flattening
    hierarchy, chain = flattening.problem, path.chain
    leg: Leg | None = None
    actions: list[Action] = []
    for _, step in path.walk(1, seed).go(max_steps):
        (taken,) = step
        row = int(path.steps.row[taken])
        state = int(chain.row_state[row])
        if state < flattening.num_event_states:
            event, entry = flattening.event_states[state]
            choice = hierarchy.choices[int(flattening.event_row_choice[path.rows[state]])].name
            begun = int(path.begins[taken])
            activity = None if begun == _NOTHING else hierarchy.activities[begun].name
            leg = Leg(hierarchy.events[event], entry, choice, activity, (), None)
        else:
            number = int(np.searchsorted(flattening.state_offset, state, side="right")) - 1
            _, label = cast("tuple[str, Hashable]", flattening.state_labels[state])
            cssp = hierarchy.activities[number].cssp
            action = cssp.action_labels[int(path.rows[state] - flattening.row_offset[number])]
            costs = dict(zip(chain.cost_names, path.steps.costs(chain, step)[:, 0].tolist(), strict=True))
            actions.append(Action(label, action, costs))
        reached = int(path.steps.state[taken])
        if leg is not None and reached < flattening.num_event_states:
            event, _ = flattening.event_states[reached]
            yield leg._replace(actions=tuple(actions), reaches=hierarchy.events[event])
            leg, actions = None, []
    if leg is not None:
        yield leg._replace(actions=tuple(actions))


class _Path:
    """A policy's chain, and what can happen next on it."""

    def __init__(self, policy: ProcedurePolicy) -> None:
        self.flattening = policy.problem.flattening
        self.rows = policy.rows
        chain, only_policy = policy_chain(policy)
        induced_chain(chain, only_policy).require_proper()
        self.chain: CSSP = chain
        self.steps, self.begins = _steps(self.flattening, self.rows, chain)

    def walk(self, runs: int, seed: int) -> Walk:
        starts = np.full(runs, self.flattening.start)
        return Walk(self.chain, self.steps, starts, np.random.default_rng(seed))


def _steps(flattening: Flattening, rows: IntArray, chain: CSSP) -> tuple[Steps, IntArray]:
    """What a policy's choices and actions can lead to, and the activity that begins with each step.

    Rows are those of the policy's chain, which has one for each state with an action. Choices are read from
    the procedure: on the chain two outcomes that lead to the same state are one.
    """
    acts = rows != NO_ROW
    counts = np.zeros(flattening.num_states, dtype=np.int64)
    # A procedure that ends where it starts has no steps at all.
    probabilities: list[FloatArray] = [np.zeros(0)]
    states: list[IntArray] = [np.zeros(0, dtype=np.int64)]
    begins: list[IntArray] = [np.zeros(0, dtype=np.int64)]
    for state, (_, entry) in enumerate(flattening.event_states):
        if not acts[state]:
            continue
        for outcome in flattening.problem.choices[int(flattening.event_row_choice[rows[state]])].outcomes:
            if not outcome.probability > 0.0:
                continue
            if outcome.runs is None:
                entered = np.array([flattening.event_state(outcome.event, entry)])
                chances = np.ones(1)
            else:
                local, chances = entry_distribution(flattening.problem.activities[outcome.runs], entry)
                entered = flattening.flat_state(outcome.runs)[local]
            counts[state] += len(entered)
            probabilities.append(outcome.probability * chances)
            states.append(entered)
            begins.append(np.full(len(entered), _NOTHING if outcome.runs is None else outcome.runs))
    acting = np.flatnonzero(acts)
    inside = outcomes_of_rows(chain, np.flatnonzero(acting >= flattening.num_event_states)).possible()
    counts[acting[acting >= flattening.num_event_states]] = inside.lengths
    at_events = sum(map(len, states))
    steps = Steps(
        start=np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)]),
        probabilities=np.concatenate([*probabilities, inside.probabilities]),
        state=np.concatenate([*states, inside.states]).astype(np.int64),
        row=np.repeat(np.cumsum(acts) - 1, counts),
        entry=np.concatenate([np.full(at_events, -1), inside.entry]),
    )
    begins.append(np.full(len(inside.states), _NOTHING))
    return steps, np.concatenate(begins)
