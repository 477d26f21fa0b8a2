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

from dataclasses import dataclass

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.errors import ImproperPolicy
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_system import PolicySystem
from hcssp.ssp.start import safe_rows
from hcssp.ssp.sweep_system import SweepSystem

TIE = 1e-12
"""An improvement counts only beyond this, relative to one plus the largest cost plus the state's value."""

LARGEST_FACTORISED = 400_000
"""Problems with more live states than this are evaluated by sweeps unless the user says otherwise."""

LARGE = 20_000
PRECISION_OF_LARGE = 1e-8
"""Above LARGE live states, improvements that cannot lower any value by more than this relative share are
left alone: the bound pays for them, and hundreds of factorisations are saved."""

MIN_SWEEPS = 25
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
        # A sweep costs a small part of a factorisation and carries an improvement one step.
        self._max_sweeps = max(MIN_SWEEPS, int(np.sqrt(balance.num_live) / 2))
        # Where a factorisation is dear, sweep for as long as anything improves.
        self._sweep_when = 0.0 if balance.num_live > LARGE else SWEEP_WHEN
        self._precision = PRECISION_OF_LARGE if balance.num_live > LARGE else 0.0
        self._proper: IntArray | None = None

    def minimise(
        self, weights: FloatArray, allowed: BoolArray | None = None, warm: IntArray | None = None
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
        """
        balance = self.balance
        row_costs: FloatArray = weights @ balance.costs
        rows, dead = None, None
        if warm is not None:
            rows = self._fit(warm, weights, row_costs, allowed)
        if rows is None:
            everything = np.ones(balance.num_rows, dtype=np.bool_) if allowed is None else allowed
            rows, safe = safe_rows(balance, row_costs, everything)
            if (rows == NO_ROW).any():
                if (rows[balance.initial > 0.0] == NO_ROW).any():
                    return None
                dead = rows == NO_ROW
                # The states of the region's dead ends are never entered; any proper rows serve there.
                rows = np.where(dead, self._proper_policy(row_costs), rows)
                allowed = safe
        return self._improve(rows, weights, row_costs, allowed, dead)

    def _improve(
        self,
        rows: IntArray,
        weights: FloatArray,
        row_costs: FloatArray,
        allowed: BoolArray | None,
        dead: BoolArray | None,
    ) -> ScalarOptimum:
        balance = self.balance
        forbidden = None if allowed is None else np.flatnonzero(~allowed)
        usable = row_costs if forbidden is None else row_costs[allowed]
        may_sweep = dead is None and bool(np.all(usable > 1e-6 * np.max(usable, initial=0.0)))
        # Rounding is relative to the largest costs that values are summed from, even where a value is zero.
        scale = 1.0 + float(np.max(usable, initial=0.0))
        # A coarse value could make a loop without cost look like a gain.
        total, fresh = np.inf, self.system.coarse and not may_sweep
        for _ in range(MAX_ITERATIONS):
            values, value, reduced, exact = self._evaluate(rows, weights, row_costs, fresh)
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
                    total, fresh = np.inf, True
                    continue
                bound = _corrected(float(balance.initial @ value), row_costs, reduced)
                return ScalarOptimum(rows, values, balance.initial @ values, bound, dead)
            share = np.count_nonzero(improving) / balance.num_live
            sweeps = 0
            while may_sweep and share > self._sweep_when and sweeps < self._max_sweeps:
                value = value + np.minimum(least, 0.0)
                reduced = balance.reduced_costs(row_costs, value)
                if forbidden is not None:
                    reduced[forbidden] = np.inf
                least = balance.least_of_state(reduced)
                share = np.count_nonzero(least < -TIE * (scale + np.abs(value))) / balance.num_live
                sweeps += 1
            if sweeps:
                improving = reduced[rows] - least > TIE * (scale + np.abs(value))
            switched = np.flatnonzero(improving)
            rows = rows.copy()
            rows[switched] = balance.least_rows(reduced, least, switched)
        raise RuntimeError(f"policy iteration did not end within {MAX_ITERATIONS} iterations")

    def _evaluate(
        self, rows: IntArray, weights: FloatArray, row_costs: FloatArray, fresh: bool
    ) -> tuple[FloatArray, FloatArray, FloatArray, bool]:
        """Values, their weighted sum, all reduced costs, and whether the residual is mere rounding."""
        values = self.system.values(rows, fresh=fresh)
        value: FloatArray = values @ weights
        reduced = self.balance.reduced_costs(row_costs, value)
        scale = 1.0 + float(np.max(np.abs(value), initial=0.0))
        residual = float(np.max(np.abs(reduced[rows]), initial=0.0))
        if not np.isfinite(residual) or scale > 1e14 * (1.0 + float(np.max(row_costs, initial=0.0))):
            raise ImproperPolicy("the policy does not reach a goal almost surely")
        return values, value, reduced, residual <= 1e-11 * scale

    def _negligible(self, reduced: FloatArray, row_costs: FloatArray) -> bool:
        """Whether all improvements left are within the precision asked for."""
        if self._precision == 0.0:
            return False
        return bool(np.all(reduced >= -self._precision * row_costs))

    def _fit(
        self, warm: IntArray, weights: FloatArray, row_costs: FloatArray, allowed: BoolArray | None
    ) -> IntArray | None:
        """`warm` with its forbidden rows replaced; None if that does not give a proper policy."""
        if allowed is None or allowed[warm].all():
            return warm
        balance = self.balance
        states = np.flatnonzero(~allowed[warm])
        if len(states) > 8:
            return None
        value: FloatArray = self.system.values(warm) @ weights
        reduced = np.where(allowed, balance.reduced_costs(row_costs, value), np.inf)
        least = balance.least_of_state(reduced)
        if not np.all(np.isfinite(least)):
            return None
        rows = warm.copy()
        rows[states] = balance.least_rows(reduced, least, states)
        return rows if self.system.is_proper(rows) else None

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
    costly = cost > 1e-6 * (1.0 + abs(value))
    excess = float(np.max(shortfall[costly] / cost[costly], initial=0.0))
    corrected = value / (1.0 + excess)
    if not costly.all():
        # Rounding on (nearly) free rows cannot be scaled away; it is below the tie tolerance.
        corrected -= 1e-10 * (1.0 + abs(value))
    return corrected
