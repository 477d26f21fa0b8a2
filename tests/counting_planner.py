"""An activity's planner that counts how often something is planned, and not only looked up."""

from __future__ import annotations

from hcssp.cssp.model import BoolArray, FloatArray
from hcssp.dual.activity_planner import ActivityPlanner
from hcssp.dual.value_cache import ActivityPlan
from hcssp.ssp.policy_iteration import ScalarOptimum


class CountingPlanner(ActivityPlanner):
    """Counts its plans."""

    num_plans = 0

    def solve(
        self,
        weights: FloatArray,
        allowed: BoolArray | None,
        warm: ActivityPlan | None = None,
        partly: bool = False,
    ) -> ScalarOptimum | None:
        self.num_plans += 1
        return super().solve(weights, allowed, warm, partly)
