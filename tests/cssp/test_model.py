from __future__ import annotations

import numpy as np
import pytest

from hcssp.cssp import CSSP, CSSPBuilder
from hcssp.errors import InvalidProblem


def small() -> CSSP:
    plan = CSSPBuilder(cost_names=("time", "damage", "noise"), bounds={"noise": 4.0})
    home, out = plan.add_state("home"), plan.add_goal("out")
    plan.add_action(home, "walk", to=out, costs=(3.0, 0.0, 1.0))
    plan.add_action(home, "run", to={out: 0.5, home: 0.5}, costs=(1.0, 4.0, 2.0))
    return plan.build()


def test_sizes_and_names() -> None:
    problem = small()
    assert (problem.num_states, problem.num_rows, problem.num_constraints) == (2, 2, 2)
    assert problem.row_state.tolist() == [0, 0]
    assert problem.state_index == {"home": 0, "out": 1}
    assert problem.primary_name == "time"
    assert problem.constraint_names == ("damage", "noise")


def test_the_arrays_are_frozen() -> None:
    problem = small()
    for array in (problem.costs, problem.initial, problem.goals, problem.bounds, problem.row_start):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_labels_are_numbers_unless_given() -> None:
    problem = small()
    bare = CSSP(
        problem.transitions, problem.row_start, problem.costs, problem.initial, problem.goals,
        problem.cost_names, problem.bounds,
    )  # fmt: skip
    assert list(bare.state_labels) == [0, 1]
    assert list(bare.action_labels) == [0, 1]


def test_other_bounds_leave_the_rest_alone() -> None:
    problem = small()
    changed = problem.with_bounds({"damage": 1.5})
    assert changed.bounds.tolist() == [1.5, 4.0]
    assert problem.with_bounds(noise=2.0).bounds.tolist() == [np.inf, 2.0]
    assert problem.bounds.tolist() == [np.inf, 4.0]
    assert list(changed.state_labels) == ["home", "out"]


def test_wrong_bounds_are_reported_together() -> None:
    with pytest.raises(InvalidProblem) as raised:
        small().with_bounds(time=1.0, noise=float("nan"))
    assert raised.value.violations == (
        "bound on 'time': no such secondary cost; the secondary costs are 'damage', 'noise'",
        "bound on 'noise': nan is no upper bound; give a finite number, or inf for none",
    )
