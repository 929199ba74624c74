"""Real servers whose connection logs in as the owner of everything, with a folder of canaries that the server can see.

Nothing but ours stands between a statement and the server: the user may do all there is.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psycopg
import pymysql
from pymysql.constants import CLIENT

from cellwright.data.connections import DataConnection
from cellwright.data.dialects import Dialect
from tests.data.hostile_statements import EVERYWHERE, HOSTILE, WRITES
from tests.data.shop import new_shop, shop_server
from tests.data.worker.servers import SECRET, clickhouse_data_server, mariadb_server
from tests.journal.conftest import in_memory

CANARY = "canary-of-a-file-41907"
HIDDEN = "canary-of-a-table-70331"
"""In a table that nobody is shown; a result may have it only if it was asked for by name."""
OWNER = "boss"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedServer:
    """A server, and what its owner sees of it."""

    connection: DataConnection
    secret: str
    bare: Callable[[str], str]
    """What a plain driver's session as owner answers, whatever it is; a failure is text too."""
    state: Callable[[], list[Any]]
    """All there is on the server that a statement could change."""
    folder: Path
    """The server may read and write here."""

    @property
    def canary(self) -> Path:
        return self.folder / "secret.csv"

    def digest(self) -> tuple[str, tuple[str, ...]]:
        """Of everything on the server, and the files of the folder."""
        seen = hashlib.sha256(repr(self.state()).encode()).hexdigest()
        files = tuple(f"{file.name}: {file.read_text()[:200]}" for file in sorted(self.folder.iterdir()))
        return seen, files

    def hostile(self) -> list[str]:
        """Every hostile statement of the dialect, with paths that are there and paths that are not."""
        dialect: Dialect = self.connection.dialect
        statements = (*EVERYWHERE, *HOSTILE[dialect])
        return list(dict.fromkeys(spelling for text in statements for spelling in self._spellings(text)))

    def writes(self) -> list[str]:
        """What changes data, and may be tried and undone before somebody is asked."""
        return [spelling for text in WRITES for spelling in self._spellings(text)]

    def _spellings(self, text: str) -> tuple[str, str]:
        new = str(self.folder / "new.file")
        plain = text.replace("/etc/passwd", str(self.canary)).replace("/secret.csv", str(self.canary))
        plain = plain.replace("/new.file", new)
        return plain.replace("'x'", f"'{self.canary}'"), plain.replace("'x'", f"'{new}'")


TABLES = (
    "create table t (a int primary key)",
    "insert into t values (1), (2)",
    "create table s (a int primary key)",
    "insert into s values (1)",
    "create table secret (x varchar(100), y varchar(100))",
    f"insert into secret values ('{HIDDEN}', '')",
)


@contextmanager
def canary_folder() -> Generator[Path]:
    """A folder that every user of the machine may use, with a file that nobody is to see."""
    folder = Path(tempfile.mkdtemp(prefix="cellwright-canary-", dir=in_memory()))
    try:
        folder.chmod(0o777)
        (folder / "secret.csv").write_text(f"{CANARY}\n")
        (folder / "secret.csv").chmod(0o644)
        yield folder
    finally:
        shutil.rmtree(folder)


# ── Postgres ──

_POSTGRES_STATE = (
    "select n.nspname, c.relname, c.relkind from pg_class c join pg_namespace n on n.oid = c.relnamespace"
    " where n.nspname not like 'pg_%' order by 1, 2",
    "select n.nspname, p.proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace"
    " where n.nspname not like 'pg_%' order by 1, 2",
    "select datname from pg_database order by 1",
    "select rolname, rolsuper, rolpassword from pg_authid order by 1",
    "select name, setting from pg_settings order by 1",
    "select * from pg_db_role_setting",
    "select * from pg_file_settings order by 1, 2",
    "select * from pg_description where classoid = 'pg_class'::regclass and objoid >= 16384",
    "select relacl from pg_class where relname in ('t', 's', 'secret')",
    "select extname from pg_extension order by 1",
    "select count(*) from pg_largeobject_metadata",
    "select slot_name from pg_replication_slots",
    "select last_value, is_called from numbers",
    "select * from t order by a",
    "select * from s order by a",
    "select * from secret order by x",
    "select locktype, mode from pg_locks where pid <> pg_backend_pid() and locktype = 'advisory'",
)


