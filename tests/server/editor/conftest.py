"""What tests of the editor share: an editor that is open, and visitors that enter it as a browser does."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import httpx
import pytest

from cellwright.server.editor import Editor, open_editor
from tests.server.editor.visitor import SECONDS, Visitor, Visits

PAGE_ORIGIN = "http://127.0.0.1:8300"


@pytest.fixture
async def editor() -> AsyncGenerator[Editor]:
    async with open_editor(page_origins=[PAGE_ORIGIN]) as opened:
        yield opened


@pytest.fixture
async def visit(editor: Editor) -> AsyncGenerator[Visits]:
    """`visitor = visit("s_one")`: a browser that has been nowhere yet, whose page calls itself that."""
    clients: list[httpx.AsyncClient] = []

    def make(page: str = "s_first") -> Visitor:
        clients.append(httpx.AsyncClient(trust_env=False, timeout=SECONDS))
        return Visitor(clients[-1], editor, page)

    yield make
    for client in clients:
        await client.aclose()
