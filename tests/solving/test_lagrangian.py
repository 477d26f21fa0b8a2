"""The lines of policies over a multiplier, against brute force over all policies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from brute_force import brute_force
from hcssp.cli import main
from hcssp.errors import InvalidOption, UnknownName
from hcssp.extend import lagrangian
from hcssp.methods.paper import BudgetAllocation
from hcssp.scenarios import rover, small_building
from hcssp.solving.solve import solve
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
    if bound == 0.0:
        # Whatever costs any of it is taken out at once.
        values = kept
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


def test_the_steps_lead_from_the_dual_to_the_proof() -> None:
    found = lagrangian(small_building(2.0), iterations=5)
    lower = [step.lower_bound for step in found.steps]
    upper = [step.upper_bound for step in found.steps]
    assert lower == sorted(lower)
    assert upper == sorted(upper, reverse=True)
    ranks = [step.rank for step in found.steps if step.rank is not None]
    assert ranks == [1, 2, 3, 4, 5, 6]
    assert {step.line for step in found.steps} == set(range(len(found.lines)))
    # Stage 1 comes first, and ends at the multiplier that stays.
    second = next(at for at, step in enumerate(found.steps) if step.rank)
    assert all(step.price == found.price for step in found.steps[second:])
    assert found.dual == pytest.approx(solve(small_building(2.0)).stochastic.value, rel=1e-9)


def test_an_activity_has_a_picture_of_its_own() -> None:
    problem = small_building(2.0)
    name = "go-to-door"
    found = lagrangian(problem, activity=name, budget=1.0)
    alone = problem.activities[problem.activity_index(name)].cssp
    assert (found.name, found.bound) == (name, 1.0)
    exact = solve(alone.with_bounds(damage=1.0))
    assert found.lower_bound <= exact.upper_bound + 1e-9
    assert found.upper_bound >= exact.lower_bound
    plan = solve(problem, BudgetAllocation())
    assert lagrangian(problem, activity=name, budget=plan).bound == plan.budgets[name]["damage"]
    plan = solve(problem)
    used = {each.name: each.usage_per_execution for each in plan.as_procedure().costs.activities}
    assert lagrangian(problem, activity=name, budget=plan).bound == used[name]["damage"]
    with pytest.raises(InvalidOption, match="give a budget"):
        lagrangian(problem, activity=name)
    with pytest.raises(UnknownName, match="'attic'"):
        lagrangian(problem, activity="attic", budget=1.0)


def test_what_has_no_picture_says_why() -> None:
    with pytest.raises(InvalidOption, match="the problem has none"):
        lagrangian(small_building(np.inf))
    with pytest.raises(InvalidOption, match="raise a bound"):
        lagrangian(small_building(-1.0))
    with pytest.raises(UnknownName, match="'heat'"):
        lagrangian(small_building(2.0), "heat")


def test_it_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    axes = lagrangian(small_building(2.0)).plot(tmp_path / "lines.svg")
    assert "(λ* = 16.13)" in axes.get_xlabel()
    picture = tmp_path / "solved.png"
    assert main(["solve", "small-building", "--lagrangian", str(picture), "--quiet"]) == 0
    assert picture.stat().st_size > 10_000
    picture.unlink()
    one = ["--activity", "go-to-door", "--quiet"]
    assert main(["solve", "small-building", "--lagrangian", str(picture), *one]) == 0
    assert picture.stat().st_size > 10_000
    assert main(["solve", "small-building", *one]) == 2
    assert "only --lagrangian draws one activity" in capsys.readouterr().err


def test_by_default_the_bound_is_shown_that_costs_most() -> None:
    problem = rover()
    assert problem.constraint_names[0] == "energy"
    found = lagrangian(problem, iterations=1)
    # There is energy enough; nearly all that the bounds cost is that of what may be missed.
    assert found.constraint == "missed"
    assert lagrangian(problem, "energy", iterations=1).dual == pytest.approx(found.dual)
