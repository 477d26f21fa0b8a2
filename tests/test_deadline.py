from __future__ import annotations

import signal
import threading
from math import inf

import numpy as np
import pytest
from scipy.sparse import csc_array, eye_array

from hazard_grid import hazard_grid
from hcssp.contract.progress import MaxRuntime
from hcssp.contract.proof import Reason
from hcssp.deadline import OutOfTime, awaited, keep_time, until
from hcssp.evaluation.linear_systems import EVALUATION, factorise
from hcssp.solving.solve import solve
from hcssp.threads import MIN_STATES_FOR_THREADS, parallel_map

LONG_AGO = -inf


def test_an_inner_deadline_ends_with_its_block_and_never_outlasts_the_outer_one() -> None:
    with until(inf):
        with until(LONG_AGO), pytest.raises(OutOfTime), until(inf):
            keep_time()
        keep_time()


def test_what_is_awaited_is_answered_or_raised() -> None:
    assert awaited(lambda: threading.current_thread() is threading.main_thread()) is False
    with pytest.raises(ZeroDivisionError):
        awaited(lambda: 1 // 0)


def test_work_is_left_alone_once_the_time_is_up() -> None:
    never = threading.Event()
    with pytest.raises(OutOfTime), until(inf) as deadline:
        awaited(lambda: (deadline.give_up(), never.wait()))
    never.set()


def test_threads_at_work_on_what_has_failed_elsewhere_are_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hcssp.threads._most_threads", 2)
    never = threading.Event()

    def work(item: int) -> object:
        if item == 0:
            raise ZeroDivisionError
        return awaited(never.wait)

    with pytest.raises(ZeroDivisionError):
        parallel_map(work, [0, 1], MIN_STATES_FOR_THREADS + 1)
    never.set()


def test_a_signal_is_heard_while_work_is_awaited() -> None:
    never, main = threading.Event(), threading.main_thread()

    def interrupted() -> None:
        signal.pthread_kill(main.ident or 0, signal.SIGINT)
        never.wait()

    # Where tests run in the background the signal may be ignored, and would be waited for for ever.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            awaited(interrupted)
    finally:
        signal.signal(signal.SIGINT, before)
        never.set()


def test_large_matrices_are_factorised_within_the_deadline_and_small_ones_at_once() -> None:
    small, large = (csc_array(2.0 * eye_array(size)) for size in (3, EVALUATION.small + 1))
    with until(LONG_AGO):
        assert factorise(small).solve(np.ones(3)).tolist() == [0.5] * 3
        with pytest.raises(OutOfTime):
            factorise(large)
    assert np.all(factorise(large, "NATURAL").solve(np.ones(EVALUATION.small + 1)) == 0.5)
    with pytest.raises(RuntimeError, match="singular"):
        factorise(csc_array((EVALUATION.small + 1, EVALUATION.small + 1)))


def test_a_search_that_runs_out_of_time_within_a_step_keeps_what_it_knows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hcssp.solving.solve.LATER", LONG_AGO)
    plan = solve(hazard_grid(60, 60), stop=MaxRuntime(3600.0))
    assert plan.ending.reason is Reason.TIME_LIMIT
    assert not plan.found
