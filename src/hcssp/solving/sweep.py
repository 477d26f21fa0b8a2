"""Sweeps: the best plan for every combination of parameters and bounds.

A point starts from the results of the point before it. Under other bounds, everything that was learnt holds
(:class:`~hcssp.contract.solver.Memory`). Under other parameters, what is known about activities that stay the
same does, the policy before is the first incumbent if it keeps the bounds, and its prices are the first to be
tried. Every point is proven by itself.

>>> from hcssp.scenarios import small_building
>>> found = sweep(small_building(), bounds={"damage": [2.0, 1.0]})
>>> [(point.bounds["damage"], round(point.upper_bound, 3)) for point in found.points]
[(1.0, 46.662), (2.0, 27.719)]
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from itertools import groupby
from math import inf, isfinite, isnan, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hcssp.contract.plan import Plan
from hcssp.contract.proof import Reason, Status, refuse_contradiction
from hcssp.contract.solver import Memory, Problem, Solver, as_chosen_by
from hcssp.cssp.model import refuse_implicit, reward_gap
from hcssp.cssp.preprocessing import digest_of
from hcssp.display import Picture, frame
from hcssp.errors import (
    DeadEnd,
    HcsspError,
    ImproperPolicy,
    InvalidOption,
    InvalidPlan,
    InvalidProblem,
    UnknownName,
)
from hcssp.files.atomic import Journal, worded
from hcssp.files.fingerprint import fingerprint
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.numerics import relative_gap
from hcssp.procedure.model import HCSSP
from hcssp.solving.registry import find_method
from hcssp.solving.solve import solve
from hcssp.workers import kept, open_workers

if TYPE_CHECKING:
    from pandas import DataFrame

Number = int | float | Fraction

Make = Callable[..., Problem]
"""Makes the problem from parameters, which are keywords."""

MAX_POINTS = 1_000_000
"""A grid with more points is refused: it would fill the memory before its first point."""


@dataclass(frozen=True)
class SweepAxis:
    """A parameter or bound that is varied.

    Attributes
    ----------
    name
        A parameter of the problem, or a constraint.
    is_bound
        Whether it is the bound of that constraint.
    values
        Ascending, each once.
    """

    name: str
    is_bound: bool
    values: tuple[Number, ...]

    @property
    def numbers(self) -> tuple[float, ...]:
        """The values as floats."""
        return tuple(float(value) for value in self.values)


@dataclass(frozen=True)
class Grid:
    """All combinations of the values of some axes; bounds come last and vary fastest.

    >>> grid = Grid.of({"locked": [0.2, 0.1]}, {"damage": [1.0, 2.0]})
    >>> len(grid), grid.at(2)
    (4, ({'locked': 0.2}, {'damage': 1.0}))
    >>> [axis.name for axis in grid.axes]
    ['locked', 'damage']

    Attributes
    ----------
    settings, bounds
        The axes of parameters, and those of bounds.
    """

    settings: tuple[SweepAxis, ...]
    bounds: tuple[SweepAxis, ...]

    @classmethod
    def of(cls, settings: Mapping[str, Sequence[Number]], bounds: Mapping[str, Sequence[Number]]) -> Grid:
        """The grid of these values.

        Raises
        ------
        InvalidProblem
            If an axis has no values, or some that are no numbers, or there are too many points.
        """
        found: list[str] = []
        axes = [_axis(name, False, values, found) for name, values in settings.items()]
        axes += [_axis(name, True, values, found) for name, values in bounds.items()]
        count = prod(len(axis.values) for axis in axes)
        if count > MAX_POINTS:
            found.append(f"the sweep would have {count:,} points; give at most {MAX_POINTS:,}")
        if found:
            raise InvalidProblem(found)
        return cls(tuple(axes[: len(settings)]), tuple(axes[len(settings) :]))

    @property
    def axes(self) -> tuple[SweepAxis, ...]:
        """All of them, in the order of the points."""
        return (*self.settings, *self.bounds)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """How many values each axis has."""
        return tuple(len(axis.values) for axis in self.axes)

    def __len__(self) -> int:
        return prod(self.shape)

    def at(self, index: int) -> tuple[dict[str, Number], dict[str, Number]]:
        """The parameters and the bounds of a point."""
        places = np.unravel_index(index, self.shape) if self.shape else ()
        named = [(axis, axis.values[place]) for axis, place in zip(self.axes, places, strict=True)]
        return (
            {axis.name: value for axis, value in named if not axis.is_bound},
            {axis.name: value for axis, value in named if axis.is_bound},
        )

    def place(self, settings: Mapping[str, float], bounds: Mapping[str, float]) -> int:
        """The point with these parameters and bounds; the reverse of :meth:`at`."""
        index = 0
        for axis in self.axes:
            value = (bounds if axis.is_bound else settings)[axis.name]
            index = index * len(axis.values) + axis.numbers.index(value)
        return index

    def order(self, inner: Sequence[str]) -> list[int]:
        """All points, in an order in which the parameters `inner` vary faster than the others."""
        if not self.shape:
            return [0]
        places = np.unravel_index(np.arange(len(self)), self.shape)
        keys = [(axis.is_bound, axis.name in inner, place) for place, axis in enumerate(self.axes)]
        return [int(each) for each in np.lexsort([places[key[-1]] for key in sorted(keys, reverse=True)])]


def _axis(name: str, is_bound: bool, values: Sequence[Number], found: list[str]) -> SweepAxis:
    """The axis; its errors are added to `found`."""
    what = f"the bound on {name!r}" if is_bound else f"{name!r}"
    if not values:
        found.append(f"{what} has no values; give at least one")
    for value in values:
        number = float(value)
        if isnan(number) or (not isfinite(number) and not (is_bound and number > 0.0)):
            found.append(f"{what} is {number}; give finite numbers{', or inf' if is_bound else ''}")
            return SweepAxis(name, is_bound, ())
    return SweepAxis(name, is_bound, tuple(sorted(set(values), key=float)))


@dataclass(frozen=True)
class SweepPoint:
    """The result at one combination.

    Attributes
    ----------
    settings, bounds
        The parameters and the bounds that were varied.
    status, lower_bound, upper_bound
        What is proven about the best deterministic plan. With the status ``claimed``, everything here is
        what a results file says, and nothing of it was checked.
    costs
        The exact expected costs of the plan that was found, by name; empty if none was.
    prices
        The price of each constraint, if it is known.
    randomised
        No plan costs less, not even a randomised one; None if that is unknown.
    reason
        Why the search ended.
    message
        Why there is no plan; empty if there is one.
    iterations, seconds, cpu_seconds
        The processor time of the search.
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
        """The objective of the plan: its expected reward if one is maximised, else its primary cost."""
        return self.upper_bound if self.reward is None else self.reward

    @property
    def limit(self) -> float:
        """What no plan betters: a lower bound on the cost, an upper bound on the reward."""
        return self.lower_bound if self.reward_at_most is None else self.reward_at_most

    @property
    def gap(self) -> float:
        """The proven relative gap, ``inf`` while either bound is unknown."""
        if self.reward is not None and self.reward_at_most is not None:
            return reward_gap(self.reward, self.reward_at_most, self.reward_at_most + self.lower_bound)
        return relative_gap(self.lower_bound, self.upper_bound)

    @property
    def found(self) -> bool:
        """Whether there is a plan."""
        return bool(self.costs)

    def at(self, axis: SweepAxis) -> float:
        """Where it lies on an axis."""
        return (self.bounds if axis.is_bound else self.settings)[axis.name]

    @property
    def is_claimed(self) -> bool:
        """Whether the point was taken from a results file, and nothing of it was checked."""
        return self.status is Status.CLAIMED

    def is_done(self, gap: float) -> bool:
        """Whether nothing is left to do if this gap is wanted."""
        return self.status is Status.INFEASIBLE or self.gap <= gap or self.reason == Reason.PROVED


