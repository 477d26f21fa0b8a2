"""What has been learnt about a problem, kept so that the same problem under other bounds begins with it.

The bounds of the constraints enter a search last: what an oracle knows (budget curves, factorisations, plans)
holds under all of them. A :class:`Memory` keeps one oracle for a problem and hands it out under any bounds.

One search at a time may use a memory: its oracles share caches without locks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hcssp.cssp.expansion import Expansion
from hcssp.cssp.implicit import ImplicitCSSP, refuse_implicit
from hcssp.cssp.model import CSSP
from hcssp.dual.flat_oracle import Evaluation
from hcssp.dual.oracle import Oracle
from hcssp.dual.oracles import oracle_of
from hcssp.procedure.model import HCSSP
from hcssp.procedure.single import refuse_parts

Problem = CSSP | HCSSP


class Memory:
    """The oracles of one problem, whatever its bounds.

    Parameters
    ----------
    before
        What was learnt about a problem that has much in common with this one, such as the same procedure
        before the world changed: activities that are the same are not planned anew.
    """

    def __init__(self, before: Memory | None = None) -> None:
        self._problem: Problem | None = None
        self._oracles: dict[Evaluation, Oracle[Any]] = {}
        self._before: dict[Evaluation, Oracle[Any]] = {} if before is None else dict(before._oracles)
        self._expansion: Expansion | None = None

    def oracle(self, problem: Problem, evaluation: Evaluation = "auto") -> Oracle[Any]:
        """The oracle of `problem`, with all that was learnt under other bounds.

        Parameters
        ----------
        problem
            The problem of this memory, under whatever bounds. Another one makes it begin anew, with what is
            known about activities that both have.
        evaluation
            How policies of a flat problem are evaluated.

        Raises
        ------
        UnsupportedProblem
            If it is a procedure around a part of an implicit problem.
        """
        refuse_implicit(problem, "this")
        if isinstance(problem, HCSSP):
            refuse_parts(problem)
        if self._problem is None:
            self._problem = problem
        elif not _share_oracles(self._problem, problem):
            self._problem, self._oracles, self._before = problem, {}, self._oracles
        if evaluation not in self._oracles:
            self._oracles[evaluation] = oracle_of(problem, evaluation, self._before.pop(evaluation, None))
        return self._oracles[evaluation].under(problem.bounds)

    def expansion(self, problem: ImplicitCSSP) -> Expansion:
        """What was expanded of an implicit problem, under whatever bounds; another one begins anew."""
        if self._expansion is None or self._expansion.problem.space is not problem.space:
            self._expansion = Expansion(problem)
        return self._expansion

    def knows(self, expansion: Expansion) -> bool:
        """Whether it is the expansion of this memory."""
        return self._expansion is expansion

    def release(self) -> None:
        """Give back what is quickly made again; what was learnt is kept."""
        for oracle in self._oracles.values():
            oracle.release()


def _share_oracles(first: Problem, second: Problem) -> bool:
    """Whether what is learnt about one problem holds for the other, too.

    A limit of a use is more than a bound: what choices cost depends on it.
    """
    costs = [each.choice_costs for each in (first, second) if isinstance(each, HCSSP)]
    return same_but_for_bounds(first, second) and (not costs or np.array_equal(costs[0], costs[1]))


def same_but_for_bounds(first: Problem, second: Problem) -> bool:
    """Whether two problems differ in their bounds at most."""
    if first is second:
        return True
    if type(first) is not type(second) or first.constraint_names != second.constraint_names:
        return False
    bounds = dict(zip(first.constraint_names, first.bounds.tolist(), strict=True))
    return second.with_bounds(bounds) == first
