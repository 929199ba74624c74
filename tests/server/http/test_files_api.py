"""Files over HTTP: what lies in the folder, and uploads that are whole or not there."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import anyio
import httpx
import pytest

from cellwright.server.http.auth.middleware import RequestLimits
from tests.server.http.a_served_folder import API, SECONDS, RunsTestbed, Served, serve, tiny_runs

MOST_BYTES = 3 << 20


@pytest.fixture(scope="module")
async def live(tmp_path_factory: pytest.TempPathFactory, template: Path) -> AsyncGenerator[RunsTestbed]:
    async with tiny_runs(tmp_path_factory.mktemp("live"), template) as found:
        yield found


@pytest.fixture(scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory, live: RunsTestbed) -> AsyncGenerator[Served]:
    folder = tmp_path_factory.mktemp("served") / "folder"
    async with serve(folder, *live, limits=RequestLimits(file_bytes=MOST_BYTES)) as opened:
        yield opened


@pytest.fixture
async def served(door: Served) -> AsyncGenerator[Served]:
    yield door
    await door.clear()


async def test_files_and_folders_are_listed_without_links_and_secrets(served: Served, tmp_path: Path) -> None:
    (served.folder / "reports/old").mkdir(parents=True)
    (served.folder / "sales.csv").write_text("a,b\n1,2\n")
    (served.folder / ".env").write_text("TOKEN=x")
    (served.folder / "server.pem").write_text("-----BEGIN PRIVATE KEY-----")
    (tmp_path / "outside.csv").write_text("secret")
    (served.folder / "link.csv").symlink_to(tmp_path / "outside.csv")
    os.mkfifo(served.folder / "pipe")
    (served.folder / os.fsdecode(b"caf\xe9.csv")).write_text("a name that is no text")

    listing = await served.get("/files")

    assert [(each["name"], each["is_folder"], each["bytes"]) for each in listing["entries"]] == [
        ("reports", True, 0),
        ("sales.csv", False, 8),
    ]
    inside = await served.get("/files", params={"path": "reports"})
    assert [each["path"] for each in inside["entries"]] == ["reports/old"]


@pytest.mark.parametrize("path", ["..", "../home", "/etc", "reports/../..", "link", "link/deeper", "a\0b", "x" * 500])
async def test_no_path_leads_out_of_the_folder(served: Served, path: str) -> None:
    (served.folder / "link").symlink_to(served.testbed.settings.home)
    answer = await served.client.get(f"{API}/files", params={"path": path})
    assert answer.status_code in {400, 403, 404}
    assert "keys" not in answer.text
    assert "journal.db" not in answer.text


async def test_an_upload_is_kept_byte_for_byte_in_the_data_folder(served: Served) -> None:
    content = os.urandom(2_500_000)

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(content), 100_000):
            yield content[start : start + 100_000]

    kept = await served.ask("PUT", "/files/sensor data.bin", content=chunks())

    assert kept == {"path": "data/sensor data.bin", "bytes": len(content)}
    assert (served.folder / kept["path"]).read_bytes() == content
    assert [path.name for path in (served.folder / "data").iterdir()] == ["sensor data.bin"]


async def test_uploads_of_one_name_never_overwrite_each_other(served: Served) -> None:
    (served.folder / "data").mkdir()
    (served.folder / "data/sales.csv").write_text("mine")
    kept = dict[str, str]()

    async def upload(text: str) -> None:
        kept[(await served.ask("PUT", "/files/sales.csv", content=text.encode()))["path"]] = text

    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(upload, f"upload {number}")

    assert sorted(kept) == [f"data/sales-{number}.csv" for number in range(2, 8)]
    assert {path: (served.folder / path).read_text() for path in kept} == kept
    assert (served.folder / "data/sales.csv").read_text() == "mine"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [".env", "..", "a%2Fb", "..%2Fx.csv", "a%5Cb", "%00", "a%0Ab", "%20x", "x" * 250])
async def test_what_is_no_plain_name_is_refused(served: Served, name: str) -> None:
    answer = await served.client.put(f"{API}/files/{name}", content=b"x")
    assert answer.status_code in {400, 404, 405}, answer.text
    assert not (served.folder / "data").exists()


@pytest.mark.slow
async def test_an_upload_into_a_linked_data_folder_is_refused(served: Served, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (served.folder / "data").symlink_to(elsewhere)
    answer = await served.client.put(f"{API}/files/x.csv", content=b"x")
    assert answer.status_code in {403, 404}
    assert [*elsewhere.iterdir()] == []


async def test_of_an_upload_that_is_too_large_nothing_stays(served: Served) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(1 + MOST_BYTES // 100_000):
            yield bytes(100_000)

    answer = await served.client.put(f"{API}/files/huge.bin", content=endless())
    assert answer.status_code == 413
    assert [*(served.folder / "data").iterdir()] == []


async def test_of_an_upload_that_is_cut_off_nothing_stays(served: Served) -> None:
    data = served.folder / "data"

    async def broken() -> AsyncIterator[bytes]:
        yield bytes(2 << 20)
        with anyio.fail_after(SECONDS):
            while not [*data.glob(".*.arriving")]:  # noqa: ASYNC110 (the server writes)
                await anyio.sleep(0.01)
        raise httpx.WriteError("the cable was pulled")

    with pytest.raises(httpx.WriteError):
        await served.client.put(f"{API}/files/half.bin", content=broken())
    with anyio.fail_after(SECONDS):
        while [*data.iterdir()]:  # noqa: ASYNC110 (the server cleans up)
            await anyio.sleep(0.01)


async def test_who_may_only_read_cannot_upload(served: Served) -> None:
    answer = await served.client.put(f"{API}/files/x.csv", content=b"x", headers=served.bearing("read"))
    assert answer.status_code == 403
    assert not (served.folder / "data").exists()
    await served.get("/files", headers=served.bearing("read"))
