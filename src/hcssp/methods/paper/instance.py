r"""The HC-SSP instance that all five algorithms are given: boxes of budgets, and a planner for each activity.

Every event of its procedure is entered in one way. So an activity's policy meets the rest of the problem
through its expected costs alone, and a budget for each of them separates the activities from one another.
Where exits tie activities together, a group of them stands for one (:mod:`hcssp.procedure.parts`).

A budget is that of one execution; where the procedure leads back, an activity is executed more often than
once, and uses its budget as often.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from math import inf, isfinite
from typing import NamedTuple

import numpy as np

from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.dual.ascent import Dual
from hcssp.dual.event_chain import ProcedureSolver, events_as_cssp
from hcssp.dual.flat import FlatOracle, FlatPoint
from hcssp.dual.oracle import Minimum, Oracle, PolicyPoint
from hcssp.dual.plan_point import ProcedurePoint
from hcssp.dual.procedure import ProcedureOracle
from hcssp.dual.value_cache import ActivityPlan
from hcssp.methods.anytime import next_best
from hcssp.methods.incumbents import careful_evaluation, is_doubtful, is_limited
from hcssp.methods.paper.activity_budget import BudgetOracle, BudgetPlanner
from hcssp.methods.policy_branching import PolicySearch
from hcssp.numerics import PRUNE_TOLERANCE, is_feasible, may_be_feasible
from hcssp.procedure.model import HCSSP
from hcssp.ssp.potential import ROUNDINGS
from hcssp.ssp.scalar_problem import Region


@dataclass(frozen=True, eq=False)
class Box:
    """A box of budget allocations: limits for each edge, a pair of an activity and one of its counted costs.

    A solution lies in the box that contains what its activities use; an activity that it does not run may lie
    anywhere. Boxes are closed, so neighbours share their face and no solution falls between them.

    >>> box = Box(np.array([0.0, 1.0]), np.array([4.0, 2.0]))
    >>> left, right = box.split(0, at=1.5)
    >>> left.upper.tolist(), right.lower.tolist()
    ([1.5, 2.0], [1.5, 1.0])

    Attributes
    ----------
    lower, upper
        The limits, for one execution of the activity.
    """

    lower: FloatArray
    upper: FloatArray

    @property
    def lengths(self) -> FloatArray:
        """The length of each edge; 0 where nothing is left of it."""
        return np.maximum(self.upper - self.lower, 0.0)

    def split(self, edge: int, at: float) -> tuple[Box, Box]:
        """The two parts below and above `at` on `edge`."""
        upper, lower = self.upper.copy(), self.lower.copy()
        upper[edge] = at
        lower[edge] = at
        return Box(self.lower, upper), Box(lower, self.upper)


@dataclass(frozen=True)
class BudgetParameters:
    """What steers the algorithms of the paper. No bound depends on these numbers.

    Attributes
    ----------
    shortest_edge
        An edge is not halved below this share of its first length. Double precision ends there.
    shortest_halved_edge
        The same in the mode sharp, for an activity without an incumbent.
    max_turns
        The members of a group that are planned in turn; a turn takes as long as a plan of the group.
    max_turn_steps
        The multipliers that are tried in a turn.
    max_box_steps
        The steps of the dual restricted to a box: with several counted costs it may not settle.
    proof_steps
        The steps that are taken at once to prove the cost of a group, or of an activity whose l was raised.
    raise_every
        In the mode sharp, the boxes that are split before l is raised for what still has a gap.
    widening
        The relative widening of a budget that a dual suggests.
    search_rounds
        The moves of the local search from such a suggestion.
    boxes_kept
        The boxes that are kept for pictures of the allocation space, the first ones.
    """

    shortest_edge: float = 1e-9
    shortest_halved_edge: float = 1e-3
    max_turns: int = 30
    max_turn_steps: int = 20
    max_box_steps: int = 300
    proof_steps: int = 10
    raise_every: int = 20
    widening: float = 1e-7
    search_rounds: int = 20
    boxes_kept: int = 20_000


@dataclass(frozen=True)
class ActivityAnswer:
    """What Activity-Planning returns: the incumbent, and both bounds under the limits.

    Attributes
    ----------
    plan
        The cheapest plan found that keeps the limits, or None.
    lower_bound, upper_bound
        Around the least cost within the limits; both ``inf`` if nothing keeps them.
    """

    plan: ActivityPlan | None
    lower_bound: float
    upper_bound: float

    @property
    def exact(self) -> bool:
        """Whether the plan is proven to be the best within the limits."""
        if self.plan is None:
            return False
        return self.upper_bound - self.lower_bound <= PRUNE_TOLERANCE * (1.0 + abs(self.upper_bound))


class Instance:
    r"""A problem, and the planners of its activities.

    Parameters
    ----------
    problem
        A procedure in which every event is entered in one state, as :mod:`hcssp.procedure.parts` makes it.
    branches
        Whether Algorithms 2 and 3 prove :math:`l = \infty` by branching on policies instead of enumeration.
    owners
        For each activity that is a group of several, which of them each of its states belongs to, as
        :class:`hcssp.procedure.parts.Grouping` says; None for the others.
    parameters
        What steers the algorithms.

    Attributes
    ----------
    answers
        What Activity-Planning has answered so far, by the activity, l and the limits: the same limits are
        asked in many boxes.
    events, order
        The events in a topological order, if there is one, and the activities in that of the events they
        start from.
    has_cycles
        Whether an event can be reached again.
    activities
        A planner under limits for each activity; it counts what constraints with a finite bound count.
    edges
        The sides of an allocation box: pairs of an activity and one of its counted costs.
    proved, choices_proved
        The activities that are planned with :math:`l = \infty`, whatever l is asked for, and whether the
        procedure is.
    choice_costs
        What making each choice counts as, which is something only where a use has a limit: a row for the
        primary cost, then one for each constraint.
    """

    def __init__(
        self,
        problem: HCSSP,
        branches: bool = False,
        owners: Sequence[IntArray | None] | None = None,
        parameters: BudgetParameters | None = None,
    ) -> None:
        self.problem = problem
        self.parameters = parameters or BudgetParameters()
        self.branches = branches
        self.flattening = problem.flattening
        self.events, self.has_cycles = _in_order(problem)
        starts = [self.events.index(problem.choices[int(choice)].event) for choice in problem.activity_choice]
        self.order: tuple[int, ...] = tuple(np.argsort(starts, kind="stable").tolist())
        self.oracle = ProcedureOracle(self.flattening)
        self.procedure = self.oracle.procedure
        self.choice_costs = self.flattening.event_costs
        self.bounds = problem.bounds
        # For each activity the pairs of a constraint with a finite bound and the cost it counts.
        self.counts = [
            [(j, index) for j, index in counted if isfinite(self.bounds[j])] for counted in self.oracle.counts
        ]
        self.activities = [
            BudgetPlanner(planner, tuple(sorted({index for _, index in counted})))
            for planner, counted in zip(self.oracle.planners, self.counts, strict=True)
        ]
        self.edges = [(k, i) for k, activity in enumerate(self.activities) for i in activity.counted]
        sizes = [len(activity.counted) for activity in self.activities]
        self._edge_start = np.cumsum([0, *sizes])
        self._owners = [None] * len(self.activities) if owners is None else list(owners)
        self.proved: set[int] = set()
        self.choices_proved = False
        self._proofs: dict[tuple[int, bytes], Proof] = {}
        self._flat_oracles: dict[int, FlatOracle] = {}
        self.answers: dict[tuple[int, float, bytes], ActivityAnswer] = {}

    def edges_of(self, activity: int) -> slice:
        """Which sides of a box limit `activity`."""
        return slice(int(self._edge_start[activity]), int(self._edge_start[activity + 1]))

    def own_prices(self, activity: int, prices: FloatArray) -> FloatArray:
        """The sum of the constraints' multipliers for each counted cost of `activity`."""
        counted = self.activities[activity].counted
        own = np.zeros(len(counted))
        for constraint, index in self.counts[activity]:
            own[counted.index(index)] += prices[constraint]
        return own

    def executions(self, dual: Dual[ChoicePoint]) -> FloatArray:
        """Expected executions of each activity under the procedures that carry a dual."""
        carrying = dual.support or dual.points[-1:]
        weights = dual.mixture if dual.support else np.ones(len(carrying))
        executions = np.zeros(len(self.activities))
        for weight, point in zip(weights, carrying, strict=True):
            executions += weight * self.procedure.executions(point.rows)
        return executions

    def by_constraint(self, activity: int, usage: FloatArray) -> FloatArray:
        """The counted costs of `activity` as one number for each constraint."""
        counted = self.activities[activity].counted
        share = np.zeros(len(self.bounds))
        for constraint, index in self.counts[activity]:
            share[constraint] = usage[counted.index(index)]
        return share

    def compose(self, choices: IntArray, plans: list[ActivityPlan | None]) -> ProcedurePoint | None:
        """The hierarchical policy of `choices` and `plans`; None if it misses a plan or breaks a bound.

        Where rounding decides whether it keeps the bounds, :meth:`cost_of` does.
        """
        solution = self.oracle.point_of(choices, tuple(plans))
        return None if solution is None or not may_be_feasible(solution.costs, self.bounds) else solution

    def cost_of(self, solution: ProcedurePoint) -> float:
        """The cost of a solution, computed precisely enough; ``inf`` if it breaks a bound."""
        if is_limited(self.problem) or is_doubtful(solution, self.oracle.bounds):
            careful = careful_evaluation(self.problem, self.oracle, solution)
            return float(careful.costs[0]) if careful is not None and careful.keeps_bounds() else inf
        return float(solution.costs[0]) if is_feasible(solution.costs, self.bounds) else inf

    def usage_of(self, solution: ProcedurePoint) -> FloatArray:
        """The use of each activity of a solution: the least limits under which it could be planned."""
        usage = np.zeros(len(self.edges))
        for activity, plan in enumerate(solution.plans):
            if plan is not None:
                usage[self.edges_of(activity)] = self.activities[activity].usage(plan)
        return usage

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
        """The proof for an activity under limits, as far as it has come."""
        key = (activity, limits.tobytes())
        if key not in self._proofs:
            self._proofs[key] = Proof(self.activities[activity], limits)
        return self._proofs[key]

    def is_unproven(self, activity: int, limits: FloatArray) -> bool:
        """Whether a proof for an activity under limits was begun and has not ended."""
        proof = self._proofs.get((activity, limits.tobytes()))
        return proof is not None and not proof.has_ended

    def ranking(self, activity: int, prices: FloatArray) -> Iterator[tuple[float, FlatPoint]]:
        """The policies of `activity` from the best on under `prices` of its counted costs."""
        if activity not in self._flat_oracles:
            self._flat_oracles[activity] = FlatOracle(self.problem.activities[activity].cssp)
        return next_best(self._flat_oracles[activity], self.activities[activity].weights(prices))


