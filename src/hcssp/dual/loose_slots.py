"""Which activities to plan anew before a bound on a procedure and its best known policy are close enough.

What lies between the two stems from the activities that the policy executes, each as often as it does: for
each there is a lower bound on its weighted cost and the cost of the best plan known. Those that are alike are
one slot, see :mod:`hcssp.dual.alike_activities`.
"""

from __future__ import annotations

from collections.abc import Sequence

from hcssp.cssp.model import FloatArray
from hcssp.dual.activity_curve import Bracket


def loose_slots(
    known: Sequence[Bracket | None], executions: FloatArray, tolerance: float, as_few: bool = False
) -> list[int]:
    """The slots to plan anew before bound and policy are within `tolerance`; none if they are.

    Parameters
    ----------
    known
        What is known about each slot; None if it has no plan.
    executions
        How often the activities of each slot are executed.
    tolerance
        What may be left open.
    as_few
        Whether to name no more than it takes, the widest. Otherwise each is named that leaves more open than
        its part of the tolerance: a plan that is known for an interval of prices will be of use again.
    """
    slack = {
        slot: float(executions[slot]) * (bracket.value - bracket.bound)
        for slot, bracket in enumerate(known)
        if bracket is not None and not bracket.final and executions[slot] > 0.0
    }
    left = sum(slack.values())
    if left <= tolerance or not slack:
        return []
    if not as_few:
        share = min(max(slack.values()), tolerance / len(slack))
        return [slot for slot, each in slack.items() if each >= share]
    widest = []
    for slot in sorted(slack, key=lambda each: -slack[each]):
        if left <= tolerance:
            break
        widest.append(slot)
        left -= slack[slot]
    return sorted(widest)
