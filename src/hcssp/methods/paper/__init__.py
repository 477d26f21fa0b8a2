"""The paper's method: Algorithms 1 to 5, each in the file of its name, and the solver that runs them."""

from __future__ import annotations

from hcssp.methods.paper.activity_planning import activity_planning
from hcssp.methods.paper.box import Box
from hcssp.methods.paper.branch_and_bound import branch_and_bound
from hcssp.methods.paper.compute_lb import compute_lb
from hcssp.methods.paper.compute_ub import compute_ub
from hcssp.methods.paper.limits import initial_box
from hcssp.methods.paper.planning import Planning
from hcssp.methods.paper.procedural_planning import procedural_planning
from hcssp.methods.paper.solver import BudgetAllocation

__all__ = [
    "Box",
    "BudgetAllocation",
    "Planning",
    "activity_planning",
    "branch_and_bound",
    "compute_lb",
    "compute_ub",
    "initial_box",
    "procedural_planning",
]
