"""A proof of what a method told that has none of its own: the exact method searches once more.

A certificate is made of regions of policies. Budget allocation splits boxes of budgets, and HiGHS keeps its
tree to itself. But what they told is true of the problem, and not of the method: a search by regions proves
it, mostly in less time than they took.
"""

from __future__ import annotations

from dataclasses import replace

from hcssp.contract.memory import Memory
from hcssp.contract.plan import Plan
from hcssp.contract.proof import Interval
from hcssp.contract.stop import Gap, MaxRuntime, StopCriterion
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.proofs.search_record import SearchRecord
from hcssp.solving.solve import solve

LEAST_SECONDS = 10.0
"""The search may take as long as the method took, or so long if that was less."""


def proving_record(plan: Plan) -> SearchRecord:
    """The regions of a search that ends once it has proven as much as `plan` tells, or has taken too long.

    It begins with the plan's policy and with nothing that was told: all is proven anew.
    """
    start, criteria = None, list[StopCriterion]([MaxRuntime(max(plan.seconds, LEAST_SECONDS))])
    if plan.found:
        start = replace(plan, proof=Interval(), claim=None, memory=Memory(), record=SearchRecord())
        criteria.append(Gap(plan.gap))
    record = SearchRecord()
    method = PolicyBranching()
    solve(plan.problem, method, criteria, start=start, tolerances=plan.tolerances, record=record)
    return record
