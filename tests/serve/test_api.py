"""The API over a real socket, from the first request to the last file."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from hcssp import load, load_certificate, load_plan, solve
from hcssp.checker import check
from hcssp.files.problem_file.loading import load_text
from hcssp.serve.api import ROUTES
from serve_client import SMALL, Client, running

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("project")
    (made / "room.yaml").write_text(SMALL)
    return made


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Client]:
    with running(folder) as found:
        yield found


def schema(client: Client, name: str) -> dict[str, Any]:
    document = client.get("/api/openapi.json")
    (found,) = [
        each
        for methods in document["paths"].values()
        for each in methods.values()
        if each["operationId"] == name
    ]
    answer = found["responses"].get("200") or found["responses"]["201"]
    return {**answer["content"]["application/json"]["schema"], "components": document["components"]}


def test_the_description_has_every_route(client: Client) -> None:
    document = client.get("/api/openapi.json")
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert described == {(route.method, route.path) for route in ROUTES}
    assert document["openapi"].startswith("3.1")


def test_a_problem_is_planned_and_the_plan_is_that_of_the_library(client: Client, folder: Path) -> None:
    session, state = client.begin(file="room.yaml")
    assert (state["valid"], state["saved"], state["errors"]) == (True, True, [])
    jsonschema.validate(state, schema(client, "state"))
    head = client.planned(session)
    expected = solve(load_text(SMALL), gap=1e-4)
    assert head["complete"]
    assert head["own"] == pytest.approx(expected.upper_bound, rel=1e-4)
    assert head["limit"] <= head["own"]
    assert head["costs"]["damage"] <= 2 + 1e-8
    plan = client.get(f"{session}/plans/{head['plan']}")
    jsonschema.validate(plan, schema(client, "plan"))
    assert plan["page"]["plans"][0]["own"] == head["own"]
    assert client.post(f"{session}/save", {"what": "plan", "file": "plan.json"}) == {"file": "plan.json"}
    assert load_plan(folder / "plan.json", load(folder / "room.yaml")).keeps_bounds()
    client.post(f"{session}/save", {"what": "certificate", "file": "proof.cert"})
    verdict = check(load(folder / "room.yaml"), load_certificate(folder / "proof.cert"))
    assert verdict.lower_bound == pytest.approx(head["limit"], rel=1e-3)
    client.post(f"{session}/save", {"what": "report", "file": "report.html"})
    assert "</html>" in (folder / "report.html").read_text()
    status, answer = client.call("POST", f"{session}/save", {"what": "plan", "file": "plan.json"})
    assert (status, "is there already" in answer["error"]) == (409, True)


def test_an_edit_keeps_comments_and_changes_the_plan(client: Client) -> None:
    session, _ = client.begin(text=SMALL)
    before = client.planned(session)
    change = {"op": "set", "path": ["constraints", "damage", "at_most"], "value": 0.5}
    state = client.post(f"{session}/edit", {"operations": [change]})
    assert state["text"] == SMALL.replace("at_most: 2", "at_most: 0.5")
    assert (state["revision"], state["undo"]) == (2, 1)
    after = client.planned(session)
    assert after["own"] > before["own"]
    assert after["costs"]["damage"] <= 0.5 + 1e-8
    undone = client.post(f"{session}/undo")
    assert (undone["text"], undone["undo"], undone["redo"]) == (SMALL, 0, 1)
    assert client.post(f"{session}/redo")["text"] == state["text"]
    comparison = client.post(f"{session}/ask/compare", {"first": before["plan"], "second": after["plan"]})
    jsonschema.validate(comparison, schema(client, "compare"))
    costs = {each["name"]: (each["first"], each["second"]) for each in comparison["costs"]}
    assert costs["time"] == pytest.approx((before["own"], after["own"]))
    assert len(comparison["page"]["plans"]) == 2


def test_a_drag_is_one_step_of_undo_with_one_plan(client: Client) -> None:
    session, _ = client.begin(text=SMALL)
    before = client.planned(session)
    for number, bound in enumerate((3, 4, 5)):
        change = {"op": "set", "path": ["constraints", "damage", "at_most"], "value": bound}
        state = client.post(f"{session}/edit", {"operations": [change], "continues": number > 0})
        after = client.planned(session)
    assert [each["plan"] for each in client.get(session)["plans"]] == [before["plan"], after["plan"]]
    assert client.get(f"{session}/plans/newest")["head"]["plan"] == after["plan"]
    assert (state["undo"], "at_most: 5" in state["text"]) == (1, True)
    assert client.post(f"{session}/undo")["text"] == SMALL
    assert "at_most: 5" in client.post(f"{session}/redo")["text"]


def test_panels_name_the_grids_that_they_show(client: Client) -> None:
    _, state = client.begin(builtin="evacuation")
    panels = state["drawing"]["sheet"]["panels"]
    assert len(panels) >= 6
    for panel in panels:
        grid = state["document"]
        for key in panel["keys"]:
            grid = grid[key]
        assert (grid["width"] + 2, grid["height"] + 2) == (panel["width"], panel["height"])
    assert client.begin(text=SMALL)[1]["drawing"]["sheet"]["panels"][0]["keys"] == [
        "activities",
        "cross",
        "grid",
    ]


def test_a_blank_sheet_is_one_until_it_is_edited(client: Client) -> None:
    session, state = client.begin(blank=True)
    assert (state["blank"], state["valid"]) == (True, True)
    edited = client.post(f"{session}/edit", {"text": "name: mine\n" + SMALL})
    assert (edited["blank"], edited["name"]) == (False, "mine")
    assert not client.begin(text=SMALL)[1]["blank"]


def test_a_mission_on_a_map_is_planned(client: Client, folder: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "buildings.md").read_text()
    content = page.partition('title="graph.geojson"\n')[2].partition("```")[0]
    (folder / "graph.geojson").write_text(content)
    assert client.get("/api/catalogue")["sites"] == ["graph.geojson"]
    given: list[dict[str, str]] = [{"site": "graph.geojson"}, {"site": "other.geojson", "content": content}]
    for site in given:
        assert "lab" in client.post("/api/places", site)["places"]
        session, state = client.begin(stops=["dock", "lab"], **site)
        assert state["valid"]
        assert client.planned(session)["own"] > 0.0
    status, answer = client.call(
        "POST", "/api/sessions", {"site": "graph.geojson", "stops": ["dock", "moon"]}
    )
    assert (status, "moon" in answer["error"]) == (422, True)


def test_mistakes_are_found_with_their_line_and_keys(client: Client) -> None:
    session, _ = client.begin(text=SMALL)
    text = SMALL.replace("slip: 0.1", "slip: 1.4")
    state = client.post(f"{session}/edit", {"text": text})
    (error,) = state["errors"]
    line = next(number for number, each in enumerate(text.split("\n"), 1) if "slip" in each)
    assert (error["line"], error["keys"]) == (line, ["activities", "cross", "grid", "slip"])
    assert (state["valid"], state["drawing"]) == (False, None)
    assert state["document"]["activities"]["cross"]["grid"]["slip"] == 1.4
    status, answer = client.call("POST", f"{session}/search", {"action": "start"})
    assert (status, answer["error"]) == (409, "the problem has errors; correct them first")


def test_questions_are_answered(client: Client) -> None:
    session, _ = client.begin(builtin="small-building")
    client.planned(session)
    asked = {
        "why": {"at": "start"},
        "best": {"count": 2},
        "curve": {"points": 3, "time_limit": 1},
        "robust": {"within": 0.1},
        "simulate": {"runs": 50, "play": 2},
    }
    for what, body in asked.items():
        answer = client.post(f"{session}/ask/{what}", body)
        jsonschema.validate(answer, schema(client, what))
        if what == "best":
            assert len(answer["page"]["plans"]) == 2
    status, answer = client.call("POST", f"{session}/ask/why", {"at": "nowhere"})
    assert (status, "nowhere" in answer["error"]) == (422, True)


def test_a_run_is_followed_to_its_end(client: Client) -> None:
    session, _ = client.begin(builtin="small-building")
    client.planned(session)
    state = client.post(f"{session}/run", {"seed": 1})
    jsonschema.validate(state, schema(client, "run_start"))
    rest = client.post(f"{session}/run/outlook", {"runs": 100})
    assert rest["outlook"]["costs"][0]["mean"][0] == pytest.approx(state["remaining"]["time"], rel=0.5)
    status, answer = client.call("POST", f"{session}/run/step", {"observation": "nonsense"})
    assert (status, "possible" in answer["error"]) == (422, True)
    draw = random.Random(5)
    for _ in range(1000):
        if state["over"]:
            break
        seen = draw.choice(state["possible"])
        named = {} if seen["outcome"] in (None, seen["observation"]) else {"outcome": seen["outcome"]}
        state = client.post(f"{session}/run/step", {"observation": seen["observation"], **named})
    assert state["over"]
    assert state["trail"]
    assert state["remaining"]["time"] == 0.0
    assert client.post(f"{session}/run/end") == {}
    assert client.call("GET", f"{session}/run")[0] == 404


def test_a_door_is_locked_and_the_rest_planned_again(client: Client) -> None:
    session, state = client.begin(builtin="small-building")
    client.planned(session)
    client.post(f"{session}/run")
    document = state["document"]
    change = {"op": "set", "path": ["parameters", "locked"], "value": 0.9}
    assert "locked" in document["parameters"]
    client.post(f"{session}/edit", {"operations": [change]})
    client.planned(session)
    replanned = client.post(f"{session}/run/replan", {"problem": "edited", "deadline": 60})
    jsonschema.validate(replanned, schema(client, "run_replan"))
    assert isinstance(replanned["replanned"]["kept"], bool)
    again = solve(load_text(client.get(session)["text"]), gap=1e-4)
    assert replanned["remaining"]["time"] == pytest.approx(again.upper_bound, rel=1e-3)


def test_a_closed_session_is_opened_again(client: Client) -> None:
    session, state = client.begin(text=SMALL, name="the room")
    listed = client.get("/api/catalogue")
    jsonschema.validate(listed, schema(client, "catalogue"))
    assert {"session": state["session"], "name": "the room", "open": True}.items() <= next(
        each for each in listed["sessions"] if each["session"] == state["session"]
    ).items()
    assert listed["files"][0] == "room.yaml" or "room.yaml" in listed["files"]
    assert client.call("DELETE", session) == (200, {})
    assert client.call("GET", session)[0] == 404


def test_the_text_is_served_as_a_file(client: Client) -> None:
    session, _ = client.begin(text=SMALL)
    status, content, headers = client.raw("GET", f"{session}/problem?download=1")
    assert (status, content.decode()) == (200, SMALL)
    assert headers["content-disposition"] == 'attachment; filename="problem.yaml"'
    head = client.planned(session)
    document = json.loads(client.raw("GET", f"{session}/plans/{head['plan']}/document")[1])
    assert document["format"] == "hcssp-plan"
