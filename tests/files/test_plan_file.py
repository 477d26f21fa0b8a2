from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcssp.contract.plan import Plan
from hcssp.contract.progress import MaxIterations
from hcssp.contract.proof import Ending, FileClaim, Interval, Reason, Status, Trace
from hcssp.contract.solver import Problem
from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.errors import CannotWrite, HcsspError, InvalidPlan, NoSolution
from hcssp.files.atomic import check_writable, write_atomically
from hcssp.files.plan_file import load_plan, plan_document, run_lengths, save_plan
from hcssp.methods.paper import BudgetAllocation
from hcssp.procedure import HCSSP, ProcedurePolicy
from hcssp.scenarios import small_building
from hcssp.solving.solve import solve
from known_optima import KNOWN, knapsack
from small_procedures import forking, retrying

PROBLEM = small_building(2.0)
PLAN = solve(PROBLEM).as_procedure()
DOCUMENT = json.dumps(plan_document(PLAN))


def assert_refused(path: Path, message: str) -> None:
    """The file is no plan, and whoever reads it is told where and why."""
    with pytest.raises(InvalidPlan) as caught:
        load_plan(path, PROBLEM)
    assert f"{path}: " in str(caught.value)
    assert message in str(caught.value)


def written(folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    document = json.loads(DOCUMENT)
    change(document)
    path = folder / "plan.json"
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("problem", [PROBLEM, retrying(), forking(), small_building(inf)])
def test_a_plan_comes_back_as_it_was(tmp_path: Path, problem: HCSSP) -> None:
    plan = solve(problem).as_procedure()
    plan = replace(plan, budgets={"cross": {"damage": 1.5}})
    save_plan(tmp_path / "plan.json", plan)
    again = load_plan(tmp_path / "plan.json", problem).as_procedure()
    assert again.policy == plan.policy
    assert again.bounds == again.made_for == plan.bounds
    assert again.policy.choices == plan.policy.choices
    for rows, other in zip(again.policy.activities, plan.policy.activities, strict=True):
        assert np.array_equal(rows, other)
    for name in ("name", "method", "ending", "seconds", "budgets", "prices"):
        assert getattr(again, name) == getattr(plan, name)
    # What was proven is a claim now; what it costs was computed anew.
    assert again.claim == FileClaim(plan.lower_bound, plan.upper_bound, plan.trace)
    assert (again.lower_bound, len(again.trace)) == (-inf, 0)
    assert again.upper_bound == pytest.approx(plan.upper_bound)
    assert again.costs.costs == pytest.approx(plan.evaluate().costs)
    # Told once more, it is claimed once more.
    again.save(tmp_path / "again.json")
    assert load_plan(tmp_path / "again.json", problem).claim == again.claim


@pytest.mark.parametrize("name", [name for name, known in KNOWN.items() if known.optimum < inf])
def test_every_kind_of_plan_comes_back_equal(tmp_path: Path, name: str) -> None:
    """Of a C-SSP and of a procedure alike, whatever it is called."""
    problem: Problem = KNOWN[name].problem
    named = problem.named(name) if isinstance(problem, HCSSP) else problem.derive(name=name)
    plan = solve(named)
    plan.save(tmp_path / "plan.json")
    again = load_plan(tmp_path / "plan.json", problem)
    assert again.policy == plan.policy
    assert type(again.policy) is type(plan.policy)
    assert (again.prices, again.ending) == (plan.prices, plan.ending)
    assert again.claim == FileClaim(plan.lower_bound, plan.upper_bound, plan.trace)
    assert again.status is not Status.OPTIMAL
    assert json.loads((tmp_path / "plan.json").read_text())["problem"]["name"] == name
    # It can go on from there, and proves it again.
    assert solve(named, start=again).status is plan.status


def test_a_plan_of_a_single_problem_speaks_of_its_states(tmp_path: Path) -> None:
    plan = solve(knapsack(7.5))
    plan.save(tmp_path / "plan.json")
    again = load_plan(tmp_path / "plan.json", knapsack(1.0))
    assert (again.bounds, again.made_for) == ({"damage": 1.0}, {"damage": 7.5})
    assert [again.action(f"room-{room}") for room in range(4)] == ["hurry", "hurry", "walk", "walk"]
    with pytest.raises(InvalidPlan, match="this plan is for another problem"):
        load_plan(tmp_path / "plan.json", retrying())


def test_why_a_search_ended_comes_back(tmp_path: Path) -> None:
    plan = solve(PROBLEM, BudgetAllocation(), stop=lambda p: "battery low" if p.incumbent else None)
    plan.save(tmp_path / "plan.json")
    again = load_plan(tmp_path / "plan.json", PROBLEM)
    assert again.ending == Ending(Reason.CRITERION, "battery low")
    assert again.budgets == plan.budgets
    assert again.budgets


def test_a_reason_of_another_version_is_told_as_a_detail(tmp_path: Path) -> None:
    again = load_plan(written(tmp_path, set_at("stopped_by", "full moon")), PROBLEM)
    assert again.ending == Ending(Reason.UNKNOWN, "full moon")


def test_what_was_not_found_cannot_be_saved(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("old")
    with pytest.raises(NoSolution, match="no feasible policy was found before the stop"):
        solve(PROBLEM, stop=MaxIterations(0)).save(tmp_path / "plan.json")
    assert (tmp_path / "plan.json").read_text() == "old"


def test_the_file_can_be_read_by_people(tmp_path: Path) -> None:
    save_plan(tmp_path / "plan.json", PLAN)
    document = json.loads((tmp_path / "plan.json").read_text())
    assert (document["format"], document["version"]) == ("hcssp-plan", 1)
    assert document["problem"]["name"] == "small-building"
    assert document["bounds"] == {"damage": 2.0}
    assert document["status"] == "optimal"
    assert document["policy"]["choices"][0] == {
        "event": "start",
        "entered_in": None,
        "choice": "go-to-door",
    }
    evaluation = document["evaluation"]
    assert evaluation["costs"]["time"] == pytest.approx(document["upper_bound"])
    # For one execution, as everywhere.
    assert evaluation["activities"]["return-to-E"]["cost"] == pytest.approx(5.5199, abs=1e-4)
    assert evaluation["activities"]["go-to-E"]["usage"] == {"damage": None}


def test_a_run_that_was_killed_has_proven_less(tmp_path: Path) -> None:
    cost = PLAN.upper_bound
    trace = Trace([(0.1, -inf, inf), (0.2, 1.0, cost)])
    early = Plan(PROBLEM, PLAN.policy, proof=Interval(1.0, cost), method="exact", trace=trace)
    save_plan(tmp_path / "plan.json", early)
    document = json.loads((tmp_path / "plan.json").read_text())
    assert (document["stopped_by"], document["evaluation"], document["status"]) == (None, None, "feasible")
    assert document["trace"] == [[0.1, None, None], [0.2, 1.0, cost]]
    assert load_plan(tmp_path / "plan.json", PROBLEM).claim == FileClaim(1.0, cost, trace)


def test_a_plan_for_another_problem_is_refused(tmp_path: Path) -> None:
    save_plan(tmp_path / "plan.json", PLAN)
    with pytest.raises(InvalidPlan, match="this plan is for another problem, called 'small-building'"):
        load_plan(tmp_path / "plan.json", retrying())


def set_at(*path: Any) -> Callable[[dict[str, Any]], object]:
    *keys, last, value = path

    def change(document: Any) -> None:
        for key in keys:
            document = document[key]
        document[last] = value

    return change


ACTIONS = ("policy", "activities", "go-to-E")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_at("format", "hcssp-problem"), "format: \"hcssp-problem\" is not 'hcssp-plan'; this is no plan"),
        (set_at("version", 2), "version: 2 cannot be read; this hcssp reads version 1"),
        (set_at("version", True), "version: true cannot be read"),
        (set_at("problem", None), "problem: null is not an object"),
        (set_at("problem", "x"), 'problem: "x" is not an object'),
        (set_at("bounds", {}), "bounds: a list of 0 is not the constraints of this problem, 'damage'"),
        (set_at("bounds", "damage", "2"), 'bounds.damage: "2" is not a number or null'),
        (set_at("bounds", "damage", 10**400), "bounds.damage: 1000"),
        (set_at("method", 3), "method: 3 is not a text"),
        (set_at("prices", "damage", -1.5), "prices.damage: -1.5 is not a price, which is never negative"),
        (set_at("lower_bound", [1]), "lower_bound: a list of 1 is not a number or null"),
        (set_at("upper_bound", True), "upper_bound: true is not a number or null"),
        (set_at("trace", 0, [1.0]), "trace[0]: a list of 1 is not three numbers"),
        (set_at("trace", {}), "trace: an object is not a list"),
        (set_at("budgets", {"x": 3}), "budgets.x: 3 is not an object"),
        (set_at("policy", None), "policy: null is not an object"),
        (set_at("policy", "choices", []), "policy.choices: a list of 0 is not a list of 6 choices"),
        (set_at("policy", "choices", 0, 7), "policy.choices[0]: 7 is not an object"),
        (
            set_at("policy", "choices", 0, "event", "x"),
            "policy.choices[0].event: \"x\" is not the event 'start'",
        ),
        (
            set_at("policy", "choices", 0, "choice", "fly"),
            "policy.choices[0].choice: \"fly\" is not a choice at 'start'; "
            "available: 'go-to-door', 'go-to-E'",
        ),
        (set_at("policy", "activities", []), "policy.activities: a list of 0 is not an object"),
        (set_at("policy", "activities", "swim", {}), "policy.activities.swim.actions: this key is missing"),
        (
            set_at("policy", "activities", "swim", {"actions": [], "repeats": []}),
            "policy.activities.swim: this is not an activity of this problem",
        ),
        (set_at(*ACTIONS, None), "policy.activities.go-to-E: null is not an object"),
        (set_at(*ACTIONS, "actions", [0.5]), "go-to-E.actions[0]: 0.5 is not a whole number"),
        (
            set_at(*ACTIONS, {"actions": [0], "repeats": [7, 7]}),
            "go-to-E.repeats: there must be a positive number for each",
        ),
        (
            set_at(*ACTIONS, {"actions": [0], "repeats": [10**12]}),
            "go-to-E.repeats: they make 1000000000000 actions, but the activity has 14 states",
        ),
        (set_at(*ACTIONS, {"actions": [0], "repeats": [-3]}), "there must be a positive number for each"),
        (set_at(*ACTIONS, {"actions": [9], "repeats": [14]}), "go-to-E.actions: 9 is not -1 or the position"),
        (set_at(*ACTIONS, {"actions": [10**30], "repeats": [14]}), "is not -1 or the position of an action"),
        (
            set_at(*ACTIONS, {"actions": [0], "repeats": [14]}),
            "has 0 actions, but the plan takes number 0 there, counted from 0",
        ),
    ],
)
def test_every_mistake_is_told_with_file_and_field(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    assert_refused(written(tmp_path, change), message)


def test_several_mistakes_are_told_together(tmp_path: Path) -> None:
    def change(document: dict[str, Any]) -> None:
        document["method"] = 3
        document["bounds"] = {"damage": "two"}

    with pytest.raises(InvalidPlan) as caught:
        load_plan(written(tmp_path, change), PROBLEM)
    assert len(caught.value.violations) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "this is not JSON"),
        (b"{", "this is not JSON"),
        (b"\xff\xfe", "this is not JSON"),
        (b"[1]", "format: null is not 'hcssp-plan'"),
        (b"[" * 100_000, "this is not JSON"),
        (b'{"format": "hcssp-plan", "version": 1, "lower_bound": NaN}', "this is not JSON: NaN is no number"),
        (b"9" * 5000, "this is not JSON"),
    ],
)
def test_what_is_no_json_is_no_plan(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(content)
    with pytest.raises(InvalidPlan) as caught:
        load_plan(path, PROBLEM)
    assert message in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidPlan, match=r"plan\.json: there is no such file"):
        load_plan(tmp_path / "plan.json", PROBLEM)


