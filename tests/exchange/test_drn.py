"""DRN files: what is written is read again, by us and by Storm; mistakes are told with their lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hcssp
from hcssp.dual.ascent import maximise
from hcssp.exchange.drn import drn_text


def two_starts() -> hcssp.CSSP:
    plan = hcssp.CSSPBuilder(cost_names=("time spent", "risk"), bounds={"risk": 0.5})
    left, right, out = plan.add_state("left"), plan.add_state("right"), plan.add_goal("out")
    plan.add_action(left, "walk on", to={out: 1 / 3, right: 2 / 3}, costs=(1.0, 0.1))
    plan.add_action(right, "run", to=out, costs=(2.0, 0.7))
    plan.add_action(right, "wait", to={right: 0.5, out: 0.5}, costs=(3.0, 0.0))
    plan.set_initial({left: 0.25, right: 0.75})
    return plan.build()


def same(first: hcssp.CSSP, second: hcssp.CSSP) -> bool:
    return (
        np.array_equal(first.costs, second.costs)
        and (first.transitions != second.transitions).nnz == 0
        and np.array_equal(first.row_start, second.row_start)
        and np.array_equal(first.goals, second.goals)
        and np.array_equal(first.initial, second.initial)
    )


def optimum(problem: hcssp.CSSP) -> float:
    return maximise(hcssp.extend.FlatOracle(problem), hcssp.extend.Region()).bound


def test_a_procedure_is_written_flat_and_read_again(tmp_path: Path) -> None:
    building = hcssp.small_building()
    hcssp.to_drn(building, tmp_path / "building.drn")
    read = hcssp.load_model(tmp_path / "building.drn")
    assert same(read, building.flattening.cssp)
    assert read.name == "building"
    assert read.cost_names == ("time", "damage")


def test_several_starts_become_one(tmp_path: Path) -> None:
    problem = two_starts()
    hcssp.to_drn(problem, tmp_path / "two.drn")
    read = hcssp.load_model(tmp_path / "two.drn", bounds={"risk": 0.5})
    assert read.cost_names == ("time_spent", "risk")
    assert (read.initial > 0.0).sum() == 1
    assert optimum(read) == pytest.approx(optimum(problem), rel=1e-9)


def test_every_digit_is_kept() -> None:
    assert "2 : 0.3333333333333333\n" in drn_text(two_starts())


def test_storm_reads_what_is_written(tmp_path: Path) -> None:
    stormpy = pytest.importorskip("stormpy", reason="pip install 'hcssp[storm]' to compare with Storm")
    problem = two_starts()
    hcssp.to_drn(problem, tmp_path / "two.drn")
    model = stormpy.build_model_from_drn(str(tmp_path / "two.drn"))
    asked = 'multi(R{"time_spent"}min=? [F "goal"], R{"risk"}<=0.5 [F "goal"])'
    (formula,) = stormpy.parse_properties(asked)
    environment = stormpy.environments.sound()
    environment.modelchecker().multi().precision = stormpy.Rational("1e-9")
    found = stormpy.model_checking(model, formula, environment=environment)
    assert found.get_value(model.initial_states[0]) == pytest.approx(optimum(problem), rel=1e-6)
    again = hcssp.extend.from_storm(model, minimise="time_spent", bounds={"risk": 0.5})
    assert optimum(again) == pytest.approx(optimum(problem), rel=1e-9)


HEADER = "@type: MDP\n@reward_models\nt\n@model\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nonsense", r"x\.drn:1: 'nonsense' is not a part of a header"),
        (
            HEADER + "state 0 init\n\taction a [1]\n\t\t3 : 1\n",
            r"x\.drn:6: it leads to 3, but",
        ),
        (HEADER + "state 0 init\n\taction a [0]\n\t\t0 : 0.5\n", "probabilities sum to 0.5, not 1"),
        (HEADER + "state 0\n\taction a [0]\n\t\t0 : 1\n", "there is no initial state"),
        (
            HEADER.replace("t\n@m", "t t\n@m") + "state 0\n",
            r"x\.drn:3: .* 't' is named twice",
        ),
        (HEADER + "state 0 init\n\taction a [-1]\n\t\t0 : 1\n", r"x\.drn:6: '-1' is not a number from 0"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "x.drn"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(hcssp.InvalidProblem, match=told):
        hcssp.load_model(path)


def test_files_that_cannot_be_are_told(tmp_path: Path) -> None:
    with pytest.raises(hcssp.InvalidProblem, match="there is no such file"):
        hcssp.load_model(tmp_path / "nowhere.drn")
    (tmp_path / "bytes.drn").write_bytes(b"\xff\xfe")
    with pytest.raises(hcssp.InvalidProblem, match="is not UTF-8"):
        hcssp.load_model(tmp_path / "bytes.drn")
    with pytest.raises(hcssp.errors.CannotWrite):
        hcssp.to_drn(two_starts(), tmp_path / "nowhere" / "two.drn")
    with pytest.raises(hcssp.InvalidProblem, match=r"models end in \.prism"):
        hcssp.load_model(tmp_path / "x.txt")
    (tmp_path / "x.drn").write_text(HEADER + "state 0 init\n", encoding="utf-8")
    with pytest.raises(hcssp.InvalidProblem, match="the file has no constants"):
        hcssp.load_model(tmp_path / "x.drn", constants="N=3")
