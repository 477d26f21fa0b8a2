"""A C-SSP from Python functions, explored from the initial state.

The functions say what can be done in a state, where it leads and what it costs; states and actions are
any hashable values. Only what is reachable is ever asked for, in breadth-first order, and goals are not
asked for actions.

>>> def actions(level):
...     return ("climb", "leap")
>>> def transitions(level, action):
...     return {min(level + 2, 3): 0.5, 0: 0.5} if action == "leap" else {level + 1: 1.0}
>>> def costs(level, action):
...     return {"time": 1.0, "bruises": 1.0 if action == "leap" else 0.0}
>>> tower = explore(0, actions, transitions, costs, is_goal=lambda level: level == 3,
...                 cost_names=("time", "bruises"), bounds={"bruises": 0.5})
>>> tower.state_labels, tower.num_rows
((0, 1, 2, 3), 6)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from hcssp.cssp.assembly import Assembly, Costs
from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.cssp.model import CSSP
from hcssp.cssp.state_space import Successors, outcomes_of
from hcssp.cssp.transition_batch import TransitionBatch
from hcssp.errors import InvalidProblem


def explore(
    initial: Hashable | Mapping[Any, float],
    actions: Callable[[Any], Iterable[Hashable]],
    transitions: Callable[[Any, Any], Successors],
    costs: Callable[[Any, Any], Costs],
    is_goal: Callable[[Any], bool],
    cost_names: Sequence[str] = ("cost",),
    bounds: Mapping[str, float] | None = None,
    max_states: int = 1_000_000,
    arrival_costs: Callable[[Any, Any, Any], Costs] | None = None,
) -> CSSP:
    """Explore the states reachable from `initial`.

    Parameters
    ----------
    initial
        The initial state, or a mapping from states to probabilities.
    actions
        The actions available in a state; none makes it a dead end.
    transitions
        The next states of a state and an action, with their probabilities: a mapping, pairs, or triples
        ``(next state, probability, costs)`` with what that outcome costs in addition.
    costs
        The costs of a state and an action: by name (0 where not named), in the order of
        `cost_names`, or a number for the primary cost alone.
    is_goal
        Whether a state ends everything.
    cost_names
        The primary cost, then the secondary ones.
    bounds
        Upper bounds on secondary costs, by name.
    max_states
        Give up beyond this many states, since an endless space would never end.
    arrival_costs
        Costs of a state, an action and the next state, paid in addition if that state is reached.

    Raises
    ------
    InvalidProblem
        With all violations; or if there are more than `max_states` states.
    """
    names = (cost_names,) if isinstance(cost_names, str) else tuple(cost_names)
    assembly = Assembly(names)
    begin: Mapping[Any, float] = initial if isinstance(initial, Mapping) else {initial: 1.0}
    distribution = {
        assembly.add_state(state): assembly.number(f"state {state!r}: its initial probability", given)
        for state, given in begin.items()
    }
    goals: list[int] = []
    labels, index = assembly.state_labels, assembly.state_index
    position = 0
    # `labels` is the queue as well: states are appended as they are met and visited in that order.
    while position < len(labels):
        state = labels[position]
        if is_goal(state):
            goals.append(position)
            position += 1
            continue
        for action in actions(state):
            place = f"state {state!r}, action {action!r}"
            vector = assembly.cost_vector(place, costs(state, action))
            successors: list[int] = []
            probabilities: list[float] = []
            arrivals: list[Costs | None] = []
            for reached, given, own in outcomes_of(transitions(state, action)):
                # The common case is fast; anything else is turned into a number or a violation.
                probability = (
                    given
                    if type(given) is float
                    else assembly.number(f"{place}: the probability of reaching state {reached!r}", given)
                )
                if probability == 0.0:
                    # An impossible state need not exist, and must not be explored.
                    continue
                successor = index.get(reached)
                if successor is None:
                    successor = assembly.add_state(reached)
                successors.append(successor)
                probabilities.append(probability)
                arrivals.append(own if arrival_costs is None else arrival_costs(state, action, reached))
            paid: list[float] | None = None
            if any(each is not None for each in arrivals):
                paid = []
                for successor, arrival in zip(successors, arrivals, strict=True):
                    there = f"{place}, next state {labels[successor]!r}"
                    paid += assembly.cost_vector(there, 0.0 if arrival is None else arrival)
            row = assembly.add_row(position, action, vector)
            assembly.add_transitions([row] * len(successors), successors, probabilities, paid)
        if len(labels) > max_states:
            raise InvalidProblem(
                [
                    f"more than {max_states} states are reachable, the last one {labels[-1]!r}; "
                    "raise max_states, or make the state space smaller if it was meant to be"
                ]
            )
        position += 1
    return assembly.build(distribution, goals, bounds)


def explore_in_batches(
    initial: Sequence[int] | Mapping[Any, float],
    transitions: Callable[[Any], TransitionBatch],
    is_goal: Callable[[Any], Any],
    action_names: Sequence[Hashable] = ("act",),
    cost_names: Sequence[str] = ("cost",),
    bounds: Mapping[str, float] | None = None,
    max_states: int = 1_000_000,
) -> CSSP:
    """As :func:`explore`, with functions that answer for many states at once: arrays in, arrays out.

    Parameters
    ----------
    initial
        The initial state, a sequence of whole numbers; or a mapping from such tuples to probabilities.
    transitions
        From an array with a row for each state to a :class:`~hcssp.cssp.transition_batch.TransitionBatch`.
    is_goal
        From such an array to one truth value for each state.
    action_names
        What the codes of the actions mean.
    cost_names, bounds, max_states
        As for :func:`explore`.

    Raises
    ------
    InvalidProblem
        With all violations of the first batch that has any; or if there are more than `max_states` states.
    """
    problem = ImplicitCSSP.in_batches(
        initial,
        transitions,
        is_goal,
        action_names=action_names,
        cost_names=cost_names,
        bounds=bounds,
    )
    return problem.enumerated(max_states)
