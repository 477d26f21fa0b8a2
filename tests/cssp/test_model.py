from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

from hcssp.cssp import CSSP, CSSPBuilder, GridWorld, explore, from_arrays, prepare, with_giving_up
from hcssp.cssp.validation import violations
from hcssp.errors import InvalidProblem
from hcssp.scenarios.domains.racetrack import racetrack
from loose_parts import loose_parts
from small_procedures import forking


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


def arrays(problem: CSSP) -> dict[str, np.ndarray]:
    """Every array of a problem, those of the sparse matrix included."""
    parts = {name: getattr(problem, name) for name in ("row_start", "costs", "initial", "goals", "bounds")}
    return parts | {part: getattr(problem.transitions, part) for part in ("data", "indices", "indptr")}


COPIES = {
    "made": lambda problem: problem,
    "pickled": lambda problem: pickle.loads(pickle.dumps(problem)),
    "copied": copy.copy,
    "copied deeply": copy.deepcopy,
    "under other bounds": lambda problem: problem.with_bounds(damage=2.0),
    "derived": lambda problem: problem.derive(costs=2.0 * problem.costs),
}


@pytest.mark.parametrize("how", COPIES)
def test_the_arrays_cannot_be_changed(how: str) -> None:
    problem = COPIES[how](CSSP(**loose_parts()))
    for name, array in arrays(problem).items():
        assert not array.flags.writeable, name
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(ValueError, match="read-only"):
        problem.transitions[0, 1] = 0.5
    with pytest.raises(FrozenInstanceError):
        problem.bounds = np.array([7.0])


def test_what_the_caller_does_to_his_arrays_afterwards_changes_nothing() -> None:
    parts = loose_parts()
    problem, twin = CSSP(**parts), CSSP(**loose_parts())
    transitions = parts["transitions"]
    for part in (transitions.data, transitions.indices, transitions.indptr):
        part[...] = 0
    for name in ("row_start", "costs", "initial", "goals", "bounds"):
        parts[name][...] = 0
    for name in ("state_labels", "action_labels"):
        parts[name][0] = "elsewhere"
    assert problem == twin
    assert problem.state_index == {"home": 0, "out": 1}
    assert problem.action_labels == ("walk", "run")


def test_what_the_caller_gave_stays_as_it_was() -> None:
    parts = loose_parts()
    # The same successor told twice, and one that is impossible: tidied in the problem's own matrix alone.
    untidy = csr_array(
        (np.array([1.0, 0.0, 0.5, 0.25, 0.25]), np.array([1, 0, 0, 1, 1]), np.array([0, 2, 5])), shape=(2, 2)
    )
    problem = CSSP(**parts | {"transitions": untidy})
    assert problem == CSSP(**parts)
    assert problem.transitions.nnz == 3
    assert untidy.nnz == 5
    assert all(array.flags.writeable for array in (untidy.data, parts["costs"], parts["bounds"]))


def test_a_row_that_does_not_sum_to_one_is_refused() -> None:
    leaky = csr_array(np.array([[0.0, 0.9], [0.5, 0.5]]))
    with pytest.raises(InvalidProblem) as raised:
        CSSP(**loose_parts() | {"transitions": leaky})
    assert str(raised.value) == "state 'home', action 'walk': probabilities sum to 0.9, not 1"


@pytest.mark.parametrize("bound", [-np.inf, np.nan])
def test_what_is_no_upper_bound_is_refused(bound: float) -> None:
    message = rf"^bound on 'damage': {bound} is not an upper bound; give a finite number, or inf for none$"
    with pytest.raises(InvalidProblem, match=message):
        CSSP(**loose_parts() | {"bounds": np.array([bound])})
    with pytest.raises(InvalidProblem, match=message):
        CSSP(**loose_parts()).with_bounds(damage=bound)


def test_a_bound_may_be_below_zero_or_infinite() -> None:
    for bound in (-1.0, np.inf):
        assert CSSP(**loose_parts() | {"bounds": np.array([bound])}).bounds.tolist() == [bound]


CHANGES: dict[str, dict[str, Any]] = {
    "transitions": {"transitions": csr_array(np.array([[0.0, 1.0], [0.25, 0.75]]))},
    "pattern": {"transitions": csr_array(np.array([[0.0, 1.0], [0.0, 1.0]]))},
    "costs": {"costs": np.array([[3.0, 1.0], [0.0, 5.0]])},
    "initial": {"initial": np.array([0.5, 0.5])},
    "bounds": {"bounds": np.array([2.0])},
    "cost names": {"cost_names": ("time", "harm")},
    "state labels": {"state_labels": ("home", "away")},
    "action labels": {"action_labels": ("walk", "dash")},
}


@pytest.mark.parametrize("what", CHANGES)
def test_problems_that_differ_are_not_equal(what: str) -> None:
    assert CSSP(**loose_parts()) != CSSP(**loose_parts() | CHANGES[what])


def test_rows_that_belong_to_other_states_make_another_problem() -> None:
    def two_states(row_start: list[int]) -> CSSP:
        return CSSP(
            transitions=np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]),
            row_start=row_start,
            costs=np.ones((1, 3)),
            initial=[1.0, 0.0, 0.0],
            goals=[False, False, True],
            cost_names=("time",),
            bounds=(),
            action_labels=("a", "b", "c"),
        )

    assert two_states([0, 1, 3, 3]) == two_states([0, 1, 3, 3])
    assert two_states([0, 1, 3, 3]) != two_states([0, 2, 3, 3])


