from __future__ import annotations

import numpy as np

from hcssp.dual.activity_curve import ActivityPlan, Bracket
from hcssp.dual.activity_planner import ActivityPlanner
from hcssp.dual.loose_slots import loose_slots
from hcssp.ssp.policy_iteration import ScalarOptimum
from small_procedures import risky_room


def bracket(value: float, bound: float, final: bool = False) -> Bracket:
    costs = np.array([value, 0.0])
    rows = np.zeros(0, dtype=np.int64)
    system = ActivityPlanner(risky_room(), frozenset()).system
    plan = ActivityPlan(ScalarOptimum(rows, np.zeros((0, 2)), costs, bound), system)
    return Bracket(plan, value, bound, final)


def test_only_what_is_executed_and_leaves_something_open_is_planned_anew() -> None:
    known = [bracket(5.0, 4.0), bracket(5.0, 4.9), None, bracket(9.0, 1.0, final=True), bracket(7.0, 2.0)]
    executions = np.array([1.0, 1.0, 0.0, 1.0, 0.0])
    assert loose_slots(known, executions, tolerance=1.2) == []
    # A room that is never entered may be as unknown as it likes.
    assert loose_slots(known, executions, tolerance=1.0) == [0]
    assert loose_slots(known, executions, tolerance=0.1) == [0, 1]
    # What is executed ten times leaves ten times as much open.
    assert loose_slots(known, 10.0 * executions, tolerance=1.2) == [0, 1]


def test_no_more_is_planned_than_it_takes() -> None:
    known = [bracket(5.0, 4.9), bracket(5.0, 3.0), bracket(5.0, 4.0), bracket(5.0, 4.8)]
    executions = np.ones(4)
    assert loose_slots(known, executions, 4.0, as_few=True) == []
    # The widest are two and one: without the first, the others leave 1.3 open, without both 0.3.
    assert loose_slots(known, executions, 2.0, as_few=True) == [1]
    assert loose_slots(known, executions, 1.0, as_few=True) == [1, 2]
    assert loose_slots(known, executions, 0.0, as_few=True) == [0, 1, 2, 3]
    assert loose_slots(known, executions, 2.0) == [1, 2]
