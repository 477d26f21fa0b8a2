"""Running HiGHS: a model of arrays in, an answer out, in a thread so that Ctrl-C and stop criteria work.

HiGHS runs beside the caller, which gets control back at short intervals and at every new solution. Closing
the generator asks HiGHS to stop. Nothing here interprets an answer.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import isfinite
from typing import Any

import numpy as np

from hcssp.contract.progress import Progress
from hcssp.contract.proof import Ending, Reason
from hcssp.cssp.model import BoolArray, FloatArray, SparseMatrix


@dataclass(frozen=True)
class HighsParameters:
    """How HiGHS is run, and how its answers are read. No certified figure depends on these numbers.

    Attributes
    ----------
    tolerance
        Feasibility tolerance of a linear program, primal and dual.
    first_order_tolerance
        The same for the method "pdlp", which does not get further in reasonable time.
    integer_tolerance
        The same for an integer program; at 1e-9 the presolve of HiGHS has been seen to lose the optimum.
    negligible_flow
        Flow below this does not determine an action in a state.
    largest_flow
        A larger limit of a flow is of no use in double precision: a binary that is "zero" lets it through.
    margin
        Relative slack of the limits and bounds of an integer program: presolve may lose a policy that meets
        one exactly. A policy that breaks a bound for it is found out by its exact evaluation.
    raise_factor
        While no policy is known, a cost limit below which there is none is raised by this factor.
    poll_seconds
        The caller gets control back after this time.
    stop_seconds
        HiGHS may take this time to stop.
    """

    tolerance: float = 1e-9
    first_order_tolerance: float = 1e-7
    integer_tolerance: float = 1e-8
    negligible_flow: float = 1e-6
    largest_flow: float = 1e7
    margin: float = 1e-7
    raise_factor: float = 8.0
    poll_seconds: float = 0.1
    stop_seconds: float = 5.0


class Outcome(StrEnum):
    """How a run of HiGHS ended."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


# The one map from the statuses of HiGHS; all others are failures. Models here are never unbounded (costs and
# variables are not negative), so "unbounded or infeasible" can only mean the latter.
_OUTCOMES: Mapping[str, Outcome] = {
    "kOptimal": Outcome.OPTIMAL,
    "kModelEmpty": Outcome.OPTIMAL,
    "kInfeasible": Outcome.INFEASIBLE,
    "kUnboundedOrInfeasible": Outcome.INFEASIBLE,
    "kTimeLimit": Outcome.TIME_LIMIT,
    "kInterrupt": Outcome.INTERRUPTED,
    "kHighsInterrupt": Outcome.INTERRUPTED,
}

# Infeasibility takes a proof of our own; the status of HiGHS alone is no reason.
_REASONS = {Outcome.TIME_LIMIT: Reason.TIME_LIMIT, Outcome.INTERRUPTED: Reason.INTERRUPTED}


