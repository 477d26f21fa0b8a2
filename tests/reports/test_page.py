"""The page's data against the evaluation, and the page itself: well-formed, self-contained, without NaN."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.contract.proof import Interval
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.policy import NO_ROW
from hcssp.errors import NoSolution
from hcssp.evaluation.chain import induced_chain
from hcssp.files.plan_file import load_plan
from hcssp.files.problem_file.loading import load_text
from hcssp.procedure import HCSSP
from hcssp.reports.page import page_html
from hcssp.reports.page_data import DECADES, LEVELS, draw_curve, page_data
from hcssp.reports.procedure_graph import place
from hcssp.scenarios import small_building
from hcssp.solving.solve import solve
from known_optima import roads
from small_procedures import forking, retrying

VOID = {"meta", "input", "br", "hr", "img", "link", "source", "rect", "line", "path", "circle", "polygon"}


@pytest.fixture(scope="module")
def reported() -> tuple[ProcedurePlan, dict[str, Any]]:
    problem = small_building(2.0).named("small-building", "three rooms & a door </script>")
    plan = solve(problem).as_procedure()
    curve = draw_curve(plan, "damage", [0.5, 1.0, 2.0, 4.0])
    return plan, page_data(plan, curve, samples=500)


def decode(entry: dict[str, Any]) -> tuple[Any, Any, Any]:
    cells = np.frombuffer(base64.b64decode(entry["cells"]), dtype=np.uint8).reshape(-1, entry["width"])
    below = (LEVELS - (cells >> 2).astype(float)) * DECADES / (LEVELS - 1)
    visits = np.where(cells > 0, entry["most"] * 10.0**-below, 0.0)
    return cells, cells & 3, visits


def test_costs_executions_and_choices_are_those_of_the_evaluation(
    reported: tuple[ProcedurePlan, dict[str, Any]],
) -> None:
    solved, data = reported
    problem, evaluation = solved.problem, solved.costs
    plan = data["plans"][data["reported"]]
    assert plan["costs"] == {name: evaluation.cost(name) for name in ("time", "damage")}
    assert plan["bounds"] == {"damage": 2.0}
    for written, exact in zip(plan["activities"], evaluation.activities, strict=True):
        assert written["executions"] == pytest.approx(exact.expected_executions)
        assert written["cost"] == pytest.approx(exact.cost)
        assert written["usage"] == pytest.approx(dict(exact.usage))
    chosen = {problem.choices[i].name for i, count in enumerate(plan["choices"]) if count > 0}
    assert chosen == {"go-to-door", "open-door", "return-to-E", "leave-through-E", "leave-through-door"}
    assert plan["choices"][problem.choices_at(problem.start)[0]] == 1.0
    assert data["plans"][data["reported"]]["limit"] == solved.lower_bound


def test_cells_hold_the_policy_and_the_visits(reported: tuple[ProcedurePlan, dict[str, Any]]) -> None:
    solved, data = reported
    problem = solved.problem
    plan = data["plans"][data["reported"]]
    flattening = problem.flattening
    grids = {each.name: each.cssp.world for each in problem.activities}
    for index, activity in enumerate(problem.activities):
        written = plan["activities"][index]
        if not written["executions"]:
            assert "pieces" not in written
            continue
        (piece,) = written["pieces"]
        cells, headings, visits = decode(data["grids"][piece["grid"]])
        first, last = flattening.state_offset[index : index + 2]
        exact = np.zeros(activity.cssp.num_states)
        exact[~activity.cssp.goals] = solved.costs.visits[first:last] / written["executions"]
        rows = solved.policy.activities[index]
        for state, (column, line) in enumerate(grids[activity.name].cells):
            if rows[state] == NO_ROW or exact[state] == 0.0:
                assert cells[line, column] == 0
            else:
                assert headings[line, column] == rows[state] - activity.cssp.row_start[state]
                # Half a level of a scale that has 62 of them for six powers of ten.
                assert visits[line, column] == pytest.approx(exact[state], rel=0.13)


def unpack(plan: dict[str, Any]) -> dict[str, Any]:
    unpacked: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(plan["more"])))
    return unpacked


def test_cells_have_their_costs_and_costs_to_go(reported: tuple[ProcedurePlan, dict[str, Any]]) -> None:
    solved, data = reported
    plan = data["plans"][data["reported"]]
    chain = induced_chain(solved.problem, solved.policy)
    to_go = chain.remaining()
    flattening = solved.problem.flattening
    for index, activity in enumerate(solved.problem.activities):
        if not plan["activities"][index]["executions"]:
            continue
        cells = decode(data["grids"][plan["activities"][index]["pieces"][0]["grid"]])[0]
        order = [(column, line) for line, column in zip(*np.nonzero(cells), strict=True)]
        ((figures, actions),) = unpack(plan)["cells"][index]
        assert actions == {}
        states = {tuple(cell): state for state, cell in enumerate(activity.cssp.world.cells.tolist())}
        inner = np.flatnonzero(~activity.cssp.goals).tolist()
        first = flattening.state_offset[index]
        flat = [first + inner.index(states[cell]) for cell in order]
        for cost in range(2):
            here, there = (
                np.cumsum(differences) * unit if differences else np.zeros(len(order))
                for unit, differences in (figures[cost], figures[2 + cost])
            )
            assert here == pytest.approx(chain.costs[cost, flat], abs=1e-3)
            assert there == pytest.approx(to_go[cost, flat], abs=2e-4 * np.nanmax(to_go[cost]) + 1e-12)


def test_cells_of_a_randomised_plan_have_their_probabilities_and_mean_costs() -> None:
    plan = solve(small_building(2.0), "lp").as_procedure()
    assert plan.policy.is_randomised
    data = page_data(plan, samples=50)
    (shown,) = data["plans"]
    assert shown["randomised"]
    total, texts = 0.0, []
    for activity, cells in zip(shown["activities"], unpack(shown)["cells"], strict=True):
        for piece, (figures, actions) in zip(activity.get("pieces", []), cells, strict=True):
            unit, differences = figures[0]
            visits = decode(data["grids"][piece["grid"]])[2]
            total += activity["executions"] * (visits[visits > 0.0] * np.cumsum(differences) * unit).sum()
            texts += actions.values()
    # Visits are stored in steps of a quarter.
    assert total == pytest.approx(plan.cost("time"), rel=0.13)
    shares = [float(each) for text in texts for each in re.findall(r"([\d.]+)%", text)]
    assert shares
    assert sum(shares) == pytest.approx(100.0 * len(texts), abs=0.2 * len(shares))


def test_every_plan_of_the_page_can_be_saved_and_loaded(
    reported: tuple[ProcedurePlan, dict[str, Any]], tmp_path: Path
) -> None:
    solved, data = reported
    for plan in data["plans"]:
        path = tmp_path / "plan.json"
        path.write_text(json.dumps(unpack(plan)["document"]))
        loaded = load_plan(path, solved.problem.with_bounds(plan["bounds"]))
        assert loaded.upper_bound == pytest.approx(plan["own"])


def test_what_is_proven_does_not_depend_on_the_bound_that_is_varied() -> None:
    plan = replace(solve(roads(damage=4.0, fuel=3.5)).as_procedure(), proof=Interval(0.0, inf))
    plan = replace(plan, proof=Interval(0.0, plan.costs.cost(plan.problem.primary_name)))
    data = page_data(
        plan, draw_curve(plan, "damage", [3.0, 4.0]), draw_curve(plan, "fuel", [2.0]), samples=50
    )
    other = data["views"][1]
    known = data["plans"][data["reported"]]["limit"]
    assert known > 0.0
    assert other["plans"][other["reported"]]["limit"] == known
    assert other["plans"][other["reported"]]["bounds"] == {"damage": 4.0, "fuel": 3.5}


def test_states_called_like_cells_are_drawn_in_layers() -> None:
    way = CSSPBuilder(cost_names=("time",))
    for storm in ("storm in the north", "storm in the south"):
        for column in (4, 5, 6):
            way.add_state(f"({column}, 7), {storm}")
        for column in (4, 5):
            way.add_action(f"({column}, 7), {storm}", "on", to=f"({column + 1}, 7), {storm}")
    way.add_goal("landed")
    for storm in ("storm in the north", "storm in the south"):
        way.add_action(f"(6, 7), {storm}", "land", to="landed")
    way.set_initial({"(4, 7), storm in the north": 0.25, "(4, 7), storm in the south": 0.75})
    data = page_data(solve(way.build()), samples=50)
    (panel,) = data["sheet"]["panels"]
    assert (panel["grid"], panel["width"], panel["height"]) == (True, 5, 3)
    pieces = data["plans"][0]["activities"][0]["pieces"]
    assert [piece["part"] for piece in pieces] == ["storm in the north", "storm in the south"]
    north, south = (decode(data["grids"][piece["grid"]]) for piece in pieces)
    # East from the first two cells; the last action leads to no cell.
    assert np.argwhere(north[0]).tolist() == [[1, 1], [1, 2]]
    assert north[1][1, 1] == south[1][1, 1] == 1
    assert north[2][1, 1] == pytest.approx(0.25, rel=0.13)


def test_rooms_that_lie_on_each_other_are_floors() -> None:
    text = """
        format: hcssp-problem
        version: 1
        costs: [time]
        models:
          below: {grid: {width: 3, height: 3}, position: [0, 0], start: [0, 1], goal: [4, 2]}
          above: {grid: {width: 4, height: 3}, position: [1, 1], start: [0, 2], goal: [5, 1]}
          beside: {grid: {width: 2, height: 3}, position: [4, 0], start: [0, 2], goal: [3, 1]}
        activities: {one: {model: below}, two: {model: beside}, three: {model: above}}
        procedure:
          start: begin
          end: over
          events:
            begin: {one: {runs: one, to: middle}}
            middle: {two: {runs: two, to: late}}
            late: {three: {runs: three, to: over}}
            over: {}
    """
    data = page_data(solve(load_text(text)), samples=50)
    assert data["sheet"]["floors"] == [
        {"name": "below, beside", "activities": [0, 1]},
        {"name": "above", "activities": [2]},
    ]


def test_the_curve_s_plans_are_in_order_and_the_reported_one_is_among_them(
    reported: tuple[ProcedurePlan, dict[str, Any]],
) -> None:
    solved, data = reported
    assert [plan["bounds"]["damage"] for plan in data["plans"]] == [0.5, 1.0, 2.0, 4.0]
    assert data["reported"] == 2
    uppers = [plan["own"] for plan in data["plans"]]
    assert uppers == sorted(uppers, reverse=True)
    for plan in data["plans"]:
        assert plan["limit"] <= plan["own"]
        assert plan["costs"]["damage"] <= plan["bounds"]["damage"] + 1e-9
    assert data["history"][-1][1] == pytest.approx(solved.lower_bound)


def test_the_words_tell_the_figures_and_round_bounds_the_right_way(
    reported: tuple[ProcedurePlan, dict[str, Any]],
) -> None:
    _, data = reported
    plan = data["plans"][data["reported"]]
    cost, proven, *_ = plan["words"]
    assert cost == (
        "This plan has an expected time of 27.7191, with an expected damage of 1.8969 where 2 is allowed."
    )
    # What a terminal prints, in the same words.
    assert proven.startswith(
        "Proven: the best deterministic plan has an expected time of 27.719117; this plan "
    )
    assert "this plan is optimal (relative gap" in proven
    assert "because the requested gap was reached" in data["stopped"]


class Reader(HTMLParser):
    """Reads a page strictly: every element that is opened is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.data: dict[str, str] = {}
        self.targets: list[str] = []
        self._id = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if "id" in given:
            self.ids.append(str(given["id"]))
        self._id = str(given.get("id") or tag)
        self.targets += [str(given[name]) for name in ("src", "href", "action", "data") if name in given]
        for name in ("for", "aria-labelledby", "aria-describedby", "list"):
            self.targets += [f"#{each}" for each in str(given.get(name) or "").split()]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag

    def handle_data(self, text: str) -> None:
        self.data[self._id] = self.data.get(self._id, "") + text


