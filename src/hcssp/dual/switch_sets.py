"""Which switches of rows fill a budget together: sets of up to four, judged by what they truly change.

What fills a budget to its last digits is seldom a single switch, but often some, one of which spends what the
others spare. Wanted are sets of switches that save most within the room that is left. How switches act on
one another is known among the most promising ones (:class:`Couplings`): what each pair changes is exact. Two
pairs change about the sum. Sorted by what is scarcest, the cheapest partner that leaves enough of it is a
running minimum; of the sets that are found so, what they change is then computed.

Nothing is claimed: what is found is to be evaluated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray, IntArray

MAX_PAIRED = 64
"""So many switches, the most promising ones, are paired before partners are looked for."""

MAX_JUDGED = 1_000
"""So many sets are looked at more closely than by adding up."""

SINGULAR = 1e-9
"""Switches whose system is this close to singular never end together, or hardly ever."""

TINY_SHARE = 1e-5
"""A switch that moves less than this share of what another moves is not paired for its sake."""

NOBODY = -1


class Couplings(NamedTuple):
    """How switches act on one another.

    With the system ``A`` of a policy, a switch to a row ``b`` in state ``s`` answers to one in state ``t`` by
    ``b A^-1 e_t``; what a set of them changes is a solve with these answers, see
    :mod:`hcssp.ssp.policy_evaluation`.

    Attributes
    ----------
    answers
        Of each of some switches to each of them.
    visits
        How often the state of each is visited.
    reduced
        What each row costs more than its state's value says: one column for each cost.
    """

    answers: FloatArray
    visits: FloatArray
    reduced: FloatArray

    def changes(self, sets: IntArray) -> FloatArray:
        """What each of some sets of equally many switches changes: one column for each cost."""
        changes: FloatArray
        if sets.shape[1] == 1:
            own = np.diagonal(self.answers)
            singular = (np.abs(own) < SINGULAR)[sets[:, 0]]
            with np.errstate(divide="ignore", invalid="ignore"):
                changes = ((self.visits / own)[:, np.newaxis] * self.reduced)[sets[:, 0]]
        elif sets.shape[1] == 2:
            singular, changes = self._changes_of_pairs(sets[:, 0], sets[:, 1])
        else:
            systems = self.answers[sets[:, :, np.newaxis], sets[:, np.newaxis, :]]
            singular = np.abs(np.linalg.det(systems)) < SINGULAR
            systems[singular] = np.eye(sets.shape[1])
            steps = np.linalg.solve(systems, self.reduced[sets])
            changes = np.einsum("ij,ijk->ik", self.visits[sets], steps)
        changes[singular] = np.inf
        return changes

    def _changes_of_pairs(self, first: IntArray, second: IntArray) -> tuple[BoolArray, FloatArray]:
        """Which pairs are singular, and what the others change: by Cramer's rule, for there are many."""
        size = len(self.visits)
        own, visits = np.diagonal(self.answers), self.visits
        across, back = (self.answers.take(pair) for pair in (first * size + second, second * size + first))
        determinant = own[first] * own[second] - across * back
        singular = np.abs(determinant) < SINGULAR
        determinant[singular] = 1.0
        # How much each of the two costs counts.
        of_first = (visits[first] * own[second] - visits[second] * back) / determinant
        of_second = (visits[second] * own[first] - visits[first] * across) / determinant
        reduced = self.reduced
        changes = of_first[:, np.newaxis] * reduced[first] + of_second[:, np.newaxis] * reduced[second]
        return singular, changes


