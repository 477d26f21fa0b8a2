"""Random problems, named by a seed, of any size: for comparisons, and to see what makes a problem hard.

:func:`random_cssp` draws a single problem: states, the actions in each, where they may lead, and costs, where
what is quick tends to be dear otherwise. :func:`random_procedure` draws a procedure whose activities are such
problems: two choices at every event, some of which skip an event, and a chance of being thrown back by one.
The dial `tightness` says how much the bounds bind. At 0 the cheapest policy keeps them just so; at 1 they are
the costs of a compromise between all constrained costs; and there is always a policy that keeps them.

>>> random_cssp(seed=3, states=20).num_states
21
>>> random_procedure(seed=3) == random_procedure(seed=3)
True
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, FloatArray
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.evaluation.exact import evaluate
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.scenarios.dials import Dial, turned
from hcssp.scenarios.scenario import Scenario, Size, with_lengths

_CSSP_DIALS = (
    Dial("seed", 0, "names the problem", 0),
    Dial("states", 60, "the states of an activity", 2, 1_000_000),
    Dial("actions", 3, "the actions in a state", 1, 50),
    Dial("branching", 3, "the states that an action may lead to", 1, 50),
    Dial("constraints", 1, "how many other costs are bounded", 1, 8),
    Dial("tightness", 0.5, "from 0, bounds that the cheapest policy keeps, to 1", 0, 1),
)
DIALS = (
    *_CSSP_DIALS,
    Dial("events", 4, "the events at which something is chosen", 1, 10_000),
    Dial("setback", 0.1, "the probability that a choice leads back by an event", 0, 0.5),
)


def random_cssp(
    *,
    seed: int = 0,
    states: int = 60,
    actions: int = 3,
    branching: int = 3,
    constraints: int = 1,
    tightness: float = 0.5,
) -> CSSP:
    """A random problem.

    Parameters
    ----------
    seed
        Names it for good.
    states, actions, branching
        How many states there are besides the goal, actions in each of them, and states that an action may
        lead to.
    constraints
        How many costs are bounded besides the one that is minimised.
    tightness
        How much the bounds bind, from 0 to 1.

    Raises
    ------
    InvalidProblem
        If a dial is set to what it cannot be.
    """
    turned(_CSSP_DIALS, locals())
    drawn = _activity(np.random.default_rng(seed), states, actions, branching, constraints)
    bounds = _bounds(drawn, tightness)
    return drawn.with_bounds(dict(zip(drawn.cost_names[1:], bounds.tolist(), strict=True)))


def random_procedure(
    *,
    seed: int = 0,
    states: int = 60,
    actions: int = 3,
    branching: int = 3,
    constraints: int = 1,
    tightness: float = 0.5,
    events: int = 4,
    setback: float = 0.1,
) -> HCSSP:
    """A random procedure.

    Parameters
    ----------
    seed, states, actions, branching, constraints, tightness
        As in :func:`random_cssp`, for every activity; the constraints are those of the whole.
    events
        At how many events something is chosen.
    setback
        The probability that what is chosen leads back by an event.

    Raises
    ------
    InvalidProblem
        If a dial is set to what it cannot be.
    """
    turned(DIALS, locals())
    rng = np.random.default_rng(seed)
    plan = ProcedureBuilder("random", SCENARIO.description)
    here = [plan.add_event(f"event-{number}") for number in range(1, events + 1)]
    here.append(plan.add_event("end"))
    run = []
    for number in range(events):
        for choice in ("left", "right"):
            ahead = min(number + (1 if choice == "left" else int(rng.integers(1, 3))), events)
            drawn = _activity(rng, states, actions, branching, constraints)
            run.append(plan.add_activity(f"{choice}-{number + 1}", drawn))
            outcomes = [Outcome(1.0, here[ahead], runs=run[-1])]
            if number > 0:
                outcomes = [
                    Outcome(1.0 - setback, here[ahead], runs=run[-1]),
                    Outcome(setback, here[number - 1]),
                ]
            plan.add_choice(here[number], choice, to=outcomes)
    for cost in range(1, constraints + 1):
        plan.add_constraint(f"use-{cost}", at_most=np.inf, counts=dict.fromkeys(run, f"use-{cost}"))
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
    from hcssp.contract.ending import Reason
    from hcssp.solving.solve import solve

    weighted = problem.derive(
        costs=(weights @ problem.costs)[np.newaxis], cost_names=("weighted",), bounds=np.empty(0)
    )
    plan = solve(weighted)
    if plan.ending.reason is Reason.INTERRUPTED:
        # A search answers Ctrl-C and the alarm of a time limit with a plan; whoever waits for a problem is to
        # hear them.
        raise KeyboardInterrupt
    found = evaluate(problem, DeterministicPolicy(problem, plan.policy.rows))
    return np.array([found.cost(name) for name in problem.cost_names])


SCENARIO = Scenario(
    "random",
    "a procedure drawn by lot: as large, branching, bounded and tight as you like",
    with_lengths(random_procedure, DIALS),
    DIALS,
    Size(485, 8, 1),
    {"events": 2, "states": 20},
    {"events": 20, "states": 300},
)
"""For the list of problems."""
