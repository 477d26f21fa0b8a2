"""Sets of states that have a name: the labels of a model, the places of a room, what is true in a situation.

They are looked up when somebody asks for one: a model may have many labels and very many states.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from hcssp.cssp.model import BoolArray

Groups: TypeAlias = Mapping[str, Sequence[Hashable]]
"""From names to the labels of the states that are meant."""


class MaskedGroups(Mapping[str, Sequence[Hashable]]):
    """Groups by which states belong to them.

    >>> groups = MaskedGroups(("a", "b", "c"), {"early": np.array([True, True, False])})
    >>> groups["early"], list(groups)
    (['a', 'b'], ['early'])

    Parameters
    ----------
    labels
        What the states are called.
    masks
        By the names of groups, which states belong to each.
    """

    def __init__(self, labels: Sequence[Hashable], masks: Mapping[str, BoolArray]) -> None:
        self._labels = labels
        self._masks = masks

    def __getitem__(self, name: str) -> list[Hashable]:
        return [self._labels[state] for state in np.flatnonzero(self._masks[name]).tolist()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._masks)

    def __len__(self) -> int:
        return len(self._masks)
