"""A second import taken out of a cell's code, if that is certain to change nothing else.

It works on the text, so that comments and layout stay, and is then held against the same change of the syntax tree: if
the two are not the same program, there is no result.
"""

from __future__ import annotations

import ast
from typing import Final

_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def drop_import(code: str, name: str) -> str | None:
    """The code without the one top-level import that only binds this name."""
    tree = _parse(code)
    body = [] if tree is None else tree.body
    statements = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom) and name in import_of(node)]
    if tree is None or len(statements) != 1 or len(tree.body) < 2:
        return None
    [statement] = statements
    others = [node for node in tree.body if node is not statement]
    if len(statement.names) != 1 or any(_binds(node, name) for node in others):
        return None
    lines = code.splitlines(keepends=True)
    first, last = statement.lineno - 1, (statement.end_lineno or statement.lineno) - 1
    if any(first <= line <= last for node in others for line in range(node.lineno - 1, node.end_lineno or 0)):
        return None
    changed = "".join(lines[:first] + lines[last + 1 :])
    after = _parse(changed)
    expected = ast.dump(ast.Module(body=others, type_ignores=[]))
    return changed.strip("\n") if after is not None and ast.dump(after) == expected else None


def imported_as(code: str, name: str) -> str | None:
    """What the import that binds this name imports, if exactly one top-level statement does."""
    tree = _parse(code)
    found = [] if tree is None else [(node, import_of(node)[name]) for node in tree.body if name in import_of(node)]
    return found[0][1] if len(found) == 1 else None


def import_of(node: ast.stmt) -> dict[str, str]:
    """Names a statement imports, each with what it stands for."""
    match node:
        case ast.Import(names=names):
            return {
                alias.asname or alias.name.split(".")[0]: alias.name if alias.asname else alias.name.split(".")[0]
                for alias in names
                if alias.asname or "." not in alias.name
            }
        case ast.ImportFrom(module=module, names=names, level=level):
            return {alias.asname or alias.name: f"{'.' * level}{module or ''}:{alias.name}" for alias in names}
        case _:
            return {}


def _parse(code: str) -> ast.Module | None:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _binds(node: ast.stmt, name: str) -> bool:
    return any(
        (isinstance(each, ast.Name) and each.id == name and not isinstance(each.ctx, ast.Load))
        or (isinstance(each, _SCOPES) and each.name == name)
        or (isinstance(each, ast.Import | ast.ImportFrom) and name in import_of(each))
        for each in ast.walk(node)
    )
