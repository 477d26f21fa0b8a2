"""A sweep in words, tables, pictures and on a page."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from chromium import Browser, find_chromium
from hcssp.contract.proof import Status
from hcssp.errors import MissingDependency
from hcssp.reports import sweep_tables
from hcssp.reports.charts import draw_sweep
from hcssp.reports.page import sweep_html
from hcssp.reports.plan_text import Style
from hcssp.reports.sweep_tables import sweep_csv, sweep_document, sweep_in_words, sweep_parquet
from hcssp.solving.sweep import Sweep, SweepAxis, SweepPoint

AXES = (
    SweepAxis("locked", False, (0.1, 0.2, 0.3)),
    SweepAxis("<b>", False, (7,)),
    SweepAxis("damage", True, (1.0, 2.0, inf)),
)


def point(locked: float, damage: float) -> SweepPoint:
    settings, bounds = {"locked": locked, "<b>": 7.0}, {"damage": damage}
    if damage == 1.0:
        return SweepPoint(settings, bounds, Status.INFEASIBLE, inf, inf, message="too little damage")
    cost = 10.0 + 100.0 * locked
    costs = {"time": cost, "damage": min(damage, 5.0) - 0.00001}
    return SweepPoint(
        settings, bounds, Status.FEASIBLE, cost - 0.5, cost, costs, {"damage": 3.25}, cost - 0.7, "gap", "", 3
    )


@pytest.fixture(scope="module")
def found() -> Sweep:
    points = tuple(point(locked, damage) for locked in (0.1, 0.2, 0.3) for damage in (1.0, 2.0, inf))
    called = {"time": "time (min)", "damage": "damage"}
    return Sweep("house", "time", ("damage",), called, AXES, points, 1.5)


def test_words_tell_every_point_and_leave_out_what_does_not_vary(found: Sweep) -> None:
    words = sweep_in_words(found, Style())
    assert words.startswith("house: least expected time (min), <b> = 7\n")
    lines = [line.split() for line in words.splitlines()[2:12]]
    assert lines[0][:4] == ["locked", "bound", "on", "damage"]
    assert lines[1] == ["0.1", "1", "-", "no", "plan", "-", "-"]
    assert lines[2] == ["0.1", "2", "19.5000", "20.0000", "2.5%", "1.99999"]
    assert "9 points" in words


def test_csv_and_parquet_hold_the_same(found: Sweep) -> None:
    rows = list(csv.DictReader(io.StringIO(sweep_csv(found))))
    assert [row["set_locked"] for row in rows] == ["0.1"] * 3 + ["0.2"] * 3 + ["0.3"] * 3
    assert rows[0]["upper_bound"] == ""
    assert float(rows[1]["upper_bound"]) == 20.0
    assert float(rows[1]["price_damage"]) == 3.25
    parquet = pytest.importorskip("pyarrow.parquet", reason="pip install 'hcssp[parquet]'")
    table = parquet.read_table(io.BytesIO(sweep_parquet(found)))
    assert table.column_names == list(rows[0])
    assert table.column("upper_bound").to_pylist() == found.columns()["upper_bound"]
    assert table.column("price_damage").to_pylist()[:2] == [None, 3.25]


def test_without_pyarrow_it_says_what_to_install(found: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingDependency, match=r"pip install 'hcssp\[parquet\]', or write CSV"):
        sweep_tables.require_parquet()


def test_json_knows_no_infinity(found: Sweep) -> None:
    document = json.loads(json.dumps(sweep_document(found), allow_nan=False))
    assert document["axes"][2]["values"] == [1.0, 2.0, None]
    assert document["points"][0]["upper_bound"] is None
    assert document["points"][1]["expected"]["time"] == 20.0


def test_two_axes_are_a_map_and_one_is_a_line(found: Sweep) -> None:
    pytest.importorskip("matplotlib", reason="pip install 'hcssp[plot]'")
    texts = {text.get_text() for text in draw_sweep(found).axes[0].texts}
    assert {"no plan", "20", "40"} <= texts
    narrow = replace(
        found,
        axes=(AXES[0], AXES[1], SweepAxis("damage", True, (2.0,))),
        points=tuple(each for each in found.points if each.bounds["damage"] == 2.0),
    )
    axes = draw_sweep(narrow).axes[0]
    assert axes.get_xlabel() == "locked"
    assert axes.lines[0].get_ydata().tolist() == [20.0, 30.0, 40.0]
    nothing = replace(narrow, axes=(AXES[1],), points=narrow.points[:1])
    assert draw_sweep(nothing).axes[0].texts[0].get_text() == "nothing varies"


def test_every_line_is_drawn_and_the_legend_hides_none(found: Sweep) -> None:
    pytest.importorskip("matplotlib", reason="pip install 'hcssp[plot]'")
    seeds = SweepAxis("seed", False, (1.0, 2.0, 3.0))
    axes = (
        SweepAxis("locked", False, (0.1, 0.2, 0.3, 0.4)),
        seeds,
        SweepAxis("damage", True, (1.0, 2.0, 5.0)),
    )
    solved = next(point for point in found.points if point.found)
    points = tuple(
        replace(solved, settings={"locked": locked, "seed": seed}, bounds={"damage": bound})
        for locked in axes[0].numbers
        for seed in seeds.numbers
        for bound in axes[2].numbers
    )
    figure = draw_sweep(replace(found, axes=axes, points=points))
    assert [len(chart.containers) for chart in figure.axes] == [3, 3, 3]
    assert [chart.get_title() for chart in figure.axes] == [f"bound on damage {bound}" for bound in (1, 2, 5)]
    figure.canvas.draw()
    legend = figure.legends[0].get_window_extent()
    assert all(chart.get_window_extent().x1 <= legend.x0 for chart in figure.axes)


def test_the_page_is_whole_and_escapes_names(found: Sweep) -> None:
    page = sweep_html(replace(found, problem="<script>alert(1)</script>"))
    assert "<script>alert(1)" not in page
    assert "{{" not in page.partition('id="data"')[0]
    assert not re.search(r"""(src|href)=["'](?!#)""", page)


@pytest.fixture(scope="module")
def page(found: Sweep, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    path = find_chromium()
    if path is None:
        pytest.skip("there is no Chromium; apt-get install chromium to run these")
    file: Path = tmp_path_factory.mktemp("pages") / "sweep.html"
    found.report(file)
    with Browser(path) as browser:
        browser.prefer()
        browser.open(file)
        yield browser
        assert browser.complaints == []
        assert browser.requests == []


def test_sliders_choose_the_combination(page: Browser) -> None:
    def move(axis: int, place: int) -> str:
        page.run(
            f"(() => {{ const slider = document.getElementById('axis-{axis}'); slider.value = {place}; "
            "slider.dispatchEvent(new Event('input', {bubbles: true})); })()"
        )
        words = page.run("document.getElementById('words').textContent")
        assert isinstance(words, str)
        return words

    assert page.run("document.querySelectorAll('#sliders input').length") == 2
    assert "no plan" in move(2, 0)
    assert "Locked 0.3" in move(0, 2)
    assert "expected time (min) 40" in move(2, 1)
    assert page.run("document.querySelectorAll('#heat rect').length") == 10
    assert page.run("document.querySelectorAll('#table tbody tr').length") == 9
    page.run("document.querySelectorAll('#table tbody button')[4].click()")
    assert page.run("document.getElementById('value-0').textContent") == "0.2"
