"""Parts of procedures: restrictions, groups of activities, and procedures without dead ends."""

from __future__ import annotations

import numpy as np
import pytest

from brute_force_procedures import brute_force
from hcssp.errors import DeadEnd
from hcssp.evaluation import evaluate
from hcssp.procedure import Outcome, ProcedureBuilder, ProcedurePolicy
from hcssp.procedure.parts import OneWayPart, grouped, one_way_parts, without_dead_ends
from random_nestings import random_tied
from small_procedures import corridor, drone, fork, fork_in_the_middle, forking, jump_or_walk, with_a_pit


def test_a_group_is_no_larger_than_it_must_be() -> None:
    problem = fork_in_the_middle()
    made = grouped(problem)
    names = [activity.name for activity in made.problem.activities]
    assert names == ["first", "choose + walk", "detour", "last"]
    assert made.members == ((0,), (2, 3), (4,), (1,))
    assert made.problem.events == ("start", "near", "far", "out")
    assert made.problem.flattening.separable
    # What is alone is not copied.
    assert made.problem.activities[0].cssp is problem.activities[0].cssp


def test_a_crash_ties_all_that_comes_after_it() -> None:
    made = grouped(drone())
    assert [activity.name for activity in made.problem.activities] == ["first leg + second leg + walk home"]
    assert grouped(forking()).members == ((0, 1),)


@pytest.mark.parametrize("seed", range(16))
def test_policies_and_their_costs_are_those_of_the_original(seed: int) -> None:
    problem = random_tied(seed)
    made = grouped(problem)
    assert made.problem.flattening.separable
    ours, theirs = brute_force(made.problem), brute_force(problem)
    assert _points(ours.costs) == _points(theirs.costs)
    for rows, costs in list(zip(ours.rows, ours.costs, strict=True))[:5]:
        lifted = made.lift(ProcedurePolicy(made.problem, rows))
        assert lifted.problem is problem
        assert evaluate(problem, lifted).costs == pytest.approx(costs)


def test_a_group_that_begins_at_an_event_takes_its_choices_in() -> None:
    # Both ways lead to the hall in one of its two states, so the group begins before they part.
    plan = ProcedureBuilder()
    start, hall, out = (plan.add_event(name) for name in ("start", "hall", "out"))
    parts = [plan.add_activity(name, fork()) for name in ("one", "other")]
    walk = plan.add_activity("walk", corridor())
    for part, name in zip(parts, ("one", "other"), strict=True):
        plan.add_choice(start, name, to=[Outcome(1.0, hall, runs=part)])
    plan.add_choice(hall, "walk", to=[Outcome(1.0, out, runs=walk)])
    plan.add_constraint("damage", at_most=9.0, counts={parts[1]: "damage"})
    problem = plan.build(start=start, end=out)
    made = grouped(problem)
    assert made.members == ((0, 1, 2),)
    assert [choice.name for choice in made.problem.choices] == ["begin"]
    assert _points(brute_force(made.problem).costs) == _points(brute_force(problem).costs)


def _points(costs: np.ndarray) -> set[tuple[float, ...]]:
    return {tuple(point) for point in (np.round(costs, 9) + 0.0).tolist()}


Graph = list[list[int]]


