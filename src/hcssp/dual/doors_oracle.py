r"""The oracle of any procedure: activities planned one by one, backwards, with values at their exits.

**Problem.** A procedure in which an activity may have several exits and several entries, so that what follows
depends on how it ends. Wanted is the best plan of the whole under weights, within a region.

**Method.** Backwards through the procedure: the value of an event is that of its best choice, and an
activity is an SSP of its own, whose terminal costs are the values of the events behind its exits
(:mod:`hcssp.dual.door_planner`). So each activity is planned once for given weights, after all that can
follow it. Parts that lead back to themselves are iterated (:mod:`hcssp.dual.circle`). What a region forbids
in one activity changes nothing for those that come after it, and their plans are looked up.

**Guarantee.** Every value is a certified lower bound, and what is planned with lower bounds at the exits
has one itself: the potentials of all parts make up one for the whole problem.

The decision states are the live states of the prepared flat problem, which is made once, to find out what
can be reached and what ends, and is not solved.
"""

from __future__ import annotations

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.preprocessing import Prepared, hollow, prepare
from hcssp.dual.affordable_oracle import AffordableOracle
from hcssp.dual.circle import Circle
from hcssp.dual.door_layout import DoorLayout
from hcssp.dual.door_planner import DoorPlan, DoorPlanner
from hcssp.dual.door_repair import improved
from hcssp.dual.doors_vertex import DoorsVertex
from hcssp.dual.event_rows import EventRows
from hcssp.dual.flat_oracle import Evaluation, free_rows, system_of
from hcssp.dual.oracle import Minimum
from hcssp.errors import DeadEnd
from hcssp.procedure.flattening import Flattening
from hcssp.ssp.region import Region

PLAN_TOLERANCE = 1e-11
"""Plans whose costs differ by less than this share of the bound cannot be told apart; nothing is planned for
the sake of less."""

COARSEST_PRECISION = 1e-6
"""No answer is rougher than this, relative to the value."""

MAX_SPLITS = 1_000
"""Of so many regions the forbidden rows are kept block by block; then they are split anew."""


