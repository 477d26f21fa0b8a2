"""The dual for one constraint: intersect the lines of the best infeasible and the best feasible policy.

As a function of the multiplier, the Lagrangian value of a policy is a line; the dual is their lower
envelope. There are two phases. *Bracket*: raise or lower the multiplier until a policy that keeps the bound
and one that breaks it are known. *Close*: solve where their lines meet, replace one of them, until the value
meets the intersection. As long as what is known already gives new lines, nothing is planned; then as
precisely as the distance between the intersection and the bound asks for.

Reference: Aneja and Nair 1979.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING, Generic, NamedTuple

import numpy as np

from hcssp.cssp.model import FloatArray
from hcssp.dual.guessing import Guessing
from hcssp.dual.precision import (
    COARSE_PRECISION,
    CUTOFF_SHARE,
    DUAL_TOLERANCE,
    UNFORESEEN_SHARE,
    Precision,
)
from hcssp.dual.vertex import V
from hcssp.numerics import tolerated

if TYPE_CHECKING:
    from hcssp.dual.ascent import Ascent, Dual

MAX_LOWERINGS = 10
"""How often the multiplier is lowered before it is zero, where that leads in the end."""

MAX_RAISES = 3
"""How often the multiplier is raised before the least use is looked at by itself."""

RAISE_FACTOR = 8.0
LOWER_FACTOR = 4.0

NEARBY = (1.04, 1.2, 1.6)
"""Factors of the first steps from a multiplier that is known to be near the answer, before those above: the
best multiplier of a region lies close to that of a larger one, and from far away it is a long way back."""

MODEL_TOLERANCE = 1e-13
"""A line is below the model only if it is so by more than this share of what is added up to its level; the
rest is rounding, and would make the search for the best pair go on for ever."""


class Pair(NamedTuple, Generic[V]):
    """The policies whose lines meet where the model is highest: one keeps the bound, one does not."""

    kept: V | None
    broken: V | None


def intersect_lines(
    ascent: Ascent[V],
    index: int,
    start: FloatArray | None = None,
    cutoff: float = inf,
    proven: float = -inf,
) -> Iterator[Dual[V]]:
    """Find the multiplier of constraint `index` at which the model of the known policies is highest.

    Parameters
    ----------
    ascent
        What is known so far; it is added to.
    index
        The only constraint with a finite bound.
    start
        Multipliers near the answer.
    cutoff
        A bound at which the caller loses interest.
    proven
        The bound that holds at `start`.
    """
    search = LineSearch(ascent, index, start, cutoff)
    if start is not None:
        search.inherit(start, proven)
    for _ in ascent.rounds():
        search.solve()
        if not ascent.decided and not search.close():
            search.bracket()
        yield ascent.snapshot()
        if ascent.decided:
            return


class LineSearch(Generic[V]):
    """The search for the best multiplier of one constraint.

    Attributes
    ----------
    multiplier, precision
        Where to solve next, and how precisely.
    pair
        The best pair of policies known.
    is_new
        Whether the last solve met a line below the model.
    is_rough
        Whether it only looked at what is known, and its value and bound are too far apart to go elsewhere.
    """

    def __init__(
        self, ascent: Ascent[V], index: int, start: FloatArray | None = None, cutoff: float = inf
    ) -> None:
        self.ascent = ascent
        self.index = index
        self.cutoff = cutoff
        self.bound = float(tolerated(ascent.oracle.bounds)[index])
        self.precision = Precision()
        self._share = CUTOFF_SHARE if ascent.oracle.foresees else UNFORESEEN_SHARE
        self.pair = best_pair(ascent.vertices, index, self.bound)
        self.multiplier = 0.0 if start is None else float(start[index])
        if self.pair.kept is not None and self.pair.broken is not None:
            self.multiplier = self.crossing(self.pair.kept, self.pair.broken)
        self.is_new = True
        self.is_rough = False
        self._met: V
        self._lowest_tried = inf
        self._nearby = NEARBY if start is not None and self.multiplier > 0.0 else ()
        self._raises = -len(self._nearby)
        self._lowerings = -len(self._nearby)
        self._guessing: Guessing[V] | None = None

    def inherit(self, start: FloatArray, proven: float) -> None:
        """Begin with what is `proven` at the multipliers `start` of a larger region.

        If a policy of this region costs no more there, nothing is to be learnt from solving it once more.
        """
        ascent, multiplier = self.ascent, float(start[self.index])
        if not ascent.vertices or multiplier == 0.0 or proven == -inf:
            return
        if ascent.oracle.foresees:
            # From far away a guess is a step in the right direction at best: there lines are better.
            self._guessing = Guessing(ascent, self.index, self.bound, self.cutoff)
        ascent.bound, ascent.prices = proven, start
        best = min(ascent.vertices, key=lambda vertex: self.line(vertex, multiplier))
        if self.line(best, multiplier) - proven > ascent.tolerance(self.cutoff, self._share):
            self.multiplier = multiplier
            return
        self._met = best
        onwards = self._guessing.beyond(best, multiplier) if self._guessing else None
        if onwards is not None:
            self._step_to(onwards)
        elif self.pair.kept is None or self.pair.broken is None:
            self.bracket()

    def solve(self) -> None:
        """Solve at the multiplier, and find the best pair of what is known then."""
        ascent, multiplier = self.ascent, self.multiplier
        prices = np.zeros(len(ascent.oracle.bounds))
        prices[self.index] = multiplier
        model = min((self.line(each, multiplier) for each in ascent.vertices), default=inf)
        minimum = ascent.explore(prices, self.precision.value)
        if minimum is None:
            return
        self._met = minimum.vertex
        value = self.line(minimum.vertex, multiplier)
        self.is_new = value < model - DUAL_TOLERANCE * abs(value)
        left_open = value - minimum.bound
        self.is_rough = self.precision.is_lookup and left_open > COARSE_PRECISION * abs(value)
        if not self.is_new and ascent.repeats():
            ascent.vertices.pop()
        self.pair = best_pair(ascent.vertices, self.index, self.bound)
        kept = self.pair.kept
        if kept is not None and kept.costs[0] - ascent.bound <= ascent.tolerance():
            # A feasible policy meets the bound: nothing is left between them.
            ascent.converge([kept], np.ones(1))

    def close(self) -> bool:
        """One step towards the intersection of the pair's lines; False if there is no pair."""
        kept, broken = self.pair
        if kept is None or broken is None:
            return False
        ascent = self.ascent
        crossing = self.crossing(kept, broken)
        distance = self.line(kept, crossing) - ascent.bound
        is_there = not self.is_new and abs(crossing - self.multiplier) <= DUAL_TOLERANCE * self.multiplier
        if distance <= ascent.tolerance(self.cutoff, self._share) or (is_there and self.precision.is_exact):
            ascent.converge([broken, kept], self.mixture(kept, broken))
        elif is_there:
            self.precision.refine(distance / abs(ascent.bound) if ascent.bound else inf)
        else:
            onwards = self._guessing.beyond(self._met, self.multiplier) if self._guessing else None
            if onwards is None or abs(onwards - self.multiplier) >= abs(crossing - self.multiplier):
                self._go_to(crossing)
            else:
                self._step_to(onwards)
        return True

    def bracket(self) -> None:
        """One step towards the member of the pair that is missing."""
        kept = self.pair.kept
        if self.is_rough:
            # Before going elsewhere, know what is here.
            self.precision.coarsen()
            return
        onwards = self._guessing.beyond(self._met, self.multiplier) if self._guessing else None
        if onwards is not None:
            self._step_to(onwards)
        elif kept is None:
            self._raise()
        elif self.multiplier > 0.0:
            self._lowest_tried = min(self._lowest_tried, self.multiplier)
            factor = self._nearby[self._lowerings] if self._lowerings < 0 else LOWER_FACTOR
            self._lowerings += 1
            self._step_to(self._lowest_tried / factor if self._lowerings <= MAX_LOWERINGS else 0.0)
        elif self.precision.is_exact:
            self.ascent.converge([kept], np.ones(1))
        else:
            self.precision.refine()

    def _raise(self) -> None:
        """Go on with a higher multiplier, or find out whether the bound can be kept at all."""
        ascent = self.ascent
        if self._raises < MAX_RAISES:
            near = self._raises < 0
            higher = self.multiplier * self._nearby[self._raises] if near else self._higher(self._met)
            self._raises += 1
            self._step_to(higher)
            return
        weights = np.zeros(len(ascent.oracle.bounds))
        weights[self.index] = 1.0
        if not ascent.can_keep(weights):
            return
        self.pair = best_pair(ascent.vertices, self.index, self.bound)
        kept, broken = self.pair
        if kept is None:
            # Rounding hides on which side of the bound the least use lies; nothing more can be said.
            ascent.converge([ascent.vertices[-1]], np.ones(1))
        self._go_to(0.0 if kept is None or broken is None else self.crossing(kept, broken))

    def _higher(self, broken: V) -> float:
        """A higher multiplier to try while no feasible policy is known.

        The first one prices the excess at the whole primary cost, which most often is a little too much.
        """
        cost, excess = float(broken.costs[0]), float(broken.costs[1 + self.index]) - self.bound
        whole = cost / excess if cost > 0.0 and excess > 0.0 else 1.0
        return max(RAISE_FACTOR * self.multiplier, whole)

    def _go_to(self, multiplier: float) -> None:
        self.multiplier = multiplier
        self.precision.look_up()

    def _step_to(self, multiplier: float) -> None:
        """Go a step further, where what is known from elsewhere hardly ever tells what is best."""
        self.multiplier = multiplier
        bound = self.ascent.bound
        has_missing = -inf < bound != 0.0
        self.precision.coarsen((self.cutoff - bound) / abs(bound) if has_missing else inf)

    def line(self, vertex: V, multiplier: float) -> float:
        """The Lagrangian value of a policy."""
        return float(vertex.costs[0] + multiplier * (vertex.costs[1 + self.index] - self.bound))

    def crossing(self, kept: V, broken: V) -> float:
        """The multiplier at which both policies have the same Lagrangian value."""
        saved = kept.costs[0] - broken.costs[0]
        return max(0.0, float(saved / (broken.costs[1 + self.index] - kept.costs[1 + self.index])))

    def mixture(self, kept: V, broken: V) -> FloatArray:
        """The weights of (broken, kept) with which the mixture spends exactly the budget."""
        span = broken.costs[1 + self.index] - kept.costs[1 + self.index]
        share = float(np.clip((self.bound - kept.costs[1 + self.index]) / span, 0.0, 1.0))
        return np.array([share, 1.0 - share])


