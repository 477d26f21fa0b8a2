"""Every lower bound rests on this: whatever the values are, the potential holds in rational arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP, FloatArray
from hcssp.ssp.balance import Balance
from hcssp.ssp.potential import ROUNDINGS, SCALING_LOSS, UNIT_ROUNDOFF, Certificate, Certifier, lowered
from hcssp.ssp.restoration import Missing, RestorationParameters, Rows, restored
from volume import some

EXACT = {"as doubles": Fraction, "as written": lambda number: Fraction(repr(float(number)))}


def wild_problem(seed: int) -> CSSP:
    """A few states; costs over twenty orders of magnitude and none, loops of up to 1 - 2^-30, free cycles."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 6))
    plan = CSSPBuilder(cost_names=("cost",))
    states = [plan.add_state(f"s{index}") for index in range(count)]
    goal = plan.add_goal("goal")
    for index, state in enumerate(states):
        for action in range(int(rng.integers(1, 4))):
            cost = float(rng.choice([0.0, 0.0, 1.0, 10.0 ** rng.uniform(-9, 12), rng.integers(1, 9)]))
            others = [*states, goal]
            heads = rng.choice(len(others), size=int(rng.integers(1, min(3, len(others)) + 1)), replace=False)
            leave = float(rng.choice([1.0, 0.5, 0.3, 2.0**-10, 2.0**-30, 1e-9]))
            shares = rng.dirichlet(np.ones(len(heads)))
            to: dict[object, float] = {}
            for head, share in zip(heads.tolist(), shares.tolist(), strict=True):
                if others[head] is not state:
                    to[others[head]] = leave * share
            rest = 1.0 - sum(to.values())
            if rest > 0.0:
                to[state] = rest
            plan.add_action(state, f"a{action}", to=to or state, costs=cost)
        exit_cost = float(rng.choice([1.0, 5.0, 1e6]))
        plan.add_action(state, "exit", to={goal: 0.5, states[index - 1]: 0.5}, costs=exit_cost)
    plan.set_initial(states[0])
    return plan.build()


def assert_holds(problem: CSSP, certificate: Certificate, forbidden: set[int], reading: str) -> None:
    """The theorem's inequality for every allowed row, without rounding."""
    exact = EXACT[reading]
    live = np.flatnonzero(~problem.goals)
    values = {int(state): Fraction(float(certificate.values[place])) for place, state in enumerate(live)}
    for row in range(problem.num_rows):
        if row in forbidden:
            continue
        own = int(problem.row_state[row])
        slack = (1 + Fraction(certificate.share)) * exact(problem.costs[0, row])
        begin, end = problem.transitions.indptr[row : row + 2]
        for entry in range(begin, end):
            head = int(problem.transitions.indices[entry])
            if head != own:
                step = values.get(head, Fraction(0)) - values[own]
                slack += exact(problem.transitions.data[entry]) * step
        assert slack >= 0, (row, float(slack))


def rough_values(problem: CSSP, rng: np.random.Generator) -> FloatArray:
    """Values as a solver might give them: by sweeps that stop anywhere, off by a little, or nonsense."""
    values = np.zeros(problem.num_states)
    for _ in range(int(rng.integers(0, 60))):
        through = problem.costs[0] + problem.transitions @ values
        best = np.minimum.reduceat(through, problem.row_start[:-1][~problem.goals])
        values[~problem.goals] = best
    values = values[~problem.goals]
    kind = rng.integers(0, 4)
    if kind == 0:
        return values * (1.0 + 1e-9 * rng.standard_normal(len(values)))
    if kind == 1:
        return values + rng.uniform(0, 10, len(values))
    if kind == 2:
        return rng.uniform(-5, 1e3, len(values))
    return values


@pytest.mark.parametrize("seed", some(range(80), 3))
def test_the_potential_holds_exactly_however_wild_the_problem_is(seed: int) -> None:
    problem = wild_problem(seed)
    rng = np.random.default_rng(seed + 10_000)
    certifier = Certifier.of(problem)
    for _ in range(4):
        forbidden = rng.random(problem.num_rows) < 0.2
        certificate = certifier.certify(problem.costs[0], rough_values(problem, rng), forbidden)
        for reading in EXACT:
            assert_holds(problem, certificate, set(np.flatnonzero(forbidden).tolist()), reading)
        start = int(np.flatnonzero(problem.initial[~problem.goals])[0])
        exact_bound = Fraction(float(certificate.values[start])) / (1 + Fraction(certificate.share))
        assert Fraction(certificate.bound) <= exact_bound
        assert certificate.bound >= 0.0


