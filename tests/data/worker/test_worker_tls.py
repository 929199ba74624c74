"""How a connection uses TLS is what it says: off, if there is some, always, or with the certificate checked."""

from __future__ import annotations

import socket
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.data.worker.driving import driven_worker
from tests.data.worker.servers import DataServer, mariadb_server
from tests.data.worker.tls import TlsFiles, tls_files, tls_in_front

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    return tls_files(Path(tmp_path_factory.mktemp("tls")))


@pytest.fixture(params=["postgres", "mysql", "clickhouse"])
def secured(request: pytest.FixtureRequest, files: TlsFiles) -> Generator[DataServer]:
    """A server with TLS; its certificate is for `localhost`."""
    if request.param == "mysql":
        with mariadb_server((files.certificate, files.key)) as server:
            yield server
        return
    server: DataServer = request.getfixturevalue(f"{request.param}_data")
    with tls_in_front(lambda: _reach(server), files, asks_first=request.param == "postgres") as port:
        yield _at(server, port)


def _reach(server: DataServer) -> socket.socket:
    if server.kind == "postgres":
        reached = socket.socket(socket.AF_UNIX)
        reached.connect(f"{server.options['host']}/.s.PGSQL.5432")
        return reached
    return socket.create_connection(("127.0.0.1", int(server.options["port"])))


def _at(server: DataServer, port: int) -> DataServer:
    options = server.options | {"host": "localhost", "port": str(port)}
    known: dict[str, Any] = {name: getattr(server, name) for name in DataServer.__slots__}
    return DataServer(**known | {"options": options})


def _opened(server: DataServer, **options: str) -> dict[str, Any]:
    with driven_worker() as driven:
        wanted = {"host": "localhost"} | options
        opened = driven.ask(**server.opening(options=server.options | wanted))
        if opened.reply["kind"] == "opened":
            assert driven.query("SELECT 1 AS one").rows == [{"one": 1}]
        else:
            assert opened.failure
        return opened.reply


def test_tls_is_used_and_its_certificate_checked_as_the_connection_says(secured: DataServer, files: TlsFiles) -> None:
    assert _opened(secured, tls="require")["kind"] == "opened"
    assert _opened(secured, tls="verify", tls_ca=str(files.authority))["kind"] == "opened"
    # An authority that nobody knows; a name that the certificate is not for.
    assert _opened(secured, tls="verify")["failure"] == "tls"
    assert _opened(secured, tls="verify", tls_ca=str(files.authority), host="127.0.0.1")["failure"] == "tls"


def test_postgres_without_tls_is_not_spoken_to_where_it_is_asked_for(postgres_data: DataServer) -> None:
    with tls_in_front(lambda: _reach(postgres_data), None, asks_first=True) as port:
        plain = _at(postgres_data, port)
        assert _opened(plain, tls="require")["failure"] == "tls"
        assert _opened(plain, tls="verify")["failure"] == "tls"
        assert _opened(plain, tls="prefer")["kind"] == "opened"
        assert _opened(plain, tls="off")["kind"] == "opened"
