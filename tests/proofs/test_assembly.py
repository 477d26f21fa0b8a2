"""Certificates of real searches: what the search told is what is verified, wherever it stopped."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from math import inf, isfinite, nextafter
from typing import Any

import numpy as np
import pytest

from brute_force_procedures import brute_force_flat
from hcssp.checker import Certificate, Verdict, check
from hcssp.contract.plan import Plan
from hcssp.contract.progress import Gap, MaxIterations, Progress
from hcssp.contract.proof import Ending, Reason, Status
from hcssp.contract.solver import Context, Problem, Solver
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.dual.ascent import Dual
from hcssp.dual.enumeration import Enumeration
from hcssp.dual.flat import FlatOracle, FlatPoint
from hcssp.dual.oracle import Minimum, Oracle
from hcssp.dual.procedure import ProcedureOracle
from hcssp.dual.value_cache import DEFAULT_PARAMETERS
from hcssp.errors import InvalidCertificate, NotProven
from hcssp.files.certificate import from_bytes, to_bytes
from hcssp.methods.anytime import Anytime
from hcssp.methods.highs.linear_program import LinearProgram
from hcssp.methods.paper import BudgetAllocation
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.proofs.assembly import certificate_of, claimed_interval
from hcssp.proofs.search_record import SearchRecord
from hcssp.scenarios import small_building
from hcssp.solving.solve import solve
from hcssp.ssp.scalar_problem import Region
from known_optima import knapsack, roads, start_in_goal
from random_problems import random_cssp
from random_procedures import random_procedure
from rooms_in_turn import step, steps
from small_procedures import forking, retrying, risky_room
from solved_building import solved_building
from volume import some

CLOSE = 1e-9
"""What is verified may be wider than what was told by this share."""

KINDS: dict[str, dict[str, Any]] = {
    "procedure": {},
    "cycles": {"cycles": True},
    "exits": {"several_exits": True},
    "cycles and exits": {"cycles": True, "several_exits": True},
    "three bounds": {"cycles": True, "num_constraints": 3},
}


def problem_of(kind: str, seed: int) -> Problem:
    if kind == "flat":
        return random_cssp(seed, max_states=6, infeasible=0.3)
    return random_procedure(seed, **KINDS[kind])


def optimum_of(problem: Problem) -> float:
    """By brute force over all deterministic policies."""
    flat = problem.flattening.cssp if isinstance(problem, HCSSP) else problem
    best = brute_force_flat(flat).optimum(flat.bounds)
    return inf if best is None else best[0]


def verified(plan: Plan, certificate: Certificate | None = None) -> Verdict:
    """The verdict about a plan's certificate, as a file, in which both arithmetics agree."""
    given = plan.certificate if certificate is None else certificate
    read = from_bytes(to_bytes(given))
    verdict, exact = (check(plan.problem, read, exact=exact) for exact in (False, True))
    assert (verdict.lower_bound, verdict.upper_bound, verdict.costs) == (
        exact.lower_bound,
        exact.upper_bound,
        exact.costs,
    )
    assert (verdict.lower_bound, verdict.upper_bound) == claimed_interval(given)
    return verdict


def assert_as_told(plan: Plan, verdict: Verdict) -> None:
    """What is verified is what the search told, but for a hair."""
    told = plan.lower_bound
    assert verdict.lower_bound >= (told - CLOSE * abs(told) if isfinite(told) else told)
    if plan.found:
        assert verdict.upper_bound == pytest.approx(plan.upper_bound, rel=CLOSE, abs=1e-15)
    else:
        assert verdict.upper_bound == inf


@pytest.mark.parametrize("seed", some(range(300, 306), 3))
@pytest.mark.parametrize("kind", ["flat", *KINDS])
def test_what_the_search_told_is_verified(kind: str, seed: int) -> None:
    plan = solve(problem_of(kind, seed), stop=[])
    verdict = verified(plan)
    assert_as_told(plan, verdict)
    optimum = optimum_of(plan.problem)
    assert verdict.lower_bound <= optimum * (1.0 + 1e-12)
    assert verdict.upper_bound >= optimum * (1.0 - 1e-12)


def after_splits(count: int) -> Callable[[Progress], str | None]:
    """A criterion that stops after so many nodes have been split."""
    nodes: list[Progress] = []

    def stop(progress: Progress) -> str | None:
        if progress.stochastic is not None:
            nodes.append(progress)
        return "enough" if len(nodes) > count else None

    return stop


