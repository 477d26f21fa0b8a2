"""What a solver answers: what is proven, why it stopped, and a policy evaluated independently.

The result separates *what is proven* (:class:`Status` and both bounds) from *why it stopped*, and
claims nothing by default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import Any, NamedTuple

from hcssp.dual.ascent import Infeasibility
from hcssp.dual.stochastic import StochasticOptimum
from hcssp.errors import NoSolution
from hcssp.numerics import relative_gap


class Status(StrEnum):
    """What is proven, whatever the reason for stopping."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


class TracePoint(NamedTuple):
    """The proven interval at one instant."""

    seconds: float
    lower_bound: float
    upper_bound: float


@dataclass(frozen=True)
class Result:
    """The frozen answer of every solver.

    Attributes
    ----------
    status
        What is proven about the problem.
    stopped_by
        Why the solver stopped: the stop criterion's reason, or the solver's own.
    lower_bound, upper_bound
        The proven interval around the optimum over deterministic policies.
    trace
        The interval over time; it only tightens.
    prices
        For each constraint by name, what a unit of its budget is worth; 0 where it is slack.
    evaluation
        The policy's exact costs from code that shares nothing with the solver, or None.
    stochastic
        The optimum over randomised policies, where the solver has found it.
    infeasibility, message
        The proof that nothing is feasible, and the same for people.
    """

    status: Status = Status.UNKNOWN
    stopped_by: str = "not started"
    lower_bound: float = -inf
    upper_bound: float = inf
    trace: tuple[TracePoint, ...] = field(default=(), repr=False)
    prices: Mapping[str, float] | None = None
    evaluation: Any = field(default=None, repr=False)
    stochastic: StochasticOptimum | None = field(default=None, repr=False)
    infeasibility: Infeasibility | None = field(default=None, repr=False)
    message: str = ""
    seconds: float = 0.0
    iterations: int = 0
    found_policy: Any = field(default=None, repr=False)
    details: Any = field(default=None, repr=False)

    @property
    def policy(self) -> Any:
        """The best policy found.

        Raises
        ------
        NoSolution
            If none was found; the message says whether none exists.
        """
        if self.found_policy is None:
            raise NoSolution(self.message or f"no policy was found ({self.stopped_by})")
        return self.found_policy

    @property
    def gap(self) -> float:
        """The relative gap, ``inf`` while either bound is unknown."""
        return relative_gap(self.lower_bound, self.upper_bound)
