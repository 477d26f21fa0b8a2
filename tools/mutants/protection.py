"""The files that mistakes are planted in, and the tests that must notice them.

A mistake that nothing notices costs the time of all these tests, so only the most telling are named.

>>> protectors_of("ssp/scalar_problem.py")[1:]
['tests/ssp/test_region.py', 'tests/methods/test_policy_branching.py']
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]

PROTECTORS: dict[str, tuple[str, ...]] = {
    "checker/arithmetic.py": (
        "checker/test_check.py",
        "checker/test_knapsack.py",
        "checker/test_adversary.py",
    ),
    "checker/checking.py": (
        "checker/test_check.py",
        "checker/test_knapsack.py",
        "checker/test_tampering.py",
        "proofs/test_builder.py",
        "checker/test_adversary.py",
    ),
    "checker/format.py": ("checker/test_check.py", "checker/test_tampering.py"),
    "checker/layout.py": (
        "checker/test_arithmetic.py",
        "checker/test_check.py",
        "checker/test_tampering.py",
        "checker/test_adversary.py",
    ),
    "dual/ascent.py": (
        "dual/test_roundings_of_duals.py",
        "dual/test_line_search.py",
        "dual/test_cutting_planes.py",
    ),
    "ssp/potential.py": ("ssp/test_roundings.py", "ssp/test_scalar_problem.py", "ssp/test_balance.py"),
    "ssp/scalar_problem.py": ("ssp/test_region.py", "methods/test_policy_branching.py"),
}
"""What claims rest on: the checker, the potential that certifies every lower bound, regions, and the dual.

Everything else only proposes. A mistake elsewhere makes a search slower, an interval wider or a certificate
refused; the referee and the contract suite of the oracles test those parts."""

LAST_RESORT = ("tests/referee/test_verdicts.py", "tests/solving/test_reproductions.py")
"""Run where the tests of the file itself notice nothing."""


def core_files() -> list[str]:
    """The files that mistakes are planted in, relative to ``src/hcssp``."""
    return sorted(PROTECTORS)


def protectors_of(path: str) -> list[str]:
    """The tests of a file of the core: those of the same name, then others."""
    own = Path(path)
    mirrored = Path("tests") / own.parent / f"test_{own.name}"
    first = [mirrored.as_posix()] if (ROOT / mirrored).exists() else []
    return [*first, *(f"tests/{each}" for each in PROTECTORS[path])]


def stages_of(path: str) -> list[list[str]]:
    """All tests that concern a file, in the order in which they are tried."""
    # Its doctests apart: a module that is imported for them hides a function of the same name.
    return [protectors_of(path), [f"src/hcssp/{path}"], list(LAST_RESORT)]
