"""Plant mistakes in the code that proofs rest on, one at a time, and see which of them the tests notice.

    python -m mutants --count 200 --seed 0

The tests that concern the file are run in a copy of the tree. A mistake that survives them is told, unless it
is listed with a reason in ``survivors.txt``: there are mistakes that make an answer slower and not wrong. The
exit code is 1 if fewer than nine in ten of the others were noticed.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutants.mutations import Mutation, mutated, mutations

ROOT = Path(__file__).parents[2]
SURVIVORS = Path(__file__).with_name("survivors.txt")

CORE = (
    "numerics.py",
    "ssp/*.py",
    "dual/*.py",
    "checker/*.py",
    "proofs/*.py",
    "methods/best_first.py",
    "methods/policy_branching.py",
)
"""What a claim rests on, in ``src/hcssp``."""

NOT_COPIED = (".*", "__pycache__", "*.pyc", "out", "site", "build", "dist")

LAST_RESORT = ("tests/referee/test_verdicts.py", "tests/solving/test_reproductions.py")
"""Run where the tests of the file itself notice nothing."""

NOTICED = 0.9


@dataclass(frozen=True)
class Planted:
    """A mistake in a file of the package."""

    path: str
    mutation: Mutation

    @property
    def key(self) -> str:
        return f"{self.path}: {self.mutation.key}"

    def __str__(self) -> str:
        return f"{self.path}: {self.mutation}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant the mistakes that `arguments` ask for; says whether enough of them were noticed."""
    options = _parser().parse_args(arguments)
    paths = [path for path in core_files() if not options.only or any(each in path for each in options.only)]
    chosen = sample(every_mistake(paths), options.count, options.seed)
    excused = read_survivors(SURVIVORS)
    outcome: Counter[str] = Counter()
    unexcused = []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        for number, planted in enumerate(chosen, start=1):
            verdict = bench.try_out(planted)
            if verdict == "survived" and planted.key in excused:
                verdict = "excused"
            outcome[verdict] += 1
            if verdict == "survived":
                unexcused.append(planted)
            print(f"{number:4d}/{len(chosen)} {verdict:9} {planted}", flush=True)
    judged = outcome.total() - outcome["excused"]
    noticed = outcome["killed"] + outcome["hung"]
    share = noticed / judged if judged else 1.0
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(outcome.items())))
    print(f"{noticed} of {judged} were noticed ({share:.0%})")
    for planted in unexcused:
        print(f"survived: {planted.key}")
    return 0 if share >= NOTICED else 1


def core_files() -> list[str]:
    """The files that mistakes are planted in, relative to ``src/hcssp``."""
    package = ROOT / "src" / "hcssp"
    return sorted({str(path.relative_to(package)) for pattern in CORE for path in package.glob(pattern)})


def every_mistake(paths: Iterable[str]) -> Iterator[Planted]:
    """All mistakes that can be planted in the files."""
    for path in paths:
        source = (ROOT / "src" / "hcssp" / path).read_text(encoding="utf-8")
        yield from (Planted(path, mutation) for mutation in mutations(source))


def sample(mistakes: Iterable[Planted], count: int, seed: int) -> list[Planted]:
    """Some of the mistakes, the same for the same seed; in any order, so that a part is a sample, too."""
    every = list(mistakes)
    return random.Random(seed).sample(every, min(count, len(every)))


def read_survivors(path: Path) -> dict[str, str]:
    """The excused mistakes by key: a line for each, and an indented line that says why."""
    reasons: dict[str, str] = {}
    key = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("    ") and key:
            reasons[key] = f"{reasons[key]} {line.strip()}".strip()
        elif line.strip() and not line.startswith("#"):
            key = line.strip()
            reasons[key] = ""
    return reasons


def stages_of(path: str) -> list[list[str]]:
    """The tests that concern a file, in the order in which they are tried."""
    own = Path(path)
    mirrored = ROOT / "tests" / own.parent / f"test_{own.name}"
    # Its doctests apart: a module that is imported for them hides a function of the same name.
    stages = [[str(mirrored.relative_to(ROOT))]] if mirrored.exists() else []
    stages.append([f"src/hcssp/{path}"])
    if own.parent != Path():
        stages.append([str(Path("tests") / own.parent)])
    return [*stages, list(LAST_RESORT)]


class Bench:
    """A copy of the tree in which mistakes are planted and tests are run.

    Parameters
    ----------
    folder
        Where to copy it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "tree"
        shutil.copytree(ROOT, self._folder, ignore=shutil.ignore_patterns(*NOT_COPIED))
        self._seconds: dict[tuple[str, ...], float] = {}

    def try_out(self, planted: Planted) -> str:
        """Whether the tests of the file notice the mistake: "killed", "hung" or "survived"."""
        path = self._folder / "src" / "hcssp" / planted.path
        source = path.read_text(encoding="utf-8")
        for tests in stages_of(planted.path):
            # What the tests take as they are, before there is anything to notice.
            limit = 3.0 * self._usual(tests) + 20.0
            try:
                path.write_text(mutated(source, planted.mutation.index), encoding="utf-8")
                verdict = self._run(tests, limit)
            finally:
                path.write_text(source, encoding="utf-8")
            if verdict != "survived":
                return verdict
        return "survived"

    def _usual(self, tests: Sequence[str]) -> float:
        key = tuple(tests)
        if key not in self._seconds:
            began = time.perf_counter()
            if self._run(tests, None) != "survived":
                raise RuntimeError(f"{' '.join(tests)}: the tests fail as they are")
            self._seconds[key] = time.perf_counter() - began
        return self._seconds[key]

    def _run(self, tests: Sequence[str], limit: float | None) -> str:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
        here = os.pathsep.join(str(self._folder / each) for each in ("src", "tests", "tools"))
        try:
            done = subprocess.run(
                command,
                cwd=self._folder,
                env={**os.environ, "PYTHONPATH": here, "PYTHONDONTWRITEBYTECODE": "1"},
                capture_output=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "hung"
        # 5: there was nothing to run, as in a file without doctests.
        return "survived" if done.returncode in (0, 5) else "killed"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=200, help="how many mistakes (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="which ones (%(default)s)")
    parser.add_argument("--only", action="append", help="only files whose path contains this")
    return parser


if __name__ == "__main__":
    sys.exit(main())
