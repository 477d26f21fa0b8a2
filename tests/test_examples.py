"""The examples from files: their stories are true, and simulation agrees with exact evaluation."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from doc_blocks import PageRun
from hcssp.evaluation import simulate
from hcssp.files.plan_file import load_plan
from hcssp.files.problem_file.loading import load

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[1] / "examples"
FOLDER = EXAMPLES / "two_floors"


def test_the_building_of_two_floors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # One test, because planning takes seconds: the commands of its page leave the plan that is looked at.
    shutil.copy(FOLDER / "two-floors.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    PageRun("examples/two_floors/README.md").run((FOLDER / "README.md").read_text(encoding="utf-8"))
    assert (tmp_path / "report.html").stat().st_size > 10_000

    loaded = load("two-floors.yaml")
    assert {"laboratories", "offices", "lobby", "workshop"} <= set(loaded.positions)
    plan = load_plan("plan.json", loaded)
    exact = plan.evaluate()
    assert exact.keeps_bounds()
    assert plan.claim is not None
    assert plan.claim.lower_bound <= exact.cost("seconds") <= plan.claim.lower_bound * 1.0011

    # Both bounds are used up, nearly.
    assert 0.9 < exact.cost("smoke") <= 1.0
    assert 34.5 < exact.cost("battery") <= 35.0

    runs = simulate(plan.problem, plan.policy, runs=20_000, seed=1)
    assert set(runs.cost_names) == {"seconds", "smoke", "battery"}
    assert runs.num_truncated == 0
    for name in runs.cost_names:
        mean = runs.mean(name, level=0.999)
        assert mean.low <= exact.cost(name) <= mean.high, name
        # An interval that is too wide would agree with anything.
        assert mean.high - mean.low < 0.1 * exact.cost(name), name


def test_the_drone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(EXAMPLES / "drone" / "drone.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    PageRun("examples/drone/README.md").run((EXAMPLES / "drone" / "README.md").read_text(encoding="utf-8"))
    plan = load_plan("plan.json", load("drone.yaml"))
    assert plan.evaluate().keeps_bounds()
    # Whoever has used little flies on, whoever has used much charges.
    made = [plan.policy.choice("ridge", f"(7, 2), battery {used}") for used in (7, 29)]
    assert made == ["fly on", "charge"]
    # A run loses the drone at most once, as often as is expected.
    runs = simulate(plan.problem, plan.policy, runs=5000, seed=1)
    lost = runs.totals[runs.cost_names.index("loss")]
    assert set(lost.tolist()) == {0.0, 1.0}
    mean = runs.mean("loss", level=0.999)
    assert mean.low <= plan.evaluate().cost("loss") <= mean.high
