"""Running HiGHS: a model of arrays in, an answer out, in a thread so that Ctrl-C and stop criteria work.

HiGHS runs beside the caller, who is woken every so often (and at every improvement) and may walk away at
any time: closing the generator asks HiGHS to stop. Nothing here interprets an answer; the objective and
the bound that HiGHS claims are handed over as claims.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import Any, NamedTuple

import numpy as np

from hcssp.contract.ending import Ending, Reason
from hcssp.cssp.model import BoolArray, FloatArray, SparseMatrix

TOLERANCE = 1e-9
"""Feasibility tolerance asked of HiGHS, primal, dual and integral."""

_WAKE_EVERY = 0.1
_WAIT_FOR_STOP = 5.0


class Outcome(StrEnum):
    """What a run of HiGHS came to."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


# The one place where HiGHS's vocabulary becomes ours. Models here are never unbounded (costs and
# variables are not negative), so "unbounded or infeasible" can only mean the latter.
_OUTCOMES: Mapping[str, Outcome] = {
    "kOptimal": Outcome.OPTIMAL,
    "kModelEmpty": Outcome.OPTIMAL,
    "kInfeasible": Outcome.INFEASIBLE,
    "kUnboundedOrInfeasible": Outcome.INFEASIBLE,
    "kTimeLimit": Outcome.TIME_LIMIT,
    "kInterrupt": Outcome.INTERRUPTED,
    "kHighsInterrupt": Outcome.INTERRUPTED,
    "kIterationLimit": Outcome.FAILED,
    "kSolutionLimit": Outcome.FAILED,
    "kMemoryLimit": Outcome.FAILED,
    "kObjectiveBound": Outcome.FAILED,
    "kObjectiveTarget": Outcome.FAILED,
    "kUnbounded": Outcome.FAILED,
    "kUnknown": Outcome.FAILED,
    "kNotset": Outcome.FAILED,
    "kLoadError": Outcome.FAILED,
    "kModelError": Outcome.FAILED,
    "kPresolveError": Outcome.FAILED,
    "kSolveError": Outcome.FAILED,
    "kPostsolveError": Outcome.FAILED,
}


# That nothing is feasible takes a proof of our own; HiGHS's word alone is no reason.
_REASONS = {
    Outcome.TIME_LIMIT: Reason.TIME_LIMIT,
    Outcome.INTERRUPTED: Reason.INTERRUPTED,
}


def ending_of(outcome: Outcome, status: str) -> Ending:
    """Why a search that rests on a run of HiGHS ends with it."""
    if outcome in _REASONS:
        return Ending(_REASONS[outcome])
    return Ending(Reason.FAILED, f"HiGHS ended with {status}")


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


class Claim(NamedTuple):
    """What HiGHS says while it works: a new solution, or None, and its lower bound."""

    values: FloatArray | None
    dual_bound: float


@dataclass(frozen=True, eq=False)
class Answer:
    """What HiGHS says in the end.

    Attributes
    ----------
    outcome, status
        What it came to, in our words and in those of HiGHS.
    values, row_duals
        The solution and the duals; None where there are none.
    dual_bound
        The lower bound that HiGHS claims.
    """

    outcome: Outcome
    status: str
    values: FloatArray | None = field(default=None, repr=False)
    row_duals: FloatArray | None = field(default=None, repr=False)
    dual_bound: float = -inf


def run(
    model: Model, options: Mapping[str, Any], start: FloatArray | None = None
) -> Generator[Claim | None, None, Answer]:
    """Solve `model`, yielding claims as they come and None as a sign of life; returns the answer.

    Parameters
    ----------
    model
        What to solve.
    options
        Options of HiGHS, by its names.
    start
        A solution to begin with (integer models).
    """
    import highspy

    highs: Any = highspy.Highs()
    # Set first: a refused value (a method that is not built in) must not go unnoticed.
    for name, value in {"output_flag": False, **options}.items():
        if highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise ValueError(f"HiGHS refuses option {name!r} = {value!r}")
    if not _pass(highs, model, start):
        return Answer(Outcome.FAILED, "a refusal of the model; a coefficient is out of its range")
    claims: queue.SimpleQueue[Claim | None] = queue.SimpleQueue()
    cancelled = threading.Event()
    done = threading.Event()

    def interrupt_if_cancelled(event: Any) -> None:
        if cancelled.is_set():
            event.interrupt()

    def new_solution(event: Any) -> None:
        claims.put(Claim(np.array(event.data_out.mip_solution), float(event.data_out.mip_dual_bound)))

    def new_bound(event: Any) -> None:
        claims.put(Claim(None, float(event.data_out.mip_dual_bound)))

    for callback in (highs.cbSimplexInterrupt, highs.cbIpmInterrupt, highs.cbMipInterrupt):
        callback.subscribe(interrupt_if_cancelled)
    if model.integer is not None:
        highs.cbMipImprovingSolution.subscribe(new_solution)
        highs.cbMipLogging.subscribe(new_bound)

    def work() -> None:
        try:
            highs.run()
            # As HiGHS's own thread does: its workers belong to the thread that began them.
            highspy.Highs.resetGlobalScheduler(False)
        finally:
            done.set()
            claims.put(None)

    thread = threading.Thread(target=work, daemon=True, name="HiGHS")
    thread.start()
    try:
        while not (done.is_set() and claims.empty()):
            try:
                claim = claims.get(timeout=_WAKE_EVERY)
            except queue.Empty:
                claim = None
            if claim is not None or not done.is_set():
                yield claim
    finally:
        cancelled.set()
        # Some methods cannot be interrupted; the thread is a daemon and ends with the process.
        thread.join(timeout=_WAIT_FOR_STOP)
    return _answer(highs, model)


def _pass(highs: Any, model: Model, start: FloatArray | None) -> bool:
    """Hand over a model; False if HiGHS refuses it."""
    import highspy

    columns = model.columns
    count, rows = columns.shape
    integer = np.zeros(count, dtype=np.int32) if model.integer is None else model.integer.astype(np.int32)
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
        integer,
    )
    if status == highspy.HighsStatus.kError:
        return False
    if start is not None:
        solution = highspy.HighsSolution()
        solution.col_value = start
        highs.setSolution(solution)
    return True


def _answer(highs: Any, model: Model) -> Answer:
    status = highs.getModelStatus().name
    outcome = _OUTCOMES.get(status, Outcome.FAILED)
    solution = highs.getSolution()
    info = highs.getInfo()
    values = np.array(solution.col_value, dtype=np.float64) if solution.value_valid else None
    duals = np.array(solution.row_dual, dtype=np.float64) if solution.dual_valid else None
    if outcome is Outcome.OPTIMAL and values is None:
        values, duals = np.zeros(len(model.costs)), np.zeros(len(model.row_lower))
    dual_bound = float(info.mip_dual_bound) if model.integer is not None else -inf
    if outcome is Outcome.OPTIMAL and dual_bound == -inf:
        # What presolve has proved leaves no trace in the bound.
        dual_bound = float(info.objective_function_value)
    return Answer(
        outcome=outcome,
        status=status,
        values=values,
        row_duals=duals,
        dual_bound=dual_bound,
    )
