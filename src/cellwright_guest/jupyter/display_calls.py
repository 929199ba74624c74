"""What a cell shows: `display(…)` and IPython's display objects in marimo's words, and probes around what is shown."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Final

from cellwright_guest.jupyter.name_uses import CHANGING_METHODS

PROBE: Final = "cellwright_shown"
_OBJECTS: Final = {"HTML": "mo.Html", "Markdown": "mo.md", "Latex": "mo.md", "Image": "mo.image"}
_IMAGE_SOURCES: Final = {"filename", "url", "data"}
_RETURNING_NONE: Final = {"print", "show", "close", "info", "savefig", "to_csv", "to_parquet", "seed", "tight_layout"}
_MODULES: Final = {"IPython.display", "IPython.core.display"}


@dataclass(slots=True, kw_only=True)
class ShownSource:
    """A cell in marimo's words."""

    code: str
    needs_mo: bool = False
    notes: list[str] = field(default_factory=list[str])
    refused: list[str] = field(default_factory=list[str])


def mend_display(code: str, imported: dict[str, str]) -> ShownSource:
    """The code with what it shows in marimo's words; `imported` are names that come from IPython, and grows."""
    mended = ShownSource(code=code)
    tree = _parsed(code)
    if tree is None:
        return mended
    changes = list[tuple[ast.AST, str]]()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module in _MODULES:
            changes += _import_change(node, imported)
    shown = [node for node in ast.walk(tree) if _called(node) == "display" or imported.get(_called(node)) == "display"]
    top = {id(node.value): node for node in tree.body if isinstance(node, ast.Expr)}
    is_only = len(shown) == 1 and tree.body and id(shown[0]) in top and top[id(shown[0])] is tree.body[-1]
    for call in shown:
        assert isinstance(call, ast.Call)
        arguments = [ast.get_source_segment(code, argument) or "" for argument in call.args]
        if not arguments:
            mended.refused.append("`display()` without anything to show")
        elif is_only and len(arguments) == 1:
            changes.append((call, arguments[0] if _is_atomic(call.args[0]) else f"({arguments[0]})"))
            mended.notes.append("`display` at its end is its last expression")
        else:
            listed = [f"mo.output.append({argument})" for argument in arguments]
            changes.append((call, listed[0] if len(listed) == 1 else f"({', '.join(listed)}, None)[-1]"))
            mended.needs_mo = True
            mended.notes.append("`display` is `mo.output.append`")
    inside = {id(node) for call in shown for node in ast.walk(call)} - {id(call) for call in shown}
    for node in ast.walk(tree):
        name = _called(node)
        word = _OBJECTS.get(imported.get(name, ""))
        if word and isinstance(node, ast.Call) and id(node) not in inside:
            changes.append(_object_change(code, node, word))
            mended.needs_mo = True
        elif imported.get(name) == "clear_output" and isinstance(node, ast.Call):
            changes.append((node, "mo.output.clear()"))
            mended.needs_mo = True
        elif name in {"get_ipython", "interact", "interactive", "interact_manual"}:
            mended.refused.append(f"`{name}(…)` speaks with Jupyter itself" + _widget_words(name))
        elif name == "input":
            mended.refused.append("`input()` waits for somebody; use `mo.ui.text`")
    mended.code = replaced(code, changes)
    if "mo.output.append(" in mended.code:
        # A last expression would replace what was appended.
        mended.code = append_last(mended.code)
    again = _parsed(mended.code)
    if again is not None and inside and (nested := mend_nested(mended.code, imported)) != mended.code:
        mended.code, mended.needs_mo = nested, True
    return mended


def mend_nested(code: str, imported: dict[str, str]) -> str:
    """Display objects that stood inside a `display`."""
    tree = _parsed(code)
    changes = list[tuple[ast.AST, str]]()
    for node in ast.walk(tree) if tree is not None else ():
        word = _OBJECTS.get(imported.get(_called(node), ""))
        if word and isinstance(node, ast.Call):
            changes.append(_object_change(code, node, word))
    return replaced(code, changes)


