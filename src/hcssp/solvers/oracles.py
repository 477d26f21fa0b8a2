"""Which oracle serves which problem."""

from __future__ import annotations

import logging

from hcssp.cssp.model import CSSP
from hcssp.errors import DeadEnd
from hcssp.hierarchy.flattening import Flattening
from hcssp.hierarchy.model import HCSSP
from hcssp.lagrangian.flat import Evaluation, FlatOracle
from hcssp.lagrangian.hierarchical import HierarchicalOracle
from hcssp.lagrangian.oracle import Oracle

logger = logging.getLogger(__name__)


def oracle_of(problem: CSSP | HCSSP, evaluation: Evaluation = "auto") -> Oracle:
    """The fastest oracle that is exact for `problem`."""
    if isinstance(problem, HCSSP):
        flattening = Flattening(problem)
        if flattening.separable:
            try:
                return HierarchicalOracle(flattening)
            except DeadEnd as error:
                # One activity cannot be completed for sure; the procedure may still do without it.
                logger.info("planning the flattened problem: %s", error)
        return FlatOracle(flattening.cssp, evaluation)
    return FlatOracle(problem, evaluation)
