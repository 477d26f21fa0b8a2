"""What a plan costs at most, proven: potentials of its negated costs where only its own rows are allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from typing import NamedTuple

import numpy as np

from hcssp.checker.checking import Evidence
from hcssp.checker.format import Potential, Statement
from hcssp.checker.layout import Layout
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.reachability import fewest_steps
from hcssp.errors import ImproperPolicy
from hcssp.evaluation.exact import Remaining
from hcssp.procedure.chain import policy_chain
from hcssp.procedure.policy import ProcedurePolicy
from hcssp.proofs.events import event_values, parts_of
from hcssp.proofs.feasibility import FINE_SCALING, feasible_values, shortfall

NOTHING = 2.0**-48
"""The rounding of a difference, relative to what was subtracted."""

MAX_REFINEMENTS = 2


def _no_numbers() -> IntArray:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ProvenPlan:
    """A plan that is proven to keep its bounds, and its part of a certificate.

    Attributes
    ----------
    rows
        A flat row for every flat state, -1 for none.
    ranks
        The fewest steps to the end from every flat state that it may come to, 0 for the others.
    upper_bound
        What it costs at most.
    statements
        One for each cost; their potentials are numbers of `potentials`.
    by_chance
        Whether chance decides somewhere where it goes.
    """

    rows: IntArray = field(default_factory=_no_numbers)
    ranks: IntArray = field(default_factory=_no_numbers)
    upper_bound: float = inf
    statements: tuple[Statement, ...] = ()
    potentials: tuple[Potential, ...] = ()
    by_chance: bool = False


def proven_plan(layout: Layout, rows: IntArray, allowed: Sequence[float | Fraction]) -> ProvenPlan | None:
    """The plan that takes the flat `rows`, with its proof; None if it does not end or may break a bound.

    Parameters
    ----------
    layout
        The problem.
    rows
        A flat row for every flat state, -1 for none.
    allowed
        The largest costs that count as keeping the bounds; ``inf`` where there is none.
    """
    chain, policy = policy_chain(ProcedurePolicy(layout.procedure, rows))
    try:
        remaining = Remaining(chain, policy)
    except ImproperPolicy:
        return None
    # Where the plan never goes, nothing is known about it, and nothing need be.
    rows = np.where(np.isfinite(remaining.costs[0]), rows, NO_ROW)
    potentials: list[Potential] = []
    evidence = Evidence(layout, potentials, rows)
    statements: list[Statement] = []
    for cost in range(len(remaining.costs)):
        uses = _uses(evidence, potentials, cost, remaining)
        if uses is None:
            return None
        weights = tuple(-float(index == cost) for index in range(len(remaining.costs)))
        draft = Statement(weights, (), uses)
        parts = parts_of(evidence, draft)
        found = event_values(evidence, evidence.beside_plan, parts, weights)
        if found is None:
            return None
        statements.append(Statement(draft.weights, found, uses))
    costs = [-each.events[layout.flattening.start] for each in statements]
    if any(Fraction(cost) > most for cost, most in zip(costs[1:], allowed, strict=True)):
        return None
    possible = np.append(0, np.cumsum(chain.transitions.data > 0.0))[chain.transitions.indptr]
    by_chance = bool((np.diff(possible)[np.isfinite(remaining.costs[0])[chain.row_state]] > 1).any())
    ranks, proof = _ranks(chain), (tuple(statements), tuple(potentials))
    return ProvenPlan(rows, ranks, costs[0], *proof, by_chance)


def _ranks(chain: CSSP) -> IntArray:
    """From every state the fewest steps to the end that the only policy may take; 0 where it never ends."""
    steps = chain.transitions.tocoo()
    possible = steps.data > 0.0
    heads, tails = steps.coords[1][possible], chain.row_state[steps.coords[0][possible]]
    fewest = fewest_steps(tails, heads, chain.goals)
    return np.where(np.isfinite(fewest), fewest, 0.0).astype(np.int64)


class _Draft(NamedTuple):
    """Values of an activity that are to hold on the plan's rows, and the states it is begun in."""

    activity: int
    weights: FloatArray
    values: FloatArray
    allowed: BoolArray
    starts: list[int]


