"""Exit codes, faults, interruptions, and a solver at work for a command.

A fault of this program prints one line, and writes the details to a file that can be sent.

Ctrl-C, SIGTERM, SIGHUP and the time limit are ordinary ways to stop: what was found is kept and printed.

While a problem is read or a solver works, a signal raises ``KeyboardInterrupt`` in it, which ``solve`` turns
into a result. Before (while modules are imported, which must not be torn apart) and after (while the plan is
evaluated and printed) a signal is only noted, unless it is sent three times.

The time limit counts from :meth:`Interruption.allow` on, after the problem was read. A solver looks at the
clock by itself, but not everywhere: an alarm interrupts everything else a little after the time limit.

While a solver works for a command, its progress is printed and its plans are saved. Signals, the time limit,
a lack of memory and even a fault of the solver end it with the best plan so far.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from hcssp.errors import DeadEnd, HcsspError
from hcssp.start import INTERRUPTED as INTERRUPTED
from hcssp.start import SIGNALS, began

if TYPE_CHECKING:
    from hcssp.cli.plans import PlanSaver
    from hcssp.cli.session import Session
    from hcssp.contract.plan import Plan
    from hcssp.contract.progress import Progress, StopCriterion
    from hcssp.contract.proof import Ending
    from hcssp.contract.solver import Solver
    from hcssp.numerics import Tolerances
    from hcssp.procedure import HCSSP
    from hcssp.proofs.search_record import SearchRecord
    from hcssp.workers import Workers


SOLVED = 0


NO_PLAN = 1
"""No feasible plan exists, or none was found in time, or the plan that was evaluated breaks its bounds, or
the proof that was checked does not hold; the message says which."""


BAD_INPUT = 2
"""What was asked for makes no sense, or what was to be written cannot be."""


FAULT = 3
"""A mistake of this program, which should be reported."""


BROKEN_PIPE = 141
"""The reader of the output has gone: 128 + SIGPIPE, as from any other tool."""


def fault_in_words(error: BaseException, argv: Sequence[str]) -> str:
    """One line about a mistake of ours, with how to report it; the traceback goes to a file.

    Parameters
    ----------
    error
        What was raised.
    argv
        The arguments of the command.
    """
    first = next(iter(str(error).strip().splitlines()), "")
    why = f"{type(error).__name__}: {first}" if first else type(error).__name__
    where = _written(error, argv)
    details = f"the details are in {where}; please send them" if where else "please send this line"
    return f"hcssp: a fault of hcssp, not of your input ({why}); {details} to the maintainers"


def _written(error: BaseException, argv: Sequence[str]) -> Path | None:
    """The file with the details; None if none can be written."""
    import tempfile
    import traceback

    from hcssp.version import __version__

    trace = "".join(traceback.format_exception(error))
    text = f"hcssp {__version__}, Python {sys.version}\n{sys.platform}\narguments: {list(argv)!r}\n\n{trace}"
    try:
        with tempfile.NamedTemporaryFile(prefix="hcssp-fault-", suffix=".txt", delete=False) as stream:
            stream.write(text.encode(errors="backslashreplace"))
    except OSError:
        return None
    return Path(stream.name)


_INSISTS = 3


_ALARM = getattr(signal, "SIGALRM", None)
"""None where the system has no timers: there only solvers look at the clock."""


_LATER, _LONGER = 0.1, 1.01
"""The seconds added to a time limit, and the factor, after which the alarm comes."""


_LONGEST = 1e8


class Interruption:
    """A context in which signals interrupt the work, once.

    Attributes
    ----------
    requested
        Whether a signal has come.
    expired
        Whether the time limit has ended the work.
    before
        How many seconds had passed when the time limit began to count, such as for reading the problem.
    """

    def __init__(self) -> None:
        self.requested = False
        self.expired = False
        self.before = 0.0
        self._allowed = self._began = began()
        self._count = 0
        self._working = False
        self._handlers: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interruption:
        # Only the main thread can set handlers. A shell script starts its background jobs with SIGINT
        # ignored, but a signal that is sent to one is meant.
        if threading.current_thread() is threading.main_thread():
            self._handlers = {number: signal.signal(number, self._handle) for number in SIGNALS}
            if _ALARM is not None:
                self._handlers[_ALARM] = signal.signal(_ALARM, self._expire)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._set_alarm(0.0)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def begin(self) -> None:
        """Work begins: from now on a signal interrupts it, and one that has come does so at once."""
        self._working = True
        if self.requested:
            self._working = False
            raise KeyboardInterrupt

    def end(self) -> None:
        """Work is over: from now on a signal is only noted."""
        self._working = False
        self._set_alarm(0.0)

    def allow(self, seconds: float) -> None:
        """Allow the work that has begun this many seconds from now."""
        self.expired = False
        self._allowed = time.perf_counter()
        self.before = self._allowed - self._began
        # The system's timers end before its clocks do.
        self._set_alarm(min(_LONGER * seconds + _LATER, _LONGEST) if isfinite(seconds) else 0.0)

    @property
    def seconds(self) -> float:
        """How long the work has been going on that the time limit counts."""
        return time.perf_counter() - self._allowed

    @property
    def insisted(self) -> bool:
        """Whether enough signals have come for the command to end at once."""
        return self._count >= _INSISTS

    @property
    def ending(self) -> Ending:
        """What ended the work, if a signal or the alarm did."""
        from hcssp.contract.proof import Ending, Reason

        expired = self.expired and not self.requested
        return Ending(Reason.TIME_LIMIT if expired else Reason.INTERRUPTED)

    def watching(self, criteria: Sequence[StopCriterion]) -> Watching:
        """One stop criterion for all of `criteria` and the signals; when it holds, the work is over."""
        return Watching(self, criteria)

    def look(self, progress: Progress) -> None:
        """Take note of a solver that has finished by itself: the work is over."""
        if progress.ending is not None:
            self.end()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._count += 1
        self.requested = True
        if self._working or self.insisted:
            self._working = False
            raise KeyboardInterrupt

    def _expire(self, number: int, frame: FrameType | None) -> None:
        if self._working:
            self.expired = True
            self._working = False
            raise KeyboardInterrupt

    def _set_alarm(self, seconds: float) -> None:
        if _ALARM is not None and _ALARM in self._handlers:
            signal.setitimer(signal.ITIMER_REAL, seconds)


class Watching:
    """The stop criterion of a command: its own criteria, and the signals."""

    def __init__(self, interruption: Interruption, criteria: Sequence[StopCriterion]) -> None:
        from hcssp.contract.progress import time_limit_of

        self._interruption = interruption
        self._criteria = tuple(criteria)
        self.time_limit = time_limit_of(self._criteria)

    def __call__(self, progress: Progress) -> Ending | None:
        from hcssp.contract.progress import first_ending
        from hcssp.contract.proof import Ending, Reason

        # A signal may come where Python swallows exceptions (a finaliser), so the flag is asked too.
        if self._interruption.requested:
            ending: Ending | None = Ending(Reason.INTERRUPTED)
        else:
            ending = first_ending(self._criteria, progress)
        if ending is not None:
            self._interruption.end()
        return ending


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
    session: Session,
    problem: HCSSP,
    solver: Solver,
    criteria: list[StopCriterion],
    time_limit: float | None = None,
    saver: PlanSaver | None = None,
    start: Plan | None = None,
    tolerances: Tolerances | None = None,
    workers: Workers | None = None,
    record: SearchRecord | None = None,
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

    from hcssp.contract.plan import Plan
    from hcssp.contract.progress import MaxRuntime
    from hcssp.contract.proof import Ending, Reason
    from hcssp.numerics import DEFAULT_TOLERANCES
    from hcssp.solving.solve import solve

    interruption, latest = session.interruption, first_progress(start)

    def on_progress(progress: Progress) -> None:
        nonlocal latest
        latest = progress
        interruption.look(progress)
        if saver is not None:
            saver(progress)
        session.printer(progress)

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
            tolerances=tolerances or DEFAULT_TOLERANCES,
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
        If enough signals have come for the command to end at once.
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