def random_graph(seed: int) -> tuple[Graph, list[bool]]:
    """Up to 9 nodes, some of them steps; the last is the end, and ways may lead back or nowhere."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(4, 10))
    graph = [[] for _ in range(size)]
    for node in range(size - 1):
        count = int(rng.integers(1, 3))
        ahead = rng.integers(node + 1, size, count)
        back = rng.integers(0, size, count)
        graph[node] = sorted({int(each) for each in np.where(rng.random(count) < 0.8, ahead, back)})
    is_place = (rng.random(size) < 0.6).tolist()
    is_place[0] = is_place[-1] = True
    return graph, is_place


def between(graph: Graph, first: int, after: int) -> set[int]:
    found, waiting = {first}, [first]
    while waiting:
        for node in graph[waiting.pop()]:
            if node != after and node not in found:
                found.add(node)
                waiting.append(node)
    return found


def is_part(graph: Graph, is_place: list[bool], reached: set[int], nodes: set[int], first: int) -> bool:
    """Whether nothing enters the nodes but by their first one."""
    before = {node: {other for other in reached if node in graph[other]} for node in reached}
    if any(before[node] - nodes for node in nodes - {first}):
        return False
    return is_place[first] or (len(before[first]) == 1 and not before[first] & nodes)


def smallest(graph: Graph, is_place: list[bool], seed: int) -> set[int]:
    """The nodes of the smallest part that holds the seed, looked for among all pairs of ends."""
    end = len(graph) - 1
    reached = between(graph, 0, -1)
    ending = {node for node in reached if end in between(graph, node, -1)}
    found = []
    for first in reached - {end}:
        for after in reached - {first}:
            nodes = between(graph, first, after)
            # What never ends needs all that is to come.
            is_left = is_place[after] and end not in nodes and (after == end or nodes <= ending)
            if seed in nodes and is_left and is_part(graph, is_place, reached, nodes, first):
                found.append(nodes)
    return min(found, key=len)


@pytest.mark.parametrize("seed", range(40))
def test_a_part_of_one_seed_is_the_smallest_there_is(seed: int) -> None:
    graph, is_place = random_graph(seed)
    reached = between(graph, 0, -1)
    for node in reached - {len(graph) - 1}:
        if len(graph) - 1 not in reached:
            continue
        (part,) = one_way_parts(graph, is_place, 0, len(graph) - 1, [node])
        assert part.nodes == between(graph, part.first, part.after)
        assert len(part.nodes) == len(smallest(graph, is_place, node))


@pytest.mark.parametrize("seed", range(40))
def test_parts_of_several_seeds_are_parts_and_do_not_overlap(seed: int) -> None:
    graph, is_place = random_graph(seed)
    reached = between(graph, 0, -1)
    end = len(graph) - 1
    if end not in reached:
        return
    seeds = [node for node in reached - {end} if node % 2]
    parts = one_way_parts(graph, is_place, 0, end, seeds)
    assert set(seeds) <= set().union(*(part.nodes for part in parts))
    assert sum(len(part.nodes) for part in parts) == len(set().union(*(part.nodes for part in parts)))
    for part in parts:
        assert is_part(graph, is_place, reached, set(part.nodes), part.first)
        assert is_place[part.after]


def test_what_is_never_reached_needs_no_part() -> None:
    assert one_way_parts([[2], [2], []], [True] * 3, 0, 2, [1]) == []


def test_a_way_back_into_a_part_belongs_to_it() -> None:
    # 1 forks to 2 and 3, which meet in 4; from there one may go back to 3.
    graph = [[1], [2, 3], [4], [4], [5, 3], []]
    assert one_way_parts(graph, [True] * 6, 0, 5, [1]) == [OneWayPart(1, 5, frozenset({1, 2, 3, 4}))]


def test_what_cannot_end_is_gone_and_what_leads_only_there() -> None:
    problem = jump_or_walk()
    found = without_dead_ends(problem)
    assert found is not None
    assert found.problem.events == ("start", "end")
    assert [choice.name for choice in found.problem.choices] == ["walk"]
    assert [activity.name for activity in found.problem.activities] == ["walk"]
    assert [dict(constraint.counts) for constraint in found.problem.constraints] == [{0: 1}, {}]
    assert found.problem.bounds.tolist() == [2.0, 1.0]


def test_a_policy_of_the_part_is_one_of_the_whole() -> None:
    problem = jump_or_walk()
    found = without_dead_ends(problem)
    assert found is not None
    own = ProcedurePolicy.compose(found.problem, {(0, None): 0}, [np.array([0, -1, -1])])
    whole = found.lift(own)
    assert whole.problem is problem
    assert whole.choice("start") == "walk"
    answer = evaluate(problem, whole)
    assert answer.costs.tolist() == pytest.approx([5.0, 1.0, 0.0])
    assert evaluate(found.problem, own).costs == pytest.approx(answer.costs)


def test_where_nothing_ends_a_trap_is_named() -> None:
    with pytest.raises(DeadEnd, match=r"activity 'jump', initial state 'in': .* for example in state 'pit'"):
        without_dead_ends(jump_or_walk(walk=False))


def test_what_ends_stays_as_it_is() -> None:
    procedure = ProcedureBuilder()
    start, end = procedure.add_event("start"), procedure.add_event("end")
    walk = procedure.add_activity("walk", with_a_pit(5.0))
    procedure.add_choice(start, "walk", to=[Outcome(1.0, end, runs=walk)])
    problem = procedure.build(start=start, end=end)
    assert without_dead_ends(problem) is None
