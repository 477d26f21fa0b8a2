"""Growth: the evacuation with all lengths multiplied by 1, 4 and 10, solved to a gap of 1e-3.

Each scale is solved in a process of its own. Told are the states, the time until the gap is certified
(building the model is counted, starting Python and importing are not), the peak memory, and the exponent e
with which time grows like (number of states)^e.

    python benchmarks/bench_scale.py --only 1 --only 4
"""

from __future__ import annotations

import argparse
import time
from math import log
from typing import Any

from measuring import (
    announce,
    figure,
    median,
    number,
    parser,
    peak_memory,
    run_apart,
    run_benchmark,
    table,
    verdict,
)

SCALES = (1, 4, 10)
BOUND = 2.0
GAP = 1e-3
EXPONENT_AIM = 1.3
MEMORY_AIM = 6000  # MB, at the largest scale
# A single run is noisy, and every exponent rests on two: the median of several counts.
REPEATS, REPEATS_OF_LONG = 5, 3
LONG = 5.0  # seconds


def measure_scale(scale: int, bound: float, cap: float) -> dict[str, Any]:
    """Build and solve one scale, noting when the gap is reached."""
    from hcssp.contract.progress import Gap, MaxRuntime
    from hcssp.methods.policy_branching import PolicyBranching
    from hcssp.scenarios.domains.evacuation import evacuation
    from hcssp.solving.solve import solve

    reached: list[float] = []

    def note(progress: Any) -> None:
        if not reached and progress.gap <= GAP:
            reached.append(time.perf_counter() - began)

    began = time.perf_counter()
    problem = evacuation(bound, scale)
    building = time.perf_counter() - began
    result = solve(problem, PolicyBranching(), [Gap(GAP), MaxRuntime(cap)], note)
    total = time.perf_counter() - began
    memory = peak_memory()
    return {
        "states": problem.flattening.num_states,
        "building_seconds": building,
        "seconds": reached[0] if reached else None,
        "total_seconds": total,
        "nodes": result.iterations,
        "lower_bound": figure(result.lower_bound),
        "upper_bound": figure(result.upper_bound),
        "gap": figure(result.gap),
        "stopped_by": str(result.ending.reason),
        "peak_memory_mb": memory,
    }


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure the wanted scales and print the table."""
    measured = {}
    for scale in sorted(set(arguments.only or SCALES)):
        announce(f"scale {scale} (at most {arguments.cap:g} s)")
        measured[scale] = _solve_repeatedly(scale, arguments)
    print(_table(measured, arguments), flush=True)
    return {"scales": measured, "bound": arguments.bound, "gap": GAP, "cap": arguments.cap}


def _solve_repeatedly(scale: int, arguments: argparse.Namespace) -> dict[str, Any] | None:
    wanted = {"scale": scale, "bound": arguments.bound, "cap": arguments.cap}
    answers: list[dict[str, Any]] = []
    while len(answers) < REPEATS:
        # A single step of a large scale may be long: ended by force only well beyond the cap.
        answer = run_apart("bench_scale", "measure_scale", wanted, timeout=2.0 * arguments.cap)
        if answer is None or answer["seconds"] is None:
            return answer
        answers.append(answer)
        if answer["seconds"] > LONG and len(answers) >= REPEATS_OF_LONG:
            break
    return {**answers[-1], "seconds": median(each["seconds"] for each in answers), "repeats": len(answers)}


def _table(measured: dict[int, dict[str, Any] | None], arguments: argparse.Namespace) -> str:
    rows = []
    solved: list[dict[str, Any]] = []
    for scale, answer in measured.items():
        if answer is None:
            rows.append([f"scale {scale}", "-", number(arguments.cap, exceeded=True), *["-"] * 7])
            continue
        exponent = _exponent(solved[-1], answer) if solved else None
        memory = answer["peak_memory_mb"]
        exceeded = answer["seconds"] is None
        rows.append(
            [
                f"scale {scale}",
                f"{answer['states']:,}",
                number(arguments.cap if exceeded else answer["seconds"], exceeded=exceeded),
                number(answer["building_seconds"]),
                f"{answer['nodes']:,}",
                number(answer["gap"], ".1e"),
                number(exponent, ".2f"),
                verdict(exponent, EXPONENT_AIM) if solved else "",
                f"{memory:,.0f}",
                verdict(memory, MEMORY_AIM) if scale == max(SCALES) else "",
            ]
        )
        if not exceeded:
            solved.append(answer)
    if len(solved) > 2:
        overall = _exponent(solved[0], solved[-1])
        rows.append(
            ["overall", "", "", "", "", "", number(overall, ".2f"), verdict(overall, EXPONENT_AIM), "", ""]
        )
    title = f"The evacuation at damage {arguments.bound:g}, to a gap of {GAP:g}"
    header = ["", "states", "seconds", "building, s", "nodes", "gap", "exponent", "aim", "MB", "aim, MB"]
    return table(title, header, rows)


def _exponent(small: dict[str, Any], large: dict[str, Any]) -> float | None:
    """The e for which time grows like states^e from one to the other."""
    if large["seconds"] is None:
        return None
    return log(large["seconds"] / small["seconds"]) / log(large["states"] / small["states"])


def main() -> None:
    """Read the options and measure."""
    options = parser("Growth of time and memory with the number of states.")
    options.add_argument("--only", action="append", type=int, metavar="SCALE", help="may be repeated")
    options.add_argument("--bound", type=float, default=BOUND, help=f"on damage (default: {BOUND:g})")
    options.add_argument("--cap", type=float, default=900.0, help="seconds for each scale (default: 900)")
    run_benchmark("bench_scale", options.parse_args(), measure)


if __name__ == "__main__":
    main()
