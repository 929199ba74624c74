"""Masked columns in queries: every table that has some is replaced by a query that shows a constant in their place.

It holds by how the statement is made, not by finding out what it does with a column. The server only gets names written
out in full, names of a WITH that no table can have, and functions that are known to compute. What cannot be made so is
refused. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cache
from typing import Final

import sqlglot
from sqlglot import expressions as exp
from sqlglot.dialects.dialect import Dialect as SqlDialect
from sqlglot.errors import SqlglotError

from cellwright.data.catalogue import Catalogue, CatalogueColumn, CatalogueTable
from cellwright.data.dialects import Dialect
from cellwright.data.known_functions import known_functions, known_row_functions
from cellwright.data.masked_columns import MaskedColumns
from cellwright.data.masked_groups import group_by_what_keys_settle
from cellwright.data.masked_writes import why_not_written
from cellwright.data.row_attributes import RowAttributes
from cellwright.data.shadowed_functions import first_shadowed
from cellwright.data.statements import RefusedSql, SqlStatement, split_plan
from cellwright.data.table_references import SystemTable, TableNames, UnknownTable, common_table, full_name

MASK_TEXT: Final = "•••"
_FRESH: Final = "cellwright_"
_TEXT: Final = re.compile(
    r"(?:(?:low_?cardinality|nullable)\()*(?:character varying|character|varchar|nvarchar|char|nchar|bpchar|text|citext"
    r"|string|tinytext|mediumtext|longtext|clob)\b[^\[]*",
    re.IGNORECASE,
)
_OUTSIDE: Final = ("alias", "joins", "laterals", "pivots")
"""What stays with the place of a table when a query takes it."""
_AS_WRITTEN: Final = {"postgres": ("DATE_PART", "DATE_ADD"), "redshift": ("DATE_PART", "DATE_ADD")}
"""Functions for which sqlglot writes something else, of another type."""
_COMBINED: Final = re.compile(
    r"(\w+?)(?:if|array|map|state|simplestate|merge|foreach|distinct|ordefault|ornull|resample|argmin|argmax)+"
)
"""ClickHouse's aggregates with what changes how they count."""
_SHOWN: Final = frozenset({"TABLES", "COLUMNS", "DATABASES", "SCHEMAS", "CREATE TABLE", "INDEX", "INDEXES", "KEYS"})
_ATTRIBUTES: Final = frozenset({"postgres", "redshift"})
"""Where `t.f` calls the function f of a row if there is no column f."""
_TABLES_IN_LISTS: Final = frozenset({"sqlite", "clickhouse"})
"""Where `x in t` reads the table t."""


class _NotMasked(Exception):
    """It cannot be made so that it holds; the message says why."""


def mask_statement(
    statement: SqlStatement,
    dialect: Dialect,
    catalogue: Catalogue,
    masked: Sequence[str],
    *,
    functions: Collection[str] = (),
) -> SqlStatement | RefusedSql:
    """The statement as it is sent, in which masked columns have no values; `functions` are the person's word.

    With a mask, a query is always written anew. A write that reads nothing masked is sent as it is.
    """
    if not masked:
        return statement
    prefix, body = split_plan(statement.text)
    try:
        tree = _read(body, dialect)
        rewriting = _Rewriting(tree, dialect, catalogue, MaskedColumns(catalogue, masked), functions)
        if statement.access == "write":
            rewriting.refuse_calls_of_a_write()
            why = why_not_written(tree, dialect, rewriting.names, rewriting.masked)
            return RefusedSql(why=why) if why else statement
        return replace(statement, text=prefix + rewriting.masked_text())
    except _NotMasked as problem:
        return RefusedSql(why=str(problem))
    except (SqlglotError, RecursionError, ValueError):
        return RefusedSql(why="It cannot be rewritten so that masked columns stay hidden; write it more plainly.")


