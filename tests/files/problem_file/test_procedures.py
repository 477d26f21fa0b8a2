"""Procedures inside procedures, in files."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import hcssp
from hcssp.errors import InvalidProblem
from hcssp.files.problem_file.document import Limits
from hcssp.files.problem_file.dumping import dump_problem
from hcssp.files.problem_file.format import schema_text
from hcssp.files.problem_file.loading import load, load_text
from hcssp.procedure import HCSSP
from plain_documents import plain_document
from random_nestings import random_nesting

STEP = "{table: {here: {go: {to: there, costs: {time: 2, smoke: 1}}}}, start: here, goal: there}"
HEAD = "format: hcssp-problem\nversion: 1\ncosts: [time, smoke]\n"
LOOP = """
procedures:
  one: {activities: {a: {procedure: two}}}
  two: {activities: {a: {procedure: three}}}
  three: {activities: {a: {procedure: one}}}
activities: {x: {procedure: two}}
"""


def wrong(text: str, folder: Path | None = None, limits: Limits | None = None) -> list[str]:
    with pytest.raises(InvalidProblem) as caught:
        load_text(HEAD + text, folder or ".", limits=limits)
    return list(caught.value.violations)


def test_a_procedure_is_made_once_and_counts_every_cost() -> None:
    problem = load_text(
        HEAD
        + f"""
procedures:
  floor: {{activities: {{walk: {STEP}}}, description: of a house}}
activities: {{upper: {{procedure: floor, position: [3, 4]}}, lower: {{procedure: floor}}}}
procedure:
  start: a
  end: c
  events: {{a: {{go: {{runs: upper, to: b}}}}, b: {{go: {{runs: lower, to: c}}}}}}
constraints: {{smoke: {{at_most: 5}}}}
"""
    )
    upper, lower = problem.uses
    assert upper.procedure is lower.procedure
    assert (upper.procedure.name, upper.procedure.description) == ("floor", "of a house")
    assert [activity.name for activity in problem.activities] == ["upper/walk", "lower/walk"]
    assert problem.constraints[0].counts == {0: 1, 1: 1}
    assert problem.activities[0].source.startswith("problem:6: procedures.floor.activities.walk")
    assert problem.outline.positions == {"upper": (3, 4)}


@pytest.mark.parametrize("style", ["yaml", "json"])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_written_is_read_again(seed: int, style: str) -> None:
    problem = random_nesting(seed, depth=3, cycles=True).named("a problem")
    text = dump_problem(problem, style=style)
    again = load_text(text, json=style == "json")
    assert again == problem
    assert [use.name for use in again.uses] == [use.name for use in problem.uses]
    shared = [activity.cssp for activity in problem.activities]
    assert len({id(each.cssp) for each in again.activities}) <= len({id(each) for each in shared})
    assert dump_problem(again, style=style) == text
    document = json.loads(text) if style == "json" else plain_document(text)
    jsonschema.Draft202012Validator(json.loads(schema_text())).validate(document)


def test_a_model_that_several_procedures_use_is_written_once() -> None:
    inner = load_text(HEAD + f"activities: {{walk: {STEP}}}\nconstraints: {{smoke: {{at_most: inf}}}}")
    plan = hcssp.ProcedureBuilder("whole")
    start, middle, end = (plan.add_event(name) for name in ("start", "middle", "end"))
    use, own = plan.add_activity("use", inner), plan.add_activity("own", inner.activities[0].cssp)
    plan.add_choice(start, "go", to=[hcssp.Outcome(1.0, middle, runs=use)])
    plan.add_choice(middle, "go", to=[hcssp.Outcome(1.0, end, runs=own)])
    text = dump_problem(plan.build(start=start, end=end))
    assert text.count("table:") == 1
    again = load_text(text)
    assert again.activities[0].cssp is again.activities[1].cssp


def test_a_procedure_lies_in_another_file(tmp_path: Path) -> None:
    (tmp_path / "floors").mkdir()
    floor = HEAD + "activities: {walk: {file: walk.csv, start: here, goal: there}}"
    (tmp_path / "floors" / "floor.yaml").write_text(floor + "\nconstraints: {smoke: {at_most: inf}}")
    (tmp_path / "floors" / "walk.csv").write_text(
        "state,action,next,probability,time,smoke\nhere,go,there,1,2,1\n"
    )
    (tmp_path / "house.yaml").write_text(
        HEAD + "procedures: {floor: {file: floors/floor.yaml}}\nactivities: {only: {procedure: floor}}\n"
        "constraints: {smoke: {at_most: 2}}"
    )
    problem = load(tmp_path / "house.yaml")
    assert problem.events == ("start", "end", "only/start")
    assert hcssp.solve(problem).upper_bound == pytest.approx(2.0)


def test_exits_of_a_procedure_lead_to_events() -> None:
    table = "{air: {fly: {to: {home: 1/2, lost: 1/2}, costs: {time: 2}}}}"
    flight = f"{{table: {table}, start: air, goal: [home, lost]}}"
    text = f"""
