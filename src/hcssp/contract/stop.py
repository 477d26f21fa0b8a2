"""When to stop: small callables that look at the progress and answer with a reason, or None.

They are pure: the same progress always gets the same answer, so they may be shared and reused.

>>> from hcssp.contract.progress import Progress
>>> Gap(0.01)(Progress(lower_bound=99.5, upper_bound=100.0))
'gap'
>>> MaxIterations(10)(Progress(iterations=3)) is None
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hcssp.contract.progress import Progress

StopCriterion = Callable[[Progress], str | None]


@dataclass(frozen=True)
class Gap:
    """Stop once the relative gap is at most `relative`."""

    relative: float

    def __call__(self, progress: Progress) -> str | None:
        return "gap" if progress.gap <= self.relative else None


@dataclass(frozen=True)
class MaxRuntime:
    """Stop once `seconds` have passed since the solver began."""

    seconds: float

    def __call__(self, progress: Progress) -> str | None:
        return "time limit" if progress.seconds >= self.seconds else None


@dataclass(frozen=True)
class MaxIterations:
    """Stop after `count` iterations of the solver."""

    count: int

    def __call__(self, progress: Progress) -> str | None:
        return "iterations" if progress.iterations >= self.count else None


@dataclass(frozen=True)
class Target:
    """Stop once a policy costs at most `cost`."""

    cost: float

    def __call__(self, progress: Progress) -> str | None:
        return "target" if progress.upper_bound <= self.cost else None


def first_reason(criteria: Iterable[StopCriterion], progress: Progress) -> str | None:
    """The reason of the first criterion that holds, or None."""
    for criterion in criteria:
        reason = criterion(progress)
        if reason is not None:
            return reason
    return None
