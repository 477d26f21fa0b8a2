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
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from math import inf
from pathlib import Path

from hcssp.contract.memory import Problem
from hcssp.cssp.identical_problems import digest_of
from hcssp.cssp.implicit import refuse_implicit
from hcssp.errors import UnknownName
from hcssp.procedure.model import HCSSP
from hcssp.procedure.single import as_procedure
from hcssp.procedure.units import called
from hcssp.solving.sweep_grid import Grid, Number
from hcssp.solving.sweep_maker import Make, Maker, maker_of
from hcssp.solving.sweep_record import KnownPoints, Sweep, SweepPoint
from hcssp.solving.sweep_run import SweepRun, be_ready
from hcssp.workers import Workers, open_workers


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
    gap
        The relative gap at which a point is done.
    time_limit
        Seconds for each point; what is proven by then is reported.
    file
        Where points are kept as they are found. Those that are there already, and good enough, are not
        solved again: they are claims (:attr:`SweepPoint.status`).
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
    make = Maker(maker_of(problem), tuple(axis.name for axis in grid.settings))
    with ExitStack() as opened:
        workers: Workers | None = None
        if executor is not None or jobs != 1:
            workers = opened.enter_context(
                open_workers(None if executor is not None else jobs, executor=executor)
            )
            # They take a moment to start, and so does the first problem.
            workers.warm_up(be_ready, min(workers.helpers, len(grid) - 1))
        first = make(grid.at(0)[0])
        refuse_implicit(first, "a sweep")
        unknown = [axis.name for axis in grid.bounds if axis.name not in first.constraint_names]
        if unknown:
            raise UnknownName("constraint", unknown[0], first.constraint_names)
        known: KnownPoints | None = None
        if file is not None:
            from hcssp.files.sweep_file import SweepFile

            known = SweepFile(file)
        run = SweepRun(make, grid, gap, time_limit, known, on_point)
        inner = _inner(make, grid, first)
        if workers is None:
            run.alone(inner)
        else:
            run.shared(inner, workers)
    return sweep_of(first, grid, run.done, time.perf_counter() - began)


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


def _inner(make: Maker, grid: Grid, first: Problem) -> tuple[str, ...]:
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
