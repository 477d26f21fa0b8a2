"""``hcssp solve --certificate``: whatever the search ends with, its proof is written and can be checked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest

from hcssp.checker import check
from hcssp.cli import main
from hcssp.cli.plans import save_proof
from hcssp.contract.plan import Plan
from hcssp.contract.progress import Progress
from hcssp.contract.proof import Infeasible
from hcssp.contract.solver import Problem
from hcssp.files.certificate import load_certificate
from hcssp.files.problem_file.dumping import dump_problem
from hcssp.proofs.search_record import SearchRecord
from hcssp.reports.verdict_text import certificate_in_words
from hcssp.scenarios import small_building
from hcssp.solving.solve import solve
from known_optima import roads
from small_procedures import forking, retrying


def run(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> Any:
    assert main([*map(str, arguments), "--json", "--quiet"]) == code
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "proof.cert"


def test_the_proof_is_written_and_verified(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    bound = ["--bound", "damage=2"]
    told = run(capsys, "solve", "small-building", *bound, "--certificate", path)
    for more in ([], ["--exact"]):
        seen = run(capsys, "check", "small-building", *bound, path, *more)
        assert seen["status"] == told["status"] == "optimal"
        for end in ("lower_bound", "upper_bound"):
            assert seen[end] == told["certificate"][end] == pytest.approx(told[end], rel=1e-9)
    assert told["certificate"]["file"] == str(path)
    assert told["certificate"]["infeasible"] is False


@pytest.mark.parametrize("problem", [retrying(), forking()], ids=["cycle", "exits"])
def test_a_proof_about_a_file_is_written_and_verified(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, path: Path, problem: Any
) -> None:
    source = tmp_path / "problem.yaml"
    source.write_text(dump_problem(problem), encoding="utf-8")
    told = run(capsys, "solve", source, "--certificate", path, "--gap", "0")
    seen = run(capsys, "check", source, path, "--exact")
    assert seen["lower_bound"] == pytest.approx(told["lower_bound"], rel=1e-9)
    assert seen["upper_bound"] == pytest.approx(told["upper_bound"], rel=1e-9)


def test_in_words_it_says_what_is_proven_and_how_to_check_it(
    capsys: pytest.CaptureFixture[str], path: Path
) -> None:
    assert main(["solve", "small-building", "--bound", "damage=2", "--certificate", str(path), "-q"]) == 0
    printed = capsys.readouterr().out
    assert f"The certificate {path} proves: the best deterministic plan has an expected time of" in printed
    assert printed.endswith(f"Verify it: hcssp check small-building --bound damage=2 {path}\n")


def test_that_there_is_no_plan_is_proven_too(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    bound = ["--bound", "damage=-1"]
    told = run(capsys, "solve", "small-building", *bound, "--certificate", path, code=1)
    assert told["certificate"] == {
        "file": str(path),
        "lower_bound": None,
        "upper_bound": None,
        "infeasible": True,
    }
    assert run(capsys, "check", "small-building", path, *bound)["status"] == "infeasible"
    assert main(["solve", "small-building", *bound, "--certificate", str(path), "--quiet"]) == 1
    assert "proves: no plan keeps the bounds." in capsys.readouterr().out


@pytest.mark.usefixtures("out_of_time")
def test_a_search_without_time_leaves_a_proof_of_what_it_found_out(
    capsys: pytest.CaptureFixture[str], path: Path
) -> None:
    command = [
        "solve",
        "small-building",
        "--bound",
        "damage=2",
        "--time-limit",
        "3600",
        "--certificate",
        path,
    ]
    told = run(capsys, *command, code=1)
    assert told["status"] == "unknown"
    seen = run(capsys, "check", "small-building", path)
    assert seen["status"] == "unknown"
    assert seen["lower_bound"] >= told["lower_bound"] * (1.0 - 1e-9)
    assert main([*map(str, command), "--quiet"]) == 1
    assert "proves: no plan that keeps the bounds has an expected time below" in capsys.readouterr().out


def test_what_a_plan_file_claims_is_no_part_of_the_proof(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, path: Path
) -> None:
    plan = tmp_path / "plan.json"
    common = ["solve", "small-building", "--bound", "damage=2"]
    first = run(capsys, *common, "--out", plan)
    again = run(capsys, *common, "--resume", plan, "--certificate", path, "--out", plan)
    assert again["upper_bound"] == pytest.approx(first["upper_bound"], rel=1e-9)
    seen = run(capsys, "check", "small-building", path)
    assert seen["status"] == "optimal"
    assert seen["lower_bound"] == pytest.approx(first["lower_bound"], rel=2e-6)


@pytest.mark.parametrize("method", ["budget-allocation", "lp", "milp"])
def test_other_methods_write_a_proof_of_what_they_told(
    capsys: pytest.CaptureFixture[str], path: Path, method: str
) -> None:
    command = ["solve", "small-building", "--bound", "damage=2", "--method", method, "--gap", "0.1"]
    told = run(capsys, *command, "--certificate", path)
    seen = run(capsys, "check", "small-building", path)
    assert seen["upper_bound"] == pytest.approx(told["upper_bound"], rel=1e-9)
    assert seen["lower_bound"] >= (1.0 - 1e-6) * told["lower_bound"]
    assert seen["lower_bound"] >= 25.3538


def test_it_says_so_if_the_search_found_more(path: Path) -> None:
    plan = solve(retrying())

    def said(of: Plan) -> str:
        return certificate_in_words(path, save_proof(of, path), of, "mine.yaml")

    assert "found more" not in said(plan)
    forgetful = replace(plan, record=SearchRecord())
    assert "The search found more, 6.749999; that is not in" in said(forgetful)
    none = replace(forgetful, found_policy=None, proof=Infeasible())
    assert "The search found more, that there is none; that is not in" in said(none)


def test_where_it_cannot_be_written_nothing_is_solved(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hcssp.solving.solve.solve", None)
    missing = tmp_path / "missing" / "proof.cert"
    assert main(["solve", "small-building", "--certificate", str(missing), "--quiet"]) == 2
    assert "there is no folder" in capsys.readouterr().err


def test_a_proof_that_cannot_be_made_does_not_take_the_plan_along(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*arguments: object, **options: object) -> None:
        raise RuntimeError("no proof today")

    monkeypatch.setattr("hcssp.solving.proving.certificate_of", failing)
    plan = tmp_path / "plan.json"
    command = ["solve", "small-building", "--bound", "damage=2", "--json", "--quiet"]
    assert main([*command, "--out", str(plan), "--certificate", str(path)]) == 3
    printed = capsys.readouterr()
    assert "a bug in hcssp, not of your input (RuntimeError: no proof today)" in printed.err
    told = json.loads(printed.out)
    assert told["status"] == "optimal"
    assert told["certificate"] is None
    assert plan.exists()
    assert not path.exists()


def test_a_signal_leaves_a_proof_of_what_was_found_out(tmp_path: Path, path: Path) -> None:
    command = ["solve", "evacuation", "--bound", "damage=5", "--gap", "0", "--json", "--verbose"]
    with subprocess.Popen(
        [sys.executable, "-m", "hcssp", *command, "--certificate", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        for line in process.stderr:
            if "incumbent" in line:
                break
        process.send_signal(signal.SIGINT)
        assert "Traceback" not in process.stderr.read()
        told = json.loads(process.stdout.read())
    assert process.returncode == 130
    assert told["stopped_by"] == "interrupted"
    from hcssp.scenarios import evacuation

    verdict = check(evacuation(bound=5.0), load_certificate(path))
    assert verdict.lower_bound >= told["lower_bound"] * (1.0 - 1e-9)
    assert verdict.upper_bound == pytest.approx(told["upper_bound"], rel=1e-9)


class StoppedAtOnce:
    """A solver that is sent a signal before it has told anything."""

    name = "stopped"

    def iterate(self, problem: Problem, context: object) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        yield Progress()


def test_who_stops_before_anything_is_known_is_not_kept_waiting(
    capsys: pytest.CaptureFixture[str], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hcssp.cli.solve.make_solver", lambda *arguments: StoppedAtOnce())
    assert main(["solve", "small-building", "--certificate", str(path), "--quiet"]) == 130
    assert f"No certificate is written to {path}" in capsys.readouterr().out
    assert not path.exists()


def test_from_the_library(path: Path) -> None:
    import hcssp

    plan = hcssp.solve(roads(damage=4.0))
    plan.save_certificate(path)
    verdict = hcssp.check(plan.problem, hcssp.load_certificate(path))
    assert (verdict.lower_bound, verdict.upper_bound) == (6.0, 6.0)
    with pytest.raises(hcssp.errors.InvalidCertificate, match="for the bounds"):
        hcssp.check(roads(damage=3.0), plan.certificate)
    with pytest.raises(hcssp.errors.InvalidCertificate, match="for the bounds"):
        hcssp.check(small_building(2.0), plan.certificate)
    assert plan.certificate.upper_bound < inf
