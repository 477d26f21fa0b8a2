"""Plans on disk: one JSON object, written atomically, and refused where it does not fit.

``format`` and ``version``
    ``"hcssp-plan"`` and 1.
``problem``
    Its ``name``, and its ``fingerprint`` (:mod:`hcssp.files.fingerprint`), which says which problem the plan
    is for, whatever its bounds are.
``bounds``
    The bound of each constraint that the plan was made for; ``null`` for none. A reader judges the plan by
    the bounds of its own problem.
``method``, ``status``, ``stopped_by``, ``stop_detail``, ``seconds``, ``lower_bound``, ``upper_bound``,
``trace``
    What is claimed to be proven, by which method and why it stopped; ``stopped_by`` is ``null`` if the run
    was killed. ``trace`` holds triples of seconds, lower and upper bound; ``null`` is an infinite one.
    Anybody can write such a file, so its reader has a policy, which is evaluated anew, and a claim.
``prices``
    What a unit of each constraint's budget is worth, but for bounds of 0, which have no price; ``null`` if
    that is unknown.
``policy``
    ``choices`` lists every event with the state it was entered in (as a text, ``null`` if there is only
    one way to enter it) and the choice there. ``activities`` holds for each activity its ``actions``, as
    positions among the actions of each state in the order of the states, and how often each is repeated
    before the next one comes (``repeats``); -1 stands for no action, in goals and where the plan never goes.
    The plan of an implicit problem has ``by_state`` besides: two lists of texts, ``states`` where it acts, as
    Python writes their labels, and ``actions``.
``budgets``
    What an execution of each activity was allotted, by methods that do.
``evaluation``
    For readers: the plan's exact costs, and of each activity the expected executions and the cost and usage
    of one. ``null`` if the run was killed. Nobody relies on it.

>>> from tempfile import TemporaryDirectory
>>> from hcssp import solve
>>> from hcssp.scenarios import small_building
>>> problem = small_building(bound=2.0)
>>> plan = solve(problem)
>>> with TemporaryDirectory() as folder:
...     save_plan(f"{folder}/plan.json", plan)
...     again = load_plan(f"{folder}/plan.json", problem)
>>> again.method, round(again.upper_bound, 4), round(again.cost("damage"), 4)
('exact', 27.7191, 1.8969)

What was proven elsewhere is a claim here:

>>> str(plan.status), str(again.status), again.lower_bound, round(again.claim.lower_bound, 4)
('optimal', 'feasible', -inf, 27.7191)
"""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

from hcssp.contract.memory import Problem
from hcssp.contract.plan import Plan
from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.files.atomic import write_atomically
from hcssp.files.fingerprint import fingerprint as fingerprint_of
from hcssp.files.fingerprint import unnamed
from hcssp.files.plan_reader import PlanDocument
from hcssp.files.plan_writer import plan_document
from hcssp.procedure import HCSSP, as_procedure, as_single_policy


def save_plan(path: str | Path, plan: Plan, *, fingerprint: str | None = None) -> None:
    """Write a plan; an old file is replaced in one step, or stays as it was.

    Parameters
    ----------
    path
        Where to.
    plan
        What to write.
    fingerprint
        That of the plan's problem, if it is at hand; it takes a moment to compute.

    Raises
    ------
    CannotWrite
        If the file cannot be written.
    """
    write_atomically(path, json.dumps(plan_document(plan, fingerprint), allow_nan=False) + "\n")


def load_plan(path: str | Path, problem: Problem | ImplicitCSSP) -> Plan:
    """Read a plan for `problem`.

    The plan is judged by the bounds of `problem`, whatever bounds its file names (:attr:`Plan.made_for`);
    ``plan.under(problem.with_bounds(plan.made_for))`` puts it under those. The policy is evaluated again.
    What the file says was proven becomes the plan's claim if it is about the bounds of `problem`. Nothing
    follows from a claim: :meth:`Plan.verified` checks a certificate of it, and ``solve(problem, start=plan)``
    proves it again.

    Parameters
    ----------
    path
        The file.
    problem
        The problem, under the bounds that count. An implicit one is expanded where the plan goes.

    Raises
    ------
    InvalidPlan
        If the file cannot be read, is no plan, is one for another problem, does not end, or contradicts
        itself; the message names the file, the field and the value.
    """
    document = PlanDocument.read(path)
    if isinstance(problem, ImplicitCSSP):
        return document.evaluated(document.implicit_plan(problem))
    document.check_problem(fingerprint_of(problem))
    plan = document.plan(as_procedure(unnamed(problem)))
    policy = plan.policy
    found: Plan
    if isinstance(problem, HCSSP):
        found = replace(plan, problem=problem, found_policy=policy.under(problem))
    else:
        parts = {each.name: getattr(plan, each.name) for each in fields(plan)}
        found = Plan(**parts | {"problem": problem, "found_policy": as_single_policy(problem, policy)})
    return document.evaluated(found)
