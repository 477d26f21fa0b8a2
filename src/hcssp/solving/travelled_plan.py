"""A plan on its way from a worker: without its problem, which whoever asked for it has, and is large."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import inf
from typing import Any

from hcssp.contract.memory import Problem
from hcssp.contract.plan import Plan
from hcssp.cssp.model import IntArray
from hcssp.procedure.policy import policy_of

_LEFT_BEHIND = ("problem", "found_policy", "evaluation", "memory", "record")


@dataclass(frozen=True)
class TravelledPlan:
    """What a worker tells of a plan.

    Attributes
    ----------
    rows
        Its policy, one row for each (flat) state; None if it has none.
    parts
        The other attributes.
    """

    rows: IntArray | None
    parts: dict[str, Any]

    @classmethod
    def of(cls, plan: Plan) -> TravelledPlan:
        """A plan, ready to be sent."""
        parts = {each.name: getattr(plan, each.name) for each in fields(plan)}
        rows = None if plan.found_policy is None else plan.found_policy.rows
        return cls(rows, {name: value for name, value in parts.items() if name not in _LEFT_BEHIND})

    @property
    def upper_bound(self) -> float:
        """What the policy costs, as the worker says; ``inf`` if there is none."""
        return inf if self.rows is None else float(self.parts["proof"].upper_bound)

    def arrived(self, problem: Problem) -> Plan:
        """The plan for `problem`, which must be the one it was made for; its policy is evaluated anew.

        Raises
        ------
        InvalidPlan
            If the policy costs less than any should.
        """
        policy = None if self.rows is None else policy_of(problem, self.rows)
        plan = Plan(problem=problem, found_policy=policy, **self.parts)
        return plan if policy is None else plan.evaluated()
