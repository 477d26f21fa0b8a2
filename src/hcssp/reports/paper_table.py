"""One row of the table: the published figures, the results of the methods, and what follows from them.

The table for people: a header, its rows, and what must be known to read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf, isfinite
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np

from hcssp.contract.plan import Plan
from hcssp.methods.paper import Box, Instance, compute_ub
from hcssp.methods.paper.algorithms import published_limits
from hcssp.procedure.model import HCSSP
from hcssp.reports.figures import plain, rounded_down, rounded_up
from hcssp.scenarios.domains.evacuation import LIKELIHOODS, SHARES, PublishedRow

PLAN_DIFFERENCE = 1e-11
"""A plan that is better by a smaller share is the same up to rounding."""

BASELINE = "HiGHS on the linear program of the flattened problem"
"""Whose time the shares are taken of."""


class AuthorsPlan(NamedTuple):
    """A better plan that the authors' program finds, and after how many plannings of an activity."""

    upper_bound: float
    plannings: int


def as_the_authors_ran(problem: HCSSP) -> Iterator[AuthorsPlan | None]:
    """The plans that the authors' program finds, in its order; None after a box without a better one.

    It halves every edge of the allocation space at once, and runs Compute-UB with l = 0 on all the boxes one
    after another. Its allocation space divides the bounds by :data:`LIKELIHOODS`. Its time is that of
    planning activities, each of which it plans once under each limit.
    """
    names = {activity.name for activity in problem.activities}
    instance = Instance(problem)
    whole = published_limits(instance, {name: LIKELIHOODS[name] for name in names & set(LIKELIHOODS)}).upper
    planned: set[tuple[int, float]] = set()
    best = inf
    for upper_halves in product((False, True), repeat=len(whole)):
        upper = np.where(upper_halves, whole, 0.5 * whole)
        planned.update(enumerate(upper.tolist()))
        cost, _ = compute_ub(instance, Box(np.zeros(len(whole)), upper), 0)
        if cost < best - PLAN_DIFFERENCE * abs(cost):
            best = cost
            yield AuthorsPlan(cost, len(planned))
        else:
            yield None


class GapAt(NamedTuple):
    """An incumbent: how far the stochastic optimum lies below it, when it was found, and its gap."""

    gap: float
    seconds: float
    proven: float


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
    authors
        The plans of the authors' program, see :func:`as_the_authors_ran`.
    """

    published: PublishedRow
    exact: Plan
    baseline: Plan
    budgets: Mapping[str, Plan]
    authors: tuple[AuthorsPlan, ...] = ()

    @property
    def baseline_finished(self) -> bool:
        """Whether the baseline ended within its time."""
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

        Like the published gaps it is against the optimum over stochastic plans, and divided by the cost of
        the plan; None while there is no plan.
        """
        until = share * self.baseline.seconds
        points = [
            each for each in self.budgets[mode].trace if each.seconds <= until and each.upper_bound < inf
        ]
        if not points or not isfinite(self.stochastic):
            return None
        lower, best = points[-1].lower_bound, points[-1].upper_bound
        seconds = next(each.seconds for each in points if each.upper_bound == best)
        return GapAt((best - self.stochastic) / best, seconds, (best - lower) / best)

    def authors_gap(self, plan: AuthorsPlan) -> float:
        """The gap of a plan of the authors' program against the objective of their MILP, a share of its cost.

        The objective was printed with two decimals. Where the stochastic optimum is below that, it counts.
        """
        objective = float(np.fmin(self.published.objective, self.stochastic))
        return (plan.upper_bound - objective) / plan.upper_bound


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
        "as_the_authors_ran_it": [
            {
                "gap": plain(row.authors_gap(plan)),
                "cost": plan.upper_bound,
                "plannings": plan.plannings,
            }
            for plan in row.authors
        ],
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
                    "proven_gap": None if found is None else found.proven,
                }
                for share, found in ((share, row.gap_after(mode, share)) for share in SHARES)
            ]
            for mode in row.budgets
        },
    }


_SHARES = tuple((f"{share:.0%}", 6) for share in SHARES)


