from __future__ import annotations

import json
import os
import signal
from math import isnan

import pytest

from hazard_grid import stages
from hcssp.cli import main
from hcssp.contract.proof import Infeasible
from hcssp.scenarios import small_building
from hcssp.solving.trade_off import CurvePoint, TradeOff, be_ready, trade_off
from hcssp.workers import open_workers

pytestmark = pytest.mark.slow


def figures(curve: TradeOff) -> list[list[float]]:
    return [[each.bound, each.lower_bound, each.upper_bound, each.stochastic] for each in curve.points]


def test_two_processes_find_the_points_of_one() -> None:
    problem, bounds = small_building(), [-1.0, 2.0, 4.0]
    alone = trade_off(problem, "damage", bounds, gap=1e-6)
    told: list[CurvePoint] = []
    with open_workers(jobs=2) as workers:
        together = trade_off(problem, "damage", bounds, 1e-6, on_point=told.append, executor=workers)
    assert [point.bound for point in together.points] == bounds
    assert sorted(point.bound for point in told) == bounds
    for one, two in zip(figures(alone), figures(together), strict=True):
        assert two == pytest.approx(one, rel=2e-6)
    assert isinstance(together.points[0].plan.proof, Infeasible)
    for point in together.points[1:]:
        assert point.plan.problem.bounds.tolist() == [point.bound]
        assert point.plan.evaluate().keeps_bounds()
        assert point.plan.evaluation is not None


def test_several_bounds_and_no_time() -> None:
    problem = stages(7, seed=4)
    bounds = [float(problem.bounds[0]) * share for share in (0.9, 1.0, 1.2)]
    alone = trade_off(problem, "budget 0", bounds, gap=1e-6)
    with open_workers(jobs=1) as workers:
        together = trade_off(problem, "budget 0", bounds, gap=1e-6, executor=workers)
        hurried = trade_off(problem, "budget 0", bounds, 1e-6, 0.0, executor=workers)
    for one, two, three in zip(figures(alone), figures(together), figures(hurried), strict=True):
        assert two == pytest.approx(one, rel=2e-6)
        assert three[1] <= one[1] * (1.0 + 1e-9)
        assert three[2] >= one[2] * (1.0 - 1e-9)
    assert not isnan(together.least)


def test_a_worker_that_dies_costs_no_point() -> None:
    problem = stages(6, seed=4)
    bounds = [float(problem.bounds[0]) * share for share in (0.9, 1.0, 1.1, 1.2)]
    alone = trade_off(problem, "budget 0", bounds, gap=1e-6)
    killed: list[int] = []
    with open_workers(jobs=2) as workers:
        # Until it is there nobody would be killed.
        for call in workers.warm_up(be_ready):
            call.result()

        def kill(point: CurvePoint) -> None:
            if not killed:
                killed.extend(workers.process_ids)
                for process in killed:
                    os.kill(process, signal.SIGKILL)

        together = trade_off(problem, "budget 0", bounds, gap=1e-6, on_point=kill, executor=workers)
        assert len(killed) == 2
        assert not set(workers.process_ids) & set(killed)
    for one, two in zip(figures(alone), figures(together), strict=True):
        assert two == pytest.approx(one, rel=2e-6)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["curve", "small-building", "--from", "2", "--to", "4", "--points", "2", "--json"]
    assert main(arguments) == 0
    alone = json.loads(capsys.readouterr().out)
    assert main([*arguments, "--jobs", "2"]) == 0
    together = json.loads(capsys.readouterr().out)
    assert [each["bound"] for each in together["points"]] == [2.0, 4.0]
    for one, two in zip(alone["points"], together["points"], strict=True):
        assert two["upper_bound"] == pytest.approx(one["upper_bound"], rel=1e-4)
