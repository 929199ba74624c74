"""Connections that a person named, in their file."""

from __future__ import annotations

from pathlib import Path

from cellwright.data.connections import DataConnection, connections_at, store_connection
from cellwright.secrets import keep_secret, kept_secrets


def test_a_connection_that_becomes_one_of_another_kind_loses_its_secrets_and_any_other_change_keeps_them(
    tmp_path: Path,
) -> None:
    options = {"host": "db.example", "database": "shop", "user": "reader"}
    connection = DataConnection(name="shop", kind="postgres", options=options, writer="clerk")
    store_connection(tmp_path, connection)
    for name in (connection.secret_name, connection.writer_secret_name):
        keep_secret(tmp_path, name, "for-postgres", "file")
    store_connection(tmp_path, DataConnection(name="shop", kind="postgres", options=options | {"port": "5433"}))
    assert set(kept_secrets(tmp_path)) == {"data:shop", "data:shop:writer"}
    store_connection(tmp_path, DataConnection(name="shop", kind="mysql", options=options))
    assert not kept_secrets(tmp_path)
    assert connections_at(tmp_path)["shop"].kind == "mysql"
