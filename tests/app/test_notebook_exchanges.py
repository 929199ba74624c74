"""Requests of a notebook's cells to APIs and object stores, in real cages, completed by a real broker."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cellwright.app.notebook_connections import open_notebook_connections
from cellwright.app.notebook_exchanges import exchange_egress, open_notebook_exchanges
from cellwright.app.notebooks import Files, open_notebook
from cellwright.app.run_network import Network, NetworkPolicy, open_network_access
from cellwright.app.verification import verify_notebook
from cellwright.data.broker_client import BrokerClient
from cellwright.data.connections import store_connection
from cellwright.data.messages import ListStatements
from cellwright.journal.records import Records
from cellwright.kernel.pool import KernelPool
from cellwright.policy.actions import QueryConnection, UseNetwork
from cellwright.policy.built_in import BUILT_IN_RULES
from cellwright.policy.rule_file import read_rules
from cellwright.runs.events import EVENT_TYPES, HostVisited
from cellwright.runs.verify.verification import Verified
from cellwright.settings import Settings
from tests.agents.driver import KEY
from tests.app.web_services import ApiServer, ObjectServer, asking, name_api, opening, told, write
from tests.data.shop import finished_statements


def nothing(wanted: QueryConnection) -> bool:
    return False


CLIENTS = {
    "requests": "import requests\nprint(requests.get(URL, headers=HEADERS).json()[0]['bird'])",
    "httpx": "import httpx\nprint(httpx.get(URL, headers=HEADERS).json()[0]['bird'])",
    "urllib": """
import json, urllib.request
print(json.load(urllib.request.urlopen(urllib.request.Request(URL, headers=HEADERS)))[0]["bird"])
""",
    "aiohttp": """
import aiohttp, asyncio, threading
async def ask():
    async with aiohttp.ClientSession(trust_env=True) as session, session.get(URL, headers=HEADERS) as answer:
        return await answer.json()
found = []
thread = threading.Thread(target=lambda: found.extend(asyncio.run(ask())))
thread.start()
thread.join()
print(found[0]["bird"])
""",
    "curl": """
import json, subprocess
command = ["curl", "-sS", "--fail", URL, "-H", f"Authorization: {HEADERS['Authorization']}"]
print(json.loads(subprocess.run(command, capture_output=True, check=True).stdout)[0]["bird"])
""",
}


@pytest.mark.slow
async def test_five_clients_ask_an_api_without_its_secret(
    client: BrokerClient, pool: KernelPool, api: ApiServer, tmp_path: Path
) -> None:
    name_api(client.launch.home, api.connection())
    before = len(api.heard)
    async with opening(client, pool, tmp_path / "project") as notebook:
        for code in CLIENTS.values():
            assert await told(notebook, asking(api.url("/v1/birds"), code)) == "wren"
        # Many requests go over one connection, and each is one exchange.
        session = (
            "import requests\nwith requests.Session() as s:\n    print([s.get(URL, headers=HEADERS).ok for _ in '123'])"
        )
        assert await told(notebook, asking(api.url("/v1/birds"), session)) == "[True, True, True]"
    # The first of the session is one that `requests` sent already.
    assert api.heard[before:] == ["GET /v1/birds"] * 7
    lines = await finished_statements(client, ListStatements())
    assert {(line.connection, line.statement, line.outcome) for line in lines} == {("crm", "GET /v1/birds", "done")}


FOLLOWING = {
    "requests": "import requests\nr = requests.get(URL, headers=HEADERS)\nprint(r.status_code, r.text)",
    "httpx": """
import httpx
r = httpx.get(URL, headers=HEADERS, follow_redirects=True)
print(r.status_code, r.text)
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("library", FOLLOWING)
async def test_a_redirect_is_followed_inside_of_the_connection_and_nowhere_else(
    library: str, client: BrokerClient, pool: KernelPool, api: ApiServer, tmp_path: Path
) -> None:
    name_api(client.launch.home, api.connection(paths="/v1"))
    before, strangers = len(api.heard), len(api.strangers)
    async with opening(client, pool, tmp_path / "project") as notebook:

        async def asked(path: str) -> str:
            return await told(notebook, asking(api.url(path), FOLLOWING[library]))

        moved = await asked("/v1/moved")
        assert moved.startswith("200 "), moved
        assert "wren" in moved
        assert api.heard[before:] == ["GET /v1/moved", "GET /v1/birds"]
        away, abroad = await asked("/v1/away"), await asked("/v1/abroad")
        assert away.startswith("403 "), away
        assert "wren" not in abroad
    # What leads outside is not sent, with the secret or without.
    assert api.heard[before + 2 :] == ["GET /v1/away", "GET /v1/abroad"]
    assert len(api.strangers) == strangers


