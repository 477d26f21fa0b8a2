"""The part of the referee's problems that every test run judges."""

from __future__ import annotations

from referee.__main__ import methods_for
from referee.judgement import Finding, judge
from referee.pending import PENDING_KINDS
from referee.wild_problems import FAMILIES, make_case
from volume import FULL

SEEDS = range(4)
"""Each has methods of its own, see :func:`~referee.__main__.methods_for`."""

NAMES = [
    # Of two families that stand side by side, one has the even seeds and the other the odd ones.
    *(
        f"{family} {seed}"
        for index, family in enumerate(FAMILIES)
        for seed in (SEEDS if FULL else SEEDS[index % 2 :: 2])
    ),
    # Nested procedures take longer, since their certificates are checked in integers.
    *(f"nested{shape}: natural 1" for shape in ("", " exits", " limits")),
    # Activities that cannot end, under limits and bounds of 0: budget allocation plans a part of the problem.
    *(f"nested limits: odd {seed}" for seed in (500, 517, 531)),
]
"""A family and a seed."""


def check_verdict(name: str) -> list[str]:
    """Everything false that is said about a problem."""
    wrong = [finding for finding in _findings(name) if finding.is_wrong]
    return [str(finding) for finding in wrong if finding.kind not in PENDING_KINDS]


def check_kind(kind: str) -> list[str]:
    """Everything of a kind that is said about some gentle problems."""
    findings = [finding for seed in SEEDS for finding in _findings(f"natural {seed}")]
    return [str(finding) for finding in findings if finding.kind == kind]


def _findings(name: str) -> list[Finding]:
    family, _, seed = name.rpartition(" ")
    case = make_case(family, int(seed))
    return [finding for method in methods_for(case) for finding in judge(case, method)]
