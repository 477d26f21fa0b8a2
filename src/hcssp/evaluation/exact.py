r"""Exact expected costs and expected visits of a policy, by code that no solver uses.

Problem: given a policy, its expected costs :math:`\mathbb{E}[\sum C_i]` until a goal and the expected
number of visits to each state.

Method: whether a goal is reached almost surely is decided on the graph, and so is whether a cost is 0. With
:math:`Q` the chain's probabilities among the states that are reached and are no goals, and :math:`\mu` the
initial distribution, the visits solve :math:`x = \mu + Q^\top x`; the costs are :math:`x \cdot C_i`.
:mod:`hcssp.cssp.absorption` does it without a subtraction that matters: a policy that needs 1e15 steps is
evaluated as precisely as one that needs ten. Probabilities that sum to one but for rounding are proportions.

A procedure's policy is evaluated on the flat states in the same way, from the rows that it uses and no
others; an activity's share is the sum over its states of expected visits times cost. Large ones are evaluated
activity by activity, see :mod:`hcssp.evaluation.by_activity`.

Guarantee: :attr:`Evaluation.residual` says how far off the costs may be, relatively.

>>> import numpy as np
>>> from scipy.sparse import csr_array
>>> from hcssp.cssp.model import CSSP
>>> from hcssp.cssp.policy import DeterministicPolicy
>>> risky = CSSP(
...     transitions=csr_array(np.array([[0.0, 1.0], [0.5, 0.5]])), row_start=np.array([0, 2, 2]),
...     costs=np.array([[3.0, 1.0], [0.0, 4.0]]), initial=np.array([1.0, 0.0]),
...     goals=np.array([False, True]), cost_names=("time", "damage"), bounds=np.array([1.0]),
... )
>>> answer = evaluate(risky, DeterministicPolicy(risky, np.array([1, -1])))
>>> answer.cost("time"), answer.cost("damage"), answer.visits.tolist()
(2.0, 8.0, [2.0, 1.0])
>>> answer.keeps_bounds(), answer.violations()
(False, {'damage': 7.0})
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import overload

import numpy as np

from hcssp.cssp.absorption import Absorbed, absorb
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy, RandomisedPolicy
from hcssp.errors import CostOverflow
from hcssp.evaluation import by_activity
from hcssp.evaluation.by_activity import Composed
from hcssp.evaluation.chain import InducedChain, Policy, induced_chain, mismatch
from hcssp.evaluation.records import ActivityEvaluation, Evaluation, LimitEvaluation, ProcedureEvaluation
from hcssp.procedure.chain import policy_chain
from hcssp.procedure.executions import executions_from_visits, expected_executions
from hcssp.procedure.limits import enters
from hcssp.procedure.model import HCSSP
from hcssp.procedure.policy import ProcedurePolicy

TOO_LATE = (
    "the policy reaches a goal almost surely, but so late that its expected costs are too large for double "
    "precision"
)

_KEPT = "_evaluation"
"""Where a policy keeps what it costs; it is neither compared nor pickled."""


@overload
def evaluate(problem: CSSP, policy: Policy) -> Evaluation: ...
@overload
def evaluate(problem: HCSSP, policy: ProcedurePolicy) -> ProcedureEvaluation: ...
@overload
def evaluate(problem: CSSP | HCSSP, policy: Policy | ProcedurePolicy) -> Evaluation: ...
def evaluate(problem: CSSP | HCSSP, policy: Policy | ProcedurePolicy) -> Evaluation:
    """The exact expected costs and visits of `policy`.

    Parameters
    ----------
    problem
        A C-SSP or a procedure; bounds are compared with its own.
    policy
        A policy of that problem, or of the same under other bounds. That of a procedure is also evaluated
        activity by activity.

    Raises
    ------
    ImproperPolicy
        If a goal is not reached almost surely; the message names a trapped state, or a state that is
        reached and has no action.
    CostOverflow
        If a goal is reached, but so late that the expected costs are beyond double precision.
    InvalidProblem
        If the policy does not fit the problem.
    """
    if isinstance(problem, HCSSP) and isinstance(policy, ProcedurePolicy):
        return _of_procedure_once(policy if policy.problem is problem else policy.under(problem))
    if isinstance(problem, CSSP) and isinstance(policy, DeterministicPolicy | RandomisedPolicy):
        return _of_chain(induced_chain(problem, policy))
    raise mismatch(problem, policy)


def _of_procedure_once(policy: ProcedurePolicy) -> ProcedureEvaluation:
    """As :func:`_of_procedure`; neither a policy nor its problem ever changes, so the answer is kept."""
    known = policy.__dict__.get(_KEPT)
    if not isinstance(known, ProcedureEvaluation):
        known = policy.__dict__[_KEPT] = _of_procedure(policy)
    return known


def _of_procedure(policy: ProcedurePolicy) -> ProcedureEvaluation:
    """What the policy costs, and each activity's share."""
    problem = policy.problem
    found = _in_parts(policy) or _at_once(policy)
    activities = []
    for index, activity in enumerate(problem.activities):
        share = found.shares[index]
        usage = {
            constraint.name: float(share[1 + position])
            for position, constraint in enumerate(problem.constraints)
            if index in constraint.counts
        }
        executions = float(found.executions[index])
        activities.append(ActivityEvaluation(activity.name, executions, float(share[0]), usage))
    for array in (found.costs, found.visits):
        array.flags.writeable = False
    return ProcedureEvaluation(
        found.costs,
        problem.flattening.cost_names,
        problem.bounds,
        found.visits,
        found.error,
        tuple(activities),
        tuple(_limits(policy, found.visits, activities)),
    )


