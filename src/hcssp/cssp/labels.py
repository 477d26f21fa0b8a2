"""Labels that are computed on demand, so that large problems are built without them.

A grid of 130,000 cells has half a million rows; making a tuple for each state and a string for each row
would take longer than solving some problems. These sequences keep integer arrays and make a label only
when asked for it.

>>> names = RepeatedNames(("stay", "go"), np.array([0, 1, 1]))
>>> names[2], len(names), list(names)
('go', 3, ['stay', 'go', 'go'])
>>> list(SelectedLabels(["a", "b", "c"], np.array([2, 0])))
['c', 'a']
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, overload

import numpy as np

from hcssp.cssp.arrays import IntArray


def as_label(given: object) -> Hashable:
    """The label that is meant: a list, as from JSON, or an array counts as a tuple.

    >>> as_label([3, 4]), as_label(np.array([3, 4])), as_label("3, 4")
    ((3, 4), (3, 4), '3, 4')
    """
    plain: Any = given.tolist() if isinstance(given, np.ndarray) else given
    label: Hashable = tuple(map(as_label, plain)) if isinstance(plain, list) else plain
    return label


class LazyLabels(Sequence[Any]):
    """A read-only sequence whose subclasses define its length and make one label.

    Attributes
    ----------
    differ
        Whether no two labels are equal, by construction.
    """

    differ = False

    def _label(self, position: int) -> Any:
        raise NotImplementedError

    @overload
    def __getitem__(self, position: int) -> Any: ...
    @overload
    def __getitem__(self, position: slice) -> list[Any]: ...
    def __getitem__(self, position: int | slice) -> Any:
        length = len(self)
        if isinstance(position, slice):
            return [self._label(index) for index in range(*position.indices(length))]
        index = int(position)
        if not -length <= index < length:
            raise IndexError(f"label {index} of {length}")
        return self._label(index % length)

    def has_parts_of(self, other: Sequence[Hashable]) -> bool:
        """Whether both are made of equal parts, and so have equal labels; none is made for it.

        >>> cells = np.array([[1, 1], [2, 1]])
        >>> TupleLabels(cells).has_parts_of(TupleLabels(cells.copy()))
        True
        """
        return type(self) is type(other) and all(
            _equal_parts(part, vars(other)[name]) for name, part in vars(self).items()
        )

    def __repr__(self) -> str:
        shown = ", ".join(repr(label) for label in self[:3])
        return f"{type(self).__name__}({shown}{', ...' if len(self) > 3 else ''}; {len(self)} labels)"


def _equal_parts(first: Any, second: Any) -> bool:
    if first is second:
        return True
    if isinstance(first, np.ndarray):
        return bool(np.array_equal(first, second))
    if isinstance(first, LazyLabels):
        return first.has_parts_of(second)
    return type(first) is type(second) and bool(first == second)


class RepeatedNames(LazyLabels):
    """Few names, used many times: ``names[codes[i]]`` is the label of row ``i``.

    Parameters
    ----------
    names
        The different names.
    codes
        For each row, the position of its name in `names`.
    """

    def __init__(self, names: Sequence[Hashable], codes: IntArray) -> None:
        self.names = tuple(names)
        self.codes = codes

    def __len__(self) -> int:
        return len(self.codes)

    def _label(self, position: int) -> Hashable:
        return self.names[int(self.codes[position])]


class SelectedLabels(LazyLabels):
    """Some labels of another sequence: ``base[chosen[i]]``, not copied until asked for."""

    def __init__(self, base: Sequence[Hashable], chosen: IntArray) -> None:
        # A selection of a selection looks up the original directly, so that chains stay short.
        inner = base if isinstance(base, SelectedLabels) else None
        self.base: Sequence[Hashable] = base if inner is None else inner.base
        self.chosen: IntArray = chosen if inner is None else inner.chosen[chosen]

    def __len__(self) -> int:
        return len(self.chosen)

    def __iter__(self) -> Iterator[Hashable]:
        return map(self.base.__getitem__, self.chosen.tolist())

    def _label(self, position: int) -> Hashable:
        return self.base[int(self.chosen[position])]


class JoinedLabels(LazyLabels):
    """The labels of one sequence, then those of another."""

    def __init__(self, first: Sequence[Hashable], second: Sequence[Hashable]) -> None:
        self.first = first
        self.second = second

    def __len__(self) -> int:
        return len(self.first) + len(self.second)

    def _label(self, position: int) -> Hashable:
        before = len(self.first)
        return self.first[position] if position < before else self.second[position - before]


class TupleLabels(LazyLabels):
    """Labels that are rows of an integer matrix, given as tuples: cells, positions with velocities.

    >>> cells = TupleLabels(np.array([[1, 1], [2, 1]]))
    >>> cells[1], cells.index((2, 1)), (7, 7) in cells
    ((2, 1), 1, False)
    """

    differ = True

    def __init__(self, columns: IntArray) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns)

    def _label(self, position: int) -> tuple[int, ...]:
        return tuple(self.columns[position].tolist())

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """The position of the label `value`, found without making any label."""
        last = len(self) if stop is None else stop
        if isinstance(value, tuple) and len(value) == self.columns.shape[1]:
            found = np.flatnonzero((self.columns[start:last] == np.array(value)).all(axis=1))
            if len(found):
                return start + int(found[0])
        raise ValueError(f"there is no label {value!r}")

    def __contains__(self, value: object) -> bool:
        try:
            self.index(value)
        except ValueError:
            return False
        return True


Groups: TypeAlias = Mapping[str, Sequence[Hashable]]
"""From names to the labels of the states that are meant."""
