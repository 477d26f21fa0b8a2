from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from hcssp import dump_problem, solve
from hcssp.cli import main
from hcssp.contract.plan import Plan
from hcssp.errors import InvalidProblem
from hcssp.files.problem_file.loading import load_text
from hcssp.procedure import Outcome, ProcedureBuilder
from hcssp.reports.charts import draw_history, draw_trade_off
from hcssp.reports.plan_text import what_it_costs
from hcssp.scenarios import small_building
from hcssp.solving.trade_off import trade_off
from small_procedures import retrying


def test_printing_shows_cycles_and_shared_events_once() -> None:
    assert str(retrying()) == (
        "procedure: 3 events, 2 activities, 2 constraints; minimise time\n"
        "start\n"
        "  choose cross\n"
        "    run cross (2 states), reach hall\n"
        "      choose leave\n"
        "        0.8: run leave (2 states), reach out, the end\n"
        "        0.2: reach start (see above)\n"
        "constraint damage <= 2: counts damage of cross, leave\n"
        "constraint damage-at-last <= inf: counts damage of leave"
    )


def test_a_long_procedure_can_be_printed() -> None:
    plan = ProcedureBuilder()
    events = [plan.add_event(f"event-{index}") for index in range(3000)]
    for here, there in pairwise(events):
        plan.add_choice(here, "on", to=[Outcome(1.0, there)])
    assert len(str(plan.build(start=events[0], end=events[-1])).splitlines()) == 1 + 1 + 2 * 2999


UNITS = {"time": "min", "damage": "hp"}


@pytest.fixture(scope="module")
def plan() -> Plan:
    return solve(small_building(bound=2.0).measured_in(UNITS))


def test_a_constraint_has_the_unit_of_what_it_counts() -> None:
    problem = small_building().measured_in({"time": "min"})
    assert [problem.called(name) for name in ("time", "damage")] == ["time (min)", "damage"]
    assert problem.measured_in(UNITS).called("damage") == "damage (hp)"
    assert problem.measured_in(UNITS) == problem
    assert problem.measured_in(UNITS).with_bounds(damage=1.0).units == UNITS


def test_words(plan: Plan) -> None:
    told = str(plan)
    assert "least expected time (min), damage (hp) at most 2" in told
    assert "damage (hp): " in told
    assert "has an expected time " in told
    problem = plan.as_procedure().problem
    assert (
        what_it_costs(problem, {"time": 1.0, "damage": 1.0})
        == "This plan has an expected time of 1 min, with an expected damage of 1 hp where 2 hp is allowed."
    )
    # Programs go on with the names.
    assert plan.cost("damage") <= 2.0


def test_pictures(plan: Plan) -> None:
    assert draw_history(plan).axes[0].get_ylabel() == "expected time (min)"
    curve = trade_off(plan.problem, "damage", [2.0], gap=0.1)
    assert draw_trade_off(curve).axes[0].get_xlabel() == "bound on the expected damage (hp)"


def test_files_and_commands(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = dump_problem(small_building(bound=2.0).measured_in(UNITS))
    assert "units: {time: min, damage: hp}" in text
    assert load_text(text).units == UNITS
    Path("mine.yaml").write_text(text, encoding="utf-8")
    for command in (
        ["solve", "mine.yaml", "--out", "plan.json", "-q"],
        ["evaluate", "mine.yaml", "plan.json", "-q"],
        ["simulate", "mine.yaml", "plan.json", "--runs", "100", "-q"],
        ["curve", "mine.yaml", "--from", "2", "--to", "2", "-q"],
        ["show", "mine.yaml"],
    ):
        assert main(command) == 0
        assert "time (min)" in capsys.readouterr().out, command
    assert main(["report", "mine.yaml", "plan.json", "--out", "page.html", "--points", "1", "-q"]) == 0
    assert '"damage": "damage (hp)"' in Path("page.html").read_text(encoding="utf-8").replace('":"', '": "')
    capsys.readouterr()
    assert main(["solve", "mine.yaml", "--json", "-q"]) == 0
    assert set(json.loads(capsys.readouterr().out)["constraints"]) == {"damage"}


def test_a_unit_of_nothing() -> None:
    text = dump_problem(small_building()).replace("version: 1", "version: 1\nunits: {tiem: s}")
    with pytest.raises(InvalidProblem, match=r"units.tiem: there is no cost 'tiem'; did you mean 'time'\?"):
        load_text(text)
