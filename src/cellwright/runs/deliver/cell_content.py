"""What is in a cell, found by reading its code, never by running it: what it is about, and its charts. Pure.

Markdown, imports, names it defines, what it shows; of a chart, whether a reader is told what it shows.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from cellwright.notebook import Cell
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
        shows=_shown_name(shown) if shown is not None else "",
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


Library = Literal["matplotlib", "pandas", "seaborn", "altair", "plotly"]

_DRAW: Final = frozenset({
    "plot", "bar", "barh", "scatter", "hist", "boxplot", "violinplot", "errorbar", "fill_between", "step", "stem",
    "stackplot", "hexbin", "hist2d", "loglog", "semilogx", "semilogy",
})  # fmt: skip
_WITHOUT_AXES: Final = frozenset({"pie", "imshow", "heatmap", "sunburst", "treemap", "matshow"})
_SEABORN: Final = frozenset({
    "lineplot", "barplot", "scatterplot", "histplot", "boxplot", "violinplot", "countplot", "kdeplot", "regplot",
    "relplot", "catplot", "displot", "lmplot", "stripplot", "swarmplot", "pointplot", "heatmap", "jointplot",
    "ecdfplot",
})  # fmt: skip
_PLOTLY: Final = frozenset({
    "line", "bar", "scatter", "histogram", "box", "violin", "area", "pie", "density_heatmap", "sunburst", "treemap",
    "funnel", "choropleth", "imshow", "strip", "ecdf",
})  # fmt: skip
_TITLES: Final = frozenset({"title", "set_title", "suptitle"})
_X: Final = frozenset({"xlabel", "set_xlabel", "supxlabel"})
_Y: Final = frozenset({"ylabel", "set_ylabel", "supylabel"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A chart that a cell draws."""

    library: Library
    figure: str
    """Which one it is: charts of one figure are one."""
    has_title: bool
    has_x: bool
    has_y: bool


def plots_in(code: str) -> tuple[Plot, ...]:
    """The charts of a cell, each with what it tells about itself."""
    calls = [node for node in walk_syntax(code) if isinstance(node, ast.Call)]
    plots: dict[tuple[str, str], Plot] = {}
    for plot in _found(calls, _chart_labels(calls)):
        # One per figure: several calls draw into the same axes.
        plots.setdefault((plot.library, plot.figure), plot)
    return tuple(plots.values())


def what_lacks(plots: Sequence[Plot]) -> Iterator[str]:
    """What a reader misses in them, one sentence per chart."""
    for plot in plots:
        lacks = [
            word
            for word, is_there in (("a title", plot.has_title), ("an x label", plot.has_x), ("a y label", plot.has_y))
            if not is_there
        ]
        if lacks:
            words = lacks[0] if len(lacks) == 1 else f"{', '.join(lacks[:-1])} and {lacks[-1]}"
            yield f"the {plot.library} chart needs {words}, with units."


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChartLabels:
    """What calls anywhere in the cell tell about its charts."""

    title: bool
    x: bool
    y: bool


def _chart_labels(calls: Sequence[ast.Call]) -> _ChartLabels:
    names = {getattr(call.func, "attr", getattr(call.func, "id", "")) for call in calls}
    given = {keyword.arg for call in calls for keyword in call.keywords if _attribute(call) in _SETTERS}
    return _ChartLabels(
        title=bool(names & _TITLES) or bool(given & {"title", "title_text"}),
        x=bool(names & (_X | {"set_axis_labels"})) or bool(given & {"xlabel", "xaxis_title", "xaxis", "labels"}),
        y=bool(names & (_Y | {"set_axis_labels"})) or bool(given & {"ylabel", "yaxis_title", "yaxis", "labels"}),
    )


_SETTERS: Final = frozenset({"set", "update_layout", "properties", "update_xaxes", "update_yaxes", "update"})


