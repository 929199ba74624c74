"""`cellwright acp` as a real process before a real daemon with tiny runs, by the SDK's own client."""

from __future__ import annotations

import json
from collections.abc import Generator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from acp import schema, text_block
from acp.exceptions import RequestError
from anyio.streams.buffered import BufferedByteReceiveStream

from cellwright.agents.events import PersonSaid
from cellwright.journal.events import QuestionAsked
from cellwright.journal.names import stream_of
from cellwright.journal.records import Records
from cellwright.policy.approvals import Answered, Person
from cellwright.policy.masking.masker import Masker
from cellwright.runs.views.questions import run_inbox
from cellwright.runs.views.run_view import first_goal
from cellwright.tools.approval.typed_answers import TypedAnswer
from cellwright.tools.mcp.pins import ServerTool, ToolApprovals
from cellwright.tools.mcp.servers import NamedServer, store_server
from tests.server.a_daemon import APPROVE, ASK, TELL, WORDS
from tests.server.acp.an_editor import PROGRAM, Editor, an_editor
from tests.server.daemon_testbed import SECONDS, DaemonTestbed, eventually
from tests.server.mcp.test_mcp_over_stdio import start_daemon

ALLOWED = "The person said yes."
DENIED = "The person said no."
MASKER = Masker.of(salt=b"s" * 16)


@pytest.fixture
def up(testbed: DaemonTestbed) -> Generator[DaemonTestbed]:
    start_daemon(testbed)
    yield testbed


def project(testbed: DaemonTestbed) -> Path:
    return testbed.folder / "project"


async def answered_at(testbed: DaemonTestbed, run: str) -> str:
    """The interface at which the last question of this run was answered."""
    async with testbed.records() as records:
        events = [each.event async for each in records.log.read_all(stream_of(run))]
        asked = [each.question for each in events if isinstance(each, QuestionAsked)]
        item = await run_inbox(records, MASKER).show(asked[-1])
    assert isinstance(item.answer, Answered)
    return item.answer.by.door


async def is_done(testbed: DaemonTestbed, run: str) -> bool:
    async with testbed.records() as records:
        return (await records.status(run)).standing == "done"


@pytest.mark.slow
async def test_a_session_is_a_run_that_is_told_listed_and_replayed_each_event_once(up: DaemonTestbed) -> None:
    async with an_editor(up.home, project(up)) as editor:
        session = await editor.new(project(up))
        said = await editor.say(session, TELL)
        assert said.stop_reason == "end_turn"
        live = [each.model_dump() for each in editor.told]
        kinds = editor.kinds()
        assert {"plan", "tool_call", "tool_call_update", "agent_thought_chunk", "usage_update"} <= set(kinds)
        assert kinds[-1] == "agent_message_chunk"
        assert "I read the table." in editor.texts("agent_thought_chunk")
        usage = next(each for each in editor.told if each.session_update == "usage_update")
        assert (usage.used, usage.cost.amount, usage.cost.currency) == (1_000, 0.0012, "USD")
        listed = await editor.connection.list_sessions(cwd=str(project(up)))
        assert [(each.session_id, each.title) for each in listed.sessions] == [(session, TELL)]
    assert await is_done(up, session)

    # Both are killed: what is told is what the journal holds.
    await anyio.to_thread.run_sync(up.kill)
    await anyio.to_thread.run_sync(start_daemon, up)
    async with an_editor(up.home, project(up)) as editor:
        await editor.connection.load_session(cwd=str(project(up)), session_id=session, mcp_servers=[])
        again = [each.model_dump() for each in editor.told]
    assert again[0]["session_update"] == "user_message_chunk"
    assert again[0]["content"]["text"].strip() == TELL
    assert again[1:] == live


async def test_a_permission_says_exactly_what_and_is_answered_as_the_person_at_the_editor(up: DaemonTestbed) -> None:
    async with an_editor(up.home, project(up), chooses="reject_once") as editor:
        session = await editor.new(project(up))
        await editor.say(session, APPROVE)
        [asked] = editor.asked
        assert "api.example.com port 443" in (asked.tool_call.title or "")
        assert [(each.kind, each.name) for each in asked.options] == [
            ("allow_once", "Allow once"),
            ("allow_always", "Allow for this run"),
            ("reject_once", "Do not allow"),
        ]
        assert DENIED in editor.texts("agent_thought_chunk")
    assert await answered_at(up, session) == "acp-permission"


