"""What a plan costs at most, proven: potentials of its negated costs where only its own rows are allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np

from hcssp.checker.check import Evidence
from hcssp.checker.format import Potential, Statement
from hcssp.checker.layout import Layout
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.reachability import fewest_steps
from hcssp.errors import ImproperPolicy
from hcssp.evaluation.exact import expected_remaining
from hcssp.procedure.chain import policy_chain
from hcssp.procedure.policy import ProcedurePolicy
from hcssp.proofs.events import Ends, event_values, parts_of
from hcssp.proofs.feasibility import feasible_values

NOTHING = 2.0**-48
"""The rounding of a difference, relative to what was subtracted."""


@dataclass(frozen=True)
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
    """

    rows: tuple[int, ...] = ()
    ranks: tuple[int, ...] = ()
    upper_bound: float = inf
    statements: tuple[Statement, ...] = ()
    potentials: tuple[Potential, ...] = ()


def proven_plan(
    layout: Layout, rows: IntArray, allowed: Sequence[Fraction | None], ends: Ends
) -> ProvenPlan | None:
    """The plan that takes the flat `rows`, with its proof; None if it does not end or may break a bound.

    Parameters
    ----------
    layout
        The problem.
    rows
        A flat row for every flat state, -1 for none.
    allowed
        The largest costs that count as keeping the bounds.
    ends
        As for :func:`~hcssp.proofs.events.event_values`.
    """
    chain, policy = policy_chain(ProcedurePolicy(layout.procedure, rows))
    try:
        remaining = expected_remaining(chain, policy)
    except ImproperPolicy:
        return None
    # Where the plan never goes, nothing is known about it, and nothing need be.
    rows = np.where(np.isfinite(remaining[0]), rows, NO_ROW)
    potentials: list[Potential] = []
    evidence = Evidence(layout, potentials, rows.tolist())
    statements: list[Statement] = []
    for cost in range(len(remaining)):
        uses = _uses(evidence, potentials, cost, remaining[cost])
        if uses is None:
            return None
        weights = [Fraction(-(index == cost)) for index in range(len(remaining))]
        draft = Statement(tuple(map(float, weights)), (), uses)
        parts = parts_of(layout, draft)
        found = event_values(evidence, evidence.beside_plan, parts, weights, ends)
        if found is None:
            return None
        statements.append(Statement(draft.weights, found, uses))
    costs = [-each.events[layout.flattening.start] for each in statements]
    if any(most is not None and Fraction(cost) > most for cost, most in zip(costs[1:], allowed, strict=True)):
        return None
    return ProvenPlan(tuple(rows.tolist()), _ranks(chain), costs[0], tuple(statements), tuple(potentials))


def _ranks(chain: CSSP) -> tuple[int, ...]:
    """From every state the fewest steps to the end that the only policy may take; 0 where it never ends."""
    steps = chain.transitions.tocoo()
    possible = steps.data > 0.0
    heads, tails = steps.coords[1][possible], chain.row_state[steps.coords[0][possible]]
    fewest = fewest_steps(tails, heads, chain.goals)
    return tuple(np.where(np.isfinite(fewest), fewest, 0.0).astype(np.int64).tolist())


def _uses(
    evidence: Evidence, potentials: list[Potential], cost: int, remaining: FloatArray
) -> tuple[tuple[int, int, float], ...] | None:
    """Potentials for one cost of the plan, of every activity it runs; they are appended to `potentials`."""
    layout, uses = evidence.layout, []
    weights = [Fraction(-(index == cost)) for index in range(1 + layout.procedure.num_constraints)]
    chosen = [each for row, each in enumerate(layout.event_rows) if not evidence.beside_plan[row]]
    running = {way.activity for each in chosen for way in each[2]}
    for activity, block in enumerate(layout.blocks):
        flat = layout.flattening.flat_state(activity)
        values = np.where(flat >= 0, -remaining[flat], np.nan)
        exits = layout.exits[activity]
        own = np.array([float(weight) for weight in layout.own_weights(activity, weights)])
        if activity not in running or (len(exits) == 1 and not own.any()):
            continue
        if len(exits) == 1:
            # Relative to what follows, where digits are scarce; what is left of nothing is nothing.
            follows = values[exits[0][0]]
            values -= follows
            values[np.abs(values) <= NOTHING * abs(follows)] = 0.0
        allowed = ~evidence.beside_plan[layout.flattening.rows_of(activity)]
        mended = feasible_values(block, own, values, allowed)
        if mended is None:
            return None
        uses.append((activity, len(potentials), 1.0))
        potentials.append(Potential(activity, tuple(own.tolist()), (), mended, of_plan=True))
    return tuple(uses)
