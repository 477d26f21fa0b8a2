"""Missions on maps of robot fleets: what is read, what is written, and what is refused."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from hcssp import InvalidProblem, dump_problem, load, solve
from hcssp.cli import main
from hcssp.errors import UnknownName
from hcssp.exchange import sites
from hcssp.exchange.sites import Zone, mission, read_building, read_route_graph

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PARAMETERS = {"bidirectional": [4, True], "graph_idx": [2, 0], "speed_limit": [3, 0]}


def _lane(first: int, second: int, **parameters: Any) -> list[Any]:
    return [first, second, {**PARAMETERS, **parameters}]


def _building() -> dict[str, Any]:
    """Two levels with a lift each side, and a door between the desk and the store on the first one.

    L1: desk (0) - hall (1) - store (2), with a way round by the yard (3); lifts at 4 (A) and 5 (B).
    """
    ground = {
        "vertices": [
            [0, 0, 0, "desk"],
            [100, 0, 0, "hall"],
            [200, 0, 0, "store"],
            [150, 300, 0, ""],
            [100, -50, 0, "", {"lift_cabin": [1, "A"]}],
            [0, -50, 0, "", {"lift_cabin": [1, "B"]}],
            [150, -10, 0, ""],
            [150, 10, 0, ""],
        ],
        "lanes": [
            _lane(0, 1, speed_limit=[3, 0.8]),
            _lane(1, 2),
            _lane(1, 3),
            _lane(3, 2),
            _lane(1, 4),
            _lane(0, 5),
            _lane(0, 1, graph_idx=[2, 1]),
        ],
        "doors": [[6, 7, {"name": [1, "store door"]}]],
        "measurements": [[0, 1, {"distance": [3, 10.0]}]],
        "walls": [[6, 0, {}]],
    }
    upper = {
        "vertices": [
            [100, -50, 0, "", {"lift_cabin": [1, "A"]}],
            [0, -50, 0, "", {"lift_cabin": [1, "B"]}],
            [50, 100, 0, "ward"],
        ],
        "lanes": [_lane(0, 2), _lane(1, 2)],
        "measurements": [[0, 1, {"distance": [3, 10.0]}]],
    }
    return {"name": "clinic", "levels": {"L1": ground, "L2": upper}}


def _graph(*, door: bool = True) -> dict[str, Any]:
    points = {0: (0, 0), 1: (20, 0), 2: (30, 0), 3: (25, 30)}
    nodes = [
        {"type": "Feature", "properties": {"id": key}, "geometry": {"type": "Point", "coordinates": [*at]}}
        for key, at in points.items()
    ]
    edges = []
    for first, second in ((0, 1), (1, 2), (1, 3), (3, 2), (2, 1), (1, 0)):
        line = {"type": "LineString", "coordinates": [[*points[first]], [*points[second]]]}
        properties: dict[str, Any] = {"id": 100 + len(edges), "startid": first, "endid": second}
        if door and (first, second) == (1, 2):
            properties["operations"] = {"open": {"type": "open_door", "metadata": {"door_id": 7}}}
        edges.append({"type": "Feature", "properties": properties, "geometry": line})
    return {"type": "FeatureCollection", "features": nodes + edges}


@pytest.fixture
def building(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.building.yaml"
    path.write_text(yaml.safe_dump(_building()), encoding="utf-8")
    return path


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "graph.geojson"
    path.write_text(json.dumps(_graph()), encoding="utf-8")
    return path


def _solved(text: str, folder: Path, **settings: float) -> Any:
    path = folder / "mission.yaml"
    path.write_text(text, encoding="utf-8")
    return solve(load(path, **settings), gap=1e-6)


def test_a_building_has_its_lengths_doors_lifts_and_limits(building: Path) -> None:
    site = read_building(building)
    lanes = {(lane.start, lane.end): lane for lane in site.lanes}
    assert lanes["desk", "hall"].metres == pytest.approx(10.0)
    assert lanes["desk", "hall"].speed_limit == "0.8"
    assert lanes["hall", "store"].gate == "store door"
    assert lanes["hall", "L1 3"].gate is None
    ride = lanes["L1 4", "L2 0"]
    assert (ride.gate, ride.metres, ride.floors) == ("A", 0.0, 1)
    assert site.lifts == {"A", "B"}
    assert len(site.lanes) == len(lanes), "lanes of several fleets count once"
    assert len(read_building(building, graph=1).lanes) == 2 + 4, "one lane in both directions, and the lifts"


@pytest.mark.parametrize(
    ("system", "unit", "metres"),
    [
        ("cartesian_meters", 1.0, (100.0, 50.0)),
        # A degree of longitude at the equator, and at 60 degrees north.
        ("wgs84", 1e-3, (11_131.95, 5_565.97)),
        ("web_mercator", 1.0, (100.0, 50.0)),
    ],
)
def test_coordinates_may_be_metres_or_degrees(
    tmp_path: Path, system: str, unit: float, metres: tuple[float, float]
) -> None:
    document = _building() | {"coordinate_system": system}
    for level in document["levels"].values():
        for vertex in level["vertices"]:
            vertex[:2] = [vertex[0] * unit, vertex[1] * unit]
    path = tmp_path / "a.building.yaml"
    path.write_text(yaml.safe_dump(document))
    site = read_building(path)
    lanes = {(lane.start, lane.end): lane.metres for lane in site.lanes}
    assert lanes["desk", "hall"] == pytest.approx(metres[0], rel=1e-6)
    assert lanes["hall", "L1 4"] == pytest.approx(metres[1], rel=1e-6)
    # North is up, where an image has it down.
    assert site.places["L1 3"].at[1] > site.places["hall"].at[1]


def test_degrees_of_longitude_are_shorter_in_the_north(tmp_path: Path) -> None:
    document = _building() | {"coordinate_system": "wgs84"}
    for vertex in document["levels"]["L1"]["vertices"]:
        vertex[:2] = [vertex[0] * 1e-3, 60.0 + vertex[1] * 1e-3]
    path = tmp_path / "a.building.yaml"
    path.write_text(yaml.safe_dump(document))
    lanes = {(lane.start, lane.end): lane.metres for lane in read_building(path).lanes}
    assert lanes["desk", "hall"] == pytest.approx(11_131.95 / 2.0, rel=1e-4)


def test_of_two_lanes_that_meet_on_a_door_one_leads_through_it(tmp_path: Path) -> None:
    document = _building()
    ground = document["levels"]["L1"]
    ground["vertices"].append([150, 0, 0, "threshold"])
    ground["lanes"][1:2] = [_lane(1, 8), _lane(8, 2)]
    path = tmp_path / "a.building.yaml"
    path.write_text(yaml.safe_dump(document))
    lanes = {(lane.start, lane.end): lane.gate for lane in read_building(path).lanes}
    for way in (("hall", "threshold", "store"), ("store", "threshold", "hall")):
        assert sorted([lanes[way[:2]] or "", lanes[way[1:]] or ""]) == ["", "store door"]


def test_floors_are_counted_by_elevation(tmp_path: Path) -> None:
    """A file lists its levels by name: L10 before L2."""
    document = _building()
    document["levels"] = {"L10": document["levels"].pop("L2"), **document["levels"]}
    document["levels"]["L5"] = {"elevation": 12.0, "vertices": []}
    document["levels"]["L10"]["elevation"], document["levels"]["L1"]["elevation"] = 30.0, 0.0
    path = tmp_path / "a.building.yaml"
    path.write_text(yaml.safe_dump(document))
    assert {lane.floors for lane in read_building(path).lanes if lane.gate == "A"} == {2}


def _ladder(rungs: int) -> dict[str, Any]:
    """Two corridors, with a door in every stretch of both and in every way between them."""
    vertices: list[list[Any]] = [[100 * (n // 2), 200 * (n % 2), 0, f"p{n}"] for n in range(2 * rungs)]
    lanes, doors = [], []
    pairs = [(n, n + 2) for n in range(2 * rungs - 2)] + [(n, n + 1) for n in range(0, 2 * rungs, 2)]
    for first, second in pairs:
        lanes.append(_lane(first, second))
        x, y = ((vertices[first][axis] + vertices[second][axis]) / 2 for axis in (0, 1))
        doors.append([len(vertices), len(vertices) + 1, {"name": [1, f"door {len(doors)}"]}])
        vertices += [[x - 10, y - 10, 0, ""], [x + 10, y + 10, 0, ""]]
    return {"levels": {"L1": {"vertices": vertices, "lanes": lanes, "doors": doors}}}


def test_of_many_doors_few_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty doors have 2 ** 40 combinations. To remember fewer never makes a mission shorter."""
    path = tmp_path / "a.building.yaml"
    path.write_text(yaml.safe_dump(_ladder(14)))
    text = mission(read_building(path), ["p0", "p27"])
    assert "# There are many doors" in text
    assert len(text) < 2_000_000
    path.write_text(yaml.safe_dump(_ladder(3)))
    times = []
    for most in (sites.MOST_EVENTS, 50, 1):
        monkeypatch.setattr(sites, "MOST_EVENTS", most)
        text = mission(read_building(path), ["p0", "p5"])
        assert ("remembers 1 of those" in text, "waits at each" in text) == (most == 50, most == 1)
        times.append(_solved(text, tmp_path, people=0.0, battery_limit=100.0, door_locked=0.3).cost("time"))
    # Three doors on the way, at each of which the robot waits.
    assert times[2] == pytest.approx(400.0 / 0.5 + 3 * 0.3 * 120.0, rel=1e-6)
    assert times == sorted(times)
    assert times[0] < times[2]


