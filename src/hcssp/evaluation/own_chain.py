"""The chain that a policy makes of one activity of a procedure: its own, whatever comes before and after.

It is solved for one execution, or recognised by its moves: how often states are visited does not depend on
what it costs to be there.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.absorption import Absorbed, Visited, absorb, visited
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.reachability import closure
from hcssp.cssp.spans import joined_spans
from hcssp.procedure.policy import ProcedurePolicy


@dataclass(frozen=True, eq=False)
class OwnChain:
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
        """What tells its moves from all others, whatever they cost."""
        parts = [
            np.ascontiguousarray(part)
            for part in (
                self.acts,
                self.lengths,
                self.heads,
                self.chances,
                self.cssp.initial,
                self.cssp.goals,
            )
        ]
        digest = hashlib.blake2b(repr([(part.shape, part.dtype.str) for part in parts]).encode())
        for part in parts:
            digest.update(part.data)
        return digest.digest()

    def reached(self) -> IntArray | None:
        """The states that it comes to, but for goals; None if it may never end."""
        cssp, chain = self.cssp, self._chain
        found = closure(chain, cssp.initial > 0.0)
        # A state without an action does not end either, unless it is a goal.
        if (found & ~closure(csr_array(chain.T), cssp.goals)).any():
            return None
        return np.flatnonzero(found & ~cssp.goals)

    def numbers(self, inner: IntArray) -> IntArray:
        """The numbers of some of its states among those that are no goals."""
        found: IntArray = (np.cumsum(~self.cssp.goals) - 1)[inner]
        return found

    def visited(self, inner: IntArray) -> Visited | None:
        """How often one execution visits the states that it comes to; None if that is not soon known."""
        return visited(self._chain, inner, self.cssp.initial)

    def solved(self, inner: IntArray) -> Absorbed:
        """What comes of one execution from the states that it comes to."""
        return absorb(self._chain, inner, self.cssp.initial, self.spent(inner))

    def spent(self, inner: IntArray) -> FloatArray:
        """What a visit to some of its states costs, one line a cost of the whole."""
        spent = np.zeros((len(self.costs), self.cssp.num_states))
        spent[:, self.acts] = self.costs
        return spent[:, inner]

    @cached_property
    def _chain(self) -> csr_array:
        pointers = np.zeros(self.cssp.num_states + 1, dtype=self.lengths.dtype)
        pointers[1:][self.acts] = self.lengths
        shape = (self.cssp.num_states,) * 2
        # What is impossible is taken out, but not of the arrays themselves.
        copied = not self.chances.all()
        chain = csr_array((self.chances, self.heads, np.cumsum(pointers)), shape=shape, copy=copied)
        chain.eliminate_zeros()
        return chain
