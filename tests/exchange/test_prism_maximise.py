"""A reward model of PRISM is maximised: without bounds as Storm says, with one as all policies say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import hcssp
from brute_force_procedures import brute_force_flat
from hcssp.cli import main
from hcssp.exchange.storm import storm_at_work

stormpy = pytest.importorskip("stormpy", reason="pip install 'hcssp[storm]' to test models of PRISM")

ROVER = """mdp
module rover
  at : [0..3] init 0;
  fuel : [0..4] init 4;
  [drill] at=0 & fuel>0 -> 0.6 : (at'=1) & (fuel'=fuel-1) + 0.4 : (fuel'=fuel-1);
  [scan]  at=0 & fuel>0 -> (at'=2) & (fuel'=fuel-1);
  [on]    at=1 -> 0.5 : (at'=0) + 0.5 : (at'=2);
  [home]  at<3 -> (at'=3);
endmodule
rewards "science"
  [drill] true : 3;
  [scan] true : 1;
  [on] true : 0.5;
endrewards
rewards "risk"
  [drill] true : 1;
endrewards
label "goal" = at=3;
"""


@pytest.fixture
def rover(tmp_path: Path) -> Path:
    path = tmp_path / "rover.prism"
    path.write_text(ROVER, encoding="utf-8")
    return path


def test_the_most_is_storm_s(rover: Path) -> None:
    problem = hcssp.maximise(hcssp.load_model(rover), "science")
    with storm_at_work(stormpy, str(rover)):
        program = stormpy.parse_prism_program(str(rover))
        (asked,) = stormpy.parse_properties('R{"science"}max=? [F "goal"]', program)
        model = stormpy.build_model(program, [asked])
        result = stormpy.model_checking(model, asked, environment=stormpy.environments.sound())
        most = float(result.get_value(model.initial_states[0]))
    assert problem.reward is not None
    assert problem.reward.most == pytest.approx(most, rel=1e-6)


def test_the_command_line_maximises_under_a_bound(rover: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["solve", str(rover), "--maximise", "science", "--bound", "risk=1.5", "--json", "--quiet"]) == 0
    )
    told = json.loads(capsys.readouterr().out)["reward"]
    every = brute_force_flat(hcssp.load_model(rover, minimise="science"))
    best = every.costs[every.costs[:, 1] <= 1.5 + 1e-9, 0].max()
    assert told["expected"] == pytest.approx(best)
    assert best - 1e-9 <= told["at_most"] <= best * (1 + 1e-5)
    assert np.isfinite(told["gap"])
