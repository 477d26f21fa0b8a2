"""What people call the states and rows of a flattened procedure, looked up when asked for.

A large problem has millions of them, and almost nobody asks.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np

from hcssp.cssp.model import IntArray

if TYPE_CHECKING:
    from hcssp.procedure.flattening import Flattening


class _Labels(Sequence[Hashable]):
    """A sequence that makes its items one at a time."""

    def __init__(self, flattening: Flattening) -> None:
        self._flattening = flattening

    @abstractmethod
    def _label(self, index: int) -> Hashable: ...

    @overload
    def __getitem__(self, index: int) -> Hashable: ...
    @overload
    def __getitem__(self, index: slice) -> list[Hashable]: ...
    def __getitem__(self, index: int | slice) -> Hashable | list[Hashable]:
        if isinstance(index, slice):
            return [self._label(each) for each in range(*index.indices(len(self)))]
        position = int(index) + (len(self) if index < 0 else 0)
        if not 0 <= position < len(self):
            raise IndexError(f"label {index} of {len(self)}")
        return self._label(position)

    def __iter__(self) -> Iterator[Hashable]:
        return (self._label(index) for index in range(len(self)))


class FlatStateLabels(_Labels):
    """An event's name, ``("event", name, entry label)``, or a pair of an activity's name and its label."""

    def __len__(self) -> int:
        return self._flattening.num_states

    @cached_property
    def _local_states(self) -> list[IntArray]:
        return [np.flatnonzero(~activity.cssp.goals) for activity in self._flattening.problem.activities]

    def _label(self, index: int) -> Hashable:
        flattening = self._flattening
        if index < flattening.num_event_states:
            event, entry = flattening.event_states[index]
            name = flattening.problem.events[event]
            return name if entry is None else ("event", name, entry)
        number = bisect_right(flattening.state_offset, index) - 1
        activity = flattening.problem.activities[number]
        local = self._local_states[number][index - flattening.state_offset[number]]
        return (activity.name, activity.cssp.state_labels[int(local)])


class FlatActionLabels(_Labels):
    """A choice's name, or the label of an activity's action."""

    def __len__(self) -> int:
        return self._flattening.num_rows

    def _label(self, index: int) -> Hashable:
        flattening = self._flattening
        if index < flattening.num_event_rows:
            return flattening.problem.choices[int(flattening.event_row_choice[index])].name
        number = bisect_right(flattening.row_offset, index) - 1
        cssp = flattening.problem.activities[number].cssp
        return cssp.action_labels[index - int(flattening.row_offset[number])]
