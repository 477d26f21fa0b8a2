from __future__ import annotations

from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest

from hcssp.checker import check
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.errors import NotProven
from hcssp.evaluation import evaluate
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.proofs.builder import ProofBuilder
from proof_search import ProofSearch, searched
from small_procedures import forking, retrying, risky_room


def room(bound: float = 2.0) -> CSSP:
    """Round: 3 time. Dash: 2 time and 8 damage, in expectation."""
    return replace(risky_room(), bounds=np.array([bound]))


def test_a_proof_of_a_flat_problem() -> None:
    problem = room()
    proof = ProofBuilder(problem)
    dash, other = proof.branch(proof.root, proof.flat_row(0, 1))
    harm = proof.add_potential(0, [0.0, 1.0], [8.0, 0.0], forbidden=[0])
    assert proof.refute(dash, [1.0], [(0, harm, 1.0)])
    time = proof.add_potential(0, [1.0, 0.0], [3.0, nan], forbidden=[1])
    assert proof.prove(other, [0.0], [(0, time, 1.0)]) == 3.0
    assert proof.set_plan([0, -1]) == 3.0
    for exact in (False, True):
        verdict = check(problem, proof.certificate(), exact=exact)
        assert (verdict.lower_bound, verdict.upper_bound) == (3.0, 3.0)


def test_what_is_proven_of_a_region_holds_for_its_parts() -> None:
    problem = room()
    proof = ProofBuilder(problem)
    # Both ways cost 3 at a price of 1/8.
    both = proof.add_potential(0, [1.0, 0.125], [3.0, 0.0])
    bound = proof.prove(proof.root, [0.125], [(0, both, 1.0)])
    assert bound == pytest.approx(2.75)
    dash, other = proof.branch(proof.root, proof.flat_row(0, 1))
    assert proof.bound(dash) == proof.bound(other) == bound
    certificate = proof.certificate()
    assert [leaf[1] for leaf in certificate.leaves] == [bound, bound]
    assert len(certificate.statements) == 1
    # A worse statement does not replace a better one.
    assert proof.prove(dash, [0.0], []) == bound
    assert check(problem, proof.certificate()).lower_bound == bound


@pytest.mark.parametrize("events", [[3.5, 0.5], [3.0, 1.0], [4.0, 0.0]])
def test_values_of_events_that_do_not_hold_are_not_taken(events: list[float]) -> None:
    """Where the end is worth something, or the start more than what follows."""
    problem = room()
    proof = ProofBuilder(problem)
    both = proof.add_potential(0, [1.0, 0.125], [3.0, 0.0])
    bound = proof.prove(proof.root, [0.125], [(0, both, 1.0)], events)
    assert bound == pytest.approx(2.75)
    assert check(problem, proof.certificate()).lower_bound == bound
    # What holds is taken, even if it is lower than it could be.
    lower = ProofBuilder(problem)
    low = lower.add_potential(0, [1.0, 0.125], [3.0, 0.0])
    assert lower.prove(lower.root, [0.125], [(0, low, 1.0)], [2.5, 0.0]) == pytest.approx(2.25)


def test_nothing_is_proven_by_nothing() -> None:
    proof = ProofBuilder(room())
    assert proof.bound(proof.root) == 0.0
    assert proof.prove(proof.root, [0.0], []) == 0.0
    verdict = check(room(), proof.certificate())
    assert (verdict.lower_bound, verdict.upper_bound) == (0.0, inf)


def test_what_is_not_so_is_not_kept() -> None:
    proof = ProofBuilder(room())
    harm = proof.add_potential(0, [0.0, 1.0], [8.0, 0.0])
    # Going round does no harm, so that the potential was lowered to nothing.
    assert not proof.refute(proof.root, [1.0], [(0, harm, 1.0)])
    # At no price nothing is exceeded by nothing.
    assert not proof.refute(proof.root, [0.0], [])
    assert not proof.refute_empty(proof.root)
    assert proof.bound(proof.root) == 0.0
    assert proof.set_plan([1, -1]) == inf  # breaks the bound
    assert proof.set_plan([-1, -1]) == inf  # goes nowhere
    assert check(room(), proof.certificate()).upper_bound == inf


