r"""The Markov chain that a policy makes of a problem, and whether it reaches a goal almost surely.

Under a policy a problem is a Markov chain that is absorbed in the goals. It is absorbed almost surely if and
only if a goal can be reached from every state that the chain can enter. The graph of positive probabilities
decides that, by two breadth-first searches and without arithmetic.

There is one kind of chain, :class:`InducedChain`, for flat problems and for procedures: it has the rows
that the policy takes, so that the flat problem of a procedure, with all its actions, is never made.
:meth:`InducedChain.absorbed` solves it (:mod:`hcssp.evaluation.absorption`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray, SparseMatrix
from hcssp.cssp.policy import NO_ROW, RowPolicy
from hcssp.cssp.reachability import closure
from hcssp.errors import CostOverflow, ImproperPolicy, InvalidProblem
from hcssp.evaluation.absorption import Absorbed, absorb
from hcssp.procedure.model import HCSSP, Problem
from hcssp.procedure.policy import Policy, ProcedurePolicy

TOO_LATE = (
    "the policy reaches a goal almost surely, but so late that its expected costs are too large for double "
    "precision"
)


@dataclass(frozen=True, eq=False)
class InducedChain:
    """The chain of a policy.

    Attributes
    ----------
    problem
        The flat problem with no rows but those that the policy takes.
    rows, chances
        For each of these its number in the flat problem, and its probability in its state.
    """

    problem: CSSP
    rows: IntArray
    chances: FloatArray

    @cached_property
    def _is_randomised(self) -> bool:
        return bool((np.diff(self.problem.row_start) > 1).any())

    @cached_property
    def _choice(self) -> SparseMatrix:
        """The probability of each row in its state."""
        columns = np.arange(self.problem.num_rows)
        shape = (self.problem.num_states, self.problem.num_rows)
        return csr_array((self.chances, columns, self.problem.row_start), shape=shape)

    @cached_property
    def transitions(self) -> SparseMatrix:
        """Probabilities from state to state; goals and states without an action have empty rows."""
        rows = self.problem.transitions
        if self._is_randomised:
            rows = csr_array(self._choice @ rows)
            pointers = rows.indptr
        else:
            pointers = rows.indptr[self.problem.row_start]
        moves = csr_array((rows.data, rows.indices, pointers), shape=(self.problem.num_states,) * 2)
        if self._is_randomised or not moves.data.all():
            moves = moves.copy()
            moves.sum_duplicates()
            moves.eliminate_zeros()
        return moves

    @cached_property
    def costs(self) -> FloatArray:
        """The expected costs of a step from each state, one row a cost."""
        if self._is_randomised:
            return np.ascontiguousarray((self._choice @ self.problem.costs.T).T)
        costs = np.zeros((len(self.problem.costs), self.problem.num_states))
        costs[:, self.acts] = self.problem.costs
        return costs

    @cached_property
    def acts(self) -> BoolArray:
        """Where the policy has an action."""
        acts: BoolArray = np.diff(self.problem.row_start) > 0
        return acts

    @cached_property
    def reached(self) -> BoolArray:
        """Where the chain can go from the initial distribution, goals included."""
        return closure(self.transitions, self.problem.initial > 0.0)

    @cached_property
    def inner(self) -> IntArray:
        """The states that are reached and are no goals, ascending."""
        return np.flatnonzero(self.reached & ~self.problem.goals)

    @property
    def is_proper(self) -> bool:
        """Whether a goal is reached almost surely."""
        return not (self.stuck().any() or self.trapped().any())

    def stuck(self) -> BoolArray:
        """The states that are reached, are no goals, and have no action."""
        return self.reached & ~self.acts & ~self.problem.goals

    def trapped(self) -> BoolArray:
        """The states that are reached and from which no goal can be reached any more."""
        return self.reached & ~closure(self.transitions.T.tocsr(), self.problem.goals)

    def require_proper(self) -> None:
        """Raise :class:`ImproperPolicy`, naming a state, unless a goal is reached almost surely."""
        labels = self.problem.state_labels
        stuck = np.flatnonzero(self.stuck())
        if len(stuck):
            raise ImproperPolicy(
                f"the policy has no action in state {labels[int(stuck[0])]!r}, which it can enter"
                f"{_and_others(len(stuck))}; give it one"
            )
        trapped = np.flatnonzero(self.trapped())
        if len(trapped):
            raise ImproperPolicy(
                f"the policy cannot reach a goal from state {labels[int(trapped[0])]!r}, which it can enter"
                f"{_and_others(len(trapped))}; its expected costs are not finite"
            )

    def absorbed(self) -> Absorbed | None:
        """Visits and values of the inner states of a proper chain; None if there are no inner states.

        Raises
        ------
        CostOverflow
            If an expectation is too large for double precision.
        """
        if not len(self.inner):
            return None
        try:
            return absorb(self.transitions, self.inner, self.problem.initial, self.costs[:, self.inner])
        except OverflowError as error:
            raise CostOverflow(TOO_LATE) from error

    def remaining(self) -> FloatArray:
        """The expected costs-to-go; see :func:`hcssp.evaluation.exact.expected_remaining`."""
        self.require_proper()
        found = self.absorbed()
        remaining = np.full((len(self.problem.costs), self.problem.num_states), np.nan)
        remaining[:, self.problem.goals] = 0.0
        if found is not None:
            remaining[:, self.inner] = found.values.T
        return remaining

    def starting(self, initial: FloatArray) -> InducedChain:
        """The same chain from another distribution on."""
        return replace(self, problem=self.problem.derive(initial=initial))

    def paying(self, costs: FloatArray) -> InducedChain:
        """The same chain with other costs of its rows, of which any number may be counted."""
        names = tuple(map(str, range(len(costs))))
        problem = self.problem.derive(
            costs=costs, cost_names=names, bounds=np.full(len(costs) - 1, np.inf), transition_costs=None
        )
        return replace(self, problem=problem)


def induced_chain(problem: Problem, policy: Policy) -> InducedChain:
    """The Markov chain of `policy`.

    Raises
    ------
    InvalidProblem
        If the policy does not fit the problem; all misfits are listed together.
    """
    rows, chances = fitted(problem, policy).taken
    return InducedChain(problem.with_rows(rows), rows, chances)


def activity_chain(policy: ProcedurePolicy, activity: int) -> InducedChain:
    """The chain of one execution of an activity, with the costs of the whole procedure."""
    problem, flattening = policy.problem, policy.problem.flattening
    cssp = problem.activities[activity].cssp
    first, last = flattening.state_offset[activity : activity + 2].tolist()
    taken = policy.rows[first:last]
    rows = taken[taken != NO_ROW] - flattening.row_offset[activity]
    chain = InducedChain(cssp.with_rows(rows), rows, np.ones(len(rows)))
    return chain.paying(flattening.activity_costs(activity, rows))


def is_proper(problem: Problem, policy: Policy) -> bool:
    """Whether `policy` reaches a goal almost surely; decided on the graph, without arithmetic.

    >>> from hcssp.cssp.policy import DeterministicPolicy
    >>> leave_or_stay = CSSP(
    ...     transitions=csr_array(np.array([[0.0, 1.0], [1.0, 0.0]])), row_start=np.array([0, 2, 2]),
    ...     costs=np.ones((1, 2)), initial=np.array([1.0, 0.0]), goals=np.array([False, True]),
    ...     cost_names=("time",), bounds=np.zeros(0),
    ... )
    >>> is_proper(leave_or_stay, DeterministicPolicy(leave_or_stay, np.array([0, -1])))
    True
    >>> is_proper(leave_or_stay, DeterministicPolicy(leave_or_stay, np.array([1, -1])))
    False
    """
    return induced_chain(problem, policy).is_proper


def fitted(problem: Problem, policy: Policy) -> Policy:
    """The policy as one of `problem`, if it was made for another, such as the same under other bounds.

    Raises
    ------
    InvalidProblem
        If it does not fit.
    """
    kind = next((kind for kind in (CSSP, HCSSP) if isinstance(problem, kind)), None)
    if kind is None or not (isinstance(policy, RowPolicy) and isinstance(policy.problem, kind)):
        raise InvalidProblem(
            [
                f"a {type(policy).__name__} is not a policy of a {type(problem).__name__}; give a "
                "CSSP with a deterministic or randomised policy, or a procedure with a policy of a procedure"
            ]
        )
    return policy if policy.problem is problem else policy.under(problem)


def _and_others(count: int) -> str:
    return "" if count == 1 else f" (and {count - 1} more such states)"
