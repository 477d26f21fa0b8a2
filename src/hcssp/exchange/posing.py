"""What a C-SSP needs that a model of another tool does not say: what is minimised, where it ends, the bounds.

*Without a goal* the whole run counts, as the reward property ``C`` of PRISM and Storm says. A policy whose
rewards stay finite ends up, almost surely, where it can go on for ever without any: in an end component
of choices that cost nothing. Each state of one gets an action to stay there for ever, which leads to a goal
of its own; policies that reach it and policies of finite costs are then the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.sparse import csr_array, vstack

from hcssp.cssp.labels import JoinedLabels, MaskedGroups, RepeatedNames, SelectedLabels
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, states_of_rows
from hcssp.cssp.preprocessing import with_giving_up
from hcssp.cssp.reachability import free_groups
from hcssp.cssp.validation import bound_array, violations
from hcssp.errors import InvalidProblem, UnknownName
from hcssp.exchange.explicit_model import STEPS, ExplicitModel, scaled

GOAL = "goal"
"""The label of the states where a model ends unless another is named."""

STAY, STAYING = "stay for ever", "staying for ever"
"""The action that ends a run without a goal, and the state that it leads to."""


def posed(
    model: ExplicitModel,
    *,
    minimise: str | None = None,
    goal: str | Sequence[str] | None = None,
    bounds: Mapping[str, float] | None = None,
    costs: Sequence[str] | None = None,
    give_up: float | Mapping[str, float] | None = None,
) -> CSSP:
    """The model as a problem.

    Parameters
    ----------
    model
        What was read.
    minimise
        The reward model to minimise; by default the first, and the number of steps if there is none.
    goal
        A label of the states where it ends, or several. By default ``"goal"`` if there is such a label;
        without one the rewards of the whole, endless run count.
    bounds
        Upper bounds on other reward models, by name.
    costs
        The reward models besides the one to minimise; by default all that there are.
    give_up
        What it costs to end where the goal can no longer be reached: a number of the minimised cost, or
        costs by name. Without it such states are avoided.

    Raises
    ------
    UnknownName
        If there is no such reward model or label.
    InvalidProblem
        If rewards are negative, or anything else is no C-SSP.
    """
    names = cost_names(model, minimise, costs, bounds or {})
    table = np.array([model.reward(name) for name in names], dtype=np.float64)
    _refuse_negative(model, names, table)
    goals = goal_states(model, goal)
    kept = np.arange(model.num_rows)
    row_start = model.row_start
    if goals is not None:
        # A goal ends the run: what could be done there, and what being there would cost, no longer counts.
        leaving = ~goals[states_of_rows(model.row_start)]
        kept = np.flatnonzero(leaving)
        row_start = np.concatenate(([0], np.cumsum(leaving)))[model.row_start]
    costs_of_rows, paid = table[:, kept], model.transition_costs(names, kept)
    if paid is not None:
        differing, means = paid.expected()
        costs_of_rows[:, differing] = means
    found: list[str] = []
    problem = CSSP.unchecked(
        transitions=scaled(model.transitions[kept]),
        row_start=row_start,
        costs=costs_of_rows,
        initial=model.initial / max(1, int(model.initial.sum())),
        goals=np.zeros(model.num_states, dtype=np.bool_) if goals is None else goals,
        cost_names=names,
        bounds=bound_array(bounds, names, found),
        state_labels=model.state_names,
        action_labels=SelectedLabels(model.action_names, kept),
        name=model.name,
        groups=MaskedGroups(model.state_names, model.labels),
        transition_costs=paid,
    )
    if goals is None:
        problem = with_staying(problem)
    found += violations(problem)
    if found:
        raise InvalidProblem(found)
    return problem if give_up is None else with_giving_up(problem, give_up)


def cost_names(
    model: ExplicitModel, minimise: str | None, costs: Sequence[str] | None, bounds: Mapping[str, float]
) -> tuple[str, ...]:
    """The costs of a problem, the one to minimise first; what is bounded is always one of them."""
    primary = minimise if minimise is not None else next(iter(model.rewards), STEPS)
    others = tuple(model.rewards) if costs is None else (costs,) if isinstance(costs, str) else tuple(costs)
    return tuple(dict.fromkeys((primary, *others, *bounds)))


def goal_states(model: ExplicitModel, goal: str | Sequence[str] | None) -> BoolArray | None:
    """Where a model ends; None if nowhere, so that the whole run counts."""
    if goal is None:
        return model.labels.get(GOAL)
    mask = np.zeros(model.num_states, dtype=np.bool_)
    for label in (goal,) if isinstance(goal, str) else goal:
        if label not in model.labels:
            raise UnknownName("label", label, model.labels)
        if not model.labels[label].any():
            raise InvalidProblem([f"no state that can be reached is a goal {label!r}; name another goal"])
        mask |= model.labels[label]
    return mask


def with_staying(problem: CSSP) -> CSSP:
    """A problem without goals that ends where it can go on for ever without costs."""
    transitions = problem.transitions
    entry_row = np.repeat(np.arange(problem.num_rows), np.diff(transitions.indptr))
    tails = problem.row_state[entry_row]
    free: BoolArray = problem.costs.max(axis=0) <= 0.0
    _, staying = free_groups(problem.num_states, entry_row, tails, transitions.indices, free)
    resting = np.unique(problem.row_state[staying])
    if not len(resting):
        raise InvalidProblem(
            [
                f"there is no goal, and no way to go on for ever without {' and '.join(problem.cost_names)}: "
                "every policy costs infinitely much; name a goal, or fewer costs"
            ]
        )
    end = problem.num_states
    widened = csr_array(
        (transitions.data, transitions.indices, transitions.indptr), shape=(problem.num_rows, end + 1)
    )
    added = csr_array(
        (np.ones(len(resting)), np.full(len(resting), end), np.arange(len(resting) + 1)),
        shape=(len(resting), end + 1),
    )
    order = np.argsort(np.concatenate((problem.row_state, resting)), kind="stable")
    counts = np.diff(problem.row_start) + np.bincount(resting, minlength=end)
    names = JoinedLabels(
        problem.action_labels, RepeatedNames((STAY,), np.zeros(len(resting), dtype=np.int64))
    )
    return problem.derive(
        transitions=vstack((widened, added), format="csr")[order],
        row_start=np.concatenate(([0], np.cumsum(counts), [counts.sum()])),
        costs=np.hstack((problem.costs, np.zeros((len(problem.costs), len(resting)))))[:, order],
        initial=np.append(problem.initial, 0.0),
        goals=np.arange(end + 1) == end,
        state_labels=JoinedLabels(problem.state_labels, (STAYING,)),
        action_labels=SelectedLabels(names, order),
        transition_costs=None if problem.transition_costs is None else problem.transition_costs.take(order),
    )


def _refuse_negative(model: ExplicitModel, names: Sequence[str], table: FloatArray) -> None:
    found = []
    for name, values in zip(names, table, strict=True):
        if (negative := np.flatnonzero(~(values >= 0.0))).size:
            row = int(negative[0])
            state = model.state_names[int(states_of_rows(model.row_start)[row])]
            found.append(
                f"reward model {name!r}: {float(values[row]):g} in state {state!r}, action "
                f"{model.action_names[row]!r}; costs must not be negative"
            )
    if found:
        raise InvalidProblem(found)
