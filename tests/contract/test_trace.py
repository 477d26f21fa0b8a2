from __future__ import annotations

import builtins
import pickle
from math import inf
from typing import Any

import pytest

from hcssp.contract.proof import Trace, TracePoint
from hcssp.errors import MissingDependency

POINTS = ((0.1, 1.0, inf), (0.2, 2.0, 5.0), (0.3, 3.0, 4.0))


def test_a_trace_is_a_sequence_of_points() -> None:
    trace = Trace(POINTS)
    assert len(trace) == 3
    assert trace[-1] == TracePoint(0.3, 3.0, 4.0)
    assert [point.lower_bound for point in trace] == [1.0, 2.0, 3.0]
    assert trace[1:] == Trace(POINTS[1:])
    assert isinstance(trace[1:], Trace)
    assert TracePoint(0.2, 2.0, 5.0) in trace
    assert repr(trace) == "Trace(3 points)"
    assert not Trace()


def test_traces_compare_by_content_and_pickle() -> None:
    trace = Trace(POINTS)
    assert trace == Trace(list(POINTS)) == pickle.loads(pickle.dumps(trace))
    assert hash(trace) == hash(Trace(POINTS))
    assert trace != Trace(POINTS[:2])
    assert trace != list(POINTS)


def test_a_trace_as_a_table() -> None:
    frame = Trace(POINTS).to_frame()
    assert list(frame.columns) == ["seconds", "lower_bound", "upper_bound"]
    assert list(frame.itertuples(index=False, name=None)) == list(POINTS)


def test_without_pandas_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_pandas(name: str, *arguments: Any, **options: Any) -> Any:
        if name.partition(".")[0] == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name="pandas")
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(MissingDependency, match=r"^tables need pandas.* pip install 'hcssp\[notebook\]'$"):
        Trace(POINTS).to_frame()
