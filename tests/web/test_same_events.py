"""The same goal through every interface leaves the same events: ids, times, and who came which way apart."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from cellwright_client import AsyncClient, calls, shapes
from mcp import Client, StdioServerParameters
from playwright.async_api import expect

from cellwright.background import current_person
from cellwright.server.http.auth.tokens import TokenStore
from tests.house.places import ROOT
from tests.runs.factory import apply, create, finish, plan, task
from tests.server.acp.an_editor import an_editor
from tests.server.http.test_clients import NODE
from tests.web.a_control_room import SECONDS, WORDS, ControlRoom, open_chromium, open_control_room, run_of

pytestmark = pytest.mark.slow
"""Each with a daemon of its own, one of them in a real browser."""


def token(room: ControlRoom) -> str:
    return TokenStore(room.home).create(name="a program", person="ada", scope="steer", seconds=3600).secret


MODEL_SAYS = (plan(task(), title="The sum"), apply(create("total = 40 + 2\ntotal", "total")), finish("42"))


# ── one entry for each interface: begins the goal, and says which run it is ──


async def by_cli(room: ControlRoom) -> None:
    command = [*room.command, "run", WORDS, "--json"]
    done = await anyio.run_process(command, env=room.environment, cwd=room.folder, check=False)
    assert done.returncode == 0, done.stderr.decode()


async def by_http(room: ControlRoom) -> None:
    async with AsyncClient(room.origin, token(room)) as client:
        await client.send(calls.start_run(shapes.NewRun(goal=WORDS)))


async def by_http_from_node(room: ControlRoom) -> None:
    program = str(ROOT / "tests/web/a_goal.ts")
    done = await anyio.run_process([str(NODE), program, room.origin, token(room), WORDS], check=False)
    assert done.returncode == 0, done.stderr.decode()


async def by_mcp(room: ControlRoom) -> None:
    variables = {"CELLWRIGHT_HOME": str(room.home)}
    server = StdioServerParameters(command=room.command[0], args=["mcp"], cwd=room.folder, env=variables)
    async with Client(server, read_timeout_seconds=SECONDS) as client:
        begun = await client.call_tool("start_run", {"goal": WORDS})
        assert not begun.is_error, begun.content


async def by_acp(room: ControlRoom) -> None:
    async with an_editor(room.home, room.folder) as editor:
        session = await editor.new(room.folder)
        assert (await editor.say(session, WORDS)).stop_reason == "end_turn"


async def by_page(room: ControlRoom) -> None:
    async with open_chromium() as browser, room.person(browser) as page:
        await page.get_by_label("Goal").fill(WORDS)
        await page.get_by_role("button", name="Start").click()
        await expect(page.get_by_role("tablist", name="Views of this run")).to_be_visible()
        assert run_of(page)


INTERFACES: dict[str, Callable[[ControlRoom], Awaitable[None]]] = {
    "the command line": by_cli,
    "the Python client": by_http,
    "the TypeScript client": by_http_from_node,
    "MCP": by_mcp,
    "ACP": by_acp,
    "the page": by_page,
}


async def events_by(start: Callable[[ControlRoom], Awaitable[None]], folder: Path) -> list[Any]:
    """What the run left behind."""
    with open_control_room(folder) as room:
        room.provider.script(*MODEL_SAYS)
        await start(room)
        async with AsyncClient(room.origin, token(room)) as client:
            [line] = (await client.send(calls.list_runs())).runs
            await room.until_delivered(line.run)
            told = await client.send(calls.read_timeline(line.run, limit=1000))
        return [comparable({"kind": each.kind, "event": each.event}, folder, line.run) for each in told.events]


def comparable(event: Any, folder: Path, run: str) -> Any:
    """The event without ids, times, and who asked."""
    text = json.dumps(event).replace(str(folder), "FOLDER").replace(run, "RUN")
    text = re.sub(r"\b[0-9a-f]{12,}\b", "ID", text)
    text = re.sub(r'"(person|by)": "(ada|' + re.escape(current_person()) + ')"', r'"\1": "PERSON"', text)
    text = re.sub(r'"(seconds|milliseconds|elapsed_seconds)": [0-9.e-]+', r'"\1": 0', text)
    # A cell that is new has a random id.
    return json.loads(re.sub(r"total \(\w{4}\)", "total (CELL)", text))


async def test_a_goal_leaves_the_same_events_whichever_way_it_came(tmp_path: Path) -> None:
    told = dict[str, list[Any]]()
    for number, (interface, start) in enumerate(INTERFACES.items()):
        (folder := tmp_path / str(number)).mkdir()
        told[interface] = await events_by(start, folder)
    first, *others = told
    assert told[first][0]["kind"] == "run-started"
    assert told[first][-1]["kind"] == "run-ended"
    for other in others:
        assert told[other] == told[first], f"{other} differs from {first}"
