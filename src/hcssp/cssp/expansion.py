"""The part of an implicit problem that has been expanded, and how it grows.

A *known* state is a goal, has been *expanded* (its rows are here) or lies on the *frontier*: something leads
there, and its actions are not known yet. States, rows and transitions are numbered as they come, and
keep their numbers.

**The part as a problem of its own.** Let every state :math:`s` of the frontier have one action, which ends
everything at once for the costs :math:`h_k(s)` of the heuristic. If no :math:`h_k(s)` is above the
:math:`k`-th expected cost to go of any policy that ends, then every policy of the whole problem has one in
the part that costs no more, whatever the prices. So every lower bound on the part is one on the whole; and a
policy of the part that never reaches the frontier is a policy of the whole, with the same costs.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, Unpack, cast

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from hcssp.cssp.arrays import first_in_each, index_type, joined_spans
from hcssp.cssp.labels import JoinedLabels, LazyLabels, RepeatedNames
from hcssp.cssp.model import CSSP, BoolArray, CSSPParts, FloatArray, IntArray, SparseMatrix
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy
from hcssp.cssp.state_space import GrowingArray, SortedBatch, sorted_batch
from hcssp.cssp.transition_costs import TransitionCosts
from hcssp.cssp.validation import validated
from hcssp.errors import InvalidProblem

if TYPE_CHECKING:
    from hcssp.cssp.implicit import ImplicitCSSP


BEYOND = "(beyond what was expanded)"
"""The label of the goal that represents all unexpanded states, and of the action that leads there."""


class ExpandedParts(CSSPParts, total=False):
    """Attributes of an :class:`ExpandedCSSP`, as keywords; see there."""

    source: ImplicitCSSP | None
    frontier: BoolArray
    priced_at: tuple[float, ...] | None


@dataclass(frozen=True, eq=False)
class ExpandedCSSP(CSSP):
    """The expanded part of an implicit problem, as a problem.

    Attributes
    ----------
    source
        The implicit problem; None if it is not known any more, as after unpickling.
    frontier
        The states that were not expanded. Each has one action, whose cost is the heuristic.
    priced_at
        The weights under which the heuristic knows more about all costs together; then each state of the
        frontier has an action for every cost (:func:`priced_part`). None if it does not.
    """

    source: ImplicitCSSP | None = field(default=None, repr=False)
    frontier: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_), repr=False)
    priced_at: tuple[float, ...] | None = field(default=None, repr=False)

    @property
    def is_part(self) -> bool:
        """Whether some states were not expanded."""
        return bool(self.frontier.any())

    @property
    def num_expanded(self) -> int:
        """How many states were expanded."""
        return int(np.count_nonzero(np.diff(self.row_start)) - np.count_nonzero(self.frontier))

    @classmethod
    def unchecked(cls, **parts: Unpack[ExpandedParts]) -> Self:
        """As of any problem."""
        return super().unchecked(**cast("CSSPParts", parts))

    def derive(self, **changes: Unpack[ExpandedParts]) -> Self:
        """As of any problem; with other rows, another start or other goals it is not a part of its source."""
        if changes.keys() & {"transitions", "costs", "initial", "goals"}:
            changes.setdefault("source", None)
        return super().derive(**cast("CSSPParts", changes))

    @property
    def implicit(self) -> ImplicitCSSP | None:
        """The implicit problem under the bounds of this part; None if it is not known any more."""
        if self.source is None:
            return None
        bounds = dict(zip(self.constraint_names, self.bounds.tolist(), strict=True))
        return self.source.with_bounds(bounds)


def under_bounds_of(part: ExpandedCSSP, problem: ImplicitCSSP) -> ExpandedCSSP:
    """The same part under the bounds of `problem`."""
    return part.derive(bounds=problem.bounds, source=problem)


def lifted(policy: DeterministicPolicy, part: ExpandedCSSP) -> DeterministicPolicy:
    """A policy of an earlier part of the same expansion, as one of `part`."""
    rows = np.full(part.num_states, NO_ROW, dtype=np.int64)
    states = np.flatnonzero(policy.rows != NO_ROW)
    rows[states] = policy.rows[states] - policy.problem.row_start[states] + part.row_start[states]
    return DeterministicPolicy(part, rows)


CONSISTENCY_TOLERANCE = 1e-9
"""A heuristic may exceed what a row allows by this share before it is called inconsistent: rounding."""


_INT, _FLOAT = (np.int64,), (np.float64,)


def _growing(**kinds: tuple[Any, ...]) -> dict[str, GrowingArray]:
    """Empty arrays, by name, that grow together."""
    return {name: GrowingArray(*kind) for name, kind in kinds.items()}


class Expansion:
    """The known part of an implicit problem.

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
    heuristic, goal
        Of each known state: for each cost a lower bound on the cost-to-go, and whether it is a goal.
    first_row, rows_of_state
        The first row of each known state and the number of its rows; -1 and 0 where it has not been expanded.
    row_state, action, costs, leaving
        Of each row: its state, its action, its costs, the primary first, and the probability that it leaves
        its state.
    first_entry, entries_of_row
        The first transition of each row, and the number of its transitions.
    successor, probability, departure
        Of each transition: where it leads, its probability, and that given that its row leaves the state, 0
        where it stays.
    weighted_heuristic
        Lower bounds on the cost-to-go under weights.
    proven_under
        The weights under which the best bound was proven by heuristics for weighted costs; None for others.
    """

    heuristic: FloatArray
    goal: BoolArray
    first_row: IntArray
    rows_of_state: IntArray
    row_state: IntArray
    action: IntArray
    costs: FloatArray
    leaving: FloatArray
    first_entry: IntArray
    entries_of_row: IntArray
    successor: IntArray
    probability: FloatArray
    departure: FloatArray

    def __init__(self, problem: ImplicitCSSP) -> None:
        self.problem = problem
        self._space = problem.space
        self.numbers = problem.space.numbers()
        costs = (np.float64, len(problem.cost_names))
        self._by_state = _growing(goal=(np.bool_,), heuristic=costs, first_row=_INT, rows_of_state=_INT)
        self._by_row = _growing(
            row_state=_INT, action=_INT, costs=costs, first_entry=_INT, entries_of_row=_INT, leaving=_FLOAT
        )
        self._by_entry = _growing(successor=_INT, probability=_FLOAT, departure=_FLOAT)
        self._departures: SparseMatrix = None
        # Of the rows whose transitions cost differently, batch by batch.
        self._paid: list[TransitionCosts] = []
        self.num_expanded = 0
        self._part: tuple[int, ExpandedCSSP, IntArray] | None = None
        self.weighted_heuristic = WeightedHeuristic(self)
        self.proven_under: FloatArray | None = None
        for arrays in (self._by_state, self._by_row, self._by_entry):
            self._append(arrays)
        states, probabilities = problem.space.initial
        self.initial: tuple[IntArray, FloatArray] = (self.numbers.of(states), np.array(probabilities))
        self._meet()

    @property
    def num_states(self) -> int:
        """How many states are known."""
        return len(self._by_state["goal"])

    @property
    def num_rows(self) -> int:
        return len(self._by_row["row_state"])

    def departures(self) -> SparseMatrix:
        """:attr:`departure` as a matrix from rows to known states."""
        shape = (self.num_rows, self.num_states)
        if self._departures is None or self._departures.shape != shape:
            kind = index_type(len(self.successor))
            starts = np.append(self.first_entry, len(self.successor)).astype(kind)
            parts = self.departure.copy(), self.successor.astype(kind), starts
            self._departures = csr_array(parts, shape=shape)
        return self._departures

    @property
    def frontier(self) -> BoolArray:
        """The known states that are no goals and have not been expanded."""
        unexpanded: BoolArray = (self.first_row < 0) & ~self.goal
        return unexpanded

    @property
    def nbytes(self) -> int:
        """The memory that the arrays take, about."""
        tables = (self._by_state, self._by_row, self._by_entry)
        return sum(each.nbytes for table in tables for each in table.values())

    def expand(self, states: IntArray) -> IntArray:
        """Expand some known states; those that are goals or were expanded before are skipped.

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
        self.first_row[states] = self.num_rows + np.cumsum(batch.counts) - batch.counts
        self.rows_of_state[states] = batch.counts
        row = np.repeat(np.arange(len(batch.lengths)), batch.lengths)
        owner = np.repeat(states, batch.counts)
        moves = np.where(successors == owner[row], 0.0, batch.probabilities)
        leaving = np.bincount(row, weights=moves, minlength=len(batch.lengths))
        self._append(
            self._by_row,
            row_state=owner,
            action=batch.actions,
            costs=batch.costs,
            first_entry=len(self.successor) + np.cumsum(batch.lengths) - batch.lengths,
            entries_of_row=batch.lengths,
            leaving=leaving,
        )
        self._append(
            self._by_entry,
            successor=successors,
            probability=batch.probabilities,
            departure=moves / np.where(leaving > 0.0, leaving, 1.0)[row],
        )
        if batch.transition_costs is not None:
            rows = np.repeat(np.arange(self.num_rows - len(batch.lengths), self.num_rows), batch.lengths)
            paid = TransitionCosts.of(rows, successors, batch.probabilities, batch.transition_costs)
            self._paid += [] if paid is None else [paid]
        self.num_expanded += len(states)

    def _meet(self) -> None:
        """Query the goals and heuristics of the states that are new."""
        before, now = self.num_states, len(self.numbers)
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
        unexpanded = np.full(len(new), -1)
        self._append(
            self._by_state, heuristic=values, goal=goals, first_row=unexpanded, rows_of_state=unexpanded + 1
        )

    def _append(self, arrays: Mapping[str, GrowingArray], **added: npt.NDArray[Any]) -> None:
        """Append to arrays of one length; the attributes of their names show what they hold now."""
        for name, values in added.items():
            arrays[name].append(values)
        self.__dict__.update((name, each.view) for name, each in arrays.items())

    def label(self, number: int) -> Any:
        """The label of a known state."""
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
            f"{values[cost, state]} there; the cost-to-go of a goal is 0, so make it 0"
            for cost, state in np.argwhere(past & ~wrong)[:10].tolist()
        ]
        raise InvalidProblem(found)

    def _require_consistency(self, states: IntArray) -> None:
        """No heuristic may promise more than a step and the heuristic after it."""
        part = GatheredRows(self, states)
        for cost, name in enumerate(self.problem.cost_names):
            here = self.heuristic[cost, self.row_state[part.rows]]
            after = self.costs[cost, part.rows] + part.expected(self.heuristic[cost])
            wrong = np.flatnonzero(here > after * (1.0 + CONSISTENCY_TOLERANCE) + 1e-12)
            if len(wrong):
                row = int(part.rows[wrong[0]])
                action = self._space.action_names[int(self.action[row])]
                raise InvalidProblem(
                    [
                        f"state {self.label(int(self.row_state[row]))!r}, action {action!r}: the heuristic "
                        f"of {name!r} is {here[wrong[0]]:.10g}, but the cost of the step plus the heuristic "
                        f"after it is {after[wrong[0]]:.10g}; lower it, or give consistent=False if no "
                        "policy costs less"
                    ]
                )

    def part(self) -> ExpandedCSSP:
        """The known part as a problem; its states are the known ones, in their order."""
        return self._built()[0]

    def part_of(self, problem: ImplicitCSSP) -> ExpandedCSSP:
        """As :meth:`part`, under the bounds of `problem`, which is the same but for them."""
        part = self.part()
        return part if problem is part.source else under_bounds_of(part, problem)

    def follow(self, actions: Mapping[Any, Hashable], *, by_text: bool = False) -> DeterministicPolicy:
        """Expand along a policy that is given by labels, and return it as a policy of the part.

        Parameters
        ----------
        actions
            From the labels of states to those of actions.
        by_text
            Whether labels are given as Python prints them, such as ``"(3, 4)"`` and ``"'north'"``.

        Raises
        ------
        InvalidProblem
            If it has no action, or an unknown one, in a state that it reaches.
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
                own = self.action[first : first + int(self.rows_of_state[state])]
                action = actions.get(repr(label) if by_text else label)
                found = np.flatnonzero(own == code.get(action, -1))
                if not len(found):
                    shown = action if by_text else repr(action)
                    raise InvalidProblem(
                        [f"state {label!r}: the policy's action is {shown}, which it has not"]
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
        codes[place] = self.action
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
        return part, place


class _Asked(LazyLabels):
    """The labels of some states, made when a message needs one."""

    def __init__(self, expansion: Expansion, states: IntArray) -> None:
        self._expansion, self._states = expansion, states

    def __len__(self) -> int:
        return len(self._states)

    def _label(self, position: int) -> Any:
        return self._expansion.label(int(self._states[position]))


class GatheredRows:
    """The rows of some expanded states, and their transitions, side by side.

    Attributes
    ----------
    rows
        The rows, state by state.
    begins
        Where the rows of each state begin among them; a state without rows must not be among the states.
    starts, lengths, successors, probabilities
        Where the transitions of each row begin, how many they are, and what they are.
    """

    def __init__(
        self, expansion: Expansion, states: IntArray, probabilities: FloatArray | None = None
    ) -> None:
        counts = expansion.rows_of_state[states]
        self.counts: IntArray = counts
        self.rows, self.begins = joined_spans(expansion.first_row[states], counts)
        self.lengths: IntArray = expansion.entries_of_row[self.rows]
        entries, self.starts = joined_spans(expansion.first_entry[self.rows], self.lengths)
        self.successors: IntArray = expansion.successor[entries]
        shares = expansion.probability if probabilities is None else probabilities
        self.probabilities: FloatArray = shares[entries]

    def expected(self, values: FloatArray) -> FloatArray:
        """For each row, the expected value of the next state."""
        if not len(self.rows):
            return np.zeros(0)
        expected: FloatArray = np.add.reduceat(self.probabilities * values[self.successors], self.starts)
        return expected

    def least(self, options: FloatArray) -> tuple[FloatArray, IntArray]:
        """For each state the least of its rows' options, and the position of the first row that has it."""
        least = np.minimum.reduceat(options, self.begins)
        return least, first_in_each(options == np.repeat(least, self.counts), self.begins)


