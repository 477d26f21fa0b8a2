"""Arrays that grow at their end, at a cost that does not depend on how often."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

LEAST_ROOM = 64


class Growing:
    """An array whose last axis grows; :attr:`view` is what is there.

    >>> numbers = Growing(np.int64)
    >>> numbers.append(np.arange(3)), numbers.append(np.array([9]))
    (None, None)
    >>> numbers.view.tolist(), len(numbers)
    ([0, 1, 2, 9], 4)

    Parameters
    ----------
    kind
        The kind of its numbers.
    rows
        The length of a first axis that does not grow; None if there is but one axis.
    """

    def __init__(self, kind: type[np.generic], rows: int | None = None) -> None:
        self._rows = rows
        self._length = 0
        self._room: npt.NDArray[Any] = np.zeros(self._shape(LEAST_ROOM), dtype=kind)

    def _shape(self, length: int) -> tuple[int, ...]:
        return (length,) if self._rows is None else (self._rows, length)

    def __len__(self) -> int:
        return self._length

    @property
    def view(self) -> npt.NDArray[Any]:
        """What is there; whoever keeps it across an :meth:`append` sees what was there before."""
        return self._room[..., : self._length]

    @property
    def nbytes(self) -> int:
        """The memory that is taken."""
        return int(self._room.nbytes)

    def append(self, values: npt.ArrayLike) -> None:
        """Add `values` at the end."""
        added = np.asarray(values)
        length = self._length + added.shape[-1]
        if length > self._room.shape[-1]:
            room = np.zeros(self._shape(max(length, 2 * self._room.shape[-1])), dtype=self._room.dtype)
            room[..., : self._length] = self.view
            self._room = room
        self._room[..., self._length : length] = added
        self._length = length
