from __future__ import annotations

import numpy as np
import pytest

from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.policy import NO_ROW, RandomisedPolicy
from hcssp.evaluation import evaluate
from hcssp.methods.highs.occupation import randomised


def test_noise_in_a_flow_does_not_send_anyone_in_circles() -> None:
    plan = CSSPBuilder(cost_names=("time",))
    here, aside, beyond, out = (
        plan.add_state("here"),
        plan.add_state(),
        plan.add_state(),
        plan.add_goal("out"),
    )
    plan.add_action(here, "go", to=out, costs=1.0)
    plan.add_action(here, "stray", to=aside, costs=1.0)
    plan.add_action(aside, "circle", to=beyond, costs=1.0)
    plan.add_action(aside, "leave", to=out, costs=1.0)
    plan.add_action(beyond, "circle", to={aside: 1.0 - 1e-9, out: 1e-9}, costs=1.0)
    plan.add_action(beyond, "leave", to=out, costs=1.0)
    problem = plan.build()
    # What a solver may return: right but for a circulation far below its tolerance.
    flow = np.array([1.0, 1e-12, 1e-10, 0.0, 1e-10, 0.0])
    probabilities = randomised(problem, flow, np.array([0, 3, 5, NO_ROW]))
    assert probabilities[:2].tolist() == [1.0, 0.0]
    assert evaluate(problem, RandomisedPolicy(problem, probabilities)).costs[0] == pytest.approx(
        1.0, abs=1e-9
    )
