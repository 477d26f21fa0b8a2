"""The policies of a procedure that known plans of its activities amount to, and the best of them at once.

Every combination of known plans is a policy. Under given weights the best plan of each activity is a product
of a few numbers, and the best choices are those of a small problem: microseconds, where planning takes far
longer. Nothing is proven by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.cssp.spans import first_in_each
from hcssp.dual.activity_curve import ActivityPlan
from hcssp.dual.procedure_vertex import ProcedureVertex
from hcssp.ssp.region import Region

if TYPE_CHECKING:
    from hcssp.dual.alike_activities import Slots
    from hcssp.dual.procedure_oracle import ProcedureOracle


class KnownPolicies:
    """What is known of a region at one moment.

    Parameters
    ----------
    oracle, slots
        The procedure, and the activities of the region.
    plans, costs
        The known plans of each slot, at least one, and what they cost the whole problem, a row each.
    """

    def __init__(
        self,
        oracle: ProcedureOracle,
        slots: Slots,
        plans: list[list[ActivityPlan]],
        costs: list[FloatArray],
    ) -> None:
        self._oracle, self._slots, self._plans = oracle, slots, plans
        self._costs = np.concatenate(costs)
        counts = [len(each) for each in costs]
        self._owner = np.repeat(np.arange(len(counts)), counts)
        self._starts: IntArray = np.cumsum([0, *counts[:-1]])
        rows = oracle.procedure.num_rows
        self._allowed = Region(slots.choices).allowed(rows) if slots.choices else None

    def best(self, weights: FloatArray) -> KnownPolicy | None:
        """The best known policy under some weights; None if there is none."""
        values = self._costs @ weights
        least = np.minimum.reduceat(values, self._starts)
        oracle = self._oracle
        answer = oracle.procedure.minimise(oracle.row_costs(least[self._slots.of], weights), self._allowed)
        if answer is None:
            return None
        choices = answer[0]
        chosen = first_in_each(values == least[self._owner], self._starts)
        executions = self._slots.executions(oracle.procedure.executions(choices))
        costs = oracle.with_choices(executions @ self._costs[chosen], choices)
        return KnownPolicy(self, choices, chosen, costs)

    def made(self, choices: IntArray, chosen: IntArray, costs: FloatArray) -> ProcedureVertex:
        """The policy of some choices, and of those of all plans that are chosen."""
        places = (chosen - self._starts).tolist()
        plans = [each[place] for each, place in zip(self._plans, places, strict=True)]
        executions = self._oracle.procedure.executions(choices)
        every = tuple(plans[slot] for slot in self._slots.of.tolist())
        return ProcedureVertex(self._oracle, choices, executions, every, costs)


class KnownPolicy(NamedTuple):
    """A policy that is not put together yet."""

    known: KnownPolicies
    choices: IntArray
    chosen: IntArray
    costs: FloatArray

    def vertex(self) -> ProcedureVertex:
        """The policy itself."""
        return self.known.made(self.choices, self.chosen, self.costs)
