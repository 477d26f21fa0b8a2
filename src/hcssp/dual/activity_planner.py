r"""The planners of activities, under any weights of the costs and within any region.

A planner keeps the data of one activity that does not depend on weights (its balance equations and the
evaluation of its policies), and what is known about it within each region (some rows forbidden).

:class:`ActivityPlanner` is for activities after which the same follows however they end. Its answer under
other weights, or within a larger region, often makes planning unnecessary, see
:mod:`hcssp.dual.value_cache`.

:class:`MultiExitPlanner` is for activities whose exits lead to different events. The probability of an exit
is a cost like any other: each row pays its probability to end there. The weight of that cost is the value of
what follows the exit. Exit probabilities sum to one, so only differences of the values matter.

:class:`ActivityPlanners` shares planners between identical activities, also of another problem.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.preprocessing import are_alike, hollow, prepare, sizes_of
from hcssp.dual.flat import free_rows
from hcssp.dual.symmetry import Counts, first_identical
from hcssp.dual.value_cache import (
    DEFAULT_PARAMETERS,
    ActivityPlan,
    PlannerParameters,
    PriceCache,
    SolvedPrice,
    ValueBounds,
    ValueCache,
    WeightsCache,
)
from hcssp.errors import DeadEnd
from hcssp.procedure.model import Activity
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_evaluation import System
from hcssp.ssp.policy_iteration import PolicyIteration, ScalarOptimum
from hcssp.ssp.potential import ROUNDINGS, levels_of
from hcssp.ssp.scalar_problem import Region
from hcssp.threads import parallel_map


class Planner:
    """Solves one activity exactly.

    Parameters
    ----------
    problem
        The activity, prepared.
    system
        How policies are evaluated; None chooses by the activity's graph.
    parameters
        How much is remembered.
    """

    def __init__(
        self,
        problem: CSSP,
        system: Callable[[Balance], System] | None = None,
        parameters: PlannerParameters = DEFAULT_PARAMETERS,
    ) -> None:
        self.balance = Balance(problem)
        self.solver = PolicyIteration(self.balance, None if system is None else system(self.balance))
        self._parameters = parameters

    @property
    def system(self) -> System:
        """What evaluates the activity's policies."""
        return self.solver.system

    def allowed(self, forbidden: frozenset[int]) -> BoolArray | None:
        """The region as a mask over rows; None if nothing is forbidden."""
        return Region(forbidden).allowed(self.balance.num_rows) if forbidden else None

    def solve(
        self,
        weights: FloatArray,
        allowed: BoolArray | None,
        warm: ActivityPlan | None = None,
        partly: bool = False,
    ) -> ScalarOptimum | None:
        """The best policy of the `allowed` rows; None if there is no proper one.

        Parameters
        ----------
        weights
            Of all costs of the activity.
        allowed
            Mask over rows; None allows all.
        warm
            A plan to begin with, of any region.
        partly
            Whether a policy that ends from some of the entrances will do.
        """
        rows, values = (None, None) if warm is None else (warm.rows, warm.values)
        return self.solver.minimise(weights, allowed, rows, values, partly=partly)

    def plan_of(self, optimum: ScalarOptimum) -> ActivityPlan:
        """The plan that was found."""
        return ActivityPlan(self.system, optimum.rows, optimum.values, optimum.costs, optimum.dead)

    def plan_from(self, rows: IntArray) -> ActivityPlan:
        """The policy that takes `rows` in the live states, with its exact costs."""
        return ActivityPlan(self.system, rows, self.system.values(rows))


