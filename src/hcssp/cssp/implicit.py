"""A C-SSP whose state space is a function and is never enumerated.

It is stated as for :func:`~hcssp.cssp.implicit.explore`, with a *heuristic*: for each cost a number that
no policy's expected cost to go is below. Solving it looks only into the states that good policies touch, led
by the heuristic; what was not looked into enters the bounds by the heuristic's values. Here one walks along
the integers, and the ice, which is quicker, may hold one back:

>>> def actions(place):
...     return ("walk", "skate")
>>> def transitions(place, action):
...     return {place + 1: 1.0} if action == "walk" else {place + 2: 0.75, place: 0.25}
>>> def costs(place, action):
...     return {"minutes": 2.0 if action == "walk" else 1.5, "bruises": 0.0 if action == "walk" else 1.0}
>>> way = ImplicitCSSP(0, actions, transitions, costs, is_goal=lambda place: place >= 5,
...                    heuristics=lambda place: {"minutes": max(0, 5 - place)},
...                    cost_names=("minutes", "bruises"), bounds={"bruises": 1.5})
>>> way
<ImplicitCSSP: minutes and bruises>
>>> way.enumerated().num_states
7
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from hcssp.cssp.builder import Costs
from hcssp.cssp.expansion import Expansion
from hcssp.cssp.model import CSSP, FloatArray, refuse_implicit
from hcssp.cssp.state_space import (
    BatchSpace,
    FunctionSpace,
    StateSpace,
    Successors,
    TransitionBatch,
)
from hcssp.cssp.validation import bound_array
from hcssp.errors import InvalidProblem

if TYPE_CHECKING:
    from hcssp.procedure.model import HCSSP

MOST_STATES = 50_000_000
MOST_AT_ONCE = 200_000
"""An enumeration expands at most this number of states at once, to limit its memory."""


class ImplicitCSSP:
    """A C-SSP given by functions, for more states than memory holds.

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
        The costs of a state and an action: by name (0 where not named), in the order of `cost_names`, or a
        number for the primary cost alone.
    is_goal
        Whether a state ends everything.
    heuristics
        Lower bounds on the costs-to-go of a state, in the forms of `costs`: no policy that ends has a smaller
        expected cost to go, of each cost by itself. None for nothing. :mod:`hcssp.heuristics` makes some, and
        they know more under prices.
    cost_names
        The primary cost, then the secondary ones.
    bounds
        Upper bounds on secondary costs, by name.
    arrival_costs
        Costs of a state, an action and the next state, paid in addition if that state is reached.
    consistent
        Whether to insist that the heuristics are consistent: that none promises more than a step costs and
        its value after it. This finds most errors in heuristics.
    max_states
        Give up when more states than this were met.
    name, description
        The name of the problem, and a description.

    Raises
    ------
    InvalidProblem
        With all that is wrong with names and bounds; and, when it is solved, with the first states whose
        transitions, costs or heuristics are wrong.
    """

    def __init__(
        self,
        initial: Hashable | Mapping[Any, float],
        actions: Callable[[Any], Iterable[Hashable]],
        transitions: Callable[[Any, Any], Successors],
        costs: Callable[[Any, Any], Costs],
        is_goal: Callable[[Any], bool],
        heuristics: Callable[[Any], Costs] | None = None,
        cost_names: Sequence[str] = ("cost",),
        bounds: Mapping[str, float] | None = None,
        *,
        arrival_costs: Callable[[Any, Any, Any], Costs] | None = None,
        consistent: bool = False,
        max_states: int = MOST_STATES,
        name: str = "",
        description: str = "",
    ) -> None:
        names = (cost_names,) if isinstance(cost_names, str) else tuple(cost_names)
        space = FunctionSpace(initial, actions, transitions, costs, is_goal, heuristics, names, arrival_costs)
        self._state(space, names, bounds, consistent, max_states, name, description)

    @classmethod
    def in_batches(
        cls,
        initial: Sequence[int] | Mapping[Any, float],
        transitions: Callable[[Any], TransitionBatch],
        is_goal: Callable[[Any], Any],
        heuristics: Callable[[Any], Any] | None = None,
        action_names: Sequence[Hashable] = ("act",),
        cost_names: Sequence[str] = ("cost",),
        bounds: Mapping[str, float] | None = None,
        *,
        consistent: bool = False,
        max_states: int = MOST_STATES,
        name: str = "",
        description: str = "",
    ) -> ImplicitCSSP:
        """A problem whose functions answer for many states at once, which is far quicker.

        A state is a row of whole numbers, and its label is the tuple of them.

        Parameters
        ----------
        initial
            The initial state, a sequence of whole numbers; or a mapping from such tuples to probabilities.
        transitions
            From an array with a row for each state to a
            :class:`~hcssp.cssp.state_space.TransitionBatch`.
        is_goal
            From such an array to one truth value for each state.
        heuristics
            From such an array to lower bounds on costs-to-go: shape ``(num_costs, num_states)``, or one axis
            for the primary cost alone.
        action_names
            The names of the actions, by their codes.
        cost_names, bounds, consistent, max_states, name, description
            As for the constructor.
        """
        names = (cost_names,) if isinstance(cost_names, str) else tuple(cost_names)
        space = BatchSpace(initial, transitions, is_goal, heuristics, action_names, len(names))
        problem = cls.__new__(cls)
        problem._state(space, names, bounds, consistent, max_states, name, description)
        return problem

    def _state(
        self,
        space: StateSpace,
        names: tuple[str, ...],
        bounds: Mapping[str, float] | None,
        consistent: bool,
        max_states: int,
        name: str,
        description: str,
    ) -> None:
        found: list[str] = []
        if not names or len(set(names)) < len(names):
            found.append(f"cost_names is {names!r}; give one name or more, all different")
        self.space = space
        self.cost_names = names
        self.bounds: FloatArray = bound_array(bounds, names, found)
        self.consistent = consistent
        self.max_states = max_states
        self.name = name
        self.description = description
        total = sum(space.initial[1])
        if not (abs(total - 1.0) <= 1e-9 and min(space.initial[1]) >= 0.0):
            found.append(f"the probabilities of the initial states sum to {total:.10g}, not 1")
        if found:
            raise InvalidProblem(found)

    lists_states: ClassVar[Literal[False]] = False
    """Whether all states are enumerated."""

    @property
    def implicit(self) -> ImplicitCSSP:
        """The problem itself."""
        return self

    @property
    def procedure(self) -> HCSSP:
        """Never one: a procedure lists the states of its activities.

        Raises
        ------
        UnsupportedProblem
            Always; the message has the remedy.
        """
        refuse_implicit(self, "a procedure around it")
        raise TypeError("a problem that lists its states has a procedure")

    @property
    def primary_name(self) -> str:
        """The name of the primary cost."""
        return self.cost_names[0]

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """The names of the secondary costs, bounded or not."""
        return self.cost_names[1:]

    @property
    def num_constraints(self) -> int:
        """The number of secondary costs, bounded or not."""
        return len(self.cost_names) - 1

    def with_bounds(self, bounds: Mapping[str, float] | None = None, **named: float) -> ImplicitCSSP:
        """The same problem under other bounds; those not named stay as they are.

        Raises
        ------
        InvalidProblem
            If a name is not that of a secondary cost, or a bound is not one.
        """
        wanted = {**(bounds or {}), **named}
        found: list[str] = []
        bound_array(wanted, self.cost_names, found)
        if found:
            raise InvalidProblem(found)
        other = copy(self)
        other.bounds = self.bounds.copy()
        for name, bound in wanted.items():
            other.bounds[self.constraint_names.index(name)] = bound
        return other

    def beginning_in(self, state: Hashable) -> ImplicitCSSP:
        """The same problem from one of its states on.

        >>> line = ImplicitCSSP(0, lambda at: ["go"], lambda at, a: {at + 1: 1}, lambda at, a: 1, (5).__eq__)
        >>> line.beginning_in(3).enumerated().num_states
        3

        Raises
        ------
        InvalidProblem
            If that cannot be a state, or everything has ended there.
        """
        space = self.space.beginning_in(state)
        if space.goals(space.initial[0]).all():
            raise InvalidProblem([f"state {state!r}: it is a goal, nothing is left to plan"])
        other = copy(self)
        other.space = space
        return other

    def enumerated(self, max_states: int = 1_000_000) -> CSSP:
        """All reachable states as an ordinary problem; heuristics are of no use then.

        Raises
        ------
        InvalidProblem
            If something is wrong, or there are more than `max_states` states.
        """
        expansion = Expansion(self)
        while True:
            waiting = np.flatnonzero(expansion.frontier)
            if not len(waiting):
                return expansion.whole()
            if expansion.num_states > max_states:
                raise InvalidProblem(
                    [
                        f"more than {max_states} states are reachable, the last one "
                        f"{expansion.label(expansion.num_states - 1)!r}; raise max_states, or solve the "
                        "problem as it is, without enumerating it"
                    ]
                )
            expansion.expand(waiting[:MOST_AT_ONCE])

    def __repr__(self) -> str:
        costs = " and ".join(self.cost_names)
        return f"<ImplicitCSSP {self.name}: {costs}>" if self.name else f"<ImplicitCSSP: {costs}>"


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
    """Explore the states reachable from `initial`, in breadth-first order.

    States and actions are any hashable values. Goals are not asked for actions.

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
        With all violations of the nearest states that have any; or if more than `max_states` are reachable.
    """
    problem = ImplicitCSSP(
        initial,
        actions,
        transitions,
        costs,
        is_goal,
        cost_names=cost_names,
        bounds=bounds,
        arrival_costs=arrival_costs,
    ).enumerated(max_states)
    return problem.derive(action_labels=tuple(problem.action_labels))