def test_the_page_is_well_formed_and_self_contained(reported: tuple[ProcedurePlan, dict[str, Any]]) -> None:
    _, data = reported
    page = page_html(data)
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    assert len(reader.ids) == len(set(reader.ids))
    # Whatever is referred to is on the page.
    assert {target for target in reader.targets if target[1:] not in reader.ids} == set()
    assert "http://" not in page
    assert "https://" not in page
    assert "default-src 'none'" in page
    assert json.loads(reader.data["data"]) == json.loads(json.dumps(data))
    assert reader.data["title"].startswith("small-building: expected time 27.7191, expected damage 1.8969")
    assert "{{" not in page


def plain_types(value: Any) -> bool:
    if isinstance(value, dict):
        return all(type(key) is str and plain_types(each) for key, each in value.items())
    if isinstance(value, list):
        return all(plain_types(each) for each in value)
    return value is None or type(value) in (str, int, float, bool)


def without_rooms(problem: HCSSP) -> HCSSP:
    """The same problem, whose states are no cells."""
    activities = [replace(each, cssp=each.cssp.derive(world=None)) for each in problem.activities]
    return replace(problem, activities=tuple(activities))


@pytest.mark.parametrize("problem", [retrying(), forking(), without_rooms(small_building(inf))])
def test_data_is_plain_and_free_of_nan_for_tables_and_without_bounds(problem: HCSSP) -> None:
    plan = solve(problem).as_procedure()
    curve = draw_curve(plan, problem.constraints[0].name, [2.0, 8.0])
    data = page_data(plan, curve, samples=100, runs=3)
    assert plain_types(data)
    json.dumps(data, allow_nan=False)
    states = [each["states"] for each in data["plans"][0]["activities"] if "states" in each]
    assert states
    assert all(len(row) == 3 for each in states for row in each)
    # States that are called like cells are drawn as such.
    by_cell = isinstance(problem.activities[0].cssp.state_labels[0], tuple)
    assert {panel["grid"] for panel in data["sheet"]["panels"]} == {by_cell}
    assert page_html(data)


