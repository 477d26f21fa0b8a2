"""Dominated rows: which they are, and that leaving them out changes no answer and no proof."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from brute_force import brute_force
from hcssp.checker import check
from hcssp.contract.proof import Status
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.dominated import dominating_rows
from hcssp.cssp.model import CSSP
from hcssp.procedure import Outcome, ProcedureBuilder
from hcssp.proofs.builder import ProofBuilder
from hcssp.scenarios.racetrack import racetrack
from hcssp.solving.solve import solve
from random_problems import random_cssp
from volume import some


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
