"""The routes of the server's API and the shapes of its requests and answers, declared once.

Requests are checked against these declarations, and the OpenAPI document is made of them.

>>> checked({"runs": "many"}, Simulate)
Traceback (most recent call last):
    ...
hcssp.serve.api.BadRequest: runs: "many" is not a whole number
>>> checked({"runs": 100}, Simulate)
{'runs': 100}
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict

from hcssp.errors import HcsspError
from hcssp.files.shapes import Json, mistakes, schema_of
from hcssp.version import __version__

Keys = list[str | int]


class BadRequest(HcsspError):
    """A request that is not of the declared shape; the message names the place."""


class Nothing(TypedDict):
    """An empty object."""


class NewSession(TypedDict):
    """The start of a session: a text, a file of the folder, a built-in problem, a mission, or nothing.

    A mission visits the stops on the map of a robot fleet, a file of the folder called ``site``, or one of
    that name with this ``content``.
    """

    text: NotRequired[str]
    json: NotRequired[bool]
    file: NotRequired[str]
    builtin: NotRequired[str]
    parameters: NotRequired[dict[str, float]]
    scale: NotRequired[int]
    site: NotRequired[str]
    content: NotRequired[str]
    stops: NotRequired[list[str]]
    blank: NotRequired[bool]
    name: NotRequired[str]


class SiteFile(TypedDict):
    """The map of a robot fleet, in the folder unless the content is given: of Open-RMF, or of Nav2."""

    site: str
    content: NotRequired[str]


class Places(TypedDict):
    """The places of a map."""

    places: list[str]


class Operation(TypedDict):
    """An operation on the document: ``value`` for set and insert, ``to`` for rename."""

    op: Literal["set", "insert", "delete", "rename"]
    path: Keys
    value: NotRequired[Any]
    to: NotRequired[str]


class Edit(TypedDict):
    """A whole new text, or operations on the document, which are one step of undo.

    An edit that ``continues`` the last one, as while a slider is dragged, is a part of the same step.
    """

    text: NotRequired[str]
    operations: NotRequired[list[Operation]]
    revision: NotRequired[int]
    plan: NotRequired[bool]
    continues: NotRequired[bool]


class NewSettings(TypedDict):
    """When a search stops, and whether every edit begins one."""

    gap: NotRequired[float]
    time_limit: NotRequired[float]
    automatic: NotRequired[bool]


class SearchAction(TypedDict):
    """Start a search from the last plan, or stop it."""

    action: Literal["start", "stop"]


class Report(TypedDict):
    """The points of the slider of a report, and the seconds for them."""

    points: NotRequired[int]
    time_limit: NotRequired[float]


class Save(TypedDict):
    """The object to save, and its file in the folder."""

    what: Literal["problem", "plan", "certificate", "report"]
    file: str
    plan: NotRequired[int]
    replace: NotRequired[bool]


class Why(TypedDict):
    """A place: the name of an event, a text as for ``hcssp why``, or a pair of an activity and a state."""

    at: str | list[Any]
    plan: NotRequired[int]
    time_limit: NotRequired[float]


class Best(TypedDict):
    """How many of the best plans are wanted."""

    count: NotRequired[int]
    plan: NotRequired[int]
    time_limit: NotRequired[float]


class Curve(TypedDict):
    """The constraint whose bound is varied, and how many points are wanted."""

    constraint: NotRequired[str]
    points: NotRequired[int]
    plan: NotRequired[int]
    time_limit: NotRequired[float]


class Robust(TypedDict):
    """By what share of itself every probability may be wrong."""

    within: NotRequired[float]
    plan: NotRequired[int]


class Simulate(TypedDict):
    """How many runs are drawn, and how many of them are listed step by step."""

    runs: NotRequired[int]
    seed: NotRequired[int]
    play: NotRequired[int]
    plan: NotRequired[int]


class Compare(TypedDict):
    """Two plans."""

    first: int
    second: int


class NewRun(TypedDict):
    """The plan that is followed."""

    plan: NotRequired[int]
    seed: NotRequired[int]


class Step(TypedDict):
    """An observation: a label (a cell is a list), the outcome of a choice, and measured amounts."""

    observation: NotRequired[str | list[Any] | None]
    outcome: NotRequired[str | None]
    used: NotRequired[dict[str, float]]


class Replan(TypedDict):
    """The deadline in seconds, the amounts spent and used, and the old or the edited problem."""

    deadline: NotRequired[float]
    spent: NotRequired[dict[str, float] | None]
    used: NotRequired[dict[str, float]]
    problem: NotRequired[Literal["same", "edited"]]


class Rest(TypedDict):
    """How many runs are drawn."""

    runs: NotRequired[int]
    seed: NotRequired[int]


class Finding(TypedDict):
    """An error in the text, its place, and the remedy."""

    line: int
    path: str
    keys: Keys
    message: str
    text: str


class Settings(TypedDict):
    """When a search stops, and whether every edit begins one."""

    gap: float
    time_limit: float
    automatic: bool


class SearchState(TypedDict):
    """The progress of a search: ``limit`` is proven, ``own`` is the best plan's value; null: unknown."""

    status: Literal["idle", "searching", "done", "stopped", "failed", "infeasible"]
    plan: int
    revision: int
    seconds: float
    limit: float | None
    own: float | None
    gap: float | None
    iterations: int
    open: int | None
    memory: int
    words: str


