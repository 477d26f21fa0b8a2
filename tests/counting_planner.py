"""An activity's planner that counts how often something is planned, and not only looked up."""

from __future__ import annotations

from hcssp.cssp.model import FloatArray
from hcssp.dual.activity_curve import ActivityPlan
from hcssp.dual.activity_planner import ActivityPlanner
from hcssp.ssp.policy_iteration import ScalarOptimum


class CountingPlanner(ActivityPlanner):
    """Counts its plans."""

    num_plans = 0

    def _solve(
        self, weights: FloatArray, forbidden: frozenset[int], warm: ActivityPlan | None
    ) -> ScalarOptimum | None:
        self.num_plans += 1
        return super()._solve(weights, forbidden, warm)
