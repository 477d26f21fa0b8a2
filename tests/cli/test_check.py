from __future__ import annotations

import json
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hcssp.cli import main
from hcssp.files.certificate import load_certificate, save_certificate
from hcssp.files.problem_file.dumping import dump_problem
from hcssp.procedure import HCSSP
from proof_search import searched
from small_procedures import retrying

PROBLEM = retrying()
PROOF = searched(PROBLEM)


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("problems") / "retrying.yaml"
    path.write_text(dump_problem(PROBLEM), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("proofs") / "proof.cert"
    save_certificate(path, PROOF.certificate)
    return str(path)


def saved(folder: Path, problem: HCSSP = PROBLEM, **changes: Any) -> str:
    path = folder / "other.cert"
    save_certificate(path, replace(searched(problem).certificate, **changes))
    return str(path)


def checked(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    assert main(["check", *arguments, "--json", "--quiet"]) == code
    printed = capsys.readouterr()
    assert printed.err == ""
    return json.loads(printed.out)


def test_a_proof_is_verified(capsys: pytest.CaptureFixture[str], problem: str, proof: str) -> None:
    answers = [checked(capsys, problem, proof, *more) for more in ([], ["--exact"])]
    for answer, arithmetic in zip(answers, ["double precision and integers", "integers"], strict=True):
        assert answer["verified"] is True
        assert answer["status"] == "optimal"
        assert answer["arithmetic"] == arithmetic
        assert answer["bounds"] == {"damage": 2.0, "damage-at-last": None}
        assert PROOF.optimum * (1.0 - 1e-6) <= answer["lower_bound"] <= PROOF.optimum <= answer["upper_bound"]
        assert answer["costs"]["time"] == pytest.approx(PROOF.optimum)
        assert answer["costs"]["damage"] <= 2.0 + 3e-9
        assert answer["leaves"] == len(PROOF.certificate.leaves)
        assert answer["potentials"] == len(PROOF.certificate.potentials)
    assert answers[0]["rows_decided_in_integers"] <= answers[1]["rows_decided_in_integers"]


def test_a_proof_in_words(capsys: pytest.CaptureFixture[str], problem: str, proof: str) -> None:
    assert main(["check", problem, proof]) == 0
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [f"reading {problem}", f"checking {proof}"]
    title, lower, upper, *others, counts = printed.out.splitlines()
    assert title == f"{proof}, a proof about {problem} under damage at most 2: verified"
    assert lower.startswith("  no plan that keeps these bounds has an expected time below 6.7")
    assert upper.startswith("  its plan has an expected time of at most 6.75")
    assert others == ["  therefore its plan is optimal"]
    assert "potentials" in counts
    assert main(["check", problem, proof, "--exact", "--quiet"]) == 0
    assert "all rows in integers" in capsys.readouterr().out


def test_a_proof_that_there_is_no_plan(
    capsys: pytest.CaptureFixture[str], problem: str, tmp_path: Path
) -> None:
    hopeless = PROBLEM.with_bounds({"damage": -1.0})
    path = saved(tmp_path, hopeless)
    answer = checked(capsys, problem, path, "--bound", "damage=-1")
    assert (answer["verified"], answer["status"]) == (True, "infeasible")
    assert (answer["lower_bound"], answer["upper_bound"], answer["costs"]) == (None, None, {})
    assert main(["check", problem, path, "--bound", "damage=-1", "--quiet"]) == 0
    assert "  no plan keeps these bounds\n" in capsys.readouterr().out


def test_an_interrupted_search(capsys: pytest.CaptureFixture[str], problem: str, tmp_path: Path) -> None:
    loose = PROBLEM.with_bounds({"damage": 9.0})
    path = tmp_path / "part.cert"
    save_certificate(path, searched(loose, max_nodes=1).certificate)
    assert checked(capsys, problem, str(path), "--bound", "damage=9")["status"] == "feasible"
    unplanned = replace(
        load_certificate(path), plan=np.zeros(0, np.int64), upper_bound=inf, plan_statements=()
    )
    save_certificate(path, unplanned)
    assert checked(capsys, problem, str(path), "--bound", "damage=9")["status"] == "unknown"
    assert main(["check", problem, str(path), "--bound", "damage=9", "--quiet"]) == 0
    assert "its plan" not in capsys.readouterr().out


def test_a_proof_that_fails_says_where(
    capsys: pytest.CaptureFixture[str], problem: str, tmp_path: Path
) -> None:
    leaves = tuple((number, bound + 0.5) for number, bound in PROOF.certificate.leaves)
    path = saved(tmp_path, leaves=leaves)
    answer = checked(capsys, problem, path, code=1)
    assert answer["verified"] is False
    assert answer["reason"].startswith("leaf ")
    assert "lower_bound" not in answer
    assert main(["check", problem, path, "--quiet"]) == 1
    title, reason = capsys.readouterr().out.splitlines()
    assert title.endswith("under damage at most 2: NOT verified")
    assert reason == f"  {answer['reason']}"


def test_what_cannot_be_read_is_exit_code_2(
    capsys: pytest.CaptureFixture[str], problem: str, proof: str, tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged.cert"
    damaged.write_bytes(Path(proof).read_bytes()[:-5])
    cases = {
        (problem, str(damaged)): "damaged.cert: it is not a certificate, or it is damaged: it is cut off",
        (problem, str(tmp_path / "none.cert")): "none.cert: No such file or directory",
        (problem, str(tmp_path)): "Is a directory",
        (problem, problem): "it does not begin with",
        ("small-building", proof): "proof.cert: it is for the bounds",
        (
            problem,
            proof,
            "--bound",
            "damage=3",
        ): r"it is for the bounds (2.0, inf), not for (3.0, inf)",
        (problem, proof, "--bound", "smoke=3"): "there is no constraint 'smoke'",
    }
    for arguments, message in cases.items():
        assert main(["check", *arguments, "--quiet"]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert message in printed.err


def test_bounds_can_be_insisted_on(capsys: pytest.CaptureFixture[str], problem: str, proof: str) -> None:
    assert checked(capsys, problem, proof, "--bound", "damage=2")["verified"]


def test_costs_are_rounded_upwards(capsys: pytest.CaptureFixture[str], problem: str, proof: str) -> None:
    answer = checked(capsys, problem, proof)
    plan = PROOF.certificate.plan_statements
    start = PROOF.builder.layout.flattening.start
    exact = [-PROOF.certificate.statements[number].events[start] for number in plan]
    assert all(np.array(list(answer["costs"].values())) >= exact)
