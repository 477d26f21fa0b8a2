"""The record of a search: the regions that it split, and the results for each.

That is a few numbers for each region: prices, or weights that refute it. The potentials that prove it are
asked of the oracle when a certificate is wanted (:mod:`hcssp.proofs.assembly`), and then for the leaves
alone. So a search may always be recorded.

>>> import numpy as np
>>> record = SearchRecord()
>>> record.bounded(record.root, 5.0, prices=np.array([0.5]))
>>> used, avoided = record.split(record.root, row=1)
>>> record.refuted(used, weights=np.array([1.0]))
>>> [record.claim(leaf).bound for leaf in record.leaves()]
[inf, 5.0]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple

import numpy as np

from hcssp.cssp.model import FloatArray
from hcssp.dual.ascent import Dual
from hcssp.dual.oracle import Oracle
from hcssp.ssp.scalar_problem import Region

Split = int | tuple[int, int]
"""The row that a region was split on, or -1 for none; with how many rows of its orbit one part uses, if there
are others."""


class Claim(NamedTuple):
    """The result of a search for a region.

    Attributes
    ----------
    bound
        No plan of the region costs less; ``inf`` if none keeps the bounds.
    weights
        Of all costs, the primary first, under which that can be seen: 1 and prices, or 0 and the weights
        of a refutation. None if the region holds no policy that ends.
    node
        The region that it was found for: this one, or one that holds it.
    counted
        Whether it is more than the Lagrangian bound: all ways to spread the budget were counted.
    """

    bound: float
    weights: FloatArray | None
    node: int
    counted: bool = False


@dataclass(slots=True)
class _Region:
    parent: int = -1
    orbit: tuple[int, ...] = ()
    count: int = 0
    children: tuple[int, ...] = ()
    claim: Claim | None = None
    hint: FloatArray | None = None


@dataclass
class SearchRecord:
    """The skeleton of a search over the policies of an oracle.

    Attributes
    ----------
    oracle
        Whose rows the splits are about; None if nothing was recorded.
    """

    oracle: Oracle[Any] | None = None
    _regions: list[_Region] = field(default_factory=lambda: [_Region()], repr=False)

    root = 0

    def __len__(self) -> int:
        return len(self._regions)

    def begin(self, oracle: Oracle[Any]) -> None:
        """A search begins, over all policies of `oracle`; the earlier record is dropped."""
        self.oracle, self._regions = oracle, [_Region()]

    @classmethod
    def of_parts(cls, oracle: Oracle[Any], count: int) -> SearchRecord:
        """A record that begins with `count` regions, numbered from 0, of which another record knows more."""
        return cls(oracle, [_Region() for _ in range(count)])

    def graft(self, numbers: Sequence[int], parts: SearchRecord) -> list[int]:
        """Take over what was found out about some regions elsewhere.

        Parameters
        ----------
        numbers
            The regions here that the first of `parts` are; they must be leaves.
        parts
            The record that was made of them.

        Returns
        -------
        list
            For each region of `parts`, its number here.
        """
        next_number, count = len(self), len(numbers)
        here = [*numbers, *range(next_number, next_number + len(parts) - count)]
        for region in parts._regions[count:]:
            children = tuple(here[child] for child in region.children)
            self._regions.append(_Region(here[region.parent], region.orbit, region.count, children))
        # Linked last: a search that is interrupted in between has split nothing here.
        for number, region in zip(numbers, parts._regions, strict=False):
            self._regions[number].orbit, self._regions[number].count = region.orbit, region.count
            self._regions[number].children = tuple(here[child] for child in region.children)
        for number, region in zip(here, parts._regions, strict=True):
            if region.claim is not None:
                self.learn(number, region.claim)
        return here

    @classmethod
    def of_skeleton(
        cls, splits: Sequence[Split], weights: Sequence[FloatArray | None], oracle: Oracle[Any] | None = None
    ) -> SearchRecord:
        """The splits of an earlier search, with the weights of its leaves: where to go on, and no claims.

        Parameters
        ----------
        splits, weights
            As :meth:`skeleton` returns them.
        oracle
            Knows what rows can be exchanged for others; without it, the regions are not known.

        Raises
        ------
        ValueError
            If these are no regions that cover everything, each split in two.
        """
        record = cls(oracle)
        waiting, leaves = [cls.root], iter(weights)
        for split in splits:
            if not waiting:
                raise ValueError("there are regions that are part of nothing")
            number = waiting.pop()
            row, count = split if isinstance(split, tuple) else (split, 0)
            if row < 0:
                record._regions[number].hint = next(leaves, None)
                continue
            orbit = [row]
            if oracle is not None and count:
                symmetry = oracle.strategies.symmetry
                orbit = [row] if symmetry is None else symmetry.orbit(record.region(number), row)
            waiting.extend(reversed(record._split(number, orbit, count)))
        if waiting:
            raise ValueError(f"{len(waiting)} regions are missing")
        return record

    def skeleton(self) -> tuple[list[Split], list[FloatArray | None]]:
        """The splits, and what is worth trying in each leaf: few numbers, from which a search can go on.

        Returns
        -------
        splits
            For each region how it was split; the part that uses the row follows with all of its parts, then
            the one that does not.
        weights
            Those of each leaf's claim, or hint; None if there is none.
        """
        splits: list[Split] = []
        weights: list[FloatArray | None] = []
        waiting = [self.root]
        while waiting:
            region = self._regions[number := waiting.pop()]
            if region.children:
                splits.append((region.orbit[0], region.count) if region.count else region.orbit[0])
                waiting.extend(reversed(region.children))
            else:
                splits.append(-1)
                claim = self.claim(number)
                weights.append(region.hint if claim is None else claim.weights)
        return splits, weights

    def resume(self, oracle: Oracle[Any]) -> list[tuple[int, FloatArray | None]]:
        """A search over all policies of `oracle` begins with the regions that are recorded.

        What is claimed about them is forgotten: who goes on proves it again.

        Returns
        -------
        list
            The leaves, with weights that are worth trying; nothing if there are no splits, or some are on
            rows that there are not: then the search begins again.
        """
        splits, weights = self.skeleton()
        rows = [each.orbit[0] for each in self._regions if each.children]
        if not rows or max(rows) >= int(oracle.row_start[-1]):
            self.begin(oracle)
            return []
        again = SearchRecord.of_skeleton(splits, weights, oracle)
        self.oracle, self._regions = oracle, again._regions
        return [(leaf, self._regions[leaf].hint) for leaf in self.leaves()]

    def region(self, number: int) -> Region:
        """The policies that a region holds, in terms of the oracle's rows."""
        return Region(frozenset[int]().union(*self.path(number)))

    def path(self, number: int) -> list[frozenset[int]]:
        """The rows of the oracle that each split forbids on the way from all policies to a region."""
        if self.oracle is None:
            raise RuntimeError("nothing was recorded, so no region has rows")
        found: list[frozenset[int]] = []
        while (parent := self._regions[number].parent) >= 0:
            above = self._regions[parent]
            if number == above.children[0]:
                used = above.orbit[: above.count or 1]
                found.append(frozenset(each for row in used for each in _siblings(self.oracle, row)))
            else:
                found.append(frozenset(above.orbit[max(above.count - 1, 0) :]))
            number = parent
        return found[::-1]

    def split(self, region: int, row: int) -> tuple[int, int]:
        """Split a region: the oracle's `row` is used in its state, or it is not.

        Returns
        -------
        used, avoided
            Numbers of both parts.
        """
        return self._split(region, [row], 0)

    def split_orbit(self, region: int, orbit: Sequence[int], count: int = 1) -> tuple[int, int]:
        """Split a region: the first `count` rows of an orbit are used, or those from the last of them on not.

        A policy that uses at least `count` of them is worth as much as one of the first part, and one that
        uses fewer as much as one of the other; see :meth:`hcssp.dual.oracle.Symmetry.orbit`.

        Returns
        -------
        used, avoided
            Numbers of both parts.
        """
        return self._split(region, orbit, count if len(orbit) > 1 else 0)

    def _split(self, region: int, orbit: Sequence[int], count: int) -> tuple[int, int]:
        children = len(self._regions), len(self._regions) + 1
        self._regions += [_Region(region), _Region(region)]
        known = self._regions[region]
        known.orbit, known.count, known.children = tuple(orbit), count, children
        return children

    @property
    def exchanges(self) -> bool:
        """Whether some regions were split on rows that can be exchanged for others."""
        return any(region.count for region in self._regions)

    def bounded(self, region: int, bound: float, prices: FloatArray) -> None:
        """No plan of a region is below its Lagrangian `bound` at `prices`."""
        self._learn(region, bound, np.append(1.0, prices))

    def settled(self, region: int, bound: float, prices: FloatArray) -> None:
        """No plan of a region is below a `bound` that counting all ways to spread the budget has shown."""
        self._learn(region, bound, np.append(1.0, prices), counted=True)

    def refuted(self, region: int, weights: FloatArray) -> None:
        """No policy of a region keeps the bounds: under `weights` all of them use too much."""
        self._learn(region, inf, np.append(0.0, weights))

    def empty(self, region: int) -> None:
        """No policy of a region ends with certainty."""
        self._learn(region, inf, None)

    def learn(self, region: int, claim: Claim) -> None:
        """The result for the same region elsewhere."""
        self._learn(region, claim.bound, claim.weights, claim.counted)

    def row(self, region: int) -> int:
        """The row that a region was split on; -1 for a leaf."""
        orbit = self._regions[region].orbit
        return orbit[0] if orbit else -1

    def orbit(self, region: int) -> tuple[tuple[int, ...], int]:
        """The rows that a region was split on, and how many of them one part uses; 0: the only one."""
        return self._regions[region].orbit, self._regions[region].count

    def children(self, region: int) -> tuple[int, ...]:
        """Where the row is used, and where it is not; nothing for a leaf."""
        return self._regions[region].children

    def leaves(self) -> Iterator[int]:
        """The regions that were not split, whether they are done with or still open."""
        return (number for number, region in enumerate(self._regions) if not region.children)

    def claim(self, region: int) -> Claim | None:
        """The best that was learnt about a region, or one that holds it; None if nothing was."""
        best: Claim | None = None
        while region >= 0:
            found = self._regions[region].claim
            if found is not None and (best is None or found.bound > best.bound):
                best = found
            region = self._regions[region].parent
        return best

    def release(self) -> None:
        """Free the memory that the oracle can quickly fill again: the search has ended."""
        if self.oracle is not None:
            self.oracle.release()

    def __getstate__(self) -> dict[str, Any]:
        # An oracle is too large for a message, and the receiver has one.
        return {"oracle": None, "_regions": self._regions}

    def _learn(self, region: int, bound: float, weights: FloatArray | None, counted: bool = False) -> None:
        known = self._regions[region].claim
        if bound > (-inf if known is None else known.bound):
            self._regions[region].claim = Claim(bound, weights, region, counted)


def _siblings(oracle: Oracle[Any], row: int) -> list[int]:
    """The other rows of a row's state."""
    state = oracle.row_state[row]
    rows = range(int(oracle.row_start[state]), int(oracle.row_start[state + 1]))
    return [each for each in rows if each != row]


def write_down(record: SearchRecord, region: int, dual: Dual[Any]) -> None:
    """Keep the result of a dual for a region: the bound and its prices, or the proof that it is empty."""
    if dual.empty:
        record.empty(region)
    elif dual.infeasibility is not None:
        record.refuted(region, dual.infeasibility.weights)
    else:
        record.bounded(region, dual.bound, dual.prices)
