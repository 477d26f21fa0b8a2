"""What another decision of a plan changes, against evaluating the flattened problem twice."""

from __future__ import annotations

import numpy as np
import pytest

from hcssp.dual.flat import FlatOracle
from hcssp.dual.multi_exit import MultiExitOracle
from hcssp.dual.procedure import ProcedureOracle
from hcssp.ssp.balance import Balance
from hcssp.ssp.scalar_problem import Region
from policy_systems import dense_values, dense_visits
from random_procedures import random_procedure


def flat_row(oracle: ProcedureOracle | MultiExitOracle, row: int) -> int:
    return row if isinstance(oracle, ProcedureOracle) else oracle.original_row(row)


@pytest.mark.parametrize(("kind", "least"), [(ProcedureOracle, 40), (MultiExitOracle, 15)])
def test_it_is_the_change_of_the_costs_for_each_visit(
    kind: type[ProcedureOracle] | type[MultiExitOracle], least: int
) -> None:
    compared = 0
    for seed in range(12):
        problem = random_procedure(seed, cycles=seed % 2 == 1, several_exits=kind is MultiExitOracle)
        flattening = problem.flattening
        oracle, flat = kind(flattening), FlatOracle(flattening.cssp)
        balance: Balance = flat._balance
        minimum = oracle.minimise(np.append(1.0, np.full(problem.num_constraints, 0.3)), Region())
        assert minimum is not None
        point = minimum.point
        taken = point.rows[point.rows >= 0]
        # Strongly connected components have other numbers.
        number = np.array([flat_row(oracle, row) for row in range(len(oracle.row_state))])
        chosen = np.sort(number[taken])
        if len(oracle.row_state) != flattening.num_rows or len(chosen) != balance.num_live:
            # Some rows were taken out, or nothing is chosen somewhere: the numbers are not the same.
            continue
        costs = balance.initial @ dense_values(balance, chosen)
        np.testing.assert_allclose(point.costs, costs, rtol=1e-9, atol=1e-9)
        others = np.setdiff1d(np.arange(len(oracle.row_state)), taken)
        changes = point.switching_costs(oracle.row_state[others], others)
        assert changes is not None
        for row, change in zip(number[others].tolist(), changes, strict=True):
            state = balance.row_state[row]
            rows = chosen.copy()
            rows[state] = row
            if row < flattening.num_event_rows and np.isnan(change).all():
                continue
            if balance.is_proper(rows):
                visits = dense_visits(balance, rows)[state]
                after = balance.initial @ dense_values(balance, rows)
                np.testing.assert_allclose(visits * change, after - costs, rtol=1e-8, atol=1e-8)
                compared += 1
    assert compared >= least
