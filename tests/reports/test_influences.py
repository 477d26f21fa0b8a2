"""What a plan is most sensitive to, in words and on the map; and units in all the words about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hcssp import Plan, robustness, small_building, solve, with_probability
from hcssp.cli import main
from hcssp.reports.figures import Measure
from hcssp.reports.page_data import MOST, influence_data, influence_in_words


@pytest.fixture(scope="module")
def plan() -> Plan:
    return solve(with_probability(small_building(), "locked out", of="door-locked", at_most=0.5))


def test_the_page_tells_what_robustness_finds(plan: Plan) -> None:
    told = influence_data(plan.as_procedure())
    found = robustness(plan.problem, plan.policy, 0.0, most=MOST)
    assert list(told) == list(found.cost_names) == ["time", "damage", "locked out"]
    for name, influences in zip(found.cost_names, found.influences, strict=True):
        assert [each["change"] for each in told[name]] == pytest.approx(
            [e.change for e in influences], rel=1e-5
        )
        for data, influence in zip(told[name], influences, strict=True):
            if "cell" in data:
                activity = plan.problem.activities[data["activity"]]
                assert influence.state == (activity.name, tuple(data["cell"]))
                assert tuple(data["cell"]) in activity.cssp.state_index
    assert any("cell" in each for each in told["damage"])


def test_of_a_probability_a_change_is_told_in_percent(plan: Plan) -> None:
    (strongest, *_) = robustness(plan.problem, plan.policy, 0.0, most=1).influences[2]
    told = influence_in_words(strongest, Measure.of(plan.as_procedure().problem, "locked out"))
    # The odds of a locked door: one percent more of 20% is 0.2%.
    assert told.startswith(("+0.2%  probability 20% of reaching", "-0.8%  probability 80% of reaching"))


def test_units_are_told_by_robust_and_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "small-building"]) == 0
    path, plan, proof = (str(tmp_path / name) for name in ("mine.yaml", "plan.json", "proof.cert"))
    text = capsys.readouterr().out.replace(
        "costs: [time, damage]", "costs: [time, damage]\nunits: {time: s, damage: hp}"
    )
    Path(path).write_text(text)
    assert main(["solve", path, "-q", "--out", plan, "--certificate", proof]) == 0
    assert "an expected time " in capsys.readouterr().out
    assert main(["robust", path, plan, "-q", "--most", "1"]) == 1
    robust = capsys.readouterr().out
    assert "  time (s)" in robust
    assert "Largest sensitivities of damage (hp)" in robust
    assert "  damage (hp): kept as long as" in robust
    assert main(["check", path, proof, "-q"]) == 0
    checked = capsys.readouterr().out
    assert "under damage (hp) at most 2" in checked
    assert "expected time below 27.71" in checked
    assert "of at most 27.719117 s, damage (hp) 1.896865" in checked
