"""Beginning a search with the regions of another one."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

import hcssp
from hcssp.contract.plan import Plan
from hcssp.dual.ascent import maximise
from hcssp.methods.replay import begin_with, replayed
from hcssp.proofs.search_record import SearchRecord
from hcssp.ssp.region import Region


@pytest.fixture(scope="module")
def plan() -> Plan:
    return hcssp.solve(hcssp.small_building(bound=2.0))


def test_the_same_problem_has_the_same_regions(plan: Plan) -> None:
    oracle = plan.memory.oracle(plan.problem)
    record = SearchRecord()
    nodes = replayed(plan.record, oracle, record, np.array([1.0]), 0.0)
    assert len(nodes) == len(list(plan.record.leaves())) > 2
    # Every policy lies in exactly one of them: that of the plan, too.
    rows = set(range(len(oracle.row_state)))
    assert all(node.region.forbidden <= rows and not node.proven for node in nodes)
    assert len({node.region for node in nodes}) == len(nodes)
    leaves = {node.number for node in nodes}
    assert leaves == set(record.leaves())


def test_regions_that_do_not_help_are_not_taken(plan: Plan) -> None:
    oracle = plan.memory.oracle(plan.problem)
    root = maximise(oracle, Region())
    record = SearchRecord()
    # Nothing is closed by a plan that costs far more, or by none.
    for cutoff in (10.0 * plan.upper_bound, inf):
        assert begin_with(plan.record, oracle, record, root, cutoff) == []
    assert len(record) == 1
    assert begin_with(plan.record, oracle, record, root, plan.upper_bound * (1 - 1e-6))


def test_what_is_no_longer_there_is_left_out(plan: Plan) -> None:
    rest = plan.replan(at="hallway", spent={"damage": 0.5})
    oracle = rest.memory.oracle(rest.problem)
    nodes = replayed(plan.record, oracle, SearchRecord(), np.array([1.0]), 0.0)
    # All splits are about one room and what is before it; whatever is left covers everything.
    assert 1 <= len(nodes) < len(list(plan.record.leaves()))
