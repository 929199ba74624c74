"""Small changes of a cell's code that are certain to mean what they say, or are not made at all.

Each works on the text, so that comments and layout stay, and is then held against the same change of the syntax tree:
if the two are not the same program, there is no result.
"""

from __future__ import annotations

import ast
import io
import re
import symtable
import tokenize
from collections.abc import Sequence
from typing import Final

_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def make_local(code: str, name: str) -> str | None:
    """The code with a global name made the cell's own (`_name`), if that cannot change what the code does."""
    local = f"_{name}"
    tree = _parse(code)
    if tree is None or name.startswith("_") or not _is_plain(code, tree, name) or _mentions(code, local):
        return None
    changed = _rename_tokens(code, name, local)
    _rename_nodes(tree, name, local)
    after = _parse(changed)
    return changed if after is not None and ast.dump(after) == ast.dump(tree) else None


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


def replace_literal(code: str, old: str, new: str, *, line: int | None = None) -> str | None:
    """The code with its one string literal `old` replaced; None if there is none, several, or not on that line."""
    tree = _parse(code)
    if tree is None:
        return None
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value == old]
    if len(found) != 1 or any(_contains(node, found[0]) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)):
        return None
    [literal] = found
    if literal.end_lineno != literal.lineno or (line is not None and literal.lineno != line):
        return None
    lines = code.splitlines(keepends=True)
    raw = lines[literal.lineno - 1].encode()
    text = raw[: literal.col_offset].decode() + _written(new) + raw[literal.end_col_offset :].decode()
    changed = "".join([*lines[: literal.lineno - 1], text, *lines[literal.lineno :]])
    after = _parse(changed)
    literal.value = new
    literal.kind = None
    return changed if after is not None and ast.dump(after) == ast.dump(tree) else None


def _written(text: str) -> str:
    return repr(text) if '"' in text or "\\" in text or not text.isprintable() else f'"{text}"'


def _parse(code: str) -> ast.Module | None:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _contains(outer: ast.AST, inner: ast.AST) -> bool:
    return any(node is inner for node in ast.walk(outer))


# ── names ──


def _is_plain(code: str, tree: ast.Module, name: str) -> bool:
    """Whether every mention of the name is the one global, set before it is read, and none hides in a text."""
    first = next((node for node in tree.body if _mentions_in(node, name)), None)
    if first is None or not _sets_first(first, name) or any(name in import_of(node) for node in tree.body):
        return False
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if _mentions(text, name):
                return False
            case ast.JoinedStr() if _mentions_in(node, name):
                # Python 3.11 does not say where in the text the expressions of an f-string stand.
                return False
            case ast.Global() | ast.Nonlocal() | ast.Delete():
                return False
            case _:
                pass
    return not any(_rebinds(table, name) for table in symtable.symtable(code, "cell", "exec").get_children())


def _rebinds(table: symtable.SymbolTable, name: str) -> bool:
    """Whether an inner scope has a name of its own that is called the same."""
    own = name in table.get_identifiers() and not table.lookup(name).is_global()
    return own or any(_rebinds(inner, name) for inner in table.get_children())


def _sets_first(node: ast.stmt, name: str) -> bool:
    match node:
        case ast.Assign(targets=targets, value=value):
            return not _mentions_in(value, name) and all(_only_stores(target, name) for target in targets)
        case ast.AnnAssign(value=value, target=target):
            return value is not None and not _mentions_in(value, name) and _only_stores(target, name)
        case ast.For(target=target, iter=values):
            return not _mentions_in(values, name) and _only_stores(target, name)
        case ast.With(items=items):
            return all(not _mentions_in(item.context_expr, name) for item in items)
        case ast.FunctionDef() | ast.ClassDef() | ast.AsyncFunctionDef():
            return node.name == name and not any(_mentions_in(each, name) for each in node.decorator_list)
        case _:
            return False


def _only_stores(target: ast.expr, name: str) -> bool:
    """Whether the name is among what is set here, and nothing of it is read."""
    mentioned = [node for node in ast.walk(target) if isinstance(node, ast.Name) and node.id == name]
    return bool(mentioned) and all(isinstance(node.ctx, ast.Store) for node in mentioned)


def _binds(node: ast.stmt, name: str) -> bool:
    return any(
        (isinstance(each, ast.Name) and each.id == name and not isinstance(each.ctx, ast.Load))
        or (isinstance(each, _SCOPES) and each.name == name)
        or (isinstance(each, ast.Import | ast.ImportFrom) and name in import_of(each))
        for each in ast.walk(node)
    )


def _mentions_in(node: ast.AST, name: str) -> bool:
    return any(
        (isinstance(each, ast.Name) and each.id == name) or (isinstance(each, _SCOPES) and each.name == name)
        for each in ast.walk(node)
    )


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _rename_nodes(tree: ast.Module, old: str, new: str) -> None:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) if name == old:
                node.id = new
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if node.name == old:
                node.name = new
            case _:
                pass


def _rename_tokens(code: str, old: str, new: str) -> str:
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(code).readline) if token.type != tokenize.COMMENT]
    lines = code.splitlines(keepends=True)
    for at in range(len(tokens) - 1, -1, -1):
        if tokens[at].type == tokenize.NAME and tokens[at].string == old and not _is_attribute_or_keyword(tokens, at):
            row, column = tokens[at].start
            text = lines[row - 1]
            lines[row - 1] = f"{text[:column]}{new}{text[column + len(old) :]}"
    return "".join(lines)


def _is_attribute_or_keyword(tokens: Sequence[tokenize.TokenInfo], at: int) -> bool:
    before = tokens[at - 1].string if at else ""
    after = tokens[at + 1].string if at + 1 < len(tokens) else ""
    return before == "." or (before in ("(", ",") and after == "=" and _is_inside(tokens, at))


def _is_inside(tokens: Sequence[tokenize.TokenInfo], at: int) -> bool:
    depth = 0
    for token in tokens[:at]:
        depth += (token.string in "([{") - (token.string in ")]}") if token.type == tokenize.OP else 0
    return depth > 0
