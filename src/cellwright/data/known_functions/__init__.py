"""Functions that come with a database and only compute: names in small letters, from the servers' own catalogues.

Left out is what reads tables, files or other servers by a name or a text, waits, or changes something. Taken from
PostgreSQL 18 (`pg_proc`), DuckDB 2.0 (`duckdb_functions`), MariaDB 10.11 (`sql_functions`), ClickHouse 26.9
(`system.functions`).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

_LIKE: Final = {"redshift": "postgres"}
_OF_ROWS: Final = {
    "postgres": None,
    "mysql": frozenset({"json_table"}),
    "duckdb": frozenset({"range", "generate_series", "unnest", "json_each", "json_tree", "repeat", "repeat_row"}),
    "sqlite": frozenset({"json_each", "json_tree", "jsonb_each", "jsonb_tree", "generate_series"}),
    "clickhouse": frozenset(
        {"numbers", "numbers_mt", "zeros", "zeros_mt", "generate_series", "generateseries", "primes", "values", "null"}
    ),
}
"""Those that may stand for a table; None: what computes a value may."""


@cache
def known_functions(dialect: str) -> frozenset[str] | None:
    """All that only compute; None: there is no list for this kind of server."""
    place = Path(__file__).with_name(f"{_LIKE.get(dialect, dialect)}.txt")
    return frozenset(place.read_text(encoding="utf-8").split()) if place.exists() else None


def known_row_functions(dialect: str) -> frozenset[str]:
    """Those that may stand where a table stands. Some servers have two of one name: DuckDB's `histogram` reads one."""
    name = _LIKE.get(dialect, dialect)
    return _OF_ROWS.get(name, frozenset({"flatten", "unnest", "explode"})) or known_functions(name) or frozenset()
