"""One row of the table: the published figures, the results of the methods, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, NamedTuple

from hcssp.contract.plan import Plan
from hcssp.reports.figures import plain
from hcssp.scenarios.published import SHARES, PublishedRow

BASELINE = "HiGHS on the linear program of the flattened problem"
"""Whose time the shares are taken of."""


class GapAt(NamedTuple):
    """How far the incumbent lies above the stochastic optimum at some time, and when it was found."""

    gap: float
    seconds: float


@dataclass(frozen=True)
class TableRow:
    """The results under one bound.

    Attributes
    ----------
    published
        The paper's row.
    exact, baseline
        The results of the exact method and the baseline.
    budgets
        Those of the allocation of budgets, by mode.
    """

    published: PublishedRow
    exact: Plan
    baseline: Plan
    budgets: Mapping[str, Plan]

    @property
    def baseline_finished(self) -> bool:
        """Whether the baseline came to its end within its time."""
        return self.baseline.stochastic is not None or self.baseline.status == "infeasible"

    @property
    def stochastic(self) -> float:
        """The optimum over stochastic plans: the baseline's, or the dual's if that did not finish."""
        for result in (self.baseline, self.exact):
            if result.stochastic is not None:
                return result.stochastic.value
        return inf

    def gap_after(self, mode: str, share: float) -> GapAt | None:
        """The budget allocation's gap once `share` of the baseline's time has passed.

        Like the published gaps it is against the optimum over stochastic plans; None while there is no plan.
        """
        until = share * self.baseline.seconds
        found: GapAt | None = None
        best = inf
        for point in self.budgets[mode].trace:
            if point.seconds > until:
                break
            if point.upper_bound < best:
                best = point.upper_bound
                found = GapAt((best - self.stochastic) / self.stochastic, point.seconds)
        return found if isfinite(self.stochastic) else None

    def proven_gap_after(self, mode: str, share: float) -> float:
        """The gap that the budget allocation itself has proven by then: (upper - lower) / upper."""
        until = share * self.baseline.seconds
        points = [point for point in self.budgets[mode].trace if point.seconds <= until]
        if not points or not isfinite(points[-1].upper_bound):
            return inf
        return (points[-1].upper_bound - points[-1].lower_bound) / points[-1].upper_bound


def row_document(row: TableRow) -> dict[str, Any]:
    """The row as a JSON object."""
    published = row.published
    return {
        "at_most": published.bound,
        "published": {
            "milp_objective": plain(published.objective),
            "milp_seconds": plain(published.seconds),
            "method": [
                {
                    "share": share,
                    "gap": None if found is None else found.gap,
                    "seconds": None if found is None else found.seconds,
                }
                for share, found in zip(SHARES, published.gaps, strict=True)
            ],
        },
        "baseline": {"seconds": plain(row.baseline.seconds), "finished": row.baseline_finished},
        "stochastic_optimum": plain(row.stochastic),
        "deterministic": {
            "lower_bound": plain(row.exact.lower_bound),
            "upper_bound": plain(row.exact.upper_bound),
            "seconds": plain(row.exact.seconds),
        },
        "budget_allocation": {
            mode: [
                {
                    "share": share,
                    "gap": None if found is None else found.gap,
                    "seconds": None if found is None else found.seconds,
                    "proven_gap": plain(row.proven_gap_after(mode, share)),
                }
                for share, found in ((share, row.gap_after(mode, share)) for share in SHARES)
            ]
            for mode in row.budgets
        },
    }
