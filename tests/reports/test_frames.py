"""Plans as tables: the figures are those of the evaluation, and add up."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from hcssp.contract.plan import Plan
from hcssp.contract.progress import Gap
from hcssp.cssp.grid import GridWorld
from hcssp.errors import MissingDependency, NoSolution
from hcssp.methods.paper import BudgetAllocation
from hcssp.procedure import Outcome, ProcedureBuilder
from hcssp.scenarios import small_building
from hcssp.solving.solve import solve
from hcssp.solving.trade_off import trade_off
from solved_building import solved_building

pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def solved() -> Plan:
    return solved_building()


def corridor() -> Plan:
    world = GridWorld.from_map("S.~.G", hazards={"~": {"damage": 2.0}}, bounds={"damage": 5.0})
    return solve(world.to_cssp())


def test_a_single_problem_has_states_and_no_activities() -> None:
    frame = corridor().to_frame()
    assert list(frame.columns) == ["state", "action", "visits", "time to go", "damage to go"]
    assert frame["state"].tolist() == [(1, 1), (2, 1), (3, 1), (4, 1)]
    assert set(frame["action"]) == {"east"}
    assert frame["time to go"].tolist() == [4.0, 3.0, 2.0, 1.0]
    assert frame["damage to go"].tolist() == [2.0, 2.0, 2.0, 0.0]


def test_a_procedure_has_its_events_first(solved: Plan) -> None:
    frame = solved.to_frame()
    assert list(frame.columns)[:4] == ["activity", "state", "action", "visits"]
    events = frame[frame["activity"] == ""]
    assert dict(zip(events["state"], events["action"], strict=True)) == solved.policy.choice_names()
    start = frame.iloc[0]
    assert (start["state"], start["visits"]) == ("start", 1.0)
    assert start["time to go"] == pytest.approx(solved.cost("time"))
    assert start["damage to go"] == pytest.approx(solved.cost("damage"))
    # Each step takes a unit of time.
    inside = frame[frame["activity"] != ""]
    assert inside["visits"].sum() == pytest.approx(solved.cost("time"))
    assert (inside["visits"][inside["time to go"].isna()] == 0.0).all()
    for activity, state, action in inside[["activity", "state", "action"]].itertuples(index=False):
        assert solved.action(activity, state) == action


def test_events_that_are_entered_in_several_states_are_told_apart() -> None:
    room = GridWorld(width=3, height=1, start={(1, 1): 0.5, (3, 1): 0.5}, goal=[(0, 1), (4, 1)]).to_cssp()
    left = GridWorld(width=3, height=1, start={(0, 1): 0.5, (4, 1): 0.5}, goal=(2, 1)).to_cssp()
    builder = ProcedureBuilder()
    start, door, end = (builder.add_event(name) for name in ("start", "door", "end"))
    out, back = builder.add_activity("out", room), builder.add_activity("back", left)
    builder.add_choice(start, "go", to=[Outcome(1.0, door, runs=out)])
    builder.add_choice(door, "return", to=[Outcome(1.0, end, runs=back)])
    plan = solve(builder.build(start=start, end=end))
    frame = plan.to_frame()
    events = frame[frame["activity"] == ""]
    assert events["state"].tolist() == ["start", ("door", (0, 1)), ("door", (4, 1))]
    assert events["visits"].tolist() == pytest.approx([1.0, 0.5, 0.5])


def test_activities_add_up(solved: Plan) -> None:
    frame = solved.activities_frame()
    assert frame.index.name == "activity"
    assert list(frame.columns) == ["executions", "cost", "damage usage"]
    for column, name in (("cost", "time"), ("damage usage", "damage")):
        assert (frame["executions"] * frame[column]).sum() == pytest.approx(solved.cost(name))
    idle = frame.loc["go-to-E"]
    assert idle["executions"] == 0.0
    assert np.isnan(idle["cost"])


def test_allocated_budgets_have_a_column() -> None:
    plan = solve(small_building(2.0), BudgetAllocation(iterations=0), stop=Gap(0.1))
    frame = plan.activities_frame()
    used = frame.dropna()
    assert plan.budgets
    for name, budgets in plan.budgets.items():
        if name in used.index:
            assert used.loc[name, "damage budget"] == pytest.approx(budgets["damage"])
    assert (used["damage budget"] >= used["damage usage"] - 1e-9).all()


def test_the_activity_of_a_single_problem_is_the_whole() -> None:
    frame = corridor().activities_frame()
    assert frame.loc["problem"].tolist() == [1.0, 4.0, 2.0]


def test_policies_have_tables_of_their_own(solved: Plan) -> None:
    plan = corridor()
    assert plan.policy.to_frame().equals(plan.to_frame()[["state", "action"]])
    assert solved.policy.to_frame().equals(solved.to_frame()[["activity", "state", "action"]])
    frame = solve(solved.problem.with_bounds(damage=2.0), policies="randomised").to_frame()
    assert list(frame.columns[:4]) == ["activity", "state", "action", "probability"]
    assert sorted(frame["probability"].tolist())[:2] == pytest.approx([0.06640985, 0.93359015])
    assert frame.groupby(["activity", "state"])["probability"].sum().tolist() == pytest.approx(
        [1.0] * (len(frame) - 1)
    )


def test_traces_and_curves_have_tables(solved: Plan) -> None:
    trace = solved.trace.to_frame()
    assert list(trace.columns) == ["seconds", "lower_bound", "upper_bound"]
    assert len(trace) == len(solved.trace)
    assert trace["upper_bound"].iloc[-1] == solved.trace[-1].upper_bound
    curve = trade_off(small_building(), "damage", [-1.0, 2.0]).to_frame()
    assert curve.index.tolist() == [-1.0, 2.0]
    assert curve.loc[2.0, "upper_bound"] == pytest.approx(solved.upper_bound)
    assert curve.loc[-1.0, "upper_bound"] == np.inf


def test_there_is_no_table_without_a_policy() -> None:
    plan = Plan(small_building())
    with pytest.raises(NoSolution):
        plan.to_frame()
    with pytest.raises(NoSolution):
        plan.activities_frame()


def test_without_pandas_the_message_says_what_to_install(
    solved: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    curve = trade_off(small_building(), "damage", [2.0])
    for make in (
        solved.to_frame,
        solved.activities_frame,
        solved.policy.to_frame,
        solved.trace.to_frame,
        curve.to_frame,
    ):
        with pytest.raises(MissingDependency, match=r"pip install 'hcssp\[notebook\]'"):
            make()
