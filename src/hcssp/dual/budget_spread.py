r"""One budget over many activities: the cheapest way, with equal activities counted instead of permuted.

**Problem.** Of every *kind* there are some uses, each of which takes one of the kind's options, with a cost
and a use of the budget. Wanted is the least total cost with which the total use is within the budget: a
knapsack with multiple choice.

**Method.** Labels of cost and use, kind after kind; of a kind only the number of uses that take each option
counts. A label is dropped if another one costs no more and uses no more, or if what is left costs too
much at a price of the budget (the Lagrangian bound).

**Guarantee.** The bound holds for all costs and uses that are not below the given ones, whatever the
rounding, and also where labels had to be merged to keep their number small.

References: Nemhauser and Ullmann 1969; Sinha and Zoltners 1979.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.ssp.potential import ROUNDINGS

MAX_TABLE = 600_000
"""A kind with more ways to count its options is too much."""

MAX_LABELS = 50_000
MAX_ALL_LABELS = 10_000_000
"""With more labels after a kind, neighbours are merged; so many of all kinds together."""


class Kind(NamedTuple):
    """Alike uses.

    Attributes
    ----------
    number
        How many there are.
    costs, uses
        Of each option, not negative.
    """

    number: int
    costs: FloatArray
    uses: FloatArray


class Spread(NamedTuple):
    """How the budget is spread.

    Attributes
    ----------
    bound
        No way to spread it costs less; not above the cutoff.
    counts
        For each kind, how many uses take each option, in the best way that was found; None if none was. It
        may cost more than the cutoff.
    """

    bound: float
    counts: list[IntArray] | None


class _Table(NamedTuple):
    """The ways to count a kind's options: total costs and uses, and the counts."""

    costs: FloatArray
    uses: FloatArray
    counts: IntArray