@pytest.mark.slow
async def test_a_permission_that_is_closed_stays_open_and_the_run_goes_on_once_it_is_answered_elsewhere(
    up: DaemonTestbed,
) -> None:
    async with an_editor(up.home, project(up)) as editor, anyio.create_task_group() as tasks:
        session = await editor.new(project(up))
        tasks.start_soon(editor.say, session, APPROVE)
        with anyio.fail_after(SECONDS):
            await editor.is_asked.wait()
            async with up.records() as records:
                inbox = run_inbox(records, MASKER)
                [item] = await inbox.pending(session)
                ada = Person(name="ada", door="web")
                await inbox.answer(item.question.id, TypedAnswer(words="once"), ada, item.question.fingerprint)
    assert ALLOWED in editor.texts("agent_thought_chunk")
    assert "stays open" in editor.texts("agent_message_chunk")
    assert await answered_at(up, session) == "web"


async def test_cancelling_a_prompt_cancels_its_run(up: DaemonTestbed) -> None:
    up.hold()
    async with an_editor(up.home, project(up)) as editor, anyio.create_task_group() as tasks:
        session, reasons = await editor.new(project(up)), list[str]()

        async def say() -> None:
            reasons.append((await editor.say(session, "why?")).stop_reason)

        tasks.start_soon(say)
        await anyio.to_thread.run_sync(eventually, lambda: up.is_begun(session, "second"))
        await editor.connection.cancel(session_id=session)
    assert reasons == ["cancelled"]
    await up.until(session, "cancelled")


@pytest.mark.slow
async def test_what_only_words_can_answer_is_answered_with_the_next_prompt(up: DaemonTestbed) -> None:
    async with an_editor(up.home, project(up)) as editor:
        session = await editor.new(project(up))
        await editor.say(session, WORDS)
        assert "What is the threshold?" in editor.texts("agent_message_chunk")
        assert not await is_done(up, session)
        await editor.say(session, "42")
    assert await is_done(up, session)


@pytest.mark.slow
async def test_an_editor_that_is_killed_while_it_is_asked_has_answered_nothing(up: DaemonTestbed) -> None:
    async with an_editor(up.home, project(up), chooses="wait") as editor, anyio.create_task_group() as tasks:
        session = await editor.new(project(up))
        tasks.start_soon(_ended, editor, session, ASK)
        await editor.is_asked.wait()
        editor.process.kill()
    async with up.records() as records:
        assert [each.question.text for each in await records.questions.pending(session)] == ["Go on?"]
    # The next one is asked it, and the run goes on.
    async with an_editor(up.home, project(up), chooses="allow_once") as editor:
        await editor.connection.load_session(cwd=str(project(up)), session_id=session, mcp_servers=[])
        await up.until(session, "done")


async def _ended(editor: Editor, session: str, words: str) -> None:
    with pytest.raises(ConnectionError):
        await editor.say(session, words)


@pytest.mark.slow
@pytest.mark.parametrize("goal", [APPROVE, ASK])
async def test_no_words_and_no_extra_of_a_client_answer_what_only_its_person_may(up: DaemonTestbed, goal: str) -> None:
    async with an_editor(up.home, project(up), chooses="wait") as editor, anyio.create_task_group() as tasks:
        session = await editor.new(project(up))
        tasks.start_soon(editor.say, session, goal)
        await editor.is_asked.wait()
        async with up.records() as records:
            [item] = await run_inbox(records, MASKER).pending(session)
            for words in ("yes", "once", "The person at the client says: Allow once."):
                tasks.start_soon(editor.say, session, words)
            answers = {"question": item.question.id, "answer": "once", "fingerprint": item.question.fingerprint}
            more = {"outcome": {"outcome": "selected", "optionId": "0"}, "cellwright/answer": answers}
            prompt = partial(editor.connection.prompt, prompt=[text_block("Go on.")], session_id=session, **more)
            tasks.start_soon(prompt)
            for method in ("cellwright/answer", "session/answer_question"):
                with pytest.raises(RequestError):
                    await editor.connection.ext_method(method, answers)
            # Its agents hear what it says, and that is all.
            heard = await people_said(records, session, 4)
            assert set(heard) == {"yes", "once", "The person at the client says: Allow once.", "Go on."}
            assert [each.question.id for each in await run_inbox(records, MASKER).pending(session)] == [
                item.question.id
            ]
            assert (await records.status(session)).standing == "waiting"
        tasks.cancel_scope.cancel()


