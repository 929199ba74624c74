"""Exchanges with S3: a server that checks signatures, boto3 with keys that are none, a real broker and worker."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from botocore.exceptions import ClientError

from cellwright.data.broker_client import BrokerClient
from cellwright.data.connections import store_connection
from cellwright.data.messages import ListStatements, SentStatement
from cellwright.errors import UserError
from cellwright.secrets import keep_secret
from tests.data.shop import broker_client
from tests.data.web_worker.s3_server import S3Server, is_in_files, line_bridge, s3_client, s3_server
from tests.data.web_worker.speaking import exchange, request_bytes

WRITING = "GET,HEAD,PUT,POST,DELETE"


@pytest.fixture(scope="module")
def server() -> Generator[S3Server]:
    with s3_server() as server:
        yield server


@pytest.fixture(scope="module")
def client(server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Generator[BrokerClient]:
    with broker_client(tmp_path_factory.mktemp("s3") / "home") as client:
        keep_secret(client.launch.home, "data:lake", server.secret, "file")
        yield client


@pytest.fixture
def cell(client: BrokerClient, server: S3Server) -> Generator[Any]:
    """What a cell has: boto3, an address, a name for a key, and no secret."""
    store_connection(client.launch.home, server.connection())
    with line_bridge(client, "lake") as url:
        yield s3_client(url, "lake", "none")


def status_of(call: Any, **arguments: str) -> int:
    """Of a request that is refused."""
    with pytest.raises(ClientError) as raised:
        call(**arguments)
    response: Any = raised.value.response
    return response["ResponseMetadata"]["HTTPStatusCode"]


@pytest.mark.slow
def test_the_server_refuses_who_does_not_have_the_key(server: S3Server) -> None:
    assert status_of(s3_client(server.url, server.access_key_id, "wrong").list_objects_v2, Bucket="lake") == 403
    assert status_of(s3_client(server.url, "lake", "none").list_objects_v2, Bucket="lake") == 403
    assert server.owner().list_objects_v2(Bucket="lake")["KeyCount"] >= 2


@pytest.mark.slow
def test_objects_are_listed_and_read_without_a_key(cell: Any) -> None:
    names = [each["Key"] for each in cell.list_objects_v2(Bucket="lake")["Contents"]]
    assert names == ["a.csv", "deep/é ü=1/b%20c.csv"]
    assert cell.get_object(Bucket="lake", Key=names[1])["Body"].read().decode() == f"rows of {names[1]}"
    assert cell.get_object(Bucket="lake", Key="a.csv", Range="bytes=0-3")["Body"].read() == b"rows"
    assert cell.head_object(Bucket="lake", Key="a.csv")["ContentLength"] == 13
    assert cell.list_objects_v2(Bucket="archive", Prefix="sales/", Delimiter="/")["KeyCount"] == 1


@pytest.mark.slow
def test_what_the_connection_does_not_name_is_refused(cell: Any, server: S3Server) -> None:
    assert status_of(cell.list_buckets) == 403
    assert status_of(cell.list_objects_v2, Bucket="other") == 403
    assert status_of(cell.list_objects_v2, Bucket="archive") == 403
    assert status_of(cell.get_object, Bucket="archive", Key="hr/pay.csv") == 403
    assert status_of(cell.get_bucket_policy, Bucket="lake") == 403
    assert status_of(cell.put_object, Bucket="lake", Key="new.csv", Body="x") == 403
    assert status_of(cell.delete_object, Bucket="lake", Key="a.csv") == 403
    assert server.owner().list_objects_v2(Bucket="lake")["KeyCount"] == 2


@pytest.mark.slow
def test_a_connection_that_may_write_takes_objects_whole_and_in_parts(
    cell: Any, client: BrokerClient, server: S3Server
) -> None:
    store_connection(client.launch.home, server.connection(methods=WRITING))
    owner, body = server.owner(), bytes(range(256)) * 100
    cell.put_object(Bucket="lake", Key="new/one.bin", Body=body, Metadata={"from": "a cell"})
    found = owner.get_object(Bucket="lake", Key="new/one.bin")
    assert (found["Body"].read(), found["Metadata"]) == (body, {"from": "a cell"})
    upload = cell.create_multipart_upload(Bucket="lake", Key="new/two.bin")["UploadId"]
    part = cell.upload_part(Bucket="lake", Key="new/two.bin", UploadId=upload, PartNumber=1, Body=body)
    parts = {"Parts": [{"ETag": part["ETag"], "PartNumber": 1}]}
    cell.complete_multipart_upload(Bucket="lake", Key="new/two.bin", UploadId=upload, MultipartUpload=parts)
    assert owner.get_object(Bucket="lake", Key="new/two.bin")["Body"].read() == body
    source = {"CopySource": "archive/hr/pay.csv"}
    assert status_of(cell.copy_object, Bucket="lake", Key="new/pay.csv", **source) == 403
    assert status_of(cell.put_object, Bucket="lake", Key="new/x", Body="x", ACL="public-read") == 403
    for key in ("new/one.bin", "new/two.bin"):
        cell.delete_object(Bucket="lake", Key=key)
    assert owner.list_objects_v2(Bucket="lake")["KeyCount"] == 2


@pytest.mark.slow
async def test_chunks_that_the_client_signed_are_taken_out_of_an_upload(client: BrokerClient, server: S3Server) -> None:
    store_connection(client.launch.home, server.connection(methods=WRITING))
    chunks = b"5;chunk-signature=" + b"a" * 64 + b"\r\nhello\r\n0;chunk-signature=" + b"b" * 64 + b"\r\n\r\n"
    headers = {
        "Content-Encoding": "aws-chunked",
        "x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
        "x-amz-decoded-content-length": "5",
    }
    heard = await exchange(client, "lake", request_bytes("PUT", "/lake/chunked.bin", headers, chunks), "PUT")
    assert heard.status == 200
    assert await anyio.to_thread.run_sync(taken_away, server, "chunked.bin") == b"hello"


def taken_away(server: S3Server, key: str) -> bytes:
    """What is in an object of `lake`, which is gone afterwards."""
    owner = server.owner()
    body: bytes = owner.get_object(Bucket="lake", Key=key)["Body"].read()
    owner.delete_object(Bucket="lake", Key=key)
    return body


@pytest.mark.slow
async def test_each_exchange_is_recorded_and_no_key_with_it(client: BrokerClient, server: S3Server) -> None:
    store_connection(client.launch.home, server.connection())
    await exchange(client, "lake", request_bytes("GET", "/lake/a.csv?X-Amz-Signature=abc"))
    await exchange(client, "lake", request_bytes("GET", "/archive/hr/pay.csv"))
    await exchange(client, "lake", request_bytes("GET", "/lake/nothing.csv"))
    lines = await lines_that_are_over(client)
    assert [(line.statement, line.outcome, line.status) for line in lines] == [
        ("GET /lake/nothing.csv", "done", 404),
        ("GET /archive/hr/pay.csv", "refused", 0),
        ("GET /lake/a.csv", "done", 200),
    ]
    assert lines[2].bytes == 13
    assert await anyio.to_thread.run_sync(is_in_files, client.launch.home, server.secret) == ["keys.json"]


async def lines_that_are_over(client: BrokerClient) -> Sequence[SentStatement]:
    """The last three: whoever asked may have all of an answer before its end is recorded."""
    with anyio.fail_after(20):
        while True:
            lines = await client.statements(ListStatements(connection="lake", most=3))
            if all(line.outcome != "sending" for line in lines):
                return lines


@pytest.mark.slow
async def test_a_trial_names_the_wrong_key_and_the_wrong_bucket(
    client: BrokerClient, server: S3Server, tmp_path: Path
) -> None:
    home = client.launch.home
    store_connection(home, server.connection())
    assert (await client.try_connection("lake")).tables is None
    store_connection(home, server.connection(buckets="no-such-bucket"))
    with pytest.raises(UserError, match="There is no bucket 'no-such-bucket'"):
        await client.try_connection("lake")
    store_connection(home, server.connection(access_key_id="AKIANOBODY"))
    with pytest.raises(UserError, match="InvalidAccessKeyId"):
        await client.try_connection("lake")
    store_connection(home, server.connection())
    keep_secret(home, "data:lake", "another-secret-access-key", "file")
    try:
        with pytest.raises(UserError, match="SignatureDoesNotMatch") as refused:
            await client.try_connection("lake")
        assert server.secret not in str(refused.value)
    finally:
        keep_secret(home, "data:lake", server.secret, "file")
