"""The proof of a result: an interval around the optimum, or infeasibility, and its source.

The status follows from the proof alone, whatever the reason for stopping was. What a file claims to be
proven is a :class:`FileClaim`, from which nothing follows.

>>> Interval(99.99995, 100.0).status, Interval(99.0, 100.0).status, Interval(99.0).status
(<Status.OPTIMAL: 'optimal'>, <Status.FEASIBLE: 'feasible'>, <Status.UNKNOWN: 'unknown'>)
>>> Infeasible().status
<Status.INFEASIBLE: 'infeasible'>
>>> Infeasible().because, Infeasible(ends=False).because
('bounds', 'no policy ends')

The proven interval over time.

Why a search ended: an enumerated reason, and a detail for people where there is more to say.

What is proven is another question (:mod:`hcssp.contract.proof`): no reason makes a plan optimal or a problem
infeasible.

>>> Ending(Reason.GAP).in_words
'the requested gap was reached'
>>> str(Ending(Reason.CRITERION, "battery low"))
'criterion (battery low)'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf, isfinite, isnan
from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np

from hcssp.display import frame
from hcssp.dual.ascent import Infeasibility
from hcssp.errors import InvalidPlan
from hcssp.numerics import CLAIM_TOLERANCE, OPTIMALITY_TOLERANCE, relative_gap

if TYPE_CHECKING:
    from pandas import DataFrame


class TracePoint(NamedTuple):
    """The proven interval at one instant."""

    seconds: float
    lower_bound: float
    upper_bound: float


class Trace(Sequence[TracePoint]):
    """The proven interval over time; it only tightens. A sequence of :class:`TracePoint`.

    >>> trace = Trace([(0.1, 1.0, float("inf")), (0.2, 2.0, 3.0)])
    >>> len(trace), trace[-1].upper_bound
    (2, 3.0)
    """

    def __init__(self, points: Iterable[tuple[float, float, float]] = ()) -> None:
        self._points = tuple(TracePoint(*map(float, point)) for point in points)

    @overload
    def __getitem__(self, index: int) -> TracePoint: ...
    @overload
    def __getitem__(self, index: slice) -> Trace: ...
    def __getitem__(self, index: int | slice) -> TracePoint | Trace:
        return Trace(self._points[index]) if isinstance(index, slice) else self._points[index]

    def __len__(self) -> int:
        return len(self._points)

    def __iter__(self) -> Iterator[TracePoint]:
        return iter(self._points)

    def __eq__(self, other: object) -> bool:
        return self._points == other._points if isinstance(other, Trace) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._points)

    def __repr__(self) -> str:
        return f"Trace({len(self)} points)"

    def to_frame(self) -> DataFrame:
        """A ``pandas.DataFrame`` with the columns seconds, lower_bound and upper_bound.

        Raises
        ------
        MissingDependency
            If pandas is not installed.
        """
        return frame({name: [getattr(point, name) for point in self] for name in TracePoint._fields})


class Reason(StrEnum):
    """Why a search ended."""

    PROVED = "proved"
    INFEASIBLE = "infeasible"
    GAP = "gap"
    TARGET = "target"
    FIRST_PLAN = "first plan"
    TIME_LIMIT = "time limit"
    NO_IMPROVEMENT = "no improvement"
    ITERATIONS = "iterations"
    MEMORY = "memory"
    CRITERION = "criterion"
    INTERRUPTED = "interrupted"
    RELAXATION = "relaxation solved"
    CONVERGED = "converged"
    ROUNDING = "rounding"
    FAILED = "failed"
    EXHAUSTED = "exhausted"
    UNKNOWN = "unknown"


_IN_WORDS = {
    Reason.PROVED: "the proof was complete",
    Reason.INFEASIBLE: "it was proven that there is no plan",
    Reason.GAP: "the requested gap was reached",
    Reason.TARGET: "the target was reached",
    Reason.FIRST_PLAN: "a plan was found",
    Reason.TIME_LIMIT: "the time limit was reached",
    Reason.NO_IMPROVEMENT: "no better plan had been found for long enough",
    Reason.ITERATIONS: "the iteration limit was reached",
    Reason.MEMORY: "the memory limit was reached",
    Reason.CRITERION: "a stop criterion was met",
    Reason.INTERRUPTED: "it was interrupted",
    Reason.RELAXATION: "the linear program was solved",
    Reason.CONVERGED: "the method could not tighten its bounds further",
    Reason.ROUNDING: "the rest of the gap is within rounding errors",
    Reason.FAILED: "the underlying solver failed",
    Reason.EXHAUSTED: "the method was complete",
    Reason.UNKNOWN: "it was cut short",
}


@dataclass(frozen=True)
class Ending:
    """Why a search ended.

    Attributes
    ----------
    reason
        The reason.
    detail
        Further information; may be empty.
    """

    reason: Reason
    detail: str = ""

    @property
    def in_words(self) -> str:
        """The reason as a clause, to follow "because"."""
        return _IN_WORDS[self.reason] + (f" ({self.detail})" if self.detail else "")

    def __str__(self) -> str:
        return str(self.reason) + (f" ({self.detail})" if self.detail else "")


class Status(StrEnum):
    """What is proven, independently of the reason for stopping.

    ``CLAIMED`` is the status of a point that a sweep took from its results file: the file says what was
    proven, and nothing was checked. A plan never has it.
    """

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"
    CLAIMED = "claimed"


@dataclass(frozen=True)
class Verification:
    """How a certificate was verified.

    Attributes
    ----------
    certificate
        What its file is called.
    exact
        Whether everything was decided in integers.
    fingerprint, version
        Of the problem, and of the checker.
    """

    certificate: str
    exact: bool
    fingerprint: str
    version: str

    @property
    def in_words(self) -> str:
        """By what, as a sentence.

        >>> Verification("proof.cert", False, "6add8e91b66a99b1", "0.1").in_words
        'hcssp.checker 0.1 has checked proof.cert for problem 6add8e91b66a, in outward-rounded arithmetic.'
        """
        how = "in integers throughout" if self.exact else "in outward-rounded arithmetic"
        about = f"problem {self.fingerprint[:12]}"
        return f"hcssp.checker {self.version} has checked {self.certificate} for {about}, {how}."


@dataclass(frozen=True)
class Interval:
    """The optimum over deterministic policies lies between two bounds; the upper one is a plan's cost.

    Attributes
    ----------
    lower_bound, upper_bound
        The proven interval; infinite if nothing is proven.
    optimality
        The relative gap up to which the plan is called optimal.
    verification
        How it was verified; None if a search in this process has proven it.

    Raises
    ------
    InvalidPlan
        If it contradicts itself.
    """

    lower_bound: float = -inf
    upper_bound: float = inf
    optimality: float = OPTIMALITY_TOLERANCE
    verification: Verification | None = None

    def __post_init__(self) -> None:
        refuse_contradiction(self.lower_bound, self.upper_bound)

    @property
    def gap(self) -> float:
        """The relative gap, ``inf`` while either bound is unknown."""
        return relative_gap(self.lower_bound, self.upper_bound)

    @property
    def status(self) -> Status:
        """Optimal once the gap is at most :attr:`optimality`."""
        if not isfinite(self.upper_bound):
            return Status.UNKNOWN
        return Status.OPTIMAL if self.gap <= self.optimality else Status.FEASIBLE


@dataclass(frozen=True)
class Infeasible:
    """There is no plan: no deterministic policy keeps the bounds, or none ends at all.

    Attributes
    ----------
    weights
        Weights of the constraints under which even randomised policies use too much; None if the proof is
        a complete search, or needs no bounds.
    ends
        Whether there are policies that reach the end almost surely. If not, the bounds do not matter: the
        proof is one about the graph.
    trap
        Where a run may be trapped and what to do about it, if no policy ends; empty if that is not known.
    """

    weights: Infeasibility | None = None
    ends: bool = True
    trap: str = ""

    lower_bound = inf
    upper_bound = inf
    gap = inf
    status = Status.INFEASIBLE

    @property
    def because(self) -> str:
        """What there is a lack of, in a word or three."""
        return "bounds" if self.ends else "no policy ends"

    def explain(
        self, names: Sequence[str], bounds: Sequence[float], chances: Mapping[str, str] | None = None
    ) -> str:
        """Why nothing is feasible, for people, with the least achievable value of the offending cost.

        Parameters
        ----------
        names, bounds
            The constraints.
        chances
            From constraints on a probability to the names of their events or states.
        """
        proof = self.weights
        of = chances or {}
        if not self.ends:
            somewhere = (
                "every policy may reach a state from which the end cannot be reached; "
                "this does not depend on the bounds"
            )
            return f"no policy ends: {self.trap or somewhere}"
        if proof is None:
            return "no deterministic policy keeps the bounds (proved by search)"
        used = np.flatnonzero(proof.weights > 0.0).tolist()
        # Actions that use anything of a cost with a bound of 0 were removed from the beginning.
        nothing = [k for k in range(len(names)) if bounds[k] == 0.0 and k not in used]
        if len(used) == 1 and (not nothing or bounds[used[0]] == 0.0):
            name, weight = names[used[0]], proof.weights[used[0]]
            # The proof allows for rounding and may fall slightly below zero, which no expected cost can.
            least, allowed = max(0.0, proof.least / weight), proof.allowed / weight
            if name in of:
                found = (
                    f"the least achievable one is {100 * least:.9g}%, above the bound {100 * allowed:.9g}%"
                )
                return f"no policy keeps the bound on the probability of {of[name]}: {found}; raise the bound"
            return (
                f"no policy keeps the bound on {name!r}: the least achievable {name} is {least:.9g}, "
                f"above the bound {allowed:.9g}; raise the bound"
            )
        # The rest for this constraint, after the largest use of the others.
        short = proof.least - proof.allowed
        parts = []
        for this in used:
            others = " and ".join(_at_most(names[k], bounds[k], of) for k in (*nothing, *used) if k != this)
            least = bounds[this] + short / proof.weights[this]
            # Six digits, and none of them rounded up.
            least -= 5e-7 * abs(least)
            has = f"an expected {names[this]} below {least:.6g}"
            if names[this] in of:
                has = f"a probability of {of[names[this]]} below {100 * least:.6g}%"
            parts.append(f"with {others} no plan has {has}")
        limits = " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
        # No cost is negative, so a bound below 0 must be raised in any case.
        below = " and ".join(repr(names[k]) for k in used if bounds[k] < 0.0)
        remedy = f"raise the bound on {below}" if below else "raise one of them"
        return f"no policy keeps the bounds together: {limits}; {remedy}"


def _at_most(name: str, bound: float, chances: Mapping[str, str]) -> str:
    """A bound as text."""
    if name not in chances:
        return f"{name} at most {bound:.9g}"
    return f"the probability of {chances[name]} at most {100 * bound:.9g}%"


@dataclass(frozen=True)
class FileClaim:
    """The claims of a plan's file. They were not checked, so nothing follows from them.

    Attributes
    ----------
    lower_bound, upper_bound
        The interval that is claimed to be proven; the upper bound is the claimed cost of the plan.
    trace
        How the interval is said to have narrowed.

    Raises
    ------
    InvalidPlan
        If the claim contradicts itself.
    """

    lower_bound: float = -inf
    upper_bound: float = inf
    trace: Trace = field(default_factory=Trace, repr=False)

    def __post_init__(self) -> None:
        for lower_bound, upper_bound in (
            (self.lower_bound, self.upper_bound),
            *((point.lower_bound, point.upper_bound) for point in self.trace),
        ):
            refuse_contradiction(lower_bound, upper_bound)

    @property
    def gap(self) -> float:
        """The relative gap that is claimed."""
        return relative_gap(self.lower_bound, self.upper_bound)


def refuse_contradiction(lower_bound: float, upper_bound: float) -> None:
    """Refuse an interval of which nothing is left, even with room for rounding.

    Raises
    ------
    InvalidPlan
        If there is none.
    """
    if isnan(lower_bound) or isnan(upper_bound):
        raise InvalidPlan([f"the interval from {lower_bound} to {upper_bound} is none: give numbers"])
    room = CLAIM_TOLERANCE * abs(upper_bound) if isfinite(upper_bound) else 0.0
    if lower_bound > upper_bound + room:
        raise InvalidPlan(
            [
                f"the lower bound {lower_bound:.9g} is above the upper bound {upper_bound:.9g}: if no plan "
                "costs less than the former, none costs the latter"
            ]
        )


Proof = Interval | Infeasible
