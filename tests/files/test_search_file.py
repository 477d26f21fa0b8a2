"""Searches on disk: another run goes on where one was stopped, and believes nothing."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hazard_grid import stages
from hcssp.checker.checking import check
from hcssp.contract.plan import Plan
from hcssp.contract.progress import MaxIterations, Progress
from hcssp.errors import InvalidPlan
from hcssp.files.search_file import load_search, save_search
from hcssp.methods.policy_branching import PolicySearch
from hcssp.proofs.search_record import SearchRecord
from hcssp.solving.solve import solve
from hcssp.workers import open_workers
from known_optima import KNOWN

PROBLEM = stages(8, seed=4)


@pytest.fixture(scope="module")
def optimum() -> Plan:
    return solve(PROBLEM, stop=[])


@pytest.fixture(scope="module")
def stopped() -> Plan:
    return solve(PROBLEM, stop=MaxIterations(20))


@pytest.fixture
def path(tmp_path: Path, stopped: Plan) -> Path:
    """A search that was stopped half way."""
    file = tmp_path / "plan.json.search"
    save_search(file, PROBLEM, stopped.record)
    return file


@pytest.mark.parametrize("jobs", [None, 1])
def test_a_search_goes_on_to_the_same_optimum(path: Path, optimum: Plan, jobs: int | None) -> None:
    problem = stages(8, seed=4)
    record = load_search(path, problem)
    lower: list[float] = [-inf]

    def look(progress: Progress) -> None:
        assert lower[-1] <= progress.lower_bound <= optimum.upper_bound * (1.0 + 1e-9)
        lower.append(progress.lower_bound)

    workers = None if jobs is None else open_workers(jobs)
    plan = solve(problem, stop=[], on_progress=look, record=record, executor=workers)
    assert plan.upper_bound == pytest.approx(optimum.upper_bound, rel=1e-9)
    assert plan.lower_bound == pytest.approx(optimum.lower_bound, rel=1e-9)
    assert plan.ending == optimum.ending
    assert check(PROBLEM, plan.certificate).lower_bound == pytest.approx(optimum.upper_bound, rel=1e-6)


def test_what_was_split_before_is_not_split_again(
    path: Path, optimum: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    expanded: list[int] = []
    honest = PolicySearch.children
    monkeypatch.setattr(
        PolicySearch, "children", lambda self, *node: (expanded.append(1), honest(self, *node))[1]
    )
    solve(PROBLEM, stop=[])
    anew = len(expanded)
    record = load_search(path, PROBLEM)
    solve(PROBLEM, stop=[], record=record)
    assert len(expanded) - anew < anew


def edited(path: Path, **changes: Any) -> Path:
    document = json.loads(path.read_text(encoding="utf-8")) | changes
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_numbers_that_are_made_up_mislead_nobody(path: Path, optimum: Plan) -> None:
    rng = np.random.default_rng(0)
    document = json.loads(path.read_text(encoding="utf-8"))
    rows = [row if row < 0 else int(rng.integers(0, 24)) for row in document["rows"]]
    weights = [[1.0, *rng.uniform(-5.0, 50.0, 2).tolist()] for _ in document["weights"]]
    weights[0] = [1.0, 1e300, 1e-300]
    record = load_search(edited(path, rows=rows, weights=weights), PROBLEM)
    plan = solve(PROBLEM, stop=[], record=record)
    assert plan.upper_bound == pytest.approx(optimum.upper_bound, rel=1e-9)
    assert plan.lower_bound == pytest.approx(optimum.lower_bound, rel=1e-9)


def forged(rng: np.random.Generator, rows: int, splits: int) -> tuple[list[Any], list[Any]]:
    """A random tree of splits, some on rows and counts of rows that can be exchanged, and random weights."""
    tree: list[Any] = [-1]
    for _ in range(splits):
        leaf = rng.choice([place for place, split in enumerate(tree) if split == -1])
        row = int(rng.integers(0, rows))
        tree[leaf : leaf + 1] = [[row, int(rng.integers(0, 5))] if rng.random() < 0.5 else row, -1, -1]
    weights = [None if rng.random() < 0.3 else rng.uniform(-1, 99, 2).tolist() for _ in range(splits + 1)]
    return tree, weights


@pytest.mark.parametrize("name", KNOWN)
def test_a_forged_search_file_changes_no_optimum(tmp_path: Path, name: str) -> None:
    """Whatever tree a file holds, the result is the optimum that is known from elsewhere."""
    known, rng = KNOWN[name], np.random.default_rng(len(name))
    problem, path = known.problem, tmp_path / "plan.json.search"
    rows = problem.procedure.flattening.num_rows
    for splits in (1, 3, 6):
        save_search(path, problem, SearchRecord())
        tree, weights = forged(rng, rows, splits)
        plan = solve(problem, record=load_search(edited(path, rows=tree, weights=weights), problem))
        if known.optimum == inf:
            assert plan.status == "infeasible"
        else:
            assert plan.status == "optimal"
            assert plan.upper_bound == pytest.approx(known.optimum, rel=1e-6)


def test_rows_that_there_are_not_make_it_begin_anew(path: Path, optimum: Plan) -> None:
    record = load_search(edited(path, rows=[10**9, -1, -1], weights=[None, None]), PROBLEM)
    plan = solve(PROBLEM, stop=[], record=record)
    assert plan.iterations == optimum.iterations


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"format": "hcssp-plan"}, "this is no search"),
        ({"version": 3}, "version: 3 cannot be read; this hcssp reads version 1 and 2"),
        ({"problem": {"fingerprint": "0"}}, "this search is for another problem"),
        ({"bounds": {}}, "bounds: a list of 0 is not the constraints of this problem"),
        ({"bounds": {"budget 0": "x", "budget 1": 1.0}}, 'bounds.budget 0: "x" is not a number'),
        ({"bounds": {"budget 0": 1e9, "budget 1": None}}, r"for other bounds \(budget 0 at most 1e\+09, not"),
        ({"rows": [3, -1]}, "1 regions are missing"),
        ({"rows": []}, "1 regions are missing"),
        ({"rows": [3, -1, -1, -1]}, "there are regions that are part of nothing"),
        ({"rows": [0.5]}, r"rows\[0\]: 0.5 is not a whole number or a list"),
        ({"rows": [[3, "x"], -1, -1]}, r'rows\[0\]\[1\]: "x" is not a whole number'),
        ({"rows": [[3], -1, -1]}, "rows: give whole numbers from -1, or pairs from 0"),
        ({"rows": [[-1, 1], -1, -1]}, "rows: give whole numbers from -1, or pairs from 0"),
        ({"weights": 7}, "weights: 7 is not a list"),
        ({"weights": [[True]]}, r"weights\[0\]\[0\]: true is not a number"),
    ],
)
def test_what_is_no_search_is_refused(path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidPlan, match=said):
        load_search(edited(path, **changes), PROBLEM)


def test_what_is_no_json_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("[", encoding="utf-8")
    with pytest.raises(InvalidPlan, match="this is not JSON"):
        load_search(broken, PROBLEM)
    with pytest.raises(InvalidPlan, match="missing"):
        load_search(tmp_path / "missing", PROBLEM)


def test_a_record_and_its_skeleton_are_the_same(stopped: Plan) -> None:
    rows, weights = stopped.record.skeleton()
    again = SearchRecord.of_skeleton(rows, weights)
    assert again.skeleton()[0] == rows
    assert rows.count(-1) == len(weights) == sum(row >= 0 for row in rows) + 1
