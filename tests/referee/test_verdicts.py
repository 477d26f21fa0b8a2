"""The referee's verdict on every method: nothing false is said, on the way or in the end."""

from __future__ import annotations

import pytest

from referee.judgement import judge
from referee.oracle_bounds import NAMES as ORACLES
from referee.oracle_bounds import check_oracle
from referee.pending import settled
from referee.verdicts import NAMES, check_verdict
from referee.wild_problems import make_case


@pytest.mark.parametrize("name", settled("verdict", NAMES))
def test_nothing_false_is_said(name: str) -> None:
    assert check_verdict(name) == []


@pytest.mark.parametrize("family", settled("oracle", ORACLES))
def test_no_bound_under_weights_is_too_high(family: str) -> None:
    assert check_oracle(family) == []


@pytest.mark.parametrize("method", ["exact", "budgets", "budgets as published"])
def test_what_takes_very_long_is_told_with_the_digits_that_it_takes(method: str) -> None:
    """On the way, too: budget allocation told what updates had left of the cost of 1e15 steps."""
    findings = judge(make_case("retries: loops", 41004), method)
    assert [str(finding) for finding in findings if finding.is_wrong] == []