class ActivityPlanner(Planner):
    """Plans one activity with one exit.

    Parameters
    ----------
    cssp
        The activity.
    counted
        The secondary costs that some constraint counts. Nothing is remembered about weights of others.
    usable
        The rows that may be taken at all; None for all.
    parameters
        How much is remembered.

    Attributes
    ----------
    counted
        As given.
    dead_end
        The reason why the activity cannot be completed with certainty, if it cannot: then there is no plan.
    """

    def __init__(
        self,
        cssp: CSSP,
        counted: frozenset[int],
        usable: BoolArray | None = None,
        parameters: PlannerParameters = DEFAULT_PARAMETERS,
    ) -> None:
        self.dead_end: DeadEnd | None = None
        # Regions without a proper plan; so is every smaller region.
        self._impossible: set[frozenset[int]] = set()
        try:
            self.prepared = prepare(cssp, usable)
        except DeadEnd as error:
            self.prepared, self.dead_end = hollow(cssp), error
            self._impossible.add(frozenset())
        super().__init__(self.prepared.problem, parameters=parameters)
        self._count(counted)

    def _count(self, counted: frozenset[int]) -> None:
        """Expect weights of these costs."""
        self.counted = counted
        self._uncounted = np.array(
            [cost for cost in range(1, self.num_costs) if cost not in counted], dtype=int
        )
        self._caches: dict[frozenset[int], ValueCache] = {}
        self._views: dict[frozenset[int], ActivityPlanner] = {}

    @property
    def row_start(self) -> IntArray:
        """The first row of each live state of the prepared activity, and the number of rows."""
        return self.balance.row_start

    @property
    def num_costs(self) -> int:
        """The number of costs of the activity, with the primary."""
        return int(self.balance.costs.shape[0])

    @property
    def priced(self) -> bool:
        """Whether at most one secondary cost is counted, so that one price determines the weights."""
        return len(self.counted) <= 1

    def counting(self, counted: frozenset[int]) -> ActivityPlanner:
        """The planner of the same activity that expects weights of these costs only; the rest is shared."""
        if counted == self.counted:
            return self
        if counted not in self._views:
            other = self._views[counted] = copy(self)
            other._count(counted)
        return self._views[counted]

    def lookup(
        self, weights: FloatArray, forbidden: frozenset[int], refine: bool = False
    ) -> ValueBounds | None:
        """What is known under weights; planned is only where no plan is. None if there is no proper plan.

        See :meth:`ValueCache.lookup` for `refine`.
        """
        if self._is_impossible(forbidden):
            return None
        known = None
        if self._is_counted(weights):
            known = self._cache(forbidden).lookup(weights, refine)
        return self.plan(weights, forbidden) if known is None else known

    def plan(self, weights: FloatArray, forbidden: frozenset[int]) -> ValueBounds | None:
        """The best plan that avoids the `forbidden` rows; None if no proper plan does."""
        if self._is_impossible(forbidden):
            return None
        cache = self._cache(forbidden)
        if not self._is_counted(weights):
            return self.plan_afresh(weights, forbidden, cache.warm_start(weights))
        known = cache.at(weights)
        if known is None:
            solved = cache.normalised(weights)
            found = self.plan_afresh(solved, forbidden, cache.warm_start(solved))
            if found is None:
                return None
            cache.add(solved, found.plan, found.lower)
            known = cache.at(weights)
        return known

    def plan_afresh(
        self, weights: FloatArray, forbidden: frozenset[int], warm: ActivityPlan | None = None
    ) -> ValueBounds | None:
        """As :meth:`plan`, without what is known: the bound is that of these very weights."""
        optimum = self.solve(weights, self.allowed(forbidden), warm)
        if optimum is None:
            self._impossible.add(forbidden)
            return None
        return ValueBounds(self.plan_of(optimum), float(weights @ optimum.costs), optimum.bound, True)

    def known_plans(self, forbidden: frozenset[int]) -> tuple[list[ActivityPlan], FloatArray]:
        """The plans that are known to avoid the `forbidden` rows, and their costs, a row each."""
        cache = self._cache(forbidden)
        return cache.plans, cache.plan_costs

    def known_around(
        self, price: float, forbidden: frozenset[int]
    ) -> tuple[SolvedPrice | None, SolvedPrice | None]:
        """The solved prices around `price`, without planning; see :meth:`PriceCache.around`."""
        cache = self._caches.get(forbidden)
        return cache.around(price) if isinstance(cache, PriceCache) else (None, None)

    def lift(self, plan: ActivityPlan) -> IntArray:
        """The plan as one row for each state of the activity, as the user has stated it."""
        rows = np.full(self.prepared.problem.num_states, NO_ROW, dtype=np.int64)
        rows[self.balance.live] = plan.rows
        return self.prepared.lift(rows)

    def values_of(self, plan: ActivityPlan, weights: FloatArray) -> FloatArray:
        """The weighted costs-to-go from every state of the user's activity; nan where nothing is known."""
        return self.prepared.lift_values(self.balance.live, plan.values @ weights)

    def original_rows(self, rows: Iterable[int]) -> list[int]:
        """The rows of the user's activity that rows of the prepared one are."""
        return [int(self.prepared.rows[row]) for row in sorted(rows)]

    def prepared_row(self, row: int) -> int | None:
        """The row of the prepared activity that is `row` of the user's; None if it has none."""
        place = int(np.searchsorted(self.prepared.rows, row))
        found = place < len(self.prepared.rows) and int(self.prepared.rows[place]) == row
        return place if found else None

    def _is_counted(self, weights: FloatArray) -> bool:
        """Whether only counted costs have weights."""
        return not len(self._uncounted) or not weights[self._uncounted].any()

    def _is_impossible(self, forbidden: frozenset[int]) -> bool:
        """Whether it is known already that no proper plan avoids these rows."""
        return any(known <= forbidden for known in self._impossible)

    def _cache(self, forbidden: frozenset[int]) -> ValueCache:
        """The results for a region, initially those of the closest larger one."""
        cache = self._caches.get(forbidden)
        if cache is not None:
            return cache
        if len(self._caches) >= self._parameters.max_regions:
            self._caches = {region: self._caches[region] for region in self._caches if not region}
        larger = [region for region in self._caches if region < forbidden]
        if larger:
            closest = max(larger, key=len)
            new = forbidden - closest
            cache = self._caches[closest].restricted(lambda plan: not plan.uses_any(new))
        elif self.priced:
            cache = PriceCache(next(iter(self.counted), None), self._parameters)
        else:
            costs = np.array([0, *sorted(self.counted)], dtype=np.int64)
            cache = WeightsCache(costs, self._parameters)
        self._caches[forbidden] = cache
        return cache


