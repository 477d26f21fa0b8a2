"""The quick answer is the checker's own, whatever is forbidden."""

from __future__ import annotations

import numpy as np
import pytest

from hcssp.checker.layout import Block
from hcssp.proofs.ways_out import WaysOut
from random_problems import random_cssp
from volume import some


@pytest.mark.parametrize("seed", some(range(40), 3))
def test_it_is_what_the_checker_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    block = Block(random_cssp(seed))
    ways = WaysOut(block)
    for share in (0.0, 0.1, 0.3, 0.6, 1.0):
        forbidden = rng.random(block.num_rows) < share
        found, truth = ways.without(forbidden), block.almost_sure(~forbidden)
        assert found[0].tolist() == truth[0].tolist()
        assert found[1].tolist() == truth[1].tolist()
