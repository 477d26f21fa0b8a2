"""Policies of a C-SSP: which row to take in each state.

A policy is an array; names come back with :meth:`DeterministicPolicy.actions`. A state that the policy
never enters may be left without a row (-1): policies that differ only where they never go are one.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from hcssp.cssp.model import CSSP, FloatArray, IntArray

NO_ROW = -1


@dataclass(frozen=True, eq=False)
class DeterministicPolicy:
    """One row for each state; :data:`NO_ROW` in goals and where the policy never goes."""

    rows: IntArray

    def action(self, problem: CSSP, state: Hashable) -> Hashable:
        """The label of the action taken in the state labelled `state`."""
        row = int(self.rows[problem.state_index[state]])
        if row == NO_ROW:
            raise KeyError(f"the policy says nothing about state {state!r}")
        return problem.action_labels[row]

    def actions(self, problem: CSSP) -> dict[Hashable, Hashable]:
        """From state labels to action labels, wherever the policy has a row."""
        return {
            problem.state_labels[state]: problem.action_labels[int(self.rows[state])]
            for state in np.flatnonzero(self.rows != NO_ROW).tolist()
        }


@dataclass(frozen=True, eq=False)
class RandomisedPolicy:
    """A probability for each row; those of a state sum to one, or to zero where it never goes."""

    probabilities: FloatArray