@pytest.mark.parametrize("kind", ["flat", *KINDS])
def test_a_gap_that_was_left_open_is_verified(kind: str) -> None:
    leaves = set()
    for seed in some((324, 322, 320, 321, 323), 2):
        problem = problem_of(kind, seed)
        optimum = optimum_of(problem)
        for splits in (2, 5):
            plan = solve(problem, stop=[after_splits(splits)])
            verdict = verified(plan)
            assert_as_told(plan, verdict)
            assert verdict.lower_bound <= optimum * (1.0 + 1e-12)
            leaves.add(len(plan.certificate.leaves))
    assert max(leaves) > 1


class Interrupted:
    """An oracle whose user presses Ctrl-C while it is being asked for the so-manieth time."""

    remaining = 0

    def minimise(self, *arguments: Any, **options: Any) -> Any:
        self.count()
        return super().minimise(*arguments, **options)  # type: ignore[misc]

    def count(self) -> None:
        Interrupted.remaining -= 1
        if Interrupted.remaining == 0:
            raise KeyboardInterrupt


class InterruptedFlat(Interrupted, FlatOracle):
    pass


class InterruptedProcedure(Interrupted, ProcedureOracle):
    pass


def interrupted(problem: Problem, after: int) -> Plan:
    Interrupted.remaining = after
    if isinstance(problem, HCSSP):
        plan = solve(problem, PolicyBranching(oracle=lambda given: InterruptedProcedure(given.flattening)))
    else:
        plan = solve(problem, PolicyBranching(oracle=InterruptedFlat))
    # A search that ended before leaves the certificate in peace.
    Interrupted.remaining = 0
    return plan


@pytest.mark.parametrize("problem", [knapsack(6.0), small_building(2.0)], ids=["flat", "procedure"])
def test_a_search_that_was_interrupted_anywhere_is_verified(problem: Problem) -> None:
    reasons, sizes = set(), set()
    for after in (2, 9, 12, 15, 18, 22, 27, 100_000):
        plan = interrupted(problem, after)
        reasons.add(plan.ending.reason)
        sizes.add(len(plan.certificate.leaves))
        assert_as_told(plan, verified(plan))
    assert Reason.INTERRUPTED in reasons
    assert len(sizes) > 2


def test_before_anything_is_known_the_dual_is_solved_for_the_certificate() -> None:
    plan = interrupted(roads(damage=4.0), after=1)
    assert plan.lower_bound == -inf
    # The dual's bound is 5, but all costs are even.
    assert verified(plan).lower_bound == 6.0


def test_of_what_nothing_is_known_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = knapsack(5.0)
    # As where numbers are so far apart that the ascent ends before its first step.
    monkeypatch.setattr("hcssp.proofs.assembly.maximise", lambda oracle, region: Dual())
    certificate = certificate_of(problem, SearchRecord())
    assert claimed_interval(certificate) == (0.0, inf)
    assert check(problem, certificate).lower_bound == 0.0


def barely_infeasible() -> CSSP:
    """A mixture keeps the bound of 1, but no deterministic policy: they use 0 and never end, or 2."""
    plan = CSSPBuilder(cost_names=("time", "damage", "fuel"), bounds={"damage": 1.0, "fuel": 1.0})
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "left", to=out, costs=(1.0, 2.0, 0.0))
    plan.add_action(here, "right", to=out, costs=(1.0, 0.0, 2.0))
    return plan.build()


@pytest.mark.parametrize(
    ("problem", "leaves"),
    [
        (roads(damage=1.0, fuel=3.5), 2),
        (barely_infeasible(), 2),
        (barely_infeasible().with_bounds(damage=0.0, fuel=0.0), 1),
        (start_in_goal(-1.0), 1),
        (retrying().with_bounds(damage=-0.5), 1),
    ],
    ids=["mixture", "each way", "nothing is allowed", "start in goal", "procedure"],
)
def test_that_no_plan_keeps_the_bounds_is_verified(problem: Problem, leaves: int) -> None:
    plan = solve(problem)
    assert plan.status is Status.INFEASIBLE
    verdict = verified(plan)
    assert verdict.lower_bound == verdict.upper_bound == inf
    assert len(plan.certificate.leaves) == leaves
    assert not len(plan.certificate.plan)


@cache
def relaxation() -> float:
    """What the linear program says about the building."""
    return solve(small_building(2.0), LinearProgram()).lower_bound


