"""Splits that separate incumbents: which edge of a box is split, and where.

The longest edge is split, measured in what counts: the use of one execution times the expected executions
under the procedures that carry the box's lower bound. An edge is as long as there is something to gain on it.
While an activity's incumbent under the upper limits uses more than the lower limit, that difference separates
both bounds, and the edge is split so that the incumbent under the midpoint, or under the upper limit if there
is none below, ends up on the face between the parts: every split separates incumbents, and there are finitely
many. What is left then cannot be told apart by the activities' planning, and the gap that remains is its gap.

Where an activity has no incumbent yet, an edge is as long as it is in the box and is split in the middle
until it is too short to matter.
"""

from __future__ import annotations

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray
from hcssp.methods.paper.algorithm_2_activity_planning import activity_planning
from hcssp.methods.paper.algorithm_4_compute_lb import LowerBound
from hcssp.methods.paper.box import Box
from hcssp.methods.paper.instance import Instance
from hcssp.numerics import FEASIBILITY_TOLERANCE, allowance

SHORTEST_HALVED_EDGE = 1e-3
"""An edge that is split in the middle is left alone below this share of its first length."""


def split_at_incumbent(
    instance: Instance, box: Box, root: Box, bound: LowerBound, iterations: float
) -> tuple[Box, ...]:
    """The two parts of `box`, or nothing if no edge is worth splitting.

    Parameters
    ----------
    instance
        The problem.
    box, root
        The box, and the one that the search began with.
    bound
        The box's lower bound.
    iterations
        Of the second stage of Activity-Planning: the paper's l.
    """
    running = np.flatnonzero(bound.executions > 0.0).tolist()
    if any(instance.is_unproven(activity, box.upper[instance.edges_of(activity)]) for activity in running):
        # The proof goes on where it was left, before anything is split.
        return (box,)
    lengths, halved = _scaled_lengths(instance, box, root, bound, iterations)
    if not np.any(lengths > 0.0):
        return ()
    edge = int(np.argmax(lengths))
    middle = 0.5 * (float(box.lower[edge]) + float(box.upper[edge]))
    return box.split(edge, middle if halved[edge] else _face(instance, box, edge, middle, iterations))


def _scaled_lengths(
    instance: Instance, box: Box, root: Box, bound: LowerBound, iterations: float
) -> tuple[FloatArray, BoolArray]:
    """The scaled length of each edge, and whether it is to be split in the middle."""
    lengths = np.zeros(len(instance.edges))
    halved = np.zeros(len(instance.edges), dtype=np.bool_)
    for activity in np.flatnonzero(bound.executions > 0.0).tolist():
        edges = instance.edges_of(activity)
        answer = activity_planning(instance, activity, box.upper[edges], iterations)
        if answer.plan is not None:
            above = instance.activities[activity].usage(answer.plan) - box.lower[edges]
            lengths[edges] = np.where(above > _separation(box.lower[edges]), above, 0.0)
        else:
            whole = box.lengths[edges]
            lengths[edges] = np.where(whole > SHORTEST_HALVED_EDGE * root.lengths[edges], whole, 0.0)
            halved[edges] = True
        lengths[edges] *= bound.executions[activity]
    return lengths, halved


def _face(instance: Instance, box: Box, edge: int, middle: float, iterations: float) -> float:
    """Where the edge is cut: what an incumbent uses."""
    activity, _ = instance.edges[edge]
    edges = instance.edges_of(activity)
    position, lower = edge - edges.start, float(box.lower[edge])
    below = box.upper.copy()
    below[edge] = middle
    # The incumbent under the midpoint is the best of the lower part.
    plan = activity_planning(instance, activity, below[edges], iterations).plan
    if plan is not None:
        use = float(instance.activities[activity].usage(plan)[position])
        if use - lower > float(_separation(box.lower[edges])[position]):
            return use
    # That under the upper limit must not be found in the lower part again.
    plan = activity_planning(instance, activity, box.upper[edges], iterations).plan
    if plan is None:
        raise RuntimeError("an edge without an incumbent was to be split at one")
    use = float(instance.activities[activity].usage(plan)[position])
    return use - 0.5 * float(_separation(np.array(use)))


def _separation(use: FloatArray) -> FloatArray:
    """Uses closer than this are told apart by tolerances only."""
    return allowance(use, 8.0 * FEASIBILITY_TOLERANCE)
