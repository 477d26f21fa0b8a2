"""What the live planner's script makes of drawing and forms, against the loader of problem files."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest

from hcssp.files.fingerprint import fingerprint
from hcssp.files.problem_file.loading import load_text
from hcssp.procedure import HCSSP
from playwright_browser import chromium_browser, quiet_page, skip_without_browser
from volume import examples

if TYPE_CHECKING:
    from playwright.sync_api import Page

skip_without_browser()
pytestmark = pytest.mark.slow

_NAMES = (
    "addEvent, addOutcome, addRoom, applied, connect, evaluated, eventsOf, figureGroups, outcomesOf, "
    "parametersOf, removeEvent, removeOutcome, removeRoom, renameEvent, Room, roomsOf, withProcedure"
)


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    """A page with the functions of the script as globals."""
    script = (files("hcssp.serve") / "page" / "document.js").read_text(encoding="utf-8")
    with chromium_browser() as browser, quiet_page(browser) as blank:
        blank.add_script_tag(content=f"{script.replace('export ', '')}\nObject.assign(window, {{{_NAMES}}});")
        yield blank


def edited(page: Page, document: dict[str, Any], script: str, *arguments: object) -> dict[str, Any]:
    """The document after the operations that an expression of `file` and `given` makes."""
    found = page.evaluate(
        f"([file, given]) => applied(file, (({{file, given}}) => {script})({{file, given}}))",
        [document, list(arguments)],
    )
    assert isinstance(found, dict)
    return found


def loaded(document: dict[str, Any]) -> HCSSP:
    """The problem; that a name is missing and others are unused is the loader's affair."""
    problem = load_text(json.dumps(document))
    assert isinstance(problem, HCSSP)
    return problem


def test_expressions_have_the_value_that_the_loader_gives_them(page: Page) -> None:
    parameters = {"p": 0.25, "twice": "2 * p", "hot": "(1 + twice) / 4"}
    values = [
        "1/3",
        "15%",
        "p",
        "-p + 1",
        "1 - twice",
        "2 * (p + hot) / 3",
        "10% * 2",
        "(p + 1)%",
        "2 * .5",
        7,
    ]
    found = page.evaluate(
        "([file, values]) => values.map((each) => evaluated(each, parametersOf(file)))",
        [{"parameters": parameters}, values],
    )
    table = {"s": {str(each): {"to": "g", "costs": {"time": each}} for each in values if each != "-p + 1"}}
    document = {
        "format": "hcssp-problem", "version": 1, "costs": ["time"], "parameters": parameters,
        "activities": {"a": {"table": table, "start": "s", "goal": "g"}},
    }  # fmt: skip
    (cssp,) = (activity.cssp for activity in loaded(document).activities)
    known = dict(zip(map(str, cssp.action_labels), cssp.costs[0].tolist(), strict=True))
    for value, number in zip(values, found, strict=True):
        assert number == pytest.approx(known.get(str(value), 0.75), rel=1e-15)


@pytest.mark.parametrize(
    "text", ["", "p", "1 +", "(1", "1 2", "alert(1)", "constructor", "__proto__", "1 // 2", "a b"]
)
def test_what_is_no_expression_has_no_value(page: Page, text: str) -> None:
    assert page.evaluate("(text) => Number.isNaN(evaluated(text, {}))", text)


def random_room(draw: random.Random) -> dict[str, Any]:
    width, height = draw.randint(1, 7), draw.randint(1, 6)

    def rectangle() -> list[int]:
        x, y = draw.randint(1, width), draw.randint(1, height)
        return [x, y, draw.randint(1, width + 1 - x), draw.randint(1, height + 1 - y)]

    return {
        "width": width,
        "height": height,
        "slip": 0.2,
        "walls": [each for each in (rectangle() for _ in range(draw.randint(0, 2))) if each[:2] != [1, 1]],
        "hazards": [
            {"at": rectangle(), "costs": {"damage": draw.choice([1, 2, "fire", "2 * fire"])}}
            | ({"exit": {"lost": "1/50"}} if draw.random() < 0.3 else {})
            for _ in range(draw.randint(0, 3))
        ],
    }