@given(st.data())
def test_no_mutation_makes_anything_but_a_plan_or_an_error(data: st.DataObject) -> None:
    import tempfile

    document = json.loads(DOCUMENT)
    values = st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5),
        st.just([]), st.just({}), st.lists(st.integers(-2, 5), max_size=3),
    )  # fmt: skip
    place: Any = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if isinstance(place[key], dict | list) and place[key] and data.draw(st.booleans()):
            place = place[key]
            continue
        place[key] = data.draw(values)
        break
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.json"
        path.write_text(json.dumps(document))
        with suppress(HcsspError):
            load_plan(path, PROBLEM).evaluate()


@given(st.lists(st.integers(-1, 2), min_size=1))
def test_run_lengths_say_the_same(actions: list[int]) -> None:
    encoded = run_lengths(np.array(actions))
    assert np.repeat(encoded["actions"], encoded["repeats"]).tolist() == actions
    assert all(
        first != second for first, second in zip(encoded["actions"], encoded["actions"][1:], strict=False)
    )


def test_a_policy_that_does_not_end_is_no_plan(tmp_path: Path) -> None:
    policy = ProcedurePolicy.compose(PROBLEM, {}, PLAN.policy.activities)
    save_plan(tmp_path / "plan.json", Plan(PROBLEM, policy))
    with pytest.raises(InvalidPlan, match=r"plan\.json: the policy has no action in state 'start'"):
        load_plan(tmp_path / "plan.json", PROBLEM)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_at("lower_bound", 1e9), "the lower bound 1e+09 is above the upper bound 27.7191165"),
        (set_at("lower_bound", 27.72), "the lower bound 27.72 is above the upper bound 27.7191165"),
        (set_at("trace", 0, [0.0, 30.0, 28.0]), "the lower bound 30 is above the upper bound 28"),
        (set_at("upper_bound", 28.0), "upper_bound: it claims an expected cost of 28, but it is 27.7191165"),
        (set_at("upper_bound", 27.7192), "upper_bound: it claims an expected cost of 27.7192, but it is"),
    ],
)
def test_what_contradicts_itself_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    assert_refused(written(tmp_path, change), message)


