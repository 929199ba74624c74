"""What a Postgres database shows to this user: a statement for each kind of thing, however many tables there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from cellwright.data.catalogue import (
    MAX_COLUMNS,
    MAX_COMMENT,
    MAX_NAME,
    MAX_TABLES,
    Catalogue,
    CatalogueColumn,
    CatalogueTable,
    ForeignKey,
    bounded,
)
from cellwright.data.worker.source import SourceFailed

Rows = Callable[[str], list[dict[str, Any]]]
MAX_SAMPLED_TABLES: Final = 200
MAX_SAMPLES: Final = 5
MAX_SAMPLE: Final = 40
_FEW: Final = 50
_OURS: Final = r"n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'"
_TABLES: Final = f"""
    SELECT c.oid::int8 AS id, n.nspname::text AS schema, c.relname::text AS name,
           c.relkind IN ('v', 'm') AS is_view, c.reltuples::float8 AS rows,
           left(obj_description(c.oid, 'pg_class'), {MAX_COMMENT}) AS comment
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND {_OURS} {{partitions}}
      AND has_schema_privilege(n.oid, 'USAGE') AND {{readable}}
    ORDER BY n.nspname, c.relname LIMIT {MAX_TABLES + 1}
"""
_COLUMNS: Final = f"""
    SELECT a.attrelid::int8 AS id, a.attname::text AS name, format_type(a.atttypid, a.atttypmod) AS type,
           NOT a.attnotnull AS is_nullable, left(col_description(a.attrelid, a.attnum), {MAX_COMMENT}) AS comment
    FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND {_OURS} {{partitions}}
      AND {{column_readable}}
    ORDER BY n.nspname, c.relname, a.attnum LIMIT {MAX_COLUMNS}
"""
_KEYS: Final = f"""
    SELECT k.conrelid::int8 AS id, k.contype = 'p' AS is_primary, k.confrelid::int8 AS target,
           array(SELECT a.attname::text FROM unnest(k.conkey) WITH ORDINALITY AS u(number, place)
                 JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.number
                 ORDER BY u.place) AS columns,
           array(SELECT a.attname::text FROM unnest(k.confkey) WITH ORDINALITY AS u(number, place)
                 JOIN pg_catalog.pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.number
                 ORDER BY u.place) AS targets
    FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE k.contype IN ('p', 'f') AND {_OURS} {{partitions}} ORDER BY k.conrelid, k.conname LIMIT {MAX_COLUMNS}
"""
_READS: Final = f"""
    SELECT DISTINCT r.ev_class::int8 AS id, tn.nspname::text AS schema, t.relname::text AS name
    FROM pg_catalog.pg_rewrite r
    JOIN pg_catalog.pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
      AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> r.ev_class
    JOIN pg_catalog.pg_class t ON t.oid = d.refobjid AND t.relkind IN ('r', 'p', 'v', 'm', 'f')
    JOIN pg_catalog.pg_namespace tn ON tn.oid = t.relnamespace
    JOIN pg_catalog.pg_class c ON c.oid = r.ev_class JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE {_OURS}
    UNION
    SELECT DISTINCT r.ev_class::int8, fn.nspname::text, f.proname::text || '()'
    FROM pg_catalog.pg_rewrite r
    JOIN pg_catalog.pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
      AND d.refclassid = 'pg_proc'::regclass
    JOIN pg_catalog.pg_proc f ON f.oid = d.refobjid JOIN pg_catalog.pg_namespace fn ON fn.oid = f.pronamespace
    JOIN pg_catalog.pg_class c ON c.oid = r.ev_class JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE {_OURS} AND fn.nspname <> 'pg_catalog' ORDER BY 1, 2, 3 LIMIT {MAX_COLUMNS}
"""
"""Functions of others than the server count: what they read is not known."""
_PARTS: Final = f"""
    SELECT i.inhrelid::int8 AS id, pn.nspname::text AS schema, p.relname::text AS name
    FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class p ON p.oid = i.inhparent
    JOIN pg_catalog.pg_namespace pn ON pn.oid = p.relnamespace
    JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'f') AND {_OURS} {{partitions}} ORDER BY 1, 2, 3 LIMIT {MAX_COLUMNS}
"""
_FOUND: Final = f"{_OURS} AND n.nspname = ANY (current_schemas(false))"
"""Of another schema nothing is called without its name."""
_PARTITIONS: Final = f"""
    SELECT pg_partition_root(c.oid)::int8 AS id, n.nspname::text AS schema, c.relname::text AS name
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relispartition AND c.relkind IN ('r', 'p', 'f') AND {_OURS} ORDER BY 1, 2, 3 LIMIT {MAX_COLUMNS}
"""
_SHADOWING: Final = f"""
    SELECT p.proname::text AS name FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
    WHERE {_FOUND} AND EXISTS (SELECT 1 FROM pg_catalog.pg_proc s
                              WHERE s.proname = p.proname AND s.pronamespace = 'pg_catalog'::regnamespace)
      AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d
                      WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
    UNION
    SELECT o.oprname::text FROM pg_catalog.pg_operator o JOIN pg_catalog.pg_namespace n ON n.oid = o.oprnamespace
    WHERE {_FOUND} AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d
                                   WHERE d.classid = 'pg_operator'::regclass AND d.objid = o.oid AND d.deptype = 'e')
    ORDER BY 1 LIMIT {MAX_TABLES}
