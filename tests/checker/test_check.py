from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf, nan, nextafter
from typing import Any

import numpy as np
import pytest

from hcssp.checker import Certificate, Verdict, check
from hcssp.checker.arithmetic import GRAIN, grains
from hcssp.checker.checking import Verifier, leaf_regions
from hcssp.checker.format import Potential, Statement
from hcssp.checker.layout import Layout
from hcssp.cssp.arrays import decimal
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.errors import InvalidCertificate, NotProven
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.proofs.builder import ProofBuilder
from random_nestings import random_limits
from small_procedures import retrying


def walk_or_run(bound: float = 1.0) -> CSSP:
    """Walk (3 time), or run, which works half of the time (1 time, 2 damage each): 2 time, 4 damage."""
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": bound})
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "walk", to=out, costs={"time": 3.0})
    plan.add_action(here, "run", to={out: 0.5, here: 0.5}, costs={"time": 1.0, "damage": 2.0})
    plan.set_initial(here)
    return plan.build()


WALK, RUN = 1, 2  # flat rows; row 0 is the choice to begin
PROBLEM = walk_or_run()


def potential(
    weights: tuple[float, ...], level: float, forbidden: tuple[int, ...] = (), **more: Any
) -> Potential:
    return Potential(0, weights, forbidden, np.array([level, 0.0]), **more)


def statement(weights: tuple[float, ...], start: float, *uses: tuple[int, int, float]) -> Statement:
    return Statement(weights, (start, 0.0), uses)


# By hand: who runs breaks the bound (4 > 1), who does not run walks (3), and so does the plan.
PROOF = Certificate(
    bounds=(1.0,),
    tree=(RUN, -1, -1),
    leaves=((0, inf), (1, 3.0)),
    plan=(0, -1, WALK),
    ranks=(2, 0, 1),
    upper_bound=3.0,
    plan_statements=(2, 3),
    statements=(
        statement((0.0, 1.0), 4.0, (0, 0, 1.0)),
        statement((1.0, 0.0), 3.0, (0, 1, 1.0)),
        statement((-1.0, 0.0), -3.0, (0, 2, 1.0)),
        statement((0.0, -1.0), 0.0, (0, 3, 1.0)),
    ),
    potentials=(
        potential((0.0, 1.0), 4.0, (0,)),
        potential((1.0, 0.0), 3.0, (1,)),
        potential((-1.0, 0.0), -3.0, of_plan=True),
        potential((0.0, -1.0), 0.0, of_plan=True),
    ),
)
ROOT_ONLY = replace(
    PROOF,
    tree=(-1,),
    leaves=((0, 2.749),),
    statements=(statement((1.0, 0.25), 3.0, (0, 0, 1.0)), *PROOF.statements[1:]),
    potentials=(potential((1.0, 0.25), 3.0), *PROOF.potentials[1:]),
)


@pytest.mark.parametrize("exact", [False, True])
def test_a_proof_by_hand(exact: bool) -> None:
    verdict = check(PROBLEM, PROOF, exact=exact)
    assert (verdict.lower_bound, verdict.upper_bound, verdict.costs) == (3.0, 3.0, (3, 0))
    # Three rows are tight, which double precision cannot see; that walking damages nothing, it can.
    assert verdict.num_exact == (4 if exact else 3)
    # Integers decide no more than they must unless that is asked for.
    assert check(PROBLEM, PROOF).num_exact == 3


@pytest.mark.parametrize("exact", [False, True])
def test_the_lagrangian_of_everything(exact: bool) -> None:
    # Both ways cost 3 at a price of 1/4; the allowance for the tolerance is subtracted, too.
    verdict = check(PROBLEM, ROOT_ONLY, exact=exact)
    assert (verdict.lower_bound, verdict.upper_bound) == (2.749, 3.0)
    with pytest.raises(NotProven, match=r"leaf 0: it claims 2.75, but 2.7499999997\d* is proven"):
        check(PROBLEM, replace(ROOT_ONLY, leaves=((0, 2.75),)), exact=exact)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("level", [nextafter(4.0, 5.0), 4.0 + 1e-9, 1e9])
