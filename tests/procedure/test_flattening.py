from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from brute_force_procedures import brute_force
from hcssp.cssp.validation import violations
from hcssp.errors import InvalidProblem
from hcssp.procedure import Flattening, Outcome, ProcedureBuilder, ProcedurePolicy
from random_procedures import random_procedure
from small_procedures import corridor, fork, forking, retrying
from volume import some

KINDS = [
    {"cycles": cycles, "several_exits": several_exits}
    for cycles in (False, True)
    for several_exits in (False, True)
]


def test_the_layout_is_events_first_then_activity_after_activity() -> None:
    flattening = Flattening(retrying())
    flat = flattening.cssp
    assert flattening.event_states == ((0, None), (1, None), (2, None))
    assert flattening.separable
    assert flattening.event_row_start.tolist() == [0, 1, 2, 2]
    assert flattening.event_row_choice.tolist() == [0, 1]
    assert flattening.state_offset.tolist() == [3, 4, 5]
    assert flattening.row_offset.tolist() == [2, 4, 6]
    assert flattening.flat_state(0).tolist() == [3, 1]
    assert flattening.flat_state(1).tolist() == [4, 2]
    assert flat.row_start.tolist() == [0, 1, 2, 2, 4, 6]
    assert flat.transitions.toarray().tolist() == [
        [0.0, 0.0, 0.0, 1.0, 0.0],
        [0.2, 0.0, 0.0, 0.0, 0.8],
        [0.0, 1.0, 0.0, 0.0, 0.0],
        [0.0, 0.5, 0.0, 0.5, 0.0],
        [0.0, 0.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 0.5, 0.0, 0.5],
    ]


def test_costs_are_those_that_the_constraints_count() -> None:
    flat = Flattening(retrying()).cssp
    assert flat.cost_names == ("time", "damage", "damage-at-last")
    assert flat.bounds.tolist() == [2.0, np.inf]
    assert flat.costs.tolist() == [[0, 0, 3, 1, 3, 1], [0, 0, 0, 4, 0, 4], [0, 0, 0, 0, 0, 4]]


def test_labels_say_where_a_state_comes_from() -> None:
    flat = Flattening(retrying()).cssp
    assert list(flat.state_labels) == ["start", "hall", "out", ("cross", "in"), ("leave", "in")]
    assert list(flat.action_labels) == ["cross", "leave", "round", "dash", "round", "dash"]
    assert flat.state_labels[-1] == ("leave", "in")
    assert flat.state_labels[1:3] == ["hall", "out"]
    assert flat.state_index[("leave", "in")] == 4
    with pytest.raises(IndexError, match="label 5 of 5"):
        flat.state_labels[5]


