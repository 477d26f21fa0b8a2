"""The paper's method: Algorithms 1 to 5, the additions of the mode sharp, and the solver that runs them."""

from __future__ import annotations

from hcssp.methods.paper.algorithms import (
    activity_planning,
    branch_and_bound,
    compute_lb,
    compute_ub,
    procedural_planning,
)
from hcssp.methods.paper.instance import Box, BudgetParameters, Instance
from hcssp.methods.paper.solver import MODES, BudgetAllocation, find_mode

__all__ = [
    "MODES",
    "Box",
    "BudgetAllocation",
    "BudgetParameters",
    "Instance",
    "activity_planning",
    "branch_and_bound",
    "compute_lb",
    "compute_ub",
    "find_mode",
    "procedural_planning",
]