class WeightedHeuristic:
    """Lower bounds on the weighted cost-to-go of the known states.

    The heuristics of single costs are kept in :attr:`Expansion.heuristic`. Heuristics that know prices give
    higher bounds on all costs together; they are queried once for each state under the latest weights.

    Parameters
    ----------
    expansion
        The known part of the problem; it grows.

    Attributes
    ----------
    apart
        Whether only the heuristics of single costs are used.
    """

    def __init__(self, expansion: Expansion) -> None:
        self._expansion = expansion
        self._latest: tuple[bytes, GrowingArray] = b"", GrowingArray(np.float64)
        self._is_joint = True
        self.apart = False

    @property
    def knows_prices(self) -> bool:
        """Whether the heuristics bound all costs together; known after the first query."""
        return self._is_joint and not self.apart

    def under(self, weights: FloatArray, first: int = 0) -> FloatArray:
        """Lower bounds on the cost-to-go under `weights` of the known states from number `first` on."""
        return self._single(weights, first) if self.apart else self.together(weights, first)

    def together(self, weights: FloatArray, first: int = 0) -> FloatArray:
        """As :meth:`under`, whatever :attr:`apart` is."""
        key, known = self._latest
        if key != weights.tobytes():
            known = GrowingArray(np.float64)
            self._latest = weights.tobytes(), known
        if self._is_joint and len(known) < self._expansion.num_states:
            known.append(self._queried(weights, len(known)))
        return known.view[first:] if self._is_joint else self._single(weights, first)

    def _single(self, weights: FloatArray, first: int) -> FloatArray:
        single: FloatArray = weights @ self._expansion.heuristic[:, first:]
        return single

    def _queried(self, weights: FloatArray, first: int) -> FloatArray:
        expansion = self._expansion
        single = self._single(weights, first)
        new = np.arange(first, expansion.num_states)
        together = expansion.problem.space.together(weights, expansion.numbers.states(new))
        if together is None:
            self._is_joint = False
            return single
        wrong = np.flatnonzero(
            ~((together >= 0.0) & (together < np.inf)) | (expansion.goal[first:] & (together != 0.0))
        )
        if len(wrong):
            place = int(wrong[0])
            wanted = "0, since the cost-to-go of a goal is 0" if expansion.goal[first + place] else "finite"
            raise InvalidProblem(
                [
                    f"state {expansion.label(first + place)!r}: under the weights {weights.tolist()} the "
                    f"heuristic of all costs together is {together[place]}; it must be {wanted} and not "
                    "negative"
                ]
            )
        return np.maximum(together, single)


