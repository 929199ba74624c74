"""The catalogue of a Postgres database, as a worker would read it, for tests that only need its shape."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import psycopg

from cellwright.data.catalogue import Catalogue, CatalogueColumn, CatalogueTable

_COLUMNS = """
    select n.nspname, c.relname, c.relkind in ('v', 'm'), a.attname, format_type(a.atttypid, a.atttypmod)
    from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
    where c.relkind in ('r', 'p', 'v', 'm') and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
      and a.attnum > 0 and not a.attisdropped order by 1, 2, a.attnum
"""
_READS = """
    select distinct vn.nspname, v.relname, tn.nspname || '.' || t.relname
    from pg_rewrite r join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
    join pg_class v on v.oid = r.ev_class join pg_namespace vn on vn.oid = v.relnamespace
    join pg_class t on d.refclassid = 'pg_class'::regclass and t.oid = d.refobjid and t.oid <> v.oid
    join pg_namespace tn on tn.oid = t.relnamespace
"""
_PARTS = """
    select cn.nspname, c.relname, pn.nspname || '.' || p.relname from pg_inherits i
    join pg_class c on c.oid = i.inhrelid join pg_namespace cn on cn.oid = c.relnamespace
    join pg_class p on p.oid = i.inhparent join pg_namespace pn on pn.oid = p.relnamespace
"""


def postgres_catalogue(connection: psycopg.Connection[Any]) -> Catalogue:
    """Tables, views with what they read, and parts with what they are part of."""
    reads = _grouped(connection, _READS)
    parts = _grouped(connection, _PARTS)
    columns: dict[tuple[str, str, bool], list[CatalogueColumn]] = defaultdict(list)
    for schema, table, is_view, name, kind in connection.execute(_COLUMNS):
        columns[schema, table, is_view].append(CatalogueColumn(name=name, type=kind))
    return Catalogue(
        default_schema="public",
        tables=tuple(
            CatalogueTable(
                schema=schema,
                name=name,
                kind="view" if is_view else "table",
                columns=tuple(found),
                reads=tuple(reads[schema, name]),
                part_of=tuple(parts[schema, name]),
            )
            for (schema, name, is_view), found in columns.items()
        ),
    )


def _grouped(connection: psycopg.Connection[Any], query: str) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for schema, name, other in connection.execute(query):  # pyrefly: ignore[no-matching-overload]
        found[schema, name].append(other)
    return found
