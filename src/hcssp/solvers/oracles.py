"""Which oracle serves which problem."""

from __future__ import annotations

from hcssp.cssp.model import CSSP
from hcssp.hierarchy.flattening import Flattening
from hcssp.hierarchy.model import HCSSP
from hcssp.lagrangian.flat import Evaluation, FlatOracle
from hcssp.lagrangian.hierarchical import HierarchicalOracle
from hcssp.lagrangian.oracle import Oracle


def oracle_of(problem: CSSP | HCSSP, evaluation: Evaluation = "auto") -> Oracle:
    """The fastest oracle that is exact for `problem`."""
    if isinstance(problem, HCSSP):
        flattening = Flattening(problem)
        if flattening.separable:
            return HierarchicalOracle(flattening)
        return FlatOracle(flattening.cssp, evaluation)
    return FlatOracle(problem, evaluation)
