"""The page in a real browser: it draws, its controls work, nothing complains, and it prints."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from chromium import Browser, find_chromium
from hcssp.contract.progress import Gap, MaxIterations
from hcssp.cssp.builder import CSSPBuilder
from hcssp.files.problem_file.loading import load_text
from hcssp.methods.paper import BudgetAllocation
from hcssp.reports.films import films_of
from hcssp.reports.page import curves_around, save_page
from hcssp.reports.page_data import draw_curve, page_data
from hcssp.scenarios import small_building
from hcssp.scenarios.domains.campus import campus
from hcssp.solving.solve import solve
from known_optima import roads
from small_procedures import retrying
from solved_building import solved_building

PATH = find_chromium()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PATH is None, reason="there is no Chromium; apt-get install chromium to run these"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def data(folder: Path) -> dict[str, Any]:
    plan = solved_building().as_procedure()
    curve = draw_curve(plan, "damage", [0.5, 1.0, 2.0, 4.0])
    data = page_data(plan, curve, samples=300, films=films_of(plan))
    save_page(folder / "report.html", data)
    return data


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert PATH is not None
    with Browser(PATH) as opened:
        yield opened


@pytest.fixture
def page(browser: Browser, data: dict[str, Any], folder: Path) -> Iterator[Browser]:
    browser.complaints.clear()
    browser.prefer()
    browser.open(folder / "report.html")
    yield browser
    assert browser.complaints == []
    # Nothing was fetched; a map that is saved as a picture is an address that holds its own content.
    assert [each for each in browser.requests if not each.startswith("data:")] == []


def set_control(page: Browser, control: str, value: object, event: str = "input") -> None:
    page.run(
        f"(() => {{ const control = document.getElementById({json.dumps(control)}); "
        f"control.value = {json.dumps(value)}; "
        f"control.dispatchEvent(new Event({json.dumps(event)}, {{bubbles: true}})); }})()"
    )


def text(page: Browser, selector: str) -> str:
    found = page.run(f"document.querySelector({json.dumps(selector)}).textContent")
    assert isinstance(found, str)
    return found


def cells(page: Browser) -> str:
    found = page.run("document.querySelector('#sheet .cells').innerHTML")
    assert isinstance(found, str)
    return found


def test_everything_is_drawn(page: Browser) -> None:
    for host in ("curve", "history", "graph", "budgets", "histograms", "gallery", "legend"):
        assert page.run(f"document.querySelectorAll('#{host} svg *').length") > 5, host
    assert cells(page).count("M") > 20
    assert "27.7191" in text(page, "#words")
    assert page.run("document.querySelectorAll('#gallery .card').length") == 4
    assert page.run("document.querySelectorAll('#activity-table tbody tr').length") == 4
    assert text(page, "#never") == "Never executed: go-to-E."


def test_the_slider_moves_by_keys_and_redraws_plan_map_costs_and_prices(
    page: Browser, data: dict[str, Any]
) -> None:
    parts = ("#words", "#tiles", "#budgets", "#activity-table", "#outlook-table", "#curve")
    before = {part: text(page, part) for part in parts}
    map_before, picture_before = cells(page), page.screenshot(whole=True)
    page.run("document.getElementById('bound').focus()")
    page.press("ArrowRight", 39)
    assert page.run("document.getElementById('bound').value") == "4"
    assert text(page, "#bound-value") == "at most 4"
    plan = data["plans"][3]
    assert f"{plan['own']:.4f}" in text(page, "#tiles")
    assert "at most 4" in text(page, "#other")
    after = {part: text(page, part) for part in parts}
    assert {part for part in parts if before[part] == after[part]} <= {"#curve"}
    assert cells(page) != map_before
    assert page.screenshot(whole=True) != picture_before
    assert page.run("document.querySelector('#curve .point.current title').textContent").startswith(
        "damage at most 4:"
    )
    price = f"{plan['prices']['damage']:.3f}"
    assert price in text(page, "#budgets")
    page.run("document.getElementById('back').click()")
    assert cells(page) == map_before
    assert {part: text(page, part) for part in parts} == before


def test_an_activity_can_be_chosen_on_list_graph_and_table(page: Browser, data: dict[str, Any]) -> None:
    whole = page.run("document.getElementById('sheet').getAttribute('viewBox')")
    names = [activity["name"] for activity in data["problem"]["activities"]]
    set_control(page, "activity", names.index("leave-through-E"), "change")
    zoomed = page.run("document.getElementById('sheet').getAttribute('viewBox')")
    assert zoomed != whole
    assert "leave-through-E" in text(page, "#activity-facts")
    page.run(
        "[...document.querySelectorAll('#graph .activity.chosen')]"
        ".find((node) => node.textContent.includes('go-to-door'))"
        ".dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}))"
    )
    assert "go-to-door" in text(page, "#activity-facts")
    page.run(
        "[...document.querySelectorAll('#activity-table button')]"
        ".find((button) => button.textContent === 'leave-through-door').click()"
    )
    assert page.run("document.getElementById('activity').value") == str(names.index("leave-through-door"))
    set_control(page, "activity", "", "change")
    assert page.run("document.getElementById('sheet').getAttribute('viewBox')") == whole


def test_what_the_plan_is_sensitive_to_is_ringed_on_the_map(page: Browser, data: dict[str, Any]) -> None:
    rings = "document.querySelectorAll('#sheet .sensitivity').length"
    assert page.run(rings) == 0
    set_control(page, "sensitivity", "damage", "change")
    shown = data["plans"][data["reported"]]["influences"]["damage"]
    places = {(each["activity"], *each["cell"]) for each in shown if "cell" in each}
    assert 0 < page.run(rings) <= len(places)
    assert page.run("document.querySelectorAll('#sensitivity-list li').length") == len(shown)
    assert shown[0]["words"] in text(page, "#sensitivity-list")
    assert "Change of the expected damage" in text(page, "#sensitivity-help")
    set_control(page, "sensitivity", "", "change")
    assert page.run(rings) == 0


def test_the_map_zooms_and_moves_by_keys(page: Browser) -> None:
    page.run("document.getElementById('sheet').focus()")
    box = "document.getElementById('sheet').getAttribute('viewBox')"
    whole = page.run(box)
    page.press("ArrowRight", 39)
    moved = page.run(box)
    assert float(moved.split()[0]) > float(whole.split()[0])
    page.run("document.getElementById('zoom-in').click()")
    assert float(page.run(box).split()[2]) < float(whole.split()[2])
    page.run("document.getElementById('zoom-all').click()")
    assert page.run(box) == whole


def centre(page: Browser, cell: tuple[int, int]) -> tuple[float, float]:
    """Where a cell of the sheet is on the screen."""
    page.run("document.getElementById('sheet').scrollIntoView({block: 'center', behavior: 'instant'})")
    # A tooltip goes when the page is scrolled, which is reported with the next picture.
    page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    x, y = page.run(
        "(() => { const matrix = document.getElementById('sheet').getScreenCTM();"
        f"const at = new DOMPoint({cell[0]} + 0.5, {cell[1]} + 0.5).matrixTransform(matrix);"
        "return [at.x, at.y]; })()"
    )
    return x, y


def test_a_cell_says_what_is_known_of_it_to_mouse_finger_and_keys(
    page: Browser, data: dict[str, Any]
) -> None:
    plan = data["plans"][data["reported"]]
    hidden = "document.getElementById('tooltip').hidden"
    panel = next(each for each in data["sheet"]["panels"] if len(each["activities"]) == 1)
    (activity,) = panel["activities"]
    column, row = data["problem"]["activities"][activity]["starts"][0]
    cell = (panel["corner"][0] + column, panel["corner"][1] + row)
    assert page.run(hidden)
    x, y = centre(page, cell)
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    page.wait_for("document.getElementById('tooltip').textContent.includes('cost-to-go')")
    told = text(page, "#tooltip")
    assert data["problem"]["activities"][activity]["name"] in told
    # All that the activity costs lies ahead of its first cell, and the other activities after it.
    share = plan["activities"][activity]
    ahead = re.search(r"cost-to-gotime ([\d.]+)", told)
    assert ahead is not None
    assert float(ahead[1]) >= share["cost"] / share["executions"] - 0.01
    # What is about the activity stands out in the graph, in the table and in its card.
    for host in ("#graph", "#activity-table", "#gallery"):
        assert page.run(f"document.querySelectorAll('{host} .lit').length") == 1, host
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=5, y=5)
    page.wait_for(hidden)
    assert page.run("document.querySelectorAll('.lit').length") == 0
    page.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    page.wait_for(f"!{hidden}")
    assert text(page, "#tooltip").startswith(told.split("activity")[0])
    page.run("document.getElementById('sheet').focus()")
    page.press("Enter", 13)
    first = text(page, "#tooltip strong")
    page.press("ArrowRight", 39)
    page.wait_for(f"document.querySelector('#tooltip strong').textContent !== {json.dumps(first)}")
    page.press("Escape", 27)
    assert page.run(hidden)


def test_pointing_at_a_row_lights_the_map_and_the_graph(page: Browser, data: dict[str, Any]) -> None:
    page.run(
        "document.querySelector('#activity-table tbody tr')"
        ".dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))"
    )
    assert page.run("document.querySelectorAll('#sheet .lit-cells').length") == 1
    assert page.run("document.querySelectorAll('#graph .lit').length") == 1


def test_a_bound_has_an_address(page: Browser, folder: Path, data: dict[str, Any]) -> None:
    set_control(page, "bound", 0.6)
    assert page.run("location.hash") == "#bound=damage:0.5"
    assert page.run("document.getElementById('link').getAttribute('href')") == "#bound=damage:0.5"
    page.run("document.getElementById('back').click()")
    page.run("location.hash = '#bound=damage:4'")
    page.wait_for("document.getElementById('bound-value').textContent === 'at most 4'")
    assert f"{data['plans'][3]['own']:.4f}" in text(page, "#tiles")


def test_two_plans_stand_side_by_side_with_a_map_of_where_they_differ(
    page: Browser, data: dict[str, Any]
) -> None:
    set_control(page, "first", 0, "change")
    set_control(page, "second", 3, "change")
    rows = page.run(
        "[...document.querySelectorAll('#compare-table tbody tr')]"
        ".map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    one, other = (data["plans"][index]["costs"]["time"] for index in (0, 3))
    assert rows[0][0] == "expected time"
    assert float(rows[0][3].replace("−", "-")) == pytest.approx(other - one, abs=1e-4)
    maps = "document.querySelectorAll('#compare-maps svg')"
    assert page.run(f"{maps}.length") == 3
    assert page.run(f"{maps}[2].querySelectorAll('.difference').length") > 0
    set_control(page, "second", 0, "change")
    assert page.run(f"{maps}[2].querySelectorAll('.difference').length") == 0


def test_plan_table_and_map_can_be_saved(page: Browser, data: dict[str, Any]) -> None:
    page.run(
        "const make = URL.createObjectURL; window.saved = [];"
        "URL.createObjectURL = (blob) => { window.saved.push(blob); return make(blob); };"
        "HTMLAnchorElement.prototype.click = function () { window.named = this.download; };"
    )
    page.run("document.getElementById('save-plan').click()")
    page.wait_for("window.saved.length === 1")
    document = json.loads(page.run("window.saved[0].text()"))
    assert document["format"] == "hcssp-plan"
    assert document["upper_bound"] == data["plans"][data["reported"]]["own"]
    assert page.run("window.named") == "small-building.plan.json"
    page.run("document.getElementById('save-table').click()")
    table = page.run("window.saved[1].text()").splitlines()
    assert table[0].startswith("activity,expected executions,")
    assert len(table) == 6
    page.run("document.getElementById('save-map').click()")
    page.wait_for("window.saved.length === 3")
    header = page.run("window.saved[2].slice(1, 4).text()")
    assert header == "PNG"
    assert page.run("window.saved[2].size") > 10_000


def test_both_films_of_the_search_play_and_step(page: Browser, data: dict[str, Any]) -> None:
    press = (
        "[...document.querySelectorAll('#{0} .transport button')]"
        ".find((each) => each.textContent === '{1}').click()"
    )
    films = {
        "gap-host": len(data["films"]["lagrangians"][0]["steps"]),
        "space-host": data["films"]["allocation"]["count"],
    }
    for host, steps in films.items():
        words, end = f"#{host} .story", text(page, f"#{host} .story")
        assert text(page, f"#{host} output") == f"{steps - 1} of {steps - 1}"
        page.run(press.format(host, "Start"))
        start = text(page, words)
        assert start != end
        page.run(press.format(host, "+1"))
        assert text(page, words) != start
        assert text(page, f"#{host} output") == f"1 of {steps - 1}"
        page.run(press.format(host, "End"))
        assert text(page, words) == end
        page.run(press.format(host, "Play"))
        page.wait_for(f"document.querySelector('#{host} output').textContent.startsWith('1 of')")
        page.run(press.format(host, "Pause"))
        page.run(press.format(host, "End"))
    last = data["films"]["lagrangians"][0]["steps"][-1]
    assert f"π{last[1]}" in text(page, "#gap-host .story")
    assert page.run("document.querySelectorAll('#gap-host line.policy.kept').length") > 0
    assert page.run("document.querySelectorAll('#gap-host line.policy.broken').length") > 0
    states = text(page, "#space-host .story")
    drawn = page.run("document.querySelectorAll('#space-host rect.box:not(.newest)').length")
    numbers = [int(number) for number in re.findall(r"(\d+) (?:split|pruned|open)", states)]
    assert sum(numbers) == data["films"]["allocation"]["count"]
    # Three boxes belong to the legend.
    assert drawn - 3 == sum(numbers[1:])
    assert page.run("document.querySelectorAll('#space-host .chart .star').length") == 1


def test_a_film_shows_other_activities(page: Browser, data: dict[str, Any]) -> None:
    def choose(host: str, number: int, value: int) -> None:
        select = f"document.querySelectorAll('#{host} select')[{number}]"
        page.run(f"{select}.value = {value}; {select}.dispatchEvent(new Event('change'))")

    choose("gap-host", 0, 1)
    steps = data["films"]["lagrangians"][1]["steps"]
    assert text(page, "#gap-host output") == f"{len(steps) - 1} of {len(steps) - 1}"
    before = page.run("document.querySelector('#space-host svg').innerHTML")
    axes = data["films"]["allocation"]["axes"]
    other = next(at for at in range(len(axes)) if at not in data["films"]["allocation"]["shown"])
    choose("space-host", 0, other)
    assert page.run("document.querySelector('#space-host svg').innerHTML") != before
    assert f"of an execution of {axes[other][0]}" in text(page, "#space-host svg")


def test_a_table_is_sorted_by_the_column_that_is_chosen(page: Browser) -> None:
    column = (
        "[...document.querySelectorAll('#activity-table tbody tr')]"
        ".map((row) => parseFloat(row.cells[3].textContent))"
    )
    for wanted in ("descending", "ascending"):
        page.run("document.querySelectorAll('#activity-table .sort')[3].click()")
        values = page.run(column)
        assert values == sorted(values, reverse=wanted == "descending")
        assert page.run("document.querySelectorAll('#activity-table thead th')[3].ariaSort") == wanted


TWO_FLOORS = """
format: hcssp-problem
version: 1
costs: [time]
models:
  below: {grid: {width: 3, height: 3}, position: [0, 0], start: [0, 1], goal: [4, 2]}
  above: {grid: {width: 3, height: 3}, position: [0, 0], start: [0, 1], goal: [4, 2]}
