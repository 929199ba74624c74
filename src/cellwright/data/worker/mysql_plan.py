"""What MySQL and MariaDB expect of a query, and which tables a statement changes. Pure."""

from __future__ import annotations

import json
from typing import Any, Final

import sqlglot
from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError

_MOST: Final = 2**62
_ROWS: Final = ("rows", "rows_examined_per_scan", "rows_produced_per_join")


def nested_estimate(plan: str) -> int | None:
    """The largest number of rows in the plan; tables in one loop are multiplied."""
    try:
        return _largest(json.loads(plan))
    except (ValueError, TypeError, RecursionError):
        return None


def _largest(node: Any) -> int | None:
    if isinstance(node, list):
        return _most([_largest(item) for item in node])
    if not isinstance(node, dict):
        return None
    own = [int(node[key]) for key in _ROWS if isinstance(node.get(key), int | float)]
    loop = node.get("nested_loop")
    if isinstance(loop, list):
        together = 1.0
        for step in loop:
            table = step.get("table", step.get("block-nl-join", {}).get("table", step))
            rows = _largest(table)
            together *= max(1.0, (rows or 1) * float(table.get("filtered", 100)) / 100)
        own.append(min(int(together), _MOST))
    return _most([*own, *(_largest(value) for value in node.values())])


def _most(numbers: list[int | None]) -> int | None:
    return max((number for number in numbers if number is not None), default=None)


def written_tables(statement: str) -> tuple[str, ...] | None:
    """All tables of a statement that changes rows; None: it changes something else, which nothing undoes."""
    try:
        tree = sqlglot.parse_one(statement, dialect="mysql")
    except (SqlglotError, RecursionError):
        return None
    if not isinstance(tree, exp.Insert | exp.Update | exp.Delete | exp.Merge):
        return None
    tables = tree.find_all(exp.Table)
    return tuple(sorted({".".join(part.name for part in table.parts) for table in tables}))
