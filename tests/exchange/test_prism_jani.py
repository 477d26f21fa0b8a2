"""Models of PRISM and JANI: our optimum over randomised policies is Storm's, and mistakes are told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hcssp
from hcssp.dual.ascent import maximise
from storm_peer import storm_optimum

stormpy = pytest.importorskip("stormpy", reason="pip install 'hcssp[storm]' to test models of PRISM and JANI")

MODELS = Path(__file__).parent / "models"


@dataclass(frozen=True)
class Case:
    """A model with a question, and what Storm says of models that it cannot be asked about."""

    file: str
    goal: str | None
    minimise: str
    bounds: Mapping[str, float]
    constants: str = ""
    known: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def problem(self) -> hcssp.CSSP:
        return hcssp.load_model(
            MODELS / self.file,
            constants=self.constants or None,
            minimise=self.minimise,
            goal=self.goal,
            bounds=self.bounds,
            **self.options,
        )


CASES = (
    Case("consensus.prism", "decided", "steps", {"flips": 0.6}, "K=1"),
    Case("dice.pm", "thrown", "flips", {"returns": 0.4}, known=11 / 3),
    Case("ferry.jani", "over", "time", {"spilled": 0.778}, "passengers=3"),
    Case("firewire.prism", "elected", "time", {"signals": 2.2}),
    Case("jobs.prism", "finished", "rent", {"wear": 7.9, "makespan": 9.0}),
    Case("power_management.prism", "over", "power", {"waiting": 7.665}, "horizon=12"),
    Case("resource_gathering.prism", "rich", "time", {"attacks": 0.169}, "attack=0.2"),
    Case("robot_grid.prism", "there", "time", {"heat": 1.647}, "N=4"),
    Case("scheduling.prism", "done", "time", {"energy": 19.333}),
    Case("sensors.prism", "collected", "delay", {"energy": 21.497}, "readings=2"),
    Case("team_formation.prism", "formed", "time", {"pay": 8.242}),
    Case("uav.prism", "watched", "time", {"exposure": 1.576}),
    Case("wlan.prism", "sent", "slots", {"energy": 4.96}),
    Case("zeroconf.prism", "configured", "time", {"errors": 0.059}, "most=4"),
)


@pytest.mark.parametrize("case", CASES, ids=[case.file for case in CASES])
def test_the_stochastic_optimum_is_storm_s(case: Case) -> None:
    expected = case.known
    if expected is None:
        path = MODELS / case.file
        expected = storm_optimum(stormpy, path, case.constants, case.minimise, case.bounds, case.goal)
    ours = maximise(hcssp.extend.FlatOracle(case.problem()), hcssp.extend.Region()).bound
    assert ours == pytest.approx(expected, rel=1e-6)


def test_without_a_goal_the_whole_run_counts(tmp_path: Path) -> None:
    text = (MODELS / "machine.prism").read_text(encoding="utf-8").replace("worn<=1", "worn=1")
    path = tmp_path / "machine.prism"
    path.write_text(text, encoding="utf-8")
    expected = storm_optimum(stormpy, path, "", "time", {"scrap": 0.292}, None)
    problem = hcssp.load_model(text, bounds={"scrap": 0.292})
    assert maximise(hcssp.extend.FlatOracle(problem), hcssp.extend.Region()).bound == pytest.approx(
        expected, rel=1e-6
    )
    assert problem.state_labels[-1] == "staying for ever"


def test_several_initial_states_are_equally_probable() -> None:
    text = (MODELS / "machine.prism").read_text(encoding="utf-8")
    values = [
        hcssp.solve(hcssp.load_model(text.replace("worn<=1", start), minimise="time")).upper_bound
        for start in ("worn=0", "worn=1", "worn<=1")
    ]
    assert values[2] == pytest.approx((values[0] + values[1]) / 2)
    assert values[0] < values[1]


def test_several_initial_states_and_rewards_of_states_in_jani() -> None:
    less, same = ({"op": each, "left": "x", "right": value} for each, value in (("<", 2), ("=", 0)))
    try_again = [
        {"location": "l", "probability": {"exp": 0.5}, "assignments": [{"ref": "x", "value": 2}]},
        {"location": "l", "probability": {"exp": 0.5}},
    ]
    step = [{"ref": "x", "value": {"op": "+", "left": "x", "right": 1}}, {"ref": "t", "value": 1}]
    waiting = [{"ref": "t", "value": {"op": "ite", "if": same, "then": 1, "else": 0}}]
    model = {
        "jani-version": 1, "name": "m", "type": "mdp", "features": ["derived-operators"], "properties": [],
        "actions": [{"name": "a"}, {"name": "b"}],
        "variables": [
            {"name": "x", "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 2}},
            {"name": "t", "type": "real", "transient": True, "initial-value": 0},
        ],
        "restrict-initial": {"exp": less},
        "automata": [{
            "name": "m", "initial-locations": ["l"],
            "locations": [{"name": "l", "transient-values": waiting}],
            "edges": [
                {"location": "l", "action": "a", "guard": {"exp": less},
                 "destinations": [{"location": "l", "assignments": step}]},
                {"location": "l", "action": "b", "guard": {"exp": same}, "destinations": try_again},
            ],
        }],
        "system": {"elements": [{"automaton": "m"}], "syncs": [
            {"synchronise": [name], "result": name} for name in ("a", "b")]},
    }  # fmt: skip
    problem = hcssp.load_model(json.dumps(model, indent=1), goal="x=2", minimise="t")
    assert sorted(problem.initial.tolist()) == [0.0, 0.5, 0.5]
    # From 0 two tries at 1 each, from 1 a step at 1.
    assert hcssp.solve(problem).upper_bound == pytest.approx(1.5)


def test_states_and_actions_have_the_names_of_the_model() -> None:
    problem = hcssp.load_model(MODELS / "ferry.jani", constants={"passengers": 1}, goal="over")
    assert problem.name == "ferry"
    assert problem.state_labels[0] == "waiting=1, damage=0"
    assert set(problem.action_labels) == {"rapids", "around", "repair"}


def test_rewards_of_branches_are_expected(caplog: pytest.LogCaptureFixture) -> None:
    problem = hcssp.load_model(MODELS / "ferry.jani", constants="passengers=1", goal="over")
    # Storm gives the mean, so that nobody can tell what a single run spends.
    assert "the rewards 'time', 'spilled' depend on the destination of an edge" in caplog.text
    start = problem.costs[:, int(problem.row_start[0]) : int(problem.row_start[1])]
    by_name = dict(
        zip(problem.cost_names, start[:, list(problem.action_labels[:2]).index("rapids")], strict=True)
    )
    assert by_name == pytest.approx({"time": 0.7 * 1 + 0.3 * 3, "spilled": 0.3 * 2})


def test_rewards_of_states_and_choices_are_added() -> None:
    problem = hcssp.load_model(MODELS / "power_management.prism", constants="horizon=1", goal="over")
    wake = list(problem.action_labels).index("sleep")
    passing = list(problem.action_labels).index("pass")
    assert problem.cost_names == ("power", "waiting", "lost")
    assert problem.costs[0, wake] == 0.0
    assert problem.costs[0, passing] > 0.0


def test_an_expression_is_a_goal_and_several_are_alternatives() -> None:
    grid = MODELS / "robot_grid.prism"
    near = hcssp.load_model(grid, constants="N=4", goal="x=1 & !fallen")
    either = hcssp.load_model(grid, constants="N=4", goal=["there", "x=1 & !fallen"])
    assert hcssp.solve(either).upper_bound == pytest.approx(hcssp.solve(near).upper_bound)
    # What lies behind a goal is not explored.
    assert near.num_states < hcssp.load_model(grid, constants="N=4", goal="there").num_states


def test_dead_ends_are_avoided_or_survived_at_a_price() -> None:
    grid = MODELS / "robot_grid.prism"
    plan = hcssp.solve(hcssp.load_model(grid, constants="N=3", goal="there"))
    assert "jump" not in plan.policy.actions().values()
    cheap = hcssp.load_model(grid, constants="N=3", goal="there", give_up={"time": 0.0})
    assert hcssp.solve(cheap).upper_bound < plan.upper_bound
    with pytest.raises(hcssp.errors.DeadEnd, match="no policy reaches a goal with certainty"):
        hcssp.solve(hcssp.load_model(TRAP, goal="out"))


TRAP = """mdp
module m
  x : [0..2] init 0;
  [go] x=0 -> 0.5 : (x'=1) + 0.5 : (x'=2);
