"""``hcssp serve``: the live planner in the browser."""

from __future__ import annotations

import argparse
import secrets
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hcssp.cli.arguments import UsageError
from hcssp.start import INTERRUPTED

if TYPE_CHECKING:
    from hcssp.cli.session import Session

_PORT = 8321
"""The port that is tried first if none is named."""


def serve(session: Session) -> int:
    """Serve until a signal comes."""
    from hcssp.serve.app import CannotListen, listening
    from hcssp.serve.app import serve as answer_requests

    arguments = session.arguments
    first, folder = _first(arguments)
    if not folder.is_dir():
        raise UsageError(f"--folder {folder}: there is no such folder; make it first")
    token = arguments.token
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token and token):
        raise UsageError("--token: use letters, digits and punctuation without blanks")
    if arguments.host not in ("127.0.0.1", "localhost", "::1") and token is None:
        token = secrets.token_urlsafe(18)
    try:
        listener = listening(arguments.host, _PORT if arguments.port is None else arguments.port)
    except CannotListen:
        if arguments.port is not None:
            raise
        listener = listening(arguments.host, 0)
    name = f"[{arguments.host}]" if ":" in arguments.host else arguments.host
    address = f"http://{name}:{listener.getsockname()[1]}/"
    opened = address if token is None else f"{address}?token={token}"
    print(opened, flush=True)
    print(f"hcssp serves the folder {folder}; Ctrl-C ends it", file=sys.stderr)
    if not arguments.no_browser:
        import webbrowser

        threading.Thread(target=webbrowser.open, args=(opened,), daemon=True).start()
    answer_requests(listener, folder, host=arguments.host, token=token, first=first)
    return INTERRUPTED


def _first(arguments: argparse.Namespace) -> tuple[dict[str, Any], Path]:
    """The start of a session, and the project folder."""
    from hcssp.files.named_problem import is_file
    from hcssp.scenarios.scenario import find_scenario

    folder, problem = arguments.folder, arguments.problem
    if problem is None:
        return {"blank": True}, (folder or Path()).resolve()
    if not is_file(problem):
        return {"builtin": find_scenario(problem).name}, (folder or Path()).resolve()
    path = Path(problem).resolve()
    if path.suffix not in (".yaml", ".yml", ".json"):
        raise UsageError(
            f"{problem}: hcssp serve edits problem files; their names end in .yaml, .yml or .json"
        )
    if not path.is_file():
        raise UsageError(f"{problem}: there is no such file; hcssp new writes one to begin with")
    folder = path.parent if folder is None else folder.resolve()
    if not path.is_relative_to(folder):
        raise UsageError(
            f"{problem} is not in the folder {folder}; leave --folder out, or name a file inside"
        )
    return {"file": path.relative_to(folder).as_posix()}, folder
