"""Proofs for small problems, by a search of the tests' own: enumeration, and linear programs for the values.

Nothing of the package's solvers is used. The values come from a general-purpose linear program, right to
about nine digits only, so that the builder has something to mend.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from brute_force_procedures import AllPolicies, brute_force_flat
from hcssp.checker.format import Certificate
from hcssp.cssp.model import CSSP, FloatArray
from hcssp.procedure import HCSSP
from hcssp.proofs.builder import ProofBuilder

TOLERANCE = 1e-9


@dataclass(frozen=True)
class Proof:
    """A certificate beside the truth: the least cost of all plans, ``inf`` if none keeps the bounds."""

    problem: CSSP | HCSSP
    certificate: Certificate
    optimum: float
    builder: ProofBuilder


class ProofSearch:
    """Branch and bound over a few policies that are all known."""

    def __init__(self, problem: CSSP | HCSSP) -> None:
        self.problem = problem
        self.proof = ProofBuilder(problem)
        self.layout = self.proof.layout
        self.flat = self.layout.flattening.cssp
        self.policies: AllPolicies = brute_force_flat(self.flat)
        bounds = self.flat.bounds
        self.allowed = bounds + TOLERANCE * np.abs(bounds)
        best = self.policies.optimum(bounds)
        self.optimum = np.inf if best is None else best[0]
        self.best = None if best is None else best[1]

    def run(self, max_nodes: int = 10_000) -> Proof:
        """Search, and stop after `max_nodes` nodes whatever is still open."""
        waiting = [self.proof.root]
        while waiting and max_nodes:
            max_nodes -= 1
            node = waiting.pop(0)
            row = self.treat(node)
            if row is not None:
                waiting += self.proof.branch(node, row)
        if self.best is not None:
            self.proof.set_plan(self._own_rows(self.best))
        return Proof(self.problem, self.proof.certificate(), self.optimum, self.proof)

    def treat(self, node: int) -> int | None:
        """Prove what can be proven about a region; a row to branch on if that is not enough."""
        region = self.proof.region(node)
        inside = self._inside(region)
        if not len(inside):
            assert self.proof.refute_empty(node)
            return None
        costs = self.policies.costs[inside]
        weights = self._separating(costs)
        if weights is not None:
            assert self.proof.refute(node, weights, *self.uses(node, np.append(0.0, weights)))
            return None
        prices = self._prices(costs)
        bound = self.proof.prove(node, prices, *self.uses(node, np.append(1.0, prices)))
        if bound >= self.optimum - 1e-7 * (1.0 + abs(self.optimum)):
            return None
        return self._undecided(inside)

    def uses(self, node: int, weights: FloatArray) -> tuple[list[tuple[int, int, float]], FloatArray]:
        """Potentials of all activities and of the event states under `weights`."""
        return self.proof.flat_uses(node, weights, self.values(weights, self.proof.region(node)))

    def values(self, weights: FloatArray, region: np.ndarray) -> FloatArray:
        """The least expected costs of all states under `weights`; nan where the end is not reached surely."""
        flat = self.flat
        states, rows = self.layout.flat.almost_sure(~region)
        kept = np.flatnonzero(rows)
        matrix = flat.transitions.toarray()[kept]
        system = -matrix
        system[np.arange(len(kept)), flat.row_state[kept]] += 1.0
        bounds = [(0.0, 0.0) if goal else (0.0, None) for goal in flat.goals]
        bounds = [limit if alive else (0.0, 0.0) for limit, alive in zip(bounds, states, strict=True)]
        if not len(kept):
            return np.where(states, 0.0, np.nan)
        answer = linprog(-np.ones(flat.num_states), system, weights @ flat.costs[:, kept], bounds=bounds)
        assert answer.status == 0, answer.message
        return np.where(states, answer.x, np.nan)

    def _own_rows(self, rows: np.ndarray) -> np.ndarray:
        """A policy's rows as the problem itself numbers them."""
        if isinstance(self.problem, HCSSP):
            return rows
        own = np.full(self.problem.num_states, -1)
        own[~self.problem.goals] = np.where(rows[2:] >= 0, rows[2:] - 1, -1)
        return own

    def _inside(self, region: np.ndarray) -> np.ndarray:
        """The policies that avoid a region's forbidden rows wherever they go."""
        rows = self.policies.rows
        return np.flatnonzero(~np.any((rows >= 0) & region[rows], axis=1))

    def _separating(self, costs: FloatArray) -> FloatArray | None:
        """Weights under which every policy exceeds the bounds, if there are any."""
        bounded = np.flatnonzero(np.isfinite(self.allowed))
        if not len(bounded):
            return None
        excess = costs[:, 1:][:, bounded] - self.allowed[bounded]
        best = _game(excess, np.zeros(len(excess)), total=1.0)
        if best is None or np.min(excess @ best) <= 1e-7:
            return None
        weights = np.zeros(len(self.allowed))
        weights[bounded] = best
        return weights

    def _prices(self, costs: FloatArray) -> FloatArray:
        """Prices under which the least Lagrangian of the policies is as large as it gets."""
        prices = np.zeros(len(self.allowed))
        bounded = np.flatnonzero(np.isfinite(self.allowed))
        if len(bounded):
            found = _game(costs[:, 1:][:, bounded] - self.allowed[bounded], costs[:, 0], most=1e6)
            prices[bounded] = 0.0 if found is None else found
        return prices

    def _undecided(self, inside: np.ndarray) -> int:
        """A row that some policies of the region use and others, which also go there, do not."""
        rows = self.policies.rows[inside]
        for state in range(rows.shape[1]):
            used = np.unique(rows[rows[:, state] >= 0, state])
            if len(used) > 1:
                return int(used[0])
        raise AssertionError("one policy is left, and its bound is its cost")


def _game(
    slopes: FloatArray, base: FloatArray, total: float | None = None, most: float | None = None
) -> FloatArray | None:
    """The x >= 0 for which the least of ``base + slopes @ x`` is largest."""
    count = slopes.shape[1]
    objective = np.append(np.zeros(count), -1.0)
    above = np.hstack([-slopes, np.ones((len(slopes), 1))])
    equal = None if total is None else (np.append(np.ones(count), 0.0)[np.newaxis], np.array([total]))
    answer = linprog(
        objective,
        above,
        base,
        *(equal or (None, None)),
        bounds=[*[(0.0, most)] * count, (None, None)],
    )
    return np.maximum(answer.x[:count], 0.0) if answer.status == 0 else None


def searched(problem: CSSP | HCSSP, max_nodes: int = 10_000) -> Proof:
    """A proof about `problem`; complete unless `max_nodes` interrupts it."""
    return ProofSearch(problem).run(max_nodes)
