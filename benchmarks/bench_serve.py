"""The live planner on the evacuation: how soon an edit is answered, has a certified plan, and is proven.

Every edit goes through the API of ``hcssp serve`` over a socket. It is answered when its text was edited,
read and drawn, and has a certified plan once a plan for it has come with a proven bound, and its page was
fetched. The page is measured in a real browser: its longest frame while the bound is changed and planned for.

    python benchmarks/bench_serve.py
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any

from measuring import announce, number, parser, run_benchmark, table, verdict

FIRST_AIM, PROVEN_AIM, FRAME_AIM, GAP = 0.5, 5.0, 0.1, 1e-4

BOUNDS = ("5", "3", "1", "0.5", "10", "2")
"""The bounds that are typed in the browser, one after the other."""

RECORD_FRAMES = """() => { window.frames_ = []; let last = performance.now();
  const tick = (now) => { frames_.push((now - last) / 1000); last = now; requestAnimationFrame(tick); };
  requestAnimationFrame(tick); }"""

GRID = ("models", "NE", "grid")
EDITS: dict[str, list[dict[str, Any]]] = {
    **{
        f"damage at most {bound:g}": [
            {"op": "set", "path": ["constraints", "damage", "at_most"], "value": bound}
        ]
        for bound in (5, 3, 1, 0.5, 10, 2)
    },
    "another wall": [{"op": "set", "path": [*GRID, "walls"], "value": [[20, 20, 3, 1]]}],
    "a hazard moves": [{"op": "set", "path": [*GRID, "hazards", 0, "at", 0], "value": [9, 3, 8, 2]}],
    "a hazard is worse": [{"op": "set", "path": [*GRID, "hazards", 0, "costs", "damage"], "value": 20}],
    "the wall goes": [{"op": "delete", "path": [*GRID, "walls"]}],
}


def measure_edit(client: Any, session: str, operations: list[dict[str, Any]]) -> dict[str, float]:
    """Seconds until an edit is answered, until its first certified plan, and until the gap is reached."""
    times: dict[str, float] = {}
    listening = client.events(session)
    next(listening)
    revision = client.get(session)["revision"] + 1
    began = time.perf_counter()

    def edit() -> None:
        client.post(f"{session}/edit", {"operations": operations})
        times["answered"] = time.perf_counter() - began

    sending = threading.Thread(target=edit)
    sending.start()
    for event, data in listening:
        known = data["search"] if event == "state" else data
        if event not in ("plan", "search", "state") or known["revision"] != revision:
            continue
        now = time.perf_counter() - began
        if event == "plan" and data["limit"] is not None:
            client.get(f"{session}/plans/{data['plan']}")
            times.setdefault("planned", time.perf_counter() - began)
        if known["gap"] is not None and known["gap"] <= GAP:
            times.setdefault("proven", now)
        if event == "search" and data["status"] != "searching":
            break
    sending.join()
    return times


def measure_frames(client: Any, session: str) -> list[float]:
    """The longest frame of the page in seconds, after each change of the bound in a browser."""
    from playwright_browser import chromium_browser, quiet_page

    longest: list[float] = []
    with (
        chromium_browser() as browser,
        quiet_page(browser, viewport={"width": 1400, "height": 900}) as page,
    ):
        page.goto(f"http://{client.address}/#s={session.rpartition('/')[2]}")
        field = page.get_by_label("Bound on damage as a number")
        planned = "Number(document.body.dataset.planned ?? 0)"
        while not page.evaluate(planned):
            page.wait_for_timeout(100.0)
        page.evaluate(RECORD_FRAMES)
        for bound in BOUNDS:
            revision = page.evaluate(planned)
            page.evaluate("frames_.length = 0")
            field.fill(bound)
            field.press("Enter")
            while page.evaluate(planned) <= revision:
                page.wait_for_timeout(100.0)
            longest.append(page.evaluate("Math.max(...frames_)"))
    return longest


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure all edits, one after the other in one session, and print the table."""
    from serve_client import running

    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as client:
        session, _ = client.begin(builtin="evacuation")
        client.planned(session)
        for _ in range(arguments.rounds):
            for name, operations in EDITS.items():
                announce(name)
                for key, seconds in measure_edit(client, session, operations).items():
                    figures.setdefault(name, {}).setdefault(key, []).append(seconds)
        announce("the page in a browser")
        figures["frames"] = measure_frames(client, session)
    keys = ("answered", "planned", "proven")
    typical = {name: {key: median(figures[name][key]) for key in keys} for name in EDITS}
    rows = [(name, *(number(each[key]) for key in keys)) for name, each in typical.items()]
    worst = [max(each[key] for each in typical.values()) for key in keys]
    aims = (
        number(worst[1]) + f" ({verdict(worst[1], FIRST_AIM)})",
        number(worst[2]) + f" ({verdict(worst[2], PROVEN_AIM)})",
    )
    rows.append(("the slowest", number(worst[0]), *aims))
    header = ("edit", "answered, s", "first certified plan, s", f"gap {GAP:g}, s")
    print(table("The evacuation in the live planner, after an edit", header, rows))
    longest = max(figures["frames"])
    print(f"\nThe longest frame of the page: {number(longest)} s ({verdict(longest, FRAME_AIM)})")
    return figures


def main() -> None:
    """Parse the options and measure."""
    options = parser("The live planner on the evacuation.")
    options.add_argument("--rounds", type=int, default=3, help="how often every edit is made; 3 by default")
    run_benchmark("bench_serve", options.parse_args(), measure)


if __name__ == "__main__":
    main()
