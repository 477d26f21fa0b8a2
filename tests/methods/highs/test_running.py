from __future__ import annotations

import threading

import highspy
import numpy as np
import pytest
from scipy.sparse import csr_array

from hcssp.contract.progress import Progress
from hcssp.cssp.model import FloatArray
from hcssp.methods.highs.running import _OUTCOMES, Answer, HighsParameters, Model, Outcome, run
from running_processes import HANG_GUARD


def report(_: FloatArray | None) -> Progress:
    return Progress(0.0)


def finish(model: Model, **options: float) -> Answer:
    solving = run(model, options, report)
    while True:
        try:
            next(solving)
        except StopIteration as finished:
            answer: Answer = finished.value
            return answer


def knapsack(size: int, seed: int = 0) -> Model:
    """Hard enough to take HiGHS a while: equality knapsacks over many binaries."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(1000, 9999, size=(size, 5)).astype(float)
    total = np.floor(weights.sum(axis=0) / 2.0)
    return Model(
        costs=rng.random(size),
        upper=np.ones(size),
        columns=csr_array(weights),
        row_lower=total,
        row_upper=total,
        integer=np.ones(size, dtype=bool),
    )


def test_every_status_that_has_an_outcome_is_one_of_highs() -> None:
    assert set(_OUTCOMES) <= set(highspy.HighsModelStatus.__members__)


def test_a_small_model_is_solved_with_duals() -> None:
    model = Model(
        costs=np.array([1.0, 3.0]),
        upper=np.array([np.inf, np.inf]),
        columns=csr_array(np.array([[1.0, 1.0], [1.0, 0.0]])),
        row_lower=np.array([1.0, -np.inf]),
        row_upper=np.array([1.0, 0.25]),
    )
    answer = finish(model)
    assert answer.outcome is Outcome.OPTIMAL
    assert answer.values == pytest.approx([0.25, 0.75])
    assert answer.row_duals == pytest.approx([3.0, -2.0])


def test_an_infeasible_model_is_called_so() -> None:
    model = Model(np.ones(1), np.ones(1), csr_array(np.ones((1, 1))), np.array([2.0]), np.array([3.0]))
    assert finish(model).outcome is Outcome.INFEASIBLE


def test_a_time_limit_is_told_from_a_failure() -> None:
    assert finish(knapsack(60), time_limit=0.0).outcome is Outcome.TIME_LIMIT


def test_walking_away_stops_highs() -> None:
    before = threading.active_count()
    solving = run(knapsack(60), {}, report, HighsParameters(stop_seconds=HANG_GUARD))
    next(solving)
    solving.close()
    assert threading.active_count() <= before


def test_an_option_that_highs_refuses_is_an_error() -> None:
    with pytest.raises(ValueError, match="HiGHS refuses option 'solver' = 'magic'"):
        next(run(knapsack(5), {"solver": "magic"}, report))
