from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from math import inf

import numpy as np
import pytest

from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.contract.progress import MaxIterations
from hcssp.contract.proof import Ending, Infeasible, Interval, Reason, Status
from hcssp.contract.solver import Memory
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.dual.ascent import Infeasibility
from hcssp.errors import HcsspError, InvalidProblem, NoSolution, UnknownName
from hcssp.evaluation.exact import ProcedureEvaluation, evaluate
from hcssp.methods.highs.linear_program import LinearProgram
from hcssp.methods.paper import BudgetAllocation
from hcssp.procedure import ProcedurePolicy
from hcssp.scenarios import small_building
from hcssp.solving.solve import solve
from known_optima import knapsack, roads
from small_procedures import forking, retrying
from solved_building import solved_building

ROADS = roads(damage=4.0)
ROUND, THROUGH, DASH = (DeterministicPolicy(ROADS, np.array([row, -1])) for row in range(3))
"""They cost 10, 6 and 4, with damage 0, 2 and 6."""


def made(policy: DeterministicPolicy, lower_bound: float = -inf) -> Plan:
    """A plan as a search would make it."""
    evaluation = evaluate(ROADS, policy)
    cost = float(evaluation.costs[0])
    return Plan(ROADS, policy, evaluation, Interval(lower_bound, cost), Ending(Reason.GAP), method="exact")


def test_by_default_a_plan_claims_nothing() -> None:
    plan = Plan(ROADS)
    assert plan.status is Status.UNKNOWN
    assert (plan.lower_bound, plan.upper_bound, plan.gap) == (-inf, inf, inf)
    assert plan.ending == Ending(Reason.UNKNOWN)
    assert not plan.found
    assert not plan.trace
    assert plan.prices is plan.evaluation is plan.stochastic is None
    assert plan.budgets == {}


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (
            Plan(ROADS),
            "no feasible policy was found before the stop (unknown); one may still exist",
        ),
        (
            Plan(ROADS, ending=Ending(Reason.CRITERION, "infeasible")),
            "no feasible policy was found before the stop (criterion (infeasible)); one may still exist",
        ),
        (
            Plan(ROADS, proof=Infeasible()),
            "no deterministic policy keeps the bounds (proved by search)",
        ),
        (
            Plan(ROADS, proof=Infeasible(Infeasibility(np.array([1.0, 0.0]), 5.0, 4.0))),
            "no policy keeps the bound on 'damage': the least achievable damage is 5, above the bound "
            "4; raise the bound",
        ),
    ],
)
def test_a_missing_policy_is_an_error_that_says_why(plan: Plan, message: str) -> None:
    assert plan.message == message
    for ask in (
        lambda: plan.policy,
        lambda: plan.action("here"),
        lambda: plan.choice("start"),
        lambda: plan.cost("time"),
        plan.evaluate,
        plan.evaluated,
        plan.simulate,
        plan.start,
    ):
        with pytest.raises(NoSolution) as raised:
            ask()
        assert str(raised.value) == message


def test_a_missing_policy_of_a_procedure_is_one_too() -> None:
    problem = retrying().with_bounds({"damage": 1.0, "damage-at-last": 3.0})
    plan = Plan(problem, proof=Infeasible(Infeasibility(np.array([0.5, 0.5]), 3.0, 2.0)))
    with pytest.raises(
        NoSolution, match="with damage at most 1 no plan has an expected damage-at-last below 5"
    ):
        _ = plan.as_procedure().policy


def test_what_was_found_needs_no_message() -> None:
    assert made(ROUND).message == ""
    assert made(ROUND).found


def test_actions_of_a_single_problem() -> None:
    plan = made(THROUGH)
    assert plan.action("here") == "through"
    assert plan.action("out") is None
    with pytest.raises(UnknownName, match="there is no state 'hre'; did you mean 'here'"):
        plan.action("hre")
    with pytest.raises(InvalidProblem, match="the problem has no activities; name the state alone"):
        plan.action("cross", "here")
    with pytest.raises(InvalidProblem, match=r"choice\('start'\): the problem has no events"):
        plan.choice("start")


