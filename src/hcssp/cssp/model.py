r"""The constrained stochastic shortest path problem (C-SSP), as arrays.

A C-SSP has states :math:`s`, actions :math:`a`, transitions :math:`T(s, a, s')`, costs
:math:`C_0, \dots, C_N \ge 0`, an initial distribution, goal states and bounds
:math:`\Delta_1, \dots, \Delta_N`. Wanted is a policy that minimises the expected sum of the primary
cost :math:`C_0` until a goal while the expected sum of every secondary cost :math:`C_i` stays at or
below its bound :math:`\Delta_i`.

The arrays follow the state-action layout: every pair of a state and an action available there is a
*row*; the rows of a state are neighbours; goals have no rows. Names live beside the arrays, for
people; solvers never look at them.

>>> import numpy as np
>>> from scipy.sparse import csr_array
>>> risky = CSSP(
...     transitions=csr_array(np.array([[0.0, 1.0], [0.5, 0.5]])),
...     row_start=np.array([0, 2, 2]),
...     costs=np.array([[3.0, 1.0], [0.0, 4.0]]),
...     initial=np.array([1.0, 0.0]),
...     goals=np.array([False, True]),
...     cost_names=("time", "damage"),
...     bounds=np.array([1.0]),
... )
>>> risky.num_states, risky.num_rows, risky.num_constraints
(2, 2, 1)
>>> risky.row_state.tolist()
[0, 0]
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from hcssp.errors import InvalidProblem

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
# scipy's stubs cannot say "CSR of floats with two axes" in a way that survives indexing.
SparseMatrix = Any


@dataclass(frozen=True, eq=False)
class CSSP:
    """A frozen C-SSP. Build one with the makers of :mod:`hcssp.cssp`, which validate.

    Attributes
    ----------
    transitions
        CSR matrix of shape ``(num_rows, num_states)``; each row sums to one.
    row_start
        Rows ``row_start[s]:row_start[s + 1]`` belong to state ``s``; a goal has none.
    costs
        Shape ``(1 + num_constraints, num_rows)``: expected costs of each row, the primary first.
    initial
        The distribution of the first state.
    goals
        Which states end the activity.
    cost_names
        One name for each row of `costs`.
    bounds
        One upper bound for each secondary cost; ``inf`` where none is set.
    state_labels, action_labels
        What people call the states and the action of each row. May be lazy sequences.
    """

    transitions: SparseMatrix
    row_start: IntArray
    costs: FloatArray
    initial: FloatArray
    goals: BoolArray
    cost_names: tuple[str, ...]
    bounds: FloatArray
    state_labels: Sequence[Hashable] = ()
    action_labels: Sequence[Hashable] = ()

    def __post_init__(self) -> None:
        transitions = csr_array(self.transitions, dtype=np.float64)
        # Arithmetic may leave room behind the last entry, which code on the raw arrays would trip over.
        transitions.prune()
        for part in ("data", "indices", "indptr"):
            setattr(transitions, part, _frozen(getattr(transitions, part)))
        arrays: dict[str, npt.NDArray[Any]] = {
            "row_start": np.asarray(self.row_start, dtype=np.int64),
            "costs": np.ascontiguousarray(self.costs, dtype=np.float64),
            "initial": np.asarray(self.initial, dtype=np.float64),
            "goals": np.asarray(self.goals, dtype=np.bool_),
            "bounds": np.asarray(self.bounds, dtype=np.float64),
        }
        for name, array in arrays.items():
            object.__setattr__(self, name, _frozen(array))
        object.__setattr__(self, "transitions", transitions)
        if not len(self.state_labels):
            object.__setattr__(self, "state_labels", range(self.num_states))
        if not len(self.action_labels):
            local = np.arange(self.num_rows) - self.row_start[self.row_state]
            object.__setattr__(self, "action_labels", local.tolist())

    @property
    def num_states(self) -> int:
        return len(self.row_start) - 1

    @property
    def num_rows(self) -> int:
        return int(self.row_start[-1])

    @property
    def num_constraints(self) -> int:
        """The number of secondary costs, bounded or not."""
        return len(self.cost_names) - 1

    @cached_property
    def row_state(self) -> IntArray:
        """The state each row belongs to."""
        return np.repeat(np.arange(self.num_states), np.diff(self.row_start))

    @cached_property
    def state_index(self) -> Mapping[Hashable, int]:
        """From a state's label to its index."""
        return {label: index for index, label in enumerate(self.state_labels)}

    def cost_index(self, name: str) -> int:
        """The index of the cost called `name`; an error that lists the costs if there is none."""
        try:
            return self.cost_names.index(name)
        except ValueError:
            known = ", ".join(repr(known) for known in self.cost_names)
            raise InvalidProblem([f"there is no cost {name!r}; the costs are {known}"]) from None

    def with_bounds(self, bounds: Mapping[str, float] | None = None, **named: float) -> CSSP:
        """The same problem under other bounds; those not named stay as they are.

        Raises
        ------
        InvalidProblem
            If a name is not that of a secondary cost, or a bound is not a number.
        """
        wanted = {**(bounds or {}), **named}
        changed = self.bounds.copy()
        violations = []
        for name, bound in wanted.items():
            if name not in self.cost_names[1:]:
                known = ", ".join(repr(known) for known in self.cost_names[1:]) or "none"
                violations.append(
                    f"bound on {name!r}: no such secondary cost; the secondary costs are {known}"
                )
            elif np.isnan(bound):
                violations.append(f"bound on {name!r}: {bound} is not a number")
            else:
                changed[self.cost_names.index(name) - 1] = bound
        if violations:
            raise InvalidProblem(violations)
        return replace(self, bounds=changed)


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A view of `array` through which nothing can be changed."""
    view = array.view()
    view.flags.writeable = False
    return view
