"""The optimum over randomised policies, against brute force over mixtures, HiGHS and Storm."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from brute_force import brute_force
from brute_force_procedures import brute_force as brute_force_procedure
from hcssp import HCSSP, solve
from hcssp.checker import check
from hcssp.contract.plan import Plan
from hcssp.contract.proof import Status
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import DeterministicPolicy, RandomisedPolicy
from hcssp.errors import InvalidOption, InvalidPlan, InvalidProblem
from hcssp.evaluation.chain import induced_chain
from hcssp.evaluation.exact import evaluate
from hcssp.evaluation.robustness import robustness
from hcssp.files.plan_file import load_plan
from hcssp.scenarios import small_building
from hcssp.scenarios.scenario import find_scenario
from mixtures import best_mixture
from random_problems import random_cssp
from random_procedures import random_procedure
from storm_peer import storm_optimum_of
from volume import some

SAME = 1e-6


def active(plan: Plan) -> int:
    """The number of bounds that the plan uses up."""
    return sum(plan.cost(name) >= bound * (1.0 - SAME) for name, bound in plan.bounds.items())


def check_plan(plan: Plan, optimum: float) -> None:
    """The plan costs `optimum`, keeps its bounds, has few extra rows, and its bound can be checked."""
    if optimum == np.inf:
        assert plan.status is Status.INFEASIBLE
        return
    assert plan.policies == "randomised"
    assert plan.status is Status.OPTIMAL
    assert plan.upper_bound == pytest.approx(optimum, rel=SAME, abs=SAME)
    assert evaluate(plan.problem, plan.policy).keeps_bounds()
    assert len(plan.policy.extra) <= active(plan)
    verdict = check(plan.problem, plan.certificate)
    assert verdict.randomised
    assert verdict.lower_bound == pytest.approx(optimum, rel=SAME, abs=SAME)


@pytest.mark.parametrize("seed", some(range(400), 20))
def test_it_is_the_best_mixture_of_all_policies(seed: int) -> None:
    problem = random_cssp(seed)
    check_plan(
        solve(problem, policies="randomised"), best_mixture(brute_force(problem).costs, problem.bounds)
    )


@pytest.mark.parametrize("seed", some(range(100), 10))
def test_it_is_the_best_mixture_of_all_policies_of_a_procedure(seed: int) -> None:
    problem = random_procedure(seed)
    costs = brute_force_procedure(problem).costs
    check_plan(solve(problem, policies="randomised"), best_mixture(costs, problem.flat.bounds))


@pytest.mark.parametrize("seed", some(range(1000, 1040)))
def test_highs_agrees(seed: int) -> None:
    problem = random_cssp(seed, infeasible=0.0)
    ours, theirs = solve(problem, policies="randomised"), solve(problem, "lp")
    assert theirs.status is ours.status
    assert ours.upper_bound == pytest.approx(theirs.upper_bound, rel=SAME, abs=SAME)


@pytest.mark.parametrize(
    "domain",
    ["campus", "aircraft", "delivery", "patient", "rover", "routing", "search-and-rescue", "elevators"],
)
def test_a_plan_of_each_domain_has_few_random_choices(domain: str) -> None:
    """Some of their states are reached so rarely that a linear program takes them for unreachable."""
    plan = solve(find_scenario(domain).make(1), policies="randomised")
    check_plan(plan, plan.lower_bound)
    assert plan.policy.extra


STORM_ERRS = (2021, 2049, 2059)
"""Where stormpy 2.0.0 answers something else than brute force does."""

STORM_NEVER_ENDS = (2022, 2028, 2038, 2048)


@pytest.mark.skipif(find_spec("stormpy") is None, reason="pip install 'hcssp[storm]' to compare with Storm")
@pytest.mark.parametrize(
    "seed", some([seed for seed in range(2000, 2060) if seed not in (*STORM_ERRS, *STORM_NEVER_ENDS)])
)
def test_storm_agrees(seed: int, tmp_path: Path) -> None:
    import stormpy

    problem = random_cssp(seed) if seed % 2 else random_procedure(seed).flat
    theirs = storm_optimum_of(stormpy, problem, tmp_path)
    check_plan(solve(problem, policies="randomised"), theirs)


@pytest.mark.parametrize("seed", STORM_ERRS)
def test_brute_force_decides_where_storm_disagrees(seed: int) -> None:
    problem = random_cssp(seed)
    check_plan(
        solve(problem, policies="randomised"), best_mixture(brute_force(problem).costs, problem.bounds)
    )


@pytest.fixture(scope="module")
def plan() -> Plan:
    """It chooses at random in one state of the first activity."""
    found = solve(small_building(bound=2.0), policies="randomised")
    assert len(found.policy.extra) == 1
    return found


def mixture_of(plan: Plan) -> list[tuple[float, DeterministicPolicy]]:
    """The deterministic policies of which a policy with one extra row is a mixture of first choices."""
    (options,) = plan.policy.mixed().values()
    flat, found = plan.problem.flat, []
    for row, chance in options:
        rows = plan.policy.rows.copy()
        rows[flat.row_state[row]] = row
        found.append((chance, DeterministicPolicy(flat, rows)))
    return found


def test_its_costs_follow_from_those_of_its_deterministic_parts(plan: Plan) -> None:
    """With a random choice in one state, the flow is the mixture of both, by how often they leave it."""
    (state,) = plan.policy.mixed()
    parts = [(chance, evaluate(plan.problem.flat, policy)) for chance, policy in mixture_of(plan)]
    weights = np.array([chance / found.visits[state] for chance, found in parts])
    costs = weights @ np.array([found.costs for _, found in parts]) / weights.sum()
    assert plan.evaluate().costs == pytest.approx(costs, rel=1e-12)


def test_simulation_agrees(plan: Plan) -> None:
    found = plan.simulate(20_000, seed=1)
    assert found.mean("time").value == pytest.approx(plan.upper_bound, rel=0.02)
    assert found.mean("damage").value == pytest.approx(2.0, rel=0.06)


def test_a_run_chooses_as_often_as_the_plan_says(plan: Plan) -> None:
    (state,) = plan.policy.mixed()
    activity, label, _ = plan.policy.name_of(int(plan.policy.rows[state]))
    (extra, chance), taken, visits = plan.policy.extra[0], 0, 0
    generator = np.random.default_rng(3)
    for seed in range(200):
        run = plan.start(seed=seed)
        run.step()
        while not run.over:
            decision = run.decision
            if (decision.activity, decision.state) == (activity, label):
                visits += 1
                taken += decision.action == plan.policy.name_of(extra)[2]
            outcome, seen = run.possible()[generator.integers(len(run.possible()))]
            run.step(seen, outcome=outcome)
    assert visits > 100
    assert abs(taken / visits - chance) < 4.0 * np.sqrt(chance * (1.0 - chance) / visits)


def test_it_is_saved_and_read(plan: Plan, tmp_path: Path) -> None:
    plan.save(tmp_path / "plan.json")
    again = load_plan(tmp_path / "plan.json", plan.problem)
    assert again.policy == plan.policy
    assert again.policies == "randomised"
    assert again.upper_bound == plan.upper_bound
    text = (tmp_path / "plan.json").read_text()
    for wrong, message in (
        ('"state": 999', "state 999 has no action"),
        ('"state": 0.5', "0.5 is not a whole number"),
    ):
        place = text.index('"state": ')
        (tmp_path / "wrong.json").write_text(text[:place] + wrong + text[text.index(",", place) :])
        with pytest.raises(InvalidPlan, match=message):
            load_plan(tmp_path / "wrong.json", plan.problem)


def test_a_single_problem_is_saved_and_read(tmp_path: Path) -> None:
    problem = random_cssp(1003, infeasible=0.0)
    plan = solve(problem, policies="randomised")
    plan.save(tmp_path / "plan.json")
    again = load_plan(tmp_path / "plan.json", problem)
    assert again.evaluate().costs == pytest.approx(plan.evaluate().costs)


def test_robustness_without_error_is_the_evaluation(plan: Plan) -> None:
    found = robustness(plan.problem, plan.policy, 0.1)
    assert found.expected == pytest.approx(plan.evaluate().costs, rel=1e-9)
    assert np.all(found.worst > found.expected)


@pytest.mark.parametrize("seed", some(range(12), 6))
def test_the_worst_case_is_above_that_of_random_errors(plan: Plan, seed: int) -> None:
    """Nature may not change the probabilities of the plan's own choices, but all those of the world."""
    share, generator = 0.2, np.random.default_rng(seed)
    worst = robustness(plan.problem, plan.policy, share).worst
    chain = induced_chain(plan.problem, plan.policy)
    wrong = chain.problem.transitions.copy()
    pairs = np.flatnonzero(np.diff(wrong.indptr) == 2)
    for row in pairs.tolist():
        first, second = wrong.data[wrong.indptr[row] : wrong.indptr[row + 1]]
        moved = share * min(first, second) * generator.uniform(-1.0, 1.0)
        wrong.data[wrong.indptr[row] : wrong.indptr[row + 1]] += [moved, -moved]
    other = chain.problem.derive(transitions=wrong)
    policy = RandomisedPolicy(other, chain.chances)
    assert np.all(evaluate(other, policy).costs <= worst * (1.0 + 1e-9))
    assert induced_chain(other, policy).is_proper


