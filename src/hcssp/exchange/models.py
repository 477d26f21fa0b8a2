"""Models of other tools as arrays, and what turns them into problems and back.

All formats become an :class:`ExplicitModel`: states, choices, reward models and labels. :func:`posed` makes a
problem of it once the costs and the goal are known. :func:`closed` makes a model of a problem: one initial
state, goals that carry the label ``goal`` and stay as they are at no cost. Bounds belong to the question that
is asked about a model.

*Without a goal* the whole run counts, as the reward property ``C`` of PRISM and Storm says. A policy whose
rewards stay finite ends almost surely in an end component of choices that cost nothing. Each state of one has
an action to stay there for ever, which leads to a goal of its own. Policies that reach it and policies of
finite costs are then the same.

Packages that only some users need are imported by :func:`extra` when they are needed:

>>> extra("json", "parquet", "this example").dumps([1])
'[1]'
>>> extra("no_such_package", "storm", "reading PRISM models")
Traceback (most recent call last):
    ...
hcssp.errors.MissingDependency: reading PRISM models needs no_such_package, which is not installed; \
pip install 'hcssp[storm]'
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from math import fsum, prod
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from hcssp.cssp.labels import JoinedLabels, LazyLabels, RepeatedNames, SelectedLabels
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray, SparseMatrix, states_of_rows
from hcssp.cssp.preprocessing import with_giving_up
from hcssp.cssp.reachability import free_groups
from hcssp.cssp.transition_costs import TransitionCosts
from hcssp.cssp.validation import bound_array, violations
from hcssp.errors import InvalidProblem, MissingDependency, UnknownName
from hcssp.numerics import PROBABILITY_TOLERANCE
from hcssp.procedure import HCSSP


def extra(module: str, named: str, purpose: str) -> Any:
    """The module of a package that is installed as an extra.

    Parameters
    ----------
    module
        The module to import, such as ``stormpy``.
    named
        The extra of this package that installs it.
    purpose
        Its purpose, for the message.

    Raises
    ------
    MissingDependency
        If it is not installed; the message has the command to install it.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            # It is there; what it needs itself is not, and that is for its own message to say.
            raise
        raise MissingDependency(
            f"{purpose} needs {package}, which is not installed; pip install 'hcssp[{named}]'"
        ) from error


class ValuationLabels(LazyLabels):
    """One text for every state: ``x=3, crashed=false``.

    No two states may have the same values.

    >>> labels = ValuationLabels(("x", "crashed"), ([0, 3], [True, False]))
    >>> labels[1], labels.index("x=0, crashed=true")
    ('x=3, crashed=false', 0)

    Parameters
    ----------
    variables
        Their names.
    columns
        For every variable its value in each state; None where a state has no such variable.
    """

    def __init__(self, variables: Sequence[str], columns: Sequence[Sequence[Any]]) -> None:
        self.variables = tuple(variables)
        self.columns = tuple(columns)
        # Different numbers are different texts.
        self.differ = all(isinstance(column[0], int | np.integer | np.bool_) for column in columns)

    def __len__(self) -> int:
        return len(self.columns[0])

    def _label(self, position: int) -> str:
        values = zip(self.variables, self.columns, strict=True)
        known = ((name, column[position]) for name, column in values)
        return ", ".join(f"{name}={_shown(value)}" for name, value in known if value is not None)


def valuation_names(columns: Mapping[str, Sequence[Any]], num_states: int) -> Sequence[str]:
    """What states are called: the values of their variables, if these differ in all states, or numbers.

    >>> valuation_names({"x": [1, 1]}, 2)
    ['0', '1']
    """
    if not columns or _num_different(list(columns.values())) != num_states:
        return [str(state) for state in range(num_states)]
    return ValuationLabels(tuple(columns), tuple(columns.values()))


def _num_different(columns: Sequence[Sequence[Any]]) -> int:
    """How many different rows some columns have."""
    arrays = [np.asarray(column) for column in columns]
    if all(each.dtype.kind in "bi" for each in arrays):
        lows = [int(each.min(initial=0)) for each in arrays]
        spans = [int(each.max(initial=0)) - low + 1 for each, low in zip(arrays, lows, strict=True)]
        if prod(spans) < 2**63:
            # The values of a row are the digits of one number.
            code = np.zeros(len(arrays[0]), dtype=np.int64)
            for each, low, span in zip(arrays, lows, spans, strict=True):
                code = code * span + (each.astype(np.int64) - low)
            code.sort()
            return len(code) and 1 + int(np.count_nonzero(np.diff(code)))
    return len(set(zip(*columns, strict=True)))


