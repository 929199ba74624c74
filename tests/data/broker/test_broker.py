"""The broker through its client: a real process with a real worker at a real Postgres."""

from __future__ import annotations

import fcntl
import mmap
import os
import signal
from dataclasses import replace
from decimal import Decimal

import anyio
import anyio.to_thread
import psutil
import psycopg
import pyarrow as pa
import pytest

from cellwright.background import running_pid
from cellwright.data.broker_client import BrokerClient
from cellwright.data.broker_process import broker_at
from cellwright.data.connections import QueryLimits, store_connection
from cellwright.data.estimates import expected_words
from cellwright.data.messages import (
    Asker,
    CostlyQuery,
    ListStatements,
    MakeWrite,
    QueryResult,
    ReadSchema,
    RehearseWrite,
    RunQuery,
)
from cellwright.errors import RefusedByPolicy, Unavailable, UserError
from cellwright.policy.money import Money
from cellwright.secrets import keep_secret
from tests.data.process_memory import seen_from_outside
from tests.data.shop import READER_PASSWORD, WRITER_PASSWORD, Shop, rows_of

COUNT = "select count(*) from public.orders"
ENDLESS = "select count(*) from generate_series(1, 100000000000) a"


async def test_rows_come_as_arrow_in_sealed_memory_with_numbers_that_compute(client: BrokerClient) -> None:
    figures = "count(*) n, avg(amount) mean, sum(amount) total"
    statement = f"select country, {figures} from orders join customers c on c.id = customer_id group by 1 order by 1"
    found = await client.query(RunQuery(connection="shop", statement=statement))
    assert isinstance(found, QueryResult)
    with pa.memory_map(f"/proc/self/fd/{found.descriptor}") as mapped:
        table = pa.ipc.open_file(mapped).read_all()
    assert fcntl.fcntl(found.descriptor, fcntl.F_GET_SEALS) == (
        fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
    )
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.write(found.descriptor, b"x")
    # Nor by who opens it anew, or maps it.
    writable = os.open(f"/proc/self/fd/{found.descriptor}", os.O_RDWR)
    for change in (lambda: os.write(writable, b"x"), lambda: os.ftruncate(writable, 0), lambda: mmap.mmap(writable, 0)):
        with pytest.raises(PermissionError):
            change()
    os.close(writable)
    os.close(found.descriptor)
    assert [str(field.type) for field in table.schema] == ["string", "int64", "double", "double"]
    assert table.column("n").to_pylist() == [1000, 1000, 1000]
    assert (found.rows, found.cut, found.tables) == (3, "", ("customers", "orders"))


async def test_what_changes_data_is_refused_and_recorded(client: BrokerClient) -> None:
    with pytest.raises(RefusedByPolicy, match="It changes data"):
        await client.query(RunQuery(connection="shop", statement="delete from orders"))
    with pytest.raises(UserError, match="One statement at a time"):
        await client.query(RunQuery(connection="shop", statement="select 1; drop table orders"))
    with pytest.raises(UserError, match="does more than compute"):
        await client.query(RunQuery(connection="shop", statement="select pg_read_file('/etc/passwd')"))
    assert await rows_of(client, COUNT) == [[3000]]
    lines = await client.statements(ListStatements(connection="shop", most=4))
    assert [line.outcome for line in lines] == ["done", "refused", "refused", "refused"]


async def test_a_function_that_the_server_does_not_vouch_for_needs_a_persons_word(
    client: BrokerClient, shop: Shop
) -> None:
    with pytest.raises(UserError, match="doubled"):
        await rows_of(client, "select doubled(3)")
    store_connection(client.launch.home, shop.connection(functions=("doubled",)))
    assert await rows_of(client, "select doubled(3)") == [[6]]


async def test_a_servers_message_comes_with_what_the_catalogue_knows(client: BrokerClient) -> None:
    await client.schema(ReadSchema(connection="shop"))
    with pytest.raises(UserError, match='column "coutry" does not exist') as raised:
        await rows_of(client, "select coutry from customers")
    assert "country" in raised.value.hint


async def test_a_table_of_another_schema_is_offered_and_lines_are_counted_as_they_were_written(
    client: BrokerClient,
) -> None:
    await client.schema(ReadSchema(connection="shop"))
    with pytest.raises(UserError, match=r"\(line 3, ") as raised:
        await rows_of(client, "\n\nselect * from sales.customers")
    assert "Did you mean public.customers?" in raised.value.hint


async def test_limits_cut_and_say_so(client: BrokerClient, shop: Shop) -> None:
    store_connection(client.launch.home, shop.connection(limits=QueryLimits(rows=100)))
    found = await client.query(RunQuery(connection="shop", statement="select * from orders", rows=1_000_000))
    assert isinstance(found, QueryResult)
    os.close(found.descriptor)
    assert (found.rows, found.cut) == (100, "rows")
    assert "Only the first 100 rows are here" in found.notices[0]


