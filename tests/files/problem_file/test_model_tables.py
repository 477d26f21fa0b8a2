"""Models of other tools as activities of a problem file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import hcssp
from hcssp.errors import InvalidProblem

MODELS = Path(__file__).parents[2] / "exchange" / "models"
PROBLEM = """
format: hcssp-problem
version: 1
costs: [time, heat]
parameters: {size: 2}
models:
  field: {file: robot_grid.prism, constants: {N: size + 1}}
activities:
  cross: {model: field, goal: there}
  half: {model: field, start: "x=0, y=0, fallen=false", goal: [there, "x=1, y=1, fallen=false"]}
procedure:
  start: here
  end: away
  events:
    here: {whole: {runs: cross, to: away}, part: {runs: half, to: away}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pytest.importorskip("stormpy", reason="pip install 'hcssp[storm]' to test models of PRISM and JANI")
    shutil.copy(MODELS / "robot_grid.prism", tmp_path)
    return tmp_path


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_activities_share_a_model_and_end_it_in_different_places(folder: Path) -> None:
    text = PROBLEM.replace("x=0, y=0, fallen=false", first_label(folder))
    loaded = hcssp.load(write(folder, text.replace("x=1, y=1, fallen=false", label_at(folder, 1, 1))))
    crossing, half = (activity.cssp for activity in loaded.activities)
    direct = hcssp.load_model(
        folder / "robot_grid.prism", constants="N=3", goal="there", minimise="time", costs=["heat"]
    )
    assert hcssp.solve(crossing).upper_bound == pytest.approx(hcssp.solve(direct).upper_bound, rel=1e-9)
    assert hcssp.solve(half).upper_bound < hcssp.solve(crossing).upper_bound
    assert hcssp.load(folder / "mine.yaml", parameters={"size": 3}).activities[0].cssp.num_states > 20


def first_label(folder: Path) -> str:
    return label_at(folder, 0, 0)


def label_at(folder: Path, x: int, y: int) -> str:
    """What a state is called: the order of the variables is Storm's."""
    problem = hcssp.load_model(folder / "robot_grid.prism", constants="N=3", goal="there")
    (found,) = [
        label
        for label in problem.state_labels
        if {f"x={x}", f"y={y}", "fallen=false"} == set(str(label).split(", "))
    ]
    return str(found)


@pytest.mark.parametrize(
    ("change", "to", "told"),
    [
        ("constants: {N: size + 1}", "constants: {}", "mine.yaml:7: models.field.file: .*'N' must be given"),
        (", constants: {N: size + 1}", ", constants: {N: 3, M: 4}", "there is no constant 'M'"),
        ("robot_grid.prism", "robot.prism", "there is no file 'robot.prism' beside the problem file"),
        ("robot_grid.prism", "../robot_grid.prism", "leads out of the problem's folder"),
        ("costs: [time, heat]", "costs: [minutes]", "none of the costs 'minutes' is in the model"),
        ("goal: there", "goal: their", "there is no state 'their' in the table; did you mean 'there'"),
        ("{model: field, goal: there}", "{model: field}", "the key 'goal' is missing"),
        (
            "{model: field, goal: there}",
            "{grid: {width: 2, height: 2}, constants: {N: 2}, start: [0, 1], goal: [3, 1]}",
            "only a model in a file has constants",
        ),
    ],
)
def test_mistakes_are_told(folder: Path, change: str, to: str, told: str) -> None:
    assert change in PROBLEM
    with pytest.raises(InvalidProblem, match=told):
        hcssp.load(write(folder, PROBLEM.replace(change, to)))


def test_a_table_has_no_constants(tmp_path: Path) -> None:
    hcssp.to_drn(hcssp.small_building(), tmp_path / "b.drn")
    text = "format: hcssp-problem\nversion: 1\ncosts: [time, damage]\nactivities:\n  a: {file: b.drn}\n"
    assert hcssp.load(write(tmp_path, text)).activities[0].cssp.num_states == 64
    with pytest.raises(InvalidProblem, match="a table has no constants"):
        hcssp.load(write(tmp_path, text.replace("b.drn", "b.drn, constants: {N: 3}")))


def test_a_umb_file_is_an_activity(tmp_path: Path) -> None:
    pytest.importorskip("umbi", reason="pip install 'hcssp[umb]' to test UMB files")
    hcssp.to_umb(hcssp.small_building(), tmp_path / "b.umb")
    text = "format: hcssp-problem\nversion: 1\ncosts: [time, damage]\nactivities:\n  a: {file: b.umb}\n"
    assert hcssp.load(write(tmp_path, text)).activities[0].cssp.num_rows == 238
    (tmp_path / "b.umb").write_bytes(b"rubbish")
    with pytest.raises(InvalidProblem, match=r"mine\.yaml:5: activities\.a\.file: .*b\.umb: it cannot"):
        hcssp.load(write(tmp_path, text))
