"""A certificate turns what a plan's file claims into what was verified, or is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hcssp.cli import main
from hcssp.contract.proof import Interval, Status
from hcssp.errors import InvalidCertificate, NotProven
from hcssp.files.certificate import save_certificate, verified_plan
from hcssp.files.fingerprint import fingerprint
from hcssp.files.plan_file import load_plan
from hcssp.files.problem_file.dumping import dump_problem
from hcssp.reports.plan_text import quality_of, what_is_proven
from hcssp.scenarios import small_building
from hcssp.solving.solve import solve
from hcssp.version import __version__
from known_optima import roads
from proof_search import searched
from small_procedures import retrying

PROBLEM = retrying()
PLAN = solve(PROBLEM)
PROOF = searched(PROBLEM).certificate


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A problem, a plan for it, and the proof that it is the best."""
    (tmp_path / "problem.yaml").write_text(dump_problem(PROBLEM), encoding="utf-8")
    PLAN.save(tmp_path / "plan.json")
    save_certificate(tmp_path / "proof.cert", PROOF)
    return tmp_path


def lowered(certificate: Any) -> Any:
    """A certificate that claims more than it proves."""
    statement, bound = certificate.leaves[0]
    return replace(certificate, leaves=((statement, bound + 1.0), *certificate.leaves[1:]))


@pytest.mark.parametrize("exact", [False, True])
def test_what_a_certificate_proves_is_verified(folder: Path, exact: bool) -> None:
    claimed = load_plan(folder / "plan.json", PROBLEM)
    assert claimed.status is Status.FEASIBLE
    verified = claimed.verified(folder / "proof.cert", exact=exact)
    assert verified.status is Status.OPTIMAL
    assert verified.lower_bound <= PLAN.upper_bound <= verified.upper_bound
    assert verified.gap <= 1e-6
    assert isinstance(verified.proof, Interval)
    by = verified.proof.verification
    assert by is not None
    assert (by.certificate, by.exact, by.version) == ("proof.cert", exact, __version__)
    assert by.fingerprint == fingerprint(PROBLEM)
    assert quality_of(verified) == "verified optimal"
    how = "in integers throughout" if exact else "in outward-rounded arithmetic"
    words = what_is_proven(verified)
    assert words.startswith("Verified: the best deterministic plan has an expected")
    assert words.endswith(f"for problem {by.fingerprint[:12]}, {how}.")
    assert "Verified\n  the best deterministic plan" in str(verified)
    # A search may rely on it.
    assert solve(PROBLEM, start=verified).iterations == 0


def test_a_flat_plan_is_verified(tmp_path: Path) -> None:
    problem = roads(damage=4.0)
    save_certificate(tmp_path / "proof.cert", searched(problem).certificate)
    assert solve(problem, stop=()).verified(tmp_path / "proof.cert").status is Status.OPTIMAL


def test_what_is_not_proven_is_refused(folder: Path) -> None:
    save_certificate(folder / "proof.cert", lowered(PROOF))
    with pytest.raises(NotProven, match=r"proof\.cert: leaf 0: it claims"):
        PLAN.verified(folder / "proof.cert")


def test_another_problem_other_bounds_another_plan(folder: Path) -> None:
    other = roads(damage=4.0)
    with pytest.raises(InvalidCertificate, match=r"proof\.cert: it is for the bounds"):
        verified_plan(solve(other), folder / "proof.cert")
    looser = PROBLEM.with_bounds(damage=9.0)
    with pytest.raises(InvalidCertificate, match=r"proof\.cert: it is for the bounds"):
        verified_plan(solve(looser), folder / "proof.cert")
    with pytest.raises(InvalidCertificate, match=r"proof\.cert: it is about another plan, or about none"):
        verified_plan(solve(looser).under(PROBLEM), folder / "proof.cert")
    nothing = replace(PROOF, plan=np.zeros(0, np.int64), plan_statements=(), upper_bound=inf)
    save_certificate(folder / "proof.cert", nothing)
    with pytest.raises(InvalidCertificate, match="it is about another plan, or about none"):
        verified_plan(PLAN, folder / "proof.cert")


