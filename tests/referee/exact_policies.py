"""Every deterministic policy of a small problem, in rational numbers: the referee's truth.

Nothing is rounded, so nothing needs a tolerance: a bound is kept or it is not, a policy ends with certainty
or it does not (on the graph), and a lower bound is at most the optimum or it is wrong. The floating-point
numbers of a problem are taken for what they are; probabilities that are dyadic sum to one exactly.

It shares no code with the package beyond the arrays of the (flat) problem. Policies that differ only where
they never go are one policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import isinf

import numpy as np

from hcssp.cssp.model import CSSP
from hcssp.procedure.model import HCSSP

NOWHERE = -1

Costs = tuple[Fraction, ...]


class TooManyPolicies(ValueError):
    """Enumeration is for small problems."""


@dataclass(frozen=True)
class ExactPolicy:
    """A policy that ends with certainty: its row in every state that it visits, and what it costs."""

    rows: tuple[int, ...]
    costs: Costs

    def keeps(self, bounds: Sequence[float], allowances: Sequence[Fraction] | None = None) -> bool:
        """Whether the secondary costs are within `bounds`, each exceeded by its allowance at most."""
        allowed = [Fraction(0)] * len(bounds) if allowances is None else allowances
        return all(
            isinf(bound) or cost <= max(Fraction(bound), Fraction(repr(float(bound)))) + more
            for cost, bound, more in zip(self.costs[1:], bounds, allowed, strict=True)
        )


@dataclass(frozen=True)
class EveryPolicy:
    """All policies of a problem that end with certainty."""

    policies: tuple[ExactPolicy, ...]

    def optimum(self, bounds: Sequence[float]) -> ExactPolicy | None:
        """The cheapest policy that keeps the bounds exactly; None if none does."""
        kept = [policy for policy in self.policies if policy.keeps(bounds)]
        return min(kept, key=lambda policy: policy.costs[0], default=None)


def every_policy(problem: CSSP | HCSSP, most: int = 5000) -> EveryPolicy:
    """Enumerate and evaluate.

    Raises
    ------
    TooManyPolicies
        If there are more than `most`, proper or not.
    """
    exact = ExactProblem.of(problem)
    found = []
    for count, rows in enumerate(exact.behaviours()):
        if count >= most:
            raise TooManyPolicies(f"more than {most} policies")
        costs = exact.costs_of(rows)
        if costs is not None:
            found.append(ExactPolicy(rows, costs))
    return EveryPolicy(tuple(found))


@dataclass(frozen=True, eq=False)
class ExactProblem:
    """A flat problem in rational numbers.

    Attributes
    ----------
    successors
        For each row the states it may lead to, with their probabilities.
    costs
        For each row its costs, the primary first.
    rows_of
        The rows of each state.
    initial
        The states it may begin in, with their probabilities.
    goals
        The states that end it.
    num_costs
        How many costs there are, the primary among them.
    """

    successors: tuple[dict[int, Fraction], ...]
    costs: tuple[Costs, ...]
    rows_of: tuple[range, ...]
    initial: dict[int, Fraction]
    goals: frozenset[int]
    num_costs: int

    @classmethod
    def of(cls, problem: CSSP | HCSSP) -> ExactProblem:
        flat = problem.flattening.cssp if isinstance(problem, HCSSP) else problem
        indptr, indices = flat.transitions.indptr.tolist(), flat.transitions.indices.tolist()
        data = flat.transitions.data.tolist()
        successors = []
        for row in range(flat.num_rows):
            entries: dict[int, Fraction] = {}
            for entry in range(indptr[row], indptr[row + 1]):
                if data[entry] > 0.0:
                    entries[indices[entry]] = entries.get(indices[entry], Fraction(0)) + Fraction(data[entry])
            successors.append(entries)
        starts = flat.row_start.tolist()
        return cls(
            successors=tuple(successors),
            # A cost of 1.2 means 6/5, as certificates read it; its double is a little less.
            costs=tuple(tuple(Fraction(repr(cost)) for cost in each) for each in flat.costs.T.tolist()),
            rows_of=tuple(range(*pair) for pair in pairwise(starts)),
            initial={s: Fraction(p) for s, p in enumerate(flat.initial.tolist()) if p > 0.0},
            goals=frozenset(np.flatnonzero(flat.goals).tolist()),
            num_costs=len(flat.costs),
        )

    @property
    def num_states(self) -> int:
        return len(self.rows_of)

    @cached_property
    def sums_to_one(self) -> bool:
        """Whether all probabilities sum to one exactly, so that the problem means what it says."""
        sums = [sum(row.values()) for row in self.successors]
        return all(total == 1 for total in [*sums, sum(self.initial.values())])

    def behaviours(self) -> Iterator[tuple[int, ...]]:
        """All ways to act, told apart only where they go; one that is stuck in a state has no row there."""
        unfinished = [(NOWHERE,) * self.num_states]
        while unfinished:
            rows = unfinished.pop()
            # Goals have no rows.
            undecided = [s for s in self._visited(rows) if rows[s] == NOWHERE and self.rows_of[s]]
            if not undecided:
                yield rows
                continue
            state = min(undecided)
            unfinished += [(*rows[:state], row, *rows[state + 1 :]) for row in self.rows_of[state]]

    def ends(self, rows: Sequence[int]) -> bool:
        """Whether a goal can be reached from everywhere that the policy goes: decided on the graph."""
        visited = self._visited(rows)
        ending = {state for state in visited if state in self.goals}
        grows = True
        while grows:
            fresh = {
                state
                for state in visited - ending
                if rows[state] != NOWHERE and not ending.isdisjoint(self.successors[rows[state]])
            }
            ending |= fresh
            grows = bool(fresh)
        return ending == visited

    def costs_of(self, rows: Sequence[int]) -> Costs | None:
        """The expected costs of a policy, by elimination of state after state; None if it may not end.

        A state that is eliminated is replaced, wherever it is a successor, by its own successors and costs.
        """
        if not self.ends(rows):
            return None
        states = sorted(self._visited(rows) - self.goals)
        onwards = {state: dict(self.successors[rows[state]]) for state in states}
        costs = {state: list(self.costs[rows[state]]) for state in states}
        start = self.num_states
        onwards[start], costs[start] = dict(self.initial), [Fraction(0)] * self.num_costs
        for position, state in enumerate(states):
            leaving, paid = onwards.pop(state), costs.pop(state)
            times = 1 / (1 - leaving.pop(state, Fraction(0)))
            leaving = {each: times * share for each, share in leaving.items() if each not in self.goals}
            paid = [times * cost for cost in paid]
            for other in (*states[position + 1 :], start):
                share = onwards[other].pop(state, None)
                if share is None:
                    continue
                for each, more in leaving.items():
                    onwards[other][each] = onwards[other].get(each, Fraction(0)) + share * more
                costs[other] = [cost + share * more for cost, more in zip(costs[other], paid, strict=True)]
        return tuple(costs[start])

    def _visited(self, rows: Sequence[int]) -> set[int]:
        """The states that the policy can come to, goals included."""
        visited = set(self.initial)
        waiting = list(visited)
        while waiting:
            row = rows[waiting.pop()]
            if row != NOWHERE:
                fresh = [state for state in self.successors[row] if state not in visited]
                visited.update(fresh)
                waiting += fresh
        return visited


def round_up(exact: Fraction) -> float:
    """The least double that is not below a number."""
    near = float(exact)
    return near if Fraction(near) >= exact else float(np.nextafter(near, np.inf))
