r"""Scalar SSP, exactly: policy iteration with sparse factorisation, warm-started.

**Problem.** Weights :math:`w \ge 0` of the costs and a region of policies; wanted is the policy of the region
with the least :math:`\sum_k w_k\, \mathbb{E}[\sum C_k]`.

**Method.** Evaluate the policy by a linear solve, switch to better actions, repeat. Where many states still
improve and every step costs something, a few Bellman sweeps are made in between: they carry an improvement
across a grid for a fraction of a factorisation.

**Guarantee.** A state switches only for an improvement beyond a relative epsilon, so ties cannot make it
cycle, and zero-cost loops cannot make it improper: a switch into a loop without cost gains nothing. The
lower bound holds whatever the rounding and wherever it ends, see :mod:`hcssp.ssp.potential`.

**Reference.** Bertsekas and Tsitsiklis, *An analysis of stochastic shortest path problems*, 1991.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from math import inf

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.reachability import Backwards, path_lengths
from hcssp.deadline import keep_time
from hcssp.errors import ImproperPolicy, OutOfPrecision
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_evaluation import DenseSystem, System, layers_of, side_of, system_for
from hcssp.ssp.potential import Certificate
from hcssp.ssp.scalar_problem import Estimate, ScalarProblem

logger = logging.getLogger(__name__)

RESIDUAL_TOLERANCE = 1e-11
"""The values of a policy are its own if their residual is within this, relative to each state's value, or
within rounding of the largest; beyond, they are computed again, as precisely as possible."""

RESIDUAL_ROUNDING = 4e-15
"""What rounding leaves of a residual, relative to the largest value."""


@dataclass(frozen=True)
class PolicyIterationParameters:
    """How policy iteration proceeds. No bound rests on it.

    Attributes
    ----------
    large
        Problems with more live states are large: factorisations are expensive there.
    large_precision
        In large problems, improvements that cannot lower any value by more than this relative share are left
        alone. The bound pays for them, and hundreds of factorisations are saved.
    sweep_share
        Bellman sweeps go on while more than this share of the states improves; in large problems while any
        does. (Without sweeps: 2.4 times as slow on a grid of 100 by 100.)
    sweep_tolerance
        Improvements below this share of the cheapest row are not swept for: the next evaluation finds them.
    proper_share
        A greedy policy is proper if a sweep raises no value by more than this share of the cheapest row. Any
        share below one would do; this one leaves the rounding of the sweep far behind.
    bellman_sweeps
        The least and the most sweeps between two evaluations; in between, as many as the problem is wide.
    narrow_side, side_per_sweep
        A large problem that is no wider than a grid of this side is factorised about as fast as it is swept
        once for each `side_per_sweep` of its side.
    replaced_rows
        A warm start with more forbidden rows is not used.
    iterations
        The most evaluations.
    """

    large: int = 20_000
    large_precision: float = 1e-8
    sweep_share: float = 0.03
    sweep_tolerance: float = 1e-8
    proper_share: float = 0.5
    bellman_sweeps: tuple[int, int] = (3, 60)
    narrow_side: float = 100.0
    side_per_sweep: float = 8.0
    replaced_rows: int = 8
    iterations: int = 10_000


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
    certificate
        What proves the bound, and one for every live state that is not dead; None if nothing is proven.
    """

    rows: IntArray
    values: FloatArray
    costs: FloatArray
    bound: float
    dead: BoolArray | None = None
    certificate: Certificate | None = None


