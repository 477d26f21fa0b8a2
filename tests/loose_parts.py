"""What a small problem is made of, for tests of what becomes of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array


def loose_parts() -> dict[str, Any]:
    """The attributes of a valid problem, in arrays that are the caller's own."""
    return {
        "transitions": csr_array(np.array([[0.0, 1.0], [0.5, 0.5]])),
        "row_start": np.array([0, 2, 2]),
        "costs": np.array([[3.0, 1.0], [0.0, 4.0]]),
        "initial": np.array([1.0, 0.0]),
        "goals": np.array([False, True]),
        "cost_names": ("time", "damage"),
        "bounds": np.array([1.0]),
        "state_labels": ["home", "out"],
        "action_labels": ["walk", "run"],
    }
