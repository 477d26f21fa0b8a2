"""Nested procedures on a page, level by level."""

from __future__ import annotations

import pytest

from hcssp.procedure import HCSSP
from hcssp.reports.procedure_graph import level_graph, levels_data
from hcssp.scenarios.domains.campus import campus


@pytest.fixture(scope="module")
def problem() -> HCSSP:
    return campus()


def named(problem: HCSSP, level: int | None, kind: str) -> list[str]:
    return [node.name for node in level_graph(problem, level)[0] if node.kind == kind]


def test_the_outer_procedure_shows_what_it_runs_as_one_node(problem: HCSSP) -> None:
    assert named(problem, None, "event") == ["gate-1", "gate-2", "far-side"]
    assert named(problem, None, "use") == ["building-1", "building-2"]
    nodes, ways = level_graph(problem, None)
    building = next(index for index, node in enumerate(nodes) if node.name == "building-1")
    # It is entered from a fork and leads to the next gate.
    assert [nodes[way.tail].kind for way in ways if way.head == building] == ["chance"]
    assert {nodes[way.head].name for way in ways if way.tail == building} == {"gate-2"}


def test_every_event_activity_and_choice_is_on_exactly_one_level(problem: HCSSP) -> None:
    levels = [None, *range(len(problem.uses))]
    nodes = [node for level in levels for node in level_graph(problem, level)[0]]
    activities = [node.index for node in nodes if node.kind == "activity"]
    assert sorted(activities) == list(range(problem.num_activities))
    choices = [{way.choice for way in level_graph(problem, level)[1]} for level in levels]
    assert sorted(choice for each in choices for choice in each) == list(range(len(problem.choices)))
    uses = [node.index for node in nodes if node.kind == "use"]
    assert sorted(uses) == list(range(len(problem.uses)))


def test_names_inside_are_short_and_those_outside_in_full(problem: HCSSP) -> None:
    inner = next(index for index, use in enumerate(problem.uses) if use.parent is not None)
    events = named(problem, inner, "event")
    assert "landing" in events
    assert any(event.startswith("building-1/") for event in events)


def test_what_a_page_needs_to_open_a_use(problem: HCSSP) -> None:
    graph, uses = levels_data(problem)
    assert {node["kind"] for node in graph["nodes"]} == {"event", "activity", "chance", "use"}
    assert [use["own"] for use in uses if use["parent"] is None] == ["building-1", "building-2"]
    # Uses of one procedure are drawn alike.
    alike = [number for number, use in enumerate(problem.uses) if use.procedure is problem.uses[1].procedure]
    assert len(alike) > 1
    drawn = [[(node["x"], node["y"]) for node in uses[number]["graph"]["nodes"]] for number in alike]
    assert all(each == drawn[0] for each in drawn)
