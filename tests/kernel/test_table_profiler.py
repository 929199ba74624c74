"""Tables of a real Postgres are profiled in the cage that reads files, with what the catalogue knows of them."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from cellwright.app.notebook_connections import NotebookConnections
from cellwright.data.catalogue import CatalogueColumn, CatalogueTable, ForeignKey
from cellwright.data.files import DataFile
from cellwright.data.messages import Asker, ListStatements
from cellwright.errors import UserError
from cellwright.kernel.fetched_tables import FetchedTable
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.profiler import ProfileLimits, Profiler
from cellwright.kernel.table_profiler import TableProfiler, told_as_tables
from cellwright.profiles.profile import Profile, ReadOptions
from cellwright.sandbox.host.tiers import probe
from tests.data.shop import Shop, broker_client, name_connection, new_shop, shop_server
from tests.profiles.made import a_category, a_table

BIG = """
    create table visits as select i as id, i % 30 + 1 as customer_id, (array['web', 'shop'])[i % 2 + 1] as channel
        from generate_series(1, 60000) i;
    alter table visits add foreign key (customer_id) references customers;
    grant select on visits to reader; analyze visits;
"""


@pytest.fixture(scope="module")
def shop() -> Generator[Shop]:
    with shop_server() as server, new_shop(server) as shop:
        shop.owned(BIG)
        yield shop


@pytest.fixture
def tables(shop: Shop, pool: KernelPool, tmp_path: Path) -> Generator[TableProfiler]:
    with broker_client(tmp_path / "home") as client:
        name_connection(client.launch.home, shop.connection(masked=("customers.email",)))
        source = NotebookConnections(client=client, asker=Asker(person="ada"), cache=None)
        yield TableProfiler(profiler=Profiler(pool=pool, tier=probe().tier), source=source)


@pytest.mark.slow
async def test_tables_have_their_own_names_counts_and_keys_and_masked_columns_no_values(tables: TableProfiler) -> None:
    found = await tables.profile_named({"shop": ["orders", "public.customers"]})
    told = {table.name: (table.rows, table.is_counted, table.looked_at, table.sampling) for table in found.tables}
    assert told == {"orders": (3000, True, 3000, ""), "customers": (30, True, 30, "")}
    orders, customers = found.tables
    assert (orders.reading.path, orders.reading.part) == ("shop", "public.orders")
    assert orders.reading.query == 'select "id", "customer_id", "amount", "placed_at" from "public"."orders"'
    assert [(column.name, column.kind) for column in orders.columns] == [
        ("id", "integer"),
        ("customer_id", "integer"),
        ("amount", "number"),
        ("placed_at", "datetime"),
    ]
    assert [column.name for column in customers.columns] == ["id", "name", "country"]
    assert [odd.column for odd in customers.oddities if odd.kind == "not-read"] == ["email"]
    assert [(join.left, join.left_column, join.right, join.right_column) for join in found.joins] == [
        ("orders", "customer_id", "customers", "id")
    ]


@pytest.mark.slow
async def test_a_large_table_is_sampled_from_all_over_it_and_that_is_said(tables: TableProfiler) -> None:
    found = await tables.profile_named({"shop": ["visits", "customers"]}, limits=ProfileLimits(most_rows=20_000))
    visits = found.tables[0]
    assert (visits.rows, visits.is_counted) == (60_000, False)
    assert 10_000 < visits.looked_at <= 20_000
    assert visits.sampling == "whole blocks of the table, chosen by chance"
    number = next(column.numbers for column in visits.columns if column.name == "id")
    assert number is not None and number.greatest > 50_000
    # The key of the database is known whatever the sample shows.
    assert found.joins[0].left_coverage == 1.0
    few = await tables.profile_named({"shop": ["visits"]}, limits=ProfileLimits(most_rows=500))
    assert (few.tables[0].looked_at, few.tables[0].sampling) == (500, "the first ones")


@pytest.mark.slow
async def test_a_query_is_profiled_and_what_is_refused_is_refused_here_too(tables: TableProfiler) -> None:
    found = await tables.profile_query("shop", "select country, count(*) as n from customers group by country")
    [table] = found.tables
    assert (table.name, table.rows, [column.name for column in table.columns]) == ("query", 3, ["country", "n"])
    with pytest.raises(UserError, match="no table 'nowhere'"):
        await tables.profile_named({"shop": ["nowhere"]})
    source = tables.source
    assert isinstance(source, NotebookConnections)
    sent = await source.client.statements(ListStatements(connection="shop"))
    assert {line.person for line in sent} == {"ada"}


def fetched(connection: str, table: CatalogueTable, number: int) -> FetchedTable:
    place = f"{connection}/{number}.arrow"
    return FetchedTable(
        file=DataFile(name="rows", source=Path("/nowhere"), place=place, target=place),
        reading=ReadOptions(path=connection, format="connection", part=table.qualified, query="select 1"),
        rows=100,
        is_counted=True,
        table=table,
    )


def test_a_profile_of_files_is_told_as_that_of_tables_with_masks_and_keys() -> None:
    key = ForeignKey(columns=("region",), table="b.orders", target=("region",))
    masked = CatalogueColumn(name="email", type="text", is_masked=True)
    sources = [
        fetched("shop", CatalogueTable(schema="a", name="orders", columns=(masked,), foreign_keys=(key,)), 0),
        fetched("shop", CatalogueTable(schema="b", name="orders"), 1),
        fetched("shop", CatalogueTable(schema="b", name="people"), 2),
    ]
    files = [
        a_table(f"t{number}", a_category(), reading=ReadOptions(path=source.file.place, format="feather"), oddities=())
        for number, source in enumerate(sources)
    ]
    told = told_as_tables(Profile(tables=tuple(files)), sources)
    assert [table.name for table in told.tables] == ["a.orders", "b.orders", "people"]
    assert [odd.says for odd in told.tables[0].oddities] == ["It is masked: nobody sees its values."]
    assert [(join.left, join.right) for join in told.joins] == [("a.orders", "b.orders")]
