"""What the host asks of variables: previews, whole values, and facts to say how two states of a notebook differ.

Bounded in time, memory and text like a preview, and with the same manners: nothing is copied, collected or executed,
no library is imported, no thread is started. What fits into `EXACT_BYTES` is read whole, the rest by sample, and
each column says which.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, Final

import msgspec
from marimo._plugins.ui._core.ui_element import UIElement
from marimo._runtime.runtime import Kernel

from cellwright_guest import element_scan, json_values, previews, report_wire, wire
from cellwright_guest.previews import identity, tables
from cellwright_guest.previews.columns import ColumnSource, NumpyColumn, PolarsColumn, is_array, spans_of
from cellwright_guest.previews.plain import bounded, one_line
from cellwright_guest.previews.preview import classify
from cellwright_guest.previews.tables import TableSource
from cellwright_guest.previews.time_limit import NEVER, TimeLimit, TimeUp

EACH_SECONDS: Final = 0.5
ALL_SECONDS: Final = 2.0
_SEQUENCES: Final = frozenset({list, tuple})
_SETS: Final = frozenset({set, frozenset})
_SCALARS: Final = frozenset({int, float, complex, bool, type(None), str, bytes, bytearray})
_LONG_TEXT: Final = 1 << 20
_ROOM: Final = 240
_SMALL_BYTES: Final = 1 << 20


def facts_of(items: Iterable[tuple[str, object]]) -> list[report_wire.VariableFacts]:
    """Facts of each, at most `MOST_VARIABLES`; never raises, and takes a small part of a second for gigabytes."""
    budget = element_scan.ScanBudget()
    with TimeLimit(seconds=ALL_SECONDS, each_seconds=EACH_SECONDS) as limit:
        return [_limited(name, value, budget, limit) for name, value in islice(items, report_wire.MOST_VARIABLES)]


def _limited(name: str, value: object, budget: element_scan.ScanBudget, limit: TimeLimit) -> report_wire.VariableFacts:
    name = bounded(name, report_wire.MOST_TEXT)
    type_name = "object"
    try:
        type_name = bounded(identity.qualified_name(type(value)), report_wire.MOST_TEXT)
        if limit.start():
            found = _facts(name, type_name, value, budget)
        else:
            found = report_wire.VariableFacts(
                name=name, kind="object", type=type_name, problem="there was no time left to look"
            )
        limit.deadline = NEVER
    except TimeUp:
        limit.deadline = NEVER
        return report_wire.VariableFacts(
            name=name, kind="object", type=type_name, problem="looking at it took too long"
        )
    except BaseException as error:  # noqa: BLE001  # a library or the value itself may raise anything
        limit.deadline = NEVER
        raised = identity.qualified_name(type(error))
        return report_wire.VariableFacts(
            name=name, kind="object", type=type_name, problem=f"looking at it raised {raised}"
        )
    return found


def _facts(name: str, type_name: str, value: Any, budget: element_scan.ScanBudget) -> report_wire.VariableFacts:
    kind: type = type(value)
    if kind in _SCALARS:
        return _scalar(name, type_name, value)
    if kind is dict:
        return _dict(name, value)
    if kind in _SEQUENCES or kind in _SETS:
        return _items(name, type_name, value)
    packages = identity.packages_of(kind)
    if table := tables.table_of(value, kind, packages):
        return _table(name, type_name, table, budget)
    if "numpy" in packages and identity.is_kind(kind, "numpy", "ndarray"):
        return _array(name, type_name, value, budget)
    found, text = classify(value, kind, _ROOM)
    shape = [int(size) for size in tuple(value.shape)[:8]] if is_array(kind, packages) else []
    return report_wire.VariableFacts(
        name=name, kind=found, type=type_name, shape=shape or None, text=bounded(one_line(text), report_wire.MOST_TEXT)
    )


# ── single values, lists, dicts ──


def _scalar(name: str, type_name: str, value: Any) -> report_wire.VariableFacts:
    text = bounded(element_scan.token(value, report_wire.MOST_TEXT), report_wire.MOST_TEXT)
    if value is None or type(value) not in {str, bytes, bytearray}:
        kind = "none" if value is None else "bool" if type(value) is bool else "number"
        return report_wire.VariableFacts(name=name, kind=kind, type=type_name, text=text)
    digest = element_scan.digest_of(value) if type(value) is str and len(value) <= _LONG_TEXT else ""
    values = report_wire.ColumnFacts(digest=digest)
    return report_wire.VariableFacts(
        name=name, kind="text", type=type_name, shape=[len(value)], values=values, text=text
    )


def _items(name: str, type_name: str, value: Any) -> report_wire.VariableFacts:
    count = len(value)
    if type(value) in _SETS:
        # A set has no order that two processes share: only what it holds may count.
        taken = sorted(islice(value, element_scan.spread(count)[0][1]), key=element_scan.token)
    else:
        taken = [item for start, stop in element_scan.spread(count) for item in value[start:stop]]
    names = sorted(identity.qualified_name(each) for each in {type(item) for item in taken})
    values = element_scan.scan_items(taken, rows=count, type_name=" | ".join(names[:4]))
    kind = "set" if type(value) in _SETS else type_name
    return report_wire.VariableFacts(name=name, kind=kind, type=type_name, shape=[count], values=values)


def _dict(name: str, value: dict[Any, Any]) -> report_wire.VariableFacts:
    shown = [_entry(key, held) for key, held in islice(value.items(), report_wire.MOST_COLUMNS)]
    return report_wire.VariableFacts(
        name=name,
        kind="dict",
        type="dict",
        shape=[len(value)],
        columns=shown,
        columns_left=len(value) - len(shown),
    )


def _entry(key: Any, held: Any) -> report_wire.ColumnFacts:
    label = key if type(key) is str else element_scan.token(key)
    text = element_scan.token(held, report_wire.MOST_TEXT)
    return report_wire.ColumnFacts(
        name=bounded(one_line(label[: report_wire.MOST_TEXT]), report_wire.MOST_TEXT),
        type=bounded(identity.qualified_name(type(held)), report_wire.MOST_TEXT),
        text=bounded(one_line(text), report_wire.MOST_TEXT),
        digest=element_scan.digest_of(held if type(held) is str and len(held) <= _LONG_TEXT else text),
        is_exact=len(text) < report_wire.MOST_TEXT,
    )


# ── arrays and tables ──


def _array(name: str, type_name: str, value: Any, budget: element_scan.ScanBudget) -> report_wire.VariableFacts:
    shape = [int(size) for size in value.shape]
    stretch = element_scan.array_stretch(value)
    if stretch is not None:
        values = element_scan.scan([stretch], type_name=str(value.dtype), budget=budget)
    else:
        flat = value.flat
        taken = [item for start, stop in element_scan.spread(int(value.size)) for item in flat[start:stop].tolist()]
        values = element_scan.scan_items(taken, rows=int(value.size), type_name=str(value.dtype))
    return report_wire.VariableFacts(name=name, kind="array", type=type_name, shape=shape[:8], values=values)


def _table(
    name: str, type_name: str, found: tuple[str, TableSource], budget: element_scan.ScanBudget
) -> report_wire.VariableFacts:
    kind, table = found
    rows = -1 if table.rows is None else table.rows
    width = min(table.width, report_wire.MOST_COLUMNS)
    columns = [_column(table, index, budget) for index in range(width)]
    if table.is_series:
        return report_wire.VariableFacts(name=name, kind=kind, type=type_name, shape=[rows], values=columns[0])
    return report_wire.VariableFacts(
        name=name,
        kind=kind,
        type=type_name,
        shape=[rows, table.width],
        columns=columns,
        columns_left=table.width - width,
    )


def _column(table: TableSource, index: int, budget: element_scan.ScanBudget) -> report_wire.ColumnFacts:
    name, source = table.source(index)
    name = bounded(name, report_wire.MOST_TEXT)
    if isinstance(source, str):
        return report_wire.ColumnFacts(name=name, type=bounded(source, report_wire.MOST_TEXT))
    if (stretches := element_scan.stretches_of(source)) is not None:
        facts = element_scan.scan(stretches, type_name=source.dtype, budget=budget)
    elif (texts := element_scan.text_bytes_of(source)) is not None:
        facts = element_scan.scan_texts(texts[0], nulls=texts[1], type_name=source.dtype, budget=budget)
    else:
        facts = _by_library(source, table.rows or 0)
    return msgspec.structs.replace(facts, name=name)


def _by_library(source: ColumnSource, rows: int) -> report_wire.ColumnFacts:
    """What only the library itself can read: objects, decimals, nested values, polars' texts."""
    spans = element_scan.spread(rows) if type(source) is NumpyColumn else spans_of(rows)
    nulls = source.nulls(0, rows)
    taken: list[Any] = []
    for start, stop in spans:
        taken += source.sample(start, stop) or _small_span(source, start, stop)
    if not taken:
        return report_wire.ColumnFacts(type=bounded(one_line(source.dtype), report_wire.MOST_TEXT), nulls=nulls)
    return element_scan.scan_items(taken, rows=rows, type_name=source.dtype, nulls=nulls)