@pytest.mark.parametrize("seed", range(examples(60, 3)))
def test_a_room_of_rectangles_becomes_a_map_of_the_same_problem(page: Page, seed: int) -> None:
    """Painting turns rectangles into a map; effects that overlap still add up."""
    grid = random_room(random.Random(seed))
    goals = [[0, 1], [grid["width"] + 1, grid["height"]]]
    document = {
        "format": "hcssp-problem", "version": 1, "costs": ["time", "damage"], "parameters": {"fire": 0.5},
        "activities": {"a": {"grid": grid, "start": [0, 1], "goal": goals}},
    }  # fmt: skip
    after = edited(page, document, "new Room(file, roomsOf(file)[0]).written()")
    assert "walls" not in after["activities"]["a"]["grid"]
    one, other = (load_text(json.dumps(each)) for each in (document, after))
    assert fingerprint(one) == fingerprint(other)


MAP = {
    "format": "hcssp-problem", "version": 1, "costs": ["time", "damage"],
    "activities": {
        "cross": {
            "grid": {
                "map": "#####\nS.~.#\n#...G\n#####\n",
                "hazards": {"~": {"damage": 5}},
                "places": {"table": [2, 2], "door": [4, 1]},
            }
        }
    },
}  # fmt: skip


def room(document: dict[str, Any]) -> list[str]:
    lines: list[str] = document["activities"]["cross"]["grid"]["map"].split()
    return lines


def test_brushes_paint_cells_and_spare_signs_and_the_wall_around(page: Page) -> None:
    paint = "new Room(file, roomsOf(file)[0]).paint(given[0], given[1])"
    assert room(edited(page, MAP, paint, [[1, 1], [1, 2], [0, 2]], "#")) == [
        "#####",
        "S#~.#",
        "##..G",
        "#####",
    ]
    assert room(edited(page, MAP, paint, [[0, 1], [4, 2], [2, 1]], "~")) == [
        "#####",
        "S.~.#",
        "#...G",
        "#####",
    ]
    assert room(edited(page, MAP, paint, [[0, 1], [2, 1], [9, 9]], ".")) == [
        "#####",
        "#...#",
        "#...G",
        "#####",
    ]
    flood = "new Room(file, roomsOf(file)[0]).paint(new Room(file, roomsOf(file)[0]).flood([1, 1]), '#')"
    assert room(edited(page, MAP, flood)) == ["#####", "S#~##", "####G", "#####"]


def test_signs_are_letters_of_the_map_or_cells_of_the_activity(page: Page) -> None:
    put = (
        "((r) => r.putSign(file, given[0], r.users[0], given[1], given[2]))(new Room(file, roomsOf(file)[0]))"
    )
    assert room(edited(page, MAP, put, "goal", [3, 1], False)) == ["#####", "S.~G#", "#...#", "#####"]
    assert room(edited(page, MAP, put, "goal", [3, 1], True)) == ["#####", "S.~G#", "#...G", "#####"]
    stated = edited(page, MAP, "[{op: 'set', path: ['activities', 'cross', 'goal'], value: 'table'}]")
    moved = edited(page, stated, put, "goal", [1, 2], False)
    assert moved["activities"]["cross"]["goal"] == [1, 2]
    both = edited(page, moved, put, "goal", [3, 1], True)
    assert both["activities"]["cross"]["goal"] == [[1, 2], [3, 1]]
    assert edited(page, both, put, "goal", [1, 2], True)["activities"]["cross"]["goal"] == [3, 1]
    start = edited(page, stated, "[{op: 'set', path: ['activities', 'cross', 'start'], value: [0, 1]}]")
    random_start = edited(page, start, put, "start", [1, 1], True)
    assert loaded(random_start).activities[0].cssp.world is not None
    place = "new Room(file, roomsOf(file)[0]).putPlace('door', given[0])"
    assert edited(page, MAP, place, [1, 1])["activities"]["cross"]["grid"]["places"]["door"] == [1, 1]


def test_another_size_takes_the_far_walls_along(page: Page) -> None:
    larger = edited(page, MAP, "new Room(file, roomsOf(file)[0]).resized(file, 5, 3)")
    assert room(larger) == ["#######", "S.~...#", "#.....G", "#.....#", "#######"]
    assert larger["activities"]["cross"]["grid"]["places"] == {"table": [2, 2], "door": [6, 1]}
    smaller = edited(page, larger, "new Room(file, roomsOf(file)[0]).resized(file, 1, 2)")
    assert room(smaller) == ["###", "S.#", "#.G", "###"]
    loaded(larger)
    loaded(smaller)


