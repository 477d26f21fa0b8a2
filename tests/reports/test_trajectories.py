from __future__ import annotations

import numpy as np
import pytest
import yaml

from hcssp.contract.plan import ProcedurePlan
from hcssp.cssp.grid import DIRECTIONS
from hcssp.procedure import HCSSP
from hcssp.reports.page_data import draw_runs
from hcssp.scenarios import small_building
from hcssp.scenarios.domains.evacuation import SMALL
from hcssp.solving.solve import solve
from small_procedures import forking, retrying

STEPS = dict(zip("01234", [(0, -1), (1, 0), (0, 1), (-1, 0), (0, 0)], strict=True))


def solved(problem: HCSSP) -> ProcedurePlan:
    return solve(problem).as_procedure()


def test_the_mean_of_many_runs_is_the_exact_cost() -> None:
    plan = solved(small_building(2.0))
    totals = np.array([run["totals"] for run in draw_runs(plan.policy, 4000, seed=1)])
    error = 4.0 * totals.std(axis=0) / np.sqrt(len(totals))
    assert np.all(np.abs(totals.mean(axis=0) - plan.costs.costs) < error)


def test_a_run_goes_from_opening_to_opening_and_its_costs_add_up() -> None:
    problem, stated = small_building(2.0), yaml.safe_load(SMALL.text())
    for written in draw_runs(solved(problem).policy, 30, seed=2):
        assert written["finished"]
        assert written["before"] == [problem.start]
        event = problem.start
        for leg in written["legs"]:
            activity = stated["activities"][problem.activities[leg["activity"]].name]
            choices = stated["procedure"]["events"][problem.events[event]]
            crossing = choices[problem.activities[leg["activity"]].name]
            assert leg["cell"] == activity["start"]
            assert len(leg["moves"]) == leg["steps"]
            moved = np.sum([STEPS[move] for move in leg["moves"]], axis=0)
            assert (np.array(leg["cell"]) + moved).tolist() == activity["goal"]
            assert problem.events[leg["events"][0]] == crossing["to"]
            event = leg["events"][-1]
        assert event == problem.end
        steps = sum(leg["steps"] for leg in written["legs"])
        assert sum(count for count, *_ in written["costs"]) == steps
        totals = np.sum([count * np.array(costs) for count, *costs in written["costs"]], axis=0)
        assert totals == pytest.approx(written["totals"])
        # Every step takes a unit of time.
        assert written["totals"][0] == steps
    assert len(DIRECTIONS) == len(STEPS) - 1


@pytest.mark.parametrize("problem", [retrying(), forking()])
def test_runs_through_tables_count_their_steps(problem: HCSSP) -> None:
    for written in draw_runs(solved(problem).policy, 20, seed=3):
        assert all("moves" not in leg for leg in written["legs"])
        assert written["legs"][-1]["events"][-1] == problem.end


def test_the_same_seed_gives_the_same_runs() -> None:
    policy = solved(small_building(2.0)).policy
    assert draw_runs(policy, 5, seed=7) == draw_runs(policy, 5, seed=7)
    assert draw_runs(policy, 5, seed=7) != draw_runs(policy, 5, seed=8)


def test_a_run_that_takes_too_long_is_cut_off_and_says_so() -> None:
    problem = small_building(2.0)
    runs = draw_runs(solved(problem).policy, 5, seed=0, max_steps=3)
    assert not any(run["finished"] for run in runs)
    assert runs[0]["legs"][-1]["events"] == []
