"""Planning the rest anew."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest

import hcssp
from brute_force_procedures import brute_force_flat
from hcssp.contract.plan import Plan
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import NO_ROW
from hcssp.errors import BudgetSpent, InvalidProblem
from hcssp.evaluation.exact import expected_remaining
from hcssp.files.problem_file.loading import load_text
from hcssp.scenarios import small_building
from hcssp.scenarios.domains.evacuation import SMALL
from hcssp.solving.replan import rest_to_plan
from random_nestings import random_limits
from random_procedures import random_procedure
from volume import some


@pytest.fixture(scope="module")
def plan() -> Plan:
    return hcssp.solve(hcssp.small_building(bound=2.0))


def changed_building() -> hcssp.HCSSP:
    """The door's room burns elsewhere."""
    return load_text(SMALL.text().replace("at: [2, 1, 1, 1]", "at: [2, 2, 1, 1]"))


def test_what_was_spent_counts(plan: Plan) -> None:
    rest = plan.replan(at="hallway", spent={"damage": 1.5})
    assert rest.bounds == {"damage": 0.5}
    assert rest.status == "optimal"
    assert rest.upper_bound == pytest.approx(56.1921, rel=1e-5)
    with pytest.raises(BudgetSpent):
        plan.replan(at="hallway", spent={"damage": 2.5})


@pytest.mark.parametrize("several_exits", [False, True])
@pytest.mark.parametrize("seed", [0, 3, 4])
def test_what_the_plan_expected_counts(seed: int, several_exits: bool) -> None:
    problem = random_procedure(seed, several_exits=several_exits)
    plan = hcssp.solve(problem)
    if not plan.found:
        return
    remaining = expected_remaining(problem, plan.policy)
    flattening, flat = problem.flattening, problem.flattening.cssp
    for state in np.flatnonzero((plan.policy.rows != NO_ROW) & np.isfinite(remaining[0])).tolist():
        label = flattening.state_labels[state]
        # An event that can be entered in several states is written with that word before it.
        rest = plan.replan(at=label[1:] if isinstance(label, tuple) and label[0] == "event" else label)
        # In a world that did not change the plan goes on, or better, and is told what it left unused.
        assert rest.upper_bound <= remaining[0, state] * (1 + 1e-6)
        left = problem.bounds - plan.evaluation.costs[1:] + remaining[1:, state]
        expected = dict(zip(problem.constraint_names, left.tolist(), strict=True))
        assert rest.bounds == pytest.approx({name: expected[name] for name in rest.bounds}, abs=1e-9)
        # Beside all policies of the whole from there.
        initial = np.zeros(flat.num_states)
        initial[state] = 1.0
        truth = brute_force_flat(flat.derive(initial=initial)).optimum(np.maximum(left, 0.0))
        assert truth is not None
        assert rest.upper_bound == pytest.approx(truth[0], rel=1e-6)


def test_a_changed_world_gives_the_plan_that_is_made_anew(plan: Plan) -> None:
    world = changed_building()
    rest = plan.replan(problem=world)
    anew = hcssp.solve(world)
    assert rest.problem == world
    assert rest.upper_bound == pytest.approx(anew.upper_bound, rel=1e-6)
    assert hcssp.check(world, rest.certificate, exact=True).lower_bound == pytest.approx(
        anew.lower_bound, rel=1e-5
    )


def test_what_did_not_change_is_not_planned_anew(plan: Plan) -> None:
    world = changed_building()
    known = plan.memory.oracle(plan.problem).planners
    planners = plan.replan(problem=world).memory.oracle(world).planners
    same = [mine is theirs for mine, theirs in zip(planners, known, strict=True)]
    assert dict(zip((each.name for each in world.activities), same, strict=True)) == {
        "go-to-door": True, "go-to-E": True, "return-to-E": True, "leave-through-E": True,
        "leave-through-door": False,
    }  # fmt: skip


@pytest.mark.parametrize("cycles", [False, True])
@pytest.mark.parametrize("seed", [1, 5, 8])
def test_the_regions_of_the_old_search_prove_as_much(seed: int, cycles: bool) -> None:
    problem = random_procedure(seed, cycles=cycles, num_constraints=1)
    plan = hcssp.solve(problem)
    name = problem.activities[0].name
    cssp = problem.activities[0].cssp
    # A little dearer, so that another search would split much the same regions; in a row not at all.
    dearer = cssp.costs * np.where(np.arange(cssp.num_rows) % 2, 1.0, 1.01)
    changed = problem.with_activities({name: cssp.derive(costs=dearer)})
    again, anew = plan.replan(problem=changed), hcssp.solve(changed)
    assert again.status == anew.status
    verdict = hcssp.check(changed, again.certificate, exact=True)
    if anew.found:
        assert again.upper_bound == pytest.approx(anew.upper_bound, rel=2e-6)
        assert verdict.lower_bound == pytest.approx(anew.upper_bound, rel=1e-5)


