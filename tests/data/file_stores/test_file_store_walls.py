"""What must not happen with files: a secret elsewhere, a way outside, an unknown server, an endless wait."""

from __future__ import annotations

import http.server
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import anyio
import anyio.abc
import asyncssh
import psutil
import pytest

from cellwright.background import running_pid
from cellwright.data.broker_client import BrokerClient
from cellwright.data.broker_process import broker_at
from cellwright.data.connections import DataConnection, QueryLimits, store_connection
from cellwright.data.file_stores.http_folder import links_inside
from cellwright.data.messages import ListFiles, ListStatements, ReadFile, StatFile
from cellwright.errors import CellwrightError, RefusedByPolicy, Unavailable, UserError
from cellwright.secrets import keep_secret
from tests.data.file_stores.servers import (
    CANARY,
    FileServer,
    s3_server,
    sftp_server,
    smb_server,
    web_server,
    write_files,
)
from tests.data.shop import broker_client
from tests.data.worker.tls import tls_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = write_files(tmp_path / "inside")
    (tmp_path / "outside.txt").write_text("not yours")
    (inside / "way-out").symlink_to(tmp_path / "outside.txt")
    return inside


@pytest.fixture
def sftp(folder: Path) -> Generator[FileServer]:
    with sftp_server(folder) as server:
        yield server


@pytest.fixture
def client(tmp_path: Path) -> Generator[BrokerClient]:
    with broker_client(tmp_path / "home") as client:
        yield client


def add(client: BrokerClient, connection: DataConnection, secret: str) -> None:
    store_connection(client.launch.home, connection)
    keep_secret(client.launch.home, connection.secret_name, secret, "file")


@pytest.mark.slow
async def test_a_link_that_leads_outside_is_neither_listed_nor_read(client: BrokerClient, sftp: FileServer) -> None:
    add(client, sftp.connection(), sftp.secret)
    names = [entry.path for entry in (await client.files(ListFiles(connection="lake"))).entries]
    assert names == ["readme.txt", "sales"]
    for asked in (
        client.read(ReadFile(connection="lake", path="way-out", length=3)),
        client.stat(StatFile(connection="lake", path="way-out")),
    ):
        with pytest.raises(RefusedByPolicy, match="leads outside"):
            await asked


@pytest.mark.slow
async def test_a_server_with_another_host_key_or_an_unknown_one_gets_nothing(
    client: BrokerClient, sftp: FileServer
) -> None:
    unnamed = {name: value for name, value in sftp.options.items() if name != "host_key"}
    add(client, DataConnection(name="unnamed", kind="sftp", options=unnamed), sftp.secret)
    with pytest.raises(UserError, match="is not known here") as problem:
        await client.files(ListFiles(connection="unnamed"))
    shown = problem.value.hint.partition("host_key=")[2].rstrip(".")
    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode().strip()
    add(client, sftp.connection("other", host_key=other), sftp.secret)
    with pytest.raises(UserError, match="shows another host key"):
        await client.files(ListFiles(connection="other"))
    # What it says to do helps.
    add(client, sftp.connection("named", host_key=shown), sftp.secret)
    assert (await client.files(ListFiles(connection="named"))).entries


@pytest.mark.slow
async def test_a_private_key_is_a_secret_like_a_password(client: BrokerClient, folder: Path) -> None:
    key = asyncssh.generate_private_key("ssh-ed25519")
    with sftp_server(folder, key.export_public_key().decode()) as server:
        add(client, server.connection(), key.export_private_key().decode())
        assert (await client.files(ListFiles(connection="lake"))).entries


@pytest.mark.slow
async def test_buckets_and_prefixes_that_a_connection_does_not_name_are_not_there(client: BrokerClient) -> None:
    with s3_server({"open/a.csv": b"a\n1\n", "open-not/b.csv": b"b\n", "closed/c.csv": b"c\n"}, "lake") as server:
        add(client, server.connection(buckets="lake/open"), server.secret)
        assert [each.path for each in (await client.files(ListFiles(connection="lake"))).entries] == ["lake"]
        inside = await client.files(ListFiles(connection="lake", path="lake"))
        assert [each.path for each in inside.entries] == ["lake/open"]
        every = await client.files(ListFiles(connection="lake", recursive=True))
        assert [each.path for each in every.entries] == ["lake/open/a.csv"]
        for path in ("lake/closed/c.csv", "lake/open-not/b.csv", "other-bucket/secret.txt", "lake/closed", "x"):
            with pytest.raises(UserError, match="There is no"):
                await client.read(ReadFile(connection="lake", path=path, length=1))
            with pytest.raises(UserError, match="There is no"):
                await client.files(ListFiles(connection="lake", path=path))