LOOK = """
import os, re, requests
def count(piece):
    # Never put together here, or it would be found for that.
    ends = [found.end() for found in re.finditer(b"canary-token-", piece)]
    return sum(piece[end : end + 16][::-1] == b"31277-ipa-eht-fo" for end in ends)
echo = requests.get(URL, headers=HEADERS).text
found = ["echo"] if count(echo.encode()) else []
places = ["/proc/self/environ", "/proc/1/environ"]
for top in ("/etc", "/home", "/tmp", "/project", "/run"):
    places += [os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names]
for place in places:
    try:
        with open(place, "rb") as file:
            found += [place] if count(file.read(1 << 22)) else []
    except OSError:
        pass
counts = [0, 0]
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
    for line in maps:
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        if "r" in line.split()[1] and end - start < 1 << 28 and "[v" not in line:
            try:
                memory.seek(start)
                piece = memory.read(end - start)
            except (OSError, ValueError, OverflowError):
                continue
            counts[0] += count(piece)
            counts[1] += len(re.findall(b"PRIVATE KEY-----\\n[A-Za-z0-9+/]{40}", piece))
            del piece
print(found, counts, len(places) > 10, "authorization" in echo.lower())
"""


async def test_an_echoed_secret_is_masked_and_in_no_place_of_the_cage(
    client: BrokerClient, pool: KernelPool, api: ApiServer, tmp_path: Path
) -> None:
    name_api(client.launch.home, api.connection())
    before = len(api.heard)
    async with opening(client, pool, tmp_path / "project") as notebook:
        said = await told(notebook, asking(api.url("/v1/echo"), LOOK))
    assert api.heard[before:] == ["GET /v1/echo"]
    assert said == "[] [0, 0] True True"


ATTEMPTS = """
import requests, json
told = []
def attempt(**asked):
    asked = {"method": "GET", "url": URL, "headers": HEADERS} | asked
    try:
        answer = requests.request(**asked, allow_redirects=False)
        told.append(f"{answer.status_code} {answer.reason} {answer.text}")
    except Exception as problem:
        told.append(str(problem))
for asked in ASKED:
    attempt(**asked)
print(json.dumps(told))
"""


@pytest.mark.slow
async def test_what_the_connection_does_not_allow_is_not_sent(
    client: BrokerClient, pool: KernelPool, api: ApiServer, tmp_path: Path
) -> None:
    name_api(client.launch.home, api.connection(paths="/v1"))
    base = api.url()
    asked: list[dict[str, Any]] = [
        {"method": "POST", "data": "x"},
        {"method": "DELETE"},
        {"url": f"{base}/v2/birds"},
        {"url": f"{base}/v1/../v2/birds"},
        {"url": f"{base}/v1/%2e%2e/v2"},
        {"url": "https://other.example/v1/birds"},
        {"url": f"https://127.0.0.1:{api.port}/v1/birds"},
        {"url": f"http://localhost:{api.port + 1}/v1/birds"},
        {"headers": {"Authorization": "Bearer cellwright-secret:other"}},
        {"headers": {"Authorization": "Bearer mine"}},
        {"headers": {"Host": "other.example", "Authorization": "Bearer cellwright-secret:crm"}},
        {"headers": {"X-Forwarded": "cellwright-secret:crm"}},
    ]
    before = (len(api.heard), len(api.strangers))
    async with opening(client, pool, tmp_path / "project") as notebook:
        said = await told(notebook, asking(f"{base}/v1/birds", f"ASKED = {asked!r}\n{ATTEMPTS}"))
        answers = json.loads(said)
        assert await told(notebook, asking(f"{base}/v1/birds", CLIENTS["requests"])) == "wren"
    assert [answer for answer in answers if "403" not in answer and "400" not in answer] == []
    assert "'localhost'" in answers[8]
    assert (len(api.heard), len(api.strangers)) == (before[0] + 1, before[1])


