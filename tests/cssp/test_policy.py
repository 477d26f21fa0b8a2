from __future__ import annotations

import numpy as np

from hcssp.cssp import NO_ROW, CSSPBuilder, DeterministicPolicy


def test_actions_come_back_by_name() -> None:
    plan = CSSPBuilder()
    home, attic, out = plan.add_state("home"), plan.add_state("attic"), plan.add_goal("out")
    plan.add_action(home, "walk", to=out)
    plan.add_action(attic, "climb", to=home)
    problem = plan.build()
    policy = DeterministicPolicy(problem, np.array([0, NO_ROW, NO_ROW]))
    assert policy.actions() == {"home": "walk"}
    assert policy.action("home") == "walk"
    assert policy.action("attic") is None
