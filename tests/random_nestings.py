"""Seeded random procedures inside procedures, small enough to enumerate all their policies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from brute_force_procedures import brute_force
from hcssp.procedure import HCSSP, Nesting, Outcome, ProcedureBuilder
from hcssp.procedure.nesting import expand
from random_procedures import combinations, random_activity, random_bounds, random_procedure

MOST_POLICIES = 400
COSTS = ("damage", "fuel")


def random_nesting(
    seed: int, *, depth: int = 2, cycles: bool = False, several_exits: bool = False, num_constraints: int = 1
) -> HCSSP:
    """A procedure that uses another twice, or two others, perhaps with procedures inside.

    Parameters
    ----------
    seed
        The same seed gives the same procedure.
    depth
        The number of levels, 2 or more.
    cycles
        Whether outcomes may lead back, at every level.
    several_exits
        Whether activities may have several goals, and so procedures several exits.
    num_constraints
        1 or 2 constraints of the whole.
    """
    rng = np.random.default_rng([seed, depth, cycles, several_exits, num_constraints])
    while True:
        problem = _level(rng, depth, cycles, several_exits, num_constraints)
        if combinations(problem) <= 8 * MOST_POLICIES:
            policies = brute_force(problem)
            if 1 < len(policies.rows) <= MOST_POLICIES:
                return problem.with_bounds(random_bounds(rng, problem, policies.costs))


def random_tied(seed: int) -> HCSSP:
    """A procedure with exits that matter, or one inside another, or one with limits."""
    if seed % 4 == 0:
        return random_procedure(seed, several_exits=True, cycles=seed % 8 == 0)
    if seed % 4 == 1:
        return random_procedure(seed, several_exits=True, exits_part=True)
    if seed % 4 == 2:
        return random_nesting(seed, several_exits=True, cycles=seed % 8 == 2)
    return random_limits(seed, cycles=seed % 8 == 3)[1]


def _level(
    rng: np.random.Generator, depth: int, cycles: bool, several_exits: bool, num_constraints: int
) -> HCSSP:
    """A procedure of that many levels; the lowest runs C-SSPs only."""
    plan = ProcedureBuilder(f"level {depth}")
    first, middle, last = (plan.add_event(name) for name in ("first", "middle", "last"))
    inner = _level(rng, depth - 1, cycles, several_exits, num_constraints) if depth > 1 else None

    def part(name: str, *, nested: bool) -> int:
        problem = inner if nested and inner else random_activity(rng, several_exits=several_exits)
        return plan.add_activity(name, problem)

    parts = [part("a", nested=True)]
    plan.add_choice(first, "onwards", to=[Outcome(1.0, middle, runs=parts[0])])
    if rng.random() < 0.5:
        parts.append(part("shortcut", nested=rng.random() < 0.3))
        plan.add_choice(first, "shortcut", to=[Outcome(1.0, last, runs=parts[-1])])
    again = float(rng.choice([0.2, 0.5])) if cycles and rng.random() < 0.8 else 0.0
    runs = None
    if depth > 1 or rng.random() < 0.3:
        runs = part("b", nested=rng.random() < 0.6)
        parts.append(runs)
    back = [Outcome(again, first)]
    plan.add_choice(middle, "onwards", to=[Outcome(1.0 - again, last, runs=runs), *back])
    for cost in COSTS[:num_constraints]:
        plan.add_constraint(cost, at_most=np.inf, counts=dict.fromkeys(parts, cost))
    return plan.build(start=first, end=last)


def random_limits(
    seed: int, *, depth: int = 2, cycles: bool = False, several_exits: bool = False
) -> tuple[HCSSP, HCSSP]:
    """A nesting without limits, and the same whose procedures have some; either has the same flat states.

    Raises
    ------
    InvalidProblem
        If a limit is drawn for a use that cannot have one.
    """
    rng = np.random.default_rng([seed, depth, cycles, several_exits, 99])
    while True:
        free = _level(rng, depth, cycles, several_exits, 1)
        if combinations(free) <= 8 * MOST_POLICIES and 1 < len(brute_force(free).rows) <= MOST_POLICIES:
            break
    bounds = {name: 1.5 * bound for name, bound in random_bounds(rng, free, brute_force(free).costs).items()}
    shares = {
        id(use.procedure): float(rng.choice([0.0, 0.3, 0.7, 1.2], p=[0.1, 0.3, 0.3, 0.3]))
        for use in free.uses
    }
    return free.with_bounds(bounds), _limited(free, shares).with_bounds(bounds)


def _limited(problem: HCSSP, shares: Mapping[int, float]) -> HCSSP:
    """The same with a limit for every procedure inside, between the least and what its fastest plan costs."""
    if problem.nesting is None:
        return problem
    procedures = {}
    for index, procedure in problem.nesting.procedures.items():
        costs = brute_force(procedure).costs
        fastest = float(costs[np.argmin(costs[:, 0]), 1])
        least = float(costs[:, 1].min())
        limit = least + shares[id(procedure)] * (fastest - least)
        procedures[index] = _limited(procedure, shares).with_bounds(damage=max(0.0, limit))
    return expand(Nesting(problem.outline, procedures))
