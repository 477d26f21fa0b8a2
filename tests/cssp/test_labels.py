from __future__ import annotations

import numpy as np
import pytest

from hcssp.cssp.labels import JoinedLabels, RepeatedNames, SelectedLabels, TupleLabels

CELLS = TupleLabels(np.array([[1, 1], [2, 1], [1, 2], [2, 2]]))


def test_lazy_labels_are_sequences() -> None:
    assert (CELLS[0], CELLS[-1], CELLS[1:3]) == ((1, 1), (2, 2), [(2, 1), (1, 2)])
    assert list(CELLS) == [(1, 1), (2, 1), (1, 2), (2, 2)]
    assert repr(CELLS) == "TupleLabels((1, 1), (2, 1), (1, 2), ...; 4 labels)"
    for position in (4, -5):
        with pytest.raises(IndexError, match=f"label {position} of 4"):
            CELLS[position]


def test_tuples_are_found_without_being_made() -> None:
    assert CELLS.index((1, 2)) == 2
    assert (1, 2) in CELLS
    assert (3, 3) not in CELLS
    assert "a" not in CELLS
    assert CELLS.index((1, 2), 1, 3) == 2
    with pytest.raises(ValueError, match=r"there is no label \(1, 2\)"):
        CELLS.index((1, 2), 3)


def test_labels_are_of_plain_python() -> None:
    assert all(type(number) is int for number in CELLS[0])


def test_selections_of_selections_stay_short() -> None:
    once = SelectedLabels(CELLS, np.array([3, 1, 0]))
    twice = SelectedLabels(once, np.array([2, 0]))
    assert twice.base is CELLS
    assert list(twice) == [(1, 1), (2, 2)]


def test_joined_and_repeated() -> None:
    joined = JoinedLabels(RepeatedNames(("go",), np.zeros(2, dtype=np.int64)), ("stop",))
    assert list(joined) == ["go", "go", "stop"]
    assert joined[-1] == "stop"
