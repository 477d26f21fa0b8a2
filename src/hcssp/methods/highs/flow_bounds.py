r"""How often can a row be taken? Upper limits on the flows of deterministic policies, as tight as they come.

An integer program that switches flows with binaries needs an upper limit M on every flow, and a loose one
is fatal: with a tolerance of :math:`10^{-9}` a binary that is "zero" lets :math:`10^{-9} M` through.

- A policy that costs at most U takes a row of primary cost c at most U / c times; likewise for every
  bounded secondary cost. Such a row is *priced*.
- If a certified bound says that taking a row once adds d to a lower bound L, it is taken at most
  (U - L) / d times; this limits most of the rows that are of no use.
- Rows that are not priced connect states; a strongly connected component Z of them is left, per entry,
  with a probability of at least q, the product over its states of their least positive probability: a
  proper deterministic policy has from each state of Z a path out that meets no state twice. So a state of
  Z is visited at most 1 / q times per entry. The entries are limited by the flows of the rows that lead
  into Z from elsewhere, and by the priced rows within.
- What flows out of a state has flowed in, so limits are passed on, again and again, while they tighten.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.numerics import tolerated

LARGEST_LIMIT = 1e7
"""Beyond this a limit is of no use to a solver in double precision."""

_ROUNDS = 20


@dataclass(frozen=True, eq=False)
class FlowBounds:
    """Upper limits on flows.

    Attributes
    ----------
    limits
        One for each row, none above :data:`LARGEST_LIMIT`.
    valid
        Whether they hold for every policy meant; False if a limit had to be cut to be of use.
    """

    limits: FloatArray
    valid: bool


def flow_bounds(problem: CSSP, cost_limit: float, known: FloatArray | None = None) -> FlowBounds:
    """Limits on the flows of proper deterministic policies within the bounds that cost `cost_limit` at most.

    Parameters
    ----------
    problem
        A prepared problem.
    cost_limit
        What the policies meant cost at most.
    known
        A limit for each row that is known from elsewhere.

    Examples
    --------
    >>> from hcssp.cssp.builder import CSSPBuilder
    >>> plan = CSSPBuilder(cost_names=("time",))
    >>> here, there, out = plan.add_state("here"), plan.add_state("there"), plan.add_goal("out")
    >>> _ = plan.add_action(here, "try", to={here: 0.5, there: 0.5}, costs=2.0)
    >>> _ = plan.add_action(there, "leave", to=out, costs=0.0)
    >>> np.round(flow_bounds(plan.build(), cost_limit=8.0).limits, 3).tolist()
    [2.0, 1.0]
    """
    limits = _limits_by_price(problem, cost_limit)
    if known is not None:
        limits = np.minimum(limits, known)
    # A row that costs next to nothing is as good as free.
    limits[limits > LARGEST_LIMIT] = np.inf
    free = ~np.isfinite(limits)
    entries = _Entries(problem, free)
    for _ in range(_ROUNDS):
        through = entries.visits(limits)
        tighter = np.minimum(limits, through[problem.row_state])
        if np.array_equal(tighter, limits):
            break
        limits = tighter
    return FlowBounds(np.minimum(limits, LARGEST_LIMIT), bool(np.all(limits <= LARGEST_LIMIT)))


def largest_cost(problem: CSSP) -> float:
    """A primary cost that no proper deterministic policy that keeps the bounds exceeds; often ``inf``."""
    limits = flow_bounds(problem, np.inf)
    if not limits.valid:
        return float(np.inf)
    costs = np.zeros(problem.num_states)
    np.maximum.at(costs, problem.row_state, limits.limits * problem.costs[0])
    return float(costs.sum())


def _limits_by_price(problem: CSSP, cost_limit: float) -> FloatArray:
    """What the cost limit and the bounds say about each row; ``inf`` where they say nothing."""
    limits = np.full(problem.num_rows, np.inf)
    allowed = np.concatenate([[cost_limit], tolerated(problem.bounds)])
    for row_costs, most in zip(problem.costs, allowed, strict=True):
        # A cost that can be earned back limits nothing.
        if np.isfinite(most) and np.all(row_costs >= 0.0):
            priced = row_costs > 0.0
            limits[priced] = np.minimum(limits[priced], max(most, 0.0) / row_costs[priced])
    return limits


class _Entries:
    """Visits to states from the flows that enter their components."""

    def __init__(self, problem: CSSP, free: BoolArray) -> None:
        self._problem = problem
        self._free = free
        entries = csr_array(problem.transitions).tocoo()
        possible = (entries.data > 0.0) & ~problem.goals[entries.col]
        rows, targets, chances = (array[possible] for array in (entries.row, entries.col, entries.data))
        sources = problem.row_state[rows]
        graph = csr_array(
            (np.ones(int(free[rows].sum())), (sources[free[rows]], targets[free[rows]])),
            shape=(problem.num_states, problem.num_states),
        )
        self._count, component = connected_components(graph, connection="strong")
        self._component: IntArray = component.astype(np.int64)
        inside = free[rows] & (component[sources] == component[targets])
        self._visits_per_entry = self._per_entry(component[sources[inside]])
        self._start = np.bincount(component, weights=problem.initial, minlength=self._count)
        # What enters a component from a state: the largest over the state's rows, since one is taken.
        self._rows = rows[~inside]
        self._chances = chances[~inside]
        pairs = sources[~inside] * np.int64(self._count) + component[targets[~inside]]
        keys, self._pair = np.unique(np.stack([self._rows, pairs]), axis=1, return_inverse=True)
        self._pair_rows, pair_keys = keys
        self._keys, self._key = np.unique(pair_keys, return_inverse=True)

    def _per_entry(self, circular_components: IntArray) -> FloatArray:
        """Visits to a state of each component for each time that it is entered."""
        problem = self._problem
        entries = csr_array(problem.transitions).tocoo()
        possible = (entries.data > 0.0) & self._free[entries.row]
        least = np.ones(problem.num_states)
        np.minimum.at(least, problem.row_state[entries.row[possible]], entries.data[possible])
        circular = np.zeros(self._count, dtype=np.bool_)
        circular[circular_components] = True
        with np.errstate(over="ignore"):
            logarithm = np.bincount(self._component, weights=-np.log(least), minlength=self._count)
            # Rounding of the logarithms must not make the limit too tight.
            return np.where(circular, np.exp(logarithm) * (1.0 + 1e-9), 1.0)

    def visits(self, limits: FloatArray) -> FloatArray:
        """A limit on the visits to each state, given limits on the flows of the rows."""
        # From zero upwards: a free row passes on what enters its state. Components of free rows have no
        # circle among them, so there are at most as many rounds as components in a chain.
        through = np.zeros(self._problem.num_states)
        for _ in range(self._count + 1):
            flows = np.where(self._free, np.minimum(limits, through[self._problem.row_state]), limits)
            with np.errstate(over="ignore"):
                per_row = np.bincount(
                    self._pair, weights=self._chances * flows[self._rows], minlength=len(self._pair_rows)
                )
                per_state = np.zeros(len(self._keys))
                np.maximum.at(per_state, self._key, per_row)
                entering = self._start + np.bincount(
                    self._keys % self._count, weights=per_state, minlength=self._count
                )
                updated = (entering * self._visits_per_entry)[self._component]
            if np.array_equal(updated, through):
                return through
            through = updated
        return through
