"""Proofs that were right until somebody touched them: all must be refused, with a message that says where."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from math import inf, isfinite, nextafter
from typing import Any

import numpy as np
import pytest

from hcssp.checker import Certificate, check
from hcssp.checker.format import Potential, Statement
from hcssp.errors import InvalidCertificate, NotProven
from proof_search import Proof, searched
from random_problems import random_cssp
from random_procedures import random_procedure
from volume import some

SEEDS = range(8)
PLACE = re.compile(
    r"^(leaf \d+|potential \d+: .*flat row \d+|the plan|it is for|its numbers or sizes do not fit)"
)


@cache
def proofs() -> tuple[Proof, ...]:
    """Complete proofs about random problems of all kinds, some of them infeasible."""
    problems: list[Any] = [random_cssp(seed, max_states=5) for seed in SEEDS]
    problems += [random_procedure(seed) for seed in SEEDS]
    problems += [random_procedure(seed, cycles=True) for seed in SEEDS[:4]]
    problems += [random_procedure(seed, cycles=True, several_exits=True) for seed in SEEDS[:4]]
    return tuple(searched(problem) for problem in problems)


def test_they_were_right_before() -> None:
    assert sum(not isfinite(proof.optimum) for proof in proofs()) >= 1
    assert sum(isfinite(proof.optimum) for proof in proofs()) >= 15
    for proof in proofs():
        verdict = check(proof.problem, proof.certificate)
        assert verdict.lower_bound <= proof.optimum * (1.0 + 1e-12) <= verdict.upper_bound * (1.0 + 2e-12)


Tampering = Callable[[Proof], Iterator[Certificate]]


def with_statement(certificate: Certificate, number: int, **changes: Any) -> Certificate:
    statements = list(certificate.statements)
    statements[number] = replace(statements[number], **changes)
    return replace(certificate, statements=tuple(statements))


def with_potential(certificate: Certificate, number: int, **changes: Any) -> Certificate:
    potentials = list(certificate.potentials)
    potentials[number] = replace(potentials[number], **changes)
    return replace(certificate, potentials=tuple(potentials))


def bounding(certificate: Certificate) -> Iterator[tuple[int, int, Statement]]:
    """Leaves that bound the cost: their numbers, their statements' and the statements."""
    for leaf, (number, _) in enumerate(certificate.leaves):
        if number is not None and certificate.statements[number].weights[0] == 1.0:
            yield leaf, number, certificate.statements[number]


def refuting(certificate: Certificate) -> Iterator[tuple[int, int, Statement]]:
    for leaf, (number, _) in enumerate(certificate.leaves):
        if number is not None and certificate.statements[number].weights[0] == 0.0:
            yield leaf, number, certificate.statements[number]


def leaf_claims(proof: Proof, bound: Callable[[float], float]) -> Iterator[Certificate]:
    for leaf, _, _ in list(bounding(proof.certificate))[:2]:
        leaves = list(proof.certificate.leaves)
        leaves[leaf] = (leaves[leaf][0], bound(leaves[leaf][1]))
        yield replace(proof.certificate, leaves=tuple(leaves))


def a_bound_one_ulp_too_high(proof: Proof) -> Iterator[Certificate]:
    if proof.builder.layout.unit == 0:
        yield from leaf_claims(proof, lambda bound: nextafter(bound, inf))


def a_bound_too_high(proof: Proof) -> Iterator[Certificate]:
    yield from leaf_claims(
        proof, lambda bound: bound + 1e-3 * (1.0 + abs(bound)) + float(proof.builder.layout.unit)
    )


def a_leaf_without_plans(proof: Proof) -> Iterator[Certificate]:
    yield from leaf_claims(proof, lambda _: inf)


def a_leaf_called_empty(proof: Proof) -> Iterator[Certificate]:
    for leaf, _, _ in list(bounding(proof.certificate))[:1]:
        leaves = list(proof.certificate.leaves)
        leaves[leaf] = (None, inf)
        yield replace(proof.certificate, leaves=tuple(leaves))


