"""Where everything lies in a drawing: the graph of a procedure, level by level, and the rooms of a map.

The graph is drawn in layers from top to bottom (Sugiyama, Tagawa and Toda 1981). Edges that close a cycle
are left out of the layering; the others lead downwards, a layer or more. Long edges pass through
placeholders. The order within the layers is improved by sweeps that put every node near the mean of its
neighbours, and the order with the fewest crossings is kept. Then every node moves as near to its neighbours
as the order and the widths allow: for each layer an isotonic regression, which is solved exactly.

>>> drawing = layered([(40.0, 20.0)] * 3, [(0, 1), (0, 2), (1, 2)])
>>> [place.y for place in drawing.places]
[10.0, 60.0, 110.0]

A level of a nested procedure has the events and choices of one procedure; a procedure that it runs is one
node. Uses of the same procedure share one layout.

A room with a position is one panel that all its activities share: the panels together are the map. Without
positions every activity has a panel of its own, and the panels stand in lines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np

from hcssp.cssp.grid import Cell, GridWorld
from hcssp.cssp.product import base_of
from hcssp.procedure import HCSSP, Outcome
from hcssp.procedure.nesting import SEPARATOR, Use, enters
from hcssp.reports.figures import given, plain

Point = tuple[float, float]


_SWEEPS = 12


_PLACEHOLDER = 8.0


@dataclass(frozen=True)
class Place:
    """The middle of a node."""

    x: float
    y: float


@dataclass(frozen=True)
class LayeredDrawing:
    """Where everything goes.

    Attributes
    ----------
    places
        The middle of each node.
    ways
        The points that each edge passes, both ends included; an edge that closes a cycle has only those.
    closing
        Which edges close a cycle.
    width, height
        The size of the drawing.
    """

    places: tuple[Place, ...]
    ways: tuple[tuple[Point, ...], ...]
    closing: tuple[bool, ...]
    width: float
    height: float


def layered(
    sizes: Sequence[tuple[float, float]],
    edges: Sequence[tuple[int, int]],
    gap: tuple[float, float] = (24.0, 30.0),
) -> LayeredDrawing:
    """Draw a graph.

    Parameters
    ----------
    sizes
        The width and height of each node.
    edges
        Pairs of nodes. Those with no edge into them stand in the first layer.
    gap
        The space between neighbours of a layer, and between layers.
    """
    closing = _closing(len(sizes), edges)
    forward = [(edge, *pair) for edge, pair in enumerate(edges) if not closing[edge]]
    layer = _layers(len(sizes), [(tail, head) for _, tail, head in forward])
    widths = [width for width, _ in sizes]
    links: list[tuple[int, int]] = []
    chains: dict[int, list[int]] = {}
    for edge, tail, head in forward:
        chain = [tail]
        for level in range(layer[tail] + 1, layer[head]):
            layer.append(level)
            widths.append(_PLACEHOLDER)
            chain.append(len(layer) - 1)
        chain.append(head)
        chains[edge] = chain
        links += pairwise(chain)
    rows = _ordered(layer, links)
    middles = _middles(rows, links, widths, gap[0])
    heights = [max((sizes[node][1] for node in row if node < len(sizes)), default=0.0) for row in rows]
    tops = np.cumsum([0.0, *(height + gap[1] for height in heights)])
    levels = [float(tops[level] + heights[level] / 2) for level in range(len(rows))]
    places = [Place(middles[node], levels[layer[node]]) for node in range(len(layer))]
    ways = []
    for edge, (tail, head) in enumerate(edges):
        passed = chains.get(edge, [tail, head])
        ways.append(tuple((places[node].x, places[node].y) for node in passed))
    width = max((middles[node] + widths[node] / 2 for node in range(len(layer))), default=0.0)
    height = float(tops[-1] - gap[1]) if rows else 0.0
    return LayeredDrawing(tuple(places[: len(sizes)]), tuple(ways), tuple(closing), width, height)


def _closing(count: int, edges: Sequence[tuple[int, int]]) -> list[bool]:
    """Which edges lead back to a node that a depth-first search is still below."""
    leaving: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for edge, (tail, head) in enumerate(edges):
        leaving[tail].append((edge, head))
    closing = [False] * len(edges)
    seen, below = [False] * count, [False] * count
    for root in range(count):
        if seen[root]:
            continue
        seen[root] = below[root] = True
        stack = [(root, iter(leaving[root]))]
        while stack:
            node, rest = stack[-1]
            step = next(rest, None)
            if step is None:
                below[node] = False
                stack.pop()
                continue
            edge, head = step
            if below[head]:
                closing[edge] = True
            elif not seen[head]:
                seen[head] = below[head] = True
                stack.append((head, iter(leaving[head])))
    return closing


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The longest way to each node; a node with successors only far below moves down to them."""
    entering: dict[int, list[int]] = {node: [] for node in range(count)}
    leaving: dict[int, list[int]] = {node: [] for node in range(count)}
    for tail, head in edges:
        entering[head].append(tail)
        leaving[tail].append(head)
    order = [*TopologicalSorter(entering).static_order()]
    layer = [0] * count
    for node in order:
        layer[node] = max((layer[tail] + 1 for tail in entering[node]), default=0)
    for node in reversed(order):
        if entering[node] and len(leaving[node]) == 1:
            layer[node] = layer[leaving[node][0]] - 1
    return layer


