"""The paper's method: Algorithms 1 to 5, each in the file of its name, and the solver that runs them.

What the mode sharp adds lies in the folder of that name.
"""

from __future__ import annotations

from hcssp.methods.paper.algorithm_1_branch_and_bound import branch_and_bound
from hcssp.methods.paper.algorithm_2_activity_planning import activity_planning
from hcssp.methods.paper.algorithm_3_procedural_planning import procedural_planning
from hcssp.methods.paper.algorithm_4_compute_lb import compute_lb
from hcssp.methods.paper.algorithm_5_compute_ub import compute_ub
from hcssp.methods.paper.box import Box
from hcssp.methods.paper.instance import Instance
from hcssp.methods.paper.modes import MODES, find_mode
from hcssp.methods.paper.solver import BudgetAllocation

__all__ = [
    "MODES",
    "Box",
    "BudgetAllocation",
    "Instance",
    "activity_planning",
    "branch_and_bound",
    "compute_lb",
    "compute_ub",
    "find_mode",
    "procedural_planning",
]
