"""What is true in a situation as the name of the situations in which it is, so that it can be spoken of."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence

_NUMBER = re.compile(r"\(= \([^()]*\) [^()]*\)")
_ATOM = re.compile(r"\([^()]+\)")


class AtomGroups(Mapping[str, Sequence[Hashable]]):
    """The states in which an atom is true, by the atom as it stands in a file.

    They are read from what the states are called, so that a problem that is sent elsewhere takes nothing more
    along.

    >>> groups = AtomGroups(("(at home)", "(at home) (flat) (= (fuel) 2)"))
    >>> list(groups), groups["(flat)"]
    (['(at home)', '(flat)'], ['(at home) (flat) (= (fuel) 2)'])

    Parameters
    ----------
    labels
        What the states are called: what is true in them, and the values of numbers.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        self._labels = labels

    def __getitem__(self, name: str) -> list[Hashable]:
        found: list[Hashable] = [label for label in self._labels if name in _atoms(label)]
        if not found:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({atom for label in self._labels for atom in _atoms(label)}))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _atoms(label: str) -> list[str]:
    return _ATOM.findall(_NUMBER.sub("", label))
