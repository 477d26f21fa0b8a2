"""HiGHS on the linear program over occupation measures: how long each of its methods takes.

HiGHS is given every advantage: its own tolerances instead of our tighter ones, an interior point method also
without crossover, since the bound alone would do, and for each problem the fastest method counts.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from measuring import announce, figure, number, peak_memory, run_apart

METHODS: dict[str, dict[str, Any]] = {
    "simplex": {"solver": "simplex"},
    "ipm": {"solver": "ipm"},
    "ipm-no-crossover": {"solver": "ipm", "run_crossover": "off"},
}
"""Options of HiGHS. Left out: hipo, which its wheels do not contain; pdlp, which takes many times as long on
the smallest problem already; primal simplex and no presolve, which are no faster."""


class Best(NamedTuple):
    """The fastest method: its seconds (None if all failed), whether it would need more, and its name."""

    seconds: float | None
    exceeded: bool
    method: str


def time_linear_program(problem: Any, method: str, cap: float) -> dict[str, Any]:
    """Seconds that HiGHS needs for the linear program of a flat problem, and the bound that it proves.

    Dropping what cannot be reached and stating the program are counted, as they are for the dual.
    """
    import highspy  # noqa: F401  (its import is not to be counted)

    from hcssp.cssp.preprocessing import prepare
    from hcssp.methods.highs.linear_program import relax

    began = time.perf_counter()
    prepared = prepare(problem)
    solving = relax(prepared.problem, {**METHODS[method], "time_limit": cap}, began)
    try:
        while True:
            next(solving)
    except StopIteration as finished:
        relaxation = finished.value
    return {
        "seconds": time.perf_counter() - began,
        "outcome": str(relaxation.answer.outcome),
        "value": figure(relaxation.lower_bound),
        "peak_memory_mb": peak_memory(),
    }


def run_methods(
    module: str, arguments: Mapping[str, Any], methods: list[str] | None, cap: float
) -> dict[str, Any]:
    """Call ``measure_highs`` of a benchmark for every method, each in a process of its own.

    Returns
    -------
    dict
        An answer for each method. One that had to be ended by force counts as stopped at the cap.
    """
    answers: dict[str, Any] = {}
    for method in methods or METHODS:
        announce(f"HiGHS, {method} (at most {cap:g} s)")
        wanted = {**arguments, "method": method, "cap": cap}
        answer = run_apart(module, "measure_highs", wanted, timeout=cap)
        answers[method] = answer or {"seconds": cap, "outcome": "time limit", "value": None}
    return answers


def best(answers: Mapping[str, Mapping[str, Any]], cap: float) -> Best:
    """The fastest of HiGHS's methods; if none ended in time, the cap is what the best exceeds."""
    ended = {method: a["seconds"] for method, a in answers.items() if a["outcome"] == "optimal"}
    if ended:
        method = min(ended, key=ended.__getitem__)
        return Best(ended[method], False, method)
    if any(answer["outcome"] == "time limit" for answer in answers.values()):
        return Best(cap, True, "none ended")
    return Best(None, False, "all failed")


def cells(answer: Mapping[str, Any], unit: float | None = None) -> list[str]:
    """For a table: the seconds, the same in units where there is one, and what HiGHS proved."""
    exceeded = answer["outcome"] == "time limit"
    said = number(answer["value"], ".9g") if answer["outcome"] == "optimal" else answer["outcome"]
    times = [number(answer["seconds"], exceeded=exceeded)]
    if unit is not None:
        times.append(number(answer["seconds"] / unit, ",.0f", exceeded=exceeded))
    return [*times, said]


def add_arguments(options: Any) -> None:
    """Add the options that say what HiGHS is asked."""
    options.add_argument(
        "--lp-cap",
        type=float,
        default=300.0,
        metavar="S",
        help="seconds for each method of HiGHS (default: 300)",
    )
    options.add_argument(
        "--lp-method", action="append", choices=list(METHODS), help="a method of HiGHS; may be repeated"
    )
