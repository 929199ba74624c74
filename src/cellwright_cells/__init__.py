"""What the cells of a notebook write: `tool` marks a function for agents, `connection` and `files` name connections.

Owns:   the mark, connections, their files, the way from a notebook to whoever answers.
Above:  notebooks, cellwright, cellwright_guest.   Below: Python's standard library; for files, fsspec.
Never:  credentials, drivers, an open socket between two queries, anything of cellwright or its guest.

A distribution of its own, `cellwright-cells`: a delivered notebook needs it and nothing else of ours.
"""

from cellwright_cells.connections import Connection, connection
from cellwright_cells.cursors import ConnectionCursor
from cellwright_cells.files import files
from cellwright_cells.replies import ConnectionFailed
from cellwright_cells.tool_mark import tool

__all__ = ["Connection", "ConnectionCursor", "ConnectionFailed", "connection", "files", "tool"]
