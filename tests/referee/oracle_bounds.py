"""Lower bounds under weights, where all others come from: held against the exact least weighted cost."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from hcssp.dual.flat import FlatOracle
from hcssp.dual.oracle import Oracle
from hcssp.dual.procedure import ProcedureOracle
from hcssp.procedure.model import HCSSP
from hcssp.ssp.scalar_problem import Region
from referee.judgement import A_FEW_ROUNDINGS, LAST_DIGITS
from referee.pending import PENDING_KINDS
from referee.wild_problems import FAMILIES, Case, make_case
from volume import some

SEEDS = some((100, 102, 103, 104, 105, 107), 2)
NAMES = [family for family in FAMILIES if "odd" not in family and "dead ends" not in family]


PROCEDURE = "procedure"
"""The oracle of a procedure has always allowed for the rounding of its last digits."""


def check_oracle(family: str) -> list[str]:
    """Every bound of a family's oracles that is above the least weighted cost, by however little."""
    wrong = []
    for case in (make_case(family, seed) for seed in SEEDS):
        rng = np.random.default_rng(case.seed)
        for kind, oracle in _oracles(case):
            for weights in _weights(rng, case):
                minimum = oracle.minimise(np.array(weights), Region())
                least = _least(case, weights)
                if minimum is None or least is None:
                    if (minimum is None) != (least is None):
                        wrong.append(f"{case.name}, {kind}: {minimum}, but the least is {least}")
                elif Fraction(float(minimum.bound)) > least:
                    excess = float(Fraction(float(minimum.bound)) / least - 1) if least else np.inf
                    if excess > A_FEW_ROUNDINGS or LAST_DIGITS not in PENDING_KINDS or kind == PROCEDURE:
                        told = f"{minimum.bound!r} is {excess:.1e} too high"
                        wrong.append(f"{case.name}, {kind}, {weights}: {told}")
    return wrong


def _oracles(case: Case) -> Iterator[tuple[str, Oracle[Any]]]:
    if not isinstance(case.problem, HCSSP):
        yield "flat", FlatOracle(case.problem)
        return
    yield "flattened", FlatOracle(case.problem.flattening.cssp)
    if case.problem.flattening.separable:
        yield PROCEDURE, ProcedureOracle(case.problem.flattening)


def _weights(rng: np.random.Generator, case: Case) -> Iterator[list[float]]:
    """None but the primary cost, prices of the size at which they matter, and secondary costs alone."""
    count = len(case.bounds)
    yield [1.0, *(0.0 for _ in range(count))]
    largest = [max((policy.costs[k] for policy in case.truth.policies), default=0) for k in range(1 + count)]
    for scale in (1.0, 1e-3, 30.0):
        price = [float(largest[0] / most) if most else 1.0 for most in largest[1:]]
        yield [1.0, *(scale * rng.random() * each for each in price)]
    yield [0.0, *(float(rng.random()) for _ in range(count))]


def _least(case: Case, weights: list[float]) -> Fraction | None:
    exact = [Fraction(weight) for weight in weights]
    return min(
        (sum(w * c for w, c in zip(exact, policy.costs, strict=True)) for policy in case.truth.policies),
        default=None,
    )
