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
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import inf, isfinite, nextafter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypedDict, Unpack, cast, overload

import numpy as np
import numpy.typing as npt

from hcssp.cssp.arrays import as_array, as_matrix, as_sequence, frozen
from hcssp.cssp.labels import LazyLabels, SelectedLabels
from hcssp.cssp.transition_costs import TransitionCosts
from hcssp.display import ProblemPicture
from hcssp.errors import InvalidProblem, UnsupportedProblem
from hcssp.numerics import COST_ROUNDING

if TYPE_CHECKING:
    from hcssp.cssp.grid import GridWorld
    from hcssp.cssp.implicit import ImplicitCSSP
    from hcssp.cssp.policy import DeterministicPolicy, Extra, RandomisedPolicy
    from hcssp.procedure.model import HCSSP


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
# scipy's stubs cannot say "CSR of floats with two axes" in a way that survives indexing.
SparseMatrix = Any

_KINDS: dict[str, type[np.generic]] = {
    "row_start": np.int64,
    "costs": np.float64,
    "initial": np.float64,
    "goals": np.bool_,
    "bounds": np.float64,
}


class CSSPParts(TypedDict, total=False):
    """Attributes of a :class:`CSSP`, as keywords; see there."""

    transitions: SparseMatrix
    row_start: IntArray
    costs: FloatArray
    initial: FloatArray
    goals: BoolArray
    cost_names: tuple[str, ...]
    bounds: FloatArray
    state_labels: Sequence[Hashable]
    action_labels: Sequence[Hashable]
    name: str
    description: str
    world: GridWorld | None
    reward: Reward | None
    groups: Mapping[str, Sequence[Hashable]]
    transition_costs: TransitionCosts | None


