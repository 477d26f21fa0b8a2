"""The procedure as a graph for networkx, which is imported when the first one is made."""

from __future__ import annotations

from typing import Any

from hcssp.errors import MissingDependency
from hcssp.procedure.model import HCSSP


def event_graph(problem: HCSSP) -> Any:
    """The events of a procedure and the ways between them, as a ``networkx.MultiDiGraph``.

    Events are nodes, by name. Every outcome of every choice is an edge to its event, or one to each if the
    exits of its activity lead to several. Its key is the pair of the choice's name and the outcome's number;
    its data are ``choice`` (its name), ``outcome`` (its number), ``probability`` (of the outcome),
    ``activity`` (the name of what is run on the way, or None) and ``exits`` (the labels of the exits that
    lead here, or None if all do). The graph itself knows its ``start`` and its ``end``.

    >>> from hcssp.scenarios import small_building
    >>> graph = event_graph(small_building())
    >>> graph.graph["start"], graph.graph["end"], graph.number_of_edges()
    ('start', 'exit', 7)
    >>> graph.edges["at-door", "door-open", ("open-door", 0)]["probability"]
    0.8

    Raises
    ------
    MissingDependency
        If networkx is not installed.
    """
    try:
        import networkx as nx
    except ModuleNotFoundError as error:
        raise MissingDependency(
            "graphs need networkx, which is not installed; pip install 'hcssp[notebook]'"
        ) from error
    start, end = problem.events[problem.start], problem.events[problem.end]
    graph = nx.MultiDiGraph(name=problem.name, start=start, end=end)
    graph.add_nodes_from(problem.events)
    for choice in problem.choices:
        for number, outcome in enumerate(choice.outcomes):
            for event in outcome.events:
                graph.add_edge(
                    problem.events[choice.event],
                    problem.events[event],
                    key=(choice.name, number),
                    choice=choice.name,
                    outcome=number,
                    probability=float(outcome.probability),
                    activity=None if outcome.runs is None else problem.activities[outcome.runs].name,
                    exits=outcome.exits_to(event),
                )
    return graph