def test_actions_and_choices_of_a_procedure() -> None:
    # Entered on the left the corridor is the only way that ends well; on the right one may leave.
    plan = solve(forking().with_bounds({"damage": 2.0}))
    assert plan.action("choose", "fork") == "fast"
    assert plan.action("choose", "left") is None
    assert plan.choice("start") == "choose"
    assert {plan.choice("hall", "left"), plan.choice("hall", "right")} <= {"walk", "wait"}
    assert plan.choice("out") is None
    policy = plan.as_procedure().policy
    assert policy.choice_names()["start"] == "choose"
    assert plan.choice("hall", "left") == policy.choice_names()[("hall", "left")]
    with pytest.raises(InvalidProblem, match="name the activity, then its state"):
        plan.action("fork")
    with pytest.raises(InvalidProblem, match="name the activity, then its state"):
        plan.action(0, "fork")
    with pytest.raises(HcsspError, match="there is no activity 'chose'"):
        plan.action("chose", "fork")
    with pytest.raises(HcsspError, match="event 'hal'"):
        plan.choice("hal")


def test_costs_by_name() -> None:
    assert [made(DASH).cost(name) for name in ROADS.cost_names] == [4.0, 6.0, 8.0]
    # What was not recorded is computed.
    assert replace(made(DASH), evaluation=None).cost("fuel") == 8.0


def test_the_bounds_by_name() -> None:
    assert made(ROUND).bounds == {"damage": 4.0, "fuel": inf}
    assert Plan(retrying()).bounds == {"damage": 2.0, "damage-at-last": inf}


def test_simulated_costs_are_near_the_exact_ones() -> None:
    plan = solve(retrying().with_bounds({"damage": 10.0}))
    simulation = plan.simulate(runs=2000, seed=1)
    assert plan.simulate(runs=2000, seed=1).totals.tolist() == simulation.totals.tolist()
    errors = 5.0 * simulation.standard_errors + 1e-9
    assert np.all(np.abs(simulation.means - plan.evaluate().costs) <= errors)
    assert plan.simulate(runs=10, max_steps=1).num_truncated == 10


def test_it_can_be_followed() -> None:
    run = made(THROUGH).start()
    assert run.step("here").action == "through"
    run.step("out")
    assert run.over


def test_plans_that_do_and_prove_the_same_are_equal() -> None:
    first, second = made(THROUGH, 5.0), made(DeterministicPolicy(roads(damage=4.0), THROUGH.rows), 5.0)
    assert first == second
    assert hash(first) == hash(second)
    # How they were found, and what they are called, is another question.
    assert first == replace(second, method="milp", seconds=3.0, ending=Ending(Reason.TARGET))
    assert first == replace(second, problem=ROADS.derive(name="roads"))


def test_plans_that_do_or_prove_something_else_are_not() -> None:
    plan = made(THROUGH, 5.0)
    assert plan != made(THROUGH, 5.5)
    assert plan != made(ROUND, 5.0)
    assert plan != Plan(ROADS)
    assert plan != replace(plan, problem=ROADS.with_bounds(fuel=3.0))
    assert Plan(ROADS) != Plan(ROADS, proof=Infeasible())
    assert plan != "a plan"


def test_searches_that_do_the_same_make_equal_plans() -> None:
    assert solve(small_building(bound=2.0)) == solved_building(2.0)
    assert solve(small_building(bound=4.0)) != solved_building(2.0)


def test_a_plan_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        made(ROUND).method = "milp"  # type: ignore[misc]


@pytest.mark.parametrize(
    "find",
    [
        lambda: solve(knapsack(6.0)),
        lambda: solve(forking()),
        lambda: solve(knapsack(6.0), LinearProgram()),
        lambda: solve(small_building(bound=2.0), BudgetAllocation(), stop=MaxIterations(3)),
        lambda: solve(roads(damage=-1.0)),
        lambda: solve(retrying()).as_procedure(),
    ],
    ids=["flat", "entangled", "randomised", "budgets", "infeasible", "procedure plan"],
)
def test_a_pickled_plan_is_the_same_but_for_its_memory(find: Callable[[], Plan]) -> None:
    plan = find()
    again = pickle.loads(pickle.dumps(plan))
    assert again == plan
    assert type(again) is type(plan)
    assert again.ending == plan.ending
    assert again.trace == plan.trace
    assert again.prices == plan.prices
    assert again.budgets == plan.budgets
    assert (again.method, again.seconds, again.iterations) == (plan.method, plan.seconds, plan.iterations)
    assert again.name == plan.name
    assert (again.stochastic is None) == (plan.stochastic is None)
    # A new memory: it has not seen any problem yet.
    assert isinstance(again.memory, Memory)
    assert again.memory is not plan.memory
    assert vars(again.memory) == vars(Memory())
    if plan.found:
        assert again.policy == plan.policy
        assert again.evaluate().costs.tolist() == plan.evaluate().costs.tolist()
        assert not again.policy.rows.flags.writeable
        assert again.resolve(damage=1e6).found


