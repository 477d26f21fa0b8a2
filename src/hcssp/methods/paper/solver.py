r"""The paper's method: branch and bound over how the budgets are shared among activities.

**Problem.** Any HC-SSP; wanted is the best deterministic hierarchical policy. Activities that exits tie
together share a budget, see :mod:`hcssp.procedure.grouping`.

**Method.** Hong and Williams: an allocation of budgets separates the activities from one another and from the
procedure. Boxes of allocations are bounded from both sides (Compute-LB, Compute-UB, both from
Activity-Planning and Procedural-Planning) and split, best bound first (Branch-and-Bound). The mode
*published* does just that; the mode *sharp* has narrower limits, a sharper Compute-LB, more incumbents and
splits that separate them.

**Guarantee.** The interval is proven at every instant and only tightens. With ``iterations=inf`` it closes;
with fewer a gap may remain, since activities are then known up to their own gaps, and it is reported. The
mode published may then go on halving boxes for as long as a stop criterion lets it.

**References.** Hong and Williams 2021, 2023; Balakrishnan et al. 1991.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from hcssp.contract.ending import Ending, Reason
from hcssp.contract.memory import Problem
from hcssp.contract.progress import Progress
from hcssp.contract.proof import Infeasible
from hcssp.contract.solver import Context
from hcssp.cssp.implicit import refuse_implicit
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.ascent import Dual, ascend
from hcssp.dual.stochastic import StochasticOptimum, optimum_of
from hcssp.errors import UnsupportedProblem
from hcssp.methods.paper.algorithm_1_branch_and_bound import Incumbent, Partitions, branch_and_bound
from hcssp.methods.paper.instance import Instance
from hcssp.methods.paper.modes import ModeName, find_mode
from hcssp.methods.refutation import refuted
from hcssp.numerics import PRUNE_TOLERANCE, relative_gap
from hcssp.procedure.grouping import Grouping, grouped
from hcssp.procedure.model import HCSSP
from hcssp.procedure.part import Part
from hcssp.procedure.policy import ProcedurePolicy
from hcssp.procedure.pruning import without_dead_ends
from hcssp.proofs.search_record import write_down
from hcssp.ssp.region import Region


@dataclass(frozen=True)
class BudgetAllocation:
    """Branch and bound over budget allocations.

    Parameters
    ----------
    iterations
        Of the second stage of every activity's and the procedure's planning, the paper's l (see
        :func:`hcssp.methods.anytime.stage_two`): 0 is the dual alone, ``inf`` goes on to the proof.
    mode
        "published" is the paper's algorithm and nothing else, "sharp" is ours.
    epsilon
        Stop once the bounds differ by no more than this.

    Raises
    ------
    UnknownName
        If there is no such mode.
    """

    iterations: float = 0
    mode: ModeName = "sharp"
    epsilon: float = 0.0
    name = "budget-allocation"

    def __post_init__(self) -> None:
        find_mode(self.mode)

    def iterate(self, problem: Problem, context: Context | None = None) -> Iterator[Progress]:
        """Yield progress after every box that was split; in the mode sharp the dual of the whole comes first.

        Raises
        ------
        UnsupportedProblem
            If the problem is no procedure.
        """
        began = time.perf_counter()
        refuse_implicit(problem, f"the method {self.name!r}")
        if not isinstance(problem, HCSSP):
            raise UnsupportedProblem(
                "budget allocation shares budgets among activities, and this problem has none; "
                "use the method 'exact'"
            )
        mode, given = find_mode(self.mode), context or Context()
        # Activities that exits tie together have one budget.
        grouping = None if problem.flattening.separable else grouped(problem)
        together = problem if grouping is None else grouping.problem
        # An activity that cannot end must not be planned; perhaps it need not be run.
        pruned = without_dead_ends(together)
        kept = range(together.num_activities) if pruned is None else pruned.activities
        owners = None if grouping is None else [grouping.owners[activity] for activity in kept]
        instance = Instance(together if pruned is None else pruned.problem, mode.shortcuts, owners)
        lower_bound = -inf
        reporter = _Reporter(instance, began, pruned, grouping)
        if self.mode == "sharp":
            # The sharp bound of all allocations, step by step; incumbents wait for Compute-UB.
            dual: Dual[Any] = Dual()
            # Bounds are recorded for the problem that was asked, whatever part of it is planned.
            oracle = instance.oracle if instance.problem is problem else given.memory.oracle(problem)
            record = given.record
            record.begin(oracle)
            for dual in ascend(oracle, Region()):
                write_down(record, record.root, dual)
                seconds = time.perf_counter() - began
                # No box yet: what is counted are boxes.
                yield Progress(seconds, 0, dual.bound, prices=dual.prices)
            if dual.infeasible:
                seconds = time.perf_counter() - began
                proof, ending = refuted(oracle, dual), Ending(Reason.INFEASIBLE)
                yield Progress(seconds, 0, inf, infeasible=proof, ending=ending)
                return
            lower_bound, reporter.prices = dual.bound, dual.prices
            reporter.stochastic = optimum_of(dual, oracle)
        box = mode.initial_box(instance)
        for partitions in branch_and_bound(instance, box, self.iterations, self.epsilon, mode, lower_bound):
            yield reporter.snapshot(partitions)
        yield reporter.snapshot(partitions, _reason(partitions, self.epsilon))


class _Reporter:
    """Makes snapshots of the state of Algorithm 1.

    Attributes
    ----------
    prices, stochastic
        What the dual of the whole problem says. Without it there are none: the multipliers of a box are
        prices of its estimates.
    """

    def __init__(
        self, instance: Instance, began: float, pruned: Part | None = None, grouping: Grouping | None = None
    ) -> None:
        self._instance = instance
        self._began = began
        self._pruned = pruned
        self._grouping = grouping
        self.prices: FloatArray | None = None
        self.stochastic: StochasticOptimum | None = None
        self._told: Incumbent | None = None
        self._policy: ProcedurePolicy | None = None
        self._budgets: Mapping[str, Mapping[str, float]] | None = None

    def snapshot(self, partitions: Partitions, ending: Reason | None = None) -> Progress:
        incumbent = partitions.incumbent
        if incumbent is not None and incumbent is not self._told:
            # A policy of many states is written out once, not with every box.
            self._told = incumbent
            self._policy = self._lift(self._instance.oracle.lift(incumbent.solution))
            self._budgets = _budgets(self._instance, incumbent)
        return Progress(
            seconds=time.perf_counter() - self._began,
            iterations=partitions.examined,
            lower_bound=partitions.lower_bound,
            upper_bound=partitions.upper_bound,
            incumbent=self._policy,
            prices=self.prices,
            stochastic=self.stochastic,
            infeasible=Infeasible() if ending is Reason.INFEASIBLE else None,
            ending=None if ending is None else Ending(ending),
            budgets=self._budgets,
        )

    def _lift(self, rows: IntArray) -> ProcedurePolicy:
        policy = ProcedurePolicy(self._instance.problem, rows)
        if self._pruned is not None:
            policy = self._pruned.lift(policy)
        return policy if self._grouping is None else self._grouping.lift(policy)


def _reason(partitions: Partitions, epsilon: float) -> Reason:
    lower_bound, upper_bound = partitions.lower_bound, partitions.upper_bound
    if lower_bound == inf:
        return Reason.INFEASIBLE
    if relative_gap(lower_bound, upper_bound) <= 2.0 * PRUNE_TOLERANCE:
        return Reason.PROVED
    return Reason.GAP if upper_bound - lower_bound <= epsilon else Reason.CONVERGED


def _budgets(instance: Instance, incumbent: Incumbent) -> Mapping[str, Mapping[str, float]]:
    """The limits of the activities that the incumbent runs, by activity and constraint."""
    budgets: dict[str, dict[str, float]] = {}
    for index in np.flatnonzero(incumbent.solution.executions > 0.0).tolist():
        limits = incumbent.limits[instance.edges_of(index)]
        share = instance.by_constraint(index, limits)
        budgets[instance.problem.activities[index].name] = {
            instance.problem.constraints[j].name: float(share[j]) for j, _ in instance.counts[index]
        }
    return budgets
