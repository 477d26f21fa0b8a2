"""The procedure as a graph in the DOT language, for Graphviz and everything that reads it.

Events are ellipses (the end a double one), activities boxes with their number of states, and chance a
diamond whose ways carry their probabilities.
"""

from __future__ import annotations

from hcssp.procedure import HCSSP
from hcssp.reports.procedure_graph import Node, Way, procedure_graph

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
    label = node.label
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
