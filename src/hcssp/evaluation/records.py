"""What a policy costs, in expectation: of the whole, of each activity, and of each execution of a use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite

from hcssp.cssp.model import FloatArray
from hcssp.errors import InvalidProblem
from hcssp.numerics import FEASIBILITY_TOLERANCE, broken


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a policy costs, exactly.

    Attributes
    ----------
    costs
        The expected sum of each cost, the primary first.
    cost_names
        Their names.
    bounds
        The bound of each secondary cost; ``inf`` where there is none.
    visits
        The expected number of visits to each state; for a goal, the probability of ending there.
    residual
        How far off the costs may be, relatively: a bound from what is missing in the balance of visits and
        the rounding of its computation, or an estimate where a policy takes very long.
    """

    costs: FloatArray
    cost_names: tuple[str, ...]
    bounds: FloatArray
    visits: FloatArray
    residual: float

    def cost(self, name: str) -> float:
        """The expected sum of the cost called `name`."""
        if name not in self.cost_names:
            known = ", ".join(repr(known) for known in self.cost_names)
            raise InvalidProblem([f"there is no cost {name!r}; the costs are {known}"])
        return float(self.costs[self.cost_names.index(name)])

    def violations(self, tolerance: float = FEASIBILITY_TOLERANCE) -> dict[str, float]:
        """By how much each broken bound is exceeded; empty if all are kept.

        Parameters
        ----------
        tolerance
            A bound is kept if it is exceeded by no more than this share of it.
        """
        costs = self.costs[1:]
        return {
            self.cost_names[1 + index]: float(costs[index] - self.bounds[index])
            for index in broken(costs, self.bounds, tolerance, self.residual).tolist()
        }

    def keeps_bounds(self, tolerance: float = FEASIBILITY_TOLERANCE) -> bool:
        """Whether every bound is kept, up to `tolerance` as in :meth:`violations`."""
        return not self.violations(tolerance)


@dataclass(frozen=True)
class ActivityEvaluation:
    """What one activity contributes to the expected costs of the whole.

    Attributes
    ----------
    name
        The activity's name.
    expected_executions
        How often it is executed, in expectation.
    cost
        Its share of the expected primary cost, all executions together.
    usage
        Its share of each constraint that counts it, by the constraint's name.
    """

    name: str
    expected_executions: float
    cost: float
    usage: Mapping[str, float]

    @property
    def cost_per_execution(self) -> float | None:
        """The expected primary cost of one execution; None if it is never executed."""
        return self.cost / self.expected_executions if self.expected_executions else None

    @property
    def usage_per_execution(self) -> dict[str, float] | None:
        """What one execution uses of each constraint, in expectation; None if it is never executed."""
        if not self.expected_executions:
            return None
        return {name: used / self.expected_executions for name, used in self.usage.items()}


@dataclass(frozen=True)
class LimitEvaluation:
    """What an execution of a use costs that has a limit.

    Attributes
    ----------
    name
        The constraint's name, such as ``floor-1/damage``.
    use
        The use's name.
    limit
        What an execution may cost in expectation.
    expected_executions
        How often the use is run, in expectation.
    usage
        What all executions cost together.
    carried
        What is allowed of an execution that is under way at the start, in the rest of a procedure.
    """

    name: str
    use: str
    limit: float
    expected_executions: float
    usage: float
    carried: float = 0.0

    @property
    def allowed(self) -> float:
        """What all executions may cost together; ``inf`` without a limit."""
        return self.limit * self.expected_executions + self.carried if isfinite(self.limit) else inf

    @property
    def usage_per_execution(self) -> float | None:
        """What one execution costs, in expectation; None if it is never executed."""
        return self.usage / self.expected_executions if self.expected_executions else None


@dataclass(frozen=True, eq=False)
class ProcedureEvaluation(Evaluation):
    """What a procedure's policy costs: as for a single problem's, and activity by activity.

    The costs are the primary and one for each constraint, called by its name; `visits` are those of the
    flat states, the event states first.

    Attributes
    ----------
    activities
        One for each activity of the problem, in its order.
    limits
        One for each constraint that belongs to a use. Among the costs, such a constraint has what the use
        costs and what of the limit is forgone where it is not run; see :mod:`hcssp.procedure.limits`.
    """

    activities: tuple[ActivityEvaluation, ...]
    limits: tuple[LimitEvaluation, ...] = ()

    def violations(self, tolerance: float = FEASIBILITY_TOLERANCE) -> dict[str, float]:
        """As of :class:`Evaluation`; a limit is compared with what the executions that are made may cost."""
        found = super().violations(tolerance)
        for each in self.limits:
            found.pop(each.name, None)
            if not each.usage - each.allowed <= tolerance * each.allowed:
                found[each.name] = each.usage - each.allowed
        return found

    def activity(self, name: str) -> ActivityEvaluation:
        """What the activity called `name` contributes."""
        for activity in self.activities:
            if activity.name == name:
                return activity
        known = ", ".join(repr(activity.name) for activity in self.activities)
        raise InvalidProblem([f"there is no activity {name!r}; the activities are {known}"])
