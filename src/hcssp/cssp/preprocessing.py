"""Before solving: keep what can be reached and what still reaches a goal with certainty.

Solvers are promised a problem in which every state can be reached and has a policy that reaches a goal
almost surely, whatever action is taken first. :func:`prepare` makes it one, or says why it cannot be;
:func:`with_giving_up` turns dead ends into something that can be survived at a price.

>>> from hcssp.cssp.builder import CSSPBuilder
>>> plan = CSSPBuilder(cost_names=("time",))
>>> edge, pit, out = plan.add_state("edge"), plan.add_state("pit"), plan.add_goal("out")
>>> walk = plan.add_action(edge, "walk", to=out, costs=3.0)
>>> jump = plan.add_action(edge, "jump", to={out: 0.9, pit: 0.1}, costs=1.0)
>>> ready = prepare(plan.build())
>>> list(ready.problem.state_labels), list(ready.problem.action_labels)
(['edge', 'out'], ['walk'])
>>> ready.lift(np.array([0, -1])).tolist()
[0, -1, -1]
>>> prepare(with_giving_up(plan.build(), penalty=100.0)).problem.num_rows
3
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, vstack

from hcssp.cssp.labels import JoinedLabels, RepeatedNames, SelectedLabels
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.reachability import almost_sure, can_reach_goal, reachable
from hcssp.cssp.validation import unknown_cost, validated
from hcssp.errors import DeadEnd, InvalidProblem

GIVE_UP = "give up"
"""The name of the action that gives up."""


class Prepared:
    """A problem without unreachable states, dead ends and the actions that may lead there.

    Parameters
    ----------
    problem, original
        The reduced problem, and the one it came from: itself if nothing was dropped.
    states, rows
        For each state and row of the reduced problem, the one of the original; None if nothing was dropped.
    """

    def __init__(
        self, problem: CSSP, original: CSSP, states: IntArray | None = None, rows: IntArray | None = None
    ) -> None:
        self.problem = problem
        self.original = original
        self._states = states
        self._rows = rows

    @property
    def states(self) -> IntArray:
        """For each state of the reduced problem, the one of the original."""
        if self._states is None:
            self._states = np.arange(self.problem.num_states)
        return self._states

    @property
    def rows(self) -> IntArray:
        """For each row of the reduced problem, the one of the original."""
        if self._rows is None:
            self._rows = np.arange(self.problem.num_rows)
        return self._rows

    def lift(self, rows: IntArray) -> IntArray:
        """A policy of the reduced problem, one row for each state, as a policy of the original.

        States that were dropped have no row: the policy never enters them.
        """
        if self.problem is self.original:
            return rows
        lifted = np.full(self.original.num_states, NO_ROW, dtype=np.int64)
        acting = rows != NO_ROW
        lifted[self.states[acting]] = self.rows[rows[acting]]
        return lifted

    def lift_values(self, states: IntArray, values: FloatArray) -> FloatArray:
        """Values of some states of the reduced problem, for each state of the original.

        Goals have the value 0; nan where nothing is known.
        """
        lifted = np.where(self.original.goals, 0.0, np.nan)
        lifted[self.states[states]] = values
        return lifted


def prepare(problem: CSSP, usable: BoolArray | None = None) -> Prepared:
    """Drop unreachable states, dead ends, and the actions that may lead to a dead end.

    Parameters
    ----------
    problem
        The problem.
    usable
        The actions that may be taken at all; None for all.

    Raises
    ------
    DeadEnd
        If a goal cannot be reached with certainty from every initial state; names a trapped state.
    """
    found = reachable(problem, usable)
    certain = almost_sure(problem, found, usable)
    if (problem.initial[~certain.states] > 0.0).any():
        raise _dead_end(problem, found, certain.states, usable)
    if not certain.rows.all():
        # Actions that are gone may have been the only ones that led somewhere.
        found = reachable(problem, certain.rows)
    if found.all() and certain.rows.all():
        return Prepared(problem, problem)
    return _restrict(problem, found, certain.rows & np.repeat(found, np.diff(problem.row_start)))


def with_giving_up(
    problem: CSSP,
    penalty: float | Mapping[str, float],
    *,
    where: Literal["dead ends", "everywhere"] = "dead ends",
    goal: Hashable | None = None,
    label: Hashable = GIVE_UP,
) -> CSSP:
    """The same problem with an action that leads to a goal at the price of `penalty`.

    Parameters
    ----------
    problem
        The problem; its states keep their numbers, its rows their order.
    penalty
        The penalty: an amount of the primary cost, or costs by name; other costs are 0.
    where
        By default only in states from which no goal can be reached at all. That is enough to make
        every dead end survivable and allows giving up only where it is needed. "everywhere" adds the action
        to all states but goals, which also caps the expected primary cost of every state.
    goal
        The label of the goal where one ends after giving up; by default the first.
    label
        The name of the action.

    Raises
    ------
    InvalidProblem
        If the penalty is negative or not finite, if `where`, `goal` or a cost is unknown, or if a state has
        an action of this name already.
    """
    from hcssp.cssp.model import refuse_implicit

    refuse_implicit(problem, "giving up")
    paid = giving_up_price(problem, penalty)
    if where not in ("dead ends", "everywhere"):
        raise InvalidProblem([f"where is {where!r}; give 'dead ends' or 'everywhere'"])
    reached = giving_up_goal(problem, goal)
    giving_up = ~problem.goals
    if where == "dead ends":
        giving_up &= ~can_reach_goal(problem)
    states = np.flatnonzero(giving_up)
    if not len(states):
        return problem
    return validated(append_rows(problem, states, np.full(len(states), reached), paid, label))


def giving_up_price(problem: CSSP, penalty: float | Mapping[str, float]) -> FloatArray:
    """What giving up costs, in the order of the costs.

    Raises
    ------
    InvalidProblem
        If the penalty is negative or not finite, or a cost is unknown.
    """
    named = penalty if isinstance(penalty, Mapping) else {problem.cost_names[0]: penalty}
    found = [unknown_cost(name, problem.cost_names) for name in named if name not in problem.cost_names]
    found += [
        f"the penalty for giving up is {each}; it must be finite and not negative"
        for each in named.values()
        if not (np.isfinite(each) and each >= 0.0)
    ]
    if found:
        raise InvalidProblem(found)
    return np.array([named.get(name, 0.0) for name in problem.cost_names], dtype=np.float64)


def giving_up_goal(problem: CSSP, goal: Hashable | None) -> int:
    """The goal of this label, where one ends after giving up; the first if no label is given.

    Raises
    ------
    InvalidProblem
        If it is not a goal.
    """
    if goal is None:
        return int(np.flatnonzero(problem.goals)[0])
    state = problem.state_index.get(goal, -1)
    if state < 0 or not problem.goals[state]:
        raise InvalidProblem([f"giving up leads to {goal!r}, which is not a goal; name one, or none"])
    return state


def append_rows(problem: CSSP, states: IntArray, goals: IntArray, paid: FloatArray, label: Hashable) -> CSSP:
    """The problem with one more row, the last, in each of `states`, which leads to one of `goals`."""
    count = len(states)
    added = csr_array((np.ones(count), goals, np.arange(count + 1)), shape=(count, problem.num_states))
    # Stable: the new row of a state comes after its old ones.
    order = np.argsort(np.concatenate((problem.row_state, states)), kind="stable")
    costs = np.repeat(paid[:, None], count, axis=1)
    row_start = problem.row_start.copy()
    row_start[1:] += np.cumsum(np.bincount(states, minlength=problem.num_states))
    labels = JoinedLabels(problem.action_labels, RepeatedNames((label,), np.zeros(count, dtype=np.int64)))
    return problem.derive(
        transitions=vstack((problem.transitions, added), format="csr")[order],
        row_start=row_start,
        costs=np.concatenate((problem.costs, costs), axis=1)[:, order],
        action_labels=SelectedLabels(labels, order),
        world=None,
        transition_costs=None if problem.transition_costs is None else problem.transition_costs.take(order),
    )


def hollow(problem: CSSP) -> Prepared:
    """Only the goals of a problem, for one that cannot be completed: nothing can be done there."""
    return _restrict(problem, problem.goals, np.zeros(problem.num_rows, dtype=np.bool_))


def _restrict(problem: CSSP, states: BoolArray, rows: BoolArray) -> Prepared:
    """The part of `problem` made of `states` and `rows`, in the order they had."""
    kept_states, kept_rows = np.flatnonzero(states), np.flatnonzero(rows)
    row_start = np.zeros(len(kept_states) + 1, dtype=np.int64)
    before = np.concatenate(([0], np.cumsum(rows)))
    counts = np.diff(before[problem.row_start])
    np.cumsum(counts[kept_states], out=row_start[1:])
    # All successors of the kept rows are kept, so renumbering the columns loses nothing.
    number = np.cumsum(states) - 1
    part = problem.transitions[kept_rows]
    part.eliminate_zeros()
    transitions = csr_array(
        (part.data, number[part.indices].astype(part.indices.dtype), part.indptr),
        shape=(len(kept_rows), len(kept_states)),
    )
    paid = None if problem.transition_costs is None else problem.transition_costs.take(kept_rows)
    reduced = problem.derive(
        transitions=transitions,
        row_start=row_start,
        costs=problem.costs[:, kept_rows],
        initial=problem.initial[kept_states],
        goals=problem.goals[kept_states],
        state_labels=SelectedLabels(problem.state_labels, kept_states),
        action_labels=SelectedLabels(problem.action_labels, kept_rows),
        world=None,
        transition_costs=None if paid is None else paid.to(number),
    )
    return Prepared(reduced, problem, kept_states, kept_rows)


def _dead_end(problem: CSSP, found: BoolArray, certain: BoolArray, usable: BoolArray | None) -> DeadEnd:
    start = int(np.flatnonzero((problem.initial > 0.0) & ~certain)[0])
    # Were a goal possible from every reachable state, it would be certain: so there is a trap.
    trap = int(np.flatnonzero(found & ~can_reach_goal(problem, usable))[0])
    where = f"initial state {problem.state_labels[start]!r}"
    if trap == start:
        what = f"{where}: it is a dead end, no goal can be reached from it"
    else:
        trapped = f"state {problem.state_labels[trap]!r}"
        what = (
            f"{where}: no policy reaches a goal with certainty; every policy may be trapped, "
            f"for example in {trapped}, from which no goal can be reached"
        )
    error = DeadEnd(f"{what}; allow giving up at a finite penalty with with_giving_up(problem, penalty=...)")
    error.trapped = problem.state_labels[trap]
    return error


UNDOMINATED = -1


def dominating_rows(problem: CSSP) -> IntArray:
    """For each row one that dominates it and is not dominated itself; -1 if there is none.

    A row is dominated if another row of its state has the same transitions and no cost is higher. A policy
    that takes a dominated row can take the other instead. To a search both are alternatives: where one is
    forbidden, the other takes its place at no cost, and everything is proven twice.

    >>> from hcssp.cssp.builder import CSSPBuilder
    >>> plan = CSSPBuilder(cost_names=("time", "wear"))
    >>> here, out = plan.add_state("here"), plan.add_goal("out")
    >>> for action, wear in (("faster", 2.0), ("on", 1.0), ("still on", 1.0)):
    ...     _ = plan.add_action(here, action, to=out, costs={"time": 1.0, "wear": wear})
    >>> dominating_rows(plan.build()).tolist()
    [1, -1, 1]

    Of equal rows, the first is not dominated. Rows are compared number by number. With several secondary
    costs, and among rows whose costs depend on the state that is reached, some may be missed.
    """
    matrix, costs, state = problem.transitions, problem.costs, problem.row_state
    dominating = np.full(problem.num_rows, UNDOMINATED, dtype=np.int64)
    lengths, keys = np.diff(matrix.indptr), _keys(problem)
    few = _with_equal_key(keys, state)
    if problem.transition_costs is not None:
        # Their costs are rounded means, which cannot be compared number by number.
        few = few[~np.isin(few, problem.transition_costs.rows)]
    # Equal rows have equal keys, and become neighbours; the entries decide.
    order = few[np.lexsort((*costs[::-1, few], keys[few], lengths[few], state[few]))]
    while len(order) > 1:
        first, second = order[:-1], order[1:]
        equal = (state[first] == state[second]) & (lengths[first] == lengths[second])
        equal &= (costs[:, first] <= costs[:, second]).all(axis=0)
        pairs = np.flatnonzero(equal)
        pairs = pairs[_equal_entries(problem, first[pairs], second[pairs])]
        if len(pairs) == 0:
            break
        dominating[second[pairs]] = first[pairs]
        order = order[dominating[order] == UNDOMINATED]
    rows = np.flatnonzero(dominating != UNDOMINATED)
    while len(rows := rows[dominating[dominating[rows]] != UNDOMINATED]):
        dominating[rows] = dominating[dominating[rows]]
    return dominating


def _keys(problem: CSSP) -> FloatArray:
    """A number for each row, the same for rows with the same entries."""
    matrix = problem.transitions
    row = np.repeat(np.arange(problem.num_rows), np.diff(matrix.indptr))
    numbers = np.sin(1.0 + matrix.indices) * matrix.data
    return np.bincount(row, numbers, problem.num_rows).astype(np.float64)


def _with_equal_key(keys: FloatArray, state: IntArray) -> IntArray:
    """The rows whose key another row of their state has, too, and perhaps some more."""
    largest = float(np.max(np.abs(keys), initial=0.0))
    # One number for both, in which most rows are in order already.
    joined = state + 0.25 * keys / largest if 0.0 < largest < np.inf else state.astype(np.float64)
    order = np.argsort(joined, kind="stable")
    same = joined[order[1:]] == joined[order[:-1]]
    with_another = np.zeros(len(keys), dtype=np.bool_)
    with_another[order[1:][same]] = True
    with_another[order[:-1][same]] = True
    return np.flatnonzero(with_another)


def _equal_entries(problem: CSSP, first: IntArray, second: IntArray) -> BoolArray:
    """For each pair of rows of equal length, whether they lead to the same states with the same odds."""
    matrix = problem.transitions
    begins, lengths = matrix.indptr[first], np.diff(matrix.indptr)[first]
    pair = np.repeat(np.arange(len(first)), lengths)
    place = np.arange(len(pair)) - (np.cumsum(lengths) - lengths)[pair]
    here, there = begins[pair] + place, matrix.indptr[second][pair] + place
    differs = (matrix.indices[here] != matrix.indices[there]) | (matrix.data[here] != matrix.data[there])
    equal: BoolArray = np.bincount(pair[differs], minlength=len(first)) == 0
    return equal


def sizes_of(cssp: CSSP) -> tuple[Hashable, ...]:
    """What problems with equal arrays have in common, and is seen at once."""
    ends = int(np.argmax(cssp.initial)), int(np.argmax(cssp.goals))
    return cssp.transitions.shape, int(cssp.transitions.nnz), len(cssp.costs), ends


def are_alike(one: CSSP, other: CSSP) -> bool:
    """Whether two problems have equal arrays; ten times quicker than two digests."""
    return one is other or (np.array_equal(one.costs, other.costs) and have_same_moves(one, other))


def have_same_moves(one: CSSP, other: CSSP) -> bool:
    """Whether two problems differ in their costs at most, of which they have as many."""
    return one.costs.shape == other.costs.shape and all(map(np.array_equal, _moves(one), _moves(other)))


def digest_of(cssp: CSSP) -> bytes:
    """A digest of a problem's arrays."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (cssp.costs, *_moves(cssp)):
        digest.update(np.ascontiguousarray(part).data)
    return digest.digest()


def _moves(cssp: CSSP) -> tuple[npt.NDArray[Any], ...]:
    """The arrays of a problem but for its costs, those first that differ most often."""
    moves = cssp.transitions
    return moves.data, moves.indices, moves.indptr, cssp.row_start, cssp.initial, cssp.goals
