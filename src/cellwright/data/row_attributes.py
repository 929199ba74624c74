"""Postgres: what stands behind a dot is a column, and not a function in disguise. Pure.

There `t.f` calls the function f with a row of t if t has no column f, and any row of fitting types will do. So it is
found out for each such name what it belongs to; what is not known to be a column of that is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from sqlglot import expressions as exp

from cellwright.data.catalogue import CatalogueTable

_HIDDEN: Final = frozenset({"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid", "oid"})
_FUNCTION_COLUMNS: Final = frozenset(
    {"key", "value", "ordinality", "lexeme", "positions", "weights", "word", "element"}
)
"""What columns of the server's own functions are called."""
_CHANGING: Final = (exp.Insert, exp.Update, exp.Delete, exp.Merge)


class RowAttributes:
    """The sources of one statement and their columns; to be asked before anything in it is rewritten."""

    def __init__(
        self,
        tree: exp.Expr,
        tables: Mapping[int, CatalogueTable | None],
        common: Mapping[int, exp.CTE],
    ) -> None:
        self._tree = tree
        self._tables = tables
        self._common = common
        self._known: dict[int, frozenset[str]] = {}

    def first_unknown(self) -> str:
        """The first name that may be a function in disguise, as it is written; empty: there is none."""
        for node in self._tree.find_all(exp.Column, exp.Dot):
            if isinstance(node, exp.Dot):
                is_known = self._is_known_field(node)
            else:
                is_known = not node.table or isinstance(node.this, exp.Star) or self._has(node, node.table, node.name)
            if not is_known:
                return node.sql(dialect="postgres")
        return ""

    def _is_known_field(self, node: exp.Dot) -> bool:
        field = node.expression
        if isinstance(field, exp.Func) or isinstance(node.parent, exp.Dot | exp.Table):
            return True
        if not isinstance(field, exp.Identifier):
            return isinstance(field, exp.Star)
        row = node.this.unnest()
        if isinstance(row, exp.Column) and not row.table:
            return self._has(row, row.name, field.name)
        if isinstance(row, exp.Column) and isinstance(row.this, exp.Star):
            return self._has(row, row.table, field.name)
        return field.name.casefold() in _FUNCTION_COLUMNS

    def _has(self, place: exp.Expr, source: str, name: str) -> bool:
        """Whether the source of this name, seen from there, has the column."""
        for around in _around(place):
            for each in _sources(around):
                if each.alias_or_name.casefold() == source.casefold():
                    columns = self._columns(each)
                    return "*" in columns or name.casefold() in columns
        return self._is_of_the_target(source, name)

    def _is_of_the_target(self, source: str, name: str) -> bool:
        """`excluded`, `old` and `new` are rows of what is changed."""
        if source.casefold() not in {"excluded", "old", "new"} or not isinstance(self._tree, _CHANGING):
            return False
        target = self._tree.this.find(exp.Table)
        return target is not None and name.casefold() in self._columns(target)

    def _columns(self, source: exp.Expr) -> frozenset[str]:
        """The names of its columns, and `*` where any would do."""
        if id(source) not in self._known:
            self._known[id(source)] = frozenset()  # One that is within itself adds nothing.
            self._known[id(source)] = frozenset(name.casefold() for name in self._named(source))
        return self._known[id(source)]

    def _named(self, source: exp.Expr) -> Iterator[str]:
        alias = source.args.get("alias")
        renamed = [column.name for column in alias.args.get("columns") or ()] if alias is not None else []
        yield from renamed
        match source:
            case exp.Table() if id(source) in self._common:
                cte = self._common[id(source)]
                yield from self._columns(cte)
            case exp.Table() if id(source) in self._tables:
                table = self._tables[id(source)]
                yield from ("*",) if table is None else (c.name for c in table.columns[len(renamed) :])
                yield from _HIDDEN
            case exp.Table() | exp.Unnest() | exp.Lateral() if not isinstance(source.this, exp.Query):
                yield from (source.alias_or_name, *_FUNCTION_COLUMNS)
                yield from (place.name for node in (source, source.this) if (place := _ordinality(node)) is not None)
                yield from _call_names(source.this) if isinstance(source.this, exp.Func) else ()
            case exp.CTE() | exp.Lateral():
                yield from self._given(source.this)
            case exp.Subquery():
                yield from self._given(source)
            case exp.Values():
                yield from (f"column{at}" for at in range(1, 100))
            case _:
                pass

    def _given(self, query: exp.Expr) -> Iterator[str]:
        """The names of what a query gives."""
        if isinstance(query, exp.Subquery):
            inner = query.this
            if isinstance(inner, exp.Table | exp.Subquery) and query.this.args.get("joins"):
                yield from (name for each in _joined(inner) for name in self._columns(each))
            elif isinstance(inner, exp.Table):
                yield from self._columns(inner)
            else:
                yield from self._given(inner)
        elif isinstance(query, exp.SetOperation):
            yield from self._given(query.this)
        elif isinstance(query, exp.Select):
            for projection in query.expressions:
                yield from self._projected(projection, query)
        elif isinstance(query, exp.Values):
            yield from (f"column{at}" for at in range(1, 100))
        elif isinstance(query, _CHANGING) and (returned := query.args.get("returning")):
            target = query.this.find(exp.Table)
            for projection in returned.expressions:
                yield from [projection.alias_or_name] if not projection.is_star else self._columns(target)

    def _projected(self, projection: exp.Expr, query: exp.Select) -> Iterator[str]:
        if isinstance(projection, exp.Star):
            yield from (name for source in _sources(query) for name in self._columns(source))
        elif isinstance(projection, exp.Column) and isinstance(projection.this, exp.Star):
            wanted = projection.table.casefold()
            found = next(
                (s for a in _around(projection) for s in _sources(a) if s.alias_or_name.casefold() == wanted), None
            )
            yield from self._columns(found) if found is not None else ()
        elif name := projection.output_name or projection.alias_or_name:
            yield name
        else:
            yield from _call_names(projection.unnest())


