r"""Scalar SSP, exactly: policy iteration with sparse factorisation, warm-started.

**Problem.** Weights :math:`w \ge 0` of the costs and a region of policies; wanted is the policy of the region
with the least :math:`\sum_k w_k\, \mathbb{E}[\sum C_k]`.

**Method.** Evaluate the policy by a linear solve, switch to better actions, repeat. Where many states still
improve and every step costs something, a few Bellman sweeps are made in between: they carry an improvement
across a grid for a fraction of a factorisation.

**Guarantee.** A state switches only for an improvement beyond a relative epsilon, so ties cannot make it
cycle, and zero-cost loops cannot make it improper: a switch into a loop without cost gains nothing. The
lower bound is the value corrected by the remaining residual: if :math:`V \le (1 + \epsilon)\,c + T V` for
every row, then :math:`V / (1 + \epsilon)` is below the value of every proper policy of the region.

**Reference.** Bertsekas and Tsitsiklis, *An analysis of stochastic shortest path problems*, 1991.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from math import isfinite

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.errors import ImproperPolicy
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_system import PolicySystem
from hcssp.ssp.start import safe_rows, starting_policy
from hcssp.ssp.sweep_system import SweepSystem

logger = logging.getLogger(__name__)

TIE = 1e-12
"""An improvement counts only beyond this, relative to one plus the largest cost plus the state's value."""

LARGEST_FACTORISED = 400_000
"""Problems with more live states than this are evaluated by sweeps unless the user says otherwise."""

LARGE = 20_000
PRECISION_OF_LARGE = 1e-8
"""Above LARGE live states, improvements that cannot lower any value by more than this relative share are
left alone: the bound pays for them, and hundreds of factorisations are saved."""

NEARLY_FREE = 1e-6  # a row that costs no more than this, relatively, may be taken in circles
HIDDEN = 1e-11  # relative to a state's value: a gain on such a row beyond this is no rounding
MAX_LOWERINGS = 1_000
WORTH_SWEEPING = 1e-8  # of the cheapest row: smaller improvements are left to the next evaluation
MAX_SWEEPS = 60
MAX_REPLACED = 8
SWEEP_WHEN = 0.03  # sweep while more than this share of the states improves
MAX_ITERATIONS = 10_000


@dataclass(frozen=True, eq=False)
class ScalarOptimum:
    """The best policy of a region under given weights.

    Attributes
    ----------
    rows
        A row for each live state.
    values
        The policy's expected costs to go, shape ``(num_live, num_costs)``, from a linear solve.
    costs
        The policy's expected costs from the initial distribution.
    bound
        A certified lower bound on the weighted cost of every policy of the region.
    dead
        Live states from which the region cannot reach a goal; the policy never goes there. None if none.
    """

    rows: IntArray
    values: FloatArray
    costs: FloatArray
    bound: float
    dead: BoolArray | None = None