def loose_activities(
    known: Sequence[ValueBounds | None], executions: FloatArray, tolerance: float, as_few: bool = False
) -> list[int]:
    """Those to plan before the bound of a procedure and its best known policy are within `tolerance`.

    What lies between the two stems from the activities that the policy executes: for each there is a lower
    bound on its weighted cost and the cost of the best plan known.

    Parameters
    ----------
    known
        What is known about each; None if it has no plan.
    executions
        How often each is executed.
    tolerance
        What may be left open.
    as_few
        Whether to name no more than it takes, the widest. Otherwise each is named that leaves more open than
        its part of the tolerance: results at a price are used again.
    """
    slack = {
        index: float(executions[index]) * (bounds.upper - bounds.lower)
        for index, bounds in enumerate(known)
        if bounds is not None and not bounds.exact and executions[index] > 0.0
    }
    left = sum(slack.values())
    if left <= tolerance or not slack:
        return []
    if not as_few:
        share = min(max(slack.values()), tolerance / len(slack))
        return [index for index, each in slack.items() if each >= share]
    widest = []
    for index in sorted(slack, key=lambda each: -slack[each]):
        if left <= tolerance:
            break
        widest.append(index)
        left -= slack[index]
    return sorted(widest)


class ActivityPlanners:
    """A planner for each activity; those with equal arrays that count the same share one.

    Parameters
    ----------
    activities, counts
        Of the problem; and of each activity the constraints and costs that they count.
    zeros
        The constraints with a bound of zero: rows that cost something of theirs are left out.
    like
        Those of a problem with some of the same activities, whose planners are shared.

    Attributes
    ----------
    every
        The planners, for any weights.
    num_states
        The number of states of the activities that have a planner of their own.
    """

    def __init__(
        self,
        activities: Sequence[Activity],
        counts: Sequence[Counts],
        zeros: Collection[int],
        like: ActivityPlanners | None = None,
    ) -> None:
        self._activities, self._counts = activities, counts
        # Which of its costs each activity counts, and whether rows with that cost are left out.
        self._counted = [
            frozenset((index, constraint in zeros) for constraint, index in each) for each in counts
        ]
        first = first_identical([activity.cssp for activity in activities], self._counted)
        distinct = sorted(set(first))
        self.num_states = sum(activities[index].cssp.num_states for index in distinct)
        planners = {} if like is None else self._shared(like, distinct)
        missing = [index for index in distinct if index not in planners]
        planners |= zip(missing, parallel_map(self._planner, missing, self.num_states), strict=True)
        self.every: list[ActivityPlanner] = [planners[index] for index in first]

    def _shared(self, like: ActivityPlanners, wanted: Sequence[int]) -> dict[int, ActivityPlanner]:
        """The planners of another problem for the `wanted` activities that are identical in both."""
        known: dict[tuple[Hashable, ...], list[int]] = {}
        for index, (activity, what) in enumerate(zip(like._activities, like._counted, strict=True)):
            known.setdefault((*sizes_of(activity.cssp), what), []).append(index)
        found: dict[int, ActivityPlanner] = {}
        for index in wanted:
            cssp = self._activities[index].cssp
            for other in known.get((*sizes_of(cssp), self._counted[index]), ()):
                if are_alike(cssp, like._activities[other].cssp):
                    found[index] = like.every[other]
                    break
        return found

    def _planner(self, activity: int) -> ActivityPlanner:
        """A new planner for an activity."""
        cssp = self._activities[activity].cssp
        none = frozenset(index for index, left_out in self._counted[activity] if left_out)
        counted = frozenset(index for index, _ in self._counted[activity]) - none
        return ActivityPlanner(cssp, counted, free_rows(cssp, tuple(index - 1 for index in none)))

    def counting(self, is_bounded: BoolArray) -> list[ActivityPlanner]:
        """The planners that expect weights of those costs only that a constraint with a bound counts."""
        return [
            planner.counting(planner.counted & {own for constraint, own in counts if is_bounded[constraint]})
            for planner, counts in zip(self.every, self._counts, strict=True)
        ]


