"""Plans, the results of all solvers, which files, reports, execution and curves use.

A plan contains the problem, the policy with its exact evaluation, the proof, the reason for stopping, prices,
budgets and the trace. It has the same form for a single C-SSP and for a procedure, and separates *what is
proven* from *why the search ended*. A search without a policy also returns a plan, which has the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from hcssp.contract.progress import AllocationSpace, Budgets, Policies, Policy, Progress, Stop
from hcssp.contract.proof import (
    Ending,
    FileClaim,
    Infeasible,
    Interval,
    Proof,
    Reason,
    Status,
    Trace,
    refuse_contradiction,
)
from hcssp.contract.solver import Memory, Problem, SearchOptions, Solver
from hcssp.cssp.model import RewardInterval
from hcssp.display import Card
from hcssp.dual.ascent import StochasticOptimum
from hcssp.errors import DeadEnd, InvalidProblem, NoSolution
from hcssp.evaluation.exact import Evaluation, ProcedureEvaluation, evaluate
from hcssp.evaluation.simulation import MAX_STEPS, Simulation, simulate
from hcssp.numerics import DEFAULT_TOLERANCES, Tolerances, may_be_feasible
from hcssp.procedure.model import HCSSP
from hcssp.procedure.policy import ProcedurePolicy
from hcssp.proofs.search_record import SearchRecord

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from hcssp.checker.format import Certificate
    from hcssp.cssp.implicit import ImplicitCSSP
    from hcssp.execution import Decision, Run
    from hcssp.procedure.rest import Place
    from hcssp.solving.trade_off import TradeOff
    from hcssp.solving.why import Reasons


@dataclass(frozen=True, eq=False)
class Plan(Card):
    """The result of a search: its policy, its proof, and reusable results.

    Two plans are equal if their problems, policies and proofs are equal.

    Attributes
    ----------
    problem
        The problem, with its bounds.
    found_policy
        The policy, or None if none was found; :attr:`policy` raises an error then.
    evaluation
        The policy's exact costs from code that the solver does not use; None without a policy, or if they
        were not computed when the plan was made.
    proof
        The proof, from which :attr:`status`, :attr:`lower_bound` and :attr:`upper_bound` follow.
    claim
        For a plan from a file: the interval that the file claims under these bounds. Nothing follows from
        it.
    made_for
        The bounds in the plan's file, for a plan from a file; None for others. They are not used:
        :attr:`bounds` are those of the problem.
    ending
        Why the search ended.
    kept
        Whether no better plan was found than the one that the search began with, such as the old plan of
        :meth:`replan`.
    prices
        For each constraint by name, the saving per unit of its bound; 0 if it is not binding. A bound of 0
        has no price. None if unknown.
    budgets
        The budget of one execution of each activity under each constraint, if the method allocates budgets.
    allocation
        The boxes of the allocation space, by budget allocation; ``plan.allocation.plot()`` draws them.
    trace
        The proven interval over time.
    stochastic
        The optimum over randomised policies as a mixture of deterministic ones, where the solver has it.
    policies
        The policies among which the plan is the best: deterministic ones only, or all. Bounds on all policies
        are valid for deterministic ones, but not conversely.
    method, seconds, iterations
        The method, its time and its iterations.
    tolerances
        The tolerances of bounds and of optimality.
    memory
        The reusable results of the search, for :meth:`resolve`. They are not saved or pickled.
    record
        The regions that the search has split, for a :attr:`certificate`. It is not saved or pickled.
    """

    problem: Problem
    found_policy: Policy | None = field(default=None, repr=False)
    evaluation: Evaluation | None = field(default=None, repr=False)
    proof: Proof = field(default_factory=Interval)
    claim: FileClaim | None = None
    made_for: Mapping[str, float] | None = None
    ending: Ending = field(default_factory=lambda: Ending(Reason.UNKNOWN))
    kept: bool = False
    prices: Mapping[str, float] | None = None
    budgets: Budgets = field(default_factory=dict, repr=False)
    allocation: AllocationSpace | None = field(default=None, repr=False, compare=False)
    trace: Trace = field(default_factory=Trace, repr=False)
    stochastic: StochasticOptimum | None = field(default=None, repr=False)
    policies: Policies = "deterministic"
    method: str = ""
    seconds: float = 0.0
    iterations: int = 0
    tolerances: Tolerances = DEFAULT_TOLERANCES
    memory: Memory = field(default_factory=Memory, repr=False)
    record: SearchRecord = field(default_factory=SearchRecord, repr=False)

    def __post_init__(self) -> None:
        if self.found_policy is not None and self.found_policy.is_randomised:
            object.__setattr__(self, "policies", "randomised")

    @classmethod
    def of_dead_end(cls, problem: Problem, error: DeadEnd, method: str = "") -> Plan:
        """No plan, since no policy ends, which was proven before the search."""
        return cls(
            problem,
            proof=Infeasible(ends=False, trap=str(error)),
            ending=Ending(Reason.PROVED),
            method=method,
        )

    @property
    def name(self) -> str:
        """The name of the problem."""
        return self.problem.name

    @property
    def status(self) -> Status:
        """The status: what is proven, in one word."""
        if isinstance(self.proof, Interval) and self.problem.reward is not None and self.upper_bound < inf:
            return Status.OPTIMAL if self.gap <= self.proof.optimality else Status.FEASIBLE
        return self.proof.status

    @property
    def lower_bound(self) -> float:
        """A lower bound on the cost of all policies in :attr:`policies` that keep the bounds."""
        return self.proof.lower_bound

    @property
    def upper_bound(self) -> float:
        """The policy's exact cost; ``inf`` without one."""
        return self.proof.upper_bound

    @property
    def reward(self) -> RewardInterval | None:
        """The reward and its proven bound, for a problem that maximises a reward; None for others."""
        reward = self.problem.reward
        if reward is None:
            return None
        value = reward.value({name: self.cost(name) for name in reward.weights}) if self.found else -inf
        return reward.proven(value, self.lower_bound)

    @property
    def gap(self) -> float:
        """The proven relative gap, of the reward if there is one; ``inf`` while either bound is unknown."""
        reward = self.reward
        return self.proof.gap if reward is None or self.upper_bound == inf else reward.gap

    @property
    def randomised_cost(self) -> float | None:
        """The cost of the best randomised policy, if one was found that keeps the bounds.

        No randomised policy costs less than ``stochastic.value``, which need not be reached.
        """
        found = self.stochastic
        if found is None or not len(found.weights):
            return None
        mixture = found.weights @ found.costs
        if not may_be_feasible(mixture, self.problem.bounds, self.tolerances.feasibility):
            return None
        return float(mixture[0])

    @property
    def found(self) -> bool:
        """Whether there is a policy."""
        return self.found_policy is not None

    @property
    def policy(self) -> Policy:
        """The policy.

        Raises
        ------
        NoSolution
            If there is no policy; the message has the reason.
        """
        if self.found_policy is None:
            raise NoSolution(self.message)
        return self.found_policy

    @property
    def message(self) -> str:
        """Why there is no policy, for people; empty if there is one."""
        if isinstance(self.proof, Infeasible):
            names = self.problem.constraint_names
            chances = {name: of for name in names if (of := self.problem.probability_of(name))}
            bounds = self.problem.bounds.tolist()
            return self.proof.explain(names, bounds, chances)
        if self.found:
            return ""
        return f"no feasible policy was found before the stop ({self.ending}); one may still exist"

    @property
    def bounds(self) -> dict[str, float]:
        """The bound of each constraint, by name."""
        return dict(zip(self.problem.constraint_names, self.problem.bounds.tolist(), strict=True))

    @cached_property
    def certificate(self) -> Certificate:
        """A certificate of the proven bounds, for :func:`hcssp.checker.check`.

        It is made on first use, and proves the bounds of the search as far as a certificate can. Methods
        other than the exact one, and plans from files, have a proof of the dual's bound. If a search of boxes
        of budgets was complete and proved more, the exact method searches again to prove that, see
        :mod:`hcssp.solving.proving`.
        """
        from hcssp.solving.proving import plan_certificate

        return plan_certificate(self)

    @cached_property
    def stochastic_certificate(self) -> Certificate:
        """A proof of the dual's bound, which is valid for randomised policies, too: it has one leaf."""
        from hcssp.solving.proving import stochastic_certificate

        return stochastic_certificate(self)

    def cost(self, name: str) -> float:
        """The exact expected sum of the cost called `name`."""
        return (self.evaluation or self.evaluate()).cost(name)

    def action(self, *where: Hashable) -> Hashable:
        """The action in a state: ``action(state)``, in a procedure ``action(activity, state)``.

        None if the plan never reaches the state.

        Raises
        ------
        HcsspError
            If there is no such activity or state, or no policy.
        """
        policy = self.policy
        if isinstance(policy, ProcedurePolicy):
            if len(where) != 2 or not isinstance(where[0], str):
                raise InvalidProblem([f"action{where}: name the activity, then its state"])
            return policy.action(where[0], where[1])
        if len(where) != 1:
            raise InvalidProblem([f"action{where}: the problem has no activities; name the state alone"])
        return policy.action(where[0])

    def choice(self, event: str, entry: Hashable | None = None) -> str | None:
        """The choice at an event; None if the plan never reaches it.

        Parameters
        ----------
        event
            The event's name.
        entry
            The label of the state in which the event is entered, if there are several.
        """
        policy = self.policy
        if not isinstance(policy, ProcedurePolicy):
            raise InvalidProblem([f"choice({event!r}): the problem has no events; ask for an action"])
        return policy.choice(event, entry)

    def evaluate(self) -> Evaluation:
        """The exact costs, computed again."""
        return evaluate(self.problem, self.policy)

    def simulate(self, runs: int = 10_000, seed: int = 0, max_steps: int = MAX_STEPS) -> Simulation:
        """Simulate the plan; see :func:`hcssp.evaluation.simulation.simulate`."""
        return simulate(self.problem, self.policy, runs, seed, max_steps)

    def under(self, problem: Problem) -> Plan:
        """The same policy for the same problem under other bounds, without a proof.

        :meth:`evaluated` checks whether it keeps them, and gives the upper bound.
        """
        if problem.bounds.tolist() == self.problem.bounds.tolist():
            return replace(self, problem=problem)
        return Plan(
            problem,
            None if self.found_policy is None else self.found_policy.under(problem),
            made_for=self.made_for,
            method=self.method,
            policies=self.policies,
            tolerances=self.tolerances,
            memory=self.memory,
        )

    def keeps_bounds(self) -> bool:
        """Whether the policy keeps its bounds, up to the plan's tolerance."""
        return (self.evaluation or self.evaluate()).keeps_bounds(self.tolerances.feasibility)

    def evaluated(self) -> Plan:
        """The plan with its exact costs computed again.

        The upper bound is the cost of the policy. If the policy breaks its bounds, it proves nothing.

        Raises
        ------
        InvalidPlan
            If the policy costs less than any should.
        """
        plan = replace(self, evaluation=self.evaluate())
        cost, optimality = plan.cost(self.problem.primary_name), self.tolerances.optimality
        if not plan.keeps_bounds():
            return replace(plan, proof=Interval())
        refuse_contradiction(self.lower_bound, cost)
        return replace(plan, proof=Interval(min(self.lower_bound, cost), cost, optimality))

    def verified(self, certificate: str | Path, *, exact: bool = False) -> Plan:
        """The plan with the interval of the certificate in a file, which the checker verifies.

        See :func:`hcssp.files.certificate.verified_plan`.
        """
        from hcssp.files.certificate import verified_plan

        return verified_plan(self, certificate, exact=exact)

    def as_procedure(self) -> ProcedurePlan:
        """The same plan for a procedure; a single problem becomes a procedure that runs it once."""
        if isinstance(self, ProcedurePlan):
            return self
        parts = {each.name: self.__dict__[each.name] for each in fields(self)}
        procedure = self.problem.procedure
        if procedure is not self.problem:
            parts |= {"problem": procedure, "evaluation": None, "memory": Memory(), "record": SearchRecord()}
        if self.found_policy is not None:
            parts["found_policy"] = self.found_policy.procedure
        return ProcedurePlan(**parts)

    def resolve(
        self,
        bounds: Mapping[str, float] | None = None,
        *,
        method: Solver | str | None = None,
        stop: Stop | None = None,
        time_limit: float | None = None,
        gap: float | None = None,
        on_progress: Callable[[Progress], object] | None = None,
        tolerances: Tolerances | None = None,
        policies: Policies | None = None,
        **named: float,
    ) -> Plan:
        """Solve the same problem under other bounds, with the results of this search.

        >>> from hcssp import solve
        >>> from hcssp.scenarios import small_building
        >>> plan = solve(small_building(bound=2.0))
        >>> stricter = plan.resolve(damage=1.0)
        >>> round(plan.upper_bound, 4), round(stricter.upper_bound, 4)
        (27.7191, 46.6619)

        Parameters
        ----------
        bounds
            The bounds that change, by name; simple names may be keywords, as in ``plan.resolve(damage=3)``.
        method, stop, time_limit, gap, on_progress, tolerances
            As for :func:`hcssp.solve`; by default the tolerances of this plan.
        policies
            The policies among which to find the best; by default as for this plan.
        named
            More bounds, by keyword.
        """
        from hcssp.solving.solve import solve

        return solve(
            self.problem.with_bounds(bounds, **named),
            method,
            stop,
            on_progress,
            time_limit=time_limit,
            gap=gap,
            start=self if self.found else None,
            memory=self.memory,
            tolerances=tolerances or self.tolerances,
            policies=policies or (self.policies if method is None else None),
        )

    def replan(
        self,
        at: Decision | Hashable | None = None,
        spent: Mapping[str, float] | None = None,
        problem: Problem | ImplicitCSSP | None = None,
        *,
        charged: Mapping[str, float] | None = None,
        reckoned_at: Hashable | None = None,
        **options: Unpack[SearchOptions],
    ) -> Plan:
        """A new plan for the rest of an execution, from the current place, with the rest of the budgets.

        Parameters
        ----------
        at
            The current place: an event, ``(activity, state)``, a state of a single problem, or the last
            decision of a run. None for the start.
        spent
            The amount spent under each constraint since the plan began; None for the expectation of the
            plan.
        problem
            The changed problem; None if only the budgets have changed.
        charged, reckoned_at
            As for :func:`hcssp.solving.replan.replan`.
        options
            ``method``, ``stop``, ``time_limit``, ``gap``, ``on_progress`` and ``tolerances``, as for
            :func:`hcssp.solve`; by default the tolerances of this plan.
        """
        from hcssp.solving.replan import replan

        return replan(self, at, spent, problem, charged=charged, reckoned_at=reckoned_at, **options)

    def why(
        self,
        at: Place,
        *,
        stop: Stop | None = None,
        time_limit: float | None = None,
        gap: float | None = None,
        best: bool = True,
    ) -> Reasons:
        """The costs of the alternatives at an event or in a state; see :func:`hcssp.solving.why.why`.

        Parameters
        ----------
        at
            An event by name; ``(activity, state)``, by name and label; a text such as ``"cross-NE 3,4"``.
        stop, time_limit, gap
            When to stop the search for the best plan with each alternative, as for :func:`hcssp.solve`.
        best
            Whether to search for those plans.
        """
        from hcssp.solving.why import why

        return why(self, at, stop=stop, time_limit=time_limit, gap=gap, best=best)

    def start(self, *, seed: int | None = None, **options: Unpack[SearchOptions]) -> Run:
        """Start a run of the plan; see :mod:`hcssp.execution`.

        Parameters
        ----------
        seed
            Identifies the random choices of a randomised plan; None for different ones in every run.
        options
            As for :meth:`replan`: for planning the rest again if measured amounts lead to states without an
            action of the plan. By default this stops at a gap of 1e-3, since a robot waits.
        """
        from hcssp.execution import Run

        return Run(self.policy, self, options, seed)

    def save(self, path: str | Path) -> None:
        """Write the plan to a file; see :mod:`hcssp.files.plan_file`."""
        from hcssp.files.plan_file import save_plan

        save_plan(path, self)

    def save_certificate(self, path: str | Path) -> None:
        """Write the :attr:`certificate` to a file that ``hcssp check`` verifies."""
        from hcssp.files.certificate import save_certificate

        save_certificate(path, self.certificate)

    def report(
        self,
        path: str | Path,
        *,
        vary: str | None = None,
        points: int = 11,
        time_limit: float = 20.0,
        seed: int = 0,
        curve: TradeOff | None = None,
    ) -> None:
        """Write one page of HTML about the plan; see :func:`hcssp.reports.page.save_report`.

        Parameters
        ----------
        path
            The file of the page.
        vary
            The constraint of the slider that is shown first; by default the one with the highest price.
        points
            The approximate number of positions of the slider; 0 for no slider.
        time_limit
            Seconds to work on the plans of the slider.
        seed
            Identifies the simulated runs.
        curve
            The trade-off curve, if it is known already.
        """
        from hcssp.reports.page import save_report

        save_report(self, path, vary=vary, points=points, time_limit=time_limit, seed=seed, curve=curve)

    def plot(
        self,
        path: str | Path | None = None,
        *,
        ax: Axes | None = None,
        of: Literal["rooms", "procedure", "history"] | None = None,
    ) -> Axes:
        """Draw the plan: its rooms with arrows, its procedure with its choices, or its history.

        The history is how the proven interval narrowed over time. On axes that are given, rooms are drawn
        without the panels of the single activities.

        Parameters
        ----------
        path
            Where to write the picture; its suffix (.png, .svg, .pdf) says how. Without a path and without
            axes it is drawn in a figure of pyplot, which a notebook shows.
        ax
            The axes to draw on.
        of
            Draw this; by default the rooms, or the procedure where there are no rooms.

        Returns
        -------
        matplotlib.axes.Axes
            The axes; of several panels, the first.

        Raises
        ------
        MissingDependency
            If matplotlib is not installed.
        """
        from hcssp.reports.plots import plot_plan

        axes: Axes = plot_plan(self, path, ax, of)
        return axes

    def to_frame(self) -> DataFrame:
        """The action in each state as a table; see :func:`hcssp.reports.plan_text.policy_frame`."""
        from hcssp.reports.plan_text import policy_frame

        return policy_frame(self)

    def activities_frame(self) -> DataFrame:
        """The activities as a ``pandas.DataFrame``; see :func:`hcssp.reports.plan_text.activities_frame`."""
        from hcssp.reports.plan_text import activities_frame

        return activities_frame(self)

    def __str__(self) -> str:
        from hcssp.reports.plan_text import plan_in_words

        return plan_in_words(self)

    def __repr__(self) -> str:
        name, reward = self.name or type(self.problem).__name__, self.reward
        known = f", cost in [{self.lower_bound:.10g}, {self.upper_bound:.10g}]"
        if isinstance(self.proof, Infeasible):
            known = ""
        elif reward is not None:
            known = f", {reward.name} in [{reward.value:.10g}, {reward.at_most:.10g}]"
        by = f", by {self.method}" if self.method else ""
        return f"<Plan for {name}: {self.status.value}{known}{by}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Plan):
            return NotImplemented
        mine = (self.status, self.lower_bound, self.upper_bound, self.found_policy, self.problem)
        theirs = (other.status, other.lower_bound, other.upper_bound, other.found_policy, other.problem)
        return mine == theirs

    def __hash__(self) -> int:
        return hash((self.status, self.lower_bound, self.upper_bound))

    def __getstate__(self) -> dict[str, Any]:
        kept = {each.name for each in fields(self)} - {"memory", "record"}
        return {name: self.__dict__[name] for name in sorted(kept)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, memory=Memory(), record=SearchRecord())


class ProcedurePlan(Plan):
    """A plan that is known to be one of a procedure: files, pictures and pages are made of these."""

    problem: HCSSP

    @property
    def policy(self) -> ProcedurePolicy:
        policy = super().policy
        if not isinstance(policy, ProcedurePolicy):
            raise InvalidProblem([f"a {type(policy).__name__} is not a policy of a procedure"])
        return policy

    @cached_property
    def costs(self) -> ProcedureEvaluation:
        """The policy's exact costs, in all and by activity; those of the search if it computed them."""
        known = self.evaluation
        return known if isinstance(known, ProcedureEvaluation) else evaluate(self.problem, self.policy)
