"""The procedure as a picture: events, activities and chance in layers, the start on top.

Events are rounded (the start bold, the end grey, those with more than one choice with a double outline),
activities are boxes with their number of states, chance is a box with bulging sides. A way back, which closes
a cycle, is dashed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

from hcssp.procedure import HCSSP
from hcssp.reports.charts import ACCENT, FAINT, INK, SHADE, SOFT, is_axes, literally, one_panel
from hcssp.reports.procedure_graph import (
    LayeredDrawing,
    Node,
    Place,
    Point,
    Way,
    layered,
    procedure_graph,
    shortened,
)

_UNITS_PER_INCH = 96.0
_MARGIN = 18.0
_LARGEST = 60.0
"""Inches; a procedure that needs more is drawn smaller."""
_GAP = (26.0, 34.0)
_ASIDE = 12.0
_LABEL_SIZE = 8.0
_LONGEST_LABEL = 24
"""Letters of what is written on a way."""
_LETTER = (6.4, 14.0)
"""The width and the height of a letter there."""
_ROUNDS = 10


@literally
def draw_procedure(
    problem: HCSSP, title: str = "", chosen: Sequence[bool] | None = None, on: Any = None
) -> Any:
    """Draw a procedure.

    Parameters
    ----------
    problem
        What to draw.
    title
        Written above it.
    chosen
        For each choice, whether a plan makes it: its ways are drawn bold, and those of the others faint.
    on
        An empty figure, or axes.

    Returns
    -------
    matplotlib.figure.Figure
        The picture; it needs no screen.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    """
    nodes, ways = procedure_graph(problem)
    drawing = layered([node.size for node in nodes], [(way.tail, way.head) for way in ways], _GAP)
    back = [way for way, closing in zip(ways, drawing.closing, strict=True) if closing]
    right = max([drawing.width, *(_aside(nodes, way, drawing) for way in back)])
    width, height = right + 2 * _MARGIN, drawing.height + 2 * _MARGIN + (26.0 if title else 0.0)
    scale = min(1.0, _LARGEST * _UNITS_PER_INCH / max(width, height))
    axes = one_panel(max(3.0, scale * width / _UNITS_PER_INCH), scale * height / _UNITS_PER_INCH, on)
    if is_axes(on):
        box, dots = on.get_window_extent(), on.figure.dpi / _UNITS_PER_INCH
        scale = min(1.0, box.width / (dots * width), box.height / (dots * height))
    axes.set_xlim(-_MARGIN, right + _MARGIN)
    axes.set_ylim(drawing.height + _MARGIN, -_MARGIN)
    axes.set_aspect("equal")
    axes.set_axis_off()
    if title:
        axes.set_title(title, fontsize=12 * scale + 1, fontweight="bold")
    labels: list[_Label] = []
    for way, points, closing in zip(ways, drawing.ways, drawing.closing, strict=True):
        colour, line = (SOFT if closing else INK), 1.0
        if chosen is not None:
            colour, line = (ACCENT, 2.2) if chosen[way.choice] else (FAINT, 1.0)
        drawn = _trimmed(points, nodes, way)
        if closing:
            drawn = _way_back(nodes, way, drawing, _aside(nodes, way, drawing))
        _draw_arrow(axes, drawn, scale, colour, line, dashed=closing)
        if way.label:
            (x0, y0), (x1, y1) = drawn[:2]
            middle = (x1, y1) if closing else ((x0 + x1) / 2, (y0 + y1) / 2)
            labels.append(_Label(shortened(way.label, _LONGEST_LABEL), *middle))
    _keep_apart(labels)
    for label in labels:
        axes.text(
            label.x, label.y, label.text, fontsize=_LABEL_SIZE * scale, ha="center", va="center", zorder=5,
            in_layout=False, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
        )  # fmt: skip
    for node, place in zip(nodes, drawing.places, strict=True):
        _draw_node(axes, problem, node, place, scale)
    return axes.figure


def _draw_node(axes: Any, problem: HCSSP, node: Node, place: Place, scale: float) -> None:
    """A box for an activity, bulging sides for chance, rounded corners for an event."""
    from matplotlib.patheffects import Normal, withStroke

    label, line = node.label, 1.0
    shape, face, edge = "round4,pad=0.6", "white", INK
    if node.kind == "activity":
        label += f"\n{problem.activities[node.index].cssp.num_states:,} states"
        shape, face, edge = "square,pad=0.6", SHADE, ACCENT
    elif node.kind == "event":
        shape, face = "round,pad=0.5,rounding_size=1", FAINT if node.index == problem.end else "white"
        line = 2.4 if node.index == problem.start else 1.1
    text = axes.text(
        place.x, place.y, label, fontsize=_LABEL_SIZE * scale, ha="center", va="center", zorder=4,
        # The layout is that of the boxes; a label must not make it smaller.
        in_layout=False, bbox={"boxstyle": shape, "facecolor": face, "edgecolor": edge, "linewidth": line},
    )  # fmt: skip
    if node.kind == "event" and len(problem.choices_at(node.index)) > 1:
        outer = [withStroke(linewidth=line + 2.0 * rim, foreground=ink) for rim, ink in _OUTLINES]
        text.get_bbox_patch().set_path_effects([*outer, Normal()])


_OUTLINES = ((2.6, INK), (1.6, "white"))
"""The second outline of an event: how far it lies around the first, and what is between."""


def _draw_arrow(
    axes: Any,
    points: Sequence[Point],
    scale: float,
    colour: str,
    line: float,
    *,
    dashed: bool,
) -> None:
    """An arrow through `points`, vertical in each of them, or if it is `dashed` horizontal."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    vertices, codes = [points[0]], [Path.MOVETO]
    for (x0, y0), (x1, y1) in pairwise(points):
        bends = [(x1, y0), (x1, y0)] if dashed else [(x0, (y0 + y1) / 2), (x1, (y0 + y1) / 2)]
        if dashed and x1 < x0:
            bends = [(x0, y1), (x0, y1)]
        vertices += [*bends, (x1, y1)]
        codes += [Path.CURVE4] * 3
    arrow = FancyArrowPatch(
        path=Path(vertices, codes), arrowstyle="-|>", mutation_scale=9 * scale, fill=False, zorder=1,
        color=colour, linewidth=line, linestyle="--" if dashed else "-",
    )  # fmt: skip
    axes.add_patch(arrow)