activities: {one: {model: below}, two: {model: above}}
procedure:
  start: begin
  end: over
  events:
    begin: {one: {runs: one, to: late}}
    late: {two: {runs: two, to: over}}
    over: {}
"""


def test_floors_are_tabs(browser: Browser, folder: Path) -> None:
    plan = solve(load_text(TWO_FLOORS))
    save_page(folder / "floors.html", page_data(plan, samples=50))
    browser.complaints.clear()
    browser.open(folder / "floors.html")
    tabs = "[...document.querySelectorAll('#floors button')]"
    pressed = f"{tabs}.filter((tab) => tab.ariaPressed === 'true').map((tab) => tab.textContent)"
    hidden = "[...document.querySelectorAll('#sheet .rooms g')].map((room) => getComputedStyle(room).display)"
    assert browser.run(f"{tabs}.map((tab) => tab.textContent)") == ["below", "above", "all"]
    assert browser.run(pressed) == ["below"]
    assert browser.run(hidden) == ["inline", "none"]
    browser.run(f"{tabs}[1].click()")
    assert browser.run(pressed) == ["above"]
    assert browser.run(hidden) == ["none", "inline"]
    assert browser.run("[...document.getElementById('activity').options].map((each) => each.text)") == [
        "the whole map",
        "two (once)",
    ]
    assert browser.complaints == []


def test_the_runs_play_pause_and_step(page: Browser, data: dict[str, Any]) -> None:
    tokens = "document.querySelectorAll('#sheet .token').length"
    assert page.run(tokens) == 0
    page.run("document.getElementById('step').click()")
    runs = len(data["plans"][data["reported"]]["runs"])
    assert page.run(tokens) == runs
    # In one script: the runs must not end between two calls.
    label, stopped = page.run("""new Promise((done) => {
      const play = document.getElementById('play'), clock = document.getElementById('clock');
      play.click();
      const label = play.textContent;
      const look = setInterval(() => {
        if (Number(clock.value) <= 5) return;
        clearInterval(look);
        play.click();
        done([label, clock.value]);
      }, 1);
    })""")
    assert label == "Pause"
    assert text(page, "#play") == "Play"
    page.run("new Promise((done) => setTimeout(done, 200))")
    assert page.run("document.getElementById('clock').value") == stopped
    # At the end all are over, and the mean of what was drawn is told.
    set_control(page, "clock", 100_000)
    assert f"{runs} of {runs} runs are over" in text(page, "#run-words")
    means = [
        sum(run["totals"][cost] for run in data["plans"][data["reported"]]["runs"]) / runs for cost in (0, 1)
    ]
    told = [
        float(figure) for figure in re.findall(r"(?:time|damage) ([\d.]+\d|\d+)", text(page, "#run-words"))
    ]
    assert told == pytest.approx(means, abs=0.051)
    set_control(page, "follow", 2, "change")
    assert page.run(tokens) == 1
    assert "reaches exit" in text(page, "#run-words")


def test_less_motion_means_fewer_pictures(page: Browser, folder: Path) -> None:
    page.prefer(reduced_motion="reduce")
    page.open(folder / "report.html")
    page.run("document.getElementById('play').click()")
    page.wait_for("document.getElementById('clock').value !== '0'")
    assert int(page.run("document.getElementById('clock').value")) % 10 == 0
    page.run("document.getElementById('play').click()")


def test_a_phone_needs_no_scrolling_to_the_side(page: Browser, folder: Path) -> None:
    page.open(folder / "report.html", 390, 844)
    assert page.run("document.documentElement.scrollWidth") == 390
    assert cells(page).count("M") > 20


def test_on_a_phone_allocated_budgets_have_bars_and_the_films_axes(page: Browser, folder: Path) -> None:
    plan = solve(small_building(2.0), BudgetAllocation(), [MaxIterations(21)])
    save_page(folder / "budgets.html", page_data(plan.as_procedure(), films=films_of(plan)))
    page.open(folder / "budgets.html", 390, 844)
    widths = page.run(
        "[...document.querySelectorAll('#budgets rect.allocated')].map((bar) => bar.width.baseVal.value)"
    )
    assert max(widths) > 100
    # The figures below an axis do not overlap.
    boxes = page.run(
        "[...document.querySelectorAll('#space-host .chart text[text-anchor=middle]')]"
        ".map((text) => [text.getBoundingClientRect().left, text.getBoundingClientRect().right])"
    )
    assert len(boxes) > 2
    assert all(left[1] < right[0] for left, right in pairwise(boxes))


def test_dark_and_light_differ_and_both_have_contrast(page: Browser, folder: Path) -> None:
    contrasts = {}
    for scheme in ("light", "dark"):
        page.prefer(color_scheme=scheme)
        page.open(folder / "report.html")
        colours = page.run(
            "['backgroundColor', 'color'].map((name) => getComputedStyle(document.body)[name])"
            ".concat(getComputedStyle(document.querySelector('.lead')).color)"
        )
        paper, ink, soft = (luminance(colour) for colour in colours)
        contrasts[scheme] = paper
        for other in (ink, soft):
            assert (max(paper, other) + 0.05) / (min(paper, other) + 0.05) >= 4.5
    assert contrasts["light"] > 0.9
    assert contrasts["dark"] < 0.1


def luminance(colour: str) -> float:
    channels = [int(each) / 255 for each in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_it_prints_on_a4_without_controls(page: Browser) -> None:
    printed = page.pdf()
    assert printed.startswith(b"%PDF")
    boxes = {tuple(map(float, box)) for box in re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", printed)}
    assert boxes
    for width, height in boxes:
        assert (width, height) == pytest.approx((595.3, 841.9), abs=1.5)
    pages = len(re.findall(rb"/Type\s*/Page\b(?!s)", printed))
    assert 2 <= pages <= 9
    page.call("Emulation.setEmulatedMedia", media="print")
    hidden = page.run(
        "[...document.querySelectorAll('.controls')]"
        ".every((each) => getComputedStyle(each).display === 'none')"
    )
    assert hidden
    page.call("Emulation.setEmulatedMedia", media="")


def test_a_problem_of_tables_is_shown_as_tables(browser: Browser, folder: Path) -> None:
    plan = solve(retrying().named("retrying"))
    save_page(folder / "tables.html", page_data(plan, samples=100))
    browser.complaints.clear()
    browser.open(folder / "tables.html")
    assert browser.run("document.getElementById('bar').hidden")
    assert browser.run("document.querySelectorAll('#gallery .card').length") == 2
    assert "Always: " in text(browser, "#gallery")
    browser.run("document.getElementById('step').click()")
    assert browser.run("document.getElementById('clock').value") == "1"
    assert browser.complaints == []


def test_a_site_is_drawn_level_by_level_with_the_ways_of_the_plan(browser: Browser, folder: Path) -> None:
    """Of two ways the plan takes one; a click on it chooses the activity."""
    table = "{s: {go: {to: t, costs: {time: %d}}}}"
    plan = solve(
        load_text(
            f"""
            format: hcssp-problem
            version: 1
            costs: [time]
            activities:
              by the hall: {{table: {table % 2}, start: s, goal: t}}
              by the yard: {{table: {table % 5}, start: s, goal: t}}
            procedure:
              start: desk
              end: store
              events:
                desk:
                  hall: {{runs: by the hall, to: store}}
                  yard: {{runs: by the yard, to: store}}
            drawing:
              ground floor:
                walls: [[0, 0, 20, 0, 20, 12]]
                doors: {{store door: [20, 4, 20, 5]}}
                lifts: {{lift A: [3, 11]}}
                places: {{"<b>desk": [2, 3], store: [24, 4]}}
                paths: {{by the hall: [2, 3, 18, 4, 24, 4], by the yard: [2, 3, 10, 9, 24, 4]}}
              upper floor: {{walls: [[0, 0, 20, 0]]}}
            """
        )
    )
    browser.complaints.clear()
    save_page(folder / "site.html", page_data(plan, runs=1, samples=10))
    browser.open(folder / "site.html")
    assert browser.run("document.querySelectorAll('#levels svg').length") == 2
    assert browser.run("document.querySelectorAll('#levels .way.taken').length") == 1
    assert browser.run("document.querySelectorAll('#levels .way').length") == 2
    assert browser.run(
        "document.querySelector('#levels .site-name').parentNode.textContent.includes('<b>desk')"
    )
    browser.run("document.querySelector('#levels .way.taken').dispatchEvent(new MouseEvent('click'))")
    assert browser.run("document.getElementById('activity').selectedOptions[0].textContent").startswith(
        "by the hall"
    )
    assert browser.complaints == []


def test_every_bound_is_offered_and_none_takes_the_choice_away(browser: Browser, folder: Path) -> None:
    plan = solve(roads(damage=4.0, fuel=3.5))
    save_page(folder / "two.html", page_data(plan, *curves_around(plan, points=4), samples=100))
    browser.complaints.clear()
    browser.open(folder / "two.html", 390, 844)
    chosen = "document.getElementById('trade-off-title').textContent"
    first = browser.run(chosen)
    browser.run("document.getElementById('view').value = 1")
    browser.run("document.getElementById('view').dispatchEvent(new Event('change'))")
    assert browser.run(chosen) != first
    assert browser.run("document.getElementById('view').offsetHeight") > 0
    assert browser.run("document.documentElement.scrollWidth") == 390
    assert browser.complaints == []


def test_no_text_tells_of_controls_that_are_not_there(browser: Browser, folder: Path) -> None:
    plan = solve(retrying().named("retrying"))
    save_page(folder / "tables.html", page_data(plan, samples=100))
    browser.open(folder / "tables.html")
    shown = "[...document.querySelectorAll('{}')].some((each) => each.offsetHeight > 0)"
    for absent in ("#trade-off-help", "#sheet", ".map-only", "#views", "#graph-hint"):
        assert not browser.run(shown.format(absent))


def test_names_of_two_hundred_letters_make_no_page_wider(browser: Browser, folder: Path) -> None:
    long = "name " * 40
    way = CSSPBuilder(cost_names=(f"time {long}", f"damage {long}"), bounds={f"damage {long}": 1.0})
    start, goal = way.add_state(f"start {long}"), way.add_goal("goal")
    way.add_action(start, f"walk {long}", to=goal, costs={f"time {long}": 2})
    way.add_action(start, f"run {long}", to=goal, costs={f"time {long}": 1, f"damage {long}": 2})
    way.set_initial(start)
    plan = solve(way.build())
    save_page(folder / "long.html", page_data(plan, *curves_around(plan, points=3), samples=100))
    for width in (1280, 390):
        browser.open(folder / "long.html", width, 844)
        assert browser.run("document.documentElement.scrollWidth") == width


CROWDED = """
format: hcssp-problem
version: 1
costs: [time, noise, damage]
activities:
  hall:
    grid: {map: ["S..~....", "..#~...#", "...~...G"], hazards: {"~": {damage: 5, noise: 1}}, slip: 0.1}
  stairs:
    table:
      top:
        run: {to: bottom, costs: {time: 2, damage: 1, noise: 2}}
        walk: {to: bottom, costs: {time: 6, noise: 1}}
    start: top
    goal: bottom
