"""An adversary of the checker: certificates that satisfy its code and break its lemmas, rule by rule.

Problems are tiny, so that the truth is known: all deterministic policies are enumerated and evaluated in
rational numbers, by code that shares nothing with the checker but the numbering of states and rows. A
certificate is written from scratch, with the exact values of a problem in which a forger has changed what a
rule may overlook, or it is a true one of which the meaning of one number is changed. Then its claims are
raised as far as the rules of docs/certificates.md allow, so that a condition that is not checked makes a
false claim. Whatever the checker accepts must be true.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations, pairwise
from math import inf, isfinite, nextafter
from random import Random
from typing import Any

import numpy as np

from hcssp.checker import Certificate, Verdict, check
from hcssp.checker.format import Part, Potential, Statement, Use
from hcssp.cssp import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.errors import InvalidCertificate, InvalidProblem, NotProven
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.solving.solve import solve
from random_nestings import random_limits, random_nesting
from random_procedures import random_procedure
from referee.exact_policies import Costs, ExactPolicy, ExactProblem
from rooms_in_turn import step, steps

MOST_POLICIES = 150
MAX_FLAT_STATES = 24
HUGE = (1e6, 2.0**53, 2.0**82, 1e150, 1e300, 1.7e308)
TINY = (5e-324, 1e-300, 1e-12, 2.0**-40)
Numbers = list[Fraction | None]
Lift = Callable[[list[Fraction]], Fraction]


# ----- The truth -----


def meant(number: float) -> Fraction:
    """What a double of a problem means: its shortest decimal."""
    return Fraction(repr(float(number)))


def below(number: Fraction) -> float:
    """The largest double that is not above a number."""
    try:
        near = float(number)
    except OverflowError:
        return 1.7e308 if number > 0 else -inf
    return near if Fraction(near) <= number else nextafter(near, -inf)


@dataclass(frozen=True, eq=False)
class Case:
    """A problem with all that is true about it."""

    problem: CSSP | HCSSP

    @cached_property
    def procedure(self) -> HCSSP:
        return self.problem.procedure

    @cached_property
    def activities(self) -> tuple[ExactProblem, ...]:
        """Each activity in rational numbers, with its own states, goals and costs."""
        return tuple(_exact_activity(each.cssp) for each in self.procedure.activities)

    @cached_property
    def states(self) -> list[list[int]]:
        """The flat states of each activity's own; a goal that is never reached is the end."""
        layout = self.procedure.flattening
        found = [layout.flat_state(number).tolist() for number in range(len(self.activities))]
        return [[layout.end if state < 0 else state for state in each] for each in found]

    @cached_property
    def ways(self) -> list[list[tuple[Fraction, int | None, int]]]:
        """For each choice the probabilities, activities and own or event states that it leads to."""
        rows = []
        for outcomes in self.procedure.flattening.event_ways():
            ways = []
            for probability, run, starts, shares in outcomes:
                whole = sum(map(meant, shares.tolist()))
                for start, share in zip(starts.tolist(), shares.tolist(), strict=True):
                    ways.append((meant(probability) * meant(share) / whole, run, start))
            total = sum(chance for chance, _, _ in ways)
            rows.append([(chance / total, run, start) for chance, run, start in ways if chance])
        return rows

    @cached_property
    def flat(self) -> ExactProblem:
        """The flat problem in rational numbers, without products of doubles."""
        layout = self.procedure.flattening
        successors: list[dict[int, Fraction]] = []
        for ways in self.ways:
            row: dict[int, Fraction] = {}
            for chance, run, start in ways:
                state = start if run is None else self.states[run][start]
                row[state] = row.get(state, Fraction(0)) + chance
            successors.append(row)
        costs = [self._choice_costs(choice) for choice in layout.event_row_choice.tolist()]
        for number, own in enumerate(self.activities):
            for moves in own.successors:
                row = {}
                for target, chance in moves.items():
                    state = self.states[number][target]
                    row[state] = row.get(state, Fraction(0)) + chance
                successors.append(row)
            costs += [tuple(map(meant, each)) for each in layout.activity_costs(number).T.tolist()]
        starts = layout.row_start.tolist()
        return ExactProblem(
            successors=tuple(successors),
            costs=tuple(costs),
            rows_of=tuple(map(range, starts, starts[1:])),
            initial={layout.start: Fraction(1)},
            goals=frozenset([layout.end]),
            num_costs=1 + len(self.procedure.constraints),
        )

    @cached_property
    def limits(self) -> set[int]:
        """The numbers of limits for each execution; a limit of 0 is a bound like others."""
        constraints = enumerate(self.procedure.constraints, start=1)
        return {n for n, each in constraints if each.per is not None and 0.0 < each.limit < inf}

    def _choice_costs(self, number: int) -> Costs:
        """What a choice costs: under a limit, each execution that it begins allows for so much more."""
        choice = self.procedure.choices[number]
        found = [Fraction(0)] * (1 + len(self.procedure.constraints))
        for place in self.limits:
            constraint = self.procedure.constraints[place - 1]
            use = self.procedure.uses[constraint.per.use]
            begun = [
                meant(each.probability)
                for each in choice.outcomes
                if each.runs is None and each.event == use.start and choice.event not in use.events
            ]
            whole = sum(meant(each.probability) for each in choice.outcomes)
            found[place] = -meant(constraint.limit) * (1 + Fraction(1, 10**9)) * sum(begun) / whole
        return tuple(found)

    @cached_property
    def behaviours(self) -> list[tuple[int, ...]]:
        found = []
        for rows in self.flat.behaviours():
            found.append(rows)
            if len(found) > MOST_POLICIES:
                raise ValueError("too many policies")
        return found

    @cached_property
    def policies(self) -> list[ExactPolicy]:
        """All deterministic policies that end almost surely."""
        evaluated = [(rows, self.flat.costs_of(rows)) for rows in self.behaviours]
        return [ExactPolicy(rows, costs) for rows, costs in evaluated if costs is not None]

    @cached_property
    def most(self) -> list[Fraction | float]:
        """The bounds with the documented tolerance."""
        bounds = [
            each.at_most if each.per is None or each.at_most == inf else each.per.carried
            for each in self.procedure.constraints
        ]
        return [b if b == inf else meant(b) + abs(meant(b)) / 10**9 for b in bounds]

    def keeps(self, costs: Costs) -> bool:
        return all(cost <= most for cost, most in zip(costs[1:], self.most, strict=True))

    @cached_property
    def optimum(self) -> Fraction | float:
        """The least primary cost of the deterministic policies that keep the bounds."""
        return min((each.costs[0] for each in self.policies if self.keeps(each.costs)), default=inf)

    @cached_property
    def mixture(self) -> Fraction | float:
        """The least primary cost of mixtures of two policies that keep the bounds."""
        costs = {each.costs for each in self.policies}
        front = [a for a in costs if not any(b != a and all(map(Fraction.__le__, b, a)) for b in costs)]
        best = self.optimum
        for first, second in combinations(front, 2):
            low, high = Fraction(0), Fraction(1)  # the share of the second
            for one, two, most in zip(first[1:], second[1:], self.most, strict=True):
                if isfinite(most) and one != two:
                    edge = (most - one) / (two - one)
                    low, high = (low, min(high, edge)) if two > one else (max(low, edge), high)
                elif one > most:
                    low, high = Fraction(1), Fraction(0)
            if low <= high:
                best = min(best, *(first[0] + share * (second[0] - first[0]) for share in (low, high)))
        return best

    def lie(self, certificate: Certificate, verdict: Verdict) -> str | None:
        """What is false in a verdict, or None."""
        if verdict.lower_bound > self.optimum:
            return f"a lower bound of {verdict.lower_bound!r}, where {float(self.optimum)!r} is optimal"
        if verdict.randomised and verdict.lower_bound > self.mixture:
            return f"a lower bound of {verdict.lower_bound!r}, where a mixture costs {float(self.mixture)!r}"
        if verdict.upper_bound < inf or verdict.costs:
            rows = np.asarray(certificate.plan).tolist()
            if not all(row < 0 or row in own for row, own in zip(rows, self.flat.rows_of, strict=True)):
                return "a plan that takes a row of another state"
            if certificate.extra and not verdict.randomised:
                return "a randomised plan, beside a bound on deterministic ones"
            if len(dict(certificate.extra)) < len(certificate.extra):
                return "a row that is added twice"
            try:
                mixed, rows = self.mixed(rows, certificate.extra)
            except ValueError as error:
                return str(error)
            true = mixed.costs_of(rows)
            if true is None or not self.keeps(true):
                return f"a plan that costs {true} and does not end, or breaks its bounds"
            if any(map(Fraction.__gt__, true, (Fraction(verdict.upper_bound), *verdict.costs[1:]))):
                return f"a plan that costs {true}, not {verdict.upper_bound!r}, {verdict.costs}"
        return None

    def mixed(
        self, rows: Sequence[int], extra: Collection[tuple[int, float]]
    ) -> tuple[ExactProblem, list[int]]:
        """The flat problem with a row for each mixture of rows, and the rows that the plan takes there."""
        flat, taken = self.flat, list(rows)
        successors, costs = list(flat.successors), list(flat.costs)
        owner = {row: state for state, own in enumerate(flat.rows_of) for row in own}
        added: dict[int, list[tuple[int, Fraction]]] = {}
        for row, share in extra:
            if row not in owner or rows[owner[row]] < 0 or row == rows[owner[row]]:
                raise ValueError(f"row {row} is no further row of a state where the plan goes")
            added.setdefault(owner[row], []).append((row, Fraction(share)))
        for state, own in added.items():
            rest = 1 - sum(share for _, share in own)
            if rest <= 0 or min(share for _, share in own) <= 0:
                raise ValueError(f"shares in state {state} are not positive")
            merged: dict[int, Fraction] = {}
            paid = [Fraction(0)] * flat.num_costs
            for row, share in [(rows[state], rest), *own]:
                for target, chance in flat.successors[row].items():
                    merged[target] = merged.get(target, Fraction(0)) + share * chance
                paid = [a + share * b for a, b in zip(paid, flat.costs[row], strict=True)]
            taken[state] = len(costs)
            successors.append(merged)
            costs.append(tuple(paid))
        return replace(flat, successors=tuple(successors), costs=tuple(costs)), taken

    # ----- Exact values, for forgers -----

    @cached_property
    def never(self) -> frozenset[int]:
        """The rows that cost what a bound of 0 forbids."""
        none = {1 + number for number, most in enumerate(self.most) if most == 0} - self.limits
        return frozenset(row for row, costs in enumerate(self.flat.costs) if any(costs[n] for n in none))

    @cached_property
    def offsets(self) -> list[int]:
        return self.procedure.flattening.row_offset.tolist()

    def own_weights(self, activity: int, weights: Sequence[Fraction]) -> list[Fraction]:
        own = [weights[0], *[Fraction(0)] * (self.activities[activity].num_costs - 1)]
        for number, constraint in enumerate(self.procedure.constraints, start=1):
            if activity in constraint.counts:
                own[constraint.counts[activity]] += weights[number]
        return own