class PlanHead(TypedDict):
    """A plan in a list of plans."""

    plan: int
    seq: int
    revision: int
    complete: bool
    current: bool
    brief: str
    own: float | None
    limit: float | None
    gap: float | None
    bounds: dict[str, float | None]
    costs: dict[str, float | None]


class Possible(TypedDict):
    """What can be observed next, how probable it is, and what to send for it."""

    probability: float
    outcome: str | None
    state: str | None
    observation: str | list[int] | None


class Replanned(TypedDict):
    """Whether the old plan is kept."""

    kept: bool
    words: str


class RunState(TypedDict):
    """The place of a run, the costs spent, and the expected costs until its end; each change has a number."""

    change: int
    plan: int
    steps: int
    trail: list[list[int]]
    page: Json | None
    replanned: Replanned | None
    over: bool
    event: str
    activity: str | None
    index: int | None
    state: str | None
    cell: list[int] | None
    action: str | None
    spent: dict[str, float | None]
    remaining: dict[str, float | None]
    left: dict[str, float | None]
    used: dict[str, float]
    capacities: dict[str, float]
    possible: list[Possible]
    words: str


class State(TypedDict):
    """A session: its text is what everything else follows from."""

    session: str
    name: str
    blank: bool
    revision: int
    text: str
    json: bool
    document: Any
    errors: list[Finding]
    valid: bool
    drawing: Json | None
    undo: int
    redo: int
    file: str | None
    saved: bool
    autosaved: bool
    settings: Settings
    search: SearchState
    plans: list[PlanHead]
    run: RunState | None


class BuiltIn(TypedDict):
    """A built-in problem."""

    name: str
    description: str
    size: Any
    parameters: list[Json]


class Listed(TypedDict):
    """A session that is open or saved."""

    session: str
    name: str
    saved: str
    open: bool


class Catalogue(TypedDict):
    """Possible starts of a session."""

    version: str
    folder: str
    builtin: list[BuiltIn]
    files: list[str]
    sites: list[str]
    sessions: list[Listed]
    limits: dict[str, float]


class PlanAnswer(TypedDict):
    """A plan, and its data for a report page."""

    head: PlanHead
    page: Json


class Reasons(TypedDict):
    """As ``hcssp why --json``, and in words."""

    reasons: Json
    words: str


class BestPlans(TypedDict):
    """As ``hcssp solve --alternatives --json``, in words, and a page with all of them."""

    plans: list[Json]
    words: str
    page: Json | None


class PageAnswer(TypedDict):
    """The data of a report page."""

    page: Json


class Robustness(TypedDict):
    """As ``hcssp robust --json``, and in words."""

    robustness: Json
    words: str


class Simulation(TypedDict):
    """The distribution of costs, and runs step by step, as in the data of a report page."""

    outlook: Json
    runs: list[Json]


class Outlook(TypedDict):
    """The distribution of the costs of the rest."""

    outlook: Json


class Pair(TypedDict):
    """A figure of two plans."""

    name: str
    first: float | None
    second: float | None


class Changed(TypedDict):
    """A choice in which two plans differ, with the conditions of each."""

    event: str
    name: str
    first: str | None
    second: str | None


class Comparison(TypedDict):
    """Two plans by names; a page of both if they are for the same rooms and procedure."""

    costs: list[Pair]
    activities: list[Pair]
    choices: list[Changed]
    page: Json | None


class Saved(TypedDict):
    """The file that was written."""

    file: str


class SavedPlan(TypedDict):
    """A plan in the file of a session."""

    head: Json
    page: str
    document: str
    text: str
    json: bool


class SavedSession(TypedDict):
    """The file of a session."""

    format: Literal["hcssp-session"]
    version: int
    name: str
    text: str
    json: bool
    file: str | None
    revision: int
    settings: Settings
    plan: SavedPlan | None


class Failure(TypedDict):
    """An error, its place, the value and the remedy."""

    error: str