HOSTILE = """
import json, os, socket, ssl
PORT = {port}
told = {{}}
def tunnel(name="localhost", sni="localhost"):
    stream = socket.create_connection(("127.0.0.1", 3128), timeout=30)
    stream.sendall(f"CONNECT {{name}}:{{PORT}} HTTP/1.1\\r\\nHost: {{name}}:{{PORT}}\\r\\n\\r\\n".encode())
    stream.recv(4096)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(stream, server_hostname=sni)
def say(data, **names):
    try:
        with tunnel(**names) as stream:
            stream.sendall(data)
            found = b""
            while piece := stream.recv(65536):
                found += piece
            return found.decode("latin-1")
    except OSError as problem:
        return str(problem)
GET = f"GET /v1/birds HTTP/1.1\\r\\nHost: localhost:{{PORT}}\\r\\nAuthorization: Bearer cellwright-secret:crm\\r\\n"
told["sni"] = say(b"", sni="other.example")
told["host"] = say(GET.replace("localhost", "other.example").encode() + b"\\r\\n")
told["two hosts"] = say(GET.encode() + b"Host: other.example\\r\\n\\r\\n")
told["lengths"] = say(GET.encode() + b"Content-Length: 5\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n")
smuggled = b"0\\r\\n\\r\\nGET /v2/smuggled HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"
LAST = b"Connection: close\\r\\n\\r\\n"
told["hidden in a body"] = say(GET.encode() + b"Content-Length: %d\\r\\n" % len(smuggled) + LAST + smuggled)
told["other path behind"] = say(GET.encode() + b"\\r\\n" + GET.replace("/v1/", "/v2/").encode() + LAST)
told["split"] = say(GET.replace("/v1/birds", "/v1/birds%0d%0aX: y").encode() + b"Connection: close\\r\\n\\r\\n")
told["key"] = say(b"GET /authority.key HTTP/1.1\\r\\nHost: localhost:%d\\r\\nConnection: close\\r\\n\\r\\n" % PORT)
told["own port"] = ""
for line in (b"GET /authority.key", b"GET http://127.0.0.1:3128/authority.key", b"GET /proc/self/environ", b"TRACE /"):
    with socket.create_connection(("127.0.0.1", 3128), timeout=30) as stream:
        stream.sendall(line + b" HTTP/1.1\\r\\nHost: 127.0.0.1:3128\\r\\nConnection: close\\r\\n\\r\\n")
        while piece := stream.recv(65536):
            told["own port"] += piece.decode("latin-1")
with open(os.environ["SSL_CERT_FILE"]) as file:
    told["trusted"] = "PRIVATE" in file.read()
idle = [socket.create_connection(("127.0.0.1", 3128), timeout=30) for _ in range(200)]
told["after a flood"] = say(GET.encode() + b"Connection: close\\r\\n\\r\\n")
print(json.dumps(told))
"""


@pytest.mark.slow
async def test_a_hostile_cell_gets_no_key_and_nothing_past_the_rules(
    client: BrokerClient, pool: KernelPool, api: ApiServer, tmp_path: Path
) -> None:
    name_api(client.launch.home, api.connection(paths="/v1"))
    before = len(api.heard)
    async with opening(client, pool, tmp_path / "project") as notebook:
        said = await told(notebook, HOSTILE.format(port=api.port))
    told_by = json.loads(said)
    assert "ACCESS_DENIED" in told_by["sni"].upper().replace(" ", "_")
    for name in ("host", "two hosts", "lengths"):
        assert told_by[name].startswith("HTTP/1.1 400 the request is malformed"), name
    assert told_by["hidden in a body"].count("HTTP/1.1 ") == 1
    assert [line.split(" ", 2)[1] for line in told_by["other path behind"].split("HTTP/1.1")[1:]] == ["200", "403"]
    assert "PRIVATE" not in said
    assert told_by["own port"].count("HTTP/1.1 40") == 4
    assert told_by["trusted"] is False
    assert "wren" in told_by["after a flood"]
    assert not [request for request in api.heard[before:] if "/v1/birds" not in request or "X:" in request]
    assert not [request for request in api.strangers if "smuggled" in request or "v2" in request]


