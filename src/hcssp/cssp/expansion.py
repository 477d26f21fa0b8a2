r"""The part of an implicit problem that has been looked into, and how it grows.

A *known* state is a goal, has been *expanded* (its rows are here) or lies on the *frontier*: something leads
there, and nobody has asked yet what can be done. States, rows and transitions are numbered as they come, and
keep their numbers.

**The part as a problem of its own.** Let every state :math:`s` of the frontier have one action, which ends
everything at once for the costs :math:`h_k(s)` of the heuristic. If no :math:`h_k(s)` is above the
:math:`k`-th expected cost to go of any policy that ends, then every policy of the whole problem has one in
the part that costs no more, whatever the prices. So every lower bound on the part is one on the whole; and a
policy of the part that never comes to the frontier is a policy of the whole, with the same costs.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.expanded_part import BEYOND, ExpandedCSSP, under_bounds_of
from hcssp.cssp.gathered import Gathered
from hcssp.cssp.growing import Growing
from hcssp.cssp.labels import JoinedLabels, LazyLabels, RepeatedNames
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy
from hcssp.cssp.spans import joined_spans
from hcssp.cssp.to_come import ToCome
from hcssp.cssp.transition_batch import SortedBatch, sorted_batch
from hcssp.cssp.transition_costs import TransitionCosts
from hcssp.cssp.validation import validated
from hcssp.errors import InvalidProblem

if TYPE_CHECKING:
    from hcssp.cssp.implicit import ImplicitCSSP


CONSISTENCY_TOLERANCE = 1e-9
"""A heuristic may exceed what a row allows by this share before it is called inconsistent: rounding."""


class Expansion:
    """What is known of an implicit problem.

    Parameters
    ----------
    problem
        The problem; its initial states are known at once, and nothing is expanded.

    Attributes
    ----------
    numbers
        The known states.
    initial
        The numbers of the initial states, and how probable each is.
    to_come
        What is to come at least under weights.
    proven_under
        The weights under which the best bound was proven with heuristics that know prices; None for others.
    """

    def __init__(self, problem: ImplicitCSSP) -> None:
        self.problem = problem
        self._space = problem.space
        self.numbers = problem.space.numbers()
        num_costs = len(problem.cost_names)
        self._heuristic = Growing(np.float64, num_costs)
        self._goal = Growing(np.bool_)
        self._first_row = Growing(np.int64)
        self._num_rows = Growing(np.int64)
        self._row_state = Growing(np.int64)
        self._action = Growing(np.int64)
        self._cost = Growing(np.float64, num_costs)
        self._first_entry = Growing(np.int64)
        self._num_entries = Growing(np.int64)
        self._successor = Growing(np.int64)
        self._probability = Growing(np.float64)
        # Of the rows whose transitions cost differently, batch by batch.
        self._paid: list[TransitionCosts] = []
        self.num_expanded = 0
        self._part: tuple[int, ExpandedCSSP, IntArray] | None = None
        self.to_come = ToCome(self)
        self.proven_under: FloatArray | None = None
        states, probabilities = problem.space.initial
        self.initial: tuple[IntArray, FloatArray] = (self.numbers.of(states), np.array(probabilities))
        self._meet()

    @property
    def num_states(self) -> int:
        """How many states are known."""
        return len(self._goal)

    @property
    def num_rows(self) -> int:
        return len(self._row_state)

    @property
    def heuristic(self) -> FloatArray:
        """For each cost and known state, what is to come at least."""
        return self._heuristic.view

    @property
    def goal(self) -> BoolArray:
        return self._goal.view

    @property
    def first_row(self) -> IntArray:
        """The first row of each known state; -1 where it has not been expanded."""
        return self._first_row.view

    @property
    def rows_of_state(self) -> IntArray:
        """How many rows each known state has; 0 where it has not been expanded."""
        return self._num_rows.view

    @property
    def row_state(self) -> IntArray:
        return self._row_state.view

    @property
    def costs(self) -> FloatArray:
        """The costs of each row, the primary first."""
        return self._cost.view

    @property
    def first_entry(self) -> IntArray:
        """The first transition of each row."""
        return self._first_entry.view

    @property
    def entries_of_row(self) -> IntArray:
        """How many transitions each row has."""
        return self._num_entries.view

    @property
    def successor(self) -> IntArray:
        """Where each transition leads."""
        return self._successor.view

    @property
    def probability(self) -> FloatArray:
        return self._probability.view

    @property
    def frontier(self) -> BoolArray:
        """The known states that are no goals and have not been expanded."""
        unexpanded: BoolArray = (self.first_row < 0) & ~self.goal
        return unexpanded

    @property
    def nbytes(self) -> int:
        """The memory that the arrays take, about."""
        return sum(each.nbytes for each in vars(self).values() if isinstance(each, Growing))

    def expand(self, states: IntArray) -> IntArray:
        """Look into some known states; those that are goals or were expanded before are left alone.

        Returns
        -------
        states
            Those that were expanded now.
        """
        wanted = states[(self.first_row[states] < 0) & ~self.goal[states]]
        if len(wanted) == 0:
            return wanted
        asked = self.numbers.states(wanted)
        labels = _Asked(self, wanted)
        batch = sorted_batch(
            self._space.transitions(asked), labels, self.problem.cost_names, self._space.action_names
        )
        successors = self.numbers.of(batch.successors)
        self._meet()
        self._take(wanted, batch, successors)
        if self.problem.consistent:
            self._require_consistency(wanted)
        return wanted

    def _take(self, states: IntArray, batch: SortedBatch, successors: IntArray) -> None:
        firsts = self.num_rows + np.cumsum(batch.counts) - batch.counts
        self._first_row.view[states] = firsts
        self._num_rows.view[states] = batch.counts
        self._row_state.append(np.repeat(states, batch.counts))
        self._action.append(batch.actions)
        self._cost.append(batch.costs)
        self._first_entry.append(len(self._successor) + np.cumsum(batch.lengths) - batch.lengths)
        self._num_entries.append(batch.lengths)
        self._successor.append(successors)
        self._probability.append(batch.probabilities)
        if batch.transition_costs is not None:
            rows = np.repeat(np.arange(self.num_rows - len(batch.lengths), self.num_rows), batch.lengths)
            paid = TransitionCosts.of(rows, successors, batch.probabilities, batch.transition_costs)
            self._paid += [] if paid is None else [paid]
        self.num_expanded += len(states)

    def _meet(self) -> None:
        """Ask about the states that were met just now whether they are goals, and what is to come."""
        before, now = len(self._goal), len(self.numbers)
        if now == before:
            return
        new = np.arange(before, now)
        if now > self.problem.max_states:
            raise InvalidProblem(
                [
                    f"more than {self.problem.max_states} states were met, the last one "
                    f"{self.label(now - 1)!r}; raise max_states, or give heuristics that lead to the goal"
                ]
            )
        states = self.numbers.states(new)
        goals = self._space.goals(states)
        values = self._space.heuristics(states)
        if values is None:
            values = np.zeros((len(self.problem.cost_names), len(new)))
        self._require_sanity(values, goals, new)
        self._heuristic.append(values)
        self._goal.append(goals)
        self._first_row.append(np.full(len(new), -1))
        self._num_rows.append(np.zeros(len(new), dtype=np.int64))

    def label(self, number: int) -> Any:
        """What people call a known state."""
        return self.numbers.label(number)

    def _require_sanity(self, values: FloatArray, goals: BoolArray, new: IntArray) -> None:
        wrong = ~((values >= 0.0) & (values < np.inf))
        past = goals & (values != 0.0)
        if not (wrong.any() or past.any()):
            return
        names = self.problem.cost_names
        found = [
            f"state {self.label(int(new[state]))!r}: the heuristic of {names[cost]!r} is "
            f"{values[cost, state]}; it must be finite and not negative"
            for cost, state in np.argwhere(wrong)[:10].tolist()
        ]
        found += [
            f"state {self.label(int(new[state]))!r} is a goal, but the heuristic of {names[cost]!r} is "
            f"{values[cost, state]} there; nothing is to come in a goal, so make it 0"
            for cost, state in np.argwhere(past & ~wrong)[:10].tolist()
        ]
        raise InvalidProblem(found)

    def _require_consistency(self, states: IntArray) -> None:
        """No heuristic may promise more than a step and the heuristic after it."""
        part = Gathered(self, states)
        for cost, name in enumerate(self.problem.cost_names):
            here = self.heuristic[cost, self.row_state[part.rows]]
            after = self.costs[cost, part.rows] + part.expected(self.heuristic[cost])
            wrong = np.flatnonzero(here > after * (1.0 + CONSISTENCY_TOLERANCE) + 1e-12)
            if len(wrong):
                row = int(part.rows[wrong[0]])
                action = self._space.action_names[int(self._action.view[row])]
                raise InvalidProblem(
                    [
                        f"state {self.label(int(self.row_state[row]))!r}, action {action!r}: the heuristic "
                        f"of {name!r} is {here[wrong[0]]:.10g}, but the step and what it is after it come to "
                        f"{after[wrong[0]]:.10g}; lower it, or give consistent=False if no policy costs less"
                    ]
                )

    def part(self) -> ExpandedCSSP:
        """What is known, as a problem of its own; its states are the known ones, in their order."""
        return self._built()[0]

    def part_of(self, problem: ImplicitCSSP) -> ExpandedCSSP:
        """As :meth:`part`, under the bounds of `problem`, which is the same but for them."""
        part = self.part()
        return part if problem is part.source else under_bounds_of(part, problem)

    def follow(self, actions: Mapping[Any, Hashable], *, by_text: bool = False) -> DeterministicPolicy:
        """Expand where a policy goes that is told by labels, and give it as one of the part.

        Parameters
        ----------
        actions
            From the labels of states to those of actions.
        by_text
            Whether they are told as Python writes them, such as ``"(3, 4)"`` and ``"'north'"``.

        Raises
        ------
        InvalidProblem
            If it has no action, or one that there is not, in a state that it comes to.
        """
        code: dict[Hashable, int] = {}
        taken: dict[int, int] = {}
        waiting = [number for number in np.unique(self.initial[0]).tolist() if not self.goal[number]]
        while waiting:
            self.expand(np.array(waiting, dtype=np.int64))
            names = self._space.action_names
            code.update((repr(name) if by_text else name, number) for number, name in enumerate(names))
            met: set[int] = set()
            for state in waiting:
                label = self.label(state)
                first = int(self.first_row[state])
                own = self._action.view[first : first + int(self.rows_of_state[state])]
                action = actions.get(repr(label) if by_text else label)
                found = np.flatnonzero(own == code.get(action, -1))
                if not len(found):
                    told = action if by_text else repr(action)
                    raise InvalidProblem(
                        [f"state {label!r}: the policy's action is {told}, which it has not"]
                    )
                row = first + int(found[0])
                taken[state] = row
                begin = int(self.first_entry[row])
                met.update(self.successor[begin : begin + int(self.entries_of_row[row])].tolist())
            waiting = [state for state in met if state not in taken and not self.goal[state]]
        part, place = self.part(), self.part_rows()
        rows = np.full(part.num_states, NO_ROW, dtype=np.int64)
        for state, row in taken.items():
            rows[state] = place[row]
        return DeterministicPolicy(part, rows)

    def part_rows(self) -> IntArray:
        """For each row, its number in :meth:`part`."""
        return self._built()[1]

    def whole(self) -> CSSP:
        """The whole problem, once no state is left on the frontier; what is reachable, validated."""
        part = self.part()
        if part.frontier.any():
            raise ValueError("some states have not been expanded")
        count = self.num_states
        rows = part.transitions
        return validated(
            CSSP.unchecked(
                transitions=csr_array((rows.data, rows.indices, rows.indptr), shape=(part.num_rows, count)),
                row_start=part.row_start[: count + 1],
                costs=part.costs,
                initial=part.initial[:count],
                goals=part.goals[:count],
                cost_names=part.cost_names,
                bounds=part.bounds,
                state_labels=self.numbers.labels(),
                action_labels=part.action_labels,
                name=part.name,
                description=part.description,
                transition_costs=part.transition_costs,
            )
        )

    def _built(self) -> tuple[ExpandedCSSP, IntArray]:
        if self._part is None or self._part[0] != self.num_expanded:
            self._part = (self.num_expanded, *self._build())
        return self._part[1:]

    def _build(self) -> tuple[ExpandedCSSP, IntArray]:
        problem, count = self.problem, self.num_states
        frontier = self.frontier
        edge = np.flatnonzero(frontier)
        # The goal beyond is there even if nothing leads to it: the numbers of the states stay the same.
        size = count + 1
        row_start = np.zeros(size + 1, dtype=np.int64)
        np.cumsum(self.rows_of_state + frontier, out=row_start[1 : count + 1])
        row_start[size] = row_start[count]
        place = row_start[self.row_state] + np.arange(self.num_rows) - self.first_row[self.row_state]
        num_rows = int(row_start[size])
        beyond = row_start[edge]
        lengths = np.ones(num_rows, dtype=np.int64)
        lengths[place] = self.entries_of_row
        first = np.zeros(num_rows, dtype=np.int64)
        first[place] = self.first_entry
        chosen, starts = joined_spans(first, lengths)
        is_beyond = np.zeros(num_rows, dtype=np.bool_)
        is_beyond[beyond] = True
        entry_beyond = np.repeat(is_beyond, lengths)
        indices = np.full(len(chosen), count, dtype=np.int64)
        data = np.ones(len(chosen))
        indices[~entry_beyond] = self.successor[chosen[~entry_beyond]]
        data[~entry_beyond] = self.probability[chosen[~entry_beyond]]
        transitions = csr_array((data, indices, np.append(starts, len(chosen))), shape=(num_rows, size))
        transitions.sum_duplicates()
        costs = np.empty((len(problem.cost_names), num_rows))
        costs[:, place] = self.costs
        costs[:, beyond] = self.heuristic[:, edge]
        names = (*self._space.action_names, BEYOND)
        codes = np.full(num_rows, len(names) - 1, dtype=np.int64)
        codes[place] = self._action.view
        initial = np.zeros(size)
        np.add.at(initial, self.initial[0], self.initial[1])
        part = ExpandedCSSP.unchecked(
            transitions=transitions,
            row_start=row_start,
            costs=costs,
            initial=initial,
            goals=np.append(self.goal, True),
            cost_names=problem.cost_names,
            bounds=problem.bounds,
            state_labels=JoinedLabels(self.numbers.labels(), (BEYOND,)),
            action_labels=RepeatedNames(names, codes),
            name=problem.name,
            description=problem.description,
            source=problem,
            frontier=np.append(frontier, False),
            priced_at=None,
            transition_costs=TransitionCosts.stacked(
                (0, replace(each, rows=place[each.rows])) for each in self._paid
            ),
        )
        if not isinstance(part, ExpandedCSSP):
            raise TypeError("a part of another kind")
        return part, place


class _Asked(LazyLabels):
    """The labels of some states, made when something is to be said about one."""

    def __init__(self, expansion: Expansion, states: IntArray) -> None:
        self._expansion, self._states = expansion, states

    def __len__(self) -> int:
        return len(self._states)

    def _label(self, position: int) -> Any:
        return self._expansion.label(int(self._states[position]))