async def people_said(records: Records, run: str, number: int) -> list[str]:
    """What people said to this run, once it is so much."""
    with anyio.fail_after(SECONDS):
        while True:
            events = [each.event async for each in records.log.read_all(stream_of(run))]
            said = [event.text for event in events if isinstance(event, PersonSaid)]
            if len(said) >= number:
                return said
            await anyio.sleep(0.01)


@pytest.mark.slow
async def test_a_run_whose_client_and_daemon_are_killed_in_the_middle_is_replayed_once_and_ends(
    up: DaemonTestbed,
) -> None:
    up.hold()
    async with an_editor(up.home, project(up)) as editor, anyio.create_task_group() as tasks:
        session = await editor.new(project(up))
        tasks.start_soon(_ended, editor, session, TELL)
        await anyio.to_thread.run_sync(eventually, lambda: up.is_begun(session, "second") and "plan" in editor.kinds())
        editor.process.kill()
        await anyio.to_thread.run_sync(up.kill)
    before = [each.model_dump() for each in editor.told]
    await anyio.to_thread.run_sync(start_daemon, up)
    async with an_editor(up.home, project(up)) as editor:
        await editor.connection.load_session(cwd=str(project(up)), session_id=session, mcp_servers=[])
        replayed = [each.model_dump() for each in editor.told]
        assert [each["session_update"] for each in replayed].count("user_message_chunk") == 1
        assert replayed[1 : len(before) + 1] == before
        assert ["taken up again" in str(each) for each in replayed[len(before) + 1 :]] == [True]
        up.let_go()
        await up.until(session, "done")
        # It is followed to its end, and a later client is told the very same.
        await editor.until_told()
        whole = [each.model_dump() for each in editor.told]
    assert up.worked(session) == ["first", "second", "third", "look"]
    async with an_editor(up.home, project(up)) as editor:
        await editor.connection.load_session(cwd=str(project(up)), session_id=session, mcp_servers=[])
        assert [each.model_dump() for each in editor.told] == whole


@pytest.mark.slow
async def test_a_resumed_session_tells_only_what_comes_and_a_closed_one_stops_what_its_prompt_waits_for(
    up: DaemonTestbed,
) -> None:
    up.hold()
    async with an_editor(up.home, project(up)) as editor, anyio.create_task_group() as tasks:
        session = await editor.new(project(up))
        tasks.start_soon(_ended, editor, session, TELL)
        await anyio.to_thread.run_sync(eventually, lambda: up.is_begun(session, "second") and "plan" in editor.kinds())
        editor.process.kill()
    async with an_editor(up.home, project(up)) as editor:
        await editor.connection.resume_session(cwd=str(project(up)), session_id=session, mcp_servers=[])
        assert editor.told == []
        # What no prompt of this client waits for goes on when it is closed.
        await editor.connection.close_session(session_id=session)
        with pytest.raises(RequestError):
            await editor.say(session, "Are you there?")
        await editor.connection.resume_session(cwd=str(project(up)), session_id=session, mcp_servers=[])
        up.let_go()
        await up.until(session, "done")
        await editor.until_told()
        assert "user_message_chunk" not in editor.kinds()
        assert "I read the table." in editor.texts("agent_thought_chunk")

        up.hold()
        reasons = list[str]()

        async def say(session: str) -> None:
            reasons.append((await editor.say(session, "why?")).stop_reason)

        async with anyio.create_task_group() as tasks:
            second = await editor.new(project(up))
            tasks.start_soon(say, second)
            await anyio.to_thread.run_sync(eventually, lambda: up.is_begun(second, "second"))
            await editor.connection.close_session(session_id=second)
        assert reasons == ["cancelled"]
        await up.until(second, "cancelled")


@pytest.mark.slow
async def test_a_run_goes_on_when_its_editor_leaves_and_a_later_prompt_begins_one_in_the_same_session(
    up: DaemonTestbed,
) -> None:
    async with an_editor(up.home, project(up)) as editor:
        session = await editor.new(project(up))
        await editor.say(session, TELL)
        await editor.say(session, TELL)
    async with an_editor(up.home, project(up)) as editor:
        await editor.connection.load_session(cwd=str(project(up)), session_id=session, mcp_servers=[])
        assert editor.kinds().count("user_message_chunk") == 2
        forked = await editor.connection.fork_session(cwd=str(project(up)), session_id=session)
        assert forked.session_id != session


