"""Results as Arrow tables: read out of the file that came with the reply, which stays mapped and not open."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from cellwright_cells.replies import ConnectionFailed

if TYPE_CHECKING:
    import pyarrow as pa


def read_table(descriptor: int) -> pa.Table:
    """The table in an Arrow IPC file; the descriptor is closed. Raises `ConnectionFailed`.

    The map is private and read-only and needs no descriptor, and reading it begins no thread: a kernel that has it can
    be forked.
    """
    try:
        import pyarrow as pa
        import pyarrow.ipc

        with pa.memory_map(f"/proc/self/fd/{descriptor}") as file:
            # Out of a buffer, which is the map itself: for a file Arrow begins threads that read ahead.
            mapped = pa.BufferReader(file.read_buffer())
            return pyarrow.ipc.open_file(mapped, options=_without_threads()).read_all()
    except OSError as error:
        raise ConnectionFailed(f"The result of a query cannot be read: {error}.") from None
    except ValueError:
        raise ConnectionFailed("The result of a query is no Arrow file.") from None
    finally:
        os.close(descriptor)


def _without_threads() -> Any:
    """For columns that are compressed."""
    import pyarrow.ipc

    options: Any = vars(pyarrow.ipc)["IpcReadOptions"]
    return options(use_threads=False)


def rows_of(table: Any, start: int, stop: int) -> list[tuple[Any, ...]]:
    """Some of a table's rows as Python's own values. Columns may share a name."""
    part = table.slice(start, stop - start)
    return list(zip(*(column.to_pylist() for column in part.columns), strict=True))