def test_why_names_both_actions_and_no_alternative_is_better(plan: Plan) -> None:
    (state,) = plan.policy.mixed()
    activity, label, _ = plan.policy.name_of(int(plan.policy.rows[state]))
    reasons = plan.why((activity, label))
    assert "93.4%" in reasons.chosen
    assert "6.64%" in reasons.chosen
    for each in reasons.alternatives:
        assert each.best.upper_bound >= plan.lower_bound
        assert each.best.policies == "randomised"


def test_the_rest_is_planned_again_among_randomised_policies(plan: Plan) -> None:
    again = plan.replan()
    assert again.policies == "randomised"
    assert again.upper_bound == pytest.approx(plan.upper_bound, rel=SAME)
    rest = plan.replan("at-door")
    assert rest.policies == "randomised"
    assert rest.upper_bound <= plan.replan("at-door", policies="deterministic").upper_bound * (1.0 + SAME)


def test_what_deterministic_plans_prove_is_not_taken_over() -> None:
    """A lower bound on deterministic plans says nothing about randomised ones, which may be better."""
    best = solve(small_building(bound=2.0))
    randomised = solve(best.problem, start=best, policies="randomised")
    assert randomised.upper_bound < 0.95 * best.upper_bound
    assert randomised.status is Status.OPTIMAL
    again = solve(best.problem, start=randomised)
    assert again.policies == "deterministic"
    assert again.upper_bound == pytest.approx(best.upper_bound)
    assert not again.policy.is_randomised


def test_a_run_for_deterministic_plans_says_what_being_deterministic_costs() -> None:
    text = str(solve(small_building(bound=2.0)))
    assert "; determinism costs 2.365 (8.54%)" in text


def test_methods_of_other_policies_are_refused() -> None:
    problem = small_building()
    with pytest.raises(InvalidOption, match="'exact' finds the best of the deterministic policies"):
        solve(problem, "exact", policies="randomised")
    with pytest.raises(InvalidOption, match="give 'deterministic' or 'randomised'"):
        solve(problem, policies="stationary")  # type: ignore[arg-type]


def test_extra_rows_that_do_not_fit_are_refused(plan: Plan) -> None:
    problem: CSSP | HCSSP = plan.problem
    (row, _), rows = plan.policy.extra[0], plan.policy.rows
    for extra, message in (
        (((row, 1.0),), "which leaves 0.0"),
        (((row, -0.5),), "both must be positive"),
        (((row, 0.2), (row, 0.2)), "only once"),
        (((10**6, 0.2),), "extra row 1000000"),
    ):
        with pytest.raises(InvalidProblem, match=message):
            problem.policy(rows, extra)
