r"""Algorithms 1 to 5 of the paper, in order, with the paper's line numbers beside the code.

Hong and Williams: an allocation of budgets separates the activities from one another and from the procedure.
Boxes of allocations are bounded from both sides and split, best bound first. The paper calls a box a
partition, and its upper and lower bounds alpha and beta.

After the five algorithms follow what they leave to their context: how the members of a group are planned
(:func:`planned_in_turn`), and the :class:`Mode`, which says where to begin, how to bound a box and how to
split it. :class:`Mode` itself is the paper's; :class:`hcssp.methods.paper.sharp.Sharp` is ours.

In Algorithms 2 and 3 both stages are those of the anytime algorithm. Stage 2 looks at policies in the order
of their Lagrangian value, for :math:`l` iterations as :func:`hcssp.methods.anytime.stage_two` counts them; an
instance of the mode sharp proves :math:`l = \infty` by branching on policies instead, which needs far fewer
steps and has the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from hcssp.contract.progress import AllocationBox
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.reachability import closure
from hcssp.dual.ascent import Dual, ascend, maximise
from hcssp.dual.flat import FlatOracle, FlatPoint
from hcssp.dual.plan_point import ProcedurePoint
from hcssp.dual.value_cache import ActivityPlan
from hcssp.methods.anytime import StageTwoStep, next_best, stage_two
from hcssp.methods.best_first import BestFirst
from hcssp.methods.paper.activity_budget import Budgeted, BudgetOracle, within
from hcssp.methods.paper.instance import (
    ActivityAnswer,
    Box,
    ChoicePoint,
    EstimatedProcedure,
    Instance,
    cost_of,
)
from hcssp.methods.policy_branching import prove
from hcssp.numerics import at_least, may_be_feasible, tolerated
from hcssp.ssp.scalar_problem import Region

# Algorithm 1, Branch-and-Bound.


@dataclass(frozen=True, eq=False)
class Partition:
    """An open box, its lower bound, and its number."""

    box: Box
    bound: LowerBound
    number: int


@dataclass(frozen=True)
class Incumbent:
    """A feasible solution, and the upper limits of its box; None if no box that was examined holds it."""

    solution: ProcedurePoint
    limits: FloatArray | None


class Partitions(BestFirst[Partition, Incumbent]):
    """The state of the algorithm: the open boxes, the incumbent and both global bounds.

    Attributes
    ----------
    examined
        How many boxes have been bounded.
    boxes
        The first of them, for people.
    """

    examined = 0

    def __init__(self, lower_bound: float = -inf) -> None:
        super().__init__(lower_bound)
        self.boxes: list[AllocationBox] = []


def branch_and_bound(
    instance: Instance,
    root: Box,
    iterations: float,
    epsilon: float,
    mode: Mode,
    lower_bound: float = -inf,
    outside: float = inf,
) -> Iterator[Partitions]:
    """Algorithm 1: split boxes, best bound first, until both bounds differ by no more than `epsilon`.

    Parameters
    ----------
    instance, root
        The problem, and the allocation space to begin with.
    iterations
        Of the second stages: the paper's l.
    epsilon
        The tolerated difference of both bounds.
    mode
        How a box is bounded and split.
    lower_bound
        What is known about the optimum already.
    outside
        No solution that lies outside `root` costs less; ``inf`` if there is none.

    Yields
    ------
    Partitions
        After every box that was split, and after a better incumbent was found without stage 2; the same
        object changes.
    """
    nothing = LowerBound(lower_bound, np.zeros(len(instance.bounds)), np.zeros(len(instance.activities)))
    partitions = Partitions(lower_bound)  # lines 1-2
    partitions.prune(outside)
    partitions.lend(nothing, lower_bound)
    yield from _examine(partitions, instance, root, root, iterations, mode, nothing, None)  # lines 3-9
    partitions.return_from(nothing)
    yield partitions
    while partitions.upper_bound - partitions.lower_bound > epsilon:  # line 10
        if partitions.next_bound >= partitions.cutoff:
            # Nothing is left to split, or nothing that could be better than the incumbent.
            return
        beta, partition = partitions.pop()  # line 11
        partitions.lend(partition, beta)
        parts = mode.split(instance, partition.box, root, partition.bound, iterations)  # line 12
        if not parts:
            partitions.prune(beta)
        for part in parts:  # lines 13-14
            bound, number = partition.bound, partition.number
            yield from _examine(partitions, instance, root, part, iterations, mode, bound, number)  # 15-19
        partitions.return_from(partition)
        yield partitions  # lines 20-22; the caller returns the incumbent, line 23


def _examine(
    partitions: Partitions,
    instance: Instance,
    root: Box,
    box: Box,
    iterations: float,
    mode: Mode,
    parent: LowerBound,
    part_of: int | None,
) -> Iterator[Partitions]:
    """Bound a box from both sides and open it: lines 2-9 for the first, lines 13 and 15-21 for the others.

    Stage 2 may take long, so that the solution of l = 0 is offered before it begins, and before there is any,
    all that l = 0 finds.
    """
    partitions.examined += 1
    if iterations > 0:
        known = partitions.incumbent
        if known is None:
            _bound(partitions, instance, root, box, 0, mode, parent)
        else:
            _offer(partitions, instance, box, 0, mode, parent)
        if partitions.incumbent is not known:
            yield partitions
    bound = _bound(partitions, instance, root, box, iterations, mode, parent)
    number = partitions.examined - 1
    if number < instance.parameters.boxes_kept:
        partitions.boxes.append(AllocationBox(box.lower, box.upper, bound.value, part_of))
    partitions.push(bound.value, Partition(box, bound, number))  # lines 2 and 13; 8-9 and 20-21 follow


def _offer(
    partitions: Partitions, instance: Instance, box: Box, iterations: float, mode: Mode, parent: LowerBound
) -> None:
    """Compute-UB, and its solution as incumbent: lines 3-6 and 15-18."""
    alpha, solution = mode.compute_ub(instance, box, iterations, parent)  # lines 3 and 15
    if solution is not None:  # lines 4 and 16
        partitions.offer(alpha, Incumbent(solution, box.upper))  # lines 5-6 and 17-18, if it is better


def _bound(
    partitions: Partitions,
    instance: Instance,
    root: Box,
    box: Box,
    iterations: float,
    mode: Mode,
    parent: LowerBound,
) -> LowerBound:
    """Offer what solutions are found for a box, and bound it from below: lines 3-7 and 15-19."""
    _offer(partitions, instance, box, iterations, mode, parent)
    bound = mode.compute_lb(instance, box, iterations, parent, partitions.cutoff)  # lines 7 and 19
    if bound.value < partitions.cutoff:
        for suggested in mode.suggestions(instance, bound, iterations):
            usage = instance.usage_of(suggested)
            # Local search may leave the box, but hardly the one that the search began with.
            holding = (each.upper for each in (box, root) if within(usage, each.upper))
            partitions.offer(instance.cost_of(suggested), Incumbent(suggested, next(holding, None)))
    return bound


# Algorithm 2, Activity-Planning.


def activity_planning(
    instance: Instance, activity: int, limits: FloatArray, iterations: float
) -> ActivityAnswer:
    """Algorithm 2: the best plan of `activity` within `limits`, and bounds on what any such plan costs.

    Stage 1, the dual, is read off the activity's budget curve.

    Parameters
    ----------
    instance
        The problem; the answer is added to what it knows.
    activity
        Which activity.
    limits
        Upper limits on its counted costs: those of a box.
    iterations
        Of stage 2: the paper's l.
    """
    if activity in instance.proved:
        iterations = inf
    question = activity, iterations, limits.tobytes()
    if question in instance.answers:
        return instance.answers[question]
    found = instance.activities[activity].under(limits)  # lines 1-2
    plan, lower_bound = found.plan, found.lower_bound
    if iterations > 0 and lower_bound < cost_of(plan):  # line 3
        plan, lower_bound = _stage_two(instance, activity, limits, iterations, found)  # line 4
    upper_bound = cost_of(plan)
    answer = ActivityAnswer(plan, min(lower_bound, at_least(upper_bound)), upper_bound)
    if not instance.is_unproven(activity, limits):
        instance.answers[question] = answer
    return answer  # line 5


def _stage_two(
    instance: Instance, activity: int, limits: FloatArray, iterations: float, found: Budgeted
) -> tuple[ActivityPlan | None, float]:
    budget = instance.activities[activity]
    if iterations == inf and instance.branches:
        return _prove_further(instance, activity, limits, found)
    plan, bound, prices = found
    steps = stage_two(instance.ranking(activity, prices), prices, limits, iterations)
    counted = list(budget.counted)
    lower_bound, better = _best_of(steps, lambda costs: within(costs[counted], limits), bound, cost_of(plan))
    return plan if better is None else budget.planner.plan_from(better.rows), lower_bound


def _best_of(
    steps: Iterable[StageTwoStep[FlatPoint]],
    keeps: Callable[[FloatArray], bool],
    lower_bound: float,
    upper_bound: float,
) -> tuple[float, FlatPoint | None]:
    """The lower bound after stage 2, and the best policy that `keeps` its limits if below `upper_bound`."""
    best: FlatPoint | None = None
    for step in steps:
        lower_bound = max(lower_bound, step.bound)
        if lower_bound >= upper_bound:
            break
        policy = step.policy
        if policy is not None and policy.costs[0] < upper_bound and keeps(policy.costs):
            upper_bound, best = float(policy.costs[0]), policy
    return lower_bound, best


def _prove_further(
    instance: Instance, activity: int, limits: FloatArray, found: Budgeted
) -> tuple[ActivityPlan | None, float]:
    """Both stages towards the proof, a few steps at a time: a group may be the whole procedure."""
    proof = instance.proof(activity, limits)
    proof.go_on(instance.parameters.proof_steps)
    plan = found.plan if cost_of(found.plan) <= cost_of(proof.plan) else proof.plan
    return plan, max(found.lower_bound, proof.lower_bound)


# Algorithm 3, Procedural-Planning.


@dataclass(frozen=True)
class ProceduralAnswer:
    """What Procedural-Planning returns.

    Attributes
    ----------
    choices
        An event row for each event state of the best procedure found that keeps the bounds, or None.
    lower_bound, upper_bound
        Around the least estimated cost within the bounds; both ``inf`` if nothing keeps them.
    prices
        Multipliers of the constraints from the dual.
    executions
        Expected executions of each activity under the procedures that carry the dual.
    """

    choices: IntArray | None
    lower_bound: float
    upper_bound: float
    prices: FloatArray
    executions: FloatArray


def procedural_planning(
    instance: Instance,
    primary: FloatArray,
    secondary: FloatArray,
    iterations: float,
    start: FloatArray | None = None,
) -> ProceduralAnswer:
    """Algorithm 3: the best procedure under the estimated costs of activities.

    Stage 1 is the dual of the C-SSP over events (:class:`~hcssp.methods.paper.instance.EstimatedProcedure`).

    Parameters
    ----------
    instance
        The problem.
    primary
        An estimate of each activity's primary cost; ``inf`` for one that must not be run.
    secondary
        For each activity and constraint an estimate of what one execution uses of it.
    iterations
        Of stage 2: the paper's l.
    start
        Multipliers near the answer.
    """
    estimated = EstimatedProcedure(instance, primary, secondary)  # line 1
    dual = maximise(estimated, Region(), start=start)  # line 2
    if dual.infeasible:
        return ProceduralAnswer(None, inf, inf, np.zeros(len(instance.bounds)), np.zeros(len(primary)))
    lower_bound, upper_bound, choices = dual.bound, inf, None
    for point in dual.points:
        if point.costs[0] < upper_bound and may_be_feasible(point.costs, instance.bounds):
            upper_bound, choices = float(point.costs[0]), point.rows
    executions = instance.executions(dual)
    if iterations > 0 and lower_bound < upper_bound:  # line 3
        lower_bound, upper_bound, choices = _stage_two_of_choices(  # line 4
            instance, estimated, dual, iterations, upper_bound, choices
        )
    if iterations > 0 and choices is not None and lower_bound >= upper_bound:
        executions = instance.procedure.executions(choices)
    lower_bound = min(lower_bound, at_least(upper_bound))
    return ProceduralAnswer(choices, lower_bound, upper_bound, dual.prices, executions)  # line 5


def _stage_two_of_choices(
    instance: Instance,
    estimated: EstimatedProcedure,
    dual: Dual[ChoicePoint],
    iterations: float,
    upper_bound: float,
    choices: IntArray | None,
) -> tuple[float, float, IntArray | None]:
    if iterations == inf and instance.branches:
        return prove(estimated)
    problem, rows = estimated.as_cssp()
    flat = FlatOracle(problem)
    ranked = next_best(flat, np.append(1.0, dual.prices))
    steps = stage_two(ranked, dual.prices, instance.bounds, iterations)
    lower_bound, better = _best_of(
        steps, lambda costs: may_be_feasible(costs, instance.bounds), dual.bound, upper_bound
    )
    if better is not None:
        taken = flat.lift(better)
        upper_bound, choices = float(better.costs[0]), np.where(taken == NO_ROW, NO_ROW, rows[taken])
    return lower_bound, upper_bound, choices


# Algorithm 4, Compute-LB.


@dataclass(frozen=True, eq=False)
class LowerBound:
    """A lower bound on a box, and its parts.

    Attributes
    ----------
    value
        The bound; ``inf`` if the box holds no solution that is needed.
    prices
        Multipliers of the constraints.
    executions
        How often the procedures that carry the bound run each activity, in expectation.
    dual
        The dual restricted to the box, which only the mode sharp has.
    """

    value: float
    prices: FloatArray
    executions: FloatArray
    dual: Dual[Any] | None = field(default=None, repr=False)


def compute_lb(instance: Instance, box: Box, iterations: float) -> LowerBound:
    """Algorithm 4: a lower bound on the cost of every solution of `box`.

    Every activity costs its lower bound under the box's upper limits and uses the box's lower limits;
    Procedural-Planning with these estimates bounds every solution of the box.

    Parameters
    ----------
    instance
        The problem.
    box
        The limits.
    iterations
        Of the second stages: the paper's l.
    """
    primary = np.zeros(len(instance.activities))
    secondary = np.zeros((len(instance.activities), len(instance.bounds)))
    for activity in instance.order:  # line 1
        limits = box.upper[instance.edges_of(activity)]
        answer = activity_planning(instance, activity, limits, iterations)  # line 2
        # Infinite if nothing keeps the limits: then the box holds only procedures that do without.
        primary[activity] = answer.lower_bound  # line 3
    for activity in instance.order:  # line 4
        limits = box.lower[instance.edges_of(activity)]
        secondary[activity] = instance.by_constraint(activity, limits)  # line 5
    found = procedural_planning(instance, primary, secondary, iterations)  # line 6
    return LowerBound(found.lower_bound, found.prices, found.executions)  # line 7


# Algorithm 5, Compute-UB.


def compute_ub(
    instance: Instance, box: Box, iterations: float, start: FloatArray | None = None
) -> tuple[float, ProcedurePoint | None]:
    """Algorithm 5: the cost of a feasible solution and the solution, or ``inf`` and None.

    The best plan of every activity under the box's upper limits is taken; with what these plans cost and
    use, Procedural-Planning chooses at the events. Inside a group of activities that exits tie together,
    each of them is planned from the distribution in which those before it end.

    Parameters
    ----------
    instance
        The problem.
    box
        The limits.
    iterations
        Of the second stages: the paper's l.
    start
        Multipliers near those of the procedure.
    """
    primary = np.zeros(len(instance.activities))
    secondary = np.zeros((len(instance.activities), len(instance.bounds)))
    plans: list[ActivityPlan | None] = [None] * len(instance.activities)  # line 1
    for activity in instance.order:  # line 2
        limits = box.upper[instance.edges_of(activity)]
        answer = activity_planning(instance, activity, limits, iterations)  # line 3
        plan = answer.plan
        if plan is not None and instance.is_group(activity) and not answer.exact:
            plan = planned_in_turn(instance, activity, limits, plan)
        primary[activity] = inf if plan is None else float(plan.costs[0])  # line 4
        plans[activity] = plan  # line 5
    for activity, plan in enumerate(plans):  # line 6
        if plan is not None:
            usage = instance.activities[activity].usage(plan)
            secondary[activity] = instance.by_constraint(activity, usage)  # line 7
    found = procedural_planning(instance, primary, secondary, iterations, start)  # line 8
    if found.choices is None:  # line 9
        return inf, None  # line 10
    # The costs of the whole are computed once more, exactly, and checked against the bounds.
    solution = instance.compose(found.choices, plans)  # line 11
    return (inf, None) if solution is None else (instance.cost_of(solution), solution)  # line 12


# The members of a group, planned in turn.


def planned_in_turn(
    instance: Instance, activity: int, limits: FloatArray, plan: ActivityPlan
) -> ActivityPlan:
    r"""A plan of a group within `limits` that is at least as good as `plan`, which keeps them.

    The paper's Eqs. 4 and 5 say that an activity starts in the distribution in which those before it end,
    :math:`\Gamma^T_E = \Gamma^I_{E'}`. Given a plan of the whole group, its activities are taken one after
    the other in topological order. Each is planned again, from the distribution that the plans before it
    produce and with what the present plans behind its exits cost, under what the others leave of the limits.
    The new plan replaces the old one if it is cheaper and keeps the limits. The choices at the events come
    last, as they do in Algorithm 5.

    All of it is one C-SSP a turn: that of the group, in which everything but one activity is decided. So the
    distributions are right even where the group leads back to itself. No lower bound depends on it.

    Parameters
    ----------
    instance
        The problem.
    activity
        The group.
    limits
        On its counted costs.
    plan
        Where to begin.
    """
    budget, parameters = instance.activities[activity], instance.parameters
    oracle = BudgetOracle(budget, limits)
    for own_rows in islice(instance.turns(activity), parameters.max_turns):
        decided = ~own_rows
        decided[plan.rows] = False
        *_, dual = islice(ascend(oracle, Region(np.flatnonzero(decided))), parameters.max_turn_steps)
        for found in dual.points:
            if found.costs[0] < plan.costs[0] and within(budget.usage(found), limits):
                plan = found
    return plan


# The mode published: the allocation space to begin with, and how a box is split.


SELDOM = 1e-300
"""What is executed less often than this has no effect on any figure, and its limit would be no number."""


def published_limits(instance: Instance, likelihoods: Mapping[str, float] | None = None) -> Box:
    """The box with every feasible solution of the problem, or the one that `likelihoods` give."""
    likelihood = least_likelihoods(instance)
    for position, known in enumerate(instance.problem.activities):
        likelihood[position] = (likelihoods or {}).get(known.name, likelihood[position])
    allowed = tolerated(instance.bounds)
    upper = np.zeros(len(instance.edges))
    for edge, (activity, index) in enumerate(instance.edges):
        counting = [j for j, counted in instance.counts[activity] if counted == index]
        upper[edge] = min(float(allowed[j]) for j in counting) / likelihood[activity]
    return Box(np.zeros(len(upper)), upper)


def least_likelihoods(instance: Instance) -> FloatArray:
    r"""A lower bound on the positive values of :math:`L(E \mid \rho)` for each activity, over all procedures.

    It is the least itself where no two ways to an activity share an event. ``inf`` for an activity that no
    procedure runs.
    """
    problem = instance.problem
    least = np.full(problem.num_activities, inf)
    for activity in range(problem.num_activities):
        target = int(problem.activity_choice[activity])
        outcomes = problem.choices[target].outcomes
        probability = sum(outcome.probability for outcome in outcomes if outcome.runs == activity)
        if probability > 0.0:
            reach = _least_reach_in_cycles if instance.has_cycles else _least_reach
            least[activity] = probability * reach(instance, target)
    return least


def _least_reach(instance: Instance, target: int) -> float:
    """The least positive probability with which the choice `target` is made, or a lower bound on it."""
    problem = instance.problem
    # For each event: the least probability of coming to the choice from there, and the least positive one.
    least = np.zeros(problem.num_events)
    positive = np.full(problem.num_events, inf)
    for event in reversed(instance.events):
        options = []
        for index in problem.choices_at(event):
            outcomes = [outcome for outcome in problem.choices[index].outcomes if outcome.probability > 0.0]
            certain = sum(outcome.probability * least[outcome.event] for outcome in outcomes)
            if index == target:
                options.append((1.0, 1.0))
            elif certain > 0.0:
                options.append((certain, certain))
            else:
                # One outcome must lead there; the others need not.
                options.append((0.0, min(o.probability * positive[o.event] for o in outcomes)))
        if options:
            least[event] = min(option[0] for option in options)
            positive[event] = min(option[1] for option in options)
    return float(positive[problem.start])


def _least_reach_in_cycles(instance: Instance, target: int) -> float:
    """A lower bound on the positive probabilities with which the choice `target` is ever made."""
    problem = instance.problem
    goal = problem.choices[target].event
    if goal == problem.start:
        return 1.0
    # The way ends where it comes to the event of the choice; what happens afterwards is not a part of it.
    moves = [
        (choice.event, outcome.event, float(outcome.probability))
        for choice in problem.choices
        for outcome in choice.outcomes
        if outcome.probability > 0.0 and choice.event != goal
    ]
    tails, heads, chances = (np.array(column) for column in zip(*moves, strict=True))
    shape = (problem.num_events,) * 2
    graph = csr_array((np.ones(len(moves)), (tails, heads)), shape=shape)
    events = np.arange(problem.num_events)
    onwards = closure(graph.T.tocsr(), events == goal)
    if not onwards[problem.start]:
        return inf
    between = onwards & closure(graph, events == problem.start)
    least = np.ones(problem.num_events)
    np.minimum.at(least, tails[onwards[heads]], chances[onwards[heads]])
    return max(float(np.prod(least[between])), SELDOM)


def halve_longest_edge(box: Box, root: Box, shortest: float) -> tuple[Box, ...]:
    """The two halves of `box` along its longest edge, or nothing if every edge is as short as it may become.

    Lengths are compared as they are, whatever unit the edge is measured in and however often its activity is
    run. The paper's convergence needs them to vanish; in double precision an edge ends where its parts could
    no longer be distinguished.

    Parameters
    ----------
    box, root
        The box, and the one that the search began with.
    shortest
        The share of its first length below which an edge is not halved.

    Examples
    --------
    >>> root = Box(np.zeros(2), np.array([2.0, 8.0]))
    >>> [half.upper.tolist() for half in halve_longest_edge(root, root, 1e-9)]
    [[2.0, 4.0], [2.0, 8.0]]
    """
    lengths = np.where(box.lengths > shortest * root.lengths, box.lengths, 0.0)
    if not np.any(lengths > 0.0):
        return ()
    edge = int(np.argmax(lengths))
    return box.split(edge, at=0.5 * float(box.lower[edge] + box.upper[edge]))


class Mode:
    """What Algorithm 1 asks of a mode; this one is the paper's, *published*.

    The bounds of a box depend on the box and on l, and on nothing else.

    Attributes
    ----------
    branches
        How an instance proves l = inf, see :class:`hcssp.methods.paper.instance.Instance`.
    """

    branches = False

    def initial_box(self, instance: Instance, likelihoods: Mapping[str, float] | None = None) -> Box:
        """The allocation space to begin with, perhaps with other likelihoods of some activities."""
        return published_limits(instance, likelihoods)

    def compute_ub(
        self, instance: Instance, box: Box, iterations: float, parent: LowerBound
    ) -> tuple[float, ProcedurePoint | None]:
        """The cost of a feasible solution and the solution, or ``inf`` and None."""
        return compute_ub(instance, box, iterations)

    def compute_lb(
        self, instance: Instance, box: Box, iterations: float, parent: LowerBound, cutoff: float
    ) -> LowerBound:
        """A lower bound on the solutions of `box`, part of a box with the bound `parent`."""
        return compute_lb(instance, box, iterations)

    def suggestions(
        self, instance: Instance, bound: LowerBound, iterations: float
    ) -> Iterable[ProcedurePoint]:
        """More feasible solutions, from what carries a lower bound."""
        return ()

    def split(
        self, instance: Instance, box: Box, root: Box, bound: LowerBound, iterations: float
    ) -> tuple[Box, ...]:
        """The parts of `box`, or nothing if it cannot be split."""
        return halve_longest_edge(box, root, instance.parameters.shortest_edge)
