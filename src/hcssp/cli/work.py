"""A solver at work for a command: its progress is told, its plans are saved, whatever ends it keeps the plan.

Signals, the time limit, a lack of memory and even a fault of the solver end it with the best plan so far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hcssp.errors import DeadEnd, HcsspError

if TYPE_CHECKING:
    from hcssp.cli.interruption import Interruption
    from hcssp.cli.plans import PlanSaver
    from hcssp.cli.progress import ProgressPrinter
    from hcssp.contract.ending import Ending
    from hcssp.contract.plan import Plan
    from hcssp.contract.progress import Progress
    from hcssp.contract.solver import Solver
    from hcssp.contract.stop import StopCriterion
    from hcssp.numerics import Tolerances
    from hcssp.procedure import HCSSP
    from hcssp.proofs.search_record import SearchRecord
    from hcssp.workers import Workers


class Faulty(Exception):
    """A mistake of ours, its cause, ended the search; the plan that was found until then is kept.

    Attributes
    ----------
    plan
        The best plan so far, evaluated, about which nothing is proven.
    """

    def __init__(self, plan: Plan) -> None:
        super().__init__("the search failed")
        self.plan = plan


def work(
    problem: HCSSP,
    solver: Solver,
    criteria: list[StopCriterion],
    printer: ProgressPrinter,
    interruption: Interruption,
    saver: PlanSaver | None = None,
    start: Plan | None = None,
    tolerances: Tolerances | None = None,
    workers: Workers | None = None,
    record: SearchRecord | None = None,
    time_limit: float | None = None,
) -> Plan:
    """Solve, printing the progress and saving plans; a signal or the time limit ends it with the best plan.

    At any instant, that is; before the first step the plan to start with is the best one. The time limit, in
    seconds, counts from here on.

    Raises
    ------
    Faulty
        If the search fails; with the best plan so far.
    """
    from dataclasses import replace
    from math import inf

    from hcssp.contract.ending import Ending, Reason
    from hcssp.contract.plan import Plan
    from hcssp.contract.stop import MaxRuntime
    from hcssp.numerics import DEFAULT_TOLERANCES
    from hcssp.solving.solve import solve

    latest = first_progress(start)

    def on_progress(progress: Progress) -> None:
        nonlocal latest
        latest = progress
        interruption.look(progress)
        if saver is not None:
            saver(progress)
        printer(progress)

    allowed = tolerances or DEFAULT_TOLERANCES
    limit = inf if time_limit is None else time_limit
    try:
        interruption.begin()
        interruption.allow(limit)
        plan = solve(
            problem,
            solver,
            interruption.watching([*criteria, MaxRuntime(limit)]),
            on_progress,
            start=start,
            tolerances=allowed,
            executor=workers,
            record=record,
        )
        interruption.end()
    except DeadEnd as error:
        interruption.end()
        return Plan.of_dead_end(problem, error, solver.name)
    except HcsspError:
        raise
    except KeyboardInterrupt:
        # So early, or so late, that the search did not see it.
        return stopped(problem, solver.name, latest, interruption)
    except MemoryError as error:
        interruption.end()
        ending = Ending(Reason.MEMORY, str(error))
        return _kept(problem, solver.name, latest, ending, lower_bound=latest.lower_bound)
    except Exception as error:
        interruption.end()
        raise Faulty(_kept(problem, solver.name, latest, Ending(Reason.FAILED))) from error
    return replace(plan, ending=interruption.ending) if plan.ending.reason is Reason.INTERRUPTED else plan


def first_progress(start: Plan | None) -> Progress:
    """What is known before a search: the plan to start with, if there is one."""
    from hcssp.contract.progress import Progress

    if start is None or not start.found:
        return Progress()
    return Progress(incumbent=start.found_policy, upper_bound=start.upper_bound)


def stopped(problem: HCSSP, method: str, progress: Progress, interruption: Interruption) -> Plan:
    """The best plan so far, of a search that a signal or the time limit has ended.

    Raises
    ------
    KeyboardInterrupt
        If whoever sends signals insists on the end.
    """
    from dataclasses import replace

    if interruption.insisted:
        raise KeyboardInterrupt
    interruption.end()
    ending = interruption.ending
    if progress.iterations == 0:
        ending = replace(ending, detail="before the first step")
    return _kept(problem, method, progress, ending, lower_bound=progress.lower_bound)


def _kept(
    problem: HCSSP, method: str, progress: Progress, ending: Ending, lower_bound: float | None = None
) -> Plan:
    """The best plan so far; after a fault what the search claims to have proven is not believed."""
    from math import inf

    from hcssp.contract.plan import Plan
    from hcssp.contract.proof import Interval

    plan = Plan(
        problem=problem,
        found_policy=progress.incumbent,
        proof=Interval(-inf if lower_bound is None else lower_bound),
        ending=ending,
        method=method,
        seconds=progress.seconds,
        iterations=progress.iterations,
        budgets=progress.budgets or {},
    )
    if not plan.found:
        return plan
    evaluated = plan.evaluated()
    # A fault may be that the search took what breaks its bounds for a plan.
    return evaluated if evaluated.keeps_bounds() else Plan(problem, ending=ending, method=method)
