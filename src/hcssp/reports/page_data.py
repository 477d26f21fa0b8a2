"""Everything that a page shows of a plan, as one object of plain numbers, texts and lists: no numpy, no NaN.

Problem and map are written once, then for every bound that is varied the plans along its trade-off curve,
and how the proven interval narrowed over time. The points of a curve lie on both sides of the reported
bound: from the least that can be kept to a multiple of it, or to what the cheapest plan of all uses.

Where an activity on a grid goes is one byte a cell, in base64. A byte is zero where the policy never goes,
and otherwise ``4 * level + heading``: the heading a position in :data:`hcssp.cssp.grid.DIRECTIONS`, the level
from 1 to 63 the visits of one execution on a logarithmic scale over six powers of ten. Equal activities of
different plans share one entry of the :class:`CellPool`. What a cell costs, the cost-to-go there, and the
plan's file are compressed (:func:`packed`), and unpacked by the script when they are needed.

A simulated run is a list of legs, one for each execution of an activity; an event takes no step.
"""

from __future__ import annotations

import json
import re
import time
import zlib
from base64 import b64encode
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, zip_longest
from math import ceil, floor, inf, isfinite, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.contract.proof import Interval
from hcssp.cssp.grid import DIRECTIONS, GridWorld, PlacedGrid
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.product import joined_by_level
from hcssp.errors import UnknownName
from hcssp.evaluation.chain import induced_chain
from hcssp.evaluation.exact import expected_remaining
from hcssp.evaluation.robustness import Influence, influences
from hcssp.evaluation.simulation import Simulation, Walk
from hcssp.files.fingerprint import fingerprint
from hcssp.files.plan_file import plan_document
from hcssp.procedure import HCSSP, Flattening, ProcedurePolicy
from hcssp.procedure.description import Aim
from hcssp.reports.charts import JudgedCurve, bound_on, histogram, limit, look_ahead, own
from hcssp.reports.figures import Measure, plain, short
from hcssp.reports.plan_text import (
    by_state,
    choice_summaries,
    decision_summaries,
    history_of,
    in_brief,
    joined_choices,
    joined_decisions,
    verification_of,
    what_is_proven,
    what_it_costs,
    what_more_would_save,
    why_it_stopped,
)
from hcssp.reports.procedure_graph import Panel, levels_data, place, sheet_size
from hcssp.reports.rooms import drawn_world, part_of, visited_cells
from hcssp.solving.trade_off import CurvePoint, TradeOff, trade_off
from hcssp.version import __version__

if TYPE_CHECKING:
    from hcssp.solving.trade_off import TradeOff


CURVE_GAP = 3e-4
"""The relative gap at which a point of the curve is done: finer than what can be seen of it."""


NOTHING = 1e-12
"""A least cost below this share of the cheapest plan's is shown as none."""


_BEYOND = 5.0
"""The largest bound of the curve, as a multiple of the reported bound, if a larger bound still helps."""


def varied_constraints(plan: ProcedurePlan, wanted: str | None = None) -> list[str]:
    """The constraints whose bounds are worth varying: first the one that is wanted, then the scarcest.

    Those without a bound are left out, unless one is wanted or no other has one.

    Raises
    ------
    UnknownName
        If there is no constraint of the wanted name.
    """
    problem, names = plan.problem, plan.problem.constraint_names
    if wanted is not None and wanted not in names:
        raise UnknownName("constraint", wanted, names)
    # A curve is about the whole, and a limit about each execution of a use.
    whole = [each for each in problem.constraints if each.per is None]
    bounded = [each for each in whole if isfinite(each.at_most)] or whole
    prices = (plan.prices or _prices(plan)) if len(bounded) > 1 else {}
    # A price is for a unit; what counts is what the whole bound is worth.
    worth = {
        each.name: prices.get(each.name, 0.0) * (each.at_most if isfinite(each.at_most) else 1.0)
        for each in bounded
    }
    order = sorted(worth, key=lambda name: -worth[name])
    return order if wanted is None else [wanted, *(name for name in order if name != wanted)]


def _prices(plan: ProcedurePlan) -> dict[str, float]:
    """The prices of the plan's bounds, for a plan that comes without them: those of the dual."""
    from hcssp.dual.ascent import maximise
    from hcssp.ssp.scalar_problem import Region

    dual = maximise(plan.memory.oracle(plan.problem), Region())
    if dual.infeasible:
        return {}
    return dict(zip(plan.problem.constraint_names, map(float, dual.prices), strict=True))


def curve_bounds(plan: ProcedurePlan, constraint: str, count: int) -> list[float]:
    """At which bounds to look: about `count`, the problem's own among them if it is finite."""
    from hcssp.ssp.scalar_problem import Region

    names = plan.problem.constraint_names
    index = names.index(constraint)
    own = plan.problem.constraints[index].at_most
    oracle = plan.memory.oracle(plan.problem)
    weights = np.zeros(1 + len(names))
    weights[1 + index] = 1.0
    safest = oracle.minimise(weights, Region())
    cheapest = oracle.minimise(np.eye(1, 1 + len(names))[0], Region())
    if safest is None or cheapest is None:
        return []
    least, most = (float(each.point.costs[1 + index]) for each in (safest, cheapest))
    return spaced(least, own, max(least, most), count)


