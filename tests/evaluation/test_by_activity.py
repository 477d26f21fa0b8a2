from __future__ import annotations

import numpy as np
import pytest

from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.policy import NO_ROW
from hcssp.errors import CostOverflow, ImproperPolicy
from hcssp.evaluation import exact
from hcssp.evaluation.chain import activity_chain, induced_chain
from hcssp.evaluation.exact import ProcedureEvaluation, evaluate, expected_remaining
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder, ProcedurePolicy
from hcssp.solving.solve import solve
from random_procedures import random_procedure
from volume import some


def both_ways(
    policy: ProcedurePolicy, monkeypatch: pytest.MonkeyPatch
) -> tuple[ProcedureEvaluation, ProcedureEvaluation]:
    """The evaluation of the whole chain, and that by activities."""
    problem = policy.problem
    answers = []
    for least in (10**9, 0):
        monkeypatch.setattr(exact, "MIN_STATES_PER_ACTIVITY", least)
        answers.append(evaluate(problem, ProcedurePolicy(problem, policy.rows.copy())))
    return answers[0], answers[1]


@pytest.mark.parametrize("seed", some(range(40), 8))
def test_the_parts_make_up_the_whole(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_procedure(seed, cycles=seed % 2 == 0)
    assert problem.flattening.separable
    plan = solve(problem.with_bounds(dict.fromkeys(problem.constraint_names, np.inf)), PolicyBranching())
    policy = plan.policy
    assert isinstance(policy, ProcedurePolicy)
    whole, parts = both_ways(policy, monkeypatch)
    allowed = whole.residual + parts.residual
    assert 0.0 < parts.residual <= 1e-11
    assert parts.costs == pytest.approx(whole.costs, rel=allowed, abs=0.0)
    assert parts.visits == pytest.approx(whole.visits, rel=1e-11)
    for one, other in zip(whole.activities, parts.activities, strict=True):
        assert (other.cost, other.expected_executions) == pytest.approx(
            (one.cost, one.expected_executions), rel=1e-11
        )
    assert parts.limits == whole.limits
    # What is to come from anywhere: as the whole chain says.
    everywhere = induced_chain(problem, policy).remaining()
    found = expected_remaining(problem, policy)
    assert (np.isnan(found) == np.isnan(everywhere)).all()
    np.testing.assert_allclose(found, everywhere, rtol=1e-11, atol=0.0)


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


def test_a_cost_too_small_for_a_number_is_still_a_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, parts = both_ways(taking(retrying(1.0 / 8.0), 0), monkeypatch)
    assert parts.costs[0] == pytest.approx(whole.costs[0], rel=1e-14) == 15.0
    assert parts.costs[1] > 0.0
    assert parts.activity("leg").expected_executions == pytest.approx(1.0)


def test_what_never_ends_and_what_ends_too_late_are_told_as_for_the_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for least in (10**9, 0):
        monkeypatch.setattr(exact, "MIN_STATES_PER_ACTIVITY", least)
        stuck = taking(retrying(0.5, ends=False), 1)
        with pytest.raises(ImproperPolicy, match="there"):
            evaluate(stuck.problem, stuck)
        late = taking(retrying(1e-308), 1)
        with pytest.raises(CostOverflow, match="so late"):
            evaluate(late.problem, late)


def test_what_is_impossible_is_no_way_and_stays_in_the_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of probability nought is taken out of the chain, of the problem's own arrays it is not."""
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
    way.add_choice(
        begin, "go", to=[Outcome(1.0, end, runs=way.add_activity("leg", cssp.derive(transitions=moves)))]
    )
    problem = way.build(start=begin, end=end)
    rows = problem.flattening.row_start[:-1].copy()
    rows[problem.flattening.end] = NO_ROW
    before = problem.activities[0].cssp.transitions.data.copy()
    chain = activity_chain(ProcedurePolicy(problem, rows), 0)
    assert chain.is_proper
    assert chain.inner.tolist() == [0]
    found = chain.absorbed()
    assert found is not None
    assert found.visits.tolist() == [1.0]
    assert problem.activities[0].cssp.transitions.data.tolist() == before.tolist()


def test_a_chain_too_long_for_visits_alone_is_solved_with_care(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, parts = both_ways(taking(retrying(1e-15), 0), monkeypatch)
    assert parts.costs == pytest.approx(whole.costs, rel=whole.residual + parts.residual, abs=0.0)
    # One of two ways runs the leg, of two steps until it is done, and the other begins anew.
    assert parts.costs[0] == pytest.approx(2e15 - 1.0, rel=1e-11)
