"""Tests that are collected once, and run on one mistake after the other, each in a fork of its own.

Importing and collecting takes longer than most tests. So a process collects the tests of all files that are
asked for and waits. For each mistake it forks, and the fork plants it in the functions as they are there
(:mod:`mutants.swapping`), runs the tests one by one and ends with the first that fails.

Before tests are asked for the first time, they are run without a mistake, file by file, and looked at: how
long each takes, and which lines of the package it comes by. A file that never comes by a function need not
be run for a mistake in it, unless it starts processes, which nobody looks into. Those that come by are run
first, the shortest of them before the others, and before all those that noticed a mistake there before.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from mutants.swapping import OutOfReach, Place, changed_code, functions_by_place, lines_of, place_of, swap

LEAST_SECONDS = 10
"""What a test may take of the processor's time, however short it is else."""

MOST_TIMES = 20
"""How often as long as usual it may take: one that takes longer hangs."""

MOST_WAITING = 900
"""Seconds by the clock, for those who wait for each other and do nothing."""

SURVIVED, KILLED, OUT_OF_REACH, BROKEN = 0, 1, 98, 99
"""The exit codes of a fork."""

PROCESS_EVENTS = ("os.fork", "subprocess.Popen", "os.posix_spawn", "os.system")


@dataclass
class File:
    """What is known of a file of tests.

    Attributes
    ----------
    items
        Its tests, as pytest has collected them.
    seconds
        How long each takes.
    visitors
        Which of them come by a line of the package.
    starts_processes
        Whether one of them does.
    """

    items: dict[str, pytest.Item]
    seconds: dict[str, float] = field(default_factory=dict)
    visitors: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    starts_processes: bool = False