def test_a_potential_that_is_too_high_by_one_ulp_or_more(exact: bool, level: float) -> None:
    spoilt = replace(PROOF, potentials=(potential((0.0, 1.0), level, (0,)), *PROOF.potentials[1:]))
    message = r"potential 0: it does not hold in state \('problem', 'here'\), action 'run' \(flat row 2\)"
    with pytest.raises(NotProven, match=message):
        check(PROBLEM, spoilt, exact=exact)


def test_what_a_bound_of_nothing_allows_is_nothing_at_any_price() -> None:
    proof = replace(ROOT_ONLY, bounds=(0.0,), leaves=((0, 3.0),))
    assert check(walk_or_run(0.0), proof).lower_bound == 3.0


def test_no_plan_at_all() -> None:
    # Under a bound of -1 the other leaf is refuted as well.
    problem = walk_or_run(bound=-1.0)
    zero = statement((0.0, 1.0), 0.0)
    refuted = replace(
        PROOF,
        bounds=(-1.0,),
        leaves=((0, inf), (1, inf)),
        plan=(),
        plan_statements=(),
        upper_bound=inf,
        statements=(PROOF.statements[0], zero),
    )
    assert check(problem, refuted) == Verdict(inf, inf, (), check(problem, refuted).num_exact, False)
    # What a refuted leaf says about its bound does not matter.
    assert check(problem, replace(refuted, leaves=((0, nan), (1, -inf)))).lower_bound == inf


def with_statement(number: int, **changes: Any) -> Certificate:
    statements = list(PROOF.statements)
    statements[number] = replace(statements[number], **changes)
    return replace(PROOF, statements=tuple(statements))


def with_potential(number: int, **changes: Any) -> Certificate:
    potentials = list(PROOF.potentials)
    potentials[number] = replace(potentials[number], **changes)
    return replace(PROOF, potentials=tuple(potentials))


