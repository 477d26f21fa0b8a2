"""Whole proofs about random problems of all kinds, checked against brute force."""

from __future__ import annotations

from math import inf, isfinite
from typing import Any

import pytest

from hcssp.checker import check
from hcssp.files.certificate import from_bytes, to_bytes
from proof_search import ProofSearch, searched
from random_problems import random_cssp
from random_procedures import random_procedure
from volume import some

KINDS: dict[str, dict[str, Any]] = {
    "procedure": {},
    "cycles": {"cycles": True},
    "exits": {"several_exits": True},
    "cycles and exits": {"cycles": True, "several_exits": True},
}


def problem_of(kind: str, seed: int) -> Any:
    return (
        random_cssp(seed, max_states=5, infeasible=0.3)
        if kind == "flat"
        else random_procedure(seed, **KINDS[kind])
    )


@pytest.mark.parametrize("seed", some(range(100, 106), 2))
@pytest.mark.parametrize("kind", ["flat", *KINDS])
def test_the_interval_meets_the_optimum(kind: str, seed: int) -> None:
    problem = problem_of(kind, seed)
    proof = searched(problem)
    certificate = from_bytes(to_bytes(proof.certificate))
    verdict = check(problem, certificate)
    exact = check(problem, certificate, exact=True)
    assert (exact.lower_bound, exact.upper_bound, exact.costs) == (
        verdict.lower_bound,
        verdict.upper_bound,
        verdict.costs,
    )
    assert exact.num_exact >= verdict.num_exact
    if isfinite(proof.optimum):
        scale = 1.0 + abs(proof.optimum)
        assert proof.optimum - 2e-7 * scale <= verdict.lower_bound <= proof.optimum + 1e-12 * scale
        assert proof.optimum - 1e-12 * scale <= verdict.upper_bound <= proof.optimum + 1e-11 * scale
    else:
        assert verdict.lower_bound == verdict.upper_bound == inf


@pytest.mark.parametrize("seed", some(range(200, 210), 2))
def test_an_interval_is_true_wherever_the_search_stops(seed: int) -> None:
    problem = random_procedure(seed, cycles=bool(seed % 2))
    for nodes in (1, 2, 5):
        proof = searched(problem, max_nodes=nodes)
        verdict = check(problem, proof.certificate)
        assert verdict.lower_bound <= proof.optimum * (1.0 + 1e-12)
        assert verdict.upper_bound >= proof.optimum * (1.0 - 1e-12)


# Events between which one goes to and fro for nothing, through activities and their exits: rounding must not
# make that worth while.
@pytest.mark.parametrize(
    ("kind", "seed"),
    some([("cycles", 1025), *(("cycles and exits", seed) for seed in (1035, 1047, 1029))], 2),
)
def test_free_cycles_through_events(kind: str, seed: int) -> None:
    problem = problem_of(kind, seed)
    proof = searched(problem)
    verdict = check(problem, proof.certificate)
    assert verdict.lower_bound == pytest.approx(proof.optimum, rel=1e-7)
    assert verdict.upper_bound == pytest.approx(proof.optimum, rel=1e-12)


def test_some_of_them_are_infeasible() -> None:
    optima = [ProofSearch(problem_of("flat", seed)).optimum for seed in range(100, 106)]
    assert inf in optima
