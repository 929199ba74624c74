"""What agents see of connections that were named for the work: tables of databases, files, APIs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio.to_thread

from cellwright.agents.prompt.api_texts import ApisContext
from cellwright.agents.prompt.context_providers import ConnectionsContext
from cellwright.agents.prompt.remote_files import RemoteFilesContext
from cellwright.app.notebook_connections import NotebookConnections
from cellwright.data.api_brief import api_brief
from cellwright.data.connections import connections_at
from cellwright.data.remote_paths import RemotePath, read_remote_path
from cellwright.data.source_kinds import SQL_KINDS, STORE_KINDS
from cellwright.kernel.file_profiler import FileProfiler
from cellwright.kernel.profiler import Profiler


async def connection_contexts(
    connections: NotebookConnections, words: Sequence[str], profiler: Profiler | None, home: Path
) -> list[ConnectionsContext | RemoteFilesContext | ApisContext]:
    """For the connections that were named, and `words` (`NAME:path`); a file server without a path is seen whole."""
    known = await anyio.to_thread.run_sync(connections_at, home) if connections.named else {}
    named = [known[name] for name in connections.named if name in known]
    databases = [each.name for each in named if each.kind in SQL_KINDS]
    still_there = [word for word in words if word.partition(":")[0] in known]
    remote = [found for word in still_there if (found := read_remote_path(word, known)) is not None]
    seen = {each.connection for each in remote}
    remote += [
        RemotePath(connection=each.name, path="")
        for each in named
        if each.kind in STORE_KINDS and each.name not in seen
    ]
    contexts = list[ConnectionsContext | RemoteFilesContext | ApisContext]()
    if databases:
        contexts.append(ConnectionsContext(connections, databases))
    if remote and profiler is not None:
        files = FileProfiler(profiler=profiler, source=connections.files)
        contexts.append(RemoteFilesContext(named=remote, profiler=files))
    if apis := [api_brief(each, connections.api_documents.get(each.name)) for each in named if each.kind == "api"]:
        contexts.append(ApisContext(apis))
    return contexts