class Proof:
    r"""The best plan of an activity within limits, proved in portions: :math:`l = \infty` without the wait.

    Attributes
    ----------
    lower_bound, plan
        The proven bound so far, and the best plan known within the limits.
    has_ended
        Whether nothing is left to prove.
    """

    def __init__(self, budget: BudgetPlanner, limits: FloatArray) -> None:
        self.lower_bound = -inf
        self.plan: ActivityPlan | None = None
        self.has_ended = False
        self._search = PolicySearch(BudgetOracle(budget, limits))
        self._steps = self._search.run()

    def go_on(self, steps: int) -> None:
        """Take `steps` more steps."""
        for _ in range(steps):
            step = next(self._steps, None)
            if step is None:
                self.has_ended = True
                break
            self.lower_bound = max(self.lower_bound, step.lower_bound)
        self.plan = self._search.queue.incumbent


def _in_order(problem: HCSSP) -> tuple[tuple[int, ...], bool]:
    """The events, none before one that leads to it, and whether cycles make that impossible."""
    sorter: TopologicalSorter[int] = TopologicalSorter(dict.fromkeys(range(problem.num_events), ()))
    for choice in problem.choices:
        for outcome in choice.outcomes:
            if outcome.probability > 0.0:
                sorter.add(outcome.event, choice.event)
    try:
        return tuple(sorter.static_order()), False
    except CycleError:
        return tuple(range(problem.num_events)), True


