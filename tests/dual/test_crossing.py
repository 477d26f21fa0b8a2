from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.dual.ascent import maximise
from hcssp.dual.crossing import MAX_TRIES, cross
from hcssp.dual.flat_oracle import FlatOracle
from hcssp.dual.procedure_oracle import ProcedureOracle
from hcssp.evaluation import evaluate
from hcssp.procedure import ProcedurePolicy
from hcssp.scenarios.campus import campus
from hcssp.ssp.region import Region
from small_procedures import retrying


def test_policies_between_two_of_the_support_spend_what_is_left() -> None:
    problem = campus(damage=60.0, buildings=3, floors=4)
    oracle = ProcedureOracle(problem.flattening)
    dual = maximise(oracle, Region())
    kept = min(dual.support, key=lambda vertex: vertex.costs[1])
    found = oracle.between(dual.support)
    assert found is not None
    assert dual.bound <= found.costs[0] < kept.costs[0]
    assert kept.costs[1] < found.costs[1] <= 60.0
    # Its costs are those of the policy that it is.
    costs = evaluate(problem, ProcedurePolicy(problem, oracle.lift(found))).costs
    np.testing.assert_allclose(costs, found.costs, rtol=1e-9)


def test_there_is_nothing_between_a_policy_and_itself() -> None:
    problem = campus(damage=np.inf, size=4)
    oracle = ProcedureOracle(problem.flattening)
    (only,) = maximise(oracle, Region()).support
    assert oracle.between((only,)) is None


def test_choices_that_never_end_or_lack_a_plan_are_no_policy() -> None:
    oracle = ProcedureOracle(retrying().flattening)
    vertex = maximise(oracle, Region()).support[0]
    assert oracle.vertex_of(vertex.choices, (None, None)) is None
    again = oracle.vertex_of(vertex.choices, vertex.plans)
    assert again is not None
    np.testing.assert_allclose(again.costs, vertex.costs, rtol=1e-12)
    assert oracle.procedure.ends(vertex.choices)
    assert not oracle.procedure.ends(np.full_like(vertex.choices, -1))


def test_alike_stages_of_a_flat_problem_are_decided_one_by_one() -> None:
    # All stages change their minds at the same price, and 7.5 of them would spend the whole budget.
    stages = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": 7.5})
    states = [*(stages.add_state(f"stage-{n}") for n in range(20)), stages.add_goal("out")]
    for here, after in pairwise(states):
        stages.add_action(here, "walk", to=after, costs=(3.0, 0.0))
        stages.add_action(here, "run", to=after, costs=(1.0, 1.0))
    problem = stages.build()
    oracle = FlatOracle(problem)
    dual = maximise(oracle, Region())
    found = oracle.between(dual.support)
    assert found is not None
    assert found.costs.tolist() == [46.0, 7.0]
    costs = evaluate(problem, DeterministicPolicy(problem, oracle.lift(found))).costs
    np.testing.assert_allclose(costs, found.costs, rtol=1e-12)


class Purse:
    """What is bought with the `items` taken: each costs as much of the bound as it saves."""

    def __init__(self, items: list[float]) -> None:
        self.costs = np.array([100.0 - sum(items), sum(items)])


@pytest.mark.parametrize(
    ("items", "bound", "spent"),
    [
        ([5.0, 4.0, 3.0, 2.0, 1.0], 10.0, 10.0),  # 5 + 4, not 3, not 2, but 1
        ([8.0, 7.0, 6.0], 10.0, 8.0),
        ([20.0, 30.0], 10.0, 0.0),
        ([1.0] * 64, 40.5, 40.0),
        ([], 10.0, 0.0),
    ],
)
def test_what_is_too_much_is_passed_over(items: list[float], bound: float, spent: float) -> None:
    tried = []

    def mixed(taken: list[float]) -> Purse:
        tried.append(taken)
        return Purse(taken)

    found = cross(Purse([]), items, mixed, np.array([bound]))  # type: ignore[type-var]
    assert (0.0 if found is None else found.costs[1]) == spent
    assert len(tried) <= MAX_TRIES


def test_what_is_no_policy_is_passed_over_too() -> None:
    found = cross(
        Purse([]),  # type: ignore[type-var]
        [4.0, 3.0, 2.0],
        lambda taken: None if 3.0 in taken else Purse(taken),
        np.array([7.5]),
    )
    assert found is not None
    assert found.costs[1] == 6.0


def test_no_more_policies_are_tried_than_allowed() -> None:
    problem = campus(damage=60.0, buildings=3, floors=4)
    kept = min(
        maximise(ProcedureOracle(problem.flattening), Region()).support, key=lambda each: each.costs[1]
    )
    tried: list[list[int]] = []

    def mixed(taken: list[int]) -> None:
        tried.append(taken)

    assert cross(kept, list(range(1_000)), mixed, np.array([60.0]), 12) is None
    assert len(tried) == 12
