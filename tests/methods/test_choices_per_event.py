"""One choice for each event, against brute force over all policies that keep to it."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest

from brute_force_procedures import TOLERANCE, brute_force
from hcssp import PolicyBranching, Status, best_plans, dump_problem, load, load_plan, solve, trade_off
from hcssp.contract.progress import MaxIterations, Progress
from hcssp.contract.proof import Reason
from hcssp.contract.solver import Solver
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.errors import InvalidPlan, InvalidProblem, UnknownName, UnsupportedProblem
from hcssp.methods.paper import BudgetAllocation
from hcssp.procedure import HCSSP
from hcssp.scenarios import small_building
from random_procedures import random_procedure
from volume import some

FLOW = """\
format: hcssp-problem
version: 1
costs: [time, risk]
activities:
  first:
    table:
      s: {go: {to: {p: 0.5, q: 0.5}, costs: {time: 1}}, walk: {to: {p: 0.9, q: 0.1}, costs: {time: 2}}}
    start: s
    goal: [p, q]
  left:
    table:
      p: {x: {to: end, costs: {time: 1}}}
      q: {x: {to: end, costs: {time: 10}}, y: {to: end, costs: {time: 7, risk: 1}}}
    start: p
    goal: end
  right:
    table:
      p: {x: {to: end, costs: {time: 10}}}
      q: {x: {to: end, costs: {time: 1}}}
    start: p
    goal: end
procedure:
  start: ts
  end: te
  events:
    ts: {go: {runs: first, to: t1}}
    t1:
      left: {runs: left, to: te}
      right: {runs: right, to: te}
constraints:
  risk: {at_most: 0.2}