def a_leaf_cut_off(proof: Proof) -> Iterator[Certificate]:
    certificate = proof.certificate
    if len(certificate.tree) > 1:
        yield replace(certificate, leaves=certificate.leaves[:-1])
        yield replace(certificate, tree=certificate.tree[:-1])
        yield replace(certificate, tree=certificate.tree[1:])


def an_event_too_high(proof: Proof) -> Iterator[Certificate]:
    start = proof.builder.layout.flattening.start
    for _, number, statement in [
        *list(bounding(proof.certificate))[:1],
        *list(refuting(proof.certificate))[:1],
    ]:
        events = list(statement.events)
        events[start] += 1e-6 * (1.0 + abs(events[start]))
        yield with_statement(proof.certificate, number, events=tuple(events))


def an_end_too_high(proof: Proof) -> Iterator[Certificate]:
    end = proof.builder.layout.flattening.end
    for number, statement in enumerate(proof.certificate.statements[:2]):
        raised = tuple(value + 1e-12 * (index == end) for index, value in enumerate(statement.events))
        if number in used_statements(proof.certificate):
            yield with_statement(proof.certificate, number, events=raised)


def used_statements(certificate: Certificate) -> set[int]:
    return {number for number, _ in certificate.leaves if number is not None} | set(
        certificate.plan_statements
    )


def a_negative_price(proof: Proof) -> Iterator[Certificate]:
    for _, number, statement in list(bounding(proof.certificate))[:1]:
        yield with_statement(
            proof.certificate, number, weights=(statement.weights[0], *[-1.0] * (len(statement.weights) - 1))
        )


def half_a_cost(proof: Proof) -> Iterator[Certificate]:
    for _, number, statement in list(bounding(proof.certificate))[:1]:
        yield with_statement(proof.certificate, number, weights=(0.5, *statement.weights[1:]))


def too_much_of_a_potential(proof: Proof) -> Iterator[Certificate]:
    certificate = proof.certificate
    factors = {number: 1.0 + 1e-12 for _, number, _ in list(bounding(certificate))[:2]}
    # Of a negative weight, less is too much.
    factors |= dict.fromkeys(certificate.plan_statements[:1], 1.0 - 1e-12)
    for number, factor in factors.items():
        uses = certificate.statements[number].uses
        if uses:
            more = tuple((activity, potential, share * factor) for activity, potential, share in uses)
            yield with_statement(certificate, number, uses=more)


def a_potential_too_high(proof: Proof) -> Iterator[Certificate]:
    """Everything but the exits higher by a little: the rows into an exit do not hold any more."""
    for number, potential in enumerate(proof.certificate.potentials[:3]):
        goals = proof.builder.layout.blocks[potential.activity].goals
        raised = potential.values + np.where(goals, 0.0, 1e-6 * (1.0 + np.abs(potential.values).max()))
        if matters(proof, potential):
            yield with_potential(proof.certificate, number, values=raised)


def matters(proof: Proof, potential: Potential) -> bool:
    """Whether a row that must hold leads to an exit, and from no state that is dead already."""
    block = proof.builder.layout.blocks[potential.activity]
    rows = block.almost_sure(asked_for(proof, potential))[1]
    return bool((rows[block.entry_row] & block.goals[block.successors]).any()) and tight(
        proof, potential, rows
    )


def tight(proof: Proof, potential: Potential, rows: np.ndarray) -> bool:
    from hcssp.checker.arithmetic import slack

    block = proof.builder.layout.blocks[potential.activity]
    computed, _ = slack(block, np.array(potential.weights), potential.values)
    leaving = np.bincount(
        block.entry_row, block.probabilities * block.goals[block.successors], block.num_rows
    )
    lift = 1e-6 * (1.0 + np.abs(potential.values).max())
    return bool((rows & (computed < 0.5 * leaving * lift)).any())