@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        (replace(PROOF, leaves=((0, inf), (1, 3.1))), "leaf 1: it claims 3.1, but 3.0 is proven"),
        (replace(PROOF, leaves=((0, inf), (1, inf))), "leaf 1: it claims inf"),
        (replace(PROOF, leaves=((None, inf), (1, 3.0))), "leaf 0: it is not empty, the end can be reached"),
        (
            with_statement(0, weights=(0.0, 0.0)),
            r"leaf 0, activity 0: its potentials add up to a weight of 1.0 on",
        ),
        (
            with_statement(0, weights=(0.5, 1.0)),
            r"leaf 0: the weights \(0.5, 1.0\) are not 0 or 1 and prices",
        ),
        (with_statement(1, weights=(1.0, -1.0)), r"leaf 1: the weights \(1.0, -1.0\) are not"),
        (
            with_statement(0, events=(0.5, 0.0)),
            "leaf 0: that no plan keeps the bounds does not follow from -0.5",
        ),
        (with_statement(0, events=(4.0, 0.1)), "leaf 0: the potential of the end is 0.1, not 0"),
        (with_statement(1, events=(3.5, 0.0)), "leaf 1: it does not hold in state 'start', action 'begin'"),
        (with_statement(1, uses=((0, 0, 1.0),)), "leaf 1, activity 0, potential 0: it need not hold on rows"),
        (with_statement(1, uses=((0, 1, -1.0),)), "leaf 1, activity 0, potential 1: its share is -1.0"),
        (
            with_statement(1, uses=((0, 1, 1.5),)),
            "leaf 1, activity 0: its potentials add up to a weight of 1.5",
        ),
        (
            with_statement(1, uses=((0, 1, 1.0), (0, 1, 1.0))),
            "add up to a weight of 2.0 on cost 0, above 1.0",
        ),
        (with_statement(2, events=(-2.9, 0.0)), "the plan, cost 0: it does not hold in state 'start'"),
        (with_statement(2, events=(-3.1, 0.0)), "the plan, cost 0: it may be 3.1, above 3.0"),
        (with_statement(3, events=(-1.1, 0.0)), "the plan, cost 1: it may be 1.1, above 1.000000001"),
        (replace(PROOF, upper_bound=2.9), "the plan, cost 0: it may be 3.0, above 2.9"),
        (replace(PROOF, plan=(0, -1, -1)), "the plan: it does not reach the end almost surely"),
        (replace(PROOF, plan=(-1, -1, WALK)), "the plan: it does not reach the end almost surely"),
        (replace(PROOF, ranks=(2, 0, 0)), "the plan: it does not reach the end almost surely"),
        (replace(PROOF, ranks=(1, 0, 1)), "the plan: it does not reach the end almost surely"),
        (replace(PROOF, plan=(0, WALK, -1)), "the plan: it takes a row in a state that does not have it"),
        (replace(PROOF, plan=(0, 0, WALK)), "the plan: it takes a row in a state that does not have it"),
        (replace(PROOF, plan=(0, -1, RUN)), "potential 3: it does not hold in .*action 'run'"),
        (
            with_statement(3, uses=()),
            "cost 1, activity 0: its potentials add up to a weight of 0.0 on cost 1, above -1",
        ),
        (
            replace(PROOF, tree=(RUN, WALK, -1, -1, -1)),
            "leaf 1, activity 0, potential 1: it need not hold on",
        ),
        (replace(PROOF, plan=(), plan_statements=()), "the plan: there is none for the upper bound 3.0"),
        (with_potential(0, forbidden=()), "potential 0: it does not hold in .*action 'walk'"),
        (with_potential(0, weights=(0.0, 0.9)), "potential 0: it does not hold in .*action 'run'"),
        (with_potential(3, of_plan=False), "potential 3: it does not hold in .*action 'run'"),
        (with_potential(2, values=np.array([-2.9, 0.0])), "potential 2: it does not hold in .*action 'walk'"),
    ],
)
def test_what_does_not_follow_is_told(spoilt: Certificate, message: str) -> None:
    for exact in (False, True):
        with pytest.raises(NotProven, match=message):
            check(PROBLEM, spoilt, exact=exact)


@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        (replace(PROOF, bounds=(2.0,)), r"it is for the bounds \(2.0,\), not for \(1.0,\)"),
        (replace(PROOF, tree=(RUN, -1)), "do not fit the problem"),
        (replace(PROOF, tree=()), "lacks 1 leaves"),
        (replace(PROOF, tree=(RUN, -1, -1, -1)), "do not fit the problem"),
        (replace(PROOF, tree=(7, -1, -1)), "do not fit the problem"),
        (replace(PROOF, tree=(10**30, -1, -1)), "do not fit the problem"),
        (replace(PROOF, leaves=PROOF.leaves[:1]), "do not fit the problem"),
        (replace(PROOF, leaves=((0, inf), (9, 3.0))), "do not fit the problem"),
        (replace(PROOF, leaves=((0, inf), (1, nan))), "do not fit the problem"),
        (replace(PROOF, plan=(0, -1, 99)), "do not fit the problem"),
        (replace(PROOF, plan=(0, -1)), "do not fit the problem"),
        (replace(PROOF, ranks=(2, 0)), "do not fit the problem"),
        (replace(PROOF, plan_statements=(2,)), "do not fit the problem"),
        (replace(PROOF, plan_statements=(2, 9)), "do not fit the problem"),
        (replace(PROOF, upper_bound=nan), "do not fit the problem"),
        (replace(PROOF, upper_bound=inf), "do not fit the problem"),
        (with_statement(1, events=(3.0,)), "do not fit the problem"),
        (with_statement(1, events=(nan, 0.0)), "do not fit the problem"),
        (with_statement(1, weights=(1.0,)), "do not fit the problem"),
        (with_statement(1, weights=(1.0, inf)), "do not fit the problem"),
        (with_statement(1, uses=((3, 1, 1.0),)), "do not fit the problem"),
        (with_statement(1, uses=((0, 9, 1.0),)), "do not fit the problem"),
        (with_statement(1, uses=((0, 1, inf),)), "do not fit the problem"),
        (with_statement(1, uses=((0, 1, nan),)), "do not fit the problem"),
        (with_potential(1, values=np.array([3.0])), "do not fit the problem"),
        (with_potential(1, values=np.array([nan, 0.0])), "do not fit the problem"),
        (with_potential(1, values=np.array([inf, 0.0])), "do not fit the problem"),
        (with_potential(1, weights=(1.0,)), "do not fit the problem"),
        (with_potential(1, weights=(1.0, 0.0, 0.0)), "do not fit the problem"),
        (with_potential(1, weights=(nan, 0.0)), "do not fit the problem"),
        (with_potential(1, forbidden=(9,)), "do not fit the problem"),
        (with_potential(1, activity=5), "do not fit the problem"),
    ],
)
def test_what_is_not_about_the_problem_is_told(spoilt: Certificate, message: str) -> None:
    for exact in (False, True):
        with pytest.raises(InvalidCertificate, match=message):
            check(PROBLEM, spoilt, exact=exact)


