"""A procedure as a graph: laid out for a page and a picture, and in Graphviz's own language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hcssp.cssp.levels import base_of
from hcssp.procedure import HCSSP, Outcome
from hcssp.reports.figures import given
from hcssp.reports.layered import LayeredDrawing, layered

_LETTER = 6.6
"""How wide a letter of the labels is, in the drawing's units."""
_LONGEST = 48
"""Letters of a label; more would push everything else out of the picture."""


@dataclass(frozen=True)
class Node:
    """An event, an activity, a use, or the fork of a choice; `index` counts within its kind."""

    kind: str
    index: int
    name: str

    @property
    def label(self) -> str:
        """The name, or its beginning if it is very long."""
        return shortened(self.name)

    @property
    def size(self) -> tuple[float, float]:
        """The width and height it needs."""
        if self.kind in ("activity", "use"):
            # Below the name there is a line of figures.
            return max(212.0, 22.0 + _LETTER * len(self.label)), 38.0
        if self.kind == "chance":
            return 44.0 + _LETTER * len(self.label), 26.0
        return 26.0 + _LETTER * len(self.label), 24.0


def shortened(name: str, most: int = _LONGEST) -> str:
    """A name, or its beginning if it is longer than a drawing has room for.

    >>> shortened("a very long name", 8)
    'a very …'
    """
    return name if len(name) <= most else name[: most - 1] + "…"


@dataclass(frozen=True)
class Way:
    """A way from one node to another that belongs to a choice, and to one of its outcomes if not to all."""

    tail: int
    head: int
    choice: int
    outcome: int | None
    label: str


def exits_in_words(outcome: Outcome, event: int) -> str:
    """The exits by which an outcome leads to an event; those that differ in a level only are one.

    >>> from hcssp.cssp.levels import LevelLabel
    >>> levels = {LevelLabel("crashed", (f"battery {amount}",)): 3 for amount in range(20)}
    >>> exits_in_words(Outcome(1.0, 2, runs=0, exits={**levels, "adrift": 3}), 3)
    'crashed, adrift'
    """
    return ", ".join(dict.fromkeys(str(base_of(label)) for label in outcome.exits_to(event) or ()))


def procedure_graph(problem: HCSSP) -> tuple[list[Node], list[Way]]:
    """The nodes and ways of a procedure."""
    nodes = [Node("event", event, name) for event, name in enumerate(problem.events)]
    # The search for cycles begins here, and so calls that a way back which people would.
    ways: list[Way] = []
    for index, choice in enumerate(problem.choices):
        tail, label = choice.event, choice.name
        if len(choice.outcomes) > 1:
            nodes.append(Node("chance", index, choice.name))
            ways.append(Way(tail, len(nodes) - 1, index, None, ""))
            tail = len(nodes) - 1
        for number, outcome in enumerate(choice.outcomes):
            if len(choice.outcomes) > 1:
                label = given(outcome.probability)
            if outcome.runs is None:
                ways.append(Way(tail, outcome.event, index, number, label))
                continue
            name = problem.activities[outcome.runs].name
            nodes.append(Node("activity", outcome.runs, name))
            ways.append(Way(tail, len(nodes) - 1, index, number, "" if label == name else label))
            inside = len(nodes) - 1
            ways += [
                Way(inside, event, index, number, exits_in_words(outcome, event)) for event in outcome.events
            ]
    return nodes, ways


def graph_data(problem: HCSSP) -> dict[str, Any]:
    """The graph for a page, with the places of everything."""
    nodes, ways = procedure_graph(problem)
    drawing = layered([node.size for node in nodes], [(way.tail, way.head) for way in ways])
    return drawn_graph(nodes, ways, drawing)


def drawn_graph(nodes: Sequence[Node], ways: Sequence[Way], drawing: LayeredDrawing) -> dict[str, Any]:
    """A graph that is laid out, for a page."""
    return {
        "width": round(drawing.width, 1),
        "height": round(drawing.height, 1),
        "nodes": [
            {
                "kind": node.kind,
                "index": node.index,
                "label": node.label,
                "name": node.name,
                "x": round(place.x, 1),
                "y": round(place.y, 1),
                "width": node.size[0],
                "height": node.size[1],
            }
            for node, place in zip(nodes, drawing.places, strict=True)
        ],
        "ways": [
            {
                "tail": way.tail,
                "head": way.head,
                "choice": way.choice,
                "outcome": way.outcome,
                "label": shortened(way.label),
                "back": closing,
                "points": [[round(x, 1), round(y, 1)] for x, y in points],
            }
            for way, points, closing in zip(ways, drawing.ways, drawing.closing, strict=True)
        ],
    }


_SHAPES = {"event": "ellipse", "activity": "box", "chance": "diamond"}


def procedure_dot(problem: HCSSP, name: str = "procedure") -> str:
    """The text of a DOT file.

    >>> from hcssp.scenarios import small_building
    >>> print(procedure_dot(small_building()).splitlines()[4])
      n0 [label="start", shape=ellipse, style=bold];
    """
    nodes, ways = procedure_graph(problem)
    lines = [f"digraph {_quoted(name)} {{", "  rankdir=TB;", '  node [fontname="sans-serif"];']
    lines.append('  edge [fontname="sans-serif", fontsize=10];')
    lines += [f"  n{index} [{_node(problem, node)}];" for index, node in enumerate(nodes)]
    lines += [f"  n{way.tail} -> n{way.head}{_label(way)};" for way in ways]
    return "\n".join([*lines, "}"]) + "\n"


def _node(problem: HCSSP, node: Node) -> str:
    label = node.name
    attributes = [f"shape={_SHAPES[node.kind]}"]
    if node.kind == "activity":
        label += f"\n{problem.activities[node.index].cssp.num_states:,} states"
    elif node.kind == "event" and node.index == problem.start:
        attributes.append("style=bold")
    elif node.kind == "event" and node.index == problem.end:
        attributes.append("peripheries=2")
    return ", ".join([f"label={_quoted(label)}", *attributes])


def _label(way: Way) -> str:
    return f" [label={_quoted(way.label)}]" if way.label else ""


def _quoted(text: str) -> str:
    """A text as DOT has it: in quotes, with backslashes only before quotes, itself and line breaks."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