@pytest.mark.parametrize("seed", some(range(40), 3))
def test_the_slack_is_what_is_left_open_or_a_little_less(seed: int) -> None:
    problem, rng = wild_problem(seed), np.random.default_rng(seed + 20_000)
    certifier, live = Certifier.of(problem), np.flatnonzero(~problem.goals)
    place = np.full(problem.num_states, len(live))
    place[live] = np.arange(len(live))
    for _ in range(4):
        values, forbidden = rough_values(problem, rng), rng.random(problem.num_rows) < 0.2
        told = certifier.slack(problem.costs[0], values, forbidden)
        levels = [*map(Fraction, values.tolist()), Fraction(0)]
        for row in range(problem.num_rows):
            entries = range(*problem.transitions.indptr[row : row + 2].tolist())
            own = levels[place[problem.row_state[row]]]
            steps = [
                Fraction(float(problem.transitions.data[entry]))
                * (levels[place[problem.transitions.indices[entry]]] - own)
                for entry in entries
            ]
            cost = Fraction(float(problem.costs[0, row]))
            if forbidden[row]:
                assert told[row] == np.inf
            else:
                assert Fraction(float(told[row])) <= cost + sum(steps)
                size = float(cost + sum(abs(step) for step in steps))
                assert told[row] >= float(cost + sum(steps)) - 1e-14 * size


def test_good_values_lose_next_to_nothing() -> None:
    tight = 0
    seeds = some(range(60), 3)
    for seed in seeds:
        problem = wild_problem(seed)
        values = np.zeros(problem.num_states)
        # To the fixed point, or for long: what is lost afterwards is the certificate's.
        for _ in range(3000):
            through = problem.costs[0] + problem.transitions @ values
            best = np.minimum.reduceat(through, problem.row_start[:-1][~problem.goals])
            if np.array_equal(best, values[~problem.goals]):
                break
            values[~problem.goals] = best
        certificate = Certifier.of(problem).certify(problem.costs[0], values[~problem.goals])
        value = float(problem.initial @ values)
        assert certificate.bound <= value
        tight += certificate.bound >= value * (1.0 - 1e-9)
    assert tight > 0.9 * len(seeds)


@pytest.mark.parametrize("exponent", [10, 20, 30, 45])
def test_a_free_wait_for_something_better_is_not_overlooked(exponent: int) -> None:
    leave = 2.0**-exponent
    plan = CSSPBuilder(cost_names=("minutes",))
    here, stop, out = plan.add_state("here"), plan.add_state("stop"), plan.add_goal("out")
    plan.add_action(here, "walk", to=out, costs=10.0)
    plan.add_action(here, "wait", to={here: 1.0 - leave, stop: leave}, costs=0.0)
    plan.add_action(stop, "ride", to=out, costs=9.99)
    problem = plan.build()
    certificate = Certifier.of(problem).certify(problem.costs[0], np.array([10.0, 9.99]))
    assert certificate.bound == pytest.approx(9.99, rel=1e-12)
    assert certificate.bound <= 9.99


def test_a_forbidden_row_need_not_hold() -> None:
    plan = CSSPBuilder(cost_names=("minutes",))
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "walk", to=out, costs=10.0)
    plan.add_action(here, "run", to=out, costs=1.0)
    problem = plan.build()
    certifier = Certifier.of(problem)
    values = np.array([10.0])
    allowed = certifier.certify(problem.costs[0], values)
    assert allowed.bound == pytest.approx(1.0, rel=1e-12)
    without = certifier.certify(problem.costs[0], values, np.array([False, True]))
    assert without.bound == pytest.approx(10.0, rel=1e-12)


@pytest.mark.parametrize("values", [[np.nan], [np.inf], [-3.0], [1e300]])
def test_what_cannot_be_mended_gives_the_trivial_bound_or_a_true_one(values: list[float]) -> None:
    plan = CSSPBuilder(cost_names=("minutes",))
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "try", to={out: 0.5, here: 0.5}, costs=2.0)
    problem = plan.build()
    assert 0.0 <= Certifier.of(problem).certify(problem.costs[0], np.array(values)).bound <= 4.0


def test_a_long_way_is_mended_by_one_solve_though_its_values_are_coarse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Half a unit in the last place of 4e6 is more than a division may cover of a cost of one.
    first, count = 4_000_000.0, 300
    plan = CSSPBuilder(cost_names=("minutes",))
    states, out = [plan.add_state(str(index)) for index in range(count)], plan.add_goal("out")
    for index, state in enumerate(states):
        after = states[index + 1] if index + 1 < count else out
        plan.add_action(state, "on", to={after: 0.9, states[max(index - 1, 0)]: 0.1}, costs=1.1)
    plan.add_action(states[-1], "far", to=out, costs=first)
    problem = plan.build()
    rows = problem.num_rows
    costs = np.where(np.arange(rows) == rows - 2, first, problem.costs[0])
    values = np.zeros(problem.num_states)
    for _ in range(3_000):
        through = costs + problem.transitions @ values
        values[:-1] = np.minimum.reduceat(through, problem.row_start[:-2])
    once = partial(restored, parameters=RestorationParameters(solves=1, sweeps=0))
    monkeypatch.setattr("hcssp.ssp.potential.restored", once)
    certificate = Certifier.of(problem).certify(costs, values[:-1])
    assert certificate.share <= SCALING_LOSS
    assert values[0] * (1.0 - 1e-9) <= certificate.bound <= values[0]


