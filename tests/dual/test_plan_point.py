"""What is told of a policy of a procedure, block by block: the same as of all its states at once."""

from __future__ import annotations

import numpy as np
import pytest

from hcssp.cssp.policy import NO_ROW
from hcssp.dual.plan_point import ProcedurePoint
from hcssp.dual.procedure import ProcedureOracle
from hcssp.ssp.scalar_problem import Region
from random_procedures import random_procedure
from volume import some


def points(seed: int) -> tuple[ProcedureOracle, list[ProcedurePoint]]:
    """Some policies of a procedure: those that are best under weights."""
    oracle, rng = ProcedureOracle(random_procedure(seed).flattening), np.random.default_rng(seed)
    found = []
    for scale in (0.0, 0.1, 1.0, 10.0):
        weights = np.append(1.0, scale * rng.exponential(1.0, len(oracle.bounds)))
        minimum = oracle.minimise(weights, Region())
        assert minimum is not None
        found.append(minimum.point)
    return oracle, found


@pytest.mark.parametrize("seed", some(range(12), 4))
def test_what_all_states_say_is_what_each_block_says_also_without_a_plan(seed: int) -> None:
    oracle, found = points(seed)
    rng = np.random.default_rng(seed)
    partial = []
    for point in found:
        plans = tuple(None if rng.random() < 0.3 else plan for plan in point.plans)
        partial.append(ProcedurePoint(oracle, point.choices, point.executions, plans, point.costs))
    every = np.arange(len(oracle.row_start) - 1)
    for point in (*found, *partial):
        events = oracle.procedure.visits(point.choices)
        rows, visits, reached = [point.choices], [events], [events > 0.0]
        for plan, times, offset, planner in zip(
            point.plans, point.executions, oracle.row_offset[:-1], oracle.planners, strict=True
        ):
            size = planner.balance.num_live
            rows.append(np.full(size, NO_ROW) if plan is None else plan.rows + offset)
            visits.append(np.zeros(size) if plan is None else times * plan.visits)
            reached.append(plan.reached if plan is not None and times > 0.0 else np.zeros(size, dtype=bool))
        assert point.rows.tolist() == point.rows_of(every).tolist() == np.concatenate(rows).tolist()
        assert point.visits.tolist() == point.visits_of(every).tolist() == np.concatenate(visits).tolist()
        assert point.reached.tolist() == np.concatenate(reached).tolist()
        for other in partial:
            different = point.rows != other.rows
            for index, plans in enumerate(zip(point.plans, other.plans, strict=True)):
                if None in plans:
                    different[oracle.state_offset[index] : oracle.state_offset[index + 1]] = False
            assert sorted(point.parting(other).tolist()) == np.flatnonzero(different).tolist()
            choices = np.flatnonzero(different[: oracle.procedure.num_states])
            assert point.parting_choices(other).tolist() == choices.tolist()


def test_switching_a_row_costs_what_the_row_does_and_the_plan_afterwards() -> None:
    compared = 0
    for seed in range(6):
        oracle, found = points(seed)
        for point in found:
            states, rows, expected = [0], [int(point.rows[0])], [np.full(len(point.costs), np.nan)]
            for index, plan in enumerate(point.plans):
                if plan is None:
                    continue
                balance = oracle.planners[index].balance
                for row, state in enumerate(balance.row_state.tolist()):
                    own = balance.costs[:, row] - (balance.matrix[[row]] @ plan.values)[0]
                    changes = np.zeros(len(point.costs))
                    changes[0] = own[0]
                    for constraint, cost in oracle.counts[index]:
                        changes[1 + constraint] += own[cost]
                    states.append(int(oracle.state_offset[index]) + state)
                    rows.append(int(oracle.row_offset[index]) + row)
                    expected.append(changes)
                    compared += row != plan.rows[state]
            told = point.switching_costs(np.array(states), np.array(rows))
            assert told == pytest.approx(np.array(expected), abs=1e-9, nan_ok=True)
    assert compared > 50


@pytest.mark.parametrize("seed", some(range(12), 4))
def test_what_rounding_may_hide_is_told_of_all_activities_that_are_executed(seed: int) -> None:
    oracle, found = points(seed)
    for point in found:
        rounding = point.rounding
        expected = np.zeros(len(point.costs))
        for index, plan in enumerate(point.plans):
            if plan is not None:
                own = point.executions[index] * plan.rounding
                expected[0] += own[0]
                for constraint, cost in oracle.counts[index]:
                    expected[1 + constraint] += own[cost]
        assert np.all(rounding >= expected)
        # Some roundings for each execution besides, of the costs of all.
        besides = float(point.executions.sum()) * point.costs
        assert np.all(rounding - expected <= 20.0 * 2.0**-53 * besides)
        assert np.all(rounding - expected >= 4.0 * 2.0**-53 * besides)