def test_a_price_needs_a_bound() -> None:
    problem = walk_or_run(bound=inf)
    spoilt = replace(ROOT_ONLY, bounds=(inf,))
    with pytest.raises(NotProven, match=r"leaf 0: a cost without a bound has a price"):
        check(problem, spoilt)


@pytest.mark.parametrize(("bound", "kept"), [(0.0, True), (1e-300, True), (-1e-300, False)])
def test_a_bound_of_nothing_is_kept_by_nothing(bound: float, kept: bool) -> None:
    # Walking damages nothing; a share of nothing is nothing, so that less cannot be asked for.
    problem = walk_or_run(bound=bound)
    zero = statement((0.0, 1.0), 0.0)
    proof = replace(PROOF, bounds=(bound,))
    refutation = replace(
        proof,
        leaves=((0, inf), (1, inf)),
        statements=(PROOF.statements[0], zero),
        plan=(),
        plan_statements=(),
        upper_bound=inf,
    )
    if kept:
        assert check(problem, proof).upper_bound == 3.0
        with pytest.raises(NotProven, match="leaf 1: that no plan keeps the bounds does not follow"):
            check(problem, refutation)
    else:
        assert check(problem, refutation).lower_bound == inf
        with pytest.raises(NotProven, match="the plan, cost 1: it may be"):
            check(problem, proof)


def test_the_tolerance_is_that_of_the_library() -> None:
    from fractions import Fraction

    for bound, most in (
        (0.5, Fraction(1, 2) + Fraction(1, 2 * 10**9)),
        (200.0, 200 + Fraction(2, 10**7)),
        (-3.0, -3 + Fraction(3, 10**9)),
        (0.0, 0),
        (inf, inf),
    ):
        layout = Layout(PROBLEM.with_bounds({"damage": bound}))
        assert layout.most == [most]


def test_a_share_of_a_potential_is_one() -> None:
    # Half of a potential for (1, 0), half of one for (1, 1/2): one for (1, 1/4).
    halves = (potential((1.0, 0.0), 2.0), potential((1.0, 0.5), 3.0))
    proof = replace(
        ROOT_ONLY,
        leaves=((0, 2.249),),
        statements=(statement((1.0, 0.25), 2.5, (0, 0, 0.5), (0, 1, 0.5)),),
        potentials=halves,
        plan=(),
        plan_statements=(),
        upper_bound=inf,
    )
    assert check(PROBLEM, proof).lower_bound == 2.249
    # Nothing of a potential is nothing.
    halves_and_none = statement((1.0, 0.25), 2.5, (0, 0, 0.5), (0, 1, 0.5), (0, 1, 0.0))
    assert check(PROBLEM, replace(proof, statements=(halves_and_none,))).lower_bound == 2.249
    more = replace(proof, statements=(statement((1.0, 0.25), 2.5, (0, 0, 0.5), (0, 1, 0.75)),))
    with pytest.raises(NotProven, match=r"add up to a weight of 1\.25 on cost 0, above 1\.0"):
        check(PROBLEM, more)


