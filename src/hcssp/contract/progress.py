"""The progress of an anytime solver, a sequence of frozen snapshots, and stop criteria.

Stop criteria are callables that take the progress and return a reason, or None.

They are pure: the same progress always gets the same answer, so they may be shared and reused. Two look
elsewhere on purpose: :class:`MaxMemory` at the process, :class:`Interrupter` at whether a stop was
requested. A criterion of the user may answer with a :class:`~hcssp.contract.proof.Reason`, an
:class:`~hcssp.contract.proof.Ending` or a text, which becomes the detail of a stop and proves nothing.

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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isfinite
from numbers import Real
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from hcssp.contract.proof import Ending, Infeasible, Reason
from hcssp.cssp.model import FloatArray, Reward, RewardInterval
from hcssp.dual.ascent import StochasticOptimum
from hcssp.errors import InvalidOption, InvalidProblem, UnknownName
from hcssp.numerics import relative_gap
from hcssp.procedure.policy import Policy as Policy

Policies = Literal["deterministic", "randomised"]
"""Among which policies the best is wanted: those that never choose at random, or all."""


Budgets = Mapping[str, Mapping[str, float]]
"""The budget of one execution of each activity under each constraint, by name."""


@dataclass(frozen=True, eq=False)
class AllocationBox:
    """A box of budget allocations: limits along each axis, its lower bound, and which box it is a part of."""

    lower: FloatArray
    upper: FloatArray
    bound: float
    parent: int | None


@dataclass(frozen=True, eq=False)
class AllocationIncumbent:
    """An incumbent of budget allocation.

    Attributes
    ----------
    count
        How many boxes were known when it was found.
    usage
        What its activities use along each axis.
    cost
        Its cost.
    cutoff
        Boxes with this bound or more hold nothing better.
    """

    count: int
    usage: FloatArray
    cost: float
    cutoff: float


@dataclass(frozen=True, eq=False)
class AllocationSpace:
    """How far budget allocation has divided the space of allocations.

    Attributes
    ----------
    axes
        The activity and the cost of each axis; limits are those of one execution.
    all_boxes, count
        The boxes in the order in which they were bounded, of which the first `count` were known then. The
        list goes on to grow.
    incumbents
        The incumbents so far, each better than those before it.
    """

    axes: tuple[tuple[str, str], ...]
    all_boxes: Sequence[AllocationBox] = field(repr=False)
    count: int
    incumbents: tuple[AllocationIncumbent, ...]

    @property
    def boxes(self) -> Sequence[AllocationBox]:
        """The boxes that were known at this instant."""
        return self.all_boxes[: self.count]

    @property
    def usage(self) -> FloatArray | None:
        """The use of the incumbent's activities, along each axis; None without an incumbent."""
        return self.incumbents[-1].usage if self.incumbents else None

    @property
    def cutoff(self) -> float:
        """Boxes with this bound or more hold nothing better than the incumbent."""
        return self.incumbents[-1].cutoff if self.incumbents else inf

    def at(self, count: int) -> AllocationSpace:
        """The space when only the first `count` boxes were known."""
        found = tuple(each for each in self.incumbents if each.count <= count)
        return replace(self, count=min(count, self.count), incumbents=found)

    def state_of(self) -> list[Literal["split", "pruned", "open"]]:
        """Of each box, whether it was split, cannot hold anything better, or is open."""
        split = {box.parent for box in self.boxes}
        return [
            "split" if number in split else "pruned" if box.bound >= self.cutoff else "open"
            for number, box in enumerate(self.boxes)
        ]

    def axes_of(self, activities: Sequence[str] | None = None) -> tuple[int, int]:
        """The axes of two activities; by default those along which most boxes were split.

        Raises
        ------
        UnknownName
            If there is no such activity.
        InvalidOption
            If these are not two axes.
        """
        if activities is None:
            cuts = np.zeros(len(self.axes))
            for box in self.boxes:
                if box.parent is not None:
                    whole = self.all_boxes[box.parent]
                    cuts += (box.lower != whole.lower) | (box.upper != whole.upper)
            chosen = np.argsort(-cuts, kind="stable")[:2].tolist()
        else:
            names = [activity for activity, _ in self.axes]
            for name in activities:
                if name not in names:
                    raise UnknownName("activity with a budget", name, names)
            chosen = [names.index(name) for name in dict.fromkeys(activities)]
        if len(chosen) != 2:
            raise InvalidOption("a picture of the allocation space needs two activities with budgets")
        return chosen[0], chosen[1]

    def plot(
        self, path: str | Path | None = None, *, ax: Any = None, activities: Sequence[str] | None = None
    ) -> Any:
        """Draw the boxes of two activities with matplotlib, and the use of the incumbent.

        Parameters
        ----------
        path
            Where to write the picture; its suffix (.png, .svg, .pdf) says how. Without a path and without
            axes it is drawn in a figure of pyplot, which a notebook shows.
        ax
            The axes to draw on.
        activities
            The names of two; by default those whose budgets were split most often.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from hcssp.reports.charts import draw_allocation
        from hcssp.reports.plots import plotted

        return plotted(lambda on: draw_allocation(self, activities, on), path, ax)


class MetPolicy(NamedTuple):
    """A policy that the anytime algorithm met.

    Attributes
    ----------
    costs
        Its expected costs, the primary first.
    rank
        Which policy of stage 2 it is, 1 for the first; None in stage 1.
    """

    costs: FloatArray
    rank: int | None


@dataclass(frozen=True)
class Progress:
    """One snapshot. Both bounds hold at this instant, so a run stopped here reports a true interval.

    Attributes
    ----------
    seconds
        Since the solver began.
    iterations
        Nodes, policies or master problems so far: whatever the solver counts.
    lower_bound, upper_bound
        The proven interval around the optimum; the upper bound is the incumbent's cost.
    incumbent
        The best feasible policy so far, or None.
    prices
        The multiplier of each constraint that gave the lower bound: what a unit of its budget is
        worth. None while unknown.
    stochastic
        The optimum over randomised policies, where the solver has found it.
    budgets
        The budgets of the incumbent's activities, if the method allocates budgets; otherwise None.
    allocation
        The boxes of the allocation space, by budget allocation.
    met
        The policy that was met since the last snapshot, by the anytime algorithm.
    infeasible
        A proof that nothing is feasible, where the solver has found one.
    ending
        Why the solver has nothing left to do, or None while it has.
    workers, open_nodes
        How many work side by side, None where one does all, and how many nodes of a search wait; None where
        there are no nodes.
    improved
        When the incumbent was found, in seconds; ``inf`` while there is none.
    reward
        The reward and its proven bound if a reward is maximised; the gap is then that of the reward.
    """

    seconds: float = 0.0
    iterations: int = 0
    lower_bound: float = -inf
    upper_bound: float = inf
    incumbent: Policy | None = field(default=None, repr=False)
    prices: FloatArray | None = field(default=None, repr=False)
    stochastic: StochasticOptimum | None = field(default=None, repr=False)
    budgets: Budgets | None = field(default=None, repr=False)
    allocation: AllocationSpace | None = field(default=None, repr=False)
    met: MetPolicy | None = field(default=None, repr=False)
    infeasible: Infeasible | None = None
    ending: Ending | None = None
    workers: int | None = None
    open_nodes: int | None = None
    improved: float = inf
    reward: RewardInterval | None = None

    @property
    def gap(self) -> float:
        """The relative gap, ``inf`` while either bound is unknown."""
        return relative_gap(self.lower_bound, self.upper_bound) if self.reward is None else self.reward.gap

    def in_words(self, counts: str = "iterations", reward: Reward | None = None) -> str:
        """One line, for people; `counts` says what the iterations are, `reward` what is maximised.

        >>> Progress(1.52, 12, lower_bound=144.8, upper_bound=145.2).in_words("nodes")
        '   1.5 s      12 nodes   lower bound 144.8000   incumbent 145.2000   gap 0.275%'
        >>> Progress(0.1, lower_bound=144.8).in_words("nodes")
        '   0.1 s       0 nodes   lower bound 144.8000   no plan yet'
        >>> Progress(2.5, 90, workers=2, open_nodes=17).in_words("nodes")
        '   2.5 s      90 nodes   17 open, 2 workers   no plan yet'
        >>> Progress(0.1, 7, lower_bound=1.0, upper_bound=1.5).in_words("nodes", Reward("gold", 6.0, {}))
        '   0.1 s       7 nodes   at most 5.0000   incumbent 4.5000'
        """
        parts = [f"{self.seconds:6.1f} s", f"{self.iterations:5d} {counts}"]
        if self.workers is not None:
            parts.append(f"{self.open_nodes or 0} open, {self.workers} workers")
        if isfinite(self.lower_bound):
            most = None if reward is None else reward.at_most(self.lower_bound)
            parts.append(f"lower bound {self.lower_bound:.4f}" if most is None else f"at most {most:.4f}")
        if isfinite(self.upper_bound):
            own = self.upper_bound if reward is None else reward.most - self.upper_bound
            parts.append(f"incumbent {own:.4f}")
        else:
            parts.append("no plan yet")
        if isfinite(self.gap) and reward is None:
            parts.append(f"gap {100 * self.gap:.3g}%")
        return "   ".join(parts)

    def __str__(self) -> str:
        return self.in_words()


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
"""Returns a reason to stop for the given progress, or None to continue."""


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
        """The limit, for a solver that takes long between two snapshots."""
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
    """Stop if no better plan was found for `seconds`; continue while there is no plan."""

    seconds: float

    def __call__(self, progress: Progress) -> Ending | None:
        waited = progress.seconds - progress.improved
        return Ending(Reason.NO_IMPROVEMENT) if waited >= self.seconds else None


@dataclass(frozen=True)
class MaxMemory:
    """Stop once the process occupies `bytes` of memory, whatever else it holds.

    A search that knows this limit keeps less in memory, and takes a little longer.
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
        """Whether a stop was requested."""
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
            f"a number is not a stop criterion; write time_limit={given} or stop=MaxRuntime({given}) for "
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
    """The shortest run time that any of the criteria allows; ``inf`` if none has a `time_limit`."""
    return min((float(getattr(each, "time_limit", inf)) for each in criteria), default=inf)


def memory_limit_of(criteria: Iterable[StopCriterion]) -> float:
    """The least memory that any of the criteria allows; ``inf`` if none has a `memory_limit`."""
    return min((float(getattr(each, "memory_limit", inf)) for each in criteria), default=inf)


def resident_memory() -> int:
    """The bytes of memory that the process occupies; its peak where the system reports nothing else."""
    pages = Path("/proc/self/statm")
    if pages.exists():
        return int(pages.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    if sys.platform == "win32":
        raise InvalidProblem(["MaxMemory: this system does not report the memory of a process; leave it out"])
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