def _small_span(source: ColumnSource, start: int, stop: int) -> list[Any]:
    """Values of polars that are no numbers, if the span holds few bytes."""
    span = source.values.slice(start, stop - start) if isinstance(source, PolarsColumn) else None
    return span.to_list() if span is not None and span.estimated_size() <= _SMALL_BYTES else []


# ── what the host asks for ──


_PREVIEW_TIMEOUT_SECONDS = 5.0
"""Timeout of all previews of one request."""


def look(asked: wire.Look, kernel: Kernel) -> wire.Looked:
    """Previews of those named, or of all that cells define."""
    held = _held(kernel.globals, asked.names or sorted(kernel.graph.definitions))
    shown = previews.preview_all(held, tokens_each=asked.tokens, seconds=_PREVIEW_TIMEOUT_SECONDS)
    return wire.Looked(request=asked.request, variables=shown)


def take(asked: wire.TakeValues, variables: dict[str, Any]) -> wire.Taken:
    """Those named, whole where JSON can say them."""
    found = [
        json_values.value_of(name, value, tokens=asked.tokens, json_bytes=asked.json_bytes)
        for name, value in _held(variables, asked.names)
    ]
    return wire.Taken(request=asked.request, values=found)


def facts(asked: report_wire.AskFacts, variables: dict[str, Any]) -> report_wire.FactsTold:
    """Facts to compare variables by; of a `mo.ui` element, of what it is set to."""
    held = _held(variables, asked.names)
    plain = [(name, value.value if isinstance(value, UIElement) else value) for name, value in held]
    return report_wire.FactsTold(request=asked.request, facts=facts_of(plain))


def _held(variables: dict[str, Any], names: Iterable[str]) -> list[tuple[str, Any]]:
    return [(name, variables[name]) for name in names if name in variables]