def test_costs_without_chance_are_whole() -> None:
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": 1.0})
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "walk", to=out, costs={"time": 3.0})
    plan.add_action(here, "run", to=out, costs={"time": 2.0, "damage": 4.0})
    plan.set_initial(here)
    problem = plan.build()
    proof = replace(
        ROOT_ONLY,
        leaves=((0, 3.0),),
        statements=(statement((1.0, 0.25), 3.0, (0, 0, 1.0)), *PROOF.statements[1:]),
        potentials=(potential((1.0, 0.25), 3.0), *PROOF.potentials[1:]),
    )
    # 2.75 is proven, and no plan costs anything between 2 and 3.
    assert check(problem, proof).lower_bound == 3.0
    assert not check(problem, proof).randomised
    assert check(problem, replace(proof, leaves=((0, 2.7),))).randomised
    with pytest.raises(NotProven, match=r"it claims 3\.1, but 3\.0 is proven"):
        check(problem, replace(proof, leaves=((0, 3.1),)))
    # What is proven to the last digit need not be rounded, and holds for randomised policies.
    without_price = replace(
        proof,
        leaves=((0, 2.0),),
        statements=(statement((1.0, 0.0), 2.0, (0, 0, 1.0)), *PROOF.statements[1:]),
        potentials=(potential((1.0, 0.0), 2.0), *PROOF.potentials[1:]),
    )
    assert check(problem, without_price).lower_bound == 2.0
    assert check(problem, without_price).randomised


@pytest.mark.parametrize("unit", [0.25, 2.0])
def test_costs_are_rounded_up_to_their_unit_whatever_it_is(unit: float) -> None:
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": 1.0})
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "walk", to=out, costs={"time": 3.0 * unit})
    plan.add_action(here, "run", to=out, costs={"time": 2.0 * unit, "damage": 4.0})
    plan.set_initial(here)
    problem = plan.build()
    builder = ProofBuilder(problem)
    assert builder.layout.unit == decimal(unit)
    price = 0.25 * unit
    priced = builder.add_potential(0, [1.0, price], [3.0 * unit, 0.0])
    assert builder.set_plan([0, -1]) == 3.0 * unit
    # 2.75 units are proven, and no plan costs anything between 2 and 3 of them.
    assert builder.prove(builder.root, [price], [(0, priced, 1.0)]) == pytest.approx(3.0 * unit)
    proof = builder.certificate()
    assert check(problem, proof).lower_bound == pytest.approx(3.0 * unit, rel=1e-12)
    ((statement_of_all, _),) = proof.leaves
    with pytest.raises(NotProven, match="is proven"):
        check(problem, replace(proof, leaves=((statement_of_all, 3.01 * unit),)))


def trap() -> CSSP:
    """Jump (1 time), with a pit that half of the jumps end in, or walk (3 time)."""
    plan = CSSPBuilder(cost_names=("time",))
    here, pit, out = plan.add_state("here"), plan.add_state("pit"), plan.add_goal("out")
    plan.add_action(here, "walk", to=out, costs=3.0)
    plan.add_action(here, "jump", to={out: 0.5, pit: 0.5}, costs=1.0)
    plan.add_action(pit, "wait", to=pit, costs=0.0)
    plan.set_initial(here)
    return plan.build()


