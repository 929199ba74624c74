"""What was extracted as files beside a notebook: rows, evidence and what was skipped, as CSV and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Final

from cellwright.notebook.atomic_write import write_atomically
from cellwright.runs.extract.outcomes import ExtractedDocument
from cellwright.runs.extract.values import MARK_WORDS
from cellwright.runs.goal.extraction_order import ExtractedField, FieldType

Columns = Mapping[str, FieldType]
Rows = Sequence[Mapping[str, Any]]
_EVIDENCE: Final[Columns] = {
    "document": "text", "row": "integer", "field": "text", "value": "text", "quote": "text", "page": "integer",
    "start": "integer", "end": "integer", "mark": "text", "said": "text", "other": "text", "sha256": "text",
}  # fmt: skip
_SKIPPED: Final[Columns] = {"document": "text", "reason": "text", "why": "text", "cost_usd": "number"}
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def tables_of(
    documents: Sequence[ExtractedDocument], fields: Sequence[ExtractedField]
) -> dict[str, tuple[Columns, list[dict[str, Any]]]]:
    """The tables by name, each with its columns."""
    rows, evidence, skipped = list[dict[str, Any]](), list[dict[str, Any]](), list[dict[str, Any]]()
    for document in documents:
        cost = None if document.microdollars is None else document.microdollars / 1e6
        if document.skipped is not None:
            told = {"document": document.name, "reason": document.skipped, "why": document.why}
            skipped.append({**told, "cost_usd": cost})
        # Of a document with several rows each has its share, so that the column adds up.
        share = None if cost is None else cost / max(1, len(document.rows))
        for number, row in enumerate(document.rows, 1):
            values = {each.field: each.value for each in row.values}
            rows.append({"document": document.name, "row": number, **values, "marks": row.marks, "cost_usd": share})
            for each in row.values:
                evidence.append(
                    {
                        "document": document.name, "row": number, "field": each.field,
                        "value": None if each.value is None else str(each.value), "quote": each.quote,
                        "page": each.page or None, "start": each.start if each.page else None,
                        "end": each.end if each.page else None, "mark": MARK_WORDS[each.mark] or "borne out",
                        "said": each.said, "other": each.other, "sha256": document.sha256,
                    }
                )  # fmt: skip
    typed: dict[str, FieldType] = {"document": "text", "row": "integer"}
    typed |= {each.name: each.type for each in fields}
    return {
        "rows": ({**typed, "marks": "text", "cost_usd": "number"}, rows),
        "evidence": (_EVIDENCE, evidence),
        "skipped": (_SKIPPED, skipped),
    }


def write_tables(
    folder: Path,
    documents: Sequence[ExtractedDocument],
    fields: Sequence[ExtractedField],
    reached: Callable[[], None] = lambda: None,
) -> tuple[str, ...]:
    """Write each table twice into the folder, in place of what was there; their names. Blocking."""
    folder.mkdir(exist_ok=True)
    written = list[str]()
    for name, (columns, rows) in tables_of(documents, fields).items():
        write_atomically(folder / f"{name}.csv", csv_bytes(columns, rows))
        write_atomically(folder / f"{name}.parquet", parquet_bytes(columns, rows))
        written += [f"{name}.csv", f"{name}.parquet"]
        reached()
    return tuple(written)


def csv_bytes(columns: Columns, rows: Rows) -> bytes:
    """As CSV; a text that a spreadsheet would run as a formula has a quotation mark in front."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row.get(name), kind) for name, kind in columns.items()])
    return out.getvalue().encode()


def _cell(value: object, kind: FieldType) -> object:
    if isinstance(value, str) and kind == "text" and value.startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value


def parquet_bytes(columns: Columns, rows: Rows) -> bytes:
    """As Parquet, typed."""
    # Loaded where an extraction ends, and nowhere else in a run.
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {
        "text": pa.string(),
        "number": pa.float64(),
        "integer": pa.int64(),
        "date": pa.date32(),
        "boolean": pa.bool_(),
    }
    arrays = {
        name: pa.array([_value(row.get(name), kind) for row in rows], types[kind]) for name, kind in columns.items()
    }
    out = pa.BufferOutputStream()
    pq.write_table(pa.table(arrays), out)
    return out.getvalue().to_pybytes()


def _value(value: Any, kind: FieldType) -> Any:
    if kind == "date" and value is not None:
        return date.fromisoformat(value)
    if kind == "integer" and value is not None and abs(value) >= 1 << 63:
        return None
    return value