def promising(cost: FloatArray, use: FloatArray) -> IntArray:
    """The switches that are paired: those that save most if the scarce cost has its price.

    After them those that cost least for each unit of it that they move, unless that is next to nothing.
    """
    priced = cost + _price(cost, use) * use
    moved = np.abs(use)
    saving = lowest(priced, MAX_PAIRED // 2)
    saving = saving[priced[saving] < 0.0]
    large = moved > TINY_SHARE * np.max(moved, initial=0.0)
    rate = np.where(large, priced / np.where(large, moved, 1.0), np.inf)
    rate[saving] = np.inf
    moving = lowest(rate, MAX_PAIRED - len(saving))
    return np.concatenate([saving, moving[np.isfinite(rate[moving])]])


def _price(cost: FloatArray, use: FloatArray) -> float:
    """What a unit of the scarce cost is worth: the price at which switches promise least all together."""
    buys = (cost < 0.0) & (use > 0.0)
    spares = (cost > 0.0) & (use < 0.0)
    ratios = np.sort(-cost[buys | spares] / use[buys | spares])
    low, high = 0, len(ratios) - 1
    while low < high:
        # What they promise is convex in the price, with its corners at the ratios.
        middle = (low + high) // 2
        saved = cost + 0.5 * (ratios[middle] + ratios[middle + 1]) * use
        if use[saved < 0.0].sum() < 0.0:
            high = middle
        else:
            low = middle + 1
    return float(ratios[low]) if len(ratios) else 0.0


def cheapest_sets(
    couplings: Couplings, places: IntArray, room: FloatArray, scarce: int, count: int
) -> list[tuple[float, tuple[int, ...]]]:
    """The cheapest sets of switches that fit, best first: by how much each changes the cost, and its members.

    >>> reduced = np.array([[-3.0, 2.0], [-2.0, 2.0], [1.0, -1.0], [0.5, -0.5], [0.25, -0.5]])
    >>> apart = Couplings(np.eye(5), np.ones(5), reduced)
    >>> cheapest_sets(apart, np.arange(5), np.array([1.0]), 0, 2)
    [(-2.25, (0, 3, 4)), (-2.0, (0, 2))]

    Parameters
    ----------
    couplings
        Of the switches that are looked at; the first cost is the primary one.
    places
        Where each switch is made: two in one place exclude one another.
    room
        How much of each limited cost is left; below zero where there is too much of it.
    scarce
        The limited cost that is scarcest.
    count
        How many are wanted.
    """
    first, second = np.triu_indices(len(places), 1)
    apart = places[first] != places[second]
    pairs = np.stack([first[apart], second[apart]], axis=1)
    singles = np.arange(len(places))[:, np.newaxis]
    # The first is no switch at all, so that those without a partner are among the pairs.
    nobody = np.full((len(places) + 1, 2), NOBODY)
    nobody[1:, 1:] = singles
    members = np.vstack([nobody, pairs])
    nothing = np.zeros((1, couplings.reduced.shape[1]))
    changes = np.vstack([nothing, couplings.changes(singles), couplings.changes(pairs)])
    order = np.argsort(changes[:, 1 + scarce], kind="stable")
    cost, used = changes[order, 0], changes[order, 1 + scarce]
    least = np.minimum.accumulate(cost)
    partner = np.maximum.accumulate(np.where(cost == least, np.arange(len(cost)), 0))
    limit = np.searchsorted(used, room[scarce] - used, side="right") - 1
    total = np.where((limit >= 0) & np.isfinite(cost), cost + least[limit], np.inf)
    few = lowest(total, MAX_JUDGED)
    few = few[np.isfinite(total[few])]
    alone = lowest(changes[:, 0], MAX_JUDGED)
    together = np.hstack([members[order[few]], members[order[partner[limit[few]]]]])
    sets = np.vstack([together, np.hstack([members[alone], np.full((len(alone), 2), NOBODY)])])
    sets = np.sort(sets, axis=1)
    sets = sets[_apart(sets, places) & (sets[:, -1] != NOBODY)]
    judged = _judged(sets, couplings)
    fits = np.flatnonzero(np.all(judged[:, 1:] <= room, axis=1) & np.isfinite(judged[:, 0]))
    found: dict[tuple[int, ...], float] = {}
    for each in fits[np.argsort(judged[fits, 0], kind="stable")]:
        found.setdefault(tuple(sets[each][sets[each] != NOBODY].tolist()), float(judged[each, 0]))
        if len(found) == count:
            break
    return [(change, switches) for switches, change in found.items()]


def _apart(sets: IntArray, places: IntArray) -> BoolArray:
    """Whether the switches of each set are made in different places."""
    where = np.sort(np.where(sets == NOBODY, -1 - np.arange(sets.shape[1]), places[sets]), axis=1)
    apart: BoolArray = np.all(where[:, 1:] != where[:, :-1], axis=1)
    return apart


def _judged(sets: IntArray, couplings: Couplings) -> FloatArray:
    """What each set changes; those that are missing in it come first."""
    changes = np.zeros((len(sets), couplings.reduced.shape[1]))
    size = np.count_nonzero(sets != NOBODY, axis=1)
    for count in range(1, sets.shape[1] + 1):
        these = np.flatnonzero(size == count)
        if len(these):
            changes[these] = couplings.changes(sets[these, -count:])
    return changes


def lowest(values: FloatArray, count: int) -> IntArray:
    """The places of the lowest values, in order."""
    few = min(count, len(values))
    if few == 0:
        return np.zeros(0, dtype=np.int64)
    found: IntArray = np.argpartition(values, few - 1)[:few]
    return found[np.argsort(values[found], kind="stable")]
