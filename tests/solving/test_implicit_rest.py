"""Planning the rest of implicit problems anew; and nothing is looked for in what was not expanded."""

from __future__ import annotations

import numpy as np
import pytest

import hcssp
from hcssp import ImplicitCSSP, InvalidProblem, Outcome, ProcedureBuilder
from hcssp.errors import BudgetSpent, UnsupportedProblem
from hcssp.reports.page import curves_around
from random_problems import random_cssp
from volume import some


def way(skate: float = 1.5, closed: int | None = None, bound: float = 4.0) -> ImplicitCSSP:
    """Twenty places to the goal; to skate is quick, and bruises."""
    return ImplicitCSSP(
        0,
        lambda place: ("walk", "skate") if place != closed else ("walk",),
        lambda place, action: {place + 1: 1.0} if action == "walk" else {place + 2: 0.75, place: 0.25},
        lambda place, action: {"minutes": 2.0} if action == "walk" else {"minutes": skate, "bruises": 1.0},
        lambda place: place >= 20,
        lambda place: {"minutes": max(20 - place, 0) * min(skate / 1.5, 1.0)},
        ("minutes", "bruises"),
        {"bruises": bound},
    )


def two_roads(bound: float = 1.0) -> ImplicitCSSP:
    """The road in the east is long, but nobody has looked into it: its heuristic says that it is short."""
    return ImplicitCSSP(
        "start",
        lambda at: ("north", "east") if at == "start" else ("go",),
        lambda at, to: {(to, 0): 1.0} if at == "start" else {(at[0], at[1] + 1) if at[1] < 9 else "end": 1.0},
        lambda at, to: (
            {"time": 1.0} if at == "start" else {"time": 1.0, "risk": 0.05} if at[0] == "north" else 3.0
        ),
        lambda at: at == "end",
        lambda at: 0.0 if at == "end" else 11.0 if at == "start" else (10 - at[1]) * 1.1 * (at[0] == "east"),
        ("time", "risk"),
        {"risk": bound},
    )


def test_from_a_state_on() -> None:
    plan = hcssp.solve(way())
    # It has skated three times and walks the rest: nothing is left, and fourteen steps are to come.
    rest = plan.replan(at=6)
    assert (rest.bounds["bruises"], rest.upper_bound) == (pytest.approx(0.0), pytest.approx(28.0))
    rest = plan.replan(at=6, spent={"bruises": 0.0})
    assert (rest.bounds["bruises"], rest.status) == (4.0, "optimal")
    listed = way(bound=4.0).beginning_in(6).enumerated()
    assert rest.upper_bound == pytest.approx(hcssp.solve(listed).upper_bound)
    assert rest.action(6) in ("walk", "skate")


@pytest.mark.parametrize("seed", some(range(12), 3))
def test_the_rest_is_what_the_listed_problem_has_left(seed: int) -> None:
    listed = random_cssp(seed)
    labels = listed.state_labels
    index = {label: state for state, label in enumerate(labels)}

    def rows(at: object) -> dict[object, int]:
        state = index[at]
        return {listed.action_labels[r]: r for r in range(*listed.row_start[state : state + 2])}

    implicit = ImplicitCSSP(
        {labels[s]: float(listed.initial[s]) for s in np.flatnonzero(listed.initial)},
        lambda at: tuple(rows(at)),
        lambda at, action: {
            labels[to]: float(p) for to, p in zip(*_row(listed, rows(at)[action]), strict=True)
        },
        lambda at, action: dict(
            zip(listed.cost_names, listed.costs[:, rows(at)[action]].tolist(), strict=True)
        ),
        lambda at: bool(listed.goals[index[at]]),
        cost_names=listed.cost_names,
        bounds=dict(zip(listed.constraint_names, listed.bounds.tolist(), strict=True)),
    )
    plan, known = hcssp.solve(implicit), hcssp.solve(listed)
    assert plan.status == known.status
    if not plan.found:
        return
    for at in list(plan.policy.actions())[:3]:
        spent = {name: 0.25 * plan.bounds[name] for name in plan.bounds if np.isfinite(plan.bounds[name])}
        ours, theirs = plan.replan(at=at, spent=spent), known.replan(at=at, spent=spent)
        assert ours.status == theirs.status
        if ours.found:
            assert ours.upper_bound == pytest.approx(theirs.upper_bound, rel=1e-6, abs=1e-9)


def _row(problem: hcssp.CSSP, row: int) -> tuple[list[int], list[float]]:
    first, last = problem.transitions.indptr[row : row + 2]
    return problem.transitions.indices[first:last].tolist(), problem.transitions.data[first:last].tolist()


