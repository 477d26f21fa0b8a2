from __future__ import annotations

from math import inf

import pytest

from brute_force_procedures import brute_force
from hcssp.contract.progress import Progress
from hcssp.errors import DeadEnd
from hcssp.methods import early_plan
from hcssp.methods.early_plan import early_plans, has_early_plan
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.scenarios import small_building
from hcssp.solving.solve import resolve, solve
from random_procedures import random_procedure
from small_procedures import fork, jump_or_walk
from volume import some


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """One activity is many."""
    monkeypatch.setattr(early_plan, "MANY_ACTIVITIES", 1)


@pytest.mark.parametrize("shape", [{}, {"cycles": True}, {"several_exits": True}])
@pytest.mark.parametrize("seed", some(range(16)))
def test_what_is_told_early_is_true(early: None, seed: int, shape: dict[str, bool]) -> None:
    problem = random_procedure(seed, **shape)
    found = brute_force(problem).optimum(problem.bounds)
    best = inf if found is None else found[0]
    for step in early_plans(problem, 0.0):
        assert step.lower_bound <= best * (1.0 + 1e-9)
        assert step.upper_bound >= best * (1.0 - 1e-9)
    plan = solve(problem)
    assert plan.upper_bound == pytest.approx(best, rel=1e-6) if found is not None else not plan.found


def test_a_plan_is_told_before_activities_are_looked_at(early: None, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = small_building(bound=2.0)
    monkeypatch.setattr(early_plan, "MAX_STATES", 10_000)

    def looked_at(*_: object) -> None:
        raise AssertionError("activities are looked at one by one")

    monkeypatch.setattr("hcssp.contract.memory.oracle_of", looked_at)
    steps = PolicyBranching().iterate(problem)
    assert any(step.incumbent is not None and step.prices is not None for step in steps_until(steps))


def steps_until(steps: object) -> list[Progress]:
    """All steps up to the first plan."""
    found: list[Progress] = []
    for step in steps:  # type: ignore[attr-defined]
        found.append(step)
        if step.incumbent is not None:
            break
    return found


def test_what_is_known_under_other_bounds_is_not_begun_anew(
    early: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(early_plan, "MAX_STATES", 10_000)
    begun: list[object] = []
    monkeypatch.setattr(
        "hcssp.methods.policy_branching.early_plans", lambda *asked: iter(begun.append(asked) or ())
    )
    plan = solve(small_building(bound=2.0))
    resolve(plan, damage=1.5)
    assert len(begun) == 1


def test_few_or_large_activities_are_planned_one_by_one() -> None:
    assert not has_early_plan(small_building(bound=2.0))
    assert not has_early_plan(fork())


def test_who_is_stuck_hears_where(early: None) -> None:
    with pytest.raises(DeadEnd, match="jump"):
        solve(jump_or_walk(walk=False))
