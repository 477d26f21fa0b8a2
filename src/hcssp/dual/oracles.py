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


def oracle_of(
    problem: CSSP | HCSSP, evaluation: Evaluation = "auto", like: Oracle[Any] | None = None
) -> Oracle[Any]:
    """The fastest oracle that is exact for `problem`; its vertices are its own affair.

    Parameters
    ----------
    problem
        What is asked about.
    evaluation
        How policies of a flat problem are evaluated.
    like
        The oracle of a problem that may have some of the same activities, which then share what is known.
        It must not be asked by another thread.
    """
    if isinstance(problem, HCSSP):
        flattening = problem.flattening
        if flattening.separable:
            known = like if isinstance(like, ProcedureOracle) else None
            return ProcedureOracle(flattening, affordable=True, like=known)
        return DoorsOracle(flattening, evaluation, affordable=True)
    return EnvelopeOracle(problem, evaluation, affordable=True)