def _object_change(code: str, call: ast.Call, word: str) -> tuple[ast.AST, str]:
    """The object in marimo's words; what an image is made of is one argument there, whatever IPython calls it."""
    if word != "mo.image" or not call.keywords:
        return (call.func, word)
    given = [ast.get_source_segment(code, argument) or "" for argument in call.args]
    for keyword in call.keywords:
        name = "src" if keyword.arg in _IMAGE_SOURCES else keyword.arg
        if name in {"src", "width", "height", "alt"}:
            given.append(f"{name}={ast.get_source_segment(code, keyword.value)}")
    return (call, f"{word}({', '.join(given)})")


def _widget_words(name: str) -> str:
    return "" if name == "get_ipython" else "; use `mo.ui`"


def _import_change(node: ast.ImportFrom, imported: dict[str, str]) -> list[tuple[ast.AST, str]]:
    left = list[str]()
    for alias in node.names:
        if alias.name in {"display", "clear_output", *_OBJECTS}:
            imported[alias.asname or alias.name] = alias.name
        else:
            left.append(f"{alias.name} as {alias.asname}" if alias.asname else alias.name)
    if len(left) == len(node.names):
        return []
    return [(node, f"from {node.module} import {', '.join(left)}" if left else "pass  # marimo shows by itself")]


def append_last(code: str) -> str:
    """The code with its last expression shown by `mo.output.append`: another cell's code is to follow."""
    last = _last_expression(code)
    if last is None or code.rstrip().endswith(";") or _shows_nothing(last.value):
        return code.rstrip().rstrip(";")
    return replaced(code, [(last.value, f"mo.output.append({_argument(code, last.value)})")])


def with_probes(code: str, cell: int) -> str:
    """The code with everything it shows told to the probe first."""
    tree = _parsed(code)
    if tree is None:
        return code
    changes = list[tuple[ast.AST, str]]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "mo.output.append" and node.args:
            argument = node.args[0]
            changes.append((argument, f"{PROBE}({cell}, {_argument(code, argument)})"))
    last = _last_expression(code)
    if last is not None and not code.rstrip().endswith(";") and not _is_append(last.value):
        changes.append((last.value, f"{PROBE}({cell}, {_argument(code, last.value)})"))
    return replaced(code, changes)


def _argument(code: str, node: ast.expr) -> str:
    """Its text as one argument of a call."""
    text = ast.get_source_segment(code, node) or ""
    return text if _is_atomic(node) else f"({text})"


def _shows_nothing(node: ast.expr) -> bool:
    """Whether it is surely None: `mo.output.append` would show that."""
    if not isinstance(node, ast.Call):
        return _is_append(node)
    name = node.func.attr if isinstance(node.func, ast.Attribute) else _called(node)
    return _is_append(node) or name in CHANGING_METHODS - {"fit", "partial_fit", "pop"} | _RETURNING_NONE


def _is_append(node: ast.expr) -> bool:
    return "mo.output." in ast.unparse(node)


def _last_expression(code: str) -> ast.Expr | None:
    tree = _parsed(code)
    last = tree.body[-1] if tree is not None and tree.body else None
    return last if isinstance(last, ast.Expr) else None


def _called(node: ast.AST) -> str:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def _is_atomic(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Constant | ast.Subscript)


def _parsed(code: str) -> ast.Module | None:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        return None


def replaced(code: str, changes: list[tuple[ast.AST, str]]) -> str:
    """The code with these nodes' texts replaced; of two that overlap the outer one is."""
    starts, at = [0], 0
    data = code.encode()
    for line in data.split(b"\n"):
        at += len(line) + 1
        starts.append(at)
    spans = list[tuple[int, int, str]]()
    for node, text in changes:
        if not isinstance(node, ast.expr | ast.stmt | ast.alias):
            continue
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or node.col_offset)
        spans.append((begin, end, text))
    spans.sort(key=lambda span: (span[0], -span[1]))
    out, last = bytearray(), 0
    for begin, end, text in spans:
        if begin < last:
            continue
        out += data[last:begin] + text.encode()
        last = end
    return (out + data[last:]).decode()