@pytest.mark.slow
async def test_an_api_is_asked_by_a_notebooks_own_leave_and_changed_only_by_leave_to_write(
    client: BrokerClient, pool: KernelPool, api: ApiServer, tmp_path: Path
) -> None:
    name_api(client.launch.home, api.connection(methods="GET,POST"))
    code = asking(api.url("/v1/birds"), CLIENTS["requests"])
    post = asking(
        api.url("/v1/notes"), "import requests\nr = requests.post(URL, headers=HEADERS)\nprint(r.status_code, r.reason)"
    )

    def may_write(wanted: QueryConnection) -> bool:
        return (wanted.access, wanted.statement) == ("write", "POST /v1/notes")

    folder, before = tmp_path / "project", len(api.heard)
    async with (
        opening(client, pool, folder, "granted.py", named=("crm",), may_query=nothing) as granted,
        opening(client, pool, folder, "other.py", may_query=nothing) as other,
        opening(client, pool, folder, "writer.py", named=("crm",), may_query=may_write) as writer,
    ):
        assert await told(granted, code) == "wren"
        refused = await told(other, code)
        assert "the connection 'crm' is not approved for this notebook" in refused
        assert "may only read the connection 'crm': 'POST /v1/notes' would change something" in await told(
            granted, post
        )
        assert await told(writer, post) == "200 OK"
    assert api.heard[before:] == ["GET /v1/birds", "POST /v1/notes"]


@pytest.mark.slow
async def test_an_api_that_wants_no_secret_is_asked_with_or_without_the_stand_in(
    client: BrokerClient, pool: KernelPool, api: ApiServer, tmp_path: Path
) -> None:
    store_connection(client.launch.home, api.connection("public"))
    before = (len(api.heard), len(api.strangers))
    async with opening(client, pool, tmp_path / "project") as notebook:
        for path, headers in (("/open/a", "HEADERS"), ("/open/b", "{}")):
            code = CLIENTS["requests"].replace("headers=HEADERS", f"headers={headers}")
            assert await told(notebook, asking(api.url(path), code, "public")) == "wren"
    assert api.heard[before[0] :] == ["GET /open/a", "GET /open/b"]
    assert len(api.strangers) == before[1]


# ── objects ──

LIBRARIES = {
    "boto3": """
import boto3
s3 = boto3.client("s3")
print(s3.get_object(Bucket="lake", Key="t/a.csv")["Body"].read(), len(s3.list_objects_v2(Bucket="lake")["Contents"]))
""",
    "pandas": """
import pandas as pd
print(len(pd.read_csv("s3://lake/t/a.csv")), len(pd.read_parquet("s3://lake/t/a.parquet")))
""",
    "pyarrow": """
import pyarrow.dataset
print(pyarrow.dataset.dataset("s3://lake/t/a.parquet", format="parquet").to_table().num_rows)
""",
    "polars": """
import polars as pl
print(pl.scan_parquet("s3://lake/t/*.parquet").select(pl.len()).collect().item())
""",
    "obstore": """
import obstore
from obstore.store import S3Store
print(bytes(obstore.get(S3Store("lake"), "t/a.csv").bytes()))
""",
    "duckdb": """
import duckdb
import s3fs
database = duckdb.connect()
database.register_filesystem(s3fs.S3FileSystem())
print(database.execute("select count(*), max(n) from read_parquet('s3://lake/t/a.parquet')").fetchone())
""",
}
READ = {
    "boto3": "b'n\\n1\\n2\\n' 2",
    "pandas": "2 1000",
    "pyarrow": "1000",
    "polars": "1000",
    "obstore": "b'n\\n1\\n2\\n'",
    "duckdb": "(1000, 999)",
}
OBJECT_ATTEMPTS = {
    "write": 'import boto3\nboto3.client("s3").put_object(Bucket="lake", Key="t/new.csv", Body=b"x")',
    "delete": 'import boto3\nboto3.client("s3").delete_object(Bucket="lake", Key="t/a.csv")',
    "other bucket": 'import boto3\nboto3.client("s3").get_object(Bucket="vault", Key="t/a.csv")',
    "list buckets": 'import boto3\nprint(boto3.client("s3").list_buckets())',
    "other key": 'import pandas as pd\npd.read_csv("s3://lake/t/a.csv", storage_options={"key": "crm", "secret": "-"})',
    "polars write": 'import polars as pl\npl.DataFrame({"a": [1]}).write_parquet("s3://lake/t/new.parquet")',
    "pandas write": 'import pandas as pd\npd.DataFrame({"a": [1]}).to_csv("s3://lake/t/new.csv")',
    "other service": 'import boto3\nprint(boto3.client("sts").get_caller_identity())',
}


