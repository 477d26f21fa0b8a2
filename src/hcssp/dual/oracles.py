"""Which oracle serves which problem."""

from __future__ import annotations

from typing import Any

from hcssp.cssp.model import CSSP
from hcssp.dual.doors_oracle import DoorsOracle
from hcssp.dual.envelope_oracle import EnvelopeOracle
from hcssp.dual.flat_oracle import Evaluation
from hcssp.dual.oracle import Oracle
from hcssp.dual.procedure_oracle import ProcedureOracle
from hcssp.procedure.model import HCSSP


def oracle_of(problem: CSSP | HCSSP, evaluation: Evaluation = "auto") -> Oracle[Any]:
    """The fastest oracle that is exact for `problem`; its vertices are its own affair."""
    if isinstance(problem, HCSSP):
        flattening = problem.flattening
        if flattening.separable:
            return ProcedureOracle(flattening, affordable=True)
        return DoorsOracle(flattening, evaluation, affordable=True)
    return EnvelopeOracle(problem, evaluation, affordable=True)
