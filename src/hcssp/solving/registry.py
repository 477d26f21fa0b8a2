"""The methods by name, with their options; the code of a method is imported when it is made.

>>> find_method("exact").make().name
'exact'
>>> find_method("exat")
Traceback (most recent call last):
    ...
hcssp.errors.UnknownName: there is no method 'exat'; did you mean 'exact'? available: anytime,
budget-allocation, dual, exact, lp, milp
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from hcssp.errors import looked_up

if TYPE_CHECKING:
    from hcssp.contract.solver import Solver


@dataclass(frozen=True)
class Method:
    """A method of solving.

    Attributes
    ----------
    name, description
        Its name, and a description in one line.
    solver
        The class of the solver, and the module that has it.
    options
        The options that it takes; all of them may be left out.
    counts
        What its iterations are.
    gap
        The relative gap at which it stops by default.
    """

    name: str
    description: str
    solver: tuple[str, str]
    options: tuple[str, ...] = ()
    counts: str = "nodes"
    gap: float = 1e-6

    def make(self, **options: float | str | Mapping[str, float]) -> Solver:
        """The solver with these options, given by name."""
        module, name = self.solver
        made: Solver = getattr(import_module(module), name)(**options)
        return made


METHODS = {
    method.name: method
    for method in (
        Method(
            "exact",
            "the dual, then branching on policies: proves the best deterministic plan",
            ("hcssp.methods.policy_branching", "PolicyBranching"),
            options=("choices",),
        ),
        Method(
            "budget-allocation",
            "the paper's branch and bound over the activities' budgets",
            ("hcssp.methods.paper", "BudgetAllocation"),
            options=("iterations", "mode", "likelihoods", "choices"),
            counts="boxes",
            gap=1e-3,
        ),
        Method(
            "anytime",
            "the anytime algorithm: the dual, then policies in the order of their Lagrangian value",
            ("hcssp.methods.anytime", "Anytime"),
            options=("iterations",),
            counts="policies",
        ),
        Method(
            "dual",
            "the best randomised plan, by the dual",
            ("hcssp.methods.randomised", "RandomisedDual"),
            counts="multipliers",
        ),
        Method(
            "milp",
            "baseline: the flattened problem as a mixed-integer program, by HiGHS",
            ("hcssp.methods.highs.mixed_integer", "MixedInteger"),
            counts="runs of HiGHS",
        ),
        Method(
            "lp",
            "baseline: the best randomised plan, a linear program of the flattened problem, by HiGHS",
            ("hcssp.methods.highs.linear_program", "LinearProgram"),
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
