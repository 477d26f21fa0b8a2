r"""The allocation space to begin with: how little and how much an activity can use at all.

**paper.** From 0 to :math:`\Delta / L_{\min}(E)`: an activity that is run at least :math:`L_{\min}(E)`
times in expectation, whenever it is run at all, breaks the bound alone if it uses more each time.

**sharp.** From the least that any policy uses, to the smaller of that and what the unconstrained optimum
uses: a policy that uses more of the only cost that counts is no cheaper than the unconstrained optimum. With
several counted costs that does not follow, since more of one may spare another, so there only the lower limit
is sharper.
"""

from __future__ import annotations

from math import inf
from typing import Literal

import numpy as np

from hcssp.cssp.model import FloatArray
from hcssp.methods.paper.box import Box
from hcssp.methods.paper.planning import Planning

Limits = Literal["sharp", "paper"]


def initial_box(planning: Planning, limits: Limits = "sharp") -> Box:
    """The box that holds an optimal solution of the problem, if it has any."""
    likelihood = least_likelihoods(planning)
    lower = np.zeros(len(planning.edges))
    upper = np.zeros(len(planning.edges))
    for edge, (activity, index) in enumerate(planning.edges):
        counting = [j for j, counted in planning.counts[activity] if counted == index]
        upper[edge] = min(float(planning.bounds[j]) for j in counting) / likelihood[activity]
    if limits == "sharp":
        for activity, budget in enumerate(planning.activities):
            edges = planning.edges_of(activity)
            lower[edges] = budget.least
            if len(budget.counted) == 1:
                upper[edges] = np.minimum(upper[edges], budget.usage(budget.unconstrained))
    return Box(lower, upper)


def least_likelihoods(planning: Planning) -> FloatArray:
    r"""A lower bound on the positive values of :math:`L(E \mid \rho)` for each activity, over all procedures.

    It is the least itself where no two ways to an activity share an event. ``inf`` for an activity that no
    procedure runs.
    """
    problem = planning.problem
    least = np.full(problem.num_activities, inf)
    for activity in range(problem.num_activities):
        target = int(problem.activity_choice[activity])
        outcomes = problem.choices[target].outcomes
        probability = sum(outcome.probability for outcome in outcomes if outcome.runs == activity)
        if probability > 0.0:
            least[activity] = probability * _least_reach(planning, target)
    return least


def _least_reach(planning: Planning, target: int) -> float:
    """The least positive probability with which the choice `target` is made, or a lower bound on it."""
    problem = planning.problem
    # For each event: the least probability of coming to the choice from there, and the least positive one.
    least = np.zeros(problem.num_events)
    positive = np.full(problem.num_events, inf)
    for event in reversed(planning.events):
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
