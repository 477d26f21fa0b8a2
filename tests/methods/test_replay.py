"""Beginning a search with the regions of another one."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest

import hcssp
from hcssp.contract.memory import Memory
from hcssp.contract.plan import Plan
from hcssp.dual.ascent import Dual, maximise
from hcssp.dual.oracle import Oracle
from hcssp.methods import replay
from hcssp.methods.best_first import BestFirst
from hcssp.methods.branching import MOST_OPEN, Branching, Node
from hcssp.methods.open_duals import OpenDuals
from hcssp.methods.replay import begin_with, is_guide, replayed
from hcssp.methods.reporter import Reporter
from hcssp.proofs.search_record import SearchRecord
from hcssp.scenarios.evacuation import SMALL
from hcssp.ssp.region import Region


@pytest.fixture(scope="module")
def plan() -> Plan:
    return hcssp.solve(hcssp.small_building(bound=2.0))


@pytest.fixture(scope="module")
def root(plan: Plan) -> Dual:
    return maximise(plan.memory.oracle(plan.problem), Region())


def reporter_of(plan: Plan, oracle: Oracle, cost: float, wanted_gap: float = 0.0) -> Reporter:
    return Reporter(plan.problem, oracle, BestFirst(upper_bound=cost, wanted_gap=wanted_gap), 0.0)


def test_the_same_problem_has_the_same_regions(plan: Plan, root: Dual) -> None:
    oracle = plan.memory.oracle(plan.problem)
    record = SearchRecord()
    leaves = replayed(plan.record, oracle, record, root)
    nodes = [leaf.node for leaf in leaves]
    assert len(nodes) == len(list(plan.record.leaves())) > 2
    # Every policy lies in exactly one of them: that of the plan, too.
    rows = set(range(len(oracle.row_state)))
    assert all(node.region.forbidden <= rows and not node.proven for node in nodes)
    assert len({node.region for node in nodes}) == len(nodes)
    assert {node.number for node in nodes} == set(record.leaves())
    # The one that was open longest comes first.
    assert [leaf.before for leaf in leaves] == sorted(leaf.before for leaf in leaves)
    assert leaves[0].before <= plan.upper_bound


def test_what_is_seen_of_regions_is_written_down_and_holds(plan: Plan, root: Dual) -> None:
    oracle = plan.memory.oracle(plan.problem)
    record, reporter = SearchRecord(), reporter_of(plan, oracle, plan.upper_bound)
    record.begin(oracle)
    nodes = begin_with(plan.record, oracle, record, root, reporter)
    assert len(nodes) == len(list(plan.record.leaves()))
    assert min(node.bound for node in nodes) >= plan.upper_bound * (1 - 1e-6)
    for node in nodes:
        assert record.region(node.number) == node.region
        claim = record.claim(node.number)
        assert claim is not None
        assert claim.bound == node.bound
        # The dual of the region is the best that any look can show.
        assert node.bound <= maximise(oracle, node.region).bound * (1 + 1e-12)


def test_regions_that_do_not_help_are_not_taken(plan: Plan, root: Dual) -> None:
    oracle = plan.memory.oracle(plan.problem)
    record = SearchRecord()
    # Far from here, of what the plan does nothing is the best, and nothing is as it was.
    other = replace(SMALL, rooms={name: replace(room, hazards=()) for name, room in SMALL.rooms.items()})
    free = Memory(plan.memory).oracle(other.procedure(2.0))
    reporter = reporter_of(plan, free, inf)
    assert begin_with(plan.record, free, record, maximise(free, Region()), reporter) == []
    # Where all is proven, there is nothing to begin.
    assert begin_with(plan.record, oracle, record, root, reporter_of(plan, oracle, root.bound)) == []
    assert begin_with(SearchRecord(), oracle, record, root, reporter_of(plan, oracle, inf)) == []
    assert len(record) == 1


def test_another_budget_is_begun_with_the_regions_or_anew(plan: Plan) -> None:
    # Nothing has changed that could be left out, and far from the plan's budget the regions are others.
    far = plan.memory.oracle(plan.problem.with_bounds(damage=2.5))
    record = SearchRecord()
    assert begin_with(plan.record, far, record, maximise(far, Region()), reporter_of(plan, far, inf)) == []
    assert len(record) == 1
    near = plan.memory.oracle(plan.problem.with_bounds(damage=2.0 - 1e-6))
    root = maximise(near, Region())
    assert begin_with(plan.record, near, record, root, reporter_of(plan, near, inf))


def test_a_plan_is_found_where_the_best_one_was(plan: Plan, root: Dual) -> None:
    oracle = plan.memory.oracle(plan.problem)
    reporter = reporter_of(plan, oracle, inf)
    begin_with(plan.record, oracle, SearchRecord(), root, reporter)
    assert reporter.search.upper_bound == pytest.approx(plan.upper_bound, rel=1e-9)


def test_the_plan_that_is_known_is_kept_where_others_gain_next_to_nothing(plan: Plan, root: Dual) -> None:
    # A little looser, so that nothing is taken over.
    oracle = plan.memory.oracle(plan.problem.with_bounds(damage=float(np.nextafter(2.0, 3.0))))
    for share, is_kept in ((1e-8, True), (1e-2, False)):
        record, reporter = SearchRecord(), reporter_of(plan, oracle, plan.upper_bound * (1 + share))
        record.begin(oracle)
        assert begin_with(plan.record, oracle, record, root, reporter)
        assert (reporter.search.incumbent is None) == is_kept


def test_regions_are_good_that_leave_no_more_open_than_is_wanted(
    plan: Plan, root: Dual, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a search that ended at a gap reach no further, and another one to that gap needs no more."""
    coarse = hcssp.solve(plan.problem, stop=hcssp.Gap(0.5 * (1.0 - root.bound / plan.upper_bound)))
    assert coarse.lower_bound < plan.upper_bound * (1 - 1e-3)
    # A little looser, so that nothing is taken over.
    oracle = coarse.memory.oracle(plan.problem.with_bounds(damage=float(np.nextafter(2.0, 3.0))))
    improved: list[Region] = []
    find = replay._find_plan
    monkeypatch.setattr(replay, "_find_plan", lambda *given: improved.append(given[1].region) or find(*given))
    for wanted, is_enough in ((coarse.gap * (1.0 + 1e-6), True), (0.0, False)):
        improved.clear()
        record, reporter = SearchRecord(), reporter_of(coarse, oracle, coarse.upper_bound, wanted)
        record.begin(oracle)
        nodes = begin_with(coarse.record, oracle, record, root, reporter)
        assert (not improved) == is_enough
        if is_enough:
            assert nodes
            assert min(node.bound for node in nodes) >= reporter.search.enough
            assert reporter.search.incumbent is None