def test_dead_ends_need_not_hold() -> None:
    problem = trap()
    proof = Certificate(
        bounds=(),
        tree=(2, -1, -1),
        leaves=((None, inf), (0, 3.0)),
        plan=(),
        ranks=(),
        upper_bound=inf,
        plan_statements=(),
        statements=(Statement((1.0,), (3.0, 0.0), ((0, 0, 1.0),)),),
        potentials=(Potential(0, (1.0,), (), np.array([3.0, 0.0, 0.0])),),
    )
    verdict = check(problem, proof)
    assert verdict.lower_bound == 3.0
    jumping = replace(proof, plan=(0, -1, 2, 3), ranks=(2, 0, 1, 1), upper_bound=9.0, plan_statements=(0,))
    with pytest.raises(NotProven, match="the plan: it does not reach the end almost surely"):
        check(problem, jumping)


def two_ways(first: CSSP, second: CSSP) -> HCSSP:
    plan = ProcedureBuilder()
    start, out = plan.add_event("start"), plan.add_event("out")
    for name, cssp in (("first", first), ("second", second)):
        activity = plan.add_activity(name, cssp)
        plan.add_choice(start, name, to=[Outcome(1.0, out, runs=activity)])
    return plan.build(start=start, end=out)


def test_a_choice_that_cannot_end_need_not_hold() -> None:
    # The first way is a walk of 3; in the second, without its walk, only the jump is left.
    problem = two_ways(trap(), trap())
    walk_of_second = 2 + 3
    proof = Certificate(
        bounds=(),
        tree=(walk_of_second, -1, -1),
        leaves=((0, 0.0), (1, 3.0)),
        plan=(),
        ranks=(),
        upper_bound=inf,
        plan_statements=(),
        statements=(
            Statement((1.0,), (0.0, 0.0), ()),
            Statement((1.0,), (3.0, 0.0), ((0, 0, 1.0),)),
        ),
        potentials=(Potential(0, (1.0,), (), np.array([3.0, 0.0, 0.0])),),
        same=(0, 0),
    )
    assert check(problem, proof).lower_bound == 0.0
    # Where the second may walk, choosing it is no dead end, and nothing is known about it.
    everywhere = replace(proof, leaves=((1, 3.0), (1, 3.0)))
    with pytest.raises(NotProven, match="leaf 0: it does not hold in state 'start', action 'second'"):
        check(problem, everywhere)
    # Equal arrays share potentials.
    shared = replace(proof.statements[1], uses=((0, 0, 1.0), (1, 0, 1.0)))
    both = replace(proof, tree=(-1,), leaves=((0, 3.0),), statements=(shared,))
    assert check(problem, both).lower_bound == 3.0


def test_a_potential_is_not_for_other_arrays() -> None:
    problem = two_ways(trap(), replace(trap(), costs=2.0 * trap().costs))
    proof = Certificate(
        bounds=(),
        tree=(-1,),
        leaves=((0, 3.0),),
        plan=(),
        ranks=(),
        upper_bound=inf,
        plan_statements=(),
        statements=(Statement((1.0,), (3.0, 0.0), ((0, 0, 1.0), (1, 0, 1.0))),),
        potentials=(Potential(0, (1.0,), (), np.array([3.0, 0.0, 0.0])),),
    )
    with pytest.raises(
        NotProven, match="leaf 0, activity 1, potential 0: it is for an activity with other arrays"
    ):
        check(problem, proof)