class DoorsOracle(AffordableOracle[DoorsVertex]):
    """Minimises any HC-SSP under weights, activity by activity.

    Parameters
    ----------
    flattening
        The layout of the problem.
    evaluation
        How policies of the activities are evaluated, see :class:`~hcssp.dual.flat_oracle.FlatOracle`.
    affordable
        Whether to take out the rows that cost some of what a bound of 0 allows nothing of, see
        :func:`~hcssp.dual.affordable_oracle.zero_bounds`.
    """

    def __init__(
        self, flattening: Flattening, evaluation: Evaluation = "auto", *, affordable: bool = False
    ) -> None:
        self.flattening = flattening
        self._evaluation = evaluation
        bounds = flattening.problem.bounds
        self._leave_out(bounds, affordable)
        prepared = self._prepare()
        self._states, self._rows = prepared.states, prepared.rows
        self.layout = DoorLayout(prepared, flattening.state_offset)
        self.planners = [
            None if block is None else DoorPlanner(block, system_of(evaluation))
            for block in self.layout.blocks
        ]
        self.events = EventRows(self.layout)
        self._circles = {
            index: Circle(component, self.layout, self.events, self.planners, prepared.problem)
            for index, component in enumerate(self.layout.components)
            if component.circular
        }
        # The end owns no rows, and all other states come with theirs.
        self._live: IntArray = np.flatnonzero(~prepared.problem.goals)
        super().__init__(bounds, np.append(prepared.problem.row_start[self._live], len(self._rows)))
        self._splits: dict[Region, list[frozenset[int]]] = {}

    def _prepare(self) -> Prepared:
        flat = self.flattening.assembled()
        self._is_hollow = False
        try:
            return prepare(flat, free_rows(flat, self._zeros))
        except DeadEnd:
            if not self._zeros:
                raise
            self._is_hollow = True
            return hollow(flat)

    def minimise(
        self, weights: FloatArray, region: Region, near: DoorsVertex | None = None
    ) -> Minimum[DoorsVertex] | None:
        return self.approximate(weights, region, 0.0, near)

    def approximate(
        self, weights: FloatArray, region: Region, precision: float, near: DoorsVertex | None = None
    ) -> Minimum[DoorsVertex] | None:
        if self._is_hollow:
            return None
        # Whatever is asked: a look-up costs about as much as a plan, and a rough answer is asked for again.
        precision = min(precision, COARSEST_PRECISION)
        forbidden = self.split(region)
        allowances = np.zeros(self.layout.num_activities)
        if near is not None:
            # What will be executed is known well enough from a policy that is close.
            allowances = self._allowances(near, max(precision, PLAN_TOLERANCE) * float(near.costs @ weights))
        while True:
            found = self._backwards(weights, forbidden, near, allowances)
            if found is None:
                return None
            minimum, losses = found
            vertex = minimum.vertex
            tolerance = max(precision, PLAN_TOLERANCE) * minimum.bound
            if float(vertex.executions @ losses) <= tolerance:
                return minimum
            loose = self._allowances(vertex, tolerance)
            allowances = np.where(losses > loose, 0.0, allowances)
            near = vertex

    def _allowances(self, vertex: DoorsVertex, tolerance: float) -> FloatArray:
        """What each activity may lose in one execution if a policy executes them as `vertex` does."""
        executed = vertex.executions > 0.0
        share = 0.5 * tolerance / max(1, int(np.count_nonzero(executed)))
        allowances = np.full(len(executed), np.inf)
        allowances[executed] = share / vertex.executions[executed]
        return allowances

    def _backwards(
        self,
        weights: FloatArray,
        forbidden: list[frozenset[int]],
        near: DoorsVertex | None,
        allowances: FloatArray,
    ) -> tuple[Minimum[DoorsVertex], FloatArray] | None:
        """One pass from the end to the start, and what each activity's bound may be too low by."""
        layout, events = self.layout, self.events
        prices = events.prices(weights)
        values = np.full(layout.num_events, np.inf)
        values[layout.end] = 0.0
        levels: list[FloatArray | None] = [None] * layout.num_activities
        plans: list[DoorPlan | None] = [None] * layout.num_activities
        losses = np.zeros(layout.num_activities)
        choices = np.full(layout.num_events, NO_ROW, dtype=np.int64)
        for index, component in enumerate(layout.components):
            if component.circular:
                self._circles[index].solve(weights, forbidden, values, levels, plans, choices)
                continue
            for activity in component.activities:
                planner = self._planner(activity)
                answer = planner.plan(
                    weights,
                    values[planner.block.exits],
                    forbidden[activity + 1],
                    None if near is None else near.plans[activity],
                    float(allowances[activity]),
                )
                if answer is not None:
                    plans[activity], levels[activity], losses[activity] = answer
            for event in component.events:
                if event != layout.end:
                    choices[event], values[event] = events.best(event, prices, values, levels, forbidden[0])
        begins = np.flatnonzero(layout.begins)
        if not np.isfinite(values[begins]).all():
            return None
        vertex = DoorsVertex(self.events, self.planners, choices, tuple(plans), self._live)
        bound = self.events.rounded_down(float(layout.begins[begins] @ values[begins]))
        return Minimum(vertex, bound), losses

    def _planner(self, activity: int) -> DoorPlanner:
        planner = self.planners[activity]
        if planner is None:
            raise RuntimeError(f"activity {activity} has no live states")
        return planner

    def split(self, region: Region) -> list[frozenset[int]]:
        """The forbidden rows of the events, then those of each activity, in their own numbering."""
        known = self._splits.get(region)
        if known is not None:
            return known
        offset = self.layout.row_offset
        parts: list[set[int]] = [set() for _ in range(len(offset))]
        for row in region.forbidden:
            block = int(np.searchsorted(offset, row, side="right"))
            parts[block].add(row - (int(offset[block - 1]) if block else 0))
        if len(self._splits) > MAX_SPLITS:
            self._splits.clear()
        self._splits[region] = [frozenset(part) for part in parts]
        return self._splits[region]

    def _alike(self, bounds: FloatArray) -> DoorsOracle:
        return DoorsOracle(self.flattening.under(bounds), self._evaluation, affordable=self._affordable)

    def release(self) -> None:
        for oracle in self._others.values():
            for planner in oracle.planners:
                if planner is not None:
                    planner.system.release()

    def improve(
        self, vertex: DoorsVertex, rounds: int, known_cost: float = np.inf, least: float = -np.inf
    ) -> DoorsVertex | None:
        return improved(vertex, self.bounds, rounds, known_cost, least)

    def values_of(self, vertex: DoorsVertex, weights: FloatArray) -> FloatArray:
        """The weighted costs to go from every flat state; nan where nothing is known."""
        values = np.full(self.flattening.num_states, np.nan)
        values[self._states] = vertex.values_to_go(weights)
        values[self.flattening.end] = 0.0
        return values

    def original_row(self, row: int) -> int:
        """The flat row that a row of the oracle is."""
        return int(self._rows[row])

    def lift(self, vertex: DoorsVertex) -> IntArray:
        rows = np.full(self.flattening.num_states, NO_ROW, dtype=np.int64)
        taken = np.flatnonzero(vertex.reached)
        rows[self._states[self._live[taken]]] = self._rows[vertex.rows[taken]]
        return rows
