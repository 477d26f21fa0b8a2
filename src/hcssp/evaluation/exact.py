r"""Exact expected costs and expected visits of a policy, by code that no solver uses.

Problem: given a policy, its expected costs :math:`\mathbb{E}[\sum C_i]` until a goal and the expected
number of visits to each state.

Method: with :math:`Q` the chain's probabilities among the states that are reached and are no goals,
and :math:`\mu` the initial distribution, the visits solve :math:`x = \mu + Q^\top x`; the costs are
:math:`x \cdot C_i`. The matrix :math:`I - Q^\top` is a column diagonally dominant M-matrix, so one
sparse LU without pivoting is stable and may order for little fill. The answer is refined on its
residual, and then computed a second time from the other side: the values :math:`V_i = C_i + Q V_i`
give the same costs as :math:`\mu \cdot V_i`.

A procedure's policy is evaluated on the flat states in the same way, from the rows that it uses and no
others; an activity's share is the sum over its states of expected visits times cost.

Guarantee: :attr:`Evaluation.residual` is the largest relative difference between those two answers.

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

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from scipy.sparse import csc_array, csr_array, eye_array
from scipy.sparse.linalg import splu

from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy, RandomisedPolicy
from hcssp.errors import ImproperPolicy, InvalidProblem
from hcssp.evaluation.chain import InducedChain, Policy, induced_chain, mismatch
from hcssp.numerics import FEASIBILITY_TOLERANCE, allowance
from hcssp.procedure.chain import policy_chain
from hcssp.procedure.executions import executions_from_visits, expected_executions
from hcssp.procedure.model import HCSSP
from hcssp.procedure.policy import ProcedurePolicy

_MAX_REFINEMENTS = 3
_WANTED_RESIDUAL = 4 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a policy costs, exactly.

    Attributes
    ----------
    costs
        The expected sum of each cost, the primary first.
    cost_names
        Their names.
    bounds
        The bound of each secondary cost; ``inf`` where there is none.
    visits
        The expected number of visits to each state; for a goal, the probability of ending there.
    residual
        The largest relative difference between the costs computed from the visits and from the values.
    """

    costs: FloatArray
    cost_names: tuple[str, ...]
    bounds: FloatArray
    visits: FloatArray
    residual: float

    def cost(self, name: str) -> float:
        """The expected sum of the cost called `name`."""
        if name not in self.cost_names:
            known = ", ".join(repr(known) for known in self.cost_names)
            raise InvalidProblem([f"there is no cost {name!r}; the costs are {known}"])
        return float(self.costs[self.cost_names.index(name)])

    def violations(self, tolerance: float = FEASIBILITY_TOLERANCE) -> dict[str, float]:
        """By how much each broken bound is exceeded; empty if all are kept.

        Parameters
        ----------
        tolerance
            A bound is kept if it is exceeded by no more than this, relative to ``max(1, |bound|)``.
        """
        excess = self.costs[1:] - self.bounds
        allowed = allowance(self.bounds, tolerance)
        return {
            self.cost_names[1 + index]: float(excess[index])
            for index in np.flatnonzero(np.isfinite(self.bounds) & ~(excess <= allowed))
        }

    def keeps_bounds(self, tolerance: float = FEASIBILITY_TOLERANCE) -> bool:
        """Whether every bound is kept, up to `tolerance` as in :meth:`violations`."""
        return not self.violations(tolerance)


@dataclass(frozen=True)
class ActivityEvaluation:
    """What one activity contributes to the expected costs of the whole.

    Attributes
    ----------
    name
        The activity's name.
    expected_executions
        How often it is executed, in expectation.
    cost
        Its share of the expected primary cost, all executions together.
    usage
        Its share of each constraint that counts it, by the constraint's name.
    """

    name: str
    expected_executions: float
    cost: float
    usage: Mapping[str, float]

    @property
    def cost_per_execution(self) -> float | None:
        """The expected primary cost of one execution; None if it is never executed."""
        return self.cost / self.expected_executions if self.expected_executions else None

    @property
    def usage_per_execution(self) -> dict[str, float] | None:
        """What one execution uses of each constraint, in expectation; None if it is never executed."""
        if not self.expected_executions:
            return None
        return {name: used / self.expected_executions for name, used in self.usage.items()}


