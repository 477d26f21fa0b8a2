"""Problems about which something false was once said; see :mod:`reproductions`."""

from __future__ import annotations

import pytest

from referee.pending import settled
from reproductions import CHECKS


@pytest.mark.parametrize("name", settled("reproduction", CHECKS))
def test_the_truth_is_told(name: str) -> None:
    assert CHECKS[name]() == []
