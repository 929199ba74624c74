"""Which store a kind of connection has. A library loads when it is used."""

from __future__ import annotations

import anyio.to_thread

from cellwright.data.file_stores.store import FileStore
from cellwright.data.source_kinds import SOURCE_TRAITS, SourceKind
from cellwright.data.worker.source import SourceFailed, SourceLogin


async def open_store(kind: SourceKind, login: SourceLogin) -> FileStore:
    """A store. Raises `SourceFailed`."""
    try:
        return await _open(kind, login)
    except ImportError as problem:
        # What lacks something of ours is broken, not without its library.
        if (problem.name or "").startswith("cellwright"):
            raise
        raise SourceFailed(
            "driver",
            f"The library for {kind} is not installed here.",
            hint=f"pip install 'cellwright[{SOURCE_TRAITS[kind].extra}]'",
        ) from None


async def _open(kind: SourceKind, login: SourceLogin) -> FileStore:
    match kind:
        case "sftp":
            from cellwright.data.file_stores.sftp import open_sftp

            return await open_sftp(login)
        case "smb":
            from cellwright.data.file_stores.smb import open_smb

            return await anyio.to_thread.run_sync(open_smb, login)
        case "http":
            from cellwright.data.file_stores.http_folder import open_http_folder

            return open_http_folder(login)
        case "webdav":
            from cellwright.data.file_stores.webdav import open_webdav

            return open_webdav(login)
        case _:
            from cellwright.data.file_stores.object_opening import open_objects

            return open_objects(kind, login)
