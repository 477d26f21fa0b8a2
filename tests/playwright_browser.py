"""Chromium driven by Playwright, for tests of the live planner: the system's browser, none is fetched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from chromium import FLAGS, find_chromium
from running_processes import HANG_GUARD

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request


def skip_without_browser() -> None:
    """Skip the tests of a module unless Playwright and a browser are there."""
    why = "there is no Playwright; pip install playwright to run these"
    pytest.importorskip("playwright.sync_api", reason=why)
    if find_chromium() is None:
        pytest.skip("there is no Chromium; apt-get install chromium to run these", allow_module_level=True)


@contextmanager
def chromium_browser() -> Iterator[Browser]:
    """The system's Chromium."""
    from playwright.sync_api import sync_playwright

    # Playwright makes its own connection.
    flags = [flag for flag in FLAGS if flag != "--remote-debugging-pipe"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=flags)
        try:
            yield browser
        finally:
            browser.close()


def _refused(request: Request) -> list[str]:
    """What the server said to a request that it refused; the console names the status alone."""
    answer = request.response()
    if answer is None or answer.status < 400:
        return []
    return [f"{request.method} {request.url} {request.post_data}: {answer.text()}"]


@contextmanager
def quiet_page(browser: Browser, **options: object) -> Iterator[Page]:
    """A page of its own profile; it must not complain in the console, nor throw what nobody catches."""
    complaints: list[str] = []
    context = browser.new_context(**options)  # type: ignore[arg-type]
    context.set_default_timeout(1000.0 * HANG_GUARD)
    page = context.new_page()
    page.on(
        "console", lambda each: complaints.append(each.text) if each.type in ("error", "warning") else None
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfinished", lambda each: complaints.extend(_refused(each)))
    try:
        yield page
        assert complaints == [], complaints
    finally:
        context.close()