endmodule
label "out" = x=1;
"""


def test_a_model_without_rewards_counts_its_steps() -> None:
    problem = hcssp.load_model(TRAP.replace("0.5 : (x'=2)", "0.5 : true"), goal="out")
    assert problem.cost_names == ("steps",)
    assert hcssp.solve(problem).upper_bound == pytest.approx(2.0)


def test_a_label_called_goal_is_the_goal_unless_another_is_named() -> None:
    problem = hcssp.load_model(TRAP.replace("0.5 : (x'=2)", "0.5 : true").replace('"out"', '"goal"'))
    assert problem.goals.sum() == 1
    assert problem.num_states == 2


@pytest.mark.parametrize(
    ("text", "options", "told"),
    [
        (
            TRAP + 'rewards "r"\n  true : -1;\nendrewards\n',
            {},
            "'r': -1 in state 'x=0', action 'go'",
        ),
        (TRAP.replace("mdp", "pomdp\nobservables x endobservables"), {}, "of the type POMDP"),
        (TRAP.replace("mdp", "ma"), {}, "of the type MA"),
        ("ctmc\nmodule m\n  x : [0..1];\n  [] x=0 -> 2 : (x'=1);\nendmodule\n", {}, "of the type CTMC"),
        (TRAP.replace("x'=2", "x'=3"), {}, r"state 'x=0, .*', action 'go': a variable leaves its range"),
        (TRAP.replace("0.5 : (x'=2)", "0.3 : (x'=2)"), {}, "probabilities sum to 0.8, not 1"),
        (TRAP.replace("x=0 ->", "x=N ->"), {}, "the model: Parsing error at 4:9"),
        (
            TRAP,
            {"goal": "nowhere"},
            "'nowhere' is neither a label nor an expression; the labels are 'out'",
        ),
        (TRAP, {"goal": "x=0 & x=1"}, "no state that can be reached"),
        (TRAP, {"constants": "N=3"}, "there is no constant 'N'"),
        (TRAP, {"constants": "N"}, "'N' is not of the form NAME=VALUE"),
        (TRAP.replace("mdp", "mdp\nconst int N;"), {}, "'N' must be given"),
        (
            TRAP.replace("mdp", "mdp\nconst int N=3;"),
            {"constants": {"N": 4}},
            "'N' has its value",
        ),
        (
            TRAP.replace("endmodule", "  [] x>0 -> true;\nendmodule") + "rewards\n  true : 1;\nendrewards\n",
            {"costs": ["reward"], "goal": None},
            "name a goal, or fewer costs",
        ),
    ],
)
def test_what_cannot_be_read_is_told(text: str, options: dict[str, Any], told: str) -> None:
    with pytest.raises(hcssp.InvalidProblem, match=told):
        hcssp.load_model(text, **{"goal": "out" if '"out"' in text else None, **options})


def test_names_that_there_are_not_are_told() -> None:
    with pytest.raises(hcssp.errors.UnknownName, match="there is no reward model 'minutes'"):
        hcssp.load_model(TRAP, goal="out", minimise="minutes")
    with pytest.raises(hcssp.InvalidProblem, match=r"nowhere\.prism: there is no such file"):
        hcssp.load_model("nowhere.prism")


def test_labels_are_what_a_probability_may_be_of() -> None:
    text = """mdp
    module m
      x : [0..3] init 0;
      [safe] x=0 -> (x'=3);
      [quick] x=0 -> 0.7 : (x'=3) + 0.2 : (x'=1) + 0.1 : (x'=2);
      [on] x=1 | x=2 -> (x'=3);
    endmodule
    label "done" = x=3;
    label "wet" = x=1 | x=2;
    rewards "time" [safe] true : 9; [quick] true : 1; [on] true : 1; endrewards"""
    problem = hcssp.load_model(text, goal="done")
    assert list(problem.groups["wet"]) == ["x=1", "x=2"]
    wet = hcssp.with_probability(problem, "wet", of="wet", at_most=0.3)
    assert hcssp.solve(wet).cost("wet") == pytest.approx(0.3)
    assert hcssp.solve(wet.with_bounds(wet=0.29)).upper_bound == pytest.approx(9.0)


def test_what_storm_has_built_is_a_problem() -> None:
    program = stormpy.parse_prism_program(str(MODELS / "jobs.prism"))
    built = stormpy.build_model(program)
    problem = hcssp.extend.from_storm(built, goal="finished", minimise="rent", costs=["wear"])
    read = hcssp.load_model(MODELS / "jobs.prism", goal="finished", minimise="rent", costs=["wear"])
    assert np.array_equal(problem.costs.sum(axis=1), read.costs.sum(axis=1))
    with pytest.raises(hcssp.errors.UnknownName, match="there is no label 'over'"):
        hcssp.extend.from_storm(built, goal="over")


def test_storm_keeps_its_log_to_itself(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(hcssp.InvalidProblem):
        hcssp.load_model("rubbish\n")
    assert capfd.readouterr() == ("", "")
