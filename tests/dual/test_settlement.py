from __future__ import annotations

import numpy as np
import pytest

from brute_force_procedures import brute_force
from hcssp.checker.checking import check
from hcssp.contract.solver import Context
from hcssp.dual.ascent import maximise
from hcssp.dual.procedure_oracle import ProcedureOracle
from hcssp.dual.settlement import SLACK, OneBudget, _uses, settle
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.proofs.assembly import certificate_of, claimed_interval
from hcssp.proofs.search_record import SearchRecord
from hcssp.solving.solve import solve
from hcssp.ssp.region import Region
from rooms_in_turn import step, steps
from volume import some


def random_steps(seed: int) -> HCSSP:
    """Rooms of one or two kinds, needed always or by chance, with or without a way back."""
    rng = np.random.default_rng(seed)
    kinds = [
        step(
            [(float(time), float(damage)) for time, damage in zip(*rng.integers(0, 5, (2, 3)), strict=True)],
            slip=float(rng.choice([0.0, 0.25])),
        )
        for _ in range(2)
    ]
    number = int(rng.integers(2, 6))
    rooms = [kinds[int(rng.integers(2))] for _ in range(number)]
    chances = rng.choice([1.0, 1.0, 0.5], number).tolist()
    return steps(
        rooms, float(rng.integers(1, 4) * number) / 2.0 + 0.1, chances, float(rng.choice([0.0, 0.3]))
    )


@pytest.mark.parametrize("first", some(range(0, 24, 12), 3))
def test_it_agrees_with_brute_force_in_every_region(first: int) -> None:
    settled = 0
    for seed in range(first, first + 12):
        problem = random_steps(seed)
        oracle = ProcedureOracle(problem.flattening)
        every = brute_force(problem)
        rng = np.random.default_rng(seed)
        for share in (0.0, 0.1):
            rows = np.arange(oracle.procedure.num_rows, oracle.row_start[-1])
            region = Region().forbid(rows[rng.random(len(rows)) < share].tolist())
            dual = maximise(oracle, region)
            if dual.infeasible:
                continue
            # The rooms have no dead ends, so that their rows are the flat ones.
            allowed = ~np.isin(every.rows, list(region.forbidden)).any(axis=1)
            kept = allowed & (every.costs[:, 1] <= problem.bounds[0] * (1.0 + 1e-9))
            truth = float(every.costs[kept, 0].min(initial=np.inf))
            for cutoff in (np.inf, 1.1 * truth, 0.5 * (dual.bound + min(truth, 100.0))):
                found = settle(oracle, region, dual.prices, dual.bound, float(cutoff))
                if found is None:
                    continue
                assert found.bound <= min(truth * (1.0 + 1e-12), cutoff)
                if found.vertex is not None:
                    assert found.vertex.lies_in(region, oracle.row_state)
                    if cutoff > truth:
                        assert found.vertex.costs[0] == pytest.approx(truth, rel=1e-9)
                        assert found.vertex.costs[1] <= problem.bounds[0] * (1.0 + 1e-9)
                        assert found.bound == pytest.approx(truth, rel=1e-9)
                        settled += 1
    assert settled > 5


@pytest.mark.parametrize("price", [0.0, 1.5, 4.0, 20.0])
def test_at_prices_that_are_far_off_there_is_more_to_look_at_and_nothing_else_changes(price: float) -> None:
    rooms = [step([(1.0, 1.0), (2.0, 0.0)])] * 3 + [step([(1.0, 3.0), (2.5, 1.0)])]
    problem = steps(rooms, 4.5, [1.0] * 4)
    oracle = ProcedureOracle(problem.flattening)
    every = brute_force(problem)
    truth = float(every.costs[every.costs[:, 1] <= 4.5, 0].min())
    dual = maximise(oracle, Region())
    for cutoff in (1.1 * truth, 0.5 * (dual.bound + truth)):
        found = settle(oracle, Region(), np.array([price]), dual.bound, cutoff)
        assert found is not None
        assert found.bound == pytest.approx(min(truth, cutoff), rel=1e-9)


@pytest.mark.parametrize("chance", [0.1, 0.5, 1.0])
def test_of_what_is_seldom_done_much_worse_plans_are_looked_at(chance: float) -> None:
    """The best plan that keeps the bound is above the line between the others, at any price."""
    room = step([(0.0, 4.0), (3.0, 2.0), (4.0, 0.0)])
    oracle = ProcedureOracle(steps([room], 2.5 * chance, [chance]).flattening)
    dual = maximise(oracle, Region())
    found = settle(oracle, Region(), dual.prices, dual.bound, np.inf)
    assert found is not None
    assert found.vertex is not None
    assert found.vertex.costs == pytest.approx([3.0 * chance, 2.0 * chance])
    assert found.bound == pytest.approx(3.0 * chance)


