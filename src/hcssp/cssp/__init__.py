"""A constrained stochastic shortest path problem (C-SSP): state it, check it, prepare it.

Four ways to make one: :class:`CSSPBuilder`, :func:`explore`, :func:`from_arrays` and
:class:`GridWorld`. All of them validate once and give a frozen :class:`CSSP`.
"""

from __future__ import annotations

from hcssp.cssp.arrays import from_arrays
from hcssp.cssp.builder import ActionHandle, CSSPBuilder, StateHandle
from hcssp.cssp.exploration import explore, explore_in_batches
from hcssp.cssp.grid import GridWorld, Hazard, render_policy
from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy, RandomisedPolicy
from hcssp.cssp.preprocessing import Prepared, prepare, with_giving_up
from hcssp.cssp.transition_batch import TransitionBatch
from hcssp.cssp.transition_costs import TransitionCosts
from hcssp.cssp.validation import validated, violations

__all__ = [
    "CSSP",
    "NO_ROW",
    "ActionHandle",
    "CSSPBuilder",
    "DeterministicPolicy",
    "GridWorld",
    "Hazard",
    "ImplicitCSSP",
    "Prepared",
    "RandomisedPolicy",
    "StateHandle",
    "TransitionBatch",
    "TransitionCosts",
    "explore",
    "explore_in_batches",
    "from_arrays",
    "prepare",
    "render_policy",
    "validated",
    "violations",
    "with_giving_up",
]
