"""Asks files at a tier, as whoever runs it: `file_query_program.py TIER`, questions as JSON on standard input.

Each question is `[kind, path, statement]`; for each a line of JSON comes back: rows, notices, or what was wrong.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pyarrow as pa

from cellwright.data.connections import QueryLimits
from cellwright.errors import CellwrightError
from cellwright.kernel.file_queries import FileQueries, FileResult
from cellwright.kernel.pool import KernelPool


def rows_of(result: FileResult) -> list[dict[str, Any]]:
    """The rows, as a kernel reads them; closes the descriptor."""
    try:
        with pa.memory_map(f"/proc/self/fd/{result.descriptor}") as file:
            return pa.ipc.open_file(file).read_all().to_pylist()
    finally:
        os.close(result.descriptor)


async def _main() -> None:
    tier: Any = sys.argv[1]
    async with KernelPool.open() as pool:
        files = FileQueries(pool=pool, tier=tier)
        for kind, path, statement in json.load(sys.stdin):
            try:
                result = await files.query(kind, Path(path), statement, [], QueryLimits(seconds=30))
                answer: dict[str, Any] = {"rows": rows_of(result), "notices": result.notices}
            except CellwrightError as problem:
                answer = {"failed": problem.message, "hint": problem.hint}
            sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    anyio.run(_main)
