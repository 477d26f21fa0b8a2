r"""The check of a certificate: inequalities, sums and searches, but no equations.

All rests on one theorem (docs/certificates.md). Let :math:`U` be a number for every flat state, at most 0 at
the end, that holds under weights :math:`w` on all rows but forbidden ones and dead ends. Then every proper
policy that avoids the forbidden rows costs at least :math:`U` of the start, under :math:`w`.

- A leaf of the branching with weights :math:`(1, \lambda)` bounds the primary cost of its plans from below;
- one with weights :math:`(0, w)` and a :math:`U` above :math:`w \Delta` has no plan;
- where all rows are forbidden that the plan does not take, a weight of -1 bounds a cost of it from above.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import compress
from math import ceil, inf

import numpy as np

from hcssp.checker.arithmetic import decimal, holds, slack
from hcssp.checker.format import Certificate, Potential, Statement
from hcssp.checker.layout import Layout
from hcssp.cssp.model import CSSP, BoolArray, IntArray
from hcssp.errors import InvalidCertificate, NotProven
from hcssp.numerics import FEASIBILITY_TOLERANCE
from hcssp.procedure.model import HCSSP

Allowed = list[Fraction | None]  # the largest costs that count as keeping the bounds; None: every cost does
Parts = list[tuple[int, Fraction]]  # the stored potentials that an activity uses, and how much of each


@dataclass(frozen=True)
class Verdict:
    """No deterministic plan that keeps the bounds costs less than `lower_bound`; ``inf`` if there is none.

    The certificate's plan keeps them, with at most these `costs`; without one, `upper_bound` is ``inf``.
    Bounds count as kept up to the tolerance of :mod:`hcssp.numerics`. Integers decided `num_exact` rows.
    """

    lower_bound: float
    upper_bound: float
    costs: tuple[Fraction, ...]
    num_exact: int


def check(problem: CSSP | HCSSP, certificate: Certificate, *, exact: bool = False) -> Verdict:
    """Verify what a certificate claims about `problem` under its bounds; `exact`: in integers throughout.

    If it does not prove that, NotProven says where; if it is not about `problem`, InvalidCertificate how.
    """
    layout = Layout(problem)
    bounds = tuple(constraint.at_most for constraint in layout.procedure.constraints)
    if certificate.fingerprint != layout.fingerprint:
        raise InvalidCertificate("it is for another problem: the fingerprints differ")
    if certificate.bounds != bounds:
        raise InvalidCertificate(f"it is for the bounds {certificate.bounds}, but the problem has {bounds}")
    try:
        lower, allowed = inf, tolerated(bounds)
        evidence = Evidence(layout, certificate.potentials, certificate.plan)
        num_exact = sum(evidence.check_potential(n, exact) for n in range(len(certificate.potentials)))
        regions = leaf_regions(certificate.tree, layout.flattening.row_start)
        for number, ((index, bound), region) in enumerate(zip(certificate.leaves, regions, strict=True)):
            statement = None if index is None else certificate.statements[index]
            proven = leaf_bound(f"leaf {number}", evidence, statement, region | layout.superfluous, allowed)
            if proven is not None and (bound == inf or proven < Fraction(bound)):
                raise NotProven(f"leaf {number}: it claims {bound}, but {float(proven)!r} is proven")
            lower = lower if proven is None else min(lower, bound)
        costs = plan_costs(evidence, certificate, allowed) if certificate.plan else ()
    except (IndexError, ValueError, OverflowError) as error:
        raise InvalidCertificate(f"its numbers or sizes do not fit the problem: {error}") from error
    if not costs and certificate.upper_bound != inf:
        raise NotProven(f"the plan: there is none for the upper bound {certificate.upper_bound}")
    return Verdict(min(lower, certificate.upper_bound), certificate.upper_bound, costs, num_exact)


class Evidence:
    """Stored potentials beside a problem: whether they hold, and what follows from statements about them."""

    def __init__(self, layout: Layout, potentials: Sequence[Potential], plan: Sequence[int]) -> None:
        self.layout, self.potentials = layout, potentials
        self.beside_plan = np.ones(layout.flattening.num_rows, dtype=np.bool_)
        self.beside_plan[[row for row in plan if row >= 0]] = False

    def excepted(self, potential: Potential) -> BoolArray:
        """The rows of its activity on which a potential need not hold."""
        beside = self.beside_plan[self.layout.rows_of(potential.activity)]
        rows = (beside if potential.of_plan else self.layout.blocks[potential.activity].superfluous).copy()
        rows[list(potential.forbidden)] = True
        return rows

    def check_potential(self, number: int, exact: bool) -> int:
        """A potential must hold where it is not excepted; the number of rows that integers decided."""
        potential = self.potentials[number]
        block, weights = self.layout.blocks[potential.activity], np.array(potential.weights)
        allowed = ~self.excepted(potential)
        undecided = np.flatnonzero(allowed)
        if not exact:
            computed, error = slack(block, weights, potential.values)
            undecided = undecided[(computed < error)[undecided]]
        if len(undecided):
            broken = undecided[~holds(block, weights, potential.values, undecided)]
            # No proper policy takes a row after which the exits are not reached almost surely.
            if len(broken) and len(broken := broken[block.almost_sure(allowed)[1][broken]]):
                name = self.layout.row_name(self.layout.rows_of(potential.activity).start + int(broken[0]))
                raise NotProven(f"potential {number}: it does not hold in {name}")
        return len(undecided)

    def least(self, where: str, statement: Statement, weights: list[Fraction], region: BoolArray) -> Fraction:
        """What proper policies that avoid the flat rows of `region` cost at least under `weights`."""
        flattening, parts = self.layout.flattening, self.parts(where, statement, weights, region)
        events = [Fraction(value) for value in statement.events]
        if events[flattening.end] > 0:
            raise NotProven(f"{where}: the potential of the end is {float(events[flattening.end])}, not 0")
        for row in np.flatnonzero(~region[: flattening.num_event_rows]).tolist():
            # No proper policy makes a choice after which the end is not reached almost surely.
            if self.gain(row, events, parts, weights) < 0 and self.layout.flat.almost_sure(~region)[1][row]:
                raise NotProven(f"{where}: it does not hold in {self.layout.row_name(row)}")
        return events[flattening.start]

    def parts(self, where: str, given: Statement, weights: list[Fraction], region: BoolArray) -> list[Parts]:
        """What each activity uses, if it may do so under `weights` and where `region` is forbidden."""
        found: list[Parts] = [[] for _ in self.layout.blocks]
        for activity, number, share in given.uses:
            potential, place = self.potentials[number], f"{where}, activity {activity}, potential {number}"
            if self.layout.blocks[activity] is not self.layout.blocks[potential.activity]:
                raise NotProven(f"{place}: it is for an activity with other arrays")
            if (self.excepted(potential) & ~region[self.layout.rows_of(activity)]).any():
                raise NotProven(f"{place}: it need not hold on rows that are allowed there")
            if share < 0.0:
                raise NotProven(f"{place}: its share is {share}, which is negative")
            found[activity].append((number, Fraction(share)))
        ways = [way for _, each in compress(self.layout.event_rows, ~region) for way in each]
        for activity in {way.activity for way in ways if way.activity is not None}:
            for cost, limit in enumerate(self.layout.own_weights(activity, weights)):
                used = sum(share * Fraction(self.potentials[n].weights[cost]) for n, share in found[activity])
                if used > limit:
                    told = f"a weight of {float(used)!r} on cost {cost}, above {float(limit)!r}"
                    raise NotProven(f"{where}, activity {activity}: its potentials add up to {told}")
        return found

    def gain(self, row: int, events: list[Fraction], parts: list[Parts], weights: list[Fraction]) -> Fraction:
        """What a choice costs, which is something if a limit counts it, and what the potential rises by."""
        gain, (state, ways) = Fraction(0), self.layout.event_rows[row]
        costs = zip(weights, self.layout.flattening.event_costs[:, row].tolist(), strict=True)
        paid = sum(weight * decimal(cost) for weight, cost in costs if cost)
        for probability, activity, starts in ways:
            if activity is None:
                after = events[starts[0][0]]
            else:
                # The activity's potential, lifted until an exit is as high as the event state it leads to.
                exits, own = self.layout.exits[activity], parts[activity]
                after = min((events[to] - self.level(own, goal) for goal, to in exits), default=Fraction(0))
                after += sum(share * self.level(own, start) for start, share in starts)
            gain += probability * (paid + after - events[state])
        return gain

    def level(self, parts: Parts, state: int) -> Fraction:
        """The potential of an activity in one of its states."""
        return sum((part * Fraction(self.potentials[n].values.item(state)) for n, part in parts), Fraction(0))


def leaf_regions(tree: Sequence[int], row_start: IntArray) -> Iterator[BoolArray]:
    """The rows that each leaf forbids; a policy that a branching does not send one way goes the other."""
    waiting: list[list[range]] = [[]]
    for row in tree:
        forbidden = waiting.pop()
        if row >= 0:
            state = int(np.searchsorted(row_start, row, side="right")) - 1
            first, last = int(row_start[state]), int(row_start[state + 1])
            waiting.append([*forbidden, range(row, row + 1)])
            waiting.append([*forbidden, range(first, row), range(row + 1, last)])
        else:
            region = np.zeros(row_start[-1], dtype=np.bool_)
            for rows in forbidden:
                region[rows.start : rows.stop] = True
            yield region
    if waiting:
        raise ValueError(f"the tree lacks {len(waiting)} leaves")


def leaf_bound(
    where: str, evidence: Evidence, statement: Statement | None, region: BoolArray, allowed: Allowed
) -> Fraction | None:
    """The primary cost that no plan in `region` is below; None if no plan there keeps the bounds."""
    layout = evidence.layout
    if statement is None:
        if layout.flat.almost_sure(~region)[0][layout.flattening.start]:
            raise NotProven(f"{where}: it is not empty, the end can be reached almost surely")
        return None
    weights = [Fraction(weight) for weight in statement.weights]
    if weights[0] not in (0, 1) or min(weights) < 0:
        raise NotProven(f"{where}: the weights {statement.weights} are not 0 or 1 and prices from 0")
    proven = evidence.least(where, statement, weights, region)
    for weight, most in zip(weights[1:], allowed, strict=True):
        if weight and most is None:
            raise NotProven(f"{where}: a cost without a bound has the price {float(weight)}")
        proven -= weight * (most or 0)
    if weights[0] == 1:
        return ceil(proven / layout.unit) * layout.unit if layout.unit else proven
    if proven <= 0:
        raise NotProven(f"{where}: that no plan keeps the bounds does not follow from {float(proven)!r} > 0")
    return None


def plan_costs(evidence: Evidence, certificate: Certificate, allowed: Allowed) -> tuple[Fraction, ...]:
    """At most what the plan costs, if it ends, keeps its bounds and costs no more than is claimed."""
    layout, beside, plan = evidence.layout, evidence.beside_plan, np.array(certificate.plan)
    owners = np.searchsorted(layout.flattening.row_start, plan, side="right") - 1
    if ((owners != np.arange(layout.flattening.num_states)) & (plan >= 0)).any():
        raise NotProven("the plan: it takes a row in a state that does not have it")
    if not layout.flat.almost_sure(~beside)[0][layout.flattening.start]:
        raise NotProven("the plan: it does not reach the end almost surely")
    limits, costs = [Fraction(certificate.upper_bound), *allowed], []
    for cost, (number, limit) in enumerate(zip(certificate.plan_statements, limits, strict=True)):
        weights = [Fraction(-(index == cost)) for index in range(len(limits))]
        where, statement = f"the plan, cost {cost}", certificate.statements[number]
        costs.append(-evidence.least(where, statement, weights, beside))
        if limit is not None and costs[-1] > limit:
            raise NotProven(f"{where}: it may be {float(costs[-1])!r}, above {float(limit)!r}")
    return tuple(costs)


def tolerated(bounds: Sequence[float]) -> Allowed:
    """What keeping the bounds allows, with the tolerance."""
    share, exact = decimal(FEASIBILITY_TOLERANCE), [decimal(b) if b < inf else None for b in bounds]
    return [None if each is None else each + share * abs(each) for each in exact]