def test_a_plan_that_breaks_one_of_its_bounds_is_none() -> None:
    ways = CSSPBuilder(cost_names=("time", "damage", "smoke"), bounds={"damage": 2.0, "smoke": 2.0})
    here, out = ways.add_state("here"), ways.add_goal("out")
    for name, costs in (("run", (1.0, 5.0, 0.0)), ("crawl", (2.0, 0.0, 5.0)), ("round", (3.0, 0.0, 0.0))):
        ways.add_action(here, name, to=out, costs=costs)
    proof = ProofBuilder(ways.build())
    assert [proof.set_plan([row, -1]) for row in range(3)] == [inf, inf, 3.0]


@pytest.mark.parametrize("damage", [1.0, 1e10, 1e20])
def test_what_is_rare_and_dear_takes_nothing_from_what_a_plan_costs_at_most(damage: float) -> None:
    # One step in a hundred costs something small, and one in 1e30 a lot; most steps are free.
    maze = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": inf})
    cells = [maze.add_state(cell) for cell in range(60)]
    pit, out = maze.add_state("pit"), maze.add_goal("out")
    maze.add_action(pit, "climb", to={out: 0.125, pit: 0.875}, costs={"time": 1.0, "damage": damage})
    for place, (cell, onwards) in enumerate(zip(cells, [*cells[1:], out], strict=True)):
        to = {onwards: 0.9, cell: 0.1, pit: 1e-30} if place % 7 else {onwards: 0.7, cell: 0.3}
        maze.add_action(cell, "on", to=to, costs={"time": 1.0, "damage": 0.25 * (place == 1)})
    maze.set_initial(cells[0])
    problem = maze.build()
    plan = DeterministicPolicy(problem, np.where(problem.goals, -1, problem.row_start[:-1]))
    proof = ProofBuilder(problem)
    proof.set_plan(plan.rows)
    costs = evaluate(problem, plan).costs
    for exact in (False, True):
        verdict = check(problem, proof.certificate(), exact=exact)
        assert [float(cost) for cost in verdict.costs] == pytest.approx(costs.tolist(), rel=1e-10)


def test_a_better_plan_takes_the_place_of_another() -> None:
    proof = ProofBuilder(room(bound=10.0))
    assert proof.set_plan([0, -1]) == 3.0
    assert proof.set_plan([1, -1]) == pytest.approx(2.0)
    better = proof.set_plan([0, -1])
    assert better == pytest.approx(2.0)
    verdict = check(room(bound=10.0), proof.certificate())
    assert verdict.upper_bound == better
    assert [float(cost) for cost in verdict.costs] == pytest.approx([2.0, 8.0])


def test_equal_arrays_share_what_is_stored() -> None:
    problem = retrying()
    proof = ProofBuilder(problem)
    first = proof.add_potential(0, [1.0, 0.0], [2.0, 0.0])
    assert proof.add_potential(1, [1.0, 0.0], [2.0, 0.0]) == first
    assert proof.add_potential(1, [1.0, 0.5], [2.5, 0.0]) != first
    assert proof.add_potential(1, [1.0, 0.0], [2.0, 0.0], forbidden=[1]) != first
    assert proof.potentials.kept[first].values[0] == pytest.approx(2.0)
    bound = proof.prove(proof.root, [0.0, 0.0], [(0, first, 1.0), (1, first, 1.0)])
    # Dashing everywhere: 2 a crossing, 1.25 crossings, then 2 to leave, and again with probability 0.2.
    assert bound == pytest.approx((2.0 + 0.8 * 2.0) / 0.8)
    assert len(proof.certificate().potentials) == 1
    assert check(problem, proof.certificate()).lower_bound == bound


def test_shares_that_rounding_has_made_too_large_are_mended() -> None:
    proof = ProofBuilder(room())
    cheap = proof.add_potential(0, [1.0, 0.0], [2.0, 0.0])
    dear = proof.add_potential(0, [1.0, 0.3], [3.0, 0.0])
    third = 0.1 / 0.3
    assert (
        proof.prove(proof.root, [0.1], [(0, cheap, 1.0 - third), (0, dear, np.nextafter(third, 1.0))]) > 2.0
    )
    with pytest.raises(NotProven, match=r"its potentials add up to a weight of 1\.49999"):
        proof.prove(proof.root, [0.1], [(0, cheap, 1.5)])


