"""The methods by name, with what each takes; a method's code is imported when it is made.

>>> find_method("exact").make().name
'exact'
>>> find_method("exat")
Traceback (most recent call last):
    ...
hcssp.errors.UnknownName: there is no method 'exat'; did you mean 'exact'? there are: budget-allocation,
exact, lp, milp
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hcssp.errors import looked_up

if TYPE_CHECKING:
    from hcssp.contract.solver import Solver
    from hcssp.methods.paper.modes import ModeName


@dataclass(frozen=True)
class Method:
    """A method of solving.

    Attributes
    ----------
    name, description
        What people call it, and what it does in a line.
    make
        Makes the solver from its options, given by name.
    options
        The options that it takes; all of them may be left out.
    counts
        What its iterations are.
    gap
        The relative gap at which to stop if nothing is said.
    """

    name: str
    description: str
    make: Callable[..., Solver]
    options: tuple[str, ...] = ()
    counts: str = "nodes"
    gap: float = 1e-6


def _exact() -> Solver:
    from hcssp.methods.policy_branching import PolicyBranching

    return PolicyBranching()


def _budget_allocation(iterations: float = 0, mode: ModeName = "sharp") -> Solver:
    from hcssp.methods.paper import BudgetAllocation

    return BudgetAllocation(iterations=iterations, mode=mode)


def _mixed_integer() -> Solver:
    from hcssp.methods.highs.mixed_integer import MixedInteger

    return MixedInteger()


def _linear_program() -> Solver:
    from hcssp.methods.highs.linear_program import LinearProgram

    return LinearProgram()


METHODS = {
    method.name: method
    for method in (
        Method(
            "exact",
            "the dual, then branching on policies: proves the best deterministic plan",
            _exact,
        ),
        Method(
            "budget-allocation",
            "the paper's branch and bound over the activities' budgets",
            _budget_allocation,
            options=("iterations", "mode"),
            counts="boxes",
            gap=1e-3,
        ),
        Method(
            "milp",
            "baseline: the flattened problem as a mixed-integer program, by HiGHS",
            _mixed_integer,
            counts="runs of HiGHS",
        ),
        Method(
            "lp",
            "baseline: the best randomised plan, a linear program of the flattened problem, by HiGHS",
            _linear_program,
            counts="runs of HiGHS",
        ),
    )
}
"""By name; the first is the default."""


def find_method(name: str) -> Method:
    """The method called `name`.

    Raises
    ------
    UnknownName
        If there is none; the message lists those there are.
    """
    return looked_up("method", name, METHODS)