def test_the_time_of_a_mission_is_that_of_its_best_way(graph: Path, tmp_path: Path) -> None:
    """By hand, without people: 20 m, then 10 m through the door, or 10 m and back."""
    speed, locked = 0.5, 0.25
    long_way = (30.0**2 + 5.0**2) ** 0.5
    for wait in (30.0, 600.0):
        plan = _solved(
            mission(read_route_graph(graph), ["0", "2"]),
            tmp_path,
            people=0.0,
            door_locked=locked,
            door_wait=wait,
            battery_limit=100.0,
        )
        shut = min(wait + 10.0 / speed, 2 * round(long_way, 1) / speed)
        expected = 20.0 / speed + (1 - locked) * 10.0 / speed + locked * shut
        assert plan.upper_bound == pytest.approx(expected, rel=1e-4)


def test_what_is_learnt_at_a_door_is_remembered_on_that_trip_only(building: Path, tmp_path: Path) -> None:
    plan = _solved(mission(read_building(building), ["desk", "store", "desk", "store"]), tmp_path)
    events = [event for event in plan.problem.events if "store door closed" in event]
    assert {event.partition("/")[0] for event in events} >= {"trip 1", "trip 3"}
    # In the hall with the door closed, it is not tried again.
    for event in events:
        if "/hall" in event:
            choices = plan.problem.choices_at(plan.problem.event_index(event))
            names = [plan.problem.choices[choice].name for choice in choices]
            assert not any(name.startswith("through store door") for name in names)


