"""A real browser for tests: Chromium without a screen, told what to do over a pair of pipes.

The DevTools protocol over ``--remote-debugging-pipe`` needs nothing but the standard library: messages are
JSON, each ended by a zero byte.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from running_processes import HANG_GUARD

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb", "--remote-debugging-pipe",
)  # fmt: skip


def find_chromium() -> str | None:
    """The path of a browser, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page in one browser; a context manager.

    Attributes
    ----------
    complaints
        What the page wrote to the console as an error or warning, and the exceptions nobody caught.
    """

    def __init__(self, path: str) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._loaded = 0
        self._count = 0
        self._buffer = b""
        self._profile = tempfile.mkdtemp(prefix="hcssp-chromium-")
        commands, self._write = os.pipe()
        self._read, answers = os.pipe()
        # Above the numbers they get in the browser, so that neither is lost when the other is put there.
        high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in (commands, answers)]
        os.close(commands)
        os.close(answers)
        arguments = [path, *FLAGS, f"--user-data-dir={self._profile}", "about:blank"]
        null = (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)
        moves = [(os.POSIX_SPAWN_DUP2, high[0], 3), (os.POSIX_SPAWN_DUP2, high[1], 4)]
        # A group of its own: the browser is many processes, and none of them may stay behind.
        self._process = os.posix_spawn(path, arguments, os.environ, file_actions=[null, *moves], setpgroup=0)
        for end in high:
            os.close(end)

    def __enter__(self) -> Browser:
        target = self._call("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self._call("Target.attachToTarget", {"targetId": target, "flatten": True})
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._write)
        os.close(self._read)
        os.killpg(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command to the page, and its answer."""
        return self._call(method, parameters, self._session)

    def open(self, path: Path, width: int = 1280, height: int = 900) -> None:
        """Show a file."""
        self.resize(width, height)
        before = self._loaded
        self.call("Page.navigate", url=path.resolve().as_uri())
        self._read_until(lambda: self._loaded > before, f"{path} to load")
        self.requests.clear()

    def resize(self, width: int, height: int) -> None:
        """Give the page so many pixels; narrow ones are phones."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
            mobile=width < 600,
        )  # fmt: skip

    def prefer(self, **features: str) -> None:
        """What the reader prefers, such as ``color_scheme="dark"``."""
        wanted = [
            {"name": f"prefers-{name.replace('_', '-')}", "value": value} for name, value in features.items()
        ]
        self.call("Emulation.setEmulatedMedia", features=wanted)

    def run(self, script: str) -> Any:
        """The value of an expression on the page; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def wait_for(self, script: str) -> None:
        """Wait until an expression on the page is true."""
        deadline = time.monotonic() + HANG_GUARD
        while not self.run(script):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the page never said yes to {script}")
            time.sleep(0.05)

    def enter_frame(self) -> None:
        """Go on inside the first frame of the page, which a sandbox keeps in a process of its own."""
        targets = self._call("Target.getTargets", {"filter": [{}]})["targetInfos"]
        frame = next(target["targetId"] for target in targets if target["type"] == "iframe")
        attached = self._call("Target.attachToTarget", {"targetId": frame, "flatten": True})
        self._session = attached["sessionId"]
        for domain in ("Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def press(self, key: str, code: int) -> None:
        """Press a key on whatever has the focus."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def screenshot(self, *, whole: bool = False) -> bytes:
        """The page as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"])

    def pdf(self) -> bytes:
        """The page as it prints."""
        answer = self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=False)
        return base64.b64decode(answer["data"])

    def _call(self, method: str, parameters: dict[str, Any], session: str | None = None) -> dict[str, Any]:
        self._count += 1
        number = self._count
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        rest = memoryview(json.dumps(message).encode() + b"\0")
        while rest:
            rest = rest[os.write(self._write, rest) :]
        answer: dict[str, Any] = {}

        def answered() -> bool:
            return bool(answer)

        self._read_until(answered, f"the answer to {method}", number, answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _read_until(
        self, done: Callable[[], bool], what: str, number: int = 0, answer: dict[str, Any] | None = None
    ) -> None:
        deadline = time.monotonic() + HANG_GUARD
        while not done():
            while b"\0" not in self._buffer:
                ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
                if not ready:
                    raise TimeoutError(f"the browser kept silent; waited for {what}")
                part = os.read(self._read, 1 << 20)
                if not part:
                    raise ConnectionError(f"the browser has gone; waited for {what}")
                self._buffer += part
            line, _, self._buffer = self._buffer.partition(b"\0")
            message = json.loads(line)
            if answer is not None and message.get("id") == number:
                answer.update(message)
            else:
                self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded += 1
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(parameters["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.complaints.append(json.dumps(parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.complaints.append(json.dumps(parameters["entry"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