def mask_of(states: Iterable[int], num_states: int) -> BoolArray:
    """True for some states."""
    mask = np.zeros(num_states, dtype=np.bool_)
    mask[list(states)] = True
    return mask


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


STEPS = "steps"
"""The cost of models without rewards: the number of steps."""


ROUNDED = 1e-6
"""How far probabilities that were written with some ten digits may sum from one."""


RewardParts = tuple[Iterable[Any] | None, Iterable[Any] | None, Iterable[Any] | None]
"""The rewards of states, choices and branches; None where a reward model has none."""


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
    """The same matrix, where rows sum to one whose probabilities lack only digits that were not written."""
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


def coded(names: Sequence[str]) -> tuple[list[str], IntArray]:
    """The different names, and the position of each.

    >>> coded(["b", "a", "b"])
    (['b', 'a'], array([0, 1, 0]))
    """
    position = {name: code for code, name in enumerate(dict.fromkeys(names))}
    return list(position), np.array([position[name] for name in names], dtype=np.int64)


def unique_names(names: Sequence[str], codes: IntArray, row_start: IntArray) -> RepeatedNames:
    """Names of actions, unique in their states: tools do without some, and repeat others.

    >>> list(unique_names(["a", ""], np.array([0, 1, 0, 1]), np.array([0, 3, 4])))
    ['a', 'action 1', "a'", 'action 0']

    Parameters
    ----------
    names
        The different names; an empty one is that of actions without a name.
    codes
        For each row, the position of its name in `names`.
    row_start
        The first row of each state.
    """
    states = states_of_rows(row_start)
    known = list(names)
    places = np.arange(len(codes)) - row_start[states]
    unnamed = np.array([not name for name in known], dtype=np.bool_)[codes]
    codes = np.where(unnamed, len(known) + places, codes)
    known += [f"action {place}" for place in range(1 + int(places[unnamed].max(initial=-1)))]
    position = {name: code for code, name in reversed(list(enumerate(known)))}
    while True:
        order = np.lexsort((codes, states))
        repeated = (np.diff(states[order]) == 0) & (np.diff(codes[order]) == 0)
        again = order[1:][repeated]
        if not again.size:
            return RepeatedNames(known, codes)
        other = np.arange(len(known))
        for code in np.unique(codes[again]).tolist():
            other[code] = position.setdefault(known[code] + "'", len(known))
            known += [known[code] + "'"] * int(other[code] == len(known))
        codes[again] = other[codes[again]]


def added_up(
    branches: SparseMatrix, row_start: IntArray, parts: Mapping[str, RewardParts]
) -> tuple[dict[str, FloatArray], TransitionCosts | None]:
    """The expected reward of each row, by name, and the rewards of single transitions.

    Parameters
    ----------
    branches
        The transitions, where a row may name a state more than once.
    row_start
        The first row of each state.
    parts
        By the names of reward models, the rewards of states, of rows and of entries of `branches`.
    """
    rows = np.repeat(np.arange(branches.shape[0]), np.diff(branches.indptr))
    rewards, full, differs = {}, [], False
    for name, parted in parts.items():
        states, choices, extra = (None if part is None else floats(part) for part in parted)
        own = np.zeros(branches.shape[0]) if choices is None else choices
        if states is not None:
            own = own + np.repeat(states, np.diff(row_start))
        rewards[name] = own if extra is None else own + _expected(branches, extra)
        full.append(own[rows] if extra is None else own[rows] + extra)
        differs |= extra is not None
    if not differs:
        return rewards, None
    return rewards, TransitionCosts.of(rows, branches.indices, branches.data, np.array(full))


def floats(values: Iterable[Any]) -> FloatArray:
    """Numbers that may be exact."""
    return values if isinstance(values, np.ndarray) else np.fromiter(values, dtype=np.float64)


def _expected(transitions: SparseMatrix, branch_rewards: FloatArray) -> FloatArray:
    """The expected reward of each row, from rewards for every entry of `transitions`."""
    paid = transitions.data * branch_rewards
    pointers = transitions.indptr.tolist()
    values = paid.tolist()
    return np.array([fsum(values[a:b]) for a, b in pairwise(pointers)])


STAY, BEGIN = "stay", "begin"
"""What a goal does for ever, and what is done to begin in one of several states."""


