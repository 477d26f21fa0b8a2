"""Parameters of problem files: wherever a number stands, and as the user sets them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from hcssp import HCSSP, InvalidProblem, find_problem, load
from hcssp.errors import UnknownName
from hcssp.files.problem_file.loading import load_text

HEAD = "format: hcssp-problem\nversion: 1\n"
REST = "costs: [t]\nactivities: {a: {grid: {map: S.G}}}"
ROOM = """
parameters: {slip: 0.1, fire: 5, n: 4, locked: 1/3, twice: 2 * locked}
costs: [time, damage]
models:
  hall:
    grid:
      {width: n + 1, height: 2, hazards: [{at: [n / 2, 1, 1, 1], costs: {damage: 3 * fire}}], slip: slip,
       places: {out: [n + 2, 1]}}
activities:
  walk: {model: hall, start: [1, n / n], goal: out}
  run: {model: hall, start: [1, 1], goal: out, slip: 1 - (1 - slip) / 2}
  ride: {file: ride.csv, start: here, goal: there}
procedure:
  start: begin
  end: end
  events:
    begin:
      on foot: [{probability: locked, runs: walk, to: end}, {probability: 1 - locked, runs: run, to: end}]
      by lift: {runs: ride, to: end}
constraints:
  damage: {at_most: fire * (1 - slip)}
"""
RIDE = """state,action,next,probability,time,damage
here,wait,there,1 - slip,twice,0
here,wait,here,slip,2,fire
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ride.csv").write_text(RIDE)
    Path("room.yaml").write_text(HEAD + ROOM)


def figures(problem: HCSSP) -> tuple[float, ...]:
    """The numbers that the parameters reach: grid, other numbers, table, chance, bound."""
    walk, run, ride = (activity.cssp for activity in problem.activities)
    return (
        float(walk.num_states),
        float(walk.costs[1].max()),
        float(walk.transitions.data.max()),
        float(run.transitions.data.max()),
        float(ride.transitions.data.max()),
        float(ride.costs[0][0]),
        problem.choices[0].outcomes[1].probability,
        problem.constraints[0].at_most,
    )


def test_the_defaults_count_if_nothing_is_set() -> None:
    expected = (11, 15.0, 0.95, 0.725, 0.9, 0.9 * 2 / 3 + 0.1 * 2, 2 / 3, 4.5)
    assert figures(load("room.yaml")) == pytest.approx(expected)


def test_what_is_set_counts_everywhere() -> None:
    problem = load("room.yaml", slip=0.2, n=6, parameters={"fire": 1, "locked": Fraction(1, 4)})
    expected = (15, 3.0, 0.9, 0.7, 0.8, 0.8 * 0.5 + 0.2 * 2, 0.75, 0.8)
    assert figures(problem) == pytest.approx(expected)
    assert problem == find_problem("room.yaml", {"slip": 0.2, "n": 6, "fire": 1, "locked": 0.25})


def test_a_computed_parameter_can_be_set_itself() -> None:
    assert load("room.yaml", twice=9).activities[2].cssp.costs[0][0] == pytest.approx(0.9 * 9 + 0.1 * 2)


def test_complements_sum_to_one_exactly() -> None:
    for slip in (0.1, 1e-3, 0.123456789):
        ride = load("room.yaml", slip=slip).activities[2].cssp
        assert sorted(ride.transitions.data.tolist()) == sorted(
            [float(Fraction(str(slip))), float(1 - Fraction(str(slip)))]
        )


OUTER = """
parameters: {slip: 0.3, hurry: 2}
costs: [time, damage]
procedures:
  floor: {file: floor.yaml}
activities:
  first: {procedure: floor}
procedure: {start: a, end: b, events: {a: {go: {runs: first, to: b}}}}
"""
FLOOR = """
parameters: {slip: 0.1, height: 2}
costs: [time, damage]
activities:
  cross: {grid: {width: 3, height: height, slip: slip, step_cost: 1 / hurry}, start: [1, 1], goal: [3, 1]}
"""


def test_files_inside_see_the_parameters_around_them() -> None:
    Path("outer.yaml").write_text(HEAD + OUTER)
    Path("floor.yaml").write_text(HEAD + FLOOR)
    cssp = load("outer.yaml").activities[0].cssp
    assert cssp.transitions.data.max() == pytest.approx(0.85)
    assert cssp.costs[0].max() == 0.5
    # One that only the inner file has can be set from outside, too.
    assert load("outer.yaml", height=3, slip=0).activities[0].cssp.num_states == 9
    with pytest.raises(InvalidProblem, match=r"floor.yaml.*there is no parameter 'hurry'"):
        load("floor.yaml")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"slip": 1.5}, "room.yaml:9: models.hall.grid.slip: the parameter slip = 1.5 is not a probability"),
        (
            {"n": 4.5},
            "hall.grid.width: 'n + 1' (5.5 with n = 4.5) is not a whole number of at least 1",
        ),
        (
            {"locked": 2},
            "probability: '1 - locked' (-1 with locked = 2) is not a probability between",
        ),
        ({"slip": -1}, "ride.csv:2: probability: '1 - slip' (2 with slip = -1) is not a probability"),
        ({"twice": -1}, "ride.csv:2: time: the parameter twice = -1 is not a cost: a number from 0"),
        ({"fire": float("nan")}, "the parameter 'fire' is set to nan; give a finite number"),
        ({"fire": "much"}, "the parameter 'fire' is set to 'much'; give a finite number"),
        ({"fire": 10**400}, "give a finite number"),
    ],
)
def test_what_cannot_be_set_names_the_parameter(given: dict[str, float], told: str) -> None:
    with pytest.raises(InvalidProblem) as raised:
        load("room.yaml", parameters=given)
    assert told in str(raised.value)


def test_what_is_declared_nowhere_cannot_be_set() -> None:
    with pytest.raises(UnknownName, match="no parameter 'slop'; did you mean 'slip'"):
        load("room.yaml", slop=0.1)
    with pytest.raises(UnknownName, match="no parameter 'slip'; available: none"):
        load_text(HEAD + REST, parameters={"slip": 1})


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ("{p: q, q: 1}", "problem:3: parameters.p: there is no parameter 'q'; declare it under 'parameters'"),
        ("{p: p}", "parameters.p: there is no parameter 'p'"),
        ("{p: 1 / 0}", "parameters.p: it divides by zero"),
        ("{p: 1, q: 1 / (p - 1)}", "parameters.q: it divides by zero"),
        ("{p: .inf}", "parameters.p: .inf is not a number, or arithmetic on parameters before it"),
        ("{p: ''}", "parameters.p: '' is not a number, or arithmetic"),
        ("{p-q: 1}", "parameters.p-q: 'p-q' cannot name a parameter; take letters, digits and _"),
        ("{inf: 1}", "parameters.inf: 'inf' cannot name a parameter"),
        ("{p: [1]}", "parameters.p: a list is not a number"),
    ],
)
def test_a_wrong_declaration_is_told(parameters: str, told: str) -> None:
    with pytest.raises(InvalidProblem) as raised:
        load_text(f"{HEAD}parameters: {parameters}\n{REST}")
    assert told in str(raised.value)


def test_parameters_that_multiply_themselves_are_refused() -> None:
    doubled = ", ".join(f"p{number}: p{number - 1} * p{number - 1}" for number in range(1, 60))
    with pytest.raises(InvalidProblem, match="its value has too many digits to be computed exactly"):
        load_text(
            f"{HEAD}parameters: {{p0: 1/3, {doubled}}}\ncosts: [t]\nactivities: {{a: {{grid: {{map: S.G}}}}}}"
        )