class _Rewriting:
    """One statement while it is rewritten."""

    def __init__(
        self,
        tree: exp.Expr,
        dialect: Dialect,
        catalogue: Catalogue,
        masked: MaskedColumns,
        functions: Collection[str],
    ) -> None:
        self.tree = tree
        self.names = TableNames(catalogue, dialect)
        self.masked = masked
        self._dialect: Dialect = dialect
        self._shadowing = catalogue.shadowing
        self._allowed = {name.casefold() for name in functions}

    def masked_text(self) -> str:
        self._refuse_shapes()
        tables, common = self._meant()
        self._refuse_attributes(tables, common)
        self._keep_groups(tables, common)
        self._rename_common(tables, common)
        for node in tables:
            if isinstance(node.parent, exp.Describe):
                self._found(node)
            elif id(node) not in common:
                self._replace(node)
        text, called = self.written()
        self.refuse_unknown_calls(called)
        self._refuse_shadowed(text)
        self._refuse_if_read_differently(text)
        return text

    def refuse_calls_of_a_write(self) -> None:
        self._refuse_shapes()
        text, called = self.written()
        self.refuse_unknown_calls(called)
        self._refuse_shadowed(text)
        self._refuse_attributes(*self._meant())

    # ── tables ──

    def _meant(self) -> tuple[list[exp.Table], dict[int, exp.CTE]]:
        """Every place that names a table, and which of them mean a part of a WITH."""
        tables = [node for node in self.tree.find_all(exp.Table) if not _is_no_table(node)]
        common = {id(node): cte for node in tables if (cte := common_table(node, self._dialect)) is not None}
        return tables, common

    def _rename_common(self, tables: list[exp.Table], common: dict[int, exp.CTE]) -> None:
        """A name that no table can have: whatever a server would look up first, it is the WITH that is meant."""
        fresh = {
            id(cte): f"{_FRESH}{at}_{cte.alias}"
            for at, cte in enumerate(self.tree.find_all(exp.CTE), 1)
            if not cte.args.get("scalar")
        }
        for cte in list(self.tree.find_all(exp.CTE)):
            if id(cte) in fresh:
                cte.args["alias"].set("this", exp.to_identifier(fresh[id(cte)], quoted=True))
        for node in tables:
            if (cte := common.get(id(node))) is not None:
                _keep_name(node)
                node.set("this", exp.to_identifier(fresh[id(cte)], quoted=True))

    def _keep_groups(self, tables: list[exp.Table], common: dict[int, exp.CTE]) -> None:
        if self._dialect != "postgres":
            return
        found = [(node, self.names.find(node)) for node in tables if id(node) not in common]
        known = [(node, table) for node, table in found if isinstance(table, CatalogueTable)]
        group_by_what_keys_settle(self.tree, [(node, table) for node, table in known if self.masked.of(table)])

    def _replace(self, node: exp.Table) -> None:
        if not isinstance(node.parent, exp.From | exp.Join | exp.Subquery | exp.Final | exp.Pivot):
            raise _NotMasked(f"{node.name} stands where a table cannot be masked.")
        if isinstance(node.this, exp.Func) or node.args.get("rows_from"):
            return
        table = self._found(node)
        if table is None:
            return
        masked = self.masked.of(table)
        if not masked:
            for key, part in full_name(table, self._dialect).items():
                node.set(key, part)
            return
        if not table.columns:
            raise _NotMasked(f"The columns of {table.qualified} are not known.")
        self._drop_schemas(node)
        place = node.parent if isinstance(node.parent, exp.Final) else node
        place.replace(self._query(node, table, masked))

    def _found(self, node: exp.Table) -> CatalogueTable | None:
        match self.names.find(node):
            case SystemTable():
                return None
            case UnknownTable(why=why):
                raise _NotMasked(why)
            case CatalogueTable() as table:
                if why := self.masked.why_hidden(table):
                    raise _NotMasked(why)
                return table

    def _query(self, node: exp.Table, table: CatalogueTable, masked: frozenset[str]) -> exp.Subquery:
        _keep_name(node)
        outside = {key: value for key in _OUTSIDE if (value := node.args.get(key))}
        inner: exp.Expr = node.copy()
        for key in _OUTSIDE:
            inner.set(key, None)
        for key, part in full_name(table, self._dialect).items():
            inner.set(key, part)
        if isinstance(node.parent, exp.Final):
            inner = exp.Final(this=inner)
        shown = [
            _mask(column, self._dialect) if column.name in masked else exp.column(_identifier(column.name))
            for column in table.columns
        ]
        query = exp.Select(expressions=shown, from_=exp.From(this=inner))
        return exp.Subquery(this=query, **outside)

    def _drop_schemas(self, node: exp.Table) -> None:
        """`schema.table.column` means nothing where a query has taken the table's place."""
        for column in self.tree.find_all(exp.Column):
            schema = column.args.get("db")
            if schema is not None and column.table.casefold() == node.name.casefold():
                if node.db and schema.name.casefold() != node.db.casefold():
                    continue
                column.set("db", None)
                column.set("catalog", None)

    # ── what is refused ──

    def _refuse_shapes(self) -> None:
        for node in self.tree.walk():
            match node:
                case exp.Show() if str(node.this).upper() not in _SHOWN:
                    raise _NotMasked(f"SHOW {node.this} may tell what is in tables with masked columns.")
                case exp.Describe() if node.args.get("style") or node.args.get("kind"):
                    raise _NotMasked("Only a plain DESCRIBE is possible while columns are masked.")
                case exp.Operator():
                    raise _NotMasked("OPERATOR(…) may call any function; write the operator alone.")
                case exp.In() if self._dialect in _TABLES_IN_LISTS and isinstance(node.args.get("field"), exp.Column):
                    name = node.args["field"].name
                    if self._dialect == "sqlite" or self.names.has(name) or self._has_common(name):
                        raise _NotMasked(f"IN {name} reads a table; write IN (SELECT … FROM {name}).")
                case _:
                    pass

    def _refuse_attributes(self, tables: list[exp.Table], common: dict[int, exp.CTE]) -> None:
        if self._dialect not in _ATTRIBUTES:
            return
        found = {id(node): self.names.find(node) for node in tables if isinstance(node.this, exp.Identifier)}
        known = {at: table if isinstance(table, CatalogueTable) else None for at, table in found.items()}
        if name := RowAttributes(self.tree, known, common).first_unknown():
            raise _NotMasked(f"{name} is no column that is known, and may call a function; give columns names with AS.")

    def _has_common(self, name: str) -> bool:
        return any(cte.alias.casefold() == name.casefold() for cte in self.tree.find_all(exp.CTE))

    def refuse_unknown_calls(self, called: Collection[str]) -> None:
        """Of the functions of the tree and those that were written for it: a function may read tables by itself."""
        for node in self.tree.find_all(exp.Func):
            if isinstance(node.parent, exp.Table | exp.Lateral | exp.TableFromRows) and node.arg_key == "this":
                self._refuse_if_unknown(node, known_row_functions(self._dialect))
        known = known_functions(self._dialect)
        if self._dialect == "sqlite":
            return
        for node in self.tree.find_all(exp.Anonymous):
            self._refuse_if_unknown(node, known or frozenset())
        if known and (name := next((name for name in called if not self._passes(name, known)), None)):
            raise _NotMasked(_unknown_call(name))

    def _refuse_if_unknown(self, node: exp.Func, known: frozenset[str]) -> None:
        names = [_called(node)] if isinstance(node, exp.Anonymous) else _typed_names(node)
        around = node.parent
        # To DuckDB `x.f()` is f(x); elsewhere what stands before the dot is a schema.
        if isinstance(around, exp.Dot) and around.expression is node and self._dialect != "duckdb":
            schema = around.this.name.casefold()
            names = [f"{schema}.{name}" if schema != "pg_catalog" else name for name in names]
        if isinstance(node, exp.Unnest | exp.UDTF | exp.XMLTable | exp.JSONTable) or any(
            self._passes(name, known) for name in names
        ):
            return
        raise _NotMasked(_unknown_call(names[0]))

    def _passes(self, name: str, known: frozenset[str]) -> bool:
        if self._dialect == "clickhouse" and (combined := _COMBINED.fullmatch(name)) is not None:
            name = name if name in known else combined.group(1)
        return name in known or name.casefold() in self._allowed

    def _refuse_shadowed(self, text: str) -> None:
        """A function of somebody's own in the place of the server's: it may read what it likes."""
        if name := first_shadowed(text, self._dialect, self._shadowing, self._allowed):
            raise _NotMasked(
                f"This database has a {name} of its own beside the server's, and columns of this connection are "
                "masked; rename it there, or a person can name it in the connection's functions."
            )

    # ── the text ──

    def written(self) -> tuple[str, set[str]]:
        """The tree as SQL, and the functions that it calls there under their own names."""
        called: set[str] = set()
        kind = SqlDialect.get_or_raise(self._dialect).generator_class

        def func(generator: sqlglot.Generator, name: str, *args: object, **options: object) -> str:
            called.add(name.strip('"`').casefold())
            plain: Callable[..., str] = kind.func
            return plain(generator, name, *args, **options)

        own: dict[str, object] = {"func": func}
        if self._dialect == "sqlite":
            # Its own makes DATE(x) of CAST(x AS DATE), which gives something else.
            own["cast_sql"] = sqlglot.Generator.cast_sql
        generator = type("RecordingGenerator", (kind,), own)(dialect=self._dialect, comments=False)
        return generator.generate(self.tree), called

    def _refuse_if_read_differently(self, text: str) -> None:
        """What was written must be read as what was meant: the last look before it is sent."""
        again = _read(text, self._dialect)
        if _table_names(again) != _table_names(self.tree):
            raise _NotMasked("It cannot be rewritten so that masked columns stay hidden; write it more plainly.")


