"""Maps of robot fleets as missions: buildings of Open-RMF and route graphs of Nav2.

A :class:`Site` is what both describe: places, lanes between them, and gates, the doors and lifts that may
turn out to be closed. :func:`mission` writes a problem file for a robot that visits some of its places in
order. The file is for people to edit, and does not refer to the map.

- Each trip from stop to stop is a procedure. Its events are the places where the robot chooses a way,
  together with the gates that it has found closed on this trip. Ways that cannot lead to the stop are left
  out.
- Each stretch of lanes between two events is an activity. The robot may meet people there.
- At a gate the robot learns whether it is closed. It waits, or takes another way.
"""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import cos, cosh, dist, isfinite, radians
from pathlib import Path
from typing import Any, NamedTuple

from hcssp.errors import InvalidProblem, UnknownName, listed
from hcssp.files.atomic import read_text

MAX_BYTES = 64 * 2**20
"""A larger map is refused."""

DEEPEST = 32
"""Lists and mappings that are nested deeper are refused."""

MOST_EVENTS = 2_000
"""A trip with more events remembers fewer closed gates."""

MOST_CLOSED = 3
"""The number of closed gates that such a trip remembers, or fewer."""

LARGEST = 1e9
"""Coordinates and lengths are below this, in the units of the map."""

Point = tuple[float, float]


class Place(NamedTuple):
    """Where lanes meet; in metres on its level, with y upwards."""

    level: str
    at: Point


@dataclass(frozen=True)
class Lane:
    """A way from one place to the next.

    Attributes
    ----------
    start, end
        The names of the places.
    metres
        Its length; 0 for a ride in a lift.
    speed_limit
        In metres per second, or as an expression with the parameter `speed`, if there is one.
    gate
        The door or the lift that it leads through.
    floors
        The number of floors that a lift passes.
    """

    start: str
    end: str
    metres: float
    speed_limit: str | None = None
    gate: str | None = None
    floors: int = 0


@dataclass(frozen=True)
class Zone:
    """A rectangle on a level, in the units of the map; `name` is None where the robot must not go."""

    name: str | None
    level: str
    least: Point
    most: Point

    @staticmethod
    def parse(text: str, *, named: bool) -> Zone:
        """The zone that ``NAME=LEVEL:X,Y,WIDTH,HEIGHT`` describes; a map of one level needs no ``LEVEL:``."""
        name, _, area = text.rpartition("=")
        level, _, corners = area.rpartition(":")
        try:
            x, y, width, height = (float(each) for each in corners.split(","))
        except ValueError:
            raise InvalidProblem([f"zone {text!r}: {corners!r} is not X,Y,WIDTH,HEIGHT"]) from None
        if not (width >= 0.0 and height >= 0.0 and all(map(isfinite, (x, y, width, height)))):
            raise InvalidProblem([f"zone {text!r}: WIDTH and HEIGHT must not be negative, and all be finite"])
        if named and (not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name in PARAMETERS):
            raise InvalidProblem(
                [f"zone {text!r}: {name!r} cannot name a parameter; use letters, digits and _"]
            )
        if name and not named:
            raise InvalidProblem(
                [f"zone {text!r}: where the robot must not go needs no name; leave {name}= out"]
            )
        return Zone(name if named else None, level, (x, y), (x + width, y + height))

    def touches(self, level: str, line: Sequence[Point]) -> bool:
        """Whether a line on a level passes through the zone."""
        return self.level in ("", level) and any(self._meets(*ends) for ends in pairwise(line))

    def _meets(self, first: Point, second: Point) -> bool:
        # The part of the segment, from 0 to 1, that lies within both ranges.
        low, high = 0.0, 1.0
        for a, b, least, most in zip(first, second, self.least, self.most, strict=True):
            if a == b:
                if not least <= a <= most:
                    return False
                continue
            ends = sorted(((least - a) / (b - a), (most - a) / (b - a)))
            low, high = max(low, ends[0]), min(high, ends[1])
        return low <= high


