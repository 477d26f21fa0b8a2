"""The rules a C-SSP must obey, checked once, when it is built.

Every violation is one sentence that names the place, the value and the remedy, and all of them come
back together, so that a user can correct a model at once. The checks are vectorised: they look at names
only to word a violation, except for the search for duplicate labels.

>>> from scipy.sparse import csr_array
>>> leaky = CSSP.unchecked(
...     transitions=csr_array(np.array([[0.0, 0.95]])),
...     row_start=np.array([0, 1, 1]),
...     costs=np.array([[-1.0]]),
...     initial=np.array([1.0, 0.0]),
...     goals=np.array([False, True]),
...     cost_names=("time",),
...     bounds=np.array([]),
... )
>>> for violation in violations(leaky):
...     print(violation)
state 0, action 0: probabilities sum to 0.95, not 1
state 0, action 0: the cost 'time' is -1.0; costs must be finite and not negative
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.arrays import distinct
from hcssp.cssp.labels import LazyLabels, RepeatedNames, SelectedLabels
from hcssp.cssp.model import (
    CSSP,
    BoolArray,
    FloatArray,
    IntArray,
    SparseMatrix,
    bound_violations,
    changed_bounds,
)
from hcssp.errors import InvalidProblem, did_you_mean
from hcssp.numerics import PROBABILITY_TOLERANCE

MOST_OF_A_KIND = 100
"""Violations of one rule beyond this many are counted instead of listed."""


def validated(problem: CSSP) -> CSSP:
    """The same problem if it obeys every rule.

    Raises
    ------
    InvalidProblem
        If it breaks any, with all violations.
    """
    found = violations(problem)
    if found:
        raise InvalidProblem(found)
    return problem


def violations(problem: CSSP) -> list[str]:
    """All violations of `problem`, in the order of the rules; empty if it is valid."""
    # Arrays that do not fit together cannot be looked into any further.
    unfit = list(_shapes(problem))
    if unfit:
        return unfit
    rules: list[Callable[[CSSP], Iterator[str]]] = [
        _cost_names,
        _duplicate_states,
        _duplicate_actions,
        _probabilities,
        _sums,
        _costs,
        _transition_costs,
        _initial,
        _goals,
        _bounds,
    ]
    return [violation for rule in rules for violation in capped(rule(problem))]


def bound_array(
    bounds: Mapping[str, float] | None, cost_names: Sequence[str], found: list[str]
) -> FloatArray:
    """One bound for each secondary cost, ``inf`` where `bounds` has none.

    Violations are appended to `found`, so that a maker can report them together with others.
    """
    wanted = dict(bounds or {})
    if cost_names and cost_names[0] in wanted:
        name = cost_names[0]
        found.append(f"bound on {name!r}: it is the primary cost, which is minimised, not bounded")
        del wanted[name]
    unbounded = np.full(max(len(cost_names) - 1, 0), np.inf)
    return changed_bounds(unbounded, cost_names[1:], wanted, "secondary cost", found)


def unknown_cost(name: str, cost_names: Sequence[str]) -> str:
    """The message about an unknown cost."""
    return f"there is no cost {name!r}; {did_you_mean(name, cost_names, 'the costs are')}"


def unsound_rows(transitions: SparseMatrix) -> Iterator[tuple[int, str]]:
    """The rows whose probabilities do not sum to one, each with its error."""
    sums = _row_sums(transitions)
    # A sum that is not a number comes from an entry that is wrong by itself.
    wrong = np.abs(sums - 1.0) > PROBABILITY_TOLERANCE
    if not wrong.any():
        return
    for row in np.flatnonzero(wrong & np.isfinite(sums)).tolist():
        empty = transitions.indptr[row] == transitions.indptr[row + 1]
        nowhere = "it leads nowhere; give it at least one next state"
        yield row, nowhere if empty else f"probabilities sum to {_short(sums[row])}, not 1"


def _row_sums(transitions: SparseMatrix) -> FloatArray:
    sums: FloatArray
    pointers = transitions.indptr
    if len(pointers) > 1 and (pointers[:-1] < pointers[1:]).all():
        sums = np.add.reduceat(transitions.data, pointers[:-1])
    else:
        # Of rows without an entry it would make something else.
        sums = transitions.dot(np.ones(transitions.shape[1]))
    return sums


def capped(found: Iterator[str], most: int = MOST_OF_A_KIND) -> Iterator[str]:
    """The first violations of one rule, and the number of further ones."""
    yield from islice(found, most)
    remaining = sum(1 for _ in found)
    if remaining:
        yield f"... and {remaining} more of this kind"


def _shapes(problem: CSSP) -> Iterator[str]:
    row_start = problem.row_start
    if row_start.ndim != 1:
        yield f"row_start has shape {row_start.shape}; give one number for each state and one for the end"
        return
    if len(row_start) < 2:
        yield "there is no state; add at least one, and a goal"
        return
    if row_start[0] != 0 or (row_start[1:] < row_start[:-1]).any():
        yield f"row_start must begin with 0 and never decrease, but is {row_start.tolist()[:20]}"
        return
    states, rows, names = problem.num_states, problem.num_rows, len(problem.cost_names)
    expected: list[tuple[str, tuple[int, ...], tuple[int, ...]]] = [
        ("transitions", problem.transitions.shape, (rows, states)),
        ("costs", problem.costs.shape, (names, rows)),
        ("initial", problem.initial.shape, (states,)),
        ("goals", problem.goals.shape, (states,)),
        ("bounds", problem.bounds.shape, (max(names - 1, 0),)),
    ]
    # Where there are none, numbers take their place as soon as everything else fits together.
    if len(problem.state_labels):
        expected.append(("state_labels", (len(problem.state_labels),), (states,)))
    if len(problem.action_labels):
        expected.append(("action_labels", (len(problem.action_labels),), (rows,)))
    for name, shape, wanted in expected:
        if shape != wanted:
            sizes = f"{states} states, {rows} rows and {names} costs"
            yield f"{name} has shape {shape}, but {sizes} need {wanted}"
    paid = problem.transition_costs
    if paid is not None and not (
        len({len(paid.rows), len(paid.states), len(paid.probabilities), paid.costs.shape[1]}) == 1
        and len(paid.costs) == names
        and (np.diff(paid.rows) >= 0).all()
        and _within(paid.rows, rows)
        and _within(paid.states, states)
    ):
        yield (
            f"transition_costs has {paid.rows.shape} rows, {paid.states.shape} states, "
            f"{paid.probabilities.shape} probabilities and costs of shape {paid.costs.shape}; give one of "
            f"each for every outcome, rows ascending and below {rows}, states below {states}, {names} costs"
        )
    indices = problem.transitions.indices
    least, most = (int(indices.min()), int(indices.max())) if len(indices) else (0, 0)
    if least < 0 or most >= states:
        worst = most if most >= states else least
        yield f"transitions lead to state {worst}, which is unknown; the states are 0 to {states - 1}"


def _cost_names(problem: CSSP) -> Iterator[str]:
    if not problem.cost_names:
        yield "there is no cost; name at least the primary cost, which is minimised"
    for position, name in enumerate(problem.cost_names):
        if name in problem.cost_names[:position]:
            yield f"two costs are called {name!r}; give each its own name"


def _duplicate_states(problem: CSSP) -> Iterator[str]:
    labels = problem.state_labels
    if isinstance(labels, range) or (isinstance(labels, LazyLabels) and labels.differ) or _distinct(labels):
        return
    seen: set[Hashable] = set()
    for label in labels:
        if not _distinct((label,)):
            yield f"state {label!r}: {_NO_LABEL}"
        elif label in seen:
            yield f"state {label!r}: two states have this label; give each its own"
        else:
            seen.add(label)


_NO_LABEL = "a label must be hashable; give a text, a number or a tuple of them"


def _distinct(labels: Sequence[object]) -> bool:
    """Whether no two of `labels` are equal; not if one is a list or holds one, which cannot be looked up."""
    try:
        return len(set(labels)) == len(labels)
    except TypeError:
        return False


def _duplicate_actions(problem: CSSP) -> Iterator[str]:
    labels = problem.action_labels
    chosen: IntArray | None = None
    if isinstance(labels, SelectedLabels):
        chosen, labels = labels.chosen, labels.base
    if isinstance(labels, RepeatedNames):
        codes = labels.codes if chosen is None else labels.codes[chosen]
        key = problem.row_state * len(labels.names) + codes
        if len(distinct(key)) == len(key):
            return
    places = list(zip(problem.row_state.tolist(), problem.action_labels, strict=True))
    if _distinct(places):
        return
    seen: set[tuple[int, Hashable]] = set()
    for row, place in enumerate(places):
        if not _distinct((place,)):
            yield f"{_row(problem, row)}: {_NO_LABEL}"
        elif place in seen:
            yield f"{_row(problem, row)}: the state has two actions of this name; give each its own"
        else:
            seen.add(place)


def _row(problem: CSSP, row: int) -> str:
    state = problem.state_labels[int(problem.row_state[row])]
    return f"state {state!r}, action {problem.action_labels[row]!r}"


def _probabilities(problem: CSSP) -> Iterator[str]:
    transitions = problem.transitions
    if not _some_bad(transitions.data):
        return
    for entry in np.flatnonzero(_bad(transitions.data)).tolist():
        row = int(np.searchsorted(transitions.indptr, entry, side="right")) - 1
        reached = problem.state_labels[int(transitions.indices[entry])]
        yield (
            f"{_row(problem, row)}: the probability of reaching state {reached!r} is "
            f"{float(transitions.data[entry])!r}; probabilities must be finite and not negative"
        )


def _sums(problem: CSSP) -> Iterator[str]:
    for row, text in unsound_rows(problem.transitions):
        yield f"{_row(problem, row)}: {text}"


def _costs(problem: CSSP) -> Iterator[str]:
    if not _some_bad(problem.costs):
        return
    for cost, row in np.argwhere(_bad(problem.costs)).tolist():
        yield (
            f"{_row(problem, row)}: the cost {problem.cost_names[cost]!r} is "
            f"{float(problem.costs[cost, row])!r}; costs must be finite and not negative"
        )


def _transition_costs(problem: CSSP) -> Iterator[str]:
    """Costs of single transitions are costs, and agree with the transitions and the expected costs."""
    paid = problem.transition_costs
    if paid is None:
        return
    for cost, entry in np.argwhere(_bad(paid.costs)).tolist():
        reached = problem.state_labels[int(paid.states[entry])]
        yield (
            f"{_row(problem, int(paid.rows[entry]))}: the cost {problem.cost_names[cost]!r} of reaching "
            f"state {reached!r} is {float(paid.costs[cost, entry])!r}; costs must be finite and not negative"
        )
    if _some_bad(paid.costs) or _some_bad(problem.transitions.data) or _some_bad(problem.costs):
        return
    rows, begins = np.unique(paid.rows, return_index=True)
    costs = np.add.reduceat(paid.costs * paid.probabilities, begins, axis=1)
    shape = (problem.num_rows, problem.num_states)
    stated = csr_array((paid.probabilities, (paid.rows, paid.states)), shape=shape)[rows]
    missed = abs(stated - problem.transitions[rows]).max(axis=1).toarray().ravel()
    wrong = (missed > PROBABILITY_TOLERANCE) | (
        np.abs(costs - problem.costs[:, rows]) > PROBABILITY_TOLERANCE * np.maximum(1.0, np.abs(costs))
    ).any(axis=0)
    for row in rows[wrong].tolist():
        yield (
            f"{_row(problem, row)}: the costs of its single transitions do not have the probabilities and "
            "the expected costs of the row; state them by one of the two"
        )


def _initial(problem: CSSP) -> Iterator[str]:
    for state in np.flatnonzero(_bad(problem.initial)).tolist():
        yield (
            f"state {problem.state_labels[state]!r}: its initial probability is "
            f"{float(problem.initial[state])!r}; probabilities must be finite and not negative"
        )
    total = float(problem.initial.sum())
    if total == 0.0:
        yield "there is no initial state; set one"
    elif np.isfinite(total) and abs(total - 1.0) > PROBABILITY_TOLERANCE:
        yield f"the initial probabilities sum to {_short(total)}, not 1"


def _goals(problem: CSSP) -> Iterator[str]:
    if not problem.goals.any():
        yield "there is no goal; mark at least one state as a goal"
    acting = problem.goals & (problem.row_start[1:] > problem.row_start[:-1])
    for state in np.flatnonzero(acting).tolist():
        for row in range(int(problem.row_start[state]), int(problem.row_start[state + 1])):
            yield f"{_row(problem, row)}: the state is a goal, which ends everything; remove the action"


def _bounds(problem: CSSP) -> Iterator[str]:
    for name, bound in zip(problem.cost_names[1:], problem.bounds.tolist(), strict=True):
        yield from bound_violations(f"bound on {name!r}", bound)


def _bad(values: FloatArray) -> BoolArray:
    """Which values are negative, infinite or not a number."""
    # A comparison with nan is false, so one expression covers all three.
    return ~((values >= 0.0) & (values < np.inf))


def _some_bad(values: FloatArray) -> bool:
    """Whether any value is bad, without a temporary array: nan survives both min and max."""
    return values.size > 0 and not (values.min() >= 0.0 and values.max() < np.inf)


def _within(numbers: IntArray, count: int) -> bool:
    return len(numbers) == 0 or (int(numbers.min()) >= 0 and int(numbers.max()) < count)


def _short(number: float) -> str:
    """A number without the digits that rounding has left behind, unless only they differ from 1."""
    text = f"{number:.10g}"
    return text if float(text) != 1.0 else repr(float(number))