def closed(problem: CSSP | HCSSP) -> ExplicitModel:
    """The problem, a procedure in its flat form, as a model with one initial state and without ends.

    >>> from hcssp.cssp.builder import CSSPBuilder
    >>> plan = CSSPBuilder()
    >>> for start in ("a", "b"):
    ...     _ = plan.add_action(plan.add_state(start), "go", to=plan.add_goal("out"), costs=2.0)
    >>> plan.set_initial({"a": 0.5, "b": 0.5})
    >>> model = closed(plan.build())
    >>> list(model.action_names), model.initial.tolist(), model.rewards["cost"].tolist()
    (['go', 'stay', 'go', 'begin'], [False, False, False, True], [2.0, 0.0, 2.0, 0.0])
    """
    flat = problem.flat
    goals = np.flatnonzero(flat.goals)
    starts = np.flatnonzero(flat.initial)
    begins = len(starts) > 1
    size = flat.num_states + begins
    added = [(goal, [goal], [1.0]) for goal in goals.tolist()]
    if begins:
        added.append((flat.num_states, starts.tolist(), flat.initial[starts].tolist()))
    indices = [target for _, targets, _ in added for target in targets]
    data = [chance for _, _, chances in added for chance in chances]
    pointers = np.concatenate(([0], np.cumsum([len(targets) for _, targets, _ in added]))).astype(np.int64)
    new_rows = csr_array((data, indices, pointers), shape=(len(added), size))
    old = flat.transitions
    old_rows = csr_array((old.data, old.indices, old.indptr), shape=(flat.num_rows, size))
    owners = np.concatenate((flat.row_state, [state for state, _, _ in added])).astype(np.int64)
    order = np.argsort(owners, kind="stable")
    codes = np.array([int(state == flat.num_states) for state, _, _ in added], dtype=np.int64)
    names = JoinedLabels(flat.action_labels, RepeatedNames((STAY, BEGIN), codes))
    costs = np.hstack((flat.costs, np.zeros((len(flat.costs), len(added)))))[:, order]
    row_start = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(np.bincount(owners, minlength=size), out=row_start[1:])
    is_goal, initial = np.zeros(size, dtype=np.bool_), np.zeros(size, dtype=np.bool_)
    is_goal[goals] = True
    initial[flat.num_states if begins else starts] = True
    states: Sequence[Hashable] = JoinedLabels(flat.state_labels, (BEGIN,)) if begins else flat.state_labels
    return ExplicitModel(
        transitions=vstack((old_rows, new_rows), format="csr")[order],
        row_start=row_start,
        rewards=dict(zip(flat.cost_names, costs, strict=True)),
        labels={"init": initial, GOAL: is_goal},
        initial=initial,
        state_names=states,
        action_names=SelectedLabels(names, order),
        name=problem.name,
        transition_rewards=None if flat.transition_costs is None else flat.transition_costs.take(order),
    )


GOAL = "goal"
"""The label of the states where a model ends unless another is named."""


STAY_FOREVER, STAYING_FOREVER = "stay for ever", "staying for ever"
"""The action that ends a run without a goal, and the state that it leads to."""


def posed(
    model: ExplicitModel,
    *,
    minimise: str | None = None,
    goal: str | Sequence[str] | None = None,
    bounds: Mapping[str, float] | None = None,
    costs: Sequence[str] | None = None,
    give_up: float | Mapping[str, float] | None = None,
) -> CSSP:
    """The model as a problem.

    Parameters
    ----------
    model
        The model.
    minimise
        The reward model to minimise; by default the first, and the number of steps if there is none.
    goal
        A label of the states where it ends, or several. By default ``"goal"`` if there is such a label;
        without one the rewards of the whole, endless run count.
    bounds
        Upper bounds on other reward models, by name.
    costs
        The reward models besides the one to minimise; by default all that there are.
    give_up
        What it costs to end where the goal can no longer be reached: a number of the minimised cost, or
        costs by name. Without it such states are avoided.

    Raises
    ------
    UnknownName
        If there is no such reward model or label.
    InvalidProblem
        If rewards are negative, or anything else is no C-SSP.
    """
    names = cost_names(model, minimise, costs, bounds or {})
    table = np.array([model.reward(name) for name in names], dtype=np.float64)
    _refuse_negative(model, names, table)
    goals = goal_states(model, goal)
    kept = np.arange(model.num_rows)
    row_start = model.row_start
    if goals is not None:
        # A goal ends the run: what could be done there, and what being there would cost, no longer counts.
        leaving = ~goals[states_of_rows(model.row_start)]
        kept = np.flatnonzero(leaving)
        row_start = np.concatenate(([0], np.cumsum(leaving)))[model.row_start]
    costs_of_rows, paid = table[:, kept], model.transition_costs(names, kept)
    if paid is not None:
        differing, means = paid.expected()
        costs_of_rows[:, differing] = means
    found: list[str] = []
    problem = CSSP.unchecked(
        transitions=scaled(model.transitions[kept]),
        row_start=row_start,
        costs=costs_of_rows,
        initial=model.initial / max(1, int(model.initial.sum())),
        goals=np.zeros(model.num_states, dtype=np.bool_) if goals is None else goals,
        cost_names=names,
        bounds=bound_array(bounds, names, found),
        state_labels=model.state_names,
        action_labels=SelectedLabels(model.action_names, kept),
        name=model.name,
        groups={
            name: SelectedLabels(model.state_names, np.flatnonzero(mask))
            for name, mask in model.labels.items()
        },
        transition_costs=paid,
    )
    if goals is None:
        problem = with_staying(problem)
    found += violations(problem)
    if found:
        raise InvalidProblem(found)
    return problem if give_up is None else with_giving_up(problem, give_up)


