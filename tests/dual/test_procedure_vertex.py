"""What is told of a policy of a procedure, block by block: the same as of all its states at once."""

from __future__ import annotations

import numpy as np
import pytest

from hcssp.cssp.policy import NO_ROW
from hcssp.dual.procedure_oracle import ProcedureOracle
from hcssp.dual.procedure_vertex import ProcedureVertex
from hcssp.dual.vertex import Vertex
from hcssp.ssp.region import Region
from random_procedures import random_procedure
from volume import some


def vertices(seed: int) -> tuple[ProcedureOracle, list[ProcedureVertex]]:
    """Some policies of a procedure: those that are best under weights."""
    oracle, rng = ProcedureOracle(random_procedure(seed).flattening), np.random.default_rng(seed)
    found = []
    for scale in (0.0, 0.1, 1.0, 10.0):
        weights = np.append(1.0, scale * rng.exponential(1.0, len(oracle.bounds)))
        minimum = oracle.minimise(weights, Region())
        assert minimum is not None
        found.append(minimum.vertex)
    return oracle, found


@pytest.mark.parametrize("seed", some(range(12), 2))
def test_some_states_say_what_all_of_them_do(seed: int) -> None:
    oracle, found = vertices(seed)
    rng = np.random.default_rng(seed)
    states = np.sort(rng.choice(len(oracle.row_start) - 1, 5, replace=False))
    for vertex in found:
        assert vertex.rows_of(states).tolist() == vertex.rows[states].tolist()
        assert vertex.visits_of(states) == pytest.approx(vertex.visits[states])
        # Who is visited is reached, and costs are what visits make of them.
        assert np.all(vertex.reached[vertex.visits > 0.0])
        for other in found:
            parting = vertex.parting(other)
            both = (vertex.rows != other.rows) & vertex.reached & other.reached
            assert set(np.flatnonzero(both)) <= set(parting.tolist())
            assert np.all(vertex.rows[parting] != other.rows[parting])


@pytest.mark.parametrize("seed", some(range(12), 4))
def test_what_all_states_say_is_what_each_block_says_also_without_a_plan(seed: int) -> None:
    oracle, found = vertices(seed)
    rng = np.random.default_rng(seed)
    partial = []
    for vertex in found:
        plans = tuple(None if rng.random() < 0.3 else plan for plan in vertex.plans)
        partial.append(ProcedureVertex(oracle, vertex.choices, vertex.executions, plans, vertex.costs))
    every = np.arange(len(oracle.row_start) - 1)
    for vertex in (*found, *partial):
        events = oracle.procedure.visits(vertex.choices)
        rows, visits, reached = [vertex.choices], [events], [events > 0.0]
        for plan, times, offset, planner in zip(
            vertex.plans, vertex.executions, oracle.row_offset[:-1], oracle.planners, strict=True
        ):
            size = planner.balance.num_live
            rows.append(np.full(size, NO_ROW) if plan is None else plan.rows + offset)
            visits.append(np.zeros(size) if plan is None else times * plan.visits)
            reached.append(plan.reached if plan is not None and times > 0.0 else np.zeros(size, dtype=bool))
        assert vertex.rows.tolist() == vertex.rows_of(every).tolist() == np.concatenate(rows).tolist()
        assert vertex.visits.tolist() == vertex.visits_of(every).tolist() == np.concatenate(visits).tolist()
        assert vertex.reached.tolist() == np.concatenate(reached).tolist()
        for other in partial:
            different = vertex.rows != other.rows
            for index, plans in enumerate(zip(vertex.plans, other.plans, strict=True)):
                if None in plans:
                    different[oracle.state_offset[index] : oracle.state_offset[index + 1]] = False
            assert sorted(vertex.parting(other).tolist()) == np.flatnonzero(different).tolist()
            choices = np.flatnonzero(different[: oracle.procedure.num_states])
            assert vertex.parting_choices(other).tolist() == choices.tolist()


def test_switching_a_row_costs_what_the_row_does_and_the_plan_afterwards() -> None:
    compared = 0
    for seed in range(6):
        oracle, found = vertices(seed)
        for vertex in found:
            states, rows, expected = [0], [int(vertex.rows[0])], [np.full(len(vertex.costs), np.nan)]
            for index, plan in enumerate(vertex.plans):
                if plan is None:
                    continue
                balance = oracle.planners[index].balance
                for row, state in enumerate(balance.row_state.tolist()):
                    own = balance.costs[:, row] - (balance.matrix[[row]] @ plan.values)[0]
                    changes = np.zeros(len(vertex.costs))
                    changes[0] = own[0]
                    for constraint, cost in oracle.counts[index]:
                        changes[1 + constraint] += own[cost]
                    states.append(int(oracle.state_offset[index]) + state)
                    rows.append(int(oracle.row_offset[index]) + row)
                    expected.append(changes)
                    compared += row != plan.rows[state]
            told = vertex.switching_costs(np.array(states), np.array(rows))
            assert told == pytest.approx(np.array(expected), abs=1e-9, nan_ok=True)
    assert compared > 50


@pytest.mark.parametrize("seed", some(range(12), 4))
def test_what_rounding_may_hide_is_told_of_all_activities_that_are_executed(seed: int) -> None:
    oracle, found = vertices(seed)
    for vertex in found:
        rounding = vertex.rounding
        expected = np.zeros(len(vertex.costs))
        for index, plan in enumerate(vertex.plans):
            if plan is not None:
                own = vertex.executions[index] * plan.rounding
                expected[0] += own[0]
                for constraint, cost in oracle.counts[index]:
                    expected[1 + constraint] += own[cost]
        assert np.all(rounding >= expected)
        # Some roundings for each execution besides, of the costs of all.
        besides = float(vertex.executions.sum()) * vertex.costs
        assert np.all(rounding - expected <= 20.0 * 2.0**-53 * besides)
        assert np.all(rounding - expected >= 4.0 * 2.0**-53 * besides)
        # What is told without visits is no less.
        assert np.all(vertex.rounding_at_most >= (1.0 - 1e-9) * rounding)


@pytest.mark.parametrize("seed", some(range(12), 4))
def test_a_policy_lies_in_the_regions_whose_rows_it_avoids(seed: int) -> None:
    oracle, found = vertices(seed)
    for vertex in found:
        for state in range(len(oracle.row_start) - 1):
            for row in range(*oracle.row_start[state : state + 2].tolist()):
                region = Region().forbid([row])
                uses = vertex.rows[state] == row and vertex.reached[state]
                assert vertex.lies_in(region, oracle.row_state) == (not uses)
                assert Vertex.lies_in(vertex, region, oracle.row_state) == (not uses)
