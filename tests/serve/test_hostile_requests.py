"""Hostile requests are refused, and whatever they ask for, the next honest one is served."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from running_processes import HANG_GUARD, attempts
from serve_client import SMALL, Client, running, running_with, workers_of

pytestmark = pytest.mark.slow

JSON = {"Content-Type": "application/json"}
TRAVERSALS = [
    "../secret.yaml",
    "/etc/passwd",
    "..\\secret.yaml",
    "a/../../secret.yaml",
    "link.yaml",
    "C:/x.yaml",
    "",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    above = tmp_path_factory.mktemp("above")
    (above / "secret.yaml").write_text(SMALL)
    (above / "secret.csv").write_text("state,action,next,probability\na,b,c,1\n")
    made = above / "project"
    made.mkdir()
    (made / "link.yaml").symlink_to(above / "secret.yaml")
    (made / "out.yaml").symlink_to(above / "written.yaml")
    (made / "link.csv").symlink_to(above / "secret.csv")
    return made


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Client]:
    with running(folder) as found:
        yield found


@pytest.fixture(scope="module")
def session(client: Client) -> str:
    made, _ = client.begin(text=SMALL)
    client.planned(made)
    return made


def refused(client: Client, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> str:
    """The message of a refusal; every answer has the headers that protect."""
    status, content, given = client.raw(method, path, body, headers)
    assert 400 <= status < 500, (method, path, body and body[:100], content)
    assert given["content-security-policy"].startswith("default-src 'none'")
    assert given["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in given
    return str(json.loads(content)["error"])


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:80"},
        {"Host": "localhost.evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": ""},
        {"Host": "[::1"},
        {"Host": "192.168.1.7"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "file://"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/api/catalogue", "/api/sessions/{}/events", "/page/index.html"])
def test_requests_for_others_and_from_others(
    client: Client, session: str, headers: dict[str, str], path: str
) -> None:
    path = path.format(session.rpartition("/")[2])
    assert "serve" in (why := refused(client, "GET", path, None, headers)) or "other sites" in why


def test_a_page_of_another_site_may_open_the_planner_and_no_more(client: Client) -> None:
    opened = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert client.raw("GET", "/", None, opened)[0] == 200
    assert "other sites" in refused(client, "GET", "/", None, {"Sec-Fetch-Site": "cross-site"})
    same = {"Origin": f"http://{client.address}", "Sec-Fetch-Site": "same-origin"}
    assert client.raw("GET", "/api/catalogue", None, same)[0] == 200


@pytest.mark.parametrize(
    "kind",
    [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/json"],
)
def test_a_form_of_another_site_cannot_edit(client: Client, session: str, kind: str | None) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    assert "send JSON" in refused(client, "POST", f"{session}/edit", b'{"text": ""}', headers)


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "TRACE", "PROPFIND"])
def test_other_methods(client: Client, method: str) -> None:
    assert "not used here" in refused(client, method, "/api/catalogue", None, {})


@pytest.mark.parametrize(
    "path",
    [
        *("/../../etc/passwd", "/page/../sessions.py", "/page/..%2fsessions.py", "/page/%2e%2e%2fapp.py"),
        *(
            "/page/",
            "/page/app.py",
            "/page/__init__.py",
            "/page//etc/passwd",
            "/page/%00",
            "//evil.example/x",
        ),
        *("/api/sessions/..%2f..%2fx", "/api/sessions/0123456789abcdef", "/api/sessions/ABC", "/api/nothing"),
        *("/api/sessions/%ff", "/api/" + "x" * 5000, "/.hcssp/sessions", "/page/" + "a/" * 100),
    ],
)
def test_paths_that_lead_elsewhere(client: Client, path: str) -> None:
    refused(client, "GET", path, None, {})


@pytest.mark.parametrize("plan", ["0", "-1", "x", "1e9", "9" * 30, "%F0%9F%98%80", "%D9%A1"])
def test_plans_that_are_none(client: Client, session: str, plan: str) -> None:
    assert "there is no plan" in refused(client, "GET", f"{session}/plans/{plan}", None, {})


BODIES: list[bytes] = [
    *(
        b"",
        b"{",
        b"[]",
        b"null",
        b'"x"',
        b"\xff\xfe",
        b"{]",
        b'{"text": 1}',
        b'{"text": null}',
        b'{"text": []}',
    ),
    *(b'{"text": "a", "text2": 1}', b'{"operations": {}}', b'{"operations": [1]}', b'{"operations": []}'),
    *(b'{"operations": [{"op": "eval", "path": ["a"], "value": 1}]}', b'{"text": "\\ud800"}'),
    *(b'{"operations": [{"op": "set", "path": [1.5], "value": 1}]}', b'{"revision": 1e999, "text": ""}'),
    *(b'{"operations": [{"op": "set", "path": ["costs"]}]}', b'{"revision": NaN, "text": ""}'),
    *(b'{"operations": [{"op": "rename", "path": ["costs"]}]}', b'{"text": "", "revision": true}'),
    *(b'{"operations": [{"op": "set", "path": ["a", "b"], "value": 1}]}', b'{"text": "", "revision": 77}'),
    b'{"operations": [{"op": "set", "path": ["costs"], "value": ' + b"9" * 5000 + b"}]}",
    b'{"operations": [{"op": "set", "path": ["costs"], "value": ' + b"[" * 900 + b"]" * 900 + b"}]}",
    b"[" * 100_000,
    b'{"operations": [' + b",".join([b'{"op": "delete", "path": ["x"]}'] * 5001) + b"]}",
]


@pytest.mark.parametrize("number", range(len(BODIES)))
def test_bodies_that_are_no_edits(client: Client, session: str, number: int) -> None:
    refused(client, "POST", f"{session}/edit", BODIES[number], JSON)
    assert client.get(session)["text"] == SMALL


@pytest.mark.parametrize(
    "text", ["!!python/object/apply:os.system ['touch x']", "a: &a [*a]", "\x00", "\t- x", "{" * 5000]
)
def test_texts_that_are_no_problems_are_kept_with_their_mistakes(client: Client, text: str) -> None:
    made, state = client.begin(text=text)
    assert state["errors"]
    assert state["drawing"] is None
    assert client.call("DELETE", made)[0] == 200


def test_a_text_that_repeats_itself_is_refused_by_its_size(client: Client) -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    made, state = client.begin(text="\n".join(levels))
    assert "values" in state["errors"][0]["message"]
    client.call("DELETE", made)


@pytest.mark.parametrize("name", TRAVERSALS)
def test_files_outside_of_the_folder_are_not_read(client: Client, name: str) -> None:
    body = json.dumps({"file": name}).encode()
    refused(client, "POST", "/api/sessions", body, JSON)
    refused(client, "POST", "/api/places", json.dumps({"site": name}).encode(), JSON)


@pytest.mark.parametrize("name", ["../secret.csv", "/secret.csv", "link.csv", ".hcssp/../../secret.csv"])
def test_a_problem_names_no_file_outside_of_the_folder(client: Client, name: str) -> None:
    activity = f"activities:\n  a: {{file: {name}, start: a, goal: c}}\n"
    text = f"format: hcssp-problem\nversion: 1\ncosts: [t]\n{activity}"
    made, state = client.begin(text=text)
    assert "folder" in state["errors"][0]["message"]
    client.call("DELETE", made)


@pytest.mark.parametrize(
    "name",
    [
        *TRAVERSALS,
        "out.yaml",
        ".hidden.yaml",
        "x.py",
        "x",
        "none/x.yaml",
        "x.yaml\n",
        "x\0.yaml",
        "a/.git/x.yaml",
    ],
)
def test_nothing_is_written_outside_of_the_folder(
    client: Client, session: str, folder: Path, name: str
) -> None:
    before = sorted(folder.parent.rglob("*"))
    body = json.dumps({"what": "problem", "file": name, "replace": True}).encode()
    refused(client, "POST", f"{session}/save", body, JSON)
    assert sorted(folder.parent.rglob("*")) == before
    assert (folder.parent / "secret.yaml").read_text() == SMALL


def test_names_with_scripts_stay_texts(client: Client) -> None:
    script = "</script><script>alert(1)</script>"
    made, state = client.begin(text=SMALL.replace("cross:", f'"{script}":'), name=script)
    assert state["valid"]
    head = client.planned(made)
    status, report, headers = client.raw("POST", f"{made}/plans/{head['plan']}/report", b"{}", JSON)
    assert status == 200
    assert script.encode() not in report
    assert headers["content-security-policy"] == "sandbox"
    disposition = client.raw("GET", f"{made}/problem?download=1")[2]["content-disposition"]
    assert "<" not in disposition
    assert '"' not in disposition.removeprefix('attachment; filename="').removesuffix('"')


def test_large_requests(client: Client, session: str) -> None:
    assert "larger than" in refused(client, "POST", f"{session}/edit", b" " * 10_000_000, JSON)
    with socket.create_connection(client.address.split(":")) as stream:
        # A length that is not true, and a body that does not end.
        head = f"POST {session}/edit HTTP/1.1\r\nHost: {client.address}\r\nContent-Type: application/json\r\n"
        stream.sendall(f"{head}Content-Length: {10**18}\r\n\r\n".encode() + b"x" * 1000)
        assert b" 413 " in stream.recv(1000)
    with socket.create_connection(client.address.split(":")) as stream:
        stream.sendall(b"GET / HTTP/1.1\r\nX: " + b"y" * 200_000)
        assert b" 400 " in stream.recv(1000)


@pytest.mark.parametrize(
    "sent",
    [
        *(b"\x16\x03\x01\x02\x00", b"GET\r\n\r\n", b"\x00" * 100, b"GET / HTTP/9.9\r\n\r\n"),
        *(b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nzzz\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nOrigin: http://x\r\n\r\n",
    ],
)
def test_what_is_no_request(client: Client, sent: bytes) -> None:
    with socket.create_connection(client.address.split(":")) as stream:
        stream.settimeout(HANG_GUARD)
        stream.sendall(sent)
        assert stream.recv(100).startswith((b"HTTP/1.1 400", b"HTTP/1.1 403"))


def test_after_all_that_the_session_is_as_before(client: Client, session: str, folder: Path) -> None:
    state = client.get(session)
    assert (state["text"], state["revision"]) == (SMALL, 1)
    assert client.post(f"{session}/ask/simulate", {"runs": 10})["outlook"]["runs"] == 10
    assert {each.name for each in folder.iterdir()} == {".hcssp", "link.yaml", "link.csv", "out.yaml"}
    assert not (folder.parent / "written.yaml").exists()
    assert megabytes(client.process.pid) < 400


def megabytes(process: int) -> float:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def test_slow_clients_are_left_and_do_not_stop_others(tmp_path: Path) -> None:
    with running_with(tmp_path, client_seconds=1.0, ping_seconds=0.1, connections=30) as client:
        host = client.address.split(":")
        silent = [socket.create_connection(host) for _ in range(10)]
        dripping = [socket.create_connection(host) for _ in range(10)]
        head = f"POST /api/sessions HTTP/1.1\r\nHost: {client.address}\r\nContent-Type: application/json\r\n"
        for stream in dripping[5:]:
            stream.sendall(f"{head}Content-Length: 100\r\n\r\n".encode())
        session, _ = client.begin(text=SMALL)
        assert client.planned(session)["complete"]
        for stream in silent:
            stream.settimeout(HANG_GUARD)
            assert stream.recv(100) == b""
        ended = dict.fromkeys(dripping, False)
        for _ in attempts():
            for stream in (each for each, is_over in ended.items() if not is_over):
                try:
                    stream.sendall(b"x")
                except OSError:
                    ended[stream] = True
            if all(ended.values()):
                break
        assert all(ended.values())
        assert client.get(session)["text"] == SMALL
        for stream in (*silent, *dripping):
            stream.close()


def test_a_client_that_does_not_read_is_left(tmp_path: Path) -> None:
    with running_with(tmp_path, client_seconds=1.0) as client:
        session, _ = client.begin(text=SMALL + "# " + "x" * 2_000_000)
        with socket.socket() as stream:
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            stream.connect((client.address.split(":")[0], int(client.address.split(":")[1])))
            for _ in range(3):
                stream.sendall(f"GET {session} HTTP/1.1\r\nHost: {client.address}\r\n\r\n".encode())
            port = f":{stream.getsockname()[1]:04X}"
            for _ in attempts():
                # The server's end is gone, though nothing was read at this one.
                open_ones = Path("/proc/net/tcp").read_text().splitlines()[1:]
                if not any(line.split()[2].endswith(port) for line in open_ones):
                    break
            else:
                raise AssertionError("the connection is still open")
        assert client.get(session)["revision"] == 1


def test_fifty_sessions_at_once(tmp_path: Path) -> None:
    with running_with(tmp_path, sessions=3) as client:

        def begin(number: int) -> tuple[int, Any]:
            return client.call("POST", "/api/sessions", {"text": f"{SMALL}# {number}\n"})

        began = time.monotonic()
        with ThreadPoolExecutor(50) as threads:
            answers = list(threads.map(begin, range(50)))
        assert time.monotonic() - began < HANG_GUARD
        assert {status for status, _ in answers} <= {201, 503}
        served = [answer for status, answer in answers if status == 201]
        assert len(served) >= 3
        # Sessions that are open, one that waits for the next, and those that are about to end.
        for _ in attempts():
            if len(workers_of(client)) <= 4:
                break
        else:
            raise AssertionError("too many workers")
        saved = {each["session"] for each in client.get("/api/catalogue")["sessions"]}
        assert saved == {answer["session"] for answer in served}
        some = served[0]
        for _ in attempts():
            status, again = client.call("GET", f"/api/sessions/{some['session']}")
            if status == 200:
                break
        assert again["text"] == some["text"]
