"""What a single run spends: costs C(s, a, s'), stated in every way, against an enumeration of all runs."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_array

import hcssp
from hcssp import CSSP, Capacity, CSSPBuilder, ImplicitCSSP, Outcome, ProcedureBuilder, explore, from_arrays
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy
from hcssp.cssp.state_space import TransitionBatch
from hcssp.cssp.transition_costs import outcomes_of_rows
from hcssp.errors import DeadEnd, InvalidProblem
from hcssp.evaluation import narrate, simulate
from hcssp.evaluation.robustness import robustness
from hcssp.exchange.umb import umb_bytes
from hcssp.execution import Run
from hcssp.files.problem_file.dumping import dump_problem
from hcssp.files.problem_file.loading import load
from hcssp.procedure.product import with_probability

NAMES = ("time", "battery")


class Way(NamedTuple):
    """An outcome: the state it reaches, its probability, and what it costs."""

    state: int
    probability: Fraction
    costs: tuple[int, int]


Stated = dict[int, dict[str, list[Way]]]
"""From states to actions to outcomes; the goal is the last state and has none."""


def stated(seed: int, size: int = 4, choices: str = "ab") -> Stated:
    """A random problem in which every step leads onwards."""
    draw = random.Random(seed)
    found: Stated = {}
    for state in range(size):
        found[state] = {}
        for action in choices:
            later = draw.sample(range(state + 1, size + 1), min(size - state, draw.randint(1, 3)))
            shares = [Fraction(draw.randint(1, 4)) for _ in later]
            found[state][action] = [
                Way(reached, share / sum(shares), (draw.randint(1, 3), draw.choice([0, 0, 1, 4])))
                for reached, share in zip(later, shares, strict=True)
            ]
    return found


def name(state: int) -> str:
    return f"s{state}"


def by_builder(problem: Stated, _: Path) -> CSSP:
    made = CSSPBuilder(cost_names=NAMES)
    for state in problem:
        made.add_state(name(state))
    made.add_goal(name(len(problem)))
    for state, actions in problem.items():
        for action, ways in actions.items():
            # What all outcomes cost is stated with the action, the rest with the states.
            least = min(way.costs[0] for way in ways)
            made.add_action(
                name(state),
                action,
                to={name(way.state): float(way.probability) for way in ways},
                costs={"time": least},
                arrival_costs={
                    name(way.state): {"time": way.costs[0] - least, "battery": way.costs[1]} for way in ways
                },
            )
    return made.build()


def by_functions(problem: Stated, _: Path) -> CSSP:
    return explore(
        name(0),
        lambda state: problem[int(state[1:])],
        lambda state, action: {
            name(way.state): float(way.probability) for way in problem[int(state[1:])][action]
        },
        lambda state, action: 0.0,
        lambda state: int(state[1:]) == len(problem),
        NAMES,
        arrival_costs=lambda state, action, reached: next(
            way.costs for way in problem[int(state[1:])][action] if name(way.state) == reached
        ),
    )


def implicitly(problem: Stated, _: Path) -> CSSP:
    return ImplicitCSSP(
        name(0),
        lambda state: problem[int(state[1:])],
        lambda state, action: [
            (name(way.state), float(way.probability), way.costs) for way in problem[int(state[1:])][action]
        ],
        lambda state, action: 0.0,
        lambda state: int(state[1:]) == len(problem),
        cost_names=NAMES,
    ).enumerated()


def in_batches(problem: Stated, _: Path) -> CSSP:
    def transitions(states: np.ndarray) -> TransitionBatch:
        rows = [
            (at, code, ways)
            for at, (s,) in enumerate(states.tolist())
            for code, ways in enumerate(problem[s].values())
        ]
        every = [(row, way) for row, (_, _, ways) in enumerate(rows) for way in ways]
        return TransitionBatch(
            states=[at for at, _, _ in rows],
            actions=[code for _, code, _ in rows],
            costs=np.zeros((2, len(rows))),
            rows=[row for row, _ in every],
            successors=np.array([[way.state] for _, way in every]),
            probabilities=[float(way.probability) for _, way in every],
            arrival_costs=np.array([way.costs for _, way in every]).T,
        )

    found = ImplicitCSSP.in_batches(
        [0],
        transitions,
        lambda states: states[:, 0] == len(problem),
        action_names=("a", "b"),
        cost_names=NAMES,
    ).enumerated()
    return found.derive(state_labels=[name(int(str(label)[1:-2])) for label in found.state_labels])


def by_arrays(problem: Stated, _: Path) -> CSSP:
    size = len(problem) + 1
    chances, costs = np.zeros((size, 2, size)), np.zeros((2, size, 2, size))
    for state, actions in problem.items():
        for code, ways in enumerate(actions.values()):
            for way in ways:
                chances[state, code, way.state] = float(way.probability)
                costs[:, state, code, way.state] = way.costs
    return from_arrays(
        chances,
        dict(zip(NAMES, costs, strict=True)),
        initial=0,
        goals=[size - 1],
        state_labels=[name(state) for state in range(size)],
        action_labels=("a", "b"),
    )


def by_sparse_rows(problem: Stated, _: Path) -> CSSP:
    rows = [(state, action, ways) for state, actions in problem.items() for action, ways in actions.items()]
    shape = (len(rows), len(problem) + 1)
    entries = [(row, way) for row, (_, _, ways) in enumerate(rows) for way in ways]
    places = ([row for row, _ in entries], [way.state for _, way in entries])
    # Costs of 0 are no entries of a sparse matrix.
    costs = [csr_array(([float(way.costs[k]) for _, way in entries], places), shape=shape) for k in (0, 1)]
    for matrix in costs:
        matrix.eliminate_zeros()
    return from_arrays(
        csr_array(([float(way.probability) for _, way in entries], places), shape=shape),
        dict(zip(NAMES, costs, strict=True)),
        row_states=[state for state, _, _ in rows],
        initial=0,
        goals=[len(problem)],
        state_labels=[name(state) for state in range(shape[1])],
        action_labels=[action for _, action, _ in rows],
    )


HEAD = "format: hcssp-problem\nversion: 1\ncosts: [time, battery]\n"


def by_csv(problem: Stated, folder: Path) -> CSSP:
    lines = [
        f"{name(state)},{action},{name(way.state)},{float(way.probability)!r},{way.costs[0]},{way.costs[1]}"
        for state, actions in problem.items()
        for action, ways in actions.items()
        for way in ways
    ]
    (folder / "t.csv").write_text("\n".join(["state,action,next,probability,time,battery", *lines]))
    goal = name(len(problem))
    (folder / "t.yaml").write_text(f"{HEAD}activities: {{a: {{file: t.csv, start: s0, goal: {goal}}}}}\n")
    return load(folder / "t.yaml").activities[0].cssp


def by_table(problem: Stated, folder: Path) -> CSSP:
    text = f"{HEAD}activities:\n  a:\n    start: s0\n    goal: {name(len(problem))}\n    table:\n"
    for state, actions in problem.items():
        text += f"      {name(state)}:\n"
        for action, ways in actions.items():
            to = ", ".join(f"{name(way.state)}: {float(way.probability)!r}" for way in ways)
            extra = ", ".join(
                f"{name(way.state)}: {{time: {way.costs[0]}, battery: {way.costs[1]}}}" for way in ways
            )
            text += f"        {action}: {{to: {{{to}}}, arrival_costs: {{{extra}}}}}\n"
    (folder / "t.yaml").write_text(text)
    return load(folder / "t.yaml").activities[0].cssp


def by_its_file(problem: Stated, folder: Path) -> CSSP:
    made = by_builder(problem, folder)
    (folder / "t.yaml").write_text(dump_problem(made))
    again = load(folder / "t.yaml").activities[0].cssp
    assert again == made
    return again


def by_umb(problem: Stated, folder: Path) -> CSSP:
    pytest.importorskip("umbi")
    (folder / "t.umb").write_bytes(umb_bytes(by_builder(problem, folder)))
    return hcssp.load_model(folder / "t.umb", minimise="time")


WAYS: list[Callable[[Stated, Path], CSSP]] = [
    by_builder,
    by_functions,
    implicitly,
    in_batches,
    by_arrays,
    by_sparse_rows,
    by_csv,
    by_table,
    by_its_file,
    by_umb,
]


def content(problem: CSSP) -> dict[tuple[Hashable, Hashable], set[tuple[Hashable, float, tuple[float, ...]]]]:
    """What a problem says about every action that can be taken."""
    rows = np.arange(problem.num_rows)
    found = outcomes_of_rows(problem, rows)
    costs = found.costs(rows, problem.costs, problem.transition_costs)
    told: dict[tuple[Hashable, Hashable], set[tuple[Hashable, float, tuple[float, ...]]]] = {}
    for row, state, chance, paid in zip(
        np.repeat(rows, found.lengths).tolist(), found.states, found.probabilities, costs.T, strict=True
    ):
        key = (problem.state_labels[int(problem.row_state[row])], problem.action_labels[row])
        told.setdefault(key, set()).add(
            (problem.state_labels[int(state)], float(chance), tuple(paid.tolist()))
        )
    return told


@pytest.mark.parametrize("state", WAYS)
def test_every_way_to_state_a_problem_keeps_the_costs_of_transitions(
    state: Callable[[Stated, Path], CSSP], tmp_path: Path
) -> None:
    for seed in range(4):
        problem = stated(seed)
        made = state(problem, tmp_path)
        reached = {label for label, _ in content(made)}
        assert name(0) in reached
        assert content(made) == {
            (name(at), action): {
                (name(w.state), float(w.probability), tuple(map(float, w.costs))) for w in ways
            }
            for at, actions in problem.items()
            for action, ways in actions.items()
            if name(at) in reached
        }
        for (at, action), outcomes in content(made).items():
            (row,) = (
                r
                for r in range(made.num_rows)
                if made.action_labels[r] == action and made.state_labels[int(made.row_state[r])] == at
            )
            mean = [sum(chance * paid[cost] for _, chance, paid in outcomes) for cost in (0, 1)]
            assert made.costs[:, row].tolist() == pytest.approx(mean, rel=1e-14)


def distribution(problem: Stated, actions: dict[int, str], state: int = 0) -> Counter[tuple[int, int]]:
    """The exact probability of every total, by enumerating all runs."""
    if state == len(problem):
        return Counter({(0, 0): Fraction(1)})
    found: Counter[tuple[int, int]] = Counter()
    for way in problem[state][actions[state]]:
        for (time, battery), chance in distribution(problem, actions, way.state).items():
            found[way.costs[0] + time, way.costs[1] + battery] += way.probability * chance  # type: ignore[assignment]
    return found


def policy_of(problem: CSSP, actions: dict[int, str]) -> DeterministicPolicy:
    rows = np.full(problem.num_states, NO_ROW)
    for row in range(problem.num_rows):
        state = int(problem.row_state[row])
        if problem.action_labels[row] == actions[int(str(problem.state_labels[state])[1:])]:
            rows[state] = row
    return DeterministicPolicy(problem, rows)


def assert_distributed(totals: np.ndarray, exact: Counter[tuple[int, int]]) -> None:
    count = totals.shape[1]
    seen = Counter(map(tuple, totals.T.round().astype(int).tolist()))
    assert set(seen) <= set(exact)
    for total, chance in exact.items():
        error = 5.0 * float(chance * (1 - chance) / count) ** 0.5
        assert seen[total] / count == pytest.approx(float(chance), abs=error + 1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_simulated_totals_have_the_distribution_of_all_runs(seed: int, tmp_path: Path) -> None:
    problem = stated(seed)
    actions = {state: random.Random(seed + state).choice("ab") for state in problem}
    exact = distribution(problem, actions)
    made = by_builder(problem, tmp_path)
    runs = simulate(made, policy_of(made, actions), runs=20_000, seed=seed)
    assert_distributed(runs.totals, exact)
    for bound in range(10):
        chance = float(sum(p for (_, battery), p in exact.items() if battery > bound))
        error = 5.0 * (chance * (1.0 - chance) / runs.num_runs) ** 0.5
        assert runs.probability_of_exceeding("battery", bound).value == pytest.approx(
            chance, abs=error + 1e-12
        )
    share = Fraction(0)
    for battery, chance in sorted((battery, p) for (_, battery), p in exact.items()):
        # Away from the ranks where a total begins or ends, the percentile is exact.
        middle, share = share + chance / 2, share + chance
        if chance > Fraction(1, 10):
            assert runs.percentile("battery", 100.0 * float(middle)) == battery
    for step in narrate(made, policy_of(made, actions), seed=seed):
        paid = tuple(int(cost) for cost in step.costs.values())
        ways = problem[int(str(step.state)[1:])][str(step.action)]
        assert (int(str(step.successor)[1:]), paid) in {(way.state, way.costs) for way in ways}


def test_two_outcomes_may_reach_one_state_at_different_costs(tmp_path: Path) -> None:
    problem = {0: {"a": [Way(1, Fraction(1, 4), (1, 8)), Way(1, Fraction(3, 4), (1, 0))]}}
    for made in (by_csv(problem, tmp_path), implicitly(problem, tmp_path)):
        assert made.transitions.toarray().tolist() == [[0.0, 1.0]]
        assert made.costs.tolist() == [[1.0], [2.0]]
        runs = simulate(made, DeterministicPolicy(made, np.array([0, NO_ROW])), runs=20_000)
        assert_distributed(runs.totals, distribution(problem, {0: "a"}))
        with pytest.raises(DeadEnd):
            hcssp.solve(hcssp.with_capacities(made, [Capacity("battery", at_most=7)]))
        with pytest.raises(InvalidProblem, match=r"two costs of one action that leads to state 's1'"):
            dump_problem(made)


def cheapest(problem: Stated, most: int, state: int = 0, used: int = 0) -> Fraction | None:
    """The least expected time of a plan no run of which uses more; None if there is none."""
    if state == len(problem):
        return Fraction(0)
    best: Fraction | None = None
    for ways in problem[state].values():
        total: Fraction | None = Fraction(0)
        for way in ways:
            after = used + way.costs[1]
            rest = cheapest(problem, most, way.state, after) if after <= most else None
            total = None if rest is None or total is None else total + way.probability * (way.costs[0] + rest)
        if total is not None and (best is None or total < best):
            best = total
    return best


@pytest.mark.parametrize("state", [by_builder, by_csv])
def test_a_capacity_is_kept_by_every_run(state: Callable[[Stated, Path], CSSP], tmp_path: Path) -> None:
    found = set()
    for seed in range(3):
        problem = stated(seed)
        made = state(problem, tmp_path)
        for most in range(6):
            best = cheapest(problem, most)
            found.add(best is None)
            carried = hcssp.with_capacities(made, [Capacity("battery", at_most=most)])
            if best is None:
                with pytest.raises(DeadEnd):
                    hcssp.solve(carried)
                continue
            plan = hcssp.solve(carried)
            assert plan.upper_bound == pytest.approx(float(best), rel=1e-9)
            runs = plan.simulate(runs=200)
            assert runs.totals[runs.cost_names.index("battery")].max() <= most
    assert found == {True, False}


def least_with_giving_up(problem: Stated, most: int, price: int, state: int = 0, used: int = 0) -> Fraction:
    """The least expected time where a run ends for a price as soon as it cannot reach the goal."""
    if state == len(problem):
        return Fraction(0)
    allowed = [ways for ways in problem[state].values() if all(used + way.costs[1] <= most for way in ways)]
    if not any(reaches(problem, most, way.state, used + way.costs[1]) for ways in allowed for way in ways):
        return Fraction(price)
    return min(
        sum(
            (
                way.probability
                * (way.costs[0] + least_with_giving_up(problem, most, price, way.state, used + way.costs[1]))
                for way in ways
            ),
            Fraction(0),
        )
        for ways in allowed
    )


def reaches(problem: Stated, most: int, state: int, used: int) -> bool:
    return state == len(problem) or any(
        reaches(problem, most, way.state, used + way.costs[1])
        for ways in problem[state].values()
        if all(used + way.costs[1] <= most for way in ways)
        for way in ways
    )


@pytest.mark.parametrize("also_cost", [False, True])
def test_a_capacity_of_a_file_is_used_up_by_transitions(also_cost: bool, tmp_path: Path) -> None:
    for seed in range(4):
        problem = stated(seed)
        by_csv(problem, tmp_path)
        for most in range(0, 6, 2):
            costs = "[time, battery]" if also_cost else "[time]"
            bound = "constraints: {battery: {at_most: 99}}\n" if also_cost else ""
            (tmp_path / "t.yaml").write_text(
                f"format: hcssp-problem\nversion: 1\ncosts: {costs}\n{bound}"
                f"capacities: {{battery: {{at_most: {most}}}}}\n"
                f"activities: {{a: {{file: t.csv, start: s0, goal: s4, give_up: {{time: 50}}}}}}\n"
            )
            plan = hcssp.solve(load(tmp_path / "t.yaml"))
            exact = least_with_giving_up(problem, most, 50)
            assert plan.upper_bound == pytest.approx(float(exact), rel=1e-9)
            if also_cost:
                assert plan.simulate(runs=500).totals[1].max() <= most


def test_what_is_given_back_counts_by_transition_too(tmp_path: Path) -> None:
    text = """state,action,next,probability,time,battery
