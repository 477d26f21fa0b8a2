"""Which oracle serves which problem."""

from __future__ import annotations

import logging
from typing import Any

from hcssp.cssp.model import CSSP
from hcssp.dual.flat_oracle import Evaluation, FlatOracle
from hcssp.dual.oracle import Oracle
from hcssp.dual.procedure_oracle import ProcedureOracle
from hcssp.errors import DeadEnd
from hcssp.procedure.model import HCSSP

logger = logging.getLogger(__name__)


def oracle_of(problem: CSSP | HCSSP, evaluation: Evaluation = "auto") -> Oracle[Any]:
    """The fastest oracle that is exact for `problem`; its vertices are its own affair."""
    if isinstance(problem, HCSSP):
        flattening = problem.flattening
        if flattening.separable:
            try:
                return ProcedureOracle(flattening)
            except DeadEnd as error:
                # One activity cannot be completed for sure; the procedure may still do without it.
                logger.info("planning the flattened problem: %s", error)
        return FlatOracle(flattening.cssp, evaluation)
    return FlatOracle(problem, evaluation)
