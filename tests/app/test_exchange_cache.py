"""Answers of object stores and APIs, kept while a notebook is open: what is sent again, and what is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cellwright.app.exchange_cache import AnswerRecording, ExchangeCache
from cellwright.app.notebook_connections import open_notebook_connections
from cellwright.app.notebooks import Files, open_notebook
from cellwright.app.verification import verify_notebook
from cellwright.data.broker_client import BrokerClient
from cellwright.data.messages import ListStatements
from cellwright.kernel.functions.cell_functions import Returned
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell
from cellwright.policy.actions import QueryConnection
from cellwright.runs.verify.verification import Verified
from cellwright.sandbox.egress import AnswerHead, KeptAnswer, WantedExchange
from cellwright.sandbox.egress.destinations import Target
from cellwright.settings import Settings
from tests.app.web_services import ApiServer, ObjectServer, asking, name_api, opening, told, write
from tests.data.shop import finished_statements

GET = "import requests\nr = requests.get(URL, headers=HEADERS)\nprint(r.status_code, r.json())"
OBJECTS = """
import boto3, polars as pl, pyarrow.dataset, pandas as pd
s3 = boto3.client("s3")
print(s3.get_object(Bucket="lake", Key="t/a.csv")["Body"].read(), s3.list_objects_v2(Bucket="lake")["KeyCount"])
print(pl.read_parquet("s3://lake/t/a.parquet").height, pl.scan_parquet("s3://lake/t/*.parquet").collect().height)
print(pyarrow.dataset.dataset("s3://lake/t/a.parquet").to_table().num_rows, len(pd.read_csv("s3://lake/t/a.csv")))
"""
TAGGED_OBJECT = """
import boto3
s3 = boto3.client("s3")
def want(request, **_):
    request.headers.add_header("Cache-Control", "no-cache")
