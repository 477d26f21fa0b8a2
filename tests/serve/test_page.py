"""The live planner in a real browser: drawing, planning, asking, saving, and running."""

from __future__ import annotations

import json
import random
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hcssp import load, load_plan
from playwright_browser import chromium_browser, quiet_page, skip_without_browser
from running_processes import HANG_GUARD, attempts
from serve_client import running
from volume import examples

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

skip_without_browser()
pytest.importorskip("starlette", reason="there is no Starlette; pip install 'hcssp[serve]' to run these")
pytestmark = pytest.mark.slow

TWO_ROOMS = """
format: hcssp-problem
version: 1
name: two rooms
costs: [time, damage]
activities:
  hall:
    grid:
      map: ["#######", "S..~..#", "#..~..G", "#.....#", "#######"]
      hazards: {"~": {damage: 5}}
      slip: 0.1
    position: [0, 0]
  store:
    grid: {map: ["#####", "S...#", "#...G", "#####"], slip: 0.1}
    position: [6, 1]
procedure:
  start: inside
  end: outside
  events:
    inside: {go: {runs: hall, to: at the door}}
    at the door:
      try it: [{probability: 0.8, to: open}, {probability: 0.2, to: locked}]
    open: {leave: {runs: store, to: outside}}
    locked: {wait: {to: open}, try again: {to: at the door}}
constraints: {damage: {at_most: 2}}
"""


@dataclass(frozen=True)
class Server:
    """The address of a server, and its folder."""

    address: str
    folder: Path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("project")
    with running(folder) as client:
        yield Server(f"http://{client.address}/", folder)
        client.process.send_signal(signal.SIGINT)
        _, log = client.process.communicate(timeout=HANG_GUARD)
    # Nothing went wrong on the server, whatever the tests did: it wrote what it serves, and its end.
    assert [line for line in log.splitlines() if not line.startswith("hcssp")] == []


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium_browser() as opened:
        yield opened


@pytest.fixture
def page(server: Server, browser: Browser) -> Iterator[Page]:
    """The page with an empty sheet, planned."""
    with quiet_page(browser, viewport={"width": 1400, "height": 900}) as opened:
        opened.goto(server.address)
        begin(opened)
        yield opened


def until(page: Page, script: str, arg: object = None) -> None:
    """Wait until an expression is true; the page's policy forbids Playwright's own way of waiting."""
    function = script if "=>" in script else f"() => {script}"
    for _ in attempts():
        if page.evaluate(function, arg):
            return
    there = "; ".join(page.inner_text(each) for each in ("#headline", "#status", "#errors"))
    raise AssertionError(f"never {script}: {there}; {text_of(page)[:1500]}")


def begin(page: Page) -> None:
    until(page, "location.hash.startsWith('#s=')")
    page.evaluate("document.querySelector('dialog[open]') ?? document.querySelector('#open-button').click()")
    page.get_by_role("button", name="Empty sheet").click()
    until(page, "document.querySelector('#text').value.includes('my building')")
    planned(page)


def text_of(page: Page) -> str:
    return page.input_value("#text")


def open_text(page: Page, text: str) -> None:
    """Replace the text of the problem by another, and wait for its plan."""
    page.get_by_role("tab", name="Text").click()
    before = page.evaluate("document.body.dataset.revision")
    page.fill("#text", text)
    until(page, "(before) => document.body.dataset.revision !== before", before)
    planned(page, text)


def planned(page: Page, text: str | None = None) -> None:
    """Wait until what is there now has been planned: the page says so of no older problem."""
    until(
        page,
        """(text) => !document.body.classList.contains('busy')
        && (text === null || document.querySelector('#text').value === text)
        && document.body.dataset.planned === document.body.dataset.revision
        && document.querySelector('#headline').dataset.revision === document.body.dataset.revision
        && !document.querySelector('#headline .gap.on')""",
        arg=text,
    )


def after(page: Page, act: Any) -> None:
    """Do something that changes the text, and wait until it has."""
    before = text_of(page)
    act()
    until(
        page,
        """(before) => document.querySelector('#text').value !== before
        && !document.body.classList.contains('busy')""",
        arg=before,
    )


