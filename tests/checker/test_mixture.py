"""The rule about randomised plans: what is proven of them is the exact cost of the mixture, or less."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf

import numpy as np
import pytest

from checker.adversary import Case
from hcssp import HCSSP, CSSPBuilder, Outcome, ProcedureBuilder, solve
from hcssp.checker import Certificate, check
from hcssp.cssp.model import CSSP
from hcssp.errors import InvalidCertificate, NotProven
from random_nestings import random_limits
from random_problems import random_cssp
from random_procedures import random_procedure
from volume import some


def room(most: float = 3.0) -> CSSP:
    """A hall before a room with a slow and a fast way; the fast one may lead to a detour."""
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": most})
    hall, here, detour, out = plan.add_state("hall"), plan.add_state("here"), plan.add_state("x"), "out"
    goal = plan.add_goal(out)
    plan.add_action(hall, "enter", to=here, costs=(1.0, 0.0))
    plan.add_action(here, "safe", to=goal, costs=(3.0, 2.0))
    plan.add_action(here, "fast", to={goal: 0.5, detour: 0.5}, costs=(1.0, 4.0))
    plan.add_action(detour, "back", to=goal, costs=(1.0, 0.0))
    plan.set_initial(hall)
    return plan.build()


def choosing(most: float = 3.0) -> HCSSP:
    """Two activities, one of which is chosen at an event."""
    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    runs = []
    for name, costs in (("slow", (3.0, 2.0)), ("fast", (1.0, 4.0))):
        part = CSSPBuilder(cost_names=("time", "damage"))
        here = part.add_state("here")
        part.add_action(here, "go", to=part.add_goal("out"), costs=costs)
        part.set_initial(here)
        runs.append(plan.add_activity(name, part.build()))
        plan.add_choice(start, name, to=[Outcome(1.0, end, runs=runs[-1])])
    plan.add_constraint("damage", at_most=most, counts=dict.fromkeys(runs, "damage"))
    return plan.build(start=start, end=end)


@pytest.fixture(scope="module")
def proof() -> Certificate:
    found = solve(room(), policies="randomised").certificate
    assert len(found.extra) == 1
    return found


def test_the_costs_of_a_mixture_are_exact(proof: Certificate) -> None:
    for exact in (False, True):
        verdict = check(room(), proof, exact=exact)
        assert verdict.randomised
        # One half of both ways; the detour takes a half more.
        assert verdict.costs == (Fraction(13, 4), Fraction(3))


def test_choices_at_events_are_mixed_too() -> None:
    plan = solve(choosing(), policies="randomised")
    verdict = check(plan.problem, plan.certificate, exact=True)
    assert plan.certificate.extra[0][0] < plan.problem.flattening.num_event_rows
    assert verdict.costs == (Fraction(2), Fraction(3))


@pytest.mark.parametrize("exact", [False, True])
def test_a_mixture_is_judged_by_its_shares(proof: Certificate, exact: bool) -> None:
    ((row, share),) = proof.extra
    assert share == 0.5
    for other in (0.25, 0.75):
        with pytest.raises(NotProven, match=r"does not hold|may be"):
            check(room(), replace(proof, extra=((row, other),)), exact=exact)
    for wrong in (0.0, -0.5, 1.0, 2.0):
        with pytest.raises(NotProven, match=f"cannot take row {row} with a probability of {wrong}"):
            check(room(), replace(proof, extra=((row, wrong),)), exact=exact)
    for wrong in (inf, float("nan")):
        with pytest.raises(InvalidCertificate):
            check(room(), replace(proof, extra=((row, wrong),)), exact=exact)
    for rows in ((row, row), (row, row, row), (row, int(proof.plan[3])), (-1,), (0, 0)):
        with pytest.raises(NotProven, match="cannot take row"):
            check(room(), replace(proof, extra=tuple((each, 0.25) for each in rows)), exact=exact)
    with pytest.raises(InvalidCertificate):
        check(room(), replace(proof, extra=((10**6, 0.25),)), exact=exact)
    nothing = replace(proof, plan=proof.plan[:0], ranks=proof.ranks[:0], upper_bound=inf)
    with pytest.raises(InvalidCertificate):
        check(room(), nothing, exact=exact)


def test_a_mixture_goes_nowhere_without_a_row(proof: Certificate) -> None:
    plan = proof.plan.copy()
    (detour,) = np.flatnonzero(plan == 4)
    plan[detour] = -1
    with pytest.raises(NotProven, match="does not reach the end almost surely"):
        check(room(), replace(proof, plan=plan))


def test_states_before_a_mixture_are_no_dead_ends(proof: Certificate) -> None:
    """Without the mixed rows nothing leaves the hall; its value must hold nevertheless."""
    potentials, statements = list(proof.potentials), list(proof.statements)
    number = proof.plan_statements[0]
    for _, used, _ in statements[number].uses:
        values = potentials[used].values.copy()
        values[0] += 1.0
        potentials[used] = replace(potentials[used], values=values)
    start = room().procedure.flattening.start
    events = list(statements[number].events)
    events[start] += 1.0
    statements[number] = replace(statements[number], events=tuple(events))
    forged = replace(
        proof, potentials=tuple(potentials), statements=tuple(statements), upper_bound=proof.upper_bound - 1.0
    )
    with pytest.raises(NotProven, match="it does not hold in"):
        check(room(), forged)


def test_a_bound_on_deterministic_plans_says_nothing_about_a_mixture(proof: Certificate) -> None:
    fast = int(proof.extra[0][0])
    split = replace(proof, tree=(fast, -1, -1), leaves=proof.leaves * 2)
    with pytest.raises(NotProven, match="deterministic plans only"):
        check(room(), split)


@pytest.mark.parametrize("seed", some(range(300), 12))
def test_every_randomised_plan_is_proven(seed: int) -> None:
    kinds = [random_cssp, random_procedure, lambda seed: random_limits(seed)[1]]
    problem: CSSP | HCSSP = kinds[seed % 3](seed)
    plan = solve(problem, policies="randomised")
    if not plan.found:
        return
    proof = plan.certificate
    verdict = check(problem, proof, exact=True)
    assert verdict.upper_bound == pytest.approx(plan.upper_bound, rel=1e-9)
    case = Case(problem.procedure)
    mixed, rows = case.mixed(proof.plan.tolist(), proof.extra)
    true = mixed.costs_of(rows)
    assert true is not None
    assert all(cost <= proven for cost, proven in zip(true, verdict.costs, strict=True))
    assert case.keeps(true)
