"""Ten thousand ordinary queries out of other projects' own tests, fetched with pip and read as text.

sqlglot (MIT): what its dialects read and write, and its fixtures. Ibis (Apache-2.0): what it compiles to, TPC queries.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, cast, get_args

import sqlglot

from cellwright.data.dialects import Dialect

_PACKAGES: Final = (f"sqlglot=={sqlglot.__version__}", "ibis-framework==12.0.0")
_FILES: Final = {"spark": "databricks", "hive": "databricks", "presto": "trino", "athena": "trino"}
"""Dialects that one of ours reads."""
_NEUTRAL: Final[tuple[Dialect, ...]] = ("postgres", "mysql", "duckdb", "sqlite")
_QUERY: Final = re.compile(r"\s*\(*\s*(?:select|with|from|values|table|explain|pivot|unpivot)\b", re.IGNORECASE)

_UNUSUAL: Final = re.compile(
    r"""[\\\x00-\x08]|/\*\+|\$(?!\d)|\bu&'|\be'|\"\"\"|\'\'\'|\bfor\s+(?:no\s+key\s+)?(?:update|(?:key\s+)?share)\b"""
    r"""|\block\s+in\b|\binto\b|\bsettings\b|\b(?:read_\w+|parquet_scan|glob|file|cluster|view|duckdb_functions)\s*\("""
    r"""|\bwith\s+function\b|\banalyze\b|^values$|@\w+\s*:=""",
    re.IGNORECASE,
)
"""Backslashes, hints, dollar quotes, prefixed texts, locks, INTO, settings, files and functions that run queries,
variables: refused on purpose."""

Query = tuple[Dialect, str]


def fetch(folder: Path) -> list[Query]:
    """All of them, each once, in order of their text. Needs a package index."""
    # An sdist's metadata is only found out by running its build: pip does that in an environment of its own.
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(folder)]
    for package in _PACKAGES:
        subprocess.run([*command, package], check=True, capture_output=True, timeout=600)
    for archive in folder.glob("*.tar.gz"):
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
    return read(folder)


def read(folder: Path) -> list[Query]:
    """Those of unpacked sources."""
    found = {*_of_tests(folder), *_of_fixtures(folder), *_of_ibis(folder)}
    return sorted((dialect, text) for dialect, text in found if _QUERY.match(text))


def _of_tests(folder: Path) -> Iterator[Query]:
    for file in sorted(folder.glob("sqlglot-*/tests/dialects/test_*.py")):
        own = _ours(file.stem.removeprefix("test_"))
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                yield from _of_call(call, own)


def _of_call(call: ast.Call, own: Dialect | None) -> Iterator[Query]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name not in {"validate_identity", "validate_all"}:
        return
    if own is not None and call.args:
        yield from ((own, text) for text in _texts(call.args[0]))
    for keyword in call.keywords:
        if keyword.arg in {"read", "write"} and isinstance(keyword.value, ast.Dict):
            for key, value in zip(keyword.value.keys, keyword.value.values, strict=True):
                dialect = _ours(str(key.value)) if isinstance(key, ast.Constant) else None
                yield from ((dialect, text) for text in _texts(value)) if dialect is not None else ()


def _texts(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value.strip().rstrip(";").strip()


def _ours(name: str) -> Dialect | None:
    name = _FILES.get(name, name)
    return cast("Dialect", name) if name in get_args(Dialect) else None


def _of_fixtures(folder: Path) -> Iterator[Query]:
    for file in sorted(folder.glob("sqlglot-*/tests/fixtures/**/*.sql")):
        whole = file.read_text(encoding="utf-8")
        parts = whole.splitlines() if file.name == "identity.sql" else re.split(r";\s*(?:\n|$)", whole)
        for part in parts:
            text = "\n".join(line for line in part.splitlines() if not line.startswith(("--", "#"))).strip()
            yield from ((dialect, text) for dialect in _NEUTRAL)


def _of_ibis(folder: Path) -> Iterator[Query]:
    for file in sorted(folder.glob("ibis_framework-*/ibis/backends/**/*.sql")):
        words = [_ours(part) for part in (*file.parts, file.stem)]
        dialect = next((word for word in reversed(words) if word is not None), None)
        text = file.read_text(encoding="utf-8").strip().rstrip(";").strip()
        if dialect is not None:
            yield dialect, text
        elif "tpc" in file.parts:
            yield from ((each, text) for each in _NEUTRAL)


def is_ordinary(query: Query) -> bool:
    """Whether it is a query of this dialect at all, without what no query needs that only reads a database."""
    dialect, text = query
    if _UNUSUAL.search(text):
        return False
    try:
        # A fixture of no dialect is tried in several, and some of what it says means nothing there.
        (tree,) = sqlglot.parse(text, dialect=dialect)
    except (sqlglot.errors.SqlglotError, ValueError):
        return False
    return isinstance(tree, sqlglot.exp.Query | sqlglot.exp.Values | sqlglot.exp.Pivot)
