"""What goes over the daemon's socket is checked and bounded, comes from this user only, and is understood by the
version before."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Receive, Scope, Send

from cellwright.background import listen, sole
from cellwright.errors import CellwrightError, Defect, RefusedByPolicy, Unavailable, UserError
from cellwright.framing import pack_json, receive_json
from cellwright.runs.plan.plan import Plan, Task
from cellwright.server import connect
from cellwright.server.daemon.connection import as_json
from cellwright.server.daemon.launch import daemon_at
from cellwright.server.daemon.run_message import StartRunBody
from cellwright.server.http.errors import REPORT_HEADER, read_error
from cellwright.server.http.problems import error_response
from cellwright.server.http.uvicorn_server import EmbeddedServer, LocalProtocol, run_server
from tests.server.a_daemon import STEPS
from tests.server.daemon_testbed import SECONDS, DaemonTestbed, a_goal, all_said, eventually


@given(words=st.text(min_size=1, max_size=50), title=st.text(max_size=20))
def test_a_goal_with_its_plan_travels_whole(words: str, title: str) -> None:
    goal = replace(a_goal(words), plan=Plan(title=title, tasks=(Task(id="load", title=words),)))
    sent = StartRunBody(goal=goal, connection={"HTTPS_PROXY": "http://proxy"})
    try:
        data = as_json(sent)
    except UserError:
        assert any("\ud800" <= character <= "\udfff" for character in words + title)
    else:
        assert StartRunBody.model_validate_json(data or b"") == sent


@pytest.mark.parametrize("kind", [UserError, RefusedByPolicy, Unavailable, Defect])
def test_an_error_travels_as_its_class_message_and_hint(kind: type[CellwrightError]) -> None:
    sent = kind("It broke.", hint="Mend it.")
    answer = error_response(sent, str)
    error = read_error(bytes(answer.body), answer.headers.get(REPORT_HEADER, ""))
    assert (type(error), error.message) == (kind, "It broke.")
    if isinstance(sent, Defect):
        assert isinstance(error, Defect)
        assert error.report_id == sent.report_id
    else:
        assert error.hint == "Mend it."


# ── who is heard, and until when ──


@asynccontextmanager
async def serving(folder: Path, uid: int, may_end: anyio.Event, heard: list[str]) -> AsyncGenerator[EmbeddedServer]:
    """A server on a Unix socket that hears this user only, and answers once it may."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        heard.append(scope["path"])
        await may_end.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
        await send({"type": "http.response.body", "body": b"done"})

    protocol = type("OneUser", (LocalProtocol,), {"uid": uid})
    server = EmbeddedServer(uvicorn.Config(app, http=protocol, log_config=None, lifespan="off"))
    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run_server, server, listen(daemon_at(folder)))
            try:
                yield server
            finally:
                server.refuse_requests()


def ask(folder: Path) -> bytes:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(SECONDS)
        connection.connect(str(folder / "daemon.sock"))
        with suppress(BrokenPipeError):
            connection.sendall(b"GET /mine HTTP/1.1\r\nhost: daemon\r\nconnection: close\r\n\r\n")
        return all_said(connection)


@pytest.mark.parametrize("is_ours", [True, False])
async def test_of_a_process_of_another_user_not_a_word_is_heard(tmp_path: Path, is_ours: bool) -> None:
    heard, may_end = list[str](), anyio.Event()
    may_end.set()
    async with serving(tmp_path, os.getuid() if is_ours else os.getuid() + 1, may_end, heard):
        said = await anyio.to_thread.run_sync(ask, tmp_path)
    assert (said.endswith(b"done"), heard) == ((True, ["/mine"]) if is_ours else (False, []))
    assert is_ours or said == b""


async def test_what_was_asked_is_answered_even_if_no_more_is_heard(tmp_path: Path) -> None:
    heard, may_end, said = list[str](), anyio.Event(), list[bytes]()

    async def hear() -> None:
        said.append(await anyio.to_thread.run_sync(ask, tmp_path))

    async with serving(tmp_path, os.getuid(), may_end, heard) as server, anyio.create_task_group() as asking:
        asking.start_soon(hear)
        while not heard:  # noqa: ASYNC110 (a thread asks)
            await anyio.sleep(0.01)
        server.refuse_requests()
        with pytest.raises(ConnectionRefusedError):
            await anyio.to_thread.run_sync(ask, tmp_path)
        may_end.set()
    assert (heard, said[0].endswith(b"done")) == (["/mine"], True)


