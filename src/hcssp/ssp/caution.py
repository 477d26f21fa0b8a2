r"""Closing a policy by being careful about what was not expanded.

**Problem.** An expansion, led by a heuristic that is never too high, and so makes every unknown state look a
little better than those that are known. A policy that follows it never ends: wherever a step may slip, it
goes on where nobody has looked yet. Wanted is a policy that stays among few states, and is still good.

**Method.** What was not expanded is made dearer by a *caution*, the same everywhere. Then a policy comes back
to what is known wherever that costs less than the caution. Trials under these values
(:mod:`hcssp.ssp.guided_expansion`) expand where it goes with some probability, with less and less of it, and
what they find keeps later ones together. In the end so little is left behind that it hardly matters what is
done there: each such state takes the row that leads to the fewest states without one, and so on until none is
left. The less caution, the better the policy, and the more is expanded.

**Guarantee.** None but that the policy is closed if there is one; what it costs is evaluated afterwards.

**Reference.** Pohl, *First results on the effect of error in heuristic search*, 1970, for values that are too
high on purpose.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.expansion import Expansion
from hcssp.cssp.gathered import Gathered
from hcssp.cssp.model import BoolArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.reachability import closure
from hcssp.ssp.guided_expansion import DEAD, Departures, GuidedExpansion
from hcssp.ssp.policy_rows import greedy_rows, policy_chain

FIRST_MASS, LEAST_MASS = 1e-2, 3e-7
LESS_MASS = 10.0**-0.5
"""What holds less of the probability is left behind by the first trials, and by the last; and the factor."""

FIRST_SWEEPS, SWEEPS = 100, 20
"""So many sweeps of all expanded states precede the trials, and follow each."""

SETTLED = 0.02
"""Trials go on with less mass when no more than this share of the states on their way was new."""

MAX_TRIALS = 150
MAX_STEPS = 1_000
MAX_COMPLETIONS = 1_000
"""So often what is left behind is asked for its rows; a way back that takes longer is given up."""

LAST_RESORT = 1e-6
"""Among rows that lead to equally many new states, costs count by this factor."""


class CautiousExpansion(GuidedExpansion):
    """Values for which all that was not expanded is dearer than its heuristic by a constant.

    Parameters
    ----------
    search
        The weights, and values to begin with.
    caution
        What is added where nobody has looked, in units of the weighted cost.
    """

    def __init__(self, search: GuidedExpansion, caution: float) -> None:
        self._caution = caution
        search.follow()
        super().__init__(search.expansion, search.departures, search.weights)
        self._values.view[:] = search.values + caution * search.expansion.frontier

    def follow(self) -> None:
        known = len(self._values)
        if known < self.expansion.num_states:
            heuristic = self.expansion.to_come.under(self.weights, known)
            self._values.append(heuristic + self._caution * ~self.expansion.goal[known:])


def close_cautiously(
    search: GuidedExpansion, caution: float, most: int, is_over: Callable[[], bool] = lambda: False
) -> IntArray | None:
    """Expand until a policy never leaves what is expanded.

    Parameters
    ----------
    search
        The weights, and values near the best.
    caution
        What is added where nobody has looked; the less, the better the policy, and the more is expanded.
    most
        Give up before more states than this were expanded.
    is_over
        Whether nobody listens any more; then it gives up.

    Returns
    -------
    rows
        For each known state its row, -1 where the policy never goes; None if it was given up. It may still
        go in circles where it hardly ever goes.
    """
    careful = CautiousExpansion(search, caution)
    expansion = careful.expansion
    careful.sweep(FIRST_SWEEPS)
    mass = FIRST_MASS
    for _ in range(MAX_TRIALS):
        new, _ = careful.trial(mass, MAX_STEPS, is_over)
        if is_over() or expansion.num_expanded > most:
            return None
        careful.sweep(SWEEPS)
        if new <= SETTLED * len(careful.on_the_way):
            if mass <= LEAST_MASS:
                break
            mass *= LESS_MASS
    rows = np.full(expansion.num_states, NO_ROW, dtype=np.int64)
    rows[careful.on_the_way] = greedy_rows(careful, careful.values)[careful.on_the_way]
    return _completed(careful, rows, most, is_over)


def _completed(
    search: GuidedExpansion, rows: IntArray, most: int, is_over: Callable[[], bool]
) -> IntArray | None:
    """Give a row to every state that the policy comes to, so that it comes to few."""
    expansion = search.expansion
    for _ in range(MAX_COMPLETIONS):
        starts = np.zeros(expansion.num_states, dtype=np.bool_)
        starts[expansion.initial[0]] = True
        reached = closure(policy_chain(search, rows), starts)
        tips = np.flatnonzero(reached & (rows == NO_ROW) & ~expansion.goal)
        if not len(tips):
            return np.where(reached, rows, NO_ROW)
        if is_over() or expansion.num_expanded + len(tips) > most:
            return None
        search.expand(tips)
        rows = np.append(rows, np.full(expansion.num_states - len(rows), NO_ROW, dtype=np.int64))
        if not np.all(expansion.rows_of_state[tips]):
            return None
        rows[tips] = _staying(search, tips, (rows == NO_ROW) & ~expansion.goal)
    return None


def _staying(search: GuidedExpansion, states: IntArray, new: BoolArray) -> IntArray:
    """For each of `states` the row that leads to the fewest new states, and among such the least probably."""
    gathered = Gathered(search.expansion, states, search.departures.probability)
    leads = csr_array(
        (gathered.probabilities, gathered.successors, np.append(gathered.starts, len(gathered.successors))),
        shape=(len(gathered.rows), len(new)),
    )
    probable = leads @ new.astype(np.float64)
    # A row may name a state twice, as where nothing is done and nothing else happens if that fails.
    leads.sum_duplicates()
    leads.data = (leads.data > 0.0).astype(np.float64)
    costs = search.row_costs(gathered.rows) + gathered.expected(search.values)
    options = leads @ new.astype(np.float64) + probable + LAST_RESORT * np.minimum(costs, 1.0 / LAST_RESORT)
    options = np.where(costs < DEAD, options, np.inf)
    return gathered.rows[gathered.least(options)[1]]


def share_of_sure_states(expansion: Expansion, departures: Departures) -> float:
    """Of the expanded states, how many have a row that leads to one other state alone.

    Along such rows a policy is completed without meeting more and more states.
    """
    if not expansion.num_rows:
        return 0.0
    probability = departures.probability
    first = expansion.successor[expansion.first_entry]
    elsewhere = (expansion.successor != np.repeat(first, expansion.entries_of_row)) & (probability > 0.0)
    sure = (np.add.reduceat(elsewhere, expansion.first_entry) == 0) & (departures.leaving > 0.0)
    return len(np.unique(expansion.row_state[sure])) / expansion.num_expanded