@dataclass(frozen=True)
class Route:
    """A route of the API.

    Attributes
    ----------
    method, path
        Where; a part in braces stands for a value.
    name
        The method of the application that answers.
    summary
        Its summary.
    takes
        The shape of the request; None for requests without a body.
    gives
        The shape of the answer, or its media type.
    """

    method: Literal["GET", "POST", "DELETE"]
    path: str
    name: str
    summary: str
    takes: Any
    gives: Any


_S = "/api/sessions/{session}"
_P = _S + "/plans/{plan}"

ROUTES = (
    Route("GET", "/api/openapi.json", "openapi", "This description", None, Json),
    Route("GET", "/api/catalogue", "catalogue", "Possible starts of a session", None, Catalogue),
    Route("POST", "/api/places", "places", "The places of a map that a mission can visit", SiteFile, Places),
    Route("POST", "/api/sessions", "begin", "Begin a session", NewSession, State),
    Route("GET", _S, "state", "A session, which is opened again if it was closed", None, State),
    Route("DELETE", _S, "forget", "Close a session and delete its saved state", None, Nothing),
    Route("GET", _S + "/events", "events", "The events of a session", None, "text/event-stream"),
    Route("POST", _S + "/edit", "edit", "Edit the text", Edit, State),
    Route("POST", _S + "/undo", "undo", "Undo the last edit", Nothing, State),
    Route("POST", _S + "/redo", "redo", "Redo what was undone", Nothing, State),
    Route("POST", _S + "/settings", "settings", "When searches stop", NewSettings, State),
    Route("POST", _S + "/search", "search", "Start or stop the search", SearchAction, State),
    Route("GET", _S + "/problem", "problem", "The problem file", None, "text/plain"),
    Route("GET", _P, "plan", "A plan with the data of its page", None, PlanAnswer),
    Route("GET", _P + "/document", "document", "The plan's file", None, Json),
    Route("POST", _P + "/report", "report", "A report page", Report, "text/html"),
    Route("POST", _P + "/certificate", "certificate", "A certificate", Nothing, "application/octet-stream"),
    Route("POST", _S + "/save", "save", "Save a file in the folder", Save, Saved),
    Route("POST", _S + "/ask/why", "why", "The costs of the alternatives at a place", Why, Reasons),
    Route("POST", _S + "/ask/best", "best", "The best plans", Best, BestPlans),
    Route("POST", _S + "/ask/curve", "curve", "The plans along the curve of a bound", Curve, PageAnswer),
    Route("POST", _S + "/ask/robust", "robust", "The worst case of a plan", Robust, Robustness),
    Route("POST", _S + "/ask/simulate", "simulate", "Simulated runs", Simulate, Simulation),
    Route("POST", _S + "/ask/compare", "compare", "The differences between two plans", Compare, Comparison),
    Route("POST", _S + "/run", "run_start", "Start to follow a plan", NewRun, RunState),
    Route("GET", _S + "/run", "run_state", "Where the run is", None, RunState),
    Route("POST", _S + "/run/step", "run_step", "Pass what was observed", Step, RunState),
    Route("POST", _S + "/run/replan", "run_replan", "Plan the rest again", Replan, RunState),
    Route(
        "POST", _S + "/run/outlook", "run_outlook", "The distribution of the costs of the rest", Rest, Outlook
    ),
    Route("POST", _S + "/run/end", "run_end", "Forget the run", Nothing, Nothing),
)
"""Every route of the API; the application has a method for each."""


def checked(value: Any, shape: Any) -> Any:
    """The value, if it is of a declared shape.

    Raises
    ------
    BadRequest
        If it is not; the message names the key.
    """
    for mistake in mistakes(value, shape):
        raise BadRequest(mistake)
    return value


def openapi_document() -> Json:
    """The OpenAPI document of all routes."""
    parts: Json = {}
    paths: dict[str, Json] = {}
    failure = {"application/json": {"schema": schema_of(Failure, parts)}}
    for route in ROUTES:
        media = route.gives if isinstance(route.gives, str) else "application/json"
        shape = {"type": "string"} if isinstance(route.gives, str) else schema_of(route.gives, parts)
        made: Json = {
            "operationId": route.name,
            "summary": route.summary,
            "parameters": [
                {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
                for name in ("session", "plan")
                if f"{{{name}}}" in route.path
            ],
            "responses": {
                "201" if route.name == "begin" else "200": {
                    "description": route.summary,
                    "content": {media: {"schema": shape}},
                },
                "default": {"description": "What is wrong", "content": failure},
            },
        }
        if route.takes is not None:
            taken = {"application/json": {"schema": schema_of(route.takes, parts)}}
            made["requestBody"] = {"required": True, "content": taken}
        paths.setdefault(route.path, {})[route.method.lower()] = made
    about = {"title": "hcssp serve", "version": __version__, "description": "A live planner."}
    return {"openapi": "3.1.0", "info": about, "paths": paths, "components": {"schemas": parts}}
