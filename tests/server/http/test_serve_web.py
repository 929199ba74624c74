"""The daemon's web door: opened when somebody asks, there while a page is, gone with the daemon, back at its place."""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import httpx
import pytest

from cellwright.errors import UserError
from cellwright.server import DaemonClient, WebAddress, WebOptions, connect
from cellwright.server.http.auth.tokens import TokenStore
from tests.server.daemon_testbed import SECONDS, DaemonTestbed, eventually, lines
from tests.server.http.a_certificate import a_certificate


def wish(testbed: DaemonTestbed, port: int | None = None) -> WebOptions:
    return WebOptions(folder=str(testbed.folder), port=port)


@asynccontextmanager
async def browser(opened: WebAddress) -> AsyncGenerator[httpx.AsyncClient]:
    """What a page does with the address."""
    start = urlsplit(opened.url)
    headers = {"origin": opened.origin, "sec-fetch-site": "same-origin"}
    async with httpx.AsyncClient(
        base_url=f"{start.scheme}://{start.netloc}", headers=headers, timeout=SECONDS, trust_env=False
    ) as client:
        answer = await client.post("/api/v1/session", json={"one_time": start.fragment.removeprefix("start=")})
        answer.raise_for_status()
        client.headers["authorization"] = f"Bearer {answer.json()['token']}"
        yield client


@pytest.mark.slow
async def test_a_daemon_in_the_background_opens_its_web_server_when_asked(testbed: DaemonTestbed) -> None:
    async with connect(testbed.settings, launch=testbed.launch()) as daemon:
        assert (await daemon.status()).web == ""
        with pytest.raises(UserError, match="not open"):
            await daemon.web()
        opened = await daemon.web(wish(testbed))
        assert opened.folder == str(testbed.folder)
        assert (await daemon.status()).web == opened.origin
        async with browser(opened) as page:
            health = (await page.get("/api/v1/health")).json()
            assert set(health) == {"status", "version", "api", "page_built", "editor_problem"}
            assert (await page.get("/api/v1/session")).json()["scope"] == "admin"
        again = await daemon.web()
        assert (again.origin, again.url != opened.url) == (opened.origin, True)
        async with browser(again) as page:
            assert (await page.get("/api/v1/session")).status_code == 200


@pytest.mark.slow
async def test_clients_that_ask_at_once_open_one_web_server(testbed: DaemonTestbed) -> None:
    origins = list[str]()
    launch = testbed.launch()

    async def ask(daemon: DaemonClient) -> None:
        origins.append((await daemon.web(wish(testbed))).origin)

    async with (
        connect(testbed.settings, launch=launch) as one,
        connect(testbed.settings, launch=launch) as other,
        anyio.create_task_group() as asking,
    ):
        asking.start_soon(ask, one)
        asking.start_soon(ask, other)
    assert len(origins) == 2
    assert len(set(origins)) == 1


@pytest.mark.slow
async def test_a_wish_that_cannot_be_granted_is_refused_and_the_daemon_goes_on(testbed: DaemonTestbed) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        async with connect(testbed.settings, launch=testbed.launch()) as daemon:
            pid = (await daemon.status()).pid
            for wrong in (
                wish(testbed, port=taken.getsockname()[1]),
                WebOptions(folder=str(testbed.folder / "nowhere")),
                WebOptions(folder=str(testbed.folder), host="0.0.0.0"),
                WebOptions(folder=str(testbed.folder), certificate="/nowhere.pem", key="/nowhere.pem"),
            ):
                with pytest.raises(UserError):
                    await daemon.web(wrong)
            assert (await daemon.web(wish(testbed))).origin
            assert (await daemon.status()).pid == pid


@pytest.mark.slow
async def test_a_daemon_is_needed_while_a_page_is_connected_and_ends_afterwards(testbed: DaemonTestbed) -> None:
    async with connect(testbed.settings, launch=testbed.launch(idle_seconds=0.2)) as daemon:
        opened = await daemon.web(wish(testbed))
        async with browser(opened) as page:
            bearing, place = page.headers["authorization"], urlsplit(opened.origin)
        assert place.port is not None
        stream = await anyio.connect_tcp("127.0.0.1", place.port)
        async with stream:
            head = f"PUT /api/v1/files/x.csv HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Length: 9\r\n"
            await stream.send(f"{head}Authorization: {bearing}\r\n\r\nx".encode())
            daemon.close()
            looked = len(lines(testbed.folder / "looks.txt"))
            await anyio.to_thread.run_sync(
                lambda: eventually(lambda: len(lines(testbed.folder / "looks.txt")) > looked + 20)
            )
            assert testbed.pid is not None
    await anyio.to_thread.run_sync(testbed.until_ended)
    assert "ends: nobody needs it" in testbed.log


