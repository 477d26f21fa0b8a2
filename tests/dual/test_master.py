from __future__ import annotations

import numpy as np
import pytest

from hcssp.dual.master import Master


def test_the_best_mixture_and_its_multipliers() -> None:
    master = Master(2)
    for cost, excess in ((10.0, [-2.0, -1.0]), (4.0, [2.0, -1.0]), (6.0, [1.0, 7.0])):
        master.add(cost, np.array(excess))
    optimum = master.solve()
    assert optimum.value == pytest.approx(7.0)
    assert optimum.mixture == pytest.approx([0.5, 0.5, 0.0])
    assert optimum.multipliers == pytest.approx([1.5, 0.0])
    assert optimum.violation == 0.0


def test_multipliers_keep_their_limits_at_the_price_of_a_violation() -> None:
    master = Master(1, limits=np.array([1.0]))
    master.add(10.0, np.array([-2.0]))
    master.add(4.0, np.array([2.0]))
    optimum = master.solve()
    assert optimum.multipliers == pytest.approx([1.0])
    assert optimum.value == pytest.approx(6.0)
    assert optimum.violation == pytest.approx(2.0)


def test_a_new_policy_lowers_the_model() -> None:
    master = Master(1, limits=np.array([100.0]))
    master.add(4.0, np.array([2.0]))
    first = master.solve().value
    master.add(10.0, np.array([-2.0]))
    assert master.solve().value < first


def test_the_least_violation_and_the_weights_that_prove_it() -> None:
    master = Master(2, feasibility=True)
    master.add(1.0, np.array([3.0, -1.0]))
    master.add(1.0, np.array([-1.0, 3.0]))
    optimum = master.solve()
    assert optimum.violation == pytest.approx(1.0)
    assert optimum.mixture == pytest.approx([0.5, 0.5])
    assert optimum.multipliers == pytest.approx([0.5, 0.5])
