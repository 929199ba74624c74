"""Somebody who enters the editor as a browser does: cookies, requests and the websocket, without the drawing."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import anyio
import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin

from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.server.editor import Editor

SECONDS: Final = 240


class Frames:
    """What marimo's server says to one page."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def until(self, op: str, is_right: Callable[[Any], bool] = lambda data: True) -> Any:
        """The next frame of this kind that is right; those before it are passed over."""
        with anyio.fail_after(SECONDS):
            while True:
                frame = json.loads(await self.socket.recv())
                if frame["op"] == op and is_right(frame["data"]):
                    return frame["data"]


class Visitor:
    """A browser with its cookies, without the drawing."""

    def __init__(self, client: httpx.AsyncClient, editor: Editor, page: str) -> None:
        self.client = client
        self.editor = editor
        self.page = page
        self.key = ""
        self.html = ""

    async def enter(self, notebook: OpenNotebook, *, person: str = "ana") -> httpx.Response:
        """Open the address that was given out, and follow it."""
        first = await self.client.get(await self.editor.address(notebook, person=person), follow_redirects=False)
        answer = await self.client.get(self.editor.origin + first.headers["location"])
        self.key = str(answer.url.params["file"])
        self.html = answer.text
        return first

    @property
    def headers(self) -> dict[str, str]:
        """What marimo's frontend sends along."""
        token = self.html.partition('serverToken": "')[2].partition('"')[0]
        return {"Origin": self.editor.origin, "Marimo-Session-Id": self.page, "Marimo-Server-Token": token}

    async def post(self, path: str, body: object = None, **headers: str) -> httpx.Response:
        """Ask for something."""
        return await self.client.post(self.editor.origin + path, json=body or {}, headers=self.headers | headers)

    @asynccontextmanager
    async def connected(self, *, keeps_up: bool = True, **wanted: str) -> AsyncGenerator[Frames]:
        """The page's websocket. One that does not keep up takes no more frames than it reads."""
        query = urlencode({"file": self.key, "session_id": self.page} | wanted)
        cookies = "; ".join(f"{name}={value}" for name, value in self.client.cookies.items())
        address = f"ws://{urlsplit(self.editor.origin).netloc}/ws?{query}"
        async with connect(
            address,
            origin=Origin(self.editor.origin),
            additional_headers={"Cookie": cookies},
            max_size=None,
            # Behind frames that nobody reads, the answer to its closing would wait: ten seconds until it leaves.
            max_queue=None if keeps_up else 16,
            proxy=None,
        ) as socket:
            yield Frames(socket)


Visits = Callable[..., Visitor]