@pytest.mark.slow
async def test_a_page_comes_back_after_a_kill_with_its_token_at_the_same_place(testbed: DaemonTestbed) -> None:
    launch = testbed.launch()
    async with connect(testbed.settings, launch=launch) as daemon:
        opened = await daemon.web(wish(testbed))
    port = urlsplit(opened.origin).port
    assert port is not None
    async with browser(opened) as page:
        before = (await page.get("/api/v1/session")).json()
        await anyio.to_thread.run_sync(testbed.kill)
        with pytest.raises(httpx.TransportError):
            await page.get("/api/v1/session")
        async with connect(testbed.settings, launch=launch) as daemon:
            again = await daemon.web(wish(testbed, port=port))
            assert again.origin == opened.origin
            assert (await page.get("/api/v1/session")).json() == before


@pytest.mark.slow
async def test_the_web_server_closes_with_the_daemon(testbed: DaemonTestbed) -> None:
    async with connect(testbed.settings, launch=testbed.launch()) as daemon:
        opened = await daemon.web(wish(testbed))
        async with browser(opened) as page:
            await daemon.stop()
            await anyio.to_thread.run_sync(testbed.until_ended)
            with pytest.raises(httpx.TransportError):
                await page.get("/api/v1/health")
    assert "the web server is closed" in testbed.log
    assert "Traceback" not in testbed.log


async def test_no_code_and_no_token_is_in_the_log(testbed: DaemonTestbed) -> None:
    async with connect(testbed.settings, launch=testbed.launch()) as daemon:
        opened = await daemon.web(wish(testbed))
        async with browser(opened) as page:
            secrets = [opened.url.partition("=")[2], page.headers["authorization"].removeprefix("Bearer ")]
            await page.get("/api/v1/nowhere")
        await daemon.stop()
    await anyio.to_thread.run_sync(testbed.until_ended)
    for path in testbed.home.rglob("*"):
        if path.is_file():
            assert not any(secret.encode() in path.read_bytes() for secret in secrets), path


@pytest.mark.slow
async def test_a_stream_ends_soon_when_another_process_revokes_its_token(testbed: DaemonTestbed) -> None:
    async with connect(testbed.settings, launch=testbed.launch()) as daemon:
        opened = await daemon.web(wish(testbed))
        async with browser(opened) as page, page.stream("GET", "/api/v1/events") as stream:
            assert stream.status_code == 200
            tokens = TokenStore(testbed.home)
            tokens.revoke(tokens.all()[0].id)
            with anyio.fail_after(SECONDS):
                # Ends in order, not with a broken connection.
                [_ async for _ in stream.aiter_bytes()]
            assert (await page.get("/api/v1/session")).status_code == 401


@pytest.mark.slow
async def test_a_stream_that_is_open_does_not_keep_the_daemon_from_ending(testbed: DaemonTestbed) -> None:
    async with connect(testbed.settings, launch=testbed.launch()) as daemon:
        opened = await daemon.web(wish(testbed))
        async with browser(opened) as page, page.stream("GET", "/api/v1/events") as stream:
            await daemon.stop()
            with anyio.fail_after(SECONDS):
                [_ async for _ in stream.aiter_bytes()]
    await anyio.to_thread.run_sync(testbed.until_ended)
    assert "timeout graceful shutdown exceeded" not in testbed.log
    assert "Traceback" not in testbed.log


@pytest.mark.slow
async def test_the_editor_is_at_an_origin_of_its_own_that_only_the_page_may_frame(testbed: DaemonTestbed) -> None:
    async with connect(testbed.settings, launch=testbed.launch()) as daemon:
        opened = await daemon.web(wish(testbed))
        async with browser(opened) as page:
            assert (await page.get("/api/v1/health")).json()["editor_problem"] == ""
            allowed = dict(
                rule.strip().split(" ", 1)
                for rule in (await page.get("/")).headers["content-security-policy"].split(";")
            )
    assert urlsplit(allowed["frame-src"]).netloc not in {"", urlsplit(opened.origin).netloc}
    assert allowed["frame-ancestors"] == "'none'"


@pytest.mark.slow
async def test_with_a_certificate_it_speaks_tls_and_nothing_else(testbed: DaemonTestbed) -> None:
    certificate, key = a_certificate(testbed.folder)
    wanted = replace(wish(testbed), certificate=str(certificate), key=str(key))
    async with connect(testbed.settings, launch=testbed.launch()) as daemon:
        opened = await daemon.web(wanted)
        assert opened.origin.startswith("https://127.0.0.1:")
        trusting = ssl.create_default_context(cafile=str(certificate))
        async with httpx.AsyncClient(verify=trusting, timeout=SECONDS, trust_env=False) as client:
            assert (await client.get(f"{opened.origin}/api/v1/health")).json()["status"] == "ok"
            with pytest.raises(httpx.TransportError):
                await client.get(f"{opened.origin.replace('https', 'http')}/api/v1/health")