def spreads_of(num_costs: Sequence[int], counts: Sequence[Counts], num_constraints: int) -> list[FloatArray]:
    """For each activity the matrix from its own costs to those of the problem, by what constraints count.

    Equal ones are the same object.

    >>> spreads_of([3], [[(0, 2)]], num_constraints=1)[0].tolist()
    [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
    """
    made: dict[Hashable, FloatArray] = {}
    spreads = []
    for size, counted in zip(num_costs, counts, strict=True):
        key = size, tuple(counted)
        if key not in made:
            made[key] = np.zeros((size, 1 + num_constraints))
            made[key][0, 0] = 1.0
            for constraint, own in counted:
                made[key][own, 1 + constraint] = 1.0
        spreads.append(made[key])
    return spreads


@dataclass(frozen=True, eq=False)
class Block:
    """A multi-exit activity within the whole: its states, its entrances and the events behind its exits.

    Attributes
    ----------
    problem
        Its live states, then one goal for each exit; the costs are those of the whole problem, then, if there
        are several exits, the probability of each.
    num_costs
        The number of costs of the whole problem.
    doors
        The live states in which it can be entered.
    exits
        The event state behind each exit.
    """

    problem: CSSP
    num_costs: int
    doors: IntArray
    exits: IntArray


class ExitAnswer(NamedTuple):
    """The results for a multi-exit activity under some weights and values at its exits.

    Attributes
    ----------
    plan
        The best plan.
    levels
        A certified lower bound for every entrance; ``inf`` where no plan ends with certainty.
    """

    plan: ActivityPlan
    levels: FloatArray


