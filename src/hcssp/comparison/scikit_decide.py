"""scikit-decide as a contestant: its solver CIDual, heuristic search in the dual space of constrained SSPs.

The solver asks the problem in Python, state by state. What it calls the utility of the first state is the
value at its multipliers, with the worth of the bounds still in it; so the plan that it found, which may draw
lots, is evaluated by our own exact evaluation, and that is its value.

Reference: Trevizan et al., *Heuristic Search in Dual Space for Constrained Stochastic Shortest Path
Problems*, 2016.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np

from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import RandomisedPolicy
from hcssp.evaluation.exact import evaluate
from hcssp.exchange.extras import extra
from hcssp.procedure import HCSSP

KEPT = 1e-6
"""A bound counts as kept by its plan if it is exceeded by no more than this share: it is that precise."""


def run_scikit_decide(problem: HCSSP) -> Callable[[], tuple[float | None, str]]:
    """The question to the solver; asking it answers with its plan's value, None without one, and a remark.

    Raises
    ------
    MissingDependency
        If scikit-decide is not installed.
    """
    extra("skdecide", "peers", "a comparison with scikit-decide")
    flat = problem.flattening.cssp
    domain = _domain_of(flat)

    def ask() -> tuple[float | None, str]:
        from skdecide.hub.solver.idual import CIDual

        with CIDual(domain_factory=lambda: domain) as solver:
            solver.solve()
            policy = solver.get_policy()
        return _value(flat, policy)

    return ask


def _value(flat: CSSP, policy: Any) -> tuple[float | None, str]:
    """The exact cost of the plan that it found, if that keeps the bounds."""
    probabilities = np.zeros(flat.num_rows)
    for state, (actions, _) in policy.items():
        weights = {int(action): max(0.0, float(weight)) for action, weight in actions}
        total = sum(weights.values())
        if int(state) == flat.num_states or flat.goals[int(state)] or total <= 0.0:
            continue
        for row, weight in weights.items():
            probabilities[row] = weight / total
    found = evaluate(flat, RandomisedPolicy(flat, probabilities))
    broken = found.violations(KEPT)
    if broken:
        return None, f"its plan breaks the bounds on {', '.join(broken)}"
    return float(found.costs[0]), ""


def _domain_of(flat: CSSP) -> Any:
    """The flat problem as a domain of scikit-decide; a first state draws the one that it begins in."""
    skdecide = extra("skdecide", "peers", "a comparison with scikit-decide")
    from skdecide.builders import domain as traits

    moves, begin = flat.transitions.tocsr(), flat.num_states
    starts = [(int(state), float(flat.initial[state])) for state in np.flatnonzero(flat.initial)]

    class Listed(skdecide.EnumerableSpace):  # type: ignore[misc, name-defined]
        def __init__(self, elements: Any) -> None:
            self._elements = elements

        def get_elements(self) -> Any:
            return self._elements

        def contains(self, x: Any) -> bool:
            return x in self._elements

    class Flat(
        skdecide.Domain,  # type: ignore[misc, name-defined]
        traits.SingleAgent,  # type: ignore[misc]
        traits.Sequential,  # type: ignore[misc]
        traits.EnumerableTransitions,  # type: ignore[misc]
        traits.Actions,  # type: ignore[misc]
        traits.Goals,  # type: ignore[misc]
        traits.DeterministicInitialized,  # type: ignore[misc]
        traits.Markovian,  # type: ignore[misc]
        traits.FullyObservable,  # type: ignore[misc]
        traits.PositiveCosts,  # type: ignore[misc]
        traits.Constrained,  # type: ignore[misc]
    ):
        T_state = T_observation = T_event = int
        T_value, T_info, T_predicate = float, None, bool

        def _get_action_space_(self) -> Any:
            return Listed(range(flat.num_rows))

        def _get_applicable_actions_from(self, memory: Any) -> Any:
            state = int(memory)
            if state == begin:
                return Listed([0])
            return Listed(range(int(flat.row_start[state]), int(flat.row_start[state + 1])))

        def _get_next_state_distribution(self, memory: Any, action: Any) -> Any:
            if int(memory) == begin:
                return skdecide.DiscreteDistribution(starts)
            part = slice(moves.indptr[action], moves.indptr[action + 1])
            pairs = zip(moves.indices[part].tolist(), moves.data[part].tolist(), strict=True)
            return skdecide.DiscreteDistribution(list(pairs))

        def _get_transition_value(self, memory: Any, action: Any, next_state: Any = None) -> Any:
            return skdecide.Value(cost=0.0 if int(memory) == begin else float(flat.costs[0, action]))

        def _is_transition_value_dependent_on_next_state_(self) -> bool:
            return False

        def _is_goal(self, observation: Any) -> bool:
            return int(observation) != begin and bool(flat.goals[int(observation)])

        def _is_terminal(self, state: Any) -> bool:
            return self._is_goal(state)

        def _get_goals_(self) -> Any:
            return skdecide.ImplicitSpace(self._is_goal)

        def _get_initial_state_(self) -> int:
            return begin

        def _get_observation_space_(self) -> Any:
            return Listed(range(begin + 1))

        def _get_constraints_(self) -> Any:
            from skdecide.core import BoundConstraint

            return [
                BoundConstraint(
                    lambda memory, action, state, index=index: (
                        0.0 if int(memory) == begin else float(flat.costs[1 + index, action])
                    ),
                    "<=",
                    float(bound),
                    depends_on_next_state=False,
                )
                for index, bound in enumerate(flat.bounds.tolist())
                if isfinite(bound)
            ]

    return Flat()
