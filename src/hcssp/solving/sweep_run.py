"""A sweep under way: points are solved one after the other or side by side, each begun with a neighbour's."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from hcssp.contract.ending import Reason
from hcssp.contract.memory import Memory, Problem
from hcssp.contract.plan import Plan
from hcssp.contract.proof import Status
from hcssp.contract.stop import Gap, MaxRuntime, StopCriterion
from hcssp.errors import DeadEnd, HcsspError, ImproperPolicy, InvalidProblem
from hcssp.solving.expected_times import LAST_PER_WORKER, ExpectedTimes
from hcssp.solving.side_by_side import SideBySide
from hcssp.solving.solve import solve
from hcssp.solving.sweep_division import Division, Share
from hcssp.solving.sweep_grid import Grid, Number
from hcssp.solving.sweep_maker import Maker, floats, in_words
from hcssp.solving.sweep_record import KnownPoints, SweepPoint
from hcssp.workers import Task, Workers
from hcssp.workers.at_work import kept

MOST_AT_ONCE = 16
"""So many points, at most, are one task of a worker: what is done is told, and written, task by task."""

BLOCKS_PER_WORKER, TASKS_PER_WORKER = 2, 4
"""Where fewer blocks of points than the first are there for each worker, so many tasks are made for each, so
that nobody waits long for the last."""


def be_ready() -> None:
    """Nothing; whoever is asked for it has imported what a point needs."""


@dataclass
class _Neighbour:
    """What the points before have left: what was learnt, and the last plan."""

    memory: Memory = field(default_factory=Memory)
    plan: Plan | None = None

    def start(self, problem: Problem) -> Plan | None:
        """A plan to begin with; None if the last one is no plan for a problem of this shape."""
        last = self.plan
        if last is None or last.found_policy is None or type(last.problem) is not type(problem):
            return None
        policy: Any = last.found_policy
        prices = last.prices if last.problem.constraint_names == problem.constraint_names else None
        try:
            # Evaluated, since what ended with other numbers may not end with these.
            return Plan(problem, policy.under(problem), prices=prices).evaluated()
        except (InvalidProblem, ImproperPolicy):
            return None


def _solve_point(
    problem: Problem,
    settings: Mapping[str, Number],
    bounds: Mapping[str, Number],
    stop: list[StopCriterion],
    neighbour: _Neighbour,
) -> SweepPoint:
    """Solve one point, beginning with what its neighbour has left, and leave the same to the next."""
    began, cpu = time.perf_counter(), time.process_time()
    try:
        plan = solve(problem, stop=stop, start=neighbour.start(problem), memory=neighbour.memory)
    except DeadEnd as error:
        plan = Plan.of_dead_end(problem, error)
    except HcsspError as error:
        raise InvalidProblem([f"{in_words({**settings, **bounds})}{error}"]) from error
    if plan.ending.reason is Reason.INTERRUPTED:
        # Ctrl-C is an ordinary end of one search, but it means all of them.
        raise KeyboardInterrupt
    if plan.found:
        neighbour.plan = plan
    names = (problem.primary_name, *problem.constraint_names) if plan.found else ()
    return SweepPoint(
        floats(settings),
        floats(bounds),
        plan.status,
        plan.lower_bound,
        plan.upper_bound,
        {name: plan.cost(name) for name in names},
        dict(plan.prices or {}),
        None if plan.stochastic is None else plan.stochastic.value,
        str(plan.ending.reason),
        plan.message,
        plan.iterations,
        time.perf_counter() - began,
        time.process_time() - cpu,
        None if plan.reward is None or not plan.found else plan.reward.value,
        None if plan.reward is None else plan.reward.at_most,
    )


@dataclass(frozen=True)
class _Strand:
    """Points that one worker solves one after the other."""

    grid: Grid
    places: tuple[int, ...]
    gap: float
    time_limit: float

    def solved(
        self, make: Maker, neighbour: _Neighbour, *criteria: StopCriterion
    ) -> Iterator[tuple[int, SweepPoint]]:
        """The points as they are done; searches also stop by other `criteria`."""
        stop: list[StopCriterion] = [Gap(self.gap), *criteria]
        if self.time_limit < inf:
            stop.append(MaxRuntime(self.time_limit))
        numbers: Mapping[str, Number] | None = None
        problem: Problem | None = None
        for place in self.places:
            settings, bounds = self.grid.at(place)
            if problem is None or settings != numbers:
                problem, numbers = make(settings), settings
            under = problem.with_bounds(floats(bounds))
            yield place, _solve_point(under, settings, bounds, stop, neighbour)


def _solve_strand(make: Maker, strand: _Strand) -> list[tuple[int, SweepPoint]]:
    """A task of a worker, which keeps what it has learnt for its next one."""
    return list(strand.solved(make, kept("neighbour of a sweep", _Neighbour)))


def points_at_once(blocks: Sequence[int], workers: int) -> int:
    """How many points are one task, if there are so many in each block.

    A block is taken apart only where there would be too few tasks: what is learnt at one of its points helps
    the others.

    >>> points_at_once([8, 8, 8, 8], 2), points_at_once([24], 2), points_at_once([3, 2], 8)
    (16, 3, 1)
    """
    if len(blocks) >= BLOCKS_PER_WORKER * workers:
        return MOST_AT_ONCE
    return min(MOST_AT_ONCE, max(1, sum(blocks) // (TASKS_PER_WORKER * max(1, workers))))


@dataclass
class SweepRun:
    """A sweep under way."""

    make: Maker
    grid: Grid
    gap: float
    time_limit: float
    known: KnownPoints | None
    on_point: Callable[[SweepPoint], object] | None
    done: dict[int, SweepPoint] = field(default_factory=dict)
    keys: dict[int, str] = field(default_factory=dict)

    def alone(self, inner: Sequence[str]) -> None:
        """Solve everything in this process, point by point."""
        neighbour = _Neighbour()
        for block in self.grid.blocks(inner):
            for places in block:
                strand = self.strand(self._missing(places))
                for place, point in strand.solved(self.make, neighbour):
                    self.add(place, point)

    def shared(self, inner: Sequence[str], workers: Workers) -> None:
        """Solve it together with workers."""
        walk = self.grid.blocks(inner)
        blocks = [[place for places in block for place in self._missing(places)] for block in walk]
        # Where tasks go to whoever is free, a worker gets several neighbours at once.
        sizes = [len(block) for block in blocks if block]
        at_once = 1 if workers.takes_part else points_at_once(sizes, workers.count)
        times = ExpectedTimes(self.grid.shape)
        division = Division(blocks, at_once, times, LAST_PER_WORKER * workers.count)
        SideBySide(workers, _SharedSweep(self, workers, division, times)).run()

    def strand(self, places: Sequence[int]) -> _Strand:
        """Some points, to be solved one after the other."""
        return _Strand(self.grid, tuple(places), self.gap, self.time_limit)

    def _missing(self, places: Sequence[int]) -> list[int]:
        """Those of some points with the same parameters that must be solved; the others are claimed."""
        if self.known is None:
            return list(places)
        problem = self.make(self.grid.at(places[0])[0])
        names = {problem.primary_name, *problem.constraint_names}
        missing = []
        for place in places:
            settings, bounds = self.grid.at(place)
            under = problem.with_bounds(floats(bounds))
            self.keys[place] = self.known.key(under)
            found = self.known.find(self.keys[place])
            if found is None or not found.is_done(self.gap) or set(found.costs) not in (set(), names):
                missing.append(place)
                continue
            # Another grid may have got there by other parameters. The file holds no proof.
            claimed = replace(found, settings=floats(settings), bounds=floats(bounds), status=Status.CLAIMED)
            self._tell(place, claimed)
        return missing

    def add(self, place: int, point: SweepPoint) -> None:
        """Keep and tell what was found."""
        if self.known is not None:
            self.known.add(self.keys[place], point)
        self._tell(place, point)

    def _tell(self, place: int, point: SweepPoint) -> None:
        self.done[place] = point
        if self.on_point is not None:
            self.on_point(point)


@dataclass
class _SharedSweep:
    """The work of a sweep, for :class:`~hcssp.solving.side_by_side.SideBySide`."""

    run: SweepRun
    workers: Workers
    division: Division
    times: ExpectedTimes
    neighbour: _Neighbour = field(default_factory=_Neighbour)

    def following(self, done: Share | None) -> Share | None:
        return self.division.following(done)

    def send(self, piece: Share) -> Task:
        make = self.workers.share(self.run.make)
        return self.workers.submit(_solve_strand, make, self.run.strand(piece.places))

    def do(self, piece: Share, attend: StopCriterion) -> list[tuple[int, SweepPoint]]:
        return list(self.run.strand(piece.places).solved(self.run.make, self.neighbour, attend))

    def learn(self, piece: Share, answer: list[tuple[int, SweepPoint]]) -> None:
        """How long it took; whoever has solved a point has kept the rest."""
        for place, point in answer:
            # By the processor's clock: who else uses the machine changes from point to point.
            self.times.took(place, point.cpu_seconds)

    def take(self, piece: Share, answer: list[tuple[int, SweepPoint]]) -> None:
        for place, point in answer:
            self.run.add(place, point)