def test_a_number_that_json_does_not_know_is_refused(
    reported: tuple[ProcedurePlan, dict[str, Any]],
) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        page_html({**reported[1], "history": [nan]})


def test_without_a_policy_there_is_no_page() -> None:
    with pytest.raises(NoSolution):
        page_data(Plan(small_building(2.0)))


def test_rooms_stand_where_the_file_says_and_below_each_other_otherwise() -> None:
    text = """
        format: hcssp-problem
        version: 1
        costs: [time]
        models:
          hall: {grid: {width: 3, height: 2}, position: [5, 7], start: [0, 1], goal: [4, 2]}
          yard: {grid: {width: 2, height: 2}, position: [10, 7], start: [0, 2], goal: [3, 1]}
        activities:
          one: {model: hall}
          two: {model: yard}
          three: {grid: {width: 4, height: 1}, start: [0, 1], goal: [5, 1]}
        procedure:
          start: begin
          end: over
          events:
            begin: {one: {runs: one, to: middle}}
            middle: {two: {runs: two, to: late}}
            late: {three: {runs: three, to: over}}
            over: {}
    """
    problem = load_text(text)
    panels = {panel.title: panel for panel in place(problem)}
    assert panels["hall"].corner == (0, 0)
    assert panels["yard"].corner == (5, 0)
    assert panels["three"].corner[1] >= 4
    assert [panels[name].on_map for name in ("hall", "yard", "three")] == [True, True, False]
