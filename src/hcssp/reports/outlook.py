"""What can happen from run to run: the distribution of every cost over many simulated runs.

A bound holds on average; whoever has to answer for a plan also asks how bad a bad run is, and how often a
run exceeds the bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hcssp.contract.plan import Plan
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.evaluation.simulation import Estimate, Simulation
from hcssp.procedure.aim import Aim
from hcssp.reports.judged import judged_runs

_BARS = 40
_FEW_VALUES = 14


@dataclass(frozen=True, eq=False)
class CostOutlook:
    """How one cost is distributed over the runs.

    Attributes
    ----------
    name
        The cost.
    mean
        The mean over the runs, with its 95% confidence interval.
    percentiles
        What 5, 50, 95 and 99 of 100 runs do not exceed.
    greatest
        The greatest of all.
    exceeding
        The share of runs above the bound, with its 95% confidence interval; None where there is no bound.
    edges, counts
        The histogram: runs with at least an edge and less than the next.
    by_value
        Whether there are so few different values that each has a bar of its own, in its middle.
    """

    name: str
    mean: Estimate
    percentiles: tuple[float, float, float, float]
    greatest: float
    exceeding: Estimate | None
    edges: FloatArray
    counts: IntArray
    by_value: bool


@dataclass(frozen=True)
class Outlook:
    """The distribution of every cost over `runs` runs, `unfinished` of which were cut off."""

    runs: int
    unfinished: int
    costs: tuple[CostOutlook, ...]


def look_ahead(plan: Plan, runs: int = 5000, seed: int = 0) -> Outlook:
    """Simulate a plan; `seed` names the runs for good."""
    simulation = judged_runs(Aim.of(plan.problem), plan.simulate(runs, seed))
    costs = tuple(_cost_outlook(simulation, index) for index in range(len(simulation.cost_names)))
    return Outlook(runs, simulation.num_truncated, costs)


def _cost_outlook(simulation: Simulation, index: int) -> CostOutlook:
    name, totals = simulation.cost_names[index], simulation.totals[index]
    bounded = index > 0 and np.isfinite(simulation.bounds[index - 1])
    low, middle, high, highest = (simulation.percentile(name, percent) for percent in (5, 50, 95, 99))
    edges, counts, by_value = histogram(totals)
    return CostOutlook(
        name=name,
        mean=simulation.mean(name),
        percentiles=(low, middle, high, highest),
        greatest=float(totals.max()),
        exceeding=simulation.probability_of_exceeding(name) if bounded else None,
        edges=edges,
        counts=counts,
        by_value=by_value,
    )


def histogram(totals: FloatArray) -> tuple[FloatArray, IntArray, bool]:
    """Edges and counts of bars of equal width, and whether every bar is a single value.

    >>> edges, counts, by_value = histogram(np.array([0.0, 0.0, 50.0, 150.0]))
    >>> edges.tolist(), counts.tolist(), by_value
    ([-25.0, 25.0, 75.0, 125.0, 175.0], [2, 1, 0, 1], True)
    """
    values = np.unique(totals)
    if len(values) == 1:
        return np.array([values[0] - 0.5, values[0] + 0.5]), np.array([len(totals)]), True
    step = float(np.diff(values).min())
    places = (values - values[0]) / step
    by_value = bool(places[-1] < _FEW_VALUES and np.allclose(places, np.rint(places)))
    if by_value:
        edges = values[0] + step * (np.arange(round(float(places[-1])) + 2) - 0.5)
    else:
        edges = np.histogram_bin_edges(totals, bins=_BARS)
    counts, _ = np.histogram(totals, edges)
    return edges, counts.astype(np.int64), by_value
