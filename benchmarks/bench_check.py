"""How much faster double precision verifies a certificate than integers, for seven bounds of the evacuation.

A check reads the problem and the certificate, lays the problem out as arrays, and verifies. The first two are
the same in both kinds of arithmetic. What is compared is the rest: every potential's rows, every leaf and the
plan, with the arrays of either kind made before; they are measured in turn, by the processor's clock, and the
least of each counts. The whole check is told, too.

    python benchmarks/bench_check.py
    python benchmarks/bench_check.py --only 8 --rounds 5
"""

from __future__ import annotations

import argparse
from typing import Any

from measuring import announce, number, parser, run_apart, run_benchmark, table, verdict

BOUNDS = (0.01, 0.1, 1.0, 2.0, 5.0, 8.0, 10.0)
ROUNDS = 3
FLOAT_RUNS = 5  # in double precision for each one in integers, which is so much longer
AIM = 50.0


def measure_check(bound: float, rounds: int) -> dict[str, Any]:
    """Prove the best plan under a bound on damage, and verify the proof in both kinds of arithmetic."""
    import importlib
    from time import process_time

    from hcssp.checker import check
    from hcssp.files.certificate import from_bytes, to_bytes
    from hcssp.scenarios.domains.evacuation import evacuation
    from hcssp.solving.solve import solve

    problem = evacuation(bound)
    data = to_bytes(solve(problem).certificate)
    began = process_time()
    certificate = from_bytes(data)
    reading = process_time() - began
    began = process_time()
    check(problem, certificate)
    whole = process_time() - began

    checking = importlib.import_module("hcssp.checker.checking")
    layout = checking.Layout(problem)
    checking.Layout = lambda problem: layout
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for run in range(rounds + 1):
        for exact in [False] * FLOAT_RUNS + [True]:
            began = process_time()
            verified = check(problem, certificate, exact=exact)
            # The first round makes the arrays.
            seconds[exact] += [process_time() - began] if run else []
    return {
        "bound": bound,
        "megabytes": len(data) / 1e6,
        "leaves": len(certificate.leaves),
        "potentials": len(certificate.potentials),
        "in_integers": verified.num_exact,
        "reading": reading,
        "whole_check": whole,
        "double_precision": min(seconds[False]),
        "integers": min(seconds[True]),
        "ratio": min(seconds[True]) / min(seconds[False]),
    }


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure the bounds, and print the table."""
    measured, rows = [], []
    for bound in arguments.only or BOUNDS:
        announce(f"certificates of the evacuation, damage {bound:g}")
        answer = run_apart("bench_check", "measure_check", {"bound": bound, "rounds": arguments.rounds})
        measured.append(answer)
        rows.append(
            [
                f"{bound:g}",
                *(f"{answer[key]}" for key in ("leaves", "potentials")),
                number(answer["megabytes"], ".2f"),
                number(answer["whole_check"], ".2f"),
                number(answer["double_precision"], ".4f"),
                number(answer["integers"], ".2f"),
                number(answer["ratio"], ".0f"),
                verdict(answer["ratio"], AIM, at_least=True),
            ]
        )
    header = (
        "damage",
        "leaves",
        "potentials",
        "MB",
        "check s",
        "verify s",
        "in integers s",
        "times faster",
        "aim",
    )
    print(table("certificates of the evacuation, verified in double precision and in integers", header, rows))
    return {"checks": measured}


def _parser() -> argparse.ArgumentParser:
    options = parser(__doc__)
    options.add_argument("--only", type=float, action="append", help="only this bound; can be given again")
    options.add_argument("--rounds", type=int, default=ROUNDS, help="how often in integers (%(default)s)")
    return options


if __name__ == "__main__":
    run_benchmark("bench_check", _parser().parse_args(), measure)
