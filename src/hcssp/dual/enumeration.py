r"""A region solved by enumeration: when only plans of small activities are left to choose, under one bound.

Branching distinguishes identical activities one by one, and there are many permutations of their plans. If
the choices at the events are fixed and one bound is left, the region is a multiple-choice knapsack: each
activity has one of its plans, and together they keep the bound.

**Reduced-cost enumeration.** Of each activity only plans count that are nearly the best at the dual's price:
any other makes the whole cost the cutoff, by the Lagrangian bound. They are enumerated as by Lawler and
Murty: the best plan of a region is one, and every other plan leaves it in some state that it reaches.
Regions whose certified bound is beyond the limit are not split.

**Knapsack.** Labels of cost and use, class after class; of identical activities only the number that take
each plan counts. A label is dropped if another one costs no more and uses no more, or if what is left costs
too much at the price.

**Guarantee.** Costs, uses and executions are rounded down, so that the bound holds for all policies of the
region, also where labels were merged to keep their number small.

References: Lawler 1972; Murty 1968; Nemhauser and Ullmann 1969; Sinha and Zoltners 1979.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.activity_planner import ActivityPlanner
from hcssp.dual.oracle import KnownPotential, PlanClasses, Settlement
from hcssp.dual.plan_point import ProcedurePoint
from hcssp.dual.value_cache import ActivityPlan
from hcssp.numerics import tolerated
from hcssp.ssp.potential import ROUNDINGS
from hcssp.ssp.scalar_problem import Region

if TYPE_CHECKING:
    from hcssp.dual.procedure import ProcedureOracle

SLACK = 1.0 + 1e-6
"""Plans are enumerated slightly beyond the cutoff, so that rounding excludes none."""

BEYOND = 4.0
"""An activity that is not ended is worth this many times all that a plan of interest may spend."""


@dataclass(frozen=True)
class EnumerationParameters:
    """When a region is solved by enumeration, and how much work that may be.

    Attributes
    ----------
    max_states
        Activities with more states have too many plans.
    max_regions
        The number of regions of one activity that may be solved.
    regions_each
        The same, in the mean over all activities. A search that has split more regions may use as many.
    first_share, widening, last_share
        The first limit is above the bound by this share of it, or by the reciprocal of `widening` of what is
        missing to the cutoff if that is more. While nothing is below the limit, the distance grows by the
        factor `widening`, up to the last share.
    max_labels
        Labels of the knapsack after each class; with more, neighbours are merged.
    max_entries
        Entries of an array; a knapsack that needs more is not solved.
    same_digits
        Activities whose executions agree to this number of digits count as executed equally often.
    """

    max_states: int = 200
    max_regions: int = 256
    regions_each: int = 8
    first_share: float = 1e-5
    widening: float = 8.0
    last_share: float = 4.0
    max_labels: int = 50_000
    max_entries: int = 10_000_000
    same_digits: int = 12


DEFAULT_PARAMETERS = EnumerationParameters()
"""The parameters unless others are given."""


class Enumeration:
    """Solves regions of a procedure by enumeration.

    Parameters
    ----------
    oracle
        The procedure.
    parameters
        How much work may be done.
    """

    def __init__(
        self, oracle: ProcedureOracle, parameters: EnumerationParameters = DEFAULT_PARAMETERS
    ) -> None:
        self._oracle, self._parameters = oracle, parameters

    def settle(
        self, region: Region, prices: FloatArray, bound: float, cutoff: float, expanded: float = inf
    ) -> Settlement[ProcedurePoint] | None:
        """A better bound, or a policy; None if the region is of another kind, or nothing better was found.

        Parameters
        ----------
        region
            The policies that are meant.
        prices, bound
            The best multipliers, and the bound at them.
        cutoff
            Policies that cost this much are of no interest.
        expanded
            The number of regions that the search has split.
        """
        oracle, parameters = self._oracle, self._parameters
        regions = parameters.regions_each * len(oracle.planners)
        if 1 < expanded < regions or not -inf < bound < cutoff:
            return None
        whole = RegionKnapsack.of(oracle, region, prices, parameters)
        if whole is None:
            return None
        whole.regions = max(regions, expanded)
        best, point = bound, None
        above = parameters.first_share * abs(bound)
        if cutoff < inf:
            above = max(above, (cutoff - bound) / parameters.widening)
        while above <= parameters.last_share * abs(bound):
            limit = min(cutoff, bound + above)
            found = whole.solve(limit)
            if found is None:
                break
            best = max(best, found[0])
            point = found[1] or point
            if limit == cutoff or found[0] < limit:
                break
            above *= parameters.widening
        return Settlement(best, point) if best > bound or point is not None else None

    def plan_classes(self, region: Region, prices: FloatArray, bound: float) -> list[PlanClasses] | None:
        """As :meth:`hcssp.dual.oracle.Enumeration.plan_classes`."""
        whole = RegionKnapsack.of(self._oracle, region, prices, self._parameters)
        found = None if whole is None else whole.plans_below(bound)
        if whole is None or found is None:
            return None
        parts: list[PlanClasses] = []
        for uses, plans in zip(whole.uses, found, strict=True):
            unending = BEYOND * (abs(bound) + whole.price * whole.budget) / uses.executions
            for activity in uses.activities:
                first = int(self._oracle.row_offset[activity])
                tree = tuple(row if row < 0 else first + row for row in plans.tree)
                weights = self._oracle.own_weights(activity, np.append(1.0, prices))
                classes = tuple(self._potentials(activity, each, weights, unending) for each in plans.classes)
                parts.append(PlanClasses(activity, tree, classes))
        return parts

    def _potentials(
        self, activity: int, plans: PlanClass, weights: FloatArray, unending: float
    ) -> tuple[KnownPotential | None, ...]:
        """The potentials of a class of plans: of the primary cost, of the priced costs, and of both."""
        primary, priced = weights.copy(), weights.copy()
        primary[1:], priced[0] = 0.0, 0.0
        found = [
            None
            if plan is None or not own.any()
            else self._oracle.potential_of(activity, plan, own, plans.forbidden)
            for plan, own in ((plans.cheapest, primary), (plans.sparing, priced), (plans.best, weights))
        ]
        if plans.cheapest is None and plans.best is None:
            # No plan of the class ends the activity.
            found[2] = self._oracle.potential_of(activity, unending, weights, plans.forbidden)
        return tuple(found)


class IdenticalUses(NamedTuple):
    """Identical activities that are executed equally often.

    Attributes
    ----------
    activities
        The activities.
    forbidden
        The rows that are forbidden to them.
    executions
        How often each is executed, at least.
    own
        Their own cost that is counted; None if none is.
    least
        A lower bound on the cost of an execution at the price.
    """

    activities: tuple[int, ...]
    forbidden: frozenset[int]
    executions: float
    own: int | None
    least: float


class RegionKnapsack:
    """A region in which only plans of small activities are left to choose, under one bound.

    Attributes
    ----------
    choices
        The choices at the events.
    price, budget
        Of the one bound.
    uses
        The activities that are executed.
    regions
        How many more regions of activities may be solved.
    """

    regions = inf

    def __init__(
        self,
        oracle: ProcedureOracle,
        choices: IntArray,
        uses: list[IdenticalUses],
        price: float,
        budget: float,
        parameters: EnumerationParameters = DEFAULT_PARAMETERS,
    ) -> None:
        self._oracle, self._parameters = oracle, parameters
        self.choices, self.uses, self.price, self.budget = choices, uses, price, budget
        self._level = (
            sum(len(each.activities) * each.executions * each.least for each in uses) - price * budget
        )
        self._known: list[Enumerated | None] = [None] * len(uses)

    @classmethod
    def of(
        cls,
        oracle: ProcedureOracle,
        region: Region,
        prices: FloatArray,
        parameters: EnumerationParameters = DEFAULT_PARAMETERS,
    ) -> RegionKnapsack | None:
        """The knapsack that a region is, at `prices`; None if it is of another kind."""
        bounded = np.flatnonzero(np.isfinite(oracle.bounds))
        if len(bounded) != 1:
            return None
        constraint = int(bounded[0])
        groups, procedure = oracle.alike.within(region), oracle.procedure
        allowed = Region(groups.choices).allowed(procedure.num_rows) if groups.choices else None
        choices = procedure.only_choices(allowed)
        if choices is None:
            return None
        executions = procedure.executions_at_least(choices)
        together: dict[tuple[int, str], list[int]] = {}
        for activity in np.flatnonzero(executions > 0.0).tolist():
            if oracle.planners[activity].balance.num_live > parameters.max_states:
                return None
            key = int(groups.of[activity]), f"{executions[activity]:.{parameters.same_digits}g}"
            together.setdefault(key, []).append(activity)
        weights = np.append(1.0, prices)
        uses = []
        for (group, _), activities in together.items():
            first, forbidden = activities[0], groups.forbidden[group]
            own = next((cost for j, cost in oracle.counts[first] if j == constraint), None)
            best = oracle.planners[first].plan(oracle.own_weights(first, weights), forbidden)
            if best is None:
                return None
            least = float(executions[activities].min())
            uses.append(IdenticalUses(tuple(activities), forbidden, least, own, max(best.lower, 0.0)))
        budget = float(tolerated(oracle.bounds)[constraint])
        return cls(oracle, choices, uses, float(prices[constraint]), budget, parameters)

    def plans_below(self, limit: float) -> list[Enumerated] | None:
        """For each of the uses the plans that a policy which costs less than `limit` may have.

        None if there are none, or too many, or they take too many regions.
        """
        gap = SLACK * (limit - self._level)
        found: list[Enumerated] = []
        for position, each in enumerate(self.uses):
            own_limit = SLACK * each.least + gap / each.executions
            known = self._known[position]
            if known is None or own_limit > known.complete_to:
                known = enumerate_plans(
                    self._oracle.planners[each.activities[0]],
                    each.forbidden,
                    each.own,
                    self.price,
                    own_limit,
                    min(self.regions, self._parameters.max_regions),
                )
                if known is None or not known.plans:
                    return None
                self.regions -= len(known.plans) + len(known.classes)
                self._known[position] = known
            found.append(known)
        return found

    def solve(self, limit: float) -> tuple[float, ProcedurePoint | None] | None:
        """A lower bound, not above `limit`, and the best policy found; None if it is too much work."""
        found = self.plans_below(limit)
        if found is None:
            return None
        classes = [
            ItemClass(
                len(each.activities),
                each.executions * np.array([plan.cost for plan in own.plans]),
                each.executions * np.array([plan.use for plan in own.plans]),
            )
            for each, own in zip(self.uses, found, strict=True)
        ]
        packed = solve_knapsack(classes, self.budget, self.price, limit, self._parameters)
        if packed is None:
            return None
        if packed.counts is None:
            return packed.bound, None
        chosen: list[ActivityPlan | None] = [None] * len(self._oracle.planners)
        for each, own, taken in zip(self.uses, found, packed.counts, strict=True):
            numbers = np.repeat(np.arange(len(own.plans)), taken).tolist()
            for activity, number in zip(each.activities, numbers, strict=True):
                chosen[activity] = own.plans[number].plan
        return packed.bound, self._oracle.point_of(self.choices, tuple(chosen))


class EnumeratedPlan(NamedTuple):
    """A plan that is nearly the best.

    Attributes
    ----------
    plan
        The plan.
    cost, use
        Lower bounds on its primary cost and on its counted cost.
    """

    plan: ActivityPlan
    cost: float
    use: float


class PlanClass(NamedTuple):
    """Some plans of the activity: a single one, or those of a region that are all beyond the limit.

    Attributes
    ----------
    forbidden
        The rows that they do not take.
    cheapest, sparing
        Of a single plan those that are optimal for the primary and for the counted cost: they differ from it
        only in states that it does not reach.
    best
        Of those beyond the limit the best one; None if there is no proper one, or for a single plan.
    """

    forbidden: frozenset[int]
    cheapest: ActivityPlan | None = None
    sparing: ActivityPlan | None = None
    best: ActivityPlan | None = None


class Enumerated(NamedTuple):
    """All plans below a limit.

    Attributes
    ----------
    plans
        The plans.
    complete_to
        A limit up to which there are no others; not below the one that was given.
    tree
        How all plans were split into classes, in preorder: a row that is taken in its state, or else is not;
        -1 for a class.
    classes
        The classes, in that order.
    """

    plans: list[EnumeratedPlan]
    complete_to: float
    tree: list[int]
    classes: list[PlanClass]


def enumerate_plans(
    planner: ActivityPlanner,
    forbidden: frozenset[int],
    index: int | None,
    price: float,
    limit: float,
    max_regions: float = DEFAULT_PARAMETERS.max_regions,
) -> Enumerated | None:
    """The plans without `forbidden` rows that cost less than `limit` at a price; None if there are too many.

    Plans that differ only in states that they do not reach are one.

    Parameters
    ----------
    planner, forbidden
        The activity, and the region that is meant.
    index
        The counted cost; None if nothing is counted.
    price
        Of a unit of it.
    limit
        Of the primary cost plus `price` times the counted one.
    max_regions
        How many regions may be solved.
    """
    balance = planner.balance
    primary, use = np.eye(planner.num_costs)[0], np.zeros(planner.num_costs)
    if index is not None:
        use[index] = 1.0
    weights = primary + price * use
    found = Enumerated([], inf, [], [])
    waiting: list[tuple[frozenset[int], ActivityPlan | None]] = [(forbidden, None)]
    complete_to, solved = inf, 0
    while waiting:
        # The last one is the part without the row that was branched on last.
        region, near = waiting.pop()
        solved += 1
        if solved > max_regions:
            return None
        answer = planner.plan_afresh(weights, region, near)
        if answer is None or answer.lower >= limit:
            complete_to = complete_to if answer is None else min(complete_to, answer.lower)
            found.tree.append(-1)
            found.classes.append(PlanClass(region, best=None if answer is None else answer.plan))
            continue
        plan = answer.plan
        only = set(region)
        for state in np.flatnonzero(plan.reached).tolist():
            rows = range(int(balance.row_start[state]), int(balance.row_start[state + 1]))
            own = int(plan.rows[state])
            if any(row != own and row not in only for row in rows):
                waiting.append((frozenset(only | {own}), plan))
                found.tree.append(own)
            only.update(row for row in rows if row != own)
        alone = frozenset(only)
        cheapest = planner.plan_afresh(primary, alone, plan)
        sparing = None if index is None else planner.plan_afresh(use, alone, plan)
        if cheapest is None or (index is not None and sparing is None):
            return None
        least_use = 0.0 if sparing is None else max(sparing.lower, 0.0)
        found.plans.append(EnumeratedPlan(plan, max(cheapest.lower, 0.0), least_use))
        found.tree.append(-1)
        found.classes.append(PlanClass(alone, cheapest.plan, None if sparing is None else sparing.plan))
    return found._replace(complete_to=complete_to)


class ItemClass(NamedTuple):
    """A class of a multiple-choice knapsack, several times.

    Attributes
    ----------
    number
        How often: each time one of the items is taken.
    costs, uses
        Of each item, not negative.
    """

    number: int
    costs: FloatArray
    uses: FloatArray


class Packed(NamedTuple):
    """The answer of a knapsack.

    Attributes
    ----------
    bound
        No choice of items that keeps the budget costs less; not above the cutoff.
    counts
        For each class how often each item is taken, in the best choice that was found; None if none was. It
        may cost more than the cutoff.
    """

    bound: float
    counts: list[IntArray] | None


class _Counted(NamedTuple):
    """The ways to take items of a class: total costs and uses, and how often each item is taken."""

    costs: FloatArray
    uses: FloatArray
    counts: IntArray


class _Labels(NamedTuple):
    """Costs and uses of choices in some of the classes, by rising use and falling cost.

    Where labels were merged, `way_costs` and `way_uses` are those of the choice that is remembered.
    """

    costs: FloatArray
    uses: FloatArray
    way_costs: FloatArray
    way_uses: FloatArray

    def with_each(self, ways: _Counted) -> _Labels:
        """Every label with every way to take items of one more class."""
        more = ways.costs, ways.uses, ways.costs, ways.uses
        return _Labels(*((own[:, np.newaxis] + new).ravel() for own, new in zip(self, more, strict=True)))

    def merged(self, kept: IntArray, limit: int) -> tuple[_Labels, IntArray]:
        """The labels that are `kept`, neighbours merged if they are more than `limit`; and which are left.

        The least use and the least cost of neighbours are better than any of them, and so a bound.
        """
        if len(kept) <= limit:
            return _Labels(*(each[kept] for each in self)), kept
        firsts = np.unique(np.linspace(0, len(kept), limit, endpoint=False).astype(np.int64))
        lasts = np.append(firsts[1:], len(kept)) - 1
        left = kept[firsts]
        return _Labels(
            self.costs[kept[lasts]], self.uses[left], self.way_costs[left], self.way_uses[left]
        ), left


def solve_knapsack(
    classes: Sequence[ItemClass],
    budget: float,
    price: float,
    cutoff: float,
    parameters: EnumerationParameters = DEFAULT_PARAMETERS,
) -> Packed | None:
    """The cheapest choice of items within a budget, as far as it is below `cutoff`; None if it is too large.

    The bound holds for all costs and uses that are not below the given ones, whatever the rounding.

    >>> classes = [ItemClass(20, np.array([1.0, 2.0]), np.array([1.0, 0.0]))]
    >>> packed = solve_knapsack(classes, budget=6.5, price=1.0, cutoff=40.0)
    >>> round(packed.bound, 9), [counts.tolist() for counts in packed.counts]
    (34.0, [[6, 14]])

    Parameters
    ----------
    classes
        Of which items are taken.
    budget
        An upper bound on the sum of uses.
    price
        Of a unit of the budget; the nearer to the dual's, the less work.
    cutoff
        Choices that cost this much are of no interest.
    parameters
        How much work may be done.
    """
    total = sum(each.number for each in classes)
    priced = [each.costs + price * each.uses for each in classes]
    floors = [float(each.min()) for each in priced]
    level = sum(each.number * floor for each, floor in zip(classes, floors, strict=True)) - price * budget
    # A few roundings for each item taken and each class, relative to all that is added up.
    size = sum(each.number * float(own.max()) for each, own in zip(classes, priced, strict=True))
    rounding = (4 * total + 4 * len(classes) + 64) * ROUNDINGS * (size + price * budget)
    gap = cutoff - level + rounding
    if gap <= 0.0:
        return Packed(cutoff, None)
    room = budget * (1.0 + (4 * total + 64) * ROUNDINGS)
    ways: list[_Counted] = []
    for each, own, floor in zip(classes, priced, floors, strict=True):
        counted = _ways_to_count(each, own - floor, gap, parameters.max_entries)
        if counted is None:
            return None
        ways.append(counted)
    # Classes with very different uses come first: later little can change, and few labels are left.
    order = sorted(range(len(classes)), key=lambda index: -float(np.ptp(classes[index].uses)))
    least_use, most_use = (
        np.cumsum([0.0, *(float(pick(ways[index].uses)) for index in reversed(order))])[::-1]
        for pick in (np.min, np.max)
    )
    limit = min(parameters.max_labels, parameters.max_entries // max(1, len(classes)))
    labels, passed = _Labels(*np.zeros((4, 1))), 0.0
    steps: list[tuple[IntArray, IntArray]] = []
    for position, index in enumerate(order, start=1):
        if len(labels.costs) * len(ways[index].costs) > parameters.max_entries:
            return None
        passed += classes[index].number * floors[index]
        every = labels.with_each(ways[index])
        # Budget that can no longer be used is lost at its price.
        unused = np.maximum(budget - every.uses - most_use[position], 0.0)
        surcharge = every.costs + price * (every.uses + unused) - passed
        kept = np.flatnonzero((every.uses + least_use[position] <= room) & (surcharge <= gap))
        kept = kept[_undominated(every.costs[kept], every.uses[kept])]
        if len(kept) == 0:
            return Packed(cutoff, None)
        labels, kept = every.merged(kept, limit)
        steps.append((kept // len(ways[index].costs), kept % len(ways[index].costs)))
    bound = min(cutoff, float(labels.costs.min()) - rounding)
    costs = np.where(labels.way_uses <= room, labels.way_costs, np.inf)
    chosen = int(np.argmin(costs))
    if costs[chosen] == np.inf:
        return Packed(bound, None)
    counts: list[IntArray] = [np.zeros(0, dtype=np.int64)] * len(classes)
    for index, (parents, taken) in zip(reversed(order), reversed(steps), strict=True):
        counts[index] = ways[index].counts[taken[chosen]]
        chosen = int(parents[chosen])
    return Packed(bound, counts)


def _ways_to_count(items: ItemClass, surcharges: FloatArray, gap: float, most: int) -> _Counted | None:
    """The ways to take items of a class whose surcharges stay within the gap; None if there are too many."""
    options = len(surcharges)
    base = int(np.argmin(surcharges))
    left, spent = np.array([items.number]), np.zeros(1)
    counts = np.zeros((1, options), dtype=np.int64)
    for option in range(options):
        if option == base or surcharges[option] > gap:
            continue
        fitting = left
        if surcharges[option] > 0.0:
            # One more than fits, for rounding; those of other items may be beyond the gap already.
            fits = np.floor(np.maximum(gap - spent, 0.0) / surcharges[option])
            fitting = np.minimum(left, fits + 1.0).astype(np.int64)
        sizes = fitting + 1
        total = int(sizes.sum())
        if total * options > most:
            return None
        origin = np.repeat(np.arange(len(left)), sizes)
        taken = np.arange(total) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        left, spent = left[origin] - taken, spent[origin] + taken * surcharges[option]
        counts = counts[origin]
        counts[:, option] = taken
    counts[:, base] = left
    costs, uses = counts @ items.costs, counts @ items.uses
    kept = _undominated(costs, uses)
    return _Counted(costs[kept], uses[kept], counts[kept])


def _undominated(costs: FloatArray, uses: FloatArray) -> IntArray:
    """Of labels with rising use those that are cheaper than all before them."""
    order = np.lexsort((costs, uses))
    before = np.minimum.accumulate(np.append(np.inf, costs[order]))[:-1]
    return order[costs[order] < before]
