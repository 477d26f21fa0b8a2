"""The procedure as a drawing: events, activities and chance in layers; what a plan chooses stands out.

Events are rounded, activities are boxes, chance has pointed ends. A way back bulges to the right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from hcssp.contract.plan import ProcedurePlan
from hcssp.procedure import HCSSP
from hcssp.procedure.aim import Aim
from hcssp.procedure.units import called
from hcssp.reports.figures import rounded, times
from hcssp.reports.notebook.markup import Markup, element, number
from hcssp.reports.notebook.svg import Point, picture
from hcssp.reports.plan_data import choice_counts
from hcssp.reports.procedure_graph import graph_data

MOST_NODES = 150
"""A larger graph cannot be read beside other things, and takes long to lay out."""

_EDGE, _ASIDE, _TIP = 14.0, 24.0, 6.0
_LARGE = 1200.0
"""A wider drawing is scrolled; one that is not as wide shrinks to the width there is."""


def procedure_drawing(problem: HCSSP, plan: ProcedurePlan | None = None) -> Markup | None:
    """The drawing, with what `plan` chooses if one is given; None if the procedure is too large for one."""
    if problem.num_events + problem.num_activities + len(problem.choices) > MOST_NODES:
        return None
    graph = graph_data(problem)
    nodes, ways = graph["nodes"], graph["ways"]
    chosen = [True] * len(problem.choices)
    if plan is not None:
        chosen = (choice_counts(plan) > 0.0).tolist()
    right = max([graph["width"], *(_side(nodes, way) for way in ways if way["back"])])
    parts: list[object] = []
    # What is not chosen lies below.
    for way in sorted(ways, key=lambda way: chosen[way["choice"]]):
        parts += _drawn_way(nodes, way, plan is not None and chosen[way["choice"]])
    reached = _reached(problem, chosen)
    for node in nodes:
        on = plan is not None and _is_on(node, plan, chosen, reached)
        figures = _figures(problem, plan, node["index"]) if node["kind"] == "activity" else ""
        parts.append(_drawn_node(problem, node, on, figures))
    box = (-_EDGE, -_EDGE, right + 2 * _EDGE, graph["height"] + 2 * _EDGE)
    kind = "procedure" + ("" if plan is None else " planned") + (" large" if right > _LARGE else "")
    label = "The procedure" + ("" if plan is None else " with what the plan chooses")
    return element("div", {"class": kind}, picture(box, (box[2], box[3]), label, *parts))


def _reached(problem: HCSSP, chosen: Sequence[bool]) -> set[int]:
    """The events that the chosen choices start from or lead to."""
    reached = {problem.start}
    for choice, made in zip(problem.choices, chosen, strict=True):
        if made:
            reached |= {choice.event, *(outcome.event for outcome in choice.outcomes)}
    return reached


def _is_on(node: Mapping[str, Any], plan: ProcedurePlan, chosen: Sequence[bool], reached: set[int]) -> bool:
    if node["kind"] == "activity":
        return bool(plan.costs.activities[node["index"]].expected_executions > 0.0)
    index: int = node["index"]
    return index in reached if node["kind"] == "event" else chosen[index]


def _figures(problem: HCSSP, plan: ProcedurePlan | None, activity: int) -> str:
    """The second line of an activity's box."""
    if plan is None:
        return f"{problem.activities[activity].cssp.num_states:,} states"
    share = plan.costs.activities[activity]
    aim = Aim.of(problem)
    each = aim.share(share.cost_per_execution, share.usage_per_execution or {})
    if each is None:
        return "never executed"
    primary = called(problem, aim.name)
    return f"{times(share.expected_executions)}, {primary} {rounded(each, 2)} each"


