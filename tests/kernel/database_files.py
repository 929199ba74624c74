"""Databases in files for tests, and what is compared of a folder."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb


def make_databases(made: Path) -> Path:
    """`shop.sqlite` and `shop.duckdb`, which nobody changes, and `secret.csv`, which is none of them."""
    with closing(sqlite3.connect(made / "shop.sqlite")) as connection:
        connection.executescript(
            """
            create table people (id INTEGER primary key, name TEXT not null);
            create table orders (id INTEGER, day TEXT, person INTEGER references people, price NUMERIC,
                                 primary key (id, day));
            create view spent as select name, price from people join orders on person = people.id;
            create table t (a);
            insert into people values (1, 'Ada'), (2, 'Bo');
            insert into orders values (1, '2025-01-01', 1, 10), (2, '2025-01-02', 1, 2.5), (3, '2025-01-03', 2, null);
            insert into t values (1), (2);
            """
        )
    with closing(duckdb.connect(str(made / "shop.duckdb"))) as connection:
        for statement in (
            "create table people (id int primary key, name varchar not null)",
            "comment on table people is 'who buys'",
            "create schema store",
            "create table store.orders (id int, price decimal(10, 2), primary key (id))",
            "create view spent as select name, sum(id) as total from people group by name",
            "create table t (a int)",
            "insert into people values (1, 'Ada'), (2, 'Bo')",
            "insert into t values (1), (2)",
        ):
            connection.execute(statement)
    (made / "secret.csv").write_text("canary-4711\n")
    return made


def with_paths(text: str, folder: Path, made: Path) -> str:
    """A hostile statement with a file that is there, and one that must not come to be."""
    return text.replace("/secret.csv", str(folder / "secret.csv")).replace("/new.file", str(made / "new.file"))


def stamps(folder: Path) -> dict[str, bytes]:
    """All files of a folder, whole."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}
