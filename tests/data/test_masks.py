"""Masked columns stay hidden whatever a query does with them, and other queries give what they gave before."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import duckdb
import psycopg
import pytest
import sqlglot
from psycopg.rows import dict_row

from bench.postgres_server import postgres_server
from cellwright.data.catalogue import Catalogue, CatalogueColumn, CatalogueTable
from cellwright.data.dialects import Dialect
from cellwright.data.masked_columns import mark_masked
from cellwright.data.masks import mask_statement
from cellwright.data.statements import RefusedSql, SqlStatement, read_statement
from cellwright.data.worker.postgres_catalogue import postgres_catalogue
from cellwright_guest.file_queries.duckdb_catalogue import read_duckdb_catalogue

CANARY = "canary"
NUMBER = 424_242
MASKED = ("users.email", "users.SSN", "people.email", "bookings.email", "app.people.secret", "*.cards.*")
TABLES = f"""
create schema app;
create table users (id int primary key, name text, email varchar(80), ssn int, born date) partition by range (id);
create table users_low partition of users for values from (0) to (10);
create table users_high partition of users default;
insert into users select n, 'n' || n, '{CANARY}' || n || '@example.org', {NUMBER}, date '2000-01-01' + n
    from generate_series(1, 20) n;
create table orders (id int primary key, user_id int, total numeric(10, 2), note text);
insert into orders select n, n % 20 + 1, n * 1.5, 'note ' || n from generate_series(1, 60) n;
create table app.people (id int, secret text, pay numeric);
create table app.staff (room text) inherits (app.people);
insert into app.staff values (1, '{CANARY}', 10, 'a');
insert into app.people values (2, '{CANARY}', 20);
create table people (id int primary key, name text, email text, born date, attributes json);
insert into people select n, 'n' || n, '{CANARY}', date '2000-01-01' + n, '{{}}' from generate_series(1, 20) n;
create table bookings (people int, room int, price int, email text, primary key (people, room));
insert into bookings select n % 20 + 1, n, n % 7, '{CANARY}' from generate_series(1, 60) n;
create table "Cards" (id int, "Num Ber" text);
insert into "Cards" values (1, '{CANARY}');
create table cards (id int, number text, holder text);
insert into cards values (1, '{CANARY}', '{CANARY}');
create view mails as select id, email as mail from users;
create view mails_again as select * from mails;
create materialized view mail_copy as select email from users;
create function one_mail() returns text language sql stable as 'select email from users limit 1';
create view by_function as select o.id, one_mail() as m from orders o;
create view totals as select user_id, sum(total) as total from orders group by user_id;
analyze;
"""
POSTGRES_ONLY = """
create function all_users() returns setof users language sql stable as 'select * from users';
create function mail_of(int) returns text language sql stable as 'select email from users where id = $1';
create function buyer(orders) returns text language sql stable as 'select email from users where id = $1.user_id';
create function fold(users) returns text language sql stable as 'select $1.email';
create schema odd;
create function odd.lower(text) returns text language sql stable as 'select email::text from public.users limit 1';
create function odd.plus(int, int) returns text language sql stable as 'select email::text from users limit 1';
create operator odd.+ (leftarg = int, rightarg = int, function = odd.plus);
create function length(int) returns text language sql stable as 'select email::text from users limit 1';
create function joined(int, text) returns text language sql stable as 'select email::text from users limit 1';
create operator # (leftarg = int, rightarg = text, function = joined);
"""

ATTACKS = (
    "select email from users",
    "select * from users",
    "select u.* from users u",
    "select users.* from public.users",
    "select public.users.email from public.users",
    "select U.Email from USERS as U",
    'select "email" from "users"',
    'select u."email" from "public"."users" u',
    "select x.m from (select email as m from users) x",
    "with u as (select email from users) select * from u",
    "with users as (select * from users) select email from users",
    "with users as (select * from public.users) select * from users",
    "with a as (with users as (select 1 as id) select * from users) select u.email from users u, a",
    "with a as (with users as (select * from users) select * from users) select * from a",
    "with orders as (select * from users) select email from orders",
    "with recursive users as (select id, email, 1 as n from public.users union all select id, email, n + 1 from users "
    "where n < 2) select * from users",
    "with recursive a as (select * from b), b as (select email from users) select * from a",
    "with a as (select * from users), users as (select 1 as id) select * from a",
    "select users from users",
    "select u from users u",
    "select (u).email from users u",
    "select to_jsonb(u) from users u",
    "select to_jsonb(users) from users",
    "select row_to_json(u) from users u",
    "select u::text from users u",
    "select u.*::text from users u",
    "select cast(users as text) from users",
    "select array_agg(u) from users u",
    "select array_agg(u)::text from users u",
    "select json_agg(u) from users u",
    "select jsonb_object_agg(id, email) from users",
    "select string_agg(email, ',') from users",
    "select row(u.*) from users u",
    "select max(email), min(email) from users",
    "select sum(ssn), max(ssn) from users",
    "select cast(email as text) || '' from users",
    "select substr(email, 1, 30), upper(email), md5(email) from users",
    "select case when true then email else '' end from users",
    "select coalesce(email, ''), nullif(email, '') from users",
    "select first_value(email) over (order by id), lag(email) over (order by id) from users",
    "select o.id, x.email from orders o, lateral (select email from users where id = o.user_id) x",
    "select o.id, (select email from users u where u.id = o.user_id) from orders o",
    "select array(select email from users)",
    "select unnest(array(select email from users))",
    "select * from orders join users on users.id = orders.user_id",
    "select * from orders o left join users u on u.id = o.user_id and u.email is not null",
    "select * from (users u join orders o on u.id = o.user_id)",
    "select * from (users u join orders o on u.id = o.user_id) x",
    "select * from users natural join (select id from orders) o",
    "select * from users join users_low using (id)",
    "select a.email from users a join users b using (email) limit 50",
    "select name from orders union all select email from users",
    "select email from users except select note from orders",
    "select email from users intersect select email from users",
    "select * from (values (1)) v(id) join users using (id)",
    "select distinct email from users",
    "select distinct on (email) email from users order by email",
    "select email, count(*) from users group by email",
    "select email from users group by grouping sets ((email), ())",
    "select count(*) filter (where true), email from users group by 2",
    "select * from users u(a, b, c, d, e)",
    "select c from users as u(a, b, c)",
    "select email from only users_low",
    "select * from users_high",
    "select * from users_low union select * from users_high",
    "select secret from app.people",
    "select secret from app.staff",
    "select * from only app.people",
    'select * from "Cards"',
    'select "Num Ber" from "Cards"',
    "select * from cards",
    "table users",
    "select * from users u tablesample bernoulli (100)",
    "select * from users order by email limit 1",
    "select email from users where id = (select min(id) from users)",
    "select jsonb_each_text(to_jsonb(u)) from users u",
    "select k.value from users u, jsonb_each_text(to_jsonb(u)) k",
    "select * from json_populate_record(null::users, (select row_to_json(u) from users u limit 1))",
    "select format('%s', u) from users u",
    "select concat(u) from users u",
    "select xmlforest(u.email) from users u",
    "explain (format json) select * from users where email like 'c%'",
    "select cast(email as int) from users",
    "select 1 / (case when ssn > 0 then 0 else 1 end) from users",
)
"""As owner of everything, on a real server: none may show what is masked; some are refused, or fail."""
POSTGRES_ATTACKS = (
    "select * from all_users()",
    "select all_users()",
    "select (all_users()).email",
    "select * from orders o, lateral all_users() u",
    "select * from rows from (all_users()) u",
    "select mail_of(1)",
    "select public.mail_of(1)",
    'select "mail_of"(1)',
    "select o.buyer from orders o",
    "select (o).buyer from orders o",
    "select (o.*).buyer from orders o",
    "select orders.buyer from orders",
    "select x.buyer from (select o from orders o) z, orders x",
    "select buyer(o) from orders o",
    "select o.id from orders o where o.buyer like 'canary%'",
    "select (row(1, 1, 1.5, 'x')::orders).buyer",
    "select d.buyer from (select id, user_id, total, note from orders) d",
    "with d as (select * from orders) select d.buyer from d",
    "with d as (select * from orders), e as (select * from d) select (e).buyer from e",
    "select j.buyer from json_to_record('{\"user_id\": 1}') as j(id int, user_id int, total numeric, note text)",
    "select (json_populate_record(null::orders, '{\"user_id\": 1}')).buyer",
    "select (select o from orders o limit 1).buyer",
    "select (array_agg(o))[1].buyer from orders o",
    "select ((array_agg(o))[1]).buyer from orders o",
    "select o.buyer from orders o where exists (select 1 from (select 1 as buyer) o)",
    "select o.buyer from orders o cross join (select 1 as buyer) p",
    "select v.buyer from (values (1, 1, 1.5, 'x'::text)) v",
    "select x.buyer from orders o, lateral (select o.*) x",
    "select x.buyer from (orders join users_low using (id)) x, (select 1 as buyer) y",
    "select u.fold from users u",
    "select fold(u) from users u",
    "select odd.lower('x')",
    "select length(3)",
    'select "length"(id) from orders',
    "select 1 # 'x'::text",
    "select 1 operator(odd.+) 2",
    "select * from mails",
    "select mail from mails_again",
    "select * from mail_copy",
    "select * from by_function",
    "select * from pg_stats",
    "select most_common_vals::text from pg_catalog.pg_stats",
    "select stavalues1::text from pg_statistic",
    "select query from pg_stat_activity",
    "select * from postgres.public.users",
    "select * from nowhere",
    "select pg_get_viewdef('mails'::regclass), table_to_xml('users', true, true, '')",
    "with pg_stats as (select * from pg_stats) select * from pg_stats",
)
ORACLES = (
    "select count(*) from users where email = 'canary1@example.org'",
    "select count(*) from users where email like 'canary%'",
    "select count(*) from users where email > 'c' and email < 'd'",
    "select count(*) from users u where exists (select 1 from users x where x.id = u.id and x.email like 'can%')",
    f"select count(*) from users where ssn = {NUMBER}",
    f"select count(*) from users where {NUMBER} in (select ssn from users)",
    "select count(*) from users where position('canary' in email) > 0",
    "select count(*) from users u where to_jsonb(u)::text like '%canary%'",
    "select count(*) from users having max(email) like 'can%'",
    "select count(*) from app.staff where secret = 'canary'",
)
"""These count what they find out."""
ORDINARY = (
    "select id, name from users order by id",
    "select u.id, u.name, o.total from users u join orders o on o.user_id = u.id order by o.id",
    "select p.id, p.name, sum(o.total) from people p join orders o on o.user_id = p.id group by p.id order by p.id",
    "select p.id, p.name || '!' as n, p.born, count(*) from people p left join orders o on o.user_id = p.id group by 1 "
    "having p.name > 'n' order by p.born desc, p.name",
    'select people.id, people.born, count(o.id) from "people" left join orders o on o.user_id = people.id '
    "group by people.id order by 1",
    "select name, count(*) over () from people group by id order by born",
    "select x.name from (select name, id from people group by people.id) x order by x.id",
    "select user_id, (select name from people where people.id = user_id group by people.id) from orders "
    "group by user_id order by 1",
    "select b.people, b.room, p.name from bookings b join people p on p.id = b.people group by b.people, b.room, p.id "
    "order by 1, 2",
    "select room, price from bookings group by bookings.people, room order by 1, 2",
    "select user_id, sum(total) as total, count(*) from orders group by user_id order by 1",
    "select * from orders order by id limit 7",
    "select orders.* from public.orders where note like 'note 1%' order by id",
    "with top as (select user_id, sum(total) as t from orders group by 1) select u.name, top.t from top join users u "
    "on u.id = top.user_id order by 2 desc, 1",
    "with users as (select 1 as id) select users.id from users",
    "with recursive t(n) as (select 1 union all select n + 1 from t where n < 5) select t.n from t order by 1",
    "select name, row_number() over (partition by id % 3 order by born) from users order by id",
    "select count(*), avg(total), max(born) from orders, users where orders.user_id = users.id",
    "select x.id from users x where exists (select 1 from orders o where o.user_id = x.id and o.total > 50) order by 1",
    "select id from users union select user_id from orders order by 1",
    "select o.id, l.name from orders o cross join lateral (select name from users where id = o.user_id) l order by 1",
    "select * from totals order by 1",
    "select date_trunc('month', born) as m, count(*) from users group by 1 order by 1",
    "select id, room, pay from app.staff",
    "select id, born + interval '1 day' as d, extract(year from born) as y from users order by id",
    "select to_jsonb(o) ->> 'note' as n from orders o order by o.id",
    "select o from orders o order by o.id",
    "select o.user_id, o.note, count(*) from orders o group by o.id order by o.id",
    "select generate_series(1, 3) as n",
    "select v.a from (values (1), (2)) v(a) order by 1",
    "select x.id, x.count, y.total from (select o.id, count(*) from orders o group by o.id) x, (orders o join users u "
    "on o.user_id = u.id) y(order_id, user_id, total) where x.id = y.order_id order by 1, 3",
    "select k.key, k.value from orders o, jsonb_each_text(to_jsonb(o)) k order by o.id, k.key limit 5",
    "select s.n, g from generate_series(1, 2) as s(n), generate_series(1, 2) g order by 1, 2",
    "select (o).note, o.ctid is null from orders o order by o.id limit 3",
    "select table_name from information_schema.tables where table_schema = 'app' order by 1",
    "select case when total > 10 then 'much' else 'little' end as how, count(*) from orders group by 1 order by 1",
    "select nullif(name, 'n1') as n, coalesce(note, '-') from users left join orders using (id) order by users.id",
)

Rows = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def server() -> Generator[psycopg.Connection[Any]]:
    with postgres_server() as address, psycopg.connect(address, autocommit=True) as connection:
        connection.execute(TABLES)  # pyrefly: ignore[no-matching-overload]
        connection.execute(POSTGRES_ONLY)
        yield connection


@pytest.fixture(scope="module")
def catalogue(server: psycopg.Connection[Any]) -> Catalogue:
    with server.cursor(row_factory=dict_row) as cursor:
        return postgres_catalogue(lambda text: cursor.execute(text).fetchall(), "PostgreSQL")  # pyrefly: ignore[no-matching-overload]


def masked(text: str, catalogue: Catalogue, dialect: Dialect = "postgres") -> SqlStatement | RefusedSql:
    read = read_statement(text, dialect)
    return read if isinstance(read, RefusedSql) else mask_statement(read, dialect, catalogue, MASKED)


def rows(server: psycopg.Connection[Any], text: str) -> Rows:
    return server.execute(text).fetchall()  # pyrefly: ignore[no-matching-overload]


def answer(server: psycopg.Connection[Any], text: str, catalogue: Catalogue) -> str:
    """All that whoever asks gets to see."""
    sent = masked(text, catalogue)
    if isinstance(sent, RefusedSql):
        return sent.why
    try:
        return str(rows(server, sent.text))
    except psycopg.Error as problem:
        return str(problem)


@pytest.mark.parametrize("text", [*ATTACKS, *POSTGRES_ATTACKS])
def test_no_query_shows_a_masked_value(text: str, server: psycopg.Connection[Any], catalogue: Catalogue) -> None:
    told = answer(server, text, catalogue)
    assert CANARY not in told
    assert str(NUMBER) not in told


@pytest.mark.parametrize("text", ORACLES)
def test_no_query_counts_by_a_masked_value(text: str, server: psycopg.Connection[Any], catalogue: Catalogue) -> None:
    assert rows(server, text)[0][0] > 0
    assert answer(server, text, catalogue) in {"[(0,)]", "[]"}


def test_the_attacks_would_succeed_without_masks(server: psycopg.Connection[Any]) -> None:
    shown = 0
    for text in (*ATTACKS, *POSTGRES_ATTACKS):
        try:
            told = str(rows(server, text))
        except psycopg.Error as problem:
            told = str(problem)
        shown += CANARY in told or str(NUMBER) in told
    assert shown >= 90


def test_most_attacks_are_answered_with_masks_not_refused(
    server: psycopg.Connection[Any], catalogue: Catalogue
) -> None:
    refused = [text for text in ATTACKS if isinstance(masked(text, catalogue), RefusedSql)]
    # Partitions are no tables of the catalogue.
    assert [text for text in refused if "users_low" not in text and "users_high" not in text] == []
    assert answer(server, "select email, ssn from users where id = 1", catalogue) == "[('•••', None)]"


@pytest.mark.parametrize("text", ORDINARY)
def test_queries_on_other_columns_give_the_same_rows(
    text: str, server: psycopg.Connection[Any], catalogue: Catalogue
) -> None:
    sent = masked(text, catalogue)
    assert isinstance(sent, SqlStatement), sent
    assert rows(server, sent.text) == rows(server, text)


@pytest.mark.parametrize(
    "text",
    [
        "insert into users (id, email) values (99, 'x')",
        "update users set email = 'x', ssn = 1 where id = 3",
        "update users u set name = 'x' where u.id = 3 returning id, name",
        "delete from users where id = 3",
        "insert into orders select id, id, 1, name from users_other",
        "insert into users (id, email) values (1, 'x') on conflict (id) do update set email = excluded.email",
        "insert into orders (id) select id + 1 from orders",
        "create table other (a int)",
        "drop table users",
        "truncate users",
    ],
)
def test_a_write_that_only_sets_values_is_sent_as_it_is(text: str, catalogue: Catalogue) -> None:
    other = CatalogueTable(
        schema="public",
        name="users_other",
        columns=(CatalogueColumn(name="id", type="int"), CatalogueColumn(name="name", type="text")),
    )
    sent = masked(text, replace(catalogue, tables=(*catalogue.tables, other)))
    assert isinstance(sent, SqlStatement), sent
    assert sent.text == text


@pytest.mark.parametrize(
    "text",
    [
        "insert into orders (id, note) select id, email from users",
        "update users set name = email",
        "update users set name = users.email",
        "update users u set name = u.email",
        "update users set name = users::text",
        "update users u set name = u.fold",
        "delete from users where email like 'c%'",
        "delete from users_low where ssn > 3",
        "update users set name = 'x' where id = 1 returning *",
        "update users set name = 'x' where id = 1 returning email",
        "update users set name = 'x' where id = 1 returning old.email",
        "update users set name = 'x' where id = 1 returning new",
        "update users set name = 'x' where id = 1 returning to_jsonb(users)",
        "update orders set note = (select email from users limit 1)",
        "update orders set note = mail_of(1)",
        "update orders o set note = o.buyer",
        "update orders set note = u.email from users u where u.id = 1",
        "with gone as (delete from users returning *) select * from gone",
        "create table copy as select * from users",
        "create view copy as select * from users",
        "create table copy (like users)",
        "alter table users rename column email to mail",
        "alter table users rename to people",
        "create function f() returns text language sql as 'select email from users'",
        "merge into users u using orders o on u.email = o.note when matched then delete",
        "merge into orders o using users u on u.id = o.id when matched then update set note = u.email",
        "insert into mails values (1, 'x')",
        "update nowhere set a = 1",
    ],
)
def test_a_write_that_could_read_a_masked_value_is_refused(text: str, catalogue: Catalogue) -> None:
    refused = masked(text, catalogue)
    assert isinstance(refused, RefusedSql), refused
    assert 10 < len(refused.why) < 300


def test_what_inherits_from_a_table_with_masks_has_them_too(catalogue: Catalogue) -> None:
    staff, totals, odd = (catalogue.table(name) for name in ("app.staff", "totals", "by_function"))
    assert staff is not None
    assert totals is not None
    assert odd is not None
    assert (staff.part_of, totals.reads) == (("app.people",), ("public.orders",))
    assert odd.reads == ("public.one_mail()", "public.orders")
    marked = mark_masked(catalogue, MASKED).table("app.staff")
    assert marked is not None
    assert [column.name for column in marked.columns if column.is_masked] == ["secret"]


def test_a_mask_of_a_partition_holds_for_the_whole_table(catalogue: Catalogue) -> None:
    for mask in ("users_low.born", "public.users_high.born", "*_low.born"):
        marked = mark_masked(catalogue, [mask]).table("users")
        assert marked is not None
        assert [column.name for column in marked.columns if column.is_masked] == ["born"]
    told = masked("select * from users_low", catalogue)
    assert told == RefusedSql(why="users_low is a partition of public.users, and columns are masked; ask public.users.")


def test_a_query_that_groups_by_the_key_of_a_masked_table_sees_the_mask(
    server: psycopg.Connection[Any], catalogue: Catalogue
) -> None:
    text = "select id, email, name, count(*) from people group by id order by id limit 1"
    assert answer(server, text, catalogue) == "[(1, '•••', 'n1', 1)]"
    every = "select * from bookings b group by people, room order by room limit 1"
    assert answer(server, every, catalogue) == "[(2, 1, 1, '•••')]"


def test_functions_called_like_the_servers_own_are_known_where_they_are_called_by_that_name_alone(
    catalogue: Catalogue,
) -> None:
    assert set(catalogue.shadowing) == {"length", "#"}


def test_a_view_is_shown_with_its_masks_if_a_person_named_its_columns(
    server: psycopg.Connection[Any], catalogue: Catalogue
) -> None:
    read = read_statement("select * from mails", "postgres")
    assert isinstance(read, SqlStatement)
    sent = mask_statement(read, "postgres", catalogue, (*MASKED, "mails.mail"))
    assert isinstance(sent, SqlStatement)
    assert {mail for _, mail in rows(server, sent.text)} == {"•••"}
    assert isinstance(mask_statement(read, "postgres", catalogue, (*MASKED, "*.mail")), RefusedSql)


def test_a_function_passes_if_a_person_named_it(catalogue: Catalogue) -> None:
    read = read_statement("select mail_of(1)", "postgres")
    assert isinstance(read, SqlStatement)
    assert isinstance(mask_statement(read, "postgres", catalogue, MASKED, functions=["mail_of"]), SqlStatement)


def test_without_masks_a_statement_stays_letter_by_letter(catalogue: Catalogue) -> None:
    read = read_statement("select * from whatever", "postgres")
    assert isinstance(read, SqlStatement)
    assert mask_statement(read, "postgres", catalogue, ()) is read


def test_a_marked_catalogue_has_no_samples_of_masked_columns() -> None:
    email = CatalogueColumn(name="Email", type="text", samples=("a@b.c",))
    copy = CatalogueColumn(name="mail", type="text", samples=("a@b.c",))
    users = CatalogueTable(schema="public", name="users", columns=(email, CatalogueColumn(name="id", type="int")))
    view = CatalogueTable(schema="public", name="v", kind="view", columns=(copy,), reads=("public.users",))
    marked = mark_masked(Catalogue(tables=(users, view)), ("users.email",))
    assert marked.tables[0].columns == (replace(email, is_masked=True, samples=()), users.columns[1])
    assert marked.tables[1].columns == (replace(copy, samples=()),)


# ── other servers ──

SHOP = Catalogue(
    default_schema="main",
    tables=(
        CatalogueTable(
            schema="main",
            name="users",
            columns=(
                CatalogueColumn(name="id", type="INTEGER"),
                CatalogueColumn(name="name", type="VARCHAR"),
                CatalogueColumn(name="email", type="VARCHAR"),
                CatalogueColumn(name="ssn", type="INTEGER"),
            ),
        ),
        CatalogueTable(
            schema="main",
            name="orders",
            columns=(
                CatalogueColumn(name="id", type="INTEGER"),
                CatalogueColumn(name="user_id", type="INTEGER"),
                CatalogueColumn(name="total", type="DECIMAL(10,2)"),
                CatalogueColumn(name="note", type="VARCHAR"),
            ),
        ),
        CatalogueTable(
            schema="main",
            name="mails",
            kind="view",
            columns=(CatalogueColumn(name="mail", type="VARCHAR"),),
            reads=("main.users",),
        ),
    ),
)
DUCKDB_ATTACKS = (
    "from users",
    "from users select email",
    "table users",
    "select users from users",
    "select u from users u",
    "select columns('e.*') from users",
    "select columns(*) from users",
    "select * exclude (id) from users",
    "select * replace (email || 'x' as name) from users",
    "select * rename (email as m) from users",
    "select struct_extract(u, 'email') from users u",
    "select u['email'] from users u",
    "select u.email from u: users",
    "select unnest(u) from users u",
    "select list(u) from users u",
    "select to_json(u) from users u",
    "select [x.email for x in list(u)] from users u",
    "select histogram(email) from users",
    "select arg_max(email, id) from users",
    "select max_by(u, u.id) from users u",
    "from histogram(users, email)",
    "from histogram_values(users, email)",
    "select * from mails",
    "from every_user()",
    "select mail_of(1)",
    "pivot users on email using count(*)",
    "from users pivot (count(*) for email in ('canary1'))",
    "unpivot users on email, name into name k value v",
    "from users positional join orders",
    "select * from orders asof join users on orders.user_id >= users.id",
    "select * from orders semi join users using (id)",
    "with users as (from users) from users",
    "with users as materialized (select * from main.users) from users",
    "select * from memory.main.users",
    "select * from memory.users",
    'from "USERS"',
    "from 'users'",
    "from users using sample 100%",
    "select stats(email) from users",
    "select email from users qualify row_number() over () = 1",
    "select list_transform(list(u), x -> x.email) from users u",
    "select * from users where rowid = 0",
    "select rowid, email from users",
    "select * from (describe users)",
    "summarize users",
    "from (summarize users)",
    "select * from duckdb_tables()",
    "from pragma_storage_info('users')",
    "select * from users, lateral (select users.email as e)",
    "select email as e, e || 'x' as f from users",
    "select * from range(3) r, users",
    "select (1).mail_of()",
    "select 1.mail_of()",
)


@pytest.fixture(scope="module")
def file() -> Generator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect()
    connection.execute("create table users (id int, name varchar, email varchar, ssn int)")
    connection.execute(f"insert into users select n, 'n' || n, '{CANARY}' || n, {NUMBER} from range(5) r(n)")
    connection.execute("create table orders (id int, user_id int, total decimal(10, 2), note varchar)")
    connection.execute("insert into orders select n, n % 5, n, 'note' from range(20) r(n)")
    connection.execute("create view mails as select email as mail from users")
    connection.execute("create macro every_user() as table select * from users")
    connection.execute("create macro mail_of(n) as (select email from users where id = n)")
    yield connection
    connection.close()


@pytest.mark.parametrize("text", [*DUCKDB_ATTACKS, *ATTACKS])
def test_duckdb_shows_no_masked_value_either(text: str, file: duckdb.DuckDBPyConnection) -> None:
    text = text.replace("public.", "main.").replace('"public"', '"main"')
    sent = masked(text, SHOP, "duckdb")
    if isinstance(sent, RefusedSql):
        assert CANARY not in sent.why
        return
    try:
        told = str(file.execute(sent.text).fetchall())
    except duckdb.Error as problem:
        told = str(problem)
    assert CANARY not in told
    assert str(NUMBER) not in told


@pytest.mark.parametrize(
    "text",
    [
        "select id, name from users order by id",
        "from orders order by id",
        "select u.name, sum(total) as t from users u join orders o on o.user_id = u.id group by all order by all",
        "select * exclude (note) from orders order by id",
        "select list_transform([1, 2], lambda x: x + 1) as l",
        "pivot orders on user_id using sum(total) group by note",
        "select note, count(*) from orders group by note having count(*) > 1",
        "select note.upper().lower() as n, ('x').concat(note) as c from orders order by id",
        "select id from range(3) r(id) join orders using (id) order by 1",
    ],
)
def test_duckdb_gives_the_same_rows_for_other_columns(text: str, file: duckdb.DuckDBPyConnection) -> None:
    sent = masked(text, SHOP, "duckdb")
    assert isinstance(sent, SqlStatement), sent
    assert file.execute(sent.text).fetchall() == file.execute(text).fetchall()


def test_a_macro_called_like_a_function_of_duckdb_is_no_way_around_a_mask(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "shop.duckdb") as file:
        file.execute("create table users (id int, email varchar)")
        file.execute(f"insert into users values (1, '{CANARY}')")
        for macro in ("upper(x) as (select email from users)", "range(x) as table select * from users",
                      '"+"(x, y) as (select email from users)', "mail_of(x) as (select email from users)"):  # fmt: skip
            file.execute(f"create macro {macro}")
        assert CANARY in str(file.execute("select upper('x')").fetchall())
        own = Catalogue(**read_duckdb_catalogue(file) | {"tables": SHOP.tables})
    assert set(own.shadowing) == {"+", "range", "upper"}
    for text in ("select upper('x')", "from range(3)", "select 1 + 1", "select id from users", "select mail_of(1)"):
        told = masked(text, own, "duckdb")
        assert isinstance(told, RefusedSql), told
    read = read_statement("select upper('x')", "duckdb")
    assert isinstance(read, SqlStatement)
    sent = mask_statement(read, "duckdb", own, MASKED, functions=["UPPER", "range", "+"])
    assert isinstance(sent, SqlStatement), "a person's word counts"


@pytest.mark.parametrize("dialect", get_args(Dialect))
def test_in_every_dialect_the_table_is_only_read_inside_its_mask(dialect: Dialect) -> None:
    # Where RECURSIVE needs not be said, the first would be within itself.
    name = "u" if dialect in {"sqlite", "snowflake"} else "users"
    sent = masked(f"with {name} as (select * from users) select email from {name}", SHOP, dialect)
    assert isinstance(sent, SqlStatement), sent
    inner = [
        node.parent_select
        for node in sqlglot.parse_one(sent.text, dialect=dialect).find_all(sqlglot.exp.Table)
        if node.name == "users"
    ]
    assert [select.sql("duckdb") for select in inner if select] == [
        'SELECT "id", "name", ' + inner[0].expressions[2].sql("duckdb") + ", " + inner[0].expressions[3].sql("duckdb")
        + ' FROM "main"."users"'
        for _ in inner if inner[0]
    ]  # fmt: skip
    assert len(inner) == 1
    assert "•••" in sent.text


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("sqlite", "select 1 where 'canary' in users"),
        ("sqlite", "select * from sqlite_stat4"),
        ("sqlite", "select * from sqlite_dbpage"),
        ("sqlite", "select * from pragma_table_info('users')"),
        ("clickhouse", "select 1 where 'canary' in users"),
        ("clickhouse", "select joinGet('users', 'email', 1)"),
        ("clickhouse", "select * from loop(users)"),
        ("clickhouse", "select * from system.query_log"),
        ("clickhouse", "select aiGenerate('x', email) from users"),
        ("mysql", "select * from mysql.innodb_index_stats"),
        ("mysql", "select * from mysql.column_stats"),
        ("mysql", "select * from information_schema.column_statistics"),
        ("mysql", "show processlist"),
        ("mysql", "select my_function(1)"),
        ("bigquery", "select * from region.INFORMATION_SCHEMA.JOBS"),
        ("snowflake", "select * from table(my_rows(1))"),
        ("trino", "select * from other.main.users"),
    ],
)
def test_what_may_tell_a_masked_value_another_way_is_refused(dialect: Dialect, text: str) -> None:
    refused = masked(text, SHOP, dialect)
    assert isinstance(refused, RefusedSql), refused


@pytest.mark.slow
def test_aggregates_of_clickhouse_are_known_with_what_is_added_to_them() -> None:
    text = "select countIf(total > 1), quantilesIf(0.5, 0.9)(total, id > 1), sumOrNullIf(id, id > 2) from orders"
    sent = masked(text, SHOP, "clickhouse")
    assert isinstance(sent, SqlStatement), sent
    assert "countIf(total > 1), quantilesIf(0.5, 0.9)(total, id > 1), sumOrNullIf(id, id > 2)" in sent.text
