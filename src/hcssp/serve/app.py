"""The server: routes, files of the page, events, and what protects them.

A browser opens pages of other sites, too, so every request is judged before it is looked at: the host that it
names must be this server (against DNS rebinding), the page that it comes from must be this server's (against
requests across sites), a body must be JSON, and where a token is asked for it must be right. Sizes and times
are limited by :class:`~hcssp.serve.parameters.ServeParameters`.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import logging
import re
import signal
import socket
import struct
from base64 import b64decode
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from functools import partial
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import parse_qs, urlsplit

from hcssp.errors import HcsspError, MissingDependency
from hcssp.files.atomic import write_atomically
from hcssp.reports.results_text import problems_document
from hcssp.serve.api import ROUTES, BadRequest, Route, checked, openapi_document
from hcssp.serve.parameters import ServeParameters
from hcssp.serve.sessions import PROBLEM_SUFFIXES, SITE_SUFFIXES, Raw, Refused, Session, Sessions
from hcssp.start import SIGNALS
from hcssp.version import __version__

try:
    import uvicorn
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import RedirectResponse, Response
    from starlette.routing import Match
    from starlette.routing import Route as Address
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ImportError as error:
    raise MissingDependency(
        "the planner in the browser needs Starlette and uvicorn; install them with: "
        "pip install 'hcssp[serve]'"
    ) from error

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

logger = logging.getLogger(__name__)

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)

HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}

PAGE_TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def encoded(value: Mapping[str, Any]) -> bytes:
    """An object as JSON; its members that are JSON already stay as they are."""
    members = (
        f"{json.dumps(key)}:{each if isinstance(each, Raw) else json.dumps(each, allow_nan=False)}"
        for key, each in value.items()
    )
    return ("{" + ",".join(members) + "}").encode()


def answered(value: Mapping[str, Any], status: int = 200) -> Response:
    """An answer in JSON."""
    return Response(encoded(value), status, media_type="application/json")


class Guard:
    """Judges requests by their headers.

    Parameters
    ----------
    host
        The address that the server listens to.
    token
        The token that clients must send; None for no token.
    port
        Where the server listens.
    """

    def __init__(self, host: str, token: str | None, port: int) -> None:
        self._host, self._token = host, token
        # Browsers send cookies to all ports of a machine.
        self.cookie = f"hcssp-token-{port}"
        self._is_local = host in LOOPBACK

    def refuse(self, request: Request) -> None:
        """Refuse a request that this server is not meant for, or that comes from elsewhere.

        Raises
        ------
        Refused
            If it is one of these.
        """
        headers = request.headers
        hosts = headers.getlist("host")
        name = _host_of(hosts[0]) if len(hosts) == 1 else None
        if name is None or not self._is_own(name):
            raise Refused(
                403, "the Host header names another server; use the address that hcssp serve printed"
            )
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != hosts[0]:
            raise Refused(403, "requests from pages of other sites are refused")
        site = headers.get("sec-fetch-site", "none")
        opened = request.url.path == "/" and headers.get("sec-fetch-mode") == "navigate"
        if site not in ("none", "same-origin") and not opened:
            raise Refused(403, "requests from pages of other sites are refused")
        if request.method not in ("GET", "HEAD", "POST", "DELETE"):
            raise Refused(405, f"the method {request.method[:20]} is not used here")
        if request.method == "POST":
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                raise Refused(415, "send JSON, with the header Content-Type: application/json")

    def _is_own(self, name: str) -> bool:
        if name in LOOPBACK:
            return True
        if self._is_local:
            return False
        try:
            # An address cannot be rebound, unlike a name.
            ipaddress.ip_address(name)
        except ValueError:
            return name in (self._host, socket.gethostname().lower())
        return True

    def knows_token(self, request: Request) -> bool:
        """Whether a request has the token, in its header or its cookie."""
        if self._token is None:
            return True
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        return any(self.is_token(each) for each in (given, request.cookies.get(self.cookie, "")))

    def is_token(self, given: str) -> bool:
        """Whether this is the token; it takes equally long whatever is wrong with it."""
        return self._token is not None and hmac.compare_digest(given.encode(), self._token.encode())


def _host_of(header: str) -> str | None:
    try:
        return urlsplit(f"//{header}").hostname
    except ValueError:
        return None


class Application:
    """Answers requests; it has a method for every route of the API.

    Parameters
    ----------
    sessions
        The sessions.
    guard
        Judges requests.
    first
        The default start of a session.
    """

    def __init__(self, sessions: Sessions, guard: Guard, first: Mapping[str, Any]) -> None:
        self.sessions, self._guard, self._first = sessions, guard, dict(first)
        self._limits = sessions.limits
        self._routes = [
            Address(route.path, partial(self._answer, route), methods=[route.method]) for route in ROUTES
        ]
        self._routes += [
            Address("/", self._index, methods=["GET"]),
            Address("/favicon.ico", self._no_icon, methods=["GET"]),
            Address("/page/{name}", self._page, methods=["GET"]),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request (ASGI)."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        request = Request(scope, receive)
        try:
            response = await self._judged(request)
        except HcsspError as error:
            status = error.status if isinstance(error, Refused) else 422
            response = answered({"error": str(error)}, status)
        except ClientDisconnect:
            return
        except Exception:
            logger.exception("a fault while answering %s", request.url.path)
            response = answered({"error": "a bug in hcssp; the details are in its log"}, 500)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        await response(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self.sessions.warm_up()
                await send({"type": "lifespan.startup.complete"})
            else:
                await self.sessions.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _judged(self, request: Request) -> Response:
        self._guard.refuse(request)
        if not self._guard.knows_token(request):
            given = parse_qs(request.url.query).get("token", [""])[0]
            if request.url.path == "/" and self._guard.is_token(given):
                response = RedirectResponse("/", 303)
                response.set_cookie(self._guard.cookie, given, httponly=True, samesite="strict")
                return response
            raise Refused(401, "the token is missing or wrong; hcssp serve has printed it with its address")
        matches = [(route, *route.matches(request.scope)) for route in self._routes]
        for route, match, found in matches:
            if match is Match.FULL:
                request.scope.update(found)
                answer: Callable[[Request], Awaitable[Response]] = route.endpoint
                return await answer(request)
        if any(match is Match.PARTIAL for _, match, _ in matches):
            raise Refused(405, f"{request.method} is not answered here; see /api/openapi.json")
        raise Refused(404, "there is no such address; see /api/openapi.json")

    # The page.

    async def _index(self, request: Request) -> Response:
        return self._file("index.html")

    async def _no_icon(self, request: Request) -> Response:
        return Response(status_code=204)

    async def _page(self, request: Request) -> Response:
        return self._file(request.path_params["name"])

    def _file(self, name: str) -> Response:
        """A file of the page, or one that it shares with reports."""
        kind = PAGE_TYPES.get(Path(name).suffix)
        for package in ("hcssp.serve", "hcssp.reports"):
            folder = files(package) / "page"
            known = {each.name for each in folder.iterdir()} if folder.is_dir() else set()
            if kind is not None and name in known:
                return Response((folder / name).read_bytes(), media_type=kind)
        raise Refused(404, "there is no such file of the page")

    # The API.

    async def _answer(self, route: Route, request: Request) -> Response:
        body: Any = {}
        if route.takes is not None:
            body = checked(await self._body(request), route.takes)
        given = dict(request.path_params)
        if "session" in given:
            given["session"] = await self.sessions.find(given["session"])
        if "plan" in given:
            given["plan"] = _plan_number(given["plan"], given["session"])
        if route.takes is not None:
            given["body"] = body
        answer = await getattr(self, route.name)(**given)
        response = (
            answer
            if isinstance(answer, Response)
            else answered(answer, 201 if route.name == "begin" else 200)
        )
        if "download" in request.query_params and isinstance(given.get("session"), Session):
            name = re.sub(r"[^\w.-]+", "-", given["session"].name, flags=re.ASCII)[:80]
            ending = {"problem": ".yaml", "document": ".plan.json"}.get(route.name, ".json")
            response.headers["Content-Disposition"] = f'attachment; filename="{name}{ending}"'
        return response

    async def _body(self, request: Request) -> Any:
        """The body of a request, of limited size, within limited time."""
        content = bytearray()

        async def read() -> None:
            async for chunk in request.stream():
                content.extend(chunk)
                if len(content) > self._limits.body_bytes:
                    raise Refused(
                        413, f"the request is larger than the {self._limits.body_bytes:,} bytes allowed"
                    )

        length = request.headers.get("content-length", "0")
        if length.isdecimal() and int(length[:20]) > self._limits.body_bytes:
            raise Refused(413, f"the request is larger than the {self._limits.body_bytes:,} bytes allowed")
        try:
            await asyncio.wait_for(read(), self._limits.client_seconds)
            return json.loads(
                content.decode() or "{}", parse_constant=_refused, parse_float=_number, parse_int=_whole
            )
        except TimeoutError:
            raise Refused(408, "the request took too long to arrive") from None
        except (ValueError, RecursionError) as error:
            raise BadRequest(f"the request is not JSON: {error}") from None

    async def openapi(self) -> Mapping[str, Any]:
        return openapi_document()

    async def catalogue(self) -> Mapping[str, Any]:
        files = self.sessions.files
        return {
            "version": __version__,
            "folder": self.sessions.folder.name,
            "builtin": problems_document()["problems"],
            "files": await asyncio.to_thread(files, PROBLEM_SUFFIXES),
            "sites": await asyncio.to_thread(files, SITE_SUFFIXES),
            "sessions": await asyncio.to_thread(self.sessions.saved),
            "limits": asdict(self._limits),
        }

    async def begin(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        sources = [key for key in ("text", "file", "builtin", "site", "blank") if key in body]
        if len(sources) > 1:
            raise BadRequest(f"{sources[1]}: begin with {sources[0]} or with this, not with both")
        if not sources:
            body = {**self._first, **body}
        text, file = body.get("text"), body.get("file")
        is_json = bool(body.get("json", False))
        if file is not None:
            text = await asyncio.to_thread(self.sessions.read, file)
            is_json = file.endswith(".json")
        name = body.get("name") or (Path(file).stem if file else body.get("builtin")) or "problem"
        made = {
            "builtin": body.get("builtin"),
            "parameters": body.get("parameters", {}),
            "scale": body.get("scale", 1),
            "site": self.sessions.site(body["site"], body.get("content")) if "site" in body else None,
            "content": body.get("content"),
            "stops": body.get("stops", []),
        }
        return (await self.sessions.begin(name, text, is_json, file, made)).state()

    async def places(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return await self.sessions.places(body["site"], body.get("content"))

    async def state(self, session: Session) -> Mapping[str, Any]:
        return session.state()

    async def forget(self, session: Session) -> Mapping[str, Any]:
        await self.sessions.forget(session)
        return {}

    async def edit(self, session: Session, body: Mapping[str, Any]) -> Mapping[str, Any]:
        operations = body.get("operations", [])
        if ("text" in body) == bool(operations):
            raise BadRequest("give either a text or operations")
        if len(operations) > self._limits.operations:
            raise Refused(413, f"{len(operations)} operations; give at most {self._limits.operations}")
        for index, each in enumerate(operations):
            needed = {"set": "value", "insert": "value", "rename": "to"}.get(each["op"])
            if needed is not None and needed not in each:
                raise BadRequest(f"operations[{index}].{needed}: this key is missing")
        plan, continues = body.get("plan", True), body.get("continues", False)
        await session.edit(body.get("text"), operations, body.get("revision"), plan, continues)
        return session.state()

    async def undo(self, session: Session, body: Mapping[str, Any]) -> Mapping[str, Any]:
        await session.undo(True)
        return session.state()

    async def redo(self, session: Session, body: Mapping[str, Any]) -> Mapping[str, Any]:
        await session.undo(False)
        return session.state()

    async def settings(self, session: Session, body: Mapping[str, Any]) -> Mapping[str, Any]:
        for key in ("gap", "time_limit"):
            if key in body and not body[key] >= 0.0:
                raise BadRequest(f"{key}: {body[key]} is negative; give a number that is at least 0")
        session.settings = {**session.settings, **body}
        await session.save()
        return session.state()

    async def search(self, session: Session, body: Mapping[str, Any]) -> Mapping[str, Any]:
        await (session.begin_search() if body["action"] == "start" else session.stop_search())
        return session.state()

    async def problem(self, session: Session) -> Response:
        return Response(session.text, media_type="text/plain")

    async def plan(self, session: Session, plan: int) -> Mapping[str, Any]:
        kept = session.kept(plan)
        return {"head": session.head(plan), "page": Raw(kept.page)}

    async def document(self, session: Session, plan: int) -> Response:
        return Response(session.kept(plan).document, media_type="application/json")

    async def report(self, session: Session, plan: int, body: Mapping[str, Any]) -> Response:
        limit, points = self._seconds(body), body.get("points", 0)
        made = await self._asked(session, "report", limit, plan=plan, points=points, time_limit=limit)
        # A report is a document of its own, with scripts inside; it must not run as a page of this server.
        return Response(made["html"], media_type="text/html", headers={"Content-Security-Policy": "sandbox"})

    async def certificate(self, session: Session, plan: int, body: Mapping[str, Any]) -> Response:
        made = await self._asked(session, "certificate", 0.0, plan=plan)
        return Response(b64decode(made["file"]), media_type="application/octet-stream")

    async def save(self, session: Session, body: Mapping[str, Any]) -> Mapping[str, Any]:
        what, name, plan = body["what"], body["file"], body.get("plan")
        own = what == "problem" and name == session.file
        suffixes = _SUFFIXES[what]
        if what == "problem":
            suffixes = (".json",) if session.is_json else (".yaml", ".yml")
        path = self.sessions.target(name, suffixes, bool(body.get("replace", False)) or own)
        content: str | bytes = session.text
        if what != "problem":
            number = max(session.plans, default=0) if plan is None else plan
            content = session.kept(number).document
        if what == "certificate":
            content = bytes((await self.certificate(session, number, {})).body)
        elif what == "report":
            content = bytes((await self.report(session, number, {})).body)
        await asyncio.to_thread(write_atomically, path, content)
        if what == "problem":
            session.keep_as(name)
        session.publish("saved", {"file": name, "what": what})
        return {"file": name}

    # Questions.

    async def why(self, session: Session, body: Mapping[str, Any]) -> Mapping[str, Any]:
        limit = self._seconds(body)
        return await self._asked(
            session, "why", 4 * limit, plan=body.get("plan"), at=body["at"], time_limit=limit
        )

    async def best(self, session: Session, body: Mapping[str, Any]) -> Mapping[str, Any]:
        limit, count = self._seconds(body), self._count(body, "count", 5)
        return await self._asked(session, "best", limit, plan=body.get("plan"), count=count, time_limit=limit)

    async def curve(self, session: Session, body: Mapping[str, Any]) -> Mapping[str, Any]:
        limit, points = self._seconds(body), self._count(body, "points", self._limits.points)
        wanted = {"plan": body.get("plan"), "constraint": body.get("constraint"), "points": points}
        return await self._asked(session, "curve", limit, time_limit=limit, **wanted)

    async def robust(self, session: Session, body: Mapping[str, Any]) -> Mapping[str, Any]:
        within = body.get("within", 0.05)
        if not 0.0 <= within <= 1.0:
            raise BadRequest(f"within: {within} is not a share between 0 and 1")
        return await self._asked(session, "robust", 0.0, plan=body.get("plan"), within=within)

    async def simulate(self, session: Session, body: Mapping[str, Any]) -> Mapping[str, Any]:
        runs, play = (
            self._count(body, "runs", self._limits.samples),
            self._count(body, "play", self._limits.runs),
        )
        wanted = {"plan": body.get("plan"), "runs": runs, "play": play, "seed": self._count(body, "seed", 0)}
        return await self._asked(session, "simulate", 0.0, **wanted)

    async def compare(self, session: Session, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return await self._asked(session, "compare", 0.0, first=body["first"], second=body["second"])

    # Runs.

    async def run_start(self, session: Session, body: Mapping[str, Any]) -> Mapping[str, Any]:
        seed = self._count(body, "seed", 0)
        return await self._followed(session, "run_start", plan=body.get("plan"), seed=seed)

    async def run_state(self, session: Session) -> Mapping[str, Any]:
        if session.run is None:
            raise Refused(404, "no run was started; start one first")
        return session.run

    async def run_step(self, session: Session, body: Mapping[str, Any]) -> Mapping[str, Any]:
        seen = {"observation": body.get("observation"), "outcome": body.get("outcome")}
        return await self._followed(session, "run_step", **seen, used=body.get("used", {}))

    async def run_replan(self, session: Session, body: Mapping[str, Any]) -> Mapping[str, Any]:
        deadline = self._seconds({"time_limit": body.get("deadline", 2.0)})
        wanted = {key: body.get(key) for key in ("spent", "used")} | {"problem": body.get("problem", "same")}
        return await self._followed(session, "run_replan", deadline=deadline, **wanted)

    async def run_outlook(self, session: Session, body: Mapping[str, Any]) -> Mapping[str, Any]:
        runs, seed = self._count(body, "runs", self._limits.samples), self._count(body, "seed", 0)
        return await self._asked(session, "run_outlook", 0.0, runs=runs, seed=seed)

    async def run_end(self, session: Session, body: Mapping[str, Any]) -> Mapping[str, Any]:
        await self._asked(session, "run_end", 0.0)
        session.run = None
        return {}

    async def _followed(self, session: Session, do: str, **arguments: Any) -> Mapping[str, Any]:
        state = await self._asked(session, do, 0.0, **arguments)
        # The page of the plan for the rest is sent once, and to those who ask where the run is.
        before = None if do == "run_start" or session.run is None else session.run["page"]
        session.run_changes += 1
        state = {**state, "change": session.run_changes}
        session.run = {**state, "page": state["page"] or before}
        session.publish("run", {key: state[key] for key in ("change", "steps", "over")})
        return state

    async def _asked(self, session: Session, do: str, seconds: float, **arguments: Any) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = await session.ask(do, seconds + self._limits.ask_seconds, **arguments)
        return answer

    def _seconds(self, body: Mapping[str, Any]) -> float:
        """The time limit of a question."""
        limit = float(body.get("time_limit", 5.0))
        if not 0.0 <= limit <= self._limits.ask_seconds:
            raise BadRequest(
                f"time_limit: {limit:g} is not between 0 and {self._limits.ask_seconds:g} seconds"
            )
        return limit

    def _count(self, body: Mapping[str, Any], key: str, default: int) -> int:
        count = int(body.get(key, default))
        if not 0 <= count <= self._limits.most_runs:
            raise BadRequest(f"{key}: {count} is not between 0 and {self._limits.most_runs:,}")
        return count

    # Events.

    async def events(self, session: Session) -> Response:
        return EventStream(session, self._limits)


_SUFFIXES = {
    "problem": PROBLEM_SUFFIXES,
    "plan": (".json",),
    "certificate": (".cert",),
    "report": (".html",),
}


class EventStream(Response):
    """The events of a session, until the client goes away or the session is closed."""

    media_type = "text/event-stream"

    def __init__(self, session: Session, limits: ServeParameters) -> None:
        super().__init__(media_type=self.media_type)
        self._session, self._limits = session, limits
        # The length of a stream is not known.
        self.raw_headers = [each for each in self.raw_headers if each[0] != b"content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events (ASGI)."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        gone = asyncio.create_task(_gone(receive))
        subscriber = self._session.subscribe()
        number = 0
        try:
            while not gone.done():
                woken = asyncio.create_task(subscriber.wake.wait())
                await asyncio.wait(
                    {woken, gone}, timeout=self._limits.ping_seconds, return_when="FIRST_COMPLETED"
                )
                woken.cancel()
                subscriber.wake.clear()
                waiting, subscriber.waiting = subscriber.waiting, {}
                text = "" if waiting else ": ping\n\n"
                for event, data in waiting.values():
                    number += 1
                    text += f"id: {number}\nevent: {event}\ndata: {json.dumps(data, allow_nan=False)}\n\n"
                await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
                if "closed" in waiting:
                    break
            await send({"type": "http.response.body", "body": b""})
        finally:
            gone.cancel()
            self._session.unsubscribe(subscriber)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _plan_number(text: str, session: Session) -> int:
    if text == "newest":
        return max(session.plans, default=0)
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
        raise Refused(404, f"there is no plan {text[:40]!r}; plans have numbers, and one is the newest")
    return int(text)


_DIGITS = 15
"""Whole numbers of more digits are none that a plan, a count or a size can have."""


def _whole(text: str) -> int:
    return int(text) if len(text) <= _DIGITS else _refused(text[:_DIGITS] + "...")


def _number(text: str) -> float:
    value = float(text)
    return value if isfinite(value) else _refused(text[:_DIGITS] + "...")


def _refused(number: str) -> NoReturn:
    raise ValueError(f"{number} is not a usable number")


def impatient(limits: ServeParameters) -> type[H11Protocol]:
    """A protocol of HTTP that closes connections whose clients are too slow to send or to read."""

    class Impatient(H11Protocol):
        _late: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > limits.connections:
                transport.abort()
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._watch()

        def resume_writing(self) -> None:
            super().resume_writing()
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self._watch()

        @property
        def _waits(self) -> bool:
            """Whether it is the client's turn: to send the headers of a request, or to read."""
            is_idle = self.cycle is None or self.cycle.response_complete
            return not self.transport.is_closing() and (is_idle or self.flow.write_paused)

        def _watch(self) -> None:
            """The time does not begin again with every byte, however slowly they come."""
            if self._waits and self._late is None:
                self._late = self.loop.call_later(limits.client_seconds, self._end)
            elif not self._waits and self._late is not None:
                self._late.cancel()
                self._late = None

        def _end(self) -> None:
            self._late = None
            if not self._waits:
                return
            if self.flow.write_paused:
                # The system drops unread input, too.
                stream = self.transport.get_extra_info("socket")
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.transport.abort()

    return Impatient


