"""The boxes that budget allocation reports: they cover the space of allocations, and are drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hcssp.cli import main
from hcssp.contract.progress import AllocationSpace, MaxIterations, Progress
from hcssp.errors import InvalidOption, UnknownName
from hcssp.methods.paper import BudgetAllocation
from hcssp.methods.paper.solver import ModeName
from hcssp.scenarios import small_building
from hcssp.solving.solve import solve

MODES: list[ModeName] = ["published", "sharp"]


def spaces_of(mode: ModeName) -> list[tuple[Progress, AllocationSpace]]:
    found: list[tuple[Progress, AllocationSpace]] = []

    def on_progress(step: Progress) -> None:
        if step.allocation is not None:
            found.append((step, step.allocation))

    solve(small_building(2.0), BudgetAllocation(mode=mode), MaxIterations(40), on_progress)
    return found


@pytest.mark.parametrize("mode", MODES)
def test_the_boxes_that_were_not_split_divide_the_whole(mode: ModeName) -> None:
    spaces = spaces_of(mode)
    assert len(spaces) > 3
    for step, space in spaces:
        states, root = space.state_of(), space.boxes[0]
        sides = root.upper > root.lower
        leaves = [box for box, state in zip(space.boxes, states, strict=True) if state != "split"]
        volumes = [np.prod(((box.upper - box.lower) / (root.upper - root.lower))[sides]) for box in leaves]
        assert sum(volumes) == pytest.approx(1.0)
        assert all(np.all((box.lower >= root.lower) & (box.upper <= root.upper)) for box in leaves)
        # No open box has a bound below the proven one; one that is pruned holds nothing better.
        for box, state in zip(space.boxes, states, strict=True):
            if state == "open":
                assert step.lower_bound <= box.bound * (1.0 + 1e-9)
                assert box.bound <= step.upper_bound
            elif state == "pruned":
                assert box.bound >= step.upper_bound * (1.0 - 1e-6)
    # A snapshot stays as it was, though the search goes on.
    counts = [len(space.boxes) for _, space in spaces]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1] == spaces[-1][0].iterations


def test_the_best_plan_is_where_its_activities_use_what_they_use() -> None:
    plan = solve(small_building(2.0), BudgetAllocation(), gap=0.1)
    space = plan.allocation
    assert space is not None
    assert space.usage is not None
    shares = {each.name: each for each in plan.as_procedure().costs.activities}
    for (activity, cost), used in zip(space.axes, space.usage.tolist(), strict=True):
        share = shares[activity]
        if share.expected_executions:
            assert used == pytest.approx(share.usage_per_execution[cost])
            assert used <= plan.budgets[activity][cost] + 1e-9


def test_it_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    space = solve(small_building(3.0), BudgetAllocation(mode="published"), gap=0.3).allocation
    assert space is not None
    axes = space.plot(tmp_path / "boxes.svg", activities=("go-to-door", "return-to-E"))
    assert axes.get_xlabel() == "damage of an execution of go-to-door"
    assert axes.get_ylabel() == "damage of an execution of return-to-E"
    drawn = sum(len(collection.get_paths()) for collection in axes.collections)
    assert drawn == sum(state != "split" for state in space.state_of())
    with pytest.raises(UnknownName, match="nowhere"):
        space.plot(tmp_path / "boxes.svg", activities=("go-to-door", "nowhere"))
    with pytest.raises(InvalidOption, match="two activities"):
        space.plot(tmp_path / "boxes.svg", activities=("go-to-door", "go-to-door"))
    command = ["solve", "small-building", "--quiet", "--allocation", str(tmp_path / "boxes.png")]
    assert main([*command, "--method", "budget-allocation", "--gap", "0.1"]) == 0
    assert (tmp_path / "boxes.png").stat().st_size > 10_000


def test_other_methods_have_no_boxes(capsys: pytest.CaptureFixture[str]) -> None:
    assert solve(small_building(2.0)).allocation is None
    assert main(["solve", "small-building", "--allocation", "boxes.png"]) == 2
    assert "only the method 'budget-allocation'" in capsys.readouterr().err
