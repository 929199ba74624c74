"""Real servers for workers: each with a user that has a password, a table of types, and its own list of what runs."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pymysql
import urllib3
from psycopg import sql

from bench.postgres_server import postgres_server
from tests.journal.conftest import in_memory

USER = "ann"
SECRET = "gé heim/w@rd:%25'\\"
"""Every character that some driver has to quote."""
PATIENCE_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class DataServer:
    """One server, and the words of its dialect."""

    kind: str
    server: str
    """How what it says it is begins."""
    options: dict[str, str]
    run: Callable[[str], Any]
    """As its owner."""
    running: Callable[[], list[str]]
    """The statements that run now, by the server's own list."""
    kill: Callable[[], None]
    """All of it, without a word."""
    numbers: str
    """Rows n = 1, 2, … without end, with a `%s` for the count."""
    long_running: str
    """A statement that takes hours."""
    mistake: str
    quote: Callable[[str], str] = field(default=lambda name: f'"{name}"')

    def opening(self, **changes: Any) -> dict[str, Any]:
        opening = {
            "kind": "open",
            "source": self.kind,
            "options": self.options,
            "user": USER,
            "secret": SECRET,
            "access": "read",
            "seconds": 300,
        }
        return opening | changes

    def wait_until(self, is_so: Callable[[list[str]], bool], seconds: float = PATIENCE_SECONDS) -> None:
        """Until the server's list is so. What runs would run for hours: that it is gone, somebody ended it."""
        deadline = time.monotonic() + seconds
        while not is_so(self.running()):
            assert time.monotonic() < deadline, self.running()
            threading.Event().wait(0.02)


# ── Postgres ──


@contextmanager
def postgres_data_server() -> Generator[DataServer]:
    with postgres_server(in_memory()) as address, psycopg.connect(address, autocommit=True) as owner:
        folder = address.partition("?host=")[2]
        lines = owner.execute("SHOW hba_file").fetchone()
        assert lines is not None
        hba = Path(lines[0])
        hba.write_text(f"local all {USER} scram-sha-256\n" + hba.read_text())
        owner.execute(sql.SQL("CREATE ROLE ann LOGIN PASSWORD {}").format(sql.Literal(SECRET)))
        owner.execute("SELECT pg_reload_conf()")
        owner.execute("CREATE DATABASE shop OWNER ann")
        with psycopg.connect(address.replace("/postgres?", "/shop?"), autocommit=True) as shop:
            listed = "SELECT query FROM pg_stat_activity WHERE usename = 'ann' AND state <> 'idle'"
            yield DataServer(
                kind="postgres",
                server="PostgreSQL 18",
                options={"host": folder, "database": "shop", "user": USER},
                run=lambda statement: shop.execute(statement.encode()),
                running=lambda: [row[0] for row in owner.execute(listed)],
                kill=lambda: _kill_postgres(owner),
                numbers="SELECT n FROM (SELECT generate_series(1, %s) AS n) AS numbers",
                long_running="SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b",
                mistake="SELECT * FRO orders",
            )


def _kill_postgres(owner: psycopg.Connection[Any]) -> None:
    ids = [row[0] for row in owner.execute("SELECT pid FROM pg_stat_activity WHERE usename = 'ann'")]
    for pid in ids:
        os.kill(pid, 9)


# ── MariaDB ──

MARIADBD = Path("/usr/sbin/mariadbd")


