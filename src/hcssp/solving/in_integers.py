"""What double precision cannot tell apart, told by the proof: its rows are mended one by one, and checked.

A search bounds a region by values that solve equations, less what rounding may have done to them. Where a
policy takes 1e15 steps, that is all of it. A certificate's values need not solve anything: they are lowered
until every row holds, and integers decide where doubles do not.
"""

from __future__ import annotations

from dataclasses import replace

from hcssp.contract.ending import Ending, Reason
from hcssp.contract.plan import Plan
from hcssp.contract.proof import Interval
from hcssp.contract.trace import Trace, TracePoint
from hcssp.cssp.expanded_part import ExpandedCSSP
from hcssp.numerics import FEASIBILITY_TOLERANCE


def proven_in_integers(plan: Plan, asked: float) -> Plan:
    """The plan, with what its certificate is verified to prove if that is more.

    Parameters
    ----------
    plan
        What a search has found that was left with what rounding hides from it. One that has not written down
        any regions has no proof of its own.
    asked
        The gap that was wanted; if it is reached, the proof is complete.
    """
    # A certificate is about what counts as kept by default; a looser tolerance allows for cheaper plans.
    looser = plan.tolerances.feasibility > FEASIBILITY_TOLERANCE
    told = plan.record.claim(plan.record.root) is not None
    if not (plan.found and told) or looser or isinstance(plan.problem, ExpandedCSSP):
        return plan
    from hcssp.checker import check

    lower = min(check(plan.problem, plan.certificate).lower_bound, plan.upper_bound)
    if lower <= plan.lower_bound:
        return plan
    trace = Trace([*plan.trace, TracePoint(plan.seconds, lower, plan.upper_bound)])
    proven = replace(plan, proof=Interval(lower, plan.upper_bound, plan.tolerances.optimality), trace=trace)
    return replace(proven, ending=Ending(Reason.PROVED)) if proven.gap <= asked else proven
