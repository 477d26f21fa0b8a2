"""The lines of policies over a multiplier, against brute force over all policies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from brute_force import brute_force
from hcssp.cli import main
from hcssp.errors import InvalidOption, UnknownName
from hcssp.extend import lagrangian
from hcssp.scenarios import small_building
from random_problems import random_cssp
from volume import some


@pytest.mark.parametrize("seed", some(range(80)))
def test_every_line_is_a_policy_and_the_dual_lies_below_all_of_them(seed: int) -> None:
    problem = random_cssp(seed, max_states=5, max_constraints=1)
    truth = brute_force(problem)
    bound = float(problem.bounds[0])
    kept = truth.costs[truth.costs[:, 1] <= bound * (1.0 + 1e-9) + 1e-14, 0]
    if not len(kept) or not np.isfinite(bound):
        return
    found = lagrangian(problem)
    values = truth.costs[:, 0] + found.price * (truth.costs[:, 1] - bound)
    assert found.dual == pytest.approx(values.min(), rel=1e-7, abs=1e-7)
    assert found.lower_bound <= kept.min() + 1e-9 <= found.upper_bound + 2e-9
    for line in found.lines:
        apart = np.abs(truth.costs[:, :2] - [line.cost, line.use]).max(axis=1)
        assert apart.min() <= 1e-8 * (1.0 + line.cost + line.use)
        assert line.feasible == (line.use <= bound * (1.0 + 1e-9) + 1e-12)
    in_order = np.sort(values)
    for line in found.lines:
        if line.rank is not None:
            assert line.at(found.price, bound) == pytest.approx(in_order[line.rank - 1], rel=1e-6, abs=1e-6)


def test_what_has_no_picture_says_why() -> None:
    with pytest.raises(InvalidOption, match="the problem has none"):
        lagrangian(small_building(np.inf))
    with pytest.raises(InvalidOption, match="raise a bound"):
        lagrangian(small_building(-1.0))
    with pytest.raises(UnknownName, match="'heat'"):
        lagrangian(small_building(2.0), "heat")


def test_it_is_drawn(tmp_path: Path) -> None:
    axes = lagrangian(small_building(2.0)).plot(tmp_path / "lines.svg")
    assert "(λ* = 16.13)" in axes.get_xlabel()
    picture = tmp_path / "solved.png"
    assert main(["solve", "small-building", "--lagrangian", str(picture), "--quiet"]) == 0
    assert picture.stat().st_size > 10_000
