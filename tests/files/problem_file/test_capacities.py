"""Capacities in problem files."""

from __future__ import annotations

from pathlib import Path

import pytest

from hcssp import dump_problem, load, solve
from hcssp.errors import InvalidProblem
from hcssp.files.problem_file import dumping
from hcssp.files.problem_file.document import Limits
from hcssp.files.problem_file.loading import load_text
from hcssp.reports.page_data import choice_conditions

MISSION = """
format: hcssp-problem
version: 1
costs: [time, lost]
capacities:
  battery: {at_most: 6, step: 1}
models:
  leg:
    grid:
      map: |
        #####
        S.c.G
        #####
      hazards: {c: {time: 2, battery: -2}}
      step_cost: {time: 1, battery: 1}
      slip: 10%
    give_up: {time: 50, lost: 1}
activities:
  out: {model: leg}
  charge:
    table:
      docked:
        full: {to: charged, costs: {time: 10, battery: -6}}
        none: {to: charged, costs: {time: 1}}
    start: docked
    goal: charged
  back: {model: leg}
procedure:
  start: depot
  end: over
  events:
    depot: {fly: {runs: out, to: far}}
    far:
      charge: {runs: charge, to: ready}
      hurry: {to: ready}
    ready: {fly: {runs: back, to: over}}
constraints: {lost: {at_most: 5%}}
"""


def told(text: str, limits: Limits | None = None) -> tuple[str, ...]:
    with pytest.raises(InvalidProblem) as raised:
        load_text(text, limits=limits)
    return raised.value.violations


def test_what_is_used_is_carried_on() -> None:
    problem = load_text(MISSION)
    out, charge, back = problem.activities
    assert out.cssp.cost_names == ("time", "lost")
    assert out.cssp.num_states == 5 * 7
    assert charge.entries["(4, 1), battery 3"] == "docked, battery 3"
    # Whoever hurries hands over what the flight before has left, whoever charges what charging has.
    assert back.entries["(4, 1), battery 3"] == back.entries["charged, battery 3"] == "(0, 1), battery 3"
    plan = solve(problem)
    assert plan.status.name == "OPTIMAL"
    assert plan.cost("lost") <= 0.05
    # It charges only if it must.
    made = {entry: plan.policy.choice("far", entry) for entry in ("(4, 1), battery 2", "(4, 1), battery 6")}
    assert made == {"(4, 1), battery 2": "hurry", "(4, 1), battery 6": "charge"}
    # For people, in ranges, with what is left: on a terminal and on the page.
    told = choice_conditions(plan.as_procedure())
    assert told == ["", "battery used 4-6 of 6 (0-2 left)", "battery used 1-3 of 6 (3-5 left)", *told[3:]]
    assert "  at far, battery used 4-6 of 6 (0-2 left)  charge (rather than hurry)\n" in str(plan)
    assert "    in docked, battery used 4-6 of 6 (0-2 left)  full (rather than none), visited" in str(plan)


def test_a_cell_can_give_back() -> None:
    out = load_text(MISSION).activities[0].cssp
    east = int(out.row_start[out.state_index["(2, 1), battery 4"]]) + 1
    reached = [out.state_labels[state] for state in out.transitions[[east]].indices.tolist()]
    assert reached == ["(2, 1), battery 3", "(3, 1), battery 3"]
    assert out.costs[0, east] == 3.0


def test_what_is_written_is_read_again() -> None:
    problem = load_text(MISSION)
    written = dump_problem(problem)
    assert load_text(written) == problem
    assert load_text(dump_problem(problem, style="json"), json=True) == problem
    # As capacities, grids and tables, not level by level.
    assert "battery: {at_most: 6}" in written
    assert "{time: 10, battery: -6}" in written
    assert "step_cost: {time: 1, battery: 1}" in written
    assert len(written) < 2 * len(MISSION)


def test_a_file_that_could_not_be_read_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = load_text(MISSION)
    size = len(dump_problem(problem))
    monkeypatch.setattr(dumping, "Limits", lambda: Limits(document_bytes=size - 1))
    with pytest.raises(InvalidProblem, match=r"the problem file would have 0.0 MiB, and at most .* are read"):
        dump_problem(problem)
    monkeypatch.setattr(dumping, "Limits", lambda: Limits(nodes=20))
    with pytest.raises(InvalidProblem, match="values, and at most 20 are read"):
        dump_problem(problem)


