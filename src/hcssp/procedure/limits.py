r"""Limits: what one execution of a use may cost in expectation, whenever it is run.

Let :math:`G` be what a plan spends inside a use, all executions together, and :math:`N` how often it runs the
use. The limit says :math:`G \le \Delta N`. Costs are not negative, so :math:`-\Delta N` has to be said in
another way.

Let :math:`M(e)` be a number for every event, 0 at the end, such that whatever is chosen at :math:`e`, at most
:math:`M(e)` executions can still be expected. A choice :math:`c` at :math:`e` runs the use with probability
:math:`n(c)` and loses :math:`M(e) - n(c) - \sum_o p_o M(e_o) \ge 0` of what could be expected. Along every
plan that ends, the losses and the executions add up to :math:`M` of the start (all terms between cancel). So

.. math:: G + \Delta \cdot \text{losses} \le \Delta \, M(\text{start})
   \quad\text{if and only if}\quad G \le \Delta N,

and that is an ordinary constraint whose choices cost something, none of them less than 0.

Such a constraint counts as kept if it exceeds its bound by a share :math:`\tau` of it, so of
:math:`\Delta M`. But a limit is to be kept relative to what the plan executes, :math:`G \le (1 + \tau) \Delta
N`, and :math:`N` may be far below :math:`M`. So a lost execution does not cost :math:`\Delta`, but
:math:`(1 + \tau - \rho) \Delta`, see :data:`hcssp.numerics.LOST_EXECUTION`:

.. math:: G + (1 + \tau - \rho) \Delta \, (M - N) \le (1 + \tau) \Delta M
   \quad\text{if and only if}\quad G \le (1 + \tau) \Delta N + \rho \Delta \, (M - N).

The share :math:`\rho`, :data:`hcssp.numerics.LIMIT_ROUNDING`, is for rounding. The numbers :math:`M` satisfy
their equations up to four roundings, so that a choice may lose that much of :math:`M(e)` less than is stated
here; :math:`\rho` covers 100 such choices in a run. Lower bounds then hold for every plan that keeps a limit,
and whether a plan does is decided by its evaluation, from :math:`G` and :math:`N` themselves.

A constant may be
added to :math:`M` everywhere but at the end: so the start has 1 if the use runs at most once in expectation,
and then the bound of the constraint is the limit itself. (Not where the exit of an activity decides whether
the procedure is over: the losses belong to choices, which are made before.)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from graphlib import TopologicalSorter
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array, eye_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.numerics import ROUNDING
from hcssp.procedure.elements import Constraint, PerExecution
from hcssp.procedure.model import HCSSP
from hcssp.procedure.nesting import Use

MOST_SWEEPS = 100_000
SOLVE_EVERY = 64
"""After as many sweeps, the equations of the choices that run the use most often are solved at once."""

WITHOUT_END = 1e9
"""A use that may be expected so often can be run as often as one likes."""

_USES_AT_ONCE = 256
"""So many uses share a pass over the events; this bounds the memory that the pass takes."""


class ToCome(NamedTuple):
    """The most executions of a use that can be expected from each event, and the loss of each choice."""

    most: FloatArray
    losses: FloatArray


def limits(problem: HCSSP) -> tuple[list[Constraint], list[str]]:
    """The limits of the uses in `problem`, as constraints, and what is wrong with them.

    They are the bounds of the procedures that are used, and the limits of the uses inside those.
    """
    stated = [
        (use, constraint, number if constraint.per is None else number + 1 + constraint.per.use)
        for number, use in enumerate(problem.uses)
        if use.parent is None
        for constraint in use.procedure.constraints
        if constraint.limit != np.inf
    ]
    limited = list(dict.fromkeys(number for _, _, number in stated))
    known = dict(zip(limited, _per_execution(problem, limited), strict=True))
    found: list[Constraint] = []
    violations: list[str] = []
    for use, constraint, number in stated:
        per, name = known[number], f"{use.name}/{constraint.name}"
        if isinstance(per, str):
            violations.append(f"constraint {name!r}: {per}")
            continue
        first = use.activities.start
        counts = {first + activity: cost for activity, cost in constraint.counts.items()}
        found.append(Constraint(name, constraint.limit * per.most_executions, counts, per))
    return found, violations


def _per_execution(problem: HCSSP, numbers: Sequence[int]) -> Iterator[PerExecution | str]:
    """For each of some uses, what makes a constraint hold for every execution of it; or why none can."""
    branching = [
        (choice, outcome.events)
        for choice in problem.choices
        for outcome in choice.outcomes
        if outcome.probability > 0.0 and len(outcome.events) > 1
    ]
    reached = np.array([event for _, events in branching for event in events], dtype=np.int64)
    firsts = np.cumsum([0, *(len(events) for _, events in branching)])[:-1]
    ending = np.array(
        [
            sum(each.probability for each in choice.outcomes if each.event == problem.end)
            for choice in problem.choices
        ]
    )
    ends_by_exit = _ends_by_exit(problem)
    uses = [problem.uses[number] for number in numbers]
    for number, use, found in zip(numbers, uses, to_come(problem, uses), strict=True):
        if found is None:
            yield (
                f"{use.name!r} can be run as often as one likes, and a limit for such a use cannot be kept "
                "apart from the others; let a way back to it be taken by chance only"
            )
            continue
        most, losses = found
        after = most[reached]
        if branching:
            differ = np.maximum.reduceat(after, firsts) > np.minimum.reduceat(after, firsts)
            if differ.any():
                choice, _ = branching[int(np.argmax(differ))]
                yield (
                    f"whether {use.name!r} is still to come depends on the exit of an activity, after choice "
                    f"{choice.name!r} at event {problem.events[choice.event]!r}; bound the whole instead"
                )
                continue
        first = float(most[problem.start])
        if first == 0.0:
            yield PerExecution(number, 1.0, {})
            continue
        # A constant more everywhere but at the end, so that the start has 1 at least: the last step loses it.
        # Where the exit of an activity decides whether a step is the last, no choice can pay for that.
        more = 0.0 if ends_by_exit else max(0.0, 1.0 - first)
        losses = losses + more * ending
        kept = {int(choice): float(losses[choice]) for choice in np.flatnonzero(losses)}
        yield PerExecution(number, first + more, kept)


def to_come(problem: HCSSP, uses: Sequence[Use]) -> Iterator[ToCome | None]:
    """How often each of some uses can still be run; None for one that can be run as often as one likes."""
    events = np.array([choice.event for choice in problem.choices], dtype=np.int64)
    moves = _moves(problem)
    parts = _in_order(moves, events)
    for first in range(0, len(uses), _USES_AT_ONCE):
        entries = _entries(problem, uses[first : first + _USES_AT_ONCE])
        most = _most_executions(entries, parts, problem.num_events)
        with np.errstate(invalid="ignore"):
            # Rounded down, so that no loss is overstated.
            losses = most[events] - (entries + moves @ most) - 4.0 * ROUNDING * most[events]
        losses = np.maximum(losses, 0.0)
        for own, lost in zip(most.T, losses.T, strict=True):
            yield ToCome(own.copy(), lost.copy()) if np.isfinite(own).all() else None


def _ends_by_exit(problem: HCSSP) -> bool:
    """Whether the procedure may be over or not after an activity, depending on where that ends."""
    return any(
        problem.end in outcome.events and len(outcome.events) > 1
        for choice in problem.choices
        for outcome in choice.outcomes
    )


def enters(use: Use, event: int, target: int) -> bool:
    """Whether an outcome that leads from `event` to `target` begins an execution of `use`."""
    return target == use.start and event not in use.events


def _moves(problem: HCSSP) -> csr_array:
    """With what probability each choice leads to each event."""
    arrows = [
        (number, outcome.event, outcome.probability)
        for number, choice in enumerate(problem.choices)
        for outcome in choice.outcomes
        if outcome.probability > 0.0
    ]
    rows, columns, values = (list(part) for part in zip(*arrows, strict=True))
    return csr_array((values, (rows, columns)), shape=(len(problem.choices), problem.num_events))


def _entries(problem: HCSSP, uses: Sequence[Use]) -> FloatArray:
    """With what probability each choice runs each of some uses at once; one column a use."""
    starting: defaultdict[int, list[int]] = defaultdict(list)
    for column, use in enumerate(uses):
        starting[use.start].append(column)
    entries = np.zeros((len(problem.choices), len(uses)))
    for number, choice in enumerate(problem.choices):
        for outcome in choice.outcomes:
            for column in starting.get(outcome.event, ()) if outcome.runs is None else ():
                if enters(uses[column], choice.event, outcome.event):
                    entries[number, column] += outcome.probability
    return entries


class _Part(NamedTuple):
    """A strongly connected component of the events.

    Attributes
    ----------
    events, firsts
        Its events that have choices, and the place of the first choice of each.
    choices, moves
        Its choices, event by event, and where they lead.
    cyclic
        Whether some choice leads back into it.
    """

    events: IntArray
    firsts: IntArray
    choices: IntArray
    moves: csr_array
    cyclic: bool


def _in_order(moves: csr_array, events: IntArray) -> list[_Part]:
    """The components of the events, each after those that it leads to; `events` has that of each choice."""
    count = moves.shape[1]
    tails = np.repeat(events, np.diff(moves.indptr))
    graph = csr_array((np.ones(moves.nnz), (tails, moves.indices)), shape=(count, count))
    number, component = connected_components(graph, connection="strong")
    after: dict[int, set[int]] = {each: set() for each in component[events].tolist()}
    cyclic = np.zeros(number, dtype=np.bool_)
    for tail, head in zip(component[tails].tolist(), component[moves.indices].tolist(), strict=True):
        if tail == head:
            cyclic[tail] = True
        elif head in after:
            after[tail].add(head)
    order = np.argsort(component[events], kind="stable")
    places = np.searchsorted(component[events][order], np.arange(number + 1))
    parts = []
    for each in TopologicalSorter(after).static_order():
        choices = order[places[each] : places[each + 1]]
        firsts = np.flatnonzero(np.diff(events[choices], prepend=-1))
        own = events[choices][firsts]
        parts.append(_Part(own, firsts, choices, csr_array(moves[choices]), bool(cyclic[each])))
    return parts


def _most_executions(entries: FloatArray, parts: Sequence[_Part], num_events: int) -> FloatArray:
    """The most executions that can be expected from each event, whatever is chosen; one column a use.

    It is ``inf`` somewhere if there are uses without end.

    Parameters
    ----------
    entries
        The probability of running each use at once, one row a choice.
    parts
        See :func:`_in_order`.
    num_events
        With those that have no choice.
    """
    most = np.zeros((num_events, entries.shape[1]))
    for part in parts:
        # Nothing is known yet of the events of the part itself.
        others = entries[part.choices] + part.moves @ most
        if part.cyclic:
            uses = np.flatnonzero(others.any(axis=0))
            most[np.ix_(part.events, uses)] = _settled(others[:, uses], part)
        else:
            most[part.events] = np.maximum.reduceat(others, part.firsts)
    return most


def _settled(others: FloatArray, part: _Part) -> FloatArray:
    """The most executions from the events of a part that choices lead back into; ``inf`` if without end.

    Parameters
    ----------
    others
        The executions at once and after leaving the part, one row a choice and one column a use.
    part
        The events and choices.
    """
    inner = csr_array(part.moves[:, part.events])
    found = np.zeros((len(part.events), others.shape[1]))
    left = np.arange(others.shape[1])

    def swept(known: FloatArray, uses: IntArray) -> FloatArray:
        return np.maximum.reduceat(others[:, uses] + inner @ known, part.firsts)

    for sweep in range(1, MOST_SWEEPS + 1):
        if sweep % SOLVE_EVERY == 0:
            best = _best_choices(others[:, left] + inner @ found[:, left], part.firsts)
            solved = np.full((len(part.events), len(left)), np.nan)
            for policy in np.unique(best, axis=1).T:
                alike = (best == policy[:, np.newaxis]).all(axis=0)
                solved[:, alike] = _solved(others[policy][:, left[alike]], inner[policy])
            error = np.abs(swept(solved, left) - solved)
            settled = ((solved >= found[:, left]) & (error <= 4.0 * ROUNDING * solved)).all(axis=0)
            found[:, left[settled]] = solved[:, settled]
            left = left[~settled]
        better = swept(found[:, left], left)
        # From below the sweeps rise until rounding ends it.
        rises = (better > found[:, left]).any(axis=0)
        endless = (better > WITHOUT_END).any(axis=0)
        found[:, left[rises]] = better[:, rises]
        found[:, left[endless]] = np.inf
        left = left[rises & ~endless]
        if not len(left):
            return found
    found[:, left] = np.inf
    return found


def _best_choices(values: FloatArray, firsts: IntArray) -> IntArray:
    """The first choice of the most executions at each event, for each column of uses."""
    count = len(values)
    most = np.repeat(np.maximum.reduceat(values, firsts), np.diff(firsts, append=count), axis=0)
    places = np.where(values == most, np.arange(count)[:, np.newaxis], count)
    return np.minimum.reduceat(places, firsts)


def _solved(right: FloatArray, moves: csr_array) -> FloatArray:
    """The executions to expect if one choice is made at each event; not a number if these never end."""
    try:
        factors = splu(csc_array(eye_array(len(right), format="csc") - moves))
    except RuntimeError:
        return np.full(right.shape, np.nan)
    solved: FloatArray = factors.solve(right)
    return solved