@pytest.mark.parametrize(
    "solver",
    [
        BudgetAllocation(),
        BudgetAllocation(mode="published"),
        Anytime(iterations=3),
    ],
    ids=["budget allocation", "as published", "anytime"],
)
def test_other_methods_have_a_proof_of_the_dual_s_bound(solver: Solver) -> None:
    problem = small_building(2.0)
    plan = solve(problem, solver, stop=[MaxIterations(4)])
    verdict = verified(plan)
    assert len(plan.certificate.leaves) == 1
    # The linear program has no tolerance on its bounds; the certificate's lower bound allows for it.
    assert verdict.lower_bound == pytest.approx(relaxation(), rel=1e-8)
    assert verdict.upper_bound == pytest.approx(plan.upper_bound, rel=CLOSE)


@pytest.mark.parametrize(
    ("seed", "solver"),
    [(29, BudgetAllocation()), (11, BudgetAllocation())],
    ids=["gap", "many boxes"],
)
def test_what_boxes_told_is_proven_by_regions(seed: int, solver: Solver) -> None:
    plan = solve(random_procedure(seed), solver, stop=[Gap(1e-6)])
    bound = claimed_interval(plan.stochastic_certificate)[0]
    assert bound < 0.999 * plan.lower_bound
    assert_as_told(plan, verified(plan))
    # A search that was ended by a limit has no time to spare.
    cut_short = replace(plan, ending=Ending(Reason.TIME_LIMIT))
    assert verified(cut_short).lower_bound == pytest.approx(bound)


def test_other_methods_prove_that_nothing_keeps_the_bounds_where_the_dual_does() -> None:
    problem = small_building(2.0).with_bounds(damage=-1.0)
    for solver in (BudgetAllocation(), LinearProgram()):
        plan = solve(problem, solver)
        assert plan.status is Status.INFEASIBLE
        assert verified(plan).lower_bound == inf


@pytest.mark.parametrize(
    "problem", [small_building(2.0), forking(), knapsack(6.0)], ids=["building", "exits", "flat"]
)
def test_the_optimum_of_plans_that_draw_lots_has_a_proof_of_one_leaf(problem: Problem) -> None:
    plan = solve(problem)
    assert plan.stochastic is not None
    certificate = plan.stochastic_certificate
    assert certificate.tree == (-1,)
    assert verified(plan, certificate).lower_bound == pytest.approx(plan.stochastic.value, rel=CLOSE)


def test_what_was_forgotten_is_planned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(DEFAULT_PARAMETERS), "max_regions", 2)
    plan = solve(small_building(2.0), stop=[])
    assert len(plan.certificate.leaves) > 5
    assert_as_told(plan, verified(plan))


def test_potentials_are_shared_between_leaves() -> None:
    plan = solve(small_building(1.0), stop=[])
    certificate = plan.certificate
    mentioned = sum(len(certificate.statements[number or 0].uses) for number, _ in certificate.leaves)
    assert 2 * len(certificate.potentials) < mentioned


class Foreign(Oracle[FlatPoint]):
    """Somebody's oracle, whose rows only they know."""

    def __init__(self, problem: CSSP) -> None:
        self._own = FlatOracle(problem)
        super().__init__(problem.bounds, self._own.row_start)

    def minimise(
        self, weights: FloatArray, region: Region, precision: float = 0.0, near: FlatPoint | None = None
    ) -> Minimum[FlatPoint] | None:
        return self._own.minimise(weights, region, precision, near)

    def lift(self, point: FlatPoint) -> IntArray:
        return self._own.lift(point)


def test_with_an_oracle_of_one_s_own_it_is_the_dual_s_bound() -> None:
    plan = solve(knapsack(6.0), PolicyBranching(oracle=Foreign), stop=[])
    assert plan.status is Status.OPTIMAL
    verdict = verified(plan)
    assert plan.stochastic is not None
    assert plan.stochastic.value <= verdict.lower_bound <= verdict.upper_bound == plan.upper_bound
    assert len(plan.certificate.leaves) == 1


class Silent:
    """A method of one's own that records nothing."""

    name = "silent"

    def iterate(self, problem: Problem, context: Context) -> Iterator[Progress]:
        yield Progress(lower_bound=1.0)


def test_a_method_of_one_s_own_has_a_proof_of_the_dual_s_bound() -> None:
    plan = solve(roads(damage=4.0), Silent())
    assert plan.lower_bound == 1.0
    verdict = verified(plan)
    assert (verdict.lower_bound, verdict.upper_bound) == (6.0, inf)
    assert verified(plan, plan.stochastic_certificate).lower_bound == pytest.approx(5.0)


def test_a_plan_that_was_pickled_or_begun_with_has_a_certificate() -> None:
    plan = solved_building()
    again = pickle.loads(pickle.dumps(plan))
    assert verified(again).upper_bound == pytest.approx(plan.upper_bound, rel=CLOSE)
    assert len(again.certificate.leaves) == 1
    begun = solve(plan.problem, start=replace(plan, proof=replace(plan.proof, lower_bound=-inf)))
    assert_as_told(begun, verified(begun))
    assert begun.gap <= 1e-6


