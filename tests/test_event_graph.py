"""The procedure for networkx: every outcome is an edge, and chance adds up."""

from __future__ import annotations

import sys

import pytest

from hcssp.errors import MissingDependency
from hcssp.scenarios import evacuation
from small_procedures import drone

nx = pytest.importorskip("networkx")


def test_every_outcome_is_an_edge() -> None:
    problem = evacuation()
    graph = problem.to_networkx()
    assert isinstance(graph, nx.MultiDiGraph)
    assert list(graph) == list(problem.events)
    assert (graph.name, graph.graph["start"], graph.graph["end"]) == ("evacuation", "start", "exit")
    outcomes = [
        (
            problem.events[choice.event],
            problem.events[outcome.event],
            choice.name,
            number,
            outcome.probability,
            None if outcome.runs is None else problem.activities[outcome.runs].name,
        )
        for choice in problem.choices
        for number, outcome in enumerate(choice.outcomes)
    ]
    edges = [(tail, head, *list(data.values())[:-1]) for tail, head, data in graph.edges(data=True)]
    assert sorted(edges, key=str) == sorted(outcomes, key=str)
    assert next(iter(graph.edges(data=True)))[2].keys() == {
        "choice",
        "outcome",
        "probability",
        "activity",
        "exits",
    }
    assert {exits for *_, exits in graph.edges(data="exits")} == {None}


def test_every_event_behind_an_exit_has_an_edge() -> None:
    graph = drone().to_networkx()
    exits = {(tail, head): exits for tail, head, exits in graph.edges(data="exits")}
    assert exits == {
        ("depot", "on the way"): ("waypoint",),
        ("depot", "lost"): ("crashed",),
        ("on the way", "home"): ("waypoint",),
        ("on the way", "lost"): ("crashed",),
        ("lost", "home"): None,
    }


def test_the_graph_can_be_searched() -> None:
    graph = evacuation().to_networkx()
    assert nx.is_directed_acyclic_graph(graph)
    assert nx.has_path(graph, "start", "exit")
    at_door = graph.out_edges("at-door-1", data="probability")
    assert sum(chance for _, _, chance in at_door) == pytest.approx(1.0)


def test_without_networkx_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingDependency, match=r"networkx.*pip install 'hcssp\[notebook\]'"):
        evacuation().to_networkx()
