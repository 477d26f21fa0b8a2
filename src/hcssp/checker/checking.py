"""The check of a certificate: inequalities, sums and searches, but no equations; see docs/certificates.md."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import compress
from math import ceil, floor, inf
from numbers import Integral
from typing import Any

import numpy as np

from hcssp.checker.arithmetic import GRAIN, excess, grains, knapsack_is_empty, knapsack_unit, slack
from hcssp.checker.format import Certificate, Extra, Potential, Statement, Use
from hcssp.checker.layout import Layout
from hcssp.cssp.arrays import joined_spans
from hcssp.cssp.model import CSSP, BoolArray, IntArray
from hcssp.errors import InvalidCertificate, NotProven
from hcssp.procedure.model import HCSSP

Uses = dict[int, list[tuple[Potential, tuple[int, int]]]]  # by activity; the ratio is the share of each
Begun = dict[int | None, list[tuple[int, Fraction]]]  # states in which an activity begins, and how often


@dataclass(frozen=True)
class Verdict:
    """No deterministic plan that keeps the bounds costs less than `lower_bound`; ``inf`` if there is none.

    The certificate's plan keeps them, up to the tolerance, at `costs` or less; without it, `upper_bound` is
    ``inf``. Integers decided `num_exact` rows. If `randomised`, the lower bound holds for all policies.
    """

    lower_bound: float
    upper_bound: float
    costs: tuple[Fraction, ...]
    num_exact: int
    randomised: bool


def check(problem: CSSP | HCSSP, certificate: Certificate, *, exact: bool = False) -> Verdict:
    """Verify the claim of a certificate about `problem` under its bounds; `exact`: in integers throughout.

    If it does not prove that, NotProven says where; if it does not fit `problem`, InvalidCertificate how.
    """
    bounds = tuple(each.at_most for each in problem.procedure.constraints)
    if tuple(certificate.bounds) != bounds:
        raise InvalidCertificate(f"it is for the bounds {certificate.bounds}, not for {bounds}")
    try:
        certificate = plain(certificate)
        layout = Layout(problem, certificate.same, certificate.dominated)
        verifier = Verifier(layout, certificate.potentials, certificate.plan, certificate.extra)
        num_exact = sum(verifier.check_potential(n, exact) for n in range(len(certificate.potentials)))
        lower, randomised = inf, len(certificate.leaves) == 1
        regions = leaf_regions(certificate.tree, layout.flattening.row_start, layout.never)
        for number, ((index, bound), region) in enumerate(zip(certificate.leaves, regions, strict=True)):
            statement = None if index is None else certificate.statements[index]
            proven = verifier.bound(f"leaf {number}", statement, region, bound)
            randomised &= statement is None or not statement.parts
            if proven is not None and bound < inf and proven < Fraction(bound) and layout.unit:
                proven, randomised = ceil(proven / layout.unit) * layout.unit, False
            if proven is not None and (bound == inf or proven < Fraction(bound)):
                raise NotProven(f"leaf {number}: it claims {bound}, but {float(proven)!r} is proven")
            lower = lower if proven is None else min(lower, bound)
        costs = plan_costs(verifier, certificate) if len(certificate.plan) else ()
    except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
        raise InvalidCertificate(f"its numbers or sizes do not fit the problem: {error}") from error
    if not costs and certificate.upper_bound != inf:
        raise NotProven(f"the plan: there is none for the upper bound {certificate.upper_bound}")
    if certificate.extra and not randomised:
        raise NotProven("the plan: it is randomised, and the lower bound holds for deterministic plans only")
    return Verdict(min(lower, certificate.upper_bound), certificate.upper_bound, costs, num_exact, randomised)


def plain(given: Any) -> Any:
    """The same in Python's integers and doubles, or in flat arrays: True as a row would be a mask of rows."""
    if isinstance(given, Certificate | Statement | Potential):
        return replace(given, **{name: plain(value) for name, value in vars(given).items()})
    if isinstance(given, np.ndarray):
        return given.ravel().astype(np.int64 if given.dtype.kind in "iu" else np.float64, copy=False)
    if isinstance(given, tuple | list):
        return tuple(given) if {*map(type, given)} <= {int, float} else tuple(map(plain, given))
    return given if given is None else int(given) if isinstance(given, Integral) else float(given)


