"""Maximising a reward: against all policies, against counting back step by step, and where there is none."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import brute_force_procedures
import hcssp
from brute_force_procedures import brute_force_flat
from hcssp import maximise
from hcssp.cli import main
from hcssp.errors import OutOfPrecision
from hcssp.files.problem_file.loading import load_text
from hcssp.numerics import is_feasible
from hcssp.reports.charts import draw_histograms, draw_history, draw_trade_off, look_ahead
from hcssp.reports.plan_text import plan_in_words, what_is_proven, what_it_costs
from random_nestings import random_limits
from random_problems import random_cssp
from random_procedures import random_procedure
from referee.exact_policies import every_policy
from referee.wild_problems import make_case
from small_procedures import jump_or_walk
from volume import some


def greatest_in_many_steps(problem: hcssp.CSSP, rewards: np.ndarray, steps: int) -> float:
    """The greatest expected reward of so many steps that a policy which ends can make, by counting back."""
    ready = hcssp.extend.prepare(problem)
    gained, inner = rewards[ready.rows], ready.problem
    values = np.zeros(inner.num_states)
    for _ in range(steps):
        rows = gained + inner.transitions @ values
        values = np.where(inner.goals, 0.0, -np.inf)
        np.maximum.at(values, inner.row_state, rows)
    return float(inner.initial @ values)


@pytest.mark.parametrize("seed", some(range(24)))
def test_the_best_of_all_policies_is_found_and_nothing_exceeds_what_is_proven(seed: int) -> None:
    problem = random_cssp(seed)
    rng = np.random.default_rng(seed)
    names = problem.cost_names
    weights = {names[0]: -float(rng.uniform(0.0, 2.0)), names[-1]: float(rng.uniform(0.2, 2.0))}
    if len(names) == 1:
        weights = {names[0]: -1.0}
    rewards = np.array([weights.get(name, 0.0) for name in names]) @ problem.costs
    try:
        shaped = maximise(problem, weights)
    except hcssp.errors.UnboundedReward:
        # More steps, more reward: twice as many give about twice as much more.
        fewer, more = (greatest_in_many_steps(problem, rewards, steps) for steps in (400, 800))
        assert more > fewer + 1e-3
        return
    assert shaped.reward is not None
    every = brute_force_flat(shaped)
    gained = sum(weight * every.costs[:, 1 + names.index(name)] for name, weight in weights.items())
    # For each policy: what it has and what it misses are what there is.
    assert np.all(gained <= shaped.reward.most - every.costs[:, 0] + 1e-9)
    assert np.allclose(gained, shaped.reward.most - every.costs[:, 0], atol=1e-5, rtol=1e-6)
    assert shaped.reward.most == pytest.approx(gained.max(), abs=1e-5, rel=1e-6)
    kept = np.all(every.costs[:, 2:] <= shaped.bounds[1:] * (1 + 1e-9) + 1e-14, axis=1)
    plan = hcssp.solve(shaped)
    assert plan.reward is not None
    if not kept.any():
        assert plan.status is hcssp.Status.INFEASIBLE
        return
    assert plan.reward.at_most >= gained[kept].max() - 1e-12
    assert plan.reward.value == pytest.approx(gained[kept].max(), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", some(range(8), 2))
def test_a_procedure_keeps_its_activities(seed: int) -> None:
    problem = random_procedure(seed)
    shaped = maximise(problem, {problem.primary_name: -1.0})
    assert shaped.reward is not None
    assert [each.name for each in problem.activities] == [
        each.name for each in shaped.activities[: problem.num_activities]
    ]
    best = brute_force_procedures.brute_force(problem).optimum(problem.bounds)
    plan = hcssp.solve(shaped)
    if best is None:
        assert plan.status is hcssp.Status.INFEASIBLE
        return
    assert plan.reward is not None
    assert plan.reward.value == pytest.approx(-best[0], rel=1e-6)
    assert plan.reward.at_most >= -best[0] * (1 + 1e-12)
    for name, bound in zip(problem.constraint_names, problem.bounds, strict=True):
        assert plan.cost(name) <= bound * (1 + 1e-9) + 1e-14


@pytest.mark.parametrize("seed", [23, 27, 38, 42, 59, 71, 146, 159])
@pytest.mark.parametrize("weights", [{"damage": -1.0}, {"time": 0.5}, {"time": 0.75, "damage": -0.25}])
def test_choices_that_would_have_to_cost_get_steps_that_pay(seed: int, weights: dict[str, float]) -> None:
    problem = random_procedure(seed, cycles=seed % 2 == 1, several_exits=seed % 4 >= 2)
    try:
        shaped = maximise(problem, weights)
    except hcssp.errors.UnboundedReward:
        return
    counted = maximise(problem.flattening.cssp, {name: weights[name] for name in weights})
    every = brute_force_flat(counted)
    names = counted.cost_names
    gained = sum(weight * every.costs[:, names.index(name)] for name, weight in weights.items())
    kept = np.all(every.costs[:, 1:] <= counted.bounds * (1 + 1e-9) + 1e-14, axis=1)
    assert shaped.reward is not None
    assert shaped.reward.most == pytest.approx(gained.max(), abs=1e-6, rel=1e-6)
    plan = hcssp.solve(shaped)
    if not kept.any():
        assert plan.status is hcssp.Status.INFEASIBLE
        return
    assert plan.reward is not None
    best = gained[kept].max()
    assert plan.reward.value == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert plan.reward.at_most >= best - 1e-12 * (1.0 + abs(best))
    for name, bound in zip(problem.constraint_names, problem.bounds, strict=True):
        assert plan.cost(name) <= bound * (1 + 1e-9) + 1e-14


@pytest.mark.parametrize(
    "family",
    [
        *("natural", "free", "ties", "loops", "wide", "huge units", "tiny units", "rare", "waiting"),
        *("procedure: free", "procedure: wide", "retries: natural", "exits: free", "procedure: rare"),
    ],
)
def test_no_policy_exceeds_what_is_proven_not_even_by_a_rounding_error(family: str) -> None:
    judged = 0
    for seed in range(2):
        problem = make_case(family, seed).problem
        parts = [problem] if isinstance(problem, hcssp.CSSP) else [each.cssp for each in problem.activities]
        time, risk = problem.primary_name, parts[0].cost_names[-1]
        for weights in ({time: -1.0}, {time: -1.0, risk: 0.25}):
            try:
                shaped = maximise(problem, weights)
            except (hcssp.errors.UnboundedReward, OutOfPrecision):
                continue
            assert shaped.reward is not None
            single = isinstance(shaped, hcssp.CSSP)
            names = shaped.cost_names if single else shaped.flattening.cost_names
            for policy in every_policy(shaped).policies:
                had = dict(zip(names, policy.costs, strict=True))
                gained = sum(Fraction(weight) * had[name] for name, weight in weights.items())
                assert gained <= Fraction(shaped.reward.most) - policy.costs[0]
                judged += 1
    assert judged > 0


@pytest.mark.parametrize("family", ["natural", "ties", "rare", "procedure: natural", "retries: natural"])
def test_the_greatest_negative_cost_is_that_of_the_cheapest_plan(family: str) -> None:
    for seed in range(3):
        problem = make_case(family, seed).problem
        reward = maximise(problem, {problem.primary_name: -1.0}).reward
        free = problem.with_bounds(dict.fromkeys(problem.constraint_names, np.inf))
        assert reward is not None
        # In a rare case the rewards are 14 orders of magnitude apart.
        share = 1e-3 if family == "rare" else 1e-6
        assert reward.most == pytest.approx(-hcssp.solve(free).upper_bound, rel=share)


def test_a_large_procedure() -> None:
    campus = hcssp.find_problem("campus", {"buildings": 1})
    shaped = maximise(campus, {"time": -1.0})
    assert shaped.reward is not None
    fastest = hcssp.solve(campus.with_bounds(damage=np.inf))
    assert shaped.reward.most == pytest.approx(-fastest.upper_bound, rel=1e-6)


def test_a_long_run_of_small_rewards_beside_a_large_one() -> None:
    """What the inequalities hold by adds up over two million steps."""
    mine = hcssp.CSSPBuilder(cost_names=("gold",))
    left, right, home = mine.add_state("left"), mine.add_state("right"), mine.add_goal("home")
    mine.add_action(left, "dig", to=right, costs={"gold": 2.5e-4})
    mine.add_action(left, "sell", to=home, costs={"gold": 400.0})
    mine.add_action(right, "dig", to={left: 1.0 - 1e-6, home: 1e-6}, costs={"gold": 2.5e-4})
    mine.set_initial(right)
    plan = hcssp.solve(maximise(mine.build(), "gold"))
    assert plan.reward is not None
    assert plan.reward.value == pytest.approx(500.0, rel=1e-6)
    assert plan.reward.at_most <= 500.01
    assert plan.gap <= 1e-4


def fishing(*, stay: float = 0.5) -> hcssp.HCSSP:
    """Go home at once, or fish first, on one lake or on another."""
    lake = hcssp.CSSPBuilder(cost_names=("hours", "fish"))
    water, shore = lake.add_state("water"), lake.add_goal("shore")
    lake.add_action(water, "net", to={water: stay, shore: 1 - stay}, costs={"hours": 2, "fish": 3})
    lake.add_action(water, "rod", to={water: stay, shore: 1 - stay}, costs={"hours": 1, "fish": 1})
    day = hcssp.ProcedureBuilder()
    morning, noon, home = (day.add_event(name) for name in ("morning", "noon", "home"))
    first, second = day.add_activity("first", lake.build()), day.add_activity("second", lake.build())
    day.add_choice(morning, "fish", to=[hcssp.Outcome(1.0, noon, runs=first)])
    day.add_choice(morning, "wait", to=[hcssp.Outcome(1.0, noon)])
    day.add_choice(noon, "fish", to=[hcssp.Outcome(1.0, home, runs=second)])
    day.add_choice(noon, "leave", to=[hcssp.Outcome(1.0, home)])
    return day.build(start=morning, end=home)


@pytest.mark.parametrize("seed", some(range(24)))
def test_limits_for_each_execution_are_kept(seed: int) -> None:
    problem = random_limits(seed, cycles=seed % 2 == 1)[1]
    try:
        shaped = maximise(problem, problem.primary_name)
    except hcssp.errors.UnboundedReward:
        return
    limits = [each.name for each in shaped.constraints if each.per is not None]
    assert limits == [each.name for each in problem.constraints if each.per is not None]
    everything = brute_force_procedures.brute_force(problem).costs
    kept = [costs[0] for costs in everything if is_feasible(costs, problem.bounds)]
    plan = hcssp.solve(shaped)
    assert plan.found == bool(kept)
    if kept:
        assert plan.reward is not None
        assert plan.reward.value == pytest.approx(max(kept))
        assert plan.reward.at_most >= max(kept) * (1.0 - 1e-12)
    with pytest.raises(hcssp.InvalidProblem, match=f"say maximise: {problem.primary_name} in the file"):
        hcssp.dump_problem(shaped)


def test_choices_that_run_nothing_miss_what_they_miss() -> None:
    plan = hcssp.solve(maximise(fishing(), "fish"))
    assert plan.reward is not None
    assert (plan.choice("morning"), plan.choice("noon")) == ("fish", "fish")
    assert plan.reward.value == pytest.approx(12.0)
    assert plan.reward.at_most == pytest.approx(12.0)
    short = hcssp.solve(maximise(fishing(), {"fish": 1.0, "hours": -2.0}))
    assert short.reward is not None
    # A fish is worth less than the time it takes, whatever is fished with.
    assert (short.choice("morning"), short.choice("noon")) == ("wait", "leave")
    assert short.reward.value == 0.0
    bounded = hcssp.solve(maximise(fishing(), "fish").with_bounds(hours=6.0))
    assert bounded.reward is not None
    assert bounded.reward.value == pytest.approx(8.0)
    assert bounded.reward.at_most >= 8.0
    assert bounded.cost("hours") == pytest.approx(6.0)


def walk(*, gold: float, back: bool = True, toll: float = 0.0) -> hcssp.CSSP:
    made = hcssp.CSSPBuilder(cost_names=("gold", "toll", "steps"))
    left, right, pit = (made.add_state(name) for name in ("left", "right", "pit"))
    out = made.add_goal("out")
    made.add_action(left, "dig", to=right, costs={"gold": gold, "steps": 1})
    made.add_action(left, "go", to=right, costs={"steps": 1})
    if back:
        made.add_action(right, "back", to=left, costs={"toll": toll, "steps": 1})
    made.add_action(right, "leave", to=out, costs={"steps": 1})
    made.add_action(right, "fall", to=pit, costs={"gold": 100})
    made.add_action(pit, "sit", to=pit, costs={"gold": 1})
    return made.build()


def test_a_loop_that_gains_is_named_unless_nobody_who_ends_can_use_it() -> None:
    with pytest.raises(hcssp.errors.UnboundedReward, match=r"action '(dig|back)' is part of a loop"):
        maximise(walk(gold=1.0), "gold")
    # The gold of the pit is out of the question: whoever takes it never ends.
    plan = hcssp.solve(maximise(walk(gold=1.0, back=False), "gold"))
    assert plan.reward is not None
    assert plan.reward.value == 1.0
    # A toll that eats the gain makes it finite, and one that only just does cannot be told from rounding.
    costly = maximise(walk(gold=1.0, toll=1.5), {"gold": 1.0, "toll": -1.0})
    assert costly.reward is not None
    assert costly.reward.most == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(hcssp.errors.UnsupportedProblem, match="cancel out, within double"):
        maximise(walk(gold=1.0, toll=1.0), {"gold": 1.0, "toll": -1.0})


def test_a_loop_without_any_reward_costs_nothing() -> None:
    free = maximise(walk(gold=0.0), "gold")
    assert free.reward is not None
    assert free.costs[0].tolist() == [0.0] * free.num_rows
    assert hcssp.solve(free).found


def test_what_cannot_be_maximised_is_told() -> None:
    problem = walk(gold=1.0, back=False)
    with pytest.raises(hcssp.errors.UnknownName, match="there is no cost 'gould'; did you mean 'gold'"):
        maximise(problem, "gould")
    with pytest.raises(hcssp.InvalidProblem, match="the factor of 'gold' in the reward is inf"):
        maximise(problem, {"gold": np.inf})
    with pytest.raises(hcssp.InvalidProblem, match="maximises 'gold' already"):
        maximise(maximise(problem, "gold"), "gold")
    with pytest.raises(hcssp.errors.DeadEnd):
        maximise(jump_or_walk(walk=False), "time")


def test_the_rest_of_a_plan_has_a_reward_of_its_own() -> None:
    made = hcssp.CSSPBuilder(cost_names=("hours", "fish", "torn"))
    water, deep, shore = made.add_state("water"), made.add_state("deep"), made.add_goal("shore")
    net = {"hours": 2, "fish": 4, "torn": 0.4}
    made.add_action(water, "net", to={water: 0.5, deep: 0.2, shore: 0.3}, costs=net)
    made.add_action(water, "rod", to={water: 0.8, shore: 0.2}, costs={"hours": 1, "fish": 2})
    made.add_action(deep, "dive", to=shore, costs={"hours": 3, "fish": 10, "torn": 1})
    made.add_action(deep, "row", to=shore, costs={"hours": 1, "fish": 2})
    made.set_initial(water)
    plan = hcssp.solve(maximise(made.build(), {"fish": 1, "hours": -1}).with_bounds(torn=1, hours=9))
    for torn, reward in ((0.4, 1.0), (0.0, 7.0)):
        rest = plan.replan("deep", {"torn": torn, "hours": 2, "fish": 4})
        assert rest.reward is not None
        # Seven of the nine hours are left, and a dive tears one net.
        assert (rest.reward.name, rest.reward.value) == ("reward", pytest.approx(reward))
        assert rest.problem.with_bounds().bounds.tolist() == pytest.approx([7.0, np.inf, 1.0 - torn])
        assert rest.reward.at_most >= reward


def test_the_rest_of_a_procedure_has_a_reward_of_its_own() -> None:
    problem = maximise(load_text(GOLD.replace("maximise: gold\n", "")), "gold").with_bounds(wear=9)
    plan = hcssp.solve(problem)
    rest = plan.replan(("dig", "mine"), {"wear": 5, "gold": 5})
    assert rest.reward is not None
    assert rest.reward.value == pytest.approx(2.0)
    assert rest.problem.constraint_names == problem.constraint_names
    assert "missed" not in plan_in_words(rest)


def test_another_problem_forgets_what_was_maximised() -> None:
    shaped = maximise(walk(gold=1.0, back=False), "gold")
    assert shaped.with_bounds(steps=3.0).reward == shaped.reward
    assert shaped.derive(initial=shaped.initial).reward is None
    assert hcssp.with_giving_up(shaped, 1.0).reward is None
    assert hcssp.solve(walk(gold=1.0, back=False)).reward is None


GOLD = """
format: hcssp-problem
version: 1
costs: [gold, wear]
maximise: gold
activities:
  dig:
    table:
      mine:
        drill: {to: {mine: 0.5, home: 0.5}, costs: {gold: 3, wear: 3}}
        shovel: {to: {mine: 0.5, home: 0.5}, costs: {gold: 1, wear: 1}}
    start: mine
    goal: home
