"""Algorithm 1, Branch-and-Bound over boxes of budget allocations.

The paper calls a box a partition, and its upper and lower bounds alpha and beta. The set of the open ones,
the incumbent and both global bounds are a :class:`hcssp.methods.best_first.BestFirst`, whose bounds never
loosen. Where the modes differ, the algorithm asks its :class:`hcssp.methods.paper.modes.Mode`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

import numpy as np

from hcssp.cssp.model import FloatArray
from hcssp.dual.procedure_vertex import ProcedureVertex
from hcssp.methods.best_first import BestFirst
from hcssp.methods.paper.algorithm_4_compute_lb import LowerBound
from hcssp.methods.paper.box import Box
from hcssp.methods.paper.instance import Instance
from hcssp.methods.paper.modes import Mode


@dataclass(frozen=True)
class Partition:
    """An open box and its lower bound."""

    box: Box
    bound: LowerBound


@dataclass(frozen=True)
class Incumbent:
    """A feasible solution, and the limits it was planned under, one for each edge of a box."""

    solution: ProcedureVertex
    limits: FloatArray


class Partitions(BestFirst[Partition, Incumbent]):
    """The state of the algorithm: the open boxes, the incumbent and both global bounds.

    Attributes
    ----------
    examined
        How many boxes have been bounded.
    """

    examined = 0


def branch_and_bound(
    instance: Instance, root: Box, iterations: float, epsilon: float, mode: Mode, lower_bound: float = -inf
) -> Iterator[Partitions]:
    """Split boxes, best bound first, until both bounds differ by no more than `epsilon`.

    Parameters
    ----------
    instance, root
        The problem, and the allocation space to begin with.
    iterations
        Of the second stages: the paper's l.
    epsilon
        The tolerated difference of both bounds.
    mode
        How a box is bounded and split.
    lower_bound
        What is known about the optimum already.

    Yields
    ------
    Partitions
        After every box that was split; the same object changes.
    """
    nothing = LowerBound(lower_bound, np.zeros(len(instance.bounds)), np.zeros(len(instance.activities)))
    partitions = Partitions(lower_bound)  # lines 1-2
    _examine(partitions, instance, root, iterations, mode, nothing)  # lines 3-9
    yield partitions
    while partitions.upper_bound - partitions.lower_bound > epsilon:  # line 10
        if partitions.next_bound >= partitions.cutoff:
            # Nothing is left to split, or nothing that could be better than the incumbent.
            return
        beta, partition = partitions.pop()  # line 11
        parts = mode.split(instance, partition.box, root, partition.bound, iterations)  # line 12
        if not parts:
            partitions.prune(beta)
        for part in parts:  # lines 13-14
            _examine(partitions, instance, part, iterations, mode, partition.bound)  # lines 15-19
        yield partitions  # lines 20-22; whoever runs the generator returns the incumbent, line 23


def _examine(
    partitions: Partitions, instance: Instance, box: Box, iterations: float, mode: Mode, parent: LowerBound
) -> None:
    """Bound a box from both sides and open it: lines 2-9 for the first, lines 13 and 15-21 for the others."""
    partitions.examined += 1
    alpha, solution = mode.compute_ub(instance, box, iterations, parent)  # lines 3 and 15
    if solution is not None:  # lines 4 and 16
        partitions.offer(alpha, Incumbent(solution, box.upper))  # lines 5-6 and 17-18, if it is better
    bound = mode.compute_lb(instance, box, iterations, parent, partitions.cutoff)  # lines 7 and 19
    if bound.value < partitions.cutoff:
        for suggested in mode.suggestions(instance, bound, iterations):
            usage = instance.usage_of(suggested)
            partitions.offer(instance.cost_of(suggested), Incumbent(suggested, usage))
    partitions.push(bound.value, Partition(box, bound))  # lines 2 and 13; 8-9 and 20-21 follow from it