"""


def costs_of_one_choice_per_event(problem: HCSSP) -> FloatArray:
    """The costs of the policies within the bounds that make one choice at each event."""
    flattening, every = problem.flattening, brute_force(problem)
    kept = np.all(every.costs[:, 1:] <= problem.bounds + TOLERANCE * np.abs(problem.bounds), axis=1)

    def keeps_to_one(rows: IntArray) -> bool:
        made: dict[int, set[int]] = {}
        for (event, _), row in zip(flattening.event_states, rows.tolist(), strict=False):
            if 0 <= row < flattening.num_event_rows:
                made.setdefault(event, set()).add(int(flattening.event_row_choice[row]))
        return all(len(choices) == 1 for choices in made.values())

    uniform = np.array([keeps_to_one(rows) for rows in every.rows], dtype=np.bool_)
    return every.costs[kept & uniform, 0]


METHODS: list[Solver] = [
    PolicyBranching(choices="per event"),
    BudgetAllocation(inf, choices="per event"),
    BudgetAllocation(inf, "published"),
]


@pytest.mark.parametrize("method", METHODS, ids=["exact", "sharp", "published"])
@pytest.mark.parametrize("seed", some(range(400), one_in=10))
def test_the_optimum_and_every_bound_agree_with_brute_force(seed: int, method: Solver) -> None:
    problem = random_procedure(seed, cycles=seed % 2 == 0, several_exits=True)
    costs = costs_of_one_choice_per_event(problem)
    truth = float(costs.min(initial=inf))
    steps: list[Progress] = []
    result = solve(problem, method, stop=MaxIterations(300), on_progress=steps.append)
    for step in steps:
        assert step.lower_bound <= truth * (1.0 + 1e-9) + 1e-12
        assert step.upper_bound >= truth * (1.0 - 1e-9) - 1e-12
    if isinstance(method, BudgetAllocation) and result.ending.reason is Reason.ITERATIONS:
        # It may go on splitting for long where no plan lies near; that is sound.
        return
    if not len(costs):
        assert result.status is Status.INFEASIBLE
        return
    assert result.status is Status.OPTIMAL
    assert result.upper_bound == pytest.approx(truth, rel=1e-6, abs=1e-9)


def test_the_choice_costs_more_if_it_may_not_depend_on_the_state(tmp_path: Path) -> None:
    path = tmp_path / "flow.yaml"
    path.write_text(FLOW, encoding="utf-8")
    problem = load(path)
    assert solve(problem).upper_bound == pytest.approx(2.0)
    result = solve(problem, PolicyBranching(choices="per event"))
    assert (result.status, result.upper_bound) == (Status.OPTIMAL, pytest.approx(3.6))


def test_the_mode_published_makes_one_choice_for_each_event(flow: HCSSP) -> None:
    problem = flow.choosing("per state")
    published = BudgetAllocation(mode="published")
    assert solve(problem, published).upper_bound == pytest.approx(3.6)
    assert solve(problem, BudgetAllocation()).upper_bound == pytest.approx(2.0)
    assert solve(flow, BudgetAllocation()).upper_bound == pytest.approx(3.6)
    per_state = replace(published, choices="per state")
    assert solve(flow, per_state).upper_bound == pytest.approx(2.0)
    # Likelihoods name activities that only some assignments run.
    weighed = replace(published, likelihoods={"right": 1.0, "left": 1.0})
    assert solve(problem, weighed).upper_bound == pytest.approx(3.6)


def test_an_unknown_way_to_choose_is_refused() -> None:
    with pytest.raises(UnknownName, match="no way to choose 'per room'"):
        PolicyBranching(choices="per room")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="no way to choose 'per room'"):
        BudgetAllocation(choices="per room")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="no way to choose 'per room'"):
        small_building().choosing("per room")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> HCSSP:
    """The same problem, whose file asks for one choice per event."""
    path = tmp_path_factory.mktemp("flow") / "flow.yaml"
    path.write_text(FLOW.replace("  end: te\n", "  end: te\n  choices: per event\n"), encoding="utf-8")
    problem = load(path)
    assert isinstance(problem, HCSSP)
    return problem


def test_a_file_asks_for_one_choice_per_event(flow: HCSSP, tmp_path: Path) -> None:
    assert solve(flow).upper_bound == pytest.approx(3.6)
    assert solve(flow.choosing("per state")).upper_bound == pytest.approx(2.0)
    # There is too little risk for y: walk, then left, at 2 + 0.9 * 1 + 0.1 * 10.
    assert solve(flow.with_bounds(risk=0.05)).upper_bound == pytest.approx(3.9)
    written = tmp_path / "written.yaml"
    written.write_text(dump_problem(flow), encoding="utf-8")
    assert load(written) == flow
    assert "choices" not in dump_problem(flow.choosing("per state")).partition("procedure:")[2]


def test_a_plan_of_the_mode_published_is_read_for_its_problem(flow: HCSSP, tmp_path: Path) -> None:
    problem = flow.choosing("per state")
    solve(problem, BudgetAllocation(mode="published")).save(tmp_path / "plan.json")
    loaded = load_plan(tmp_path / "plan.json", problem)
    assert isinstance(loaded.problem, HCSSP)
    assert loaded.problem.limits_choices
    assert loaded.upper_bound == pytest.approx(3.6)
    # What is claimed is claimed of plans with one choice per event: the best of all costs 2.
    assert loaded.claim is not None
    assert loaded.claim.lower_bound == pytest.approx(3.6)
    assert loaded.simulate(runs=200, seed=1).mean("time").value == pytest.approx(3.6, rel=0.2)


def test_a_plan_that_chooses_per_state_is_none_here(flow: HCSSP, tmp_path: Path) -> None:
    per_state, per_event = solve(flow.choosing("per state")), solve(flow)
    # What is proven of the one kind of plans is not taken over for the other.
    for problem, start in ((flow, per_state), (per_state.problem, per_event)):
        with pytest.raises(InvalidProblem, match="one for another problem"):
            solve(problem, start=start)
    per_state.save(tmp_path / "plan.json")
    with pytest.raises(InvalidPlan, match="this plan is for another problem"):
        load_plan(tmp_path / "plan.json", flow)
    forged = replace(per_state, problem=flow, found_policy=flow.policy(per_state.policy.rows))
    assert solve(flow, start=forged).upper_bound == pytest.approx(3.6)


@pytest.mark.parametrize("method", ["anytime", "milp", "lp", "dual"])
def test_other_methods_refuse_one_choice_per_event_by_name(flow: HCSSP, method: str) -> None:
    with pytest.raises(UnsupportedProblem, match=f"the method '{method}' chooses per state"):
        solve(flow, method)


def test_other_analyses_refuse_it(flow: HCSSP, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedProblem, match="a list of the best plans chooses per state"):
        best_plans(flow, 2)
    with pytest.raises(UnsupportedProblem, match="a curve chooses per state"):
        trade_off(flow, "risk", [0.1])
    # A page has no curve then.
    solve(flow).report(tmp_path / "page.html")
    assert "per state" not in str(solve(flow))


def test_every_method_solves_it_where_it_makes_no_difference() -> None:
    problem = small_building(2.0).choosing("per event")
    assert not problem.limits_choices
    assert solve(problem, "milp").upper_bound == pytest.approx(27.7191166)


def test_a_procedure_inside_does_not_say_how_to_choose(tmp_path: Path) -> None:
    inner = FLOW.replace("  end: te\n", "  end: te\n  choices: per event\n")
    (tmp_path / "inner.yaml").write_text(inner, encoding="utf-8")
    outer = tmp_path / "outer.yaml"
    outer.write_text(
        "format: hcssp-problem\nversion: 1\ncosts: [time, risk]\n"
        "procedures: {flow: {file: inner.yaml}}\nactivities: {all: {procedure: flow}}\n",
        encoding="utf-8",
    )
    with pytest.raises(InvalidProblem, match=r"procedure\.choices: how plans choose is said for the whole"):
        load(outer)
    (tmp_path / "inner.yaml").write_text(inner.replace("per event", "per room"), encoding="utf-8")
    with pytest.raises(InvalidProblem, match="not known; write 'per state' or 'per event'"):
        load(tmp_path / "inner.yaml")
