"""What is in a cell, found by reading its code, never by running it: what it is about, and its charts. Pure.

Markdown, imports, names it defines, what it shows; of a chart, whether a reader is told what it shows.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from cellwright.notebook.document import Cell
from cellwright.notebook.syntax_trees import syntax_tree, walk_syntax

_HEADING: Final = re.compile(r"(?m)^ {0,3}#[ \t]+\S|<h1[\s>]", re.IGNORECASE)
_MARKDOWN: Final = frozenset({"md"})
_PAGES: Final = frozenset({"md", "Html"})
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True, kw_only=True)
class CellContent:
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
    """The names that its imports bind."""
    modules: tuple[str, ...] = ()
    """The packages that they are of."""
    shows: str = ""
    """The name in its last expression that says most; empty if it shows nothing."""
    has_result: bool = False
    """Its last expression is a value a reader sees."""
    lines: int = 0


def read_cell(cell: Cell) -> CellContent:
    """What the cell is about."""
    tree = syntax_tree(cell.code)
    if tree is None:
        return CellContent(is_parsed=False, lines=_lines(cell.code))
    body = [node for node in tree.body if not isinstance(node, ast.Pass)]
    last = body[-1] if body else None
    shown = last.value if isinstance(last, ast.Expr) else None
    texts = _texts(shown, _MARKDOWN) if len(body) == 1 and shown is not None else None
    return CellContent(
        is_markdown=texts is not None,
        has_title=any(_HEADING.search(text) for node in ast.walk(tree) for text in (_texts(node, _PAGES) or ())),
        is_imports=bool(body) and all(isinstance(node, ast.Import | ast.ImportFrom) for node in body),
        is_definition=len(body) == 1 and isinstance(body[0], _Definition),
        defines=tuple(dict.fromkeys(name for node in body for name in _variables(node) if not name.startswith("_"))),
        functions=tuple(node.name for node in body if isinstance(node, _Definition)),
        imports=tuple(
            alias.asname or alias.name.partition(".")[0]
            for node in body
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        ),
        modules=tuple(module for node in body for module in _packages(node)),
        shows=_shown_name(shown) if shown is not None else "",
        has_result=texts is None and shown is not None and _is_result(shown),
        lines=_lines(cell.code),
    )


def _packages(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (alias.name.partition(".")[0] for alias in names)
        case ast.ImportFrom(module=str(module), level=0):
            yield module.partition(".")[0]
        case _:
            pass


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
    """What a statement binds, the names that say most last: what a block comes to, what a loop goes through."""
    if isinstance(node, _Definition):
        return
    body = [inner for field in ("body", "orelse", "finalbody") for inner in getattr(node, field, ())]
    yield from (name for item in getattr(node, "items", ()) for name in _stored(item))
    yield from (name for inner in body for name in _variables(inner))
    yield from (name for target in getattr(node, "targets", ()) for name in _stored(target))
    if not isinstance(node, ast.AnnAssign) or node.value is not None:
        yield from _stored(getattr(node, "target", None))


def _stored(node: ast.AST | None) -> list[str]:
    found = ast.walk(node) if node is not None else ()
    return [each.id for each in found if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]


def _is_result(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=None | str()) | ast.Call(func=ast.Name(id="print")):
            return False
        case _:
            return True


_SILENT: Final = frozenset({"mo", "pd", "pl", "np", "alt", "plt", "px", "go", "sns", "print", "len", "sorted", "list"})


def _shown_name(node: ast.expr) -> str:
    """The first name in the expression that is no library: `mo.ui.table(monthly)` shows `monthly`."""
    names = [found for found in ast.walk(node) if isinstance(found, ast.Name)]
    bound = {found.id for found in names if isinstance(found.ctx, ast.Store)} | _SILENT
    return next((found.id for found in names if found.id not in bound and not found.id.startswith("_")), "")


_DRAW: Final = frozenset({
    "plot", "line", "bar", "barh", "scatter", "hist", "histogram", "box", "boxplot", "violin", "violinplot", "area",
    "errorbar", "fill_between", "step", "stem", "stackplot", "hexbin", "hist2d", "loglog", "semilogx", "semilogy",
    "density_heatmap", "funnel", "choropleth", "strip", "ecdf", "lineplot", "barplot", "scatterplot", "histplot",
    "countplot", "kdeplot", "regplot", "relplot", "catplot", "displot", "lmplot", "stripplot", "swarmplot", "pointplot",
    "jointplot", "ecdfplot", "Chart",
})  # fmt: skip
_WITHOUT_AXES: Final = frozenset({"pie", "imshow", "heatmap", "sunburst", "treemap", "matshow"})
_SELF_LABELLED: Final = frozenset({"px", "sns", "alt"})
"""Libraries that write the names of columns on the axes by themselves."""
_AXES: Final = re.compile(r"plt|_*ax.*|.*_(ax|axes|axis)")
"""What people call what they draw on with matplotlib."""
_LABELS: Final = (
    ("a title", frozenset({"title", "set_title", "suptitle", "title_text"})),
    ("an x label", frozenset({"xlabel", "set_xlabel", "supxlabel", "set_axis_labels", "xaxis_title", "xaxis"})),
    ("a y label", frozenset({"ylabel", "set_ylabel", "supylabel", "set_axis_labels", "yaxis_title", "yaxis"})),
)


def charts_in(code: str) -> dict[str, str]:
    """The charts of a cell, one per figure: what tells each apart, and what a reader misses in it, in words."""
    calls = [node for node in walk_syntax(code) if isinstance(node, ast.Call)]
    said = {keyword.arg for call in calls for keyword in call.keywords} | {_called(call) for call in calls}
    missing = [word for word, given in _LABELS if not said & given]
    charts: dict[str, str] = {}
    for call in calls:
        root, name = _root(call.func), _called(call)
        is_axes = _AXES.fullmatch(root) is not None
        if name in _DRAW | _WITHOUT_AXES and (is_axes or root in _SELF_LABELLED or _is_pandas_plot(call)):
            has_axes = name not in _WITHOUT_AXES and root not in _SELF_LABELLED
            lacks = missing if has_axes else [word for word in missing if word == "a title"]
            # Several calls draw into the same axes.
            charts.setdefault(root if is_axes else f"line {call.lineno}", " and ".join(lacks))
    return charts


def _is_pandas_plot(call: ast.Call) -> bool:
    match call.func:
        case ast.Attribute(value=ast.Attribute(attr="plot")):
            return True
        case ast.Attribute(attr="plot"):
            return not call.args or any(one.arg in {"kind", "x", "y"} for one in call.keywords)
        case _:
            return False


def _called(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
