"""Problems as environments: Gymnasium's checker, costs in the info, and plans that cost what they should."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import hcssp
from hcssp.exchange.gymnasium_environment import record_episodes, to_gymnasium

gymnasium = pytest.importorskip(
    "gymnasium", reason="environments need Gymnasium: pip install 'hcssp[gymnasium]'"
)


@pytest.fixture(scope="module")
def hall() -> hcssp.CSSP:
    made = hcssp.CSSPBuilder(cost_names=("minutes", "damage"), bounds={"damage": 3})
    inside, stairs, out = made.add_state("hall"), made.add_state("stairs"), made.add_goal("out")
    made.add_action(inside, "walk", to=stairs, costs={"minutes": 6})
    made.add_action(inside, "run", to={stairs: 0.8, inside: 0.2}, costs={"minutes": 1, "damage": 2})
    made.add_action(stairs, "lift", to={out: 0.9, stairs: 0.1}, costs={"minutes": 1, "damage": 1})
    made.add_action(stairs, "walk", to=out, costs={"minutes": 3})
    made.set_initial(inside)
    return made.build()


@pytest.fixture(scope="module")
def building() -> hcssp.HCSSP:
    return hcssp.small_building(bound=2.0)


@pytest.fixture(params=["hall", "building"])
def registered(request: pytest.FixtureRequest) -> Iterator[str]:
    problem = request.getfixturevalue(request.param)
    name = f"hcssp-tests/{request.param}-v0"
    gymnasium.register(id=name, entry_point=lambda **options: to_gymnasium(problem, **options))
    yield name
    del gymnasium.registry[name]


def test_gymnasium_s_own_checker_finds_nothing_wrong(registered: str) -> None:
    # A warning is an error here, so that everything it looks at is as it should be.
    from gymnasium.utils.env_checker import check_env

    check_env(gymnasium.make(registered, disable_env_checker=True).unwrapped)


def test_what_is_told_with_every_step(hall: hcssp.CSSP) -> None:
    env = to_gymnasium(hall, render_mode="ansi")
    actions = env.episode.actions
    assert actions == ("walk", "run", "lift")
    observation, info = env.reset(seed=1)
    assert (observation, info["state"], env.render()) == (0, "hall", "hall")
    assert info["action_mask"].tolist() == [1, 1, 0]
    observation, reward, terminated, truncated, info = env.step(actions.index("walk"))
    assert (observation, reward, terminated, truncated) == (1, -6.0, False, False)
    assert info["costs"] == {"minutes": 6.0, "damage": 0.0}
    assert info["action_mask"].tolist() == [1, 0, 1]
    _, reward, terminated, _, info = env.step(actions.index("walk"))
    assert (reward, terminated, info["state"]) == (-3.0, True, "out")
    assert info["spent"] == {"minutes": 9.0, "damage": 0.0}
    assert info["action_mask"].tolist() == [0, 0, 0]


@pytest.mark.parametrize(("refusal", "paid"), [(None, 6.0), (0.5, 0.5)])
def test_an_action_that_is_not_there_is_paid_and_changes_nothing(
    hall: hcssp.CSSP, refusal: float | None, paid: float
) -> None:
    env = to_gymnasium(hall, refusal=refusal)
    env.reset(seed=1)
    observation, reward, terminated, _, info = env.step(env.episode.actions.index("lift"))
    assert (observation, reward, terminated) == (0, -paid, False)
    assert not info["available"]
    assert info["costs"] == {"minutes": paid, "damage": 0.0}


@pytest.mark.parametrize("name", ["hall", "building"])
def test_a_plan_costs_in_its_environment_what_the_exact_evaluation_says(
    name: str, request: pytest.FixtureRequest
) -> None:
    problem = request.getfixturevalue(name)
    plan = hcssp.solve(problem)
    runs = record_episodes(to_gymnasium(problem), plan, episodes=300, seed=3)
    assert runs.num_truncated == 0
    for cost in runs.cost_names:
        mean = runs.mean(cost, level=0.999)
        assert mean.low <= plan.cost(cost) <= mean.high


def test_a_step_costs_what_its_transition_costs() -> None:
    made = hcssp.CSSPBuilder(cost_names=("time", "damage"))
    here, out, hurt = made.add_state("here"), made.add_goal("out"), made.add_goal("hurt")
    extra = {hurt: {"damage": 10}}
    made.add_action(here, "go", to={out: 0.9, hurt: 0.1}, costs={"time": 1}, arrival_costs=extra)
    plan = hcssp.solve(made.build())
    runs = record_episodes(to_gymnasium(plan.problem), plan, episodes=200, seed=3)
    assert set(runs.totals[1].tolist()) == {0.0, 10.0}


def test_what_is_maximised_is_the_reward(hall: hcssp.CSSP) -> None:
    shaped = hcssp.maximise(hall, {"minutes": -1.0, "damage": -2.0})
    env = to_gymnasium(shaped, refusal=9.0)
    run, lift = env.episode.actions.index("run"), env.episode.actions.index("lift")
    env.reset(seed=1)
    assert env.step(run)[1] == -5.0
    env.reset(seed=1)
    assert env.step(lift)[1] == -9.0


def test_a_seed_names_the_episodes(hall: hcssp.CSSP) -> None:
    plan, env = hcssp.solve(hall), to_gymnasium(hall)
    first, again, other = (record_episodes(env, plan, episodes=50, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.totals, again.totals)
    assert not np.array_equal(first.totals, other.totals)


def test_a_function_is_followed_and_cut_off(hall: hcssp.CSSP) -> None:
    def never_ends(observation: int, info: dict[str, Any]) -> int:
        return 2 if observation == 0 else 0

    runs = record_episodes(to_gymnasium(hall), never_ends, episodes=3, max_steps=10)
    assert runs.num_truncated == 3
    assert runs.steps.tolist() == [10, 10, 10]
    limited = gymnasium.wrappers.TimeLimit(to_gymnasium(hall), max_episode_steps=4)
    assert record_episodes(limited, never_ends, episodes=2).steps.tolist() == [4, 4]


def test_plans_for_others_and_plans_with_holes_are_refused(hall: hcssp.CSSP, building: hcssp.HCSSP) -> None:
    with pytest.raises(hcssp.InvalidProblem, match="but the environment has 3; give a plan for the problem"):
        record_episodes(to_gymnasium(hall), hcssp.solve(building))
    partial = hcssp.Plan(hall, hcssp.DeterministicPolicy(hall, np.array([0, -1, -1])))
    with pytest.raises(hcssp.errors.ImproperPolicy, match="the plan does nothing in state 'stairs'"):
        record_episodes(to_gymnasium(hall), partial, episodes=1)
    with pytest.raises(hcssp.InvalidProblem, match="refusal is -1; it must be 0 or more"):
        to_gymnasium(hall, refusal=-1)
    with pytest.raises(hcssp.InvalidProblem, match="episodes is 0; it must be positive"):
        record_episodes(to_gymnasium(hall), partial, episodes=0)


def test_without_gymnasium_it_says_what_to_install(hall: hcssp.CSSP, monkeypatch: pytest.MonkeyPatch) -> None:
    from hcssp.exchange import gymnasium_environment

    gymnasium_environment._environment_class.cache_clear()
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(hcssp.errors.MissingDependency, match=r"pip install 'hcssp\[gymnasium\]'"):
        to_gymnasium(hall)