"""
"""One whose types fit exactly is called before the server's own. What extensions bring is not somebody's own."""
_SAMPLES: Final = f"""
    SELECT n.nspname::text AS schema, s.tablename::text AS name, s.attname::text AS col,
           (s.most_common_vals::text::text[])[1:{MAX_SAMPLES}] AS samples
    FROM pg_catalog.pg_stats s JOIN pg_catalog.pg_namespace n ON n.nspname = s.schemaname
    JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = s.tablename
    JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attname = s.attname
    JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    WHERE {_OURS} AND t.typcategory IN ('S', 'E') AND s.n_distinct BETWEEN 1 AND {_FEW} AND s.avg_width <= {MAX_SAMPLE}
      AND s.most_common_vals IS NOT NULL
    ORDER BY c.reltuples DESC LIMIT {MAX_SAMPLED_TABLES * 20}
"""
_ALL_READABLE: Final = "has_table_privilege(c.oid, 'SELECT')"
_NOT_PARTITIONS: Final = "AND NOT c.relispartition"


def postgres_catalogue(rows: Rows, server: str) -> Catalogue:
    """Everything of it, in nine statements."""
    # Redshift has neither partitions nor what else newer servers know.
    is_redshift = server.startswith("Redshift")
    partitions = "" if is_redshift else _NOT_PARTITIONS
    known = {
        "partitions": partitions,
        "readable": _ALL_READABLE if is_redshift else "has_any_column_privilege(c.oid, 'SELECT')",
        "column_readable": _ALL_READABLE if is_redshift else "has_column_privilege(a.attrelid, a.attnum, 'SELECT')",
    }
    tables = rows(_TABLES.format(**known))
    columns, keys = _by_id(rows(_COLUMNS.format(**known))), dict[int, list[dict[str, Any]]]()
    reads, parts = dict[int, list[dict[str, Any]]](), dict[int, list[dict[str, Any]]]()
    partitioned, shadowing = dict[int, list[dict[str, Any]]](), tuple[str, ...]()
    samples = dict[tuple[str, str, str], tuple[str, ...]]()
    if partitions:
        keys = _by_id(rows(_KEYS.format(partitions=partitions)))
        reads = _by_id(rows(_READS))
        parts = _by_id(rows(_PARTS.format(partitions=partitions)))
        partitioned = _by_id(rows(_PARTITIONS))
        shadowing = tuple(row["name"] for row in rows(_SHADOWING))
    default = rows("SELECT coalesce(current_schema()::text, '') AS it")[0]["it"]
    if partitions:
        # Last: a statement that fails takes its transaction with it.
        samples = _samples(rows)
    names = {table["id"]: _qualified(table) for table in tables}
    kept, is_cut = bounded(
        CatalogueTable(
            schema=table["schema"],
            name=table["name"],
            kind="view" if table["is_view"] else "table",
            columns=_columns(table, columns.get(table["id"], []), keys.get(table["id"], []), samples),
            foreign_keys=_foreign_keys(keys.get(table["id"], []), names),
            rows=int(table["rows"]) if table["rows"] >= 0 and not table["is_view"] else None,
            comment=table["comment"] or "",
            reads=tuple(_qualified(row) for row in reads.get(table["id"], [])),
            part_of=tuple(_qualified(row) for row in parts.get(table["id"], [])),
            parts=tuple(_qualified(row) for row in partitioned.get(table["id"], [])),
        )
        for table in tables
    )
    return Catalogue(
        tables=kept,
        default_schema=default,
        server=server,
        is_cut=is_cut,
        read_at=datetime.now(UTC).isoformat(timespec="seconds"),
        shadowing=shadowing,
    )


def _columns(
    table: Mapping[str, Any],
    columns: list[dict[str, Any]],
    keys: list[dict[str, Any]],
    samples: Mapping[tuple[str, str, str], tuple[str, ...]],
) -> tuple[CatalogueColumn, ...]:
    primary = {name for key in keys if key["is_primary"] for name in key["columns"]}
    return tuple(
        CatalogueColumn(
            name=column["name"],
            type=column["type"][:MAX_NAME],
            is_nullable=column["is_nullable"],
            is_key=column["name"] in primary,
            comment=column["comment"] or "",
            samples=samples.get((table["schema"], table["name"], column["name"]), ()),
        )
        for column in columns
    )


def _foreign_keys(keys: list[dict[str, Any]], names: Mapping[int, str]) -> tuple[ForeignKey, ...]:
    return tuple(
        ForeignKey(columns=tuple(key["columns"]), table=names[key["target"]], target=tuple(key["targets"]))
        for key in keys
        if not key["is_primary"] and key["target"] in names
    )


def _samples(rows: Rows) -> dict[tuple[str, str, str], tuple[str, ...]]:
    """What the server noted of its own accord; nothing is read for it. Without leave to see that: none."""
    try:
        found = rows(_SAMPLES)
    except SourceFailed as failure:
        if failure.kind != "statement":
            raise
        return {}
    samples, tables = dict[tuple[str, str, str], tuple[str, ...]](), set[tuple[str, str]]()
    for row in found:
        tables.add((row["schema"], row["name"]))
        if len(tables) > MAX_SAMPLED_TABLES:
            break
        short = tuple(value for value in row["samples"] if value and len(value) <= MAX_SAMPLE)
        samples[row["schema"], row["name"], row["col"]] = short
    return samples


def _by_id(rows: list[dict[str, Any]]) -> dict[int, list[dict[str, Any]]]:
    grouped = defaultdict[int, list[dict[str, Any]]](list)
    for row in rows:
        grouped[row["id"]].append(row)
    return grouped


def _qualified(row: Mapping[str, Any]) -> str:
    return f"{row['schema']}.{row['name']}"
