"""What evaluates the policies of a problem fastest: factors, or sweeps where factors would be dense.

How much the factors fill in is a matter of how states hang together, not of how many there are: see
:mod:`hcssp.cssp.fill` for graphs whose steps lead anywhere, and for lines and corridors, and
:mod:`hcssp.cssp.fill_sample` for what lies between.
"""

from __future__ import annotations

import numpy as np

from hcssp.cssp.fill import GRID_WIDTH, NARROW, SMALL, Layers
from hcssp.cssp.fill_sample import SAMPLE, fills_in_nearby
from hcssp.ssp.balance import Balance
from hcssp.ssp.dense_system import DenseSystem
from hcssp.ssp.policy_system import PolicySystem
from hcssp.ssp.sweep_system import SweepSystem
from hcssp.ssp.system import System

MAX_FACTORISED_STATES = 400_000
"""With more live states, problems that are wider than a square grid are evaluated by sweeps, unless the user
says otherwise. Factors of a grid have 27 entries a state at 150,000 states and 33 at 900,000; where more than
two things vary, that number grows with a power of the states, and a small part does not show it."""

SURELY_SPARSE = 2.5e6
"""With fewer states times mean width, factors are made in no time, whatever the steps within a layer: layer
after layer they have some three times as many entries. That of a grid is reached at 25,000 states."""

MAX_NARROW_SIDE = NARROW / GRID_WIDTH
"""What is as narrow as a grid of this side has sparse factors, whatever its steps."""


def layers_of(balance: Balance) -> Layers:
    """The layers of a problem's states, whatever is done in them."""
    return Layers(balance.graph, int(np.argmax(balance.initial)) if balance.num_live else 0)


def side_of(balance: Balance, layers: Layers) -> float:
    """The side of a square grid whose states take as much work to eliminate, each, as those of a problem."""
    return min(float(np.sqrt(balance.num_live)), layers.mean_width / GRID_WIDTH)


def system_for(balance: Balance, layers: Layers, side: float) -> System:
    """What evaluates the policies of a problem.

    Parameters
    ----------
    balance
        The problem.
    layers
        Those of its states.
    side
        See :func:`side_of`; of a problem that is not large, the root of its states will do.
    """
    if DenseSystem.suits(balance):
        return DenseSystem(balance)
    if layers.fill_in or (balance.num_live > MAX_FACTORISED_STATES and layers.wider_than_grid):
        return SweepSystem(balance, layers.fill_in)
    wide = balance.num_live > SAMPLE and side > MAX_NARROW_SIDE
    if wide and balance.num_live * layers.mean_width > SURELY_SPARSE:
        # The rows that lead to most states fill in as much as any.
        fewest = -np.diff(balance.matrix.indptr).astype(np.float64)
        rows = balance.least_rows(fewest, balance.least_of_state(fewest), np.arange(balance.num_live))
        if fills_in_nearby(balance.matrix[rows], layers):
            return SweepSystem(balance)
    narrow = balance.num_live > SMALL and side <= MAX_NARROW_SIDE
    return PolicySystem(balance, layers.narrow_order() if narrow else None)