def _ordinality(node: object) -> exp.Expr | None:
    """The column that counts, of WITH ORDINALITY."""
    found = node.args.get("offset") if isinstance(node, exp.Unnest) else None
    return found if isinstance(found, exp.Expr) else None


def _call_names(node: exp.Expr) -> Iterator[str]:
    """What a value without a name is called: as its function."""
    if isinstance(node, exp.Window | exp.Filter | exp.WithinGroup | exp.Cast):
        yield from _call_names(node.this)
    elif isinstance(node, exp.Anonymous):
        yield node.name
    elif isinstance(node, exp.Func):
        yield from node.sql_names()


def _around(place: exp.Expr) -> Iterator[exp.Expr]:
    node = place.parent
    while node is not None:
        if isinstance(node, (exp.Select, exp.Subquery, *_CHANGING)):
            yield node
        node = node.parent


def _sources(query: exp.Expr) -> Iterator[exp.Expr]:
    """What its columns may be of."""
    if isinstance(query, _CHANGING):
        target = query.this.this if isinstance(query.this, exp.Schema) else query.this
        yield from _joined(target) if isinstance(target, exp.Table) else ()
        using = query.args.get("using")
        yield from (each for one in (using if isinstance(using, list) else [using]) if one for each in _joined(one))
    if isinstance(query, exp.Subquery) and isinstance(query.this, exp.Table | exp.Subquery):
        yield from _joined(query.this)
    start = query.args.get("from_")
    if start is not None:
        yield from _joined(start.this)
    yield from (each for join in query.args.get("joins") or () for each in _joined(join.this))
    yield from query.args.get("laterals") or ()


def _joined(source: exp.Expr) -> Iterator[exp.Expr]:
    """A source, and those that are joined to it in brackets, which stay visible unless the whole has a name."""
    inner = source.this if isinstance(source, exp.Subquery) else None
    if isinstance(inner, exp.Table | exp.Subquery) and not source.alias:
        yield from _joined(inner)
    else:
        yield source
    yield from (each for join in source.args.get("joins") or () for each in _joined(join.this))
    yield from source.args.get("laterals") or ()