class Contributions(NamedTuple):
    """The contribution of one execution of each activity to a procedure.

    Attributes
    ----------
    values
        Certified lower bounds on the weighted costs.
    costs
        For each activity its cost, then its use of each constraint.
    usages
        For each activity the use of its counted costs that `costs` stand for, where that is known.
    """

    values: FloatArray
    costs: FloatArray
    usages: tuple[FloatArray, ...] = ()


class EventOracle(Oracle["ChoicePoint"]):
    """The procedure as an SSP over events, on top of what its activities contribute.

    Parameters
    ----------
    instance
        The problem.
    possible
        Which activities may be run.
    """

    def __init__(self, instance: Instance, possible: BoolArray) -> None:
        super().__init__(instance.bounds, instance.procedure.row_start)
        self._instance, self._procedure = instance, instance.procedure
        self._usable: BoolArray = ~instance.procedure.rows_that_run(~possible)

    @abstractmethod
    def _contributions(self, weights: FloatArray) -> Contributions:
        """The contributions of activities under `weights` of the cost and the constraints."""

    def minimise(
        self, weights: FloatArray, region: Region, precision: float = 0.0, near: ChoicePoint | None = None
    ) -> Minimum[ChoicePoint] | None:
        found, procedure = self._contributions(weights), self._procedure
        allowed = self._usable
        if region.forbidden:
            allowed = np.logical_and(allowed, region.allowed(procedure.num_rows))
        # A little less, so that no rounding makes it more than it is.
        own = (weights @ self._instance.choice_costs) * (1.0 - 4.0 * len(weights) * ROUNDINGS)
        answer = procedure.minimise(procedure.runs @ found.values + own, allowed)
        if answer is None:
            return None
        choices, value = answer
        row_costs = (procedure.runs @ found.costs).T + self._instance.choice_costs
        return Minimum(ChoicePoint(procedure, choices, row_costs, found.usages), value)


