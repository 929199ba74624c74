"""A result as lines of JSON, a list of values for each row: for whoever shows rows and computes nothing with them."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from cellwright.data.sealed_memory import sealed
from cellwright.data.worker.results import SealedResult


def as_json_lines(result: SealedResult) -> SealedResult:
    """The same rows; the result that is given is used up. Blocking."""
    try:
        with pa.OSFile(f"/proc/self/fd/{result.descriptor}") as source:
            memory = sealed(_lines(pa.ipc.open_file(source)))
    finally:
        os.close(result.descriptor)
    return replace(result, descriptor=memory.descriptor, bytes=memory.bytes, sha256=memory.sha256)


def _lines(reader: pa.RecordBatchFileReader) -> Iterator[bytes]:
    for index in range(reader.num_record_batches):
        columns = [column.to_pylist() for column in reader.get_batch(index).columns]
        for row in zip(*columns, strict=True):
            yield json.dumps([_plain(value) for value in row], ensure_ascii=False).encode() + b"\n"


def _plain(value: Any) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return str(value)
        case Decimal():
            return float(value) if abs(value) < 10**15 else str(value)
        case bytes():
            return value.hex()
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return str(value)
