"""Local search for incumbents: feasible policies near given ones, with exactly known costs, never bounds.

A policy consists of fragments: one for a flat problem, one for each executed activity of a procedure. A
*switch* takes another row in one state of a fragment. It changes every expected cost by about the visits of
the state times the row's reduced cost. There are three moves:

- *single switches*, to restore feasibility or to lower the cost;
- *pairs* of switches, one of which spends what the other spares: what fills a budget to its last digits is
  seldom a single switch. Of a thousand switches there are half a million pairs, and sorting finds the best;
- *path relinking* from a feasible policy of a dual's support towards an infeasible one. Where many decisions
  change at the same price, the former spares too much and the latter spends too much. Their differences are
  taken over one by one, as many as the bounds allow; bisection finds how many.

The most promising moves are evaluated exactly, the best one is made, and the search continues from there.

**Reference.** Glover 1998 for path relinking.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np

from hcssp.cssp.arrays import by_column
from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.dual.oracle import V
from hcssp.dual.value_cache import ActivityPlan
from hcssp.errors import ImproperPolicy, OutOfPrecision
from hcssp.numerics import EXACT, is_feasible, scales, tolerated
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_evaluation import SweepSystem, System

if TYPE_CHECKING:
    from hcssp.dual.flat import FlatPoint
    from hcssp.dual.plan_point import MultiExitPoint, ProcedurePoint
    from hcssp.dual.procedure import ProcedureOracle

Item = TypeVar("Item")


@dataclass(frozen=True)
class LocalSearchParameters:
    """What steers a local search.

    Attributes
    ----------
    max_evaluated
        The number of moves that are evaluated exactly before one is made.
    gain
        A move is a gain if it saves more than this share of the cost; less is rounding.
    noticed
        A switch that changes no cost by more than this share of it fills no budget.
    pace
        A search is given up if it would not reach its aim even if each move that is left helped this many
        times as much as the last one.
    gain_share
        The aim: to close this share of the gap between the incumbent and the lower bound.
    negative_value
        A policy with a value below zero by more than this share of the largest never ends: its system is
        singular, and rounding hides that.
    max_relinked
        The number of policies between two that are evaluated.
    max_swept_rounds, max_swept_relinked
        The number of moves, and of policies between two, where evaluating a neighbour takes as long as
        evaluating any policy: one bisection among some thousand states.
    """

    max_evaluated: int = 6
    gain: float = 1e-12
    noticed: float = 1e-11
    pace: float = 4.0
    gain_share: float = 0.1
    negative_value: float = 1e-6
    max_relinked: int = 40
    max_swept_rounds: int = 2
    max_swept_relinked: int = 12


DEFAULT_PARAMETERS = LocalSearchParameters()


def noticed_at(cost: float, least: float, parameters: LocalSearchParameters = DEFAULT_PARAMETERS) -> float:
    """The cost at which a policy is noticeably better than one of a given cost, if none is below `least`.

    >>> noticed_at(12.0, 10.0)
    11.8
    """
    return cost - parameters.gain_share * (cost - least) if np.isfinite(cost - least) else cost


@dataclass(frozen=True, eq=False)
class Fragment:
    """A part of a policy in which rows may be switched.

    Attributes
    ----------
    balance, system
        The fragment's problem, and what evaluates its policies.
    rows, values
        A row for each live state, and the costs-to-go, a column for each of the fragment's own costs.
    flow, visits
        How often it begins in each live state, and how often it visits each.
    folding
        What a unit of each of its own costs adds to each cost of the whole policy that counts: the primary,
        and those with a bound.
    """

    balance: Balance
    system: System
    rows: IntArray
    values: FloatArray
    flow: FloatArray
    visits: FloatArray
    folding: FloatArray

    @cached_property
    def switches(self) -> tuple[IntArray, FloatArray]:
        """The rows that would lower some cost, and by how much each changes the costs; about."""
        reduced = (self.balance.costs.T - self.balance.matrix @ self.values) @ self.folding
        effects = self.visits[self.balance.row_state][:, np.newaxis] * reduced
        # What lowers no cost is of no use, not even beside another switch.
        usable: BoolArray = np.any(by_column(effects < 0.0), axis=0)
        usable[self.rows] = False
        rows = np.flatnonzero(usable)
        return rows, effects[rows]

    def switched(self, taken: Sequence[int]) -> tuple[IntArray, FloatArray, FloatArray] | None:
        """The policy with `taken` in their states: rows, values, change of the costs; None if improper."""
        rows = self.rows.copy()
        rows[self.balance.row_state[taken]] = taken
        try:
            values = self.system.values(rows, EXACT)
        except ImproperPolicy:
            return None
        least, largest = np.min(values), np.max(np.abs(values))
        if not np.isfinite(largest) or least < -DEFAULT_PARAMETERS.negative_value * largest:
            return None
        return rows, values, self.flow @ (values - self.values) @ self.folding


class Use(NamedTuple):
    """A fragment in a policy.

    Attributes
    ----------
    activity, times
        The number of the activity, and how often it is executed, in expectation.
    fragment
        That of one execution; identical activities share it.
    """

    activity: int
    times: float
    fragment: Fragment


class Step(NamedTuple):
    """Activities with their new rows and values, and the resulting cost of the whole."""

    changes: list[tuple[int, IntArray, FloatArray]]
    costs: FloatArray


Switch = tuple[int, int]  # a use, by its place, and one of its rows
Move = tuple[float, tuple[Switch, ...]]  # by how much it changes the cost, about, and its switches


def best_step(uses: Sequence[Use], costs: FloatArray, bounds: FloatArray, restoring: bool) -> Step | None:
    """The best of the most promising moves; None if none of them is a gain.

    Parameters
    ----------
    uses
        What may be switched.
    costs, bounds
        The costs that count, the primary first, and the bounds of the others.
    restoring
        Whether feasibility is to be restored, rather than the cost lowered.
    """
    best, rank = None, (True, np.inf)
    for change, switches in promising_moves(uses, costs, bounds, restoring):
        is_broken, least = rank
        if not is_broken and least <= costs[0] + change:
            # All later moves are expected to be worse than the current one.
            break
        step = _evaluated(uses, switches, costs)
        if step is not None and _is_gain(step.costs, costs, bounds, restoring):
            own = _rank(step.costs, costs, bounds)
            if best is None or own < rank:
                best, rank = step, own
    return best


def promising_moves(
    uses: Sequence[Use], costs: FloatArray, bounds: FloatArray, restoring: bool
) -> list[Move]:
    """The single switches and pairs in different states that are expected to be best, best first.

    They are expected to keep the bounds. To restore feasibility, where none does, those that lower the excess
    most for their cost.
    """
    count = DEFAULT_PARAMETERS.max_evaluated
    owner, row, effects = _all_switches(uses, costs)
    room = tolerated(bounds) - costs[1:]
    alone = np.where(by_column(effects[:, 1:] <= room).all(axis=0), effects[:, 0], np.inf)
    found: list[tuple[float, tuple[int, ...]]] = [
        (float(alone[each]), (int(each),)) for each in _lowest(alone, count) if each
    ]
    found += _pairs(effects, room, bounds, 4 * count)
    most = np.inf if restoring else -DEFAULT_PARAMETERS.gain * abs(costs[0])
    moves: dict[tuple[Switch, ...], float] = {}
    for change, taken in sorted(found):
        if change >= most or len(moves) == count:
            break
        switches = tuple((int(owner[each]), int(row[each])) for each in taken)
        places = {(index, int(uses[index].fragment.balance.row_state[own])) for index, own in switches}
        if len(places) == len(switches):
            moves.setdefault(switches, change)
    if not moves and restoring:
        over = np.maximum(costs[1:] - bounds, 0.0)
        relief = -(effects[:, 1:] @ over)
        helps = relief > DEFAULT_PARAMETERS.gain * float(over @ over)
        cost = np.maximum(effects[:, 0], DEFAULT_PARAMETERS.gain * abs(costs[0]))
        ratio = np.where(helps, cost / np.where(helps, relief, 1.0), np.inf)
        moves = {
            ((int(owner[each]), int(row[each])),): np.inf for each in _lowest(ratio, count) if helps[each]
        }
    return [(change, switches) for switches, change in moves.items()]


def _all_switches(uses: Sequence[Use], costs: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """The useful switches of all uses: their uses, rows and effects, after one that changes nothing."""
    owners, rows, effects = [np.array([-1])], [np.array([-1])], [np.zeros((1, len(costs)))]
    for place, use in enumerate(uses):
        own, changes = use.fragment.switches
        changes = use.times * changes
        noticed = by_column(np.abs(changes) > DEFAULT_PARAMETERS.noticed * np.abs(costs)).any(axis=0)
        rows.append(own[noticed])
        effects.append(changes[noticed])
        owners.append(np.full(len(rows[-1]), place))
    return np.concatenate(owners), np.concatenate(rows), np.concatenate(effects)


def _pairs(
    effects: FloatArray, room: FloatArray, bounds: FloatArray, count: int
) -> list[tuple[float, tuple[int, ...]]]:
    """The cheapest pairs of switches that fit into the room that the bounds leave.

    Sorted by what is scarcest, the cheapest partner that leaves enough of it is a running minimum.
    """
    use, space = np.zeros(len(effects)), 0.0
    if len(room):
        with np.errstate(over="ignore"):
            scarce = int(np.argmin(room / scales(bounds)))
        use, space = effects[:, 1 + scarce], float(room[scarce])
    order = np.argsort(use, kind="stable")
    cost = effects[order, 0]
    least = np.minimum.accumulate(cost)
    partner = np.maximum.accumulate(np.where(cost == least, np.arange(len(cost)), 0))
    places = np.searchsorted(use[order], space - use[order], side="right") - 1
    total = np.where(places >= 0, cost + least[places], np.inf)
    found = []
    for place in _lowest(total, count):
        both = sorted({int(order[place]), int(order[partner[places[place]]])} - {0})
        if total[place] < np.inf and both and np.all(effects[both, 1:].sum(axis=0) <= room):
            found.append((float(total[place]), tuple(both)))
    return found


def _lowest(values: FloatArray, count: int) -> IntArray:
    """The places of the lowest values, in order."""
    few = min(count, len(values))
    found: IntArray = np.argpartition(values, few - 1)[:few]
    return found[np.argsort(values[found], kind="stable")]


def _evaluated(uses: Sequence[Use], switches: Sequence[Switch], costs: FloatArray) -> Step | None:
    """The policy after `switches`; None if it is improper."""
    after, changes = costs.copy(), []
    for place in dict.fromkeys(place for place, _ in switches):
        use = uses[place]
        switched = use.fragment.switched([row for owner, row in switches if owner == place])
        if switched is None:
            return None
        rows, values, change = switched
        changes.append((use.activity, rows, values))
        after += use.times * change
    return Step(changes, after)


def _rank(after: FloatArray, before: FloatArray, bounds: FloatArray) -> tuple[bool, float]:
    """Whether a step leaves a bound broken, and its cost; if it does, for each unit that it helps."""
    if is_feasible(after, bounds):
        return False, float(after[0])
    helped = _excess(before, bounds) - _excess(after, bounds)
    return True, float((after[0] - before[0]) / helped)


def _is_gain(after: FloatArray, before: FloatArray, bounds: FloatArray, restoring: bool) -> bool:
    if restoring:
        return _excess(after, bounds) < _excess(before, bounds)
    return is_feasible(after, bounds) and after[0] < before[0] - DEFAULT_PARAMETERS.gain * abs(before[0])


def _excess(costs: FloatArray, bounds: FloatArray) -> float:
    """By how much bounds are broken, all together."""
    return float(np.maximum(costs[1:] - bounds, 0.0).sum())


def relinked(
    kept: V,
    items: Sequence[Item],
    mixed: Callable[[list[Item]], V | None],
    bounds: FloatArray,
    max_tries: int = DEFAULT_PARAMETERS.max_relinked,
) -> V | None:
    """A policy that keeps the bounds and costs less than `kept`; None if none was found.

    As many items are taken over as the bounds allow. The next one is passed over, and so on.

    Parameters
    ----------
    kept
        A policy that keeps the bounds.
    items
        Decisions of one that does not, in which the two differ: those that matter most come first.
    mixed
        The policy `kept` with some of these decisions instead; None if there is no such policy.
    bounds
        One for each constraint.
    max_tries
        The maximum number of policies that are evaluated.
    """
    limits = tolerated(bounds)
    taken: list[Item] = []
    best, tries = None, 0
    cost = float(kept.costs[0])
    rest = list(items)
    while rest and tries < max_tries:
        low, high = 0, len(rest) + 1
        while high - low > 1 and tries < max_tries:
            # All at once is tried last: that is the policy that does not keep the bounds.
            middle = (low + high) // 2
            tries += 1
            point = mixed([*taken, *rest[:middle]])
            if point is not None and bool(np.all(point.costs[1:] <= limits)):
                low = middle
                if float(point.costs[0]) < cost:
                    best, cost = point, float(point.costs[0])
            else:
                high = middle
        taken.extend(rest[:low])
        rest = rest[low + 1 :]
    return best


class FragmentSearch(ABC, Generic[V]):
    """The local search among the policies of one kind of problem.

    Parameters
    ----------
    bounds
        One for each constraint.
    """

    def __init__(self, bounds: FloatArray) -> None:
        self._bounds = bounds
        self._limited = np.flatnonzero(np.isfinite(bounds))
        # The costs that count: the primary, and those with a bound.
        self._counted: IntArray = np.append(0, 1 + self._limited)
        self._max_rounds: float = np.inf

    @abstractmethod
    def _uses(self, point: V, known: dict[Hashable, Fragment]) -> list[Use]:
        """The fragments of a policy; those that stay the same after a step may be kept in `known`."""

    @abstractmethod
    def _changed(self, point: V, changes: list[tuple[int, IntArray, FloatArray]]) -> V | None:
        """The policy with the rows and values of some fragments replaced; None if it is improper."""

    def _relinked(self, kept: V, broken: V) -> V | None:
        """A policy from one that keeps the bounds towards one that does not; by default None."""
        return None

    def improve(self, point: V, rounds: int, known_cost: float = np.inf, least: float = -np.inf) -> V | None:
        """As :meth:`hcssp.dual.oracle.LocalSearch.improve`."""
        bounds, pace = self._bounds[self._limited], DEFAULT_PARAMETERS.pace
        given, known = point, dict[Hashable, Fragment]()
        best = point if is_feasible(point.costs, self._bounds) else None
        for left in range(int(min(rounds, self._max_rounds)), 0, -1):
            costs = point.costs[self._counted]
            step = best_step(self._uses(point, known), costs, bounds, restoring=best is None)
            if step is None:
                break
            excess = _excess(costs, bounds)
            if pace * left * (excess - _excess(step.costs, bounds)) < excess:
                # At this pace it stays infeasible.
                break
            changed = self._changed(point, step.changes)
            if changed is None:
                break
            cost, saved, point = float(changed.costs[0]), float(point.costs[0] - changed.costs[0]), changed
            if not is_feasible(point.costs, self._bounds):
                if best is not None:
                    break
                continue
            if best is not None and cost >= best.costs[0]:
                break
            is_slow = cost - pace * (left - 1) * saved > noticed_at(min(known_cost, cost), least)
            is_slow, best = best is not None and is_slow, point
            if is_slow:
                break
        return None if best is given else best

    def relink(self, support: tuple[V, ...]) -> V | None:
        """As :meth:`hcssp.dual.oracle.LocalSearch.relink`."""
        limits = tolerated(self._bounds)
        keeping = [point for point in support if bool(np.all(point.costs[1:] <= limits))]
        breaking = [point for point in support if not bool(np.all(point.costs[1:] <= limits))]
        found = [self._relinked(kept, broken) for kept in keeping for broken in breaking]
        cheaper = [each for each in found if each is not None]
        return min(cheaper, key=lambda each: float(each.costs[0]), default=None)


class FlatLocalSearch(FragmentSearch["FlatPoint"]):
    """Local search among the policies of a flat problem, which is one fragment.

    Parameters
    ----------
    balance, system
        The problem, and what evaluates its policies.
    bounds
        One for each constraint.
    """

    def __init__(self, balance: Balance, system: System, bounds: FloatArray) -> None:
        super().__init__(bounds)
        self._balance, self._system = balance, system
        self._max_tries = DEFAULT_PARAMETERS.max_relinked
        if isinstance(system, SweepSystem):
            self._max_rounds = DEFAULT_PARAMETERS.max_swept_rounds
            self._max_tries = DEFAULT_PARAMETERS.max_swept_relinked

    def _uses(self, point: FlatPoint, known: dict[Hashable, Fragment]) -> list[Use]:
        balance, folding = self._balance, np.eye(1 + len(self._bounds))[:, self._counted]
        fragment = Fragment(
            balance, self._system, point.rows, point.values, balance.initial, point.visits, folding
        )
        return [Use(0, 1.0, fragment)]

    def _changed(self, point: FlatPoint, changes: list[tuple[int, IntArray, FloatArray]]) -> FlatPoint:
        ((_, rows, values),) = changes
        return point.switched(rows, values)

    def _relinked(self, kept: FlatPoint, broken: FlatPoint) -> FlatPoint | None:
        """Rows of the policy that breaks a bound are taken over: those that change most come first."""
        balance, system = self._balance, self._system
        differing = np.flatnonzero((kept.rows != broken.rows) & (kept.reached | broken.reached))
        rows = broken.rows[differing]
        reduced = balance.costs.take(rows, axis=1).T - balance.times(rows, kept.values)
        visits = np.maximum(kept.visits, broken.visits)[differing, np.newaxis]
        changes = np.abs(reduced[:, 1 + self._limited]) * visits
        largest = changes.max(axis=0, initial=0.0)
        shares = changes / np.where(largest > 0.0, largest, 1.0)
        order = np.argsort(-shares.max(axis=1, initial=0.0), kind="stable")

        def mixed(taken: list[int]) -> FlatPoint | None:
            rows = kept.rows.copy()
            rows[taken] = broken.rows[taken]
            try:
                return kept.switched(rows, system.values(rows, EXACT))
            except (ImproperPolicy, OutOfPrecision):
                return None

        return relinked(kept, differing[order].tolist(), mixed, self._bounds, self._max_tries)


class ProcedureLocalSearch(FragmentSearch["ProcedurePoint"]):
    """Local search among the plans of a procedure: the activities that it executes are the fragments.

    Parameters
    ----------
    oracle
        The oracle of the procedure.
    """

    def __init__(self, oracle: ProcedureOracle) -> None:
        super().__init__(oracle.bounds)
        self._oracle = oracle

    def _uses(self, point: ProcedurePoint, known: dict[Hashable, Fragment]) -> list[Use]:
        uses = []
        for index, (plan, times) in enumerate(zip(point.plans, point.executions.tolist(), strict=True)):
            if plan is None or times <= 0.0:
                continue
            spread, planner = self._oracle.spreads[index], self._oracle.planners[index]
            key = plan, id(spread)
            if key not in known:
                balance, folding = planner.balance, spread[:, self._counted]
                known[key] = Fragment(
                    balance, planner.system, plan.rows, plan.values, balance.initial, plan.visits, folding
                )
            uses.append(Use(index, times, known[key]))
        return uses

    def _changed(
        self, point: ProcedurePoint, changes: list[tuple[int, IntArray, FloatArray]]
    ) -> ProcedurePoint | None:
        plans = list(point.plans)
        for index, rows, values in changes:
            planner = self._oracle.planners[index]
            plans[index] = ActivityPlan(planner.system, rows, values)
        return self._oracle.point_of(point.choices, tuple(plans))

    def _relinked(self, kept: ProcedurePoint, broken: ProcedurePoint) -> ProcedurePoint | None:
        """Choices and plans of the policy that breaks a bound are taken over."""
        plans = zip(kept.plans, broken.plans, strict=True)
        items = [(True, event) for event in np.flatnonzero(kept.choices != broken.choices).tolist()]
        items += [(False, n) for n, (own, other) in enumerate(plans) if not (other is None or own is other)]

        def mixed(taken: list[tuple[bool, int]]) -> ProcedurePoint | None:
            choices = kept.choices.copy()
            # An activity that only the other policy executes may have no plan in this one.
            plans = [own or other for own, other in zip(kept.plans, broken.plans, strict=True)]
            for is_event, index in taken:
                if is_event:
                    choices[index] = broken.choices[index]
                else:
                    plans[index] = broken.plans[index]
            return self._oracle.point_of(choices, tuple(plans))

        return relinked(kept, items, mixed, self._bounds)


class MultiExitLocalSearch(FragmentSearch["MultiExitPoint"]):
    """Local search among plans with multi-exit activities.

    A switch in one activity changes its own costs and, by its exits, how often the following activities are
    executed. While everything else stays as it is, both are linear in the activity's values.
    """

    def _uses(self, point: MultiExitPoint, known: dict[Hashable, Fragment]) -> list[Use]:
        uses, after = [], point.event_costs[:, self._counted]
        for activity, flow in point.entered.items():
            plan, planner = point.executed(activity)
            block = planner.block
            # Where an exit must not be taken, a switch might take it.
            if plan.dead is not None or not all(map(point.goes_on_from, block.exits.tolist())):
                continue
            folding = np.eye(block.num_costs)[:, self._counted]
            if len(block.exits) > 1:
                folding = np.vstack([folding, after[block.exits]])
            visits = planner.system.visits(plan.rows, flow)
            fragment = Fragment(
                planner.balance, planner.system, plan.rows, plan.values, flow, visits, folding
            )
            uses.append(Use(activity, 1.0, fragment))
        return uses

    def _changed(
        self, point: MultiExitPoint, changes: list[tuple[int, IntArray, FloatArray]]
    ) -> MultiExitPoint | None:
        plans = list(point.plans)
        for activity, rows, values in changes:
            _, planner = point.executed(activity)
            plans[activity] = ActivityPlan(planner.system, rows, values)
        try:
            changed = point.with_plans(tuple(plans))
            return changed if np.isfinite(changed.costs).all() else None
        except ImproperPolicy:
            return None
