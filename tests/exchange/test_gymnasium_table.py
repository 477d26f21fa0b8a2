"""The tables of toy-text environments as problems: known optima, bounds that bite, and what is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hcssp
from hcssp.exchange.gymnasium_environment import ENDED, from_gymnasium

REASON = "the tables of Gymnasium need it: pip install 'hcssp[gymnasium]'"


@pytest.fixture(scope="module")
def toys() -> SimpleNamespace:
    toy_text = pytest.importorskip("gymnasium.envs.toy_text", reason=REASON)
    return SimpleNamespace(lake=toy_text.FrozenLakeEnv, cliff=toy_text.CliffWalkingEnv, taxi=toy_text.TaxiEnv)


def test_a_frozen_lake_is_crossed_with_few_falls(toys: SimpleNamespace) -> None:
    lake = from_gymnasium(toys.lake(), costs={"steps": 1, "falls": {"H": 1}}, bounds={"falls": 0.2})
    plan = hcssp.solve(lake)
    assert plan.status is hcssp.Status.OPTIMAL
    # Nobody gets across the slippery 4x4 lake with more than 14/17, and that is the only way within 0.2.
    assert plan.cost("falls") == pytest.approx(3 / 17)
    assert plan.upper_bound == pytest.approx(828 / 17)
    # All holes and the far shore end an episode; the other ten tiles go on.
    assert np.count_nonzero(lake.goals) == 5
    assert lake.num_states == 16
    impossible = hcssp.solve(lake.with_bounds(falls=0.15))
    assert impossible.status is hcssp.Status.INFEASIBLE


def test_who_may_fall_ends_sooner(toys: SimpleNamespace) -> None:
    steady = toys.lake(is_slippery=False)
    lake = from_gymnasium(steady, costs={"steps": 1, "falls": {"H": 1}}, bounds={"falls": 1.0})
    # The nearest hole is two steps away, the far shore six.
    assert hcssp.solve(lake).upper_bound == 2.0
    assert hcssp.solve(lake.with_bounds(falls=0.9)).upper_bound == 6.0


@pytest.mark.parametrize(("at_most", "steps", "on_the_edge"), [(12.0, 13.0, 12.0), (2.0, 15.0, 2.0)])
def test_a_cliff_is_passed_on_the_edge_or_not(
    toys: SimpleNamespace, at_most: float, steps: float, on_the_edge: float
) -> None:
    cliff = from_gymnasium(
        toys.cliff(),
        costs={"steps": 1, "edge": lambda step: step.next_state // 12 == 2},
        bounds={"edge": at_most},
    )
    plan = hcssp.solve(cliff)
    assert plan.status is hcssp.Status.OPTIMAL
    assert plan.evaluate().costs.tolist() == [steps, on_the_edge]


def test_a_taxi_pays_toll_on_the_way(toys: SimpleNamespace) -> None:
    def toll(step: Any) -> float:
        return float(step.action < 4 and step.next_state // 20 % 5 == 3)

    taxi = from_gymnasium(toys.taxi(), costs={"steps": 1, "toll": toll})
    assert np.count_nonzero(taxi.initial) == 300
    free = hcssp.solve(taxi)
    # 13.07 steps on average are known to be the best there is.
    assert free.upper_bound == pytest.approx(13.07)
    assert free.cost("toll") > 2.0
    bounded = hcssp.solve(taxi.with_bounds(toll=2.0), stop=hcssp.Gap(1e-3))
    assert bounded.cost("toll") <= 2.0
    assert 13.08 < bounded.lower_bound <= bounded.upper_bound


def test_a_plan_is_followed_in_the_environment_itself(toys: SimpleNamespace) -> None:
    environment = toys.lake()
    lake = from_gymnasium(environment, costs={"steps": 1, "falls": {"H": 1}}, bounds={"falls": 0.2})
    plan = hcssp.solve(lake)
    crossed = 0
    for episode in range(300):
        observation, _ = environment.reset(seed=episode)
        terminated = False
        while not terminated:
            observation, reward, terminated, _, _ = environment.step(plan.action(observation))
        crossed += int(reward)
    assert abs(crossed / 300 - 14 / 17) < 0.07


def environment(table: dict[int, Any], begin: list[float], **more: Any) -> Any:
    return SimpleNamespace(unwrapped=SimpleNamespace(P=table, initial_state_distrib=begin, **more))


def test_a_state_that_ends_an_episode_only_sometimes_is_two() -> None:
    table = {
        0: {0: [(1.0, 1, 0.0, False)], 1: [(1.0, 1, 0.0, True)]},
        1: {0: [(1.0, 0, 0.0, True)], 1: [(0.0, 7, 0.0, False), (1.0, 1, 0.0, False)]},
    }
    made = from_gymnasium(environment(table, [1.0, 0.0]), costs={"steps": 1})
    assert set(made.state_labels) == {0, 1, (ENDED, 0), (ENDED, 1)}
    assert made.goals.tolist() == [isinstance(label, tuple) for label in made.state_labels]


def test_where_an_episode_begins_can_be_said() -> None:
    table = {state: {0: [(1.0, state + 1, 0.0, state == 1)]} for state in range(2)}
    world = environment(table, [1.0, 0.0, 0.0])
    assert hcssp.solve(from_gymnasium(world, costs={"steps": 1}, initial=1)).upper_bound == 1.0
    halves = from_gymnasium(world, costs={"steps": 1}, initial={0: 0.5, 1: 0.5})
    assert hcssp.solve(halves).upper_bound == 1.5
    with pytest.raises(hcssp.InvalidProblem, match="initial: the environment has no state 9; its states are"):
        from_gymnasium(world, costs={"steps": 1}, initial=9)


def test_costs_depend_on_what_happens_and_are_folded() -> None:
    table = {0: {0: [(0.25, 1, 8.0, True), (0.75, 0, 2.0, False)]}}
    made = from_gymnasium(environment(table, [1.0, 0.0]), costs={"paid": lambda step: step.reward})
    assert made.costs.tolist() == [[3.5]]


def test_letters_need_tiles() -> None:
    table = {0: {0: [(1.0, 1, 0.0, True)]}}
    with pytest.raises(hcssp.InvalidProblem, match="'falls' is given by letters, but"):
        from_gymnasium(environment(table, [1.0, 0.0]), costs={"steps": 1, "falls": {"H": 1}})


def test_a_negative_cost_is_told() -> None:
    table = {0: {0: [(1.0, 1, -1.0, True)]}}
    with pytest.raises(hcssp.InvalidProblem, match="state 0, action 0: the cost 'paid' is -1"):
        from_gymnasium(environment(table, [1.0, 0.0]), costs={"paid": lambda step: step.reward})


def test_a_world_without_a_table_is_refused() -> None:
    with pytest.raises(hcssp.errors.UnsupportedProblem, match=r"has no table of its transitions \(env"):
        from_gymnasium(SimpleNamespace(unwrapped=SimpleNamespace()), costs={"steps": 1})
