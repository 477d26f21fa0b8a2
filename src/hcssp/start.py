"""The first instants of the command ``hcssp``: Ctrl-C leaves no traceback, even while modules are imported.

A program that imports the library keeps its own signals; only a process started as the command is concerned.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

_IMPORTED = time.perf_counter()

INTERRUPTED = 130
"""The exit code of whatever was ended by Ctrl-C, as from any other tool."""


SIGNALS = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    # Not every system has SIGHUP, for a lost terminal. A process that ignores it (nohup) goes on.
    if hasattr(signal, name) and (name != "SIGHUP" or signal.getsignal(signal.SIGHUP) != signal.SIG_IGN)
)
"""The signals that ask a command to end."""


def is_command() -> bool:
    """Whether this process was started as ``hcssp`` or ``python -m hcssp``."""
    started = sys.orig_argv
    if "-m" in started:
        return started[started.index("-m") + 1 :][:1] == ["hcssp"]
    # Not by pathlib, which takes longer to import than all that comes before.
    name = sys.argv[0].replace(os.sep, "/").rpartition("/")[2] if sys.argv else ""
    return name in ("hcssp", "hcssp.exe", "hcssp-script.py")


def began() -> float:
    """When the command began, by ``time.perf_counter()``, before its imports; now in other programs."""
    return _IMPORTED if is_command() else time.perf_counter()


COLLECT_AFTER = 100_000
"""New objects after which a command looks for unreachable cycles. Most of its objects, those of modules, live
until its end; looking for cycles among them every 700 objects takes a twentieth of a short command."""


def begin_command() -> None:
    """Make the process a command, before anything large is imported.

    Signals end it at once, until a command knows better what to do with them.
    """
    for number in SIGNALS:
        signal.signal(number, _leave)
    sys.meta_path.insert(0, PostponedImports())
    gc.set_threshold(COLLECT_AFTER)


def _leave(number: int, frame: object) -> None:
    try:
        os.write(2, b"hcssp: interrupted\n")
    finally:
        # Nothing has been begun, or everything is written: there is nothing to tidy up.
        os._exit(INTERRUPTED)


class PostponedImports:
    """A finder of modules that SciPy imports without using them: they are loaded when something in them is.

    SciPy copies every name of NumPy, which imports all of NumPy's submodules. Those for building and testing
    extensions take a fifth of the time that importing both takes.
    """

    names = ("numpy.f2py", "numpy.testing", "numpy.ma", "numpy.polynomial")
    documentation = "scipy._lib._docscrape"

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The module with a loader that waits, or that leaves documentation alone; None for all others."""
        if name not in self.names and name != self.documentation:
            return None
        spec = PathFinder.find_spec(name, path)  # type: ignore[arg-type]
        if spec is not None and spec.loader is not None:
            spec.loader = _Unparsed(spec.loader) if name == self.documentation else LazyLoader(spec.loader)
        return spec


class _Unparsed(Loader):
    """A loader of SciPy's parser of docstrings that makes it parse nothing.

    While SciPy is imported it adds notes to many of its own docstrings, which takes a fifth of
    the time. No command reads them.
    """

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        parser = getattr(module, "NumpyDocString", None)
        if parser is not None:
            parser._parse = lambda docstring: None