s3.meta.events.register("before-sign.s3.GetObject", want)
print(s3.get_object(Bucket="lake", Key="t/a.csv")["Body"].read())
"""


async def consoles(notebook: OpenNotebook) -> list[str]:
    """What the cells print when all of them run again."""
    return [cell.console.strip() for cell in (await notebook.run("all")).cells if cell.console]


async def sent(client: BrokerClient) -> Sequence[str]:
    return [line.statement for line in reversed(await client.statements(ListStatements(most=1000)))]


async def test_a_rerun_asks_no_api_and_whoever_asks_until_something_changes_sees_it_change(
    client: BrokerClient, pool: KernelPool, api: ApiServer, tmp_path: Path
) -> None:
    name_api(client.launch.home, api.connection())
    before = len(api.heard)
    thrice = "import requests\nprint([requests.get(URL, headers=HEADERS).json() for _ in range(TIMES)])"
    async with opening(client, pool, tmp_path / "project") as notebook:
        counted = asking(api.url("/v1/count?rerun"), thrice)
        assert await told(notebook, f"TIMES = 3\n{counted}") == "[1, 2, 3]"
        assert (
            await told(notebook, asking(api.url("/v1/birds"), "import requests\nrequests.head(URL, headers=HEADERS)"))
            == ""
        )
        heard, lines = len(api.heard), await sent(client)
        for _ in range(2):
            assert await consoles(notebook) == ["[1, 2, 3]"]
        assert (len(api.heard), await sent(client)) == (heard, lines)
        # Also by another cell; one request more than there were is sent.
        assert await told(notebook, f"TIMES = 4\n{counted}") == "[1, 2, 3, 4]"
    assert len(api.heard) - before == 5


@pytest.mark.slow
async def test_a_rerun_reads_no_object_again(
    client: BrokerClient, pool: KernelPool, store: ObjectServer, tmp_path: Path
) -> None:
    store.name(client.launch.home, store.connection())
    async with opening(client, pool, tmp_path / "project") as notebook:
        said = await told(notebook, OBJECTS)
        assert said.splitlines() == ["b'n\\n1\\n2\\n' 2", "1000 1000", "1000 2"]
        lines = await sent(client)
        assert len(lines) > 5
        assert await consoles(notebook) == [said]
        assert await sent(client) == lines


@pytest.mark.slow
async def test_a_cell_that_wants_it_anew_is_asked_for_by_its_tag(
    client: BrokerClient, pool: KernelPool, api: ApiServer, store: ObjectServer, tmp_path: Path
) -> None:
    name_api(client.launch.home, api.connection())
    store.name(client.launch.home, store.connection())
    wanting = "HEADERS['Cache-Control'] = 'no-cache'\n"
    url, before = api.url("/v1/tagged"), len(api.heard)
    anew, plain = asking(url, wanting + GET), asking(url, GET)
    own = asking(url, f"HEADERS['If-None-Match'] = '\"first\"'\n{wanting}{GET.replace('r.json()', 'r.content')}")
    async with opening(client, pool, tmp_path / "project") as notebook:
        first = await told(notebook, plain)
        assert first.startswith("200 [{'bird': 'wren'")
        for code in (anew, plain, anew):
            assert await told(notebook, code) == first
        # Whoever asks by a tag of their own is told what the server says to that.
        assert await told(notebook, own) == "304 b''"
        for _ in range(2):
            assert await told(notebook, TAGGED_OBJECT) == "b'n\\n1\\n2\\n'"
        statuses = [line.status for line in await finished_statements(client, ListStatements(connection="lake"))]
    assert api.heard[before:] == ["GET /v1/tagged", *["GET /v1/tagged 304"] * 3]
    assert statuses == [304, 200]


@pytest.mark.slow
async def test_a_write_and_another_secret_empty_what_is_kept_and_what_fails_or_must_not_be_is_not_kept(
    client: BrokerClient, pool: KernelPool, api: ApiServer, tmp_path: Path
) -> None:
    home = client.launch.home
    name_api(home, api.connection(methods="GET,POST"))
    count, before = asking(api.url("/v1/count?write"), GET), len(api.heard)
    post = asking(
        api.url("/v1/notes"), "import requests\nprint(requests.post(URL, headers=HEADERS, data='x').status_code)"
    )
    async with opening(client, pool, tmp_path / "project") as notebook:
        assert [await told(notebook, count) for _ in range(2)] == ["200 1"] * 2
        assert await told(notebook, post) == "200"
        assert [await told(notebook, count) for _ in range(2)] == ["200 2"] * 2
        name_api(home, api.connection(methods="GET,POST,PUT"))
        assert [await told(notebook, count) for _ in range(2)] == ["200 3"] * 2
        name_api(home, api.connection(methods="GET,POST,PUT"))
        assert await told(notebook, count) == "200 4"
        before_others = len(api.heard)
        for path in ("/v1/busy", "/v1/unkept"):
            assert {await told(notebook, asking(api.url(path), GET)) for _ in range(2)} != {""}
        # Outside of a run of cells nothing is kept: a function that tells what is so now tells it.
        await notebook.apply([CreateCell(code=function_cell(api))])
        now = [await notebook.call_function("counted", {}) for _ in range(2)]
    assert api.heard[before_others:] == [*["GET /v1/busy"] * 2, *["GET /v1/unkept"] * 2, *["GET /v1/count?tool"] * 2]
    assert [each.value.json if isinstance(each, Returned) else each for each in now] == [1, 2]
    assert api.heard[before:before_others].count("GET /v1/count?write") == 4


@pytest.mark.slow
async def test_a_change_by_the_tool_of_agents_empties_what_is_kept(
    client: BrokerClient, pool: KernelPool, api: ApiServer, tmp_path: Path
) -> None:
    name_api(client.launch.home, api.connection(methods="GET,POST"))
    count, folder = asking(api.url("/v1/count?sent"), GET), tmp_path / "project"
    path = write(folder / "notebook.py", "pass")
    connecting = open_notebook_connections(client, notebook=path, project=folder, named=("crm",))
    async with connecting as connections, open_notebook(path, pool=pool, connections=connections) as notebook:
        assert [await told(notebook, count) for _ in range(2)] == ["200 1"] * 2
        sent = await connections.send("crm", "POST", "/v1/notes", "{}", "application/json")
        assert (sent.outcome, sent.status) == ("done", 200)
        assert [await told(notebook, count) for _ in range(2)] == ["200 2"] * 2


def function_cell(api: ApiServer) -> str:
    return f'''
import cellwright_cells
import requests

@cellwright_cells.tool
def counted() -> int:
    """How often it was asked."""
    headers = {{"Authorization": "Bearer cellwright-secret:crm"}}
    return requests.get({api.url("/v1/count?tool")!r}, headers=headers).json()
'''.strip()


@pytest.mark.slow
async def test_leave_is_looked_at_before_what_is_kept(
    client: BrokerClient, pool: KernelPool, api: ApiServer, tmp_path: Path
) -> None:
    name_api(client.launch.home, api.connection())
    granted = [True]

    def may(wanted: QueryConnection) -> bool:
        return granted[0]

    code = asking(api.url("/v1/birds"), GET)
    async with opening(client, pool, tmp_path / "project", may_query=may) as notebook:
        assert (await told(notebook, code)).startswith("200")
        granted[0] = False
        assert "is not approved for this notebook" in await told(notebook, code)


@pytest.mark.slow
async def test_a_proof_sends_everything_and_says_how_many_answers_it_does_not_name(
    client: BrokerClient, pool: KernelPool, api: ApiServer, tmp_path: Path
) -> None:
    home = client.launch.home
    name_api(home, api.connection())
    settings = replace(Settings.read(), home=home, cache=tmp_path / "cache")
    body = "import requests\nfor _n in range(5):\n    print(requests.get(f'{_U}?{_n}', headers=_H).status_code)"
    code = asking(api.url("/v1/birds"), body).replace("URL", "_U").replace("HEADERS", "_H")
    notebook, before = write(tmp_path / "project" / "notebook.py", code), len(api.heard)
    for _ in range(2):
        found, _ = await verify_notebook(notebook, files=Files(), settings=settings, pool=pool)
        assert isinstance(found, Verified), found
        assert (len(found.proof.exchanges), found.proof.more_exchanges) == (5, 0)
    # Two proofs of two runs each.
    assert len(api.heard) - before == 20


# ── what is kept, and how much ──


def wanted(path: str = "/a", run: int = 1, method: str = "GET", **headers: str) -> WantedExchange:
    given = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return WantedExchange(target=Target(host="h", port=443), method=method, path=path, headers=given, run=run)


def pass_through(cache: ExchangeCache, asked: WantedExchange, body: bytes, **headers: str) -> bool:
    """Have it answered with this, unless an answer is known; whether it was asked for."""
    found = cache.ask("crm", "settings", asked)
    if isinstance(found, AnswerRecording):
        head = AnswerHead(status=200, reason="OK", headers=tuple(headers.items()))
        assert found.begin(head) is None
        found.take(body)
        found.end(is_whole=True)
    return not isinstance(found, KeptAnswer)


def test_what_was_used_longest_ago_goes_first_and_what_is_too_large_is_not_kept() -> None:
    cache = ExchangeCache(most_answers=2, most_answer_bytes=10)
    assert [pass_through(cache, wanted(path), b"x") for path in ("/a", "/b")] == [True, True]
    assert not pass_through(cache, wanted("/a", run=2), b"x")
    assert pass_through(cache, wanted("/c", run=3), b"x")
    assert [pass_through(cache, wanted(path, run=4), b"x") for path in ("/a", "/c", "/b")] == [False, False, True]
    assert [pass_through(cache, wanted("/large", run=run), b"x" * 11) for run in (5, 6)] == [True, True]
    small = ExchangeCache(most_bytes=5_000)
    assert [pass_through(small, wanted(path), b"x" * 1_000) for path in ("/a", "/b")] == [True, True]
    assert [pass_through(small, wanted(path, run=2), b"x") for path in ("/b", "/a")] == [False, True]


def test_answers_that_pass_at_once_are_kept_as_far_as_there_is_room() -> None:
    cache = ExchangeCache(most_passing_bytes=10)
    both = [cache.ask("crm", "", wanted(path)) for path in ("/a", "/b")]
    for each in both:
        assert isinstance(each, AnswerRecording)
        each.begin(AnswerHead(status=200, reason="OK", headers=()))
        each.take(b"x" * 6)
    for each in both:
        assert isinstance(each, AnswerRecording)
        each.end(is_whole=True)
    kept = [isinstance(cache.ask("crm", "", wanted(path, run=2)), KeptAnswer) for path in ("/a", "/b")]
    assert kept == [True, False]
    # What was broken off is not kept, and gives its room back.
    broken = cache.ask("crm", "", wanted("/c"))
    assert isinstance(broken, AnswerRecording)
    broken.begin(AnswerHead(status=200, reason="OK", headers=()))
    broken.take(b"x" * 9)
    broken.end(is_whole=False)
    assert pass_through(cache, wanted("/c", run=3), b"x" * 9)
    assert not pass_through(cache, wanted("/c", run=4), b"")


@pytest.mark.parametrize(
    ("first", "again", "is_same"),
    [
        (wanted(), wanted(date="now", traceparent="00-1", x_request_id="7", x_b3_traceid="1"), True),
        (wanted(accept="a"), wanted(accept="b"), False),
        (wanted(range="bytes=0-1"), wanted(range="bytes=0-2"), False),
        (wanted(authorization="Bearer cellwright-secret:crm"), wanted(), False),
        (wanted("/a?x=1"), wanted("/a?x=2"), False),
        (wanted(), wanted(method="HEAD"), False),
        (wanted(), wanted(cache_control="no-store"), False),
        (wanted(), wanted(content_length="3"), False),
        (wanted(run=0), wanted(), False),
        (replace(wanted(authorization="a", x_amz_date="1"), key_id="lake"),
         replace(wanted(authorization="b", x_amz_date="2", amz_sdk_request="3", user_agent="x"), key_id="lake"), True),
    ],
)  # fmt: skip
def test_requests_are_the_same_by_what_matters(first: WantedExchange, again: WantedExchange, is_same: bool) -> None:
    cache = ExchangeCache()
    pass_through(cache, first, b"x")
    assert pass_through(cache, replace(again, run=2), b"x") != is_same


def test_what_was_on_its_way_when_something_was_written_is_not_kept() -> None:
    cache = ExchangeCache()
    on_its_way = cache.ask("crm", "settings", wanted())
    assert isinstance(on_its_way, AnswerRecording)
    cache.forget("crm")
    on_its_way.begin(AnswerHead(status=200, reason="OK", headers=()))
    on_its_way.end(is_whole=True)
    assert pass_through(cache, wanted(run=2), b"x")
    cache.forget("other")
    assert not pass_through(cache, wanted(run=3), b"x")
