"""The worst case of a plan against all vertices of its rows, and derivatives against differences."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import permutations, product
from math import inf

import numpy as np
import pytest

from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy
from hcssp.errors import ImproperPolicy, InvalidProblem
from hcssp.evaluation.exact import evaluate
from hcssp.evaluation.robustness import Robustness, parameter_influences, robustness
from hcssp.files.problem_file.loading import load_text
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.procedure.product import with_probability
from hcssp.solving.solve import solve
from random_problems import random_cssp
from small_procedures import retrying


def a_policy(problem: CSSP, seed: int) -> DeterministicPolicy | None:
    """A random policy of the problem if it ends almost surely, else None."""
    generator = np.random.default_rng(seed)
    starts, ends = problem.row_start[:-1], problem.row_start[1:]
    rows = np.where(ends > starts, generator.integers(starts, np.maximum(ends, starts + 1)), NO_ROW)
    rows[problem.goals] = NO_ROW
    policy = DeterministicPolicy(problem, rows)
    try:
        evaluate(problem, policy)
    except ImproperPolicy:
        return None
    return policy


def vertices(odds: np.ndarray, share: float) -> list[np.ndarray]:
    """The extreme distributions: in some order, fill up whatever comes first."""
    found = {}
    for order in permutations(range(len(odds))):
        vertex, left = (1.0 - share) * odds, share
        for entry in order:
            more = min(left, min((1.0 + share) * odds[entry], 1.0) - vertex[entry])
            vertex[entry] += more
            left -= more
        found[tuple(np.round(vertex, 12))] = vertex
    return list(found.values())


def worst_by_enumeration(problem: CSSP, policy: DeterministicPolicy, share: float) -> np.ndarray:
    live = np.flatnonzero(~problem.goals)
    rows = [problem.transitions[[int(policy.rows[state])]].toarray()[0] for state in live]
    options = []
    for row in rows:
        heads = np.flatnonzero(row)
        own = []
        for vertex in vertices(row[heads] / row.sum(), share):
            full = np.zeros(problem.num_states)
            full[heads] = vertex
            own.append(full)
        options.append(own)
    worst = np.zeros(len(problem.costs))
    for chosen in product(*options):
        matrix = np.array(chosen)[:, live]
        values = np.linalg.solve(np.eye(len(live)) - matrix, problem.costs[:, policy.rows[live]].T)
        worst = np.maximum(worst, problem.initial[live] @ values)
    return worst


def problems_with_policies() -> list[tuple[CSSP, DeterministicPolicy]]:
    problems = [random_cssp(seed, max_states=5) for seed in range(40)]
    policies = [a_policy(problem, seed) for seed, problem in enumerate(problems)]
    return [
        (problem, policy)
        for problem, policy in zip(problems, policies, strict=True)
        if policy is not None and (policy.rows[~problem.goals] != NO_ROW).all()
    ]


@pytest.mark.parametrize(("problem", "policy"), problems_with_policies())
def test_the_worst_case_is_that_of_the_worst_vertices(problem: CSSP, policy: DeterministicPolicy) -> None:
    share = 0.3
    found = robustness(problem, policy, share)
    assert found.expected == pytest.approx(evaluate(problem, policy).costs)
    assert found.worst == pytest.approx(worst_by_enumeration(problem, policy, share), rel=1e-9)


def exact_totals(rows: list[dict[int, Fraction]], costs: list[Fraction]) -> Fraction:
    """The expected cost from state 0 until the goal, which is the last state, by elimination."""
    rows, costs = [dict(row) for row in rows], list(costs)
    for last in range(len(rows) - 1, 0, -1):
        for state in range(last):
            odds = rows[state].pop(last, Fraction(0)) / (1 - rows[last].get(last, 0))
            costs[state] += odds * costs[last]
            for head, chance in rows[last].items():
                if head != last:
                    rows[state][head] = rows[state].get(head, Fraction(0)) + odds * chance
    return costs[0] / (1 - rows[0].get(0, 0))


@pytest.mark.parametrize("seed", range(16))
def test_the_worst_case_of_states_that_are_hardly_ever_left_agrees_with_rationals(seed: int) -> None:
    generator = np.random.default_rng(seed)
    share = Fraction(1, 8)
    plan = CSSPBuilder(cost_names=("time",))
    states = [*(plan.add_state(f"s{number}") for number in range(3)), plan.add_goal("out")]
    rows, costs = [], []
    for state in range(3):
        leaving = Fraction(1, 2 ** int(generator.integers(1, 44)))
        heads = [head for head in range(4) if head != state and (head == 3 or generator.random() < 0.7)]
        weights = generator.multinomial(64 - len(heads), np.ones(len(heads)) / len(heads)) + 1
        row = {head: leaving * Fraction(int(w), 64) for head, w in zip(heads, weights, strict=True)}
        rows.append({state: 1 - leaving, **row})
        costs.append(Fraction(int(generator.integers(0, 4))))
        to = {states[head]: float(chance) for head, chance in rows[-1].items()}
        plan.add_action(states[state], "go", to=to, costs=float(costs[-1]))
    plan.set_initial(states[0])
    problem = plan.build()
    options = []
    for row in rows:
        own = []
        for order in permutations(row):
            vertex, left = {head: (1 - share) * chance for head, chance in row.items()}, share
            for head in order:
                more = min(left, min((1 + share) * row[head], Fraction(1)) - vertex[head])
                vertex[head], left = vertex[head] + more, left - more
            if vertex not in own:
                own.append(vertex)
        options.append(own)
    worst = max(exact_totals(list(chosen), costs) for chosen in product(*options))
    found = robustness(problem, DeterministicPolicy(problem, np.array([0, 1, 2, NO_ROW])), float(share))
    assert found.worst[0] == pytest.approx(float(worst), rel=1e-9)


def trying(success: float, bound: float = inf) -> tuple[CSSP, DeterministicPolicy]:
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": bound})
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "try", to={here: 1.0 - success, out: success}, costs={"time": 1.0, "damage": 2.0})
    problem = plan.build()
    return problem, DeterministicPolicy(problem, np.array([0, NO_ROW]))


def test_the_largest_bearable_share_has_a_closed_form() -> None:
    # 2 / (0.5 (1 - x)) <= 5, so x <= 0.2.
    problem, policy = trying(0.5, bound=5.0)
    found = robustness(problem, policy, 0.1)
    assert found.keeps_bounds()
    assert found.margins[0] == pytest.approx(0.2, rel=2e-3)
    assert not robustness(problem, policy, 0.25).keeps_bounds()
    assert robustness(problem, policy, 0.25).margins[0] == pytest.approx(0.2, rel=2e-3)


def test_a_bound_that_is_used_up_bears_nothing_and_one_that_cannot_be_reached_everything() -> None:
    problem, policy = trying(0.5, bound=4.0)
    assert robustness(problem, policy, 0.1).margins[0] < 1e-8
    assert robustness(problem.with_bounds(damage=3.0), policy, 0.1).margins[0] == 0.0
    certain, policy = trying(1.0, bound=2.0)
    found = robustness(certain, policy, 0.5)
    assert found.margins[0] == inf
    assert found.worst == pytest.approx(found.expected)


def cost_if(problem: CSSP, policy: DeterministicPolicy, entry: int, share: float, cost: int) -> float:
    """A cost if the probability `entry` is larger by a share of itself, at the expense of the others."""
    transitions = problem.transitions.copy()
    row = int(np.searchsorted(transitions.indptr, entry, side="right")) - 1
    own = slice(transitions.indptr[row], transitions.indptr[row + 1])
    before = transitions.data[entry]
    transitions.data[own] *= 1.0 - share * before / (1.0 - before)
    transitions.data[entry] = before * (1.0 + share)
    changed = problem.derive(transitions=transitions)
    return float(evaluate(changed, DeterministicPolicy(changed, policy.rows)).costs[cost])


def test_influences_are_derivatives() -> None:
    problem, policy = trying(0.25)
    found = robustness(problem, policy, most=10)
    by_successor = {each.successor: each for each in found.influences[0]}
    assert set(by_successor) == {"here", "out", None}
    for entry in range(2):
        head = problem.state_labels[int(problem.transitions.indices[entry])]
        step = 1e-6
        slope = cost_if(problem, policy, entry, step, 0) - cost_if(problem, policy, entry, -step, 0)
        assert by_successor[head].change == pytest.approx(slope / (2.0 * step) / 100.0, rel=1e-5)
    # A percent more for each of four tries.
    assert by_successor[None].change == pytest.approx(0.04)
    assert [abs(each.change) for each in found.influences[0]] == sorted(
        (abs(each.change) for each in found.influences[0]), reverse=True
    )


def test_a_procedure_is_judged_with_the_odds_of_its_outcomes() -> None:
    plan = solve(retrying())
    found = robustness(plan.problem, plan.policy, 0.1)
    assert isinstance(found, Robustness)
    assert found.expected == pytest.approx(plan.evaluation.costs)
    assert (found.worst >= found.expected).all()
    assert found.worst[0] > found.expected[0]
    names = {each.state for influences in found.influences for each in influences}
    assert names & set(plan.problem.events)


@pytest.mark.parametrize("share", [-0.1, 1.0, 2.0, float("nan")])
def test_a_share_must_leave_every_probability_positive(share: float) -> None:
    with pytest.raises(InvalidProblem, match="give a share from 0 to less than 1"):
        robustness(*trying(0.5), share)


def test_what_counts_a_probability_is_as_wrong_as_probabilities_are() -> None:
    plan = CSSPBuilder(cost_names=("time",))
    here, over, dead = plan.add_state("here"), plan.add_goal("over"), plan.add_goal("dead")
    plan.add_action(here, "try", to={here: 0.5, over: 0.3, dead: 0.2}, costs=1.0)
    single = with_probability(plan.build(), "death", of="dead", at_most=0.45)
    found = robustness(single, solve(single).policy, within=0.1)
    # Both exits lead to the end; death is likeliest if it takes from the other one.
    assert found.expected[1] == pytest.approx(0.4)
    assert found.worst[1] == pytest.approx(0.22 / 0.49)
    assert found.keeps_bounds()
    # 0.2 (1 + x) of it and of 0.3 (1 - x), which is 0.45.
    assert found.margins[0] == pytest.approx(0.025 / 0.245, rel=2e-3)
    told = {(each.successor, each.figure): each.change for each in found.influences[1]}
    (change,) = [value for (where, _), value in told.items() if where == ("problem", "dead")]
    # One percent of 0.2 more, and the others less in proportion: 0.202 of 0.202 and 0.29925.
    assert change == pytest.approx(0.202 / (0.202 + 0.3 * 0.798 / 0.8) - 0.4, rel=0.02)
    assert not any(each.successor is None for each in found.influences[1])


def test_what_may_happen_again_counts_once_in_the_worst_case_too() -> None:
    plan = CSSPBuilder(cost_names=("time",))
    depot, wreck, there = plan.add_state("depot"), plan.add_state("wreck"), plan.add_goal("there")
    plan.add_action(depot, "fly", to={there: 0.9, wreck: 0.1}, costs=1.0)
    plan.add_action(wreck, "mend", to=depot, costs=5.0)
    plan.set_initial(depot)
    problem = with_probability(plan.build(), "crash", of="wreck", at_most=0.12)
    found = robustness(problem, solve(problem).policy, within=0.1)
    assert (found.expected[1], found.worst[1]) == pytest.approx((0.1, 0.11))
    assert found.margins[0] == pytest.approx(0.2, rel=2e-3)


def test_a_limit_is_about_executions_however_likely_they_are() -> None:
    room = CSSPBuilder(cost_names=("time", "damage"))
    inside, out = room.add_state("inside"), room.add_goal("out")
    room.add_action(inside, "try", to={inside: 0.5, out: 0.5}, costs=(1.0, 1.0))
    inner = ProcedureBuilder("house")
    begin, end = inner.add_event("begin"), inner.add_event("end")
    only = inner.add_activity("room", room.build())
    inner.add_choice(begin, "go", to=[Outcome(1.0, end, runs=only)])
    inner.add_constraint("damage", at_most=2.5, counts={only: "damage"})
    outer = ProcedureBuilder("street")
    first, last = outer.add_event("first"), outer.add_event("last")
    house = outer.add_activity("house", inner.build(start=begin, end=end))
    outer.add_choice(first, "knock", to=[Outcome(0.4, last, runs=house), Outcome(0.6, last)])
    problem = outer.build(start=first, end=last)
    found = robustness(problem, solve(problem).policy, within=0.1)
    # Two tries are expected in an execution, 1 / 0.45 at the worst, and 2.5 at an error of a fifth.
    limit = found.cost_names.index("house/damage")
    assert found.keeps_bounds()
    assert found.margins[limit - 1] == pytest.approx(0.2, rel=2e-3)
    # Told as in the flat problem: what is spent, and the limit for what is not executed.
    assert found.expected[limit] == pytest.approx(0.4 * 2.0 + 0.6 * 2.5)
    assert found.worst[limit] == pytest.approx(2.5 + 0.36 * (1 / 0.45 - 2.5))


def expedition(locked: float = 0.25, slip: float = 0.2) -> HCSSP:
    """Cross a hall that may be locked, and go back, on a battery that some crossings use up."""
    text = """
