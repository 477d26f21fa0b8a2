r"""The Markov chain that a policy makes of a C-SSP, and whether it reaches a goal almost surely.

Under a policy the problem is a Markov chain absorbed in the goals. It is absorbed almost surely if and
only if a goal can be reached from every state that the chain can enter: a question about the graph of
positive probabilities alone, answered by two breadth-first searches and no arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, BoolArray, FloatArray, SparseMatrix
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy, RandomisedPolicy
from hcssp.cssp.reachability import closure
from hcssp.errors import ImproperPolicy, InvalidProblem
from hcssp.numerics import PROBABILITY_TOLERANCE

_VIOLATIONS_SHOWN = 10

Policy = DeterministicPolicy | RandomisedPolicy


@dataclass(frozen=True, eq=False)
class InducedChain:
    """The chain of a policy.

    Attributes
    ----------
    problem
        The problem the policy is for.
    transitions
        Probabilities from state to state; goals and states without an action have empty rows.
    costs
        The expected costs of a step from each state, one row a cost.
    acts
        Where the policy has an action.
    reached
        Where the chain can go from the initial distribution, goals included.
    """

    problem: CSSP
    transitions: SparseMatrix
    costs: FloatArray
    acts: BoolArray
    reached: BoolArray

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


def induced_chain(problem: CSSP, policy: Policy) -> InducedChain:
    """The Markov chain of `policy`.

    Raises
    ------
    InvalidProblem
        If the policy does not fit the problem; all misfits are listed together.
    """
    if isinstance(policy, DeterministicPolicy):
        rows = checked_rows(problem, policy)
        acts = rows != NO_ROW
        taken = rows[acts]
        indptr = np.zeros(problem.num_states + 1, dtype=np.int64)
        np.cumsum(acts, out=indptr[1:])
        shape = (problem.num_states, problem.num_rows)
        choice = csr_array((np.ones(len(taken)), taken, indptr), shape=shape)
    else:
        probabilities = checked_probabilities(problem, policy)
        shape = (problem.num_states, problem.num_rows)
        columns = np.arange(problem.num_rows)
        choice = csr_array((probabilities.copy(), columns, problem.row_start.copy()), shape=shape)
        choice.eliminate_zeros()
        acts = np.diff(choice.indptr) > 0
    transitions = csr_array(choice @ problem.transitions)
    transitions.sum_duplicates()
    transitions.eliminate_zeros()
    costs = np.ascontiguousarray((choice @ problem.costs.T).T)
    reached = closure(transitions, problem.initial > 0.0)
    return InducedChain(problem, transitions, costs, acts, reached)


def is_proper(problem: CSSP, policy: Policy) -> bool:
    """Whether `policy` reaches a goal almost surely; decided on the graph, without arithmetic.

    >>> from hcssp.cssp.model import CSSP
    >>> leave_or_stay = CSSP(
    ...     transitions=csr_array(np.array([[0.0, 1.0], [1.0, 0.0]])), row_start=np.array([0, 2, 2]),
    ...     costs=np.ones((1, 2)), initial=np.array([1.0, 0.0]), goals=np.array([False, True]),
    ...     cost_names=("time",), bounds=np.zeros(0),
    ... )
    >>> is_proper(leave_or_stay, DeterministicPolicy(np.array([0, -1])))
    True
    >>> is_proper(leave_or_stay, DeterministicPolicy(np.array([1, -1])))
    False
    """
    chain = induced_chain(problem, policy)
    return not (chain.stuck().any() or chain.trapped().any())


def checked_rows(problem: CSSP, policy: DeterministicPolicy) -> npt.NDArray[np.int64]:
    """The policy's rows, once they are known to be rows of their states.

    Raises
    ------
    InvalidProblem
        Naming each state whose row is not its own.
    """
    rows = np.asarray(policy.rows, dtype=np.int64)
    if rows.shape != (problem.num_states,):
        raise InvalidProblem(
            [
                f"the policy has rows of shape {rows.shape}, but the problem has "
                f"{problem.num_states} states; give one a state"
            ]
        )
    own = (rows >= problem.row_start[:-1]) & (rows < problem.row_start[1:])
    wrong = np.flatnonzero(~own & (rows != NO_ROW))
    if len(wrong):
        raise InvalidProblem(
            f"state {problem.state_labels[int(state)]!r}: the policy takes row {rows[state]}, but its "
            f"rows are {problem.row_start[state]} to {problem.row_start[state + 1] - 1} ({NO_ROW} for none)"
            for state in wrong[:_VIOLATIONS_SHOWN]
        )
    return rows


def checked_probabilities(problem: CSSP, policy: RandomisedPolicy) -> FloatArray:
    """The policy's probabilities, once they are known to be such.

    Raises
    ------
    InvalidProblem
        Naming each state whose probabilities are negative, not numbers, or sum to neither one nor zero.
    """
    probabilities = np.asarray(policy.probabilities, dtype=np.float64)
    if probabilities.shape != (problem.num_rows,):
        raise InvalidProblem(
            [
                f"the policy has probabilities of shape {probabilities.shape}, but the problem has "
                f"{problem.num_rows} rows; give one a row"
            ]
        )
    wrong_rows = np.flatnonzero(~(probabilities >= 0.0))
    sums = np.bincount(problem.row_state, weights=probabilities, minlength=problem.num_states)
    wrong_sums = np.flatnonzero(~((np.abs(sums - 1.0) <= PROBABILITY_TOLERANCE) | (sums == 0.0)))
    violations = [
        f"state {problem.state_labels[int(problem.row_state[row])]!r}, "
        f"action {problem.action_labels[int(row)]!r}: probability {probabilities[row]} "
        "is not a non-negative number"
        for row in wrong_rows[:_VIOLATIONS_SHOWN]
    ] + [
        f"state {problem.state_labels[int(state)]!r}: the policy's probabilities sum to {sums[state]}, not 1 "
        "(or 0 where it never goes)"
        for state in wrong_sums[:_VIOLATIONS_SHOWN]
    ]
    if violations:
        raise InvalidProblem(violations)
    return probabilities


def _and_others(count: int) -> str:
    return "" if count == 1 else f" (and {count - 1} more such states)"
