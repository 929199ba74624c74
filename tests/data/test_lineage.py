"""The audit says which columns a statement read, as far as that can be told."""

from __future__ import annotations

import pytest

from cellwright.data.catalogue import Catalogue, CatalogueColumn, CatalogueTable
from cellwright.data.dialects import Dialect
from cellwright.data.lineage import columns_read
from cellwright.data.statements import SqlStatement, read_statement

CATALOGUE = Catalogue(
    default_schema="public",
    tables=tuple(
        CatalogueTable(
            schema="public",
            name=name,
            columns=tuple(CatalogueColumn(name=column, type="int") for column in columns.split()),
        )
        for name, columns in {"users": "id name email", "orders": "id user_id total"}.items()
    ),
)
USERS = ("public.users.email", "public.users.id", "public.users.name")


@pytest.mark.parametrize("dialect", ["postgres", "duckdb", "mysql"])
@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("select * from users", USERS),
        ("select u.name from users u", ("public.users.name",)),
        ("explain select name from users", ("public.users.name",)),
        (
            "with x as (select id, name from users) select x.name, sum(o.total) from x join orders o "
            "on o.user_id = x.id group by x.name",
            ("public.orders.total", "public.orders.user_id", "public.users.id", "public.users.name"),
        ),
        ("with users as (select 1 as id) select id from users", ()),
        ("with users as (select id from users) select id from users", ("public.users.id",)),
        ("select count(*) from orders", ("public.orders",)),
        ("select u.id, concat(u) from users u", USERS),
        ("select name, x from users, nowhere", ("nowhere", "public.users.name")),
        ("select email from users union select total from orders", ("public.orders.total", "public.users.email")),
        ("update users set name = 'x' where id = 3", ("public.users",)),
        ("insert into orders (id) select id from users", ("public.orders", "public.users.id")),
        ("select a from elsewhere.t", ("elsewhere.t",)),
    ],
)
def test_columns_that_a_statement_reads_are_told_in_full(text: str, read: tuple[str, ...], dialect: Dialect) -> None:
    statement = read_statement(text, dialect)
    assert isinstance(statement, SqlStatement)
    assert columns_read(statement, dialect, CATALOGUE) == read