@pytest.mark.slow
async def test_six_libraries_read_objects_with_stand_ins_for_keys(
    client: BrokerClient, pool: KernelPool, store: ObjectServer, tmp_path: Path
) -> None:
    store.name(client.launch.home, store.connection())
    before = store.keys()
    async with opening(client, pool, tmp_path / "project") as notebook:
        assert {name: await told(notebook, code) for name, code in LIBRARIES.items()} == READ
        for name, code in OBJECT_ATTEMPTS.items():
            said = await told(notebook, code)
            assert re.search("403|Forbidden|Access ?Denied|not allowed|An error occurred", said), (name, said)
        # What is wrong is told in words that a person can act on.
        assert "bucket 'vault'" in await told(notebook, OBJECT_ATTEMPTS["other bucket"])
    assert store.keys() == before


@pytest.mark.slow
async def test_of_several_object_stores_the_bucket_or_the_key_says_which(
    client: BrokerClient, pool: KernelPool, store: ObjectServer, tmp_path: Path
) -> None:
    store.name(client.launch.home, store.connection())
    store.name(client.launch.home, store.connection("vault", buckets="vault"))
    store.name(client.launch.home, store.connection("both", buckets="vault,lake/t"))
    read = 'import boto3\nprint(boto3.client("s3"{more}).get_object(Bucket="{bucket}", Key="t/a.csv")["Body"].read())'
    async with opening(client, pool, tmp_path / "a", named=("lake", "vault"), may_query=nothing) as notebook:
        for bucket in ("lake", "vault"):
            assert await told(notebook, read.format(more="", bucket=bucket)) == "b'n\\n1\\n2\\n'"
        explicit = read.format(more=', aws_access_key_id="both", aws_secret_access_key="none"', bucket="lake")
        assert "The connection 'both' is not approved for this notebook" in await told(notebook, explicit)
    async with opening(client, pool, tmp_path / "b") as notebook:
        assert "More than one connection has the bucket 'lake'" in await told(
            notebook, read.format(more="", bucket="lake")
        )
        assert await told(notebook, explicit) == "b'n\\n1\\n2\\n'"


# ── proofs ──


@pytest.mark.slow
async def test_a_proof_asks_anew_names_each_answer_and_changes_nothing(
    client: BrokerClient, pool: KernelPool, api: ApiServer, store: ObjectServer, tmp_path: Path
) -> None:
    home = client.launch.home
    name_api(home, api.connection(methods="GET,POST"))
    store.name(home, store.connection())
    settings = replace(Settings.read(), home=home, cache=tmp_path / "cache")
    code = asking(api.url("/v1/birds"), CLIENTS["requests"]).replace("URL", "_U").replace("HEADERS", "_H")
    notebook = write(tmp_path / "project" / "notebook.py", code, LIBRARIES["obstore"].strip())
    before = len(api.heard)
    found, _ = await verify_notebook(notebook, files=Files(), settings=settings, pool=pool)
    assert isinstance(found, Verified), found
    exchanges = found.signed.proof.exchanges
    assert {(each.connection, each.method, each.path, each.status) for each in exchanges} == {
        ("crm", "GET", "/v1/birds", 200),
        ("lake", "GET", "/lake/t/a.csv", 200),
    }
    assert all(len(each.sha256) == 64 and each.bytes and each.at for each in exchanges)
    assert api.heard[before:] == ["GET /v1/birds"] * 2
    post = asking(api.url("/v1/notes"), "import requests\nrequests.post(_U, headers=_H).raise_for_status()")
    write(notebook, post.replace("URL", "_U").replace("HEADERS", "_H"))
    refused, _ = await verify_notebook(notebook, files=Files(), settings=settings, pool=pool)
    assert not isinstance(refused, Verified)
    assert "A proof changes nothing" in str(refused.reasons)
    assert "POST /v1/notes" not in api.heard[before:]


