"""The best plan of the small building, which many tests look at and none changes: it is found once."""

from __future__ import annotations

from functools import cache

from hcssp.contract.plan import Plan
from hcssp.scenarios import small_building
from hcssp.solving.solve import solve


@cache
def solved_building(bound: float = 2.0) -> Plan:
    """The plan under a bound on damage."""
    return solve(small_building(bound))
