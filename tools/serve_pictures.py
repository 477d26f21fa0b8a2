"""Draws the pictures of the live planner in ``docs/how-to/serve.md`` again, in a real browser.

PYTHONPATH=src .venv/bin/python tools/serve_pictures.py
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

ASSETS = Path(__file__).resolve().parent.parent / "docs" / "assets"
VIEW = {"width": 1280, "height": 800}
COLOURS, MOST_BYTES = 256, 120_000
PATIENCE = 60.0

PLANNED = """!document.body.matches('.busy')
    && document.body.dataset.planned === document.body.dataset.revision
    && !document.querySelector('#headline .gap.on')"""


def until(page: Page, script: str) -> None:
    """Wait for an expression; the page's policy forbids Playwright's own way of waiting."""
    deadline = time.monotonic() + PATIENCE
    while not page.evaluate(f"() => Boolean({script})"):
        if time.monotonic() > deadline:
            raise SystemExit(f"never {script}")
        time.sleep(0.1)


def after(page: Page, act: Callable[[], object]) -> None:
    """Change the problem, and wait for its plan."""
    before = page.evaluate("document.body.dataset.revision")
    act()
    until(page, f"document.body.dataset.revision !== '{before}' && {PLANNED}")


def press(page: Page, name: str) -> None:
    """Press a button."""
    page.get_by_role("button", name=name, exact=True).last.click()


def begin(page: Page, button: str, title: str) -> None:
    """Open another problem."""
    press(page, button)
    until(page, f"document.querySelector('#title').textContent === '{title}' && {PLANNED}")


def drag(page: Page, *cells: tuple[int, int]) -> None:
    """Move the pointer over cells of the map, pressed."""
    script = """([x, y]) => { const m = document.querySelector('#sheet').getScreenCTM();
        return [m.a * (x + 0.5) + m.e, m.d * (y + 0.5) + m.f]; }"""
    for number, cell in enumerate(cells):
        page.mouse.move(*page.evaluate(script, list(cell)), steps=5)
        if number == 0:
            page.mouse.down()
    page.mouse.up()


def keep(page: Page, name: str) -> None:
    """Write what is seen, with few colours."""
    time.sleep(0.7)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    file = ASSETS / f"serve-{name}.png"
    picture.quantize(COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(file, optimize=True)
    if file.stat().st_size > MOST_BYTES:
        raise SystemExit(f"{file} has {file.stat().st_size} bytes; show less, or use fewer colours")
    print(f"{file}: {file.stat().st_size:,} bytes")


def draw_a_building(page: Page) -> None:
    """Two rooms, a wall and a fire."""
    begin(page, "Empty sheet", "my building")
    after(page, lambda: press(page, "Add a room"))
    page.get_by_label("Wall", exact=True).check()
    after(page, lambda: drag(page, (4, 1), (4, 3)))
    page.get_by_label("Hazard", exact=True).check()
    after(page, lambda: press(page, "Add a hazard"))
    page.get_by_label("Rectangle", exact=True).check()
    after(page, lambda: drag(page, (6, 2), (8, 4)))
    keep(page, "draw")
    page.get_by_label("Bound on damage as a number").fill("0.5")
    after(page, lambda: page.keyboard.press("Enter"))
    page.get_by_role("tab", name="Compare").click()
    press(page, "Compare")
    page.wait_for_selector("#compare-panel table")
    page.locator("#compare-panel").scroll_into_view_if_needed()
    page.evaluate("document.querySelector('#plan').scrollTop = 1e6")
    keep(page, "compare")


def ask_about_the_evacuation(page: Page) -> None:
    """The plan of a larger problem, the reasons of a decision, and another bound."""
    page.get_by_role("tab", name="Summary").click()
    press(page, "Open…")
    begin(page, "evacuation", "evacuation")
    keep(page, "plan")
    page.get_by_role("tab", name="Procedure").first.click()
    page.locator("#graph .node.event", has_text="start").first.click()
    page.wait_for_selector("#ask-panel .answer table")
    page.evaluate("document.querySelector('#plan').scrollTop = 1e6")
    keep(page, "ask")


def follow_a_drone(page: Page) -> None:
    """A run whose battery is lower than the model expects."""
    press(page, "Open…")
    begin(page, "delivery", "delivery")
    page.get_by_role("tab", name="Run").click()
    press(page, "Begin a run")
    for step in range(1, 5):
        page.wait_for_selector("[data-key='observed 0']")
        page.locator("[data-key='observed 0']").click()
        until(page, f"document.querySelector('#run-panel .where')?.textContent.startsWith('Step {step}:')")
    page.get_by_label("battery left, measured").fill("75%")
    page.keyboard.press("Enter")
    press(page, "Replan")
    until(page, "/plan is kept|new plan for the rest/.test(document.querySelector('#run-panel').textContent)")
    page.evaluate("document.querySelector('#run-panel').scrollIntoView()")
    keep(page, "run")


def main() -> None:
    """Start a server and a browser, and go through a session."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        command = [sys.executable, "-m", "hcssp", "serve", "--no-browser", "--port", "0", "--folder", folder]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            address = next(iter(server.stdout or ())).strip()
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
            page = browser.new_page(viewport=VIEW)  # type: ignore[arg-type]
            page.goto(address)
            until(page, f"document.querySelector('dialog[open] ul') && {PLANNED}")
            draw_a_building(page)
            ask_about_the_evacuation(page)
            follow_a_drone(page)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