async def test_the_secret_is_in_no_file_but_its_own_and_in_no_environment(
    client: BrokerClient, sftp: FileServer
) -> None:
    add(client, sftp.connection(), sftp.secret)
    await client.files(ListFiles(connection="lake"))
    os.close((await client.read(ReadFile(connection="lake", path="readme.txt"))).descriptor)
    with pytest.raises(CellwrightError):
        await client.read(ReadFile(connection="lake", path="nothing"))
    home = client.launch.home
    holding = [path for path in home.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    assert [path.name for path in holding] == ["keys.json"]
    for process in workers_of(client):
        assert CANARY not in " ".join(process.cmdline())
        assert CANARY not in str(process.environ() if os.access(f"/proc/{process.pid}/environ", os.R_OK) else "")
    told = repr(await client.statements(ListStatements(most=1000)))
    assert CANARY not in told


@pytest.mark.slow
async def test_a_killed_worker_is_replaced_and_one_that_is_left_ends_what_it_reads(
    client: BrokerClient, sftp: FileServer
) -> None:
    add(client, sftp.connection(), sftp.secret)
    await client.files(ListFiles(connection="lake"))
    for process in workers_of(client):
        # Nobody but the broker can wait for it, and it does so when it next looks.
        process.kill()
    with anyio.fail_after(30):
        for _ in range(3):
            try:
                await client.stat(StatFile(connection="lake", path="readme.txt"))
                break
            except Unavailable:
                continue
        assert (await client.stat(StatFile(connection="lake", path="readme.txt"))).size == 5


@pytest.mark.slow
async def test_whoever_leaves_cancels_and_a_deadline_ends_it(client: BrokerClient) -> None:
    asked = anyio.Event()

    async def silent(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            asked.set()
            await anyio.sleep_forever()

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    async with anyio.create_task_group() as server:
        server.start_soon(listener.serve, silent)
        options = {"url": f"http://127.0.0.1:{port}"}
        add(client, DataConnection(name="silent", kind="http", options=options), "x")
        with anyio.fail_after(60):
            async with anyio.create_task_group() as leaving:
                leaving.start_soon(client.files, ListFiles(connection="silent"))
                await asked.wait()
                leaving.cancel_scope.cancel()
            lines = await client.statements(ListStatements(connection="silent"))
            while lines[0].outcome == "sending":
                lines = await client.statements(ListStatements(connection="silent"))
        assert lines[0].outcome == "cancelled"
        short = DataConnection(name="short", kind="http", options=options, limits=QueryLimits(seconds=1))
        add(client, short, "x")
        with pytest.raises(Unavailable):
            await client.files(ListFiles(connection="short"))
        server.cancel_scope.cancel()
    await listener.aclose()


class _Sending(http.server.BaseHTTPRequestHandler):
    """Sends whoever asks for `away/…` to another server, round and round for `round`, and for `moved/…` to `here/…`."""

    protocol_version = "HTTP/1.1"
    elsewhere: int
    heard: list[tuple[str, str, str | None]]

    def log_message(self, format: str, *args: object) -> None:
        del format, args

    def _answer(self) -> None:
        self.heard.append((self.command, self.path, self.headers.get("Authorization")))
        place = {"away": f"http://127.0.0.1:{self.elsewhere}/data/here/a.txt", "round": "/data/round", "up": "/other/a"}
        first = self.path.removeprefix("/data/").partition("/")[0]
        location = place.get(first) or (self.path.replace("moved", "here") if first == "moved" else "")
        self.send_response(302 if location else 200)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", "0" if location else "5")
        self.send_header("ETag", '"one"')
        self.end_headers()
        if not location and self.command == "GET":
            self.wfile.write(b"hello")

    do_GET = do_HEAD = do_PROPFIND = _answer


@contextmanager
def sending(elsewhere: int = 0) -> Generator[tuple[int, list[tuple[str, str, str | None]]]]:
    heard: list[tuple[str, str, str | None]] = []
    handler = type("_SendingElsewhere", (_Sending,), {"elsewhere": elsewhere, "heard": heard})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1], heard
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("kind", ["http", pytest.param("webdav", marks=pytest.mark.slow)])
async def test_a_redirect_is_followed_below_the_address_and_nowhere_else(
    client: BrokerClient, kind: Literal["http", "webdav"]
) -> None:
    with sending() as (other, heard_elsewhere), sending(other) as (port, heard):
        options = {"url": f"http://127.0.0.1:{port}/data", "user": "reader"}
        add(client, DataConnection(name="web", kind=kind, options=options), CANARY)
        for path in ("away/a.txt", "round", "up/a.txt"):
            for asked in (
                client.read(ReadFile(connection="web", path=path, length=5)),
                client.stat(StatFile(connection="web", path=path)),
                client.files(ListFiles(connection="web", path=path)),
            ):
                with pytest.raises(Unavailable, match="sends us"):
                    await asked
        part = await client.read(ReadFile(connection="web", path="moved/a.txt", length=5))
        with os.fdopen(part.descriptor, "rb") as file:
            assert file.read() == b"hello"
    assert heard_elsewhere == []
    assert len(heard) < 40
    assert {path.split("/")[1] for _, path, _ in heard} == {"data"}


def test_links_of_an_index_page_that_lead_elsewhere_are_passed_by() -> None:
    links = [
        "a.csv", "b/", "../up.csv", "/data/c.csv", "/other/d.csv", "http://127.0.0.1/data/e.csv", "//evil.example/f",
        "https://evil.example/data/g", "?C=N;O=D", "deep/h.csv", "./", "%2e%2e/i", "j%20k.csv", "javascript:alert(1)",
        "l%2f..%2fm",
    ]  # fmt: skip
    found = links_inside(links, "", "http://127.0.0.1/data/")
    assert [(entry.path, entry.is_folder) for entry in found] == [
        ("a.csv", False),
        ("b", True),
        ("c.csv", False),
        ("e.csv", False),
        ("j k.csv", False),
    ]


def workers_of(client: BrokerClient) -> list[psutil.Process]:
    pid = running_pid(broker_at(client.launch.home))
    return [each for each in psutil.Process(pid).children() if "cellwright.data.worker" in each.cmdline()]


@pytest.mark.slow
async def test_a_share_gives_nothing_outside_of_it_and_one_that_is_missing_is_told(
    client: BrokerClient, folder: Path, tmp_path: Path
) -> None:
    with smb_server(folder, tmp_path / "samba") as smb:
        add(client, smb.connection(), smb.secret)
        assert [entry.path for entry in (await client.files(ListFiles(connection="lake"))).entries] == [
            "readme.txt",
            "sales",
        ]
        for path in ("way-out", "../outside.txt", "sales/../../outside.txt"):
            with pytest.raises(UserError, match=r"There is no|is no path here"):
                await client.read(ReadFile(connection="lake", path=path, length=3))
        add(client, smb.connection("inner", path="sales"), smb.secret)
        assert [entry.path for entry in (await client.files(ListFiles(connection="inner"))).entries] == [
            "2024-01.csv",
            "2024-02.csv",
            "deep",
        ]
        for name, options in (("share", {"share": "nowhere"}), ("place", {"path": "nowhere"})):
            add(client, smb.connection(name, **options), smb.secret)
            with pytest.raises(CellwrightError, match=r"does not give the share '.*nowhere'"):
                await client.try_connection(name)


@pytest.mark.slow
async def test_a_web_folder_with_an_authority_of_its_own_is_trusted_by_tls_ca_alone(
    client: BrokerClient, folder: Path, tmp_path: Path
) -> None:
    files = tls_files(tmp_path)
    with web_server(folder, files) as web:
        add(client, web.connection("trusted", tls_ca=str(files.authority)), web.secret)
        found = await client.stat(StatFile(connection="trusted", path="readme.txt"))
        assert found.size == len(b"hello")
        add(client, web.connection("unknown"), web.secret)
        with pytest.raises(CellwrightError, match=r"agree on TLS|certificate"):
            await client.stat(StatFile(connection="unknown", path="readme.txt"))
        # It is for `localhost`, and for no other name.
        other = web.options["url"].replace("localhost", "127.0.0.1")
        add(client, web.connection("other", url=other, tls_ca=str(files.authority)), web.secret)
        with pytest.raises(CellwrightError, match=r"agree on TLS|certificate"):
            await client.stat(StatFile(connection="other", path="readme.txt"))