def asked_for(proof: Proof, potential: Potential) -> np.ndarray:
    """The rows on which a potential must hold."""
    layout, plan = proof.builder.layout, proof.certificate.plan
    asked = np.zeros_like(layout.dominated) if potential.of_plan else ~layout.dominated
    if potential.of_plan:
        asked[plan[plan >= 0]] = True
    own = asked[layout.flattening.rows_of(potential.activity)].copy()
    own[list(potential.forbidden)] = False
    return own


def a_potential_for_less(proof: Proof) -> Iterator[Certificate]:
    """The same values under smaller weights."""
    for number, potential in enumerate(proof.certificate.potentials[:2]):
        smaller = tuple(weight - 0.5 * abs(weight) for weight in potential.weights)
        changed = replace(potential, weights=smaller)
        if smaller != potential.weights and breaks(proof, changed):
            yield with_potential(proof.certificate, number, weights=smaller)


def a_potential_without_its_exceptions(proof: Proof) -> Iterator[Certificate]:
    for number, potential in enumerate(proof.certificate.potentials):
        changed = replace(potential, forbidden=(), of_plan=False)
        if (potential.forbidden or potential.of_plan) and breaks(proof, changed):
            yield with_potential(proof.certificate, number, forbidden=(), of_plan=False)
            break


def breaks(proof: Proof, changed: Potential) -> bool:
    """Whether a potential, changed, is violated by much more than rounding, by a test of the tests' own."""
    block = proof.builder.layout.blocks[changed.activity]
    rows = block.almost_sure(asked_for(proof, changed))[1]
    steps = block.probabilities * (changed.values[block.successors] - changed.values[block.entry_state])
    slack = np.bincount(block.entry_row, steps, block.num_rows) + np.array(changed.weights) @ block.costs
    return bool((slack[rows] < -1e-6).any())


def more_exceptions_than_the_leaf_allows(proof: Proof) -> Iterator[Certificate]:
    for _, _, statement in list(bounding(proof.certificate))[:1]:
        for activity, index, _ in statement.uses:
            potential = proof.certificate.potentials[index]
            rows = range(proof.builder.layout.blocks[activity].num_rows)
            if len(potential.forbidden) < len(rows):
                yield with_potential(proof.certificate, index, forbidden=tuple(rows))
                break


def a_plan_that_costs_less(proof: Proof) -> Iterator[Certificate]:
    if len(proof.certificate.plan):
        yield replace(proof.certificate, upper_bound=nextafter(proof.certificate.upper_bound, -inf))
        yield replace(proof.certificate, upper_bound=0.9 * proof.certificate.upper_bound - 0.1)


def a_plan_that_stops(proof: Proof) -> Iterator[Certificate]:
    plan = proof.certificate.plan
    for state in np.flatnonzero(plan >= 0)[:2]:
        changed = plan.copy()
        changed[state] = -1
        yield replace(proof.certificate, plan=changed)


def a_plan_that_may_go_round(proof: Proof) -> Iterator[Certificate]:
    """A state where the plan goes is said to be as near to the end as what follows."""
    certificate = proof.certificate
    if len(certificate.plan):
        for rank in (0, max(certificate.ranks)):
            yield replace(certificate, ranks=np.full_like(certificate.ranks, rank))


def a_plan_that_is_dearer(proof: Proof) -> Iterator[Certificate]:
    """Another policy, of which brute force says that it costs more or breaks a bound, in the plan's place."""
    if not len(proof.certificate.plan):
        return
    from proof_search import ProofSearch

    policies = ProofSearch(proof.problem).policies
    bounds = np.append(proof.certificate.upper_bound, proof.certificate.bounds)
    worse = np.flatnonzero((policies.costs > bounds + 1e-6 * (1.0 + np.abs(bounds))).any(axis=1))
    for policy in worse[:3]:
        yield replace(proof.certificate, plan=tuple(policies.rows[policy].tolist()))


def a_plan_said_to_keep_its_bounds(proof: Proof) -> Iterator[Certificate]:
    start = proof.builder.layout.flattening.start
    for number in proof.certificate.plan_statements:
        events = list(proof.certificate.statements[number].events)
        if events[start] < -1e-3:
            events[start] *= 0.5
            yield with_statement(proof.certificate, number, events=tuple(events))