@dataclass(frozen=True, eq=False)
class CSSP(ProblemPicture):
    """A valid, frozen C-SSP: making one copies its arrays and checks every rule.

    Two problems are equal if their arrays, bounds, labels and cost names are, whatever they are called.

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
    name, description
        The name and the description of the problem.
    world
        The grid whose cells the states are, for pictures; None if they are no cells.
    reward
        The reward, if the primary cost is the missed reward; see :func:`hcssp.maximise`.
    groups
        Sets of states that have a name, such as the labels of a model: from names to labels of states.
    transition_costs
        The costs of single transitions, C(s, a, s'), of the rows in which they differ; `costs` holds their
        expectation. None if the costs of every row are those of all its transitions.

    Raises
    ------
    InvalidProblem
        If any rule is broken; the message lists everything that is.
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
    name: str = ""
    description: str = ""
    world: GridWorld | None = field(default=None, repr=False)
    reward: Reward | None = field(default=None, repr=False)
    groups: Mapping[str, Sequence[Hashable]] = field(default_factory=dict, repr=False)
    transition_costs: TransitionCosts | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        from hcssp.cssp.validation import violations

        self._freeze(copy=True)
        found = violations(self)
        if found:
            raise InvalidProblem(found)

    @classmethod
    def unchecked(cls, **parts: Unpack[CSSPParts]) -> Self:
        """The problem with these attributes, neither copied nor checked.

        For makers that report what is wrong in their own words, with
        :func:`~hcssp.cssp.validation.violations`, and for what is made from a valid problem.
        """
        unknown = parts.keys() - {each.name for each in fields(cls)}
        if unknown:
            raise TypeError(f"a CSSP has no attribute {', '.join(map(repr, sorted(unknown)))}")
        problem = object.__new__(cls)
        defaults: dict[str, Any] = {"state_labels": (), "action_labels": (), "name": "", "description": ""}
        defaults |= {"world": None, "reward": None, "groups": {}, "transition_costs": None}
        problem.__dict__.update(defaults | parts)
        problem._freeze(copy=False)
        return problem

    def derive(self, **changes: Unpack[CSSPParts]) -> Self:
        """The same problem with some attributes changed, unchecked; the others are shared.

        What is maximised is dropped where rows, costs or the start change, and the costs of single
        transitions where rows or costs change, unless they are given again.
        """
        if changes.keys() & {"transitions", "costs"}:
            changes.setdefault("transition_costs", None)
        if changes.keys() & {"transitions", "costs", "initial", "goals"}:
            changes.setdefault("reward", None)
        merged = cast("CSSPParts", self.__getstate__() | dict(changes))
        return self.unchecked(**merged)

    def _freeze(self, copy: bool) -> None:
        """Bring every array into its form, read-only; callers cannot change a copy."""
        found: list[str] = []
        arrays = {
            name: as_array(name, getattr(self, name), kind, copy, found) for name, kind in _KINDS.items()
        }
        transitions = as_matrix("transitions", self.transitions, copy, found)
        names = as_sequence("cost_names", self.cost_names, found)
        labels = {
            name: as_sequence(name, getattr(self, name), found) for name in ("state_labels", "action_labels")
        }
        if found:
            raise InvalidProblem(found)
        if copy:
            # So that the pattern means reachability, and equal problems have equal arrays.
            transitions.sum_duplicates()
            transitions.eliminate_zeros()
        # Arithmetic may leave room behind the last entry, which code on the raw arrays would trip over.
        transitions.prune()
        for part in ("data", "indices", "indptr"):
            setattr(transitions, part, frozen(getattr(transitions, part)))
        self.__dict__.update(arrays, transitions=transitions, cost_names=tuple(names), **labels)
        # Labels for arrays that do not fit together would be no help: the rules name what is wrong with them.
        row_start = self.row_start
        if row_start.ndim != 1 or len(row_start) < 2 or row_start[0] != 0 or (np.diff(row_start) < 0).any():
            return
        if transitions.shape != (self.num_rows, self.num_states):
            return
        if not len(self.state_labels):
            self.__dict__["state_labels"] = range(self.num_states)
        if not len(self.action_labels):
            local = np.arange(self.num_rows) - row_start[self.row_state]
            self.__dict__["action_labels"] = tuple(local.tolist())

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: self.__dict__[each.name] for each in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._freeze(copy=False)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, CSSP):
            return NotImplemented
        mine, theirs = self.transitions, other.transitions
        return (
            self.cost_names == other.cost_names
            and mine.shape == theirs.shape
            and all(
                np.array_equal(getattr(self, part), getattr(other, part))
                for part in ("row_start", "costs", "initial", "goals", "bounds")
            )
            and all(
                np.array_equal(getattr(mine, part), getattr(theirs, part))
                for part in ("indptr", "indices", "data")
            )
            and self.transition_costs == other.transition_costs
            and _same_labels(self.state_labels, other.state_labels)
            and _same_labels(self.action_labels, other.action_labels)
        )

    def __hash__(self) -> int:
        sizes = (self.num_states, self.num_rows, int(self.transitions.nnz))
        return hash((self.cost_names, sizes, tuple(self.bounds.tolist())))

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

    @property
    def primary_name(self) -> str:
        """The name of the primary cost."""
        return self.cost_names[0]

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """The names of the secondary costs, bounded or not."""
        return self.cost_names[1:]

    @property
    def flat(self) -> CSSP:
        """The problem itself."""
        return self

    @property
    def cssps(self) -> tuple[CSSP, ...]:
        """The problem itself, alone."""
        return (self,)

    @cached_property
    def procedure(self) -> HCSSP:
        """The procedure that runs the problem once."""
        from hcssp.procedure.model import around

        return around(self)

    @property
    def is_part(self) -> bool:
        """Whether it has states of an implicit problem that were not expanded."""
        return False

    lists_states: ClassVar[Literal[True]] = True
    """Whether all states are enumerated; not those of an implicit problem."""

    @property
    def implicit(self) -> ImplicitCSSP | None:
        """The implicit problem that this one is a part of; None if it is whole."""
        return None

    @overload
    def policy(self, rows: IntArray) -> DeterministicPolicy: ...
    @overload
    def policy(self, rows: IntArray, extra: Extra) -> DeterministicPolicy | RandomisedPolicy: ...
    def policy(self, rows: IntArray, extra: Extra = ()) -> DeterministicPolicy | RandomisedPolicy:
        """The policy that takes these rows, one for each state, and `extra` ones with probabilities."""
        from hcssp.cssp.policy import policy_of_rows

        return policy_of_rows(self, rows, extra)

    limits_choices: ClassVar[Literal[False]] = False
    """Whether one choice per event makes a difference: a flat problem has no events."""

    def is_limit(self, constraint: int) -> bool:
        """False: a flat problem uses no procedure."""
        return False

    def called(self, name: str) -> str:
        """What reports call a cost: its name."""
        return name

    def probability_of(self, name: str) -> str:
        """Nothing: the constraints of a flat problem bound expected costs."""
        return ""

    @cached_property
    def row_state(self) -> IntArray:
        """The state each row belongs to."""
        return frozen(states_of_rows(self.row_start))

    @cached_property
    def state_index(self) -> Mapping[Hashable, int]:
        """From a state's label to its index."""
        return {label: index for index, label in enumerate(self.state_labels)}

    def with_rows(self, rows: IntArray) -> Self:
        """The same problem with these rows alone, ascending; a state may be left without any."""
        paid = self.transition_costs
        return self.derive(
            transitions=self.transitions[rows],
            row_start=np.searchsorted(rows, self.row_start),
            costs=self.costs[:, rows],
            action_labels=SelectedLabels(self.action_labels, rows),
            transition_costs=None if paid is None else paid.take(rows),
        )

    def with_bounds(self, bounds: Mapping[str, float] | None = None, **named: float) -> Self:
        """The same problem under other bounds; those not named stay as they are.

        Raises
        ------
        InvalidProblem
            If a name is not that of a secondary cost, or a bound is not one.
        """
        found: list[str] = []
        wanted = {**(bounds or {}), **named}
        changed = changed_bounds(self.bounds, self.constraint_names, wanted, "secondary cost", found)
        if found:
            raise InvalidProblem(found)
        return self.derive(bounds=changed)

    def __repr__(self) -> str:
        sizes = f"{self.num_states} states, {self.num_rows} actions, {' and '.join(self.cost_names)}"
        return f"<CSSP {self.name}: {sizes}>" if self.name else f"<CSSP: {sizes}>"