def request(testbed: DaemonTestbed, method: str, path: str, body: bytes, **headers: str) -> tuple[int, dict[str, Any]]:
    """As any program of this user may speak with the daemon."""
    http = HTTPConnection("daemon")
    with socket.socket(socket.AF_UNIX) as http.sock:
        http.sock.settimeout(SECONDS)
        http.sock.connect(str(testbed.home / "daemon.sock"))
        http.request(method, f"/api/v1{path}", body, {"content-type": "application/json", **headers})
        response = http.getresponse()
        return response.status, json.loads(response.read() or b"{}")


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("method", "path", "said", "status"),
    [
        ("POST", "/daemon/stop", {"when": "never"}, 422),
        ("POST", "/daemon/stop", {"when": "now", "secret-words": 1}, 422),
        ("PUT", "/runs/mine", {"goal": {"words": "secret-words"}}, 422),
        ("PUT", "/runs/.etc", {}, 422),
        ("POST", "/runs/mine/cancel", {}, 404),
        ("POST", "/burn", {}, 404),
    ],
)
async def test_what_makes_no_sense_is_refused_and_not_repeated(
    testbed: DaemonTestbed, method: str, path: str, said: Any, status: int
) -> None:
    async with connect(testbed.settings, launch=testbed.launch()) as daemon:
        found, answer = await anyio.to_thread.run_sync(request, testbed, method, path, json.dumps(said).encode())
        assert found == status
        assert "secret-words" not in str(answer["error"]["message"]).replace("body.secret-words", "")
        assert (await daemon.status()).runs_at_work == 0


async def test_a_page_is_not_answered_on_the_socket(testbed: DaemonTestbed) -> None:
    async with connect(testbed.settings, launch=testbed.launch()) as daemon:
        status, answer = await anyio.to_thread.run_sync(
            lambda: request(testbed, "GET", "/daemon", b"", origin="http://127.0.0.1:8300")
        )
        assert (status, answer["error"]["kind"]) == (403, "refused")
        assert (await daemon.status()).pid == testbed.pid


# ── the version before, which spoke frames ──


def framed(testbed: DaemonTestbed, *messages: dict[str, Any]) -> list[dict[str, Any]]:
    """What a command of the version before says, and what it hears."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(SECONDS)
        connection.connect(str(testbed.home / "daemon.sock"))
        heard = list[dict[str, Any]]()
        for message in messages:
            connection.sendall(pack_json(message))
            heard.append(receive_json(connection))
        return heard


HELLO = {"kind": "hello", "protocol": 4, "version": "0.9"}


async def test_a_command_of_the_version_before_hears_that_the_daemon_is_newer(testbed: DaemonTestbed) -> None:
    async with connect(testbed.settings, launch=testbed.launch()) as daemon:
        pid = (await daemon.status()).pid
        start = {"kind": "start", "number": 1, "run": "mine"}
        welcome, refused = await anyio.to_thread.run_sync(framed, testbed, HELLO, start)
        assert welcome == {"kind": "welcome", "protocol": 5, "version": "1.0", "pid": pid}
        assert (refused["error"], refused["message"]) == (
            "unavailable",
            "The daemon is of version 1.0 and newer than this command.",
        )
        assert (await daemon.status()).runs_at_work == 0


def be_the_version_before(testbed: DaemonTestbed, ready: list[bool], heard: list[dict[str, Any]]) -> None:
    """Frames of the version before, as its daemon read and wrote them, until it is told to stop."""
    with sole(testbed.resident) as is_sole, listen(testbed.resident) as listener:
        listener.setblocking(True)
        listener.settimeout(SECONDS)
        ready.append(is_sole)
        while not any(message["kind"] == "stop" for message in heard):
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(SECONDS)
                if not connection.recv(1, socket.MSG_PEEK).startswith(b"\x00"):
                    connection.recv(1 << 16)
                    connection.sendall(
                        pack_json({"kind": "failed", "number": 0, "error": "user", "message": "", "hint": ""})
                    )
                    continue
                for answer in (
                    {"kind": "welcome", "protocol": 4, "version": "0.9", "pid": os.getpid()},
                    {"kind": "done", "number": 1, "run": ""},
                ):
                    heard.append(receive_json(connection))
                    connection.sendall(pack_json(answer))
        testbed.resident.file("sock").unlink()


@pytest.mark.slow
async def test_a_daemon_of_the_version_before_is_told_to_end_and_its_runs_go_on(testbed: DaemonTestbed) -> None:
    async with connect(testbed.settings, launch=testbed.launch("0.9")) as daemon:
        testbed.hold()
        await daemon.start(a_goal(), run="mine")
        await anyio.to_thread.run_sync(lambda: eventually(lambda: testbed.is_begun("mine", "second")))
        testbed.kill()
    ready, heard, notes = list[bool](), list[dict[str, Any]](), list[str]()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.to_thread.run_sync, be_the_version_before, testbed, ready, heard)
        await anyio.to_thread.run_sync(lambda: eventually(lambda: ready == [True]))
        async with connect(testbed.settings, launch=testbed.launch("1.0"), on_note=notes.append) as daemon:
            testbed.let_go()
            await testbed.until("mine", "done")
            assert (await daemon.status()).version == "1.0"
    assert notes == ["The daemon of version 0.9 has ended; its runs go on with version 1.0."]
    assert [message["kind"] for message in heard] == ["hello", "stop"]
    assert testbed.worked("mine") == list(STEPS)
