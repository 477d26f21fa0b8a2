"""Properties of models: their language, and verdicts against brute force and Storm."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from hcssp.cli import main
from hcssp.errors import InvalidCertificate, InvalidProblem, NotProven, UnboundedReward
from hcssp.exchange.models import ExplicitModel
from hcssp.exchange.objectives import Decided, Reduced, decide, load_question, reduced, verdict, verified
from hcssp.exchange.pareto import pareto_front
from hcssp.exchange.properties import parse_properties
from volume import some

has_storm = pytest.mark.skipif(
    find_spec("stormpy") is None, reason="pip install 'hcssp[storm]' to read models"
)

# A courier tries a short way, which fails one time in four and is then closed, or takes a long one.
COURIER = """
mdp
module courier
  place : [0..3] init 0;
  [short] place=0 -> 0.75:(place'=2) + 0.25:(place'=1);
  [long] place<=1 -> (place'=2);
  [wait] place=0 -> (place'=0);
  [stop] place>=1 -> (place'=3);
endmodule
label "there" = place=2;
label "late" = place=1;
rewards "time" [short] true : 2; [long] true : 6; endrewards
rewards "risk" [short] true : 1; endrewards
rewards "pay" [stop] place=2 : 10; endrewards
"""


@pytest.fixture
def courier(tmp_path: Path) -> Path:
    path = tmp_path / "courier.prism"
    path.write_text(COURIER)
    return path


def test_queries_are_read() -> None:
    text = """
    "first": multi(R{"time"}<=3.5 [C], P>=1e-1 [ !a U "b" | (x=1) ]); // with a note; and more
    R{"risk"}min=? [F done]
    """
    first, second = parse_properties(text)
    assert (first.name, second.name) == ("first", "")
    time, until = first.objectives
    assert (time.reward, time.bound, time.at_least, time.target) == ("time", Fraction(7, 2), False, "")
    assert (until.reward, until.bound, until.at_least) == (None, Fraction(1, 10), True)
    assert (until.safe, until.target) == ("!a", '"b" | (x=1)')
    assert (second.objectives[0].bound, second.objectives[0].target) == (None, "done")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no property"),
        ('multi(R{"a"}<=3)', "it is not an objective"),
        ('R{"a"}<=3 [LRA]', "long-run averages are not supported"),
        ("P>=0.5 [F<=7 done]", "bounds on the number of steps are not supported"),
        ('R{"a"}<=3 [C<=7]', "bounds on the number of steps are not supported"),
        ("P>=0.5 [F P>=1 [F done]]", "nested properties are not supported"),
        ("P>=0.5 [G done]", "temporal operators other than F and U are not supported"),
        ("P>=0.5 [C]", r"line 1, column 8: \[C\]: it is not a path of this objective"),
        ("multi(P>=0.5 [F a],\n  P<=0.5 [X done])", r"line 2, column 10: \[X done\]: temporal operators"),
        ('// S\nS>=0.5 ["a"]', "line 2, column 1: .*: long-run averages are not supported"),
        ('R{"a"}<=3 [I=4]', "rewards at one instant are not supported"),
        ("filter(max, P>=0.5 [F done])", "filters are not supported"),
        ("P=? [F done]", "write min=. or max=."),
        ("Pmin>=0.9 [F done]", "asks about all policies; write multi"),
        ("P>=q [F done]", "it is not a number; available: none"),
        ("const double q; P>=q [F done]", "give a value by --constants q="),
        ("multi(P>=0.5 [F a], multi(P>=0.5 [F a]))", "functions of properties are not supported"),
        ("A [F a]", "the operators A and E are not supported"),
        ('P{"a"}>=0.5 [F a]', "a probability has no reward model"),
        ('R{"a"}<=3 [a U b]', "a reward is counted until"),
        ("multi(P min=? [F a], P max=? [F b], P max=? [F c], P max=? [F d])", "two or three objectives"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        parse_properties(text)


def read(path: Path, text: str) -> Reduced:
    from hcssp.exchange.storm import read_symbolic

    (query,) = parse_properties(text)
    targets = [each for one in query.objectives for each in (one.target, one.safe) if each]
    return reduced(read_symbolic(path, "PRISM", None, targets, whole=True), query)


def answers(question: Reduced) -> tuple[Decided, Decided]:
    randomised = decide(question, "randomised")
    return randomised, decide(question, "deterministic", known=randomised)


@has_storm
@pytest.mark.parametrize(
    ("text", "randomised", "deterministic"),
    [
        # Two policies end: short (time 2 + 6/4 or 2, risk 1) and long (time 6, risk 0); waiting never does.
        ('multi(R{"time"}<=4 [F "there"], R{"risk"}<=0.5 [C])', "not achievable", "not achievable"),
        ('multi(R{"time"}<=4.7500001 [F "there"], R{"risk"}<=0.5 [C])', "achievable", "not achievable"),
        (
            'multi(R{"time"}<=4.749999999 [F "there"], R{"risk"}<=0.5 [C])',
            "not achievable",
            "not achievable",
        ),
        ('multi(R{"time"}<=3.5 [F "there"], R{"risk"}<=1 [C])', "achievable", "achievable"),
        # Waiting for ever costs nothing.
        ('multi(R{"time"}<=0 [C], R{"risk"}<=0 [C])', "achievable", "achievable"),
        ('multi(R{"time"}<=1 [C], P>=0.5 [F "there"])', "not achievable", "not achievable"),
        ('multi(R{"time"}<=1.33333334 [C], P>=0.5 [F "there"])', "achievable", "not achievable"),
        ('multi(R{"time"}<=2 [C], P>=0.75 [!"late" U "there"])', "achievable", "achievable"),
        ('multi(P<=0.25 [F "late"], R{"pay"}>=10 [C])', "achievable", "achievable"),
        ('multi(R{"pay"}>=7.5 [C], R{"time"}<=2 [C])', "achievable", "achievable"),
        ('multi(R{"pay"}>=7.6 [C], R{"time"}<=2 [C])', "not achievable", "not achievable"),
        ('multi(P>=1 [F place=3], P<=0 [F "late"], R{"time"}<=5.9 [C])', "not achievable", "not achievable"),
        ('multi(P>=1 [F place=0], R{"time"}<=0 [C])', "achievable", "achievable"),
    ],
)
def test_verdicts_that_are_known(courier: Path, text: str, randomised: str, deterministic: str) -> None:
    question = read(courier, text)
    first, second = answers(question)
    assert (verdict(first), verdict(second)) == (randomised, deterministic)
    for each in (first, second):
        assert (each.achievable is False) == (each.certificate is not None)
        assert all(cost <= limit for cost, limit in zip(each.costs, question.limits, strict=False))


@has_storm
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        # The least time is 3.5, and the most likely way is certain: nothing is beyond these edges.
        ('multi(R{"time"}<3.5 [F "there"])', {"not achievable"}),
        ('multi(R{"time"}<=3.5 [F "there"])', {"achievable"}),
        ('multi(R{"time"}<3.500001 [F "there"])', {"achievable"}),
        ('multi(P>1 [!"late" U "there"])', {"not achievable"}),
        ('multi(P>0.75 [!"late" U "there"], R{"risk"}<1 [C])', {"achievable"}),
        ('multi(P>=1 [!"late" U "there"], R{"risk"}<=0 [C])', {"achievable"}),
        ('multi(P>=1 [!"late" U "there"], R{"risk"}<0 [C])', {"not achievable"}),
        # Half of each way takes 4.75 and risks 0.5, and nothing else keeps either bound.
        ('multi(R{"time"}<=4.75 [F "there"], R{"risk"}<0.5 [C])', {"not achievable", "undecided"}),
        ('multi(R{"time"}<4.8 [F "there"], R{"risk"}<0.5 [C])', {"achievable"}),
        ('multi(R{"pay"}>7.5 [C], R{"time"}<=2 [C])', {"not achievable", "undecided"}),
        ('multi(R{"pay"}>7.4999 [C], R{"time"}<=2 [C])', {"achievable"}),
    ],
)
def test_strict_bounds_exclude_the_bound(courier: Path, text: str, wanted: set[str]) -> None:
    question = read(courier, text)
    answer = decide(question, "randomised")
    assert verdict(answer) in wanted
    assert (answer.achievable is False) == (answer.certificate is not None)


@has_storm
def test_a_reward_until_a_target_can_be_large(courier: Path) -> None:
    text = 'multi(R{"time"}>=5.9 [F "there"], R{"risk"}<=0.5 [C])'
    with pytest.raises(UnboundedReward, match="some policy never reaches the target"):
        read(courier, text)
    courier.write_text(
        COURIER.replace("[wait] place=0 -> (place'=0);", "").replace("place>=1 ->", "place>=2 ->")
    )
    first, second = answers(read(courier, text))
    assert (verdict(first), verdict(second)) == ("achievable", "achievable")
    best, _ = answers(read(courier, 'multi(R{"time"}max=? [F "there"], R{1}<=4.75 [C])'))
    question = read(courier, 'multi(R{"time"}max=? [F "there"], R{1}<=4.75 [C])')
    assert best.best is not None
    assert float(question.value(0, best.best)) == pytest.approx(4.75, abs=1e-9)
    first, _ = answers(read(courier, 'multi(R{"time"}>6 [F "there"])'))
    assert verdict(first) != "achievable"


@has_storm
def test_constants_labels_and_several_lines(courier: Path, capsys: pytest.CaptureFixture[str]) -> None:
    courier.write_text(COURIER.replace("mdp", "mdp\nconst int N;\nconst double half = 1/2;"))
    props = courier.with_suffix(".props")
    props.write_text(
        """const double T; const double D = T/9;  // the bounds
        label "fine" = place=2 & !"late";
        "one": multi( R{"time"} <= T*half [ F "there" ],
                      R{2}<D+N-3 [C] );
        "two": Pmax=? [ !"late" U ("fine" | place=3) ]
        "three": P>=0.5 [F<=3 "there"]"""
    )
    command = [
        "solve",
        str(courier),
        "--constants",
        "N=3,T=9.5",
        "--props",
        str(props),
        "--json",
        "--property",
    ]
    assert main([*command, "one"]) == 0
    assert json.loads(capsys.readouterr().out)["randomised"]["verdict"] == "achievable"
    assert main([*command, "two"]) == 0
    assert json.loads(capsys.readouterr().out)["randomised"]["best"] == pytest.approx(1.0)
    assert main([*command, "three"]) == 2
    assert 'line 6, column 25: [F<=3 "there"]: bounds on the number of steps' in capsys.readouterr().err
    assert main([*command, "four"]) == 2
    assert "available: one, three, two" in capsys.readouterr().err


@has_storm
def test_properties_of_a_model_in_jani(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads((Path(__file__).parent / "models" / "ferry.jani").read_text())
    fares = {"op": "Emin", "exp": "time", "accumulate": ["steps"], "reach": "over"}
    asked = {
        "cheap": {"op": "≤", "left": fares, "right": 1000},
        "least": fares,
        "all": {"op": "≥", "left": {"op": "Pmin", "exp": {"op": "F", "exp": "over"}}, "right": 0.5},
    }
    initial = {"op": "initial"}
    document["properties"] = [
        {"name": name, "expression": {"op": "filter", "fun": "values", "states": initial, "values": each}}
        for name, each in asked.items()
    ]
    path = tmp_path / "ferry.jani"
    path.write_text(json.dumps(document))
    given = ["--constants", "passengers=3"]
    assert main(["solve", str(path), *given, "--property", "cheap", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["deterministic"]["verdict"] == "achievable"
    assert main(["solve", str(path), *given, "--property", "least", "--json"]) == 0
    least = json.loads(capsys.readouterr().out)["deterministic"]["best"]
    assert main(["solve", str(path), *given, "--goal", "over", "--minimise", "time", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["upper_bound"] == pytest.approx(least)
    assert main(["solve", str(path), *given, "--property", "all"]) == 2
    assert "asks about all policies" in capsys.readouterr().err


@has_storm
def test_an_objective_is_optimised_under_bounds(courier: Path) -> None:
    for text, values in (
        ('multi(R{"time"}min=? [F "there"], R{"risk"}<=0.5 [C])', (4.75, 6.0)),
        ('multi(P max=? [F "there"], R{"time"}<=1 [C])', (0.375, 0.0)),
        ('multi(R{"pay"}max=? [C], R{"time"}<=2 [C])', (7.5, 7.5)),
    ):
        question = read(courier, text)
        for answer, value in zip(answers(question), values, strict=True):
            assert answer.best is not None
            assert float(question.value(0, answer.costs[0])) == pytest.approx(value, abs=1e-7)
            assert float(question.value(0, answer.best)) == pytest.approx(value, abs=1e-7)


@has_storm
def test_a_reward_without_a_greatest_value_is_refused(courier: Path) -> None:
    courier.write_text(COURIER.replace("[stop] place=2 : 10;", "[wait] true : 1;"))
    with pytest.raises(UnboundedReward):
        read(courier, 'multi(R{"pay"}>=7.5 [C], R{"time"}<=2 [C])')


def random_model(seed: int) -> ExplicitModel:
    """Four to six states, the last of which is a trap; two rewards and two labels."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(4, 7))
    counts = [*rng.integers(1, 4, size - 1).tolist(), 1]
    rows = np.zeros((sum(counts), size))
    for row in range(len(rows) - 1):
        heads = rng.choice(size, 2, replace=False)
        share = rng.choice([1.0, 0.5, 0.25])
        rows[row, heads] = share, 1.0 - share
    rows[-1, -1] = 1.0
    rewards = {name: rng.integers(0, 4, len(rows)).astype(float) for name in ("a", "b")}
    for each in rewards.values():
        each[-1] = 0.0
    labels = {name: rng.random(size) < 0.4 for name in ("x", "y")}
    for mask in labels.values():
        # Storm does not take targets that are reached at the start.
        mask[0] = False
    transitions = csr_array(rows)
    initial = np.zeros(size, dtype=bool)
    initial[0] = True
    return ExplicitModel(
        transitions=transitions,
        row_start=np.concatenate([[0], np.cumsum(counts)]),
        rewards=rewards,
        labels=labels,
        initial=initial,
        state_names=range(size),
        action_names=[f"r{row}" for row in range(len(rows))],
    )


def in_prism(model: ExplicitModel) -> str:
    """The same model as a program, for Storm."""
    lines = ["mdp", "module m", f"s : [0..{model.num_states - 1}] init 0;"]
    owners = np.repeat(np.arange(model.num_states), np.diff(model.row_start))
    dense = model.transitions.toarray()
    for row, state in enumerate(owners.tolist()):
        ways = " + ".join(f"{dense[row, to]}:(s'={to})" for to in np.flatnonzero(dense[row]))
        lines.append(f"[r{row}] s={state} -> {ways};")
    lines.append("endmodule")
    for name, mask in model.labels.items():
        lines.append(
            f'label "{name}" = {" | ".join(f"s={each}" for each in np.flatnonzero(mask)) or "false"};'
        )
    for name, values in model.rewards.items():
        listed = " ".join(f"[r{row}] true : {value};" for row, value in enumerate(values.tolist()))
        lines.append(f'rewards "{name}" {listed} endrewards')
    return "\n".join(lines)


@has_storm
@pytest.mark.parametrize("seed", some(range(80)))
def test_storm_agrees_about_randomised_policies(seed: int) -> None:
    model, rng = random_model(seed), np.random.default_rng(10_000 + seed)
    kinds = [
        'R{"a"}<=%s [C]',
        'R{"b"}<=%s [C]',
        "P>=%s [F %s]",
        "P<=%s [F %s]",
        "P>=%s [!%s U %s]",
    ]
    chosen = rng.choice(len(kinds), 2, replace=False)
    parts = []
    for kind in chosen.tolist():
        bound = rng.uniform(0.0, 5.0) if kind < 2 else rng.uniform(0.0, 1.0)
        names = rng.permutation(['"x"', '"y"']).tolist()
        parts.append(kinds[kind] % (f"{bound:.3f}", *names[: kinds[kind].count("%s") - 1]))
    text = f"multi({', '.join(parts)})"
    (query,) = parse_properties(text)
    labels = {f'"{name}"': mask for name, mask in model.labels.items()}
    labels |= {f"!{name}": ~mask for name, mask in labels.items()}
    question = reduced(
        ExplicitModel(**{**{f: getattr(model, f) for f in model.__dataclass_fields__}, "labels": labels}),
        query,
    )
    ours = decide(question, "randomised")
    found = storm_says(in_prism(model), text)
    # Where every policy has an infinite reward, Storm refuses.
    assert ours.achievable is bool(found), text
    certificate = ours.certificate or ours.plan.certificate
    assert verified(question, certificate).achievable is ours.achievable


def storm_says(source: str, text: str) -> bool | None:
    answer = storm_answer(source, text)
    return None if answer is None else bool(answer.exists_true())


def storm_answer(source: str, text: str) -> Any:
    import tempfile

    import stormpy

    with tempfile.NamedTemporaryFile("w", suffix=".prism") as file:
        file.write(source)
        file.flush()
        program = stormpy.parse_prism_program(file.name, prism_compatibility=True)
    (asked,) = stormpy.parse_properties(text, program)
    options = stormpy.BuilderOptions([asked])
    options.set_build_all_reward_models()
    options.set_build_all_labels()
    model = stormpy.build_model(program, options=options)
    try:
        return stormpy.model_checking(model, asked)
    except RuntimeError as error:
        if "yields finite reward for all objectives" not in str(error):
            raise
        return None


@has_storm
@pytest.mark.parametrize(
    ("text", "points"),
    [
        ('multi(R{"time"}min=? [F "there"], R{"risk"}min=? [C])', [[3.5, 1], [6, 0]]),
        (
            'multi(R{"time"}min=? [C], R{"risk"}min=? [C], R{"pay"}max=? [C])',
            [[0, 0, 0], [2, 1, 7.5], [3.5, 1, 10], [6, 0, 10]],
        ),
        (
            'multi(R{"time"}min=? [C], P max=? [F "there"], R{"risk"}<=0.5 [C])',
            # Half of it by the short way; then the long one where that was closed; then at once.
            [[0, 0, 0], [1, 0.375, 0.5], [4, 0.875, 0.5], [4.75, 1, 0.5]],
        ),
    ],
)
def test_the_pareto_points_are_those_known(
    courier: Path, text: str, points: list[list[float]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", str(courier), "--property", text, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert np.array(document["points"]) == pytest.approx(np.array(points), abs=1e-6)
    assert document["gap"] < 1e-3
    open_ = [place for place, each in enumerate(document["objectives"]) if "=?" in each]
    for bound in document["bounds"]:
        least = min(np.array(points)[:, open_] @ bound["weights"])
        assert least - 1e-6 <= bound["at_least"] <= least + 1e-12


@has_storm
def test_a_pareto_query_that_no_policy_satisfies(courier: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = 'multi(R{"time"}min=? [C], R{"risk"}min=? [C], P>=0.3 [F "late"])'
    assert main(["solve", str(courier), "--property", text]) == 1
    assert "Randomised policies: not achievable" in capsys.readouterr().out
    assert main(["solve", str(courier), "--property", text, "--policies", "deterministic"]) == 2
    assert "a Pareto query is answered for randomised policies" in capsys.readouterr().err


@has_storm
@pytest.mark.parametrize("seed", some(range(40)))
def test_storm_has_the_same_pareto_front(seed: int) -> None:
    model, rng = random_model(seed), np.random.default_rng(20_000 + seed)
    kinds = ['R{"a"}min=? [C]', 'R{"b"}min=? [C]', 'Pmax=? [F "x"]', 'Pmax=? [!"x" U "y"]']
    parts = [kinds[kind] for kind in sorted(rng.choice(4, 2 + seed % 2, replace=False))]
    (query,) = parse_properties(f"multi({', '.join(parts)})")
    labels = {f'"{name}"': mask for name, mask in model.labels.items()}
    labels |= {f"!{name}": ~mask for name, mask in labels.items()}
    question = reduced(replace(model, labels=labels), query)
    front = pareto_front(question, gap=1e-6)
    answer = storm_answer(in_prism(model), f"multi({', '.join(parts)})")
    assert (front.failed is None) == (answer is not None)
    if answer is None:
        assert not front.points
        return
    ours = np.array([[float(question.value(*each)) for each in enumerate(point)] for point in front.points])
    theirs = np.array(storm_points(str(answer)))
    signs = np.array([1.0 if "min" in part else -1.0 for part in parts])
    for weights in signs * rng.dirichlet(np.ones(len(parts)), 20):
        # Storm's precision is 1e-4.
        assert min(ours @ weights) == pytest.approx(min(theirs @ weights), abs=1e-3)


def storm_points(result: str) -> list[list[float]]:
    """The Pareto points that Storm prints."""
    listed = result.partition("Pareto optimal point")[2]
    return [
        [float(each) for each in found.split(",")] for found in re.findall(r"\(([^()]*,[^()]*)\)", listed)
    ]


@has_storm
def test_the_command_decides_a_property(courier: Path, capsys: pytest.CaptureFixture[str]) -> None:
    props = courier.with_suffix(".props")
    props.write_text(
        '"soon": multi(R{"time"}<=4.7500001 [F "there"], R{"risk"}<=0.5 [C]);\n"late": P>=0.9 [F "late"];'
    )
    assert main(["solve", str(courier), "--props", str(props), "--property", "soon", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["property"] == "soon"
    assert document["randomised"]["verdict"] == "achievable"
    assert document["randomised"]["values"] == pytest.approx([4.75, 0.5], abs=1e-6)
    assert document["deterministic"]["verdict"] == "not achievable"
    assert main(["solve", str(courier), "--props", str(props)]) == 2
    assert "name one by --property: 'soon', 'late'" in capsys.readouterr().err
    assert main(["solve", str(courier), "--property", 'R{"time"}max=? [F<=2 "there"]']) == 2
    assert "bounds on the number of steps are not supported" in capsys.readouterr().err
    assert main(["solve", str(courier), "--property", 'P>=0.5 [F "lat"]']) == 2
    assert "there is no label 'lat'; did you mean 'late'?" in capsys.readouterr().err
    assert main(["solve", str(courier), "--property", 'multi(P>=0.5 [F "late"])']) == 0
    text = capsys.readouterr().out
    assert "Randomised policies: not achievable" in text
    assert "which was checked in integers" in text


TIME_AND_LATE = 'multi(R{"time"}<=5 [F "there"], P<=0.125 [F "late"])'


@has_storm
@pytest.mark.parametrize(("kind", "achievable"), [("randomised", True), ("deterministic", False)])
def test_a_verdict_has_a_certificate_that_check_verifies(
    courier: Path, kind: str, achievable: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    proof = courier.with_suffix(".cert")
    asked = ["--property", TIME_AND_LATE]
    assert main(["solve", str(courier), *asked, "--policies", kind, "--certificate", str(proof)]) == 0
    assert "Verify it: hcssp check" in capsys.readouterr().out
    assert main(["check", str(courier), str(proof), *asked, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["verified"]
    assert document["achievable"] is achievable
    assert document["randomised"] is achievable
    if achievable:
        assert document["values"][0] <= 5.0
        assert document["values"][1] <= 0.125
    # Of another property it proves nothing.
    other = TIME_AND_LATE.replace("<=5", "<=3.6" if achievable else "<=7")
    assert main(["check", str(courier), str(proof), "--property", other]) in (1, 2)


@has_storm
def test_a_strict_bound_on_the_edge_has_a_certificate(
    courier: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proof = courier.with_suffix(".cert")
    command = ["--property", 'R{"time"}<3.5 [F "there"]']
    given = ["--policies", "randomised", "--certificate", str(proof)]
    assert main(["solve", str(courier), *command, *given]) == 0
    capsys.readouterr()
    assert main(["check", str(courier), str(proof), *command]) == 0
    assert "Not achievable: no policy keeps these bounds." in capsys.readouterr().out


@has_storm
def test_the_policy_of_a_property_is_a_plan(courier: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = courier.with_suffix(".json")
    asked = ["--property", TIME_AND_LATE]
    assert main(["solve", str(courier), *asked, "--policies", "randomised", "--out", str(plan)]) == 0
    assert main(["evaluate", str(courier), str(plan), *asked, "--json", "--quiet"]) == 0
    evaluated = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert evaluated["constraints"]["time"]["expected"] <= 5.0
    assert main(["simulate", str(courier), str(plan), *asked, "--runs", "100", "--quiet"]) == 0
    assert 'reached "there"' in str(list(load_question(courier, TIME_AND_LATE).problem.state_labels))


@has_storm
def test_what_a_property_leaves_no_room_for_is_refused(
    courier: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["solve", str(courier), "--property", TIME_AND_LATE]
    assert main([*asked, "--bound", "time=3", "--method", "lp"]) == 2
    assert "--bound, --method cannot be combined with it" in capsys.readouterr().err
    assert main([*asked, "--out", "plan.json"]) == 2
    assert "--out: each kind of policies has its own answer" in capsys.readouterr().err
    assert main(["show", str(courier), "--property", TIME_AND_LATE, "--goal", "there"]) == 2
    assert "a property states costs and goal itself" in capsys.readouterr().err


@has_storm
def test_a_reward_until_a_target_out_of_reach_is_not_achievable(courier: Path) -> None:
    question = load_question(courier, 'R{"time"}<=5 [F place=2 & place=3]')
    for answer in answers(question):
        assert answer.achievable is False
        assert answer.certificate is not None
        assert verified(question, answer.certificate).achievable is False


@has_storm
def test_only_what_can_be_reached_is_in_the_product(courier: Path) -> None:
    """Eight targets have 3 ** 8 combinations, of which few occur."""
    parts = ", ".join(f"P>=0 [F place={place}], P>=0 [true U place={place}]" for place in range(4))
    question = load_question(courier, f"multi({parts})")
    assert question.problem.num_states < 10
    assert all(answer.achievable for answer in answers(question))


@pytest.mark.parametrize(
    "bound", ["1e-999999999", "1e999999999", "1e400", "9" * 5000, "(-" * 5000, "1/0", "0x10"]
)
def test_bounds_that_are_no_numbers_are_refused_at_once(bound: str) -> None:
    with pytest.raises(InvalidProblem, match=r"it is not a number|it is not an objective"):
        parse_properties(f'R{{"a"}}<={bound} [C]')


@has_storm
@pytest.mark.parametrize(
    "text",
    [
        TIME_AND_LATE,
        TIME_AND_LATE.replace("<=5", "<=3"),
        'multi(R{"time"}min=? [F "there"], R{"risk"}<=0.5 [C])',
    ],
)
def test_a_changed_certificate_proves_nothing_false(courier: Path, text: str) -> None:
    question = load_question(courier, text)
    answer = decide(question, "randomised")
    sound = answer.certificate or answer.plan.certificate
    truth, rng = verified(question, sound), np.random.default_rng(0)
    refused = 0
    for _ in range(60):
        plan, extra, potentials = sound.plan.copy(), sound.extra, list(sound.potentials)
        if len(plan) and rng.random() < 0.5:
            plan[rng.integers(len(plan))] = rng.integers(-3, 40)
            extra = ((int(rng.integers(-3, 40)), float(rng.normal())),)
        else:
            place = int(rng.integers(len(potentials)))
            values = potentials[place].values * (1.0 + rng.normal(size=len(potentials[place].values)))
            potentials[place] = replace(potentials[place], values=values)
        leaves = tuple((statement, bound * 1.1) for statement, bound in sound.leaves)
        changed = replace(sound, plan=plan, extra=extra, potentials=tuple(potentials), leaves=leaves)
        try:
            found = verified(question, changed)
        except (InvalidCertificate, NotProven):
            refused += 1
            continue
        assert found.achievable is truth.achievable
        assert found.best is None or found.best <= truth.best
    assert refused > 0
