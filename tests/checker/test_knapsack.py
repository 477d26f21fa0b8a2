"""Leaves that spread a budget over activities: what is accepted is true, what is not quite right is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from math import inf, nextafter
from typing import Any

import numpy as np
import pytest

from brute_force_procedures import brute_force
from hcssp.checker import Certificate, check
from hcssp.checker.arithmetic import knapsack_is_empty
from hcssp.checker.checking import Verifier
from hcssp.checker.format import Potential, Statement
from hcssp.checker.layout import Layout
from hcssp.contract.progress import Gap
from hcssp.cssp import CSSPBuilder
from hcssp.cssp.arrays import decimal
from hcssp.errors import InvalidCertificate, NotProven
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.proofs.events import certain_visits
from hcssp.solving.solve import solve
from rooms_in_turn import step, steps
from volume import some


def random_rooms(seed: int) -> HCSSP:
    rng = np.random.default_rng(seed)
    rooms = [
        step(
            [(float(time), float(damage)) for time, damage in zip(*rng.integers(0, 9, (2, 3)), strict=True)],
            slip=float(rng.choice([0.0, 0.25])),
            dead_end=bool(rng.random() < 0.3),
        )
        for _ in range(int(rng.integers(2, 6)))
    ]
    chances = rng.choice([1.0, 0.3], len(rooms)).tolist()
    return steps(
        rooms, float(rng.integers(1, 6) * len(rooms)) / 3.0 + 0.1, chances, float(rng.choice([0.0, 0.7]))
    )


def spread_proof(problem: HCSSP) -> Certificate | None:
    """The certificate of a search that has settled everything at once; None if it has not."""
    certificate = solve(problem, stop=Gap(0.0)).certificate
    spread = any(
        number is not None and certificate.statements[number].parts for number, _ in certificate.leaves
    )
    return certificate if spread else None


@pytest.mark.parametrize("first", some(range(0, 60, 20), 2))
def test_what_is_accepted_is_true_and_as_much_as_was_told(first: int) -> None:
    found = 0
    for seed in range(first, first + 20):
        problem = random_rooms(seed)
        certificate = spread_proof(problem)
        if certificate is None:
            continue
        every = brute_force(problem)
        kept = every.costs[:, 1] <= problem.bounds[0] * (1.0 + 1e-9)
        truth = float(every.costs[kept, 0].min(initial=inf))
        for exact in (False, True):
            verdict = check(problem, certificate, exact=exact)
            assert truth * (1.0 - 1e-8) <= verdict.lower_bound <= truth * (1.0 + 1e-12)
            assert not verdict.randomised
        found += 1
    assert found >= 2


@pytest.mark.parametrize("seed", some(range(40), 10))
def test_reaching_an_aim_agrees_with_all_ways(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(60):
        options = [rng.integers(0, 9, (int(rng.integers(1, 4)), 3)) for _ in range(int(rng.integers(1, 5)))]
        plain = bool(rng.random() < 0.5)
        for each in options:
            each[:, 2] = 0 if plain else 2 * each[:, 2]
        budget, aim = int(rng.integers(0, 20)), int(rng.integers(0, 30))
        cheap = []
        for way in product(*(range(len(each)) for each in options)):
            cost, use, _ = sum(each[row] for each, row in zip(options, way, strict=True))
            more = sum(
                max(int(each[row][2] - each[row][:2].sum()), 0)
                for each, row in zip(options, way, strict=True)
            )
            # What the sums ask for beyond cost and use is paid by what is left of the budget, then by cost.
            if use <= budget and cost + max(more - (budget - use), 0) < aim:
                cheap.append(way)
        if knapsack_is_empty(aim, budget, options):
            assert cheap == []
        elif plain:
            assert cheap != []


def test_a_sum_alone_may_be_too_dear() -> None:
    """Whoever takes the second row spends or uses 10 in all, but nobody knows of what."""
    dear = [np.array([[6, 0, 0], [0, 0, 10]])]
    assert knapsack_is_empty(5, 5, dear)
    assert knapsack_is_empty(6, 4, dear)
    assert not knapsack_is_empty(6, 5, dear)
    assert not knapsack_is_empty(7, 3, dear)
    # What two of them cost and use together is too dear beside a third one, though neither is alone.
    several = [np.array([[1, 2, 0], [0, 4, 0]]), np.array([[0, 5, 0], [5, 1, 0]]), np.array([[0, 0, 1]])]
    assert knapsack_is_empty(6, 5, several)
    assert not knapsack_is_empty(6, 6, several)
    # Cost and use make it up where nothing more is known.
    assert knapsack_is_empty(6, 4, [np.array([[6, 4, 0]])])
    assert knapsack_is_empty(6, 4, [np.array([[3, 1, 0], [5, 0, 0]]), np.array([[3, 3, 0], [1, 4, 0]])])


def test_too_many_ways_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    options = [np.array([[3, 0, 0], [0, 2, 0]])] * 4
    assert knapsack_is_empty(6, 5, options)
    assert not knapsack_is_empty(7, 5, options)
    monkeypatch.setattr("hcssp.checker.arithmetic.MAX_SUMS", 3)
    assert not knapsack_is_empty(6, 5, options)


def verifier_of(problem: HCSSP) -> Verifier:
    return Verifier(Layout(problem), (), np.zeros(0, dtype=np.int64))


@pytest.mark.parametrize("back", [0.0, 0.3, 0.99, 1.0 - 2.0**-20])
def test_visits_are_counted_from_below(back: float) -> None:
    problem = steps([step([(1.0, 1.0)])] * 3, 5.0, [1.0, 0.3, 1.0], back)
    verifier = verifier_of(problem)
    visits = certain_visits(verifier.layout, verifier.layout.never)
    true = [1 / (1 - decimal(back))] * 3 + [Fraction(1)]
    assert all(least <= most for least, most in zip(visits, true, strict=True))
    assert visits == pytest.approx([float(each) for each in true], rel=1e-7)
    begun = verifier.begun("here", visits, verifier.layout.never)
    assert [sum(float(times) for _, times in begun[run]) for run in range(3)] == pytest.approx(
        [visits[0], 0.3 * visits[1], (1.0 - back) * visits[2]]
    )
    for state in range(3):
        more = tuple(times * (1.0 + 1e-6 * (place == state)) for place, times in enumerate(visits))
        with pytest.raises(NotProven, match=f"here: event state {state} may be visited less than"):
            verifier.begun("here", more, verifier.layout.never)


def test_visits_of_a_way_that_is_not_the_only_one_are_not_counted() -> None:
    plan = ProcedureBuilder()
    start, left, right, out = (plan.add_event(name) for name in ("start", "left", "right", "out"))
    runs = [plan.add_activity(name, step([(1.0, 1.0), (2.0, 0.0)])) for name in ("left", "right")]
    for event, run in zip((left, right), runs, strict=True):
        plan.add_choice(start, f"to {run}", to=[Outcome(1.0, event)])
        plan.add_choice(event, "go", to=[Outcome(1.0, out, runs=run)])
    plan.add_constraint("damage", at_most=1.0, counts=dict.fromkeys(runs, "damage"))
    problem = plan.build(start=start, end=out)
    verifier = verifier_of(problem)
    assert certain_visits(verifier.layout, verifier.layout.never) == (1.0, 0.0, 0.0, 0.0)
    with pytest.raises(NotProven, match="event state 1 may be visited less"):
        verifier.begun("here", (1.0, 1.0, 0.0, 0.0), verifier.layout.never)
    # If one choice is forbidden, the other one is certain.
    forbidden = verifier.layout.never.copy()
    forbidden[1] = True
    assert certain_visits(verifier.layout, forbidden) == (1.0, 1.0, 0.0, 1.0)


def test_going_round_for_ever_is_not_counted() -> None:
    """The detour leads back to itself alone: its visits would follow from nothing but themselves."""
    plan = ProcedureBuilder()
    start, round_, out = (plan.add_event(name) for name in ("start", "round", "out"))
    runs = [plan.add_activity(name, step([(1.0, 1.0), (2.0, 0.0)])) for name in ("way", "detour")]
    plan.add_choice(start, "go", to=[Outcome(1.0, out, runs=runs[0])])
    plan.add_choice(start, "get lost", to=[Outcome(1.0, round_)])
    plan.add_choice(round_, "again", to=[Outcome(1.0, round_, runs=runs[1])])
    plan.add_choice(round_, "leave", to=[Outcome(1.0, out)])
    plan.add_constraint("damage", at_most=1.0, counts=dict.fromkeys(runs, "damage"))
    verifier = verifier_of(plan.build(start=start, end=out))
    forbidden = verifier.layout.never.copy()
    forbidden[[1, 3]] = True
    with pytest.raises(NotProven, match=r"event state 1 may be visited less than 5\.0 times"):
        verifier.begun("here", (1.0, 5.0, 1.0), forbidden)
    for wrong in (-1.0, np.nan):
        with pytest.raises((NotProven, ValueError)):
            verifier.begun("here", (wrong, 0.0, 0.0), forbidden)


# Three rooms: 1 and damage 1, or 2 and none; the second one is a little dearer and does a little more damage.
ROOMS = [[(1.0, 1.0), (2.0, 0.0)], [(1.1, 1.05), (2.0, 0.0)], [(1.0, 1.0), (2.0, 0.0), (1.5, 0.5)]]
PROBLEM = steps([step(ways) for ways in ROOMS], 1.75, [1.0] * 3, retry=0.5)


@cache
def proof() -> tuple[Certificate, int, Statement]:
    """A proof about them, the statement that spreads the budget, and its number."""
    certificate = spread_proof(PROBLEM)
    assert certificate is not None
    ((number, _),) = certificate.leaves
    assert number is not None
    return certificate, number, certificate.statements[number]


def changed(**changes: Any) -> Certificate:
    certificate, number, statement = proof()
    statements = list(certificate.statements)
    statements[number] = replace(statement, **changes)
    return replace(certificate, statements=tuple(statements))


def other_parts(change: Callable[[Any, Any, Any], Any], of: int = 0) -> Certificate:
    parts = list(proof()[2].parts)
    parts[of] = change(*parts[of])
    return changed(parts=tuple(parts))


def other_claim(change: Callable[[float], float]) -> Certificate:
    certificate = proof()[0]
    ((number, bound),) = certificate.leaves
    return replace(certificate, leaves=((number, change(bound)),))


def tampered() -> Iterator[Certificate]:
    certificate, _, statement = proof()
    yield other_claim(lambda bound: bound * (1.0 + 1e-6))
    yield other_claim(lambda _: inf)
    yield changed(weights=(1.0, 0.999 * statement.weights[1]))
    yield changed(weights=(1.0, -statement.weights[1]))
    yield changed(weights=(0.0, statement.weights[1]))
    # A room less, twice, or in the place of another.
    yield changed(parts=statement.parts[1:])
    yield changed(parts=(*statement.parts, statement.parts[0]))
    yield other_parts(lambda _, tree, classes: (1, tree, classes))
    yield other_parts(lambda _, tree, classes: (7, tree, classes))
    # A class less, or others; all that holds for one of them is not said of the rest.
    yield other_parts(lambda activity, tree, classes: (activity, tree, classes[:-1]))
    yield other_parts(lambda activity, tree, classes: (activity, tree[:-1], classes[:-1]))
    yield other_parts(lambda activity, tree, classes: (activity, (-1,), classes[:1]))
    yield other_parts(lambda activity, tree, classes: (activity, tree, classes[::-1]))
    yield other_parts(lambda activity, tree, classes: (activity, (tree[0] + 1, *tree[1:]), classes))
    yield other_parts(lambda activity, tree, classes: (activity, tree, tuple(each[:2] for each in classes)))
    yield other_parts(lambda activity, tree, classes: (activity, tree, tuple(((),) * 3 for _ in classes)))
    for factor in (1.0 + 2.0**-40, -1.0, np.nan):
        yield other_parts(
            lambda activity, tree, classes, by=factor: (
                activity,
                tree,
                tuple(
                    tuple(tuple((a, n, share * by) for a, n, share in uses) for uses in each)
                    for each in classes
                ),
            )
        )
    # Visits that nothing tells of.
    for state in range(3):
        for wrong in (
            nextafter(statement.events[state], inf),
            2.0 * statement.events[state],
            -1.0,
            np.nan,
            inf,
        ):
            events = tuple(wrong if n == state else each for n, each in enumerate(statement.events))
            yield changed(events=events)
    yield changed(events=statement.events[:-1])
    # Potentials that are a little too high.
    single = [uses for _, _, classes in statement.parts for each in classes for uses in each[:2]]
    used = {number for uses in single for _, number, _ in uses}
    for number in used:
        potentials = list(certificate.potentials)
        values = potentials[number].values
        if not values.any():
            continue
        potentials[number] = replace(potentials[number], values=values + 1e-9 * (values > 0.0))
        yield replace(certificate, potentials=tuple(potentials))


def test_the_proof_is_right() -> None:
    certificate, _, statement = proof()
    assert len(statement.parts) == 3
    verdict = check(PROBLEM, certificate)
    # One room fast, one at half speed; half of the time everything is done again.
    every = brute_force(PROBLEM)
    kept = every.costs[:, 1] <= 1.75
    assert verdict.lower_bound == pytest.approx(float(every.costs[kept, 0].min()), rel=1e-8)
    assert verdict.upper_bound == pytest.approx(verdict.lower_bound, rel=1e-8)


def test_whatever_is_touched_is_refused() -> None:
    every = list(tampered())
    assert len(every) >= 40
    for spoilt in every:
        for exact in (False, True):
            with pytest.raises((NotProven, InvalidCertificate), match=r"."):
                check(PROBLEM, spoilt, exact=exact)


@pytest.mark.parametrize("higher", [0.0, 2.0, -2.0])
def test_an_exit_that_is_worth_more_than_another_is_what_counts(higher: float) -> None:
    """To the left it costs 1, to the right 7: nobody spends less than 1, and some spend no more.

    Where the potential begins says nothing.
    """
    way = CSSPBuilder(cost_names=("time", "damage"))
    here, left, right = way.add_state("here"), way.add_goal("left"), way.add_goal("right")
    way.add_action(here, "left", to=left, costs={"time": 1.0})
    way.add_action(here, "right", to=right, costs={"time": 7.0})
    way.set_initial(here)
    plan = ProcedureBuilder()
    start, out = plan.add_event("start"), plan.add_event("out")
    run = plan.add_activity("way", way.build())
    plan.add_choice(start, "go", to=[Outcome(1.0, out, runs=run)])
    plan.add_constraint("damage", at_most=1.0, counts={run: "damage"})
    problem = plan.build(start=start, end=out)
    uses = ((run, 0, 1.0),)
    # The budget is worth what is claimed, so that their difference says nothing about how large sums get.
    spread = Statement((1.0, 1.0), (1.0, 1.0), (), ((run, (-1,), ((uses, (), ()),)),))
    nothing = np.zeros(0, dtype=np.int64)
    for claim, holds in ((1.0, True), (1.001, False), (7.0, False)):
        certificate = Certificate(
            bounds=(1.0,),
            tree=(-1,),
            leaves=((0, claim),),
            plan=nothing,
            ranks=nothing,
            upper_bound=inf,
            plan_statements=(),
            statements=(spread,),
            potentials=(Potential(run, (1.0, 0.0), (), higher + np.array([1.0, 0.0, -6.0])),),
        )
        if holds:
            assert check(problem, certificate).lower_bound == claim
        else:
            with pytest.raises(NotProven, match=r"leaf 0: plans within the budget may cost less than"):
                check(problem, certificate)


def test_it_may_be_dearer_than_the_potentials_say() -> None:
    """Weights that are higher than those of the potentials prove less; what is claimed still follows here."""
    _, _, statement = proof()
    spoilt = changed(weights=(1.0, 1.0001 * statement.weights[1]))
    assert check(PROBLEM, spoilt).lower_bound == check(PROBLEM, proof()[0]).lower_bound


def forged(problem: HCSSP, statement: Statement, num_potentials: int, rng: np.random.Generator) -> Statement:
    """The statement with a few things changed at random."""
    parts, events, weights = list(statement.parts), list(statement.events), list(statement.weights)
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(len(parts)))
        activity, tree, classes = parts[place]
        which, kind = int(rng.integers(len(classes))), int(rng.integers(3))
        match int(rng.integers(7)):
            case 0:
                at, row = int(rng.integers(len(tree))), int(rng.integers(-1, problem.flattening.num_rows))
                tree = (*tree[:at], row, *tree[at + 1 :])
            case 1:
                tree, classes = (-1,), classes[which : which + 1]
            case 2:
                other = int(rng.integers(num_potentials))
                lists = list(classes[which])
                lists[kind] = ((activity, other, float(rng.choice([0.5, 1.0, 2.0]))),)
                classes = (*classes[:which], tuple(lists), *classes[which + 1 :])
            case 3:
                classes = classes[::-1]
            case 4:
                events[int(rng.integers(len(events)))] *= float(rng.choice([0.5, 1.001, 2.0]))
            case 5:
                weights[1] *= float(rng.choice([0.0, 0.5, 0.999, 1.001, 2.0]))
            case _:
                activity = int(rng.integers(-2, len(problem.activities)))
        parts[place] = (activity, tree, classes)
    return Statement(tuple(weights), tuple(events), (), tuple(parts))


@pytest.mark.parametrize("seed", some(range(8), 2))
def test_what_is_forged_at_random_is_not_believed_unless_it_is_true(seed: int) -> None:
    rng = np.random.default_rng(seed)
    certificate, number, statement = proof()
    every = brute_force(PROBLEM)
    truth = float(every.costs[every.costs[:, 1] <= 1.75, 0].min())
    accepted = 0
    for _ in range(200):
        statements = list(certificate.statements)
        statements[number] = forged(PROBLEM, statement, len(certificate.potentials), rng)
        claim = truth * float(rng.choice([0.5, 0.9, 1.0 + 1e-9, 1.001, 1.3]))
        spoilt = replace(certificate, statements=tuple(statements), leaves=((number, claim),))
        try:
            verdict = check(PROBLEM, spoilt, exact=bool(rng.random() < 0.2))
        except (NotProven, InvalidCertificate):
            continue
        assert verdict.lower_bound <= truth * (1.0 + 1e-12)
        assert claim <= truth
        accepted += 1
    assert accepted > 0