class Verifier:
    """Stored potentials beside a problem: whether they are feasible, and what follows from statements."""

    def __init__(self, layout: Layout, potentials: Sequence[Potential], plan: Any, extra: Extra = ()) -> None:
        self.layout, self.flattening, self.rows = layout, layout.flattening, layout.rows
        self.plan, self.beside_plan = np.asarray(plan, dtype=np.int64), layout.dominated | True
        self.beside_plan[self.plan[self.plan >= 0]] = False
        self.potentials, self.mixed = potentials, dict[int, dict[int, Fraction]]()  # by state, of the plan
        for row, share in extra:
            own = self.plan.item(state := layout.flat.row_state.item(row))
            shares = self.mixed.setdefault(state, {own: Fraction(1)})
            known = row in shares
            shares[own], shares[row] = shares[own] - Fraction(share), Fraction(share)
            if known or min(row, own) < 0 or min(shares.values()) <= 0:
                raise NotProven(f"the plan: it cannot take row {row} with a probability of {share}, too")
            self.beside_plan[row] = False

    def check_potential(self, number: int, exact: bool) -> int:
        """A potential must be feasible on all rows but its forbidden ones; how many integers decided."""
        each = self.potentials[number]
        block, own = self.layout.blocks[each.activity], self.rows[each.activity]
        if {*map(type, each.weights), each.values.dtype.type} != {float, np.float64}:
            raise ValueError(f"weights and values of potential {number} are not doubles")
        allowed = ~(self.beside_plan if each.of_plan else self.layout.dominated)[own]
        allowed[list(each.forbidden)] = False
        mixed = [s for s in self.mixed.values() if each.of_plan and own.start <= min(s) < own.stop]
        weights, single = np.array(each.weights), allowed.copy()
        single[[row - own.start for shares in mixed for row in shares]] = False
        computed, error = (-1.0, 0.0) if exact else slack(block, weights, each.values)
        broken = rows = np.flatnonzero(single & (computed < error))
        if len(rows):
            broken = rows[excess(block, weights, each.values, rows)[0] < 0]
            # No proper policy takes a row after which the exits are not reached almost surely.
            broken = broken[block.almost_sure(allowed)[1][broken]] if len(broken) else broken
        for shares in mixed:
            pairs = zip(*excess(block, weights, each.values, np.array([*shares]) - own.start), strict=True)
            if sum(s * gain / total for s, (gain, total) in zip(shares.values(), pairs, strict=True)) < 0:
                broken = np.append(broken, min(shares) - own.start)
        if len(broken):
            row = self.flattening.row_name(own.start + int(broken[0]))
            raise NotProven(f"potential {number}: it does not hold in {row}")
        return len(rows)

    def least(self, where: str, given: Statement, weights: Sequence[float], region: BoolArray) -> Fraction:
        """What proper policies that avoid the flat rows of `region` cost at least under `weights`."""
        prices, events = [grains(weight) for weight in weights], [grains(value) for value in given.events]
        parts = self.parts(where, given.uses, prices, region)
        if (end := given.events[self.flattening.end]) > 0.0:
            raise NotProven(f"{where}: the potential of the end is {end}, not 0")
        for row in np.flatnonzero(~region[: self.flattening.num_event_rows]).tolist():
            # No proper policy makes a choice after which the end is not reached almost surely.
            shares = self.mixed.get(self.layout.event_rows[row][0]) if region is self.beside_plan else None
            gains = (self.gain(each, events, parts, prices, shares) for each in shares or [row])
            if sum(gains) < 0 and self.layout.flat.almost_sure(~region)[1][row]:
                raise NotProven(f"{where}: it does not hold in {self.flattening.row_name(row)}")
        return Fraction(given.events[self.flattening.start])

    def parts(self, where: str, uses: Sequence[Use], prices: list[int], region: BoolArray) -> Uses:
        """What each activity uses, if it may do so under `prices` and where `region` is forbidden."""
        found: Uses = defaultdict(list)
        for activity, number, share in uses:
            potential, wrong = self.potentials[number], f"its share is {share}" if share < 0.0 else ""
            own, of_plan = region[self.rows[activity]], region is self.beside_plan
            # A potential of the plan serves its own activity only; other regions forbid all dominated rows.
            fits = potential.of_plan == of_plan and (activity == potential.activity or not of_plan)
            if self.layout.blocks[activity] is not self.layout.blocks[potential.activity]:
                wrong = "it is for an activity with other arrays"
            elif not (fits and all(map(own.item, potential.forbidden))):
                wrong = "it need not hold on rows that are allowed there"
            if wrong:
                raise NotProven(f"{where}, activity {activity}, potential {number}: {wrong}")
            found[activity].append((potential, share.as_integer_ratio()))
        # An activity that is run and uses nothing has weights of 0.
        run = compress(self.layout.event_rows, ~region) if min(prices) < 0 else ()
        for activity in {*found, *(each for *_, ways in run for _, each, _ in ways if each is not None)}:
            for cost, limit in enumerate(self.layout.own_weights(activity, prices)):
                used = sum(grains(potential.weights[cost], share) for potential, share in found[activity])
                if used > limit:
                    excess = f"a weight of {used / 2**GRAIN!r} on cost {cost}, above {limit / 2**GRAIN!r}"
                    raise NotProven(f"{where}, activity {activity}: its potentials add up to {excess}")
        return found

    def gain(self, row: int, events: list[int], parts: Uses, prices: list[int], shares: Any = None) -> Any:
        """What a choice costs plus what the potential rises by, in expectation; times its share, if any."""
        state, costs, ways = self.layout.event_rows[row]
        gain: Any = 0
        before = events[state] - sum(prices[cost] * amount for cost, amount in costs)
        for probability, activity, start in ways:
            if activity is None:
                after = events[start]
            else:
                # The activity's potential, lifted until an exit is as high as the event state it leads to.
                own, ends = parts[activity], self.layout.exits[activity]
                after = level(own, start) + min((events[to] - level(own, end) for end, to in ends), default=0)
            gain += probability * (after - before)
        return gain * shares[row] / sum(chance for chance, *_ in ways) if shares else gain

    def bound(self, where: str, given: Statement | None, region: BoolArray, claim: float) -> Fraction | None:
        """The primary cost that no plan in `region` is below; None if no plan there keeps the bounds."""
        if given is None:
            if self.layout.flat.almost_sure(~region)[0][self.flattening.start]:
                raise NotProven(f"{where}: it is not empty, the end can be reached almost surely")
            return None
        if given.weights[0] not in (0.0, 1.0) or min(given.weights) < 0.0:
            raise NotProven(f"{where}: the weights {given.weights} are not 0 or 1 and prices from 0")
        pairs = zip(given.weights[1:], self.layout.most, strict=True)
        if (budget := sum(Fraction(price) * most for price, most in pairs if price)) == inf:
            raise NotProven(f"{where}: a cost without a bound has a price in {given.weights[1:]}")
        if given.parts:
            self.knapsack(where, given, region, Fraction(budget), Fraction(claim))
            return Fraction(claim)
        proven = self.least(where, given, given.weights, region) - Fraction(budget)
        if given.weights[0] == 0.0 and proven <= 0:
            raise NotProven(f"{where}: that no plan keeps the bounds does not follow from {float(proven)!r}")
        return proven if given.weights[0] else None

    def knapsack(
        self, where: str, given: Statement, region: BoolArray, budget: Fraction, claim: Fraction
    ) -> None:
        """All plans in `region` whose priced costs are within the budget must cost the claim at least."""
        activities = {activity for activity, *_ in given.parts}
        priced = any(given.weights[number] for number, *_ in self.layout.limits)
        if given.weights[0] != 1.0 or claim <= 0 or priced or len(activities) < len(given.parts):
            raise NotProven(f"{where}: a knapsack has a positive claim, no limits, and no activity twice")
        prices = [grains(weight) for weight in given.weights]
        kinds = [prices[0], *[0] * len(prices[1:])], [0, *prices[1:]], prices
        begun, starts, options = self.begun(where, given.events, region), self.flattening.row_start, []
        unit = knapsack_unit(claim + budget, len(given.parts))
        aim, most = ceil(claim / unit), ceil(budget / unit)
        for activity, tree, classes in given.parts:
            entries, exits, amounts = begun.get(activity, ()), self.layout.exits[activity], list[int]()
            for own, every in zip(leaf_regions(tree, starts, region), classes, strict=True):
                for weights, uses in zip(kinds, every, strict=True):
                    parts = self.parts(where, uses, weights, own)[activity]
                    highest = max(level(parts, goal) for goal, _ in exits)
                    spent = sum(times * max(level(parts, start) - highest, 0) for start, times in entries)
                    amounts.append(min(floor(spent / unit / 2**GRAIN), aim + most))
            options.append(np.array(amounts, dtype=np.int64).reshape(-1, 3))
        if not knapsack_is_empty(aim, most, options):
            raise NotProven(f"{where}: plans within the budget may cost less than {float(claim)!r}")

    def begun(self, where: str, visits: Sequence[float], region: BoolArray) -> Begun:
        """Where activities begin and how often, at least, if event states are visited as often as given."""
        begun, entered = Begun(), [Fraction(state == self.flattening.start) for state in range(len(visits))]
        for state, share, run, start, after in self.layout.decided(region):
            begun.setdefault(run, []).append((start, Fraction(visits[state]) * share))
            if len(after) == 1:
                entered[after.pop()] += Fraction(visits[state]) * share
        ends = self.layout.flat.almost_sure(~region)[0]
        for state, times in enumerate(visits):
            if times and not (0.0 < times <= entered[state] and ends[state]):
                raise NotProven(f"{where}: event state {state} may be visited less than {times} times")
        return begun


