from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from brute_force import brute_force
from hcssp.checker import check
from hcssp.contract.proof import Status
from hcssp.cssp import CSSP, CSSPBuilder, GridWorld, prepare, with_giving_up
from hcssp.cssp.preprocessing import dominating_rows
from hcssp.cssp.reachability import almost_sure, reachable
from hcssp.errors import DeadEnd, InvalidProblem
from hcssp.procedure import Outcome, ProcedureBuilder
from hcssp.proofs.builder import ProofBuilder
from hcssp.scenarios.domains.racetrack import racetrack
from hcssp.solving.solve import solve
from random_problems import cssps, random_cssp
from volume import examples, some


def cliff(*, safe: bool = True) -> CSSP:
    """A path along a cliff: jumping may end in a pit, and an attic is never entered."""
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": 1.0})
    edge, ledge, pit, attic = (plan.add_state(label) for label in ("edge", "ledge", "pit", "attic"))
    out, exit_ = plan.add_goal("out"), plan.add_goal("exit")
    plan.add_action(edge, "jump", to={out: 0.5, pit: 0.5}, costs=1.0)
    if safe:
        plan.add_action(edge, "walk", to=ledge, costs=2.0)
    plan.add_action(ledge, "slip", to={pit: 0.25, out: 0.75}, costs=1.0)
    plan.add_action(ledge, "go", to=out, costs=3.0)
    plan.add_action(pit, "cry", to=pit, costs=1.0)
    plan.add_action(attic, "leave", to=exit_, costs=1.0)
    return plan.build()


def test_nothing_to_drop_gives_the_same_problem() -> None:
    problem = GridWorld(4, 3, (0, 1), (5, 2), slip=0.1).to_cssp()
    ready = prepare(problem)
    assert ready.problem is problem
    rows = np.arange(problem.num_states)
    assert ready.lift(rows) is rows


def test_dead_ends_and_unreachable_states_are_dropped() -> None:
    ready = prepare(cliff())
    assert list(ready.problem.state_labels) == ["edge", "ledge", "out"]
    assert list(ready.problem.action_labels) == ["walk", "go"]
    assert ready.states.tolist() == [0, 1, 4]
    assert ready.rows.tolist() == [1, 3]
    assert ready.problem.costs.tolist() == [[2.0, 3.0], [0.0, 0.0]]
    assert ready.problem.transitions.toarray().tolist() == [[0, 1, 0], [0, 0, 1]]
    assert ready.problem.goals.tolist() == [False, False, True]
    assert ready.problem.bounds.tolist() == [1.0]


def test_policies_come_back_to_the_original() -> None:
    ready = prepare(cliff())
    assert ready.lift(np.array([0, 1, -1])).tolist() == [1, 3, -1, -1, -1, -1]


def test_a_start_that_is_a_goal_needs_no_row() -> None:
    plan = CSSPBuilder()
    plan.add_goal("out")
    plan.add_action(plan.add_state("elsewhere"), "come", to="out")
    ready = prepare(plan.build())
    assert (ready.problem.num_states, ready.problem.num_rows) == (1, 0)
    assert ready.lift(np.array([-1])).tolist() == [-1, -1]


def test_a_trapped_state_is_named_with_the_remedy() -> None:
    with pytest.raises(DeadEnd) as raised:
        prepare(cliff(safe=False))
    assert str(raised.value) == (
        "initial state 'edge': no policy reaches a goal with certainty; every policy may be trapped, "
        "for example in state 'pit', from which no goal can be reached; "
        "allow giving up at a finite penalty with with_giving_up(problem, penalty=...)"
    )


def test_a_start_in_a_dead_end_is_named() -> None:
    plan = CSSPBuilder()
    plan.add_state("cell")
    plan.add_goal("out")
    with pytest.raises(DeadEnd) as raised:
        prepare(plan.build())
    assert str(raised.value) == (
        "initial state 'cell': it is a dead end, no goal can be reached from it; "
        "allow giving up at a finite penalty with with_giving_up(problem, penalty=...)"
    )


@settings(max_examples=examples(100))
@given(cssps())
def test_preparing_changes_no_optimum(problem: CSSP) -> None:
    ready = prepare(problem)
    before, after = brute_force(problem), brute_force(ready.problem)
    assert after.status == before.status
    assert after.value == pytest.approx(before.value)
    assert len(after.policies) == len(before.policies)
    lifted = {tuple(ready.lift(rows).tolist()) for rows in after.policies}
    assert lifted == {tuple(rows.tolist()) for rows in before.policies}


