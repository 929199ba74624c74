"""The gateway at work: whatever a door says ends at most its own connection, and what was decided is kept."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import AsyncGenerator, Generator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.background import listen
from cellwright.errors import UserError
from cellwright.framing import MAX_FRAME, pack, pack_json, receive_json
from cellwright.idle import IdleTimer
from cellwright.models.calls import BudgetReached, Choice, ModelAnswer, ModelCall
from cellwright.models.client.gateway_client import Models
from cellwright.models.client.gateway_process import connect_or_start, gateway_at, running_pid
from cellwright.models.client.protocol import SubmitCall, pack_request
from cellwright.models.config.keys import KeyRing
from cellwright.models.gateway.gateway import Server
from cellwright.models.gateway.openai_access import standing_limits
from cellwright.policy.budgets import Limit
from cellwright.testing import Fault, Say, Tokens
from tests.models.testbed import KEY, ModelTestbed, Warm, a_call


@pytest.fixture(scope="module")
def shared(warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> Generator[ModelTestbed]:
    with ModelTestbed.open(tmp_path_factory.mktemp("work") / "home", warm) as opened:
        yield opened


@pytest.fixture
async def models(shared: ModelTestbed) -> AsyncGenerator[Models]:
    async with Models.open(shared.home, launch=shared.launch()) as opened:
        yield opened


def door(testbed: ModelTestbed) -> socket.socket:
    connection = connect_or_start(testbed.launch())
    connection.settimeout(20)
    return connection


def hang_up(connection: socket.socket) -> None:
    """Say no more, and wait until the other side has heard everything and gone too."""
    connection.shutdown(socket.SHUT_WR)
    while connection.recv(1 << 16):
        pass
    connection.close()


def is_alive(testbed: ModelTestbed, pid: int | None) -> bool:
    with door(testbed) as connection:
        connection.sendall(pack_json({"kind": "cancel", "number": 1, "call": "nobody"}))
        return receive_json(connection) == {"kind": "done", "number": 1, "happened": False} and pid == running_pid(
            testbed.home
        )


def _forged(kind: str, rest: dict[str, Any]) -> bytes:
    return pack_json({**rest, "kind": kind})


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
kinds = st.sampled_from(["hello", "ask", "leave", "cancel", "keys", "query", "embed", "told", "welcome", ""])
forged = st.dictionaries(
    st.sampled_from(["number", "call", "keys", "forget", "question", "texts", "choice", "version"]), json_values
)
frames = st.one_of(
    st.binary(max_size=60),
    st.binary(max_size=60).map(pack),
    st.builds(_forged, kinds, forged),
    st.just(b"\xff\xff\xff\xff"),
    st.just(pack_json({"kind": "query", "number": 1, "question": {"kind": "status"}})),
)


@pytest.mark.slow
def test_malformed_and_forged_frames_end_at_most_their_own_connection(shared: ModelTestbed) -> None:
    connect_or_start(shared.launch()).close()
    pid = running_pid(shared.home)

    @given(st.lists(frames, max_size=4), st.booleans())
    def say(said: list[bytes], is_greeted: bool) -> None:
        if is_greeted:
            connection = door(shared)
        else:
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(20)
            connection.connect(str(shared.home / "gateway.sock"))
        try:
            connection.sendall(b"".join(said))
            hang_up(connection)
        except (BrokenPipeError, ConnectionResetError):
            connection.close()

    say()
    assert is_alive(shared, pid)
    assert KEY not in (shared.home / "gateway.log").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("size", [MAX_FRAME + 1, 0xFFFFFFFF])
def test_a_frame_that_claims_to_be_huge_is_refused_before_it_comes(shared: ModelTestbed, size: int) -> None:
    with door(shared) as connection:
        pid = running_pid(shared.home)
        connection.sendall(size.to_bytes(4, "big") + b"{")
        assert receive_json(connection)["kind"] == "failed"
        assert connection.recv(1) == b""
    assert is_alive(shared, pid)


async def test_a_client_that_breaks_off_in_the_middle_of_a_frame_harms_nobody(
    models: Models, shared: ModelTestbed
) -> None:
    whole = pack_request(SubmitCall(number=1, call=a_call("half", id="half/1")))
    for cut in (1, 4, 5, len(whole) // 2, len(whole) - 1):
        with door(shared) as connection:
            connection.sendall(whole[:cut])
    assert (await models.status()).calls_in_flight == 0
    assert isinstance(await models.ask(a_call("whole", id="half/1")), ModelAnswer)


@pytest.mark.slow
async def test_a_client_that_does_not_read_holds_up_nobody_else(models: Models, shared: ModelTestbed) -> None:
    words = " ".join(["word"] * 200_000)
    shared.provider.when(lambda asked: "a book" in str(asked.body), Say(words, chunks=2_000))
    with door(shared) as deaf:
        deaf.sendall(pack_request(SubmitCall(number=1, call=a_call("a book", id="deaf/1", stream=True))))
        with anyio.fail_after(120):
            assert isinstance(await models.ask(a_call("quick", id="deaf/2")), ModelAnswer)
            outcome = await models.ask(a_call("a book", id="deaf/1", stream=True))
    assert isinstance(outcome, ModelAnswer)
    assert outcome.response.text == words


async def test_a_process_of_another_user_is_turned_away(tmp_path: Path) -> None:
    with listen(gateway_at(tmp_path)) as listener:
        async with anyio.create_task_group() as tasks:
            work: Any = None
            server = Server(executor=work, keys=KeyRing(tmp_path), idle=IdleTimer(60), stop=print, uid=os.getuid() + 1)
            tasks.start_soon(server.serve, listener)
            async with await anyio.connect_unix(tmp_path / "gateway.sock") as stranger:
                with anyio.fail_after(120), pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                    await stranger.send(pack_json({"kind": "hello", "version": 1}))
                    await stranger.receive()
            tasks.cancel_scope.cancel()


def bounded(call: ModelCall, at_most: str, *, per: Any = "run", measure: Any = "money") -> ModelCall:
    currency = "USD" if measure == "money" else ""
    limit = Limit(measure=measure, per=per, at_most=Decimal(at_most), currency=currency)
    return replace(call, limits=(limit,))


async def test_a_call_over_its_budget_is_not_sent_and_the_caller_gets_a_question(
    models: Models, shared: ModelTestbed
) -> None:
    before = len(shared.provider.requests)
    outcome = await models.ask(bounded(a_call("dear", id="budget/1"), "0.0001"))
    assert isinstance(outcome, BudgetReached)
    assert "Go on?" in outcome.question
    assert len(shared.provider.requests) == before
    # Nothing was sent, so with more money the same id may be.
    assert isinstance(await models.ask(bounded(a_call("dear", id="budget/1"), "100")), ModelAnswer)


async def test_calls_at_once_cannot_pass_a_limit_together(models: Models, shared: ModelTestbed) -> None:
    shared.provider.when(
        lambda asked: "at once" in str(asked.body),
        Say("x", tokens=Tokens(input_tokens=10, output_tokens=10)),
        for_ever=True,
    )
    outcomes: list[object] = []

    async def one(number: int) -> None:
        call = a_call("at once", id=f"once/{number}")
        call = replace(call, payer=replace(call.payer, run="at-once"))
        outcomes.append(await models.ask(bounded(call, "2500", measure="tokens")))

    async with anyio.create_task_group() as tasks:
        for number in range(10):
            tasks.start_soon(one, number)
    # Each is expected to use a thousand tokens and a few: two fit.
    assert sum(isinstance(outcome, BudgetReached) for outcome in outcomes) >= 1
    rows = {row.what: row for row in (await models.usage(by="run")).rows}
    assert rows["at-once"].input_tokens + rows["at-once"].output_tokens <= 2500


async def test_an_equal_request_is_answered_from_the_cache_only_where_both_want_it(testbed: ModelTestbed) -> None:
    async with Models.open(testbed.home, launch=testbed.launch()) as models:
        for number in (1, 2):
            outcome = await models.ask(replace(a_call("same", id=f"cache/{number}"), cache=True))
            assert isinstance(outcome, ModelAnswer)
            assert outcome.source == "provider"
        file = testbed.home / "models.toml"
        file.write_text(file.read_text() + "\n[cache]\nenabled = true\n")
        sources: list[str] = []
        for number, cache in ((3, True), (4, True), (5, False)):
            outcome = await models.ask(replace(a_call("same", id=f"cache/{number}"), cache=cache))
            assert isinstance(outcome, ModelAnswer)
            sources.append(outcome.source)
        assert sources == ["provider", "cache", "provider"]
        assert len(testbed.provider.charged) == 4


async def test_what_failed_may_be_asked_again_with_the_same_id(models: Models, shared: ModelTestbed) -> None:
    shared.provider.script(Fault("bad-request"), Say("now it works"))
    call = a_call("again", id="again/1")
    with pytest.raises(Exception, match="No model answered"):
        await models.ask(call)
    outcome = await models.ask(call)
    assert isinstance(outcome, ModelAnswer)
    assert outcome.response.text == "now it works"


async def test_an_unknown_setting_or_endpoint_is_the_callers_mistake(models: Models) -> None:
    call = a_call("x", id="mistake/1")
    with pytest.raises(UserError, match="extra_headers"):
        await models.ask(replace(call, request=replace(call.request, settings={"extra_headers": {"A": "b"}})))
    with pytest.raises(UserError, match="nowhere"):
        await models.ask(a_call("x", id="mistake/2", model="nowhere:m"))
    with pytest.raises(UserError):
        await models.test("no colon")


async def test_texts_become_vectors_and_are_counted(models: Models) -> None:
    before = sum(row.calls for row in (await models.usage()).rows)
    vectors = await models.embed(["one", "two"], Choice(models=a_call("", id="").choice.models))
    assert len(vectors) == 2
    assert sum(row.calls for row in (await models.usage()).rows) == before + 1


async def test_trying_a_model_tells_what_it_can_do_and_is_counted(models: Models, shared: ModelTestbed) -> None:
    charged = len(shared.provider.charged)
    before = sum(row.calls for row in (await models.usage()).rows)
    report = await models.test("near:one")
    assert report.is_answering
    assert report.tools is not None
    paid = len(shared.provider.charged) - charged
    assert sum(row.calls for row in (await models.usage()).rows) == before + paid
    missing = await models.test("anthropic:claude-haiku-5-5")
    assert not missing.is_answering
    assert "key" in missing.detail


@pytest.mark.slow
async def test_idle_is_when_nobody_has_needed_it_for_a_while() -> None:
    idle = IdleTimer(0.05)
    with anyio.fail_after(120):
        await idle.wait()
    ended = anyio.Event()

    async def wait() -> None:
        await idle.wait()
        ended.set()

    async with anyio.create_task_group() as tasks:
        with idle.busy():
            tasks.start_soon(wait)
            await anyio.sleep(0.15)
            assert not ended.is_set()
        with anyio.fail_after(120):
            await ended.wait()


def test_the_limits_of_the_persons_and_the_teams_rules_hold_for_calls_of_others(tmp_path: Path) -> None:
    assert standing_limits(tmp_path, None) == ()
    rule = '[[limit]]\nof = "tokens"\nper = "person"\nat_most = 1000\n'
    (tmp_path / "rules.toml").write_text(rule)
    team = tmp_path / "team.toml"
    team.write_text(rule.replace("1000", "10"))
    assert [limit.at_most for limit in standing_limits(tmp_path, team)] == [1000, 10]
    team.unlink()
    with pytest.raises(UserError, match=r"team\.toml"):
        standing_limits(tmp_path, team)


def test_keys_given_to_a_gateway_can_be_taken_back(shared: ModelTestbed) -> None:
    with door(shared) as connection:

        def key_of(name: str) -> str:
            connection.sendall(pack_json({"kind": "query", "number": 2, "question": {"kind": "providers"}}))
            length = int.from_bytes(connection.recv(4, socket.MSG_WAITALL), "big")
            states = json.loads(connection.recv(length, socket.MSG_WAITALL))["report"]["providers"]
            return next(state["key_from"] for state in states if state["name"] == name)

        connection.sendall(pack_json({"kind": "keys", "number": 1, "keys": {"groq": "gsk-0123456789"}}))
        assert receive_json(connection)["kind"] == "done"
        assert key_of("groq") == "environment"
        connection.sendall(pack_json({"kind": "keys", "number": 1, "forget": ["groq"]}))
        assert receive_json(connection)["kind"] == "done"
        assert key_of("groq") == ""
