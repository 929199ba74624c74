"""SQL before it is sent: exactly one statement, read with sqlglot. What only reads may pass; what changes data is told
as a write, for a person to decide; what parsers understand differently is refused. Pure.

It is the first of three walls: the server's own settings, and functions by the server's catalogue, come behind it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, Literal

import sqlglot
from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError

from cellwright.data.dialects import MAX_CHARACTERS, Dialect

Access = Literal["read", "write"]
_INVISIBLE: Final = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
_HINTS: Final = ("/*!", "/*M!", "/*+", "{#")
"""The last is a comment to sqlglot, and to no server."""
_PREFIXED: Final = re.compile(r"(?<![\w$])(?:(?:E|U&)['\"]|_\w+\s*')", re.IGNORECASE)
_DOLLAR: Final = re.compile(r"\$(?!\d)")
_EXPLAIN: Final = re.compile(r"explain\b(?:\s*\(\s*format\s+\w+\s*\)|\s+format\s*=\s*\w+)?\s+", re.IGNORECASE)
_PATH_LIKE: Final = re.compile(
    r"[/\\:*?]|\.(?:csv|tsv|json|jsonl|ndjson|geojson|parquet|avro|orc|xlsx|xml|txt|log|db|ddb|duckdb|sqlite3?|arrows?"
    r"|feather|ipc|vortex|lance|gpkg|shp|fgb|gz|zst)(?:\.(?:gz|gzip|zst|zstd|bz2|xz|lz4|snappy))?$",
    re.IGNORECASE,
)
"""What ends so is a file to DuckDB, also without quotes: `FROM a.csv`."""
_HASH_COMMENTS: Final = frozenset({"mysql", "bigquery", "clickhouse"})
_READS_FILES: Final = frozenset({"duckdb", "clickhouse"})

_WRITES: Final = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create, exp.Drop, exp.Alter, exp.TruncateTable)
_REFUSED: Final = (
    exp.Command, exp.Copy, exp.Into, exp.Lock, exp.Set, exp.Pragma, exp.Attach, exp.Detach, exp.Use, exp.Transaction,
    exp.Commit, exp.Rollback, exp.Kill, exp.LoadData, exp.Grant, exp.Revoke, exp.Analyze, exp.Summarize, exp.Cache,
    exp.Uncache, exp.Refresh, exp.Comment, exp.Export, exp.Install,
)  # fmt: skip

_EVERYWHERE: Final = r"sleep|load_extension|writefile|readfile|getenv|load_file"
_FUNCTIONS: Final[dict[str, str]] = {
    "postgres": (
        r"pg_(?!typeof|size_pretty|get_\w+def|get_expr|get_userbyid|\w+_is_visible|table_size|relation_size"
        r"|total_relation_size|database_size)\w+"
        r"|lo_\w+|loread|lowrite|dblink\w*|set_config|current_setting|\w+_to_xml\w*|ts_stat|ts_rewrite|nextval|setval"
        r"|txid_\w+|inet_(?:client|server)_\w+|currval|lastval|crosstab\w*"
    ),
    "mysql": (
        r"benchmark|get_lock|release_\w*lock\w*|is_(?:free|used)_lock|master_\w+|source_pos_wait|wait_for_\w+|sys_\w+"
        r"|set_user_var|last_insert_id|nextval|setval|lastval|kill|extractvalue|updatexml"
    ),
    "duckdb": (
        r"read_\w+|glob|parquet_\w+|sniff_csv|query|query_table|duckdb_\w+|pragma_\w+|sqlite_\w+|postgres_\w+|mysql_\w+"
        r"|iceberg_\w+|delta_\w+|st_read\w*|nextval|currval|which_secret|current_setting|checkpoint|force_checkpoint"
        r"|arrow_scan\w*|pandas_scan|python_map|json_execute_serialized_sql|setval|sleep_ms|write_log"
    ),
    "sqlite": (
        r"edit|fts3_tokenizer|sqlite_\w+|changes|total_changes|last_insert_rowid|randomblob|zeroblob|pragma_\w+|fsdir"
        r"|zipfile|dbstat"
    ),
    "clickhouse": (
        r"file\w*|url\w*|remote\w*|cluster\w*|s3\w*|gcs|hdfs\w*|azure\w*|executable|mysql|postgresql|mongodb|sqlite|jdbc"
        r"|odbc|input|dictionary|dict\w+|merge|sleep\w*|getsetting|iceberg\w*|deltalake\w*|hudi\w*|redis|fuzz\w+"
        r"|eval|python|loop|view\w*|mergetree\w*|prometheus\w*|paimon\w*|oss|cosn|ytsaurus|bigquery|arrowflight|ai[a-z]\w+"
    ),
}
"""Functions that do more than compute, by dialect; those without an entry have the server's own word only."""
_LIKE: Final[dict[str, str]] = {"redshift": "postgres"}
_ENGINE_TABLES: Final[dict[str, str]] = {"sqlite": r"(?:.*\.)?(?:pragma_\w+|sqlite_db(?:page|data|ptr)|dbstat)"}
"""Tables of an engine's own that show raw pages, or run a command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlStatement:
    """One statement that may be sent, as it is sent."""

    text: str
    access: Access
    tables: tuple[str, ...]
    """Qualified as they are written, sorted, each once; names of a WITH are none."""
    functions: tuple[str, ...]
    """Called in it, in small letters: the server's catalogue says what they may do."""
    is_plan: bool = False
    """Its plan is asked for, not its rows."""
    skipped_lines: int = 0
    """Blank ones before it, which are not sent: where a server counts lines, they are missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedSql:
    """Why it is not sent, for whoever wrote it."""

    why: str


def read_statement(text: str, dialect: Dialect) -> SqlStatement | RefusedSql:
    """The one statement in this text, if it can be told what it does."""
    skipped_lines = text.count("\n", 0, len(text) - len(text.lstrip()))
    text = text.strip()
    if len(text) > MAX_CHARACTERS:
        return RefusedSql(why=f"A statement has at most {MAX_CHARACTERS:,} characters; this one has {len(text):,}.")
    read = _without_literals(text, dialect)
    if isinstance(read, RefusedSql):
        return read
    plain, uncommented = read
    if why := _ambiguity(text, plain):
        return RefusedSql(why=why)
    # No server is sent a comment, which it could read otherwise; the rest stays letter by letter.
    prefix, body = split_plan(uncommented.strip())
    try:
        parsed = sqlglot.parse(body, dialect=dialect)
    except SqlglotError as problem:
        return RefusedSql(why=f"It cannot be read as SQL: {_first_line(problem)}")
    except RecursionError:
        return RefusedSql(why="It is nested too deeply to be read; name its parts with WITH.")
    trees = [tree for tree in parsed if tree is not None]
    if len(trees) != 1:
        return RefusedSql(why=f"One statement at a time; this has {len(trees)}.")
    if parsed[0] is None:
        return RefusedSql(why="It begins with a semicolon: nothing stands before it.")
    judged = _judged(trees[0], body, dialect, prefix=prefix)
    return judged if isinstance(judged, RefusedSql) else replace(judged, skipped_lines=skipped_lines)


def split_plan(text: str) -> tuple[str, str]:
    """What asks for a plan, as it is written, and the statement; the first is empty where rows are asked for."""
    explain = _EXPLAIN.match(text)
    return (explain.group(), text[explain.end() :]) if explain else ("", text)


def first_rows(schema: str, table: str, rows: int, dialect: Dialect) -> str:
    """A statement for a few rows of a table, whatever it is called."""
    source = exp.table_(table, db=schema or None, quoted=True)
    return exp.select("*").from_(source).limit(rows).sql(dialect=dialect)


def _judged(tree: exp.Expr, body: str, dialect: Dialect, *, prefix: str) -> SqlStatement | RefusedSql:
    nodes = list(tree.walk())
    if found := next((node for node in nodes if isinstance(node, _REFUSED)), None):
        return RefusedSql(why=f"{_word(found)} is not something a query does.")
    is_write = any(isinstance(node, _WRITES) for node in nodes)
    if not is_write and not isinstance(tree, exp.Query | exp.Values | exp.Show | exp.Describe | exp.Pivot):
        return RefusedSql(why=f"It is no query: it begins with {_word(tree)}.")
    if why := next((why for node in nodes if (why := _oddity(node))), ""):
        return RefusedSql(why=why)
    if is_write and (prefix or isinstance(tree, exp.Describe)):
        return RefusedSql(why="Only the plan of a query can be asked for.")
    if tree.args.get("settings") or any(node.args.get("settings") for node in nodes):
        return RefusedSql(why="Settings are not a query's to change.")
    functions = _functions(nodes)
    if denied := next((name for name in functions if _does_more(name, dialect)), None):
        return RefusedSql(why=f"The function {denied} does more than compute.")
    tables = _tables(tree, nodes)
    # Also where a WITH has the name: within that WITH, it means the file.
    named = _tables(None, nodes)
    if dialect in _READS_FILES and (path := next((name for name in named if _PATH_LIKE.search(name)), None)):
        return RefusedSql(why=f"{path!r} is a file or an address, not a table.")
    if own := next((name for name in named if re.fullmatch(_ENGINE_TABLES.get(dialect, "(?!)"), name, re.I)), None):
        return RefusedSql(why=f"{own!r} is the engine's own, not a table.")
    return SqlStatement(
        text=prefix + body.rstrip("; \t\r\n"),
        access="write" if is_write else "read",
        tables=tables,
        functions=functions,
        is_plan=bool(prefix),
    )


# ── the text ──


def _ambiguity(text: str, plain: str) -> str:
    """What parsers understand differently; empty: nothing."""
    if found := _INVISIBLE.search(text):
        return f"It has an invisible character (U+{ord(found.group()):04X}); take it out."
    if "\\" in text:
        return "It has a backslash, which servers read differently; write it without (chr(92))."
    if found := next((hint for hint in _HINTS if hint in plain), None):
        return f"{found} is a comment that some servers run; take it out."
    if found := _PREFIXED.search(plain):
        return f"Texts with a prefix ({found.group().strip()}) are read differently by servers; write a plain one."
    return "A $ is for parameters ($1) only." if _DOLLAR.search(plain) else ""


def _without_literals(text: str, dialect: Dialect) -> tuple[str, str] | RefusedSql:
    """The text with everything inside quotes and comments taken out, their marks kept; and without comments alone."""
    out, kept, at = list[str](), list[str](), 0
    while at < len(text):
        mark = text[at]
        if mark in "'\"`":
            end = _end_of_quoted(text, at)
            if end is None:
                return RefusedSql(why=f"A {mark} is not closed.")
            out.append(mark * 2)
            kept.append(text[at:end])
        elif text.startswith("--", at) or (mark == "#" and dialect in _HASH_COMMENTS):
            if dialect == "mysql" and mark == "-" and not text[at + 2 : at + 3].isspace() and at + 2 < len(text):
                return RefusedSql(why="To MySQL -- without a blank is no comment; put a blank there.")
            end = text.find("\n", at)
            end = len(text) if end == -1 else end
            out.append("--" if mark == "-" else "#")
            kept.append(" ")
        elif text.startswith("/*", at):
            closing = text.find("*/", at + 2)
            if closing == -1 or "/*" in text[at + 2 : closing]:
                return RefusedSql(why="A comment is not closed, or has another in it.")
            end = closing + 2
            out.append(text[at : at + 4])
            kept.append("\n" * text.count("\n", at, end) or " ")
        else:
            end = at + 1
            out.append(mark)
            kept.append(mark)
        at = end
    return "".join(out), "".join(kept)


def _end_of_quoted(text: str, at: int) -> int | None:
    mark, end = text[at], at + 1
    while (end := text.find(mark, end)) != -1:
        if text[end + 1 : end + 2] != mark:
            return end + 1
        end += 2
    return None


# ── the tree ──


def _oddity(node: exp.Expr) -> str:
    """What calls a function or sets something without looking so; empty: nothing."""
    match node:
        case exp.PropertyEQ(this=exp.Parameter() | exp.SessionParameter()):
            return "Setting a variable (:=) is not something a query does."
        case exp.Operator() if not str(node.args.get("operator")).lower().startswith("pg_catalog."):
            return "An operator by its name calls any function; write what it does."
        case exp.Table(this=exp.Identifier()) if _is_called(node):
            return "It cannot be told whether a name with parentheses is a table or a function; write AS and a name."
        case exp.Describe() if "ANALYZE" in str(node.args.get("style") or "").upper():
            return "To analyze a statement is to run it; ask for its plan, or for its rows."
        case _:
            return ""


def _is_called(table: exp.Table) -> bool:
    """`dictionary('x')` is read as a table with columns and no name, because its name is a keyword."""
    alias = table.args.get("alias")
    return isinstance(alias, exp.TableAlias) and not alias.this and bool(alias.columns)


def _functions(nodes: list[exp.Expr]) -> tuple[str, ...]:
    """By all names they go by."""
    names: list[str] = []
    for node in nodes:
        if isinstance(node, exp.Anonymous):
            names.append(str(node.this if isinstance(node.this, str) else node.name))
        elif isinstance(node, exp.Func):
            names += node.sql_names()
    return tuple(dict.fromkeys(name.strip('"`').casefold() for name in names))


def _does_more(name: str, dialect: Dialect) -> bool:
    denied = _FUNCTIONS.get(_LIKE.get(dialect, dialect), "")
    return re.fullmatch(f"{_EVERYWHERE}|{denied}" if denied else _EVERYWHERE, name) is not None


def _tables(tree: exp.Expr | None, nodes: list[exp.Expr]) -> tuple[str, ...]:
    common = {cte.alias_or_name for cte in tree.find_all(exp.CTE)} if tree is not None else set[str]()
    found = [node for node in nodes if isinstance(node, exp.Table) and not isinstance(node.this, exp.Func)]
    names = [".".join(part.name for part in table.parts) for table in found]
    return tuple(sorted({name for name in names if name and name not in common}))


def _word(node: exp.Expr) -> str:
    if isinstance(node, exp.Command):
        return str(node.this).upper()
    return re.sub(r"(?<!^)(?=[A-Z])", " ", type(node).__name__).upper()


def _first_line(problem: Exception) -> str:
    return re.sub(r"\x1b\[\d*m", "", str(problem)).partition("\n")[0][:200]
