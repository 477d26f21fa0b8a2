"""What notebooks show: pages in frames and small cards, harmless whatever the names, true to the answers."""

from __future__ import annotations

import json
import re
from collections import Counter
from html.parser import HTMLParser
from math import inf, nan
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest

import hcssp
from chromium import Browser, find_chromium
from hcssp.contract.plan import Plan
from hcssp.contract.progress import Gap, MaxIterations
from hcssp.contract.proof import Ending, Reason
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.grid import GridWorld
from hcssp.cssp.model import CSSP
from hcssp.errors import InvalidProblem, NoSolution
from hcssp.evaluation.robustness import robustness
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.reports import card as cards
from hcssp.scenarios import evacuation, small_building
from hcssp.solving.solve import solve
from hcssp.solving.trade_off import CurvePoint, TradeOff, trade_off
from solved_building import solved_building

HOSTILE = '<script>alert("x")</script>&amp;\' onload="y" $z$ \ud800'


class Reader(HTMLParser):
    """Reads what a notebook would show; complains where it is not well-formed."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str | None]] = []
        self.rows: list[list[str]] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags[tag] += 1
        self.attributes += attrs
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data

    @property
    def text(self) -> str:
        return " ".join(self.texts)

    @property
    def page(self) -> str:
        """The document in the frame."""
        (document,) = [value for name, value in self.attributes if name == "srcdoc"]
        assert document is not None
        return document

    @property
    def data(self) -> Any:
        """What the page in the frame draws."""
        found = re.search(r'<script type="application/json" id="data">(.*?)</script>', self.page, re.DOTALL)
        assert found is not None
        return json.loads(found[1])


def read(html: str) -> Reader:
    """Markup that brings all it needs, does nothing outside its frame, and can be written to a file."""
    html.encode("utf-8")
    found = Reader(html)
    assert set(found.tags) <= {"div", "iframe", "p", "strong", "table", "td", "th", "tr"}
    assert {name for name, _ in found.attributes} <= {"class", "sandbox", "srcdoc", "style", "title"}
    assert 'class="hcssp tex2jax_ignore mathjax_ignore"' in html
    assert len(found.rows) <= 16
    return found


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
    """One activity after another."""
    builder = ProcedureBuilder()
    events = [builder.add_event(f"event-{number}") for number in range(length + 1)]
    runs = [builder.add_activity(f"run-{at}", activity) for at in range(length)]
    for at, run in enumerate(runs):
        builder.add_choice(events[at], "go", to=[Outcome(1.0, events[at + 1], runs=run)])
    builder.add_constraint("damage", at_most=inf, counts=dict.fromkeys(runs, "damage"))
    return builder.build(start=events[0], end=events[-1])


def hostile_answers() -> list[Any]:
    builder = ProcedureBuilder()
    start, end = builder.add_event(HOSTILE), builder.add_event("end" + HOSTILE)
    run = builder.add_activity(HOSTILE, table_problem(HOSTILE))
    room = GridWorld.from_map("S~G", hazards={"~": {HOSTILE: 1.0}}).to_cssp()
    cross = builder.add_activity("room" + HOSTILE, room)
    builder.add_choice(start, HOSTILE, to=[Outcome(0.5, end, runs=run), Outcome(0.5, end, runs=cross)])
    builder.add_constraint(HOSTILE, at_most=3.0, counts={run: "damage", cross: HOSTILE})
    whole = builder.build(start=start, end=end).named(HOSTILE, HOSTILE)
    plan = solve(whole, stop=Gap(0.5))
    return [
        whole,
        plan,
        Plan(whole, ending=Ending(Reason.CRITERION, HOSTILE)),
        trade_off(whole, HOSTILE, [1.0, 3.0]),
        hcssp.sweep(whole, bounds={HOSTILE: [1.0, 3.0]}),
        plan.evaluate(),
        plan.simulate(50),
        robustness(plan.problem, plan.policy),
        plan.why(HOSTILE),
    ]


@pytest.fixture(scope="module")
def solved() -> Plan:
    return solved_building()


def test_a_plan_shows_its_page_and_a_summary_without_frames(solved: Plan) -> None:
    found = read(solved._repr_html_())
    assert found.data["plans"][0]["own"] == solved.upper_bound
    assert found.texts == [repr(solved)]


def test_hostile_names_stay_texts() -> None:
    for answer in hostile_answers():
        found = read(answer._repr_html_())
        assert "<script>alert(" in (found.text + found.page if found.tags["iframe"] else found.text)
        if found.tags["iframe"]:
            # Within the page they are texts again.
            assert "<script>alert(" not in found.page.replace("&lt;script", "").replace("\\u003cscript", "")


def test_a_problem_shows_its_size_and_what_is_wanted() -> None:
    found = read(small_building(2.0)._repr_html_())
    assert "small-building: 6 events, 6 choices, 5 activities with 63 states" in found.texts
    assert found.rows[1:] == [["time", "minimised"], ["damage", "at most 2"]]
    single = read(table_problem()._repr_html_())
    assert "CSSP: 3 states, 4 state-action pairs" in single.texts


def test_plans_without_a_policy_say_why() -> None:
    infeasible = read(solve(table_problem(bound=-1.0))._repr_html_())
    assert "infeasible" in infeasible.text
    assert "least achievable damage is 0" in infeasible.text
    cut_short = solve(small_building(1.0), stop=MaxIterations(1))
    assert not cut_short.found
    assert "one may still exist" in read(cut_short._repr_html_()).text


def test_a_plan_too_large_for_a_frame_is_a_card(solved: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cards, "_MOST_STATES", 1)
    found = read(solved._repr_html_())
    assert found.rows[1:] == [["time", "minimised", "27.7191"], ["damage", "at most 2", "1.8969"]]
    assert "plan.report(path) writes the whole page." in found.text


def test_the_evacuation_is_small_enough_to_keep() -> None:
    plan = solve(evacuation().with_bounds(damage=2.0), stop=Gap(1e-2))
    assert len(plan._repr_html_()) < 400_000


def test_a_curve_shows_the_plan_at_its_own_bound() -> None:
    curve = trade_off(small_building(2.0), "damage", [0.5, 1.0, 2.0])
    data = read(curve._repr_html_()).data
    assert [each["bounds"]["damage"] for each in data["plans"]] == [0.5, 1.0, 2.0]
    assert data["reported"] == 2
    assert [each["own"] for each in data["plans"]] == [each.upper_bound for each in curve.points]


def test_curves_without_a_plan_are_cards() -> None:
    problem = small_building()
    none = read(trade_off(problem, "damage", [-2.0, -1.0])._repr_html_())
    assert none.rows == [["damage at most", "plan"], ["-2", "infeasible"], ["-1", "infeasible"]]
    unknown = TradeOff.interrupted(problem, "damage", [CurvePoint(1.0, Plan(problem), nan, None)], 0.0)
    assert "0 of 1 points with a plan" in read(unknown._repr_html_()).text


def test_the_cards_agree_with_the_answers(solved: Plan) -> None:
    exact = read(solved.evaluate()._repr_html_())
    assert exact.rows[1:3] == [["time", "27.7191", "-"], ["damage", "1.8969", "2"]]
    runs = solved.simulate(500, seed=3)
    (_, time, damage) = read(runs._repr_html_()).rows
    assert time[:2] == ["time", f"{runs.means[0]:.4f}"]
    assert damage[-2:] == [
        "2",
        f"{100 * runs.probability_of_exceeding('damage').value:.2f}".rstrip("0") + "%",
    ]
    worst = robustness(solved.problem, solved.policy)
    assert [row[2] for row in read(worst._repr_html_()).rows[1:]] == [f"{each:.4f}" for each in worst.worst]
    reasons = solved.why("start")
    rows = read(reasons._repr_html_()).rows
    assert [row[0] for row in rows[1:]] == ["go-to-door", "go-to-E (*)"]
    assert float(rows[2][-1]) == pytest.approx(reasons.alternatives[0].best.lower_bound, abs=1e-4)


def test_a_card_has_at_most_fifteen_rows() -> None:
    plan = solve(chain_of(40, table_problem()), stop=Gap(0.1))
    assert len(read(plan.evaluate()._repr_html_()).rows) == 16
    long = cards.card("long", ["number"], [[number] for number in range(100)])
    assert "85 more rows are not shown." in read(long).texts


def test_every_answer_is_one_line_in_a_terminal(solved: Plan) -> None:
    problem = small_building(2.0)
    truncated = solved.simulate(5, max_steps=2)
    for answer, told in [
        (solved.simulate(1000), "1,000 runs: time 27.753 ± 0.79, damage 2.025 ± 0.22 of at most 2>"),
        (truncated, "5 runs: time inf"),
        (solved.evaluate(), "ProcedureEvaluation: time 27.7191, damage 1.89686 of at most 2>"),
        (robustness(solved.problem, solved.policy), "within 10%: time 27.7191, at worst 30.348"),
        (solved.why("start"), "<Reasons at start: go-to-door rather than go-to-E>"),
        (solved.why("hallway", best=False), "<Reasons at hallway: only leave-through-E is possible>"),
        (solved.replan("hallway", {"damage": 1.5}), "<Plan for rest of small-building: optimal, cost in ["),
        (solved.resolve(damage=-1.0), "<Plan for small-building: infeasible, by exact>"),
        (solved.start(), "<Run of small-building: at start: choose go-to-door; "),
        (trade_off(problem, "damage", [1.0, 2.0]), "damage from 1 to 2, 2 of 2 points with a plan"),
        (hcssp.sweep(problem, bounds={"damage": [1.0, 2.0]}), "<Sweep of small-building over damage: 2 of 2"),
        (hcssp.best_plans(problem, 2), "<BestPlans: 2, of costs 27.7191, 27.7205; any other costs 27.7204"),
        (hcssp.extend.lagrangian(problem), "policies over the price of damage, dual 25.3539 at "),
        (solved.certificate, "Certificate(bounds=(2.0,), upper_bound=27.7191"),
    ]:
        assert told in repr(answer)
        assert len(repr(answer)) < 200


def test_every_plot_draws_for_a_notebook_on_axes_and_into_a_file(solved: Plan, tmp_path: Path) -> None:
    problem = small_building(2.0)
    curve = trade_off(problem, "damage", [1.0, 2.0])
    swept = hcssp.sweep(problem, bounds={"damage": [1.0, 2.0]})
    for number, answer in enumerate([solved, problem, table_problem(), curve, swept, solved.simulate(100)]):
        plt.close("all")
        first = answer.plot()
        assert plt.get_fignums() == [1]
        assert first in plt.figure(1).axes
        plt.close("all")
        _, ax = plt.subplots()
        assert answer.plot(ax=ax) is ax
        assert ax.has_data() or ax.texts
        plt.close("all")
        path = tmp_path / f"{number}.png"
        answer.plot(path)
        assert path.stat().st_size > 1000
        # Pictures that are written to files do not gather in pyplot.
        assert plt.get_fignums() == []
    plt.close("all")


def test_what_is_drawn_can_be_chosen(solved: Plan) -> None:
    problem = small_building(2.0)
    texts = {text.get_text() for text in problem.plot(of="procedure").texts}
    assert {"start", "exit", "go-to-door\n14 states"} <= texts
    assert solved.plot(of="history").get_xlabel() == "seconds"
    assert {text.get_text() for text in problem.plot(of="rooms").texts} == {"W", "E", "SW"}
    plt.close("all")
    with pytest.raises(InvalidProblem, match="has no rooms"):
        table_problem().plot(of="rooms")
    with pytest.raises(NoSolution):
        Plan(problem).plot()
    assert plt.get_fignums() == []


@pytest.mark.skipif(find_chromium() is None, reason="there is no browser here")
def test_a_browser_draws_the_frame_in_the_colours_of_the_notebook(tmp_path: Path, solved: Plan) -> None:
    path = find_chromium()
    assert path is not None
    colours = []
    for scheme in ("light", "dark"):
        page = tmp_path / f"{scheme}.html"
        body = solved._repr_html_() + solved.evaluate()._repr_html_()
        head = f'<!doctype html><meta charset="utf-8"><body style="color-scheme: {scheme}">'
        page.write_text(f"{head}{body}</body>", encoding="utf-8")
        with Browser(path) as browser:
            browser.open(page, width=700)
            assert browser.run("document.documentElement.scrollWidth") <= 700
            browser.enter_frame()
            browser.wait_for("document.querySelectorAll('#sheet *').length > 20")
            assert browser.run("document.querySelectorAll('#graph *').length") > 20
            colours.append(browser.run("getComputedStyle(document.body).backgroundColor"))
            assert browser.complaints == []
            assert browser.requests == []
    assert colours[0] != colours[1]
