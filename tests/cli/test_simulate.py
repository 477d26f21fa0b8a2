from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hcssp.cli import main
from hcssp.evaluation.simulation import MAX_STEPS, Action, Leg, narrate_procedure, simulate
from hcssp.reports.plan_text import Style
from hcssp.reports.results_text import condensed, simulation_in_words
from hcssp.solving.solve import solve
from small_procedures import forking, retrying


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("plans") / "plan.json"
    assert main(["solve", "small-building", "--bound", "damage=2", "--quiet", "--out", str(path)]) == 0
    return str(path)


def simulated(capsys: pytest.CaptureFixture[str], plan: str, *arguments: str) -> Any:
    assert main(["simulate", "small-building", plan, "--json", "--quiet", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_means_agree_with_the_exact_expectations(capsys: pytest.CaptureFixture[str], plan: str) -> None:
    document = simulated(capsys, plan, "--runs", "20000", "--seed", "1")
    assert (document["runs"], document["seed"], document["truncated"]) == (20000, 1, 0)
    for cost in document["costs"].values():
        half = cost["mean"]["high"] - cost["mean"]["value"]
        # Twice the interval of 95%: wrong once in 10^4.
        assert abs(cost["mean"]["value"] - cost["expected"]) <= 2 * half
    for activity in document["activities"].values():
        assert activity["mean_executions"] == pytest.approx(activity["expected_executions"], abs=0.02)


def test_percentiles_and_the_chance_of_exceeding(capsys: pytest.CaptureFixture[str], plan: str) -> None:
    document = simulated(capsys, plan, "--runs", "5000")
    damage, time = document["costs"]["damage"], document["costs"]["time"]
    assert list(damage["percentiles"]) == ["5", "50", "95", "99"]
    values = list(time["percentiles"].values())
    assert values == sorted(values)
    chance = damage["chance_of_exceeding"]
    assert 0.0 < chance["low"] < chance["value"] < chance["high"] < 1.0
    assert damage["at_most"] == 2.0
    assert time["chance_of_exceeding"] is None
    # All damage comes in lumps of 5, so that bounds between nought and that are exceeded alike.
    other = simulated(capsys, plan, "--runs", "5000", "--bound", "damage=4")
    assert other["costs"]["damage"]["chance_of_exceeding"] == chance


def test_one_run_is_told(capsys: pytest.CaptureFixture[str], plan: str) -> None:
    legs = simulated(capsys, plan, "--runs", "10", "--seed", "4")["one_run"]
    assert [leg["reaches"] for leg in legs] == [*(leg["event"] for leg in legs[1:]), "exit"]
    for leg in legs:
        steps = sum(count for _, count in leg["actions"])
        assert leg["costs"].get("time", 0.0) == steps
        assert all(
            first[0] != second[0] for first, second in zip(leg["actions"], leg["actions"][1:], strict=False)
        )


def test_a_seed_names_the_runs(capsys: pytest.CaptureFixture[str], plan: str) -> None:
    first, again, other = (
        simulated(capsys, plan, "--runs", "100", "--seed", seed) for seed in ("7", "7", "8")
    )
    assert first == again
    assert first != other


def test_the_simulation_in_words(capsys: pytest.CaptureFixture[str], plan: str) -> None:
    assert main(["simulate", "small-building", plan, "--runs", "1000", "--quiet"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert f"{plan}, a plan for small-building, followed 1,000 times" in printed.out
    rows = [line.split() for line in printed.out.splitlines()]
    assert ["cost", "expected", "mean", "from", "to", "5%", "50%", "95%", "99%"] in rows
    assert sum(row[:2] == ["time", "27.7191"] for row in rows) == 1
    assert "damage above 2: " in printed.out
    assert "At event 'start' the plan chooses go-to-door: " in printed.out
    assert "It reaches 'exit'." in printed.out
    assert "Total: time " in printed.out


def test_a_probability_has_no_percentiles(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, asked = str(tmp_path / "plan.json"), ("small-building", "--probability", "door-locked=50%")
    assert main(["solve", *asked, "--quiet", "--out", path]) == 0
    capsys.readouterr()
    assert main(["simulate", asked[0], path, *asked[1:], "--runs", "500", "--quiet"]) == 0
    (told,) = re.findall(r"  probability of door-locked  .*", capsys.readouterr().out)
    assert told.split()[-4:] == ["-"] * 4
    # Of a single run nothing follows about the others.
    assert main(["simulate", asked[0], path, *asked[1:], "--runs", "1", "--quiet"]) == 0
    told = capsys.readouterr().out
    assert "inf" not in told
    assert "of the runs (between 0.00% and 100.00%), at most 50% allowed" in " ".join(told.split())


def test_equal_actions_are_counted_together() -> None:
    actions = tuple(Action("here", name, {"time": 1.0}) for name in "nneen")
    assert condensed(Leg("a", None, "b", "c", actions, "d")) == [("n", 2), ("e", 2), ("n", 1)]


def test_what_is_not_there_is_said() -> None:
    plan = solve(forking().with_bounds(damage=float("inf"))).as_procedure()
    runs = simulate(plan.policy.problem, plan.policy, 50, 0, MAX_STEPS)
    legs = list(narrate_procedure(plan.policy))
    told = simulation_in_words("title", runs, plan.costs, legs, Style(), plan.problem)
    assert "damage: there is no bound" in told
    assert "At event 'hall', entered in " in told


def test_runs_that_are_cut_off_are_told() -> None:
    plan = solve(retrying()).as_procedure()
    runs = simulate(plan.policy.problem, plan.policy, 50, 0, max_steps=3)
    legs = list(narrate_procedure(plan.policy, max_steps=1))
    told = simulation_in_words("title", runs, plan.costs, legs, Style(), plan.problem)
    assert f"{runs.num_truncated} of 50 runs were cut off before their end, after 3 steps" in told
    assert "The run was cut off here." in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--runs", "0"], "0 is no count; give a whole number of at least 1"),
        (["--runs", "1.5"], "1.5 is no count"),
        (["--seed", "-1"], "'-1' is not a seed; give a whole number, 0 or more"),
        (["--seed", "x"], "'x' is not a seed"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], plan: str, arguments: list[str], message: str) -> None:
    assert main(["simulate", "small-building", plan, *arguments]) == 2
    assert message in capsys.readouterr().err
