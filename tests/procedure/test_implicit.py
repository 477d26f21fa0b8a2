"""Procedures with implicit activities against the same procedures written out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hcssp
from hcssp.contract.plan import Plan
from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.cssp.model import CSSP
from hcssp.errors import InvalidProblem
from hcssp.procedure.builder import ProcedureBuilder
from hcssp.procedure.implicit import ImplicitProcedure
from hcssp.procedure.model import HCSSP, Outcome
from implicit_problems import highest_heuristic, implicit_of, walk_or_skate
from random_problems import random_cssp


def way(length: int, step: float = 2.0) -> ImplicitCSSP:
    """A way along the integers in batches: walk, or skate two at a time, which may fail and bruises."""
    return ImplicitCSSP.in_batches(
        (0,),
        walk_or_skate(step, length),
        lambda states: states[:, 0] >= length,
        lambda states: np.maximum(length - states[:, 0], 0.0),
        ("walk", "skate"),
        ("minutes", "bruises"),
        name="way",
        consistent=True,
    )


def exits_of(length: int) -> ImplicitCSSP:
    """The same way state by state; whoever skates past its end has another exit."""

    def transitions(place: int, action: str) -> dict[int, float]:
        return {place + 1: 1.0} if action == "walk" else {place + 2: 0.75, place: 0.25}

    def costs(place: int, action: str) -> tuple[float, float]:
        return (2.0, 0.0) if action == "walk" else (1.5, 1.0)

    return ImplicitCSSP(
        0,
        lambda place: ("walk", "skate"),
        transitions,
        costs,
        lambda place: place >= length,
        cost_names=("minutes", "bruises"),
    )


Part = Callable[[ImplicitCSSP], Any]


def trip(part: Part, bound: float = 3.0) -> ProcedureBuilder:
    """Two ways one after the other, with a shortcut that may lead back, and what lies past an exit."""
    procedure = ProcedureBuilder("trip")
    home, inn, past, there = (procedure.add_event(name) for name in ("home", "inn", "past", "there"))
    first = procedure.add_activity("first", part(way(6)))
    ferry = procedure.add_activity("ferry", part(way(2, step=9.0)))
    second = procedure.add_activity("second", part(exits_of(5)))
    back = procedure.add_activity("back", part(way(3)))
    procedure.add_choice(home, "on foot", to=[Outcome(1.0, inn, runs=first)])
    procedure.add_choice(home, "by ferry", to=[Outcome(0.8, inn, runs=ferry), Outcome(0.2, home)])
    procedure.add_choice(inn, "go on", to=[Outcome(1.0, there, runs=second, exits={6: past})])
    procedure.add_choice(past, "turn back", to=[Outcome(1.0, there, runs=back)])
    procedure.add_constraint(
        "bruises", at_most=bound, counts=dict.fromkeys((first, ferry, second, back), "bruises")
    )
    return procedure


def built(part: Part = lambda way: way, bound: float = 3.0) -> ImplicitProcedure:
    return trip(part, bound).build_implicit(start=0, end=3)  # type: ignore[arg-type]


def written_out(bound: float = 3.0) -> HCSSP:
    return trip(lambda way: way.enumerated(), bound).build(start=0, end=3)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def plan() -> Plan:
    return hcssp.solve(built())


@pytest.fixture(scope="module")
def truth() -> Plan:
    return hcssp.solve(written_out())


def test_the_plan_costs_what_that_of_the_whole_does(plan: Plan, truth: Plan) -> None:
    assert plan.status.value == truth.status.value == "optimal"
    assert plan.upper_bound == pytest.approx(truth.upper_bound, rel=1e-6)
    assert plan.cost("bruises") <= 3.0 + 1e-8


def test_it_is_evaluated_simulated_and_certified(plan: Plan) -> None:
    assert plan.evaluate().cost("minutes") == pytest.approx(plan.upper_bound)
    assert plan.simulate(runs=2000).mean("minutes").value == pytest.approx(plan.upper_bound, rel=0.05)
    assert hcssp.check(plan.problem, plan.certificate).lower_bound == pytest.approx(
        plan.lower_bound, rel=1e-5
    )


def test_it_is_solved_under_other_bounds(plan: Plan, truth: Plan) -> None:
    stricter = truth.resolve(bruises=1.0).upper_bound
    assert plan.resolve(bruises=1.0).upper_bound == pytest.approx(stricter, rel=1e-6)


def test_events_and_states_are_called_as_in_the_flat_problem(plan: Plan) -> None:
    assert plan.action("home") in ("on foot", "by ferry")
    assert plan.action("inn") == "go on"
    assert plan.action(("second", 0)) in ("walk", "skate")
    run = plan.start()
    decision = run.step()
    assert decision.action == plan.action("home")
    assert "second" in str(plan.problem.state_labels[plan.problem.state_index["second", 0]])


def test_heuristics_of_the_parts_add_up() -> None:
    problem = built()
    space = problem.space
    numbers = space.numbers()
    at_home = space.heuristics(space.initial[0])[:, 0]
    # First at least 6 minutes or the ferry's 2; what follows has no heuristic.
    assert at_home == pytest.approx([2.0 * 0.8 / 0.8, 0.0], rel=1e-6)
    assert numbers.find("home") is None  # nobody has met it yet


@pytest.mark.parametrize("seed", range(2))
def test_random_activities(seed: int) -> None:
    def told(index: int, implicit: bool) -> CSSP | ImplicitCSSP:
        problem = random_cssp(10 * seed + index)
        if not implicit or index == 1:
            return problem
        highest, number = 0.9 * highest_heuristic(problem), problem.state_index
        return implicit_of(problem, (lambda s: highest[:, number[s]].tolist()) if index else None)

    def stated(implicit: bool) -> ProcedureBuilder:
        procedure = ProcedureBuilder()
        start, middle, end = (procedure.add_event(name) for name in ("start", "middle", "end"))
        runs = [procedure.add_activity(f"part {i}", told(i, implicit)) for i in range(3)]
        procedure.add_choice(start, "go", to=[Outcome(0.5, middle, runs=runs[0]), Outcome(0.5, middle)])
        procedure.add_choice(middle, "x", to=[Outcome(1.0, end, runs=runs[1])])
        procedure.add_choice(middle, "y", to=[Outcome(0.7, end, runs=runs[2]), Outcome(0.3, start)])
        counted = {run: random_cssp(10 * seed + i).constraint_names[0] for i, run in enumerate(runs)}
        procedure.add_constraint("sum", at_most=(1.0, 2.0, 5.0)[seed % 3], counts=counted)
        return procedure

    truth = hcssp.solve(stated(False).build(start=0, end=2))  # type: ignore[arg-type]
    plan = hcssp.solve(stated(True).build_implicit(start=0, end=2))  # type: ignore[arg-type]
    assert plan.status == truth.status
    assert plan.lower_bound <= truth.upper_bound * (1.0 + 1e-9)
    if truth.found:
        assert plan.upper_bound == pytest.approx(truth.upper_bound, rel=1e-6)


def test_a_procedure_of_implicit_activities_is_an_activity(truth: Plan) -> None:
    inner = trip(lambda way: way, bound=np.inf).build_implicit(start=0, end=3)  # type: ignore[arg-type]
    outer = ProcedureBuilder("journey")
    begin, over = outer.add_event("begin"), outer.add_event("over")
    run = outer.add_activity("trip", inner)
    outer.add_choice(begin, "set out", to=[Outcome(1.0, over, runs=run)])
    outer.add_constraint("harm", at_most=3.0, counts={run: "bruises"})
    problem = outer.build_implicit(start=begin, end=over)
    plan = hcssp.solve(problem)
    assert plan.upper_bound == pytest.approx(truth.upper_bound, rel=1e-6)
    assert plan.action(("trip", ("second", 0))) in ("walk", "skate")


def test_it_must_be_built_as_what_it_is() -> None:
    with pytest.raises(InvalidProblem, match=r"activity 'first' is an implicit problem; use build_implicit"):
        trip(lambda way: way).build(start=0, end=3)  # type: ignore[arg-type]
    with pytest.raises(InvalidProblem, match="no activity is an implicit problem; use build"):
        trip(lambda way: way.enumerated()).build_implicit(start=0, end=3)  # type: ignore[arg-type]


def test_what_needs_the_whole_is_refused() -> None:
    procedure = trip(lambda way: way)
    procedure.add_probability("lost", of="past", at_most=0.1)
    with pytest.raises(InvalidProblem, match="'lost' bounds a probability, which is not possible beside"):
        procedure.build_implicit(start=0, end=3)  # type: ignore[arg-type]
    outer = ProcedureBuilder()
    begin, over = outer.add_event("begin"), outer.add_event("over")
    outer.add_choice(begin, "go", to=[Outcome(1.0, over, runs=outer.add_activity("trip", built()))])
    with pytest.raises(InvalidProblem, match="a bound of its own, 'bruises', which would hold for each"):
        outer.build_implicit(start=begin, end=over)


def test_limits_of_procedures_beside_it_are_refused() -> None:
    procedure = ProcedureBuilder()
    begin, middle, over = (procedure.add_event(name) for name in ("begin", "middle", "over"))
    inside = procedure.add_activity("inside", written_out())
    procedure.add_choice(begin, "go", to=[Outcome(1.0, middle, runs=inside)])
    procedure.add_choice(middle, "on", to=[Outcome(1.0, over, runs=procedure.add_activity("way", way(2)))])
    with pytest.raises(InvalidProblem, match="holds for each execution of a procedure, which is"):
        procedure.build_implicit(start=begin, end=over)


def test_what_is_wrong_in_an_activity_is_told_by_its_name() -> None:
    wrong = ImplicitCSSP(
        0, lambda s: ("on",), lambda s, a: {s + 1: 0.4}, lambda s, a: 1.0, lambda s: s >= 2, name="wrong"
    )
    procedure = ProcedureBuilder()
    begin, over = procedure.add_event("begin"), procedure.add_event("over")
    procedure.add_choice(begin, "go", to=[Outcome(1.0, over, runs=procedure.add_activity("hall", wrong))])
    with pytest.raises(InvalidProblem, match=r"\('hall', 0\), action 'on': probabilities sum to 0.4"):
        hcssp.solve(procedure.build_implicit(start=begin, end=over))