def test_nobodys_word_is_taken(tmp_path: Path) -> None:
    """A plan for a small bound is passed off as the best for a large one."""
    path = tmp_path / "plan.json"
    small = solve(PROBLEM.with_bounds(damage=1.0))
    small.save(path)
    document = json.loads(path.read_text())
    document["bounds"]["damage"] = 2.0
    path.write_text(json.dumps(document))
    forged = load_plan(path, PROBLEM)
    assert forged.claim is not None
    assert forged.claim.gap <= 1e-6
    assert (forged.status, forged.lower_bound) == (Status.FEASIBLE, -inf)
    assert forged.evaluated().status is Status.FEASIBLE
    assert forged.under(PROBLEM).status is Status.FEASIBLE
    assert "optimal" not in str(forged)
    assert "claims that no deterministic plan that keeps the bounds" in str(forged)
    # The search begins with its policy, and goes on until it has proved something itself.
    assert solve(PROBLEM, start=forged).upper_bound == pytest.approx(PLAN.upper_bound)
    assert forged.resolve().upper_bound == pytest.approx(PLAN.upper_bound)
    assert forged.under(PROBLEM.with_bounds(damage=3.0)).claim is None


@pytest.mark.parametrize("named", [1.0, 1e9, None, -1.0])
def test_the_bounds_of_the_problem_count_whatever_the_file_names(tmp_path: Path, named: float | None) -> None:
    """The plan uses 1.897: the problem's bound decides, the one in the file changes nothing."""
    path = written(tmp_path, set_at("bounds", "damage", named))
    for bound, kept in ((1.5, False), (2.0, True), (3.0, True)):
        problem = PROBLEM.with_bounds(damage=bound)
        again = load_plan(path, problem)
        assert again.problem == problem
        assert again.made_for == {"damage": inf if named is None else named}
        assert again.keeps_bounds() is kept
        assert (again.status, again.upper_bound < inf) == (
            (Status.FEASIBLE, True) if kept else (Status.UNKNOWN, False)
        )
        # What the file claims, and the prices, are about other bounds.
        assert (again.claim, again.prices, again.budgets) == (None, None, {})
        left = again.start().step().budget_left
        assert left == {"damage": bound}
        own = again.under(problem.with_bounds(again.made_for))
        assert own.keeps_bounds() is (named is None or named > 1.9)
        # Saved again, it is a plan for the problem's bounds, and claims nothing that was not found out here.
        again.save(tmp_path / "again.json")
        saved = json.loads((tmp_path / "again.json").read_text())
        assert saved["bounds"] == {"damage": bound}
        assert (saved["lower_bound"], saved["upper_bound"] is None) == (None, not kept)


