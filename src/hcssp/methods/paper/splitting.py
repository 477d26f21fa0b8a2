"""How the paper splits a box: along one of its longest edges, in the middle.

Lengths are compared as they are, whatever unit the edge is measured in and however often its activity is run.
The paper's convergence needs them to vanish; in double precision an edge ends where its parts could no longer
be told apart.
"""

from __future__ import annotations

import numpy as np

from hcssp.methods.paper.box import Box

SHORTEST_EDGE = 1e-9
"""An edge is not split below this share of its first length: thirty halvings."""


def halve_longest_edge(box: Box, root: Box) -> tuple[Box, ...]:
    """The two halves of `box`, or nothing if every edge is as short as it may become.

    Parameters
    ----------
    box, root
        The box, and the one that the search began with.

    Examples
    --------
    >>> root = Box(np.zeros(2), np.array([2.0, 8.0]))
    >>> [half.upper.tolist() for half in halve_longest_edge(root, root)]
    [[2.0, 4.0], [2.0, 8.0]]
    """
    lengths = np.where(box.lengths > SHORTEST_EDGE * root.lengths, box.lengths, 0.0)
    if not np.any(lengths > 0.0):
        return ()
    edge = int(np.argmax(lengths))
    return box.split(edge, at=0.5 * float(box.lower[edge] + box.upper[edge]))
