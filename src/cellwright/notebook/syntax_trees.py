"""Syntax trees of cells: made by one thread at a time, and names replaced in the text they stand for.

CPython keeps the depth of a tree under construction once for all threads. When the garbage collector lets another
thread in that makes a tree, too, `ast.parse` fails with "AST constructor recursion depth mismatch": rarely, and in a
process with many notebooks sooner or later. Nothing is lost by a lock: trees are made under the interpreter's lock
anyway.
"""

from __future__ import annotations

import ast
import itertools
import re
import symtable
import sys
import threading
import warnings
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final

from cellwright.errors import UserError
from cellwright.notebook.layout import Lines, Span

_parse: Final[Any] = ast.parse
PARSE_LOCK: Final = threading.RLock()
"""Held while a tree is made in any other way than by `ast.parse`."""
UNREADABLE: Final = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What parsing may raise."""
_REQUIRES_PYTHON: Final = re.compile(r'(?m)^# requires-python = "[=~>]=\s*(\d{1,2})\.(\d{1,3})\b')


def parse_locked(*arguments: Any, **more: Any) -> Any:
    """`ast.parse`, when no other thread is in it."""
    with PARSE_LOCK:
        return _parse(*arguments, **more)


# Marimo parses in whichever thread it is called: from now on everybody's trees are made one after another.
ast.parse = parse_locked


@contextmanager
def without_warnings() -> Generator[None]:
    """Nothing is warned of in this block."""
    # A notebook's own odd escapes are its author's affair, and under `-W error` would become syntax errors.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@lru_cache(maxsize=512)
def syntax_tree(code: str) -> ast.Module | None:
    """The code parsed, not to be changed; None if it is no Python."""
    try:
        with without_warnings():
            return ast.parse(code)
    except UNREADABLE:
        return None


def walk_syntax(code: str) -> Iterator[ast.AST]:
    """Every node of the code; none where it is no Python."""
    tree = syntax_tree(code)
    return ast.walk(tree) if tree is not None else iter(())


def parse_python(text: str, where: str) -> ast.Module:
    """The syntax tree; `where` names the text in errors. Raises `UserError`."""
    try:
        with without_warnings():
            return ast.parse(text)
    except SyntaxError as error:
        raise UserError(
            f"{where} is not valid Python: line {error.lineno}: {error.msg}.",
            hint="Repair that line, or open the file in `marimo edit`, which can rescue single broken cells."
            + _newer(text),
        ) from error
    except UNREADABLE as error:
        reason = "it is nested too deeply" if isinstance(error, MemoryError) else str(error)
        raise UserError(f"{where} cannot be parsed: {reason}.", hint="Is this really a notebook?") from error


def _newer(text: str) -> str:
    """What to do where the line may be right on a newer Python than the one that reads it here."""
    asked = _REQUIRES_PYTHON.search(text)
    ours = sys.version_info[:2]
    if asked is None or (int(asked[1]), int(asked[2])) <= ours:
        return ""
    wanted = f"{asked[1]}.{asked[2]}"
    return (
        f" The header asks for Python {wanted}, and notebooks are read with Cellwright's own {ours[0]}.{ours[1]}: "
        f"if the line is right there, install Cellwright with Python {wanted}, in a clone with "
        f"`rm -r .venv && make setup PYTHON=python{wanted}`."
    )


_FLAGS: Final = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_INTROSPECTION: Final = frozenset({"globals", "locals", "vars", "exec", "eval"})
"""Whoever calls these may know names that stand nowhere in the code."""
_NAMED: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

_Replacement = tuple[Span, str]
"""What stands there instead."""


def parse_cell(code: str) -> ast.Module | None:
    """The tree of a cell's code; None where it has none."""
    try:
        with PARSE_LOCK:
            tree = compile(code, "cell", "exec", flags=_FLAGS)
    except UNREADABLE:
        return None
    return tree if isinstance(tree, ast.Module) else None


