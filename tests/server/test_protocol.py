"""What is said over the daemon's socket means what was meant, or nothing."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import replace
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream
from hypothesis import given
from hypothesis import strategies as st

from cellwright.errors import (
    CellwrightError,
    Defect,
    KernelLost,
    ModelUnavailable,
    RefusedByPolicy,
    Unavailable,
    UserError,
)
from cellwright.framing import BadFrame
from cellwright.runs import Plan, Task
from cellwright.server.daemon.connections import DaemonConnections
from cellwright.server.daemon.protocol import (
    MAX_REQUEST,
    CancelRequest,
    DaemonAnswer,
    DaemonHello,
    DaemonRequest,
    DaemonStatus,
    DaemonWelcome,
    DoneAnswer,
    ErrorAnswer,
    ForkRequest,
    FromDaemon,
    RedoRequest,
    ResumeRequest,
    RetryRequest,
    RevisionAnswer,
    StartRequest,
    StatusRequest,
    StopRequest,
    ToDaemon,
    UndoRequest,
    WebAddress,
    WebRequest,
    pack_answer,
    pack_request,
    read_answer,
    read_request,
)
from cellwright.server.http.addresses import WebOptions
from tests.server.daemon_house import SECONDS, a_goal, all_said

REQUESTS: list[ToDaemon] = [
    DaemonHello(protocol=1, version="1.0"),
    StartRequest(number=1, goal=a_goal(), run="mine"),
    CancelRequest(number=2, run="mine", reason="enough"),
    RetryRequest(number=3, run="mine", task="load", person="ada"),
    ForkRequest(number=4, run="mine", from_step=7),
    ForkRequest(number=5, run="mine"),
    ResumeRequest(number=6, run="mine", person="ada"),
    UndoRequest(number=6, run="mine", person="ada", step=2),
    RedoRequest(number=6, run="mine", person="ada"),
    StatusRequest(number=7),
    StopRequest(number=8, when="idle", why="late"),
    WebRequest(number=9),
    WebRequest(number=10, wish=WebOptions(folder="/project", port=8300)),
]
ANSWERS: list[FromDaemon] = [
    DaemonWelcome(protocol=1, version="1.0", pid=7),
    DoneAnswer(number=1, run="mine"),
    RevisionAnswer(number=1, turns=(2, 1), cells=("removed total",), kept=("x",), by="checkpoint"),
    RevisionAnswer(number=1, why="Somebody changed it since.", is_refused=True),
    DaemonStatus(number=1, pid=7, version="1", since="now", runs_at_work=3, connections=1, idle_seconds=None),
    WebAddress(number=1, origin="http://127.0.0.1:8300", url="http://127.0.0.1:8300/#start=x", folder="/project"),
]
ERRORS = [UserError, RefusedByPolicy, Unavailable, KernelLost, ModelUnavailable, Defect]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: type(request).__name__)
def test_a_request_is_read_as_it_was_written(request_: ToDaemon) -> None:
    assert read_request(pack_request(request_)[4:]) == request_


@given(words=st.text(min_size=1, max_size=50), title=st.text(max_size=20))
def test_a_goal_with_its_plan_travels_whole(words: str, title: str) -> None:
    goal = replace(a_goal(words), plan=Plan(title=title, tasks=(Task(id="load", title=words),)))
    sent = StartRequest(number=1, goal=goal, run="mine")
    try:
        frame = pack_request(sent)
    except UserError:
        assert any("\ud800" <= character <= "\udfff" for character in words + title)
    else:
        assert read_request(frame[4:]) == sent


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: type(answer).__name__)
def test_an_answer_is_read_as_it_was_written(answer: FromDaemon) -> None:
    assert read_answer(pack_answer(answer)[4:]) == answer


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_travels_as_its_class_message_and_hint(kind: type[CellwrightError]) -> None:
    sent = kind("It broke.", hint="Mend it.")
    match read_answer(pack_answer(ErrorAnswer(number=3, error=sent))[4:]):
        case ErrorAnswer(number=3, error=error):
            assert (type(error), error.message, error.hint) == (kind, "It broke.", "Mend it.")
            if isinstance(sent, Defect):
                assert isinstance(error, Defect)
                assert error.report_id == sent.report_id
        case other:
            pytest.fail(f"{other}")


def test_a_particular_error_nobody_knows_at_the_other_end_travels_as_the_next_general_one() -> None:
    class Flooded(Unavailable):
        pass

    match read_answer(pack_answer(ErrorAnswer(number=1, error=Flooded("Wet \ud800." + "x" * 100_000)))[4:]):
        case ErrorAnswer(error=error):
            assert type(error) is Unavailable
            assert error.message.startswith("Wet ?.")
            assert len(error.message) == 8_000
        case other:
            pytest.fail(f"{other}")


@pytest.mark.parametrize(
    "said",
    [
        {},
        [],
        None,
        {"kind": "stop"},
        {"kind": "burn", "number": 1},
        {"kind": "status", "number": -1},
        {"kind": "status", "number": 2**60},
        {"kind": "stop", "number": 1, "when": "never"},
        {"kind": "cancel", "number": 1, "run": ""},
        {"kind": "cancel", "number": 1, "run": "x" * 201},
        {"kind": "cancel", "number": 1, "run": ["mine"]},
        {"kind": "fork", "number": 1, "run": "mine", "from_step": -1},
        {"kind": "start", "number": 1, "run": "mine", "goal": {"words": "secret-words"}},
        {"kind": "hello", "protocol": "secret-words", "version": "1"},
    ],
)
def test_what_makes_no_sense_is_refused_and_not_repeated(said: Any) -> None:
    with pytest.raises(BadFrame) as problem:
        read_request(json.dumps(said).encode())
    assert "secret-words" not in str(problem.value)


@given(st.binary(max_size=200))
def test_no_bytes_do_more_than_be_refused(data: bytes) -> None:
    for read, known in ((read_request, ToDaemon), (read_answer, FromDaemon)):
        try:
            meant: object = read(data)
        except BadFrame as refused:
            meant = refused
        assert isinstance(meant, known | BadFrame)


@pytest.mark.parametrize("payload", [b"[" * 200_000, b'{"kind":"start","goal":' + b'{"plan":' * 50_000])
def test_nesting_without_end_is_refused(payload: bytes) -> None:
    for read in (read_request, read_answer):
        with pytest.raises(BadFrame):
            read(payload)


def test_a_request_that_is_too_long_is_refused_where_it_is_made() -> None:
    with pytest.raises(UserError, match="bytes"):
        pack_request(StartRequest(number=1, goal=a_goal("x" * MAX_REQUEST), run="mine"))


async def test_a_process_of_another_user_is_turned_away_without_a_word() -> None:
    heard = list[DaemonRequest]()

    async def answer(request: DaemonRequest) -> DaemonAnswer:
        heard.append(request)
        return DoneAnswer(number=request.number)

    for uid, is_welcome in ((os.getuid() + 1, False), (os.getuid(), True)):
        ours, theirs = socket.socketpair(socket.AF_UNIX)
        doors = DaemonConnections(answer, uid=uid, version="1.0")
        theirs.setblocking(False)
        with ours, anyio.fail_after(SECONDS):
            ours.sendall(pack_request(DaemonHello(protocol=1, version="1.0")) + pack_request(StatusRequest(number=1)))
            ours.shutdown(socket.SHUT_WR)
            await doors.hold(await SocketStream.from_socket(theirs))
            assert doors.count == 0
            said = all_said(ours)
        assert (b"welcome" in said, b"done" in said) == (is_welcome, is_welcome)
        assert len(heard) == int(is_welcome)


async def test_what_was_asked_is_answered_even_if_no_more_is_heard() -> None:
    begun, may_end = anyio.Event(), anyio.Event()

    async def answer(request: DaemonRequest) -> DaemonAnswer:
        begun.set()
        await may_end.wait()
        return DoneAnswer(number=request.number, run="mine")

    ours, theirs = socket.socketpair(socket.AF_UNIX)
    doors = DaemonConnections(answer, uid=os.getuid(), version="1.0")
    theirs.setblocking(False)
    with ours, anyio.fail_after(SECONDS):
        ours.sendall(pack_request(DaemonHello(protocol=1, version="1.0")) + pack_request(StatusRequest(number=1)))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(doors.hold, await SocketStream.from_socket(theirs))
            await begun.wait()
            doors.hear_no_more()
            may_end.set()
        said = all_said(ours)
    assert said.endswith(pack_answer(DoneAnswer(number=1, run="mine")))


async def test_our_own_mistake_is_told_as_one_and_the_next_request_is_heard() -> None:
    async def answer(request: DaemonRequest) -> DaemonAnswer:
        if request.number == 1:
            raise ZeroDivisionError("secret-words")
        return DoneAnswer(number=request.number)

    ours, theirs = socket.socketpair(socket.AF_UNIX)
    theirs.setblocking(False)
    with ours, anyio.fail_after(SECONDS):
        ours.sendall(
            pack_request(DaemonHello(protocol=1, version="1.0"))
            + pack_request(StatusRequest(number=1))
            + pack_request(StatusRequest(number=2))
        )
        ours.shutdown(socket.SHUT_WR)
        await DaemonConnections(answer, uid=os.getuid(), version="1.0").hold(await SocketStream.from_socket(theirs))
        said = all_said(ours)
    assert b"The daemon failed: ZeroDivisionError." in said
    assert b"secret-words" not in said
    assert pack_answer(DoneAnswer(number=2)) in said
