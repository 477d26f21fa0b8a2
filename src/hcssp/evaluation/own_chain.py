"""The chain that a policy makes of one activity of a procedure: its own, whatever comes before and after.

It is solved for one execution, or recognised by its arrays.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.absorption import Absorbed, absorb
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.reachability import closure
from hcssp.cssp.spans import joined_spans
from hcssp.procedure.policy import ProcedurePolicy


class OwnChain(NamedTuple):
    """The rows that a policy takes in one activity.

    Attributes
    ----------
    cssp
        The activity.
    acts
        Its states in which the policy has a row.
    lengths, heads, chances
        How many states each of those rows leads to, which, and how likely.
    costs
        What each row costs, one line a cost of the whole.
    """

    cssp: CSSP
    acts: BoolArray
    lengths: IntArray
    heads: IntArray
    chances: FloatArray
    costs: FloatArray

    @classmethod
    def of(cls, policy: ProcedurePolicy, activity: int) -> OwnChain:
        """That of an activity, given by its number."""
        flattening, cssp = policy.problem.flattening, policy.problem.activities[activity].cssp
        first, last = flattening.state_offset[activity : activity + 2].tolist()
        rows = np.full(cssp.num_states, NO_ROW, dtype=np.int64)
        rows[~cssp.goals] = policy.rows[first:last]
        acts = rows != NO_ROW
        taken = rows[acts] - flattening.row_offset[activity]
        moves = cssp.transitions
        lengths = moves.indptr[taken + 1] - moves.indptr[taken]
        entries, _ = joined_spans(moves.indptr[taken], lengths)
        costs = flattening.activity_costs(activity, taken)
        return cls(cssp, acts, lengths, moves.indices[entries], moves.data[entries], costs)

    def key(self) -> bytes:
        """What tells it from all others."""
        digest = hashlib.blake2b(digest_size=32)
        for part in (*self[1:], self.cssp.initial, self.cssp.goals):
            whole = np.ascontiguousarray(part)
            digest.update(f"{whole.shape} {whole.dtype}".encode())
            digest.update(whole.data)
        return digest.digest()

    def solved(self) -> tuple[IntArray, Absorbed] | None:
        """What comes of one execution, with the states that it is about, the goals not counted.

        None if it may never end.
        """
        cssp = self.cssp
        pointers = np.zeros(cssp.num_states + 1, dtype=self.lengths.dtype)
        pointers[1:][self.acts] = self.lengths
        chain = csr_array((self.chances, self.heads, np.cumsum(pointers)), shape=(cssp.num_states,) * 2)
        chain.eliminate_zeros()
        reached = closure(chain, cssp.initial > 0.0)
        # A state without an action does not end either, unless it is a goal.
        if (reached & ~closure(csr_array(chain.T), cssp.goals)).any():
            return None
        inner = np.flatnonzero(reached & ~cssp.goals)
        spent = np.zeros((len(self.costs), cssp.num_states))
        spent[:, self.acts] = self.costs
        return (np.cumsum(~cssp.goals) - 1)[inner], absorb(chain, inner, cssp.initial, spent[:, inner])