class PolicyIteration:
    """Solves scalar SSPs of one problem under changing weights and regions.

    Parameters
    ----------
    balance
        The prepared problem.
    system
        How policies are evaluated: by factorisation or by sweeps. None chooses by the problem's size.
    """

    def __init__(self, balance: Balance, system: PolicySystem | SweepSystem | None = None) -> None:
        self.balance = balance
        if system is None:
            system = PolicySystem(balance) if balance.num_live <= LARGEST_FACTORISED else SweepSystem(balance)
        self.system = system
        self.num_iterations = 0
        # A sweep carries an improvement one step, and longer ways take more of them. Most of the sweeps need
        # not look for better rows: those of the policy are a fraction of all.
        self._policy_sweeps = max(4, int(np.sqrt(balance.num_live) / 9))
        # Where a factorisation is dear, sweep for as long as anything improves.
        self._sweep_when = 0.0 if balance.num_live > LARGE else SWEEP_WHEN
        self._precision = PRECISION_OF_LARGE if balance.num_live > LARGE else 0.0
        self._every_state: IntArray = np.arange(balance.num_live)
        self._proper: IntArray | None = None

    def minimise(
        self,
        weights: FloatArray,
        allowed: BoolArray | None = None,
        warm: IntArray | None = None,
        values: FloatArray | None = None,
    ) -> ScalarOptimum | None:
        """The best policy of the region `allowed`, or None if it has no proper policy.

        Parameters
        ----------
        weights
            One non-negative weight for each cost.
        allowed
            Mask over rows; None allows all.
        warm
            A proper policy near the answer. It may use rows that the region forbids.
        values
            The exact values of `warm`, where they are known.
        """
        row_costs: FloatArray = weights @ self.balance.costs
        if warm is not None:
            rows, values = self._fit(warm, values, weights, row_costs, allowed)
            if rows is not None:
                try:
                    return self._improve(rows, weights, row_costs, allowed, values=values)
                except ImproperPolicy:
                    # Replacing forbidden rows one by one has closed a circle.
                    logger.debug("a warm start was improper; starting from the goals")
        elif allowed is None:
            rows = self._cold_start(row_costs)
            if rows is not None:
                return self._improve(rows, weights, row_costs, allowed)
        return self._from_the_goals(weights, row_costs, allowed)

    def _from_the_goals(
        self, weights: FloatArray, row_costs: FloatArray, allowed: BoolArray | None
    ) -> ScalarOptimum | None:
        """As :meth:`minimise`, from a policy that is proper wherever the region has one."""
        balance = self.balance
        everything = np.ones(balance.num_rows, dtype=np.bool_) if allowed is None else allowed
        rows, safe = safe_rows(balance, row_costs, everything)
        lost = rows == NO_ROW
        if not lost.any():
            return self._improve(rows, weights, row_costs, allowed)
        if lost[balance.initial > 0.0].any():
            return None
        # The states of the region's dead ends are never entered; any proper rows serve there.
        rows = np.where(lost, self._proper_policy(row_costs), rows)
        return self._improve(rows, weights, row_costs, safe, dead=lost)

    def _cold_start(self, row_costs: FloatArray) -> IntArray | None:
        """A proper policy close to the best one, from shortest paths and sweeps; None if not to be had so.

        A greedy policy is proper if one more sweep would change all values by less than any step costs: on a
        closed set without a goal the average cost would be at most the average change.
        """
        balance = self.balance
        everything = np.ones(balance.num_rows, dtype=np.bool_)
        rows, value = starting_policy(balance, row_costs, everything, likeliest_only=True)
        cheapest = float(np.min(row_costs, initial=np.inf))
        if (rows == NO_ROW).any() or cheapest <= NEARLY_FREE * float(np.max(row_costs, initial=0.0)):
            return None
        for _ in range(MAX_SWEEPS):
            reduced = balance.reduced_costs(row_costs, value)
            least = balance.least_of_state(reduced)
            change = float(np.max(np.abs(least), initial=0.0))
            if change <= WORTH_SWEEPING * cheapest:
                break
            value = self._sweep(value, reduced, least, row_costs)
        if change >= 0.5 * cheapest:
            return rows
        return balance.least_rows(reduced, least, self._every_state)

    def _improve(
        self,
        rows: IntArray,
        weights: FloatArray,
        row_costs: FloatArray,
        allowed: BoolArray | None,
        dead: BoolArray | None = None,
        values: FloatArray | None = None,
    ) -> ScalarOptimum:
        balance = self.balance
        forbidden = None if allowed is None else np.flatnonzero(~allowed)
        usable = row_costs if forbidden is None else row_costs[allowed]
        cheapest = float(np.min(usable, initial=np.inf))
        may_sweep = dead is None and cheapest > NEARLY_FREE * float(np.max(usable, initial=0.0))
        # Rounding is relative to the largest costs that values are summed from, even where a value is zero.
        scale = 1.0 + float(np.max(usable, initial=0.0))
        # A coarse value could make a loop without cost look like a gain.
        total, fresh = np.inf, self.system.coarse and not may_sweep
        for _ in range(MAX_ITERATIONS):
            if values is None:
                values = self.system.values(rows, fresh=fresh)
            value, reduced, exact = self._weigh(rows, values, weights, row_costs)
            # Every switch lowers some value and raises none; where rounding hides that, it is time to stop.
            stalled, total = value.sum() >= total, value.sum()
            if forbidden is not None:
                reduced[forbidden] = np.inf
            least = balance.least_of_state(reduced)
            improving = least < -TIE * (scale + np.abs(value))
            self.num_iterations += 1
            if stalled or not improving.any() or self._negligible(reduced, row_costs):
                # A coarse system is asked once more, for every cost, whatever its weight.
                if not fresh and (self.system.coarse or not exact):
                    total, fresh, values = np.inf, True, None
                    continue
                bound = self._certified(value, reduced, row_costs, forbidden)
                return ScalarOptimum(rows, values, balance.initial @ values, bound, dead)
            share = np.count_nonzero(improving) / balance.num_live
            sweeps = 0
            while may_sweep and share > self._sweep_when and sweeps < MAX_SWEEPS:
                value = self._sweep(value, reduced, least, row_costs)
                reduced = self._reduced_costs(value, row_costs, forbidden)
                least = balance.least_of_state(reduced)
                share = np.count_nonzero(least < -WORTH_SWEEPING * cheapest) / balance.num_live
                sweeps += 1
            if sweeps:
                improving = reduced[rows] - least > TIE * (scale + np.abs(value))
            switched = np.flatnonzero(improving)
            # Only the coarseness of the values made it look improvable.
            fresh = fresh or (self.system.coarse and len(switched) == 0)
            rows = rows.copy()
            rows[switched] = balance.least_rows(reduced, least, switched)
            values = None
        raise RuntimeError(f"policy iteration did not end within {MAX_ITERATIONS} iterations")

    def _sweep(
        self, value: FloatArray, reduced: FloatArray, least: FloatArray, row_costs: FloatArray
    ) -> FloatArray:
        """`value` after one Bellman sweep, whose reduced costs are known, and some sweeps of its best rows.

        Where every sweep lowers the values, so do these: a policy that is best for them costs less than
        they say.
        """
        rows = self.balance.least_rows(reduced, least, self._every_state)
        value = value + least
        system, costs = self.balance.matrix[rows], row_costs[rows]
        for _ in range(self._policy_sweeps):
            value += costs - system @ value
        return value

    def _weigh(
        self, rows: IntArray, values: FloatArray, weights: FloatArray, row_costs: FloatArray
    ) -> tuple[FloatArray, FloatArray, bool]:
        """The weighted values, all reduced costs, and whether the residual is mere rounding."""
        value: FloatArray = values @ weights
        reduced = self.balance.reduced_costs(row_costs, value)
        scale = 1.0 + float(value.max(initial=0.0))
        residual = float(np.abs(reduced[rows]).max(initial=0.0))
        if not isfinite(residual) or scale > 1e14 * (1.0 + float(row_costs.max(initial=0.0))):
            raise ImproperPolicy("the policy does not reach a goal almost surely")
        return value, reduced, residual <= 1e-11 * scale

    def _certified(
        self, value: FloatArray, reduced: FloatArray, row_costs: FloatArray, forbidden: IntArray | None
    ) -> float:
        """A lower bound on the cost of every policy, from the values of one that cannot be improved."""
        balance = self.balance
        for _ in range(MAX_LOWERINGS):
            bound = float(balance.initial @ value)
            free = np.flatnonzero(row_costs <= NEARLY_FREE * (1.0 + abs(bound)))
            if np.all(reduced[free] >= -HIDDEN * (1.0 + np.abs(value[balance.row_state[free]]))):
                return _corrected(bound, row_costs, reduced)
            # Beside enormous costs a tie is coarse, and what it hides on rows without cost cannot be scaled
            # away: the values are lowered until nothing is hidden.
            value = value + np.minimum(balance.least_of_state(reduced), 0.0)
            reduced = self._reduced_costs(value, row_costs, forbidden)
        return 0.0

    def _reduced_costs(
        self, value: FloatArray, row_costs: FloatArray, forbidden: IntArray | None
    ) -> FloatArray:
        """The reduced costs, infinite on forbidden rows."""
        reduced = self.balance.reduced_costs(row_costs, value)
        if forbidden is not None:
            reduced[forbidden] = np.inf
        return reduced

    def _negligible(self, reduced: FloatArray, row_costs: FloatArray) -> bool:
        """Whether all improvements left are within the precision asked for."""
        if self._precision == 0.0:
            return False
        return bool(np.all(reduced >= -self._precision * row_costs))

    def _fit(
        self,
        warm: IntArray,
        values: FloatArray | None,
        weights: FloatArray,
        row_costs: FloatArray,
        allowed: BoolArray | None,
    ) -> tuple[IntArray | None, FloatArray | None]:
        """`warm` with its forbidden rows replaced, and its values if nothing was; None if there are too many.

        The result need not be proper where rows were replaced.
        """
        if allowed is None or allowed[warm].all():
            return warm, values
        balance = self.balance
        states = np.flatnonzero(~allowed[warm])
        if len(states) > MAX_REPLACED:
            return None, None
        if values is None:
            values = self.system.values(warm)
        value: FloatArray = values @ weights
        reduced = np.where(allowed, balance.reduced_costs(row_costs, value), np.inf)
        least = balance.least_of_state(reduced)
        if not np.all(np.isfinite(least)):
            return None, None
        rows = warm.copy()
        rows[states] = balance.least_rows(reduced, least, states)
        return rows, None

    def _proper_policy(self, row_costs: FloatArray) -> IntArray:
        if self._proper is None:
            everything = np.ones(self.balance.num_rows, dtype=np.bool_)
            self._proper, _ = safe_rows(self.balance, row_costs, everything)
        return self._proper


def _corrected(value: float, row_costs: FloatArray, reduced: FloatArray) -> float:
    """`value` lowered until it survives the remaining negative reduced costs."""
    negative = np.flatnonzero(reduced < 0.0)
    if len(negative) == 0:
        return value
    shortfall, cost = -reduced[negative], row_costs[negative]
    costly = cost > NEARLY_FREE * (1.0 + abs(value))
    excess = float(np.max(shortfall[costly] / cost[costly], initial=0.0))
    corrected = value / (1.0 + excess)
    if not costly.all():
        # Rounding on (nearly) free rows cannot be scaled away.
        corrected -= 1e-10 * (1.0 + abs(value))
    return corrected
