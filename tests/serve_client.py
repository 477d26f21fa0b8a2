"""A server of the live planner in a process of its own, and a client of its API."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from running_processes import HANG_GUARD

Json = dict[str, Any]

SMALL = """\
# A room with a fire.
format: hcssp-problem
version: 1
costs: [time, damage]

activities:
  cross:
    grid:
      map: |
        #######
        S..~..#
        #..~..G
        #.....#
        #######
      hazards: {"~": {damage: 5}}  # burning
      slip: 0.1

constraints:
  damage: {at_most: 2}
"""


@dataclass
class Client:
    """Talks to a server.

    Attributes
    ----------
    address
        Host and port.
    """

    address: str
    process: subprocess.Popen[str]

    def raw(
        self, method: str, path: str, body: bytes | None = None, headers: Json | None = None
    ) -> tuple[int, bytes, dict[str, str]]:
        """The status, the content and the headers of an answer."""
        connection = HTTPConnection(self.address, timeout=HANG_GUARD)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.read(), {k.lower(): v for k, v in response.getheaders()}
        finally:
            connection.close()

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """The status and the object of an answer."""
        headers = {} if method == "GET" else {"Content-Type": "application/json"}
        content = None if method != "POST" else json.dumps({} if body is None else body).encode()
        status, answer, _ = self.raw(method, path, content, headers)
        return status, json.loads(answer)

    def get(self, path: str) -> Any:
        """An answer that must be one."""
        status, answer = self.call("GET", path)
        assert status == 200, answer
        return answer

    def post(self, path: str, body: Any = None) -> Any:
        """An answer that must be one."""
        status, answer = self.call("POST", path, body)
        assert status in (200, 201), answer
        return answer

    def begin(self, **first: Any) -> tuple[str, Json]:
        """A new session: its path and its state."""
        state = self.post("/api/sessions", first)
        return f"/api/sessions/{state['session']}", state

    def events(self, session: str) -> Iterator[tuple[str, Json]]:
        """The events of a session."""
        connection = HTTPConnection(self.address, timeout=HANG_GUARD)
        connection.request("GET", f"{session}/events")
        response = connection.getresponse()
        assert response.status == 200
        event = ""
        try:
            while line := response.readline().decode():
                key, _, value = line.rstrip("\n").partition(": ")
                if key == "event":
                    event = value
                elif key == "data":
                    yield event, json.loads(value)
        finally:
            connection.close()

    def wait(self, session: str, until: Callable[[str, Json], bool]) -> Json:
        """The data of the first event that is waited for."""
        for event, data in self.events(session):
            if until(event, data):
                return data
        raise AssertionError("the stream has ended")

    def ended(self, session: str) -> Json:
        """The search of this revision, once it is over."""
        self.wait(session, lambda event, data: _status(event, data) not in ("", "searching", "idle"))
        return dict(self.get(session)["search"])

    def planned(self, session: str) -> Json:
        """The newest plan, once the search of this revision is over."""
        words = self.ended(session)["words"]
        plans = self.get(session)["plans"]
        assert plans, words
        return dict(plans[-1])


def _status(event: str, data: Json) -> str:
    if event == "state":
        return str(data["search"]["status"])
    return str(data["status"]) if event == "search" else ""


def workers_of(client: Client) -> list[int]:
    """The processes that a server has started."""
    tasks = Path(f"/proc/{client.process.pid}/task").iterdir()
    return [int(each) for task in tasks for each in (task / "children").read_text().split()]


_WITH_LIMITS = """\
import json, sys
from pathlib import Path
from hcssp.serve.app import listening, serve
from hcssp.serve.parameters import ServeParameters
listener = listening("127.0.0.1", 0)
print(f"http://127.0.0.1:{listener.getsockname()[1]}/", flush=True)
serve(listener, Path(sys.argv[1]), limits=ServeParameters(**json.loads(sys.argv[2])))
"""


def running_with(folder: Path, **limits: float) -> AbstractContextManager[Client]:
    """A server for a folder with some other limits."""
    return _running([sys.executable, "-c", _WITH_LIMITS, str(folder), json.dumps(limits)])


def running(folder: Path, *arguments: str) -> AbstractContextManager[Client]:
    """A server for a folder, as the command starts it; it is ended by Ctrl-C."""
    command = [sys.executable, "-m", "hcssp", "serve", *arguments, "--folder", str(folder)]
    return _running([*command, "--port", "0", "--no-browser"])


@contextmanager
def _running(command: list[str]) -> Iterator[Client]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline()
            assert address, process.stderr and process.stderr.read()
            yield Client(address.split("/")[2], process)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            process.wait(HANG_GUARD)