def _drawn_node(problem: HCSSP, node: Mapping[str, Any], on: bool, figures: str) -> Markup:
    x, y, width, height = node["x"], node["y"], node["width"], node["height"]
    left, top = x - width / 2, y - height / 2
    classes = ["node", node["kind"], *(["chosen"] if on else [])]
    texts = [element("text", {"x": x, "y": y - (8 if figures else 0)}, node["label"])]
    if figures:
        texts.append(element("text", {"class": "figures", "x": x, "y": y + 8}, figures))
    if node["kind"] == "chance":
        point = min(14.0, width / 4)
        corners = (
            (left, y), (left + point, top), (left + width - point, top), (left + width, y),
            (left + width - point, top + height), (left + point, top + height),
        )  # fmt: skip
        drawn = " ".join(f"{number(a)},{number(b)}" for a, b in corners)
        return element("g", {"class": " ".join(classes)}, element("polygon", {"points": drawn}), *texts)
    # The end has a second rim.
    rims = (3.0, 0.0) if node["kind"] == "event" and node["index"] == problem.end else (0.0,)
    shapes = (
        element(
            "rect",
            {
                "x": left - rim,
                "y": top - rim,
                "width": width + 2 * rim,
                "height": height + 2 * rim,
                "rx": height / 2 + rim if node["kind"] == "event" else 3.0,
            },
        )
        for rim in rims
    )
    return element("g", {"class": " ".join(classes)}, *shapes, *texts)


def _drawn_way(nodes: Sequence[Mapping[str, Any]], way: Mapping[str, Any], on: bool) -> list[Markup]:
    """A way, its tip, and its label."""
    tail, head = nodes[way["tail"]], nodes[way["head"]]
    kind = " chosen" if on else ""
    if way["back"]:
        side = _side(nodes, way)
        begin = (tail["x"] + tail["width"] / 2, tail["y"])
        end = (head["x"] + head["width"] / 2 + _TIP, head["y"])
        # So far out that the curve itself comes to the side, in its middle.
        pull = (side - (begin[0] + end[0]) / 8) / 0.75
        drawn = f"M{_pair(begin)}C{_pair((pull, begin[1]))} {_pair((pull, end[1]))} {_pair(end)}"
        tip = ((end[0] - _TIP, end[1]), (end[0] + 1, end[1] - 4.5), (end[0] + 1, end[1] + 4.5))
        label = (side, (begin[1] + end[1]) / 2)
    else:
        points: list[Point] = [(x, y) for x, y in way["points"]]
        points[0] = (points[0][0], points[0][1] + tail["height"] / 2)
        end = (points[-1][0], points[-1][1] - head["height"] / 2 - _TIP)
        points[-1] = end
        drawn = _smooth(points)
        tip = ((end[0], end[1] + _TIP), (end[0] - 4.5, end[1] - 1), (end[0] + 4.5, end[1] - 1))
        label = ((points[0][0] + points[1][0]) / 2, (points[0][1] + points[1][1]) / 2)
    corners = " ".join(f"{number(x)},{number(y)}" for x, y in tip)
    parts = [
        element("path", {"class": f"way{kind}", "d": drawn}),
        element("polygon", {"class": f"tip{kind}", "points": corners}),
    ]
    if way["label"]:
        place = {"x": label[0], "y": label[1]}
        parts.append(element("text", {"class": f"label{kind}", **place}, way["label"]))
    return parts


def _side(nodes: Sequence[Mapping[str, Any]], way: Mapping[str, Any]) -> float:
    """How far to the right a way back bulges, to pass everything that it leads back over."""
    ends = sorted(nodes[way[end]]["y"] for end in ("tail", "head"))
    passed = [node["x"] + node["width"] / 2 for node in nodes if ends[0] <= node["y"] <= ends[1]]
    return float(max(passed) + _ASIDE)


def _smooth(points: Sequence[Point]) -> str:
    """A curve through points, upright at both ends, in between towards the point after the next."""
    slopes = []
    for at, (_, y) in enumerate(points):
        before, after = points[max(0, at - 1)], points[min(len(points) - 1, at + 1)]
        if 0 < at < len(points) - 1:
            slopes.append(((after[0] - before[0]) / 2, (after[1] - before[1]) / 2))
        else:
            slopes.append((0.0, 1.5 * (abs(y - before[1]) + abs(y - after[1]))))
    drawn = f"M{_pair(points[0])}"
    for (a, u), (b, v) in pairwise(zip(points, slopes, strict=True)):
        first = (a[0] + u[0] / 3, a[1] + u[1] / 3)
        second = (b[0] - v[0] / 3, b[1] - v[1] / 3)
        drawn += f"C{_pair(first)} {_pair(second)} {_pair(b)}"
    return drawn


def _pair(point: Point) -> str:
    return f"{number(point[0])} {number(point[1])}"