@dataclass(frozen=True, eq=False)
class ProcedureEvaluation(Evaluation):
    """What a procedure's policy costs: as for a single problem's, and activity by activity.

    The costs are the primary and one for each constraint, called by its name; `visits` are those of the
    flat states, the event states first.

    Attributes
    ----------
    activities
        One for each activity of the problem, in its order.
    """

    activities: tuple[ActivityEvaluation, ...]

    def activity(self, name: str) -> ActivityEvaluation:
        """What the activity called `name` contributes."""
        for activity in self.activities:
            if activity.name == name:
                return activity
        known = ", ".join(repr(activity.name) for activity in self.activities)
        raise InvalidProblem([f"there is no activity {name!r}; the activities are {known}"])


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
    InvalidProblem
        If the policy does not fit the problem.
    """
    if isinstance(problem, HCSSP) and isinstance(policy, ProcedurePolicy):
        return _of_procedure(policy if policy.problem is problem else policy.under(problem))
    if isinstance(problem, CSSP) and isinstance(policy, DeterministicPolicy | RandomisedPolicy):
        return _of_chain(induced_chain(problem, policy))
    raise mismatch(problem, policy)


def _of_procedure(policy: ProcedurePolicy) -> ProcedureEvaluation:
    """The policy's chain on the flat states, and each activity's share."""
    problem, flattening = policy.problem, policy.problem.flattening
    chain, only_policy = policy_chain(policy)
    whole = _of_chain(induced_chain(chain, only_policy))
    # Row by row of the chain: the visits to its state times its costs.
    spent = chain.costs * whole.visits[policy.rows != NO_ROW]
    if flattening.separable:
        # The choices alone decide, and a system of a few events is solved without the noise of many states.
        executions = expected_executions(policy)
    else:
        executions = executions_from_visits(policy, whole.visits)
    activities = []
    for index, activity in enumerate(problem.activities):
        first, last = chain.row_start[flattening.state_offset[index : index + 2]]
        share = spent[:, first:last].sum(axis=1)
        usage = {
            constraint.name: float(share[1 + position])
            for position, constraint in enumerate(problem.constraints)
            if index in constraint.counts
        }
        activities.append(ActivityEvaluation(activity.name, float(executions[index]), float(share[0]), usage))
    return ProcedureEvaluation(
        whole.costs, whole.cost_names, whole.bounds, whole.visits, whole.residual, tuple(activities)
    )


def _of_chain(chain: InducedChain) -> Evaluation:
    chain.require_proper()
    problem = chain.problem
    inner = np.flatnonzero(chain.reached & ~problem.goals)
    visits = np.where(problem.goals, problem.initial, 0.0)
    costs = np.zeros(len(problem.cost_names))
    residual = 0.0
    if len(inner):
        visits[inner], values = _visits_and_values(chain, inner)
        visits[problem.goals] += (chain.transitions.T @ visits)[problem.goals]
        costs = chain.costs[:, inner] @ visits[inner]
        forwards = problem.initial[inner] @ values
        residual = float(np.max(np.abs(costs - forwards) / np.maximum(1.0, np.abs(costs))))
    for array in (costs, visits):
        array.flags.writeable = False
    return Evaluation(costs, problem.cost_names, problem.bounds, visits, residual)


def expected_remaining(problem: CSSP, policy: Policy) -> FloatArray:
    """What is still to come, in expectation, from each state until a goal.

    Returns
    -------
    FloatArray
        One row a cost, one column a state; nought at goals, not a number where the policy never goes.

    Raises
    ------
    ImproperPolicy, InvalidProblem
        As for :func:`evaluate`.
    """
    chain = induced_chain(problem, policy)
    chain.require_proper()
    remaining = np.full((len(problem.cost_names), problem.num_states), np.nan)
    remaining[:, problem.goals] = 0.0
    inner = np.flatnonzero(chain.reached & ~problem.goals)
    if len(inner):
        _, factors = _factorised(chain, inner)
        remaining[:, inner] = factors.solve(np.ascontiguousarray(chain.costs[:, inner].T), trans="T").T
    return remaining


def _visits_and_values(chain: InducedChain, inner: IntArray) -> tuple[FloatArray, FloatArray]:
    """The visits ``x = mu + Q^T x`` and the values ``V = C + Q V`` on the states `inner`."""
    transposed, factors = _factorised(chain, inner)
    initial = chain.problem.initial[inner]
    visits = factors.solve(initial)
    for _ in range(_MAX_REFINEMENTS):
        remainder = initial - transposed @ visits
        if not np.max(np.abs(remainder)) > _WANTED_RESIDUAL * np.max(visits):
            break
        visits = visits + factors.solve(remainder)
    if not np.all(np.isfinite(visits)):
        raise ImproperPolicy(
            "the policy's expected visits overflow double precision; a goal is reached too seldom"
        )
    values = factors.solve(np.ascontiguousarray(chain.costs[:, inner].T), trans="T")
    # Rounding can leave a visit a hair below zero.
    return np.maximum(visits, 0.0), values


def _factorised(chain: InducedChain, inner: IntArray) -> tuple[csc_array, Any]:
    """The matrix ``I - Q^T`` for the probabilities among the states `inner`, and its factors."""
    # One expression, so that no step towards the matrix is kept while it is factorised.
    system = csr_array(eye_array(len(inner), format="csr") - csr_array(chain.transitions[inner])[:, inner])
    # The CSR arrays of I - Q are the CSC arrays of its transpose: nothing is copied.
    transposed = csc_array(
        (system.data, system.indices.astype(np.int32, copy=False), system.indptr.astype(np.int32)),
        shape=system.shape,
    )
    try:
        # Without pivoting a symmetric ordering has 2-3 times less fill than COLAMD on grids; with so little
        # fill, wide panels are mostly zeros.
        factors: Any = splu(
            transposed,
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            panel_size=4,
            options={"SymmetricMode": True},
        )
    except RuntimeError as singular:
        raise ImproperPolicy(
            "the policy reaches a goal with a probability too small for double precision; "
            "its expected costs cannot be computed"
        ) from singular
    return transposed, factors