ROUNDED_DOWN = 1.0 - 1e-12
"""The cost-to-go under the weights is lowered by this factor before it is divided: rounding must not make
an action more expensive than it."""


def settled_part(expansion: Expansion, problem: ImplicitCSSP) -> ExpandedCSSP:
    """The part on which the best bound that was found is proven, under the bounds of `problem`."""
    part = expansion.part_of(problem)
    weights = expansion.proven_under
    return (
        part
        if weights is None
        else priced_part(part, weights, expansion.weighted_heuristic.together(weights))
    )


def priced_part(part: ExpandedCSSP, weights: FloatArray, cost_to_go: FloatArray) -> ExpandedCSSP:
    r"""The part with one action at the frontier for each cost that has a weight.

    **Problem.** In the part a state :math:`s` of the frontier ends everything for the costs :math:`h_k(s)`.
    Heuristics that know prices say more: under weights :math:`w^*` no policy pays less than :math:`H(s) \ge
    w^* \cdot h(s)`. The result is a problem whose Lagrangian at :math:`w^*` has this bound, too.

    **Method.** Let :math:`s` have one action for every cost :math:`k` with :math:`w^*_k > 0`. It ends
    everything for :math:`h(s)` and, of that one cost, :math:`(H(s) - w^* \cdot h(s)) / w^*_k` more.

    **Guarantee.** Under whatever weights :math:`w \ge 0` the cheapest of these actions is no more expensive
    than any policy from :math:`s`. With :math:`\alpha = \min_k w_k / w^*_k`, a policy that pays :math:`v`
    pays :math:`w \cdot v = \alpha w^* \cdot v + (w - \alpha w^*) \cdot v \ge \alpha H + (w - \alpha w^*)
    \cdot h`, which is what the cheapest action costs. So every Lagrangian bound on this part is one on the
    whole, at whatever prices. That holds for randomised policies, and not if some actions are forbidden: such
    a part is to be proven in one piece, and not split into regions of policies.

    Parameters
    ----------
    part
        The part whose frontier has the heuristics of single costs.
    weights
        The weights, one for each cost.
    cost_to_go
        For each known state, a lower bound on its cost-to-go under them.
    """
    paid = np.flatnonzero(weights > 0.0)
    edge = np.flatnonzero(part.frontier)
    last = part.row_start[edge]
    copies = np.ones(part.num_rows, dtype=np.int64)
    copies[last] = len(paid)
    rows = np.repeat(np.arange(part.num_rows), copies)
    first = (np.cumsum(copies) - copies)[last]
    apart = weights @ part.costs[:, last]
    more = np.maximum(cost_to_go[edge] * ROUNDED_DOWN - apart, 0.0)
    costs = part.costs[:, rows]
    labels = part.action_labels
    if not isinstance(labels, RepeatedNames):
        raise TypeError("labels of another kind")
    names, codes = list(labels.names), labels.codes[rows]
    for position, cost in enumerate(paid.tolist()):
        costs[cost, first + position] += more / weights[cost]
        codes[first + position] = len(names)
        names.append(f"{BEYOND[:-1]}, for {part.cost_names[cost]})")
    row_start = np.append(0, np.cumsum(copies))[part.row_start]
    return part.derive(
        transitions=part.transitions[rows],
        row_start=row_start,
        costs=costs,
        action_labels=RepeatedNames(names, codes),
        transition_costs=None if part.transition_costs is None else part.transition_costs.take(rows),
        priced_at=tuple(weights.tolist()),
        # Only the frontier differs; the expanded states are the same.
        source=part.source,
    )
