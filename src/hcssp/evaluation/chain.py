r"""The Markov chain that a policy makes of a problem, and whether it reaches a goal almost surely.

Under a policy a problem is a Markov chain that is absorbed in the goals. It is absorbed almost surely if and
only if a goal can be reached from every state that the chain can enter. The graph of positive probabilities
decides that, by two breadth-first searches and without arithmetic.

There is one kind of chain, :class:`InducedChain`, and three ways to make it: :func:`induced_chain` of a C-SSP
and its policy, :func:`policy_chain` of the flat problem of a procedure's policy, :func:`activity_chain` of
one execution of one activity. :meth:`InducedChain.absorbed` solves it (:mod:`hcssp.cssp.absorption`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.absorption import Absorbed, absorb
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray, SparseMatrix
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy, RandomisedPolicy
from hcssp.cssp.reachability import closure
from hcssp.cssp.transition_costs import TransitionCosts
from hcssp.errors import CostOverflow, ImproperPolicy, InvalidProblem
from hcssp.procedure.flattening import stack_entries
from hcssp.procedure.policy import ProcedurePolicy

Policy = DeterministicPolicy | RandomisedPolicy

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


def policy_chain(policy: ProcedurePolicy) -> tuple[CSSP, Policy]:
    """The flat problem without the actions that `policy` does not take, and the policy there.

    Only the rows that the policy takes are read, so the flat problem with all its actions is never made.

    Returns
    -------
    tuple
        A C-SSP with the same states and costs, in which a state has the rows that the policy takes there, in
        the order of ``policy.taken``, and the policy on it.
    """
    problem, flattening = policy.problem, policy.problem.flattening
    rows, chances = policy.taken
    chosen = rows[rows < flattening.num_event_rows]
    first_rows = flattening.event_transitions[chosen]
    blocks = [(first_rows.data, first_rows.indices, first_rows.indptr)]
    costs = [flattening.event_costs[:, chosen]]
    paid: list[tuple[int, TransitionCosts | None]] = []
    first_row = len(chosen)
    for activity in range(problem.num_activities):
        first, last = np.searchsorted(rows, flattening.row_offset[activity : activity + 2])
        local = rows[first:last] - flattening.row_offset[activity]
        blocks.append(flattening.activity_entries(activity, local))
        costs.append(flattening.activity_costs(activity, local))
        paid.append((first_row, flattening.activity_transition_costs(activity, local)))
        first_row += len(local)
    row_start = np.searchsorted(rows, flattening.row_start)
    goals = np.zeros(flattening.num_states, dtype=np.bool_)
    goals[flattening.end] = True
    chain = CSSP.unchecked(
        transitions=stack_entries(blocks, flattening.num_states),
        row_start=row_start,
        costs=np.hstack(costs),
        initial=flattening.initial,
        goals=goals,
        cost_names=flattening.cost_names,
        bounds=problem.bounds,
        state_labels=flattening.state_labels,
        transition_costs=TransitionCosts.stacked(paid),
    )
    if policy.is_randomised:
        return chain, RandomisedPolicy(chain, chances)
    return chain, DeterministicPolicy(chain, np.where(np.diff(row_start) > 0, row_start[:-1], NO_ROW))


def activity_chain(policy: ProcedurePolicy, activity: int) -> InducedChain:
    """The chain of one execution of an activity, with the costs of the whole procedure."""
    problem, flattening = policy.problem, policy.problem.flattening
    cssp = problem.activities[activity].cssp
    first, last = flattening.state_offset[activity : activity + 2].tolist()
    own, rows = policy.rows[first:last], np.full(cssp.num_states, NO_ROW, dtype=np.int64)
    rows[~cssp.goals] = np.where(own == NO_ROW, NO_ROW, own - flattening.row_offset[activity])
    chain = induced_chain(cssp, DeterministicPolicy(cssp, rows))
    costs = np.zeros((1 + problem.num_constraints, cssp.num_states))
    costs[:, chain.acts] = flattening.activity_costs(activity, rows[chain.acts])
    return replace(chain, costs=costs)


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
    return induced_chain(problem, policy).is_proper


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