def _read(text: str, dialect: Dialect) -> exp.Expr:
    own = SqlDialect.get_or_raise(dialect)
    (tree,) = _parser_class(dialect)(dialect=own).parse(own.tokenize(text), text)
    if tree is None:
        raise ValueError("nothing to read")
    return tree


@cache
def _parser_class(dialect: Dialect) -> Callable[..., sqlglot.Parser]:
    kind = SqlDialect.get_or_raise(dialect).parser_class
    kept = {
        name: {key: parse for key, parse in getattr(kind, name).items() if key not in _AS_WRITTEN.get(dialect, ())}
        for name in ("FUNCTIONS", "FUNCTION_PARSERS")
    }
    return type("PlainParser", (kind,), kept)


def _table_names(tree: exp.Expr) -> list[tuple[str, ...]]:
    return sorted(tuple(part.name for part in node.parts) for node in tree.find_all(exp.Table) if node.name)


def _is_no_table(node: exp.Table) -> bool:
    """Names that only look like one: an index, an array that is joined."""
    if isinstance(node.parent, exp.Table):
        return node.arg_key in {"indexed", "rows_from"}
    return isinstance(node.parent, exp.Join) and node.parent.kind == "ARRAY"


def _keep_name(node: exp.Table) -> None:
    """What the statement calls it stays what it is called."""
    alias = node.args.get("alias")
    if alias is None:
        node.set("alias", exp.TableAlias(this=node.this.copy()))
    elif alias.args.get("this") is None:
        alias.set("this", node.this.copy())