_GROUPS: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = (
    # heading of the group, then heading and width of its columns
    ("", (("Delta", 6),)),
    ("the paper", (("MILP", 8), ("s", 7), *_SHARES)),
    ("as the authors ran it", (("first", 6), ("after", 5), ("best", 6), ("after", 5))),
    ("here: baseline", (("LP s", 8), ("randomised", 10))),
    ("exact", (("deterministic", 19), ("s", 6))),
)


_MODES = {
    "published": "Published: budget allocation, the paper's algorithm without additions.",
    "sharp": "Sharp: budget allocation in the default mode.",
}


def header(modes: Sequence[str]) -> str:
    """Two lines: groups of columns, and the columns."""
    titles = []
    for title, columns in _groups(modes):
        width = sum(width for _, width in columns) + len(columns) - 1
        titles.append(f"{title:^{width}}")
    cells = [[heading for heading, _ in columns] for _, columns in _groups(modes)]
    return (" | ".join(titles)).rstrip() + "\n" + _line(cells, modes)


def row_text(row: TableRow) -> str:
    """One row."""
    published, exact = row.published, row.exact
    late = "" if row.baseline_finished else ">"
    interval = "no plan"
    if isfinite(exact.upper_bound):
        interval = f"{rounded_down(exact.lower_bound, 4)}-{rounded_up(exact.upper_bound, 4)}"
    modes = tuple(row.budgets)
    gaps = [[row.gap_after(mode, share) for share in SHARES] for mode in modes]
    cells = [
        [f"{published.bound:g}"],
        [
            _decimal(published.objective, 2),
            _decimal(published.seconds, 2),
            *(_percent(None if found is None else found.gap) for found in published.gaps),
        ],
        [
            text
            for plan in (row.authors[:1] + row.authors[-1:])
            for text in (_percent(row.authors_gap(plan)), str(plan.plannings))
        ]
        or ["-"] * 4,
        [f"{late}{row.baseline.seconds:.1f}", _decimal(row.stochastic, 4)],
        [interval, f"{exact.seconds:.2f}"],
        *([_percent(None if found is None else found.gap) for found in each] for each in gaps),
    ]
    return _line(cells, modes)


def footnotes(rows: Sequence[TableRow], modes: Sequence[str]) -> str:
    """What the columns are and why the baseline is what it is."""
    notes = [
        "The paper: Hong and Williams, Section V: objective and seconds of their MILP (Gurobi 9, their "
        "laptop), and the gap of their method against it after 10%, 20% and 50% of the MILP's time. Its "
        "objectives are optima over randomised plans: its encoding lets flow leak through the binaries.",
        "As the authors ran it: the boxes of their program in their order, with their likelihoods; the gap "
        "of its first and its best plan against the MILP, and the number of plannings of an activity until "
        "then. Each took 1.5 to 1.9 s on their laptop.",
        f"Baseline: {BASELINE}, since no MILP solver here finishes on it. Its optimum is that over "
        "randomised plans; 10%, 20% and 50% are shares of its time.",
        "Exact: the proven interval around the best deterministic plan.",
        *(_MODES[mode] for mode in modes),
        "The figures of budget allocation are the relative gap between its plan at that time and the "
        "randomised optimum, as in the paper's columns; - means that it has no plan yet.",
    ]
    if not all(row.baseline_finished for row in rows):
        notes.append(
            "> The baseline did not finish within its time limit: the shares are of that limit, and the "
            "randomised optimum is the exact method's dual."
        )
    return "\n".join(fill(note, width=110, subsequent_indent="  ") for note in notes)


def _groups(modes: Sequence[str]) -> list[tuple[str, tuple[tuple[str, int], ...]]]:
    return [*_GROUPS, *((mode, _SHARES) for mode in modes)]


def _line(cells: Sequence[Sequence[str]], modes: Sequence[str]) -> str:
    groups = []
    for own, (_, columns) in zip(cells, _groups(modes), strict=True):
        groups.append(" ".join(f"{cell:>{width}}" for cell, (_, width) in zip(own, columns, strict=True)))
    return " | ".join(groups).rstrip()


def _decimal(value: float, digits: int) -> str:
    return f"{value:.{digits}f}" if isfinite(value) else "-"


def _percent(fraction: float | None) -> str:
    return "-" if fraction is None else f"{100 * fraction:.2f}%"
