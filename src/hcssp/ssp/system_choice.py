"""What evaluates the policies of a problem fastest: factors, or sweeps where factors would be dense.

How much the factors fill in is a matter of how states hang together, not of how many there are: see
:mod:`hcssp.cssp.fill` for graphs whose steps lead anywhere, and for lines and corridors, and
:mod:`hcssp.cssp.fill_sample` for what lies between.
"""

from __future__ import annotations

import numpy as np

from hcssp.cssp.fill import NARROW, SMALL, fills_in, mean_width, narrow_order
from hcssp.cssp.fill_sample import SAMPLE, fills_in_nearby
from hcssp.ssp.balance import Balance
from hcssp.ssp.dense_system import DenseSystem
from hcssp.ssp.policy_system import PolicySystem
from hcssp.ssp.start import starting_policy
from hcssp.ssp.sweep_system import SweepSystem
from hcssp.ssp.system import System

MAX_FACTORISED_STATES = 400_000
"""Problems whose factors take more work than those of a square grid with so many live states, and those whose
factors fill in, are evaluated by sweeps unless the user says otherwise. That work grows with the states times
the side of the grid; of a line or a corridor it is the width that counts, however long it is."""

GRID_WIDTH = 0.65
"""The mean width of a square grid is this share of its side, see :func:`~hcssp.cssp.fill.mean_width`."""

MAX_NARROW_SIDE = NARROW / GRID_WIDTH
"""What is as narrow as a grid of this side has sparse factors, whatever its steps."""


def side_of(balance: Balance) -> float:
    """The side of a square grid whose states take as much work to eliminate, each, as those of a problem."""
    return min(float(np.sqrt(balance.num_live)), mean_width(balance.graph, _start(balance)) / GRID_WIDTH)


def system_for(balance: Balance, side: float) -> System:
    """What evaluates the policies of a problem.

    Parameters
    ----------
    balance
        The problem.
    side
        See :func:`side_of`; of a problem that is not large, the root of its states will do.
    """
    if DenseSystem.suits(balance):
        return DenseSystem(balance)
    start = _start(balance)
    mixes = fills_in(balance.graph, start)
    if mixes or side * balance.num_live > MAX_FACTORISED_STATES**1.5:
        return SweepSystem(balance, mixes)
    if balance.num_live > SAMPLE and side > MAX_NARROW_SIDE:
        everything = np.ones(balance.num_rows, dtype=np.bool_)
        rows, _ = starting_policy(balance, balance.costs[0], everything)
        if fills_in_nearby(balance.matrix[rows], start):
            return SweepSystem(balance)
    narrow = balance.num_live > SMALL and side <= MAX_NARROW_SIDE
    return PolicySystem(balance, narrow_order(balance.graph, start) if narrow else None)


def _start(balance: Balance) -> int:
    """A state in which it begins."""
    return int(np.argmax(balance.initial)) if balance.num_live else 0
