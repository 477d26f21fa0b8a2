"""The optimum over randomised policies: as a mixture, and as one stationary policy.

Feinberg's remark on C-SSPs: a mixture of deterministic policies, drawn once before the start, and the
stationary policy that takes each action as often as the mixture does have the same expected costs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.policy import DeterministicPolicy, RandomisedPolicy
from hcssp.dual.ascent import Dual
from hcssp.dual.oracle import Oracle
from hcssp.dual.vertex import V
from hcssp.evaluation.exact import evaluate


@dataclass(frozen=True)
class StochasticOptimum:
    """The optimum over randomised policies, which no deterministic policy can beat.

    Attributes
    ----------
    value
        Its expected primary cost: the dual's maximum and the LP's optimum.
    weights, policies, costs
        A mixture: before the start, draw a policy (one row index for each state) with these weights;
        `costs` holds each policy's expected costs, one row a policy, the primary first.
        :func:`stationary` turns it into one stationary randomised policy.
    """

    value: float
    weights: FloatArray
    policies: tuple[IntArray, ...]
    costs: FloatArray


def optimum_of(dual: Dual[V], oracle: Oracle[V]) -> StochasticOptimum:
    """The converged dual as a mixture of policies."""
    return StochasticOptimum(
        value=dual.bound,
        weights=dual.mixture,
        policies=tuple(oracle.lift(vertex) for vertex in dual.support),
        costs=np.array([vertex.costs for vertex in dual.support]),
    )


def stationary(problem: CSSP, optimum: StochasticOptimum) -> RandomisedPolicy:
    """The mixture as one stationary randomised policy of the flat `problem`.

    A state that no policy of the mixture visits has no probabilities.
    """
    flow = np.zeros(problem.num_rows)
    for weight, rows in zip(optimum.weights, optimum.policies, strict=True):
        visits = evaluate(problem, DeterministicPolicy(problem, rows)).visits
        states = np.flatnonzero((visits > 0.0) & ~problem.goals)
        flow[rows[states]] += weight * visits[states]
    through = np.bincount(problem.row_state, weights=flow, minlength=problem.num_states)
    owner = through[problem.row_state]
    return RandomisedPolicy(problem, np.divide(flow, owner, out=np.zeros_like(flow), where=owner > 0.0))
