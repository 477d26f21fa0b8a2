"""A copy of the tree in which mistakes are planted and tests are run."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from mutants.mutations import mutated

NOT_COPIED = (".*", "__pycache__", "*.pyc", "out", "site", "build", "dist")

MOST_SECONDS = 120
"""What a run of tests may take of the processor's time. None takes half of it: one that takes more hangs."""


class Bench:
    """Plants mistakes, one at a time, and runs the tests that should notice.

    Parameters
    ----------
    root
        The tree.
    folder
        Where to copy it.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self._folder = folder / "tree"
        self._bytecode = folder / "bytecode"
        self._cache = folder / "cache"
        shutil.copytree(root, self._folder, ignore=shutil.ignore_patterns(*NOT_COPIED))
        self._written = 0
        self._noticed_by: set[str] = set()

    def try_out(self, path: str, index: int, stages: Iterable[Sequence[str]]) -> str:
        """Whether the tests notice a mistake in a file of the package: "killed", "hung" or "survived"."""
        file = self._folder / "src" / "hcssp" / path
        source = file.read_text(encoding="utf-8")
        self._write(file, mutated(source, index))
        try:
            for tests in stages:
                verdict = self._run(tests)
                if verdict != "survived":
                    return verdict
        finally:
            self._write(file, source)
        return "survived"

    def check_tests(self) -> None:
        """Whether the tests that noticed a mistake pass where there is none."""
        if self._noticed_by and self._run(sorted(self._noticed_by)) != "survived":
            raise RuntimeError(f"these tests fail as they are: {', '.join(self._failed())}")

    def _write(self, file: Path, source: str) -> None:
        file.write_text(source, encoding="utf-8")
        # Had two versions one time, the bytecode of the one would pass for that of the other.
        self._written += 1
        os.utime(file, (self._written, self._written))

    def _run(self, tests: Sequence[str]) -> str:
        shutil.rmtree(self._cache, ignore_errors=True)
        here = os.pathsep.join(str(self._folder / each) for each in ("src", "tests", "tools"))
        # What has not changed is compiled once: that takes longer than many a test.
        environment = {**os.environ, "PYTHONPATH": here, "PYTHONPYCACHEPREFIX": str(self._bytecode)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-o", f"cache_dir={self._cache}", *tests],
            cwd=self._folder,
            env=environment,
            capture_output=True,
            check=False,
            preexec_fn=_limit_time,
        )
        # 5: there was nothing to run, as in a file without doctests.
        if done.returncode in (0, 5):
            return "survived"
        if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return "hung"
        self._noticed_by.update(self._failed())
        return "killed"

    def _failed(self) -> list[str]:
        """The tests that failed in the last run; none if it broke down before."""
        told = self._cache / "v" / "cache" / "lastfailed"
        return list(json.loads(told.read_text(encoding="utf-8"))) if told.exists() else []


def _limit_time() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 5))
