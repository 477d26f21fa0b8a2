"""Good incumbents from near misses: repair what breaks a bound, fill the budget of what does not.

Both look at the policies one switch away: taking another row in one state changes every expected cost by
about the visits of the state times the row's reduced cost. What fills a budget to its last digits is seldom a
single switch, but often two, one of which spends what the other spares: of a thousand switches there are half
a million pairs, and the best of them is found by sorting. In a flat problem it is known how switches act on
one another, and more of them are combined (:mod:`hcssp.dual.switch_sets`). The most promising ones are
evaluated exactly; the best one is made, and the search goes on from there. What comes out is a policy with
exactly known costs, never a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.policy_part import Part
from hcssp.dual.switch_sets import cheapest_sets, lowest, promising
from hcssp.numerics import is_feasible, tolerated

MAX_COUPLED_STATES = 5_000
"""How switches act on one another is worked out in problems of up to so many states: it takes a column of the
inverse for each of them, which in larger ones is as dear as many nodes of the search."""

MAX_EVALUATED = 6
"""So many switches or pairs of them are evaluated exactly in one round."""

SMALLEST = float(np.finfo(np.float64).tiny)
"""Stands for a bound of zero where shares of bounds are compared."""


GAIN_TOLERANCE = 1e-12
"""A switch is cheaper only if it saves more than this, relative to one plus the cost."""


MIN_RELIEF = 1e-12
"""A switch that lowers the excess, squared, by no more than this does not help; MIN_COST is what a switch
without cost counts as, so that the one with the most relief comes first."""
MIN_COST = 1e-12

LATER_STEPS = 4.0
"""A policy is given up that would stay broken, or too dear, even if each switch left helped so many times as
much."""

GAIN_SHARE = 0.1
"""A policy is improved for as long as it may close this share of what is open."""

SECOND_CHOICE = 1e12
"""Added to the merit of switches that only help, so that those that repair a policy at once come first."""


def improve(
    parts: Sequence[Part],
    costs: FloatArray,
    bounds: FloatArray,
    rounds: int,
    known_cost: float = np.inf,
    least: float = -np.inf,
) -> FloatArray | None:
    """Switch rows of `parts`, in place, to a cheaper feasible policy; None if none was found.

    Parameters
    ----------
    parts
        What may be switched; those with ``changed`` set afterwards have new rows.
    costs, bounds
        The whole policy's expected costs, the primary first, and the constraints' bounds.
    rounds
        How many switches are made at most.
    known_cost, least
        What the best policy that is known costs, and what all cost at least: it ends once its pace will not
        lead to what is noticeably better.

    Returns
    -------
    The costs of the best feasible policy met, which `parts` then hold.
    """
    found = costs if is_feasible(costs, bounds) else None
    for left in range(rounds, 0, -1):
        step = _best_step(parts, costs, bounds, repairing=found is None)
        if step is None:
            break
        excess = _excess(costs, bounds)
        if LATER_STEPS * left * (excess - _excess(step.costs, bounds)) < excess:
            # At this pace it stays broken, however many of the others are made.
            break
        for part, rows, values in step.changes:
            part.take(rows, values)
        saved, costs = costs[0] - step.costs[0], step.costs
        if is_feasible(costs, bounds):
            noticed = noticed_at(min(known_cost, float(costs[0])), least)
            if found is not None and costs[0] - LATER_STEPS * (left - 1) * saved > noticed:
                # At this pace it gains next to nothing.
                return costs
            found = costs
    return found


def noticed_at(cost: float, least: float) -> float:
    """What a policy costs that is noticeably better than one of a given cost; none costs less than `least`.

    >>> noticed_at(12.0, 10.0)
    11.8
    """
    return cost - GAIN_SHARE * (cost - least) if np.isfinite(cost - least) else cost


Switch = tuple[int, int]  # a part and one of its rows
Promise = tuple[float, tuple[Switch, ...]]  # by how much switches change the cost, about, and they


class _Step(NamedTuple):
    """Parts with their new rows and values, and what the whole then costs."""

    changes: list[tuple[Part, IntArray, FloatArray]]
    costs: FloatArray


def _best_step(parts: Sequence[Part], costs: FloatArray, bounds: FloatArray, repairing: bool) -> _Step | None:
    """The best of the most promising switches, and sets of them; None if none of them is any good."""
    best, rank = None, (True, np.inf)
    alone = len(parts) == 1 and parts[0].balance.num_live <= MAX_COUPLED_STATES
    tried = _sets(parts[0], costs, bounds, repairing) if alone else []
    for promised, switches in tried or (_singles if repairing else _pairs)(parts, costs, bounds):
        still_breaks, least = rank
        if not still_breaks and least <= costs[0] + promised:
            # Whatever comes now promises no more than what is at hand.
            break
        step = _evaluated(parts, switches, costs)
        if step is not None and _acceptable(step.costs, costs, bounds, repairing):
            own = _rank(step.costs, costs, bounds)
            if best is None or own < rank:
                best, rank = step, own
    return best


def _rank(after: FloatArray, before: FloatArray, bounds: FloatArray) -> tuple[bool, float]:
    """Whether a step leaves a bound broken, and its cost; if it does, for each unit that it helps."""
    if is_feasible(after, bounds):
        return False, float(after[0])
    helped = _excess(before, bounds) - _excess(after, bounds)
    return True, float((after[0] - before[0]) / helped)


def _evaluated(parts: Sequence[Part], switches: Sequence[Switch], costs: FloatArray) -> _Step | None:
    """The policy after `switches`; None if it is improper."""
    after, changes = costs.copy(), []
    for index in dict.fromkeys(index for index, _ in switches):
        part = parts[index]
        switched = part.switched([row for owner, row in switches if owner == index])
        if switched is None:
            return None
        rows, values, change = switched
        changes.append((part, rows, values))
        after[0] += part.executions * change[0]
        for constraint, own in part.counts:
            after[1 + constraint] += part.executions * change[own]
    return _Step(changes, after)


def _singles(parts: Sequence[Part], costs: FloatArray, bounds: FloatArray) -> list[Promise]:
    """The most promising switches of a policy that breaks a bound, best first."""
    candidates: list[tuple[float, int, int]] = []
    for index, part in enumerate(parts):
        values = _merit(part.effects(len(bounds)), part, costs, bounds)
        rows = lowest(values, MAX_EVALUATED) if len(values) else ()
        candidates.extend((float(values[row]), index, int(row)) for row in rows if np.isfinite(values[row]))
    # What only helps is looked at where nothing repairs the policy at once.
    return [
        (merit if merit < SECOND_CHOICE else np.inf, ((index, row),))
        for merit, index, row in sorted(candidates)[:MAX_EVALUATED]
    ]


def _sets(part: Part, costs: FloatArray, bounds: FloatArray, repairing: bool) -> list[Promise]:
    """The best sets of switches after which a policy keeps its bounds, where they are quickly known."""
    limited = np.flatnonzero(np.isfinite(bounds))
    if not len(limited):
        return []
    room = tolerated(bounds[limited]) - costs[1:][limited]
    with np.errstate(over="ignore"):
        scarce = int(np.argmin(room / np.maximum(bounds[limited], SMALLEST)))
    rows, effects = part.useful(costs, limited)
    taken = rows[promising(effects[:, 0], effects[:, 1 + limited[scarce]])]
    couplings = part.couplings(taken, np.append(0, 1 + limited), len(bounds)) if len(taken) else None
    if couplings is None:
        return []
    gain = -np.inf if repairing else GAIN_TOLERANCE * abs(float(costs[0]))
    return [
        (change, tuple((0, int(taken[each])) for each in switches))
        for change, switches in cheapest_sets(
            couplings, part.balance.row_state[taken], room, scarce, MAX_EVALUATED
        )
        if change < -gain
    ]


def _pairs(parts: Sequence[Part], costs: FloatArray, bounds: FloatArray) -> list[Promise]:
    """The most promising switches of a policy that keeps its bounds, and pairs in different states."""
    limited = np.flatnonzero(np.isfinite(bounds))
    room = tolerated(bounds[limited]) - costs[1:][limited]
    owner, row, effect = _useful(parts, limited, costs)
    # Sorted by what is scarcest, the cheapest partner that leaves enough of it is a running minimum. The
    # first entry is no switch at all, so that single switches are among the pairs.
    change = effect[:, 1:][:, limited]
    use, space = np.zeros(len(row)), 0.0
    if len(limited):
        scarce = int(np.argmin(room / np.maximum(bounds[limited], SMALLEST)))
        use, space = change[:, scarce], float(room[scarce])
    order = np.argsort(use, kind="stable")
    cost = effect[order, 0]
    least = np.minimum.accumulate(cost)
    partner = np.maximum.accumulate(np.where(cost == least, np.arange(len(cost)), 0))
    places = np.searchsorted(use[order], space - use[order], side="right") - 1
    total = np.where(places >= 0, cost + least[places], np.inf)
    alone = np.where(np.all(change <= room, axis=1), effect[:, 0], np.inf)
    promised: list[tuple[float, tuple[int, ...]]] = [
        (float(alone[each]), (int(each),)) for each in lowest(alone, MAX_EVALUATED)
    ]
    for place in lowest(total, 4 * MAX_EVALUATED):
        both = sorted({int(order[place]), int(order[partner[places[place]]])})
        if np.all(change[both].sum(axis=0) <= room):
            promised.append((float(total[place]), tuple(both)))
    found: dict[tuple[Switch, ...], float] = {}
    for cost_change, taken in sorted(promised):
        if cost_change >= -GAIN_TOLERANCE * abs(costs[0]) or len(found) == MAX_EVALUATED:
            break
        switches = tuple((int(owner[each]), int(row[each])) for each in taken if each)
        states = {(index, int(parts[index].balance.row_state[own])) for index, own in switches}
        if len(states) == len(switches):
            found.setdefault(switches, cost_change)
    return [(cost_change, switches) for switches, cost_change in found.items()]


def _useful(
    parts: Sequence[Part], limited: IntArray, costs: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """The switches that save something: their parts, rows and effects, after one that changes nothing."""
    found = [part.useful(costs, limited) for part in parts]
    owners = [np.full(len(rows), index) for index, (rows, _) in enumerate(found)]
    rows = [rows for rows, _ in found]
    effects = [effects for _, effects in found]
    nothing = np.array([-1])
    return (
        np.concatenate([nothing, *owners]),
        np.concatenate([nothing, *rows]),
        np.concatenate([np.zeros((1, len(costs))), *effects]),
    )


def _merit(effects: FloatArray, part: Part, costs: FloatArray, bounds: FloatArray) -> FloatArray:
    """What repairs a policy best is lowest; ``inf`` for what is not to be tried."""
    bounded = np.flatnonzero(np.isfinite(bounds))
    room = bounds[bounded] - costs[1:][bounded]
    change = effects[:, 1:][:, bounded]
    fits = np.all(change <= tolerated(bounds[bounded]) - costs[1:][bounded], axis=1)
    visited = part.visits[part.balance.row_state] > 0.0
    merit = np.where(fits & visited, effects[:, 0], np.inf)
    merit[part.rows] = np.inf
    if not np.isfinite(merit).any():
        # No single switch repairs it: the largest reduction of the excess for its cost comes first.
        over = np.maximum(-room, 0.0)
        relief = -(change @ over)
        helps = visited & (relief > MIN_RELIEF)
        ratio = np.maximum(effects[:, 0], MIN_COST) / np.where(helps, relief, 1.0)
        merit = np.where(helps, ratio + SECOND_CHOICE, np.inf)
        merit[part.rows] = np.inf
    return merit


def _acceptable(after: FloatArray, before: FloatArray, bounds: FloatArray, repairing: bool) -> bool:
    if not repairing:
        return is_feasible(after, bounds) and after[0] < before[0] - GAIN_TOLERANCE * abs(before[0])
    return _excess(after, bounds) < _excess(before, bounds)


def _excess(costs: FloatArray, bounds: FloatArray) -> float:
    """By how much bounds are broken, all together."""
    bounded = np.isfinite(bounds)
    return float(np.maximum(costs[1:][bounded] - bounds[bounded], 0.0).sum())
