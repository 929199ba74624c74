"""Kinds that are no databases: what their options may say, and in which way each is spoken with."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellwright.data.connection_options import BucketPrefix, WebAddress, read_address, read_buckets
from cellwright.data.connections import DataConnection, check_connection, find_connection, require_way, store_connection
from cellwright.data.source_kinds import FILE_KINDS, SOURCE_KINDS, SOURCE_TRAITS, SQL_KINDS, SourceKind, ways_of
from cellwright.errors import UserError

GOOD: dict[SourceKind, dict[str, str]] = {
    "s3": {"buckets": "lake, archive/sales", "access_key_id": "AKIA1", "region": "eu-central-1"},
    "api": {"url": "https://crm.example.org/v1", "paths": "/people,/orders", "methods": "get,post"},
    "http": {"url": "https://files.example.org/open"},
    "webdav": {"url": "https://cloud.example.org:8443/dav", "user": "ada"},
    "sftp": {"host": "sftp.example.org", "user": "ada", "path": "/upload", "host_key": "ssh-ed25519 AAAA"},
    "smb": {"host": "10.0.0.5", "share": "sales", "user": "ada", "domain": "COMPANY"},
    "gcs": {"bucket": "lake", "prefix": "sales/2025"},
    "azure": {"account": "company", "container": "lake"},
}
LAKE = {"buckets": "lake", "access_key_id": "A"}
CRM = {"url": "https://crm.example.org"}


@pytest.mark.parametrize("kind", GOOD)
def test_a_connection_of_every_kind_is_kept_and_read_again(kind: SourceKind, tmp_path: Path) -> None:
    connection = DataConnection(name="one", kind=kind, options=GOOD[kind])
    store_connection(tmp_path, connection)
    assert find_connection(tmp_path, "one") == connection
    assert connection.place


def test_every_kind_is_spoken_with_in_some_way_and_only_databases_have_a_dialect() -> None:
    assert all(ways_of(kind) for kind in SOURCE_KINDS)
    assert {kind for kind in SOURCE_KINDS if SOURCE_TRAITS[kind].dialect} == SQL_KINDS
    assert FILE_KINDS < SQL_KINDS
    assert ways_of("s3") == ("exchange", "files")


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("s3", LAKE | {"buckets": " , "}),
        ("s3", LAKE | {"buckets": "lake/../other"}),
        ("s3", LAKE | {"buckets": "lake//x"}),
        ("s3", LAKE | {"buckets": "*"}),
        ("s3", LAKE | {"buckets": "lake/%2e%2e"}),
        ("s3", LAKE | {"methods": "GET,TRACE"}),
        ("s3", LAKE | {"endpoint": "http://minio.example.org"}),
        ("s3", LAKE | {"region": "eu central"}),
        ("s3", {"buckets": "lake"}),
        ("api", {"url": "http://crm.example.org"}),
        ("api", {"url": "ftp://crm.example.org"}),
        ("api", {"url": "https://ada:word@crm.example.org"}),
        ("api", {"url": "https://crm.example.org?key=1"}),
        ("api", {"url": "https://crm.example.org/a/../b"}),
        ("api", {"url": "https://crm.example.org:99999"}),
        ("api", {"url": "https://crm.example.org\\@other.example.org"}),
        ("api", {"url": "https:///path"}),
        ("api", CRM | {"paths": "people"}),
        ("api", CRM | {"paths": "/people/%2e%2e"}),
        ("api", CRM | {"methods": "CONNECT"}),
        ("api", CRM | {"header": "Host"}),
        ("api", CRM | {"header": "X Key"}),
        ("api", CRM | {"form": "Bearer"}),
        ("api", CRM | {"form": "{secret}{secret}"}),
        ("api", CRM | {"tls": "prefer"}),
        ("sftp", {"host": "a/b", "user": "ada"}),
        ("sftp", {"host": "a", "user": "ada", "path": "/x/../y"}),
        ("smb", {"host": "a", "share": "a\\b", "user": "ada"}),
        ("gcs", {"bucket": "a/b"}),
        ("azure", {"account": "a.b", "container": "lake"}),
    ],
)
def test_an_option_that_cannot_be_meant_is_refused(kind: SourceKind, options: dict[str, str]) -> None:
    with pytest.raises(UserError) as refused:
        check_connection(DataConnection(name="one", kind=kind, options=options))
    assert "word" not in refused.value.message


def test_plain_text_is_spoken_with_this_machine_or_when_a_person_says_so() -> None:
    assert read_address("http://127.0.0.1:9000/").port == 9000
    assert read_address("http://[::1]:9000").authority == "[::1]:9000"
    assert read_address("http://minio.local", tls="off").scheme == "http"
    assert read_address("https://CRM.Example.org/v1/") == WebAddress(
        scheme="https", host="crm.example.org", port=443, base="/v1"
    )


def test_a_prefix_is_a_folder() -> None:
    found = read_buckets("lake/sales,s3://archive")
    assert found == (BucketPrefix(bucket="lake", prefix="sales/"), BucketPrefix(bucket="archive"))


def test_masks_and_writers_are_for_databases() -> None:
    with pytest.raises(UserError, match="no writer"):
        check_connection(DataConnection(name="crm", kind="api", options=CRM, writer="app"))


def test_whoever_asks_in_the_wrong_way_is_told_the_right_one() -> None:
    crm = DataConnection(name="crm", kind="api", options=CRM)
    shop = DataConnection(name="shop", kind="postgres", options={"host": "h", "database": "d", "user": "u"})
    lake = DataConnection(name="lake", kind="s3", options=LAKE)
    with pytest.raises(UserError, match="takes no SQL") as refused:
        require_way(crm, "sql")
    assert "cellwright-secret:crm" in refused.value.hint
    with pytest.raises(UserError, match="no files") as refused:
        require_way(shop, "files")
    assert "sql" in refused.value.hint
    with pytest.raises(UserError, match="takes no SQL") as refused:
        _ = lake.dialect
    assert "files('lake')" in refused.value.hint
    require_way(lake, "exchange")