def test_a_plan_for_a_single_problem_has_a_certificate_as_one_of_a_procedure_too() -> None:
    plan = solve(roads(damage=4.0))
    verdict, other = verified(plan), verified(plan.as_procedure())
    # Other potentials prove the same: how many of their inequalities are tight is their own affair.
    assert verdict == replace(other, num_exact=verdict.num_exact)
    assert verdict.upper_bound == 6.0


def test_after_another_search_with_the_same_memory_it_is_still_verified() -> None:
    plan = solved_building()
    plan.resolve(damage=4.0)
    assert_as_told(plan, verified(plan))


def test_an_activity_that_cannot_be_ended_in_a_region_is_no_hindrance() -> None:
    """One choice runs a room with a single row a state: avoiding it leaves the other choice."""
    single = CSSPBuilder(cost_names=("time", "damage"))
    here, out = single.add_state("here"), single.add_goal("out")
    single.add_action(here, "only", to=out, costs=(1.0, 3.0))
    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    forced, room = plan.add_activity("forced", single.build()), plan.add_activity("room", risky_room())
    plan.add_choice(start, "forced", to=[Outcome(1.0, end, runs=forced)])
    plan.add_choice(start, "room", to=[Outcome(1.0, end, runs=room)])
    plan.add_constraint("damage", at_most=1.0, counts={forced: "damage", room: "damage"})
    problem = plan.build(start=start, end=end)
    oracle = ProcedureOracle(problem.flattening)
    record = SearchRecord()
    record.begin(oracle)
    record.bounded(record.root, 1.0, np.zeros(1))
    row = int(oracle.row_offset[0])  # the only row of the first activity
    used, avoided = record.split(record.root, row)
    record.bounded(used, 2.0, np.array([0.5]))
    record.bounded(avoided, 2.5, np.array([0.5]))
    certificate = certificate_of(problem, record)
    check(problem, certificate)
    assert [bound for _, bound in certificate.leaves] == pytest.approx([2.0, 2.5])


def tampered(certificate: Certificate, rng: np.random.Generator) -> Iterator[Certificate]:
    """Changes that make a claim false or lose the proof of it."""
    leaves = list(certificate.leaves)
    at = int(rng.integers(len(leaves)))
    number, bound = leaves[at]
    spread = number is not None and bool(certificate.statements[number].parts)
    # What rests on spreading a budget claims a hair less than it proves.
    leaves[at] = number, bound * (1.0 + 1e-6) if spread else nextafter(bound, inf)
    yield replace(certificate, leaves=tuple(leaves))
    yield replace(certificate, tree=certificate.tree[:-1], leaves=certificate.leaves[:-1])
    yield replace(certificate, upper_bound=nextafter(certificate.upper_bound, -inf))
    yield replace(certificate, plan=np.full_like(certificate.plan, -1))
    statements = list(certificate.statements)
    used = next(n for n, _ in certificate.leaves if n is not None)
    # A dearer budget proves less; a cheaper one does not allow for the potentials that are used.
    change = -1e-3 if statements[used].parts else 1e-3
    other = tuple(weight + change * (index == 1) for index, weight in enumerate(statements[used].weights))
    statements[used] = replace(statements[used], weights=other)
    yield replace(certificate, statements=tuple(statements))
    potentials = list(certificate.potentials)
    for which in rng.integers(len(potentials), size=4):
        values = potentials[which].values.copy()
        live = np.flatnonzero(values)
        values[live] += 0.01 * np.abs(values).max()
        spoilt = [*potentials[:which], replace(potentials[which], values=values), *potentials[which + 1 :]]
        if len(live):
            yield replace(certificate, potentials=tuple(spoilt))


@pytest.mark.parametrize("problem", [small_building(2.0), retrying()], ids=["building", "cycle"])
def test_a_searched_proof_that_was_touched_is_refused(problem: Problem) -> None:
    certificate = solve(problem, stop=[]).certificate
    count = 0
    for seed in range(4):
        for spoilt in tampered(certificate, np.random.default_rng(seed)):
            with pytest.raises((NotProven, InvalidCertificate)):
                check(problem, spoilt)
            count += 1
    assert count >= 30