constraints: {wear: {at_most: 4}}
"""


def test_a_file_says_what_to_maximise_and_words_speak_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = hcssp.solve(load_text(GOLD))
    assert plan.reward is not None
    assert (plan.reward.name, plan.reward.value) == ("gold", pytest.approx(2.0))
    words = plan_in_words(plan)
    assert "problem: greatest expected gold, wear at most 4" in words
    assert "the best deterministic plan has an expected gold of 2" in words
    assert "this plan is optimal to six digits" in words
    assert "wear: 2 expected, at most 4 allowed; price 1 (gold gained per additional unit" in words
    solved = plan.as_procedure()
    told = what_it_costs(solved.problem, {name: plan.cost(name) for name in ("gold missed", "gold", "wear")})
    assert told.startswith("This plan has an expected gold of 2")
    assert "expected gold of 2.000000; this plan is optimal" in what_is_proven(plan)
    loose = replace(plan, proof=hcssp.extend.Interval(3.0, plan.upper_bound))
    assert "feasible; its gold could be greater by at most 1.0" in plan_in_words(loose)
    assert "greater by at most 1.0" in what_is_proven(loose)
    file = tmp_path / "gold.yaml"
    file.write_text(GOLD.replace("maximise: gold\n", ""), encoding="utf-8")
    assert main(["show", str(file), "--maximise", "gold"]) == 0
    assert "gold.yaml: maximise the expected gold" in capsys.readouterr().out
    assert main(["solve", str(file), "--maximise", "gold", "--bound", "wear=7", "--json", "--quiet"]) == 0
    told = json.loads(capsys.readouterr().out)["reward"]
    assert told["name"] == "gold"
    assert told["expected"] == pytest.approx(6.0)
    assert told["at_most"] >= 6.0


def test_no_command_speaks_of_what_is_missed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, saved, proof = tmp_path / "gold.yaml", tmp_path / "plan.json", tmp_path / "gold.cert"
    file.write_text(GOLD, encoding="utf-8")
    page, csv = tmp_path / "page.html", tmp_path / "curve.csv"
    told = {}
    for name, *options in (
        ("solve", "--out", saved, "--certificate", proof),
        ("evaluate", saved),
        ("simulate", saved, "--runs", 50),
        ("why", saved, "--at", "dig mine"),
        ("robust", saved, "--within", "20%"),
        ("check", proof),
        ("show",),
        ("curve", "--from", 2, "--to", 6, "--points", 2, "--csv", csv),
        ("report", saved, "--out", page),
    ):
        assert main([name, str(file), *map(str, options)]) == 0
        told[name], progress = capsys.readouterr()
        assert "missed" not in told[name] + progress, name
    assert "at most 2.0000   incumbent 2.0000" in main_progress(file, capsys)
    # Half of the digs are followed by another: at the worst 0.4 of them, each worth 1.
    assert "gold         2      1.6667" in told["robust"]
    assert "upper bound" in told["why"]
    assert "has an expected gold above 2.00000" in told["check"]
    assert "greatest expected gold as the bound on wear grows" in told["curve"]
    assert csv.read_text(encoding="utf-8").splitlines()[0].endswith(",reward,reward_at_most")
    assert "missed" not in page.read_text(encoding="utf-8")


def test_notebooks_and_pictures_speak_of_the_reward() -> None:
    plan = hcssp.solve(load_text(GOLD))
    curve = hcssp.trade_off(plan.problem, "wear", [2.0, 6.0])
    assert repr(plan).startswith("<Plan for problem: optimal, gold in [2, 2")
    for shown in (plan, plan.problem, curve):
        assert "missed" not in shown._repr_html_()
    assert "maximised" in plan.problem._repr_html_()
    assert curve.plot().get_ylabel() == "greatest expected gold"
    labels = [axes.get_ylabel() for axes in draw_trade_off(curve).axes]
    assert labels == ["greatest expected gold", "price: gold gained by one more unit of wear"]
    assert draw_history(plan).axes[0].get_ylabel() == "expected gold"
    outlook = look_ahead(plan, 50)
    panels = draw_histograms(outlook).axes
    assert [axes.get_xlabel() for axes in panels] == ["gold of a run", "wear of a run"]


def main_progress(file: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["solve", str(file), "--verbose"]) == 0
    return capsys.readouterr().err


def test_the_parts_of_a_profit_are_told_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    plan = hcssp.solve(maximise(load_text(GOLD.replace("maximise: gold\n", "")), {"gold": 2, "wear": -1}))
    assert plan.reward is not None
    words = plan_in_words(plan)
    assert "greatest expected reward" in words
    (line,) = [line for line in words.splitlines() if line.startswith("  total")]
    # The reward, then wear, then gold; the method allocates no budgets.
    assert line.split() == ["total", "2.0000", "2.0000", "2.0000"]
    found = hcssp.robustness(plan.problem, plan.policy, within=0.2)
    assert (found.cost_names, found.greatest) == (("reward", "wear", "gold"), True)
    assert found.worst.tolist() == pytest.approx([2 - 1 / 3, 2.5, 2.5])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (GOLD.replace("maximise: gold", "maximise: gould"), "problem:5: maximise: there is no cost 'gould'"),
        (
            GOLD.replace("shovel:", "again: {to: {mine: 1}, costs: {gold: 1}}\n        shovel:"),
            "problem:5: maximise: the reward is unbounded",
        ),
    ],
)
def test_mistakes_in_a_file_have_their_line(text: str, told: str) -> None:
    with pytest.raises(hcssp.InvalidProblem) as error:
        load_text(text)
    assert told in str(error.value)


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("as_procedure", [False, True])
def test_status_and_gap_speak_of_the_reward_whatever_is_missed(seed: int, as_procedure: bool) -> None:
    generator = np.random.default_rng(seed)
    rewards = generator.integers(1, 10, 5) * 10.0 ** generator.integers(-3, 10, 5)
    wear = generator.integers(0, 10, 5) * 10.0 ** generator.integers(-6, 2, 5)
    bound = float(np.median(wear))
    mine = hcssp.CSSPBuilder(cost_names=("gold", "wear"), bounds={"wear": bound})
    here, home = mine.add_state("here"), mine.add_goal("home")
    for number in range(5):
        mine.add_action(here, f"a{number}", to=home, costs=(float(rewards[number]), float(wear[number])))
    mine.set_initial(here)
    problem = maximise(mine.build(), "gold")
    plan = hcssp.solve(problem)
    if as_procedure:
        plan = plan.as_procedure()
    best = float(rewards[wear <= bound].max())
    assert plan.reward is not None
    assert plan.reward.at_most >= best
    assert plan.gap == plan.reward.gap
    assert plan.status is (hcssp.Status.OPTIMAL if plan.gap <= 1e-6 else hcssp.Status.FEASIBLE)
    # What is proven is the reward, up to the rounding of what is missed of the greatest one.
    assert plan.reward.at_most - plan.reward.value <= 1e-6 * best + 4e-12 * float(rewards.max())
    assert plan.reward.value >= best * (1.0 - 1e-6) - 4e-12 * float(rewards.max())
