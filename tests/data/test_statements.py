"""SQL is read before it is sent: reads pass as they are, writes are told as such, tricks are refused with a reason."""

from __future__ import annotations

from typing import get_args

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st

from cellwright.data.statements import MAX_CHARACTERS, Dialect, RefusedSql, SqlStatement, read_statement

ENGINES: tuple[Dialect, ...] = ("postgres", "mysql", "duckdb", "sqlite", "clickhouse")
WRITES = (
    "delete from t",
    "insert into t values (1)",
    "update t set a = 1",
    "drop table t",
    "alter table t add column b int",
    "with d as (delete from t returning *) select * from d",
    "create table x as select 1",
    "merge into t using s on t.a = s.a when matched then delete",
)
EVERYWHERE = (
    "select 1; drop table t",
    "EXPLAIN select 1; drop table t",
    "explain analyze delete from t",
    "explain delete from t",
    "begin; delete from t; commit",
    "select * from t for update",
    "prepare s as delete from t",
    "execute s",
    "call p()",
    "select 'it",
    "select 1 /* and",
    "select 1 /* a /* b */ c */",
    "select 1 \u202e from t",
    "select 1 where a = 'x\\' or 1=1 --'",
    "",
    "-- nothing",
    "selec 1 frm",
)
HOSTILE: dict[Dialect, tuple[str, ...]] = {
    "postgres": (
        "SELECT 1; COMMIT; DROP TABLE t",
        "begin; set transaction read write; delete from t; commit",
        "select * into x from t",
        "select pg_read_file('/etc/passwd')",
        "select pg_catalog.pg_read_file('x')",
        "select \"pg_read_file\"('x')",
        "select U&\"pg\\005fread_file\"('x')",
        "select U&\"pg!005fread_file\" uescape '!' ('x')",
        "select * from pg_ls_dir('/')",
        "select lo_import('x')",
        "copy (select 1) to program 'id'",
        "copy t from program 'x'",
        "select 1) to program 'id' --",
        "select * from dblink('x','delete from t') as x(i int)",
        "select set_config('default_transaction_read_only','off',false)",
        "set session characteristics as transaction read write",
        "reset all",
        "do $$ begin end $$",
        "select $tag$x$tag$",
        "select query_to_xml('select * from secret',true,false,'')",
        "select database_to_xml(true,false,'')",
        "select * from ts_stat('select x from secret')",
        "select nextval('s')",
        "select pg_sleep(99)",
        "select pg_terminate_backend(1)",
        "select pg_notify('c','x')",
        "select pg_advisory_lock(1)",
        "select current_setting('x')",
        "listen c",
        "lock table t",
        "select E'a'",
    ),
    "mysql": (
        "select 1--1",
        "select /*!50000 load_file('/etc/passwd') */",
        "/*!50000 delete from t */",
        "select 1 /*M! ; drop table t */",
        "select * from t into outfile 'x'",
        "select id into @a from t",
        "select load_file(0x2f65)",
        "select benchmark(1e9,md5(1))",
        "select get_lock('a',9)",
        "select sleep(9)",
        "set global general_log=1",
        "handler t open",
        "analyze select 1",
        "load data local infile 'x' into table t",
        "select _utf8 'x'",
    ),
    "duckdb": (
        "from '/etc/passwd'",
        'select * from "x.parquet"',
        "from read_text('x')",
        "select * from read_csv('x')",
        "from glob('/*')",
        "copy t to 'x'",
        "export database 'x'",
        "attach 'x'",
        "install httpfs",
        "load httpfs",
        "set threads=9",
        "from query('drop table t')",
        "from query_table('secret')",
        "select getenv('X')",
        "from duckdb_secrets()",
        "summarize 'x.csv'",
    ),
    "sqlite": (
        "attach database 'x' as z",
        "vacuum into 'x'",
        "pragma writable_schema=1",
        "select load_extension('x')",
        "select writefile('x','y')",
    ),
    "clickhouse": (
        "select * from file('x')",
        "select * from url('x')",
        "select * from executable('x')",
        "select * from remote('h', 'd', 't')",
        "select 1 settings readonly=0",
        "insert into function file('x') select 1",
    ),
}
ORDINARY = (
    "select * from orders",
    "select count(*), avg(price) from public.orders where bought > current_date group by 1 order by 2 desc limit 10",
    "with a as (select 1 as x) select * from a join b on a.x = b.x",
    'select \'costs $5; -- no comment\' as t, "order".id from "order"',
    "select upper(name), coalesce(a, b), round(sum(x) over (partition by y), 2) from t",
    "select a from t union all select b from u except select c from v",
    "select e \"Name\", case when a > 1 then 'x' else 'it''s' end from t n",
    "select * from t where name like '%x%' and d between '2025-01-01' and '2025-02-01'",
    "explain select * from t",
)


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("text", WRITES)
def test_what_changes_data_is_told_as_a_write(text: str, dialect: Dialect) -> None:
    read = read_statement(text, dialect)
    assert isinstance(read, SqlStatement)
    assert read.access == "write"


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("text", EVERYWHERE)
def test_what_is_no_single_plain_query_is_refused_in_every_dialect(text: str, dialect: Dialect) -> None:
    assert isinstance(read_statement(text, dialect), RefusedSql)


