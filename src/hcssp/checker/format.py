"""What a certificate says, in Python's integers and doubles; docs/certificates.md describes the file."""

from __future__ import annotations

from dataclasses import dataclass

from hcssp.cssp.model import FloatArray, IntArray

Branching = int | tuple[int, ...]
Segment = tuple[tuple[int, ...], tuple[int, ...], int]  # event states, the entry first; activities; the exit
Use = tuple[int, int, float]
Part = tuple[int, tuple[Branching, ...], tuple[tuple[tuple[Use, ...], ...], ...]]


@dataclass(frozen=True, eq=False)
class Potential:
    """A number for every state of an activity, goals included, that holds on its rows under `weights`.

    Excepted are the activity's own rows that are `forbidden` and, if `of_plan`, that the plan does not take.
    """

    activity: int
    weights: tuple[float, ...]
    forbidden: tuple[int, ...]
    values: FloatArray
    of_plan: bool = False


@dataclass(frozen=True)
class Statement:
    """Under `weights`, the primary first, a policy costs at least the potential `events` of the start.

    A triple of `uses` is an activity, a stored potential, and how much of it is in the activity's potential.
    With `parts`, a budget is spread over them, and event states are come to as often as `events` at least. A
    part is an activity, a tree, and for its leaves what is used under the first weight, the others, and all.
    """

    weights: tuple[float, ...]
    events: tuple[float, ...]
    uses: tuple[Use, ...]
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, eq=False)
class Certificate:
    """A proof of a lower bound, of an upper bound, or that no plan keeps the bounds.

    `tree` holds the branchings in preorder: a flat row, for "its state uses it" and "it does not", or -1 for
    a leaf. A tuple is a row, a count and numbers of `segments`, of which the first has the row: for "so many
    use what is there in its place" and "fewer do". `leaves` are pairs of a statement (None: no policy is
    proper) and the primary cost that no plan there is below. Without a plan, what is about it is empty.
    """

    fingerprint: str
    bounds: tuple[float, ...]
    tree: tuple[Branching, ...]
    leaves: tuple[tuple[int | None, float], ...]
    plan: IntArray
    ranks: IntArray
    upper_bound: float
    plan_statements: tuple[int, ...]
    statements: tuple[Statement, ...]
    potentials: tuple[Potential, ...]
    segments: tuple[Segment, ...] = ()