@settings(max_examples=examples(100))
@given(cssps())
def test_a_prepared_problem_has_nothing_left_to_drop(problem: CSSP) -> None:
    reduced = prepare(problem).problem
    assert reachable(reduced).all()
    assert almost_sure(reduced).states.all()
    assert prepare(reduced).problem is reduced


def test_giving_up_in_dead_ends_only_by_default() -> None:
    problem = with_giving_up(cliff(safe=False), penalty=100.0)
    pit = problem.state_index["pit"]
    last = int(problem.row_start[pit + 1]) - 1
    assert [label for label in problem.action_labels if label == "give up"] == ["give up"]
    assert problem.action_labels[last] == "give up"
    assert problem.costs[:, last].tolist() == [100.0, 0.0]
    assert problem.transitions[[last]].toarray().tolist() == [[0, 0, 0, 0, 1, 0]]
    assert list(problem.state_labels) == list(cliff(safe=False).state_labels)
    assert brute_force(prepare(problem).problem).value == 1.0 + 0.5 * 100.0


def test_giving_up_may_cost_several_things() -> None:
    problem = with_giving_up(cliff(safe=False), penalty={"damage": 3.0})
    last = int(problem.row_start[problem.state_index["pit"] + 1]) - 1
    assert problem.costs[:, last].tolist() == [0.0, 3.0]


def test_giving_up_everywhere_caps_the_cost() -> None:
    problem = with_giving_up(
        cliff(safe=False), penalty=20.0, where="everywhere", goal="exit", label="call for help"
    )
    assert problem.num_rows == cliff(safe=False).num_rows + 4
    assert brute_force(prepare(problem).problem).value == 1.0 + 0.5 * 20.0
    helped = [row for row, label in enumerate(problem.action_labels) if label == "call for help"]
    assert problem.transitions[helped].toarray()[:, problem.state_index["exit"]].tolist() == [1.0] * 4
    cheap = with_giving_up(cliff(safe=False), penalty=1.0, where="everywhere")
    assert brute_force(prepare(cheap).problem).value == 1.0