def _ordered(layer: Sequence[int], links: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The nodes of each layer, in an order with few crossings."""
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for node, level in enumerate(layer):
        rows[level].append(node)
    above, below = _neighbours(len(layer), links)
    best, fewest = [list(row) for row in rows], _crossings(rows, below)
    for sweep in range(_SWEEPS):
        downwards = sweep % 2 == 0
        order = range(1, len(rows)) if downwards else range(len(rows) - 2, -1, -1)
        for level in order:
            fixed = {node: place for place, node in enumerate(rows[level - 1 if downwards else level + 1])}
            near = above if downwards else below
            own = {node: place for place, node in enumerate(rows[level])}
            rows[level].sort(key=lambda node: _mean([fixed[n] for n in near[node]], own[node]))
        crossings = _crossings(rows, below)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def _neighbours(count: int, links: Sequence[tuple[int, int]]) -> tuple[list[list[int]], list[list[int]]]:
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for tail, head in links:
        below[tail].append(head)
        above[head].append(tail)
    return above, below


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _crossings(rows: Sequence[Sequence[int]], below: Sequence[Sequence[int]]) -> int:
    total = 0
    for row, following in pairwise(rows):
        place = {node: position for position, node in enumerate(following)}
        ends = [sorted(place[head] for head in below[node]) for node in row]
        flat = [head for each in ends for head in each]
        total += sum(flat[i] > flat[j] for i in range(len(flat)) for j in range(i + 1, len(flat)))
    return total


def _middles(
    rows: Sequence[Sequence[int]], links: Sequence[tuple[int, int]], widths: Sequence[float], gap: float
) -> list[float]:
    """The horizontal middle of every node, the leftmost edge at zero."""
    above, below = _neighbours(len(widths), links)
    middles = [0.0] * len(widths)
    for row in rows:
        for node, middle in zip(row, _spread([0.0] * len(row), row, widths, gap), strict=True):
            middles[node] = middle
    for sweep in range(2 * _SWEEPS + 1):
        # The last sweep goes down: whatever has one way into it stands straight below.
        downwards = sweep % 2 == 0
        near = above if downwards else below
        for row in rows if downwards else reversed(rows):
            wanted = [_mean([middles[other] for other in near[node]], middles[node]) for node in row]
            for node, middle in zip(row, _spread(wanted, row, widths, gap), strict=True):
                middles[node] = middle
    left = min((middles[node] - widths[node] / 2 for row in rows for node in row), default=0.0)
    return [middle - left for middle in middles]


def _spread(wanted: Sequence[float], row: Sequence[int], widths: Sequence[float], gap: float) -> list[float]:
    """The places nearest to those wanted that keep the order and the distances: pool adjacent violators."""
    offsets = [0.0]
    for left, right in pairwise(row):
        offsets.append(offsets[-1] + (widths[left] + widths[right]) / 2 + gap)
    blocks: list[tuple[float, int]] = []
    for wish, offset in zip(wanted, offsets, strict=True):
        total, count = wish - offset, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / count:
            total, count = total + blocks[-1][0], count + blocks[-1][1]
            blocks.pop()
        blocks.append((total, count))
    moved = [total / count for total, count in blocks for _ in range(count)]
    return [move + offset for move, offset in zip(moved, offsets, strict=True)]


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

    >>> from hcssp.cssp.product import LevelLabel
    >>> levels = {LevelLabel("crashed", (f"battery {amount}",)): 3 for amount in range(20)}
    >>> exits_in_words(Outcome(1.0, 2, runs=0, exits={**levels, "adrift": 3}), 3)
    'crashed, adrift'
    """
    return ", ".join(dict.fromkeys(str(base_of(label)) for label in outcome.exits_to(event) or ()))


def procedure_graph(problem: HCSSP) -> tuple[list[Node], list[Way]]:
    """The nodes and ways of a procedure, with those of all procedures inside it."""
    # The search for cycles begins at the first event, and so calls that a way back which people would.
    return _graph_of(problem, range(problem.num_events), {}, in_full=True)


_SHAPES = {"event": "ellipse", "activity": "box", "chance": "diamond"}


def procedure_dot(problem: HCSSP, name: str = "procedure") -> str:
    """The text of a DOT file.

    >>> from hcssp.scenarios import small_building
    >>> print(procedure_dot(small_building()).splitlines()[4])
      n0 [label="start", shape=ellipse, style=bold, peripheries=2];
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
    elif node.kind == "event":
        if node.index in (problem.start, problem.end):
            attributes.append("style=bold" if node.index == problem.start else "style=filled")
        if len(problem.choices_at(node.index)) > 1:
            attributes.append("peripheries=2")
    return ", ".join([f"label={_quoted(label)}", *attributes])


def _label(way: Way) -> str:
    return f" [label={_quoted(way.label)}]" if way.label else ""


def _quoted(text: str) -> str:
    """A text as DOT has it: in quotes, with backslashes only before quotes, itself and line breaks."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


Layouts = dict[tuple[Any, ...], LayeredDrawing]


def levels_data(problem: HCSSP) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The graph of the outermost level, laid out, and what a page needs to open each use.

    Names are those of the level; a problem without uses has no level but one.
    """
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
    nodes, ways = level_graph(problem, level) if problem.uses else procedure_graph(problem)
    sizes, pairs = [node.size for node in nodes], [(way.tail, way.head) for way in ways]
    key = (tuple(sizes), tuple(pairs))
    if key not in layouts:
        layouts[key] = layered(sizes, pairs)
    drawing = layouts[key]
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


def level_graph(problem: HCSSP, level: int | None) -> tuple[list[Node], list[Way]]:
    """The nodes and ways of one level: of a use, or with None of the outermost procedure.

    The procedures that it runs are nodes of the kind ``use``.
    """
    inner = {number: use for number, use in enumerate(problem.uses) if use.parent == level}
    hidden = {event for use in inner.values() for event in use.events}
    within = range(problem.num_events) if level is None else problem.uses[level].events
    # Events of inner uses come after those of the outline, so each is assigned to its use.
    own = [event for event in within if event not in hidden and _level_of(problem, event) == level]
    return _graph_of(problem, own, inner)


def _graph_of(
    problem: HCSSP, own: Sequence[int], inner: Mapping[int, Use], *, in_full: bool = False
) -> tuple[list[Node], list[Way]]:
    """The nodes and ways of some events and their choices.

    Parameters
    ----------
    own
        The events.
    inner
        The uses that are nodes, by number.
    in_full
        Whether names keep the names of the uses that they lie in.
    """
    nodes: list[Node] = []
    places: dict[tuple[str, int], int] = {}

    def short(name: str) -> str:
        return name if in_full else name.rpartition(SEPARATOR)[2]

    def place(kind: str, index: int, name: str) -> int:
        if (kind, index) not in places:
            places[kind, index] = len(nodes)
            nodes.append(Node(kind, index, name))
        return places[kind, index]

    def event_place(event: int) -> int:
        # What lies outside of the level is called in full.
        name = problem.events[event]
        return place("event", event, short(name) if event in own else name)

    for event in own:
        event_place(event)
    ways: list[Way] = []
    for index in (c for event in own for c in problem.choices_at(event)):
        choice = problem.choices[index]
        tail, label = event_place(choice.event), choice.name
        if len(choice.outcomes) > 1:
            fork = place("chance", index, choice.name)
            ways.append(Way(tail, fork, index, None, ""))
            tail = fork
        for number, outcome in enumerate(choice.outcomes):
            if len(choice.outcomes) > 1:
                label = given(outcome.probability)
            entered = next((n for n, use in inner.items() if enters(use, choice.event, outcome.event)), None)
            if outcome.runs is not None:
                name = short(problem.activities[outcome.runs].name)
                box = place("activity", outcome.runs, name)
                after = {event: exits_in_words(outcome, event) for event in outcome.events}
            elif entered is not None:
                name = inner[entered].own_name
                box, after = place("use", entered, name), dict.fromkeys(_after(problem, inner[entered]), "")
            else:
                ways.append(Way(tail, event_place(outcome.event), index, number, label))
                continue
            ways.append(Way(tail, box, index, number, "" if label == name else label))
            ways += [Way(box, event_place(event), index, number, exits) for event, exits in after.items()]
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


_TABLE_HEIGHT = 6
"""Cells that the box of an activity without a grid is high at most, which is half of its width; among small
grids it is smaller, as there is nothing in it but a name."""


_ASPECT = 1.8
"""How many times as wide as high the sheet should be: it is shown at the full width of a page."""


@dataclass(frozen=True, eq=False)
class Panel:
    """A room on the sheet.

    Attributes
    ----------
    title
        The room's name, or the activity's where it has a panel of its own.
    corner
        The top-left cell on the sheet.
    width, height
        The size in cells, the wall ring included.
    world
        What is drawn; None for the box of a table.
    activities
        Those that take place here, by index.
    on_map
        Whether this is where the room stands.
    """

    title: str
    corner: Cell
    width: int
    height: int
    world: GridWorld | None
    activities: tuple[int, ...]
    on_map: bool


def place(
    problem: HCSSP,
    worlds: Mapping[int, GridWorld | None] | None = None,
    left_out: Collection[int] = (),
) -> list[Panel]:
    """The panels of all activities, or of those whose grids are given, by index.

    No coordinate is negative. Activities that are `left_out` have no panel of their own.
    """
    by_room: dict[str, list[int]] = {}
    alone: list[int] = []
    everything = range(problem.num_activities)
    grids = {index: problem.world(index) for index in everything} if worlds is None else dict(worlds)
    rooms = {problem.activities[index].room for index, world in grids.items() if world is not None}
    for index, world in grids.items():
        room = problem.activities[index].room
        # A problem of one room needs no position for it.
        known = room in problem.positions or len(rooms) == 1
        if world is not None and known and _fits(grids, by_room.get(room, []), world):
            by_room.setdefault(room, []).append(index)
        elif index not in left_out:
            alone.append(index)
    table = _table_size(grids.values())

    def panel(title: str, corner: Cell, members: list[int], on_map: bool) -> Panel:
        world = grids[members[0]]
        width, height = table if world is None else (world.width + 2, world.height + 2)
        return Panel(title, corner, width, height, world, tuple(members), on_map)

    panels = [
        panel(room, problem.positions.get(room, (0, 0)), members, True) for room, members in by_room.items()
    ]
    left = min((each.corner[0] for each in panels), default=0)
    top = min((each.corner[1] for each in panels), default=0)
    panels = [replace(each, corner=(each.corner[0] - left, each.corner[1] - top)) for each in panels]
    single = [panel(problem.activities[index].name, (0, 0), [index], False) for index in alone]
    return [*panels, *_in_lines(single, *sheet_size(panels))]


def sheet_size(panels: Sequence[Panel]) -> tuple[int, int]:
    """The width and height of the sheet, in cells."""
    across = max((panel.corner[0] + panel.width for panel in panels), default=0)
    down = max((panel.corner[1] + panel.height for panel in panels), default=0)
    return across, down


def _fits(grids: Mapping[int, GridWorld | None], members: list[int], world: GridWorld) -> bool:
    """Whether a grid has the size of the others in its room, so that one drawing serves all of them."""
    first = grids[members[0]] if members else world
    return first is not None and (first.width, first.height) == (world.width, world.height)


def _table_size(grids: Iterable[GridWorld | None]) -> tuple[int, int]:
    """The width and height of tables' boxes beside such grids."""
    least = min((world.height for world in grids if world is not None), default=2 * _TABLE_HEIGHT)
    height = max(2, min(_TABLE_HEIGHT, least // 2))
    return 2 * height, height


def _in_lines(panels: list[Panel], across: int, down: int) -> list[Panel]:
    """The panels one after another, in lines below what is there already, with room for titles."""
    widest = max((across, *(panel.width for panel in panels)))
    total = sum(panel.width + 2 for panel in panels)
    limits = sorted({max(widest, ceil(total / lines)) for lines in range(1, len(panels) + 1)})
    sheets = [_lines_of(panels, limit, down) for limit in limits]

    def extent(sheet: list[Panel]) -> float:
        width, height = sheet_size(sheet)
        return max(width, across, _ASPECT * height)

    return min(sheets, key=extent, default=[])


def _lines_of(panels: list[Panel], limit: int, down: int) -> list[Panel]:
    """The panels in lines of a limited width, below what is there already."""
    title = 2 + limit // 30
    # The names of tables stand in their boxes, those of grids above them.
    above = title if any(panel.world is not None for panel in panels) else 0
    left, top, line = 0, down + (title if down else 0), 0
    placed = []
    for panel in panels:
        if left and left + panel.width > limit:
            left, top, line = 0, top + line, 0
        placed.append(replace(panel, corner=(left, top + above)))
        left += panel.width + title
        line = max(line, panel.height + title)
    return placed
