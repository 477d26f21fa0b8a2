"""The small linear program against HiGHS: random ones, degenerate ones, badly scaled ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from hcssp.cssp.model import FloatArray
from hcssp.dual.small_lp import SIMPLEX, SmallLP
from volume import some


def with_slacks(
    rng: np.random.Generator, rows: int, count: int, degenerate: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Columns, slacks first, costs that make some of them worth taking, and a right-hand side."""
    columns = rng.exponential(1.0, (count, rows))
    costs = -rng.exponential(1.0, count)
    right = rng.exponential(1.0, rows)
    if degenerate:
        # Many ties: small whole numbers, and a right-hand side with zeros.
        columns, costs = rng.integers(0, 3, (count, rows)) * 1.0, -rng.integers(0, 4, count) * 1.0
        right = rng.integers(0, 2, rows) * 1.0
        columns[~columns.any(axis=1)] = 1.0
    return np.vstack([np.eye(rows), columns]), np.append(np.zeros(rows), costs), right


def truth(columns: FloatArray, costs: FloatArray, right: FloatArray) -> float:
    answer = linprog(costs, A_eq=columns.T, b_eq=right)
    assert answer.status == 0
    return float(answer.fun)


@pytest.mark.parametrize("degenerate", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 3, 6])
@pytest.mark.parametrize("seed", some(range(40), 8))
def test_the_optimum_is_that_of_highs(seed: int, rows: int, degenerate: bool) -> None:
    rng = np.random.default_rng(seed)
    columns, costs, right = with_slacks(rng, rows, 30, degenerate)
    program = SmallLP(columns, costs, right, list(range(rows)))
    assert program.solve()
    assert program.value == pytest.approx(truth(columns, costs, right), rel=1e-9, abs=1e-10)
    assert program.solution @ columns == pytest.approx(right, abs=1e-10)
    # Complementary slackness: no column has a negative reduced cost, and the basis has none.
    reduced = costs - columns @ program.duals
    assert reduced.min() >= -1e-9
    assert reduced[program.basis] == pytest.approx(np.zeros(rows), abs=1e-9)


@pytest.mark.parametrize("seed", some(range(20), 4))
def test_columns_may_be_added_and_costs_changed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns, costs, right = with_slacks(rng, 3, 20, False)
    program = SmallLP(columns[:3], costs[:3], right, [0, 1, 2])
    for known in range(3, len(costs)):
        program.add(columns[known], float(costs[known]))
        assert program.solve()
        expected = truth(columns[: known + 1], costs[: known + 1], right)
        assert program.value == pytest.approx(expected, rel=1e-9)
    program.costs[3:] = rng.exponential(1.0, len(costs) - 3)
    assert program.solve()
    assert program.value == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("seed", some(range(20), 4))
def test_the_units_of_rows_and_columns_do_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns, costs, right = with_slacks(rng, 3, 25, False)
    plain = SmallLP(columns, costs, right, [0, 1, 2])
    assert plain.solve()
    rows, of_columns = 2.0 ** rng.integers(-30, 30, 3), 2.0 ** rng.integers(-20, 20, len(costs))
    scaled = SmallLP(
        columns * rows * of_columns[:, np.newaxis], costs * of_columns, right * rows, list(range(3))
    )
    assert scaled.solve()
    assert scaled.value == pytest.approx(plain.value, rel=1e-9)


def test_beale_s_example_does_not_cycle() -> None:
    columns = np.array(
        [[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0.25, 0.5, 0], [-60, -90, 0], [-1 / 25, -1 / 50, 1], [9, 3, 0]]
    )
    costs = np.array([0.0, 0.0, 0.0, -0.75, 150.0, -0.02, 6.0])
    program = SmallLP(columns, costs, np.array([0.0, 0.0, 1.0]), [0, 1, 2])
    assert program.solve()
    assert program.value == pytest.approx(-0.05)


def test_a_program_without_an_optimum_is_not_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    without_end = SmallLP(np.array([[1.0], [-1.0]]), np.array([0.0, -1.0]), np.ones(1), [0])
    assert not without_end.solve()
    monkeypatch.setitem(vars(SIMPLEX), "max_pivots", 1)
    long = SmallLP(np.array([[1.0], [1.0]]), np.array([0.0, -1.0]), np.ones(1), [0])
    assert not long.solve()
    assert long.solve()


def test_the_inverse_is_computed_again_between_pivots() -> None:
    """The planes of a dual whose policies differ by 3e-8: pivots with a worn inverse never ended."""
    planes = np.array(
        [
            [-0.23453425709301937, -0.0924601531313416, 3.5428689532949686, 17.406193837963702],
            [0.2226085995926948, -0.09246015313134145, -1.0, 23.834765266535136],
            [-0.13018252482746379, -0.11106521388838161, -1.0, 30.534816286233134],
            [-0.27639407252229414, -0.10889080951392821, 1.725721371976981, 19.12438644941553],
            [0.1007487842434202, -0.10889080951392821, -1.0, 24.052957877986955],
            [0.13839725990627752, -0.09268431078428066, -1.0, 23.861480962464256],
            [-0.2247009821607936, -0.08000321988997652, 1.725721371976981, 18.91324795917143],
            [-0.26928826704098746, -0.09480961070650507, 1.725721371976981, 19.02119744107601],
            [-0.24166525671193803, -0.09137073583586529, 1.725721371976981, 18.939703062748748],
            [-0.23874550512386972, -0.09268287183970568, 1.725721371976981, 18.932909370375846],
            [-0.2387785207339056, -0.0926382390386367, 1.725721371976981, 18.932974384274075],
            [0.1383643360318086, -0.0926382390386367, -1.0, 23.861545812845506],
            [0.13836465016418686, -0.0926382708290746, -1.0, 23.86154515869236],
            [-0.23877827153821612, -0.09263824461140853, 1.725721371976981, 18.93297385876724],
        ]
    )
    excesses, own = planes[:, :3], planes[:, 3]
    columns = np.vstack([-np.eye(3, 4), np.eye(3, 4), np.hstack([excesses, np.ones((len(planes), 1))])])
    costs = np.concatenate([np.full(3, 174.061938379637), np.zeros(3), own])
    right = np.array([0.0, 0.0, 0.0, 1.0])
    # The basis of an earlier solve, and its inverse as rounding had left it.
    inverse = np.array(
        [
            [-7.25754639750423e-11, 0.0, 0.36687535646658287, 0.3668753564766247],
            [0.10120076783354134, 1.0, 0.014002585546718144, 0.09263824753815769],
            [3183371.308438109, 0.0, 440465.3247956764, 0.2673609277218768],
            [-3183371.3082734584, 0.0, -440465.69164825114, 0.3657637157823018],
        ]
    )
    program = SmallLP(columns, costs, right, [16, 4, 18, 17], inverse)
    assert program.solve()
    assert program.value == pytest.approx(truth(program.columns, program.costs, right), rel=1e-9)