def test_giving_up_where_nobody_is_lost_changes_nothing() -> None:
    problem = GridWorld(2, 2, (1, 1), (2, 2)).to_cssp()
    assert with_giving_up(problem, penalty=5.0) is problem


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"penalty": np.inf}, "the penalty for giving up is inf; it must be finite and not negative"),
        ({"penalty": np.nan}, "the penalty for giving up is nan; it must be finite and not negative"),
        ({"penalty": -1.0}, "the penalty for giving up is -1.0; it must be finite and not negative"),
        ({"penalty": {"tiem": 1.0}}, "there is no cost 'tiem'; did you mean 'time'?"),
        ({"where": "nowhere"}, "where is 'nowhere'; give 'dead ends' or 'everywhere'"),
        ({"goal": "pit"}, "giving up leads to 'pit', which is not a goal; name one, or none"),
        ({"goal": "moon"}, "giving up leads to 'moon', which is not a goal; name one, or none"),
        (
            {"label": "cry"},
            "state 'pit', action 'cry': the state has two actions of this name; give each its own",
        ),
    ],
)
def test_mistakes_of_giving_up(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(InvalidProblem) as raised:
        with_giving_up(cliff(), **{"penalty": 1.0, **changes})
    assert raised.value.violations == (expected,)


def with_twins(problem: CSSP, seed: int) -> tuple[CSSP, np.ndarray]:
    """The problem with a copy of each row, in front of the others, some of them dearer; and the copies.

    A copy is dearer in a random cost, or, if in none, comes after its original.
    """
    generator = np.random.default_rng(seed)
    rows, is_copy = [], []
    for state in range(problem.num_states):
        own = np.arange(problem.row_start[state], problem.row_start[state + 1])
        rows.append(np.concatenate([own, own, own]))
        is_copy.append(np.repeat([1, 0, 2], len(own)))
    chosen, copy = np.concatenate(rows), np.concatenate(is_copy)
    costs = problem.costs[:, chosen].copy()
    costs[generator.integers(0, len(costs), len(chosen)), np.arange(len(chosen))] += copy == 1
    twins = problem.derive(
        transitions=problem.transitions[chosen],
        row_start=3 * problem.row_start,
        costs=costs,
        action_labels=tuple(range(len(chosen))),
    )
    return twins, copy > 0


@pytest.mark.parametrize("seed", some(range(12), 2))
def test_twins_change_neither_optimum_nor_proof(seed: int) -> None:
    problem = random_cssp(seed, max_constraints=2)
    known = brute_force(problem)
    twins, copies = with_twins(problem, seed)
    dominated = dominating_rows(twins) >= 0
    assert dominated[copies].all()
    # In between, the originals are as needed as they were.
    assert dominated[~copies].tolist() == (dominating_rows(problem) >= 0).tolist()
    plan = solve(twins)
    assert plan.status is (Status.OPTIMAL if known.status == "optimal" else Status.INFEASIBLE)
    verdict = check(twins, plan.certificate, exact=True)
    assert verdict.lower_bound == pytest.approx(known.value, rel=1e-6)
    assert verdict.upper_bound == pytest.approx(known.value, rel=1e-6)


def two_ways_twice(bound: float = 1.0) -> CSSP:
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": bound})
    here, out = plan.add_state("here"), plan.add_goal("out")
    for name in ("", " again"):
        plan.add_action(here, "walk" + name, to=out, costs={"time": 3.0})
        plan.add_action(here, "run" + name, to={out: 0.5, here: 0.5}, costs={"time": 1.0, "damage": 2.0})
    return plan.build()


def test_rows_that_lead_elsewhere_or_with_other_odds_or_cost_less_are_needed() -> None:
    plan = CSSPBuilder(cost_names=("time", "damage"))
    here, there, out = plan.add_state("here"), plan.add_state("there"), plan.add_goal("out")
    plan.add_action(here, "go", to={there: 0.5, out: 0.5}, costs={"time": 1.0, "damage": 1.0})
    plan.add_action(here, "aim", to={there: 0.4, out: 0.6}, costs={"time": 2.0, "damage": 2.0})
    plan.add_action(here, "turn", to=there, costs={"time": 2.0, "damage": 2.0})
    plan.add_action(here, "creep", to={there: 0.5, out: 0.5}, costs={"time": 2.0, "damage": 0.5})
    plan.add_action(there, "go", to=out, costs={"time": 1.0, "damage": 1.0})
    assert (dominating_rows(plan.build()) < 0).all()


def test_a_leaf_forbids_dominated_rows_though_no_branching_did() -> None:
    problem = two_ways_twice()
    proof = ProofBuilder(problem)
    running, walking = proof.branch(proof.root, proof.flat_row(0, 1))
    damage = proof.add_potential(0, [0.0, 1.0], [4.0, 0.0], forbidden=[0])
    assert proof.refute(running, [1.0], [(0, damage, 1.0)])
    # "run again" would break this potential, and needs no branching of its own.
    time = proof.add_potential(0, [1.0, 0.0], [3.0, 0.0], forbidden=[1])
    assert proof.prove(walking, [0.0], [(0, time, 1.0)]) == 3.0
    verdict = check(problem, proof.certificate(), exact=True)
    assert verdict.lower_bound == 3.0


def test_a_plan_may_take_dominated_rows_and_is_judged_by_them() -> None:
    problem = two_ways_twice(bound=4.0)
    proof = ProofBuilder(problem)
    again = problem.derive(bounds=np.array([3.0]))
    assert proof.set_plan([3, -1]) == 2.0
    assert check(problem, proof.certificate(), exact=True).costs[1] == 4
    assert ProofBuilder(again).set_plan([3, -1]) == inf


def test_the_activities_of_a_procedure_have_dominated_rows_too() -> None:
    procedure = ProcedureBuilder()
    start, middle, end = (procedure.add_event(name) for name in ("start", "middle", "end"))
    room = two_ways_twice()
    first, second = procedure.add_activity("first", room), procedure.add_activity("second", room)
    procedure.add_choice(start, "go", to=[Outcome(1.0, middle, runs=first)])
    procedure.add_choice(middle, "on", to=[Outcome(1.0, end, runs=second)])
    procedure.add_constraint("damage", at_most=5.0, counts={first: "damage", second: "damage"})
    problem = procedure.build(start=start, end=end)
    plan = solve(problem)
    assert plan.upper_bound == pytest.approx(5.0)
    assert check(problem, plan.certificate, exact=True).lower_bound == pytest.approx(5.0)


def test_half_of_the_accelerations_of_a_racetrack_are_dominated_and_its_proof_needs_none() -> None:
    problem = racetrack(scale=1, max_speed=1, bound=0.5)
    assert 0.3 < (dominating_rows(problem) >= 0).mean() < 0.7
    plan = solve(problem)
    verdict = check(problem, plan.certificate)
    assert plan.status is Status.OPTIMAL
    assert verdict.lower_bound >= plan.upper_bound * (1.0 - 2e-6)