def centre(page: Page, cell: tuple[int, int]) -> tuple[float, float]:
    """The pixel in the middle of a cell of the sheet."""
    x, y = page.evaluate(
        """([x, y]) => { const m = document.querySelector('#sheet').getScreenCTM();
        return [m.a * (x + 0.5) + m.e, m.d * (y + 0.5) + m.f]; }""",
        list(cell),
    )
    return x, y


def drag(page: Page, first: tuple[int, int], last: tuple[int, int]) -> None:
    page.mouse.move(*centre(page, first))
    page.mouse.down()
    page.mouse.move(*centre(page, last), steps=8)
    page.mouse.up()


def own(page: Page) -> float:
    return float(page.locator("#headline .own").evaluate("(each) => each.firstChild.textContent"))


def rows(page: Page, room: int = 0) -> list[str]:
    """The map of a room, as the text has it."""
    document = page.evaluate(
        "fetch(`/api/sessions/${location.hash.slice(3)}`).then((each) => each.json())"
        ".then((each) => each.document)"
    )
    drawn = list(document["activities"].values())[room]["grid"]["map"]
    lines: list[str] = drawn if isinstance(drawn, list) else drawn.split()
    return lines


def test_a_session_from_an_empty_sheet_to_a_saved_plan(page: Page, server: Server) -> None:
    """Draw a building of two rooms, plan, drag the bound, compare, play, save, reload and go on."""
    alone = own(page)
    after(page, lambda: page.get_by_role("button", name="Add a room").click())
    planned(page)
    assert own(page) > alone
    page.get_by_label("Wall", exact=True).check()
    after(page, lambda: drag(page, (4, 1), (4, 4)))
    assert [row[4] for row in rows(page)] == ["#", "#", "#", "#", "#", ".", "#"]
    page.get_by_label("Hazard", exact=True).check()
    after(page, lambda: page.get_by_role("button", name="Add a hazard").click())
    page.get_by_label("Rectangle", exact=True).check()
    after(page, lambda: drag(page, (6, 3), (7, 5)))
    assert [row[6:8] for row in rows(page)] == ["##", "..", "..", "~~", "~~", "~~", "##"]
    planned(page)
    page.screenshot(path=str(server.folder / "drawn.png"))

    # The smaller the bound, the longer the way.
    free = own(page)
    slider = page.locator("#bounds input[type=range]")
    box = slider.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    for share in (0.3, 0.2, 0.1, 0.0):
        page.mouse.move(box["x"] + share * box["width"] + 1, box["y"] + box["height"] / 2, steps=2)
    page.mouse.up()
    until(page, "/at_most: 0/.test(document.querySelector('#text').value)")
    planned(page)
    assert own(page) > free
    # The drag is one step of undo, and keeps one plan beside the one before it.
    after(page, lambda: page.get_by_role("button", name="Undo").click())
    assert "at_most: 2" in text_of(page)
    after(page, lambda: page.get_by_role("button", name="Redo").click())
    planned(page)
    assert own(page) > free

    page.get_by_role("tab", name="Compare").click()
    page.get_by_role("button", name="Compare", exact=True).click()
    page.wait_for_selector("#compare-panel table")
    assert "expected time" in page.inner_text("#compare-panel table")
    assert page.locator("#compare-panel .triple figure").count() == 3

    page.get_by_role("button", name="One step on").click()
    assert page.input_value("#clock") == "1"
    page.get_by_role("button", name="Play").click()
    until(page, "Number(document.querySelector('#clock').value) > 3")
    page.get_by_role("button", name="Pause").click()
    assert page.locator("#sheet .token").count() > 0

    page.get_by_role("button", name="Save…").click()
    for what, file in (("problem", "mine.yaml"), ("plan", "mine.plan.json"), ("report", "mine.html")):
        page.get_by_label(f"File name of the {what}").fill(file)
        page.locator(f"[data-key='save {what}']").click()
        until(
            page, "(file) => document.querySelector('#status').textContent === `Saved as ${file}.`", arg=file
        )
    page.get_by_role("button", name="Close").click()
    problem = load(server.folder / "mine.yaml")
    assert load_plan(server.folder / "mine.plan.json", problem).cost("time") == pytest.approx(
        own(page), abs=5e-4
    )
    assert "Report on a plan" in (server.folder / "mine.html").read_text()

    text, figure = text_of(page), own(page)
    page.reload()
    planned(page, text)
    assert own(page) == figure
    after(page, lambda: page.get_by_role("button", name="Undo").click())
    planned(page)


