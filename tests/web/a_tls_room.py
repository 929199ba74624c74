"""The control room over https: TLS in the daemon itself, or in a proxy before it."""

from __future__ import annotations

import shlex
import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio
from anyio.abc import AnyByteStream, SocketAttribute
from anyio.streams.tls import TLSListener
from playwright.async_api import Page, async_playwright, expect

from tests.web.a_control_room import CELLWRIGHT, CHROMIUM, MILLISECONDS, ControlRoom, open_control_room

_FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
]
_GONE = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, ssl.SSLError)


@contextmanager
def served_with(folder: Path, *options: str) -> Generator[ControlRoom]:
    """A control room that is served with these options, too."""
    wrapped = ("/bin/sh", "-c", f'exec {shlex.quote(str(CELLWRIGHT))} "$@" {shlex.join(options)}', "sh")
    with open_control_room(folder, command=wrapped) as room:
        yield room


@asynccontextmanager
async def somebody(room: ControlRoom) -> AsyncGenerator[Page]:
    """Let in, with a browser that takes any certificate and knows this machine by its name."""
    named = f"--host-resolver-rules=MAP {socket.gethostname()} 127.0.0.1"
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=[*_FLAGS, named])
        try:
            context = await browser.new_context(ignore_https_errors=True, viewport={"width": 1280, "height": 800})
            page = await context.new_page()
            page.set_default_timeout(MILLISECONDS)
            await page.goto(await room.url())
            await expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
            yield page
        finally:
            await browser.close()


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens at now."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in listeners]
    for each in listeners:
        each.close()
    return ports


@asynccontextmanager
async def speaking_tls(files: tuple[Path, Path], to_port: int) -> AsyncGenerator[str]:
    """A proxy of this machine: TLS in front, plain behind, `Host` as it came, nothing held back. Gives its origin."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    plain = await anyio.create_tcp_listener(local_host="127.0.0.1")
    listener = TLSListener(plain, context, standard_compatible=False)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, _carrying(to_port))
        yield f"https://127.0.0.1:{plain.extra(SocketAttribute.local_port)}"
        tasks.cancel_scope.cancel()


def _carrying(to_port: int) -> Callable[[AnyByteStream], Awaitable[None]]:
    async def carry(client: AnyByteStream) -> None:
        async with client, await anyio.connect_tcp("127.0.0.1", to_port) as server, anyio.create_task_group() as both:

            async def pass_on(source: AnyByteStream, sink: AnyByteStream) -> None:
                try:
                    while True:
                        await sink.send(await source.receive())
                except _GONE:
                    both.cancel_scope.cancel()

            both.start_soon(pass_on, client, server)
            both.start_soon(pass_on, server, client)

    return carry
