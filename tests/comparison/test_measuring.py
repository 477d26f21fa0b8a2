"""Contestants at work."""

from __future__ import annotations

import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from math import inf

import pytest

import worker_tasks
from hcssp.comparison import apart, contestants, measuring, storm
from hcssp.comparison.contest import measured
from hcssp.comparison.contestants import CONTESTANTS, MODULES, PEERS
from hcssp.comparison.measuring import measure_all
from hcssp.comparison.suite import SUITES, Instance, suite
from hcssp.errors import UnknownName
from hcssp.scenarios.registry import SCENARIOS
from hcssp.workers import open_workers
from running_processes import assert_gone, measurements_of

pytestmark = pytest.mark.slow

HOUSE = Instance("small-building", {"intended": 0.9})
SLOW = (Instance("campus"), "milp")
"""A problem, and who is at work on it for minutes."""


def test_every_domain_is_in_every_suite() -> None:
    for name in SUITES:
        instances = suite(name)
        assert {instance.domain for instance in instances} == set(SCENARIOS)
        assert len({instance.name for instance in instances}) == len(instances)
    assert [each.domain for each in suite("full", ["campus"])] == ["campus"] * len(suite("full", ["campus"]))
    with pytest.raises(UnknownName, match="did you mean 'small'"):
        suite("smal")


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


def test_a_contestant_has_a_process_of_its_own_which_is_ended_in_time() -> None:
    pairs = [(HOUSE, "lp"), (Instance("nowhere"), "exact")]
    with ThreadPoolExecutor(2) as executor:
        lp, lost = sorted(measure_all(pairs, 600.0, executor), key=lambda each: -len(each.instance))
    assert lp.status == "optimal"
    assert lost.status == "failed"
    assert "its process ended with code 1" in lost.note


@pytest.mark.parametrize(
    ("dial", "status", "note"),
    [
        ("GRACE", "unknown", "it was ended after the time limit"),
        ("PREPARATION", "failed", "it was not ready within -100 s"),
    ],
)
def test_who_does_not_look_at_the_clock_is_ended(
    dial: str, status: str, note: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, dial, -100.0)
    (found,) = measure_all([SLOW], 60.0)
    assert (found.status, found.note) == (status, note)
    assert found.states == (1599 if status == "unknown" else 0)


def test_nothing_runs_on_when_nobody_listens_any_more() -> None:
    with ThreadPoolExecutor(2) as executor:
        measurements = measure_all([(HOUSE, "lp"), SLOW, SLOW], 600.0, executor)
        assert next(measurements).contestant == "lp"
        running = measurements_of([os.getpid()])
        measurements.close()
        assert_gone(running)


def end_measurements(workers: list[int]) -> int:
    running = measurements_of(workers)
    for process in running:
        os.kill(process, signal.SIGKILL)
    return len(running)


def test_a_run_whose_worker_dies_is_made_again_and_leaves_no_process() -> None:
    with open_workers(jobs=2) as workers:
        measurements = measure_all([(HOUSE, "lp"), SLOW], 600.0, workers)
        assert next(measurements).contestant == "lp"
        running = measurements_of(workers.process_ids)
        (busy,) = running.values()
        os.kill(busy, signal.SIGKILL)
        assert_gone(running)
        with ThreadPoolExecutor(1) as somebody:
            # Made again, it is ended as well, so as not to take a minute.
            ended = somebody.submit(end_measurements, workers.process_ids)
            (found,) = measurements
        assert ended.result() == 1
        assert (found.instance, found.contestant) == ("campus", "milp")
        assert found.note == "its process ended with code -9"
        assert workers.lost == 1


def test_a_run_that_costs_every_worker_its_life_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "measured_apart", worker_tasks.lose_whoever_measures)
    lost, other = measure_all([(HOUSE, "lp"), (HOUSE, "exact")], 1.0)
    assert (lost.instance, lost.contestant) == (HOUSE.name, "lp")
    assert (lost.status, lost.note) == ("failed", "all died")
    assert other.contestant == "exact"


def test_what_is_not_installed_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for peer, sent in PEERS.items():
        monkeypatch.setitem(sys.modules, MODULES[peer], None)
        for contestant in sent:
            found = measured(HOUSE, contestant, 1.0)
            assert found.status == "missing"
            assert "pip install 'hcssp[peers]'" in found.note


@pytest.mark.skipif(find_spec("stormpy") is None, reason="pip install 'hcssp[peers]' to compare with Storm")
def test_storm_agrees() -> None:
    house = Instance("small-building")
    (storm,) = measure_all([(house, "storm")], 600.0)
    ours = measured(house, "lp", 600.0)
    assert storm.status == "optimal"
    assert storm.randomised == pytest.approx(ours.randomised, rel=CONTESTANTS["storm"].tolerance)


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


@pytest.mark.parametrize("least", [0.3, 27.7191, 5e5])
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

    monkeypatch.setattr(storm, "_Storm", Storm)
    low, high = storm.run_storm_deterministic(HOUSE.problem())(60.0)
    assert low <= least <= high
    assert high - low <= storm.CLOSE * high


def test_where_no_cost_can_be_kept_there_is_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(problem: object) -> object:
        return lambda time_limit: (inf, inf)

    monkeypatch.setattr(contestants, "run_storm_deterministic", denied)
    found = measured(HOUSE, "storm-deterministic", 1.0)
    assert (found.status, found.first) == ("infeasible", None)