@pytest.mark.parametrize("unit", [1e-12, 1.0])
def test_what_nobody_may_run_is_not_counted_upon_whatever_the_unit_of_its_damage(unit: float) -> None:
    """A bound of 0 leaves the detour alone; the quick way would cost less."""
    quick = CSSPBuilder(cost_names=("time", "damage"))
    quick.add_action(quick.add_state("here"), "only", to=quick.add_goal("out"), costs=(1.0, unit))
    detour = CSSPBuilder(cost_names=("time", "damage"))
    detour.add_action(detour.add_state("here"), "only", to=detour.add_goal("out"), costs=(5.0, 0.0))
    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    ways = [plan.add_activity("quick", quick.build()), plan.add_activity("detour", detour.build())]
    for way in ways:
        plan.add_choice(start, f"way {way}", to=[Outcome(1.0, end, runs=way)])
    plan.add_constraint("damage", at_most=0.0, counts=dict.fromkeys(ways, "damage"))
    verdict = verified(solve(plan.build(start=start, end=end)))
    assert (verdict.lower_bound, verdict.upper_bound) == pytest.approx((5.0, 5.0))


def nearly_safe(chance: float, exits: int = 1, retrying: float = 0.0) -> HCSSP:
    """Retry a thousand times, or once with a small chance to come where only damage leads on."""
    room = CSSPBuilder(cost_names=("time", "damage"))
    here, there = room.add_state("here"), room.add_state("there")
    goals = [room.add_goal(f"out {number}") for number in range(exits)]
    room.add_action(here, "retry", to={here: 1.0 - 2.0**-10, goals[0]: 2.0**-10}, costs=(1.0, retrying))
    room.add_action(here, "try", to={there: chance, goals[-1]: 1.0 - chance}, costs={"time": 1.0})
    room.add_action(there, "dare", to={goals[-1]: 1.0}, costs={"time": 1.0, "damage": 1.0})
    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    crossing = plan.add_activity("room", room.build())
    after = plan.add_event("after")
    plan.add_choice(start, "go", to=[Outcome(1.0, after, runs=crossing)])
    plan.add_choice(after, "leave", to=[Outcome(1.0, end)])
    plan.add_constraint("damage", at_most=0.0, counts={crossing: "damage"})
    return plan.build(start=start, end=end)


@pytest.mark.parametrize("chance", [0.5, 2.0**-20, 2.0**-40])
@pytest.mark.parametrize("exact", [False, True])
def test_what_leads_to_nothing_but_forbidden_costs_is_a_dead_end_however_improbable(
    chance: float, exact: bool
) -> None:
    procedure = nearly_safe(chance)
    room = procedure.activities[0].cssp.with_bounds(damage=0.0)
    for problem in (procedure, nearly_safe(chance, exits=2), room):
        plan = solve(problem)
        verdict = check(problem, plan.certificate, exact=exact)
        assert (verdict.lower_bound, verdict.upper_bound) == pytest.approx((1024.0, 1024.0), rel=CLOSE)
        # With the least damage allowed, the same proof is none.
        with pytest.raises(InvalidCertificate, match="bounds"):
            check(problem.with_bounds(damage=1e-300), plan.certificate, exact=exact)
        allowed = replace(plan.certificate, bounds=(1e-300,))
        with pytest.raises(NotProven, match=r"need not hold on rows that are allowed|is proven"):
            check(problem.with_bounds(damage=1e-300), allowed, exact=exact)


@pytest.mark.parametrize("chance", [0.5, 2.0**-40])
@pytest.mark.parametrize("exits", [1, 2])
def test_that_no_plan_does_without_forbidden_costs_is_proven(chance: float, exits: int) -> None:
    problem = nearly_safe(chance, exits, retrying=1e-30)
    plan = solve(problem)
    assert plan.status is Status.INFEASIBLE
    assert check(problem, plan.certificate).lower_bound == inf


def test_where_a_budget_is_not_spread_the_bound_of_the_prices_is_proven(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two of four rooms may be passed fast, and half of a third one by a randomised policy."""
    problem = steps([step([(1.0, 1.0), (2.3, 0.0)])] * 4, 2.5, [1.0] * 4)
    record = SearchRecord()
    for _ in PolicyBranching().iterate(problem, Context(record=record)):
        pass
    claim = record.claim(record.root)
    assert claim is not None
    assert claim.counted
    spread = check(problem, certificate_of(problem, record))
    assert spread.lower_bound == pytest.approx(6.6)
    drawing = check(problem, certificate_of(problem, record, relaxed=True))
    assert drawing.lower_bound == pytest.approx(5.95)
    assert drawing.randomised
    monkeypatch.setattr(Enumeration, "plan_classes", lambda *arguments: None)
    # All costs are multiples of 0.1.
    assert check(problem, certificate_of(problem, record)).lower_bound == pytest.approx(6.0)