class CannotListen(HcsspError):
    """The address is in use or not one of this machine."""


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises
    ------
    CannotListen
        If that is impossible.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind, protocol)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
            made.listen()
        except OSError:
            made.close()
            raise
    except OSError as error:
        remedy = "choose another one with --port, or 0 for a free one"
        raise CannotListen(
            f"{host}, port {port}: the server cannot listen there: {error.strerror}; {remedy}"
        ) from error
    return made


def serve(
    listener: socket.socket,
    folder: Path,
    *,
    host: str = "127.0.0.1",
    token: str | None = None,
    first: Mapping[str, Any] | None = None,
    limits: ServeParameters | None = None,
) -> None:
    """Answer requests until a signal comes.

    Parameters
    ----------
    listener
        From :func:`listening`; it is closed.
    folder
        The project folder.
    host
        The address that was asked for.
    token
        The token that clients must send; None for no token.
    first
        The default start of a session, as in the API.
    limits
        The limits.
    """
    limits = limits or ServeParameters()
    application = Application(
        Sessions(folder, limits), Guard(host, token, listener.getsockname()[1]), first or {"blank": True}
    )
    config = uvicorn.Config(
        application,
        http=impatient(limits),
        ws="none",
        lifespan="on",
        log_config=None,
        log_level=logging.CRITICAL,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    for number in set(SIGNALS) - {signal.SIGINT, signal.SIGTERM}:
        # The terminal is gone; uvicorn knows only of the others.
        signal.signal(number, lambda *_: setattr(server, "should_exit", True))
    server.run(sockets=[listener])