def _found(calls: Sequence[ast.Call], labels: _ChartLabels) -> Iterator[Plot]:
    encodings = [call for call in calls if _attribute(call) == "encode"]
    library: Library
    for call in calls:
        attribute, root = _attribute(call), _root(call.func)
        given = {keyword.arg for keyword in call.keywords if keyword.arg}
        if root == "alt" and attribute == "Chart":
            library = "altair"
            has_x = all(_has_altair_label(one, "x", "X", 0) for one in encodings)
            has_y = all(_has_altair_label(one, "y", "Y", 1) for one in encodings)
        elif (root == "px" and attribute in _PLOTLY) or (root == "sns" and attribute in _SEABORN):
            # These write the columns' names on the axes by themselves: only names that read like code lack something.
            library = "plotly" if root == "px" else "seaborn"
            has_x, has_y = ("labels" in given or not _is_code_name(_word(call, axis)) for axis in "xy")
        elif _is_pandas_plot(call):
            library = "pandas"
            is_bare = attribute in _WITHOUT_AXES or _word(call, "kind") in _WITHOUT_AXES
            has_x, has_y = is_bare or "xlabel" in given, is_bare or "ylabel" in given
        elif attribute in _DRAW and isinstance(call.func, ast.Attribute) and _is_axes(call.func.value):
            library, has_x, has_y = "matplotlib", False, False
        elif attribute in _WITHOUT_AXES and root in {"plt", "ax"}:
            library, has_x, has_y = "matplotlib", True, True
        else:
            continue
        yield Plot(
            library=library,
            figure=_figure(call),
            has_title=labels.title or "title" in given,
            has_x=labels.x or has_x,
            has_y=labels.y or has_y,
        )


def _has_altair_label(encode: ast.Call, key: str, channel: str, at: int) -> bool:
    """Whether the axis says in words what it shows; a plain column name that reads like words is enough."""
    value: ast.expr | None = next((one.value for one in encode.keywords if one.arg == key), None)
    if value is None:
        calls = [one for one in encode.args if isinstance(one, ast.Call)]
        channels = [one for one in calls if channel in {getattr(node, "attr", "") for node in ast.walk(one.func)}]
        value = channels[0] if channels else encode.args[at] if len(encode.args) > at else None
    if value is None:
        return True
    if any("title" in (getattr(node, "arg", ""), getattr(node, "attr", "")) for node in ast.walk(value)):
        return True
    words = [node.value for node in ast.walk(value) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return not words or not _is_code_name(words[0].partition(":")[0])


def _is_code_name(word: str | None) -> bool:
    return word is not None and "_" in word


def _is_pandas_plot(call: ast.Call) -> bool:
    match call.func:
        case ast.Attribute(value=ast.Attribute(attr="plot", value=base)):
            return not _is_axes(base)
        case ast.Attribute(attr="plot", value=base):
            return not _is_axes(base) and (not call.args or any(one.arg in {"kind", "x", "y"} for one in call.keywords))
        case _:
            return False


def _is_axes(node: ast.expr) -> bool:
    """`plt`, `ax`, `axes[0]`, `fig.gca()`: by the name people give them."""
    match node:
        case ast.Name(id=name):
            return name == "plt" or name.lstrip("_").startswith("ax") or name.endswith(("_ax", "_axes", "_axis"))
        case ast.Subscript(value=value) | ast.Attribute(value=value, attr="flat"):
            return _is_axes(value)
        case ast.Call(func=ast.Attribute(attr="gca" | "add_subplot" | "twinx")):
            return True
        case _:
            return False


def _figure(call: ast.Call) -> str:
    """What tells charts of one cell apart: the axes for matplotlib, the place of the call for others."""
    if isinstance(call.func, ast.Attribute) and _is_axes(call.func.value):
        return _root(call.func)
    return f"line {call.lineno}"


def _attribute(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _word(call: ast.Call, name: str) -> str | None:
    for keyword in call.keywords:
        if keyword.arg == name and isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str):
            return keyword.value.value
    return None
