"""What is written is what is read: number by number, for every built-in problem and for random ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcssp.cssp.builder import CSSPBuilder
from hcssp.errors import InvalidProblem
from hcssp.files.fingerprint import fingerprint
from hcssp.files.problem_file.document import Findings, Limits, parse_document
from hcssp.files.problem_file.dumping import dump_problem, to_json, to_yaml
from hcssp.files.problem_file.loading import load, load_text
from hcssp.procedure import HCSSP, Flattening, Outcome, ProcedureBuilder
from hcssp.scenarios.scenario import scenarios
from plain_documents import plain
from random_procedures import random_procedure
from tiny_scenarios import TINY

HERE = Path(__file__).parent
STYLES: tuple[Literal["yaml", "json"], ...] = ("yaml", "json")


def assert_equal(one: HCSSP, other: HCSSP) -> None:
    ours, theirs = Flattening(one).cssp, Flattening(other).cssp
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(ours.transitions, part), getattr(theirs.transitions, part))
    for name in ("row_start", "costs", "initial", "goals", "bounds"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    assert ours.cost_names == theirs.cost_names
    assert one.events == other.events
    assert [choice.name for choice in one.choices] == [choice.name for choice in other.choices]
    assert [activity.name for activity in one.activities] == [activity.name for activity in other.activities]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", TINY)
def test_a_built_in_problem_comes_back_exactly(name: str, style: Literal["yaml", "json"]) -> None:
    scenario = scenarios()[name]
    problem = scenario.make(**TINY[name])
    loaded = load_text(dump_problem(problem, style=style), json=style == "json")
    assert_equal(problem, loaded)
    assert loaded.name == name
    assert fingerprint(loaded) == fingerprint(problem)
    if not scenario.states:
        return
    assert loaded.positions == problem.positions
    assert [each.room for each in loaded.activities] == [each.room for each in problem.activities]
    for one, other in zip(loaded.activities, problem.activities, strict=True):
        ours, theirs = one.cssp.world, other.cssp.world
        assert ours is not None
        assert theirs is not None
        assert (ours.starts, ours.goals, ours.hazards) == (theirs.starts, theirs.goals, theirs.hazards)


def test_the_evacuation_is_written_compactly() -> None:
    text = dump_problem(scenarios()["evacuation"].make())
    assert text.count("width:") == 6
    assert text.count("{model: ") == 14
    assert "intended: 0.9\n" in text
    assert max(map(len, text.splitlines())) <= 110


def test_a_scaled_problem() -> None:
    scenario = scenarios()["small-building"]
    assert_equal(scenario.make(3), load_text(dump_problem(scenario.make(3))))


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("with_worlds", [True, False])
def test_a_loaded_file_comes_back(style: Literal["yaml", "json"], with_worlds: bool) -> None:
    loaded = load(HERE / "valid.yaml")
    if not with_worlds:
        activities = [replace(each, cssp=each.cssp.derive(world=None)) for each in loaded.activities]
        loaded = replace(loaded, activities=tuple(activities))
    text = dump_problem(loaded, style=style)
    again = load_text(text, json=style == "json")
    assert_equal(loaded, again)
    assert (again.name, again.description) == (loaded.name, loaded.description)
    if with_worlds:
        assert again.positions == loaded.positions
        assert [each.room for each in again.activities] == [each.room for each in loaded.activities]


def test_grids_without_named_rooms_are_written_once() -> None:
    loaded = load(HERE / "valid.yaml").named("rooms", rooms={})
    text = dump_problem(loaded)
    assert "  return: {model: cross, start: [6, 4], goal: [3, 5]}\n" in text
    assert_equal(loaded, load_text(text))


@given(seed=st.integers(0, 19), cycles=st.booleans(), several=st.booleans(), style=st.sampled_from(STYLES))
def test_random_procedures_come_back(
    seed: int, cycles: bool, several: bool, style: Literal["yaml", "json"]
) -> None:
    problem = random_procedure(seed, cycles=cycles, several_exits=several)
    assert_equal(problem, load_text(dump_problem(problem, style=style), json=style == "json"))


def odd(labels: tuple[object, ...]) -> HCSSP:
    plan = CSSPBuilder(cost_names=("time",))
    for label in labels:
        plan.add_state(label)  # type: ignore[arg-type]
    plan.add_action(labels[0], "go", to=labels[1], costs=1.0)
    plan.add_goal(labels[1])
    procedure = ProcedureBuilder()
    start, end = procedure.add_event("start"), procedure.add_event("end")
    activity = procedure.add_activity("act", plan.build())
    procedure.add_choice(start, "act", to=[Outcome(1.0, end, runs=activity)])
    return procedure.build(start=start, end=end)


@pytest.mark.parametrize(
    "labels", [(1, 2), ((1, 2), (3, 4)), ("null", "1"), ("é: #", "😀"), ("- a", "{b}"), ("'", '"')]
)
@pytest.mark.parametrize("style", STYLES)
def test_odd_names_come_back(labels: tuple[object, ...], style: Literal["yaml", "json"]) -> None:
    problem = odd(labels)
    again = load_text(dump_problem(problem, style=style), json=style == "json")
    assert_equal(problem, again)
    assert list(again.activities[0].cssp.state_labels) == [
        str(label) if isinstance(label, int) else label for label in labels
    ]


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ((1, "1"), "state '1': a file cannot hold it: as a text it is the same as 1"),
        (("a", "(1, 2)"), "state '(1, 2)': a file cannot hold it: as a text it is a cell"),
        (("a", " b"), "state ' b': a file cannot hold it: the name ' b' begins or ends with a space"),
        (("a", "b\n"), "has a character that cannot be printed"),
    ],
)
def test_names_that_a_file_cannot_hold_are_refused(labels: tuple[object, ...], says: str) -> None:
    with pytest.raises(InvalidProblem) as caught:
        dump_problem(odd(labels))
    assert says in str(caught.value)


VALUES = st.recursive(
    st.text(max_size=12)
    | st.integers(-(10**6), 10**6)
    | st.floats(allow_nan=False, allow_infinity=False, width=64),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(document=st.dictionaries(st.text(max_size=8), VALUES, min_size=1, max_size=3))
def test_any_document_is_laid_out_so_that_it_comes_back(document: dict[str, object]) -> None:

    for text, json in ((to_yaml(document), False), (to_json(document), True)):
        findings = Findings("it")
        assert plain(parse_document(text, findings, Limits(), json=json)) == document
        findings.raise_if_any()