def test_twenty_alike_steps_are_soon_proved() -> None:
    plan = solve(steps([step([(1.0, 1.0), (2.0, 0.0)])] * 20, 6.5, [1.0] * 20), stop=[])
    assert plan.status == "optimal"
    assert plan.upper_bound == pytest.approx(34.0)
    assert plan.lower_bound == pytest.approx(34.0)
    assert plan.iterations < 100


def test_a_hundred_are_too_and_their_certificate_proves_it() -> None:
    plan = solve(steps([step([(1.0, 1.0), (1.7, 0.35), (2.0, 0.0)])] * 100, 32.6, [1.0] * 100), stop=[])
    assert plan.status == "optimal"
    assert plan.upper_bound == pytest.approx(167.7)
    verdict = check(plan.problem, plan.certificate)
    assert verdict.lower_bound >= plan.lower_bound
    assert verdict.upper_bound == pytest.approx(plan.upper_bound)


def test_what_is_left_to_choose_is_left_to_the_search() -> None:
    room = step([(1.0, 1.0), (2.0, 0.0)])
    plan = ProcedureBuilder()
    start, out = plan.add_event("start"), plan.add_event("out")
    ways = [plan.add_activity(name, room) for name in ("left", "right")]
    for name, way in zip(("left", "right"), ways, strict=True):
        plan.add_choice(start, name, to=[Outcome(0.5, out, runs=way), Outcome(0.5, out)])
    plan.add_constraint("damage", at_most=0.3, counts=dict.fromkeys(ways, "damage"))
    problem = plan.build(start=start, end=out)
    oracle = ProcedureOracle(problem.flattening)
    dual = maximise(oracle, Region())
    assert settle(oracle, Region(), dual.prices, dual.bound, np.inf) is None
    # Once the choice is made, it is settled.
    left = Region().forbid([1])
    dual = maximise(oracle, left)
    found = settle(oracle, left, dual.prices, dual.bound, np.inf)
    assert found is not None
    assert found.bound == pytest.approx(1.0)


def test_several_bounds_and_what_is_of_no_interest_are_left_alone() -> None:
    problem = random_steps(1)
    oracle = ProcedureOracle(problem.flattening)
    dual = maximise(oracle, Region())
    assert settle(oracle, Region(), dual.prices, dual.bound, dual.bound) is None
    assert settle(oracle.under(np.array([np.inf])), Region(), dual.prices, dual.bound, np.inf) is None
    # At the root it is tried with a few looks, and then where more of them are less work than the search.
    assert oracle.settle(Region(), dual.prices, dual.bound, np.inf, expanded=1) is not None
    assert oracle.settle(Region(), dual.prices, dual.bound, np.inf, expanded=2) is None
    assert oracle.settle(Region(), dual.prices, dual.bound, np.inf, expanded=1_000) is not None


def test_where_plans_are_too_many_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = steps([step([(1.0, 1.0), (2.0, 0.0)])] * 4, 2.5, [1.0] * 4)
    oracle = ProcedureOracle(problem.flattening)
    dual = maximise(oracle, Region())
    found = settle(oracle, Region(), dual.prices, dual.bound, np.inf)
    assert found is not None
    assert found.bound == pytest.approx(6.0)
    with monkeypatch.context() as few:
        few.setattr("hcssp.dual.budget_spread.MAX_ALL_LABELS", 1)
        assert settle(oracle, Region(), dual.prices, dual.bound, np.inf) is None
    monkeypatch.setattr("hcssp.dual.near_best.MAX_PLANS", 1)
    assert settle(oracle, Region(), dual.prices, dual.bound, np.inf) is None


def test_plans_are_looked_for_a_little_beyond_the_cutoff() -> None:
    assert 1.0 + 1e-9 < SLACK < 1.0 + 1e-3


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_costs_in_any_unit_are_settled_alike(unit: float) -> None:
    room = step([(1.0 * unit, 1.0), (2.0 * unit, 0.0)])
    oracle = ProcedureOracle(steps([room] * 6, 2.5, [1.0] * 6).flattening)
    dual = maximise(oracle, Region())
    found = settle(oracle, Region(), dual.prices, dual.bound, np.inf)
    assert found is not None
    assert found.bound == pytest.approx(10.0 * unit)
    assert found.vertex is not None
    assert found.vertex.costs == pytest.approx([10.0 * unit, 2.0])
    # What is below a cutoff is found, and what is not is of no interest.
    close = settle(oracle, Region(), dual.prices, dual.bound, 9.9 * unit)
    assert close is not None
    assert close.bound == pytest.approx(9.9 * unit)


