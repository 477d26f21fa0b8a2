r"""The procedure as a C-SSP over events, if activities cost what estimates say (the paper's Theorem 1).

Its states are the events, its actions the choices; a choice costs what the activities that it may run cost,
by the estimates :math:`\bar f` and :math:`\bar g`, and what a limit of a use makes it cost itself.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.dual.event_solver import ProcedureSolver
from hcssp.dual.oracle import Minimum, Oracle
from hcssp.dual.vertex import Vertex
from hcssp.methods.paper.instance import Instance
from hcssp.ssp.potential import ROUNDINGS
from hcssp.ssp.region import Region


class EstimatedProcedure(Oracle["EstimatedVertex"]):
    """Minimises a procedure under weights, given what every activity costs.

    Parameters
    ----------
    instance
        The problem.
    primary
        An estimate of each activity's primary cost; ``inf`` for one that must not be run.
    secondary
        For each activity and constraint an estimate of what one execution uses of it.
    """

    def __init__(self, instance: Instance, primary: FloatArray, secondary: FloatArray) -> None:
        self._procedure = procedure = instance.procedure
        super().__init__(instance.bounds, procedure.row_start)
        self._instance = instance
        possible = np.isfinite(primary)
        estimates = np.column_stack([primary, secondary])
        estimates[~possible] = 0.0
        self._costs: FloatArray = (procedure.runs @ estimates).T + instance.choice_costs
        self._usable: BoolArray = ~procedure.rows_that_run(~possible)

    def minimise(
        self, weights: FloatArray, region: Region, near: EstimatedVertex | None = None
    ) -> Minimum[EstimatedVertex] | None:
        allowed = self._usable
        if region.forbidden:
            allowed = np.logical_and(allowed, region.allowed(self._procedure.num_rows))
        # A little less, so that no rounding makes it more than it is.
        row_costs = (weights @ self._costs) * (1.0 - 4.0 * len(weights) * ROUNDINGS)
        answer = self._procedure.minimise(row_costs, allowed)
        if answer is None:
            return None
        choices, value = answer
        # What the dense solve may have lost.
        return Minimum(EstimatedVertex(self._procedure, choices, self._costs), value)

    def as_cssp(self) -> tuple[CSSP, IntArray]:
        """The same as a C-SSP over events, and for each of its rows the event row it stands for."""
        procedure, flattening = self._procedure, self._instance.flattening
        rows = np.flatnonzero(self._usable)
        moves = np.zeros((len(rows), procedure.num_states))
        for index, row in enumerate(rows):
            choice = self._instance.problem.choices[int(flattening.event_row_choice[row])]
            for outcome in choice.outcomes:
                moves[index, flattening.event_state(outcome.event)] += outcome.probability
        states = np.arange(procedure.num_states)
        problem = CSSP.unchecked(
            transitions=csr_array(moves),
            row_start=np.searchsorted(procedure.row_state[rows], np.append(states, len(states))),
            costs=self._costs[:, rows],
            initial=(states == procedure.start).astype(np.float64),
            goals=states == procedure.end,
            cost_names=flattening.cost_names,
            bounds=self._bounds,
        )
        return problem, rows


class EstimatedVertex(Vertex):
    """Choices at the events, and what they cost by the estimates."""

    def __init__(self, procedure: ProcedureSolver, choices: IntArray, row_costs: FloatArray) -> None:
        self._procedure = procedure
        self._choices = choices
        states = np.flatnonzero(choices >= 0)
        self.costs = row_costs[:, choices[states]] @ self.visits[states]

    @property
    def rows(self) -> IntArray:
        return self._choices

    @cached_property
    def visits(self) -> FloatArray:
        return self._procedure.visits(self._choices)
