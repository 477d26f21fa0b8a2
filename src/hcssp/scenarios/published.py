"""The published results on the evacuation scenario, to stand beside our own.

Source: Hong and Williams, *Hierarchical Constrained Stochastic Shortest Path Planning via Cost Budget
Allocation*, the table of results of Section V. Times are seconds on the authors' laptop, with Gurobi 9
for the mixed-integer program (MILP). The gaps of the authors' method are against the MILP's objective,
after 10%, 20% and 50% of the MILP's time.

The MILP's objectives are the optima over *stochastic* policies, though the paper asks for deterministic
ones: its encoding lets a flow of one leak through a binary that is zero up to the solver's tolerance.
"""

from __future__ import annotations

from typing import NamedTuple

SHARES = (0.1, 0.2, 0.5)
"""The shares of the MILP's time after which the method's gap was published."""


class PublishedGap(NamedTuple):
    """The gap of the authors' method, as a fraction, and when the plan behind it was found."""

    gap: float
    seconds: float


class PublishedRow(NamedTuple):
    """One row of the table; a gap is None where the method had no plan yet."""

    bound: float
    objective: float
    seconds: float
    gaps: tuple[PublishedGap | None, ...]


# fmt: off
_TABLE = (
    # bound  MILP    seconds   gap in % and seconds at 10%, at 20% and at 50% of the MILP's time
    (0.01,  145.71,  404.95,  ((0.00, 25.77), (0.00, 25.77), (0.00, 25.77))),
    (0.1,   145.64,  203.35,  (None,          (0.05, 24.27), (0.05, 24.27))),
    (1.0,   145.11,  211.27,  (None,          (0.07, 39.20), (0.07, 39.20))),
    (2.0,   144.70,  127.31,  (None,          (0.35, 21.95), (0.35, 38.05))),
    (5.0,   143.48,  143.48,  (None,          (1.19, 21.85), (1.19, 21.85))),
    (8.0,   142.68,  135.75,  (None,          (1.74, 21.56), (0.45, 27.69))),
    (10.0,  142.18,  336.44,  ((0.04, 21.88), (0.04, 21.88), (0.04, 21.88))),
)
# fmt: on

PUBLISHED = tuple(
    PublishedRow(
        bound,
        objective,
        seconds,
        tuple(None if found is None else PublishedGap(found[0] / 100, found[1]) for found in gaps),
    )
    for bound, objective, seconds, gaps in _TABLE
)
"""The seven rows, by increasing bound."""
