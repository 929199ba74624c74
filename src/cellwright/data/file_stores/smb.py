"""Files of a Windows share, or of Samba."""

from __future__ import annotations

import errno
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, TypeVar

import anyio.to_thread
import smbclient
from smbprotocol.exceptions import LogonFailure, SMBAuthenticationError, SMBException, SMBOSError
from smbprotocol.file_info import FileAttributes

from cellwright.data.file_stores.store import (
    CONNECT_SECONDS,
    MAX_ENTRIES,
    ReadBytes,
    as_list,
    joined,
    missing,
    unreached,
)
from cellwright.data.messages import FileEntry, FileList
from cellwright.data.worker.source import SourceFailed, SourceLogin

Result = TypeVar("Result")
_DENIED: Final = frozenset({errno.EACCES, errno.EPERM})


class SmbFiles:
    """The files below one folder of a share. The library blocks: each question has a thread, left when cancelled."""

    def __init__(self, login: SourceLogin) -> None:
        options = login.options
        self._port = int(options.get("port", "445"))
        self._root = "\\\\" + "\\".join([options["host"], options["share"], *options.get("path", "").split("/")])
        self._root = self._root.rstrip("\\")
        self.server = "SMB"
        self._session: dict[str, Any] = {"port": self._port}
        domain = options.get("domain")
        user = f"{domain}\\{login.user}" if domain else login.user
        smbclient.ClientConfig(username=user, password=login.secret)
        smbclient.register_session(
            options["host"],
            username=user,
            password=login.secret,
            port=self._port,
            connection_timeout=int(CONNECT_SECONDS),
        )
        self._require_root()

    async def entries(self, folder: str, *, is_deep: bool) -> FileList:
        """Links are passed by; deep: folder by folder."""
        return await _in_thread(folder, partial(self._list, folder, is_deep))

    async def stat(self, path: str) -> FileEntry:
        """A file or folder."""
        found = await _in_thread(
            path, partial(smbclient.stat, self._place(path), follow_symlinks=False, **self._session)
        )
        entry = _entry(path, found)
        if entry is None:
            raise missing(path)
        return entry

    async def read(self, path: str, start: int, stop: int) -> ReadBytes:
        """Of the file as it is opened now."""
        entry = await self.stat(path)
        if entry.is_folder:
            raise missing(path)
        data = await _in_thread(path, partial(self._read, path, start, stop))
        return ReadBytes(data=memoryview(data), version=entry.version)

    def _require_root(self) -> None:
        """That the share and the folder in it are there is said at once, not as a file that is missing."""
        try:
            smbclient.stat(self._root, **self._session)
        except SMBOSError as problem:
            kind = "denied" if problem.errno in _DENIED else "other"
            place = "/".join(self._root.split("\\")[3:])
            raise SourceFailed(
                kind, f"The server does not give the share {place[:200]!r}: {problem.strerror}."
            ) from None

    def _list(self, folder: str, is_deep: bool) -> FileList:
        entries, waiting = list[FileEntry](), [folder]
        while waiting and len(entries) <= MAX_ENTRIES:
            at = waiting.pop()
            # What the list itself says: asking for each would be a request more, and to the usual port.
            found = [
                _listed(joined(at, each.name), each.smb_info)
                for each in smbclient.scandir(self._place(at), **self._session)
            ]
            plain = [entry for entry in found if entry is not None]
            entries += [entry for entry in plain if not (is_deep and entry.is_folder)]
            waiting += [entry.path for entry in plain if is_deep and entry.is_folder]
        return as_list(entries, is_cut=bool(waiting))

    def _read(self, path: str, start: int, stop: int) -> bytes:
        with smbclient.open_file(self._place(path), mode="rb", share_access="r", **self._session) as file:
            file.seek(start)
            return file.read(stop - start)

    def _place(self, path: str) -> str:
        return "\\".join([self._root, *path.split("/")]).rstrip("\\")


def _entry(path: str, found: Any) -> FileEntry | None:
    if not (stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode)):
        return None
    # Whole microseconds, as a list has them: the version is the same from both.
    modified = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=found.st_mtime_ns // 1000)
    return _told(path, modified, None if stat.S_ISDIR(found.st_mode) else found.st_size)


def _listed(path: str, found: Any) -> FileEntry | None:
    """None for a link, and for whatever else stands for something elsewhere."""
    if found.file_attributes & FileAttributes.FILE_ATTRIBUTE_REPARSE_POINT:
        return None
    is_folder = bool(found.file_attributes & FileAttributes.FILE_ATTRIBUTE_DIRECTORY)
    return _told(path, found.last_write_time.astimezone(UTC), None if is_folder else found.end_of_file)


def _told(path: str, at: datetime, size: int | None) -> FileEntry:
    """A file of this size; a folder without one."""
    modified = at.isoformat()
    if size is None:
        return FileEntry(path=path, is_folder=True, modified=modified)
    return FileEntry(path=path, size=size, version=f"{modified}-{size}", modified=modified)


async def _in_thread(path: str, work: Callable[[], Result]) -> Result:
    try:
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
    except SMBOSError as problem:
        if problem.errno in {errno.ENOENT, errno.ENOTDIR}:
            raise missing(path) from None
        kind = "denied" if problem.errno in _DENIED else "other"
        raise SourceFailed(kind, f"The server does not give {path[:200]!r}: {problem.strerror}.") from None
    except SMBException as problem:
        raise SourceFailed("gone", f"The session ended: {problem}") from None


def open_smb(login: SourceLogin) -> SmbFiles:
    """A session. Raises `SourceFailed`. Blocking."""
    try:
        return SmbFiles(login)
    except (LogonFailure, SMBAuthenticationError):
        raise SourceFailed("login", "The server does not accept this user with this secret.") from None
    except (OSError, ValueError, SMBException) as problem:
        raise unreached(problem) from None
