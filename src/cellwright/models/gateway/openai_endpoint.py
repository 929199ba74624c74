"""The OpenAI-compatible endpoint: other programs use our keys, budgets and fallback, and see no key.

It listens on loopback only. A web server is loaded when the first program connects: until then it costs nothing.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from socket import socket

import anyio
import anyio.to_thread

from cellwright.models.gateway.openai_account import Account
from cellwright.models.gateway.openai_address import Address, bind
from cellwright.models.gateway.work import Work

__all__ = ["Account", "open_endpoint"]


@asynccontextmanager
async def open_endpoint(work: Work, *, home: Path, account: Account) -> AsyncGenerator[Address]:
    """The endpoint, listening for as long as the context is open. Raises `UserError` if its file is no secret."""
    listener, address = await anyio.to_thread.run_sync(bind, home)
    with listener:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_serve, listener, address, work, account)
            yield address
            tasks.cancel_scope.cancel()


async def _serve(listener: socket, address: Address, work: Work, account: Account) -> None:
    await anyio.wait_readable(listener)
    from cellwright.models.gateway.openai_http import Pages, serve

    await serve(Pages(work, account).application(address), listener)