def with_names(code: str, names: Mapping[str, str]) -> str | None:
    """The code with these names of the notebook replaced; None where that might change what it does."""
    tree = parse_cell(code)
    if tree is None or _has_own(code, names) or any(_is_beyond(node, names) for node in ast.walk(tree)):
        return None
    changed = code
    for span, text in sorted(set(_replacements(code, tree, names)), key=lambda each: -each[0].start):
        changed = changed[: span.start] + text + changed[span.end :]
    again = parse_cell(changed)
    wanted = _NameReplacement(names).visit(tree)
    return changed if again is not None and ast.dump(again) == ast.dump(wanted) else None


def _has_own(code: str, names: Mapping[str, str]) -> bool:
    """Whether a function, class or comprehension has something else of one of these names."""
    try:
        waiting = symtable.symtable(code, "cell", "exec").get_children()
    except (SyntaxError, ValueError, RecursionError):
        return True
    while waiting:
        table = waiting.pop()
        own = [symbol for symbol in table.get_symbols() if symbol.get_name() in names and not symbol.is_global()]
        if own:
            return True
        waiting += table.get_children()
    return False


def _is_beyond(node: ast.AST, names: Mapping[str, str]) -> bool:
    """Whether it knows names that are not seen, or binds one of these in a way that is not written anew here."""
    match node:
        case ast.Name(id=name):
            return name in _INTROSPECTION
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return name in names
        case ast.MatchMapping(rest=str(name)):
            return name in names
        case ast.comprehension(target=target):
            # Since Python 3.12 one at the top has no symbol table of its own.
            return any(isinstance(each, ast.Name) and each.id in names for each in ast.walk(target))
        case ast.alias(name=name, asname=None):
            return "." in name and name.partition(".")[0] in names
        case _:
            return False


def _replacements(code: str, tree: ast.Module, names: Mapping[str, str]) -> Iterator[_Replacement]:
    lines = Lines(code)
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.JoinedStr):
            # Before Python 3.12 the places inside are not to be relied on.
            yield from _formatted(code, lines.span(node), names)
            continue
        if isinstance(node, ast.Name) and node.id in names:
            yield lines.span(node), names[node.id]
        elif isinstance(node, _NAMED) and node.name in names:
            start = lines.offset(node.lineno, node.col_offset)
            yield from itertools.islice(_word(code, node.name, Span(start=start, end=len(code)), names), 1)
        elif isinstance(node, ast.Global):
            for name in node.names:
                yield from _word(code, name, lines.span(node), names)
        elif isinstance(node, ast.alias) and (node.asname or node.name) in names:
            yield lines.span(node), f"{node.name} as {names[node.asname or node.name]}"
        waiting.extend(ast.iter_child_nodes(node))


def _word(code: str, name: str, within: Span, names: Mapping[str, str]) -> Iterator[_Replacement]:
    if name in names:
        for found in re.compile(rf"\b{re.escape(name)}\b").finditer(code, within.start, within.end):
            yield Span(start=found.start(), end=found.end()), names[name]


def _formatted(code: str, within: Span, names: Mapping[str, str]) -> Iterator[_Replacement]:
    """Names between the braces of a formatted string."""
    depth, at = 0, within.start
    while at < within.end:
        if code[at : at + 2] in ("{{", "}}") and not depth:
            at += 2
            continue
        depth += {"{": 1, "}": -1}.get(code[at], 0)
        word = re.compile(r"[^\W\d]\w*").match(code, at, within.end) if depth else None
        if word is None:
            at += 1
            continue
        if word[0] in names and code[at - 1] != ".":
            yield Span(start=at, end=word.end()), names[word[0]]
        at = word.end()


class _NameReplacement(ast.NodeTransformer):
    """What the tree should become."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit(self, node: ast.AST) -> ast.AST:
        """The node with the new names; none of its places counts any more."""
        if isinstance(node, ast.Name):
            node.id = self._names.get(node.id, node.id)
        elif isinstance(node, _NAMED):
            node.name = self._names.get(node.name, node.name)
        elif isinstance(node, ast.Global):
            node.names = [self._names.get(name, name) for name in node.names]
        elif isinstance(node, ast.alias):
            node.asname = self._names.get(node.asname or node.name, node.asname)
        return self.generic_visit(node)
