from __future__ import annotations

import pickle
from math import inf
from typing import Any

import numpy as np
import pytest

from hcssp.dual.ascent import Dual, Infeasibility
from hcssp.dual.flat import FlatOracle
from hcssp.proofs.search_record import SearchRecord, write_down
from known_optima import roads


def test_what_is_learnt_about_a_region_holds_for_its_parts() -> None:
    record = SearchRecord()
    assert record.claim(record.root) is None
    record.bounded(record.root, 3.0, np.array([0.5]))
    used, avoided = record.split(record.root, row=7)
    record.bounded(used, 2.0, np.array([0.1]))
    record.bounded(avoided, 4.0, np.array([0.2]))
    claims = [record.claim(leaf) for leaf in record.leaves()]
    assert [(claim.bound, claim.node) for claim in claims if claim] == [(3.0, record.root), (4.0, avoided)]
    assert claims[1] is not None
    assert claims[1].weights is not None
    assert claims[1].weights.tolist() == [1.0, 0.2]
    assert record.row(record.root) == 7
    assert record.row(used) == -1


def test_the_best_that_was_learnt_is_kept() -> None:
    record = SearchRecord()
    for bound in (-inf, 1.0, 3.0, 2.0):
        record.bounded(record.root, bound, np.array([bound]))
    claim = record.claim(record.root)
    assert claim is not None
    assert claim.weights is not None
    assert (claim.bound, claim.weights.tolist()) == (3.0, [1.0, 3.0])


def test_nothing_is_learnt_from_a_bound_that_says_nothing() -> None:
    record = SearchRecord()
    record.bounded(record.root, -inf, np.zeros(1))
    assert record.claim(record.root) is None


@pytest.mark.parametrize(
    ("dual", "weights"),
    [
        (Dual(bound=5.0, prices=np.array([0.5])), [1.0, 0.5]),
        (Dual(bound=inf, infeasibility=Infeasibility(np.array([1.0]), 3.0, 2.0)), [0.0, 1.0]),
        (Dual(bound=inf, empty=True), None),
    ],
)
def test_a_dual_is_written_down(dual: Dual[Any], weights: list[float] | None) -> None:
    record = SearchRecord()
    write_down(record, record.root, dual)
    claim = record.claim(record.root)
    assert claim is not None
    assert claim.bound == dual.bound
    assert (None if claim.weights is None else claim.weights.tolist()) == weights


def test_a_new_search_begins_with_nothing() -> None:
    record = SearchRecord()
    record.bounded(record.root, 3.0, np.zeros(1))
    record.split(record.root, row=0)
    record.begin(FlatOracle(roads(damage=4.0)))
    assert len(record) == 1
    assert record.claim(record.root) is None
    record.release()


def test_what_others_found_out_is_grafted_where_it_belongs() -> None:
    oracle = FlatOracle(roads(damage=3.0))
    record = SearchRecord()
    record.begin(oracle)
    record.bounded(record.root, 1.0, np.array([0.5]))
    used, avoided = record.split(record.root, row=1)
    parts = SearchRecord.of_parts(oracle, 2)
    inner = parts.split(1, row=0)
    parts.bounded(0, 7.0, np.array([0.1]))
    parts.empty(inner[0])
    parts = pickle.loads(pickle.dumps(parts))
    here = record.graft([avoided, used], parts)
    assert here[:2] == [avoided, used]
    assert record.children(used) == tuple(here[2:])
    assert (record.row(used), record.children(avoided)) == (0, ())
    assert [claim.bound for claim in map(record.claim, here) if claim is not None] == [7.0, 1.0, inf, 1.0]
    # The three rows are those of one state.
    assert {leaf: set(record.region(leaf).forbidden) for leaf in record.leaves()} == {
        avoided: {1},
        here[2]: {0, 1, 2},
        here[3]: {0, 2},
    }


def test_a_record_of_nothing_has_no_regions_of_rows() -> None:
    with pytest.raises(RuntimeError, match="nothing was recorded"):
        SearchRecord().region(0)
