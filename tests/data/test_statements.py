"""SQL is read before it is sent: reads pass as they are, writes are told as such, tricks are refused with a reason."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
import sqlglot
from hypothesis import example, given
from hypothesis import strategies as st

from cellwright.data.dialects import MAX_CHARACTERS, Dialect
from cellwright.data.statements import RefusedSql, SqlStatement, read_statement
from tests.data.hostile_statements import EVERYWHERE, HARMLESS, HOSTILE, WRITES

ENGINES: tuple[Dialect, ...] = ("postgres", "mysql", "duckdb", "sqlite", "clickhouse")
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
    read = read_statement(text, dialect)
    if isinstance(read, RefusedSql):
        assert 10 < len(read.why) < 300
    else:
        assert read.access == "write"


@pytest.mark.slow
@pytest.mark.parametrize(
    "disguise",
    [
        "/* a look */ {}",
        "{} -- a look",
        "explain {}",
        "select * from ({}) q",
        "with q as ({}) select * from q",
        "select exists ({})",
        "select 1 union all {}",
        "select * from t join lateral ({}) q on true",
        "describe {}",
    ],
)
@pytest.mark.parametrize("dialect", ENGINES)
def test_what_is_refused_stays_so_inside_another_statement(dialect: Dialect, disguise: str) -> None:
    queries = [text for text in HOSTILE[dialect] if text.casefold().startswith(("select", "from", "with", "values"))]
    for text in (*queries, *(text.upper() for text in queries)):
        read = read_statement(disguise.format(text), dialect)
        assert isinstance(read, RefusedSql) or read.access == "write", disguise.format(text)


@pytest.mark.parametrize(
    ("dialect", "text"), [(dialect, text) for dialect, texts in HARMLESS.items() for text in texts]
)
def test_what_looks_special_and_only_reads_passes(dialect: Dialect, text: str) -> None:
    read = read_statement(text, dialect)
    assert isinstance(read, SqlStatement), read
    assert (read.text, read.access) == (text, "read")


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


def test_no_semicolon_is_sent() -> None:
    read = read_statement("select 1 ; ;\n;", "postgres")
    assert isinstance(read, SqlStatement)
    assert read.text == "select 1"


def test_comments_are_taken_out_and_the_rest_stays_letter_by_letter() -> None:
    read = read_statement(
        "-- the best\nSelect /* all\n */ now() from s.t -- it's\nwhere b = '--'; /* end */", "postgres"
    )
    assert isinstance(read, SqlStatement)
    assert read.text == "Select \n now() from s.t  \nwhere b = '--'"


@pytest.mark.parametrize("comment", ["/* a */", "-- a\n", "/* ' */", "-- ; drop table t\n"])
@pytest.mark.parametrize("text", ["select 1 + 2", "explain select a from t", "select 'x' || \"y\" from t"])
def test_with_and_without_comments_the_same_is_read(text: str, comment: str) -> None:
    bare, told = (
        read_statement(text, "postgres"),
        read_statement(f"{comment} {text.replace(' ', f' {comment} ')}", "postgres"),
    )
    assert isinstance(bare, SqlStatement)
    assert isinstance(told, SqlStatement)
    assert told.text.split() == bare.text.split()
    assert told == replace(bare, text=told.text)


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("clickhouse", "select 1 + {# \n 'a': file('x') }['a'] # #} 2"),
        ("postgres", "select 1 {# ; drop table t #}"),
        ("duckdb", 'with "a.csv" as (select * from "a.csv") select * from "a.csv"'),
        ("duckdb", "select * from a.csv"),
        ("duckdb", "select * from a.csv.gz"),
    ],
)
def test_what_only_sqlglot_takes_for_a_comment_or_a_table_is_refused(dialect: Dialect, text: str) -> None:
    assert isinstance(read_statement(text, dialect), RefusedSql)


def test_a_schema_called_db_is_no_file() -> None:
    assert isinstance(read_statement("select * from c.db.t", "duckdb"), SqlStatement)


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


@example([";", "select"])
@given(st.lists(st.sampled_from(["select", "(", "'", '"', "--", "/*", "*/", ";", "drop table t", "1", "\n", "a"])))
def test_no_second_statement_is_ever_sent(parts: list[str]) -> None:
    read = read_statement(" ".join(parts), "postgres")
    assert isinstance(read, RefusedSql) or len(sqlglot.parse(read.text, dialect="postgres")) == 1
