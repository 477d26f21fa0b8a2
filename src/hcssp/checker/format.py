"""The content of a certificate, in Python's integers and doubles; docs/certificates.md describes the file."""

from __future__ import annotations

from dataclasses import dataclass, field

from hcssp.cssp.model import FloatArray, IntArray

Use = tuple[int, int, float]  # activity, number of a stored potential, its share
Extra = tuple[tuple[int, float], ...]  # further rows of a randomised plan, with their probabilities
Part = tuple[int, tuple[int, ...], tuple[tuple[tuple[Use, ...], ...], ...]]


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


@dataclass(frozen=True, eq=False)
class Certificate:
    """A proof of a lower bound, of an upper bound, or that no plan keeps the bounds.

    `tree` holds the branching decisions in preorder: a flat row, for "its state uses it" and "it does not",
    or -1 for a leaf. `leaves` are pairs of a statement (None: no policy is proper) and the primary cost that
    no plan there is below. Without a plan, what is about it is empty. A randomised one takes the rows of
    `extra` with their probabilities, and otherwise its own row.

    `same` has for each activity one with equal arrays, itself or an earlier one; empty: each has itself.
    `dominated` are triples of an activity, a row of it, and the row of the same state that dominates it.
    """

    bounds: tuple[float, ...]
    tree: tuple[int, ...] = field(repr=False)
    leaves: tuple[tuple[int | None, float], ...] = field(repr=False)
    plan: IntArray = field(repr=False)
    ranks: IntArray = field(repr=False)
    upper_bound: float
    plan_statements: tuple[int, ...] = field(repr=False)
    statements: tuple[Statement, ...] = field(repr=False)
    potentials: tuple[Potential, ...] = field(repr=False)
    same: tuple[int, ...] = field(default=(), repr=False)
    dominated: tuple[tuple[int, int, int], ...] = field(default=(), repr=False)
    extra: Extra = field(default=(), repr=False)
