"""Models that are too large to be read: limits and signals end the command while Storm works."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hcssp.cli import main
from running_processes import assert_gone, attempts

COUNTER = """mdp
const int N;
module counter
  x : [0..N] init 0;
  y : [0..N] init 0;
  [right] x<N -> 0.9 : (x'=x+1) + 0.1 : true;
  [up] y<N -> 0.8 : (y'=y+1) + 0.2 : true;
endmodule
label "done" = x=N & y=N;
rewards "time"
  [right] true : 1;
  [up] true : 2;
endrewards
"""
PROPERTY = ["--property", 'R{"time"}min=? [F "done"]']
ENDLESS = ["--constants", "N=100000"]
GROWTH = 5_000
"""The pages of memory by which a process grows while Storm builds."""


@pytest.fixture
def counter(tmp_path: Path) -> str:
    pytest.importorskip("stormpy", reason="pip install 'hcssp[storm]' to test models of PRISM and JANI")
    path = tmp_path / "counter.prism"
    path.write_text(COUNTER, encoding="utf-8")
    return str(path)


def command(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "hcssp", "solve", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("asked", [["--goal", "done"], PROPERTY])
def test_a_model_with_more_states_is_refused(
    asked: list[str], counter: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", counter, *ENDLESS, *asked, "--max-states", "1000"]) == 2
    assert f"{counter}: it has more than 1,000 states" in capsys.readouterr().err
    # N = 4 has 25 states.
    small = [counter, "--constants", "N=4", *asked, "--quiet"]
    assert main(["solve", *small, "--max-states", "25"]) == 0
    assert main(["solve", *small, "--max-states", "24"]) == 2


def test_a_file_of_states_with_more_of_them_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import hcssp

    hcssp.to_drn(hcssp.small_building(), tmp_path / "building.drn")
    assert main(["solve", str(tmp_path / "building.drn"), "--max-states", "5"]) == 2
    assert "more than 5 states" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("asked", [["--goal", "done"], PROPERTY], ids=["problem", "property"])
@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_a_signal_ends_the_command_while_storm_builds(
    sent: signal.Signals, code: int, asked: list[str], counter: str
) -> None:
    with command(counter, *ENDLESS, *asked) as process:
        children: list[int] = []
        sizes: list[int] = []
        for _ in attempts():
            tasks = Path(f"/proc/{process.pid}/task/{process.pid}/children")
            children = list(map(int, tasks.read_text(encoding="utf-8").split()))
            if children:
                statistics = Path(f"/proc/{children[0]}/statm").read_text(encoding="utf-8")
                sizes.append(int(statistics.split()[1]))
                if sizes[-1] - sizes[0] > GROWTH:
                    break
        process.send_signal(sent)
        _, told = process.communicate(timeout=300)
    assert process.returncode == code
    assert "Traceback" not in told
    assert_gone(children)


@pytest.mark.slow
@pytest.mark.parametrize("asked", [["--goal", "done"], PROPERTY], ids=["problem", "property"])
def test_the_time_limit_ends_the_command_while_storm_builds(asked: list[str], counter: str) -> None:
    with command(counter, *ENDLESS, *asked, "--time-limit", "2", "--json") as process:
        answer, told = process.communicate(timeout=300)
    assert process.returncode == 1
    assert "time limit" in json.loads(answer)["message"]
    assert "time limit" in told
    assert "Traceback" not in told


@pytest.mark.slow
def test_what_is_wrong_is_said_by_the_command_and_not_by_its_child(counter: str) -> None:
    with command(counter, "--goal", "nowhere", "--constants", "N=2") as process:
        _, told = process.communicate(timeout=300)
    assert process.returncode == 2
    assert told.count("nowhere") >= 1
    assert "Traceback" not in told