class Collected:
    """A plugin for pytest that answers questions instead of running the tests.

    Parameters
    ----------
    folder
        The tree that the tests are in.
    questions
        Where the questions come from: files of tests, which are looked at; or files of tests, a file of the
        package, its source and which of its mistakes is to be judged. None ends it.
    """

    def __init__(self, folder: Path, questions: Connection) -> None:
        self._folder = folder
        self._package = folder / "src" / "hcssp"
        self._questions = questions
        self._paper = folder / "told"
        self._functions: dict[Place, list[FunctionType]] = {}
        self._files: dict[str, File] = {}
        self._noticed: dict[Place, Counter[str]] = defaultdict(Counter)

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        """Let no example be made smaller: one that fails is enough."""
        from hypothesis import Phase, settings

        settings.register_profile("planting", settings.default, phases=(Phase.explicit, Phase.generate))
        settings.load_profile("planting")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Look for functions before they are hidden from the collector of garbage."""
        self._functions = functions_by_place(str(self._package))
        for item in session.items:
            name = item.path.relative_to(self._folder).as_posix()
            self._files.setdefault(name, File({})).items[item.nodeid] = item

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> bool:
        """Answer questions until there are no more."""
        self._questions.send("ready")
        while (question := self._questions.recv()) is not None:
            try:
                names, *mistake = question
                answer: str | RuntimeError = self._judge(names, *mistake) if mistake else self._look_at(names)
            except RuntimeError as error:
                # Whoever asked has to know, and nobody sees what is printed here.
                answer = error
            self._questions.send(answer)
        return True

    def _look_at(self, names: Sequence[str]) -> str:
        """Run tests without a mistake, unless that was done before."""
        for file in self._of(names):
            if not file.seconds:
                if self._forked(partial(self._tell_of, list(file.items.values()))) != SURVIVED:
                    raise RuntimeError(f"tests of a file do not pass as they are: {self._told()}")
                file.seconds, file.visitors, file.starts_processes = self._told()
        return "looked at"

    def _judge(self, names: Sequence[str], path: str, source: str, index: int) -> str:
        """Whether the tests notice the mistake: "killed", "hung", "survived" or "out of reach"."""
        file = str(self._package / path)
        try:
            changed = changed_code(file, source, index)
        except OutOfReach:
            return "out of reach"
        if module_of(path) in sys.modules:
            items = self._in_order(file, changed, names)
        else:
            # It is imported by the tests, with the mistake.
            changed, items = [], [item for file in self._of(names) for item in file.items.values()]
        code = self._forked(lambda: self._run(changed, items))
        if code == OUT_OF_REACH:
            return "out of reach"
        if code == BROKEN:
            raise RuntimeError(f"pytest could not be run on {', '.join(names)}: {self._told()}")
        if code == SURVIVED:
            return "survived"
        for each in changed:
            self._noticed[place_of(each)].update([self._told()])
        return "killed" if code == KILLED else "hung"

    def _of(self, names: Iterable[str]) -> list[File]:
        """The files of tests that are named, or are in a folder that is named."""
        return [
            file
            for name in names
            for each, file in self._files.items()
            if each == name or each.startswith(f"{name}/")
        ]

    def _in_order(self, path: str, changed: Sequence[CodeType], names: Sequence[str]) -> list[pytest.Item]:
        """The tests that may notice, the most telling first."""
        wanted = {(path, line) for each in changed for line in lines_of(each)}
        before = sum((self._noticed[place_of(each)] for each in changed), Counter[str]())
        chosen: list[pytest.Item] = []
        first: list[pytest.Item] = []
        for file in self._of(names):
            touching = {name for line in wanted for name in file.visitors.get(line, ())}
            if touching or file.starts_processes:
                order = sorted(file.items, key=lambda name: (name not in touching, file.seconds[name]))
                first += [file.items[name] for name in order if name in before]
                chosen += [file.items[name] for name in order if name not in before]
        first.sort(key=lambda item: -before[item.nodeid])
        return first + chosen

    def _run(self, changed: list[CodeType], items: Sequence[pytest.Item]) -> None:
        """Run tests until one fails."""
        known = {name: seconds for file in self._files.values() for name, seconds in file.seconds.items()}
        swap(self._functions, changed)
        for item, following in zip(items, [*items[1:], None], strict=False):
            allowed = int(time.process_time() + LEAST_SECONDS + MOST_TIMES * known.get(item.nodeid, 0.0)) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (allowed, resource.RLIM_INFINITY))
            # Before: one that hangs says nothing afterwards.
            self._tell(item.nodeid)
            if _fails(item, following):
                os._exit(KILLED)

    def _tell_of(self, items: Sequence[pytest.Item]) -> None:
        """Run tests as they are, and tell about them."""
        self._tell(_looked_at(items, self._package))

    def _forked(self, work: Callable[[], None]) -> int:
        """The exit code of a fork that does some work."""
        child = os.fork()
        if child == 0:
            code = BROKEN
            try:
                os.setsid()
                signal.alarm(MOST_WAITING)
                work()
                code = SURVIVED
            except OutOfReach:
                code = OUT_OF_REACH
            except:
                self._tell(traceback.format_exc())
                raise
            finally:
                # Whatever happened: there is one that answers, and this is not the one.
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        end_group(child)
        return code

    def _tell(self, what: object) -> None:
        self._paper.write_bytes(pickle.dumps(what))

    def _told(self) -> Any:
        """What a fork has told last."""
        return pickle.loads(self._paper.read_bytes())


def module_of(path: str) -> str:
    """The name of a module of the package."""
    return ".".join(("hcssp", *Path(path).with_suffix("").parts))


def end_group(leader: int) -> None:
    """End the processes that tests have left behind."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return


def _fails(item: pytest.Item, following: pytest.Item | None) -> bool:
    """Run a test; says whether it fails."""
    from _pytest.runner import runtestprotocol

    try:
        return any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))
    except (KeyboardInterrupt, pytest.exit.Exception):
        return True


def _looked_at(items: Sequence[pytest.Item], package: Path) -> tuple[object, ...]:
    """Run tests, and see what they take, where they come by and whether they start processes."""
    import coverage

    started: list[str] = []
    sys.addaudithook(lambda event, _: started.append(event) if event in PROCESS_EVENTS else None)
    looking = coverage.Coverage(data_file=None, config_file=False, include=[f"{package}/*"])
    seconds = {}
    looking.start()
    for item, following in zip(items, [*items[1:], None], strict=False):
        looking.switch_context(item.nodeid)
        since = time.process_time()
        if _fails(item, following):
            raise RuntimeError(f"this test fails as it is: {item.nodeid}")
        seconds[item.nodeid] = time.process_time() - since
    looking.stop()
    data = looking.get_data()
    visitors = {
        (file, line): names
        for file in data.measured_files()
        for line, names in data.contexts_by_lineno(file).items()
    }
    return seconds, visitors, bool(started)