def test_the_text_and_the_drawing_say_the_same_both_ways(page: Page) -> None:
    open_text(page, TWO_ROOMS)
    wrong = TWO_ROOMS.replace("slip: 0.1", "slip: 1.4", 1)
    page.fill("#text", wrong)
    page.wait_for_selector("#errors li")
    assert "1.4 is not a probability" in page.inner_text("#errors")
    line = wrong.split("\n").index(next(each for each in wrong.split("\n") if "1.4" in each)) + 1
    assert page.inner_text("#gutter .wrong") == str(line)
    page.get_by_role("button", name=f"Line {line}").click()
    chosen = page.evaluate(
        "((t) => t.value.slice(t.selectionStart, t.selectionEnd))(document.querySelector('#text'))"
    )
    assert "1.4" in chosen
    # The room is marked in the drawing, and can still be drawn in.
    page.get_by_role("tab", name="Draw").click()
    assert page.locator("#sheet .faulty").count() == 1
    page.get_by_label("Wall", exact=True).check()
    after(page, lambda: page.mouse.click(*centre(page, (3, 1))))
    assert rows(page)[1] == "S..#..#"
    page.get_by_role("tab", name="Figures").click()
    page.locator("#figures-panel summary", has_text="hall").click()
    page.locator("[data-key='activities/hall/grid/slip']").fill("20%")
    after(page, lambda: page.keyboard.press("Enter"))
    planned(page)
    assert "20%" in text_of(page)
    assert page.locator("#sheet .faulty").count() == 0


def test_painting_with_the_keyboard_alone(page: Page) -> None:
    page.locator("#open-button").focus()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.value === 'look'"):
            break
    page.keyboard.press("ArrowRight")
    assert page.get_by_label("Wall", exact=True).is_checked()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id === 'sheet'"):
            break
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    assert page.inner_text("#say") == "room 1, column 2, row 2: free"
    after(page, lambda: page.keyboard.press("Space"))
    after(page, lambda: page.keyboard.press("Shift+ArrowDown"))
    assert [row[2] for row in rows(page)] == ["#", ".", "#", "#", ".", ".", "#"]
    planned(page)
    after(page, lambda: page.keyboard.press("Control+z"))
    assert [row[2] for row in rows(page)] == ["#", ".", "#", ".", ".", ".", "#"]
    after(page, lambda: page.keyboard.press("Control+y"))
    assert [row[2] for row in rows(page)] == ["#", ".", "#", "#", ".", ".", "#"]
    page.keyboard.press("Escape")
    assert page.get_by_label("Look", exact=True).is_checked()


