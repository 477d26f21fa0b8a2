"""A copy of the tree in which mistakes are planted and tests are run.

Most mistakes are in a function, and are planted where the tests are collected already
(:mod:`mutants.collected`). For another, the tests are run in a fork of this process, which has imported what
they need from elsewhere, and nothing of the package: the mistake is met as it is imported.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import shutil
import signal
import sys
from collections.abc import Iterable, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

from mutants.collected import MOST_WAITING, Collected, end_group
from mutants.mutations import mutated

NOT_COPIED = (".*", "__pycache__", "*.pyc", "out", "site", "build", "dist")

MOST_SECONDS = 60
"""What a run of tests may take of the processor's time. None takes half of it: one that takes more hangs."""

IMPORTED_ONCE = ("pytest", "hypothesis", "highspy", "scipy.optimize", "scipy.sparse.linalg", "yaml")
"""What most tests need."""

BROKEN = 99
"""The exit code if pytest itself broke down, which says nothing about a mistake."""


class Bench:
    """Plants mistakes, one at a time, and runs the tests that should notice.

    Parameters
    ----------
    root
        The tree.
    folder
        Where to copy it.
    tests
        All tests that will be asked for.
    """

    def __init__(self, root: Path, folder: Path, tests: Iterable[str]) -> None:
        self._folder = folder / "tree"
        self._bytecode = folder / "bytecode"
        self._cache = folder / "cache"
        shutil.copytree(root, self._folder, ignore=shutil.ignore_patterns(*NOT_COPIED))
        for module in IMPORTED_ONCE:
            importlib.import_module(module)
        self._written = 0
        self._noticed_by: set[str] = set()
        every = sorted(set(tests))
        # Doctests apart: a module that is imported for them hides a function of the same name.
        self._collections = {
            apart: self._collect([each for each in every if _is_doctest(each) == apart])
            for apart in {_is_doctest(each) for each in every}
        }

    def try_out(self, path: str, index: int, stages: Iterable[Sequence[str]]) -> str:
        """Whether the tests notice a mistake in a file of the package: "killed", "hung" or "survived"."""
        file = self._folder / "src" / "hcssp" / path
        source = file.read_text(encoding="utf-8")
        # File by file: most mistakes are noticed by the first, and nobody need look at the others.
        for tests in ([each] for stage in stages for each in stage):
            self._ask(tests)
            # On disk in any case: tests start processes, which import it.
            self._write(file, mutated(source, index))
            try:
                verdict = self._ask(tests, path, source, index)
                if verdict == "out of reach":
                    verdict = self._run(tests)
            finally:
                self._write(file, source)
            if verdict != "survived":
                return str(verdict)
        return "survived"

    def check_tests(self) -> None:
        """Whether the tests that noticed a mistake pass where there is none."""
        if self._noticed_by and self._run(sorted(self._noticed_by)) != "survived":
            raise RuntimeError(f"these tests fail as they are: {', '.join(self._failed())}")

    def close(self) -> None:
        """End the processes that have collected the tests."""
        for process, each in self._collections.values():
            each.send(None)
            os.waitpid(process, 0)

    def _write(self, file: Path, source: str) -> None:
        file.write_text(source, encoding="utf-8")
        # Had two versions one time, the bytecode of the one would pass for that of the other.
        self._written += 1
        os.utime(file, (self._written, self._written))

    def _collect(self, tests: Sequence[str]) -> tuple[int, Connection]:
        """Fork a process that collects tests and answers questions."""
        here, there = Pipe()
        process = os.fork()
        if process == 0:
            here.close()
            self._be_the_tests([f"--basetemp={self._cache}-files", *tests], Collected(self._folder, there))
        there.close()
        # As soon as all is imported, code may change.
        if here.recv() != "ready":
            raise RuntimeError("the tests could not be collected")
        return process, here

    def _ask(self, tests: Sequence[str], *mistake: object) -> object:
        """Whether tests that are collected already notice a mistake; without one, they are looked at."""
        _, collection = self._collections[_is_doctest(tests[0])]
        collection.send((list(tests), *mistake))
        answer = collection.recv()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _run(self, tests: Sequence[str]) -> str:
        """Whether tests that import the package now notice a mistake."""
        shutil.rmtree(self._cache, ignore_errors=True)
        child = os.fork()
        if child == 0:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 5))
            signal.alarm(MOST_WAITING)
            self._be_the_tests(tests)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        end_group(child)
        if code == BROKEN:
            raise RuntimeError(f"pytest could not be run on {', '.join(tests)}")
        # 5: there was nothing to run, as in a file without doctests.
        if code in (0, 5):
            return "survived"
        if code in (-signal.SIGXCPU, -signal.SIGKILL, -signal.SIGALRM):
            return "hung"
        # Whatever the case: its name may tell a number that is another one without the mistake.
        self._noticed_by.update(each.partition("[")[0] for each in self._failed())
        return "killed"

    def _be_the_tests(self, arguments: Sequence[str], *plugins: object) -> None:
        """Run them in this process, and end it."""
        code = BROKEN
        try:
            os.chdir(self._folder)
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nowhere, stream)
            here = [str(self._folder / each) for each in ("src", "tests", "tools")]
            sys.path[:0] = here
            # What has not changed is compiled once: that takes longer than many a test.
            sys.pycache_prefix = str(self._bytecode)
            sys.dont_write_bytecode = False
            os.environ |= {"PYTHONPATH": os.pathsep.join(here), "PYTHONPYCACHEPREFIX": str(self._bytecode)}
            os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
            import pytest

            options = ["-q", "-x", "-o", f"cache_dir={self._cache}"]
            # Plugins are told of that are imported already; a warning is an error.
            options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
            code = int(pytest.main([*options, *arguments], plugins))
        finally:
            # Whatever happened: there is one planter, and this is not the one.
            os._exit(code)

    def _failed(self) -> list[str]:
        """The tests that failed in the last run; none if it broke down before."""
        told = self._cache / "v" / "cache" / "lastfailed"
        return list(json.loads(told.read_text(encoding="utf-8"))) if told.exists() else []


def _is_doctest(test: str) -> bool:
    return test.startswith("src/")
