"""The certificate of a plan: from the record of its search, or from a second search where that is not enough.

A certificate is made of regions of policies. Budget allocation splits boxes of budgets, and the exact method
may exchange the plans of identical parts, which a certificate cannot express. A second search over regions,
without such exchanges, proves the same result, mostly in less time.
"""

from __future__ import annotations

from dataclasses import replace

from hcssp.checker.format import Certificate
from hcssp.contract.plan import Plan
from hcssp.contract.progress import Gap, MaxRuntime, StopCriterion
from hcssp.contract.proof import Interval, Reason
from hcssp.contract.solver import Memory
from hcssp.cssp.expansion import ExpandedCSSP
from hcssp.methods.policy_branching import PolicyBranching, SearchParameters
from hcssp.proofs.assembly import certificate_of, claimed_interval
from hcssp.proofs.search_record import SearchRecord
from hcssp.solving.solve import solve

LEAST_SECONDS = 10.0
"""The search may take as long as the method took, or so long if that was less."""

WORTH_PROVING = 1e-9
"""A reported bound is proven by another search only if it exceeds the dual's bound by a larger share."""

_WITHOUT_REGIONS = ("budget-allocation", "anytime")
_ENDS = (Reason.PROVED, Reason.INFEASIBLE, Reason.GAP, Reason.TARGET, Reason.CONVERGED, Reason.EXHAUSTED)


def plan_certificate(plan: Plan) -> Certificate:
    """See :attr:`hcssp.contract.plan.Plan.certificate`."""
    if plan.policies == "randomised":
        return stochastic_certificate(plan)
    made = _certificate(plan, plan.record, relaxed=False)
    known = claimed_interval(made)[0]
    if not _proven_otherwise(plan) or plan.lower_bound <= known + WORTH_PROVING * abs(known):
        return made
    again = _certificate(plan, _proving_record(plan), relaxed=False)
    return max(made, again, key=lambda each: claimed_interval(each)[0])


def stochastic_certificate(plan: Plan) -> Certificate:
    """See :attr:`hcssp.contract.plan.Plan.stochastic_certificate`."""
    return _certificate(plan, plan.record, relaxed=True)


def _certificate(plan: Plan, record: SearchRecord, relaxed: bool) -> Certificate:
    """What a record proves, beside the plan's policy."""
    if isinstance(plan.problem, ExpandedCSSP) and plan.problem.priced_at is not None:
        # What the search has split is a part whose frontier has other actions: this one is proven in one
        # piece, see hcssp.cssp.expansion.
        record, relaxed = SearchRecord(), True
    policy = plan.found_policy
    rows, extra = (None, ()) if policy is None else (policy.rows, policy.extra)
    # What is proven beside a randomised policy must hold for all of them.
    return certificate_of(plan.problem, record, rows, extra, relaxed=relaxed or bool(extra))


def _proven_otherwise(plan: Plan) -> bool:
    """Whether the search ended by itself, for reasons that its record of regions does not show."""
    unrecorded = plan.method in _WITHOUT_REGIONS or plan.record.exchanges
    return unrecorded and plan.ending.reason in _ENDS and not isinstance(plan.problem, ExpandedCSSP)


def _proving_record(plan: Plan) -> SearchRecord:
    """The regions of a search that ends once it has proven the gap of `plan`, or at its time limit.

    It begins with the plan's policy and with none of its bounds: everything is proven again.
    """
    start, criteria = None, list[StopCriterion]([MaxRuntime(max(plan.seconds, LEAST_SECONDS))])
    if plan.found:
        start = replace(plan, proof=Interval(), claim=None, memory=Memory(), record=SearchRecord())
        criteria.append(Gap(plan.gap))
    record = SearchRecord()
    method = PolicyBranching(parameters=SearchParameters(symmetry=False))
    solve(plan.problem, method, criteria, start=start, tolerances=plan.tolerances, record=record)
    return record