def test_plans_are_looked_for_again_where_the_gap_is_wider_than_what_is_known() -> None:
    room = step([(1.0, 1.0), (2.0, 0.5), (4.0, 0.0)])
    oracle = ProcedureOracle(steps([room] * 3, 2.5, [1.0] * 3).flattening)
    whole = OneBudget.of(oracle, Region(), np.zeros(1))
    assert whole is not None
    assert [each.activities for each in whole.uses] == [(0, 1, 2)]
    # At no price the plans cost 1, 2 and 4, and all of them together 3 at least.
    for gap, number in ((0.5, 1), (0.9, 1), (1.5, 2), (2.5, 2), (3.5, 3), (0.5, 3)):
        found = whole.plans_below(3.0 + gap)
        assert found is not None
        assert len(found[0].plans) == number
    # What is known takes no looks; one is too few to tell that there is nothing else.
    whole.looks = 1
    assert whole.plans_below(3.5) is not None
    again = OneBudget.of(oracle, Region(), np.zeros(1))
    assert again is not None
    again.looks = 1
    assert again.plans_below(3.5) is None


def test_activities_that_are_too_large_are_left_to_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = ProcedureOracle(steps([step([(1.0, 1.0), (2.0, 0.0)])] * 4, 2.5, [1.0] * 4).flattening)
    dual = maximise(oracle, Region())
    monkeypatch.setattr("hcssp.dual.settlement.MAX_STATES", 0)
    assert settle(oracle, Region(), dual.prices, dual.bound, np.inf) is None


def test_what_is_executed_about_equally_often_counts_as_the_least_of_it() -> None:
    oracle = ProcedureOracle(steps([step([(1.0, 1.0), (2.0, 0.0)])] * 3, 2.5, [1.0] * 3).flattening)
    slots = oracle.alike.slots(Region())
    often = np.array([0.5 + 2e-14, 0.5, 0.5 + 1e-14])
    together = _uses(oracle, slots, often, 0, 1.0)
    assert together is not None
    assert [(each.activities, each.executions) for each in together] == [((0, 1, 2), 0.5)]
    apart = _uses(oracle, slots, np.array([0.5, 0.25, 0.5]), 0, 1.0)
    assert apart is not None
    assert [(each.activities, each.executions) for each in apart] == [((0, 2), 0.5), ((1,), 0.25)]


def test_a_region_in_which_a_step_has_no_plan_is_not_settled() -> None:
    oracle = ProcedureOracle(steps([step([(1.0, 1.0), (2.0, 0.0)])] * 3, 2.5, [1.0] * 3).flattening)
    first = int(oracle.row_offset[1])
    slots = oracle.alike.slots(Region().forbid([first, first + 1]))
    assert _uses(oracle, slots, np.ones(3), 0, 1.0) is None


def counted(record: SearchRecord) -> bool:
    """Whether what is known about some leaf was found out by counting."""
    return any(claim is not None and claim.counted for claim in map(record.claim, record.leaves()))


def test_what_is_counted_has_a_certificate_as_what_is_branched_has() -> None:
    kinds = [step([(1.0, 1.0), (2.0, 0.0)]), step([(1.0, 1.0), (1.7, 0.35), (2.0, 0.0)])]
    problem = steps(kinds * 10, 6.6, [1.0] * 20)
    for counts in (True, False):
        record = SearchRecord()
        *_, end = PolicyBranching(counts=counts).iterate(problem, Context(record=record))
        assert end.upper_bound == pytest.approx(33.7)
        assert counted(record) == counts
        certificate = certificate_of(problem, record)
        assert (len(certificate.leaves) == 1) == counts
        assert claimed_interval(certificate)[0] == pytest.approx(33.7)
        assert check(problem, certificate).lower_bound == pytest.approx(33.7)


@pytest.mark.parametrize("seed", some(range(6), 2))
def test_dozens_of_steps_that_differ_a_little_have_a_certificate(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rooms = [
        step(
            [(round(1.0 + 0.1 * a, 3), round(1.0 + 0.05 * b, 3)), (round(1.6 + 0.1 * c, 3), 0.4), (2.0, 0.0)],
            slip,
        )
        for a, b, c, slip in zip(*rng.random((3, 24)), rng.choice([0.0, 0.1], 24), strict=True)
    ]
    chances = rng.choice([1.0, 0.5], len(rooms)).tolist()
    plan = solve(steps(rooms, 5.0, chances, retry=float(rng.choice([0.0, 0.3]))), stop=[])
    assert plan.status == "optimal"
    assert counted(plan.record)
    verdict = check(plan.problem, plan.certificate)
    assert verdict.lower_bound >= plan.lower_bound * (1.0 - 1e-12)
    assert verdict.upper_bound == pytest.approx(plan.upper_bound, rel=1e-12)
    assert not verdict.randomised
    # Plans that draw lots may cost less, and have a proof of their own.
    assert plan.stochastic is not None
    drawing = check(plan.problem, plan.stochastic_certificate)
    assert drawing.randomised
    assert drawing.lower_bound == pytest.approx(plan.stochastic.value, rel=1e-9)
    assert drawing.lower_bound < plan.lower_bound * (1.0 - 1e-6)