@dataclass(frozen=True, eq=False)
class Model:
    """Minimise ``costs . z`` subject to ``row_lower <= columns.T z <= row_upper`` and ``0 <= z <= upper``.

    Attributes
    ----------
    costs, upper
        One for each variable.
    columns
        CSR of one row for each *variable*: its coefficients in the constraints.
    row_lower, row_upper
        One for each constraint.
    integer
        Which variables are integer; None if none is.
    """

    costs: FloatArray
    upper: FloatArray
    columns: SparseMatrix
    row_lower: FloatArray
    row_upper: FloatArray
    integer: BoolArray | None = None


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer of HiGHS.

    Attributes
    ----------
    outcome, status
        How the run ended, and the status of HiGHS.
    values, row_duals
        The solution and the duals; None where there are none.
    """

    outcome: Outcome
    status: str
    values: FloatArray | None = field(default=None, repr=False)
    row_duals: FloatArray | None = field(default=None, repr=False)

    @property
    def ending(self) -> Ending:
        """Why a search that needs a solution ends with this answer."""
        if self.outcome in _REASONS:
            return Ending(_REASONS[self.outcome])
        return Ending(Reason.FAILED, f"HiGHS ended with {self.status}")


def options(tolerance: float, time_limit: float, **others: str | float) -> dict[str, str | float]:
    """Options of HiGHS: feasibility tolerances, the seconds that it may take, and `others`."""
    chosen: dict[str, str | float] = {
        "primal_feasibility_tolerance": tolerance,
        "dual_feasibility_tolerance": tolerance,
        **others,
    }
    if isfinite(time_limit):
        chosen["time_limit"] = max(0.01, time_limit)
    return chosen


def run(
    model: Model,
    options: Mapping[str, str | float],
    report: Callable[[FloatArray | None], Progress],
    parameters: HighsParameters | None = None,
) -> Generator[Progress, None, Answer]:
    """Solve `model`, yielding progress; returns the answer.

    Parameters
    ----------
    model
        What to solve.
    options
        Options of HiGHS, by its names.
    report
        Makes the progress that is yielded: of a new solution of an integer model, or of None at intervals.
    parameters
        How often the caller gets control back, and how long HiGHS may take to stop.

    Raises
    ------
    ValueError
        If HiGHS refuses an option.
    """
    import highspy

    waiting = parameters or HighsParameters()
    highs = solver_of(model, options)
    if highs is None:
        return Answer(Outcome.FAILED, "a refusal of the model; a coefficient is out of its range")
    solutions: queue.SimpleQueue[FloatArray | None] = queue.SimpleQueue()
    cancelled, done = threading.Event(), threading.Event()

    def interrupt_if_cancelled(event: Any) -> None:
        if cancelled.is_set():
            event.interrupt()

    def new_solution(event: Any) -> None:
        solutions.put(np.array(event.data_out.mip_solution))

    for callback in (highs.cbSimplexInterrupt, highs.cbIpmInterrupt, highs.cbMipInterrupt):
        callback.subscribe(interrupt_if_cancelled)
    if model.integer is not None:
        highs.cbMipImprovingSolution.subscribe(new_solution)

    def work() -> None:
        try:
            highs.run()
            # As the own thread of HiGHS does: its workers belong to the thread that started them.
            highspy.Highs.resetGlobalScheduler(False)
        finally:
            done.set()
            solutions.put(None)

    thread = threading.Thread(target=work, daemon=True, name="HiGHS")
    thread.start()
    try:
        while not (done.is_set() and solutions.empty()):
            try:
                values = solutions.get(timeout=waiting.poll_seconds)
            except queue.Empty:
                values = None
            if values is not None or not done.is_set():
                yield report(values)
    finally:
        cancelled.set()
        # Some methods cannot be interrupted; the thread is a daemon and ends with the process.
        thread.join(timeout=waiting.stop_seconds)
    return answer_of(highs, model)


def solver_of(model: Model, options: Mapping[str, str | float]) -> Any:
    """HiGHS with a model; None if HiGHS refuses that.

    Raises
    ------
    ValueError
        If HiGHS refuses an option.
    """
    import highspy

    highs: Any = highspy.Highs()
    # Set first: a refused value (a method that is not built in) must not go unnoticed.
    for name, value in {"output_flag": False, **options}.items():
        if highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise ValueError(f"HiGHS refuses option {name!r} = {value!r}")
    columns = model.columns
    count, rows = columns.shape
    integer = np.zeros(count) if model.integer is None else model.integer
    status = highs.passModel(
        count,
        rows,
        columns.nnz,
        int(highspy.MatrixFormat.kColwise),
        int(highspy.ObjSense.kMinimize),
        0.0,
        model.costs,
        np.zeros(count),
        model.upper,
        model.row_lower,
        model.row_upper,
        columns.indptr.astype(np.int32),
        columns.indices.astype(np.int32),
        columns.data,
        integer.astype(np.int32),
    )
    return None if status == highspy.HighsStatus.kError else highs


def answer_of(highs: Any, model: Model) -> Answer:
    """The answer of HiGHS after it has run."""
    status = highs.getModelStatus().name
    outcome = _OUTCOMES.get(status, Outcome.FAILED)
    solution = highs.getSolution()
    values = np.array(solution.col_value, dtype=np.float64) if solution.value_valid else None
    duals = np.array(solution.row_dual, dtype=np.float64) if solution.dual_valid else None
    if outcome is Outcome.OPTIMAL and values is None:
        values, duals = np.zeros(len(model.costs)), np.zeros(len(model.row_lower))
    return Answer(outcome, status, values, duals)
