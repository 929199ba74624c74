"""Postgres: rows grouped by a table's key, where a query with masks takes the table's place. Pure.

Of a table the server knows that its key settles every other column, so that these need not be grouped by; of a query it
does not. So the columns that are used are named along with the key: the groups stay the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import expressions as exp

from cellwright.data.catalogue import CatalogueTable


def group_by_what_keys_settle(tree: exp.Expr, tables: list[tuple[exp.Table, CatalogueTable]]) -> None:
    """To be done while the tables still stand in their places; `tables` are those that will be replaced."""
    for node, table in tables:
        key = {column.name.casefold() for column in table.columns if column.is_key}
        select = node.parent_select
        if not key or not isinstance(select, exp.Select) or _is_within_a_name(node, select):
            continue
        group = select.args.get("group")
        if not isinstance(group, exp.Group) or any(
            value for kind, value in group.args.items() if kind != "expressions"
        ):
            continue
        grouped = {column.name.casefold() for column in _grouped(select, group) if _is_of(column, node)}
        if key <= grouped:
            known = {column.name.casefold(): column.name for column in table.columns}
            used = [known[name] for name in _used(select, node, known) if name not in grouped]
            for name in used:
                own = exp.column(exp.to_identifier(name, quoted=True), table=_called(node))
                group.append("expressions", own)


def _grouped(select: exp.Select, group: exp.Group) -> Iterator[exp.Column]:
    """The columns that are grouped by: named, or counted from the first that is selected."""
    for each in group.expressions:
        shown = each.unnest()
        if isinstance(shown, exp.Literal) and not shown.is_string and 0 < int(shown.name) <= len(select.expressions):
            shown = select.expressions[int(shown.name) - 1].unalias().unnest()
        if isinstance(shown, exp.Column):
            yield shown


def _used(select: exp.Select, node: exp.Table, known: dict[str, str]) -> list[str]:
    """Which of its columns the query uses, in small letters; all where there is a `*`."""
    parts = [select.args.get(part) for part in ("having", "order", "distinct")]
    shown = [*select.expressions, *(part for part in parts if isinstance(part, exp.Expr))]
    names = list[str]()
    for column in (found for each in shown for found in each.find_all(exp.Column, exp.Star)):
        if isinstance(column, exp.Star):
            is_all = not isinstance(column.parent, exp.Column | exp.Count) and column.parent is select
            names += known if is_all else ()
        elif _is_of(column, node):
            names += known if isinstance(column.this, exp.Star) else [column.name.casefold()]
    return [name for name in dict.fromkeys(names) if name in known]


def _is_of(column: exp.Column, node: exp.Table) -> bool:
    return not column.table or column.table.casefold() == node.alias_or_name.casefold()


def _called(node: exp.Table) -> exp.Identifier:
    alias = node.args.get("alias")
    name = alias.this if alias is not None and alias.this is not None else node.this
    return name.copy()


def _is_within_a_name(node: exp.Table, select: exp.Select) -> bool:
    """Whether a name in between hides it: `(users join orders …) x`."""
    around = node.parent
    while around is not None and around is not select:
        if isinstance(around, exp.Subquery) and around.alias:
            return True
        around = around.parent
    return False
