"""Lines and corridors of 10^5 and 10^6 states under one bound, to a gap of 1e-3: the time for each state.

A *line* goes on or back by a step; a *line of retries* falls back by up to thirty steps; a *corridor* is a
grid three cells wide, with slips and hazards. Their factors have next to no fill, so a state of the long one
should cost about what a state of the short one does. Told is the processor's time for each state, and how
many times that of the short one it is.

    python benchmarks/bench_chain.py --only line --sizes 10000 100000
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from measuring import announce, number, parser, peak_memory, run_apart, run_benchmark, table, verdict

GAP = 1e-3
SIZES = (100_000, 1_000_000)
KINDS = ("line", "retries", "corridor")
RATIO_AIM = 1.5
FALL = 30  # steps at most
WIDTH = 3  # cells
CORRIDOR_BOUND = 0.17  # damage for each column; the fastest plan takes 0.23, the most careful one 0.13


def measure_kind(kind: str, size: int, cap: float) -> dict[str, Any]:
    """Solve one problem; making it is not counted."""
    from hazard_grid import hazard_grid
    from hcssp import Gap, MaxRuntime, solve

    if kind == "corridor":
        columns = size // WIDTH
        problem = hazard_grid(columns, WIDTH, bound=CORRIDOR_BOUND * columns)
    else:
        problem = _line(size, back=1 if kind == "line" else FALL)
    began = time.process_time()
    plan = solve(problem, stop=[Gap(GAP), MaxRuntime(cap)])
    return {
        "seconds": time.process_time() - began,
        "states": problem.num_states,
        "solved": bool(plan.gap <= GAP),
        "nodes": plan.iterations,
        "memory": peak_memory(),
    }


def _line(count: int, back: int) -> Any:
    """Two actions in each state: one may stay or fall back, the other costs something of what is bounded."""
    import numpy as np
    from scipy.sparse import csr_array

    from hcssp import CSSP

    rng = np.random.default_rng(0)
    state = np.arange(count)
    fails = rng.uniform(0.01, 0.03, count) if back > 1 else np.full(count, 0.2)
    where = np.maximum(state - rng.integers(1, back, count), 0) if back > 1 else state
    heads = np.stack([state + 1, where, state + 1, np.maximum(state - 1, 0)], axis=1)
    odds = np.stack([1.0 - fails, fails, np.full(count, 0.95), np.full(count, 0.05)], axis=1)
    rows = np.repeat(np.arange(2 * count), 2)
    transitions = csr_array((odds.ravel(), (rows, heads.ravel())), shape=(2 * count, count + 1))
    risk = 0.01 * (rng.uniform(0.5, 1.5, count) if back > 1 else np.ones(count))
    costs = np.stack([np.ones(2 * count), np.stack([np.zeros(count), risk], axis=1).ravel()])
    return CSSP(
        transitions=transitions,
        row_start=np.append(np.arange(0, 2 * count + 1, 2), 2 * count),
        costs=costs,
        initial=np.eye(1, count + 1)[0],
        goals=np.arange(count + 1) == count,
        cost_names=("time", "risk"),
        bounds=np.array([0.004 * count]),
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """All kinds, short and long."""
    rows, figures = [], []
    for kind in arguments.only or KINDS:
        short: float | None = None
        for size in arguments.sizes:
            announce(f"{kind}, {size:,} states")
            asked = {"kind": kind, "size": size, "cap": arguments.cap}
            answer = run_apart("bench_chain", "measure_kind", asked, timeout=2.0 * arguments.cap)
            figures.append({"kind": kind, "size": size, "answer": answer})
            solved = answer is not None and answer["solved"]
            each = 1e6 * answer["seconds"] / answer["states"] if answer is not None and solved else None
            ratio = None if each is None or short is None else each / short
            rows.append(
                (
                    kind,
                    f"{size:,}",
                    number(answer and answer["seconds"], exceeded=not solved),
                    number(each, ".1f"),
                    number(ratio, ".2f"),
                    verdict(ratio, RATIO_AIM) if short is not None else "",
                    number(answer and answer["memory"], ",.0f"),
                )
            )
            short = each if short is None else short
    header = ("", "states", "seconds", "a state, 1e-6 s", "times the short one", "aim", "MB")
    print(table(f"Lines and corridors, to a gap of {GAP:g}", header, rows))
    return {"problems": figures, "gap": GAP, "cap": arguments.cap}


def main() -> None:
    """Read the options and measure."""
    options = parser("Lines and corridors, short and long.")
    options.add_argument("--only", action="append", choices=KINDS, help="only this kind; may be repeated")
    options.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="STATES")
    options.add_argument("--cap", type=float, default=300.0, help="seconds for each problem (default: 300)")
    run_benchmark("bench_chain", options.parse_args(), measure)


if __name__ == "__main__":
    main()