@contextmanager
def mariadb_server(tls: tuple[Path, Path] | None = None) -> Generator[DataServer]:
    """The distribution's, in a folder of its own: `make mariadb` installs it."""
    folder = Path(tempfile.mkdtemp(prefix="cellwright-mariadb-", dir=in_memory()))
    folder.chmod(0o755)
    user = "mysql" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
    shutil.chown(folder, user)
    known = ["--no-defaults", f"--datadir={folder}/data", f"--user={user}"]
    making = ["mariadb-install-db", *known, "--auth-root-authentication-method=normal", "--skip-test-db"]
    subprocess.run(making, check=True, capture_output=True, timeout=PATIENCE_SECONDS)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = [f"--socket={folder}/socket", f"--port={port}", "--bind-address=127.0.0.1", f"--pid-file={folder}/pid"]
    options += ["--innodb-buffer-pool-size=32M", "--innodb-flush-log-at-trx-commit=0", "--skip-name-resolve"]
    if tls is not None:
        # Read by another user, to whom pytest's own folders are closed.
        copies = [shutil.copy(file, folder) for file in tls]
        for copy in copies:
            shutil.chown(copy, user)
        options += [f"--ssl-cert={copies[0]}", f"--ssl-key={copies[1]}"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([MARIADBD, *known, *options], stdout=log, stderr=log)
    try:
        _wait_until_heard(folder / "socket")
        owner: Any = pymysql.connect(unix_socket=f"{folder}/socket", user="root", autocommit=True)
        _rows(owner, "CREATE DATABASE shop")
        _rows(owner, "SET GLOBAL sql_mode = ''")
        escaped = SECRET.replace("\\", "\\\\").replace("'", "\\'")
        _rows(owner, f"CREATE USER ann@'%' IDENTIFIED BY '{escaped}'")
        _rows(owner, "GRANT ALL ON shop.* TO ann@'%'")
        owner.select_db("shop")
        listed = "SELECT info FROM information_schema.processlist WHERE user = 'ann' AND info IS NOT NULL"
        yield DataServer(
            kind="mysql",
            server="MariaDB",
            options={"host": "127.0.0.1", "port": str(port), "database": "shop", "user": USER},
            run=lambda statement: _rows(owner, statement),
            running=lambda: [row[0] for row in _rows(owner, listed)],
            kill=process.kill,
            numbers="SELECT seq AS n FROM seq_1_to_%s",
            long_running="SELECT benchmark(1000000000000, md5('a'))",
            mistake="SELECT * FRO orders",
            quote=lambda name: f"`{name}`",
        )
        with suppress(pymysql.err.Error, OSError):
            owner.close()
    finally:
        process.kill()
        process.wait(PATIENCE_SECONDS)
        shutil.rmtree(folder)


def _rows(owner: Any, statement: str) -> list[Any]:
    with owner.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def _wait_until_heard(place: Path) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                return probe.connect(str(place))
            except OSError:
                assert time.monotonic() < deadline
                threading.Event().wait(0.05)


# ── ClickHouse ──


@contextmanager
def clickhouse_data_server() -> Generator[DataServer]:
    folder = Path(tempfile.mkdtemp(prefix="cellwright-clickhouse-", dir=in_memory()))
    module = "tests.data.worker.clickhouse_server"
    process = subprocess.Popen(
        [sys.executable, "-m", module, str(folder / "data"), USER, SECRET], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        pool = urllib3.PoolManager()

        def run(statement: str) -> str:
            headers = urllib3.make_headers(basic_auth=f"{USER}:{SECRET}".encode().decode("latin-1"))
            answer = pool.request("POST", f"http://127.0.0.1:{port}/", body=statement.encode(), headers=headers)
            text = answer.data.decode("utf-8", "replace")
            assert answer.status == 200, text
            return text

        run("CREATE DATABASE shop")
        listed = "SELECT query FROM system.processes WHERE query NOT LIKE '%system.processes%' FORMAT TabSeparated"
        yield DataServer(
            kind="clickhouse",
            server="ClickHouse 26",
            options={"host": "127.0.0.1", "port": port, "database": "shop", "user": USER},
            run=run,
            running=lambda: [line for line in run(listed).splitlines() if line],
            kill=process.kill,
            numbers="SELECT number + 1 AS n FROM numbers(%s)",
            long_running="SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(sipHash64(number))",
            mistake="SELECT * FRO orders",
            quote=lambda name: f"`{name}`",
        )
    finally:
        process.kill()
        process.wait(PATIENCE_SECONDS)
        if process.stdout is not None:
            process.stdout.close()
        shutil.rmtree(folder, ignore_errors=True)
