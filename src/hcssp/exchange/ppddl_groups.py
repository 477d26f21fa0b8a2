"""What is true in a situation as the name of the situations in which it is, so that it can be spoken of."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property

from hcssp.exchange.ppddl_grounding import Atom, Situation, written


class AtomGroups(Mapping[str, Sequence[Hashable]]):
    """The states in which an atom is true, by the atom as it stands in a file."""

    def __init__(self, labels: Sequence[str], situations: Sequence[Situation]) -> None:
        self._labels = labels
        self._situations = situations

    def __getitem__(self, name: str) -> list[Hashable]:
        atom = self._atoms[name]
        return [
            label for label, each in zip(self._labels, self._situations, strict=True) if atom in each.atoms
        ]

    def __iter__(self) -> Iterator[str]:
        return iter(self._atoms)

    def __len__(self) -> int:
        return len(self._atoms)

    @cached_property
    def _atoms(self) -> dict[str, Atom]:
        return {
            written(atom): atom for atom in sorted({atom for each in self._situations for atom in each.atoms})
        }