def test_under_other_bounds_nothing_is_proven() -> None:
    plan = made(DASH, 4.0)
    for fuel in (1.0, 100.0):
        other = plan.under(ROADS.with_bounds(fuel=fuel))
        assert other.bounds["fuel"] == fuel
        assert other.policy.rows.tolist() == DASH.rows.tolist()
        assert other.policy.problem.bounds[1] == fuel
        assert other.proof == Interval()
        assert other.status is Status.UNKNOWN
        assert other.prices is other.evaluation is None


def test_under_the_same_bounds_all_of_it_is() -> None:
    plan = made(THROUGH, 5.0)
    assert plan.under(roads(damage=4.0)) == plan
    assert plan.under(ROADS.derive(name="roads")).name == "roads"


def test_under_other_bounds_what_was_learnt_stays() -> None:
    plan = solved_building()
    assert plan.under(plan.problem.with_bounds(damage=1.0)).memory is plan.memory


def test_without_a_policy_there_is_none_under_other_bounds() -> None:
    assert not Plan(ROADS).under(ROADS.with_bounds(fuel=1.0)).found


def test_a_policy_that_keeps_its_bounds_has_its_cost_as_upper_bound() -> None:
    told = replace(made(THROUGH, 5.0), proof=Interval(5.0, 5.5), evaluation=None)
    evaluated = told.evaluated()
    assert (evaluated.lower_bound, evaluated.upper_bound) == (5.0, 6.0)
    assert evaluated.status is Status.FEASIBLE
    assert evaluated.evaluation is not None
    assert evaluated.evaluation.costs.tolist() == [6.0, 2.0, 3.0]


def test_a_policy_that_breaks_its_bounds_proves_nothing() -> None:
    told = replace(made(DASH), proof=Interval(4.0, 4.0))
    assert told.evaluated().proof == Interval()
    assert made(THROUGH, 6.0).under(ROADS.with_bounds(damage=1.0)).evaluated().proof == Interval()
    kept = made(THROUGH, 6.0).under(ROADS.with_bounds(damage=5.0)).evaluated()
    assert kept.proof == Interval(-inf, 6.0)


def test_a_procedures_plan_under_a_looser_bound_keeps_its_cost() -> None:
    plan = solve(retrying().with_bounds({"damage": 8.0}))
    looser = plan.under(plan.problem.with_bounds({"damage": 10.0})).evaluated()
    assert looser.upper_bound == plan.upper_bound
    assert looser.lower_bound == -inf
    assert isinstance(looser.evaluation, ProcedureEvaluation)


def test_a_single_problem_is_run_once() -> None:
    plan = solve(knapsack(6.0))
    procedure = plan.as_procedure()
    assert isinstance(procedure, ProcedurePlan)
    assert procedure.problem == knapsack(6.0).procedure
    assert isinstance(procedure.policy, ProcedurePolicy)
    assert procedure.costs.costs == pytest.approx(plan.evaluate().costs)
    assert procedure.costs.activities[0].expected_executions == pytest.approx(1.0)
    assert procedure.proof == plan.proof
    assert procedure.prices == plan.prices
    for room in range(4):
        assert procedure.action("problem", f"room-{room}") == plan.action(f"room-{room}")
    assert procedure.as_procedure() is procedure


def test_a_procedures_plan_is_the_same_plan() -> None:
    plan = solve(retrying())
    procedure = plan.as_procedure()
    assert procedure == plan
    assert procedure.problem is plan.problem
    assert procedure.memory is plan.memory
    assert procedure.costs is plan.evaluation


def test_a_policy_of_something_else_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="a DeterministicPolicy is not a policy of a procedure"):
        _ = ProcedurePlan(retrying(), ROUND).policy


def test_what_a_debugger_shows_fits_on_a_line() -> None:
    plan = solve(retrying())
    assert repr(plan) == f"<Plan for {plan.name or 'HCSSP'}: optimal, cost in [{plan.lower_bound:.10g}, " + (
        f"{plan.upper_bound:.10g}], by {plan.method}>"
    )
    activity = plan.problem.activities[0].cssp
    assert repr(plan.problem).startswith("<HCSSP")
    assert f"{activity.num_states} states" in repr(activity)
    assert "array" not in repr(plan.problem) + repr(activity)
