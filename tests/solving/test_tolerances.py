"""How closely bounds are kept: a share of them, whatever the unit, the same for every method."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np
import pytest

from hcssp.contract.progress import Gap
from hcssp.contract.proof import Infeasible, Status
from hcssp.contract.solver import Solver
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.evaluation import evaluate
from hcssp.methods.anytime import Anytime
from hcssp.methods.highs.mixed_integer import MixedInteger
from hcssp.methods.paper import BudgetAllocation
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.numerics import Tolerances
from hcssp.procedure import Outcome, ProcedureBuilder
from hcssp.solving.solve import solve

METHODS = (PolicyBranching(), Anytime(), MixedInteger())


def walk_or_run(risk: float, bound: float) -> CSSP:
    """Walking takes 10 and risks nothing, running takes 1."""
    room = CSSPBuilder(cost_names=("time", "risk"), bounds={"risk": bound})
    inside, outside = room.add_state("inside"), room.add_goal("outside")
    room.add_action(inside, "walk", to=outside, costs={"time": 10.0})
    room.add_action(inside, "run", to=outside, costs={"time": 1.0, "risk": risk})
    return room.build()


@pytest.mark.parametrize("method", METHODS, ids=lambda each: each.name)
@pytest.mark.parametrize("bound", [1e-12, 1e-9, 1.0, 1e6])
def test_a_bound_is_kept_to_a_share_of_it(method: Solver, bound: float) -> None:
    above = solve(walk_or_run(1.01 * bound, bound), method)
    within = solve(walk_or_run(bound, bound), method)
    assert above.action("inside") == "walk"
    assert within.action("inside") == "run"
    assert above.cost("risk") == 0.0


@pytest.mark.parametrize("method", METHODS, ids=lambda each: each.name)
@pytest.mark.parametrize("risk", [1e-6, 1.0])
def test_a_bound_of_nothing_means_none(method: Solver, risk: float) -> None:
    plan = solve(walk_or_run(risk, 0.0), method)
    assert plan.action("inside") == "walk"
    assert plan.status is Status.OPTIMAL
    assert plan.cost("risk") == 0.0


@pytest.mark.parametrize(
    "method", [PolicyBranching(), BudgetAllocation(iterations=inf)], ids=lambda m: m.name
)
def test_a_bound_of_nothing_in_a_procedure(method: Solver) -> None:
    procedure = ProcedureBuilder()
    start, hall, out = (procedure.add_event(name) for name in ("start", "hall", "out"))
    rooms = [procedure.add_activity(name, walk_or_run(1e-10, inf)) for name in ("first", "second")]
    procedure.add_choice(start, "enter", to=[Outcome(1.0, hall, runs=rooms[0])])
    procedure.add_choice(hall, "leave", to=[Outcome(0.125, out, runs=rooms[1]), Outcome(0.875, out)])
    procedure.add_constraint("risk", at_most=0.0, counts=dict.fromkeys(rooms, "risk"))
    problem = procedure.build(start=start, end=out)
    plan = solve(problem, method)
    assert (plan.status, plan.upper_bound, plan.cost("risk")) == (Status.OPTIMAL, 11.25, 0.0)
    # An eighth of the risk of the second room is allowed: no share is divided by how often it is run.
    looser = solve(problem.with_bounds(risk=1.25e-11), method)
    assert (looser.status, looser.upper_bound) == (Status.OPTIMAL, 10.125)
    assert solve(problem.with_bounds(risk=1.24e-11), method).upper_bound == 11.25


@pytest.mark.parametrize("unit", [1e-100, 1e-12, 1e12, 1e100])
def test_the_integer_program_has_no_unit(unit: float) -> None:
    room = CSSPBuilder(cost_names=("time", "risk"), bounds={"risk": 3.0})
    inside, outside = room.add_state("inside"), room.add_goal("outside")
    room.add_action(inside, "walk", to=outside, costs={"time": 3.0 * unit})
    room.add_action(inside, "run", to={outside: 0.5, inside: 0.5}, costs={"time": unit, "risk": 2.0})
    plan = solve(room.build(), MixedInteger())
    assert (plan.status, plan.action("inside")) == (Status.FEASIBLE, "walk")
    assert plan.stochastic is not None
    assert plan.lower_bound == plan.stochastic.value == pytest.approx(2.25 * unit)
    assert plan.prices == {"risk": pytest.approx(0.25 * unit)}
    assert plan.randomised_cost == pytest.approx(2.25 * unit)


@pytest.mark.parametrize("bound", [-1e-10, -1e-300])
def test_less_than_nothing_cannot_be_kept(bound: float) -> None:
    for method in METHODS:
        assert solve(walk_or_run(1.0, bound), method).status is Status.INFEASIBLE


@pytest.mark.parametrize("method", METHODS[:3], ids=lambda each: each.name)
def test_what_counts_as_kept_can_be_chosen(method: Solver) -> None:
    problem = walk_or_run(risk=1.0 + 1e-7, bound=1.0)
    assert solve(problem, method).action("inside") == "walk"
    loose = solve(problem, method, tolerances=Tolerances(feasibility=1e-6))
    assert loose.action("inside") == "run"
    assert loose.keeps_bounds()
    assert not loose.evaluate().keeps_bounds()
    assert loose.problem is problem
    assert loose.policy.problem is problem
    # To the last digit that can be told.
    strict = Tolerances(feasibility=1e-11)
    assert solve(walk_or_run(1.0 + 5e-10, 1.0), method).action("inside") == "run"
    assert solve(walk_or_run(1.0 + 5e-10, 1.0), method, tolerances=strict).action("inside") == "walk"
    assert solve(walk_or_run(1.0, 1.0), method, tolerances=strict).action("inside") == "run"


def test_what_is_infeasible_is_told_with_the_bound_as_it_was_given() -> None:
    room = CSSPBuilder(cost_names=("time", "risk"), bounds={"risk": 1.0})
    inside, outside = room.add_state("inside"), room.add_goal("outside")
    room.add_action(inside, "run", to=outside, costs={"time": 1.0, "risk": 1.5})
    plan = solve(room.build(), tolerances=Tolerances(feasibility=0.25))
    assert isinstance(plan.proof, Infeasible)
    assert plan.message == (
        "no policy keeps the bound on 'risk': the least achievable risk is 1.5, above the bound 1; "
        "raise the bound"
    )
    assert solve(room.build(), tolerances=Tolerances(feasibility=0.51)).found


def test_what_counts_as_optimal_can_be_chosen() -> None:
    problem = walk_or_run(2.0, 1.0)
    rough = solve(problem, stop=Gap(0.5), tolerances=Tolerances(optimality=0.5))
    assert rough.gap <= 0.5
    assert rough.status is Status.OPTIMAL
    assert rough.evaluated().status is Status.OPTIMAL


def test_a_plan_is_resolved_with_its_own_tolerances() -> None:
    plan = solve(walk_or_run(1.0 + 1e-7, 1.0), tolerances=Tolerances(feasibility=1e-6))
    assert plan.resolve(risk=1.0).action("inside") == "run"
    assert plan.resolve(risk=1.0, tolerances=Tolerances()).action("inside") == "walk"


def test_what_was_proven_for_less_is_not_taken_over_for_more() -> None:
    problem = walk_or_run(1.0 + 1e-7, 1.0)
    strict = solve(problem)
    assert strict.status is Status.OPTIMAL
    assert strict.lower_bound == pytest.approx(10.0, rel=1e-11)
    loose = solve(problem, start=strict, tolerances=Tolerances(feasibility=1e-6))
    assert (loose.status, loose.upper_bound) == (Status.OPTIMAL, 1.0)
    # The other way round a bound holds, and so does not the plan.
    assert solve(problem, start=loose).upper_bound == 10.0


def test_the_command_line_knows_the_same_tolerances() -> None:
    from hcssp import numerics
    from hcssp.cli import arguments

    assert arguments.FEASIBILITY_TOLERANCE == numerics.FEASIBILITY_TOLERANCE
    assert arguments.LEAST_TOLERANCE == numerics.LEAST_TOLERANCE


def test_procedures_take_tolerances_too() -> None:
    procedure = ProcedureBuilder()
    start, out = procedure.add_event("start"), procedure.add_event("out")
    room = procedure.add_activity("room", walk_or_run(1.0 + 1e-7, inf))
    procedure.add_choice(start, "enter", to=[Outcome(1.0, out, runs=room)])
    procedure.add_constraint("risk", at_most=1.0, counts={room: "risk"})
    problem = procedure.build(start=start, end=out)
    plan = solve(problem, tolerances=Tolerances(feasibility=1e-6))
    assert plan.problem is problem
    assert (plan.upper_bound, plan.action("room", "inside")) == (1.0, "run")


BAND = (0.5, 0.9985, 0.9989, 0.9995, 0.99999, 1.0 - 1e-9, 1.0, 1.0 + 1e-9, 1.0005, 1.0011, 1.5)
"""Shares of the tolerance by which a bound is exceeded."""


@pytest.mark.parametrize("walks", [True, False], ids=["and walk", "alone"])
@pytest.mark.parametrize("bound", [1.0, 3.7, 1e-5])
@pytest.mark.parametrize("method", [*METHODS, BudgetAllocation(iterations=inf)], ids=lambda each: each.name)
def test_what_nearly_spends_the_tolerance_is_judged_alike_by_all_methods(
    method: Solver, bound: float, walks: bool
) -> None:
    for share in BAND:
        risk = bound * (1.0 + share * 1e-9)
        room = CSSPBuilder(cost_names=("time", "risk"), bounds={"risk": bound})
        inside, outside = room.add_state("inside"), room.add_goal("outside")
        room.add_action(inside, "run", to=outside, costs={"time": 1.0, "risk": risk})
        if walks:
            room.add_action(inside, "walk", to=outside, costs={"time": 10.0})
        problem = room.build()
        # As the decimals that the numbers stand for.
        kept = Fraction(repr(risk)) <= Fraction(repr(bound)) * (1 + Fraction(1, 10**9))
        assert evaluate(problem, DeterministicPolicy(problem, np.array([0, -1]))).keeps_bounds() == kept
        optimum = 1.0 if kept else 10.0 if walks else inf
        plan = solve(problem.procedure if method.name == "budget-allocation" else problem, method)
        assert plan.lower_bound <= optimum
        assert plan.upper_bound >= optimum
        if kept:
            assert plan.upper_bound == optimum