@pytest.mark.slow
async def test_a_query_that_reads_much_is_told_before_it_is_sent(client: BrokerClient, shop: Shop) -> None:
    price = Money(amount=Decimal(1_000_000), currency="EUR")
    store_connection(client.launch.home, shop.connection(ask_above_rows=1000, price_per_terabyte=price))
    found = await client.query(RunQuery(connection="shop", statement="select * from orders", form="json"))
    assert isinstance(found, CostlyQuery)
    assert found.rows == 3000
    assert found.price.endswith(" EUR")
    assert len(await rows_of(client, "select * from orders", agreed_rows=found.rows)) == 3000
    [sent, costly] = await client.statements(ListStatements(most=2))
    assert (sent.outcome, costly.outcome) == ("done", "costly")
    assert sent.price == found.price


@pytest.mark.slow
async def test_much_is_told_in_bytes_too(client: BrokerClient, shop: Shop) -> None:
    store_connection(client.launch.home, shop.connection(ask_above_megabytes=1))
    wide = "select repeat('x', 1000)::char(1000) as filler, o.* from orders o, generate_series(1, 10) i"
    found = await client.query(RunQuery(connection="shop", statement=wide))
    assert isinstance(found, CostlyQuery)
    assert found.bytes is not None
    assert found.bytes > 1_000_000
    [costly] = await client.statements(ListStatements(most=1))
    assert (costly.outcome, costly.why) == ("costly", f"{expected_words(found)} would be read")
    assert await rows_of(client, "select count(*) from customers") == [[30]]


async def test_masked_columns_stay_on_the_server(client: BrokerClient, shop: Shop) -> None:
    store_connection(client.launch.home, shop.connection(masked=("customers.email",)))
    [row] = await rows_of(client, "select to_jsonb(c), c.* from customers c where id = 1")
    assert "secret1@" not in str(row)
    assert "•••" in str(row)
    found = await client.schema(ReadSchema(connection="shop", tables=("customers",)))
    email = next(column for column in found.tables[0].columns if column.name == "email")
    assert (email.is_masked, email.samples) == (True, ())


async def test_a_client_that_leaves_takes_its_statement_off_the_server(client: BrokerClient, shop: Shop) -> None:
    running = "select count(*) from pg_stat_activity where usename = 'reader' and state = 'active'"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(
            client.query, RunQuery(connection="shop", statement=ENDLESS, agreed_rows=10**12, agreed_bytes=10**18)
        )
        await anyio.to_thread.run_sync(shop.wait_until, running, 1)
        tasks.cancel_scope.cancel()
    with anyio.fail_after(2):
        await anyio.to_thread.run_sync(shop.wait_until, running, 0, abandon_on_cancel=True)
    # The session is in order, and used again.
    assert await rows_of(client, "select 1") == [[1]]


@pytest.mark.slow
async def test_a_deadline_ends_a_statement_with_one_sentence(client: BrokerClient) -> None:
    with pytest.raises(Unavailable, match=r"took more than 0\.5 s"):
        await rows_of(client, ENDLESS, seconds=0.5, agreed_rows=10**12, agreed_bytes=10**18)


@pytest.mark.slow
async def test_several_ask_at_once(client: BrokerClient) -> None:
    found: list[int] = []

    async def ask(number: int) -> None:
        found.append((await rows_of(client, f"select {number} + count(*) from orders"))[0][0])

    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(ask, number)
    assert sorted(found) == [3000 + number for number in range(8)]


async def test_a_connection_for_one_project_is_refused_in_another(client: BrokerClient, shop: Shop) -> None:
    store_connection(client.launch.home, shop.connection(projects=("/srv/sales",)))
    inside, outside = (Asker(project=folder) for folder in ("/srv/sales/2025", "/srv/salesmen"))
    assert await rows_of(client, "select 1", asker=inside) == [[1]]
    with pytest.raises(RefusedByPolicy, match="is not for notebooks of"):
        await rows_of(client, "select 1", asker=outside)


# ── what is wrong is told in one line ──


async def test_a_wrong_password_is_told_without_it(client: BrokerClient, shop: Shop) -> None:
    keep_secret(client.launch.home, "data:shop", "wrong-canary-1", "file")
    with pytest.raises(UserError, match="does not accept the user or the secret") as raised:
        await client.try_connection("shop")
    assert "wrong-canary-1" not in f"{raised.value.message} {raised.value.hint}"
    keep_secret(client.launch.home, "data:shop", READER_PASSWORD, "file")
    await client.secrets_changed("shop")
    assert (await client.try_connection("shop")).tables == 2


