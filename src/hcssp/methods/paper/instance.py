"""The HC-SSP instance that all five algorithms are given, with the planners of its activities.

Every event of its procedure is entered in one way. So an activity's policy meets the rest of the problem
through its expected costs alone, and a budget for each of them separates the activities from one another.
Where exits tie activities together, a group of them stands for one (:mod:`hcssp.procedure.grouping`).

A budget is that of one execution; where the procedure leads back, an activity is executed more often than
once, and uses its budget as often.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from math import inf

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.dual.activity_budget import ActivityVertex, Budgeted, BudgetOracle, BudgetPlanner
from hcssp.dual.activity_curve import ActivityPlan
from hcssp.dual.flat_oracle import FlatOracle, FlatVertex
from hcssp.dual.procedure_oracle import ProcedureOracle
from hcssp.dual.procedure_vertex import ProcedureVertex
from hcssp.methods.anytime import next_best
from hcssp.methods.careful_costs import careful_evaluation, is_doubtful, is_limited
from hcssp.methods.paper.answers import Answers
from hcssp.methods.policy_branching import proving
from hcssp.numerics import is_feasible, may_be_feasible
from hcssp.procedure.model import HCSSP


class Instance:
    r"""A problem, and what is known about its activities.

    Parameters
    ----------
    problem
        A procedure in which every event is entered in one state, as :mod:`hcssp.procedure.grouping` makes it.
    shortcuts
        Whether Algorithms 2 and 3 may go further than they are told: an answer proven under larger limits
        serves smaller ones, the dual of an activity begins with policies that earlier ones met, and
        :math:`l = \infty` is proved by branching instead of enumeration. Bounds are never worse for it.
    owners
        For each activity that is a group of several, which of them each of its states belongs to, as
        :class:`hcssp.procedure.grouping.Grouping` tells it; None for the others.

    Attributes
    ----------
    answers
        For each activity, what Activity-Planning has answered so far.
    events, order
        The events in a topological order, if there is one, and the activities in that of the events they
        start from.
    has_cycles
        Whether an event can be come to again.
    constraints
        The constraints that have a finite bound.
    activities
        A planner under limits for each activity; it counts what those constraints count.
    edges
        The sides of an allocation box: pairs of an activity and one of its counted costs.

    choice_costs
        What making each choice counts as, which is something only where a use has a limit: a row for the
        primary cost, then one for each constraint.
    """

    def __init__(
        self, problem: HCSSP, shortcuts: bool = False, owners: Sequence[IntArray | None] | None = None
    ) -> None:
        self.problem = problem
        self.shortcuts = shortcuts
        self.flattening = problem.flattening
        self.events, self.has_cycles = _in_order(problem)
        starts = [self.events.index(problem.choices[int(choice)].event) for choice in problem.activity_choice]
        self.order: tuple[int, ...] = tuple(np.argsort(starts, kind="stable").tolist())
        self.oracle = ProcedureOracle(self.flattening)
        self.procedure = self.oracle.procedure
        self.choice_costs = self.flattening.event_costs
        self.bounds = problem.bounds
        self.constraints: tuple[int, ...] = tuple(np.flatnonzero(np.isfinite(self.bounds)).tolist())
        # For each activity the pairs of a constraint with a finite bound and the cost it counts.
        self.counts = [
            [(j, index) for j, index in counted if j in self.constraints] for counted in self.oracle.counts
        ]
        self.activities = [
            BudgetPlanner(planner, tuple(sorted({index for _, index in counted})))
            for planner, counted in zip(self.oracle.planners, self.counts, strict=True)
        ]
        self.edges = [(k, i) for k, activity in enumerate(self.activities) for i in activity.counted]
        sizes = [len(activity.counted) for activity in self.activities]
        self._edge_start = np.cumsum([0, *sizes])
        self._owners = [None] * len(self.activities) if owners is None else list(owners)
        self._proofs: dict[tuple[int, bytes], Proof] = {}
        self._flat_oracles: dict[int, FlatOracle] = {}
        self._rankings: dict[tuple[int, bytes], Ranking] = {}
        self.answers = [Answers(budget, extended=shortcuts) for budget in self.activities]

    def edges_of(self, activity: int) -> slice:
        """Which sides of a box limit `activity`."""
        return slice(int(self._edge_start[activity]), int(self._edge_start[activity + 1]))

    def own_prices(self, activity: int, prices: FloatArray) -> FloatArray:
        """What the constraints' multipliers amount to for each counted cost of `activity`."""
        counted = self.activities[activity].counted
        own = np.zeros(len(counted))
        for constraint, index in self.counts[activity]:
            own[counted.index(index)] += prices[constraint]
        return own

    def by_constraint(self, activity: int, usage: FloatArray) -> FloatArray:
        """The counted costs of `activity` as one number for each constraint."""
        counted = self.activities[activity].counted
        share = np.zeros(len(self.bounds))
        for constraint, index in self.counts[activity]:
            share[constraint] = usage[counted.index(index)]
        return share

    def compose(self, choices: IntArray, plans: list[ActivityPlan | None]) -> ProcedureVertex | None:
        """The hierarchical policy of `choices` and `plans`; None if it misses a plan or breaks a bound.

        Where rounding decides whether it keeps the bounds, :meth:`cost_of` does.
        """
        solution = self.oracle.vertex_of(choices, tuple(plans))
        return None if solution is None or not may_be_feasible(solution.costs, self.bounds) else solution

    def cost_of(self, solution: ProcedureVertex) -> float:
        """What a solution costs, with the digits that it takes; ``inf`` if it breaks a bound by them."""
        if is_limited(self.problem) or is_doubtful(solution, self.oracle.bounds):
            careful = careful_evaluation(self.problem, self.oracle, solution)
            return float(careful.costs[0]) if careful is not None and careful.keeps_bounds() else inf
        return float(solution.costs[0]) if is_feasible(solution.costs, self.bounds) else inf

    def usage_of(self, solution: ProcedureVertex) -> FloatArray:
        """What each activity of a solution uses: the least limits it could have been planned under."""
        usage = np.zeros(len(self.edges))
        for activity, plan in enumerate(solution.plans):
            if plan is not None:
                usage[self.edges_of(activity)] = self.activities[activity].usage(plan)
        return usage

    def stage_one(self, activity: int, limits: FloatArray) -> Budgeted:
        """The dual of `activity` as a C-SSP under `limits`: its bound, its multipliers, the best plan it met.

        With one counted cost this is a point of the activity's curve, whatever was asked before. With
        several, a planner that has met policies before may find incumbents that this dual alone does not.
        """
        budget = self.activities[activity]
        if not self.shortcuts and len(budget.counted) > 1:
            budget = BudgetPlanner(budget.planner, budget.counted)
        return budget.under(limits)

    def is_group(self, activity: int) -> bool:
        """Whether an activity stands for several that exits tie together."""
        return self._owners[activity] is not None

    def turns(self, activity: int) -> Iterator[BoolArray]:
        """For each member of a group, in topological order, which rows of its planner are its own.

        Those that have nothing to choose from are left out.
        """
        owners, planner = self._owners[activity], self.activities[activity].planner
        if owners is None:
            return
        states = planner.prepared.states[planner.balance.live]
        owner_of_row = owners[states][planner.balance.row_state]
        # The event states come last: what is chosen there follows from the plans, as in the procedure.
        for member in (*range(int(owners.max(initial=-1)) + 1), -1):
            rows: BoolArray = owner_of_row == member
            if np.count_nonzero(rows) > len(np.unique(planner.balance.row_state[rows])):
                yield rows

    def proof(self, activity: int, limits: FloatArray) -> Proof:
        """The proof for a group under limits, as far as it has been brought."""
        key = (activity, limits.tobytes())
        if key not in self._proofs:
            self._proofs[key] = Proof(self.activities[activity], limits)
        return self._proofs[key]

    def is_unproven(self, activity: int, limits: FloatArray) -> bool:
        """Whether a proof for a group under limits was begun and has not ended."""
        proof = self._proofs.get((activity, limits.tobytes()))
        return proof is not None and not proof.has_ended

    def ranking(self, activity: int, prices: FloatArray) -> Ranking:
        """The plans of `activity` from the best on under `prices` of its counted costs."""
        key = (activity, prices.tobytes())
        if key not in self._rankings:
            if activity not in self._flat_oracles:
                self._flat_oracles[activity] = FlatOracle(self.problem.activities[activity].cssp)
            budget = self.activities[activity]
            weights = np.zeros(budget.planner.balance.costs.shape[0])
            weights[0] = 1.0
            weights[list(budget.counted)] = prices
            self._rankings[key] = Ranking(budget, next_best(self._flat_oracles[activity], weights))
        return self._rankings[key]


