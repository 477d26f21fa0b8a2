"""The part of an implicit problem that was expanded, as a problem of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Unpack, cast

import numpy as np

from hcssp.cssp.model import CSSP, BoolArray, CSSPParts
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy
from hcssp.errors import InvalidProblem

if TYPE_CHECKING:
    from hcssp.cssp.implicit import ImplicitCSSP

BEYOND = "(beyond what was expanded)"
"""The label of the goal that stands for all that was not looked into, and of the action that leads there."""


class ExpandedParts(CSSPParts, total=False):
    """Attributes of an :class:`ExpandedCSSP`, as keywords; see there."""

    source: ImplicitCSSP | None
    frontier: BoolArray
    priced_at: tuple[float, ...] | None


@dataclass(frozen=True, eq=False)
class ExpandedCSSP(CSSP):
    """What was expanded of an implicit problem, as a problem of its own; see :mod:`hcssp.cssp.expansion`.

    Attributes
    ----------
    source
        The implicit problem; None if nobody knows it any more, as after unpickling.
    frontier
        The states that were not expanded. Each has one action, which costs what the heuristic says.
    priced_at
        The weights under which the heuristic knows more about all costs together; then each state of the
        frontier has an action for every cost (:mod:`hcssp.cssp.priced_part`). None if it does not.
    """

    source: ImplicitCSSP | None = field(default=None, repr=False)
    frontier: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_), repr=False)
    priced_at: tuple[float, ...] | None = field(default=None, repr=False)

    @property
    def num_expanded(self) -> int:
        """How many states were expanded."""
        return int(np.count_nonzero(np.diff(self.row_start)) - np.count_nonzero(self.frontier))

    @classmethod
    def unchecked(cls, **parts: Unpack[ExpandedParts]) -> CSSP:
        """As of any problem."""
        return super().unchecked(**cast("CSSPParts", parts))

    def derive(self, **changes: Unpack[ExpandedParts]) -> CSSP:
        """As of any problem; with other rows, another start or other goals it is no part of its source."""
        if changes.keys() & {"transitions", "costs", "initial", "goals"}:
            changes.setdefault("source", None)
        return super().derive(**cast("CSSPParts", changes))

    def unexpanded(self) -> ImplicitCSSP:
        """The implicit problem under the bounds of this part.

        Raises
        ------
        InvalidProblem
            If it is not known any more.
        """
        if self.source is None:
            raise InvalidProblem(
                ["the implicit problem behind this part is not known any more; give it instead of the part"]
            )
        bounds = dict(zip(self.constraint_names, self.bounds.tolist(), strict=True))
        return self.source.with_bounds(bounds)


def under_bounds_of(part: ExpandedCSSP, problem: ImplicitCSSP) -> ExpandedCSSP:
    """The same part under the bounds of `problem`."""
    changed = part.derive(bounds=problem.bounds, source=problem)
    if not isinstance(changed, ExpandedCSSP):
        raise TypeError("a part of another kind")
    return changed


def lifted(policy: DeterministicPolicy, part: ExpandedCSSP) -> DeterministicPolicy:
    """A policy of an earlier part of the same expansion, as one of `part`."""
    rows = np.full(part.num_states, NO_ROW, dtype=np.int64)
    states = np.flatnonzero(policy.rows != NO_ROW)
    rows[states] = policy.rows[states] - policy.problem.row_start[states] + part.row_start[states]
    return DeterministicPolicy(part, rows)
