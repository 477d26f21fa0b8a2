from __future__ import annotations

import json
import re
from contextlib import redirect_stdout
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import Any

import pytest

from hcssp import best_plans
from hcssp.cli import main
from hcssp.contract.plan import Plan
from hcssp.contract.progress import Gap
from hcssp.methods.paper import BudgetAllocation
from hcssp.scenarios import small_building
from hcssp.solving.solve import solve

KEYS = [
    "problem",
    "method",
    "status",
    "infeasible_because",
    "message",
    "stopped_by",
    "stop_detail",
    "kept",
    "lower_bound",
    "upper_bound",
    "gap",
    "constraints",
    "choices",
    "activities",
    "policies",
    "randomised_optimum",
    "seconds",
    "trace",
]
FIGURES = ["expected_executions", "cost", "usage", "budget"]


def answer(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    assert main(["solve", "small-building", "--json", "--quiet", *arguments]) == code
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert len(lines) == 1

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(lines[0], parse_constant=refuse)


@pytest.fixture(scope="module")
def document() -> Any:
    """What the command tells about the building under a bound of 2; it is not to be changed."""
    out = StringIO()
    with redirect_stdout(out):
        assert main(["solve", "small-building", "--json", "--quiet", "--bound", "damage=2"]) == 0
    return json.loads(out.getvalue())


@pytest.fixture(scope="module")
def plan() -> Plan:
    """What the library finds under this bound."""
    return solve(small_building(2.0))


def test_the_json_object_has_the_promised_keys(document: Any) -> None:
    assert list(document) == KEYS
    assert document["problem"] == "small-building"
    assert document["method"] == "exact"
    assert document["status"] == "optimal"
    assert list(document["constraints"]["damage"]) == ["expected", "at_most", "price"]
    for activity in document["activities"].values():
        assert list(activity) == [*FIGURES, "decisions", "decisions_left_out"]


def test_the_figures_are_those_of_the_library(document: Any, plan: Plan) -> None:
    assert document["upper_bound"] == pytest.approx(plan.upper_bound, rel=1e-9)
    assert document["constraints"]["damage"]["expected"] == pytest.approx(plan.cost("damage"))
    assert document["constraints"]["damage"]["at_most"] == 2.0
    gap = (document["upper_bound"] - document["lower_bound"]) / document["upper_bound"]
    assert document["gap"] == pytest.approx(gap, abs=1e-12)
    assert 0.0 <= document["gap"] <= 1e-6


def test_the_activities_add_up_to_the_whole(document: Any) -> None:
    activities = document["activities"]
    assert set(activities) == {activity.name for activity in small_building().activities}
    executed = [each for each in activities.values() if each["expected_executions"]]
    cost = sum(each["expected_executions"] * each["cost"] for each in executed)
    assert cost == pytest.approx(document["upper_bound"])
    used = sum(each["expected_executions"] * each["usage"]["damage"] for each in executed)
    assert used == pytest.approx(document["constraints"]["damage"]["expected"])
    # The exact method allocates no budgets.
    assert {each["budget"]["damage"] for each in executed} == {None}
    # At this bound the plan tries the door, which is locked one time in five.
    assert activities["return-to-E"]["expected_executions"] == pytest.approx(0.2)
    assert {name: activities["go-to-E"][name] for name in FIGURES} == {
        "expected_executions": 0.0,
        "cost": None,
        "usage": {"damage": None},
        "budget": {"damage": None},
    }


def test_choices_are_told_for_the_events_that_are_reached(
    capsys: pytest.CaptureFixture[str], document: Any
) -> None:
    through_door = document["choices"]
    assert through_door["start"] == "go-to-door"
    assert set(through_door) == {"start", "at-door", "door-open", "door-locked", "hallway"}
    anyhow = answer(capsys, "--bound", "damage=inf")
    assert anyhow["choices"] == {"start": "go-to-E", "hallway": "leave-through-E"}
    # No bound at all has a null.
    assert anyhow["constraints"]["damage"]["at_most"] is None
    assert isfinite(anyhow["upper_bound"])


def test_the_trace_only_tightens_and_uses_null_for_infinity(document: Any) -> None:
    trace = document["trace"]
    assert trace[0][2] is None
    assert trace[-1][0] <= document["seconds"]
    seconds, lowers, uppers = zip(*trace, strict=True)
    assert list(seconds) == sorted(seconds)
    assert list(lowers) == sorted(lowers)
    known = [upper for upper in uppers if upper is not None]
    assert known == sorted(known, reverse=True)


def test_the_integer_program_finds_the_same_plan_without_a_proof(
    capsys: pytest.CaptureFixture[str], document: Any
) -> None:
    integer = answer(capsys, "--bound", "damage=2", "--method", "milp")
    assert integer["method"] == "milp"
    assert (document["status"], integer["status"]) == ("optimal", "feasible")
    assert integer["lower_bound"] == pytest.approx(25.3538722, abs=1e-5)
    for each in (document, integer):
        assert each["upper_bound"] == pytest.approx(27.7191165, abs=1e-5)


def test_the_linear_program_bounds_from_below(capsys: pytest.CaptureFixture[str]) -> None:
    document = answer(capsys, "--bound", "damage=2", "--method", "lp")
    assert document["lower_bound"] == pytest.approx(25.3538722, abs=1e-5)
    assert (document["status"], document["policies"]) == ("optimal", "randomised")


def test_both_optima_are_answers(capsys: pytest.CaptureFixture[str], document: Any) -> None:
    randomised = answer(capsys, "--bound", "damage=2", "--policies", "randomised")
    assert randomised["method"] == "dual"
    assert randomised["status"] == "optimal"
    assert document["randomised_optimum"] == pytest.approx(randomised["upper_bound"])
    ((place, options),) = randomised["random_choices"].items()
    assert place == "in go-to-door, state (2, 3)"
    assert options == {"south": pytest.approx(0.93359015), "east": pytest.approx(0.06640985)}
    arguments = ["--policies", "deterministic", "--method", "dual"]
    assert main(["solve", "small-building", *arguments]) == 2
    assert "the method 'dual' finds the best randomised plan" in capsys.readouterr().err


@pytest.mark.parametrize("iterations", ["0", "inf"])
def test_budget_allocation_tells_its_budgets(capsys: pytest.CaptureFixture[str], iterations: str) -> None:
    arguments = ["--bound", "damage=2", "--method", "budget-allocation", "--iterations", iterations]
    document = answer(capsys, *arguments, "--gap", "0.1")
    assert document["lower_bound"] <= 27.7191166 <= document["upper_bound"] + 1e-6
    assert document["gap"] <= 0.1
    assert document["constraints"]["damage"]["expected"] <= 2.0 + 1e-9
    for activity in document["activities"].values():
        if activity["expected_executions"]:
            assert activity["usage"]["damage"] <= activity["budget"]["damage"] + 1e-9


def test_the_mode_of_budget_allocation_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--bound", "damage=3", "--method", "budget-allocation", "--gap", "0.1"]
    sharp = answer(capsys, *arguments)
    assert answer(capsys, *arguments, "--mode", "sharp")["lower_bound"] == sharp["lower_bound"]
    published = answer(capsys, *arguments, "--mode", "published")
    assert (sharp["mode"], published["mode"]) == ("sharp", "published")
    assert published["stopped_by"] == "gap"
    assert published["lower_bound"] < sharp["lower_bound"] <= 15.5535233 <= published["upper_bound"] + 1e-6
    # The multipliers of a box are no prices of the problem's bounds.
    assert published["constraints"]["damage"]["price"] is None
    assert sharp["constraints"]["damage"]["price"] > 0.0
    budgets = {}
    for name, activity in published["activities"].items():
        if activity["expected_executions"]:
            budgets[name] = activity["budget"]["damage"]
            assert activity["usage"]["damage"] <= budgets[name] + 1e-9
    # Boxes are halves of halves of the allocation space: the bound over the least likelihood of the activity.
    for name, least in (("go-to-door", 1.0), ("leave-through-door", 0.8), ("return-to-E", 0.2)):
        parts = 64 * budgets[name] * least / 3.0
        assert parts == pytest.approx(round(parts), rel=1e-7)


def test_a_bound_that_nothing_keeps(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "small-building", "--bound", "damage=-1", "--quiet"]) == 1
    printed = capsys.readouterr()
    assert "the least achievable damage is" in printed.err
    assert "above the bound -1" in printed.err
    assert printed.out == ""
    document = answer(capsys, "--bound", "damage=-1", code=1)
    assert document["status"] == "infeasible"
    assert document["upper_bound"] is None
    assert document["lower_bound"] is None
    assert document["gap"] is None
    assert document["choices"] == {}
    assert document["constraints"]["damage"] == {"expected": None, "at_most": -1.0, "price": None}
    assert document["activities"]["go-to-E"]["usage"] == {"damage": None}


