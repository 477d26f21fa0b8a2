r"""The allocation space to begin with, as the paper states it: how much an activity can use at all.

From 0 to :math:`\Delta / L(E)`: an activity that is run at least :math:`L(E)` times in expectation, whenever
it is run at all, breaks the bound alone if it uses more each time. The bound is the tolerated one, since a
solution that exceeds it by no more than the tolerance counts as feasible and must lie in the box.

Where the procedure leads back, :math:`L(E)` is still at least the probability of coming to the activity once.
A procedure that may run it has a way there on which no event comes twice, and follows that way with at least
the product of the least probabilities of its events.
"""

from __future__ import annotations

from math import inf

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import FloatArray
from hcssp.cssp.reachability import closure
from hcssp.methods.paper.box import Box
from hcssp.methods.paper.instance import Instance
from hcssp.numerics import tolerated

SELDOM = 1e-300
"""What is executed less often than this has no effect on any figure, and its limit would be no number."""


def published_limits(instance: Instance) -> Box:
    """The box that holds every feasible solution of the problem."""
    likelihood = least_likelihoods(instance)
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
    # The way ends where it comes to the event of the choice; what happens afterwards is no part of it.
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
