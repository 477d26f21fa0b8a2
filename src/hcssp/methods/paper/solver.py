r"""The paper's method: branch and bound over how the budgets are shared among activities.

**Problem.** An HC-SSP whose procedure has no cycle and enters every event in one state; wanted is the best
deterministic hierarchical policy.

**Method.** Hong and Williams: an allocation of budgets separates the activities from one another and from the
procedure. Boxes of allocations are bounded from both sides (Compute-LB, Compute-UB, both from
Activity-Planning and Procedural-Planning) and split, best bound first (Branch-and-Bound). Two things are
sharper than in the paper unless it is asked for by name: the initial limits and Compute-LB.

**Guarantee.** The interval is proven at every instant and only tightens. With ``iterations=inf`` it closes;
with fewer a gap may remain, since activities are then known up to their own gaps, and it is reported.

**References.** Hong and Williams 2021, 2023; Balakrishnan et al. 1991.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import get_args

from hcssp.contract.progress import Progress
from hcssp.dual.ascent import Dual, ascend
from hcssp.dual.procedure_oracle import ProcedureVertex
from hcssp.dual.stochastic import optimum_of
from hcssp.errors import UnknownName, UnsupportedProblem
from hcssp.methods.paper.branch_and_bound import branch_and_bound
from hcssp.methods.paper.compute_lb import LowerBoundKind
from hcssp.methods.paper.limits import Limits, initial_box
from hcssp.methods.paper.planning import Planning
from hcssp.procedure.model import HCSSP
from hcssp.ssp.region import Region


@dataclass(frozen=True)
class BudgetAllocation:
    """Branch and bound over budget allocations.

    Parameters
    ----------
    iterations
        Of the second stage of every activity's and the procedure's planning, the paper's l: 0 is the dual
        alone, ``inf`` goes on to the proof.
    lower_bound
        Which Compute-LB: "sharp" or the "paper"'s own.
    limits
        Which initial limits: "sharp" or the "paper"'s own.
    epsilon
        Stop once the bounds differ by no more than this.
    """

    iterations: float = 0
    lower_bound: LowerBoundKind = "sharp"
    limits: Limits = "sharp"
    epsilon: float = 0.0
    name = "budget-allocation"

    def __post_init__(self) -> None:
        for kind, chosen, known in (
            ("lower bound", self.lower_bound, get_args(LowerBoundKind)),
            ("kind of limits", self.limits, get_args(Limits)),
        ):
            if chosen not in known:
                raise UnknownName(kind, chosen, known)

    def iterate(self, problem: HCSSP) -> Iterator[Progress]:
        """Yield progress after every solved multiplier of the first dual and every box that was split.

        Raises
        ------
        UnsupportedProblem
            If the problem is no procedure, has a cycle, or enters an event in several states.
        """
        began = time.perf_counter()
        if not isinstance(problem, HCSSP):
            raise UnsupportedProblem(
                "budget allocation shares budgets among activities, and this problem has none; "
                "use the method 'exact'"
            )
        planning = Planning(problem)
        lower_bound, stochastic = -inf, None
        if self.lower_bound == "sharp":
            # The sharp bound of all allocations, step by step; incumbents wait for Compute-UB.
            dual: Dual[ProcedureVertex] = Dual()
            for dual in ascend(planning.oracle, Region()):
                seconds = time.perf_counter() - began
                # No box yet: what is counted are boxes.
                yield Progress(seconds, 0, dual.bound, prices=dual.prices, infeasibility=dual.infeasibility)
            if dual.infeasible:
                seconds = time.perf_counter() - began
                yield Progress(seconds, 0, inf, infeasibility=dual.infeasibility, finished="infeasible")
                return
            lower_bound, stochastic = dual.bound, optimum_of(dual, planning.oracle)
        box = initial_box(planning, self.limits)
        yield from branch_and_bound(
            planning, box, self.iterations, self.epsilon, self.lower_bound, began, lower_bound, stochastic
        )
