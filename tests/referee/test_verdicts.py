"""The referee's verdict on every method: nothing false is said, on the way or in the end."""

from __future__ import annotations

import pytest

from referee.oracle_bounds import NAMES as ORACLES
from referee.oracle_bounds import check_oracle
from referee.pending import settled
from referee.verdicts import NAMES, check_verdict


@pytest.mark.parametrize("name", settled("verdict", NAMES))
def test_nothing_false_is_said(name: str) -> None:
    assert check_verdict(name) == []


@pytest.mark.parametrize("family", settled("oracle", ORACLES))
def test_no_bound_under_weights_is_too_high(family: str) -> None:
    assert check_oracle(family) == []