def a_statement_too_few(proof: Proof) -> Iterator[Certificate]:
    if len(proof.certificate.plan):
        yield replace(proof.certificate, plan_statements=proof.certificate.plan_statements[:-1])


def other_bounds(proof: Proof) -> Iterator[Certificate]:
    yield replace(proof.certificate, bounds=(*proof.certificate.bounds[:-1], 0.125))


def no_numbers(proof: Proof) -> Iterator[Certificate]:
    for wrong in (np.nan, np.inf, -np.inf):
        if proof.certificate.potentials:
            values = np.full_like(proof.certificate.potentials[0].values, wrong)
            yield with_potential(proof.certificate, 0, values=values)


TAMPERINGS: dict[Tampering, int] = {
    a_bound_one_ulp_too_high: 15,
    a_bound_too_high: 20,
    a_leaf_without_plans: 20,
    a_leaf_called_empty: 15,
    a_leaf_cut_off: 20,
    an_event_too_high: 15,
    an_end_too_high: 20,
    a_negative_price: 15,
    half_a_cost: 15,
    too_much_of_a_potential: 30,
    a_potential_too_high: 20,
    a_potential_for_less: 10,
    a_potential_without_its_exceptions: 5,
    more_exceptions_than_the_leaf_allows: 15,
    a_plan_that_costs_less: 30,
    a_plan_that_stops: 20,
    a_plan_that_may_go_round: 30,
    a_plan_that_is_dearer: 20,
    a_plan_said_to_keep_its_bounds: 20,
    a_statement_too_few: 15,
    other_bounds: 20,
    no_numbers: 40,
}


@pytest.mark.parametrize("tampering", TAMPERINGS, ids=lambda tampering: tampering.__name__)
def test_tampered_proofs_are_refused(tampering: Tampering) -> None:
    count = 0
    for proof in proofs():
        for spoilt in tampering(proof):
            with pytest.raises((NotProven, InvalidCertificate)) as refusal:
                check(proof.problem, spoilt)
            assert PLACE.search(str(refusal.value)), str(refusal.value)
            count += 1
    assert count >= TAMPERINGS[tampering]


def test_they_are_many() -> None:
    assert sum(TAMPERINGS.values()) >= 400


@pytest.mark.parametrize("seed", some(range(6), 3))
def test_whatever_is_verified_is_true(seed: int) -> None:
    """Small random changes, most of them harmless: what passes must still be true."""
    rng = np.random.default_rng(seed)
    outcomes = {"verified": 0, "refused": 0}
    for _ in range(120):
        proof = proofs()[rng.integers(len(proofs()))]
        certificate = proof.certificate
        number = int(rng.integers(len(certificate.potentials)))
        values = certificate.potentials[number].values.copy()
        state = rng.integers(len(values))
        values[state] += rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-14, 1)
        changed = with_potential(certificate, number, values=values)
        number = int(rng.integers(len(certificate.statements)))
        events = np.array(certificate.statements[number].events)
        events[rng.integers(len(events))] += rng.choice([-1.0, 0.0, 0.0, 1.0]) * 10.0 ** rng.uniform(-14, 0)
        changed = with_statement(changed, number, events=tuple(events.tolist()))
        leaves = [(n, bound * (1.0 + rng.choice([0.0, 0.0, 1e-9, -1e-9]))) for n, bound in changed.leaves]
        try:
            verdict = check(proof.problem, replace(changed, leaves=tuple(leaves)))
        except (NotProven, InvalidCertificate):
            outcomes["refused"] += 1
            continue
        outcomes["verified"] += 1
        scale = 1e-12 * (1.0 + abs(proof.optimum)) if isfinite(proof.optimum) else 0.0
        assert verdict.lower_bound <= proof.optimum + scale
        assert verdict.upper_bound >= proof.optimum - scale
    assert min(outcomes.values()) > 0
