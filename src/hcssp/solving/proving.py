"""Proofs after a search: the certificate of its plan, and exact enumeration where rounding leaves a gap.

**Certificates** are made of regions of policies. Budget allocation splits boxes of budgets, and the exact
method may exchange the plans of identical parts, which a certificate cannot express. A second search over
regions, without such exchanges, proves the same result, mostly in less time.

**Rational numbers.** A search bounds a region by values that solve equations, less what rounding may have
done to them. That can be all of it, where a policy takes 1e15 steps or misses a bound by 1e-9 of it. A small
problem is enumerated then: depth-first over the policies, state by state as they are reached. No cost is
negative, so what the decided states cost, with nothing for the others, is a lower bound on every completion,
and prunes it. Its numbers are read as the checker reads them. Of a larger problem, the certificate may prove
more than the search: its values need not solve anything, and integers decide where doubles do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import inf

import numpy as np

from hcssp.checker.format import Certificate
from hcssp.contract.plan import Plan
from hcssp.contract.progress import Gap, MaxRuntime, StopCriterion
from hcssp.contract.proof import Ending, Infeasible, Interval, Proof, Reason, Trace, TracePoint
from hcssp.contract.solver import Memory
from hcssp.cssp.arrays import decimal
from hcssp.cssp.expansion import ExpandedCSSP
from hcssp.cssp.model import IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.deadline import OutOfTime, keep_time
from hcssp.evaluation.exact import evaluate
from hcssp.methods.policy_branching import PolicyBranching, SearchParameters
from hcssp.numerics import FEASIBILITY_TOLERANCE, at_least
from hcssp.procedure.model import HCSSP
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
    """The bound that a record proves, and the plan's policy."""
    if isinstance(plan.problem, ExpandedCSSP) and plan.problem.priced_at is not None:
        # What the search has split is a part whose frontier has other actions: this one is proven in one
        # piece, see hcssp.cssp.expansion.
        record, relaxed = SearchRecord(), True
    policy = plan.found_policy
    rows, extra = (None, ()) if policy is None else (policy.rows, policy.extra)
    # A lower bound beside a randomised policy must be valid for all randomised policies.
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


# What double precision leaves open.

ENUMERATED = "all policies were enumerated in rational numbers, which a certificate cannot show"
"""The detail of an ending."""


MOST_STATES = 40


MOST_POLICIES = 4_000
"""A problem is small if its procedure has no more flat states than this. Enumeration stops after
this number of policies, including partial ones; the largest problem takes about ten seconds."""


Costs = list[Fraction]


class TooLarge(Exception):
    """There are too many policies to enumerate."""


def decided(plan: Plan, asked: float) -> Plan:
    """The plan, with what rational numbers prove if that is more.

    Parameters
    ----------
    plan
        What a search has found that was left with what rounding hides from it.
    asked
        The gap that was wanted; if it is reached, the proof is complete.
    """
    if isinstance(plan.problem, ExpandedCSSP):
        return plan
    try:
        try:
            return _enumerated(plan, asked)
        except TooLarge:
            return _certified(plan, asked)
    except OutOfTime:
        return plan


def _enumerated(plan: Plan, asked: float) -> Plan:
    """The plan after all policies were looked at."""
    search = Enumeration(plan)
    best = search.run()
    if best is None:
        if plan.found:
            return _proven(plan, plan.upper_bound, asked, ENUMERATED)
        trace = Trace([*plan.trace, TracePoint(plan.seconds, inf, inf)])
        return replace(plan, proof=Infeasible(), ending=Ending(Reason.INFEASIBLE, ENUMERATED), trace=trace)
    cost, rows = best
    lower = at_least(float(cost))
    if lower < plan.upper_bound:
        policy = plan.problem.policy(rows)
        evaluation = evaluate(plan.problem, policy)
        upper = float(evaluation.costs[0])
        # At the edge of the tolerance doubles may differ; then the interval stays open.
        if upper < plan.upper_bound and evaluation.keeps_bounds(plan.tolerances.feasibility):
            proof: Proof = Interval(min(lower, upper), upper, plan.tolerances.optimality)
            plan = replace(plan, found_policy=policy, evaluation=evaluation, proof=proof, budgets={})
    return _proven(plan, lower, asked, ENUMERATED)


def _certified(plan: Plan, asked: float) -> Plan:
    """The plan, with what its certificate is verified to prove if that is more."""
    # A certificate is about what counts as kept by default; a looser tolerance allows for cheaper plans.
    looser = plan.tolerances.feasibility > FEASIBILITY_TOLERANCE
    recorded = plan.record.claim(plan.record.root) is not None
    if not (plan.found and recorded) or looser:
        return plan
    from hcssp.checker import check

    return _proven(plan, check(plan.problem, plan.certificate).lower_bound, asked)


def _proven(plan: Plan, lower_bound: float, asked: float, detail: str = "") -> Plan:
    """The plan with a lower bound, if that is more than it had."""
    lower = min(max(lower_bound, plan.lower_bound), plan.upper_bound)
    trace = Trace([*plan.trace, TracePoint(plan.seconds, lower, plan.upper_bound)])
    proven = replace(plan, proof=Interval(lower, plan.upper_bound, plan.tolerances.optimality), trace=trace)
    return replace(proven, ending=Ending(Reason.PROVED, detail)) if proven.gap <= asked else proven


