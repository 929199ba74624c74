"""Secrets of buckets, APIs and file servers are where they are kept, in broker and workers, and nowhere else."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import anyio.to_thread
import psutil
import pytest

from cellwright.background import running_pid
from cellwright.data.broker_client import BrokerClient
from cellwright.data.broker_process import broker_at
from cellwright.data.connections import DataConnection, QueryLimits, store_connection
from cellwright.data.messages import ListStatements
from cellwright.secrets import keep_secret
from tests.app.web_services import API_SECRET, ApiServer, ObjectServer, name_api, write
from tests.data.file_stores.servers import CANARY, FileServer, free_port, sftp_server, webdav_server, write_files
from tests.data.process_memory import memory_with

WRONG = "canary-of-nobody-60417"
IN_CELL = "canary-of-the-cell-66173"
CELLS = (
    f"""
URL, OTHER = "@API@", "@GONE@"
HEADERS = {{"Authorization": "Bearer cellwright-secret:crm", "X-Note": "{IN_CELL}"}}
FOREIGN = {{"Authorization": "Bearer cellwright-secret:gone"}}
OBJECT = {{"Bucket": "lake", "Key": "t/a.csv"}}
""",
    """
import asyncio, io, subprocess, threading, urllib.request
import aiohttp, boto3, httpx, obstore, pandas, polars, pyarrow.dataset, requests
from obstore.store import S3Store
import cellwright_cells as cellwright
""",
    """
s3 = boto3.client("s3")
async def by_aiohttp(path):
    async with aiohttp.ClientSession(trust_env=True) as session, session.get(URL + path, headers=HEADERS) as answer:
        answer.raise_for_status()
        return await answer.text()
def in_a_thread(path):
    told = []
    def ask():
        try:
            told.append(asyncio.run(by_aiohttp(path)))
        except Exception as problem:
            told.append(problem)
    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    if isinstance(told[0], Exception):
        raise told[0]
    return told[0]
def by_urllib(path):
    return urllib.request.urlopen(urllib.request.Request(URL + path, headers=HEADERS)).read().decode()
def by_curl(path):
    command = ["curl", "-sS", "-L", "-v", "--fail", URL + path, "-H", f"Authorization: {HEADERS['Authorization']}"]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        raise OSError(ran.stdout + ran.stderr)
    return ran.stdout + ran.stderr
