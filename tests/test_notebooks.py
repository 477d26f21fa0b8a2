"""Each notebook of the gallery runs, and its plan agrees with an independent evaluation and simulation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hcssp
from hcssp.scenarios.scenario import scenarios

pytestmark = pytest.mark.slow

NOTEBOOKS = {path.stem: path for path in (Path(__file__).parents[1] / "examples/notebooks").glob("*.ipynb")}
VARIANTS = {"evacuation-text", "small-building"}
"""Problems that are shown beside the evacuation and have no notebook of their own."""


def test_every_built_in_problem_has_a_notebook() -> None:
    assert set(NOTEBOOKS) == set(scenarios()) - VARIANTS


@pytest.mark.parametrize("name", sorted(NOTEBOOKS))
def test_a_notebook_runs(name: str) -> None:
    cells = json.loads(NOTEBOOKS[name].read_text(encoding="utf-8"))["cells"]
    variables: dict[str, Any] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            assert not cell["outputs"], "notebooks are kept without their outputs"
            exec("".join(cell["source"]), variables)
    plan, runs = variables["plan"], variables["runs"]
    exact = hcssp.evaluate(plan.problem, plan.policy)
    assert exact.keeps_bounds()
    for cost in runs.cost_names:
        mean = runs.mean(cost, level=0.9999)
        assert mean.low - 1e-9 <= exact.cost(cost) <= mean.high + 1e-9, cost
