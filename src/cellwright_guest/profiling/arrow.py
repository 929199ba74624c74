"""Names for what pyarrow gives: it ships no types of its own, so these say what is meant and nothing is checked."""

from __future__ import annotations

from typing import Any

import pyarrow.compute

Array = Any
"""`pyarrow.Array` or `pyarrow.ChunkedArray`."""
Batch = Any
"""`pyarrow.RecordBatch`."""
Table = Any
"""`pyarrow.Table`."""
Schema = Any
"""`pyarrow.Schema`."""
DataType = Any
"""`pyarrow.DataType`."""


def call(function: str, *arguments: Any, options: Any = None) -> Any:
    """One of arrow's own functions by its name."""
    return pyarrow.compute.call_function(function, list(arguments), options)