def spaced(least: float, own: float, most: float, count: int) -> list[float]:
    """Round numbers between `least` and about `most`, half of them on either side of `own`.

    >>> spaced(0.0, 2.0, 100.0, 9)
    [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.5, 6.7, 10.0]
    >>> spaced(1.2345, float("inf"), 3.0, 4)
    [1.3, 1.9, 2.5, 3.0]
    """
    # What is left of a cost of nothing after rounding is no bound of interest.
    least = least if least > NOTHING * most else 0.0
    if not isfinite(own) or not least <= own <= most:
        found = {_round_up(value) for value in np.linspace(least, most, max(2, count)).tolist()}
        kept = {own} if isfinite(own) and own >= least else set()
        return sorted(found | kept)
    lower = max(2, count // 2 + 1)
    below = [_round_up(value) for value in np.linspace(least, own, lower).tolist()[:-1]]
    upper = max(0, count - lower)
    end = min(most, max(_BEYOND * own, least + 0.1 * (most - least)))
    if own > 0.0 and end > own:
        above = [_round_up(value) for value in np.geomspace(own, end, upper + 1).tolist()[1:]]
    else:
        above = [_round_up(value) for value in np.linspace(own, end, upper + 1).tolist()[1:]]
    return sorted({value for value in below if value < own} | {own} | {v for v in above if v > own})


def draw_curve(
    plan: ProcedurePlan,
    constraint: str,
    bounds: Sequence[float],
    time_limit: float = inf,
    on_point: Callable[[CurvePoint], object] | None = None,
) -> TradeOff:
    """The trade-off curve at `bounds`; Ctrl-C ends it with the points that are done."""
    began = time.perf_counter()
    done: list[CurvePoint] = []

    def keep(point: CurvePoint) -> None:
        done.append(point)
        if on_point is not None:
            on_point(point)

    try:
        return trade_off(plan.problem, constraint, bounds, CURVE_GAP, time_limit, keep, memory=plan.memory)
    except KeyboardInterrupt:
        return TradeOff.interrupted(plan.problem, constraint, done, time.perf_counter() - began)


def _with_proofs_of(own: ProcedurePlan, curve: TradeOff) -> ProcedurePlan:
    """A plan with the price and the lower bound that a curve has found at its own bound."""
    for point in curve.points:
        if point.bound != own.bounds[curve.constraint]:
            continue
        if own.prices is None and point.price is not None:
            # A plan from an old file comes without prices.
            own = replace(own, prices={curve.constraint: point.price})
        lower = min(max(own.lower_bound, _lower_bound(point, own)), own.upper_bound)
        if own.upper_bound < inf and lower > own.lower_bound:
            own = replace(own, proof=Interval(lower, own.upper_bound, own.tolerances.optimality))
    return own


def _lower_bound(point: CurvePoint, plan: ProcedurePlan) -> float:
    """What a curve proves of the plans among which a plan is the best: a randomised one may cost less."""
    return point.stochastic if plan.policies == "randomised" else point.lower_bound


def along_curve(own: ProcedurePlan, curve: TradeOff | None) -> tuple[list[ProcedurePlan], int]:
    """The curve's plans, ascending in the bound, and the position of the reported one among them.

    A point at the reported bound is the reported plan. Neighbours inherit what it proves: its lower bound
    holds for smaller bounds. Under a larger bound the reported plan takes the place of a plan that costs
    more, and of none.
    """
    if curve is None:
        return [own], 0
    own, own_bound = _with_proofs_of(own, curve), own.bounds[curve.constraint]
    below: list[ProcedurePlan] = []
    above: list[ProcedurePlan] = []
    for point in curve.points:
        if point.bound == own_bound or not (point.plan.found or own_bound < point.bound):
            continue
        prices_there = None if point.price is None else {**(own.prices or {}), curve.constraint: point.price}
        if point.bound > own_bound and point.upper_bound > own.upper_bound:
            lower = min(_lower_bound(point, own), own.upper_bound)
            there = own.problem.with_bounds({curve.constraint: point.bound})
            better = own.under(there).as_procedure()
            above.append(replace(better, prices=prices_there, proof=Interval(lower, own.upper_bound)))
            continue
        if not point.plan.found:
            continue
        found = replace(point.plan.as_procedure(), prices=prices_there)
        if point.bound < own_bound:
            lower = min(max(found.lower_bound, own.lower_bound), found.upper_bound)
            below.append(replace(found, proof=Interval(lower, found.upper_bound)))
        else:
            above.append(found)
    return [*below, own, *above], len(below)


def _round_up(value: float) -> float:
    """Two significant digits, never less than `value`."""
    if value <= 0.0:
        return 0.0
    digits = 1 - floor(log10(value))
    scaled = value * 10.0**digits
    # What is a round number already, but for rounding, stays as it is.
    return float(round(ceil(scaled - 1e-9) * 10.0**-digits, max(0, digits)))


LEVELS = 63


DECADES = 6.0


def levels(visits: FloatArray, most: float) -> IntArray:
    """The visits as levels, 0 for none; ``most`` has the highest.

    >>> levels(np.array([0.0, 1e-9, 0.001, 1.0]), 1.0).tolist()
    [0, 1, 32, 63]
    """
    found = np.zeros(len(visits), dtype=np.int64)
    some = visits > 0.0
    below = -np.log10(visits[some] / most)
    found[some] = np.clip(np.rint(LEVELS - below * (LEVELS - 1) / DECADES), 1, LEVELS)
    return found


class CellPool:
    """The encoded grids of a page, each of them once."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self._known: dict[tuple[str, float | None, int], int] = {}

    def add(self, world: GridWorld, visited: IntArray, headings: IntArray, often: FloatArray) -> int:
        """Encode where an activity goes, and return the entry's number.

        Parameters
        ----------
        world
            The grid.
        visited, headings, often
            As of :func:`~hcssp.reports.rooms.visited_cells`, for one execution.
        """
        most = float(often.max()) if len(often) else 0.0
        canvas = np.zeros((world.height + 2, world.width + 2), dtype=np.uint8)
        columns, lines = visited.T
        canvas[lines, columns] = 4 * levels(often, most) + headings
        cells, highest = b64encode(canvas.tobytes()).decode("ascii"), short(most)
        key = (cells, highest, world.width)
        if key not in self._known:
            self._known[key] = len(self.entries)
            self.entries.append({"width": world.width + 2, "most": highest, "cells": cells})
        return self._known[key]


def packed(value: Any) -> str:
    """An object for the page's script to unpack when it is needed: as JSON, deflated, in base64."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return b64encode(zlib.compress(text.encode("ascii"), 9)).decode("ascii")


_STEPS_OF_A_SCALE = 20_000
"""A figure of a cell is written as a multiple of the largest one divided by this."""


@dataclass(frozen=True)
class CellFigures:
    """What is known of the visited cells of an activity, beyond visits and headings.

    Attributes
    ----------
    cells
        The cells, row by row, as the script reads them from a :class:`CellPool`.
    within
        For each state that is visited, the position of its cell.
    states, weights
        Those states, and their visits.
    """

    cells: IntArray
    within: IntArray
    states: IntArray
    weights: FloatArray

    @classmethod
    def of(cls, world: GridWorld, cells: IntArray, rows: IntArray, visits: FloatArray) -> CellFigures:
        """Those of the visited cells of an activity, of which `rows` and `visits` are given by state."""
        width = world.width + 2
        keys = np.sort(cells[:, 1] * width + cells[:, 0])
        states = np.flatnonzero((rows != NO_ROW) & (visits > 0.0))
        own = world.cells[states, 1] * width + world.cells[states, 0]
        within = np.minimum(np.searchsorted(keys, own), max(0, len(keys) - 1))
        kept = keys[within] == own if len(keys) else np.zeros(len(states), dtype=np.bool_)
        ordered = np.column_stack((keys % width, keys // width))
        return cls(ordered, within[kept], states[kept], visits[states[kept]])

    def mean(self, values: FloatArray) -> FloatArray:
        """The mean over the visits to each cell, of values of the states."""
        total = np.bincount(self.within, self.weights * values[self.states], len(self.cells))
        return np.asarray(total / np.bincount(self.within, self.weights, len(self.cells)))

    def written(self, values: FloatArray) -> list[Any]:
        """The means, short: a unit, and the differences from cell to cell in this unit."""
        means = self.mean(values)
        unit = float(np.abs(means).max(initial=0.0)) / _STEPS_OF_A_SCALE
        if unit == 0.0:
            return [0.0, []]
        return [short(unit), np.diff(np.rint(means / unit).astype(np.int64), prepend=0).tolist()]

    def actions(self, cssp: CSSP, names: Sequence[str]) -> dict[str, str]:
        """What is done in the cells where that is not one step in one direction, by the cell's position.

        `names` are the actions in `states`.
        """
        by_cell: dict[int, list[int]] = {}
        for position, cell in enumerate(self.within.tolist()):
            by_cell.setdefault(cell, []).append(position)
        found = {}
        for cell, members in by_cell.items():
            kinds = [names[each] for each in members]
            if len(set(kinds)) == 1 and kinds[0] in DIRECTIONS:
                continue
            labels = [cssp.state_labels[int(self.states[each])] for each in members]
            conditions: dict[str, list[str]] = {}
            for text, joined in joined_by_level(labels, kinds, False):
                conditions.setdefault(kinds[joined[0]], []).append(text)
            texts = [
                name + (f" if {' or '.join(when)}" if len(conditions) > 1 and all(when) else "")
                for name, when in conditions.items()
            ]
            found[str(cell)] = "; ".join(texts)
        return found


MAX_STEPS = 20_000


_STEPS = {(0, -1): "0", (1, 0): "1", (0, 1): "2", (-1, 0): "3", (0, 0): "4"}


def draw_runs(
    policy: ProcedurePolicy, count: int, seed: int = 0, max_steps: int = MAX_STEPS
) -> list[dict[str, Any]]:
    """Follow `policy` `count` times; the same seed gives the same runs.

    A run has its legs, what every step costs, and the sums. A leg through a grid is its first cell and a
    digit for each step: a position in :data:`hcssp.cssp.grid.DIRECTIONS`, or 4 for staying; one through a
    table only its number of steps.

    Parameters
    ----------
    policy
        What to follow; it should reach the end almost surely.
    count
        How many runs.
    seed
        The seed of the runs.
    max_steps
        Where a run is cut off.
    """
    flattening = policy.problem.flattening
    walk = Walk(policy.problem, policy, count, seed)
    ways: list[list[int]] = [[flattening.start] for _ in range(count)]
    paid: list[list[FloatArray]] = [[] for _ in range(count)]
    for under_way, taken in walk.go(max_steps):
        reached = walk.steps.state[taken].tolist()
        for run, state, costs in zip(under_way.tolist(), reached, walk.costs(taken).T, strict=True):
            ways[run].append(state)
            paid[run].append(costs)
    return [_run(flattening, way, costs) for way, costs in zip(ways, paid, strict=True)]


def _run(flattening: Flattening, way: list[int], paid: list[FloatArray]) -> dict[str, Any]:
    """A run, by the flat states that are passed and what leaving each of them but the last costs."""
    aim, first = Aim.of(flattening.problem), flattening.num_event_states
    # Events and the states of activities take turns.
    before, *groups = ([*states] for _, states in groupby(way, lambda state: state < first))
    pairs: Iterator[tuple[list[int], list[int]]] = zip_longest(groups[::2], groups[1::2], fillvalue=[])
    acting = [cost for state, cost in zip(way, paid, strict=False) if state >= first]
    inside = groupby(tuple((aim.matrix @ cost).tolist()) for cost in acting)
    return {
        "before": _events(flattening, before),
        "legs": [_leg(flattening, states, after) for states, after in pairs],
        "costs": [[len([*equal]), *map(short, costs)] for costs, equal in inside],
        "totals": [short(total) for total in aim.reported(sum(paid, np.zeros(aim.matrix.shape[1])))],
        "finished": way[-1] == flattening.end,
    }


def _events(flattening: Flattening, states: list[int]) -> list[int]:
    return [int(flattening.event_states[state][0]) for state in states]


def _leg(flattening: Flattening, states: list[int], after: list[int]) -> dict[str, Any]:
    """A way through an activity, by its flat states and those of the events after it."""
    activity = int(np.searchsorted(flattening.state_offset, states[0], side="right")) - 1
    cssp = flattening.problem.activities[activity].cssp
    leg: dict[str, Any] = {
        "activity": activity,
        "events": _events(flattening, after),
        "steps": len(states),
    }
    world = cssp.world
    if world is not None:
        cells = world.cells[np.flatnonzero(~cssp.goals)[np.array(states) - flattening.state_offset[activity]]]
        if after:
            cells = np.vstack([cells, _goal_cell(flattening, activity, world, cells[-1], after[0])])
        moves = np.clip(np.diff(cells, axis=0), -1, 1).tolist()
        leg["cell"] = cells[0].tolist()
        leg["moves"] = "".join(_STEPS[column, row] for column, row in moves)
    return leg


def _goal_cell(
    flattening: Flattening, activity: int, world: GridWorld, last: IntArray, reached: int
) -> IntArray:
    """The goal that a leg ended in: of those that lead to the event that was reached, the nearest.

    An exit is no cell; a run that leaves by one does so from its last cell.
    """
    goals = flattening.problem.activities[activity].cssp.goals
    fitting = np.flatnonzero(goals & (flattening.flat_state(activity) == reached))
    cells = world.cells[fitting[fitting < len(world.cells)]]
    distances = np.abs(cells - last).sum(axis=1)
    if not len(cells) or (world.exit_names and distances.min() > 1):
        return last
    nearest: IntArray = cells[np.argmin(distances)]
    return nearest


MOST = 8
"""Figures that are listed for each cost; more rings than these hide the map."""


_CELL = re.compile(r"\((-?\d+), (-?\d+)\)")


def influence_in_words(influence: Influence, measure: Measure) -> str:
    """What would change by how much if a figure were one percent of itself larger.

    >>> burnt = Influence("hall", "run", "fire", 0.1, 0.02)
    >>> print(influence_in_words(burnt, Measure("damage", "expected damage")))
    +0.02  probability 10% of reaching fire from hall, run
    """
    change = changed_by(influence, measure)
    if influence.action == "":
        return f"{change}  {influence.state}: {influence.figure:g}"
    where = f"{place_name(influence.state)}, {place_name(influence.action)}"
    if influence.successor is None:
        return f"{change}  cost {measure.rounded(influence.figure)} in {where}"
    odds = f"{100.0 * influence.figure:.3g}%"
    return f"{change}  probability {odds} of reaching {place_name(influence.successor)} from {where}"


def changed_by(influence: Influence, measure: Measure) -> str:
    """By how much a cost changes, with its sign; of a probability, in percent."""
    return f"{100.0 * influence.change:+.4g}%" if measure.is_probability else f"{influence.change:+.4g}"


def place_name(label: Hashable) -> str:
    """What to call an event, or a state of an activity."""
    if isinstance(label, tuple) and len(label) == 2 and isinstance(label[0], str):
        return f"{label[0]} {label[1]}"
    return str(label)


def influence_data(plan: ProcedurePlan) -> dict[str, list[dict[str, Any]]]:
    """For each cost the strongest influences: as texts, and where on the map."""
    problem = plan.problem
    found = influences(problem, plan.policy, most=MOST)
    return {
        name: [
            {
                "words": influence_in_words(each, Measure.of(problem, name)),
                "change": short(each.change),
                **_where(problem, each.state),
            }
            for each in strongest
        ]
        for name, strongest in zip(Aim.of(problem).names, found, strict=True)
    }


def _where(problem: HCSSP, label: Hashable) -> dict[str, Any]:
    """The activity and the cell of a state, if it lies on a grid."""
    if not (isinstance(label, tuple) and len(label) == 2):
        return {}
    index = next((at for at, each in enumerate(problem.activities) if each.name == label[0]), None)
    cell = _CELL.match(str(label[1]))
    if index is None or cell is None or problem.world(index) is None:
        return {}
    return {"activity": index, "cell": [int(cell[1]), int(cell[2])]}


_STATES_SHOWN = 12


@dataclass(eq=False)
class PlanWriter:
    """Writes plans of one problem; equal activities are written once.

    Attributes
    ----------
    fingerprint
        That of the problem.
    worlds
        The grids that are drawn, by activity.
    runs
        How many runs of each plan are listed step by step.
    samples
        How many runs the distribution of costs is drawn from.
    seed
        The seed of the runs.
    sensitive
        Whether the figures that matter most are listed.
    pool
        The grids written so far.
    """

    fingerprint: str
    worlds: Mapping[int, GridWorld | None]
    runs: int = 24
    samples: int = 4000
    seed: int = 0
    sensitive: bool = True
    pool: CellPool = field(default_factory=CellPool)

    def write(self, plan: ProcedurePlan) -> dict[str, Any]:
        """A plan as data for the page."""
        problem, evaluation = plan.problem, plan.costs
        costs = {name: evaluation.cost(name) for name in evaluation.cost_names}
        aim, claim = Aim.of(problem), plan.claim
        here = induced_chain(problem, plan.policy).costs
        to_go = np.nan_to_num(expected_remaining(problem, plan.policy), nan=0.0)
        figures = [aim.matrix @ here, aim.matrix @ to_go]
        activities = [self._activity(plan, aim, index, figures) for index in range(problem.num_activities)]
        return {
            "bounds": {each.name: plain(each.at_most) for each in problem.constraints},
            "costs": dict(zip(aim.names, map(plain, aim.reported(evaluation.costs)), strict=True)),
            "limit": plain(limit(plan)),
            "own": plain(own(plan)),
            "word": "proven" if verification_of(plan) is None else "verified",
            "claimed": None if claim is None else plain(aim.limit(claim.lower_bound)),
            "prices": None
            if plan.prices is None
            else {name: short(price) for name, price in plan.prices.items()},
            "brief": in_brief(plan),
            "words": [
                sentence
                for sentence in (
                    what_it_costs(problem, costs),
                    what_is_proven(plan),
                    what_more_would_save(problem, plan.prices),
                )
                if sentence
            ],
            "choices": [short(count, 9) for count in choice_counts(plan)],
            "conditions": choice_conditions(plan),
            "activities": [activity for activity, _ in activities],
            "finished": plan.gap <= CURVE_GAP,
            "randomised": plan.policy.is_randomised,
            "more": packed(
                {
                    "document": plan_document(plan, self.fingerprint),
                    "cells": [cells for _, cells in activities],
                }
            ),
            "runs": draw_runs(plan.policy, self.runs, self.seed) if self.runs else [],
            "outlook": outlook_data(look_ahead(plan, self.samples, self.seed)) if self.samples > 1 else None,
            "influences": influence_data(plan) if self.sensitive else {},
        }

    def _activity(
        self, plan: ProcedurePlan, aim: Aim, index: int, figures: Sequence[FloatArray]
    ) -> tuple[dict[str, Any], list[Any]]:
        """An activity, and the figures of its visited cells.

        `figures` are the costs of a step from each flat state, and the costs-to-go there.
        """
        share = plan.costs.activities[index]
        allocated = plan.budgets.get(share.name, {})
        written: dict[str, Any] = {
            "executions": short(share.expected_executions, 9),
            "cost": short(aim.share(share.cost, share.usage) or 0.0, 9),
            "usage": {name: short(used, 9) for name, used in share.usage.items() if name in aim.others},
            "allocated": {
                name: short(each * share.expected_executions, 9)
                for name, each in allocated.items()
                if name in share.usage and name in aim.others
            },
        }
        if not share.expected_executions > 0.0:
            return written, []
        cssp, world = plan.problem.activities[index].cssp, self.worlds[index]
        if cssp.world is None:
            written["states"] = _busiest(plan, index, share.expected_executions)
        if world is None:
            return written, []
        visits = by_state(plan.problem, index, plan.costs.visits) / share.expected_executions
        rows = plan.policy.activities[index]
        costs = [by_state(plan.problem, index, each) for grid in figures for each in grid]
        pieces, cells = [], []
        for name, only in self._parts(world, cssp, rows, visits):
            visited, headings, often = visited_cells(world, cssp, rows, np.where(only, visits, 0.0))
            there = CellFigures.of(world, visited, rows, np.where(only, visits, 0.0))
            pieces.append({"part": name, "grid": self.pool.add(world, visited, headings, often)})
            named = isinstance(world, PlacedGrid) or plan.policy.is_randomised
            actions = there.actions(cssp, _actions(plan, index, there.states)) if named else {}
            cells.append([[there.written(each) for each in costs], actions])
        written["pieces"] = pieces
        return written, cells

    @staticmethod
    def _parts(
        world: GridWorld, cssp: CSSP, rows: IntArray, visits: FloatArray
    ) -> list[tuple[str, IntArray | bool]]:
        """What else the names of visited states say beside their cells, with the states of each."""
        if not isinstance(world, PlacedGrid):
            return [("", True)]
        visited = np.flatnonzero((rows != NO_ROW) & (visits > 0.0))
        names = [part_of(cssp.state_labels[state]) for state in visited.tolist()]
        parts = sorted(set(names), key=_in_order)
        if len(parts) > _MOST_PARTS:
            return [("", True)]
        number = np.full(cssp.num_states, -1)
        number[visited] = [parts.index(name) for name in names]
        return [(part, number == index) for index, part in enumerate(parts)]


def _actions(plan: ProcedurePlan, index: int, states: IntArray) -> list[str]:
    """The actions in some states of an activity; of a randomised policy with their probabilities."""
    cssp, flattening = plan.problem.activities[index].cssp, plan.problem.flattening
    rows, chances = plan.policy.taken
    first, last = np.searchsorted(rows, flattening.row_offset[index : index + 2])
    local, chances = rows[first:last] - flattening.row_offset[index], chances[first:last]
    found: dict[int, list[str]] = {}
    for row, chance, state in zip(
        local.tolist(), chances.tolist(), cssp.row_state[local].tolist(), strict=True
    ):
        label = str(cssp.action_labels[row])
        found.setdefault(state, []).append(label if chance == 1.0 else f"{label} {100 * chance:.3g}%")
    return [", ".join(found[state]) for state in states.tolist()]


_MOST_PARTS = 200
"""States in more layers than these are drawn in one."""


def _in_order(text: str) -> list[tuple[int, str]]:
    """Numbers in a text by their value."""
    return [(int(each), "") if each.isdigit() else (-1, each) for each in re.split(r"(\d+)", text)]


def outlook_data(runs: Simulation) -> dict[str, Any]:
    """The distribution of costs as data for the page."""
    costs = [_cost_data(runs, index) for index in range(len(runs.cost_names))]
    return {"runs": runs.num_runs, "unfinished": runs.num_truncated, "costs": costs}


def _cost_data(runs: Simulation, index: int) -> dict[str, Any]:
    name, bound = runs.cost_names[index], bound_on(runs, index)
    exceeding = runs.probability_of_exceeding(name) if isfinite(bound) else None
    edges, counts, by_value = histogram(runs.totals[index])
    return {
        "name": name,
        "mean": [short(each) for each in runs.mean(name)],
        "percentiles": [short(runs.percentile(name, percent)) for percent in (5, 50, 95, 99)],
        "greatest": short(float(runs.totals[index].max())),
        "exceeding": None if exceeding is None else [short(each) for each in exceeding],
        "edges": [short(edge, 9) for edge in edges],
        "counts": counts.tolist(),
        "values": by_value,
    }


def choice_counts(plan: ProcedurePlan) -> FloatArray:
    """How often each choice is made, in expectation."""
    flattening = plan.problem.flattening
    counts = np.zeros(len(plan.problem.choices))
    for state, event_state in enumerate(flattening.event_states):
        choice = plan.policy.choices.get(event_state, NO_ROW)
        if choice != NO_ROW:
            counts[choice] += plan.costs.visits[state]
    return counts


def choice_conditions(plan: ProcedurePlan) -> list[str]:
    """For each choice, in which states of its event it is made; empty where that is all of them."""
    found: list[list[str]] = [[] for _ in plan.problem.choices]
    index = {(each.event, each.name): number for number, each in enumerate(plan.problem.choices)}
    for each in joined_choices(choice_summaries(plan)):
        condition = each.event.removeprefix(each.place).removeprefix(",").strip()
        if condition:
            found[index[plan.problem.event_index(each.place), each.choice]].append(condition)
    return ["; ".join(each) for each in found]


def _busiest(plan: ProcedurePlan, index: int, executions: float) -> list[list[Any]]:
    """What is done in the states of a table that are visited most: state, action, visits of an execution."""
    made = joined_decisions(decision_summaries(plan, index))
    busiest = sorted(made, key=lambda each: -each.visits)[:_STATES_SHOWN]
    return [[str(each.state), each.action, short(each.visits / executions)] for each in busiest]


FORMAT = "hcssp-report"


VERSION = 1


_HISTORY_POINTS = 400


def page_data(
    plan: Plan,
    *curves: TradeOff,
    runs: int = 24,
    samples: int = 4000,
    seed: int = 0,
    parameters: Mapping[str, object] | None = None,
    sensitive: bool = True,
    whole: bool = False,
    beside: Sequence[ProcedurePlan] = (),
    films: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The data of a page.

    Parameters
    ----------
    plan
        The reported plan; it must have a policy.
    curves
        The trade-off curves that were drawn, each of another bound; the first is shown first.
    runs, samples, seed, sensitive
        As for :class:`~hcssp.reports.page_data.PlanWriter`.
    parameters
        Parameters of the problem and what else the page shall list, by name.
    whole
        Whether activities that no plan executes are on the sheet, too.
    beside
        Other plans of the same problem, perhaps under other bounds, to be listed behind this one.
    films
        The films of the search, as :func:`hcssp.reports.films.films_of` makes them.

    Raises
    ------
    NoSolution
        If the plan has no policy.
    """
    solved = plan.as_procedure()
    identity = fingerprint(plan.problem)
    worlds = _worlds(solved.problem)
    writer = PlanWriter(identity, worlds, runs, samples, seed, sensitive)
    for curve in curves:
        # The proof of the plan does not depend on the bound that is varied.
        solved = _with_proofs_of(solved, curve)
    views = [_view_data(writer, solved, curve) for curve in curves or (None,)]
    views[0]["plans"] += map(writer.write, beside)
    return {
        **_about(solved.problem, worlds, identity, () if whole else _never_executed(views)),
        "parameters": _parameters(plan, parameters or {}, runs, samples, seed),
        "stopped": why_it_stopped(plan),
        **views[0],
        # What the page shows once another bound is chosen; the first view is there already.
        "views": [{"varied": view["varied"]} | (view if number else {}) for number, view in enumerate(views)],
        "grids": writer.pool.entries,
        "history": _history(plan),
        "historyWord": history_of(plan)[1],
        "samples": {"runs": runs, "samples": samples, "seed": seed},
        "films": dict(films or {}),
    }


def drawing_data(problem: HCSSP) -> dict[str, Any]:
    """The data of a page about a problem for which there is no plan yet: a plan that does nothing."""
    unused: dict[str, Any] = {"executions": 0, "cost": 0, "usage": {}, "allocated": {}}
    unknown = ("limit", "own", "claimed", "prices", "outlook")
    empty: dict[str, Any] = {"word": "proven", "brief": "", "words": [], "runs": [], "influences": {}}
    nothing = empty | {
        "bounds": {each.name: plain(each.at_most) for each in problem.constraints},
        "costs": dict.fromkeys(Aim.of(problem).names),
        "choices": [0] * len(problem.choices),
        "conditions": [""] * len(problem.choices),
        "activities": [unused] * problem.num_activities,
        "finished": False,
        "randomised": False,
        "more": packed({"document": None, "cells": [[] for _ in range(problem.num_activities)]}),
        **dict.fromkeys(unknown),
    }
    view: dict[str, Any] = {"varied": None, "curve": None, "plans": [nothing], "reported": 0}
    search: dict[str, Any] = {"grids": [], "history": [], "historyWord": "proven", "films": {}}
    about = {"parameters": [], "stopped": "", "samples": {"runs": 0, "samples": 0, "seed": 0}}
    whole = _about(problem, _worlds(problem), fingerprint(problem), ())
    return whole | view | search | about | {"views": [{"varied": None}]}


def _worlds(problem: HCSSP) -> dict[int, GridWorld | None]:
    return {index: drawn_world(activity.cssp) for index, activity in enumerate(problem.activities)}


def _about(
    problem: HCSSP, worlds: Mapping[int, GridWorld | None], identity: str, left_out: Collection[int]
) -> dict[str, Any]:
    """The data of the problem for a page."""
    graph, uses = levels_data(problem)
    return {
        "format": FORMAT,
        "version": VERSION,
        "hcssp": __version__,
        "problem": _problem_data(problem, worlds, identity),
        "sheet": _sheet_data(problem, worlds, left_out),
        "site": _site_data(problem),
        "graph": graph,
        "uses": uses,
    }


def _site_data(problem: HCSSP) -> list[dict[str, Any]]:
    """The levels of the site, each path with the activities that follow it."""
    followers: dict[str, list[int]] = {}
    for index, activity in enumerate(problem.activities):
        followers.setdefault(activity.room.rpartition("/")[2], []).append(index)
    return [
        {
            "name": level,
            **{key: getattr(floor, key) for key in ("walls", "doors", "lifts", "places")},
            "paths": [
                {"line": line, "activities": followers[room]}
                for room, line in floor.paths.items()
                if room in followers
            ],
        }
        for level, floor in problem.drawing.items()
    ]


def _view_data(writer: PlanWriter, plan: ProcedurePlan, curve: TradeOff | None) -> dict[str, Any]:
    """The plans along one curve."""
    shown, own = along_curve(plan, curve)
    return {
        "varied": None if curve is None else curve.constraint,
        "curve": None if curve is None else _curve_data(curve),
        "plans": [writer.write(each) for each in shown],
        "reported": own,
    }


def _parameters(
    plan: Plan, parameters: Mapping[str, object], runs: int, samples: int, seed: int
) -> list[list[str]]:
    """How the page was made: what was asked, by which method, and with which seed."""
    solved = plan.as_procedure().problem
    bounds = {
        f"bound on {each.name}": Measure.of(solved, each.name).given(each.at_most)
        for each in solved.constraints
        if isfinite(each.at_most)
    }
    how = {
        "method": plan.method or "unknown",
        "solving": "unknown" if not isfinite(plan.seconds) else f"{plan.seconds:.3g} s",
        "simulated runs": f"{samples:,}, of which {runs:,} can be played; seed {seed}",
        "hcssp": __version__,
    }
    return [[name, str(value)] for name, value in {**parameters, **bounds, **how}.items()]


def _problem_data(problem: HCSSP, worlds: Mapping[int, GridWorld | None], fingerprint: str) -> dict[str, Any]:
    aim = Aim.of(problem)
    return {
        "name": problem.name or "plan",
        "description": problem.description,
        "fingerprint": fingerprint,
        "primary": aim.name,
        "greatest": aim.greatest,
        "called": {name: problem.called(name) for name in aim.names},
        "units": dict(problem.units),
        "constraints": list(aim.others),
        "probabilities": [each.name for each in problem.constraints if each.probability_of],
        "events": list(problem.events),
        "start": int(problem.start),
        "end": int(problem.end),
        "choices": [
            {
                "event": int(choice.event),
                "name": choice.name,
                "outcomes": [
                    {
                        "probability": plain(outcome.probability),
                        "events": [int(event) for event in outcome.events],
                        "activity": None if outcome.runs is None else int(outcome.runs),
                    }
                    for outcome in choice.outcomes
                ],
            }
            for choice in problem.choices
        ],
        "activities": [
            _activity_data(problem, index, worlds[index]) for index in range(problem.num_activities)
        ],
    }


def _activity_data(problem: HCSSP, index: int, world: GridWorld | None) -> dict[str, Any]:
    activity, outcome = problem.activities[index], problem.activity_outcome[index]
    return {
        "name": activity.name,
        "room": activity.room,
        "states": activity.cssp.num_states,
        "from": int(problem.choices[int(problem.activity_choice[index])].event),
        "to": [int(event) for event in outcome.events],
        "starts": [] if world is None else [[int(x), int(y)] for x, y in world.starts],
        "goals": [] if world is None else [[int(x), int(y)] for x, y in world.goals],
        "goalEvents": [] if world is None else [int(outcome.event_after(cell)) for cell in world.goals],
    }


def _never_executed(views: Sequence[Mapping[str, Any]]) -> set[int]:
    """The activities that no plan of the page executes."""
    plans = [plan["activities"] for view in views for plan in view["plans"]]
    executed = {index for plan in plans for index, each in enumerate(plan) if each["executions"]}
    return set(range(len(plans[0]))) - executed


def _sheet_data(
    problem: HCSSP, worlds: Mapping[int, GridWorld | None], left_out: Collection[int]
) -> dict[str, Any]:
    panels = place(problem, worlds, left_out)
    width, height = sheet_size(panels)
    return {
        "width": width,
        "height": height,
        "map": any(panel.on_map for panel in panels) and len(panels) > 0,
        "panels": [_panel_data(worlds, panel) for panel in panels],
        "floors": _floors(problem, panels),
    }


def _floors(problem: HCSSP, panels: Sequence[Panel]) -> list[dict[str, Any]]:
    """What would lie on top of each other on one map, apart: by the procedures that are used, or by rooms.

    Empty where one map shows everything. An activity that belongs to no floor is on all of them.
    """
    mapped = [panel for panel in panels if panel.on_map]
    innermost: dict[int, int] = {}
    for number, use in enumerate(problem.uses):
        # Uses inside others come after them.
        innermost |= dict.fromkeys(use.activities, number)
    if any(len({innermost.get(index) for index in panel.activities}) > 1 for panel in mapped):
        return [
            {"name": use.name, "activities": [each for each in use.activities if innermost[each] == number]}
            for number, use in enumerate(problem.uses)
            if number in innermost.values()
        ]
    floors: list[list[Panel]] = []
    for panel in mapped:
        free = next((floor for floor in floors if not any(_overlap(panel, each) for each in floor)), None)
        if free is None:
            floors.append([panel])
        else:
            free.append(panel)
    if len(floors) < 2:
        return []
    return [
        {
            "name": ", ".join(panel.title for panel in floor),
            "activities": [index for panel in floor for index in panel.activities],
        }
        for floor in floors
    ]


def _overlap(one: Panel, other: Panel) -> bool:
    """Whether two rooms share more than a wall."""
    return all(
        min(one.corner[axis] + one_size, other.corner[axis] + other_size)
        - max(one.corner[axis], other.corner[axis])
        > 1
        for axis, (one_size, other_size) in enumerate(((one.width, other.width), (one.height, other.height)))
    )


def _panel_data(worlds: Mapping[int, GridWorld | None], panel: Panel) -> dict[str, Any]:
    drawn = [worlds[index] for index in panel.activities]
    openings = {
        (int(x), int(y)) for world in drawn if world is not None for x, y in (*world.starts, *world.goals)
    }
    world = panel.world
    return {
        "title": panel.title,
        "corner": list(panel.corner),
        "width": panel.width,
        "height": panel.height,
        "grid": world is not None,
        "onMap": panel.on_map,
        "activities": list(panel.activities),
        "walls": [] if world is None else [[int(each) for each in wall] for wall in world.walls],
        "hazards": []
        if world is None
        else [
            {
                "place": [int(each) for each in hazard.rectangle],
                "costs": {name: short(cost, 9) for name, cost in hazard.costs.items()},
                "exits": {name: short(odds, 9) for name, odds in hazard.exits.items()},
            }
            for hazard in world.hazards
        ],
        "openings": [list(opening) for opening in sorted(openings)],
    }


def _curve_data(curve: TradeOff) -> dict[str, Any]:
    shown = JudgedCurve.of(curve)
    return {
        "exact": curve.exact,
        "breakpoints": [[short(float(x), 9), short(float(y), 9)] for x, y in shown.breakpoints],
    }


def _history(plan: Plan) -> list[list[float | None]]:
    """The proven interval over time, ending when the search did; a long one is thinned out."""
    trace, word = history_of(plan)
    points = [[point.seconds, point.lower_bound, point.upper_bound] for point in trace]
    stride = -(-len(points) // _HISTORY_POINTS) or 1
    kept = points[::stride]
    if points and kept[-1] is not points[-1]:
        kept.append(points[-1])
    if points and isfinite(plan.seconds) and plan.seconds > points[-1][0]:
        last = plan.claim if word == "claimed" and plan.claim is not None else plan
        kept.append([plan.seconds, last.lower_bound, last.upper_bound])
    aim = Aim.of(plan.problem)
    return [
        [short(seconds), plain(aim.limit(lower)), plain(aim.judged(upper))] for seconds, lower, upper in kept
    ]