def _exact_activity(cssp: CSSP) -> ExactProblem:
    indptr, indices, data = (getattr(cssp.transitions, n).tolist() for n in ("indptr", "indices", "data"))
    successors = []
    for first, last in pairwise(indptr):
        row: dict[int, Fraction] = {}
        for entry in range(first, last):
            if data[entry]:
                row[indices[entry]] = row.get(indices[entry], Fraction(0)) + meant(data[entry])
        whole = sum(row.values())
        successors.append({state: chance / whole for state, chance in row.items()})
    starts = cssp.row_start.tolist()
    return ExactProblem(
        successors=tuple(successors),
        costs=tuple(tuple(map(meant, each)) for each in cssp.costs.T.tolist()),
        rows_of=tuple(map(range, starts, starts[1:])),
        initial={},
        goals=frozenset(np.flatnonzero(cssp.goals).tolist()),
        num_costs=len(cssp.costs),
    )


def ending(flat: ExactProblem, forbidden: Collection[int]) -> tuple[set[int], set[int]]:
    """The states from which a goal is reached almost surely, and the rows that may then be taken."""
    return _ending(flat, frozenset(forbidden))


@lru_cache(1000)
def _ending(flat: ExactProblem, forbidden: frozenset[int]) -> tuple[set[int], set[int]]:
    states = set(range(flat.num_states))
    while True:
        rows = {
            row
            for state in states - flat.goals
            for row in flat.rows_of[state]
            if row not in forbidden and states.issuperset(flat.successors[row])
        }
        near, grows = set(flat.goals), True
        while grows:
            leading = {row for row in rows if near & flat.successors[row].keys()}
            more = {state for state in states - near if not leading.isdisjoint(flat.rows_of[state])}
            near, grows = near | more, bool(more)
        if near == states:
            return states, rows
        states = near


def best_values(flat: ExactProblem, weights: Sequence[Fraction], forbidden: Collection[int] = ()) -> Numbers:
    """The least weighted costs from each state by policy iteration; None where the end is not reached."""
    return _best_values(flat, tuple(weights), frozenset(forbidden))


@lru_cache(1000)
def _best_values(flat: ExactProblem, weights: tuple[Fraction, ...], forbidden: frozenset[int]) -> Numbers:
    states, rows = ending(flat, forbidden)
    paid = {row: sum(w * c for w, c in zip(weights, flat.costs[row], strict=True)) for row in rows}
    policy: dict[int, int] = {}
    near = set(flat.goals)
    while len(near) < len(states):
        for state in sorted(states - near):
            for row in flat.rows_of[state]:
                if row in rows and near & flat.successors[row].keys():
                    policy[state] = row
        near |= policy.keys()
    for _ in range(60):
        values = _solved(flat, policy, paid)
        changed = False
        for state, taken in policy.items():
            options = [row for row in flat.rows_of[state] if row in rows]
            steps = {
                row: paid[row] + sum(p * values[t] for t, p in flat.successors[row].items())
                for row in options
            }
            best = min(options, key=steps.__getitem__)
            if steps[best] < steps[taken]:
                policy[state], changed = best, True
        if not changed:
            break
    return [values.get(state) for state in range(flat.num_states)]


def _solved(
    flat: ExactProblem, policy: dict[int, int], paid: dict[int, Fraction | int]
) -> dict[int, Fraction]:
    """The values of a policy, by elimination of one state after the other."""
    onwards = {state: dict(flat.successors[row]) for state, row in policy.items()}
    costs = {state: Fraction(paid[row]) for state, row in policy.items()}
    order = list(policy)
    for place, state in enumerate(order):
        times = 1 / (1 - onwards[state].pop(state, Fraction(0)))
        onwards[state] = {each: times * share for each, share in onwards[state].items()}
        costs[state] *= times
        for other in order[place + 1 :]:
            share = onwards[other].pop(state, None)
            if share is not None:
                for each, more in onwards[state].items():
                    onwards[other][each] = onwards[other].get(each, Fraction(0)) + share * more
                costs[other] += share * costs[state]
    values = dict.fromkeys(flat.goals, Fraction(0))
    for state in reversed(order):
        values[state] = costs[state] + sum(p * values[t] for t, p in onwards[state].items())
    return values


# ----- Problems -----


COSTS: dict[str, Callable[[Random], float]] = {
    "whole": lambda rng: float(rng.choice((0, 1, 2, 3, 5, 8))),
    "halves": lambda rng: rng.randrange(9) / 4,
    "decimal": lambda rng: rng.choice((0.0, 0.1, 0.2, 0.3, 0.7, 1.1)),
    "wide": lambda rng: rng.choice((0.0, 1.0, 3.0)) * 10.0 ** rng.randrange(-12, 13),
}
CHANCES = {
    "sure": (),
    "dyadic": (0.5, 0.25, 0.75),
    "decimal": (0.1, 0.3, 0.9),
    "tiny": (1e-200, 1e-12, 0.5),
}


