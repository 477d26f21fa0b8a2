"""Fragments for notebooks: well-formed, harmless whatever the names, small, and true to what they show."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from importlib.resources import files
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from chromium import Browser, find_chromium
from hcssp.contract.ending import Ending, Reason
from hcssp.contract.plan import Plan
from hcssp.contract.stop import Gap, MaxIterations
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.grid import GridWorld
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.reports.notebook import curve_html, plan_html, problem_html
from hcssp.reports.notebook.markup import Markup, element, joined, number, shortened
from hcssp.reports.notebook.svg import Chart, filled, hatched, ticks
from hcssp.scenarios import evacuation, small_building
from hcssp.solving.solve import solve
from hcssp.solving.trade_off import CurvePoint, TradeOff, trade_off
from solved_building import solved_building
from volume import examples

HOSTILE = '<script>alert("x")</script>&amp;\' onload="y" $z$ \ud800'
VOID = {"path", "line", "circle", "rect", "polygon"}


class Reader(HTMLParser):
    """Reads a fragment; complains where it is not well-formed."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str | None]] = []
        self.paths: dict[str, str] = {}
        self.texts: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.note(tag, attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID
        self.note(tag, attrs)

    def note(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += attrs
        given = dict(attrs)
        if tag == "path":
            kind = given.get("class") or ""
            self.paths[kind] = self.paths.get(kind, "") + (given["d"] or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.texts)


def read(html: str) -> Reader:
    """A fragment that brings all it needs, does nothing, and can be written to a file."""
    html.encode("utf-8")
    found = Reader(html)
    allowed = {
        "circle", "details", "div", "g", "li", "line", "p", "path", "polygon", "rect", "span", "strong",
        "style", "summary", "svg", "table", "tbody", "td", "text", "th", "thead", "title", "tr", "ul",
    }  # fmt: skip
    assert set(found.tags) <= allowed
    names = {name for name, _ in found.attributes}
    assert not {name for name in names if name.startswith("on")}
    assert not names & {"id", "href", "src", "xlink:href"}
    assert "http" not in html
    assert "url(" not in html
    assert "nan" not in found.paths.get("wall", "")
    return found


def arrows(found: Reader) -> int:
    return sum(path.count("M") for kind, path in found.paths.items() if kind.startswith("arrow"))


def table_problem(name: str = "hall", bound: float = 3.0) -> CSSP:
    builder = CSSPBuilder(cost_names=("minutes", "damage"), bounds={"damage": bound})
    hall, stairs, out = builder.add_state(name), builder.add_state("stairs"), builder.add_goal("out")
    builder.add_action(hall, "walk", to=stairs, costs={"minutes": 6})
    builder.add_action(hall, "run", to={stairs: 0.8, hall: 0.2}, costs={"minutes": 1, "damage": 2})
    builder.add_action(stairs, "lift", to={out: 0.9, stairs: 0.1}, costs={"minutes": 1, "damage": 1})
    builder.add_action(stairs, "walk", to=out, costs={"minutes": 3})
    builder.set_initial(hall)
    return builder.build()


def chain_of(length: int, activity: CSSP) -> HCSSP:
    """One activity after another, each with a second way."""
    builder = ProcedureBuilder()
    events = [builder.add_event(f"event-{number}") for number in range(length + 1)]
    counted = {}
    for at in range(length):
        for way in ("this", "that"):
            run = builder.add_activity(f"{way}-{at}", activity)
            counted[run] = "damage"
            builder.add_choice(events[at], way, to=[Outcome(1.0, events[at + 1], runs=run)])
    builder.add_constraint("damage", at_most=inf, counts=counted)
    return builder.build(start=events[0], end=events[-1])


@pytest.fixture(scope="module")
def solved() -> Plan:
    return solved_building()


def test_a_plan_tells_its_figures_its_proof_and_its_choices(solved: Plan) -> None:
    found = read(solved._repr_html_())
    for told in (
        "small-building",
        "optimal",
        "27.7191",
        "1.8969",
        "at most 2",
        "16.1261",
        "could reach 25.353872",
    ):
        assert told in found.text
    assert "the wanted gap was reached" in found.text
    # What is never executed is told apart by more than colour.
    assert "never executed" in found.text
    assert found.tags["svg"] >= 3


def test_every_visited_cell_has_its_arrow() -> None:
    corridor = GridWorld.from_map("S.~.G", hazards={"~": {"damage": 1.0}}).to_cssp()
    found = read(plan_html(solve(corridor)))
    east = found.paths["arrow-0"]
    assert arrows(found) - legend_arrows() == 4
    # The tips lie to the right of the cells' middles.
    tips = [float(x) for x in re.findall(r"M([\d.]+) 1.5", east)]
    assert tips == pytest.approx([1.92, 2.92, 3.92, 4.92])
    assert found.paths["heat heat-0"].startswith("M1 1h4v1h-4z")
    assert found.paths["hatch"].startswith("M3 2l1-1")
    assert "hazard: damage 1 a step" in found.text


def legend_arrows() -> int:
    return 5


def test_a_problem_has_rooms_and_a_procedure_but_no_arrows() -> None:
    problem = small_building(2.0)
    found = read(problem._repr_html_())
    assert arrows(found) == 0
    for event in problem.events:
        assert event in found.texts
    assert "6 events, 6 choices, 5 activities with 63 states in all." in found.texts


def test_a_table_is_told_state_by_state() -> None:
    problem = table_problem()
    assert "0.8: stairs, 0.2: hall" in read(problem._repr_html_()).texts
    found = read(plan_html(solve(problem)))
    cells = found.texts
    at = cells.index("run")
    assert cells[at - 1 : at + 2] == ["hall", "run", "1.2500"]
    assert found.tags["svg"] == 1  # the proof over time


def test_hostile_names_stay_texts() -> None:
    problem = table_problem(HOSTILE)
    builder = ProcedureBuilder()
    start, end = builder.add_event(HOSTILE), builder.add_event("end" + HOSTILE)
    run = builder.add_activity(HOSTILE, problem)
    room = GridWorld.from_map("S~G", hazards={"~": {HOSTILE: 1.0}}).to_cssp()
    cross = builder.add_activity("room" + HOSTILE, room)
    builder.add_choice(start, HOSTILE, to=[Outcome(0.5, end, runs=run), Outcome(0.5, end, runs=cross)])
    builder.add_constraint(HOSTILE, at_most=3.0, counts={run: "damage", cross: HOSTILE})
    whole = builder.build(start=start, end=end).named(HOSTILE, HOSTILE)
    plan = solve(whole, stop=Gap(0.5))
    stopped = Plan(whole, ending=Ending(Reason.CRITERION, HOSTILE))
    curve = trade_off(whole, HOSTILE, [1.0, 3.0])
    for html in (
        problem_html(problem), plan_html(solve(problem)), problem_html(whole), plan_html(plan),
        plan_html(stopped), curve_html(curve),
    ):  # fmt: skip
        found = read(html)
        assert '<script>alert("x")</script>&amp;' in found.text
        assert 'class="hcssp tex2jax_ignore mathjax_ignore"' in html


def test_plans_without_a_policy_say_why() -> None:
    infeasible = read(plan_html(solve(table_problem(bound=-1.0))))
    assert "infeasible" in infeasible.texts
    assert "least achievable damage is 0" in infeasible.text
    cut_short = solve(small_building(1.0), stop=MaxIterations(1))
    assert not cut_short.found
    unknown = read(plan_html(cut_short))
    assert "one may still exist" in unknown.text
    assert "no plan has an expected time below" in unknown.text
    assert arrows(unknown) == 0


def test_a_plan_that_breaks_its_bounds_says_so() -> None:
    plan = solve(table_problem())
    broken = plan.under(table_problem().with_bounds(damage=1.0)).evaluated()
    assert "breaks the bound of 1" in read(plan_html(broken)).text


def test_a_way_back_passes_what_it_leads_back_over() -> None:
    builder = ProcedureBuilder()
    start, tried, end = (builder.add_event(name) for name in ("start", "tried", "end"))
    run = builder.add_activity("try", table_problem())
    builder.add_choice(start, "try", to=[Outcome(1.0, tried, runs=run)])
    builder.add_choice(tried, "look", to=[Outcome(0.75, end), Outcome(0.25, start)])
    builder.add_constraint("damage", at_most=10.0, counts={run: "damage"})
    html = plan_html(solve(builder.build(start=start, end=end)))
    found = read(html)
    assert "1.3333 times, minutes 2.36 each" in found.texts
    left, _, width, _ = map(float, re.search(r'viewBox="([-\d. ]+)"', html)[1].split())
    boxes = re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', html)
    # The only way whose ends are level with its control points.
    way = r"M([\d.]+) ([\d.]+)C([\d.]+) \2 \3 ([\d.]+) ([\d.]+) \4"
    (back,) = re.findall(way, found.paths["way chosen"])
    begin, _, pull, _, tip = map(float, back)
    middle = (begin + 6 * pull + tip) / 8
    assert max(float(x) + float(across) for x, across in boxes) < middle < left + width


def test_large_procedures_are_told_in_tables() -> None:
    problem = chain_of(60, table_problem())
    assert "too large to be drawn" in read(problem_html(problem)).text
    found = read(plan_html(solve(problem, stop=Gap(0.1))))
    assert "too large to be drawn" in found.text
    assert "Choices (60)" in found.texts
    assert "36 more are not shown." in found.texts
    assert "96 more are not shown." in found.texts


def test_of_very_many_rooms_the_likeliest_are_drawn() -> None:
    room = GridWorld.from_map("S~G", hazards={"~": {"damage": 1.0}}).to_cssp()
    problem = chain_of(50, room)
    assert "60 more activities are not drawn." in read(problem_html(problem)).texts
    found = read(plan_html(solve(problem, stop=Gap(0.1))))
    assert "10 more activities are not drawn." in found.texts


def test_large_rooms_are_drawn_in_blocks() -> None:
    hall = GridWorld(width=500, height=300, start=(0, 150), goal=(501, 150), slip=0.0).to_cssp()
    rows = np.full(hall.num_states, -1, dtype=np.int64)
    states = [hall.state_index[column, 150] for column in range(501)]
    rows[states] = hall.row_start[states] + 1
    html = plan_html(Plan(hall, DeterministicPolicy(hall, rows)))
    found = read(html)
    assert len(html) < 40_000
    # Two cells a block: the busiest line is two cells high.
    assert "v2h" in found.paths["heat heat-0"]
    assert 50 < arrows(found) - legend_arrows() < 300


def test_the_evacuation_is_small_enough_to_keep() -> None:
    plan = solve(evacuation().with_bounds(damage=2.0), stop=Gap(1e-2))
    html = plan_html(plan)
    assert arrows(read(html)) > 1000
    assert len(html) < 400_000


def test_a_curve_shows_what_is_proven() -> None:
    curve = trade_off(small_building(), "damage", [-1.0, 0.5, 1.0, 2.0])
    found = read(curve._repr_html_())
    assert found.paths["whisker"].count("M") == 3
    for told in ("infeasible", "46.6619", "33.3160", "no plan keeps these"):
        assert told in found.texts
    assert found.tags["svg"] == 2


def test_poor_curves_are_shown_as_well() -> None:
    problem = small_building()
    none = read(curve_html(trade_off(problem, "damage", [-2.0, -1.0])))
    assert "No plan keeps any of these bounds." in none.texts
    one = CurvePoint(1.0, Plan(problem), nan, None)
    assert "–" in read(curve_html(TradeOff.interrupted(problem, "damage", [one], 0.0))).texts
    alone = trade_off(table_problem(), "damage", [3.0])
    assert read(curve_html(alone)).tags["circle"] == 1


def test_the_style_reaches_nothing_else() -> None:
    style = (files("hcssp.reports.notebook") / "style.css").read_text(encoding="utf-8")
    rules = re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)
    selectors = [each.strip() for rule in re.findall(r"([^{}]+)\{", rules) for each in rule.split(",")]
    assert len(selectors) > 50
    assert [each for each in selectors if ".hcssp" not in each] == []


def test_only_elements_are_markup() -> None:
    assert joined(["<", element("b", {"class": None}, 1.5), Markup("&")]) == "&lt;<b>1.5</b>&"
    assert element("path", {"d": '"'}) == '<path d="&quot;"/>'
    assert number(-0.001) == "0"
    assert shortened("x" * 61).endswith("x…")


@settings(max_examples=examples(60))
@given(
    mask=arrays.arrays(np.bool_, st.tuples(st.integers(1, 7), st.integers(1, 7))),
    block=st.integers(1, 3),
)
def test_paths_cover_the_cells_they_should(mask: np.ndarray, block: int) -> None:
    covered = np.zeros(mask.shape, dtype=np.int64)
    for x, y, length in re.findall(r"M(\d+) (\d+)h(\d+)v\d+h-\d+z", filled(mask, 5, 7, block)):
        row, first = (int(y) - 7) // block, (int(x) - 5) // block
        covered[row, first : first + int(length) // block] += 1
    assert (covered == mask).all()
    crossed = np.zeros(mask.shape, dtype=np.int64)
    for x, y, length in re.findall(r"M(\d+) (\d+)l(\d+)-\d+", hatched(mask, 5, 7, block)):
        row, column = (int(y) - 7) // block - 1, (int(x) - 5) // block
        for step in range(int(length) // block):
            crossed[row - step, column + step] += 1
    assert (crossed == mask).all()


@settings(max_examples=examples(60))
@given(low=st.floats(-1e6, 1e6), length=st.floats(1e-3, 1e6), count=st.integers(1, 9))
def test_ticks_lie_within(low: float, length: float, count: int) -> None:
    found = ticks(low, low + length, count)
    assert len(found) <= count + 1
    assert all(low - 1e-6 * length <= tick <= low + length + 1e-6 * length for tick in found)


def test_values_off_a_chart_lie_on_its_edge() -> None:
    chart = Chart((0.0, 1.0), (0.0, 10.0), ("x", "y"))
    assert chart.place(0.5, -5.0) == (chart.place(0.5, 0.0))
    assert chart.place(2.0, 20.0) == chart.place(1.0, 10.0)


@pytest.mark.skipif(find_chromium() is None, reason="there is no browser here")
def test_a_browser_shows_two_parallel_map_in_light_and_dark(tmp_path: Path, solved: Plan) -> None:
    page = tmp_path / "page.html"
    body = plan_html(solved) + curve_html(trade_off(small_building(), "damage", [1.0, 2.0]))
    page.write_text(f'<!doctype html><meta charset="utf-8"><body>{body}</body>', encoding="utf-8")
    path = find_chromium()
    assert path is not None
    colour = "getComputedStyle(document.querySelector('.hcssp')).backgroundColor"
    with Browser(path) as browser:
        browser.open(page, width=700)
        assert browser.run("document.querySelectorAll('.hcssp').length") == 2
        assert browser.run("document.documentElement.scrollWidth") <= 700
        light = browser.run(colour)
        browser.run("document.body.dataset.jpThemeLight = 'false'")
        assert browser.run(colour) != light
        assert browser.complaints == []
        assert browser.requests == []