def test_the_plan_of_one_activity_says_nothing_about_another_with_the_same_arrays() -> None:
    """Both walk or run; the plan walks first (3), then runs (2); no potential of one is the other's."""
    plan = ProcedureBuilder()
    start, between, out = (plan.add_event(name) for name in ("start", "between", "out"))
    first, second = (plan.add_activity(name, walk_or_run()) for name in ("first", "second"))
    plan.add_choice(start, "go", to=[Outcome(1.0, between, runs=first)])
    plan.add_choice(between, "go on", to=[Outcome(1.0, out, runs=second)])
    problem = plan.build(start=start, end=out)
    walks, runs = (potential((-1.0, 0.0), level, of_plan=True) for level in (-3.0, -2.0))
    proof = Certificate(
        bounds=(),
        tree=(-1,),
        leaves=((0, 0.0),),
        plan=(0, 1, -1, 2, 5),
        ranks=(4, 2, 0, 3, 1),
        upper_bound=5.0,
        plan_statements=(1,),
        statements=(
            Statement((1.0,), (0.0, 0.0, 0.0), ()),
            Statement((-1.0,), (-5.0, -2.0, 0.0), ((0, 0, 1.0), (1, 1, 1.0))),
        ),
        potentials=(walks, replace(runs, activity=1)),
        same=(0, 0),
    )
    assert check(problem, proof).costs == (5,)
    cheaper = Statement((-1.0,), (-4.0, -2.0, 0.0), ((0, 1, 1.0), (1, 1, 1.0)))
    spoilt = replace(proof, upper_bound=4.0, statements=(proof.statements[0], cheaper))
    with pytest.raises(NotProven, match="cost 0, activity 0, potential 1: it need not hold on rows that are"):
        check(problem, spoilt)
    # What holds on all rows but dominated ones is not about a plan, which may take them.
    walking = replace(proof, potentials=(replace(walks, of_plan=False), proof.potentials[1]))
    with pytest.raises(NotProven, match="cost 0, activity 0, potential 0: it need not hold on rows that are"):
        check(problem, walking)
    # Nor is what holds on the plan's rows alone about all policies.
    bounded = replace(proof.statements[0], uses=((0, 0, 0.0),))
    with pytest.raises(NotProven, match="leaf 0, activity 0, potential 0: it need not hold on rows that are"):
        check(problem, replace(proof, statements=(bounded, proof.statements[1])))


def test_a_plan_that_may_go_where_it_has_no_row_is_refused() -> None:
    problem = trap()
    proof = Certificate(
        bounds=(),
        tree=(-1,),
        leaves=((0, 0.0),),
        plan=(0, -1, 2, -1),
        ranks=(2, 0, 1, 0),
        upper_bound=1.0,
        plan_statements=(1,),
        statements=(Statement((1.0,), (0.0, 0.0), ()), Statement((-1.0,), (-1.0, 0.0), ((0, 0, 1.0),))),
        potentials=(Potential(0, (-1.0,), (), np.array([-1.0, 0.0, 0.0]), of_plan=True),),
    )
    with pytest.raises(NotProven, match="the plan: it does not reach the end almost surely"):
        check(problem, proof)


def test_a_bound_that_is_rounded_up_or_branched_for_is_not_randomised() -> None:
    assert check(PROBLEM, ROOT_ONLY).randomised
    assert not check(PROBLEM, PROOF).randomised


@pytest.mark.parametrize("seed", [4, 14])
def test_what_choices_cost_counts_at_their_price(seed: int) -> None:
    """A choice with limits of its own costs something: its gain is that of the definition."""
    _, problem = random_limits(seed)
    layout = Layout(problem)
    verifier = Verifier(layout, (), np.zeros(0, dtype=np.int64))
    rng = np.random.default_rng(seed)
    events = rng.random(layout.flattening.num_event_states).tolist()
    prices = rng.random(1 + len(problem.constraints)).tolist()
    compared = 0
    for row, (state, costs, ways) in enumerate(layout.event_rows):
        paid = sum(Fraction(prices[cost]) * amount for cost, amount in costs)
        exact = Fraction(0)
        for probability, activity, start in ways:
            # Without potentials an activity costs nothing, whatever it ends with.
            ends = [start] if activity is None else [to for _, to in layout.exits[activity]]
            after = min((Fraction(events[to]) for to in ends), default=Fraction(0))
            exact += probability * (after - Fraction(events[state]) + paid)
        nothing: list[Any] = [[] for _ in layout.blocks]
        told = verifier.gain(row, list(map(grains, events)), nothing, list(map(grains, prices)))
        assert Fraction(told) == exact * 2**GRAIN
        compared += any(amount not in (0, 1) for _, amount in costs)
    assert compared