def _uses(
    evidence: Evidence, potentials: list[Potential], cost: int, remaining: Remaining
) -> tuple[tuple[int, int, float], ...] | None:
    """Potentials for one cost of the plan, of every activity it runs; they are appended to `potentials`."""
    uses = []
    drafts = _drafts(evidence, cost, remaining.costs[cost])
    for draft, refined in zip(drafts, _refined(evidence, drafts, remaining), strict=True):
        block, values = evidence.layout.blocks[draft.activity], refined.values
        flat = evidence.layout.flattening.flat_state(draft.activity)[draft.starts]
        lost = np.abs(values - draft.values)[draft.starts]
        if np.any(lost > FINE_SCALING * remaining.costs[cost][flat]):
            # So much is to come elsewhere that rounding it counts here: by itself, it is known better.
            values = draft.values
        mended = feasible_values(block, draft.weights, values, draft.allowed)
        if mended is None:
            return None
        uses.append((draft.activity, len(potentials), 1.0))
        weights = tuple(draft.weights.tolist())
        potentials.append(Potential(draft.activity, weights, (), mended, of_plan=True))
    return tuple(uses)


def _drafts(evidence: Evidence, cost: int, remaining: FloatArray) -> list[_Draft]:
    """What is to come of one cost, negated, in every activity that the plan runs."""
    layout, drafts = evidence.layout, []
    weights = [Fraction(-(index == cost)) for index in range(1 + layout.procedure.num_constraints)]
    chosen = [each for row, each in enumerate(layout.event_rows) if not evidence.beside_plan[row]]
    starts: dict[int | None, list[int]] = {}
    for _, run, start in (way for each in chosen for way in each[2]):
        starts.setdefault(run, []).append(start)
    for activity in range(len(layout.blocks)):
        own = np.array([float(weight) for weight in layout.own_weights(activity, weights)])
        exits = layout.exits[activity]
        if activity not in starts or (len(exits) == 1 and not own.any()):
            continue
        allowed = ~evidence.beside_plan[layout.flattening.rows_of(activity)]
        values = -_own(layout, activity, remaining)
        drafts.append(_Draft(activity, own, values, allowed, starts[activity]))
    return drafts


def _refined(evidence: Evidence, drafts: list[_Draft], remaining: Remaining) -> list[_Draft]:
    """The drafts, lowered by what their rows lack as often as the plan takes them.

    That is what :func:`feasible_values` would do one by one, but all of them are solved for at once, by
    equations that are solved already.
    """
    layout = evidence.layout
    for attempt in range(MAX_REFINEMENTS):
        lacking, broken = np.zeros(layout.flattening.num_states), set()
        for draft in drafts:
            block, rows = layout.blocks[draft.activity], np.flatnonzero(draft.allowed)
            margin = 2.0**attempt
            missing = shortfall(block, draft.weights, draft.values, draft.allowed, margin)
            if missing is not None and np.isfinite(missing).all():
                broken.add(draft.activity)
                states = layout.flattening.flat_state(draft.activity)[block.row_state[rows]]
                lacking[states] = missing[rows] / block.totals[rows]
        if not broken:
            break
        lowered = remaining.of(lacking)
        drafts = [
            each._replace(values=each.values - _own(layout, each.activity, lowered))
            if each.activity in broken
            else each
            for each in drafts
        ]
    return drafts


def _own(layout: Layout, activity: int, everywhere: FloatArray) -> FloatArray:
    """What flat states have in an activity; 0 where there is nothing."""
    flat = layout.flattening.flat_state(activity)
    own = np.nan_to_num(np.where(flat >= 0, everywhere[flat], 0.0))
    exits = layout.exits[activity]
    if len(exits) == 1:
        # Relative to what follows, where digits are scarce; what is left of nothing is nothing.
        follows = own[exits[0][0]]
        own -= follows
        own[np.abs(own) <= NOTHING * abs(follows)] = 0.0
    return own