def refuse_implicit(problem: object, what: str) -> None:
    """Refuse an implicit problem where all states are needed; `what` needs them.

    Raises
    ------
    UnsupportedProblem
        If it is one; the message has the remedy.
    """
    if not getattr(problem, "lists_states", True):
        raise UnsupportedProblem(
            f"{what} needs all states of a problem, and an implicit one does not list them; give "
            "problem.enumerated(), or solve it and go on with the plan (plan.resolve, plan.replan)"
        )


def bound_violations(where: str, bound: float) -> list[str]:
    """The errors of a bound: a finite one below zero is legal, and merely infeasible."""
    try:
        legal = not isinstance(bound, str) and float(bound) > -np.inf
    except (TypeError, ValueError):
        legal = False
    return [] if legal else [f"{where}: {bound} is not an upper bound; give a finite number, or inf for none"]


def changed_bounds(
    bounds: FloatArray, names: Sequence[str], wanted: Mapping[str, float], what: str, found: list[str]
) -> FloatArray:
    """Bounds, one for each of `names`, with some changed; what is wrong with those is appended to `found`.

    A bound that is wrong becomes ``inf``, so that the rules do not report it a second time.
    """
    changed = bounds.copy()
    for name, bound in wanted.items():
        if name in names:
            wrong = bound_violations(f"bound on {name!r}", bound)
            changed[list(names).index(name)] = np.inf if wrong else float(bound)
            found += wrong
        else:
            known = ", ".join(repr(known) for known in names) or "none"
            found.append(f"bound on {name!r}: no such {what}; the {what}s are {known}")
    return changed


def _same_labels(first: Sequence[Hashable], second: Sequence[Hashable]) -> bool:
    if first is second or (isinstance(first, LazyLabels) and first.has_parts_of(second)):
        return True
    return len(first) == len(second) and all(a == b for a, b in zip(first, second, strict=True))


def states_of_rows(row_start: IntArray) -> IntArray:
    """The state of each row, for one look at a large problem: :attr:`CSSP.row_state` would be kept."""
    return np.repeat(np.arange(len(row_start) - 1), np.diff(row_start))


@dataclass(frozen=True)
class Reward:
    """A reward that is to be as great as possible.

    The primary cost of the problem is what a policy misses of it; :func:`hcssp.maximise` makes such problems.
    For every policy that ends, the reward is `most` less the primary cost, so that a lower bound on the cost
    is an upper bound on the reward.

    Attributes
    ----------
    name
        What people call it.
    most
        No policy that ends has a greater expected reward, whatever the bounds.
    weights
        Its parts: factors of other costs of the problem, by name.
    """

    name: str
    most: float
    weights: Mapping[str, float] = field(hash=False)

    def value(self, costs: Mapping[str, float]) -> float:
        """The reward of a policy that has these expected costs, by name.

        >>> profit = Reward("profit", 10.0, {"sales": 1.0, "fuel": -0.5})
        >>> profit.value({"profit missed": 3.0, "sales": 8.0, "fuel": 2.0})
        7.0
        """
        return sum(weight * costs[name] for name, weight in self.weights.items())

    def at_most(self, missed: float) -> float:
        """What no policy exceeds that is known to miss at least so much, rounded upwards.

        >>> Reward("profit", 10.0, {"sales": 1.0}).at_most(3.0) >= 7.0
        True
        """
        if not isfinite(missed):
            return -inf if missed > 0.0 else self.most
        return nextafter(self.most - max(0.0, missed), inf)

    def proven(self, value: float, missed: float) -> RewardInterval:
        """The proven interval if a plan has the reward `value`, and every plan misses at least `missed`.

        >>> Reward("profit", 1000.0, {"sales": 1.0}).proven(4.0, 995.0).gap
        0.25
        """
        # A plan is a proof that there are such plans, whatever rounding does to the other one.
        most = max(value, self.at_most(missed))
        return RewardInterval(self.name, value, most, reward_gap(value, most, self.most))


def reward_gap(value: float, at_most: float, most: float) -> float:
    """How much greater a reward could be, as a share of itself; ``inf`` if that is unknown.

    Rewards are known up to the rounding of what is missed of the greatest one, `most`: within it there is no
    gap.
    """
    if not (isfinite(value) and isfinite(at_most)):
        return inf
    missing = at_most - value
    if missing <= 4.0 * COST_ROUNDING * abs(most):
        return 0.0
    return missing / abs(value) if value else inf


@dataclass(frozen=True)
class RewardInterval:
    """The proven interval of a reward: that of a plan, and an upper bound for every plan.

    Attributes
    ----------
    name
        What people call it.
    value
        The expected reward of the plan; ``-inf`` without one.
    at_most
        No deterministic policy that keeps the bounds has a greater expected reward.
    gap
        How much greater the reward could be, as a share of the plan's own; ``inf`` if that is unknown.
    """

    name: str
    value: float
    at_most: float
    gap: float = inf
