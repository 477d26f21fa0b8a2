"""How a search begins: choices that are too dear are left out, with what is proven of them."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from hcssp.contract.solver import Context
from hcssp.dual.ascent import maximise
from hcssp.dual.oracle import Oracle, Strategies, V
from hcssp.dual.plan_point import ProcedurePoint
from hcssp.dual.procedure import ProcedureOracle
from hcssp.dual.symmetry import Symmetry
from hcssp.methods.policy_branching import Node, PolicySearch
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.scenarios.domains.campus import campus
from hcssp.ssp.scalar_problem import Region
from menus import Menu
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
    def strategies(self) -> Strategies[ProcedurePoint]:
        found = Symmetry(self.flattening, self.alike.groups, self.row_offset)
        found.choice_rows = range(self.procedure.num_rows)
        return replace(super().strategies, symmetry=found)


def begun(oracle: Oracle[V], known_cost: float = inf) -> PolicySearch[V]:
    """A search that has solved its root."""
    search = PolicySearch(oracle, context=Context(known_cost))
    search.record.begin(oracle)
    search.root = maximise(oracle, Region())
    return search


def beginning(known_cost: float, damage: float = 3.0) -> PolicySearch[ProcedurePoint]:
    return begun(AllChoices(two_stages().with_bounds(damage=damage).flattening), known_cost)


def test_choices_that_are_too_dear_or_lead_nowhere_are_left_out_with_what_is_proven_of_them() -> None:
    branching = beginning(12.0)
    root, record = branching.root, branching.record
    node = branching.root_node()
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
    assert branching.queue.pruned_bound == pytest.approx(root.bound + 50.0, rel=1e-6)
    kept = branching.duals.take(node.region)
    assert kept is not None
    assert kept.bound == root.bound
    assert all(point.lies_in(node.region, branching.oracle.row_state) for point in kept.points)


def test_choices_are_looked_at_only_where_something_can_be_exchanged() -> None:
    assert ProcedureOracle(two_stages().flattening).strategies.symmetry is None
    floors = ProcedureOracle(campus(damage=5.0, buildings=1, floors=3, rooms=1, size=4).flattening)
    symmetry = floors.strategies.symmetry
    assert symmetry is not None
    assert symmetry.rounding > 0.0
    assert len(symmetry.choice_rows) == floors.procedure.num_rows


@pytest.mark.parametrize(("known_cost", "far"), [(inf, ()), (70.0, ()), (64.0, (1,)), (56.0, (0, 1))])
def test_what_is_not_too_dear_stays(known_cost: float, far: tuple[int, ...]) -> None:
    branching = beginning(known_cost)
    node = branching.root_node()
    starts = branching.oracle.row_start
    rows = {int(starts[stage]) + FAR for stage in (0, 1)}
    assert node.region.forbidden & rows == {int(starts[stage]) + FAR for stage in far}
    assert not node.region.forbidden & {int(starts[stage]) + NEAR for stage in (0, 1)}
    assert np.isfinite(branching.root.bound)


def test_one_policy_that_carries_the_bound_is_enough_to_begin_with() -> None:
    branching = beginning(known_cost=9.0, damage=99.0)
    assert len(branching.root.support) == 1
    node = branching.root_node()
    starts = branching.oracle.row_start
    # Whoever goes far takes 50 or 60 time more, and the trap is none.
    ways = {int(starts[stage]) + way for stage in (0, 1) for way in (FAR, TRAP)}
    assert node.region.forbidden & set(range(int(starts[2]))) == ways


def test_where_one_policy_carries_the_bound_there_is_nothing_to_split() -> None:
    search = begun(Menu([[5.0, 1.0], [7.0, 0.0]], [2.0]))
    assert len(search.root.support) == 1
    search.expand(4.5, Node(Region(), search.root.prices, search.root.bound))
    # What its dual proves is the bound of the search, and not what it was open with.
    assert (len(search.queue), search.queue.pruned_bound, search.queue.upper_bound) == (0, 5.0, 5.0)


def test_a_region_of_which_nothing_is_known_is_opened_again_with_its_own_bound() -> None:
    search = begun(Menu([[5.0, 1.0], [7.0, 0.0]], [0.5]))
    root, queue = search.root, search.queue
    queue.push(1.5, Node(Region(), root.prices, 1.5))
    search.expand(1.0, Node(Region(), root.prices, 1.0, solved=False))
    assert sorted((bound, node.bound, node.solved) for bound, node in queue) == [
        (1.5, 1.5, True),
        (root.bound, root.bound, True),
    ]
    # Where more is known already, that stays; its dual is not kept yet.
    search.duals.take(Region())
    search.expand(6.5, Node(Region(), root.prices, 6.25, solved=False))
    assert [(bound, node.bound) for bound, node in queue if bound > 6.0] == [(6.5, 6.25)]