def test_a_share_that_is_lost_in_rounding_beside_a_whole_one_is_not_overlooked() -> None:
    problem = room()
    proof = ProofBuilder(problem)
    first = proof.add_potential(0, [1.0, 0.0], [2.0, 0.0])
    second = proof.add_potential(0, [1.0, 0.1], [2.5, 0.0])
    # Together they ask for a weight of 1 + 2^-60, which is no number.
    uses = [(0, first, 1.0), (0, second, 2.0**-60)]
    assert proof.prove(proof.root, [0.1], uses) == pytest.approx(2.0 - 0.2)
    assert check(problem, proof.certificate(), exact=True).lower_bound == pytest.approx(2.0 - 0.2)


def test_potentials_are_only_used_where_they_hold() -> None:
    proof = ProofBuilder(room())
    round_only = proof.add_potential(0, [1.0, 0.0], [3.0, 0.0], forbidden=[1])
    with pytest.raises(NotProven, match="node 0, activity 0, potential 0: it need not hold on rows"):
        proof.prove(proof.root, [0.0], [(0, round_only, 1.0)])
    both_ways = proof.add_potential(0, [1.0, 0.0], [2.0, 0.0])
    with pytest.raises(NotProven, match="node 0, activity 0, potential 0: it need not hold on rows"):
        proof.prove(proof.root, [0.0], [(0, both_ways, 0.5), (0, round_only, 0.25)])
    several = ProofBuilder(retrying())
    both_ways = several.add_potential(0, [1.0, 0.0], [2.0, 0.0])
    round_only = several.add_potential(1, [1.0, 0.0], [3.0, 0.0], forbidden=[1])
    with pytest.raises(NotProven, match="node 0, activity 1, potential 1: it need not hold on rows"):
        several.prove(several.root, [0.0, 0.0], [(0, both_ways, 1.0), (1, round_only, 1.0)])


def test_a_potential_holds_only_where_all_the_rows_that_it_leaves_out_are_forbidden() -> None:
    plan = CSSPBuilder(cost_names=("time", "damage"))
    here, out = plan.add_state("here"), plan.add_goal("out")
    for time in (1.0, 2.0, 3.0):
        plan.add_action(here, f"in {time}", to=out, costs={"time": time, "damage": 3.0 - time})
    plan.set_initial(here)
    proof = ProofBuilder(plan.build())
    slow = proof.add_potential(0, [1.0, 0.0], [3.0, 0.0], forbidden=[0, 1])
    _, without_one = proof.branch(proof.root, proof.flat_row(0, 0))
    with pytest.raises(NotProven, match="potential 0: it need not hold on rows"):
        proof.prove(without_one, [0.0], [(0, slow, 1.0)])
    _, without_both = proof.branch(without_one, proof.flat_row(0, 1))
    assert proof.prove(without_both, [0.0], [(0, slow, 1.0)]) == 3.0


def test_what_has_no_bound_has_no_price_in_a_proof() -> None:
    proof = ProofBuilder(room(inf))
    time = proof.add_potential(0, [1.0, 0.5], [3.0, 0.0])
    with pytest.raises(NotProven, match=r"node 0: 0\.5 is not a price of a bounded cost"):
        proof.prove(proof.root, [0.5], [(0, time, 1.0)])
    free = proof.add_potential(0, [1.0, 0.0], [2.0, 0.0])
    assert proof.prove(proof.root, [0.0], [(0, free, 1.0)]) == 2.0


def test_misuse_is_told() -> None:
    proof = ProofBuilder(room())
    with pytest.raises(ValueError, match=r"2 costs and 2 states, but the weights have the shape \(1,\)"):
        proof.add_potential(0, [1.0], [2.0, 0.0])
    with pytest.raises(ValueError, match=r"the values \(3,\)"):
        proof.add_potential(0, [1.0, 0.0], [2.0, 0.0, 0.0])
    with pytest.raises(ValueError, match=r"the weights are \[1.0, -1.0\], not prices from 0"):
        proof.add_potential(0, [1.0, -1.0], [2.0, 0.0])
    proof.branch(proof.root, 1)
    with pytest.raises(ValueError, match="node 0 cannot be branched on flat row 2"):
        proof.branch(proof.root, 2)
    with pytest.raises(ValueError, match="node 1 cannot be branched on flat row 9"):
        proof.branch(1, 9)


