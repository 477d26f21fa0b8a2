"""How a search begins: choices that are too dear are left out, with what is proven of them."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from hcssp.dual.ascent import maximise
from hcssp.dual.procedure_oracle import ProcedureOracle
from hcssp.dual.procedure_vertex import ProcedureVertex
from hcssp.methods.best_first import BestFirst
from hcssp.methods.branching import Branching, Node
from hcssp.methods.open_duals import OpenDuals
from hcssp.methods.reporter import Reporter
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.proofs.search_record import SearchRecord
from hcssp.scenarios.campus import campus
from hcssp.ssp.region import Region
from menus import Dish, Menu
from small_procedures import slow_or_fast, with_a_pit

NEAR, FAR, TRAP = 0, 1, 2


def two_stages() -> HCSSP:
    """Each is crossed near by, or 50 or 60 time farther away, or in vain."""
    plan = ProcedureBuilder()
    events = [plan.add_event(str(index)) for index in range(3)]
    used = []
    for index, farther in enumerate((50.0, 60.0)):
        ways = (
            slow_or_fast(5.0 + index, 3.0),
            slow_or_fast(5.0 + index + farther, 3.0 + farther),
            with_a_pit(1.0, trap=True),
        )
        for name, cssp in zip(("near", "far", "trap"), ways, strict=True):
            used.append(plan.add_activity(f"{name}-{index}", cssp))
            plan.add_choice(events[index], name, to=[Outcome(1.0, events[index + 1], used[-1])])
    plan.add_constraint("damage", at_most=3.0, counts=dict.fromkeys(used, "damage"))
    return plan.build(start=events[0], end=events[2])


class AllChoices(ProcedureOracle):
    """Its choices are looked at one by one, though nothing can be exchanged."""

    @property
    def choice_rows(self) -> range:
        return range(self.procedure.num_rows)


def beginning(known_cost: float, damage: float = 3.0) -> Branching[ProcedureVertex]:
    oracle = AllChoices(two_stages().with_bounds(damage=damage).flattening)
    search: BestFirst[Node, ProcedureVertex] = BestFirst(upper_bound=known_cost)
    reporter, record = Reporter(None, oracle, search, 0.0), SearchRecord(oracle)
    return Branching(oracle, search, reporter, record, maximise(oracle, Region()), OpenDuals())


def test_choices_that_are_too_dear_or_lead_nowhere_are_left_out_with_what_is_proven_of_them() -> None:
    branching = beginning(12.0)
    root, record = branching.root, branching.record
    node = branching.begin()
    starts = branching.oracle.row_start
    dropped = {int(starts[stage]) + choice for stage in (0, 1) for choice in (FAR, TRAP)}
    assert node.region.forbidden == dropped
    assert record.region(node.number) == node.region
    assert (node.bound, node.prices.tolist()) == (root.bound, root.prices.tolist())
    told = []
    for leaf in set(record.leaves()) - {node.number}:
        claim = record.claim(leaf)
        assert claim is not None
        told.append(claim.bound)
        # What leads nowhere has no weights that prove anything; what is dear has those of the root.
        assert (claim.weights is None) == (claim.bound == inf)
        if claim.weights is not None:
            assert claim.weights.tolist() == [1.0, *root.prices.tolist()]
    assert sorted(told) == pytest.approx([root.bound + 50.0, root.bound + 60.0, inf, inf], rel=1e-6)
    # Nothing that was left out is forgotten: the search proves no more than it does.
    assert branching.search.pruned_bound == pytest.approx(root.bound + 50.0, rel=1e-6)
    kept = branching.duals.take(node.region)
    assert kept is not None
    assert kept.bound == root.bound
    assert all(vertex.lies_in(node.region, branching.oracle.row_state) for vertex in kept.vertices)


def test_choices_are_looked_at_only_where_something_can_be_exchanged() -> None:
    assert not ProcedureOracle(two_stages().flattening).choice_rows
    floors = ProcedureOracle(campus(damage=5.0, buildings=1, floors=3, rooms=1, size=4).flattening)
    assert floors.exchange_rounding > 0.0
    assert len(floors.choice_rows) == floors.procedure.num_rows


@pytest.mark.parametrize(("known_cost", "far"), [(inf, ()), (70.0, ()), (64.0, (1,)), (56.0, (0, 1))])
def test_what_is_not_too_dear_stays(known_cost: float, far: tuple[int, ...]) -> None:
    branching = beginning(known_cost)
    node = branching.begin()
    starts = branching.oracle.row_start
    rows = {int(starts[stage]) + FAR for stage in (0, 1)}
    assert node.region.forbidden & rows == {int(starts[stage]) + FAR for stage in far}
    assert not node.region.forbidden & {int(starts[stage]) + NEAR for stage in (0, 1)}
    assert np.isfinite(branching.root.bound)


def test_one_policy_that_carries_the_bound_is_enough_to_begin_with() -> None:
    branching = beginning(known_cost=9.0, damage=99.0)
    assert len(branching.root.support) == 1
    node = branching.begin()
    starts = branching.oracle.row_start
    # Whoever goes far takes 50 or 60 time more, and the trap is none.
    ways = {int(starts[stage]) + way for stage in (0, 1) for way in (FAR, TRAP)}
    assert node.region.forbidden & set(range(int(starts[2]))) == ways


def test_where_one_policy_carries_the_bound_there_is_nothing_to_split() -> None:
    menu = Menu([[5.0, 1.0], [7.0, 0.0]], [2.0])
    search: BestFirst[Node, Dish] = BestFirst()
    root = maximise(menu, Region())
    assert len(root.support) == 1
    reporter = Reporter(None, menu, search, 0.0)
    branching = Branching(menu, search, reporter, SearchRecord(menu), root, OpenDuals())
    branching.expand(4.5, Node(Region(), root.prices, root.bound))
    # What its dual proves is the bound of the search, and not what it was open with.
    assert (len(search), search.pruned_bound, search.upper_bound) == (0, 5.0, 5.0)


def test_a_region_of_which_nothing_is_known_is_proven_once() -> None:
    menu = Menu([[5.0, 1.0], [7.0, 0.0]], [0.5])
    search: BestFirst[Node, Dish] = BestFirst()
    root = maximise(menu, Region())
    reporter = Reporter(None, menu, search, 0.0)
    branching = Branching(menu, search, reporter, SearchRecord(menu), root, OpenDuals())
    branching.prove(1.0, Node(Region(), root.prices, 1.0, proven=False))
    ((waiting, node),) = list(search)
    assert node.proven
    assert waiting == node.bound == root.bound
    # Where more is known already, that stays.
    branching.prove(6.5, Node(Region(), root.prices, 6.25, proven=False))
    assert [(waiting, node.bound) for waiting, node in search if waiting > 6.0] == [(6.5, 6.25)]