def _identifier(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def _called(node: exp.Anonymous) -> str:
    name = node.this
    if isinstance(name, exp.Identifier):
        return name.name if name.args.get("quoted") else name.name.casefold()
    return str(name).casefold()


def _typed_names(node: exp.Func) -> list[str]:
    return [name.casefold().removeprefix("exploding_") for name in node.sql_names()]


def _unknown_call(name: str) -> str:
    return (
        f"It is not known that the function {name} reads no table, and columns of this connection are masked; "
        "a person can name it in the connection's functions."
    )


def _mask(column: CatalogueColumn, dialect: Dialect) -> exp.Expr:
    """What stands for a masked column: a constant of its type, as far as there is one."""
    return exp.alias_(_constant(column.type, dialect), _identifier(column.name))


def _constant(name: str, dialect: Dialect) -> exp.Expr:
    if _TEXT.fullmatch(name):
        text = exp.Literal.string(MASK_TEXT)
        if dialect in {"sqlite", "mysql"}:
            return text
        kind = name if dialect in _ATTRIBUTES else "text"
        return exp.Cast(this=text, to=exp.DataType.build(kind, dialect=dialect if kind == name else None))
    try:
        kind = exp.DataType.build(name, dialect=dialect)
    except (SqlglotError, ValueError):
        return exp.Null()
    if dialect == "clickhouse":
        if kind.is_type(exp.DataType.Type.ARRAY, exp.DataType.Type.MAP, exp.DataType.Type.STRUCT):
            return exp.Null()
        kind.set("nullable", True)
    return exp.Null() if dialect in {"sqlite", "mysql"} else exp.Cast(this=exp.Null(), to=kind)