def room(rng: Random, cost: str, chance: str, exits: Sequence[str] = ("out",)) -> CSSP:
    """A few states with rows of all kinds: forward, by chance, in circles, nowhere, and almost copies."""
    plan = CSSPBuilder(cost_names=("time", "damage", "fuel"))
    inner = [plan.add_state(f"s{number}") for number in range(rng.choice((1, 1, 2, 2, 3)))]
    goals = [plan.add_goal(label) for label in exits]
    if rng.random() < 0.15:
        plan.add_goal("never")
    trap = plan.add_state("trap") if rng.random() < 0.2 else None
    if trap is not None:
        plan.add_action(trap, "stay", to=trap, costs={"time": COSTS[cost](rng)})
    endless = rng.random() < 0.04
    for place, state in enumerate(inner):
        onwards = inner[place + 1 :] if endless else [*inner[place + 1 :], *goals]
        before: list[tuple[dict[Any, float], dict[str, float]]] = []
        for number in range(rng.choice((1, 2, 2, 3))):
            ahead = rng.choice(onwards or [state])
            to: dict[Any, float] = {ahead: 1.0}
            if CHANCES[chance] and rng.random() < 0.6:
                others = [each for each in (*inner, *goals, trap) if each not in (ahead, None)]
                other = rng.choice(others or [state])
                share = rng.choice(CHANCES[chance])
                to = {ahead: 1.0 if share < 1e-9 else 1.0 - share}
                to[other] = to.get(other, 0.0) + share
            elif number and rng.random() < 0.3:
                to = {rng.choice([each for each in (*inner, trap) if each is not None]): 1.0}
            costs = {name: COSTS[cost](rng) for name in ("time", "damage", "fuel")}
            if before and rng.random() < 0.35:
                to, known = rng.choice(before)
                if rng.random() < 0.3:  # the other way round
                    to = dict(zip(to, reversed(to.values()), strict=True))
                raised = rng.choice(("time", "damage", "fuel", None))
                costs = {name: known[name] + (COSTS[cost](rng) if name == raised else 0.0) for name in known}
            before.append((to, costs))
            plan.add_action(state, str(number), to=to, costs=costs)
    spread = len(inner) > 1 and CHANCES[chance] and rng.random() < 0.3
    if spread:
        share = rng.choice(CHANCES[chance])
        plan.set_initial({inner[0]: 1.0 if share < 1e-9 else 1.0 - share, inner[1]: share})
    else:
        plan.set_initial(inner[0])
    return plan.build()


def procedure(rng: Random) -> HCSSP:
    """Rooms in turn, by choice and by chance, perhaps back again; some of them identical."""
    cost = rng.choice(tuple(COSTS))
    plan = ProcedureBuilder()
    count = rng.choice((1, 2, 2, 3))
    events = [plan.add_event(str(number)) for number in range(count + 1)]
    in_turn = rng.random() < 0.4  # so that a knapsack has all activities in it
    known: list[CSSP] = []
    runs: list[Any] = []

    def activity(*, exits: Sequence[str] = ("out",)) -> Any:
        chance = rng.choice(tuple(CHANCES))
        alike = [each for each in known if len(exits) == 1]
        made = rng.choice(alike) if alike and rng.random() < 0.5 else room(rng, cost, chance, exits)
        if any(made is each for each in known) and rng.random() < 0.5:  # almost the same
            made = made.derive(costs=made.costs * np.array([[rng.choice((0.5, 1.0, 2.0))] for _ in range(3)]))
        if len(exits) == 1:
            known.append(made)
        runs.append(plan.add_activity(f"room {len(runs)}", made))
        return runs[-1]

    for number, event in enumerate(events[:-1]):
        onwards = events[number + 1 :]
        for name in range(1 if in_turn else rng.choice((1, 1, 2))):
            share = rng.choice((0.5, 0.3, 1e-200))
            rest = 1.0 if share < 1e-9 else 1.0 - share
            kind = rng.random() * (0.55 if in_turn else 1.0)
            if kind < 0.45:
                after = onwards[0] if in_turn else rng.choice(onwards)
                outcomes = [Outcome(1.0, after, runs=activity())]
            elif kind < 0.6:
                there = {"left": rng.choice(onwards), "right": rng.choice((*onwards, events[-1]))}
                if there["left"] == there["right"] != events[-1]:
                    there["right"] = events[-1]
                run = activity(exits=("left", "right"))
                outcomes = [Outcome(1.0, there["left"], runs=run, exits=there)]
            elif kind < 0.75:
                outcomes = [Outcome(rest, onwards[0], runs=activity()), Outcome(share, onwards[-1])]
            elif kind < 0.9:
                outcomes = [Outcome(rest, onwards[0], runs=activity()), Outcome(share, events[0])]
            else:
                outcomes = [Outcome(rest, onwards[0]), Outcome(share, onwards[-1], runs=activity())]
            plan.add_choice(event, str(name), to=outcomes)
    if rng.random() < 0.15:  # a detour on which one may stay forever
        aside = plan.add_event("aside")
        plan.add_choice(events[0], "aside", to=[Outcome(1.0, aside)])
        plan.add_choice(aside, "again", to=[Outcome(1.0, aside, runs=activity())])
        plan.add_choice(aside, "leave", to=[Outcome(1.0, events[-1])])
    if not runs:
        plan.add_choice(events[0], "more", to=[Outcome(1.0, events[-1], runs=activity())])
    for name, counted in enumerate(rng.choice((("damage",), ("damage", "fuel"), ("damage", "damage")))):
        kept = [run for run in runs if rng.random() < 0.8] or runs
        plan.add_constraint(str(name), at_most=inf, counts=dict.fromkeys(kept, counted))
    return plan.build(start=events[0], end=events[-1])


def _unbounded(rng: Random) -> CSSP | HCSSP:
    kind = rng.random()
    seed = rng.randrange(10**6)
    if kind < 0.15:
        return room(rng, rng.choice(tuple(COSTS)), rng.choice(tuple(CHANCES)))
    if kind < 0.35:  # what a knapsack settles
        drawn = COSTS[rng.choice(tuple(COSTS))]
        ways = [
            [(drawn(rng), drawn(rng)) for _ in range(rng.choice((2, 3)))]
            for _ in range(rng.choice((1, 2, 3)))
        ]
        rooms = [step(each, rng.choice((0.0, 0.0, 0.25)), rng.random() < 0.2) for each in ways]
        return steps(rooms, inf, [rng.choice((1.0, 1.0, 0.5)) for _ in rooms], rng.choice((0.0, 0.0, 0.5)))
    if kind < 0.9:
        return procedure(rng)
    if kind < 0.94:
        return random_procedure(seed, several_exits=True, cycles=True, exits_part=seed % 2 == 0)
    return random_limits(seed)[1] if kind < 0.97 else random_nesting(seed)


def _bounds(rng: Random, case: Case) -> dict[str, float]:
    """Bounds between what policies cost, at the edge of the tolerance of one, 0, or none."""
    bounds = {}
    for number, constraint in enumerate(case.procedure.constraints, start=1):
        costs = sorted({each.costs[number] for each in case.policies})
        kind, value = rng.random(), rng.choice(costs)
        if constraint.per is not None and constraint.at_most < inf:
            continue  # a limit of a nested procedure stays as it is
        if kind < 0.15:
            bound = 0.0
        elif kind < 0.25:
            bound = inf
        elif kind < 0.6:
            bound = below(value / (1 + Fraction(rng.choice((0, 999, 1000, 1001)), 10**12)))
            bound = nextafter(bound, inf) if rng.random() < 0.3 else bound
        else:
            bound = below((value + rng.choice(costs)) / 2)
        bounds[constraint.name] = bound if bound == inf or bound < 1e300 else 1.0
    return bounds


