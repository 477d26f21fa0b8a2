from __future__ import annotations

import sys

import pytest
from threadpoolctl import ThreadpoolController

import hcssp
from hcssp.threads import OF_ALL, OF_ONE, _is_single_anyway, single_threaded_algebra
from random_problems import random_cssp


def counts() -> set[int]:
    return {each.num_threads for each in ThreadpoolController().lib_controllers if each.user_api == "blas"}


def test_a_search_leaves_the_threads_of_its_caller_as_they_were() -> None:
    with ThreadpoolController().limit(limits=3, user_api="blas"):
        before = counts()
        met = []
        hcssp.solve(random_cssp(3), on_progress=lambda progress: met.append(counts()))
        assert met
        assert all(each == {1} for each in met)
        assert counts() == before != {1}


def test_an_error_lets_go_too() -> None:
    with ThreadpoolController().limit(limits=3, user_api="blas"):
        with pytest.raises(ZeroDivisionError), single_threaded_algebra():
            raise ZeroDivisionError
        assert counts() != {1}


def test_nothing_is_looked_for_only_where_the_environment_asks_for_one_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in OF_ONE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(OF_ALL, "1")
    assert not _is_single_anyway()  # here somebody may have changed it since, by what this file imports
    monkeypatch.delitem(sys.modules, "threadpoolctl")
    assert _is_single_anyway()
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "4")
    assert not _is_single_anyway()
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    assert _is_single_anyway()
    monkeypatch.delenv(OF_ALL)
    assert not _is_single_anyway()
