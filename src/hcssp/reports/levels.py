"""Procedures inside procedures, level by level: what a page shows of each, and opens one after the other.

A level has the events and choices of one procedure; a procedure that it runs is a node of its graph, which
can be opened. Uses of the same procedure have the same drawing, so it is laid out once.
"""

from __future__ import annotations

from typing import Any

from hcssp.procedure import HCSSP
from hcssp.procedure.limits import enters
from hcssp.procedure.nesting import SEPARATOR, Use
from hcssp.reports.figures import given, plain
from hcssp.reports.layered import LayeredDrawing, layered
from hcssp.reports.procedure_graph import Node, Way, drawn_graph, exits_in_words

Layouts = dict[tuple[Any, ...], LayeredDrawing]


def levels_data(problem: HCSSP) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The graph of the outermost level, and what a page needs to open each use."""
    layouts: Layouts = {}
    uses = [
        {
            "name": use.name,
            "own": use.own_name,
            "procedure": use.procedure.name,
            "parent": use.parent,
            "start": int(use.start),
            "events": [use.events.start, use.events.stop],
            "activities": [use.activities.start, use.activities.stop],
            "limits": [
                {"name": each.name, "limit": plain(each.limit)}
                for each in problem.constraints
                if each.per is not None and each.per.use == number
            ],
            "graph": _graph(problem, number, layouts),
        }
        for number, use in enumerate(problem.uses)
    ]
    return _graph(problem, None, layouts), uses


def _graph(problem: HCSSP, level: int | None, layouts: Layouts) -> dict[str, Any]:
    nodes, ways = level_graph(problem, level)
    sizes, pairs = [node.size for node in nodes], [(way.tail, way.head) for way in ways]
    key = (tuple(sizes), tuple(pairs))
    if key not in layouts:
        layouts[key] = layered(sizes, pairs)
    return drawn_graph(nodes, ways, layouts[key])


def level_graph(problem: HCSSP, level: int | None) -> tuple[list[Node], list[Way]]:
    """The nodes and ways of one level: of a use, or with None of the outermost procedure.

    The procedures that it runs are nodes of the kind ``use``.
    """
    inner = {number: use for number, use in enumerate(problem.uses) if use.parent == level}
    hidden = {event for use in inner.values() for event in use.events}
    within = range(problem.num_events) if level is None else problem.uses[level].events
    # Events of inner uses come after those of the outline, so they are told apart by who they belong to.
    own = [event for event in within if event not in hidden and _level_of(problem, event) == level]
    choices = [c for event in own for c in problem.choices_at(event)]
    nodes: list[Node] = []
    places: dict[tuple[str, int], int] = {}

    def place(kind: str, index: int, name: str) -> int:
        if (kind, index) not in places:
            places[kind, index] = len(nodes)
            nodes.append(Node(kind, index, name))
        return places[kind, index]

    def event_place(event: int) -> int:
        # What lies outside of the level is called in full.
        name = problem.events[event]
        return place("event", event, name.rpartition(SEPARATOR)[2] if event in own else name)

    for event in own:
        event_place(event)
    ways: list[Way] = []
    for index in choices:
        choice = problem.choices[index]
        tail, label = event_place(choice.event), choice.name
        if len(choice.outcomes) > 1:
            fork = place("chance", index, choice.name)
            ways.append(Way(tail, fork, index, None, ""))
            tail = fork
        for number, outcome in enumerate(choice.outcomes):
            if len(choice.outcomes) > 1:
                label = given(outcome.probability)
            if outcome.runs is not None:
                name = problem.activities[outcome.runs].name.rpartition(SEPARATOR)[2]
                box = place("activity", outcome.runs, name)
                ways.append(Way(tail, box, index, number, "" if label == name else label))
                ways += [
                    Way(box, event_place(event), index, number, exits_in_words(outcome, event))
                    for event in outcome.events
                ]
                continue
            entered = next((n for n, use in inner.items() if enters(use, choice.event, outcome.event)), None)
            if entered is None:
                ways.append(Way(tail, event_place(outcome.event), index, number, label))
                continue
            name = inner[entered].own_name
            box = place("use", entered, name)
            ways.append(Way(tail, box, index, number, "" if label == name else label))
            after = [event_place(event) for event in _after(problem, inner[entered])]
            ways += [Way(box, head, index, number, "") for head in after]
    return nodes, ways


def _level_of(problem: HCSSP, event: int) -> int | None:
    """The innermost use that an event belongs to."""
    inside = [number for number, use in enumerate(problem.uses) if event in use.events]
    # Uses inside others come after them.
    return inside[-1] if inside else None


def _after(problem: HCSSP, use: Use) -> list[int]:
    """The events that a use can lead to."""
    found = {
        event: None
        for inside in use.events
        for c in problem.choices_at(inside)
        for outcome in problem.choices[c].outcomes
        for event in outcome.events
        if event not in use.events
    }
    return list(found)
