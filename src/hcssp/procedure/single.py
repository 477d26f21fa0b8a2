"""A C-SSP as the procedure that runs it once: what can be done with a procedure can be done with it.

Files, reports and the executor know procedures only; a single problem goes through them as this one.
"""

from __future__ import annotations

import numpy as np

from hcssp.cssp.expansion import ExpandedCSSP
from hcssp.cssp.implicit import refuse_implicit
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.errors import UnsupportedProblem
from hcssp.procedure.elements import Activity, Choice, Constraint, Outcome
from hcssp.procedure.model import HCSSP
from hcssp.procedure.policy import ProcedurePolicy

START, END, CHOICE = "start", "end", "begin"
UNNAMED = "problem"


def as_procedure(problem: CSSP | HCSSP) -> HCSSP:
    """The procedure whose only activity is `problem`; a procedure itself as it is.

    >>> from hcssp.cssp.builder import CSSPBuilder
    >>> plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": 1.0})
    >>> _ = plan.add_action(plan.add_state("here"), "go", to=plan.add_goal("there"), costs={"time": 2.0})
    >>> print(as_procedure(plan.build()))
    procedure: 2 events, 1 activity, 1 constraint; minimise time
    start
      choose begin
        run problem (2 states), reach end, the end
    constraint damage <= 1: counts damage of problem
    """
    if isinstance(problem, HCSSP):
        return problem
    refuse_implicit(problem, "a procedure around it")
    name = problem.name or UNNAMED
    return HCSSP(
        events=(START, END),
        start=0,
        end=1,
        activities=(Activity(name, problem),),
        choices=(Choice(0, CHOICE, (Outcome(1.0, 1, runs=0),)),),
        constraints=tuple(
            Constraint(cost, float(bound), {0: 1 + index})
            for index, (cost, bound) in enumerate(zip(problem.constraint_names, problem.bounds, strict=True))
        ),
        name=name,
        description=problem.description,
        reward=problem.reward,
    )


def runs_one_activity(problem: HCSSP) -> bool:
    """Whether all it does is to run its only activity once, as a procedure of :func:`as_procedure` does."""
    if len(problem.activities) != 1 or len(problem.choices) != 1 or problem.activities[0].entries:
        return False
    outcomes = problem.choices[0].outcomes
    return (
        len(outcomes) == 1
        and outcomes[0].runs == 0
        and set(outcomes[0].events) == {problem.end}
        and all(each.per is None for each in problem.constraints)
    )


def as_procedure_policy(procedure: HCSSP, policy: DeterministicPolicy | ProcedurePolicy) -> ProcedurePolicy:
    """The policy of the procedure that follows `policy` in its only activity."""
    if isinstance(policy, ProcedurePolicy):
        return policy
    return ProcedurePolicy.compose(procedure, {(0, None): 0}, [policy.rows])


def as_single_policy(problem: CSSP, policy: ProcedurePolicy) -> DeterministicPolicy:
    """The policy of the only activity, as that of `problem`."""
    return DeterministicPolicy(problem, np.array(policy.activities[0]))


def is_part(problem: CSSP | HCSSP) -> bool:
    """Whether states of an implicit problem stand in it that were not expanded."""
    cssps = [problem] if isinstance(problem, CSSP) else [each.cssp for each in problem.activities]
    return any(isinstance(each, ExpandedCSSP) and bool(each.frontier.any()) for each in cssps)


def refuse_parts(problem: CSSP | HCSSP) -> None:
    """Refuse to look for plans in a part of an implicit problem, by itself or in a procedure.

    What was not expanded ends everything at once there, for what the heuristic says. That is a lower bound;
    as an action it would make plans that nobody can follow, with lots and without.

    Raises
    ------
    UnsupportedProblem
        If it is one.
    """
    if is_part(problem):
        raise UnsupportedProblem(
            "this is only the part of an implicit problem that was expanded: plans in it could end where "
            "nothing is known; go on with the implicit problem, by solve, plan.resolve or plan.replan, or "
            "give problem.enumerated()"
        )