def test_a_broken_lift_is_left_for_another(building: Path, tmp_path: Path) -> None:
    text = mission(read_building(building), ["hall", "ward"])
    fast = _solved(text, tmp_path, lift_out_of_order=0.0, people=0.0)
    slow = _solved(text, tmp_path, lift_out_of_order=1.0, people=0.0)
    assert fast.upper_bound < slow.upper_bound
    # Both lifts are out of order for certain; one of them has to be repaired.
    assert slow.upper_bound >= 900.0


def test_zones_have_parameters_and_keep_out_zones_no_lanes(building: Path, tmp_path: Path) -> None:
    crowded = Zone.parse("crowd=L1:90,-5,20,10", named=True)
    text = mission(read_building(building, zones=[crowded]), ["desk", "store"])
    assert "crowd: 5" in text
    calm, busy = (_solved(text, tmp_path, crowd=factor).upper_bound for factor in (1.0, 20.0))
    assert calm < busy
    closed = Zone.parse("L1:140,-5,20,10", named=False)
    lanes = read_building(building, zones=[closed]).lanes
    assert ("hall", "store") not in {(lane.start, lane.end) for lane in lanes}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ward=0,0,-5,1", "must not be negative"),
        ("ward=0,0,nan,1", "must not be negative, and all be finite"),
        ("ward=1e6,0,1,1", r"no lane touches it, from \(1e\+06, 0\)"),
        ("ward=L9:0,0,1,1", "no lane of L9 touches it.* the levels are 'L1', 'L2'"),
    ],
)
def test_zones_that_change_nothing_are_refused(building: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        read_building(building, zones=[Zone.parse(text, named=True)])


def test_a_map_without_lanes_is_refused(building: Path) -> None:
    with pytest.raises(InvalidProblem, match="no lane is left"):
        read_building(building, graph=7)
    with pytest.raises(InvalidProblem, match="no lane is left"):
        read_building(building, zones=[Zone.parse("-9,-999,9999,9999", named=False)])
    with pytest.raises(InvalidProblem, match="battery step 0: it must be positive"):
        mission(read_building(building), ["desk", "hall"], battery_step=0.0)


def test_a_battery_may_be_a_capacity(graph: Path, tmp_path: Path) -> None:
    text = mission(read_route_graph(graph), ["0", "2"], battery_step=0.5)
    plan = _solved(text, tmp_path)
    assert plan.problem.constraint_names == ("risk", "stranded")
    assert any("battery" in str(state) for state in plan.problem.activities[-1].cssp.state_labels)
    assert plan.cost("stranded") == 0.0
    # 30 m or 70 m take at least 0.6% or 1.4%, in steps of 0.5%.
    stranded = _solved(text, tmp_path, battery_limit=1.0, stranded_limit=10.0)
    assert stranded.cost("stranded") > 0.0
    assert _solved(text, tmp_path, battery_limit=1.0).status.name == "INFEASIBLE"


@pytest.mark.parametrize(
    ("stops", "message"),
    [(["0"], "at least one other stop"), (["0", "0"], "once in a row"), (["2", "3", "2", "0", "9"], "'9'")],
)
def test_impossible_missions_are_refused(graph: Path, stops: Sequence[str], message: str) -> None:
    with pytest.raises((InvalidProblem, UnknownName), match=message):
        mission(read_route_graph(graph), stops)


def test_a_stop_that_no_lane_leads_to_is_refused(tmp_path: Path) -> None:
    document = _graph()
    document["features"] = [each for each in document["features"] if each["properties"].get("endid") != 3]
    path = tmp_path / "graph.geojson"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InvalidProblem, match="no lane leads from 0 to 3"):
        mission(read_route_graph(path), ["0", "3"])


