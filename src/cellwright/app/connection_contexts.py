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


async def connection_contexts(
    connections: NotebookConnections, remote: Sequence[RemotePath], files: FileProfiler, home: Path
) -> list[ConnectionsContext | RemoteFilesContext | ApisContext]:
    """For the connections that were named, and these files behind them."""
    known = await anyio.to_thread.run_sync(connections_at, home) if connections.named else {}
    named = [known[name] for name in connections.named if name in known]
    databases = [each.name for each in named if each.kind in SQL_KINDS]
    contexts = list[ConnectionsContext | RemoteFilesContext | ApisContext]()
    if databases:
        contexts.append(ConnectionsContext(connections, databases))
    if remote:
        buckets = [each.name for each in known.values() if each.kind == "s3"]
        contexts.append(RemoteFilesContext(named=remote, profiler=files, buckets=buckets))
    if apis := [api_brief(each, connections.api_documents.get(each.name)) for each in named if each.kind == "api"]:
        contexts.append(ApisContext(apis))
    return contexts


def named_files(names: Sequence[str], words: Sequence[str], home: Path) -> tuple[RemotePath, ...]:
    """Files behind these connections: those of `words` (`NAME:path`), and servers without a path whole. Blocking."""
    known = connections_at(home) if names else {}
    still_there = [word for word in words if word.partition(":")[0] in known]
    remote = [found for word in still_there if (found := read_remote_path(word, known)) is not None]
    seen = {each.connection for each in remote}
    whole = [name for name in names if name in known and known[name].kind in STORE_KINDS and name not in seen]
    return (*remote, *(RemotePath(connection=name, path="") for name in whole))