def _in_parts(policy: ProcedurePolicy) -> Composed | None:
    """What a policy of a large procedure is composed of; None if it is another one, or does not end."""
    flattening = policy.problem.flattening
    large = flattening.num_states > by_activity.MIN_STATES * policy.problem.num_activities
    if not (flattening.separable and large):
        return None
    with _telling_overflow():
        return by_activity.composed(policy)


def _at_once(policy: ProcedurePolicy) -> Composed:
    """The same of any policy, from its chain on the flat states."""
    flattening = policy.problem.flattening
    chain, only_policy = policy_chain(policy)
    whole = _of_chain(induced_chain(chain, only_policy))
    # Row by row of the chain: the visits to its state times its costs.
    spent = chain.costs * whole.visits[policy.rows != NO_ROW]
    if flattening.separable:
        # The choices alone decide, and a system of a few events is solved without the noise of many states.
        executions = expected_executions(policy)
    else:
        executions = executions_from_visits(policy, whole.visits)
    firsts = chain.row_start[flattening.state_offset]
    shares = [spent[:, first:last].sum(axis=1) for first, last in pairwise(firsts.tolist())]
    return Composed(whole.costs, whole.visits, whole.residual, executions, shares)


def _limits(
    policy: ProcedurePolicy, visits: FloatArray, activities: Sequence[ActivityEvaluation]
) -> Iterator[LimitEvaluation]:
    """What each use that has a limit costs, execution by execution."""
    problem, flattening = policy.problem, policy.problem.flattening
    for constraint in problem.constraints:
        # A part of a procedure keeps the constraint of a limit, but not the uses.
        if constraint.per is None or not problem.uses:
            continue
        use = problem.uses[constraint.per.use]
        executions = sum(
            float(visits[flattening.event_state(event, entry)]) * outcome.probability
            for (event, entry), choice in policy.choices.items()
            for outcome in problem.choices[choice].outcomes
            if outcome.runs is None and enters(use, event, outcome.event)
        )
        usage = sum(activities[index].usage[constraint.name] for index in constraint.counts)
        limit, carried = constraint.limit, constraint.per.carried
        yield LimitEvaluation(constraint.name, use.name, limit, executions, usage, carried)


def _of_chain(chain: InducedChain) -> Evaluation:
    chain.require_proper()
    problem = chain.problem
    inner = np.flatnonzero(chain.reached & ~problem.goals)
    visits = np.where(problem.goals, problem.initial, 0.0)
    costs = np.zeros(len(problem.cost_names))
    residual = 0.0
    if len(inner):
        found = _absorbed(chain, inner)
        visits[inner] = found.visits
        visits += found.ends
        costs, residual = found.totals, found.error
    for array in (costs, visits):
        array.flags.writeable = False
    return Evaluation(costs, problem.cost_names, problem.bounds, visits, residual)


class Remaining:
    """What is still to come, in expectation, from each state until a goal.

    Parameters
    ----------
    problem, policy
        As for :func:`expected_remaining`.

    Attributes
    ----------
    costs
        As :func:`expected_remaining` gives them.
    """

    def __init__(self, problem: CSSP, policy: Policy) -> None:
        chain = induced_chain(problem, policy)
        chain.require_proper()
        self._goals, self._inner = problem.goals, np.flatnonzero(chain.reached & ~problem.goals)
        self._found = _absorbed(chain, self._inner) if len(self._inner) else None
        values = np.zeros((0, len(problem.costs))) if self._found is None else self._found.values
        self.costs: FloatArray = self._everywhere(values.T)

    def of(self, spent: FloatArray) -> FloatArray:
        """The same of another cost, `spent` by a step from each state, but rounded as equations are."""
        values = np.zeros(0) if self._found is None else self._found.values_of(spent[self._inner])
        return self._everywhere(values)

    def _everywhere(self, values: FloatArray) -> FloatArray:
        everywhere = np.full((*values.shape[:-1], len(self._goals)), np.nan)
        everywhere[..., self._goals] = 0.0
        everywhere[..., self._inner] = values
        return everywhere


def expected_remaining(problem: CSSP, policy: Policy) -> FloatArray:
    """What is still to come, in expectation, from each state until a goal.

    Returns
    -------
    FloatArray
        One row a cost, one column a state; nought at goals, not a number where the policy never goes.

    Raises
    ------
    ImproperPolicy, CostOverflow, InvalidProblem
        As for :func:`evaluate`.
    """
    return Remaining(problem, policy).costs


def expected_to_come(policy: ProcedurePolicy, states: Sequence[int]) -> FloatArray:
    """As :func:`expected_remaining`, of a separable procedure and from some flat states only, a row each.

    Raises
    ------
    CostOverflow
        As for :func:`evaluate`.
    """
    with _telling_overflow():
        return by_activity.to_come(policy, states)


def _absorbed(chain: InducedChain, inner: IntArray) -> Absorbed:
    with _telling_overflow():
        return absorb(chain.transitions, inner, chain.problem.initial, chain.costs[:, inner])


@contextmanager
def _telling_overflow() -> Iterator[None]:
    """Tell users what an overflow below means to them."""
    try:
        yield
    except OverflowError as error:
        raise CostOverflow(TOO_LATE) from error