def test_an_exit_is_the_entry_of_what_follows() -> None:
    flattening = Flattening(forking())
    flat = flattening.cssp
    assert flattening.event_states == ((0, None), (1, "left"), (1, "right"), (2, None))
    assert not flattening.separable
    assert list(flat.state_labels) == [
        "start",
        ("event", "hall", "left"),
        ("event", "hall", "right"),
        "out",
        ("choose", "fork"),
        ("walk", "left"),
        ("walk", "right"),
    ]
    # An outcome without an activity passes the label on; all entries to the end are one.
    assert flat.transitions.toarray()[:5].tolist() == [
        [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
        [0.0, 0.5, 0.0, 0.5, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, 0.5, 0.5, 0.0, 0.0, 0.0],
    ]


def passing(labels: tuple[str, str, str]) -> Flattening:
    plan = ProcedureBuilder()
    start, hall, out = (plan.add_event(name) for name in ("start", "hall", "out"))
    choose = plan.add_activity("choose", fork())
    walk = plan.add_activity("walk", corridor(labels))
    plan.add_choice(start, "choose", to=[Outcome(1.0, hall, runs=choose)])
    plan.add_choice(hall, "walk", to=[Outcome(1.0, out, runs=walk)])
    return Flattening(plan.build(start=start, end=out))


def test_an_entry_that_is_a_goal_passes_straight_through() -> None:
    flat = passing(("left", "other", "right")).cssp
    hall = flat.state_index[("event", "hall", "right")]
    assert flat.transitions.toarray()[flat.row_start[hall]].tolist() == [0, 0, 0, 1, 0, 0, 0]


def test_only_event_states_that_can_be_reached_are_made() -> None:
    never_right = replace(fork(), transitions=[[0.0, 1.0, 0.0], [0.25, 0.75, 0.0]])
    plan = ProcedureBuilder()
    start, hall, out = (plan.add_event(name) for name in ("start", "hall", "out"))
    choose = plan.add_activity("choose", never_right)
    # Were the hall entered from the right, this would be an error: the corridor has no such state.
    walk = plan.add_activity("walk", corridor(("left", "other", "end")))
    plan.add_choice(start, "choose", to=[Outcome(1.0, hall, runs=choose)])
    plan.add_choice(hall, "walk", to=[Outcome(1.0, out, runs=walk)])
    flattening = Flattening(plan.build(start=start, end=out))
    assert flattening.event_states == ((0, None), (1, "left"), (2, None))
    assert flattening.flat_state(0).tolist() == [3, 1, -1]
    assert violations(flattening.cssp) == []


def test_a_missing_entry_is_an_error_of_the_flattening_too() -> None:
    problem = forking()
    walk = replace(problem.activities[1], cssp=corridor(("left", "centre", "end")))
    with pytest.raises(InvalidProblem, match="entered in state 'right'"):
        Flattening(problem.derive(activities=(problem.activities[0], walk)))


def test_outcomes_of_probability_zero_are_left_out() -> None:
    plan = ProcedureBuilder()
    start, out = plan.add_event("start"), plan.add_event("out")
    walk = plan.add_activity("walk", corridor())
    plan.add_choice(start, "on", to=[Outcome(0.0, out, runs=walk), Outcome(1.0, out)])
    flat = Flattening(plan.build(start=start, end=out)).cssp
    assert flat.transitions.toarray()[0].tolist() == [0, 1, 0, 0]
    assert flat.transitions[[0]].nnz == 1


def test_a_procedure_may_have_no_activities_and_no_constraints() -> None:
    plan = ProcedureBuilder()
    start, out = plan.add_event("start"), plan.add_event("out")
    plan.add_choice(start, "on", to=[Outcome(1.0, out)])
    flat = Flattening(plan.build(start=start, end=out)).cssp
    assert (flat.num_states, flat.num_rows, flat.cost_names) == (2, 1, ("cost",))
    empty = ProcedureBuilder()
    only = empty.add_event("only")
    flat = Flattening(empty.build(start=only, end=only)).cssp
    assert (flat.num_states, flat.num_rows) == (1, 0)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("seed", some(range(15)))
def test_the_flat_problem_is_a_valid_one(seed: int, kind: dict[str, bool]) -> None:
    flattening = Flattening(random_procedure(seed, **kind))
    assert violations(flattening.cssp) == []
    assert flattening.cssp.num_states == flattening.num_states
    assert flattening.cssp.num_rows == flattening.num_rows
    assert flattening.separable or kind["several_exits"]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("seed", some(range(8), 2))
def test_a_policy_survives_the_way_there_and_back(seed: int, kind: dict[str, bool]) -> None:
    flattening = Flattening(random_procedure(seed, **kind))
    for rows in brute_force(flattening.problem).rows[:20]:
        policy = ProcedurePolicy(flattening.problem, rows)
        assert policy.rows.tolist() == rows.tolist()
        assert ProcedurePolicy.compose(flattening.problem, policy.choices, policy.activities) == policy


def test_a_flat_problem_can_be_sent_to_another_process() -> None:
    flat = pickle.loads(pickle.dumps(Flattening(forking()).cssp))
    assert flat.state_labels[1] == ("event", "hall", "left")