class EstimatedProcedure(EventOracle):
    r"""The procedure as a C-SSP over events, given what every activity costs (the paper's Theorem 1).

    Its states are the events, its actions the choices; a choice costs what the activities that it may run
    cost, by the estimates :math:`\bar f` and :math:`\bar g`, and what a limit of a use makes it cost itself.

    Parameters
    ----------
    instance
        The problem.
    primary
        An estimate of each activity's primary cost; ``inf`` for one that must not be run.
    secondary
        For each activity and constraint an estimate of what one execution uses of it.
    """

    def __init__(self, instance: Instance, primary: FloatArray, secondary: FloatArray) -> None:
        possible = np.isfinite(primary)
        super().__init__(instance, possible)
        self._estimates = np.where(possible[:, np.newaxis], np.column_stack([primary, secondary]), 0.0)

    def _contributions(self, weights: FloatArray) -> Contributions:
        values = (self._estimates @ weights) * (1.0 - 4.0 * len(weights) * ROUNDINGS)
        return Contributions(values, self._estimates)

    def as_cssp(self) -> tuple[CSSP, IntArray]:
        """The same as a C-SSP over events, and for each of its rows the event row it stands for."""
        costs = (self._procedure.runs @ self._estimates).T + self._instance.choice_costs
        return events_as_cssp(self._instance.flattening, costs, self._bounds, self._usable)


class ChoicePoint(PolicyPoint):
    """Choices at the events, and their costs.

    Parameters
    ----------
    procedure, choices
        The event row of each event state.
    row_costs
        The costs of each event row: a line for each cost.
    usages
        For each activity the use of its counted costs that `row_costs` stand for, where that is known.
    """

    def __init__(
        self,
        procedure: ProcedureSolver,
        choices: IntArray,
        row_costs: FloatArray,
        usages: Sequence[FloatArray] = (),
    ) -> None:
        self._procedure = procedure
        self._choices = choices
        self.usages = usages
        states = np.flatnonzero(choices >= 0)
        self.costs = row_costs[:, choices[states]] @ self.visits[states]

    @property
    def rows(self) -> IntArray:
        return self._choices

    @cached_property
    def visits(self) -> FloatArray:
        return self._procedure.visits(self._choices)


def cost_of(plan: ActivityPlan | None) -> float:
    """The cost of an activity's plan; ``inf`` if there is none."""
    return inf if plan is None else float(plan.costs[0])
