r"""Choices per event: the exact method where an event has one choice, whatever state it is entered in.

**Problem.** A procedure whose events may be entered in several states. A policy of
:class:`~hcssp.methods.policy_branching.PolicyBranching` may choose in each of them; the paper's procedural
policy assigns one value to each choice variable. Wanted is the best deterministic policy that does so.

**Method.** Branch and bound over regions of policies, with two changes. A choice is branched on in all states
of its event at once: one part makes it in none of them, the other in all of them. A region whose dual is one
policy that mixes choices at an event is split at that event. Only policies that keep to one choice are
accepted as incumbents.

**Guarantee.** The parts cover all policies with one choice per event, and the bound of a part holds for all
policies in it. No certificate is written: the checker knows policies that choose in each state.
"""

from __future__ import annotations

import numpy as np

from hcssp.contract.solver import Context
from hcssp.cssp.model import IntArray
from hcssp.dual.ascent import Dual
from hcssp.dual.flat import FlatOracle, FlatPoint
from hcssp.methods.policy_branching import Node, PolicySearch, SearchParameters
from hcssp.procedure.model import HCSSP
from hcssp.ssp.scalar_problem import Region


class ChoicesPerEvent(PolicySearch[FlatPoint]):
    """One run of the exact method over the policies with one choice per event."""

    oracle: FlatOracle

    def __init__(self, problem: HCSSP, context: Context, began: float | None = None) -> None:
        oracle = FlatOracle(problem.flat, affordable=True)
        # Local search, symmetry and enumeration know nothing of events; a record would be no certificate.
        parameters = SearchParameters(symmetry=False, enumeration=False)
        own = Context(memory_limit=context.memory_limit, wanted_gap=context.wanted_gap)
        super().__init__(oracle, problem, own, parameters, began)
        flattening = problem.flattening
        rows = range(len(oracle.row_state))
        original = np.array([oracle.original_row(row) for row in rows], dtype=np.int64)
        at_event = original < flattening.num_event_rows
        # The choice and the event of each row, and -1 inside the activities.
        self._choice: IntArray = np.full(len(original), -1, dtype=np.int64)
        self._choice[at_event] = flattening.event_row_choice[original[at_event]]
        events = np.array([choice.event for choice in problem.choices], dtype=np.int64)
        self._event: IntArray = np.where(at_event, events[self._choice], -1)

    def offer(self, dual: Dual[FlatPoint], rounds: int) -> None:
        for point in dual.points:
            if self._mixed_row(point) is None:
                self.reporter.offer(point)

    def close(self, bound: float, node: Node, dual: Dual[FlatPoint]) -> None:
        row = self._mixed_row(dual.support[0]) if bound < self.queue.cutoff and dual.support else None
        if row is None:
            super().close(bound, node, dual)
            return
        for child in self.children(bound, node, dual, row):
            self.open(*child)

    def split(self, node: Node, row: int, dual: Dual[FlatPoint]) -> list[tuple[Region, int]]:
        if self._event[row] < 0:
            return super().split(node, row, dual)
        here = self._event == self._event[row]
        made = self._choice == self._choice[row]
        return [
            (node.region.forbid(np.flatnonzero(rows)), node.number) for rows in (here & ~made, here & made)
        ]

    def _mixed_row(self, point: FlatPoint) -> int | None:
        """A row at an event where the policy makes several choices; None if there is none."""
        rows = point.rows[point.reached]
        rows = rows[self._event[rows] >= 0]
        first: dict[int, int] = {}
        for row in rows.tolist():
            event = int(self._event[row])
            if self._choice[first.setdefault(event, row)] != self._choice[row]:
                return int(row)
        return None