procedure:
  start: in
  end: out
  events:
    in: {go: {runs: hall, to: landing}}
    landing: {down: {runs: stairs, to: out}}
constraints: {noise: {at_most: 50}, damage: {at_most: 5.9}}
"""


def test_a_small_room_with_a_table_beside_it_stays_legible(browser: Browser, folder: Path) -> None:
    plan = solve(load_text(CROWDED))
    save_page(folder / "crowded.html", page_data(plan, draw_curve(plan, "damage", [5.9]), samples=200))
    browser.open(folder / "crowded.html")
    # The box of a table is no larger than the room, whose name stands in its wall and hides no cell.
    boxes = browser.run(
        "[...document.querySelectorAll('#sheet .table-box, #sheet .floor')].map(b => b.getBBox().width)"
    )
    assert boxes[1] < boxes[0]
    name, floor = browser.run(
        "[...document.querySelectorAll('#sheet .on-wall, #sheet .floor')].map(b => b.getBBox())"
        ".map(b => [b.y, b.y + b.height]).sort((a, b) => b[0] - a[0])"
    )
    assert name[0] >= floor[1] - 1.0
    # No line of a bound crosses the figure of a bar beside it.
    crossed = browser.run(
        """[...document.querySelectorAll('#budgets svg')].flatMap(picture => {
          const line = picture.querySelector('.limit').getBBox().x;
          return [...picture.querySelectorAll('.plated')].map(text => text.getBBox())
            .filter(box => box.x < line && line < box.x + box.width);
        })"""
    )
    assert crossed == []
    assert browser.run("document.querySelector('#activity-table tfoot').textContent").endswith(
        browser.run("document.querySelectorAll('#tiles dd')[2].firstChild.textContent")
    )


def test_a_probability_is_told_as_one_everywhere(browser: Browser, folder: Path) -> None:
    crash = "{probability: {of: crashed, at_most: 10%}}"
    text_of = CROWDED.replace("damage: 5,", "damage: 5, exit: {crashed: 4%},").replace(
        "to: landing", "to: {G: landing, crashed: out}"
    )
    plan = solve(load_text(text_of.replace("{noise: {at_most: 50},", f"{{crash: {crash},")))
    save_page(folder / "chance.html", page_data(plan, samples=200))
    browser.open(folder / "chance.html")
    told = f"{100 * plan.cost('crash'):.4f}%"
    assert f"{told} (46.3%)" in text(browser, "#budgets")
    for part in ("#tiles", "#activity-table", "#outlook-table"):
        assert told in text(browser, part), part
    assert re.search(
        r"probability of crashed in them is \d\.\d\d%, with a bound of 10%", text(browser, "#outlook-text")
    )
    assert browser.run("document.querySelectorAll('#histograms figure').length") == 2


def test_a_nested_procedure_opens_and_closes(browser: Browser, folder: Path) -> None:
    plan = solve(campus(size=4), stop=Gap(0.3))
    save_page(folder / "nested.html", page_data(plan, samples=50))
    browser.complaints.clear()
    browser.open(folder / "nested.html", width=390, height=844)
    crumbs = "document.querySelectorAll('.crumbs')[1]"
    assert browser.run(f"{crumbs}.hidden")
    for depth, uses in ((3, 2), (5, 0)):
        browser.run("document.querySelector('#graph .use').dispatchEvent(new MouseEvent('click'))")
        browser.wait_for(f"{crumbs}.children.length === {depth}")
        assert browser.run("document.querySelectorAll('#graph .use').length") == uses
    assert browser.run(f"{crumbs}.textContent") == "campus›building-1›floor-2"
    # What is listed is what is inside.
    names = browser.run("document.querySelector('#activities').textContent")
    assert "building-1/floor-2/west-1" in names
    assert "turn-away-1" not in names
    assert browser.run("document.querySelectorAll('#sheet .rooms .dimmed').length") > 0
    # Back by the browser's button, then by the path.
    browser.run("history.back()")
    browser.wait_for(f"{crumbs}.children.length === 3")
    browser.run(f"{crumbs}.querySelector('button').click()")
    browser.wait_for(f"{crumbs}.hidden")
    assert "turn-away-1" in browser.run("document.querySelector('#activity-table').textContent")
    assert browser.run("document.documentElement.scrollWidth") <= 390
    assert browser.complaints == []
    assert browser.requests == []
