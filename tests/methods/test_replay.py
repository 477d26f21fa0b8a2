"""Whether the plan of an earlier search is still the best."""

from __future__ import annotations

from math import inf

import pytest

import hcssp
from hcssp.contract.plan import Plan
from hcssp.contract.solver import Context, Memory
from hcssp.dual.ascent import maximise
from hcssp.dual.oracle import Oracle
from hcssp.methods.policy_branching import PolicySearch
from hcssp.methods.replay import replayed
from hcssp.proofs.search_record import SearchRecord
from hcssp.scenarios.domains.evacuation import SMALL
from hcssp.ssp.scalar_problem import Region


@pytest.fixture(scope="module")
def plan() -> Plan:
    return hcssp.solve(hcssp.small_building(bound=2.0))


def begun(oracle: Oracle, cost: float, wanted_gap: float = 0.0) -> PolicySearch:
    """A search that has solved its root and knows a plan of some cost."""
    search = PolicySearch(oracle, context=Context(cost, wanted_gap=wanted_gap))
    search.record.begin(oracle)
    search.root = maximise(oracle, Region())
    return search


def test_the_regions_of_the_same_problem_prove_its_plan_and_are_recorded(plan: Plan) -> None:
    oracle = plan.memory.oracle(plan.problem)
    search = begun(oracle, plan.upper_bound)
    nodes = replayed(plan.record, search)
    # Every policy lies in one of them.
    assert len(nodes) == len(list(plan.record.leaves())) == len(list(search.record.leaves())) > 2
    assert len({node.region for node in nodes}) == len(nodes)
    assert min(node.bound for node in nodes) >= plan.upper_bound * (1 - 1e-6)
    for node in nodes:
        assert not node.solved
        assert search.record.region(node.number) == node.region
        claim = search.record.claim(node.number)
        assert claim is not None
        assert claim.bound == node.bound
        # The dual of the region is the best that any multipliers can show.
        assert node.bound <= maximise(oracle, node.region).bound * (1 + 1e-12)


def test_regions_that_prove_too_little_are_not_taken(plan: Plan) -> None:
    oracle = plan.memory.oracle(plan.problem)
    # Without hazards, another plan is the best by far.
    free = Memory(plan.memory).oracle(SMALL.make(damage=0.0))
    far = plan.memory.oracle(plan.problem.with_bounds(damage=2.5))
    root = maximise(oracle, Region())
    cases = (
        (plan.record, begun(free, 2.0 * plan.upper_bound)),
        (plan.record, begun(far, plan.upper_bound)),
        # No plan is known, nothing is open, or nothing was recorded.
        (plan.record, begun(oracle, inf)),
        (plan.record, begun(oracle, root.bound)),
        (SearchRecord(), begun(oracle, plan.upper_bound)),
    )
    for guide, search in cases:
        assert replayed(guide, search) == []
        assert len(search.record) == 1


def test_another_budget_that_is_nearly_the_same_begins_with_the_regions(plan: Plan) -> None:
    near = plan.memory.oracle(plan.problem.with_bounds(damage=2.0 - 1e-6))
    assert replayed(plan.record, begun(near, plan.upper_bound))


def test_regions_need_to_prove_no_more_than_is_wanted(plan: Plan) -> None:
    """Those of a search that ended at a gap reach no further, and another one to that gap needs no more."""
    root = maximise(plan.memory.oracle(plan.problem), Region())
    coarse = hcssp.solve(plan.problem, stop=hcssp.Gap(0.5 * (1.0 - root.bound / plan.upper_bound)))
    assert coarse.lower_bound < plan.upper_bound * (1 - 1e-3)
    oracle = coarse.memory.oracle(plan.problem)
    search = begun(oracle, coarse.upper_bound, coarse.gap * (1.0 + 1e-6))
    nodes = replayed(coarse.record, search)
    assert nodes
    assert min(node.bound for node in nodes) >= search.queue.enough


def test_what_is_no_longer_there_is_left_out(plan: Plan) -> None:
    rest = plan.replan(at="hallway", spent={"damage": 0.5})
    nodes = replayed(plan.record, begun(rest.memory.oracle(rest.problem), rest.upper_bound))
    assert len(nodes) < len(list(plan.record.leaves()))


def test_rows_of_a_flat_problem_have_no_names_to_be_known_by(plan: Plan) -> None:
    flat = hcssp.solve(plan.problem.flattening.cssp)
    assert replayed(plan.record, begun(flat.memory.oracle(flat.problem), flat.upper_bound)) == []
