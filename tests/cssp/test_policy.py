from __future__ import annotations

import numpy as np
import pytest

from hcssp.cssp import NO_ROW, CSSPBuilder, DeterministicPolicy


def test_actions_come_back_by_name() -> None:
    plan = CSSPBuilder()
    home, attic, out = plan.add_state("home"), plan.add_state("attic"), plan.add_goal("out")
    plan.add_action(home, "walk", to=out)
    plan.add_action(attic, "climb", to=home)
    problem = plan.build()
    policy = DeterministicPolicy(np.array([0, NO_ROW, NO_ROW]))
    assert policy.actions(problem) == {"home": "walk"}
    assert policy.action(problem, "home") == "walk"
    with pytest.raises(KeyError, match="the policy says nothing about state 'attic'"):
        policy.action(problem, "attic")