@pytest.mark.slow
async def test_a_host_that_is_not_there_is_told(client: BrokerClient, shop: Shop) -> None:
    connection = shop.connection("gone")
    store_connection(
        client.launch.home, replace(connection, options={**connection.options, "host": "127.0.0.1", "port": "1"})
    )
    with pytest.raises(Unavailable, match="cannot be reached"):
        await client.try_connection("gone")
    with pytest.raises(UserError, match="No connection is called 'other'"):
        await client.try_connection("other")


def test_no_password_is_anywhere_but_in_the_file_that_keeps_it(own_client: BrokerClient) -> None:
    async def use() -> None:
        await rows_of(own_client, COUNT)
        with pytest.raises(UserError):
            await rows_of(own_client, "select nope from orders")
        await own_client.rehearse(RehearseWrite(connection="shop", statement="delete from orders"))

    anyio.run(use)
    home = own_client.launch.home
    pid = running_pid(broker_at(home))
    assert pid is not None
    workers = [child.pid for child in psutil.Process(pid).children()]
    assert workers
    texts = [seen_from_outside(each) for each in (pid, *workers)]
    texts += [file.read_bytes() for file in home.rglob("*") if file.is_file() and file.name != "keys.json"]
    for text in texts:
        assert READER_PASSWORD.encode() not in text
        assert WRITER_PASSWORD.encode() not in text


# ── writes ──


async def test_a_write_is_rehearsed_and_made_once(own_client: BrokerClient) -> None:
    delete = "delete from orders where id <= 10"
    rehearsed = await own_client.rehearse(RehearseWrite(connection="shop", statement=delete))
    assert (rehearsed.rows, rehearsed.tables) == (10, ("orders",))
    assert await rows_of(own_client, COUNT) == [[3000]]
    asked = MakeWrite(id="one", connection="shop", statement=delete)
    made = await own_client.write(asked)
    assert (made.outcome, made.rows) == ("done", 10)
    again = "insert into orders select i, 1, 1, now() from generate_series(1, 10) i"
    await own_client.write(MakeWrite(id="two", connection="shop", statement=again))
    # The same id is the same write, which was made.
    assert await own_client.write(asked) == made
    assert await rows_of(own_client, COUNT) == [[3000]]


@pytest.mark.slow
async def test_trying_a_connection_tries_its_writer_and_its_masks_too(own_client: BrokerClient, own_shop: Shop) -> None:
    home = own_client.launch.home
    assert (await own_client.try_connection("shop")).notices == ()
    store_connection(home, own_shop.connection(writer="writer", masked=("customers.emial", "*.email")))
    tried = await own_client.try_connection("shop")
    assert tried.notices == ("Nothing is masked by 'customers.emial': there is no such column.",)
    for writer, says in (
        ("writer", "does not accept the user or the secret of 'shop'"),
        ("nobody", "does not accept the user or the secret of 'shop'"),
    ):
        connection = own_shop.connection(writer=writer)
        store_connection(home, connection)
        keep_secret(home, connection.writer_secret_name, "canary-wrong-13579", "file")
        await own_client.secrets_changed("shop")
        with pytest.raises(UserError, match=says) as problem:
            await own_client.try_connection("shop")
        assert problem.value.message.startswith(f"As its writer {writer!r}: ")
        assert "canary" not in str(problem.value) + problem.value.hint


@pytest.mark.slow
async def test_a_write_that_fails_is_not_made_later(own_client: BrokerClient) -> None:
    asked = MakeWrite(id="bad", connection="shop", statement="insert into orders values (1, 1, 1, now())")
    for _ in range(2):
        with pytest.raises(UserError, match=r"duplicate key|failed before"):
            await own_client.write(asked)


@pytest.mark.slow
async def test_a_write_under_which_the_broker_was_killed_is_unknown_and_never_sent_again(
    own_client: BrokerClient, own_shop: Shop
) -> None:
    asked = MakeWrite(id="cut", connection="shop", statement="update orders set amount = amount + 1")
    with psycopg.connect(own_shop.owner) as holder:
        holder.execute("lock table orders in exclusive mode")
        async with anyio.create_task_group() as tasks:
            failed: list[Unavailable] = []

            async def write() -> None:
                try:
                    await own_client.write(asked)
                except Unavailable as problem:
                    failed.append(problem)

            tasks.start_soon(write)
            waiting = "select count(*) from pg_stat_activity where usename = 'writer' and wait_event_type = 'Lock'"
            await anyio.to_thread.run_sync(own_shop.wait_until, waiting, 1)
            pid = running_pid(broker_at(own_client.launch.home))
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
    assert failed
    assert (await own_client.write(asked)).outcome == "unknown"
    total = "select sum(amount) from orders"
    before = await rows_of(own_client, total)
    assert (await own_client.write(asked)).outcome == "unknown"
    assert await rows_of(own_client, total) == before
