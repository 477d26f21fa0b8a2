"""UMB files: what is written is read again, by us and by Storm, and what Storm writes is read."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hcssp
from hcssp.exchange.models import ValuationLabels

pytest.importorskip("umbi", reason="pip install 'hcssp[umb]' to test UMB files")


def test_a_procedure_is_written_flat_and_read_again(tmp_path: Path) -> None:
    flat = hcssp.small_building().flattening.cssp
    hcssp.to_umb(hcssp.small_building(), tmp_path / "building.umb")
    read = hcssp.load_model(tmp_path / "building.umb")
    assert read.cost_names == flat.cost_names
    assert np.array_equal(read.costs, flat.costs)
    assert (read.transitions != flat.transitions).nnz == 0
    assert np.array_equal(read.initial, flat.initial)
    assert list(read.action_labels) == [str(label) for label in flat.action_labels]
    assert list(read.state_labels) == [str(label) for label in flat.state_labels]


@pytest.mark.parametrize("options", [{}, {"build_full": True}], ids=["plain", "with values of variables"])
def test_what_storm_writes_is_read(tmp_path: Path, options: dict[str, bool]) -> None:
    stormpy = pytest.importorskip("stormpy", reason="pip install 'hcssp[storm]' to compare with Storm")
    model = Path(__file__).parent / "models" / "robot_grid.prism"
    program, _ = stormpy.instantiate_constants(stormpy.parse_prism_program(str(model)), "N=3")
    chosen = stormpy.BuilderOptions(build_full=True) if options else None
    built = stormpy.build_model(program, options=chosen) if chosen else stormpy.build_model(program)
    stormpy.io.export_to_umb(built, str(tmp_path / "grid.umb"))
    ours = hcssp.load_model(tmp_path / "grid.umb", goal="there", minimise="time", bounds={"heat": 1.3})
    direct = hcssp.load_model(model, constants="N=3", goal="there", minimise="time", bounds={"heat": 1.3})
    assert hcssp.solve(ours).upper_bound == pytest.approx(hcssp.solve(direct).upper_bound, rel=1e-9)
    numbers = [str(state) for state in range(direct.num_states)]
    assert list(ours.state_labels) == (list(direct.state_labels) if options else numbers)
    hcssp.to_umb(direct, tmp_path / "again.umb")
    again = stormpy.build_model_from_umb(str(tmp_path / "again.umb"))
    assert list(hcssp.extend.from_storm(again, minimise="time").state_labels) == list(direct.state_labels)


def test_storm_reads_what_is_written(tmp_path: Path) -> None:
    stormpy = pytest.importorskip("stormpy", reason="pip install 'hcssp[storm]' to compare with Storm")
    hcssp.to_umb(hcssp.small_building(), tmp_path / "building.umb")
    with_names = stormpy.io.UmbImportOptions()
    with_names.build_state_valuations = False
    built = stormpy.build_model_from_umb(str(tmp_path / "building.umb"), options=with_names)
    again = hcssp.extend.from_storm(built, minimise="time")
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
    problem = hcssp.load_model(tmp_path / "chain.umb", goal="out")
    assert list(problem.action_labels) == ["go"]
    assert problem.cost_names == ("toll",)
    assert problem.costs.tolist() == [[1.0 + 0.25 * 8.0 + 0.75 * 4.0]]


def write_valued(path: Path, states: dict[str, Any], files: dict[str, bytes], num_states: int = 2) -> None:
    """A line of states that ends in the last one, with what is known of their variables."""
    binary, datatypes = (pytest.importorskip(f"umbi.{name}") for name in ("binary", "datatypes"))
    umb, coding = pytest.importorskip("umbi.umb"), pytest.importorskip("umbi.umb.umb_to_tar")
    truth = binary.SizedType.for_type(datatypes.PrimitiveType.BOOL)
    goal = umb.index.AnnotationDescription(alias="goal", applies_to=["states"], type=truth)
    encoder = coding.UmbEncoder()
    last = num_states - 1
    system = umb.index.TransitionSystem(
        num_states=num_states, num_initial_states=1, num_choices=num_states, num_branches=num_states
    )
    encoder.encode(
        umb.ExplicitUmb(
            index=umb.index.UmbIndex(transition_system=system, annotations={"aps": {"goal": goal}}),
            state_is_initial=[state == 0 for state in range(num_states)],
            branch_to_target=[min(state + 1, last) for state in range(num_states)],
            annotations={"aps": {"goal": {"states": [state == last for state in range(num_states)]}}},
        )
    )
    index = encoder.read_json("index.json")
    del encoder["index.json"]
    encoder.add_json("index.json", {**index, "valuations": {"states": states}})
    for name, content in files.items():
        encoder.add_file(f"valuations/states/{name}.bin", content)
    encoder.write(path)


def variable(name: str, kind: str, size: int, **more: object) -> dict[str, object]:
    return {"name": name, "type": {"type": kind, "size": size}, **more}


def test_variables_of_all_kinds_are_unpacked(tmp_path: Path) -> None:
    fields = [
        variable("calm", "bool", 1),
        variable("x", "int", 5),
        {"padding": 2},
        variable("shift", "uint", 8, offset=-128),
        variable("half", "rational", 16),
        variable("height", "double", 64),
        variable("room", "string", 64),
        variable("left", "uint", 7, **{"is-optional": True}),
    ]
    # The first variable has the lowest bits; the last begins with the bit that says whether it is there.
    rows = [
        bytes([0b11101_1, 184, 255, 2]) + struct.pack("<dQB", 0.5, 1, 0b1001_1),
        bytes([0b00011_0, 0, 3, 4]) + struct.pack("<dQB", -2.0, 0, 0),
    ]
    states = {"unique": True, "#strings": 2, "classes": [{"variables": fields}]}
    mapping = struct.pack("<3Q", 0, 4, 8)
    files = {"valuations": b"".join(rows), "strings": b"hallroof", "string-mapping": mapping}
    write_valued(tmp_path / "kinds.umb", states, files)
    assert list(hcssp.load_model(tmp_path / "kinds.umb").state_labels) == [
        "calm=true, x=-3, shift=56, half=-1/2, height=0.5, room=roof, left=9",
        "calm=false, x=3, shift=-128, half=3/4, height=-2.0, room=hall",
    ]


def test_states_of_several_classes_have_variables_of_their_own(tmp_path: Path) -> None:
    classes = [{"variables": [variable("x", "uint", 8)]}, {"variables": [variable("y", "uint", 16)]}]
    files = {
        "valuations": bytes([7, 1, 1, 9]),
        "valuation-to-class": struct.pack("<3I", 0, 1, 0),
    }
    write_valued(tmp_path / "classes.umb", {"unique": True, "classes": classes}, files, num_states=3)
    assert list(hcssp.load_model(tmp_path / "classes.umb").state_labels) == ["x=7", "y=257", "x=9"]


def test_values_that_do_not_tell_states_apart_are_no_names(tmp_path: Path) -> None:
    states = {"unique": False, "classes": [{"variables": [variable("x", "uint", 8)]}]}
    write_valued(tmp_path / "same.umb", states, {"valuations": bytes([7, 7])})
    assert list(hcssp.load_model(tmp_path / "same.umb").state_labels) == ["0", "1"]
    write_valued(tmp_path / "short.umb", states, {"valuations": bytes([7])})
    with pytest.raises(hcssp.InvalidProblem, match="1 bytes, and not those of 2 states of 8 bits"):
        hcssp.load_model(tmp_path / "short.umb")


def test_negative_variables_are_kept(tmp_path: Path) -> None:
    names = ValuationLabels(("x", "up"), ([-3, 5], [True, False]))
    line = hcssp.load_model(_line(tmp_path))
    hcssp.to_umb(replace(line, state_labels=names), tmp_path / "named.umb")
    assert list(hcssp.load_model(tmp_path / "named.umb").state_labels) == ["x=-3, up=true", "x=5, up=false"]


def _line(folder: Path) -> Path:
    states = {"unique": True, "classes": [{"variables": [variable("x", "uint", 8)]}]}
    write_valued(folder / "line.umb", states, {"valuations": bytes([1, 2])})
    return folder / "line.umb"


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(hcssp.InvalidProblem, match="there is no such file"):
        hcssp.load_model(tmp_path / "nowhere.umb")
    (tmp_path / "rubbish.umb").write_bytes(b"rubbish")
    with pytest.raises(hcssp.InvalidProblem, match=r"rubbish\.umb: it cannot be read"):
        hcssp.load_model(tmp_path / "rubbish.umb")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"num_players": 2, "player_to_name": ["you", "me"]}, "it has 2 players"),
        ({"time": "stochastic"}, "its time is stochastic"),
        ({"num_observations": 1, "observations_apply_to": "states"}, "its states are partially observed"),
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
        hcssp.load_model(tmp_path / "other.umb")