@pytest.mark.slow
async def test_a_proof_names_so_many_answers_and_counts_the_others(
    client: BrokerClient, pool: KernelPool, api: ApiServer, tmp_path: Path
) -> None:
    name_api(client.launch.home, api.connection())
    notebook = write(tmp_path / "project" / "notebook.py", "pass")
    connecting = open_notebook_connections(client, notebook=notebook, project=tmp_path, is_cached=False)
    code = "import requests\nfor n in '12344':\n    requests.get(URL + n, headers=HEADERS).raise_for_status()"
    async with connecting as connections:
        exchanges = await open_notebook_exchanges(connections, project=tmp_path, is_proof=True)
        assert exchanges is not None
        exchanges.most_named = 3
        egress = await exchange_egress(exchanges)
        async with open_notebook(notebook, pool=pool, egress=egress, connections=connections) as opened:
            # Twice the same: each answer is named once.
            for _ in range(2):
                assert await told(opened, asking(api.url("/v1/birds?"), code)) == ""
    assert [each.path for each in exchanges.exchanged.values()] == [f"/v1/birds?{number}" for number in "123"]
    assert all(each.at for each in exchanges.exchanged.values())
    assert exchanges.unnamed == 4


# ── in a run ──


@pytest.mark.slow
async def test_in_a_run_leave_for_the_connection_counts_at_once_and_the_visit_is_told(
    client: BrokerClient, pool: KernelPool, api: ApiServer, where: Path, tmp_path: Path
) -> None:
    name_api(client.launch.home, api.connection())
    agreed = NetworkPolicy(rules=read_rules([BUILT_IN_RULES], project=str(tmp_path)), envelope=None, run="r")
    notebook = write(tmp_path / "project" / "notebook.py", "pass")
    code = asking(api.url("/v1/birds"), CLIENTS["requests"])
    kept = tmp_path / "state" / "leave.json"
    async with (
        Records.open(where, chain_key=KEY, types=EVENT_TYPES) as records,
        open_notebook_connections(client, notebook=notebook, project=tmp_path, may_query=nothing) as connections,
    ):
        exchanges = await open_notebook_exchanges(connections, project=tmp_path)
        async with (
            open_network_access(Network(), agreed, kept=kept, records=records, exchanges=exchanges) as access,
            open_notebook(notebook, pool=pool, egress=access.egress, connections=connections) as opened,
        ):
            refused = await told(opened, code)
            assert "connection 'crm' is not approved for this notebook" in refused
            # The host by itself is another leave: without the secret, and TLS stays closed.
            await access.grant(UseNetwork(host="localhost", port=api.port))
            assert "CERTIFICATE_VERIFY_FAILED" in await told(opened, code)
            await connections.grant(QueryConnection(connection="crm", access="read", statement=""))
            assert await told(opened, code) == "wren"
        events = [recorded.event async for recorded in records.log.read_all("run:r")]
    visits = [event.verdict for event in events if isinstance(event, HostVisited)]
    assert visits[0].startswith("denied: the connection 'crm' is not approved for this notebook")
    assert visits[-1] == "allowed at the connection 'crm'"


@pytest.mark.slow
async def test_where_there_is_no_network_namespace_it_is_said_what_to_do_instead(
    client: BrokerClient, pool: KernelPool, store: ObjectServer, tmp_path: Path
) -> None:
    store.name(client.launch.home, store.connection())
    notebook = write(tmp_path / "project" / "notebook.py", "pass")
    said: list[str] = []
    async with (
        open_notebook_connections(client, notebook=notebook, project=notebook.parent) as connections,
        open_notebook(
            notebook, pool=pool, connections=connections, tier="D", allow_uncontained=True, on_progress=said.append
        ) as opened,
    ):
        assert await told(opened, "import os\nprint([name for name in os.environ if 'AWS' in name])") == "[]"
    assert 'cellwright.files("NAME") reads files and objects' in "".join(said)
