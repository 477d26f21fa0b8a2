r"""Algorithm 3, Procedural-Planning: the procedure as a C-SSP over events, given what activities cost.

Its states are the events, its actions the choices; a choice costs what the activities that it may run cost,
by estimates :math:`\bar f` and :math:`\bar g`. Stage 1 is its dual, stage 2 enumerates procedures in the
order of their Lagrangian value, :math:`l` of them; with :math:`l = \infty` the proof comes from branching on
choices.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.dual.ascent import lagrangian_bound, maximise
from hcssp.dual.event_solver import ProcedureSolver
from hcssp.dual.flat_oracle import FlatOracle
from hcssp.dual.oracle import Minimum, Oracle, Vertex
from hcssp.methods.anytime import next_best
from hcssp.methods.paper.planning import Planning
from hcssp.methods.policy_branching import branch
from hcssp.numerics import is_feasible
from hcssp.ssp.region import Region


@dataclass(frozen=True)
class ProceduralAnswer:
    """What Procedural-Planning returns.

    Attributes
    ----------
    choices
        An event row for each event state of the best procedure found that keeps the bounds, or None.
    lower_bound, upper_bound
        Around the least estimated cost within the bounds; both ``inf`` if nothing keeps them.
    prices
        Multipliers of the constraints from the dual.
    executions
        Expected executions of each activity under the procedures that carry the dual.
    """

    choices: IntArray | None
    lower_bound: float
    upper_bound: float
    prices: FloatArray
    executions: FloatArray


def procedural_planning(
    planning: Planning,
    primary: FloatArray,
    secondary: FloatArray,
    iterations: float,
    start: FloatArray | None = None,
) -> ProceduralAnswer:
    """The best procedure if activities cost what the estimates say.

    Parameters
    ----------
    planning
        The problem.
    primary
        An estimate of each activity's primary cost; ``inf`` for one that must not be run.
    secondary
        For each activity and constraint an estimate of what one execution uses of it.
    iterations
        Of stage 2: the paper's l.
    start
        Multipliers near the answer.
    """
    oracle = EstimateOracle(planning.procedure, planning.bounds, primary, secondary)
    dual = maximise(oracle, Region(), start=start)
    nothing = np.zeros(len(primary))
    if dual.infeasible:
        return ProceduralAnswer(None, inf, inf, np.zeros(len(planning.bounds)), nothing)
    best: tuple[float, IntArray | None] = (inf, None)
    for vertex in dual.vertices:
        if vertex.costs[0] < best[0] and is_feasible(vertex.costs, planning.bounds):
            best = float(vertex.costs[0]), vertex.rows
    lower_bound = dual.bound
    if iterations > 0 and best[0] > lower_bound:
        best, lower_bound = _stage_two(planning, oracle, iterations, best, lower_bound, dual.prices)
    executions = nothing
    for weight, vertex in zip(dual.mixture, dual.support, strict=True):
        executions = executions + weight * planning.procedure.executions(vertex.rows)
    if iterations > 0 and best[1] is not None and lower_bound >= best[0]:
        executions = planning.procedure.executions(best[1])
    return ProceduralAnswer(best[1], min(lower_bound, best[0]), best[0], dual.prices, executions)


def _stage_two(
    planning: Planning,
    oracle: EstimateOracle,
    iterations: float,
    best: tuple[float, IntArray | None],
    lower_bound: float,
    prices: FloatArray,
) -> tuple[tuple[float, IntArray | None], float]:
    if iterations == inf:
        *_, last = branch(oracle, time.perf_counter())
        return (last.upper_bound, last.incumbent), last.lower_bound
    problem, rows = oracle.as_cssp(planning)
    flat = FlatOracle(problem)
    for count, (value, vertex) in enumerate(next_best(flat, np.append(1.0, prices))):
        lower_bound = max(lower_bound, lagrangian_bound(value, prices, planning.bounds))
        if lower_bound >= best[0]:
            return best, best[0]
        if vertex.costs[0] < best[0] and is_feasible(vertex.costs, planning.bounds):
            taken = flat.lift(vertex)
            best = float(vertex.costs[0]), np.where(taken == NO_ROW, NO_ROW, rows[taken])
        if count == iterations:
            return best, lower_bound
    # All procedures have been seen: the best of them is the answer, if one keeps the bounds.
    return best, best[0]


class EstimateOracle(Oracle["EstimateVertex"]):
    """Minimises a procedure under weights, given what every activity costs.

    Parameters
    ----------
    procedure
        The small SSP over events.
    bounds
        One for each constraint.
    primary, secondary
        Estimates of the activities' costs; see :func:`procedural_planning`.
    """

    def __init__(
        self, procedure: ProcedureSolver, bounds: FloatArray, primary: FloatArray, secondary: FloatArray
    ) -> None:
        super().__init__(bounds, procedure.row_start)
        self._procedure = procedure
        possible = np.isfinite(primary)
        estimates = np.column_stack([primary, secondary])
        estimates[~possible] = 0.0
        self._costs: FloatArray = (procedure.runs @ estimates).T
        self._usable: BoolArray = np.all(procedure.runs[:, ~possible] == 0.0, axis=1)

    def minimise(
        self, weights: FloatArray, region: Region, near: EstimateVertex | None = None
    ) -> Minimum[EstimateVertex] | None:
        allowed = self._usable
        if region.forbidden:
            allowed = np.logical_and(allowed, region.allowed(self._procedure.num_rows))
        answer = self._procedure.minimise(weights @ self._costs, allowed)
        if answer is None:
            return None
        choices, value = answer
        # What the dense solve may have lost.
        return Minimum(
            EstimateVertex(self._procedure, choices, self._costs), value - 1e-13 * (1.0 + abs(value))
        )

    def as_cssp(self, planning: Planning) -> tuple[CSSP, IntArray]:
        """The same as a C-SSP over events, and for each of its rows the event row it stands for."""
        procedure, flattening = self._procedure, planning.flattening
        rows = np.flatnonzero(self._usable)
        moves = np.zeros((len(rows), procedure.num_states))
        for index, row in enumerate(rows):
            choice = planning.problem.choices[int(flattening.event_row_choice[row])]
            for outcome in choice.outcomes:
                moves[index, flattening.event_state(outcome.event)] += outcome.probability
        states = np.arange(procedure.num_states)
        problem = CSSP(
            transitions=csr_array(moves),
            row_start=np.searchsorted(procedure.row_state[rows], np.append(states, len(states))),
            costs=self._costs[:, rows],
            initial=(states == procedure.start).astype(np.float64),
            goals=states == procedure.end,
            cost_names=flattening.cost_names,
            bounds=self._bounds,
        )
        return problem, rows


class EstimateVertex(Vertex):
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