@contextmanager
def owned_postgres() -> Generator[OwnedServer]:
    with canary_folder() as folder, shop_server() as address, new_shop(address) as shop:
        for statement in (*TABLES, "create sequence numbers", "create sequence public.x"):
            shop.owned(statement)
        plain = shop.connection()
        yield OwnedServer(
            connection=replace(plain, options={**plain.options, "user": "postgres"}, writer="postgres"),
            secret="",
            bare=lambda statement: _bare_postgres(shop.owner, statement),
            state=lambda: [shop.owned(statement) for statement in _POSTGRES_STATE],
            folder=folder,
        )


def _bare_postgres(address: str, statement: str) -> str:
    with psycopg.connect(address, autocommit=True, options="-c default_transaction_read_only=on") as connection:
        try:
            # By the simple protocol, as drivers do without parameters.
            found = connection.execute(statement.encode())
            return str(found.fetchall() if found.description else "")
        except psycopg.Error as problem:
            return str(problem)


# ── MariaDB ──

_MYSQL_STATE = (
    "select table_schema, table_name, table_type from information_schema.tables order by 1, 2",
    "select routine_schema, routine_name from information_schema.routines order by 1, 2",
    "select schema_name from information_schema.schemata order by 1",
    "select user, host, authentication_string from mysql.global_priv_view order by 1, 2",
    "select variable_name, global_value from information_schema.system_variables"
    " where variable_name not like 'gtid%' and variable_name not like '%timestamp%' order by 1",
    "select plugin_name, plugin_status from information_schema.plugins order by 1",
    "select * from t order by a",
    "select * from s order by a",
    "select * from secret order by x",
    "select column_name from information_schema.columns where table_schema = 'shop' order by 1",
)


@contextmanager
def owned_mariadb() -> Generator[OwnedServer]:
    with canary_folder() as folder, mariadb_server() as server:
        escaped = SECRET.replace("\\", "\\\\").replace("'", "\\'")
        prepared = (
            f"create user {OWNER}@'%' identified by '{escaped}'",
            f"grant all on *.* to {OWNER}@'%' with grant option",
            "create view mysql.global_priv_view as"
            " select user, host, json_extract(priv, '$.authentication_string') authentication_string"
            " from mysql.global_priv",
            *TABLES,
        )
        for statement in prepared:
            server.run(statement)
        connection = DataConnection(name="shop", kind="mysql", options={**server.options, "user": OWNER}, writer=OWNER)
        yield OwnedServer(
            connection=connection,
            secret=SECRET,
            bare=lambda statement: _bare_mysql(server.options, statement),
            state=lambda: [server.run(statement) for statement in _MYSQL_STATE],
            folder=folder,
        )


def _bare_mysql(options: dict[str, str], statement: str) -> str:
    session: Any = pymysql.connect(
        host=options["host"], port=int(options["port"]), user=OWNER, password=SECRET.encode(), database="shop",
        client_flag=CLIENT.MULTI_STATEMENTS, autocommit=True,
    )  # fmt: skip
    try:
        with session.cursor() as cursor:
            cursor.execute("start transaction read only")
            cursor.execute(statement)
            found = list(cursor.fetchall())
            while cursor.nextset():
                found += cursor.fetchall()
            return str(found)
    except pymysql.err.Error as problem:
        return str(problem)
    finally:
        session.close()


# ── ClickHouse ──

_CLICKHOUSE_STATE = (
    "select database, name, engine from system.tables where database not in ('system', 'INFORMATION_SCHEMA',"
    " 'information_schema') order by 1, 2",
    "select name from system.databases order by 1",
    "select name from system.functions where origin != 'System' order by 1",
    "select name, value from system.server_settings order by 1",
    "select * from shop.t order by a",
    "select * from shop.s order by a",
    "select * from shop.secret order by x",
)


@contextmanager
def owned_clickhouse() -> Generator[OwnedServer]:
    with canary_folder() as folder, clickhouse_data_server() as server:
        for statement in TABLES:
            server.run(
                statement.replace("create table ", "create table shop.")
                .replace("into ", "into shop.")
                .replace("(a int primary key)", "(a Int32) engine MergeTree order by a")
                .replace("(x varchar(100), y varchar(100))", "(x String, y String) engine MergeTree order by x")
            )
        yield OwnedServer(
            connection=DataConnection(name="shop", kind="clickhouse", options=server.options, writer="ann"),
            secret=SECRET,
            bare=lambda statement: _bare_clickhouse(server.run, statement),
            state=lambda: [server.run(statement) for statement in _CLICKHOUSE_STATE],
            folder=folder,
        )


def _bare_clickhouse(run: Callable[[str], Any], statement: str) -> str:
    try:
        return run(statement)
    except AssertionError as problem:
        return str(problem)
