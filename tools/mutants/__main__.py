"""Plant mistakes in the code that proofs rest on, one at a time, and see which of them the tests notice.

    python -m mutants --count 200 --seed 0 --seed 1

The tests that protect the file are run in a copy of the tree. A mistake that survives them is told, unless it
is listed with a reason in ``survivors.txt``: there are mistakes that make an answer slower and not wrong. A
line of the list that ends in ``#2`` stands for the second of several in a function that read the same, and
without it for all of them; one that ends in ``*`` for a whole function, or a constant, that decides nothing
but the pace. What is listed is not planted, and counts neither as noticed nor as not. The exit code is 1 if
fewer than nine in ten of the others were noticed. In the end the tests that noticed one are run on the code
as it is: a test that fails there has noticed nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutants.bench import Bench
from mutants.mutations import Mutation, mutations
from mutants.protection import ROOT, core_files, stages_of

SURVIVORS = Path(__file__).with_name("survivors.txt")

NOTICED = 0.9


@dataclass(frozen=True)
class Planted:
    """A mistake in a file of the package."""

    path: str
    mutation: Mutation

    @property
    def key(self) -> str:
        return f"{self.path}: {self.mutation.own_key}"

    @property
    def keys(self) -> tuple[str, str, str]:
        """By itself, with those of the function that read the same, with all of the function."""
        function = f"{self.path}: {self.mutation.function}"
        return self.key, f"{self.path}: {self.mutation.key}", f"{function}: *"

    def __str__(self) -> str:
        return f"{self.path}: {self.mutation}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant the mistakes that `arguments` ask for; says whether enough of them were noticed."""
    options = _parser().parse_args(arguments)
    core = core_files()
    paths = [path for path in core if not options.only or any(each in path for each in options.only)]
    samples = [sample(every_mistake(paths), options.count, seed) for seed in options.seed or [0]]
    chosen = list(dict.fromkeys(planted for each in samples for planted in each))[options.skip :]
    excused = read_survivors(SURVIVORS)
    for key in stale(excused, every_mistake(core_files())):
        print(f"there is no such code any more, take it out of {SURVIVORS.name}: {key}")
    outcome: dict[Planted, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        paths = [planted.path for planted in chosen if not is_excused(planted, excused)]
        tests = {test for path in set(paths) for stage in stages_of(path) for test in stage}
        bench = Bench(ROOT, Path(folder), tests)
        for number, planted in enumerate(chosen, start=1):
            if is_excused(planted, excused):
                verdict = "excused"
            else:
                verdict = bench.try_out(planted.path, planted.mutation.index, stages_of(planted.path))
            outcome[planted] = verdict
            print(f"{number:4d}/{len(chosen)} {verdict:9} {planted}", flush=True)
        bench.check_tests()
        bench.close()
    for seed, each in zip(options.seed or [0], samples, strict=True):
        print(f"seed {seed}: {_told(outcome[planted] for planted in each if planted in outcome)[0]}")
    told, share = _told(outcome.values())
    print(f"all of them: {told}")
    for planted, verdict in outcome.items():
        if verdict == "survived":
            print(f"survived: {planted.key}")
    return 0 if share >= NOTICED else 1


def _told(verdicts: Iterable[str]) -> tuple[str, float]:
    """How many mistakes were noticed, in words and as a share."""
    counts = Counter(verdicts)
    judged = counts.total() - counts["excused"]
    noticed = counts["killed"] + counts["hung"]
    share = noticed / judged if judged else 1.0
    return f"{noticed} of {judged} were noticed ({share:.0%}), {counts['excused']} are excused", share


def every_mistake(paths: Iterable[str]) -> Iterator[Planted]:
    """All mistakes that can be planted in the files."""
    for path in paths:
        source = (ROOT / "src" / "hcssp" / path).read_text(encoding="utf-8")
        yield from (Planted(path, mutation) for mutation in mutations(source))


def sample(mistakes: Iterable[Planted], count: int, seed: int) -> list[Planted]:
    """Some of the mistakes, the same for the same seed; in any order, so that a part is a sample, too.

    Each draws a lot of its own: a change of the code changes the sample only where it changes the mistakes.
    """
    return sorted(mistakes, key=lambda planted: _lot(planted, seed))[:count]


def _lot(planted: Planted, seed: int) -> bytes:
    return hashlib.blake2b(f"{seed}: {planted.key}".encode(), digest_size=8).digest()


def is_excused(planted: Planted, excused: Mapping[str, str]) -> bool:
    """Whether a mistake is listed, by itself or with others of its function."""
    return any(key in excused for key in planted.keys)


def stale(excused: Iterable[str], mistakes: Iterable[Planted]) -> list[str]:
    """The keys of `excused` that belong to none of the mistakes."""
    known = {name for planted in mistakes for name in planted.keys}
    return [key for key in excused if key not in known]


def read_survivors(path: Path) -> dict[str, str]:
    """The excused mistakes by key: a line for each, and after one or some of them, indented, why."""
    reasons: dict[str, str] = {}
    keys: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("    "):
            reasons |= {key: f"{reasons[key]} {line.strip()}".strip() for key in keys}
        elif line.strip() and not line.startswith("#"):
            # A reason ends a list of keys.
            keys = [*(key for key in keys if not reasons[key]), line.strip()]
            reasons[line.strip()] = ""
    return reasons


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=200, help="how many mistakes (%(default)s)")
    parser.add_argument("--seed", type=int, action="append", help="which ones (0); several make one run")
    parser.add_argument("--skip", type=int, default=0, help="leave out so many of them, judged before")
    parser.add_argument("--only", action="append", help="only files whose path contains this")
    return parser


if __name__ == "__main__":
    sys.exit(main())
