"""What the ADBC driver gives for Postgres' own values, set right."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest

from cellwright.data.worker.postgres_columns import without_infinity

FAR = -(2**63) + 946_684_800_000_000
MOMENTS = pa.timestamp("us", "UTC")
_LOADS = """
import sys
import pyarrow as pa
from cellwright.data.worker.postgres_columns import without_infinity

moments = pa.Array.from_buffers(pa.timestamp("us", "UTC"), 2, [None, pa.py_buffer(bytes(16))])
without_infinity(pa.RecordBatch.from_arrays([moments], names=["at"]))
print("pandas" in sys.modules)
"""


def test_moments_that_never_come_are_null_and_all_others_stay() -> None:
    moments = pa.array([0, FAR, None, FAR - 1, 5]).view(MOMENTS)
    days = pa.array([None] * 5, pa.date32())
    batch = pa.RecordBatch.from_arrays([moments, days], names=["at", "day"])
    told = without_infinity(batch)
    assert told.column("at").view(pa.int64()).to_pylist() == [0, None, None, None, 5]
    assert told.column("day").null_count == 5


@pytest.mark.slow
def test_a_workers_first_result_with_moments_does_not_wait_for_pandas_to_load() -> None:
    said = subprocess.run([sys.executable, "-c", _LOADS], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"
