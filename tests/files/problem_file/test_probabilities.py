"""Bounds on probabilities in problem files and on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hcssp import InvalidProblem, load, solve
from hcssp.cli import main
from hcssp.files.problem_file.loading import load_text

DRONE = """
format: hcssp-problem
version: 1
parameters: {risk: 15%}
costs: [time]
activities:
  fly:
    table:
      air:
        low: {to: {home: 0.8, crashed: 0.2}, costs: {time: 1}}
        high: {to: {home: 0.95, crashed: 0.05}, costs: {time: 3}}
    start: air
    goal: [home, crashed]
  walk: {table: {wreck: {walk: {to: home, costs: {time: 9}}}}, start: wreck, goal: home}
procedure:
  start: depot
  end: end
  events:
    depot: {fly: {runs: fly, to: {home: end, crashed: lost}}}
    lost: {walk: {runs: walk, to: end}}
constraints:
  crash: {probability: {of: OF, at_most: risk}}
"""


@pytest.fixture
def drone(tmp_path: Path) -> str:
    path = tmp_path / "drone.yaml"
    path.write_text(DRONE.replace("OF", "lost"))
    return str(path)


@pytest.mark.parametrize("of", ["lost", "crashed", "{fly: crashed}"])
def test_an_event_an_exit_or_a_state_is_bounded(of: str) -> None:
    problem = load_text(DRONE.replace("OF", of))
    plan = solve(problem)
    assert plan.cost("crash") == pytest.approx(0.05)
    assert plan.upper_bound == pytest.approx(3 + 0.05 * 9)
    assert "probability of" in str(plan)


def test_the_words_speak_of_a_probability(
    drone: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = str(tmp_path / "plan.json")
    assert main(["solve", drone, "-q", "--set", "risk=0.2", "--out", plan]) == 0
    told = capsys.readouterr().out
    assert "least expected time, probability of lost at most 20%" in told
    assert "  probability of lost: 20%, at most 20% allowed" in told
    assert "per additional percent, for randomised policies" in " ".join(told.split())
    assert main(["evaluate", drone, plan, "--set", "risk=0.2"]) == 0
    assert "probability of lost: 20%, at most 20% allowed: kept" in capsys.readouterr().out
    # Without the parameter, the file's own bound counts.
    assert main(["simulate", drone, plan, "--runs", "200", "-q"]) == 1
    printed = capsys.readouterr()
    assert "made for probability of lost at most 20%, and is judged by probability of lost at" in printed.err
    simulated = printed.out
    assert "probability of lost: in " in simulated
    assert "% of the runs" in simulated
    assert main(["curve", drone, "--constraint", "crash", "--from", "0.05", "--to", "0.2", "-q"]) == 0
    curve = capsys.readouterr().out
    assert "as the bound on probability of lost grows" in curve
    assert "No plan has a probability of lost below 4.9999%." in curve


def test_json_says_what_it_is_the_probability_of(drone: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", drone, "-q", "--json", "--bound", "crash=20%"]) == 0
    told = json.loads(capsys.readouterr().out)["constraints"]["crash"]
    assert told["probability_of"] == "lost"
    assert (told["expected"], told["at_most"]) == pytest.approx((0.2, 0.2))


def test_the_command_line_bounds_probabilities_too(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["solve", "small-building", "-q", "--json", "--probability"]
    assert main([*command, "door-locked=10%"]) == 0
    assert json.loads(capsys.readouterr().out)["choices"]["start"] == "go-to-E"
    for wrong in ("door-locked", "door-locked=2", "door-locked=often", "door-loked=10%"):
        assert main([*command, wrong]) == 2
        assert "door-lo" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("constraint", "told"),
    [
        (
            "crash: {probability: {of: losst}}",
            "of: there is no event or state 'losst'; did you mean",
        ),
        ("crash: {probability: {of: lost, at_most: 2}}", "at_most: 2 is not a probability between 0 and 1"),
        ("crash: {probability: {at_most: 1%}}", "crash.probability: the key 'of' is missing"),
        ("crash: {probability: {of: {fly: x}}}", "of: there is no state of 'fly' 'x'"),
        ("time: {probability: {of: lost}}", "activity 'fly' has a cost of that name; give it another"),
        ("crash: {probability: {of: lost}, at_most: 1}", "crash.at_most: there is no such key"),
    ],
)
def test_a_mistake_is_told_where_it_stands(constraint: str, told: str) -> None:
    text = DRONE[: DRONE.index("  crash:")] + f"  {constraint}\n"
    with pytest.raises(InvalidProblem) as raised:
        load_text(text)
    assert told in str(raised.value)
    assert "constraints." in str(raised.value)


def test_a_capacity_that_may_be_exceeded_is_a_probability_too(tmp_path: Path) -> None:
    text = DRONE.replace("costs: [time]", "costs: [time]\ncapacities: {fuel: {at_most: 1, probability: 50%}}")
    text = text.replace("costs: {time: 3}", "costs: {time: 3, fuel: 2}").replace("OF", "lost")
    path = tmp_path / "fuel.yaml"
    path.write_text(text)
    words = str(solve(load(path, risk=0.1).with_bounds({"fuel above 1": 1.0})))
    assert "probability of using more than 1 of fuel: 100%, at most 100% allowed" in words
    assert "probability of lost: 5%" in words
