"""Many what-ifs at once: the best plan for every combination of parameters and bounds, one helping the next.

Points are solved in an order in which each has a neighbour that is solved. Under the same numbers and other
bounds, everything that was learnt holds (:class:`~hcssp.contract.memory.Memory`); under other numbers what
is known about activities that stay the same does, the neighbour's policy is the first incumbent if it keeps
the bounds, and its prices are the first to be tried. Every point is proven by itself: a neighbour saves time
and is never believed.

>>> from hcssp.scenarios import small_building
>>> found = sweep(small_building(), bounds={"damage": [2.0, 1.0]})
>>> [(point.bounds["damage"], round(point.upper_bound, 3)) for point in found.points]
[(1.0, 46.662), (2.0, 27.719)]
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any, Protocol

from hcssp.contract.ending import Reason
from hcssp.contract.memory import Memory, Problem
from hcssp.contract.plan import Plan
from hcssp.contract.proof import Status
from hcssp.contract.stop import Gap, MaxRuntime, StopCriterion
from hcssp.dual.alike_activities import digest_of
from hcssp.errors import HcsspError, ImproperPolicy, InvalidProblem, UnknownName
from hcssp.frames import frame
from hcssp.numerics import relative_gap
from hcssp.procedure.model import HCSSP
from hcssp.procedure.single import as_procedure
from hcssp.procedure.units import called
from hcssp.solving.side_by_side import SideBySide
from hcssp.solving.solve import solve
from hcssp.solving.sweep_division import Division, Share
from hcssp.solving.sweep_grid import Grid, Number, SweepAxis
from hcssp.verbs import verb
from hcssp.workers import Task, Workers, open_workers
from hcssp.workers.at_work import kept

MOST_AT_ONCE = 16
"""So many points, at most, are one task of a worker: what is done is told, and written, task by task."""

BLOCKS_PER_WORKER, TASKS_PER_WORKER = 2, 4
"""Where fewer blocks of points than the first are there for each worker, so many tasks are made for each, so
that nobody waits long for the last."""


@dataclass(frozen=True)
class SweepPoint:
    """What is known at one combination.

    Attributes
    ----------
    settings, bounds
        The parameters and the bounds that were varied.
    status, lower_bound, upper_bound
        What is proven about the best deterministic plan.
    costs
        The exact expected costs of the plan that was found, by name; empty if none was.
    prices
        What a unit of each constraint is worth, where that is known.
    randomised
        No plan costs less, not even one that draws lots; None if that is unknown.
    reason
        Why the search ended.
    message
        Why there is no plan; empty if there is one.
    iterations, seconds, cpu_seconds
        What the search took.
    reward, reward_at_most
        Of a problem that maximises: the plan's expected reward, and what no plan exceeds.
    """

    settings: Mapping[str, float]
    bounds: Mapping[str, float]
    status: Status
    lower_bound: float
    upper_bound: float
    costs: Mapping[str, float] = field(default_factory=dict)
    prices: Mapping[str, float] = field(default_factory=dict)
    randomised: float | None = None
    reason: str = ""
    message: str = ""
    iterations: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    reward: float | None = None
    reward_at_most: float | None = None

    @property
    def figure(self) -> float:
        """What the plan is judged by: its expected reward where one is maximised, else its primary cost."""
        return self.upper_bound if self.reward is None else self.reward

    @property
    def limit(self) -> float:
        """What no plan betters: a lower bound on the cost, an upper bound on the reward."""
        return self.lower_bound if self.reward_at_most is None else self.reward_at_most

    @property
    def gap(self) -> float:
        """The proven relative gap, ``inf`` while either bound is unknown."""
        return relative_gap(self.lower_bound, self.upper_bound)

    @property
    def found(self) -> bool:
        """Whether there is a plan."""
        return bool(self.costs)

    def at(self, axis: SweepAxis) -> float:
        """Where it lies on an axis."""
        return (self.bounds if axis.is_bound else self.settings)[axis.name]

    def is_done(self, gap: float) -> bool:
        """Whether nothing is left to do for someone who asks for this gap."""
        return self.status is Status.INFEASIBLE or self.gap <= gap or self.reason == Reason.PROVED


@dataclass(frozen=True)
class Sweep:
    """The best plans over a grid of parameters and bounds.

    Attributes
    ----------
    problem
        What the problem is called.
    primary, constraints
        The cost that is minimised, and the names of the constraints.
    called
        What costs and constraints are called for people, with their units.
    axes
        What was varied; bounds come last.
    points
        In the order of the axes, the last of which varies fastest. Fewer than combinations if interrupted.
    seconds
        How long it took, from beginning to end.
    reward
        The reward that is maximised; None if the primary cost is minimised.
    probabilities
        The constraints that bound probabilities.
    """

    problem: str
    primary: str
    constraints: tuple[str, ...]
    called: Mapping[str, str] = field(repr=False)
    axes: tuple[SweepAxis, ...]
    points: tuple[SweepPoint, ...] = field(repr=False)
    seconds: float = 0.0
    reward: str | None = None
    probabilities: tuple[str, ...] = ()

    @property
    def judged(self) -> str:
        """What plans are judged by, for people: the reward that is maximised, or the primary cost."""
        return self.called.get(self.primary, self.primary) if self.reward is None else self.reward

    def columns(self) -> dict[str, list[Any]]:
        """The points as columns of equal length, for tables of any kind."""
        points = self.points
        columns: dict[str, list[Any]] = {}
        for axis in self.axes:
            kind = "bound" if axis.is_bound else "set"
            columns[f"{kind}_{axis.name}"] = [point.at(axis) for point in points]
        columns["status"] = [point.status.value for point in points]
        for name in ("lower_bound", "upper_bound", "gap", "randomised"):
            columns[name] = [getattr(point, name) for point in points]
        if self.reward is not None:
            for name in ("reward", "reward_at_most"):
                columns[name] = [getattr(point, name) for point in points]
        for name in (self.primary, *self.constraints):
            columns[f"expected_{name}"] = [point.costs.get(name) for point in points]
        for name in self.constraints:
            columns[f"price_{name}"] = [point.prices.get(name) for point in points]
        for name in ("reason", "iterations", "seconds", "cpu_seconds"):
            columns[name] = [getattr(point, name) for point in points]
        return columns

    def to_frame(self) -> Any:
        """The points as a ``pandas.DataFrame``.

        Raises
        ------
        MissingDependency
            If pandas is not installed.
        """
        return frame(self.columns())

    def report(self, path: Any) -> None:
        """Write one page of HTML with a slider for every axis; see :mod:`hcssp.reports.sweep_page`."""
        verb("sweep.report")(self, path)

    def plot(self, path: Any) -> None:
        """Draw lines, or a heat map if two things vary; see :mod:`hcssp.reports.sweep_picture`."""
        verb("sweep.plot")(self, path)


class KnownPoints(Protocol):
    """Points that an earlier run has found, such as :class:`hcssp.files.sweep_file.SweepFile`."""

    def key(self, problem: Problem) -> str:
        """What tells a problem from others, its bounds included."""

    def find(self, key: str) -> SweepPoint | None:
        """What is known about the problem of that key."""

    def add(self, key: str, point: SweepPoint) -> None:
        """Keep what was found."""


Make = Callable[..., Problem]
"""Makes the problem from parameters, which are keywords."""


def sweep(
    problem: Problem | str | Path | Make,
    settings: Mapping[str, Sequence[Number]] | None = None,
    bounds: Mapping[str, Sequence[Number]] | None = None,
    *,
    gap: float = 1e-4,
    time_limit: float = inf,
    file: str | Path | None = None,
    on_point: Callable[[SweepPoint], object] | None = None,
    jobs: int = 1,
    executor: Any | None = None,
) -> Sweep:
    """Solve a problem for all combinations of parameters and bounds.

    Parameters
    ----------
    problem
        A built-in problem's name, a problem file, a function that makes the problem from parameters given by
        keyword, or a problem of which only bounds vary.
    settings, bounds
        The values of each parameter, and the bounds on each constraint; the others stay as they are.
    gap
        The relative gap at which a point is done.
    time_limit
        Seconds for each point; what is proven by then is reported.
    file
        Where points are kept as they are found. Those that are there already, and good enough, are not
        solved again.
    on_point
        Called with every point when it is known, in the order in which they are solved.
    jobs
        So many processes of this machine work on the points.
    executor
        Who works on them instead: a Dask client, or any executor of :mod:`concurrent.futures`.

    Raises
    ------
    InvalidProblem
        If there is no such combination; the message names the point.
    KeyboardInterrupt
        On Ctrl-C; the points that are done by then have been told to `on_point`, and are in the file.
    """
    began = time.perf_counter()
    grid = Grid.of(settings or {}, bounds or {})
    make = _Maker(_maker_of(problem), tuple(axis.name for axis in grid.settings))
    with ExitStack() as opened:
        workers: Workers | None = None
        if executor is not None or jobs != 1:
            workers = opened.enter_context(
                open_workers(None if executor is not None else jobs, executor=executor)
            )
            # They take a moment to start, and so does the first problem.
            workers.warm_up(be_ready, min(workers.helpers, len(grid) - 1))
        first = make(grid.at(0)[0])
        unknown = [axis.name for axis in grid.bounds if axis.name not in first.constraint_names]
        if unknown:
            raise UnknownName("constraint", unknown[0], first.constraint_names)
        known: KnownPoints | None = None if file is None else verb("sweep.file")(file)
        run = _Run(make, grid, gap, time_limit, known, on_point)
        inner = _inner(make, grid, first)
        if workers is None:
            run.alone(inner)
        else:
            run.shared(inner, workers)
    return sweep_of(first, grid, run.done, time.perf_counter() - began)


def be_ready() -> None:
    """Nothing; whoever is asked for it has imported what a point needs."""


def sweep_of(problem: Problem, grid: Grid, done: Mapping[int, SweepPoint], seconds: float) -> Sweep:
    """The record of the points that are done, by their places in the grid."""
    procedure = as_procedure(problem)
    names = (problem.primary_name, *problem.constraint_names)
    return Sweep(
        problem.name,
        problem.primary_name,
        tuple(problem.constraint_names),
        {name: called(procedure, name) for name in names},
        grid.axes,
        tuple(done[index] for index in sorted(done)),
        seconds,
        None if problem.reward is None else problem.reward.name,
        tuple(each.name for each in procedure.constraints if each.probability_of),
    )


@dataclass(frozen=True)
class _Named:
    """Makes the problem of a name or a file; it can be sent to a worker."""

    name: str

    def __call__(self, **settings: Number) -> Problem:
        found: Problem = verb("sweep.problem")(self.name, settings)
        return found


@dataclass(frozen=True)
class _Fixed:
    """A problem without parameters."""

    problem: Problem

    def __call__(self, **settings: Number) -> Problem:
        if settings:
            raise InvalidProblem(
                [
                    f"a problem has no parameter {next(iter(settings))!r} any more; give its name, its file "
                    "or a function that makes it"
                ]
            )
        return self.problem


def _maker_of(problem: Problem | str | Path | Make) -> Make:
    if isinstance(problem, str | Path):
        return _Named(str(problem))
    return problem if callable(problem) else _Fixed(problem)


@dataclass(frozen=True)
class _Maker:
    """Makes problems, and says at which point it fails.

    The last one is kept, as a large file takes seconds to read; whoever it is sent to reads it anew.
    """

    make: Make
    varied: tuple[str, ...]
    last: list[tuple[Mapping[str, Number], Problem]] = field(default_factory=list, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {"make": self.make, "varied": self.varied, "last": []}

    def __call__(self, settings: Mapping[str, Number]) -> Problem:
        if not self.last or self.last[0][0] != settings:
            self.last[:] = [(dict(settings), self._made(settings))]
        return self.last[0][1]

    def _made(self, settings: Mapping[str, Number]) -> Problem:
        try:
            return self.make(**settings)
        except UnknownName:
            raise
        except HcsspError as error:
            raise InvalidProblem([f"{_in_words(settings)}{error}"]) from error


def _floats(numbers: Mapping[str, Number]) -> dict[str, float]:
    return {name: float(number) for name, number in numbers.items()}


def _in_words(settings: Mapping[str, Number]) -> str:
    told = ", ".join(f"{name} = {float(value):.9g}" for name, value in settings.items())
    return f"at {told}: " if told else ""


def _inner(make: _Maker, grid: Grid, first: Problem) -> tuple[str, ...]:
    """The parameters that leave the activities as they are, by a look at their first and last values."""
    before = _activities(first)
    found = []
    for axis in grid.settings:
        other = grid.at(0)[0] | {axis.name: axis.values[-1]}
        if len(axis.values) == 1 or _activities(make(other)) == before:
            found.append(axis.name)
    return tuple(found)


def _activities(problem: Problem) -> list[bytes]:
    if not isinstance(problem, HCSSP):
        return [digest_of(problem)]
    return [digest_of(cssp) for cssp in {id(each.cssp): each.cssp for each in problem.activities}.values()]


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
    except HcsspError as error:
        raise InvalidProblem([f"{_in_words({**settings, **bounds})}{error}"]) from error
    if plan.ending.reason is Reason.INTERRUPTED:
        # Ctrl-C is an ordinary end of one search, but it means all of them.
        raise KeyboardInterrupt
    if plan.found:
        neighbour.plan = plan
    names = (problem.primary_name, *problem.constraint_names) if plan.found else ()
    return SweepPoint(
        _floats(settings),
        _floats(bounds),
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
        self, make: _Maker, neighbour: _Neighbour, *criteria: StopCriterion
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
            under = problem.with_bounds(_floats(bounds))
            yield place, _solve_point(under, settings, bounds, stop, neighbour)


def _solve_strand(make: _Maker, strand: _Strand) -> list[tuple[int, SweepPoint]]:
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
class _Run:
    """A sweep under way."""

    make: _Maker
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
        SideBySide(workers, _SharedSweep(self, workers, Division(blocks, at_once))).run()

    def strand(self, places: Sequence[int]) -> _Strand:
        """Some points, to be solved one after the other."""
        return _Strand(self.grid, tuple(places), self.gap, self.time_limit)

    def _missing(self, places: Sequence[int]) -> list[int]:
        """Those of some points with the same parameters that must be solved; the others are known."""
        if self.known is None:
            return list(places)
        problem = self.make(self.grid.at(places[0])[0])
        missing = []
        for place in places:
            settings, bounds = self.grid.at(place)
            under = problem.with_bounds(_floats(bounds))
            self.keys[place] = self.known.key(under)
            found = self.known.find(self.keys[place])
            if found is None or not found.is_done(self.gap):
                missing.append(place)
                continue
            # Another grid may have got there by other parameters.
            self._tell(place, replace(found, settings=_floats(settings), bounds=_floats(bounds)))
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

    run: _Run
    workers: Workers
    division: Division
    neighbour: _Neighbour = field(default_factory=_Neighbour)

    def following(self, done: Share | None) -> Share | None:
        return self.division.following(done)

    def send(self, piece: Share) -> Task:
        make = self.workers.share(self.run.make)
        return self.workers.submit(_solve_strand, make, self.run.strand(piece.places))

    def do(self, piece: Share, attend: StopCriterion) -> list[tuple[int, SweepPoint]]:
        return list(self.run.strand(piece.places).solved(self.run.make, self.neighbour, attend))

    def learn(self, piece: Share, answer: list[tuple[int, SweepPoint]]) -> None:
        """Nothing: who has solved a neighbour has kept what it learnt."""

    def take(self, piece: Share, answer: list[tuple[int, SweepPoint]]) -> None:
        for place, point in answer:
            self.run.add(place, point)