def _broken_maps() -> list[tuple[str, str, str]]:
    cases = []
    for change, message in (
        (lambda each: each["levels"]["L1"]["vertices"].append(["x"]), r"levels.L1.vertices\[8\]"),
        (lambda each: each["levels"]["L1"]["lanes"].append([0, 99, {}]), r"levels.L1.lanes\[7\]"),
        (lambda each: each["levels"]["L1"].update(doors=7), "levels.L1.doors"),
        (lambda each: each.update(levels={}), "levels: there are none"),
        (lambda each: each.update(coordinate_system="polar"), "coordinate_system: 'polar' is not known"),
        (lambda each: each["levels"]["L1"]["vertices"].append([1e300, 0]), r"levels.L1.vertices\[8\]"),
    ):
        document = _building()
        change(document)
        cases.append(("rmf", yaml.safe_dump(document), message))
    cases.append(("rmf", "levels: [", "YAML"))
    cases.append(("rmf", "levels: " + "[" * 100_000, "line 1: nested more than 32 deep"))
    cases.append(("nav2", "{", "JSON"))
    cases.append(("nav2", "[]", "no nodes"))
    cases.append(("nav2", json.dumps({"features": [{"properties": 3}]}), "properties"))
    document = _graph()
    document["features"][-1]["properties"]["endid"] = 77
    cases.append(("nav2", json.dumps(document), "there is no node 77"))
    document["features"][-1]["properties"]["endid"] = [1]
    cases.append(("nav2", json.dumps(document), r"there is no node \[1\]"))
    document["features"].append(document["features"][0])
    cases.append(("nav2", json.dumps(document), "two nodes have the id"))
    return cases


@pytest.mark.parametrize(("kind", "text", "message"), _broken_maps())
def test_broken_maps_are_refused_with_the_place(tmp_path: Path, kind: str, text: str, message: str) -> None:
    path = tmp_path / "map"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidProblem, match=message):
        (read_building if kind == "rmf" else read_route_graph)(path)


