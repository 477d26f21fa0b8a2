from __future__ import annotations

import numpy as np
import pytest

from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.policy import NO_ROW
from hcssp.errors import CostOverflow, ImproperPolicy
from hcssp.evaluation.exact import evaluate
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder, ProcedurePolicy
from hcssp.solving.solve import solve
from random_procedures import random_procedure
from volume import some


@pytest.mark.parametrize("seed", some(range(40), 8))
def test_the_activities_make_up_the_whole(seed: int) -> None:
    problem = random_procedure(seed, cycles=seed % 2 == 0)
    plan = solve(problem.with_bounds(dict.fromkeys(problem.constraint_names, np.inf)), PolicyBranching())
    whole = evaluate(problem, plan.policy.procedure)
    assert sum(each.cost for each in whole.activities) == pytest.approx(whole.costs[0], rel=1e-11)
    for constraint, cost in zip(problem.constraints, whole.costs[1:], strict=True):
        used = sum(whole.activities[index].usage[constraint.name] for index in constraint.counts)
        assert used == pytest.approx(cost, rel=1e-11)


def retrying(chance: float, *, ends: bool = True, time: float = 1.0) -> HCSSP:
    """Two tries with some chance each, and a place from which one may never come back."""
    room = CSSPBuilder(cost_names=("time", "damage"))
    here, there, out = room.add_state("here"), room.add_state("there"), room.add_goal("out")
    room.add_action(here, "try", to={out: chance, there: 1.0 - chance}, costs=(time, 5e-324))
    room.add_action(there, "return", to=here, costs=(time, 0.0))
    room.add_action(there, "stay", to={there: 0.5, here: 0.5} if ends else there, costs=(1.0, 0.0))
    way = ProcedureBuilder()
    begin, end = way.add_event("begin"), way.add_event("end")
    leg = way.add_activity("leg", room.build())
    way.add_choice(begin, "go", to=[Outcome(0.5, end, runs=leg), Outcome(0.5, begin)])
    way.add_constraint("damage", at_most=1.0, counts={leg: "damage"})
    return way.build(start=begin, end=end)


def taking(problem: HCSSP, action: int) -> ProcedurePolicy:
    """The policy that takes the second state's first or second action."""
    rows = problem.flattening.row_start[:-1].copy()
    rows[problem.flattening.end] = NO_ROW
    rows[problem.flattening.state_offset[0] + 1] += action
    return ProcedurePolicy(problem, rows)


def test_a_cost_too_small_for_a_number_is_still_a_cost() -> None:
    policy = taking(retrying(1.0 / 8.0), 0)
    found = evaluate(policy.problem, policy)
    assert found.costs[0] == pytest.approx(15.0, rel=1e-14)
    assert found.costs[1] > 0.0
    assert found.activity("leg").expected_executions == pytest.approx(1.0)


def test_an_activity_that_never_ends_or_ends_too_late_is_refused() -> None:
    stuck = taking(retrying(0.5, ends=False), 1)
    with pytest.raises(ImproperPolicy, match="there"):
        evaluate(stuck.problem, stuck)
    late = taking(retrying(1e-308), 1)
    with pytest.raises(CostOverflow, match="so late"):
        evaluate(late.problem, late)


def test_an_impossible_step_is_not_taken_and_stays_in_the_arrays() -> None:
    room = CSSPBuilder(cost_names=("time",))
    here, there, out = room.add_state("here"), room.add_state("there"), room.add_goal("out")
    room.add_action(here, "go", to={out: 0.5, there: 0.5}, costs=1.0)
    room.add_action(there, "stay", to=there, costs=1.0)
    cssp = room.build()
    moves = cssp.transitions.copy()
    moves.data[moves.indices == 1] = 0.0
    moves.data[moves.indices == 2] = 1.0
    way = ProcedureBuilder()
    begin, end = way.add_event("begin"), way.add_event("end")
    leg = way.add_activity("leg", cssp.derive(transitions=moves))
    way.add_choice(begin, "go", to=[Outcome(1.0, end, runs=leg)])
    problem = way.build(start=begin, end=end)
    rows = problem.flattening.row_start[:-1].copy()
    rows[problem.flattening.end] = NO_ROW
    before = problem.activities[0].cssp.transitions.data.copy()
    found = evaluate(problem, ProcedurePolicy(problem, rows))
    assert found.visits[problem.flattening.state_offset[0] :].tolist() == [1.0, 0.0]
    assert problem.activities[0].cssp.transitions.data.tolist() == before.tolist()


def test_a_chain_too_long_for_visits_alone_is_solved_with_care() -> None:
    policy = taking(retrying(1e-15), 0)
    found = evaluate(policy.problem, policy)
    # One of two ways runs the leg, of two steps until it is done, and the other begins again.
    assert found.costs[0] == pytest.approx(2e15 - 1.0, rel=1e-11)
