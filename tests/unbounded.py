"""A problem but for its bounds, as a key: what its policies are and what they cost does not depend on them.

Many tests draw the same random problems; enumerating their policies takes longer than most solvers do.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hcssp.cssp.model import CSSP

MOST_KEPT = 4000
"""Of so many problems the policies are kept."""


@dataclass(frozen=True)
class Unbounded:
    """Equal to another if all arrays of the problem but the bounds are."""

    arrays: tuple[bytes, ...]
    problem: CSSP = field(compare=False)

    @classmethod
    def of(cls, problem: CSSP) -> Unbounded:
        matrix = problem.transitions
        arrays = (
            *(matrix.indptr, matrix.indices, matrix.data),
            *(problem.row_start, problem.costs, problem.initial, problem.goals),
        )
        return cls(tuple(array.tobytes() for array in arrays), problem)