attempts = {
    "pandas by s3fs": lambda: len(pandas.read_csv("s3://lake/t/a.csv")),
    "pandas by s3fs missing": lambda: pandas.read_csv("s3://lake/t/nothing.csv"),
    "pandas by s3fs other bucket": lambda: pandas.read_csv("s3://vault/t/a.csv"),
    "obstore": lambda: bytes(obstore.get(S3Store("lake"), "t/a.csv").bytes()),
    "obstore missing": lambda: obstore.get(S3Store("lake"), "t/nothing.csv"),
    "obstore write": lambda: obstore.put(S3Store("lake"), "t/new.csv", b"x"),
    "urllib echo": lambda: by_urllib("/v1/echo?urllib"),
    "urllib other path": lambda: by_urllib("/v2/birds"),
    "aiohttp echo": lambda: in_a_thread("/v1/echo?aiohttp"),
    "aiohttp other path": lambda: in_a_thread("/v2/birds"),
    "curl echo": lambda: by_curl("/v1/echo?curl"),
    "curl other path": lambda: by_curl("/v2/birds"),
    "curl redirect outside": lambda: by_curl("/v1/away"),
    "requests redirect inside": lambda: requests.get(URL + "/v1/moved", headers=HEADERS).json(),
    "requests redirect outside": lambda: requests.get(URL + "/v1/away", headers=HEADERS).raise_for_status(),
    "requests redirect abroad": lambda: requests.get(URL + "/v1/abroad", headers=HEADERS),
    "requests endless": lambda: requests.get(URL + "/v1/endless", headers=HEADERS).content,
    "requests bomb": lambda: len(requests.get(URL + "/v1/bomb", headers=HEADERS).content),
    "requests slow": lambda: requests.get(URL + "/v1/slow", headers=HEADERS, timeout=2),
    "boto3": lambda: s3.get_object(Bucket="lake", Key="t/a.csv")["Body"].read(),
    "boto3 missing": lambda: s3.get_object(Bucket="lake", Key="t/nothing.csv"),
    "boto3 other bucket": lambda: s3.get_object(Bucket="vault", Key="t/a.csv"),
    "boto3 write": lambda: s3.put_object(Bucket="lake", Key="t/new.csv", Body=b"x"),
    "boto3 presigned": lambda: requests.get(s3.generate_presigned_url("get_object", OBJECT)).text,
    "polars": lambda: polars.read_parquet("s3://lake/t/a.parquet").height,
    "polars missing": lambda: polars.read_parquet("s3://lake/t/nothing.parquet"),
    "pyarrow": lambda: pyarrow.dataset.dataset("s3://lake/t/a.parquet").to_table().num_rows,
    "pyarrow other bucket": lambda: pyarrow.dataset.dataset("s3://vault/t/a.parquet").to_table(),
    "requests echo": lambda: requests.get(URL + "/v1/echo", headers=HEADERS).text,
    "requests post": lambda: requests.post(URL + "/v1/notes", headers=HEADERS).text,
    "requests busy": lambda: requests.get(URL + "/v1/busy", headers=HEADERS).raise_for_status(),
    "requests other path": lambda: requests.get(URL + "/v2/birds", headers=HEADERS).text,
    "requests foreign": lambda: requests.get(URL + "/v1/birds", headers=FOREIGN).text,
    "requests unreachable": lambda: requests.get(OTHER, headers=FOREIGN).text,
    "httpx": lambda: httpx.get(URL + "/v1/birds", headers=HEADERS).json(),
    "httpx echo": lambda: httpx.get(URL + "/v1/echo?x", headers=HEADERS).json(),
    "httpx other host": lambda: httpx.get("https://other.example/", headers=HEADERS),
    "files": lambda: cellwright.files("dav").cat_file("readme.txt"),
    "sftp": lambda: cellwright.files("drop").cat_file("readme.txt"),
    "sftp missing": lambda: cellwright.files("drop").cat_file("nothing.txt"),
    "sftp wrong password": lambda: cellwright.files("wrong_drop").ls(""),
    "files list": lambda: cellwright.files("dav").find("sales"),
    "files missing": lambda: cellwright.files("dav").cat_file("nothing.txt"),
    "files wrong password": lambda: cellwright.files("wrong").ls(""),
    "files of objects": lambda: cellwright.files("lake").cat_file("lake/t/a.csv"),
    "no such connection": lambda: cellwright.files("nothing").ls(""),
}
""",
    """
import traceback
def attempted(code):
    try:
        return repr(code())
    except Exception:
        return "failed: " + traceback.format_exc()
