from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from hcssp.dual.event_chain import EVENTS, EventChain, ProcedureSolver
from hcssp.errors import ImproperPolicy
from hcssp.procedure import HCSSP, Flattening, Outcome, ProcedureBuilder
from hcssp.ssp.potential import UNIT_ROUNDOFF
from random_procedures import random_procedure
from small_procedures import risky_room
from volume import some

CHUNK = 25


def trapping() -> HCSSP:
    """At the start one may wait for ever, or leave, in two ways that take the same way round."""
    plan = ProcedureBuilder()
    start, out = plan.add_event("start"), plan.add_event("out")
    walk = plan.add_activity("walk", risky_room())
    plan.add_choice(start, "wait", to=[Outcome(1.0, start)])
    plan.add_choice(start, "leave", to=[Outcome(0.5, out, runs=walk), Outcome(0.5, start)])
    plan.add_choice(start, "give up", to=[Outcome(1.0, out)])
    return plan.build(start=start, end=out)


def chains(flattening: Flattening) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For every combination of choices: the rows, the expected visits of each event state, the executions.

    Improper combinations are left out; states that are never entered have zero visits.
    """
    problem = flattening.problem
    size = flattening.num_event_states
    moves = np.zeros((flattening.num_event_rows, size))
    runs = np.zeros((flattening.num_event_rows, problem.num_activities))
    for row, choice in enumerate(flattening.event_row_choice):
        for outcome in problem.choices[choice].outcomes:
            moves[row, flattening.event_state(outcome.event)] += outcome.probability
            if outcome.runs is not None:
                runs[row, outcome.runs] += outcome.probability
    starts = flattening.event_row_start
    live = [state for state in range(size) if state != flattening.end]
    found = []
    for combination in product(*(range(starts[s], starts[s + 1]) for s in live)):
        rows = np.full(size, -1)
        rows[live] = combination
        chain = np.zeros((size, size))
        chain[live] = moves[list(combination)]
        reached = np.linalg.matrix_power(np.eye(size) + chain, size)[flattening.start] > 0.0
        ends = np.linalg.matrix_power(np.eye(size) + chain, size)[:, flattening.end] > 0.0
        if not ends[reached].all():
            continue
        inner = [state for state in live if reached[state]]
        visits = np.zeros(size)
        initial = (np.array(inner) == flattening.start).astype(float)
        visits[inner] = np.linalg.solve(np.eye(len(inner)) - chain[np.ix_(inner, inner)].T, initial)
        executions = sum(visits[s] * runs[rows[s]] for s in inner)
        found.append((np.where(visits > 0.0, rows, -1), visits, executions))
    return found


@pytest.fixture(params=["dense", "sparse"])
def is_sparse(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether even the smallest procedure is treated as a large one."""
    if request.param == "sparse":
        monkeypatch.setitem(vars(EVENTS), "max_dense_entries", 0)
    return bool(request.param == "sparse")


@pytest.mark.parametrize("cycles", [False, True])
@pytest.mark.parametrize("first", some(range(0, 2 * CHUNK, CHUNK), 3))
def test_it_agrees_with_the_best_of_all_combinations_of_choices(
    first: int, cycles: bool, is_sparse: bool
) -> None:
    impossible = 0
    for seed in range(first, first + CHUNK):
        flattening = Flattening(random_procedure(seed, cycles=cycles))
        solver = ProcedureSolver(flattening)
        every = chains(flattening)
        rng = np.random.default_rng(seed)
        for share in (1.0, 1.0, 0.7, 0.7, 1.0, 0.4, 1.0):
            # Few values, so that there are ties; zeros, so that circles may be free; impossible activities.
            values = rng.choice([0.0, 1.0, 2.0, 7.5, np.inf], flattening.problem.num_activities)
            certain = np.where(np.isinf(values), 0.0, values)
            assert isinstance(solver.runs, np.ndarray) != is_sparse
            row_costs = solver.runs @ certain
            row_costs[solver.rows_that_run(np.isinf(values))] = np.inf
            allowed = None if share == 1.0 else rng.random(solver.num_rows) < share
            usable = np.isfinite(row_costs) if allowed is None else allowed & np.isfinite(row_costs)
            costs = [
                float(executions @ certain) for rows, _, executions in every if usable[rows[rows >= 0]].all()
            ]
            answer = solver.minimise(row_costs, allowed)
            if answer is None:
                assert costs == []
                impossible += 1
                continue
            rows, value = answer
            assert value == pytest.approx(min(costs), rel=1e-12, abs=1e-12)
            visits = solver.visits(rows)
            assert usable[rows[visits > 0.0]].all()
            assert solver.executions(rows) @ certain == pytest.approx(value, rel=1e-12, abs=1e-12)
    assert impossible > 0


