from __future__ import annotations

import numpy as np
import pytest

from hcssp.errors import DeadEnd
from hcssp.evaluation import evaluate
from hcssp.procedure import Outcome, ProcedureBuilder, ProcedurePolicy
from hcssp.procedure.pruning import without_dead_ends
from small_procedures import jump_or_walk, with_a_pit


def test_what_cannot_end_is_gone_and_what_leads_only_there() -> None:
    problem = jump_or_walk()
    found = without_dead_ends(problem)
    assert found is not None
    assert found.problem.events == ("start", "end")
    assert [choice.name for choice in found.problem.choices] == ["walk"]
    assert [activity.name for activity in found.problem.activities] == ["walk"]
    assert [dict(constraint.counts) for constraint in found.problem.constraints] == [{0: 1}, {}]
    assert found.problem.bounds.tolist() == [2.0, 1.0]


def test_a_policy_of_the_part_is_one_of_the_whole() -> None:
    problem = jump_or_walk()
    found = without_dead_ends(problem)
    assert found is not None
    own = ProcedurePolicy.compose(found.problem, {(0, None): 0}, [np.array([0, -1, -1])])
    whole = found.lift(own)
    assert whole.problem is problem
    assert whole.choice("start") == "walk"
    answer = evaluate(problem, whole)
    assert answer.costs.tolist() == pytest.approx([5.0, 1.0, 0.0])
    assert evaluate(found.problem, own).costs == pytest.approx(answer.costs)


def test_where_nothing_ends_a_trap_is_named() -> None:
    with pytest.raises(DeadEnd, match=r"activity 'jump', initial state 'in': .* for example in state 'pit'"):
        without_dead_ends(jump_or_walk(walk=False))


def test_what_ends_stays_as_it_is() -> None:
    procedure = ProcedureBuilder()
    start, end = procedure.add_event("start"), procedure.add_event("end")
    walk = procedure.add_activity("walk", with_a_pit(5.0))
    procedure.add_choice(start, "walk", to=[Outcome(1.0, end, runs=walk)])
    problem = procedure.build(start=start, end=end)
    assert without_dead_ends(problem) is None