def cases(seed: int) -> Iterator[Case]:
    """Problems that can be enumerated, without end."""
    rng = Random(seed)
    while True:
        with suppress(ValueError, InvalidProblem):  # too many policies; exits that the next room lacks
            case = Case(_unbounded(rng))
            if case.flat.num_states <= MAX_FLAT_STATES and case.policies:
                names = _bounds(rng, case)
                yield Case(case.problem.with_bounds(names))
            elif not case.policies and rng.random() < 0.1:
                yield case


# ----- True certificates, or what would be one if some rows did not exist -----


def exits(case: Case, activity: int) -> list[tuple[int, int]]:
    return case.procedure.flattening.exits(activity)


def regions(case: Case, tree: Sequence[int], whole: frozenset[int]) -> list[frozenset[int]]:
    """The rows that the leaves of a tree forbid."""
    owner = {row: rows for rows in case.flat.rows_of for row in rows}
    waiting, leaves = [whole], []
    for row in tree:
        region = waiting.pop()
        if row < 0:
            leaves.append(region)
        else:
            waiting += region | {row}, region | (set(owner[row]) - {row})
    return leaves


@dataclass
class Forger:
    """Writes certificates about one problem."""

    case: Case
    rng: Random

    def number(self, near: float = 1.0) -> float:
        """Some amount by which something is changed."""
        return self.rng.choice((1e-9, 2.0**-52, 0.5, 1.0, 3.0, -1.0, 1e9, *TINY)) * (abs(near) or 1.0)

    def tree(self, depth: int = 2) -> list[int]:
        """Branching decisions, mostly where there is something to decide."""
        if depth == 0 or self.rng.random() < 0.3:
            return [-1]
        several = [row for rows in self.case.flat.rows_of if len(rows) > 1 for row in rows]
        row = self.rng.choice(several or range(len(self.case.flat.costs)))
        return [row, *self.tree(depth - 1), *self.tree(depth - 1)]

    def weights(self, region: Collection[int]) -> tuple[float, ...]:
        """The primary cost and prices, at which two policies are equally good; or a refutation's."""
        case, rng = self.case, self.rng
        inside = [each for each in case.policies if not set(region) & set(each.rows)] or case.policies
        prices = [0.0] * len(case.most)
        bounded = [number for number, most in enumerate(case.most) if most < inf]
        if not bounded:
            return (1.0, *prices)
        number = rng.choice(bounded)
        # What only the tolerance allows is refuted as well, sometimes.
        most = rng.choice((case.most[number], meant(case.procedure.constraints[number].at_most)))
        if all(each.costs[1 + number] > most for each in inside):
            prices[number] = rng.choice((1.0, 1.0, 1.0, 0.1, *HUGE[:3], *TINY[1:]))
            return (0.0, *prices)
        if rng.random() < 0.8 and inside:
            one, two = rng.choice(inside).costs, rng.choice(inside).costs
            if one[1 + number] != two[1 + number]:
                slope = (one[0] - two[0]) / (two[1 + number] - one[1 + number])
                prices[number] = below(max(slope, Fraction(0)))
        elif rng.random() < 0.3:
            prices[number] = rng.choice((*HUGE[:3], *TINY))
        return (1.0, *prices)

    def potentials(
        self, values: Numbers, weights: Sequence[float], region: Collection[int], of_plan: bool = False
    ) -> tuple[list[Potential], tuple[float, ...]]:
        """A potential for each activity and the event states, of exact values that are rounded."""
        case, rng = self.case, self.rng
        known = [value for value in values if value is not None]
        least = Fraction(0)
        if any(abs(value) > 1e300 or Fraction(float(value)) != value for value in known):
            least = Fraction(1, 2 ** rng.choice((30, 45, 45)))
        dead = rng.choice((0.0, -1.0, 1e6, below(max(known))))
        doubles = [dead if each is None else below(each - least * abs(each)) for each in values]
        found = []
        for activity, states in enumerate(case.states):
            first, last = case.offsets[activity : activity + 2]
            own = case.own_weights(activity, [Fraction(weight) for weight in weights])
            rows = () if of_plan else tuple(row - first for row in sorted(region) if first <= row < last)
            local = np.array([doubles[state] for state in states])
            found.append(Potential(activity, tuple(map(below, own)), rows, local, of_plan))
        return found, tuple(doubles[: case.procedure.flattening.num_event_states])

    def leaf(
        self,
        region: Collection[int],
        ignored: Collection[int],
        statements: list[Statement],
        potentials: list[Potential],
    ) -> tuple[int | None, float]:
        """A leaf without its claim, with exact values as if the rows in `ignored` did not exist."""
        weights = self.weights(region)
        exact = [Fraction(weight) for weight in weights]
        values = best_values(self.case.flat, exact, {*region, *ignored})
        if values[self.case.procedure.flattening.start] is None:
            return None, inf
        made, events = self.potentials(values, weights, region)
        uses = tuple((a, len(potentials) + a, 1.0) for a in range(len(made)))
        potentials += made
        statements.append(Statement(weights, events, uses))
        return len(statements) - 1, 0.0 if weights[0] else inf

    def written(
        self, ignored: Collection[int] = (), dominated: Sequence[tuple[int, int, int]] = (), depth: int = 2
    ) -> Certificate:
        """A tree with exact values of all leaves, as if the rows in `ignored` did not exist; and a plan."""
        case = self.case
        gone = frozenset(case.offsets[activity] + row for activity, row, _ in dominated)
        tree = self.tree(depth)
        statements: list[Statement] = []
        potentials: list[Potential] = []
        found = regions(case, tree, case.never | gone)
        leaves = [self.leaf(region, ignored, statements, potentials) for region in found]
        bounds = tuple(each.at_most for each in case.procedure.constraints)
        none = np.zeros(0, dtype=np.int64)
        proof = Certificate(
            bounds, tuple(tree), tuple(leaves), none, none, inf, (), tuple(statements), tuple(potentials),
            dominated=tuple(dominated),
        )  # fmt: skip
        proof = self.sharpened(proof)
        kept = [each for each in case.policies if case.keeps(each.costs)]
        if kept and self.rng.random() < 0.5:
            best = min(kept, key=lambda each: each.costs[0])
            proof = self.with_plan(proof, self.rng.choice((best, self.rng.choice(kept))).rows)
        return proof

    def with_plan(
        self, proof: Certificate, rows: Sequence[int], extra: Sequence[tuple[int, float]] = ()
    ) -> Certificate:
        """The same with a plan, and with the values of its costs as far as it ends, wherever its rows are."""
        end = self.case.procedure.flattening.end
        given, (flat, rows) = rows, self.case.mixed(rows, extra)
        flat = replace(flat, rows_of=tuple(range(row, row + 1) if row >= 0 else range(0) for row in rows))
        beside = set(range(len(self.case.flat.costs))) - {*given, *dict(extra)}
        statements, potentials, numbers = list(proof.statements), list(proof.potentials), []
        for cost in range(flat.num_costs):
            weights = [-float(number == cost) for number in range(flat.num_costs)]
            values = best_values(flat, [Fraction(weight) for weight in weights])
            made, events = self.potentials(values, weights, beside, of_plan=True)
            uses = tuple((a, len(potentials) + a, 1.0) for a in range(len(made)))
            numbers.append(len(statements))
            statements.append(Statement(tuple(weights), events, uses))
            potentials += made
        ranks = {end: 0}
        while more := {
            state: 1 + min(ranks[t] for t in flat.successors[row] if t in ranks)
            for state, row in enumerate(rows)
            if state not in ranks and row >= 0 and ranks.keys() & flat.successors[row].keys()
        }:
            ranks |= more
        upper = -statements[numbers[0]].events[self.case.procedure.flattening.start]
        return replace(
            proof,
            plan=np.array(given),
            extra=tuple(extra),
            ranks=np.array([ranks.get(state, len(ranks)) for state in range(flat.num_states)]),
            upper_bound=upper,
            plan_statements=tuple(numbers),
            statements=tuple(statements),
            potentials=tuple(potentials),
        )

    def mixture(self, proof: Certificate) -> Certificate:
        """The same with a plan that takes further rows, mostly where it goes."""
        case, rng = self.case, self.rng
        kept = [each.rows for each in case.policies if case.keeps(each.costs)]
        rows, other = (rng.choice(kept if kept and rng.random() < 0.8 else case.behaviours) for _ in range(2))
        beside = [(s, row) for s, row in enumerate(other) if row >= 0 <= rows[s] != row]
        # Where only the other policy goes, this one does what that does, or nothing.
        careless = rng.random() < 0.2
        merged = [other[s] if row < 0 and not careless else row for s, row in enumerate(rows)]
        extra = []
        for _, row in rng.sample(beside, min(len(beside), rng.randrange(1, 4))):
            extra.append((row, rng.choice((0.5, 0.25, 2.0**-20, 1.0 - 2.0**-30, rng.random() or 0.5, *TINY))))
        return self.with_plan(proof, merged, sorted(extra))

    # ----- Claims as high as the rules allow -----

    def sharpened(self, proof: Certificate, units: bool = False, lift: Lift = min) -> Certificate:
        """The same with the highest events and claims that follow from its potentials, were they right.

        With another `lift`, the best exit of an activity decides what it is worth, not the worst.
        """
        gone = frozenset(self.case.offsets[activity] + row for activity, row, _ in proof.dominated)
        leaves, statements = list(proof.leaves), list(proof.statements)
        with suppress(LookupError, ArithmeticError, ValueError):
            found = regions(self.case, proof.tree, self.case.never | gone)
            for place, region in enumerate(found):
                number = leaves[place][0]
                if number is None or statements[number].parts:
                    continue
                events = self._highest(proof, statements[number], region, lift)
                weights = statements[number].weights
                claim = inf
                if weights[0]:
                    pairs = zip(weights[1:], self.case.most, strict=True)
                    lent = [Fraction(price) * most for price, most in pairs if price and most < inf]
                    claim = below(Fraction(events[self.case.procedure.flattening.start]) - sum(lent))
                    if units and claim < 1e15:
                        paid = {costs[0] for costs in self.case.flat.costs if costs[0]}
                        unit = self.rng.choice([*paid, Fraction(1)])
                        claim = below(-(-Fraction(claim) // unit) * unit)
                leaves[place] = len(statements), claim
                statements.append(replace(statements[number], events=events))
        upper = proof.upper_bound
        with suppress(LookupError, ArithmeticError, ValueError):
            beside = set(range(len(self.case.flat.costs))) - set(np.asarray(proof.plan).tolist())
            beside -= {*dict(proof.extra)}
            for cost, number in enumerate(proof.plan_statements):
                weights = tuple(-float(index == cost) for index in range(self.case.flat.num_costs))
                priced = replace(statements[number], weights=weights)
                events = self._highest(proof, priced, beside, lift)
                statements[number] = replace(statements[number], events=events)
                upper = upper if cost else -events[self.case.procedure.flattening.start]
        return replace(proof, leaves=tuple(leaves), statements=tuple(statements), upper_bound=upper)

    def _highest(
        self, proof: Certificate, given: Statement, region: Collection[int], lift: Lift
    ) -> tuple[float, ...]:
        flat, layout = self.case.flat, self.case.procedure.flattening
        weights = [Fraction(weight) for weight in given.weights]
        levels: dict[int, list[Fraction]] = {}
        for activity, number, share in given.uses:
            values = [Fraction(share) * Fraction(value) for value in proof.potentials[number].values.tolist()]
            before = levels.get(activity, [Fraction(0)] * len(values))
            levels[activity] = [a + b for a, b in zip(before, values, strict=False)]
        nothing = [Fraction(0)] * flat.num_states
        alive, events = ending(flat, region)[1], [Fraction(value) for value in given.events]
        for _ in range(4):
            for state in reversed(range(layout.num_event_states)):
                options = []
                for row in alive.intersection(flat.rows_of[state]):
                    after = sum(w * c for w, c in zip(weights, flat.costs[row], strict=True))
                    for chance, run, start in self.case.ways[row]:
                        own = nothing if run is None else levels.get(run, nothing)
                        if run is None:
                            after += chance * events[start]
                            continue
                        lifts = [events[to] - own[goal] for goal, to in exits(self.case, run)]
                        after += chance * (own[start] + lift(lifts or [Fraction(0)]))
                    options.append(after)
                if options:
                    events[state] = Fraction(below(min(options)))
        return tuple(map(float, events))

    # ----- Parts of certificates that are changed -----

    def some_use(self, proof: Certificate) -> tuple[int, int] | None:
        """A statement of a leaf or of the plan, and one of its uses."""
        numbers = [*{n for n, _ in proof.leaves if n is not None}, *proof.plan_statements]
        found = [(n, place) for n in numbers for place in range(len(proof.statements[n].uses))]
        return self.rng.choice(found) if found else None

    def with_use(self, proof: Certificate, change: Callable[[Use], Sequence[Use]]) -> Certificate:
        """A use replaced by others, or by none."""
        found = self.some_use(proof)
        if found is None:
            return proof
        number, place = found
        uses = list(proof.statements[number].uses)
        uses[place : place + 1] = change(uses[place])
        return with_statement(proof, number, uses=tuple(uses))

    def with_potential(self, proof: Certificate, change: Callable[[Potential], Potential]) -> Certificate:
        """A potential that is used, changed."""
        found = self.some_use(proof)
        if found is None:
            return proof
        number = proof.statements[found[0]].uses[found[1]][1]
        potentials = list(proof.potentials)
        potentials[number] = change(potentials[number])
        return replace(proof, potentials=tuple(potentials))

    def refitted(self, proof: Certificate) -> Certificate:
        """The potentials of each leaf may be infeasible on just the rows that the leaf forbids."""
        statements, potentials, leaves = list(proof.statements), list(proof.potentials), list(proof.leaves)
        with suppress(LookupError):
            for place, region in enumerate(regions(self.case, proof.tree, self.case.never)):
                number = leaves[place][0]
                if number is None:
                    continue
                uses = []
                for activity, used, share in statements[number].uses:
                    first, last = self.case.offsets[activity : activity + 2]
                    rows = tuple(row - first for row in region if first <= row < last)
                    uses.append((activity, len(potentials), share))
                    potentials.append(replace(potentials[used], forbidden=rows))
                leaves[place] = len(statements), leaves[place][1]
                statements.append(replace(statements[number], uses=tuple(uses)))
        return replace(
            proof, statements=tuple(statements), potentials=tuple(potentials), leaves=tuple(leaves)
        )

    def raised(self, potential: Potential) -> Potential:
        """Higher in one state, in some, or in those that no row of a kind can see."""
        rng, values = self.rng, potential.values.copy()
        own = self.case.activities[potential.activity]
        dead = set(range(own.num_states)) - ending(own, potential.forbidden)[0]
        blind = [s for s in range(own.num_states) if all(r in potential.forbidden for r in own.rows_of[s])]
        every = list(range(own.num_states))
        states = rng.choice([[rng.choice(every)], list(own.goals), list(dead), blind, every])
        values[states] += self.number(float(np.abs(values).max()))
        return replace(potential, values=values)


def with_statement(proof: Certificate, number: int, **changes: Any) -> Certificate:
    statements = list(proof.statements)
    statements[number] = replace(statements[number], **changes)
    return replace(proof, statements=tuple(statements))


def with_leaf(proof: Certificate, place: int, number: int | None, claim: float) -> Certificate:
    leaves = list(proof.leaves)
    leaves[place] = number, claim
    return replace(proof, leaves=tuple(leaves))


# ----- Forgeries, rule by rule -----


def forge_tree(forger: Forger, proof: Certificate) -> Certificate:
    """Other rows, regions left out, leaves in another order, regions called empty that are not."""
    rng, tree, leaves = forger.rng, list(proof.tree), list(proof.leaves)
    rows = range(len(forger.case.flat.costs))
    places = [place for place, row in enumerate(tree) if row >= 0]
    kind = rng.randrange(6)
    if kind == 0 and places:
        place = rng.choice(places)
        near = next(own for own in forger.case.flat.rows_of if tree[place] in own)
        tree[place] = rng.choice(rng.choice((near, rows)))
    elif kind == 1 and places:  # one of the two regions is left out
        place = rng.choice(places)
        middle = _after(tree, place + 1)
        last = _after(tree, middle)
        spans = ((0, place), (place, middle), (middle, last))
        before, first, second = (tree[begin:end].count(-1) for begin, end in spans)
        if rng.random() < 0.5:
            tree[place:last] = tree[place + 1 : middle]
            del leaves[before + first : before + first + second]
        else:
            tree[place:last] = tree[middle:last]
            del leaves[before : before + first]
    elif kind == 2:
        rng.shuffle(leaves)
    elif kind in (3, 4):  # a region is split once more, and a half is called empty
        place = rng.choice([place for place, row in enumerate(tree) if row < 0])
        leaf = tree[:place].count(-1)
        single = [own[0] for own in forger.case.flat.rows_of if len(own) == 1]
        row = rng.choice([*single, *[tree[other] for other in places], rng.choice(rows), rng.choice(rows)])
        tree[place : place + 1] = [row, -1, -1]
        whole, empty = leaves[leaf], (None, inf)
        leaves[leaf : leaf + 1] = rng.choice(([whole, empty], [empty, whole], [whole, whole]))
    elif rng.random() < 0.5:
        leaves.pop()
    else:
        tree += rng.choice(([], [-1]))
        leaves += rng.choice(([], [(None, inf)]))
    proof = replace(proof, tree=tuple(tree), leaves=tuple(leaves))
    return forger.refitted(proof) if rng.random() < 0.5 else proof


def _after(tree: Sequence[int], place: int) -> int:
    """Where the subtree that begins at a place ends."""
    open_ends = 1
    while open_ends:
        open_ends += 1 if tree[place] >= 0 else -1
        place += 1
    return place


def forge_leaf(forger: Forger, proof: Certificate) -> Certificate:
    """Weights of either sign and any size, prices without a bound, claims, refutations, empty leaves."""
    rng = forger.rng
    place = rng.randrange(len(proof.leaves))
    number, claim = proof.leaves[place]
    kind = rng.randrange(7)
    if number is None or kind == 0:
        return with_leaf(proof, place, rng.choice((None, *range(len(proof.statements)))), claim)
    statement = proof.statements[number]
    weights = list(statement.weights)
    if kind == 1:
        higher = rng.choice((nextafter(claim, inf), claim + forger.number(claim), inf, -claim, 0.0, *HUGE))
        return with_leaf(proof, place, number, higher)
    if kind == 2:
        index = rng.randrange(len(weights))
        weights[index] = rng.choice((0.0, 1.0, -weights[index], 2.0 * weights[index], -1.0, *HUGE, *TINY))
        return with_statement(proof, number, weights=tuple(weights))
    if kind == 3:  # everything in another unit
        by = rng.choice((0.5, 2.0, 2.0**10, -1.0, 2.0**-10))
        uses = tuple((activity, used, share * by) for activity, used, share in statement.uses)
        events = tuple(event * by for event in statement.events)
        scaled = tuple(weight * by for weight in weights)
        return with_statement(proof, number, weights=scaled, uses=uses, events=events)
    if kind == 4:  # what bounds the cost, or another weight, as a refutation
        return with_leaf(with_statement(proof, number, weights=(0.0, *weights[1:])), place, number, inf)
    if kind == 5:
        events = list(statement.events)
        events[rng.randrange(len(events))] += forger.number(max(map(abs, events)))
        return with_statement(proof, number, events=tuple(events))
    return with_leaf(proof, place, rng.randrange(len(proof.statements)), claim)


def forge_potential(forger: Forger, proof: Certificate) -> Certificate:
    """Potentials that are raised, for other weights, rows or activities, or used in other shares."""
    rng, count = forger.rng, len(forger.case.activities)
    kind = rng.randrange(9) if proof.potentials else 0
    if kind <= 1:
        return forger.with_potential(proof, forger.raised)
    if kind == 2:
        factor = rng.choice((2.0, -1.0, 1.0 + 2.0**-52, 1.0 + 1e-9, 1e300))
        return forger.with_potential(proof, lambda each: replace(each, values=each.values * factor))
    if kind == 3:  # feasible under other weights than those it is used for

        def changed(each: Potential) -> Potential:
            weights = list(each.weights)
            weights[rng.randrange(len(weights))] += forger.number()
            return replace(each, weights=tuple(weights))

        return forger.with_potential(proof, changed)
    if kind == 4:  # infeasible on more rows, or on fewer

        def other(each: Potential) -> Potential:
            rows = range(len(forger.case.activities[each.activity].costs))
            share = rng.choice((0.3, 1.0))
            return replace(each, forbidden=tuple(row for row in rows if rng.random() < share))

        return forger.with_potential(proof, other)
    if kind == 5:
        factor = rng.choice((-1.0, 0.5, 2.0, 1.0 + 2.0**-52, 0.0, 1e300))
        return forger.with_use(proof, lambda use: [(use[0], use[1], use[2] * factor)])
    if kind == 6 and rng.random() < 0.4:  # a valley under weights of 0, which is feasible, less than 0 times

        def turned(use: Use) -> list[Use]:
            states = forger.case.activities[use[0]]
            low = np.full(states.num_states, -abs(forger.number()))
            low[list(states.goals)] = 0.0
            valleys.append(Potential(use[0], (0.0,) * states.num_costs, (), low))
            return [use, (use[0], len(proof.potentials), rng.choice((-1.0, -1.0, 1.0)))]

        valleys: list[Potential] = []
        changed_use = forger.with_use(proof, turned)
        return replace(changed_use, potentials=(*proof.potentials, *valleys))
    if kind == 6:  # half of it and half of another; twice; not at all
        other_one = rng.randrange(len(proof.potentials))

        def split(use: Use) -> list[Use]:
            half, rest = (*use[:2], 0.5), [(use[0], other_one, share) for share in (0.5, -1.0)]
            return rng.choice(([], [use, use], [half, rest[0]], [use, rest[1]]))

        return forger.with_use(proof, split)
    if kind == 7:
        return forger.with_use(proof, lambda use: [(rng.randrange(count), use[1], use[2])])
    other_one = rng.randrange(len(proof.potentials))
    return forger.with_use(proof, lambda use: [(use[0], other_one, use[2])])


def forge_same(forger: Forger, proof: Certificate) -> Certificate:
    """Activities that are said to have equal arrays, and potentials of one that are used for another."""
    rng, count = forger.rng, len(forger.case.activities)
    sizes = [each.rows_of for each in forger.case.activities]
    same: tuple[int, ...] = ()
    for activity, size in enumerate(sizes):
        alike = [other for other in range(activity) if sizes[other] == size]
        first = rng.choice(alike) if alike and rng.random() < 0.8 else rng.randrange(activity + 1)
        same += (first if alike or rng.random() < 0.1 else activity,)
    by_activity: dict[int, list[int]] = {}
    for number, potential in enumerate(proof.potentials):
        by_activity.setdefault(potential.activity, []).append(number)

    def of_twin(use: Use) -> list[Use]:
        twins = [other for other in range(count) if same[other] == same[use[0]] and other in by_activity]
        if not twins:
            return [use]
        twin = rng.choice(twins)
        # That of the twin in the same statement, or any.
        near = use[1] + twin - use[0]
        return [(use[0], near if rng.random() < 0.7 else rng.choice(by_activity[twin]), use[2])]

    if rng.random() < 0.3:  # nothing is said, but believed
        same = (0,) * count
    else:
        proof = replace(proof, same=same)
    for _ in range(rng.randrange(3)):
        proof = forger.with_use(proof, of_twin)
    return proof


def forge_dominated(forger: Forger, _: Certificate) -> Certificate:
    """Rows that are called dominated, with values as if they did not exist."""
    rng, pairs = forger.rng, []
    for _ in range(rng.choice((1, 1, 2, 3))):
        activity = rng.randrange(len(forger.case.activities))
        own = forger.case.activities[activity]
        rows = rng.choice([rows for rows in own.rows_of if len(rows) > 1] or [range(len(own.costs))])
        row, by = rng.choice(rows), rng.choice(rows)
        alike = [r for r in rows if r != row and own.successors[r].keys() == own.successors[row].keys()]
        if alike and rng.random() < 0.8:
            by = rng.choice(alike)
            if rng.random() < 0.7:  # the right way round, if costs can be compared
                row, by = sorted((row, by), key=own.costs.__getitem__, reverse=True)
        pairs.append((activity, row, by))
        if rng.random() < 0.1:
            pairs.append((activity, by, row))
    return forger.written((), pairs, depth=1)


def forge_overlooked(forger: Forger, _: Certificate) -> Certificate:
    """Exact values as if some rows did not exist: dead ends, forbidden ones, those that a bound of 0 bars."""
    rng, flat = forger.rng, forger.case.flat
    rows = rng.sample(range(len(flat.costs)), min(len(flat.costs), rng.choice((1, 1, 2, 3))))
    proof = forger.written(rows, depth=rng.choice((0, 1, 2)))
    if rng.random() < 0.3:  # and may be infeasible there
        for row in rows:
            activity = sum(row >= first for first in forger.case.offsets) - 1
            own = row - forger.case.offsets[activity] if activity >= 0 else -1
            potentials = [
                replace(each, forbidden=(*each.forbidden, own)) if each.activity == activity else each
                for each in proof.potentials
            ]
            proof = replace(proof, potentials=tuple(potentials))
    return proof


def forge_unit(forger: Forger, _: Certificate) -> Certificate:
    """Claims that are rounded up to a multiple of what some row costs."""
    return forger.sharpened(forger.written(depth=1), units=True)


def forge_plan(forger: Forger, proof: Certificate) -> Certificate:
    """Plans that break bounds, never end, cost more, or are evaluated by somebody else's values."""
    rng, case = forger.rng, forger.case
    kind = rng.randrange(7)
    if not len(proof.plan) or kind == 0:
        proof = forger.with_plan(proof, rng.choice(case.behaviours))
        kind = rng.randrange(7)
    plan, ranks = np.array(proof.plan), np.array(proof.ranks)
    if kind == 1:
        upper = proof.upper_bound
        lower = (nextafter(upper, -inf), upper - abs(forger.number(upper)), 0.0)
        return replace(proof, upper_bound=rng.choice(lower))
    if kind == 2:  # another row, or none, with ranks that may still decrease
        taken = [state for state, row in enumerate(plan) if row >= 0]
        if len(taken) > 1 and rng.random() < 0.5:
            one, other = rng.sample(taken, 2)
            plan[one] = plan[other]
            return forger.with_plan(proof, plan.tolist())
        state = rng.choice([s for s, rows in enumerate(case.flat.rows_of) if rows])
        plan[state] = rng.choice((*case.flat.rows_of[state], -1, rng.randrange(len(case.flat.costs))))
        return replace(proof, plan=plan)
    if kind == 3:
        ranks[rng.randrange(len(ranks))] = rng.randrange(-3, 9)
        return replace(proof, ranks=ranks if rng.random() < 0.8 else np.arange(len(ranks)))
    if kind == 4:
        numbers = list(proof.plan_statements)
        rng.shuffle(numbers)
        return replace(proof, plan_statements=tuple(numbers))
    if kind == 5:  # what holds on the plan's rows alone serves a leaf
        return (
            _values_of_plan(forger, proof)
            if rng.random() < 0.7
            else forger.with_potential(proof, lambda each: replace(each, of_plan=not each.of_plan))
        )
    number = rng.choice(proof.plan_statements)
    events = list(proof.statements[number].events)
    start = case.procedure.flattening.start
    events[start if rng.random() < 0.5 else rng.randrange(len(events))] += abs(forger.number(events[start]))
    proof = with_statement(proof, number, events=tuple(events))
    return replace(proof, upper_bound=-proof.statements[proof.plan_statements[0]].events[start])


def forge_mixture(forger: Forger, proof: Certificate) -> Certificate:
    """Randomised plans with other shares, rows or values, or beside bounds on deterministic plans."""
    rng, case = forger.rng, forger.case
    kind = rng.randrange(8)
    if kind:  # a bound on all policies, which may be true
        proof = forger.written(depth=0)
    proof = forger.mixture(proof)
    extra, plan = list(proof.extra), np.array(proof.plan)
    if kind == 1:
        upper = proof.upper_bound
        lower = (nextafter(upper, -inf), upper - abs(forger.number(upper)), 0.0)
        return replace(proof, upper_bound=rng.choice(lower))
    if kind == 2 and extra:
        place = rng.randrange(len(extra))
        share = rng.choice((0.0, -0.5, 1.0, 1.5, float("nan"), inf, extra[place][1] * 0.5, 1e-9, 0.999))
        extra[place] = extra[place][0], share
        return replace(proof, extra=tuple(extra))
    if kind == 3:
        row = rng.choice((-1, len(case.flat.costs), rng.randrange(len(case.flat.costs))))
        row = rng.choice((row, row, rng.choice(plan.tolist()), *dict(extra)))
        added = (row, rng.choice((0.5, 0.25, 1e-9)))
        return replace(proof, extra=(added,) if rng.random() < 0.3 else (*extra, added))
    if kind == 4 and extra:  # the values of a plan with other shares, or without the further rows
        others = [(row, rng.choice((0.5 / len(extra), share * rng.random()))) for row, share in extra]
        others = [(row, share) for row, share in others if share > 0.0]
        alone = forger.with_plan(proof, plan.tolist(), others if rng.random() < 0.7 else ())
        return replace(alone, extra=proof.extra)
    if kind == 5 and extra:  # those of the plan with them, and other rows in their place
        plan[rng.randrange(len(plan))] = rng.choice([row for row, _ in extra])
        return replace(proof, plan=plan, extra=tuple(extra[1:]) if rng.random() < 0.5 else proof.extra)
    if kind == 6:
        numbers = [n for n, each in enumerate(proof.potentials) if each.of_plan]
        potentials = list(proof.potentials)
        number = rng.choice(numbers)
        values = potentials[number].values.copy()
        raised = rng.sample(range(len(values)), rng.randrange(1, len(values)))
        values[raised] += rng.choice((abs(forger.number(1.0)), 1.0, 0.5))
        potentials[number] = replace(potentials[number], values=values)
        proof = replace(proof, potentials=tuple(potentials))
        return forger.sharpened(proof) if rng.random() < 0.5 else proof
    return proof


def _values_of_plan(forger: Forger, proof: Certificate) -> Certificate:
    """All policies are said to cost what the plan costs."""
    case = forger.case
    weights = forger.weights(())
    beside = set(range(len(case.flat.costs))) - {*np.asarray(proof.plan).tolist(), *dict(proof.extra)}
    values = best_values(case.flat, [Fraction(weight) for weight in weights], beside)
    of_plan = forger.rng.random() < 0.8
    made, events = forger.potentials(values, weights, case.never, of_plan=of_plan)
    uses = tuple((a, len(proof.potentials) + a, 1.0) for a in range(len(made)))
    statements = (*proof.statements, Statement(weights, events, uses))
    leaves = ((len(proof.statements), 0.0 if weights[0] else inf),)
    potentials = (*proof.potentials, *made)
    return forger.sharpened(
        replace(proof, tree=(-1,), leaves=leaves, statements=statements, potentials=potentials)
    )


def forge_knapsack(forger: Forger, proof: Certificate) -> Certificate:
    """Visits too high, classes that are missing, other trees, parts twice, huge prices and claims."""
    case, rng = forger.case, forger.rng
    wrong = rng.randrange(22)  # in which way; in none from 14 on
    bounded = [number for number, most in enumerate(case.most) if most < inf]
    weights = [1.0, *[0.0] * len(case.most)]
    if bounded:
        found = forger.weights(())
        weights[1:] = found[1:] if found[0] and rng.random() < 0.7 else weights[1:]
        if not any(weights[1:]):
            weights[1 + rng.choice(bounded)] = rng.choice((1.0, 2.0, 0.1, *HUGE[:4], *TINY))
    tree, place = (-1,), 0
    if rng.random() < 0.4:
        tree, place = (rng.randrange(len(case.flat.costs)), -1, -1), rng.randrange(2)
    found = regions(case, tree, case.never)
    region, potentials = found[place], list(proof.potentials)
    parts: list[Part] = []
    for activity in range(len(case.activities)):
        if wrong == 0 and rng.random() < 0.3:
            continue
        parts.append(_part(forger, activity, weights, region, potentials, wrong))
    visits = _visits(case, region, careless=wrong == 13)
    if wrong == 1:
        alive = ending(case.flat, region)[0]
        dead = [state for state in range(len(visits)) if state not in alive]
        for state in rng.choice((dead, [rng.randrange(len(visits))])):
            visits[state] += abs(forger.number())
    elif wrong == 2:
        parts.append(rng.choice(parts) if parts else (0, (-1,), (((), (), ()),)))
    elif wrong == 3 and parts:
        activity, tree, classes = parts.pop()
        parts.append((activity, tree, rng.choice((classes[1:], classes[:-1], classes[::-1]))))
    elif wrong == 4 and parts:
        activity, tree, classes = parts.pop()
        parts.append((rng.randrange(len(case.activities)), tree, classes))
    elif wrong == 5:
        weights[rng.randrange(len(weights))] *= rng.choice((2.0, 0.5, -1.0, 1.0 + 2.0**-52))
    known = sorted({each.costs[0] for each in case.policies}) or [Fraction(1)]
    aim = below(case.optimum if case.optimum < inf else known[0])
    near = [aim * (1 + rng.choice((-1, 1)) * step) for step in (2.0**-52, 2.0**-30, 1e-3, 0.5)]
    claims = [aim, nextafter(aim, inf), below(rng.choice(known)), *near]
    claim = rng.choice(HUGE if wrong == 11 else claims)
    statement = Statement(tuple(weights), tuple(visits), (), tuple(parts))
    statements = [statement]
    leaves = [forger.leaf(each, (), statements, potentials) for each in found]
    leaves[place] = 0, claim
    return forger.sharpened(replace(
        proof, tree=tree, leaves=tuple(leaves), statements=tuple(statements), potentials=tuple(potentials),
        plan=(), ranks=(), upper_bound=inf, plan_statements=(), same=(), dominated=(),
    ))  # fmt: skip


def _part(
    forger: Forger,
    activity: int,
    weights: Sequence[float],
    region: frozenset[int],
    potentials: list[Potential],
    wrong: int,
) -> Part:
    """An activity with classes of its policies, and exact values for each."""
    case, rng = forger.case, forger.rng
    own, first = case.activities[activity], case.offsets[activity]
    several = [first + row for rows in own.rows_of if len(rows) > 1 for row in rows]
    tree: tuple[int, ...] = (-1,)
    if rng.random() < 0.7:  # every policy is a class
        for rows in [rows for rows in own.rows_of if len(rows) > 1][:3]:
            tree = tuple(each for row in rows[1:] for each in (first + row, *tree)) + tree
    elif several and rng.random() < 0.8:
        tree = (rng.choice(several), -1, -1)
    elif wrong == 6:
        tree = (rng.randrange(len(case.flat.costs)), -1, -1)
    priced = [0.0, *weights[1:]], [1.0, *weights[1:]]
    kinds = [1.0, *[0.0] * len(weights[1:])], *priced
    classes = []
    for leaf in regions(case, tree, region):
        rows = [row - first for row in sorted(leaf) if first <= row < first + len(own.costs)]
        uses: list[tuple[Use, ...]] = []
        for kind in kinds:
            exact = case.own_weights(activity, [Fraction(weight) for weight in kind])
            unseen = rng.sample(range(len(own.costs)), 1) if wrong == 7 and rng.random() < 0.5 else []
            values = best_values(own, exact, {*rows, *unseen})
            known = [value for value in values if value is not None]
            least = Fraction(0)
            if any(abs(value) > 1e300 or Fraction(float(value)) != value for value in known):
                least = Fraction(1, 2**45)
            dead = rng.choice((0.0, 1e6))
            local = np.array([dead if each is None else below(each - least * each) for each in values])
            if wrong == 8 and rng.random() < 0.3:
                local[rng.randrange(len(local))] += forger.number()
            if wrong == 12:  # an exit that is worth less than the others
                local[rng.choice(sorted(own.goals))] -= abs(forger.number())
            uses.append(((activity, len(potentials), -1.0 if wrong == 9 and rng.random() < 0.2 else 1.0),))
            potentials.append(Potential(activity, tuple(map(below, exact)), tuple(rows), local))
        classes.append(tuple(uses))
    if wrong == 10 and len(classes) > 1:
        classes[0] = classes[1]
    return activity, tree, tuple(classes)


def _visits(case: Case, region: Collection[int], careless: bool) -> list[float]:
    """How often event states are visited at least, where nothing is left to choose.

    Who is careless counts an exit although there is another.
    """
    layout, alive = case.procedure.flattening, ending(case.flat, region)[0]
    visits = [0.0] * layout.num_event_states
    for _ in range(12):
        more = [Fraction(state == layout.start) for state in range(len(visits))]
        for state, times in enumerate(visits):
            rows = [row for row in case.flat.rows_of[state] if row not in region]
            for chance, run, start in case.ways[rows[0]] if len(rows) == 1 else ():
                after = {start} if run is None else {to for _, to in exits(case, run)}
                if len(after) == 1 or (after and careless):
                    more[after.pop()] += Fraction(times) * chance
        visits = [below(times) if state in alive else 0.0 for state, times in enumerate(more)]
    return visits


RULES: dict[str, Callable[[Forger, Certificate], Certificate]] = {
    "tree": forge_tree,
    "leaf": forge_leaf,
    "potential": forge_potential,
    "same": forge_same,
    "dominated": forge_dominated,
    "overlooked rows": forge_overlooked,
    "unit": forge_unit,
    "plan": forge_plan,
    "mixture": forge_mixture,
    "knapsack": forge_knapsack,
}


@dataclass(frozen=True)
class Forgery:
    """A certificate about a problem that breaks a rule, or almost."""

    rule: str
    case: Case
    certificate: Certificate

    def outcome(self, sample: bool) -> str:
        """What the checker makes of it: "refused", "true", or in which way it is fooled.

        What double precision refuses is checked in integers, too, if it is in the `sample`.
        """
        first = self._outcome(exact=False)
        second = self._outcome(exact=True) if sample or first != "refused" else first
        return first if first == second else f"{first}, but in exact mode: {second}"

    def _outcome(self, exact: bool) -> str:
        try:
            verdict = check(self.case.procedure, self.certificate, exact=exact)
        except (NotProven, InvalidCertificate):
            return "refused"
        return self.case.lie(self.certificate, verdict) or "true"


def forgeries(seed: int, each: int = 60) -> Iterator[Forgery]:
    """Forgeries of all rules, some for each of random problems, without end."""
    for number, case in enumerate(cases(seed)):
        rng = Random(f"{seed} {number}")
        forger = Forger(case, rng)
        proofs = [forger.written(), forger.written(depth=0), forger.written(depth=1)]
        if case.policies and (solved := solve(case.problem).certificate) is not None:
            proofs.append(solved)
        if case.policies and rng.random() < 0.3:
            proofs.append(solve(case.problem, policies="randomised").certificate)
        for _ in range(each):
            rule = rng.choice(tuple(RULES))
            with np.errstate(over="ignore", invalid="ignore"):
                forged = RULES[rule](forger, rng.choice(proofs))
            if rule not in ("knapsack", "mixture") and rng.random() < 0.6:
                forged = forger.sharpened(forged, rule == "unit", max if rng.random() < 0.15 else min)
            yield Forgery(rule, case, forged)
