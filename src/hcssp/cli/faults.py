"""A fault that nobody foresaw: one line for the user, and everything else in a file that can be sent."""

from __future__ import annotations

import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path


def fault_in_words(error: BaseException, argv: Sequence[str]) -> str:
    """One line about a mistake of ours, with how to report it; the traceback goes to a file.

    Parameters
    ----------
    error
        What was raised.
    argv
        The arguments of the command.
    """
    first = next(iter(str(error).strip().splitlines()), "")
    told = f"{type(error).__name__}: {first}" if first else type(error).__name__
    where = _written(error, argv)
    details = f"the details are in {where}; please send them" if where else "please send this line"
    return f"hcssp: a fault of hcssp, not of your input ({told}); {details} to whoever maintains it"


def _written(error: BaseException, argv: Sequence[str]) -> Path | None:
    """The file with the details; None if none can be written."""
    from hcssp.version import __version__

    trace = "".join(traceback.format_exception(error))
    text = f"hcssp {__version__}, Python {sys.version}\n{sys.platform}\narguments: {list(argv)!r}\n\n{trace}"
    try:
        with tempfile.NamedTemporaryFile(prefix="hcssp-fault-", suffix=".txt", delete=False) as stream:
            stream.write(text.encode(errors="backslashreplace"))
    except OSError:
        return None
    return Path(stream.name)
