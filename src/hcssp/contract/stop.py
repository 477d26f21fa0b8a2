"""When to stop: small callables that look at the progress and answer with a reason, or None.

They are pure: the same progress always gets the same answer, so they may be shared and reused. Two look
elsewhere on purpose: :class:`MaxMemory` at the process, :class:`Interrupter` at whether somebody has asked
for a stop. A criterion of one's own may answer with a :class:`~hcssp.contract.ending.Reason`, an
:class:`~hcssp.contract.ending.Ending` or a text, which becomes the detail of a stop and proves nothing.

>>> from hcssp.contract.progress import Progress
>>> Gap(0.01)(Progress(lower_bound=99.5, upper_bound=100.0))
Ending(reason=<Reason.GAP: 'gap'>, detail='')
>>> MaxIterations(10)(Progress(iterations=3)) is None
True
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf
from numbers import Real
from pathlib import Path

from hcssp.contract.ending import Ending, Reason
from hcssp.contract.progress import Progress
from hcssp.errors import InvalidOption, InvalidProblem

_CRITERIA = frozenset(
    {
        Reason.GAP,
        Reason.TARGET,
        Reason.FIRST_PLAN,
        Reason.TIME_LIMIT,
        Reason.NO_IMPROVEMENT,
        Reason.ITERATIONS,
        Reason.MEMORY,
        Reason.CRITERION,
        Reason.INTERRUPTED,
    }
)

StopCriterion = Callable[[Progress], Ending | Reason | str | None]
"""Looks at the progress and answers why to stop, or None to go on."""

Stop = StopCriterion | Iterable[StopCriterion]
"""One criterion or several; the first that holds gives the reason."""


@dataclass(frozen=True)
class Gap:
    """Stop once the relative gap is at most `relative`."""

    relative: float

    def __call__(self, progress: Progress) -> Ending | None:
        return Ending(Reason.GAP) if progress.gap <= self.relative else None


@dataclass(frozen=True)
class MaxRuntime:
    """Stop once `seconds` have passed since the solver began."""

    seconds: float

    @property
    def time_limit(self) -> float:
        """What a solver that works without telling for long may be told."""
        return self.seconds

    def __call__(self, progress: Progress) -> Ending | None:
        return Ending(Reason.TIME_LIMIT) if progress.seconds >= self.seconds else None


@dataclass(frozen=True)
class MaxIterations:
    """Stop after `count` iterations of the solver."""

    count: int

    def __call__(self, progress: Progress) -> Ending | None:
        return Ending(Reason.ITERATIONS) if progress.iterations >= self.count else None


@dataclass(frozen=True)
class Target:
    """Stop once a policy costs at most `cost`."""

    cost: float

    def __call__(self, progress: Progress) -> Ending | None:
        return Ending(Reason.TARGET) if progress.upper_bound <= self.cost else None


@dataclass(frozen=True)
class FirstPlan:
    """Stop at the first plan, however good it is."""

    def __call__(self, progress: Progress) -> Ending | None:
        return Ending(Reason.FIRST_PLAN) if progress.upper_bound < inf else None


@dataclass(frozen=True)
class NoImprovement:
    """Stop once no better plan has been found for `seconds`; while there is none at all, go on."""

    seconds: float

    def __call__(self, progress: Progress) -> Ending | None:
        waited = progress.seconds - progress.improved
        return Ending(Reason.NO_IMPROVEMENT) if waited >= self.seconds else None


@dataclass(frozen=True)
class MaxMemory:
    """Stop once the process occupies `bytes` of memory, whatever else it holds.

    A search that knows of it puts away less in the first place, and works a little longer for it.
    """

    bytes: float

    @property
    def memory_limit(self) -> float:
        """The limit, for a search to plan with."""
        return self.bytes

    def __call__(self, progress: Progress) -> Ending | None:
        return Ending(Reason.MEMORY) if resident_memory() >= self.bytes else None


class Interrupter:
    """Stops searches from elsewhere: another thread, a signal handler, an event loop.

    It is a stop criterion: give it to ``solve``, and call :meth:`interrupt` from wherever. A search ends at
    its next snapshot, with the best plan so far. One interrupter may stop many searches.

    >>> interrupter = Interrupter()
    >>> interrupter(Progress()) is None
    True
    >>> interrupter.interrupt()
    >>> str(interrupter(Progress()))
    'interrupted'
    """

    def __init__(self) -> None:
        self._asked = threading.Event()

    @property
    def requested(self) -> bool:
        """Whether a stop has been asked for."""
        return self._asked.is_set()

    def interrupt(self) -> None:
        """Ask every search that has this criterion to stop; may be called from any thread."""
        self._asked.set()

    def reset(self) -> None:
        """Let later searches run."""
        self._asked.clear()

    def __call__(self, progress: Progress) -> Ending | None:
        return Ending(Reason.INTERRUPTED) if self.requested else None


def criteria_of(
    stop: Stop | None, time_limit: float | None = None, gap: float | None = None
) -> tuple[StopCriterion, ...]:
    """All criteria that a caller has stated; empty if none.

    >>> criteria_of(FirstPlan(), time_limit=10)
    (FirstPlan(), MaxRuntime(seconds=10))

    Parameters
    ----------
    stop
        A criterion or several.
    time_limit, gap
        Short for ``MaxRuntime(time_limit)`` and ``Gap(gap)``; they come after those of `stop`.

    Raises
    ------
    InvalidOption
        If something is no criterion, or a limit is no number that is at least 0.
    """
    criteria = (stop,) if callable(stop) else _several(stop)
    for criterion in criteria:
        if not callable(criterion):
            raise _no_criterion(criterion)
    for name, value in (("time_limit", time_limit), ("gap", gap)):
        if value is not None and not (isinstance(value, Real) and value >= 0):
            raise InvalidOption(f"{name}={value!r}: give a number that is at least 0, or leave it out")
    limits: list[StopCriterion] = [] if gap is None else [Gap(gap)]
    if time_limit is not None:
        limits.append(MaxRuntime(time_limit))
    return (*criteria, *limits)


def _several(stop: Iterable[StopCriterion] | None) -> tuple[StopCriterion, ...]:
    if stop is None:
        return ()
    if isinstance(stop, str) or not isinstance(stop, Iterable):
        raise _no_criterion(stop)
    return tuple(stop)


def _no_criterion(given: object) -> InvalidOption:
    remedy = "give a criterion, such as stop=MaxRuntime(10) or stop=Gap(1e-3)"
    if isinstance(given, Real):
        remedy = (
            f"a number is no stop criterion; write time_limit={given} or stop=MaxRuntime({given}) for "
            f"seconds, gap={given} or stop=Gap({given}) for a relative gap"
        )
    return InvalidOption(f"stop={given!r}: {remedy}")


def first_ending(criteria: Iterable[StopCriterion], progress: Progress) -> Ending | None:
    """The answer of the first criterion that holds, or None."""
    for criterion in criteria:
        answer = criterion(progress)
        if answer is None:
            continue
        ending = answer if isinstance(answer, Ending) else Ending(Reason.CRITERION, str(answer))
        # A reason is itself a text; any other text is a user's own word, and no reason of ours.
        if isinstance(answer, Reason):
            ending = Ending(answer)
        # What only a solver can know is no reason of a criterion's, whatever it says.
        return ending if ending.reason in _CRITERIA else Ending(Reason.CRITERION, str(ending))
    return None


def time_limit_of(criteria: Iterable[StopCriterion]) -> float:
    """The shortest run time that any of the criteria allows; ``inf`` if none says so by its `time_limit`."""
    return min((float(getattr(each, "time_limit", inf)) for each in criteria), default=inf)


def memory_limit_of(criteria: Iterable[StopCriterion]) -> float:
    """The least memory that any of the criteria allows; ``inf`` if none says so by its `memory_limit`."""
    return min((float(getattr(each, "memory_limit", inf)) for each in criteria), default=inf)


def resident_memory() -> int:
    """The bytes of memory that the process occupies; its peak where the system tells no more."""
    pages = Path("/proc/self/statm")
    if pages.exists():
        return int(pages.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    if sys.platform == "win32":
        raise InvalidProblem(["MaxMemory: this system does not tell how much memory a process occupies"])
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
