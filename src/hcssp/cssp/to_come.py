"""What is to come at least under weights from the known states of an implicit problem.

Of each cost by itself the heuristics tell it once, and :attr:`Expansion.heuristic
<hcssp.cssp.expansion.Expansion.heuristic>` keeps it. Heuristics that know prices tell more about all costs
together, and are asked for each vector of weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hcssp.cssp.growing import Growing
from hcssp.cssp.model import FloatArray
from hcssp.errors import InvalidProblem

if TYPE_CHECKING:
    from hcssp.cssp.expansion import Expansion

MAX_KEPT = 3
"""So many vectors of weights are remembered for all states: each takes as much memory as their values."""


class ToCome:
    """What the heuristics of an expansion say under weights, asked once for each state.

    Parameters
    ----------
    expansion
        What is known of the problem; it grows.

    Attributes
    ----------
    apart
        Whether only what is known of each cost by itself is asked for, for whoever cannot use more.
    """

    def __init__(self, expansion: Expansion) -> None:
        self._expansion = expansion
        self._kept: dict[bytes, Growing] = {}
        self._told_together = True
        self.apart = False

    @property
    def knows_prices(self) -> bool:
        """Whether the heuristics are asked for all costs together; found out with the first question."""
        return self._told_together and not self.apart

    def under(self, weights: FloatArray, first: int = 0) -> FloatArray:
        """For the known states from number `first` on, what is to come at least under `weights`."""
        if self.apart:
            apart: FloatArray = weights @ self._expansion.heuristic[:, first:]
            return apart
        return self.together(weights, first)

    def together(self, weights: FloatArray, first: int = 0) -> FloatArray:
        """As :meth:`under`, with all that is known."""
        expansion = self._expansion
        if not self._told_together:
            apart: FloatArray = weights @ expansion.heuristic[:, first:]
            return apart
        key = weights.tobytes()
        kept = self._kept.pop(key, None)
        if kept is None:
            if first > 0:
                # Who asks about the latest states alone asks about weights of some time ago.
                return self._told(weights, first)
            kept = Growing(np.float64)
        # The latest comes last.
        self._kept[key] = kept
        while len(self._kept) > MAX_KEPT:
            del self._kept[next(iter(self._kept))]
        if len(kept) < expansion.num_states:
            kept.append(self._told(weights, len(kept)))
        return kept.view[first:]

    def _told(self, weights: FloatArray, first: int) -> FloatArray:
        expansion = self._expansion
        apart: FloatArray = weights @ expansion.heuristic[:, first:]
        new = np.arange(first, expansion.num_states)
        if not len(new):
            return apart
        together = expansion.problem.space.together(weights, expansion.numbers.states(new))
        if together is None:
            self._told_together = False
            return apart
        wrong = np.flatnonzero(
            ~((together >= 0.0) & (together < np.inf)) | (expansion.goal[first:] & (together != 0.0))
        )
        if len(wrong):
            place = int(wrong[0])
            wanted = "0, since nothing is to come in a goal" if expansion.goal[first + place] else "finite"
            raise InvalidProblem(
                [
                    f"state {expansion.label(first + place)!r}: under the weights {weights.tolist()} the "
                    f"heuristic of all costs together is {together[place]}; it must be {wanted} and not "
                    "negative"
                ]
            )
        return np.maximum(together, apart)
