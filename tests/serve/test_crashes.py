"""Workers that are killed, hang or take too much memory, and a server that is killed: nothing is lost."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest

from running_processes import assert_gone, attempts
from serve_client import SMALL, Client, running, running_with, workers_of

pytestmark = pytest.mark.slow

# A room of four million cells, which takes more than a gigabyte to read.
HUGE = SMALL.replace("    grid:\n", "    grid:\n      width: 2000\n      height: 2000\n").replace(
    SMALL[SMALL.index("      map: |") : SMALL.index("constraints:")],
    "    start: [1, 1]\n    goal: [9, 9]\n\n",
)

STRICTER = {"operations": [{"op": "set", "path": ["constraints", "damage", "at_most"], "value": 1}]}


def worker_of(client: Client, session: str) -> int:
    """The worker of the only session: the process that was started first."""
    return min(workers_of(client))


def test_a_worker_that_is_killed_is_replaced(tmp_path: Path) -> None:
    with running(tmp_path) as client:
        session, _ = client.begin(text=SMALL)
        first = client.planned(session)
        worker = worker_of(client, session)
        events = client.events(session)
        assert next(events)[0] == "state"
        os.kill(worker, signal.SIGKILL)
        words = next(data["words"] for event, data in events if event == "worker")
        assert "exit code -9" in words
        state = client.post(f"{session}/edit", STRICTER)
        assert state["text"] == SMALL.replace("at_most: 2", "at_most: 1")
        assert client.planned(session)["own"] > first["own"]
        # The plan that the dead worker has found is known to the new one.
        comparison = client.post(f"{session}/ask/compare", {"first": first["plan"], "second": first["plan"]})
        assert comparison["costs"][0]["first"] == pytest.approx(first["own"])
        assert worker not in workers_of(client)


def test_a_worker_that_hangs_is_replaced(tmp_path: Path) -> None:
    with running_with(tmp_path, grace_seconds=5.0) as client:
        session, _ = client.begin(text=SMALL)
        client.planned(session)
        worker = worker_of(client, session)
        os.kill(worker, signal.SIGSTOP)
        state = client.post(f"{session}/edit", STRICTER)
        assert (state["valid"], state["undo"]) == (True, 1)
        assert_gone([worker])


def test_edits_give_questions_up_and_leave_the_worker_alone(tmp_path: Path) -> None:
    """Whenever an edit comes: before a question is begun, in the middle, or while its answer is sent."""
    draw = random.Random(0)
    with running(tmp_path) as client:
        session, _ = client.begin(text=SMALL)
        client.planned(session)
        workers = workers_of(client)
        question = (f"{session}/ask/simulate", {"runs": 200})
        for step in range(60):
            asking = threading.Thread(target=client.call, args=("POST", *question))
            asking.start()
            time.sleep(draw.random() * 0.05)
            bound = {"op": "set", "path": ["constraints", "damage", "at_most"], "value": 2 + step}
            assert client.post(f"{session}/edit", {"operations": [bound]})["revision"] == step + 2
            asking.join()
        assert workers_of(client) == workers


def test_a_worker_without_memory_ends_alone(tmp_path: Path) -> None:
    with running_with(tmp_path, worker_bytes=5e8) as client:
        session, _ = client.begin(text=SMALL)
        client.planned(session)
        status, answer = client.call("POST", f"{session}/edit", {"text": HUGE})
        assert (status, "more memory than it may" in answer["error"]) == (503, True)
        state = client.get(session)
        assert (state["text"], state["revision"]) == (SMALL, 1)
        assert client.post(f"{session}/edit", STRICTER)["valid"]
        assert client.planned(session)["complete"]


def test_a_search_ends_when_memory_runs_short(tmp_path: Path) -> None:
    with running_with(tmp_path, search_bytes=1.0, gap=0.0) as client:
        session, _ = client.begin(text=SMALL)
        assert "memory" in client.ended(session)["words"]


def test_a_session_outlives_its_server(tmp_path: Path) -> None:
    with running(tmp_path) as client:
        session, _ = client.begin(text=SMALL, name="the room")
        client.post(f"{session}/edit", STRICTER)
        plan = client.planned(session)
        processes = workers_of(client)
        for _ in attempts():
            # The plan is saved a moment after it is announced.
            if '"complete": true' in next((tmp_path / ".hcssp" / "sessions").iterdir()).read_text():
                break
        client.process.kill()
        client.process.wait()
        assert_gone(processes)
    with running(tmp_path) as client:
        (listed,) = client.get("/api/catalogue")["sessions"]
        assert (listed["name"], listed["open"]) == ("the room", False)
        state = client.get(session)
        assert state["text"] == SMALL.replace("at_most: 2", "at_most: 1")
        (head,) = state["plans"]
        assert (head["own"], head["current"]) == (plan["own"], True)
        assert [state["search"][key] for key in ("status", "own")] == ["done", plan["own"]]
        assert client.post(f"{session}/run", {})["plan"] == plan["plan"]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_everything(tmp_path: Path, sent: signal.Signals) -> None:
    with running(tmp_path) as client:
        client.begin(text=SMALL)
        processes = workers_of(client)
        assert processes
        client.process.send_signal(sent)
        assert client.process.wait() == 130
        assert_gone(processes)
        assert client.process.stderr is not None
        assert "Traceback" not in client.process.stderr.read()


def test_the_session_that_was_idle_longest_makes_room(tmp_path: Path) -> None:
    with running_with(tmp_path, sessions=2) as client:
        sessions = [client.begin(text=SMALL)[0] for _ in range(2)]
        for session in sessions:
            client.planned(session)
        client.get(sessions[0])
        client.begin(text=SMALL)
        listed = {each["session"]: each["open"] for each in client.get("/api/catalogue")["sessions"]}
        assert [listed[session.rpartition("/")[2]] for session in sessions] == [True, False]
        assert client.get(sessions[1])["text"] == SMALL