@pytest.mark.parametrize(("dialect", "text"), [(dialect, text) for dialect, texts in HOSTILE.items() for text in texts])
def test_what_a_server_would_do_besides_reading_is_refused_with_a_reason(dialect: Dialect, text: str) -> None:
    refused = read_statement(text, dialect)
    assert isinstance(refused, RefusedSql)
    assert 10 < len(refused.why) < 300


@pytest.mark.parametrize("dialect", get_args(Dialect))
@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_queries_pass_letter_by_letter(text: str, dialect: Dialect) -> None:
    # Names in " are texts to some, and '' is no apostrophe to BigQuery.
    if dialect in {"mysql", "bigquery", "databricks"}:
        text = text.replace('"order"', "orders").replace('"Name"', "name").replace("it''s", "its")
    text = text.replace(" except ", " except distinct ") if dialect == "bigquery" else text
    read = read_statement(f"  {text};\n", dialect)
    assert isinstance(read, SqlStatement), read
    assert (read.text, read.access, read.is_plan) == (text, "read", text.startswith("explain"))


def test_with_comments_it_is_written_anew() -> None:
    read = read_statement("-- the best\nselect /* all */ a from s.t where b = '--'", "postgres")
    assert isinstance(read, SqlStatement)
    assert read.text == "SELECT a FROM s.t WHERE b = '--'"


def test_tables_and_functions_are_told() -> None:
    read = read_statement(
        "with d as (select * from shop.orders) select my_rate(x) from d join pay p on true", "postgres"
    )
    assert isinstance(read, SqlStatement)
    assert (read.tables, "my_rate" in read.functions) == (("pay", "shop.orders"), True)


def test_a_statement_that_is_too_long_is_refused_before_it_is_read() -> None:
    refused = read_statement(f"select '{'x' * MAX_CHARACTERS}'", "postgres")
    assert isinstance(refused, RefusedSql)
    assert "100,000" in refused.why


@given(st.text(max_size=60), st.sampled_from(ENGINES))
def test_any_text_is_a_statement_or_a_reason(text: str, dialect: Dialect) -> None:
    assert isinstance(read_statement(text, dialect), SqlStatement | RefusedSql)


@given(st.lists(st.sampled_from(["select", "(", "'", '"', "--", "/*", "*/", ";", "drop table t", "1", "\n", "a"])))
def test_no_second_statement_is_ever_sent(parts: list[str]) -> None:
    read = read_statement(" ".join(parts), "postgres")
    assert isinstance(read, RefusedSql) or len(sqlglot.parse(read.text, dialect="postgres")) == 1
