"""Exchanges with an API: a real broker, a real worker, a real server that misbehaves."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import anyio
import anyio.to_thread
import psutil
import pytest

from cellwright.background import running_pid
from cellwright.data.broker_client import BrokerClient
from cellwright.data.broker_process import broker_at
from cellwright.data.connections import DataConnection, QueryLimits, store_connection
from cellwright.data.messages import Asker, ListFiles, ListStatements, OpenExchange, ReadSchema, RunQuery, SentStatement
from cellwright.errors import RefusedByPolicy, Unavailable, UserError
from cellwright.secrets import keep_secret
from tests.data.process_memory import memory_with, seen_from_outside
from tests.data.shop import broker_client
from tests.data.web_worker.api_server import API_SECRET, ApiServer, api_server
from tests.data.web_worker.conftest import name_api
from tests.data.web_worker.speaking import ask, exchange, read_answer, request_bytes
from tests.data.worker.tls import tls_files
from tests.house.places import ROOT


async def last(client: BrokerClient, statement: str = "") -> SentStatement:
    """The latest line of the audit, once it is over; that of a statement is waited for."""
    with anyio.fail_after(20):
        while True:
            [line] = await client.statements(ListStatements(connection="crm", most=1))
            if line.outcome != "sending" and statement in {"", line.statement}:
                return line


async def test_a_request_gets_the_secret_on_its_way_and_is_recorded(client: BrokerClient, api: ApiServer) -> None:
    heard = await ask(client, "GET", "/people?page=2")
    assert (heard.status, heard.body) == (200, b'{"ok": true}')
    [(method, path, headers)] = api.seen
    assert (method, path) == ("GET", "/people?page=2")
    assert headers["authorization"] == f"Bearer {API_SECRET}"
    assert (headers["accept-encoding"], headers["host"]) == ("identity", f"127.0.0.1:{api.port}")
    line = await last(client)
    assert (line.statement, line.outcome, line.status, line.bytes) == ("GET /people?page=2", "done", 200, 12)
    assert (line.person, line.run, line.access, line.sent_bytes) == ("ada", "run-1", "read", 0)


async def test_a_request_without_the_stand_in_has_no_secret(client: BrokerClient, api: ApiServer) -> None:
    heard = await exchange(client, "crm", request_bytes("GET", "/open"))
    assert heard.body == b"anybody may read this"
    assert "authorization" not in api.seen[0][2]


@pytest.mark.parametrize(
    ("method", "target", "headers"),
    [
        ("DELETE", "/people/1", {}),
        ("GET", "/a/%2e%2e/b", {}),
        ("GET", "http://127.0.0.1/people", {}),
        ("GET", "/people", {"Authorization": "Bearer of-somebody-else"}),
        ("GET", "/people", {"X-HTTP-Method-Override": "DELETE"}),
        ("GET", "/people?key=cellwright-secret:crm", {}),
    ],
)
async def test_what_is_refused_never_reaches_the_server(
    client: BrokerClient, api: ApiServer, method: str, target: str, headers: dict[str, str]
) -> None:
    heard = await ask(client, method, target, headers)
    assert heard.status == 403
    assert heard.reason.startswith("Not sent: ")
    assert heard.body.decode().strip() == heard.reason
    assert api.seen == []
    line = await last(client)
    assert (line.outcome, line.status, f"Not sent: {line.why}") == ("refused", 0, heard.reason)


@pytest.mark.parametrize(
    "raw",
    [
        b"GET /people HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabc",
        b"GET /people HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /people HTTP/1.1\r\nHost: a\r\n X: folded\r\n\r\n",
        b"GET /people HTTP/1.1\nHost: a\n\nGET /x HTTP/1.1\r\n\r\n",
        b"GET /people\r\nHTTP/1.1\r\n\r\n",
        b"GET /people HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n",
        b"GET /people HTTP/2.0\r\nHost: a\r\n\r\n",
        b"GET /people HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"GET /people HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
    ],
)
async def test_a_request_that_can_be_read_in_two_ways_is_refused(
    client: BrokerClient, api: ApiServer, raw: bytes
) -> None:
    heard = await exchange(client, "crm", raw)
    assert heard.status == 400
    assert api.seen == []
    line = await last(client)
    assert (line.statement, line.outcome) == ("a request that cannot be read", "failed")


async def test_only_the_first_request_on_a_line_is_heard(client: BrokerClient, api: ApiServer) -> None:
    heard = await exchange(client, "crm", request_bytes("GET", "/open") + request_bytes("GET", "/admin"))
    assert heard.status == 200
    assert api.paths == ["/open"]


async def test_a_secret_that_comes_back_is_masked_in_head_and_body(client: BrokerClient) -> None:
    heard = await ask(client, "GET", "/echo")
    assert heard.status == 200
    assert "set-cookie" not in heard.headers
    assert heard.headers["x-echo"] == f"Bearer {'*' * len(API_SECRET)}"
    for form in (API_SECRET, quote(API_SECRET, safe=""), API_SECRET.replace("/", "\\/")):
        assert form not in heard.text
    assert base64.b64encode(f"Bearer {API_SECRET}".encode()).decode()[12:-4] not in heard.text
    assert "masked" in (await last(client)).why


async def test_a_redirect_is_passed_on_and_not_followed(client: BrokerClient, api: ApiServer) -> None:
    heard = await ask(client, "GET", "/redirect")
    assert (heard.status, heard.headers["location"]) == (302, f"/elsewhere?key={'*' * len(API_SECRET)}")
    assert api.paths == ["/redirect"]


async def test_a_service_that_asks_to_wait_is_asked_again_and_the_audit_says_so(
    client: BrokerClient, api: ApiServer
) -> None:
    heard = await ask(client, "GET", "/busy")
    assert (heard.status, heard.body, len(api.seen)) == (200, b"now", 3)
    assert (await last(client)).why == "sent 3 times, as the service asked to wait"
    heard = await ask(client, "GET", "/always/busy")
    assert (heard.status, len(api.seen)) == (503, 7)


@pytest.mark.slow
async def test_a_change_is_never_sent_twice(client: BrokerClient, api: ApiServer) -> None:
    name_api(client.launch.home, api.url, methods="GET,POST")
    heard = await ask(client, "POST", "/always/busy", body=b"change")
    assert (heard.status, len(api.seen), api.bodies) == (503, 1, [b"change"])
    line = await last(client)
    assert (line.access, line.sent_bytes, line.statement) == ("write", 6, "POST /always/busy")


async def test_bodies_go_through_in_pieces_of_both_kinds(client: BrokerClient, api: ApiServer) -> None:
    name_api(client.launch.home, api.url, methods="GET,POST")
    body = bytes(range(256)) * 8192
    assert (await ask(client, "POST", "/people", body=body)).status == 200
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (b"one", b"two")) + b"0\r\n\r\n"
    assert (await ask(client, "POST", "/people", {"Transfer-Encoding": "chunked"}, chunks)).status == 200
    assert (await ask(client, "POST", "/people", {"Expect": "100-continue"}, b"three")).status == 200
    assert api.bodies == [body, b"onetwo", b"three"]


@pytest.mark.slow
async def test_an_answer_that_was_compressed_all_the_same_is_refused(client: BrokerClient) -> None:
    heard = await ask(client, "GET", "/bomb")
    assert heard.status == 502
    assert "compressed" in heard.reason


@pytest.mark.slow
async def test_answers_and_bodies_have_their_limits(client: BrokerClient, api: ApiServer) -> None:
    name_api(client.launch.home, api.url, limits=QueryLimits(megabytes=1), methods="GET,POST")
    heard = await ask(client, "GET", "/large")
    assert (heard.status, heard.reason) == (502, "The answer has 3 MB, and 1 are let through.")
    heard = await ask(client, "GET", "/endless")
    assert (heard.status, heard.is_whole) == (200, False)
    assert (await last(client)).why == "The answer has more than 1 MB."
    assert await anyio.to_thread.run_sync(api.left.acquire, True, 10)
    heard = await ask(client, "POST", "/people", body=bytes(2 << 20))
    assert (heard.status, heard.reason) == (403, "Not sent: a body may have 1 MB")
    chunk = b"%x\r\n%s\r\n" % (2 << 20, bytes(2 << 20))
    heard = await ask(client, "POST", "/people", {"Transfer-Encoding": "chunked"}, chunk + b"0\r\n\r\n")
    assert (heard.status, heard.reason) == (502, "A body may have 1 MB.")


@pytest.mark.slow
async def test_an_exchange_has_a_time_limit(client: BrokerClient, api: ApiServer) -> None:
    name_api(client.launch.home, api.url, limits=QueryLimits(seconds=0.5))
    heard = await ask(client, "GET", "/hold")
    assert heard.status == 504
    assert await anyio.to_thread.run_sync(api.left.acquire, True, 10)


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/smuggle", "/headers", "/upgrade"])
async def test_a_server_that_breaks_the_protocol_is_told_as_that(client: BrokerClient, path: str) -> None:
    heard = await ask(client, "GET", path)
    assert heard.status == 502
    assert (await last(client)).outcome == "failed"


async def test_an_answer_that_ends_early_does_not_look_whole(client: BrokerClient) -> None:
    heard = await ask(client, "GET", "/liar")
    assert (heard.status, heard.is_whole) == (200, False)
    assert (await last(client)).outcome == "failed"


@pytest.mark.parametrize("path", ["/hold", "/endless"])
async def test_a_client_that_leaves_cancels_the_exchange(client: BrokerClient, api: ApiServer, path: str) -> None:
    line = await client.exchange(OpenExchange(connection="crm", asker=Asker()))
    line.sendall(request_bytes("GET", path))
    assert await anyio.to_thread.run_sync(api.held.acquire, True, 10)
    line.close()
    assert await anyio.to_thread.run_sync(api.left.acquire, True, 10)
    assert (await last(client)).outcome == "cancelled"


async def test_of_a_change_whose_answer_nobody_heard_it_is_unknown_whether_it_was_made(
    client: BrokerClient, api: ApiServer
) -> None:
    name_api(client.launch.home, api.url, methods="POST")
    line = await client.exchange(OpenExchange(connection="crm", asker=Asker()))
    line.sendall(request_bytes("POST", "/hold", body=b"change"))
    assert await anyio.to_thread.run_sync(api.held.acquire, True, 10)
    line.close()
    assert await anyio.to_thread.run_sync(api.left.acquire, True, 10)
    assert (await last(client)).outcome == "unknown"
    line = await client.exchange(OpenExchange(connection="crm", asker=Asker()))
    line.sendall(request_bytes("POST", "/people", {"Content-Length": "100"}, b"half"))
    line.close()
    # It left before anything was recorded: the line before is not the one that is meant.
    told = await last(client, "POST /people")
    assert (told.outcome, told.sent_bytes) == ("unknown", 4)


@pytest.mark.slow
async def test_a_client_that_says_nothing_does_not_keep_the_line_open(client: BrokerClient, api: ApiServer) -> None:
    name_api(client.launch.home, api.url, limits=QueryLimits(seconds=0.5))
    assert (await exchange(client, "crm", b"GET /peo")).status == 504


async def test_a_client_that_says_no_more_still_hears_the_answer(client: BrokerClient) -> None:
    line = await client.exchange(OpenExchange(connection="crm", asker=Asker()))
    line.sendall(request_bytes("GET", "/open"))
    line.shutdown(1)
    heard = await anyio.to_thread.run_sync(read_answer, line)
    line.close()
    assert heard.body == b"anybody may read this"


async def test_many_exchanges_share_one_worker(client: BrokerClient, api: ApiServer) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(ask, client, "GET", f"/people/{number}")
    assert sorted(api.paths) == sorted(f"/people/{number}" for number in range(20))
    assert len(workers(client)) == 1


async def test_a_worker_with_an_old_secret_is_not_used_again(client: BrokerClient, api: ApiServer) -> None:
    assert (await ask(client, "GET", "/people")).status == 200
    [before] = workers(client)
    keep_secret(client.launch.home, "data:crm", "another-secret", "file")
    assert (await ask(client, "GET", "/people")).status == 401
    assert api.seen[-1][2]["authorization"] == "Bearer another-secret"
    [after] = workers(client)
    assert before.pid != after.pid


@pytest.mark.slow
async def test_a_worker_that_is_killed_leaves_a_line_and_the_next_request_works(
    client: BrokerClient, api: ApiServer
) -> None:
    name_api(client.launch.home, api.url, methods="GET,POST")
    lines = [await client.exchange(OpenExchange(connection="crm", asker=Asker())) for _ in range(2)]
    lines[0].sendall(request_bytes("GET", "/hold"))
    lines[1].sendall(request_bytes("POST", "/hold", body=b"x"))
    for _ in lines:
        assert await anyio.to_thread.run_sync(api.held.acquire, True, 10)
    [worker] = workers(client)
    os.kill(worker.pid, signal.SIGKILL)
    for line in lines:
        assert await anyio.to_thread.run_sync(line.recv, 100) == b""
        line.close()
    with anyio.fail_after(20):
        while "sending" in (told := [each.outcome for each in await client.statements(ListStatements(most=2))]):
            pass
    assert sorted(told) == ["failed", "unknown"]
    assert (await ask(client, "GET", "/people")).status == 200


@pytest.mark.slow
async def test_a_broker_that_is_killed_takes_its_worker_along(tmp_path: Path, api: ApiServer) -> None:
    with broker_client(tmp_path / "home") as client:
        name_api(client.launch.home, api.url, methods="POST")
        line = await client.exchange(OpenExchange(connection="crm", asker=Asker()))
        line.sendall(request_bytes("POST", "/hold", body=b"x"))
        assert await anyio.to_thread.run_sync(api.held.acquire, True, 10)
        [worker] = workers(client)
        broker = running_pid(broker_at(client.launch.home))
        assert broker is not None
        os.kill(broker, signal.SIGKILL)
        assert await anyio.to_thread.run_sync(line.recv, 100) == b""
        line.close()
        await anyio.to_thread.run_sync(worker.wait, 10)
        assert await anyio.to_thread.run_sync(api.left.acquire, True, 10)
        assert (await last(client)).outcome == "unknown"


@pytest.mark.slow
async def test_requests_take_the_persons_proxy_but_not_to_this_machine(tmp_path: Path, api: ApiServer) -> None:
    proxy = f"http://ada:word@127.0.0.1:{api.port}"
    with broker_client(tmp_path / "home", HTTP_PROXY=proxy, http_proxy=proxy, NO_PROXY="", no_proxy="") as client:
        name_api(client.launch.home, "http://crm.invalid", tls="off")
        assert (await ask(client, "GET", "/people")).status == 200
        name_api(client.launch.home, api.url)
        assert (await ask(client, "GET", "/people")).status == 200
    assert api.paths == ["http://crm.invalid/people", "/people"]
    assert api.seen[0][2]["proxy-authorization"].startswith("Basic ")


async def test_connections_are_asked_in_their_own_way_only(client: BrokerClient) -> None:
    home = client.launch.home
    store_connection(home, DataConnection(name="file", kind="sqlite", options={"path": "/nowhere.db"}))
    with pytest.raises(UserError, match="takes no SQL"):
        await client.query(RunQuery(connection="crm", statement="select 1"))
    with pytest.raises(UserError, match="takes no SQL"):
        await client.schema(ReadSchema(connection="crm"))
    with pytest.raises(UserError, match="no HTTP requests"):
        await client.exchange(OpenExchange(connection="file", asker=Asker()))
    with pytest.raises(UserError, match="No connection is called"):
        await client.exchange(OpenExchange(connection="nobody", asker=Asker()))
    with pytest.raises(UserError, match="no files"):
        await client._ask(ListFiles(connection="crm"))


async def test_another_projects_notebooks_get_no_line(client: BrokerClient, api: ApiServer, tmp_path: Path) -> None:
    crm = DataConnection(name="crm", kind="api", options={"url": api.url}, projects=(str(tmp_path / "mine"),))
    store_connection(client.launch.home, crm)
    with pytest.raises(RefusedByPolicy):
        await client.exchange(OpenExchange(connection="crm", asker=Asker(project=str(tmp_path / "other"))))


@pytest.mark.slow
async def test_a_trial_says_what_is_wrong(client: BrokerClient, api: ApiServer, tmp_path: Path) -> None:
    home = client.launch.home
    tried = await client.try_connection("crm")
    assert (tried.tables, "answers 200 to /" in tried.server) == (None, True)
    keep_secret(home, "data:crm", "a-wrong-secret", "file")
    with pytest.raises(UserError, match="does not accept the user or the secret"):
        await client.try_connection("crm")
    name_api(home, "http://127.0.0.1:1")
    with pytest.raises(Unavailable, match="cannot be reached: Nobody answers there"):
        await client.try_connection("crm")
    name_api(home, "https://no-such-host.invalid")
    with pytest.raises(Unavailable, match="cannot be reached"):
        await client.try_connection("crm")
    files = tls_files(tmp_path)
    with api_server(files) as secure:
        name_api(home, f"https://localhost:{secure.port}")
        with pytest.raises(UserError, match="certificate"):
            await client.try_connection("crm")
        name_api(home, f"https://localhost:{secure.port}", tls_ca=str(files.authority))
        assert (await client.try_connection("crm")).tables is None
        assert (await ask(client, "GET", "/people")).status == 200
        name_api(home, f"https://localhost:{api.port}", tls_ca=str(files.authority))
        with pytest.raises(UserError, match="TLS"):
            await client.try_connection("crm")


async def test_the_secret_is_in_no_environment_argument_log_or_file(client: BrokerClient) -> None:
    await ask(client, "GET", "/echo")
    await ask(client, "GET", f"/people?q={quote(API_SECRET)}")
    await anyio.to_thread.run_sync(expect_it_is_only_where_it_is_kept, client)
    assert API_SECRET not in str(await client.statements(ListStatements(most=50)))


def expect_it_is_only_where_it_is_kept(client: BrokerClient) -> None:
    home, secret = client.launch.home, API_SECRET.encode()
    broker = running_pid(broker_at(home))
    assert broker is not None
    [worker] = workers(client)
    for pid in (broker, worker.pid):
        assert secret not in seen_from_outside(pid)
    files = [file for file in home.rglob("*") if file.is_file()]
    assert [file.name for file in files if secret in file.read_bytes()] == ["keys.json"]
    assert "statements.db" in {file.name for file in files}


def test_whoever_asks_never_has_the_secret_in_memory(client: BrokerClient) -> None:
    program = [sys.executable, "-m", "tests.data.web_worker.asking_program", str(client.launch.home)]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as asking:
        assert asking.stdout is not None
        assert asking.stdout.readline() == b"200 200\n"
        found = set(memory_with(asking.pid, (b"canary-of-the-asker-55012", API_SECRET.encode())))
        asking.communicate(timeout=20)
    # What it has can be found in this way, so what cannot be found is not there.
    assert found == {b"canary-of-the-asker-55012"}


def workers(client: BrokerClient) -> list[psutil.Process]:
    """Web workers of a broker that are not ending."""
    broker = running_pid(broker_at(client.launch.home))
    assert broker is not None
    found = [child for child in psutil.Process(broker).children() if "cellwright.data.web_worker" in child.cmdline()]
    return [child for child in found if child.status() != psutil.STATUS_ZOMBIE]