def test_speed_limits_of_a_route_graph_are_shares_or_metres(tmp_path: Path) -> None:
    document, path = _graph(), tmp_path / "graph.geojson"
    edges = [each["properties"] for each in document["features"] if "startid" in each["properties"]]
    for edge, metadata in zip(
        edges, ({"speed_limit": 0.5}, {"speed_limit": 50}, {"abs_speed_limit": 0.25}, {}), strict=False
    ):
        edge["metadata"] = metadata
    path.write_text(json.dumps(document), encoding="utf-8")
    site = read_route_graph(path)
    limits = [lane.speed_limit for lane in site.lanes][:4]
    assert limits == ["(0.5 * speed)", "(0.5 * speed)", "0.25", None]
    lane = site.lanes[0]
    assert "/ (0.5 * speed)" in mission(site, [lane.start, lane.end])


def test_lanes_without_a_fleet_belong_to_the_first(building: Path) -> None:
    document = _building()
    for lane in document["levels"]["L1"]["lanes"]:
        del lane[2]["graph_idx"]
    building.write_text(yaml.safe_dump(document), encoding="utf-8")
    assert len(read_building(building, graph=0).lanes) == len(read_building(building).lanes)


def test_names_of_a_map_cannot_change_the_file(tmp_path: Path) -> None:
    document = _building()
    document["name"] = "x\ncosts: [nothing]\n#"
    vertices = document["levels"]["L1"]["vertices"]
    vertices[0][3], vertices[1][3], vertices[2][3] = "a: {b", "yes", '"quoted" # \t\n name'
    path = tmp_path / "clinic.building.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    site = read_building(path)
    plan = _solved(mission(site, list(site.places)[:3]), tmp_path)
    assert plan.problem.primary_name == "time"


def test_the_command_writes_a_file_that_can_be_solved(
    building: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", "rmf", str(building), "--from", "desk", "--to", "ward", "store"]) == 0
    written = capsys.readouterr().out
    path = building.with_name("mission.yaml")
    path.write_text(written, encoding="utf-8")
    assert main(["solve", str(path), "--quiet"]) == 0
    capsys.readouterr()
    for arguments, message in (
        ([], "the places are"),
        (["--from", "dask", "--to", "ward"], "did you mean 'desk'"),
        (["--from", "desk", "--to", "ward", "--zone", "1=0,0,1,1"], "cannot name a parameter"),
        (["--from", "desk", "--to", "ward", "--keep-out", "0,0,1"], "X,Y,WIDTH,HEIGHT"),
    ):
        assert main(["import", "rmf", str(building), *arguments]) == 2
        assert message in capsys.readouterr().err


def test_every_place_of_a_map_can_be_a_stop(building: Path, tmp_path: Path) -> None:
    site = read_building(building)
    names = list(site.places)
    for first, second in pairwise([*names, names[0]]):
        assert _solved(mission(site, [first, second]), tmp_path).status.name == "OPTIMAL"


def test_the_drawing_has_the_walls_doors_lifts_stops_and_paths(building: Path, tmp_path: Path) -> None:
    plan = _solved(mission(read_building(building), ["desk", "store", "ward"]), tmp_path)
    ground, upper = plan.problem.drawing.values()
    assert ground.doors.keys() == {"store door"}
    assert ground.lifts.keys() == {"A", "B"}
    assert ground.places == {"desk": (0.0, 0.0), "store": (20.0, 0.0)}
    assert upper.places.keys() == {"ward"}
    assert len(ground.walls) == 1
    # Each activity but a ride follows a path.
    for activity in plan.problem.activities:
        room = activity.room.rpartition("/")[2]
        assert (room in ground.paths or room in upper.paths) != (activity.cssp.num_states == 2)
    again = tmp_path / "again.yaml"
    again.write_text(dump_problem(plan.problem), encoding="utf-8")
    assert load(again).drawing == plan.problem.drawing


def test_a_line_of_a_drawing_has_pairs_of_coordinates(graph: Path, tmp_path: Path) -> None:
    text = mission(read_route_graph(graph), ["0", "2"]) + "\n"
    path = tmp_path / "mission.yaml"
    path.write_text(text.replace("0.00, 0.00, 20.00, 0.00]", "0.00, 0.00, 20.00]", 1), encoding="utf-8")
    with pytest.raises(InvalidProblem, match=r"drawing.ground.paths.*a line of 3 coordinates"):
        load(path)
