"""A first plan for a procedure of very many small activities, before each of them is looked at by itself.

**Problem.** The exact method plans activities one by one, which makes it fast where they are large. To
prepare a thousand of a few states each takes seconds, and nothing is known by then.

**Method.** Such a procedure is a small problem once it is flat, and all its states are planned at once. So
the dual of the flat problem is maximised first; the feasible policies that it meets are plans, and its
prices are where the search begins.

**Guarantee.** The flat problem has the same policies with the same costs, so that its bounds are bounds, see
:mod:`hcssp.procedure.flattening`; what a plan costs is evaluated by the procedure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeGuard

from hcssp.contract.memory import Problem
from hcssp.contract.progress import Progress
from hcssp.dual.ascent import ascend
from hcssp.dual.flat_oracle import FlatOracle, FlatVertex
from hcssp.errors import DeadEnd
from hcssp.methods.best_first import BestFirst
from hcssp.methods.branching import offer
from hcssp.methods.reporter import Reporter
from hcssp.procedure.model import HCSSP
from hcssp.ssp.region import Region

MANY_ACTIVITIES = 200
"""With fewer activities, planning each is as fast as planning all of them at once."""

MAX_STATES = 50
"""Activities are small if they have at most so many states on the average."""


def has_early_plan(problem: Problem) -> TypeGuard[HCSSP]:
    """Whether a procedure has so many small activities, alike ones counted once."""
    if not isinstance(problem, HCSSP):
        return False
    distinct = {id(activity.cssp): activity.cssp.num_states for activity in problem.activities}
    return len(distinct) >= MANY_ACTIVITIES and sum(distinct.values()) <= MAX_STATES * len(distinct)


def early_plans(problem: HCSSP, began: float) -> Iterator[Progress]:
    """Progress while the dual of the flat problem is maximised; nothing once it shows that there is no plan.

    Parameters
    ----------
    problem
        The procedure.
    began
        When the clock was started, by ``time.perf_counter()``.
    """
    try:
        oracle = FlatOracle(problem.flattening.cssp, affordable=True)
    except DeadEnd:
        # Whoever plans the activities one by one can say in which of them one is stuck.
        return
    search: BestFirst[Any, FlatVertex] = BestFirst()
    reporter = Reporter(problem, oracle, search, began)
    for dual in ascend(oracle, Region()):
        if dual.infeasible:
            return
        reporter.prices = dual.prices
        offer(oracle, reporter, dual, 0)
        yield reporter.snapshot(dual.bound)
