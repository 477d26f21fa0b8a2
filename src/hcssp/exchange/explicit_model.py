"""A model of another tool as arrays, before anybody has said what is minimised and where it ends.

All formats come through here: they agree on states, choices, reward models and labels. What a C-SSP needs
besides is said in :mod:`hcssp.exchange.posing`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import fsum

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import BoolArray, FloatArray, IntArray, SparseMatrix
from hcssp.cssp.transition_costs import TransitionCosts
from hcssp.errors import UnknownName
from hcssp.numerics import PROBABILITY_TOLERANCE

STEPS = "steps"
"""The cost of models without rewards: the number of steps."""

ROUNDED = 1e-6
"""How far probabilities that were written with some ten digits may sum from one."""


@dataclass(frozen=True, eq=False)
class ExplicitModel:
    """States, choices, rewards and labels of a Markov chain or a Markov decision process.

    Attributes
    ----------
    transitions, row_start
        As in :class:`~hcssp.cssp.model.CSSP`, where every choice is a row; goals may still have rows.
    rewards
        The expected reward of each row, by the name of the reward model: those of states, choices and
        branches added up.
    labels
        Which states carry a label.
    initial
        The states where it may begin.
    state_names, action_names
        What people call the states, and the choice of each row.
    name
        What people call the model.
    transition_rewards
        The rewards of single transitions, in full and in the order of `rewards`, of the rows in which they
        differ; None if they do not.
    """

    transitions: SparseMatrix
    row_start: IntArray
    rewards: Mapping[str, FloatArray]
    labels: Mapping[str, BoolArray]
    initial: BoolArray
    state_names: Sequence[Hashable]
    action_names: Sequence[Hashable]
    name: str = ""
    transition_rewards: TransitionCosts | None = None

    @property
    def num_states(self) -> int:
        return len(self.row_start) - 1

    @property
    def num_rows(self) -> int:
        return int(self.row_start[-1])

    def reward(self, name: str) -> FloatArray:
        """The rewards of a model by name; of none, the number of steps.

        Raises
        ------
        UnknownName
            If there is no reward model of that name.
        """
        if name in self.rewards:
            return self.rewards[name]
        if name == STEPS:
            return np.ones(self.num_rows)
        raise UnknownName("reward model", name, [*self.rewards, STEPS])

    def transition_costs(self, names: Sequence[str], rows: IntArray) -> TransitionCosts | None:
        """The rewards of these names that single transitions of some rows have; 0 where there is no such."""
        paid = None if self.transition_rewards is None else self.transition_rewards.take(rows)
        if paid is None:
            return None
        known = list(self.rewards)
        counted = [paid.costs[known.index(name)] if name in known else float(name == STEPS) for name in names]
        costs = np.array(np.broadcast_arrays(*counted, paid.probabilities)[:-1])
        sums = np.bincount(paid.rows, paid.probabilities).astype(np.float64)
        factor = _missing_digits(sums)[paid.rows]
        return TransitionCosts.of(paid.rows, paid.states, paid.probabilities * factor, costs)


def scaled(transitions: SparseMatrix) -> SparseMatrix:
    """The same matrix, where rows sum to one whose probabilities lack only digits that nobody wrote."""
    factor = _missing_digits(np.asarray(transitions.sum(axis=1)).ravel())
    if (factor == 1.0).all():
        return transitions
    data = transitions.data * np.repeat(factor, np.diff(transitions.indptr))
    return csr_array((data, transitions.indices, transitions.indptr), shape=transitions.shape)


def _missing_digits(sums: FloatArray) -> FloatArray:
    """By what to multiply the probabilities of rows that have these sums."""
    missed = np.abs(sums - 1.0)
    rounded = (missed > PROBABILITY_TOLERANCE) & (missed <= ROUNDED)
    return np.where(rounded, 1.0 / np.where(rounded, sums, 1.0), 1.0)


def unique_names(names: Sequence[str], row_start: IntArray) -> list[str]:
    """Names of actions, unique in their states: tools do without some, and repeat others.

    >>> unique_names(["a", "", "a", ""], np.array([0, 3, 4]))
    ['a', 'action 1', "a'", 'action 0']
    """
    found: list[str] = []
    for first, last in pairwise(row_start.tolist()):
        taken: set[str] = set()
        for name in names[first:last]:
            unique = name or f"action {len(taken)}"
            while unique in taken:
                unique += "'"
            taken.add(unique)
            found.append(unique)
    return found


def added_up(
    branches: SparseMatrix, parts: Mapping[str, tuple[FloatArray, FloatArray | None]]
) -> tuple[dict[str, FloatArray], TransitionCosts | None]:
    """The expected reward of each row, by name, and the rewards of single transitions.

    Parameters
    ----------
    branches
        The transitions, where a row may name a state more than once.
    parts
        By the names of reward models, the reward of each row, and that of each entry of `branches` besides.
    """
    rows = np.repeat(np.arange(branches.shape[0]), np.diff(branches.indptr))
    rewards = {
        name: own if extra is None else own + _expected(branches, extra)
        for name, (own, extra) in parts.items()
    }
    if all(extra is None for _, extra in parts.values()):
        return rewards, None
    full = [own[rows] if extra is None else own[rows] + extra for own, extra in parts.values()]
    return rewards, TransitionCosts.of(rows, branches.indices, branches.data, np.array(full))


def _expected(transitions: SparseMatrix, branch_rewards: FloatArray) -> FloatArray:
    """What each row earns in expectation, of rewards for every entry of `transitions`."""
    paid = transitions.data * branch_rewards
    pointers = transitions.indptr.tolist()
    values = paid.tolist()
    return np.array([fsum(values[a:b]) for a, b in pairwise(pointers)])