def test_what_was_proven_is_taken_over_where_nothing_is_cheaper(plan: Plan) -> None:
    cssp = plan.problem.activities[4].cssp
    factors = np.full(cssp.num_rows, 1.5)
    factors[[row for row in plan.policy.activities[4].tolist() if row >= 0]] = 1.0
    before = sorted(plan.record.claim(leaf).bound for leaf in plan.record.leaves())
    looked: list[Region] = []
    for is_cheaper in (False, True):
        if is_cheaper:
            # By the last digit of a single step: then nothing is believed.
            factors[0] = np.nextafter(1.0, 0.0)
        world = plan.problem.with_activities({"leave-through-door": cssp.derive(costs=cssp.costs * factors)})
        oracle = Memory(plan.memory).oracle(world)
        root, record = maximise(oracle, Region()), SearchRecord()
        record.begin(oracle)
        reporter = reporter_of(plan, oracle, plan.upper_bound)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(oracle, "approximate", lambda weights, region, *more: looked.append(region))
            nodes = begin_with(plan.record, oracle, record, root, reporter)
        if is_cheaper:
            assert looked
            continue
        assert not looked
        assert [record.claim(node.number).bound for node in nodes] == [each for each in before if each < inf]
        assert all(record.region(node.number) == node.region for node in nodes)
        assert all(node.bound <= maximise(oracle, node.region).bound * (1 + 1e-12) for node in nodes)


def test_what_is_no_longer_there_is_left_out(plan: Plan) -> None:
    rest = plan.replan(at="hallway", spent={"damage": 0.5})
    oracle = rest.memory.oracle(rest.problem)
    leaves = replayed(plan.record, oracle, SearchRecord(), maximise(oracle, Region()))
    # All splits are about one room and what is before it; whatever is left covers everything.
    assert 1 <= len(leaves) < len(list(plan.record.leaves()))


def test_what_has_changed_is_left_out_if_that_is_wanted(plan: Plan) -> None:
    name, cssp = "leave-through-door", plan.problem.activities[4].cssp
    changed = plan.problem.with_activities({name: cssp.derive(costs=1.01 * cssp.costs)})
    oracle = Memory(plan.memory).oracle(changed)
    root = maximise(oracle, Region())
    every = replayed(plan.record, oracle, SearchRecord(), root)
    unchanged = replayed(plan.record, oracle, SearchRecord(), root, unchanged=True)
    assert len(unchanged) < len(every) == len(list(plan.record.leaves()))
    first = int(oracle.row_offset[4])
    assert any(max(leaf.node.region.forbidden) >= first for leaf in every)
    assert all(max(leaf.node.region.forbidden, default=0) < first for leaf in unchanged)


def test_a_search_guides_another_if_it_split_what_is_there(plan: Plan) -> None:
    oracle = plan.memory.oracle(plan.problem)
    assert is_guide(plan.record, oracle)
    assert not is_guide(None, oracle)
    assert not is_guide(SearchRecord(), oracle)
    assert not is_guide(SearchRecord(oracle), oracle)
    # Rows of a flat problem have no names to be known by.
    flat = hcssp.solve(plan.problem.flattening.cssp)
    assert not is_guide(plan.record, flat.memory.oracle(flat.problem))


def test_a_guided_search_improves_policies_where_that_is_promising(plan: Plan, root: Dual) -> None:
    oracle = plan.memory.oracle(plan.problem)
    asked: list[tuple[float, float]] = []

    def improve(vertex: object, rounds: int, known_cost: float, least: float) -> None:
        asked.append((known_cost, least))

    def searched(guided: bool, cost: float) -> list[tuple[float, float]]:
        asked.clear()
        reporter = reporter_of(plan, oracle, cost)
        branching = Branching(
            oracle, reporter.search, reporter, SearchRecord(oracle), root, OpenDuals(), guided=guided
        )
        reporter.search.push(root.bound, Node(Region(), root.prices, root.bound))
        for _ in branching.run():
            pass
        assert reporter.search.lower_bound == pytest.approx(min(cost, plan.upper_bound), rel=1e-6)
        return list(asked)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(oracle, "improve", improve)
        cost = plan.upper_bound * (1 + 1e-3)
        found = searched(True, cost)
        assert found
        assert all(known - least <= MOST_OPEN * (known - root.bound) for known, least in found)
        assert found != searched(False, cost)