class Enumeration:
    """All deterministic policies of a small problem, in rational numbers.

    Raises
    ------
    TooLarge
        If it has more than :data:`MOST_STATES` flat states.
    """

    def __init__(self, plan: Plan) -> None:
        from hcssp.checker.layout import Layout

        layout = Layout(plan.problem)
        flat = layout.flat
        if flat.num_states > MOST_STATES or layout.limits:
            # A choice that begins a use with a limit has a negative cost, and partial policies bound nothing.
            raise TooLarge
        self._start, self._end = layout.flattening.start, layout.flattening.end
        # A flat problem is the one activity of a procedure.
        self._whole = isinstance(plan.problem, HCSSP)
        self._own_states, self._own_rows = layout.flattening.flat_state(0), layout.rows[0]
        share = decimal(plan.tolerances.feasibility)
        self._most = [
            inf if bound == inf else decimal(bound) + share * abs(decimal(bound)) for bound in layout.bounds
        ]
        chances = [chance for *_, ways in layout.event_rows for chance, _, _ in ways]
        chances += [chance for block in layout.blocks for chance in block.exact[0].tolist()]
        _, sure = flat.almost_sure(np.ones(flat.num_rows, dtype=np.bool_))
        self._moves: list[dict[int, Fraction]] = []
        self._rows: list[list[int]] = [[] for _ in range(flat.num_states)]
        for row, (first, last) in enumerate(pairwise(flat.pointers.tolist())):
            moves: dict[int, Fraction] = {}
            for after, chance in zip(flat.successors[first:last].tolist(), chances[first:last], strict=True):
                moves[after] = moves.get(after, Fraction(0)) + Fraction(chance, sum(chances[first:last]))
            self._moves.append(moves)
            if sure[row]:
                self._rows[int(flat.row_state[row])].append(row)
        self._costs = [[Fraction(0)] * (1 + len(self._most)) for _ in layout.event_rows]
        for activity, block in enumerate(layout.blocks):
            _, costs, divisor = block.exact
            counted = dict(layout.counted[activity])
            self._costs += [
                [
                    Fraction(costs[counted[n]][row], divisor) if n in counted else Fraction(0)
                    for n in range(1 + len(self._most))
                ]
                for row in range(block.num_rows)
            ]

    def run(self) -> tuple[Fraction, IntArray] | None:
        """The least primary cost of a policy that keeps the bounds, and the policy; None if none does.

        Raises
        ------
        TooLarge
            After :data:`MOST_POLICIES`.
        OutOfTime
            If the deadline passes first.
        """
        best: tuple[Fraction, IntArray] | None = None
        waiting = [[NO_ROW] * len(self._rows)]
        count = 0
        while waiting:
            keep_time()
            rows = waiting.pop()
            count += 1
            if count > MOST_POLICIES:
                raise TooLarge
            reached = self._reached(rows)
            costs = self._least(rows, reached)
            if costs is None or (best is not None and costs[0] >= best[0]):
                continue
            if any(cost > most for cost, most in zip(costs[1:], self._most, strict=True)):
                continue
            undecided = [state for state in reached if rows[state] == NO_ROW and state != self._end]
            if not undecided:
                best = costs[0], self._policy_rows(rows)
                continue
            state = undecided[0]
            waiting += [[*rows[:state], row, *rows[state + 1 :]] for row in self._rows[state]]
        return best

    def _policy_rows(self, rows: Sequence[int]) -> IntArray:
        """The rows of a policy as those of the problem that was asked."""
        flat = np.array(rows, dtype=np.int64)
        if self._whole:
            return flat
        own = flat[self._own_states]
        return np.where((own == NO_ROW) | (self._own_states == self._end), NO_ROW, own - self._own_rows.start)

    def _reached(self, rows: Sequence[int]) -> list[int]:
        """The states that a partial policy may reach, in the order of a search."""
        reached = {self._start: None}
        waiting = [self._start]
        while waiting:
            row = rows[waiting.pop()]
            new = [] if row == NO_ROW else [state for state in self._moves[row] if state not in reached]
            reached.update(dict.fromkeys(new))
            waiting += new
        return list(reached)

    def _least(self, rows: Sequence[int], reached: Sequence[int]) -> Costs | None:
        """The cost of the decided states, by elimination; None if the policy may stay in them for ever."""
        moves, costs = {}, {}
        for state in reached:
            if rows[state] != NO_ROW:
                moves[state] = dict(self._moves[rows[state]])
                costs[state] = list(self._costs[rows[state]])
        for state in [each for each in moves if each != self._start]:
            # Wherever the state is a successor, its own successors and costs take its place.
            own, paid = moves.pop(state), costs.pop(state)
            leaving = 1 - own.pop(state, Fraction(0))
            if leaving == 0:
                return None
            for other, there in moves.items():
                chance = there.pop(state, None)
                if chance is None:
                    continue
                for after, share in own.items():
                    there[after] = there.get(after, Fraction(0)) + chance * share / leaving
                costs[other] = [
                    cost + chance * more / leaving for cost, more in zip(costs[other], paid, strict=True)
                ]
        if self._start not in moves:
            return [Fraction(0)] * (1 + len(self._most))
        leaving = 1 - moves[self._start].pop(self._start, Fraction(0))
        return None if leaving == 0 else [cost / leaving for cost in costs[self._start]]
