"""UMB files: what is written is read again, by us and by Storm, and what Storm writes is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hcssp

pytest.importorskip("umbi", reason="pip install 'hcssp[umb]' to test UMB files")


def test_a_procedure_is_written_flat_and_read_again(tmp_path: Path) -> None:
    flat = hcssp.small_building().flattening.cssp
    hcssp.to_umb(hcssp.small_building(), tmp_path / "building.umb")
    read = hcssp.from_umb(tmp_path / "building.umb")
    assert read.cost_names == flat.cost_names
    assert np.array_equal(read.costs, flat.costs)
    assert (read.transitions != flat.transitions).nnz == 0
    assert np.array_equal(read.initial, flat.initial)
    assert list(read.action_labels) == [str(label) for label in flat.action_labels]


@pytest.mark.parametrize("options", [{}, {"build_full": True}], ids=["plain", "with values of variables"])
def test_what_storm_writes_is_read(tmp_path: Path, options: dict[str, bool]) -> None:
    stormpy = pytest.importorskip("stormpy", reason="pip install 'hcssp[storm]' to compare with Storm")
    model = Path(__file__).parent / "models" / "robot_grid.prism"
    program, _ = stormpy.instantiate_constants(stormpy.parse_prism_program(str(model)), "N=3")
    chosen = stormpy.BuilderOptions(build_full=True) if options else None
    built = stormpy.build_model(program, options=chosen) if chosen else stormpy.build_model(program)
    stormpy.io.export_to_umb(built, str(tmp_path / "grid.umb"))
    ours = hcssp.from_umb(tmp_path / "grid.umb", goal="there", minimise="time", bounds={"heat": 1.3})
    direct = hcssp.from_prism(model, constants="N=3", goal="there", minimise="time", bounds={"heat": 1.3})
    assert hcssp.solve(ours).upper_bound == pytest.approx(hcssp.solve(direct).upper_bound, rel=1e-9)


def test_storm_reads_what_is_written(tmp_path: Path) -> None:
    stormpy = pytest.importorskip("stormpy", reason="pip install 'hcssp[storm]' to compare with Storm")
    hcssp.to_umb(hcssp.small_building(), tmp_path / "building.umb")
    with_names = stormpy.io.UmbImportOptions()
    with_names.build_state_valuations = False
    built = stormpy.build_model_from_umb(str(tmp_path / "building.umb"), options=with_names)
    again = hcssp.from_storm(built, minimise="time")
    assert hcssp.solve(again).upper_bound == pytest.approx(
        hcssp.solve(hcssp.small_building().with_bounds(damage=np.inf)).upper_bound, rel=1e-9
    )


def test_rewards_of_branches_are_expected_and_chains_have_one_action(tmp_path: Path) -> None:
    umb, binary, datatypes = (pytest.importorskip(f"umbi.{name}") for name in ("umb", "binary", "datatypes"))
    number = binary.SizedType.for_type(datatypes.NumericPrimitiveType.DOUBLE)
    truth = binary.SizedType.for_type(datatypes.PrimitiveType.BOOL)
    describe = umb.index.AnnotationDescription
    system = umb.index.TransitionSystem(
        num_states=2, num_initial_states=1, num_choices=2, num_branches=3, branch_probability_type=number
    )
    annotations = {
        "rewards": {"r1": describe(alias="toll", applies_to=["states", "branches"], type=number)},
        "aps": {"a1": describe(alias="out", applies_to=["states"], type=truth)},
    }
    written = umb.ExplicitUmb(
        index=umb.index.UmbIndex(transition_system=system, annotations=annotations),
        state_is_initial=[True, False],
        state_to_choices=[0, 1, 2],
        choice_to_branches=[0, 2, 3],
        branch_to_target=[1, 0, 1],
        branch_to_probability=[0.25, 0.75, 1.0],
        annotations={
            "rewards": {"r1": {"states": [1.0, 0.0], "branches": [8.0, 4.0, 0.0]}},
            "aps": {"a1": {"states": [False, True]}},
        },
    )
    umb.write(written, tmp_path / "chain.umb")
    problem = hcssp.from_umb(tmp_path / "chain.umb", goal="out")
    assert list(problem.action_labels) == ["go"]
    assert problem.cost_names == ("toll",)
    assert problem.costs.tolist() == [[1.0 + 0.25 * 8.0 + 0.75 * 4.0]]


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(hcssp.InvalidProblem, match="there is no such file"):
        hcssp.from_umb(tmp_path / "nowhere.umb")
    (tmp_path / "rubbish.umb").write_bytes(b"rubbish")
    with pytest.raises(hcssp.InvalidProblem, match=r"rubbish\.umb: it cannot be read"):
        hcssp.from_umb(tmp_path / "rubbish.umb")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"num_players": 2, "player_to_name": ["you", "me"]}, "it has 2 players"),
        ({"time": "stochastic"}, "its time is stochastic"),
        ({"num_observations": 1, "observations_apply_to": "states"}, "its states are only observed"),
    ],
)
def test_other_kinds_are_refused(tmp_path: Path, change: dict[str, object], told: str) -> None:
    umb, binary, datatypes = (pytest.importorskip(f"umbi.{name}") for name in ("umb", "binary", "datatypes"))
    number = binary.SizedType.for_type(datatypes.NumericPrimitiveType.DOUBLE)
    system = umb.index.TransitionSystem(
        num_states=1, num_initial_states=1, num_choices=1, num_branches=1, branch_probability_type=number
    )
    for name, value in change.items():
        setattr(system, name, value)
    written = umb.ExplicitUmb(
        index=umb.index.UmbIndex(transition_system=system),
        state_is_initial=[True],
        state_to_choices=[0, 1],
        state_to_player=[0],
        choice_to_branches=[0, 1],
        branch_to_target=[0],
        branch_to_probability=[1.0],
        entity_to_observation=[0],
    )
    umb.write(written, tmp_path / "other.umb")
    with pytest.raises(hcssp.InvalidProblem, match=told):
        hcssp.from_umb(tmp_path / "other.umb")
