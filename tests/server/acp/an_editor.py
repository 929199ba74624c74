"""A client as an editor is one: the SDK's own, before `cellwright acp` as a real process."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from acp import PROTOCOL_VERSION, schema, spawn_agent_process, text_block
from acp.client.connection import ClientSideConnection
from acp.connection import StreamEvent

SECONDS = 240
PROGRAM = str(Path(sys.executable).parent / "cellwright")


@dataclass
class Editor:
    """What it is told, and what its person chooses."""

    chooses: str = ""
    """The kind of the option; empty: the person closes the card. `wait`: they never come back."""
    told: list[Any] = field(default_factory=list)
    asked: list[schema.RequestPermissionRequest] = field(default_factory=list)
    frames: list[dict[str, Any]] = field(default_factory=list)
    is_asked: anyio.Event = field(default_factory=anyio.Event)
    _is_told: anyio.Event = field(default_factory=anyio.Event)
    connection: ClientSideConnection = field(init=False)
    process: Any = None

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.told.append(update)
        self._is_told.set()

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> Any:
        self.asked.append(schema.RequestPermissionRequest(session_id=session_id, tool_call=tool_call, options=options))
        self.is_asked.set()
        if self.chooses == "wait":
            await anyio.sleep_forever()
        for option in options:
            if option.kind == self.chooses:
                outcome: Any = schema.AllowedOutcome(outcome="selected", option_id=option.option_id)
                return schema.RequestPermissionResponse(outcome=outcome)
        return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))

    def on_connect(self, connection: Any) -> None:
        """Nothing to do."""

    async def new(self, folder: Path, **more: Any) -> str:
        return (await self.connection.new_session(cwd=str(folder), mcp_servers=[], **more)).session_id

    async def say(self, session: str, *words: Any) -> schema.PromptResponse:
        blocks = [text_block(each) if isinstance(each, str) else each for each in words]
        return await self.connection.prompt(session_id=session, prompt=blocks)

    async def until_told(self, words: str = "") -> None:
        """Until a message says these words; without: any message."""
        with anyio.fail_after(SECONDS):
            while "agent_message_chunk" not in self.kinds() or words not in self.texts("agent_message_chunk"):
                self._is_told = anyio.Event()
                await self._is_told.wait()

    def kinds(self) -> list[str]:
        return [each.session_update for each in self.told]

    def texts(self, kind: str) -> str:
        return "".join(each.content.text for each in self.told if each.session_update == kind)


@asynccontextmanager
async def an_editor(home: Path, folder: Path, *options: str, chooses: str = "") -> AsyncGenerator[Editor]:
    """One that was started in this folder."""
    await anyio.Path(folder).mkdir(exist_ok=True)
    editor = Editor(chooses=chooses)
    environment = {"CELLWRIGHT_HOME": str(home), "PATH": os.environ["PATH"]}

    async def see(event: StreamEvent) -> None:
        editor.frames.append(json.loads(json.dumps(event.message)))

    async with spawn_agent_process(
        editor,  # pyrefly: ignore[bad-argument-type] (it has no files and no terminals)
        PROGRAM,
        "acp",
        *options,
        cwd=folder,
        env=environment,
        transport_kwargs={"limit": 1 << 26},
        observers=[see],
        use_unstable_protocol=True,
    ) as (connection, process):
        editor.connection, editor.process = connection, process
        await connection.initialize(protocol_version=PROTOCOL_VERSION)
        yield editor
