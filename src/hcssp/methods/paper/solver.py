r"""The paper's method: branch and bound over how the budgets are shared among activities.

**Problem.** Any HC-SSP; wanted is the best deterministic hierarchical policy. Activities that exits tie
together share a budget, see :mod:`hcssp.procedure.parts`.

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
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Literal, get_args

import numpy as np

from hcssp.contract.progress import AllocationIncumbent, AllocationSpace, Progress
from hcssp.contract.proof import Ending, Infeasible, Reason
from hcssp.contract.solver import Context, Problem
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.ascent import Dual, StochasticOptimum, ascend, optimum_of
from hcssp.errors import InvalidOption, UnknownName, UnsupportedProblem
from hcssp.methods.choices_per_event import one_choice_per_event
from hcssp.methods.incumbents import refuted
from hcssp.methods.paper.algorithms import Incumbent, Mode, Partitions, branch_and_bound, compute_lb
from hcssp.methods.paper.instance import BudgetParameters, Instance
from hcssp.methods.paper.sharp import Sharp
from hcssp.numerics import PRUNE_TOLERANCE, relative_gap
from hcssp.procedure.model import HCSSP, Choices
from hcssp.procedure.parts import Grouping, Part, grouped, without_dead_ends
from hcssp.procedure.policy import ProcedurePolicy
from hcssp.proofs.search_record import write_down
from hcssp.ssp.scalar_problem import Region

ModeName = Literal["published", "sharp"]

MODES: tuple[ModeName, ...] = get_args(ModeName)


def find_mode(name: str) -> Mode:
    """The mode called `name`.

    Raises
    ------
    UnknownName
        If there is none; the message lists those there are.
    """
    if name not in MODES:
        raise UnknownName("mode", name, MODES)
    return Mode() if name == "published" else Sharp()


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
    likelihoods
        By the names of activities: the allocation space gives an activity a bound divided by this number, in
        place of the least probability with which a procedure runs it. Plans that use more are not looked for;
        the lower bound covers them. An activity that exits tie to others keeps its own number.
    choices
        ``"per event"`` for one choice for each event (:mod:`hcssp.methods.choices_per_event`), or
        ``"per state"``. By default per event in the mode published, as in the paper, and in the mode sharp
        what the problem says, see :meth:`hcssp.HCSSP.choosing`.
    parameters
        What steers the algorithms.

    Raises
    ------
    UnknownName
        If there is no such mode, or no such way to choose.
    InvalidOption
        If a likelihood is not a positive number.
    """

    iterations: float = 0
    mode: ModeName = "sharp"
    epsilon: float = 0.0
    likelihoods: Mapping[str, float] | None = None
    choices: Choices | None = None
    parameters: BudgetParameters = field(default_factory=BudgetParameters)
    name = "budget-allocation"

    def __post_init__(self) -> None:
        find_mode(self.mode)
        if self.choices is not None and self.choices not in get_args(Choices):
            raise UnknownName("way to choose", self.choices, get_args(Choices))
        if self.likelihoods is not None and not isinstance(self.likelihoods, Mapping):
            raise InvalidOption(f"likelihoods={self.likelihoods!r}: give a number for each activity's name")
        for activity, likelihood in (self.likelihoods or {}).items():
            if not 0.0 < likelihood < inf:
                raise InvalidOption(
                    f"the likelihood of the activity {activity!r} is {likelihood!r}; give a positive number"
                )

    def iterate(self, problem: Problem, context: Context | None = None) -> Iterator[Progress]:
        """Yield progress after every box that was split; in the mode sharp the dual of the whole comes first.

        Raises
        ------
        UnsupportedProblem
            If the problem is no procedure.
        UnknownName
            If a likelihood is given for an activity that the problem does not have.
        """
        began = time.perf_counter()
        if not isinstance(problem, HCSSP):
            raise UnsupportedProblem(
                "budget allocation shares budgets among activities, and this problem has none; "
                "use the method 'exact'"
            )
        names = [activity.name for activity in problem.activities]
        for activity in self.likelihoods or {}:
            if activity not in names:
                raise UnknownName("activity", activity, names)
        if self.choosing(problem).limits_choices:

            def search(part: HCSSP, known_cost: float) -> Iterator[Progress]:
                left = {activity.name for activity in part.activities}
                likelihoods = {name: each for name, each in (self.likelihoods or {}).items() if name in left}
                return replace(self, choices="per state", likelihoods=likelihoods).iterate(part)

            yield from one_choice_per_event(problem, search)
            return
        mode, given = find_mode(self.mode), context or Context()
        # Activities that exits tie together have one budget.
        grouping = None if problem.flattening.separable else grouped(problem)
        together = problem if grouping is None else grouping.problem
        # An activity that cannot end must not be planned; perhaps it need not be run.
        pruned = without_dead_ends(together)
        kept = range(together.num_activities) if pruned is None else pruned.activities
        owners = None if grouping is None else [grouping.owners[activity] for activity in kept]
        instance = Instance(
            together if pruned is None else pruned.problem, mode.branches, owners, self.parameters
        )
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
        box, outside = mode.initial_box(instance, self.likelihoods), inf
        if self.likelihoods:
            whole = mode.initial_box(instance)
            if np.any(box.upper < whole.upper):
                outside = max(lower_bound, compute_lb(instance, whole, 0).value)
        boxes = branch_and_bound(instance, box, self.iterations, self.epsilon, mode, lower_bound, outside)
        for partitions in boxes:
            yield reporter.snapshot(partitions)
        yield reporter.snapshot(partitions, _reason(partitions, self.epsilon))

    def choosing(self, problem: HCSSP) -> HCSSP:
        """The problem for the plans that this method looks for."""
        choices = self.choices or ("per event" if self.mode == "published" else None)
        return problem if choices is None else problem.choosing(choices)


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
        self._reported: Incumbent | None = None
        self._policy: ProcedurePolicy | None = None
        self._budgets: Mapping[str, Mapping[str, float]] | None = None
        self._incumbents: tuple[AllocationIncumbent, ...] = ()
        activities = instance.problem.activities
        self._axes = tuple((activities[k].name, activities[k].cssp.cost_names[i]) for k, i in instance.edges)

    def snapshot(self, partitions: Partitions, ending: Reason | None = None) -> Progress:
        incumbent = partitions.incumbent
        if incumbent is not None and incumbent is not self._reported:
            # A policy of many states is written out once, not with every box.
            self._reported = incumbent
            self._policy = self._lift(self._instance.oracle.lift(incumbent.solution))
            self._budgets = _budgets(self._instance, incumbent)
            usage, cost = self._instance.usage_of(incumbent.solution), partitions.upper_bound
            found = AllocationIncumbent(len(partitions.boxes), usage, cost, partitions.cutoff)
            self._incumbents = (*self._incumbents, found)
        boxes = partitions.boxes
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
            allocation=AllocationSpace(self._axes, boxes, len(boxes), self._incumbents),
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
    """The limits that its box allocates to the activities that the incumbent runs, by constraint."""
    budgets: dict[str, dict[str, float]] = {}
    if incumbent.limits is None:
        return budgets
    for index in np.flatnonzero(incumbent.solution.executions > 0.0).tolist():
        limits = incumbent.limits[instance.edges_of(index)]
        share = instance.by_constraint(index, limits)
        budgets[instance.problem.activities[index].name] = {
            instance.problem.constraints[j].name: float(share[j]) for j, _ in instance.counts[index]
        }
    return budgets