def test_fingers_paint_on_a_tablet(server: Server, browser: Browser) -> None:
    tablet = {"viewport": {"width": 820, "height": 1180}, "has_touch": True, "color_scheme": "dark"}
    with quiet_page(browser, **tablet) as page:
        page.goto(server.address)
        begin(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 820
        page.get_by_label("Wall", exact=True).check()
        page.locator("#sheet").scroll_into_view_if_needed()
        after(page, lambda: page.touchscreen.tap(*centre(page, (3, 2))))
        assert rows(page)[2][3] == "#"
        planned(page)


def test_the_procedure_is_edited_in_its_graph_and_form(page: Page) -> None:
    open_text(page, TWO_ROOMS)
    page.get_by_role("tab", name="Procedure").first.click()
    page.locator("#graph .node.event", has_text="locked").click()
    assert page.input_value("#procedure-panel [data-key=event]") == "locked"
    after(page, lambda: page.get_by_role("button", name="Add an event").click())
    after(
        page,
        lambda: page.locator("#procedure-panel [data-key=name]").fill("help") or page.keyboard.press("Enter"),
    )
    page.locator("#procedure-panel [data-key=event]").select_option("locked")
    page.locator("#procedure-panel [data-key=target]").select_option("help")
    after(page, lambda: page.get_by_role("button", name="Connect").click())
    assert "to help: {to: help}" in text_of(page)
    after(page, lambda: page.locator("[data-key='to help chance 0']").click())
    planned(page)
    assert page.locator("#graph .node.chance").count() == 2
    after(page, lambda: page.locator("[data-key='to help remove 0']").click())
    page.locator("#procedure-panel [data-key=event]").select_option("help")
    after(page, lambda: page.locator("[data-key='remove event']").click())
    planned(page)
    assert "help" not in text_of(page)


def test_questions_about_a_plan(page: Page) -> None:
    open_text(page, TWO_ROOMS)
    page.get_by_role("tab", name="Draw").click()
    page.get_by_label("Look", exact=True).check()
    page.mouse.click(*centre(page, (1, 1)))
    page.wait_for_selector("#ask-panel .answer table")
    assert "hall, cell (1, 1)" in page.inner_text("#ask-panel .answer")
    page.locator("#ask-panel [data-key=why]").select_option("locked")
    until(page, "document.querySelector('#ask-panel .answer')?.textContent.includes('At locked')")
    assert "try again" in page.inner_text("#ask-panel .answer")
    for button, words in (
        ("Robustness", "worst case"),
        ("Simulate", "simulated runs"),
        ("Next best plans", "best plans that keep"),
        ("Trade-off", "As a table"),
    ):
        page.get_by_role("button", name=button).click()
        until(
            page,
            "(words) => document.querySelector('#ask-panel .answer')?.textContent.includes(words) "
            "&& !document.querySelector('#ask-panel [role=alert]')",
            arg=words,
        )
    assert page.locator("#ask-panel svg circle").count() > 1


def test_a_run_is_followed_and_planned_anew(page: Page) -> None:
    open_text(page, TWO_ROOMS)
    page.get_by_role("tab", name="Run").click()
    page.get_by_role("button", name="Begin a run").click()
    page.wait_for_selector("#run-panel .where")
    assert "Step 0" in page.inner_text("#run-panel .where")
    for step in range(1, 6):
        page.get_by_role("button", name="Step by chance").click()
        until(
            page,
            "(step) => document.querySelector('#run-panel .where').textContent.startsWith(`Step ${step}`)",
            arg=step,
        )
    assert page.locator("#sheet .robot .token").count() == 1
    page.get_by_role("button", name="Distribution of the rest").click()
    page.wait_for_selector("#run-panel .chart svg")
    # The door is locked: the problem is changed, and the rest planned anew.
    page.locator("#run-panel summary", has_text="Report an event").click()
    after(page, lambda: page.get_by_role("button", name="try it: locked").click())
    until(page, "!document.body.classList.contains('busy')")
    assert "{probability: 1, to: locked}" in text_of(page)
    # Where the robot is now is a matter of chance.
    until(page, "/plan is kept|new plan for the rest/.test(document.querySelector('#run-panel').textContent)")
    until(
        page,
        """() => { document.querySelector("#run-panel [data-key='To the next event']")?.click();
        return document.querySelector('#run-panel .where').textContent.includes('The run is over'); }""",
    )
    page.get_by_role("button", name="End the run").click()
    page.wait_for_selector("#run-panel >> text=Begin a run")


BATTERY = """
format: hcssp-problem
version: 1
name: a battery
costs: [time, battery]
activities:
  cross:
    table:
      inside:
        fast: {costs: {time: 1, battery: 4}, to: {door: 0.5, inside: 0.5}}
        slow: {costs: {time: 5, battery: 1}, to: door}
    start: inside
    goal: door
capacities: {battery: {at_most: 10}}
"""


def test_what_was_measured_is_planned_with(page: Page) -> None:
    open_text(page, BATTERY)
    page.get_by_role("tab", name="Run").click()
    page.get_by_role("button", name="Begin a run").click()
    where = "document.querySelector('#run-panel').textContent"
    until(page, f"{where}.includes('Next: cross')")
    page.get_by_role("button", name="Step by chance").click()
    until(page, f"{where}.includes('10 of 10 (') && {where}.includes('Next: fast')")
    page.get_by_label("battery left, measured").fill("40%")
    page.keyboard.press("Enter")
    until(page, f"{where}.includes('4 of 10 (')")
    page.get_by_role("button", name="Replan").click()
    # Fast may fail and leave nothing to go on with.
    until(page, f"{where}.includes('new plan for the rest') && {where}.includes('Next: slow')")
    assert "4 of 10 (" in page.inner_text("#run-panel")


BUILDING = """
name: clinic
levels:
  L1:
    vertices: [[0, 0, 0, desk], [100, 0, 0, hall], [200, 0, 0, store]]
    lanes: [[0, 1, {bidirectional: [4, true]}], [1, 2, {bidirectional: [4, true]}]]
    measurements: [[0, 1, {distance: [3, 10.0]}]]
"""


def test_a_mission_begins_on_the_map_of_a_building(page: Page, tmp_path: Path) -> None:
    (tmp_path / "clinic.building.yaml").write_text(BUILDING)
    page.get_by_role("button", name="Open…").click()
    page.get_by_label("A building of Open-RMF").set_input_files(tmp_path / "clinic.building.yaml")
    page.get_by_label("Stop 1").select_option("store")
    page.get_by_role("button", name="Begin", exact=True).click()
    until(page, "document.querySelector('#title').textContent === 'mission in clinic'")
    planned(page)
    assert page.locator("#site-panel svg").count() == 1
    assert "desk to store" in text_of(page)
    # The map shows on which way the robot is.
    page.get_by_role("tab", name="Run").click()
    page.get_by_role("button", name="Begin a run").click()
    until(
        page,
        """() => { document.querySelector("#run-panel [data-key='Step by chance']")?.click();
        return document.querySelectorAll('#site-panel .way.here').length === 1; }""",
    )


HOSTILE, END = '<img src=x onerror="document.title=1">', "</script><b>"


def test_names_that_look_like_markup_stay_text(page: Page) -> None:
    grid = {"map": ["#####", "S.~.G", "#...#", "#####"], "hazards": {"~": {HOSTILE: 2}}}
    go = {"runs": HOSTILE, "to": END}
    problem = {
        "format": "hcssp-problem", "version": 1, "name": HOSTILE, "costs": ["time", HOSTILE],
        "activities": {HOSTILE: {"grid": grid}},
        "procedure": {"start": HOSTILE, "end": END, "events": {HOSTILE: {HOSTILE: go}}},
        "constraints": {HOSTILE: {"at_most": 1}},
    }  # fmt: skip
    open_text(page, json.dumps(problem))
    for tab in ("Draw", "Procedure", "Figures", "Summary", "Ask", "Compare", "Run", "Map"):
        page.get_by_role("tab", name=tab).first.click()
    page.get_by_role("button", name="Simulate").or_(page.get_by_role("tab", name="Ask")).last.click()
    assert page.locator("img, main b, main script").count() == 0
    assert page.title() == f"{HOSTILE}: live planner"
    page.get_by_role("button", name="Save…").click()
    page.get_by_role("button", name="Close").click()


def test_a_link_holds_a_small_problem(page: Page, server: Server, browser: Browser) -> None:
    open_text(page, TWO_ROOMS)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Link").click()
    until(page, "document.querySelector('#status').textContent.includes('clipboard')")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(f"{server.address}#p=")
    with quiet_page(browser) as other:
        other.goto(link)
        planned(other, TWO_ROOMS)
        assert own(other) == own(page)


def test_the_page_is_usable_without_a_pointer_or_sight(page: Page) -> None:
    """Everything that can be used has a name, and what opens is announced."""
    open_text(page, TWO_ROOMS)
    nameless = """() => [...document.querySelectorAll('button, input, select, textarea, [role=application]')]
      .filter((each) => each.offsetParent !== null || each.closest('svg'))
      .filter((each) => !each.textContent.trim() && !each.labels?.length && !each.title)
      .filter((each) => !each.getAttribute('aria-label')).map((each) => each.outerHTML)"""
    for tab in ("Draw", "Procedure", "Figures", "Text", "Ask", "Compare", "Run"):
        page.get_by_role("tab", name=tab).first.click()
        assert page.evaluate(nameless) == []
    assert page.locator("[role=tab][aria-selected=true]").count() == 3
    page.get_by_role("tab", name="Text").focus()
    page.keyboard.press("Home")
    assert page.evaluate("document.activeElement.textContent") == "Draw"


@pytest.mark.parametrize("seed", range(examples(8, 8)))
def test_sixty_random_edits_leave_no_error(page: Page, seed: int) -> None:
    """Whatever is drawn, typed, undone and dragged: no error in the console nor in the server's log."""
    draw = random.Random(seed)
    open_text(page, TWO_ROOMS)

    def paint() -> None:
        page.get_by_role("tab", name="Draw").click()
        tools = ["Wall", "Floor", "Hazard", "Start", "Goal", "Door or place"]
        for names in (tools, ["Brush", "Rectangle", "Fill"]):
            # There are none while the text cannot be read.
            found = page.get_by_role("radio", name=draw.choice(names), exact=True)
            if found.count():
                found.evaluate("(radio) => radio.click()")
        first, last = ((draw.randrange(9), draw.randrange(8)) for _ in range(2))
        drag(page, first, last)

    def press(name: str) -> None:
        found = page.get_by_role("button", name=name, exact=True)
        if found.count() and found.first.is_visible():
            found.first.evaluate("(button) => button.click()")

    def slide() -> None:
        slider = page.locator("#bounds input[type=range]").first
        if slider.count():
            slider.focus()
            for _ in range(draw.randrange(1, 6)):
                page.keyboard.press(draw.choice(["ArrowLeft", "ArrowRight", "PageUp", "PageDown"]))

    def spoil() -> None:
        page.get_by_role("tab", name="Text").click()
        text = text_of(page)
        at = draw.randrange(len(text))
        page.fill("#text", text[:at] + draw.choice(["", ":", "x", "\n", "0", "{"]) + text[at + 1 :])

    def form() -> None:
        page.get_by_role("tab", name="Procedure").first.click()
        press(draw.choice(["Add an event", "Connect", "Add chance", "Remove"]))

    def figure() -> None:
        page.get_by_role("tab", name="Figures").click()
        found = page.locator("#figures-panel .field input:visible")
        if found.count():
            found.nth(draw.randrange(found.count())).fill(
                draw.choice(["0.1", "3", "1/3", "-1", "x y"]), force=True
            )
            page.keyboard.press("Enter")

    kinds = [
        paint,
        paint,
        paint,
        slide,
        spoil,
        form,
        figure,
        lambda: press("Undo"),
        lambda: press("Redo"),
        lambda: press("Add a room"),
    ]
    for _ in range(60):
        draw.choice(kinds)()
        # Most come while the search of the one before still goes on.
        if draw.random() < 0.2:
            until(page, "!document.body.classList.contains('busy')")
    # And it still plans.
    open_text(page, TWO_ROOMS)


def test_an_answer_that_a_finished_search_overtook_is_old(page: Page, server: Server) -> None:
    def late(route: Route) -> None:
        answer = route.fetch()
        session = answer.json()["session"]
        for _ in attempts():
            state = page.request.get(f"{server.address}api/sessions/{session}").json()
            if state["search"]["status"] != "searching":
                break
        route.fulfill(response=answer)

    page.route("**/edit", late)
    open_text(page, TWO_ROOMS)
    assert "searching" not in page.inner_text("#headline")
