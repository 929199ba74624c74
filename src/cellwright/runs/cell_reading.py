"""What one cell is about, found by reading it: markdown, imports, names it defines, what it shows. All pure."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from cellwright.notebook import Cell

_HEADING: Final = re.compile(r"(?m)^ {0,3}#[ \t]+\S|<h1[\s>]", re.IGNORECASE)
_BROKEN: Final = (SyntaxError, ValueError, RecursionError, MemoryError)
_MARKDOWN: Final = frozenset({"md"})
_PAGES: Final = frozenset({"md", "Html"})
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A cell as a reader sees it."""

    is_parsed: bool = True
    is_markdown: bool = False
    """It shows text, and does nothing else."""
    has_title: bool = False
    """There is a first-level heading in its text."""
    is_imports: bool = False
    """It imports, and does nothing else."""
    is_definition: bool = False
    """It is one function or class: marimo names it by that."""
    defines: tuple[str, ...] = ()
    """Public variables, in order; not what is imported, nor functions and classes."""
    functions: tuple[str, ...] = ()
    """Functions and classes."""
    imports: tuple[str, ...] = ()
    shows: str = ""
    """The name in its last expression that says most; empty if it shows nothing."""
    has_result: bool = False
    """Its last expression is a value a reader sees."""
    lines: int = 0


@lru_cache(maxsize=512)
def tree_of(code: str) -> ast.Module | None:
    """The code parsed; None if it is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except _BROKEN:
        return None


def read_cell(cell: Cell) -> Reading:
    """What the cell is about."""
    tree = tree_of(cell.code)
    if tree is None:
        return Reading(is_parsed=False, lines=_lines(cell.code))
    body = [node for node in tree.body if not isinstance(node, ast.Pass)]
    last = body[-1] if body else None
    shown = last.value if isinstance(last, ast.Expr) else None
    texts = _texts(shown, _MARKDOWN) if len(body) == 1 and shown is not None else None
    return Reading(
        is_markdown=texts is not None,
        has_title=any(_HEADING.search(text) for node in ast.walk(tree) for text in (_texts(node, _PAGES) or ())),
        is_imports=bool(body) and all(isinstance(node, ast.Import | ast.ImportFrom) for node in body),
        is_definition=len(body) == 1 and isinstance(body[0], _Definition),
        defines=tuple(dict.fromkeys(name for node in body for name in _variables(node) if not name.startswith("_"))),
        functions=tuple(node.name for node in body if isinstance(node, _Definition)),
        imports=tuple(name for node in body for name in _imported(node)),
        shows=_shown(shown) if shown is not None else "",
        has_result=texts is None and shown is not None and _is_result(shown),
        lines=_lines(cell.code),
    )


def _lines(code: str) -> int:
    return sum(bool(line.strip()) for line in code.splitlines())


def _texts(node: ast.AST, functions: frozenset[str]) -> list[str] | None:
    """What stands in a call such as `mo.md(…)`: the constant parts of its argument. None for any other code."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=[argument, *_]) if name in functions:
            return [
                part.value
                for part in ast.walk(argument)
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            ]
        case ast.Call(func=ast.Attribute(value=ast.Call() as inner)):
            # `mo.md("…").callout()`
            return _texts(inner, functions)
        case _:
            return None


def _variables(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Assign(targets=targets):
            for target in targets:
                yield from _targets(target)
        case ast.AnnAssign(target=target, value=value) if value is not None:
            yield from _targets(target)
        case ast.For(target=target, body=body) | ast.AsyncFor(target=target, body=body):
            yield from (name for inner in body for name in _variables(inner))
            yield from _targets(target)
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
            yield from (name for item in items if item.optional_vars for name in _targets(item.optional_vars))
            yield from (name for inner in body for name in _variables(inner))
        case ast.If(body=body, orelse=other) | ast.While(body=body, orelse=other):
            yield from (name for inner in (*body, *other) for name in _variables(inner))
        case ast.Try(body=body, handlers=_, orelse=other, finalbody=final):
            yield from (name for inner in (*body, *other, *final) for name in _variables(inner))
        case _:
            pass


def _targets(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from _targets(element)
        case ast.Starred(value=value):
            yield from _targets(value)
        case _:
            pass


def _imported(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)


def _is_result(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=None) | ast.Constant(value=str()):
            return False
        case ast.Call(func=ast.Name(id="print")):
            return False
        case _:
            return True


_SILENT: Final = frozenset({"mo", "pd", "pl", "np", "alt", "plt", "px", "go", "sns", "print", "len", "sorted", "list"})


def _shown(node: ast.expr) -> str:
    """The first name in the expression that is no library: `mo.ui.table(monthly)` shows `monthly`."""
    names = [found for found in ast.walk(node) if isinstance(found, ast.Name)]
    bound = {found.id for found in names if isinstance(found.ctx, ast.Store)} | _SILENT
    return next((found.id for found in names if found.id not in bound and not found.id.startswith("_")), "")