class Broken(Exception):
    pass


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_whatever_happens_the_old_file_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "plan.json"
    write_atomically(path, "old")

    def fail(*arguments: object) -> None:
        raise Broken

    monkeypatch.setattr(os, step, fail)
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(Broken):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link_and_others_may_read(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link = tmp_path / "plan.json"
    link.symlink_to(tmp_path / "there" / "plan.json")
    write_atomically(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "there" / "plan.json").read_text() == "new"
    mask = os.umask(0o022)
    os.umask(mask)
    assert link.stat().st_mode & 0o777 == 0o666 & ~mask


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(CannotWrite, match="it is a folder; name a file in it"):
        check_writable(tmp_path)
    with pytest.raises(CannotWrite, match=r"there is no folder .*nowhere; make it first"):
        check_writable(tmp_path / "nowhere" / "plan.json")
    with pytest.raises(CannotWrite, match="it cannot be written: No such file or directory"):
        write_atomically(tmp_path / "nowhere" / "plan.json", "new")
    check_writable(tmp_path / "plan.json")


def implicit_way() -> ImplicitCSSP:
    return ImplicitCSSP(
        (0, 0),
        lambda place: ("walk", "skate"),
        lambda place, action: (
            {(place[0] + 1, 0): 1.0} if action == "walk" else {(place[0] + 2, 1): 0.75, place: 0.25}
        ),
        lambda place, action: (2.0, 0.0) if action == "walk" else (1.5, 1.0),
        lambda place: place[0] >= 6,
        cost_names=("minutes", "bruises"),
        bounds={"bruises": 2.0},
    )


@pytest.fixture(scope="module")
def implicit_file(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Plan]:
    plan = solve(implicit_way())
    path = tmp_path_factory.mktemp("plans") / "plan.json"
    save_plan(path, plan)
    return path, plan


def test_a_plan_of_an_implicit_problem_is_read_for_the_problem_told_anew(
    implicit_file: tuple[Path, Plan],
) -> None:
    path, plan = implicit_file
    stricter = load_plan(path, implicit_way().with_bounds(bruises=-1.0))
    assert (stricter.bounds, stricter.made_for) == ({"bruises": -1.0}, {"bruises": 2.0})
    assert not stricter.keeps_bounds()
    again = load_plan(path, implicit_way())
    assert again.upper_bound == pytest.approx(plan.upper_bound)
    assert again.bounds == {"bruises": 2.0}
    # The file has the states that the plan reaches.
    assert again.policy.actions().items() <= plan.policy.actions().items()
    assert again.claim is not None
    assert again.claim.lower_bound == plan.lower_bound
    assert solve(implicit_way(), start=again).upper_bound == pytest.approx(plan.upper_bound)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda policy: policy.pop("by_state"), "policy.by_state: this key is missing"),
        (lambda policy: policy["by_state"]["states"].pop(), "policy.by_state: .* states have .* actions"),
        (
            lambda policy: policy["by_state"]["actions"].__setitem__(0, "'fly'"),
            r"state .*: the policy's action is 'fly', which it has not",
        ),
    ],
)
def test_a_plan_of_another_implicit_problem_is_refused(
    implicit_file: tuple[Path, Plan], tmp_path: Path, change: Any, message: str
) -> None:
    content = json.loads(implicit_file[0].read_text())
    change(content["policy"])
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(content))
    with pytest.raises(InvalidPlan, match=message):
        load_plan(path, implicit_way())
