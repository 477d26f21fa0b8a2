"""Random problems, named by a seed, of any size: for comparisons, and to see what makes a problem hard.

:func:`random_cssp` draws a single problem: states, the actions in each, where they may lead, and costs, where
what is quick tends to be expensive otherwise. :func:`random_procedure` draws a procedure whose activities are
such problems: two choices at every event (one at the last if the number of activities is odd), some of which
skip an event, and a probability of being set back by one.
The parameter `tightness` sets how restrictive the bounds are. At 0 the cheapest policy just keeps them. At 1
they are the costs of a policy that balances all constrained costs. The problem is always feasible.

>>> random_cssp(seed=3, states=20).num_states
21
>>> random_procedure(seed=3) == random_procedure(seed=3)
True
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, FloatArray
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.evaluation.exact import evaluate
from hcssp.procedure import HCSSP, Outcome
from hcssp.scenarios.scenario import Mission, Range, Size, checked, scenario


@checked
def random_cssp(
    *,
    seed: Annotated[int, Range("names the problem", 0)] = 0,
    states: Annotated[int, Range("the states of an activity", 2, 1_000_000)] = 60,
    actions: Annotated[int, Range("the actions in a state", 1, 50)] = 3,
    branching: Annotated[int, Range("the states that an action may lead to", 1, 50)] = 3,
    constraints: Annotated[int, Range("how many other costs are bounded", 1, 8)] = 1,
    tightness: Annotated[float, Range("from 0, bounds that the cheapest policy keeps, to 1", 0, 1)] = 0.5,
) -> CSSP:
    """A random problem.

    Raises
    ------
    InvalidProblem
        If a parameter has a value that is not allowed.
    """
    drawn = _activity(np.random.default_rng(seed), states, actions, branching, constraints)
    bounds = _bounds(drawn, tightness)
    return drawn.with_bounds(dict(zip(drawn.cost_names[1:], bounds.tolist(), strict=True)))


ABOUT = "random", "a random procedure: size, branching, number and tightness of bounds are parameters"


@scenario(
    *ABOUT,
    Size(485, 8, 1),
    small={"activities": 4, "states": 12},
    large={"activities": 40, "states": 300},
)
def random_procedure(
    *,
    seed: Annotated[int, Range("names the problem", 0)] = 0,
    states: Annotated[int, Range("the states of an activity", 2, 1_000_000)] = 60,
    actions: Annotated[int, Range("the actions in a state", 1, 50)] = 3,
    branching: Annotated[int, Range("the states that an action may lead to", 1, 50)] = 3,
    constraints: Annotated[int, Range("how many other costs are bounded", 1, 8)] = 1,
    tightness: Annotated[float, Range("from 0, bounds that the cheapest policy keeps, to 1", 0, 1)] = 0.5,
    activities: Annotated[int, Range("the activities, two for each event", 1, 20_000)] = 8,
    setback: Annotated[float, Range("the probability that a choice leads back by an event", 0, 0.5)] = 0.1,
) -> HCSSP:
    """A random procedure.

    Raises
    ------
    InvalidProblem
        If a parameter has a value that is not allowed.
    """
    rng = np.random.default_rng(seed)
    plan = Mission(*ABOUT)
    events = (activities + 1) // 2
    here = [plan.add_event(f"event-{number}") for number in range(1, events + 1)]
    here.append(plan.add_event("end"))
    for number in range(events):
        for choice in ("left", "right")[: activities - 2 * number]:
            ahead = min(number + (1 if choice == "left" else int(rng.integers(1, 3))), events)
            drawn = _activity(rng, states, actions, branching, constraints)
            run = plan.add(f"{choice}-{number + 1}", drawn)
            outcomes = [Outcome(1.0, here[ahead], runs=run)]
            if number > 0:
                onwards = Outcome(1.0 - setback, here[ahead], runs=run)
                outcomes = [onwards, Outcome(setback, here[number - 1])]
            plan.add_choice(here[number], choice, to=outcomes)
    plan.under({f"use-{cost}": np.inf for cost in range(1, constraints + 1)})
    problem = plan.build(start=here[0], end=here[-1])
    bounds = _bounds(problem.flattening.cssp, tightness)
    return problem.with_bounds(dict(zip(problem.constraint_names, bounds.tolist(), strict=True)))


def _activity(rng: np.random.Generator, states: int, actions: int, branching: int, constraints: int) -> CSSP:
    """A problem without bounds; the first action of a state leads onwards, so that the goal is never far."""
    rows = states * actions
    heads = rng.integers(0, states + 1, (rows, branching))
    state = np.repeat(np.arange(states), actions)
    onwards = state + 1 + rng.integers(0, max(1, states // 8), rows)
    heads[:, 0] = np.minimum(onwards, states)
    odds = rng.dirichlet(np.ones(branching), rows)
    # At least a quarter goes onwards.
    odds *= 0.75
    odds[:, 0] += 0.25
    transitions = csr_array(
        (odds.ravel(), heads.ravel(), np.arange(0, rows * branching + 1, branching)), shape=(rows, states + 1)
    )
    haste = rng.random(rows)
    uses = [10.0 * haste * rng.random(rows) * (rng.random(rows) < 0.7) for _ in range(constraints)]
    return CSSP(
        transitions=transitions,
        row_start=np.append(np.arange(0, rows + 1, actions), rows),
        costs=np.stack([1.0 + 9.0 * (1.0 - haste) * rng.random(rows), *uses]),
        initial=np.eye(1, states + 1)[0],
        goals=np.arange(states + 1) == states,
        cost_names=("time", *(f"use-{cost}" for cost in range(1, constraints + 1))),
        bounds=np.full(constraints, np.inf),
    )


def _bounds(problem: CSSP, tightness: float) -> FloatArray:
    """Between the costs of the cheapest policy and those of a compromise, and never below the latter's."""
    free = _costs_of_best(problem, np.eye(1, len(problem.costs))[0])
    # Each bounded cost weighs as much as the others, and time a little, so that the best ends.
    weights = 1.0 / np.maximum(free, 1e-9)
    weights[0] *= 0.01
    compromise = _costs_of_best(problem, weights)
    between = (1.0 - tightness) * free + tightness * compromise
    # A hair of room, so that rounding does not forbid what the bound was made from.
    bounds: FloatArray = np.maximum(between, compromise)[1:] * (1.0 + 1e-9)
    return bounds


def _costs_of_best(problem: CSSP, weights: FloatArray) -> FloatArray:
    """The expected costs of a policy that is best under `weights`."""
    # Solvers are imported only when something is solved: the list of problems needs none.
    from hcssp.contract.proof import Reason
    from hcssp.solving.solve import solve

    weighted = problem.derive(
        costs=(weights @ problem.costs)[np.newaxis], cost_names=("weighted",), bounds=np.empty(0)
    )
    plan = solve(weighted)
    if plan.ending.reason is Reason.INTERRUPTED:
        # A search answers Ctrl-C and the alarm of a time limit with a plan; here they must end
        # the call.
        raise KeyboardInterrupt
    found = evaluate(problem, DeterministicPolicy(problem, plan.policy.rows))
    return np.array([found.cost(name) for name in problem.cost_names])
