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

import warnings

import numpy as np
from scipy.sparse import csc_array, csr_array, eye_array
from scipy.sparse.linalg import spsolve

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


def limits(problem: HCSSP) -> tuple[list[Constraint], list[str]]:
    """The limits of the uses in `problem`, as constraints, and what is wrong with them.

    They are the bounds of the procedures that are used, and the limits of the uses inside those.
    """
    found: list[Constraint] = []
    violations: list[str] = []
    for number, use in enumerate(problem.uses):
        if use.parent is not None:
            continue
        for constraint in use.procedure.constraints:
            if constraint.limit == np.inf:
                continue
            own = number if constraint.per is None else number + 1 + constraint.per.use
            per = per_execution(problem, own)
            name = f"{use.name}/{constraint.name}"
            if isinstance(per, str):
                violations.append(f"constraint {name!r}: {per}")
                continue
            first = use.activities.start
            counts = {first + activity: cost for activity, cost in constraint.counts.items()}
            found.append(Constraint(name, constraint.limit * per.most_executions, counts, per))
    return found, violations


def per_execution(problem: HCSSP, number: int) -> PerExecution | str:
    """What makes a constraint hold for every execution of a use; or why none can."""
    use = problem.uses[number]
    found = to_come(problem, use)
    if found is None:
        return (
            f"{use.name!r} can be run as often as one likes, and a limit for such a use cannot be kept apart "
            "from the others; let a way back to it be taken by chance only"
        )
    most, losses = found
    for choice in problem.choices:
        for outcome in choice.outcomes:
            after = most[list(outcome.events)]
            if float(np.ptp(after)) > 0.0 and outcome.probability > 0.0:
                return (
                    f"whether {use.name!r} is still to come depends on the exit of an activity, after choice "
                    f"{choice.name!r} at event {problem.events[choice.event]!r}; bound the whole instead"
                )
    first = float(most[problem.start])
    if first == 0.0:
        return PerExecution(number, 1.0, {})
    # A constant more everywhere but at the end, so that the start has 1 at least: the last step loses it.
    # Where the exit of an activity decides whether a step is the last, no choice can pay for that.
    more = 0.0 if _ends_by_exit(problem) else max(0.0, 1.0 - first)
    if more > 0.0:
        _, moves = _executions(problem, use)
        losses = losses + more * moves[:, [problem.end]].toarray().ravel()
    kept = {int(choice): float(losses[choice]) for choice in np.flatnonzero(losses)}
    return PerExecution(number, first + more, kept)


def to_come(problem: HCSSP, use: Use) -> tuple[FloatArray, FloatArray] | None:
    """The most executions of a use that can be expected from each event, and what each choice loses of them.

    None if the use can be run as often as one likes.
    """
    events = np.array([choice.event for choice in problem.choices], dtype=np.int64)
    entries, moves = _executions(problem, use)
    most = _most_executions(entries, moves, events)
    if most is None:
        return None
    # Rounded down, so that no loss is overstated.
    losses = most[events] - (entries + moves @ most) - 4.0 * ROUNDING * most[events]
    return most, np.maximum(losses, 0.0)


def carried_limit(problem: HCSSP, constraint: Constraint) -> float:
    """What a limit of a use allows beyond its executions: something if one is under way at the start.

    That is so in the rest of a procedure, see :mod:`hcssp.procedure.rest`.
    """
    if constraint.per is None or problem.nesting is None or problem.nesting.placed is None:
        return 0.0
    known = to_come(problem, problem.uses[constraint.per.use])
    return 0.0 if known is None else constraint.at_most - constraint.limit * float(known[0][problem.start])


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


def _executions(problem: HCSSP, use: Use) -> tuple[FloatArray, csr_array]:
    """With what probability each choice runs the use at once, and to which events it leads."""
    entries = np.zeros(len(problem.choices))
    arrows: list[tuple[int, int, float]] = []
    for number, choice in enumerate(problem.choices):
        for outcome in choice.outcomes:
            if outcome.runs is None and enters(use, choice.event, outcome.event):
                entries[number] += outcome.probability
            arrows.append((number, outcome.event, outcome.probability))
    rows, columns, values = (list(part) for part in zip(*arrows, strict=True))
    shape = (len(problem.choices), problem.num_events)
    return entries, csr_array((values, (rows, columns)), shape=shape)


def _most_executions(entries: FloatArray, moves: csr_array, events: IntArray) -> FloatArray | None:
    """The most executions that can be expected from each event, whatever is chosen; None if without end."""
    starts = np.flatnonzero(np.diff(events, prepend=-1))
    owners = events[starts]
    most = np.zeros(moves.shape[1])

    def swept(known: FloatArray) -> FloatArray:
        better = np.zeros_like(known)
        better[owners] = np.maximum.reduceat(entries + moves @ known, starts)
        return better

    for sweep in range(1, MOST_SWEEPS + 1):
        if sweep % SOLVE_EVERY == 0:
            values = entries + moves @ most
            best = np.lexsort((-values, events))[starts]
            solved = _solved(entries[best], moves[best], owners)
            if np.all(solved >= most) and np.all(np.abs(swept(solved) - solved) <= 4.0 * ROUNDING * solved):
                return solved
        better = swept(most)
        # From below the sweeps rise until rounding ends it.
        if np.all(better <= most):
            return most
        most = better
        if float(most.max()) > WITHOUT_END:
            return None
    return None


def _solved(entries: FloatArray, moves: csr_array, owners: IntArray) -> FloatArray:
    """The executions to expect if one choice is made at each of the events `owners`; may not be finite."""
    among = eye_array(len(owners), format="csc") - csc_array(moves)[:, owners]
    solved = np.zeros(moves.shape[1])
    with warnings.catch_warnings():
        # Choices that never come to an end have no solution.
        warnings.simplefilter("ignore")
        solved[owners] = spsolve(among, entries)
    return solved