format: hcssp-problem
version: 1
parameters: {locked: 0.25, slip: 0.2, unused: 3}
costs: [time, lost]
capacities: {battery: {at_most: 9}}
models:
  leg:
    grid: {map: ["#####", "S...G", "#...#", "#####"], slip: slip, step_cost: {time: 1, battery: 1}}
    give_up: {time: 50, lost: 1}
activities:
  out: {model: leg}
  detour:
    table: {here: {walk: {to: there, costs: {time: 7, battery: 2}}}}
    start: here
    goal: there
    give_up: {time: 50, lost: 1}
  back: {model: leg}
procedure:
  start: depot
  end: over
  events:
    depot: {go: {runs: out, to: hall}}
    hall:
      try:
        - {probability: 1 - locked, to: far}
        - {probability: locked, runs: detour, to: far}
    far: {return: {runs: back, to: over}}
"""
    return load_text(text, parameters={"locked": locked, "slip": slip})


def test_levels_of_a_capacity_share_the_figures_of_the_file() -> None:
    """What an event's odds change is the sum over all charge levels: the slope of the exact cost."""
    problem = expedition()
    policy = solve(problem).as_procedure().policy
    step = 1e-5
    more, less = (expedition(locked=0.25 * (1 + sign * step)) for sign in (1, -1))
    slope = (evaluate(more, policy.under(more)).costs - evaluate(less, policy.under(less)).costs) / (2 * step)
    for cost, found in enumerate(robustness(problem, policy, most=99).influences):
        by_place = {(each.state, each.successor): each for each in found if each.successor is not None}
        locked = by_place["hall", ("detour", "here")]
        assert (locked.action, locked.figure) == ("try", 0.25)
        assert 100 * locked.change == pytest.approx(slope[cost], rel=1e-6)
        # Nothing is named twice, and nothing by the level of the battery.
        names = [(each.state, each.action, each.successor) for each in found]
        assert len(set(names)) == len(names)
        assert "battery" not in str(names)
        assert "event" not in str(names)


