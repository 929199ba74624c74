"""Charts in a cell's code, and whether a reader is told what they show: found by reading, never by running. Pure.

It errs on the side of silence: a chart that is put together elsewhere, or drawn by a library not known here, is not
complained about.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from cellwright.runs.cell_reading import tree_of

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
    tree = tree_of(code)
    if tree is None:
        return ()
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    told = _told(calls)
    return tuple(_merged(_found(calls, told)))


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
class _Told:
    """What calls anywhere in the cell tell about its charts."""

    title: bool
    x: bool
    y: bool


def _told(calls: Sequence[ast.Call]) -> _Told:
    names = {_attribute(call) for call in calls} | {_name(call) for call in calls}
    given = {keyword.arg for call in calls for keyword in call.keywords if _attribute(call) in _SETTERS}
    return _Told(
        title=bool(names & _TITLES) or bool(given & {"title", "title_text"}),
        x=bool(names & (_X | {"set_axis_labels"})) or bool(given & {"xlabel", "xaxis_title", "xaxis", "labels"}),
        y=bool(names & (_Y | {"set_axis_labels"})) or bool(given & {"ylabel", "yaxis_title", "yaxis", "labels"}),
    )


_SETTERS: Final = frozenset({"set", "update_layout", "properties", "update_xaxes", "update_yaxes", "update"})


def _found(calls: Sequence[ast.Call], told: _Told) -> Iterator[Plot]:
    for call in calls:
        attribute, root = _attribute(call), _root(call.func)
        given = {keyword.arg for keyword in call.keywords if keyword.arg}
        if root == "alt" and attribute == "Chart":
            yield _altair(call, calls, told)
        elif root == "px" and attribute in _PLOTLY:
            yield _labelled("plotly", call, given, told)
        elif root == "sns" and attribute in _SEABORN:
            yield _labelled("seaborn", call, given, told)
        elif _is_pandas_plot(call):
            is_bare = attribute in _WITHOUT_AXES or _word(call, "kind") in _WITHOUT_AXES
            yield Plot(
                library="pandas",
                figure=_figure(call),
                has_title=told.title or "title" in given,
                has_x=is_bare or told.x or "xlabel" in given,
                has_y=is_bare or told.y or "ylabel" in given,
            )
        elif attribute in _DRAW and isinstance(call.func, ast.Attribute) and _is_axes(call.func.value):
            yield Plot(library="matplotlib", figure=_figure(call), has_title=told.title, has_x=told.x, has_y=told.y)
        elif attribute in _WITHOUT_AXES and root in {"plt", "ax"}:
            yield Plot(library="matplotlib", figure=_figure(call), has_title=told.title, has_x=True, has_y=True)


def _labelled(library: Library, call: ast.Call, given: set[str], told: _Told) -> Plot:
    """These write the columns' names on the axes by themselves: only names that read like code lack something."""
    has_labels = "labels" in given
    return Plot(
        library=library,
        figure=_figure(call),
        has_title=told.title or "title" in given,
        has_x=told.x or has_labels or not _is_code_name(_word(call, "x")),
        has_y=told.y or has_labels or not _is_code_name(_word(call, "y")),
    )


def _altair(chart: ast.Call, calls: Sequence[ast.Call], told: _Told) -> Plot:
    titled = {keyword.arg for keyword in chart.keywords}
    encodings = [call for call in calls if _attribute(call) == "encode"]
    return Plot(
        library="altair",
        figure=_figure(chart),
        has_title="title" in titled or told.title,
        has_x=all(_has_altair_label(call, "x", "X", 0) for call in encodings),
        has_y=all(_has_altair_label(call, "y", "Y", 1) for call in encodings),
    )


def _has_altair_label(encode: ast.Call, key: str, channel: str, at: int) -> bool:
    """Whether the axis says in words what it shows; a plain column name that reads like words is enough."""
    value: ast.expr | None = next((one.value for one in encode.keywords if one.arg == key), None)
    if value is None:
        channels = [one for one in encode.args if isinstance(one, ast.Call) and _is_channel(one, channel)]
        value = channels[0] if channels else encode.args[at] if len(encode.args) > at else None
    if value is None:
        return True
    if any(isinstance(node, ast.keyword) and node.arg == "title" for node in ast.walk(value)):
        return True
    if any(isinstance(node, ast.Attribute) and node.attr == "title" for node in ast.walk(value)):
        return True
    words = [node.value for node in ast.walk(value) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return not words or not _is_code_name(words[0].partition(":")[0])


def _is_channel(call: ast.Call, channel: str) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == channel for node in ast.walk(call.func))


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
        case ast.Subscript(value=value):
            return _is_axes(value)
        case ast.Attribute(value=value, attr="flat"):
            return _is_axes(value)
        case ast.Call(func=ast.Attribute(attr="gca" | "add_subplot" | "twinx")):
            return True
        case _:
            return False


def _merged(plots: Iterator[Plot]) -> Iterator[Plot]:
    """One per figure: several calls draw into the same axes."""
    seen: dict[tuple[str, str], Plot] = {}
    for plot in plots:
        seen.setdefault((plot.library, plot.figure), plot)
    yield from seen.values()


def _figure(call: ast.Call) -> str:
    """What tells charts of one cell apart: the axes for matplotlib, the place of the call for others."""
    if isinstance(call.func, ast.Attribute) and _is_axes(call.func.value):
        return _root(call.func)
    return f"line {call.lineno}"


def _attribute(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _word(call: ast.Call, name: str) -> str | None:
    for keyword in call.keywords:
        if keyword.arg == name and isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str):
            return keyword.value.value
    return None
