from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP
from hcssp.errors import ImproperPolicy
from hcssp.ssp.balance import Balance
from hcssp.ssp.sweep_system import SweepSystem


def test_a_policy_that_never_ends_is_an_error_also_by_sweeps() -> None:
    there_and_back = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    problem = CSSP(
        transitions=csr_array(np.array(there_and_back)),
        row_start=np.array([0, 2, 4, 4]),
        costs=np.ones((2, 4)),
        initial=np.array([0.25, 0.75, 0.0]),
        goals=np.array([False, False, True]),
        cost_names=("time", "damage"),
        bounds=np.array([np.inf]),
    )
    with pytest.raises(ImproperPolicy):
        SweepSystem(Balance(problem)).values(np.array([0, 2]), fresh=True)