def test_equal_problems_have_equal_hashes_whatever_they_are_called() -> None:
    problem = CSSP(**loose_parts())
    others = [
        CSSP(**loose_parts() | {"name": "a house", "description": "with a fire"}),
        CSSP(**loose_parts() | {"state_labels": ("home", "out")}),
        CSSP(**loose_parts() | {"transitions": coo_array(problem.transitions)}),
        *(make(problem) for how, make in COPIES.items() if how in ("pickled", "copied", "copied deeply")),
    ]
    assert all(other == problem and hash(other) == hash(problem) for other in others)
    assert len({problem, *others}) == 1
    # No number of damage, written in two ways.
    nought, minus_nought = (problem.with_bounds(damage=bound) for bound in (0.0, -0.0))
    assert nought == minus_nought
    assert hash(nought) == hash(minus_nought)


def test_a_problem_is_equal_to_nothing_else() -> None:
    assert CSSP(**loose_parts()) != "a house"


def test_labels_that_are_computed_are_equal_to_those_that_are_kept() -> None:
    world = GridWorld(3, 2, (0, 1), (4, 2), slip=0.1)
    problem = world.to_cssp()
    kept = problem.derive(
        state_labels=tuple(problem.state_labels), action_labels=tuple(problem.action_labels)
    )
    assert kept == problem == world.to_cssp()
    assert hash(kept) == hash(problem)
    assert kept != GridWorld(3, 2, (0, 1), (4, 2), slip=0.2).to_cssp()


def explored() -> CSSP:
    return explore(
        initial=0,
        actions=lambda state: ("on", "back"),
        transitions=lambda state, action: {state + 1: 0.5, max(state - 1, 0): 0.5},
        costs=lambda state, action: 1.0,
        is_goal=lambda state: state == 3,
        cost_names=("steps",),
    )


MAKERS = {
    "builder": small,
    "exploration": explored,
    "arrays": lambda: from_arrays(
        np.array([[0.5, 0.5], [0.0, 1.0]]), {"time": 1.0}, row_states=[0, 0], initial=0, goals=[1]
    ),
    "grid": lambda: GridWorld(3, 2, (0, 1), (4, 2), slip=0.1).to_cssp(),
    "racetrack": lambda: racetrack(scale=1, max_speed=2),
    "preprocessing": lambda: prepare(explored().derive(initial=np.eye(4)[2])).problem,
    "giving up": lambda: with_giving_up(GridWorld.from_map("S.G#.\n").to_cssp(), 5.0, where="everywhere"),
    "flattening": lambda: forking().flattening.cssp,
}


@pytest.mark.parametrize("maker", MAKERS)
def test_who_makes_a_problem_without_the_check_makes_what_the_check_would(maker: str) -> None:
    problem = MAKERS[maker]()
    assert replace(problem) == problem
    assert pickle.loads(pickle.dumps(problem)) == problem
    assert all(not array.flags.writeable for array in arrays(problem).values())


def test_what_was_computed_is_not_sent_along() -> None:
    problem = small()
    _ = problem.row_state, problem.state_index
    copied = pickle.loads(pickle.dumps(problem))
    assert not {"row_state", "state_index"} & copied.__dict__.keys()
    assert copied.state_index == {"home": 0, "out": 1}


def test_a_derived_problem_shares_what_did_not_change_and_is_not_checked() -> None:
    problem = CSSP(**loose_parts())
    _ = problem.row_state
    derived = problem.derive(costs=-problem.costs, name="backwards")
    assert derived.costs.tolist() == [[-3.0, -1.0], [0.0, -4.0]]
    assert np.shares_memory(derived.transitions.data, problem.transitions.data)
    assert np.shares_memory(derived.initial, problem.initial)
    assert (derived.name, derived.state_labels) == ("backwards", ("home", "out"))
    assert problem.costs.tolist() == [[3.0, 1.0], [0.0, 4.0]]
    assert violations(problem) == []
    assert len(violations(derived)) == 3
    # What was computed from the rows of one problem says nothing about those of another.
    fewer = problem.derive(
        transitions=problem.transitions[[0]],
        row_start=[0, 1, 1],
        costs=problem.costs[:, :1],
        action_labels=("walk",),
    )
    assert fewer.row_state.tolist() == [0]


def test_an_unchecked_problem_is_neither_copied_nor_checked() -> None:
    parts = loose_parts()
    parts["costs"][0, 0] = -3.0
    problem = CSSP.unchecked(**parts)
    assert len(violations(problem)) == 1
    assert np.shares_memory(problem.costs, parts["costs"])
    assert not problem.costs.flags.writeable
    assert (problem.name, problem.description, problem.world) == ("", "", None)
    del parts["state_labels"], parts["action_labels"]
    assert list(CSSP.unchecked(**parts).action_labels) == [0, 1]


def test_attributes_that_there_are_not_are_refused_also_where_nothing_is_checked() -> None:
    with pytest.raises(TypeError, match="a CSSP has no attribute 'bound', 'cost'"):
        CSSP(**loose_parts()).derive(bound=2.0, cost=1.0)
    with pytest.raises(TypeError, match="a CSSP has no attribute 'bound'"):
        CSSP.unchecked(**loose_parts(), bound=2.0)


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
        small().with_bounds({"damage": "little"}, time=1.0, noise=float("nan"))
    assert raised.value.violations == (
        "bound on 'damage': little is not an upper bound; give a finite number, or inf for none",
        "bound on 'time': no such secondary cost; the secondary costs are 'damage', 'noise'",
        "bound on 'noise': nan is not an upper bound; give a finite number, or inf for none",
    )