class MultiExitPlanner(Planner):
    """Plans one activity with several exits and entrances, under weights and values at its exits.

    The value of an entry is a certified lower bound if the values of the exits are lower bounds.
    Weights rarely repeat, so plans are kept rather than answers: the best of the last plans of the region is
    tested by its reduced costs (:mod:`hcssp.ssp.potential`), and often it is still the best.
    """

    def __init__(
        self,
        block: Block,
        system: Callable[[Balance], System] | None = None,
        parameters: PlannerParameters = DEFAULT_PARAMETERS,
    ) -> None:
        super().__init__(block.problem, system, parameters)
        self.block = block
        self._answers: dict[tuple[frozenset[int], bytes], ExitAnswer | None] = {}
        self._known: deque[ActivityPlan] = deque(maxlen=parameters.max_plans)

    def plan(
        self,
        weights: FloatArray,
        exit_values: FloatArray,
        forbidden: frozenset[int],
        near: ActivityPlan | None = None,
    ) -> ExitAnswer | None:
        """The best plan that avoids the `forbidden` rows, and a bound for each entrance.

        None if there is no entrance from which it can be ended with certainty.

        Parameters
        ----------
        weights
            Of the whole problem's costs, not negative.
        exit_values
            A lower bound on what follows each exit, not negative; ``inf`` where the end is not reached.
        forbidden
            The rows not to use.
        near
            A plan that is probably close to the answer; it need not lie in the region.
        """
        least = float(np.min(exit_values))
        if least == np.inf:
            return None
        above = above_least(exit_values)
        key = forbidden, np.append(weights, above).tobytes()
        if key not in self._answers:
            if len(self._answers) > self._parameters.max_regions:
                self._answers.clear()
            self._answers[key] = self._answer(weights, above, forbidden, near)
        answer = self._answers[key]
        if answer is None:
            return None
        return answer._replace(levels=(answer.levels + least) * (1.0 - 2.0 * ROUNDINGS))

    def optimum(
        self,
        weights: FloatArray,
        exit_values: FloatArray,
        allowed: BoolArray | None,
        warm: ActivityPlan | None,
    ) -> ScalarOptimum | None:
        """The best policy of the rows `allowed`; None if there is no entrance from which it can end.

        Parameters
        ----------
        weights
            Of the whole problem's costs.
        exit_values
            What follows each exit.
        allowed
            Mask over rows; None allows all.
        warm
            A plan to begin with, of any region.
        """
        is_open = np.isfinite(exit_values)
        if not is_open.all():
            closed = self.balance.costs[self.block.num_costs :][~is_open].max(axis=0) == 0.0
            allowed = closed if allowed is None else allowed & closed
        own = self._own_weights(weights, np.where(is_open, exit_values, 0.0))
        return self.solve(own, allowed, warm, partly=True)

    def _own_weights(self, weights: FloatArray, exit_values: FloatArray) -> FloatArray:
        """The weights of the block's costs: of the problem's, then, if there are several exits, of these."""
        return weights if len(exit_values) == 1 else np.append(weights, exit_values)

    def _answer(
        self,
        weights: FloatArray,
        exit_values: FloatArray,
        forbidden: frozenset[int],
        near: ActivityPlan | None,
    ) -> ExitAnswer | None:
        doors = self.block.doors
        known = None
        if self._known and np.isfinite(exit_values).all():
            own = self._own_weights(weights, exit_values)
            banned = np.array(sorted(forbidden), dtype=np.int64)
            known = self._best_known(own, banned)
            if known is not None:
                reduced = known.reduced_costs @ own
                reduced[banned] = np.inf
                proof = self.balance.certify_quickly(own, known.values @ own, reduced)
                if proof is not None:
                    return ExitAnswer(known, levels_of(proof, doors))
        optimum = self.optimum(weights, exit_values, self.allowed(forbidden), known or near)
        if optimum is None:
            return None
        plan = self.plan_of(optimum)
        levels = np.zeros(len(doors))
        if optimum.certificate is not None:
            levels = levels_of(optimum.certificate, doors)
        if optimum.dead is None:
            self._known.append(plan)
        else:
            levels[optimum.dead[doors]] = np.inf
        return ExitAnswer(plan, levels)

    def _best_known(self, weights: FloatArray, banned: IntArray) -> ActivityPlan | None:
        """The known plan of the region that costs least under weights of all own costs."""
        values = np.array([plan.costs for plan in self._known]) @ weights
        if not len(banned):
            return self._known[int(values.argmin())]
        states = self.balance.row_state[banned]
        for place in values.argsort().tolist():
            if not (self._known[place].rows[states] == banned).any():
                return self._known[place]
        return None


def above_least(exit_values: FloatArray) -> FloatArray:
    """The values of the exits above the least, rounded down.

    >>> above_least(np.array([3.0, 5.0])).round(9).tolist()
    [0.0, 2.0]
    """
    # Subtraction rounds once.
    above: FloatArray = (exit_values - exit_values.min()) * (1.0 - 2.0 * ROUNDINGS)
    return above