def level(parts: Sequence[tuple[Potential, tuple[int, int]]], state: int) -> int:
    """The potential of an activity in one of its states."""
    return sum(grains(potential.values.item(state), share) for potential, share in parts)


def leaf_regions(tree: Sequence[int], row_start: IntArray, whole: BoolArray) -> Iterator[BoolArray]:
    """The rows that each leaf forbids: a policy uses the row of a branching decision in its state, or not."""
    waiting = [whole.copy()]
    for row in tree:
        used, spared = waiting[-1].copy(), waiting.pop()
        if row < 0:
            yield used
            continue
        first, last = row_start[np.searchsorted(row_start, row, side="right") - 1 :][:2].tolist()
        used[first:row] = used[row + 1 : last] = True
        spared[row] = True
        waiting += spared, used
    if waiting:
        raise ValueError(f"the tree lacks {len(waiting)} leaves")


def plan_costs(verifier: Verifier, certificate: Certificate) -> tuple[Fraction, ...]:
    """Upper bounds on the plan's costs, if it ends, keeps its bounds and costs no more than claimed."""
    plan, flat, end = verifier.plan, verifier.layout.flat, verifier.flattening.end
    goes, ranks = plan >= 0, np.asarray(certificate.ranks)
    if not np.array_equal(flat.row_state[rows := plan[goes]], np.flatnonzero(goes)):
        raise NotProven("the plan: it takes a row in a state that does not have it")
    rows = np.append(rows, [row for shares in verifier.mixed.values() for row in shares]).astype(np.int64)
    entries, begins = joined_spans(flat.pointers[rows], np.diff(flat.pointers)[rows])
    after, nearest = flat.successors[entries], np.full(len(goes), np.inf)
    np.minimum.at(nearest, flat.row_state[rows], np.minimum.reduceat(ranks[after], begins))
    # Wherever it goes, it may go on to a state of smaller rank, or it is at the end.
    nearer, goes[end] = (nearest < ranks)[goes], True
    if not (goes[verifier.flattening.start] and goes[after].all() and nearer.all()):
        raise NotProven("the plan: it does not reach the end almost surely")
    limits, costs = [Fraction(certificate.upper_bound), *verifier.layout.most], []
    for cost, (number, limit) in enumerate(zip(certificate.plan_statements, limits, strict=True)):
        weights = [-float(index == cost) for index in range(len(limits))]
        where, statement = f"the plan, cost {cost}", certificate.statements[number]
        costs.append(-verifier.least(where, statement, weights, verifier.beside_plan))
        if costs[-1] > limit:
            raise NotProven(f"{where}: it may be {float(costs[-1])!r}, above {float(limit)!r}")
    return tuple(costs)
