r"""Choices per event: plans that make one choice at an event, whatever state it is entered in.

**Problem.** A procedure whose events may be entered in several states. A policy may choose in each of them;
the paper's procedural policy assigns one value to each choice variable. Wanted is the best deterministic
policy that does so.

**Method.** Branch and bound over assignments. A node keeps some choices of the procedure, and a method works
on the procedure that has no others. If an event with several choices is still entered in several states, that
procedure is a relaxation: its first lower bound is that of the node, which is then split, one part for each
choice at that event. Otherwise its plans make one choice per event, and the method goes on for as long as the
node has the least bound. Until there is a plan, every second step goes to the newest node.

**Guarantee.** The parts of a node cover all its policies with one choice per event, and what the method
proves of a part holds for all policies in it. No certificate is written: the checker knows policies that
choose in each state.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from hcssp.contract.progress import Progress
from hcssp.contract.proof import Ending, Infeasible, Reason
from hcssp.cssp.model import BoolArray
from hcssp.errors import DeadEnd
from hcssp.methods.best_first import BestFirst
from hcssp.procedure.model import HCSSP
from hcssp.procedure.parts import Part, part_of
from hcssp.procedure.policy import ProcedurePolicy

Search = Callable[[HCSSP, float], Iterator[Progress]]
"""A method on a problem in which it may choose per state; only plans below a cost are wanted."""


@dataclass(frozen=True, eq=False)
class _Assignment:
    """The choices that are kept, a search over the procedure that has only these, and an event to decide."""

    kept: BoolArray
    part: Part
    steps: Iterator[Progress]
    event: int | None


def one_choice_per_event(problem: HCSSP, search: Search, wanted_gap: float = 0.0) -> Iterator[Progress]:
    """The progress of `search` over the plans of `problem` with one choice per event.

    Parameters
    ----------
    problem
        The problem.
    search
        A method.
    wanted_gap
        The relative gap at which the search may stop.
    """
    began, newest = time.perf_counter(), True
    queue: BestFirst[_Assignment, ProcedurePolicy] = BestFirst(wanted_gap=wanted_gap)
    # The progress of the node that the incumbent comes from.
    found, holder = Progress(), None
    iterations, reason = 0, Reason.PROVED

    def snapshot(ending: Reason | None = None) -> Progress:
        return replace(
            found,
            seconds=time.perf_counter() - began,
            iterations=iterations,
            lower_bound=queue.lower_bound,
            upper_bound=queue.upper_bound,
            incumbent=queue.incumbent,
            stochastic=None,
            infeasible=Infeasible() if ending is Reason.INFEASIBLE else None,
            ending=None if ending is None else Ending(ending),
            open_nodes=len(queue),
        )

    def begin(bound: float, kept: BoolArray) -> None:
        try:
            part = part_of(problem, kept)
            node = _Assignment(
                kept, part, search(part.problem.choosing("per state"), queue.upper_bound), _undecided(part)
            )
        except DeadEnd:
            # Without the other choices the end cannot be reached.
            return
        queue.push(bound, node)

    begin(-inf, np.ones(len(problem.choices), dtype=np.bool_))
    while queue.next_bound < queue.cutoff:
        bound, node = queue.pop(newest=newest and queue.incumbent is None)
        newest = not newest
        try:
            step = next(node.steps)
        except DeadEnd:
            if node.kept.all():
                raise
            continue
        bound = max(bound, step.lower_bound)
        iterations += step.iterations > 0
        if node.event is not None:
            if step.iterations == 0 and step.ending is None:
                queue.push(bound, node)
            elif step.infeasible is None:
                for choice in node.part.problem.choices_at(node.event):
                    begin(bound, _with_one(node, choice))
        else:
            policy = step.incumbent
            if isinstance(policy, ProcedurePolicy) and step.upper_bound < queue.upper_bound:
                queue.offer(step.upper_bound, node.part.lift(policy))
                holder = node
            if node is holder:
                found = step
            if step.ending is None:
                queue.push(bound, node)
            elif step.infeasible is None:
                reason = step.ending.reason if bound <= queue.pruned_bound else reason
                queue.prune(bound)
        yield snapshot()
    yield snapshot(Reason.INFEASIBLE if queue.lower_bound == inf else reason)


def _undecided(part: Part) -> int | None:
    """The first event with several choices that is entered in several states; None if there is none."""
    problem = part.problem
    entered = Counter(event for event, _ in problem.flattening.event_states)
    several = (event for event, states in entered.items() if states > 1)
    return next((event for event in several if len(problem.choices_at(event)) > 1), None)


def _with_one(node: _Assignment, choice: int) -> BoolArray:
    """The kept choices without the others at the event of `choice`, a choice of the part."""
    kept, part = node.kept.copy(), node.part
    kept[[part.choices[each] for each in part.problem.choices_at(part.problem.choices[choice].event)]] = False
    kept[part.choices[choice]] = True
    return kept
