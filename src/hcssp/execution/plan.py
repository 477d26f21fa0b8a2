"""A plan: a policy of a procedure, the problem it is for, and what was proven when it was found.

Files of plans are read and written by :mod:`hcssp.files.plan_file`; :meth:`Plan.start` follows one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

from hcssp.contract.result import Result, Status, TracePoint
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.errors import NoSolution
from hcssp.evaluation.exact import expected_remaining
from hcssp.evaluation.hierarchical import HierarchicalEvaluation, evaluate_hierarchical
from hcssp.numerics import OPTIMALITY_TOLERANCE, relative_gap
from hcssp.procedure import HCSSP, Flattening, HierarchicalPolicy, policy_chain

if TYPE_CHECKING:
    from hcssp.execution.executor import Run


@dataclass(frozen=True, eq=False)
class Plan:
    """A policy and where it comes from.

    Attributes
    ----------
    problem
        The problem, under the bounds that the plan was made for.
    policy
        What to do.
    name, method
        What the problem and the method are called.
    lower_bound, upper_bound
        The interval around the optimum that was proven under those bounds; the upper bound is this
        policy's cost. Whoever needs to be sure asks :meth:`evaluate`.
    trace
        The interval over time.
    stopped_by, seconds
        Why the search stopped, empty while it goes on, and how long it took.
    budgets
        From an activity's name and a constraint's to what an execution was allotted, by methods that do.
    evaluation
        The exact costs, if they were computed when the plan was found.
    """

    problem: HCSSP
    policy: HierarchicalPolicy
    name: str = ""
    method: str = ""
    lower_bound: float = -inf
    upper_bound: float = inf
    trace: tuple[TracePoint, ...] = field(default=(), repr=False)
    stopped_by: str = ""
    seconds: float = 0.0
    budgets: Mapping[str, Mapping[str, float]] = field(default_factory=dict, repr=False)
    evaluation: HierarchicalEvaluation | None = field(default=None, repr=False)

    @classmethod
    def from_result(cls, problem: HCSSP, result: Result, name: str = "", method: str = "") -> Plan:
        """The plan that a solver found.

        Raises
        ------
        NoSolution
            If it found none, or the result is not that of a procedure.
        """
        policy = result.policy
        if not isinstance(policy, HierarchicalPolicy):
            raise NoSolution(
                f"the result's policy is a {type(policy).__name__}, not that of a procedure; "
                "wrap the problem as the only activity of one to make a plan of it"
            )
        return cls(
            problem,
            policy,
            name,
            method,
            result.lower_bound,
            result.upper_bound,
            result.trace,
            result.stopped_by,
            result.seconds,
            result.details if isinstance(result.details, Mapping) else {},
            result.evaluation,
        )

    @property
    def bounds(self) -> dict[str, float]:
        """The bound of each constraint, by name."""
        return {constraint.name: constraint.at_most for constraint in self.problem.constraints}

    @property
    def gap(self) -> float:
        """The proven relative gap, ``inf`` while there is none."""
        return relative_gap(self.lower_bound, self.upper_bound)

    @property
    def status(self) -> Status:
        """What was proven about the plan."""
        return Status.OPTIMAL if self.gap <= OPTIMALITY_TOLERANCE else Status.FEASIBLE

    def under(self, problem: HCSSP) -> Plan:
        """The same policy for the same problem under other bounds, for which nothing is proven yet."""
        if [c.at_most for c in problem.constraints] == [c.at_most for c in self.problem.constraints]:
            return replace(self, problem=problem)
        return replace(
            self, problem=problem, lower_bound=-inf, trace=(), budgets={}, stopped_by="", evaluation=None
        )

    def evaluate(self) -> HierarchicalEvaluation:
        """The exact costs, computed now, whatever was recorded."""
        return evaluate_hierarchical(self.flattening, self.policy)

    def start(self) -> Run:
        """Begin to follow the plan."""
        from hcssp.execution.executor import Run

        return Run(self)

    @cached_property
    def flattening(self) -> Flattening:
        """The layout of the flat problem."""
        return Flattening(self.problem)

    @cached_property
    def flat_rows(self) -> IntArray:
        """The policy as one flat row for each flat state.

        Raises
        ------
        InvalidProblem
            If it does not fit the problem.
        """
        return self.policy.to_flat(self.flattening)

    @cached_property
    def chain(self) -> CSSP:
        """The Markov chain of the policy, on the flat states."""
        return policy_chain(self.flattening, self.flat_rows)[0]

    @cached_property
    def remaining(self) -> FloatArray:
        """What is to come from each flat state, in expectation; one row a cost."""
        return expected_remaining(*policy_chain(self.flattening, self.flat_rows))
