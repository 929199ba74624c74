"""Files over SSH. A server whose host key is not the one that a person named is not spoken with."""

from __future__ import annotations

import stat
from datetime import UTC, datetime
from typing import Any

import asyncssh

from cellwright.data.file_stores.sftp_host_key import PinnedHostKey
from cellwright.data.file_stores.store import (
    CONNECT_SECONDS,
    MAX_ENTRIES,
    ReadBytes,
    as_list,
    is_within,
    joined,
    missing,
    unreached,
)
from cellwright.data.messages import FileEntry, FileList
from cellwright.data.worker.source import SourceFailed, SourceLogin


class SftpFiles:
    """The files below one folder of a server."""

    def __init__(self, sftp: asyncssh.SFTPClient, root: str, server: str) -> None:
        self.server = server
        self._sftp, self._root = sftp, root

    async def entries(self, folder: str, *, is_deep: bool) -> FileList:
        """Links are passed by where they lead outside; deep: folder by folder."""
        entries, waiting = list[FileEntry](), [folder]
        while waiting and len(entries) <= MAX_ENTRIES:
            at = waiting.pop()
            try:
                found = [
                    _entry(joined(at, str(each.filename)), each.attrs)
                    async for each in self._sftp.scandir(await self._place(at))
                ]
            except asyncssh.SFTPError as problem:
                raise _failed(at, problem) from None
            plain = [entry for entry in found if entry is not None]
            entries += [entry for entry in plain if not (is_deep and entry.is_folder)]
            waiting += [entry.path for entry in plain if is_deep and entry.is_folder]
        return as_list(entries, is_cut=bool(waiting))

    async def stat(self, path: str) -> FileEntry:
        """A file or folder."""
        try:
            entry = _entry(path, await self._sftp.stat(await self._place(path)))
        except asyncssh.SFTPError as problem:
            raise _failed(path, problem) from None
        if entry is None:
            raise missing(path)
        return entry

    async def read(self, path: str, start: int, stop: int) -> ReadBytes:
        """Of the file as it is opened now."""
        try:
            async with self._sftp.open(await self._place(path), "rb") as file:
                entry = _entry(path, await file.stat())
                if entry is None or entry.is_folder:
                    raise missing(path)
                data = await file.read(stop - start, start)
        except asyncssh.SFTPError as problem:
            raise _failed(path, problem) from None
        assert isinstance(data, bytes)
        return ReadBytes(data=memoryview(data), version=entry.version)

    async def _place(self, path: str) -> str:
        """Where it really is: a link may lead anywhere."""
        wanted = f"{self._root}/{path}".rstrip("/") or "/"
        real = str(await self._sftp.realpath(wanted))
        if self._root and not is_within(real, self._root):
            raise SourceFailed("denied", f"{path[:200]!r} leads outside of the connection's folder.")
        return real


def _entry(path: str, attributes: Any) -> FileEntry | None:
    """Files and folders; nothing for links, devices and the folder itself."""
    mode = attributes.permissions or 0
    if path.rpartition("/")[2] in {".", ".."} or not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        return None
    modified = datetime.fromtimestamp(attributes.mtime or 0, UTC).isoformat()
    if stat.S_ISDIR(mode):
        return FileEntry(path=path, is_folder=True, modified=modified)
    version = f"{attributes.mtime}.{attributes.mtime_ns or 0}-{attributes.size}"
    return FileEntry(path=path, size=attributes.size or 0, version=version, modified=modified)


def _failed(path: str, problem: asyncssh.SFTPError) -> SourceFailed:
    match problem:
        case asyncssh.SFTPNoSuchFile() | asyncssh.SFTPNoSuchPath():
            return missing(path)
        case asyncssh.SFTPPermissionDenied():
            return SourceFailed("denied", f"The server does not let this user read {path[:200]!r}.")
        case asyncssh.SFTPConnectionLost() | asyncssh.SFTPNoConnection():
            return SourceFailed("gone", "The server closed the connection.")
        case _:
            return SourceFailed("other", f"{path[:200]!r}: {problem.reason}")


async def open_sftp(login: SourceLogin) -> SftpFiles:
    """A session. Raises `SourceFailed`."""
    options, pin = login.options, PinnedHostKey(login.options)
    try:
        connection = await asyncssh.connect(
            options["host"],
            int(options.get("port", "22")),
            username=login.user,
            client_factory=lambda: pin,
            # Every host key is shown to `pin`. Settings, agents and keys of the person stay theirs.
            known_hosts=([], [], []),
            config=[],
            agent_path=None,
            connect_timeout=CONNECT_SECONDS,
            keepalive_interval=15,
            **_secret(login.secret),
        )
        sftp = await connection.start_sftp_client()
        root = str(await sftp.realpath(options.get("path") or "."))
    except asyncssh.HostKeyNotVerifiable:
        raise pin.failure() from None
    except asyncssh.PermissionDenied:
        raise SourceFailed("login", "The server does not accept this user with this secret.") from None
    except asyncssh.SFTPError as problem:
        raise _failed(options.get("path", "."), problem) from None
    except (OSError, asyncssh.Error) as problem:
        raise unreached(problem) from None
    version = connection.get_extra_info("server_version") or "SSH"
    return SftpFiles(sftp, root.rstrip("/"), f"SFTP, {version}"[:200])


def _secret(secret: str) -> dict[str, Any]:
    """A private key, or a password."""
    if "PRIVATE KEY-----" not in secret:
        return {"password": secret, "client_keys": None}
    try:
        return {"client_keys": [asyncssh.import_private_key(secret.rstrip() + "\n")]}
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError):
        raise SourceFailed("login", "The private key cannot be read; one with a passphrase cannot be used.") from None