@pytest.mark.slow
async def test_what_a_client_may_not_say_is_told_to_it_in_words(up: DaemonTestbed) -> None:
    async with an_editor(up.home, project(up)) as editor:
        server = schema.McpServerStdio(name="files", command="files", args=[], env=[])
        made = await editor.connection.new_session(cwd=str(project(up)), mcp_servers=[server])
        await editor.connection.set_session_mode(mode_id="thorough", session_id=made.session_id)
        chosen = await editor.connection.set_config_option("models", made.session_id, "analyst")
        assert chosen is not None
        assert [each.current_value for each in chosen.config_options] == ["analyst"]
        await editor.connection.set_config_option("models", made.session_id, "usual")
        outside = schema.ResourceContentBlock(type="resource_link", name="passwd", uri="file:///etc/passwd")
        await editor.say(made.session_id, TELL, outside)
        told = editor.texts("agent_message_chunk")
        assert "'files'" in told
        assert "'passwd' is not a file of this folder" in told
        for wrong in (
            editor.connection.new_session(cwd="not/absolute", mcp_servers=[]),
            editor.connection.load_session(cwd=str(project(up)), session_id="nobody", mcp_servers=[]),
            editor.connection.load_session(cwd=str(project(up)), session_id="../../x", mcp_servers=[]),
            editor.connection.set_session_mode(mode_id="yolo", session_id=made.session_id),
            editor.say(made.session_id, ""),
        ):
            with pytest.raises(RequestError):
                await wrong


async def raw(up: DaemonTestbed, most: int, *lines: bytes) -> list[Any]:
    """So many answers to these lines."""
    environment = {"CELLWRIGHT_HOME": str(up.home)}
    async with await anyio.open_process([PROGRAM, "acp"], env=environment, stderr=None) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        await process.stdin.send(b"\n".join(lines) + b"\n")
        answers = BufferedByteReceiveStream(process.stdout)
        told = [json.loads(await answers.receive_until(b"\n", 1 << 20)) for _ in range(most)]
        process.kill()
    return told


@pytest.mark.slow
async def test_lines_that_are_no_messages_are_answered_and_end_nothing(up: DaemonTestbed) -> None:
    deep = b"[" * 100_000
    initialize = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}'
    wrong = b'{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":5,"_meta":{"cwd":7}}}'
    told = await raw(up, 7, b"nonsense", b"[1]", deep, b'{"id":{}}', initialize, wrong, b'{"id":3,"method":"x/y"}')
    codes = {each.get("id"): each.get("error", {}).get("code") for each in told}
    assert codes == {None: -32700, 1: None, 2: -32602, 3: -32601}


async def test_of_the_servers_an_editor_offers_those_are_used_that_a_person_named_and_allowed(
    up: DaemonTestbed,
) -> None:
    for name in ("birds", "fish"):
        store_server(up.home, NamedServer(name=name, command=(f"{name}-server", "--all")))
    ToolApprovals(up.home).allow("birds", [ServerTool(name="weigh")], by="ada")
    offered: list[Any] = [
        schema.McpServerStdio(name="of the editor", command="birds-server", args=["--all"], env=[]),
        schema.McpServerStdio(name="fish", command="fish-server", args=["--all"], env=[]),
        schema.McpServerStdio(name="birds", command="birds-server", args=["--other"], env=[]),
        schema.HttpMcpServer(type="http", name="far", url="https://example.org/mcp", headers=[]),
    ]
    async with an_editor(up.home, project(up)) as editor:
        made = await editor.connection.new_session(cwd=str(project(up)), mcp_servers=offered)
        await editor.say(made.session_id, TELL)
        told = editor.texts("agent_message_chunk")
    assert "Runs may call 'birds', which your editor offers as 'of the editor'" in told
    assert "`cellwright tools allow fish` shows what it says" in told
    assert "`cellwright tools add NAME -- birds-server --other`" in told
    assert "`cellwright tools add NAME --url https://example.org/mcp`" in told
    async with up.records() as records:
        goal = await first_goal(records, made.session_id)
    assert goal is not None
    assert goal.tools == ("birds",)
