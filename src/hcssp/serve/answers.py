"""Answers about plans and runs as JSON: the documents of the library and the data of the report."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.contract.progress import MaxRuntime
from hcssp.contract.solver import same_but_for_bounds
from hcssp.cssp.product import base_of, with_used
from hcssp.errors import InvalidOption, InvalidProblem, NoSolution
from hcssp.evaluation.robustness import robustness
from hcssp.execution import Run
from hcssp.files.problem_file.document import Violation, joined
from hcssp.procedure import HCSSP
from hcssp.procedure.description import Aim
from hcssp.procedure.product import capacity_model
from hcssp.reports.charts import judged_runs, limit, look_ahead, own
from hcssp.reports.figures import plain
from hcssp.reports.page_data import (
    choice_conditions,
    choice_counts,
    curve_bounds,
    draw_curve,
    draw_runs,
    drawing_data,
    outlook_data,
    page_data,
    varied_constraints,
)
from hcssp.reports.plan_text import Style, in_brief
from hcssp.reports.results_text import (
    alternatives_document,
    alternatives_in_words,
    reasons_document,
    reasons_in_words,
    robustness_document,
    robustness_in_words,
)
from hcssp.solving.best_plans import best_plans

Answer = dict[str, Any]

QUICK: dict[str, Any] = {"runs": 0, "samples": 0, "sensitive": False, "whole": True}
"""Options of a page without what takes long."""

MOST_POSSIBLE = 50
"""Possible observations that are listed."""


def finding(violation: str, document: object) -> Answer:
    """An error in a problem file, with its line and its path of keys."""
    if not isinstance(violation, Violation):
        return {"line": 1, "path": "", "keys": [], "message": violation, "text": violation}
    here = violation.file == "problem"
    return {
        "line": violation.line if here else 1,
        "path": violation.path,
        "keys": keys_of(violation.path, document) if here else [],
        "message": violation.message,
        "text": str(violation),
    }


def keys_of(path: str, document: Any) -> list[str | int]:
    """The keys and positions that a path in a message means, as far as they are in the document.

    >>> keys_of("walls[0].'a b'", {"walls": [{"a b": 1}], "w": 2})
    ['walls', 0, 'a b']
    """
    keys: list[str | int] = []
    while path:
        steps: dict[str, str | int] = {}
        if isinstance(document, dict):
            steps = {joined("", key): key for key in document}
        elif isinstance(document, list):
            steps = {f"[{index}]": index for index in range(len(document))}
        path = path.removeprefix(".")
        found = max((step for step in steps if _begins(path, step)), key=len, default=None)
        if found is None:
            break
        keys.append(steps[found])
        document, path = document[steps[found]], path[len(found) :]
    return keys


def _begins(path: str, step: str) -> bool:
    return path.startswith(step) and path[len(step) : len(step) + 1] in ("", ".", "[")


def drawing_of(problem: HCSSP, document: object) -> Answer:
    """The data of a page without a plan; its panels have the keys of the grids that they show."""
    drawing = drawing_data(problem)
    names = [activity.name for activity in problem.activities]
    for panel in drawing["sheet"]["panels"]:
        panel["keys"] = grid_keys(document, names[panel["activities"][0]]) if panel["grid"] else None
    return drawing


def grid_keys(document: Any, activity: str) -> list[str] | None:
    """The keys of the grid of an activity, which may be that of a model; None if it is not in the document.

    >>> grid_keys({"models": {"hall": {"grid": {}}}, "activities": {"cross": {"model": "hall"}}}, "cross")
    ['models', 'hall', 'grid']
    """
    parts = {key: document.get(key) for key in ("activities", "models")} if isinstance(document, dict) else {}
    held = {key: part for key, part in parts.items() if isinstance(part, dict)}
    room, name, seen = "activities", activity, set[str]()
    while isinstance(stated := held.get(room, {}).get(name), dict) and "grid" not in stated:
        seen.add(name)
        name = str(stated.get("model"))
        room = "models" if name in held.get("models", {}) else "activities"
        if name in seen:
            return None
    return [room, name, "grid"] if isinstance(stated, dict) else None


def figures(plan: Plan) -> Answer:
    """The figures of a plan in a list of plans."""
    solved = plan.as_procedure()
    aim, evaluation = Aim.of(solved.problem), solved.costs
    return {
        "brief": in_brief(solved),
        "own": plain(own(plan)),
        "limit": plain(limit(plan)),
        "gap": plain(plan.gap),
        "bounds": {name: plain(bound) for name, bound in plan.bounds.items()},
        "costs": dict(zip(aim.names, map(plain, aim.reported(evaluation.costs)), strict=True)),
    }


def why_answer(plan: Plan, at: Any, time_limit: float) -> Answer:
    """The costs of the alternatives at a place."""
    place = (at[0], label_of(at[1])) if isinstance(at, list) and len(at) == 2 else at
    reasons = plan.why(place, stop=[MaxRuntime(time_limit)])
    return {"reasons": reasons_document(reasons), "words": reasons_in_words(reasons)}


def best_answer(plan: Plan, count: int, time_limit: float) -> Answer:
    """The best plans."""
    found = best_plans(plan.problem, count, time_limit=time_limit)
    solved = [each.as_procedure() for each in found]
    page = page_data(solved[0], beside=solved[1:], **QUICK) if solved else None
    return {
        "plans": alternatives_document(found),
        "words": alternatives_in_words(found, Style()),
        "page": page,
    }


def curve_answer(plan: Plan, constraint: str | None, points: int, time_limit: float) -> Answer:
    """The page of the plans along the curve of a bound; by default the scarcest."""
    solved = plan.as_procedure()
    names = varied_constraints(solved, constraint)
    if not names:
        raise InvalidProblem(["the problem has no bound that could be varied; add a constraint"])
    bounds = curve_bounds(solved, names[0], points)
    curves = [draw_curve(solved, names[0], bounds, time_limit=time_limit)] if bounds else []
    return {"page": page_data(solved, *curves, **QUICK)}


def robust_answer(plan: Plan, within: float) -> Answer:
    """The worst case if probabilities may be wrong."""
    solved = plan.as_procedure()
    found = robustness(solved.problem, solved.policy, within)
    words = robustness_in_words(solved.name or "plan", found, solved.problem, Style())
    return {"robustness": robustness_document(found), "words": words}


def simulate_answer(plan: Plan, runs: int, seed: int, play: int) -> Answer:
    """The distribution of costs, and some runs step by step."""
    solved = plan.as_procedure()
    listed = draw_runs(solved.policy, play, seed) if play else []
    return {"outlook": outlook_data(look_ahead(solved, runs, seed)), "runs": listed}


def comparison(first: Plan, second: Plan) -> Answer:
    """Two plans by the names that they share, and one page of both if they are for the same rooms."""
    plans = [first.as_procedure(), second.as_procedure()]
    page = None
    if same_but_for_bounds(plans[0].problem, plans[1].problem):
        page = page_data(plans[0], beside=plans[1:], **QUICK)
    costs, executions, choices = (
        [table(plan) for plan in plans] for table in (_costs, _executions, _choices)
    )

    def rows(tables: list[dict[Any, Any]], everything: bool = False) -> list[Answer]:
        one, other = tables
        names = [name for name in {**one, **other} if everything or one.get(name) != other.get(name)]
        return [{"name": name, "first": one.get(name), "second": other.get(name)} for name in names]

    changed = rows(choices)
    for row in changed:
        row["event"], row["name"] = row["name"]
    return {"costs": rows(costs, True), "activities": rows(executions), "choices": changed, "page": page}


def _costs(plan: ProcedurePlan) -> dict[str, float | None]:
    aim = Aim.of(plan.problem)
    return dict(zip(aim.names, map(plain, aim.reported(plan.costs.costs)), strict=True))


def _executions(plan: ProcedurePlan) -> dict[str, float]:
    # Differences that are rounding are none.
    return {each.name: float(f"{each.expected_executions:.6g}") for each in plan.costs.activities}


def _choices(plan: ProcedurePlan) -> dict[tuple[str, str], str]:
    """Of each choice, when it is made."""
    problem = plan.problem
    made = zip(problem.choices, choice_counts(plan).tolist(), choice_conditions(plan), strict=True)
    return {
        (problem.events[choice.event], choice.name): (condition or "always") if count > 0.0 else "never"
        for choice, count, condition in made
    }


def label_of(given: Any) -> Hashable:
    """The label that a value of JSON stands for: a list is a cell."""
    return tuple(given) if isinstance(given, list) else given


def shown_label(label: Hashable | None) -> str | list[int] | None:
    """A label as JSON; cells are lists."""
    base = base_of(label)
    if isinstance(base, tuple) and all(type(each) is int for each in base):
        return list(base)
    return None if base is None else str(base)


def observed(run: Run, given: Any) -> Any:
    """Observation; a text that stands for another label is that label."""
    seen = label_of(given)
    if isinstance(seen, str):
        possible = run.possible()
        labels = [base_of(state) for _, state in possible if state is not None]
        if seen not in [*labels, *(outcome for outcome, _ in possible)]:
            return next((label for label in labels if str(label) == seen), seen)
    return seen


def plan_of_run(run: Run) -> ProcedurePlan:
    """The plan that a run follows."""
    if run.plan is None:
        raise NoSolution("the run has no plan; start it with a plan")
    return run.plan.as_procedure()


def run_answer(run: Run) -> Answer:
    """The state of a run: its place, the costs spent and expected, and the possible observations."""
    decision, problem = run.decision, plan_of_run(run).problem
    aim, names = Aim.of(problem), [activity.name for activity in problem.activities]
    activity = decision.activity if decision.event else names[0]
    index = names.index(activity) if activity in names else None
    model = capacity_model(problem)
    # The most probable first, so that those are listed.
    possible = sorted(zip(run.chances(), run.possible(), strict=True), key=lambda each: -each[0])

    def reported(costs: Mapping[str, float]) -> dict[str, float | None]:
        given = np.array(list(costs.values()))
        return dict(zip(aim.names, map(plain, aim.reported(given)), strict=True))

    return {
        "over": decision.over,
        "event": decision.event,
        "activity": activity,
        "index": index,
        "state": None if decision.state is None else str(with_used(decision.state)),
        "cell": _cell(problem, index, decision.state),
        "action": None if decision.action is None else str(decision.action),
        "spent": reported(run.total_spent),
        "remaining": reported(decision.remaining),
        "left": {name: plain(left) for name, left in decision.budget_left.items()},
        "used": dict(decision.used),
        "capacities": {} if model is None else {each.name: each.at_most for each in model.capacities},
        "possible": [
            {
                "probability": chance,
                "outcome": outcome,
                "state": None if state is None else str(base_of(state)),
                "observation": outcome if state is None else shown_label(state),
            }
            for chance, (outcome, state) in possible[:MOST_POSSIBLE]
        ],
        "words": str(decision),
    }


def _cell(problem: HCSSP, index: int | None, state: Hashable | None) -> list[int] | None:
    """The cell of a state on a grid."""
    if index is None or state is None:
        return None
    cssp = problem.activities[index].cssp
    number = cssp.state_index.get(state)
    if cssp.world is None or number is None or number >= len(cssp.world.cells):
        return None
    return [int(each) for each in cssp.world.cells[number]]


def rest_answer(run: Run, runs: int, seed: int) -> Answer:
    """The distribution of the costs of the rest of a run."""
    if run.over:
        raise InvalidOption("the run is over; nothing is left to be spent")
    aim = Aim.of(plan_of_run(run).problem)
    return {"outlook": outlook_data(judged_runs(aim, run.simulate(runs, seed)))}