def told(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> Any:
    assert main([*map(str, arguments), "--json", "--quiet"]) == code
    return json.loads(capsys.readouterr().out)


def test_evaluate_calls_a_claim_a_claim_and_a_proof_verified(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["evaluate", folder / "problem.yaml", folder / "plan.json"]
    claimed = told(capsys, *arguments)
    assert claimed["verified"] is None
    assert claimed["claimed"]["lower_bound"] == pytest.approx(PLAN.lower_bound)
    verified = told(capsys, *arguments, "--certificate", folder / "proof.cert", "--exact")["verified"]
    assert verified["status"] == "optimal"
    assert verified["lower_bound"] <= PLAN.upper_bound <= verified["upper_bound"]
    assert (verified["certificate"], verified["exact"]) == ("proof.cert", True)
    assert main([*map(str, arguments), "--certificate", str(folder / "proof.cert"), "-q"]) == 0
    printed = capsys.readouterr().out
    assert "(a claim, not checked here)" not in printed
    assert "Verified\n  the best deterministic plan has" in printed


def page_of(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    return data


def test_a_report_says_verified_or_claimed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = folder / "report.html"
    arguments = ["report", folder / "problem.yaml", folder / "plan.json", "--out", page, "--points", 0]
    answer = told(capsys, *arguments)
    assert (answer["status"], answer["lower_bound"], answer["verified"]) == ("feasible", None, None)
    assert answer["claimed_lower_bound"] == pytest.approx(PLAN.lower_bound)
    (shown,) = page_of(page)["plans"]
    assert (shown["limit"], shown["claimed"]) == (None, pytest.approx(PLAN.lower_bound))
    assert "claimed, not checked" in shown["brief"]
    assert shown["words"][1].startswith("The plan's file claims that no deterministic plan")
    assert page_of(page)["historyWord"] == "claimed"
    assert page_of(page)["stopped"].startswith("According to the file, the search (method exact) ended")

    answer = told(capsys, *arguments, "--certificate", folder / "proof.cert")
    assert answer["status"] == "optimal"
    assert answer["verified"]["fingerprint"] == fingerprint(PROBLEM)
    (shown,) = page_of(page)["plans"]
    assert shown["word"] == "verified"
    assert "verified optimal" in shown["brief"]
    assert shown["words"][1].startswith("Verified: the best deterministic plan has")


def test_what_the_page_itself_proves_is_proven_whatever_the_file_claims(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = folder / "report.html"
    told(capsys, "report", folder / "problem.yaml", folder / "plan.json", "--out", page, "--points", 3)
    data = page_of(page)
    shown = data["plans"][data["reported"]]
    assert shown["limit"] == pytest.approx(PLAN.upper_bound, rel=1e-3)
    assert "proven within" in shown["brief"] or "proven optimal" in shown["brief"]


@pytest.mark.parametrize("command", ["evaluate", "report"])
def test_a_certificate_that_proves_nothing_makes_no_page(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    page = folder / "report.html"
    arguments = [command, str(folder / "problem.yaml"), str(folder / "plan.json"), "-q"]
    if command == "report":
        arguments += ["--out", str(page), "--points", "0"]
    save_certificate(folder / "wrong.cert", lowered(PROOF))
    assert main([*arguments, "--certificate", str(folder / "wrong.cert")]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "hcssp: not verified: " in printed.err
    assert "wrong.cert: leaf 0: it claims" in printed.err
    save_certificate(folder / "other.cert", searched(roads(damage=4.0)).certificate)
    (folder / "broken.cert").write_bytes(b"hello")
    for name, message in (
        ("other.cert", "it is for the bounds"),
        ("broken.cert", "it is not a certificate"),
        ("none.cert", "No such file"),
    ):
        assert main([*arguments, "--certificate", str(folder / name)]) == 2
        assert message in capsys.readouterr().err
    assert not page.exists()


def test_a_certificate_needs_a_plan(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["report", str(folder / "problem.yaml"), "--certificate", str(folder / "proof.cert"), "-q"]
    assert main([*arguments, "--out", str(folder / "report.html")]) == 2
    assert "--certificate: name the PLAN that it is about" in capsys.readouterr().err


def test_a_bound_on_deterministic_plans_proves_nothing_of_all_policies(tmp_path: Path) -> None:
    """A search for randomised plans may have found a deterministic one only."""
    best = solve(small_building(2.0))
    save_certificate(tmp_path / "proof.cert", best.certificate)
    verified = replace(best, policies="randomised").verified(tmp_path / "proof.cert")
    assert verified.policies == "deterministic"
    randomised = solve(small_building(2.0), policies="randomised")
    save_certificate(tmp_path / "proof.cert", randomised.certificate)
    assert randomised.verified(tmp_path / "proof.cert").policies == "randomised"