@pytest.mark.usefixtures("is_sparse")
@pytest.mark.parametrize("seed", some(range(30), 3))
def test_visits_and_executions_are_those_of_the_chain(seed: int) -> None:
    flattening = Flattening(random_procedure(seed, cycles=True))
    solver = ProcedureSolver(flattening)
    for rows, visits, executions in chains(flattening):
        np.testing.assert_allclose(solver.visits(rows), visits, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(solver.executions(rows), executions, rtol=1e-12, atol=1e-13)
        certain = solver.executions_at_least(rows)
        assert np.all(certain <= executions)
        np.testing.assert_allclose(certain, executions, rtol=1e-9)


@pytest.mark.usefixtures("is_sparse")
def test_choices_without_an_alternative_are_known() -> None:
    solver = ProcedureSolver(Flattening(trapping()))
    # To wait for ever is no alternative.
    assert solver.only_choices() is None
    only = solver.only_choices(np.array([True, False, True]))
    assert only is not None
    assert only.tolist() == [2, -1]
    assert solver.only_choices(np.array([True, False, False])) is None


def test_too_many_chains_are_dropped_and_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(EVENTS), "max_chains", 1)
    flattening = Flattening(random_procedure(17, cycles=True))
    solver = ProcedureSolver(flattening)
    every = chains(flattening)
    assert len(every) > 3
    for rows, visits, executions in every + every:
        np.testing.assert_allclose(solver.visits(rows), visits, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(solver.executions(rows), executions, rtol=1e-12, atol=1e-13)
        assert len(solver._chains) <= 2


@pytest.mark.usefixtures("is_sparse")
def test_choices_that_never_end_are_an_error() -> None:
    solver = ProcedureSolver(Flattening(trapping()))
    answer = solver.minimise(solver.runs @ np.ones(1))
    assert answer is not None
    endless = answer[0].copy()
    endless[solver.start] = solver.row_start[solver.start]
    with pytest.raises(ImproperPolicy, match="do not reach the end almost surely"):
        solver.visits(endless)


@pytest.mark.usefixtures("is_sparse")
def test_one_event_at_which_one_waits_for_ever_is_too_many() -> None:
    plan = ProcedureBuilder()
    start, middle, out = (plan.add_event(name) for name in ("start", "middle", "out"))
    plan.add_choice(start, "go", to=[Outcome(1.0, middle)])
    plan.add_choice(middle, "wait", to=[Outcome(1.0, middle)])
    plan.add_choice(middle, "leave", to=[Outcome(1.0, out)])
    solver = ProcedureSolver(Flattening(plan.build(start=start, end=out)))
    assert solver.visits(np.array([0, 2, -1])).tolist() == [1.0, 1.0, 0.0]
    with pytest.raises(ImproperPolicy, match="do not reach the end almost surely"):
        solver.visits(np.array([0, 1, -1]))


def test_choices_that_are_not_usable_make_it_begin_anew() -> None:
    solver = ProcedureSolver(Flattening(trapping()))
    row_costs = solver.runs @ np.ones(1)
    every = np.ones(solver.num_rows, dtype=np.bool_)
    free = solver.minimise(row_costs, every)
    assert free is not None
    for row in free[0][free[0] >= 0]:
        fewer = every.copy()
        fewer[row] = False
        restricted = solver.minimise(row_costs, fewer)
        if restricted is not None:
            assert fewer[restricted[0][restricted[0] >= 0]].all()
            assert restricted[1] >= free[1]
    again = solver.minimise(row_costs, every)
    assert again is not None
    assert again[1] == free[1]


@pytest.mark.parametrize("swapped", [False, True])
def test_a_gain_that_is_tiny_at_each_of_many_attempts_is_not_overlooked(swapped: bool) -> None:
    """Of two ways to retry a thousand times, one costs a hundred millionth less at each attempt."""
    plan = ProcedureBuilder()
    start, out = plan.add_event("start"), plan.add_event("out")
    ways = [plan.add_activity(name, risky_room()) for name in ("dear", "cheap")]
    for name, way in reversed([*zip("dc", ways, strict=True)]) if swapped else zip("dc", ways, strict=True):
        plan.add_choice(start, name, to=[Outcome(2.0**-10, out), Outcome(1.0 - 2.0**-10, start, runs=way)])
    solver = ProcedureSolver(Flattening(plan.build(start=start, end=out)))
    answer = solver.minimise(solver.runs @ np.array([1.0, 1.0 - 1e-8]))
    assert answer is not None
    assert answer[1] == pytest.approx(1023.0 * (1.0 - 1e-8), rel=1e-12)


def test_a_long_procedure_is_bounded_as_well_as_a_short_one() -> None:
    """More events than policy iteration may take rounds, one after the other."""
    plan = ProcedureBuilder()
    events = [plan.add_event(str(number)) for number in range(1_501)]
    walk = risky_room()
    for number in range(1_500):
        runs = plan.add_activity(f"walk {number}", walk)
        plan.add_choice(events[number], "go", to=[Outcome(1.0, events[number + 1], runs=runs)])
    solver = ProcedureSolver(Flattening(plan.build(start=events[0], end=events[-1])))
    answer = solver.minimise(solver.runs @ np.full(1_500, 0.1))
    assert answer is not None
    assert 150.0 * (1.0 - 1e-9) < answer[1] <= 150.0
    np.testing.assert_allclose(solver.executions(answer[0]), 1.0)


def test_choices_are_the_only_ones_if_nothing_is_left_at_any_event_that_is_met() -> None:
    plan = ProcedureBuilder()
    start, hall, attic, out = (plan.add_event(name) for name in ("start", "hall", "attic", "out"))
    walk = plan.add_activity("walk", risky_room())
    plan.add_choice(start, "on", to=[Outcome(1.0, hall)])
    plan.add_choice(start, "up", to=[Outcome(1.0, attic)])
    plan.add_choice(hall, "walk", to=[Outcome(1.0, out, runs=walk)])
    plan.add_choice(hall, "leave", to=[Outcome(1.0, out)])
    plan.add_choice(attic, "jump", to=[Outcome(1.0, out)])
    plan.add_choice(attic, "climb", to=[Outcome(1.0, out)])
    solver = ProcedureSolver(plan.build(start=start, end=out).flattening)
    assert solver.num_rows == 6
    # One choice at the start, two in the hall.
    assert solver.only_choices(np.array([True, False, True, True, True, True])) is None
    # Nobody comes to the attic, where something is left.
    only = solver.only_choices(np.array([True, False, True, False, True, True]))
    assert only is not None
    assert only[:2].tolist() == [0, 2]
    assert solver.only_choices(np.array([True, True, True, False, True, False])) is None
    assert solver.only_choices(np.array([True, False, False, False, True, True])) is None


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_roundings_of_all_terms_of_the_longest_row_are_allowed_for(seed: int, is_sparse: bool) -> None:
    flattening = random_procedure(seed, cycles=True).flattening
    solver = ProcedureSolver(flattening)
    choices = [flattening.problem.choices[choice] for choice in flattening.event_row_choice.tolist()]
    runs = max(len({each.runs for each in choice.outcomes if each.runs is not None}) for choice in choices)
    # A sum goes through all states where arrays are dense, and otherwise through those that it leads to.
    others = [
        {outcome.event for outcome in choice.outcomes} - {choice.event, flattening.problem.end}
        for choice in choices
    ]
    longest = max(map(len, others)) if is_sparse else flattening.num_event_states
    counted = solver._rounding / UNIT_ROUNDOFF
    assert 2 * longest + runs + 15 <= counted <= 2 * longest + runs + 17


def test_roundings_of_all_rounds_are_allowed_for_in_executions() -> None:
    plan = ProcedureBuilder()
    events = [plan.add_event(str(number)) for number in range(7)]
    for number in range(6):
        walk = plan.add_activity(f"walk {number}", risky_room())
        plan.add_choice(events[number], "walk", to=[Outcome(1.0, events[number + 1], runs=walk)])
    solver = ProcedureSolver(plan.build(start=events[0], end=events[-1]).flattening)
    rows = np.append(np.arange(6), -1)
    assert solver.executions(rows).tolist() == [1.0] * 6
    lost = (1.0 - solver.executions_at_least(rows)) / UNIT_ROUNDOFF
    # Six or seven rounds with a term each, four roundings besides in every round, and some in the end.
    assert np.all(lost >= 6 * 5 + 10)
    assert np.all(lost <= 8 * 5 + 20)


@pytest.mark.usefixtures("is_sparse")
def test_where_one_can_go_round_for_nothing_the_bound_is_certified_row_by_row() -> None:
    plan = ProcedureBuilder()
    start, hall, attic, out = (plan.add_event(name) for name in ("start", "hall", "attic", "out"))
    walk, jump = plan.add_activity("walk", risky_room()), plan.add_activity("jump", risky_room())
    plan.add_choice(start, "on", to=[Outcome(1.0, hall)])
    plan.add_choice(start, "walk", to=[Outcome(1.0, out, runs=walk)])
    plan.add_choice(hall, "back", to=[Outcome(1.0, start)])
    plan.add_choice(hall, "up", to=[Outcome(0.75, attic), Outcome(0.25, start)])
    plan.add_choice(attic, "down", to=[Outcome(1.0, hall)])
    plan.add_choice(attic, "jump", to=[Outcome(0.5, out, runs=jump), Outcome(0.5, hall)])
    flattening = plan.build(start=start, end=out).flattening
    solver = ProcedureSolver(flattening)
    assert solver._lengths is None
    for walking, jumping in ((10.0, 4.0), (3.0, 4.0), (0.1, 0.3), (7.0, 7.0), (5.0, 0.0)):
        answer = solver.minimise(solver.runs @ np.array([walking, jumping]))
        assert answer is not None
        # To jump costs half of it at each attempt, and two of them are needed.
        least = min(walking, jumping)
        assert least * (1.0 - 1e-9) <= answer[1] <= least


@pytest.mark.usefixtures("is_sparse")
@pytest.mark.parametrize("cycles", [False, True])
def test_lengths_fall_by_half_of_a_step_whatever_is_chosen(cycles: bool) -> None:
    known = 0
    for seed in range(12):
        solver = ProcedureSolver(random_procedure(seed, cycles=cycles).flattening)
        lengths = solver._lengths
        if lengths is None:
            continue
        known += 1
        after = solver._moves @ lengths
        assert np.all((lengths[solver.row_state] >= 0.499 + after)[solver._departs])
        assert lengths[solver.end] == 0.0
        # No longer than need be: who never comes back comes by each event once.
        assert lengths.max() <= (1e6 if cycles else solver.num_states - 1)
    assert known > 2


@pytest.mark.usefixtures("is_sparse")
@pytest.mark.parametrize("end", ["first", "in between", "last"])
def test_values_of_events_that_are_too_high_prove_nothing(end: str) -> None:
    plan = ProcedureBuilder()
    names = {"first": "zabc", "in between": "azbc", "last": "abcz"}[end]
    events = {name: plan.add_event(name) for name in names}
    walk, jump, climb = (plan.add_activity(name, risky_room()) for name in ("walk", "jump", "climb"))
    plan.add_choice(events["a"], "walk", to=[Outcome(0.5, events["b"], runs=walk), Outcome(0.5, events["a"])])
    plan.add_choice(events["b"], "jump", to=[Outcome(0.5, events["c"], runs=jump), Outcome(0.5, events["a"])])
    plan.add_choice(events["b"], "back", to=[Outcome(1.0, events["a"])])
    plan.add_choice(
        events["c"], "climb", to=[Outcome(0.75, events["z"], runs=climb), Outcome(0.25, events["b"])]
    )
    solver = ProcedureSolver(plan.build(start=events["a"], end=events["z"]).flattening)
    costs = solver.runs @ np.array([1.0, 2.0, 3.0])
    # c = 3 * 0.75 + b / 4, b = 2 / 2 + c / 2 + a / 2, a = 1 / 2 + b / 2 + a / 2.
    truth = {"a": 8.0, "b": 7.0, "c": 4.0}
    answer = solver.minimise(costs)
    assert answer is not None
    assert answer[1] == pytest.approx(truth["a"])
    exact = np.array([truth[name] for name in names if name in truth])
    assert solver._certifier.certify(costs, exact).bound == pytest.approx(truth["a"])
    rng = np.random.default_rng(1)
    for _ in range(30):
        # Too high here, or there, or everywhere.
        values = exact * (1.0 + rng.choice([0.0, 0.1, 3.0], 3))
        assert solver._certifier.certify(costs, values).bound <= truth["a"] * (1.0 + 1e-8)


@pytest.mark.parametrize("backwards", [False, True])
def test_lengths_of_long_procedures_are_those_of_the_longest_way(
    backwards: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(vars(EVENTS), "max_iterations", 4)
    monkeypatch.setitem(vars(EVENTS), "max_dense_entries", 0)
    plan = ProcedureBuilder()
    events = [plan.add_event(str(number)) for number in range(9)]
    if backwards:
        events.reverse()
    walk = plan.add_activity("walk", risky_room())
    for number in range(8):
        far = events[min(number + 3, 8)]
        outcomes = [Outcome(0.5, events[number + 1]), Outcome(0.5, far)]
        plan.add_choice(events[number], "on", to=outcomes)
        plan.add_choice(events[number], "far", to=[Outcome(1.0, far, runs=walk if number == 0 else None)])
    flattening = plan.build(start=events[0], end=events[-1]).flattening
    lengths = ProcedureSolver(flattening)._lengths
    assert lengths is not None
    found = dict(zip((event for event, _ in flattening.event_states), lengths.tolist(), strict=True))
    assert [found[event] for event in events] == [8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0]


def test_roundings_of_all_ways_to_an_event_are_allowed_for_in_executions() -> None:
    plan = ProcedureBuilder()
    start, last, out = (plan.add_event(name) for name in ("start", "last", "out"))
    ways = [plan.add_event(f"way {number}") for number in range(32)]
    plan.add_choice(start, "go", to=[Outcome(1.0 / 32.0, way) for way in ways])
    for way in ways:
        plan.add_choice(way, "on", to=[Outcome(1.0, last)])
    walk = plan.add_activity("walk", risky_room())
    plan.add_choice(last, "leave", to=[Outcome(1.0, out, runs=walk)])
    solver = ProcedureSolver(Flattening(plan.build(start=start, end=out)))
    answer = solver.minimise(np.ones(solver.num_rows))
    assert answer is not None
    (told,) = solver.executions_at_least(answer[0])
    # It takes three steps, and 32 numbers are added up in one of them.
    assert 3 * 32 * UNIT_ROUNDOFF <= 1.0 - told <= 1e-12


@pytest.fixture(params=["dense", "sparse"])
def _kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "sparse":
        monkeypatch.setitem(vars(EVENTS), "max_dense_entries", 0)


END = 3


@pytest.mark.usefixtures("_kind")
def test_visits_and_values_of_a_chain_are_those_by_hand() -> None:
    # From 0 to 1, which stays for half of the time, and returns with a quarter.
    chain = EventChain.of({0: {1: 1.0}, 1: {1: 0.5, 0: 0.25, END: 0.25}}, {0: 0.5, 1: 0.5})
    assert chain.states.tolist() == [0, 1]
    assert chain.visits == pytest.approx([1.5, 4.0])
    costs = np.array([[1.0, 10.0], [2.0, 20.0]])
    assert chain.values(costs) == pytest.approx(np.array([[10.0, 100.0], [9.0, 90.0]]))
    assert chain.values(costs[:, 0]) == pytest.approx([10.0, 9.0])


@pytest.mark.usefixtures("_kind")
@pytest.mark.parametrize(
    "moves",
    [
        {0: {1: 1.0}, 1: {1: 1.0}},
        {0: {END: 1.0}, 1: {1: 1.0}},
        {0: {1: 1.0}, 1: {0: 1.0}},
        {0: {1: 0.5, END: 0.5}, 1: {2: 1.0}, 2: {1: 1.0}},
    ],
)
def test_a_chain_that_does_not_end_is_refused(moves: dict[int, dict[int, float]]) -> None:
    with pytest.raises(ImproperPolicy, match="do not reach the end"):
        EventChain.of(moves, {0: 0.5, 1: 0.5})


@pytest.mark.usefixtures("_kind")
def test_a_chain_without_states_is_empty() -> None:
    chain = EventChain.of({}, {END: 1.0})
    assert chain.visits.shape == (0,)
    assert chain.values(np.zeros((0, 2))).shape == (0, 2)
