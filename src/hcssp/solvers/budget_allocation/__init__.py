"""The paper's method: Algorithms 1 to 5, each in the file of its name, and the solver that runs them."""

from __future__ import annotations

from hcssp.solvers.budget_allocation.activity_planning import activity_planning
from hcssp.solvers.budget_allocation.box import Box
from hcssp.solvers.budget_allocation.branch_and_bound import branch_and_bound
from hcssp.solvers.budget_allocation.compute_lb import compute_lb
from hcssp.solvers.budget_allocation.compute_ub import compute_ub
from hcssp.solvers.budget_allocation.limits import initial_box
from hcssp.solvers.budget_allocation.planning import Planning
from hcssp.solvers.budget_allocation.procedural_planning import procedural_planning
from hcssp.solvers.budget_allocation.solver import BudgetAllocation

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
