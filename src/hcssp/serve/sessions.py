"""Sessions: the text of each with its history, its worker process, its plans, and its saved state.

The text is what everything else follows from; every edit, of the text or of the drawing, goes through
:meth:`Session.edit`. What was saved of a session, its text and its newest plan, is written as a whole before
an edit is answered.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import Any

from hcssp.errors import CannotWrite, HcsspError
from hcssp.files.atomic import read_json, read_text, write_atomically
from hcssp.files.problem_file.document import Unreadable, find_beside
from hcssp.serve.api import SavedSession, checked
from hcssp.serve.parameters import OUT_OF_MEMORY, ServeParameters

Message = dict[str, Any]


class Refused(HcsspError):
    """A request that cannot be met.

    Parameters
    ----------
    status
        The status of HTTP.
    message
        What, where, the value and the remedy.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class WorkerDied(Refused):
    """The worker process has ended in the middle of its work, or was killed since that took too long."""


class Pending:
    """A request that waits: until it is taken up, and until it is answered."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.begun: asyncio.Future[None] = loop.create_future()
        self.answer: asyncio.Future[Any] = loop.create_future()

    def fail(self, error: Exception) -> None:
        """There will be no answer."""
        for future in (self.begun, self.answer):
            if not future.done():
                future.set_exception(error)

    def forget(self) -> None:
        """Nothing waits for it any more."""
        for future in (self.begun, self.answer):
            if not future.cancel() and not future.cancelled():
                # What it holds has been raised, or is no longer wanted.
                future.exception()


class Worker:
    """The server's end of a worker process.

    Attributes
    ----------
    on_event
        Called with every event of the worker.
    on_death
        Called with why, once the process has ended by itself.
    """

    def __init__(self, process: asyncio.subprocess.Process, limits: ServeParameters) -> None:
        self._process = process
        self._limits = limits
        self._count = 0
        self._pending: dict[int, Pending] = {}
        self._closed = self._is_ended = False
        self._is_ready = asyncio.Event()
        self.on_event: Callable[[Message], None] = lambda event: None
        self.on_death: Callable[[str], None] = lambda why: None
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def started(cls, limits: ServeParameters) -> Worker:
        """A new process; it imports its modules while it waits for the first request."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "hcssp.serve.worker", json.dumps(asdict(limits))),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=limits.answer_bytes,
            # Ctrl-C is for the server, which ends its workers.
            start_new_session=True,
        )
        return cls(process, limits)

    @property
    def process_id(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended."""
        return not self._is_ended and self._process.returncode is None

    async def ask(self, do: str, seconds: float, **arguments: Any) -> Any:
        """The answer to a request.

        Raises
        ------
        Refused
            If the worker refuses it, or takes too long and is killed.
        WorkerDied
            If the process ends.
        """
        self._count += 1
        number, pending = self._count, Pending()
        self._pending[number] = pending
        try:
            await self._begun(pending, {"id": number, "do": do, "with": arguments})
            return await asyncio.wait_for(pending.answer, seconds)
        except TimeoutError as error:
            self.kill()
            took = f"it took longer than {seconds:g} seconds, so the worker process was ended"
            raise WorkerDied(_TOO_LONG, took) from error
        finally:
            del self._pending[number]
            pending.forget()

    async def _begun(self, pending: Pending, request: Message) -> None:
        """Send a request, and wait until the worker has taken it up."""
        limits, stream = self._limits, self._process.stdin
        patience = limits.grace_seconds if request["do"] in _AT_ONCE else limits.queue_seconds
        try:
            if stream is None or not self.is_alive:
                raise ConnectionError
            stream.write(json.dumps(request, allow_nan=False).encode() + b"\n")
            await asyncio.wait_for(stream.drain(), limits.load_seconds)
            await asyncio.wait_for(self._is_ready.wait(), limits.load_seconds)
            await asyncio.wait_for(pending.begun, patience)
        except (ConnectionError, TimeoutError) as error:
            self.kill()
            raise WorkerDied(503, "the worker process did not react and was ended") from error

    async def _read(self) -> None:
        stream = self._process.stdout
        try:
            while stream is not None and (line := await stream.readline()):
                self._receive(json.loads(line))
        except ValueError:
            # A line that is longer than is allowed, or cut off.
            self.kill()
        code = await self._process.wait()
        self._is_ready.set()
        why = _why_ended(code)
        for pending in self._pending.values():
            pending.fail(WorkerDied(503, why))
        if not self._closed:
            self._closed = True
            self.on_death(why)

    def _receive(self, message: Message) -> None:
        if message.get("event") == "ready":
            self._is_ready.set()
            return
        if "event" in message:
            self.on_event(message)
            return
        pending = self._pending.get(message["id"])
        if pending is None or pending.answer.done():
            return
        if "begun" in message:
            if not pending.begun.done():
                pending.begun.set_result(None)
        elif "answer" in message:
            pending.answer.set_result(message["answer"])
        else:
            pending.fail(Refused(_STATUS.get(message["kind"], 422), message["error"]))

    def kill(self) -> None:
        """End the process at once."""
        self._is_ended = True
        with suppress(ProcessLookupError):
            self._process.kill()

    async def close(self) -> None:
        """End the process, and wait until it is gone."""
        self._closed = True
        self.kill()
        await self._process.wait()
        await self._reading


_TOO_LONG = 504
"""The status of HTTP for an answer that does not come in time."""

_AT_ONCE = frozenset({"load", "search", "stop", "restore", "warm"})
"""Requests that interrupt a question, so that they start soon."""

_STATUS = {"Fault": 500, "Memory": 503, "Interrupted": 409, "NoSolution": 409}


def _why_ended(code: int) -> str:
    if code == OUT_OF_MEMORY:
        return "the worker process took more memory than it may and was ended; make the problem smaller"
    return f"the worker process ended (exit code {code})"


@dataclass
class KeptPlan:
    """A plan as the server keeps it: its problem, its page and its file, as JSON."""

    head: Message
    page: str
    document: str
    text: str
    json: bool


@dataclass
class Subscriber:
    """A client that listens to the events of a session; of each kind the newest waits for it."""

    waiting: dict[str, tuple[str, Message]] = field(default_factory=dict)
    wake: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, key: str, event: str, data: Message) -> None:
        self.waiting[key] = (event, data)
        self.wake.set()


class Session:
    """A problem that is edited and planned.

    Attributes
    ----------
    key
        Its name in addresses.
    text, is_json, revision, is_blank
        The problem file, the number of its changes, and whether it began as an empty problem.
    used
        When it was used last, by ``time.monotonic()``.
    opening
        What opens it again, until that is done.
    """

    def __init__(self, key: str, name: str, room: Sessions) -> None:
        self.key, self.name = key, name
        self._room, self._limits = room, room.limits
        self.text, self.is_json, self.revision, self.is_blank = "", False, 0, False
        self.file: str | None = None
        self._saved_text: str | None = None
        self._document: Any = None
        self._errors: list[Message] = []
        self._drawing: str | None = None
        self._undone: list[str] = []
        self._done: list[str] = []
        self.settings: Message = {
            "gap": self._limits.gap,
            "time_limit": self._limits.time_limit,
            "automatic": True,
        }
        self.search: Message = dict(_NO_SEARCH)
        self.plans: dict[int, KeptPlan] = {}
        self.run: Message | None = None
        self.run_changes = 0
        self._numbers = 0
        # The revision before the last step of undo, and whether the edits of that step have changed anything.
        self._step, self._is_undoable = 0, False
        self._texts: dict[int, tuple[str, bool]] = {}
        self._worker: Worker | None = None
        self._asking = 0
        self._lock, self._preparing, self._writing = asyncio.Lock(), asyncio.Lock(), asyncio.Lock()
        self._is_forgotten = False
        self._subscribers: list[Subscriber] = []
        self._autosave_error = ""
        self.opening: asyncio.Task[None] | None = None
        self._saving: asyncio.Task[None] | None = None
        self.used = time.monotonic()

    # What clients see.

    def state(self) -> dict[str, Any]:
        """The session for a client; the drawing is JSON already."""
        return {
            "session": self.key,
            "name": self.name,
            "blank": self.is_blank and self.revision == 1,
            "revision": self.revision,
            "text": self.text,
            "json": self.is_json,
            "document": self._document,
            "errors": self._errors,
            "drawing": None if self._drawing is None else Raw(self._drawing),
            "file": self.file,
            "saved": self.file is not None and self._saved_text == self.text,
            "autosaved": not self._autosave_error,
            "settings": self.settings,
            "run": self.run,
            **self._summary(),
        }

    def _summary(self) -> Message:
        return {
            "valid": self._drawing is not None,
            "undo": len(self._done),
            "redo": len(self._undone),
            "search": self.search,
            "plans": [self.head(number) for number in sorted(self.plans)],
        }

    def head(self, number: int) -> Message:
        """A plan in a list of plans."""
        head = self.plans[number].head
        return {**head, "current": head["revision"] == self.revision}

    def kept(self, number: int) -> KeptPlan:
        """A plan by its number.

        Raises
        ------
        Refused
            If there is none.
        """
        if number not in self.plans:
            known = ", ".join(map(str, sorted(self.plans))) or "none"
            raise Refused(404, f"there is no plan {number}; available: {known}")
        return self.plans[number]

    def subscribe(self) -> Subscriber:
        """Listen to the events; the first is the state."""
        subscriber = Subscriber()
        self._subscribers.append(subscriber)
        self._tell(subscriber)
        return subscriber

    def _tell(self, subscriber: Subscriber) -> None:
        data = {"revision": self.revision, "run": self.run is not None, **self._summary()}
        subscriber.put("state", "state", data)

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Listen no more."""
        self._subscribers.remove(subscriber)

    def publish(self, event: str, data: Message, key: str | None = None) -> None:
        """Send an event to all who listen; a newer one takes the place of one that still waits."""
        for subscriber in self._subscribers:
            subscriber.put(key or event, event, data)

    def publish_state(self) -> None:
        """Send the state to all who listen."""
        for subscriber in self._subscribers:
            self._tell(subscriber)

    # Edits.

    async def edit(
        self,
        text: str | None,
        operations: Sequence[Message],
        revision: int | None,
        plan: bool,
        continues: bool = False,
    ) -> None:
        """Change the text, and search for a plan if it is wanted and possible.

        An edit that continues the last one is undone with it, and its plan takes the place of the last one's.
        """
        async with self._lock:
            if revision is not None and revision != self.revision:
                message = f"the session has revision {self.revision}, not {revision}; fetch its state first"
                raise Refused(409, message)
            before = self.text
            await self._load(self.text if text is None else text, operations)
            if not continues:
                self._step, self._is_undoable = self.revision, False
            if self.text != before:
                if not self._is_undoable:
                    self._done.append(before)
                self._is_undoable = True
                self._undone.clear()
                self._forget_history()
            await self._changed(plan)

    async def undo(self, back: bool) -> None:
        """Undo an edit, or redo it."""
        async with self._lock:
            source, target = (self._done, self._undone) if back else (self._undone, self._done)
            if not source:
                raise Refused(409, f"there is nothing to {'undo' if back else 'redo'}")
            before = self.text
            await self._load(source[-1], ())
            source.pop()
            target.append(before)
            self._step, self._is_undoable = self.revision, False
            await self._changed(True)

    async def _load(self, text: str, operations: Sequence[Message]) -> None:
        self._take(await self._ask_at_once("load", **self._to_load(text, operations)))

    def _to_load(self, text: str, operations: Sequence[Message] = ()) -> Message:
        folder = self._room.folder if self.file is None else (self._room.folder / self.file).parent
        about = {"json": self.is_json, "name": self.name, "folder": str(folder)}
        return {"text": text, "operations": operations, **about}

    def _take(self, loaded: Message) -> None:
        self.text, self._document = loaded["text"], loaded["document"]
        self._errors, self._drawing = loaded["errors"], loaded["drawing"]
        stated = self._document.get("name") if isinstance(self._document, dict) else None
        self.name = stated if isinstance(stated, str) and stated else self.name

    async def _changed(self, plan: bool) -> None:
        self.revision += 1
        self.search = {**_NO_SEARCH, "revision": self.revision}
        await self.save()
        if plan and self.settings["automatic"] and self._drawing is not None:
            await self._begin_search()
        self.publish_state()

    def _forget_history(self) -> None:
        del self._done[: -self._limits.history]
        while self._done and sum(map(len, self._done)) > self._limits.history_bytes:
            del self._done[0]

    def begun(self) -> None:
        """What the session began with is not undone, and is that of its file if it has one."""
        self._done.clear()
        self._saved_text = self.text

    # The search.

    async def begin_search(self) -> None:
        """Search, from the last plan on."""
        async with self._lock:
            if self._drawing is None:
                raise Refused(409, "the problem has errors; correct them first")
            await self._begin_search()
            self.publish_state()

    async def _begin_search(self) -> None:
        self._numbers += 1
        self._texts = {number: kept for number, kept in self._texts.items() if number in self.plans}
        self._texts[self._numbers] = (self.text, self.is_json)
        about = {"status": "searching", "plan": self._numbers, "revision": self.revision}
        self.search = {**_NO_SEARCH, **about}
        await self._ask_at_once(
            "search",
            plan=self._numbers,
            revision=self.revision,
            gap=self.settings["gap"],
            time_limit=self.settings["time_limit"],
            kept=list(self.plans),
        )

    async def stop_search(self) -> None:
        """End the search; its best plan is kept."""
        async with self._lock:
            await self._ask_at_once("stop")

    def _heard(self, message: Message) -> None:
        """An event of the worker."""
        if message["event"] == "search" and message["search"]["revision"] == self.revision:
            self.search = message["search"]
            self.publish("search", self.search)
        elif message["event"] == "plan" and message["head"]["plan"] in self._texts:
            head = message["head"]
            number = head["plan"]
            # Of the edits of one step, only the last plan is kept.
            step = range(self._step + 1, head["revision"])
            for each in [each for each in self.plans if self.plans[each].head["revision"] in step]:
                del self.plans[each]
            self.plans[number] = KeptPlan(head, message["page"], message["document"], *self._texts[number])
            while len(self.plans) > self._limits.plans:
                del self.plans[min(self.plans)]
            self.publish("plan", self.head(number), f"plan {number}")
            if head["complete"]:
                self._saving = asyncio.create_task(self.save())

    # The worker.

    async def ask(self, do: str, seconds: float, **arguments: Any) -> Any:
        """Ask the worker; a question waits for its turn."""
        self.used = time.monotonic()
        self._asking += 1
        try:
            return await (await self._ready()).ask(do, seconds, **arguments)
        except WorkerDied as error:
            raise Refused(error.status, f"{error}; a new one is started: ask again") from error
        finally:
            self._asking -= 1
            self.used = time.monotonic()

    async def _ask_at_once(self, do: str, **arguments: Any) -> Any:
        """Ask the worker for something that must be done now; one that dies or hangs is replaced, once."""
        self.used = time.monotonic()
        try:
            return await (await self._ready()).ask(do, self._limits.load_seconds, **arguments)
        except WorkerDied as error:
            if error.status == _TOO_LONG:
                raise
        return await (await self._ready()).ask(do, self._limits.load_seconds, **arguments)

    async def _ready(self) -> Worker:
        """The worker; a new one gets the state of the last one."""
        async with self._preparing:
            if self._worker is not None and self._worker.is_alive:
                return self._worker
            worker = await self._room.worker()
            worker.on_event, worker.on_death = self._heard, self._gone
            seconds = self._limits.load_seconds
            for number, kept in sorted(self.plans.items()):
                known = {"text": kept.text, "json": kept.json, "document": json.loads(kept.document)}
                await worker.ask("restore", seconds, plan=number, **known)
            if self.revision:
                self._take(await worker.ask("load", seconds, **self._to_load(self.text)))
            if self.plans:
                await worker.ask("warm", seconds, plan=max(self.plans))
            self._worker = worker
            return worker

    def _gone(self, why: str) -> None:
        """The worker has died, whatever it was doing."""
        self._worker, self.run = None, None
        if self.search["status"] == "searching":
            self.search = {**self.search, "status": "failed", "words": why}
        self.publish("worker", {"words": why})
        self.publish_state()

    @property
    def is_busy(self) -> bool:
        """Whether it searches, or something waits for it."""
        return self.search["status"] == "searching" or self._asking > 0 or self._lock.locked()

    @property
    def process_id(self) -> int | None:
        """The worker process."""
        return None if self._worker is None else self._worker.process_id

    # Files.

    async def save(self) -> None:
        """Save the text and the newest plan, so that the session can be opened again after a crash.

        An empty problem without an edit is not saved.
        """
        newest = self.plans.get(max(self.plans, default=0))
        saved = {
            "format": "hcssp-session",
            "version": 1,
            "name": self.name,
            "text": self.text,
            "json": self.is_json,
            "file": self.file,
            "revision": self.revision,
            "settings": self.settings,
            "plan": None if newest is None else asdict(newest),
        }
        async with self._writing:
            if self._is_forgotten or (self.is_blank and self.revision <= 1):
                return
            try:
                await asyncio.to_thread(self._room.write_saved, self.key, json.dumps(saved))
                self._autosave_error = ""
            except CannotWrite as error:
                self._autosave_error = str(error)

    async def resume(self, saved: Message) -> None:
        """Continue with the saved state."""
        self.is_json, self.file, self.settings = saved["json"], saved["file"], saved["settings"]
        self.text, self.revision = saved["text"], saved["revision"]
        if saved["plan"] is not None:
            kept = KeptPlan(**saved["plan"])
            self._numbers = int(kept.head["plan"])
            known = {key: kept.head[key] for key in ("plan", "revision", "own", "limit", "gap")}
            self.search = {**_NO_SEARCH, "status": "done", **known}
            self.plans[self._numbers] = kept
            self._texts[self._numbers] = (kept.text, kept.json)
        async with self._lock:
            await self._ready()
            newest = self.plans.get(self._numbers)
            is_current = newest is not None and newest.head["revision"] == self.revision
            if not is_current and self.settings["automatic"] and self._drawing is not None:
                await self._begin_search()

    async def close(self, forget: bool = False) -> None:
        """Save it or forget it, end the worker, and publish that."""
        if not forget:
            await self.save()
        async with self._writing:
            self._is_forgotten = True
        self.publish("closed", {})
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.close()

    def keep_as(self, file: str) -> None:
        """The text is that of a file."""
        self.file, self._saved_text = file, self.text


class Raw(str):
    """A text that is JSON already."""


_NO_SEARCH: Message = {
    "status": "idle",
    "plan": 0,
    "revision": 0,
    "seconds": 0.0,
    "limit": None,
    "own": None,
    "gap": None,
    "iterations": 0,
    "open": None,
    "memory": 0,
    "words": "",
}


class Sessions:
    """All sessions of a server, and the files of its folder.

    Parameters
    ----------
    folder
        The project folder; no other file is read or written.
    limits
        The limits of the server.
    """

    def __init__(self, folder: Path, limits: ServeParameters) -> None:
        self.folder, self.limits = folder.resolve(), limits
        self.open: dict[str, Session] = {}
        self._spare: asyncio.Task[Worker] | None = None

    async def worker(self) -> Worker:
        """A worker that imports or has imported its modules; another one is started."""
        spare = self.warm_up()
        self._spare = None
        self.warm_up()
        worker = await spare
        return worker if worker.is_alive else await Worker.started(self.limits)

    def warm_up(self) -> asyncio.Task[Worker]:
        """Start the process of the next session."""
        if self._spare is None:
            self._spare = asyncio.create_task(Worker.started(self.limits))
        return self._spare

    async def places(self, site: str, content: str | None) -> Message:
        """The places of a map of the folder, or of one with this content."""
        worker = await self.worker()
        try:
            file = self.site(site, content)
            found: Message = await worker.ask("places", self.limits.load_seconds, site=file, content=content)
            return found
        finally:
            await worker.close()

    async def begin(
        self, name: str, text: str | None, is_json: bool, file: str | None, made: Message
    ) -> Session:
        """A new session with a text, or with a problem that its worker makes."""
        session = Session(secrets.token_hex(8), name, self)
        await self._admit(session)
        try:
            session.is_json, session.file = is_json, file
            session.is_blank = text is None and not any(made[key] for key in ("builtin", "site"))
            if text is None:
                text = (await session.ask("make", self.limits.load_seconds, **made))["text"]
            await session.edit(text, (), None, True)
            session.begun()
        except BaseException:
            await self.forget(session)
            raise
        return session

    async def find(self, key: str) -> Session:
        """An open session, or a saved one, which is opened.

        Raises
        ------
        Refused
            If there is none.
        """
        if key not in self.open:
            saved = await asyncio.to_thread(self._read_saved, key)
            if key not in self.open:
                session = Session(key, saved["name"], self)
                session.opening = asyncio.create_task(self._resumed(session, saved))
        session = self.open.get(key) or session
        if session.opening is not None:
            # It continues if its client disconnects.
            await asyncio.shield(session.opening)
        session.used = time.monotonic()
        return session

    async def _resumed(self, session: Session, saved: Message) -> None:
        try:
            await self._admit(session)
            await session.resume(saved)
        except BaseException:
            self.open.pop(session.key, None)
            await session.close()
            raise
        session.opening = None

    async def _admit(self, session: Session) -> None:
        """Let a session be one of the open ones; the one that was idle longest makes room for it."""
        oldest = None
        if len(self.open) >= self.limits.sessions:
            idle = [each for each in self.open.values() if not each.is_busy and each.opening is None]
            if not idle:
                busy = f"all {self.limits.sessions} sessions are at work"
                raise Refused(503, f"{busy}; wait, or stop a search or close a session")
            oldest = min(idle, key=lambda each: each.used)
            del self.open[oldest.key]
        self.open[session.key] = session
        if oldest is not None:
            await oldest.close()

    async def forget(self, session: Session) -> None:
        """Close a session, and remove its file."""
        self.open.pop(session.key, None)
        await session.close(forget=True)
        with suppress(OSError):
            self._saved_path(session.key).unlink(missing_ok=True)

    async def close(self) -> None:
        """Save all sessions, and end all processes."""
        await asyncio.gather(*(session.close() for session in self.open.values()))
        if self._spare is not None:
            with suppress(OSError):
                await (await self._spare).close()

    # Files.

    def files(self, suffixes: Sequence[str]) -> list[str]:
        """The files of the folder, and of those in it, whose names end so."""
        found = []
        for path in islice(chain(self.folder.glob("*"), self.folder.glob("*/*")), self.limits.scanned):
            parts = path.relative_to(self.folder).parts
            if path.name.endswith(tuple(suffixes)) and not any(each.startswith(".") for each in parts):
                with suppress(OSError):
                    # The target of a link may be elsewhere.
                    if path.is_file() and path.resolve().is_relative_to(self.folder):
                        found.append("/".join(parts))
        return sorted(found)[: self.limits.files]

    def read(self, name: str) -> str:
        """The text of a problem file of the folder."""
        path = self._found(name, PROBLEM_SUFFIXES)
        return read_text(path, self.limits.body_bytes, name)

    def site(self, name: str, content: str | None) -> str:
        """The map of a robot fleet: the path of a file of the folder, or a name if the content is known."""
        if content is None:
            return str(self._found(name, SITE_SUFFIXES))
        if not (name.endswith(SITE_SUFFIXES) and name.isprintable()):
            raise _odd_name(name, SITE_SUFFIXES)
        return name

    def _found(self, name: str, suffixes: Sequence[str]) -> Path:
        try:
            path = find_beside(self.folder, name)
        except Unreadable as error:
            raise Refused(404, str(error)) from error
        if not path.name.endswith(tuple(suffixes)):
            raise _odd_name(name, suffixes)
        return path

    def target(self, name: str, suffixes: Sequence[str], replace: bool) -> Path:
        """Where a file of the folder may be written.

        Raises
        ------
        Refused
            If it lies elsewhere, has another suffix, or is there already and may not be replaced.
        """
        relative = PurePosixPath(name)
        odd = "\\" in name or ":" in name or not name.isprintable() or relative.is_absolute()
        if odd or any(part.startswith(".") for part in relative.parts) or not relative.name:
            raise Refused(
                422, f"{name!r} leads out of the folder; name a file inside, with / between folders"
            )
        if relative.suffix not in suffixes:
            raise _odd_name(name, suffixes)
        path = self.folder / relative
        # A link may lead anywhere.
        if not path.resolve().is_relative_to(self.folder) or path.is_symlink():
            raise Refused(422, f"{name!r} is a link; name a file inside of the folder")
        if not path.parent.is_dir():
            raise Refused(422, f"{name!r}: there is no such folder; make it first")
        if path.exists() and not replace:
            raise Refused(
                409, f"{name!r} is there already; say that it may be replaced, or choose another name"
            )
        return path

    def saved(self) -> list[Message]:
        """The sessions that are open or can be opened again, the newest first."""
        found = []
        folder = self._saved_path("").parent
        for path in folder.glob("*.json") if folder.is_dir() else ():
            with suppress(OSError):
                when = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
                key = path.stem
                name = self.open[key].name if key in self.open else self._name_of(path)
                found.append({"session": key, "name": name, "saved": when, "open": key in self.open})
        return sorted(found, key=lambda each: str(each["saved"]), reverse=True)[: self.limits.files]

    @staticmethod
    def _name_of(path: Path) -> str:
        # The name comes early in the file.
        with path.open(encoding="utf-8", errors="replace") as stream:
            head = stream.read(1000)
        found = re.search(r'"name": ("(?:[^"\\\\]|\\\\.)*")', head)
        return str(json.loads(found[1])) if found else path.stem

    def _saved_path(self, key: str) -> Path:
        return self.folder / ".hcssp" / "sessions" / f"{key}.json"

    def write_saved(self, key: str, text: str) -> None:
        """Write the saved state of a session."""
        path = self._saved_path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise CannotWrite(f"{path.parent}: {error.strerror}") from error
        write_atomically(path, text)

    def _read_saved(self, key: str) -> Message:
        unknown = Refused(404, f"there is no session {key[:40]!r}; start one")
        if not re.fullmatch(r"[0-9a-f]{16}", key):
            raise unknown
        path = self._saved_path(key)
        if not path.is_file():
            raise unknown
        try:
            saved: Message = checked(read_json(path), SavedSession)
        except HcsspError as error:
            raise Refused(422, f"{path.name} is not a saved session: {error}") from error
        return saved


def _odd_name(name: str, suffixes: Sequence[str]) -> Refused:
    return Refused(422, f"{name[:80]!r}: the name must end in {' or '.join(suffixes)}")


PROBLEM_SUFFIXES = (".yaml", ".yml", ".json")
SITE_SUFFIXES = (".building.yaml", ".geojson")
