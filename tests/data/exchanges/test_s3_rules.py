"""Rules of S3 connections, attacked: what is allowed is signed as Amazon wants it, and nothing else leaves."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from cellwright.data.exchanges.requests import CellRequest, RefusedRequest, SentRequest
from cellwright.data.exchanges.s3_rules import S3Rules

NOW = datetime(2026, 11, 18, 12, 30, tzinfo=UTC)
OPTIONS = {
    "buckets": "lake,archive/sales",
    "access_key_id": "AKIACANARY",
    "endpoint": "https://objects.example.org:9000",
    "region": "eu-central-1",
}
READING = S3Rules.of(OPTIONS, "secret-canary-1")
WRITING = S3Rules.of(OPTIONS | {"methods": "GET,HEAD,PUT,POST,DELETE"}, "secret-canary-1")


def complete(
    method: str, target: str, *headers: tuple[str, str], rules: S3Rules = READING, has_body: bool = False
) -> SentRequest | RefusedRequest:
    return rules.complete(CellRequest(method=method, target=target, headers=headers, has_body=has_body), NOW)


@pytest.mark.parametrize(
    "target",
    [
        "/lake/a.csv",
        "/lake/a%20b/%C3%A9=1/%25c.csv?versionId=3",
        "/lake?list-type=2&prefix=x%2Fy&delimiter=%2F",
        "/lake/?list-type=2&prefix=a+b&max-keys=1",
    ],
)
def test_a_request_is_signed_as_amazons_own_library_signs_it(target: str) -> None:
    sent = complete("GET", target, ("range", "bytes=0-9"), ("x-amz-checksum-mode", "ENABLED"))
    assert isinstance(sent, SentRequest)
    headers = dict(sent.headers)
    assert headers["range"] == "bytes=0-9"
    signed = {name: headers[name] for name in ("x-amz-content-sha256", "x-amz-date", "x-amz-checksum-mode", "host")}
    request = AWSRequest("GET", f"https://objects.example.org:9000{sent.target}", headers=signed)
    request.context["timestamp"] = headers["x-amz-date"]
    auth = S3SigV4Auth(Credentials("AKIACANARY", "secret-canary-1"), "s3", "eu-central-1")
    text = auth.string_to_sign(request, auth.canonical_request(request))
    assert headers["authorization"].endswith(f"Signature={auth.signature(text, request)}")


def test_nothing_of_the_clients_own_signature_is_left() -> None:
    presigned = "X-Amz-Algorithm=AWS4&X-Amz-Credential=lake&X-Amz-Signature=abc&X-Amz-Security-Token=t&X-Amz-Expires=9"
    sent = complete(
        "GET",
        f"/lake/a.csv?{presigned}",
        ("authorization", "AWS4-HMAC-SHA256 Credential=lake/…"),
        ("x-amz-security-token", "theirs"),
        ("x-amz-date", "20200101T000000Z"),
        ("x-amz-content-sha256", "e3b0"),
        ("cookie", "session=1"),
        ("host", "127.0.0.1:3128"),
    )
    assert isinstance(sent, SentRequest)
    assert sent.target == "/lake/a.csv"
    assert sorted(dict(sent.headers)) == ["authorization", "host", "x-amz-content-sha256", "x-amz-date"]
    assert dict(sent.headers)["host"] == "objects.example.org:9000"
    assert "theirs" not in repr(sent.headers)
    assert "secret-canary" not in f"{sent.headers}{sent}{READING.key}"


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/"),
        ("GET", "/?list-type=2"),
        ("GET", "//lake/a.csv"),
        ("GET", "/other/a.csv"),
        ("GET", "/lake.evil/a.csv"),
        ("GET", "/LAKE/a.csv"),
        ("GET", "/lak%65/a.csv"),
        ("PUT", "/lake/a.csv"),
        ("DELETE", "/lake/a.csv"),
        ("POST", "/lake?delete"),
        ("OPTIONS", "/lake/a.csv"),
        ("CONNECT", "/lake/a.csv"),
        ("get", "/lake/a.csv"),
        ("GET", "/archive/sales"),
        ("GET", "/archive/sales-secret/a.csv"),
        ("GET", "/archive/hr/a.csv"),
        ("GET", "/archive/sales/../hr/a.csv"),
        ("GET", "/archive/sales/%2e%2e/hr/a.csv"),
        ("GET", "/archive/sales/%252e%252e/hr/a.csv"),
        ("GET", "/archive/sales/..%2fhr/a.csv"),
        ("GET", "/archive/sales/..%5chr/a.csv"),
        ("GET", "/archive/sales/..;/hr/a.csv"),
        ("GET", "/archive/sales%2Fa.csv"),
        ("GET", "/archive/./sales/a.csv"),
        ("GET", "/archive"),
        ("GET", "/archive?list-type=2"),
        ("GET", "/archive?list-type=2&prefix="),
        ("GET", "/archive?list-type=2&prefix=sale"),
        ("GET", "/archive?list-type=2&prefix=hr/"),
        ("GET", "/archive?list-type=2&prefix=sales/&prefix=hr/"),
        ("GET", "/archive?list-type=2&prefix=sales/&Prefix=hr/"),
        ("GET", "/archive?list-type=2&start-after=hr/"),
        ("GET", "/archive?versions&prefix=sales/"),
        ("GET", "/archive?policy"),
        ("GET", "/lake?acl"),
        ("GET", "/lake?uploads"),
        ("GET", "/lake/a.csv?acl"),
        ("GET", "/lake/a.csv?torrent"),
        ("GET", "/lake/a.csv?select&select-type=2"),
        ("GET", "/lake/a\\b.csv"),
        ("GET", "/lake/a%00b.csv"),
        ("GET", "/lake/a%ff.csv"),
        ("GET", "/lake/a%zz.csv"),
        ("GET", "/lake/a.csv#x"),
        ("GET", "/lake/a b.csv"),
        ("GET", "/lake/\xe9.csv"),
        ("GET", "http://other.example.org/lake/a.csv"),
        ("GET", "lake/a.csv"),
        ("GET", "*"),
        ("GET", f"/lake/{'a' * 9000}"),
    ],
)
def test_what_is_not_allowed_is_not_signed(method: str, target: str) -> None:
    refused = complete(method, target)
    assert isinstance(refused, RefusedRequest), refused
    assert refused.why
    assert "canary" not in refused.why


@pytest.mark.parametrize(
    ("method", "target", "headers"),
    [
        ("PUT", "/lake/a.csv", (("x-amz-copy-source", "/archive/hr/a.csv"),)),
        ("PUT", "/lake/a.csv", (("x-amz-acl", "public-read"),)),
        ("PUT", "/lake/a.csv", (("x-amz-grant-read", "uri=all"),)),
        ("PUT", "/lake/a.csv", (("x-amz-website-redirect-location", "/x"),)),
        ("PUT", "/lake/a.csv?acl", ()),
        ("PUT", "/lake/a.csv?tagging", ()),
        ("PUT", "/lake/a.csv", (("x-amz-meta-a", "1"), ("x-amz-meta-a", "2"))),
        ("PUT", "/lake", ()),
        ("PUT", "/lake?policy", ()),
        ("DELETE", "/lake", ()),
        ("DELETE", "/archive/hr/a.csv", ()),
        ("POST", "/lake?delete", ()),
        ("POST", "/lake/a.csv", ()),
        ("POST", "/lake/a.csv?restore", ()),
        ("DELETE", "/lake/a.csv", (("x-amz-bypass-governance-retention", "true"),)),
    ],
)
def test_a_connection_that_may_write_changes_objects_and_nothing_else(
    method: str, target: str, headers: tuple[tuple[str, str], ...]
) -> None:
    assert isinstance(complete(method, target, *headers, rules=WRITING), RefusedRequest)


def test_uploads_go_out_without_the_chunks_of_the_clients_signature() -> None:
    sent = complete(
        "PUT",
        "/lake/a.csv",
        ("content-encoding", "gzip, aws-chunked"),
        ("x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"),
        ("x-amz-decoded-content-length", "11"),
        ("x-amz-trailer", "x-amz-checksum-crc32"),
        ("content-length", "120"),
        rules=WRITING,
        has_body=True,
    )
    assert isinstance(sent, SentRequest)
    headers = dict(sent.headers)
    assert (sent.is_aws_chunked, sent.access) == (True, "write")
    assert (headers["content-length"], headers["content-encoding"]) == ("11", "gzip")
    assert "x-amz-trailer" not in headers


def test_what_is_recorded_is_what_was_sent() -> None:
    sent = complete("GET", "/archive?list-type=2&prefix=sales%2f2025%2F")
    assert isinstance(sent, SentRequest)
    assert sent.shown == "GET /archive?list-type=2&prefix=sales%2F2025%2F"
    assert sent.access == "read"