def two_doors() -> HCSSP:
    """At the start one of two rooms is crossed; waiting in the hall before that costs nothing."""
    plan = ProcedureBuilder()
    start, hall, out = plan.add_event("start"), plan.add_event("hall"), plan.add_event("out")
    left, right = plan.add_activity("left", risky_room()), plan.add_activity("right", risky_room())
    plan.add_choice(start, "left", to=[Outcome(1.0, out, runs=left)])
    plan.add_choice(start, "wait", to=[Outcome(1.0, hall)])
    plan.add_choice(hall, "back", to=[Outcome(1.0, start)])
    plan.add_choice(hall, "right", to=[Outcome(1.0, out, runs=right)])
    plan.add_constraint("damage", at_most=1.0, counts={left: "damage", right: "damage"})
    return plan.build(start=start, end=out)


def test_going_to_and_fro_between_events_is_free() -> None:
    problem = two_doors()
    proof = ProofBuilder(problem)
    time = proof.add_potential(0, [1.0, 0.0], [2.0, 0.0])
    assert proof.prove(proof.root, [0.0], [(0, time, 1.0), (1, time, 0.5)]) == 1.0
    assert proof.prove(proof.root, [0.0], [(0, time, 1.0), (1, time, 1.0)]) == 2.0


def test_a_region_without_a_way_to_the_end() -> None:
    problem = two_doors()
    proof = ProofBuilder(problem)
    left, other = proof.branch(proof.root, 0)
    back, right = proof.branch(other, 2)
    assert proof.refute_empty(back)
    assert not proof.refute_empty(right)
    time = proof.add_potential(0, [1.0, 0.0], [2.0, 0.0])
    uses = [(0, time, 1.0), (1, time, 1.0)]
    assert proof.prove(left, [0.0], uses) == proof.prove(right, [0.0], uses) == 2.0
    assert check(problem, proof.certificate()).lower_bound == 2.0


def test_an_activity_that_cannot_end_is_not_chosen() -> None:
    problem = two_doors()
    proof = ProofBuilder(problem)
    starts = problem.activities[0].cssp.row_start
    assert starts.tolist() == [0, 2, 2]
    node = proof.root
    for row in (0, 1):
        node = proof.branch(node, proof.flat_row(0, row))[1]
    # Without the left room, the right one is left, of which more is known.
    long = proof.add_potential(1, [1.0, 0.125], [3.0, 0.0])
    bound = proof.prove(node, [0.125], [(1, long, 1.0)])
    assert bound == pytest.approx(3.0 - 0.125)
    check(problem, proof.certificate())


def test_the_exit_decides_what_follows() -> None:
    proof = searched(forking())
    verdict = check(forking(), proof.certificate)
    assert verdict.lower_bound == pytest.approx(proof.optimum, rel=1e-6)
    assert verdict.upper_bound == pytest.approx(proof.optimum, rel=1e-12)


def test_an_interrupted_search_proves_an_interval() -> None:
    problem = retrying().with_bounds({"damage": 9.0})
    whole, first = searched(problem), searched(problem, max_nodes=1)
    narrow, wide = check(problem, whole.certificate), check(problem, first.certificate)
    assert wide.lower_bound < narrow.lower_bound <= whole.optimum <= narrow.upper_bound == wide.upper_bound


def test_only_what_is_needed_is_written() -> None:
    problem = room()
    search = ProofSearch(problem)
    proof = search.proof
    for price in np.linspace(0.0, 1.0, 20):
        least = min(3.0, 2.0 + 8.0 * price)
        number = proof.add_potential(0, [1.0, price], [least, 0.0])
        proof.prove(proof.root, [price], [(0, number, 1.0)])
    assert len(proof.certificate().potentials) == 1


def test_an_alike_activity_is_not_held_back_by_one_of_which_less_is_known() -> None:
    plan = ProcedureBuilder()
    events = [plan.add_event(name) for name in ("start", "middle", "out")]
    rooms = [plan.add_activity(name, room()) for name in ("first", "second")]
    for number, each in enumerate(rooms):
        plan.add_choice(events[number], "go", to=[Outcome(1.0, events[number + 1], runs=each)])
    plan.add_constraint("damage", at_most=2.0, counts=dict.fromkeys(rooms, "damage"))
    proof = ProofBuilder(plan.build(start=events[0], end=events[-1]))
    flat = proof.layout.flattening
    first, second = (int(flat.state_offset[activity]) for activity in range(2))
    values = np.zeros(flat.num_states)
    values[first], values[second] = np.nan, 1.0
    uses, _ = proof.flat_uses(proof.root, [1.0, 0.0], values)
    levels = {activity: proof.potentials.kept[number].values[0] for activity, number, _ in uses}
    assert levels == {0: 0.0, 1: pytest.approx(1.0)}
