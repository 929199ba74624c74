"""Joins that a notebook makes with pandas, and code that shows where one counts rows twice or loses them. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from cellwright.notebook.document import Cell, Document
from cellwright.notebook.source_text import literal
from cellwright.runs.review.findings import Finding

_MAX_MERGES: Final = 12
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp,
                  ast.GeneratorExp, ast.ClassDef, ast.For)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeCall:
    """One join, as the code has it."""

    cell: str
    left: str
    right: str
    left_keys: tuple[str, ...]
    right_keys: tuple[str, ...]
    how: str = "inner"
    is_validated: bool = False


def merge_calls(document: Document) -> tuple[MergeCall, ...]:
    """Joins whose two sides can be computed again from the notebook's variables."""
    return tuple(found for cell in document.cells for found in _in_cell(cell))[:_MAX_MERGES]


def merge_findings(document: Document) -> Iterator[Finding]:
    """For each join what ought to hold of it. Whether it does not is for the notebook to show."""
    for merge in merge_calls(document):
        left, right = (list(keys) for keys in (merge.left_keys, merge.right_keys))
        said = f"{merge.cell} joins {_short(merge.left)} with {_short(merge.right)} by {', '.join(left)}"
        sides = f"_left, _right = {merge.left}, {merge.right}\n"
        if not merge.is_validated:
            twice = f"{said}: both sides have keys several times, so that rows are counted more than once."
            yield Finding(
                claim=said,
                found="On both sides keys stand there several times, so that rows are counted more than once.",
                shows=f"{sides}assert not (_left.duplicated({left!r}).any() and _right.duplicated({right!r}).any()), "
                f"{literal(twice)}",
                by="code",
                kind="many-to-many",
            )
        if len(left) == 1:
            lost = f"{said}: rows find no partner only because keys are written differently."
            yield Finding(
                claim=said,
                found="Rows find no partner only because keys are written differently: zeros, spaces or case.",
                shows=f"{sides}_keys = _left[{literal(left[0])}].astype(str)\n"
                f"_others = _right[{literal(right[0])}].astype(str)\n"
                '_level, _known = (_one.str.strip().str.casefold().str.lstrip("0") for _one in (_keys, _others))\n'
                '_lost = ~_keys.isin(_others) & _level.isin(_known) & (_level != "")\n'
                f"assert not _lost.any(), {literal(lost)}",
                by="code",
                kind="lost-rows",
            )


def _in_cell(cell: Cell) -> Iterator[MergeCall]:
    try:
        tree = ast.parse(cell.code)
    except SyntaxError:
        return
    for call in _calls(tree):
        if (found := _merge(call, cell)) is not None:
            yield found


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """Calls outside of functions, comprehensions and loops: what they see, the notebook sees."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _SCOPES):
            continue
        if isinstance(child, ast.Call):
            yield child
        yield from _calls(child)


def _merge(call: ast.Call, cell: Cell) -> MergeCall | None:
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "merge":
        return None
    is_function = isinstance(call.func.value, ast.Name) and call.func.value.id in ("pd", "pandas")
    sides = call.args[:2] if is_function else [call.func.value, *call.args[:1]]
    if len(sides) != 2 or any(_is_private(side) for side in sides):
        return None
    options = {each.arg: each.value for each in call.keywords if each.arg}
    positional = call.args[2 if is_function else 1 :]
    on = _names(options.get("on"))
    left, right = on or _names(options.get("left_on")), on or _names(options.get("right_on"))
    how = options.get("how", positional[0] if positional else None)
    kind = how.value if isinstance(how, ast.Constant) and isinstance(how.value, str) else "inner"
    if not left or len(left) != len(right) or kind == "cross":
        return None
    return MergeCall(
        cell=cell.name if cell.name != "_" else "A cell",
        left=ast.unparse(sides[0]),
        right=ast.unparse(sides[1]),
        left_keys=left,
        right_keys=right,
        how=kind,
        is_validated="validate" in options,
    )


def _is_private(side: ast.expr) -> bool:
    """Whether it uses names that marimo keeps inside their cell."""
    return any(isinstance(each, ast.Name) and each.id.startswith("_") for each in ast.walk(side))


def _names(value: ast.expr | None) -> tuple[str, ...]:
    match value:
        case ast.Constant(value=str(name)):
            return (name,)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            known = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            return tuple(known) if len(known) == len(parts) else ()
        case _:
            return ()


def _short(code: str) -> str:
    return code if len(code) <= 60 else f"{code[:59]}…"
