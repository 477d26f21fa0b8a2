"""What a policy costs, computed with more care where its rounding could matter.

A search knows the costs of a policy up to rounding, mostly to all digits but the last. Where a policy takes
very long, or lies on one of the bounds, that is not enough to say what it costs or whether it keeps them, and
the independent evaluation decides: it has all digits.
"""

from __future__ import annotations

import logging
from math import inf

import numpy as np

from hcssp.contract.memory import Problem
from hcssp.cssp.model import FloatArray
from hcssp.dual.oracle import Oracle
from hcssp.dual.vertex import V
from hcssp.errors import CostOverflow
from hcssp.evaluation.exact import evaluate
from hcssp.evaluation.records import Evaluation
from hcssp.numerics import COST_ROUNDING, REEVALUATION_SHARE, allowance, tolerated
from hcssp.procedure.model import HCSSP
from hcssp.procedure.policy import policy_of

logger = logging.getLogger(__name__)


def careful_evaluation(problem: Problem, oracle: Oracle[V], vertex: V) -> Evaluation | None:
    """The independent evaluation of a policy; None if its costs are beyond what numbers can hold.

    Parameters
    ----------
    problem, oracle
        The problem, and who met the policy.
    vertex
        The policy.
    """
    try:
        return evaluate(problem, policy_of(problem, oracle.lift(vertex)))
    except CostOverflow as error:
        logger.info("a policy is no incumbent: %s", error)
        return None


def is_limited(problem: Problem) -> bool:
    """Whether there are limits for each execution; only the evaluation knows which executions are made."""
    return isinstance(problem, HCSSP) and any(
        each.per is not None and each.at_most < inf for each in problem.constraints
    )


def is_doubtful(vertex: V, bounds: FloatArray) -> bool:
    """Whether rounding may hide what a policy costs, or on which side of a bound it lies."""
    # How often a policy goes where tells it more precisely, but that takes as long as to evaluate it.
    return _leaves_doubt(vertex, bounds, vertex.rounding_at_most) and _leaves_doubt(
        vertex, bounds, vertex.rounding
    )


def _leaves_doubt(vertex: V, bounds: FloatArray, rounding: FloatArray) -> bool:
    if rounding[0] > COST_ROUNDING * vertex.costs[0]:
        return True
    # Between keeping a bound for sure and breaking it, there is what the evaluation decides.
    distance = np.abs(vertex.costs[1:] - tolerated(bounds))
    left = (1.0 - REEVALUATION_SHARE) * allowance(bounds)
    return bool(np.any(np.isfinite(bounds) & (distance <= np.maximum(rounding[1:], left))))