@dataclass
class _Label:
    """What is written on a way, and the middle of it."""

    text: str
    x: float
    y: float

    @property
    def half(self) -> float:
        """Half of the room that it takes, about."""
        return 0.5 * _LETTER[0] * (1 + len(self.text))


def _keep_apart(labels: Sequence[_Label]) -> None:
    """Move labels that overlap to both sides, a few times: one may be moved onto another."""
    for _ in range(_ROUNDS):
        for one, other in combinations(labels, 2):
            missing = one.half + other.half - abs(other.x - one.x)
            if abs(other.y - one.y) < _LETTER[1] and missing > 0.0:
                step = 0.5 * missing if one.x <= other.x else -0.5 * missing
                one.x, other.x = one.x - step, other.x + step


def _trimmed(points: Sequence[Point], nodes: Sequence[Node], way: Way) -> tuple[Point, ...]:
    """The way from rim to rim instead of from middle to middle."""
    (x0, y0), *between, (x1, y1) = points
    tail, head = nodes[way.tail].size[1] / 2, nodes[way.head].size[1] / 2
    return ((x0, y0 + tail), *between, (x1, y1 - head - 3.0))


def _aside(nodes: Sequence[Node], way: Way, drawing: LayeredDrawing) -> float:
    """How far to the right a way back must go to pass its ends and everything between their layers."""
    low, high = sorted((drawing.places[way.tail].y, drawing.places[way.head].y))
    passed = [
        place.x + node.size[0] / 2
        for index, (node, place) in enumerate(zip(nodes, drawing.places, strict=True))
        if index in (way.tail, way.head) or low < place.y < high
    ]
    return max(passed) + _ASIDE


def _way_back(nodes: Sequence[Node], way: Way, drawing: LayeredDrawing, aside: float) -> tuple[Point, ...]:
    """From the tail round the right of what lies between to the right rim of the head."""
    tail, head = drawing.places[way.tail], drawing.places[way.head]
    return (
        (tail.x, tail.y),
        (aside, (tail.y + head.y) / 2),
        (head.x + nodes[way.head].size[0] / 2 + 3.0, head.y),
    )
