from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import block_array, csr_array, diags_array, eye_array, kron

from hcssp.evaluation.absorption import absorb
from hcssp.evaluation.linear_systems import EVALUATION, Algebra, Layers, fills_in_nearby


def walks(side: int, dimensions: int) -> csr_array:
    """The jump chain of as many things as there are dimensions, one of which moves by a place."""
    line = csr_array(diags_array([np.full(side - 1, 0.5), np.full(side - 1, 0.4)], offsets=[1, -1]))
    jumps = csr_array((1, 1))
    for _ in range(dimensions):
        jumps = csr_array(
            kron(jumps, eye_array(side, format="csr"), format="csr")
            + kron(eye_array(jumps.shape[0], format="csr"), line, format="csr")
        )
    return csr_array(jumps / dimensions)


def system(jumps: csr_array) -> csr_array:
    return csr_array(eye_array(jumps.shape[0], format="csr") - jumps)


def test_many_directions_fill_in_and_two_do_not() -> None:
    plane, several = walks(70, 2), walks(9, 4)
    assert min(plane.shape[0], several.shape[0]) > EVALUATION.sample
    assert not fills_in_nearby(system(plane), Layers(plane))
    assert fills_in_nearby(system(several), Layers(several))
    # Steps lead nearby all the same.
    assert not Layers(several).fill_in


def test_small_systems_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hcssp.evaluation.linear_systems.eliminate", None)
    jumps = walks(60, 2)
    assert not fills_in_nearby(system(jumps), Layers(jumps))


def test_a_singular_part_says_nothing() -> None:
    nothing = csr_array((EVALUATION.sample + 1, EVALUATION.sample + 1))
    assert not fills_in_nearby(nothing, Layers(nothing))


def test_rows_that_never_leave_are_looked_at_all_the_same() -> None:
    jumps = walks(9, 4)
    closed = csr_array(diags_array(1.0 / jumps.sum(axis=1)) @ jumps)
    assert fills_in_nearby(system(closed), Layers(closed))


def test_a_chain_that_fills_in_is_summed_up_as_precisely(monkeypatch: pytest.MonkeyPatch) -> None:
    jumps = walks(5, 4)
    count = jumps.shape[0]
    ends = csr_array((1.0 - jumps.sum(axis=1))[:, np.newaxis])
    rows = csr_array(np.ones((1, 1)))
    chain = csr_array(block_array([[jumps, ends], [None, rows]]))
    initial = np.zeros(count + 1)
    initial[count // 2] = 1.0
    inner, costs = np.arange(count), np.ones((1, count))
    monkeypatch.setattr("hcssp.evaluation.absorption.algebra_for", lambda *_: Algebra())
    factorised = absorb(chain, inner, initial, costs)
    monkeypatch.setattr("hcssp.evaluation.absorption.algebra_for", lambda *_: Algebra(by_products=True))
    monkeypatch.setattr("hcssp.evaluation.absorption.factorised", None)
    summed = absorb(chain, inner, initial, costs)
    assert max(factorised.error, summed.error) <= 1e-12
    assert summed.totals[0] == pytest.approx(factorised.totals[0], rel=1e-12)
