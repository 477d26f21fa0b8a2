"""Seeded random small procedures for tests: small enough to enumerate all their policies."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import prod

import numpy as np
from scipy.sparse import csr_array

from brute_force_procedures import brute_force
from hcssp.cssp.model import CSSP, FloatArray
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from unbounded import MOST_KEPT

MOST_POLICIES = 5000
COSTS = ("time", "damage", "fuel")
PLACES = ("left", "middle", "right")


@lru_cache(MOST_KEPT)
def random_procedure(
    seed: int,
    *,
    cycles: bool = False,
    several_exits: bool = False,
    exits_part: bool = False,
    num_constraints: int | None = None,
) -> HCSSP:
    """A procedure of 2-4 activities of 2-4 states with choices, chance and 1-3 constraints.

    Parameters
    ----------
    seed
        The same seed gives the same procedure, and tests share it: it cannot be changed.
    cycles
        Whether outcomes may lead back, so that activities are executed more than once.
    several_exits
        Whether activities may have several goals; their labels are states of all other activities.
    exits_part
        Whether the exits of an activity may lead to different events.
    num_constraints
        How many constraints; drawn if not given. The third counts a cost that the first counts too.
    """
    rng = np.random.default_rng([seed, cycles, several_exits, *([2] if exits_part else [])])
    count = int(rng.integers(1, 4)) if num_constraints is None else num_constraints
    while True:
        problem = _unbounded_procedure(rng, cycles, several_exits, exits_part, count)
        # Most policies differ only where they never go, so there are far fewer than combinations of rows.
        if combinations(problem) <= 8 * MOST_POLICIES:
            policies = brute_force(problem)
            if 0 < len(policies.rows) <= MOST_POLICIES:
                return problem.with_bounds(random_bounds(rng, problem, policies.costs))


def random_activity(rng: np.random.Generator, *, several_exits: bool = False) -> CSSP:
    """A C-SSP of 2-4 states with one secondary cost that is dear where time is cheap, and one that is not."""
    if several_exits:
        labels = [*PLACES, "own"][: int(rng.integers(3, 5))]
        rng.shuffle(labels)
        num_goals = int(rng.integers(1, 3))
        if num_goals > 1:
            # What only this activity has may not be handed over to others.
            labels.sort(key=lambda label: label != "own")
    else:
        labels = [f"room-{index}" for index in range(int(rng.integers(2, 5)))]
        num_goals = 1
    inner = len(labels) - num_goals
    transitions, row_start = [], [0]
    for state in range(inner):
        num_rows = int(rng.choice([1, 2, 2, 3, 3]))
        for action in range(num_rows):
            # The first action leads onwards, so that the goals can be reached; others may not.
            onwards = action == 0 or rng.random() < 0.9
            transitions.append(_random_row(rng, state, inner, len(labels), onwards))
        row_start.append(len(transitions))
    row_start += [len(transitions)] * num_goals
    haste = rng.random(len(transitions))
    damage = np.where(rng.random(len(transitions)) < 0.7, 10.0 * haste * rng.random(len(transitions)), 0.0)
    initial = np.zeros(len(labels))
    initial[0] = 1.0
    if inner > 1 and rng.random() < 0.3:
        initial[:2] = 0.25, 0.75
    return CSSP(
        transitions=csr_array(np.array(transitions)),
        row_start=np.array(row_start),
        costs=np.array([1.0 + 5.0 * (1.0 - haste), damage, 3.0 * rng.random(len(transitions))]),
        initial=initial,
        goals=np.arange(len(labels)) >= inner,
        cost_names=COSTS,
        bounds=np.full(2, np.inf),
        state_labels=tuple(labels),
        action_labels=tuple(f"action-{row}" for row in range(len(transitions))),
    )


def _random_row(rng: np.random.Generator, state: int, inner: int, size: int, onwards: bool) -> FloatArray:
    row = np.zeros(size)
    first = int(rng.integers(state + 1, size)) if onwards else int(rng.integers(0, inner))
    probability = 1.0 if rng.random() < 0.3 else float(rng.choice([0.25, 0.5, 0.8]))
    row[first] += probability
    row[int(rng.integers(0, size))] += 1.0 - probability
    return row


def _unbounded_procedure(
    rng: np.random.Generator, cycles: bool, several_exits: bool, exits_part: bool, num_constraints: int
) -> HCSSP:
    plan = ProcedureBuilder()
    events = [plan.add_event(f"event-{index}") for index in range(int(rng.integers(3, 5)))]
    left = int(rng.choice([2, 3, 3, 4, 4]))
    activities = []

    def outcome(probability: float, event: int, *, runs: bool) -> Outcome:
        if not runs or len(activities) == left:
            return Outcome(probability, event)
        cssp = random_activity(rng, several_exits=several_exits)
        activities.append(plan.add_activity(f"activity-{len(activities)}", cssp))
        exits = {}
        if exits_part and cssp.goals.sum() > 1 and rng.random() < 0.7:
            label = cssp.state_labels[int(rng.choice(np.flatnonzero(cssp.goals)))]
            exits[label] = events[int(rng.integers(0 if cycles else event, len(events)))]
        return Outcome(probability, event, runs=activities[-1], exits=exits)

    for position, event in enumerate(events[:-1]):
        # The first choice always leads on to the next event, so that every event is on a path.
        onwards = [outcome(1.0, events[position + 1], runs=True)]
        if rng.random() < 0.4:
            probability = float(rng.choice([0.2, 0.5, 0.9]))
            backwards = cycles and rng.random() < 0.7
            other = events[
                int(rng.integers(0, position + 1) if backwards else rng.integers(position + 1, len(events)))
            ]
            onwards = [
                replace(onwards[0], probability=probability),
                outcome(1.0 - probability, other, runs=rng.random() < 0.5),
            ]
        plan.add_choice(event, "onwards", to=onwards)
        if rng.random() < 0.8 and len(activities) < left:
            target = events[int(rng.integers(position + 1, len(events)))]
            plan.add_choice(event, "shortcut", to=[outcome(1.0, target, runs=True)])
        if cycles and position and rng.random() < 0.5:
            again = float(rng.choice([0.3, 0.6, 1.0]))
            back = outcome(again, events[int(rng.integers(0, position + 1))], runs=rng.random() < 0.5)
            on = [outcome(1.0 - again, events[position + 1], runs=True)] if again < 1 else []
            plan.add_choice(event, "retry", to=[back, *on])
    some = [activity for activity in activities if rng.random() < 0.6] or activities[:1]
    counted = [
        ("damage", dict.fromkeys(activities, "damage")),
        ("fuel", dict.fromkeys(activities, "fuel")),
        ("damage-of-some", dict.fromkeys(some, "damage")),
    ]
    for name, counts in counted[:num_constraints]:
        plan.add_constraint(name, at_most=np.inf, counts=counts)
    return plan.build(start=events[0], end=events[-1])


def combinations(problem: HCSSP) -> int:
    """How many ways there are to choose a row in every state."""
    return prod(int(rows) for rows in np.diff(problem.flattening.row_start) if rows)


def random_bounds(rng: np.random.Generator, problem: HCSSP, costs: FloatArray) -> dict[str, float]:
    """Bounds that bind often and are sometimes too little.

    Mostly those of a policy that spares something which the cheapest policy does not spare.
    """
    cheapest = costs[np.argmin(costs[:, 0])]
    sparing = np.flatnonzero((costs[:, 1:] < cheapest[1:] - 1e-6).any(axis=1))
    if len(sparing) and rng.random() < 0.8:
        wanted = costs[rng.choice(sparing)]
        bounds = wanted + rng.uniform(0.0, 0.5) * np.maximum(cheapest - wanted, 0.0)
    else:
        least = costs.min(axis=0)
        bounds = least + rng.uniform(-0.05, 1.0, size=len(least)) * (cheapest - least)
    bounds[rng.random(len(bounds)) < 0.05] = np.inf
    return {
        constraint.name: float(bound)
        for constraint, bound in zip(problem.constraints, bounds[1:], strict=True)
    }
