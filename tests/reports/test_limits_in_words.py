"""Limits of uses, in words, in JSON and on the page."""

from __future__ import annotations

from pathlib import Path

import hcssp
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.reports.page_data import varied_constraints
from hcssp.reports.plan_text import plan_figures
from small_procedures import risky_room


def two_ways(limit: float) -> HCSSP:
    """A road, which is a procedure with a limit, or a path, which takes longer."""
    inner = ProcedureBuilder("road")
    here, there = inner.add_event("here"), inner.add_event("there")
    cross = inner.add_activity("cross", risky_room())
    inner.add_choice(here, "go", to=[Outcome(1.0, there, runs=cross)])
    inner.add_constraint("damage", at_most=limit, counts={cross: "damage"})
    plan = ProcedureBuilder("two ways")
    start, end = plan.add_event("start"), plan.add_event("end")
    road = plan.add_activity("road", inner.build(start=here, end=there))
    path = plan.add_activity("path", risky_room())
    plan.add_choice(start, "road", to=[Outcome(0.5, end, runs=road), Outcome(0.5, end)])
    plan.add_choice(start, "path", to=[Outcome(1.0, end, runs=path)])
    plan.add_constraint("damage", at_most=5.0, counts={road: "damage", path: "damage"})
    return plan.build(start=start, end=end)


def test_what_an_execution_costs_is_told() -> None:
    plan = hcssp.solve(two_ways(8.0))
    assert "road/damage: 8 expected, for each execution of road at most 8 allowed" in str(plan)
    assert plan_figures(plan)["constraints"]["road/damage"]["for_each_execution_of"] == "road"
    assert "for_each_execution_of" not in plan_figures(plan)["constraints"]["damage"]


def test_a_page_varies_what_is_about_the_whole(tmp_path: Path) -> None:
    plan = hcssp.solve(two_ways(7.0))
    assert varied_constraints(plan) == ["damage"]
    plan.report(tmp_path / "report.html")
    assert "road/cross" in (tmp_path / "report.html").read_text(encoding="utf-8")