@pytest.mark.usefixtures("out_of_time")
def test_out_of_time_is_not_infeasible(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "small-building", "--time-limit", "3600", "--quiet"]) == 1
    printed = capsys.readouterr()
    assert "no feasible policy was found before the stop (time limit); one may still exist" in printed.err
    assert answer(capsys, "--time-limit", "3600", code=1)["status"] == "unknown"


SECONDS = re.compile(r"\d+\.\d\d s")


def test_the_plan_in_words(capsys: pytest.CaptureFixture[str], plan: Plan) -> None:
    assert main(["solve", "small-building", "--bound", "damage=2", "--quiet"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert SECONDS.sub("* s", printed.out) == SECONDS.sub("* s", str(plan)) + "\n"
    assert "small-building: least expected time, damage at most 2" in printed.out
    assert "at start  go-to-door (rather than go-to-E)" in printed.out
    assert "never executed: go-to-E" in printed.out
    assert "damage: 1.8969 expected, at most 2 allowed; price " in printed.out
    assert "expected time of 27.719117" in printed.out
    assert "this plan is optimal" in printed.out
    assert "the best randomised policy reaches 25.353872" in printed.out
    assert "Stopped because the requested gap was reached: method exact" in printed.out
    rows = [line.split() for line in printed.out.splitlines()]
    assert ["activity", "executions", "time", "share", "damage", "share"] in rows
    assert ["go-to-door", "1.0000", "6.8995", "24.9%", "1.4794", "78.0%"] in rows
    # A fifth of the time, 5.52 each time.
    assert ["return-to-E", "0.2000", "5.5199", "4.0%", "0.6496", "6.8%"] in rows
    assert ["total", "27.7191", "1.8969"] in rows


@pytest.mark.parametrize("arguments", [["--gap", "0.5"], ["--method", "budget-allocation", "--gap", "0.4"]])
def test_the_words_are_those_of_the_plan(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    """``print(plan)`` and the command line tell the same, but for the clock."""
    assert main(["solve", "small-building", "--bound", "damage=2", "--quiet", *arguments]) == 0
    solver = BudgetAllocation() if "--method" in arguments else None
    plan = solve(small_building(2.0), solver, Gap(float(arguments[-1])))
    assert SECONDS.sub("* s", capsys.readouterr().out) == SECONDS.sub("* s", str(plan)) + "\n"


def test_a_loose_gap_is_told_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "small-building", "--bound", "damage=2", "--gap", "0.5", "--quiet"]) == 0
    assert "this plan is feasible; its cost could be lower by at most" in capsys.readouterr().out


def test_a_scale_multiplies_every_length(capsys: pytest.CaptureFixture[str]) -> None:
    small = answer(capsys, "--bound", "damage=inf")
    large = answer(capsys, "--bound", "damage=inf", "--scale", "2")
    assert large["upper_bound"] > 1.5 * small["upper_bound"]


def test_how_closely_bounds_are_kept_can_be_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plan = str(tmp_path / "plan.json")
    document = answer(capsys, "--bound", "damage=1", "--feasibility-tolerance", "0.9", "--out", plan)
    used = document["constraints"]["damage"]["expected"]
    assert 1.0 < used <= 1.9
    assert document["status"] == "optimal"
    # Without the tolerance that it was made for, the plan is judged by the usual one.
    asked = ["evaluate", "small-building", plan, "--bound", "damage=1", "-q"]
    assert main(asked) == 1
    assert main([*asked, "--feasibility-tolerance", "0.9"]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--feasibility-tolerance", "0"],
            "0 is no tolerance; give a share from 1e-11 to below 1, such as 1e-6",
        ),
        (["--feasibility-tolerance", "1"], "1 is no tolerance"),
        (["--feasibility-tolerance", "x"], "'x' is not a number"),
        (
            ["--feasibility-tolerance", "1e-6", "--certificate", "proof.cert"],
            "a certificate is about bounds kept to 1e-9; leave one out",
        ),
    ],
)
def test_a_tolerance_that_makes_no_sense_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["solve", "small-building", "--quiet", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_problem_without_rooms_is_drawn_as_its_procedure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "plan.png"
    parameters = ["--set", "grades=2", "--set", "burdens=2", "--bound", "toxicity=4"]
    assert main(["solve", "patient", *parameters, "-q", "--plot", str(picture)]) == 0
    assert f"The procedure with the plan's choices is drawn in {picture}." in capsys.readouterr().out
    assert picture.stat().st_size > 1_000


DEAD_END = """
format: hcssp-problem
version: 1
costs: [time, gold]
activities:
  jump:
    table:
      edge: {jump: {to: {out: 0.9, pit: 0.1}, costs: {time: 1, gold: 1}}}
      pit: {}
    start: edge
    goal: out
"""


@pytest.mark.parametrize("more", [[], ["--maximise", "gold"], ["--method", "lp"]])
def test_that_no_policy_ends_is_an_answer(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, more: list[str]
) -> None:
    path = tmp_path / "jump.yaml"
    path.write_text(DEAD_END)
    assert main(["solve", str(path), "--json", "--quiet", *more]) == 1
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    told = f"no policy ends: {path}:6: activities.jump: every policy may be trapped"
    assert document["message"].startswith(told)
    assert printed.err == f"hcssp: no plan: {document['message']}\n"
    known = (document["status"], document["infeasible_because"], document["stopped_by"])
    assert known == ("infeasible", "no policy ends", "proved")


def test_no_command_takes_a_dead_end_for_bad_input(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "jump.yaml"
    path.write_text(DEAD_END + "constraints: {gold: {at_most: 1}}")
    for command in (
        ["curve", str(path), "--constraint", "gold"],
        ["sweep", str(path), "--bound", "gold=1,2"],
        ["report", str(path), "--out", str(tmp_path / "page.html")],
    ):
        assert main([*command, "--quiet"]) == 1
        assert f"no policy ends: {path}:6: activities.jump" in capsys.readouterr().err


def test_alternatives_are_listed_in_the_order_of_their_cost(capsys: pytest.CaptureFixture[str]) -> None:
    question = ["solve", "small-building", "--bound", "damage=2", "--alternatives", "3", "--quiet"]
    assert main([*question, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    truth = best_plans(small_building(2.0), 3)
    alternatives = document["alternatives"]
    assert [each["costs"]["time"] for each in alternatives] == [plan.upper_bound for plan in truth]
    assert [each["proven"] for each in alternatives] == [True] * 3
    assert [len(each["differences"]) for each in alternatives] == [0, 4, 7]
    assert document["upper_bound"] == truth[0].upper_bound
    assert main(question) == 0
    printed = capsys.readouterr().out
    assert "3 best plans" in printed
    assert printed.index("27.7191") < printed.index("27.7205") < printed.rindex("27.7205")


def test_alternatives_of_nothing_and_with_options_that_they_do_not_know(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    question = ["solve", "small-building", "--alternatives", "2", "--quiet"]
    assert main([*question, "--bound", "damage=-1"]) == 1
    assert "no plan: nothing keeps the bounds" in capsys.readouterr().err
    assert main([*question, "--method", "anytime", "--out", str(tmp_path / "plan.json")]) == 2
    assert "--method anytime, --out cannot be combined" in capsys.readouterr().err
