"""The referee at full length: random problems by the thousand, judged in rational numbers.

    python -m referee                                 all families, 80 problems each
    python -m referee --family loops --first 17 --count 1 --method exact

A problem about which something false was said is written to a folder, as a problem file that tells the story
in its first lines. The exit code is 1 if there is one. What a method left open is counted, and no failure.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from hcssp.files.problem_file.dumping import dump_problem
from referee.judgement import CURVE, METHODS, OPEN, Finding, TookTooLong, judge
from referee.pending import PENDING_KINDS
from referee.wild_problems import FAMILIES, NESTED, Case, make_case

GENTLE = {"natural", "free", "ties", "dead ends"}
"""Families whose numbers are within what HiGHS promises."""


def methods_for(case: Case) -> tuple[str, ...]:
    """The methods that are asked about a problem of the full run."""
    shape, _, style = case.family.rpartition(": ")
    if case.family in NESTED:
        # There every method is asked about every problem.
        return tuple(each for each in (*METHODS, CURVE) if style in GENTLE or each not in ("milp", "lp"))
    chosen = ["exact", "anytime"]
    if shape:
        chosen.append("budgets to the end" if case.seed % 2 else "budgets")
    if case.seed % 4 == 0:
        chosen.append(CURVE)
    if case.seed % 4 == 1 and shape:
        chosen.append("flattened")
    if case.seed % 4 == 2 and style in GENTLE:
        chosen += ["milp", "lp"]
    if case.seed % 4 == 3:
        chosen.append("dual")
    if case.seed % 4 == 3 and shape and style in GENTLE:
        chosen.append("budgets as published")
    return tuple(chosen)


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge the problems that `arguments` name; the number of wrong answers decides the exit code."""
    options = _parser().parse_args(arguments)
    families = options.family or (*FAMILIES, *NESTED)
    judged: Counter[str] = Counter()
    kinds: dict[str, Counter[str]] = {family: Counter() for family in families}
    wrong: list[Finding] = []
    began = time.perf_counter()
    for family in families:
        for seed in range(options.first, options.first + options.count):
            case = make_case(family, seed)
            found = []
            for method in options.method or methods_for(case):
                with _time_limit(options.time_limit):
                    found += judge(case, method)
            judged[family] += 1
            kinds[family].update({each.kind for each in found})
            mistakes = [each for each in found if each.is_wrong and each.kind not in PENDING_KINDS]
            if mistakes:
                wrong += mistakes
                _write(options.out, case, mistakes)
            _tell(f"{family}: {judged[family]} problems, {len(wrong)} wrong answers so far")
    _tell("")
    _summary(judged, kinds, time.perf_counter() - began)
    for finding in wrong:
        print(finding)
    if wrong:
        print(f"{len(wrong)} wrong answers; their problems are in {options.out}")
    return 1 if wrong else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m referee", description=__doc__.split("\n")[0])
    parser.add_argument(
        "--family", action="append", choices=[*FAMILIES, *NESTED], help="only this one; may be repeated"
    )
    parser.add_argument("--method", action="append", choices=[*METHODS, CURVE], help="only this one")
    parser.add_argument("--first", type=int, default=0, help="the first seed of each family (%(default)s)")
    parser.add_argument("--count", type=int, default=80, help="problems of each family (%(default)s)")
    parser.add_argument("--time-limit", type=float, default=20.0, help="seconds for one answer (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("out/fuzz"), help="where to write (%(default)s)")
    return parser


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Interrupt what takes longer, where the system can."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _write(folder: Path, case: Case, mistakes: Sequence[Finding]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    slug = case.name.replace(": ", "-").replace(" ", "-")
    lines = [f"# {line}" for finding in mistakes for line in str(finding).splitlines()]
    lines.append(f"# python -m referee --family {case.family!r} --first {case.seed} --count 1")
    text = "\n".join([*lines, dump_problem(case.problem.procedure)])
    (folder / f"{slug}.yaml").write_text(text, encoding="utf-8")


def _tell(line: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


def _summary(judged: Counter[str], kinds: dict[str, Counter[str]], seconds: float) -> None:
    """A line for each family: how many problems, and in how many of them each kind was found."""
    width = max(map(len, kinds), default=0)
    print(f"{'family':{width}}  problems    open  wrong")
    for family, counts in kinds.items():
        wrong = ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items()) if kind != OPEN)
        print(f"{family:{width}}  {judged[family]:8d}  {counts[OPEN]:6d}  {wrong or '-'}")
    print(f"{judged.total()} problems in {seconds:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
