"""What is proven about a problem: an interval around its optimum, or that nothing keeps its bounds.

The status follows from the proof alone, whatever the reason for stopping was.

>>> Interval(99.99995, 100.0).status, Interval(99.0, 100.0).status, Interval(99.0).status
(<Status.OPTIMAL: 'optimal'>, <Status.FEASIBLE: 'feasible'>, <Status.UNKNOWN: 'unknown'>)
>>> Infeasible().status
<Status.INFEASIBLE: 'infeasible'>
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf, isfinite

import numpy as np

from hcssp.dual.ascent import Infeasibility
from hcssp.numerics import OPTIMALITY_TOLERANCE, relative_gap


class Status(StrEnum):
    """What is proven, whatever the reason for stopping."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Interval:
    """The optimum over deterministic policies lies between two bounds; the upper one is a plan's cost."""

    lower_bound: float = -inf
    upper_bound: float = inf

    @property
    def gap(self) -> float:
        """The relative gap, ``inf`` while either bound is unknown."""
        return relative_gap(self.lower_bound, self.upper_bound)

    @property
    def status(self) -> Status:
        """Optimal once the gap is at most :data:`~hcssp.numerics.OPTIMALITY_TOLERANCE`."""
        if not isfinite(self.upper_bound):
            return Status.UNKNOWN
        return Status.OPTIMAL if self.gap <= OPTIMALITY_TOLERANCE else Status.FEASIBLE


@dataclass(frozen=True)
class Infeasible:
    """No deterministic policy keeps the bounds.

    Attributes
    ----------
    weights
        Weights of the constraints under which even randomised policies use too much; None if the proof is
        a complete search.
    """

    weights: Infeasibility | None = None

    lower_bound = inf
    upper_bound = inf
    gap = inf
    status = Status.INFEASIBLE

    def explain(self, names: Sequence[str]) -> str:
        """Why nothing is feasible, for people, with the least achievable value of the offending cost."""
        proof = self.weights
        if proof is None:
            return "no deterministic policy keeps the bounds (proved by search)"
        used = np.flatnonzero(proof.weights > 0.0).tolist()
        if len(used) == 1:
            name, weight = names[used[0]], proof.weights[used[0]]
            # The proof allows for rounding and may fall a hair below zero, which no expected cost can.
            least = max(0.0, proof.least / weight)
            return (
                f"no policy keeps the bound on {name!r}: the least achievable {name} is {least:.9g}, "
                f"above the bound {proof.allowed / weight:.9g}; raise the bound"
            )
        terms = " + ".join(f"{proof.weights[k]:.6g} * {names[k]}" for k in used)
        return (
            f"no policy keeps the bounds together: the least achievable {terms} is {proof.least:.9g}, "
            f"above what the bounds allow, {proof.allowed:.9g}; raise one of them"
        )


Proof = Interval | Infeasible