PROCEDURE = MAP | {
    "models": {"hall": {"grid": {"width": 3, "height": 2}, "position": [0, 0]}},
    "activities": {
        "walk": {"model": "hall", "start": [0, 1], "goal": [4, 1]},
        "run": {"model": "hall", "start": [0, 1], "goal": [4, 1], "step_cost": {"time": 0.5, "damage": 1}},
    },
    "procedure": {
        "start": "in",
        "end": "out",
        "events": {
            "in": {"walk": {"runs": "walk", "to": "door"}, "run": {"runs": "run", "to": "door"}},
            "door": {"try": [{"probability": "3/4", "to": "out"}, {"probability": "1/4", "to": "in"}]},
        },
    },
}


def test_rooms_are_added_behind_the_last_and_removed_again(page: Page) -> None:
    for document in (MAP, PROCEDURE):
        once = edited(page, document, "addRoom(file, {})")
        twice = edited(page, once, "addRoom(file, {})")
        assert loaded(twice).num_activities == loaded(document).num_activities + 2
        assert all(loaded(twice).positions.values())
        # The rooms lie side by side and share a wall, in which one ends and the next one begins.
        assert loaded(twice).events[-1] == loaded(document).events[-1]
        rooms = page.evaluate("(file) => roomsOf(file).map(({name}) => name)", twice)
        assert rooms[-2:] == ["room 2", "room 3"]
        fewer = edited(page, twice, "removeRoom(file, roomsOf(file).at(-1))")
        assert loaded(fewer).num_activities == loaded(document).num_activities + 1


def test_renaming_an_event_changes_every_mention(page: Page) -> None:
    after = edited(page, PROCEDURE, "renameEvent(file, given[0], given[1])", "door", "<b>gate</b>")
    assert set(loaded(after).events) == {"in", "<b>gate</b>", "out"}
    after = edited(page, after, "renameEvent(file, given[0], given[1])", "out", "home")
    after = edited(page, after, "renameEvent(file, given[0], given[1])", "in", "start")
    assert set(loaded(after).events) == {"start", "<b>gate</b>", "home"}


def test_chance_keeps_a_sum_of_one(page: Page) -> None:
    outcomes = "outcomesOf(file.procedure.events[given[0]][given[1]])"
    more = PROCEDURE
    for _ in range(3):
        for event, choice in (("door", "try"), ("in", "walk")):
            more = edited(page, more, f"addOutcome(given[0], given[1], {outcomes})", event, choice)
            loaded(more)
    assert [len(each.outcomes) for each in loaded(more).choices if each.name == "try"] == [5]


@pytest.mark.parametrize("seed", range(examples(12, 3)))
def test_random_edits_of_the_procedure_leave_no_reference_behind(page: Page, seed: int) -> None:
    draw, document = random.Random(seed), PROCEDURE
    for step in range(25):
        events: list[str] = page.evaluate("(file) => eventsOf(file)", document)
        inner = [each for each in document["procedure"]["events"] if each != document["procedure"]["end"]]
        event, kind = draw.choice(inner), draw.choice(["add", "rename", "connect", "remove"])
        if kind == "add":
            document = edited(page, document, "addEvent(file, given[0])", f"event {step}")
        elif kind == "rename":
            document = edited(
                page, document, "renameEvent(file, given[0], given[1])", draw.choice(events), f"named {step}"
            )
        elif kind == "connect":
            document = edited(page, document, "connect(file, given[0], given[1])", event, draw.choice(events))
        elif len(inner) > 2:
            document = edited(page, document, "removeEvent(file, given[0])", event)
        known = {*document["procedure"]["events"], document["procedure"]["end"]}
        assert set(page.evaluate("(file) => eventsOf(file)", document)) <= known
        assert document["procedure"]["start"] in known


def test_figures_are_found_where_the_loader_reads_numbers(page: Page) -> None:
    found = page.evaluate(
        "(file) => figureGroups(file).flatMap(({figures}) => figures.map(({path}) => path.join('/')))",
        PROCEDURE | {"parameters": {"p": 0.5}, "capacities": {"battery": {"at_most": "p * 20"}}},
    )
    assert found == [
        "parameters/p",
        "capacities/battery/at_most",
        "activities/run/step_cost/time",
        "activities/run/step_cost/damage",
    ]