def test_every_policy_is_in_a_leaf() -> None:
    layout = Layout(retrying())
    tree = (2, 4, -1, -1, 5, -1, -1)
    regions = list(leaf_regions(tree, layout.flattening.row_start, layout.dominated))
    assert [np.flatnonzero(region).tolist() for region in regions] == [[3, 5], [3, 4], [2, 4], [2, 5]]
    for cross in (2, 3):
        for leave in (4, 5):
            assert sum(not region[[cross, leave]].any() for region in regions) == 1


def waiting() -> CSSP:
    """Slow (10), fast (2), or waiting forever for nothing: flat rows 1, 2 and 3."""
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": 1.0})
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "slow", to=out, costs={"time": 10.0})
    plan.add_action(here, "fast", to=out, costs={"time": 2.0})
    plan.add_action(here, "wait", to=here)
    plan.set_initial(here)
    return plan.build()


CLAIM = Certificate(
    bounds=(1.0,),
    tree=(-1,),
    leaves=((0, 2.0),),
    plan=(),
    ranks=(),
    upper_bound=inf,
    plan_statements=(),
    statements=(statement((1.0, 0.0), 2.0, (0, 0, 1.0)),),
    potentials=(potential((1.0, 0.0), 2.0),),
)
TEN = statement((1.0, 0.0), 10.0, (0, 0, 1.0))
FREE = [
    statement(weights, 0.0, (0, number, 1.0)) for number, weights in enumerate(((-1.0, 0.0), (0.0, -1.0)))
]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    "forged",
    [
        # As an index, True is a mask of everything: not taking row 1 would leave nothing to take.
        pytest.param(
            replace(
                CLAIM,
                tree=(True, -1, -1),
                leaves=((0, 10.0), (None, inf)),
                statements=(TEN,),
                potentials=(potential((1.0, 0.0), 10.0, (1, 2)),),
            ),
            id="a branching decision that is true",
        ),
        # All rows are excepted by a mask, and the region need only forbid row 1.
        pytest.param(
            replace(
                CLAIM,
                tree=(2, -1, -1),
                leaves=((0, 2.0), (1, 50.0)),
                statements=(CLAIM.statements[0], statement((1.0, 0.0), 50.0, (0, 1, 1.0))),
                potentials=(CLAIM.potentials[0], potential((1.0, 0.0), 50.0, (True, True, True))),
            ),
            id="exceptions that are true",
        ),
        # The difference of the two values wraps around.
        pytest.param(
            replace(
                CLAIM,
                leaves=((0, 10.0),),
                statements=(TEN,),
                potentials=(Potential(0, (1.0, 0.0), (), np.array([2**63 - 1, -(2**63)])),),
            ),
            id="values that are integers",
        ),
        # All of no numbers are smaller than the ones before: waiting forever would end, at no cost.
        pytest.param(
            replace(
                CLAIM,
                plan=np.array([0, -1, 3]),
                ranks=np.zeros((3, 0)),
                upper_bound=0.0,
                plan_statements=(1, 2),
                leaves=((0, 0.0),),
                statements=(statement((1.0, 0.0), 0.0), *FREE),
                potentials=tuple(
                    potential(weights, 0.0, of_plan=True) for weights in ((-1.0, 0.0), (0.0, -1.0))
                ),
            ),
            id="ranks without numbers",
        ),
    ],
)
def test_numbers_of_other_types_and_shapes_prove_nothing_else(forged: Certificate, exact: bool) -> None:
    problem = waiting()
    assert check(problem, CLAIM, exact=exact).lower_bound == 2.0
    with pytest.raises((NotProven, InvalidCertificate)):
        check(problem, forged, exact=exact)