class Proof:
    r"""The best plan of a group within limits, proved in portions: :math:`l = \infty` without the wait.

    Attributes
    ----------
    lower_bound, plan
        What is proven so far, and the best plan known within the limits.
    has_ended
        Whether nothing is left to prove.
    """

    def __init__(self, budget: BudgetPlanner, limits: FloatArray) -> None:
        self.lower_bound = -inf
        self.plan: ActivityPlan | None = None
        self.has_ended = False
        self._steps = proving(BudgetOracle(budget, limits))

    def go_on(self, steps: int) -> None:
        """Take so many steps more."""
        found: ActivityVertex | None = None
        for _ in range(steps):
            step = next(self._steps, None)
            if step is None:
                self.has_ended = True
                break
            self.lower_bound = max(self.lower_bound, step[0])
            found = step[2]
        if found is not None:
            self.plan = found.plan


class Ranking:
    """Plans of one activity in non-decreasing priced cost, enumerated as far as anybody asked."""

    def __init__(self, budget: BudgetPlanner, policies: Iterator[tuple[float, FlatVertex]]) -> None:
        self._budget = budget
        self._policies = policies
        self._known: list[tuple[float, ActivityPlan]] = []

    def __iter__(self) -> Iterator[tuple[float, ActivityPlan]]:
        """The priced cost, certified, and the plan, from the best on."""
        position = 0
        while True:
            if position == len(self._known):
                found = next(self._policies, None)
                if found is None:
                    return
                self._known.append((found[0], self._budget.plan_from(found[1].rows)))
            yield self._known[position]
            position += 1


def _in_order(problem: HCSSP) -> tuple[tuple[int, ...], bool]:
    """The events, none before one that leads to it, and whether that was impossible: then as they are met."""
    after: dict[int, list[int]] = {event: [] for event in range(problem.num_events)}
    for choice in problem.choices:
        after[choice.event] += [each.event for each in choice.outcomes if each.probability > 0.0]
    sorter: TopologicalSorter[int] = TopologicalSorter(dict.fromkeys(after, ()))
    for event, reached in after.items():
        for other in reached:
            sorter.add(other, event)
    try:
        return tuple(sorter.static_order()), False
    except CycleError:
        met = {problem.start: None}
        waiting = deque(met)
        while waiting:
            for other in after[waiting.popleft()]:
                if other not in met:
                    met[other] = None
                    waiting.append(other)
        return (*met, *(event for event in after if event not in met)), True
