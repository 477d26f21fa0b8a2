"""The fingerprint changes with everything a plan depends on, and with nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hcssp.files.fingerprint import fingerprint
from hcssp.files.problem_file.loading import load, load_text
from hcssp.scenarios import small_building
from hcssp.scenarios.domains.evacuation import SMALL

HERE = Path(__file__).parent / "problem_file"
VALID = (HERE / "valid.yaml").read_text(encoding="utf-8")


def of(*changes: tuple[str, str]) -> str:
    text = VALID
    for change, to in changes:
        assert change in text
        text = text.replace(change, to)
    return fingerprint(load_text(text, HERE))


def test_it_is_stable() -> None:
    # If this changes, saved plans no longer match their problems: change VERSION with it.
    assert fingerprint(small_building()) == "7d2714ab75b9be1c4024858ffced2cc9d3e81346ab481c194e5502b5dc20c580"
    assert fingerprint(load(HERE / "valid.yaml")) == of()


@pytest.mark.parametrize(
    "change",
    [
        ("at_most: 4", "at_most: 9"),
        ("name: two", "name: three"),
        ("slip: 0.2", "slip: 2.0e-1"),
        ("position: [0, 0]", "position: [7, 7]"),
        ("inside", "within"),
        ("press:", "push:"),
        ("{entrance: [0, 1], stairs: [6, 4]}", "{stairs: [6, 4], entrance: [0, 1], spare: [1, 1]}"),
    ],
)
def test_what_a_plan_survives(change: tuple[str, str]) -> None:
    assert of(change) == of()


@pytest.mark.parametrize(
    "change",
    [
        ("slip: 0.2", "slip: 0.20000001"),
        ("{damage: 5}", "{damage: 5.5}"),
        ("goal: [3, 5]", "goal: [2, 5]"),
        ("probability: 0.8, runs: ride, to: below}\n        - {probability: 0.2", "PLACEHOLDER"),
        ("counts: {ride: battery}", "counts: {ride: damage}"),
        ("counts: {ride: battery}", "counts: {cross: battery}"),
        ("  lift: {at_most", "  hoist: {at_most"),
        ("use-lift:", "take-lift:"),
        ("start: inside", "start: [{at: inside, probability: 0.5}, {at: below, probability: 0.5}]"),
    ],
)
def test_what_makes_it_another_problem(change: tuple[str, str]) -> None:
    if change[1] == "PLACEHOLDER":
        change = (change[0], change[0].replace("0.8", "0.7").replace("0.2", "0.3"))
    assert of(change) != of()


@pytest.mark.parametrize("setting", [{"locked": 0.3}, {"damage": 6.0}])
def test_it_follows_the_arrays(setting: dict[str, float]) -> None:
    assert fingerprint(SMALL.make(**setting)) != fingerprint(SMALL.make())


def test_minus_zero_and_stored_zeros_do_not_count() -> None:
    problem = small_building()
    first = problem.activities[0]
    costs = first.cssp.costs.copy()
    costs[costs == 0.0] = -0.0
    transitions = first.cssp.transitions.copy()
    transitions.data = np.append(transitions.data, 0.0)
    transitions.indices = np.append(transitions.indices, transitions.indices[0])
    transitions.indptr = transitions.indptr + (
        np.arange(len(transitions.indptr)) == len(transitions.indptr) - 1
    )
    changed = replace(first, cssp=replace(first.cssp, costs=costs, transitions=transitions))
    assert fingerprint(replace(problem, activities=(changed, *problem.activities[1:]))) == fingerprint(
        problem
    )