told = {name: attempted(code) for name, code in attempts.items()}
print({name: text[:6] == "failed" for name, text in told.items()})
""",
)
FAILED = {
    "boto3 missing", "boto3 other bucket", "boto3 write", "polars missing", "pyarrow other bucket", "requests busy",
    "pandas by s3fs missing", "pandas by s3fs other bucket", "obstore missing", "obstore write", "urllib other path",
    "aiohttp other path", "curl other path", "curl redirect outside", "requests redirect outside",
    "requests redirect abroad", "requests endless", "requests slow", "httpx other host", "files missing",
    "files wrong password", "sftp missing",
    "sftp wrong password", "no such connection",
}  # fmt: skip


def forms(secret: str) -> set[bytes]:
    """How a secret could be written; of base64 what does not depend on what is around it."""
    plain = secret.encode()
    shifted = [base64.b64encode(b" " * shift + plain) for shift in range(3)]
    coded = {each[4 if shift else 0 : len(each) // 4 * 4 - 4] for shift, each in enumerate(shifted)}
    urls = {each.translate(bytes.maketrans(b"+/", b"-_")) for each in coded}
    return {plain, quote(secret, safe="").encode(), plain.hex().encode(), plain[::-1], *coded, *urls}


@pytest.fixture
def dav(tmp_path_factory: pytest.TempPathFactory) -> Generator[FileServer]:
    with webdav_server(write_files(tmp_path_factory.mktemp("dav"))) as server:
        yield server


@pytest.fixture
def drop(tmp_path_factory: pytest.TempPathFactory) -> Generator[FileServer]:
    with sftp_server(write_files(tmp_path_factory.mktemp("drop"))) as server:
        yield server


def name_all(home: Path, api: ApiServer, store: ObjectServer, dav: FileServer, drop: FileServer) -> str:
    """Connections that work, one whose password is wrong, and one that leads nowhere; where that is."""
    name_api(home, replace(api.connection(paths="/v1"), limits=QueryLimits(megabytes=8)))
    store.name(home, store.connection())
    nowhere = f"https://localhost:{free_port()}"
    others = {
        "dav": (dav.connection("dav"), CANARY),
        "drop": (drop.connection("drop"), CANARY),
        "wrong": (dav.connection("wrong"), WRONG),
        "wrong drop": (drop.connection("wrong_drop"), WRONG),
        "gone": (DataConnection(name="gone", kind="api", options={"url": nowhere}), WRONG),
    }
    for connection, secret in others.values():
        store_connection(home, connection)
        keep_secret(home, connection.secret_name, secret, "file")
    return nowhere


@contextmanager
def host(*arguments: Path, said: Path) -> Generator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.app.exchanging_program", *map(str, arguments)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with (
        said.open("w") as errors,
        subprocess.Popen(command, **pipes, stderr=errors, text=True, cwd=Path(__file__).parents[2]) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


async def told_by(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    with anyio.fail_after(300):
        line = await anyio.to_thread.run_sync(process.stdout.readline, abandon_on_cancel=True)
    return json.loads(line)


def let_go_on(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def expect_no_process_holds(pid: int, home: Path, secrets: set[bytes]) -> None:
    """Neither the host nor its kernels; that broker and workers do shows that they would be found."""
    broker = running_pid(broker_at(home))
    assert broker is not None
    knowing = [psutil.Process(broker), *psutil.Process(broker).children(recursive=True)]
    others = [
        each for each in (psutil.Process(pid), *psutil.Process(pid).children(recursive=True)) if each not in knowing
    ]
    assert len(knowing) > 3
    # First, before they end because nobody needs them: looking into others takes its time.
    held = [_found(each, (*secrets,)) for each in knowing[1:]]
    assert all(found is None or found for found in held), knowing
    assert sum(bool(found) for found in held) > 2
    found = {each.pid: _found(each, (IN_CELL.encode(), *secrets)) or set() for each in others}
    assert sum(IN_CELL.encode() in held for held in found.values()) >= 1
    assert {pid: held - {IN_CELL.encode()} for pid, held in found.items() if held - {IN_CELL.encode()}} == {}


def _found(process: psutil.Process, wanted: tuple[bytes, ...]) -> set[bytes] | None:
    """Those that are in its memory; None: it has ended."""
    try:
        return {*memory_with(process.pid, wanted)}
    except (FileNotFoundError, ProcessLookupError):
        return None


def expect_no_file_has(folder: Path, secrets: set[bytes]) -> None:
    files = [each for each in folder.rglob("*") if each.is_file() and not each.is_symlink()]
    holding = [each for each in files if any(secret in each.read_bytes() for secret in secrets)]
    assert [each.name for each in holding] == ["keys.json"]
    assert holding[0].stat().st_mode & 0o077 == 0
    # What must be there to be looked through: audit, journal, proof, notebook.
    names = " ".join(str(each.relative_to(folder)) for each in files)
    assert all(word in names for word in ("statements", "journal.db", "proofs", "notebook.py")), names


@pytest.mark.slow
async def test_no_secret_leaves_the_broker_whatever_library_asks_and_whatever_fails(
    client: BrokerClient, api: ApiServer, store: ObjectServer, dav: FileServer, drop: FileServer, tmp_path: Path
) -> None:
    home = client.launch.home
    nowhere = name_all(home, api, store, dav, drop)
    cells = [code.strip().replace("@API@", api.url()).replace("@GONE@", nowhere) for code in CELLS]
    notebook = write(tmp_path / "project" / "notebook.py", *cells)
    secrets = {form for secret in (API_SECRET, CANARY, WRONG, store.secret) for form in forms(secret)}
    with host(home, notebook.parent, notebook, said=tmp_path / "said.txt") as process:
        ran = await told_by(process)
        await anyio.to_thread.run_sync(expect_no_process_holds, process.pid, home, secrets)
        let_go_on(process)
        proven = await told_by(process)
        await anyio.to_thread.run_sync(expect_no_process_holds, process.pid, home, secrets)
        let_go_on(process)
    assert {name for name, text in ran["told"].items() if text.startswith("failed")} == FAILED
    for name in ("requests echo", "urllib echo", "aiohttp echo", "curl echo"):
        assert "Bearer *****" in ran["told"][name]
    assert proven["verified"], proven["reasons"]
    lines = await client.statements(ListStatements(most=1000))
    assert {line.connection for line in lines} == {"crm", "lake", "dav", "drop", "wrong", "wrong_drop", "gone"}
    said = f"{ran}{proven}{lines}".encode()
    assert [form for form in secrets if form in said] == []
    await anyio.to_thread.run_sync(expect_no_file_has, tmp_path, secrets)
