r"""The Markov chain that a policy makes of a C-SSP, and whether it reaches a goal almost surely.

Under a policy the problem is a Markov chain absorbed in the goals. It is absorbed almost surely if and
only if a goal can be reached from every state that the chain can enter: a question about the graph of
positive probabilities alone, answered by two breadth-first searches and no arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray, SparseMatrix
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy, RandomisedPolicy
from hcssp.cssp.reachability import closure
from hcssp.errors import ImproperPolicy, InvalidProblem

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
    policy = fitted(problem, policy)
    if isinstance(policy, DeterministicPolicy):
        acts = policy.rows != NO_ROW
        transitions = _rows_by_state(problem, policy.rows[acts], acts)
        costs = np.zeros((len(problem.costs), problem.num_states))
        costs[:, acts] = problem.costs[:, policy.rows[acts]]
    else:
        probabilities = policy.probabilities
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


def _rows_by_state(problem: CSSP, taken: IntArray, acts: BoolArray) -> SparseMatrix:
    """The probabilities of the rows `taken`, one for each state that `acts`; the others lead nowhere."""
    rows = problem.transitions
    # A problem made for one policy has no other rows, and nothing need be copied.
    if len(taken) < problem.num_rows or not rows.data.all():
        rows = csr_array(rows[taken])
        rows.sum_duplicates()
        rows.eliminate_zeros()
    before = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(acts)])
    return csr_array((rows.data, rows.indices, rows.indptr[before]), shape=(problem.num_states,) * 2)


def is_proper(problem: CSSP, policy: Policy) -> bool:
    """Whether `policy` reaches a goal almost surely; decided on the graph, without arithmetic.

    >>> from hcssp.cssp.model import CSSP
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
    chain = induced_chain(problem, policy)
    return not (chain.stuck().any() or chain.trapped().any())


def mismatch(problem: object, policy: object) -> InvalidProblem:
    """What to raise if a policy is given with a problem of another kind."""
    return InvalidProblem(
        [
            f"a {type(policy).__name__} is no policy of a {type(problem).__name__}; give a CSSP with a "
            "deterministic or randomised policy, or a procedure with one of its own"
        ]
    )


def fitted(problem: CSSP, policy: Policy) -> Policy:
    """The policy as one of `problem`, if it was made for another, such as the same under other bounds.

    Raises
    ------
    InvalidProblem
        If it does not fit.
    """
    if not isinstance(problem, CSSP) or not isinstance(policy, DeterministicPolicy | RandomisedPolicy):
        raise mismatch(problem, policy)
    if policy.problem is problem:
        return policy
    if isinstance(policy, DeterministicPolicy):
        return DeterministicPolicy(problem, policy.rows)
    return RandomisedPolicy(problem, policy.probabilities)


def _and_others(count: int) -> str:
    return "" if count == 1 else f" (and {count - 1} more such states)"