@pytest.mark.parametrize("seed", some(range(40)))
def test_what_is_dearer_elsewhere_leaves_the_plan_and_its_proof(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_procedure(seed, cycles=bool(seed % 2), num_constraints=1 + seed % 2)
    plan = hcssp.solve(problem)
    if not plan.found:
        return
    changed = {}
    for activity, rows in zip(problem.activities, plan.policy.activities, strict=True):
        factors = 1.0 + rng.integers(0, 2, activity.cssp.num_rows) * rng.random(activity.cssp.num_rows)
        # Now and then something that the plan may not know how to use is cheaper.
        factors[rng.random(len(factors)) < 0.02] = 0.97
        factors[rows[rows >= 0]] = 1.0
        changed[activity.name] = activity.cssp.derive(costs=factors * activity.cssp.costs)
    world = problem.with_activities(changed)
    again, anew = plan.replan(problem=world), hcssp.solve(world)
    assert again.upper_bound == pytest.approx(anew.upper_bound, rel=2e-6)
    verdict = hcssp.check(world, again.certificate, exact=True)
    assert verdict.lower_bound == pytest.approx(anew.upper_bound, rel=1e-5)


def with_other_uses(cssp: CSSP, seed: int) -> CSSP:
    """The same moves, some of which use more and some less than before."""
    rng = np.random.default_rng(seed)
    costs = cssp.costs.copy()
    changed = rng.random(cssp.num_rows) < 0.5
    costs[1:, changed] = rng.exponential(2.0, size=(len(costs) - 1, int(changed.sum())))
    return cssp.derive(costs=costs)


@pytest.mark.parametrize("seed", some(range(60), 6))
def test_a_plan_after_other_uses_is_the_best_and_proven(seed: int) -> None:
    """Only secondary costs change, as when hazards move; beside a search of its own."""
    problem = random_procedure(seed, cycles=seed % 2 == 0, num_constraints=1)
    plan = hcssp.solve(problem)
    if not plan.found:
        return
    changed = {
        each.name: with_other_uses(each.cssp, 7 * seed + index)
        for index, each in enumerate(problem.activities)
        if (seed + index) % 2
    }
    world = problem.with_activities(changed)
    again, anew = plan.replan(problem=world), hcssp.solve(world)
    assert again.status == anew.status
    if anew.found:
        assert again.upper_bound == pytest.approx(anew.upper_bound, rel=2e-6)
        verdict = hcssp.check(world, again.certificate, exact=True)
        assert verdict.lower_bound == pytest.approx(again.lower_bound, rel=1e-6)


def test_a_wall_where_the_plan_went(plan: Plan) -> None:
    cell = (2, 1)
    world = plan.problem.activities[4].cssp.world
    walled = replace(world, walls=((*cell, 1, 1),)).to_cssp()
    problem = plan.problem.with_activities({"leave-through-door": walled})
    rest = plan.replan(at="door-open", problem=problem)
    assert cell not in rest.problem.activities[0].cssp.state_index
    assert rest.status == "optimal"
    with pytest.raises(hcssp.errors.UnknownName, match="no activity 'leave'"):
        plan.problem.with_activities({"leave": walled})


def test_limits_are_for_the_execution_under_way() -> None:
    _, problem = random_limits(3, cycles=True)
    plan = hcssp.solve(problem)
    run = plan.start()
    run.step()
    while not run.over and run.decision.activity is None:
        run.step(*run.possible()[0][::-1][:1], outcome=run.possible()[0][0])
    rest = plan.replan(at=run.decision)
    # Nothing has been spent, and the plan goes on.
    assert rest.upper_bound <= run.decision.remaining["time"] * (1 + 1e-6)


def test_a_run_goes_on_by_the_new_plan(plan: Plan) -> None:
    run = plan.start()
    for seen in (None, (0, 2), (1, 2)):
        run.step(seen)
    before = run.decision
    new = run.replan(problem=changed_building(), spent={"damage": 0.7})
    after = new.decision
    assert (after.activity, after.state) == (before.activity, before.state) == ("go-to-door", (1, 2))
    assert after.budget_left == pytest.approx({"damage": 1.3})
    assert after.spent == {"time": 0.0, "damage": 0.0}
    new.step((2, 2) if ("go-to-door", (2, 2)) in new.possible() else new.possible()[0][1])
    # Once more, with a whole world and what is spent since.
    again = new.replan(problem=hcssp.small_building(bound=2.0), spent={"damage": 0.2})
    assert again.decision.budget_left == pytest.approx({"damage": 2.0 - 0.7 - 0.2})
    assert new.replan(spent={"damage": 0.2}).decision.budget_left == pytest.approx({"damage": 1.1})


def test_the_old_plan_is_kept_if_no_better_one_is_found(plan: Plan) -> None:
    run = plan.start()
    for seen in (None, (0, 2), (1, 2)):
        run.step(seen)
    # Nothing has changed, so what is left of the best plan is the best plan.
    same = run.replan()
    assert same.plan is not None
    assert same.plan.kept
    assert same.plan.upper_bound == pytest.approx(run.decision.remaining["time"])
    # With more of the budget left there is a better one.
    richer = run.replan(spent={"damage": 0.0}, problem=hcssp.small_building(bound=4.0))
    assert not richer.plan.kept
    assert richer.plan.upper_bound < same.plan.upper_bound
    assert not hcssp.solve(hcssp.small_building(bound=2.0)).kept


def test_the_old_plan_begins_the_search_at_every_level_of_a_capacity() -> None:
    flight = hcssp.solve(hcssp.scenarios.aircraft(fuel=75), gap=1e-2)
    run = flight.start()
    for seen in (None, "at the gate", "north"):
        run.step(seen)
    again = run.replan(time_limit=0.0)
    assert again.plan is not None
    assert again.plan.kept
    assert again.plan.upper_bound == pytest.approx(run.decision.remaining["minutes"])


def test_a_single_problem(plan: Plan) -> None:
    way = hcssp.GridWorld.from_map("S.h.G\n.....", hazards={"h": {"damage": 1.0}}, slip=0.2)
    problem = way.to_cssp().derive(bounds=np.array([0.5]))
    whole = hcssp.solve(problem)
    rest = whole.replan(at=(2, 1), spent={"damage": 0.2})
    assert rest.bounds == pytest.approx({"damage": 0.3})
    assert rest.policy.problem.initial[problem.state_index[2, 1]] == 1.0
    run = whole.start()
    run.step()
    assert run.replan().decision.state == run.decision.state


def test_what_is_not_said_is_asked_for(plan: Plan) -> None:
    with pytest.raises(InvalidProblem, match="the amount of 'damage' is missing"):
        plan.replan(at="hallway", spent={})
    with pytest.raises(InvalidProblem, match="there is no constraint 'smoke'"):
        plan.replan(at="hallway", spent={"damage": 1.0, "smoke": 1.0})
    with pytest.raises(InvalidProblem, match="give a number that is not negative"):
        plan.replan(at="hallway", spent={"damage": -inf})
    with pytest.raises(InvalidProblem, match="the plan never reaches state"):
        plan.replan(at=("go-to-E", (3, 1)))
    with pytest.raises(InvalidProblem, match="of another kind"):
        plan.replan(problem=plan.problem.activities[0].cssp)


@pytest.mark.parametrize("spent", [None, {"damage": 0.5}, {"damage": 1.5}])
def test_the_rest_of_a_randomised_plan_is_randomised(spent: dict[str, float] | None) -> None:
    plan = hcssp.solve(small_building(bound=2.0), policies="randomised")
    rest = plan.replan(at="hallway", spent=spent)
    assert rest.policies == "randomised"
    assert rest.status == "optimal"
    assert rest.upper_bound == pytest.approx(hcssp.solve(rest.problem, "lp").upper_bound, rel=1e-7)
    assert rest.policy.is_randomised == (spent is not None)


def test_the_random_choices_of_a_plan_are_carried_over() -> None:
    plan = hcssp.solve(small_building(bound=2.0), policies="randomised")
    here = plan.replan()
    assert here.kept
    assert here.policy.extra == plan.policy.extra
    later = rest_to_plan(plan, ("go-to-door", (2, 3)), None, None, None, plan.tolerances)[1]
    assert later is not None
    ((_, chance),) = later.policy.extra
    assert chance == plan.policy.extra[0][1]
    assert later.evaluate().costs[0] == pytest.approx(
        plan.replan(at=("go-to-door", (2, 3))).upper_bound, rel=1e-6
    )
