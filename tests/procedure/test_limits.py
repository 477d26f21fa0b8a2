"""Limits for each execution of a use."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import hcssp
import hcssp.methods.paper
from brute_force_procedures import brute_force
from hcssp.errors import InvalidProblem
from hcssp.files import dump_problem
from hcssp.files.problem_file.loading import load_text
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.solving.bound_range import bound_range
from random_nestings import random_limits
from small_procedures import fork, risky_room


def crossing(limit: float) -> HCSSP:
    """Walk round for 3, or dash through for 2 and a damage of 8."""
    plan = ProcedureBuilder("crossing")
    here, there = plan.add_event("here"), plan.add_event("there")
    cross = plan.add_activity("cross", risky_room())
    plan.add_choice(here, "go", to=[Outcome(1.0, there, runs=cross)])
    plan.add_constraint("damage", at_most=limit, counts={cross: "damage"})
    return plan.build(start=here, end=there)


def street(limit: float, again: float = 0.0, at_will: bool = False) -> HCSSP:
    """Cross, perhaps once more, or take a bridge that takes 10."""
    plan = ProcedureBuilder("street")
    start, middle, end = (plan.add_event(name) for name in ("start", "middle", "end"))
    cross, walk = plan.add_activity("road", crossing(limit)), plan.add_activity("path", risky_room())
    plan.add_choice(start, "road", to=[Outcome(0.8, middle, runs=cross), Outcome(0.2, middle)])
    plan.add_choice(start, "path", to=[Outcome(1.0, middle, runs=walk)])
    back = [Outcome(again, start)] if again else []
    plan.add_choice(middle, "done", to=[Outcome(1.0 - again, end), *back])
    if at_will:
        plan.add_choice(middle, "again", to=[Outcome(1.0, start)])
    plan.add_constraint("damage", at_most=np.inf, counts={cross: "damage", walk: "damage"})
    return plan.build(start=start, end=end)


def test_a_bound_of_a_procedure_is_a_limit_of_its_uses() -> None:
    limit = street(7.0).constraints[1]
    assert (limit.name, limit.at_most, limit.limit, limit.counts) == ("road/damage", 7.0, 7.0, {0: 1})
    # The path loses the 0.8 executions that could be expected, and 0.2 are lost at the end in any case.
    assert limit.per is not None
    assert limit.per.losses == pytest.approx({1: 0.8, 2: 0.2})


@pytest.mark.parametrize(("limit", "cost"), [(8.0, 1.6), (7.9, 2.0), (0.0, 2.0), (np.inf, 1.6)])
def test_it_holds_for_each_execution_and_not_on_average(limit: float, cost: float) -> None:
    # On average the road does 6.4 damage; whenever it is taken 8.
    plan = hcssp.solve(street(limit))
    assert plan.upper_bound == pytest.approx(cost)
    verdict = hcssp.check(plan.problem, plan.certificate, exact=True)
    assert verdict.lower_bound == pytest.approx(cost)


def test_where_a_use_is_not_run_its_limit_is_kept() -> None:
    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    road = plan.add_activity("road", one_way())
    dash = plan.add_activity("dash", risky_room())
    plan.add_choice(start, "road", to=[Outcome(1.0, end, runs=road)])
    plan.add_choice(start, "dash", to=[Outcome(1.0, end, runs=dash)])
    answer = hcssp.solve(plan.build(start=start, end=end))
    assert answer.policy.choice("start") == "dash"
    (limit,) = answer.evaluate().limits
    assert (limit.use, limit.limit, limit.expected_executions, limit.usage_per_execution) == (
        "road",
        3.0,
        0.0,
        None,
    )


def one_way() -> HCSSP:
    """Only dashing, which breaks the limit of 3."""
    room = risky_room()
    only = room.derive(
        transitions=room.transitions[[1]], row_start=np.array([0, 1, 1]), costs=room.costs[:, [1]]
    )
    plan = ProcedureBuilder("one way")
    here, there = plan.add_event("here"), plan.add_event("there")
    cross = plan.add_activity("cross", only.derive(action_labels=("dash",)))
    plan.add_choice(here, "go", to=[Outcome(1.0, there, runs=cross)])
    plan.add_constraint("damage", at_most=3.0, counts={cross: "damage"})
    return plan.build(start=here, end=there)


def test_a_limit_that_nothing_keeps_is_infeasible() -> None:
    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    plan.add_choice(start, "road", to=[Outcome(1.0, end, runs=plan.add_activity("road", one_way()))])
    answer = hcssp.solve(plan.build(start=start, end=end))
    assert answer.status == "infeasible"
    assert hcssp.check(answer.problem, answer.certificate, exact=True).lower_bound == np.inf


def test_more_than_one_execution() -> None:
    problem = street(7.0, again=0.5)
    limit = problem.constraints[1]
    assert limit.per is not None
    assert limit.per.most_executions == pytest.approx(1.6)
    assert (limit.at_most, limit.limit) == (pytest.approx(11.2), pytest.approx(7.0))
    answer = hcssp.solve(problem)
    assert answer.upper_bound == pytest.approx(4.0)
    (found,) = answer.evaluate().limits
    assert (found.expected_executions, found.usage_per_execution) == (0.0, None)
    loose = hcssp.solve(street(8.0, again=0.5))
    (found,) = loose.evaluate().limits
    assert loose.upper_bound == pytest.approx(3.2)
    assert found.usage_per_execution == pytest.approx(8.0)


def test_limits_of_uses_inside_uses_go_along() -> None:
    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    inner = plan.add_activity("town", street(7.0))
    plan.add_choice(start, "go", to=[Outcome(1.0, end, runs=inner)])
    problem = plan.build(start=start, end=end)
    assert problem.constraint_names == ("town/road/damage",)
    assert "limit town/road/damage <= 7 for each execution of town/road" in str(problem)
    assert hcssp.solve(problem).upper_bound == pytest.approx(2.0)
    assert load_text(dump_problem(problem)) == problem


def test_a_use_that_can_be_run_at_will_cannot_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    # It takes them all to see that there is no end.
    monkeypatch.setattr("hcssp.procedure.limits.MOST_SWEEPS", 1000)
    with pytest.raises(InvalidProblem, match=r"'road/damage': 'road' can be run as often as one likes"):
        street(7.0, at_will=True)


def test_a_use_that_an_exit_decides_about_cannot_have_a_limit() -> None:
    plan = ProcedureBuilder()
    start, middle, end = (plan.add_event(name) for name in ("start", "middle", "end"))
    turn, road = plan.add_activity("turn", fork()), plan.add_activity("road", crossing(7.0))
    plan.add_choice(start, "go", to=[Outcome(1.0, middle, runs=turn, exits={"left": end})])
    plan.add_choice(middle, "go", to=[Outcome(1.0, end, runs=road)])
    with pytest.raises(InvalidProblem, match=r"whether 'road' is still to come depends on the exit"):
        plan.build(start=start, end=end)


def test_another_limit_is_another_problem() -> None:
    problem = street(7.9)
    plan = hcssp.solve(problem)
    assert plan.resolve({"road/damage": 8.0}).upper_bound == pytest.approx(1.6)
    assert problem.with_bounds({"road/damage": 8.0}).choice_costs[2, 1] == pytest.approx(6.4)
    with pytest.raises(InvalidProblem, match="a file cannot hold a limit for one use only"):
        dump_problem(problem.with_bounds({"road/damage": 8.0}))


@pytest.mark.parametrize("mode", hcssp.methods.paper.MODES)
@pytest.mark.parametrize(("limit", "cost"), [(8.0, 1.6), (7.9, 2.0), (0.0, 2.0)])
def test_budget_allocation_keeps_limits(limit: float, cost: float, mode: Any) -> None:
    plan = hcssp.solve(street(limit), hcssp.BudgetAllocation(iterations=np.inf, mode=mode))
    assert plan.upper_bound == pytest.approx(cost)
    assert plan.lower_bound == pytest.approx(cost, rel=1e-7)


def test_the_curve_over_a_limit() -> None:
    curve = hcssp.trade_off(street(7.0), "road/damage", [0.0, 7.9, 8.0, 9.0], gap=1e-6)
    assert [point.upper_bound for point in curve.points] == pytest.approx([2.0, 2.0, 1.6, 1.6])
    assert [point.lower_bound for point in curve.points] == pytest.approx([2.0, 2.0, 1.6, 1.6], rel=1e-5)
    # There are no straight pieces: it is not convex.
    assert len(curve.breakpoints) == 0
    assert not curve.exact
    assert bound_range(street(7.0), "road/damage") == (0.0, pytest.approx(8.0))


@pytest.mark.parametrize("cycles", [False, True])
def test_points_over_a_limit_agree_with_all_policies(cycles: bool) -> None:
    free, problem = random_limits(4, cycles=cycles)
    name = problem.constraints[-1].name
    curve = hcssp.trade_off(problem, name, [0.5, 2.0, 5.0], gap=1e-7)
    every = [
        hcssp.evaluate(problem, hcssp.extend.ProcedurePolicy(problem, rows))
        for rows in brute_force(free).rows
    ]
    for point in curve.points:
        under = problem.with_bounds({name: point.bound})
        limits = {each.name: each.limit for each in under.constraints if each.per is not None}
        kept = [
            float(found.costs[0])
            for found in every
            if found.cost("damage") <= under.constraints[0].at_most * (1 + 1e-9)
            and all(own.usage <= limits[own.name] * own.expected_executions + 1e-9 for own in found.limits)
        ]
        if not kept:
            assert point.plan.status == "infeasible"
            continue
        assert point.upper_bound == pytest.approx(min(kept), rel=1e-6)
        assert point.lower_bound == pytest.approx(min(kept), rel=1e-5)
        assert point.stochastic <= min(kept) * (1 + 1e-9)


def test_the_exit_of_an_activity_may_end_the_procedure() -> None:
    # The use runs half of the time; then an activity is over for good, or not: no choice loses what is left.
    gate = hcssp.CSSPBuilder(cost_names=("time", "damage"))
    here, out, on = gate.add_state("here"), gate.add_goal("out"), gate.add_goal("on")
    gate.add_action(here, "leave", to=out, costs={"time": 1.0})
    gate.add_action(here, "stay", to={on: 0.5, out: 0.5}, costs={"time": 2.0})
    gate.set_initial(here)
    plan = ProcedureBuilder("street with a gate")
    start, middle, later, end = (plan.add_event(name) for name in ("start", "middle", "later", "end"))
    road, door = plan.add_activity("road", crossing(7.0)), plan.add_activity("door", gate.build())
    walk = plan.add_activity("walk", risky_room())
    plan.add_choice(start, "go", to=[Outcome(0.5, middle, runs=road), Outcome(0.5, middle)])
    plan.add_choice(middle, "through", to=[Outcome(1.0, end, runs=door, exits={"on": later})])
    plan.add_choice(later, "on", to=[Outcome(1.0, end, runs=walk)])
    plan.add_constraint("damage", at_most=np.inf, counts={road: "damage", door: "damage", walk: "damage"})
    problem = plan.build(start=start, end=end)
    every = brute_force(problem)
    assert len(every.rows) > 3
    for rows, costs in zip(every.rows, every.costs, strict=True):
        (limit,) = hcssp.evaluate(problem, hcssp.extend.ProcedurePolicy(problem, rows)).limits
        left = limit.limit * limit.expected_executions - limit.usage
        assert problem.constraints[1].at_most - costs[2] == pytest.approx(left)


def in_a_row(count: int) -> HCSSP:
    """As many uses of one procedure, one after the other; each may be skipped."""
    plan, used = ProcedureBuilder("row"), crossing(7.0)
    events = [plan.add_event(f"e{number}") for number in range(count + 1)]
    for number in range(count):
        cross = plan.add_activity(f"a{number}", used)
        plan.add_choice(events[number], "cross", to=[Outcome(1.0, events[number + 1], runs=cross)])
        plan.add_choice(events[number], "skip", to=[Outcome(1.0, events[number + 1])])
    return plan.build(start=events[0], end=events[-1])


def calls(function: Callable[[], object]) -> int:
    """How many functions are called, in Python or C."""
    counted = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return counted


def test_the_work_grows_with_the_uses_and_not_with_their_square() -> None:
    few, many = calls(lambda: in_a_row(32)), calls(lambda: in_a_row(128))
    assert many < 5.0 * few


def test_each_use_of_many_has_its_own_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    # Also where a pass takes a part of the uses.
    monkeypatch.setattr("hcssp.procedure.limits._USES_AT_ONCE", 3)
    problem = in_a_row(7)
    for number, limit in enumerate(problem.constraints):
        assert limit.per is not None
        skip = next(
            index
            for index, choice in enumerate(problem.choices)
            if choice.name == "skip" and problem.events[choice.event] == f"e{number}"
        )
        assert limit.per.most_executions == 1.0
        assert limit.per.losses == pytest.approx({skip: 1.0})


def rarely(rooms: list[tuple[float, float]], limit: float, maybe: float, back: float) -> HCSSP:
    """A floor that is crossed with probability `maybe`, and again and again if one likes.

    `rooms` are the actions of its only room, each with its time and damage.
    """
    room = hcssp.CSSPBuilder(cost_names=("time", "damage"))
    inside, out = room.add_state("inside"), room.add_goal("out")
    for number, costs in enumerate(rooms):
        room.add_action(inside, f"a{number}", to=out, costs=costs)
    room.set_initial(inside)
    floor = ProcedureBuilder("floor")
    begin, end = floor.add_event("begin"), floor.add_event("end")
    only = floor.add_activity("room", room.build())
    floor.add_choice(begin, "go", to=[Outcome(1.0, end, runs=only)])
    floor.add_constraint("damage", at_most=limit, counts={only: "damage"})
    plan = ProcedureBuilder("house")
    start, below, above, last = (plan.add_event(name) for name in ("start", "below", "above", "last"))
    use = plan.add_activity("floor", floor.build(start=begin, end=end))
    plan.add_choice(start, "maybe", to=[Outcome(maybe, below), Outcome(1.0 - maybe, last)])
    plan.add_choice(start, "go", to=[Outcome(1.0, below)])
    plan.add_choice(below, "cross", to=[Outcome(1.0, above, runs=use)])
    plan.add_choice(above, "stop", to=[Outcome(1.0, last)])
    plan.add_choice(above, "again", to=[Outcome(back, below), Outcome(1.0 - back, last)])
    return plan.build(start=start, end=last)


@pytest.mark.parametrize(
    "solver",
    [
        hcssp.PolicyBranching(),
        hcssp.BudgetAllocation(iterations=np.inf),
        hcssp.Anytime(),
        hcssp.LinearProgram(),
        hcssp.MixedInteger(),
    ],
    ids=lambda each: each.name,
)
@pytest.mark.parametrize("maybe", [2.0**-10, 2.0**-30])
@pytest.mark.parametrize("back", [0.5, 1.0 - 2.0**-10])
def test_a_limit_is_kept_relative_to_the_executions_that_are_made(
    solver: Any, maybe: float, back: float
) -> None:
    most_share = maybe * (1.0 - back)
    for over in (9e-10, 1.1e-9, 1e-6, 1e-3, 0.5):
        rooms = [(10.0, 3.0), (4.0, 3.0 * (1.0 + over)), (1.0, 100.0)]
        # Whoever crosses as rarely as possible, in the fastest way that keeps the limit.
        kept = [time for time, damage in rooms if Fraction(damage) <= 3 * (1 + Fraction(1, 10**9))]
        least = maybe * min(kept)
        plan = hcssp.solve(rarely(rooms, 3.0, maybe, back), solver)
        assert plan.lower_bound <= least * (1.0 + 1e-9)
        if plan.found:
            (limit,) = plan.evaluate().limits
            assert limit.usage_per_execution <= 3.0 * (1.0 + 1.001e-9)
            assert plan.upper_bound >= least * (1.0 - 1e-9)
        # What rounding may hide is a share of the most executions, not of those that are made.
        # Budget allocation adds up tolerances of its own, and HiGHS has absolute ones.
        clear = {"exact": 1e-12, "anytime": 1e-12, "budget-allocation": 3e-9}.get(solver.name, np.inf)
        if abs(over - 1e-9) * most_share > clear:
            assert plan.upper_bound == pytest.approx(least, rel=1e-9)
            assert plan.lower_bound == pytest.approx(least, rel=1e-6)


def test_a_limit_broken_in_rare_executions_is_broken() -> None:
    loose, problem = (rarely([(1.0, 4.5)], limit, 2.0**-30, 0.5) for limit in (5.0, 3.0))
    found = hcssp.evaluate(problem, hcssp.solve(loose).policy)
    assert not found.keeps_bounds()
    assert found.violations() == {"floor/damage": pytest.approx(1.5 * 2.0**-30)}
