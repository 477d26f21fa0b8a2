"""``--jobs`` and ``--scheduler``."""

from __future__ import annotations

import json

import pytest

from hcssp.cli import main
from hcssp.methods import parallel_search
from hcssp.workers import Workers

pytestmark = pytest.mark.slow


def test_two_processes_prove_what_one_does(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    eager = parallel_search.ParallelParameters(alone_seconds=0.0, alone_nodes=1)
    monkeypatch.setattr(parallel_search, "DEFAULT_PARAMETERS", eager)
    # The search would be over before a process is there.
    honest = Workers.warm_up
    monkeypatch.setattr(Workers, "warm_up", lambda *given: [each for each in honest(*given) if each.result()])
    assert main(["solve", "small-building", "--json", "--verbose"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert main(["solve", "small-building", "--json", "--verbose", "--jobs", "2"]) == 0
    captured = capsys.readouterr()
    together = json.loads(captured.out)
    assert together["upper_bound"] == pytest.approx(alone["upper_bound"], rel=1e-9)
    assert together["status"] == alone["status"] == "optimal"
    assert "2 workers" in captured.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--jobs", "2", "--scheduler", "tcp://localhost:8786"], "--jobs and --scheduler: give one of them"),
        (["--jobs", "2", "--method", "milp"], "the method 'milp' works in one process; use exact"),
        (["--jobs", "0"], "argument --jobs"),
        (["--jobs", "99999999999"], "more processes than a machine runs"),
        (["--bound", "damage=1e999"], "1e999 is too large for a number"),
    ],
)
def test_what_makes_no_sense_is_refused(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(["solve", "small-building", *options])
    except SystemExit as error:
        code = int(error.code or 0)
    assert code == 2
    assert said in capsys.readouterr().err
