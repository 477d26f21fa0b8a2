"""Numbers for states as they are met: of any hashable states, or of states that are rows of whole numbers.

Rows of whole numbers are found by a hash of 64 bits, many at once. States whose hashes agree are compared, so
that two states never share a number: were they different, all would be hashed anew in another way.

>>> numbers = RowNumbers(width=2)
>>> numbers.of(np.array([[3, 4], [5, 6], [3, 4]])).tolist()
[0, 1, 0]
>>> numbers.of(np.array([[7, 7], [5, 6]])).tolist(), len(numbers)
([2, 1], 3)
>>> numbers.find((5, 6)), numbers.find((9, 9))
(1, None)
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hcssp.cssp.growing import Growing
from hcssp.cssp.labels import TupleLabels
from hcssp.cssp.model import IntArray

FIRST_SEED = 0x9E3779B97F4A7C15
MOST_RECENT = 4096
"""So many states wait before they are merged into the sorted ones, which takes longer the more there are."""


class StateNumbers(Protocol):
    """Numbers for the states of an implicit problem, in the order in which they are met."""

    def __len__(self) -> int: ...

    def of(self, states: Any) -> IntArray:
        """The number of each state; one that was never met gets the next."""

    def find(self, state: Any) -> int | None:
        """The number of a state; None if it was never met."""

    def states(self, numbers: IntArray) -> Any:
        """The states of these numbers, as the problem's functions take them."""

    def label(self, number: int) -> Hashable:
        """What people call the state of a number."""

    def labels(self) -> Sequence[Hashable]:
        """A label for every state met so far."""


class HashableNumbers:
    """Of any hashable states, one by one; several states are a list."""

    def __init__(self) -> None:
        self._states: list[Hashable] = []
        self._number: dict[Hashable, int] = {}

    def __len__(self) -> int:
        return len(self._states)

    def of(self, states: Sequence[Hashable]) -> IntArray:
        number, met = self._number, self._states
        found = np.empty(len(states), dtype=np.int64)
        for position, state in enumerate(states):
            known = number.get(state)
            if known is None:
                known = number[state] = len(met)
                met.append(state)
            found[position] = known
        return found

    def find(self, state: Hashable) -> int | None:
        return self._number.get(state)

    def states(self, numbers: IntArray) -> list[Hashable]:
        return [self._states[number] for number in numbers.tolist()]

    def label(self, number: int) -> Hashable:
        return self._states[number]

    def labels(self) -> Sequence[Hashable]:
        return tuple(self._states)


class RowNumbers:
    """Of states that are rows of `width` whole numbers; several states are an array of shape (n, width)."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._states = Growing(np.int64, width)
        self._seed = FIRST_SEED
        self._hashes: npt.NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)
        self._sorted: IntArray = np.zeros(0, dtype=np.int64)
        # Those met last, not merged yet: sorted as well.
        self._recent_hashes: npt.NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)
        self._recent: IntArray = np.zeros(0, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._states)

    def of(self, states: npt.ArrayLike) -> IntArray:
        rows = np.asarray(states, dtype=np.int64).reshape(-1, self._width)
        if not len(rows):
            return np.zeros(0, dtype=np.int64)
        while True:
            found = self._numbered(rows)
            if found is not None:
                return found
            self._hash_anew()

    def find(self, state: Any) -> int | None:
        try:
            row = np.asarray(state, dtype=np.int64).reshape(1, self._width)
        except (TypeError, ValueError):
            return None
        number = int(self._look_up(self._hash(row))[0])
        return number if number >= 0 and np.array_equal(self._states.view[:, number], row[0]) else None

    def states(self, numbers: IntArray) -> IntArray:
        return np.ascontiguousarray(self._states.view[:, numbers].T)

    def label(self, number: int) -> Hashable:
        return tuple(self._states.view[:, number].tolist())

    def labels(self) -> Sequence[Hashable]:
        return TupleLabels(np.ascontiguousarray(self._states.view.T))

    def _numbered(self, rows: IntArray) -> IntArray | None:
        """The number of each row; None if two different rows have the same hash."""
        hashes = self._hash(rows)
        different, first, which = np.unique(hashes, return_index=True, return_inverse=True)
        number = self._look_up(different)
        new = np.flatnonzero(number < 0)
        # In the order of their first mention, so that equal questions get equal numbers.
        new = new[np.argsort(first[new], kind="stable")]
        before = len(self._states)
        known = number >= 0
        if not np.array_equal(self._states.view[:, number[known]].T, rows[first[known]]):
            return None
        number[new] = before + np.arange(len(new))
        found = number[which.reshape(-1)]
        if not np.array_equal(rows, rows[first][which.reshape(-1)]):
            return None
        self._states.append(rows[first[new]].T)
        self._keep(different[new], number[new])
        return found

    def _look_up(self, hashes: npt.NDArray[np.uint64]) -> IntArray:
        found = np.full(len(hashes), -1, dtype=np.int64)
        for known, numbers in ((self._hashes, self._sorted), (self._recent_hashes, self._recent)):
            if len(known):
                place = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
                there = known[place] == hashes
                found[there] = numbers[place[there]]
        return found

    def _keep(self, hashes: npt.NDArray[np.uint64], numbers: IntArray) -> None:
        if not len(hashes):
            return
        self._recent_hashes, self._recent = _merged(self._recent_hashes, self._recent, hashes, numbers)
        if len(self._recent) > max(MOST_RECENT, len(self._sorted) // 16):
            self._hashes, self._sorted = _merged(
                self._hashes, self._sorted, self._recent_hashes, self._recent
            )
            self._recent_hashes, self._recent = self._recent_hashes[:0], self._recent[:0]

    def _hash(self, rows: IntArray) -> npt.NDArray[np.uint64]:
        """Mix the columns of each row, as in Steele, Lea and Flood's SplitMix (2014)."""
        mixed = np.full(len(rows), self._seed, dtype=np.uint64)
        for column in rows.T:
            mixed = mixed + np.uint64(FIRST_SEED) + column.astype(np.uint64)
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            mixed ^= mixed >> np.uint64(31)
        return mixed

    def _hash_anew(self) -> None:
        """Two different states have the same hash: hash all of them in another way."""
        self._seed = (3 * self._seed + 1) % 2**64
        hashes = self._hash(self._states.view.T)
        self._sorted = np.argsort(hashes, kind="stable")
        self._hashes = hashes[self._sorted]
        self._recent_hashes, self._recent = self._recent_hashes[:0], self._recent[:0]


def _merged(
    hashes: npt.NDArray[np.uint64],
    numbers: IntArray,
    added: npt.NDArray[np.uint64],
    added_numbers: IntArray,
) -> tuple[npt.NDArray[np.uint64], IntArray]:
    order = np.argsort(added, kind="stable")
    place = np.searchsorted(hashes, added[order])
    return np.insert(hashes, place, added[order]), np.insert(numbers, place, added_numbers[order])
