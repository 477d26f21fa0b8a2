r"""Which edge of a box is split, and where.

The longest edge is split, measured in what counts: the use of one execution times the expected executions
under the procedures that carry the box's lower bound. An edge is as long as there is something to gain on it.
While an activity's incumbent under the upper limits uses more than the lower limit, that difference separates
both bounds, and the edge is split so that the incumbent under the midpoint, or under the upper limit if there
is none below, ends up on the face between the parts: every split separates incumbents, and there are finitely
many. What is left then cannot be told apart by the activities' planning, and the gap that remains is its gap.

The paper's Compute-LB takes the cost of one limit and the use of the other, so it needs the lengths
themselves to vanish. There, and where an activity has no incumbent yet, an edge is as long as it is in the
box and is split in the middle until it is too short to matter.
"""

from __future__ import annotations

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray
from hcssp.methods.paper.activity_planning import activity_planning
from hcssp.methods.paper.box import Box
from hcssp.methods.paper.compute_lb import LowerBound
from hcssp.methods.paper.planning import Planning
from hcssp.numerics import FEASIBILITY_TOLERANCE

SHORTEST_EDGE = 1e-3
"""An edge that is split in the middle is left alone below this share of its first length."""


def split(planning: Planning, box: Box, root: Box, bound: LowerBound, iterations: float) -> tuple[Box, ...]:
    """The two parts of `box`, or nothing if no edge is worth splitting.

    Parameters
    ----------
    planning
        The problem and what is known about it.
    box, root
        The box, and the one that the search began with.
    bound
        The box's lower bound.
    iterations
        Of the second stage of Activity-Planning: the paper's l.
    """
    gains, halved = _lengths(planning, box, root, bound, iterations)
    if not np.any(gains > 0.0):
        return ()
    edge = int(np.argmax(gains))
    activity, _ = planning.edges[edge]
    middle = 0.5 * (float(box.lower[edge]) + float(box.upper[edge]))
    if halved[edge]:
        return box.split(edge, middle)
    return box.split(edge, _face(planning, box, edge, activity, middle, iterations))


def _lengths(
    planning: Planning, box: Box, root: Box, bound: LowerBound, iterations: float
) -> tuple[FloatArray, BoolArray]:
    """The scaled length of each edge, and whether it is to be split in the middle."""
    lengths = np.zeros(len(planning.edges))
    halved = np.zeros(len(planning.edges), dtype=np.bool_)
    for activity in np.flatnonzero(bound.executions > 0.0).tolist():
        edges = planning.edges_of(activity)
        answer = activity_planning(planning, activity, box.upper[edges], iterations)
        if answer.plan is not None:
            above = planning.activities[activity].usage(answer.plan) - box.lower[edges]
            lengths[edges] = np.where(above > _separation(box.lower[edges]), above, 0.0)
        if answer.plan is None or (bound.dual is None and not answer.exact):
            whole = box.lengths[edges]
            lengths[edges] = np.where(whole > SHORTEST_EDGE * root.lengths[edges], whole, 0.0)
            halved[edges] = True
        lengths[edges] *= bound.executions[activity]
    return lengths, halved


def _face(planning: Planning, box: Box, edge: int, activity: int, middle: float, iterations: float) -> float:
    edges = planning.edges_of(activity)
    upper, position = box.upper.copy(), edge - edges.start
    upper[edge] = middle
    for limits in (upper[edges], box.upper[edges]):
        plan = activity_planning(planning, activity, limits, iterations).plan
        if plan is None:
            continue
        use = float(planning.activities[activity].usage(plan)[position])
        if use - float(box.lower[edge]) > _separation(box.lower[edges])[position]:
            # The incumbent under the midpoint is the best of the lower part; that under the upper limit
            # must not be found there again.
            return (
                use if limits[position] < box.upper[edge] else use - 0.5 * float(_separation(np.array(use)))
            )
    raise RuntimeError("an edge without an incumbent was to be split at one")


def _separation(use: FloatArray) -> FloatArray:
    """Uses closer than this are told apart by tolerances only."""
    separation: FloatArray = 8.0 * FEASIBILITY_TOLERANCE * np.maximum(1.0, np.abs(use))
    return separation
