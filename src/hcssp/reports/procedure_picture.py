"""The procedure as a picture: events, activities and chance in layers, the start on top.

Events are rounded (the start bold, the end grey, those with more than one choice with a double outline),
activities are boxes with their number of states, chance is a diamond-like box with slanted ends. A way back,
which closes a cycle, is dashed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
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
_ASIDE = 26.0
_LABEL_SIZE = 8.0
_LONG_LABEL = 12
"""Boxes are wide enough for shorter labels, whatever their letters."""


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
    for way, points, closing in zip(ways, drawing.ways, drawing.closing, strict=True):
        colour, line = (SOFT if closing else INK), 1.0
        if chosen is not None:
            colour, line = (ACCENT, 2.2) if chosen[way.choice] else (FAINT, 1.0)
        drawn = _trimmed(points, nodes, way)
        if closing:
            drawn = _way_back(nodes, way, drawing, _aside(nodes, way, drawing))
        _draw_arrow(axes, drawn, shortened(way.label), scale, colour, line, right, dashed=closing)
    for node, place in zip(nodes, drawing.places, strict=True):
        _draw_node(axes, problem, node, place, scale)
    return axes.figure


def _draw_node(axes: Any, problem: HCSSP, node: Node, place: Place, scale: float) -> None:
    size = _LABEL_SIZE * scale
    # The layout is that of the boxes; a label must not make it smaller.
    middle: dict[str, Any] = {"ha": "center", "va": "center", "zorder": 4, "in_layout": False}
    weight = "bold" if node.kind == "activity" else "normal"
    fitting = scale * _fitting_size(node.label, node.size[0] - 12.0, _LABEL_SIZE, weight)
    if node.kind == "activity":
        height = node.size[1]
        states = f"{problem.activities[node.index].cssp.num_states:,} states"
        axes.text(place.x, place.y - height / 5, node.label, fontsize=fitting, fontweight="bold", **middle)
        axes.text(place.x, place.y + height / 4, states, fontsize=0.85 * size, color="0.25", **middle)
    else:
        axes.text(place.x, place.y, node.label, fontsize=fitting, **middle)
    for patch in _outlines(problem, node, place):
        axes.add_patch(patch)


def _fitting_size(label: str, room: float, size: float, weight: str = "normal") -> float:
    """The size of a label, in points; less than usual if wide letters would need more than there is room."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    if len(label) < _LONG_LABEL:
        return size
    path = TextPath((0, 0), label, size=size, prop=FontProperties(weight=weight))
    width = path.get_extents().width * _UNITS_PER_INCH / 72.0
    # Letters are set a little wider than they are where pixels are few.
    return size * min(1.0, 0.9 * room / max(width, 1.0))


def _outlines(problem: HCSSP, node: Node, place: Place) -> list[Any]:
    """A box for an activity, slanted ends for chance, rounded ones for an event."""
    from matplotlib.patches import FancyBboxPatch, Polygon

    width, height = node.size
    left, top = place.x - width / 2, place.y - height / 2
    if node.kind == "chance":
        slant = height / 2
        corners = [
            (left, place.y), (left + slant, top), (left + width - slant, top), (left + width, place.y),
            (left + width - slant, top + height), (left + slant, top + height),
        ]  # fmt: skip
        return [Polygon(corners, facecolor="white", edgecolor=INK, linewidth=1.0, zorder=3)]
    if node.kind == "activity":
        box = FancyBboxPatch(
            (left, top), width, height, boxstyle="square,pad=0", facecolor=SHADE, edgecolor=ACCENT, zorder=3
        )  # fmt: skip
        return [box]
    rims = [0.0, 3.0] if len(problem.choices_at(node.index)) > 1 else [0.0]
    return [
        FancyBboxPatch(
            (left - rim, top - rim),
            width + 2 * rim,
            height + 2 * rim,
            boxstyle=f"round,pad=0,rounding_size={height / 2 + rim}",
            facecolor=FAINT if node.index == problem.end else "white",
            edgecolor=INK,
            linewidth=2.4 if node.index == problem.start else 1.1,
            zorder=3.0 - rim / 10,
        )
        for rim in rims
    ]


def _draw_arrow(
    axes: Any,
    points: Sequence[Point],
    label: str,
    scale: float,
    colour: str,
    line: float,
    room: float,
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
    if label:
        (x0, y0), (x1, y1) = points[0], points[1]
        place = (x1, y1) if dashed else ((x0 + x1) / 2, (y0 + y1) / 2)
        axes.text(
            *place, label, fontsize=scale * _fitting_size(label, room, 7.5), ha="center", va="center",
            zorder=5, in_layout=False,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
        )  # fmt: skip


def _trimmed(points: Sequence[Point], nodes: Sequence[Node], way: Way) -> tuple[Point, ...]:
    """The way from rim to rim instead of from middle to middle."""
    (x0, y0), *between, (x1, y1) = points
    tail, head = nodes[way.tail].size[1] / 2, nodes[way.head].size[1] / 2
    return ((x0, y0 + tail), *between, (x1, y1 - head - 3.0))


def _aside(nodes: Sequence[Node], way: Way, drawing: LayeredDrawing) -> float:
    """How far to the right a way back must go to pass everything it leads back over."""
    tail, head = drawing.places[way.tail].y, drawing.places[way.head].y
    passed = [
        place.x + node.size[0] / 2
        for node, place in zip(nodes, drawing.places, strict=True)
        if min(tail, head) <= place.y <= max(tail, head)
    ]
    return max(passed) + _ASIDE


def _way_back(nodes: Sequence[Node], way: Way, drawing: LayeredDrawing, aside: float) -> tuple[Point, ...]:
    """From the right rim of the tail round the right of everything to the right rim of the head."""
    tail, head = drawing.places[way.tail], drawing.places[way.head]
    return (
        (tail.x + nodes[way.tail].size[0] / 2, tail.y),
        (aside, (tail.y + head.y) / 2),
        (head.x + nodes[way.head].size[0] / 2 + 3.0, head.y),
    )
