"""Solvers at work."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from math import inf
from pathlib import Path

import pytest

import worker_tasks
from hcssp.comparison import measuring, solvers
from hcssp.comparison.measuring import measure_all, measured
from hcssp.comparison.page import disagreements
from hcssp.comparison.solvers import MODULES, PEERS, SOLVERS
from hcssp.comparison.suite import Instance, paper_suite, suite, without_repeat
from hcssp.errors import UnknownName
from hcssp.scenarios.scenario import scenarios
from hcssp.workers import Workers, open_workers
from running_processes import assert_gone, attempts, measurements_of

pytestmark = pytest.mark.slow

HOUSE = Instance("small-building", {"intended": 0.9})
SLOW = (Instance("campus"), "milp")
"""A problem, and who is at work on it for minutes."""


def test_every_domain_is_in_every_suite() -> None:
    for name in ("small", "full"):
        instances = suite(name)
        assert {instance.domain for instance in instances} == set(scenarios())
        assert len({instance.name for instance in instances}) == len(instances)
    assert [each.domain for each in suite("full", ["campus"])] == ["campus"] * len(suite("full", ["campus"]))
    with pytest.raises(UnknownName, match="did you mean 'small'"):
        suite("smal")


def test_the_paper_suite_has_thirty_instances_of_each_setting() -> None:
    pairs = paper_suite()
    runs = Counter((without_repeat(instance.name), method) for instance, method in pairs)
    assert set(runs.values()) == {30}
    sizes = {instance.settings["activities"] for instance, _ in pairs}
    assert (min(sizes), max(sizes)) == (5, 100)
    # An interrupted run has as many instances of each setting, give or take one.
    half = Counter(without_repeat(instance.name) for instance, _ in pairs[: len(pairs) // 2])
    assert set(half) == {setting for setting, _ in runs}
    assert paper_suite(["exact"], 1)[1][0].problem().num_activities == 5


def test_our_methods_are_measured_in_this_process() -> None:
    found = measured(HOUSE, "exact", 600.0)
    assert (found.instance, found.states, found.status) == ("small-building (intended 0.9)", 64, "optimal")
    assert found.lower_bound <= found.upper_bound < inf
    assert found.randomised is not None
    assert found.randomised <= found.upper_bound
    assert found.first is not None
    assert found.first <= found.seconds
    # The plan is evaluated once more in the end, and may differ in the last digit.
    assert found.trace[-1][2] == pytest.approx(found.upper_bound, rel=1e-14)
    lp = measured(HOUSE, "lp", 600.0)
    assert lp.status == "optimal"
    assert lp.randomised == pytest.approx(found.randomised, rel=1e-6)
    # A randomised plan that costs less than the best deterministic one is no disagreement.
    dual = measured(HOUSE, "dual", 600.0)
    assert lp.upper_bound == dual.upper_bound == inf
    assert found.upper_bound > max(lp.randomised or inf, dual.randomised or inf) - 1e-6
    assert disagreements([found, lp, dual]) == []


def test_a_solver_has_a_process_of_its_own_which_is_ended_in_time() -> None:
    pairs = [(HOUSE, "lp"), (Instance("nowhere"), "exact")]
    with ThreadPoolExecutor(2) as executor:
        lp, lost = sorted(measure_all(pairs, 600.0, executor), key=lambda each: -len(each.instance))
    assert lp.status == "optimal"
    assert lost.status == "failed"
    assert "there is no problem 'nowhere'" in lost.note


@pytest.mark.parametrize(
    ("parameter", "status", "note"),
    [
        ("GRACE", "unknown", "it was ended after the time limit"),
        ("PREPARATION", "failed", "it was not ready within -100 s"),
    ],
)
def test_who_does_not_look_at_the_clock_is_ended(
    parameter: str, status: str, note: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, parameter, -100.0)
    (found,) = measure_all([SLOW], 60.0)
    assert (found.status, found.note) == (status, note)
    assert found.states == (1599 if status == "unknown" else 0)


def end_measurements(workers: Workers, before: list[int]) -> int:
    """End the runs that another worker makes again."""
    for _ in attempts():
        if set(workers.process_ids) - set(before):
            break
    running = measurements_of(workers.process_ids)
    for process in running:
        os.kill(process, signal.SIGKILL)
    return len(running)


def test_a_run_whose_worker_dies_is_made_again_and_leaves_no_process() -> None:
    with open_workers(jobs=2) as workers:
        measurements = measure_all([(HOUSE, "lp"), SLOW], 600.0, workers)
        assert next(measurements).solver == "lp"
        before = workers.process_ids
        running = measurements_of(before)
        (busy,) = running.values()
        os.kill(busy, signal.SIGKILL)
        assert_gone(running)
        with ThreadPoolExecutor(1) as somebody:
            # Made again, it is ended as well, so as not to take a minute.
            ended = somebody.submit(end_measurements, workers, before)
            (found,) = measurements
        assert ended.result() == 1
        assert (found.instance, found.solver) == ("campus", "milp")
        assert found.note == "its process ended with code -9"
        assert workers.lost == 1


def test_a_run_that_costs_every_worker_its_life_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "measured_apart", worker_tasks.lose_whoever_measures)
    lost, other = measure_all([(HOUSE, "lp"), (HOUSE, "exact")], 1.0)
    assert (lost.instance, lost.solver) == (HOUSE.name, "lp")
    assert (lost.status, lost.note) == ("failed", "all died")
    assert other.solver == "exact"


def test_what_is_not_installed_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for peer, sent in PEERS.items():
        monkeypatch.setitem(sys.modules, MODULES[peer], None)
        for solver in sent:
            found = measured(HOUSE, solver, 1.0)
            assert found.status == "missing"
            assert "pip install 'hcssp[peers]'" in found.note


@pytest.mark.skipif(find_spec("stormpy") is None, reason="pip install 'hcssp[peers]' to compare with Storm")
def test_storm_agrees() -> None:
    house = Instance("small-building")
    (storm,) = measure_all([(house, "storm")], 600.0)
    ours = measured(house, "lp", 600.0)
    assert storm.status == "optimal"
    assert storm.randomised == pytest.approx(ours.randomised, rel=SOLVERS["storm"].tolerance)


@pytest.mark.skipif(
    find_spec("skdecide") is None, reason="pip install 'hcssp[peers]' to compare with scikit-decide"
)
def test_scikit_decide_agrees() -> None:
    ours, theirs = measured(HOUSE, "lp", 600.0), measured(HOUSE, "scikit-decide", 600.0)
    assert theirs.status == "optimal"
    assert theirs.randomised == pytest.approx(ours.randomised, rel=1e-6)


class Yes:
    """Storm's answer to whether a cost can be kept."""

    def __init__(self, is_true: bool) -> None:
        self._is_true = is_true

    def exists_true(self) -> bool:
        return self._is_true


@pytest.mark.parametrize("least", [0.3, 27.7191, 5e5, inf])
def test_the_least_cost_that_can_be_kept_is_found_by_yes_and_no(
    least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Storm:
        def __init__(self, problem: object) -> None:
            pass

        def environment(self, deterministic: bool) -> None:
            assert deterministic

        def formula(self, primary: str) -> float:
            return float(primary.removeprefix("<="))

        def answer(self, cost: float, environment: None) -> Yes:
            return Yes(cost >= least)

    monkeypatch.setattr(solvers, "_Storm", Storm)
    found = measured(HOUSE, "storm-deterministic", 60.0)
    if least == inf:
        # No cost can be kept: there is no plan.
        assert (found.status, found.first) == ("infeasible", None)
        return
    assert found.lower_bound <= least <= found.upper_bound
    assert found.upper_bound - found.lower_bound <= solvers.CLOSE * found.upper_bound


def test_a_problem_that_cannot_be_read_is_a_failure_with_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("format: hcssp-problem\nversion: 7\n")
    found = measured(Instance(str(path)), "exact", 1.0)
    assert found.status == "failed"
    assert "version 7" in found.note
