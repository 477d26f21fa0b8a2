"""State a C-SSP piece by piece, in any order; everything is checked when it is built.

>>> plan = CSSPBuilder(cost_names=("time", "damage"))
>>> home, out = plan.add_state("home"), plan.add_goal("out")
>>> walk = plan.add_action(home, "walk", to=out, costs={"time": 10.0})
>>> run = plan.add_action(home, "run", to={out: 0.5, home: 0.5}, costs={"time": 1.0, "damage": 2.0})
>>> plan.set_initial(home)
>>> plan.set_bound("damage", at_most=1.0)
>>> problem = plan.build()
>>> problem.num_states, problem.num_rows, problem.costs.tolist()
(2, 2, [[10.0, 1.0], [0.0, 2.0]])

What is wrong is collected and told together by :meth:`CSSPBuilder.build`:

>>> plan.set_bound("wear", at_most=1.0)
>>> leave = plan.add_action(home, "leave", to="garden")
>>> plan.build()
Traceback (most recent call last):
    ...
hcssp.errors.InvalidProblem: 2 violations:
  - state 'home', action 'leave': it leads to state 'garden', which is unknown; add it with add_state
  - bound on 'wear': no such secondary cost; the secondary costs are 'damage'
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hcssp.cssp.assembly import Assembly, Costs
from hcssp.cssp.model import CSSP


@dataclass(frozen=True)
class StateHandle:
    """A state of a builder, as :meth:`CSSPBuilder.add_state` returns it."""

    index: int
    label: Hashable


@dataclass(frozen=True)
class ActionHandle:
    """An action of a builder, as :meth:`CSSPBuilder.add_action` returns it."""

    state: StateHandle
    label: Hashable


StateLike = StateHandle | Hashable
"""A handle, or the label of a state that has been added before."""


class CSSPBuilder:
    """Collects states, actions, goals and bounds, and builds a :class:`~hcssp.cssp.model.CSSP`.

    Parameters
    ----------
    cost_names
        The primary cost, which is minimised, then the secondary ones.
    bounds
        Upper bounds on secondary costs, by name; more with :meth:`set_bound`.
    """

    def __init__(
        self, cost_names: Sequence[str] = ("cost",), bounds: Mapping[str, float] | None = None
    ) -> None:
        names = (cost_names,) if isinstance(cost_names, str) else tuple(cost_names)
        self._assembly = Assembly(names)
        self._states: list[StateHandle] = []
        self._goals: dict[int, None] = {}
        self._initial: dict[int, float] | None = None
        self._bounds = dict(bounds or {})

    def add_state(self, label: Hashable | None = None) -> StateHandle:
        """A new state; without a label it is called by its number."""
        index = self._assembly.state_index
        if label is None:
            label = len(index)
            while label in index:
                label += 1
        elif label in index:
            self._assembly.found.append(f"state {label!r}: two states have this label; give each its own")
            return self._states[index[label]]
        state = StateHandle(self._assembly.add_state(label), label)
        self._states.append(state)
        return state

    def add_goal(self, state: StateLike | None = None) -> StateHandle:
        """Make a state a goal; a label that is new adds the state as well."""
        if isinstance(state, StateHandle):
            if self._index("add_goal names", state) is None:
                return state
            goal = state
        elif state is not None and state in self._assembly.state_index:
            goal = self._states[self._assembly.state_index[state]]
        else:
            goal = self.add_state(state)
        self._goals[goal.index] = None
        return goal

    def add_action(
        self,
        state: StateLike,
        label: Hashable,
        to: Mapping[Any, float] | StateLike,
        costs: Costs = 0.0,
        arrival_costs: Mapping[Any, Costs] | None = None,
    ) -> ActionHandle:
        """An action of `state`.

        Parameters
        ----------
        state
            Where the action is available.
        label
            Its name, unique in the state.
        to
            From next states to their probabilities; a single state is reached with certainty.
        costs
            Paid whenever the action is taken: by name (0 where not named), in the order of the
            costs, or a number for the primary cost alone.
        arrival_costs
            Paid in addition if that next state is reached: costs that depend on the outcome.
        """
        assembly = self._assembly
        name = state.label if isinstance(state, StateHandle) else state
        place = f"state {name!r}, action {label!r}"
        index = self._index(f"{place}: it belongs to", state)
        outcomes: Mapping[Any, float] = to if isinstance(to, Mapping) else {to: 1.0}
        successors: list[int] = []
        probabilities: list[float] = []
        vector = assembly.cost_vector(place, costs)
        arrivals = dict(arrival_costs or {})
        paid: list[float] = []
        for reached, given in outcomes.items():
            successor = self._index(f"{place}: it leads to", reached)
            shown = reached.label if isinstance(reached, StateHandle) else reached
            probability = assembly.number(f"{place}: the probability of reaching state {shown!r}", given)
            # An unknown state has been noted; a loop in its stead spares a second complaint about sums.
            successors.append(successor if successor is not None else index or 0)
            probabilities.append(probability)
            if arrival_costs:
                paid += assembly.cost_vector(f"{place}, next state {shown!r}", arrivals.pop(reached, 0.0))
        for reached in arrivals:
            shown = reached.label if isinstance(reached, StateHandle) else reached
            assembly.found.append(
                f"{place}: arrival_costs names state {shown!r}, which `to` does not; name it the same way"
            )
        if index is not None:
            row = assembly.add_row(index, label, vector)
            rows = [row] * len(successors)
            assembly.add_transitions(rows, successors, probabilities, paid if arrival_costs else None)
            return ActionHandle(self._states[index], label)
        return ActionHandle(StateHandle(-1, name), label)

    def set_initial(self, initial: StateLike | Mapping[Any, float]) -> None:
        """Begin in a state, or in one drawn from a distribution; replaces what was set before."""
        distribution: Mapping[Any, float] = initial if isinstance(initial, Mapping) else {initial: 1.0}
        indices: dict[int, float] = {}
        for state, given in distribution.items():
            shown = state.label if isinstance(state, StateHandle) else state
            probability = self._assembly.number(f"state {shown!r}: its initial probability", given)
            index = self._index("the initial distribution names", state)
            # An unknown state has been noted; its share goes to the first, so that sums come out right.
            indices[index or 0] = indices.get(index or 0, 0.0) + probability
        self._initial = indices

    def set_bound(self, name: str, at_most: float) -> None:
        """Bound the expected sum of the secondary cost `name`."""
        self._bounds[name] = at_most

    def build(self) -> CSSP:
        """The frozen problem. The first state added is the initial one unless another was set.

        Raises
        ------
        InvalidProblem
            With all violations, if there are any.
        """
        initial = {0: 1.0} if self._initial is None else self._initial
        if not self._states:
            initial = {}
        return self._assembly.build(initial, self._goals, self._bounds)

    def _index(self, told: str, state: StateLike) -> int | None:
        """The index of a handle or label, or None with a violation noted."""
        if isinstance(state, StateHandle):
            if state.index < len(self._states) and self._states[state.index] is state:
                return state.index
            problem, shown = "was made by another builder; add it to this one", state.label
        else:
            known = self._assembly.state_index.get(state)
            if known is not None:
                return known
            problem, shown = "is unknown; add it with add_state", state
        self._assembly.found.append(f"{told} state {shown!r}, which {problem}")
        return None
