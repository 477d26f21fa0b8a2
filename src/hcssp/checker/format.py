"""What a certificate says, in integers and doubles; docs/certificates.md describes the file.

Whatever numbers a certificate is made of, they are converted here, once: a true that indexes an array as a
mask, integers that wrap around and a ranking without numbers would mean one thing here and another there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray

Use = tuple[int, int, float]  # activity, number of a stored potential, its share
Part = tuple[int, tuple[int, ...], tuple[tuple[tuple[Use, ...], ...], ...]]


def _set(given: object, **converted: Any) -> None:
    for name, value in converted.items():
        object.__setattr__(given, name, value)


def _whole(numbers: Iterable[int]) -> tuple[int, ...]:
    return tuple(map(int, numbers))


def _doubles(numbers: Iterable[float]) -> tuple[float, ...]:
    return tuple(map(float, numbers))


def _uses(given: Iterable[Use]) -> tuple[Use, ...]:
    return tuple((int(activity), int(number), float(share)) for activity, number, share in given)


@dataclass(frozen=True, eq=False)
class Potential:
    """A number for every state of an activity, goals included, that is dual-feasible under `weights`.

    It may be infeasible on the activity's own rows that are `forbidden` and, if `of_plan`, on all rows that
    the plan does not take.
    """

    activity: int
    weights: tuple[float, ...]
    forbidden: tuple[int, ...]
    values: FloatArray
    of_plan: bool = False

    def __post_init__(self) -> None:
        values = np.asarray(self.values, dtype=np.float64).ravel()
        _set(self, activity=int(self.activity), weights=_doubles(self.weights), of_plan=bool(self.of_plan))
        _set(self, forbidden=_whole(self.forbidden), values=values)


@dataclass(frozen=True)
class Statement:
    """Under `weights`, the primary first, a policy costs at least the potential of the start in `events`.

    The potential of an activity is the sum of the potentials in `uses`, each times its share. With `parts`,
    it is a multiple-choice knapsack, and `events` are lower bounds on the visits of event states. A part is
    an activity, a tree that splits its policies into classes, and for each class what is used under the
    first weight, under the others, and under all.
    """

    weights: tuple[float, ...]
    events: tuple[float, ...]
    uses: tuple[Use, ...]
    parts: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        parts = tuple(
            (int(activity), _whole(tree), tuple(tuple(map(_uses, each)) for each in classes))
            for activity, tree, classes in self.parts
        )
        _set(self, weights=_doubles(self.weights), events=_doubles(self.events))
        _set(self, uses=_uses(self.uses), parts=parts)


@dataclass(frozen=True, eq=False)
class Certificate:
    """A proof of a lower bound, of an upper bound, or that no plan keeps the bounds.

    `tree` holds the branching decisions in preorder: a flat row, for "its state uses it" and "it does not",
    or -1 for a leaf. `leaves` are pairs of a statement (None: no policy is proper) and the primary cost that
    no plan there is below. Without a plan, what is about it is empty.

    `same` has for each activity one with equal arrays, itself or an earlier one; empty: each has itself.
    `dominated` are triples of an activity, a row of it, and the row of the same state that dominates it.
    """

    bounds: tuple[float, ...]
    tree: tuple[int, ...]
    leaves: tuple[tuple[int | None, float], ...]
    plan: IntArray
    ranks: IntArray
    upper_bound: float
    plan_statements: tuple[int, ...]
    statements: tuple[Statement, ...]
    potentials: tuple[Potential, ...]
    same: tuple[int, ...] = ()
    dominated: tuple[tuple[int, int, int], ...] = ()

    def __post_init__(self) -> None:
        leaves = tuple((n if n is None else int(n), float(bound)) for n, bound in self.leaves)
        plan, ranks = (np.asarray(each, dtype=np.int64).ravel() for each in (self.plan, self.ranks))
        _set(self, bounds=_doubles(self.bounds), upper_bound=float(self.upper_bound), leaves=leaves)
        _set(self, tree=_whole(self.tree), plan_statements=_whole(self.plan_statements))
        _set(self, same=_whole(self.same), dominated=tuple(map(_whole, self.dominated)))
        _set(self, plan=plan, ranks=ranks)
