"""Many uses of a small activity: how soon the best plan is proven, beside another commit.

Twenty, a hundred and a thousand uses of an activity with two plans, or three, or of copies with slightly
different figures, under one bound that some of them must keep. Given a worktree of another commit, the same
files are solved there, for as long as it is allowed.

    git worktree add /tmp/before ae8785b
    python benchmarks/bench_alike.py --before /tmp/before
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from measuring import announce, figure, number, parser, run_apart, run_benchmark, table, verdict

CASES = (("two plans", 20), ("two plans", 100), ("two plans", 1_000), ("three plans", 100), ("copies", 100))
AIMS = {20: 1.0, 100: 1.0, 1_000: 5.0}  # seconds
SHARE = 0.325  # of the uses that may be fast
GAP = 1e-6


def problem_text(kind: str, uses: int) -> str:
    """A problem file: the uses one after the other."""
    lines = ["format: hcssp-problem", "version: 1", "costs: [time, damage]", "activities:"]
    for use in range(uses):
        extra = use * 0.618034 % 1.0 if kind == "copies" else 0.0
        rows = {"fast": (1.0 + 0.1 * extra, 1.0 + 0.05 * extra), "slow": (2.0, 0.0)}
        if kind == "three plans":
            rows["careful"] = (1.7, 0.35)
        told = ", ".join(
            f"{name}: {{to: z, costs: {{time: {spent!r}, damage: {done!r}}}}}"
            for name, (spent, done) in rows.items()
        )
        alike = use > 0 and kind != "copies"
        lines.append(
            f"  a{use}: " + ("{model: a0}" if alike else f"{{table: {{a: {{{told}}}}}, start: a, goal: z}}")
        )
    lines += ["procedure:", "  start: e0", f"  end: e{uses}", "  events:"]
    lines += [f"    e{use}: {{c: {{runs: a{use}, to: e{use + 1}}}}}" for use in range(uses)]
    return "\n".join([*lines, f"constraints: {{damage: {{at_most: {SHARE * uses + 0.1!r}}}}}", ""])


def measure_proof(path: str, cap: float) -> dict[str, Any]:
    """Solve a problem file; loading is not counted."""
    import hcssp
    from hcssp import Gap, MaxRuntime, PolicyBranching, solve

    # The name changed; both commits are asked by this one function.
    problem = hcssp.load(path) if hasattr(hcssp, "load") else hcssp.load_problem(path).problem
    began = time.perf_counter()
    plan = solve(problem, PolicyBranching(), stop=[Gap(GAP), MaxRuntime(cap)])
    return {
        "seconds": time.perf_counter() - began,
        "nodes": plan.iterations,
        "proved": bool(plan.gap <= GAP),
        "lower_bound": figure(plan.lower_bound),
        "upper_bound": figure(plan.upper_bound),
    }


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """All cases, here and there."""
    rows, figures = [], []
    with tempfile.TemporaryDirectory() as folder:
        for kind, uses in CASES:
            path = Path(folder) / f"{kind.replace(' ', '-')}-{uses}.yaml"
            path.write_text(problem_text(kind, uses), encoding="utf-8")
            asked = {"path": str(path), "cap": arguments.cap}
            announce(f"{uses} uses, {kind}")
            here = run_apart("bench_alike", "measure_proof", asked, arguments.cap)
            there = None
            if arguments.before is not None:
                announce(f"{uses} uses, {kind}, before")
                there = run_apart("bench_alike", "measure_proof", asked, arguments.cap, arguments.before)
            figures.append({"kind": kind, "uses": uses, "here": here, "before": there})
            took = None if here is None or not here["proved"] else here["seconds"]
            old = None if there is None else there["seconds"]
            rows.append(
                (
                    f"{kind}, {uses} uses",
                    number(took),
                    verdict(took, AIMS[uses]),
                    number(old, exceeded=there is not None and not there["proved"]),
                    number(None if took is None or old is None else old / took, ".0f"),
                )
            )
    header = ("problem", "seconds", "aim", "before", "times faster")
    print(table(f"Alike activities, proved to {GAP:g}", header, rows))
    return {"cases": figures}


def main() -> None:
    """Parse the options and measure."""
    options = parser("Many uses of a small activity.")
    options.add_argument("--before", type=Path, metavar="WORKTREE", help="another commit to compare with")
    options.add_argument("--cap", type=float, default=20.0, help="seconds for each problem")
    run_benchmark("bench_alike", options.parse_args(), measure)


if __name__ == "__main__":
    main()
