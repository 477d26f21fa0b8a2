from __future__ import annotations

import threading

import pytest

from hcssp.threads import MIN_STATES_FOR_THREADS, parallel_map


def test_small_problems_stay_in_this_thread() -> None:
    threads = parallel_map(lambda _: threading.get_ident(), range(5), MIN_STATES_FOR_THREADS)
    assert set(threads) == {threading.get_ident()}


def test_large_ones_do_not_and_their_answers_come_in_order() -> None:
    def answer(item: int) -> tuple[int, int]:
        return item, threading.get_ident()

    found = parallel_map(answer, iter(range(20)), MIN_STATES_FOR_THREADS + 1)
    assert [item for item, _ in found] == list(range(20))
    assert threading.get_ident() not in {thread for _, thread in found}


def test_a_single_item_needs_no_thread() -> None:
    assert parallel_map(lambda _: threading.get_ident(), [0], 10**9) == [threading.get_ident()]


@pytest.mark.parametrize("num_states", [0, MIN_STATES_FOR_THREADS + 1])
def test_an_error_is_raised_here(num_states: int) -> None:
    with pytest.raises(ZeroDivisionError):
        parallel_map(lambda item: 1 // item, [1, 0, 2], num_states)
