"""The state of a dual ascent: what is known about the Lagrangian dual of a region, and how it is learnt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from hcssp.cssp.model import FloatArray
from hcssp.dual.oracle import Minimum, Oracle, Vertex
from hcssp.numerics import tolerated
from hcssp.ssp.region import Region

DUAL_TOLERANCE = 1e-9
"""The dual has converged once the model exceeds the certified bound by no more than this, relatively."""

FINER = 0.05
"""How precisely multipliers are solved: to this share of the distance between the model and the bound."""

ENOUGH = 0.02
"""Nor is it worth to raise a bound by less than this share of what is missing to the cutoff."""

MAX_ROUNDS = 2_000


@dataclass(frozen=True)
class Infeasibility:
    """A proof that no policy, not even a randomised one, keeps the bounds.

    Attributes
    ----------
    weights
        Non-negative weights of the constraints, summing to one.
    least
        The least achievable weighted sum of the expected secondary costs, which exceeds `allowed`.
    allowed
        The same weighted sum of the bounds.
    """

    weights: FloatArray
    least: float
    allowed: float


@dataclass
class Dual:
    """The state of a dual ascent in one region; all it claims holds at every moment.

    Attributes
    ----------
    bound
        The best certified lower bound; ``inf`` once the region is known to hold no feasible policy.
    prices
        The multipliers that gave it, one for each constraint.
    support, mixture
        The policies that carry the optimum and their weights; empty before the ascent has converged.
    vertices
        All policies of the region met so far.
    infeasibility
        The proof, if no policy of the region can keep the bounds.
    empty
        The region holds no proper policy at all.
    converged
        Whether the bound is the dual's maximum, up to the tolerance.
    """

    bound: float = -inf
    prices: FloatArray = field(default_factory=lambda: np.zeros(0))
    support: tuple[Vertex, ...] = ()
    mixture: FloatArray = field(default_factory=lambda: np.zeros(0))
    vertices: list[Vertex] = field(default_factory=list)
    infeasibility: Infeasibility | None = None
    empty: bool = False
    converged: bool = False

    @property
    def infeasible(self) -> bool:
        """Whether the region is known to hold no feasible policy."""
        return self.empty or self.infeasibility is not None


def explore(
    oracle: Oracle, region: Region, dual: Dual, prices: FloatArray, precision: float = 0.0
) -> Minimum | None:
    """Solve at `prices` to a relative `precision`, keep the policy met, raise the bound if it is higher."""
    near = dual.vertices[-1] if dual.vertices else None
    minimum = oracle.approximate(np.append(1.0, prices), region, precision, near)
    if minimum is None:
        dual.empty = True
        dual.bound = inf
        return None
    spent = prices > 0.0
    offset = float(prices[spent] @ tolerated(oracle.bounds)[spent])
    value = minimum.bound - offset
    # The subtraction loses digits where the multiplied bounds dwarf the value.
    value -= 4.0 * np.finfo(np.float64).eps * abs(offset)
    dual.vertices.append(minimum.vertex)
    if value > dual.bound:
        dual.bound = value
        dual.prices = prices
    return Minimum(minimum.vertex, value)


def enough(dual: Dual, cutoff: float) -> float:
    """The distance between the model and the bound at which the ascent may end."""
    missing = cutoff - dual.bound
    tolerance = DUAL_TOLERANCE * (1.0 + abs(dual.bound))
    return max(tolerance, ENOUGH * missing) if missing < inf else tolerance


def settle(dual: Dual, support: Sequence[Vertex], mixture: FloatArray) -> None:
    """Record that the ascent has converged to a mixture of policies."""
    dual.support = tuple(support)
    dual.mixture = mixture
    dual.converged = True


def refute(dual: Dual, oracle: Oracle, weights: FloatArray, least: Minimum | None) -> None:
    """Record that no policy of the region keeps the bounds under `weights`."""
    dual.bound = inf
    if least is None:
        dual.empty = True
        return
    used = weights > 0.0
    allowed = float(weights[used] @ oracle.bounds[used])
    dual.infeasibility = Infeasibility(weights, least.bound, allowed)


def repeats(dual: Dual) -> bool:
    """Whether the newest policy has the costs of one met before: nothing new is to be learnt from it."""
    newest = dual.vertices[-1].costs
    tolerance = 1e-13 * (1.0 + np.abs(newest))
    return any(bool(np.all(np.abs(old.costs - newest) <= tolerance)) for old in dual.vertices[:-1])