def test_in_a_changed_world_and_by_a_run() -> None:
    plan = hcssp.solve(way())
    changed = plan.replan(at=0, spent={"bruises": 0.0}, problem=way(closed=2))
    assert changed.upper_bound == pytest.approx(hcssp.solve(way(closed=2)).upper_bound)
    run = plan.start()
    run.step(0)
    again = run.replan(problem=way(closed=0, bound=8.0))
    assert (again.decision.state, again.decision.action) == (0, "walk")
    assert again.decision.budget_left["bruises"] == 8.0
    again.step(1)
    # What the whole has of the budget is known after another change, too.
    assert again.replan(problem=way(bound=8.0)).decision.budget_left["bruises"] == pytest.approx(8.0)
    assert run.replan(spent={"bruises": 4.0}).decision.budget_left["bruises"] == 0.0
    with pytest.raises(BudgetSpent, match="nothing is left of 4, 1 too much is spent already"):
        plan.replan(at=6, spent={"bruises": 5.0})
    with pytest.raises(InvalidProblem, match="it is a goal, nothing is left to plan"):
        plan.replan(at=20, spent={"bruises": 1.0})
    with pytest.raises(InvalidProblem, match=r"never reaches -7, .* give the amounts spent"):
        plan.replan(at=-7, problem=way())
    with pytest.raises(InvalidProblem, match="of another kind than the plan's"):
        hcssp.solve(hcssp.small_building()).replan(problem=way())


def test_in_a_procedure_and_in_batches() -> None:
    made = ProcedureBuilder("trip")
    home, inn, there = (made.add_event(name) for name in ("home", "inn", "there"))
    first, second = made.add_activity("first", way()), made.add_activity("second", way())
    made.add_choice(home, "set out", to=[Outcome(1.0, inn, runs=first)])
    made.add_choice(inn, "go on", to=[Outcome(1.0, there, runs=second)])
    made.add_constraint("bruises", at_most=4.0, counts={first: "bruises", second: "bruises"})
    plan = hcssp.solve(made.build_implicit(start=home, end=there))
    for at, places in (("inn", 20), (("second", 14), 6), (("first", 17), 23), (("first", 20), 20)):
        rest = plan.replan(at=at, spent={"bruises": 4.0})
        assert rest.upper_bound == pytest.approx(2.0 * places), at
    with pytest.raises(InvalidProblem, match="'nowhere' is not a state"):
        plan.replan(at="nowhere", spent={"bruises": 4.0})
    line = ImplicitCSSP.in_batches(
        (0,),
        lambda rows: hcssp.extend.TransitionBatch(
            np.arange(len(rows)),
            np.zeros(len(rows), dtype=int),
            np.ones((1, len(rows))),
            np.arange(len(rows)),
            rows + 1,
            np.ones(len(rows)),
        ),
        lambda rows: rows[:, 0] >= 9,
    )
    plan = hcssp.solve(line)
    assert plan.replan(at=(4,)).upper_bound == pytest.approx(5.0)
    with pytest.raises(InvalidProblem, match="is not a state; give a tuple of 1 whole numbers"):
        plan.replan(at="four", spent={})


def test_nothing_is_looked_for_where_nothing_was_expanded() -> None:
    plan = hcssp.solve(two_roads())
    assert plan.problem.frontier.any()
    # In the part, the road in the east ends at once for what its heuristic says; it costs 31.
    assert plan.resolve(risk=0.1).upper_bound == pytest.approx(31.0)
    plan = hcssp.solve(two_roads())
    procedure = plan.as_procedure()
    for search in (
        lambda: procedure.resolve(risk=0.1),
        lambda: hcssp.trade_off(procedure.problem, "risk", [0.1]),
        lambda: hcssp.trade_off(plan.problem, "risk", [0.1]),
        lambda: plan.why("start"),
        lambda: hcssp.dump_problem(plan.problem),
    ):
        with pytest.raises(UnsupportedProblem, match="implicit problem"):
            search()
    assert curves_around(plan) == []
    once = plan.why("start", best=False)
    assert [(each.action, each.once) for each in once.alternatives] == [("east", None)]
    assert "The best plan" not in str(once)
    with pytest.raises(UnsupportedProblem, match="part of an implicit problem"):
        hcssp.solve(plan.problem.derive(initial=np.roll(plan.problem.initial, 1)))


def test_what_needs_all_states_says_so() -> None:
    problem = way()
    for asked in (
        lambda: hcssp.trade_off(problem, "bruises", [2.0]),
        lambda: hcssp.sweep(problem, {}, {"bruises": [2.0]}),
        lambda: hcssp.maximise(problem, "bruises"),
        lambda: hcssp.with_probability(problem, "x", of=5, at_most=0.5),
        lambda: hcssp.with_giving_up(problem, 5.0),
        lambda: hcssp.with_capacities(problem, [hcssp.Capacity("bruises", at_most=3)]),
        lambda: hcssp.dump_problem(problem),
        lambda: hcssp.solve(problem, hcssp.PolicyBranching()),
        lambda: hcssp.solve(problem, hcssp.Anytime()),
        lambda: hcssp.solve(problem, hcssp.BudgetAllocation()),
        lambda: hcssp.solve(problem, hcssp.LinearProgram()),
        lambda: hcssp.solve(problem, hcssp.MixedInteger()),
    ):
        with pytest.raises(UnsupportedProblem, match=r"give problem\.enumerated\(\)"):
            asked()


def test_single_problems_have_capacities_and_files() -> None:
    listed = way().enumerated()
    limited = hcssp.with_capacities(listed, [hcssp.Capacity("bruises", at_most=1)])
    # One try to skate, at the first place: 1.5 minutes, and eighteen steps or twenty.
    assert hcssp.solve(limited).upper_bound == pytest.approx(1.5 + 0.75 * 36.0 + 0.25 * 40.0)
    assert hcssp.dump_problem(listed).startswith("#")
