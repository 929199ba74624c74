"""Goals from an editor, with real kernels in their cages: to a checked notebook, another way after a no, stopped."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import psutil
import pytest
from acp import schema

from cellwright.testing import CallTool, Fault
from tests.runs.factory import apply, create, finish, plan, task
from tests.server.acp.an_editor import an_editor
from tests.web.a_control_room import SECONDS, ControlRoom, open_control_room

pytestmark = pytest.mark.slow
GOAL = "which month has the highest revenue?"


_BUSY_SECONDS = 0.1
_CANCELLED_SECONDS = 1.0


def in_cages(room: ControlRoom) -> dict[int, float]:
    """Processes in the cages of its daemon, each with the seconds of processor it has used."""
    assert room.process is not None
    ours, found = Path("/proc/self/ns/pid").readlink(), dict[int, float]()
    for process in psutil.Process(room.process.pid).children(recursive=True):
        with suppress(psutil.Error, OSError):
            if Path(f"/proc/{process.pid}/ns/pid").readlink() != ours and process.status() != psutil.STATUS_ZOMBIE:
                found[process.pid] = process.cpu_times().user
    return found


@pytest.fixture
def room(tmp_path: Path) -> Generator[ControlRoom]:
    with open_control_room(tmp_path) as opened:
        yield opened


async def test_a_goal_in_an_editor_becomes_a_checked_notebook(room: ControlRoom) -> None:
    (room.folder / "sales.csv").write_text("month,revenue\n1,10\n2,20\n3,5\n")
    async with an_editor(room.home, room.folder, "--model", "analyst") as editor:
        session = await editor.new(room.folder)
        link = schema.ResourceContentBlock(
            type="resource_link", name="sales.csv", uri=f"file://{room.folder}/sales.csv"
        )
        assert (await editor.say(session, GOAL, link)).stop_reason == "end_turn"
    assert "2 has the most revenue" in editor.texts("agent_message_chunk")
    assert "checks passed in a fresh environment" in editor.texts("agent_message_chunk")
    edits = [each for each in editor.told if each.session_update == "tool_call_update" and each.locations]
    diff = next(each for each in edits[0].content if each.type == "diff" and "read_csv" in each.new_text)
    assert diff.old_text is None
    # Where the cell stood then: cells that came later may have moved it.
    assert [each.line > 1 for each in edits[0].locations] == [True]
    plans = [each for each in editor.told if each.session_update == "plan"]
    assert {entry.status for entry in plans[-1].entries} == {"completed"}
    assert (await room.get(f"runs/{session}"))["status"] == "done"


async def test_after_a_no_in_the_editor_the_run_goes_another_way(room: ControlRoom) -> None:
    room.provider.script(
        plan(task()),
        CallTool("read_web_page", {"url": "http://data.example.org/"}),
        apply(create("total = 40 + 2\ntotal", "total")),
        finish("It is 42."),
    )
    async with an_editor(room.home, room.folder, "--model", "near:one", chooses="reject_once") as editor:
        session = await editor.new(room.folder)
        await editor.say(session, "Sum the numbers.")
    [asked] = editor.asked
    assert "data.example.org" in (asked.tool_call.title or "")
    refused = [each for each in editor.told if each.session_update == "tool_call" and each.status == "failed"]
    assert "data.example.org" in refused[0].title
    assert "It is 42." in editor.texts("agent_message_chunk")
    assert (await room.get(f"runs/{session}"))["status"] == "done"


def without_lines(told: list[Any]) -> list[dict[str, Any]]:
    """Without where a cell stands in the file now: what came later may have moved it."""
    return [each.model_dump() | {"locations": None} for each in told]


async def test_a_run_killed_with_its_editor_while_the_model_thinks_is_told_once_and_ends(room: ControlRoom) -> None:
    room.provider.script(
        plan(task()), apply(create("total = 40 + 2\ntotal", "total")), Fault("slow-first-byte"), finish("It is 42.")
    )
    async with (
        an_editor(room.home, room.folder, "--model", "near:one") as editor,
        anyio.create_task_group() as tasks,
    ):
        session = await editor.new(room.folder)

        async def say() -> None:
            with pytest.raises(ConnectionError):
                await editor.say(session, "Sum the numbers.")

        tasks.start_soon(say)
        await room.until_silent()
        editor.process.kill()
        await anyio.to_thread.run_sync(room.kill)
    room.provider.release()
    await anyio.to_thread.run_sync(room.serve_again)
    async with an_editor(room.home, room.folder, "--model", "near:one") as editor:
        await editor.connection.load_session(cwd=str(room.folder), session_id=session, mcp_servers=[])
        assert (await room.until_delivered(session))["status"] == "done"
        await editor.until_told("It is 42.")
        told = without_lines(editor.told)
    calls = [each["tool_call_id"] for each in told if each["session_update"] == "tool_call"]
    assert sorted(calls) == sorted(set(calls))
    assert "total = 40 + 2" in str(told)
    assert editor.texts("agent_message_chunk").count("It is 42.") == 1
    async with an_editor(room.home, room.folder) as later:
        await later.connection.load_session(cwd=str(room.folder), session_id=session, mcp_servers=[])
        assert without_lines(later.told) == told


async def test_what_is_answered_in_the_control_room_while_the_editor_shows_it_lets_its_prompt_go_on(
    room: ControlRoom,
) -> None:
    room.provider.script(
        plan(task()),
        CallTool("read_web_page", {"url": "http://data.example.org/"}),
        apply(create("total = 40 + 2\ntotal", "total")),
        finish("It is 42."),
    )
    async with (
        an_editor(room.home, room.folder, "--model", "near:one", chooses="wait") as editor,
        anyio.create_task_group() as tasks,
    ):
        session, reasons = await editor.new(room.folder), list[str]()

        async def say() -> None:
            reasons.append((await editor.say(session, "Sum the numbers.")).stop_reason)

        tasks.start_soon(say)
        await editor.is_asked.wait()
        [question] = (await room.get(f"runs/{session}/questions"))["questions"]
        assert "data.example.org" in question["what"]
        given = {"answer": "no", "fingerprint": question["fingerprint"]}
        await room.post(f"questions/{quote(question['id'], safe='')}/answer", given)
    # The card was never answered in the editor.
    assert reasons == ["end_turn"]
    assert "It is 42." in editor.texts("agent_message_chunk")
    assert (await room.get(f"runs/{session}"))["status"] == "done"


async def test_cancelling_in_the_editor_ends_the_cells_that_run(room: ControlRoom) -> None:
    room.provider.script(apply(create("while True:\n    pass", "endless")))
    async with (
        an_editor(room.home, room.folder, "--model", "near:one") as editor,
        anyio.create_task_group() as tasks,
    ):
        session, reasons = await editor.new(room.folder), list[str]()

        async def say() -> None:
            reasons.append((await editor.say(session, "Sum the numbers.")).stop_reason)

        tasks.start_soon(say)
        with anyio.fail_after(SECONDS):
            before, busy = in_cages(room), set[int]()
            while not busy:
                await anyio.sleep(1)
                now = in_cages(room)
                busy = {pid for pid, used in now.items() if used - before.get(pid, used) > _BUSY_SECONDS}
                before = now
            at_cancel = {pid: used for pid, used in in_cages(room).items() if pid in busy}
            last = at_cancel
            await editor.connection.cancel(session_id=session)
            # Other processes end: there is no event to wait for.
            while still := {pid: used for pid, used in in_cages(room).items() if pid in busy}:
                last = last | still
                await anyio.sleep(0.01)
    assert reasons == ["cancelled"]
    # Its own seconds of processor, and none of a busy machine's: a loop that goes on for a second uses one.
    went_on = {pid: used - at_cancel[pid] for pid, used in last.items() if pid in at_cancel}
    assert went_on
    assert max(went_on.values()) < _CANCELLED_SECONDS
    assert (await room.get(f"runs/{session}"))["standing"] == "cancelled"