@dataclass(frozen=True)
class Sweep(Picture):
    """The best plans over a grid of parameters and bounds.

    Attributes
    ----------
    problem
        The name of the problem.
    primary, constraints
        The cost that is minimised, and the names of the constraints.
    called
        What costs and constraints are called for people, with their units.
    axes
        The parameters and bounds that were varied; bounds come last.
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

    def columns(self) -> dict[str, list[object]]:
        """The points as columns of equal length, for tables of any kind."""
        columns: dict[str, list[object]] = {}
        for axis in self.axes:
            kind = "bound" if axis.is_bound else "set"
            columns[f"{kind}_{axis.name}"] = [point.at(axis) for point in self.points]
        columns["status"] = [point.status.value for point in self.points]
        rewards = () if self.reward is None else ("reward", "reward_at_most")
        for name in ("lower_bound", "upper_bound", "gap", "randomised", *rewards):
            columns[name] = [getattr(point, name) for point in self.points]
        for name in (self.primary, *self.constraints):
            columns[f"expected_{name}"] = [point.costs.get(name) for point in self.points]
        for name in self.constraints:
            columns[f"price_{name}"] = [point.prices.get(name) for point in self.points]
        for name in ("reason", "iterations", "seconds", "cpu_seconds"):
            columns[name] = [getattr(point, name) for point in self.points]
        return columns

    def to_frame(self) -> DataFrame:
        """The points as a ``pandas.DataFrame``.

        Raises
        ------
        MissingDependency
            If pandas is not installed.
        """
        return frame(self.columns())

    def report(self, path: str | Path) -> None:
        """Write one page of HTML with a slider for every axis; see :mod:`hcssp.reports.page`."""
        from hcssp.reports.page import save_sweep_page

        save_sweep_page(self, path)

    def __repr__(self) -> str:
        axes = ", ".join(axis.name for axis in self.axes)
        known = [point.gap for point in self.points if point.found]
        return (
            f"<Sweep of {self.problem or 'a problem'} over {axes}: {len(known)} of {len(self.points)} points "
            f"with a plan, gap at most {max(known, default=inf):.2g}>"
        )


def sweep(
    problem: Problem | str | Path | Make,
    settings: Mapping[str, Sequence[Number]] | None = None,
    bounds: Mapping[str, Sequence[Number]] | None = None,
    *,
    method: Solver | str | None = None,
    gap: float = 1e-4,
    time_limit: float = inf,
    file: str | Path | None = None,
    on_point: Callable[[SweepPoint], object] | None = None,
    jobs: int = 1,
    executor: object | None = None,
) -> Sweep:
    """Solve a problem for all combinations of parameters and bounds.

    Parameters
    ----------
    problem
        A built-in problem's name, a problem file, a function that makes the problem from parameters given by
        keyword, or a problem of which only bounds vary.
    settings, bounds
        The values of each parameter, and the bounds on each constraint; the others stay as they are.
    method
        A method with its parameters, or its name; by default the exact method.
    gap
        The relative gap at which a point is done.
    time_limit
        Seconds for each point; the interval proven by then is reported.
    file
        Where points are kept as they are found. Those that are there already, and good enough, are not
        solved again: they are claims (:attr:`SweepPoint.status`).
    on_point
        Called with every point when it is known, in the order in which they are solved.
    jobs
        The number of processes of this machine that work on the points.
    executor
        Works on them instead: a Dask client, or any executor of :mod:`concurrent.futures`.

    Raises
    ------
    InvalidProblem
        If there is no such combination; the message names the point.
    InvalidOption
        If the method looks for randomised policies.
    KeyboardInterrupt
        On Ctrl-C; the points that are done by then have been passed to `on_point`, and are in the file.
    """
    began = time.perf_counter()
    grid = Grid.of(settings or {}, bounds or {})
    solver = find_method(method).make() if isinstance(method, str) else method or PolicyBranching()
    if getattr(solver, "policies", "deterministic") != "deterministic":
        raise InvalidOption(f"method={solver.name!r}: a sweep compares deterministic plans; use another")
    make = Maker(problem, solver)
    with open_workers(None if executor is not None else jobs, executor=executor) as workers:
        # They take a moment to start, and so does the first problem.
        workers.warm_up(be_ready)
        first = make(grid.at(0)[0])
        refuse_implicit(first, "a sweep")
        unknown = [axis.name for axis in grid.bounds if axis.name not in first.constraint_names]
        if unknown:
            raise UnknownName("constraint", unknown[0], first.constraint_names)
        known: Journal[str, SweepPoint] | None = None
        if file is not None:
            known = sweep_file(file)
        done = _Points(make, grid, gap, known, on_point)
        # One by one here; several at a time elsewhere, since neighbours help each other.
        size = 1 if workers.count == 1 else max(1, min(16, len(grid) // (4 * workers.count)))
        strands = done.strands(grid.order(_inner(make, grid, first)), size)
        shared = workers.share(make)
        for _, task in workers.each(
            strands, lambda strand: workers.submit(_solve_strand, shared, strand, gap, time_limit)
        ):
            done.add(task.result())
    return sweep_of(first, grid, done.points, time.perf_counter() - began)


def sweep_of(problem: Problem, grid: Grid, done: Mapping[int, SweepPoint], seconds: float) -> Sweep:
    """The record of the points that are done, by their places in the grid."""
    names = (problem.primary_name, *problem.constraint_names)
    return Sweep(
        problem.name,
        problem.primary_name,
        tuple(problem.constraint_names),
        {name: problem.called(name) for name in names},
        grid.axes,
        tuple(done[index] for index in sorted(done)),
        seconds,
        None if problem.reward is None else problem.reward.name,
        tuple(name for name in problem.constraint_names if problem.probability_of(name)),
    )


def _inner(make: Maker, grid: Grid, first: Problem) -> tuple[str, ...]:
    """The parameters that leave the activities as they are, judged by their first and last values."""
    before = _activities(first)
    found = []
    for axis in grid.settings:
        other = grid.at(0)[0] | {axis.name: axis.values[-1]}
        if len(axis.values) == 1 or _activities(make(other)) == before:
            found.append(axis.name)
    return tuple(found)


def _activities(problem: Problem) -> list[bytes]:
    return [digest_of(cssp) for cssp in {id(cssp): cssp for cssp in problem.cssps}.values()]


class Maker:
    """Makes the problems of a sweep from their parameters, here or at a worker.

    The last one is kept, as a large file takes seconds to read. It is not pickled.

    Parameters
    ----------
    source, solver
        What :func:`sweep` is given.
    """

    def __init__(self, source: Problem | str | Path | Make, solver: Solver) -> None:
        self._source, self.solver = source, solver
        self._last: tuple[Mapping[str, Number], Problem] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_source": self._source, "solver": self.solver, "_last": None}

    def __call__(self, settings: Mapping[str, Number]) -> Problem:
        last = self._last
        if last is None or last[0] != settings:
            made = self._made(settings)
            made = as_chosen_by(self.solver, made) if isinstance(made, HCSSP) else made
            last = self._last = dict(settings), made
        return last[1]

    def _made(self, settings: Mapping[str, Number]) -> Problem:
        source = self._source
        try:
            if isinstance(source, str | Path):
                from hcssp.files.named_problem import find_problem

                return find_problem(str(source), settings)
            if callable(source):
                return source(**settings)
        except UnknownName:
            raise
        except HcsspError as error:
            raise _located(settings, error) from error
        if settings:
            raise InvalidProblem(
                [
                    f"a problem has no parameter {next(iter(settings))!r} any more; give its name, its file "
                    "or a function that makes it"
                ]
            )
        return source


def _located(numbers: Mapping[str, Number], error: HcsspError) -> InvalidProblem:
    """The error, which names the point where it was raised."""
    named = ", ".join(f"{name} = {float(value):.9g}" for name, value in numbers.items())
    return InvalidProblem([f"at {named}: {error}" if named else str(error)])


Strand = list[tuple[int, dict[str, Number], dict[str, Number]]]
"""Points that are solved one after the other: their places, parameters, which are the same, and bounds."""


@dataclass
class _Points:
    """The points of a sweep: those that are done, and those that are to be solved."""

    make: Maker
    grid: Grid
    gap: float
    known: Journal[str, SweepPoint] | None
    on_point: Callable[[SweepPoint], object] | None
    points: dict[int, SweepPoint] = field(default_factory=dict)
    keys: dict[int, str] = field(default_factory=dict)

    def strands(self, order: Sequence[int], size: int) -> Iterator[Strand]:
        """What must be solved, up to `size` points with the same parameters at a time."""
        per_setting = prod(len(axis.values) for axis in self.grid.bounds)
        for _, places in groupby(order, key=lambda place: place // per_setting):
            missing = [(place, *self.grid.at(place)) for place in places]
            if self.known is not None:
                missing = [each for each in missing if not self._is_claimed(self.known, *each)]
            for begin in range(0, len(missing), size):
                yield missing[begin : begin + size]

    def _is_claimed(
        self,
        known: Journal[str, SweepPoint],
        place: int,
        settings: Mapping[str, Number],
        bounds: Mapping[str, Number],
    ) -> bool:
        """Whether the file has the point, which then is done."""
        under = self.make(settings).with_bounds(_floats(bounds))
        names = {under.primary_name, *under.constraint_names}
        self.keys[place] = sweep_key(under)
        found = known.find(self.keys[place])
        if found is None or not found.is_done(self.gap) or set(found.costs) not in (set(), names):
            return False
        # Another grid may have reached it by other parameters. The file holds no proof.
        self._done(
            place, replace(found, settings=_floats(settings), bounds=_floats(bounds), status=Status.CLAIMED)
        )
        return True

    def add(self, solved: Sequence[tuple[int, SweepPoint]]) -> None:
        """Save the result of a point."""
        for place, point in solved:
            if self.known is not None:
                self.known.add(self.keys[place], point)
            self._done(place, point)

    def _done(self, place: int, point: SweepPoint) -> None:
        self.points[place] = point
        if self.on_point is not None:
            self.on_point(point)


def be_ready() -> None:
    """Do nothing: a worker that calls this has imported the code for a point."""


@dataclass
class _Neighbour:
    """The results of the points before: their memory, and the last plan."""

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
            # Evaluated, since a policy that ended with other numbers may not end with these.
            return Plan(problem, policy.under(problem), prices=prices).evaluated()
        except (InvalidProblem, ImproperPolicy):
            return None


def _solve_strand(make: Maker, strand: Strand, gap: float, time_limit: float) -> list[tuple[int, SweepPoint]]:
    """Solve points one after the other; the worker keeps its results for its next points."""
    neighbour = kept("neighbour of a sweep", _Neighbour)
    return [
        (place, _solve_point(make(settings), make.solver, settings, bounds, gap, time_limit, neighbour))
        for place, settings, bounds in strand
    ]


def _solve_point(
    problem: Problem,
    solver: Solver,
    settings: Mapping[str, Number],
    bounds: Mapping[str, Number],
    gap: float,
    time_limit: float,
    neighbour: _Neighbour,
) -> SweepPoint:
    """Solve one point, beginning with what its neighbour has left, and leave the same to the next."""
    began, cpu = time.perf_counter(), time.process_time()
    problem = problem.with_bounds(_floats(bounds))
    limit = None if time_limit == inf else time_limit
    try:
        start = neighbour.start(problem)
        plan = solve(problem, solver, gap=gap, time_limit=limit, start=start, memory=neighbour.memory)
    except DeadEnd as error:
        plan = Plan.of_dead_end(problem, error)
    except HcsspError as error:
        raise _located({**settings, **bounds}, error) from error
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


def _floats(numbers: Mapping[str, Number]) -> dict[str, float]:
    return {name: float(number) for name, number in numbers.items()}


FORMAT = "hcssp-sweep-1"
"""The format in the first line of a file; it changes with the content of the lines."""


def sweep_file(path: str | Path) -> Journal[str, SweepPoint]:
    """The points of sweeps in a file, by :func:`sweep_key`; new points are added at its end.

    Raises
    ------
    InvalidProblem
        If it is another kind of file.
    CannotWrite
        If it cannot be written.
    """
    return Journal(
        path,
        _read,
        lambda key, point: {"key": key, "point": worded(asdict(point))},
        first={"format": FORMAT},
    )


def sweep_key(problem: Problem) -> str:
    """What identifies a problem in a file of a sweep, its bounds included."""
    bounds = dict(zip(problem.constraint_names, problem.bounds.tolist(), strict=True))
    return f"{fingerprint(problem)} {json.dumps(worded(bounds), sort_keys=True)}"


def _read(document: Any) -> tuple[str, SweepPoint] | None:
    """The key and the point of a line; None if it is not in order."""
    point = _point(document.get("point")) if isinstance(document, dict) else None
    return None if point is None else (str(document.get("key")), point)


def _point(document: Any) -> SweepPoint | None:
    """The point that a line holds; None if the line is not in order."""
    if not isinstance(document, dict) or set(document) != {each.name for each in fields(SweepPoint)}:
        return None
    perhaps = {name: document[name] for name in ("randomised", "reward", "reward_at_most")}
    try:
        refuse_contradiction(float(document["lower_bound"]), float(document["upper_bound"]))
        return SweepPoint(
            settings=_numbers(document["settings"]),
            bounds=_numbers(document["bounds"]),
            status=Status(document["status"]),
            lower_bound=float(document["lower_bound"]),
            upper_bound=float(document["upper_bound"]),
            costs=_numbers(document["costs"]),
            prices=_numbers(document["prices"]),
            reason=str(document["reason"]),
            message=str(document["message"]),
            iterations=int(document["iterations"]),
            seconds=float(document["seconds"]),
            cpu_seconds=float(document["cpu_seconds"]),
            **{name: None if value is None else float(value) for name, value in perhaps.items()},
        )
    except (TypeError, ValueError, AttributeError, InvalidPlan):
        return None


def _numbers(document: Any) -> dict[str, float]:
    return {str(name): float(value) for name, value in document.items()}