class _Zones:
    """The zones of a map, and which of them some lane touches."""

    def __init__(self, zones: Sequence[Zone]) -> None:
        self._unused = dict.fromkeys(zones)
        self._zones = zones

    def touched(self, level: str, line: Sequence[Point]) -> tuple[str, ...] | None:
        """The names of those that a lane touches; None if it must not be used."""
        inside = [zone for zone in self._zones if zone.touches(level, line)]
        for zone in inside:
            self._unused.pop(zone, None)
        names = tuple(zone.name for zone in inside if zone.name is not None)
        return names if len(names) == len(inside) else None

    def refuse_unused(self, levels: Iterable[str]) -> None:
        """Raise an error if no lane touches a zone."""
        for zone in self._unused:
            named = f"zone {zone.name}" if zone.name else "keep-out zone"
            where = f" of {zone.level}" if zone.level else ""
            (x, y), (right, top) = zone.least, zone.most
            known = f"; the levels are {listed([*dict.fromkeys(levels)])}" if zone.level else ""
            raise InvalidProblem(
                [
                    f"{named}: no lane{where} touches it, from ({x:g}, {y:g}) to ({right:g}, {top:g}); "
                    f"use the coordinates of the file{known}"
                ]
            )


@dataclass(frozen=True)
class Site:
    """A map: places, lanes and gates, and further lines of the drawing.

    Attributes
    ----------
    name
        Its name.
    places
        By name.
    lanes
        In the order of the file.
    lifts
        The names of the gates that are lifts.
    walls, doors
        Segments for a drawing, by level; those of doors by name.
    zones
        The zones of which each lane touches some, by lane.
    """

    name: str
    places: Mapping[str, Place]
    lanes: Sequence[Lane]
    lifts: frozenset[str] = frozenset()
    walls: Mapping[str, Sequence[tuple[Point, Point]]] = field(default_factory=dict)
    doors: Mapping[str, Mapping[str, tuple[Point, Point]]] = field(default_factory=dict)
    zones: Mapping[Lane, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def leaving(self) -> Mapping[str, Sequence[Lane]]:
        """The lanes from each place."""
        found: dict[str, list[Lane]] = {name: [] for name in self.places}
        for lane in self.lanes:
            found[lane.start].append(lane)
        return found

    def useful(self, goal: str) -> Mapping[str, Sequence[Lane]]:
        """From each place the lanes from which the goal can be reached without coming back to the place."""
        return {
            place: [lane for lane in lanes if self._reaches(lane.end, goal, without=place)]
            for place, lanes in self.leaving.items()
        }

    def _reaches(self, start: str, goal: str, without: str) -> bool:
        seen, queue = {start, without}, deque([start])
        while queue:
            place = queue.popleft()
            if place == goal:
                return True
            for lane in self.leaving[place]:
                if lane.end not in seen:
                    seen.add(lane.end)
                    queue.append(lane.end)
        return False


def _number(value: Any) -> float | None:
    """A number of the file; None for what is none, and for sizes that no site has."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < LARGEST else None


def _line(value: Any) -> str:
    """A name of the file as one short line; nothing for what is no name."""
    if not isinstance(value, str | int) or isinstance(value, bool):
        return ""
    # A slash separates the name of a use from what is inside.
    kept = (letter if letter.isprintable() and letter != "/" else " " for letter in str(value))
    return " ".join("".join(kept).split())[:60]


def _crosses(first: tuple[Point, Point], second: tuple[Point, Point]) -> bool:
    """Whether a lane crosses a door."""

    def side(a: Point, b: Point, c: Point) -> float:
        return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])

    (a, b), (c, d) = first, second
    # Of two lanes that meet on a door one crosses it.
    opposite = (side(c, d, a) >= 0.0) != (side(c, d, b) >= 0.0)
    return opposite and side(a, b, c) * side(a, b, d) <= 0.0 < dist(a, b)


class _Map:
    """The values of a file, with errors that name their place."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self.text = read_text(source, MAX_BYTES)

    def wrong(self, place: str, what: str) -> InvalidProblem:
        return InvalidProblem([f"{self.source}: {place}: {what}"])

    def items(self, parent: Any, key: str, place: str, kind: type = list) -> Any:
        value = parent.get(key) if isinstance(parent, dict) else None
        if value is None:
            return kind()
        if not isinstance(value, kind):
            raise self.wrong(f"{place}{key}", f"a {kind.__name__} is expected, not {str(value)[:40]!r}")
        return value


def read_building(source: str | Path, *, graph: int | None = None, zones: Sequence[Zone] = ()) -> Site:
    """A building of Open-RMF's traffic editor (``*.building.yaml``).

    Parameters
    ----------
    source
        The file.
    graph
        The number of the fleet's graph; by default the lanes of all fleets.
    zones
        In the coordinates of the file.
    """
    import yaml

    file = _Map(Path(source))
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        depth = 0
        # Making a document of what is nested too deep would end the process.
        for event in yaml.parse(file.text, Loader=loader):
            starts, ends = (
                isinstance(event, kind) for kind in (yaml.CollectionStartEvent, yaml.CollectionEndEvent)
            )
            depth += starts - ends
            if depth > DEEPEST:
                raise file.wrong(f"line {event.start_mark.line + 1}", f"nested more than {DEEPEST} deep")
        document = yaml.load(file.text, Loader=loader)
    except yaml.YAMLError as error:
        raise file.wrong("YAML", str(error).replace("\n", " ")) from error
    levels = file.items(document, "levels", "", dict)
    if not levels:
        raise file.wrong("levels", "there are none; is it the building of a traffic editor?")
    system = document.get("coordinate_system") or "reference_image"
    if system not in COORDINATE_SYSTEMS:
        known = ", ".join(COORDINATE_SYSTEMS)
        raise file.wrong("coordinate_system", f"{str(system)[:40]!r} is not known; there are {known}")
    floors = _floors(levels)
    places: dict[str, Place] = {}
    lanes: list[Lane] = []
    inside, touched = _Zones(zones), dict[Lane, tuple[str, ...]]()
    cabins: dict[str, list[tuple[int, str]]] = {}
    walls: dict[str, list[tuple[Point, Point]]] = {}
    doors: dict[str, dict[str, tuple[Point, Point]]] = {}
    for floor, (level, content) in zip(floors, levels.items(), strict=True):
        level, at = _line(level), f"levels.{level}."
        vertices = file.items(content, "vertices", at)
        points: list[Point] = []
        for index, vertex in enumerate(vertices):
            if not isinstance(vertex, list):
                raise file.wrong(f"{at}vertices[{index}]", "a vertex is [x, y, ...]")
            x, y = (_number(each) for each in [*vertex[:2], None, None][:2])
            if x is None or y is None:
                raise file.wrong(f"{at}vertices[{index}]", "a vertex is [x, y, ...]")
            points.append((x, y))

        def segment(item: Any, place: str, points: list[Point] = points) -> tuple[int, int]:
            ends = item[:2] if isinstance(item, list) else []
            if len(ends) != 2 or not all(type(end) is int and 0 <= end < len(points) for end in ends):
                raise file.wrong(place, "it must begin with the numbers of two vertices")
            return ends[0], ends[1]

        scales = []
        for index, item in enumerate(file.items(content, "measurements", at)):
            a, b = segment(item, f"{at}measurements[{index}]")
            metres = _number(_parameter(item, "distance"))
            if metres and points[a] != points[b]:
                scales.append(metres / dist(points[a], points[b]))
        # Without a measurement the coordinates are metres.
        scale = sum(scales) / len(scales) if scales and system == "reference_image" else 1.0
        if system == "web_mercator" and points:
            scale = 1.0 / cosh(points[0][1] / EARTH_RADIUS)
        x_scale, y_scale = scale, COORDINATE_SYSTEMS[system] * scale
        if system == "wgs84" and points:
            x_scale = y_scale * cos(radians(points[0][1]))

        def metric(
            index: int, points: list[Point] = points, x_scale: float = x_scale, y_scale: float = y_scale
        ) -> Point:
            return points[index][0] * x_scale, points[index][1] * y_scale

        names = {}
        for index, vertex in enumerate(vertices):
            given = _line(vertex[3]) if len(vertex) > 3 else ""
            names[index] = given if given and given not in places else f"{level} {given or index}"
            cabin = _parameter(vertex, "lift_cabin")
            if cabin:
                cabins.setdefault(_line(cabin), []).append((floor, names[index]))
            places[names[index]] = Place(level, metric(index))
        gates = []
        for index, item in enumerate(file.items(content, "doors", at)):
            a, b = segment(item, f"{at}doors[{index}]")
            name = _line(_parameter(item, "name")) or f"{level} door {index}"
            gates.append((name, (points[a], points[b])))
            doors.setdefault(level, {})[name] = (metric(a), metric(b))
        for index, item in enumerate(file.items(content, "walls", at)):
            a, b = segment(item, f"{at}walls[{index}]")
            walls.setdefault(level, []).append((metric(a), metric(b)))
        for index, item in enumerate(file.items(content, "lanes", at)):
            a, b = segment(item, f"{at}lanes[{index}]")
            line = points[a], points[b]
            if graph is not None and (_parameter(item, "graph_idx") or 0) != graph:
                continue
            names_of_zones = inside.touched(level, line)
            if names_of_zones is None:
                continue
            through = [name for name, door in gates if _crosses(line, door)]
            limit = _number(_parameter(item, "speed_limit")) or 0.0
            for first, second in [(a, b), (b, a)][: 2 if _parameter(item, "bidirectional") else 1]:
                lane = Lane(
                    names[first],
                    names[second],
                    dist(metric(a), metric(b)),
                    f"{limit:g}" if limit > 0.0 else None,
                    " and ".join(through) or None,
                )
                lanes.append(lane)
                touched[lane] = names_of_zones
    inside.refuse_unused(place.level for place in places.values())
    for lift, stops in cabins.items():
        for floor, start in stops:
            lanes.extend(
                Lane(start, end, 0.0, None, lift, abs(floor - to)) for to, end in stops if to != floor
            )
    return _site(
        _line(document.get("name")) or Path(source).name, places, lanes, cabins, walls, doors, touched
    )


EARTH_RADIUS = 6_378_137.0
"""In metres."""

COORDINATE_SYSTEMS = {
    "reference_image": -1.0,
    "cartesian_meters": 1.0,
    "web_mercator": 1.0,
    "wgs84": radians(EARTH_RADIUS),
}
"""What the coordinates of a building are, and how far up a unit of y leads: in metres, or in pixels. Those of
`wgs84` are the longitude and the latitude in degrees."""


def _floors(levels: Mapping[Any, Any]) -> list[int]:
    """The number of each level from below, by its elevation; in the order of the file where it has none."""
    given = [content.get("elevation") if isinstance(content, dict) else None for content in levels.values()]
    heights = [_number(each) for each in given]
    if None in heights:
        return list(range(len(heights)))
    order = sorted(set(heights), key=lambda each: each or 0.0)
    return [order.index(each) for each in heights]


def _parameter(item: Any, name: str) -> Any:
    """A parameter of a vertex, a lane or a door; its last entry maps names to pairs of a type and a value."""
    parameters = item[-1] if isinstance(item, list) and item else None
    value = parameters.get(name) if isinstance(parameters, dict) else None
    return value[1] if isinstance(value, list) and len(value) == 2 else None


def read_route_graph(source: str | Path, *, zones: Sequence[Zone] = ()) -> Site:
    """A route graph of Nav2 (GeoJSON).

    Edges are lanes in one direction, with ``abs_speed_limit`` in metres per second or ``speed_limit`` as a
    share of the robot's speed. An edge with an operation ``open_door`` leads through a door. The name of a
    node is its ``metadata.name``, or its number. Other metadata and operations are not read.

    Parameters
    ----------
    source
        The file.
    zones
        In the coordinates of the file, on the level ``""``.
    """
    file = _Map(Path(source))
    try:
        document = json.loads(file.text)
    except (ValueError, RecursionError) as error:
        raise file.wrong("JSON", str(error)) from error
    features = file.items(document, "features", "")
    points: dict[Any, Point] = {}
    names: dict[Any, str] = {}
    edges = []
    for index, feature in enumerate(features):
        at = f"features[{index}]."
        properties, geometry = (file.items(feature, key, at, dict) for key in ("properties", "geometry"))
        if geometry.get("type") == "Point":
            point = [_number(each) for each in file.items(geometry, "coordinates", f"{at}geometry.")[:2]]
            identity = properties.get("id")
            if len(point) != 2 or None in point or not isinstance(identity, int | str):
                raise file.wrong(f"{at}", "a node has an id and coordinates [x, y]")
            if identity in points:
                raise file.wrong(f"{at}properties.id", f"two nodes have the id {identity!r}")
            points[identity] = (point[0] or 0.0, point[1] or 0.0)
            name = _line(file.items(properties, "metadata", f"{at}properties.", dict).get("name"))
            names[identity] = name if name and name not in names.values() else _line(identity)
        elif "startid" in properties:
            edges.append((f"{at}properties.", properties))
    if not points or not edges:
        raise file.wrong("features", "there are no nodes with edges; is it a route graph?")
    places = {names[identity]: Place("", point) for identity, point in points.items()}
    lanes: list[Lane] = []
    inside, touched = _Zones(zones), dict[Lane, tuple[str, ...]]()
    for at, properties in edges:
        ends = [properties.get(key) for key in ("startid", "endid")]
        for key, end in zip(("startid", "endid"), ends, strict=True):
            if not isinstance(end, int | str) or end not in points:
                raise file.wrong(f"{at}{key}", f"there is no node {end!r}")
        line = points[ends[0]], points[ends[1]]
        names_of_zones = inside.touched("", line)
        if names_of_zones is None:
            continue
        metadata = file.items(properties, "metadata", at, dict)
        # The scorer of Nav2 that reads this key takes it for a share of the robot's speed, or for percent.
        share = _number(metadata.get("speed_limit")) or 0.0
        metres = _number(metadata.get("abs_speed_limit")) or 0.0
        limit = f"({share if share <= 1.0 else share / 100.0:g} * speed)" if share > 0.0 else None
        door = _door_of(file.items(properties, "operations", at, dict))
        lane = Lane(
            names[ends[0]], names[ends[1]], dist(*line), f"{metres:g}" if metres > 0.0 else limit, door
        )
        lanes.append(lane)
        touched[lane] = names_of_zones
    inside.refuse_unused(())
    return _site(_line(document.get("name")) or Path(source).stem, places, lanes, (), {}, {}, touched)


def _door_of(operations: Mapping[str, Any]) -> str | None:
    for operation in operations.values():
        if isinstance(operation, dict) and operation.get("type") == "open_door":
            metadata = operation.get("metadata")
            number = metadata.get("door_id") if isinstance(metadata, dict) else None
            return f"door {_line(number)}".strip()
    return None


def _site(
    name: str,
    places: Mapping[str, Place],
    lanes: Sequence[Lane],
    lifts: Iterable[str],
    walls: Mapping[str, Sequence[tuple[Point, Point]]],
    doors: Mapping[str, Mapping[str, tuple[Point, Point]]],
    touched: Mapping[Lane, tuple[str, ...]],
) -> Site:
    """The site, with the places that lanes lead to. Of several lanes between two places the first counts."""
    if not any(lane.metres for lane in lanes):
        raise InvalidProblem([f"{name}: no lane is left; choose another graph, or smaller keep-out zones"])
    lanes = list({(lane.start, lane.end): lane for lane in reversed(lanes)}.values())[::-1]
    met = {end for lane in lanes for end in (lane.start, lane.end)}
    kept = {name: place for name, place in places.items() if name in met}
    return Site(name, kept, lanes, frozenset(lifts), walls, doors, touched)


PARAMETERS = {
    "speed": ("0.5", "metres per second, where a lane has no speed limit"),
    "people": ("0.5%", "people met per metre"),
    "giving_way": ("8", "seconds to wait until they have gone"),
    "passing": ("2", "seconds to pass them"),
    "passing_risk": ("0.1%", "the probability of touching somebody while passing"),
    "door_locked": ("5%", "the probability that a door is found locked"),
    "door_wait": ("120", "seconds until somebody opens it"),
    "lift_out_of_order": ("2%", "the probability that a lift is out of order"),
    "lift_repair": ("900", "seconds until it runs again"),
    "lift_wait": ("25", "seconds until the cabin is there"),
    "lift_ride": ("10", "seconds from floor to floor"),
    "driving": ("0.02", "battery for a metre, in percent"),
    "standing": ("0.005", "battery for a second without moving, in percent"),
    "risk_limit": ("0.05%", "the bound on the expected number of contacts on the mission"),
    "battery_limit": ("40", "percent of the battery that the mission may use"),
    "recovery": ("1800", "seconds to recover a robot without battery, for each stretch that is left"),
    "stranded_limit": ("1%", "the bound on the expected number of stretches without battery"),
}
"""The parameters of a mission: default and meaning."""


def mission(site: Site, stops: Sequence[str], *, battery_step: float | None = None) -> str:
    """The problem file of a mission that visits some stops in order.

    Parameters
    ----------
    site
        The map.
    stops
        The names of places; the first is the start.
    battery_step
        Makes a capacity of the battery, counted in steps of this many percent. By default its expected use is
        bounded.

    Raises
    ------
    UnknownName
        If there is no such place.
    InvalidProblem
        If a stop cannot be reached from the one before.
    """
    for stop in stops:
        if stop not in site.places:
            raise UnknownName("place", stop, site.places)
    if len(stops) < 2 or any(first == second for first, second in pairwise(stops)):
        raise InvalidProblem(["a mission has a start and at least one other stop; name each once in a row"])
    if battery_step is not None and not battery_step > 0.0:
        raise InvalidProblem([f"battery step {battery_step:g}: it must be positive, such as 1"])
    writer = _Writer(site)
    trips = {}
    for first, second in pairwise(stops):
        title = f"{first} to {second}"
        if title not in trips:
            trips[title] = writer.trip(first, second)
    return writer.document(stops, trips, battery_step)


@dataclass(frozen=True)
class _Way:
    """A stretch of lanes to the next place where there is something to choose or to learn."""

    lanes: tuple[Lane, ...]
    is_only: bool

    @property
    def end(self) -> str:
        return self.lanes[-1].end

    @property
    def gate(self) -> str | None:
        return self.lanes[0].gate

    @property
    def target(self) -> str:
        """The end, and how to get there if a shorter way has the same end."""
        return self.end if self.is_only or len(self.lanes) == 1 else f"{self.end} by {self.lanes[0].end}"

    @property
    def title(self) -> str:
        return f"{self.lanes[0].start} to {self.target}"


class _Writer:
    """Writes missions; `models` are the stretches that trips use, by name."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.models: dict[str, list[str]] = {}
        self.paths: dict[str, tuple[str, list[Point]]] = {}
        self.zones: dict[str, None] = {}

    def trip(self, start: str, goal: str) -> list[str]:
        """The lines of a procedure that leads from one stop to another.

        It has an event for each place and each set of gates that are known to be closed there. If these are
        too many, the robot remembers a few gates, and waits at the next one.
        """
        useful = self.site.useful(goal)
        gates = {lane.gate for lanes in useful.values() for lane in lanes if lane.gate is not None}
        most = len(gates)
        while True:
            models, paths = dict(self.models), dict(self.paths)
            lines = self._trip(start, goal, useful, most)
            if lines:
                break
            self.models, self.paths = models, paths
            most = min(most - 1, MOST_CLOSED)
        if most == len(gates):
            return lines
        # The robot that remembers nothing waits at each closed gate.
        then = f"remembers {most} of those that it found closed, and waits at the next one"
        return [f"# There are many doors: the robot {then if most else 'waits at each closed one'}.", *lines]

    def _trip(self, start: str, goal: str, useful: Mapping[str, Sequence[Lane]], most: int) -> list[str]:
        """The trip that remembers at most `most` closed gates; empty if it has too many events."""
        activities: dict[str, str] = {}
        events: dict[str, list[str]] = {}
        first = (start, frozenset[str]())
        queue, seen = deque([first]), {first}

        def reached(place: str, closed: frozenset[str]) -> str:
            if place == goal:
                return goal
            state = (place, closed)
            if state not in seen:
                seen.add(state)
                queue.append(state)
            return _event(place, closed)

        def run(model: str, closed: frozenset[str]) -> str:
            name = _event(model, closed)
            activities[name] = model
            return _quoted(name)

        while queue:
            if most and len(seen) > MOST_EVENTS:
                return []
            place, closed = queue.popleft()
            choices = events.setdefault(_event(place, closed), [])
            for way in self._ways(place, goal, useful):
                gate, then = way.gate, reached(way.end, closed)
                if gate is None:
                    choices.append(
                        f"{_quoted('to ' + way.target)}: "
                        f"{{runs: {run(self._stretch(way), closed)}, to: {_quoted(then)}}}"
                    )
                    continue
                through = f"{gate} to {way.target}"
                if gate in closed:
                    choices.append(
                        f"{_quoted('wait for ' + through)}: "
                        f"{{runs: {run(self._waiting(way, gate), closed)}, to: {_quoted(then)}}}"
                    )
                    continue
                chance = "lift_out_of_order" if gate in self.site.lifts else "door_locked"
                if len(closed) < most:
                    otherwise = f"to: {_quoted(reached(place, closed | {gate}))}"
                else:
                    waiting = run(self._waiting(way, gate), closed)
                    otherwise = f"runs: {waiting}, to: {_quoted(then)}"
                choices += [
                    f"{_quoted('through ' + through)}:",
                    f"  - {{probability: 1 - {chance}, runs: {run(self._stretch(way), closed)}, "
                    f"to: {_quoted(then)}}}",
                    f"  - {{probability: {chance}, {otherwise}}}",
                ]
            if not choices:
                raise InvalidProblem([f"no lane leads from {place} to {goal}"])
        lines = ["activities:"]
        lines += [f"  {_quoted(name)}: {{model: {_quoted(model)}}}" for name, model in activities.items()]
        lines += ["procedure:", f"  start: {_quoted(start)}", f"  end: {_quoted(goal)}", "  events:"]
        for event, choices in events.items():
            lines.append(f"    {_quoted(event)}:")
            lines += [f"      {choice}" for choice in choices]
        return lines

    def _ways(self, place: str, goal: str, useful: Mapping[str, Sequence[Lane]]) -> list[_Way]:
        """The ways from a place: along lanes until there is a choice, a gate or the goal."""
        found = []
        for lane in useful[place]:
            lanes, passed = [lane], {place}
            while lanes[-1].end != goal and lanes[-1].gate is None:
                here = lanes[-1].end
                passed.add(here)
                onwards = [each for each in useful[here] if each.end != lanes[-1].start]
                if len(onwards) != 1 or onwards[0].gate is not None or onwards[0].end in passed:
                    break
                lanes.append(onwards[0])
            found.append(tuple(lanes))
        ends = Counter(lanes[-1].end for lanes in found)
        return [_Way(lanes, ends[lanes[-1].end] == 1) for lanes in found]

    def _stretch(self, way: _Way) -> str:
        """The model of driving along a way, or of riding a lift."""
        if way.gate in self.site.lifts:
            model = f"{way.gate}, {way.title}"
            self.models[model] = _ride(way.lanes[0], "")
        else:
            model = way.title
            self.models[model] = self._drive(way)
            self._draw(model, way)
        return model

    def _waiting(self, way: _Way, gate: str) -> str:
        """The model of waiting at a closed gate, and of going through then."""
        model = f"wait for {gate}, {way.title}"
        if gate in self.site.lifts:
            self.models[model] = _ride(way.lanes[0], "lift_repair + ")
        else:
            self.models[model] = self._drive(way, "door_wait + ", "door_wait * standing + ")
            self._draw(model, way)
        return model

    def _draw(self, model: str, way: _Way) -> None:
        places = [self.site.places[name] for name in (way.lanes[0].start, *(lane.end for lane in way.lanes))]
        self.paths[model] = (places[0].level, [place.at for place in places])

    def _drive(self, way: _Way, delay: str = "", use: str = "") -> list[str]:
        """The model of driving along a way, with a time and a use of the battery before it."""
        by_limit: dict[str, float] = {}
        by_zone: dict[tuple[str, ...], float] = {}
        for lane in way.lanes:
            limit = lane.speed_limit or "speed"
            by_limit[limit] = by_limit.get(limit, 0.0) + lane.metres
            zones = self.site.zones.get(lane, ())
            self.zones.update(dict.fromkeys(zones))
            by_zone[zones] = by_zone.get(zones, 0.0) + lane.metres
        time = " + ".join(f"{_length(metres)} / {limit}" for limit, metres in by_limit.items())
        exposure = " + ".join(" * ".join([_length(metres), *zones]) for zones, metres in by_zone.items())
        met = f"people * {exposure}" if len(by_zone) == 1 else f"people * ({exposure})"
        metres = _length(sum(by_limit.values()))
        return [
            f"# {metres} m",
            "table:",
            "  on the way:",
            "    drive:",
            f"      to: {{there: 1 / (1 + {met}), people: 1 - 1 / (1 + {met})}}",
            f"      costs: {{time: {delay}{time}, battery: {use}{metres} * driving}}",
            "  people: *people",
            "start: on the way",
            "goal: there",
        ]

    def document(
        self, stops: Sequence[str], trips: Mapping[str, list[str]], battery_step: float | None
    ) -> str:
        """The whole file."""
        costs, units, battery = ["time", "risk", "battery"], 'time: s, battery: "%"', [""]
        if battery_step is not None:
            costs, units = ["time", "risk", "stranded"], "time: s"
            battery = [
                "",
                "# No run uses more. Decisions may depend on what is left. Each use is rounded up to a step.",
                "capacities:",
                f"  battery: {{at_most: battery_limit, step: {battery_step:g}}}",
                "",
            ]
        site, names = self.site, [f"trip {index + 1}" for index in range(len(stops) - 1)]
        used = "\n".join(line for lines in [*self.models.values(), *trips.values()] for line in lines)
        lines = [
            f"# A mission in {site.name}: {', then '.join(stops)}.",
            "# Edit anything. Show it with: hcssp show FILE. Solve it with: hcssp solve FILE",
            "format: hcssp-problem",
            "version: 1",
            f"name: {_quoted('mission in ' + site.name)}",
            f"costs: [{', '.join(costs)}]",
            f"units: {{{units}}}",
            "",
            "# Numbers with names. Change one with: hcssp solve FILE --set door_locked=20%",
            "parameters:",
        ]
        for name, (default, meaning) in PARAMETERS.items():
            if name.startswith(("door", "lift")):
                needed = name in used
            else:
                needed = battery_step is not None or name not in ("recovery", "stranded_limit")
            if needed:
                lines.append(f"  {name}: {default}  # {meaning}")
        lines += [
            f"  {name}: 5  # how many times as many people there are in this zone" for name in self.zones
        ]
        lines += [
            "",
            *battery,
            "# Stretches between the places where there is something to choose. Where the robot meets",
            "# people, it gives way, which takes time, or passes, which is a risk.",
            "models:",
        ]
        stranded = [] if battery_step is None else ["give_up: {time: recovery, stranded: 1}"]
        for name, model in self.models.items():
            lines += [f"  {_quoted(name)}:", *(f"    {line}" for line in [*model, *stranded])]
        # The first stretch says what the others repeat.
        first = lines.index("      people: *people") if "      people: *people" in lines else len(lines)
        lines[first : first + 1] = [
            "      people: &people",
            "        give way: {to: there, costs: {time: giving_way, battery: giving_way * standing}}",
            "        pass: {to: there, costs: {time: passing, risk: passing_risk}}",
        ]
        lines += [
            "",
            "# One procedure for each trip. An event is a place, with the doors and lifts that were found",
            "# closed on this trip. They stay closed unless the robot waits.",
            "procedures:",
        ]
        for title, trip in trips.items():
            lines += [f"  {_quoted(title)}:", *(f"    {line}" for line in trip)]
        lines += ["", "# The mission: the trips in order.", "activities:"]
        titles = [f"{first} to {second}" for first, second in pairwise(stops)]
        lines += [
            f"  {name}: {{procedure: {_quoted(title)}}}" for name, title in zip(names, titles, strict=True)
        ]
        lines += ["procedure:", "  start: stop 0", f"  end: stop {len(names)}", "  events:"]
        lines += [
            f"    stop {index}: {{go: {{runs: {name}, to: stop {index + 1}}}}}  # at {stops[index]}"
            for index, name in enumerate(names)
        ]
        lines += [
            "",
            "# What reports show of the site; paths are the lines that the models follow.",
            "drawing:",
            *self._drawing(stops),
            "",
            "# Bounds on expected totals. Change one with: hcssp solve FILE --bound risk=0.01%",
            "constraints:",
            *(f"  {cost}: {{at_most: {cost}_limit}}" for cost in costs[1:]),
        ]
        return "\n".join(lines) + "\n"

    def _drawing(self, stops: Sequence[str]) -> list[str]:
        """The lines of the drawing, level by level."""
        site = self.site
        gates: dict[str, dict[str, Point]] = {}
        for lane in site.lanes:
            if lane.gate in site.lifts:
                place = site.places[lane.start]
                gates.setdefault(place.level, {})[str(lane.gate)] = place.at
        lines = []
        levels = dict.fromkeys(place.level for place in site.places.values())
        for level in levels:
            paths = {name: line for name, (at, line) in self.paths.items() if at == level}
            places = {stop: [site.places[stop].at] for stop in stops if site.places[stop].level == level}
            lifts = {name: [point] for name, point in gates.get(level, {}).items()}
            lines.append(f"  {_quoted(level or 'ground')}:")
            if site.walls.get(level):
                lines.append("    walls:")
                lines += [f"      - {_coordinates(wall)}" for wall in site.walls[level]]
            for key, named in (
                ("doors", site.doors.get(level, {})),
                ("lifts", lifts),
                ("places", places),
                ("paths", paths),
            ):
                if named:
                    lines.append(f"    {key}:")
                    lines += [f"      {_quoted(name)}: {_coordinates(line)}" for name, line in named.items()]
        return lines


def _coordinates(line: Sequence[Point]) -> str:
    return "[" + ", ".join(f"{each:.2f}" for point in line for each in point) + "]"


def _ride(lane: Lane, delay: str) -> list[str]:
    time = f"{delay}lift_wait + {lane.floors} * lift_ride"
    return [
        f"# {lane.floors} floor{'s' if lane.floors > 1 else ''}",
        "table:",
        f"  waiting: {{ride: {{to: there, costs: {{time: {time}, battery: ({time}) * standing}}}}}}",
        "start: waiting",
        "goal: there",
    ]


def _length(metres: float) -> str:
    # Of a length of 0 nothing would cost anything.
    return f"{max(metres, 0.1):.1f}"


def _event(place: str, closed: frozenset[str]) -> str:
    return f"{place} ({', '.join(sorted(closed))} closed)" if closed else place


def _quoted(name: str) -> str:
    """A name as a YAML scalar: in quotes unless it is plain words."""
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_ .\-]*[A-Za-z0-9_]", name) and name.lower() not in (
        "yes",
        "no",
        "on",
        "off",
        "true",
        "false",
        "null",
    )
    return name if plain else json.dumps(name, ensure_ascii=False)