def test_what_may_be_lost_is_lost_without_work(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = CSSPBuilder(cost_names=("minutes",))
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "walk", to=out, costs=10.0)
    problem = plan.build()
    monkeypatch.setattr("hcssp.ssp.potential.restored", None)
    certificate = Certifier.of(problem).certify(problem.costs[0], np.array([10.0 + 1e-6]), loss=2e-7)
    assert certificate.share == pytest.approx(1e-7, rel=1e-3)
    assert 10.0 - 1e-9 <= certificate.bound <= 10.0


@pytest.mark.parametrize("seed", some(range(30), 3))
def test_so_does_what_is_certified_from_the_reduced_costs_of_a_solver(seed: int) -> None:
    problem = wild_problem(seed)
    rng = np.random.default_rng(seed + 20_000)
    balance = Balance(problem)
    for scale in (1.0, 1.0 + 1e-13, 1.0 - 1e-9):
        values = rough_values(problem, rng) * scale
        reduced = balance.reduced_costs(balance.costs[0], values)
        banned = np.flatnonzero(rng.random(problem.num_rows) < 0.2)
        reduced[banned] = np.inf
        certificate = balance.certify(np.ones(1), values, reduced, banned)
        assert_holds(problem, certificate, set(banned.tolist()), "as doubles")
        assert_holds(problem, certificate, set(banned.tolist()), "as written")


def test_a_row_that_adds_to_the_bound_adds_no_more_than_it_costs_more() -> None:
    plan = CSSPBuilder(cost_names=("minutes",))
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "walk", to=out, costs=10.0)
    plan.add_action(here, "crawl", to=out, costs=12.0)
    plan.add_action(here, "wait", to=here, costs=1.0)
    problem = plan.build()
    certifier = Certifier.of(problem)
    certificate = certifier.certify(problem.costs[0], np.array([10.0]))
    added = certifier.surcharges(problem.costs[0], certificate, np.array([False, False, True]))
    assert added == pytest.approx([0.0, 2.0, np.inf], abs=1e-8)
    assert added[1] <= 2.0


def test_a_problem_without_steps_costs_nothing() -> None:
    plan = CSSPBuilder(cost_names=("minutes",))
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "wait", to=here, costs=1.0)
    plan.set_initial(out)
    problem = plan.build()
    assert Certifier.of(problem).certify(problem.costs[0], np.array([5.0])).bound == 0.0


def test_a_value_is_lowered_by_its_length_and_a_little_and_never_below_nothing() -> None:
    for value, length, step in ((10.0, 3.0, 0.5), (1e6, 1e3, 1e-9), (3.0, 1.0, 0.0)):
        exact = Fraction(value) - Fraction(length) * Fraction(step)
        assert (1 - Fraction(1, 10**6)) * exact <= Fraction(lowered(value, length, step)) < exact
    assert lowered(1.0, 3.0, 0.5) == 0.0


def test_one_rounding_loses_half_a_unit_and_many_lose_no_more_than_their_sum() -> None:
    assert np.finfo(np.float64).eps / 2.0 == UNIT_ROUNDOFF
    for count in (1, 100, 10_000):
        exact = 1 - (1 - Fraction(UNIT_ROUNDOFF)) ** count
        assert exact <= count * Fraction(ROUNDINGS) <= exact * (1 + Fraction(1, 10**5))
        assert (1 + Fraction(UNIT_ROUNDOFF)) ** count - 1 <= count * Fraction(ROUNDINGS)


def test_every_attempt_allows_for_twice_the_rounding_of_the_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = CSSPBuilder(cost_names=("cost",))
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "go", to=out, costs=1.0)
    lacking: list[float] = []

    def unable(_: Rows, values: FloatArray, missing: Missing) -> Iterator[FloatArray]:
        lacking.extend(float(missing(values, margin)[0]) for margin in (0.0, 1.0, 2.0, 4.0))
        yield values

    monkeypatch.setattr("hcssp.ssp.potential.restored", unable)
    # Where feasibility cannot be restored, values are divided, whatever that costs.
    bound = Certifier.of(plan.build()).certify(np.ones(1), np.array([1e9])).bound
    assert 1.0 - 1e-14 <= bound <= 1.0
    once, twice, four = (each - lacking[0] for each in lacking[1:])
    assert once > 0.0
    assert twice == pytest.approx(2.0 * once, rel=0.1)
    assert four == pytest.approx(4.0 * once, rel=0.1)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_values_that_hold_are_left_as_they_are_whatever_their_unit(
    size: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = CSSPBuilder(cost_names=("cost",))
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "go", to=out, costs=size)
    problem = plan.build()
    monkeypatch.setattr("hcssp.ssp.potential.restored", None)
    certificate = Certifier.of(problem).certify(problem.costs[0], np.array([size]))
    assert certificate.bound == pytest.approx(size, rel=1e-12)


@pytest.mark.parametrize("wrong", [np.inf, np.nan, -np.inf])
def test_values_one_of_which_is_no_number_prove_nothing(wrong: float) -> None:
    problem = wild_problem(3)
    live = np.flatnonzero(~problem.goals)
    for place in range(len(live)):
        values = np.ones(len(live))
        values[place] = wrong
        certificate = Certifier.of(problem).certify(problem.costs[0], values)
        assert certificate.bound == 0.0
        assert not certificate.values.any()