procedures: {{flight: {{activities: {{leg: {flight}}}}}}}
activities: {{trip: {{procedure: flight}}, search: {STEP}}}
procedure:
  start: a
  end: c
  events:
    a: {{go: {{runs: trip, to: {{lost: b, any other exit: c}}}}}}
    b: {{go: {{runs: search, to: c}}}}
"""
    problem = load_text(HEAD + text)
    assert hcssp.solve(problem).upper_bound == pytest.approx(3.0)
    assert load_text(dump_problem(problem)) == problem
    (found,) = wrong(text.replace(", any other exit: c", ""))
    assert "it does not say where the exit 'any other exit' of activity 'trip' leads" in found


def test_mistakes_in_another_file_name_both(tmp_path: Path) -> None:
    (tmp_path / "floor.yaml").write_text(HEAD + "activities: {walk: {model: nothing}}")
    (found,) = wrong("procedures: {f: {file: floor.yaml}}\nactivities: {a: {procedure: f}}", tmp_path)
    assert found.startswith("problem:4: procedures.f.file: ")
    assert "floor.yaml:4: activities.walk.model: there is no model or activity 'nothing'" in found


def test_a_file_inside_itself_is_refused_with_the_chain(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        HEAD + "procedures: {b: {file: b.yaml}}\nactivities: {x: {procedure: b}}"
    )
    (tmp_path / "b.yaml").write_text(
        HEAD + "procedures: {a: {file: a.yaml}}\nactivities: {x: {procedure: a}}"
    )
    with pytest.raises(InvalidProblem, match=r"cannot be inside itself: .*a\.yaml > .*b\.yaml > .*a\.yaml"):
        load(tmp_path / "a.yaml")


def test_a_procedure_inside_itself_is_refused_with_the_chain() -> None:
    (found,) = wrong(LOOP)
    assert "procedures.one.activities.a.procedure: a procedure cannot be inside itself" in found
    assert "'two' > 'three' > 'one' > 'two'" in found


def test_what_a_procedure_cannot_be() -> None:
    text = (
        f"procedures: {{floor: {{activities: {{a: {STEP}}}}}}}\nactivities: {{x: {{procedure: flor}}, "
        "y: {procedure: floor, start: here}, z: {procedure: floor, model: x}}"
    )
    found = "\n".join(wrong(text))
    assert "activities.x.procedure: there is no procedure 'flor'; did you mean 'floor'?" in found
    assert "activities.y.start: a procedure has no start of its own; say it inside" in found
    assert "activities.z: model and procedure are given; give one of" in found


def test_a_procedure_that_nothing_uses_is_looked_at_too() -> None:
    (found,) = wrong(f"procedures: {{idle: {{activities: {{a: {{model: b}}}}}}}}\nactivities: {{x: {STEP}}}")
    assert found.startswith(
        "problem:4: procedures.idle.activities.a.model: there is no model or activity 'b'"
    )


def doubling(levels: int) -> str:
    """Each procedure uses the one below it twice."""
    events = "{s: {go: {runs: a, to: m}}, m: {go: {runs: b, to: e}}}"
    twice = [
        f"  p{level}: {{activities: {{a: {{procedure: p{level - 1}}}, b: {{procedure: p{level - 1}}}}}, "
        f"procedure: {{start: s, end: e, events: {events}}}}}"
        for level in range(1, levels)
    ]
    first = f"  p0: {{activities: {{a: {STEP}}}}}"
    return "\n".join(["procedures:", first, *twice, f"activities: {{x: {{procedure: p{levels - 1}}}}}"])


def test_what_would_grow_without_end_is_refused() -> None:
    limits = Limits(states=1000, activities=2**40)
    assert (
        "with this activity the problem has more than the 1,000 states"
        in wrong(doubling(25), limits=limits)[0]
    )
    assert load_text(HEAD + doubling(6), limits=limits).num_activities == 32
    deep = "\n".join(
        ["procedures:", f"  p0: {{activities: {{a: {STEP}}}}}"]
        + [f"  p{n}: {{activities: {{a: {{procedure: p{n - 1}}}}}}}" for n in range(1, 50)]
        + ["activities: {x: {procedure: p49}}"]
    )
    assert "more than 32 deep" in wrong(deep)[0]


def doubling_files(folder: Path, levels: int) -> Path:
    """As :func:`doubling`, with a file for each procedure."""
    events = "{s: {go: {runs: a, to: m}}, m: {go: {runs: b, to: e}}}"
    for level in range(1, levels):
        (folder / f"p{level}.yaml").write_text(
            f"{HEAD}procedures: {{p: {{file: p{level - 1}.yaml}}}}\n"
            "activities: {a: {procedure: p}, b: {procedure: p}}\n"
            f"procedure: {{start: s, end: e, events: {events}}}\n"
        )
    (folder / "p0.yaml").write_text(f"{HEAD}activities: {{a: {STEP}}}\n")
    return folder / f"p{levels - 1}.yaml"


@pytest.mark.parametrize("levels", [15, 30])
def test_files_and_procedures_that_use_each_other_exponentially_are_refused_before_they_are_made(
    levels: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hcssp.load(doubling_files(tmp_path, 5)).num_activities == 16
    # Nothing is built: what would be built takes memory and time that double with each file.
    monkeypatch.setattr("hcssp.procedure.builder.expand", None)
    told = "the problem has more than the 10,000 activities that are allowed"
    with pytest.raises(InvalidProblem, match=told):
        hcssp.load(doubling_files(tmp_path, levels))
    assert told in wrong(doubling(levels))[0]
    # Also where nothing uses them.
    with pytest.raises(InvalidProblem, match=told):
        load_text(
            f"{HEAD}procedures: {{p: {{file: p{levels - 1}.yaml}}}}\nactivities: {{a: {STEP}}}", tmp_path
        )


def test_activities_are_counted_as_often_as_they_are_used() -> None:
    # 32 steps, and the 1 + 2 + 4 + 8 + 16 + 32 uses of procedures around them.
    assert load_text(HEAD + doubling(6), limits=Limits(activities=95)).num_activities == 32
    assert "more than the 94 activities" in wrong(doubling(6), limits=Limits(activities=94))[0]


def test_plans_of_nested_problems_are_saved_and_read(tmp_path: Path) -> None:
    problem: HCSSP = random_nesting(1, depth=3)
    plan = hcssp.solve(problem.with_bounds(damage=np.inf))
    plan.save(tmp_path / "plan.json")
    assert hcssp.load_plan(tmp_path / "plan.json", problem).policy.rows.tolist() == plan.policy.rows.tolist()