def test_it_may_be_exceeded_with_a_probability_and_counted_on_average() -> None:
    text = MISSION.replace("costs: [time, lost]", "costs: [time, lost, battery]")
    text = text.replace("step: 1}", "probability: 30%}").replace("5%}}", "5%}, battery: {at_most: 9}}")
    problem = load_text(text)
    assert problem.constraint_names == ("lost", "battery", "battery above 6")
    assert problem.bounds.tolist() == [0.05, 9.0, 0.3]
    plan = solve(problem)
    assert plan.cost("battery above 6") <= 0.3
    # What is given back makes an average no less: a step from the charger costs 1, as all others do.
    assert set(problem.activities[0].cssp.costs[2].tolist()) == {1.0}


def test_a_csv_file_gives_back_too(tmp_path: Path) -> None:
    header = "state,action,next,probability,time,battery\n"
    (tmp_path / "dock.csv").write_text(f"{header}a,fill,b,0.5,1,-3\na,fill,a,0.5,1,-3\na,go,b,1,1,2\n")
    text = (
        "format: hcssp-problem\nversion: 1\ncosts: [time]\ncapacities: {battery: {at_most: 3}}\n"
        "activities: {a: {file: dock.csv, start: a, goal: b}}\n"
    )
    (tmp_path / "dock.yaml").write_text(text)
    problem = load(tmp_path / "dock.yaml").activities[0].cssp
    filled = int(problem.row_start[problem.state_index["a, battery 3"]])
    assert problem.transitions[[filled]].indices.tolist() == [0, 4]
    (tmp_path / "dock.csv").write_text(f"{header}a,fill,b,0.5,1,-3\na,fill,a,0.5,1,-2\n")
    problem = load(tmp_path / "dock.yaml").activities[0].cssp
    filled = int(problem.row_start[problem.state_index["a, battery 3"]])
    assert problem.transitions[[filled]].indices.tolist() == [1, 4]


NEGATIVE = "not a cost: a number from 0 to 1e+100; only a capacity can be given back"
SEVERAL = "let it begin in one, and let its first action choose at random"


@pytest.mark.parametrize(
    ("change", "to", "says"),
    [
        (
            "at_most: 6, step: 1",
            "at_most: -1",
            "6: capacities.battery.at_most: -1 is not an amount: a number of at least 0",
        ),
        (
            "at_most: 6, step: 1",
            "at_most: inf",
            "6: capacities.battery.at_most: 'inf' is not an amount: a number of at least 0",
        ),
        ("at_most: 6, step: 1", "step: 1", "6: capacities.battery: the key 'at_most' is missing"),
        ("step: 1", "used: 7", "6: capacities.battery.used: 7 is more than the capacity of 6"),
        ("step: 1", "step: 0", "6: capacities.battery.step: 0 is not a step: a positive number"),
        (
            "step: 1",
            "probability: 2",
            "6: capacities.battery.probability: 2 is not a probability between 0 and 1",
        ),
        (
            "{time: 10, battery: -6}",
            "{time: -1}",
            f"23: activities.charge.table.docked.full.costs.time: -1 is {NEGATIVE}",
        ),
        (
            "{time: 10, battery: -6}",
            "{water: -6}",
            "23: activities.charge.table.docked.full.costs.water: there is no cost 'water'; "
            "did you mean 'battery'?",
        ),
        (
            "c: {time: 2, battery: -2}",
            "c: {time: -2}",
            f"14: models.leg.grid.hazards.c.time: -2 is {NEGATIVE}",
        ),
        (
            "step_cost: {time: 1, battery: 1}",
            "step_cost: {lost: -1}",
            f"15: models.leg.grid.step_cost.lost: -1 is {NEGATIVE}",
        ),
        (
            "give_up: {time: 50",
            "give_up: {battery: 50",
            "17: models.leg.give_up.battery: there is no cost 'battery'; the costs are 'time', 'lost'",
        ),
        (
            "start: docked",
            "start: [{at: docked, probability: 50%}, {at: charged, probability: 50%}]",
            "5: capacities: activity 'charge': it begins in one of several states after another activity; "
            f"where something is carried in the state {SEVERAL}",
        ),
        (
            "back: {model: leg}",
            "back: {model: leg, entries: {x: [9, 9], y: nowhere}}",
            "27: activities.back.entries.y: there is no place 'nowhere' in the grid; available: none",
        ),
    ],
)
def test_a_mistake_is_told_where_it_stands(change: str, to: str, says: str) -> None:
    assert MISSION.count(change) == 1
    assert f"problem:{says}" in told(MISSION.replace(change, to))


def test_levels_count_as_states() -> None:
    few = Limits(states=100)
    assert load_text(MISSION.replace("at_most: 6", "at_most: 2"), limits=few).num_activities == 3
    (says,) = told(MISSION.replace("at_most: 6, step: 1", "at_most: 6, step: 1e-9"), limits=few)[:1]
    assert "with this activity the problem has more than the 100 states" in says