def spread_budget(kinds: Sequence[Kind], budget: float, price: float, cutoff: float) -> Spread | None:
    """The cheapest way to spread a budget, as far as it is below `cutoff`; None if that is too much work.

    >>> kinds = [Kind(20, np.array([1.0, 2.0]), np.array([1.0, 0.0]))]
    >>> spread = spread_budget(kinds, budget=6.5, price=1.0, cutoff=40.0)
    >>> round(spread.bound, 9), [counts.tolist() for counts in spread.counts]
    (34.0, [[6, 14]])

    Parameters
    ----------
    kinds
        What takes options.
    budget
        What the uses may amount to.
    price
        Of a unit of the budget; the nearer to the dual's, the less work.
    cutoff
        Ways that cost this much are of no interest.
    """
    total = sum(kind.number for kind in kinds)
    least = [kind.costs + price * kind.uses for kind in kinds]
    floors = [float(each.min()) for each in least]
    level = sum(kind.number * floor for kind, floor in zip(kinds, floors, strict=True)) - price * budget
    # A few roundings for each use and each kind, relative to all that is added up.
    size = sum(kind.number * float(each.max()) for kind, each in zip(kinds, least, strict=True))
    rounding = (4 * total + 4 * len(kinds) + 64) * ROUNDINGS * (size + price * budget)
    gap = cutoff - level + rounding
    if gap <= 0.0:
        return Spread(cutoff, None)
    room = budget * (1.0 + (4 * total + 64) * ROUNDINGS)
    tables = []
    for kind, each, floor in zip(kinds, least, floors, strict=True):
        table = _table(kind, each - floor, gap)
        if table is None:
            return None
        tables.append(table)
    # What uses much comes first: then little can change in the end, and few labels are left.
    order = sorted(range(len(kinds)), key=lambda index: -float(np.ptp(kinds[index].uses)))
    least_use, most_use = (
        np.cumsum([0.0, *(float(pick(tables[index].uses)) for index in reversed(order))])[::-1]
        for pick in (np.min, np.max)
    )
    limit = min(MAX_LABELS, MAX_ALL_LABELS // max(1, len(kinds)))
    labels, passed = _Labels(*np.zeros((4, 1))), 0.0
    steps: list[tuple[IntArray, IntArray]] = []
    for position, index in enumerate(order, start=1):
        table = tables[index]
        if len(labels.costs) * len(table.costs) > MAX_ALL_LABELS:
            return None
        passed += kinds[index].number * floors[index]
        every = labels.with_each(table)
        # What cannot be used up any more is as dear as what was not well chosen.
        unused = np.maximum(budget - every.uses - most_use[position], 0.0)
        surcharge = every.costs + price * (every.uses + unused) - passed
        kept = np.flatnonzero((every.uses + least_use[position] <= room) & (surcharge <= gap))
        kept = kept[_undominated(every.costs[kept], every.uses[kept])]
        if len(kept) == 0:
            return Spread(cutoff, None)
        labels, kept = every.few(kept, limit)
        steps.append((kept // len(table.costs), kept % len(table.costs)))
    bound = min(cutoff, float(labels.costs.min()) - rounding)
    ways = np.where(labels.way_uses <= room, labels.way_costs, np.inf)
    chosen = int(np.argmin(ways))
    if ways[chosen] == np.inf:
        return Spread(bound, None)
    counts: list[IntArray] = [np.zeros(0, dtype=np.int64)] * len(kinds)
    for index, (parents, taken) in zip(reversed(order), reversed(steps), strict=True):
        counts[index] = tables[index].counts[taken[chosen]]
        chosen = int(parents[chosen])
    return Spread(bound, counts)


class _Labels(NamedTuple):
    """What some of the kinds cost and use, by rising use and falling cost.

    Where labels were merged, `way_costs` and `way_uses` are those of the way that is remembered.
    """

    costs: FloatArray
    uses: FloatArray
    way_costs: FloatArray
    way_uses: FloatArray

    def with_each(self, table: _Table) -> _Labels:
        """Every label with every way to count the options of one more kind."""
        more = table.costs, table.uses, table.costs, table.uses
        return _Labels(*((own[:, np.newaxis] + new).ravel() for own, new in zip(self, more, strict=True)))

    def few(self, kept: IntArray, limit: int) -> tuple[_Labels, IntArray]:
        """The labels that are `kept`, neighbours merged if they are more than `limit`; and which are left.

        The least use and the least cost of neighbours are better than any of them, and so a bound.
        """
        if len(kept) <= limit:
            return _Labels(*(each[kept] for each in self)), kept
        firsts = np.unique(np.linspace(0, len(kept), limit, endpoint=False).astype(np.int64))
        lasts = np.append(firsts[1:], len(kept)) - 1
        left = kept[firsts]
        return _Labels(
            self.costs[kept[lasts]], self.uses[left], self.way_costs[left], self.way_uses[left]
        ), left


def _table(kind: Kind, surcharges: FloatArray, gap: float) -> _Table | None:
    """The ways to count a kind's options whose surcharges stay within the gap; None if there are too many."""
    options = len(surcharges)
    base = int(np.argmin(surcharges))
    left, spent = np.array([kind.number]), np.zeros(1)
    counts = np.zeros((1, options), dtype=np.int64)
    for option in range(options):
        if option == base or surcharges[option] > gap:
            continue
        most = left
        if surcharges[option] > 0.0:
            # One more than fits, for rounding; that of another option may be beyond the gap already.
            fitting = np.floor(np.maximum(gap - spent, 0.0) / surcharges[option])
            most = np.minimum(left, fitting.astype(np.int64) + 1)
        sizes = most + 1
        total = int(sizes.sum())
        if total > MAX_TABLE:
            return None
        origin = np.repeat(np.arange(len(left)), sizes)
        taken = np.arange(total) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        left, spent = left[origin] - taken, spent[origin] + taken * surcharges[option]
        counts = counts[origin]
        counts[:, option] = taken
    counts[:, base] = left
    costs, uses = counts @ kind.costs, counts @ kind.uses
    kept = _undominated(costs, uses)
    return _Table(costs[kept], uses[kept], counts[kept])


def _undominated(costs: FloatArray, uses: FloatArray) -> IntArray:
    """Of labels with rising use those that are cheaper than all before them."""
    order = np.lexsort((costs, uses))
    before = np.minimum.accumulate(np.append(np.inf, costs[order]))[:-1]
    return order[costs[order] < before]