a,go,b,0.5,1,3
a,go,c,0.5,1,1
b,charge,c,0.5,1,-2
b,charge,c,0.5,1,-1
c,go,d,1,1,2
"""
    (tmp_path / "t.csv").write_text(text)
    found = {}
    for most in (3, 4):
        (tmp_path / "t.yaml").write_text(
            "format: hcssp-problem\nversion: 1\ncosts: [time, battery]\n"
            f"capacities: {{battery: {{at_most: {most}}}}}\nconstraints: {{battery: {{at_most: 9}}}}\n"
            "activities: {a: {file: t.csv, start: a, goal: d}}\n"
        )
        found[most] = load(tmp_path / "t.yaml")
    with pytest.raises(DeadEnd):
        hcssp.solve(found[3])
    plan = hcssp.solve(found[4])
    # As a cost, what is given back is 0: 3 or 1, then 2.
    assert set(plan.simulate(runs=1000).totals[1].tolist()) == {3.0, 5.0}
    assert plan.cost("battery") == pytest.approx(4.0)


def test_procedures_inside_procedures_and_implicit_ones_pay_by_transition() -> None:
    outer = ProcedureBuilder()
    start, end = outer.add_event("start"), outer.add_event("end")
    inside = outer.add_activity("inside", two_in_a_row())
    outer.add_choice(start, "go", to=[Outcome(1.0, end, runs=inside)])
    outer.add_constraint("battery", at_most=5.0, counts={inside: "battery"})
    exact = {(2, 0): Fraction(9, 16), (2, 4): Fraction(6, 16), (2, 8): Fraction(1, 16)}
    runs = hcssp.solve(outer.build(start=start, end=end)).simulate(runs=20_000)
    assert_distributed(runs.totals[:2], Counter(exact))
    way = ImplicitCSSP(
        "good",
        lambda state: ("go",),
        lambda state, action: [("fine", 0.75, {"time": 1}), ("hurt", 0.25, {"time": 1, "battery": 4})],
        lambda state, action: 0.0,
        lambda state: state in ("fine", "hurt"),
        cost_names=NAMES,
    )
    mixed = ProcedureBuilder()
    first, middle, last = (mixed.add_event(each) for each in ("first", "middle", "last"))
    one, two = mixed.add_activity("one", single_exit()), mixed.add_activity("two", way)
    mixed.add_choice(first, "go", to=[Outcome(1.0, middle, runs=one)])
    mixed.add_choice(middle, "go", to=[Outcome(1.0, last, runs=two)])
    mixed.add_constraint("battery", at_most=5.0, counts={one: "battery", two: "battery"})
    runs = hcssp.solve(mixed.build_implicit(start=first, end=last)).simulate(runs=20_000)
    assert_distributed(
        runs.totals, Counter({(3, 0): Fraction(3, 8), (3, 4): Fraction(1, 2), (3, 8): Fraction(1, 8)})
    )


def single_exit() -> CSSP:
    made = CSSPBuilder(cost_names=NAMES)
    made.add_state("here")
    made.add_state("slow")
    made.add_goal("there")
    extra = {"slow": {"battery": 4}, "there": {"time": 1}}
    made.add_action("here", "go", to={"slow": 0.5, "there": 0.5}, costs={"time": 1}, arrival_costs=extra)
    made.add_action("slow", "go", to="there", costs={"time": 1})
    made.set_initial("here")
    return made.build()


@pytest.mark.parametrize("seed", range(4))
def test_the_probability_of_exceeding_a_capacity_is_that_of_all_runs(seed: int, tmp_path: Path) -> None:
    problem = stated(seed, choices="a")
    exact = distribution(problem, dict.fromkeys(problem, "a"))
    made = by_csv(problem, tmp_path)
    plan = hcssp.solve(hcssp.with_capacities(made, [Capacity("battery", at_most=3, probability=1.0)]))
    chance = float(sum(p for (_, battery), p in exact.items() if battery > 3))
    assert plan.cost("battery above 3") == pytest.approx(chance, abs=1e-12)
    runs = plan.simulate(runs=20_000)
    above = runs.totals[runs.cost_names.index("battery above 3")]
    assert (above == (runs.totals[runs.cost_names.index("battery")] > 3)).all()


def two_exits(starts: tuple[str, ...] = ("here",), good: str = "good", bad: str = "bad") -> CSSP:
    """An activity whose exits cost differently."""
    made = CSSPBuilder(cost_names=NAMES)
    made.add_goal(good)
    made.add_goal(bad)
    for start in starts:
        made.add_state(start)
        to, extra = {good: 0.75, bad: 0.25}, {bad: {"battery": 4}}
        made.add_action(start, "go", to=to, costs={"time": 1}, arrival_costs=extra)
    made.set_initial(starts[0])
    return made.build()


def two_in_a_row() -> hcssp.HCSSP:
    made = ProcedureBuilder()
    first, middle, last = (made.add_event(each) for each in ("first", "middle", "last"))
    one = made.add_activity("one", two_exits())
    two = made.add_activity("two", two_exits(("good", "bad"), "fine", "hurt"))
    made.add_choice(first, "go", to=[Outcome(1.0, middle, runs=one)])
    made.add_choice(middle, "go", to=[Outcome(1.0, last, runs=two)])
    made.add_constraint("battery", at_most=5.0, counts={one: "battery", two: "battery"})
    return made.build(start=first, end=last)


def test_exits_that_lead_to_one_event_keep_their_costs() -> None:
    plan = hcssp.solve(two_in_a_row())
    runs = plan.simulate(runs=20_000)
    exact = {(2, 0): Fraction(9, 16), (2, 4): Fraction(6, 16), (2, 8): Fraction(1, 16)}
    assert_distributed(runs.totals, Counter(exact))
    assert hcssp.solve(hcssp.with_capacities(two_in_a_row(), [Capacity("battery", at_most=8)])).found
    with pytest.raises(DeadEnd):
        hcssp.solve(hcssp.with_capacities(two_in_a_row(), [Capacity("battery", at_most=7)]))


def test_a_run_has_spent_what_its_transitions_cost(tmp_path: Path) -> None:
    run = hcssp.solve(two_in_a_row()).start()
    for seen in (None, None, "bad", None, "fine"):
        decision = run.step(seen)
    assert decision.over
    assert decision.spent == {"time": 2.0, "battery": 4.0}
    assert decision.budget_left == {"battery": 1.0}
    problem = stated(1)
    made = by_builder(problem, tmp_path)
    policy = policy_of(made, dict.fromkeys(problem, "a"))
    steps = list(narrate(made, policy, seed=5))
    follows = Run(policy)
    follows.step()
    for step in steps:
        decision = follows.step(step.successor)
    assert decision.spent == {name: sum(step.costs[name] for step in steps) for name in NAMES}


def test_what_is_marked_happens_in_a_run_or_not() -> None:
    problem = with_probability(two_in_a_row(), "trouble", of={"one": "bad", "two": "hurt"})
    runs = hcssp.solve(problem).simulate(runs=20_000)
    trouble = runs.totals[runs.cost_names.index("trouble")]
    assert set(trouble.tolist()) == {0.0, 1.0}
    battery = runs.totals[runs.cost_names.index("battery")]
    assert (trouble == (battery > 0.0)).all()
    assert trouble.mean() == pytest.approx(7 / 16, abs=0.02)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_a_cost_of_transitions_is_as_wrong_as_probabilities_are(share: float) -> None:
    single = two_exits()
    for problem, times in ((single, 1), (two_in_a_row(), 2)):
        plan = hcssp.solve(problem)
        found = robustness(plan.problem, plan.policy, within=share)
        assert found.expected[1] == pytest.approx(times * 1.0)
        assert found.worst[1] == pytest.approx(times * 0.25 * (1.0 + share) * 4.0)
        told = {each.successor: each.change for each in found.influences[1]}
        # In the flat problem the exits of the last activity are one state.
        assert times == 1 or {("two", "fine"), ("two", "hurt")} <= set(told)


PARTS = (
    "transitions",
    "row_start",
    "initial",
    "goals",
    "bounds",
    "cost_names",
    "state_labels",
    "action_labels",
)


def test_transition_costs_must_agree_with_the_row() -> None:
    good = two_exits()
    parts = {each: getattr(good, each) for each in PARTS}
    common = {**parts, "transition_costs": good.transition_costs}
    assert CSSP(costs=good.costs, **common) == good
    with pytest.raises(InvalidProblem, match="do not have the probabilities and the expected costs"):
        CSSP(costs=good.costs + np.array([[0.0], [0.5]]), **common)
    assert good.derive(costs=good.costs).transition_costs is None
    assert good != good.derive(costs=good.costs)


def test_maximising_keeps_them() -> None:
    problem = hcssp.maximise(two_exits(), "battery")
    runs = hcssp.solve(problem).simulate(runs=2_000)
    assert set(runs.totals[runs.cost_names.index("battery")].tolist()) == {0.0, 4.0}
