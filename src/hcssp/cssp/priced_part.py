r"""The expanded part of an implicit problem whose heuristics know prices, as a problem of its own.

**Problem.** In the part (:mod:`hcssp.cssp.expansion`) a state :math:`s` of the frontier ends everything for
the costs :math:`h_k(s)`. Heuristics that know prices say more: under weights :math:`w^*` no policy pays less
than :math:`H(s) \ge w^* \cdot h(s)`. Wanted is a problem whose Lagrangian at :math:`w^*` says so, too.

**Method.** Let :math:`s` have one action for every cost :math:`k` with :math:`w^*_k > 0`. It ends everything
for :math:`h(s)` and, of that one cost, :math:`(H(s) - w^* \cdot h(s)) / w^*_k` more.

**Guarantee.** Under whatever weights :math:`w \ge 0` the cheapest of these actions is no dearer than any
policy from :math:`s`. With :math:`\alpha = \min_k w_k / w^*_k`, a policy that pays :math:`v` pays
:math:`w \cdot v = \alpha w^* \cdot v + (w - \alpha w^*) \cdot v \ge \alpha H + (w - \alpha w^*) \cdot h`,
which is what the cheapest action costs. So every Lagrangian bound on this part is one on the whole, at
whatever prices. That holds where lots may be drawn between the actions, and not if some are forbidden: such
a part is to be proven in one piece, and not split into regions of policies.
"""

from __future__ import annotations

import numpy as np

from hcssp.cssp.expanded_part import BEYOND, ExpandedCSSP
from hcssp.cssp.expansion import Expansion
from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.cssp.labels import RepeatedNames
from hcssp.cssp.model import FloatArray

ROUNDED_DOWN = 1.0 - 1e-12
"""What is to come under the weights is lowered by this factor before it is taken apart: no rounding makes an
action dearer than it."""


def settled_part(expansion: Expansion, problem: ImplicitCSSP) -> ExpandedCSSP:
    """The part on which the best bound that was found is proven, under the bounds of `problem`."""
    part = expansion.part_of(problem)
    weights = expansion.proven_under
    return part if weights is None else priced_part(part, weights, expansion.to_come.together(weights))


def priced_part(part: ExpandedCSSP, weights: FloatArray, to_come: FloatArray) -> ExpandedCSSP:
    """The part with one action at the frontier for each cost that has a weight.

    Parameters
    ----------
    part
        The part whose frontier costs what the heuristics say about each cost by itself.
    weights
        The weights, one for each cost.
    to_come
        For each known state, what is to come at least under them.
    """
    paid = np.flatnonzero(weights > 0.0)
    edge = np.flatnonzero(part.frontier)
    last = part.row_start[edge]
    copies = np.ones(part.num_rows, dtype=np.int64)
    copies[last] = len(paid)
    rows = np.repeat(np.arange(part.num_rows), copies)
    first = (np.cumsum(copies) - copies)[last]
    apart = weights @ part.costs[:, last]
    more = np.maximum(to_come[edge] * ROUNDED_DOWN - apart, 0.0)
    costs = part.costs[:, rows]
    labels = part.action_labels
    if not isinstance(labels, RepeatedNames):
        raise TypeError("labels of another kind")
    names, codes = list(labels.names), labels.codes[rows]
    for position, cost in enumerate(paid.tolist()):
        costs[cost, first + position] += more / weights[cost]
        codes[first + position] = len(names)
        names.append(f"{BEYOND[:-1]}, for {part.cost_names[cost]})")
    row_start = np.append(0, np.cumsum(copies))[part.row_start]
    priced = part.derive(
        transitions=part.transitions[rows],
        row_start=row_start,
        costs=costs,
        action_labels=RepeatedNames(names, codes),
        transition_costs=None if part.transition_costs is None else part.transition_costs.take(rows),
        priced_at=tuple(weights.tolist()),
        # What is beyond is told otherwise; what was expanded of it is the same.
        source=part.source,
    )
    if not isinstance(priced, ExpandedCSSP):
        raise TypeError("a part of another kind")
    return priced