class PolicyIteration:
    """Solves scalar SSPs of one problem under changing weights and regions.

    Parameters
    ----------
    balance
        The prepared problem.
    system
        How policies are evaluated: by factorisation or by sweeps. None chooses by the problem's graph, see
        :mod:`hcssp.ssp.policy_evaluation`.
    parameters
        See :class:`PolicyIterationParameters`.
    """

    def __init__(
        self,
        balance: Balance,
        system: System | None = None,
        parameters: PolicyIterationParameters | None = None,
    ) -> None:
        self.balance = balance
        self.parameters = PolicyIterationParameters() if parameters is None else parameters
        self._is_large = balance.num_live > self.parameters.large
        layers = layers_of(balance)
        side = side_of(balance, layers) if self._is_large else float(np.sqrt(balance.num_live))
        self.system: System = system_for(balance, layers) if system is None else system
        # A sweep carries an improvement one step, and longer ways take more of them. Most of the sweeps need
        # not look for better rows: those of the policy are a fraction of all.
        self._policy_sweeps = max(3, int(side / 12))
        # Along a line or a corridor factors carry it for next to nothing, as fast as a few sweeps.
        narrow = self._is_large and side <= self.parameters.narrow_side
        least, most = self.parameters.bellman_sweeps
        across = int(side / self.parameters.side_per_sweep if narrow else side)
        self._most_sweeps = min(most, max(least, across))
        # Where a factorisation is expensive, sweep for as long as anything improves.
        self._sweep_share = 0.0 if self._is_large else self.parameters.sweep_share
        if isinstance(self.system, DenseSystem):
            # Another policy is evaluated as quickly as a sweep is made.
            self._sweep_share = 1.0
        self.precision = self.parameters.large_precision if self._is_large else 0.0
        self._every_state: IntArray = np.arange(balance.num_live)
        self._proper: IntArray | None = None

    def minimise(
        self,
        weights: FloatArray,
        allowed: BoolArray | None = None,
        warm: IntArray | None = None,
        values: FloatArray | None = None,
        *,
        partly: bool = False,
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
        partly
            Whether a policy will do that ends from some of the initial states only; the others are dead.
        """
        if self.balance.num_live == 0:
            # It begins in a goal: there is nothing to do, and it costs nothing.
            nothing = np.zeros((0, len(weights)))
            return ScalarOptimum(np.zeros(0, dtype=np.int64), nothing, np.zeros(len(weights)), 0.0)
        problem = ScalarProblem(self.balance, weights, allowed)
        if warm is not None:
            rows, values = self._warm_start(problem, warm, values)
            if rows is not None:
                try:
                    return self._improve(problem, rows, values)
                except (ImproperPolicy, OutOfPrecision):
                    # Replacing forbidden rows one by one has closed a cycle.
                    logger.debug("a warm start was improper; starting from the goals")
        return self._from_the_goals(problem, partly)

    def _improve(
        self,
        problem: ScalarProblem,
        rows: IntArray,
        values: FloatArray | None = None,
        dead: BoolArray | None = None,
    ) -> ScalarOptimum:
        """Evaluate, sweep, switch, until nothing improves; then certify.

        Parameters
        ----------
        problem
            The weights and the region.
        rows, values
            A policy to begin with, and its values where they are known.
        dead
            Live states that no policy of the region may enter.
        """
        may_sweep = dead is None and problem.every_step_costs
        total = inf
        for _ in range(self.parameters.iterations):
            if values is None:
                values = self.system.values(rows)
            estimate, is_exact = self._evaluate(problem, rows, values)
            if not is_exact:
                # Updates lose digits where values differ in size, and a switch for their sake could close a
                # cycle.
                values = self.system.values(rows, 0.0)
                estimate, _ = self._evaluate(problem, rows, values)
            improvable = problem.improvable(estimate)
            # Every switch lowers some value and raises none; where rounding hides that, it is time to stop.
            stalled, total = estimate.value.sum() >= total, estimate.value.sum()
            if stalled or not improvable.any() or problem.is_within(estimate, self.precision):
                return self._proven(problem, rows, values, estimate, dead)
            if may_sweep:
                swept = self._sweep(problem, estimate, improvable)
                if swept is not estimate:
                    estimate, improvable = swept, problem.improvable(swept, rows)
            rows, values = self._switch(rows, estimate, improvable), None
        raise RuntimeError(f"policy iteration did not end within {self.parameters.iterations} iterations")

    def _proven(
        self,
        problem: ScalarProblem,
        rows: IntArray,
        values: FloatArray,
        estimate: Estimate,
        dead: BoolArray | None = None,
    ) -> ScalarOptimum:
        """The policy `rows` with its exact `values`, and the bound that they prove."""
        proof = problem.certificate(estimate, self.precision)
        costs = self.balance.initial @ values
        return ScalarOptimum(rows, values, costs, proof.bound, dead, proof)

    def _evaluate(self, problem: ScalarProblem, rows: IntArray, values: FloatArray) -> tuple[Estimate, bool]:
        """The estimate of the policy `rows`, and whether its residual is mere rounding.

        Raises
        ------
        OutOfPrecision
            If they are beyond what numbers can hold.
        """
        value: FloatArray = values @ problem.weights
        reduced = self.balance.reduced_costs(problem.row_costs, value)
        if not np.all(np.isfinite(value)):
            raise OutOfPrecision("the policy's values overflow double precision")
        # Looked at before the region forbids rows: in its dead states a policy may take forbidden ones.
        largest = float(value.max(initial=0.0))
        allowed = RESIDUAL_TOLERANCE * np.abs(value) + RESIDUAL_ROUNDING * largest
        is_exact = bool(np.all(np.abs(reduced[rows]) <= allowed))
        return problem.estimate(value, reduced), is_exact

    def _sweep(self, problem: ScalarProblem, estimate: Estimate, improvable: BoolArray) -> Estimate:
        """The estimate after Bellman sweeps; the same estimate if too few states improve.

        If every sweep lowers the values, the greedy policy costs less than the values.
        """
        count, sweeps = np.count_nonzero(improvable), 0
        while count / self.balance.num_live > self._sweep_share and sweeps < self._most_sweeps:
            greedy = self.balance.least_rows(estimate.reduced, estimate.least, self._every_state)
            estimate = problem.estimate(self._swept_value(problem, estimate, greedy))
            count = np.count_nonzero(estimate.least < -self.parameters.sweep_tolerance * problem.least_cost)
            sweeps += 1
        return estimate

    def _swept_value(self, problem: ScalarProblem, estimate: Estimate, rows: IntArray) -> FloatArray:
        """The values after one Bellman sweep and some sweeps of the `rows` that are best in it."""
        if self._is_large:
            keep_time()
        value = estimate.value + estimate.least
        moves, costs = self.balance.policy_moves(rows), problem.row_costs[rows]
        for _ in range(self._policy_sweeps):
            value -= moves(value)
            value += costs
        return value

    def _switch(self, rows: IntArray, estimate: Estimate, improvable: BoolArray) -> IntArray:
        """The policy `rows` with the best row in every improvable state."""
        states = np.flatnonzero(improvable)
        switched = rows.copy()
        switched[states] = self.balance.least_rows(estimate.reduced, estimate.least, states)
        return switched

    def _warm_start(
        self, problem: ScalarProblem, warm: IntArray, values: FloatArray | None
    ) -> tuple[IntArray | None, FloatArray | None]:
        """`warm` with its forbidden rows replaced, and its values if nothing was; None if there are too many.

        The result need not be proper where rows were replaced.
        """
        allowed = problem.allowed
        if allowed is None or allowed[warm].all():
            return warm, values
        states = np.flatnonzero(~allowed[warm])
        if len(states) > self.parameters.replaced_rows:
            return None, None
        if values is None:
            values = self.system.values(warm)
        estimate = problem.estimate(values @ problem.weights)
        if not np.all(np.isfinite(estimate.least)):
            return None, None
        rows = warm.copy()
        rows[states] = self.balance.least_rows(estimate.reduced, estimate.least, states)
        return rows, None

    def _from_the_goals(self, problem: ScalarProblem, partly: bool = False) -> ScalarOptimum | None:
        """As :meth:`minimise`, from a policy that is proper wherever the region has one."""
        balance = self.balance
        everything = np.ones(balance.num_rows, dtype=np.bool_)
        rows, safe, lengths = safe_rows(
            balance, problem.row_costs, everything if problem.allowed is None else problem.allowed
        )
        lost = rows == NO_ROW
        if not lost.any():
            return self._improve(problem, self._swept_policy(problem, rows, lengths))
        begins = lost[balance.initial > 0.0]
        if begins.all() if partly else begins.any():
            return None
        # The states of the region's dead ends are never entered; any proper rows serve there.
        rows = np.where(lost, self.proper_policy(problem.row_costs), rows)
        return self._improve(ScalarProblem(balance, problem.weights, safe), rows, dead=lost)

    def _swept_policy(self, problem: ScalarProblem, rows: IntArray, value: FloatArray) -> IntArray:
        """A proper policy that is greedy for what sweeps make of `value`; `rows` if they lead to none.

        A greedy policy is proper if one more sweep would raise all values by less than any step costs: on a
        closed set without a goal the average rise is the average cost.
        """
        if not problem.every_step_costs:
            return rows
        swept = self._sweep(problem, problem.estimate(value), np.ones(len(value), dtype=np.bool_))
        if swept.least.max() > self.parameters.proper_share * problem.least_cost:
            return rows
        return self.balance.least_rows(swept.reduced, swept.least, self._every_state)

    def proper_policy(self, row_costs: FloatArray) -> IntArray:
        """Some policy that ends from every live state; `row_costs` only say which is preferred."""
        if self._proper is None:
            everything = np.ones(self.balance.num_rows, dtype=np.bool_)
            self._proper, _, _ = safe_rows(self.balance, row_costs, everything)
        return self._proper


STEP_SHARE = 1e-6
"""A step is at least this share of the largest cost long (of one, if all are free), so that paths get shorter
with every step even where steps are free. Only the choice among proper policies depends on it."""

LIKELY = 0.5
"""Paths of outcomes that are at least so probable are looked for first: there are far fewer of them."""

SWALLOWED = 4.0 * float(np.finfo(np.float64).eps)
"""A step that is no longer than this share of a path may be lost in the rounding of the path's length."""


def starting_policy(
    balance: Balance, row_costs: FloatArray, allowed: BoolArray, least_probability: float = 0.0
) -> tuple[IntArray, FloatArray]:
    """Rows that begin shortest paths of allowed rows to a goal, and the lengths of these paths.

    A step from ``s`` to ``s'`` by a row has the length of the row's cost divided by the probability of
    ``s'``. Each state reaches the next state of its path with positive probability, so the policy is proper;
    and where actions mostly have their intended outcome, it is close to optimal. Outcomes below
    `least_probability` are not counted on.

    A live state without a path has NO_ROW and infinite length. The policy is proper if every state has a row
    and every allowed row stays among the live states, which holds for prepared problems without a region.
    Otherwise see :func:`safe_rows`.
    """
    live = balance.num_live
    matrix, goal = balance.matrix, np.arange(live + 1) == live
    row_of_entry = np.repeat(np.arange(balance.num_rows), np.diff(matrix.indptr))
    # Below zero at a row's own state.
    probability = -matrix.data
    to_goal = balance.goal_probability
    entry = np.flatnonzero((probability > 0.0) & (probability >= least_probability))
    goal_row = np.flatnonzero((to_goal > 0.0) & (to_goal >= least_probability))
    step = np.maximum(row_costs, STEP_SHARE * (float(np.max(row_costs, initial=0.0)) or 1.0))
    step = np.where(allowed, step, np.inf)
    row = np.concatenate([row_of_entry[entry], goal_row])
    head = np.concatenate([matrix.indices[entry], np.full(len(goal_row), live, dtype=matrix.indices.dtype)])
    length = step[row] / np.concatenate([probability[entry], to_goal[goal_row]])
    distance = path_lengths(balance.row_state[row], head, goal, length)
    usable = allowed[row]
    longest = max(
        distance.max(where=np.isfinite(distance), initial=0.0), length.max(where=usable, initial=0.0)
    )
    if SWALLOWED * longest >= length.min(where=usable, initial=np.inf):
        # Every step counts the same, or rounding might let a path run in a cycle.
        length = np.where(usable, 1.0, np.inf)
        distance = path_lengths(balance.row_state[row], head, goal, length)
    through = np.full(balance.num_rows, np.inf)
    np.minimum.at(through, row, distance[head] + length)
    least = balance.least_of_state(through)
    rows = balance.least_rows(through, least, np.arange(live))
    return np.where(np.isfinite(least), rows, NO_ROW), distance[:live]


def safe_rows(
    balance: Balance, row_costs: FloatArray, allowed: BoolArray
) -> tuple[IntArray, BoolArray, FloatArray]:
    """A proper policy of a region, where it has one, and the rows that keep out of its dead ends.

    Returns
    -------
    rows
        A row for each live state, NO_ROW in those from which the region cannot reach a goal surely.
    safe
        The allowed rows that can never lead to such a state.
    lengths
        Of the shortest path from each live state, see :func:`starting_policy`.
    """
    rows, lengths = starting_policy(balance, row_costs, allowed, LIKELY)
    if NO_ROW not in rows:
        return rows, allowed, lengths
    search: Backwards | None = None
    while True:
        rows, lengths = starting_policy(balance, row_costs, allowed)
        lost = rows == NO_ROW
        if not lost.any():
            return rows, allowed, lengths
        if search is None:
            # Through the diagonal of the matrix a row leads to its own state too: lost states lose theirs.
            search = Backwards(balance.matrix, balance.row_state, np.zeros(balance.num_live, dtype=np.bool_))
        safe = search.spread(lost, allowed)
        if np.array_equal(safe, allowed):
            return rows, allowed, lengths
        allowed = safe
