from __future__ import annotations

import pytest

from hcssp.contract.proof import Status
from hcssp.methods.highs.linear_program import LinearProgram
from hcssp.methods.highs.mixed_integer import MixedInteger
from hcssp.solving.solve import solve
from known_optima import start_in_goal


@pytest.mark.parametrize("solver", [LinearProgram(), MixedInteger()])
def test_a_negative_bound_is_unbearable_even_where_nothing_is_left_to_do(
    solver: LinearProgram | MixedInteger,
) -> None:
    assert solve(start_in_goal(-1.0), solver).status is Status.INFEASIBLE