def test_a_parameter_sums_up_all_that_it_decides() -> None:
    problem = expedition()
    policy = solve(problem).as_procedure().policy
    given = {"locked": 0.25, "slip": 0.2, "unused": 3.0}

    def make(changed: Mapping[str, float | Fraction]) -> HCSSP:
        return expedition(**{name: float(value) for name, value in changed.items() if name != "unused"})

    found = parameter_influences(policy, given, make)
    for cost, influences in enumerate(found):
        assert {each.state for each in influences} == {"locked", "slip"}
        for each in influences:
            changed = make({str(each.state): each.figure * 1.01})
            exact = (
                evaluate(changed, policy.under(changed)).costs[cost] - evaluate(problem, policy).costs[cost]
            )
            assert each.change == pytest.approx(exact, rel=1e-9)
    # A probability of 1 cannot grow; then it is made smaller.
    text = "[{probability: sure, runs: again, to: end}, {probability: 1 - sure, to: end}]"
    certain = surely(text, 1.0)
    own = solve(certain).as_procedure().policy
    ((time,),) = parameter_influences(
        own, {"sure": 1.0}, lambda changed: surely(text, float(changed["sure"]))
    )
    assert time.change == pytest.approx(0.01 * 3.0)


def surely(outcomes: str, sure: float) -> HCSSP:
    """An activity of 3 minutes, run with a probability."""
    return load_text(
        f"""
format: hcssp-problem
version: 1
parameters: {{sure: 1}}
costs: [time]
activities:
  again: {{table: {{here: {{walk: {{to: there, costs: {{time: 3}}}}}}}}, start: here, goal: there}}
procedure: {{start: start, end: end, events: {{start: {{go: {outcomes}}}}}}}
""",
        parameters={"sure": sure},
    )