def best_pair(vertices: Sequence[V], index: int, bound: float) -> Pair[V]:
    """The feasible and the infeasible policy whose lines meet where the model is highest.

    Without a feasible policy, the infeasible one that exceeds the bound least; without an infeasible one that
    is cheaper, the cheapest feasible one.
    """
    if not vertices:
        return Pair(None, None)
    costs = np.array([vertex.costs for vertex in vertices])
    cost, slope = costs[:, 0], costs[:, 1 + index] - bound
    keeps = np.flatnonzero(slope <= 0.0)
    breaks = np.flatnonzero(slope > 0.0)
    if len(keeps) == 0:
        return Pair(None, vertices[int(breaks[np.argmin(slope[breaks])])])
    kept = int(keeps[np.argmin(cost[keeps])])
    if len(breaks) == 0:
        return Pair(vertices[kept], None)
    # Newton's method on the concave model, from multiplier zero upwards: it ends after finitely many lines.
    broken = int(breaks[np.argmin(cost[breaks])])
    if cost[kept] <= cost[broken]:
        return Pair(vertices[kept], None)
    for _ in range(2 * len(vertices) + 2):
        multiplier = (cost[kept] - cost[broken]) / (slope[broken] - slope[kept])
        lines = cost + multiplier * slope
        least = int(np.argmin(lines))
        level = cost[broken] + multiplier * slope[broken]
        if lines[least] >= level - MODEL_TOLERANCE * (cost[broken] + multiplier * abs(slope[broken])):
            break
        if slope[least] > 0.0:
            broken = least
        else:
            kept = least
        if cost[kept] <= cost[broken]:
            break
    return Pair(vertices[kept], vertices[broken])