def cost_names(
    model: ExplicitModel, minimise: str | None, costs: Sequence[str] | None, bounds: Mapping[str, float]
) -> tuple[str, ...]:
    """The costs of a problem, the one to minimise first; they include all bounded costs."""
    primary = minimise if minimise is not None else next(iter(model.rewards), STEPS)
    others = tuple(model.rewards) if costs is None else (costs,) if isinstance(costs, str) else tuple(costs)
    return tuple(dict.fromkeys((primary, *others, *bounds)))


def goal_states(model: ExplicitModel, goal: str | Sequence[str] | None) -> BoolArray | None:
    """Where a model ends; None if nowhere, so that the whole run counts."""
    if goal is None:
        return model.labels.get(GOAL)
    mask = np.zeros(model.num_states, dtype=np.bool_)
    for label in (goal,) if isinstance(goal, str) else goal:
        if label not in model.labels:
            raise UnknownName("label", label, model.labels)
        if not model.labels[label].any():
            raise InvalidProblem([f"no state that can be reached is a goal {label!r}; name another goal"])
        mask |= model.labels[label]
    return mask


def with_staying(problem: CSSP) -> CSSP:
    """A problem without goals that ends where it can go on for ever without costs."""
    transitions = problem.transitions
    entry_row = np.repeat(np.arange(problem.num_rows), np.diff(transitions.indptr))
    tails = problem.row_state[entry_row]
    free: BoolArray = problem.costs.max(axis=0) <= 0.0
    _, staying = free_groups(problem.num_states, entry_row, tails, transitions.indices, free)
    resting = np.unique(problem.row_state[staying])
    if not len(resting):
        raise InvalidProblem(
            [
                f"there is no goal, and no way to go on for ever without {' and '.join(problem.cost_names)}: "
                "every policy costs infinitely much; name a goal, or fewer costs"
            ]
        )
    end = problem.num_states
    widened = csr_array(
        (transitions.data, transitions.indices, transitions.indptr), shape=(problem.num_rows, end + 1)
    )
    added = csr_array(
        (np.ones(len(resting)), np.full(len(resting), end), np.arange(len(resting) + 1)),
        shape=(len(resting), end + 1),
    )
    order = np.argsort(np.concatenate((problem.row_state, resting)), kind="stable")
    counts = np.diff(problem.row_start) + np.bincount(resting, minlength=end)
    names = JoinedLabels(
        problem.action_labels, RepeatedNames((STAY_FOREVER,), np.zeros(len(resting), dtype=np.int64))
    )
    return problem.derive(
        transitions=vstack((widened, added), format="csr")[order],
        row_start=np.concatenate(([0], np.cumsum(counts), [counts.sum()])),
        costs=np.hstack((problem.costs, np.zeros((len(problem.costs), len(resting)))))[:, order],
        initial=np.append(problem.initial, 0.0),
        goals=np.arange(end + 1) == end,
        state_labels=JoinedLabels(problem.state_labels, (STAYING_FOREVER,)),
        action_labels=SelectedLabels(names, order),
        transition_costs=None if problem.transition_costs is None else problem.transition_costs.take(order),
    )


def _refuse_negative(model: ExplicitModel, names: Sequence[str], table: FloatArray) -> None:
    found = []
    for name, values in zip(names, table, strict=True):
        if (negative := np.flatnonzero(~(values >= 0.0))).size:
            row = int(negative[0])
            state = model.state_names[int(states_of_rows(model.row_start)[row])]
            found.append(
                f"reward model {name!r}: {float(values[row]):g} in state {state!r}, action "
                f"{model.action_names[row]!r}; costs must not be negative"
            )
    if found:
        raise InvalidProblem(found)
